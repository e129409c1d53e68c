//! Nodes that are reached: the machine is looked at first, then asked over SSH.

use std::net::{IpAddr, SocketAddr, TcpStream};
use std::time::Duration;

use super::apply::Hands;
use super::host::{PIVOTED, volumes};
use super::ssh::{self, Manner, ReachError, Way};
use super::wanted::{Machine, Mark, mark};
use super::xml::Element;
use super::{RealizeError, virsh};
use crate::base::process::{Run, Take};

/// The exit status of an `ssh` that has failed itself.
const FAILED: u8 = 255;
/// How long a port may take to answer.
const ANSWER: Duration = Duration::from_secs(3);
/// What runs a script that comes over stdin, with all rights and without a question.
const SHELL: [&str; 4] = ["sudo", "-n", "sh", "-s"];

/// How a visit ended.
#[derive(Debug)]
pub(crate) struct Visit {
    /// The exit status of `ssh`, which is that of the command.
    pub status: u8,
    /// Why there was none, if the node was not reached.
    pub trouble: Option<ReachError>,
}

impl Hands<'_> {
    /// The way to a node that has a machine. Without an answer of libvirt the machine is taken to be there.
    pub(crate) fn way(&self, machine: &Machine, address: IpAddr) -> Result<Way, RealizeError> {
        self.state.make()?;
        let made_with = match self.look_at(machine) {
            Ok(mark) => mark,
            Err(
                RealizeError::NotRunning { .. }
                | RealizeError::Forbidden { .. }
                | RealizeError::Unreachable { .. },
            ) => None,
            Err(error) => return Err(error),
        };
        let mark = made_with.or_else(|| mark(&machine.object.xml));
        Ok(Way {
            node: machine.node.clone(),
            address,
            alias: mark.as_ref().map_or_else(|| machine.node.clone(), ssh::alias),
            known_hosts: self.state.known_hosts(),
            jump: ssh::jump(self.virsh.uri),
        })
    }

    /// The mark of a machine that runs.
    fn look_at(&self, machine: &Machine) -> Result<Option<Mark>, RealizeError> {
        let node = machine.node.clone();
        let found = self.virsh.run(&["dumpxml", "--inactive", &machine.object.uuid])?;
        if !found.is_success() {
            let gone = machine.is_bootstrap()
                && volumes(self.virsh, &self.wanted.pool.uuid).is_ok_and(|names| names.contains(PIVOTED));
            return Err(if gone { ReachError::Gone { node } } else { ReachError::NotMade { node } }.into());
        }
        let state = self.virsh.ask(&["domstate", &machine.object.uuid])?.trim().to_owned();
        if state != "running" {
            return Err(ReachError::Off { node, state }.into());
        }
        Ok(mark(&Element::parse("the machine", &found.text())?))
    }

    /// Goes there with the user's terminal.
    pub(crate) fn visit(&self, way: &Way, command: &[String]) -> Result<Visit, RealizeError> {
        let words = way.arguments(Manner::Person, command);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let status = self.virsh.programs.attach("ssh", &words)?;
        let failed = status == FAILED && way.jump.is_none();
        Ok(Visit { status, trouble: if failed { silent(way) } else { None } })
    }

    /// Runs a script as root on a node. What it prints is handed on as it comes.
    pub(super) fn on_node(
        &self,
        way: &Way,
        limit: Duration,
        script: &str,
        take: Take<'_>,
    ) -> Result<(), RealizeError> {
        let words = way.arguments(Manner::Program, &SHELL.map(str::to_owned));
        let args: Vec<&str> = words.iter().map(String::as_str).collect();
        let stdin = script.as_bytes();
        let run = Run { program: "ssh", args: &args, stdin, limit, daemon: false, cancel: self.virsh.cancel };
        let ended = self.virsh.programs.stream(run, take)?;
        let said = virsh::words(&ended);
        let words = crate::base::redact::one_line(&said, 2000);
        match ended.status {
            Some(0) => Ok(()),
            Some(status) if status == i32::from(FAILED) => {
                Err(ReachError::of_ssh(&way.node, way.address, &words).into())
            }
            _ => Err(ReachError::Failed { node: way.node.clone(), words }.into()),
        }
    }
}

/// Why nobody answers, if so.
fn silent(way: &Way) -> Option<ReachError> {
    let error = TcpStream::connect_timeout(&SocketAddr::new(way.address, 22), ANSWER).err()?;
    let words = match error.kind() {
        std::io::ErrorKind::TimedOut => format!("nothing came within {} seconds", ANSWER.as_secs()),
        _ => error.to_string().split(" (os error").next().unwrap_or_default().to_lowercase(),
    };
    Some(ReachError::Silent { node: way.node.clone(), address: way.address, words })
}
