//! Collects the guide: the user's files, every derivation of the cluster, and every file of every node.

use std::collections::{BTreeMap, BTreeSet};

use super::contents::Contents;
use crate::base::fs;
use crate::base::hint::Place;
use crate::cli::Result;
use crate::cli::about::{self, Purposes};
use crate::cli::artifact::Artifact;
use crate::cli::expiry::{self, Output};
use crate::cli::explain::template_lines::Template;
use crate::cli::explain::value_origin::{origin, origins};
use crate::cli::explain::{Kind, Origin};
use crate::cli::node_entries::{self, NodeEntry};
use crate::compare::guide::{
    Guide, GuideChapter, GuideCheck, GuideDeadline, GuideEntry, GuideGroup, GuideOrigin, GuideShown,
    NodePlace, slug,
};
use crate::engine::recipe::{GraphNode, NodeIndex};
use crate::engine::store::Object;
use crate::openshift::ignition::OriginKind;
use crate::openshift::knowledge::{About, BootFact, Chapter, Known, NodeFiles, Purpose};
use crate::openshift::workspace::{CLUSTER, Env, INSTALL_CONFIG, LOCK};

/// Identifies the format of the document.
const SHAPE: &str = "tinderbox-guide/1";
/// The folder of nodes' configurations.
const NODES: &str = "ignition/";

/// An entry, and where it belongs.
struct Placed {
    chapter: String,
    group: String,
    entry: GuideEntry,
}

struct Collector<'a> {
    found: &'a Artifact,
    purposes: Purposes<'a>,
    contents: Contents,
    facts: BTreeMap<&'a str, (&'a BootFact, bool)>,
    chapters: Vec<&'a Chapter>,
    placed: Vec<Placed>,
    /// Entries by derivation and file.
    known: BTreeMap<(String, String), usize>,
    ids: BTreeSet<String>,
}

/// Collects the book of the last build.
pub(super) fn guide(env: Env<'_>) -> Result<Guide> {
    let found = Artifact::find(env, "cluster")?;
    let workspace = &found.workspace;
    let release = workspace.release();
    let mut collector = Collector {
        purposes: Purposes { workspace },
        contents: Contents::new(env, workspace)?,
        facts: workspace.knowledge.boot_facts.get()?.facts(release),
        chapters: workspace.knowledge.guide.get()?.chapters(release).collect(),
        found: &found,
        placed: Vec::new(),
        known: BTreeMap::new(),
        ids: BTreeSet::new(),
    };
    collector.user_files()?;
    for at in found.done.keys() {
        collector.derivation(*at)?;
    }
    collector.nodes()?;
    let deadlines = collector.deadlines()?;
    Ok(collector.book(deadlines))
}

