//! Checks of MachineConfigs and of pools: MCO renders what matches nothing without a word, and it reaches no node.

use std::collections::{BTreeMap, BTreeSet};

use super::artifacts::{Artifacts, Document};
use super::{Check, Report};
use crate::base::hint::did_you_mean;
use crate::base::value::Value;
use crate::base::yaml::{YamlData, YamlNode};

const VERSION: &str = "machineconfiguration.openshift.io/v1";
const ROLE: &str = "machineconfiguration.openshift.io/role";

/// The inputs with cluster manifests, and with the pools that MCO knows.
const MANIFESTS: &str = "manifests";
const POOLS: &str = "pools";

/// Labels, or the ones that a selector asks for.
type Labels<'a> = BTreeMap<&'a str, &'a str>;

/// A pool for everything that is meant for one.
pub(super) const SELECTED: Check = Check {
    name: "machine-config-pool",
    config: &[],
    run: |artifacts, report| {
        let pools: Vec<&Document> = all(artifacts, POOLS, "MachineConfigPool").collect();
        for config in all(artifacts, MANIFESTS, "MachineConfig") {
            let labels = labels(config);
            let selector = "spec.machineConfigSelector";
            let takes = |node| Selector::of(node).matches(&labels);
            if !pools.iter().any(|pool| pool.get(selector).is_some_and(takes)) {
                unselected(config, &pools, report);
            }
        }
        for kind in ["KubeletConfig", "ContainerRuntimeConfig"] {
            for config in all(artifacts, MANIFESTS, kind) {
                let field = "spec.machineConfigPoolSelector";
                let selector = config.get(field).map(Selector::of).unwrap_or_default();
                let known: Vec<Labels<'_>> = pools.iter().map(|pool| labels(pool)).collect();
                if !known.iter().any(|labels| selector.matches(labels)) {
                    matches_none(config, field, &selector, &known, "MachineConfigPool", report);
                }
            }
        }
    },
};

/// Nodes for every pool of the user's.
pub(super) const NODES: Check = Check {
    name: "pool-nodes",
    config: &["mco-formats.toml", "nodes", "schedulable", "version"],
    run: |artifacts, report| {
        let of_role = |role: &str| -> Vec<&str> {
            let name = format!("{role}-labels");
            artifacts.tables.mco_format(&name).split(',').filter(|label| !label.is_empty()).collect()
        };
        let schedulable = artifacts.config.get("schedulable") == Some(&&Value::Bool(true));
        let roles: BTreeSet<&str> = artifacts.config_texts("nodes").into_iter().collect();
        let nodes: Vec<Labels<'_>> = roles
            .into_iter()
            .map(|role| {
                let also = if role == "master" && schedulable { of_role("worker") } else { Vec::new() };
                of_role(role).into_iter().chain(also).map(|label| (label, "")).collect()
            })
            .collect();
        for pool in all(artifacts, MANIFESTS, "MachineConfigPool") {
            let field = "spec.nodeSelector";
            let selector = pool.get(field).map(Selector::of).unwrap_or_default();
            if !nodes.iter().any(|labels| selector.matches(labels)) {
                matches_none(pool, field, &selector, &nodes, "node", report);
            }
        }
    },
};

/// Ignition that this release's MCO reads, and that is the same for everybody who reads it.
pub(super) const IGNITION: Check = Check {
    name: "machine-config-ignition",
    config: &["mco-formats.toml", "version"],
    run: |artifacts, report| {
        let newest = artifacts.tables.mco_format("ignition-spec");
        for config in all(artifacts, MANIFESTS, "MachineConfig") {
            let Some(ignition) = config.get("spec.config").filter(|node| !node.is_null()) else { continue };
            let field = "spec.config.ignition.version";
            match config.get(field).and_then(YamlNode::text) {
                None => report.at(config, ignition.line, field, "it is missing"),
                Some(version) if !reads_ignition(version, newest) => {
                    let line = config.line(field).unwrap_or(ignition.line);
                    let message = format!("this release's MCO cannot read Ignition spec `{version}`");
                    report.at(config, line, field, message);
                    report.hint(format!("write it for spec {newest}, or an older one"));
                }
                Some(_) => {}
            }
            for list in ["files", "directories"] {
                let field = format!("spec.config.storage.{list}");
                for (at, node) in config.list(&field).iter().enumerate() {
                    if node.get("mode").is_none_or(YamlNode::is_null) {
                        let path = node.get("path").and_then(YamlNode::text).unwrap_or_default();
                        let message = format!("`{path}` has no mode");
                        report.at(config, node.line, &format!("{field}[{at}].mode"), message);
                        let mode = if list == "files" { "`mode: 420` (0644)" } else { "`mode: 493` (0755)" };
                        report.hint(format!("add {mode}"));
                    }
                }
            }
        }
    },
};

