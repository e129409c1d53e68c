//! Rules between fields that are no boot facts: what must be there once, what excludes what. They cannot be disabled,
//! because the model relies on them.

use std::collections::BTreeMap;

use super::fragment::{Fragment, join};
use super::given::Given;
use super::inputs::Inputs;
use super::words::{Architecture, Role};
use crate::base::hint::{Problem, Problems};

/// Applies all of them.
pub(super) fn run(inputs: &Inputs<'_>, problems: &mut Problems) {
    for rule in
        [bootstrap, names, macs, not_empty, proxy, mirrors, features, architecture, fips, bridge, session]
    {
        rule(inputs, problems);
    }
}

fn push(problems: &mut Problems, problem: Problem, hint: &str) {
    problems.push(problem.hint(Some(hint.to_owned())));
}

/// Exactly one bootstrap node; a single-node cluster has one too.
fn bootstrap(inputs: &Inputs<'_>, problems: &mut Problems) {
    let mut bootstraps = inputs.nodes.iter().filter(|node| node.role == Some(Role::Bootstrap));
    let first = bootstraps.next();
    let unknown = inputs.nodes.iter().any(|node| node.role.is_none());
    if first.is_none() && !unknown && inputs.cluster.wrote("nodes") {
        let problem = inputs.cluster.problem("nodes", "no node has `role: bootstrap`");
        push(problems, problem, "list one: it runs the first control plane and is removed afterwards");
    }
    for another in bootstraps {
        let problem = inputs.cluster.problem(&join(&another.field, "role"), "a second bootstrap node");
        push(problems, problem, "a cluster is bootstrapped by exactly one node");
    }
}

/// Files in `infra/` beside those of the nodes.
const INFRA: [&str; 5] = ["firewall", "haproxy", "haproxy-pivoted", "network", "pool"];

/// Host names that the cluster needs itself, names of its other artifacts, and names that could be taken for an index.
fn names(inputs: &Inputs<'_>, problems: &mut Problems) {
    for node in &inputs.nodes {
        let Some(name) = node.given.get::<String>("name") else { continue };
        let etcd = name.strip_prefix("etcd-").is_some_and(|index| index.parse::<usize>().is_ok());
        if etcd || matches!(name.as_str(), "api" | "api-int" | "apps") {
            let problem = inputs
                .cluster
                .problem(&join(&node.field, "name"), format!("`{name}` is a name of the cluster itself"));
            push(problems, problem, "its DNS record points elsewhere: choose another name");
        } else if INFRA.contains(&name.as_str()) {
            let problem =
                inputs.cluster.problem(&join(&node.field, "name"), format!("`{name}` is no name for a node"));
            push(problems, problem, &format!("`infra/{name}` is another artifact: choose another name"));
        } else if name.bytes().all(|b| b.is_ascii_digit()) {
            let problem = inputs.cluster.problem(&join(&node.field, "name"), format!("`{name}` is a number"));
            push(problems, problem, "begin it with a letter: field paths could not tell it from an index");
        }
    }
}

/// No MAC address twice.
fn macs(inputs: &Inputs<'_>, problems: &mut Problems) {
    let mut first: BTreeMap<&str, &str> = BTreeMap::new();
    for node in &inputs.nodes {
        let Some(mac) = node.given.get::<String>("mac") else { continue };
        match first.get(mac.as_str()) {
            Some(other) => {
                let problem = inputs
                    .cluster
                    .problem(&join(&node.field, "mac"), format!("`{mac}` is also the MAC of `{other}`"));
                push(
                    problems,
                    problem,
                    "give every node its own, or leave it out: it then follows from the seed",
                );
            }
            None => {
                first.insert(mac, &node.field);
            }
        }
    }
}

/// Lists that say something must not be empty.
fn not_empty(inputs: &Inputs<'_>, problems: &mut Problems) {
    let mut check = |file: &Fragment, field: &str, given: Option<&Given>| {
        if matches!(given, Some(Given::List(items)) if items.is_empty()) && !has_elements(file, field) {
            push(problems, file.problem(field, "the list is empty"), "give at least one element");
        }
    };
    for field in ["vips.api", "vips.ingress", "network.gateway", "network.dns", "nodes"] {
        check(inputs.cluster, field, inputs.cluster.given.at(field));
    }
    for field in ["networking.machineNetwork", "networking.clusterNetwork", "networking.serviceNetwork"] {
        check(inputs.install, field, inputs.install.given.at(field));
    }
    for node in &inputs.nodes {
        check(inputs.cluster, &join(&node.field, "ip"), node.given.at("ip"));
    }
}

