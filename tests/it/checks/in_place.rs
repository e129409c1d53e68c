//! A single node that bootstraps itself.

use super::Change::{All, Edit, Files, Manifests, Patch, Recipe};
use super::{Change, Mutation, each_is_found, first_of_each};

/// The example of such a node, in place of the other.
const SINGLE_NODE: Change = Files(&[
    ("install-config.yaml", include_str!("../../../examples/sno/install-config.yaml")),
    ("cluster.yaml", include_str!("../../../examples/sno/cluster.yaml")),
]);

pub(super) const MUTATIONS: &[Mutation] = &[
    // The name that the file has on a bootstrap machine: the operator's pod would start beside it.
    (
        "in-place-static-pods",
        &[],
        All(&[
            SINGLE_NODE,
            Recipe(
                "65-ignition/in-place.toml",
                &[("manifests/{operand.etcd-manifest}\"", "manifests/etcd.yaml\"")],
            ),
        ]),
        "ignition/master-0: /etc/kubernetes/manifests/etcd-pod.yaml: no pod in it runs etcd",
    ),
    // The same, seen from the file that stays.
    (
        "in-place-static-pods",
        &[],
        All(&[
            SINGLE_NODE,
            Recipe(
                "65-ignition/in-place.toml",
                &[("manifests/{operand.kube-apiserver-manifest}\"", "manifests/kube-apiserver.yaml\"")],
            ),
        ]),
        "/etc/kubernetes/manifests/kube-apiserver.yaml: it runs kube-apiserver, but its operator replaces only /etc/kubernetes/manifests/kube-apiserver-pod.yaml",
    ),
    (
        "in-place-member",
        &[],
        All(&[
            SINGLE_NODE,
            Recipe(
                "40-static-pod/etcd-in-place.toml",
                &[
                    ("member = \"bootstrap.fqdn\"\n", ""),
                    ("[params.values]\n", "[params.values]\nmember = \"etcd-bootstrap\"\n"),
                ],
            ),
            Recipe("40-static-pod/etcd.yaml.j2", &[]),
        ]),
        "`--name` is `etcd-bootstrap`, not the node's, `master-0.sno.example.com`",
    ),
    (
        "in-place-member",
        &[],
        All(&[
            SINGLE_NODE,
            Recipe("40-static-pod/etcd-in-place.toml", &[]),
            Recipe(
                "40-static-pod/etcd.yaml.j2",
                &[(
                    "--initial-cluster={{ member }}=",
                    "--initial-cluster=other=https://other:2380,{{ member }}=",
                )],
            ),
        ]),
        "`--initial-cluster` does not start with `master-0.sno.example.com` alone",
    ),
    // A kubelet that waits for a certificate.
    (
        "in-place-kubelet",
        &[],
        All(&[
            SINGLE_NODE,
            Recipe(
                "65-ignition/in-place.toml",
                &[(
                    "[[params.users]]",
                    "[[params.write]]\npath = \"/etc/kubernetes/kubelet.conf\"\nmode = \"0644\"\nfrom = \"hostname\"\nreplace = \"x\"\nwhy = \"x\"\n\n[[params.users]]",
                )],
            ),
        ]),
        "ignition/master-0: /etc/kubernetes/kubelet.conf: `rotateCertificates` is not true",
    ),
    // A kubelet that asks nobody, as on a bootstrap machine.
    (
        "in-place-kubelet",
        &["master-label"],
        All(&[
            SINGLE_NODE,
            Manifests(&[(
                "mine.yaml",
                "apiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfig\nmetadata: {name: 99-mine, labels: {machineconfiguration.openshift.io/role: master}}\nspec:\n  config:\n    ignition: {version: 3.4.0}\n    systemd:\n      units:\n      - name: kubelet.service\n        dropins:\n        - name: 99-mine.conf\n          contents: |\n            [Service]\n            ExecStart=\n            ExecStart=/usr/bin/kubelet --config=/etc/kubernetes/kubelet.conf\n",
            )]),
        ]),
        "ignition/master-0: kubelet.service: it has no `--bootstrap-kubeconfig`: the node never joins",
    ),
    (
        "in-place-config",
        &["etcd-endpoints"],
        All(&[
            SINGLE_NODE,
            Edit("install-config.yaml", "bootstrapInPlace:\n  installationDisk: /dev/vda\n", ""),
            Recipe("50-manifest/cluster-config.yaml.j2", &[]),
            Recipe(
                "50-manifest/cluster-config-in-place.yaml.j2",
                &[("bootstrapInPlace={\"installationDisk\": disk}", "bootstrap={\"disk\": disk}")],
            ),
        ]),
        "data.install-config: it has no `bootstrapInPlace`",
    ),
    (
        "in-place-endpoints",
        &[],
        All(&[
            SINGLE_NODE,
            Patch(
                "target: {kind: ConfigMap, name: etcd-endpoints}\npatch: {metadata: {annotations: {alpha.installer.openshift.io/etcd-bootstrap: 192.168.127.101}}}\n",
            ),
        ]),
        "metadata.annotations[alpha.installer.openshift.io/etcd-bootstrap]: it is there, and no member is bootstrap's",
    ),
    (
        "in-place-endpoints",
        &[],
        All(&[
            SINGLE_NODE,
            Patch(
                "target: {kind: ConfigMap, name: etcd-endpoints}\npatch: {data: {MTkyLjE2OC4xMjcuMTAx: 192.168.127.102}}\n",
            ),
        ]),
        "data: it lists `192.168.127.102`, not `192.168.127.101`",
    ),
    (
        "in-place-cleared",
        &[],
        All(&[
            SINGLE_NODE,
            Recipe("55-script/bootkube-in-place.toml", &[]),
            Recipe(
                "55-script/bootkube.sh.j2",
                &[("  rm -rf \"$secrets\" \"$configs\"", "  rm -rf \"$configs\"")],
            ),
        ]),
        "bootkube.sh: it does not remove the keys of the first control plane",
    ),
    (
        "in-place-cleared",
        &[],
        All(&[
            SINGLE_NODE,
            Recipe("55-script/bootkube-in-place.toml", &[]),
            Recipe(
                "55-script/bootkube.sh.j2",
                &[("    rm -f \"$static_pods/cluster-version-operator.yaml\"\n", "")],
            ),
        ]),
        "bootkube.sh: it does not end the static cluster-version operator",
    ),
    // Checks of a bootstrap machine look at this node too.
    (
        "bootkube-path",
        &[],
        All(&[
            SINGLE_NODE,
            Recipe(
                "65-ignition/in-place.toml",
                &[("path = \"/usr/local/bin/bootkube.sh\"", "path = \"/opt/bootkube.sh\"")],
            ),
        ]),
        "ignition/master-0: /usr/local/bin/bootkube.sh: nothing writes it",
    ),
    (
        "audit-log",
        &[],
        All(&[
            SINGLE_NODE,
            Recipe(
                "65-ignition/in-place.toml",
                &[(
                    "path = \"/var/log/kube-apiserver\"\nmode = \"0700\"",
                    "path = \"/var/log/kube-apiserver\"\nmode = \"0755\"",
                )],
            ),
        ]),
        "ignition/master-0: /var/log/kube-apiserver: users other than root can read the audit log",
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
