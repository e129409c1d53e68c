//! Collects the guide: the user's files, every derivation of the cluster, and every file of every node.

use std::collections::{BTreeMap, BTreeSet};

use super::contents::Contents;
use super::headings::{group_of, kind_of};
use crate::base::fs;
use crate::base::hint::Place;
use crate::cli::Result;
use crate::cli::about::Purposes;
use crate::cli::artifact::Artifact;
use crate::cli::expiry::{self, Output};
use crate::cli::explain::value_origin::origin;
use crate::cli::explain::{Kind, Origin};
use crate::compare::guide::{
    Guide, GuideChapter, GuideCheck, GuideDeadline, GuideEntry, GuideGroup, GuideOrigin, GuideShown, slug,
};
use crate::engine::recipe::{GraphNode, NodeIndex};
use crate::engine::store::Object;
use crate::openshift::knowledge::{About, BootFact, Chapter};
use crate::openshift::workspace::Env;

/// Identifies the format of the document.
const SHAPE: &str = "tinderbox-guide/1";

/// An entry, and where it belongs.
pub(super) struct Placed {
    chapter: String,
    group: String,
    pub(super) entry: GuideEntry,
}

/// Collects entries. What the user wrote is in `user_files`, nodes are in `nodes`.
pub(super) struct Collector<'a> {
    pub(super) found: &'a Artifact,
    pub(super) purposes: Purposes<'a>,
    pub(super) contents: Contents,
    facts: BTreeMap<&'a str, (&'a BootFact, bool)>,
    pub(super) chapters: Vec<&'a Chapter>,
    pub(super) placed: Vec<Placed>,
    /// Entries by derivation and file.
    pub(super) known: BTreeMap<(String, String), usize>,
    ids: BTreeSet<String>,
}

/// Collects the book of the last build.
pub(super) fn guide(env: Env<'_>) -> Result<Guide> {
    let found = Artifact::find(env, "cluster")?;
    let workspace = &found.workspace;
    let release = workspace.release();
    let mut collector = Collector {
        purposes: Purposes { workspace },
        contents: Contents::new(env, workspace)?,
        facts: workspace.knowledge.boot_facts.get()?.facts(release),
        chapters: workspace.knowledge.guide.get()?.chapters(release).collect(),
        found: &found,
        placed: Vec::new(),
        known: BTreeMap::new(),
        ids: BTreeSet::new(),
    };
    collector.user_files()?;
    for at in found.done.keys() {
        collector.derivation(*at)?;
    }
    collector.nodes()?;
    let deadlines = collector.deadlines()?;
    Ok(collector.book(deadlines))
}

