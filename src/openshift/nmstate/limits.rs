//! What a document must not have: settings that would be dropped without a word, secrets, and text that would become
//! something else in a keyfile.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::ops::RangeInclusive;

use super::survey::{STACKED, base, ports};
use super::{Port, Refusal, Survey, elements, name_of, routes};
use crate::base::hint::did_you_mean;
use crate::base::value::Value;

/// Types of interfaces that keyfiles can describe.
const TYPES: [&str; 14] = [
    "bond",
    "dummy",
    "ethernet",
    "infiniband",
    "linux-bridge",
    "loopback",
    "mac-vlan",
    "mac-vtap",
    "ovs-bridge",
    "ovs-interface",
    "veth",
    "vlan",
    "vrf",
    "vxlan",
];

/// Types that NetworkManager learned so late that the node OS of some releases ignores their keyfiles.
const RECENT: [&str; 2] = ["hsr", "ipvlan"];

/// Fields of the whole document that end up in no keyfile.
const DROPPED: [(&str, &str); 3] = [
    ("hostname", "remove it: the node is called by its name in cluster.yaml"),
    ("ovn", "remove it: a NodeNetworkConfigurationPolicy sets it once the cluster runs"),
    ("ovs-db", "remove it: a NodeNetworkConfigurationPolicy sets it once the cluster runs"),
];

/// All other fields of a document.
const FIELDS: [&str; 5] = ["description", "dns-resolver", "interfaces", "route-rules", "routes"];

/// Fields of an interface that hold a secret.
const SECRET: [&str; 4] = ["802.1x", "ipsec", "libreswan", "macsec"];

/// Ids of VLANs.
const VLANS: RangeInclusive<i64> = 1..=4094;

