//! `show`: the content of an artifact, or one file of it. Secrets are masked unless requested. For a node's
//! configuration, it shows what the node gets, and a path with a leading `/` is a path on the node.

use std::path::PathBuf;
use std::process::ExitCode;

use schemars::JsonSchema;
use serde::Serialize;

use super::artifact::{Artifact, FileText, file};
use super::document::{Document, Documented};
use super::explain;
use super::node_entries::{self, NodeEntry};
use super::output::{self, line, size, table};
use super::{Error, Printer, Result, complete, targets};
use crate::base::digest::{DrvId, ObjectId};
use crate::base::secret::MASK;
use crate::engine::tree::{EntryKind, TreeEntry};
use crate::openshift::workspace::{self, Env, Missing, Workspace};

/// Show an artifact, or one file of it
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tinderbox show infra/haproxy
  tinderbox show cluster:manifests/cluster-dns-02-config.yml
  tinderbox show ignition/master-0                         what the node gets
  tinderbox show ignition/master-0:/etc/hostname           one file of it
  tinderbox show static-pod/kube-apiserver --explain etcd-servers
  tinderbox show pki/kube-apiserver --explain              field by field, and who shows it to whom
  tinderbox show infra/haproxy --explain \"listen api\"
  tinderbox show ignition/master-0:/etc/systemd/system/kubelet.service --explain ExecStart
  tinderbox show manifest/cluster-network-02-config --explain spec.serviceNetwork")]
pub(super) struct Args {
    /// A derivation, `DERIVATION:PATH`, or a folder
    #[arg(add = complete::target())]
    target: Option<String>,
    /// Explain what it is for, who reads it and what breaks without it; or what decides one flag (`--etcd-servers`), field
    /// (`spec.hostNetwork`) or part (`ExecStart`, `listen api`, `names`) of it
    #[arg(long, value_name = "FLAG|FIELD|PART", num_args = 0..=1, conflicts_with = "reveal")]
    explain: Option<Option<String>>,
    /// Show secrets; on a terminal only
    #[arg(long)]
    reveal: bool,
}

impl Documented for Args {
    const DOCUMENTS: &'static [Document] = &[
        Document::of::<Shown>(),
        Document::of::<Folder>().when("folder", "FOLDER"),
        Document::of::<explain::Explanation>().when("explain", "TARGET --explain FIELD"),
    ];
}

impl Args {
    pub(super) fn run(self, env: Env<'_>, printer: Printer<'_>) -> Result<ExitCode> {
        if self.reveal && !output::is_terminal() {
            return Err(Error::usage(
                "`--reveal` shows secrets on a terminal only",
                "`tinderbox export DIR` copies them, for their owner only",
            ));
        }
        let accepted = "a derivation (`infra/haproxy`), a folder of them (`infra`), or a file \
                        (`cluster:manifests/cluster-dns-02-config.yml`, `ignition/master-0:/etc/hostname`)";
        let target = self.target.ok_or_else(|| targets::needed(env, "show", accepted))?;
        if let Some(what) = &self.explain {
            let explanation = explain::explain(env, &target, what.as_deref())?;
            return Ok(printer.answer(&explanation, || explain::show(&explanation)));
        }
        if let Some(folder) = folder(env, &target)? {
            return Ok(printer.answer(&folder, || folder.print()));
        }
        let shown = show(env, &target, self.reveal)?;
        let code = printer.answer(&shown, || shown.print());
        if !self.reveal && shown.has_secrets() {
            printer.events.conclude(|_| "note: secrets are masked; `--reveal` shows them".to_owned());
        }
        Ok(code)
    }
}

impl Shown {
    /// Whether the file that is shown has something that only `--reveal` shows.
    fn has_secrets(&self) -> bool {
        self.file.as_ref().is_some_and(|file| file.content.contains(MASK))
    }

    fn print(&self) {
        match &self.file {
            Some(file) => {
                output::text(&file.content);
                if !file.content.ends_with('\n') {
                    line("");
                }
            }
            None if !self.node.is_empty() => node_entries::print(&self.node),
            None => {
                let rows = self.entries.iter().filter(|entry| entry.kind != "directory").map(|entry| {
                    let secret = if entry.secret { "secret" } else { "" };
                    vec![entry.kind.to_owned(), secret.to_owned(), size(entry.size), entry.path.clone()]
                });
                table(&["KIND", "", "SIZE", "PATH"], &rows.collect::<Vec<_>>());
            }
        }
    }
}

