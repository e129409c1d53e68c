//! `diff hand-over render`: compares our objects with those that the operators' own renders put into the API.

use std::collections::{BTreeMap, BTreeSet};

pub(in crate::cli) use super::renders::is_render;
use super::renders::{self, why};
use crate::cli::output::{Colour, line, stdout_paint};
use crate::cli::{Error, Result};
use crate::compare::hand_over::{HandOverComparison, Objects, Sides, is_for_the_api, read};
use crate::openshift::workspace::{Env, Missing, Workspace};

/// The source of our objects, with all patches.
const OURS: &str = "patched";
/// What the cluster-version operator applies, and CRDs, which are applied before anything else.
const PAYLOAD: [&str; 3] = ["release/payload", "release/image", "release/crds"];

pub(super) fn show(found: &HandOverComparison) {
    let list = |title: &str, rows: Vec<String>| {
        if !rows.is_empty() {
            line(stdout_paint(title, Colour::Cyan));
            rows.iter().for_each(|row| line(format!("  {row}")));
        }
    };
    let missing = found.missing.iter().flat_map(|one| {
        [format!("{} ({}:{})", one.object, one.render, one.file), format!("  {}", why(&one.reason))]
    });
    list("made by a render, and not by us", missing.collect());
    let different = found.different.iter().flat_map(|one| {
        let head = format!("{} ({}, ours {})", one.object, one.render, one.ours);
        let rows = one.differences.iter();
        let rows = rows.map(|one| format!("  {}: {}; {}", one.what, one.detail, why(&one.reason)));
        std::iter::once(head).chain(rows)
    });
    list("not alike", different.collect());
    list("reasons that explain nothing here", found.stale.clone());
    list(
        "renders that could not be run",
        found.failed.iter().map(|(name, why)| format!("{name}: {why}")).collect(),
    );
    line(format!(
        "{} renders: {} objects alike, {} that the payload brings, {} not alike, {} missing here; {} differences unexplained",
        found.renders.len(),
        found.alike.len(),
        found.in_payload,
        found.different.len(),
        found.missing.len(),
        found.unexplained()
    ));
}

/// Builds both sides, compares all renders that can be run, and lists the others.
pub(super) fn compare(env: Env<'_>, jobs: usize) -> Result<HandOverComparison> {
    compare_in(&Workspace::load(env, Missing::Make)?, env, jobs)
}

/// The same, for a cluster that is read already.
pub(in crate::cli) fn compare_in(
    workspace: &Workspace,
    env: Env<'_>,
    jobs: usize,
) -> Result<HandOverComparison> {
    let names = [OURS, "render"].into_iter().chain(PAYLOAD).map(str::to_owned).collect::<Vec<_>>();
    let built = renders::build(workspace, env, jobs, &names)?;
    let objects = |name: &str, wanted: &dyn Fn(&str) -> bool| match built.done.get(name) {
        Some(object) => Ok(read(built.session.store(), *object, wanted)?),
        None => Err(Error::NotBuilt { target: name.to_owned() }),
    };
    let mut renders: BTreeMap<&str, Objects> = BTreeMap::new();
    for name in built.done.keys().filter(|name| is_render(name)) {
        renders.insert(name, objects(name, &is_for_the_api)?);
    }
    let ours = objects(OURS, &|path| path.starts_with("manifests/"))?;
    let mut payload = BTreeSet::new();
    for name in PAYLOAD {
        payload.extend(objects(name, &|_| true)?.into_keys());
    }
    let (known, release) = workspace.render_differences()?;
    let sides = Sides { ours: &ours, payload: &payload, known, release };
    Ok(HandOverComparison::new(&renders, built.failed.clone(), &sides))
}
