//! What `realize plan` says on a host that has nothing, everything, or something else of the cluster.

use std::fs;

use super::{Libvirt, small};
use crate::harness::Workspace;
use crate::harness::documents::assert_document;

/// Things and names of all steps of one kind.
fn steps(libvirt: &Libvirt, ws: &Workspace, action: &str) -> Vec<(String, String)> {
    let output = libvirt.command(ws, &["realize", "plan", "--json"]).output().unwrap();
    let plan: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_document(ws, "realize-plan", &plan);
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    plan["steps"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|step| step["action"] == action)
        .map(|step| (text(&step["resource"]), text(&step["name"])))
        .collect()
}

/// From nothing to everything, and through the changes that people make.
#[test]
fn a_plan_follows_the_host() {
    let Some(libvirt) = Libvirt::start("plans on a real libvirt") else { return };
    let ws = small();
    insta::assert_snapshot!(libvirt.run(&ws, &["realize", "plan", "-q"]), @r"
    create  network   ocp4
                        virbr-ocp4
    create  pool      ocp4
                        [TEMP]/pool
    create  firewall  firewall.sh
                        6 rules: nodes reach the load balancer and the outside
    create  balancer  haproxy
                        it is not running
    create  image     base-[IMAGE].qcow2
                        the image of the node OS, which backs the disks
    create  medium    bootstrap-[ID:16].ign
                        its Ignition config
    create  disk      bootstrap.qcow2
                        1 GB, thin
    create  machine   ocp4-cv5ll-bootstrap
                        1 vCPU, 256 MiB, qemu
    create  medium    master-0-[ID:16].ign
                        its Ignition config
    create  disk      master-0.qcow2
                        1 GB, thin
    create  machine   ocp4-cv5ll-master-0
                        1 vCPU, 256 MiB, qemu
    create  medium    master-1-[ID:16].ign
                        its Ignition config
    create  disk      master-1.qcow2
                        1 GB, thin
    create  machine   ocp4-cv5ll-master-1
                        1 vCPU, 256 MiB, qemu
    create  medium    master-2-[ID:16].ign
                        its Ignition config
    create  disk      master-2.qcow2
                        1 GB, thin
    create  machine   ocp4-cv5ll-master-2
                        1 vCPU, 256 MiB, qemu
    create  medium    worker-0-[ID:16].ign
                        its Ignition config
    create  disk      worker-0.qcow2
                        1 GB, thin
    create  machine   ocp4-cv5ll-worker-0
                        1 vCPU, 256 MiB, qemu
    create  medium    worker-1-[ID:16].ign
                        its Ignition config
    create  disk      worker-1.qcow2
                        1 GB, thin
    create  machine   ocp4-cv5ll-worker-1
                        1 vCPU, 256 MiB, qemu

    With root:
      [STORE]/[ID]-cluster/infra/firewall.sh open
          lets the nodes through the host's firewall, to the load balancer and the outside
    [exit 0]
    ");

    // Everything as the artifacts have it: nothing that libvirt adds is taken for a change.
    let applied = libvirt.command(&ws, &["realize", "apply", "-q", "--no-wait"]).output().unwrap();
    assert!(applied.status.success(), "{}", ws.text(&applied));
    assert_eq!(steps(&libvirt, &ws, "create"), []);
    assert_eq!(steps(&libvirt, &ws, "change"), []);
    insta::assert_snapshot!(libvirt.run(&ws, &["realize", "plan", "-q"]), @r"
    keep    network   ocp4
    keep    pool      ocp4
    keep    firewall  firewall.sh
    keep    balancer  haproxy
    keep    image     base-[IMAGE].qcow2
    keep    medium    bootstrap-[ID:16].ign
    keep    disk      bootstrap.qcow2
    keep    machine   ocp4-cv5ll-bootstrap
    keep    medium    master-0-[ID:16].ign
    keep    disk      master-0.qcow2
    keep    machine   ocp4-cv5ll-master-0
    keep    medium    master-1-[ID:16].ign
    keep    disk      master-1.qcow2
    keep    machine   ocp4-cv5ll-master-1
    keep    medium    master-2-[ID:16].ign
    keep    disk      master-2.qcow2
    keep    machine   ocp4-cv5ll-master-2
    keep    medium    worker-0-[ID:16].ign
    keep    disk      worker-0.qcow2
    keep    machine   ocp4-cv5ll-worker-0
    keep    medium    worker-1-[ID:16].ign
    keep    disk      worker-1.qcow2
    keep    machine   ocp4-cv5ll-worker-1
    nothing to do
    [exit 0]
    ");

    // A larger worker, another address, one worker less; and somebody changed the network by hand.
    let edit = |from: &str, to: &str| ws.edit("cluster.yaml", from, to);
    edit("worker-0, vcpus: 1, memory: 256MiB", "worker-0, vcpus: 2, memory: 512MiB");
    edit("ip: 192.168.126.101", "ip: 192.168.126.121");
    let text = fs::read_to_string(ws.dir.join("cluster.yaml")).unwrap();
    let kept: Vec<&str> = text.lines().filter(|line| !line.starts_with("- {name: worker-1,")).collect();
    ws.write("cluster.yaml", &(kept.join("\n") + "\n"));
    ws.edit("install-config.yaml", "replicas: 2", "replicas: 1");
    libvirt.virsh(&["net-autostart", "--disable", "ocp4"]);
    insta::assert_snapshot!(libvirt.run(&ws, &["realize", "plan", "-q"]), @r"
    change  network   ocp4
                        dns/host: `ip=192.168.126.121 master-0.ocp4.example.com etcd-0.ocp4.example.com` is missing
                        dns/host: `ip=192.168.126.101 master-0.ocp4.example.com etcd-0.ocp4.example.com` is unexpected
                        dns/host: `ip=192.168.126.111 worker-1.ocp4.example.com` is unexpected
                        it does not start with the host
    keep    pool      ocp4
    keep    firewall  firewall.sh
    change  balancer  haproxy
                        it runs with another configuration
    keep    image     base-[IMAGE].qcow2
    create  medium    bootstrap-[ID:16].ign
                        its Ignition config
    change  disk      bootstrap.qcow2
                        its Ignition config changed: [IGNITION] becomes [IGNITION]
                        what is on it is lost
    change  machine   ocp4-cv5ll-bootstrap
                        metadata/node@ignition: `[ID]` becomes `[ID]`
                        sysinfo/entry@file: `[TEMP]/pool/bootstrap-[ID:16].ign` becomes `[TEMP]/pool/bootstrap-[ID:16].ign`
    create  medium    master-0-[ID:16].ign
                        its Ignition config
    change  disk      master-0.qcow2
                        its Ignition config changed: [IGNITION] becomes [IGNITION]
                        what is on it is lost
    change  machine   ocp4-cv5ll-master-0
                        metadata/node@ignition: `[ID]` becomes `[ID]`
                        sysinfo/entry@file: `[TEMP]/pool/master-0-[ID:16].ign` becomes `[TEMP]/pool/master-0-[ID:16].ign`
    keep    medium    master-1-[ID:16].ign
    keep    disk      master-1.qcow2
    keep    machine   ocp4-cv5ll-master-1
    keep    medium    master-2-[ID:16].ign
    keep    disk      master-2.qcow2
    keep    machine   ocp4-cv5ll-master-2
    keep    medium    worker-0-[ID:16].ign
    keep    disk      worker-0.qcow2
    change  machine   ocp4-cv5ll-worker-0
                        memory: `262144` becomes `524288`
                        vcpu: `1` becomes `2`
    remove  machine   ocp4-cv5ll-worker-1
                        cluster.yaml no longer has this node
    remove  disk      worker-1.qcow2
                        cluster.yaml no longer has this node
                        what is on it is lost
    remove  medium    bootstrap-[ID:16].ign
                        no machine boots from it any more
    remove  medium    master-0-[ID:16].ign
                        no machine boots from it any more
    remove  medium    worker-1-[ID:16].ign
                        no machine boots from it any more
    [exit 0]
    ");
}
