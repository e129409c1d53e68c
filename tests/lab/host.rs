//! What real programs must say to our artifacts: every CRD and manifest is accepted, and pods get their security context
//! constraint before the pivot.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use serde_json::Value;

use super::node::Node;
use super::programs::Programs;
use crate::harness::{Workspace, left_out, list, source};
use crate::release::data;
use crate::release::pack::{Pack, Release};

/// A workload of the user's own that may not run as root: only a constraint gives it a user.
const WORKLOAD: &str = "\
apiVersion: v1
kind: Namespace
metadata: {name: lab}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: spark, namespace: lab}
spec:
  selector: {matchLabels: {app: spark}}
  template:
    metadata: {labels: {app: spark}}
    spec:
      securityContext: {runAsNonRoot: true}
      containers:
      - {name: spark, image: 'example.invalid/spark@sha256:0000000000000000000000000000000000000000000000000000000000000000'}
";

/// A master that has registered and does nothing. Until there is a node, admission refuses pods of the platform:
/// "ManagementCPUsOverride the cluster does not have any nodes".
const MASTER: &str = r#"{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "master-0"}}"#;

fn text<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// Namespaces that admission leaves alone.
fn is_exempt(namespace: &Value) -> bool {
    ["0", "1"].contains(&text(namespace, "/metadata/labels/openshift.io~1run-level"))
}

/// Runs bootkube.sh: all of it gets in.
fn everything_is_accepted(node: &mut Node) {
    let said = node.bootkube();
    for line in
        ["done: all of crds are in", "done: all are established", "done: ok", "done: all of manifests are in"]
    {
        assert!(said.contains(line), "{line}: {said}");
    }
}

/// Every pod of a Deployment, the release's own and the user's, has its constraint before there is a master.
fn pods_are_constrained(node: &mut Node) {
    node.wait("UIDs for every namespace", |node| {
        let namespaces = node.objects("namespaces");
        let with =
            |one: &&Value| !text(one, "/metadata/annotations/openshift.io~1sa.scc.uid-range").is_empty();
        (!namespaces.is_empty() && namespaces.iter().filter(with).count() == namespaces.len()).then_some(())
    });
    let created = node.output(&["sh", "-c", "echo \"$0\" | oc create --filename=-", MASTER]);
    assert!(created.status.success(), "{}", String::from_utf8_lossy(&created.stderr));
    let pods = node.wait("pods of every Deployment, the release's and the user's", |node| {
        let deployments: BTreeSet<String> = node.objects("deployments").iter().map(namespace_of).collect();
        let pods = node.objects("pods");
        let with_pods: BTreeSet<String> = pods.iter().map(namespace_of).collect();
        let all = deployments.contains("lab") && deployments.len() > 1 && deployments.is_subset(&with_pods);
        all.then_some(pods)
    });
    let exempt: BTreeSet<String> =
        node.objects("namespaces").iter().filter(|one| is_exempt(one)).map(name_of).collect();
    for pod in pods.iter().filter(|pod| !exempt.contains(&namespace_of(pod))) {
        assert_ne!(text(pod, "/metadata/annotations/openshift.io~1scc"), "", "{pod:#}");
    }
    let ours = pods.iter().find(|pod| namespace_of(pod) == "lab").unwrap();
    assert_eq!(text(ours, "/metadata/annotations/openshift.io~1scc"), "restricted-v2");
    assert!(
        ours["spec"]["containers"][0]["securityContext"]["runAsUser"].as_u64() >= Some(1_000_000_000),
        "{ours:#}"
    );
}

fn name_of(object: &Value) -> String {
    text(object, "/metadata/name").to_owned()
}

fn namespace_of(object: &Value) -> String {
    text(object, "/metadata/namespace").to_owned()
}

/// CI has no lab, and reads its scripts all the same.
#[test]
fn shellcheck_has_nothing_to_say() {
    for (name, shell) in [("node.sh", "sh"), ("machine.sh", "bash")] {
        let mut command = Command::new("shellcheck");
        command.args(["--shell", shell]).arg(source("tests/lab").join(name));
        match command.output() {
            Ok(output) => assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout)),
            Err(error) => left_out("shellcheck", &format!("Debian's shellcheck: {error}")),
        }
    }
}

/// The demo, or the release that TINDERBOX_LAB_RELEASE names: with the cluster-version operator at work on it.
#[test]
fn a_release_is_accepted() {
    let Some(programs) = Programs::find() else { return };
    let ws = Workspace::on_disk().filled();
    if let Ok(release) = std::env::var("TINDERBOX_LAB_RELEASE") {
        ws.edit("cluster.yaml", "release: demo:4.18", &format!("release: {release}"));
        ws.relock();
    }
    ws.write("manifests/lab.yaml", WORKLOAD);
    let mut node = Node::install(&ws, &programs).boot();
    everything_is_accepted(&mut node);
    pods_are_constrained(&mut node);
}

/// The real CRDs of 4.18 and 4.19 in the place of the demo's. Without the cluster-version operator, which would bring those again.
#[test]
fn real_crds_are_accepted() {
    let Some(programs) = Programs::find() else { return };
    for version in ["4.18", "4.19"] {
        let Some(release) = data::release(version) else { return };
        crds_are_accepted(&programs, &release);
    }
}

fn crds_are_accepted(programs: &Programs, release: &Release) {
    let ws = Workspace::on_disk().filled();
    let node = Node::install(&ws, programs);
    release.put(&Pack::create(&ws.dir.join("layout")), "real");
    ws.edit("cluster.yaml", "release: demo:4.18", "release: oci:layout:real");
    ws.relock();
    let crds = ws.build_paths(&["release/crds"]).remove("release/crds").unwrap();
    let place = node.upper.join("opt/openshift/crds");
    fs::remove_dir_all(&place).unwrap();
    fs::create_dir(&place).unwrap();
    for name in list(&crds) {
        fs::copy(crds.join(&name), place.join(&name)).unwrap();
    }
    fs::remove_file(node.upper.join("lab/pods/cluster-version-operator.cluster-version-operator")).unwrap();
    everything_is_accepted(&mut node.boot());
}
