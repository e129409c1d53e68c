//! Caches of outputs, and the key that signs for them: from cluster.yaml and from the user's own configuration,
//! `tinderbox/config.yaml` in the user's configuration directory.

use std::path::{Path, PathBuf};

use zeroize::Zeroizing;

use super::seed::sealed;
use super::{Env, Result, WorkspaceError};
use crate::base::fs;
use crate::base::secret::Secret;
use crate::engine::cache::{CacheSettings, OciCache, SigningKey, Trusted};
use crate::engine::registry::Access;
use crate::openshift::config::{self, Cluster, GivenCache, Source, UserConfig};

/// The user's own configuration.
pub(crate) const USER_CONFIG: &str = "config.yaml";

/// Where `key generate` puts the key.
pub(crate) const SIGNING_KEY: &str = "signing.key";

/// What may be asked over the network.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Network {
    #[default]
    All,
    /// Registries of images, but no cache and no farm.
    NoCaches,
    Nothing,
}

/// The user's configuration directory of tinderbox, and the configuration in it.
pub(super) fn user_config(env: Env<'_>) -> Result<(PathBuf, UserConfig)> {
    let Some(directory) = env.config else { return Ok(Default::default()) };
    let path = directory.join(USER_CONFIG);
    let Some(text) = fs::optional(fs::read_text(&path))? else {
        return Ok((directory.to_owned(), UserConfig::default()));
    };
    let name = path.display().to_string();
    Ok((directory.to_owned(), config::read_user_config(Source { name: &name, text: &text })?))
}

/// All caches of a cluster: those of its own file first. One that both name is asked once, and trusts what either trusts.
///
/// Credentials of the user's own configuration are for registries that the system's authorities or that configuration vouch
/// for: a cluster directory of somebody else brings authorities of its own.
pub(crate) fn settings(env: Env<'_>, directory: &Path, cluster: &Cluster) -> Result<Vec<CacheSettings>> {
    merged(env, directory, cluster, &user_config(env)?)
}

fn merged(
    env: Env<'_>,
    directory: &Path,
    cluster: &Cluster,
    (home, user): &(PathBuf, UserConfig),
) -> Result<Vec<CacheSettings>> {
    let given = cluster.caches.iter().map(|given| (directory, given, false));
    let given =
        given.chain(user.caches.iter().map(|given| (home.as_path(), given, given.auth_file.is_some())));
    let mut all: Vec<CacheSettings> = Vec::new();
    for (base, given, has_own_credentials) in given {
        let access = |mut known: Access| {
            if has_own_credentials {
                known.ca = None;
            }
            access(known, base, given)
        };
        match all.iter_mut().find(|known| known.url == given.url) {
            Some(known) => {
                known.trust.extend(given.trust.iter().cloned());
                known.recipients = known.recipients.and(&given.recipients);
                known.access = access(known.access.clone())?;
            }
            None => {
                let access = access(super::access(env, cluster))?;
                let (url, trust) = (given.url.clone(), given.trust.clone());
                let recipients = given.recipients.clone();
                all.push(CacheSettings { url, trust, access, recipients, identities: None });
            }
        }
    }
    // Where nothing is encrypted, nobody needs the identity.
    if all.iter().any(CacheSettings::takes_secrets)
        && let Some(identities) = sealed::Identities::named(env)?.map(sealed::Identities::shared)
    {
        for settings in all.iter_mut().filter(|settings| settings.takes_secrets()) {
            settings.identities = Some(identities.clone());
        }
    }
    Ok(all)
}

/// The access with the files of a cache.
fn access(mut access: Access, base: &Path, given: &GivenCache) -> Result<Access> {
    if let Some(file) = &given.auth_file {
        access.pull_secret = Some(Secret::new(fs::read(&base.join(file))?));
    }
    if let Some(file) = &given.ca {
        let own = fs::read_text(&base.join(file))?;
        access.ca = Some(access.ca.map_or_else(|| own.clone(), |known| format!("{known}\n{own}")));
    }
    Ok(access)
}

/// The caches that a build may take outputs from, none of them opened yet; and whose signatures count, whatever may be asked over
/// the network.
pub(super) fn substituters(
    env: Env<'_>,
    directory: &Path,
    cluster: &Cluster,
) -> Result<(Vec<OciCache>, Vec<Trusted>)> {
    let own = user_config(env)?;
    let all = cluster.caches.iter().chain(&own.1.caches);
    let trust = all.flat_map(|cache| cache.trust.iter().cloned()).collect();
    if env.network != Network::All {
        return Ok((Vec::new(), trust));
    }
    let settings = merged(env, directory, cluster, &own)?;
    let caches = settings.into_iter().filter(|cache| !cache.trust.is_empty()).map(OciCache::new);
    Ok((caches.collect(), trust))
}

/// The file of the user's signing key: what `named` says, or the configuration, or its usual place.
pub(crate) fn signing_key_path(env: Env<'_>, named: Option<&Path>) -> Result<PathBuf> {
    if let Some(named) = named {
        return Ok(named.to_owned());
    }
    let (home, user) = user_config(env)?;
    match (user.signing_key, env.config) {
        (Some(file), _) => Ok(home.join(file)),
        (None, Some(directory)) => Ok(directory.join(SIGNING_KEY)),
        (None, None) => Err(WorkspaceError::NoHome),
    }
}

/// Reads a signing key, plain or encrypted.
pub(crate) fn signing_key(env: Env<'_>, path: &Path) -> Result<SigningKey> {
    let wrong = |problem, advice: &str| WorkspaceError::SigningKey {
        path: path.to_owned(),
        problem,
        advice: advice.to_owned(),
    };
    let found = fs::optional(fs::metadata(path))?
        .ok_or_else(|| wrong("does not exist", "`tinderbox key generate` makes it"))?;
    if !found.is_file() || found.len() > 1 << 20 {
        return Err(wrong("is not a key file", "`tinderbox key generate` makes one"));
    }
    let bytes = Zeroizing::new(fs::read(path)?);
    let bytes = if sealed::is_age(&bytes) {
        let identities = sealed::Identities::named(env)?.ok_or_else(|| {
            let advice = "name the file with your age identity: `--identity FILE` or TINDERBOX_AGE_IDENTITY";
            wrong("is encrypted, and no identity is given", advice)
        })?;
        identities.open_bytes(path, &bytes, 1 << 16).map_err(|error| match error {
            WorkspaceError::Seed { problem, .. } => wrong(problem, "restore it, or make a new one"),
            error => error,
        })?
    } else {
        if fs::others_may(path)? {
            let advice = format!("if nobody else has read it: `chmod 600 {}`", path.display());
            return Err(wrong("can be read by others", &advice));
        }
        bytes
    };
    let text = std::str::from_utf8(&bytes).unwrap_or_default();
    SigningKey::from_pem(text).map_err(|_| {
        wrong("does not hold an ed25519 key", "it is PKCS#8 in PEM; `tinderbox key generate` makes one")
    })
}
