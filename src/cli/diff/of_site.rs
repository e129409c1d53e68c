//! The comparison of one site of a fleet: as it was built, beside what the fleet's files say now, another release, or another
//! component. What is the same for all sites is found once.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use rayon::ThreadPool;

use super::sides::{self, EVERYTHING, Request};
use crate::cli::Result;
use crate::compare::diff::Diff;
use crate::openshift::config::Cluster;
use crate::openshift::lock::LockedRelease;
use crate::openshift::workspace::{self, Env, Missing, Replacement, Workspace};

/// What is compared of every site.
pub(in crate::cli) struct SiteComparison {
    request: Request,
    /// Releases by reference and architecture, as the first site of each saw them.
    releases: Mutex<BTreeMap<String, LockedRelease>>,
}

impl SiteComparison {
    pub(in crate::cli) fn new(
        releases: Vec<String>,
        components: Vec<Replacement>,
        only: Vec<String>,
        (jobs, pool): (usize, Option<ThreadPool>),
    ) -> Self {
        let pool = pool.map(Arc::new);
        let request = Request { sides: Vec::new(), releases, components, only, jobs, pool };
        Self { request, releases: Mutex::default() }
    }

    /// Whether it is about the configuration as it is: a site that is as it was built has no difference then.
    pub(in crate::cli) fn is_of_configuration(&self) -> bool {
        self.request.releases.is_empty() && self.request.components.is_empty()
    }

    /// The titles of both sides.
    pub(in crate::cli) fn titles(&self) -> (String, String) {
        let own = "as configured".to_owned();
        match (self.request.releases.as_slice(), self.request.components.as_slice()) {
            ([old, new, ..], _) => (old.clone(), new.clone()),
            ([new], _) => (own, new.clone()),
            ([], []) => ("as built".to_owned(), own),
            ([], some) => {
                let names: Vec<String> = some.iter().map(ToString::to_string).collect();
                (own, format!("preview of {}", names.join(", ")))
            }
        }
    }

    /// The comparison of a site; none if it was never built, and there is nothing to compare with.
    pub(in crate::cli) fn of(&self, env: Env<'_>) -> Result<Option<Diff>> {
        let request = &self.request;
        if !request.components.is_empty() {
            return sides::preview(env, request).map(Some);
        }
        let (old, new, workspace) = match request.releases.as_slice() {
            [] => {
                let Some(old) = current(env)? else { return Ok(None) };
                let workspace = Workspace::load(env, Missing::Make)?;
                let targets = [EVERYTHING.to_owned()];
                let new =
                    sides::build(env, &workspace, &targets, EVERYTHING.into(), request.workers(), true)?;
                (old, new, workspace)
            }
            [new] => {
                let workspace = Workspace::load(env, Missing::Make)?;
                let old = sides::of_locked(env, &workspace, request)?;
                let (new, workspace) = self.on_release(env, new, &workspace.cluster)?;
                (old, new, workspace)
            }
            [old, new, ..] => {
                // Both sides must have the same epoch and seed, so these must exist first.
                let workspace = Workspace::load(env, Missing::Make)?;
                let (old, _) = self.on_release(env, old, &workspace.cluster)?;
                let (new, workspace) = self.on_release(env, new, &workspace.cluster)?;
                (old, new, workspace)
            }
        };
        // Most sites of a fleet are equal, which their ids say.
        if old.parts == new.parts {
            return Ok(Some(Diff::none(old.title, new.title)));
        }
        sides::compare(request, &old, &new, Some(&workspace), &|_| false).map(Some)
    }

    fn on_release(
        &self,
        env: Env<'_>,
        reference: &str,
        cluster: &Cluster,
    ) -> Result<(crate::compare::diff::Side, Workspace)> {
        let key = format!("{reference} {}", cluster.architecture.as_str());
        let known = || self.releases.lock().unwrap_or_else(PoisonError::into_inner);
        let found = known().get(&key).cloned();
        let release = match found {
            Some(release) => release,
            None => {
                let release = workspace::release_named(env, Some(reference))?;
                known().insert(key, release.clone());
                release
            }
        };
        let workspace = Workspace::load_release(env, &release)?;
        let side = sides::on_release(env, &workspace, reference, &release, &self.request)?;
        Ok((side, workspace))
    }
}

/// The last build of a site.
fn current(env: Env<'_>) -> Result<Option<crate::compare::diff::Side>> {
    let directory = env.cluster_dir()?;
    let Some(store) = workspace::open_store_if_there(env.store, directory.path())? else { return Ok(None) };
    let roots = store.roots_of(directory.home());
    let Some(number) = roots.current()? else { return Ok(None) };
    Ok(Some(sides::of_generation(&store, roots.generation(number)?)))
}
