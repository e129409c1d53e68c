//! What is on the host: the provider's inventory, the firewall, the load balancer. Queried, never cached.

use std::net::SocketAddr;

use super::load_balancer::LoadBalancer;
use super::provider::Inventory;
use super::{Realizer, Result, firewall, ports};
use crate::base::fs;

pub(crate) struct Host<'a> {
    pub(super) inventory: Box<dyn Inventory + 'a>,
    /// Firewall rules that are missing; none if we may not ask.
    pub(super) closed: Option<Vec<String>>,
    /// The load balancer, if it runs here.
    pub(super) load_balancer: Option<LoadBalancer>,
    /// Addresses that the load balancer needs and other programs listen on; empty if it runs.
    pub(super) taken: Vec<SocketAddr>,
}

impl<'a> Host<'a> {
    pub(super) fn read(realizer: &Realizer<'a>) -> Result<Self> {
        let Realizer { provider, runner, desired, state, access, .. } = *realizer;
        let load_balancer = if access.local { LoadBalancer::find(state)? } else { None };
        let taken = match load_balancer.is_none() && access.may_listen() && desired.has_load_balancer() {
            true => {
                let config = fs::read_text(&desired.haproxy_config(false))?;
                ports::taken(&ports::binds(&config), &ports::listening())
            }
            false => Vec::new(),
        };
        Ok(Self {
            inventory: provider.inventory()?,
            closed: match access.root && access.local && desired.has_firewall() {
                true => firewall::missing(runner, desired),
                false => None,
            },
            taken,
            load_balancer,
        })
    }
}
