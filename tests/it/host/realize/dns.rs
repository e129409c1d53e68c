//! The network as libvirt runs it: its addresses, and what its DNS answers.

use std::process::Command;

use super::Libvirt;
use crate::harness::{Workspace, left_out};

/// Every name that a cluster asks for, in both families; and the VIPs are on the bridge.
#[test]
fn the_network_has_the_vips_and_answers_for_the_cluster() {
    let Some(libvirt) = Libvirt::start("the network of a real libvirt") else { return };
    if Command::new("dig").arg("-v").output().is_err() {
        return left_out("DNS", "dig, of Debian's bind9-dnsutils");
    }
    let ws = Workspace::on_disk().filled().prebuilt();
    ws.dual_stack();
    ws.build(&["infra/network"]);
    let file = ws.path_of("infra/network").join("network.xml");
    libvirt.virsh(&["net-define", file.to_str().unwrap()]);
    libvirt.virsh(&["net-start", "ocp4"]);
    let ask = |names: &[&str]| {
        let questions: Vec<String> =
            names.iter().map(|name| format!("dig +short +tries=5 @192.168.126.1 {name}")).collect();
        libvirt.sh(&questions.join(" && echo && "))
    };
    insta::assert_snapshot!(ask(&[
        "api.ocp4.example.com",
        "api-int.ocp4.example.com AAAA",
        "console-openshift-console.apps.ocp4.example.com",
        "anything.at.all.apps.ocp4.example.com AAAA",
        "master-0.ocp4.example.com",
        "etcd-2.ocp4.example.com",
        "worker-1.ocp4.example.com AAAA",
        "-x 192.168.126.101 | sort",
        "SRV _etcd-server-ssl._tcp.ocp4.example.com | sort",
        "nobody.ocp4.example.com",
    ]), @r"
    192.168.126.10

    fd00:126::10

    192.168.126.11

    fd00:126::11

    192.168.126.101

    192.168.126.103

    fd00:126::111

    master-0.ocp4.example.com.

    0 10 2380 etcd-0.ocp4.example.com.
    0 10 2380 etcd-1.ocp4.example.com.
    0 10 2380 etcd-2.ocp4.example.com.
    ");
    insta::assert_snapshot!(libvirt.sh("ip -brief -4 address show virbr-ocp4 | tr -s ' ' | cut -d' ' -f3-"), @"192.168.126.1/24 192.168.126.10/32 192.168.126.11/32");
    let six = libvirt.sh("ip -brief -6 address show virbr-ocp4");
    assert!(
        ["fd00:126::1/64", "fd00:126::10/128", "fd00:126::11/128"].iter().all(|ip| six.contains(ip)),
        "{six}"
    );
}
