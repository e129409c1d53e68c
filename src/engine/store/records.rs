//! Verification of the store's own records: keys, realisations, roots. Objects are verified by `verify`.
//!
//! | damaged | what `repair` does | what is lost |
//! |---|---|---|
//! | a key | removes it; the next build of its cluster writes it again | nothing |
//! | a realisation | removes it; its derivation is built again | its trace |
//! | a log | removes it | what programs printed |
//! | `generations/N.json` | removes it | that generation |
//! | `current` | the newest readable generation becomes current | a rollback |
//! | `last.json`, `state` | removes both; the next build writes them | what `why` compares with |
//! | `directory` | removes it; the next build writes it. gc keeps what the root names until then | nothing |
//! | `downloads` | removes it; the next `lock` or build writes it | nothing |
//! | `missing` | removes it; gc waits thirty days again | nothing |

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::roots::whole_json;
use super::seal::unseal_text;
use super::verify::{Finding, FindingKind};
use super::{Generation, Record, Result, Roots, Session, Store};
use crate::base::digest::{Digest, KeyId, ObjectId};
use crate::base::fs;

impl Store {
    /// Records that cannot be read, or say something else than their name.
    pub(super) fn bad_records(&self) -> Result<Vec<Finding>> {
        let mut findings = Vec::new();
        let mut found = |path: PathBuf, kind, detail: &str| {
            findings.push(Finding { path, kind, detail: detail.to_owned(), object: None });
        };
        for name in self.names_in("keys") {
            let Some(id) = name.to_str().and_then(|name| name.parse::<KeyId>().ok()) else { continue };
            if !matches!(self.key(id), Ok(Some(_))) {
                let path = self.part("keys").join(&name);
                found(path, FindingKind::Record, "it is not the key that its name says");
            }
        }
        for drv in self.names_in("realisations").iter().filter_map(|name| name.to_str()?.parse().ok()) {
            let path = self.realisation_path(drv);
            // One that was removed meanwhile is not damaged.
            if !self.is_whole(drv) && fs::exists(&path)? {
                found(path, FindingKind::Record, "it cannot be parsed, or was changed");
            }
        }
        for drv in self.names_in("logs").iter().filter_map(|name| name.to_str()?.parse().ok()) {
            let path = self.log_path(drv);
            if !self.is_whole_log(drv) && fs::exists(&path)? {
                found(path, FindingKind::Record, "it was changed");
            }
        }
        if !self.names_in("roots").is_empty() {
            for roots in self.all_roots()? {
                for (path, detail) in roots.damage(self)? {
                    found(path, FindingKind::Record, detail);
                }
            }
        }
        Ok(findings)
    }

    /// Removes or rewrites damaged records; returns what is lost. The caller holds the gc lock exclusively.
    pub(super) fn repair_records(&self, session: &Session, findings: &[Finding]) -> Result<Vec<String>> {
        let mut lost = Vec::new();
        let all_roots = self.all_roots()?;
        for Finding { path, kind, .. } in findings {
            if path.starts_with(self.part("manifests")) && *kind == FindingKind::Altered {
                fs::optional(fs::set_mode(path, 0o600))?; // it is gone with a bad object
            }
            if *kind != FindingKind::Record {
                continue;
            }
            let root = all_roots.iter().find(|roots| path.starts_with(roots.place()));
            if let Some(roots) = root
                && let Some(number) = number(path)
            {
                lost.push(format!("generation {number} of `{}`", roots.directory.display()));
            }
            fs::remove_all(path)?;
            if let Some(roots) = root {
                roots.heal(session)?;
            }
        }
        Ok(lost)
    }
}

