//! `push`: signs what was built here, and shares it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use schemars::JsonSchema;
use serde::Serialize;

use super::document::{Document, Documented};
use super::output::{count, line, size};
use super::{Error, Printer, Result, complete};
use crate::base::event::Event;
use crate::engine::cache::{
    CacheSettings, CacheUrl, Publisher, Recipients, Shared, SigningKey, Unshared, unshared,
};
use crate::engine::exec;
use crate::engine::recipe::NodeIndex;
use crate::engine::store::{Session, Store};
use crate::openshift::workspace::{self, Env, Missing, Workspace};

/// Sign outputs that were built here, and push them to a cache
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tinderbox key generate                       once for every builder
  tinderbox push                               everything of `cluster` that is not secret
  tinderbox push mco --to oci://registry.example.com:5000/team/tinderbox
  tinderbox push --to grpcs://farm.example.com/instance

Secret outputs stay here, unless `recipients` of the cache names who can decrypt them. What came from a cache stays too: \
whoever built it signed it. What the cache has already is not sent again, but every blob is asked for, so a push repairs what \
was deleted there.")]
pub(super) struct Args {
    /// Derivations or folders of them, all built; default: cluster
    #[arg(add = complete::target())]
    targets: Vec<String>,
    /// The cache; default: all in cluster.yaml and in your own configuration
    #[arg(long, value_name = "URL", value_parser = parse_url)]
    to: Option<CacheUrl>,
    /// The signing key; default: `signing.key` in your configuration directory
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
}

pub(super) fn parse_url(text: &str) -> std::result::Result<CacheUrl, String> {
    text.parse().map_err(|()| {
        "write it as oci://registry.example.com:5000/team/tinderbox or grpcs://farm.example.com/instance"
            .to_owned()
    })
}

impl Documented for Args {
    const DOCUMENTS: &'static [Document] = &[Document::of::<Vec<PushReport>>()];
}

/// What a push to one cache did.
#[derive(Debug, Serialize, JsonSchema)]
struct PushReport {
    cache: String,
    /// The public key that signed.
    key: String,
    /// Outputs that are there now.
    entries: usize,
    /// Those of them that are secret, and encrypted.
    sealed: usize,
    /// Those that were not there, or not whole.
    new: usize,
    blobs: u64,
    bytes: u64,
    manifests: u64,
    /// How many outputs stay here, by reason: `secret`, `substituted`, `executed`, `untraced`, `diverged`.
    kept_back: BTreeMap<&'static str, usize>,
    /// Outputs that the cache has with other bytes, signed by the same key: they were left alone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    diverged: Vec<String>,
}

impl Args {
    pub(super) fn run(self, env: Env<'_>, printer: Printer<'_>) -> Result<ExitCode> {
        let key = workspace::signing_key(env, &workspace::signing_key_path(env, self.key.as_deref())?)?;
        let reports = push(env, &self.targets, self.to.as_ref(), &key)?;
        for report in &reports {
            if !report.diverged.is_empty() {
                let text = format!(
                    "cache {} has other bytes of {} from this key; they were left alone",
                    report.cache,
                    report.diverged.join(", ")
                );
                env.events.emit(Event::Warning { text });
            }
        }
        Ok(printer.answer(&reports, || reports.iter().for_each(show)))
    }
}

fn show(report: &PushReport) {
    let PushReport { cache, entries, sealed, new, blobs, bytes, kept_back, .. } = report;
    let encrypted = if *sealed > 0 { format!(", {sealed} of them encrypted") } else { String::new() };
    line(format!(
        "{cache}: {}{encrypted}, {new} new; {blobs} blobs sent ({})",
        count(*entries, "output"),
        size(*bytes)
    ));
    let kept: Vec<String> =
        kept_back.iter().map(|(why, number)| format!("{number} {}", meaning(why))).collect();
    if !kept.is_empty() {
        line(format!("not shared: {}", kept.join(", ")));
    }
}

