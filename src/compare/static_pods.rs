//! Compares the control plane of our bootstrap node with the pods and configuration files that the operators' own renders
//! write for it: every setting of every program.
//!
//! Each setting is equal, or `render-differences.toml` has the reason, or it is unexplained. There is no fourth case: a
//! side that cannot be read is a failure.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use super::program_settings::{Settings, of_pod, of_program};
use crate::base::hint::Problems;
use crate::base::yaml::{self, Source, YamlNode};
use crate::openshift::knowledge::{ComparedFiles, ComparedProgram, Reason, Release, RenderDifferences};

/// Identifies the format of the JSON document.
const SHAPE: &str = "tinderbox-static-pods/1";

/// The document of `diff static-pod render --format json`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct StaticPodComparison {
    /// [`SHAPE`].
    shape: &'static str,
    pub programs: Vec<ProgramComparison>,
    /// Reasons in the table that explain nothing here; none if not all was compared.
    pub stale: Vec<String>,
    /// Files and renders that could not be compared, and why.
    pub failed: BTreeMap<String, String>,
}

/// A program on both sides.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ProgramComparison {
    pub program: String,
    /// Names of settings that are the same.
    pub equal: BTreeSet<String>,
    pub different: Vec<DifferentSetting>,
}

/// A setting that is not the same.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DifferentSetting {
    pub setting: String,
    /// Lists are joined by commas; none where it is not set.
    pub render: Option<String>,
    pub ours: Option<String>,
    /// Why that is right; none if it is unexplained.
    pub reason: Option<Reason>,
}

/// Files that are compared, by `DERIVATION:PATH`.
pub(crate) type Texts = BTreeMap<String, String>;

/// Two files of the same program, ours second.
struct Files<'t> {
    texts: &'t Texts,
    failed: &'t mut BTreeMap<String, String>,
}

impl StaticPodComparison {
    /// Compares the programs of this release; `failed` are the derivations that could not be built.
    pub(crate) fn new(
        texts: &Texts,
        mut failed: BTreeMap<String, String>,
        known: &RenderDifferences,
        release: Option<Release>,
    ) -> Self {
        let mut files = Files { texts, failed: &mut failed };
        let mut programs = Vec::new();
        let mut pods: Vec<&ComparedFiles> = Vec::new();
        for row in known.programs.select(release) {
            let Some([mut render, mut ours]) = files.settings(row) else { continue };
            if !pods.contains(&&row.pod) {
                pods.push(&row.pod);
                for (side, settings) in [(&row.pod.render, &mut render), (&row.pod.ours, &mut ours)] {
                    settings.extend(files.read(side).map(|pod| of_pod(&pod)).unwrap_or_default());
                }
            }
            programs.push(compare(row, render, ours, known, release));
        }
        let reasons = programs.iter().flat_map(|one| &one.different).filter_map(|one| one.reason.as_ref());
        let stale = known.stale_settings(&reasons.collect::<Vec<_>>(), release);
        let stale = if failed.is_empty() { stale } else { Vec::new() };
        Self { shape: SHAPE, programs, stale, failed }
    }

    /// How many settings differ without a reason.
    pub(crate) fn unexplained(&self) -> usize {
        let settings = self.programs.iter().flat_map(|one| &one.different);
        settings.filter(|one| one.reason.is_none()).count()
    }

    /// Whether everything was compared, and every difference has a reason.
    pub(crate) fn is_sound(&self) -> bool {
        self.unexplained() == 0 && self.failed.is_empty() && !self.programs.is_empty()
    }
}

impl Files<'_> {
    /// The render's settings of a program, and ours.
    fn settings(&mut self, row: &ComparedProgram) -> Option<[Settings; 2]> {
        let sides: [fn(&ComparedFiles) -> &Option<String>; 2] = [|files| &files.render, |files| &files.ours];
        let mut found = Vec::new();
        for side in sides {
            let pod = self.read(side(&row.pod))?;
            let container = self.container(&pod, &row.name, side(&row.pod))?;
            let mut config = Vec::new();
            for file in row.config.iter().filter(|file| side(file).is_some()) {
                config.push((file.at.as_str(), self.read(side(file))?));
            }
            found.push(of_program(row, &pod, &container, &config));
        }
        found.try_into().ok()
    }

    /// One document; where there is none, that is noted.
    fn read(&mut self, name: &Option<String>) -> Option<YamlNode> {
        let name = name.as_ref()?;
        let derivation = name.split_once(':').map_or(name.as_str(), |(derivation, _)| derivation);
        if self.failed.contains_key(derivation) {
            return None;
        }
        let Some(text) = self.texts.get(name) else {
            self.failed.insert(name.clone(), "there is no such file".into());
            return None;
        };
        let mut problems = Problems::default();
        let mut nodes = yaml::go_documents(Source { name, text }, &mut problems);
        if nodes.len() != 1 || !problems.0.is_empty() {
            let why = problems.0.first().map_or_else(|| "it is not one document".into(), ToString::to_string);
            self.failed.insert(name.clone(), why);
            return None;
        }
        nodes.pop()
    }

    fn container(&mut self, pod: &YamlNode, name: &str, file: &Option<String>) -> Option<YamlNode> {
        let containers = pod.get("spec").and_then(|spec| spec.get("containers")).map(YamlNode::items);
        let is_it = |container: &&YamlNode| container.get("name").and_then(YamlNode::text) == Some(name);
        let found = containers.unwrap_or_default().iter().find(is_it).cloned();
        if found.is_none() {
            self.failed.insert(file.clone().unwrap_or_default(), format!("it has no container `{name}`"));
        }
        found
    }
}

fn compare(
    row: &ComparedProgram,
    render: Settings,
    ours: Settings,
    known: &RenderDifferences,
    release: Option<Release>,
) -> ProgramComparison {
    let names: BTreeSet<String> = render.keys().chain(ours.keys()).cloned().collect();
    let mut found =
        ProgramComparison { program: row.name.clone(), equal: BTreeSet::new(), different: Vec::new() };
    for setting in names {
        let is_unordered = row.unordered.contains(&setting);
        let value = |side: &Settings| {
            let mut values = side.get(&setting)?.clone();
            if is_unordered {
                values.sort_unstable();
            }
            Some(values.join(","))
        };
        let (render, ours) = (value(&render), value(&ours));
        if render == ours {
            found.equal.insert(setting);
            continue;
        }
        let reason = known.why_set(&row.name, &setting, [render.as_deref(), ours.as_deref()], release);
        found.different.push(DifferentSetting { setting, render, ours, reason });
    }
    found
}
