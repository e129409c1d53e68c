//! What nodes, kubeconfigs and pods present to each other, against what operators will trust after the pivot.
//!
//! The edges are in the table `trust.toml`. There are no nodes here yet: for each edge, checks that its hand-over
//! object matches the certificates of the PKI. `graph --trust` checks the same on what nodes really have.

use super::super::artifacts::{Artifacts, Document};
use super::super::{Check, Report, certificates};
use super::{find, held};
use crate::base::pki::{Certificate, PrivateKey};
use crate::openshift::knowledge::{HandOver, HandedOver, Holds, ObjectKey, Table, TableFile, TrustEdge};

/// Nobody who had access before the pivot loses it afterwards.
pub(in super::super) const TRUST: Check = Check {
    name: "hand-over-trust",
    config: &["domain", "version", HandOver::FILE, Table::<TrustEdge>::FILE],
    run: |artifacts, report| {
        for edge in artifacts.tables.edges() {
            let Some((object, wanted)) = edge.handed_over().zip(edge.holds.as_ref()) else { continue };
            match wanted {
                Holds::IssuerOf(shown) => issued(artifacts, object, shown, &edge.breaks, report),
                Holds::Authority(authority) => holds(artifacts, object, authority, &edge.breaks, report),
                Holds::PublicHalfOf(private) => half(artifacts, object, private, &edge.breaks, report),
            }
        }
        // Bundles that only matter at a late boot, when operators replace a signer on first sight: they add the new
        // authority to the existing ones.
        for row in artifacts.tables.handed_over() {
            let Some(wanted) = &row.holds else { continue };
            let breaks = wanted.breaks.as_ref().unwrap_or(&row.without);
            for object in row.keys.iter().map(|key| row.at(key)) {
                if let Some(shown) = &wanted.issuer_of {
                    issued(artifacts, &object, shown, breaks, report);
                }
                if let Some(authority) = &wanted.authority {
                    holds(artifacts, &object, authority, breaks, report);
                }
            }
        }
        for row in artifacts.tables.handed_over() {
            if let Some(name) = &row.server_name {
                server(artifacts, row, name, report);
            }
        }
    },
};

/// The object contains the issuer of the presented credential.
fn issued(artifacts: &Artifacts<'_>, object: &ObjectKey, shown: &str, breaks: &str, report: &mut Report<'_>) {
    let Some((document, trusted)) = authorities(artifacts, object, report) else { return };
    let name = format!("{shown}.crt");
    let Some((_, certificate)) = certificates::find(artifacts, &name, report) else { return };
    if !trusted.iter().any(|one| certificate.is_issued_by(one)) {
        let issuer = certificate.issuer();
        let message = format!("it lacks the issuer of `{name}`, `{issuer}`: {breaks}");
        report.at(document, document.line("data").unwrap_or(1), &format!("data[{}]", object.key), message);
    }
}

/// The object contains the controller manager's signing certificate itself: everything that it issued must be accepted.
fn holds(
    artifacts: &Artifacts<'_>,
    object: &ObjectKey,
    authority: &str,
    breaks: &str,
    report: &mut Report<'_>,
) {
    let Some((document, trusted)) = authorities(artifacts, object, report) else { return };
    let name = format!("{authority}.crt");
    let Some((_, signing)) = certificates::find(artifacts, &name, report) else { return };
    if !trusted.contains(&signing) {
        let message = format!("it lacks `{name}`: {breaks}");
        report.at(document, document.line("data").unwrap_or(1), &format!("data[{}]", object.key), message);
    }
}

/// The authorities in an object. Another check reports a missing or empty object.
fn authorities<'a>(
    artifacts: &'a Artifacts<'_>,
    ObjectKey { kind, name, key }: &ObjectKey,
    report: &mut Report<'_>,
) -> Option<(&'a Document, Vec<Certificate>)> {
    let document = find(artifacts, kind, name)?;
    let text = held(document, key)?;
    match Certificate::chain_from_pem(&text) {
        Ok(found) => Some((document, found)),
        // The reason would quote the text, which may be secret.
        Err(_) if kind == "Secret" => None,
        Err(error) => {
            let line = document.line("data").unwrap_or(1);
            report.at(document, line, &format!("data[{key}]"), error.to_string());
            None
        }
    }
}

/// One signs a token, the other verifies it.
fn half(artifacts: &Artifacts<'_>, object: &ObjectKey, private: &str, breaks: &str, report: &mut Report<'_>) {
    let ObjectKey { kind, name, key: file } = object;
    let Some((private, public)) = find(artifacts, "Secret", private).zip(find(artifacts, kind, name)) else {
        return;
    };
    let key = held(private, "service-account.key").map(|text| PrivateKey::from_pem(&text));
    let (Some(key), Some(half)) = (key, held(public, file)) else { return };
    let line = |document: &Document| document.line("data").unwrap_or(1);
    match key {
        Err(_) => {
            let message = "it is not a readable private key";
            report.at(private, line(private), "data[service-account.key]", message);
        }
        Ok(key) if key.public_pem().trim() != half.trim() => {
            let message = format!("it does not verify what the private key signs: {breaks}");
            report.at(public, line(public), &format!("data[{file}]"), message);
        }
        Ok(_) => {}
    }
}

/// The server's certificate matches its name and key.
fn server(artifacts: &Artifacts<'_>, row: &HandedOver, label: &str, report: &mut Report<'_>) {
    let Some((document, chain)) = authorities(artifacts, &row.at("tls.crt"), report) else { return };
    let (Some(certificate), Some(key)) = (chain.first(), held(document, "tls.key")) else { return };
    let line = document.line("data").unwrap_or(1);
    let name = format!("{label}.{}", artifacts.config_text("domain"));
    if !certificate.dns().contains(&name) {
        let message = format!("it is not for `{name}`, where nodes look for their configuration");
        report.at(document, line, "data[tls.crt]", message);
    }
    if !PrivateKey::from_pem(&key).is_ok_and(|key| certificate.belongs_to(&key)) {
        report.at(document, line, "data[tls.key]", "it is not the key of the certificate");
    }
}
