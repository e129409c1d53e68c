//! `release try`: the page, the document, and every way in which a release can stand in the way.

use serde_json::Value;

use crate::harness::{Workspace, source};

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
    insta::assert_snapshot!(ws.run(&["-q", "release", "try", "demo:4.22"]), @"
    can go: 4.18.0-demo → 4.22.0-demo (demo:4.22); 18 questions not asked
    also
      feature gates: not there any more, as a rule because the feature is there for good: AdditionalRoutingCapabilities, AdminNetworkPolicy (was on), CloudDualStackNodeIPs (was on), DynamicResourceAllocation, HardwareSpeed (was on), MachineConfigNodes, ManagedBootImages (was on), NetworkDiagnosticsConfig (was on) and 7 more
      feature gates: new: BootImageSkewEnforcement (on), CRDCompatibilityRequirementOperator, ClusterAPIMachineManagement, DualReplica (on), EventTTL (on), ImageStreamImportMode (on), IrreconcilableMachineConfig, KMSEncryption and 4 more
      feature gates: off now, on there: SigstoreImageVerification, UserNamespacesSupport
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
    assert_eq!((&same["verdict"], &same["findings"]), (&"can-go".into(), &Value::Array(vec![])));
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
    assert!(said.contains("error: demo:9.9: demo release not found") && said.contains("[exit 2]"), "{said}");
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

/// A version that nobody has seen yet: a page that says where the tables end, and no crash.
#[test]
fn a_release_of_the_future_says_where_the_tables_end() {
    let ws = Workspace::example().prebuilt();
    let layout = ws.dir.join("layout");
    let pack = super::pack::Pack::create(&layout);
    let gate = "apiVersion: config.openshift.io/v1\nkind: FeatureGate\nmetadata:\n  name: cluster\n  annotations:\n    \
                include.release.openshift.io/self-managed-high-availability: \"true\"\nspec: {}\nstatus:\n  featureGates:\n  - version: \"\"\n    \
                enabled: [{name: Future}]\n    disabled: [{name: Farther}]\n";
    super::pack::Release {
        version: "9.9.0".into(),
        payload: vec![("0000_50_gate.yaml".into(), gate.into()), ("0000_50_new.yaml".into(), NEW.into())],
        ..Default::default()
    }
    .put(&pack, "future");
    let found = tried(&ws, 1, &["oci:layout:future"]);
    let of = |id: &str| found["findings"].as_array().unwrap().iter().find(|one| one["id"] == id).cloned();
    let tables = of("release-newer-than-tables").unwrap();
    assert!(tables["message"].as_str().unwrap().contains("mention releases up to "), "{tables}");
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
