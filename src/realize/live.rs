//! What a machine meets that joins a running cluster, months after the closure was built: whether the cluster still trusts what it brings,
//! and still knows the configuration that it has.
//!
//! | question | how it is asked | what breaks otherwise |
//! |---|---|---|
//! | does the API present a certificate that the new kubelet trusts? | a connection with the kubelet's own kubeconfig | the kubelet never asks for its certificate |
//! | does the API take the kubelet's credential? | the same connection lists requests for certificates | the same |
//! | does the cluster have the rendered config that the node will say it has? | its MachineConfig | the node degrades: `rendered-… not found` |
//! | which one does its pool have? | its MachineConfigPool | nothing: the daemon brings it there, with one more reboot |
//! | which release does the cluster run? | its ClusterVersion | nothing: the same |

use serde_json::Value;

use super::api::{ApiError, Client, Gvr};
use super::cluster::{VERSIONS, get_or_null};
use super::desired::DesiredMachine;
use super::obstacles::{Obstacle, obstacle};
use super::{ClusterAccess, Host, RealizePlan, Realizer};
use crate::base::fs;
use crate::base::hint::chain;
use crate::openshift::ignition::{Config, Contents};

const MACHINE_CONFIGS: Gvr = Gvr::new("machineconfiguration.openshift.io", "v1", "machineconfigs");
const POOLS: Gvr = Gvr::new("machineconfiguration.openshift.io", "v1", "machineconfigpools");
/// Where a node says which rendered config it has, and the annotation that says it.
const ANNOTATIONS: &str = "/etc/machine-config-daemon/node-annotations.json";
const CURRENT: &str = "machineconfiguration.openshift.io/currentConfig";

/// The kind of obstacle that says that cluster and closure do not trust each other.
const AUTHORITY: &str = "authority";

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub(super) obstacles: Vec<Obstacle>,
    pub(super) notes: Vec<String>,
}

/// Compares what booting machines bring with the cluster that they join. Nothing before the pivot, and nothing if the API is silent.
pub(super) fn compare(realizer: &Realizer<'_>, host: &Host<'_>, plan: &RealizePlan) -> Findings {
    let mut found = Findings::default();
    let Some(cluster) = realizer.cluster.filter(|_| plan.pivoted) else { return found };
    let boots = |machine: &&DesiredMachine| !machine.is_bootstrap() && host.inventory.boots_anew(machine);
    let joining: Vec<&DesiredMachine> = realizer.desired.machines.iter().filter(boots).collect();
    if joining.is_empty() {
        return found;
    }
    let Ok(client) = cluster.client(realizer.runner.cancel) else { return found };
    if let Err(error) = client.ready() {
        // While it is silent, nothing is known of it.
        let is_told = plan.obstacles.iter().any(|one| one.kind == AUTHORITY);
        let is_known = error.is_transient() || matches!(error, ApiError::Stopped) || is_told;
        found.obstacles.extend((!is_known).then(|| stranger(&error)));
        return found;
    }
    for machine in &joining {
        found.obstacles.extend(credential(realizer, cluster, machine));
        rendered(realizer, &client, machine, &mut found);
    }
    found.notes.extend(release(realizer, &client));
    found
}

/// Whoever answers there is not the cluster of this closure, or its authorities have changed.
pub(super) fn stranger(error: &ApiError) -> Obstacle {
    obstacle(
        AUTHORITY,
        error.to_string(),
        "the authorities of the live cluster are not those of this closure, or another cluster has the address: build with the seed, \
         lock and generation that made it, or replace its root CA in cluster.yaml (`pki.authorities`)",
    )
}

