//! A single node that bootstraps itself.

use super::*;

const INSTALL: &str = include_str!("../../../../examples/sno/install-config.yaml");
const CLUSTER: &str = include_str!("../../../../examples/sno/cluster.yaml");

/// The example of such a node with texts replaced in either file.
fn edited(edits: &[(&str, &str)]) -> Result<Cluster, Problems> {
    let (mut install, mut cluster) = (INSTALL.to_owned(), CLUSTER.to_owned());
    for (from, to) in edits {
        assert!(install.contains(from) || cluster.contains(from), "{from:?} is in neither file");
        install = install.replace(from, to);
        cluster = cluster.replace(from, to);
    }
    try_load(&install, &cluster)
}

fn report(edits: &[(&str, &str)]) -> String {
    edited(edits).map_or_else(|problems| problems.to_string(), |_| "no problems".to_owned())
}

#[test]
fn a_master_that_is_listed_alone_bootstraps_itself() {
    let cluster = edited(&[]).unwrap();
    assert!(cluster.is_in_place() && !example().is_in_place());
    assert_eq!(cluster.bootstrap().unwrap().name, "master-0");
    assert_eq!(value(&cluster, "cluster.bootstrap"), r#""in-place""#);
    assert_eq!(
        value(&cluster, "bootstrap.{name,role,ip}"),
        r#"{"ip":"192.168.127.101","name":"master-0","role":"master"}"#
    );
    assert_eq!(value(&cluster, "joining.*.name"), r#"["master-0"]"#);
    assert_eq!(value(&example(), "cluster.bootstrap"), r#""machine""#);
    // That install-config says so too is not needed: it is what operators are told.
    assert!(edited(&[("bootstrapInPlace:\n  installationDisk: /dev/vda\n", "")]).unwrap().is_in_place());
}

/// Without VIPs the node's own addresses are theirs, and follow from its line.
#[test]
fn vips_may_be_left_out() {
    let cluster = edited(&[]).unwrap();
    assert_eq!(value(&cluster, "api.{vip,vips}"), r#"{"vip":"192.168.127.101","vips":["192.168.127.101"]}"#);
    assert_eq!(value(&cluster, "ingress.vips"), r#"["192.168.127.101"]"#);
    assert_eq!(value(&cluster, "platform.loadBalancer"), r#""None""#);
    let read = cluster.fields().project("api.vip").unwrap().reads;
    let origins = read.iter().flat_map(|read| read.origins.iter()).map(ToString::to_string);
    assert_eq!(origins.collect::<Vec<_>>(), ["cluster.yaml:20: nodes.master-0.ip"]);
    let vips = "vips: {api: 192.168.127.10, ingress: 192.168.127.11}\nnetwork:\n";
    let cluster = edited(&[("network:\n  gateway", &format!("{vips}  gateway"))]).unwrap();
    assert_eq!(value(&cluster, "api.vips"), r#"["192.168.127.10"]"#);
    assert_eq!(value(&cluster, "platform.loadBalancer"), r#""UserManaged""#);
}

#[test]
fn the_disk_is_that_of_install_config() {
    let device = |edits: &[(&str, &str)]| value(&edited(edits).unwrap(), "nodes.master-0.installDevice");
    assert_eq!(
        device(&[("installationDisk: /dev/vda", "installationDisk: /dev/nvme0n1")]),
        r#""/dev/nvme0n1""#
    );
    assert_eq!(device(&[("bootstrapInPlace:\n  installationDisk: /dev/vda\n", "")]), r#""/dev/vda""#);
    insta::assert_snapshot!(report(&[("disk: 120GB", "disk: 120GB, installDevice: /dev/sda")]), @r"
    cluster.yaml:20: nodes.master-0.installDevice: `/dev/sda`, but `bootstrapInPlace.installationDisk` of install-config is `/dev/vda`
      hint: give the disk in one of the two files
    ");
}

#[test]
fn what_does_not_fit_is_said() {
    let node =
        "- {name: master-0, role: master, ip: 192.168.127.101, vcpus: 8, memory: 32GiB, disk: 120GB}\n";
    let with = |more: &str| format!("{node}{more}");
    // A bootstrap machine beside it.
    insta::assert_snapshot!(report(&[(node, &with("- {name: bootstrap, role: bootstrap, ip: 192.168.127.100}\n"))]), @r"
    cluster.yaml: vips: required, but missing
      hint: add `vips: {api: …, ingress: …}`
    install-config.yaml:20: bootstrapInPlace: only a single master, without workers and without a bootstrap node, bootstraps itself
      hint: list that node alone in cluster.yaml, or remove `bootstrapInPlace`
    ");
    // Workers: nobody would serve them their configuration in time.
    insta::assert_snapshot!(report(&[
        (node, &with("- {name: worker-0, role: worker, ip: 192.168.127.110}\n")),
        ("replicas: 0", "replicas: 1"),
    ]), @r"
    cluster.yaml: vips: required, but missing
      hint: add `vips: {api: …, ingress: …}`
    cluster.yaml:19: nodes: no node has `role: bootstrap`
      hint: list one: it runs the first control plane and is removed afterwards; only a single master without workers can bootstrap itself
    install-config.yaml:20: bootstrapInPlace: only a single master, without workers and without a bootstrap node, bootstraps itself
      hint: list that node alone in cluster.yaml, or remove `bootstrapInPlace`
    ");
    // More replicas than nodes.
    insta::assert_snapshot!(report(&[("replicas: 1", "replicas: 3")]), @r"
    install-config.yaml:14: controlPlane.replicas: 3 master replicas, but cluster.yaml lists 1 [replicas]
      hint: set replicas to 1, or list 3 master nodes
    ");
}
