//! Verification of the store's own records: keys, realisations, roots. Objects are verified by `verify`.
//!
//! | damaged | what `repair` does | what is lost |
//! |---|---|---|
//! | a key | removes it; the next build of its cluster writes it again | nothing |
//! | a realisation | removes it; its derivation is built again | its trace |
//! | `generations/N.json` | removes it | that generation |
//! | `current` | the newest readable generation becomes current | a rollback |
//! | `last.json` | removes it; the next build writes it | what `why` compares with |
//! | `directory` | removes it; the next build writes it. gc keeps what the root names until then | nothing |

use std::path::{Path, PathBuf};

use super::verify::{Finding, FindingKind};
use super::{Generation, Record, Result, Roots, Session, Store};
use crate::base::digest::KeyId;
use crate::base::fs;

impl Store {
    /// Records that cannot be read, or say something else than their name.
    pub(super) fn bad_records(&self) -> Result<Vec<Finding>> {
        let mut findings = Vec::new();
        let mut found = |path: PathBuf, kind, detail: &str| {
            findings.push(Finding { path, kind, detail: detail.to_owned(), object: None });
        };
        for name in fs::list(&self.part("keys"))? {
            let path = self.part("keys").join(&name);
            let id = name.to_str().and_then(|name| name.parse::<KeyId>().ok());
            match id.map(|id| self.key(id)) {
                Some(Ok(Some(_))) if fs::others_may(&path).unwrap_or(true) => {
                    found(path, FindingKind::Altered, "others can read this key");
                }
                Some(Ok(Some(_))) => {}
                _ => found(path, FindingKind::Record, "it is not the key that its name says"),
            }
        }
        for drv in self.realised()? {
            let whole = matches!(self.realisation(drv), Ok(Some(_))) && self.traces(drv).is_ok();
            // One that was removed meanwhile is not damaged.
            if !whole && fs::exists(&self.realisation_path(drv))? {
                found(self.realisation_path(drv), FindingKind::Record, "it cannot be parsed");
            }
        }
        for roots in self.all_roots()? {
            for (path, detail) in roots.damage()? {
                found(path, FindingKind::Record, detail);
            }
        }
        Ok(findings)
    }

    /// Removes or rewrites damaged records; returns what is lost. The caller holds the gc lock exclusively.
    pub(super) fn repair_records(&self, session: &Session, findings: &[Finding]) -> Result<Vec<String>> {
        let mut lost = Vec::new();
        let all_roots = self.all_roots()?;
        for Finding { path, kind, .. } in findings {
            if path.starts_with(self.part("keys")) && *kind == FindingKind::Altered {
                fs::set_mode(path, 0o600)?;
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

/// The number of a generation's file.
fn number(path: &Path) -> Option<u64> {
    path.file_name()?.to_str()?.strip_suffix(".json")?.parse().ok()
}

impl Roots {
    /// Files of this root that cannot be used.
    fn damage(&self) -> Result<Vec<(PathBuf, &'static str)>> {
        let mut bad = Vec::new();
        // One that was only begun keeps nothing yet.
        let keeps = !self.numbers()?.is_empty() || fs::exists(&self.place().join("last.json"))?;
        if keeps && !self.is_known() {
            bad.push((self.place().join("directory"), "it does not name the cluster directory"));
        }
        let mut generations = Vec::new();
        for number in self.numbers()? {
            match self.generation(number) {
                Ok(Generation { number: own, object, .. }) if own == number => {
                    generations.push((number, object))
                }
                _ => bad.push((self.generation_path(number), "it cannot be parsed")),
            }
        }
        let current = self.place().join("current");
        match self.current_object() {
            Ok(Some(named))
                if !generations.contains(&named) && generations.len() == self.numbers()?.len() =>
            {
                bad.push((current, "it names a generation that does not exist"));
            }
            Ok(Some(_)) => {}
            _ if fs::exists(&current)? => bad.push((current, "it cannot be parsed")),
            _ => {}
        }
        let record: Result<Record> = self.record();
        if record.is_err() {
            bad.push((self.place().join("last.json"), "it cannot be parsed"));
        }
        Ok(bad)
    }

    /// Makes the newest readable generation current if none is, and forgets a state that no record belongs to.
    fn heal(&self, session: &Session) -> Result<()> {
        let named = self.current_object().ok().flatten();
        let readable = |number: &u64| self.generation(*number).ok();
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
