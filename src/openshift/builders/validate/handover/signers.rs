//! Authorities that operators adopt.

use super::super::artifacts::Document;
use super::super::{Check, Report};
use super::{find, held};
use crate::base::pki::{Certificate, PrivateKey};
use crate::base::time::rfc3339;
use crate::base::yaml::YamlNode;
use crate::openshift::knowledge::{HandOver, Signer, SignerFields, TableFile};

/// Authorities that operators can continue with.
pub(in super::super) const SIGNERS_RSA: Check = Check {
    name: "signers-rsa",
    config: &["version", HandOver::FILE],
    run: |artifacts, report| {
        for (object, one, fields) in artifacts.tables.signers() {
            if let Some(document) = find(artifacts, &object.kind, &object.name) {
                signer(one, fields, document, report);
            }
        }
    },
};

fn signer(signer: Signer, fields: &SignerFields, document: &Document, report: &mut Report<'_>) {
    let SignerFields { secret_type, not_before, not_after, issuer } = fields;
    let line = |field: &str| document.line(field).unwrap_or(1);
    if document.text("type") != Some(secret_type) {
        report.at(document, line("type"), "type", format!("it is not `{secret_type}`"));
    }
    // Another check reports a missing object.
    let Some(text) = held(document, "tls.crt") else { return };
    let field = "data[tls.crt]";
    let Some(certificate) = Certificate::chain_from_pem(&text).ok().and_then(|all| all.into_iter().next())
    else {
        return report.at(document, line("data"), field, "it is not a readable certificate");
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
    if signer.self_signed && !certificate.is_issued_by(&certificate) {
        let message =
            format!("`{}` is signed by `{}`, not by itself", certificate.subject(), certificate.issuer());
        report.at(document, line("data"), field, message);
    }
    for (name, wanted) in [
        (not_before, rfc3339(certificate.not_before())),
        (not_after, rfc3339(certificate.not_after())),
        (issuer, certificate.common_name().unwrap_or_default().to_owned()),
    ] {
        let found = document.get("metadata.annotations").and_then(|all| all.get(name));
        let text = found.and_then(YamlNode::text).unwrap_or_default();
        if text != wanted {
            let line = found.map_or(line("metadata"), |found| found.line);
            let message = format!("it is `{text}`, but the certificate says `{wanted}`");
            report.at(document, line, &format!("metadata.annotations[{name}]"), message);
        }
    }
}
