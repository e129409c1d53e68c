//! `init`: a commented, valid cluster directory; from nothing, from an install-config, agent-config or ClusterInstance
//! (`origin`), or from a directory of openshift-install (`import`). Never overwrites.

mod import;
mod origin;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use schemars::JsonSchema;
use serde::Serialize;

use import::{Imported, Request};
use origin::{Origin, PULL_SECRET};

use super::document::{Document, Documented};
use super::output::{command_line, line, table};
use super::{Error, Printer, Result};
use crate::base::fs;
use crate::openshift::config::{self, Example, Generated, Guess, Taken};
use crate::openshift::hosts::LeftOut;
use crate::openshift::workspace::{CLUSTER, Env, INSTALL_CONFIG, LOCK, SEED, seed};

/// Write a commented, valid cluster directory; never overwrites a file
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tinderbox init ocp4
  tinderbox init sno --single-node             one node that bootstraps itself, without a bootstrap machine
  tinderbox init --from install-config.yaml    writes the cluster.yaml that matches it, and lists what it guessed
  tinderbox init ocp4 --from agent-config.yaml takes the machines from it, and the rest from install-config.yaml beside it
  tinderbox init ocp4 --from ../install-dir    takes over what openshift-install left: your edits become patches")]
pub(super) struct Args {
    /// The directory to write; default: the cluster directory
    dir: Option<PathBuf>,
    /// Write the example of a single node that bootstraps itself, without a bootstrap machine; with `--from`, an install-config with
    /// `bootstrapInPlace` becomes one
    #[arg(long, conflicts_with = "from")]
    single_node: bool,
    /// An existing install-config.yaml to write the cluster.yaml for, with the hosts of an agent-config.yaml beside it; a
    /// ClusterInstance of ACM; or a directory in which `openshift-install create manifests` or `create ignition-configs` ran,
    /// which is read and not changed
    #[arg(long, value_name = "FILE|DIR")]
    from: Option<PathBuf>,
    /// The release to write into that cluster.yaml; default: the built-in demo
    #[arg(long, value_name = "RELEASE", requires = "from")]
    release: Option<String>,
    /// A file of the installer's directory to leave out; may be repeated
    #[arg(long, value_name = "FILE", requires = "from")]
    without: Vec<String>,
    /// Take over infraID and clusterID of the installer's directory, instead of new ones from the seed
    #[arg(long, requires = "from")]
    keep_ids: bool,
}

impl Documented for Args {
    const DOCUMENTS: &'static [Document] =
        &[Document::of::<Initialised>(), Document::of::<Imported>().when("import", "--from DIR")];
}

impl Args {
    pub(super) fn run(self, env: Env<'_>, printer: Printer<'_>) -> Result<ExitCode> {
        let directory = self.dir.as_deref().unwrap_or(env.directory);
        let Self { release, without, keep_ids, .. } = &self;
        let directory_from =
            self.from.as_deref().filter(|from| fs::followed(from).is_some_and(|found| found.is_dir()));
        if let Some(from) = directory_from
            && !origin::is_agent_directory(from)?
        {
            let request = Request { from, release: release.as_deref(), without, keep_ids: *keep_ids };
            let done = import::import(env, directory, &request)?;
            let code = printer.answer(&done, || done.print());
            printer.events.conclude(|_| next(env, directory));
            return Ok(code);
        }
        if !without.is_empty() || *keep_ids {
            return Err(Error::usage(
                "`--without` and `--keep-ids` are about a directory of openshift-install, and `--from` names none",
                "name the directory itself: `--from DIR`",
            ));
        }
        let example = if self.single_node { config::SINGLE_NODE } else { config::HIGHLY_AVAILABLE };
        let done = init(env, directory, example, self.from.as_deref(), self.release.as_deref())?;
        let code = printer.answer(&done, || done.print());
        printer.events.conclude(|_| next(env, directory));
        Ok(code)
    }
}

/// What to do with a new directory.
fn next(env: Env<'_>, directory: &Path) -> String {
    let build = command_line(Env { directory, ..env }, "build");
    let width = build.len().max(CLUSTER.len());
    format!(
        "next:\n  {CLUSTER:<width$}  edit it, and back up {SEED}: it is the cluster's identity\n  \
         {build:<width$}  everything a cluster boots from, in {}",
        directory.join("result").display()
    )
}

#[derive(Debug, Serialize, JsonSchema)]
struct Initialised {
    directory: PathBuf,
    written: Vec<String>,
    /// What cluster.yaml follows from.
    taken: Vec<Taken>,
    /// What only the user can know, and is to be edited in cluster.yaml.
    guessed: Vec<Guess>,
    /// The file that the machines were taken from.
    #[serde(skip_serializing_if = "Option::is_none")]
    hosts_file: Option<String>,
    /// What has no place in a cluster directory.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    left_out: Vec<LeftOut>,
}

