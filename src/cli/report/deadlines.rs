//! What ends when, in order: each row says what happens then and whom it concerns.

use std::collections::BTreeMap;

use serde::Serialize;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::cli::expiry::Expiry;

/// A point in time after which something no longer works.
#[derive(Debug, Serialize)]
pub(super) struct Deadline {
    pub(super) at: String,
    pub(super) kind: DeadlineKind,
    /// How long what ends was valid, in whole days; none for the last time to boot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) days: Option<i64>,
    /// The certificates, or the Secrets that are handed over.
    pub(super) names: Vec<String>,
}

/// In the order in which they are listed at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum DeadlineKind {
    /// A boot that begins later does not finish before the first certificate ends.
    Boot,
    /// What nodes join with ends; those that have joined do not need it.
    Joining,
    /// Operators replace these authorities on first sight from then on.
    HandOver,
    /// Certificates of servers and clients end.
    Certificates,
    /// Authorities end.
    Authorities,
}

/// All deadlines of a set, the next one first.
pub(super) fn deadlines(expiry: &Expiry) -> Vec<Deadline> {
    let mut groups: BTreeMap<(String, DeadlineKind, Option<i64>), Vec<String>> = BTreeMap::new();
    if let Some(until) = &expiry.boots_until {
        groups.entry((until.clone(), DeadlineKind::Boot, None)).or_default();
    }
    for one in &expiry.certificates {
        let kind = match () {
            () if one.authority => DeadlineKind::Authorities,
            () if one.is_for_joining() => DeadlineKind::Joining,
            () => DeadlineKind::Certificates,
        };
        let days = days(&one.not_before, &one.not_after);
        groups.entry((one.not_after.clone(), kind, days)).or_default().push(one.name.clone());
    }
    for one in &expiry.handed_over {
        let group = (one.adopted_until.clone(), DeadlineKind::HandOver, None);
        groups.entry(group).or_default().push(one.object.clone());
    }
    // Times are UTC in one format: they sort as text.
    groups.into_iter().map(|((at, kind, days), names)| Deadline { at, kind, days, names }).collect()
}

fn days(from: &str, to: &str) -> Option<i64> {
    let parse = |text: &str| OffsetDateTime::parse(text, &Rfc3339).ok();
    Some((parse(to)? - parse(from)?).whole_days())
}
