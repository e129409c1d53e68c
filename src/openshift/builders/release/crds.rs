//! `crds`: selects the variants of a release that apply to this cluster: one CRD of each name, the FeatureGate, or
//! manifests of the payload by file name or kind.
//!
//! `select = "crds"`: inputs `api` (cluster-config-api's files), `own` (the release image's files, with the CVO's own
//! CRDs) and `payload`; keeps one variant of each name, preferably the payload's. Output: one file per CRD. A manifest that
//! cannot be read is left out with a warning, as nothing may need it; `check/crds` names the custom resource that does.
//! `select = "featuregate"`: input `payload`; see [`super::feature_gate`]. Config values `feature_set` and `feature_gates`.
//! `select = "manifests"`: input `payload`; the files that `names` lists, with one `*` each.
//! `select = "kinds"`: input `payload`; the objects of `kinds` (`Kind.group`: a list, or the keys of a map), each in one
//! variant. Those of `optional` (`Kind.group/name`) are left out if the config value of that name is false.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::super::ignition::params::fits;
use super::super::{BuildError, Builder, Job, JobError};
use super::feature_gate::Features;
use super::select::documents;
use crate::base::hint::Problems;
use crate::base::value::Value;
use crate::base::yaml::{self, Source};
use crate::engine::drv::BuilderId;
use crate::engine::tree::{TreeWriter, leaf};

pub(crate) struct Crds;

impl Builder for Crds {
    fn id(&self) -> BuilderId {
        BuilderId::new("crds", 5)
    }

    fn check(&self, job: &Job<'_>) -> Result<(), BuildError> {
        job.only(&["select", "config", "names", "kinds", "optional"])?;
        let known = ["feature_set", "feature_gates", "optional"];
        if let Some(name) = job.config().keys().find(|alias| !known.contains(alias)) {
            return Err(JobError::Unused { name: (*name).to_owned(), used_in: "the selection".into() }.into());
        }
        match select(job)? {
            Select::Crds => Ok(job.exactly(&["api", "own", "payload"])?),
            Select::FeatureGate => Ok(job.exactly(&["payload"])?),
            Select::Manifests => {
                job.text_list("names")?;
                Ok(job.exactly(&["payload"])?)
            }
            Select::Kinds => {
                kinds(job)?;
                job.text_list("optional")?;
                Ok(job.exactly(&["payload"])?)
            }
        }
    }

    fn build(&self, job: &Job<'_>, out: &TreeWriter<'_>) -> Result<(), BuildError> {
        let features = Features::of(job)?;
        match select(job)? {
            Select::Crds => crds(job, &features, out),
            Select::FeatureGate => {
                let payload = manifests(job, "payload")?;
                let version = job.input("payload")?.text("payload", "version")?;
                let gates = features.gates(&payload)?;
                out.write("gates", gates.names().as_bytes(), false)?;
                let text = features.feature_gate(&gates, version.trim())?;
                Ok(out.write("featuregate.yaml", text.as_bytes(), false)?)
            }
            Select::Manifests => by_name(job, &features, out),
            Select::Kinds => by_kind(job, &features, out),
        }
    }
}

enum Select {
    Crds,
    FeatureGate,
    Manifests,
    Kinds,
}

fn select(job: &Job<'_>) -> Result<Select, JobError> {
    match job.params.get("select").and_then(|value| value.as_text()) {
        Some("crds") => Ok(Select::Crds),
        Some("featuregate") => Ok(Select::FeatureGate),
        Some("manifests") => Ok(Select::Manifests),
        Some("kinds") => Ok(Select::Kinds),
        _ => {
            let expected = "`crds`, `featuregate`, `manifests` or `kinds`";
            Err(JobError::Expected { name: "select".into(), expected })
        }
    }
}

