//! Secrets of a cluster directory that others may get: files that git tracks. Says nothing where it cannot know.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::{Env, INSTALL_CONFIG, Result, SEED, Workspace, seed};
use crate::base::event::Event;
use crate::base::{fs, git_index};
use crate::openshift::config;

/// Indexes above this size are not read: such a repository is none of cluster directories.
const LIMIT: u64 = 256 << 20;

/// Warns about every file with a secret that git tracks.
pub(super) fn warn(env: Env<'_>, workspace: &Workspace) -> Result<()> {
    warn_of_tracked(env, workspace.directory.path(), secret_files(env, workspace)?);
    Ok(())
}

/// Warns about those of the files of a directory that git tracks: each with what is in it, and what to do instead.
pub(crate) fn warn_of_tracked(env: Env<'_>, directory: &Path, files: Vec<(String, String, String)>) {
    let mut repositories: BTreeMap<PathBuf, Vec<String>> = BTreeMap::new();
    for (file, what, instead) in files {
        let path = directory.join(&file);
        let Some((repository, inside)) = repository_of(&path) else { continue };
        let tracked = repositories.entry(repository).or_insert_with_key(|repository| tracked(repository));
        if tracked.binary_search(&inside).is_ok() {
            let text = format!("git tracks `{file}`, which holds {what}: {instead}");
            env.events.emit(Event::Warning { text });
        }
    }
}

/// Files that hold a secret, what it is, and what to do about it.
fn secret_files(env: Env<'_>, workspace: &Workspace) -> Result<Vec<(String, String, String)>> {
    let cluster = &workspace.cluster;
    let untrack = |file: &str, then: &str| format!("run `git rm --cached {file}`{then}");
    let known = ", and replace it if others have seen the repository";
    let mut files = Vec::new();
    if env.seed.is_none() && seed::form(workspace.directory.path())? == Some(seed::Form::Plain) {
        let what = "the cluster's identity and all of its keys".to_owned();
        let then = "; `tinderbox seed encrypt` makes one that can be committed";
        files.push((SEED.to_owned(), what, untrack(SEED, then)));
    }
    match &cluster.pull_secret_file {
        _ if config::is_placeholder(&cluster.pull_secret) => {}
        Some(file) => files.push((file.clone(), "the pull secret".to_owned(), untrack(file, known))),
        None => {
            let instead =
                "move it to a file that git ignores, and name that with `pullSecretFile` in cluster.yaml";
            files.push((INSTALL_CONFIG.to_owned(), "the pull secret".to_owned(), instead.to_owned()));
        }
    }
    for (name, authority) in &cluster.authorities {
        let what = format!("the key of your authority `{name}`");
        files.push((authority.key.clone(), what, untrack(&authority.key, known)));
    }
    let leaves = workspace.fields.leaves();
    for (_, origins) in leaves.filter(|(path, _)| path.starts_with("user.manifests.")) {
        for place in origins.iter() {
            files.push((place.file.clone(), "a Secret".to_owned(), untrack(&place.file, known)));
        }
    }
    Ok(files)
}

/// The git directory of the repository around a file, and the file's path in that repository.
fn repository_of(file: &Path) -> Option<(PathBuf, String)> {
    let parent = fs::canonical(file.parent()?).ok()?;
    for root in parent.ancestors() {
        let git = root.join(".git");
        let Some(found) = fs::followed(&git) else { continue };
        let inside = parent.strip_prefix(root).ok()?.join(file.file_name()?);
        let git = match found.is_dir() {
            true => git,
            // A worktree or a submodule: `gitdir: PATH`.
            false => root.join(fs::read_text(&git).ok()?.strip_prefix("gitdir:")?.trim()),
        };
        return Some((git, inside.to_str()?.to_owned()));
    }
    None
}

/// The files that the index of a git directory lists, sorted; none if it cannot be read.
fn tracked(git: &Path) -> Vec<String> {
    let index = git.join("index");
    if fs::followed(&index).is_none_or(|found| found.len() > LIMIT) {
        return Vec::new();
    }
    // A worktree shares its configuration with the repository that it belongs to.
    let common =
        fs::read_text(&git.join("commondir")).map_or_else(|_| git.to_owned(), |dir| git.join(dir.trim()));
    let config = fs::read_text(&common.join("config")).unwrap_or_default().to_lowercase();
    let mut settings = config.lines().filter_map(|line| line.split_once('='));
    let sha256 = settings.any(|(name, value)| name.trim() == "objectformat" && value.trim() == "sha256");
    let hash = if sha256 { 32 } else { 20 };
    let mut files =
        fs::read(&index).ok().and_then(|bytes| git_index::paths(&bytes, hash)).unwrap_or_default();
    files.sort_unstable();
    files
}
