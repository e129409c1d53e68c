//! What depends on what: `affects` and `graph`.

use crate::harness::Workspace;

/// What a field reaches, by its name in the model and in the user's file.
#[test]
fn affects() {
    let ws = Workspace::example();
    insta::assert_snapshot!(ws.run(&["affects", "nodes.worker-0.ip"]), @"
    nodes.worker-0.addresses.0.family (cluster.yaml:30: nodes.worker-0.ip)
    nodes.worker-0.addresses.0.ip (cluster.yaml:30: nodes.worker-0.ip)
    nodes.worker-0.ip (cluster.yaml:30: nodes.worker-0.ip)
    nodes.worker-0.ips.0 (cluster.yaml:30: nodes.worker-0.ip)
    4 derivations read it:
      ignition/worker-0
      infra/haproxy
      infra/haproxy-pivoted
      infra/network
    5 more depend on those, and are rebuilt only if their inputs change:
      ignition-id/worker-0
      infra/worker-0
      check/ignition
      check/infra
      cluster
    [exit 0]
    ");
    insta::assert_snapshot!(ws.run(&["affects", "networking.serviceNetwork"]), @r"
    installConfig.networking.serviceNetwork.0 (install-config.yaml:32: networking.serviceNetwork.0)
    networks.service.0 (install-config.yaml:32: networking.serviceNetwork.0)
    service.dns.0 (install-config.yaml:32: networking.serviceNetwork.0)
    service.kubernetes.0 (install-config.yaml:32: networking.serviceNetwork.0)
    12 derivations read it:
      pki/kube-apiserver
      installer-pki/kube-apiserver-service-network-server
      static-pod/kube-controller-manager
      manifest/cluster-config
      manifest/cluster-network-02-config
      manifest/cluster-network-03-config
      bootstrap-config/kube-apiserver
      ignition/master-0
      ignition/master-1
      ignition/master-2
      check/certificates
      check/ignition
    46 more depend on those, and are rebuilt only if their inputs change:
      installer-tls
      assembled
      node-tuning/inputs
      patched
      mco/inputs
      mco/shared-inputs
      mco/shared
      mco/rendered-inputs
      mco/rendered
      mco/master
      mco/worker
      render/inputs
      render/api
      render/cloud-credential
      render/cluster-version
      render/config
      render/etcd
      render/kube-apiserver
      render/kube-controller-manager
      render/kube-scheduler
      bootstrap-config/authentication
      ignition/bootstrap
      ignition/worker-0
      ignition/worker-1
      ignition-id/bootstrap
      ignition-id/master-0
      ignition-id/master-1
      ignition-id/master-2
      ignition-id/worker-0
      ignition-id/worker-1
      infra/bootstrap
      infra/master-0
      infra/master-1
      infra/master-2
      infra/worker-0
      infra/worker-1
      check/bootkube
      check/crds
      check/hand-over
      check/manifests
      check/references
      check/render
      check/schemas
      check/secrets
      check/static-pods
      cluster
    [exit 0]
    ");
    insta::assert_snapshot!(ws.run(&["affects", "nodes.worker-0.pi"]), @"
    [stderr]
    error: there is no config field `nodes.worker-0.pi`
    hint: did you mean `nodes.worker-0.ip`?
    [exit 2]
    ");
}

/// The graph in every format has the same derivations.
#[test]
fn graph() {
    let ws = Workspace::example();
    let document = ws.json(&["graph"]);
    let derivations = document["derivations"].as_array().unwrap();
    let known: Vec<&str> = derivations.iter().map(|one| one["name"].as_str().unwrap()).collect();
    insta::assert_snapshot!("derivations", known.join("\n"));
    let text = |format: &str| String::from_utf8(ws.output(&["graph", "--format", format]).stdout).unwrap();
    assert_eq!(serde_json::from_str::<serde_json::Value>(&text("json")).unwrap(), document);
    let (dot, mermaid, svg) = (text("dot"), text("mermaid"), text("svg"));
    for name in known {
        assert!(dot.contains(&format!("\"{name}\"")), "{name}");
        let leaf = name.rsplit('/').next().unwrap();
        assert!(mermaid.contains(leaf) && svg.contains(leaf), "{name}");
    }
    insta::assert_snapshot!(ws.run(&["graph", "check/infra", "--format", "dot"]), @r#"
    digraph tinderbox {
      rankdir=LR;
      node [shape=box, style=rounded];
      subgraph "cluster_infra" {
        label="infra";
        "infra/haproxy";
        "infra/haproxy-pivoted";
      }
      subgraph "cluster_check" {
        label="check";
        "check/infra";
      }
      "infra/haproxy" -> "check/infra";
      "infra/haproxy-pivoted" -> "check/infra";
    }
    [exit 0]
    "#);
}
