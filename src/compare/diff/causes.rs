//! Root causes. The trace of an artifact lists everything that went into it; a difference between the traces of two
//! builds is a cause, unless it is an input that differs itself: then the input's causes count.

use std::collections::{BTreeMap, BTreeSet};

use super::walk::Paired;
use super::{Result, Side};
use crate::base::hint::Place;
use crate::compare::cause::{Cause, CauseKind};
use crate::engine::drv;
use crate::engine::store::Trace;

/// Builders whose output is downloaded.
const SOURCES: [&str; 2] = ["image@", "payload@"];

/// Turns a difference between two traces of an artifact into a cause; none for an artifact on one side only.
pub(crate) type Naming<'a> = &'a dyn Fn(&str, Option<&drv::Change>) -> Cause;

/// The origin of an artifact's differences: causes by index, and inputs that differ too.
pub(super) type Roots = (Vec<usize>, Vec<String>);

/// How the artifacts that differ were built.
pub(super) struct History<'a> {
    of: BTreeMap<&'a str, TracePair>,
}

struct TracePair {
    old: Option<Trace>,
    new: Option<Trace>,
    /// Whether both sides were built: files on disk have no causes.
    built: bool,
    lone: bool,
}

impl TracePair {
    /// Inputs by the name of their derivation, of both sides.
    fn inputs(&self) -> BTreeSet<&str> {
        let traces = self.old.iter().chain(&self.new);
        traces.flat_map(|trace| trace.inputs.values()).map(|input| input.from.as_str()).collect()
    }
}

impl<'a> History<'a> {
    /// Reads only the traces of artifacts that differ.
    pub(super) fn read([old, new]: [&Side; 2], paired: &BTreeMap<&'a str, Paired<'a>>) -> Result<Self> {
        let mut of = BTreeMap::new();
        for (name, pair) in paired {
            let trace = |side: &Side, part: Option<&super::Part>| -> Result<Option<Trace>> {
                let Some((store, part)) = side.store.as_ref().zip(part) else { return Ok(None) };
                let (Some(drv), Some(object)) = (part.drv, part.tree.object()) else { return Ok(None) };
                let outputs = store.realisation(drv)?.map(|found| found.outputs).unwrap_or_default();
                let at = outputs.iter().position(|output| output.object == object);
                // An unreadable trace counts as missing: the comparison continues without causes.
                Ok(at.and_then(|at| store.traces(drv).ok()?.into_iter().nth(at)))
            };
            let built = [pair.old, pair.new].into_iter().flatten().all(|part| part.drv.is_some());
            let lone = pair.old.is_none() || pair.new.is_none();
            of.insert(
                *name,
                TracePair { old: trace(old, pair.old)?, new: trace(new, pair.new)?, built, lone },
            );
        }
        Ok(Self { of })
    }

