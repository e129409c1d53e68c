//! What each kind of node gets, in each kind of cluster; and what an edit builds.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use super::{config, entries, text};
use crate::harness::{Workspace, names};

const KEYFILE: &str = "/etc/NetworkManager/system-connections/tinderbox.nmconnection";
/// What the Machine Config Server adds when it serves a node.
const SERVED: [&str; 5] = [
    "/etc/ignition-machine-config-encapsulated.json",
    "/etc/kubernetes/kubeconfig",
    "/etc/kubernetes/kubelet-ca.crt",
    "/etc/machine-config-daemon/node-annotations.json",
    "/etc/mcs-machine-config-content.json",
];

#[test]
fn nodes_have_what_the_server_would_add() {
    let ws = Workspace::example().prebuilt();
    ws.build(&["ignition"]);
    for (node, pool) in [("master-1", "master"), ("worker-0", "worker")] {
        let config = config(&ws, node);
        let files = entries(&config, "storage.files");
        for path in SERVED {
            let file = &files[path];
            assert_eq!(
                (&file["mode"], &file["overwrite"]),
                (&Value::from(0o644), &Value::from(true)),
                "{path}"
            );
        }
        let annotations: Value = serde_json::from_str(&text(&ws, node, SERVED[3])).unwrap();
        let name = fs::read_to_string(ws.path_of(&format!("mco/{pool}")).join("name")).unwrap();
        assert_eq!(
            annotations,
            serde_json::json!({
                "machineconfiguration.openshift.io/currentConfig": name.trim(),
                "machineconfiguration.openshift.io/desiredConfig": name.trim(),
                "machineconfiguration.openshift.io/state": "Done",
            })
        );
        let whole: Value = serde_json::from_str(&text(&ws, node, SERVED[4])).unwrap();
        assert_eq!(whole["metadata"]["name"].as_str(), Some(name.trim()));
        assert!(whole["spec"]["config"]["storage"].is_object());
        let emptied: Value = serde_json::from_str(&text(&ws, node, SERVED[0])).unwrap();
        assert_eq!(emptied["spec"]["config"], serde_json::json!({"ignition": config["ignition"]}));
        assert_eq!(emptied["spec"]["osImageURL"], whole["spec"]["osImageURL"]);
        assert_eq!(files.contains_key("/etc/kubernetes/manifests/kube-proxy.yaml"), pool == "master");
        assert_eq!(text(&ws, node, "/etc/hostname"), format!("{node}.ocp4.example.com\n"));
    }
}

/// From 4.22 on the server writes one more annotation.
#[test]
fn the_annotations_follow_the_release() {
    let ws = Workspace::example().prebuilt();
    ws.edit("cluster.lock", "version = \"4.18.0-demo\"", "version = \"4.22.1\"");
    ws.build(&["ignition/worker-0"]);
    let annotations: Value = serde_json::from_str(&text(&ws, "worker-0", SERVED[3])).unwrap();
    assert!(annotations["machineconfiguration.openshift.io/firstPivotConfig"].is_string(), "{annotations}");
}

