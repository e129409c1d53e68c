//! `trust.toml`: who presents which credential to whom, and where each finds its credential and its trust anchor. The
//! head of the file explains each form.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::table::Row;

/// A presenter, its credential, and a verifier.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrustEdge {
    /// Stable.
    pub(crate) id: String,
    pub(crate) presenter: String,
    /// Its name in the PKI; for a certificate that is signed later, the signer's.
    pub(crate) credential: String,
    pub(crate) role: Role,
    pub(crate) verifier: String,
    /// While the bootstrap node serves the API.
    pub(crate) before: Option<Presentation>,
    /// When operators have taken over.
    pub(crate) after: Option<Presentation>,
    /// The consequence of a refusal.
    pub(crate) breaks: String,
    /// What the hand-over object of `after` must contain.
    pub(crate) holds: Option<Holds>,
}

/// The role of a credential.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    Client,
    Server,
    Peer,
    /// Signs a token.
    Token,
}

/// A credential and the trust anchor of its verifier.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Presentation {
    pub(crate) shows: Credential,
    pub(crate) trusts: Anchor,
    #[serde(default)]
    pub(crate) dials: DialedName,
}

/// Where a presenter finds its credential.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Credential {
    Flags(PairFlags),
    Kubeconfigs(Kubeconfigs),
    Object(ObjectKey),
    SignedBy(ObjectKey),
    SignedByFlag(FlagOf),
    Key(FlagOf),
}

/// Where a verifier finds its trust anchor.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Anchor {
    Flag(FlagOf),
    FlagToRoot(FlagOf),
    Kubeconfigs(Kubeconfigs),
    Object(ObjectKey),
    FileToRoot(String),
    Kubelets,
    Keys(FlagOf),
}

/// The name that a certificate must have.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum DialedName {
    /// Names are not checked.
    #[default]
    Any,
    Kubeconfig,
    Joining,
    Urls(FlagOf),
    Annotation(ObjectKey),
    Names(Vec<String>),
    Allowed(FlagOf),
}

/// Kubeconfigs, all of which count.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kubeconfigs {
    Named(Vec<String>),
    Flagged(Vec<String>),
    Masters(Vec<String>),
    Joining,
}

/// A flag of the static pod that runs this program.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FlagOf {
    pub(crate) pod: String,
    pub(crate) flag: String,
}

/// The flags that name a certificate and its key.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PairFlags {
    pub(crate) pod: String,
    pub(crate) certificate: String,
    pub(crate) key: String,
}

/// What `check/hand-over` requires of an object, by names of our PKI.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Holds {
    IssuerOf(String),
    Authority(String),
    PublicHalfOf(String),
}

/// A key of an object's data, or one of its annotations: `Secret openshift-etcd/etcd-signer [tls.crt]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct ObjectKey {
    pub(crate) kind: String,
    /// Namespace and name.
    pub(crate) name: String,
    pub(crate) key: String,
}

impl FromStr for ObjectKey {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parse = || {
            let (kind, rest) = text.split_once(' ')?;
            let (name, key) = rest.strip_suffix(']')?.split_once(" [")?;
            let (namespace, leaf) = name.split_once('/')?;
            let all = [kind, namespace, leaf, key];
            let object = Self { kind: kind.to_owned(), name: name.to_owned(), key: key.to_owned() };
            all.iter().all(|part| !part.is_empty() && !part.contains(char::is_whitespace)).then_some(object)
        };
        parse().ok_or_else(|| format!("`{text}` is not written as `KIND NAMESPACE/NAME [KEY]`"))
    }
}

impl TryFrom<String> for ObjectKey {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, name, key } = self;
        write!(f, "{kind} {name} [{key}]")
    }
}

impl Role {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
            Self::Peer => "peer",
            Self::Token => "token",
        }
    }
}

impl TrustEdge {
    /// The hand-over object that it depends on.
    pub(crate) fn handed_over(&self) -> Option<&ObjectKey> {
        let Presentation { shows, trusts, .. } = self.after.as_ref()?;
        match (trusts, shows) {
            (Anchor::Object(object), _) | (_, Credential::SignedBy(object)) => Some(object),
            _ => None,
        }
    }
}

impl Row for TrustEdge {
    const FILE: &'static str = "trust.toml";
    const NAME: &'static str = "edge";

    fn key(&self) -> &str {
        &self.id
    }
}
