//! Platforms baremetal and external: who holds the VIPs, before and after the pivot, in every topology; and what the cluster
//! is told about its platform. MCO is the demo's; its render has the names, paths and arguments of the real one's.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use crate::harness::{Workspace, list, mode, tree};

const MANIFESTS: &str = "/etc/kubernetes/manifests/";

/// The example with its VIPs on the nodes; `more` are further fields of the platform.
fn baremetal(ws: &Workspace, more: &str) {
    let cluster = fs::read_to_string(ws.dir.join("cluster.yaml")).unwrap();
    let vips = |of: &str| {
        let line = cluster.lines().find_map(|line| line.trim().strip_prefix(&format!("{of}: "))).unwrap();
        line.trim_matches(['[', ']']).to_owned()
    };
    let platform =
        format!("baremetal: {{apiVIPs: [{}], ingressVIPs: [{}]{more}}}", vips("api"), vips("ingress"));
    ws.edit("install-config.yaml", "none: {}", &platform);
}

/// The files of a node, with their text.
fn files(ws: &Workspace, node: &str) -> BTreeMap<String, String> {
    let target = format!("ignition/{node}");
    let node = ws.build_paths(&[&target])[&target].join("tree");
    let text = |(path, (_, bytes)): (String, (u32, Vec<u8>))| {
        (format!("/{path}"), String::from_utf8_lossy(&bytes).into_owned())
    };
    tree(&node).into_iter().map(text).collect()
}

/// The static pods of a node.
fn pods(files: &BTreeMap<String, String>) -> Vec<&str> {
    files.keys().filter_map(|path| path.strip_prefix(MANIFESTS)).collect()
}

fn infrastructure(ws: &Workspace) -> String {
    let target = "manifest/cluster-infrastructure-02-config";
    let file = ws.build_paths(&[target])[target].join("cluster-infrastructure-02-config.yml");
    let text = fs::read_to_string(file).unwrap();
    let without_comments = text.lines().filter(|line| !line.trim_start().starts_with('#'));
    without_comments.collect::<Vec<_>>().join("\n")
}

#[test]
fn nodes_hold_the_vips_of_every_family() {
    for dual in [false, true] {
        let ws = Workspace::example().prebuilt();
        if dual {
            ws.dual_stack();
        }
        baremetal(&ws, ", provisioningNetwork: Disabled");
        ws.build(&["cluster"]);
        let [api, ingress] = match dual {
            false => ["192.168.126.10", "192.168.126.11"],
            true => ["192.168.126.10,fd00:126::10", "192.168.126.11,fd00:126::11"],
        };
        let names = |text: &str| [api, ingress].map(|vips| text.split_whitespace().any(|word| word == vips));
        let bootstrap = files(&ws, "bootstrap");
        for pod in ["keepalived.yaml", "coredns.yaml"] {
            assert_eq!(names(&bootstrap[&format!("{MANIFESTS}{pod}")]), [true, true], "{pod}");
        }
        assert!(!pods(&bootstrap).contains(&"haproxy.yaml"), "its API server is the only one");
        assert!(bootstrap["/etc/kubernetes/kubeconfig"].contains("https://localhost:6443"));
        assert!(bootstrap["/opt/openshift/manifests/cluster-config.yaml"].contains("baremetal:"));
        let master = files(&ws, "master-0");
        for pod in ["keepalived.yaml", "coredns.yaml"] {
            assert_eq!(names(&master[&format!("{MANIFESTS}{pod}")]), [true, true], "{pod}");
        }
        assert_eq!(names(&master[&format!("{MANIFESTS}haproxy.yaml")]), [true, false]);
        let worker = files(&ws, "worker-0");
        assert_eq!(names(&worker[&format!("{MANIFESTS}keepalived.yaml")]), [true, true]);
        assert!(!pods(&worker).contains(&"haproxy.yaml"));
        // The names that the nodes' CoreDNS answers for.
        assert!(
            worker["/etc/kubernetes/static-pod-resources/coredns/Corefile.tmpl"]
                .contains("match ^api-int.ocp4.example.com")
        );
        // Nothing of it is left to the host.
        let infra = ws.path_of("cluster").join("infra");
        for file in ["haproxy.cfg", "haproxy-pivoted.cfg"] {
            assert!(!infra.join(file).exists(), "{file}");
        }
        let network = fs::read_to_string(infra.join("network.xml")).unwrap();
        assert!(!network.contains("address=\"192.168.126.10\""), "{network}");
        assert!(network.contains("<host ip=\"192.168.126.10\">"), "{network}");
        let firewall = fs::read_to_string(infra.join("firewall.sh")).unwrap();
        assert!(!firewall.contains(" 6443 "), "{firewall}");
    }
}

