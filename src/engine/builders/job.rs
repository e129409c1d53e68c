//! A job: everything that a builder may see.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};

use super::{BuildError, Files};
use crate::base::fs;
use crate::base::hint::{Hint, did_you_mean};
use crate::base::secret::{Secret, Seed};
use crate::base::value::Value;
use crate::engine::registry::{Deferred, Opened};
use crate::engine::sandbox::Sandbox;
use crate::engine::tree::{EntryKind, Listing, TreeEntry};

/// One derivation to build, with its inputs at hand.
pub struct Job<'a> {
    /// Input aliases as the recipe declares them.
    pub aliases: &'a BTreeSet<String>,
    /// Inputs by alias. While a job is only checked, they have no content.
    pub inputs: BTreeMap<String, InputTree>,
    /// Parameters of the recipe, with `config` and `files` among them.
    pub params: &'a BTreeMap<String, Value>,
    /// Secret config values by alias.
    pub secrets: &'a BTreeMap<String, Secret>,
    /// Images, if the builder has the grant.
    pub images: Option<&'a Deferred>,
    /// Files that the lock pins, if the builder has the grant.
    pub files: Option<&'a Files>,
    /// The cluster's seed, if the builder has the grant.
    pub seed: Option<&'a Seed>,
    /// Where programs are run, if the builder has the grant.
    pub programs: Option<Programs<'a>>,
    /// What the builder has to say beside its output.
    pub notes: Notes,
}

/// Where programs are run, and whether the user wants to stop.
#[derive(Debug, Clone, Copy)]
pub struct Programs<'a> {
    pub sandbox: &'a Sandbox,
    /// Set when everything is to end.
    pub cancel: &'a AtomicBool,
}

/// What a builder has to say about how it went. It is kept with the trace, and is no part of the output.
#[derive(Debug, Default)]
pub struct Notes(Mutex<Option<Note>>);

/// About programs that were run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// How they were kept apart.
    pub isolation: &'static str,
    /// What they printed, secrets masked.
    pub log: String,
}

impl Notes {
    /// Says it; a later word takes the place of an earlier one.
    pub fn say(&self, note: Note) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(note);
    }

    pub fn take(&self) -> Option<Note> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl std::fmt::Debug for Job<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Job")
            .field("inputs", &self.inputs)
            .field("params", &self.params)
            .finish_non_exhaustive()
    }
}

/// The content of one input: a directory, or a single file.
#[derive(Debug, Clone, Default)]
pub struct InputTree {
    /// The object that it is in.
    pub root: PathBuf,
    /// What the object holds; none while a job is only checked.
    pub listing: Option<std::sync::Arc<Listing>>,
    /// The part of the object that was asked for; empty for the whole.
    pub path: String,
    /// Which derivation it is, for messages; names are no identity, so no output may have it.
    pub derivation: String,
}

/// A job that cannot be done as its recipe asks.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
    /// A parameter that the builder does not know.
    #[error("unknown parameter `{name}`")]
    Unknown {
        name: String,
        /// Those that it knows.
        known: Vec<&'static str>,
    },
    /// Something that is given and not used.
    #[error("`{name}` is given by the recipe and used by nothing in {used_in}")]
    Unused {
        /// Which alias or parameter.
        name: String,
        /// Where it could have been used.
        used_in: String,
    },
    /// A parameter that is missing or not of the right kind.
    #[error("parameter `{name}` must be {expected}")]
    Expected {
        name: String,
        /// What it must be.
        expected: &'static str,
    },
    /// An entry of a list of tables that is not what the builder takes.
    #[error("parameter `{name}`: {problem}")]
    Entry {
        /// Which, by its place in the list and what it is about.
        name: String,
        /// What is wrong with it.
        problem: String,
    },
    /// Two inputs that want to write one path.
    #[error("`{path}` comes from both `{one}` and `{other}`")]
    Collision {
        /// The path in the output.
        path: String,
        one: String,
        other: String,
    },
    /// An input that is a file where a directory is needed, or not text, or not JSON.
    #[error("input `{alias}` {problem}")]
    Input {
        alias: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A builder that asks for images without the grant, or a build that has no source of them.
    #[error("there is no source of images here")]
    NoImages,
    /// A builder that asks for programs to be run without the grant.
    #[error("no program can be run here")]
    NoPrograms,
    /// A builder that asks for pinned files without the grant, or a build that has none.
    #[error("there are no pinned files here")]
    NoFiles,
    /// A builder that asks for the seed without the grant.
    #[error("there is no seed here")]
    NoSeed,
    /// An input that cannot be read.
    #[error(transparent)]
    Fs(#[from] fs::Error),
}

impl Hint for JobError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Unknown { name, known } => did_you_mean(name, known.iter().copied()).or_else(|| {
                Some(format!(
                    "known: {}",
                    known.iter().map(|k| format!("`{k}`")).collect::<Vec<_>>().join(", ")
                ))
            }),
            Self::Unused { .. } => {
                Some("remove it: what is named is rebuilt for, so nothing is named without a use".into())
            }
            Self::Collision { .. } => Some(
                "rename one of them; what a built-in recipe makes is changed with a patch in `patches/`"
                    .into(),
            ),
            Self::Fs(error) => error.hint(),
            _ => None,
        }
    }
}

impl InputTree {
    /// The entry of the input itself.
    pub fn entry(&self) -> Option<&TreeEntry> {
        self.listing.as_ref()?.get(&self.path)
    }

