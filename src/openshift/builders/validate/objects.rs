//! Checks of single cluster objects that an operator reads before it does anything else.

use super::artifacts::{Artifacts, Document};
use super::in_place::is_in_place;
use super::manifests::one;
use super::{Check, Open, Report, scripts};
use crate::base::hint::did_you_mean;
use crate::base::yaml::{YamlData, YamlNode};

/// The gates of this version exist before anyone needs them.
pub(super) const FEATURE_GATE: Check = Check {
    name: "featuregate",
    config: &["version"],
    run: |artifacts, report| {
        let version = artifacts.config_text("version");
        named(artifacts, report, "FeatureGate", "cluster", |document, report| {
            let field = "status.featureGates";
            let gates = document.list(field);
            if gates.is_empty() {
                report.at(document, document.root.line, field, "it is empty or missing");
            }
            for (at, gate) in gates.iter().enumerate() {
                let found = gate.get("version").and_then(YamlNode::text).unwrap_or_default();
                if found != version {
                    let message = format!("it is `{found}`, not `{version}`");
                    report.at(document, gate.line, &format!("{field}[{at}].version"), message);
                }
                if ["enabled", "disabled"].iter().all(|list| gate.get(list).is_none()) {
                    report.at(document, gate.line, &format!("{field}[{at}]"), "it lists no feature at all");
                }
            }
            let known: Vec<&str> = artifacts.of("gates").flat_map(|file| file.text.lines()).collect();
            for list in ["enabled", "disabled"] {
                let field = format!("spec.customNoUpgrade.{list}");
                for (at, gate) in document.list(&field).iter().enumerate() {
                    let Some(gate) = gate.text().filter(|gate| !known.contains(gate)) else { continue };
                    let near = did_you_mean(gate, known.iter().copied());
                    report.open.insert(Open {
                        file: document.file.clone(),
                        field: format!("{field}[{at}]"),
                        rule: format!(
                            "`{gate}` is a gate of this release{}",
                            near.map_or_else(String::new, |near| format!("; {near}"))
                        ),
                        why: "the release does not list it, but its programs may know it",
                    });
                }
            }
        });
    },
};

/// The cluster is installed, not updated.
pub(super) const CLUSTER_VERSION: Check = Check {
    name: "clusterversion-no-update",
    config: &[],
    run: |artifacts, report| {
        named(artifacts, report, "ClusterVersion", "version", |document, report| {
            let field = "spec.desiredUpdate";
            if let Some(found) = document.get(field).filter(|found| !found.is_null()) {
                report.at(document, found.line, field, "it is there");
            }
        });
    },
};

/// What every operator needs to know about its cluster.
pub(super) const INFRASTRUCTURE: Check = Check {
    name: "infrastructure-status",
    config: &[],
    run: |artifacts, report| {
        named(artifacts, report, "Infrastructure", "cluster", |document, report| {
            for field in [
                "controlPlaneTopology",
                "infrastructureTopology",
                "platformStatus.type",
                "apiServerURL",
                "apiServerInternalURI",
                "infrastructureName",
            ] {
                let path = format!("status.{field}");
                if document.text(&path).is_none_or(str::is_empty) {
                    let line = document.line(&path).unwrap_or(1);
                    report.at(document, line, &path, "it is missing or empty");
                    if field == "apiServerInternalURI" {
                        report.hint("URI, not URL");
                    }
                }
            }
        });
        let through = |file| {
            let mut commands = scripts::commands(file).into_iter();
            commands.any(|command| {
                command.verb == "replace" && command.words.iter().any(|word| word == "--subresource=status")
            })
        };
        if !artifacts.of(scripts::INPUT).any(through) {
            report.add("bootkube.sh", None, "", "no `oc replace --subresource=status` in it");
            report.hint("plain apply and create lose the status");
        }
    },
};

/// Where etcd is before there are masters.
pub(super) const ETCD_ENDPOINTS: Check = Check {
    name: "etcd-endpoints",
    config: &["bootstrap"],
    run: |artifacts, report| {
        // There the member is a master's: `in-place-endpoints` looks.
        if is_in_place(artifacts) {
            return;
        }
        let wanted = artifacts.config_text("bootstrap");
        let Some(document) = etcd_endpoints(artifacts, report) else { return };
        let found = bootstrap_member(document);
        let text = found.and_then(YamlNode::text).unwrap_or_default();
        if text != wanted {
            let line = found.unwrap_or(&document.root).line;
            let message = format!("it is `{text}`, not `{wanted}`");
            report.at(document, line, &format!("metadata.annotations[{BOOTSTRAP_MEMBER}]"), message);
        }
    },
};

/// Where etcd is if the only node bootstraps itself.
pub(super) const IN_PLACE_ENDPOINTS: Check = Check {
    name: "in-place-endpoints",
    config: &["ip"],
    run: |artifacts, report| {
        let Some(document) = etcd_endpoints(artifacts, report) else { return };
        if let Some(found) = bootstrap_member(document) {
            let field = format!("metadata.annotations[{BOOTSTRAP_MEMBER}]");
            report.at(document, found.line, &field, "it is there, and no member is bootstrap's");
        }
        let wanted = artifacts.config_text("ip");
        let listed: Vec<&str> = match document.get("data").map(|data| &data.data) {
            Some(YamlData::Map(entries)) => entries.iter().filter_map(|entry| entry.value.text()).collect(),
            _ => Vec::new(),
        };
        if listed != [wanted] {
            let line = document.line("data").unwrap_or(1);
            let message = format!("it lists `{}`, not `{wanted}`", listed.join(", "));
            report.at(document, line, "data", message);
        }
    },
};

/// The annotation with the address of the bootstrap member. Its name contains dots.
const BOOTSTRAP_MEMBER: &str = "alpha.installer.openshift.io/etcd-bootstrap";

fn bootstrap_member(document: &Document) -> Option<&YamlNode> {
    document.get("metadata.annotations").and_then(|all| all.get(BOOTSTRAP_MEMBER))
}

fn etcd_endpoints<'a>(artifacts: &'a Artifacts<'_>, report: &mut Report<'_>) -> Option<&'a Document> {
    let found = artifacts.kind("v1", "ConfigMap").find(|document| {
        document.text("metadata.name") == Some("etcd-endpoints")
            && document.text("metadata.namespace") == Some("openshift-etcd")
    });
    if found.is_none() {
        report.add("manifests", None, "", "there is no ConfigMap openshift-etcd/etcd-endpoints");
    }
    found
}

/// Checks the only object of a kind in config.openshift.io/v1, which must have this name.
fn named(
    artifacts: &Artifacts<'_>,
    report: &mut Report<'_>,
    kind: &str,
    name: &str,
    look: impl Fn(&Document, &mut Report<'_>),
) {
    one(artifacts, report, "config.openshift.io/v1", kind, |document, report| {
        if document.text("metadata.name") != Some(name) {
            let line = document.line("metadata.name").unwrap_or(1);
            report.at(
                document,
                line,
                "metadata.name",
                format!("it is not `{name}`, the only one that is read"),
            );
        }
        look(document, report);
    });
}
