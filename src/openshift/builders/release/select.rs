//! Manifests of a release, and which of their variants apply: decided by annotations, not by file names, as the
//! cluster-version operator does it (`Include` in library-go's pkg/manifest).

use std::collections::BTreeSet;

use crate::base::hint::{Problem, Problems};
use crate::base::yaml::{self, Scalar, Source, YamlData, YamlNode};

const FEATURE_SET: &str = "release.openshift.io/feature-set";
const FEATURE_GATE: &str = "release.openshift.io/feature-gate";
const MAJOR_VERSION: &str = "release.openshift.io/major-version";

/// One document of a manifest file, with its head parsed.
#[derive(Debug)]
pub(super) struct Manifest<'a> {
    pub(super) file: &'a str,
    /// Without the separators around it.
    pub(super) text: &'a str,
    /// API group, empty for Kubernetes' own `v1`.
    pub(super) group: String,
    pub(super) kind: String,
    /// `metadata.name`.
    pub(super) name: String,
    head: YamlNode,
}

impl Manifest<'_> {
    /// An annotation. As in Go, an object has none if one of them is not a text, such as an unquoted `true`.
    pub(super) fn annotation(&self, key: &str) -> Option<&str> {
        let YamlData::Map(all) = &self.head.get("metadata")?.get("annotations")?.data else { return None };
        let mut found = None;
        for one in all {
            let text = text_of(&one.value)?;
            if one.key == key {
                found = Some(text);
            }
        }
        found
    }

    /// Whether the CVO applies it under a profile.
    pub(super) fn is_in_profile(&self, profile: &str) -> bool {
        self.annotation(&format!("include.release.openshift.io/{profile}")) == Some("true")
    }

    /// Whether it applies to a feature set; without the annotation, to all. A list with something that is no name, such as
    /// one with a blank, applies to none.
    pub(super) fn is_in_feature_set(&self, set: &str) -> bool {
        let is_name = |one: &str| !one.is_empty() && one.chars().all(|c| c.is_ascii_alphanumeric());
        self.annotation(FEATURE_SET)
            .is_none_or(|sets| sets.split(',').all(is_name) && sets.split(',').any(|one| one == set))
    }

    /// Whether it applies with these enabled gates; it may require some, or with `-` require some to be disabled. It may
    /// name sets or gates, not both.
    pub(super) fn is_in_gates(&self, enabled: &BTreeSet<String>) -> bool {
        self.annotation(FEATURE_GATE).is_none_or(|gates| {
            let mut gates = gates.split(',').map(str::trim).filter(|gate| !gate.is_empty());
            self.annotation(FEATURE_SET).is_none()
                && gates.all(|gate| match gate.strip_prefix('-') {
                    Some(gate) => !enabled.contains(gate),
                    None => enabled.contains(gate),
                })
        })
    }

    /// Whether it applies to a release of this major version: one that is listed, or where only others are excluded (`-5`),
    /// any other. Lists that contradict themselves or contain anything else apply to none. Only feature gates and CRDs may
    /// have one.
    pub(super) fn is_in_major(&self, major: u64) -> bool {
        let Some(listed) = self.annotation(MAJOR_VERSION) else { return true };
        let (mut included, mut excluded) = (BTreeSet::new(), BTreeSet::new());
        for entry in listed.split(',').map(str::trim).filter(|entry| !entry.is_empty()) {
            let (to, number) = match entry.strip_prefix('-') {
                Some(number) => (&mut excluded, number),
                None => (&mut included, entry),
            };
            // Rust accepts a sign, which Go does not.
            let Some(number) = number.parse::<u64>().ok().filter(|_| !number.starts_with('+')) else {
                return false;
            };
            to.insert(number);
        }
        let may = matches!(
            (self.group.as_str(), self.kind.as_str()),
            ("config.openshift.io", "FeatureGate") | ("apiextensions.k8s.io", "CustomResourceDefinition")
        );
        let named = if included.is_empty() { !excluded.contains(&major) } else { included.contains(&major) };
        may && included.is_disjoint(&excluded) && named
    }

    /// Whether it is of this kind, written `Kind.group`.
    pub(super) fn is_kind(&self, wanted: &str) -> bool {
        wanted.split_once('.').unwrap_or((wanted, "")) == (self.kind.as_str(), self.group.as_str())
    }

    pub(super) fn namespace(&self) -> &str {
        let metadata = self.head.get("metadata");
        metadata.and_then(|metadata| metadata.get("namespace")?.text()).unwrap_or_default()
    }
}