impl Store {
    /// Forgets the generations whose `cluster` was among the removed objects and is not back; returns them, and what other
    /// generations lack. What the last build of a directory names can be built again there.
    pub fn forget_lost(&self, removed: &BTreeSet<ObjectId>) -> Result<Vec<String>> {
        let there: BTreeSet<ObjectId> = self.objects()?.into_iter().map(|name| name.id).collect();
        let mut lost = Vec::new();
        for roots in self.all_roots()? {
            let last: BTreeSet<ObjectId> = roots.record()?.names.values().map(|named| named.object).collect();
            let gone = |id: &ObjectId| removed.contains(id) && !there.contains(id) && !last.contains(id);
            for generation in roots.generations()? {
                let which = format!("generation {} of `{}`", generation.number, roots.directory.display());
                if gone(&generation.object) {
                    roots.forget(generation.number)?;
                    lost.push(which);
                    continue;
                }
                let names = generation.names.iter().filter(|(_, named)| gone(&named.object));
                lost.extend(names.map(|(name, _)| format!("`{name}` of {which}")));
            }
        }
        Ok(lost)
    }
}

/// Whether a file is exactly one value on a line, with its checksum or without.
fn is_line<T: std::str::FromStr + std::fmt::Display>(path: &Path) -> bool {
    let Ok(text) = fs::read_text(path) else { return false };
    let plain = unseal_text(&text).unwrap_or(&text);
    let value = plain.strip_suffix('\n').and_then(|line| line.parse::<T>().ok());
    value.is_some_and(|value| format!("{value}\n") == plain)
}

/// The number of a generation's file.
fn number(path: &Path) -> Option<u64> {
    path.file_name()?.to_str()?.strip_suffix(".json")?.parse().ok()
}

impl Roots {
    /// Files of this root that cannot be used.
    fn damage(&self, store: &Store) -> Result<Vec<(PathBuf, &'static str)>> {
        const CHANGED: &str = "it cannot be parsed, or was changed";
        let mut bad = Vec::new();
        if !fs::metadata(self.place())?.is_dir() {
            return Ok(bad); // the layout says so
        }
        let numbers = self.numbers().unwrap_or_default();
        // One that was only begun keeps nothing yet.
        let last = self.place().join("last.json");
        let keeps = !numbers.is_empty() || fs::exists(&last)?;
        if (keeps || self.is_known()) && !self.is_at_home(store) {
            bad.push((self.place().join("directory"), "it does not name the cluster directory"));
        }
        let mut generations = Vec::new();
        for number in &numbers {
            let path = self.generation_path(*number);
            match whole_json(&path) {
                Some(Generation { number: own, object, .. }) if own == *number => {
                    generations.push((*number, object));
                }
                _ => bad.push((path, CHANGED)),
            }
        }
        let current = self.place().join("current");
        if !self.has_whole_current() {
            bad.push((current, "it cannot be parsed"));
        } else if let Ok(Some(named)) = self.current_object()
            && !generations.contains(&named)
            && generations.len() == numbers.len()
        {
            bad.push((current, "it names a generation that does not exist"));
        }
        let state = self.place().join("state");
        if fs::exists(&last)? && whole_json::<Record>(&last).is_none() {
            bad.push((last, CHANGED));
        } else if fs::exists(&state)? && !fs::exists(&last)? {
            bad.push((state, "it belongs to no `last.json`"));
        } else if fs::exists(&state)? && !is_line::<Digest>(&state) {
            bad.push((state, CHANGED));
        }
        let missing = self.place().join("missing");
        if fs::exists(&missing)? && !is_line::<u64>(&missing) {
            bad.push((missing, CHANGED));
        }
        if !self.has_whole_downloads() {
            bad.push((self.place().join("downloads"), CHANGED));
        }
        Ok(bad)
    }

    /// Makes the newest readable generation current if none is, and forgets a state that no record belongs to.
    fn heal(&self, session: &Session) -> Result<()> {
        let named = self.current_object().ok().flatten();
        let readable = |number: &u64| whole_json::<Generation>(&self.generation_path(*number));
        if named.is_none_or(|(number, _)| readable(&number).is_none()) {
            match self.numbers()?.iter().rev().find_map(readable) {
                Some(newest) => self.set_current(session, newest.number, newest.object)?,
                None => drop(fs::optional(fs::remove_file(&self.place().join("current")))?),
            }
        }
        if !fs::exists(&self.place().join("last.json"))? {
            fs::optional(fs::remove_file(&self.place().join("state")))?;
        }
        Ok(())
    }
}
