//! Secrets of a fleet's directory that git tracks: said once for all sites.

use super::{FLEET, Fleet, Layer, SEED};
use crate::base::fs;
use crate::base::secret::Secret;
use crate::base::yaml::YamlNode;
use crate::openshift::config;
use crate::openshift::workspace::{Env, warn_of_tracked};

/// Warns about every file with a secret that git tracks.
pub(crate) fn warn(env: Env<'_>, fleet: &Fleet) {
    let untrack = |file: &str| {
        format!("run `git rm --cached {file}`, and replace it if others have seen the repository")
    };
    let mut files = Vec::new();
    if fs::exists(&fleet.path.join(SEED)).unwrap_or(false) {
        let what = "the identity and all keys of every site".to_owned();
        files.push((SEED.to_owned(), what, untrack(SEED)));
    }
    for layer in [&fleet.common].into_iter().chain(fleet.groups.values()) {
        if let Some(file) = text(layer, 1, "pullSecretFile").filter(|file| !file.contains("$(")) {
            files.push((file.to_owned(), "the pull secret".to_owned(), untrack(file)));
        }
        let inline = text(layer, 0, "pullSecret").map(|secret| Secret::from(secret.to_owned()));
        if inline.is_some_and(|secret| !config::is_placeholder(&secret)) {
            let instead =
                "move it to a file that git ignores, and name that with `pullSecretFile` below `cluster`";
            files.push((FLEET.to_owned(), "the pull secret".to_owned(), instead.to_owned()));
        }
    }
    warn_of_tracked(env, &fleet.path, files);
}

fn text<'a>(layer: &'a Layer, part: usize, key: &str) -> Option<&'a str> {
    layer.parts[part].as_ref()?.get(key).and_then(YamlNode::text)
}
