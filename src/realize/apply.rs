//! Steps taken: phase by phase, each after another look at the host, so that a run goes on from wherever the last one ended.
//!
//! | phase | what it makes |
//! |---|---|
//! | host | the network with its DNS and the VIPs, the pool, the firewall's openings, the load balancer |
//! | media | what machines boot with, and their disks |
//! | bootstrap, control-plane, workers | machines, defined and started |
//!
//! Invariants: every step is one that can be repeated; a machine is stopped before its disk goes, and gets its new
//! description only after the disk is there, so that an interrupted change is seen as one.

use std::time::{Duration, Instant};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::plan::{Action, Plan, Step, Thing};
use super::state::Journal;
use super::wanted::{Machine, Wanted};
use super::{Access, Host, RealizeError, State, Virsh, balancer, firewall, volumes};
use crate::event::{Event, Events};

/// How long a machine has to shut down before its power is cut.
const SHUTDOWN: Duration = Duration::from_secs(120);
/// How long libvirt may take to start a machine or a network.
const START: Duration = Duration::from_secs(300);

/// A part of the way, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// The network, the pool, the load balancer.
    Host,
    /// What machines boot with.
    Media,
    /// The bootstrap machine.
    Bootstrap,
    /// The masters.
    ControlPlane,
    /// The workers.
    Workers,
}

impl Phase {
    /// All of them, in order.
    pub const ALL: [Self; 5] = [Self::Host, Self::Media, Self::Bootstrap, Self::ControlPlane, Self::Workers];

    /// As people write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Media => "media",
            Self::Bootstrap => "bootstrap",
            Self::ControlPlane => "control-plane",
            Self::Workers => "workers",
        }
    }

    /// The phase that a step belongs to.
    fn of(step: &Step, wanted: &Wanted) -> Self {
        match (step.thing, step.action) {
            (Thing::Network | Thing::Pool | Thing::Firewall | Thing::Balancer, _) => Self::Host,
            (Thing::Machine, Action::Create | Action::Change | Action::Keep) => {
                let machine = wanted.machines.iter().find(|machine| machine.object.name == step.name);
                match machine.map(|machine| machine.role.as_str()) {
                    Some("bootstrap") => Self::Bootstrap,
                    Some("master") => Self::ControlPlane,
                    _ => Self::Workers,
                }
            }
            _ => Self::Media,
        }
    }
}

/// Everything that steps are taken with.
#[derive(Clone, Copy)]
pub struct Hands<'a> {
    /// The way to libvirt.
    pub virsh: Virsh<'a>,
    /// What the closure asks for.
    pub wanted: &'a Wanted,
    /// What is kept beside the cluster's files.
    pub state: &'a State,
    /// What this process may do.
    pub access: Access,
    /// What to do if the node OS is not here.
    pub no_image: &'a str,
    /// Who is told what happens.
    pub events: &'a dyn Events,
}

/// What was done.
#[derive(Debug, Clone, Serialize)]
pub struct Applied {
    /// The closure.
    pub closure: String,
    /// The phases.
    pub phases: Vec<Phase>,
    /// The steps that were taken, without those that did nothing.
    pub steps: Vec<Step>,
}