/// The objects of a kind in an input.
fn all<'a>(
    artifacts: &'a Artifacts<'_>,
    input: &'a str,
    kind: &'a str,
) -> impl Iterator<Item = &'a Document> {
    artifacts.of(input).flat_map(|file| file.documents()).filter(move |document| {
        document.text("apiVersion") == Some(VERSION) && document.text("kind") == Some(kind)
    })
}

/// A MachineConfig that no pool takes.
fn unselected(config: &Document, pools: &[&Document], report: &mut Report<'_>) {
    let selectors = pools.iter().filter_map(|pool| pool.get("spec.machineConfigSelector")).map(Selector::of);
    let roles: BTreeSet<&str> = selectors.flat_map(|selector| selector.values(ROLE)).collect();
    let known = || roles.iter().map(|role| format!("`{role}`")).collect::<Vec<_>>().join(" or ");
    match config.get("metadata.labels").and_then(|labels| labels.get(ROLE)) {
        Some(label) => {
            let role = label.text().unwrap_or_default();
            let field = format!("metadata.labels[{ROLE}]");
            report.at(config, label.line, &field, format!("no MachineConfigPool takes role `{role}`"));
            report.hint(
                did_you_mean(role, roles.iter().copied()).unwrap_or_else(|| format!("it can be {}", known())),
            );
        }
        None => {
            let line = config.line("metadata.labels").unwrap_or(1);
            report.at(
                config,
                line,
                "metadata.labels",
                format!("no MachineConfigPool takes it: it has no label `{ROLE}`"),
            );
            report.hint(format!("add it: {}", known()));
        }
    }
}

/// A selector that matches none of these.
fn matches_none(
    document: &Document,
    field: &str,
    selector: &Selector<'_>,
    known: &[Labels<'_>],
    what: &str,
    report: &mut Report<'_>,
) {
    let line = selector.line.or_else(|| document.line(field)).unwrap_or(1);
    report.at(document, line, field, format!("it matches no {what}"));
    let labels: BTreeSet<&str> = known.iter().flat_map(|labels| labels.keys()).copied().collect();
    let mut missing = selector.rules.iter().map(|rule| rule.key).filter(|key| !labels.contains(key));
    let near = missing.find_map(|key| did_you_mean(key, labels.iter().copied()));
    let listed = || labels.iter().map(|label| format!("`{label}`")).collect::<Vec<_>>().join(", ");
    report.hint(near.unwrap_or_else(|| format!("there are the labels {}", listed())));
}

fn labels(document: &Document) -> Labels<'_> {
    let entries = document.get("metadata.labels").map(entries).unwrap_or_default();
    entries.into_iter().map(|(key, value)| (key, value.text().unwrap_or_default())).collect()
}

fn entries(node: &YamlNode) -> Vec<(&str, &YamlNode)> {
    match &node.data {
        YamlData::Map(entries) => entries.iter().map(|entry| (entry.key.as_str(), &entry.value)).collect(),
        _ => Vec::new(),
    }
}

/// A label selector. MCO takes none of anything if it is empty.
#[derive(Default)]
struct Selector<'a> {
    rules: Vec<Rule<'a>>,
    /// Of the first rule.
    line: Option<usize>,
}

struct Rule<'a> {
    key: &'a str,
    operator: &'a str,
    values: Vec<&'a str>,
}

