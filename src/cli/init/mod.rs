//! `init`: a commented, valid cluster directory; from nothing, from an install-config, or from a directory of
//! openshift-install (`import`). Never overwrites.

mod import;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use schemars::JsonSchema;
use serde::Serialize;

use import::{Imported, Request};

use super::document::{Document, Documented};
use super::output::{line, table};
use super::{Error, Printer, Result};
use crate::base::fs;
use crate::openshift::config::{self, Generated, Guess, Known, Source, Taken};
use crate::openshift::workspace::{CLUSTER, Env, INSTALL_CONFIG, LOCK, SEED, seed};

/// Write a commented, valid cluster directory; never overwrites
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tinderbox init ocp4
  tinderbox init --from install-config.yaml    writes the cluster.yaml that matches it, and lists what it guessed
  tinderbox init ocp4 --from ../install-dir    takes over what openshift-install left: your edits become patches")]
pub(super) struct Args {
    /// The directory to write; default: the cluster directory
    dir: Option<PathBuf>,
    /// An existing install-config.yaml to write the cluster.yaml for; or a directory in which `openshift-install create
    /// manifests` or `create ignition-configs` ran, which is read and not changed
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
        if let Some(from) =
            self.from.as_deref().filter(|from| fs::followed(from).is_some_and(|found| found.is_dir()))
        {
            let request = Request { from, release: release.as_deref(), without, keep_ids: *keep_ids };
            let done = import::import(env, directory, &request)?;
            return Ok(printer.answer(&done, || done.print()));
        }
        if !without.is_empty() || *keep_ids {
            return Err(Error::usage(
                "`--without` and `--keep-ids` are about a directory of openshift-install, and `--from` names none",
                "name the directory itself: `--from DIR`",
            ));
        }
        let done = init(env, directory, self.from.as_deref(), self.release.as_deref())?;
        Ok(printer.answer(&done, || done.print()))
    }
}

#[derive(Debug, Serialize, JsonSchema)]
struct Initialised {
    directory: PathBuf,
    written: Vec<String>,
    /// What cluster.yaml follows from.
    taken: Vec<Taken>,
    /// What only the user can know, and is to be edited in cluster.yaml.
    guessed: Vec<Guess>,
}

impl Initialised {
    fn print(&self) {
        self.written.iter().for_each(|file| line(self.directory.join(file).display()));
        print_origins(&self.taken, &self.guessed);
    }
}

/// What `cluster.yaml` follows from, and what is to be edited there.
fn print_origins(taken: &[Taken], guessed: &[Guess]) {
    if !taken.is_empty() {
        line("\ntaken over from install-config.yaml, which is used as it is:");
        let row = |Taken { place, value, became }: &Taken| {
            let line = place.line.map_or_else(|| "default".to_owned(), |line| line.to_string());
            vec![line, place.field.clone(), value.clone(), became.clone()]
        };
        table(&["LINE", "FIELD", "VALUE", "IN CLUSTER.YAML"], &taken.iter().map(row).collect::<Vec<_>>());
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

/// Writes a cluster directory; with `from`, for an existing install-config.
fn init(env: Env<'_>, directory: &Path, from: Option<&Path>, release: Option<&str>) -> Result<Initialised> {
    fs::create_dirs(directory)?;
    let directory = fs::canonical(directory)?;
    let own = directory.join(INSTALL_CONFIG);
    let example = || Generated { text: config::cluster_yaml().to_owned(), taken: vec![], guessed: vec![] };
    let (install_config, cluster) = match from {
        None => (Some(config::install_config_yaml().to_owned()), example()),
        Some(path) => {
            let text = fs::read_text(path)?;
            let source = Source { name: &path.display().to_string(), text: &text };
            let cluster = config::cluster_yaml_for(source, Known { release, ..Known::default() })?;
            let in_place = fs::exists(&own)? && fs::canonical(path)? == own;
            (Some(text).filter(|_| !in_place), cluster)
        }
    };
    let Generated { text: cluster, taken, guessed } = cluster;
    let files = [(INSTALL_CONFIG, install_config), (CLUSTER, Some(cluster))];
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
            let mode = if name == INSTALL_CONFIG { 0o600 } else { 0o644 };
            fs::write_whole(&directory.join(name), text.as_bytes(), mode)?;
            written.push(name.to_owned());
        }
    }
    written.extend(seed_file(env, &directory)?);
    Ok(Initialised { directory, written, taken, guessed })
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
