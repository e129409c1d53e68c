//! Compares what MCO rendered with what the cluster will render itself.

use std::collections::{BTreeMap, BTreeSet};

use super::artifacts::{Artifacts, Document, meaning};
use super::{Check, Report};
use crate::base::yaml::YamlNode;

const VERSION: &str = "machineconfiguration.openshift.io/v1";
const ROLE: &str = "machineconfiguration.openshift.io/role";

/// The cluster's own controller renders again, from the objects in the API.
pub(super) const DRIFT: Check = Check {
    name: "render-drift",
    config: &["mco-formats.toml", "operands.toml", "version"],
    run: |artifacts, report| {
        payload(artifacts, report);
        let mut rendered_from: BTreeSet<&str> = BTreeSet::new();
        let partitioned = partitioned(artifacts);
        let applied: BTreeMap<&str, Vec<&str>> = applied(artifacts);
        for pool in artifacts.kind(VERSION, "MachineConfigPool") {
            let rendered = pool.text("spec.configuration.name").unwrap_or_default();
            if !rendered.starts_with("rendered-") {
                continue; // one that the user wrote: the rendered ones are beside it
            }
            let name = pool.text("metadata.name").unwrap_or_default();
            let sources: BTreeSet<&str> = pool
                .get("spec.configuration.source")
                .map(YamlNode::items)
                .unwrap_or_default()
                .iter()
                .filter_map(|source| source.get("name").and_then(YamlNode::text))
                .collect();
            rendered_from.extend(&sources);
            let tuning = artifacts.tables.operand("partitioning-machine-config").replace("POOL", name);
            if let Some(infrastructure) = partitioned.filter(|_| !sources.contains(tuning.as_str())) {
                let message = format!(
                    "all nodes are to be partitioned, and MachineConfig `{tuning}` did not go into the render"
                );
                report.at(infrastructure, line(infrastructure, PARTITIONING), PARTITIONING, message);
                report.hint("set `cpuPartitioningMode: AllNodes` in install-config.yaml: then the node-tuning operator's render makes it");
            }
            let mut drift = |message: String| {
                let field = "spec.configuration.source";
                report.add(&pool.file, pool.line(field), field, message);
            };
            for source in sources.iter().filter(|source| !is_generated(source) || **source == tuning) {
                if !applied.contains_key(source) {
                    drift(format!("`{source}` went into the render and is not among the manifests"));
                }
            }
            let takes_all = selects_by_role(pool, name);
            for (config, _) in applied.iter().filter(|(_, roles)| takes_all && roles.contains(&name)) {
                if !sources.contains(config) {
                    drift(format!(
                        "MachineConfig `{config}` is among the manifests and did not go into the render"
                    ));
                }
            }
        }
        profiles(artifacts, &rendered_from, report);
        streams(artifacts, report);
    },
};

const PARTITIONING: &str = "status.cpuPartitioning";

/// The Infrastructure, if it asks every pool for workload partitioning.
fn partitioned<'a>(artifacts: &'a Artifacts<'_>) -> Option<&'a Document> {
    let mut all = artifacts.kind("config.openshift.io/v1", "Infrastructure");
    all.find(|one| one.text(PARTITIONING) == Some("AllNodes"))
}

/// The node-tuning operator makes a MachineConfig for each of its profiles, in the cluster at the latest.
fn profiles(artifacts: &Artifacts<'_>, rendered_from: &BTreeSet<&str>, report: &mut Report<'_>) {
    let manifests = artifacts.of("manifests").flat_map(|file| file.documents());
    for profile in manifests.filter(|one| {
        group(one) == "performance.openshift.io" && one.text("kind") == Some("PerformanceProfile")
    }) {
        let name = profile.text("metadata.name").unwrap_or_default();
        let config = artifacts.tables.operand("profile-machine-config").replace("NAME", name);
        if !rendered_from.contains(config.as_str()) {
            let message = format!("MachineConfig `{config}` of this profile went into the render of no pool");
            report.at(profile, profile.root.line, "", message);
            report.hint("the node-tuning operator will make it in the cluster, and the nodes of the pool will reboot: `tinderbox show node-tuning/rendered` lists what its render made of your manifests");
        }
    }
}

/// Without the gate, no controller reads which OS nodes are to get.
fn streams(artifacts: &Artifacts<'_>, report: &mut Report<'_>) {
    let gate = artifacts.tables.mco_format("os-image-stream-gate");
    let is_on = |one: &Document| {
        one.list("status.featureGates").iter().any(|gates| {
            let enabled = gates.get("enabled").map(YamlNode::items).unwrap_or_default();
            enabled.iter().any(|one| one.get("name").and_then(YamlNode::text) == Some(gate))
        })
    };
    if artifacts.kind("config.openshift.io/v1", "FeatureGate").any(is_on) {
        return;
    }
    let manifests = artifacts.of("manifests").flat_map(|file| file.documents());
    for stream in manifests.filter(|one| one.text("kind") == Some("OSImageStream")) {
        let field = "spec.defaultStream";
        let message =
            format!("the gate {gate} is off, so nodes get the release's default OS whatever this says");
        report.at(stream, line(stream, field), field, message);
        report.hint(format!(
            "remove `osImageStream` from install-config.yaml, or turn {gate} on: in 4.22 with `featureSet: TechPreviewNoUpgrade`; \
             from 4.23 on it is on by default"
        ));
    }
}

