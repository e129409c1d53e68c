//! Inverts differences.

use std::collections::BTreeMap;

use super::{Change, Edit, Hunk, HunkLine, PlaceStep, Tone};

impl Change {
    /// The inverse difference. For several changes, [`inverse`] tracks renames.
    pub fn inverse(mut self) -> Self {
        if let (Edit::Renamed { old, new }, Some(last)) = (&self.edit, self.place.last_mut())
            && last.name == *new
        {
            last.name.clone_from(old);
        }
        let edit = match self.edit {
            Edit::Added { new } => Edit::Removed { old: new },
            Edit::Removed { old } => Edit::Added { new: old },
            Edit::Changed { old, new } => Edit::Changed { old: new, new: old },
            Edit::Renamed { old, new } => Edit::Renamed { old: new, new: old },
            Edit::Lines { hunks, cut } => {
                Edit::Lines { hunks: hunks.into_iter().map(Hunk::inverse).collect(), cut }
            }
        };
        let tone = self.tone.map(|tone| match tone {
            Tone::Tightened => Tone::Loosened,
            Tone::Loosened => Tone::Tightened,
        });
        Self { edit, tone, ..self }
    }
}

impl Hunk {
    fn inverse(self) -> Self {
        let swap = |line: HunkLine| {
            let sign = match line.sign {
                '-' => '+',
                '+' => '-',
                other => other,
            };
            HunkLine { sign, ..line }
        };
        let mut lines: Vec<HunkLine> = self.lines.into_iter().map(swap).collect();
        // Removed lines come before added lines.
        for run in lines.chunk_by_mut(|a, b| (a.sign == ' ') == (b.sign == ' ')) {
            run.sort_by_key(|line| line.sign == '+');
        }
        Self { old_start: self.new_start, new_start: self.old_start, lines }
    }
}

/// The inverse differences, with renamed files under their other name.
pub(crate) fn inverse(changes: Vec<Change>) -> Vec<Change> {
    let mut renamed: BTreeMap<Vec<PlaceStep>, String> = BTreeMap::new();
    for change in &changes {
        if let Edit::Renamed { old, .. } = &change.edit {
            renamed.insert(change.place.clone(), old.clone());
        }
    }
    let back = |mut change: Change| {
        // The longest first: the steps inside still use the new names.
        for end in (1..=change.place.len()).rev() {
            if let Some(old) = renamed.get(&change.place[..end])
                && !(matches!(change.edit, Edit::Renamed { .. }) && end == change.place.len())
            {
                change.place[end - 1].name.clone_from(old);
            }
        }
        change.inverse()
    };
    changes.into_iter().map(back).collect()
}
