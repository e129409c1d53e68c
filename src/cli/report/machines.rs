//! What each node is: the machine that its libvirt domain describes, its addresses, and what of its configuration no
//! other node has.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::base::fs;
use crate::cli::Result;
use crate::cli::node_entries::NodeEntry;
use crate::engine::store::Object;

/// The machine of a node, as its domain has it. Absent where a recipe of the user writes it otherwise.
#[derive(Debug, Default, Serialize)]
pub(super) struct Hardware {
    pub(super) role: Option<String>,
    pub(super) host_name: Option<String>,
    pub(super) cpus: Option<u32>,
    /// In MiB.
    pub(super) memory: Option<u64>,
    /// In GB.
    pub(super) disk: Option<u64>,
    pub(super) mac: Option<String>,
}

impl Hardware {
    /// Reads the domain of a node's `infra/` output.
    pub(super) fn read(object: &Object) -> Result<Self> {
        let Some((path, _)) = object.listing.leaves("").find(|(path, _)| path.ends_with(".xml")) else {
            return Ok(Self::default());
        };
        Ok(Self::of(&fs::read_text(&object.path.join(path))?))
    }

    fn of(domain: &str) -> Self {
        let memory = between(domain, "<memory unit=\"KiB\">", "</memory>");
        Self {
            role: between(domain, " role=\"", "\"").map(str::to_owned),
            host_name: between(domain, "<title>", "</title>").map(str::to_owned),
            cpus: between(domain, "<vcpu>", "</vcpu>").and_then(|text| text.parse().ok()),
            memory: memory.and_then(|text| text.parse::<u64>().ok()).map(|kib| kib / 1024),
            disk: between(domain, " disk=\"", "\"").and_then(|text| text.parse().ok()),
            mac: between(domain, "<mac address=\"", "\"").map(str::to_owned),
        }
    }
}

/// The text between two marks, if both are there.
fn between<'t>(text: &'t str, before: &str, after: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(before)?;
    Some(rest.split_once(after)?.0)
}

/// The entries that a node shares with no other: by path and content.
pub(super) fn own(all: &BTreeMap<String, BTreeMap<String, String>>, node: &str) -> Vec<String> {
    let Some(mine) = all.get(node) else { return Vec::new() };
    let others = || all.iter().filter(|(name, _)| *name != node).map(|(_, entries)| entries);
    let is_shared = |path: &str, digest: &str| {
        others().any(|entries| entries.get(path).is_some_and(|other| other == digest))
    };
    let own = mine.iter().filter(|(path, digest)| !is_shared(path, digest));
    own.map(|(path, _)| path.clone()).collect()
}

/// The content of a node's files and units, by their path on the node: a digest each.
pub(super) fn contents(object: &Object, entries: &[NodeEntry]) -> BTreeMap<String, String> {
    let of = |entry: &NodeEntry| {
        let path = entry.on_node();
        let known = object.listing.get(&format!("tree{path}"))?;
        (entry.kind != "directory").then(|| (path, known.digest.to_string()))
    };
    entries.iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_domain_is_read_as_far_as_it_is_ours() {
        let domain = "<domain><title>m.example.com</title><x name=\"m\" role=\"master\" disk=\"100\"/>\
                      <memory unit=\"KiB\">16777216</memory><vcpu>4</vcpu><mac address=\"52:54:00:00:00:01\"/></domain>";
        let Hardware { role, host_name, cpus, memory, disk, mac } = Hardware::of(domain);
        assert_eq!((role.as_deref(), host_name.as_deref()), (Some("master"), Some("m.example.com")));
        assert_eq!((cpus, memory, disk), (Some(4), Some(16384), Some(100)));
        assert_eq!(mac.as_deref(), Some("52:54:00:00:00:01"));
        assert!(Hardware::of("<domain/>").cpus.is_none());
    }

    #[test]
    fn what_no_other_node_has_is_its_own() {
        let node = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(path, digest)| ((*path).to_owned(), (*digest).to_owned())).collect()
        };
        let all: BTreeMap<String, BTreeMap<String, String>> = [
            ("a".to_owned(), node(&[("/etc/hostname", "1"), ("/etc/motd", "3")])),
            ("b".to_owned(), node(&[("/etc/hostname", "2"), ("/etc/motd", "3")])),
        ]
        .into();
        assert_eq!(own(&all, "a"), ["/etc/hostname"]);
        assert_eq!(own(&all, "c"), [""; 0]);
    }
}
