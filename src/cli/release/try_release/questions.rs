//! The questions that files answer.

use std::collections::BTreeSet;

use super::reading::{Reading, name_of};
use super::{NODE_CONFIG, PATCHED};
use crate::base::value::Value;
use crate::base::yaml::YamlNode;
use crate::cli::Result;
use crate::compare::readiness::{
    Finding, Level, NotAsked, Question, Section, fields, gates, kinds, update, values,
};
use crate::engine::fields::Projected;
use crate::openshift::builders::validate::reads_ignition;
use crate::openshift::schema;
use crate::openshift::workspace::Env;

/// The kind whose group has the objects that say what nodes are.
const MACHINE_CONFIG: &str = "MachineConfig";

/// The questions.
pub(super) struct Trial<'a> {
    pub(super) env: Env<'a>,
    pub(super) jobs: usize,
    pub(super) question: Question,
    pub(super) here: &'a Reading<'a>,
    pub(super) there: &'a Reading<'a>,
    pub(super) findings: Vec<Finding>,
    pub(super) not_asked: Vec<NotAsked>,
}

impl Trial<'_> {
    pub(super) fn not_asked(&mut self, section: Section, what: &str, why: impl Into<String>) {
        // The first line says it; the rest is a program's log.
        let why = why.into().lines().next().unwrap_or_default().to_owned();
        self.not_asked.push(NotAsked { section, what: what.to_owned(), why });
    }

    /// Where the tables end.
    pub(super) fn tables(&mut self) -> Result<()> {
        let workspace = self.there.workspace;
        let Some(release) = workspace.release() else {
            let message = "its version is not one of OpenShift's: no row that names releases applies";
            let finding =
                Finding::new(Level::Look, Section::Tables, "release-version-unknown", message, Vec::new());
            self.findings.push(finding);
            return Ok(());
        };
        if let Some(message) = workspace.knowledge.beyond(release)? {
            let finding =
                Finding::new(Level::Look, Section::Tables, "release-not-in-tables", message, Vec::new());
            self.findings.push(finding.advice("look for a newer tinderbox"));
        }
        Ok(())
    }

    /// Whether it has what we name, and can be read at all.
    pub(super) fn release(&mut self) -> Result<()> {
        let there = self.there;
        let components = there.components();
        if !components.is_empty() {
            let mut missing: BTreeSet<String> = BTreeSet::new();
            let (table, release) = (there.workspace.knowledge.components.get()?, there.workspace.release());
            for (name, required) in
                table.required(release).filter(|(name, _)| !components.contains_key(*name))
            {
                missing.insert(format!("{name}: {} ({})", required.without, required.by));
            }
            let cluster = there.workspace.select(&[])?;
            for at in there.workspace.graph.closure(&cluster) {
                let node = &there.workspace.graph.nodes()[at];
                for edge in node.inputs.values().filter(|edge| edge.from == "release/images") {
                    let name = edge.path.as_deref().and_then(|path| path.strip_prefix("components/"));
                    if let Some(name) = name.filter(|name| !components.contains_key(*name)) {
                        missing.insert(format!("{name}: `{}` needs it", node.name));
                    }
                }
            }
            let items = missing.into_iter().collect();
            let message = "components that the release does not have";
            let finding =
                Finding::new(Level::Obstacle, Section::Release, "component-missing", message, items);
            let advice = "a component that was renamed needs a row in recipes/knowledge/components.toml";
            self.findings.extend(finding.advice(advice).if_any());
        }
        let failed = there.failed.iter().map(|(name, why)| format!("{name}: {why}")).collect();
        let message = "what cannot be read or made with this release";
        let finding = Finding::new(Level::Obstacle, Section::Release, "does-not-build", message, failed);
        self.findings
            .extend(finding.advice("`tinderbox diff --release` with `--only` says more about one").if_any());
        Ok(())
    }

    pub(super) fn gates(&mut self) -> Result<()> {
        let (old, new) = (self.here.gates()?, self.there.gates()?);
        if new.is_empty() {
            self.not_asked(Section::Gates, "feature gates", "the release lists none for this feature set");
            return Ok(());
        }
        let named = match self.there.workspace.fields.project("featureGates").map(|found| found.value) {
            Ok(Projected::Plain(Value::List(named))) => named,
            _ => Vec::new(),
        };
        let named = named.iter().filter_map(|gate| Some(gate.as_text()?.split_once('=')?.0.to_owned()));
        self.findings.extend(gates::compare(&old, &new, &named.collect::<Vec<_>>()));
        Ok(())
    }

    /// Whether the one release may follow the other.
    pub(super) fn update(&mut self) -> Result<()> {
        let (found, not_asked) = update::judge(&self.here.metadata()?, &self.there.metadata()?);
        self.findings.extend(found);
        self.not_asked.extend(not_asked);
        Ok(())
    }

    /// Kinds, versions and fields that go, and values that are not accepted any more.
    pub(super) fn api(&mut self) -> Result<()> {
        // Where the objects cannot be made there, those that are here now.
        let (before, after) = (self.here.definitions()?, self.there.definitions()?);
        let now = self.here.used(self.env, PATCHED, "manifests")?;
        let there = self.there.used(self.env, PATCHED, "manifests")?;
        let used = if there.is_empty() { &now } else { &there };
        if used.is_empty() {
            self.not_asked(Section::Crds, "fields in use", "the cluster's objects cannot be made there");
        }
        self.findings.extend(fields::compare(&before, &after, used));
        let judged = values::judge(&after, used);
        let in_cluster = (self.question == Question::Update).then(|| values::judge(&after, &now));
        self.findings.extend(values::findings(&judged, in_cluster.as_ref()));
        self.not_asked.extend(judged.not_asked());
        Ok(())
    }

    /// Objects of the payload that nobody here knows, or that our render leaves out.
    pub(super) fn payload(&mut self) -> Result<()> {
        let (here, there) = (self.here, self.there);
        let (old, new) = (here.gates()?, there.gates()?);
        let ((old, _), (new, unreadable)) = (here.kinds(&old)?, there.kinds(&new)?);
        let (before, after) = (here.definitions()?, there.definitions()?);
        self.findings.extend(kinds::unknown(&old, &new, &after));
        let message = "manifests of the payload that cannot be read";
        let finding = Finding::new(Level::Look, Section::Payload, "payload-unreadable", message, unreadable);
        self.findings.extend(finding.if_any());
        let known = there.workspace.knowledge.mco_kinds(there.workspace.release())?;
        let group = known.keys().find_map(|kind| kind.strip_prefix(MACHINE_CONFIG)?.strip_prefix('.'));
        if let Some(group) = group {
            let known = known.keys().map(|kind| (*kind).to_owned()).collect();
            self.findings.extend(kinds::new_in_group(group, &before, &after, &known));
        }
        let mut left_out = Vec::new();
        for (file, object) in there.objects(NODE_CONFIG, "")? {
            let kind = kind_of(&object);
            let is_empty = object
                .get("spec")
                .is_none_or(|spec| spec.is_null() || schema::json(spec) == serde_json::json!({}));
            if !is_empty && known.get(kind.as_str()) == Some(&false) {
                left_out.push(format!("{kind} {} ({file})", name_of(&object).unwrap_or_default()));
            }
        }
        let message = "objects of the payload that the cluster renders nodes with, and our render leaves out";
        let finding =
            Finding::new(Level::Obstacle, Section::Payload, "payload-object-not-rendered", message, left_out);
        let advice = "their kinds need `payload = true` in recipes/knowledge/mco-kinds.toml";
        self.findings.extend(finding.advice(advice).if_any());
        Ok(())
    }

    /// MachineConfigs whose Ignition the release's machine-config operator cannot read.
    pub(super) fn ignition(&mut self) -> Result<()> {
        let workspace = self.there.workspace;
        let Some(newest) = workspace.knowledge.mco_format(workspace.release(), "ignition-spec")? else {
            self.not_asked(
                Section::Ignition,
                "MachineConfigs",
                "the tables do not say which spec the release reads",
            );
            return Ok(());
        };
        let mut unreadable = Vec::new();
        for (file, object) in self.there.objects(PATCHED, "manifests")? {
            let version = object
                .get("spec")
                .and_then(|spec| spec.get("config")?.get("ignition")?.get("version")?.text());
            let Some(version) = version else { continue };
            if object.get("kind").and_then(YamlNode::text) == Some(MACHINE_CONFIG)
                && !reads_ignition(version, newest)
            {
                let name = name_of(&object).unwrap_or_default();
                unreadable.push(format!("{MACHINE_CONFIG} {name} ({file}): {version}"));
            }
        }
        let message = format!(
            "Ignition that the release's machine-config operator cannot read; the newest is {newest}"
        );
        let finding =
            Finding::new(Level::Obstacle, Section::Ignition, "ignition-unreadable", message, unreadable);
        self.findings.extend(finding.advice(format!("write it for spec {newest}, or an older one")).if_any());
        Ok(())
    }
}

/// `Kind.group`.
fn kind_of(object: &YamlNode) -> String {
    let text = |field: &str| object.get(field).and_then(YamlNode::text).unwrap_or_default();
    match text("apiVersion").split_once('/') {
        Some((group, _)) => format!("{}.{group}", text("kind")),
        None => text("kind").to_owned(),
    }
}