/// The derivations of a folder.
#[derive(Debug, Serialize, JsonSchema)]
struct Folder {
    folder: String,
    derivations: Vec<Member>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Member {
    name: String,
    summary: String,
    /// None if it is not built.
    object: Option<ObjectId>,
    files: Option<usize>,
    size: Option<u64>,
}

impl Folder {
    fn print(&self) {
        let rows = self.derivations.iter().map(|member| {
            let files = member.files.map_or_else(|| "not built".to_owned(), |files| files.to_string());
            let size = member.size.map(size).unwrap_or_default();
            vec![member.name.clone(), files, size, member.summary.clone()]
        });
        table(&["TARGET", "FILES", "SIZE", "WHAT"], &rows.collect::<Vec<_>>());
    }
}

/// What is in a folder; none if the target is not one.
fn folder(env: Env<'_>, target: &str) -> Result<Option<Folder>> {
    let workspace = Workspace::load(env, Missing::Imagine)?;
    let selected = workspace.graph.select(target);
    if workspace.graph.find(target).is_some() || selected.is_empty() {
        return Ok(None);
    }
    let store = workspace::open_store_if_there(env.store, workspace.directory.path())?;
    let plan = store.as_ref().map(|store| workspace.plan(env, store, &selected)).transpose()?;
    let mut derivations = Vec::new();
    for at in selected {
        let node = &workspace.graph.nodes()[at];
        let done = plan.as_ref().and_then(|plan| plan.done.get(&at));
        let object = match (&store, done) {
            (Some(store), Some(done)) => Some(store.object(done.output.object)?),
            _ => None,
        };
        derivations.push(Member {
            name: node.name.clone(),
            summary: node.summary.clone(),
            object: object.as_ref().map(|object| object.id),
            files: object.as_ref().map(|object| object.listing.leaves("").count()),
            size: object.map(|object| object.listing.entries().map(|(_, entry)| entry.size()).sum()),
        });
    }
    derivations.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(Some(Folder { folder: target.trim_end_matches('/').to_owned(), derivations }))
}

#[derive(Debug, Serialize, JsonSchema)]
struct Shown {
    name: String,
    summary: String,
    recipe: String,
    drv: DrvId,
    object: ObjectId,
    path: PathBuf,
    entries: Vec<ShownEntry>,
    /// What a node gets, if this is a node's configuration.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    node: Vec<NodeEntry>,
    /// The requested or only file: its path and its text.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<FileText>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ShownEntry {
    path: String,
    /// `file`, `executable`, `directory` or `link`.
    kind: &'static str,
    secret: bool,
    size: u64,
    /// BLAKE3, keyed if it is secret.
    digest: String,
}

/// Shows `NAME` or `NAME:PATH`.
fn show(env: Env<'_>, target: &str, reveal: bool) -> Result<Shown> {
    let (name, path) = target.split_once(':').map_or((target, None), |(name, path)| (name, Some(path)));
    let found = Artifact::find_with(env, name, path)?;
    let name = found.node().name.clone();
    let name = name.as_str();
    let leaves: Vec<&str> = found.object.listing.leaves("").map(|(path, _)| path).collect();
    let node = node_entries::entries(&found)?;
    let file = match (path, leaves.as_slice()) {
        (Some(path), _) if path.starts_with('/') && !node.is_empty() => {
            Some(node_entries::file(&found.object, name, path, &node, reveal)?)
        }
        (Some(path), _) => Some(file(&found.object, name, path, reveal)?),
        (None, [only]) => Some(file(&found.object, name, only, reveal)?),
        (None, _) => None,
    };
    Ok(Shown {
        name: name.to_owned(),
        summary: found.node().summary.clone(),
        recipe: found.node().recipe.clone(),
        node,
        drv: found.drv,
        object: found.object.id,
        entries: found.object.listing.entries().skip(1).map(|(path, entry)| shown(path, entry)).collect(),
        path: found.object.path,
        file,
    })
}

fn shown(path: &str, entry: &TreeEntry) -> ShownEntry {
    let kind = match entry.kind {
        EntryKind::File { exec: false, .. } => "file",
        EntryKind::File { exec: true, .. } => "executable",
        EntryKind::Dir => "directory",
        EntryKind::Link { .. } => "link",
    };
    let digest = entry.digest.to_string();
    ShownEntry { path: path.to_owned(), kind, secret: entry.secret, size: entry.size(), digest }
}
