//! The decision about one request. Pure: it depends on the request, our nodes, and which nodes are in the API.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;

use super::{NodeIdentity, Refusal};
use crate::base::pki::SigningRequest;
use crate::realize::api::{CertificateRequest, Stage};

const CLIENT: &str = "kubernetes.io/kube-apiserver-client-kubelet";
const SERVING: &str = "kubernetes.io/kubelet-serving";
const USER: &str = "system:node:";
const GROUP: &str = "system:nodes";
/// The group of the credentials that nodes join with.
const JOINING: &str = "system:bootstrappers";

/// The certificates of a kubelet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum KubeletCertificate {
    /// Identifies it to the API server.
    Client,
    /// Identifies it as a server, to the API server.
    Serving,
}

impl KubeletCertificate {
    /// By its signer.
    pub(super) fn of(signer: &str) -> Option<Self> {
        match signer {
            CLIENT => Some(Self::Client),
            SERVING => Some(Self::Serving),
            _ => None,
        }
    }

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Serving => "serving",
        }
    }

    fn usage(self) -> &'static str {
        match self {
            Self::Client => "client auth",
            Self::Serving => "server auth",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    Approve {
        /// Its name in cluster.yaml.
        node: String,
        certificate: KubeletCertificate,
        /// The fingerprint of its key.
        key: String,
    },
    Settled(Stage),
    /// Not ours to decide.
    Leave(Refusal),
}

/// `present` are the names of the nodes in the API, read after the request.
pub(crate) fn judge(
    request: &CertificateRequest,
    nodes: &[NodeIdentity],
    present: &BTreeSet<String>,
) -> Verdict {
    if request.stage != Stage::Pending {
        return Verdict::Settled(request.stage);
    }
    match parse(request).and_then(|asked| {
        let (node, certificate) = decide(request, &asked, nodes, present)?;
        Ok(Verdict::Approve { node: node.node.clone(), certificate, key: asked.key_fingerprint })
    }) {
        Ok(verdict) => verdict,
        Err(refusal) => Verdict::Leave(refusal),
    }
}

pub(super) fn parse(request: &CertificateRequest) -> Result<SigningRequest, Refusal> {
    SigningRequest::from_pem(&request.pem).map_err(Refusal::Unreadable)
}

/// The same for a parsed request.
pub(super) fn decide<'m>(
    request: &CertificateRequest,
    asked: &SigningRequest,
    nodes: &'m [NodeIdentity],
    present: &BTreeSet<String>,
) -> Result<(&'m NodeIdentity, KubeletCertificate), Refusal> {
    let certificate = KubeletCertificate::of(&request.signer)
        .ok_or_else(|| Refusal::Signer { found: request.signer.clone() })?;
    proven(asked)?;
    let name = subject(asked)?;
    let node = nodes
        .iter()
        .find(|node| node.name == name)
        .ok_or_else(|| Refusal::Foreign { name: name.to_owned() })?;
    let Some(bootstrapper) = &node.bootstrapper else {
        return Err(Refusal::Bootstrap { name: node.name.clone() });
    };
    usages(request, certificate)?;
    match certificate {
        KubeletCertificate::Client => {
            client_requestor(request, node, bootstrapper)?;
            no_names(asked)?;
            if present.contains(&node.name) {
                return Err(Refusal::Up { name: node.name.clone() });
            }
        }
        KubeletCertificate::Serving => {
            serving_requestor(request, node)?;
            own_names(asked, node)?;
            if !present.contains(&node.name) {
                return Err(Refusal::Down { name: node.name.clone() });
            }
        }
    }
    Ok((node, certificate))
}

/// The requestor has the key, the key is strong enough, and the request asks for names only.
fn proven(asked: &SigningRequest) -> Result<(), Refusal> {
    let strong = match asked.key_algorithm.strip_prefix("rsa-") {
        Some(bits) => bits.parse::<u32>().is_ok_and(|bits| (2048..=8192).contains(&bits)),
        None => ["ecdsa-p256", "ecdsa-p384", "ed25519"].contains(&asked.key_algorithm.as_str()),
    };
    if !strong {
        return Err(Refusal::Key { found: asked.key_algorithm.clone() });
    }
    if !asked.is_signed {
        return Err(Refusal::Unsigned);
    }
    match asked.extras.first() {
        Some(found) => Err(Refusal::Extra { found: found.clone() }),
        None => Ok(()),
    }
}

