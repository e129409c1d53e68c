//! `blame`: traces a file back through the graph to the derivation that wrote it, the lines of its template, the config
//! fields that set them, and the images that it came from.

mod walk;

use std::process::ExitCode;

use schemars::JsonSchema;
use serde::Serialize;

use super::about::{self, Purposes, content};
use super::artifact::{Artifact, near_file};
use super::explain::{Origin, fact, show_about, show_origin};
use super::node_entries::{self, NodeEntry};
use super::output::{Colour, line, stdout_paint};
use super::{Error, Printer, Result, complete, targets};
use crate::base::hint::Place;
use crate::cli::document::{Document, Documented};
use crate::openshift::knowledge::About;
use crate::openshift::workspace::Env;
use walk::BlameWalk;

/// Show where a file comes from: derivation, input, image, template line and config field
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tinderbox blame ignition/master-0:/etc/hostname          a path on the node
  tinderbox blame cluster:manifests/cluster-dns-02-config.yml")]
pub(super) struct Args {
    /// `DERIVATION:PATH`; a path with a leading `/` is one on the node
    #[arg(add = complete::target())]
    target: Option<String>,
}

impl Documented for Args {
    const DOCUMENTS: &'static [Document] = &[Document::of::<Blame>()];
}

impl Args {
    pub(super) fn run(self, env: Env<'_>, printer: Printer<'_>) -> Result<ExitCode> {
        let accepted = "a file of a derivation (`cluster:manifests/cluster-dns-02-config.yml`) or of a node \
                        (`ignition/master-0:/etc/hostname`)";
        let target = self.target.ok_or_else(|| targets::needed(env, "blame", accepted))?;
        let found = blame(env, &target)?;
        Ok(printer.answer(&found, || show(&found)))
    }
}

fn show(found: &Blame) {
    let Blame { target, path, about, entry, why, replaces, way, template, lines, origins, images } = found;
    line(stdout_paint(&format!("{target}:{path}"), Colour::Green));
    show_about(about);
    if let Some(entry) = entry {
        let words = [Some(entry.kind), entry.mode.as_deref(), entry.state.as_deref()];
        let secret = entry.secret.then_some("secret");
        fact("what", words.into_iter().flatten().chain(secret).collect::<Vec<_>>().join(", "));
    }
    why.iter().for_each(|why| fact("why", why.clone()));
    replaces.iter().for_each(|why| fact("replaces", format!("what the base has: {why}")));
    for BlameStep { derivation, path, recipe, builder } in way {
        let inside = if path.is_empty() { String::new() } else { format!(":{path}") };
        fact("from", format!("{derivation}{inside}  ({builder}, {recipe})"));
    }
    template.iter().for_each(|file| fact("template", file.clone()));
    for BlameLine { line: at, template, names } in lines {
        let names = names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        fact("line", format!("{at}: {names} at {template}"));
    }
    origins.iter().map(show_origin).for_each(|text| fact("origin", text));
    for (derivation, image) in images {
        fact("image", format!("{image}  ({derivation})"));
    }
}

#[derive(Debug, Serialize, JsonSchema)]
struct Blame {
    target: String,
    /// The file in it, or on the node.
    path: String,
    /// What it is for; several for a manifest with several objects.
    about: Vec<About>,
    /// Its entry in the node's configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    entry: Option<NodeEntry>,
    /// Why it is on the node.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    why: Vec<String>,
    /// Why it may replace the base's entry.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    replaces: Vec<String>,
    /// The trace: the artifact first, the derivation that wrote the file last.
    way: Vec<BlameStep>,
    /// The template, if one wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    template: Option<String>,
    /// Lines that contain values, with the template line that wrote them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    lines: Vec<BlameLine>,
    /// Config fields and inputs that determined it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    origins: Vec<Origin>,
    /// Images that it, or its sources, came from: the derivation that names one, and the image by digest.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    images: Vec<(String, String)>,
}

/// One derivation of the trace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
struct BlameStep {
    derivation: String,
    /// The file in its output; empty for the whole output.
    path: String,
    recipe: String,
    builder: String,
}

/// A line of the file that contains a value.
#[derive(Debug, Serialize, JsonSchema)]
struct BlameLine {
    /// From 1.
    line: usize,
    /// The template line that wrote it.
    template: Place,
    names: Vec<String>,
}

/// Traces the origin of `NAME:PATH`, or of the only file of `NAME`.
fn blame(env: Env<'_>, target: &str) -> Result<Blame> {
    let (name, path) = target.split_once(':').map_or((target, None), |(name, path)| (name, Some(path)));
    if name.starts_with('/') {
        let advice = format!("name the node too: `ignition/NODE:{target}`");
        return Err(Error::usage(format!("`{target}` is a path, and every node has its own files"), advice));
    }
    let found = Artifact::find_with(env, name, path)?;
    let leaves: Vec<&str> = found.object.listing.leaves("").map(|(path, _)| path).collect();
    let path = match (path, leaves.as_slice()) {
        (Some(path), _) | (None, &[path]) => path,
        (None, _) => {
            return Err(Error::usage(
                format!("`{name}` has several files"),
                format!("name one: `{name}:PATH`; `tinderbox show {name}` lists them"),
            ));
        }
    };
    let name = found.node().name.clone();
    let name = name.as_str();
    let entries = node_entries::entries(&found)?;
    let mut blame = Blame {
        target: name.to_owned(),
        path: path.to_owned(),
        about: Vec::new(),
        entry: None,
        why: Vec::new(),
        replaces: Vec::new(),
        way: Vec::new(),
        template: None,
        lines: Vec::new(),
        origins: Vec::new(),
        images: Vec::new(),
    };
    let walk = BlameWalk { found: &found };
    if path.starts_with('/') && !entries.is_empty() {
        let entry = node_entries::find(&entries, name, path)?.clone();
        let tell = |of: fn(&crate::openshift::ignition::Origin) -> Option<&String>| {
            entry.origins.iter().filter_map(of).cloned().collect::<Vec<_>>()
        };
        blame.why = tell(|origin| Some(&origin.why));
        blame.replaces = tell(|origin| origin.replaces.as_ref());
        walk.entry(&entry, &mut blame);
        let node = name.rsplit('/').next().unwrap_or_default();
        let text = content(&found, &format!("tree{}", entry.on_node()));
        let purposes = Purposes { workspace: &found.workspace };
        blame.about = purposes.entry(node, &entry, text.as_deref())?;
        blame.entry = Some(entry);
    } else {
        if found.object.listing.get(path).is_none() {
            let paths = found.object.listing.leaves("").map(|(path, _)| path);
            let advice = Some(near_file(name, path, paths));
            return Err(Error::NoPath { target: name.to_owned(), path: path.to_owned(), advice });
        }
        walk.back(found.at(), path.to_owned(), &mut blame);
        blame.about = about::of(&found, path)?;
    }
    Ok(blame)
}
