//! Roots: what gc keeps. For every cluster directory: its generations, the current one, and the last build of each
//! derivation (so that `why` can compare).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Result, Session, Store, StoreError, seal};
use crate::base::digest::{Digest, DrvId, ObjectId};
use crate::base::fs;

/// The derivation and object of a name in a build.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema, Deserialize)]
pub struct Named {
    pub drv: DrvId,
    pub object: ObjectId,
    /// Its previous identity, if it had another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<DrvId>,
}

/// The last build of every derivation of a cluster directory.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    pub names: BTreeMap<String, Named>,
}

impl Record {
    /// Adopts the names of a newer build. With `whole`, removes names that the newer build lacks.
    pub fn update(&mut self, newer: BTreeMap<String, (DrvId, ObjectId)>, whole: bool) {
        let mut older = std::mem::take(&mut self.names);
        for (name, (drv, object)) in newer {
            let before =
                older.remove(&name).and_then(|old| if old.drv == drv { old.before } else { Some(old.drv) });
            self.names.insert(name, Named { drv, object, before });
        }
        if !whole {
            self.names.append(&mut older);
        }
    }
}

/// A retained build of `cluster`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Generation {
    /// Counts from 1.
    pub number: u64,
    /// Time of creation, RFC 3339.
    pub time: String,
    /// The `cluster` object.
    pub object: ObjectId,
    pub names: BTreeMap<String, Named>,
}

/// The roots of one cluster directory.
#[derive(Debug, Clone)]
pub struct Roots {
    dir: PathBuf,
    /// The cluster directory, absolute.
    pub directory: PathBuf,
}

impl Store {
    /// The roots of a cluster directory (absolute path). Writes nothing.
    pub fn roots_of(&self, directory: &Path) -> Roots {
        let name = directory.file_name().map_or("cluster".into(), |name| name.to_string_lossy());
        let plain: String =
            name.chars().map(|c| if c.is_alphanumeric() || "._-".contains(c) { c } else { '_' }).collect();
        let place = Digest::of(directory.as_os_str().as_encoded_bytes()).to_string();
        Roots {
            dir: self.part("roots").join(format!("{plain}-{}", &place[..8])),
            directory: directory.to_owned(),
        }
    }

    /// The roots of every cluster directory that ever built into this store.
    pub fn all_roots(&self) -> Result<Vec<Roots>> {
        let mut all = Vec::new();
        for name in fs::list(&self.part("roots"))? {
            let dir = self.part("roots").join(name);
            // Without a readable name, what it keeps is kept all the same.
            let directory = fs::read_text(&dir.join("directory")).unwrap_or_default();
            all.push(Roots { dir, directory: PathBuf::from(directory.trim_end_matches('\n')) });
        }
        Ok(all)
    }
}

impl Roots {
    /// Where its files are.
    pub(super) fn place(&self) -> &Path {
        &self.dir
    }

    /// Whether the name of the cluster directory is readable.
    pub(super) fn is_known(&self) -> bool {
        self.directory.is_absolute()
    }

    /// Whether `directory` names the cluster directory that this place belongs to.
    pub(super) fn is_at_home(&self, store: &Store) -> bool {
        // A name that is not text was written as well as text can.
        let lossy = self.directory.to_str().is_none_or(|name| name.contains(char::REPLACEMENT_CHARACTER));
        self.is_known()
            && (lossy || store.roots_of(&self.directory).dir == self.dir)
            && self.is_named().is_ok_and(|named| named)
    }

    /// Since when the cluster directory is away, in seconds since the epoch, if gc has noticed.
    pub(super) fn missing_since(&self) -> Option<u64> {
        fs::read_text(&self.dir.join("missing")).ok()?.lines().next()?.parse().ok()
    }

    /// Notes that the cluster directory is away, or that it is back.
    pub(super) fn note_missing(&self, session: &Session, since: Option<u64>) -> Result<()> {
        let path = self.dir.join("missing");
        match since {
            Some(since) => session.put(&path, seal::seal_text(&format!("{since}\n")).as_bytes()),
            None => Ok(fs::optional(fs::remove_file(&path)).map(Option::unwrap_or_default)?),
        }
    }

    /// Number of the current generation.
    pub fn current(&self) -> Result<Option<u64>> {
        Ok(self.current_object()?.map(|(number, _)| number))
    }

    /// Number and object of the current generation, without reading it completely. Where no `current` is, the newest is.
    pub fn current_object(&self) -> Result<Option<(u64, ObjectId)>> {
        let Some(text) = fs::optional(fs::read_text(&self.dir.join("current")))? else {
            let newest = self.numbers()?.last().map(|number| self.generation(*number)).transpose()?;
            return Ok(newest.map(|newest| (newest.number, newest.object)));
        };
        let parse = |text: String| {
            let (number, object) = text.trim().split_once(' ')?;
            Some((number.parse().ok()?, object.parse().ok()?))
        };
        Ok(parse(text))
    }

    /// Whether `current` is exactly as it was written, or does not exist.
    pub(super) fn has_whole_current(&self) -> bool {
        match fs::optional(fs::read_text(&self.dir.join("current"))) {
            Ok(None) => true,
            Ok(Some(text)) => self.current_object().is_ok_and(|named| {
                named.is_some_and(|(number, object)| text == format!("{number} {object}\n"))
            }),
            Err(_) => false,
        }
    }

