//! Admission on the bootstrap node: OpenShift's API server, its CRDs and constraints, its audit log.

use super::Change::{Patch, Recipe};
use super::{Mutation, each_is_found, first_of_each};

pub(super) const MUTATIONS: &[Mutation] = &[
    (
        "admission-crds",
        &[],
        Recipe(
            "knowledge/admission.toml",
            &[(
                "\"rolebindingrestrictions.authorization.openshift.io\"",
                "\"rolebindings.mine.openshift.io\"",
            )],
        ),
        "the release has no CRD `rolebindings.mine.openshift.io`: RestrictSubjectBindings refuses every RoleBinding",
    ),
    (
        "openshift-config",
        &[],
        Recipe(
            "40-static-pod/kube-apiserver.yaml.j2",
            &[(
                "    - --openshift-config=/etc/kubernetes/bootstrap-configs/kube-apiserver-config.yaml\n",
                "",
            )],
        ),
        "there is no `--openshift-config`",
    ),
    (
        "openshift-config",
        &[],
        Recipe("knowledge/admission.toml", &[("[[mode]]\nname = \"SystemMasters\"\n\n", "")]),
        "`--authorization-mode` has no `SystemMasters`",
    ),
    (
        "openshift-config",
        &[],
        Recipe(
            "knowledge/admission.toml",
            &[("[[plugin]]\nname = \"security.openshift.io/SecurityContextConstraint\"\n\n", "")],
        ),
        "`--enable-admission-plugins` has no `security.openshift.io/SecurityContextConstraint`",
    ),
    (
        "openshift-config",
        &[],
        Recipe(
            "64-bootstrap-config/kube-apiserver.toml",
            &[("service = \"networks.service\"", "service = \"networks.cluster.*.cidr\"")],
        ),
        "servicesSubnet: it is `10.128.0.0/14`, but Network `cluster` has `172.30.0.0/16`",
    ),
    (
        "openshift-config",
        &[],
        Patch(
            "target: {kind: Pod, name: kube-apiserver}\npatch: [{op: add, path: /spec/containers/0/args/-, value: --service-cluster-ip-range=172.31.0.0/16}]\n",
        ),
        "`--service-cluster-ip-range` is overruled by `kube-apiserver-config.yaml`",
    ),
    (
        "audit-log",
        &[],
        Recipe(
            "40-static-pod/kube-apiserver.yaml.j2",
            &[("    - --audit-log-path=/var/log/kube-apiserver/audit.log\n", "")],
        ),
        "there is no `--audit-log-path`",
    ),
    (
        "audit-log",
        &[],
        Recipe(
            "65-ignition/bootstrap.toml",
            &[(
                "path = \"/var/log/kube-apiserver\"\nmode = \"0700\"",
                "path = \"/var/log/kube-apiserver\"\nmode = \"0755\"",
            )],
        ),
        "users other than root can read the audit log",
    ),
    (
        "scc-before-pivot",
        &[],
        Patch(
            "target: {kind: Pod, name: kube-controller-manager}\npatch: [{op: replace, path: /spec/containers/1/command/0, value: sleep}]\n",
        ),
        "no static pod runs cluster-policy-controller",
    ),
    (
        "scc-before-pivot",
        &[],
        Recipe("50-manifest/scc.toml", &[("  \"0000_20_kube-apiserver-operator_00_scc-*\",\n", "")]),
        "there is no SecurityContextConstraints `restricted-v2`",
    ),
    (
        "scc-before-pivot",
        &[],
        Patch(
            "target: {kind: ClusterRoleBinding, name: 'system:openshift:controller:namespace-security-allocation-controller'}\npatch: [{op: replace, path: /subjects/0/namespace, value: default}]\n",
        ),
        "no ClusterRoleBinding grants `system:openshift:controller:namespace-security-allocation-controller` to ServiceAccount `openshift-infra/namespace-security-allocation-controller`",
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
