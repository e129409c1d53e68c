//! The certificates of a build, decoded: every field that decides who accepts them. Only public halves are read.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::base::fs;
use crate::base::pki::{Certificate, KeyUsage};
use crate::base::time::rfc3339;
use crate::cli::Result;
use crate::engine::store::Object;
use crate::openshift::trust::{Trust, client_certificate};

/// A certificate and where it is.
#[derive(Debug, Serialize)]
pub(super) struct Decoded {
    pub(super) derivation: String,
    /// The file in its output.
    pub(super) file: String,
    /// Its place in a file of several, from 1.
    pub(super) number: usize,
    pub(super) subject: String,
    pub(super) issuer: String,
    pub(super) serial: String,
    pub(super) authority: bool,
    /// How many authorities may be below it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) path_length: Option<u8>,
    /// DNS names and addresses.
    pub(super) names: Vec<String>,
    /// Key usages, then extended ones.
    pub(super) usages: Vec<&'static str>,
    pub(super) not_before: String,
    pub(super) not_after: String,
    pub(super) key: String,
    pub(super) signature: String,
    /// SHA-256.
    pub(super) fingerprint: String,
    /// Who shows it to whom, as `presenter → verifier (as what)`.
    pub(super) shown: Vec<String>,
}

/// The certificates in the `.crt` files and kubeconfigs of an output. A file that cannot be read as such has none:
/// `expiry` and the checks complain about it.
pub(super) fn decode(name: &str, object: &Object) -> Result<Vec<Decoded>> {
    let mut found = Vec::new();
    for (path, _) in object.listing.leaves("") {
        let chain = if path.ends_with(".crt") {
            Certificate::chain_from_pem(&fs::read_text(&object.path.join(path))?).unwrap_or_default()
        } else if path.ends_with(".kubeconfig") || path == "kubeconfig" {
            let text = fs::read_text(&object.path.join(path))?;
            client_certificate(path, &text).into_iter().collect()
        } else {
            continue;
        };
        found.extend(chain.iter().enumerate().map(|(at, one)| decoded(name, path, at + 1, one)));
    }
    Ok(found)
}

fn decoded(derivation: &str, file: &str, number: usize, certificate: &Certificate) -> Decoded {
    let usage = |usage: &KeyUsage| match usage {
        KeyUsage::DigitalSignature => "digital signature",
        KeyUsage::KeyEncipherment => "key encipherment",
        KeyUsage::CertSign => "certificate signing",
        KeyUsage::CrlSign => "CRL signing",
    };
    let extended = [(certificate.is_server(), "server"), (certificate.is_client(), "client")];
    let extended = extended.into_iter().filter(|(is, _)| *is && !certificate.is_authority());
    let names = certificate.dns().iter().cloned().chain(certificate.ips().iter().map(ToString::to_string));
    Decoded {
        derivation: derivation.to_owned(),
        file: file.to_owned(),
        number,
        subject: certificate.subject(),
        issuer: certificate.issuer(),
        serial: certificate.serial(),
        authority: certificate.is_authority(),
        path_length: certificate.path_length(),
        names: names.collect(),
        usages: certificate.key_usages().iter().map(usage).chain(extended.map(|(_, name)| name)).collect(),
        not_before: rfc3339(certificate.not_before()),
        not_after: rfc3339(certificate.not_after()),
        key: certificate.key_algorithm(),
        signature: certificate.signature_algorithm(),
        fingerprint: certificate.fingerprint(),
        shown: Vec::new(),
    }
}

/// Notes who shows each certificate to whom. The table names credentials without the node that has them.
pub(super) fn add_readers(certificates: &mut [Decoded], trust: &Trust) {
    let mut shown: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for edge in &trust.presentations {
        let text = format!("{} → {} ({})", edge.presenter, edge.verifier, edge.role.as_str());
        for credential in edge.credential.split(", ") {
            shown.entry(credential).or_default().push(text.clone());
        }
    }
    for one in certificates.iter_mut().filter(|one| one.number == 1 && !one.file.ends_with("-bundle.crt")) {
        let Some(name) = one.derivation.strip_prefix("pki/") else { continue };
        let of_node = shown.keys().find(|known| {
            name == **known || name.strip_prefix(*known).is_some_and(|rest| rest.starts_with('-'))
        });
        let exact = shown.get(name).or_else(|| shown.get(of_node?));
        one.shown = exact.cloned().unwrap_or_default();
    }
}
