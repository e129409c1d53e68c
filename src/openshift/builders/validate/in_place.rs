//! Checks of what else differs where the only node bootstraps itself: what operators are told, and what is left in the end.

use super::artifacts::{Artifacts, Document};
use super::{Check, scripts};
use crate::base::hint::Problems;
use crate::base::yaml::{self, Source, YamlNode};

/// The field of install-config by which operators recognise such a cluster.
const FIELD: &str = "bootstrapInPlace";
/// Where the cluster has its install-config.
const CONFIG: &str = "data.install-config";

/// Operators know that there is no bootstrap machine.
pub(super) const CLUSTER_CONFIG: Check = Check {
    name: "in-place-config",
    config: &[],
    run: |artifacts, report| {
        // That there is one, another check says.
        let Some((document, config)) = install_config(artifacts) else { return };
        let line = document.line(CONFIG).unwrap_or(1);
        if config.get(FIELD).is_none() {
            report.at(document, line, CONFIG, format!("it has no `{FIELD}`"));
        }
        let replicas = config.get("controlPlane").and_then(|plane| plane.get("replicas"));
        if replicas.and_then(YamlNode::text) != Some("1") {
            report.at(document, line, CONFIG, "`controlPlane.replicas` is not 1");
        }
    },
};

/// Whether the manifests describe a cluster whose only node bootstraps itself, as operators decide it.
pub(super) fn is_in_place(artifacts: &Artifacts<'_>) -> bool {
    install_config(artifacts).is_some_and(|(_, config)| config.get(FIELD).is_some())
}

fn install_config<'a>(artifacts: &'a Artifacts<'_>) -> Option<(&'a Document, YamlNode)> {
    let mut maps = artifacts.kind("v1", "ConfigMap");
    let document = maps.find(|document| {
        document.text("metadata.name") == Some("cluster-config-v1")
            && document.text("metadata.namespace") == Some("kube-system")
    })?;
    let text = document.text(CONFIG)?;
    let source = Source { name: &document.file, text };
    Some((document, yaml::parse(source, &mut Problems::default())?))
}

/// The first control plane goes, with its keys.
pub(super) const CLEARED: Check = Check {
    name: "in-place-cleared",
    config: &[],
    run: |artifacts, report| {
        for (wanted, problem) in [
            ("cluster-version-operator.yaml", "it does not end the static cluster-version operator"),
            ("$secrets", "it does not remove the keys of the first control plane"),
        ] {
            let removes = |line: &str| {
                let mut words = line.split_whitespace().map(|word| word.trim_matches('"'));
                words.next() == Some("rm") && words.any(|word| word.ends_with(wanted))
            };
            if !artifacts.of(scripts::INPUT).any(|file| file.text.lines().any(removes)) {
                report.add("bootkube.sh", None, "", problem);
            }
        }
    },
};
