//! `tree`: composes other outputs into one directory, by hard links. Nothing is read or hashed again.
//!
//! `place` says where each input goes: a directory is merged into that directory (`""`: the root), a file becomes that
//! path, and the files of a group keep their names below it. `join` makes one JSON document from an input group:
//! `{"<member>": <its only file>, …}`. Texts of the recipe (`files`, and secret config values) are written verbatim
//! under their alias. `dirs` exist even if they are empty. Below the directories in `once`, every Kubernetes object may occur only once. `only` selects
//! objects and fields of an input; each selected object becomes a file of its own.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::value::RawValue;

use super::objects::Objects;
use super::{ArtifactError, BuildError, Builder, Job, JobError, projection};
use crate::base::yaml;
use crate::engine::drv::BuilderId;
use crate::engine::tree::{TreeWriter, leaf};

pub(super) struct Tree;

impl Builder for Tree {
    fn id(&self) -> BuilderId {
        BuilderId::new("tree", 1)
    }

    /// Every file keeps its classification.
    fn declassifies(&self, _: &Job<'_>) -> bool {
        true
    }

    fn copies_texts(&self) -> bool {
        true
    }

    fn check(&self, job: &Job<'_>) -> Result<(), BuildError> {
        job.only(&["place", "join", "files", "once", "only", "dirs"])?;
        let only = projection::wanted(job)?;
        job.text_map("files")?;
        job.text_list("once")?;
        job.text_list("dirs")?;
        let place = job.text_map("place")?;
        let join = job.text_map("join")?;
        let used: BTreeSet<&str> = place.keys().chain(join.values()).copied().collect();
        if let Some(name) = used.difference(&job.aliases()).next() {
            let expected = "declared: `place` or `join` names it";
            return Err(JobError::Expected { name: format!("inputs.{name}"), expected }.into());
        }
        if let Some(name) = only.keys().find(|name| !place.contains_key(*name)) {
            return Err(JobError::Unused { name: format!("only.{name}"), used_in: "`place`".into() }.into());
        }
        if let Some(name) = job.aliases().difference(&used).next() {
            let used_in = "`place` or `join`".to_owned();
            return Err(JobError::Unused { name: (*name).to_owned(), used_in }.into());
        }
        Ok(())
    }

    fn build(&self, job: &Job<'_>, out: &TreeWriter<'_>) -> Result<(), BuildError> {
        let mut taken: BTreeMap<String, String> = BTreeMap::new();
        let (once, mut objects) = (job.text_list("once")?, Objects::default());
        let only = projection::wanted(job)?;
        for dir in job.text_list("dirs")? {
            out.dir(dir)?;
        }
        for (alias, destination) in job.text_map("place")? {
            for (_, input) in job.members(alias) {
                if let Some(wanted) = only.get(alias) {
                    if !destination.is_empty() {
                        out.dir(destination)?; // even if nothing is selected
                    }
                    for object in projection::select(alias, input, wanted)? {
                        let to = below(destination, &object.file);
                        match object.secret {
                            true => out.write_secret(&to, object.text.as_bytes(), false)?,
                            false => out.write(&to, object.text.as_bytes(), false)?,
                        }
                    }
                    continue;
                }
                for (found, full, entry) in input.leaves() {
                    let path = match found {
                        "" if !job.inputs.contains_key(alias) => leaf(&input.path),
                        path => path,
                    };
                    let to = below(destination, path);
                    if let Some(one) = taken.insert(to.clone(), input.derivation.clone()) {
                        let other = input.derivation.clone();
                        return Err(JobError::Collision { path: to, one, other }.into());
                    }
                    out.share(&to, &full, entry)?;
                    let inside = |dir: &&str| to.strip_prefix(*dir).is_some_and(|rest| rest.starts_with('/'));
                    if yaml::is_manifest(&to) && once.iter().any(inside) {
                        objects.add(alias, &to, input.text(alias, found)?, entry.secret)?;
                    }
                }
            }
        }
        each_once(&objects, &taken)?;
        for (path, text) in job.text_map("files")? {
            out.write(path, text.as_bytes(), false)?;
        }
        for (path, secret) in job.secrets {
            out.write_secret(path, secret.reveal(), false)?;
        }
        for (path, alias) in job.text_map("join")? {
            let joined = join(job, alias)?;
            match job.members(alias).any(|(_, input)| input.entry().is_some_and(|entry| entry.secret)) {
                true => out.write_secret(path, joined.as_bytes(), false)?,
                false => out.write(path, joined.as_bytes(), false)?,
            }
        }
        Ok(())
    }
}

fn below(destination: &str, path: &str) -> String {
    match (destination, path) {
        ("", path) => path.to_owned(),
        (destination, "") => destination.to_owned(),
        (destination, path) => format!("{destination}/{path}"),
    }
}

/// Rejects an object that two documents describe: the later one would win.
fn each_once(objects: &Objects, from: &BTreeMap<String, String>) -> Result<(), BuildError> {
    let mut seen = BTreeMap::new();
    for found in objects.iter().filter(|found| found.identity.missing().is_none()) {
        let (group, kind, namespace, name) = found.identity.key();
        let key = [group, kind, namespace, name].map(str::to_owned);
        let derivation = from.get(found.file).map_or("", String::as_str);
        let place = format!("{}:{} ({derivation})", found.file, found.document.line);
        if let Some(one) = seen.insert(key, place.clone()) {
            return Err(ArtifactError::Twice { object: found.identity.to_string(), one, other: place }.into());
        }
    }
    Ok(())
}

/// One JSON document from all members of a group.
fn join(job: &Job<'_>, alias: &str) -> Result<String, JobError> {
    let wrong = |problem: &str| JobError::Input { alias: alias.to_owned(), problem: problem.to_owned() };
    let mut joined: BTreeMap<String, Box<RawValue>> = BTreeMap::new();
    for (member, input) in job.members(alias) {
        let texts: Vec<String> = input.texts(alias)?.into_values().collect();
        let [text] = texts.as_slice() else { return Err(wrong("must hold one JSON file")) };
        let text = text.trim().to_owned();
        joined.insert(member.to_owned(), RawValue::from_string(text).map_err(|_| wrong("is not JSON"))?);
    }
    serde_json::to_string_pretty(&joined).map(|text| text + "\n").map_err(|_| wrong("is not JSON"))
}
