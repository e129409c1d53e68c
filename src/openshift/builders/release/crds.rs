//! `crds`: selects the variants of a release that apply to this cluster: one CRD of each name, or the FeatureGate.
//!
//! `select = "crds"`: inputs `api` (cluster-config-api's files), `own` (the release image's files, with the CVO's own
//! CRDs) and `payload`; keeps one variant of each name, preferably the payload's. Output: one file per CRD.
//! A manifest that cannot be read is left out with a warning, as nothing may need it; `check/crds` names the custom
//! resource that does. `select = "featuregate"`: input `payload`; the FeatureGate of the profile and set, with this
//! version in its status.

use std::collections::{BTreeMap, BTreeSet};

use super::super::{BuildError, Builder, Job, JobError};
use super::select::{Manifest, documents};
use crate::base::hint::Problems;
use crate::base::yaml::{self, Source, YamlData, YamlNode};
use crate::engine::drv::BuilderId;
use crate::engine::tree::{TreeWriter, leaf};

/// The profile of all our clusters, single-node included.
const PROFILE: &str = "self-managed-high-availability";

pub(crate) struct Crds;

impl Builder for Crds {
    fn id(&self) -> BuilderId {
        BuilderId::new("crds", 2)
    }

    fn check(&self, job: &Job<'_>) -> Result<(), BuildError> {
        job.only(&["select", "config"])?;
        if let Some(name) = job.config().keys().find(|alias| **alias != "feature_set") {
            return Err(JobError::Unused { name: (*name).to_owned(), used_in: "the selection".into() }.into());
        }
        match select(job)? {
            Select::Crds => Ok(job.exactly(&["api", "own", "payload"])?),
            Select::FeatureGate => Ok(job.exactly(&["payload"])?),
        }
    }

    fn build(&self, job: &Job<'_>, out: &TreeWriter<'_>) -> Result<(), BuildError> {
        let config = job.config();
        let set = config.get("feature_set").and_then(|value| value.as_text()).filter(|set| !set.is_empty());
        let set = set.unwrap_or("Default");
        match select(job)? {
            Select::Crds => crds(job, set, out),
            Select::FeatureGate => feature_gate(job, set, out),
        }
    }
}

enum Select {
    Crds,
    FeatureGate,
}

fn select(job: &Job<'_>) -> Result<Select, JobError> {
    match job.params.get("select").and_then(|value| value.as_text()) {
        Some("crds") => Ok(Select::Crds),
        Some("featuregate") => Ok(Select::FeatureGate),
        _ => Err(JobError::Expected { name: "select".into(), expected: "`crds` or `featuregate`" }),
    }
}

fn crds(job: &Job<'_>, set: &str, out: &TreeWriter<'_>) -> Result<(), BuildError> {
    let mut chosen: BTreeMap<String, (String, String)> = BTreeMap::new();
    let payload = manifests(job, "payload")?;
    let gates = gates(&payload, set);
    // Later inputs win: the CVO will apply the payload's.
    for (alias, texts) in
        [("api", manifests(job, "api")?), ("own", manifests(job, "own")?), ("payload", payload)]
    {
        let wrong = |problem: String| JobError::Input { alias: alias.to_owned(), problem };
        let mut here: BTreeMap<String, (String, String)> = BTreeMap::new();
        for (file, text) in texts {
            let manifests = match documents(&file, &text) {
                Ok(manifests) => manifests,
                Err(problem) => {
                    job.notes.warn(ignored(alias, &problem));
                    continue;
                }
            };
            for manifest in manifests {
                let applies = manifest.kind == "CustomResourceDefinition"
                    && manifest.is_in_profile(PROFILE)
                    && manifest.is_in_feature_set(set)
                    && manifest.is_in_gates(&gates);
                if !applies {
                    continue;
                }
                let kept = (file.clone(), manifest.text.to_owned());
                if let Some((other, _)) = here.insert(manifest.name.clone(), kept) {
                    let problem = format!(
                        "has two variants of CRD `{}` for {set}: `{other}` and `{file}`",
                        manifest.name
                    );
                    return Err(wrong(problem).into());
                }
            }
        }
        chosen.append(&mut here);
    }
    let mut of_file: BTreeMap<&str, usize> = BTreeMap::new();
    chosen.values().for_each(|(file, _)| *of_file.entry(file).or_default() += 1);
    for (name, (file, text)) in &chosen {
        // The original file name keeps the release's order of application.
        let leaf = leaf(file);
        let path = match of_file.get(file.as_str()) {
            Some(1) => leaf.to_owned(),
            _ => format!("{}.{name}.yaml", leaf.rsplit_once('.').map_or(leaf, |(stem, _)| stem)),
        };
        out.write(&path, text.as_bytes(), false)?;
    }
    Ok(())
}

