//! Checks of the images that containers run.

use super::artifacts::{Artifacts, Document};
use super::ignition;
use super::pods::{Program, programs};
use super::references::{containers, pod_specs};
use super::{Check, Report};
use crate::base::yaml::YamlNode;
use crate::engine::registry::ImageName;

/// The CVO's image is the release itself.
pub(super) const CVO_IMAGE: Check = Check {
    name: "cvo-image",
    config: &["release"],
    run: |artifacts, report| {
        let release = artifacts.config_text("release");
        for program in programs(artifacts).iter().filter(|program| program.runs("cluster-version-operator")) {
            wanted(program, release, report);
            let flag = program.flag("release-image");
            if flag.and_then(|flag| flag.value.as_deref()) != Some(release) {
                let line = flag.map_or(program.node.line, |flag| flag.line);
                let message = format!("`--release-image` is not `{release}`");
                report.at(program.document, line, &program.field("args"), message);
            }
        }
    },
};

/// kube-proxy serves the first service address until OVN does.
pub(super) const KUBE_PROXY: Check = Check {
    name: "kube-proxy",
    config: &[],
    run: |artifacts, report| {
        if ignition::kube_proxy(artifacts, report) {
            return;
        }
        let programs = programs(artifacts);
        let mut found = programs.iter().filter(|program| program.runs("kube-proxy")).peekable();
        if found.peek().is_none() {
            report.add("static-pods", None, "", "no static pod runs kube-proxy");
        }
        let image = artifacts.of("kube-proxy").next().map(|file| file.text.trim()).unwrap_or_default();
        for program in found {
            wanted(program, image, report);
            if !program.is_privileged() {
                program.report(report, "securityContext", "it is not privileged");
            }
        }
    },
};

/// Images are pinned.
pub(super) const NOT_EMPTY: Check = Check {
    name: "image-not-empty",
    config: &[],
    run: |artifacts, report| {
        for named in named(artifacts) {
            if let Some(problem) = problem(&named.image) {
                report.at(named.document, named.line, &named.field, format!("{}{problem}", named.flag));
            }
        }
    },
};

/// Images that a container runtime can ask a registry for.
pub(super) const PULL_SPECS: Check = Check {
    name: "pull-specs",
    config: &[],
    run: |artifacts, report| {
        for named in named(artifacts).iter().filter(|named| !named.image.is_empty()) {
            if named.image.parse::<ImageName>().is_ok() {
                continue;
            }
            let message = format!("{}`{}` names no registry", named.flag, named.image);
            report.at(named.document, named.line, &named.field, message);
            report.hint(match named.image.starts_with("oci:") {
                true => {
                    "say where nodes pull the release with `releaseRepository` in cluster.yaml, and run \
                     `tinderbox lock --update release`"
                }
                false => "write registry/repository@sha256:…",
            });
        }
    },
};

/// An image that something runs, or is told of.
struct NamedImage<'a> {
    document: &'a Document,
    line: usize,
    field: String,
    /// `--release-image: `; empty for a container's own image.
    flag: String,
    image: String,
}

/// The images of all containers, and those in flags of static pods.
fn named<'a>(artifacts: &'a Artifacts<'_>) -> Vec<NamedImage<'a>> {
    let mut found = Vec::new();
    for document in artifacts.subjects() {
        for (path, spec) in pod_specs(document) {
            for (field, container) in containers(&path, spec) {
                let node = container.get("image");
                let image = node.and_then(YamlNode::text).unwrap_or_default().to_owned();
                let line = node.unwrap_or(container).line;
                let (field, flag) = (format!("{field}.image"), String::new());
                found.push(NamedImage { document, line, field, flag, image });
            }
        }
    }
    for program in programs(artifacts) {
        for flag in program.container.flags.iter().filter(|flag| flag.name.ends_with("image")) {
            found.push(NamedImage {
                document: program.document,
                line: flag.line,
                field: program.field("args"),
                flag: format!("`--{}`: ", flag.name),
                image: flag.value.clone().unwrap_or_default(),
            });
        }
    }
    found
}

fn wanted(program: &Program<'_>, image: &str, report: &mut Report<'_>) {
    let found = &program.container.image;
    if found != image {
        program.report(report, "image", format!("it is `{found}`, not `{image}`"));
    }
}

/// What is wrong with a reference, if anything.
fn problem(reference: &str) -> Option<String> {
    let digest = reference.rsplit_once("@sha256:").map(|(_, digest)| digest);
    let whole = |digest: &str| digest.len() == 64 && digest.bytes().all(|c| c.is_ascii_hexdigit());
    match digest {
        _ if reference.is_empty() => Some("it is empty".into()),
        Some(digest) if whole(digest) => None,
        Some(_) => Some(format!("`{reference}` has an invalid digest")),
        None => Some(format!("`{reference}` has no digest")),
    }
}
