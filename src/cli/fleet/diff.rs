//! `fleet diff`: what a change does to the sites: those with the same change are one group with one comparison.

use std::collections::BTreeMap;
use std::process::ExitCode;

use super::build::{FleetRun, Request};
use super::open::{Opened, Selection};
use super::outcome::{ErrorGroup, ErrorGroups, SiteEvents, SiteReport};
use super::run;
use crate::base::event::Event;
use crate::base::fs;
use crate::base::hint::Place;
use crate::cli::arguments::Jobs;
use crate::cli::diff::{Format, SiteComparison, show_rows};
use crate::cli::document::{Document, Documented};
use crate::cli::output::{self, Colour, count, exit_code, stderr_line, stderr_paint};
use crate::cli::{Error, Printer, Result};
use crate::compare::diff::Diff;
use crate::compare::fleet::{
    Collector, FleetDiff, Found, NodePool, OwnValues, SharedError, SiteRow, rollout,
};
use crate::compare::report::{self, Detail};
use crate::openshift::config::{Cluster, Role};
use crate::openshift::fleet::{self, Layered, RESULTS, Site, SiteKind};
use crate::openshift::workspace::{ClusterDir, Env, Missing, Replacement, read_cluster};

/// Compare the sites as they were built with what the files say now, or two releases; sites with the same change are one group
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tinderbox -C fleet fleet diff                after an edit: what `fleet build` would change, and which nodes reboot
  tinderbox -C fleet fleet diff --release quay.io/openshift-release-dev/ocp-release:4.19.3-x86_64
  tinderbox -C fleet fleet diff --release demo:4.18 demo:4.19 --group edge --stat
  tinderbox -C fleet fleet diff --component machine-config-operator=./root
  tinderbox -C fleet fleet diff --target ignition --only 'de-*'
  tinderbox -C fleet fleet diff --html > fleet.html
                                               one file, for a browser: every site, to search, filter and sort
  tinderbox -C fleet fleet diff --json --stream | jq -c 'select(.site)'
  tinderbox -C fleet --site berlin diff result cluster
                                               one site, in whole

Waves are the groups of fleet.yaml, in the order in which they stand there; a site is in the wave of the first of its groups.
What the comparison builds stays in the store, where the next build finds it; results/ and generations stay as they are.
Secrets are masked. Exit codes: 0 the same, 1 different, 2 trouble; sites that could not be compared are trouble.")]
pub(in crate::cli) struct Args {
    #[command(flatten)]
    selection: Selection,
    /// Build the sites on two releases, and compare; with one, what each is locked to is the old one
    #[arg(long, num_args = 1..=2, value_name = "RELEASE")]
    release: Vec<String>,
    /// Compare the sites with a preview, in which a component has another image; as `diff` has it; may be repeated
    #[arg(long, value_name = "NAME=REF", conflicts_with = "release")]
    component: Vec<Replacement>,
    /// Only these derivations, or folders of them
    #[arg(long, value_name = "TARGET")]
    target: Vec<String>,
    /// How to write it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// The same as --format html
    #[arg(long, conflicts_with = "format")]
    html: bool,
    /// Sites, waves and the page of every change, without details
    #[arg(long)]
    summary: bool,
    /// The same, and one line per artifact with counts
    #[arg(long, conflicts_with_all = ["summary", "full"])]
    stat: bool,
    /// Every difference of every change
    #[arg(long, conflicts_with = "summary")]
    full: bool,
    /// With --json, print a line of JSON for every site as it is compared, before the document
    #[arg(long)]
    stream: bool,
    /// Never start a pager
    #[arg(long)]
    no_pager: bool,
    #[command(flatten)]
    jobs: Jobs,
}

impl Documented for Args {
    const DOCUMENTS: &'static [Document] =
        &[Document::of::<FleetDiff>(), Document::of::<SiteRow>().when("site", "--stream")];
}

