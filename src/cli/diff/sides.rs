//! Compares two sides, each a generation, a path, a target or a release.
//!
//! | side | means |
//! |---|---|
//! | `gen:N` | a retained generation |
//! | `result` | the current generation |
//! | a path that starts with `/`, `./` or `../` | a cluster directory (built as needed), an object of a store, any file or directory |
//! | anything else | a target for the current files, built as needed; `cluster` includes everything that it needs |
//!
//! Does not change the cluster directory: `result` stays, and there is no new generation.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rayon::ThreadPool;

use crate::base::digest::{DrvId, ObjectId};
use crate::base::fs;
use crate::cli::{Error, Result};
use crate::compare::cause::{Cause, CauseKind};
use crate::compare::diff::{self, Diff, Part, Side, Tree};
use crate::engine::drv;
use crate::engine::exec::{self, Options};
use crate::engine::recipe::NodeIndex;
use crate::engine::store::{Generation, Roots, Store};
use crate::openshift::knowledge::Knowledge;
use crate::openshift::lock::LockedRelease;
use crate::openshift::workspace::{
    self, CLUSTER, Env, INSTALL_CONFIG, Missing, Replacement, Workspace, WorkspaceError, seed,
};

/// The target that includes everything.
pub(super) const EVERYTHING: &str = "cluster";

#[derive(Debug, Clone, Default)]
pub(super) struct Request {
    /// None means the last two generations, one means that side and `result`.
    pub sides: Vec<String>,
    /// The same cluster on two releases, or as it is locked and on one.
    pub releases: Vec<String>,
    /// Other images for components: the same cluster without and with them.
    pub components: Vec<Replacement>,
    /// Only these derivations, or folders of them.
    pub only: Vec<String>,
    pub jobs: usize,
    /// Workers that several comparisons share.
    pub pool: Option<Arc<ThreadPool>>,
}

impl Request {
    /// What to build: everything, or what is asked for.
    fn targets(&self) -> Vec<String> {
        if self.only.is_empty() { vec![EVERYTHING.to_owned()] } else { self.only.clone() }
    }

    pub(super) fn workers(&self) -> Workers<'_> {
        Workers { jobs: self.jobs, pool: self.pool.as_deref() }
    }
}

/// Who builds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Workers<'a> {
    jobs: usize,
    /// None for workers of one build's own.
    pool: Option<&'a ThreadPool>,
}

impl Workers<'_> {
    fn own(jobs: usize) -> Self {
        Self { jobs, pool: None }
    }
}

pub(super) fn diff(env: Env<'_>, request: &Request) -> Result<Diff> {
    if !request.components.is_empty() {
        return preview(env, request);
    }
    let (old, new) = sides(env, request)?;
    // Without a cluster's files, causes have the names in their recipes.
    let load = |directory: &Path| Workspace::load(Env { directory, ..env }, Missing::Unneeded).ok();
    let workspace = match env.site {
        Some(_) => load(env.directory),
        None => directories(env, request).iter().find_map(|directory| load(directory)),
    };
    compare(request, &old, &new, workspace.as_ref(), &|_| false)
}

/// This cluster as it is, and with other images for some components. The images themselves are left out unless asked
/// for: what differs in them, the user knows.
pub(super) fn preview(env: Env<'_>, request: &Request) -> Result<Diff> {
    let preview = Workspace::preview(env, &request.components)?;
    let targets = request.targets();
    preview.check_used(&preview.workspace.select(&targets)?)?;
    let workspace = Workspace::load(env, Missing::Make)?;
    let old = build(env, &workspace, &targets, "the payload's own".into(), request.workers(), true)?;
    let names: Vec<String> = request.components.iter().map(ToString::to_string).collect();
    let title = format!("preview of {}", names.join(", "));
    let new =
        build(env, &preview.workspace, &targets, title, request.workers(), true).map_err(
            |error| match error.is_interrupt() {
                true => error,
                false => Error::Preview { components: names, source: Box::new(error) },
            },
        )?;
    let hidden = |name: &str| request.only.is_empty() && preview.is_replaced(name);
    compare(request, &old, &new, Some(&preview.workspace), &hidden)
}

