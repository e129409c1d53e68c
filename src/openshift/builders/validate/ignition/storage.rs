//! The files of a config: that it is valid, and that every path, mode and size works.

use super::super::{Check, Report};
use super::{INPUT, Node, nodes};
use crate::engine::tree::check_path;
use crate::openshift::ignition::{CONTENT_PATH, ENCAPSULATED_PATH, IgnitionError, Written, spec};

/// Maximum size of a config: a bootstrap node's with all CRDs is about 4 MB, and the initramfs holds it in memory
/// twice.
const LIMIT: usize = 16 << 20;

/// Files that the Machine Config Server writes world-readable. It does so on every node that joins later, too: with
/// other modes, the machine-config daemon would see a difference.
const SERVED: [&str; 5] = [
    "/etc/kubernetes/kubeconfig",
    "/etc/kubernetes/kubelet-ca.crt",
    "/etc/machine-config-daemon/node-annotations.json",
    CONTENT_PATH,
    ENCAPSULATED_PATH,
];

/// The config is valid.
pub(in super::super) const SPEC: Check = Check {
    name: "ignition-spec",
    config: &[],
    run: |artifacts, report| {
        for file in artifacts.of(INPUT) {
            match file.ignition() {
                Err(IgnitionError::Twice { .. }) | Ok(_) => {}
                Err(error) => report.add(&file.path, None, "", error.to_string()),
            }
        }
        for node in nodes(artifacts) {
            for (path, file) in &node.config.files {
                if let Err(error) = crate::openshift::ignition::Contents::of(file) {
                    node.report(report, path, error.to_string());
                }
            }
        }
    },
};

/// One entry per path.
pub(in super::super) const DUPLICATES: Check = Check {
    name: "duplicate-path",
    config: &[],
    run: |artifacts, report| {
        for file in artifacts.of(INPUT) {
            if let Err(IgnitionError::Twice { what }) = file.ignition() {
                report.add(&file.path, None, what, "it is written twice");
            }
        }
        for node in nodes(artifacts) {
            let config = node.config;
            for path in paths(&node) {
                let parents = path.match_indices('/').map(|(at, _)| &path[..at]);
                for parent in parents.filter(|parent| !parent.is_empty()) {
                    if config.files.contains_key(parent) || config.links.contains_key(parent) {
                        node.report(report, path, format!("`{parent}`, its parent, is not a directory"));
                    }
                }
            }
            for name in config.units.keys() {
                let path = format!("/etc/systemd/system/{name}");
                if config.has(&path) {
                    node.report(report, &path, format!("the unit `{name}` is written there too"));
                }
            }
        }
    },
};

/// Paths are unambiguous.
pub(in super::super) const PATHS: Check = Check {
    name: "ignition-paths",
    config: &[],
    run: |artifacts, report| {
        for node in nodes(artifacts) {
            for path in paths(&node) {
                match path.strip_prefix('/').map(check_path) {
                    None => node.report(report, path, "it is not absolute"),
                    Some(Err(error)) => node.report(report, path, error.to_string()),
                    Some(Ok(())) => {}
                }
            }
        }
    },
};

/// Modes are plausible.
pub(in super::super) const MODES: Check = Check {
    name: "ignition-modes",
    config: &[],
    run: |artifacts, report| {
        for node in nodes(artifacts) {
            for (path, file) in &node.config.files {
                mode(&node, path, file.mode, 0o400, report);
            }
            for (path, directory) in &node.config.directories {
                mode(&node, path, directory.mode, 0o500, report);
            }
        }
    },
};

fn mode(node: &Node<'_>, path: &str, mode: Option<i64>, owner: i64, report: &mut Report<'_>) {
    let problem = match mode {
        None => Some("it has no mode".to_owned()),
        Some(mode) if !(0..=0o7777).contains(&mode) => Some(format!("`{mode}` is not a mode")),
        Some(mode) if mode & owner != owner => Some(format!("its mode {mode:04o} keeps its owner out")),
        Some(mode) if mode & 0o022 != 0 && mode & 0o1000 == 0 => {
            Some(format!("its mode {mode:04o} lets others write"))
        }
        Some(_) => None,
    };
    if let Some(problem) = problem {
        node.report(report, path, problem);
        report.hint("modes are octal: write \"0644\" in a recipe, 420 in JSON");
    }
}

pub(in super::super) const SIZES: Check = Check {
    name: "ignition-size",
    config: &[],
    run: |artifacts, report| {
        for file in artifacts.of(INPUT).filter(|file| file.text.len() > LIMIT) {
            let size = file.text.len() >> 20;
            report.add(&file.path, None, "", format!("it has {size} MiB"));
            report.hint(
                "leave large files to a derivation that the node fetches, or compress them with `gzip`",
            );
        }
    },
};

pub(in super::super) const READABLE: Check = Check {
    name: "secrets-readable",
    config: &[],
    run: |artifacts, report| {
        for node in nodes(artifacts) {
            let Some(manifest) = node.manifest(artifacts) else {
                node.report(report, "", "no list of its entries says which are secret");
                continue;
            };
            for Written { path, secret, .. } in &manifest.files {
                let mode = node.config.files.get(path).and_then(|file| file.mode).unwrap_or(0o644);
                let closed = |parent: &str| {
                    let directory = node.config.directories.get(parent);
                    directory.and_then(|one| one.mode).is_some_and(|mode| mode & 0o001 == 0)
                };
                let hidden = path.match_indices('/').any(|(at, _)| closed(&path[..at]));
                if *secret && mode & 0o004 != 0 && !hidden && !SERVED.contains(&path.as_str()) {
                    node.report(report, path, format!("it is secret, but has mode {mode:04o}"));
                    report.hint("give it mode 0600");
                }
            }
            for unit in manifest.units.iter().filter(|unit| unit.secret) {
                node.report(report, &unit.path, "it is secret, but everyone can read units");
                report.hint("let the unit read the secret from a file with mode 0600");
            }
        }
    },
};

/// Fetched files are pinned.
pub(in super::super) const PINNED: Check = Check {
    name: "ignition-pinned",
    config: &[],
    run: |artifacts, report| {
        for node in nodes(artifacts) {
            let config = &node.config.rest.ignition.config;
            let others =
                config.iter().flat_map(|config| config.merge.iter().flatten().chain(&config.replace));
            let others = others.map(|resource| ("ignition.config", resource));
            let files = node.config.files.iter().flat_map(|(path, file)| {
                let resources = file.contents.iter().chain(file.append.iter().flatten());
                resources.map(move |resource| (path.as_str(), resource))
            });
            for (field, _) in others.chain(files).filter(|(_, resource)| is_open(resource)) {
                node.report(report, field, "it is fetched, but has no `verification.hash`");
            }
        }
    },
};

fn is_open(resource: &spec::Resource) -> bool {
    let fetched = resource.source.as_deref().is_some_and(|url| !url.is_empty() && !url.starts_with("data:"));
    fetched && resource.verification.as_ref().and_then(|one| one.hash.as_ref()).is_none()
}

fn paths<'n>(node: &'n Node<'_>) -> impl Iterator<Item = &'n str> {
    let config = node.config;
    let all = config.files.keys().chain(config.directories.keys()).chain(config.links.keys());
    all.map(String::as_str)
}
