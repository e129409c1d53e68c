//! What nodes, kubeconfigs and pods show each other, against what operators will trust after the pivot.

use super::super::artifacts::{Artifacts, Document};
use super::super::{Check, Report, certificates};
use super::{find, held};
use crate::pki::{Certificate, PrivateKey};

/// A bundle or signer, and a certificate that whoever reads it must go on to accept.
struct Trust {
    kind: &'static str,
    object: &'static str,
    key: &'static str,
    /// The certificate, by its name in the PKI.
    shown: &'static str,
    /// What happens if it is not accepted.
    without: &'static str,
}

const fn signer(object: &'static str, shown: &'static str, without: &'static str) -> Trust {
    Trust { kind: "Secret", object, key: "tls.crt", shown, without }
}

const fn bundle(object: &'static str, shown: &'static str, without: &'static str) -> Trust {
    Trust { kind: "ConfigMap", object, key: "ca-bundle.crt", shown, without }
}

const SERVING: &str = "clients that trust the bootstrap API server refuse the masters'";

const TABLE: &[Trust] = &[
    signer("openshift-etcd/etcd-signer", "etcd-server", "the bootstrap member refuses members on masters"),
    bundle("openshift-etcd/etcd-ca-bundle", "etcd-server", "members on masters refuse the bootstrap member"),
    bundle("openshift-etcd/etcd-ca-bundle", "etcd-client", "etcd on masters refuses the API server"),
    signer("openshift-kube-apiserver-operator/loadbalancer-serving-signer", "kube-apiserver", SERVING),
    signer("openshift-kube-apiserver-operator/localhost-serving-signer", "kube-apiserver", SERVING),
    signer("openshift-kube-apiserver-operator/service-network-serving-signer", "kube-apiserver", SERVING),
    signer(
        "openshift-kube-apiserver-operator/kube-apiserver-to-kubelet-signer",
        "kube-apiserver-kubelet-client",
        "kubelets refuse logs and exec",
    ),
    signer(
        "openshift-kube-apiserver-operator/kube-control-plane-signer",
        "kube-controller-manager",
        "the API refuses the controller manager and the scheduler",
    ),
    signer(
        "openshift-kube-apiserver-operator/aggregator-client-signer",
        "front-proxy-client",
        "aggregated APIs refuse the API server",
    ),
    bundle(
        "openshift-config/admin-kubeconfig-client-ca",
        "admin",
        "the admin kubeconfig dies with the bootstrap node",
    ),
    bundle(
        "openshift-config-managed/kubelet-bootstrap-kubeconfig",
        "kubelet-bootstrap",
        "kubelets that want to join are refused by the masters",
    ),
    bundle(
        "openshift-config/initial-kube-apiserver-server-ca",
        "kube-apiserver-kubelet-client",
        "kubelets refuse the API server once the machine-config operator has written it to nodes",
    ),
    Trust {
        kind: "ConfigMap",
        object: "kube-system/root-ca",
        key: "ca.crt",
        shown: "machine-config-server",
        without: "nodes that join later refuse the machine-config server",
    },
];

/// Objects that hold the controller manager's signing certificate itself: whatever it has issued must be accepted.
const KUBELETS: [(&str, &str, &str); 2] = [
    ("Secret", "openshift-kube-controller-manager-operator/csr-signer-signer", "tls.crt"),
    ("ConfigMap", "openshift-config-managed/csr-controller-ca", "ca-bundle.crt"),
];

/// Key pairs of service accounts: the private half, and the public half that verifies what it signs.
const PAIRS: [[&str; 3]; 2] = [
    [
        "Secret openshift-config/initial-service-account-private-key",
        "ConfigMap openshift-config-managed/sa-token-signing-certs",
        "service-account-001.pub",
    ],
    [
        "Secret openshift-kube-apiserver-operator/next-bound-service-account-signing-key",
        "Secret openshift-kube-apiserver-operator/next-bound-service-account-signing-key",
        "service-account.pub",
    ],
];

