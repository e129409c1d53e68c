//! Checks of the nodes' configs: the configs in the input `ignition`, with the lists of their entries in `lists`.
//!
//! Messages contain paths, names and lines, but no file content: configs are secret.

mod boot;
mod credentials;
mod in_place;
mod kube_proxy;
mod node_image;
mod programs;
mod storage;
mod units;
mod vips;

pub(super) use boot::{APISERVER_URL, BOOTKUBE, KUBELET_CA, MASTER_LABEL, PAUSE_IMAGE, STANDALONE};
pub(super) use credentials::CREDENTIALS;
pub(super) use in_place::{JOINS, MEMBER_NAME, REPLACED};
pub(super) use kube_proxy::{CLEANUP, kube_proxy};
pub(super) use node_image::NODE_IMAGE;
pub(super) use programs::{audit_log, flag_files};
pub(super) use storage::{DUPLICATES, MODES, PATHS, PINNED, READABLE, SIZES, SPEC};
pub(super) use units::UNITS;
pub(super) use vips::VIP_HOLDERS;

use super::Report;
use super::artifacts::{Artifacts, File};
use crate::base::value::Value;
use crate::engine::tree::leaf;
use crate::openshift::ignition::{Config, Contents, Manifest};

/// The input with configs, `<node>.ign`.
const INPUT: &str = "ignition";
/// The input with the lists of their entries.
const LISTS: &str = "lists";

/// One node's config, if it is valid.
struct Node<'a> {
    name: &'a str,
    /// `bootstrap`, `master` or `worker`.
    role: &'a str,
    /// Whether it starts the first control plane: the bootstrap node, or the only one.
    bootstraps: bool,
    file: &'a File,
    config: &'a Config,
}

impl Node<'_> {
    /// The bytes of a file; none if it has no content of its own.
    fn bytes(&self, path: &str) -> Option<Vec<u8>> {
        match Contents::of(self.config.files.get(path)?) {
            Ok(Contents::Bytes(bytes)) => Some(bytes),
            _ => None,
        }
    }

    /// The text of a file.
    fn text(&self, path: &str) -> Option<String> {
        String::from_utf8(self.bytes(path)?).ok()
    }

    fn report(&self, report: &mut Report<'_>, field: &str, message: impl Into<String>) {
        report.add(&self.file.path, None, field, message);
    }

    fn manifest(&self, artifacts: &Artifacts<'_>) -> Option<Manifest> {
        let file = artifacts.of(LISTS).find(|file| leaf(&file.path) == self.name)?;
        serde_json::from_str(&file.text).ok()
    }
}

/// Whether there are configs to check.
fn are_there(artifacts: &Artifacts<'_>) -> bool {
    artifacts.of(INPUT).next().is_some()
}

/// Every config that can be parsed. Two other checks report the rest.
fn nodes<'a>(artifacts: &'a Artifacts<'_>) -> Vec<Node<'a>> {
    let listed: &[Value] = match artifacts.config.get("nodes") {
        Some(Value::List(nodes)) => nodes,
        _ => &[],
    };
    let word = |node: &'a Value, key: &str| node.get(key).and_then(Value::as_text);
    let role = |name: &str| {
        listed.iter().find(|node| word(node, "name") == Some(name)).and_then(|node| word(node, "role"))
    };
    let first = ["bootstrap", "master"].into_iter().find(|role| {
        let has = |node: &'a Value| word(node, "role") == Some(*role);
        listed.iter().any(has)
    });
    let of = |file: &'a File| {
        let name = leaf(&file.path);
        let config = file.ignition().as_ref().ok()?;
        let role = role(name).unwrap_or_default();
        Some(Node { name, role, bootstraps: Some(role) == first, file, config })
    };
    artifacts.of(INPUT).filter_map(of).collect()
}