/// The kubelet's own way in: with its kubeconfig, at the API's address.
fn credential(
    realizer: &Realizer<'_>,
    cluster: &ClusterAccess,
    machine: &DesiredMachine,
) -> Option<Obstacle> {
    let node = &machine.node;
    let file =
        realizer.desired.closure.join("kubeconfigs").join(format!("kubelet-bootstrap-{node}.kubeconfig"));
    let kubeconfig = fs::read_text(&file).ok()?;
    let asked = Client::new(&kubeconfig, &cluster.api, realizer.runner.cancel);
    let error = asked.and_then(|client| client.requests().map(drop)).err()?;
    let (what, hint) = match &error {
        ApiError::Untrusted { .. } => (
            "the kubelet would not trust the API",
            "the cluster's authorities have changed since the closure was built: add the current ones of `oc -n openshift-config-managed get \
             configmap kube-apiserver-server-ca -o yaml` to the node's kubeconfig with a patch of its Ignition"
                .to_owned(),
        ),
        ApiError::Unauthorized { .. } => (
            "the API would not take the kubelet's credential",
            format!(
                "`tinderbox renew kubelet-bootstrap-{node}` issues a new one; if that changes nothing, the cluster no longer trusts \
                 the authority that signs it"
            ),
        ),
        ApiError::Forbidden { .. } => (
            "the kubelet could not ask for its certificate",
            "the cluster needs the ClusterRoleBinding of group `system:bootstrappers` to `system:node-bootstrapper`".to_owned(),
        ),
        _ => return None,
    };
    Some(obstacle(AUTHORITY, format!("`{node}` could not join: {what}: {}", chain(&error)), hint))
}

/// The rendered config that the node will say it has.
fn rendered(realizer: &Realizer<'_>, client: &Client<'_>, machine: &DesiredMachine, found: &mut Findings) {
    let Some(own) = current_config(realizer, &machine.node) else { return };
    let pool = if machine.is_master() { "master" } else { "worker" };
    let Ok(live) = get_or_null(client, POOLS, None, pool) else { return };
    let Some(theirs) = live["spec"]["configuration"]["name"].as_str().filter(|name| !name.is_empty()) else {
        return;
    };
    if theirs == own {
        return;
    }
    match get_or_null(client, MACHINE_CONFIGS, None, &own) {
        Ok(Value::Null) => {
            let message = format!(
                "`{}` would degrade: its configuration is {own}, which the cluster does not have; pool `{pool}` has {theirs}",
                machine.node
            );
            let hint = format!(
                "build from the files that made the cluster, without later changes to its manifests; if the config was pruned, `oc apply` \
                 the one of `tinderbox show mco/{pool}:machine-config.json` again. `tinderbox drift` shows what differs"
            );
            found.obstacles.push(obstacle("rendered", message, hint));
        }
        Ok(_) => found.notes.push(format!(
            "`{}` joins with {own}; the machine-config daemon then brings it to {theirs}, the current one of pool `{pool}`, with one more \
             reboot",
            machine.node
        )),
        Err(_) => {}
    }
}

/// The rendered config in a node's own Ignition.
fn current_config(realizer: &Realizer<'_>, node: &str) -> Option<String> {
    let file = realizer.desired.closure.join("ignition").join(format!("{node}.ign"));
    let config = Config::parse(&fs::read_text(&file).ok()?).ok()?;
    let Contents::Bytes(bytes) = config.files.get(ANNOTATIONS).map(Contents::of)?.ok()? else { return None };
    let annotations: Value = serde_json::from_slice(&bytes).ok()?;
    Some(annotations[CURRENT].as_str()?.to_owned())
}

/// What the cluster runs, if that is not the closure's release.
fn release(realizer: &Realizer<'_>, client: &Client<'_>) -> Option<String> {
    let ours = realizer.version?;
    let live = get_or_null(client, VERSIONS, None, "version").ok()?;
    let theirs = live["status"]["desired"]["version"].as_str().filter(|theirs| *theirs != ours)?;
    Some(format!(
        "the cluster runs {theirs}, and the closure is {ours}: a new machine boots the node OS and the kubelet of {ours} first, and the \
         machine-config daemon updates it once it has joined; its images must still be in the registry"
    ))
}
