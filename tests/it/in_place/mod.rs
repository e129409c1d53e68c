//! A single node without a bootstrap machine: what it boots with, what is around it, and what is left out.

mod host;

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use crate::harness::{Workspace, left_out};
use crate::ignition::{config, entries, text};

const NODE: &str = "master-0";
const MANIFESTS: &str = "/etc/kubernetes/manifests/";

/// The example with one master and its bootstrap machine: the same cluster, brought up the other way.
fn with_bootstrap() -> Workspace {
    let ws = Workspace::single_node();
    ws.edit("install-config.yaml", "bootstrapInPlace:\n  installationDisk: /dev/vda\n", "");
    let nodes = "nodes:\n- {name: bootstrap, role: bootstrap, ip: 192.168.127.100}\n";
    ws.edit("cluster.yaml", "nodes:\n", nodes);
    ws.edit(
        "cluster.yaml",
        "# No `vips`:",
        "vips: {api: 192.168.127.10, ingress: 192.168.127.11}\n# No `vips`:",
    );
    ws
}

/// Its kubelet comes with the release's operating system, whatever its boot image has: a copy of the release has that image.
#[test]
fn a_mirror_has_the_operating_system_that_it_starts_from() {
    for (version, ws, wanted) in [
        ("4.18", Workspace::single_node(), true),
        ("4.22", Workspace::single_node(), true),
        ("4.18", with_bootstrap(), false),
        ("4.22", with_bootstrap(), true),
    ] {
        let copied = ws.json(&["release", "mirror", &format!("demo:{version}"), "oci:copy"]);
        // In the demo release up to 4.20 it is a name only.
        let names = format!("{} {}", copied["images"], copied["absent"]);
        assert_eq!(names.contains("\"rhel-coreos\""), wanted, "{version}: {copied}");
    }
}

