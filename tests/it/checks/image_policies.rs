//! What the payload has for the machine-config controller, on a release that has some.

use super::Change::{Files, Patch, Recipe};
use super::{Mutation, each_is_found_on, reset};
use crate::harness::Workspace;

pub(super) const MUTATIONS: &[Mutation] = &[
    (
        "render-drift",
        &[],
        Recipe(
            "knowledge/mco-kinds.toml",
            &[(
                "kind = \"ClusterImagePolicy.config.openshift.io\"\npayload = true\n",
                "kind = \"ClusterImagePolicy.config.openshift.io\"\n",
            )],
        ),
        "the release has ClusterImagePolicy `openshift`, which goes into the cluster's render and did not go into ours",
    ),
    (
        "render-drift",
        &[],
        Patch(
            "target: {kind: ClusterImagePolicy, name: openshift}\npatch: {spec: {scopes: [demo.invalid/openshift]}}\n",
        ),
        "ClusterImagePolicy `openshift` is not as the release has it",
    ),
    // A kind that a future controller reads, and that a future payload has.
    (
        "render-drift",
        &[],
        Files(&[
            (
                "recipes/10-release/node-config.toml",
                "# Mine.\nbuilder = \"template\"\n[files]\n\"stream.yaml\" = \"stream.yaml.j2\"\n",
            ),
            (
                "recipes/10-release/stream.yaml.j2",
                "apiVersion: machineconfiguration.openshift.io/v1\nkind: OSImageStream\nmetadata: {name: cluster}\nspec: {defaultStream: rhel-10}\n---\napiVersion: config.openshift.io/v1\nkind: Node\nmetadata: {name: cluster}\nspec: {}\n",
            ),
        ]),
        "the release has OSImageStream `cluster`, which goes into the cluster's render and did not go into ours",
    ),
];

/// What the cluster-version operator is told to leave alone may be anything.
#[test]
fn an_unmanaged_policy_may_be_changed() {
    let ws = Workspace::example().prebuilt();
    reset(&ws, "4.21");
    ws.relock();
    ws.write(
        "patches/10-scopes.yaml",
        "target: {kind: ClusterImagePolicy, name: openshift}\npatch: {spec: {scopes: [demo.invalid/openshift]}}\n",
    );
    ws.write(
        "patches/20-unmanaged.yaml",
        "target: {kind: ClusterVersion, name: version}\npatch: [{op: add, path: /spec/overrides/-, value: {group: config.openshift.io, kind: ClusterImagePolicy, name: openshift, namespace: '', unmanaged: true}}]\n",
    );
    ws.build(&["check"]);
}

#[test]
fn each_mutation_is_found() {
    each_is_found_on("4.21", &MUTATIONS.iter().collect::<Vec<_>>());
}
