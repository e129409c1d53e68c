//! `expiry`: every certificate of an artifact set, the soonest to expire first, until when the set can still boot, and
//! until when operators adopt the handed-over authorities.
//!
//! Reads the clock, which derivations never do.

use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use time::{Duration, OffsetDateTime};

use super::adoption::{Adoption, adoptions};
use super::document::{Document, Documented};
use super::output::{Colour, line, stdout_paint, table};
use super::{Error, Printer, Result};
use crate::base::digest::ObjectId;
use crate::base::event::Event;
use crate::base::fs;
use crate::base::pki::Certificate;
use crate::base::time::{numbers, rfc3339};
use crate::engine::exec::Done;
use crate::engine::recipe::NodeIndex;
use crate::engine::store::Store;
use crate::openshift::knowledge::{HandOver, Release};
use crate::openshift::workspace::{self, Env, Missing, Workspace, this_second};

/// Maximum duration of a boot, from the first machine to the last operator: a set that expires sooner is useless.
const BOOT: Duration = Duration::hours(2);
/// `build` warns if less than this is left.
const SOON: Duration = Duration::hours(24);
/// What is valid for less is for joining only: a running cluster does without it.
const JOINING: Duration = Duration::days(30);
/// Builders whose outputs are certificates.
const BUILDERS: [&str; 2] = ["authority", "certificate"];

/// List all certificates, the first to expire first, and say how long the artifacts can still boot
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tinderbox expiry
  tinderbox expiry installer-tls --json")]
pub(super) struct Args {
    /// Derivations or folders of them; default: cluster
    #[arg(add = super::complete::target())]
    targets: Vec<String>,
}

impl Documented for Args {
    const DOCUMENTS: &'static [Document] = &[Document::of::<Expiry>()];
}

impl Args {
    pub(super) fn run(self, env: Env<'_>, printer: Printer<'_>) -> Result<ExitCode> {
        let found = expiry(env, &self.targets)?;
        Ok(printer.answer(&found, || show(&found)))
    }
}

fn show(expiry: &Expiry) {
    let rows = expiry.certificates.iter().map(|one| {
        let left = match one.hours_left {
            hours if hours < 0 => stdout_paint("ended", Colour::Red),
            hours @ 0..48 => stdout_paint(&format!("{hours} h"), Colour::Yellow),
            hours => format!("{} d", hours / 24),
        };
        let kind = if one.authority { "authority" } else { "" };
        vec![one.not_after.clone(), left, one.name.clone(), kind.to_owned(), one.subject.clone()]
    });
    table(&["ENDS", "LEFT", "CERTIFICATE", "", "SUBJECT"], &rows.collect::<Vec<_>>());
    match (&expiry.boots_until, expiry.expired) {
        (None, _) => line("there are no certificates"),
        (Some(until), true) => {
            let text = format!(
                "These artifacts could boot until {until}; that is past. `tinderbox renew` moves the dates."
            );
            line(stdout_paint(&text, Colour::Red));
        }
        (Some(until), false) => line(format!("These artifacts can boot until {until}.")),
    }
    show_handed_over(&expiry.handed_over);
}

