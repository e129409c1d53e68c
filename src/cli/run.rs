//! Every verb: flags to a request, an outcome to text or JSON.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use clap::CommandFactory;
use serde_json::json;

use super::args::{Args, Build, Gc, Global, Graph, GraphFormat, Jobs, Release, SchemaOf, Show, Store, Verb};
use super::error::explain;
use super::output::{self, Colour, line, size, stdout_paint, table};
use super::progress::{Level, Progress};
use super::renew;
use super::show;
use crate::base::fs;
use crate::base::hint::Hint;
use crate::cli::ops::build::{BuildReport, BuildRequest};
use crate::cli::ops::{self, Env, OpsError, ProxySettings, Result, StoreChoice};
use crate::engine::store::GcOptions;

/// Does what was asked.
pub(super) fn run(args: Args, cancel: &AtomicBool) -> Result<ExitCode> {
    let Args { global, verb } = args;
    let level = match (global.quiet, global.verbose) {
        (true, _) => Level::Quiet,
        (_, true) => Level::Verbose,
        _ => Level::Normal,
    };
    let log = global.events.as_deref().map(fs::create_or_truncate).transpose()?;
    let progress = Progress::new(level, log);
    let store = StoreChoice { named: global.store.clone(), data: data_directory() };
    let proxy = proxy_settings();
    let programs = super::realize::programs();
    let env = Env {
        directory: &global.directory,
        store: &store,
        events: &progress,
        cancel,
        proxy: &proxy,
        programs: &programs,
        identity: super::seed::identity(global.identity.as_deref())?,
    };
    dispatch(env, &global, verb)
}