/// The value of an annotation, if it is one for Go: a text, or null, which is empty.
fn text_of(value: &YamlNode) -> Option<&str> {
    let YamlData::Scalar { text, plain } = &value.data else { return None };
    match if *plain { yaml::resolve(text) } else { Scalar::Text } {
        Scalar::Text => Some(text),
        Scalar::Null => Some(""),
        _ => None,
    }
}

/// The documents of a file, or where it cannot be read and why. Parses only their heads: a schema may be megabytes.
pub(super) fn documents<'a>(file: &'a str, text: &'a str) -> Result<Vec<Manifest<'a>>, String> {
    let mut found = Vec::new();
    for (lines, document) in split(text) {
        let mut problems = Problems::default();
        let mut read = |text: &str| yaml::go_documents(Source { name: file, text }, &mut problems);
        let mut heads = read(&head_of(document));
        // Lines do not say everything: a key may be in quotes, an alias may repeat what stands below.
        if !heads.iter().any(|head| head.get("kind").is_some()) || !problems.0.is_empty() {
            problems = Problems::default();
            heads = yaml::go_documents(Source { name: file, text: document }, &mut problems);
        }
        if let Some(Problem { place, message, .. }) = problems.0.first() {
            return Err(format!("{file}:{}: {message}", lines + place.line.unwrap_or(1)));
        }
        let several = heads.len() > 1; // JSON needs no separator
        for head in heads {
            let text_of =
                |node: Option<&YamlNode>| node.and_then(YamlNode::text).unwrap_or_default().to_owned();
            let version = text_of(head.get("apiVersion"));
            let group = version.split_once('/').map_or("", |(group, _)| group).to_owned();
            let kind = text_of(head.get("kind"));
            let name = text_of(head.get("metadata").and_then(|metadata| metadata.get("name")));
            let text = if several { &document[head.span.clone()] } else { document };
            found.push(Manifest { file, text, group, kind, name, head });
        }
    }
    Ok(found)
}

/// Documents between `---` lines, each with the number of lines above it.
fn split(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let (mut rest, mut above) = (Some(text), 0);
    std::iter::from_fn(move || {
        let (current, lines) = (rest?, above);
        let mut at = 0;
        for line in current.split_inclusive('\n') {
            above += 1;
            if line
                .strip_prefix("---")
                .map(str::trim)
                .is_some_and(|end| end.is_empty() || end.starts_with('#'))
            {
                rest = Some(&current[at + line.len()..]);
                return Some((lines, &current[..at]));
            }
            at += line.len();
        }
        rest = None;
        Some((lines, current))
    })
    .filter(|(_, document)| !document.trim().is_empty())
}