/// Of all authorities' keys only the one that the controller manager signs with; modes as the facts say.
#[test]
fn the_bootstrap_node_has_the_keys_that_its_pods_name() {
    let ws = Workspace::example().prebuilt();
    ws.build(&["ignition/bootstrap"]);
    let config = config(&ws, "bootstrap");
    let files = entries(&config, "storage.files");
    let below = |directory: &str, end: &str| {
        let names = files.keys().filter_map(|path| path.strip_prefix(directory));
        names.filter(|name| name.ends_with(end)).map(str::to_owned).collect::<Vec<_>>()
    };
    let secrets = "/etc/kubernetes/bootstrap-secrets/";
    assert_eq!(
        below(secrets, ".key"),
        [
            "bound-service-account-signing-key.key",
            "etcd-client.key",
            "etcd-peer.key",
            "etcd-server.key",
            "front-proxy-client.key",
            "kube-apiserver-kubelet-client.key",
            "kube-apiserver.key",
            "kubernetes-ca.key",
            "service-account.key",
        ]
    );
    for name in below(secrets, ".key") {
        assert_eq!(files[&format!("{secrets}{name}")]["mode"], Value::from(0o600), "{name}");
    }
    let directories = entries(&config, "storage.directories");
    assert_eq!(directories["/etc/kubernetes/bootstrap-secrets"]["mode"], Value::from(0o700));
    assert_eq!(
        below("/etc/kubernetes/kubeconfigs/", ".kubeconfig"),
        [
            "admin.kubeconfig",
            "kube-controller-manager.kubeconfig",
            "kube-scheduler.kubeconfig",
            "lb-ext.kubeconfig",
            "lb-int.kubeconfig",
            "localhost-recovery.kubeconfig",
            "localhost.kubeconfig",
        ]
    );
    assert_eq!(below("/etc/kubernetes/manifests/", "").len(), 5);
    assert_eq!(files["/usr/local/bin/bootkube.sh"]["mode"], Value::from(0o755));
    let units = entries(&config, "systemd.units");
    assert_eq!(units.keys().collect::<Vec<_>>(), ["bootkube.service", "kubelet.service"]);
    assert!(!units["kubelet.service"]["contents"].as_str().unwrap().contains("--kubeconfig="));
    // Nothing of a mirror, a proxy or a trust bundle where there is none.
    assert!(!files.keys().any(|path| path.contains("registries") || path.contains("ca-trust")));
}

#[test]
fn access_to_the_outside_is_on_the_bootstrap_node() {
    let ws = Workspace::example().prebuilt();
    ws.edit(
        "install-config.yaml",
        "platform:\n",
        "imageDigestSources:\n- source: quay.io/ocp\n  mirrors: [mirror.example.com:5000/ocp]\nproxy: {httpProxy: 'http://proxy:3128'}\nplatform:\n",
    );
    ws.build(&["ignition/bootstrap"]);
    let registries = text(&ws, "bootstrap", "/etc/containers/registries.conf");
    let table: toml::Table = registries.parse().unwrap();
    assert_eq!(table["registry"][0]["mirror"][0]["location"].as_str(), Some("mirror.example.com:5000/ocp"));
    let proxy = text(&ws, "bootstrap", "/etc/systemd/system.conf.d/10-default-env.conf");
    assert!(proxy.starts_with("[Manager]\nDefaultEnvironment=HTTP_PROXY=\"http://proxy:3128\"\n"), "{proxy}");
}

