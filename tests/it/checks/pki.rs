//! Certificates and secrets.

use super::Change::{Files, Recipe};
use super::{Mutation, each_is_found, first_of_each};

pub(super) const MUTATIONS: &[Mutation] = &[
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
        "kubelet-client-ca-bundle.crt: it contains `CN=kubernetes-ca`, but not its issuer `CN=root-ca`",
    ),
    (
        "ca-path-length",
        &[],
        Recipe("24-pki/root-ca.toml", &[("path_length = 2", "path_length = 1")]),
        "`CN=root-ca` allows 1 authorities below it, but has 2",
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
        "kubernetes-ca.key: `kubelet-ca.crt` does not belong to this key",
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
        "kubelet-ca.key: it is not the key of an authority that the bootstrap node has",
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
