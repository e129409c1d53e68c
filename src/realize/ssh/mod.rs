//! SSH to nodes: sessions for the user, and scripts for this program.
//!
//! | file | what it owns |
//! |---|---|
//! | `route` | the arguments that `ssh` gets |
//! | `error` | why a node cannot be reached |

mod error;
mod route;

use std::net::{IpAddr, SocketAddr, TcpStream};
use std::time::Duration;

pub(crate) use error::SshError;
pub(crate) use route::{SshMode, SshRoute};

use super::desired::DesiredMachine;
use super::provider::SshTarget;
use super::{Realizer, Result};
use crate::base::process::{Invocation, Sink};

/// The exit status of an `ssh` that failed itself.
const FAILED: u8 = 255;
/// How long a port may take to answer.
const CONNECT: Duration = Duration::from_secs(3);
/// Runs a script from stdin as root, without asking for a password.
const SHELL: [&str; 4] = ["sudo", "-n", "sh", "-s"];

/// How an interactive session ended.
#[derive(Debug)]
pub(crate) struct SshSession {
    /// The exit status of `ssh`, which is that of the command.
    pub status: u8,
    /// Why the node was not reached, if it was not.
    pub trouble: Option<SshError>,
}

/// How ssh reaches a node, whose machine must run.
pub(crate) fn route(realizer: &Realizer<'_>, machine: &DesiredMachine, address: IpAddr) -> Result<SshRoute> {
    realizer.state.create()?;
    let SshTarget { host_key_alias, jump_host } = realizer.provider.ssh_target(machine)?;
    let known_hosts = realizer.state.known_hosts();
    Ok(SshRoute { node: machine.node.clone(), address, host_key_alias, known_hosts, jump_host })
}

/// Opens a session on the user's terminal.
pub(crate) fn session(realizer: &Realizer<'_>, route: &SshRoute, command: &[String]) -> Result<SshSession> {
    let args = route.arguments(SshMode::Interactive, command);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let status = realizer.runner.programs.attach("ssh", &args)?;
    let failed = status == FAILED && route.jump_host.is_none();
    Ok(SshSession { status, trouble: if failed { probe(route) } else { None } })
}

/// Runs a script as root on a node, and streams its output.
pub(super) fn run_script(
    realizer: &Realizer<'_>,
    route: &SshRoute,
    limit: Duration,
    script: &str,
    sink: Sink<'_>,
) -> Result<()> {
    let args = route.arguments(SshMode::Batch, &SHELL.map(str::to_owned));
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let run = Invocation { stdin: script.as_bytes(), ..Invocation::new("ssh", &args, limit) };
    let output = realizer.runner.stream(run, sink)?;
    let message = printable(&output.stderr);
    match output.status {
        Some(0) => Ok(()),
        Some(status) if status == i32::from(FAILED) => {
            Err(SshError::of_ssh(&route.node, route.address, &message).into())
        }
        _ => Err(SshError::Failed { node: route.node.clone(), message }.into()),
    }
}

/// Why the node's port does not answer, if it does not.
fn probe(route: &SshRoute) -> Option<SshError> {
    let error = TcpStream::connect_timeout(&SocketAddr::new(route.address, 22), CONNECT).err()?;
    let message = match error.kind() {
        std::io::ErrorKind::TimedOut => format!("no answer within {} seconds", CONNECT.as_secs()),
        _ => error.to_string().split(" (os error").next().unwrap_or_default().to_lowercase(),
    };
    Some(SshError::Silent { node: route.node.clone(), address: route.address, message })
}

/// The lines of a message as one, safe for a terminal.
fn printable(message: &str) -> String {
    let lines: Vec<&str> = message.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    match lines.is_empty() {
        true => "no error message".to_owned(),
        false => crate::base::redact::one_line(&lines.join("; "), 2000),
    }
}
