//! Machines that boot from the network and from one medium for all: the firmware's own iPXE, a real dnsmasq, Debian's kernel
//! and Debian's Ignition. Each applies its own node's config; a foreign one gets nothing.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use super::{Machine, Segment, disk};
use crate::harness::{Workspace, source};
use crate::host::realize::boot::{assert_applied, image, is_complete, older};

/// A machine of nobody.
const FOREIGN: &str = "52:54:00:0f:0e:0d";

/// The MAC address of a node.
fn mac(ws: &Workspace, node: &str) -> String {
    fs::read_to_string(ws.path_of(&format!("identity/mac-{node}")).join(format!("mac-{node}"))).unwrap()
}

/// The example with the made-up live system for machines that boot from the network, exported.
fn served(ws: &Workspace) -> PathBuf {
    let made = ws.temp().join("image");
    image(&made, "pxe");
    for file in ["kernel", "initramfs.img", "rootfs.img"] {
        fs::rename(made.join(file), ws.dir.join(file)).unwrap();
    }
    let text = fs::read_to_string(ws.dir.join("cluster.yaml")).unwrap();
    ws.write(
        "cluster.yaml",
        &(text + "\nrhcos: {kernel: kernel, initramfs: initramfs.img, rootfs: rootfs.img}\n"),
    );
    ws.json(&["lock", "--update", "rhcos"]);
    older(ws);
    let recipe = fs::read_to_string(source("recipes/67-netboot/nodes.toml")).unwrap();
    let more = recipe.replace("kargs = []", "kargs = [\"console=ttyS0\", \"panic=1\"]");
    assert_ne!(recipe, more);
    ws.write("recipes/67-netboot/nodes.toml", &more);
    for file in ["node.ipxe.j2", "dnsmasq.hosts.j2"] {
        let text = fs::read_to_string(source("recipes/67-netboot").join(file)).unwrap();
        ws.write(&format!("recipes/67-netboot/{file}"), &text);
    }
    let out = ws.temp().join("srv");
    ws.json(&["export", out.to_str().unwrap(), "pxe"]);
    out
}

/// What every dnsmasq of these tests is told beside its configuration.
const COMMON: [&str; 8] = [
    "--keep-in-foreground",
    "--log-facility=-",
    "--log-dhcp",
    "--user=nobody",
    "--group=nogroup",
    "--port=0",
    "--interface=br0",
    "--bind-interfaces",
];

fn is_installed(ws: &Workspace, mut machine: Machine, node: &str, ip: &str) {
    machine.wait(&format!("node: {node}.ocp4.example.com has {ip}/24 on {}", mac(ws, node)));
    let raw = machine.stop();
    let out = ws.temp().join(format!("{node}.tree"));
    disk(&raw, &out);
    assert_applied(ws, node, &out);
}

#[test]
fn machines_boot_from_the_network_as_the_nodes_that_their_addresses_name() {
    const PART: &str = "machines that boot from the network";
    let Some(segment) = Segment::start(PART).filter(|_| is_complete(PART)) else { return };
    let ws = Workspace::on_disk().filled().prebuilt();
    let srv = served(&ws);
    // As the page says: the server's user gets it, and nobody else.
    let given = Command::new("chown").args(["-R", "nobody:nogroup"]).arg(&srv).status().unwrap();
    assert!(given.success());
    let conf = fs::read_to_string(srv.join("dnsmasq.conf")).unwrap();
    let conf = conf.replace("/srv/tinderbox", srv.to_str().unwrap());
    ws.write("dnsmasq.conf", &conf);
    let leases = ws.temp().join("leases");
    let (conf, leases) = (
        format!("--conf-file={}", ws.dir.join("dnsmasq.conf").display()),
        format!("--dhcp-leasefile={}", leases.display()),
    );
    let dhcp = segment.serve("dnsmasq", &[COMMON.as_slice(), &[&conf, &leases]].concat());

    let temp = ws.temp();
    let start = |name: &str, macs: &[&str]| Machine::start(&segment, &temp, name, macs, None);
    let (master, worker) = (mac(&ws, "master-1"), mac(&ws, "worker-0"));
    let first = start("master-1", &[&master]);
    // Its node's address is that of another port than the one that it boots from.
    let second = start("worker-0", &[FOREIGN, &worker]);
    let foreign = start("foreign", &["52:54:00:0f:0e:0c"]);
    is_installed(&ws, first, "master-1", "192.168.126.102");
    is_installed(&ws, second, "worker-0", "192.168.126.110");
    let said = dhcp.said();
    assert!(said.contains("52:54:00:0f:0e:0c no address available"), "{said}");
    assert!(foreign.is_blank(), "{}", foreign.said());
}

