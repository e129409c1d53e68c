//! Compares what MCO rendered with what the cluster will render itself.

use std::collections::{BTreeMap, BTreeSet};

use super::Check;
use super::artifacts::{Artifacts, Document};
use crate::base::yaml::YamlNode;

const VERSION: &str = "machineconfiguration.openshift.io/v1";
const ROLE: &str = "machineconfiguration.openshift.io/role";

/// The cluster's own controller renders again, from the objects in the API.
pub(super) const DRIFT: Check = Check {
    name: "render-drift",
    config: &[],
    run: |artifacts, report| {
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
            let mut drift = |message: String| {
                let field = "spec.configuration.source";
                report.add(&pool.file, pool.line(field), field, message);
            };
            for source in sources.iter().filter(|source| !is_generated(source)) {
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
    },
};

/// Whether a pool selects every MachineConfig of its role. A user's pool may select in other ways.
fn selects_by_role(pool: &Document, name: &str) -> bool {
    let selector = pool.get("spec.machineConfigSelector");
    let role = selector.and_then(|selector| selector.get("matchLabels")?.get(ROLE)?.text());
    role == Some(name) && selector.is_some_and(|selector| selector.get("matchExpressions").is_none())
}

/// MachineConfigs among the manifests, with their roles.
fn applied<'a>(artifacts: &'a Artifacts<'_>) -> BTreeMap<&'a str, Vec<&'a str>> {
    let mut applied: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for config in artifacts.kind(VERSION, "MachineConfig") {
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
