//! The objects that the hand-over needs, from the table `hand-over.toml`; what the CVO must leave alone until then,
//! and the object that completes it.

use super::super::{Check, scripts};
use super::{MANIFESTS, find, held};
use crate::base::yaml::YamlNode;
use crate::openshift::knowledge::{HandOver, HandedOver, TableFile};

/// Everything that an operator takes over exists.
pub(in super::super) const OBJECTS: Check = Check {
    name: "hand-over-objects",
    config: &["version", HandOver::FILE],
    run: |artifacts, report| {
        for HandedOver { kind, name, keys, without, .. } in artifacts.tables.handed_over() {
            let Some(document) = find(artifacts, kind, name) else {
                report.add("manifests", None, "", format!("there is no {kind} {name}: {without}"));
                continue;
            };
            for key in keys.iter().filter(|key| held(document, key).is_none()) {
                let line = document.line("data").unwrap_or(1);
                let message = format!("it is missing, empty or unreadable: {without}");
                report.at(document, line, &format!("data[{key}]"), message);
            }
        }
    },
};

/// The release's empty objects do not precede ours.
pub(in super::super) const OVERRIDES: Check = Check {
    name: "cvo-overrides",
    config: &[],
    run: |artifacts, report| {
        let all = || artifacts.of(MANIFESTS).flat_map(|file| file.documents());
        let Some(version) = all().find(|document| document.text("kind") == Some("ClusterVersion")) else {
            return; // Said by a check of its own.
        };
        let field = "spec.overrides";
        let is_off = |kind: &str| {
            version.list(field).iter().any(|entry| {
                let word = |key: &str| entry.get(key).and_then(YamlNode::text).unwrap_or_default();
                [word("group"), word("kind"), word("name"), word("unmanaged")]
                    == ["config.openshift.io", kind, "cluster", "true"]
            })
        };
        let ours = all().filter(|document| {
            document.text("apiVersion") == Some("config.openshift.io/v1")
                && document.text("metadata.name") == Some("cluster")
        });
        for kind in ours.filter_map(|document| document.text("kind")).filter(|kind| !is_off(kind)) {
            let line = version.line(field).unwrap_or(1);
            report.at(version, line, field, format!("{kind} `cluster` is not among them"));
            // For one of the user's own: bootkube.sh lifts it with ours.
            report.hint(format!(
                "for a {kind} of your own, add a file to patches/ with `target: {{kind: ClusterVersion, name: version}}` and \
                 `patch: [{{op: add, path: /spec/overrides/-, value: {{group: config.openshift.io, kind: {kind}, name: cluster, \
                 namespace: '', unmanaged: true}}}}]`"
            ));
        }
        let lifts = |text: &str| text.contains("patch clusterversion");
        if !artifacts.of(scripts::INPUT).any(|file| lifts(&file.text)) {
            report.add(
                "bootkube.sh",
                None,
                "",
                "nothing in it takes the overrides off: no update is possible",
            );
        }
    },
};

/// The object that ends bootstrap.
pub(in super::super) const COMPLETE: Check = Check {
    name: "bootstrap-complete",
    config: &[],
    run: |artifacts, report| {
        let says = |file| {
            scripts::commands(file).into_iter().any(|command| {
                let has = |wanted: &str| command.words.iter().any(|word| word == wanted);
                command.verb == "create"
                    && ["configmap", "bootstrap", "--namespace=kube-system", "--from-literal=status=complete"]
                        .into_iter()
                        .all(has)
            })
        };
        if !artifacts.of(scripts::INPUT).any(says) {
            report.add("bootkube.sh", None, "", "it creates no ConfigMap kube-system/bootstrap");
        }
    },
};
