//! `realize destroy`: removes everything that `apply` created, and nothing else.

use schemars::JsonSchema;
use serde::Serialize;

use super::load_balancer::LoadBalancer;
use super::{Privileged, Realizer, Result, firewall, privileged};
use crate::base::event::Event;

#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub(crate) struct Destroyed {
    /// Kinds and names, in the order of removal.
    pub removed: Vec<(String, String)>,
    /// What was left, and why.
    pub left: Vec<String>,
    /// Commands that need root.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub privileged: Vec<Privileged>,
}

/// Removes everything that `apply` created.
pub(crate) fn destroy(realizer: &Realizer<'_>) -> Result<Destroyed> {
    let Realizer { provider, runner, desired, state, access, .. } = *realizer;
    let held = state.lock()?;
    let mut names = Vec::new();
    let mut removed = |kind: &str, name: &str| {
        names.push((kind.to_owned(), name.to_owned()));
        realizer.events.emit(Event::Step {
            phase: "destroy",
            action: "remove",
            resource: "",
            name: format!("{kind} {name}"),
            milliseconds: 0,
        });
    };
    let left = provider.destroy_machines(&mut removed)?;
    let mut others = Vec::new();
    for load_balancer in LoadBalancer::find_all(state)? {
        match load_balancer.stop(runner)? {
            true => removed("load balancer", "haproxy"),
            false => others.push(load_balancer.pid()),
        }
    }
    if access.root && access.local && desired.has_firewall() && firewall::missing(runner, desired).is_some() {
        firewall::run(runner, desired, "close")?;
    }
    let network = provider.destroy_network(&mut removed)?;
    let privileged = match !names.is_empty() || network || !others.is_empty() {
        true => privileged::to_destroy(realizer, &others, network),
        false => Vec::new(),
    };
    drop(held);
    state.remove()?;
    Ok(Destroyed { removed: names, left: left.into_iter().collect(), privileged })
}
