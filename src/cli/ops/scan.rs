//! `store scan`: proves that secrets stay where they belong. Reads everything, changes nothing.

use std::path::PathBuf;

use super::directory::{CLUSTER, LOCK, RESULT, SEALED};
use super::workspace::{self, read_cluster};
use super::{ClusterDir, Env, OpsError, Result, seed};
use crate::base::fs;
use crate::base::secret::Secret;
use crate::engine::store::{Beside, KnownSecret, Scan};

/// Searches the store, the cluster directory's public files and `more` for all secrets that are known here: those in the
/// store, and the directory's seed and pull secret if it is a cluster's.
pub(crate) fn scan(env: Env<'_>, more: &[PathBuf]) -> Result<Scan> {
    let store = workspace::open(env.store, env.directory)?;
    for path in more {
        fs::metadata(path)?; // what was named must be there
    }
    let mut known = Vec::new();
    let mut beside = Beside { public: more.to_vec(), mixed: Vec::new() };
    match ClusterDir::open(env.directory) {
        Ok(directory) => {
            known = self::known(env, &directory)?;
            beside.public.extend([CLUSTER, LOCK, SEALED, ".gitignore"].map(|name| directory.file(name)));
            // It points into a store: this one, which is searched anyway, or another.
            let result = fs::optional(fs::canonical(&directory.file(RESULT)))?;
            beside.mixed.extend(result.filter(|result| !result.starts_with(store.root())));
        }
        Err(OpsError::NotACluster { .. }) => {}
        Err(error) => return Err(error),
    }
    store.scan(&known, &beside, env.cancel)?.ok_or(OpsError::Stopped)
}

/// The secrets of a cluster directory: its pull secret and its seed.
pub(super) fn known(env: Env<'_>, directory: &ClusterDir) -> Result<Vec<KnownSecret>> {
    let pull_secret = read_cluster(directory)?.pull_secret;
    let mut known = vec![KnownSecret {
        name: "pullSecret of install-config.yaml".into(),
        value: pull_secret,
        whole: false,
    }];
    if let Some(seed) = seed::read(env, directory.path())? {
        let value = Secret::new(seed.reveal().to_vec());
        known.push(KnownSecret { name: "the cluster's seed".into(), value, whole: true });
    }
    Ok(known)
}
