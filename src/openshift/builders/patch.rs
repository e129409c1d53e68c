//! `patch`: patches Kubernetes objects of one tree. Files without a patch are shared; in the others, unchanged lines
//! stay as they are, with their comments.
//!
//! The input is `tree`, `files` contains patch files; [`crate::openshift::patch`] documents the format. A patch that
//! matches nothing, matches more than it says, or changes nothing is an error: after an update of its target, nobody
//! would notice.

use std::collections::BTreeMap;

use super::objects::{Found, Objects};
use super::{BuildError, Builder, Job, JobError};
use crate::base::hint::{Problems, did_you_mean};
use crate::base::yaml::{Source, YamlNode};
use crate::engine::drv::BuilderId;
use crate::engine::tree::{EntryKind, TreeWriter};
use crate::openshift::patch::{self, Fault, Identity, Patch, Target};

pub(super) struct Patches;

impl Builder for Patches {
    fn id(&self) -> BuilderId {
        BuilderId::new("patch", 1)
    }

    /// Every file keeps its classification.
    fn declassifies(&self, _: &Job<'_>) -> bool {
        true
    }

    fn changes(&self) -> Option<&'static str> {
        Some("tree")
    }

    fn check(&self, job: &Job<'_>) -> Result<(), BuildError> {
        job.only(&["files"])?;
        job.exactly(&["tree"])?;
        if job.text_map("files")?.is_empty() {
            return Err(
                JobError::Expected { name: "files".into(), expected: "a table with a patch file" }.into()
            );
        }
        read(job).map(drop)
    }

    fn build(&self, job: &Job<'_>, out: &TreeWriter<'_>) -> Result<(), BuildError> {
        let input = job.input("tree")?;
        let mut objects = Objects::read("tree", input)?;
        let mut changed: BTreeMap<String, String> = BTreeMap::new();
        for (file, patches) in read(job)? {
            for patch in patches {
                let new = run(&objects, &patch).map_err(|fault| in_file(file, fault))?;
                for (path, at, document) in new {
                    changed.insert(path.clone(), objects.replace("tree", &path, at, &document)?);
                }
            }
        }
        for (path, full, entry) in input.leaves() {
            let exec = matches!(entry.kind, EntryKind::File { exec: true, .. });
            match changed.get(path) {
                None => out.share(path, &full, entry)?,
                Some(text) if entry.secret => out.write_secret(path, text.as_bytes(), exec)?,
                Some(text) => out.write(path, text.as_bytes(), exec)?,
            }
        }
        Ok(())
    }
}

/// The patches of all files, in order.
fn read<'a>(job: &'a Job<'_>) -> Result<Vec<(&'a str, Vec<Patch>)>, BuildError> {
    let mut read = Vec::new();
    for (file, text) in job.text_map("files")? {
        let mut problems = Problems::default();
        let patches = patch::parse(Source { name: file, text }, &mut problems);
        if let Err(Problems(mut problems)) = problems.or(()) {
            let first = problems.swap_remove(0);
            let field =
                if first.place.field.is_empty() { String::new() } else { format!("{}: ", first.place.field) };
            let message = field + &first.message;
            return Err(in_file(
                file,
                Fault { line: first.place.line.unwrap_or(1), message, hint: first.hint },
            ));
        }
        read.push((file, patches));
    }
    Ok(read)
}

fn in_file(file: &str, fault: Fault) -> BuildError {
    let Fault { line, message, hint } = fault;
    BuildError::Text { file: file.to_owned(), line, message, hint }
}

/// Applies one patch: returns file, index and new content of every changed document.
fn run(objects: &Objects, patch: &Patch) -> Result<Vec<(String, usize, YamlNode)>, Fault> {
    let fault = |message: String, hint: Option<String>| Fault { line: patch.line, message, hint };
    let found: Vec<Found<'_>> =
        objects.iter().filter(|found| patch.target.matches(found.file, &found.identity)).collect();
    match found.as_slice() {
        [] => return Err(nothing(objects, patch)),
        [_, _, ..] if !patch.target.all => {
            let list: Vec<String> = found.iter().map(ToString::to_string).collect();
            let message = format!("{} matches several objects: {}", patch.target, list.join(", "));
            let hint = "be more specific, or set `all: true` in `target`".to_owned();
            return Err(fault(message, Some(hint)));
        }
        _ => {}
    }
    let mut changed = Vec::new();
    for one in &found {
        let place = |fault: Fault| Fault { message: format!("{one}: {}", fault.message), ..fault };
        let new = patch::apply(&patch.change, one.document, one.secret).map_err(place)?;
        if new.means(one.document) {
            continue;
        }
        let identity = Identity::of(&new);
        if let Some(field) = identity.missing() {
            let message = format!("{one}: without `{field}`, the patched document is not an object");
            return Err(fault(message, None));
        }
        let twin =
            |other: &Found<'_>| (other.file, other.at) != (one.file, one.at) && other.identity.is(&identity);
        if let Some(twin) = objects.iter().filter(|_| !identity.is(&one.identity)).find(twin) {
            return Err(fault(format!("{one}: the patch makes it the same object as {twin}"), None));
        }
        changed.push((one.file.to_owned(), one.at, new));
    }
    if changed.is_empty() {
        let all: Vec<String> = found.iter().map(ToString::to_string).collect();
        let message = format!("{}: the patch changes nothing", all.join(", "));
        return Err(fault(
            message,
            Some("delete the patch, or check whether it still serves its purpose".into()),
        ));
    }
    Ok(changed)
}

/// The error for a patch without a target, with a hint about similar objects.
fn nothing(objects: &Objects, patch: &Patch) -> Fault {
    let target = &patch.target;
    let kinds: Vec<String> = objects.iter().map(|found| found.identity.kind).collect();
    let names: Vec<String> = objects.iter().map(|found| found.identity.name).collect();
    let message = format!("the patch targets {target}, which does not exist");
    let hint = match target {
        Target { file: Some(file), .. } => did_you_mean(file, objects.files())
            .or_else(|| Some("`tinderbox show assembled` lists the files".into())),
        Target { kind: Some(kind), .. } => {
            let same: Vec<Found<'_>> = objects.iter().filter(|found| found.identity.kind == *kind).collect();
            let list: Vec<String> = same.iter().map(ToString::to_string).collect();
            match same.is_empty() {
                true => did_you_mean(kind, kinds.iter().map(String::as_str))
                    .or_else(|| Some("`tinderbox show assembled` lists the files".into())),
                false => Some(format!(
                    "of that kind, there {} {}",
                    if list.len() == 1 { "is" } else { "are" },
                    list.join(", ")
                )),
            }
        }
        Target { name: Some(name), .. } => did_you_mean(name, names.iter().map(String::as_str)),
        _ => None,
    };
    Fault { line: patch.line, message, hint }
}
