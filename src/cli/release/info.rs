//! `release info`: what a release is and what it contains.

use std::collections::BTreeMap;
use std::process::ExitCode;

use schemars::JsonSchema;
use serde::Serialize;

use super::digest_of;
use crate::base::fs;
use crate::cli::document::{Document, Documented};
use crate::cli::output::{Colour, line, size, stdout_paint, terminal};
use crate::cli::{Error, Printer, Result};
use crate::engine::store::{Object, StoreError};
use crate::openshift::lock::Signatures;
use crate::openshift::workspace::{Env, Workspace, parse_lock, read_release_image, release_named};

/// Show what a release is and what is in it
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tinderbox release info
  tinderbox release info demo:4.19 --json")]
pub(crate) struct Args {
    /// A release; default: the pinned one
    reference: Option<String>,
}

impl Documented for Args {
    const DOCUMENTS: &'static [Document] = &[Document::of::<Info>()];
}

impl Args {
    pub(super) fn run(self, env: Env<'_>, printer: Printer<'_>) -> Result<ExitCode> {
        let info = info(env, self.reference.as_deref())?;
        Ok(printer.answer(&info, || show(&info)))
    }
}

fn show(info: &Info) {
    line(format!(
        "{}  {}  linux/{}",
        stdout_paint(&info.version, Colour::Green),
        info.reference,
        info.architecture
    ));
    line(format!("image       {}", info.image));
    line(format!("created     {}", info.created.as_deref().unwrap_or("(unknown)")));
    line(format!("size        {} in {} layers", size(info.size), info.layers));
    line(format!("manifests   {}, {} CRDs apply to this cluster", info.manifests, info.crds));
    line(format!("signatures  {}", signed(info)));
    info.not_verified.iter().for_each(|doubt| line(format!("            {doubt}")));
    let width = info.components.keys().map(String::len).max().unwrap_or(0);
    let room = terminal().map(|(columns, _)| columns.saturating_sub(width + 4));
    let is_wide = room.is_none_or(|room| info.components.values().all(|image| image.len() <= room));
    let more = if is_wide { "" } else { ", in short; `--json` has the pull specs" };
    line(format!("components  {}{more}", info.components.len()));
    for (component, image) in &info.components {
        line(format!("  {component:<width$}  {}", if is_wide { image } else { short(image) }));
    }
}

/// The beginning of a pull spec's digest, for a terminal that has no room for all of it.
fn short(image: &str) -> &str {
    let digest = image.rsplit_once('@').map_or(image, |(_, digest)| digest);
    let hex = digest.find(':').map_or(0, |colon| colon + 1);
    digest.get(..hex + 12).unwrap_or(digest)
}

/// What is known of signatures, in one line.
fn signed(info: &Info) -> String {
    match &info.signatures {
        Some(seen) => seen.summary(),
        None if info.reference.starts_with("demo:") => {
            "none: the demo release is part of tinderbox".to_owned()
        }
        None => "not looked at: `tinderbox lock` does it when it pins a release".to_owned(),
    }
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Info {
    pub(super) reference: String,
    /// By digest.
    pub(super) image: String,
    /// As declared by the image.
    pub(super) version: String,
    /// Of the images in use.
    pub(super) architecture: String,
    /// As declared by the image.
    pub(super) created: Option<String>,
    pub(super) layers: usize,
    /// Compressed size of the layers.
    pub(super) size: u64,
    pub(super) manifests: usize,
    pub(super) crds: usize,
    pub(super) components: BTreeMap<String, String>,
    /// What `lock` saw of signatures, if this is the pinned release.
    #[serde(skip_serializing_if = "Option::is_none")]
    signatures: Option<Signatures>,
    /// What that does not prove, in sentences.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    not_verified: Vec<String>,
}

/// Inspects a release; by default the pinned one.
pub(super) fn info(env: Env<'_>, reference: Option<&str>) -> Result<Info> {
    let release = release_named(env, reference)?;
    let workspace = Workspace::load_release(env, &release)?;
    let (manifest, config) =
        read_release_image(workspace.opened()?, &digest_of(&release)?, &release.architecture)?;
    let session = workspace.session(env)?;
    let targets =
        workspace.select(&["release/payload".into(), "release/images".into(), "release/crds".into()])?;
    let outcome = workspace.build(env, &session, &targets)?;
    let object = |name: &str| -> Result<Object> {
        let done = workspace.graph.find(name).and_then(|at| outcome.done.get(&at));
        let done = done.ok_or_else(|| Error::NotBuilt { target: name.to_owned() })?;
        Ok(session.store().object(done.output.object)?)
    };
    let images = object("release/images")?;
    let path = images.path.join("images.json");
    let components = serde_json::from_str(&fs::read_text(&path)?)
        .map_err(|source| StoreError::Unreadable { path, source })?;
    let lock = parse_lock(&workspace.directory)?.filter(|lock| lock.release.as_ref() == Some(&release));
    let signatures = lock.and_then(|lock| lock.signatures);
    Ok(Info {
        not_verified: signatures.as_ref().map(Signatures::doubts).unwrap_or_default(),
        signatures,
        layers: manifest.layers.len(),
        size: manifest.layers.iter().map(|layer| layer.size).sum(),
        created: config.created,
        manifests: object("release/payload")?.listing.leaves("manifests").count(),
        crds: object("release/crds")?.listing.leaves("").count(),
        components,
        reference: release.reference,
        image: release.image,
        version: release.version,
        architecture: release.architecture,
    })
}
