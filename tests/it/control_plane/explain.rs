//! `show --explain`: comment, origin and reader of a flag or a field.

use std::fs;

use crate::harness::{Workspace, source};

fn explain(ws: &Workspace, target: &str, what: &str) -> String {
    ws.build(&[target]);
    ws.run(&["show", target, "--explain", what])
}

#[test]
fn a_flag_says_why_from_where_and_who_reads_it() {
    let ws = Workspace::example().prebuilt();
    insta::assert_snapshot!(explain(&ws, "static-pod/etcd", "listen-client-urls"), @"
    --listen-client-urls=https://127.0.0.1:2379,https://192.168.126.100:2379
      Where clients connect: on this node (the API server, bootkube) and from outside (the etcd
      operator, which adds the masters' members). With loopback alone the operator never sees a healthy
      member, and no master gets etcd.
      where     static-pod/etcd:etcd.yaml, line 30
      template  built-in recipes/40-static-pod/etcd.yaml.j2:42
      origin    `ip` = bootstrap.ip ← cluster.yaml:26: nodes.bootstrap.ip
      origin    `loopbacks` = network.loopbacks ← install-config.yaml:25: networking.machineNetwork.0.cidr
      read by   etcd, in Pod kube-system/etcd
      goes into assembled
    [exit 0]
    ");
    insta::assert_snapshot!(explain(&ws, "static-pod/kube-apiserver", "--etcd-certfile"), @"
    --etcd-certfile=/etc/kubernetes/secrets/etcd-client.crt
      Who we are to etcd, which refuses everybody without a certificate of etcd-ca.
      where     static-pod/kube-apiserver:kube-apiserver.yaml, line 40
      template  built-in recipes/40-static-pod/kube-apiserver.yaml.j2:41
      origin    the template has this value itself
      read by   kube-apiserver, in Pod kube-system/kube-apiserver
      names     /etc/kubernetes/secrets/etcd-client.crt, on the node /etc/kubernetes/bootstrap-secrets/etcd-client.crt ← pki/etcd-client
      goes into assembled
    [exit 0]
    ");
    insta::assert_snapshot!(explain(&ws, "static-pod/kube-controller-manager", "cluster-cidr"), @"
    --cluster-cidr=10.128.0.0/14
      Pods' addresses, one network per family. Must agree with Network `cluster`.
      where     static-pod/kube-controller-manager:kube-controller-manager.yaml, line 57
      template  built-in recipes/40-static-pod/kube-controller-manager.yaml.j2:59
      origin    `cluster` = networks.cluster.*.cidr ← install-config.yaml:28: networking.clusterNetwork.0.cidr
      read by   kube-controller-manager, in Pod kube-system/kube-controller-manager
      goes into assembled
    [exit 0]
    ");
}

#[test]
fn a_flag_that_is_given_twice_is_explained_twice() {
    let ws = Workspace::example().prebuilt();
    for file in ["kube-scheduler.toml", "kube-scheduler.yaml.j2"] {
        let text = fs::read_to_string(source("recipes/40-static-pod").join(file)).unwrap();
        let twice = "    - --v=2\n    # And again: the last one counts.\n    - --v=4\n";
        ws.write(&format!("recipes/40-static-pod/{file}"), &text.replace("    - --v=2\n", twice));
    }
    insta::assert_snapshot!(explain(&ws, "static-pod/kube-scheduler", "v"), @"
    --v=2
      Log as much as OpenShift's support works with.
      where     static-pod/kube-scheduler:kube-scheduler.yaml, line 36
      template  recipes/40-static-pod/kube-scheduler.yaml.j2:36
      origin    the template has this value itself
      read by   kube-scheduler, in Pod kube-system/kube-scheduler
    --v=4
      And again: the last one counts.
      where     static-pod/kube-scheduler:kube-scheduler.yaml, line 38
      template  recipes/40-static-pod/kube-scheduler.yaml.j2:38
      origin    the template has this value itself
      read by   kube-scheduler, in Pod kube-system/kube-scheduler
      goes into assembled
    [exit 0]
    ");
}

#[test]
fn a_field_too_of_a_pod_and_of_a_manifest() {
    let ws = Workspace::example().prebuilt();
    insta::assert_snapshot!(explain(&ws, "static-pod/kube-apiserver", "spec.hostNetwork"), @"
    spec.hostNetwork=true
      The node's own addresses: there is no pod network yet, and the load balancer sends to this node's
      port 6443.
      where     static-pod/kube-apiserver:kube-apiserver.yaml, line 14
      template  built-in recipes/40-static-pod/kube-apiserver.yaml.j2:15
      origin    the template has this value itself
      read by   the kubelet, which runs Pod kube-system/kube-apiserver
      goes into assembled
    [exit 0]
    ");
    insta::assert_snapshot!(explain(&ws, "manifest/cluster-dns-02-config", "spec.baseDomain"), @"
    spec.baseDomain=ocp4.example.com
      The CLUSTER domain, not install-config's baseDomain: with the latter every name would be wrong.
      where     manifest/cluster-dns-02-config:cluster-dns-02-config.yml, line 7
      template  built-in recipes/50-manifest/cluster-dns-02-config.yml.j2:7
      origin    `domain` = cluster.domain ← install-config.yaml:8: metadata.name; install-config.yaml:9: baseDomain
      read by   the DNS and ingress operators, and the kube-apiserver operator, which builds api and api-int from it
      goes into assembled
    [exit 0]
    ");
    insta::assert_snapshot!(explain(&ws, "manifest/cluster-network-02-config", "spec.serviceNetwork"), @r#"
    spec.serviceNetwork
    serviceNetwork:
    - "172.30.0.0/16"
      Services. The first address is the API's, the tenth the cluster DNS's.
      where     manifest/cluster-network-02-config:cluster-network-02-config.yml, line 14
      template  built-in recipes/50-manifest/cluster-network-02-config.yml.j2:13
      origin    `service` = networks.service ← install-config.yaml:32: networking.serviceNetwork.0
      read by   kube-apiserver and controller-manager operators, and the machine-config operator, which puts the cluster DNS address into kubelet.conf
      goes into assembled
    [exit 0]
    "#);
}

#[test]
fn what_is_not_there_gets_a_hint() {
    let ws = Workspace::example().prebuilt();
    insta::assert_snapshot!(explain(&ws, "static-pod/kube-apiserver", "--etcd-server"), @r"
    [stderr]
    error: `static-pod/kube-apiserver` has no `--etcd-server`
    hint: did you mean `--etcd-servers`?
    [exit 2]
    ");
    insta::assert_snapshot!(explain(&ws, "static-pod/kube-apiserver", "spec.hostNetwok"), @r"
    [stderr]
    error: `static-pod/kube-apiserver` has no `spec.hostNetwok`
    hint: did you mean `spec.hostNetwork`?
    [exit 2]
    ");
    insta::assert_snapshot!(explain(&ws, "infra/haproxy", "x"), @r"
    [stderr]
    error: `infra/haproxy` has no `x`
    hint: `tinderbox show infra/haproxy --explain` lists its parts
    [exit 2]
    ");
    insta::assert_snapshot!(explain(&ws, "release/images", "x"), @r"
    [stderr]
    error: `release/images` has several files
    hint: name one: `release/images:components/baremetal-runtimecfg`
    [exit 2]
    ");
    let secret = explain(&ws, "manifest/openshift-config-secret-pull-secret", "metadata.name");
    insta::assert_snapshot!(secret, @r"
    [stderr]
    error: `manifest/openshift-config-secret-pull-secret:openshift-config-secret-pull-secret.yaml` is secret: its lines are not explained
    hint: its template is in the recipe built-in recipes/50-manifest/openshift-config-secret-pull-secret.toml
    [exit 2]
    ");
}

#[test]
fn scripts_get_the_same_as_data() {
    let ws = Workspace::example().prebuilt();
    ws.build(&["static-pod/kube-apiserver"]);
    let found = ws.json(&["show", "static-pod/kube-apiserver", "--explain", "--tls-cert-file"]);
    let one = &found["matches"][0];
    assert_eq!(one["value"], "/etc/kubernetes/secrets/kube-apiserver.crt");
    assert_eq!(one["files"][0]["on_node"], "/etc/kubernetes/bootstrap-secrets/kube-apiserver.crt");
    assert_eq!(one["files"][0]["derivation"], "pki/kube-apiserver");
    let found = ws.json(&["show", "static-pod/kube-apiserver", "--explain", "advertise-address"]);
    let origin = &found["matches"][0]["origins"][0];
    assert_eq!((&origin["kind"], &origin["from"]), (&"config".into(), &"bootstrap.ip".into()));
    assert_eq!(origin["places"][0]["file"], "cluster.yaml");
}
