//! The pull secret: in install-config, or in a file of its own that cluster.yaml names.

use super::files::Files;
use super::spec::Kind;
use super::syntax;
use crate::base::hint::Problems;
use crate::base::secret::Secret;

/// The field of install-config.
const INLINE: &str = "pullSecret";

/// The field of cluster.yaml that names the file.
pub(super) const FILE: &str = "pullSecretFile";

/// The one in the files that `init` writes: no secret.
pub(crate) const PLACEHOLDER: &str = r#"{"auths":{"example.invalid":{"auth":"ZGVtbzpkZW1v"}}}"#;

/// Reads a file that cluster.yaml names, or says why not.
pub(crate) type ReadFile<'a> = &'a dyn Fn(&str) -> Result<String, String>;

/// Whether this is the placeholder of the files that `init` writes.
pub(crate) fn is_placeholder(secret: &Secret) -> bool {
    secret.reveal().trim_ascii() == PLACEHOLDER.as_bytes()
}

/// Reads the pull secret from its file. Exactly one of the two places must have it.
pub(super) fn resolve(files: &mut Files, read: ReadFile<'_>, problems: &mut Problems) {
    let Files { install, cluster } = files;
    let Some(file) = cluster.text(FILE) else {
        if !install.wrote(INLINE) && !cluster.wrote(FILE) {
            let hint = format!(
                "for example: {}; or name a file that has it, with `{FILE}` in cluster.yaml",
                syntax::PULL_SECRET.example
            );
            problems.push(install.problem(INLINE, "required, but missing").hint(hint));
        }
        return;
    };
    if install.wrote(INLINE) {
        let message = format!("install-config.yaml has a `{INLINE}` too");
        problems.push(cluster.problem(FILE, message).hint("remove one of the two".to_owned()));
        return;
    }
    let kind = Kind::Text(&syntax::PULL_SECRET);
    match read(file) {
        // An editor ends a file with a line break, which is no part of the secret.
        Ok(text) if kind.parse(text.trim(), false).is_some() => {
            install.secrets.insert(INLINE.to_owned(), Secret::from(text.trim().to_owned()));
        }
        Ok(_) => {
            let message = format!("`{file}` is not {}", kind.expectation());
            let hint = format!("its content is, for example: {}", syntax::PULL_SECRET.example);
            problems.push(cluster.problem(FILE, message).hint(hint));
        }
        Err(why) => {
            let hint = match file.starts_with('~') {
                true => "`~` is not expanded: write the whole path",
                false => "a path is relative to the cluster directory",
            };
            let message = format!("`{file}` cannot be read: {why}");
            problems.push(cluster.problem(FILE, message).hint(hint.to_owned()));
        }
    }
}