fn crds(job: &Job<'_>, features: &Features<'_>, out: &TreeWriter<'_>) -> Result<(), BuildError> {
    let mut chosen: BTreeMap<String, (String, String)> = BTreeMap::new();
    let payload = manifests(job, "payload")?;
    let set = features.set;
    let gates = features.enabled(&payload)?;
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
                if manifest.kind != "CustomResourceDefinition" || !features.select(&manifest, &gates) {
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

/// The manifests of the payload whose file names fit, without the documents that do not apply.
fn by_name(job: &Job<'_>, features: &Features<'_>, out: &TreeWriter<'_>) -> Result<(), BuildError> {
    let wrong = |problem: String| JobError::Input { alias: "payload".into(), problem };
    let patterns = job.text_list("names")?;
    let mut payload = manifests(job, "payload")?;
    let gates = features.enabled(&payload)?;
    payload.retain(|file, _| fits(file, &patterns));
    for (file, text) in &payload {
        let mut documents = documents(file, text).map_err(wrong)?;
        documents.retain(|one| features.select(one, &gates));
        if !documents.is_empty() {
            let texts: Vec<Cow<'_, str>> = documents.iter().map(|one| strict(file, one.text)).collect();
            out.write(file, texts.join("---\n").as_bytes(), false)?;
        }
    }
    Ok(())
}

/// The objects of these kinds in the payload, each in the variant that applies, in the payload's own files.
fn by_kind(job: &Job<'_>, features: &Features<'_>, out: &TreeWriter<'_>) -> Result<(), BuildError> {
    let wrong = |problem: String| JobError::Input { alias: "payload".into(), problem };
    let kinds = kinds(job)?;
    let named = |text: &str| kinds.iter().any(|kind| text.contains(kind.split('.').next().unwrap_or(kind)));
    let mut payload = manifests(job, "payload")?;
    let gates = features.enabled(&payload)?;
    payload.retain(|_, text| named(text));
    let unwanted = match job.config().get("optional") {
        Some(Value::Bool(false)) => job.text_list("optional")?,
        _ => Vec::new(),
    };
    let mut seen: BTreeMap<[String; 4], &str> = BTreeMap::new();
    for (file, text) in &payload {
        let mut documents = documents(file, text).unwrap_or_else(|problem| {
            job.notes.warn(ignored("payload", &problem));
            Vec::new()
        });
        documents.retain(|one| kinds.iter().any(|kind| one.is_kind(kind)) && features.select(one, &gates));
        documents
            .retain(|one| !unwanted.contains(&format!("{}.{}/{}", one.kind, one.group, one.name).as_str()));
        for one in &documents {
            let object = [&one.group, &one.kind, one.namespace(), &one.name].map(str::to_owned);
            if let Some(other) = seen.insert(object, file) {
                let problem = format!("has two {} `{}`: `{other}` and `{file}`", one.kind, one.name);
                return Err(wrong(problem).into());
            }
        }
        if !documents.is_empty() {
            let texts: Vec<Cow<'_, str>> = documents.iter().map(|one| strict(file, one.text)).collect();
            out.write(file, texts.join("---\n").as_bytes(), false)?;
        }
    }
    Ok(())
}

/// A manifest that only Go's reader takes, in YAML that every reader takes: the checks, patches and renders of these
/// manifests read them as strictly as the user's own. Others stay as they are.
fn strict<'t>(file: &str, text: &'t str) -> Cow<'t, str> {
    let source = Source { name: file, text };
    let mut problems = Problems::default();
    yaml::documents(source, &mut problems);
    if problems.0.is_empty() {
        return Cow::Borrowed(text);
    }
    let documents = yaml::go_documents(source, &mut Problems::default());
    let texts: Vec<String> = documents.iter().map(|document| yaml::block(document, 0) + "\n").collect();
    Cow::Owned(texts.join("---\n"))
}

/// The parameter `kinds`.
fn kinds<'a>(job: &'a Job<'_>) -> Result<Vec<&'a str>, JobError> {
    match job.params.get("kinds") {
        Some(Value::Map(kinds)) => Ok(kinds.keys().map(String::as_str).collect()),
        _ => job.text_list("kinds"),
    }
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