fn line(document: &Document, field: &str) -> usize {
    document.line(field).unwrap_or(document.root.line)
}

/// What the cluster-version operator applies from the payload: the cluster's controller reads it, so it has to be among the
/// manifests, as it is in the payload. An object with an empty spec has no effect, and one that the operator only creates
/// gives way to that of the manifests.
fn payload(artifacts: &Artifacts<'_>, report: &mut Report<'_>) {
    let mine = |wanted: &Document| {
        let mut all = artifacts.of("manifests").flat_map(|file| file.documents());
        all.find(|one| {
            group(one) == group(wanted) && IDENTITY.iter().all(|field| one.text(field) == wanted.text(field))
        })
    };
    for object in artifacts.of("payload").flat_map(|file| file.documents()) {
        if is_unmanaged(artifacts, object) {
            continue;
        }
        let spec = object.get("spec").map(meaning).filter(|spec| spec != "{}" && spec != "\"\"");
        let [kind, name] = ["kind", "metadata.name"].map(|field| object.text(field).unwrap_or_default());
        let created = object.get("metadata.annotations").and_then(|all| all.get(CREATE_ONLY)?.text());
        let message = match mine(object) {
            None if spec.is_some() => format!(
                "the release has {kind} `{name}`, which goes into the cluster's render and did not go into ours"
            ),
            Some(mine) if created != Some("true") && mine.get("spec").map(meaning) != spec => format!(
                "{kind} `{name}` is not as the release has it: the cluster-version operator will put the release's back"
            ),
            _ => continue,
        };
        report.at(object, object.root.line, "", message);
        report.hint(format!(
            "leave it as it is, or make it unmanaged in `spec.overrides` of the ClusterVersion; a kind that is not among \
             the manifests needs `payload = true` in its row of recipes/knowledge/mco-kinds.toml ({kind})"
        ));
    }
}

/// Whether the ClusterVersion tells the cluster-version operator to leave an object alone, for good.
fn is_unmanaged(artifacts: &Artifacts<'_>, object: &Document) -> bool {
    let manifests = artifacts.of("manifests").flat_map(|file| file.documents());
    let version = manifests.filter(|one| one.text("kind") == Some("ClusterVersion"));
    version.flat_map(|one| one.list("spec.overrides")).any(|entry| {
        let is = |key: &str, wanted: Option<&str>| {
            entry.get(key).and_then(YamlNode::text).unwrap_or_default() == wanted.unwrap_or_default()
        };
        is("unmanaged", Some("true"))
            && is("group", Some(group(object)))
            && is("kind", object.text("kind"))
            && is("namespace", object.text("metadata.namespace"))
            && is("name", object.text("metadata.name"))
    })
}

/// The fields that, with its group, identify an object.
const IDENTITY: [&str; 3] = ["kind", "metadata.namespace", "metadata.name"];

const CREATE_ONLY: &str = "release.openshift.io/create-only";

fn group(document: &Document) -> &str {
    document.text("apiVersion").and_then(|version| version.split_once('/')).map_or("", |(group, _)| group)
}

/// Whether a pool selects every MachineConfig of its role. A user's pool may select in other ways.
fn selects_by_role(pool: &Document, name: &str) -> bool {
    let selector = pool.get("spec.machineConfigSelector");
    let role = selector.and_then(|selector| selector.get("matchLabels")?.get(ROLE)?.text());
    role == Some(name) && selector.is_some_and(|selector| selector.get("matchExpressions").is_none())
}

/// MachineConfigs among the manifests, with their roles.
fn applied<'a>(artifacts: &'a Artifacts<'_>) -> BTreeMap<&'a str, Vec<&'a str>> {
    let mut applied: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let manifests = artifacts.of("manifests").flat_map(|file| file.documents());
    let is_config = |one: &&Document| {
        one.text("apiVersion") == Some(VERSION) && one.text("kind") == Some("MachineConfig")
    };
    for config in manifests.filter(is_config) {
        let name = config.text("metadata.name").unwrap_or_default();
        let role = config.get("metadata.labels").and_then(|labels| labels.get(ROLE)).and_then(YamlNode::text);
        applied.entry(name).or_default().extend(role);
    }
    applied
}

/// What MCO generates itself, in the cluster as here.
fn is_generated(name: &str) -> bool {
    name.starts_with("00-") || name.starts_with("01-") || name.contains("-generated-")
}
