//! `fleet export`: a site as a plain cluster directory, which gives the same ids. Its seed can be handed out alone: nobody who has
//! it learns anything about another site.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use schemars::JsonSchema;
use serde::Serialize;

use super::open::Opened;
use crate::base::fs;
use crate::cli::document::{Document, Documented};
use crate::cli::output::{count, line};
use crate::cli::{Error, Printer, Result};
use crate::openshift::config::Cluster;
use crate::openshift::workspace::{CLUSTER, Env, INSTALL_CONFIG, LOCK, Missing, SEED, SiteDir, seed};

/// Write a site as a plain cluster directory, with its lock and its seed: it gives the same ids
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tinderbox -C fleet fleet export berlin ../berlin
  tinderbox -C ../berlin build                 the same artifacts, byte for byte")]
pub(in crate::cli) struct Args {
    /// The site
    #[arg(value_name = "SITE")]
    name: String,
    /// A new or an empty directory
    dir: PathBuf,
}

impl Documented for Args {
    const DOCUMENTS: &'static [Document] = &[Document::of::<Exported>()];
}

#[derive(Debug, Serialize, JsonSchema)]
struct Exported {
    directory: PathBuf,
    /// Relative to the directory.
    files: Vec<String>,
    /// Files that the configuration names and that are where they were: not in the fleet's directory, or images of the node OS.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    left: Vec<String>,
}

impl Args {
    pub(in crate::cli) fn run(self, env: Env<'_>, printer: Printer<'_>) -> Result<ExitCode> {
        if fs::optional(fs::list(&self.dir))?.is_some_and(|names| !names.is_empty()) {
            return Err(Error::NotEmpty { path: self.dir });
        }
        let opened = Opened::open(env, Missing::Make)?;
        let fleet = &opened.fleet.path;
        let done = opened.within(env, &self.name, |env| match env.site {
            Some(site) => export(fleet, site, &self.dir),
            None => {
                let message =
                    format!("`{}` is a cluster directory already: {}", self.name, env.directory.display());
                Err(Error::usage(message, "copy it"))
            }
        })?;
        Ok(printer.answer(&done, || {
            line(format!("{}: {}", done.directory.display(), count(done.files.len(), "file")));
            for file in &done.left {
                line(format!("not copied: `{file}`, which the configuration names"));
            }
        }))
    }
}

fn export(fleet: &Path, site: &SiteDir, to: &Path) -> Result<Exported> {
    let SiteDir { name: _, directory, cluster, lock, seed: own } = site;
    fs::create_dirs(to)?;
    let to = fs::canonical(to)?;
    let mut files = Vec::new();
    let mut put = |name: &str, bytes: &[u8], mode: u32| {
        let path = to.join(name);
        if let Some(parent) = path.parent() {
            fs::create_dirs(parent)?;
        }
        files.push(name.to_owned());
        fs::write_whole(&path, bytes, mode)
    };
    // install-config may have the pull secret in it.
    put(INSTALL_CONFIG, directory.read(INSTALL_CONFIG)?.as_bytes(), 0o600)?;
    put(CLUSTER, directory.read(CLUSTER)?.as_bytes(), 0o644)?;
    put(LOCK, lock.encode().as_bytes(), 0o644)?;
    put(SEED, own.reveal(), 0o600)?;
    for kind in ["manifests", "patches", "recipes"] {
        for (name, bytes, mode) in directory.files_of(kind)? {
            put(&format!("{kind}/{name}"), &bytes, mode)?;
        }
    }
    let mut left = Vec::new();
    for (file, mode) in named_files(cluster) {
        let is_inside =
            Path::new(&file).components().all(|part| matches!(part, std::path::Component::Normal(_)));
        match is_inside && !fs::exists(&to.join(&file))? {
            true => put(&file, &fs::read(&fleet.join(&file))?, mode)?,
            false => left.push(file),
        }
    }
    left.extend(cluster.rhcos.files().into_iter().filter_map(|(_, file)| file.clone()));
    seed::ignore(&to)?;
    Ok(Exported { directory: to, files, left })
}

/// Files that the configuration names, and who may read them.
fn named_files(cluster: &Cluster) -> Vec<(String, u32)> {
    let mut files: Vec<(String, u32)> =
        cluster.pull_secret_file.iter().map(|file| (file.clone(), 0o600)).collect();
    for one in cluster.authorities.values() {
        files.extend([(one.certificate.clone(), 0o644), (one.key.clone(), 0o600)]);
    }
    files.extend(cluster.release_keys.iter().flatten().map(|file| (file.clone(), 0o644)));
    for cache in &cluster.caches {
        files.extend(cache.auth_file.iter().map(|file| (file.clone(), 0o600)));
        files.extend(cache.ca.iter().map(|file| (file.clone(), 0o644)));
    }
    files.sort();
    files.dedup_by(|one, other| one.0 == other.0);
    files
}
