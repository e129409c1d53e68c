//! `challenge`: what builders and caches say about the same derivations, and where they part.

use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;

use schemars::JsonSchema;
use serde::Serialize;

use super::arguments::Jobs;
use super::diff::{of_outputs, show_rows};
use super::document::{Document, Documented};
use super::output::{count, exit_code, line};
use super::{Error, Printer, Result, complete};
use crate::base::digest::{DrvId, ObjectId};
use crate::compare::diff::Diff;
use crate::compare::report::{self, Detail};
use crate::engine::cache::{OciCache, PublicKey, Secrecy, Substituter as _, Wanted};
use crate::engine::exec::{self, BuildPlan};
use crate::engine::recipe::NodeIndex;
use crate::engine::store::{Session, Store};
use crate::openshift::workspace::{self, Env, Missing, Workspace};

/// Compare what several builders and caches say about the same derivations
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tinderbox challenge                          everything of `cluster`: this store, and each signer of each cache
  tinderbox challenge mco/rendered --rebuild   also builds it again here, under other conditions

Nothing is taken from anybody. The first derivation that has different outputs is shown with their differences: everything after \
it was built from something else.
Exit codes: 0 all who say something say the same, 1 they do not, 2 trouble.")]
pub(super) struct Args {
    /// Derivations or folders of them, all built; default: cluster
    #[arg(add = complete::target())]
    targets: Vec<String>,
    /// Build everything again here, too
    #[arg(long)]
    rebuild: bool,
    /// Every difference
    #[arg(long)]
    full: bool,
    /// Never start a pager
    #[arg(long)]
    no_pager: bool,
    #[command(flatten)]
    jobs: Jobs,
}

impl Documented for Args {
    const DOCUMENTS: &'static [Document] = &[Document::of::<Challenged>()];
}

/// What builders and caches say about a closure.
#[derive(Debug, Serialize, JsonSchema)]
struct Challenged {
    /// Derivations that were compared.
    derivations: usize,
    /// Everybody who was asked: this store first.
    voices: Vec<Voice>,
    /// Signers whose keys nobody here has; what they say was not looked at.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unknown: Vec<Stranger>,
    /// Derivations with different outputs, in build order.
    divergences: Vec<Divergence>,
    /// How the first two outputs of the first of them differ: the document of `diff`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Value>")]
    diff: Option<Diff>,
}

/// Somebody who says what derivations give.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
struct Voice {
    /// `here`, or a cache.
    source: String,
    /// Who signed; none for what was built here.
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    /// Derivations of which it has the output that this store has.
    agrees: usize,
    differs: usize,
    /// Derivations of which it has nothing.
    silent: usize,
}

/// A signer whose key nobody here has.
#[derive(Debug, Serialize, JsonSchema)]
struct Stranger {
    cache: String,
    /// The key's name, as in tags.
    key: String,
    /// Derivations of this closure for which it signed something.
    outputs: usize,
}

/// A derivation with different outputs.
#[derive(Debug, Serialize, JsonSchema)]
struct Divergence {
    name: String,
    drv: DrvId,
    /// The output in use here first.
    claims: Vec<ClaimReport>,
}

/// What one of them says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
struct ClaimReport {
    source: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    object: ObjectId,
}

const HERE: &str = "here";

impl Args {
    pub(super) fn run(self, env: Env<'_>, printer: Printer<'_>) -> Result<ExitCode> {
        let workspace = Workspace::load(env, Missing::Imagine)?;
        let targets = workspace.select(&self.targets)?;
        let session = workspace.session(env)?;
        let context = workspace.context(env, &session);
        let plan = exec::plan(context, &targets)?;
        if let Some(missing) = plan.missing.iter().next() {
            return Err(Error::NotBuilt { target: workspace.graph.nodes()[*missing].name.clone() });
        }
        if self.rebuild {
            exec::recheck(context, &plan.done, self.jobs.count())?;
        }
        let settings = workspace::cache_settings(env, workspace.directory.path(), &workspace.cluster)?;
        let caches: Vec<OciCache> = settings.into_iter().map(OciCache::new).collect();
        let closure = exec::closure_id(context, &targets)?;
        caches.iter().for_each(|cache| cache.begin(closure, env.events));
        let hearing = Hearing { env, workspace: &workspace, session: &session, caches: &caches };
        let done = hearing.hold(&plan)?;
        let detail = if self.full { Detail::Everything } else { Detail::Folded };
        printer.answer(&done, || {
            show(&done);
            if let Some(diff) = &done.diff {
                show_rows(&report::rows(diff, detail), self.no_pager);
            }
        });
        Ok(exit_code(done.divergences.is_empty()))
    }
}

struct Hearing<'a> {
    env: Env<'a>,
    workspace: &'a Workspace,
    session: &'a Session,
    caches: &'a [OciCache],
}

/// Somebody's claim, and where it can be fetched.
struct Heard {
    report: ClaimReport,
    cache: Option<(usize, PublicKey)>,
}