/// Handed-over authorities, and until when they are adopted.
fn show_handed_over(adoptions: &[Adoption]) {
    let Some(first) = adoptions.first() else { return };
    line("");
    let rows = adoptions.iter().map(|one| {
        let left = match one.hours_left {
            hours if hours < 0 => stdout_paint("past", Colour::Red),
            hours @ 0..48 => stdout_paint(&format!("{hours} h"), Colour::Yellow),
            hours => format!("{} d", hours / 24),
        };
        vec![one.adopted_until.clone(), left, one.object.clone(), one.authority.clone()]
    });
    table(&["ADOPTED UNTIL", "LEFT", "OBJECT", "AUTHORITY"], &rows.collect::<Vec<_>>());
    let text = format!(
        "Operators adopt all of them unchanged until {}; `tinderbox renew` moves the dates.",
        first.adopted_until
    );
    line(if first.hours_left < 0 { stdout_paint(&text, Colour::Red) } else { text });
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Expiry {
    /// By the machine's clock.
    pub now: String,
    /// The time after which this set cannot finish a boot; none without certificates.
    pub boots_until: Option<String>,
    pub expired: bool,
    /// The soonest to expire first.
    pub certificates: Vec<Row>,
    /// The soonest to be replaced first.
    pub handed_over: Vec<Adoption>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Row {
    /// The file's name, or the subject for a certificate in a user's chain.
    pub name: String,
    pub derivation: String,
    pub subject: String,
    pub issuer: String,
    pub authority: bool,
    pub not_before: String,
    pub not_after: String,
    /// Negative if it has expired.
    pub hours_left: i64,
    #[serde(skip)]
    ends: OffsetDateTime,
    #[serde(skip)]
    begins: OffsetDateTime,
}

impl Row {
    /// Whether only nodes that join need it: it ends with the joining.
    pub(super) fn is_for_joining(&self) -> bool {
        !self.authority && self.ends - self.begins <= JOINING
    }
}

/// Lists the certificates of these targets; by default, those of `cluster`.
fn expiry(env: Env<'_>, targets: &[String]) -> Result<Expiry> {
    let workspace = Workspace::load(env, Missing::Imagine)?;
    let selected = workspace.select(targets)?;
    let not_built = |at: Option<&NodeIndex>| Error::NotBuilt {
        target: at.map_or_else(String::new, |at| workspace.graph.nodes()[*at].name.clone()),
    };
    let store = workspace::open_store_if_there(env.store, workspace.directory.path())?;
    let store = store.ok_or_else(|| not_built(selected.first()))?;
    let plan = workspace.plan(env, &store, &selected)?;
    let missing = plan.missing.iter().find(|at| is_certificate(&workspace, **at));
    if missing.is_some() {
        return Err(not_built(missing));
    }
    of(&store, &outputs(&workspace, &plan.done), workspace.hand_over()?)
}

/// The dates of these outputs, with the tables of their release.
pub(super) fn of(
    store: &Store,
    outputs: &[Output<'_>],
    known: (&HandOver, Option<Release>),
) -> Result<Expiry> {
    let now = this_second();
    let certificates = rows(store, outputs, now)?;
    let until = certificates.first().map(boots_until);
    Ok(Expiry {
        now: rfc3339(now),
        boots_until: until.map(rfc3339),
        expired: until.is_some_and(|until| until < now),
        certificates,
        handed_over: adoptions(store, outputs, known, now)?,
    })
}

/// The output of a derivation.
pub(super) struct Output<'a> {
    pub(super) name: &'a str,
    /// The kind of its builder.
    pub(super) builder: &'a str,
    pub(super) object: ObjectId,
}

fn outputs<'a>(workspace: &'a Workspace, done: &BTreeMap<NodeIndex, Done>) -> Vec<Output<'a>> {
    let nodes = workspace.graph.nodes();
    let output = |(at, done): (&NodeIndex, &Done)| {
        let node = &nodes[*at];
        Output { name: &node.name, builder: &node.builder.0, object: done.output.object }
    };
    done.iter().map(output).collect()
}

/// The dates of a set that decide until when it can be used.
#[derive(Debug, Default)]
pub(super) struct Dates {
    /// Until when it can finish a boot, and the certificate that says so.
    pub boots_until: Option<(String, String)>,
    /// Until when operators adopt what they are handed.
    pub adopted_until: Option<String>,
}

/// The first dates of what was just built or found.
pub(super) fn dates(workspace: &Workspace, store: &Store, done: &BTreeMap<NodeIndex, Done>) -> Result<Dates> {
    let Dated { certificates, handed_over } = Dated::of(workspace, store, done)?;
    Ok(Dates {
        boots_until: certificates.first().map(|first| (rfc3339(first.ends - BOOT), first.name.clone())),
        adopted_until: handed_over.first().map(|first| rfc3339(first.until)),
    })
}

/// What has ended in a set.
#[derive(Debug, Default)]
pub(super) struct Ended {
    /// The time until which it could finish a boot, if that is past.
    pub booted_until: Option<String>,
    /// Whether a certificate has ended that a running cluster has too, and not only those that nodes join with.
    pub beyond_joining: bool,
}

/// Everything of a set that has a date, the soonest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Dated {
    certificates: Vec<DatedCertificate>,
    handed_over: Vec<DatedAuthority>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct DatedCertificate {
    name: String,
    #[serde(with = "numbers")]
    begins: OffsetDateTime,
    #[serde(with = "numbers")]
    ends: OffsetDateTime,
}

/// A Secret with an authority, and until when operators adopt it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct DatedAuthority {
    object: String,
    #[serde(with = "numbers")]
    until: OffsetDateTime,
}

impl Dated {
    /// The dates of what was just built or found.
    pub(super) fn of(workspace: &Workspace, store: &Store, done: &BTreeMap<NodeIndex, Done>) -> Result<Self> {
        // What is left does not matter here.
        let now = OffsetDateTime::UNIX_EPOCH;
        let outputs = outputs(workspace, done);
        let handed_over = adoptions(store, &outputs, workspace.hand_over()?, now)?;
        let certificates = rows(store, &outputs, now)?;
        let dated = |row: Row| DatedCertificate { name: row.name, begins: row.begins, ends: row.ends };
        let authority = |one: Adoption| DatedAuthority { object: one.object, until: one.until };
        Ok(Self {
            certificates: certificates.into_iter().map(dated).collect(),
            handed_over: handed_over.into_iter().map(authority).collect(),
        })
    }
}

