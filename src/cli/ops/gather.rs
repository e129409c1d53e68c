//! `realize gather`: which secrets must not be in the archive, and what is known without asking the host.

use std::path::{Path, PathBuf};

use serde_json::json;
use time::format_description::well_known::Rfc3339;
use time::macros::format_description;

use super::realize::with_workspace;
use super::{Env, OpsError, Result, Workspace, scan, ssh, workspace};
use crate::base::fs;
use crate::base::hint::chain;
use crate::base::redact::Veil;
use crate::engine::exec;
use crate::engine::store::Session;
use crate::realize::{self, GatherRequest, Gathered, Realizer};

/// A file for the archive, or why there is none.
type Content = (String, std::result::Result<Vec<u8>, String>);

/// Gathers everything into an archive: where it is asked for, or beside `here` with a name of its own.
pub(crate) fn gather(env: Env<'_>, jobs: usize, asked: Option<&Path>, here: &Path) -> Result<Gathered> {
    if let Some(path) = asked.filter(|path| matches!(fs::exists(path), Ok(true))) {
        let advice = "name a file that is not there yet";
        return Err(OpsError::Exists { path: path.to_owned(), advice });
    }
    with_workspace(env, jobs, |realizer, workspace| {
        let now = workspace::this_second();
        let time = now.format(format_description!("[year][month][day]T[hour][minute][second]Z"));
        let name = format!("gather-{}", workspace.cluster.name);
        let named = || here.join(format!("{name}-{}.tar.gz", time.unwrap_or_default()));
        let to: PathBuf = asked.map_or_else(named, Path::to_owned);
        let when = now.format(&Rfc3339).unwrap_or_default();
        let request = GatherRequest {
            addresses: &ssh::addresses(workspace),
            veil: &veil(env, workspace)?,
            files: known(env, realizer, workspace, &when),
            name: &name,
            to: &to,
        };
        Ok(realize::gather(&realizer, request)?)
    })
}

/// Every secret that is known here: of this cluster's files, and of all closures in the store, because a node may run an
/// earlier one.
fn veil(env: Env<'_>, workspace: &Workspace) -> Result<Veil> {
    let store = workspace::open(env.store, env.directory)?;
    Ok(Veil::new(store.needles(&scan::known(env, &workspace.directory)?)?))
}

/// What is known without asking anybody.
fn known(env: Env<'_>, realizer: Realizer<'_>, workspace: &Workspace, when: &str) -> Vec<Content> {
    let about = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "closure": realizer.desired.closure,
        "cluster": realizer.desired.cluster,
        "uri": realizer.provider.uri(),
        "gathered": when,
    });
    let document = |value: &serde_json::Value| format!("{value:#}\n").into_bytes();
    let checks = fs::read(&realizer.desired.closure.join("checks.json")).map_err(|error| chain(&error));
    vec![
        ("tinderbox.json".to_owned(), Ok(document(&about))),
        (
            "artifacts.json".to_owned(),
            artifacts(env, workspace).map(|value| document(&value)).map_err(|error| chain(&error)),
        ),
        ("checks.json".to_owned(), checks),
    ]
}

/// Every derivation of the closure with its ids; no contents.
fn artifacts(env: Env<'_>, workspace: &Workspace) -> Result<serde_json::Value> {
    let store = workspace::open(env.store, env.directory)?;
    let session = Session::reading(&store, Some(workspace.id_key()));
    let plan = exec::plan(workspace.context(env, &session), &[workspace.find("cluster")?])?;
    let rows = plan.done.iter().map(|(at, done)| {
        let name = workspace.graph.nodes().get(*at).map(|node| &node.name);
        json!({"name": name, "drv": done.drv, "object": done.output.object})
    });
    Ok(rows.collect())
}
