//! `release try`: the page, the document, and every way in which a release can stand in the way.

use serde_json::Value;

use crate::harness::{Workspace, source};
use crate::release::pack::{Pack, Release};

fn tried(ws: &Workspace, code: i32, args: &[&str]) -> Value {
    let output = ws.output(&[&["release", "try", "--json"], args].concat());
    assert_eq!(output.status.code(), Some(code), "{}", ws.text(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The items of a finding; none if it is not there.
fn items(document: &Value, id: &str) -> Option<Vec<String>> {
    let finding = document["findings"].as_array().unwrap().iter().find(|one| one["id"] == id)?;
    Some(finding["items"].as_array().unwrap().iter().map(|item| item.as_str().unwrap().to_owned()).collect())
}

/// Nothing is built, locked or linked; the page starts with the verdict.
#[test]
fn the_page_of_the_next_release() {
    let ws = Workspace::example().prebuilt();
    ws.build(&[]);
    let lock = std::fs::read(ws.dir.join("cluster.lock")).unwrap();
    insta::assert_snapshot!(ws.run(&["-q", "release", "try", "--install", "demo:4.22"]), @"
    can go: 4.18.0-demo → 4.22.0-demo (demo:4.22); 18 questions not asked
    also
      feature gates: removed, usually because the feature is always on now: AdditionalRoutingCapabilities, AdminNetworkPolicy (was on), CloudDualStackNodeIPs (was on), DynamicResourceAllocation, HardwareSpeed (was on), MachineConfigNodes, ManagedBootImages (was on), NetworkDiagnosticsConfig (was on) and 7 more
      feature gates: new: BootImageSkewEnforcement (on), CRDCompatibilityRequirementOperator, ClusterAPIMachineManagement, DualReplica (on), EventTTL (on), ImageStreamImportMode (on), IrreconcilableMachineConfig, KMSEncryption and 4 more
      feature gates: off now, on in the new release: SigstoreImageVerification, UserNamespacesSupport
    not asked
      renders: all operators: the demo release has no content for it
      flags: cluster-version-operator: its image has no program `cluster-version-operator`
      flags: authentication-operator (render/authentication), cloud-credential-operator (render/cloud-credential), cluster-config-operator (render/config), cluster-etcd-operator (render/etcd), cluster-kube-apiserver-operator (render/kube-apiserver), cluster-kube-controller-manager-operator (render/kube-controller-manager), cluster-kube-scheduler-operator (render/kube-scheduler), cluster-policy-controller, etcd, ingress-operator (render/ingress), kube-apiserver, kube-controller-manager, kube-proxy, kube-scheduler: the demo release has no content for it
      flags: cluster-version-operator (render/cluster-version): the image has no program `/usr/bin/cluster-version-operator`
      flags: render (render/api): the image has no program `/usr/bin/render`
    [exit 0]
    ");
    assert_eq!(ws.json(&["generations"]).as_array().unwrap().len(), 1);
    assert_eq!(std::fs::read(ws.dir.join("cluster.lock")).unwrap(), lock);
    assert_eq!(ws.build(&[]), Vec::<String>::new());
}

/// The same release: nothing moves, and what could not be asked is said.
#[test]
fn a_release_without_content_is_not_asked_and_not_passed() {
    let ws = Workspace::example().prebuilt();
    let same = tried(&ws, 0, &["demo:4.18"]);
    assert_eq!(same["verdict"], "can-go");
    let findings: Vec<_> = same["findings"].as_array().unwrap().iter().map(|one| &one["id"]).collect();
    assert_eq!(findings, ["update-same-version"]);
    let not_asked = same["not_asked"].as_array().unwrap();
    let why =
        |what: &str| not_asked.iter().find(|one| one["what"] == what).map(|one| one["why"].as_str().unwrap());
    assert_eq!(why("etcd"), Some("the demo release has no content for it"));
    assert_eq!(why("machine-config-operator (mco/rendered)"), None, "the demo has that one, so it is asked");
    let quick = tried(&ws, 0, &["demo:4.18", "--no-programs"]);
    assert_eq!(quick["not_asked"].as_array().unwrap().len(), 2, "{quick}");
}

/// Trouble is not an answer.
#[test]
fn a_release_that_is_not_there_is_trouble() {
    let ws = Workspace::example().prebuilt();
    let said = ws.run(&["-q", "release", "try", "demo:9.9"]);
    assert!(
        said.contains("error: no demo release 9.9; this build has ") && said.contains("[exit 2]"),
        "{said}"
    );
}

/// A flag that a program does not know, in a recipe of the user's; asked of the program itself.
#[test]
fn a_flag_that_nobody_knows_stands_against_it() {
    let ws = Workspace::example().prebuilt();
    let recipe = "recipes/60-mco/rendered.toml";
    let text = std::fs::read_to_string(source(recipe)).unwrap();
    for file in ["recipes/60-mco/root-ca.crt", "recipes/60-mco/cluster-config.yaml"] {
        ws.write(file, &std::fs::read_to_string(source(file)).unwrap());
    }
    ws.write(recipe, &text.replace("  \"--kube-ca=", "  \"--ancient=1\",\n  \"--kube-ca="));
    let found = tried(&ws, 1, &["demo:4.19"]);
    assert_eq!(found["verdict"], "cannot-go");
    let flags = items(&found, "flag-unknown").unwrap();
    assert_eq!(flags, ["machine-config-operator (mco/rendered): --ancient"]);
}

/// What the user's own files use of an API that goes, Ignition that is too new, and a gate that is not there.
#[test]
fn what_the_user_uses_stands_against_it() {
    let ws = Workspace::example().prebuilt();
    ws.write(
        "manifests/node.yaml",
        "apiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfig\nmetadata:\n  name: 99-own\n  labels:\n    \
         machineconfiguration.openshift.io/role: worker\nspec:\n  config:\n    ignition: {version: 3.6.0}\n",
    );
    let found = tried(&ws, 1, &["demo:4.19", "--no-programs"]);
    assert_eq!(items(&found, "ignition-unreadable").unwrap().len(), 1, "{found}");
    ws.write("patches/10-nothing.yaml", "target: {kind: ConfigMap, name: nobody}\npatch: {data: {a: b}}\n");
    let found = tried(&ws, 1, &["demo:4.19", "--no-programs"]);
    let failed = items(&found, "does-not-build").unwrap();
    assert!(failed[0].starts_with("patch/10-nothing: "), "{failed:?}");
}

/// Which way, how far, and to what: each has its verdict, its reason and a way out.
#[test]
fn the_way_is_judged() {
    let ws = Workspace::example().prebuilt();
    let ids = |code: i32, args: &[&str]| {
        let found = tried(&ws, code, &[args, &["--no-programs"]].concat());
        let update = found["findings"].as_array().unwrap().iter().filter(|one| one["section"] == "update");
        let all: Vec<(String, bool)> =
            update.map(|one| (one["id"].as_str().unwrap().into(), one["advice"].is_string())).collect();
        (all, found["question"].as_str().unwrap().to_owned())
    };
    let one = |id: &str, advice: bool| (vec![(id.to_owned(), advice)], "update".to_owned());
    assert_eq!(ids(0, &["demo:4.19"]), one("update-listed", false));
    assert_eq!(ids(1, &["demo:4.20"]), one("update-skips-versions", true));
    assert_eq!(ids(1, &["demo:5.0"]), one("update-not-listed", true));
    assert_eq!(ids(1, &["demo:4.19-okd"]), one("update-other-flavor", true));
    assert_eq!(ids(0, &["demo:4.20", "--install"]), (Vec::new(), "install".to_owned()));
    insta::assert_snapshot!(ws.run(&["-q", "release", "try", "demo:4.18-okd", "--no-programs"]), @"
    cannot go: 4.18.0-demo → 4.18.0-okd-scos.demo (demo:4.18-okd); 2 questions not asked
    stands against it
      update: 4.18.0-demo is OpenShift, 4.18.0-okd-scos.demo is OKD: neither can become the other
        choose a release of OpenShift, or ask about a new cluster with `--install`
    not asked
      renders: all operators: `--no-programs`
      flags: all programs: `--no-programs`
    [exit 1]
    ");
    ws.edit("cluster.yaml", "release: demo:4.18", "release: demo:4.19");
    ws.relock();
    assert_eq!(ids(1, &["demo:4.18"]), one("update-backwards", true));
}

/// A release without images for the nodes is an answer, not trouble.
#[test]
fn another_architecture_cannot_be_gone_to() {
    let ws = Workspace::example().prebuilt();
    let release = Release { architecture: Some("arm64".into()), ..Release::of(&ws, "4.18.1") };
    release.put(&Pack::create(&ws.dir.join("layout")), "arm");
    insta::assert_snapshot!(ws.run(&["-q", "release", "try", "oci:layout:arm"]), @"
    cannot go: 4.18.0-demo → (unknown) (oci:layout:arm)
    stands against it
      release: it has no images for linux/amd64, which the nodes of this cluster are; it has: linux/arm64
        choose the release image for this architecture, or the multi-architecture one; nodes do not change theirs
    [exit 1]
    ");
    let found = tried(&ws, 1, &["oci:layout:arm"]);
    assert_eq!(items(&found, "architecture-missing").unwrap(), ["linux/arm64"]);
}

/// Schemas of the new release that refuse what this cluster says: each way, with file and line.
#[test]
fn values_that_a_release_refuses_stand_against_it() {
    let ws = Workspace::example().prebuilt();
    let mut release = Release { previous: vec!["4.18.0-demo".into()], ..Release::of(&ws, "4.18.1") };
    let pack = Pack::create(&ws.dir.join("layout"));
    release.put(&pack, "same");
    let scheduler = "target: {kind: Scheduler, name: cluster}\npatch:\n  spec: {profile: NoScoring}\n";
    ws.write("patches/10-scheduler.yaml", scheduler);
    ws.write(
        "manifests/pools.yaml",
        "apiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfig\nmetadata:\n  name: 99-own\n  labels:\n    \
         machineconfiguration.openshift.io/role: worker\nspec:\n  fips: false\n  config:\n    ignition: {version: 3.4.0}\n",
    );
    ws.write(
        "manifests/own.yaml",
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: things.example.com\nspec:\n  \
         group: example.com\n  names: {kind: Thing, plural: things}\n  scope: Cluster\n  versions:\n  - name: v1\n    served: true\n    \
         storage: true\n    schema: {openAPIV3Schema: {type: object, properties: {size: {type: integer}}}}\n---\n\
         apiVersion: example.com/v1\nkind: Thing\nmetadata:\n  name: one\nsize: 1\n",
    );
    let same = tried(&ws, 0, &["oci:layout:same", "--no-programs"]);
    assert_eq!(items(&same, "value-refused"), None, "{same}");

    release.edit("schedulers-Default", "                - NoScoring\n", "");
    release.edit(
        "_dnses",
        "              baseDomain:\n",
        "              baseDomain:\n                pattern: ^never$\n",
    );
    release.edit("_machineconfigs", "              fips:\n", "              fips-mode:\n");
    release.put(&pack, "strict");
    let found = tried(&ws, 1, &["oci:layout:strict", "--no-programs"]);
    let shown = |id: &str| items(&found, id).unwrap_or_default().join("\n");
    insta::assert_snapshot!(shown("value-refused"), @"
    DNS cluster (manifests/cluster-dns-02-config.yml:7, from manifest/cluster-dns-02-config): spec.baseDomain: `ocp4.example.com` does not match `^never$`
    Scheduler cluster (manifests/cluster-scheduler-02-config.yml:10, from manifest/cluster-scheduler-02-config, changed by patch/10-scheduler): spec.profile: `NoScoring` is not one of ``, `LowNodeUtilization`, `HighNodeUtilization`
    ");
    insta::assert_snapshot!(shown("field-in-use-gone"), @"MachineConfig 99-own (manifests/pools.yaml:8): spec.fips: this field does not exist; known here: `baseOSExtensionsContainerImage`, `config`, `extensions`, `fips-mode`, `kernelArguments`, `kernelType`, `osImageURL`");
    assert_eq!(found["verdict"], "cannot-go");
    // The same files make a build of that release fail: the answer is the build's own.
    ws.edit("cluster.yaml", "release: demo:4.18", "release: oci:layout:strict");
    ws.relock();
    let said = ws.run(&["-q", "build", "check/schemas"]);
    assert!(said.contains("`NoScoring` is not one of") && said.contains("fips"), "{said}");
}

/// Real CRDs: nothing of the example is refused by the next minor version.
#[test]
fn real_schemas_accept_the_example() {
    let (Some(old), Some(new)) = (super::data::release("4.18"), super::data::release("4.19")) else { return };
    let ws = Workspace::example().prebuilt();
    let components = Release::of(&ws, "x").components;
    let pack = Pack::create(&ws.dir.join("layout"));
    Release { components: components.clone(), ..old }.put(&pack, "old");
    Release { components, previous: vec!["4.18.0".into()], ..new }.put(&pack, "new");
    ws.edit("cluster.yaml", "release: demo:4.18", "release: oci:layout:old");
    ws.relock();
    let found = tried(&ws, 0, &["oci:layout:new", "--no-programs"]);
    for id in ["value-refused", "field-in-use-gone", "value-in-cluster-refused"] {
        assert_eq!(items(&found, id), None, "{found}");
    }
    assert!(items(&found, "update-listed").is_some() && items(&found, "node-kind-new").is_some(), "{found}");
    // A value that the real schema never had.
    ws.write(
        "patches/10-s.yaml",
        "target: {kind: Scheduler, name: cluster}\npatch: {spec: {profile: Fastest}}\n",
    );
    let found = tried(&ws, 1, &["oci:layout:new", "--no-programs"]);
    assert_eq!(items(&found, "value-refused").unwrap().len(), 1, "{found}");
}

/// A version that nobody has seen yet: a page that says where the tables end, and no crash.
#[test]
fn a_release_of_the_future_says_where_the_tables_end() {
    let ws = Workspace::example().prebuilt();
    let layout = ws.dir.join("layout");
    let pack = Pack::create(&layout);
    let gate = "apiVersion: config.openshift.io/v1\nkind: FeatureGate\nmetadata:\n  name: cluster\n  annotations:\n    \
                include.release.openshift.io/self-managed-high-availability: \"true\"\nspec: {}\nstatus:\n  featureGates:\n  - version: \"\"\n    \
                enabled: [{name: Future}]\n    disabled: [{name: Farther}]\n";
    Release {
        version: "9.9.0".into(),
        payload: vec![("0000_50_gate.yaml".into(), gate.into()), ("0000_50_new.yaml".into(), NEW.into())],
        ..Default::default()
    }
    .put(&pack, "future");
    let found = tried(&ws, 1, &["oci:layout:future"]);
    let of = |id: &str| found["findings"].as_array().unwrap().iter().find(|one| one["id"] == id).cloned();
    let tables = of("release-not-in-tables").unwrap();
    assert!(tables["message"].as_str().unwrap().contains("not OpenShift 9.9"), "{tables}");
    assert_eq!(
        items(&found, "payload-kind-unknown").unwrap(),
        ["Novelty.new.example.com (manifests/0000_50_new.yaml)"]
    );
    assert!(
        items(&found, "component-missing")
            .unwrap()
            .iter()
            .any(|one| one.starts_with("machine-config-operator: "))
    );
    assert!(items(&found, "gate-new").unwrap().contains(&"Future (on)".to_owned()));
}

const NEW: &str = "apiVersion: new.example.com/v1\nkind: Novelty\nmetadata:\n  name: x\n  annotations:\n    \
                   include.release.openshift.io/self-managed-high-availability: \"true\"\n";

/// A release after those that the tables describe builds as far as it can, and every look at it says where they end.
#[test]
fn a_release_of_the_future_is_said_to_be_one() {
    let ws = Workspace::example().prebuilt();
    let pack = Pack::create(&ws.dir.join("layout"));
    let payload = vec![("0000_50_new.yaml".into(), NEW.into())];
    Release { version: "4.30.0".into(), payload, ..Default::default() }.put(&pack, "future");
    ws.edit("cluster.yaml", "release: demo:4.18", "release: oci:layout:future");
    for verb in [["lock", "--update", "release"], ["build", "-v", "release/payload"]] {
        let said = ws.run(&verb);
        assert!(
            said.contains("describe 4.18 to 4.23 and 5.0 to 5.2, not OpenShift 4.30"),
            "{verb:?}: {said}"
        );
        assert!(said.contains("[exit 0]"), "{verb:?}: {said}");
    }
}