impl Initialised {
    fn print(&self) {
        self.written.iter().for_each(|file| line(self.directory.join(file).display()));
        let hosts = self.hosts_file.as_deref();
        let is_hosts = |taken: &&Taken| hosts.is_some_and(|file| taken.place.file == file);
        let (theirs, rest): (Vec<_>, Vec<_>) = self.taken.iter().partition(is_hosts);
        if let Some(file) = hosts.filter(|_| !theirs.is_empty()) {
            line(format_args!("\ntaken over from {file}:"));
            print_taken(&theirs);
        }
        print_origins(&rest.into_iter().cloned().collect::<Vec<_>>(), &self.guessed);
        if !self.left_out.is_empty() {
            line("\nnot taken over:");
            let row = |LeftOut { place, reason }: &LeftOut| {
                let at = place.line.map_or_else(String::new, |line| format!(":{line}"));
                vec![format!("{}{at}", place.file), place.field.clone(), reason.clone()]
            };
            table(&["WHERE", "FIELD", "WHY"], &self.left_out.iter().map(row).collect::<Vec<_>>());
        }
    }
}

fn print_taken(taken: &[&Taken]) {
    let row = |Taken { place, value, became }: &&Taken| {
        let line = place.line.map_or_else(|| "default".to_owned(), |line| line.to_string());
        vec![line, place.field.clone(), value.clone(), became.clone()]
    };
    table(&["LINE", "FIELD", "VALUE", "IN CLUSTER.YAML"], &taken.iter().map(row).collect::<Vec<_>>());
}

/// What `cluster.yaml` follows from, and what is to be edited there.
fn print_origins(taken: &[Taken], guessed: &[Guess]) {
    if !taken.is_empty() {
        line("\ntaken over from install-config.yaml, which is used as it is:");
        print_taken(&taken.iter().collect::<Vec<_>>());
    }
    if !guessed.is_empty() {
        line(format_args!("\nguessed; edit these lines of {CLUSTER} next:"));
        let row = |Guess { line, field, value, from, edit }: &Guess| {
            vec![line.to_string(), field.clone(), value.clone(), format!("{edit} (guessed: {from})")]
        };
        table(
            &["LINE", "FIELD", "VALUE", "WHAT BELONGS THERE"],
            &guessed.iter().map(row).collect::<Vec<_>>(),
        );
    }
}

/// Writes a cluster directory: the example, or with `from`, for an existing install-config.
fn init(
    env: Env<'_>,
    directory: &Path,
    example: Example,
    from: Option<&Path>,
    release: Option<&str>,
) -> Result<Initialised> {
    fs::create_dirs(directory)?;
    let directory = fs::canonical(directory)?;
    let own = directory.join(INSTALL_CONFIG);
    let origin = match from {
        None => Origin {
            install_config: Some(example.install_config.to_owned()),
            cluster: Generated { text: example.cluster.to_owned(), ..Generated::default() },
            others: vec![],
            hosts_file: None,
            left_out: vec![],
        },
        Some(path) => origin::read(path, &own, release)?,
    };
    let Origin { install_config, cluster, others, hosts_file, left_out } = origin;
    let Generated { text: cluster, taken, guessed, in_place: _ } = cluster;
    let first = [(INSTALL_CONFIG.to_owned(), install_config), (CLUSTER.to_owned(), Some(cluster))];
    let files: Vec<(String, Option<String>)> =
        first.into_iter().chain(others.into_iter().map(|(name, text)| (name, Some(text)))).collect();
    for (name, _) in files.iter().filter(|(_, text)| text.is_some()) {
        let path = directory.join(name);
        if fs::exists(&path)? {
            let advice = match from {
                None => {
                    "`tinderbox init --from install-config.yaml` makes the cluster.yaml for an install-config"
                }
                Some(_) => "remove it first, or choose another directory",
            };
            return Err(Error::Exists { path, advice });
        }
    }
    let mut written = Vec::new();
    for (name, text) in files {
        if let Some(text) = text {
            // install-config contains the pull secret.
            let mode = if [INSTALL_CONFIG, PULL_SECRET].contains(&name.as_str()) { 0o600 } else { 0o644 };
            let path = directory.join(&name);
            if let Some(parent) = path.parent() {
                fs::create_dirs(parent)?;
            }
            fs::write_whole(&path, text.as_bytes(), mode)?;
            written.push(name);
        }
    }
    written.extend(seed_file(env, &directory)?);
    Ok(Initialised { directory, written, taken, guessed, hosts_file, left_out })
}

/// Writes a seed, unless there is one, and the `.gitignore`; the name of a new seed.
fn seed_file(env: Env<'_>, directory: &Path) -> Result<Option<String>> {
    let is_there = seed::is_there(env, directory)?;
    if !is_there {
        if fs::exists(&directory.join(LOCK))? {
            return Err(seed::lost(directory).into());
        }
        seed::make(directory)?;
    }
    seed::ignore(directory)?;
    Ok((!is_there).then(|| SEED.to_owned()))
}
