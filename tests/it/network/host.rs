//! Keyfiles, read by the code that reads them on the node: NetworkManager's own library.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use tinderbox::internals::hint::Problems;
use tinderbox::internals::yaml::{Source, YamlData, parse};

use super::{DIRECTORY, bonded};
use crate::harness::documents::json_of;
use crate::harness::{Workspace, left_out};

/// Reads each keyfile as NetworkManager does, and prints everything that it says about it.
const READER: &str = r#"
import sys, gi
gi.require_version("NM", "1.0")
from gi.repository import NM, GLib
for path in sys.argv[1:]:
    file = GLib.KeyFile()
    file.load_from_file(path, GLib.KeyFileFlags.NONE)
    said = []
    def handler(file, connection, kind, data, *rest):
        said.append(data.get_message() if kind == NM.KeyfileHandlerType.WARN else "")
        return False
    connection = NM.keyfile_read(file, "/", NM.KeyfileHandlerFlags.NONE, handler)
    try:
        connection.normalize()
        connection.verify()
    except GLib.Error as error:
        said.append(error.message)
    print(connection.get_id(), connection.get_connection_type(), connection.get_interface_name(), *filter(None, said))
"#;

/// The system's own interpreter: the library's bindings are a Debian package.
const PYTHON: &str = "/usr/bin/python3";

/// Whether the library is there; a word about it if not.
fn has_library() -> bool {
    let bindings = Command::new(PYTHON).args(["-c", "import gi; gi.require_version('NM', '1.0')"]).output();
    let found = bindings.is_ok_and(|output| output.status.success());
    if !found {
        left_out("keyfiles read by NetworkManager's library", "gir1.2-nm-1.0 and python3-gi");
    }
    found
}

