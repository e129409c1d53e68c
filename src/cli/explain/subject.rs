//! What `--explain` is asked about: a file of an artifact or of a node, the derivation that wrote it, its purpose and
//! its parts.

use schemars::JsonSchema;
use serde::Serialize;

use crate::base::fs;
use crate::base::secret::MASK;
use crate::cli::about::{self, Purposes, content};
use crate::cli::artifact::Artifact;
use crate::cli::node_entries;
use crate::cli::{Error, Result};
use crate::compare::parts::{Format, Part};
use crate::engine::recipe::{GraphNode, NodeIndex};
use crate::engine::tree::EntryKind;
use crate::openshift::ignition::OriginKind;
use crate::openshift::knowledge::About;

/// A file, or a whole derivation.
pub(super) struct Subject {
    /// The file, as the user names it; empty for a whole derivation.
    pub(super) file: String,
    /// Its text; of a secret file, only for formats that mask their values.
    pub(super) text: String,
    pub(super) is_secret: bool,
    pub(super) about: Vec<About>,
    /// The derivation that wrote it, and its template there, if it has one.
    pub(super) writer: NodeIndex,
    pub(super) template: Option<String>,
}

/// A part and what it means.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::cli) struct NamedPart {
    #[serde(flatten)]
    pub(super) part: Part,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) meaning: Option<String>,
}

impl Subject {
    /// `path` may be a path on a node. Without one, the only file of the artifact, or all of it.
    pub(super) fn of(found: &Artifact, path: Option<&str>) -> Result<Self> {
        let node = found.node();
        let leaves: Vec<&str> = found.object.listing.leaves("").map(|(path, _)| path).collect();
        match (path, leaves.as_slice()) {
            (Some(path), _) if path.starts_with('/') && node.builder.0 == "ignition" => {
                Self::of_node(found, path)
            }
            (Some(path), _) => Self::of_file(found, path),
            (None, [only]) => Self::of_file(found, only),
            (None, several) => {
                // All files of a certificate's derivation are about the same certificate.
                let own = several.iter().find(|path| path.starts_with(leaf(&node.name)));
                match own.filter(|path| path.ends_with(".crt")) {
                    Some(path) => Self::of_file(found, path),
                    None => Self::whole(found),
                }
            }
        }
    }

    fn whole(found: &Artifact) -> Result<Self> {
        let about = Purposes { workspace: &found.workspace }.file(found.at(), "", None)?;
        // A node's parts are those of its config.
        let config =
            found.object.listing.leaves("").map(|(path, _)| path).find(|path| path.ends_with(".ign"));
        let text = config.and_then(|path| content(found, path)).unwrap_or_default();
        let file = config.unwrap_or_default().to_owned();
        Ok(Self { file, text, is_secret: false, about, writer: found.at(), template: None })
    }

    fn of_file(found: &Artifact, path: &str) -> Result<Self> {
        let file = crate::cli::artifact::file(&found.object, &found.node().name, path, false)?;
        let (writer, inside) = about::writer(found, found.at(), path.to_owned());
        let template = template(&found.workspace.graph.nodes()[writer], &inside);
        let text = if file.masked { content(found, path).unwrap_or_default() } else { file.content };
        let about = about::of(found, path)?;
        Ok(Self { file: path.to_owned(), text, is_secret: file.masked, about, writer, template })
    }

    /// A file as a node gets it.
    fn of_node(found: &Artifact, path: &str) -> Result<Self> {
        let (name, at) = (found.node().name.as_str(), found.at());
        let entries = node_entries::entries(found)?;
        let entry = node_entries::find(&entries, name, path)?;
        let inside = format!("tree{path}");
        let text = found.object.listing.get(&inside).and_then(|found_entry| {
            matches!(found_entry.kind, EntryKind::File { .. }).then_some(())?;
            fs::read_text(&found.object.path.join(&inside)).ok()
        });
        let about = Purposes { workspace: &found.workspace }.entry(leaf(name), entry, text.as_deref())?;
        let of_kind = |kind| entry.origins.iter().find(move |origin| origin.kind == kind);
        let (mut writer, mut alias) = (at, of_kind(OriginKind::Template).map(|origin| origin.name.clone()));
        if let Some(origin) = of_kind(OriginKind::Input)
            && let Some(edge) = found.node().inputs.get(&origin.name)
        {
            let paths = [edge.path.as_deref().unwrap_or_default(), &origin.path];
            let path = paths.into_iter().filter(|path| !path.is_empty()).collect::<Vec<_>>().join("/");
            let (wrote, inside) = about::writer(found, edge.node, path);
            alias = template(&found.workspace.graph.nodes()[wrote], &inside);
            writer = wrote;
        }
        Ok(Self {
            file: path.to_owned(),
            text: text.unwrap_or_default(),
            is_secret: entry.secret,
            about,
            writer,
            template: alias,
        })
    }

    /// How it is written; none for YAML and what has no parts.
    pub(super) fn format(&self) -> Option<Format> {
        Format::of(&self.file, &self.text).filter(|format| !self.is_secret || *format == Format::Kubeconfig)
    }

    /// Its parts, with their meanings.
    pub(super) fn parts(&self, found: &Artifact) -> Result<Vec<NamedPart>> {
        let Some(format) = self.format() else { return Ok(Vec::new()) };
        let (table, release) = (found.workspace.knowledge.fields.get()?, found.workspace.release());
        let named = |part: Part| {
            // Fields of further certificates are numbered.
            let name = match format {
                Format::Certificate => part.name.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end(),
                _ => part.name.as_str(),
            };
            let meaning = table.meaning(release, format.name(), name).map(str::to_owned);
            NamedPart { part, meaning }
        };
        Ok(format.parts(&self.text).into_iter().map(named).collect())
    }

    /// The text to look for YAML fields in.
    pub(super) fn public_text(&self, found: &Artifact, target: &str) -> Result<&str> {
        if self.is_secret {
            return Err(Error::usage(
                format!("`{target}:{}` is secret: its lines are not explained", self.file),
                format!(
                    "its template is in the recipe {}",
                    found.workspace.graph.nodes()[self.writer].recipe
                ),
            ));
        }
        Ok(if self.text.is_empty() { MASK } else { &self.text })
    }
}

fn leaf(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// The template of a file, by its name in the recipe.
fn template(node: &GraphNode, path: &str) -> Option<String> {
    (node.builder.0 == "template" && node.files.contains_key(path)).then(|| path.to_owned())
}
