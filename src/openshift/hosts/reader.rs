//! Walks the fields of a document of somebody else's format.

use std::net::IpAddr;

use super::{HostPort, LeftOut, Located};
use crate::base::hint::{Place, Problem, Problems, did_you_mean};
use crate::base::yaml::{YamlData, YamlNode};

/// A field that is not taken over, and why.
pub(super) type LeftOutRow = (&'static str, &'static str);

pub(super) struct Reader<'a> {
    pub file: &'a str,
    pub problems: &'a mut Problems,
    pub left_out: Vec<LeftOut>,
    /// A path that is another one in the file, and that one.
    pub moved: Option<(&'static str, String)>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(file: &'a str, problems: &'a mut Problems) -> Self {
        Self { file, problems, left_out: Vec::new(), moved: None }
    }

    pub(super) fn place(&self, path: &str, line: usize) -> Place {
        let below =
            |from: &str| path.strip_prefix(from).filter(|rest| rest.is_empty() || rest.starts_with('.'));
        let moved = self.moved.as_ref().and_then(|(from, to)| Some(format!("{to}{}", below(from)?)));
        let field = moved.unwrap_or_else(|| path.to_owned());
        Place { file: self.file.to_owned(), line: Some(line), field }
    }

    pub(super) fn problem(&mut self, path: &str, line: usize, message: impl Into<String>, hint: &str) {
        let problem = Problem::new(self.place(path, line), message);
        self.problems.push(problem.hint(hint.to_owned()));
    }

    pub(super) fn leave_out(&mut self, path: &str, line: usize, reason: impl Into<String>) {
        self.left_out.push(LeftOut { place: self.place(path, line), reason: reason.into() });
    }

    /// Judges every field of a map: those in neither list are problems. Null is absent, as Go reads it.
    pub(super) fn fields(&mut self, path: &str, map: &YamlNode, known: &[&str], left_out: &[LeftOutRow]) {
        let YamlData::Map(entries) = &map.data else {
            return self.problem(path, map.line, "not a map", "it has fields: `name: value`");
        };
        for entry in entries.iter().filter(|entry| !entry.value.is_null()) {
            let (at, key) = (join(path, &entry.key), entry.key.as_str());
            if known.contains(&key) {
                continue;
            }
            match left_out.iter().find(|(name, _)| *name == key) {
                Some((_, reason)) => self.leave_out(&at, entry.line, *reason),
                None => {
                    let names = known.iter().copied().chain(left_out.iter().map(|(name, _)| *name));
                    let hint = did_you_mean(key, names);
                    let hint = hint.unwrap_or_else(|| "remove it, if it is not needed".to_owned());
                    self.problem(&at, entry.line, "unknown field", &hint);
                }
            }
        }
    }

    /// The text of a field; a problem if it is something else.
    pub(super) fn text(&mut self, path: &str, map: &YamlNode, key: &str) -> Option<Located<String>> {
        let node = map.get(key).filter(|node| !node.is_null())?;
        let at = join(path, key);
        match node.text() {
            Some("") => None,
            Some(text) => Some(Located { value: text.to_owned(), place: self.place(&at, node.line) }),
            None => {
                self.problem(&at, node.line, "must be a single value", "write a text");
                None
            }
        }
    }

    pub(super) fn address(&mut self, path: &str, node: &YamlNode) -> Option<Located<IpAddr>> {
        let text = node.text().unwrap_or_default();
        match text.parse() {
            Ok(value) => Some(Located { value, place: self.place(path, node.line) }),
            Err(_) => {
                self.problem(
                    path,
                    node.line,
                    format!("`{text}` is not an IP address"),
                    "for example: 192.168.126.10",
                );
                None
            }
        }
    }

    pub(super) fn addresses(&mut self, path: &str, list: Option<&YamlNode>) -> Vec<Located<IpAddr>> {
        let items = list.map_or(&[][..], YamlNode::items).iter().enumerate();
        items.filter_map(|(index, node)| self.address(&join(path, &index.to_string()), node)).collect()
    }

    /// Time servers: names or addresses, one a line of chrony.conf.
    pub(super) fn ntp(&mut self, path: &str, list: Option<&YamlNode>) -> Vec<String> {
        let mut servers = Vec::new();
        for (index, node) in list.map_or(&[][..], YamlNode::items).iter().enumerate() {
            let text = node.text().unwrap_or_default();
            if !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || ".-:_".contains(c)) {
                servers.push(text.to_owned());
            } else {
                let message = format!("`{}` is not a host name or an IP address", text.escape_debug());
                self.problem(
                    &join(path, &index.to_string()),
                    node.line,
                    message,
                    "for example: ntp.example.com",
                );
            }
        }
        servers
    }

    /// Ports of a machine, each with its name and MAC address.
    pub(super) fn ports(&mut self, path: &str, list: Option<&YamlNode>) -> Vec<HostPort> {
        let mut ports = Vec::new();
        for (index, node) in list.map_or(&[][..], YamlNode::items).iter().enumerate() {
            let at = join(path, &index.to_string());
            self.fields(&at, node, &["name", "macAddress"], &[]);
            let (name, mac) = (self.text(&at, node, "name"), self.text(&at, node, "macAddress"));
            match (name, mac) {
                (Some(name), Some(mac)) => {
                    ports.push(HostPort { name: name.value, mac: mac.value.to_ascii_lowercase() });
                }
                _ => self.problem(&at, node.line, "a port needs `name` and `macAddress`", "give both"),
            }
        }
        ports
    }

    /// Lists ports that nothing configures: without an NMState document, a node has one.
    pub(super) fn idle_ports(&mut self, path: &str, line: usize, ports: &[HostPort]) {
        for port in ports.iter().skip(1) {
            let reason = format!(
                "`{}` is not configured: only the first port is, unless there is an NMState document",
                port.name
            );
            self.leave_out(path, line, reason);
        }
    }

    /// The disk to install to. Only a device's name says which one it is before the machine runs.
    pub(super) fn install_device(&mut self, path: &str, hints: Option<&YamlNode>) -> Option<String> {
        const WHY: &str = "no machine is asked for its disks: name the disk with `installDevice`, best below /dev/disk/by-id";
        const HINTS: &[LeftOutRow] = &[
            ("hctl", WHY),
            ("minSizeGigabytes", WHY),
            ("model", WHY),
            ("rotational", WHY),
            ("serialNumber", WHY),
            ("vendor", WHY),
            ("wwn", WHY),
            ("wwnVendorExtension", WHY),
            ("wwnWithExtension", WHY),
        ];
        let hints = hints.filter(|node| !node.is_null())?;
        self.fields(path, hints, &["deviceName"], HINTS);
        self.text(path, hints, "deviceName").map(|device| device.value)
    }
}

pub(super) fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}
