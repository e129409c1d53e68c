//! The FeatureGate `cluster`, with the gates of this version in its status.
//!
//! A payload has one FeatureGate for each feature set but `CustomNoUpgrade`, whose gates are computed as the config operator
//! (`completeFeatureGatesForCustom`) and cluster-config-api's render do it: those of `Default`, but for the ones that the
//! user enables or disables. They remove no duplicates, so neither do we.
//!
//! ```text
//! featuregate.yaml   the object
//! gates              every gate that this release knows, one a line
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::super::{BuildError, Job, JobError};
use super::select::{Manifest, documents};
use crate::base::hint::Problems;
use crate::base::value::Value;
use crate::base::yaml::{self, Source, YamlData, YamlNode};
use crate::openshift::knowledge::Flavor;

/// The profile of all our clusters, single-node included.
const PROFILE: &str = "self-managed-high-availability";

/// The set without a FeatureGate in the payload, and the one that it starts from.
const CUSTOM: &str = "CustomNoUpgrade";
const DEFAULT: &str = "Default";

/// The set that only OKD's releases may have, although others list it from 4.22 on.
const COMMUNITY: &str = "OKD";

/// What install-config says about features.
pub(super) struct Features<'a> {
    pub(super) set: &'a str,
    /// The release's major version.
    major: u64,
    /// Only with [`CUSTOM`].
    enabled: Vec<&'a str>,
    disabled: Vec<&'a str>,
}

/// The FeatureGate of a payload that lists the gates of a set.
pub(super) struct Gates<'a> {
    file: &'a str,
    text: &'a str,
    enabled: Vec<String>,
    disabled: Vec<String>,
}

impl<'a> Features<'a> {
    /// Also reads the version of the input `payload`.
    pub(super) fn of(job: &'a Job<'_>) -> Result<Self, JobError> {
        let version = job.input("payload")?.text("payload", "version")?;
        let major = version.trim().split('.').next().and_then(|major| major.parse().ok());
        let major = major.ok_or_else(|| {
            wrong(format!("has the version `{}`, which has no major number", version.trim()))
        })?;
        let config = job.config();
        let set = config.get("feature_set").and_then(|value| value.as_text()).filter(|set| !set.is_empty());
        if set == Some(COMMUNITY) && Flavor::of(version.trim()) != Flavor::Okd {
            let problem =
                format!("is release `{}`, and feature set {COMMUNITY} is for OKD only", version.trim());
            return Err(wrong(problem));
        }
        let gates = match config.get("feature_gates") {
            Some(Value::List(gates)) => gates.as_slice(),
            _ => &[],
        };
        let named = |wanted: &str| {
            let pairs = gates.iter().filter_map(|gate| gate.as_text()?.split_once('='));
            pairs.filter(|(_, on)| *on == wanted).map(|(name, _)| name).collect()
        };
        let (enabled, disabled) = (named("true"), named("false"));
        Ok(Self { set: set.unwrap_or(DEFAULT), major, enabled, disabled })
    }

