//! Farms that build: from cluster.yaml and from the user's own configuration.

use std::path::Path;

use super::caches::user_config;
use super::{CLUSTER, Env, Network, Result};
use crate::base::fs;
use crate::base::hint::{Place, Problem, Problems};
use crate::base::secret::Secret;
use crate::engine::registry::Access;
use crate::engine::remote::{Executor, FarmSettings, FarmTrust, Farms};
use crate::openshift::config::{Cluster, GivenBuilder};

/// The farms of a cluster, none of them asked yet; and those whose outputs count, whatever may be asked over the network.
///
/// One that both files name is used as the user's own says. A farm is known by its address and by who vouches for it there: only the
/// system's authorities and its own `ca`, never those that a cluster brings for its nodes.
pub(super) fn farms(env: Env<'_>, directory: &Path, cluster: &Cluster) -> Result<Farms> {
    let (home, user) = user_config(env)?;
    let own = user.builders.iter().map(|given| (home.as_path(), given));
    let all = own.chain(cluster.builders.iter().map(|given| (directory, given)));
    let (mut settings, mut trust) = (Vec::<FarmSettings>::new(), Vec::new());
    for (base, given) in all {
        if given.secrets && !given.url.is_private() {
            return Err(not_private(given).into());
        }
        let one = read(env, base, given)?;
        trust.push(one.trust.clone());
        if settings.iter().all(|known| known.url != one.url) {
            settings.push(one);
        }
    }
    if env.network != Network::All {
        settings.clear();
    }
    Ok(Farms::new(settings, trust, env.executable.map(Path::to_owned)))
}

fn not_private(given: &GivenBuilder) -> Problems {
    let place = Place { file: CLUSTER.into(), line: None, field: "builders.secrets".into() };
    let message = format!("secrets would go to {} in clear text", given.url);
    let hint = "use `grpcs://`, or leave `secrets` out: what is secret is built here then";
    Problems(vec![Problem::new(place, message).hint(Some(hint.to_owned()))])
}

fn read(env: Env<'_>, base: &Path, given: &GivenBuilder) -> Result<FarmSettings> {
    let GivenBuilder { url, scope, secrets, jobs, platform, auth_file, ca } = given;
    let ca = ca.as_ref().map(|file| fs::read_text(&base.join(file))).transpose()?;
    let credentials =
        auth_file.as_ref().map(|file| fs::read(&base.join(file)).map(Secret::new)).transpose()?;
    let executor = Executor::new(url, ca.as_deref());
    let trust = FarmTrust { executor, scope: scope.clone(), secrets: *secrets };
    let access = Access { pull_secret: credentials, ca, cancel: env.cancel.clone(), ..Access::default() };
    Ok(FarmSettings { url: url.clone(), access, trust, platform: platform.clone(), jobs: *jobs })
}