impl<'a> Selector<'a> {
    fn of(node: &'a YamlNode) -> Self {
        let equal = node.get("matchLabels").map(entries).unwrap_or_default();
        let expressions = node.get("matchExpressions").map(YamlNode::items).unwrap_or_default();
        let line =
            equal.first().map(|(_, value)| value.line).or_else(|| expressions.first().map(|one| one.line));
        let text = |node: &'a YamlNode, key: &str| node.get(key).and_then(YamlNode::text).unwrap_or_default();
        let equal = equal.into_iter().map(|(key, value)| Rule {
            key,
            operator: "In",
            values: value.text().into_iter().collect(),
        });
        let expressions = expressions.iter().map(|one| Rule {
            key: text(one, "key"),
            operator: text(one, "operator"),
            values: one
                .get("values")
                .map(YamlNode::items)
                .unwrap_or_default()
                .iter()
                .filter_map(YamlNode::text)
                .collect(),
        });
        Self { rules: equal.chain(expressions).collect(), line }
    }

    fn matches(&self, labels: &Labels<'_>) -> bool {
        !self.rules.is_empty() && self.rules.iter().all(|rule| rule.holds(labels.get(rule.key).copied()))
    }

    /// The values that it accepts of a label.
    fn values(&self, key: &str) -> Vec<&'a str> {
        let rules = self.rules.iter().filter(|rule| rule.key == key && rule.operator == "In");
        rules.flat_map(|rule| rule.values.iter().copied()).collect()
    }
}

impl Rule<'_> {
    fn holds(&self, found: Option<&str>) -> bool {
        let listed = found.is_some_and(|value| self.values.contains(&value));
        match self.operator {
            "In" => listed,
            "NotIn" => !listed,
            "Exists" => found.is_some(),
            "DoesNotExist" => found.is_none(),
            _ => false,
        }
    }
}

/// Whether MCO reads a spec version: 2, which it translates, and 3 up to the newest that it knows.
pub(crate) fn reads_ignition(version: &str, newest: &str) -> bool {
    let minor = |version: &str| {
        let mut numbers = version.split('.').map(str::parse::<u32>);
        match (numbers.next()?, numbers.next()?, numbers.next()?, numbers.next()) {
            (Ok(major), Ok(minor), Ok(_), None) => Some((major, minor)),
            _ => None,
        }
    };
    match (minor(version), minor(newest)) {
        (Some(version), Some(newest)) => version.0 >= 2 && version <= newest,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn specs_up_to_the_newest_are_readable() {
        for version in ["2.2.0", "3.0.0", "3.4.0"] {
            assert!(reads_ignition(version, "3.4.0"), "{version}");
        }
        for version in ["3.5.0", "3.4", "3.5.0-experimental", "1.0.0", "4.0.0", ""] {
            assert!(!reads_ignition(version, "3.4.0"), "{version}");
        }
        assert!(reads_ignition("3.5.0", "3.5.0"));
    }

    #[test]
    fn selectors_match_as_kubernetes_does_but_empty_ones_nothing() {
        let matches = |text: &str, labels: &[(&'static str, &'static str)]| {
            let source = crate::base::yaml::Source { name: "s", text };
            let node =
                crate::base::yaml::documents(source, &mut crate::base::hint::Problems::default()).pop();
            Selector::of(&node.unwrap()).matches(&labels.iter().copied().collect())
        };
        assert!(matches("matchLabels: {a: ''}", &[("a", ""), ("b", "c")]));
        assert!(!matches("matchLabels: {a: ''}", &[("a", "x")]));
        assert!(!matches("{}", &[]) && !matches("{}", &[("a", "")]));
        assert!(matches("matchExpressions: [{key: a, operator: In, values: [x, y]}]", &[("a", "y")]));
        assert!(matches("matchExpressions: [{key: a, operator: NotIn, values: [x]}]", &[]));
        assert!(!matches("matchExpressions: [{key: a, operator: Exists}]", &[("b", "")]));
        assert!(matches("matchExpressions: [{key: a, operator: DoesNotExist}]", &[("b", "")]));
    }
}