/// It is a master, with what the bootstrap machine would have; nothing of that machine's operating system.
#[test]
fn the_node_is_a_master_with_the_first_control_plane() {
    let (one, two) = (Workspace::single_node(), with_bootstrap());
    one.build(&["ignition"]);
    two.build(&["ignition"]);
    let files = |ws: &Workspace, node: &str| -> BTreeSet<String> {
        entries(&config(ws, node), "storage.files").into_keys().collect()
    };
    let (ours, master, bootstrap) = (files(&one, NODE), files(&two, NODE), files(&two, "bootstrap"));
    let missing: Vec<&String> = master.difference(&ours).collect();
    assert!(missing.is_empty(), "{missing:?}");
    let left_out: Vec<&str> = bootstrap.difference(&ours).map(String::as_str).collect();
    insta::assert_snapshot!(left_out.join("\n"), @r"
    /etc/crio/crio.conf.d/00-pause-image
    /etc/kubernetes/images.env
    /etc/kubernetes/manifests/etcd.yaml
    /etc/kubernetes/manifests/kube-apiserver.yaml
    /etc/kubernetes/manifests/kube-controller-manager.yaml
    /etc/kubernetes/manifests/kube-scheduler.yaml
    ");
    let both: BTreeSet<String> = master.union(&bootstrap).cloned().collect();
    let new: Vec<&str> = ours.difference(&both).map(String::as_str).collect();
    insta::assert_snapshot!(new.join("\n"), @r"
    /etc/kubernetes/manifests/etcd-pod.yaml
    /etc/kubernetes/manifests/kube-apiserver-pod.yaml
    /etc/kubernetes/manifests/kube-controller-manager-pod.yaml
    /etc/kubernetes/manifests/kube-scheduler-pod.yaml
    ");
    // The kubelet is that of a master: it joins.
    let unit = |ws: &Workspace, name: &str| entries(&config(ws, NODE), "systemd.units")[name].clone();
    assert_eq!(unit(&one, "kubelet.service"), unit(&two, "kubelet.service"));
    assert_eq!(
        text(&one, NODE, "/etc/kubernetes/kubelet.conf"),
        text(&two, NODE, "/etc/kubernetes/kubelet.conf")
    );
}

/// Pods differ where the addresses do, and in etcd's name.
#[test]
fn the_pods_are_those_of_a_bootstrap_machine() {
    let (one, two) = (Workspace::single_node(), with_bootstrap());
    one.build(&["ignition"]);
    two.build(&["ignition"]);
    let mut differences = String::new();
    for pod in ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"] {
        let ours = text(&one, NODE, &format!("{MANIFESTS}{pod}-pod.yaml"));
        let theirs = text(&two, "bootstrap", &format!("{MANIFESTS}{pod}.yaml"));
        let theirs = theirs.replace("192.168.127.100", "192.168.127.101");
        let lines = ours.lines().filter(|line| !line.trim_start().starts_with('#'));
        let lines = lines.filter(|line| !theirs.lines().any(|other| other == *line));
        lines.for_each(|line| differences.push_str(&format!("{pod}: {}\n", line.trim())));
    }
    insta::assert_snapshot!(differences, @r"
    etcd: - --name=master-0.sno.example.com
    etcd: - --initial-cluster=master-0.sno.example.com=https://192.168.127.101:2380
    ");
    let peer = "/etc/kubernetes/bootstrap-secrets/etcd-peer.crt";
    let own = one.path_of("pki/etcd-peer-master-0").join("etcd-peer-master-0.crt");
    assert_eq!(text(&one, NODE, peer), fs::read_to_string(own).unwrap());
}

/// What there is for a machine that is not there is left out, and not empty.
#[test]
fn nothing_is_made_for_a_bootstrap_machine() {
    let names = |ws: &Workspace| -> BTreeSet<String> {
        let graph = ws.json(&["graph"]);
        let all = graph["derivations"].as_array().unwrap().iter();
        all.map(|one| one["name"].as_str().unwrap().to_owned()).collect()
    };
    let (ours, theirs) = (names(&Workspace::single_node()), names(&with_bootstrap()));
    let gone: Vec<&str> = theirs.difference(&ours).map(String::as_str).collect();
    insta::assert_snapshot!(gone.join("\n"), @r"
    check/infra
    identity/mac-bootstrap
    identity/uuid-bootstrap
    ignition-id/bootstrap
    ignition/bootstrap
    infra/bootstrap
    infra/haproxy
    infra/haproxy-pivoted
    key/etcd-peer-bootstrap
    pki/etcd-peer-bootstrap
    ");
    let new: Vec<&str> = ours.difference(&theirs).map(String::as_str).collect();
    assert_eq!(new, ["check/in-place"]);
}

/// With VIPs there is a load balancer, as with any other cluster, and one configuration for it.
#[test]
fn a_load_balancer_is_optional() {
    let ws = Workspace::single_node();
    ws.build(&["infra"]);
    let network = fs::read_to_string(ws.path_of("infra/network").join("network.xml")).unwrap();
    let names =
        network.split("<host ip=\"192.168.127.101\">").nth(1).unwrap().split("</host>").next().unwrap();
    for name in ["master-0", "etcd-0", "api", "api-int"] {
        assert!(names.contains(&format!("<hostname>{name}.sno.example.com</hostname>")), "{name}: {names}");
    }
    assert_eq!(network.matches("<host ip=").count(), 1, "{network}");
    assert!(network.contains("address=/apps.sno.example.com/192.168.127.101"), "{network}");
    assert!(!network.contains("192.168.127.10\""), "{network}");
    ws.edit(
        "cluster.yaml",
        "# No `vips`:",
        "vips: {api: 192.168.127.10, ingress: 192.168.127.11}\n# No `vips`:",
    );
    ws.build(&["cluster"]);
    let network = fs::read_to_string(ws.path_of("infra/network").join("network.xml")).unwrap();
    assert!(network.contains("<ip family=\"ipv4\" address=\"192.168.127.10\""), "{network}");
    let balancer = ws.path_of("infra/haproxy-pivoted").join("haproxy-pivoted.cfg");
    let balancer = fs::read_to_string(balancer).unwrap();
    assert_eq!(balancer.matches("server master-0 192.168.127.101:6443").count(), 1, "{balancer}");
    assert!(!ws.dir.join("result/infra/haproxy.cfg").exists());
}

/// Every release that there is a demo of, and every family.
#[test]
fn all_checks_hold() {
    for release in ["demo:4.18", "demo:4.19"] {
        let ws = Workspace::single_node();
        ws.edit("cluster.yaml", "release: demo:4.18", &format!("release: {release}"));
        ws.relock();
        let said = ws.run(&["check"]);
        assert!(said.ends_with("[exit 0]\n"), "{said}");
        for check in ["in-place-static-pods", "in-place-member", "in-place-kubelet", "in-place-cleared"] {
            assert!(said.contains(&format!("passed  {check} ")), "{check}: {said}");
        }
        assert!(!said.contains("never starts its kubelet"), "{said}");
    }
    let ws = Workspace::single_node();
    let install = |from: &str, to: &str| ws.edit("install-config.yaml", from, to);
    install("  - cidr: 192.168.127.0/24", "  - cidr: fd00:127::/64");
    install("  - cidr: 10.128.0.0/14\n    hostPrefix: 23", "  - cidr: fd01::/48\n    hostPrefix: 64");
    install("  - 172.30.0.0/16", "  - fd02::/112");
    let text = fs::read_to_string(ws.dir.join("cluster.yaml")).unwrap();
    ws.write("cluster.yaml", &text.replace("192.168.127.", "fd00:127::"));
    ws.build(&["cluster"]);
    let endpoints =
        fs::read_to_string(ws.dir.join("result/manifests/hand-over-etcd-endpoints.yaml")).unwrap();
    // base64 of the address, without padding.
    assert!(endpoints.ends_with("\ndata:\n  ZmQwMDoxMjc6OjEwMQ: \"fd00:127::101\"\n"), "{endpoints}");
}

#[test]
fn init_writes_such_a_directory() {
    let ws = Workspace::empty();
    let said = ws.run(&["init", "--single-node"]);
    assert!(said.ends_with("[exit 0]\n"), "{said}");
    ws.build(&["cluster"]);
    assert!(ws.dir.join("result/ignition/master-0.ign").exists());
    assert!(!ws.dir.join("result/ignition/bootstrap.ign").exists());
    // The same from an install-config that says so.
    let other = Workspace::empty();
    let from = ws.dir.join("install-config.yaml");
    let said = other.run(&["init", "--from", from.to_str().unwrap()]);
    assert!(said.ends_with("[exit 0]\n"), "{said}");
    let cluster = fs::read_to_string(other.dir.join("cluster.yaml")).unwrap();
    assert!(cluster.contains("- {name: master-0, role: master, ip: 192.168.127.101}"), "{cluster}");
    assert!(!cluster.contains("role: bootstrap") && !cluster.contains("\nvips:"), "{cluster}");
    let said = other.run(&["init", "--single-node", "--from", "x"]);
    assert!(said.contains("cannot be used with") && said.ends_with("[exit 2]\n"), "{said}");
}

#[test]
fn every_trust_edge_holds() {
    let ws = Workspace::single_node();
    ws.build(&["ignition"]);
    let trust = ws.json(&["graph", "--trust"]);
    assert_eq!(trust["failing"], 0, "{trust}");
}

#[test]
fn shellcheck_has_nothing_to_say() {
    let ws = Workspace::single_node();
    ws.build(&["script"]);
    let mut command = Command::new("shellcheck");
    command.args(["--enable=all", "--exclude=SC2250,SC2292,SC2310,SC2312"]);
    match command.arg(ws.path_of("script/bootkube").join("bootkube.sh")).output() {
        Ok(output) => assert!(output.status.success(), "{}", ws.text(&output)),
        Err(error) => left_out("shellcheck", &format!("Debian's shellcheck: {error}")),
    }
}
