//! What a run keeps for later ones, since nothing tells it later: which Ignition config a machine joined with, that the control plane
//! has moved, and that the bootstrap machine was switched off.
//!
//! `machines.json` in the [state directory](crate::realize::StateDir). To lose it costs only these answers: machines and pivot are seen in
//! the cluster's API.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::base::fs;
use crate::realize::{Result, StateDir};

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Ledger {
    pub(super) pivoted: bool,
    /// By node: the Ignition config that it joined with.
    #[serde(default)]
    joined: BTreeMap<String, String>,
    /// Nodes whose machine was switched off for good.
    #[serde(default)]
    off: Vec<String>,
}

impl Ledger {
    pub(super) fn read(state: &StateDir) -> Result<Self> {
        let text = fs::optional(fs::read_text(&state.machines()))?;
        Ok(text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default())
    }

    pub(super) fn write(&self, state: &StateDir) -> Result<()> {
        if Self::read(state)? == *self {
            return Ok(());
        }
        state.create()?;
        let text = serde_json::to_string_pretty(self).unwrap_or_default() + "\n";
        Ok(fs::replace(&state.machines(), text.as_bytes(), 0o600)?)
    }

    pub(super) fn ignition_of(&self, node: &str) -> Option<&str> {
        self.joined.get(node).map(String::as_str)
    }

    pub(super) fn is_off(&self, node: &str) -> bool {
        self.off.iter().any(|off| off == node)
    }

    /// A node joined with this config. Later ones change nothing about what is on its disk.
    pub(super) fn joined(&mut self, node: &str, ignition: &str) {
        self.off.retain(|off| off != node);
        self.joined.entry(node.to_owned()).or_insert_with(|| ignition.to_owned());
    }

    pub(super) fn switched_off(&mut self, node: &str) {
        self.joined.remove(node);
        if !self.is_off(node) {
            self.off.push(node.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_keeps_the_config_that_it_joined_with() {
        let mut ledger = Ledger::default();
        ledger.joined("worker-0", "a");
        ledger.joined("worker-0", "b");
        assert_eq!(ledger.ignition_of("worker-0"), Some("a"), "its disk is that of the first one");
        ledger.switched_off("worker-0");
        ledger.switched_off("worker-0");
        assert!(ledger.is_off("worker-0") && ledger.ignition_of("worker-0").is_none());
        ledger.joined("worker-0", "b");
        assert!(!ledger.is_off("worker-0"));
        assert_eq!(ledger.ignition_of("worker-0"), Some("b"), "a new machine in its place");
    }
}
