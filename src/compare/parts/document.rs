//! Kubeconfigs and Ignition configs. Values are shown only where they are public: keys and contents are not.

use serde_json::Value;

use super::Part;
use crate::base::hint::Problems;
use crate::base::secret::MASK;
use crate::base::yaml::{self, Source, YamlData, YamlNode};

/// The fields of a kubeconfig. Keys and tokens are masked.
pub(super) fn kubeconfig(text: &str) -> Vec<Part> {
    let documents = yaml::documents(Source { name: "kubeconfig", text }, &mut Problems::default());
    let Some(root) = documents.first() else { return Vec::new() };
    let part = |name: String, value: String, line: usize| Part {
        name,
        value,
        lines: (line, line),
        comment: String::new(),
        is_list: false,
    };
    let mut parts = Vec::new();
    for (list, inside) in [("clusters", "cluster"), ("users", "user"), ("contexts", "context")] {
        for item in root.get(list).map(YamlNode::items).unwrap_or_default() {
            let name = item.get("name").and_then(YamlNode::text).unwrap_or_default();
            parts.push(part(list.to_owned(), name.to_owned(), item.line));
            let Some(YamlData::Map(entries)) = item.get(inside).map(|found| &found.data) else { continue };
            for entry in entries {
                let value = match entry.key.as_str() {
                    "client-certificate-data" | "certificate-authority-data" => "(base64)",
                    "server" | "cluster" | "user" | "namespace" | "tls-server-name" => {
                        entry.value.text().unwrap_or_default()
                    }
                    _ => MASK,
                };
                parts.push(part(format!("{list}.{}", entry.key), value.to_owned(), entry.line));
            }
        }
    }
    if let Some(current) = root.get("current-context") {
        let value = current.text().unwrap_or_default().to_owned();
        parts.push(part("current-context".to_owned(), value, current.line));
    }
    parts
}

/// The sections of an Ignition config, each with what it writes; never with contents.
pub(super) fn ignition(text: &str) -> Vec<Part> {
    let Ok(config) = serde_json::from_str::<Value>(text) else { return Vec::new() };
    let names = |pointer: &str, key: &str| -> Vec<String> {
        let items = config.pointer(pointer).and_then(Value::as_array);
        let name = |item: &Value| item.get(key).and_then(Value::as_str).map(str::to_owned);
        items.into_iter().flatten().filter_map(name).collect()
    };
    let version = config.pointer("/ignition/version").and_then(Value::as_str).unwrap_or_default();
    let lists = [
        ("passwd", names("/passwd/users", "name")),
        ("storage.directories", names("/storage/directories", "path")),
        ("storage.files", names("/storage/files", "path")),
        ("storage.links", names("/storage/links", "path")),
        ("systemd.units", names("/systemd/units", "name")),
    ];
    let of = |(name, list): (&str, Vec<String>)| Part {
        name: name.to_owned(),
        value: list.join("\n"),
        lines: (0, 0),
        comment: String::new(),
        is_list: true,
    };
    let first = ("ignition", vec![format!("version {version}")]);
    [first].into_iter().chain(lists).filter(|(_, list)| !list.is_empty()).map(of).collect()
}