impl Args {
    /// Exit codes are those of `diff`: 0 equal, 1 different; the caller handles 2, trouble.
    pub(in crate::cli) fn run(self, env: Env<'_>, printer: Printer<'_>) -> Result<ExitCode> {
        let format = match (printer.json, self.html) {
            (true, _) => Format::Json,
            (_, true) => Format::Html,
            _ => self.format,
        };
        let detail = match (self.summary, self.stat, self.full || !self.target.is_empty()) {
            (true, ..) => Detail::Nothing,
            (_, true, _) => Detail::Counts,
            (.., true) => Detail::Everything,
            _ => Detail::Folded,
        };
        let opened = Opened::open(env, Missing::Make)?;
        let found = compare(env, &opened, &self, &mut |row| {
            if self.stream
                && format == Format::Json
                && let Ok(text) = serde_json::to_string(row)
            {
                output::text(&format!("{text}\n"));
            }
        })?;
        env.events.settle();
        match format {
            Format::Json => output::json(&found),
            Format::Markdown => output::text(&report::fleet_markdown(&found)),
            Format::Html => output::text(&report::fleet_html(&found)),
            Format::Text => show_rows(&report::fleet_rows(&found, detail), self.no_pager),
        }
        for SharedError { error, hint, sites } in &found.errors {
            let which = match sites.as_slice() {
                [first, _, ..] => format!("{}, the first: {first}", count(sites.len(), "site")),
                _ => sites.join(", "),
            };
            stderr_line(format!("{} {error} ({which})", stderr_paint("error:", Colour::Red)));
            if let Some(hint) = hint {
                stderr_line(format!("{} {hint}", stderr_paint("hint:", Colour::Cyan)));
            }
        }
        Ok(match found.counts.failed {
            0 => exit_code(found.is_empty()),
            _ => ExitCode::from(2),
        })
    }
}

/// Compares the selected sites; `done` gets each as it is done.
fn compare(env: Env<'_>, opened: &Opened, args: &Args, done: &mut dyn FnMut(&SiteRow)) -> Result<FleetDiff> {
    let sites = opened.select(&args.selection)?;
    let jobs = args.jobs.count();
    let request = Request {
        targets: &[],
        selection: &args.selection,
        jobs,
        keep_going: true,
        names: false,
        dry_run: true,
        keep: false,
    };
    opened.ensure_lock(env, &sites);
    let run = FleetRun::new(env, opened, &request)?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs.max(1)).build().ok();
    let comparison =
        SiteComparison::new(args.release.clone(), args.component.clone(), args.target.clone(), (jobs, pool));
    env.events.emit(Event::Planned { total: sites.len(), cached: 0 });
    let removed = if args.selection.is_everything() && comparison.is_of_configuration() {
        removed(opened)?
    } else {
        Vec::new()
    };
    let rows = sites.iter().map(|site| (site.name.clone(), groups(site)));
    let rows = rows.chain(removed.iter().map(|name| (name.clone(), Vec::new()))).collect();
    let mut collector = Collector::new(rows, opened.fleet.group_order());
    let index: BTreeMap<&str, usize> =
        sites.iter().enumerate().map(|(at, site)| (site.name.as_str(), at)).collect();
    let mut errors = ErrorGroups::default();
    let of = |site: &&Site| site_of(env, opened, &run, &comparison, site);
    let left = run::each(&sites, jobs, env.cancel, of, |site, found| {
        env.events.emit(Event::Cached { name: site.name.clone(), source: "store" });
        let found = found.unwrap_or_else(|error| {
            drop(errors.add(&SiteReport::failed(&site.name, &error)));
            Found::Failed
        });
        if let Some(at) = index.get(site.name.as_str()) {
            done(collector.add(*at, found));
        }
        true
    });
    if env.cancel.is_set() || left > 0 {
        return Err(Error::Stopped);
    }
    for at in sites.len()..sites.len() + removed.len() {
        done(collector.add(at, Found::Removed));
    }
    let errors = errors.into_groups().into_iter();
    let errors = errors.map(|ErrorGroup { error, sites }| {
        let name = error.name.map(|name| format!("{name}: ")).unwrap_or_default();
        SharedError { error: name + &error.error, hint: error.hint, sites }
    });
    Ok(collector.finish(comparison.titles(), errors.collect()))
}

fn groups(site: &Site) -> Vec<String> {
    match &site.kind {
        SiteKind::Layered(layered) => layered.groups.clone(),
        SiteKind::Directory(_) => Vec::new(),
    }
}

