//! The pods of other kinds of clusters: they differ where their networks do, and nowhere else.

use super::pods::bare;
use super::{PODS, dual_stack, ipv6, pod};
use crate::harness::Workspace;

/// The lines of all pods that the example does not have.
fn differences(ws: &Workspace) -> String {
    let example = Workspace::example().prebuilt();
    let mut found = String::new();
    for name in PODS {
        let usual = bare(&pod(&example, name));
        let usual: Vec<&str> = usual.lines().collect();
        let text = bare(&pod(ws, name));
        let others = text.lines().filter(|line| !usual.contains(line));
        others.for_each(|line| found.push_str(&format!("{name}: {}\n", line.trim())));
    }
    found
}

#[test]
fn dual_stack_has_both_families_where_there_are_lists() {
    insta::assert_snapshot!(differences(&dual_stack()), @r"
    etcd: - --listen-client-urls=https://127.0.0.1:2379,https://[::1]:2379,https://192.168.126.100:2379
    kube-controller-manager: - --cluster-cidr=10.128.0.0/14,fd01::/48
    kube-controller-manager: - --service-cluster-ip-range=172.30.0.0/16,fd02::/112
    kube-proxy: - --cluster-cidr=10.128.0.0/14,fd01::/48
    ");
}

#[test]
fn ipv6_has_brackets_in_urls() {
    insta::assert_snapshot!(differences(&ipv6()), @r"
    etcd: - --listen-client-urls=https://127.0.0.1:2379,https://[::1]:2379,https://[fd00:126::100]:2379
    etcd: - --advertise-client-urls=https://[fd00:126::100]:2379
    etcd: - --listen-peer-urls=https://[fd00:126::100]:2380
    etcd: - --initial-advertise-peer-urls=https://[fd00:126::100]:2380
    etcd: - --initial-cluster=etcd-bootstrap=https://[fd00:126::100]:2380
    kube-apiserver: - --advertise-address=fd00:126::100
    kube-controller-manager: - --cluster-cidr=fd01::/48
    kube-controller-manager: - --service-cluster-ip-range=fd02::/112
    kube-proxy: - --cluster-cidr=fd01::/48
    ");
}

/// The bootstrap control plane is the same whatever it brings up; only with one master nobody can take over its clients.
#[test]
fn compact_and_single_node_have_the_same_pods() {
    let compact = Workspace::example().prebuilt();
    compact.edit("install-config.yaml", "replicas: 2", "replicas: 0");
    for worker in [0, 1] {
        let line = format!("- {{name: worker-{worker}, role: worker, ip: 192.168.126.11{worker}}}\n");
        compact.edit("cluster.yaml", &line, "");
    }
    assert_eq!(differences(&compact), "");
    compact.edit("install-config.yaml", "replicas: 3", "replicas: 1");
    for master in [1, 2] {
        let line = format!("- {{name: master-{master}, role: master, ip: 192.168.126.10{}}}\n", master + 1);
        compact.edit("cluster.yaml", &line, "");
    }
    insta::assert_snapshot!(differences(&compact), @r#"
    etcd: value: "1"
    kube-apiserver: terminationGracePeriodSeconds: 15
    kube-apiserver: - --shutdown-delay-duration=0s
    "#);
}

#[test]
fn an_edit_rebuilds_the_pods_that_carry_it() {
    let ws = Workspace::example().prebuilt();
    ws.build(&["static-pod"]);
    ws.edit("cluster.yaml", "192.168.126.110", "192.168.126.120");
    assert!(ws.build(&["static-pod"]).is_empty(), "a worker's address");
    ws.edit("install-config.yaml", "172.30.0.0/16", "172.31.0.0/16");
    assert_eq!(ws.build(&["static-pod"]), ["static-pod/kube-controller-manager"]);
    ws.edit("install-config.yaml", "10.128.0.0/14", "10.132.0.0/14");
    assert_eq!(ws.build(&["static-pod"]), ["static-pod/kube-controller-manager", "static-pod/kube-proxy"]);
    ws.edit("cluster.yaml", "192.168.126.100", "192.168.126.105");
    assert_eq!(ws.build(&["static-pod"]), ["static-pod/etcd", "static-pod/kube-apiserver"]);
}
