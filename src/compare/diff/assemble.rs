//! A comparison from changes that were found elsewhere, so that `drift` reads like `diff`.

use std::collections::BTreeMap;

use super::summary::{self, Counts, weigh};
use super::{Artifact, ArtifactState, Diff, Difference, SHAPE};
use crate::compare::delta::{Change, Edit, StepKind};

/// The changes of one artifact.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    pub(crate) artifact: String,
    pub(crate) changes: Vec<Change>,
}

/// The comparison of two sides, of which `same` artifacts do not differ. Changes of one artifact come together, in the order in
/// which it was first found.
pub(crate) fn assemble(old: &str, new: &str, found: Vec<Found>, same: usize) -> Diff {
    let mut at: BTreeMap<String, usize> = BTreeMap::new();
    let mut artifacts: Vec<Artifact> = Vec::new();
    for Found { artifact, changes } in found {
        let index = *at.entry(artifact.clone()).or_insert_with(|| {
            artifacts.push(empty(artifact));
            artifacts.len() - 1
        });
        let differences = changes.into_iter().map(|change| Difference { severity: weigh(&change), change });
        artifacts[index].differences.extend(differences);
    }
    let mut counts = Counts { same, ..Counts::default() };
    for artifact in &mut artifacts {
        artifact.state = state(&artifact.differences);
        match artifact.state {
            ArtifactState::Added => counts.added += 1,
            ArtifactState::Removed => counts.removed += 1,
            ArtifactState::Renamed => counts.renamed += 1,
            ArtifactState::Changed => counts.changed += 1,
        }
    }
    let summary = summary::of_artifacts(&artifacts, counts);
    let (old, new) = (old.to_owned(), new.to_owned());
    Diff { shape: SHAPE, old, new, summary, causes: Vec::new(), artifacts }
}

fn empty(name: String) -> Artifact {
    Artifact {
        name,
        state: ArtifactState::Changed,
        before: None,
        old: None,
        new: None,
        causes: Vec::new(),
        via: Vec::new(),
        download: false,
        differences: Vec::new(),
        same: Vec::new(),
    }
}

/// An artifact of which nothing else is left than whole files is only on one side.
fn state(differences: &[Difference]) -> ArtifactState {
    let is_whole = |one: &Difference| one.change.place.last().is_some_and(|step| step.into == StepKind::File);
    let all = |is: fn(&Edit) -> bool| differences.iter().all(|one| is_whole(one) && is(&one.change.edit));
    match () {
        () if all(|edit| matches!(edit, Edit::Added { .. })) => ArtifactState::Added,
        () if all(|edit| matches!(edit, Edit::Removed { .. })) => ArtifactState::Removed,
        () => ArtifactState::Changed,
    }
}
