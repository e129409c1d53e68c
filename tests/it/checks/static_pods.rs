//! Static pods of the bootstrap node.

use super::Change::{Manifests, Patch, Recipe};
use super::{Mutation, each_is_found, first_of_each};

pub(super) const MUTATIONS: &[Mutation] = &[
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
        "`/etc/kubernetes/bootstrap-secrets/etcd-serving.crt` of `--cert-file` is a file that nothing creates",
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
        "`/etc/kubernetes/kubeconfigs/scheduler.kubeconfig` of `--kubeconfig` is a file that nothing creates",
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
        "pull-specs",
        &[],
        Patch(
            "target: {kind: Pod, name: etcd}\npatch: [{op: replace, path: /spec/containers/0/image, value: 'oci:layout@sha256:0000000000000000000000000000000000000000000000000000000000000000'}]\n",
        ),
        "hint: say where nodes pull the release with `releaseRepository` in cluster.yaml",
    ),
    (
        "pull-specs",
        &[],
        Manifests(&[(
            "mine.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: mine, namespace: default}\nspec: {containers: [{name: mine, image: 'mine@sha256:0000000000000000000000000000000000000000000000000000000000000000'}]}\n",
        )]),
        "mine.yaml:4: spec.containers[0].image: `mine@sha256:0000000000000000000000000000000000000000000000000000000000000000` names no registry [pull-specs]",
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
