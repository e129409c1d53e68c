//! Walks over both sides: pairs them, skips equal parts, and reads only the rest.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;

use super::causes::{self, Naming};
use super::known_secrets::KnownSecrets;
use super::side::Leaves;
use super::summary::{self, weigh};
use super::{Artifact, ArtifactState, Diff, Difference, Part, Result, SHAPE, Same, Side, nodes};
use crate::base::digest::Digest;
use crate::compare::delta::{self, Change, ChangeKind, DeltaContext, Edit, File, PlaceStep, StepKind};
use crate::openshift::knowledge::{Disruption, Table};

/// Compares two sides. `only` selects the artifacts to report: causes may lie in others. `naming` names causes,
/// `disruption` determines the effect of a changed file on a node.
pub fn compare(
    old: &Side,
    new: &Side,
    only: &dyn Fn(&str) -> bool,
    naming: Naming<'_>,
    disruption: &Table<Disruption>,
) -> Result<Diff> {
    let paired = pair(old, new);
    let history = causes::History::read([old, new], &paired)?;
    let order: Vec<&str> = history.order().into_iter().filter(|name| only(name)).collect();
    let mut works = Vec::with_capacity(order.len());
    let mut seen = BTreeMap::new();
    for name in &order {
        works.push(Work::new([old, new], paired[name], name, &mut seen)?);
    }
    let context = DeltaContext { components: summary::components(old, new)?, limit: 0 };
    let known = KnownSecrets::of([old, new], Vec::new())?;
    let read: Vec<Vec<Vec<Change>>> = works
        .par_iter()
        .map(|work| {
            let mut read = work
                .pairs
                .par_iter()
                .map(|pair| work.differences(pair, &context))
                .collect::<Result<Vec<_>>>()?;
            read.push(nodes::attributes(&work.lists, &work.old, &work.new, &context)?);
            Ok(read.into_iter().map(|changes| known.mask(changes)).collect())
        })
        .collect::<Result<_>>()?;
    let mut reported = Reported::default();
    let (causes, of) = history.causes(naming, only);
    let mut artifacts = Vec::new();
    let mut impacts = Vec::new();
    let policy: Vec<&Disruption> = disruption.select(summary::release(new)?).collect();
    for (work, read) in works.iter().zip(read) {
        let (causes, via) = of.get(work.name).cloned().unwrap_or_default();
        let (mut artifact, files) = reported.artifact(work, read, via.last().map(String::as_str));
        artifact.download = history.is_source(work.name);
        impacts.extend(nodes::impact(work.name, &work.lists, &work.old, &work.new, &policy)?);
        if artifact.state != ArtifactState::Changed || files > 0 {
            artifacts.push(Artifact { causes, via, ..artifact });
        }
    }
    let mut diff = Diff {
        shape: SHAPE,
        old: old.title.clone(),
        new: new.title.clone(),
        summary: summary::Summary::default(),
        causes,
        artifacts,
    };
    diff.summary =
        summary::summary(old, new, &mut diff.artifacts, impacts, only, &|name| history.is_source(name))?;
    Ok(diff)
}

/// An artifact of both sides.
#[derive(Debug, Clone, Copy)]
pub(super) struct Paired<'a> {
    pub(super) old: Option<&'a Part>,
    pub(super) new: Option<&'a Part>,
    /// Its name on the old side, if different.
    pub(super) before: Option<&'a str>,
}

/// Pairs by name, without equal ones; the remaining artifacts are paired by content.
fn pair<'a>(old: &'a Side, new: &'a Side) -> BTreeMap<&'a str, Paired<'a>> {
    let names: BTreeSet<&str> = old.parts.keys().chain(new.parts.keys()).map(String::as_str).collect();
    let mut pairs = BTreeMap::new();
    for name in names {
        let (old, new) = (old.parts.get(name), new.parts.get(name));
        let equal =
            old.zip(new).is_some_and(|(old, new)| old.tree == new.tree && old.tree.object().is_some());
        if !equal {
            pairs.insert(name, Paired { old, new, before: None });
        }
    }
    let gone: Vec<&str> =
        pairs.iter().filter(|(_, pair)| pair.new.is_none()).map(|(name, _)| *name).collect();
    for before in gone {
        let object = pairs[before].old.and_then(|part| part.tree.object());
        let same = |pair: &Paired<'_>| {
            pair.old.is_none() && object.is_some() && pair.new.and_then(|part| part.tree.object()) == object
        };
        let Some(name) = pairs.iter().find(|(_, pair)| same(pair)).map(|(name, _)| *name) else { continue };
        let old = pairs.remove(before).and_then(|pair| pair.old);
        if let Some(pair) = pairs.get_mut(name) {
            *pair = Paired { old, before: Some(before), ..*pair };
        }
    }
    pairs
}

