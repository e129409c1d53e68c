//! `realize …`: from the closure to running machines; and output that several of these verbs share.

mod apply;
mod approve;
mod destroy;
mod gather;
mod login;
mod logs;
mod plan;
mod preflight;
mod realizer;
mod remove;
mod ssh;
mod status;

pub(super) use approve::now;

use super::error::explain;
use super::output::{line, stderr, table, text, visible};
use super::verbs;
use crate::openshift::workspace::Env;
use crate::realize::api::Stage;
use crate::realize::approve::Member;
use crate::realize::{Obstacle, Operator, Privileged};
use std::io::{BufRead as _, IsTerminal as _};

verbs! {
    "Make the cluster's machines on libvirt, or see yours through";
    Plan(plan::Args),
    Preflight(preflight::Args),
    Apply(apply::Args),
    Status(status::Args),
    Approve(approve::Args),
    Logs(logs::Args),
    Ssh(ssh::Args),
    Gather(gather::Args),
    Remove(remove::Args),
    Destroy(destroy::Args),
}

fn show_obstacles(obstacles: &[Obstacle]) {
    for obstacle in obstacles {
        explain(obstacle, Some(obstacle.hint.clone()));
    }
}

/// Commands for root, each with its reason.
fn show_root_commands(commands: &[Privileged]) {
    if !commands.is_empty() {
        line("\nWith root:");
    }
    for one in commands {
        text(&format!("  {}\n", one.command));
        line(format!("      {}", one.why));
    }
}

/// Asks the user, if stdin is a terminal.
fn confirm(env: Env<'_>, what: &str) -> bool {
    let (mut stdin, mut answer) = (std::io::stdin().lock(), String::new());
    if !stdin.is_terminal() || !std::io::stderr().is_terminal() {
        return false;
    }
    env.events.settle();
    stderr(&format!("{}\nContinue? [y/N] ", visible(what)));
    stdin.read_line(&mut answer).is_ok() && matches!(answer.trim(), "y" | "Y" | "yes")
}

fn show_operators(operators: &[Operator]) {
    if operators.is_empty() {
        return;
    }
    let rows = operators.iter().map(|one| {
        let version = one.version.clone().unwrap_or_default();
        vec![one.name.clone(), version, one.state(), one.message.clone()]
    });
    table(&["OPERATOR", "VERSION", "STATE", "MESSAGE"], &rows.collect::<Vec<_>>());
}

/// The state of a request, in a word.
fn request_state(stage: Option<Stage>) -> &'static str {
    match stage {
        None => "",
        Some(Stage::Pending) => "pending",
        Some(Stage::Denied) => "denied",
        Some(Stage::Failed) => "failed",
        Some(Stage::Approved) => "approved",
        Some(Stage::Issued) => "issued",
    }
}

/// The state of its kubelet.
fn kubelet_state(member: &Member) -> &'static str {
    match (member.joined, member.ready) {
        (true, true) => "ready",
        (true, false) => "joined",
        _ => "missing",
    }
}
