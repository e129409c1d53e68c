//! What can go wrong between us and a cluster's API. Messages quote the server; none contains a part of a key.

use crate::base::connection::{CertificateFault, tls_error, without_layers};
use crate::base::hint::{Hint, chain};
use crate::base::redact;

#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    #[error("the kubeconfig cannot be used: {problem}")]
    Kubeconfig {
        /// Never quotes a value.
        problem: String,
    },
    #[error("the API at `{server}` cannot be reached: {message}")]
    Unreachable { server: String, message: String },
    #[error("the API at `{server}` did not answer within {seconds} s")]
    Silent { server: String, seconds: u64 },
    #[error("the certificate of the API at `{server}` is not trusted: {message}")]
    Untrusted { server: String, message: String },
    /// 401, or it rejects our client certificate.
    #[error("the API at `{server}` does not accept our credentials: {message}")]
    Unauthorized { server: String, message: String },
    /// 403.
    #[error("the API at `{server}` forbids it: {message}")]
    Forbidden { server: String, message: String },
    /// 404.
    #[error("not found in the API: {message}")]
    NotFound { message: String },
    /// 409: somebody else was faster, or the object exists already.
    #[error("conflict in the API: {message}")]
    Conflict { message: String },
    #[error("the API at `{server}` answers {code} {reason}: {message}")]
    Refused { server: String, code: u16, reason: String, message: String },
    /// The response does not match the API's own types.
    #[error("the API at `{server}` sent an invalid response: {message}")]
    Answer { server: String, message: String },
    /// The user cancelled.
    #[error("interrupted")]
    Stopped,
}

impl ApiError {
    /// Whether a retry may help: the API is not up yet, is overloaded, or is moving to the masters.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Silent { .. } => true,
            Self::Refused { code, .. } => *code == 429 || *code >= 500,
            _ => false,
        }
    }

    /// A response that is not JSON. Not its text, which may quote a Secret.
    pub(super) fn of_json(server: &str, error: &serde_json::Error) -> Self {
        let message = format!("line {}, column {}", error.line(), error.column());
        Self::Answer { server: server.to_owned(), message }
    }

    /// A refusal, with the reason in the API's `Status`; a proxy in between sends none.
    pub(super) fn of_status(server: &str, status: http::StatusCode, body: &[u8]) -> Self {
        let found: serde_json::Value = serde_json::from_slice(body).unwrap_or_default();
        let (server, code) = (server.to_owned(), status.as_u16());
        let (message, reason) = match found["kind"] == "Status" {
            true => (found["message"].as_str().unwrap_or_default(), found["reason"].as_str()),
            false => (&*String::from_utf8_lossy(body), Some("Failed to parse error data")),
        };
        let (message, reason) = (one_line(message), one_line(reason.unwrap_or_default()));
        match code {
            401 => Self::Unauthorized { server, message },
            403 => Self::Forbidden { server, message },
            404 => Self::NotFound { message },
            409 => Self::Conflict { message },
            code => Self::Refused { server, code, reason, message },
        }
    }

    pub(super) fn of_transport(server: String, error: &(dyn std::error::Error + 'static)) -> Self {
        match tls_error(error) {
            Some(rustls::Error::AlertReceived(alert)) => Self::Unauthorized {
                server,
                message: format!("it rejects our certificate (TLS alert `{alert:?}`)"),
            },
            Some(error @ rustls::Error::InvalidCertificate(_)) => {
                let words = CertificateFault::of(error).and_then(CertificateFault::words);
                let message = words.map_or_else(|| error.to_string(), |words| format!("it {words}"));
                Self::Untrusted { server, message }
            }
            _ => Self::Unreachable { server, message: one_line(without_layers(&chain(error))) },
        }
    }
}

/// A server's message, which may be anything: one line, without control characters, of limited length.
pub(super) fn one_line(text: &str) -> String {
    redact::one_line(text, 400)
}

impl Hint for ApiError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Kubeconfig { .. } => {
                "it needs `server`, `certificate-authority-data`, `client-certificate-data` and `client-key-data`"
                    .into()
            }
            Self::Unreachable { .. } => {
                "`tinderbox realize status` shows whether the machines and the load balancer run; `--server HOST:PORT` \
                 connects to another address"
                    .into()
            }
            Self::Silent { .. } => "etcd may be slow or without quorum: look at `/readyz?verbose`".into(),
            Self::Untrusted { .. } => {
                "another cluster may have this address, or this one was built with other keys: see `tinderbox generations`"
                    .into()
            }
            Self::Unauthorized { .. } => {
                "the admin certificate may have expired (`tinderbox expiry`), or belong to another cluster".into()
            }
            Self::Forbidden { .. } => "the kubeconfig's user is not in the group `system:masters`".into(),
            Self::Conflict { .. } => "run it again with the current state".into(),
            Self::NotFound { .. } | Self::Refused { .. } | Self::Answer { .. } | Self::Stopped => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_servers_message_is_one_short_line() {
        assert_eq!(one_line(" a\nb\x1b[31m \n"), "a b");
        assert_eq!(one_line(&"ü".repeat(1000)).chars().count(), 401);
    }

    #[test]
    fn a_failed_handshake_is_no_silence() {
        let inner = rustls::Error::InvalidCertificate(rustls::CertificateError::UnknownIssuer);
        let outer = std::io::Error::other(std::io::Error::other(inner));
        let error = ApiError::of_transport("api".into(), &outer);
        assert!(matches!(error, ApiError::Untrusted { .. }), "{error}");
        let refused = std::io::Error::from(std::io::ErrorKind::ConnectionRefused);
        let error = ApiError::of_transport("api".into(), &refused);
        assert_eq!(error.to_string(), "the API at `api` cannot be reached: connection refused");
        assert!(error.is_transient());
    }

    /// What the parser failed on may be a Secret.
    #[test]
    fn an_answer_is_not_quoted() {
        let error = serde_json::from_str::<u8>("\"hunter2\"").unwrap_err();
        let shown = ApiError::of_json("api", &error).to_string();
        assert!(!shown.contains("hunter2"), "{shown}");
    }
}