/// The digests of two different contents.
type Contents = (Option<Digest>, Option<Digest>);

/// The path of a file on each side.
type Paths = (Option<String>, Option<String>);

/// What to compare in one artifact.
struct Work<'a> {
    name: &'a str,
    paired: Paired<'a>,
    old: Leaves,
    new: Leaves,
    /// The entries of a node, if it belongs to one.
    lists: nodes::Lists,
    pairs: Vec<Paths>,
    /// Artifacts that contain some of the same differences.
    elsewhere: Vec<&'a str>,
}

impl<'a> Work<'a> {
    fn new(
        [old, new]: [&Side; 2],
        paired: Paired<'a>,
        name: &'a str,
        seen: &mut BTreeMap<Contents, &'a str>,
    ) -> Result<Self> {
        let mut old = old.leaves(paired.before.unwrap_or(name))?.unwrap_or_default();
        let new = new.leaves(name)?.unwrap_or_default();
        old.align(&new);
        let lists = nodes::lists(&old, &new)?;
        let mut work = Self { name, paired, old, new, lists, pairs: Vec::new(), elsewhere: Vec::new() };
        if paired.before.is_some() {
            return Ok(work);
        }
        for pair in work.changed()? {
            let contents = (work.old.digest(&pair.0), work.new.digest(&pair.1));
            let first = *seen.entry(contents).or_insert(name);
            if first == name {
                work.pairs.push(pair);
            } else {
                work.elsewhere.push(first);
            }
        }
        // A node's config is not reported, because its files are: neither are copies of it.
        for path in work.old.by_path.keys().filter(|path| work.new.by_path.contains_key(*path)) {
            let path = Some(path.clone());
            seen.entry((work.old.digest(&path), work.new.digest(&path))).or_insert(name);
        }
        Ok(work)
    }

    /// Pairs of paths whose leaves differ, including moved files.
    fn changed(&self) -> Result<Vec<Paths>> {
        let (old, new) = (nodes::compared(&self.old), nodes::compared(&self.new));
        let paths: BTreeSet<&str> = old.keys().chain(new.keys()).copied().collect();
        let (mut pairs, mut gone, mut come) = (Vec::new(), Vec::new(), Vec::new());
        for path in paths {
            match (old.get(path), new.get(path)) {
                (Some(one), Some(other)) if one == other => {}
                (Some(_), Some(_)) => pairs.push((Some(path.to_owned()), Some(path.to_owned()))),
                (Some(_), None) => gone.push(path),
                (None, _) => come.push(path),
            }
        }
        let both = self.paired.old.is_some() && self.paired.new.is_some();
        for (from, to) in if both { self.moved(&gone, &come)? } else { Vec::new() } {
            pairs.push((
                Some(std::mem::take(&mut gone[from]).to_owned()),
                Some(std::mem::take(&mut come[to]).to_owned()),
            ));
        }
        let left = |list: Vec<&str>| {
            list.into_iter().filter(|path| !path.is_empty()).map(str::to_owned).collect::<Vec<_>>()
        };
        pairs.extend(left(gone).into_iter().map(|path| (Some(path), None)));
        pairs.extend(left(come).into_iter().map(|path| (None, Some(path))));
        Ok(pairs)
    }

    /// Which removed files came back under another name.
    fn moved(&self, gone: &[&str], come: &[&str]) -> Result<Vec<(usize, usize)>> {
        if gone.is_empty() || come.is_empty() {
            return Ok(Vec::new());
        }
        let read = |leaves: &Leaves, paths: &[&str]| {
            paths.iter().map(|path| Loaded::read(leaves, path)).collect::<Result<Vec<_>>>()
        };
        let (old, new) = (read(&self.old, gone)?, read(&self.new, come)?);
        let old: Vec<File<'_>> = old.iter().map(Loaded::file).collect();
        let new: Vec<File<'_>> = new.iter().map(Loaded::file).collect();
        Ok(delta::renames(&old, &new))
    }

    /// What differs between two files.
    fn differences(&self, (old, new): &Paths, context: &DeltaContext) -> Result<Vec<Change>> {
        let read = |leaves: &Leaves, at: usize, path: &Option<String>| -> Result<Option<Loaded>> {
            let Some(path) = path else { return Ok(None) };
            let mut loaded = Loaded::read(leaves, path)?;
            loaded.secret |= nodes::is_private(&self.lists[at], &loaded.path);
            Ok(Some(loaded))
        };
        let (old, new) = (read(&self.old, 0, old)?, read(&self.new, 1, new)?);
        Ok(delta::files(old.as_ref().map(Loaded::file), new.as_ref().map(Loaded::file), context))
    }
}

