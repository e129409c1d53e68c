//! Writes a config in canonical form.

use std::fmt::Write as _;

use serde_json::Value;

use super::parse::prune;
use super::{Config, spec};

impl Config {
    /// The canonical text: keys and lists sorted, no spaces, one newline at the end.
    pub fn emit(&self) -> String {
        let Self { version, files, directories, links, units, users, groups, rest } = self;
        let mut whole = rest.clone();
        whole.ignition.version = version.to_string();
        let storage = whole.storage.get_or_insert_default();
        storage.files = Some(files.values().cloned().collect());
        storage.directories = Some(directories.values().cloned().collect());
        storage.links = Some(links.values().cloned().collect());
        whole.systemd = Some(spec::Systemd { units: Some(units.values().cloned().collect()) });
        whole.passwd = Some(spec::Passwd {
            users: Some(users.values().cloned().collect()),
            groups: Some(groups.values().cloned().collect()),
        });
        // Plain data with text keys is always valid JSON.
        let value = serde_json::to_value(&whole).ok().and_then(prune).unwrap_or_default();
        let mut text = canonical(&value);
        text.push('\n');
        text
    }
}

/// JSON with sorted keys and no spaces, regardless of the value's order.
pub(crate) fn canonical(value: &Value) -> String {
    let mut text = String::new();
    write(value, &mut text);
    text
}

fn write(value: &Value, text: &mut String) {
    match value {
        Value::Object(map) => {
            let mut keys: Vec<&String> = map.keys().collect();
            keys.sort();
            text.push('{');
            for (at, key) in keys.into_iter().enumerate() {
                let _ = write!(text, "{}{}:", if at == 0 { "" } else { "," }, Value::from(key.as_str()));
                write(&map[key], text);
            }
            text.push('}');
        }
        Value::Array(items) => {
            text.push('[');
            for (at, item) in items.iter().enumerate() {
                text.push_str(if at == 0 { "" } else { "," });
                write(item, text);
            }
            text.push(']');
        }
        scalar => drop(write!(text, "{scalar}")), // writing to a string cannot fail
    }
}
