//! Authorities that operators adopt.

use super::super::artifacts::Document;
use super::super::{Check, Report};
use super::{find, held};
use crate::base::pki::{Certificate, PrivateKey};
use crate::base::time::rfc3339;
use crate::base::yaml::YamlNode;

/// The one whose operator takes it for a root: it compares the authority key id of what it has signed with that of the last
/// certificate behind it, which is this one.
const ETCD: &str = "openshift-etcd/etcd-signer";

/// The Secrets that operators sign with.
pub(super) const SIGNERS: [&str; 8] = [
    ETCD,
    "openshift-kube-apiserver-operator/aggregator-client-signer",
    "openshift-kube-apiserver-operator/kube-apiserver-to-kubelet-signer",
    "openshift-kube-apiserver-operator/kube-control-plane-signer",
    "openshift-kube-apiserver-operator/loadbalancer-serving-signer",
    "openshift-kube-apiserver-operator/localhost-serving-signer",
    "openshift-kube-apiserver-operator/service-network-serving-signer",
    "openshift-kube-controller-manager-operator/csr-signer-signer",
];

/// Authorities that operators go on with.
pub(in super::super) const SIGNERS_RSA: Check = Check {
    name: "signers-rsa",
    rule: "authorities handed to operators are RSA, with their key, and with annotations that say what the certificate says: not-before, not-after and issuer; etcd's is signed by itself",
    breaks: "operators sign with SHA256WithRSA; what they cannot use, or do not know the age of, they replace, and nothing trusts anything; under an etcd-signer that another one signed, certificates of members are issued again and again, and no member ever starts",
    config: &[],
    run: |artifacts, report| {
        for object in SIGNERS {
            if let Some(document) = find(artifacts, "Secret", object) {
                signer(object, document, report);
            }
        }
    },
};

fn signer(object: &str, document: &Document, report: &mut Report<'_>) {
    let line = |field: &str| document.line(field).unwrap_or(1);
    if document.text("type") != Some("kubernetes.io/tls") {
        report.at(document, line("type"), "type", "it is not `kubernetes.io/tls`");
    }
    // What is not there at all is said by a check of its own.
    let Some(text) = held(document, "tls.crt") else { return };
    let field = "data[tls.crt]";
    let Some(certificate) = Certificate::chain_from_pem(&text).ok().and_then(|all| all.into_iter().next())
    else {
        return report.at(document, line("data"), field, "it is no certificate that can be read");
    };
    let algorithm = certificate.key_algorithm();
    if !algorithm.starts_with("rsa-") {
        let message = format!("`{}` has a key of `{algorithm}`, not RSA", certificate.subject());
        report.at(document, line("data"), field, message);
        report.hint(
            "set `pki.authorityKeyAlgorithm: rsa-2048` in cluster.yaml; for an authority of your own, bring one with an RSA key",
        );
    }
    if !certificate.may_sign() {
        let message = format!("`{}` may not sign certificates", certificate.subject());
        report.at(document, line("data"), field, message);
    }
    let key = held(document, "tls.key").map(|text| PrivateKey::from_pem(&text));
    if key.is_some_and(|key| !key.is_ok_and(|key| certificate.belongs_to(&key))) {
        report.at(document, line("data"), "data[tls.key]", "it is not the key of the certificate");
    }
    if object == ETCD && !certificate.is_issued_by(&certificate) {
        let message =
            format!("`{}` is signed by `{}`, not by itself", certificate.subject(), certificate.issuer());
        report.at(document, line("data"), field, message);
    }
    for (name, wanted) in [
        ("not-before", rfc3339(certificate.not_before())),
        ("not-after", rfc3339(certificate.not_after())),
        ("issuer", certificate.common_name().unwrap_or_default().to_owned()),
    ] {
        let name = format!("auth.openshift.io/certificate-{name}");
        let found = document.get("metadata.annotations").and_then(|all| all.get(&name));
        let text = found.and_then(YamlNode::text).unwrap_or_default();
        if text != wanted {
            let line = found.map_or(line("metadata"), |found| found.line);
            let message = format!("it is `{text}`, and the certificate says `{wanted}`");
            report.at(document, line, &format!("metadata.annotations[{name}]"), message);
        }
    }
}