    /// The payload's own gates of the set, or of the one that it starts from.
    pub(super) fn gates<'p>(&self, payload: &'p BTreeMap<String, String>) -> Result<Gates<'p>, BuildError> {
        let (found, unreadable) = self.find(payload)?;
        found.ok_or_else(|| {
            let set = self.listed();
            let mut problem = format!("has no FeatureGate with gates for {PROFILE} and feature set {set}");
            if !unreadable.is_empty() {
                problem +=
                    &format!(" among the manifests that can be read; the others: {}", unreadable.join("; "));
            }
            wrong(problem).into()
        })
    }

    /// The enabled gates; none if the payload lists none.
    pub(super) fn enabled(&self, payload: &BTreeMap<String, String>) -> Result<BTreeSet<String>, BuildError> {
        let (gates, _) = self.find(payload)?;
        let enabled = |gates| self.applied(gates)[0].iter().map(|gate| (*gate).to_owned()).collect();
        Ok(gates.as_ref().map(enabled).unwrap_or_default())
    }

    /// Whether the CVO would apply this manifest, with these gates enabled.
    pub(super) fn select(&self, manifest: &Manifest<'_>, gates: &BTreeSet<String>) -> bool {
        manifest.is_in_profile(PROFILE)
            && manifest.is_in_feature_set(self.set)
            && manifest.is_in_gates(gates)
            && manifest.is_in_major(self.major)
    }

    /// The object: the payload's with this version filled in, or the computed one.
    pub(super) fn feature_gate(&self, gates: &Gates<'_>, version: &str) -> Result<String, BuildError> {
        if self.set != CUSTOM {
            let Gates { file, text, .. } = gates;
            let problem =
                || wrong(format!("has the FeatureGate `{file}`, whose status has no version to fill in"));
            return Ok(with_version(text, version).ok_or_else(problem)?);
        }
        let list = |name: &str, indent: &str, item: &str, gates: &[&str]| {
            let mut text = format!("{indent}{name}:{}\n", if gates.is_empty() { " []" } else { "" });
            for gate in gates {
                let _ = writeln!(text, "{indent}- {item}{gate}");
            }
            text
        };
        let [enabled, disabled] = self.applied(gates);
        Ok(format!(
            "apiVersion: config.openshift.io/v1\nkind: FeatureGate\nmetadata:\n  name: cluster\nspec:\n  \
             featureSet: {CUSTOM}\n  customNoUpgrade:\n{}{}status:\n  featureGates:\n  - version: {version:?}\n{}{}",
            list("enabled", "    ", "", &self.enabled),
            list("disabled", "    ", "", &self.disabled),
            list("enabled", "    ", "name: ", &enabled),
            list("disabled", "    ", "name: ", &disabled),
        ))
    }

    /// The set whose gates the payload lists.
    fn listed(&self) -> &'a str {
        if self.set == CUSTOM { DEFAULT } else { self.set }
    }

    /// Enabled and disabled gates, with the user's applied.
    fn applied<'g>(&'g self, gates: &'g Gates<'_>) -> [Vec<&'g str>; 2] {
        let of = |listed: &'g [String], mine: &'g [&'a str], others: &[&str]| {
            let kept = listed.iter().map(String::as_str).filter(|gate| !others.contains(gate));
            let mut all: Vec<&str> = mine.iter().copied().chain(kept).collect();
            all.sort_unstable();
            all
        };
        [
            of(&gates.enabled, &self.enabled, &self.disabled),
            of(&gates.disabled, &self.disabled, &self.enabled),
        ]
    }

    /// The payload's FeatureGate of the set, and why other manifests that may be one cannot be read.
    fn find<'p>(
        &self,
        payload: &'p BTreeMap<String, String>,
    ) -> Result<(Option<Gates<'p>>, Vec<String>), BuildError> {
        let set = self.listed();
        let (mut found, mut unreadable): (Option<Gates<'p>>, _) = (None, Vec::new());
        for (file, text) in payload.iter().filter(|(_, text)| text.contains("FeatureGate")) {
            let manifests = documents(file, text).unwrap_or_else(|problem| {
                unreadable.push(problem);
                Vec::new()
            });
            for manifest in manifests {
                if !manifest.is_in_major(self.major) {
                    continue;
                }
                let Some(gates) = Gates::of(&manifest, set) else { continue };
                if let Some(Gates { file: other, .. }) = found {
                    let problem = format!("has two FeatureGates for {set}: `{other}` and `{file}`");
                    return Err(wrong(problem).into());
                }
                found = Some(gates);
            }
        }
        Ok((found, unreadable))
    }
}

