//! Tells cargo about the folders that are embedded: `include_dir!` itself does not notice a new file. Builds for release
//! know their commit, read from `.git` without git; others do not, because every commit would compile the crate again.

#![allow(clippy::disallowed_methods, reason = "a build script reads files and cargo's variables")]

use std::fs;
use std::path::{Path, PathBuf};

fn main() {
    if std::env::var("PROFILE").is_ok_and(|profile| profile == "release")
        && let Some(commit) = commit(Path::new(".git"))
    {
        let version = std::env::var("CARGO_PKG_VERSION").unwrap_or_default();
        println!("cargo::rustc-env=TINDERBOX_COMMIT={version} ({commit})");
    }
    for folder in ["recipes", "src/openshift/demo/files"] {
        println!("cargo::rerun-if-changed={folder}");
    }
}

/// The commit that is checked out, shortened. None in a package or a tarball.
fn commit(git: &Path) -> Option<String> {
    let git = match fs::read_to_string(git) {
        // A worktree: `gitdir: PATH`.
        Ok(text) => PathBuf::from(text.strip_prefix("gitdir:")?.trim()),
        Err(_) => git.to_owned(),
    };
    let common = fs::read_to_string(git.join("commondir")).map_or(git.clone(), |dir| git.join(dir.trim()));
    let head = read(&git.join("HEAD"))?;
    let commit = match head.strip_prefix("ref:").map(str::trim) {
        None => head,
        Some(name) => read(&common.join(name)).or_else(|| {
            let packed = read(&common.join("packed-refs"))?;
            packed.lines().find_map(|line| line.strip_suffix(name).map(str::to_owned))
        })?,
    };
    let commit = commit.trim();
    let is_commit = commit.len() >= 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_commit.then(|| commit[..12].to_owned())
}

/// A file whose change means another commit.
fn read(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    println!("cargo::rerun-if-changed={}", path.display());
    Some(text)
}
