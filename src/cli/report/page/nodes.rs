//! Nodes: the machine, its addresses, and what it boots with. What several nodes share is listed once.

use std::collections::BTreeMap;

use super::{artifact, count};
use crate::cli::node_entries::NodeEntry;
use crate::cli::output::size;
use crate::cli::report::document::{NodeTable, Report};
use crate::compare::page::{Markup, Tone, code, el, facts, fold, link, note, section as part, table, tag};

pub(super) fn section(found: &Report) -> Markup {
    if found.nodes.is_empty() {
        return Markup::default();
    }
    let nodes = found.nodes.iter().enumerate().map(|(at, node)| one(found, at, node));
    part("nodes", "Nodes", "What each machine is, and what its Ignition writes.", nodes.collect::<Markup>())
}

fn one(found: &Report, at: usize, node: &NodeTable) -> Markup {
    let machine = &node.machine;
    let hardware = [
        machine.cpus.map(|cpus| count(cpus as usize, "CPU")),
        machine.memory.map(|mib| size(mib << 20)),
        machine.disk.map(|gb| format!("{gb} GB disk")),
    ];
    let hardware = hardware.into_iter().flatten().collect::<Vec<_>>().join(", ");
    let number = |kind: &str| node.entries.iter().filter(|entry| entry.kind == kind).count();
    let secrets = node.entries.iter().filter(|entry| entry.secret).count();
    let writes = format!(
        "{}, {}, {}",
        count(number("file"), "file"),
        count(number("unit"), "unit"),
        count(secrets, "secret")
    );
    let role = machine.role.as_deref().map(|role| tag(role, Tone::Plain));
    let summary = [
        code(&node.node),
        role.into(),
        code(&node.addresses.join(", ")),
        note(hardware.clone()),
        note(format!("Ignition {}: {writes}", size(node.ignition))),
    ];
    let about = facts([
        ("host name", machine.host_name.as_deref().map(code).into()),
        ("addresses", Markup::join(node.addresses.iter().map(|address| code(address)), ", ")),
        ("MAC address", machine.mac.as_deref().map(code).into()),
        ("machine", hardware.into()),
        (
            "Ignition",
            Markup::from([
                artifact(found, &format!("ignition/{}", node.node)),
                format!(", {}", size(node.ignition)).into(),
            ]),
        ),
        ("its own", own(&node.own)),
    ]);
    let summary = summary.into_iter().filter(|piece| !piece.is_empty()).collect::<Markup>();
    fold(Some(&format!("node/{}", node.node)), false, summary, [about, entries(found, at, node)])
}

/// What only this node has, by folder. A large folder is only counted here: the table of all entries lists it.
fn own(paths: &[String]) -> Markup {
    const LISTED: usize = 6;
    let mut folders: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for path in paths {
        let at = path.rfind('/').map_or(0, |slash| slash + 1);
        let (folder, name) = path.split_at(at);
        folders.entry(folder).or_default().push(name);
    }
    let items = folders.into_iter().map(|(folder, names)| {
        let named = match names.len() {
            1..=LISTED => Markup::join(names.into_iter().map(code), ", "),
            many => note(count(many, "file")),
        };
        el("li", &[], [code(folder), " ".into(), named])
    });
    let items: Markup = items.collect();
    if items.is_empty() { items } else { el("ul", &[("class", "plain-list")], items) }
}

/// Everything that a node gets; if an earlier node gets the same besides its own, only a link to that.
fn entries(found: &Report, at: usize, node: &NodeTable) -> Markup {
    let shared = |node: &NodeTable| -> Vec<(&'static str, String)> {
        let is_own = |entry: &&NodeEntry| node.own.contains(&entry.on_node());
        node.entries
            .iter()
            .filter(|entry| !is_own(entry))
            .map(|entry| (entry.kind, entry.path.clone()))
            .collect()
    };
    let mine = shared(node);
    let earlier = found.nodes.iter().take(at).find(|other| shared(other) == mine);
    if let Some(other) = earlier {
        let same = format!("{} as on ", count(mine.len(), "other entry"));
        return Markup::from([
            same.into(),
            link(&format!("node/{}", other.node), code(&other.node)),
            ".".into(),
        ]);
    }
    let row = |entry: &NodeEntry| {
        let secret = entry.secret.then(|| Markup::from([" ".into(), tag("secret", Tone::Notable)]));
        let state = [entry.mode.as_deref(), entry.owner.as_deref(), entry.state.as_deref()];
        let from = entry.from.iter().map(|from| match from.split_once(':') {
            Some((name, path)) => Markup::from([artifact(found, name), note(format!(":{path}"))]),
            None => artifact(found, from),
        });
        vec![
            Markup::from([code(&entry.path), secret.into()]),
            entry.kind.into(),
            state.into_iter().flatten().collect::<Vec<_>>().join(" ").into(),
            entry.size.map(size).unwrap_or_default().into(),
            Markup::join(from, ", "),
        ]
    };
    let rows = table(&["Path", "Kind", "Mode, owner, state", "Size", "From"], node.entries.iter().map(row));
    fold(None, false, format!("All {} entries", node.entries.len()), rows)
}
