//! `drift`: compares a live cluster with the closure that made it.

mod closure;
mod live;

use std::path::PathBuf;
use std::process::ExitCode;

use zeroize::Zeroizing;

use super::arguments::parse_count;
use super::diff::{Format, show_rows};
use super::output::{self, Colour, count, exit_code, line, stdout_paint};
use super::realize::now;
use super::{Error, Printer, Result};
use crate::base::fs;
use crate::cli::document::{Document, Documented};
use crate::compare::drift::{self, Drift, DriftTables};
use crate::compare::report::{self, Detail};
use crate::openshift::workspace::{Env, Missing, Workspace};
use crate::realize::RealizeError;
use crate::realize::api::{Client, Endpoint, endpoint_of};

/// Compare a live cluster with the closure that made it, by meaning; changes nothing
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tinderbox drift                              the cluster at `vips.api`, as its administrator
  tinderbox drift --expected                   also what operators are supposed to change, and why
  tinderbox drift --generation 3               against another closure than the one that was applied last
  tinderbox drift --server localhost:6443      through a tunnel
  tinderbox drift --kubeconfig auditor.kubeconfig
  tinderbox drift --format html > drift.html   one file, for a browser

Compares what tinderbox made: the fields of objects that it set, what nodes run according to the machine-config daemon, the \
release, and certificates. Server defaults and fields of operators are not drift, nor is what operators are known to change. \
Objects that somebody else made are not looked at. What the API forbids us to read is listed as not compared.
Secrets are masked; the result only says that they changed.
Exit codes: 0 no drift, 1 drift, or not everything could be compared, 2 trouble.")]
pub(super) struct Args {
    /// The kubeconfig to read with, if not the administrator's of the closure; it needs a client certificate
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Where the API is, if not at `vips.api` of cluster.yaml, or where the kubeconfig says
    #[arg(long, value_name = "HOST:PORT")]
    server: Option<Endpoint>,
    /// Compare with this generation [default: what `realize` applied last, else the current one]
    #[arg(long, value_name = "N", value_parser = parse_count)]
    generation: Option<u64>,
    /// Also list what the cluster's own parts are supposed to change, and why
    #[arg(long)]
    expected: bool,
    /// How to write it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Never start a pager
    #[arg(long)]
    no_pager: bool,
}

impl Documented for Args {
    const DOCUMENTS: &'static [Document] = &[Document::of::<Drift>()];
}

impl Args {
    /// Exit codes are those of `diff`: 0 equal, 1 different; the caller handles 2, trouble.
    pub(super) fn run(self, env: Env<'_>, printer: Printer<'_>) -> Result<ExitCode> {
        let format = if printer.json { Format::Json } else { self.format };
        if format == Format::Html {
            output::refuse_on_terminal("page", "`tinderbox drift --format html -o drift.html`")?;
        }
        let found = compare(env, &self)?;
        env.events.settle();
        match format {
            Format::Json => output::json(&found),
            Format::Markdown => output::text(&report::drift_markdown(&found)),
            Format::Html => output::text(&report::drift_html(&found)),
            Format::Text => self.show(&found),
        }
        Ok(exit_code(found.diff.is_empty() && found.not_compared.is_empty()))
    }

    fn show(&self, found: &Drift) {
        if !found.diff.is_empty() {
            show_rows(&report::rows(&found.diff, Detail::Everything), self.no_pager);
        }
        if !found.not_compared.is_empty() {
            line(stdout_paint("not compared", Colour::Cyan));
            let row =
                |one: &drift::NotCompared| format!("  {} ({}): {}", one.kind, one.names.join(", "), one.why);
            found.not_compared.iter().for_each(|one| line(row(one)));
        }
        if self.expected && !found.expected.is_empty() {
            line(stdout_paint("expected", Colour::Cyan));
            for one in &found.expected {
                line(format!("  {} {}", one.object, one.fields.join(", ")));
                line(format!("    {}", one.reason));
            }
        }
        let drifted = match found.diff.artifacts.len() {
            0 => "no drift".to_owned(),
            some => format!("drift in {}", count(some, "artifact")),
        };
        line(format!(
            "{drifted}: {} and {} compared, {}",
            count(found.objects, "object"),
            count(found.nodes, "node"),
            count(found.expected.len(), "expected difference")
        ));
    }
}

/// Reads the closure and the cluster, and compares them.
fn compare(env: Env<'_>, asked: &Args) -> Result<Drift> {
    let workspace = Workspace::load(env, Missing::Unneeded)?;
    let chosen = closure::choose(env, asked.generation)?;
    let closure = chosen.read(&workspace)?;
    let kubeconfig = Zeroizing::new(match &asked.kubeconfig {
        Some(path) => fs::read_text(path)?,
        None => fs::read_text(&chosen.store.object(chosen.generation.object)?.path.join("auth/kubeconfig"))?,
    });
    let vip = workspace.cluster.api_vips.first().map(|vip| Endpoint::of(*vip));
    let at = match (&asked.server, &asked.kubeconfig, vip) {
        (Some(server), ..) => server.clone(),
        (None, None, Some(vip)) => vip,
        _ => endpoint_of(&kubeconfig).map_err(RealizeError::from)?,
    };
    let client = Client::new(&kubeconfig, &at, env.cancel).map_err(RealizeError::from)?;
    let tables = DriftTables {
        drift: workspace.knowledge.drift.get().map_err(problems)?,
        hand_over: workspace.knowledge.hand_over.get().map_err(problems)?,
        release: workspace.release(),
    };
    let live = live::read(&client, &kubeconfig, &at, &closure, tables.drift)?;
    Ok(drift::compare(&closure, &live, tables, now())?)
}

fn problems(problems: crate::base::hint::Problems) -> Error {
    crate::openshift::workspace::WorkspaceError::from(problems).into()
}