pub(super) fn compare(
    request: &Request,
    old: &Side,
    new: &Side,
    workspace: Option<&Workspace>,
    hidden: &dyn Fn(&str) -> bool,
) -> Result<Diff> {
    for only in &request.only {
        let known = || old.parts.keys().chain(new.parts.keys()).map(String::as_str);
        if !known().any(|name| is_below(name, only)) {
            let folders = known().filter_map(|name| Some(name.split_once('/')?.0));
            let near = crate::base::hint::near(only, known().chain(folders)).map(str::to_owned);
            return Err(WorkspaceError::NoTarget { target: only.clone(), near }.into());
        }
    }
    let asked = |name: &str| request.only.is_empty() || request.only.iter().any(|only| is_below(name, only));
    let only = |name: &str| asked(name) && !hidden(name);
    let naming = |artifact: &str, change: Option<&drv::Change>| name(workspace, artifact, change);
    let built_in = Knowledge::built_in()?;
    let knowledge = workspace.map_or(&built_in, |workspace| &workspace.knowledge);
    Ok(diff::compare(old, new, &only, &naming, knowledge.disruption.get()?)?)
}

/// Two outputs of one derivation, each with a title.
pub(in crate::cli) fn of_outputs(
    workspace: &Workspace,
    store: &Store,
    name: &str,
    drv: DrvId,
    sides: [(String, ObjectId); 2],
) -> Result<Diff> {
    let [old, new] = sides.map(|(title, object)| Side {
        title,
        store: Some(store.clone()),
        parts: [(name.to_owned(), Part { drv: Some(drv), tree: Tree::Object(object) })].into(),
    });
    compare(&Request::default(), &old, &new, Some(workspace), &|_| false)
}

/// Cluster directories that can name causes: the newer side's first.
fn directories(env: Env<'_>, request: &Request) -> Vec<PathBuf> {
    let mut directories: Vec<PathBuf> = request.sides.iter().rev().map(PathBuf::from).collect();
    directories.push(env.directory.to_owned());
    directories.retain(|directory| is_cluster(directory).unwrap_or(false));
    directories
}

fn is_cluster(path: &Path) -> Result<bool> {
    let Some(path) = fs::optional(fs::canonical(path))? else { return Ok(false) };
    Ok(fs::metadata(&path)?.is_dir()
        && fs::exists(&path.join(INSTALL_CONFIG))?
        && fs::exists(&path.join(CLUSTER))?)
}

fn is_below(name: &str, target: &str) -> bool {
    let target = target.trim_end_matches('/');
    name == target || name.strip_prefix(target).is_some_and(|rest| rest.starts_with('/'))
}

fn sides(env: Env<'_>, request: &Request) -> Result<(Side, Side)> {
    if let [first, rest @ ..] = request.releases.as_slice() {
        // Both sides must have the same epoch and seed, so these must exist first.
        let workspace = Workspace::load(env, Missing::Make)?;
        return Ok(match rest {
            [] => (of_locked(env, &workspace, request)?, of_release(env, first, request)?),
            [second, ..] => (of_release(env, first, request)?, of_release(env, second, request)?),
        });
    }
    let asked: Vec<Asked> = request.sides.iter().map(|side| Asked::parse(side)).collect::<Result<_>>()?;
    match asked.as_slice() {
        [] => {
            let (store, roots) = kept(env)?;
            let numbers = roots.numbers()?;
            let [.., old, new] = numbers.as_slice() else {
                let message = match numbers.len() {
                    0 => "there are no generations to compare",
                    _ => "there is only one generation, and `diff` compares two",
                };
                let advice = "every `tinderbox build` that changes `cluster` makes one; or name two sides: `tinderbox diff --help`";
                return Err(Error::usage(message, advice));
            };
            let side = |number: u64| Ok::<_, Error>(of_generation(&store, roots.generation(number)?));
            Ok((side(*old)?, side(*new)?))
        }
        [one] => Ok((one.side(env, request.jobs)?, Asked::Result.side(env, request.jobs)?)),
        [old, new] => pair(env, old, new, request.jobs),
        _ => Err(Error::Usage { message: "`diff` compares two sides".into(), advice: None }),
    }
}

