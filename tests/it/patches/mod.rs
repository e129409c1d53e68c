//! The user's own manifests and patches: what they give, and every way in which one would have no effect.

mod refused;

use std::fs;

use crate::harness::{Workspace, mode};

/// A manifest of the user's.
const MINE: &str = "\
# Ours alone: {{ not a template }}
apiVersion: v1
kind: ConfigMap
metadata: {name: mine, namespace: default}
data: {answer: \"42\"}
";

const ZONE: &str = "\
# The public zone of this cluster.
target: {kind: DNS, name: cluster}
patch:
- {op: test, path: /spec/baseDomain, value: ocp4.example.com}
- {op: add, path: /spec/publicZone, value: {id: zone-1}}
";

/// A session with these files in the cluster directory.
fn build(files: &[(&str, &str)]) -> String {
    Workspace::with(files).prebuilt().run(&["build", "-q", "patched"])
}

/// The same with one patch.
fn patch(text: &str) -> String {
    build(&[("patches/10-x.yaml", text)])
}

fn patched(ws: &Workspace, file: &str) -> String {
    fs::read_to_string(ws.path_of("patched").join(file)).unwrap()
}

#[test]
fn manifests_are_added_as_they_are() {
    let json =
        r#"{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "json", "namespace": "default"}}"#;
    let two = format!("{MINE}---\n{}", MINE.replace("name: mine", "name: two"));
    let ws = Workspace::with(&[
        ("manifests/Mine.yaml", &two.replace("mine", "other")),
        ("manifests/x.json", json),
        ("manifests/y.yml", MINE),
    ])
    .prebuilt();
    for note in ["manifests/README.md", "manifests/.off.yaml", "manifests/y.yml~", "patches/notes.txt"] {
        ws.write(note, "[");
    }
    ws.build(&["patched", "check"]);
    assert_eq!(patched(&ws, "manifests/Mine.yaml"), two.replace("mine", "other"));
    assert_eq!(patched(&ws, "manifests/y.yml"), MINE);
    assert_eq!(patched(&ws, "manifests/x.json"), json);
    // Without them, everything is as it was before.
    fs::remove_dir_all(ws.dir.join("manifests")).unwrap();
    let before = Workspace::example().prebuilt();
    before.build(&["patched"]);
    ws.build(&["patched"]);
    assert_eq!(ws.path_of("patched").file_name(), before.path_of("patched").file_name());
}

#[test]
fn a_patch_changes_its_lines_and_no_others() {
    let ws = Workspace::with(&[("patches/10-zone.yaml", ZONE)]).prebuilt();
    ws.build(&["patched", "check"]);
    insta::assert_snapshot!(patched(&ws, "manifests/cluster-dns-02-config.yml"), @r"
    apiVersion: config.openshift.io/v1
    kind: DNS
    metadata:
      name: cluster
    spec:
      # The CLUSTER domain, not install-config's baseDomain: with the latter every name would be wrong.
      baseDomain: ocp4.example.com
      publicZone:
        id: zone-1
    status: {}
    ");
    let unpatched = ws.path_of("manifest/cluster-ingress-02-config").join("cluster-ingress-02-config.yml");
    assert_eq!(
        patched(&ws, "manifests/cluster-ingress-02-config.yml"),
        fs::read_to_string(unpatched).unwrap()
    );
    // A document among several, by merge, and a file of the user's own, by its path.
    ws.write("manifests/mine.yaml", &format!("{MINE}---\n{}", MINE.replace("name: mine", "name: two")));
    ws.write(
        "patches/20-more.yaml",
        "\
- target: {kind: ConfigMap, name: two, namespace: default, apiVersion: v1, group: ''}
  patch: {data: {answer: null, question: what}}
---
target: {kind: ConfigMap, namespace: default, all: true}
patch: {metadata: {labels: {mine: \"true\"}}}
---
- target: {file: manifests/cluster-scheduler-02-config.yml}
  patch: [{op: replace, path: /spec/mastersSchedulable, value: true}]
",
    );
    ws.build(&["patched"]);
    insta::assert_snapshot!(patched(&ws, "manifests/mine.yaml"), @r#"
    # Ours alone: {{ not a template }}
    apiVersion: v1
    kind: ConfigMap
    metadata: {"name": "mine", "namespace": "default", "labels": {"mine": "true"}}
    data: {answer: "42"}
    ---
    # Ours alone: {{ not a template }}
    apiVersion: v1
    kind: ConfigMap
    metadata: {"name": "two", "namespace": "default", "labels": {"mine": "true"}}
    data: {"question": "what"}
    "#);
    assert!(patched(&ws, "manifests/cluster-scheduler-02-config.yml").contains("mastersSchedulable: true"));
    assert!(patched(&ws, "manifests/cluster-dns-02-config.yml").contains("zone-1"));
    ws.assert_sound();
}

#[test]
fn patches_apply_in_the_order_of_their_names() {
    let change = |from: &str, to: &str| {
        format!(
            "target: {{kind: DNS}}\npatch: [{{op: test, path: /spec/publicZone/id, value: {from}}}, {{op: replace, path: /spec/publicZone/id, value: {to}}}]\n"
        )
    };
    let ws = Workspace::with(&[
        ("patches/10-zone.yaml", ZONE),
        ("patches/20-two.yaml", &change("zone-1", "zone-2")),
        ("patches/30-three.yml", &change("zone-2", "zone-3")),
    ])
    .prebuilt();
    ws.build(&["patched"]);
    assert!(patched(&ws, "manifests/cluster-dns-02-config.yml").contains("id: zone-3"));
    assert_eq!(ws.build(&["patched"]), Vec::<String>::new());
    let graph = ws.run(&["graph", "--format", "dot", "patched"]);
    let chain: Vec<&str> = graph.lines().filter(|line| line.contains("-> \"patch")).map(str::trim).collect();
    insta::assert_snapshot!(chain.join("\n"), @r#"
    "assembled" -> "patch/10-zone";
    "patch/10-zone" -> "patch/20-two";
    "patch/20-two" -> "patch/30-three";
    "patch/30-three" -> "patched";
    "#);
    // An edit of the second rebuilds it; what follows only if it makes a difference.
    ws.write("patches/20-two.yaml", &format!("# Why.\n{}", change("zone-1", "zone-2")));
    assert_eq!(ws.build(&["patched"]), ["patch/20-two"]);
    ws.edit("patches/20-two.yaml", "# Why.", "# Because.");
    insta::assert_snapshot!(ws.run(&["why", "patched"]), @r"
    patched changed since the last build
    root cause
      file patches/20-two.yaml: line 1: # Why. → line 1: # Because.
    cascade
      patch/20-two → patch/30-three → patched
    what follows
      mco/inputs
      mco/shared-inputs
      mco/shared
      mco/rendered-inputs
      mco/rendered
      mco/master
      mco/worker
      render/inputs
      render/api
      render/cloud-credential
      render/cluster-version
      render/config
      render/etcd
      render/kube-apiserver
      render/kube-controller-manager
      bootstrap-config/authentication
      bootstrap-config/kube-apiserver
      ignition/bootstrap
      ignition/master-0
      ignition/master-1
      ignition/master-2
      ignition/worker-0
      ignition/worker-1
      ignition-id/bootstrap
      ignition-id/master-0
      ignition-id/master-1
      ignition-id/master-2
      ignition-id/worker-0
      ignition-id/worker-1
      infra/bootstrap
      infra/master-0
      infra/master-1
      infra/master-2
      infra/worker-0
      infra/worker-1
      check/bootkube
      check/crds
      check/hand-over
      check/ignition
      check/manifests
      check/references
      check/render
      check/schemas
      check/secrets
      check/static-pods
      cluster
    [exit 0]
    ");
    insta::assert_snapshot!(ws.run(&["why", "patch/20-two"]), @r"
    patch/20-two changed since the last build
    root cause
      file patches/20-two.yaml: line 1: # Why. → line 1: # Because.
    what follows
      patch/30-three
      node-tuning/inputs
      patched
      mco/inputs
      mco/shared-inputs
      mco/shared
      mco/rendered-inputs
      mco/rendered
      mco/master
      mco/worker
      render/inputs
      render/api
      render/cloud-credential
      render/cluster-version
      render/config
      render/etcd
      render/kube-apiserver
      render/kube-controller-manager
      bootstrap-config/authentication
      bootstrap-config/kube-apiserver
      ignition/bootstrap
      ignition/master-0
      ignition/master-1
      ignition/master-2
      ignition/worker-0
      ignition/worker-1
      ignition-id/bootstrap
      ignition-id/master-0
      ignition-id/master-1
      ignition-id/master-2
      ignition-id/worker-0
      ignition-id/worker-1
      infra/bootstrap
      infra/master-0
      infra/master-1
      infra/master-2
      infra/worker-0
      infra/worker-1
      check/bootkube
      check/crds
      check/hand-over
      check/ignition
      check/manifests
      check/references
      check/render
      check/schemas
      check/secrets
      check/static-pods
      cluster
    [exit 0]
    ");
}

#[test]
fn an_edit_of_a_manifest_rebuilds_what_has_it() {
    let ws = Workspace::with(&[("manifests/mine.yaml", MINE), ("patches/10-zone.yaml", ZONE)]).prebuilt();
    ws.build(&["patched", "check"]);
    ws.edit("manifests/mine.yaml", "42", "43");
    assert_eq!(
        ws.build(&["patched", "check"]),
        [
            "assembled",
            "bootstrap-config/authentication",
            "check/bootkube",
            "check/crds",
            "check/hand-over",
            "check/ignition",
            "check/manifests",
            "check/references",
            "check/render",
            "check/schemas",
            "check/static-pods",
            "ignition/bootstrap",
            "mco/inputs",
            "patch/10-zone",
            "patched",
            "user/manifests"
        ]
    );
    insta::assert_snapshot!(ws.run(&["why", "assembled"]), @r#"
    assembled is up to date; this was its last change
    root cause
      file manifests/mine.yaml: line 5: data: {answer: "42"} → line 5: data: {answer: "43"}
    cascade
      user/manifests → assembled
    [exit 0]
    "#);
}

#[test]
fn an_object_of_ours_is_patched_and_not_replaced() {
    let dns = "apiVersion: config.openshift.io/v2\nkind: DNS\nmetadata: {name: cluster}\n";
    insta::assert_snapshot!(build(&[("manifests/dns.yaml", &format!("{MINE}---\n{dns}"))]), @r"
    [stderr]
    error: `assembled` cannot be built (built-in recipes/57-assembled.toml)
    caused by: DNS `cluster` is in both manifests/cluster-dns-02-config.yml:1 (manifest/cluster-dns-02-config) and manifests/dns.yaml:7 (user/manifests)
    hint: keep one of them; to change the output of a built-in recipe, add a patch to `patches/`
    [exit 1]
    ");
    insta::assert_snapshot!(build(&[("manifests/cluster-dns-02-config.yml", MINE)]), @r"
    [stderr]
    error: `assembled` cannot be built (built-in recipes/57-assembled.toml)
    caused by: `manifests/cluster-dns-02-config.yml` comes from both `manifest/cluster-dns-02-config` and `user/manifests`
    hint: rename one of them; to change the output of a built-in recipe, add a patch to `patches/`
    [exit 1]
    ");
}

#[test]
fn a_secret_stays_one() {
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: htpasswd, namespace: openshift-config}\nstringData: {htpasswd: hunter2}\n";
    let ws = Workspace::with(&[
        ("manifests/ht passwd.yaml", secret),
        (
            "patches/10-label.yaml",
            "- target: {kind: Secret, name: pull-secret}\n  patch: {metadata: {labels: {mine: 'true'}}}\n- target: {name: htpasswd}\n  patch: {metadata: {labels: {mine: 'true'}}}\n",
        ),
    ]).prebuilt();
    ws.build(&["patched", "check"]);
    for file in ["ht passwd.yaml", "openshift-config-secret-pull-secret.yaml"] {
        let path = ws.path_of("patched").join("manifests").join(file);
        assert_eq!(mode(&path), 0o400, "{file}");
        assert!(fs::read_to_string(&path).unwrap().contains("mine"), "{file}");
        let shown = ws.run(&["show", &format!("patched:manifests/{file}")]);
        assert!(!shown.contains("mine") && !shown.contains("hunter2"), "{shown}");
    }
    assert_eq!(mode(&ws.path_of("patched").join("manifests/01-rbac.yaml")), 0o444);
    ws.edit("manifests/ht passwd.yaml", "hunter2", "hunter3");
    insta::assert_snapshot!(ws.run(&["why", "user/manifests"]), @r"
    user/manifests changed since the last build
    root cause
      config field user.manifests.ht-passwd (manifests/ht passwd.yaml): (secret) → (secret)
    what follows
      assembled
      patch/10-label
      node-tuning/inputs
      patched
      mco/inputs
      mco/shared-inputs
      mco/shared
      mco/rendered-inputs
      mco/rendered
      mco/master
      mco/worker
      render/inputs
      render/api
      render/cloud-credential
      render/cluster-version
      render/config
      render/etcd
      render/kube-apiserver
      render/kube-controller-manager
      bootstrap-config/authentication
      bootstrap-config/kube-apiserver
      ignition/bootstrap
      ignition/master-0
      ignition/master-1
      ignition/master-2
      ignition/worker-0
      ignition/worker-1
      ignition-id/bootstrap
      ignition-id/master-0
      ignition-id/master-1
      ignition-id/master-2
      ignition-id/worker-0
      ignition-id/worker-1
      infra/bootstrap
      infra/master-0
      infra/master-1
      infra/master-2
      infra/worker-0
      infra/worker-1
      check/bootkube
      check/crds
      check/hand-over
      check/ignition
      check/manifests
      check/references
      check/render
      check/schemas
      check/secrets
      check/static-pods
      cluster
    [exit 0]
    ");
    ws.write(
        "patches/10-label.yaml",
        "target: {name: htpasswd}\npatch: [{op: test, path: /stringData/htpasswd, value: x}]\n",
    );
    insta::assert_snapshot!(ws.run(&["build", "-q", "patched"]), @r"
    [stderr]
    error: `patch/10-label` cannot be built (patches/10-label.yaml)
    caused by: patches/10-label.yaml:2: Secret `openshift-config/htpasswd` (manifests/ht passwd.yaml): the test of `/stringData/htpasswd` fails: it has another value, which is secret
    hint: check whether the patch is still right, then update its test
    [exit 1]
    ");
    ws.write(
        "patches/10-label.yaml",
        "target: {name: htpasswd}\npatch: [{op: remove, path: /stringData/htpasswd/x}]\n",
    );
    let text = ws.run(&["build", "patched"]);
    assert!(text.contains("there is no `/stringData/htpasswd/x`") && !text.contains("hunter"), "{text}");
}

/// A check sees what the cluster gets, and names who wrote it.
#[test]
fn findings_name_the_file_and_its_patches() {
    let ws = Workspace::with(&[
        ("patches/10-zone.yaml", ZONE),
        ("patches/20-domain.yaml", "target: {kind: DNS}\npatch: {spec: {baseDomain: example.com}}\n"),
        ("patches/30-other.yaml", "target: {kind: Ingress}\npatch: {spec: {a: b}}\n"),
        ("manifests/mine.yaml", "apiVersion: mine.openshift.io/v1\nkind: Mine\nmetadata: {name: mine}\n"),
    ])
    .prebuilt();
    insta::assert_snapshot!(ws.run(&["build", "-q", "check/manifests"]), @r"
    [stderr]
    error: `check/manifests` cannot be built (built-in recipes/80-check/manifests.toml)
    caused by: 1 of 12 checks failed
      cluster-dns-02-config.yml:7: spec.baseDomain: it is `example.com`, not `ocp4.example.com` [dns-base-domain]
        rule: DNS `cluster` has the cluster domain as its baseDomain, as the installer writes it
        at boot: wrong names for everything
        from: manifest/cluster-dns-02-config, changed by patch/10-zone, patch/20-domain
    [exit 1]
    ");
    insta::assert_snapshot!(ws.run(&["build", "-q", "check/crds"]), @r"
    [stderr]
    error: `check/crds` cannot be built (built-in recipes/80-check/crds.toml)
    caused by: 1 of 3 checks failed
      mine.yaml:2: kind: no CRD of this release has mine.openshift.io Mine [crds-before-cvo]
        rule: every custom resource of ours and the CVO's own two have their CRD in this release, each in exactly one variant
        at boot: our own resources cannot be created, and the CVO only retries; with several variants the last one wins, and a TechPreview schema goes live
        from: manifests/mine.yaml
    [exit 1]
    ");
}

/// A pod's comments are its documentation: a patch of one flag keeps those of all others.
#[test]
fn the_result_has_patched_pods_with_their_comments() {
    let pod = "\
apiVersion: v1
kind: Pod
metadata: {name: etcd, namespace: kube-system}
spec:
  containers:
  - name: etcd
    image: registry.example/etcd@sha256:0000000000000000000000000000000000000000000000000000000000000000
    args:
    # Where it keeps its data.
    - --data-dir=/var/lib/etcd
    # How long a leader may be silent.
    - --election-timeout=1000
    volumeMounts: [{name: data, mountPath: /var/lib/etcd}]
  volumes: [{name: data, hostPath: {path: /var/lib/etcd}}]
";
    let ws = Workspace::with(&[
        ("recipes/40-static-pod/etcd.toml", "builder = 'template'\n[files]\n'etcd.yaml' = 'etcd.yaml.j2'\n"),
        ("recipes/40-static-pod/etcd.yaml.j2", pod),
        (
            "patches/10-etcd.yaml",
            "target: {file: static-pods/etcd.yaml}\npatch: [{op: replace, path: /spec/containers/0/args/1, value: --election-timeout=2500}]\n",
        ),
    ]).prebuilt();
    ws.build(&[]);
    let result = fs::read_to_string(ws.dir.join("result/static-pods/etcd.yaml")).unwrap();
    assert_eq!(result, pod.replace("1000", "2500"));
    assert!(ws.dir.join("result/manifests/cluster-dns-02-config.yml").is_file());
    ws.assert_sound();
}

/// Each copy of a map into itself doubles it, and moves can nest it deeper than any stack.
#[test]
fn patches_have_an_end() {
    let patch = |operations: Vec<String>| {
        format!("target: {{kind: DNS, name: cluster}}\npatch:\n- {}\n", operations.join("\n- "))
    };
    let add = "{op: add, path: /spec/a, value: {id: some text}}".to_owned();
    let copies = (0..40).map(|at| format!("{{op: copy, from: /spec/a, path: /spec/a/x{at}}}"));
    let said = build(&[("patches/10-x.yaml", &patch(std::iter::once(add.clone()).chain(copies).collect()))]);
    assert!(said.contains("the patch copies more than 64 MiB") && said.contains("[exit 1]"), "{said:.1000}");
    let moves = ["{op: add, path: /spec/t, value: {}}", "{op: move, from: /spec/a, path: /spec/t/a}"]
        .into_iter()
        .chain(["{op: move, from: /spec/t, path: /spec/a}"])
        .map(str::to_owned);
    let nested = std::iter::once(add).chain(moves.cycle().take(27_000)).collect();
    let said = build(&[("patches/10-x.yaml", &patch(nested))]);
    assert!(said.contains("nested deeper than 64 levels") && said.contains("[exit 1]"), "{said:.1000}");
}
