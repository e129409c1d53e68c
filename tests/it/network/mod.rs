//! Nodes that describe their own networks, in NMState.

mod host;

use std::fs;

use crate::harness::Workspace;

const DIRECTORY: &str = "etc/NetworkManager/system-connections";

/// A worker with two ports in a bond, and its address on a VLAN of that.
const BOND: &str = "ip: 192.168.126.110
  interfaces:
  - {name: eno1, macAddress: 52:54:00:AA:00:01}
  - {name: eno2, macAddress: 52:54:00:AA:00:02}
  networkConfig:
    interfaces:
    - name: bond0
      type: bond
      state: up
      link-aggregation: {mode: active-backup, port: [eno1, eno2]}
    - name: bond0.126
      type: vlan
      state: up
      vlan: {base-iface: bond0, id: 126}
      ipv4: {enabled: true, address: [{ip: 192.168.126.110, prefix-length: 24}]}
    dns-resolver: {config: {server: [192.168.126.1]}}
    routes: {config: [{destination: 0.0.0.0/0, next-hop-address: 192.168.126.1, next-hop-interface: bond0.126}]}
";

/// The example, with that worker.
fn bonded() -> Workspace {
    let ws = Workspace::example().prebuilt();
    ws.edit(
        "cluster.yaml",
        "- {name: worker-0, role: worker, ip: 192.168.126.110}",
        &format!("- name: worker-0\n  role: worker\n  {BOND}"),
    );
    ws
}

#[test]
fn a_node_has_its_own_network() {
    let ws = bonded();
    let built = ws.build(&["cluster"]);
    let reached = ["ignition/worker-0", "infra/worker-0", "network/worker-0"];
    assert!(reached.iter().all(|name| built.iter().any(|one| one == name)), "{built:?}");
    let elsewhere =
        |name: &&String| name.contains("worker-1") || name.contains("master") || name.starts_with("mco/");
    assert_eq!(built.iter().find(elsewhere), None);
    let tree = ws.path_of("ignition/worker-0").join("tree").join(DIRECTORY);
    let mut names: Vec<String> =
        fs::read_dir(&tree).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(
        names,
        ["bond0.126.nmconnection", "bond0.nmconnection", "eno1.nmconnection", "eno2.nmconnection"]
    );
    insta::assert_snapshot!(fs::read_to_string(tree.join("eno2.nmconnection")).unwrap(), @r"
    [connection]
    autoconnect=true
    autoconnect-slaves=-1
    id=eno2
    master=bond0
    slave-type=bond
    type=802-3-ethernet
    uuid=47985c50-3026-5b7c-a140-fdc2f2b62653

    [ethernet]
    mac-address=52:54:00:AA:00:02
    ");
    let machine = fs::read_to_string(ws.path_of("infra/worker-0").join("worker-0.xml")).unwrap();
    let ports: Vec<&str> = machine.lines().filter(|line| line.contains("<mac ")).map(str::trim).collect();
    assert_eq!(ports, [r#"<mac address="52:54:00:aa:00:01"/>"#, r#"<mac address="52:54:00:aa:00:02"/>"#]);
    // Another node's is as it was.
    let other = ws.path_of("ignition/worker-1").join("tree").join(DIRECTORY);
    assert!(other.join("tinderbox.nmconnection").exists());
}

/// An edit of the document reaches that node, and says so with its line.
#[test]
fn an_edit_of_the_document_reaches_its_node() {
    let ws = bonded();
    ws.build(&["cluster"]);
    ws.edit("cluster.yaml", "mode: active-backup", "mode: balance-xor");
    insta::assert_snapshot!(ws.run(&["build", "--dry-run"]), @r"
    network/worker-0
    ignition/worker-0
    ignition-id/worker-0
    infra/worker-0
    check/ignition
    cluster
    [exit 0]
    ");
    insta::assert_snapshot!(ws.run(&["why", "network/worker-0"]), @r"
    network/worker-0 changed since the last build
    root cause
      config field nodes.worker-0.networkConfig.interfaces.bond0.link-aggregation.mode (cluster.yaml:41: nodes.worker-0.networkConfig.interfaces.0.link-aggregation.mode): active-backup → balance-xor
    what follows
      ignition/worker-0
      ignition-id/worker-0
      infra/worker-0
      check/ignition
      cluster
    [exit 0]
    ");
    ws.build(&["network/worker-0"]);
    let blame = ws.run(&["blame", "network/worker-0:bond0.nmconnection"]);
    assert!(
        blame.contains("cluster.yaml:41: nodes.worker-0.networkConfig.interfaces.0.link-aggregation.mode"),
        "{blame}"
    );
}

#[test]
fn a_mistake_is_reported_with_its_line() {
    let ws = bonded();
    ws.edit("cluster.yaml", "base-iface: bond0,", "base-iface: bnod0,");
    insta::assert_snapshot!(ws.run(&["build"]), @r"
    [stderr]
    error: 1 problem:
    cluster.yaml:45: nodes.worker-0.networkConfig.interfaces.1.vlan.base-iface: `bnod0` is not an interface of this document
      hint: did you mean `bond0`?
    [exit 1]
    ");
    let ws = bonded();
    ws.edit("cluster.yaml", "{ip: 192.168.126.110, prefix", "{ip: 192.168.126.111, prefix");
    ws.edit("cluster.yaml", "    dns-resolver: {config: {server: [192.168.126.1]}}\n", "");
    insta::assert_snapshot!(ws.run(&["build"]), @r"
    [stderr]
    error: 2 problems:
    cluster.yaml:36: nodes.worker-0.networkConfig: no interface has the node's address `192.168.126.110` [node-network]
      hint: give it to an interface, with its prefix length; or correct `ip`
    cluster.yaml:36: nodes.worker-0.networkConfig: there is no DNS server, and no DHCP that brings one [node-network]
      hint: add dns-resolver: {config: {server: […]}}
    [exit 1]
    ");
}
