//! Statuses as errors. What a server says is foreign text: it is shortened, and no control character of it is passed on.

use tonic::{Code, Status};

use super::{Client, RegistryError};
use crate::base::hint::chain;

/// Characters of a server's message that are shown.
const SHOWN: usize = 200;

impl Client {
    pub(super) fn unreachable(&self, what: &str, reason: String) -> RegistryError {
        RegistryError::Unreachable { image: what.to_owned(), place: self.place.clone(), reason, advice: None }
    }

    pub(super) fn malformed(&self, what: &str, problem: impl Into<String>) -> RegistryError {
        RegistryError::Malformed { image: what.to_owned(), problem: problem.into() }
    }

    pub(super) fn missing(&self, what: &str) -> RegistryError {
        RegistryError::NotFound { image: what.to_owned(), what: what.to_owned(), place: self.place.clone() }
    }

    /// What a status means.
    pub(super) fn failure(&self, what: &str, status: &Status) -> RegistryError {
        let said = || said(status);
        match status.code() {
            Code::NotFound => self.missing(what),
            code @ (Code::Unauthenticated | Code::PermissionDenied) => RegistryError::Denied {
                image: what.to_owned(),
                place: self.place.clone(),
                status: if code == Code::Unauthenticated { 401 } else { 403 },
                with_credentials: self.authorization.is_some(),
            },
            Code::InvalidArgument | Code::FailedPrecondition | Code::OutOfRange | Code::Unimplemented => {
                self.malformed(what, format!("{} refuses it: {}", self.place, said()))
            }
            Code::DataLoss => self.malformed(what, format!("{} lost it: {}", self.place, said())),
            _ => self.unreachable(what, said()),
        }
    }
}

/// The reason that a status gives: of the connection, if that is what broke, else the server's.
fn said(status: &Status) -> String {
    let mut source = std::error::Error::source(status);
    let mut last = None;
    while let Some(error) = source {
        (last, source) = (Some(error), error.source());
    }
    let text = match last {
        Some(_) => {
            let text = chain(status);
            match () {
                () if text.contains("UnknownIssuer") => {
                    "its certificate is signed by an unknown authority".into()
                }
                () if text.contains("InvalidContentType") || text.contains("corrupt message") => {
                    "it does not speak TLS".into()
                }
                () if text.contains("FRAME_SIZE_ERROR") || text.contains("invalid HTTP") => {
                    "it does not speak gRPC".into()
                }
                () => last.map(ToString::to_string).unwrap_or_default(),
            }
        }
        None if status.message().is_empty() => status.code().description().to_owned(),
        None => status.message().to_owned(),
    };
    shown(&text)
}

/// The beginning of a text, on one line.
pub(super) fn shown(text: &str) -> String {
    text.trim().escape_debug().take(SHOWN).collect()
}
