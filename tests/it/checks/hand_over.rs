//! What is handed over to the masters and their operators.

use super::Change::{Edit, Patch, Recipe};
use super::{Mutation, each_is_found, first_of_each};
use crate::harness::Workspace;

pub(super) const MUTATIONS: &[Mutation] = &[
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
        "it lacks the issuer of `admin.crt`, `CN=kubernetes-ca`: the admin kubeconfig dies",
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
        "it lacks the issuer of `front-proxy-client.crt`, `CN=front-proxy-ca`: after a late boot the masters' API servers",
    ),
    (
        "hand-over-trust",
        &[],
        Recipe(
            "51-hand-over/csr-controller-signer-ca.toml",
            &[("pki/kubernetes-ca:kubernetes-ca.crt", "pki/kubelet-ca:kubelet-ca.crt")],
        ),
        "it lacks `kubernetes-ca.crt`: kubelet certificates issued during bootstrap are refused",
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
        "metadata.annotations[auth.openshift.io/certificate-not-after]: it is ``, but the certificate says `",
    ),
    (
        "signers-rsa",
        &[],
        Patch(
            "target: {kind: Secret, name: csr-signer-signer}\npatch: {metadata: {annotations: {auth.openshift.io/certificate-not-before: '2020-01-01T00:00:00Z'}}}\n",
        ),
        "metadata.annotations[auth.openshift.io/certificate-not-before]: it is `[TIME]`, but the certificate says `[TIME]`",
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

/// An object `cluster` of the user's own needs an override; the hint has the patch that adds it.
#[test]
fn the_hint_makes_an_object_of_the_users_unmanaged() {
    let ws = Workspace::example().prebuilt();
    ws.write(
        "manifests/node.yaml",
        "apiVersion: config.openshift.io/v1\nkind: Node\nmetadata: {name: cluster}\nspec: {workerLatencyProfile: MediumUpdateAverageReaction}\n",
    );
    let said = ws.run(&["build", "-q"]);
    assert!(said.contains("spec.overrides: Node `cluster` is not among them"), "{said}");
    let hint = said.lines().find(|line| line.contains("of your own, add a file to patches/")).unwrap();
    let pieces: Vec<&str> = hint.split('`').collect();
    let patch = pieces.iter().filter(|one| one.starts_with("target: ") || one.starts_with("patch: "));
    let patch: Vec<&str> = patch.copied().collect();
    assert_eq!(patch.len(), 2, "{hint}");
    ws.write("patches/10-node.yaml", &(patch.join("\n") + "\n"));
    ws.build(&[]);
    let version = std::fs::read_to_string(ws.dir.join("result/manifests/cvo-overrides.yaml")).unwrap();
    assert!(version.contains("kind: Node\n"), "{version}");
}
