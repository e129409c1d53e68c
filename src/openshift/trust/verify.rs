//! Decides verifications like Go's TLS, which nearly all of these programs use: any certificate of a bundle may end the
//! chain, whether a root or not. Programs with OpenSSL continue to a root.

use std::net::IpAddr;

use super::TrustVerification;
use super::resolve::{Accepts, Basis, Case, Site, What};
use crate::base::pki::{Certificate, PrivateKey};
use crate::openshift::knowledge::{
    Anchor, Credential, DialedName, FlagOf, Kubeconfigs, PairFlags, Presentation, Role, TrustEdge,
};

/// Longer than any chain.
const DEPTH: usize = 8;

/// One verification: the credential, the trust anchor, and the result.
pub(super) fn verification(
    site: &Site<'_>,
    edge: &TrustEdge,
    presentation: &Presentation,
) -> TrustVerification {
    let outcome = outcome(site, edge.role, presentation);
    let holds = outcome.is_ok();
    let (why, anchor) = match outcome {
        Ok(Accepted { anchor: Some(anchor) }) => (format!("`{anchor}` is in it"), Some(anchor)),
        Ok(Accepted { anchor: None }) => ("it has the public half of the key".to_owned(), None),
        Err(why) => (why, None),
    };
    let Presentation { shows, trusts, .. } = presentation;
    let short = match shows {
        Credential::SignedBy(object) => {
            format!("signed by {}", object.name.rsplit('/').next().unwrap_or_default())
        }
        Credential::SignedByFlag(_) => format!("signed by {}", edge.credential),
        _ => edge.credential.clone(),
    };
    TrustVerification { shows: shown(site, shows), by: trusted(site, trusts), holds, why, short, anchor }
}

/// A credential that is accepted, by the authority with this subject or because its key is known.
struct Accepted {
    anchor: Option<String>,
}

/// Everyone must accept every credential. Returns the last reason, or the first refusal.
fn outcome(site: &Site<'_>, role: Role, presentation: &Presentation) -> Result<Accepted, String> {
    let Presentation { shows, trusts, dials } = presentation;
    let cases = site.shown(shows)?;
    let bases = site.trusted(trusts)?;
    let several = cases.len() > 1 || bases.len() > 1;
    let mut reason = Err("there is nobody to ask".to_owned());
    for case in &cases {
        for basis in &bases {
            let names = site.names(dials, basis)?;
            let checked = accepted(case, basis, role, dials, names.as_deref());
            let place = || if bases.len() > 1 { &basis.from } else { &case.from };
            let refused = |why| if several { format!("{}: {why}", place()) } else { why };
            reason = Ok(checked.map_err(refused)?);
        }
    }
    reason
}

fn accepted(
    case: &Case,
    basis: &Basis,
    role: Role,
    dials: &DialedName,
    names: Option<&[String]>,
) -> Result<Accepted, String> {
    let by = |anchor: String| Accepted { anchor: Some(anchor) };
    match (&case.what, &basis.what) {
        (What::Key(key), Accepts::Keys(all)) => token(key, all),
        (What::Leaf(chain), Accepts::Authorities { all, to_root }) => {
            let Some((leaf, sent)) = chain.split_first() else { return Err("nothing is shown".into()) };
            purpose(leaf, role)?;
            named(leaf, dials, names)?;
            let anchor = path(leaf, sent, all, *to_root);
            anchor.map(by).ok_or_else(|| refusal(leaf, all, *to_root))
        }
        (What::Signer { chain, sent }, Accepts::Authorities { all, to_root }) => {
            let Some((signer, above)) = chain.split_first() else { return Err("nothing is shown".into()) };
            if !signer.may_sign() {
                return Err(format!("`{}` may not sign certificates", signer.subject()));
            }
            // Operators send the authority along with server certificates, but not with client certificates.
            let anchor = match *sent && role != Role::Client {
                true => anchored(signer, 0, above, all, *to_root),
                false => all.iter().any(|one| same(one, signer)).then(|| signer.subject()),
            };
            let missing = || format!("`{}`, which signs it, is not vouched for", signer.subject());
            anchor.map(by).ok_or_else(missing)
        }
        (_, Accepts::Authorities { .. }) => Err("a key is shown where a certificate must be".into()),
        (_, Accepts::Keys(_)) => Err("it has a public key where authorities must be".into()),
    }
}

fn token(key: &PrivateKey, all: &[String]) -> Result<Accepted, String> {
    let public = key.public_pem();
    match all.iter().any(|one| one.trim() == public.trim()) {
        true => Ok(Accepted { anchor: None }),
        false => Err("it does not have the public half of the key".into()),
    }
}

fn purpose(leaf: &Certificate, role: Role) -> Result<(), String> {
    let lacks = |what| Err(format!("`{}` is not for {what}", leaf.subject()));
    match role {
        Role::Client | Role::Peer if !leaf.is_client() => lacks("clients"),
        Role::Server | Role::Peer if !leaf.is_server() => lacks("servers"),
        _ => Ok(()),
    }
}

