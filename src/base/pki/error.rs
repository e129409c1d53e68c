//! What can be wrong with keys and certificates. No message holds a part of a key.

use crate::base::hint::Hint;

/// Why a key or certificate cannot be read or made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PkiError {
    /// No block of the wanted kind.
    #[error("there is no {what} in it")]
    Missing {
        /// `private key` or `certificate`.
        what: &'static str,
        /// What is there instead: the label of the first PEM block.
        found: Option<String>,
    },
    /// More than one where one is wanted.
    #[error("there are {count} {what}s in it, where one is wanted")]
    Several {
        /// `private key` or `certificate`.
        what: &'static str,
        count: usize,
    },
    /// A PEM block without its other end.
    #[error("the PEM block `{label}` is not complete")]
    Unfinished {
        /// What the block calls itself.
        label: String,
    },
    /// A PEM block that holds something else than base64.
    #[error("the PEM block `{label}` is not base64")]
    NotBase64 {
        /// What the block calls itself.
        label: String,
    },
    /// A key behind a passphrase.
    #[error("the private key is encrypted")]
    Encrypted,
    /// A kind of key that is not for us.
    #[error("a key of kind `{kind}` is not supported")]
    Unsupported {
        /// `rsa-1024`, `ed25519`, or an object identifier.
        kind: String,
    },
    /// Not what its label says, or damaged.
    #[error("the {what} is damaged: {reason}")]
    Damaged {
        /// `private key` or `certificate`.
        what: &'static str,
        /// What does not fit; never a part of a key.
        reason: String,
    },
    /// A certificate for nobody.
    #[error("a certificate needs a subject")]
    NoSubject,
    /// It would never be valid, or has no encoding.
    #[error("a certificate cannot be valid from {} to {}", .not_before.date(), .not_after.date())]
    Validity { not_before: time::OffsetDateTime, not_after: time::OffsetDateTime },
    /// A DNS name that cannot stand in a certificate.
    #[error("`{name}` is not a DNS name")]
    NotDns { name: String },
    /// The issuer's key is another one than its certificate's.
    #[error("the private key does not belong to the certificate of `{issuer}`")]
    WrongKey { issuer: String },
    /// The issuer may not sign certificates.
    #[error("`{issuer}` is not an authority that may sign certificates")]
    NotAuthority { issuer: String },
    /// The issuer may not sign authorities.
    #[error("`{issuer}` may not sign further authorities: its path length is 0")]
    PathLength { issuer: String },
    /// The library that encodes or signs refused.
    #[error("the certificate of `{subject}` cannot be made: {reason}")]
    NotMade { subject: String, reason: String },
}

impl Hint for PkiError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Missing { what, found: Some(found) } => {
                format!("it holds a `{found}`; give a file with one {what} in PEM form")
            }
            Self::Missing { what, found: None } => {
                format!("a {what} in PEM form begins with `-----BEGIN {}-----`", what.to_uppercase())
            }
            Self::Several { what, .. } => format!("keep one {what} in the file"),
            Self::Unfinished { .. } => "was the file cut off when it was copied?".into(),
            Self::NotBase64 { .. } => "was the file changed when it was copied?".into(),
            Self::Encrypted => "decrypt it: `openssl pkey -in key.pem -out plain.pem`".into(),
            Self::Unsupported { .. } => {
                "use RSA of 2048, 3072 or 4096 bits, or ECDSA on the curves P-256 or P-384".into()
            }
            Self::Damaged { what: "private key", .. } => "see what `openssl pkey -check -noout` says".into(),
            Self::Damaged { what: "certificate request", .. } => {
                "see what `openssl req -text -noout -verify` says".into()
            }
            Self::Damaged { .. } => "see what `openssl x509 -text -noout` says".into(),
            Self::NotDns { .. } => "write names of other alphabets in their `xn--` form".into(),
            Self::WrongKey { .. } => "give the key that the certificate was made for".into(),
            Self::NotAuthority { .. } => {
                "it needs `CA:TRUE` and, if it has key usages, `Certificate Sign` among them".into()
            }
            Self::PathLength { .. } => "bring an authority that has room for one more level".into(),
            Self::NoSubject | Self::Validity { .. } | Self::NotMade { .. } => return None,
        })
    }
}