#[test]
fn a_compact_cluster_is_the_same_without_workers() {
    let ws = Workspace::example().prebuilt();
    ws.without_workers(3);
    baremetal(&ws, "");
    ws.build(&["cluster"]);
    assert!(pods(&files(&ws, "master-2")).contains(&"haproxy.yaml"));
}

#[test]
fn with_a_load_balancer_of_the_users_nodes_hold_nothing() {
    let ws = Workspace::example().prebuilt();
    baremetal(&ws, ", loadBalancer: {type: UserManaged}");
    let bootstrap = files(&ws, "bootstrap");
    assert!(pods(&bootstrap).contains(&"coredns.yaml"));
    assert!(!pods(&bootstrap).contains(&"keepalived.yaml"));
    let master = files(&ws, "master-0");
    assert!(!pods(&master).contains(&"keepalived.yaml") && !pods(&master).contains(&"haproxy.yaml"));
    assert!(master.contains_key("/etc/kubernetes/disabled-manifests/keepalived.yaml"));
    // The release knows the field.
    ws.build(&["cluster"]);
    assert!(ws.path_of("infra/haproxy").join("haproxy.cfg").exists());
    assert!(infrastructure(&ws).ends_with("      loadBalancer:\n        type: UserManaged"));
}

/// Every VIP change reaches what has it, and nothing else is rendered anew.
#[test]
fn an_edit_rebuilds_what_names_the_vip() {
    let ws = Workspace::example().prebuilt();
    baremetal(&ws, "");
    ws.edit("cluster.yaml", "vips:\n  api: 192.168.126.10\n  ingress: 192.168.126.11\n", "");
    ws.build(&["cluster"]);
    ws.edit("cluster.yaml", "192.168.126.110", "192.168.126.120");
    let built = ws.build(&["cluster"]);
    assert!(!built.iter().any(|name| name.starts_with("mco/")), "a worker's address: {built:?}");
    ws.edit("install-config.yaml", "apiVIPs: [192.168.126.10]", "apiVIPs: [192.168.126.20]");
    let built = ws.build(&["cluster"]);
    for name in
        ["manifest/cluster-infrastructure-02-config", "mco/rendered", "mco/on-prem", "ignition/worker-0"]
    {
        assert!(built.iter().any(|built| built == name), "{name}: {built:?}");
    }
}

