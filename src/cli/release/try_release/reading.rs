//! What is read of a release, and of the cluster with it.

use std::collections::BTreeMap;

use crate::base::event::{Event, Events};
use crate::base::fs;
use crate::base::hint::{Problems, chain};
use crate::base::value::Value;
use crate::base::yaml::{self, Source, YamlNode};
use crate::cli::Result;
use crate::cli::partial_build::PartialBuild;
use crate::compare::readiness::fields::{Definition, Definitions, UsedObject};
use crate::compare::readiness::gates::{self, Gates};
use crate::compare::readiness::kinds::Kinds;
use crate::compare::readiness::update::Metadata;
use crate::engine::builders::BuildError;
use crate::engine::exec::ExecError;
use crate::engine::fields::Projected;
use crate::engine::registry::RegistryError;
use crate::engine::store::{Object, Session};
use crate::openshift::builders::release::applied_kinds;
use crate::openshift::demo::NO_CONTENT;
use crate::openshift::workspace::{Env, Workspace};

/// What was read of a release.
pub(super) struct Reading<'w> {
    pub(super) workspace: &'w Workspace,
    build: PartialBuild<'w>,
    pub(super) done: BTreeMap<&'w str, Object>,
    /// Why the others are missing.
    pub(super) failed: BTreeMap<String, String>,
}

/// Shows progress, and leaves failures to the report.
pub(super) struct WithoutFailures<'a>(pub(super) &'a dyn Events);

impl Events for WithoutFailures<'_> {
    fn emit(&self, event: Event) {
        if !matches!(event, Event::Failed { .. } | Event::Skipped { .. }) {
            self.0.emit(event);
        }
    }

    fn settle(&self) {
        self.0.settle();
    }
}

impl<'w> Reading<'w> {
    pub(super) fn of(env: Env<'_>, workspace: &'w Workspace, jobs: usize, names: &[&str]) -> Result<Self> {
        let events = WithoutFailures(env.events);
        let build = PartialBuild::of(workspace, Env { events: &events, ..env }, jobs, names)?;
        let mut done = BTreeMap::new();
        for (name, object) in &build.outputs {
            done.insert(*name, build.session.store().object(*object)?);
        }
        let failed = build.failed.iter().map(|(name, error)| (name.clone(), reason(error))).collect();
        Ok(Self { workspace, build, done, failed })
    }

    pub(super) fn session(&self) -> &Session {
        &self.build.session
    }

    /// The texts of an artifact's manifests below a path.
    pub(super) fn texts(&self, name: &str, below: &str) -> Result<BTreeMap<String, String>> {
        let Some(object) = self.done.get(name) else { return Ok(BTreeMap::new()) };
        let paths = object.listing.leaves(below).map(|(path, _)| path).filter(|path| yaml::is_manifest(path));
        let read = |path: &str| Ok((path.to_owned(), fs::read_text(&object.path.join(path))?));
        paths.map(read).collect()
    }

    /// The objects of an artifact below a path, with their files.
    pub(super) fn objects(&self, name: &str, below: &str) -> Result<Vec<(String, YamlNode)>> {
        let mut objects = Vec::new();
        for (path, text) in self.texts(name, below)? {
            let documents = yaml::go_documents(Source { name: &path, text: &text }, &mut Problems::default());
            objects.extend(documents.into_iter().map(|node| (path.clone(), node)));
        }
        Ok(objects)
    }

    /// The cluster's objects, with where each comes from.
    pub(super) fn used(&self, env: Env<'_>, name: &str, below: &str) -> Result<Vec<UsedObject>> {
        let Some(object) = self.done.get(name) else { return Ok(Vec::new()) };
        let secret: BTreeMap<&str, bool> =
            object.listing.leaves(below).map(|(path, entry)| (path, entry.secret)).collect();
        let mut origins: BTreeMap<String, String> = BTreeMap::new();
        let mut used = Vec::new();
        for (file, node) in self.objects(name, below)? {
            let origin = origins
                .entry(file.clone())
                .or_insert_with(|| self.build.origin(env, name, &file).unwrap_or_else(|| name.to_owned()));
            let secret = secret.get(file.as_str()).copied().unwrap_or(true);
            used.push(UsedObject::new(file, origin.clone(), secret, node));
        }
        Ok(used)
    }

    pub(super) fn definitions(&self) -> Result<Definitions> {
        let objects = self.objects("release/crds", "")?.into_iter();
        let named = |(_, node): (String, YamlNode)| Some((name_of(&node)?.to_owned(), Definition::new(node)));
        Ok(objects.filter_map(named).collect())
    }

    /// What the release says about itself and about those before it.
    pub(super) fn metadata(&self) -> Result<Metadata> {
        let text = self.text("release/payload", "release-metadata")?;
        Ok(serde_json::from_str(&text).unwrap_or_default())
    }

    pub(super) fn gates(&self) -> Result<Gates> {
        let objects = self.objects("release/featuregate", "")?;
        Ok(objects.first().map(|(_, object)| gates::read(object)).unwrap_or_default())
    }

    /// Kinds of the payload's objects, and files that cannot be read.
    pub(super) fn kinds(&self, gates: &Gates) -> Result<(Kinds, Vec<String>)> {
        let on = gates.iter().filter(|(_, on)| **on).map(|(name, _)| name.clone()).collect();
        let texts = self.texts("release/payload", "manifests")?;
        let version = self.text("release/payload", "version")?;
        Ok(applied_kinds(&texts, &self.config("featureSet"), version.trim(), &on))
    }

    fn text(&self, name: &str, path: &str) -> Result<String> {
        Ok(match self.done.get(name) {
            Some(object) => fs::read_text(&object.path.join(path))?,
            None => String::new(),
        })
    }

    /// Pull specs by component.
    pub(super) fn components(&self) -> BTreeMap<String, String> {
        let text = self.text("release/images", "images.json").unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    }

    /// A field of the configuration; empty if it is not a text.
    fn config(&self, field: &str) -> String {
        match self.workspace.fields.project(field).map(|found| found.value) {
            Ok(Projected::Plain(Value::Text(text))) => text.to_string(),
            _ => String::new(),
        }
    }
}

/// Why something cannot be read, without the way to it; an image that is not there in few words, since a release that was
/// copied in part lacks many.
pub(super) fn reason(error: &ExecError) -> String {
    let ExecError::Build { source, .. } = error else { return chain(error) };
    match &**source {
        BuildError::Registry(RegistryError::NotFound { place, .. }) if place.starts_with(NO_CONTENT) => {
            format!("{NO_CONTENT} for it")
        }
        BuildError::Registry(RegistryError::NotFound { place, .. }) => format!("its image is not in {place}"),
        _ => chain(error),
    }
}

pub(super) fn name_of(node: &YamlNode) -> Option<&str> {
    node.get("metadata")?.get("name")?.text()
}
