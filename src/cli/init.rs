//! `init`: a commented, valid cluster directory. Never overwrites.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde::Serialize;

use super::output::line;
use super::{Error, Printer, Result};
use crate::base::fs;
use crate::openshift::config::{self, Source};
use crate::openshift::workspace::{CLUSTER, Env, INSTALL_CONFIG, LOCK, SEED, seed};

/// Write a commented, valid cluster directory; never overwrites
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tinderbox init ocp4
  tinderbox init --from install-config.yaml    writes the cluster.yaml that matches it")]
pub(super) struct Args {
    /// The directory to write; default: the cluster directory
    dir: Option<PathBuf>,
    /// An existing install-config.yaml to write the cluster.yaml for
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
}

impl Args {
    pub(super) fn run(self, env: Env<'_>, printer: Printer<'_>) -> Result<ExitCode> {
        let done = init(env, self.dir.as_deref().unwrap_or(env.directory), self.from.as_deref())?;
        Ok(printer.answer(&done, || {
            done.written.iter().for_each(|file| line(done.directory.join(file).display()));
        }))
    }
}

#[derive(Debug, Serialize)]
struct Initialised {
    directory: PathBuf,
    written: Vec<String>,
}

/// Writes a cluster directory; with `from`, for an existing install-config.
fn init(env: Env<'_>, directory: &Path, from: Option<&Path>) -> Result<Initialised> {
    fs::create_dirs(directory)?;
    let directory = fs::canonical(directory)?;
    let own = directory.join(INSTALL_CONFIG);
    let (install_config, cluster) = match from {
        None => (Some(config::install_config_yaml().to_owned()), config::cluster_yaml().to_owned()),
        Some(path) => {
            let text = fs::read_text(path)?;
            let cluster =
                config::cluster_yaml_for(Source { name: &path.display().to_string(), text: &text })?;
            let in_place = fs::exists(&own)? && fs::canonical(path)? == own;
            (Some(text).filter(|_| !in_place), cluster)
        }
    };
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
    if !seed::is_there(env, &directory)? {
        if fs::exists(&directory.join(LOCK))? {
            return Err(seed::lost(&directory).into());
        }
        seed::make(&directory)?;
        written.push(SEED.to_owned());
    }
    seed::ignore(&directory)?;
    Ok(Initialised { directory, written })
}
