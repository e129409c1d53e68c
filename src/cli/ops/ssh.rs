//! `realize ssh` and `realize logs`: a node of the cluster's files, and the way to it.

use std::net::IpAddr;

use super::realize::with_workspace;
use super::{Env, OpsError, Result, Workspace};
use crate::base::hint::did_you_mean;
use crate::base::process::Sink;
use crate::realize::desired::DesiredMachine;
use crate::realize::ssh::{self, SshMode};
use crate::realize::{NodeLog, Realizer, SshRoute, SshSession, console, logs as node_logs};

/// What a log is asked for.
#[derive(Debug, Clone)]
pub(crate) struct LogRequest<'a> {
    pub node: &'a str,
    /// Which log; none is the serial console.
    pub what: Option<&'a str>,
    /// Its last lines; none is all of it.
    pub lines: Option<u64>,
    /// Whether to go on with what comes.
    pub follow: bool,
}

/// The command that goes to a node, for a shell.
pub(crate) fn command(env: Env<'_>, jobs: usize, node: &str, command: &[String]) -> Result<Vec<String>> {
    with_node(env, jobs, node, |_, way| {
        Ok([vec!["ssh".to_owned()], way()?.arguments(SshMode::Interactive, command)].concat())
    })
}

/// Goes to a node with the user's terminal.
pub(crate) fn visit(env: Env<'_>, jobs: usize, node: &str, command: &[String]) -> Result<SshSession> {
    with_node(env, jobs, node, |(realizer, _), way| Ok(ssh::session(&realizer, &way()?, command)?))
}

/// Hands on a log of a node as it comes.
pub(crate) fn logs(env: Env<'_>, jobs: usize, request: &LogRequest<'_>, take: Sink<'_>) -> Result<()> {
    let log = request.what.filter(|what| *what != "console").map(NodeLog::parse).transpose();
    let log = log.map_err(|advice| {
        let message = format!("there is no log `{}`", request.what.unwrap_or_default());
        OpsError::Usage { message, advice }
    })?;
    let LogRequest { node, lines, follow, .. } = *request;
    with_node(env, jobs, node, |(realizer, machine), way| match log {
        Some(log) => Ok(node_logs::stream(&realizer, &way()?, &log, lines, follow, take)?),
        None => {
            let written = console::stream(&realizer, machine, lines, take)?;
            match (written, follow) {
                (written, true) => Ok(console::follow(&realizer, machine, written.unwrap_or(0), take)?),
                (Some(_), false) => Ok(()),
                (None, false) => Err(OpsError::Usage {
                    message: format!("`{node}` has written nothing to its console"),
                    advice: Some("`tinderbox realize status` says whether it runs".into()),
                }),
            }
        }
    })
}

/// Works with a node of the cluster's files, and the way to it if that is wanted.
fn with_node<T>(
    env: Env<'_>,
    jobs: usize,
    node: &str,
    work: impl FnOnce((Realizer<'_>, &DesiredMachine), &dyn Fn() -> Result<SshRoute>) -> Result<T>,
) -> Result<T> {
    with_workspace(env, jobs, |realizer, workspace| {
        let machines = &realizer.desired.machines;
        let machine = machines.iter().find(|machine| machine.node == node);
        let address = addresses(workspace).into_iter().find(|(name, _)| name == node);
        let (Some(machine), Some((_, address))) = (machine, address) else {
            let advice = did_you_mean(node, machines.iter().map(|machine| machine.node.as_str()));
            return Err(OpsError::Usage { message: format!("there is no node `{node}`"), advice });
        };
        env.events.settle();
        work((realizer, machine), &|| Ok(ssh::route(&realizer, machine, address)?))
    })
}

/// The nodes with their first addresses.
pub(super) fn addresses(workspace: &Workspace) -> Vec<(String, IpAddr)> {
    let nodes = workspace.cluster.nodes.iter();
    nodes.filter_map(|node| Some((node.name.clone(), *node.ips.first()?))).collect()
}