#[test]
fn network_manager_reads_the_keyfiles() {
    if !has_library() {
        return;
    }
    let ws = bonded();
    let read = |node: &str| {
        let tree = ws.path_of(&format!("ignition/{node}")).join("tree").join(DIRECTORY);
        let mut files: Vec<_> = fs::read_dir(&tree).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        said(&files.iter().map(|path| path.as_path()).collect::<Vec<&Path>>())
    };
    ws.build(&["ignition"]);
    insta::assert_snapshot!(read("worker-0"), @r"
    bond0.126 vlan bond0.126
    bond0 bond bond0
    eno1 802-3-ethernet None
    eno2 802-3-ethernet None
    ");
    insta::assert_snapshot!(read("master-0"), @"tinderbox 802-3-ethernet None");
}

/// What a node of the test has beside a shape: its address, a default route and DNS.
fn node(index: usize, shape: &Value) -> Value {
    let ip = format!("192.168.126.{}", 110 + index);
    let list = |key: &str| shape[key].as_array().cloned().unwrap_or_default();
    let mut ports = vec![json!({"name": "mgmt", "macAddress": format!("02:00:00:01:{index:02x}:00")})];
    let text = shape.to_string();
    for at in (1..=4).filter(|at| text.contains(&format!("\"eno{at}\""))) {
        let mac = format!("02:00:00:01:{index:02x}:{at:02x}");
        ports.push(json!({"name": format!("eno{at}"), "macAddress": mac}));
    }
    let own = json!({"name": "mgmt", "type": "ethernet", "state": "up",
        "ipv4": {"enabled": true, "address": [{"ip": ip, "prefix-length": 24}]}});
    let route = json!({"destination": "0.0.0.0/0", "next-hop-address": "192.168.126.1", "next-hop-interface": "mgmt"});
    let interfaces = [vec![own], list("interfaces")].concat();
    let routes = [vec![route], list("routes")].concat();
    let dns = match &shape["dns"] {
        Value::Null => json!({"server": ["192.168.126.1"]}),
        dns => dns.clone(),
    };
    json!({"name": format!("worker-{index}"), "role": "worker", "ip": ip, "interfaces": ports, "networkConfig": {
        "interfaces": interfaces,
        "routes": {"config": routes},
        "route-rules": {"config": list("rules")},
        "dns-resolver": {"config": dns},
    }})
}

/// A node for each document: what they become, and what NetworkManager's library says about it.
#[test]
fn network_manager_reads_every_shape() {
    if !has_library() {
        return;
    }
    let text = include_str!("shapes.yaml");
    let mut problems = Problems::default();
    let shapes = parse(Source { name: "shapes.yaml", text }, &mut problems).unwrap();
    assert!(problems.0.is_empty(), "{problems}");
    let YamlData::Map(shapes) = &shapes.data else { unreachable!("a map") };
    assert!(shapes.len() >= 40);
    let ws = Workspace::example().prebuilt();
    ws.edit("install-config.yaml", "replicas: 2", &format!("replicas: {}", shapes.len()));
    let cluster = fs::read_to_string(ws.dir.join("cluster.yaml")).unwrap();
    let kept = cluster.lines().filter(|line| !line.starts_with("- {name: worker-"));
    let nodes = shapes.iter().enumerate().map(|(index, shape)| node(index, &json_of(&shape.value)));
    let nodes: String = nodes.map(|node| format!("- {node}\n")).collect();
    let last = "- {name: master-2, role: master, ip: 192.168.126.103}\n";
    let text = kept.map(|line| format!("{line}\n")).collect::<String>();
    ws.write("cluster.yaml", &text.replace(last, &format!("{last}{nodes}")));
    ws.build(&["network"]);
    let mut files = Vec::new();
    let mut owners = Vec::new();
    for (index, shape) in shapes.iter().enumerate() {
        let tree = ws.path_of(&format!("network/worker-{index}"));
        let mut own: Vec<_> = fs::read_dir(&tree).unwrap().map(|entry| entry.unwrap().path()).collect();
        own.retain(|file| file.extension().is_some_and(|end| end == "nmconnection"));
        own.sort();
        owners.extend(own.iter().map(|_| shape.key.as_str()));
        files.extend(own);
    }
    let said = said(&files.iter().map(|path| path.as_path()).collect::<Vec<&Path>>());
    assert_eq!(said.lines().count(), files.len(), "{said}");
    let mut table = String::new();
    for (index, shape) in shapes.iter().enumerate() {
        let own = said.lines().zip(&owners).filter(|(_, owner)| **owner == shape.key);
        let own: Vec<&str> = own.map(|(line, _)| line).collect();
        assert!(own.contains(&"mgmt 802-3-ethernet None"), "{index}: {own:?}");
        // Ports are the same everywhere, if nothing is said about them.
        let others = own.into_iter().filter(|line| !line.ends_with(" 802-3-ethernet None"));
        let others: Vec<String> = others.map(|line| format!(" {line}")).collect();
        table += &format!("{}:{}\n", shape.key, others.join(","));
    }
    insta::assert_snapshot!(table, @r"
    ethernet with mtu and description:
    ethernet that is down:
    ethernet without ip:
    ethernet with dhcp:
    ethernet with dhcp in a table of its own:
    ethernet with ipv6 of the router:
    ethernet with both families:
    ethernet with several addresses:
    ethernet with fixed speed:
    ethernet with offloading:
    ethernet with virtual functions:
    ethernet that announces itself:
    ethernet that waits for both families:
    bond with failover: bond0 bond bond0
    bond with lacp: bond0 bond bond0
    bond with arp: bond0 bond bond0
    bond with an address of its own: bond0 bond bond0
    bond with queues of ports: bond0 bond bond0
    two bonds: bond0 bond bond0, bond1 bond bond1
    vlan on a port: eno1.7 vlan eno1.7
    vlan on a port that nothing else is said about: storage vlan storage
    vlan in a vlan: eno1.7.8 vlan eno1.7.8, eno1.7 vlan eno1.7
    vlan with headers in order: eno1.7 vlan eno1.7
    vlans on a bond: bond0.7 vlan bond0.7, bond0.8 vlan bond0.8, bond0 bond bond0
    vxlan: vx10 vxlan vx10
    bridge: br0 bridge br0
    bridge with spanning tree: br0 bridge br0
    bridge with vlans: br0 bridge br0
    bridge on a bond: bond0 bond bond0, br0 bridge br0
    open vswitch: br-ex-br ovs-bridge br-ex, eno1-port ovs-port eno1, ovs0-if ovs-interface ovs0, ovs0-port ovs-port ovs0
    open vswitch with a bond and a vlan: br-ex-br ovs-bridge br-ex, eno3-port ovs-port eno3, ovsbond-port ovs-port ovsbond
    open vswitch with patches: br-a-br ovs-bridge br-a, br-b-br ovs-bridge br-b, patch0-if ovs-interface patch0, patch0-port ovs-port patch0, patch1-if ovs-interface patch1, patch1-port ovs-port patch1
    dummy: dummy0 dummy dummy0
    veth: veth0 veth veth0, veth1 veth veth1
    vrf: vrf0 vrf vrf0
    macvlan: mv0 macvlan mv0
    macvtap: mt0 macvlan mt0
    infiniband: ib0.8001 infiniband ib0.8001, ib0 infiniband ib0
    loopback: lo loopback lo
    routes:
    routes of a table and their rules:
    routes for ipv6:
    names are searched for:
    ");
}

fn said(files: &[&Path]) -> String {
    let output = Command::new(PYTHON).args(["-c", READER]).args(files).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}