/// Sites that were built, and are no longer in the fleet: their links are there until the next build.
fn removed(opened: &Opened) -> Result<Vec<String>> {
    let results = opened.fleet.path.join(RESULTS);
    let names = fs::optional(fs::list(&results))?.unwrap_or_default();
    let names = names.into_iter().filter_map(|name| name.into_string().ok());
    let is_gone = |name: &String| {
        !opened.fleet.sites.iter().any(|site| site.name == *name)
            && fs::metadata(&results.join(name)).is_ok_and(|found| found.is_symlink())
    };
    let mut gone: Vec<String> = names.filter(is_gone).collect();
    gone.sort();
    Ok(gone)
}

/// What differs at a site.
fn site_of(
    env: Env<'_>,
    opened: &Opened,
    run: &FleetRun<'_>,
    comparison: &SiteComparison,
    site: &Site,
) -> Result<Found> {
    let events = SiteEvents { of_fleet: env.events, warnings: run.warnings(), site: &site.name };
    let env = Env { events: &events, ..env };
    let found = |env: Env<'_>| -> Result<Option<(Diff, Vec<NodePool>)>> {
        let Some(diff) = comparison.of(env)? else { return Ok(None) };
        let directory = env.cluster_dir()?;
        let pools = match env.site {
            _ if diff.is_empty() => Vec::new(),
            Some(site) => pools(&directory, &site.cluster)?,
            None => pools(&directory, &read_cluster(&directory)?)?,
        };
        Ok(Some((diff, pools)))
    };
    match &site.kind {
        SiteKind::Directory(path) => {
            let own = OwnValues::new([("name", site.name.as_str())]);
            let Some((diff, pools)) = found(Env { directory: path, ..env })? else { return Ok(Found::New) };
            let rollout = rollout(&diff.summary.nodes, &pools);
            Ok(Found::of(diff, rollout, &own, &|_| false))
        }
        SiteKind::Layered(layered) => {
            let rendered = fleet::rendered(&opened.fleet, site, layered);
            if comparison.is_of_configuration() && run.is_unchanged(&site.name, layered, &rendered) {
                return Ok(Found::Same);
            }
            let Some((diff, pools)) = opened.within_layered(env, layered, rendered, found)? else {
                return Ok(Found::New);
            };
            let diff = located(opened, layered, diff);
            let is_own = |place: &Place| layered.is_own(place);
            let own = own_values(&site.name, layered, &diff, &is_own);
            let rollout = rollout(&diff.summary.nodes, &pools);
            Ok(Found::of(diff, rollout, &own, &is_own))
        }
    }
}

/// The comparison with its causes where the user wrote them.
fn located(opened: &Opened, layered: &Layered, mut diff: Diff) -> Diff {
    for place in diff.causes.iter_mut().flat_map(|cause| &mut cause.places) {
        *place = opened.fleet.locate_place(layered, place.clone());
    }
    diff
}

/// The values of a site's table; of those that changed, also the old ones.
fn own_values(site: &str, layered: &Layered, diff: &Diff, is_own: &dyn Fn(&Place) -> bool) -> OwnValues {
    let mut values: Vec<(String, String)> = vec![("name".to_owned(), site.to_owned())];
    values.extend(layered.values.iter().map(|(name, value)| (name.clone(), value.text.clone())));
    for cause in &diff.causes {
        if let Some(place) = cause.places.iter().find(|place| is_own(place)) {
            let sides = [("old ", &cause.from), ("new ", &cause.to)];
            let sides = sides.into_iter().filter_map(|(side, text)| Some((side, text.as_ref()?)));
            values.extend(sides.map(|(side, text)| (format!("{side}{}", place.field), text.clone())));
        }
    }
    OwnValues::new(values.iter().map(|(name, value)| (name.as_str(), value.as_str())))
}

/// The pools of a cluster's nodes, with what the user's MachineConfigPools say about them.
fn pools(directory: &ClusterDir, cluster: &Cluster) -> Result<Vec<NodePool>> {
    let limits = fleet::max_unavailable(directory)?;
    let pool = |role: Role| {
        let nodes = cluster.nodes.iter().filter(|node| node.role == role);
        let name = role.as_str().to_owned();
        let max_unavailable = limits.get(&name).cloned();
        NodePool { name, nodes: nodes.map(|node| node.name.clone()).collect(), max_unavailable }
    };
    Ok([Role::Master, Role::Worker].map(pool).into())
}
