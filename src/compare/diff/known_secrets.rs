//! The secrets that either side has, so that none is shown wherever else it stands.
//!
//! [`delta`](crate::compare::delta) masks what is secret by its place, its name or its format. This is the last line:
//! a password of a secret file stays masked in a file that nothing marks as secret.

use std::collections::BTreeSet;

use super::{Result, Side};
use crate::base::redact::{Redactor, patterns};
use crate::base::secret::{MASK, Secret};
use crate::compare::delta::{Change, Edit, ShownValue};

/// Larger secret files are configs of whole nodes: their secrets are files of their own elsewhere.
const LARGEST: usize = 64 << 10;

pub(crate) struct KnownSecrets(Redactor);

impl KnownSecrets {
    /// Those of sides, and others with the names of what they are from.
    pub(crate) fn of<const N: usize>(sides: [&Side; N], others: Vec<(String, Vec<Secret>)>) -> Result<Self> {
        let (mut seen, mut found) = (BTreeSet::new(), others);
        for side in sides {
            for (name, part) in &side.parts {
                let leaves = part.tree.leaves(side.store.as_ref())?;
                for (path, leaf) in leaves.by_path.iter().filter(|(_, leaf)| leaf.secret) {
                    if !seen.insert(leaf.digest) || path.ends_with(".ign") {
                        continue;
                    }
                    let content = zeroize::Zeroizing::new(leaves.read(path)?);
                    if content.len() <= LARGEST {
                        found.push((name.clone(), patterns(crate::engine::tree::leaf(path), &content)));
                    }
                }
            }
        }
        Ok(Self(Redactor::new(found)))
    }

    /// The changes without known secrets.
    pub(crate) fn mask(&self, mut changes: Vec<Change>) -> Vec<Change> {
        for change in &mut changes {
            for step in &mut change.place {
                self.text(&mut step.name);
            }
            change.note.iter_mut().for_each(|note| self.text(note));
            match &mut change.edit {
                Edit::Added { new: value } | Edit::Removed { old: value } => self.value(value),
                Edit::Changed { old, new } => [old, new].into_iter().for_each(|value| self.value(value)),
                Edit::Renamed { old, new } => [old, new].into_iter().for_each(|text| self.text(text)),
                Edit::Lines { hunks, cut: _ } => {
                    let lines = hunks.iter_mut().flat_map(|hunk| &mut hunk.lines);
                    lines.for_each(|line| self.text(&mut line.text));
                }
            }
        }
        changes
    }

    fn value(&self, value: &mut ShownValue) {
        if matches!(value, ShownValue::Text(text) if self.0.knows(text)) {
            *value = ShownValue::Secret;
        }
    }

    fn text(&self, text: &mut String) {
        if self.0.knows(text) {
            *text = MASK.to_owned();
        }
    }
}
