//! Manifests, and what one object says of another.

use super::Change::{Files, Manifests, Patch, Recipe};
use super::{Mutation, each_is_found, first_of_each};

pub(super) const MUTATIONS: &[Mutation] = &[
    // Pools.
    (
        "machine-config-pool",
        &[],
        Manifests(&[(
            "mine.yaml",
            "apiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfig\nmetadata:\n  name: 99-mine\n  labels:\n    machineconfiguration.openshift.io/role: wroker\nspec:\n  config:\n    ignition: {version: 3.2.0}\n",
        )]),
        "mine.yaml:6: metadata.labels[machineconfiguration.openshift.io/role]: no MachineConfigPool takes role `wroker` [machine-config-pool]",
    ),
    (
        "machine-config-pool",
        &[],
        Manifests(&[(
            "mine.yaml",
            "apiVersion: machineconfiguration.openshift.io/v1\nkind: KubeletConfig\nmetadata: {name: mine}\nspec:\n  kubeletConfig: {maxPods: 333}\n  machineConfigPoolSelector:\n    matchLabels:\n      pools.operator.machineconfiguration.openshift.io/wroker: ''\n",
        )]),
        "hint: did you mean `pools.operator.machineconfiguration.openshift.io/worker`?",
    ),
    (
        "machine-config-pool",
        &[],
        Manifests(&[(
            "mine.yaml",
            "apiVersion: machineconfiguration.openshift.io/v1\nkind: ContainerRuntimeConfig\nmetadata: {name: mine}\nspec:\n  containerRuntimeConfig: {pidsLimit: 2048}\n  machineConfigPoolSelector:\n    matchLabels:\n      custom: ''\n",
        )]),
        "mine.yaml:8: spec.machineConfigPoolSelector: it matches no MachineConfigPool [machine-config-pool]",
    ),
    (
        "pool-nodes",
        &[],
        Manifests(&[(
            "mine.yaml",
            "apiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfigPool\nmetadata: {name: mine}\nspec:\n  machineConfigSelector: {matchLabels: {machineconfiguration.openshift.io/role: worker}}\n  nodeSelector: {matchLabels: {node-role.kubernetes.io/workers: ''}}\n",
        )]),
        "mine.yaml:6: spec.nodeSelector: it matches no node [pool-nodes]",
    ),
    (
        "machine-config-ignition",
        &["ignition-modes"],
        Manifests(&[(
            "mine.yaml",
            "apiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfig\nmetadata:\n  name: 99-mine\n  labels:\n    machineconfiguration.openshift.io/role: worker\nspec:\n  config:\n    ignition: {version: 3.2.0}\n    storage: {files: [{path: /etc/mine, contents: {source: 'data:,x'}}]}\n",
        )]),
        "mine.yaml:10: spec.config.storage.files[0].mode: `/etc/mine` has no mode [machine-config-ignition]",
    ),
    // Manifests.
    (
        "manifest-parses",
        &[],
        Files(&[
            (
                "recipes/78-mine.toml",
                "# Mine.\nbuilder = \"template\"\n[files]\n\"mine.yaml\" = \"mine.yaml.j2\"\n",
            ),
            ("recipes/mine.yaml.j2", "apiVersion: v1\nkind: ConfigMap\n"),
            (
                "recipes/80-check/mine.toml",
                "# Mine.\nbuilder = \"validate\"\n[inputs]\nmanifests = \"mine\"\n[config]\ndisabled = \"checks.disabled\"\n[params]\nchecks = [\"{check.manifest-parses}\"]\n",
            ),
        ]),
        "mine.yaml:1: metadata.name: it is missing",
    ),
    (
        "bootstrapper-rbac",
        &[],
        Patch(
            "target: {kind: ClusterRoleBinding, name: tinderbox-node-bootstrapper}\npatch: {roleRef: {name: 'system:node'}}\n",
        ),
        "no ClusterRoleBinding grants `system:node-bootstrapper` to group `system:bootstrappers`",
    ),
    (
        "bootstrapper-rbac",
        &[],
        Manifests(&[(
            "mine.yaml",
            "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: mine}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: 'system:certificates.k8s.io:certificatesigningrequests:nodeclient'}\nsubjects:\n- {apiGroup: rbac.authorization.k8s.io, kind: Group, name: 'system:bootstrappers'}\n",
        )]),
        "mine.yaml:6: subjects: `system:certificates.k8s.io:certificatesigningrequests:nodeclient` makes the controller manager approve what `system:bootstrappers` asks for",
    ),
    (
        "bootstrapper-rbac",
        &[],
        Manifests(&[(
            "mine.yaml",
            "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: mine}\nrules:\n- {apiGroups: [certificates.k8s.io], resources: [certificatesigningrequests/nodeclient], verbs: [create]}\n---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: mine}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: mine}\nsubjects:\n- {apiGroup: rbac.authorization.k8s.io, kind: Group, name: 'system:authenticated'}\n",
        )]),
        "`mine` makes the controller manager approve what `system:authenticated` asks for",
    ),
    (
        "kubelet-access",
        &[],
        Patch(
            "target: {kind: ClusterRoleBinding, name: tinderbox-kubelet-api-admin}\npatch: [{op: replace, path: /subjects/0/name, value: 'system:admin'}]\n",
        ),
        "no ClusterRoleBinding grants `system:kubelet-api-admin` to user `system:kube-apiserver`",
    ),
    (
        "cluster-config-v1",
        &[],
        Patch(
            "target: {kind: ConfigMap, name: cluster-config-v1}\npatch: {data: {install-config: 'pullSecret: x'}}\n",
        ),
        "data.install-config: it has the pull secret in it",
    ),
    (
        "clusterversion-no-update",
        &[],
        Patch("target: {kind: ClusterVersion}\npatch: {spec: {desiredUpdate: {version: 4.18.1}}}\n"),
        "spec.desiredUpdate: it is there",
    ),
    (
        "core-types",
        &[],
        Patch("target: {kind: ConfigMap, name: etcd-endpoints}\npatch: {dota: {a: b}}\n"),
        "dota: this field does not exist",
    ),
    (
        "crd-schema",
        &[],
        Patch("target: {kind: Scheduler}\npatch: {spec: {mastersSchedulable: 'yes'}}\n"),
        "spec.mastersSchedulable: `yes` is a string, not a boolean",
    ),
    (
        "crds-before-cvo",
        &[],
        Manifests(&[("mine.yaml", "apiVersion: mine.openshift.io/v1\nkind: Mine\nmetadata: {name: mine}\n")]),
        "no CRD of this release has mine.openshift.io Mine",
    ),
    (
        "crds-before-cvo",
        &["admission-crds"],
        Recipe(
            "80-check/crds.toml",
            &[(
                "crds = \"release/crds\"",
                "crds = \"release/crds:0000_10_config-operator_01_dnses.crd.yaml\"",
            )],
        ),
        "there is no CRD `clusteroperators.config.openshift.io`",
    ),
    (
        "dns-base-domain",
        &[],
        Patch("target: {kind: DNS}\npatch: {spec: {baseDomain: example.com}}\n"),
        "spec.baseDomain: it is `example.com`, not `ocp4.example.com`",
    ),
    (
        "etcd-endpoints",
        &[],
        Patch(
            "target: {kind: ConfigMap, name: etcd-endpoints}\npatch: {metadata: {annotations: {alpha.installer.openshift.io/etcd-bootstrap: 192.168.126.101}}}\n",
        ),
        "it is `192.168.126.101`, not `192.168.126.100`",
    ),
    (
        "etcd-endpoints",
        &[],
        Patch("target: {kind: ConfigMap, name: etcd-endpoints}\npatch: {metadata: {name: etcd-endpoint}}\n"),
        "there is no ConfigMap openshift-etcd/etcd-endpoints",
    ),
    (
        "featuregate",
        &[],
        Patch(
            "target: {kind: FeatureGate}\npatch: [{op: replace, path: /status/featureGates/0/version, value: 4.17.9}]\n",
        ),
        "status.featureGates[0].version: it is `4.17.9`, not `4.18.0-demo`",
    ),
    (
        "featuregate",
        &[],
        Patch("target: {kind: FeatureGate}\npatch: [{op: remove, path: /status}]\n"),
        "status.featureGates: it is empty or missing",
    ),
    (
        "infrastructure-status",
        &[],
        Patch("target: {kind: Infrastructure}\npatch: [{op: remove, path: /status/controlPlaneTopology}]\n"),
        "status.controlPlaneTopology: it is missing or empty",
    ),
    (
        "infrastructure-status",
        &["crd-schema"],
        Patch(
            "target: {kind: Infrastructure}\npatch: [{op: move, from: /status/apiServerInternalURI, path: /status/apiServerInternalURL}]\n",
        ),
        "status.apiServerInternalURI: it is missing or empty",
    ),
    (
        "infrastructure-status",
        &[],
        Recipe("55-script/bootkube.sh.j2", &[("oc replace --subresource=status ", "oc replace ")]),
        "bootkube.sh: no `oc replace --subresource=status` in it",
    ),
    (
        "strict-apply",
        &[],
        Recipe("55-script/bootkube.sh.j2", &[("oc apply --validate=strict ", "oc apply \\\n    ")]),
        "`oc apply` without `--validate=strict`",
    ),
    (
        "strict-apply",
        &[],
        Recipe(
            "55-script/bootkube.sh.j2",
            &[("--subresource=status --validate=strict ", "--subresource=status ")],
        ),
        "`oc replace` without `--validate=strict`",
    ),
    (
        "network-cidrs",
        &["operator-network"],
        Patch(
            "target: {kind: Network, group: operator.openshift.io}\npatch: {spec: {serviceNetwork: [172.30.0.0/99]}}\n",
        ),
        "spec.serviceNetwork[0]: `172.30.0.0/99` is not a network",
    ),
    (
        "network-cidrs",
        &["operator-network"],
        Patch(
            "target: {kind: Network, group: config.openshift.io}\npatch: {spec: {clusterNetwork: [{cidr: 10.128.0.1/14, hostPrefix: 23}]}}\n",
        ),
        "spec.clusterNetwork[0].cidr: `10.128.0.1/14` is not a network",
    ),
    (
        "operator-network",
        &[],
        Patch(
            "target: {kind: Network, group: operator.openshift.io}\npatch: {spec: {serviceNetwork: [172.31.0.0/16]}}\n",
        ),
        "spec.serviceNetwork: it differs from that of the other Network",
    ),
    // What one object says of another.
    (
        "mounts-exist",
        &[],
        Manifests(&[(
            "mine.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: mine, namespace: default}\nspec:\n  containers: [{name: mine, image: 'registry.example/mine@sha256:0000000000000000000000000000000000000000000000000000000000000000'}]\n  volumes:\n  - {name: there, configMap: {name: kube-root-ca.crt}}\n  - {name: maybe, configMap: {name: maybe, optional: true}}\n  - {name: gone, secret: {secretName: gone}}\n",
        )]),
        "mine.yaml:9: spec.volumes[2].secret.secretName: there is no Secret `default/gone`",
    ),
    (
        "mounts-exist",
        &[],
        Patch(
            "target: {kind: Pod, name: etcd}\npatch: [{op: add, path: /spec/volumes/-, value: {name: config, configMap: {name: cluster-config-v1}}}]\n",
        ),
        "a static pod cannot use ConfigMap `cluster-config-v1`",
    ),
    (
        "namespaces-first",
        &[],
        Manifests(&[(
            "mine.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: mine, namespace: nowhere}\n",
        )]),
        "mine.yaml:3: metadata.namespace: there is no Namespace `nowhere`",
    ),
    (
        "namespaces-first",
        &[],
        Manifests(&[
            ("one.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: mine, namespace: late}\n"),
            ("two.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: late}\n"),
        ]),
        "one.yaml:3: metadata.namespace: Namespace `late` comes after it",
    ),
    (
        "rbac-subjects",
        &[],
        Manifests(&[(
            "mine.yaml",
            "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: mine}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}\nsubjects:\n- {apiGroup: rbac.authorization.k8s.io, kind: Group, name: 'system:authenticated'}\n- {apiGroup: rbac.authorization.k8s.io, kind: User, name: 'system:admni'}\n",
        )]),
        "mine.yaml:7: subjects[1].name: no certificate is for User `system:admni`",
    ),
];

#[test]
fn each_check_finds_its_first_mutation() {
    each_is_found(&first_of_each(MUTATIONS).0);
}

mod host {
    #[test]
    fn each_check_finds_its_other_mutations() {
        super::each_is_found(&super::first_of_each(super::MUTATIONS).1);
    }
}