fn named(leaf: &Certificate, dials: &DialedName, names: Option<&[String]>) -> Result<(), String> {
    let Some(names) = names else { return Ok(()) };
    if let DialedName::Allowed(FlagOf { flag, .. }) = dials {
        let known = leaf.common_name().is_some_and(|own| names.iter().any(|name| name == own));
        return known.then_some(()).ok_or_else(|| format!("`{}` is not in `--{flag}`", leaf.subject()));
    }
    let covers = |name: &&String| match name.parse::<IpAddr>() {
        Ok(address) => leaf.ips().contains(&address),
        Err(_) => leaf.dns().contains(name),
    };
    match names.iter().find(|name| !covers(name)) {
        Some(name) => Err(format!("`{}` is not for `{name}`", leaf.subject())),
        None => Ok(()),
    }
}

fn refusal(leaf: &Certificate, all: &[Certificate], to_root: bool) -> String {
    match all.iter().any(|one| leaf.is_issued_by(one)) {
        true if to_root => format!("it has `{}`, and not the root above it", leaf.issuer()),
        true => format!("it has `{}`, which may not vouch for it", leaf.issuer()),
        false => format!("`{}` is signed by `{}`, which is not in it", leaf.subject(), leaf.issuer()),
    }
}

/// The authority that ends a chain from a leaf.
fn path(leaf: &Certificate, sent: &[Certificate], all: &[Certificate], to_root: bool) -> Option<String> {
    let above = all.iter().chain(sent).filter(|one| leaf.is_issued_by(one));
    above.into_iter().find_map(|one| anchored(one, 0, sent, all, to_root))
}

/// The authority that ends a chain from this certificate, which has so many authorities below it.
fn anchored(
    authority: &Certificate,
    below: usize,
    sent: &[Certificate],
    all: &[Certificate],
    to_root: bool,
) -> Option<String> {
    let has_room = authority.path_length().is_none_or(|length| usize::from(length) >= below);
    if !authority.may_sign() || !has_room || below > DEPTH {
        return None;
    }
    let is_in = all.iter().any(|one| same(one, authority));
    let is_root = authority.is_issued_by(authority);
    if is_in && (is_root || !to_root) {
        return Some(authority.subject());
    }
    if is_root {
        return None;
    }
    let above = all.iter().chain(sent).filter(|one| authority.is_issued_by(one));
    above.into_iter().find_map(|one| anchored(one, below + 1, sent, all, to_root))
}

/// The same authority, possibly with other dates.
fn same(one: &Certificate, other: &Certificate) -> bool {
    one == other || (one.subject() == other.subject() && one.public_pem() == other.public_pem())
}

/// The credential, in words.
fn shown(site: &Site<'_>, shows: &Credential) -> String {
    match shows {
        Credential::Flags(PairFlags { pod, certificate: flag, .. })
        | Credential::Key(FlagOf { pod, flag }) => flagged(site, pod, flag),
        Credential::Kubeconfigs(which) => format!("client-certificate-data in {}", files(site, which)),
        Credential::Object(object) => object.to_string(),
        Credential::SignedBy(object) => format!("what {object} signs"),
        Credential::SignedByFlag(FlagOf { pod, flag }) => format!("what {} signs", flagged(site, pod, flag)),
    }
}

/// The trust anchor, in words.
fn trusted(site: &Site<'_>, trusts: &Anchor) -> String {
    match trusts {
        Anchor::Flag(FlagOf { pod, flag })
        | Anchor::FlagToRoot(FlagOf { pod, flag })
        | Anchor::Keys(FlagOf { pod, flag }) => flagged(site, pod, flag),
        Anchor::Kubeconfigs(which) => format!("certificate-authority-data in {}", files(site, which)),
        Anchor::Object(object) => object.to_string(),
        Anchor::FileToRoot(path) => path.clone(),
        Anchor::Kubelets => "clientCAFile in /etc/kubernetes/kubelet.conf of every node".into(),
    }
}

fn flagged(site: &Site<'_>, pod: &str, flag: &str) -> String {
    match site.flag_paths(pod, flag) {
        Ok(paths) => format!("{pod} --{flag} {}", paths.join(" and ")),
        Err(_) => format!("{pod} --{flag}"),
    }
}

fn files(site: &Site<'_>, which: &Kubeconfigs) -> String {
    match which {
        Kubeconfigs::Named(names) | Kubeconfigs::Masters(names) => {
            let names = names.iter().map(|name| format!("{name}.kubeconfig"));
            names.collect::<Vec<_>>().join(", ")
        }
        Kubeconfigs::Flagged(pods) => {
            let flags = pods.iter().map(|pod| flagged(site, pod, "kubeconfig"));
            flags.collect::<Vec<_>>().join(" and ")
        }
        Kubeconfigs::Joining => "/etc/kubernetes/kubeconfig of every node".into(),
    }
}
