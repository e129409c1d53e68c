//! What creates machines, as the rest of `realize` sees it: one trait for what can be done with machines, one for a look at them.
//!
//! | | libvirt | machines of the user's own |
//! |---|---|---|
//! | a step | takes it | says what the user has to do, and waits where that can be seen |
//! | an inventory | what libvirt has | what the cluster's API says, and what `state` keeps of earlier runs |
//! | consoles | logs in the pool | none |
//!
//! Invariant: steps can be repeated, and an inventory changes nothing.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use super::desired::DesiredMachine;
use super::obstacles::Obstacle;
use super::plan::PlanStep;
use super::{HostAccess, RealizePlan, Result};

/// A file of the archive of `realize gather`, and its content.
pub(crate) type Document = (String, Result<String>);
/// A file of that archive, and the program and arguments that print it.
pub(crate) type Program = (&'static str, &'static str, &'static [&'static str]);
/// Told kind and name of everything that is removed.
pub(crate) type Removing<'a> = &'a mut dyn FnMut(&str, &str);

/// What creates machines.
pub(crate) trait Provider: Sync {
    /// Where the machines are: a connection URI, or `external`.
    fn uri(&self) -> &str;

    /// What there is now.
    fn inventory(&self) -> Result<Box<dyn Inventory + '_>>;

    /// The node that a step is about, if it is about one.
    fn node_of(&self, step: &PlanStep) -> Option<&str>;

    /// Creates or changes what a step names.
    fn create(&self, step: &PlanStep) -> Result<()>;

    /// Removes what a step names. Whoever else has to do it may take until `limit`.
    fn remove(&self, step: &PlanStep, limit: Option<Duration>) -> Result<()>;

    /// The step that records the pivot, from which on a plan has no bootstrap machine.
    fn record_pivot(&self) -> PlanStep;

    /// A phase has ended: keeps what cannot be seen later.
    fn remember(&self) -> Result<()> {
        Ok(())
    }

    /// What ssh has to know besides a node's address. An error if its machine does not run.
    fn ssh_target(&self, machine: &DesiredMachine) -> Result<SshTarget>;

    /// How consoles are read; none if they cannot be.
    fn consoles(&self, is_answering: bool, access: HostAccess) -> Option<Box<dyn Consoles + '_>>;

    /// Commands that need root, with their reasons.
    fn privileged_to_apply(&self, steps: &[PlanStep], access: HostAccess) -> Vec<(String, &'static str)>;

    /// Commands that remove what only root can.
    fn privileged_to_remove(&self) -> Vec<(String, &'static str)>;

    /// Removes all machines of the cluster and their files. Returns what stays, and why.
    fn destroy_machines(&self, removed: Removing<'_>) -> Result<Option<String>>;

    /// Removes what the machines shared, unless only root can: then the answer is true.
    fn destroy_network(&self, removed: Removing<'_>) -> Result<bool>;

    /// Programs that print something for `realize gather`.
    fn programs(&self) -> &'static [Program];

    /// What the provider is; an error if it does not answer, and none if there is nothing that could.
    fn version(&self) -> Option<Document>;

    /// What it says about our machines.
    fn documents(&self) -> Vec<Document>;
}

/// What there was when it was read. Later changes do not show.
pub(crate) trait Inventory: Sync {
    /// Steps for what machines share.
    fn plan_shared(&self) -> Vec<PlanStep>;

    /// Steps for everything else: images, disks and machines, and what is no longer needed.
    fn plan_machines(&self, pivoted: bool) -> Vec<PlanStep>;

    /// Everything that one machine has, as steps that remove it.
    fn removal_of(&self, machine: &DesiredMachine) -> Vec<PlanStep>;

    /// Whether the machine boots anew, with nothing on its disk.
    fn boots_anew(&self, machine: &DesiredMachine) -> bool;

    /// What prevents the plan. `no_image` is what to do if the node OS is not here.
    fn obstacles(&self, plan: &RealizePlan, no_image: &str) -> Vec<Obstacle>;

    /// What the user has to boot, in order; empty where we do.
    fn boots(&self, pivoted: bool) -> Vec<super::external::Boot>;

    /// Whether the control plane once moved to the masters.
    fn is_pivot_recorded(&self) -> bool;

    /// Whether our network is active; none if the network is not ours.
    fn is_network_active(&self) -> Option<bool>;

    /// Whether the machine runs, as far as that is known.
    fn is_running(&self, machine: &DesiredMachine) -> bool;

    /// How a machine is doing.
    fn state_of(&self, machine: &DesiredMachine) -> Result<MachineState>;

    /// Whether a machine has written to a console that we can read.
    fn has_console(&self, machine: &DesiredMachine) -> bool;
}

/// How a machine is doing.
#[derive(Debug, Clone)]
pub(crate) struct MachineState {
    /// What the provider calls it.
    pub(crate) name: String,
    /// The provider's word (`running`, `shut off`); `missing` if it does not exist, `removed` after the pivot.
    pub(crate) state: String,
    /// Addresses that it was seen with.
    pub(crate) addresses: Vec<String>,
    /// The Ignition config that it was created with; none if it does not exist, or that is not known.
    pub(crate) created_with: Option<String>,
}

/// What ssh has to know besides a node's address.
pub(crate) struct SshTarget {
    /// The name that the host key is kept under.
    pub(crate) host_key_alias: String,
    /// The host between us and the node.
    pub(crate) jump_host: Option<String>,
}

/// Console logs of machines: files that grow while machines run.
pub(crate) trait Consoles {
    /// The files among which the logs are.
    fn files(&self) -> Result<BTreeSet<String>>;

    /// Bytes of a log; zero if it does not exist yet.
    fn size(&self, name: &str) -> Result<u64>;

    /// Calls `work` with a local file that has the log from byte `from` on, and the offset in it where that byte is.
    fn open(&self, name: &str, from: u64, work: &mut dyn FnMut(&Path, u64) -> Result<()>) -> Result<()>;
}

/// The name of a machine's current console log; rotated ones have a suffix.
pub(crate) fn log_of(node: &str) -> String {
    format!("{node}.log")
}

/// Reads a log with [`Consoles::open`], and returns what `work` found.
pub(crate) fn read_console<T>(
    consoles: &dyn Consoles,
    name: &str,
    from: u64,
    mut work: impl FnMut(&Path, u64) -> Result<T>,
) -> Result<Option<T>> {
    let mut found = None;
    consoles.open(name, from, &mut |path, at| {
        found = Some(work(path, at)?);
        Ok(())
    })?;
    Ok(found)
}
