//! Every check, broken: for each one of `check --list` a patch, a manifest, a recipe or an edit that a user could make, and
//! that makes the build fail with the name of that check.

use std::collections::BTreeSet;
use std::fs;

use super::harness::{Workspace, source};

/// What a user does.
enum Change {
    /// A patch.
    Patch(&'static str),
    /// Files of the user's own in `manifests/`.
    Manifests(&'static [(&'static str, &'static str)]),
    /// A file of `recipes/` with texts replaced in it, in place of the built-in one.
    Recipe(&'static str, &'static [(&'static str, &'static str)]),
    /// Whole files.
    Files(&'static [(&'static str, &'static str)]),
    /// Another text in install-config.yaml or cluster.yaml.
    Edit(&'static str, &'static str, &'static str),
    /// Several of these.
    All(&'static [Change]),
}
use Change::{All, Edit, Files, Manifests, Patch, Recipe};

/// The check; others that look at the same thing and fail too; what is done; a part of what is said.
type Mutation = (&'static str, &'static [&'static str], Change, &'static str);

/// Every boot fact: names of checks that a build has, or will have.
const FACTS: &[&str] = &[
    "addresses",
    "admin-group",
    "apiserver-sans",
    "apiserver-url-env",
    "bootkube-path",
    "bootstrap-kubelet-standalone",
    "bootstrapper-rbac",
    "ca-path-length",
    "cluster-config-v1",
    "clusterversion-no-update",
    "crds-before-cvo",
    "cvo-flags",
    "cvo-image",
    "cvo-static-pod",
    "dns-base-domain",
    "duplicate-path",
    "etcd-endpoints",
    "etcd-server-usage",
    "expiry",
    "featuregate",
    "flag-files-exist",
    "front-proxy-names",
    "haproxy-tcp-checks",
    "image-not-empty",
    "infrastructure-status",
    "kube-proxy",
    "kubeadmin-length",
    "kubelet-access",
    "kubelet-ca",
    "networks-disjoint",
    "operator-network",
    "pause-image",
    "render-drift",
    "replicas",
    "service-ip",
    "signer-present",
    "signers-rsa",
    "strict-apply",
];

/// Facts that no derivation can know: the clock's.
const LATER: &[&str] = &["expiry"];

/// The checks that no mutation breaks.
const UNBROKEN: &[&str] = &[];

/// Workers' configs of the user's own, with nothing in them but a mistake.
macro_rules! workers {
    ($config:literal) => {
        [
            (
                "recipes/65-ignition/workers.toml",
                "# Mine.\nbuilder = \"template\"\nfor_each = \"workers\"\nname = \"{node}\"\n[files]\n\"{node}.ign\" = \"mine.ign.j2\"\n\"tree.json\" = \"mine.json.j2\"\n",
            ),
            ("recipes/65-ignition/mine.ign.j2", concat!(r#"{"ignition": {"version": "3.4.0"}, "storage": "#, $config, "}")),
            (
                "recipes/65-ignition/mine.json.j2",
                r#"{"version": "3.4.0", "directories": [], "files": [], "links": [], "units": [], "users": []}"#,
            ),
        ]
    };
}
type Three = [(&'static str, &'static str); 3];
const WORKER_TWICE: Three = workers!(
    r#"{"files": [{"path": "/etc/a", "mode": 420}], "directories": [{"path": "/etc/a", "mode": 493}]}"#
);
const WORKER_BELOW: Three =
    workers!(r#"{"files": [{"path": "/etc/a", "mode": 420}, {"path": "/etc/a/b", "mode": 420}]}"#);
const WORKER_DECIMAL: Three = workers!(r#"{"files": [{"path": "/etc/a", "mode": 644}]}"#);
const WORKER_RELATIVE: Three = workers!(r#"{"files": [{"path": "etc/a", "mode": 420}]}"#);
const WORKER_FETCHES: Three = workers!(
    r#"{"files": [{"path": "/etc/a", "mode": 420, "contents": {"source": "https://example.com/a"}}]}"#
);
const WORKER_MISSPELT: Three = workers!(r#"{"fils": []}"#);

const MUTATIONS: &[Mutation] = &[
    // The user's files.
    (
        "addresses",
        &[],
        Edit("cluster.yaml", "api: 192.168.126.10\n", "api: 192.168.127.10\n"),
        "vips.api: `192.168.127.10` is not inside the machine network",
    ),
    (
        "families",
        &[],
        Edit("install-config.yaml", "  - 172.30.0.0/16", "  - fd02::/112"),
        "networking.serviceNetwork",
    ),
    (
        "networks-disjoint",
        &[],
        Edit("install-config.yaml", "  - 172.30.0.0/16", "  - 10.128.0.0/16"),
        "networking.serviceNetwork",
    ),
    ("replicas", &[], Edit("install-config.yaml", "replicas: 2", "replicas: 1"), "replicas"),
    // Certificates.
    (
        "admin-group",
        &[],
        Recipe("24-pki/admin.toml", &[("[\"system:masters\"]", "[\"system:admins\"]")]),
        "admin.crt: subject: it is for `O=system:admins, CN=system:admin`",
    ),
    (
        "admin-group",
        &[],
        Recipe("24-pki/admin.toml", &[("usages = [\"client\"]", "usages = [\"server\"]\nnameless = true")]),
        "admin.crt: extendedKeyUsage: it has no clientAuth",
    ),
    (
        "apiserver-sans",
        &[],
        Recipe("24-pki/kube-apiserver.toml", &[("  \"localhost\",\n", "")]),
        "kube-apiserver.crt: subjectAltName: the name `localhost` is missing",
    ),
    (
        "apiserver-sans",
        &[],
        Recipe("24-pki/kube-apiserver.toml", &[("  \"api-int.{domain}\",\n", "")]),
        "the name `api-int.ocp4.example.com` is missing",
    ),
    (
        "apiserver-sans",
        &[],
        Recipe("24-pki/kube-apiserver.toml", &[("  \"kubernetes.default.svc.cluster.local\",\n", "")]),
        "the name `kubernetes.default.svc.cluster.local` is missing",
    ),
    (
        "apiserver-sans",
        &[],
        Recipe(
            "24-pki/kube-apiserver.toml",
            &[("masters = \"masters.*.ips\"\n", ""), ("\"{masters}\", ", "")],
        ),
        "the address `192.168.126.103` is missing",
    ),
    (
        "apiserver-sans",
        &[],
        Recipe("24-pki/kube-apiserver.toml", &[("vips = \"api.vips\"\n", ""), ("\"{vips}\", ", "")]),
        "the address `192.168.126.10` is missing",
    ),
    (
        "service-ip",
        &["apiserver-sans"],
        Recipe("24-pki/kube-apiserver.toml", &[("\"service.kubernetes\"", "\"service.dns\"")]),
        "the address `172.30.0.1` is missing",
    ),
    (
        "etcd-server-usage",
        &[],
        Recipe("24-pki/etcd-server.toml", &[("[\"server\", \"client\"]", "[\"server\"]")]),
        "etcd-server.crt: extendedKeyUsage: it has no clientAuth",
    ),
    (
        "etcd-server-usage",
        &[],
        Recipe("24-pki/etcd-peers.toml", &[("[\"server\", \"client\"]", "[\"client\"]")]),
        "etcd-peer-master-2.crt: extendedKeyUsage: it has no serverAuth",
    ),
    (
        "ca-path-length",
        &[],
        Recipe(
            "24-pki/kubelet-client-ca-bundle.crt.j2",
            &[("{{ kubernetes[\"kubernetes-ca-bundle.crt\"] | replace(first, \"\") }}", "")],
        ),
        "kubelet-client-ca-bundle.crt: it has `CN=kubernetes-ca`, and not its issuer `CN=root-ca`",
    ),
    (
        "ca-path-length",
        &[],
        Recipe("24-pki/root-ca.toml", &[("path_length = 2", "path_length = 1")]),
        "`CN=root-ca` allows 1 authorities below it, and has 2",
    ),
    // Secrets.
    (
        "kubeadmin-length",
        &[],
        Files(&[
            (
                "recipes/20-identity/kubeadmin-password.toml",
                "# Mine.\nbuilder = \"template\"\n[files]\n\"kubeadmin-password\" = \"kubeadmin-password.j2\"\n",
            ),
            ("recipes/20-identity/kubeadmin-password.j2", "hunter2"),
        ]),
        "kubeadmin-password: it has fewer than 23 characters",
    ),
    (
        "signer-present",
        &["flag-files-exist"],
        Recipe(
            "40-static-pod/kube-controller-manager.yaml.j2",
            &[(
                "signing-cert-file=/etc/kubernetes/secrets/kubernetes-ca.crt",
                "signing-cert-file=/etc/kubernetes/secrets/kubelet-ca.crt",
            )],
        ),
        "kubernetes-ca.key: `kubelet-ca.crt` is not of this key",
    ),
    (
        "signer-present",
        &["flag-files-exist"],
        Recipe(
            "40-static-pod/kube-controller-manager.yaml.j2",
            &[(
                "signing-key-file=/etc/kubernetes/secrets/kubernetes-ca.key",
                "signing-key-file=/etc/kubernetes/secrets/kubelet-ca.key",
            )],
        ),
        "kubelet-ca.key: it is no key of an authority that the bootstrap node has",
    ),
    (
        "signer-present",
        &[],
        Recipe(
            "40-static-pod/kube-controller-manager.yaml.j2",
            &[("    - --cluster-signing-key-file=/etc/kubernetes/secrets/kubernetes-ca.key\n", "")],
        ),
        "`--cluster-signing-key-file` is missing",
    ),
    // Static pods.
    (
        "cvo-static-pod",
        &[],
        Patch(
            "target: {kind: Pod, name: cluster-version-operator}\npatch: [{op: replace, path: /spec/containers/0/command/0, value: sleep}]\n",
        ),
        "no static pod runs cluster-version-operator",
    ),
    (
        "cvo-image",
        &[],
        Patch(
            "target: {kind: Pod, name: cluster-version-operator}\npatch: [{op: replace, path: /spec/containers/0/image, value: 'registry.example/cvo@sha256:0000000000000000000000000000000000000000000000000000000000000000'}]\n",
        ),
        "spec.containers[0].image: it is `registry.example/cvo@sha256:",
    ),
    (
        "cvo-flags",
        &[],
        Recipe(
            "40-static-pod/cluster-version-operator.yaml.j2",
            &[("- --listen=\n", "- --listen=0.0.0.0:9099\n")],
        ),
        "`--listen` is not empty",
    ),
    (
        "cvo-flags",
        &[],
        Patch(
            "target: {kind: Pod, name: cluster-version-operator}\npatch: [{op: replace, path: /spec/containers/0/env/0/value, value: single-node-developer}]\n",
        ),
        "CLUSTER_PROFILE is not `self-managed-high-availability`",
    ),
    (
        "cvo-flags",
        &[],
        Patch(
            "target: {kind: Pod, name: cluster-version-operator}\npatch: [{op: replace, path: /spec/containers/0/securityContext/privileged, value: false}]\n",
        ),
        "spec.containers[0].securityContext: it is not privileged",
    ),
    (
        "kube-proxy",
        &[],
        Patch(
            "target: {kind: Pod, name: kube-proxy}\npatch: [{op: replace, path: /spec/containers/0/image, value: 'registry.example/hyperkube@sha256:0000000000000000000000000000000000000000000000000000000000000000'}]\n",
        ),
        "spec.containers[0].image: it is `registry.example/hyperkube@sha256:",
    ),
    (
        "kube-proxy",
        &[],
        Patch(
            "target: {kind: Pod, name: kube-proxy}\npatch: [{op: remove, path: /spec/containers/0/securityContext}]\n",
        ),
        "spec.containers[0].securityContext: it is not privileged",
    ),
    (
        "kube-proxy",
        &[],
        Patch(
            "target: {kind: Pod, name: kube-proxy}\npatch: [{op: replace, path: /spec/containers/0/command/0, value: sleep}]\n",
        ),
        "no static pod runs kube-proxy",
    ),
    (
        "kube-proxy",
        &[],
        Patch(
            "target: {kind: ClusterRoleBinding, name: tinderbox-node-proxier}\npatch: [{op: replace, path: /subjects/0/name, value: 'system:admin'}]\n",
        ),
        "no ClusterRoleBinding gives `system:node-proxier` to user `system:bootstrapper`",
    ),
    (
        "front-proxy-names",
        &[],
        Recipe(
            "40-static-pod/kube-apiserver.yaml.j2",
            &[(
                "=kube-apiserver-proxy,system:kube-apiserver-proxy,system:openshift-aggregator",
                "=kube-apiserver-proxy,system:openshift-aggregator",
            )],
        ),
        "`system:kube-apiserver-proxy` of front-proxy-client.crt is not among",
    ),
    (
        "front-proxy-names",
        &[],
        Recipe("24-pki/front-proxy-client.toml", &[("system:kube-apiserver-proxy", "system:proxy")]),
        "`system:proxy` of front-proxy-client.crt is not among",
    ),
    (
        "flag-files-exist",
        &[],
        Recipe(
            "40-static-pod/etcd.yaml.j2",
            &[(
                "--cert-file=/etc/kubernetes/secrets/etcd-server.crt",
                "--cert-file=/etc/kubernetes/secrets/etcd-serving.crt",
            )],
        ),
        "`/etc/kubernetes/bootstrap-secrets/etcd-serving.crt` of `--cert-file` is a file that nothing makes",
    ),
    (
        "flag-files-exist",
        &[],
        Recipe(
            "40-static-pod/kube-scheduler.yaml.j2",
            &[(
                "--kubeconfig=/etc/kubernetes/kubeconfigs/kube-scheduler.",
                "--kubeconfig=/etc/kubernetes/kubeconfigs/scheduler.",
            )],
        ),
        "`/etc/kubernetes/kubeconfigs/scheduler.kubeconfig` of `--kubeconfig` is a file that nothing makes",
    ),
    (
        "flag-files-exist",
        &[],
        Patch(
            "target: {kind: Pod, name: kube-controller-manager}\npatch: [{op: remove, path: /spec/containers/0/volumeMounts/0}]\n",
        ),
        "`/etc/kubernetes/secrets/kubernetes-ca.crt` of `--cluster-signing-cert-file` is in no volume of the node",
    ),
    (
        "image-not-empty",
        &[],
        Patch(
            "target: {kind: Pod, name: etcd}\npatch: [{op: replace, path: /spec/containers/0/image, value: ''}]\n",
        ),
        "spec.containers[0].image: it is empty",
    ),
    (
        "image-not-empty",
        &[],
        Manifests(&[(
            "mine.yaml",
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: mine, namespace: default}\nspec:\n  selector: {matchLabels: {a: b}}\n  template:\n    metadata: {labels: {a: b}}\n    spec: {containers: [{name: mine, image: 'registry.example/mine:latest'}]}\n",
        )]),
        "mine.yaml:8: spec.template.spec.containers[0].image: `registry.example/mine:latest` has no digest",
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
        "no ClusterRoleBinding gives `system:node-bootstrapper` to user `system:bootstrapper`",
    ),
    (
        "kubelet-access",
        &[],
        Patch(
            "target: {kind: ClusterRoleBinding, name: tinderbox-kubelet-api-admin}\npatch: [{op: replace, path: /subjects/0/name, value: 'system:admin'}]\n",
        ),
        "no ClusterRoleBinding gives `system:kubelet-api-admin` to user `system:kube-apiserver`",
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
        &[],
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
        "spec.serviceNetwork: it is not that of the other Network",
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
    // The node OS.
    (
        "render-drift",
        &[],
        All(&[
            Recipe(
                "knowledge/mco-kinds.toml",
                &[("[[kind]]\nkind = \"MachineConfig.machineconfiguration.openshift.io\"\n", "")],
            ),
            Manifests(&[(
                "mine.yaml",
                "apiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfig\nmetadata:\n  name: 99-mine\n  labels: {machineconfiguration.openshift.io/role: worker}\nspec: {config: {ignition: {version: 3.2.0}}}\n",
            )]),
        ]),
        "MachineConfig `99-mine` is among the manifests and did not go into the render",
    ),
    (
        "render-drift",
        &[],
        All(&[
            Recipe(
                "80-check/render.toml",
                &[("manifests = \"patched:manifests\"", "manifests = \"mco/inputs:crs\"")],
            ),
            Manifests(&[(
                "mine.yaml",
                "apiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfig\nmetadata:\n  name: 99-mine\n  labels: {machineconfiguration.openshift.io/role: master}\nspec: {config: {ignition: {version: 3.2.0}}}\n",
            )]),
        ]),
        "`99-mine` went into the render and is not among the manifests",
    ),
    // What nodes boot with.
    (
        "apiserver-url-env",
        &[],
        Recipe(
            "65-ignition/masters.toml",
            &[(
                "[[params.users]]",
                "[[params.write]]\npath = \"/etc/kubernetes/apiserver-url.env\"\nmode = \"0644\"\nfrom = \"hostname\"\nreplace = \"x\"\nwhy = \"x\"\n\n[[params.users]]",
            )],
        ),
        "ignition/master-0: /etc/kubernetes/apiserver-url.env: it does not set KUBERNETES_SERVICE_HOST",
    ),
    (
        "bootkube-path",
        &[],
        Recipe(
            "65-ignition/bootstrap.toml",
            &[("path = \"/usr/local/bin/bootkube.sh\"", "path = \"/opt/openshift/bootkube.sh\"")],
        ),
        "ignition/bootstrap: /usr/local/bin/bootkube.sh: it is not written",
    ),
    (
        "bootkube-path",
        &[],
        Recipe(
            "65-ignition/bootkube.service.j2",
            &[("ExecStart=/usr/local/bin/bootkube.sh", "ExecStart=/opt/openshift/bootkube.sh")],
        ),
        "bootkube.service: it does not start /usr/local/bin/bootkube.sh",
    ),
    (
        "bootstrap-kubelet-standalone",
        &[],
        Recipe(
            "65-ignition/kubelet.service.j2",
            &[("  --v=2\n", "  --v=2 \\\n  --kubeconfig=/etc/kubernetes/kubeconfigs/localhost.kubeconfig\n")],
        ),
        "ignition/bootstrap: kubelet.service: it has `--kubeconfig`",
    ),
    ("duplicate-path", &[], Files(&WORKER_TWICE), "ignition/worker-0: /etc/a: it is there twice"),
    (
        "duplicate-path",
        &["kubelet-ca", "pause-image"],
        Files(&WORKER_BELOW),
        "ignition/worker-1: /etc/a/b: `/etc/a`, which it is below, is no directory",
    ),
    (
        "flag-files-exist",
        &[],
        Recipe(
            "65-ignition/bootstrap.toml",
            &[("[\"front-proxy-ca-bundle.crt\"]", "[\"front-proxy-ca-bundle.crt\", \"etcd-server.crt\"]")],
        ),
        "`/etc/kubernetes/bootstrap-secrets/etcd-server.crt` of `--cert-file` is not written",
    ),
    (
        "flag-files-exist",
        &[],
        Recipe(
            "65-ignition/masters.toml",
            &[
                ("path = \"/etc/kubernetes/kubeconfig\"", "path = \"/etc/kubernetes/other\""),
                ("mode = \"0644\"\nfrom = \"kubeconfig\"", "mode = \"0600\"\nfrom = \"kubeconfig\""),
            ],
        ),
        "`/etc/kubernetes/kubeconfig` is mounted as a File, and is not written",
    ),
    (
        "ignition-modes",
        &[],
        Recipe(
            "65-ignition/workers.toml",
            &[("path = \"/etc/hostname\"\nmode = \"0644\"", "path = \"/etc/hostname\"\nmode = \"0666\"")],
        ),
        "ignition/worker-0: /etc/hostname: its mode 0666 lets others write",
    ),
    (
        "ignition-modes",
        &["kubelet-ca", "pause-image"],
        Files(&WORKER_DECIMAL),
        "ignition/worker-0: /etc/a: its mode 1204 keeps its owner out",
    ),
    (
        "ignition-paths",
        &["kubelet-ca", "pause-image"],
        Files(&WORKER_RELATIVE),
        "ignition/worker-0: etc/a: it is not absolute",
    ),
    (
        "ignition-pinned",
        &["kubelet-ca", "pause-image"],
        Files(&WORKER_FETCHES),
        "ignition/worker-0: /etc/a: it is fetched, and has no `verification.hash`",
    ),
    (
        "ignition-size",
        &[],
        Recipe(
            "65-ignition/images.env.j2",
            &[(
                "{% for component",
                "{% set text = \"0123456789012345678901234567890123456789012345678901234567890123\" * 64 %}\n{% for at in range(4200) %}\n{{ text }}\n{% endfor %}\n{% for component",
            )],
        ),
        "ignition/bootstrap: it has 16 MiB",
    ),
    ("ignition-spec", &[], Files(&WORKER_MISSPELT), "ignition/worker-0: spec 3.4.0 has no `storage.fils`"),
    (
        "kube-proxy",
        &[],
        Recipe(
            "65-ignition/masters.toml",
            &[(
                "path = \"/etc/kubernetes/manifests/kube-proxy.yaml\"",
                "path = \"/etc/kubernetes/kube-proxy.yaml\"",
            )],
        ),
        "ignition/master-0: /etc/kubernetes/manifests/: no static pod runs kube-proxy",
    ),
    (
        "kubelet-ca",
        &[],
        Recipe(
            "65-ignition/workers.toml",
            &[("path = \"/etc/kubernetes/kubelet-ca.crt\"", "path = \"/etc/kubernetes/kubelet-cas.crt\"")],
        ),
        "ignition/worker-0: /etc/kubernetes/kubelet-ca.crt: it is not written",
    ),
    (
        "pause-image",
        &[],
        Recipe("65-ignition/crio.conf.j2", &[("pause_image = ", "pause_images = ")]),
        "ignition/bootstrap: /etc/crio/crio.conf.d/: no file sets `pause_image`",
    ),
    (
        "pause-image",
        &[],
        Recipe(
            "65-ignition/crio.conf.j2",
            &[(
                "pause_image_auth_file = \"/var/lib/kubelet/config.json\"",
                "pause_image_auth_file = \"/root/.docker/config.json\"",
            )],
        ),
        "`pause_image_auth_file` is `/root/.docker/config.json`, which is not written",
    ),
    (
        "secrets-readable",
        &[],
        Recipe(
            "65-ignition/bootstrap.toml",
            &[(
                "path = \"/var/lib/kubelet/config.json\"\nmode = \"0600\"",
                "path = \"/var/lib/kubelet/config.json\"\nmode = \"0644\"",
            )],
        ),
        "ignition/bootstrap: /var/lib/kubelet/config.json: it is secret, and has mode 0644",
    ),
    (
        "systemd-units",
        &[],
        Recipe("65-ignition/bootkube.service.j2", &[("[Install]\nWantedBy=multi-user.target\n", "")]),
        "ignition/bootstrap: bootkube.service: it is enabled, and has no [Install]",
    ),
    (
        "systemd-units",
        &["bootkube-path"],
        Recipe("65-ignition/bootkube.service.j2", &[("[Service]", "[Servise]")]),
        "ignition/bootstrap: bootkube.service: [Servise] is no section of such a unit",
    ),
    (
        "master-label",
        &[],
        Manifests(&[(
            "mine.yaml",
            "apiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfig\nmetadata: {name: 99-mine, labels: {machineconfiguration.openshift.io/role: master}}\nspec:\n  config:\n    ignition: {version: 3.4.0}\n    systemd:\n      units:\n      - name: kubelet.service\n        dropins:\n        - name: 99-mine.conf\n          contents: |\n            [Service]\n            ExecStart=\n            ExecStart=/usr/bin/kubelet --node-labels=node-role.kubernetes.io/control-plane\n",
        )]),
        "ignition/master-0: kubelet.service: it does not register with `node-role.kubernetes.io/master`",
    ),
    // The hand-over.
    (
        "bootstrap-complete",
        &[],
        Recipe(
            "55-script/bootkube.sh.j2",
            &[("--from-literal=status=complete ", "--from-literal=status=completed ")],
        ),
        "bootkube.sh: it creates no ConfigMap kube-system/bootstrap",
    ),
    (
        "cvo-overrides",
        &[],
        Patch("target: {kind: ClusterVersion}\npatch: [{op: remove, path: /spec/overrides/4}]\n"),
        "spec.overrides: Network `cluster` is not among them",
    ),
    (
        "cvo-overrides",
        &[],
        Recipe("55-script/bootkube.sh.j2", &[("oc patch clusterversion version ", "oc patch nothing ")]),
        "bootkube.sh: nothing in it takes the overrides off",
    ),
    (
        "hand-over-objects",
        &[],
        Patch("target: {kind: ConfigMap, name: csr-controller-ca}\npatch: {data: {ca-bundle.crt: ''}}\n"),
        "data[ca-bundle.crt]: it is missing, empty or unreadable: kubelets are refused by the masters",
    ),
    (
        "hand-over-objects",
        &[],
        Patch("target: {kind: Secret, name: etcd-signer}\npatch: {metadata: {name: etcd-signers}}\n"),
        "there is no Secret openshift-etcd/etcd-signer: the etcd operator makes a new authority",
    ),
    (
        "hand-over-trust",
        &[],
        Recipe(
            "51-hand-over/admin-kubeconfig-client-ca.toml",
            &[("pki/kubernetes-ca:kubernetes-ca.crt", "pki/root-ca:root-ca.crt")],
        ),
        "it has not the issuer of `admin.crt`, `CN=kubernetes-ca`: the admin kubeconfig dies",
    ),
    (
        "hand-over-objects",
        &[],
        Patch("target: {kind: ConfigMap, name: loadbalancer-serving-ca}\npatch: {data: null}\n"),
        "data[ca-bundle.crt]: it is missing, empty or unreadable: after a late boot pods and kubelets",
    ),
    (
        "hand-over-trust",
        &[],
        Recipe(
            "51-hand-over/kube-apiserver-aggregator-client-ca.toml",
            &[("pki/front-proxy-ca:front-proxy-ca.crt", "pki/etcd-ca:etcd-ca.crt")],
        ),
        "it has not the issuer of `front-proxy-client.crt`, `CN=front-proxy-ca`: after a late boot the masters' API servers",
    ),
    (
        "hand-over-trust",
        &[],
        Recipe(
            "51-hand-over/csr-controller-signer-ca.toml",
            &[("pki/kubernetes-ca:kubernetes-ca.crt", "pki/kubelet-ca:kubelet-ca.crt")],
        ),
        "it has not `kubernetes-ca.crt`: kubelet certificates issued during bootstrap are refused",
    ),
    (
        "hand-over-trust",
        &[],
        Recipe(
            "51-hand-over/sa-token-signing-certs.toml",
            &[(
                "key/service-account:service-account.pub",
                "key/bound-service-account-signing-key:bound-service-account-signing-key.pub",
            )],
        ),
        "data[service-account-001.pub]: it does not verify what the private key signs",
    ),
    (
        "hand-over-trust",
        &[],
        Recipe("24-pki/machine-config-server.toml", &[("api-int.{domain}", "api.{domain}")]),
        "it is not for `api-int.ocp4.example.com`",
    ),
    (
        "hand-over-trust",
        &[],
        Recipe(
            "51-hand-over/machine-config-server-tls.toml",
            &[("key/machine-config-server:machine-config-server.key", "key/admin:admin.key")],
        ),
        "data[tls.key]: it is not the key of the certificate",
    ),
    (
        "signers-rsa",
        &[],
        Edit("cluster.yaml", "\nrelease:", "\npki: {authorityKeyAlgorithm: ecdsa-p256}\nrelease:"),
        "hint: set `pki.authorityKeyAlgorithm: rsa-2048` in cluster.yaml",
    ),
    (
        "signers-rsa",
        &[],
        Patch(
            "target: {kind: Secret, name: etcd-signer}\npatch: {metadata: {annotations: {auth.openshift.io/certificate-not-after: null}}}\n",
        ),
        "metadata.annotations[auth.openshift.io/certificate-not-after]: it is ``, and the certificate says `",
    ),
    (
        "signers-rsa",
        &[],
        Patch(
            "target: {kind: Secret, name: csr-signer-signer}\npatch: {metadata: {annotations: {auth.openshift.io/certificate-not-before: '2020-01-01T00:00:00Z'}}}\n",
        ),
        "metadata.annotations[auth.openshift.io/certificate-not-before]: it is `[TIME]`, and the certificate says `[TIME]`",
    ),
    (
        "signers-rsa",
        &[],
        Patch("target: {kind: Secret, name: localhost-serving-signer}\npatch: {type: Opaque}\n"),
        "type: it is not `kubernetes.io/tls`",
    ),
    (
        "signers-rsa",
        &[],
        Recipe(
            "51-hand-over/aggregator-client-signer.toml",
            &[("key/front-proxy-ca:front-proxy-ca.key", "key/etcd-ca:etcd-ca.key")],
        ),
        "data[tls.key]: it is not the key of the certificate",
    ),
    (
        "signers-rsa",
        &["hand-over-trust"],
        Recipe(
            "51-hand-over/etcd-signer.toml",
            &[
                ("pki/etcd-signer:etcd-signer.crt", "pki/etcd-server:etcd-server.crt"),
                ("key/etcd-ca:etcd-ca.key", "key/etcd-server:etcd-server.key"),
            ],
        ),
        "data[tls.crt]: `CN=etcd-server` may not sign certificates",
    ),
    (
        "signers-rsa",
        &[],
        Recipe(
            "51-hand-over/etcd-signer.toml",
            &[("pki/etcd-signer:etcd-signer.crt", "pki/etcd-ca:etcd-ca.crt")],
        ),
        "data[tls.crt]: `CN=etcd-ca` is signed by `CN=root-ca`, not by itself",
    ),
    (
        "network-status",
        &[],
        Patch("target: {kind: Network, group: config.openshift.io}\npatch: {status: {serviceNetwork: []}}\n"),
        "status.serviceNetwork: it is empty or missing",
    ),
    (
        "cluster-config-v1",
        &[],
        Recipe(
            "50-manifest/cluster-config.yaml.j2",
            &[(
                "controlPlane=dict(masters_given, name=\"master\", replicas=masters)",
                "controlPlane={\"name\": \"master\", \"count\": masters}",
            )],
        ),
        "it has no `controlPlane.replicas`: the etcd operator never makes a revision",
    ),
    // Around the cluster.
    (
        "haproxy-tcp-checks",
        &[],
        Recipe("70-infra/_haproxy.j2", &[("option tcp-check", "option httpchk")]),
        "haproxy.cfg:",
    ),
];

impl Change {
    fn make(&self, ws: &Workspace) {
        match self {
            Patch(text) => ws.write("patches/10-x.yaml", text),
            Manifests(files) => {
                files.iter().for_each(|(name, text)| ws.write(&format!("manifests/{name}"), text));
            }
            Files(files) => files.iter().for_each(|(path, text)| ws.write(path, text)),
            Edit(file, from, to) => ws.edit(file, from, to),
            Recipe(path, replaced) => recipe(ws, path, replaced),
            All(changes) => changes.iter().for_each(|change| change.make(ws)),
        }
    }
}

/// Puts a file of ours with other texts in it into the user's recipes, with all others of its folder that go with it.
fn recipe(ws: &Workspace, path: &str, replaced: &[(&str, &str)]) {
    let (folder, name) = path.split_once('/').unwrap();
    let from = source("recipes").join(folder);
    let mut text = fs::read_to_string(from.join(name)).unwrap();
    for (old, new) in replaced {
        assert_eq!(text.matches(old).count(), 1, "`{old}` in {path}");
        text = text.replace(old, new);
    }
    if name.ends_with(".j2") {
        for entry in fs::read_dir(&from).unwrap() {
            let entry = entry.unwrap();
            let other = entry.file_name().into_string().unwrap();
            let stem = |name: &str| name.split('.').next().unwrap().to_owned();
            if stem(&other) == stem(name) || name.starts_with('_') || other.starts_with('_') {
                ws.write(&format!("recipes/{folder}/{other}"), &fs::read_to_string(entry.path()).unwrap());
            }
        }
    }
    ws.write(&format!("recipes/{path}"), &text);
}

/// Undoes every change.
fn reset(ws: &Workspace) {
    for folder in ["patches", "manifests", "recipes"] {
        let _ = fs::remove_dir_all(ws.dir.join(folder));
    }
    for name in ["install-config.yaml", "cluster.yaml"] {
        ws.write(name, &fs::read_to_string(source("examples/ocp4").join(name)).unwrap());
    }
}

/// The checks whose names end a line, as findings do.
fn found(said: &str) -> BTreeSet<String> {
    let name = |line: &str| {
        line.strip_suffix(']').and_then(|line| line.rsplit_once(" [")).map(|(_, name)| name.to_owned())
    };
    said.lines().filter_map(name).collect()
}

fn listed() -> BTreeSet<String> {
    let list = Workspace::empty().json(&["check", "--list"]);
    let list = list.get("checks").unwrap_or(&list);
    list.as_array().unwrap().iter().map(|check| check["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn each_mutation_is_found_by_its_check() {
    let ws = Workspace::in_memory().filled();
    ws.build(&["check"]);
    let mut wrong = Vec::new();
    for (check, others, change, says) in MUTATIONS {
        reset(&ws);
        change.make(&ws);
        let said = ws.run(&["build", "-q", "--keep-going", "check"]);
        let wanted: BTreeSet<String> = others.iter().chain([check]).map(|&name| name.to_owned()).collect();
        assert!(!said.contains("hunter2"), "{said}");
        if found(&said) != wanted || !said.contains(says) || !said.contains("[exit 1]") {
            wrong.push(format!("{check}: `{says}`, not\n{said}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // Nothing of it stays.
    reset(&ws);
    assert_eq!(ws.build(&["check"]), [""; 0]);
    ws.assert_sound();
}

#[test]
fn every_check_has_a_mutation() {
    let broken: BTreeSet<String> = MUTATIONS.iter().map(|(check, ..)| (*check).to_owned()).collect();
    let listed = listed();
    let unbroken: Vec<&String> = listed.difference(&broken).collect();
    assert_eq!(unbroken, UNBROKEN);
    assert!(broken.is_subset(&listed), "{:?}", broken.difference(&listed));
}

#[test]
fn every_boot_fact_is_a_check_or_waits_for_its_artifact() {
    let listed = listed();
    let missing: Vec<&str> = FACTS.iter().copied().filter(|fact| !listed.contains(*fact)).collect();
    assert_eq!(missing, LATER);
}

/// What is right for one kind of cluster is for all.
#[test]
fn every_kind_of_cluster_passes() {
    type Kind = (&'static str, fn(&Workspace));
    let kinds: [Kind; 5] = [
        ("dual-stack", Workspace::dual_stack),
        ("IPv6 only", Workspace::ipv6_only),
        ("compact", |ws| ws.without_workers(3)),
        ("single node", |ws| ws.without_workers(1)),
        ("the next release", |ws| {
            ws.edit("cluster.yaml", "release: demo:4.18", "release: demo:4.19");
            ws.relock();
        }),
    ];
    let ws = Workspace::in_memory().filled();
    for (kind, change) in kinds {
        reset(&ws);
        change(&ws);
        let said = ws.run(&["build", "-q", "--keep-going", "check"]);
        assert!(said.contains("[exit 0]"), "{kind}: {said}");
    }
}

/// A user who knows better turns one off by name, and is told so each time.
#[test]
fn a_check_that_is_off_does_not_fail() {
    let ws = Workspace::in_memory().filled();
    for (check, others, change, _) in MUTATIONS {
        // One each of the user's files, certificates, secrets, pods, scripts, and references.
        if !["replicas", "admin-group", "kubeadmin-length", "cvo-flags", "strict-apply", "rbac-subjects"]
            .contains(check)
        {
            continue;
        }
        reset(&ws);
        change.make(&ws);
        let off: Vec<&str> = others.iter().chain([check]).copied().collect();
        ws.edit(
            "cluster.yaml",
            "\nrelease:",
            &format!("\nchecks: {{disabled: [{}]}}\nrelease:", off.join(", ")),
        );
        let said = ws.run(&["build", "check"]);
        assert!(said.contains("[exit 0]"), "{check}: {said}");
        let told = said.contains(&format!("the check `{check}` is turned off in cluster.yaml"));
        assert!(told, "{check}: {said}");
    }
}

/// Whom an identity provider knows cannot be known before boot: not an error, and not silent.
#[test]
fn a_subject_of_an_identity_provider_is_left_open() {
    let ws = Workspace::with(&[(
        "manifests/mine.yaml",
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: mine}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}\nsubjects:\n- {apiGroup: rbac.authorization.k8s.io, kind: User, name: alice}\n",
    )]);
    ws.build(&["check/references"]);
    let report = fs::read_to_string(ws.path_of("check/references").join("report.json")).unwrap();
    assert!(report.contains("User `alice` exists") && report.contains("subjects[0].name"), "{report}");
}
