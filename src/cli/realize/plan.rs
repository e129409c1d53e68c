//! `realize plan`: what would be created, changed, kept or removed on the host. Changes nothing.

use std::process::ExitCode;

use super::realizer::with_realizer;
use super::{show_obstacles, show_root_commands};
use crate::cli::arguments::Jobs;
use crate::cli::document::{Document, Documented};
use crate::cli::output::{Colour, exit_code, line, size, stdout_paint, table};
use crate::cli::{Printer, Result};
use crate::openshift::workspace::{Env, Missing, PlannedDownload, Workspace};
use crate::realize::{Need, Obstacle, RealizePlan, StepAction};

/// Show what would be made, changed or removed on the host, and why; changes nothing
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tinderbox realize plan
  tinderbox realize plan --json

The host is the one of `libvirt.uri` in cluster.yaml: `qemu:///system` (the default), `qemu:///session`, or another \
machine with `qemu+ssh://user@host/system`. With `machines: external` there is none: the plan says which machine you boot from what, in which \
order, and what your DNS and your load balancer must have. Only what this cluster made is ever changed: it knows its network, pool and \
machines by their UUIDs, which are derived from the seed.
Exit codes: 0 nothing stands in the way, 1 something does.")]
pub(crate) struct Args {
    #[command(flatten)]
    jobs: Jobs,
}

impl Documented for Args {
    const DOCUMENTS: &'static [Document] = &[Document::of::<RealizePlan>()];
}

impl Args {
    pub(super) fn run(self, env: Env<'_>, printer: Printer<'_>) -> Result<ExitCode> {
        let mut plan = with_realizer(env, self.jobs.count(), |realizer| Ok(realizer.plan()?))?;
        if plan.obstacles.iter().any(Obstacle::is_image) {
            plan.downloads.extend(planned_download(env)?);
        }
        printer.answer(&plan, || show(&plan));
        show_obstacles(&plan.obstacles);
        Ok(exit_code(plan.obstacles.is_empty()))
    }
}

/// What has to be downloaded so that machines can boot, if it can be.
pub(super) fn planned_download(env: Env<'_>) -> Result<Option<PlannedDownload>> {
    let workspace = Workspace::load(env, Missing::Make)?;
    match workspace.missing_image() {
        Some(image) => Ok(workspace.planned_download(env, image)?),
        None => Ok(None),
    }
}

/// Where it comes from, and how large it is.
pub(super) fn shown(download: &PlannedDownload) -> String {
    match download.bytes {
        Some(bytes) => format!("{} ({})", download.url, size(bytes)),
        None => format!("{} (its server does not say how large it is)", download.url),
    }
}

fn show(plan: &RealizePlan) {
    let colour = |action: StepAction| match action {
        StepAction::Create => Colour::Green,
        StepAction::Change => Colour::Yellow,
        StepAction::Keep => Colour::Dim,
        StepAction::Remove => Colour::Red,
        StepAction::Boot => Colour::Cyan,
    };
    for step in &plan.steps {
        let word = stdout_paint(&format!("{:<6}", step.action.as_str()), colour(step.action));
        line(format!("{word}  {:<8}  {}", step.resource.as_str(), step.name));
        for why in &step.why {
            line(format!("                    {why}"));
        }
        if step.destroys {
            line(format!("                    {}", stdout_paint("what is on it is lost", Colour::Red)));
        }
    }
    for download in &plan.downloads {
        line(format!("{}  image     {}", stdout_paint("fetch ", Colour::Green), shown(download)));
    }
    if plan.is_done() {
        line("nothing to do");
    }
    show_needs(&plan.needs);
    for note in &plan.notes {
        line(format!("{} {note}", stdout_paint("note:", Colour::Cyan)));
    }
    show_root_commands(&plan.privileged);
}

/// What the user's DNS and load balancer must have.
fn show_needs(needs: &[Need]) {
    let list = |all: &[std::net::IpAddr]| all.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    let rows =
        |wanted: &dyn Fn(&Need) -> Option<Vec<String>>| needs.iter().filter_map(wanted).collect::<Vec<_>>();
    let names = rows(&|need| match need {
        Need::Dns { name, addresses } => Some(vec![name.clone(), list(addresses)]),
        Need::LoadBalancer { .. } => None,
    });
    let ports = rows(&|need| match need {
        Need::LoadBalancer { at, port, nodes, why } => {
            Some(vec![list(at), port.to_string(), nodes.join(" "), (*why).to_owned()])
        }
        Need::Dns { .. } => None,
    });
    if !names.is_empty() {
        line("\nYour DNS, which `tinderbox realize preflight` asks:");
        table(&["NAME", "ADDRESSES"], &names);
    }
    if !ports.is_empty() {
        line("\nYour load balancer:");
        table(&["AT", "PORT", "NODES", "FOR"], &ports);
    }
}
