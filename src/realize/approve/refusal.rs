//! Why a request is left alone. Each reason names the field and fits into one line, whatever somebody wrote there.

use std::fmt;
use std::net::IpAddr;

use crate::base::hint::Hint;
use crate::base::pki::PkiError;
use crate::base::redact;

/// The first thing that is wrong with a request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    /// Not a certificate of a kubelet.
    #[error("spec.signerName is {}, which signs nothing that a node asks for", Shown(.found))]
    Signer { found: String },
    /// Not a request at all.
    #[error("spec.request cannot be read: {0}")]
    Unreadable(#[source] PkiError),
    /// Who asks does not have the key.
    #[error("spec.request is not signed with its own key")]
    Unsigned,
    /// A key that is too weak, or of a kind that no kubelet makes.
    #[error("spec.request has a key of kind {}", Shown(.found))]
    Key { found: String },
    /// More than a name.
    #[error("spec.request asks for more than names: {}", Shown(.found))]
    Extra { found: String },
    /// An attribute of the subject that is neither, or one of them that is not plain text.
    #[error("the subject has {}, where one CN and one O belong", Shown(.found))]
    Attribute { found: String },
    #[error("the subject has {count} common names (CN)")]
    CommonNames { count: usize },
    /// None, another, or several.
    #[error("the subject's O is {}, not `system:nodes` alone", List(.found))]
    Organization { found: Vec<String> },
    /// No user of a node.
    #[error("the subject's CN is {}, which is not `system:node:` and a name", Shown(.found))]
    NotANode { found: String },
    /// A node of somebody else.
    #[error("the subject's CN names {}, which is no node of this cluster", Shown(.name))]
    Foreign { name: String },
    /// The bootstrap machine, whose kubelet needs no API.
    #[error("the subject's CN names `{name}`, the bootstrap machine, which never joins")]
    Bootstrap { name: String },
    /// Not who asks for such a certificate.
    #[error("spec.username is {}, not `{expected}`", Shown(.found))]
    Requestor {
        found: String,
        /// Who would have been right.
        expected: String,
    },
    /// A node that wants a new certificate for an old one.
    #[error(
        "spec.username is `{name}` itself: it renews its certificate, which the cluster's own approver decides"
    )]
    Renewal { name: String },
    /// A name without the group that comes with it.
    #[error("spec.groups is {}, without `system:nodes`", List(.found))]
    Groups { found: Vec<String> },
    /// Usages that are not those.
    #[error("spec.usages is {}, not `digital signature`, `{expected}` and at most `key encipherment`", List(.found))]
    Usages {
        found: Vec<String>,
        /// The one that makes the difference.
        expected: &'static str,
    },
    /// Names where none belong.
    #[error("the subject alternative names have {}, and a client's certificate has none", Plain(.found))]
    Names { found: String },
    /// Something that is neither a DNS name nor an address.
    #[error("the subject alternative names have {}, which is neither a DNS name nor an address", Plain(.found))]
    OtherName { found: String },
    /// A name of another machine.
    #[error("the subject alternative names have the DNS name {}, which `{node}` does not have", Shown(.found))]
    ForeignName {
        found: String,
        /// Whose certificate it is to be.
        node: String,
    },
    /// The name is not there.
    #[error("the subject alternative names lack the DNS name `{name}`")]
    NoName { name: String },
    /// An address of another machine.
    #[error("the subject alternative names have the address `{found}`, which `{node}` does not have")]
    ForeignAddress {
        found: IpAddr,
        /// Whose certificate it is to be.
        node: String,
    },
    /// The address is not there.
    #[error("the subject alternative names lack the address `{ip}`")]
    NoAddress { ip: IpAddr },
    /// Nobody needs a first certificate twice.
    #[error("`{name}` is in the API already: this may be somebody who replays what it asked")]
    Up { name: String },
    /// First the node, then its serving certificate.
    #[error("`{name}` is not in the API yet")]
    Down { name: String },
}

impl Hint for Refusal {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Up { name } => {
                Some(format!("if the machine was made anew, `oc delete node {name}` lets it join again"))
            }
            Self::Unreadable(error) => error.hint(),
            _ => None,
        }
    }
}

/// How much of somebody's text is shown.
const MOST: usize = 120;

/// Somebody's text without what a terminal would obey, and not for ever.
struct Plain<'a>(&'a str);

impl fmt::Display for Plain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0.chars();
        for c in rest.by_ref().take(MOST) {
            match redact::steers(c) {
                true => write!(f, "{}", c.escape_unicode())?,
                false => write!(f, "{c}")?,
            }
        }
        if rest.next().is_some() { f.write_str("…") } else { Ok(()) }
    }
}

/// The same in backticks.
struct Shown<'a>(&'a str);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", Plain(self.0))
    }
}

/// Several, of which the first few are shown.
struct List<'a>(&'a [String]);

impl fmt::Display for List<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("empty");
        }
        for (at, one) in self.0.iter().take(6).enumerate() {
            write!(f, "{}{}", if at > 0 { ", " } else { "" }, Shown(one))?;
        }
        if self.0.len() > 6 { write!(f, " and {} more", self.0.len() - 6) } else { Ok(()) }
    }
}
