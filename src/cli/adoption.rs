//! Until when operators adopt an authority that they are handed: one that is older they replace on first sight, and what
//! trusts ours does not trust theirs.
//!
//! An operator rotates at 80 % of an authority's life, or at an age of its own, whichever comes first. It goes by the
//! annotations of the Secret, and so does this: what it will read is what is shown.

use serde::Serialize;
use time::format_description::well_known::Rfc3339;
use time::{Duration, OffsetDateTime};

use super::Result;
use super::expiry::Output;
use crate::base::fs;
use crate::base::hint::Problems;
use crate::base::time::rfc3339;
use crate::base::yaml::{self, Source, YamlNode};
use crate::engine::store::Store;

/// The ages in days, by Secret.
const AGES: [(&str, i64); 8] = [
    ("aggregator-client-signer", 15),
    ("csr-signer-signer", 30),
    ("etcd-signer", 1533),
    ("kube-apiserver-to-kubelet-signer", 292),
    ("kube-control-plane-signer", 30),
    ("loadbalancer-serving-signer", 2920),
    ("localhost-serving-signer", 2920),
    ("service-network-serving-signer", 2920),
];

/// An authority that is handed over.
#[derive(Debug, Serialize)]
pub(crate) struct Adoption {
    /// The Secret: namespace and name.
    pub object: String,
    /// The derivation that has it.
    pub derivation: String,
    /// The authority's common name.
    pub authority: String,
    /// Until when it is adopted unchanged.
    pub adopted_until: String,
    /// Hours from now until then; negative if that is past.
    pub hours_left: i64,
    #[serde(skip)]
    pub(super) until: OffsetDateTime,
}

/// Every authority that these outputs hand over, the soonest to be replaced first.
pub(super) fn adoptions(store: &Store, outputs: &[Output<'_>], now: OffsetDateTime) -> Result<Vec<Adoption>> {
    let mut found = Vec::new();
    for Output { name: derivation, object, .. } in outputs {
        if !derivation.starts_with("hand-over/") {
            continue;
        }
        let object = store.object(*object)?;
        for (path, _) in object.listing.leaves("").filter(|(path, _)| yaml::is_manifest(path)) {
            let text = fs::read_text(&object.path.join(path))?;
            let documents = yaml::documents(Source { name: path, text: &text }, &mut Problems::default());
            found.extend(documents.iter().filter_map(|document| adoption(document, derivation, now)));
        }
    }
    found.sort_by(|one, other| (one.until, &one.object).cmp(&(other.until, &other.object)));
    Ok(found)
}

/// What an object says, if it is one of them. One without its annotations is found by the check `signers-rsa`.
fn adoption(document: &YamlNode, derivation: &str, now: OffsetDateTime) -> Option<Adoption> {
    let metadata = document.get("metadata")?;
    let name = metadata.get("name")?.text()?;
    let (_, days) = AGES.into_iter().find(|(known, _)| *known == name)?;
    let says = |what: &str| {
        metadata.get("annotations")?.get(&format!("auth.openshift.io/certificate-{what}"))?.text()
    };
    let time = |what: &str| OffsetDateTime::parse(says(what)?, &Rfc3339).ok();
    let until = until(time("not-before")?, time("not-after")?, Duration::days(days));
    Some(Adoption {
        object: format!("{}/{name}", metadata.get("namespace")?.text()?),
        derivation: derivation.to_owned(),
        authority: says("issuer")?.to_owned(),
        adopted_until: rfc3339(until),
        hours_left: (until - now).whole_hours(),
        until,
    })
}

/// The end of youth.
fn until(begins: OffsetDateTime, ends: OffsetDateTime, age: Duration) -> OffsetDateTime {
    begins + age.min((ends - begins) * 4 / 5)
}

#[cfg(test)]
mod tests {
    use time::macros::datetime;

    use super::*;

    #[test]
    fn whichever_comes_first() {
        let begins = datetime!(2026-11-16 00:00 UTC);
        let age = Duration::days(30);
        assert_eq!(until(begins, begins + Duration::days(3650), age), begins + age);
        assert_eq!(until(begins, begins + Duration::days(10), age), begins + Duration::days(8));
    }
}
