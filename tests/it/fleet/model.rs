//! fleet.yaml: layers, tables, and what is said about mistakes in them.

use std::fs;

use crate::harness::{Workspace, without_durations};

use super::fleet;

/// A mistake in a layer, in a cell or in a table is said once, where the user made it.
#[test]
fn mistakes_are_said_once_and_where_they_are() {
    let workspace = fleet();
    workspace.edit("fleet.yaml", "      networkType: OVNKubernetes", "      networkTyp: OVNKubernetes");
    workspace.edit("sites.csv", "192.168.131.10", "192.168.131.300");
    insta::assert_snapshot!(without_durations(&workspace.run(&["fleet", "build", "--dry-run", "-q"])), @r"
    3 sites: 3 failed; 0 derivations built, in [TIME]
    [stderr]
    error: fleet.yaml:19: common.install-config.networking.networkTyp: unknown field (3 sites: berlin … oslo)
    hint: did you mean `networkType`?
    error: sites.csv:3: ip: `192.168.131.300` is not an IP address (lisbon)
    hint: for example: 192.168.126.10
    [exit 1]
    ");
    workspace.edit("fleet.yaml", "      networkTyp: OVNKubernetes", "      networkType: OVNKubernetes");
    workspace.edit("fleet.yaml", "gateway: $(gateway)", "gateway: $(gatway)");
    workspace.edit("fleet.yaml", "groups:\n", "gruops: {}\ngroups:\n");
    workspace.edit("sites.csv", "lisbon,single-node", "lisbon,single-nod");
    workspace.edit("sites.csv", "oslo,compact", "berlin,compact");
    workspace.edit(
        "fleet.yaml",
        "    cluster:\n      vips:",
        "    manifests: nowhere\n    cluster:\n      vips:",
    );
    insta::assert_snapshot!(workspace.run(&["fleet", "status"]), @r"
    [stderr]
    error: 5 problems:
    fleet.yaml:35: common.cluster.network.gateway: no site has a value `gatway`
      hint: did you mean `gateway`?
    fleet.yaml:38: gruops: unknown field
      hint: did you mean `groups`?
    fleet.yaml:52: groups.compact.manifests: there is no folder `nowhere`
      hint: a path is relative to the fleet's directory
    sites.csv:3: name: there is no group `single-nod`
      hint: did you mean `single-node`?
    sites.csv:4: name: there are two sites `berlin`, the other at sites.csv:2: name
    [exit 1]
    ");
}

#[test]
fn other_directories_are_told_apart() {
    let workspace = fleet();
    insta::assert_snapshot!(workspace.run(&["build"]), @r"
    [stderr]
    error: `[DIR]` is a fleet, not a cluster directory
    hint: `--site NAME` works on one of its sites, `tinderbox fleet build` builds all of them
    [exit 1]
    ");
    insta::assert_snapshot!(workspace.run(&["build", "--site", "osla"]), @r"
    [stderr]
    error: there is no site `osla`
    hint: did you mean `oslo`?
    [exit 2]
    ");
    insta::assert_snapshot!(workspace.run(&["lock", "--site", "oslo"]), @r"
    [stderr]
    error: `--site` is for verbs that ask about a cluster, and for `build` and `export`
    hint: `tinderbox fleet export SITE DIR` writes it as a directory, on which every verb works
    [exit 2]
    ");
    insta::assert_snapshot!(workspace.run(&["fleet", "status", "--group", "compct"]), @r"
    [stderr]
    error: there is no group `compct`
    hint: did you mean `compact`?
    [exit 2]
    ");
    let cluster = Workspace::example();
    insta::assert_snapshot!(cluster.run(&["fleet", "status"]), @r"
    [stderr]
    error: `[DIR]` is not a fleet: it has no fleet.yaml
    hint: `tinderbox fleet init` writes one here; `tinderbox -C DIR …` works on another directory
    [exit 1]
    ");
}

/// Groups in order, then the site's own; tables in YAML; a seed of a site's own.
#[test]
fn layers_and_tables() {
    let workspace = fleet();
    workspace.write(
        "sites.yaml",
        "- name: berlin\n  groups: [single-node, berlin-only]\n  network: 192.168.130.0/24\n  gateway: 192.168.130.1\n  \
         ip: 192.168.130.10\n  cluster:\n    nodes:\n    - {name: master-0, mac: '52:54:00:00:00:01'}\n    network: {dns: null}\n",
    );
    workspace.edit(
        "fleet.yaml",
        "sites: sites.csv",
        "  berlin-only: {cluster: {network: {dns: [192.0.2.1]}}}\nsites: [sites.yaml]",
    );
    let to = workspace.temp().join("berlin");
    let output = workspace.output(&["fleet", "export", "berlin", to.to_str().unwrap()]);
    assert!(output.status.success(), "{}", workspace.text(&output));
    insta::assert_snapshot!(fs::read_to_string(to.join("cluster.yaml")).unwrap(), @r#"
    # cluster.yaml of the site berlin of a fleet.
    release: demo:4.18
    network:
      gateway: "192.168.130.1"
    nodes:
    - name: master-0
      role: master
      ip: "192.168.130.10"
      mac: "52:54:00:00:00:01"
    "#);
    let install_config = fs::read_to_string(to.join("install-config.yaml")).unwrap();
    assert!(
        install_config.contains("\nmetadata:\n  name: berlin\nbaseDomain: edge.example.com\n"),
        "{install_config}"
    );
    assert!(
        install_config.contains("\n  machineNetwork:\n  - cidr: \"192.168.130.0/24\"\n"),
        "{install_config}"
    );
}

/// What `fleet init` writes builds as it is, and an editor's schema accepts it.
#[test]
fn the_example_is_written_and_is_valid() {
    let workspace = Workspace::empty();
    let made = workspace.json(&["fleet", "init"]);
    assert_eq!(made["written"], serde_json::json!(["fleet.yaml", "sites.csv", "fleet.seed"]));
    let ignored = fs::read_to_string(workspace.dir.join(".gitignore")).unwrap();
    assert!(ignored.contains("/fleet.seed\n") && ignored.contains("/results\n"), "{ignored}");
    let status = workspace.json(&["fleet", "status"]);
    assert_eq!(super::states(&status), ["berlin would-build", "lisbon would-build", "oslo would-build"]);
    let again = workspace.run(&["fleet", "init"]);
    assert!(again.contains("`[DIR]/fleet.yaml` already exists") && again.ends_with("[exit 1]\n"), "{again}");
    let schema = workspace.output(&["schema", "fleet"]);
    let schema: serde_json::Value = serde_json::from_slice(&schema.stdout).unwrap();
    assert_eq!(schema["title"], "fleet.yaml of tinderbox");
}

/// A ClusterInstance with the release and the pull secret of the fleet is a site that builds.
#[test]
fn a_cluster_instance_is_a_site() {
    let workspace = Workspace::empty();
    workspace.write(
        "fleet.yaml",
        "common:\n  install-config:\n    pullSecret: '{\"auths\":{\"example.invalid\":{\"auth\":\"ZGVtbzpkZW1v\"}}}'\n  cluster:\n    \
         release: demo:4.18\nsites: instances/*.yaml\n",
    );
    let instance = |name: &str, net: u8| {
        format!(
            "apiVersion: siteconfig.open-cluster-management.io/v1alpha1\nkind: ClusterInstance\nmetadata:\n  name: {name}\nspec:\n  \
             clusterName: {name}\n  baseDomain: example.com\n  clusterImageSetNameRef: img4.18\n  pullSecretRef: {{name: x}}\n  \
             clusterType: HighlyAvailable\n  networkType: OVNKubernetes\n  apiVIPs: [192.168.{net}.5]\n  ingressVIPs: [192.168.{net}.6]\n  \
             additionalNTPSources: [ntp.example.com]\n  machineNetwork:\n  - cidr: 192.168.{net}.0/24\n  nodes:\n{}",
            (0..3)
                .map(|n| format!(
                    "  - hostName: {name}-{n}.example.com\n    role: master\n    bootMACAddress: '52:54:00:00:{net:02x}:0{n}'\n"
                ))
                .collect::<String>()
        )
    };
    workspace
        .write("instances/two.yaml", &format!("{}---\n{}", instance("rome", 20), instance("vienna", 21)));
    let report = workspace.json(&["fleet", "build", "--dry-run"]);
    assert_eq!(super::states(&report), ["rome would-build", "vienna would-build"]);
    let built = workspace.json(&["fleet", "build", "manifest", "user", "--only", "vienna"]);
    assert_eq!(super::states(&built), ["vienna built"]);
    // Without a release, the place of the mistake is the layer that lacks it.
    workspace.edit("fleet.yaml", "\n    release: demo:4.18", " {}");
    let text = workspace.run(&["fleet", "status"]);
    assert!(text.contains("cluster.release: required, but missing"), "{text}");
}

/// Every cluster of a SiteConfig is a site, and what has no place in a cluster directory is told once, with the reason.
#[test]
fn the_clusters_of_a_site_config_are_sites() {
    let workspace = Workspace::empty();
    workspace.write(
        "fleet.yaml",
        "common:\n  install-config:\n    pullSecret: '{\"auths\":{\"example.invalid\":{\"auth\":\"ZGVtbzpkZW1v\"}}}'\n  cluster:\n    \
         release: demo:4.18\nsites: instances/*.yaml\n",
    );
    let cluster = |name: &str, net: u8| {
        format!(
            "  - clusterName: {name}\n    clusterLabels: {{common: 'true'}}\n    networkType: OVNKubernetes\n    \
             machineNetwork: [{{cidr: 192.168.{net}.0/24}}]\n    serviceNetwork: [172.30.0.0/16]\n    nodes:\n    - hostName: \
             {name}-0.example.com\n      cpuset: 0-1\n      bootMACAddress: '52:54:00:00:{net:02x}:01'\n"
        )
    };
    let head = "apiVersion: ran.openshift.io/v1\nkind: SiteConfig\nmetadata: {name: two}\nspec:\n  baseDomain: example.com\n  \
                clusterImageSetNameRef: img4.18\n  pullSecretRef: {name: x}\n  clusters:\n";
    workspace.write("instances/two.yaml", &format!("{head}{}{}", cluster("rome", 20), cluster("vienna", 21)));
    let output = workspace.output(&["fleet", "build", "manifest", "--json"]);
    let report = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(super::states(&report), ["rome built", "vienna built"], "{}", workspace.text(&output));
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("cpuset (write a PerformanceProfile with these CPUs into manifests/)"), "{told}");
    assert_eq!(told.matches("cpuset").count(), 1, "{told}");
    let shown = workspace.run(&["--site", "vienna", "show", "manifest/cluster-dns-02-config"]);
    assert!(shown.contains("baseDomain: vienna.example.com"), "{shown}");
    // A mistake is told where it stands, and a release that nobody names in the layer that lacks it.
    workspace.edit("instances/two.yaml", "cidr: 192.168.21.0/24", "cidr: 192.168.21.0/99");
    let text = workspace.run(&["fleet", "status"]);
    assert!(text.contains("instances/two.yaml:21: spec.clusters.1.machineNetwork.0.cidr: "), "{text}");
}