/// Warns if a set is about to expire or not valid yet.
pub(super) fn warn(env: Env<'_>, dated: &Dated, now: OffsetDateTime) -> Ended {
    warn_of_age(env, &dated.handed_over, now);
    let rows = &dated.certificates;
    let Some(first) = rows.first() else { return Ended::default() };
    let until = first.ends - BOOT;
    let booted_until = (until < now).then(|| rfc3339(until));
    let warn = |text| env.events.emit(Event::Warning { text });
    // Those for joining end first, and nodes that have joined need none: they must not hide the end of another.
    let (ended, valid): (Vec<_>, Vec<_>) = rows.iter().partition(|row| row.ends <= now);
    if let Some(first) = ended.first() {
        warn(format!("{} expired at {}: run `tinderbox renew`", named(&ended), rfc3339(first.ends)));
    }
    if let Some(next) = valid.first().filter(|next| next.ends - now < SOON) {
        let left = (next.ends - now).whole_hours();
        let (name, at) = (&next.name, rfc3339(next.ends));
        warn(format!("the certificate `{name}` expires in {left} h, at {at}: run `tinderbox renew`"));
    }
    if let Some(early) = rows.iter().find(|row| row.begins > now) {
        let (name, at) = (&early.name, rfc3339(early.begins));
        warn(format!("the certificate `{name}` is not valid before {at}: is the clock right?"));
    }
    let beyond_joining = ended.iter().any(|row| row.ends - row.begins > JOINING);
    Ended { booted_until, beyond_joining }
}

/// The first of these certificates, and how many more there are.
fn named(rows: &[&DatedCertificate]) -> String {
    let first = rows.first().map_or("", |row| row.name.as_str());
    match rows.len() {
        0 | 1 => format!("the certificate `{first}`"),
        count => format!("the certificate `{first}` and {} more", count - 1),
    }
}

/// Until when a set can finish a boot, by the certificate that expires first.
fn boots_until(first: &Row) -> OffsetDateTime {
    first.ends - BOOT
}

/// Warns if operators would replace the authorities, should it boot now.
fn warn_of_age(env: Env<'_>, handed_over: &[DatedAuthority], now: OffsetDateTime) {
    let late: Vec<_> = handed_over.iter().filter(|one| one.until - now < BOOT).collect();
    let Some(first) = late.first() else { return };
    let names: Vec<&str> = late.iter().filter_map(|one| one.object.rsplit('/').next()).collect();
    let text = format!(
        "operators will replace what they are handed ({}), because they adopt it only until {}; run `tinderbox renew` before the boot",
        names.join(", "),
        rfc3339(first.until)
    );
    env.events.emit(Event::Warning { text });
}

fn is_certificate(workspace: &Workspace, at: NodeIndex) -> bool {
    BUILDERS.contains(&workspace.graph.nodes()[at].builder.0.as_str())
}

/// Every certificate once, sorted.
fn rows(store: &Store, outputs: &[Output<'_>], now: OffsetDateTime) -> Result<Vec<Row>> {
    let mut seen = BTreeSet::new();
    let mut rows = Vec::new();
    // Certificates with a file of their own come before those in another's bundle, so that each gets its own name.
    let mut behind = Vec::new();
    for output in outputs.iter().filter(|output| BUILDERS.contains(&output.builder)) {
        let derivation = output.name;
        let object = store.object(output.object)?;
        for (path, _) in object.listing.leaves("").filter(|(path, _)| path.ends_with(".crt")) {
            let text = fs::read_text(&object.path.join(path))?;
            let unreadable = |source| Error::Certificate { derivation: derivation.to_owned(), source };
            let mut chain = Certificate::chain_from_pem(&text).map_err(unreadable)?.into_iter();
            if !path.ends_with("-bundle.crt")
                && let Some(first) = chain.next().filter(|first| seen.insert(first.fingerprint()))
            {
                rows.push(row(path.trim_end_matches(".crt").to_owned(), derivation, &first, now));
            }
            behind.extend(chain.map(|one| (derivation, one)));
        }
    }
    for (derivation, one) in behind {
        if seen.insert(one.fingerprint()) {
            rows.push(row(one.subject(), derivation, &one, now));
        }
    }
    rows.sort_by(|one, other| (one.ends, &one.name).cmp(&(other.ends, &other.name)));
    Ok(rows)
}

fn row(name: String, derivation: &str, certificate: &Certificate, now: OffsetDateTime) -> Row {
    Row {
        name,
        derivation: derivation.to_owned(),
        subject: certificate.subject(),
        issuer: certificate.issuer(),
        authority: certificate.is_authority(),
        not_before: rfc3339(certificate.not_before()),
        not_after: rfc3339(certificate.not_after()),
        hours_left: (certificate.not_after() - now).whole_hours(),
        ends: certificate.not_after(),
        begins: certificate.not_before(),
    }
}
