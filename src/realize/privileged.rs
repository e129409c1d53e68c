//! What needs root, and why: commands that the user can read, and run.

use schemars::JsonSchema;
use serde::Serialize;

use super::load_balancer::{self, LoadBalancer};
use super::{PlanStep, Realizer, ResourceKind};

/// What this process may do on the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HostAccess {
    pub root: bool,
    /// Whether the host is this machine.
    pub local: bool,
    /// Whether there is a host to set up at all, here or elsewhere: none for machines of the user's own, unless this machine has the VIP.
    pub hosted: bool,
    /// Whether the provider runs as an ordinary user, who cannot create networks.
    pub session: bool,
    /// The lowest port that ordinary users may listen on.
    pub first_port: u32,
}

impl HostAccess {
    /// Whether this machine reaches nodes at their own addresses: from the host, or wherever the user's machines are.
    pub(super) fn reaches_nodes(self) -> bool {
        self.local || !self.hosted
    }

    /// Whether we may start the load balancer.
    pub(super) fn may_listen(self) -> bool {
        self.local && (self.root || self.first_port <= 80)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Privileged {
    /// For a shell.
    pub command: String,
    pub why: String,
}

/// What a plan needs: with `sudo` on this machine, unless we are root; on another, for its administrator.
pub(super) fn to_apply(
    realizer: &Realizer<'_>,
    steps: &[PlanStep],
    pivoted: bool,
    running: Option<&LoadBalancer>,
) -> Vec<Privileged> {
    let Realizer { provider, desired, state, access, .. } = *realizer;
    let mut all = provider.privileged_to_apply(steps, access);
    // Only root can see whether the firewall is open.
    let closed = |step: &PlanStep| step.resource == ResourceKind::Firewall && step.action.makes();
    if desired.has_firewall() && (!access.root || !access.local || steps.iter().any(closed)) {
        let why = "lets the nodes through the host's firewall, to the load balancer and the outside";
        all.push((format!("{} open", desired.artifact("firewall.sh").display()), why));
    }
    let is_running =
        steps.iter().any(|step| step.resource == ResourceKind::LoadBalancer && !step.action.makes());
    if access.hosted && !access.may_listen() && !is_running && desired.has_load_balancer() {
        let config = desired.haproxy_config(pivoted);
        let args = match access.local {
            true => load_balancer::arguments(state, &config, running),
            false => vec!["-D".into(), "-f".into(), config.display().to_string()],
        };
        let why = "the load balancer listens on ports 80 and 443, which need root";
        all.push((format!("haproxy {}", args.join(" ")), why));
    }
    commands(all, !access.root)
}

/// What is left after we have removed everything that we may.
pub(super) fn to_destroy(realizer: &Realizer<'_>, load_balancers: &[i32], network: bool) -> Vec<Privileged> {
    let Realizer { provider, desired, access, .. } = *realizer;
    let mut all: Vec<(String, &str)> =
        load_balancers.iter().map(|pid| (format!("kill {pid}"), "the load balancer runs as root")).collect();
    if access.local && !access.root && desired.has_firewall() {
        let script = desired.artifact("firewall.sh");
        all.push((format!("{} close", script.display()), "closes the firewall, if it was opened"));
    }
    if network {
        all.extend(provider.privileged_to_remove());
    }
    commands(all, true)
}

fn commands(all: Vec<(String, &str)>, sudo: bool) -> Vec<Privileged> {
    let command = |command: String| if sudo { format!("sudo {command}") } else { command };
    all.into_iter().map(|(text, why)| Privileged { command: command(text), why: why.to_owned() }).collect()
}
