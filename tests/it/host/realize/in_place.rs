//! `realize` of a single node that bootstraps itself: one machine, no load balancer, no phases for a bootstrap machine.

use std::fs;

use super::apply::unreached;
use super::{Libvirt, small};
use crate::harness::Workspace;

/// The example on one small machine, without VIPs.
fn single_node() -> Workspace {
    let ws = small();
    ws.without_workers(1);
    let text = fs::read_to_string(ws.dir.join("cluster.yaml")).unwrap();
    let kept = text.lines().filter(|line| !line.starts_with("- {name: bootstrap,"));
    ws.write("cluster.yaml", &(kept.collect::<Vec<_>>().join("\n") + "\n"));
    ws.edit("cluster.yaml", "vips:\n  api: 192.168.126.10\n  ingress: 192.168.126.11\n", "");
    ws.build(&[]);
    ws
}

#[test]
fn phases_that_do_not_apply_are_left_out() {
    let Some(libvirt) = Libvirt::start("a single node on a real libvirt") else { return };
    let ws = single_node();
    insta::assert_snapshot!(libvirt.run(&ws, &["realize", "plan", "-q"]), @r"
    create  network   ocp4
                        virbr-ocp4
    create  pool      ocp4
                        [TEMP]/pool
    create  firewall  firewall.sh
                        2 rules: nodes reach the load balancer and the outside
    create  image     base-[IMAGE].qcow2
                        the image of the node OS, which backs the disks
    create  medium    master-0-[ID:16].ign
                        its Ignition config
    create  disk      master-0.qcow2
                        1 GB, thin
    create  machine   ocp4-cv5ll-master-0
                        1 vCPU, 256 MiB, qemu

    With root:
      [STORE]/[ID]-cluster/infra/firewall.sh open
          lets the nodes through the host's firewall, to the load balancer and the outside
    [exit 0]
    ");
    for phase in ["bootstrap", "pivot"] {
        let said = libvirt.run(&ws, &["realize", "apply", "-q", "--phase", phase]);
        let wanted = format!("error: this cluster has no phase `{phase}`: its only node bootstraps itself\n");
        assert!(said.contains(&wanted) && said.ends_with("[exit 1]\n"), "{said}");
    }
    let output = libvirt.command(&ws, &["realize", "apply", "--json", "-q", "--no-wait"]).output().unwrap();
    assert!(output.status.success(), "{}", ws.text(&output));
    let applied: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(applied["phases"], serde_json::json!(["host", "media", "control-plane", "workers"]));
    assert_eq!(libvirt.virsh(&["list", "--name"]).split_whitespace().count(), 1, "running machines");
    // The node's own address, where its API will be.
    let args = ["realize", "apply", "-q", "--until", "control-plane", "--timeout", "3s"];
    insta::assert_snapshot!(unreached(&libvirt.run(&ws, &args)), @r"
    [stderr]
    error: timed out after 3 seconds waiting for the API at 192.168.126.101:6443; last seen: the API at `192.168.126.101:6443` cannot be reached: [WORDS]
    hint: look with `tinderbox realize logs master-0`, or collect everything with `tinderbox realize gather`; `tinderbox realize apply` continues from here
    [exit 1]
    ");
    let destroyed = libvirt.run(&ws, &["realize", "destroy", "--yes", "-q"]);
    assert!(destroyed.ends_with("[exit 0]\n"), "{destroyed}");
}
