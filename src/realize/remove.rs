//! `realize remove`: takes a node out of a running cluster, and removes its machine: exactly what `apply` made for it.
//!
//! 1. No new pods on the node, and an eviction for each that can run elsewhere, until they are gone.
//! 2. The machine is stopped and removed with its disk and its boot medium.
//! 3. Its Node is deleted, with the certificate requests that it made: after that nothing knows the old machine, and a new one may
//!    join under the same name.
//!
//! Every step can be repeated: a run that was interrupted continues where it ended.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;

use super::api::{ApiError, ApiPod, Client, Eviction};
use super::cluster::{CONFIG_MAPS, get_or_null};
use super::desired::DesiredMachine;
use super::error::minutes;
use super::wait::{Poll, Wait, WaitError};
use super::{ClusterAccess, Host, Phase, PlanStep, RealizeError, Realizer, Result, apply, phases};
use crate::base::event::Event;
use crate::base::process::ProcessError;

/// How long pods may take to leave, unless the user says otherwise.
const LIMIT: Duration = Duration::from_secs(20 * 60);
const POLL: Duration = Duration::from_secs(2);
/// How many pods a message names.
const NAMED: usize = 5;
/// Where the etcd operator lists the members of etcd.
const MEMBERS: (&str, &str) = ("openshift-etcd", "etcd-endpoints");

/// A node that was taken out of its cluster.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Removed {
    pub node: String,
    /// Its name in the API.
    pub name: String,
    /// Pods that were evicted, with their namespaces.
    pub evicted: Vec<String>,
    /// Whether the API had a Node of that name.
    pub joined: bool,
    /// What was removed from the host.
    pub steps: Vec<PlanStep>,
}

/// What a removal would do.
struct Removal {
    /// None if the API has no such Node.
    ready: Option<bool>,
    /// Pods that would be evicted.
    pods: Vec<ApiPod>,
    steps: Vec<PlanStep>,
}

/// Removes a node. With `yes`, its disk and pods that nothing recreates may be lost.
pub(crate) fn remove(realizer: &Realizer<'_>, machine: &DesiredMachine, yes: bool) -> Result<Removed> {
    let _held = realizer.state.lock()?;
    let (cluster, name) = member(realizer, machine)?;
    let client = cluster.client(realizer.runner.cancel)?;
    client.ready()?;
    if machine.is_master() {
        check_etcd(&client, cluster, machine)?;
    }
    let removal = plan(realizer, &client, machine, &name)?;
    if !yes && (removal.ready.is_some() || !removal.steps.is_empty()) {
        return Err(RealizeError::ConfirmRemoval { what: question(machine, &removal) });
    }
    let evicted = match removal.ready {
        Some(true) => drain(realizer, &client, &name)?,
        // Its kubelet does not answer, so its pods would never end; the cluster removes them with the Node.
        _ => Vec::new(),
    };
    for step in &removal.steps {
        apply::take(realizer, Phase::Media, step)?;
    }
    phases::forget_node(realizer, machine, "its machine is removed")?;
    let (node, joined) = (machine.node.clone(), removal.ready.is_some());
    Ok(Removed { node, name, evicted, joined, steps: removal.steps })
}

/// How to reach the cluster, and the node's name there.
fn member<'r>(realizer: &'r Realizer<'_>, machine: &DesiredMachine) -> Result<(&'r ClusterAccess, String)> {
    let refused = |message: String, hint: &str| RealizeError::NotRemovable { message, hint: hint.to_owned() };
    if machine.is_bootstrap() {
        let message = format!("`{}` is not a node of the cluster", machine.node);
        return Err(refused(
            message,
            "`tinderbox realize apply` removes it once the control plane has moved",
        ));
    }
    let known = realizer.cluster.and_then(|cluster| {
        let node = cluster.nodes.iter().find(|one| one.node == machine.node)?;
        Some((cluster, node.name.clone()))
    });
    known.ok_or_else(|| {
        refused(format!("the closure has no name for `{}`", machine.node), "`tinderbox build`")
    })
}

/// A master leaves only after its etcd member: with a member that never answers, the next failure costs the quorum.
fn check_etcd(client: &Client<'_>, cluster: &ClusterAccess, machine: &DesiredMachine) -> Result<()> {
    let (namespace, name) = MEMBERS;
    let members = get_or_null(client, CONFIG_MAPS, Some(namespace), name)?;
    let members = members["data"].as_object();
    let ips = cluster.nodes.iter().find(|one| one.node == machine.node).map(|one| one.ips.as_slice());
    // An address that cannot be read may be this one.
    let is_its = |value: &serde_json::Value| {
        let text = value.as_str().unwrap_or_default().trim_matches(['[', ']']);
        text.parse::<IpAddr>().map_or(true, |found| ips.unwrap_or_default().contains(&found))
    };
    let reason = match members.filter(|members| !members.is_empty()) {
        Some(members) if !members.values().any(is_its) => return Ok(()),
        Some(_) => "etcd still has its member",
        None => "the cluster does not say which members etcd has",
    };
    Err(RealizeError::NotRemovable {
        message: format!("`{}` is a master, and {reason}", machine.node),
        hint: format!(
            "remove the member first, in a pod of etcd on another master: `etcdctl member list`, `etcdctl member remove ID`; the etcd \
             operator then takes it off the ConfigMap `{namespace}/{name}`. A cluster needs three masters: let a new one join soon"
        ),
    })
}