impl<'a> Collector<'a> {
    pub(super) fn node(&self, at: NodeIndex) -> &'a GraphNode {
        &self.found.workspace.graph.nodes()[at]
    }

    pub(super) fn object(&self, at: NodeIndex) -> Result<Option<Object>> {
        let done = self.found.done.get(&at);
        Ok(done.map(|done| self.found.store.object(done.output.object)).transpose()?)
    }

    fn id(&mut self, text: &str) -> String {
        let base = slug(text);
        let mut id = base.clone();
        let mut number = 2;
        while !self.ids.insert(id.clone()) {
            id = format!("{base}-{number}");
            number += 1;
        }
        id
    }

    fn checks(&self, about: &[About]) -> Vec<GuideCheck> {
        let names: BTreeSet<&String> = about.iter().flat_map(|one| &one.purpose.checks).collect();
        let known = names.into_iter().filter_map(|name| self.facts.get(name.as_str()));
        let check = |(fact, _): &(&BootFact, bool)| GuideCheck {
            name: fact.name.clone(),
            rule: fact.rule.clone(),
            breaks: fact.breaks.clone(),
        };
        known.map(check).collect()
    }

    pub(super) fn empty(&mut self, title: &str, about: Vec<About>) -> GuideEntry {
        GuideEntry {
            id: self.id(title),
            title: title.to_owned(),
            kind: String::new(),
            checks: self.checks(&about),
            about,
            places: Vec::new(),
            derivation: None,
            recipe: None,
            origins: Vec::new(),
            shown: Vec::new(),
            goes_into: Vec::new(),
            parts: Vec::new(),
            files: Vec::new(),
            command: String::new(),
        }
    }

    pub(super) fn place(&mut self, chapter: &str, group: &str, entry: GuideEntry) -> usize {
        let (chapter, group) = (chapter.to_owned(), group.to_owned());
        self.placed.push(Placed { chapter, group, entry });
        self.placed.len() - 1
    }

    /// A derivation: one entry, or one for each manifest in it.
    fn derivation(&mut self, at: NodeIndex) -> Result<()> {
        let (node, Some(object)) = (self.node(at), self.object(at)?) else { return Ok(()) };
        let release = self.found.workspace.release();
        let chapter = self.found.workspace.knowledge.guide.get()?.chapter_of(release, &node.name);
        let chapter = chapter.map_or("day-2", |chapter| chapter.id.as_str());
        let leaves: Vec<String> = object.listing.leaves("").map(|(path, _)| path.to_owned()).collect();
        let folder = node.name.split_once('/').map_or(node.name.as_str(), |(folder, _)| folder);
        if ["manifest", "hand-over", "user"].contains(&folder) || node.name == "release/crds" {
            let chapter = if node.name == "release/crds" { "bootkube" } else { chapter };
            for path in &leaves {
                let text = fs::read_text(&object.path.join(path)).ok();
                let about = self.purposes.file(at, path, text.as_deref())?;
                let title = match about.as_slice() {
                    [only] => only.subject.clone(),
                    _ => path.clone(),
                };
                let kind = if title.starts_with("CustomResourceDefinition") { "CRD" } else { "object" };
                let title = title
                    .strip_prefix("CustomResourceDefinition.apiextensions.k8s.io ")
                    .map_or(title.clone(), str::to_owned);
                let mut entry = self.of_derivation(at, &title, kind, about);
                entry.files = vec![self.contents.file(&object, &node.name, path)?];
                entry.command = format!("tinderbox show {}:{path}", node.name);
                let group = group_of(&node.name);
                let index = self.place(chapter, group, entry);
                self.known.insert((node.name.clone(), path.clone()), index);
            }
            return Ok(());
        }
        let about = self.purposes.file(at, "", None)?;
        let mut entry = self.of_derivation(at, &node.name, kind_of(&node.name), about);
        self.contents.fill(&object, node, &leaves, &mut entry)?;
        self.meanings(&mut entry)?;
        let index = self.place(chapter, group_of(&node.name), entry);
        for path in leaves {
            self.known.insert((node.name.clone(), path), index);
        }
        Ok(())
    }

    fn of_derivation(&mut self, at: NodeIndex, title: &str, kind: &str, about: Vec<About>) -> GuideEntry {
        let node = self.node(at);
        let reads = node.reads.iter().flat_map(|(alias, ..)| origin(node, alias)).collect();
        let mut users = self.found.workspace.graph.users();
        let users = std::mem::take(&mut users[at]);
        let goes_into = users.into_iter().map(|user| self.node(user).name.clone()).collect();
        GuideEntry {
            kind: kind.to_owned(),
            derivation: Some(node.name.clone()),
            recipe: Some(node.recipe.clone()),
            origins: config_origins(reads),
            goes_into,
            shown: self.shown(&node.name),
            command: format!("tinderbox show {} --explain", node.name),
            ..self.empty(title, about)
        }
    }

    /// Who shows a certificate or key to whom.
    fn shown(&self, derivation: &str) -> Vec<GuideShown> {
        let name = derivation.strip_prefix("pki/").or_else(|| derivation.strip_prefix("key/"));
        let (Some(name), Ok(edges)) = (name, self.found.workspace.trust_edges()) else { return Vec::new() };
        edges
            .filter(|edge| edge.credential == name)
            .map(|edge| GuideShown {
                presenter: edge.presenter.clone(),
                role: edge.role.as_str(),
                verifier: edge.verifier.clone(),
                breaks: edge.breaks.clone(),
            })
            .collect()
    }

    pub(super) fn meanings(&self, entry: &mut GuideEntry) -> Result<()> {
        let (table, release) = (self.found.workspace.knowledge.fields.get()?, self.found.workspace.release());
        for part in &mut entry.parts {
            let (format, name) =
                part.meaning.take().map_or((String::new(), ""), |format| (format, part.part.name.as_str()));
            // Fields of further certificates are numbered.
            let name = name.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end();
            part.meaning = table.meaning(release, &format, name).map(str::to_owned);
        }
        Ok(())
    }

    /// What ends when, the soonest first.
    fn deadlines(&self) -> Result<Vec<GuideDeadline>> {
        let outputs: Vec<Output<'_>> = self
            .found
            .done
            .iter()
            .map(|(at, done)| {
                let node = self.node(*at);
                Output { name: &node.name, builder: &node.builder.0, object: done.output.object }
            })
            .collect();
        let ends = expiry::of(&self.found.store, &outputs, self.found.workspace.hand_over()?)?;
        let mut deadlines: Vec<GuideDeadline> = Vec::new();
        deadlines.extend(ends.boots_until.into_iter().map(|at| GuideDeadline {
            at,
            what: "these artifacts".to_owned(),
            then: "a boot that begins later does not finish; run `tinderbox renew`".to_owned(),
        }));
        deadlines.extend(ends.handed_over.into_iter().map(|one| GuideDeadline {
            at: one.adopted_until,
            what: one.object,
            then: format!("the {} operator makes a new signer instead of adopting this one", one.operator),
        }));
        deadlines.extend(ends.certificates.into_iter().map(|one| GuideDeadline {
            at: one.not_after,
            what: one.name,
            then: "verifiers refuse it".to_owned(),
        }));
        deadlines.sort_by(|one, other| one.at.cmp(&other.at));
        Ok(together(deadlines))
    }

    fn book(self, mut deadlines: Vec<GuideDeadline>) -> Guide {
        let cluster = &self.found.workspace.cluster;
        let domain = format!("{}.{}", cluster.name, cluster.base_domain);
        let release = cluster.release.to_string();
        let fill = super::placeholders(cluster, &domain, &release);
        let in_place = cluster.is_in_place();
        let mut placed = self.placed;
        let mut chapters = Vec::new();
        for (at, chapter) in self.chapters.iter().enumerate() {
            let (mine, others): (Vec<Placed>, Vec<Placed>) =
                placed.into_iter().partition(|one| one.chapter == chapter.id);
            placed = others;
            let mut groups: Vec<GuideGroup> = Vec::new();
            for Placed { group, entry, .. } in mine {
                match groups.iter_mut().find(|known| known.title == group) {
                    Some(known) => known.entries.push(entry),
                    None => groups.push(GuideGroup { title: group, entries: vec![entry] }),
                }
            }
            let is_last = at + 1 == self.chapters.len();
            let (text, steps) = chapter.told(in_place);
            chapters.push(GuideChapter {
                number: at + 1,
                id: chapter.id.clone(),
                title: chapter.title.clone(),
                text: text.iter().map(|text| fill(text)).collect(),
                steps: steps.iter().map(|text| fill(text)).collect(),
                deadlines: if is_last { std::mem::take(&mut deadlines) } else { Vec::new() },
                groups,
            });
        }
        Guide { shape: SHAPE, cluster: cluster.name.clone(), domain, release, chapters }
    }
}

/// What ends at the same time, with the same consequence, as one.
fn together(deadlines: Vec<GuideDeadline>) -> Vec<GuideDeadline> {
    let mut merged: Vec<GuideDeadline> = Vec::new();
    for one in deadlines {
        match merged.iter_mut().find(|known| known.at == one.at && known.then == one.then) {
            Some(known) => known.what = format!("{}, {}", known.what, one.what),
            None => merged.push(one),
        }
    }
    merged
}

/// The config fields among origins, each once.
pub(super) fn config_origins(origins: Vec<Origin>) -> Vec<GuideOrigin> {
    let mut by_field: BTreeMap<String, Vec<Place>> = BTreeMap::new();
    // Optional fields that nobody set decide nothing.
    let is_set = |one: &Origin| one.kind == Kind::Config && !one.places.is_empty();
    for Origin { from, places, .. } in origins.into_iter().filter(is_set) {
        by_field.entry(from).or_default().extend(places);
    }
    let tidy = |(from, mut places): (String, Vec<Place>)| {
        places.sort();
        places.dedup();
        GuideOrigin { from, places }
    };
    by_field.into_iter().map(tidy).collect()
}
