//! Which objects the hand-over needs, and what happens without each; what the CVO must leave alone until then, and the word
//! that ends it.

use super::super::{Check, scripts};
use super::{MANIFESTS, find, held};
use crate::base::yaml::YamlNode;

/// An object that an operator reads.
struct Object {
    kind: &'static str,
    object: &'static str,
    keys: &'static [&'static str],
    /// What happens without it.
    without: &'static str,
}

const fn object(
    kind: &'static str,
    object: &'static str,
    keys: &'static [&'static str],
    without: &'static str,
) -> Object {
    Object { kind, object, keys, without }
}

const PAIR: &[&str] = &["tls.crt", "tls.key"];
const BUNDLE: &[&str] = &["ca-bundle.crt"];

// A late boot is one at which operators find a signer too old, and sign with a new one from then on.
pub(super) const LATE_SERVING: &str = "after a late boot pods and kubelets trust the bootstrap API server only if another serving bundle has its authority";
pub(super) const LATE_CLIENTS: &str = "after a late boot the masters accept bootstrap's components only if another client bundle has their authority";
pub(super) const LATE_PROXY: &str =
    "after a late boot the masters' API servers do not vouch for the front proxy of bootstrap's";

/// Those that have a check of their own (etcd-endpoints, cluster-config-v1) are not in here.
const TABLE: &[Object] = &[
    object(
        "Secret",
        "openshift-etcd/etcd-signer",
        PAIR,
        "the etcd operator makes a new authority, which the bootstrap member refuses: etcd never gets a second member",
    ),
    object(
        "ConfigMap",
        "openshift-etcd/etcd-ca-bundle",
        BUNDLE,
        "whoever speaks to etcd through the operator's bundle does not trust the bootstrap member",
    ),
    object(
        "Secret",
        "openshift-kube-apiserver-operator/loadbalancer-serving-signer",
        PAIR,
        "a new authority: kubelets and kubeconfigs that trust ours refuse the masters at api. and api-int.",
    ),
    object(
        "Secret",
        "openshift-kube-apiserver-operator/localhost-serving-signer",
        PAIR,
        "a new authority: what runs on the masters refuses its own API server",
    ),
    object(
        "Secret",
        "openshift-kube-apiserver-operator/service-network-serving-signer",
        PAIR,
        "a new authority: pods that trust ours refuse the masters at the first service address",
    ),
    object(
        "Secret",
        "openshift-kube-apiserver-operator/kube-apiserver-to-kubelet-signer",
        PAIR,
        "kubelets refuse logs and exec until the machine-config operator has rolled out a new authority",
    ),
    object(
        "Secret",
        "openshift-kube-apiserver-operator/kube-control-plane-signer",
        PAIR,
        "the masters' components get certificates of a new authority, which the bootstrap API server refuses",
    ),
    object(
        "Secret",
        "openshift-kube-apiserver-operator/aggregator-client-signer",
        PAIR,
        "aggregated APIs refuse the masters' API servers until the new authority is known to them",
    ),
    object(
        "Secret",
        "openshift-kube-apiserver-operator/next-bound-service-account-signing-key",
        &["service-account.key", "service-account.pub"],
        "tokens issued during bootstrap are refused by the masters",
    ),
    object(
        "ConfigMap",
        "openshift-config/admin-kubeconfig-client-ca",
        BUNDLE,
        "the admin kubeconfig dies with the bootstrap node",
    ),
    object(
        "ConfigMap",
        "openshift-config-managed/kubelet-bootstrap-kubeconfig",
        BUNDLE,
        "kubelets that want to join are refused by the masters",
    ),
    object(
        "ConfigMap",
        "openshift-config-managed/csr-controller-ca",
        BUNDLE,
        "kubelets are refused by the masters until the controller-manager operator writes it",
    ),
    object(
        "Secret",
        "openshift-kube-controller-manager-operator/csr-signer-signer",
        PAIR,
        "kubelet certificates issued during bootstrap are refused",
    ),
    object("ConfigMap", "openshift-kube-apiserver-operator/loadbalancer-serving-ca", BUNDLE, LATE_SERVING),
    object("ConfigMap", "openshift-kube-apiserver-operator/localhost-serving-ca", BUNDLE, LATE_SERVING),
    object("ConfigMap", "openshift-kube-apiserver-operator/service-network-serving-ca", BUNDLE, LATE_SERVING),
    object(
        "ConfigMap",
        "openshift-kube-apiserver-operator/kube-apiserver-to-kubelet-client-ca",
        BUNDLE,
        LATE_CLIENTS,
    ),
    object(
        "ConfigMap",
        "openshift-kube-apiserver-operator/kube-control-plane-signer-ca",
        BUNDLE,
        LATE_CLIENTS,
    ),
    object("ConfigMap", "openshift-config-managed/kube-apiserver-aggregator-client-ca", BUNDLE, LATE_PROXY),
    object(
        "ConfigMap",
        "openshift-kube-controller-manager-operator/csr-controller-signer-ca",
        BUNDLE,
        "after a late boot the masters' API servers refuse kubelets with serving certificates of bootstrap",
    ),
    object(
        "Secret",
        "openshift-config/initial-service-account-private-key",
        &["service-account.key"],
        "the controller-manager operator makes no revision",
    ),
    object(
        "ConfigMap",
        "openshift-config-managed/sa-token-signing-certs",
        &["service-account-001.pub"],
        "a deadlock: the kube-apiserver operator waits for it, and its owner writes it only after bootstrap is gone",
    ),
    object("ConfigMap", "kube-system/root-ca", &["ca.crt"], "the machine-config operator cannot sync"),
    object(
        "ConfigMap",
        "openshift-config/initial-kube-apiserver-server-ca",
        BUNDLE,
        "the machine-config operator cannot sync",
    ),
    object(
        "Secret",
        "openshift-machine-config-operator/machine-config-server-tls",
        PAIR,
        "machine-config-server pods do not start, and the machine-config operator is never Available",
    ),
    object("Secret", "openshift-config/pull-secret", &[".dockerconfigjson"], "no image can be pulled"),
    object("Secret", "kube-system/kubeadmin", &["kubeadmin"], "there is no first login"),
];

/// Everything that an operator takes over is there.
pub(in super::super) const OBJECTS: Check = Check {
    name: "hand-over-objects",
    rule: "every object that an operator takes over is among the manifests, and holds what the operator reads",
    breaks: "the operator waits for ever, or makes its own, which nothing of this cluster trusts",
    config: &[],
    run: |artifacts, report| {
        for Object { kind, object, keys, without } in TABLE {
            let Some(document) = find(artifacts, kind, object) else {
                report.add("manifests", None, "", format!("there is no {kind} {object}: {without}"));
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

/// The release's empty objects do not get there before ours.
pub(in super::super) const OVERRIDES: Check = Check {
    name: "cvo-overrides",
    rule: "ClusterVersion's overrides make every config.openshift.io object `cluster` of ours unmanaged until bootkube takes them off",
    breaks: "the CVO creates an empty one first: with an empty Network the etcd operator never makes a revision",
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

/// The word that ends bootstrap.
pub(in super::super) const COMPLETE: Check = Check {
    name: "bootstrap-complete",
    rule: "bootkube creates ConfigMap kube-system/bootstrap with `status: complete`",
    breaks: "the bootstrap member stays in etcd for ever, and the bootstrap node can never be removed",
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