/// Whether elements were written, all of them wrongly: that is on record already.
fn has_elements(file: &Fragment, field: &str) -> bool {
    file.wrote(&join(field, "0")) || file.wrote(&join(field, "0.cidr"))
}

/// A proxy needs a URL.
fn proxy(inputs: &Inputs<'_>, problems: &mut Problems) {
    let wrote = |field| inputs.wrote(field);
    if wrote("proxy") && !wrote("proxy.httpProxy") && !wrote("proxy.httpsProxy") {
        let problem = inputs.install.problem("proxy", "neither `httpProxy` nor `httpsProxy` is given");
        push(problems, problem, "give one of them, or remove `proxy`");
    }
}

/// One list of mirrors, under one name.
fn mirrors(inputs: &Inputs<'_>, problems: &mut Problems) {
    if inputs.wrote("imageContentSources") && inputs.wrote("imageDigestSources") {
        let problem = inputs.install.problem("imageContentSources", "given beside `imageDigestSources`");
        push(problems, problem, "move its entries to `imageDigestSources`");
    }
    for index in 0..inputs.install.list("imageContentSources").len() {
        let field = format!("imageContentSources.{index}.sourcePolicy");
        if inputs.wrote(&field) {
            push(
                problems,
                inputs.install.problem(&field, "unknown under this old name"),
                "use `imageDigestSources`",
            );
        }
    }
}

/// Single gates only in the set that allows them.
fn features(inputs: &Inputs<'_>, problems: &mut Problems) {
    let custom = inputs.install.text("featureSet") == Some("CustomNoUpgrade");
    if !inputs.install.list("featureGates").is_empty() && !custom {
        let problem = inputs
            .install
            .problem("featureGates", "gates are given, but featureSet is not `CustomNoUpgrade`");
        push(problems, problem, "set `featureSet: CustomNoUpgrade`, or remove the gates");
    }
}

/// One architecture for all.
fn architecture(inputs: &Inputs<'_>, problems: &mut Problems) {
    let compute = inputs.install.list("compute").first().and_then(|pool| pool.get("architecture"));
    let control_plane = inputs.install.get("controlPlane.architecture");
    let pools = [("controlPlane.architecture", control_plane), ("compute.worker.architecture", compute)];
    let all = inputs.cluster.get("architecture").or(control_plane).unwrap_or(&Architecture::Amd64);
    for (field, pool) in pools {
        if let Some(pool) = pool.filter(|pool| *pool != all) {
            let message =
                format!("`{}`, but the cluster's architecture is `{}`", pool.as_str(), all.as_str());
            let problem = inputs.install.problem(field, message);
            push(
                problems,
                problem,
                "all nodes have one architecture: set it in cluster.yaml, or nowhere for amd64",
            );
        }
    }
}

/// FIPS mode knows no Ed25519.
fn fips(inputs: &Inputs<'_>, problems: &mut Problems) {
    let keys = inputs.install.get::<Vec<String>>("sshKey").map_or(&[][..], Vec::as_slice);
    let ed25519 = keys.iter().any(|key| key.starts_with("ssh-ed25519") || key.starts_with("sk-ssh-ed25519"));
    if inputs.install.get("fips") == Some(&true) && ed25519 {
        let problem = inputs.install.problem("sshKey", "an Ed25519 key does not work on nodes in FIPS mode");
        push(problems, problem, "use an ECDSA or RSA key");
    }
}

/// The default bridge name must be distinguishable: 15 characters are what the kernel allows.
fn bridge(inputs: &Inputs<'_>, problems: &mut Problems) {
    let name = inputs.install.text("metadata.name").unwrap_or_default();
    let given = |field| inputs.cluster.given.at(field).is_some();
    if given("libvirt") && !given("libvirt.bridge") && name.len() > 9 {
        let problem =
            inputs.cluster.problem("libvirt", format!("`virbr-{name}` is too long for the name of a bridge"));
        push(problems, problem, "set `libvirt.bridge`, at most 15 characters");
    }
}

/// What runs without root has its files elsewhere, and nobody here knows the user's home.
fn session(inputs: &Inputs<'_>, problems: &mut Problems) {
    let uri = inputs.cluster.text("libvirt.uri").unwrap_or_default();
    if uri.split('?').next().unwrap_or_default().ends_with("/session")
        && !inputs.cluster.wrote("libvirt.path")
    {
        let problem = inputs.cluster.problem("libvirt.uri", "a session needs a directory of its own");
        push(problems, problem, "set `libvirt.path` to one that you may write to");
    }
}
