//! Why a connection failed, in words.

use std::error::Error;

use rustls::CertificateError;

/// The TLS error in a chain, if there is one. An I/O error hides its cause from `source`.
pub(crate) fn tls_error<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a rustls::Error> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        next = match error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref) {
            Some(inner) => Some(inner),
            None => error.source(),
        };
    }
    None
}

/// Why a server's certificate was not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CertificateFault {
    UnknownAuthority,
    Expired,
    NotValidYet,
    AnotherName,
    /// An authority's own certificate. openssl and Go accept it from a server, so many registries have one.
    AuthorityAsServer,
    Other,
}

impl CertificateFault {
    /// None if the error is about something else.
    pub(crate) fn of(error: &rustls::Error) -> Option<Self> {
        let rustls::Error::InvalidCertificate(fault) = error else { return None };
        Some(match fault {
            CertificateError::UnknownIssuer => Self::UnknownAuthority,
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => Self::Expired,
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => Self::NotValidYet,
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                Self::AnotherName
            }
            CertificateError::Other(inner) if inner.to_string().contains("CaUsedAsEndEntity") => {
                Self::AuthorityAsServer
            }
            _ => Self::Other,
        })
    }

    /// What is wrong with the certificate: "its certificate …". None if only the error itself says it.
    pub(crate) fn words(self) -> Option<&'static str> {
        match self {
            Self::UnknownAuthority => Some("is signed by an unknown authority"),
            Self::Expired => Some("has expired, or this machine's clock is wrong"),
            Self::NotValidYet => Some("is not valid yet, or this machine's clock is wrong"),
            Self::AnotherName => Some("is for another name"),
            Self::AuthorityAsServer => {
                Some("is an authority's own (CA:TRUE), which a server must not present")
            }
            Self::Other => None,
        }
    }
}

/// The text of an error without the layers that it went through, which say nothing to a user.
pub(crate) fn without_layers(mut text: &str) -> &str {
    const LAYERS: [&str; 5] = [
        "error sending request: ",
        "client error (Connect): ",
        "tcp connect error: ",
        "dns error: ",
        "error resolving DNS: ",
    ];
    while let Some(rest) = LAYERS.iter().find_map(|layer| text.strip_prefix(layer)) {
        text = rest;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_found_below_io_errors() {
        let inner = rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer);
        let outer = std::io::Error::other(std::io::Error::other(inner));
        assert_eq!(
            tls_error(&outer).and_then(CertificateFault::of),
            Some(CertificateFault::UnknownAuthority)
        );
        let refused = std::io::Error::from(std::io::ErrorKind::ConnectionRefused);
        assert!(tls_error(&refused).is_none());
    }

    #[test]
    fn only_the_reason_is_shown() {
        let text =
            "error sending request: client error (Connect): dns error: error resolving DNS: no such name";
        assert_eq!(without_layers(text), "no such name");
        assert_eq!(without_layers("operation timed out"), "operation timed out");
    }
}
