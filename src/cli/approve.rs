//! `realize approve`: its arguments, and its report for people.

use std::process::ExitCode;
use std::time::Duration;

use super::args::{Jobs, parse_age};
use super::error::explain;
use super::output::{Colour, line, stdout_paint, table};
use super::run::{jobs, say};
use super::status::kubelet;
use crate::base::hint::Hint as _;
use crate::cli::ops::approve::{ApproveRequest, Endpoint, Stage, approve};
use crate::cli::ops::{Env, Result};
use crate::realize::RealizeError;
use crate::realize::approve::ApprovalReport;

#[derive(Debug, clap::Args)]
pub(super) struct Approve {
    /// Go on until every master and worker has its certificates and is in the API
    #[arg(long)]
    watch: bool,
    /// How long to watch: 90s, 60m, 2h
    #[arg(long, value_name = "TIME", default_value = "60m", value_parser = parse_age, requires = "watch")]
    timeout: Duration,
    /// Where the API is, if not at `vips.api` of cluster.yaml; it must still be `api.<domain>` by its certificate
    #[arg(long, value_name = "HOST:PORT")]
    server: Option<Endpoint>,
    #[command(flatten)]
    jobs: Jobs,
}

/// Does what was asked.
pub(super) fn run(env: Env<'_>, json: bool, asked: &Approve) -> Result<ExitCode> {
    let watch = asked.watch.then_some(asked.timeout);
    let request = ApproveRequest { jobs: jobs(&asked.jobs), watch, server: asked.server.clone() };
    let report = approve(env, &request)?;
    say(env, json, &report, || show(&report));
    if asked.watch && !report.complete {
        let error = RealizeError::Absent { missing: report.missing(), seconds: asked.timeout.as_secs() };
        explain(&error, error.hint());
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}

fn show(report: &ApprovalReport) {
    for one in &report.approved {
        let word = stdout_paint("approved", Colour::Green);
        line(format!("{word}  {}  {} certificate of {}", one.request, one.certificate.as_str(), one.node));
    }
    for one in &report.left {
        line(format!("{}  {}  {}", stdout_paint("left    ", Colour::Yellow), one.request, one.reason));
        one.hint.iter().for_each(|hint| line(format!("          {hint}")));
    }
    let rows = report.nodes.iter().map(|node| {
        let cells = [&node.node, kubelet(node), stage(node.client), stage(node.serving), &node.name];
        cells.map(str::to_owned).to_vec()
    });
    table(&["NODE", "IN THE API", "CLIENT", "SERVING", "NAME"], &rows.collect::<Vec<_>>());
}

/// How far a request is, in a word.
pub(super) fn stage(stage: Option<Stage>) -> &'static str {
    match stage {
        None => "",
        Some(Stage::Pending) => "pending",
        Some(Stage::Denied) => "denied",
        Some(Stage::Failed) => "failed",
        Some(Stage::Approved) => "approved",
        Some(Stage::Issued) => "issued",
    }
}