impl Hands<'_> {
    /// What would be done now.
    pub fn plan(&self) -> Result<Plan, RealizeError> {
        let host = Host::look(self.virsh, self.wanted, self.state, self.access)?;
        Ok(Plan::make(self.virsh.uri, self.wanted, &host, self.state, self.access, self.no_image))
    }

    /// Takes the steps of these phases. With `yes`, disks may be lost.
    pub fn apply(&self, phases: &[Phase], yes: bool) -> Result<Applied, RealizeError> {
        let _held = self.state.lock()?;
        let plan = self.plan()?;
        if !plan.obstacles.is_empty() {
            return Err(RealizeError::Obstacles { obstacles: plan.obstacles });
        }
        let mine = |step: &&Step| phases.contains(&Phase::of(step, self.wanted));
        let lost: Vec<String> = plan
            .steps
            .iter()
            .filter(mine)
            .filter(|step| step.destroys)
            .map(|step| step.name.clone())
            .collect();
        if !lost.is_empty() && !yes {
            return Err(RealizeError::Confirm { disks: lost });
        }
        let closure = self.wanted.closure.display().to_string();
        let mut journal = self.state.journal()?.filter(|last| last.closure == closure).unwrap_or_default();
        journal = Journal { closure: closure.clone(), uri: self.virsh.uri.to_owned(), ..journal };
        let mut done = Vec::new();
        for phase in phases {
            journal.begun = Some(*phase);
            journal.finished.retain(|finished| finished < phase);
            self.state.write(&journal)?;
            done.extend(self.phase(*phase)?);
            journal.finished.push(*phase);
            self.state.write(&journal)?;
        }
        Ok(Applied { closure, phases: phases.to_vec(), steps: done })
    }

    /// One phase, after another look: the one before may have changed what there is to do.
    fn phase(&self, phase: Phase) -> Result<Vec<Step>, RealizeError> {
        let plan = self.plan()?;
        let steps: Vec<Step> = plan
            .steps
            .into_iter()
            .filter(|step| step.action != Action::Keep && Phase::of(step, self.wanted) == phase)
            .collect();
        // Nodes do not need each other; what they share comes first, what is removed last.
        let (together, one_by_one): (Vec<&Step>, Vec<&Step>) = steps
            .iter()
            .partition(|step| step.action.makes() && matches!(step.thing, Thing::Medium | Thing::Machine));
        let (removed, first): (Vec<&Step>, Vec<&Step>) =
            one_by_one.into_iter().partition(|step| step.action == Action::Remove);
        first.into_iter().try_for_each(|step| self.take(phase, step))?;
        together.into_par_iter().try_for_each(|step| self.take(phase, step))?;
        removed.into_iter().try_for_each(|step| self.take(phase, step))?;
        Ok(steps)
    }

    fn take(&self, phase: Phase, step: &Step) -> Result<(), RealizeError> {
        let began = Instant::now();
        match step.action {
            Action::Remove => self.remove(step)?,
            _ => self.make(step)?,
        }
        self.events.emit(Event::Step {
            phase: phase.as_str(),
            action: step.action.as_str(),
            thing: step.thing.as_str(),
            name: step.name.clone(),
            milliseconds: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
        });
        Ok(())
    }

    fn make(&self, step: &Step) -> Result<(), RealizeError> {
        let pool = &self.wanted.pool.uuid;
        let machine =
            |named: fn(&Machine) -> &str| self.wanted.machines.iter().find(|one| named(one) == step.name);
        match step.thing {
            Thing::Network => self.network(),
            Thing::Pool => self.pool(),
            Thing::Firewall => firewall::run(self.virsh, self.wanted, "open").map(drop),
            Thing::Balancer => self.balance(),
            Thing::Image => {
                self.wanted.base.as_ref().map_or(Ok(()), |base| volumes::bring(self.virsh, pool, base))
            }
            Thing::Medium => match machine(|one| &one.medium.name) {
                Some(machine) => volumes::bring(self.virsh, pool, &machine.medium),
                None => Ok(()),
            },
            Thing::Disk => match machine(|one| &one.disk.name) {
                Some(machine) => self.disk(machine),
                None => Ok(()),
            },
            Thing::Machine => match machine(|one| &one.object.name) {
                Some(machine) => self.machine(machine),
                None => Ok(()),
            },
        }
    }

    fn remove(&self, step: &Step) -> Result<(), RealizeError> {
        match step.thing {
            Thing::Machine => {
                self.stop(&step.name)?;
                self.virsh.ask(&["undefine", "--nvram", &step.name]).map(drop)
            }
            Thing::Network => self.off("net-destroy", &["net-undefine", &step.name]),
            Thing::Pool => self.off("pool-destroy", &["pool-undefine", &step.name]),
            _ => {
                volumes::remove(self.virsh, &self.wanted.pool.uuid, &volumes::whole(&step.name))?;
                volumes::remove(self.virsh, &self.wanted.pool.uuid, &step.name).map(drop)
            }
        }
    }

    /// Stops what may be stopped already, and forgets it.
    fn off(&self, stop: &str, forget: &[&str]) -> Result<(), RealizeError> {
        self.virsh.run(&[stop, forget[1]])?;
        self.virsh.ask(forget).map(drop)
    }

    /// Defines the network and starts it. One that runs has to be stopped for that, which cuts its machines off.
    fn network(&self) -> Result<(), RealizeError> {
        let (uuid, file) = (&self.wanted.network.uuid, self.wanted.network.file.display().to_string());
        if self.virsh.is_session() {
            return Err(RealizeError::NeedsRoot { what: "the network", commands: self.commands()? });
        }
        let host = Host::look(self.virsh, self.wanted, self.state, self.access)?;
        let found = host.networks.iter().find(|network| network.uuid == *uuid);
        let differs = found.is_none_or(|found| !self.wanted.network.xml.differences(&found.xml).is_empty());
        if let Some(found) = found.filter(|found| found.active && differs) {
            let ours = |machine: &&Machine| {
                host.machines.iter().any(|one| one.active && one.uuid == machine.object.uuid)
            };
            let running: Vec<String> =
                self.wanted.machines.iter().filter(ours).map(|one| one.object.name.clone()).collect();
            if !running.is_empty() {
                return Err(RealizeError::InUse { name: found.name.clone(), machines: running });
            }
            self.virsh.ask(&["net-destroy", uuid])?;
        }
        if differs {
            self.virsh.ask(&["net-define", &file])?;
        }
        if differs || found.is_none_or(|found| !found.active) {
            self.virsh.ask_for(START, &["net-start", uuid])?;
        }
        self.virsh.ask(&["net-autostart", uuid]).map(drop)
    }

    /// Defines the pool and starts it. Its files stay, whatever changes.
    fn pool(&self) -> Result<(), RealizeError> {
        let (uuid, file) = (&self.wanted.pool.uuid, self.wanted.pool.file.display().to_string());
        let found = match self.virsh.uuids(&["pool-list", "--all"])?.contains(uuid) {
            true => self.virsh.describe("pools", "pool-dumpxml", "pool", std::slice::from_ref(uuid))?.pop(),
            false => None,
        };
        let differs = found.is_none_or(|found| !self.wanted.pool.xml.differences(&found).is_empty());
        let active = self.virsh.uuids(&["pool-list"])?.contains(uuid);
        if differs {
            if active {
                self.virsh.ask(&["pool-destroy", uuid])?;
            }
            self.virsh.ask(&["pool-define", &file])?;
        }
        if differs || !active {
            self.virsh.ask(&["pool-build", uuid])?; // a directory that is there already stays
            self.virsh.ask(&["pool-start", uuid])?;
        }
        self.virsh.ask(&["pool-autostart", uuid]).map(drop)
    }

    fn balance(&self) -> Result<(), RealizeError> {
        if !self.access.may_listen() {
            return Err(RealizeError::NeedsRoot { what: "the load balancer", commands: self.commands()? });
        }
        let running = balancer::Balancer::look(self.state)?;
        balancer::start(self.virsh, self.state, &self.wanted.artifact("haproxy.cfg"), running.as_ref())
    }

    /// What the user has to run.
    fn commands(&self) -> Result<Vec<String>, RealizeError> {
        Ok(self.plan()?.privileged.into_iter().map(|one| one.command).collect())
    }

    /// Makes a disk, or makes it again: its machine does not run meanwhile.
    fn disk(&self, machine: &Machine) -> Result<(), RealizeError> {
        self.stop(&machine.object.uuid)?;
        volumes::remove(self.virsh, &self.wanted.pool.uuid, &machine.disk.name)?;
        volumes::create(self.virsh, &self.wanted.pool.uuid, &machine.disk, self.wanted.base.as_ref())
    }

    /// Defines a machine and starts it; one that runs and has to change is shut down first.
    fn machine(&self, machine: &Machine) -> Result<(), RealizeError> {
        let uuid = &machine.object.uuid;
        let found = self.virsh.uuids(&["list", "--all"])?.contains(uuid);
        let xml = match found {
            true => self.virsh.describe("machines", "dumpxml", "domain", std::slice::from_ref(uuid))?.pop(),
            false => None,
        };
        if xml.is_none_or(|xml| !machine.object.xml.differences(&xml).is_empty()) {
            if found {
                self.shut_down(uuid)?;
            }
            self.virsh.ask(&["define", &machine.object.file.display().to_string()])?;
        }
        match self.virsh.uuids(&["list"])?.contains(uuid) {
            true => Ok(()),
            false => self.virsh.ask_for(START, &["start", uuid]).map(drop),
        }
    }

    /// Asks a machine to end, and ends it if it does not.
    fn shut_down(&self, uuid: &String) -> Result<(), RealizeError> {
        let runs = || Ok::<_, RealizeError>(self.virsh.uuids(&["list"])?.contains(uuid));
        if !runs()? {
            return Ok(());
        }
        self.virsh.run(&["shutdown", uuid])?;
        let end = Instant::now() + SHUTDOWN;
        while runs()? {
            if Instant::now() > end || self.virsh.is_cancelled() {
                return self.stop(uuid);
            }
            std::thread::sleep(Duration::from_millis(500));
        }
        Ok(())
    }

    /// Cuts a machine's power, if it has any.
    pub(super) fn stop(&self, machine: &str) -> Result<(), RealizeError> {
        let ended = self.virsh.run(&["destroy", machine])?;
        let gone = ["domain is not running", "failed to get domain", "Domain not found"];
        match ended.is_success() || gone.iter().any(|words| ended.stderr.contains(words)) {
            true => Ok(()),
            false => Err(self.virsh.failed(&["destroy", machine], &ended)),
        }
    }
}
