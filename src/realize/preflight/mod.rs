//! `realize preflight`: asks everything that a boot needs and that is not ours, before anything boots.
//!
//! | file | what it asks |
//! |---|---|
//! | `dns` | the nodes' own DNS servers: every name, and whether it leads where it should |
//! | `balancer` | the ports of the load balancer: whether somebody listens, and whether that is this cluster |
//! | `ntp` | the nodes' own time servers, from their Ignition configs, and how far this machine's clock is off |
//!
//! The registry is asked by the caller, with the access that the cluster's files define.
//!
//! Invariant: everything has a deadline, nothing is changed, and an answer never stops the others.

mod balancer;
mod dns;
mod ntp;

use std::net::IpAddr;

use schemars::JsonSchema;
use serde::Serialize;

use super::{Host, RealizeError, Realizer, Result};
use crate::base::event::Event;

/// Reads these bytes as the answer of a DNS server: for tests.
pub(crate) fn read_dns(bytes: &[u8]) {
    let _ = dns::parse(bytes);
}

/// What was asked for, and what came back.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub(crate) struct Preflight {
    /// Whether a boot can succeed, as far as this machine can tell.
    pub passed: bool,
    pub checks: Vec<PreflightCheck>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct PreflightCheck {
    pub area: Area,
    /// Who or what was asked.
    pub name: String,
    pub outcome: Outcome,
    /// What came back.
    pub detail: String,
    /// How to mend it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Area {
    Dns,
    LoadBalancer,
    Registry,
    Ntp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Outcome {
    Passed,
    /// It is not as it should be, and the cluster may come up all the same.
    Warning,
    Failed,
    /// It was not asked, or does not concern this cluster.
    Skipped,
}

/// What the caller knows besides the realizer.
pub(crate) struct Questions<'a> {
    /// The DNS servers of the nodes.
    pub servers: &'a [IpAddr],
    /// Asks the registry.
    pub registry: &'a (dyn Fn() -> Vec<PreflightCheck> + Sync),
}

impl Area {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Dns => "dns",
            Self::LoadBalancer => "balancer",
            Self::Registry => "registry",
            Self::Ntp => "ntp",
        }
    }
}

impl Outcome {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "ok",
            Self::Warning => "warning",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
        }
    }
}

impl PreflightCheck {
    pub(crate) fn new(area: Area, name: &str, outcome: Outcome, detail: impl Into<String>) -> Self {
        Self { area, name: name.to_owned(), outcome, detail: detail.into(), hint: None }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// Asks everything, all areas at once.
pub(crate) fn preflight(realizer: &Realizer<'_>, questions: &Questions<'_>) -> Result<Preflight> {
    let host = Host::read(realizer)?;
    // On libvirt, DNS and VIPs come with our network.
    let is_there = host.inventory.is_network_active() != Some(false);
    let not_yet = |area| {
        let detail = "our own network has it, and is not there yet";
        vec![PreflightCheck::new(area, "", Outcome::Skipped, detail)]
    };
    let mut checks = std::thread::scope(|scope| {
        let areas = [
            scope.spawn(|| match is_there {
                true => dns::ask(realizer, questions.servers),
                false => not_yet(Area::Dns),
            }),
            scope.spawn(|| match is_there {
                true => balancer::ask(realizer),
                false => not_yet(Area::LoadBalancer),
            }),
            scope.spawn(|| (questions.registry)()),
            scope.spawn(|| ntp::ask(realizer, questions.servers)),
        ];
        areas.into_iter().flat_map(|area| area.join().unwrap_or_default()).collect::<Vec<_>>()
    });
    checks.sort_by_key(|check| check.area);
    let passed = checks.iter().all(|check| check.outcome != Outcome::Failed);
    Ok(Preflight { passed, checks })
}

/// The same as a part of `apply`: what fails is an error, what is doubtful a warning.
pub(super) fn require(realizer: &Realizer<'_>, questions: &Questions<'_>) -> Result<()> {
    let Preflight { passed, checks } = preflight(realizer, questions)?;
    for one in checks.iter().filter(|check| check.outcome == Outcome::Warning) {
        let text = format!("{}: {}: {}", one.area.as_str(), one.name, one.detail);
        realizer.events.emit(Event::Warning { text });
    }
    let failed = || checks.into_iter().filter(|check| check.outcome == Outcome::Failed).collect();
    if passed { Ok(()) } else { Err(RealizeError::Preflight { checks: failed() }) }
}
