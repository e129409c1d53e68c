//! What nodes, kubeconfigs and pods show each other, against what operators will trust after the pivot.
//!
//! Who meets whom stands in [`crate::trust`]. Here there are no nodes yet: of each meeting it is asked whether the object that
//! the hand-over has for it goes with the certificates of the PKI. `graph --trust` asks the same of what nodes really have.

use super::super::artifacts::{Artifacts, Document};
use super::super::{Check, Report, certificates};
use super::{find, held};
use crate::pki::{Certificate, PrivateKey};
use crate::trust::{Checked, MEETINGS, Meeting, Object};

/// Nobody who got in before the pivot is locked out after it.
pub(in super::super) const TRUST: Check = Check {
    name: "hand-over-trust",
    rule: "what nodes, kubeconfigs and static pods show is signed by an authority that the hand-over puts where its verifier will look after the pivot",
    breaks: "all is well until the bootstrap node is gone; then one after the other is refused",
    config: &["domain"],
    run: |artifacts, report| {
        for meeting in MEETINGS {
            match meeting.checked {
                Checked::No => {}
                Checked::Issued(shown) => issued(artifacts, meeting, shown, report),
                Checked::Holds(authority) => holds(artifacts, meeting, authority, report),
                Checked::Half(private) => half(artifacts, meeting, private, report),
            }
        }
        server(artifacts, report);
    },
};

/// The object has the issuer of what is shown.
fn issued(artifacts: &Artifacts<'_>, meeting: &Meeting, shown: &str, report: &mut Report<'_>) {
    let Some((document, key, trusted)) = handed(artifacts, meeting, report) else { return };
    let name = format!("{shown}.crt");
    let Some((_, certificate)) = certificates::find(artifacts, &name, report) else { return };
    if !trusted.iter().any(|one| certificate.is_issued_by(one)) {
        let issuer = certificate.issuer();
        let message = format!("it has not the issuer of `{name}`, `{issuer}`: {}", meeting.breaks);
        report.at(document, document.line("data").unwrap_or(1), &format!("data[{key}]"), message);
    }
}

/// The object has the controller manager's signing certificate itself: whatever it has issued must be accepted.
fn holds(artifacts: &Artifacts<'_>, meeting: &Meeting, authority: &str, report: &mut Report<'_>) {
    let Some((document, key, trusted)) = handed(artifacts, meeting, report) else { return };
    let name = format!("{authority}.crt");
    let Some((_, signing)) = certificates::find(artifacts, &name, report) else { return };
    if !trusted.contains(&signing) {
        let message = format!("it has not `{name}`: {}", meeting.breaks);
        report.at(document, document.line("data").unwrap_or(1), &format!("data[{key}]"), message);
    }
}

/// The authorities that the hand-over has for a meeting, with the object and the key that they are under.
fn handed<'a>(
    artifacts: &'a Artifacts<'_>,
    meeting: &Meeting,
    report: &mut Report<'_>,
) -> Option<(&'a Document, &'static str, Vec<Certificate>)> {
    let Object { kind, name, key } = meeting.handed()?;
    let (document, trusted) = authorities(artifacts, kind, name, key, report)?;
    Some((document, key, trusted))
}

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
fn half(artifacts: &Artifacts<'_>, meeting: &Meeting, private: &str, report: &mut Report<'_>) {
    let Some(Object { kind, name, key: file }) = meeting.handed() else { return };
    let Some((private, public)) = find(artifacts, "Secret", private).zip(find(artifacts, kind, name)) else {
        return;
    };
    let key = held(private, "service-account.key").map(|text| PrivateKey::from_pem(&text));
    let (Some(key), Some(half)) = (key, held(public, file)) else { return };
    let line = |document: &Document| document.line("data").unwrap_or(1);
    match key {
        Err(_) => {
            let message = "it is no private key that can be read";
            report.at(private, line(private), "data[service-account.key]", message);
        }
        Ok(key) if key.public_pem().trim() != half.trim() => {
            let message = format!("it does not verify what the private key signs: {}", meeting.breaks);
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