/// The text with only the top-level fields `apiVersion`, `kind` and `metadata`.
fn head_of(document: &str) -> String {
    if document.trim_start().starts_with('{') {
        return document.to_owned(); // JSON is not line-based
    }
    let mut keep = true;
    let mut head = String::new();
    for line in document.split_inclusive('\n') {
        if line.starts_with(|c: char| !c.is_whitespace() && !"#-]}".contains(c)) {
            keep = ["apiVersion:", "kind:", "metadata:"].iter().any(|field| line.starts_with(field));
        }
        if keep {
            head.push_str(line);
        }
    }
    head
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_read_and_bodies_left_alone() {
        let text = "# comment\n---\napiVersion: v1\nspec:\n  bad: [\nkind: A\nmetadata:\n  name: x\n  annotations:\n    \
                    include.release.openshift.io/p: \"true\"\n    release.openshift.io/feature-set: Default,Tech\n---\n\
                    {\"kind\":\"B\",\"metadata\":{\"name\":\"y\"}}\n";
        let found = documents("f.yaml", text).unwrap();
        assert_eq!(
            found.iter().map(|m| (m.kind.as_str(), m.name.as_str())).collect::<Vec<_>>(),
            [("A", "x"), ("B", "y")]
        );
        assert!(found[0].is_in_profile("p") && !found[0].is_in_profile("q") && !found[1].is_in_profile("p"));
        assert!(found[0].is_in_feature_set("Tech") && !found[0].is_in_feature_set("Custom"));
        assert!(found[1].is_in_feature_set("Custom"));
    }

    /// As `checkMajorVersion` and `checkFeatureGates` of library-go.
    #[test]
    fn majors_and_gates_select_as_the_cvo_does() {
        let read = |version: &str, kind: &str, annotation: &str| {
            let text = format!(
                "apiVersion: {version}\nkind: {kind}\nmetadata: {{name: x, annotations: {{{annotation}}}}}\n"
            );
            move |select: &dyn Fn(&Manifest<'_>) -> bool| select(&documents("f.yaml", &text).unwrap()[0])
        };
        for (listed, four, five) in [
            ("4,5,6", true, true),
            ("4", true, false),
            (" 5 , 6 ,", false, true),
            ("-5", true, false),
            ("-4,-6", false, true),
            ("4,-5", true, false),
            ("4,-4", false, false),
            ("6,-5", false, false),
            ("", true, true),
            ("4,x", false, false),
            ("+4", false, false),
        ] {
            let gate = read(
                "config.openshift.io/v1",
                "FeatureGate",
                &format!("release.openshift.io/major-version: '{listed}'"),
            );
            let said = [4, 5].map(|major| gate(&|one| one.is_in_major(major)));
            assert_eq!(said, [four, five], "{listed}");
        }
        let listed = "release.openshift.io/major-version: '4'";
        assert!(read("apiextensions.k8s.io/v1", "CustomResourceDefinition", listed)(
            &|one| one.is_in_major(4)
        ));
        assert!(!read("v1", "ConfigMap", listed)(&|one| one.is_in_major(4)));
        assert!(read("v1", "ConfigMap", "")(&|one| one.is_in_major(4)));

        let on = BTreeSet::from(["A".to_owned()]);
        for (annotations, wanted) in [
            ("release.openshift.io/feature-gate: 'A'", true),
            ("release.openshift.io/feature-gate: 'A, ,-B'", true),
            ("release.openshift.io/feature-gate: 'A,B'", false),
            ("release.openshift.io/feature-gate: '-A'", false),
            ("release.openshift.io/feature-gate: 'A', release.openshift.io/feature-set: 'Default'", false),
        ] {
            assert_eq!(read("v1", "A", annotations)(&|one| one.is_in_gates(&on)), wanted, "{annotations}");
        }
    }

    /// As `GetAnnotations` of Kubernetes' unstructured objects and `getFeatureSets` of library-go.
    #[test]
    fn annotations_that_are_none_select_nothing() {
        for (more, wanted) in [
            ("", true),
            ("x: ~", true),
            ("x: true", false),
            ("x: 5", false),
            ("x: yes", false),
            ("x: [a]", false),
            ("release.openshift.io/feature-set: 'Default,Tech'", true),
            ("release.openshift.io/feature-set: 'Tech'", false),
            ("release.openshift.io/feature-set: 'Default, Tech'", false),
            ("release.openshift.io/feature-set: ' Default'", false),
            ("release.openshift.io/feature-set: 'Default,'", false),
            ("release.openshift.io/feature-set: ~", false),
        ] {
            let text = format!(
                "kind: A\nmetadata:\n  annotations:\n    include.release.openshift.io/p: 'true'\n    {more}\n"
            );
            let found = &documents("f.yaml", &text).unwrap()[0];
            assert_eq!(found.is_in_profile("p") && found.is_in_feature_set("Default"), wanted, "{more}");
        }
        let plain = "kind: A\nmetadata: {annotations: {include.release.openshift.io/p: true}}\n";
        assert!(!documents("f.yaml", plain).unwrap()[0].is_in_profile("p"));
    }

    #[test]
    fn heads_are_read_as_go_reads_them() {
        let text = "--- # first\n\"kind\": A\n\"metadata\": {name: x}\n---\t\nkind: B\nmetadata:\n  name: *y\nspec:\n  a: &y y\n\
                    ---\nspec: &z z\nkind: C\nmetadata:\n  name: *z\n  annotations:\n    include.release.openshift.io/p: 'tr\\\n\n    ue'\n";
        let problem = documents("f.yaml", text).unwrap_err();
        assert!(problem.starts_with("f.yaml:7: ") && problem.contains("unknown anchor"), "{problem}");
        let text = text.replace("name: *y", "name: 'y\n  z'");
        let found = documents("f.yaml", &text).unwrap();
        let found: Vec<_> = found.iter().map(|m| (m.kind.clone(), m.name.clone())).collect();
        assert_eq!(
            found,
            [("A", "x"), ("B", "y z"), ("C", "z")].map(|(kind, name)| (kind.into(), name.into()))
        );
        let json = r#"{"kind": "A", "metadata": {"name": "x"}}{"kind": "B"}"#;
        let found = documents("f.json", json).unwrap();
        assert_eq!(found.iter().map(|m| m.text).collect::<Vec<_>>(), [&json[..40], &json[40..]]);
    }
}
