//! A job: everything that a builder can see.

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

/// One derivation to build, with its inputs.
pub struct Job<'a> {
    /// Input aliases as the recipe declares them.
    pub aliases: &'a BTreeSet<String>,
    /// Inputs by alias; without content while a job is only checked.
    pub inputs: BTreeMap<String, InputTree>,
    /// Parameters of the recipe, including `config` and `files`.
    pub params: &'a BTreeMap<String, Value>,
    /// Secret config values by alias.
    pub secrets: &'a BTreeMap<String, Secret>,
    /// Images, if the builder has the grant.
    pub images: Option<&'a Deferred>,
    /// Files that the lock pins, if the builder has the grant.
    pub files: Option<&'a Files>,
    /// The cluster's seed, if the builder has the grant.
    pub seed: Option<&'a Seed>,
    /// The sandbox, if the builder has the grant.
    pub programs: Option<SandboxRunner<'a>>,
    /// What the builder reports besides its output.
    pub notes: Notes,
}

/// The sandbox, and the user's request to cancel.
#[derive(Debug, Clone, Copy)]
pub struct SandboxRunner<'a> {
    pub sandbox: &'a Sandbox,
    /// Set to stop everything.
    pub cancel: &'a AtomicBool,
}

/// What a builder reports about its run; not part of the output.
#[derive(Debug, Default)]
pub struct Notes(Mutex<Said>);

#[derive(Debug, Default)]
pub struct Said {
    /// Stored with the trace.
    pub programs: Option<Note>,
    /// For the user; the build goes on.
    pub warnings: Vec<String>,
}

/// About programs that ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// How they were isolated.
    pub isolation: &'static str,
    /// Their output, secrets masked.
    pub log: String,
}

impl Notes {
    /// Records a note, replacing an earlier one.
    pub fn say(&self, note: Note) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).programs = Some(note);
    }

    /// Adds a warning, shown once the output exists.
    pub fn warn(&self, text: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).warnings.push(text);
    }

    pub fn take(&self) -> Said {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
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
    /// The object that contains it.
    pub root: PathBuf,
    /// The object's listing; none while a job is only checked.
    pub listing: Option<std::sync::Arc<Listing>>,
    /// The requested part of the object; empty for the whole.
    pub path: String,
    /// The derivation, for messages. Names are not part of the identity, so no output may contain it.
    pub derivation: String,
}

/// A job that cannot be done as its recipe asks.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
    #[error("unknown parameter `{name}`")]
    Unknown { name: String, known: Vec<&'static str> },
    /// A declared name that nothing uses.
    #[error("the recipe sets `{name}`, but nothing in {used_in} uses it")]
    Unused {
        /// The alias or parameter.
        name: String,
        /// Where it could have been used.
        used_in: String,
    },
    #[error("parameter `{name}` must be {expected}")]
    Expected { name: String, expected: &'static str },
    /// An invalid entry in a list of tables.
    #[error("parameter `{name}`: {problem}")]
    Entry {
        /// Its position in the list, and its subject.
        name: String,
        problem: String,
    },
    /// Two inputs that write the same path.
    #[error("`{path}` comes from both `{one}` and `{other}`")]
    Collision {
        /// In the output.
        path: String,
        one: String,
        other: String,
    },
    /// A file where a directory is needed, or not text, or not JSON.
    #[error("input `{alias}` {problem}")]
    Input { alias: String, problem: String },
    /// The builder lacks the grant, or the build has no image source.
    #[error("no image source is available")]
    NoImages,
    /// The builder lacks the grant.
    #[error("programs cannot be run here")]
    NoPrograms,
    /// The builder lacks the grant, or the build has no pinned files.
    #[error("no pinned files are available")]
    NoFiles,
    /// The builder lacks the grant.
    #[error("no seed is available")]
    NoSeed,
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
            Self::Unused { .. } => Some("remove it: declared names cause rebuilds when they change".into()),
            Self::Collision { .. } => Some(
                "rename one of them; to change the output of a built-in recipe, add a patch to `patches/`"
                    .into(),
            ),
            Self::Fs(error) => error.hint(),
            _ => None,
        }
    }
}

impl InputTree {
    /// The listing entry of the input itself.
    pub fn entry(&self) -> Option<&TreeEntry> {
        self.listing.as_ref()?.get(&self.path)
    }

    /// The path of the input on disk.
    pub fn place(&self) -> PathBuf {
        if self.path.is_empty() { self.root.clone() } else { self.root.join(&self.path) }
    }

    /// A part of this input.
    pub fn below(&self, path: &str) -> Self {
        let path = if self.path.is_empty() { path.to_owned() } else { format!("{}/{path}", self.path) };
        Self { path, ..self.clone() }
    }

    /// Files and links of this input: path relative to it (empty for a file), path on disk, entry.
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
    /// The same job with another tree for one input, and notes of its own.
    pub fn with_input(&self, alias: &str, tree: InputTree) -> Job<'_> {
        let mut inputs = self.inputs.clone();
        inputs.insert(alias.to_owned(), tree);
        Job { inputs, notes: Notes::default(), ..*self }
    }

    /// The image source, for builders with the grant.
    pub fn images(&self) -> Result<&Opened, BuildError> {
        Ok(self.images.ok_or(JobError::NoImages)?.get()?)
    }

    /// The sandbox, for builders with the grant.
    pub fn programs(&self) -> Result<SandboxRunner<'_>, JobError> {
        self.programs.ok_or(JobError::NoPrograms)
    }

    /// Pinned files, for builders with the grant.
    pub fn files(&self) -> Result<&Files, JobError> {
        self.files.ok_or(JobError::NoFiles)
    }

    /// The seed, for builders with the grant.
    pub fn seed(&self) -> Result<&Seed, JobError> {
        self.seed.ok_or(JobError::NoSeed)
    }

    /// The input of an alias that is not a group.
    pub fn input(&self, alias: &str) -> Result<&InputTree, JobError> {
        self.inputs
            .get(alias)
            .ok_or_else(|| JobError::Expected { name: format!("inputs.{alias}"), expected: "given" })
    }

    /// Rejects missing inputs and inputs outside `wanted`.
    pub fn exactly(&self, wanted: &[&str]) -> Result<(), JobError> {
        if let Some(name) = self.aliases().into_iter().find(|alias| !wanted.contains(alias)) {
            return Err(JobError::Unused { name: name.to_owned(), used_in: "this builder".into() });
        }
        wanted.iter().try_for_each(|alias| self.input(alias).map(drop))
    }

    /// Rejects parameters outside `known` (`config` and `files` are allowed where `known` lists them).
    pub fn only(&self, known: &[&'static str]) -> Result<(), JobError> {
        match self.params.keys().find(|name| !known.contains(&name.as_str())) {
            Some(name) => Err(JobError::Unknown { name: name.clone(), known: known.to_vec() }),
            None => Ok(()),
        }
    }

    /// A parameter that maps text to text; empty if it is not set.
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

    /// A parameter that is a list of texts; empty if it is not set.
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

    /// Input aliases as the recipe declares them: a group counts once.
    pub fn aliases(&self) -> BTreeSet<&str> {
        self.aliases.iter().map(String::as_str).collect()
    }

    /// The inputs of one alias: itself, or the members of a group, each with its own name.
    pub fn members<'s>(&'s self, alias: &str) -> impl Iterator<Item = (&'s str, &'s InputTree)> {
        self.inputs.iter().filter_map(move |(name, tree)| match name.split_once('/') {
            Some((group, member)) => (group == alias).then_some((member, tree)),
            None => (name == alias).then_some((name.as_str(), tree)),
        })
    }
}
