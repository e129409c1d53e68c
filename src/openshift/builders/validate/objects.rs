//! Checks of single cluster objects that an operator reads before it does anything else.

use super::artifacts::{Artifacts, Document};
use super::manifests::one;
use super::{Check, Open, Report, scripts};
use crate::base::hint::did_you_mean;
use crate::base::yaml::YamlNode;

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
        let wanted = artifacts.config_text("bootstrap");
        let mut maps = artifacts.kind("v1", "ConfigMap").filter(|document| {
            document.text("metadata.name") == Some("etcd-endpoints")
                && document.text("metadata.namespace") == Some("openshift-etcd")
        });
        let Some(document) = maps.next() else {
            return report.add("manifests", None, "", "there is no ConfigMap openshift-etcd/etcd-endpoints");
        };
        // Its name contains dots.
        let annotation = "alpha.installer.openshift.io/etcd-bootstrap";
        let found = document.get("metadata.annotations").and_then(|all| all.get(annotation));
        let text = found.and_then(YamlNode::text).unwrap_or_default();
        if text != wanted {
            let line = found.unwrap_or(&document.root).line;
            let message = format!("it is `{text}`, not `{wanted}`");
            report.at(document, line, &format!("metadata.annotations[{annotation}]"), message);
        }
    },
};

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