fn plan(
    realizer: &Realizer<'_>,
    client: &Client<'_>,
    machine: &DesiredMachine,
    name: &str,
) -> Result<Removal> {
    let ready = client.nodes()?.iter().find(|node| node.name == name).map(|node| node.ready);
    let pods = if ready.is_some() { evictable(client.pods_on(name)?) } else { Vec::new() };
    let steps = Host::read(realizer)?.inventory.removal_of(machine);
    Ok(Removal { ready, pods, steps })
}

/// Those that can and should leave.
fn evictable(pods: Vec<ApiPod>) -> Vec<ApiPod> {
    pods.into_iter().filter(|pod| !pod.is_bound && !pod.is_ending).collect()
}

/// What the user has to agree to.
fn question(machine: &DesiredMachine, removal: &Removal) -> String {
    let mut parts = Vec::new();
    let pods = |count: usize| if count == 1 { "1 pod".to_owned() } else { format!("{count} pods") };
    match removal.ready {
        Some(true) => parts.push(format!("{} would be evicted", pods(removal.pods.len()))),
        Some(false) => parts.push("it is not ready, so its pods would be given up".to_owned()),
        None => parts.push("it is not in the API".to_owned()),
    }
    let lost: Vec<&ApiPod> = removal.pods.iter().filter(|pod| !pod.is_controlled).collect();
    if !lost.is_empty() {
        parts.push(format!("nothing would recreate {}", names(lost.iter().map(|pod| pod.full_name()))));
    }
    if removal.steps.iter().any(|step| step.destroys) {
        parts.push("the content of its disk would be lost".to_owned());
    }
    format!("`{}` would leave the cluster: {}", machine.node, parts.join("; "))
}

/// Some names, and how many more there are.
fn names(all: impl ExactSizeIterator<Item = String>) -> String {
    let more = all.len().saturating_sub(NAMED);
    let mut named: Vec<String> = all.take(NAMED).map(|name| format!("`{name}`")).collect();
    if more > 0 {
        named.push(format!("{more} more"));
    }
    named.join(", ")
}

/// Lets no new pods onto a node, and evicts those that can leave until they are gone; returns their names.
fn drain(realizer: &Realizer<'_>, client: &Client<'_>, name: &str) -> Result<Vec<String>> {
    client.cordon(name)?;
    let limit = realizer.limit.unwrap_or(LIMIT);
    let wait = Wait { limit, interval: POLL, cancel: realizer.runner.cancel };
    let mut evicted = BTreeSet::new();
    let mut poll = || -> Result<Poll<()>, ApiError> {
        let pods: Vec<ApiPod> = client.pods_on(name)?.into_iter().filter(|pod| !pod.is_bound).collect();
        let mut blocked = Vec::new();
        for pod in evictable(pods.clone()) {
            match client.evict(&pod)? {
                Eviction::Accepted => drop(evicted.insert(pod.full_name())),
                Eviction::Blocked(why) => blocked.push(format!("{}: {why}", pod.full_name())),
            }
        }
        // A pod that was evicted ends in its own time.
        let left = evicted.iter().filter(|name| pods.iter().any(|pod| pod.full_name() == **name)).count();
        Ok(match (left, blocked.is_empty()) {
            (0, true) => Poll::Ready(()),
            (_, true) => Poll::Pending(format!("{left} pods are ending")),
            (_, false) => Poll::Pending(format!("{left} pods are ending; blocked: {}", blocked.join("; "))),
        })
    };
    let poll = || match poll() {
        Err(error) if error.is_transient() => Ok(Poll::Pending(error.to_string())),
        polled => polled,
    };
    let what = format!("the pods of {name} to leave");
    let report = |seen: &str, elapsed: Duration| {
        let what = format!("{what} ({} of at most {})", minutes(elapsed), minutes(limit));
        realizer.events.emit(Event::Awaiting { what, seen: seen.to_owned() });
    };
    wait.until(poll, report).map_err(|error| match error {
        WaitError::Failed(error) => error.into(),
        WaitError::Cancelled => ProcessError::Stopped.into(),
        WaitError::TimedOut { seen } => RealizeError::Undrained { node: name.to_owned(), limit, seen },
    })?;
    Ok(evicted.into_iter().collect())
}
