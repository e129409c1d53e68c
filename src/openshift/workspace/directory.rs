//! The files of a cluster directory.

use std::path::{Path, PathBuf};

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
}

pub(crate) const INSTALL_CONFIG: &str = "install-config.yaml";
pub(crate) const CLUSTER: &str = "cluster.yaml";
pub(crate) const LOCK: &str = "cluster.lock";
pub(crate) const SEED: &str = "cluster.seed";
pub(crate) const SEALED: &str = "cluster.seed.age";
/// The link to the current generation.
pub(crate) const RESULT: &str = "result";

impl ClusterDir {
    /// Opens a directory, which must have both configuration files.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let path = fs::canonical(path)?;
        for missing in [INSTALL_CONFIG, CLUSTER] {
            if !fs::exists(&path.join(missing))? {
                return Err(WorkspaceError::NotACluster { path, missing });
            }
        }
        Ok(Self { path })
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
        let root = self.path.join("recipes");
        if is_folder(&root, "recipes", &mut problems)? {
            let mut left = fs::WHOLE;
            collect(&root, "", &mut left, &mut sources, &mut problems)?;
        }
        let user = super::user_files::add(self, &mut sources, &mut problems)?;
        Ok(problems.or((sources, user))?)
    }
}

/// Whether there is such a folder of the cluster directory. A link is none: where it leads, files were not written to be read by
/// everybody who can read the store.
pub(super) fn is_folder(path: &Path, shown: &str, problems: &mut Problems) -> Result<bool> {
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
pub(super) const PRIVATE: (&str, &str) = (
    "it is a link to a file that not everybody may read, and what is built from it is public",
    "if it is meant to be public, copy it, or give others permission to read it",
);

/// Adds every text file below `dir`, while bytes are `left`. Ignores hidden files and editors' leftovers.
fn collect(
    dir: &Path,
    prefix: &str,
    left: &mut u64,
    sources: &mut Sources,
    problems: &mut Problems,
) -> Result<()> {
    for (name, is_dir) in fs::list_kinds(dir)? {
        let full = dir.join(&name);
        let shown = format!("recipes/{prefix}{}", name.to_string_lossy().escape_debug());
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
            collect(&full, &format!("{path}/"), left, sources, problems)?;
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