/// Nobody who got in before the pivot is locked out after it.
pub(in super::super) const TRUST: Check = Check {
    name: "hand-over-trust",
    rule: "what nodes, kubeconfigs and static pods show is signed by an authority that the hand-over puts where its verifier will look after the pivot",
    breaks: "all is well until the bootstrap node is gone; then one after the other is refused",
    config: &["domain"],
    run: |artifacts, report| {
        for Trust { kind, object, key, shown, without } in TABLE {
            let Some((document, trusted)) = authorities(artifacts, kind, object, key, report) else {
                continue;
            };
            let name = format!("{shown}.crt");
            let Some((_, certificate)) = certificates::find(artifacts, &name, report) else { continue };
            if !trusted.iter().any(|one| certificate.is_issued_by(one)) {
                let message =
                    format!("it has not the issuer of `{name}`, `{}`: {without}", certificate.issuer());
                report.at(document, document.line("data").unwrap_or(1), &format!("data[{key}]"), message);
            }
        }
        let Some((_, signing)) = certificates::find(artifacts, "kubernetes-ca.crt", report) else { return };
        for (kind, object, key) in KUBELETS {
            let Some((document, trusted)) = authorities(artifacts, kind, object, key, report) else {
                continue;
            };
            if !trusted.contains(&signing) {
                let message = "it has not `kubernetes-ca.crt`: kubelet certificates issued during bootstrap are refused";
                report.at(document, document.line("data").unwrap_or(1), &format!("data[{key}]"), message);
            }
        }
        PAIRS.iter().for_each(|pair| halves(artifacts, pair, report));
        server(artifacts, report);
    },
};

/// The authorities that an object holds. One that is not there, or empty, is said by a check of its own.
fn authorities<'a>(
    artifacts: &'a Artifacts<'_>,
    kind: &str,
    object: &str,
    key: &str,
    report: &mut Report<'_>,
) -> Option<(&'a Document, Vec<Certificate>)> {
    let document = find(artifacts, kind, object)?;
    let text = held(document, key)?;
    match Certificate::chain_from_pem(&text) {
        Ok(found) => Some((document, found)),
        // The reason is in the text, which may be secret.
        Err(_) if kind == "Secret" => None,
        Err(error) => {
            let line = document.line("data").unwrap_or(1);
            report.at(document, line, &format!("data[{key}]"), error.to_string());
            None
        }
    }
}

/// A token that one signs, the other verifies.
fn halves(artifacts: &Artifacts<'_>, [private, public, file]: &[&str; 3], report: &mut Report<'_>) {
    let object = |named: &str| named.split_once(' ').and_then(|(kind, object)| find(artifacts, kind, object));
    let Some((private, public)) = object(private).zip(object(public)) else { return };
    let key = held(private, "service-account.key").map(|text| PrivateKey::from_pem(&text));
    let (Some(key), Some(half)) = (key, held(public, file)) else { return };
    let line = |document: &Document| document.line("data").unwrap_or(1);
    match key {
        Err(_) => {
            let message = "it is no private key that can be read";
            report.at(private, line(private), "data[service-account.key]", message);
        }
        Ok(key) if key.public_pem().trim() != half.trim() => {
            let message = "it does not verify what the private key signs: tokens of bootstrap are refused";
            report.at(public, line(public), &format!("data[{file}]"), message);
        }
        Ok(_) => {}
    }
}

/// The machine-config server is who it says it is.
fn server(artifacts: &Artifacts<'_>, report: &mut Report<'_>) {
    let object = "openshift-machine-config-operator/machine-config-server-tls";
    let Some((document, chain)) = authorities(artifacts, "Secret", object, "tls.crt", report) else { return };
    let (Some(certificate), Some(key)) = (chain.first(), held(document, "tls.key")) else { return };
    let line = document.line("data").unwrap_or(1);
    let name = format!("api-int.{}", artifacts.config_text("domain"));
    if !certificate.dns().contains(&name) {
        let message = format!("it is not for `{name}`, where nodes look for their configuration");
        report.at(document, line, "data[tls.crt]", message);
    }
    if !PrivateKey::from_pem(&key).is_ok_and(|key| certificate.belongs_to(&key)) {
        report.at(document, line, "data[tls.key]", "it is not the key of the certificate");
    }
}
