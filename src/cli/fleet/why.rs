//! `fleet why`: what would be built of which sites, and because of what. Sites with the same causes are one group.

use std::collections::BTreeMap;
use std::process::ExitCode;

use schemars::JsonSchema;
use serde::Serialize;

use super::build::{FleetRun, Request};
use super::open::{Opened, Selection};
use super::outcome::{self, ErrorGroup, ErrorGroups, SiteEvents, SiteReport};
use super::run;
use crate::base::event::Event;
use crate::cli::arguments::Jobs;
use crate::cli::document::{Document, Documented};
use crate::cli::output::{Colour, count, line, stdout_paint};
use crate::cli::why::{self, Status, Why};
use crate::cli::{Error, Printer, Result};
use crate::openshift::fleet::{FLEET, Layered, Site, SiteKind, rendered};
use crate::openshift::workspace::{Env, Missing};

/// Sites that a group names for people.
const NAMED: usize = 5;

/// Explain what would be built of which sites; sites with the same causes are one group
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tinderbox -C fleet fleet why                 after an edit: which sites it reaches, and how
  tinderbox -C fleet fleet why ignition --group edge
  tinderbox -C fleet --site berlin why ignition/master-0")]
pub(in crate::cli) struct Args {
    /// A derivation or a folder of every site
    #[arg(default_value = "cluster")]
    target: String,
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    jobs: Jobs,
}

impl Documented for Args {
    const DOCUMENTS: &'static [Document] = &[Document::of::<FleetWhy>()];
}

#[derive(Debug, Serialize, JsonSchema)]
struct FleetWhy {
    target: String,
    /// Sites of which the target would be built, those of most sites first.
    groups: Vec<WhyGroup>,
    /// Number of sites that are as they were built.
    unchanged: usize,
    /// Why there is no answer for some sites.
    errors: Vec<ErrorGroup>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct WhyGroup {
    sites: Vec<String>,
    /// As it is for the first of them.
    why: Why,
}

impl Args {
    pub(in crate::cli) fn run(self, env: Env<'_>, printer: Printer<'_>) -> Result<ExitCode> {
        let opened = Opened::open(env, Missing::Imagine)?;
        let found = ask(env, &opened, &self)?;
        let code = printer.answer(&found, || found.show());
        outcome::explain(&found.errors);
        Ok(code)
    }
}

fn ask(env: Env<'_>, opened: &Opened, args: &Args) -> Result<FleetWhy> {
    let Args { target, selection, jobs } = args;
    let sites = opened.select(selection)?;
    let request = Request {
        targets: &[],
        selection,
        jobs: jobs.count(),
        keep_going: true,
        names: false,
        dry_run: true,
        keep: false,
    };
    let run = FleetRun::new(env, opened, &request)?;
    env.events.emit(Event::Planned { total: sites.len(), cached: 0 });
    let mut groups: BTreeMap<String, WhyGroup> = BTreeMap::new();
    let (mut unchanged, mut errors) = (0, ErrorGroups::default());
    let why = |site: &&Site| why_of(env, opened, &run, site, target);
    run::each(&sites, request.jobs, env.cancel, why, |site, found| {
        let name = site.name.clone();
        env.events.emit(Event::Cached { name: name.clone(), source: "store" });
        match found {
            Ok(None) => unchanged += 1,
            Ok(Some(why)) => {
                let group = groups.entry(key(&why, &name));
                group.or_insert_with(|| WhyGroup { sites: Vec::new(), why }).sites.push(name);
            }
            Err(error) => drop(errors.add(&SiteReport::failed(&name, &error))),
        }
        true
    });
    if env.cancel.is_set() {
        return Err(Error::Stopped);
    }
    let mut groups: Vec<WhyGroup> = groups.into_values().collect();
    groups.iter_mut().for_each(|group| group.sites.sort_unstable());
    groups.sort_by(|one, other| (other.sites.len(), &one.sites).cmp(&(one.sites.len(), &other.sites)));
    Ok(FleetWhy { target: target.clone(), groups, unchanged, errors: errors.into_groups() })
}

/// Why a site's target would be built; none if it would not.
fn why_of(
    env: Env<'_>,
    opened: &Opened,
    run: &FleetRun<'_>,
    site: &Site,
    target: &str,
) -> Result<Option<Why>> {
    let events = SiteEvents { of_fleet: env.events, warnings: run.warnings(), site: &site.name };
    let env = Env { events: &events, ..env };
    let would = |why: Why| matches!(why.status, Status::Changed | Status::New).then_some(why);
    match &site.kind {
        SiteKind::Directory(path) => Ok(would(why::why(Env { directory: path, ..env }, target)?)),
        SiteKind::Layered(layered) => {
            let rendered = rendered(&opened.fleet, site, layered);
            if run.is_unchanged(&site.name, layered, &rendered) {
                return Ok(None);
            }
            let why = opened.within_layered(env, layered, rendered, |env| why::why(env, target))?;
            Ok(would(located(opened, layered, why)))
        }
    }
}

/// The causes at the places where the user wrote them.
fn located(opened: &Opened, layered: &Layered, mut why: Why) -> Why {
    for cause in &mut why.causes {
        for place in &mut cause.places {
            *place = opened.fleet.locate_place(layered, place.clone());
        }
    }
    why
}

/// What the sites of a group have in common: the same causes in the same places. Values of a table may differ: what counts is that
/// the same column changed.
fn key(why: &Why, site: &str) -> String {
    let mut key = format!("{:?}", why.status);
    for cause in &why.causes {
        let in_table = cause.places.iter().any(|place| place.file != FLEET);
        let places: Vec<String> = cause
            .places
            .iter()
            .map(|place| match in_table {
                true => format!("{} {}", place.file, place.field),
                false => place.to_string(),
            })
            .collect();
        let sides = if in_table { None } else { Some((&cause.from, &cause.to)) };
        key += &format!("\n{:?} {} {places:?} {sides:?}", cause.kind, cause.what);
    }
    key.replace(site, "\u{0}")
}

impl FleetWhy {
    fn show(&self) {
        for WhyGroup { sites, why } in &self.groups {
            let first = sites.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
            let more = match sites.len().saturating_sub(NAMED) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            line(stdout_paint(&format!("{}: {first}{more}", count(sites.len(), "site")), Colour::Cyan));
            why::show(why);
        }
        line(format!("{} unchanged", count(self.unchanged, "site")));
    }
}
