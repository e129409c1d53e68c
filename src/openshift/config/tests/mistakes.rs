//! Mistakes that people make in the two files, each with its message: the table is read as a whole.

use super::*;

/// What is written, and the mistake in its place.
const MISTAKES: &[(&str, &str)] = &[
    ("apiVersion: v1", "apiVersion: v2"),
    ("apiVersion: v1", "apiversion: v1"),
    ("apiVersion: v1", ""),
    ("metadata:\n  name: ocp4", "metadata: ocp4"),
    ("  name: ocp4", "  name: OCP4"),
    ("  name: ocp4", "  nmae: ocp4"),
    ("  name: ocp4", "  name: 4.18"),
    ("  name: ocp4", "  name: ocp4\n  labels: {a: b}"),
    ("baseDomain: example.com", "baseDomain: example .com"),
    ("baseDomain: example.com", "baseDomain: https://example.com"),
    ("baseDomain: example.com", "basedomain: example.com"),
    ("baseDomain: example.com", "baseDomain: [example.com]"),
    ("replicas: 3", "replicas: 2"),
    ("replicas: 3", "replicas: '3'"),
    ("replicas: 3", "replicas: three"),
    ("replicas: 3", "replicas: -1"),
    ("replicas: 2", "replicas: 1"),
    ("- name: worker\n", "- name: wroker\n"),
    ("- name: worker\n", "- name: edge\n"),
    ("  name: master\n", "  name: control\n"),
    ("networkType: OVNKubernetes", "networkType: OpenShiftSDN"),
    ("networkType: OVNKubernetes", "networkType: OVNkubernetes"),
    ("- cidr: 192.168.126.0/24", "- cidr: 192.168.126.0"),
    ("- cidr: 192.168.126.0/24", "- cidr: 192.168.126.1/24"),
    ("- cidr: 192.168.126.0/24", "- 192.168.126.0/24"),
    ("- cidr: 192.168.126.0/24", "- cidr: 192.168.127.0/24"),
    ("- cidr: 10.128.0.0/14", "- cidr: 192.168.0.0/16"),
    ("- cidr: 10.128.0.0/14", "- cidr: fd01::/48"),
    ("hostPrefix: 23", "hostPrefix: 13"),
    ("hostPrefix: 23", "hostPrefix: 33"),
    ("  - 172.30.0.0/16", "  - 172.30.0.0"),
    ("  - 172.30.0.0/16", "  []"),
    ("  - 172.30.0.0/16", "  - 10.128.0.0/16"),
    ("none: {}", "aws: {region: here}"),
    ("none: {}", "nonne: {}"),
    ("  none: {}", "  {}"),
    ("pullSecret: '{\"auths\"", "pullSecret: '{\"auth\""),
    ("pullSecret: '{", "pullSecret: 'hunter2{"),
    ("pullSecret: ", "pullsecret: "),
    ("# sshKey: ssh-ed25519 AAAA… you@example.com", "sshKey: my key"),
    ("# sshKey: ssh-ed25519 AAAA… you@example.com", "sshkey: x"),
    ("# sshKey: ssh-ed25519 AAAA… you@example.com", "fips: maybe"),
    ("# sshKey: ssh-ed25519 AAAA… you@example.com", "publish: Internal"),
    ("# sshKey: ssh-ed25519 AAAA… you@example.com", "credentialsMode: Manual"),
    ("# sshKey: ssh-ed25519 AAAA… you@example.com", "featureGates: [SomeGate]"),
    ("# sshKey: ssh-ed25519 AAAA… you@example.com", "proxy: {httpProxy: proxy.example.com}"),
    ("# sshKey: ssh-ed25519 AAAA… you@example.com", "additionalTrustBundle: nonsense"),
    ("# sshKey: ssh-ed25519 AAAA… you@example.com", "imageDigestSources: [{source: 'quay.io/a:tag'}]"),
    ("\nrelease: demo:4.18", "\nrelaese: demo:4.18"),
    ("\nrelease: demo:4.18", "\nrelease: 4.18"),
    ("\nrelease: demo:4.18", "\nrelease: quay.io/ocp-release"),
    ("\nrelease: demo:4.18", "\nrelease: demo:4.18\nrelease: demo:4.19"),
    ("  api: 192.168.126.10\n", "  api: 192.168.126\n"),
    ("  api: 192.168.126.10\n", "  api: 10.0.0.10\n"),
    ("  api: 192.168.126.10\n", "  api: 192.168.126.11\n"),
    ("  api: 192.168.126.10\n", ""),
    ("  gateway: 192.168.126.1\n", "  gateway: 192.168.127.1\n"),
    ("  gateway: 192.168.126.1\n", "  gateway: router\n"),
    ("dns: [192.168.126.1]", "dns: []"),
    ("end: 192.168.126.254", "end: 192.168.126.100"),
    ("- {name: master-0, role: master,", "- {name: master_0, role: master,"),
    ("- {name: master-0, role: master,", "- {name: master-1, role: master,"),
    ("- {name: master-0, role: master,", "- {name: master-0, role: mastre,"),
    ("- {name: master-0, role: master,", "- {name: master-0, role: worker,"),
    ("- {name: master-0, role: master,", "- {name: master-0,"),
    ("- {name: master-0, role: master,", "- {name: master-0, role: bootstrap,"),
    ("role: bootstrap, ip", "role: worker, ip"),
    ("ip: 192.168.126.101", "ip: 192.168.126.300"),
    ("ip: 192.168.126.101", "ip: 192.168.126.102"),
    ("ip: 192.168.126.101", "ip: 192.168.126.10"),
    ("ip: 192.168.126.101", "ip: 192.168.126.210"),
    ("ip: 192.168.126.101", "ip: 192.168.126.101, memory: 16"),
    ("ip: 192.168.126.101", "ip: 192.168.126.101, memory: 1GiB"),
    ("ip: 192.168.126.101", "ip: 192.168.126.101, disk: 10GB"),
    ("ip: 192.168.126.101", "ip: 192.168.126.101, vcpus: 0"),
    ("ip: 192.168.126.101", "ip: 192.168.126.101, mac: '01:00:00:00:00:00'"),
    ("ip: 192.168.126.101", "ip: 192.168.126.101, cpus: 4"),
    ("ip: 192.168.126.101", "ip: 192.168.126.101, installDevice: vda"),
    ("ip: 192.168.126.101", "ip: 192.168.126.101, networkConfig: eno1"),
    (
        "ip: 192.168.126.101",
        "ip: 192.168.126.101, networkConfig: {interfaces: [{name: eno1, type: ethrnet}]}",
    ),
    (
        "ip: 192.168.126.101",
        "ip: 192.168.126.101, networkConfig: {interfaces: [{name: eno1, type: ethernet, mtu: 1.5}]}",
    ),
    (
        "ip: 192.168.126.101",
        "ip: 192.168.126.101, networkConfig: {interfaces: [{name: eno1, type: ethernet, ipv4: {enabled: true, \
         address: [{ip: 192.168.126.110, prefix-length: 24}]}}]}",
    ),
    (
        "ip: 192.168.126.101",
        "ip: 192.168.126.101, interfaces: [{name: en01, macAddress: '52:54:00:00:00:01'}], \
         networkConfig: {interfaces: [{name: eno1, type: ethernet, ipv4: {enabled: true, dhcp: true}}]}",
    ),
    (
        "ip: 192.168.126.101",
        "ip: 192.168.126.101, interfaces: [{name: eno1, macAddress: '52:54:00:00:00:01'}]",
    ),
    (
        "ip: 192.168.126.101",
        "ip: 192.168.126.101, mac: '52:54:00:00:00:01', interfaces: [{name: eno1, macAddress: '52:54:00:00:00:01'}], \
         networkConfig: {interfaces: [{name: eno1, type: ethernet, ipv4: {enabled: true, dhcp: true}}]}",
    ),
    ("\nvips:", "\nlibvirt: {domainType: xen}\nvips:"),
    ("\nvips:", "\npki: {keyAlgorithm: rsa-1024}\nvips:"),
    ("\nvips:", "\npki: {validity: {leaves: 1w}}\nvips:"),
    ("\nvips:", "\narchitecture: x86\nvips:"),
    ("\nvips:", "\n\tlibvirt: {}\nvips:"),
    ("\nvips:", "\npullSecretFile: pull-secret.json\nvips:"),
];

#[test]
fn every_mistake_has_a_message() {
    assert!(MISTAKES.len() >= 75, "{}", MISTAKES.len());
    let mut table = String::new();
    for (from, to) in MISTAKES {
        let problems = edited(&[(from, to)]).err().unwrap_or_else(|| panic!("{from:?} → {to:?} is accepted"));
        let _ = writeln!(table, "{:?} → {:?}\n{problems}", from.trim(), to.trim());
    }
    insta::assert_snapshot!("mistakes", table);
}
