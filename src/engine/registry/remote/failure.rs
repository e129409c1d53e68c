//! Error messages of our own, without URLs and headers: a URL may be signed, a header may contain a password.

use reqwest::StatusCode;

use super::super::RegistryError;
use super::http::Ask;
use super::mirrors::Place;
use crate::base::connection::{CertificateFault, tls_error, without_layers};
use crate::base::hint::chain;

/// Whether the same request may succeed a little later.
pub(super) fn is_busy(status: StatusCode) -> bool {
    status.is_server_error() && status != StatusCode::NOT_IMPLEMENTED
        || [StatusCode::TOO_MANY_REQUESTS, StatusCode::REQUEST_TIMEOUT].contains(&status)
}

/// An error response.
pub(super) fn answer(ask: &Ask<'_>, place: &Place, status: StatusCode, shown: bool) -> RegistryError {
    let image = ask.image.to_owned();
    match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => RegistryError::Denied {
            image,
            place: place.registry.clone(),
            status: status.as_u16(),
            with_credentials: shown,
        },
        StatusCode::NOT_FOUND => {
            RegistryError::NotFound { image, what: ask.what.to_owned(), place: place.to_string() }
        }
        _ => RegistryError::Unreachable {
            image,
            place: place.registry.clone(),
            reason: format!("it answers {status}"),
            advice: (status == StatusCode::TOO_MANY_REQUESTS)
                .then(|| "it limits the request rate: wait, or use a mirror".to_owned()),
        },
    }
}

/// A failed connection, and whether to retry.
pub(super) fn transport(ask: &Ask<'_>, place: &Place, error: reqwest::Error) -> (RegistryError, bool) {
    let timeout = error.is_timeout();
    let error = error.without_url();
    let fault = tls_error(&error).and_then(CertificateFault::of);
    let text = chain(&error);
    let downgrade = text.contains(super::client::DOWNGRADE);
    let no_tls = text.contains("InvalidContentType") || text.contains("corrupt message");
    let registry = &place.registry;
    let reason = match () {
        () if no_tls => "it does not speak TLS".to_owned(),
        () if downgrade => super::client::DOWNGRADE.to_owned(),
        () if timeout => "it did not answer in time".to_owned(),
        () => match fault.and_then(CertificateFault::words) {
            Some(words) => format!("its certificate {words}"),
            None => without_layers(&text).to_owned(),
        },
    };
    let advice = fault.and_then(|fault| certificate_advice(fault, registry));
    let image = ask.image.to_owned();
    let failure = RegistryError::Unreachable { image, place: registry.clone(), reason, advice };
    (failure, fault.is_none() && !no_tls && !downgrade)
}

fn certificate_advice(fault: CertificateFault, registry: &str) -> Option<String> {
    match fault {
        CertificateFault::UnknownAuthority => {
            Some(format!("add the certificate authority of {registry} to the trust bundle"))
        }
        CertificateFault::AuthorityAsServer => Some(format!(
            "give {registry} a certificate that this authority signed, or a self-signed one with CA:FALSE"
        )),
        CertificateFault::AnotherName => Some(
            "name it as its certificate does, or give it one with this name as a subjectAltName".to_owned(),
        ),
        CertificateFault::Expired | CertificateFault::NotValidYet => {
            Some(format!("renew the certificate of {registry}, or set this machine's clock"))
        }
        CertificateFault::Other => None,
    }
}
