//! By what two sites have the same change: the same causes, with the same effects on the same artifacts and nodes, but for what is
//! a site's own.

use super::OwnValues;
use crate::base::digest::Digest;
use crate::base::hint::Place;
use crate::compare::cause::Cause;
use crate::compare::delta::{Change, Edit, ShownValue};
use crate::compare::diff::{Artifact, Diff};

const PURPOSE: &str = "tinderbox 2026-11-19 key of a change of several sites v1";

/// The key of a site's change. `is_own` says of which places every site has a line of its own: there, what counts is that it
/// changed, not from what to what.
pub(crate) fn key(diff: &Diff, own: &OwnValues, is_own: &dyn Fn(&Place) -> bool) -> Digest {
    let Diff { shape: _, old: _, new: _, summary, causes, artifacts } = diff;
    let mut key = Key { own, hasher: blake3::Hasher::new_derive_key(PURPOSE) };
    let mut named: Vec<String> = causes.iter().map(|cause| key.cause(cause, is_own)).collect();
    // What several lines of a table changed is one cause, whatever the order of their names.
    named.sort();
    named.dedup();
    named.iter().for_each(|cause| key.exact(cause));
    for artifact in artifacts {
        key.artifact(artifact);
    }
    for node in &summary.nodes {
        key.text(&node.node);
        key.exact(&format!("{:?}", node.effect));
        for paths in [&node.because, &node.added, &node.removed, &node.changed, &node.units] {
            key.exact(&paths.len().to_string());
            paths.iter().for_each(|path| key.text(path));
        }
    }
    key.hasher.finalize().into()
}

struct Key<'a> {
    own: &'a OwnValues,
    hasher: blake3::Hasher,
}

impl Key<'_> {
    fn exact(&mut self, text: &str) {
        self.hasher.update(&(text.len() as u64).to_le_bytes()).update(text.as_bytes());
    }

    fn text(&mut self, text: &str) {
        let text = self.own.without(text);
        self.exact(&text);
    }

    fn cause(&self, cause: &Cause, is_own: &dyn Fn(&Place) -> bool) -> String {
        let Cause { kind, what, from, to, places, read_by: _ } = cause;
        let named = |text: &String| self.own.named(text);
        if places.iter().any(is_own) {
            let places: Vec<String> = places.iter().map(|place| named(&place.field)).collect();
            return format!("{kind:?} {places:?}");
        }
        let places: Vec<String> = places.iter().map(|place| named(&place.to_string())).collect();
        let sides = (from.as_ref().map(named), to.as_ref().map(named));
        format!("{kind:?} {} {places:?} {sides:?}", named(what))
    }

    fn artifact(&mut self, artifact: &Artifact) {
        let Artifact { name, state, before, old: _, new: _, causes, via, download, differences, same } =
            artifact;
        self.text(name);
        self.exact(&format!("{state:?} {download} {} {}", causes.is_empty(), differences.len()));
        before.iter().chain(via).for_each(|name| self.text(name));
        differences.iter().for_each(|one| self.change(&one.change));
        for one in same {
            self.text(&one.artifact);
            self.exact(&one.files.to_string());
        }
    }

    fn change(&mut self, change: &Change) {
        let Change { place, kind, edit, tone, note: _ } = change;
        self.exact(&format!("{kind:?} {tone:?} {}", place.len()));
        place.iter().for_each(|step| self.text(&step.name));
        match edit {
            Edit::Added { new } => self.value('+', new),
            Edit::Removed { old } => self.value('-', old),
            Edit::Changed { old, new } => {
                self.value('<', old);
                self.value('>', new);
            }
            Edit::Renamed { old, new } => {
                self.text(old);
                self.text(new);
            }
            Edit::Lines { hunks, cut: _ } => {
                // Not the lines around: what is a site's own there is none of the change.
                for line in hunks.iter().flat_map(|hunk| &hunk.lines).filter(|line| line.sign != ' ') {
                    self.exact(&line.sign.to_string());
                    self.text(&line.text);
                }
            }
        }
    }

    fn value(&mut self, sign: char, value: &ShownValue) {
        self.exact(&sign.to_string());
        match value {
            ShownValue::Text(text) => self.text(text),
            ShownValue::Secret => self.exact("secret"),
            ShownValue::Bytes { .. } => self.exact("bytes"),
        }
    }
}