    /// Numbers of retained generations, oldest first.
    pub fn numbers(&self) -> Result<Vec<u64>> {
        let names = fs::optional(fs::list(&self.dir.join("generations")))?.unwrap_or_default();
        let mut numbers: Vec<u64> =
            names.iter().filter_map(|name| name.to_str()?.strip_suffix(".json")?.parse().ok()).collect();
        numbers.sort_unstable();
        Ok(numbers)
    }

    pub fn generation(&self, number: u64) -> Result<Generation> {
        match read_json(&self.generation_path(number))? {
            Some(generation) => Ok(generation),
            None => Err(StoreError::NoSuchGeneration { number, known: self.numbers()? }),
        }
    }

    /// All generations, oldest first.
    pub fn generations(&self) -> Result<Vec<Generation>> {
        self.numbers()?.into_iter().map(|number| self.generation(number)).collect()
    }

    /// The last build of each derivation.
    pub fn record(&self) -> Result<Record> {
        Ok(read_json(&self.dir.join("last.json"))?.unwrap_or_default())
    }

    /// Whether the record was written for exactly this state; `state` is a digest chosen by the writer.
    pub fn is_recorded(&self, state: Digest) -> Result<bool> {
        if !self.is_named()? {
            return Ok(false); // damaged: it is written again
        }
        // Unreadable is damaged too.
        let text = fs::read_text(&self.dir.join("state"));
        Ok(text.is_ok_and(|text| text.lines().next() == Some(&state.to_string())))
    }

    pub fn set_record(&self, session: &Session, record: &Record, state: Digest) -> Result<()> {
        self.prepare(session)?;
        session.put(&self.dir.join("last.json"), &to_json(record, &self.dir)?)?;
        session.put(&self.dir.join("state"), seal::seal_text(&format!("{state}\n")).as_bytes())
    }

    /// Makes the generation with this `cluster` object current: an existing one, or a new one.
    pub fn advance(
        &self,
        session: &Session,
        object: ObjectId,
        time: &str,
        names: &BTreeMap<String, Named>,
    ) -> Result<u64> {
        self.prepare(session)?;
        let kept = self.generations()?;
        let number = match kept.iter().rev().find(|generation| generation.object == object) {
            Some(generation) => generation.number,
            None => {
                let number = kept.last().map_or(1, |last| last.number + 1);
                let generation = Generation { number, time: time.to_owned(), object, names: names.clone() };
                session.put(&self.generation_path(number), &to_json(&generation, &self.dir)?)?;
                number
            }
        };
        self.set_current(session, number, object)?;
        Ok(number)
    }

    /// Makes an existing generation current.
    pub fn set_current(&self, session: &Session, number: u64, object: ObjectId) -> Result<()> {
        session.put(&self.dir.join("current"), format!("{number} {object}\n").as_bytes())
    }

    /// Every object that these roots keep, except through the generations `without`.
    pub(super) fn objects(&self, without: &[u64]) -> Result<Vec<ObjectId>> {
        let mut objects: Vec<ObjectId> = self.record()?.names.values().map(|named| named.object).collect();
        for number in self.numbers()?.into_iter().filter(|number| !without.contains(number)) {
            let generation = self.generation(number)?;
            objects.push(generation.object);
            objects.extend(generation.names.values().map(|named| named.object));
        }
        Ok(objects)
    }

    /// Whether these roots keep an object.
    pub fn keeps(&self, object: ObjectId) -> Result<bool> {
        Ok(self.objects(&[])?.contains(&object))
    }

    pub(super) fn forget(&self, number: u64) -> Result<()> {
        Ok(fs::remove_file(&self.generation_path(number))?)
    }

    pub(super) fn forget_all(&self) -> Result<()> {
        Ok(fs::remove_all(&self.dir)?)
    }

    pub(super) fn generation_path(&self, number: u64) -> PathBuf {
        self.dir.join("generations").join(format!("{number}.json"))
    }

    /// Whether `directory` names the cluster directory.
    fn is_named(&self) -> Result<bool> {
        let text = fs::optional(fs::read(&self.dir.join("directory")))?.unwrap_or_default();
        Ok(text == format!("{}\n", self.directory.display()).as_bytes())
    }

    pub(super) fn prepare(&self, session: &Session) -> Result<()> {
        if !self.is_named()? {
            fs::create_dirs(&self.dir.join("generations"))?;
            let text = format!("{}\n", self.directory.display());
            session.put(&self.dir.join("directory"), text.as_bytes())?;
        }
        Ok(())
    }
}

fn read_json<T: serde::de::DeserializeOwned>(path: &Path) -> Result<Option<T>> {
    let Some(text) = fs::optional(fs::read_text(path))? else { return Ok(None) };
    serde_json::from_str(&text)
        .map(Some)
        .map_err(|source| StoreError::Unreadable { path: path.to_owned(), source })
}

fn to_json(value: &impl Serialize, path: &Path) -> Result<Vec<u8>> {
    let unwritable = |source| StoreError::Unreadable { path: path.to_owned(), source };
    Ok(seal::seal_json(&serde_json::to_string(value).map_err(unwritable)?).into_bytes())
}

/// What a JSON record says, if it is exactly as it was written.
pub(super) fn whole_json<T: serde::de::DeserializeOwned + Serialize>(path: &Path) -> Option<T> {
    let text = fs::read_text(path).ok()?;
    if let Some(plain) = seal::unseal_json(&text) {
        return serde_json::from_str(&plain).ok();
    }
    // Of an earlier tinderbox, without a checksum.
    let value: T = serde_json::from_str(&text).ok()?;
    (serde_json::to_string(&value).ok()? == text).then_some(value)
}
