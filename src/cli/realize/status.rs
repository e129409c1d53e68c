//! `realize status`: the state of the machines.

use std::process::ExitCode;

use super::login::{Login, WithLogin};
use super::realizer::with_workspace;
use super::{kubelet_state, request_state, show_operators};
use crate::cli::arguments::Jobs;
use crate::cli::document::{Document, Documented};
use crate::cli::output::{line, table};
use crate::cli::{Printer, Result};
use crate::openshift::workspace::Env;
use crate::realize;
use crate::realize::approve::Member;
use crate::realize::{Booted, RealizeStatus};

/// Show the state of the machines
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  tinderbox realize status --json")]
pub(crate) struct Args {
    #[command(flatten)]
    jobs: Jobs,
}

impl Documented for Args {
    const DOCUMENTS: &'static [Document] = &[Document::of::<WithLogin<RealizeStatus>>()];
}

impl Args {
    pub(super) fn run(self, env: Env<'_>, printer: Printer<'_>) -> Result<ExitCode> {
        let status = with_workspace(env, self.jobs.count(), |realizer, workspace| {
            let result = realize::status(&realizer)?;
            Ok(WithLogin { login: Login::new(env, workspace, &result.closure), result })
        })?;
        Ok(printer.answer(&status, || show(&status)))
    }
}

fn show(WithLogin { result: status, login }: &WithLogin<RealizeStatus>) {
    let word = |there: bool| if there { "active" } else { "missing" };
    // Without a network of ours, the load balancer is somebody else's too, unless it runs here.
    if let Some(active) = status.network {
        line(format!("network   {}", word(active)));
    }
    if status.network.is_some() || status.balancer.is_some() {
        line(format!("balancer  {}", status.balancer.as_deref().unwrap_or("does not run")));
    }
    match status.api.ready {
        true => line(format!("API       ready at {}", status.api.server)),
        false => line(format!("API       not ready at {}: {}", status.api.server, status.api.seen)),
    }
    if let Some(realized) = &status.realized {
        line(format!("realized  {realized}"));
        line(format!("asked for {}", status.closure));
    }
    let rows = status.machines.iter().map(|machine| {
        let ignition = match &machine.made_with {
            None => "",
            Some(made_with) if *made_with == machine.ignition => "current",
            Some(_) => "outdated",
        };
        let member = machine.member.as_ref();
        vec![
            machine.node.clone(),
            machine.state.clone(),
            ignition.to_owned(),
            machine.booted.map_or("", Booted::as_str).to_owned(),
            machine.api.map_or("", |ready| if ready { "ready" } else { "silent" }).to_owned(),
            member.map_or("", kubelet_state).to_owned(),
            member.map(certificates).unwrap_or_default(),
            machine.addresses.join(" "),
            machine.name.clone(),
        ]
    });
    table(
        &["NODE", "STATE", "IGNITION", "BOOTED", "API", "KUBELET", "CERTIFICATES", "ADDRESSES", "MACHINE"],
        &rows.collect::<Vec<_>>(),
    );
    show_operators(&status.operators);
    if status.machines.iter().any(|machine| machine.state != "missing") {
        login.show();
    }
}

/// Its certificate requests, if any.
fn certificates(member: &Member) -> String {
    let both = [("client", member.client), ("serving", member.serving)];
    let asked = both.iter().filter(|(_, found)| found.is_some());
    asked.map(|(name, found)| format!("{name} {}", request_state(*found))).collect::<Vec<_>>().join(", ")
}
