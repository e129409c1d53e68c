//! The files of a cluster directory.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Result, WorkspaceError};
use crate::base::fs;
use crate::base::hint::{Place, Problem, Problems};
use crate::engine::fields::Field;
use crate::engine::recipe::Sources;
use crate::openshift::knowledge::Knowledge;

/// A cluster directory, absolute.
#[derive(Debug, Clone)]
pub(crate) struct ClusterDir {
    path: PathBuf,
    memory: Option<Arc<InMemory>>,
}

/// What of a cluster directory is not on the disk: a site of a fleet. Files that its configuration names are relative to the
/// path of the directory all the same.
#[derive(Default)]
pub(crate) struct InMemory {
    /// The link to the current generation. Its path names the directory's gc roots, too.
    pub result: PathBuf,
    /// The texts of the configuration files and the lock, by name.
    pub files: BTreeMap<&'static str, String>,
    /// Where the files of `recipes`, `manifests` and `patches` are, relative to the path: what a later folder has replaces what
    /// an earlier one has.
    pub folders: BTreeMap<&'static str, Vec<String>>,
    /// Manifests that are in no folder, by file name.
    pub manifests: BTreeMap<String, String>,
}

/// install-config may have the pull secret in it.
impl std::fmt::Debug for InMemory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("InMemory").field("result", &self.result).finish_non_exhaustive()
    }
}

pub(crate) const INSTALL_CONFIG: &str = "install-config.yaml";
pub(crate) const CLUSTER: &str = "cluster.yaml";
pub(crate) const LOCK: &str = "cluster.lock";
pub(crate) const SEED: &str = "cluster.seed";
pub(crate) const SEALED: &str = "cluster.seed.age";
/// The file of many clusters.
const FLEET: &str = "fleet.yaml";
/// The link to the current generation.
pub(crate) const RESULT: &str = "result";

impl ClusterDir {
    /// Opens a directory, which must have both configuration files.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        if !fs::exists(path)? {
            return Err(WorkspaceError::NoDirectory { path: path.to_owned() });
        }
        let path = fs::canonical(path)?;
        for missing in [INSTALL_CONFIG, CLUSTER] {
            if !fs::exists(&path.join(missing))? {
                if fs::exists(&path.join(FLEET))? {
                    return Err(WorkspaceError::IsAFleet { path });
                }
                return Err(WorkspaceError::NotACluster { path, missing });
            }
        }
        Ok(Self { path, memory: None })
    }

    /// A directory whose own files are in memory. `path` is absolute.
    pub(crate) fn in_memory(path: PathBuf, memory: InMemory) -> Self {
        Self { path, memory: Some(Arc::new(memory)) }
    }

    /// The text of a configuration file or the lock.
    pub(crate) fn read(&self, name: &str) -> fs::Result<String> {
        match self.memory.as_ref().and_then(|memory| memory.files.get(name)) {
            Some(text) => Ok(text.clone()),
            None => fs::read_text(&self.file(name)),
        }
    }

    /// The link to the current generation.
    pub(crate) fn result(&self) -> PathBuf {
        self.memory.as_ref().map_or_else(|| self.file(RESULT), |memory| memory.result.clone())
    }

    /// What names the gc roots of this directory in a store.
    pub(crate) fn home(&self) -> &Path {
        self.memory.as_ref().map_or(&self.path, |memory| &memory.result)
    }

    /// The folders with files of one kind: as shown to the user, and the path.
    pub(crate) fn folders(&self, kind: &str) -> Vec<(String, PathBuf)> {
        match &self.memory {
            None => vec![(kind.to_owned(), self.file(kind))],
            Some(memory) => {
                let folders = memory.folders.get(kind).into_iter().flatten();
                folders.map(|folder| (folder.clone(), self.path.join(folder))).collect()
            }
        }
    }

    /// The files of one kind, as they would be in a folder of their own: path below it, content and mode.
    pub(crate) fn files_of(&self, kind: &str) -> Result<Vec<(String, Vec<u8>, u32)>> {
        let mut found: BTreeMap<String, (Vec<u8>, u32)> = BTreeMap::new();
        for (_, root) in self.folders(kind) {
            if fs::exists(&root)? {
                below(&root, "", &mut found)?;
            }
        }
        let further = self.further_manifests().filter(|_| kind == "manifests");
        found.extend(further.map(|(name, text)| (name.clone(), (text.clone().into_bytes(), 0o644))));
        Ok(found.into_iter().map(|(name, (bytes, mode))| (name, bytes, mode)).collect())
    }

    /// Manifests that are in no folder: file names and texts.
    pub(super) fn further_manifests(&self) -> impl Iterator<Item = (&String, &String)> {
        self.memory.iter().flat_map(|memory| &memory.manifests)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// The knowledge tables: the built-in ones, some overridden by the user's own.
    pub(crate) fn knowledge(&self) -> Result<Knowledge> {
        Ok(Knowledge::read(&self.recipes()?.0)?)
    }

    /// The user's recipes on top of the built-in ones, with recipes for the user's manifests and patches; and the field
    /// `user`, which contains the secret files among them.
    pub(super) fn recipes(&self) -> Result<(Sources, Field)> {
        let mut sources = Sources::built_in();
        let mut problems = Problems::default();
        let mut left = fs::WHOLE;
        for (shown, root) in self.folders("recipes") {
            if is_folder(&root, &shown, &mut problems)? {
                collect(&root, (&shown, ""), &mut left, &mut sources, &mut problems)?;
            }
        }
        let user = super::user_files::add(self, &mut sources, &mut problems)?;
        Ok(problems.or((sources, user))?)
    }
}

