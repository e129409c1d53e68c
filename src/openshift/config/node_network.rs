//! Networks of nodes that describe their own: `networkConfig` and `interfaces`.

use super::checks::Findings;
use super::fragment::join;
use super::given::Given;
use super::inputs::{Inputs, NodeInput};
use crate::base::hint::{Problems, did_you_mean};
use crate::base::value::Value;
use crate::openshift::nmstate::{Port, Survey, keyfiles};

const DOCUMENT: &str = "networkConfig";
const PORTS: &str = "interfaces";

/// The ports of a node, each with its field.
pub(super) fn ports<'n>(
    inputs: &'n Inputs<'_>,
    node: &'n NodeInput<'_>,
) -> impl Iterator<Item = (String, Port<'n>)> {
    let list = join(&node.field, PORTS);
    let items = node.given.at(PORTS).map_or(&[][..], Given::items);
    items.iter().enumerate().filter_map(move |(index, given)| {
        let text = |key| given.get::<String>(key).map(String::as_str);
        let port = Port { name: text("name")?, mac: text("macAddress")? };
        Some((inputs.cluster.element(&list, index, given), port))
    })
}

fn document(node: &NodeInput<'_>) -> Option<Value> {
    node.given.at(DOCUMENT).map(Given::written)
}

/// The rule: documents that become keyfiles, and ports that they use.
pub(super) fn documents(inputs: &Inputs<'_>, problems: &mut Problems) {
    for node in &inputs.nodes {
        let field = |name: &str| join(&node.field, name);
        let ports: Vec<(String, Port<'_>)> = ports(inputs, node).collect();
        if node.given.at(PORTS).is_some() && node.given.at("mac").is_some() {
            let hint = "remove it: `interfaces` has the address of every port";
            inputs.cluster.report(
                problems,
                &field("mac"),
                "cannot be given together with `interfaces`",
                hint,
            );
        }
        let Some(document) = document(node) else {
            if node.given.at(PORTS).is_some() && !inputs.cluster.wrote(&field(DOCUMENT)) {
                let hint = "describe the ports in `networkConfig`, or give the one port's address as `mac`";
                inputs.cluster.report(problems, &field(PORTS), "given without `networkConfig`", hint);
            }
            continue;
        };
        let known = Survey::of(&document);
        let is_used = |name: &str| known.below.contains(name) || known.names().any(|one| one == name);
        for (at, port) in ports.iter().filter(|(_, port)| !is_used(port.name)) {
            let hint = did_you_mean(port.name, known.names());
            let hint = hint.unwrap_or_else(|| "describe it there, or remove it here".to_owned());
            let message = format!("`networkConfig` has no interface `{}`", port.name);
            inputs.cluster.report(problems, &join(at, "name"), message, &hint);
        }
        let ports: Vec<Port<'_>> = ports.iter().map(|(_, port)| *port).collect();
        for refusal in keyfiles(&document, &ports).err().unwrap_or_default() {
            let at = field(DOCUMENT);
            let at = if refusal.path.is_empty() { at } else { join(&at, &refusal.path) };
            problems.push(inputs.cluster.problem(&at, refusal.message).hint(refusal.hint));
        }
    }
}

/// The check `node-network`: the node has the address that the cluster knows it by, a default route and DNS.
pub(super) fn reachable(inputs: &Inputs<'_>, findings: &mut Findings<'_>) {
    for node in &inputs.nodes {
        let Some(document) = document(node) else { continue };
        let network = Survey::of(&document);
        let place = join(&node.field, DOCUMENT);
        let mut push =
            |message: String, hint: &str| findings.push(inputs.cluster.problem(&place, message), hint);
        for ip in &node.ips {
            let family = usize::from(ip.value.is_ipv6());
            if !network.dynamic[family] && !network.addresses.contains(&ip.value) {
                let message = format!("no interface has the node's address `{}`", ip.value);
                push(message, "give it to an interface, with its prefix length; or correct `ip`");
            }
            if !network.default_route[family] {
                let (name, all) = [("IPv4", "0.0.0.0/0"), ("IPv6", "::/0")][family];
                let message = format!("there is no default route for {name}, and no DHCP that brings one");
                push(
                    message,
                    &format!(
                        "add it to routes.config: {{destination: {all}, next-hop-address: …, next-hop-interface: …}}"
                    ),
                );
            }
        }
        if !network.dns {
            let hint = "add dns-resolver: {config: {server: […]}}";
            push("there is no DNS server, and no DHCP that brings one".to_owned(), hint);
        }
    }
}