#[test]
fn addresses_of_every_family() {
    let ws = Workspace::example().prebuilt();
    ws.edit(
        "cluster.yaml",
        "{name: master-0, role: master, ip: 192.168.126.101}",
        "{name: master-0, role: master, ip: 192.168.126.101, mac: '52:54:00:AA:bb:01'}",
    );
    ws.build(&["ignition/master-0"]);
    insta::assert_snapshot!(text(&ws, "master-0", KEYFILE), @"
    # The node's addresses, by the MAC address of its interface: what the interface is called differs from machine to machine.
    [connection]
    id=tinderbox
    type=ethernet
    autoconnect=true
    autoconnect-priority=100

    [ethernet]
    mac-address=52:54:00:aa:bb:01

    [ipv4]
    method=manual
    address1=192.168.126.101/24,192.168.126.1
    dns=192.168.126.1;
    dns-search=ocp4.example.com;
    # Without its addresses the node is not up.
    may-fail=false

    [ipv6]
    method=disabled
    ");
    let ws = Workspace::example().prebuilt();
    ws.dual_stack();
    ws.build(&["ignition/worker-1"]);
    insta::assert_snapshot!(text(&ws, "worker-1", KEYFILE), @"
    # The node's addresses, by the MAC address of its interface: what the interface is called differs from machine to machine.
    [connection]
    id=tinderbox
    type=ethernet
    autoconnect=true
    autoconnect-priority=100

    [ethernet]
    mac-address=52:54:00:ea:19:b3

    [ipv4]
    method=manual
    address1=192.168.126.111/24,192.168.126.1
    dns=192.168.126.1;
    dns-search=ocp4.example.com;
    # Without its addresses the node is not up.
    may-fail=false

    [ipv6]
    method=manual
    address1=fd00:126::111/64,fd00:126::1
    dns-search=ocp4.example.com;
    # Without its addresses the node is not up.
    may-fail=false
    ");
    let ws = Workspace::example().prebuilt();
    ws.ipv6_only();
    ws.build(&["ignition/bootstrap"]);
    insta::assert_snapshot!(text(&ws, "bootstrap", KEYFILE), @"
    # The node's addresses, by the MAC address of its interface: what the interface is called differs from machine to machine.
    [connection]
    id=tinderbox
    type=ethernet
    autoconnect=true
    autoconnect-priority=100

    [ethernet]
    mac-address=52:54:00:61:a9:a5

    [ipv4]
    method=disabled

    [ipv6]
    method=manual
    address1=fd00:126::100/64,fd00:126::1
    dns=fd00:126::1;
    dns-search=ocp4.example.com;
    # Without its addresses the node is not up.
    may-fail=false
    ");
}

#[test]
fn every_node_of_a_small_cluster_is_there() {
    for masters in [1, 3] {
        let ws = Workspace::example().prebuilt();
        ws.without_workers(masters);
        ws.build(&[]);
        let mut expected: BTreeSet<String> = (0..masters).map(|at| format!("master-{at}.ign")).collect();
        expected.insert("bootstrap.ign".into());
        assert_eq!(crate::harness::list(&ws.dir.join("result/ignition")), expected);
    }
}

/// The bootstrap node has whatever name the user gave it.
#[test]
fn the_bootstrap_node_may_have_another_name() {
    let ws = Workspace::example().prebuilt();
    ws.edit("cluster.yaml", "{name: bootstrap,", "{name: spark,");
    ws.build(&[]);
    assert!(ws.dir.join("result/ignition/spark.ign").exists());
}

fn planned(ws: &Workspace) -> Vec<String> {
    let mut planned = names(&ws.json(&["build", "--dry-run"])["would_build"]);
    planned.sort();
    planned
}

#[test]
fn one_workers_address_builds_its_configuration_and_no_other() {
    let ws = Workspace::example().prebuilt();
    ws.build(&[]);
    ws.edit("cluster.yaml", "ip: 192.168.126.111", "ip: 192.168.126.121");
    let expected = [
        "check/ignition",
        "check/infra",
        "cluster",
        "ignition-id/worker-1",
        "ignition/worker-1",
        "infra/haproxy",
        "infra/haproxy-pivoted",
        "infra/network",
        "infra/worker-1",
    ];
    assert_eq!(planned(&ws), expected);
    // The report is the same as before, and stops the cascade there.
    assert_eq!(ws.build(&[]), expected);
}

#[test]
fn another_worker_adds_its_own_and_rebuilds_what_lists_workers() {
    let ws = Workspace::example().prebuilt();
    ws.build(&[]);
    ws.edit("install-config.yaml", "replicas: 2", "replicas: 3");
    ws.edit(
        "cluster.yaml",
        "- {name: worker-1, role: worker, ip: 192.168.126.111}",
        "- {name: worker-1, role: worker, ip: 192.168.126.111}\n- {name: worker-2, role: worker, ip: 192.168.126.112}",
    );
    let built = ws.build(&[]);
    let lists: Vec<&str> = built.iter().map(String::as_str).collect();
    assert_eq!(
        lists
            .iter()
            .filter(|name| name.starts_with("ignition/") || name.starts_with("identity/"))
            .collect::<Vec<_>>(),
        [&"identity/mac-worker-2", &"identity/uuid-worker-2", &"ignition/bootstrap", &"ignition/worker-2"]
    );
    insta::assert_snapshot!(lists.join("\n"), @r"
    assembled
    bootstrap-config/authentication
    check/bootkube
    check/certificates
    check/crds
    check/hand-over
    check/ignition
    check/infra
    check/manifests
    check/references
    check/render
    check/schemas
    check/secrets
    check/static-pods
    cluster
    identity/mac-worker-2
    identity/uuid-worker-2
    ignition-id/bootstrap
    ignition-id/worker-2
    ignition/bootstrap
    ignition/worker-2
    infra/bootstrap
    infra/haproxy
    infra/haproxy-pivoted
    infra/network
    infra/worker-2
    key/kubelet-bootstrap-worker-2
    kubeconfig/kubelet-bootstrap-worker-2
    manifest/cluster-config
    mco/inputs
    patched
    pki/kubelet-bootstrap-worker-2
    ");
}
