//! What can go wrong between us and a cluster's API. Messages say what the server said; none holds a part of a key.

use crate::base::hint::{Hint, chain};

/// Why the API did not do what it was asked for.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// A kubeconfig that cannot be used.
    #[error("the kubeconfig cannot be used: {problem}")]
    Kubeconfig {
        /// What is wrong; never a value of it.
        problem: String,
    },
    /// The network, or nobody there.
    #[error("the API at `{server}` cannot be reached: {words}")]
    Unreachable { server: String, words: String },
    /// It did not answer in time.
    #[error("the API at `{server}` has not answered within {seconds} s")]
    Silent {
        server: String,
        /// How long was waited.
        seconds: u64,
    },
    /// It shows a certificate that we do not trust.
    #[error("the certificate of the API at `{server}` is not trusted: {words}")]
    Untrusted { server: String, words: String },
    /// It does not take our certificate, or does not know whose it is: 401.
    #[error("the API at `{server}` does not know us: {words}")]
    Unauthorized { server: String, words: String },
    /// We may not do that: 403.
    #[error("the API at `{server}` forbids it: {words}")]
    Forbidden { server: String, words: String },
    /// There is no such thing: 404.
    #[error("the API has no such thing: {words}")]
    NotFound { words: String },
    /// Somebody else was faster, or it is there already: 409.
    #[error("the API refuses a change: {words}")]
    Conflict { words: String },
    #[error("the API at `{server}` answers {code} {reason}: {words}")]
    Refused { server: String, code: u16, reason: String, words: String },
    /// What came back is not what the API's own types say.
    #[error("the API at `{server}` answers what cannot be understood: {words}")]
    Answer { server: String, words: String },
    /// The user wants to stop.
    #[error("interrupted")]
    Stopped,
}

impl ApiError {
    /// Whether it may go away by itself: an API that is not there yet, is overloaded, or is moving to the masters.
    pub fn passes(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Silent { .. } => true,
            Self::Refused { code, .. } => *code == 429 || *code >= 500,
            _ => false,
        }
    }

    /// An answer that is no JSON. Not its text, which may quote a Secret.
    pub(super) fn of_json(server: &str, error: &serde_json::Error) -> Self {
        let words = format!("line {}, column {}", error.line(), error.column());
        Self::Answer { server: server.to_owned(), words }
    }

    /// A refusal, with the `Status` that the API gives for a reason; a proxy in between gives none.
    pub(super) fn of_status(server: &str, status: http::StatusCode, body: &[u8]) -> Self {
        let found: serde_json::Value = serde_json::from_slice(body).unwrap_or_default();
        let (server, code) = (server.to_owned(), status.as_u16());
        let (words, reason) = match found["kind"] == "Status" {
            true => (found["message"].as_str().unwrap_or_default(), found["reason"].as_str()),
            false => (&*String::from_utf8_lossy(body), Some("Failed to parse error data")),
        };
        let (words, reason) = (one_line(words), one_line(reason.unwrap_or_default()));
        match code {
            401 => Self::Unauthorized { server, words },
            403 => Self::Forbidden { server, words },
            404 => Self::NotFound { words },
            409 => Self::Conflict { words },
            code => Self::Refused { server, code, reason, words },
        }
    }

    pub(super) fn of_transport(server: String, error: &(dyn std::error::Error + 'static)) -> Self {
        match tls(error) {
            Some(rustls::Error::AlertReceived(alert)) => Self::Unauthorized {
                server,
                words: format!("it refuses our certificate (TLS alert `{alert:?}`)"),
            },
            Some(error @ rustls::Error::InvalidCertificate(_)) => {
                Self::Untrusted { server, words: error.to_string() }
            }
            _ => Self::Unreachable { server, words: one_line(&chain(error)) },
        }
    }
}

/// What TLS said, if it was that. An I/O error hides what it is made of from `source`.
fn tls<'a>(error: &'a (dyn std::error::Error + 'static)) -> Option<&'a rustls::Error> {
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

/// Words of a server, which may be anything: one line without what a terminal would obey, and not for ever.
pub(super) fn one_line(text: &str) -> String {
    const MOST: usize = 400;
    let shown: String =
        text.trim().chars().map(|c| if c.is_control() { ' ' } else { c }).take(MOST).collect();
    if text.trim().chars().count() > MOST { format!("{shown}…") } else { shown }
}

impl Hint for ApiError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Kubeconfig { .. } => {
                "it needs `server`, `certificate-authority-data`, `client-certificate-data` and `client-key-data`"
                    .into()
            }
            Self::Unreachable { .. } => {
                "`tinderbox realize status` says whether the machines and the load balancer run; `--server HOST:PORT` \
                 takes another way to the API"
                    .into()
            }
            Self::Silent { .. } => "its etcd may be slow or without a quorum: look at `/readyz?verbose`".into(),
            Self::Untrusted { .. } => {
                "is another cluster at this address, or was this one built with other keys? `tinderbox generations`"
                    .into()
            }
            Self::Unauthorized { .. } => {
                "the admin certificate may have run out (`tinderbox expiry`), or be of another cluster".into()
            }
            Self::Forbidden { .. } => "the kubeconfig's user is not in the group `system:masters`".into(),
            Self::Conflict { .. } => "run it again: it looks at what is there now".into(),
            Self::NotFound { .. } | Self::Refused { .. } | Self::Answer { .. } | Self::Stopped => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_servers_words_are_one_line_and_end() {
        assert_eq!(one_line(" a\nb\x1b[31m \n"), "a b [31m");
        assert_eq!(one_line(&"ü".repeat(1000)).chars().count(), 401);
    }

    #[test]
    fn tls_is_found_below_io_errors() {
        let inner = rustls::Error::InvalidCertificate(rustls::CertificateError::UnknownIssuer);
        let outer = std::io::Error::other(std::io::Error::other(inner));
        let error = ApiError::of_transport("api".into(), &outer);
        assert!(matches!(error, ApiError::Untrusted { .. }), "{error}");
        let refused = std::io::Error::from(std::io::ErrorKind::ConnectionRefused);
        let error = ApiError::of_transport("api".into(), &refused);
        assert_eq!(error.to_string(), "the API at `api` cannot be reached: connection refused");
        assert!(error.passes());
    }

    /// What a parser stumbled over may be a Secret.
    #[test]
    fn an_answer_is_not_quoted() {
        let error = serde_json::from_str::<u8>("\"hunter2\"").unwrap_err();
        let shown = ApiError::of_json("api", &error).to_string();
        assert!(!shown.contains("hunter2"), "{shown}");
    }
}
