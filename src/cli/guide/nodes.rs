//! The files of nodes in the guide: each is a place of what a derivation made, or an entry of its own.

use std::collections::BTreeMap;

use super::collect::{Collector, config_origins};
use super::headings::area;
use crate::base::fs;
use crate::cli::Result;
use crate::cli::about;
use crate::cli::explain::Origin;
use crate::cli::explain::template_lines::Template;
use crate::cli::explain::value_origin::{origin, origins};
use crate::cli::node_entries::{self, NodeEntry};
use crate::compare::guide::{GuideEntry, NodePlace};
use crate::engine::recipe::{GraphNode, NodeIndex};
use crate::openshift::config::Role;
use crate::openshift::ignition::OriginKind;
use crate::openshift::knowledge::NodeFiles;

/// The folder of nodes' configurations.
const NODES: &str = "ignition/";

impl Collector<'_> {
    /// Every entry of every node: a place of what a derivation made, or an entry of its own.
    pub(super) fn nodes(&mut self) -> Result<()> {
        let mut own: BTreeMap<(String, Vec<u8>), usize> = BTreeMap::new();
        let nodes = &self.found.workspace.cluster.nodes;
        for name in nodes.iter().map(|node| node.name.clone()) {
            let at = self.found.workspace.find(&format!("{NODES}{name}"))?;
            let Some(object) = self.object(at)? else { continue };
            for one in node_entries::list(&object, Some(self.node(at)))? {
                let place = NodePlace { node: name.clone(), path: one.on_node() };
                if let Some(index) = self.made_elsewhere(at, &one) {
                    self.placed[index].entry.places.push(place);
                    continue;
                }
                let inside = format!("tree{}", one.on_node());
                let bytes = fs::read(&object.path.join(&inside)).unwrap_or_default();
                let key = (format!("{} {:?}", one.on_node(), self.is_bootstrap(&name)), bytes.clone());
                if let Some(index) = own.get(&key) {
                    self.placed[*index].entry.places.push(place);
                    continue;
                }
                let index = self.node_entry(at, &name, &one, &bytes)?;
                self.placed[index].entry.places.push(place);
                own.insert(key, index);
            }
        }
        Ok(())
    }

    fn is_bootstrap(&self, node: &str) -> bool {
        let nodes = &self.found.workspace.cluster.nodes;
        nodes.iter().any(|known| known.name == node && known.role == Role::Bootstrap)
    }

    /// The entry of the derivation that made a node's file unchanged.
    fn made_elsewhere(&self, at: NodeIndex, one: &NodeEntry) -> Option<usize> {
        let origin = one.origins.iter().find(|origin| origin.kind == OriginKind::Input)?;
        let edge = self.node(at).inputs.get(&origin.name)?;
        let paths = [edge.path.as_deref().unwrap_or_default(), &origin.path];
        let path = paths.into_iter().filter(|path| !path.is_empty()).collect::<Vec<_>>().join("/");
        let (writer, inside) = about::writer(self.found, edge.node, path);
        let name = &self.node(writer).name;
        // What only nodes have, and what their chapters are about.
        let is_own = ["mco/", "bootstrap-config/", "script/"].iter().any(|own| name.starts_with(own));
        (!is_own).then(|| self.known.get(&(name.clone(), inside)).copied())?
    }

    fn node_entry(&mut self, at: NodeIndex, name: &str, one: &NodeEntry, bytes: &[u8]) -> Result<usize> {
        let text = std::str::from_utf8(bytes).ok().filter(|text| !text.is_empty());
        let about = self.purposes.entry(name, one, text)?;
        let path = one.on_node();
        let node = self.node(at);
        let is_rendered = one
            .origins
            .iter()
            .any(|origin| matches!(origin.kind, OriginKind::Base | OriginKind::MachineConfig));
        let wanted = if is_rendered { NodeFiles::Rendered } else { NodeFiles::Ours };
        let chapter = self.chapters.iter().find(|chapter| chapter.files == Some(wanted));
        let chapter = chapter.map_or("ignition", |chapter| chapter.id.as_str());
        let title = if one.kind == "user" { format!("user {}", one.path) } else { path.clone() };
        let mut entry = GuideEntry {
            kind: one.kind.to_owned(),
            recipe: Some(one.from.join(", ")),
            origins: config_origins(entry_origins(node, one)),
            command: format!("tinderbox blame {NODES}{name}:{path}"),
            ..self.empty(&title, about)
        };
        self.contents.fill_node_file(one, text, &mut entry);
        self.meanings(&mut entry)?;
        Ok(self.place(chapter, area(one, self.is_bootstrap(name)), entry))
    }
}

/// What determined an entry of a node: fields of templates and of the config.
fn entry_origins(node: &GraphNode, one: &NodeEntry) -> Vec<Origin> {
    let mut found = Vec::new();
    for from in &one.origins {
        match from.kind {
            OriginKind::Template => {
                let template = Template::new(node, &from.name);
                let all: Vec<usize> = (0..template.lines.len()).collect();
                found.extend(origins(node, &template, &all));
            }
            OriginKind::Config => found.extend(origin(node, &from.name)),
            _ => {}
        }
    }
    found
}
