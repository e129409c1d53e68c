//! Writes a config in canonical form.

use super::parse::prune;
use super::{Config, spec};
use crate::base::json::canonical;

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
