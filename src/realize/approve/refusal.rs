//! Why a request is left alone. Each reason names the field, and is one line whatever the requestor wrote there.

use std::fmt;
use std::net::IpAddr;

use crate::base::hint::Hint;
use crate::base::pki::PkiError;
use crate::base::redact;
use crate::realize::api::Stage;

/// The first rule that a request breaks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("spec.signerName is {}, which signs nothing that a node asks for", Quoted(.found))]
    Signer { found: String },
    #[error("spec.request cannot be read: {0}")]
    Unreadable(#[source] PkiError),
    /// The requestor has not proven that it has the key.
    #[error("spec.request is not signed with its own key")]
    Unsigned,
    /// Too weak, or of a kind that no kubelet uses.
    #[error("spec.request has a key of kind {}", Quoted(.found))]
    Key { found: String },
    #[error("spec.request asks for more than names: {}", Quoted(.found))]
    Extra { found: String },
    /// Neither CN nor O, or not plain text.
    #[error("the subject has {}, where one CN and one O belong", Quoted(.found))]
    Attribute { found: String },
    #[error("the subject has {count} common names (CN)")]
    CommonNames { count: usize },
    #[error("the subject's O is {}, not `system:nodes` alone", List(.found))]
    Organization { found: Vec<String> },
    #[error("the subject's CN is {}, which is not `system:node:` and a name", Quoted(.found))]
    NotANode { found: String },
    #[error("the subject's CN names {}, which is not a node of this cluster", Quoted(.name))]
    Foreign { name: String },
    /// The kubelet of the bootstrap machine needs no API.
    #[error("the subject's CN names `{name}`, the bootstrap machine, which never joins")]
    Bootstrap { name: String },
    #[error("spec.username is {}, not `{expected}`", Quoted(.found))]
    Requestor { found: String, expected: String },
    /// Left to the cluster's own approver.
    #[error("spec.username is `{name}` itself: this is a renewal, which the cluster's own approver decides")]
    Renewal { name: String },
    #[error("spec.groups is {}, without `{expected}`", List(.found))]
    Groups { found: Vec<String>, expected: &'static str },
    #[error("spec.usages is {}, not `digital signature`, `{expected}` and at most `key encipherment`", List(.found))]
    Usages {
        found: Vec<String>,
        /// The extended key usage.
        expected: &'static str,
    },
    #[error("the subject alternative names have {}, but a client certificate has none", Safe(.found))]
    Names { found: String },
    #[error("the subject alternative names have {}, which is neither a DNS name nor an address", Safe(.found))]
    OtherName { found: String },
    #[error("the subject alternative names have the DNS name {}, which `{node}` does not have", Quoted(.found))]
    ForeignName { found: String, node: String },
    #[error("the subject alternative names lack the DNS name `{name}`")]
    NoName { name: String },
    #[error("the subject alternative names have the address `{found}`, which `{node}` does not have")]
    ForeignAddress { found: IpAddr, node: String },
    #[error("the subject alternative names lack the address `{ip}`")]
    NoAddress { ip: IpAddr },
    /// A node needs its first certificate only once.
    #[error("`{name}` is already in the API: this may be a replay of its request")]
    Up { name: String },
    /// Another key asks for the same node, or was approved for it.
    #[error(
        "its key is `{key}`, but {rival}; only `tinderbox realize approve {node} --key {key}` approves this one"
    )]
    CompetingRequest { node: String, key: String, rival: CompetingRequest },
    /// A kubelet gives up after a quarter of an hour, and asks with another key.
    #[error("its kubelet has given up: `{later}` asks for `{node}` a quarter of an hour later or more")]
    Abandoned { node: String, later: String },
    /// A node joins before it asks for a serving certificate.
    #[error("`{name}` is not in the API yet")]
    Down { name: String },
}

/// The other request for a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CompetingRequest {
    pub request: String,
    pub key: String,
    pub stage: Stage,
}

impl fmt::Display for CompetingRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { request, key, stage } = self;
        match stage {
            Stage::Pending => write!(f, "`{request}`, with `{key}`, asks for the same node"),
            _ => write!(f, "`{request}`, with `{key}`, was approved"),
        }
    }
}

impl Hint for Refusal {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Up { name } => {
                Some(format!("if the machine was reinstalled, `oc delete node {name}` lets it join again"))
            }
            Self::CompetingRequest { node, .. } => Some(format!(
                "a kubelet that restarts asks with a new key: `systemctl restart kubelet` on `{node}` shows which request is \
                 its own, the one that appears then; if there is another, somebody else has the node's credential"
            )),
            Self::Unreadable(error) => error.hint(),
            _ => None,
        }
    }
}

/// How much of a foreign text is shown.
const MOST: usize = 120;

/// Foreign text, safe for a terminal and of limited length.
struct Safe<'a>(&'a str);

impl fmt::Display for Safe<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0.chars();
        for c in rest.by_ref().take(MOST) {
            match redact::controls_terminal(c) {
                true => write!(f, "{}", c.escape_unicode())?,
                false => write!(f, "{c}")?,
            }
        }
        if rest.next().is_some() { f.write_str("…") } else { Ok(()) }
    }
}

/// Foreign text in backticks.
struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", Safe(self.0))
    }
}

/// Several, of which the first six are shown.
struct List<'a>(&'a [String]);

impl fmt::Display for List<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("empty");
        }
        for (at, one) in self.0.iter().take(6).enumerate() {
            write!(f, "{}{}", if at > 0 { ", " } else { "" }, Quoted(one))?;
        }
        if self.0.len() > 6 { write!(f, " and {} more", self.0.len() - 6) } else { Ok(()) }
    }
}
