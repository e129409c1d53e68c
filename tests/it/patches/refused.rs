//! Manifests and patches that cannot be used.

use super::{MINE, ZONE, build, patch};
use crate::harness::Workspace;

#[test]
fn a_manifest_that_is_none() {
    insta::assert_snapshot!(build(&[
        ("manifests/a.yaml", "a: [\n"),
        ("manifests/b.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: x-}\n---\nkind: Pod\n---\n- x\n"),
        ("manifests/c.yaml", "apiVersion: v1\nkind: List\nitems: []\n"),
        ("manifests/d.yaml", MINE),
        ("manifests/e.yaml", &format!("# the same\n---\n{MINE}")),
        ("manifests/empty.yaml", "# nothing\n"),
        ("manifests/f.ymal", MINE),
        ("manifests/more/g.yaml", MINE),
        ("patches/10-a.yaml", "target: {kind: DNS}\npatchs: {a: 1}\n"),
        ("patches/10-a.yml", ZONE),
        ("patches/20.yaml.off", ZONE),
    ]), @r"
    [stderr]
    error: 13 problems:
    manifests/a.yaml:2: not valid YAML: while parsing a node, did not find expected node content
      hint: look at this line and the one above it
    manifests/b.yaml:1: metadata.name: it is missing, so this is not an object
      hint: `generateName` cannot be applied twice: give it a name
    manifests/b.yaml:5: apiVersion: it is missing, so this is not an object
    manifests/b.yaml:7: apiVersion: it is missing, so this is not an object
    manifests/c.yaml:1: metadata.name: it is missing, so this is not an object
      hint: write its items as documents of their own, with `---` between them
    manifests/e.yaml:4: ConfigMap `default/mine` is in manifests/d.yaml:2 too
      hint: keep one of them
    manifests/empty.yaml: there is no object in this file
    manifests/f.ymal: this file would be ignored
      hint: call it `.yaml`, `.yml` or `.json`, or put a dot in front of its name
    manifests/more: folders in this folder are not read
      hint: move its files up, or the folder elsewhere
    patches/10-a.yaml:1: patch: it is missing
      hint: a list is a JSON patch, a map a merge patch
    patches/10-a.yaml:2: patchs: unknown field
      hint: did you mean `patch`?
    patches/10-a.yml: `patches/10-a.yaml` would be `patch/10-a` too
      hint: rename one of them
    patches/20.yaml.off: this file would be ignored
      hint: call it `.yaml`, `.yml` or `.json`, or put a dot in front of its name
    [exit 1]
    ");
    insta::assert_snapshot!(build(&[("patches/My Patch.yaml", ZONE)]), @r"
    [stderr]
    error: 1 problem:
    patches/My Patch.yaml: `My Patch` is not a name
      hint: names are made of a-z, 0-9, `-`, `_` and `.`, and begin with a letter or digit
    [exit 1]
    ");
}

#[test]
fn a_patch_without_effect_is_an_error() {
    insta::assert_snapshot!(patch("# one\n- target: {kind: DNS, name: clster}\n  patch: {spec: {a: b}}\n"), @r"
    [stderr]
    error: `patch/10-x` cannot be built (patches/10-x.yaml)
    caused by: patches/10-x.yaml:2: the patch targets DNS `clster`, which does not exist
    hint: of that kind, there is DNS `cluster` (manifests/cluster-dns-02-config.yml)
    [exit 1]
    ");
    insta::assert_snapshot!(patch("target: {kind: DSN}\npatch: {spec: {a: b}}\n"), @r"
    [stderr]
    error: `patch/10-x` cannot be built (patches/10-x.yaml)
    caused by: patches/10-x.yaml:1: the patch targets DSN, which does not exist
    hint: did you mean `DNS`?
    [exit 1]
    ");
    insta::assert_snapshot!(patch("target: {name: pull-secre, namespace: openshift-config}\npatch: {spec: {a: b}}\n"), @r"
    [stderr]
    error: `patch/10-x` cannot be built (patches/10-x.yaml)
    caused by: patches/10-x.yaml:1: the patch targets object `pull-secre` in namespace `openshift-config`, which does not exist
    hint: did you mean `pull-secret`?
    [exit 1]
    ");
    insta::assert_snapshot!(patch("target: {file: manifests/cluster-dns-02-config.yaml}\npatch: {spec: {a: b}}\n"), @r"
    [stderr]
    error: `patch/10-x` cannot be built (patches/10-x.yaml)
    caused by: patches/10-x.yaml:1: the patch targets manifests/cluster-dns-02-config.yaml, which does not exist
    hint: did you mean `manifests/cluster-dns-02-config.yml`?
    [exit 1]
    ");
    insta::assert_snapshot!(patch(&ZONE.replace("ocp4.example.com", "example.com")), @r"
    [stderr]
    error: `patch/10-x` cannot be built (patches/10-x.yaml)
    caused by: patches/10-x.yaml:4: DNS `cluster` (manifests/cluster-dns-02-config.yml): the test of `/spec/baseDomain` fails: it is `ocp4.example.com`, not `example.com`
    hint: check whether the patch is still right, then update its test
    [exit 1]
    ");
    insta::assert_snapshot!(patch("target: {kind: DNS}\npatch:\n- {op: add, path: /spec/x, value: 1}\n- {op: remove, path: /spec/baseDomian}\n"), @r"
    [stderr]
    error: `patch/10-x` cannot be built (patches/10-x.yaml)
    caused by: patches/10-x.yaml:4: DNS `cluster` (manifests/cluster-dns-02-config.yml): there is no `/spec/baseDomian`: `/spec` has `baseDomain`, `x`
    hint: did you mean `/spec/baseDomain`?
    [exit 1]
    ");
    insta::assert_snapshot!(patch("target: {kind: DNS}\npatch: [{op: replace, path: /spec/zone/id, value: 1}]\n"), @r"
    [stderr]
    error: `patch/10-x` cannot be built (patches/10-x.yaml)
    caused by: patches/10-x.yaml:2: DNS `cluster` (manifests/cluster-dns-02-config.yml): there is no `/spec/zone/id`: `/spec` has `baseDomain`
    [exit 1]
    ");
    insta::assert_snapshot!(patch("target: {kind: DNS}\npatch: {spec: {baseDomain: ocp4.example.com, none: null}}\n"), @r"
    [stderr]
    error: `patch/10-x` cannot be built (patches/10-x.yaml)
    caused by: patches/10-x.yaml:1: DNS `cluster` (manifests/cluster-dns-02-config.yml): the patch changes nothing
    hint: delete the patch, or check whether it still serves its purpose
    [exit 1]
    ");
    insta::assert_snapshot!(patch("target: {kind: DNS}\npatch: [{op: remove, path: /metadata/name}]\n"), @r"
    [stderr]
    error: `patch/10-x` cannot be built (patches/10-x.yaml)
    caused by: patches/10-x.yaml:1: DNS `cluster` (manifests/cluster-dns-02-config.yml): without `metadata.name`, the patched document is not an object
    [exit 1]
    ");
    insta::assert_snapshot!(patch("target: {kind: Network}\npatch: {spec: {a: b}}\n"), @r"
    [stderr]
    error: `patch/10-x` cannot be built (patches/10-x.yaml)
    caused by: patches/10-x.yaml:1: Network matches several objects: Network `cluster` (manifests/cluster-network-02-config.yml), Network `cluster` (manifests/cluster-network-03-config.yml)
    hint: be more specific, or set `all: true` in `target`
    [exit 1]
    ");
    insta::assert_snapshot!(patch("target: {kind: Network, group: operator.openshift.io}\npatch: {apiVersion: config.openshift.io/v1}\n"), @r"
    [stderr]
    error: `patch/10-x` cannot be built (patches/10-x.yaml)
    caused by: patches/10-x.yaml:1: Network `cluster` (manifests/cluster-network-03-config.yml): the patch makes it the same object as Network `cluster` (manifests/cluster-network-02-config.yml)
    [exit 1]
    ");
}

/// What a patch was written for may be gone after an update.
#[test]
fn a_patch_that_does_not_fit_the_next_release() {
    let ws = Workspace::with(&[(
        "patches/10-gates.yaml",
        "\
target: {kind: FeatureGate, name: cluster}
patch:
- {op: test, path: /status/featureGates/0/version, value: 4.18.0-demo}
- {op: add, path: /status/featureGates/0/enabled/-, value: {name: Mine}}
",
    )])
    .prebuilt();
    ws.build(&["patched"]);
    ws.edit("cluster.yaml", "release: demo:4.18", "release: demo:4.19");
    ws.relock();
    insta::assert_snapshot!(ws.run(&["build", "-q", "patched"]), @r"
    [stderr]
    error: `patch/10-gates` cannot be built (patches/10-gates.yaml)
    caused by: patches/10-gates.yaml:3: FeatureGate `cluster` (manifests/99_feature-gate.yaml): the test of `/status/featureGates/0/version` fails: it is `4.19.0-demo`, not `4.18.0-demo`
    hint: check whether the patch is still right, then update its test
    [exit 1]
    ");
}
