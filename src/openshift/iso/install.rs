//! The live system's own Ignition config: it carries the node's, and has the installer run by itself.
//!
//! The way of `coreos-installer iso customize --dest-ignition`: the node's config is a file of the live system, and a file
//! in `/etc/coreos/installer.d` both starts the installer and tells it of that config. Two things differ. The disk is not
//! in that file but in the kernel argument `coreos.inst.install_dev`, where whoever stands before the machine can change it
//! (never in both: the installer refuses two disks). And the node's config is not compressed by itself: percent-encoded it
//! is text, of which xz makes half of what it makes of gzip in base64.

use serde_json::json;

/// Where the live system has the node's Ignition config.
pub(crate) const DEST: &str = "/etc/coreos/dest.ign";
/// Where the installer is told of it.
const INSTALLER: &str = "/etc/coreos/installer.d/0000-tinderbox.yaml";
/// A version that every live system since 4.10 knows.
const VERSION: &str = "3.3.0";

/// The Ignition config of a live system that installs a node with the config `dest`.
pub(crate) fn unattended(dest: &str) -> String {
    let file = |path: &str, content: &str| {
        let source = format!("data:,{}", percent_encoded(content));
        json!({"path": path, "mode": 0o600, "contents": {"source": source}})
    };
    let installer = file(INSTALLER, &format!("ignition-file: {DEST}\n"));
    let config = json!({
        "ignition": {"version": VERSION},
        "storage": {"files": [file(DEST, dest), installer]},
    });
    format!("{config}\n")
}

/// A text of which only letters, digits and `-._~` are left as they are.
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
