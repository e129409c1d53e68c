//! Until when operators adopt a handed-over authority: they replace an older one on first sight, and clients that trust
//! ours do not trust theirs.
//!
//! An operator rotates at 80 % of an authority's life, or at a fixed age, whichever comes first. It reads the
//! annotations of the Secret, and so do we.

use schemars::JsonSchema;
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
use crate::openshift::knowledge::{HandOver, HandedOver, Release, Signer, SignerFields};
use crate::openshift::trust::is_object;

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Adoption {
    /// Namespace and name of the Secret.
    pub object: String,
    pub operator: String,
    pub derivation: String,
    pub authority: String,
    pub adopted_until: String,
    /// Negative if that is past.
    pub hours_left: i64,
    #[serde(skip)]
    pub(super) until: OffsetDateTime,
}

/// Every authority that these outputs hand over, the soonest to be replaced first.
pub(super) fn adoptions(
    store: &Store,
    outputs: &[Output<'_>],
    (table, release): (&HandOver, Option<Release>),
    now: OffsetDateTime,
) -> Result<Vec<Adoption>> {
    let signers = table.signers(release);
    let mut found = Vec::new();
    for Output { name: derivation, object, .. } in outputs {
        if !derivation.starts_with("hand-over/") {
            continue;
        }
        let object = store.object(*object)?;
        for (path, _) in object.listing.leaves("").filter(|(path, _)| yaml::is_manifest(path)) {
            let text = fs::read_text(&object.path.join(path))?;
            let documents = yaml::documents(Source { name: path, text: &text }, &mut Problems::default());
            for (row, signer) in &signers {
                let says = |document| adoption(document, row, *signer, table);
                found.extend(documents.iter().filter_map(says).map(|(until, authority)| Adoption {
                    object: row.name.clone(),
                    operator: row.operator.clone(),
                    derivation: (*derivation).to_owned(),
                    authority,
                    adopted_until: rfc3339(until),
                    hours_left: (until - now).whole_hours(),
                    until,
                }));
            }
        }
    }
    found.sort_by(|one, other| (one.until, &one.object).cmp(&(other.until, &other.object)));
    Ok(found)
}

/// Until when a document's authority is adopted, and its name, if it is this signer. The check `signers-rsa` reports
/// missing annotations.
fn adoption(
    document: &YamlNode,
    row: &HandedOver,
    signer: Signer,
    table: &HandOver,
) -> Option<(OffsetDateTime, String)> {
    if !is_object(document, &row.kind, &row.name) {
        return None;
    }
    let says = |name: &str| document.get("metadata")?.get("annotations")?.get(name)?.text();
    let time = |name: &str| OffsetDateTime::parse(says(name)?, &Rfc3339).ok();
    let SignerFields { not_before, not_after, issuer, .. } = &table.signers;
    let age = Duration::days(signer.rotated_after_days);
    Some((until(time(not_before)?, time(not_after)?, age), says(issuer)?.to_owned()))
}

/// The time at which the operator rotates.
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
