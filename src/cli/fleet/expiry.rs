//! `fleet expiry`: until when the sites that are built can boot, the first to end first.

use std::process::ExitCode;

use schemars::JsonSchema;
use serde::Serialize;

use super::memo::Memos;
use super::open::{Opened, Selection};
use crate::base::time::rfc3339;
use crate::cli::document::{Document, Documented};
use crate::cli::output::{Colour, count, line, stdout_paint, table};
use crate::cli::{Printer, Result};
use crate::openshift::fleet::{RESULTS, SiteKind};
use crate::openshift::workspace::{self, Env, Missing, this_second};

/// List until when the sites can boot, the first to end first
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tinderbox -C fleet fleet expiry
  tinderbox -C fleet fleet expiry --json | jq '.sites[] | select(.expired)'
  tinderbox -C fleet --site berlin expiry      every certificate of one site

It says what was seen when the sites were built; those that are not built are counted.")]
pub(in crate::cli) struct Args {
    #[command(flatten)]
    selection: Selection,
}

impl Documented for Args {
    const DOCUMENTS: &'static [Document] = &[Document::of::<FleetExpiry>()];
}

#[derive(Debug, Serialize, JsonSchema)]
struct FleetExpiry {
    /// By the machine's clock.
    now: String,
    /// The first to end first.
    sites: Vec<SiteExpiry>,
    /// Sites that are not built, or directories of their own.
    unknown: Vec<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct SiteExpiry {
    site: String,
    generation: u64,
    /// The time after which the site cannot finish a boot; none without certificates.
    boots_until: Option<String>,
    /// The certificate that ends first.
    certificate: Option<String>,
    /// Until when operators adopt what is handed to them; none if nothing is.
    adopted_until: Option<String>,
    expired: bool,
}

impl Args {
    pub(in crate::cli) fn run(self, env: Env<'_>, printer: Printer<'_>) -> Result<ExitCode> {
        let opened = Opened::open(env, Missing::Unneeded)?;
        let memos = Memos::read(&opened.fleet.path.join(RESULTS), None, None)?;
        let store = workspace::open_store_if_there(env.store, &opened.fleet.path)?;
        let now = rfc3339(this_second());
        let mut expiry = FleetExpiry { now, sites: Vec::new(), unknown: Vec::new() };
        for site in opened.select(&self.selection)? {
            let link = opened.fleet.path.join(RESULTS).join(&site.name);
            let current = match &store {
                Some(store) => store.roots_of(&link).current_object()?,
                None => None,
            };
            let is_current = |memo: &&super::memo::Memo| current == Some((memo.generation, memo.object));
            let memo = memos.get(&site.name).filter(is_current);
            match memo.filter(|_| matches!(site.kind, SiteKind::Layered(_))) {
                None => expiry.unknown.push(site.name.clone()),
                Some(memo) => {
                    let (boots_until, certificate) = memo.boots_until.clone().unzip();
                    // Both are UTC in one form, so that they compare as texts.
                    let expired = boots_until.as_ref().is_some_and(|until| *until < expiry.now);
                    expiry.sites.push(SiteExpiry {
                        site: site.name.clone(),
                        generation: memo.generation,
                        boots_until,
                        certificate,
                        adopted_until: memo.adopted_until.clone(),
                        expired,
                    });
                }
            }
        }
        expiry
            .sites
            .sort_by(|one, other| (&one.boots_until, &one.site).cmp(&(&other.boots_until, &other.site)));
        Ok(printer.answer(&expiry, || show(&expiry)))
    }
}

fn show(expiry: &FleetExpiry) {
    let rows = expiry.sites.iter().map(|one| {
        let until = one.boots_until.clone().unwrap_or_default();
        let until = if one.expired { stdout_paint(&until, Colour::Red) } else { until };
        let certificate = one.certificate.clone().unwrap_or_default();
        vec![until, one.site.clone(), certificate, one.adopted_until.clone().unwrap_or_default()]
    });
    table(&["BOOTS UNTIL", "SITE", "CERTIFICATE", "ADOPTED UNTIL"], &rows.collect::<Vec<_>>());
    let expired = expiry.sites.iter().filter(|site| site.expired).count();
    if expired > 0 {
        line(stdout_paint(&format!("{} can boot no more", count(expired, "site")), Colour::Red));
    }
    if !expiry.unknown.is_empty() {
        line(format!("{} not built, or directories of their own", count(expiry.unknown.len(), "site")));
    }
}
