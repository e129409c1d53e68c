//! libvirt as a provider of machines.

use std::sync::OnceLock;
use std::time::Duration;

use super::connection::Connection;
use super::consoles::{ConsoleLogs, ConsoleSource};
use super::definitions::{DefinedMachine, Definitions};
use super::{
    Inventory as Found, Neighbours, documents, machines, obsolete, obstacles, plan, privileged, resources,
};
use crate::base::process::ProgramRunner;
use crate::realize::desired::DesiredMachine;
use crate::realize::external::Boot;
use crate::realize::obstacles::Obstacle;
use crate::realize::plan::PlanStep;
use crate::realize::provider::{
    Consoles, Document, Inventory, MachineState, Program, Provider, Removing, SshTarget,
};
use crate::realize::ssh::SshError;
use crate::realize::{HostAccess, RealizePlan, Result, StateDir};

/// libvirt at a connection URI, and what it should have.
pub(crate) struct Libvirt<'a> {
    connection: Connection<'a>,
    state: &'a StateDir,
    definitions: &'a Definitions,
}

/// What libvirt had when it was read.
struct Observation<'a> {
    of: &'a Libvirt<'a>,
    found: Found,
    /// Read when the first machine is asked for.
    neighbours: OnceLock<Option<Neighbours>>,
}

impl<'a> Libvirt<'a> {
    pub(crate) fn new(
        runner: ProgramRunner<'a>,
        uri: &'a str,
        state: &'a StateDir,
        definitions: &'a Definitions,
    ) -> Self {
        Self { connection: Connection::new(runner, uri), state, definitions }
    }

    /// Whether libvirt runs on this machine.
    pub(crate) fn is_local(&self) -> bool {
        self.connection.is_local()
    }

    /// Whether this is a user's own libvirt, which has no networks.
    pub(crate) fn is_session(&self) -> bool {
        self.connection.is_session()
    }

    fn read(&self) -> Result<Found> {
        Found::read(self.connection, self.definitions)
    }
}

impl Provider for Libvirt<'_> {
    fn uri(&self) -> &str {
        self.connection.uri()
    }

    fn inventory(&self) -> Result<Box<dyn Inventory + '_>> {
        Ok(Box::new(Observation { of: self, found: self.read()?, neighbours: OnceLock::new() }))
    }

    fn node_of(&self, step: &PlanStep) -> Option<&str> {
        plan::machine_of(step, self.definitions).map(|machine| machine.desired.node.as_str())
    }

    fn create(&self, step: &PlanStep) -> Result<()> {
        resources::create(self.connection, self.definitions, step)
    }

    fn remove(&self, step: &PlanStep, _: Option<Duration>) -> Result<()> {
        resources::remove(self.connection, self.definitions, step)
    }

    fn record_pivot(&self) -> PlanStep {
        plan::record_pivot()
    }

    fn ssh_target(&self, machine: &DesiredMachine) -> Result<SshTarget> {
        let Some(machine) = self.definitions.machine(&machine.node) else {
            return Err(SshError::NoMachine { node: machine.node.clone() }.into());
        };
        machines::ssh_target(self.connection, self.definitions, machine)
    }

    fn consoles(&self, is_answering: bool, access: HostAccess) -> Option<Box<dyn Consoles + '_>> {
        let source = ConsoleSource::choose(self.connection, self.state, is_answering, access)?;
        Some(Box::new(ConsoleLogs { source, infrastructure: &self.definitions.infrastructure }))
    }

    fn privileged_to_apply(&self, steps: &[PlanStep], access: HostAccess) -> Vec<(String, &'static str)> {
        privileged::to_apply(self.definitions, steps, access)
    }

    fn privileged_to_remove(&self) -> Vec<(String, &'static str)> {
        privileged::to_remove_network(self.definitions).into()
    }

    fn destroy_machines(&self, removed: Removing<'_>) -> Result<Option<String>> {
        resources::destroy_machines(self.connection, self.definitions, &self.read()?, removed)
    }

    fn destroy_network(&self, removed: Removing<'_>) -> Result<bool> {
        resources::destroy_network(self.connection, self.definitions, &self.read()?, removed)
    }

    fn programs(&self) -> &'static [Program] {
        documents::PROGRAMS
    }

    fn version(&self) -> Option<Document> {
        Some(documents::version(self.connection))
    }

    fn documents(&self) -> Vec<Document> {
        documents::documents(self.connection, self.definitions)
    }
}

impl Observation<'_> {
    fn machine(&self, machine: &DesiredMachine) -> Option<&DefinedMachine> {
        self.of.definitions.machine(&machine.node)
    }
}

impl Inventory for Observation<'_> {
    fn plan_shared(&self) -> Vec<PlanStep> {
        plan::shared(self.of.definitions, &self.found)
    }

    fn plan_machines(&self, pivoted: bool) -> Vec<PlanStep> {
        plan::machines(self.of.definitions, &self.found, pivoted)
    }

    fn removal_of(&self, machine: &DesiredMachine) -> Vec<PlanStep> {
        self.machine(machine).map(|machine| obsolete::removal_of(machine, &self.found)).unwrap_or_default()
    }

    fn boots_anew(&self, machine: &DesiredMachine) -> bool {
        self.machine(machine).is_some_and(|machine| plan::boots_anew(machine, &self.found))
    }

    fn obstacles(&self, plan: &RealizePlan, no_image: &str) -> Vec<Obstacle> {
        obstacles::find(self.of.definitions, &self.found, plan, no_image)
    }

    fn boots(&self, _: bool) -> Vec<Boot> {
        Vec::new()
    }

    fn is_pivot_recorded(&self) -> bool {
        self.found.is_pivot_recorded()
    }

    fn is_network_active(&self) -> Option<bool> {
        Some(self.found.is_network_active(self.of.definitions))
    }

    fn is_running(&self, machine: &DesiredMachine) -> bool {
        self.machine(machine).is_some_and(|machine| self.found.is_running(machine))
    }

    fn state_of(&self, machine: &DesiredMachine) -> Result<MachineState> {
        let Some(machine) = self.machine(machine) else {
            return Err(SshError::NoMachine { node: machine.node.clone() }.into());
        };
        let neighbours = self.neighbours.get_or_init(|| Neighbours::read(self.of.connection));
        machines::state_of(self.of.connection, machine, &self.found, neighbours.as_ref())
    }

    fn has_console(&self, machine: &DesiredMachine) -> bool {
        self.machine(machine).is_some_and(|machine| self.found.has_console(machine))
    }
}