impl<'a> Collector<'a> {
    fn node(&self, at: NodeIndex) -> &'a GraphNode {
        &self.found.workspace.graph.nodes()[at]
    }

    fn object(&self, at: NodeIndex) -> Result<Option<Object>> {
        let done = self.found.done.get(&at);
        Ok(done.map(|done| self.found.store.object(done.output.object)).transpose()?)
    }

    fn id(&mut self, text: &str) -> String {
        let base = slug(text);
        let mut id = base.clone();
        let mut number = 2;
        while !self.ids.insert(id.clone()) {
            id = format!("{base}-{number}");
            number += 1;
        }
        id
    }

    fn checks(&self, about: &[About]) -> Vec<GuideCheck> {
        let names: BTreeSet<&String> = about.iter().flat_map(|one| &one.purpose.checks).collect();
        let known = names.into_iter().filter_map(|name| self.facts.get(name.as_str()));
        let check = |(fact, _): &(&BootFact, bool)| GuideCheck {
            name: fact.name.clone(),
            rule: fact.rule.clone(),
            breaks: fact.breaks.clone(),
        };
        known.map(check).collect()
    }

    /// What the user wrote, and the lock.
    fn user_files(&mut self) -> Result<()> {
        let directory = &self.found.workspace.directory;
        let mut names = vec![INSTALL_CONFIG.to_owned(), CLUSTER.to_owned(), LOCK.to_owned()];
        for folder in ["manifests", "patches"] {
            let root = directory.file(folder);
            if fs::exists(&root)? {
                let files = fs::list_kinds(&root)?.into_iter().filter(|(_, is_dir)| !is_dir);
                names.extend(files.map(|(name, _)| format!("{folder}/{}", name.to_string_lossy())));
            }
        }
        for name in names {
            let Ok(bytes) = fs::read(&directory.file(&name)) else { continue };
            let purpose = user_file(&name);
            let about = vec![About { subject: name.clone(), known: Known::Yours, purpose }];
            let chapter = if name == LOCK { "pinned" } else { "config" };
            let file = self.contents.user_file(&name, bytes);
            let entry = GuideEntry {
                files: vec![file],
                kind: "file".to_owned(),
                command: format!("$EDITOR {name}"),
                ..self.empty(&name, about)
            };
            self.place(chapter, "Files", entry);
        }
        Ok(())
    }

    fn empty(&mut self, title: &str, about: Vec<About>) -> GuideEntry {
        GuideEntry {
            id: self.id(title),
            title: title.to_owned(),
            kind: String::new(),
            checks: self.checks(&about),
            about,
            places: Vec::new(),
            derivation: None,
            recipe: None,
            origins: Vec::new(),
            shown: Vec::new(),
            goes_into: Vec::new(),
            parts: Vec::new(),
            files: Vec::new(),
            command: String::new(),
        }
    }

    fn place(&mut self, chapter: &str, group: &str, entry: GuideEntry) -> usize {
        let (chapter, group) = (chapter.to_owned(), group.to_owned());
        self.placed.push(Placed { chapter, group, entry });
        self.placed.len() - 1
    }

    /// A derivation: one entry, or one for each manifest in it.
    fn derivation(&mut self, at: NodeIndex) -> Result<()> {
        let (node, Some(object)) = (self.node(at), self.object(at)?) else { return Ok(()) };
        let release = self.found.workspace.release();
        let chapter = self.found.workspace.knowledge.guide.get()?.chapter_of(release, &node.name);
        let chapter = chapter.map_or("day-2", |chapter| chapter.id.as_str());
        let leaves: Vec<String> = object.listing.leaves("").map(|(path, _)| path.to_owned()).collect();
        let folder = node.name.split_once('/').map_or(node.name.as_str(), |(folder, _)| folder);
        if ["manifest", "hand-over", "user"].contains(&folder) || node.name == "release/crds" {
            let chapter = if node.name == "release/crds" { "bootkube" } else { chapter };
            for path in &leaves {
                let text = fs::read_text(&object.path.join(path)).ok();
                let about = self.purposes.file(at, path, text.as_deref())?;
                let title = match about.as_slice() {
                    [only] => only.subject.clone(),
                    _ => path.clone(),
                };
                let kind = if title.starts_with("CustomResourceDefinition") { "CRD" } else { "object" };
                let title = title
                    .strip_prefix("CustomResourceDefinition.apiextensions.k8s.io ")
                    .map_or(title.clone(), str::to_owned);
                let mut entry = self.of_derivation(at, &title, kind, about);
                entry.files = vec![self.contents.file(&object, &node.name, path)?];
                entry.command = format!("tinderbox show {}:{path}", node.name);
                let group = group_of(&node.name);
                let index = self.place(chapter, group, entry);
                self.known.insert((node.name.clone(), path.clone()), index);
            }
            return Ok(());
        }
        let about = self.purposes.file(at, "", None)?;
        let mut entry = self.of_derivation(at, &node.name, kind_of(&node.name), about);
        self.contents.fill(&object, node, &leaves, &mut entry)?;
        self.meanings(&mut entry)?;
        let index = self.place(chapter, group_of(&node.name), entry);
        for path in leaves {
            self.known.insert((node.name.clone(), path), index);
        }
        Ok(())
    }

    fn of_derivation(&mut self, at: NodeIndex, title: &str, kind: &str, about: Vec<About>) -> GuideEntry {
        let node = self.node(at);
        let reads = node.reads.iter().flat_map(|(alias, ..)| origin(node, alias)).collect();
        let mut users = self.found.workspace.graph.users();
        let users = std::mem::take(&mut users[at]);
        let goes_into = users.into_iter().map(|user| self.node(user).name.clone()).collect();
        GuideEntry {
            kind: kind.to_owned(),
            derivation: Some(node.name.clone()),
            recipe: Some(node.recipe.clone()),
            origins: config_origins(reads),
            goes_into,
            shown: self.shown(&node.name),
            command: format!("tinderbox show {} --explain", node.name),
            ..self.empty(title, about)
        }
    }

    /// Who shows a certificate or key to whom.
    fn shown(&self, derivation: &str) -> Vec<GuideShown> {
        let name = derivation.strip_prefix("pki/").or_else(|| derivation.strip_prefix("key/"));
        let (Some(name), Ok(edges)) = (name, self.found.workspace.trust_edges()) else { return Vec::new() };
        edges
            .filter(|edge| edge.credential == name)
            .map(|edge| GuideShown {
                presenter: edge.presenter.clone(),
                role: edge.role.as_str(),
                verifier: edge.verifier.clone(),
                breaks: edge.breaks.clone(),
            })
            .collect()
    }

    fn meanings(&self, entry: &mut GuideEntry) -> Result<()> {
        let (table, release) = (self.found.workspace.knowledge.fields.get()?, self.found.workspace.release());
        for part in &mut entry.parts {
            let (format, name) =
                part.meaning.take().map_or((String::new(), ""), |format| (format, part.part.name.as_str()));
            // Fields of further certificates are numbered.
            let name = name.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end();
            part.meaning = table.meaning(release, &format, name).map(str::to_owned);
        }
        Ok(())
    }

    /// Every entry of every node: a place of what a derivation made, or an entry of its own.
    fn nodes(&mut self) -> Result<()> {
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
        use crate::openshift::config::Role;
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

    /// What ends when, the soonest first.
    fn deadlines(&self) -> Result<Vec<GuideDeadline>> {
        let outputs: Vec<Output<'_>> = self
            .found
            .done
            .iter()
            .map(|(at, done)| {
                let node = self.node(*at);
                Output { name: &node.name, builder: &node.builder.0, object: done.output.object }
            })
            .collect();
        let ends = expiry::of(&self.found.store, &outputs, self.found.workspace.hand_over()?)?;
        let mut deadlines: Vec<GuideDeadline> = Vec::new();
        deadlines.extend(ends.boots_until.into_iter().map(|at| GuideDeadline {
            at,
            what: "these artifacts".to_owned(),
            then: "a boot that begins later does not finish; run `tinderbox renew`".to_owned(),
        }));
        deadlines.extend(ends.handed_over.into_iter().map(|one| GuideDeadline {
            at: one.adopted_until,
            what: one.object,
            then: format!("the {} operator makes a new signer instead of adopting this one", one.operator),
        }));
        deadlines.extend(ends.certificates.into_iter().map(|one| GuideDeadline {
            at: one.not_after,
            what: one.name,
            then: "verifiers refuse it".to_owned(),
        }));
        deadlines.sort_by(|one, other| one.at.cmp(&other.at));
        Ok(deadlines)
    }

    fn book(self, mut deadlines: Vec<GuideDeadline>) -> Guide {
        let cluster = &self.found.workspace.cluster;
        let domain = format!("{}.{}", cluster.name, cluster.base_domain);
        let release = cluster.release.to_string();
        let fill = super::placeholders(cluster, &domain, &release);
        let mut placed = self.placed;
        let mut chapters = Vec::new();
        for (at, chapter) in self.chapters.iter().enumerate() {
            let (mine, others): (Vec<Placed>, Vec<Placed>) =
                placed.into_iter().partition(|one| one.chapter == chapter.id);
            placed = others;
            let mut groups: Vec<GuideGroup> = Vec::new();
            for Placed { group, entry, .. } in mine {
                match groups.iter_mut().find(|known| known.title == group) {
                    Some(known) => known.entries.push(entry),
                    None => groups.push(GuideGroup { title: group, entries: vec![entry] }),
                }
            }
            let is_last = at + 1 == self.chapters.len();
            chapters.push(GuideChapter {
                number: at + 1,
                id: chapter.id.clone(),
                title: chapter.title.clone(),
                text: chapter.text.iter().map(|text| fill(text)).collect(),
                steps: chapter.steps.iter().map(|text| fill(text)).collect(),
                deadlines: if is_last { std::mem::take(&mut deadlines) } else { Vec::new() },
                groups,
            });
        }
        Guide { shape: SHAPE, cluster: cluster.name.clone(), domain, release, chapters }
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

/// The config fields among origins, each once.
fn config_origins(origins: Vec<Origin>) -> Vec<GuideOrigin> {
    let mut by_field: BTreeMap<String, Vec<Place>> = BTreeMap::new();
    // Optional fields that nobody set decide nothing.
    let is_set = |one: &Origin| one.kind == Kind::Config && !one.places.is_empty();
    for Origin { from, places, .. } in origins.into_iter().filter(is_set) {
        by_field.entry(from).or_default().extend(places);
    }
    let tidy = |(from, mut places): (String, Vec<Place>)| {
        places.sort();
        places.dedup();
        GuideOrigin { from, places }
    };
    by_field.into_iter().map(tidy).collect()
}

fn user_file(name: &str) -> Purpose {
    let (purpose, reader, without) = match name {
        INSTALL_CONFIG => (
            "OpenShift's own description of the cluster: its name, domain, networks, pull secret and SSH key. It is read, never changed.",
            "tinderbox; the cluster keeps a copy as ConfigMap kube-system/cluster-config-v1, without the pull secret",
            "there is nothing to build",
        ),
        CLUSTER => (
            "What install-config has no place for: the release, the machines and their addresses, the VIPs, the gateway.",
            "tinderbox alone; the cluster never sees it",
            "there is nothing to build",
        ),
        LOCK => (
            "What the outside world said, pinned: the release by digest, the boot image by SHA-256, the epoch.",
            "tinderbox, at every build; `lock --update` and `renew` change it",
            "the next build asks the registry again, and may get another release",
        ),
        name if name.starts_with("manifests/") => (
            "A manifest of your own: bootkube.sh applies it with the others, and it takes part in the render of nodes if the machine-config operator reads its kind.",
            "bootkube.sh, and whoever watches its kind",
            "only you know",
        ),
        _ => (
            "A patch of your own: it changes artifacts after they are made, and fails the build if it matches nothing.",
            "tinderbox",
            "the artifact is as its recipe makes it",
        ),
    };
    let text = str::to_owned;
    Purpose { purpose: text(purpose), reader: text(reader), without: text(without), checks: Vec::new() }
}

/// The heading that a derivation stands under.
fn group_of(name: &str) -> &'static str {
    match name.split_once('/').map_or(name, |(folder, _)| folder) {
        _ if name == "release/crds" => "CRDs",
        "release" => "The release",
        "identity" => "Identity",
        "key" => "Keys",
        "pki" => "Certificates",
        "kubeconfig" => "Kubeconfigs",
        "static-pod" => "Static pods",
        "bootstrap-config" => "Configuration of the control plane",
        "mco" => "The render",
        "ignition" => "Configs",
        "ignition-id" => "Digests of configs",
        "infra" => "Network, load balancer, machines",
        "iso" => "Media",
        "script" => "The script",
        "manifest" => "Objects",
        "user" => "Your own objects",
        "hand-over" => "Objects that operators adopt",
        "check" => "What was checked",
        _ => "The whole",
    }
}

fn kind_of(name: &str) -> &'static str {
    match name.split_once('/').map_or(name, |(folder, _)| folder) {
        "key" => "key",
        "pki" => "certificate",
        "kubeconfig" => "kubeconfig",
        "static-pod" => "static pod",
        "script" => "script",
        "ignition" => "Ignition",
        "infra" => "infrastructure",
        "check" => "check",
        "identity" => "value",
        _ => "artifact",
    }
}