/// Kinds (`Kind.group`) of the objects of a payload that the CVO applies with these gates, each with a file that has one;
/// and files that cannot be read.
pub(crate) fn applied_kinds(
    payload: &BTreeMap<String, String>,
    set: &str,
    version: &str,
    gates: &BTreeSet<String>,
) -> (BTreeMap<String, String>, Vec<String>) {
    let set = if set.is_empty() { DEFAULT } else { set };
    let major = version.split('.').next().and_then(|major| major.parse().ok()).unwrap_or_default();
    let features = Features { set, major, enabled: Vec::new(), disabled: Vec::new() };
    let (mut kinds, mut unreadable) = (BTreeMap::new(), Vec::new());
    for (file, text) in payload {
        match documents(file, text) {
            Err(problem) => unreadable.push(problem),
            Ok(manifests) => {
                for manifest in manifests.iter().filter(|one| features.select(one, gates)) {
                    let kind = match manifest.group.as_str() {
                        "" => manifest.kind.clone(),
                        group => format!("{}.{group}", manifest.kind),
                    };
                    kinds.entry(kind).or_insert_with(|| file.clone());
                }
            }
        }
    }
    (kinds, unreadable)
}

impl<'p> Gates<'p> {
    /// Those of a manifest, if it is the FeatureGate of this set in our profile. A release also contains one without gates,
    /// which the CVO creates if none exists.
    fn of(manifest: &Manifest<'p>, set: &str) -> Option<Self> {
        // It belongs to the profile whose annotation it has, with any value.
        let profile = format!("include.release.openshift.io/{PROFILE}");
        if manifest.kind != "FeatureGate" || manifest.annotation(&profile).is_none() {
            return None;
        }
        let root = whole(manifest.text)?;
        let own = root.get("spec").and_then(|spec| spec.get("featureSet")?.text());
        if own.filter(|own| !own.is_empty()).unwrap_or(DEFAULT) != set {
            return None;
        }
        let versions = root.get("status")?.get("featureGates")?.items();
        let named = |list: &str| {
            let gates = versions.iter().filter_map(|gates| gates.get(list)).flat_map(YamlNode::items);
            gates.filter_map(|gate| gate.get("name")?.text().map(str::to_owned)).collect()
        };
        Some(Self {
            file: manifest.file,
            text: manifest.text,
            enabled: named("enabled"),
            disabled: named("disabled"),
        })
    }

    /// Every gate, one a line.
    pub(super) fn names(&self) -> String {
        let names: BTreeSet<&String> = self.enabled.iter().chain(&self.disabled).collect();
        names.into_iter().map(|name| format!("{name}\n")).collect()
    }
}

fn wrong(problem: String) -> JobError {
    JobError::Input { alias: "payload".into(), problem }
}

fn whole(text: &str) -> Option<YamlNode> {
    yaml::go_documents(Source { name: "manifest", text }, &mut Problems::default()).pop()
}