fn meaning(why: &str) -> &str {
    match why {
        "substituted" => "from a cache",
        "executed" => "built by a farm",
        "diverged" => "with different bytes at different times",
        "untraced" => "of unknown origin",
        other => other,
    }
}

/// The caches to push to.
pub(super) fn destinations(
    env: Env<'_>,
    workspace: &Workspace,
    to: Option<&CacheUrl>,
) -> Result<Vec<CacheSettings>> {
    let mut all = workspace::cache_settings(env, workspace.directory.path(), &workspace.cluster)?;
    if let Some(url) = to {
        all.retain(|cache| cache.url == *url);
        if all.is_empty() {
            let access = workspace::access(env, &workspace.cluster);
            let (url, trust, recipients) = (url.clone(), Vec::new(), Recipients::default());
            all.push(CacheSettings { url, trust, access, recipients, identities: None });
        }
    }
    if all.is_empty() {
        return Err(Error::usage(
            "there is no cache to push to",
            "`--to oci://registry/repository`, or `caches: [{url: oci://…}]` in cluster.yaml",
        ));
    }
    Ok(all)
}

fn push(
    env: Env<'_>,
    targets: &[String],
    to: Option<&CacheUrl>,
    key: &SigningKey,
) -> Result<Vec<PushReport>> {
    let workspace = Workspace::load(env, Missing::Imagine)?;
    let settings = destinations(env, &workspace, to)?;
    let targets = workspace.select(targets)?;
    let store = workspace::open_store(env.store, workspace.directory.path())?;
    let session = Session::reading(&store, Some(workspace.id_key()));
    let context = workspace.context(env, &session);
    let plan = exec::plan(context, &targets)?;
    let nodes = workspace.graph.nodes();
    if let Some(missing) = plan.missing.iter().next() {
        return Err(Error::NotBuilt { target: nodes[*missing].name.clone() });
    }
    let closure = exec::closure_id(context, &targets)?;
    let mut reports = Vec::new();
    for settings in settings {
        let cache = settings.url.to_string();
        let (shared, kept_back) = sort_out(&workspace, &store, &plan.done, &settings.recipients)?;
        let publisher = Publisher::new(settings, key, &session, env.events)?;
        let pushed = publisher.push(closure, &shared, &exec::now())?;
        reports.push(PushReport {
            cache,
            key: key.public().to_string(),
            entries: pushed.entries,
            sealed: pushed.sealed,
            new: pushed.new,
            blobs: pushed.blobs,
            bytes: pushed.bytes,
            manifests: pushed.manifests,
            kept_back,
            diverged: pushed.diverged,
        });
    }
    Ok(reports)
}

/// What is shared, and how much is not.
fn sort_out(
    workspace: &Workspace,
    store: &Store,
    done: &BTreeMap<NodeIndex, exec::Done>,
    recipients: &Recipients,
) -> Result<(Vec<Shared>, BTreeMap<&'static str, usize>)> {
    let (mut shared, mut kept_back) = (Vec::new(), BTreeMap::new());
    for (at, done) in done {
        let node = &workspace.graph.nodes()[*at];
        let outputs = store.realisation(done.drv)?.map_or(0, |known| known.outputs.len());
        let trace = store.traces(done.drv)?.into_iter().next();
        let object = store.object(done.output.object)?;
        let secret = object.listing.root().secret;
        match (unshared(&object, trace.as_ref(), outputs, recipients), trace) {
            (None, Some(trace)) => {
                let (label, output) = (node.name.clone(), done.output.clone());
                shared.push(Shared { label, drv: done.drv, output, trace, secret });
            }
            (why, _) => {
                let why = match why {
                    Some(Unshared::Secret) => "secret",
                    Some(Unshared::Substituted) => "substituted",
                    Some(Unshared::Executed) => "executed",
                    Some(Unshared::Diverged) => "diverged",
                    Some(Unshared::Untraced) | None => "untraced",
                };
                *kept_back.entry(why).or_default() += 1;
            }
        }
    }
    Ok((shared, kept_back))
}