/// The heading that a node's file stands under.
fn area(one: &NodeEntry, is_bootstrap: bool) -> &'static str {
    let path = one.on_node();
    let has = |words: &[&str]| words.iter().any(|word| path.contains(word));
    match one.kind {
        _ if is_bootstrap => "On the bootstrap node",
        "user" => "Users",
        _ if has(&[
            "machine-config",
            "mcs-",
            "ignition-machine",
            "firstboot",
            "rpm-ostree",
            "zincati",
            "/etc/mco",
        ]) =>
        {
            "First boot and updates"
        }
        _ if has(&[
            "NetworkManager",
            "nmstate",
            "ovs",
            "openvswitch",
            "ipsec",
            "nodeip",
            "resolv",
            "keepalived",
            "coredns",
            "br-ex",
            "dnsmasq",
            "hostname",
            "node-ip",
            "primary-ip",
            "cni",
            "mtu",
            "ip-forwarding",
        ]) =>
        {
            "Network"
        }
        _ if has(&["crio", "/etc/containers", "/etc/docker", "docker.socket"]) => "CRI-O and images",
        _ if has(&["sysctl", "modules-load", "/etc/audit"]) => "Kernel",
        _ if has(&["kube", "node-sizing", "chrony", "system-reserved"]) => "Kubelet",
        _ => "Everything else",
    }
}
