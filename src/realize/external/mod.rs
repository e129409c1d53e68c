//! Machines of the user's own, as a provider: the user boots them and switches them off, and this says what, when and from what.
//!
//! | file | what it owns |
//! |---|---|
//! | `machines` | who the machines are, and what each can boot from |
//! | `inventory` | what there is, as the cluster's API says, and the plan that follows |
//! | `ledger` | what a run keeps for later ones |
//!
//! Invariant: no machine is touched. Whether one runs is known from the cluster alone; whether it was switched off, from its SSH port.

mod inventory;
mod ledger;
mod machines;

use std::net::{IpAddr, SocketAddr, TcpStream};
use std::time::Duration;

pub(crate) use machines::{Boot, Machines, Medium};

use self::inventory::Found;
use self::ledger::Ledger;
use super::desired::DesiredMachine;
use super::error::minutes;
use super::plan::{PlanStep, ResourceKind, StepAction};
use super::provider::{Consoles, Document, Inventory, Program, Provider, Removing, SshTarget};
use super::wait::{Poll, Wait, WaitError};
use super::{ClusterAccess, HostAccess, RealizeError, Result, StateDir};
use crate::base::event::{Event, Events};
use crate::base::process::{ProcessError, ProgramRunner};

/// The name of the record that the control plane has moved.
const PIVOTED: &str = "pivoted";
/// How long the user may take to switch a machine off.
const SWITCH_OFF: Duration = Duration::from_secs(60 * 60);
/// How often that is looked at.
const POLL: Duration = Duration::from_secs(2);
/// How long a machine's port may take to answer.
const CONNECT: Duration = Duration::from_secs(2);

/// Machines that somebody else boots.
pub(crate) struct External<'a> {
    pub(crate) machines: &'a Machines,
    pub(crate) state: &'a StateDir,
    pub(crate) cluster: &'a ClusterAccess,
    pub(crate) runner: ProgramRunner<'a>,
    pub(crate) events: &'a dyn Events,
}

impl External<'_> {
    /// Whether a machine answers: its SSH port does, or refuses.
    fn is_on(&self, ips: &[IpAddr]) -> bool {
        let answers = |ip: &IpAddr| match TcpStream::connect_timeout(&SocketAddr::new(*ip, 22), CONNECT) {
            Ok(_) => true,
            Err(error) => error.kind() == std::io::ErrorKind::ConnectionRefused,
        };
        ips.iter().any(answers)
    }

    /// Asks the user to switch a machine off, and waits until it does not answer.
    fn await_off(&self, node: &str, limit: Option<Duration>) -> Result<()> {
        let Some(machine) = self.machines.get(node) else { return Ok(()) };
        let text =
            format!("switch `{node}` ({}) off now: the cluster does not need it any more", machine.named());
        self.events.emit(Event::Notice { text });
        let limit = limit.unwrap_or(SWITCH_OFF);
        let wait = Wait { limit, interval: POLL, cancel: self.runner.cancel };
        let what = format!("`{node}` to be switched off");
        let poll = || {
            Ok::<_, RealizeError>(match self.is_on(&machine.ips) {
                true => Poll::Pending(format!("it answers at {}", machine.addresses())),
                false => Poll::Ready(()),
            })
        };
        let report = |seen: &str, elapsed: Duration| {
            let what = format!("{what} ({} of at most {})", minutes(elapsed), minutes(limit));
            self.events.emit(Event::Awaiting { what, seen: seen.to_owned() });
        };
        wait.until(poll, report).map_err(|error| match error {
            WaitError::Failed(error) => error,
            WaitError::Cancelled => ProcessError::Stopped.into(),
            WaitError::TimedOut { seen } => {
                RealizeError::TimedOut { what, limit, seen, look: "tinderbox realize status".to_owned() }
            }
        })
    }

    fn update(&self, change: impl FnOnce(&mut Ledger)) -> Result<()> {
        let mut ledger = Ledger::read(self.state)?;
        change(&mut ledger);
        ledger.write(self.state)
    }
}

impl Provider for External<'_> {
    fn uri(&self) -> &str {
        "external"
    }

    fn inventory(&self) -> Result<Box<dyn Inventory + '_>> {
        Ok(Box::new(Found::read(self)?))
    }

    fn node_of(&self, step: &PlanStep) -> Option<&str> {
        let is_machine = step.resource == ResourceKind::Machine;
        self.machines.get(&step.name).filter(|_| is_machine).map(|machine| machine.node.as_str())
    }

    /// A machine boots because the user boots it: here it is only said.
    fn create(&self, step: &PlanStep) -> Result<()> {
        match (step.resource, self.machines.get(&step.name)) {
            (ResourceKind::PivotRecord, _) => self.update(|ledger| ledger.pivoted = true),
            (ResourceKind::Machine, Some(machine)) => {
                let text = format!("boot `{}` now: {}", machine.node, machine.instructions().join("; "));
                self.events.emit(Event::Notice { text });
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn remove(&self, step: &PlanStep, limit: Option<Duration>) -> Result<()> {
        let is_machine = step.resource == ResourceKind::Machine;
        if let Some(machine) = self.machines.get(&step.name).filter(|_| is_machine) {
            self.await_off(&machine.node, limit)?;
            self.update(|ledger| ledger.switched_off(&machine.node))?;
        }
        Ok(())
    }

    fn record_pivot(&self) -> PlanStep {
        let why = vec!["the control plane runs on the masters".to_owned()];
        PlanStep::new(StepAction::Create, ResourceKind::PivotRecord, PIVOTED, why)
    }

    /// Which Ignition config a machine joined with: nothing tells that later.
    fn remember(&self) -> Result<()> {
        let found = Found::read(self)?;
        self.update(|ledger| {
            for machine in self.machines.all.iter().filter(|machine| found.has_joined(&machine.node)) {
                ledger.joined(&machine.node, &machine.ignition);
            }
        })
    }

    fn ssh_target(&self, machine: &DesiredMachine) -> Result<SshTarget> {
        let booted = Ledger::read(self.state)?.ignition_of(&machine.node).map(str::to_owned);
        let ignition = booted.unwrap_or_else(|| machine.ignition.clone());
        let host_key_alias = format!("{}_{}", machine.node, ignition.get(..16).unwrap_or(&ignition));
        Ok(SshTarget { host_key_alias, jump_host: None })
    }

    fn consoles(&self, _: bool, _: HostAccess) -> Option<Box<dyn Consoles + '_>> {
        None
    }

    fn privileged_to_apply(&self, _: &[PlanStep], _: HostAccess) -> Vec<(String, &'static str)> {
        Vec::new()
    }

    fn privileged_to_remove(&self) -> Vec<(String, &'static str)> {
        Vec::new()
    }

    fn destroy_machines(&self, _: Removing<'_>) -> Result<Option<String>> {
        Ok(Some("the machines: they are yours, and still run what is on their disks".to_owned()))
    }

    fn destroy_network(&self, _: Removing<'_>) -> Result<bool> {
        Ok(false)
    }

    fn programs(&self) -> &'static [Program] {
        &[]
    }

    fn version(&self) -> Option<Document> {
        None
    }

    fn documents(&self) -> Vec<Document> {
        Vec::new()
    }
}