    /// Names in dependency order, but downloads last, so that a difference is reported where this cluster has it.
    pub(super) fn order(&self) -> Vec<&'a str> {
        let mut depths: BTreeMap<&str, usize> = BTreeMap::new();
        // Each round settles at least the artifacts whose inputs are settled; a cycle in damaged traces ends it.
        let mut open: BTreeSet<&'a str> = self.of.keys().copied().collect();
        for depth in 0.. {
            let waits = |name: &&str| {
                self.of[*name].inputs().into_iter().any(|from| from != *name && open.contains(from))
            };
            let (later, now): (BTreeSet<&str>, BTreeSet<&str>) = open.iter().copied().partition(waits);
            if now.is_empty() {
                depths.extend(later.into_iter().map(|name| (name, depth)));
                break;
            }
            depths.extend(now.into_iter().map(|name| (name, depth)));
            open = later;
        }
        let mut names: Vec<&'a str> = self.of.keys().copied().collect();
        names
            .sort_by_key(|name| (self.is_source(name), depths.get(name).copied().unwrap_or_default(), *name));
        names
    }

    /// Whether an artifact is a download, of which others take what this cluster needs.
    pub(super) fn is_source(&self, name: &str) -> bool {
        let trace = self.of.get(name).and_then(|known| known.new.as_ref().or(known.old.as_ref()));
        let builder = trace.and_then(|trace| trace.identity.0.get("builder")).map(ToString::to_string);
        builder.is_some_and(|builder| SOURCES.iter().any(|source| builder.starts_with(source)))
    }

    /// The causes of the reported artifacts, and which of them each has.
    pub(super) fn causes(
        &self,
        naming: Naming<'_>,
        only: &dyn Fn(&str) -> bool,
    ) -> (Vec<Cause>, BTreeMap<String, Roots>) {
        let mut own: BTreeMap<&str, BTreeSet<Cause>> = BTreeMap::new();
        let mut via: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (name, known) in self.of.iter().filter(|(_, known)| known.built) {
            let (found, inputs) = self.of_one(name, known, naming);
            own.insert(name, found);
            via.insert(name, inputs);
        }
        let merged = Merged::of(own.values().flatten());
        for (name, found) in &mut own {
            let of_node = merged.nodes.as_ref().filter(|_| self.of[*name].lone && merged.is_of_node(name));
            *found = match of_node {
                Some(cause) => [cause.clone()].into(),
                None => std::mem::take(found).into_iter().map(|cause| merged.one(cause)).collect(),
            };
        }
        let reached = |name: &'_ str| {
            let mut reached: BTreeSet<&str> =
                via.get_key_value(name).map(|(name, _)| *name).into_iter().collect();
            let mut open: Vec<&str> = reached.iter().copied().collect();
            while let Some(name) = open.pop() {
                open.extend(via.get(name).into_iter().flatten().filter(|input| reached.insert(input)));
            }
            reached
        };
        let reported: BTreeMap<&str, BTreeSet<&str>> =
            via.keys().filter(|name| only(name)).map(|name| (*name, reached(name))).collect();
        let mut causes: BTreeMap<&Cause, BTreeSet<String>> = BTreeMap::new();
        for name in reported.values().flatten() {
            for cause in own.get(name).into_iter().flatten() {
                causes.entry(cause).or_default().insert((*name).to_owned());
            }
        }
        let list: Vec<&Cause> = causes.keys().copied().collect();
        let roots = |(name, reached): (&&str, &BTreeSet<&str>)| {
            let roots: BTreeSet<&Cause> = reached.iter().filter_map(|name| own.get(name)).flatten().collect();
            let roots = roots.into_iter().filter_map(|cause| list.binary_search(&cause).ok()).collect();
            ((*name).to_owned(), (roots, via[name].iter().map(|input| (*input).to_owned()).collect()))
        };
        let of = reported.iter().map(roots).collect();
        let named = |(cause, read_by): (&Cause, BTreeSet<String>)| Cause {
            read_by: read_by.into_iter().collect(),
            ..cause.clone()
        };
        (causes.into_iter().map(named).collect(), of)
    }

    /// The root causes of one artifact, and its inputs that differ.
    fn of_one<'k>(
        &'k self,
        name: &str,
        known: &'k TracePair,
        naming: Naming<'_>,
    ) -> (BTreeSet<Cause>, BTreeSet<&'k str>) {
        if known.lone {
            let inputs = known.inputs().into_iter().filter(|from| self.of.contains_key(from)).collect();
            return (BTreeSet::from([naming(name, None)]), inputs);
        }
        let (Some(old), Some(new)) = (&known.old, &known.new) else {
            let unknown = Cause::new(CauseKind::Unknown, "its build record is gone");
            return (BTreeSet::from([unknown]), BTreeSet::new());
        };
        let (mut causes, mut inputs) = (BTreeSet::new(), BTreeSet::new());
        for change in old.identity.changes(&new.identity) {
            let alias = change.path.strip_prefix("inputs.").map(|alias| alias.trim_matches('"'));
            let from = alias.and_then(|alias| new.inputs.get(alias).or_else(|| old.inputs.get(alias)));
            // An input that only one side has is explained by why that side has it.
            let both = change.from.is_some() && change.to.is_some();
            let explains = |known: &TracePair| both || known.lone;
            match from.filter(|from| self.of.get(from.from.as_str()).is_some_and(explains)) {
                Some(from) => drop(inputs.insert(from.from.as_str())),
                None => drop(causes.insert(naming(name, Some(&change)))),
            }
        }
        if causes.is_empty() && inputs.is_empty() {
            causes.insert(Cause::new(CauseKind::Unknown, "the same build produced different bytes"));
        }
        (causes, inputs)
    }
}