/// Both sides; a target narrows the other side, and two single artifacts are compared with each other.
fn pair(env: Env<'_>, old: &Asked, new: &Asked, jobs: usize) -> Result<(Side, Side)> {
    let (mut one, mut other) = (old.side(env, jobs)?, new.side(env, jobs)?);
    match (old, new) {
        (Asked::Target(a), Asked::Target(b)) if a != b && one.parts.len() == 1 && other.parts.len() == 1 => {
            let name = format!("{a} → {b}");
            one.parts = one.parts.into_values().map(|part| (name.clone(), part)).collect();
            other.parts = other.parts.into_values().map(|part| (name.clone(), part)).collect();
        }
        (Asked::Target(target), _) if target != EVERYTHING => other.narrow(|name| is_below(name, target)),
        (_, Asked::Target(target)) if target != EVERYTHING => one.narrow(|name| is_below(name, target)),
        // An object or files against a generation: `result` points to its `cluster`.
        (Asked::Path(_), Asked::Generation(_) | Asked::Result) if one.parts.contains_key("") => {
            whole(&mut other)
        }
        (Asked::Generation(_) | Asked::Result, Asked::Path(_)) if other.parts.contains_key("") => {
            whole(&mut one)
        }
        _ => {}
    }
    Ok((one, other))
}

/// Only the tree that `result` points to, without a name.
fn whole(side: &mut Side) {
    let cluster = side.parts.remove(EVERYTHING);
    side.parts = cluster.into_iter().map(|part| (String::new(), part)).collect();
}

/// A side on the command line.
#[derive(Debug, Clone)]
enum Asked {
    Generation(u64),
    Result,
    Path(PathBuf),
    Target(String),
}

impl Asked {
    fn parse(text: &str) -> Result<Self> {
        if let Some(number) = text.strip_prefix("gen:") {
            let number = number.parse().map_err(|_| {
                Error::usage(
                    format!("`{text}` is not a generation"),
                    "`tinderbox generations` lists them; the third is gen:3",
                )
            })?;
            return Ok(Self::Generation(number));
        }
        if text == "result" {
            return Ok(Self::Result);
        }
        if text.starts_with('/')
            || text == "."
            || text == ".."
            || text.starts_with("./")
            || text.starts_with("../")
        {
            let path = PathBuf::from(text);
            fs::canonical(&path)?;
            return Ok(Self::Path(path));
        }
        if text.contains('.') && fs::exists(Path::new(text))? {
            return Err(Error::usage(format!("`{text}` is a file"), format!("write a path: `./{text}`")));
        }
        Ok(Self::Target(text.to_owned()))
    }

    fn side(&self, env: Env<'_>, jobs: usize) -> Result<Side> {
        match self {
            Self::Generation(number) => {
                let (store, roots) = kept(env)?;
                Ok(of_generation(&store, roots.generation(*number)?))
            }
            Self::Result => {
                let (store, roots) = kept(env)?;
                let Some(number) = roots.current()? else {
                    return Err(Error::NotBuilt { target: EVERYTHING.into() });
                };
                Ok(Side { title: "result".into(), ..of_generation(&store, roots.generation(number)?) })
            }
            Self::Path(path) => of_path(env, path, jobs),
            Self::Target(target) => {
                let workspace = Workspace::load(env, Missing::Make)?;
                let targets = std::slice::from_ref(target);
                build(env, &workspace, targets, target.clone(), Workers::own(jobs), target == EVERYTHING)
            }
        }
    }
}

/// The store, and this directory's roots in it.
fn kept(env: Env<'_>) -> Result<(Store, Roots)> {
    let directory = env.cluster_dir()?;
    let store = workspace::open_store(env.store, directory.path())?;
    let roots = store.roots_of(directory.home());
    Ok((store, roots))
}

pub(in crate::cli) fn of_generation(store: &Store, generation: Generation) -> Side {
    let part = |(name, named): (String, crate::engine::store::Named)| {
        (name, Part { drv: Some(named.drv), tree: Tree::Object(named.object) })
    };
    Side {
        title: format!("gen:{}", generation.number),
        store: Some(store.clone()),
        parts: generation.names.into_iter().map(part).collect(),
    }
}

/// The same cluster on a release: all of it, or the requested targets and what they need.
fn of_release(env: Env<'_>, reference: &str, request: &Request) -> Result<Side> {
    let release = workspace::release_named(env, Some(reference))?;
    let workspace = Workspace::load_release(env, &release)?;
    on_release(env, &workspace, reference, &release, request)
}

