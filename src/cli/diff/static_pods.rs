//! `diff static-pod render`: compares our control plane with the pods and configuration that the operators render.

use std::collections::{BTreeMap, BTreeSet};

use super::renders::{self, why};
use crate::base::fs;
use crate::base::redact::one_line;
use crate::cli::Result;
use crate::cli::output::{Colour, line, stdout_paint};
use crate::compare::static_pods::{DifferentSetting, StaticPodComparison, Texts};
use crate::openshift::knowledge::Reason;
use crate::openshift::workspace::{Env, Missing, Workspace};

/// Characters of a value that a line shows.
const SHOWN: usize = 120;

pub(super) fn show(found: &StaticPodComparison) {
    let mut explained = 0;
    for one in &found.programs {
        line(stdout_paint(&format!("{}: {} settings alike", one.program, one.equal.len()), Colour::Cyan));
        let mut by_reason: BTreeMap<&Option<Reason>, Vec<&DifferentSetting>> = BTreeMap::new();
        one.different.iter().for_each(|one| by_reason.entry(&one.reason).or_default().push(one));
        for (reason, settings) in by_reason {
            explained += if reason.is_some() { settings.len() } else { 0 };
            settings.iter().for_each(|one| line(format!("  {}: {}", one.setting, values(one))));
            line(format!("    {}", why(reason)));
        }
    }
    for (title, rows) in [
        ("reasons that explain nothing here", found.stale.clone()),
        (
            "not compared",
            found.failed.iter().map(|(name, why)| format!("{name}: {}", one_line(why, 400))).collect(),
        ),
    ] {
        if !rows.is_empty() {
            line(stdout_paint(title, Colour::Cyan));
            rows.iter().for_each(|row| line(format!("  {row}")));
        }
    }
    let alike: usize = found.programs.iter().map(|one| one.equal.len()).sum();
    line(format!(
        "{} programs: {alike} settings alike, {explained} different for a known reason, {} unexplained",
        found.programs.len(),
        found.unexplained()
    ));
}

/// Both values; of two lists, what only one of them has.
fn values(one: &DifferentSetting) -> String {
    let quoted = |value: &str| format!("`{}`", one_line(value, SHOWN));
    match (&one.render, &one.ours) {
        (Some(render), Some(ours)) => {
            let set = |text: &'_ str| text.split(',').map(str::to_owned).collect::<BTreeSet<_>>();
            let (theirs, mine) = (set(render), set(ours));
            let only = |one: &BTreeSet<String>, other: &BTreeSet<String>| {
                let rest: Vec<_> = one.difference(other).map(String::as_str).collect();
                if rest.is_empty() { "nothing".to_owned() } else { quoted(&rest.join(",")) }
            };
            match theirs.len() + mine.len() > 3 && theirs != mine {
                true => format!(
                    "only the render's list has {}, only ours {}",
                    only(&theirs, &mine),
                    only(&mine, &theirs)
                ),
                false => format!("the render's is {}, ours {}", quoted(render), quoted(ours)),
            }
        }
        (Some(render), None) => format!("the render's is {}, ours is not set", quoted(render)),
        (None, Some(ours)) => format!("only ours is set, to {}", quoted(ours)),
        (None, None) => String::new(),
    }
}

/// Builds both sides and compares what could be built.
pub(super) fn compare(env: Env<'_>, jobs: usize) -> Result<StaticPodComparison> {
    let workspace = Workspace::load(env, Missing::Make)?;
    let (known, release) = workspace.render_differences()?;
    let programs = known.programs.select(release);
    let files = programs.flat_map(|row| std::iter::once(&row.pod).chain(&row.config));
    let files: BTreeSet<&String> = files.flat_map(|files| [&files.ours, &files.render]).flatten().collect();
    let parts = |file: &'_ str| {
        file.split_once(':').map(|(derivation, path)| (derivation.to_owned(), path.to_owned()))
    };
    let parts: Vec<(String, String)> = files.into_iter().filter_map(|file| parts(file)).collect();
    let names: BTreeSet<String> = parts.iter().map(|(derivation, _)| derivation.clone()).collect();
    let built = renders::build(&workspace, env, jobs, &names.into_iter().collect::<Vec<_>>())?;
    let mut texts = Texts::new();
    for (derivation, path) in &parts {
        let Some(object) = built.done.get(derivation.as_str()) else { continue };
        let object = built.session.store().object(*object)?;
        if object.listing.leaves("").any(|(found, _)| found == path) {
            texts.insert(format!("{derivation}:{path}"), fs::read_text(&object.path.join(path))?);
        }
    }
    Ok(StaticPodComparison::new(&texts, built.failed, known, release))
}