/// Fills in empty `status.featureGates[].version` fields; the rest stays byte for byte.
fn with_version(text: &str, version: &str) -> Option<String> {
    let root = whole(text)?;
    let gates = root.get("status")?.get("featureGates")?;
    let YamlData::List(gates) = &gates.data else { return None };
    let empty: Vec<usize> = gates
        .iter()
        .filter_map(|gate| gate.get("version"))
        .filter(|node| node.text() == Some(""))
        .map(|node| node.line)
        .collect();
    let known = gates.iter().any(|gate| gate.get("version").and_then(YamlNode::text) == Some(version));
    if empty.is_empty() && !known {
        return None;
    }
    if text.trim_start().starts_with('{') {
        return Some(text.replacen("\"version\": \"\"", &format!("\"version\": {version:?}"), 1).replacen(
            "\"version\":\"\"",
            &format!("\"version\":{version:?}"),
            1,
        ));
    }
    let lines = text.split_inclusive('\n').enumerate().map(|(at, line)| match empty.contains(&(at + 1)) {
        true => line.replacen("\"\"", &format!("{version:?}"), 1).replacen("''", &format!("{version:?}"), 1),
        false => line.to_owned(),
    });
    Some(lines.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAYLOAD: &str = "apiVersion: config.openshift.io/v1\nkind: FeatureGate\nmetadata:\n  name: cluster\n  annotations:\n    \
        include.release.openshift.io/self-managed-high-availability: 'false-except-for-the-config-operator'\n\
        spec: {}\nstatus:\n  featureGates:\n  - version: ''\n    enabled: [{name: B}, {name: D}]\n    \
        disabled: [{name: C}, {name: A}]\n";

    fn features<'a>(set: &'a str, enabled: &[&'a str], disabled: &[&'a str]) -> Features<'a> {
        Features { set, major: 4, enabled: enabled.to_vec(), disabled: disabled.to_vec() }
    }

    fn made(features: &Features<'_>) -> String {
        let payload = BTreeMap::from([("gates.yaml".to_owned(), PAYLOAD.to_owned())]);
        let gates = features.gates(&payload).unwrap();
        assert_eq!(gates.names(), "A\nB\nC\nD\n");
        let on: Vec<String> = features.enabled(&payload).unwrap().into_iter().collect();
        let text = features.feature_gate(&gates, "4.18.1").unwrap();
        format!("{text}enabled: {}", on.join(" "))
    }

    #[test]
    fn a_listed_set_is_the_payloads_own() {
        let text = made(&features("Default", &[], &[]));
        assert_eq!(text, format!("{}enabled: B D", PAYLOAD.replace("''", "\"4.18.1\"")));
        let payload = BTreeMap::from([("gates.yaml".to_owned(), PAYLOAD.to_owned())]);
        let error = features("TechPreviewNoUpgrade", &[], &[]).gates(&payload).err().unwrap();
        assert!(crate::base::hint::chain(&error).contains("feature set TechPreviewNoUpgrade"));
    }

    /// From 4.22 on, file names and an annotation say for which major versions a FeatureGate is.
    #[test]
    fn a_feature_gate_of_another_major_version_is_left_alone() {
        let of = |majors: &str, gate: &str| {
            let listed = format!("annotations:\n    release.openshift.io/major-version: '{majors}'\n");
            PAYLOAD.replace("annotations:\n", &listed).replace("name: B", &format!("name: {gate}"))
        };
        let payload = BTreeMap::from([
            ("featureGate-4-4-SelfManagedHA-Default.yaml".to_owned(), of("4", "Four")),
            ("featureGate-5-10-SelfManagedHA-Default.yaml".to_owned(), of("-4", "Later")),
        ]);
        for (major, wanted) in [(4, "Four"), (5, "Later"), (11, "Later")] {
            let features = Features { major, ..features("Default", &[], &[]) };
            let on: Vec<String> = features.enabled(&payload).unwrap().into_iter().collect();
            assert_eq!(on, ["D", wanted], "{major}");
        }
    }

    /// As `completeFeatureGatesForCustom`: sorted, unknown names kept, no duplicate removed.
    #[test]
    fn a_custom_set_is_computed_from_the_default_one() {
        insta::assert_snapshot!(made(&features("CustomNoUpgrade", &["New", "A", "D"], &["B"])), @r#"
        apiVersion: config.openshift.io/v1
        kind: FeatureGate
        metadata:
          name: cluster
        spec:
          featureSet: CustomNoUpgrade
          customNoUpgrade:
            enabled:
            - New
            - A
            - D
            disabled:
            - B
        status:
          featureGates:
          - version: "4.18.1"
            enabled:
            - name: A
            - name: D
            - name: D
            - name: New
            disabled:
            - name: B
            - name: C
        enabled: A D New
        "#);
        let text = made(&features("CustomNoUpgrade", &[], &[]));
        assert!(
            text.contains("    enabled: []\n    disabled: []\n") && text.ends_with("enabled: B D"),
            "{text}"
        );
    }
}