/// Causes that subsume others.
struct Merged {
    /// The release, whichever of its fields artifacts read: by version, or by image if the version is the same.
    release: Option<Cause>,
    /// The seed: it keys the digests of secrets, so with another seed every secret looks different.
    seed: Option<Cause>,
    /// The nodes that came or went, whichever of their fields artifacts read, and the number of replicas that follows.
    nodes: Option<Cause>,
    /// Their names.
    names: BTreeSet<String>,
}

/// The fields of a node are below this one, by its name.
const NODES: &str = "nodes.";
/// The last part of the field that counts the nodes of a role.
const REPLICAS: &str = ".replicas";

impl Merged {
    fn of<'c>(all: impl Iterator<Item = &'c Cause> + Clone) -> Self {
        let is = |kind| move |cause: &&Cause| cause.kind == kind;
        let is_version = |cause: &&Cause| cause.what == "lock.release.version";
        let release = all.clone().filter(is(CauseKind::Release)).max_by_key(is_version);
        let release = release.map(|found| Cause { what: "lock.release".to_owned(), ..found.clone() });
        let names: BTreeSet<String> = all.clone().filter_map(lone_node).map(str::to_owned).collect();
        Self {
            release,
            seed: all.clone().find(is(CauseKind::Seed)).cloned(),
            nodes: nodes(all, &names),
            names,
        }
    }

    /// Whether an artifact belongs to a node that came or went.
    fn is_of_node(&self, artifact: &str) -> bool {
        let is_its = |name: &String| {
            artifact.strip_suffix(name.as_str()).is_some_and(|rest| rest.ends_with(['/', '-']))
        };
        self.names.iter().any(is_its)
    }

    fn one(&self, cause: Cause) -> Cause {
        let stands = match cause.kind {
            // Tables follow the release. If the release is the same, the table itself changed.
            CauseKind::Release | CauseKind::Versioned => self.release.clone(),
            CauseKind::Config if lone_node(&cause).is_some() || cause.what.ends_with(REPLICAS) => {
                self.nodes.clone()
            }
            // Before and after look alike: only their digests differ.
            CauseKind::Config if cause.from.is_some() && cause.from == cause.to => self.seed.clone(),
            _ => None,
        };
        stands.unwrap_or(cause)
    }
}

/// The name of the node that only one side has, if a cause is about one.
fn lone_node(cause: &Cause) -> Option<&str> {
    let is_lone = cause.kind == CauseKind::Config && cause.from.is_some() != cause.to.is_some();
    cause.what.strip_prefix(NODES).filter(|_| is_lone)?.split('.').next()
}

/// One cause for all nodes that came or went, with every line that says so.
fn nodes<'c>(all: impl Iterator<Item = &'c Cause>, names: &BTreeSet<String>) -> Option<Cause> {
    if names.is_empty() {
        return None;
    }
    let (mut places, mut came, mut went) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for cause in all.filter(|cause| cause.kind == CauseKind::Config) {
        match lone_node(cause) {
            Some(node) if cause.from.is_none() => drop(came.insert(node)),
            Some(node) => drop(went.insert(node)),
            None if cause.what.ends_with(REPLICAS) => {}
            None => continue,
        }
        let line = |place: &Place| match lone_node(cause) {
            Some(node) => Place { field: format!("{NODES}{node}"), ..place.clone() },
            None => place.clone(),
        };
        places.extend(cause.places.iter().map(line));
    }
    let side =
        |names: BTreeSet<&str>| (!names.is_empty()).then(|| names.into_iter().collect::<Vec<_>>().join(", "));
    let cause = Cause::new(CauseKind::Config, NODES.trim_end_matches('.'));
    Some(Cause { from: side(went), to: side(came), places: places.into_iter().collect(), ..cause })
}
