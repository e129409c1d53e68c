//! `realize logs`: what a node wrote to its serial console, or over SSH a log of it.

use std::io::{IsTerminal as _, Write as _};
use std::ops::ControlFlow;
use std::path::Path;
use std::process::ExitCode;

use schemars::JsonSchema;
use serde::Serialize;

use super::ssh::with_node;
use crate::base::process::Sink;
use crate::base::redact::ControlFilter;
use crate::cli::arguments::{Jobs, parse_count};
use crate::cli::document::{Document, Documented};

use crate::cli::{Error, Printer, Result, output};
use crate::openshift::workspace::Env;
use crate::realize;
use crate::realize::NodeLog;

/// Print a node's serial console, or one of its logs over SSH
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tinderbox realize logs bootstrap                     its serial console
  tinderbox realize logs bootstrap bootkube --follow
  tinderbox realize logs master-0 etcd --lines 100     every container of a static pod, with headings
  tinderbox realize logs worker-0 NetworkManager.service

Logs over SSH: bootkube, kubelet, crio; etcd, kube-apiserver, kube-controller-manager, kube-scheduler, \
cluster-version-operator, kube-proxy; ignition; all; and units of any name.")]
pub(crate) struct Args {
    /// The node
    #[arg(add = crate::cli::complete::node())]
    node: String,
    /// Which log: `console` (the default), `bootkube`, `kubelet`, `crio`, a static pod, `ignition`, `all`, or any unit
    what: Option<String>,
    /// Keep printing new lines until Ctrl-C
    #[arg(short, long)]
    follow: bool,
    /// Only the last N lines
    #[arg(short = 'n', long, value_name = "N", value_parser = parse_count)]
    lines: Option<u64>,
    #[command(flatten)]
    jobs: Jobs,
}

impl Documented for Args {
    const DOCUMENTS: &'static [Document] = &[Document::of::<Log<'static>>()];
}

impl Args {
    /// Prints a log as it arrives. Removes control sequences if stdout is a terminal.
    pub(super) fn run(self, env: Env<'_>, printer: Printer<'_>) -> Result<ExitCode> {
        let Self { node, what, follow, .. } = &self;
        let json = printer.json;
        let to_file = printer.output.is_some_and(|file| file != Path::new("-"));
        if json && *follow {
            let message = "`--json` prints one document, and `--follow` has no end".to_owned();
            return Err(Error::usage(message, "leave one of them out"));
        }
        let mut whole = Vec::new();
        let mut filter = std::io::stdout().is_terminal().then(ControlFilter::default);
        let mut closed = false;
        let mut take = |piece: &[u8]| {
            if json || to_file {
                whole.extend_from_slice(piece);
                return ControlFlow::Continue(());
            }
            let shown = filter.as_mut().map(|filter| filter.push(piece));
            let mut out = std::io::stdout().lock();
            let written =
                out.write_all(shown.as_deref().map_or(piece, str::as_bytes)).and_then(|()| out.flush());
            closed = written.is_err();
            if closed { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let done = logs(env, &self, &mut take);
        match done {
            // A closed pipe ends the log, and the user ends a followed log.
            Err(_) if closed => {}
            Err(Error::Stopped) if *follow => {}
            done => done?,
        }
        if json {
            let text = String::from_utf8_lossy(&whole);
            let what = what.as_deref().unwrap_or("console");
            return Ok(printer.answer(&Log { node, log: what, text: &text }, || {}));
        }
        if to_file {
            output::text(&String::from_utf8_lossy(&whole));
        }
        Ok(ExitCode::SUCCESS)
    }
}

#[derive(Debug, Serialize, JsonSchema)]
struct Log<'a> {
    node: &'a str,
    /// Which log: `console`, a unit, or a static pod.
    log: &'a str,
    text: &'a str,
}

/// Passes a node's log to `take` as it arrives.
fn logs(env: Env<'_>, asked: &Args, take: Sink<'_>) -> Result<()> {
    let what = asked.what.as_deref();
    let log = what.filter(|what| *what != "console").map(NodeLog::parse).transpose();
    let log = log.map_err(|advice| {
        let message = format!("there is no log `{}`", what.unwrap_or_default());
        Error::Usage { message, advice }
    })?;
    let Args { node, lines, follow, jobs, .. } = asked;
    let (lines, follow) = (*lines, *follow);
    with_node(env, jobs.count(), node, |(realizer, machine), way| match log {
        Some(log) => Ok(realize::logs::stream(&realizer, &way()?, &log, lines, follow, take)?),
        None => {
            let written = realize::console::stream(&realizer, machine, lines, take)?;
            match (written, follow) {
                (written, true) => {
                    Ok(realize::console::follow(&realizer, machine, written.unwrap_or(0), take)?)
                }
                (Some(_), false) => Ok(()),
                (None, false) => Err(Error::usage(
                    format!("`{node}` has written nothing to its console"),
                    "`tinderbox realize status` says whether it runs",
                )),
            }
        }
    })
}