/// Another DHCP server answers everybody, and a web server has the files: it is `boot.ipxe` that refuses.
#[test]
fn a_foreign_machine_gets_nothing_from_a_server_that_answers_everybody() {
    const PART: &str = "machines that boot from the network over HTTP";
    let Some(segment) = Segment::start(PART).filter(|_| is_complete(PART)) else { return };
    let ws = Workspace::on_disk().filled().prebuilt();
    let srv = served(&ws);
    let leases = format!("--dhcp-leasefile={}", ws.temp().join("leases").display());
    let answers =
        ["--dhcp-range=192.168.126.200,192.168.126.220", "--dhcp-boot=http://192.168.126.1/boot.ipxe"];
    let _dhcp = segment
        .serve("dnsmasq", &[COMMON.as_slice(), &answers, &["--conf-file=/dev/null", &leases]].concat());
    let _web =
        segment.serve("busybox", &["httpd", "-f", "-p", "192.168.126.1:80", "-h", srv.to_str().unwrap()]);
    let temp = ws.temp();
    let start = |name: &str, macs: &[&str]| Machine::start(&segment, &temp, name, macs, None);
    let worker = mac(&ws, "worker-1");
    let (node, mut foreign) = (start("worker-1", &[&worker]), start("foreign", &[FOREIGN]));
    foreign.wait(&format!("tinderbox: no node is {FOREIGN}: this machine gets nothing"));
    foreign.wait("No bootable device");
    assert!(foreign.is_blank(), "{}", foreign.said());
    is_installed(&ws, node, "worker-1", "192.168.126.111");
}

/// The example with the made-up live ISO.
fn with_iso() -> Workspace {
    let ws = Workspace::on_disk().filled().prebuilt();
    let made = ws.temp().join("image");
    image(&made, "live");
    fs::rename(made.join("live.iso"), ws.dir.join("live.iso")).unwrap();
    let text = fs::read_to_string(ws.dir.join("cluster.yaml")).unwrap();
    ws.write("cluster.yaml", &(text + "\nrhcos: {iso: live.iso}\n"));
    ws.json(&["lock", "--update", "rhcos"]);
    older(&ws);
    ws
}

/// What a machine says that installs nothing.
const REFUSED: &str = "tinderbox: this machine is not installed; nothing was written to its disks";

#[test]
fn machines_find_their_node_on_one_medium_for_all() {
    const PART: &str = "machines that boot from one medium for all nodes";
    let Some(segment) = Segment::start(PART).filter(|_| is_complete(PART)) else { return };
    let ws = with_iso();
    let out = ws.temp().join("media");
    let exported = ws.json(&["export", out.to_str().unwrap(), "iso-for-all"]);
    assert_eq!(exported["sealed"], false);
    let (medium, temp) = (out.join("all-nodes.iso"), ws.temp());
    let start = |name: &str, macs: &[&str]| Machine::start(&segment, &temp, name, macs, Some(&medium));
    let (master, worker) = (mac(&ws, "master-0"), mac(&ws, "worker-1"));
    let first = start("master-0", &[&master]);
    let second = start("worker-1", &[FOREIGN, &worker]);
    let mut foreign = start("foreign", &[FOREIGN]);
    let mut both = start("both", &[&master, &worker]);
    is_installed(&ws, first, "master-0", "192.168.126.101");
    is_installed(&ws, second, "worker-1", "192.168.126.111");
    foreign.wait(&format!("tinderbox: no node has a MAC address of this machine: {FOREIGN}"));
    both.wait("tinderbox: its ports are those of several nodes: master-0 /dev/vda worker-1 /dev/vda");
    for mut machine in [foreign, both] {
        machine.wait(REFUSED);
        machine.wait("node: stopped: its node is not decided");
        assert!(machine.is_blank(), "{}", machine.said());
    }
}

#[test]
fn a_sealed_medium_opens_with_its_passphrase_only() {
    const PART: &str = "machines that boot from a sealed medium";
    const PASSPHRASE: &str = "correct horse battery staple";
    let Some(segment) = Segment::start(PART).filter(|_| is_complete(PART)) else { return };
    let ws = with_iso();
    ws.write("passphrase", &format!("{PASSPHRASE}\n"));
    let (out, file) = (ws.temp().join("media"), ws.dir.join("passphrase"));
    let args = [
        "export",
        out.to_str().unwrap(),
        "iso-for-all",
        "--seal",
        "--passphrase-file",
        file.to_str().unwrap(),
    ];
    assert_eq!(ws.json(&args)["sealed"], true);
    let (medium, temp) = (out.join("all-nodes.iso"), ws.temp());
    let worker = mac(&ws, "worker-0");
    let start = |name: &str| Machine::start(&segment, &temp, name, &[&worker], Some(&medium));
    let ask = |machine: &mut Machine, attempt: usize, passphrase: &str| {
        machine.wait(&format!("Passphrase of this medium (attempt {attempt} of 5):"));
        machine.enter(&format!("{passphrase}\n"));
    };
    let (mut right, mut wrong) = (start("right"), start("wrong"));
    ask(&mut right, 1, "correct horse battery stable");
    right.wait("tinderbox: the passphrase does not open this medium");
    ask(&mut right, 2, PASSPHRASE);
    (1..=5).for_each(|attempt| ask(&mut wrong, attempt, "let me in, please"));
    wrong.wait("tinderbox: this medium stays sealed");
    wrong.wait(REFUSED);
    wrong.wait("node: stopped: its node is not decided");
    assert!(wrong.is_blank(), "{}", wrong.said());
    assert!(!right.said().contains(PASSPHRASE), "{}", right.said());
    is_installed(&ws, right, "worker-0", "192.168.126.110");
}
