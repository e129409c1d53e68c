//! Errors about keys and certificates. No message contains part of a key.

use crate::base::hint::Hint;

/// Why a key or certificate cannot be read or made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PkiError {
    #[error("it contains no {what}")]
    Missing {
        /// `private key`, `public key` or `certificate`.
        what: &'static str,
        /// The label of the first PEM block.
        found: Option<String>,
    },
    #[error("it contains {count} {what}s instead of one")]
    Several {
        /// See [`Self::Missing`].
        what: &'static str,
        count: usize,
    },
    #[error("the PEM block `{label}` has no end")]
    Unfinished { label: String },
    #[error("the PEM block `{label}` is not base64")]
    NotBase64 { label: String },
    #[error("the private key is encrypted")]
    Encrypted,
    #[error("`{kind}` keys are not supported")]
    Unsupported {
        /// `rsa-1024`, `ed25519`, or an object identifier.
        kind: String,
    },
    /// Not what its label claims, or corrupt.
    #[error("the {what} is damaged: {reason}")]
    Damaged {
        what: &'static str,
        /// Never part of a key.
        reason: String,
    },
    #[error("a certificate needs a subject")]
    NoSubject,
    /// The period is empty or cannot be encoded.
    #[error("a certificate cannot be valid from {} to {}", .not_before.date(), .not_after.date())]
    Validity { not_before: time::OffsetDateTime, not_after: time::OffsetDateTime },
    #[error("`{name}` is not a DNS name")]
    NotDns { name: String },
    #[error("the private key does not belong to the certificate of `{issuer}`")]
    WrongKey { issuer: String },
    #[error("`{issuer}` is not an authority that may sign certificates")]
    NotAuthority { issuer: String },
    #[error("`{issuer}` may not sign further authorities: its path length is 0")]
    PathLength { issuer: String },
    /// The library that encodes or signs refused.
    #[error("cannot issue the certificate of `{subject}`: {reason}")]
    NotMade { subject: String, reason: String },
}

impl Hint for PkiError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Missing { what, found: Some(found) } => {
                format!("it contains a `{found}`; use a file with one {what} in PEM form")
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
            Self::Damaged { what: "private key", .. } => "`openssl pkey -check -noout` may say more".into(),
            Self::Damaged { what: "certificate request", .. } => {
                "`openssl req -text -noout -verify` may say more".into()
            }
            Self::Damaged { what: "public key", .. } => {
                "`openssl pkey -pubin -text -noout` may say more".into()
            }
            Self::Damaged { .. } => "`openssl x509 -text -noout` may say more".into(),
            Self::NotDns { .. } => "write internationalised names in their `xn--` form".into(),
            Self::WrongKey { .. } => "use the private key of that certificate".into(),
            Self::NotAuthority { .. } => {
                "it needs `CA:TRUE` and, if it has key usages, `Certificate Sign` among them".into()
            }
            Self::PathLength { .. } => "use an authority whose path length allows one more level".into(),
            Self::NoSubject | Self::Validity { .. } | Self::NotMade { .. } => return None,
        })
    }
}
