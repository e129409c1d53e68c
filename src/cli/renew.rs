//! `renew`: new dates from now on, with the same keys; or, with `--rekey`, a new key for single certificates.
//!
//! Both change the lock, so that they show up in a diff and can be undone with git. Builds nothing.

use std::collections::BTreeSet;
use std::process::ExitCode;

use schemars::JsonSchema;
use serde::Serialize;

use super::document::{Document, Documented};
use super::lock::{Moved, moved, show_moved};
use super::output::{count, line};
use super::{Error, Printer, Result};
use crate::base::fs;
use crate::base::hint::near;
use crate::engine::recipe::{Graph, NodeIndex};
use crate::openshift::lock::{Lock, Renewed};
use crate::openshift::workspace::{self, ClusterDir, Env, LOCK, Missing, Workspace, this_second};

/// Give certificates new dates, or single ones new keys; the next build issues them
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tinderbox renew                              all dates from now on; every key stays
  tinderbox renew etcd-server                  one certificate
  tinderbox renew --rekey admin                a new key, and what is made from it
  tinderbox renew --dry-run                    what would be built again")]
pub(super) struct Args {
    /// Certificates by name; default: all
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// New keys too, for the named ones
    #[arg(long)]
    rekey: bool,
    /// Only say what would be built again
    #[arg(long)]
    dry_run: bool,
}

impl Documented for Args {
    const DOCUMENTS: &'static [Document] = &[Document::of::<Renewal>()];
}

impl Args {
    pub(super) fn run(self, env: Env<'_>, printer: Printer<'_>) -> Result<ExitCode> {
        let done = renew(env, &self)?;
        Ok(printer.answer(&done, || show(&done, self.dry_run)))
    }
}

fn show(done: &Renewal, dry_run: bool) {
    show_moved(&done.moved);
    if done.would_build.is_empty() {
        line("nothing needs to be built");
        return;
    }
    line(format!("{} will be built:", count(done.would_build.len(), "derivation")));
    done.would_build.iter().for_each(|name| line(format!("  {name}")));
    line(format!("{} keys and certificates stay as they are", done.kept.len()));
    if !dry_run {
        line("`tinderbox build` builds them");
    }
}

#[derive(Debug, Serialize, JsonSchema)]
struct Renewal {
    /// Fields of the lock that changed, or would change.
    moved: Vec<Moved>,
    /// Derivations that the next build of `cluster` may rebuild.
    would_build: Vec<String>,
    /// Certificates and keys that stay.
    kept: Vec<String>,
}

fn renew(env: Env<'_>, request: &Args) -> Result<Renewal> {
    let directory = ClusterDir::open(env.directory)?;
    let path = directory.file(LOCK);
    let text = fs::optional(fs::read_text(&path))?;
    let before = text.map(|text| Lock::parse(LOCK, &text)).transpose()?;
    let before = before.ok_or_else(|| {
        Error::usage(
            format!("there is no {LOCK} yet, so there is nothing to renew"),
            "`tinderbox build` or `tinderbox lock` writes it",
        )
    })?;
    if request.rekey && request.names.is_empty() {
        return Err(Error::usage(
            "`--rekey` needs names: new keys everywhere would be another cluster",
            "for example `tinderbox renew --rekey admin`",
        ));
    }
    let known = Names::of(&Workspace::load(env, Missing::Imagine)?.graph);
    let mut after = before.clone();
    change(&mut after, request, &known)?;
    let workspace = Workspace::load_changed(env, |lock| lock.clone_from(&after))?;
    let (would_build, kept) = consequences(env, &workspace)?;
    if !request.dry_run && before != after {
        fs::replace(&path, after.encode().as_bytes(), 0o644)?;
    }
    Ok(Renewal { moved: moved(Some(&before), &after), would_build, kept })
}

fn change(lock: &mut Lock, request: &Args, known: &Names) -> Result<()> {
    let now = this_second();
    if request.names.is_empty() {
        lock.epoch = now;
        lock.certificates.values_mut().for_each(|one| one.epoch = None);
        lock.certificates.retain(|_, one| *one != Renewed::default());
    }
    for name in &request.names {
        let has_dates = known.dated.contains(name);
        if !has_dates && !known.keyed.contains(name) {
            let names = known.dated.union(&known.keyed).map(String::as_str);
            return Err(Error::Usage {
                message: format!("there is no certificate `{name}`"),
                advice: Some(match near(name, names) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => "`tinderbox expiry` lists all certificates".into(),
                }),
            });
        }
        if !has_dates && !request.rekey {
            return Err(Error::usage(
                format!("`{name}` is a key without a certificate: it has no dates"),
                format!("`tinderbox renew --rekey {name}` makes a new one"),
            ));
        }
        let renewed = lock.certificates.entry(name.clone()).or_default();
        if has_dates {
            renewed.epoch = Some(now);
        }
        if request.rekey {
            renewed.generation = Some(renewed.generation.unwrap_or(1).saturating_add(1));
        }
    }
    Ok(())
}

/// Names that recipes look up in the lock.
struct Names {
    dated: BTreeSet<String>,
    keyed: BTreeSet<String>,
}

impl Names {
    fn of(graph: &Graph) -> Self {
        let paths = graph.nodes().iter().flat_map(|node| &node.reads);
        let paths = paths.filter_map(|(_, path, _)| path.strip_prefix("lock.certificates."));
        let paths = paths.map(|path| path.trim_end_matches('?'));
        let (keyed, dated): (Vec<_>, Vec<_>) = paths.partition(|path| path.ends_with(".generation"));
        Self {
            dated: dated.into_iter().map(str::to_owned).collect(),
            keyed: keyed.into_iter().map(|path| path.trim_end_matches(".generation").to_owned()).collect(),
        }
    }
}

/// What the next build may rebuild, and which certificates and keys it leaves alone.
fn consequences(env: Env<'_>, workspace: &Workspace) -> Result<(Vec<String>, Vec<String>)> {
    let targets = workspace.select(&[])?;
    let nodes = workspace.graph.nodes();
    let closure = workspace.graph.closure(&targets);
    let missing = match workspace::open_store_if_there(env.store, workspace.directory.path())? {
        Some(store) => workspace.plan(env, &store, &targets)?.missing,
        None => closure.clone(),
    };
    let is_pki =
        |at: &&NodeIndex| ["keypair", "authority", "certificate"].contains(&nodes[**at].builder.0.as_str());
    let name = |at: &NodeIndex| nodes[*at].name.clone();
    Ok((missing.iter().map(name).collect(), closure.difference(&missing).filter(is_pki).map(name).collect()))
}