    /// Where the input itself is on the disk.
    pub fn place(&self) -> PathBuf {
        if self.path.is_empty() { self.root.clone() } else { self.root.join(&self.path) }
    }

    /// Files and links of this input: path relative to it (empty for a file), place on disk, entry.
    pub fn leaves(&self) -> impl Iterator<Item = (&str, PathBuf, &TreeEntry)> {
        self.listing.iter().flat_map(|listing| listing.leaves(&self.path)).map(|(path, entry)| {
            let relative = path.strip_prefix(&self.path).unwrap_or(path).trim_start_matches('/');
            (relative, self.root.join(path), entry)
        })
    }

    /// The text of one file, by its path relative to this input (empty for a single file).
    pub fn text(&self, alias: &str, path: &str) -> Result<String, JobError> {
        let inside = match (self.path.as_str(), path) {
            ("", path) => path.to_owned(),
            (at, "") => at.to_owned(),
            (at, path) => format!("{at}/{path}"),
        };
        read_text(&self.root.join(inside), alias, path)
    }

    /// The texts of all files, by relative path (empty for a single file).
    pub fn texts(&self, alias: &str) -> Result<BTreeMap<String, String>, JobError> {
        let mut texts = BTreeMap::new();
        for (path, full, entry) in self.leaves() {
            if matches!(entry.kind, EntryKind::File { .. }) {
                texts.insert(path.to_owned(), read_text(&full, alias, path)?);
            }
        }
        Ok(texts)
    }
}

fn read_text(full: &Path, alias: &str, path: &str) -> Result<String, JobError> {
    String::from_utf8(fs::read(full)?)
        .map_err(|_| JobError::Input { alias: alias.to_owned(), problem: format!("is not text: `{path}`") })
}

impl Job<'_> {
    /// The source of images, for builders that have the grant.
    pub fn images(&self) -> Result<&Opened, BuildError> {
        Ok(self.images.ok_or(JobError::NoImages)?.get()?)
    }

    /// Where programs are run, for builders that have the grant.
    pub fn programs(&self) -> Result<Programs<'_>, JobError> {
        self.programs.ok_or(JobError::NoPrograms)
    }

    /// Pinned files, for builders that have the grant.
    pub fn files(&self) -> Result<&Files, JobError> {
        self.files.ok_or(JobError::NoFiles)
    }

    /// The seed, for builders that have the grant.
    pub fn seed(&self) -> Result<&Seed, JobError> {
        self.seed.ok_or(JobError::NoSeed)
    }

    /// The input of an alias that is no group.
    pub fn input(&self, alias: &str) -> Result<&InputTree, JobError> {
        self.inputs
            .get(alias)
            .ok_or_else(|| JobError::Expected { name: format!("inputs.{alias}"), expected: "given" })
    }

    /// Refuses inputs outside `wanted`, and missing ones.
    pub fn exactly(&self, wanted: &[&str]) -> Result<(), JobError> {
        if let Some(name) = self.aliases().into_iter().find(|alias| !wanted.contains(alias)) {
            return Err(JobError::Unused { name: name.to_owned(), used_in: "this builder".into() });
        }
        wanted.iter().try_for_each(|alias| self.input(alias).map(drop))
    }

    /// Refuses parameters outside `known` (`config` and `files` are always allowed where `known` has them).
    pub fn only(&self, known: &[&'static str]) -> Result<(), JobError> {
        match self.params.keys().find(|name| !known.contains(&name.as_str())) {
            Some(name) => Err(JobError::Unknown { name: name.clone(), known: known.to_vec() }),
            None => Ok(()),
        }
    }

    /// A parameter that is a map from text to text; empty if it is not given.
    pub fn text_map(&self, name: &str) -> Result<BTreeMap<&str, &str>, JobError> {
        let wrong = || JobError::Expected { name: name.to_owned(), expected: "a table of texts" };
        match self.params.get(name) {
            None => Ok(BTreeMap::new()),
            Some(Value::Map(map)) => map
                .iter()
                .map(|(key, value)| Ok((key.as_str(), value.as_text().ok_or_else(wrong)?)))
                .collect(),
            Some(_) => Err(wrong()),
        }
    }

    /// A parameter that is a list of texts; empty if it is not given.
    pub fn text_list(&self, name: &str) -> Result<Vec<&str>, JobError> {
        let wrong = || JobError::Expected { name: name.to_owned(), expected: "a list of texts" };
        match self.params.get(name) {
            None => Ok(Vec::new()),
            Some(Value::List(list)) => list.iter().map(|value| value.as_text().ok_or_else(wrong)).collect(),
            Some(_) => Err(wrong()),
        }
    }

    /// The config values by alias.
    pub fn config(&self) -> BTreeMap<&str, &Value> {
        match self.params.get("config") {
            Some(Value::Map(map)) => map.iter().map(|(alias, value)| (alias.as_str(), value)).collect(),
            _ => BTreeMap::new(),
        }
    }

    /// Input aliases as the recipe declares them: a group counts once, whatever is in it.
    pub fn aliases(&self) -> BTreeSet<&str> {
        self.aliases.iter().map(String::as_str).collect()
    }

    /// The inputs of one alias: itself, or the members of the group, each with its own name.
    pub fn members<'s>(&'s self, alias: &str) -> impl Iterator<Item = (&'s str, &'s InputTree)> {
        self.inputs.iter().filter_map(move |(name, tree)| match name.split_once('/') {
            Some((group, member)) => (group == alias).then_some((member, tree)),
            None => (name == alias).then_some((name.as_str(), tree)),
        })
    }
}
