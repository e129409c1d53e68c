//! The decision about one request. Pure: the request, the nodes that we made, and those that are in the API.

use std::collections::BTreeSet;

use serde::Serialize;

use super::{Made, Refusal};
use crate::base::pki::SigningRequest;
use crate::realize::api::{Request, Stage};

const CLIENT: &str = "kubernetes.io/kube-apiserver-client-kubelet";
const SERVING: &str = "kubernetes.io/kubelet-serving";
const USER: &str = "system:node:";
const GROUP: &str = "system:nodes";

/// What a node asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Certificate {
    /// With which it is known to the API.
    Client,
    /// With which the API knows it.
    Serving,
}

impl Certificate {
    /// Which one a signer signs.
    pub(super) fn of(signer: &str) -> Option<Self> {
        match signer {
            CLIENT => Some(Self::Client),
            SERVING => Some(Self::Serving),
            _ => None,
        }
    }

    /// As people write it.
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

/// What is to be done about a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is one of ours.
    Approve {
        /// Whose, in cluster.yaml's words.
        node: String,
        certificate: Certificate,
    },
    Settled(Stage),
    /// It is not for us to decide.
    Leave(Refusal),
}

/// Decides. `present` are the names of the nodes in the API, looked at after the request.
pub(crate) fn judge(request: &Request, made: &[Made], present: &BTreeSet<String>) -> Verdict {
    if request.stage != Stage::Pending {
        return Verdict::Settled(request.stage);
    }
    let asked = SigningRequest::from_pem(&request.pem).map_err(Refusal::Unreadable);
    match asked.and_then(|asked| decide(request, &asked, made, present)) {
        Ok((node, certificate)) => Verdict::Approve { node: node.node.clone(), certificate },
        Err(refusal) => Verdict::Leave(refusal),
    }
}

/// The same of a request that was taken apart.
pub(super) fn decide<'m>(
    request: &Request,
    asked: &SigningRequest,
    made: &'m [Made],
    present: &BTreeSet<String>,
) -> Result<(&'m Made, Certificate), Refusal> {
    let certificate =
        Certificate::of(&request.signer).ok_or_else(|| Refusal::Signer { found: request.signer.clone() })?;
    proven(asked)?;
    let name = subject(asked)?;
    let node = made
        .iter()
        .find(|node| node.name == name)
        .ok_or_else(|| Refusal::Foreign { name: name.to_owned() })?;
    let Some(bootstrapper) = &node.bootstrapper else {
        return Err(Refusal::Bootstrap { name: node.name.clone() });
    };
    usages(request, certificate)?;
    match certificate {
        Certificate::Client => {
            asker_of_client(request, node, bootstrapper)?;
            no_names(asked)?;
            if present.contains(&node.name) {
                return Err(Refusal::Up { name: node.name.clone() });
            }
        }
        Certificate::Serving => {
            asker_of_serving(request, node)?;
            own_names(asked, node)?;
            if !present.contains(&node.name) {
                return Err(Refusal::Down { name: node.name.clone() });
            }
        }
    }
    Ok((node, certificate))
}

/// Who asks has the key, it is one that can be used, and nothing but names is asked for.
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

fn usages(request: &Request, certificate: Certificate) -> Result<(), Refusal> {
    let found: BTreeSet<&str> = request.usages.iter().map(String::as_str).collect();
    let least = BTreeSet::from(["digital signature", certificate.usage()]);
    let most = least.iter().copied().chain(["key encipherment"]).collect::<BTreeSet<_>>();
    if found == least || found == most {
        return Ok(());
    }
    Err(Refusal::Usages { found: request.usages.clone(), expected: certificate.usage() })
}

fn asker_of_client(request: &Request, node: &Made, bootstrapper: &str) -> Result<(), Refusal> {
    let own = format!("{USER}{}", node.name);
    match request.username.as_str() {
        found if found == bootstrapper => Ok(()),
        found if found == own => Err(Refusal::Renewal { name: own }),
        found => Err(Refusal::Requestor { found: found.to_owned(), expected: bootstrapper.to_owned() }),
    }
}

fn asker_of_serving(request: &Request, node: &Made) -> Result<(), Refusal> {
    let expected = format!("{USER}{}", node.name);
    if request.username != expected {
        return Err(Refusal::Requestor { found: request.username.clone(), expected });
    }
    match request.groups.iter().any(|group| group == GROUP) {
        true => Ok(()),
        false => Err(Refusal::Groups { found: request.groups.clone() }),
    }
}

fn no_names(asked: &SigningRequest) -> Result<(), Refusal> {
    let dns = asked.dns.iter().map(|name| format!("the DNS name `{name}`"));
    let ips = asked.ips.iter().map(|ip| format!("the address `{ip}`"));
    let mut all = dns.chain(ips).chain(asked.others.iter().cloned());
    all.next().map_or(Ok(()), |found| Err(Refusal::Names { found }))
}

/// The node's own name, perhaps its other one; its own addresses, at least the primary one; nothing else.
fn own_names(asked: &SigningRequest, node: &Made) -> Result<(), Refusal> {
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
