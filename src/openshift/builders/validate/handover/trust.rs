//! What nodes, kubeconfigs and pods show each other, against what operators will trust after the pivot.
//!
//! Who meets whom stands in [`crate::openshift::trust`]. Here there are no nodes yet: of each meeting it is asked whether the object that
//! the hand-over has for it goes with the certificates of the PKI. `graph --trust` asks the same of what nodes really have.

use super::super::artifacts::{Artifacts, Document};
use super::super::{Check, Report, certificates};
use super::objects::{LATE_CLIENTS, LATE_PROXY, LATE_SERVING};
use super::{find, held};
use crate::base::pki::{Certificate, PrivateKey};
use crate::openshift::trust::{Checked, MEETINGS, Object};

/// Bundles that matter at a late boot alone, when operators replace a signer at first sight: they add the new authority to
/// what is there. With the certificate whose issuer must be there, and what happens without.
const LATE: &[(&str, &str, &str)] = &[
    ("openshift-kube-apiserver-operator/loadbalancer-serving-ca", "kube-apiserver", LATE_SERVING),
    ("openshift-kube-apiserver-operator/localhost-serving-ca", "kube-apiserver", LATE_SERVING),
    ("openshift-kube-apiserver-operator/service-network-serving-ca", "kube-apiserver", LATE_SERVING),
    (
        "openshift-kube-apiserver-operator/kube-apiserver-to-kubelet-client-ca",
        "kube-apiserver-kubelet-client",
        LATE_CLIENTS,
    ),
    (
        "openshift-kube-apiserver-operator/kube-control-plane-signer-ca",
        "kube-controller-manager",
        LATE_CLIENTS,
    ),
    ("openshift-config-managed/kube-apiserver-aggregator-client-ca", "front-proxy-client", LATE_PROXY),
];

/// The same for what kubelets show: whatever the controller manager has issued must be accepted.
const LATE_KUBELETS: (&str, &str) = (
    "openshift-kube-controller-manager-operator/csr-controller-signer-ca",
    "kubelet certificates issued during bootstrap are refused",
);

const fn bundle(name: &'static str) -> Object {
    Object { kind: "ConfigMap", name, key: "ca-bundle.crt" }
}

/// Nobody who got in before the pivot is locked out after it.
pub(in super::super) const TRUST: Check = Check {
    name: "hand-over-trust",
    rule: "what nodes, kubeconfigs and static pods show is signed by an authority that the hand-over puts where its verifier will look after the pivot",
    breaks: "all is well until the bootstrap node is gone; then one after the other is refused",
    config: &["domain"],
    run: |artifacts, report| {
        for meeting in MEETINGS {
            let Some(object) = meeting.handed() else { continue };
            match meeting.checked {
                Checked::No => {}
                Checked::Issued(shown) => issued(artifacts, object, shown, meeting.breaks, report),
                Checked::Holds(authority) => holds(artifacts, object, authority, meeting.breaks, report),
                Checked::Half(private) => half(artifacts, object, private, meeting.breaks, report),
            }
        }
        for (name, shown, breaks) in LATE {
            issued(artifacts, bundle(name), shown, breaks, report);
        }
        let (name, breaks) = LATE_KUBELETS;
        holds(artifacts, bundle(name), "kubernetes-ca", breaks, report);
        server(artifacts, report);
    },
};

/// The object has the issuer of what is shown.
fn issued(artifacts: &Artifacts<'_>, object: Object, shown: &str, breaks: &str, report: &mut Report<'_>) {
    let Some((document, trusted)) = authorities(artifacts, object, report) else { return };
    let name = format!("{shown}.crt");
    let Some((_, certificate)) = certificates::find(artifacts, &name, report) else { return };
    if !trusted.iter().any(|one| certificate.is_issued_by(one)) {
        let issuer = certificate.issuer();
        let message = format!("it has not the issuer of `{name}`, `{issuer}`: {breaks}");
        report.at(document, document.line("data").unwrap_or(1), &format!("data[{}]", object.key), message);
    }
}

/// The object has the controller manager's signing certificate itself: whatever it has issued must be accepted.
fn holds(artifacts: &Artifacts<'_>, object: Object, authority: &str, breaks: &str, report: &mut Report<'_>) {
    let Some((document, trusted)) = authorities(artifacts, object, report) else { return };
    let name = format!("{authority}.crt");
    let Some((_, signing)) = certificates::find(artifacts, &name, report) else { return };
    if !trusted.contains(&signing) {
        let message = format!("it has not `{name}`: {breaks}");
        report.at(document, document.line("data").unwrap_or(1), &format!("data[{}]", object.key), message);
    }
}

/// The authorities that an object holds. One that is not there, or empty, is said by a check of its own.
fn authorities<'a>(
    artifacts: &'a Artifacts<'_>,
    Object { kind, name, key }: Object,
    report: &mut Report<'_>,
) -> Option<(&'a Document, Vec<Certificate>)> {
    let document = find(artifacts, kind, name)?;
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
fn half(artifacts: &Artifacts<'_>, object: Object, private: &str, breaks: &str, report: &mut Report<'_>) {
    let Object { kind, name, key: file } = object;
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
            let message = format!("it does not verify what the private key signs: {breaks}");
            report.at(public, line(public), &format!("data[{file}]"), message);
        }
        Ok(_) => {}
    }
}

/// The machine-config server is who it says it is.
fn server(artifacts: &Artifacts<'_>, report: &mut Report<'_>) {
    let name = "openshift-machine-config-operator/machine-config-server-tls";
    let object = Object { kind: "Secret", name, key: "tls.crt" };
    let Some((document, chain)) = authorities(artifacts, object, report) else { return };
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