/// Every file below a folder, but for hidden ones.
fn below(dir: &Path, prefix: &str, found: &mut BTreeMap<String, (Vec<u8>, u32)>) -> Result<()> {
    for (name, is_dir) in fs::list_kinds(dir)? {
        let Some(name) = name.to_str().filter(|name| !name.starts_with('.')) else { continue };
        let (path, full) = (format!("{prefix}{name}"), dir.join(name));
        if is_dir {
            below(&full, &format!("{path}/"), found)?;
        } else {
            let mode = if fs::others_may(&full)? { 0o644 } else { 0o600 };
            found.insert(path, (fs::read_up_to(&full, fs::WHOLE)?, mode));
        }
    }
    Ok(())
}

/// Whether there is such a folder of the cluster directory. A link is none: where it leads, files were not written to be read by
/// everybody who can read the store.
pub(crate) fn is_folder(path: &Path, shown: &str, problems: &mut Problems) -> Result<bool> {
    let Some(found) = fs::optional(fs::metadata(path))? else { return Ok(false) };
    if found.is_dir() {
        return Ok(true);
    }
    let (message, hint) = match found.is_symlink() {
        true => (
            "it is a link, and folders of a cluster directory are not followed elsewhere",
            "copy the folder here, or link the files in it one by one",
        ),
        false => ("it is not a folder", "rename it, or move it away"),
    };
    problems.push(Problem::new(Place::file(shown), message).hint(Some(hint.to_owned())));
    Ok(false)
}

/// Why a link to a private file is not read.
pub(crate) const PRIVATE: (&str, &str) = (
    "it is a link to a file that not everybody may read, and what is built from it is public",
    "if it is meant to be public, copy it, or give others permission to read it",
);

/// Adds every text file below `dir`, while bytes are `left`. Ignores hidden files and editors' leftovers.
fn collect(
    dir: &Path,
    (folder, prefix): (&str, &str),
    left: &mut u64,
    sources: &mut Sources,
    problems: &mut Problems,
) -> Result<()> {
    for (name, is_dir) in fs::list_kinds(dir)? {
        let full = dir.join(&name);
        let shown = format!("{folder}/{prefix}{}", name.to_string_lossy().escape_debug());
        let Some(name) = name.to_str().filter(|name| !name.chars().any(char::is_control)) else {
            problems.push(Problem::new(
                Place::file(shown),
                "the file's name has control characters or is not UTF-8",
            ));
            continue;
        };
        if name.starts_with('.') || name.ends_with('~') {
            continue;
        }
        let path = format!("{prefix}{name}");
        if fs::is_link_to_private(&full)? {
            let (message, hint) = PRIVATE;
            problems.push(Problem::new(Place::file(shown), message).hint(Some(hint.to_owned())));
            continue;
        }
        if is_dir {
            collect(&full, (folder, &format!("{path}/")), left, sources, problems)?;
            continue;
        }
        match String::from_utf8(fs::read_up_to(&full, *left)?) {
            Ok(text) => {
                *left -= text.len() as u64;
                sources.add(path, shown, text);
            }
            Err(_) => problems.push(Problem::new(Place::file(shown), "the file is not UTF-8 text")),
        }
    }
    Ok(())
}