/// Everything that is wrong with the document before the crate reads it.
pub(super) fn check(document: &Value, machine: &[Port<'_>]) -> Vec<Refusal> {
    let mut refusals = Vec::new();
    texts("", document, &mut refusals);
    for (field, hint) in DROPPED {
        if document.get(field).is_some() {
            refusals.push(Refusal::new(field, "no keyfile can hold this", Some(hint)));
        }
    }
    let fields = match document {
        Value::Map(map) => map.keys().map(String::as_str).collect(),
        _ => Vec::new(),
    };
    for field in fields {
        if !FIELDS.contains(&field) && DROPPED.iter().all(|(dropped, _)| *dropped != field) {
            let hint = did_you_mean(field, FIELDS).unwrap_or_else(|| format!("known: {}", FIELDS.join(", ")));
            refusals.push(Refusal::new(field, "NMState has no such field", Some(&hint)));
        }
    }
    routes::check(document, &mut refusals);
    let survey = Survey::of(document);
    if survey.interfaces.is_empty() {
        let hint =
            "list at least one, such as {name: eno1, type: ethernet, ipv4: {enabled: true, dhcp: true}}";
        refusals.push(Refusal::new("", "there is no interface", Some(hint)));
    }
    let mut seen = BTreeSet::new();
    for (index, one) in elements(document, &["interfaces"]).enumerate() {
        let path = format!("interfaces.{index}");
        interface(&path, one, &mut refusals);
        parents(&path, one, &survey, machine, &mut refusals);
        let kind = one.get("type").and_then(Value::as_text).unwrap_or_default();
        if !seen.insert((name_of(one), kind)) {
            let message = format!("`{}` is described twice", name_of(one));
            refusals.push(Refusal::new(path.clone(), message, Some("merge the two")));
        }
        match machine.iter().find(|port| port.name == name_of(one)) {
            Some(port) => identity(&path, one, *port, &mut refusals),
            None => identifier(&path, one, &mut refusals),
        }
    }
    refusals.extend(circles(document));
    refusals
}

fn interface(path: &str, interface: &Value, refusals: &mut Vec<Refusal>) {
    let text = |key: &str| interface.get(key).and_then(Value::as_text);
    if text("name").is_none() {
        refusals.push(Refusal::new(path, "an interface without a name", None));
    }
    let own =
        ["name", "profile-name"].into_iter().filter_map(|key| Some((format!("{path}.{key}"), text(key)?)));
    let others = named(interface).map(|name| (path.to_owned(), name));
    for (place, name) in own.chain(others).filter(|(_, name)| !is_name(name)) {
        let hint = "at most 15 letters, digits, `-`, `_` and `.`, as the kernel has them";
        let message = format!("`{}` is not a name of an interface", name.escape_debug());
        refusals.push(Refusal::new(place, message, Some(hint)));
    }
    if let Some(kind) = text("type").filter(|kind| RECENT.contains(kind)) {
        let message = format!(
            "not every release's node OS knows keyfiles of type `{kind}`, and one that does not ignores them"
        );
        let hint = "remove it: a NodeNetworkConfigurationPolicy sets it once the cluster runs";
        refusals.push(Refusal::new(format!("{path}.type"), message, Some(hint)));
    }
    let elsewhere = [SECRET.as_slice(), &RECENT].concat();
    if let Some(kind) = text("type").filter(|kind| !TYPES.contains(kind) && !elsewhere.contains(kind)) {
        let hint = did_you_mean(kind, TYPES).unwrap_or_else(|| format!("known: {}", TYPES.join(", ")));
        let message = format!("`{}` is not a type of interface that keyfiles describe", kind.escape_debug());
        refusals.push(Refusal::new(format!("{path}.type"), message, Some(&hint)));
    }
    for key in SECRET {
        if interface.get(key).is_some() || text("type") == Some(key) {
            let hint = "put that connection into a MachineConfig below manifests/, as a file of mode 0600";
            let message = "it holds a secret, and cluster.yaml is for everybody to read";
            refusals.push(Refusal::new(format!("{path}.{key}"), message, Some(hint)));
        }
    }
    if interface.get("alt-names").is_some() {
        let hint = "remove it: keyfiles know an interface by one name";
        refusals.push(Refusal::new(format!("{path}.alt-names"), "no keyfile can hold this", Some(hint)));
    }
    if let Some(state) = text("state").filter(|state| !matches!(*state, "up" | "down")) {
        let message = format!(
            "`state: {}` has no effect on a machine that boots for the first time",
            state.escape_debug()
        );
        refusals.push(Refusal::new(
            format!("{path}.state"),
            message,
            Some("`up` or `down`, or leave the interface out"),
        ));
    }
    prefixes(path, interface, refusals);
    for (index, port) in elements(interface, &["bridge", "port"]).enumerate() {
        for tags in elements(port, &["vlan", "trunk-tags"]) {
            tag(&format!("{path}.bridge.port.{index}"), tags, refusals);
        }
    }
}

/// Names of other interfaces that become names of files: ports and peers.
fn named(interface: &Value) -> impl Iterator<Item = &str> {
    let peer = interface.get("veth").and_then(|veth| veth.get("peer")?.as_text());
    ports(interface).chain(peer)
}

/// VLANs of a port: the crate counts from the first to the one after the last, in 16 bits.
fn tag(path: &str, tag: &Value, refusals: &mut Vec<Refusal>) {
    let ends = match tag.get("id-range") {
        Some(range) => [range.get("min"), range.get("max")],
        None => [tag.get("id"), tag.get("id")],
    };
    let [first, last] = ends.map(|end| number(end?).filter(|id| VLANS.contains(id)));
    if first.zip(last).is_none_or(|(first, last)| first > last) {
        let message = "not VLANs of a port: an `id`, or an `id-range` with `min` and `max`, from 1 to 4094";
        refusals.push(Refusal::new(path, message, None));
    }
}

/// An interface on top of another names one of the document, or a port of the machine, which need not be described: the crate
/// would ask the running system.
fn parents(
    path: &str,
    interface: &Value,
    survey: &Survey<'_>,
    machine: &[Port<'_>],
    refusals: &mut Vec<Refusal>,
) {
    let known = || survey.names().chain(machine.iter().map(|port| port.name));
    for kind in STACKED {
        let Some(base) = interface.get(kind).and_then(|own| own.get("base-iface")).and_then(Value::as_text)
        else {
            continue;
        };
        if base.is_empty() || known().any(|name| name == base) {
            continue;
        }
        let own = if kind == "infiniband" { kind } else { "ethernet" };
        let listed = || {
            format!("list it among the interfaces: {{name: {}, type: {own}, state: up}}", base.escape_debug())
        };
        let hint = did_you_mean(base, known()).unwrap_or_else(listed);
        let message = format!("`{}` is not an interface of this document", base.escape_debug());
        refusals.push(Refusal::new(format!("{path}.{kind}.base-iface"), message, Some(&hint)));
    }
    if let Some(id) = interface.get("vlan").and_then(|vlan| vlan.get("id"))
        && !number(id).is_some_and(|id| VLANS.contains(&id))
    {
        let message = "not a VLAN id: these go from 1 to 4094";
        refusals.push(Refusal::new(format!("{path}.vlan.id"), message, None));
    }
}

fn number(value: &Value) -> Option<i64> {
    value.as_int().or_else(|| value.as_text()?.parse().ok())
}

/// Interfaces that lead to themselves by what they are on top of, with their places.
fn circles(document: &Value) -> Vec<Refusal> {
    let interfaces: Vec<_> = elements(document, &["interfaces"]).collect();
    let below = |name: &str| base(interfaces.iter().find(|one| name_of(one) == name)?);
    let on_itself = |name: &str| {
        let all = std::iter::successors(below(name), |name| below(name));
        all.take(interfaces.len()).any(|below| below == name)
    };
    let found = interfaces.iter().enumerate().filter(|(_, one)| on_itself(name_of(one)));
    found
        .map(|(index, one)| {
            let message = format!("`{}` is on top of itself", name_of(one).escape_debug());
            Refusal::new(format!("interfaces.{index}"), message, Some("`base-iface` names what is below it"))
        })
        .collect()
}

/// A port is recognised by one address, and ports are Ethernet.
fn identity(path: &str, interface: &Value, port: Port<'_>, refusals: &mut Vec<Refusal>) {
    let text = |key: &str| interface.get(key).and_then(Value::as_text);
    if let Some(kind) = text("type").filter(|kind| *kind != "ethernet") {
        let message = format!(
            "`{}` has a MAC address in `interfaces`, but is of type `{}`",
            port.name,
            kind.escape_debug()
        );
        let hint =
            "`interfaces` lists the machine's Ethernet ports; what is built on them has no entry there";
        refusals.push(Refusal::new(format!("{path}.type"), message, Some(hint)));
    }
    if let Some(other) = text("mac-address").filter(|mac| !mac.eq_ignore_ascii_case(port.mac)) {
        let message =
            format!("`{}` is not the address in `interfaces`, `{}`", other.escape_debug(), port.mac);
        let hint = "remove it here: a port that is recognised by its address keeps it";
        refusals.push(Refusal::new(format!("{path}.mac-address"), message, Some(hint)));
    }
}

/// A keyfile that names neither an interface nor an address belongs to nothing; what is built on ports has no address of its own.
fn identifier(path: &str, interface: &Value, refusals: &mut Vec<Refusal>) {
    let text = |key: &str| interface.get(key).and_then(Value::as_text);
    if text("identifier") != Some("mac-address") {
        return;
    }
    let (message, hint) = match (text("type"), text("mac-address")) {
        (Some("ethernet") | None, Some(_)) => return,
        (Some("ethernet") | None, None) => (
            "no MAC address to recognise it by".to_owned(),
            "list the port in `interfaces` of the node, with its `macAddress`; then `identifier` is not needed",
        ),
        (Some(kind), _) => (
            format!("an interface of type `{}` is known by its name alone", kind.escape_debug()),
            "remove it; `interfaces` of the node says which ports are below it",
        ),
    };
    refusals.push(Refusal::new(format!("{path}.identifier"), message, Some(hint)));
}

/// The crate says that an address or a prefix is wrong, and not where.
fn prefixes(path: &str, interface: &Value, refusals: &mut Vec<Refusal>) {
    for (family, longest) in [("ipv4", 32), ("ipv6", 128)] {
        for (index, entry) in elements(interface, &[family, "address"]).enumerate() {
            let path = format!("{path}.{family}.address.{index}");
            let ip = entry.get("ip").and_then(Value::as_text);
            let fits = |ip: &&str| ip.parse::<IpAddr>().is_ok_and(|ip| ip.is_ipv4() == (family == "ipv4"));
            if let Some(ip) = ip.filter(|ip| !fits(ip)) {
                let message = format!("`{}` is not an {family} address", ip.escape_debug());
                refusals.push(Refusal::new(format!("{path}.ip"), message, None));
            }
            let prefix = entry.get("prefix-length").map(number);
            if prefix.is_some_and(|prefix| !prefix.is_some_and(|length| (0..=longest).contains(&length))) {
                let message = format!("not a prefix length of {family}: these go up to {longest}");
                refusals.push(Refusal::new(
                    format!("{path}.prefix-length"),
                    message,
                    Some("for example: 24, 64"),
                ));
            }
        }
    }
}

/// What the kernel and a file name take.
fn is_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    (1..=15).contains(&name.len()) && name.chars().all(plain) && !name.starts_with('.')
}

/// Texts have no control characters: a line break would start another setting, or another section.
fn texts(path: &str, value: &Value, refusals: &mut Vec<Refusal>) {
    let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    match value {
        Value::Text(text) if text.chars().any(char::is_control) => {
            let message = "a line break or another control character";
            refusals.push(Refusal::new(path, message, Some("keyfiles have one line for a value")));
        }
        Value::List(items) => {
            items
                .iter()
                .enumerate()
                .for_each(|(index, item)| texts(&below(&index.to_string()), item, refusals));
        }
        Value::Map(map) => map.iter().for_each(|(name, item)| {
            if name.chars().any(char::is_control) {
                let message = "a field with a control character in its name";
                refusals.push(Refusal::new(path, message, None));
            }
            texts(&below(name), item, refusals);
        }),
        _ => {}
    }
}