struct Loaded {
    /// As shown.
    path: String,
    content: Vec<u8>,
    secret: bool,
    executable: bool,
}

impl Loaded {
    fn read(leaves: &Leaves, path: &str) -> Result<Self> {
        let leaf = leaves.by_path.get(path);
        Ok(Self {
            path: nodes::shown(leaves, path),
            content: leaves.read(path)?,
            secret: leaf.is_some_and(|leaf| leaf.secret),
            executable: leaf.is_some_and(|leaf| leaf.executable),
        })
    }

    fn file(&self) -> File<'_> {
        let Self { path, content, secret, executable } = self;
        File { path, content, secret: *secret, executable: *executable }
    }
}

/// Reported differences, and the first artifact that has them.
#[derive(Default)]
struct Reported<'a> {
    by: BTreeMap<(Vec<PlaceStep>, ChangeKind, Edit), &'a str>,
}

impl<'a> Reported<'a> {
    /// The artifact with its new differences, and how many of its files differ in meaning. `via` is an input that differs
    /// too: a file that only refers to it by its id has no difference of its own.
    fn artifact(&mut self, work: &Work<'a>, read: Vec<Vec<Change>>, via: Option<&str>) -> (Artifact, usize) {
        let mut same: BTreeMap<String, usize> = BTreeMap::new();
        work.elsewhere.iter().for_each(|first| *same.entry((*first).to_owned()).or_default() += 1);
        let mut differences = Vec::new();
        let mut files = work.elsewhere.len();
        for changes in read.into_iter().filter(|changes| !changes.is_empty()) {
            files += 1;
            let mut firsts = BTreeSet::new();
            for change in changes {
                if let Some(via) = via.filter(|_| is_reference(&change)) {
                    firsts.insert(via.to_owned());
                    continue;
                }
                match self.by.entry((tail(&change.place), change.kind, change.edit.clone())) {
                    Entry::Vacant(new) => {
                        new.insert(work.name);
                        differences.push(Difference { severity: weigh(&change), change });
                    }
                    Entry::Occupied(first) => drop(firsts.insert((*first.get()).to_owned())),
                }
            }
            firsts.into_iter().for_each(|first| *same.entry(first).or_default() += 1);
        }
        let state = match (work.paired.before, work.paired.old, work.paired.new) {
            (Some(_), ..) => ArtifactState::Renamed,
            (_, None, _) => ArtifactState::Added,
            (_, _, None) => ArtifactState::Removed,
            _ => ArtifactState::Changed,
        };
        let object = |part: Option<&Part>| part.and_then(|part| part.tree.object());
        let same = same.into_iter().map(|(artifact, files)| Same { artifact, files });
        let artifact = Artifact {
            name: work.name.to_owned(),
            state,
            before: work.paired.before.map(str::to_owned),
            old: object(work.paired.old),
            new: object(work.paired.new),
            causes: Vec::new(),
            via: Vec::new(),
            download: false,
            differences,
            same: same.collect(),
        };
        (artifact, files)
    }
}

/// The path from the innermost object or file on. An object is known by its kind and name, a file by its own name: the
/// same in an artifact, in the tree that it is copied to, and on a node.
fn tail(place: &[PlaceStep]) -> Vec<PlaceStep> {
    let is_start = |step: &PlaceStep| matches!(step.into, StepKind::File | StepKind::Object);
    let at = place.iter().rposition(is_start).unwrap_or(0);
    let mut tail = place[at..].to_vec();
    if let Some(first) =
        tail.first_mut().filter(|first| first.into == StepKind::File && !first.name.starts_with('/'))
    {
        first.name = crate::engine::tree::leaf(&first.name).to_owned();
    }
    tail
}

/// Whether lines differ in nothing but ids of objects, whole or shortened.
fn is_reference(change: &Change) -> bool {
    let Edit::Lines { hunks, cut: 0 } = &change.edit else { return false };
    let side = |sign: char| -> Vec<String> {
        let lines = hunks.iter().flat_map(|hunk| &hunk.lines).filter(|line| line.sign == sign);
        lines.map(|line| without_ids(&line.text)).collect()
    };
    let (old, new) = (side('-'), side('+'));
    !old.is_empty() && old == new
}

/// A text with a star for each word that may be an id: at least 16 characters of its alphabet.
fn without_ids(text: &str) -> String {
    let is_id = |word: &str| word.len() >= 16 && word.bytes().all(|c| matches!(c, b'a'..=b'z' | b'2'..=b'7'));
    let words = text.split_inclusive(|c: char| !c.is_ascii_alphanumeric());
    let word = |word: &str| {
        let bare = word.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
        if is_id(bare) { format!("*{}", &word[bare.len()..]) } else { word.to_owned() }
    };
    words.map(word).collect()
}
