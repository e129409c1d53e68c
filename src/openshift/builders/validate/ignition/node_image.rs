//! What the bootstrap node lays over a boot image that lacks the programs it needs.

use super::super::{Check, Report};
use super::{Node, nodes};
use crate::engine::tree::leaf;
use crate::openshift::ignition::unit;

/// The input with the reference of the release's node image.
const IMAGE: &str = "node-image";
const GENERATORS: &str = "/etc/systemd/system-generators/";
const UNITS: &str = "/etc/systemd/system/";
/// What the generator boots into.
const TARGET: &str = "node-image-overlay.target";
/// What it looks for first.
const KUBELET: &str = "/usr/bin/kubelet";

/// The bootstrap node can start its kubelet.
pub(in super::super) const NODE_IMAGE: Check = Check {
    name: "node-image",
    config: &["nodes"],
    run: |artifacts, report| {
        let image = artifacts.of(IMAGE).next().map(|file| file.text.trim()).unwrap_or_default();
        for node in nodes(artifacts).iter().filter(|node| node.role == "bootstrap") {
            generator(node, report);
            let mut scripts = Vec::new();
            units(node, TARGET, &mut Vec::new(), &mut scripts, report);
            if !scripts.iter().any(|path| node.text(path).is_some_and(|text| pulls(&text, image))) {
                let message = format!("nothing that it starts pulls the release's node image, {image}");
                node.report(report, TARGET, message);
            }
        }
    },
};

/// Something decides before anything is started.
fn generator(node: &Node<'_>, report: &mut Report<'_>) {
    let decides = |path: &&String| {
        path.starts_with(GENERATORS)
            && node.text(path).is_some_and(|text| text.contains(TARGET) && text.contains(KUBELET))
    };
    match node.config.files.keys().find(decides) {
        None => {
            node.report(report, GENERATORS, format!("no generator looks for {KUBELET} and starts {TARGET}"))
        }
        Some(path) => executable(node, path, report),
    }
}

/// A unit of ours, and those that it requires. Other units come with the boot image.
fn units(
    node: &Node<'_>,
    name: &str,
    seen: &mut Vec<String>,
    scripts: &mut Vec<String>,
    report: &mut Report<'_>,
) {
    if seen.iter().any(|known| known == name) {
        return;
    }
    seen.push(name.to_owned());
    let path = format!("{UNITS}{name}");
    let Some(text) = node.text(&path) else {
        return node.report(report, &path, "nothing writes it");
    };
    let unit = unit(&text);
    for required in unit.values("Unit", "Requires").flat_map(str::split_whitespace) {
        if required.starts_with("node-image-") {
            units(node, required, seen, scripts, report);
        }
    }
    let commands =
        unit.values("Service", "ExecStart").filter_map(|command| command.split_whitespace().next());
    for program in commands.filter(|program| program.starts_with("/usr/local/")) {
        executable(node, program, report);
        scripts.push(program.to_owned());
    }
}

fn executable(node: &Node<'_>, path: &str, report: &mut Report<'_>) {
    match node.config.files.get(path) {
        None => node.report(report, path, "nothing writes it"),
        Some(file) if file.mode.is_none_or(|mode| mode & 0o100 == 0) => {
            node.report(report, path, "it cannot be executed");
        }
        Some(_) => {}
    }
}

/// Whether a script names this image, by digest.
fn pulls(text: &str, image: &str) -> bool {
    leaf(image).contains("@sha256:") && text.contains(image)
}