fn dispatch(env: Env<'_>, global: &Global, verb: Verb) -> Result<ExitCode> {
    let json = global.json;
    match verb {
        Verb::Init(init) => {
            let directory = init.dir.as_deref().unwrap_or(&global.directory);
            let done = ops::init::init(directory, init.from.as_deref())?;
            say(env, json, &done, || {
                for file in &done.written {
                    line(done.directory.join(file).display());
                }
            });
        }
        Verb::Lock(lock) => {
            let done = ops::lock::lock(env, &ops::lock::LockRequest { update: lock.update })?;
            say(env, json, &done, || {
                renew::moved(&done.moved);
                if done.seed_made {
                    line("cluster.seed: made; back it up, and never commit it");
                }
                if done.moved.is_empty() && !done.seed_made {
                    line("everything is pinned");
                }
            });
        }
        Verb::Build(build) => return self::build(env, json, build),
        Verb::Check(check) if check.list => list_checks(env, json),
        Verb::Check(check) => {
            let checked = ops::check::check(env, jobs(&check.jobs))?;
            say(env, json, &checked, || {
                let rows = checked
                    .checks
                    .iter()
                    .map(|one| vec![one.status.clone(), one.name.clone(), one.rule.clone()]);
                table(&["", "CHECK", "RULE"], &rows.collect::<Vec<_>>());
                show::not_evaluated(&checked);
            });
            checked.errors.iter().for_each(|error| explain(error, error.hint()));
            return Ok(if checked.failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE });
        }
        Verb::Why(target) => {
            let why = ops::why::why(env, &target.target)?;
            say(env, json, &why, || show::why(&why));
        }
        Verb::Blame(target) => {
            let found = ops::blame::blame(env, &target.target)?;
            say(env, json, &found, || super::blame::blame(&found));
        }
        Verb::Affects(affects) => {
            let found = ops::affects::affects(env, &affects.field)?;
            say(env, json, &found, || show::affected(&found));
        }
        Verb::Graph(graph) => self::graph(env, json, &graph)?,
        Verb::Report(asked) => super::report::run(env, json, &asked)?,
        Verb::Diff(diff) => {
            let jobs = jobs(&diff.jobs);
            return super::diff::run(env, json, diff, jobs);
        }
        Verb::Show(show) => self::show(env, json, &show)?,
        Verb::Export(export) => {
            let done = ops::export::export(env, &export.target, &export.dir, jobs(&export.jobs))?;
            say(env, json, &done, || {
                line(format!(
                    "{}: {} files, {} of them secret",
                    done.directory.display(),
                    done.files,
                    done.secret
                ));
            });
        }
        Verb::Generations => {
            let all = ops::generations::generations(env)?;
            say(env, json, &all, || {
                let rows = all.iter().map(|one| {
                    let mark = if one.current { "current" } else { "" };
                    let path =
                        one.path.as_ref().map_or("(gone)".to_owned(), |path| path.display().to_string());
                    vec![one.number.to_string(), one.time.clone(), mark.to_owned(), path]
                });
                table(&["GENERATION", "MADE", "", "PATH"], &rows.collect::<Vec<_>>());
            });
        }
        Verb::Rollback(rollback) => {
            let done = ops::generations::rollback(env, rollback.number)?;
            say(env, json, &done, || line(format!("generation {}: {}", done.to, done.path.display())));
        }
        Verb::Expiry(expiry) => {
            let found = ops::expiry::expiry(env, &expiry.targets)?;
            say(env, json, &found, || renew::expiry(&found));
        }
        Verb::Renew(asked) => {
            let (names, rekey, dry_run) = (asked.names, asked.rekey, asked.dry_run);
            let done = ops::renew::renew(env, &ops::renew::RenewRequest { names, rekey, dry_run })?;
            say(env, json, &done, || renew::renewal(&done, dry_run));
        }
        Verb::Seed(verb) => super::seed::run(env, json, verb)?,
        Verb::Realize(verb) => return super::realize::run(env, json, &verb),
        Verb::Release(release) => self::release(env, json, release)?,
        Verb::Store(store) => return self::store(env, json, store),
        Verb::Schema(schema) => match schema.of {
            SchemaOf::Cluster => output::json(&crate::openshift::config::schema()),
            SchemaOf::Diff => output::text(crate::compare::report::DIFF_SCHEMA),
            SchemaOf::Report => output::text(crate::compare::report::REPORT_SCHEMA),
        },
        Verb::Completions(completions) => {
            let mut text = Vec::new();
            clap_complete::generate(completions.shell, &mut Args::command(), "tinderbox", &mut text);
            let script = String::from_utf8_lossy(&text);
            let document = json!({"shell": completions.shell.to_string(), "script": script});
            say(env, json, &document, || output::text(&script));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints the answer, and nothing of the progress stays with it.
pub(super) fn say(env: Env<'_>, json: bool, document: &impl serde::Serialize, text: impl FnOnce()) {
    env.events.settle();
    if json { output::json(document) } else { text() }
}

pub(super) fn jobs(jobs: &Jobs) -> usize {
    jobs.jobs.map_or_else(|| std::thread::available_parallelism().map_or(1, Into::into), usize::from)
}

/// Where the user's data is, by the XDG rules.
#[expect(clippy::disallowed_methods, reason = "the environment is read here and nowhere below")]
fn data_directory() -> Option<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute("XDG_DATA_HOME").or_else(|| absolute("HOME").map(|home| home.join(".local/share")))
}

/// The proxies that programs are told to use; the lower-case names come first, as curl has it.
#[expect(clippy::disallowed_methods, reason = "the environment is read here and nowhere below")]
fn proxy_settings() -> ProxySettings {
    let variable = |name: &str| {
        [name.to_lowercase(), name.to_owned()]
            .into_iter()
            .find_map(|name| std::env::var(name).ok())
            .filter(|value| !value.is_empty())
    };
    ProxySettings {
        http: variable("HTTP_PROXY"),
        https: variable("HTTPS_PROXY"),
        no_proxy: variable("NO_PROXY"),
    }
}

fn build(env: Env<'_>, json: bool, build: Build) -> Result<ExitCode> {
    let request = BuildRequest {
        targets: build.targets,
        jobs: jobs(&build.jobs),
        keep_going: build.keep_going,
        check: build.check,
        no_link: build.no_link,
    };
    if build.dry_run {
        let report = ops::build::dry_run(env, &request)?;
        say(env, json, &report, || report.would_build.iter().flatten().for_each(line));
        return Ok(ExitCode::SUCCESS);
    }
    Ok(finish_build(env, json, &ops::build::build(env, &request)?))
}

fn finish_build(env: Env<'_>, json: bool, report: &BuildReport) -> ExitCode {
    say(env, json, report, || {
        for target in &report.targets {
            line(target.path.display());
        }
        for difference in report.check.iter().flat_map(|check| &check.differences) {
            line(format!("{} {}", stdout_paint("differs", Colour::Red), difference.name));
            line(format!("  before {}\n  now    {}", difference.before, difference.now));
            for (path, what) in &difference.paths {
                line(format!("  {what} {path}"));
            }
        }
    });
    for error in &report.errors {
        explain(error, error.hint());
    }
    if report.is_success() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn list_checks(env: Env<'_>, json: bool) {
    let all = ops::check::list();
    say(env, json, &all, || {
        for check in &all {
            line(stdout_paint(check.name, Colour::Green));
            line(format!("  rule:   {}\n  breaks: {}", check.rule, check.breaks));
        }
    });
}

/// Prints the graph that was asked for.
fn graph(env: Env<'_>, json: bool, graph: &Graph) -> Result<()> {
    let format = match (json, graph.format) {
        (true, _) | (_, GraphFormat::Json) => ops::graph::Format::Json,
        (_, GraphFormat::Mermaid) => ops::graph::Format::Mermaid,
        (_, GraphFormat::Dot) => ops::graph::Format::Dot,
        (_, GraphFormat::Svg) => ops::graph::Format::Svg,
    };
    if graph.trust {
        let found = ops::trust::trust(env)?;
        env.events.emit(ops::trust::summary(&found));
        env.events.settle();
        output::text(&ops::trust::draw(&found, format));
    } else {
        output::text(&ops::graph::graph(env, &graph.targets, format)?);
    }
    Ok(())
}

fn show(env: Env<'_>, json: bool, show: &Show) -> Result<()> {
    use std::io::IsTerminal;
    if show.reveal && !std::io::stdout().is_terminal() {
        return Err(OpsError::Usage {
            message: "`--reveal` shows secrets on a terminal only".into(),
            advice: Some("`tinderbox export DIR` copies them, for their owner only".into()),
        });
    }
    if let Some(what) = &show.explain {
        let explanation = ops::explain::explain(env, &show.target, what)?;
        say(env, json, &explanation, || super::show::explanation(&explanation));
        return Ok(());
    }
    let shown = ops::show::show(env, &show.target, show.reveal)?;
    say(env, json, &shown, || match &shown.file {
        Some(file) => {
            output::text(&file.content);
            if !file.content.ends_with('\n') {
                line("");
            }
        }
        None if !shown.node.is_empty() => super::blame::entries(&shown.node),
        None => {
            let rows = shown.entries.iter().filter(|entry| entry.kind != "directory").map(|entry| {
                let secret = if entry.secret { "secret" } else { "" };
                vec![entry.kind.to_owned(), secret.to_owned(), size(entry.size), entry.path.clone()]
            });
            table(&["KIND", "", "SIZE", "PATH"], &rows.collect::<Vec<_>>());
        }
    });
    Ok(())
}

fn store(env: Env<'_>, json: bool, store: Store) -> Result<ExitCode> {
    match store {
        Store::Ls => {
            let all = ops::store::ls(env)?;
            say(env, json, &all, || {
                let rows = all.iter().map(|one| {
                    let secret = if one.secret { "secret" } else { "" };
                    vec![
                        one.name.clone(),
                        size(one.size),
                        one.files.to_string(),
                        secret.to_owned(),
                        one.object.to_string(),
                    ]
                });
                table(&["NAME", "SIZE", "FILES", "", "OBJECT"], &rows.collect::<Vec<_>>());
            });
        }
        Store::Du => {
            let usage = ops::store::du(env)?;
            say(env, json, &usage, || {
                line(format!("{}\t{}", size(usage.stored), usage.store.display()));
                line(format!(
                    "{} objects; {} if equal files counted every time",
                    usage.objects,
                    size(usage.apparent)
                ));
            });
        }
        Store::Path { prefix } => {
            let (name, path) = ops::store::path(env, &prefix)?;
            say(env, json, &json!({"object": name.id, "name": name.name, "path": path}), || {
                line(path.display())
            });
        }
        Store::Add { path } => {
            let (object, path) = ops::store::add(env, &path)?;
            say(env, json, &json!({"object": object, "path": path}), || line(path.display()));
        }
        Store::Verify => {
            let found = ops::store::verify(env)?;
            say(env, json, &found, || show::findings(&found));
            return Ok(if found.findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE });
        }
        Store::Scan(args) => return super::scan::run(env, json, &args),
        Store::Repair(args) => {
            let done = ops::store::repair(env, jobs(&args))?;
            say(env, json, &done, || {
                line(format!(
                    "{} bad objects removed, {} derivations built again",
                    done.removed.len(),
                    done.rebuilt.len()
                ));
                for (object, directories) in &done.elsewhere {
                    let shown: Vec<String> =
                        directories.iter().map(|path| path.display().to_string()).collect();
                    line(format!("  {object} belongs to {}: run `tinderbox build` there", shown.join(", ")));
                }
                show::findings(&done.left);
            });
            return Ok(if done.left.findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE });
        }
        Store::Gc(gc) => {
            let plan = ops::store::gc(env, &options(&gc), gc.dry_run)?;
            say(env, json, &plan, || show::gc(&plan, gc.dry_run));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn release(env: Env<'_>, json: bool, release: Release) -> Result<()> {
    match release {
        Release::Info { reference } => {
            let info = ops::release::info(env, reference.as_deref())?;
            say(env, json, &info, || {
                line(format!(
                    "{}  {}  linux/{}",
                    stdout_paint(&info.version, Colour::Green),
                    info.reference,
                    info.architecture
                ));
                line(format!("image       {}", info.image));
                line(format!("created     {}", info.created.as_deref().unwrap_or("(not said)")));
                line(format!("size        {} in {} layers", size(info.size), info.layers));
                line(format!("manifests   {}, {} CRDs apply to this cluster", info.manifests, info.crds));
                line(format!("components  {}", info.components.len()));
                for (component, image) in &info.components {
                    line(format!("  {component}  {image}"));
                }
            });
        }
        Release::Mirror { reference, destination, all } => {
            let done = ops::release::mirror(env, reference.as_deref(), &destination, all)?;
            say(env, json, &done, || {
                line(format!("{} images at {}", done.images.len(), done.destination));
                line(format!(
                    "{} blobs sent ({}), {} were there",
                    done.blobs,
                    size(done.bytes),
                    done.skipped
                ));
                if !done.image_digest_sources.is_empty() {
                    line("To build from the copy alone, put into install-config.yaml:\nimageDigestSources:");
                    for (source, mirror) in &done.image_digest_sources {
                        line(format!("- source: {source}\n  mirrors: [{mirror}]"));
                    }
                }
            });
        }
    }
    Ok(())
}

fn options(gc: &Gc) -> GcOptions {
    GcOptions { keep_last: gc.keep_last, older_than: gc.older_than, max_size: gc.max_size, now: None }
}