/// The node's name in a subject that is exactly `O=system:nodes, CN=system:node:<name>`.
fn subject(asked: &SigningRequest) -> Result<&str, Refusal> {
    let strange =
        asked.attributes.iter().find(|(key, value)| !["CN", "O"].contains(&key.as_str()) || value.is_none());
    if let Some((key, value)) = strange {
        let text = value.as_ref().map_or("that is not plain text".to_owned(), |value| format!("= {value}"));
        return Err(Refusal::Attribute { found: format!("{key} {text}") });
    }
    let organizations = asked.values("O");
    if organizations != [GROUP] {
        let found = organizations.into_iter().map(str::to_owned).collect();
        return Err(Refusal::Organization { found });
    }
    let names = asked.values("CN");
    let &[name] = names.as_slice() else { return Err(Refusal::CommonNames { count: names.len() }) };
    let node = name.strip_prefix(USER).filter(|node| !node.is_empty());
    node.ok_or_else(|| Refusal::NotANode { found: name.to_owned() })
}

fn usages(request: &CertificateRequest, certificate: KubeletCertificate) -> Result<(), Refusal> {
    let found: BTreeSet<&str> = request.usages.iter().map(String::as_str).collect();
    let least = BTreeSet::from(["digital signature", certificate.usage()]);
    let most = least.iter().copied().chain(["key encipherment"]).collect::<BTreeSet<_>>();
    if found == least || found == most {
        return Ok(());
    }
    Err(Refusal::Usages { found: request.usages.clone(), expected: certificate.usage() })
}

fn client_requestor(
    request: &CertificateRequest,
    node: &NodeIdentity,
    bootstrapper: &str,
) -> Result<(), Refusal> {
    let own = format!("{USER}{}", node.name);
    let is_joining = || request.groups.iter().any(|group| group == JOINING);
    match request.username.as_str() {
        found if found == bootstrapper && is_joining() => Ok(()),
        found if found == bootstrapper => {
            Err(Refusal::Groups { found: request.groups.clone(), expected: JOINING })
        }
        found if found == own => Err(Refusal::Renewal { name: own }),
        found => Err(Refusal::Requestor { found: found.to_owned(), expected: bootstrapper.to_owned() }),
    }
}

fn serving_requestor(request: &CertificateRequest, node: &NodeIdentity) -> Result<(), Refusal> {
    let expected = format!("{USER}{}", node.name);
    if request.username != expected {
        return Err(Refusal::Requestor { found: request.username.clone(), expected });
    }
    match request.groups.iter().any(|group| group == GROUP) {
        true => Ok(()),
        false => Err(Refusal::Groups { found: request.groups.clone(), expected: GROUP }),
    }
}

fn no_names(asked: &SigningRequest) -> Result<(), Refusal> {
    let dns = asked.dns.iter().map(|name| format!("the DNS name `{name}`"));
    let ips = asked.ips.iter().map(|ip| format!("the address `{ip}`"));
    let mut all = dns.chain(ips).chain(asked.others.iter().cloned());
    all.next().map_or(Ok(()), |found| Err(Refusal::Names { found }))
}

/// Its own name, optionally the other form of it; its own addresses, at least the primary one; nothing else.
fn own_names(asked: &SigningRequest, node: &NodeIdentity) -> Result<(), Refusal> {
    if let Some(found) = asked.others.first() {
        return Err(Refusal::OtherName { found: found.clone() });
    }
    let whose = || node.name.clone();
    if let Some(found) = asked.dns.iter().find(|name| !node.names.contains(name)) {
        return Err(Refusal::ForeignName { found: found.clone(), node: whose() });
    }
    if !asked.dns.contains(&node.name) {
        return Err(Refusal::NoName { name: whose() });
    }
    if let Some(found) = asked.ips.iter().find(|ip| !node.ips.contains(ip)) {
        return Err(Refusal::ForeignAddress { found: *found, node: whose() });
    }
    match node.ips.first().filter(|ip| !asked.ips.contains(ip)) {
        Some(ip) => Err(Refusal::NoAddress { ip: *ip }),
        None => Ok(()),
    }
}
