//! Machines of the user's own.

use super::*;

const INSTALL: &str = include_str!("../../../../examples/external/install-config.yaml");
const CLUSTER: &str = include_str!("../../../../examples/external/cluster.yaml");

/// The example of such machines with a text of cluster.yaml replaced.
fn external(edits: &[(&str, &str)]) -> Result<Cluster, Problems> {
    let mut cluster = CLUSTER.to_owned();
    for (from, to) in edits {
        assert!(cluster.contains(from), "{from:?}");
        cluster = cluster.replace(from, to);
    }
    try_load(INSTALL, &cluster)
}

#[test]
fn machines_are_libvirts_unless_the_file_says_otherwise() {
    assert_eq!(value(&example(), "machines"), r#""libvirt""#);
    let cluster = external(&[]).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(value(&cluster, "machines"), r#""external""#);
    let other = external(&[("machines: external", "machines: vsphere")]).unwrap_err().to_string();
    insta::assert_snapshot!(other, @"cluster.yaml:9: machines: `vsphere` is not one of `libvirt`, `external`");
}

/// What says how a virtual machine is made would have no effect.
#[test]
fn what_describes_a_virtual_machine_is_refused() {
    let dhcp = "  dns: [192.168.128.1]\n";
    let found = external(&[
        (dhcp, &format!("{dhcp}  dhcp: {{start: 192.168.128.200, end: 192.168.128.254}}\n")),
        ("machines: external\n", "machines: external\nlibvirt: {uri: 'qemu:///system'}\n"),
        ("name: worker-0,", "name: worker-0, memory: 16GiB, vcpus: 8, disk: 200GB,"),
    ]);
    insta::assert_snapshot!(found.unwrap_err().to_string(), @r"
    cluster.yaml:10: libvirt: with `machines: external`, nothing is made on libvirt
      hint: remove it
    cluster.yaml:22: network.dhcp: with `machines: external`, tinderbox runs no DHCP server: yours decides
      hint: remove it
    cluster.yaml:32: nodes.worker-0.disk: with `machines: external`, the machine is as large as it is
      hint: remove it
    cluster.yaml:32: nodes.worker-0.memory: with `machines: external`, the machine is as large as it is
      hint: remove it
    cluster.yaml:32: nodes.worker-0.vcpus: with `machines: external`, the machine is as large as it is
      hint: remove it
    ");
}

/// A seed cannot know a real machine's address, and no disk is every machine's.
#[test]
fn what_only_the_machine_knows_is_required() {
    let own = "mac: '52:54:00:80:00:6f', installDevice: /dev/sda";
    let found = external(&[(&format!(", {own}"), "")]);
    insta::assert_snapshot!(found.unwrap_err().to_string(), @r"
    cluster.yaml:31: nodes.worker-1.installDevice: required with `machines: external`, but missing
      hint: the disk that is overwritten, such as `/dev/nvme0n1` or `/dev/disk/by-path/…`; machines of your own have no common default
    cluster.yaml:31: nodes.worker-1.mac: required with `machines: external`, but missing
      hint: the address of the machine's port, by which its network and its boot medium recognise it
    ");
    let network = "installDevice: /dev/sda, interfaces: [{name: eno1, macAddress: '52:54:00:80:00:6f'}], networkConfig: \
                   {interfaces: [{name: eno1, type: ethernet, state: up, ipv4: {enabled: true, dhcp: true}}]}";
    external(&[(own, network)]).unwrap_or_else(|problems| panic!("{problems}"));
}
