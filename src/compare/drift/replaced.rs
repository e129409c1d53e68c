//! What operators do to the certificates that they adopted: they replace a signer when it is old, re-issue what it signed, and
//! add new authorities to bundles. That is expected; anything else is drift.
//!
//! | object | expected if |
//! |---|---|
//! | Secret with a certificate and its key | the live certificate is newer and valid, and its key belongs to it |
//! | ConfigMap with a bundle | every authority of ours is still in it unless it has expired, and each further one is a signer's of the cluster or issued by one of ours |

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use time::OffsetDateTime;
use zeroize::Zeroizing;

use crate::base::pki::{Certificate, PrivateKey};
use crate::base::time::rfc3339;
use crate::openshift::knowledge::{HandedOver, SignerFields};

/// The keys of a Secret of type `kubernetes.io/tls`.
const CERTIFICATE: &str = "tls.crt";
const KEY: &str = "tls.key";

/// Fields of an object that may differ, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Replaced {
    /// Paths with dots.
    pub(super) fields: Vec<String>,
    pub(super) why: String,
}

/// The authorities that a bundle may contain beyond ours.
#[derive(Debug, Default)]
pub(super) struct Authorities {
    /// Of the closure.
    pub(super) ours: Vec<Certificate>,
    /// Of the Secrets that operators sign with now.
    pub(super) signers: Vec<Certificate>,
    /// How operators name their signers: `namespace_name`, before an `@` and the time.
    pub(super) names: BTreeSet<String>,
}

impl Authorities {
    fn knows(&self, certificate: &Certificate) -> bool {
        let is_it = |one: &Certificate| one.fingerprint() == certificate.fingerprint();
        let name = certificate.common_name().and_then(|name| name.split_once('@')).map(|(name, _)| name);
        self.signers.iter().chain(&self.ours).any(|one| is_it(one) || certificate.is_issued_by(one))
            || name.is_some_and(|name| self.names.contains(name))
    }
}

/// Why the certificates of an object that an operator adopted are others; none if nothing explains it.
pub(super) fn explained(
    row: &HandedOver,
    signers: &SignerFields,
    (ours, live): (&Value, &Value),
    authorities: &Authorities,
    now: OffsetDateTime,
) -> Option<Replaced> {
    match row.kind.as_str() {
        "Secret" => reissued(row, signers, ours, live, now),
        _ => extended(row, ours, live, authorities, now),
    }
}

fn reissued(
    row: &HandedOver,
    signers: &SignerFields,
    ours: &Value,
    live: &Value,
    now: OffsetDateTime,
) -> Option<Replaced> {
    let (mine, theirs) = (certificate(ours)?, certificate(live)?);
    let key = Zeroizing::new(String::from_utf8(data(live, KEY)?).ok()?);
    let key = PrivateKey::from_pem(&key).ok()?;
    let is_good =
        theirs.not_before() > mine.not_before() && theirs.not_after() > now && theirs.belongs_to(&key);
    let annotations = [&signers.not_before, &signers.not_after, &signers.issuer];
    let annotations = annotations.map(|name| format!("metadata.annotations.{name}"));
    let data = [CERTIFICATE, KEY].map(|key| format!("data.{key}"));
    let since = rfc3339(theirs.not_before());
    let why = match row.signer {
        Some(signer) => format!(
            "the {} operator: it makes a new signer after {} days, this one on {since}",
            row.operator, signer.rotated_after_days
        ),
        None => format!("the {} operator: it re-issued this certificate on {since}", row.operator),
    };
    is_good.then(|| Replaced { fields: annotations.into_iter().chain(data).collect(), why })
}

fn extended(
    row: &HandedOver,
    ours: &Value,
    live: &Value,
    authorities: &Authorities,
    now: OffsetDateTime,
) -> Option<Replaced> {
    let bundle = |object: &Value, key: &str| {
        let pem = object["data"][key].as_str()?;
        Certificate::chain_from_pem(pem).ok().filter(|found| !found.is_empty())
    };
    let mut fields = Vec::new();
    for key in &row.keys {
        let (Some(mine), Some(theirs)) = (bundle(ours, key), bundle(live, key)) else { continue };
        let has = |one: &Certificate| theirs.iter().any(|found| found.fingerprint() == one.fingerprint());
        let kept = mine.iter().all(|one| has(one) || one.not_after() <= now);
        if !kept || !theirs.iter().all(|one| authorities.knows(one)) {
            return None;
        }
        fields.push(format!("data.{key}"));
    }
    let why =
        format!("the {} operator: bundles get the authorities of new signers, and keep ours", row.operator);
    (!fields.is_empty()).then_some(Replaced { fields, why })
}

/// The certificate of a Secret.
pub(super) fn certificate(secret: &Value) -> Option<Certificate> {
    let pem = String::from_utf8(data(secret, CERTIFICATE)?).ok()?;
    Certificate::chain_from_pem(&pem).ok()?.into_iter().next()
}

fn data(secret: &Value, key: &str) -> Option<Vec<u8>> {
    STANDARD.decode(secret["data"][key].as_str()?).ok()
}
