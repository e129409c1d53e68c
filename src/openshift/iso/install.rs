//! The live system's own Ignition config: it contains the node's config, and makes the installer run unattended.
//!
//! Works like `coreos-installer iso customize --dest-ignition`: the node's config is a file of the live system, and a
//! file in `/etc/coreos/installer.d` both starts the installer and points it to that config. Two things differ. The
//! disk is not in that file but in the kernel argument `coreos.inst.install_dev`, where a person at the console can
//! change it (never in both: the installer rejects two disks). And the node's config is not compressed separately:
//! percent-encoded it is text, which xz compresses to half the size of base64-encoded gzip.

use crate::base::json::canonical;
use serde_json::{Value, json};

/// The node's Ignition config on the live system.
pub(crate) const DEST: &str = "/etc/coreos/dest.ign";
/// The installer's configuration file that names it.
const INSTALLER: &str = "/etc/coreos/installer.d/0000-tinderbox.yaml";
/// Supported by every live system since 4.10.
const VERSION: &str = "3.3.0";

/// The Ignition config of a live system that installs a node with the config `dest`.
pub(crate) fn unattended(dest: &str) -> String {
    let config = json!({
        "ignition": {"version": VERSION},
        "storage": {"files": [file(DEST, dest, 0o600), installer()]},
    });
    canonical(&config) + "\n"
}

/// The kernel arguments of a live system that installs to this disk.
pub(crate) fn installer_arguments(device: &str, kargs: &[&str]) -> Vec<String> {
    let device = format!("coreos.inst.install_dev={device}");
    std::iter::once(device).chain(kargs.iter().map(|&argument| argument.to_owned())).collect()
}

/// How a live system that carries several nodes' configs decides which one it installs.
pub(crate) struct Choice<'a> {
    /// The script, which writes the chosen config to [`DEST`], and the disk beside [`INSTALLER`].
    pub script: &'a str,
    /// The unit that starts it before the installer, which starts only if it succeeds.
    pub unit: &'a str,
    /// A line for every port: MAC address, node, disk.
    pub machines: &'a str,
}

/// The Ignition config of a live system that decides which node it installs.
pub(crate) fn choosing(choice: &Choice<'_>) -> String {
    let Choice { script, unit, machines } = choice;
    let files =
        [file("/etc/tinderbox/machines", machines, 0o600), file("/usr/local/bin/choose-node", script, 0o700)];
    let config = json!({
        "ignition": {"version": VERSION},
        "storage": {"files": [files[0], files[1], installer()]},
        "systemd": {"units": [{"name": "choose-node.service", "enabled": true, "contents": unit}]},
    });
    canonical(&config) + "\n"
}

fn installer() -> Value {
    file(INSTALLER, &format!("ignition-file: {DEST}\n"), 0o600)
}

fn file(path: &str, content: &str, mode: u32) -> Value {
    let source = format!("data:,{}", percent_encoded(content));
    json!({"path": path, "mode": mode, "contents": {"source": source}})
}

/// Escapes everything but letters, digits and `-._~`.
fn percent_encoded(text: &str) -> String {
    use std::fmt::Write as _;
    let mut encoded = String::with_capacity(text.len() * 3 / 2);
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => encoded.push(byte.into()),
            _ => drop(write!(encoded, "%{byte:02X}")),
        }
    }
    encoded
}
