//! What nodes boot with.

pub(crate) mod host;
mod kube_proxy;
mod node_image;
mod nodes;
mod refused;
mod tell;

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;

use crate::harness::Workspace;

/// A node's config as it is in the object.
pub(crate) fn config(ws: &Workspace, node: &str) -> Value {
    let path = ws.path_of(&format!("ignition/{node}")).join(format!("{node}.ign"));
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// The entries of a list of a config, by path or name.
pub(crate) fn entries(config: &Value, list: &str) -> BTreeMap<String, Value> {
    let (part, list) = list.split_once('.').unwrap();
    let items = config[part][list].as_array().cloned().unwrap_or_default();
    let key = |item: &Value| item["path"].as_str().or(item["name"].as_str()).unwrap().to_owned();
    items.into_iter().map(|item| (key(&item), item)).collect()
}

/// A file as the node gets it, as text.
pub(crate) fn text(ws: &Workspace, node: &str, path: &str) -> String {
    fs::read_to_string(ws.path_of(&format!("ignition/{node}")).join(format!("tree{path}"))).unwrap()
}