/// The cluster of a workspace that was loaded on a release.
pub(super) fn on_release(
    env: Env<'_>,
    workspace: &Workspace,
    reference: &str,
    release: &LockedRelease,
    request: &Request,
) -> Result<Side> {
    let title = release_title(reference, &release.version);
    build(env, workspace, &request.targets(), title, request.workers(), true)
}

/// This cluster on the release that its lock pins.
pub(super) fn of_locked(env: Env<'_>, workspace: &Workspace, request: &Request) -> Result<Side> {
    let pinned = workspace::parse_lock(&workspace.directory)?.and_then(|lock| lock.release);
    let title = pinned.map_or(EVERYTHING.into(), |one| release_title(&one.reference, &one.version));
    build(env, workspace, &request.targets(), title, request.workers(), true)
}

pub(super) fn release_title(reference: &str, version: &str) -> String {
    if version.is_empty() { reference.to_owned() } else { format!("{reference} ({version})") }
}

/// A cluster directory, an object, or files.
fn of_path(env: Env<'_>, path: &Path, jobs: usize) -> Result<Side> {
    let title = path.display().to_string();
    if is_cluster(path)? {
        // A seed that the user gave is for a directory without one of its own, such as a checkout in CI.
        let seed = if seed::form(path)?.is_none() { env.seed } else { None };
        let env = Env { directory: path, seed, ..env };
        let workspace = Workspace::load(env, Missing::Make)?;
        return build(env, &workspace, &[EVERYTHING.to_owned()], title, Workers::own(jobs), true);
    }
    let real = fs::canonical(path)?;
    let object = real.parent().and_then(|root| Store::open(root).ok()).and_then(|store| {
        let name: crate::engine::store::ObjectName = real.file_name()?.to_str()?.parse().ok()?;
        store.find(name.id, &name.name).ok()??;
        Some((store, name.id))
    });
    let (store, tree) = match object {
        Some((store, id)) => (Some(store), Tree::Object(id)),
        None => (None, Tree::Loose(path.to_owned())),
    };
    Ok(Side { title, store, parts: [(String::new(), Part { drv: None, tree })].into() })
}

/// Builds targets without recording them in the cluster directory; with `inputs`, includes what they need.
pub(super) fn build(
    env: Env<'_>,
    workspace: &Workspace,
    targets: &[String],
    title: String,
    workers: Workers<'_>,
    inputs: bool,
) -> Result<Side> {
    let targets = workspace.select(targets)?;
    let session = workspace.session(env)?;
    let context = workspace.context(env, &session);
    let options = Options { jobs: workers.jobs, ..Options::default() };
    let outcome = match workers.pool {
        Some(pool) => exec::build_on(pool, context, &targets, options)?,
        None => exec::build(context, &targets, options)?,
    };
    if outcome.cancelled {
        return Err(Error::Interrupted { kept: outcome.built.len() });
    }
    if let Some((_, error)) = outcome.failed.into_iter().next() {
        return Err(error.into());
    }
    let nodes = workspace.graph.nodes();
    let wanted = |at: &NodeIndex| inputs || targets.contains(at);
    let parts = outcome.done.into_iter().filter(|(at, _)| wanted(at)).map(|(at, done)| {
        let part = Part { drv: Some(done.drv), tree: Tree::Object(done.output.object) };
        (nodes[at].name.clone(), part)
    });
    Ok(Side { title, parts: parts.collect(), store: Some(session.store().clone()) })
}

/// Names a cause; without a change, why an artifact is on one side only.
fn name(workspace: Option<&Workspace>, artifact: &str, change: Option<&drv::Change>) -> Cause {
    let Some(change) = change else {
        let condition = workspace.map_or(&[][..], |workspace| workspace.graph.condition(artifact));
        let by_release = condition.iter().any(|field| CauseKind::of_field(field) == CauseKind::Release);
        let kind = if by_release { CauseKind::Versioned } else { CauseKind::Parameter };
        return Cause::new(kind, format!("`{artifact}` is on one side only"));
    };
    let named = workspace.and_then(|workspace| {
        let at = workspace.graph.find(artifact)?;
        Some(Cause::named(&workspace.fields, &workspace.graph.nodes()[at], change).by_line())
    });
    named.unwrap_or_else(|| Cause::unnamed(change))
}
