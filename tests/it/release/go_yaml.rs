//! Manifests as real releases have them: written for Go's YAML, and now and then not readable at all.

use crate::harness::Workspace;
use crate::release::pack::{Pack, Release};

const DNS: &str = "0000_10_config-operator_01_dnses.crd.yaml";

/// What strict YAML refuses and Go accepts: texts and brackets at their key's column, a key twice, a merge, a number as
/// a key, and a plain `=`.
const CONSTRAINTS: &str = "\
kind: SecurityContextConstraints
apiVersion: security.openshift.io/v1
metadata:
  annotations:
    kubernetes.io/description: 'Grants what nothing needs,
    and goes on where its key stands.'
  name: nested
allowHostPorts: no
allowHostPorts: off
volumes: [
configMap,
]
matchers: &matchers {type: =}
more:
  <<: *matchers
  8080: http
";

/// The demo release as somebody packed it, with other files in it.
struct Made {
    ws: Workspace,
    release: Release,
}

impl Made {
    fn new() -> Self {
        let ws = Workspace::example();
        let release = Release { components: Vec::new(), ..Release::of(&ws, "4.18.0") };
        ws.edit("cluster.yaml", "release: demo:4.18", "release: oci:layout:made");
        Self { ws, release }
    }

    fn pack(&self) {
        self.release.put(&Pack::create(&self.ws.dir.join("layout")), "made");
        self.ws.relock();
    }

    fn edit(&mut self, file: &str, edit: impl Fn(&str) -> String) {
        let all = self.release.api.iter_mut().chain(&mut self.release.payload);
        let found: Vec<_> = all.filter(|(name, _)| name.ends_with(file)).collect();
        assert!(!found.is_empty(), "{file}");
        found.into_iter().for_each(|(_, text)| *text = edit(text));
    }
}

/// A manifest of the payload that is among ours, as 4.20 and later have one: it is written so that everybody reads it.
#[test]
fn a_manifest_that_only_go_reads_is_among_ours() {
    const FILE: &str = "0000_20_kube-apiserver-operator_00_scc-nested-container.yaml";
    let mut made = Made::new();
    let constraints = made.release.payload.iter().find(|(name, _)| name.ends_with("_scc-restricted.yaml"));
    let nested = constraints.unwrap().1.replace("name: restricted", "name: nested-container");
    let annotation = "example.com/odd: 'goes on\n    where its key stands: \"yes\"'";
    let nested = nested.replacen("annotations:\n", &format!("annotations:\n    {annotation}\n"), 1);
    assert!(nested.contains(annotation), "{nested}");
    made.release.payload.push((FILE.into(), nested));
    made.pack();
    let said = made.ws.run(&["build", "-q", "check/manifests"]);
    assert!(said.contains("[exit 0]"), "{said}");
    let text = std::fs::read_to_string(made.ws.path_of("manifest/scc").join(FILE)).unwrap();
    assert!(text.contains("goes on where its key stands: "), "{text}");
    let ours = made.ws.path_of("patched").join("manifests").join(FILE);
    assert_eq!(std::fs::read_to_string(ours).unwrap(), text);
}

#[test]
fn a_release_that_only_go_reads_is_built_and_checked() {
    let mut made = Made::new();
    made.pack();
    made.ws.build(&["release/crds"]);
    let before = made.ws.path_of("release/crds");
    made.release.payload.push(("0000_20_scc-nested.yaml".into(), CONSTRAINTS.into()));
    made.pack();
    let text = made.ws.run(&["build", "release/crds", "release/featuregate", "-q"]);
    assert!(text.contains("[exit 0]") && !text.contains("warning"), "{text}");
    assert_eq!(made.ws.path_of("release/crds"), before, "what is no CRD changed the CRDs");
    // The same in a CRD that the manifests are checked with.
    made.edit(DNS, |text| text.replace("  name: dnses", "  labels: {\n  a: 'b\n  c'\n  }\n  name: dnses"));
    made.pack();
    let text = made.ws.run(&["build", "check/crds", "check/schemas", "-q"]);
    assert!(text.contains("[exit 0]"), "{text}");
    let kept = std::fs::read_to_string(made.ws.path_of("release/crds").join(DNS)).unwrap();
    assert!(kept.contains("  labels: {\n  a: 'b\n  c'\n  }\n"), "{kept}");
}

#[test]
fn a_manifest_that_nobody_needs_stops_nothing() {
    let mut made = Made::new();
    made.release
        .payload
        .push(("0000_99_broken.yaml".into(), "kind: Odd\n---\nkind: Odd\nmetadata: [\n".into()));
    made.pack();
    let text = made.ws.run(&["build", "release/crds", "release/featuregate", "check/crds"]);
    assert!(text.contains("[exit 0]"), "{text}");
    let wanted = "warning: `release/crds`: a manifest of `payload` is ignored: 0000_99_broken.yaml:";
    assert!(text.contains(wanted) && text.contains(": not valid YAML: "), "{text}");
}

#[test]
fn a_manifest_that_is_needed_is_named_by_whoever_needs_it() {
    let mut made = Made::new();
    made.edit(DNS, |text| text.replace("metadata:", "metadata: ["));
    made.pack();
    let text = made.ws.run(&["build", "release/crds"]);
    assert!(text.contains(&format!("a manifest of `api` is ignored: {DNS}:")), "{text}");
    let text = made.ws.run(&["build", "check/crds", "-q"]);
    assert!(text.contains("no CRD of this release has config.openshift.io DNS"), "{text}");
    assert!(text.contains("[exit 1]"), "{text}");

    let gates = "featureGate-SelfManagedHA-Default.yaml";
    made.edit(gates, |text| text.replace("metadata:", "metadata: ["));
    made.pack();
    let text = made.ws.run(&["build", "release/featuregate", "-q"]);
    let wanted = "has no FeatureGate with gates for self-managed-high-availability and feature set Default among the \
                  manifests that can be read; the others: ";
    assert!(text.contains(wanted) && text.contains(gates) && text.contains("[exit 1]"), "{text}");
}