impl Hearing<'_> {
    fn hold(&self, plan: &BuildPlan) -> Result<Challenged> {
        let signers =
            self.caches.iter().enumerate().flat_map(|(at, cache)| cache.keys().map(move |key| (at, key)));
        let signers: Vec<(usize, PublicKey)> = signers.collect();
        let voice = |source: &str, key: Option<String>| {
            let source = source.to_owned();
            Voice { source, key, agrees: 0, differs: 0, silent: 0 }
        };
        let mut voices = vec![voice(HERE, None)];
        voices.extend(signers.iter().map(|(at, key)| voice(&self.caches[*at].name(), Some(key.to_string()))));
        let mut divergences = Vec::new();
        let mut diff = None;
        for (at, done) in &plan.done {
            let heard = self.ask(*at, done)?;
            for voice in &mut voices {
                let theirs = heard.iter().map(|heard| &heard.report);
                let mut theirs =
                    theirs.filter(|said| said.source == voice.source && said.key == voice.key).peekable();
                let nothing = theirs.peek().is_none();
                let same = theirs.all(|said| said.object == done.output.object);
                *match (nothing, same) {
                    (true, _) => &mut voice.silent,
                    (_, true) => &mut voice.agrees,
                    (_, false) => &mut voice.differs,
                } += 1;
            }
            let Some(other) = heard.iter().find(|heard| heard.report.object != done.output.object) else {
                continue;
            };
            if divergences.is_empty() {
                diff = self.differences(*at, done, other)?;
            }
            let name = self.workspace.graph.nodes()[*at].name.clone();
            let mut claims: Vec<ClaimReport> = heard.into_iter().map(|heard| heard.report).collect();
            claims.sort_by_key(|claim| claim.object != done.output.object);
            divergences.push(Divergence { name, drv: done.drv, claims });
        }
        let unknown = self.unknown(plan);
        Ok(Challenged { derivations: plan.done.len(), voices, unknown, divergences, diff })
    }

    /// Everything that is said of one derivation.
    fn ask(&self, at: NodeIndex, done: &exec::Done) -> Result<Vec<Heard>> {
        let store = self.session.store();
        let known = store.realisation(done.drv)?.unwrap_or_default();
        // What only a signature vouches for was not built here.
        let built = known.outputs.iter().filter(|output| !known.signed.contains_key(&output.object));
        let mut heard: Vec<Heard> = built
            .map(|output| {
                let report = ClaimReport { source: HERE.to_owned(), key: None, object: output.object };
                Heard { report, cache: None }
            })
            .collect();
        self.with_wanted(at, done, &mut |wanted| {
            for (index, cache) in self.caches.iter().enumerate() {
                heard.extend(cache.claims(wanted, self.env.events).into_iter().map(|claim| {
                    let key = Some(claim.key.to_string());
                    let report = ClaimReport { source: cache.name(), key, object: claim.object };
                    Heard { report, cache: Some((index, claim.key)) }
                }));
            }
        })?;
        Ok(heard)
    }

    /// A derivation as caches are asked for it.
    fn with_wanted(&self, at: NodeIndex, done: &exec::Done, ask: &mut dyn FnMut(&Wanted<'_>)) -> Result<()> {
        let store = self.session.store();
        let Some(trace) = store.traces(done.drv)?.into_iter().next() else { return Ok(()) };
        let secret = store.object(done.output.object)?.listing.root().secret;
        let secrecy = if secret { Secrecy::Secret } else { Secrecy::Tainted };
        let name = &self.workspace.graph.nodes()[at].name;
        ask(&Wanted { name, drv: done.drv, builder: trace.builder(), secrecy });
        Ok(())
    }

    /// How another output differs from the one in use; none if it cannot be had.
    fn differences(&self, at: NodeIndex, done: &exec::Done, other: &Heard) -> Result<Option<Diff>> {
        let store: &Store = self.session.store();
        let object = other.report.object;
        if store.find(object, "")?.is_none() {
            let mut fetched = None;
            self.with_wanted(at, done, &mut |wanted| {
                let Some((index, key)) = &other.cache else { return };
                fetched = self.caches[*index].fetch(self.session, wanted, key, self.env.events);
            })?;
            // An object by itself is nothing that a build relies on.
            let Some(fetched) = fetched else { return Ok(None) };
            self.session.sync()?;
            self.session.publish(&fetched.staged)?;
        }
        let name = &self.workspace.graph.nodes()[at].name;
        let title = match &other.report.key {
            Some(key) => format!("{} ({key})", other.report.source),
            None => "built here again".to_owned(),
        };
        let sides = [("in use here".to_owned(), done.output.object), (title, object)];
        Ok(Some(of_outputs(self.workspace, store, name, done.drv, sides)?))
    }

    fn unknown(&self, plan: &BuildPlan) -> Vec<Stranger> {
        let drvs: BTreeSet<DrvId> = plan.done.values().map(|done| done.drv).collect();
        let of = |cache: &OciCache| {
            let name = cache.name();
            let found = cache.unknown(&drvs, self.env.events).into_iter();
            found
                .map(|unknown| Stranger { cache: name.clone(), key: unknown.key, outputs: unknown.entries })
                .collect::<Vec<_>>()
        };
        self.caches.iter().flat_map(of).collect()
    }
}

fn show(done: &Challenged) {
    line(count(done.derivations, "derivation"));
    for Voice { source, key, agrees, differs, silent } in &done.voices {
        let key = key.as_ref().map(|key| format!(" {key}")).unwrap_or_default();
        line(format!("  {source}{key}: {agrees} the same, {differs} different, {silent} not there"));
    }
    for Stranger { cache, key, outputs } in &done.unknown {
        line(format!("  {cache} key {key}, which nobody here knows: {outputs}, not looked at"));
    }
    let Some(first) = done.divergences.first() else { return };
    line(format!("`{}` is the first of {} with different outputs:", first.name, done.divergences.len()));
    let mut by_object: BTreeMap<ObjectId, Vec<String>> = BTreeMap::new();
    for ClaimReport { source, key, object } in &first.claims {
        let key = key.as_ref().map(|key| format!(" {key}")).unwrap_or_default();
        by_object.entry(*object).or_default().push(format!("{source}{key}"));
    }
    for (object, who) in by_object {
        line(format!("  {object} {}", who.join(", ")));
    }
}