/// What to say of a manifest that cannot be read.
fn ignored(alias: &str, problem: &str) -> String {
    format!("a manifest of `{alias}` is ignored: {problem}")
}

/// The YAML and JSON manifests of an input, by file name.
fn manifests(job: &Job<'_>, alias: &str) -> Result<BTreeMap<String, String>, JobError> {
    let mut texts = BTreeMap::new();
    for (path, _, _) in job.input(alias)?.leaves() {
        let Some(file) = path.strip_prefix("manifests/") else { continue };
        if !yaml::is_manifest(file) {
            continue;
        }
        match job.input(alias)?.text(alias, path) {
            Err(JobError::Input { .. }) => job.notes.warn(ignored(alias, &format!("{file}: not UTF-8 text"))),
            text => drop(texts.insert(file.to_owned(), text?)),
        }
    }
    Ok(texts)
}

fn feature_gate(job: &Job<'_>, set: &str, out: &TreeWriter<'_>) -> Result<(), BuildError> {
    let wrong = |problem: String| JobError::Input { alias: "payload".into(), problem };
    let version = job.input("payload")?.text("payload", "version")?;
    let texts = manifests(job, "payload")?;
    let (mut found, mut others): (Option<(String, String)>, _) = (None, Vec::new());
    for (file, text) in &texts {
        let manifests = documents(file, text).unwrap_or_else(|problem| {
            others.push(problem);
            Vec::new()
        });
        for manifest in manifests.iter().filter(|manifest| has_gates(manifest, set)) {
            if let Some((other, _)) = &found {
                let problem = format!("has two FeatureGates for {set}: `{other}` and `{}`", manifest.file);
                return Err(wrong(problem).into());
            }
            let filled = with_version(manifest.text, version.trim()).ok_or_else(|| {
                wrong(format!(
                    "has the FeatureGate `{}`, whose status has no version to fill in",
                    manifest.file
                ))
            })?;
            found = Some((manifest.file.to_owned(), filled));
        }
    }
    let Some((_, text)) = found else {
        let mut problem = format!("has no FeatureGate with gates for {PROFILE} and feature set {set}");
        if !others.is_empty() {
            problem += &format!(" among the manifests that can be read; the others: {}", others.join("; "));
        }
        return Err(wrong(problem).into());
    };
    Ok(out.write("featuregate.yaml", text.as_bytes(), false)?)
}

/// The enabled gates of a feature set, from the payload's FeatureGate; none if it has none.
fn gates(payload: &BTreeMap<String, String>, set: &str) -> BTreeSet<String> {
    let mut enabled = BTreeSet::new();
    for (file, text) in payload.iter().filter(|(_, text)| text.contains("FeatureGate")) {
        let manifests = documents(file, text).unwrap_or_default();
        for manifest in manifests.iter().filter(|manifest| has_gates(manifest, set)) {
            let root = whole(manifest.text);
            let gates =
                root.as_ref().and_then(|root| root.get("status")?.get("featureGates")).map(YamlNode::items);
            let on = gates
                .unwrap_or_default()
                .iter()
                .filter_map(|gates| gates.get("enabled"))
                .flat_map(YamlNode::items);
            enabled.extend(on.filter_map(|gate| gate.get("name")?.text().map(str::to_owned)));
        }
    }
    enabled
}

/// Whether it is the FeatureGate that lists the gates of a feature set in our profile.
fn has_gates(manifest: &Manifest<'_>, set: &str) -> bool {
    manifest.kind == "FeatureGate"
        && has_profile_key(manifest)
        && feature_set_of(manifest) == set
        && !is_empty(manifest)
}

/// A FeatureGate belongs to the profile whose annotation it has, with any value.
fn has_profile_key(manifest: &Manifest<'_>) -> bool {
    manifest.annotation(&format!("include.release.openshift.io/{PROFILE}")).is_some()
}

/// A release also contains a FeatureGate without gates, which the CVO creates if none exists.
fn is_empty(manifest: &Manifest<'_>) -> bool {
    let root = whole(manifest.text);
    root.as_ref()
        .and_then(|root| root.get("status"))
        .is_none_or(|status| status.get("featureGates").is_none())
}

/// `spec.featureSet`; absent means Default.
fn feature_set_of(manifest: &Manifest<'_>) -> String {
    let root = whole(manifest.text);
    let set = root.as_ref().and_then(|root| root.get("spec")?.get("featureSet")?.text());
    set.filter(|set| !set.is_empty()).unwrap_or("Default").to_owned()
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