#[test]
fn infrastructure_says_what_the_platform_needs() {
    let ws = Workspace::example().prebuilt();
    ws.dual_stack();
    baremetal(&ws, "");
    insta::assert_snapshot!(infrastructure(&ws), @r#"
    apiVersion: config.openshift.io/v1
    kind: Infrastructure
    metadata:
      name: cluster
    spec:
      cloudConfig:
        name: ""
      platformSpec:
        type: BareMetal
        baremetal:
          apiServerInternalIPs:
          - "192.168.126.10"
          - "fd00:126::10"
          ingressIPs:
          - "192.168.126.11"
          - "fd00:126::11"
          machineNetworks:
          - "192.168.126.0/24"
          - "fd00:126::/64"
    status:
      apiServerURL: "https://api.ocp4.example.com:6443"
      apiServerInternalURI: "https://api-int.ocp4.example.com:6443"
      controlPlaneTopology: HighlyAvailable
      infrastructureTopology: HighlyAvailable
      cpuPartitioning: None
      etcdDiscoveryDomain: ""
      infrastructureName: ocp4-cv5ll
      platform: BareMetal
      platformStatus:
        type: BareMetal
        baremetal:
          apiServerInternalIP: "192.168.126.10"
          ingressIP: "192.168.126.11"
          apiServerInternalIPs:
          - "192.168.126.10"
          - "fd00:126::10"
          ingressIPs:
          - "192.168.126.11"
          - "fd00:126::11"
          machineNetworks:
          - "192.168.126.0/24"
          - "fd00:126::/64"
    "#);
    for (fields, state) in
        [("", "None"), ("platformName: acme, cloudControllerManager: External", "External")]
    {
        let ws = Workspace::example().prebuilt();
        ws.edit("install-config.yaml", "none: {}", &format!("external: {{{fields}}}"));
        ws.build(&["cluster"]);
        let text = infrastructure(&ws);
        let name = if fields.is_empty() { "Unknown" } else { "acme" };
        assert!(
            text.contains(&format!("    type: External\n    external:\n      platformName: \"{name}\"\n"))
                || text.contains(&format!("    type: External\n    external:\n      platformName: {name}\n")),
            "{text}"
        );
        assert!(text.contains("  platform: External\n"), "{text}");
        let wanted = format!("cloudControllerManager:\n        state: {state}");
        assert!(text.replace('"', "").ends_with(&wanted), "{text}");
        // The user's load balancer, or that of `realize`, is in front as on platform none.
        assert!(ws.path_of("cluster").join("infra/haproxy.cfg").exists());
    }
}

/// The bootstrap node's own resolver comes first, once, and everything else stays as NetworkManager has it.
#[test]
fn the_bootstrap_node_asks_itself_first() {
    let ws = Workspace::example().prebuilt();
    baremetal(&ws, "");
    let target = "bootstrap-config/local-dns";
    let script = ws.build_paths(&[target])[target].join("30-local-dns-prepender");
    let temp = ws.temp();
    let [known, used] = ["known", "used"].map(|name| temp.join(name));
    let run = |event: &str| {
        let mut command = Command::new("bash");
        command.arg(&script).args(["ens3", event]);
        let output = command.env("RESOLV_KNOWN", &known).env("RESOLV_USED", &used).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        fs::read_to_string(&used).unwrap_or_default()
    };
    // Nothing is known yet, or nothing has changed.
    assert_eq!(run("up"), "");
    fs::write(
        &known,
        "# Generated by NetworkManager\nsearch example.com\nnameserver 192.168.126.1\nnameserver fd00::1\n",
    )
    .unwrap();
    assert_eq!(run("pre-up"), "");
    let wanted = "# Generated by NetworkManager\nsearch example.com\nnameserver 127.0.0.1\nnameserver 192.168.126.1\nnameserver fd00::1\n";
    assert_eq!(run("up"), wanted);
    assert_eq!(run("dns-change"), wanted, "and again");
    assert_eq!(mode(&used) & 0o777, 0o644);
    // A link to NetworkManager's own file is replaced, and that file is left alone.
    fs::remove_file(&used).unwrap();
    std::os::unix::fs::symlink(&known, &used).unwrap();
    assert_eq!(run("dhcp4-change"), wanted);
    assert!(!fs::symlink_metadata(&used).unwrap().is_symlink());
    assert!(!fs::read_to_string(&known).unwrap().contains("127.0.0.1"));
    let left: Vec<String> = list(&temp).into_iter().filter(|name| name.starts_with("used.")).collect();
    assert!(left.is_empty(), "{left:?}");
}
