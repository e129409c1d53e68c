//! `init --from` agent-config.yaml, and from a ClusterInstance: the machines that they describe become nodes.

use std::fs;

use crate::harness::{Workspace, mode};

const INSTALL: &str = "apiVersion: v1
baseDomain: example.com
metadata:
  name: edge
  namespace: cluster0
controlPlane:
  name: master
  replicas: 1
compute:
- name: worker
  replicas: 2
networking:
  machineNetwork:
  - cidr: 192.168.111.0/24
platform:
  none: {}
pullSecret: '{\"auths\":{\"example.invalid\":{\"auth\":\"ZGVtbzpkZW1v\"}}}'
";

const AGENT: &str = "apiVersion: v1beta1
kind: AgentConfig
metadata:
  name: edge
rendezvousIP: 192.168.111.80
additionalNTPSources:
- ntp.example.com
- 192.168.111.3
minimalISO: true
hosts:
- hostname: server-0.edge.example.com
  role: master
  rootDeviceHints:
    deviceName: /dev/disk/by-id/wwn-0x5000c500a0b1c2d3
  interfaces:
  - name: eno1
    macAddress: 52:54:00:AA:00:01
  - name: eno2
    macAddress: 52:54:00:AA:00:02
  networkConfig:
    interfaces:
    - name: bond0
      type: bond
      state: up
      link-aggregation:
        mode: active-backup
        port: [eno1, eno2]
      ipv4:
        enabled: true
        dhcp: false
        address:
        - ip: 192.168.111.80
          prefix-length: 24
    dns-resolver:
      config:
        server:
        - 192.168.111.2
    routes:
      config:
      - destination: 0.0.0.0/0
        next-hop-address: 192.168.111.254
        next-hop-interface: bond0
- interfaces:
  - name: eno1
    macAddress: 52:54:00:AA:00:11
  rootDeviceHints:
    serialNumber: ABC123
  bmc:
    address: redfish+http://192.168.111.9/redfish/v1/Systems/1
";

fn agent(agent: &str) -> Workspace {
    let ws = Workspace::empty();
    ws.write("theirs/install-config.yaml", INSTALL);
    ws.write("theirs/agent-config.yaml", agent);
    ws
}

#[test]
fn an_agent_config_becomes_nodes() {
    let ws = agent(AGENT);
    insta::assert_snapshot!(ws.run(&["init", "ours", "--from", "theirs"]), @"
    [DIR]/ours/install-config.yaml
    [DIR]/ours/cluster.yaml
    [DIR]/ours/manifests/50-masters-chrony-configuration.yaml
    [DIR]/ours/manifests/50-workers-chrony-configuration.yaml
    [DIR]/ours/cluster.seed

    taken over from theirs/agent-config.yaml:
    LINE  FIELD    VALUE                      IN CLUSTER.YAML
    11    hosts.0  server-0.edge.example.com  nodes.server-0
    43    hosts.1  a host                     nodes.worker-0

    taken over from install-config.yaml, which is used as it is:
    LINE  FIELD                             VALUE             IN CLUSTER.YAML
    7     controlPlane.replicas             1                 nodes with `role: master`
    10    compute.worker.replicas           2                 nodes with `role: worker`
    13    networking.machineNetwork.0.cidr  192.168.111.0/24  the addresses of nodes and VIPs

    guessed; edit these lines of cluster.yaml next:
    LINE  FIELD                         VALUE            WHAT BELONGS THERE
    6     release                       demo:4.18        the release to install; `init --release` writes it (guessed: nothing named a release, and this one needs no network)
    10    vips.api                      192.168.111.10   what api.edge.example.com and api-int.edge.example.com resolve to (guessed: address 10 of 192.168.111.0/24)
    11    vips.ingress                  192.168.111.11   what *.apps.edge.example.com resolves to (guessed: address 11 of 192.168.111.0/24)
    20    nodes.bootstrap.ip            192.168.111.100  the machine's static address; its name and size too (guessed: address 100 of 192.168.111.0/24)
    55    nodes.worker-0.name           worker-0         the machine's name (guessed: the file names no host)
    56    nodes.worker-0.role           worker           `master` or `worker` (guessed: the file names no role)
    57    nodes.worker-0.ip             192.168.111.110  the machine's address; if DHCP gives it, one that is reserved for it (guessed: address 110 of 192.168.111.0/24)
    58    nodes.worker-0.installDevice  /dev/sda         the disk to install to, best below /dev/disk/by-id (guessed: no rootDeviceHints.deviceName)
    60    nodes.worker-1.ip             192.168.111.111  the machine's static address; its name and size too (guessed: address 111 of 192.168.111.0/24)

    not taken over:
    WHERE                         FIELD                                 WHY
    theirs/agent-config.yaml:5    rendezvousIP                          no master doubles as the bootstrap node: a separate machine runs the first control plane
    theirs/agent-config.yaml:9    minimalISO                            every node gets a whole ISO, or network boot
    theirs/agent-config.yaml:47   hosts.1.rootDeviceHints.serialNumber  no machine is asked for its disks: name the disk with `installDevice`, best below /dev/disk/by-id
    theirs/agent-config.yaml:48   hosts.1.bmc                           tinderbox switches no machine on: boot it by hand, or with your own tools
    theirs/install-config.yaml:5  metadata.namespace                    it reaches no artifact
    [exit 0]
    ");
    let read = |name: &str| fs::read_to_string(ws.dir.join("ours").join(name)).unwrap();
    insta::assert_snapshot!(read("cluster.yaml"), @r#"
    # What install-config.yaml has no place for: the release, the machines, and where they are.
    # Lines marked `guessed` need your eyes: nothing said what belongs there.

    # The release image: demo:4.18 is built in; a real one is registry/repo:tag, registry/repo@sha256:…
    # or oci:DIR:TAG. `tinderbox lock` pins it by digest.
    release: demo:4.18  # guessed: nothing named a release, and this one needs no network

    # Virtual addresses, held by the load balancer in front of the nodes.
    vips:
      api: 192.168.111.10  # guessed: address 10 of 192.168.111.0/24
      ingress: 192.168.111.11  # guessed: address 11 of 192.168.111.0/24

    # What the nodes' interfaces need.
    network:
      gateway: 192.168.111.254
      dns: 192.168.111.2

    # Every machine; by default 4 vcpus, memory: 16GiB (workers 8GiB), disk: 100GB, mac: from cluster.seed.
    nodes:
    - {name: bootstrap, role: bootstrap, ip: 192.168.111.100}  # guessed: address 100 of 192.168.111.0/24
    - name: server-0
      role: master
      ip: 192.168.111.80
      installDevice: /dev/disk/by-id/wwn-0x5000c500a0b1c2d3
      interfaces:
      - name: eno1
        macAddress: "52:54:00:aa:00:01"
      - name: eno2
        macAddress: "52:54:00:aa:00:02"
      networkConfig:
        interfaces:
        - name: bond0
          type: bond
          state: up
          link-aggregation:
            mode: active-backup
            port:
            - eno1
            - eno2
          ipv4:
            enabled: true
            dhcp: false
            address:
            - ip: 192.168.111.80
              prefix-length: 24
        dns-resolver:
          config:
            server:
            - 192.168.111.2
        routes:
          config:
          - destination: 0.0.0.0/0
            next-hop-address: 192.168.111.254
            next-hop-interface: bond0
    - name: worker-0  # guessed: the file names no host
      role: worker  # guessed: the file names no role
      ip: 192.168.111.110  # guessed: address 110 of 192.168.111.0/24
      installDevice: /dev/sda  # guessed: no rootDeviceHints.deviceName
      mac: "52:54:00:aa:00:11"
    - {name: worker-1, role: worker, ip: 192.168.111.111}  # guessed: address 111 of 192.168.111.0/24

    # If you boot these machines yourself, and `realize` is not to make virtual machines on libvirt, remove `network.dhcp`, give
    # every node `mac` (or `interfaces`) and `installDevice`, the bootstrap machine too, and say so:
    # machines: external
    "#);
    assert!(!read("install-config.yaml").contains("cluster0"), "the installer's own namespace came along");
    assert_eq!(mode(&ws.dir.join("ours/install-config.yaml")), 0o600);
    let output = ws.output(&["-C", "ours", "-q", "build"]);
    assert!(output.status.success(), "{}", ws.text(&output));
    let keyfile = ws.run(&[
        "-C",
        "ours",
        "show",
        "ignition/server-0:/etc/NetworkManager/system-connections/bond0.nmconnection",
    ]);
    assert!(keyfile.contains("address0=192.168.111.80/24"), "{keyfile}");
    let chrony = ws.run(&["-C", "ours", "show", "ignition/server-0:/etc/chrony.conf"]);
    assert!(chrony.contains("server ntp.example.com iburst\nserver 192.168.111.3 iburst\n"), "{chrony}");
    // The three ways to name it say the same.
    for from in ["theirs/agent-config.yaml", "theirs/install-config.yaml"] {
        assert!(ws.run(&["init", "again", "--from", from]).contains("[exit 0]"));
        assert_eq!(read("cluster.yaml"), fs::read_to_string(ws.dir.join("again/cluster.yaml")).unwrap());
        fs::remove_dir_all(ws.dir.join("again")).unwrap();
    }
}

#[test]
fn what_is_wrong_with_an_agent_config_has_its_line() {
    let text = AGENT
        .replace("mode: active-backup", "mode: fastest")
        .replace("role: master", "role: arbiter")
        .replace("additionalNTPSources", "additionalNtpSources");
    let ws = agent(&text);
    insta::assert_snapshot!(ws.run(&["init", "ours", "--from", "theirs"]), @"
    [stderr]
    error: 2 problems:
    theirs/agent-config.yaml:6: additionalNtpSources: unknown field
      hint: did you mean `additionalNTPSources`?
    theirs/agent-config.yaml:12: hosts.0.role: `arbiter` nodes are not supported
      hint: use `master` or `worker`
    [exit 1]
    ");
    assert!(!ws.dir.join("ours/cluster.yaml").exists());
    ws.write("theirs/agent-config.yaml", &AGENT.replace("mode: active-backup", "mode: fastest"));
    insta::assert_snapshot!(ws.run(&["init", "ours", "--from", "theirs"]), @"
    [stderr]
    error: 1 problem:
    theirs/agent-config.yaml:26: hosts.0.networkConfig.interfaces.0.link-aggregation.mode: `fastest` is not a value of this field
      hint: known: 0, balance-rr, 1, active-backup, 2, balance-xor, 3, broadcast, 4, 802.3ad, lacp, 5, balance-tlb, 6, balance-alb, unknown
    [exit 1]
    ");
    ws.write(
        "theirs/agent-config.yaml",
        &AGENT.replace("192.168.111.80\n          prefix", "10.9.8.7\n          prefix"),
    );
    insta::assert_snapshot!(ws.run(&["init", "ours", "--from", "theirs"]), @"
    [stderr]
    error: 1 problem:
    theirs/agent-config.yaml:21: hosts.0.networkConfig: no address in the machine network `192.168.111.0/24`
      hint: correct the address, or networking.machineNetwork of the install-config
    [exit 1]
    ");
}

/// The generated file is nobody's yet: a problem is where the value came from.
#[test]
fn what_a_host_does_not_fit_has_its_line() {
    let says = |text: &str, wanted: &str| {
        let said = agent(text).run(&["init", "ours", "--from", "theirs"]);
        assert!(said.contains(wanted) && said.ends_with("[exit 1]\n"), "{said}");
    };
    says(
        &AGENT.replace("kind: AgentConfig", "kind: InstallConfig"),
        "error: 1 problem:\ntheirs/agent-config.yaml:2: kind: `InstallConfig` is not an AgentConfig\n",
    );
    says(
        &AGENT.replace("hostname: server-0.edge", "hostname: Server_0.edge"),
        "error: 1 problem:\ntheirs/agent-config.yaml:11: hosts.0: `Server_0` is not a DNS label",
    );
    says(
        &AGENT.replace("- interfaces:\n", "- role: master\n  interfaces:\n"),
        "error: 1 problem:\ntheirs/agent-config.yaml:43: hosts.1: `master-1` is a master too many: install-config.yaml has \
         `controlPlane.replicas: 1`\n  hint: correct the number there, or the role of the host; or remove it\n",
    );
    // The address that a single machine is to be found at is its own.
    let first = &AGENT[..AGENT.find("- interfaces:").unwrap()];
    let ws = agent(&first.replace("rendezvousIP: 192.168.111.80", "rendezvousIP: 192.168.111.81"));
    ws.write("theirs/install-config.yaml", &INSTALL.replace("replicas: 2", "replicas: 0"));
    let said = ws.run(&["init", "ours", "--from", "theirs"]);
    let line = said.lines().find(|line| line.contains(" rendezvousIP ")).unwrap_or_else(|| panic!("{said}"));
    assert!(line.ends_with("the only node has another address"), "{said}");
}

const INSTANCE: &str = r#"---
apiVersion: siteconfig.open-cluster-management.io/v1alpha1
kind: ClusterInstance
metadata:
  name: edge
  namespace: edge
spec:
  clusterName: edge
  baseDomain: example.com
  clusterType: SNO
  clusterImageSetNameRef: img4.18.3
  pullSecretRef: {name: pull-secret}
  cpuArchitecture: x86_64
  clusterNetwork:
  - cidr: fd01::/48
    hostPrefix: 64
  serviceNetwork:
  - cidr: fd02::/112
  apiVIPs: ['fd00:1::10']
  ingressVIPs: ['fd00:1::11']
  installConfigOverrides: '{"capabilities": {"baselineCapabilitySet": "None"}, "fips": true}'
  templateRefs:
  - {name: ai-cluster-templates-v1, namespace: siteconfig-operator}
  nodes:
  - hostName: node1.example.com
    bmcAddress: redfish+https://[fd00:2::1]/redfish/v1/Systems/1
    bootMACAddress: 52:54:00:aa:00:01
    rootDeviceHints:
      deviceName: /dev/nvme0n1
    nodeNetwork:
      interfaces:
      - name: eno1
        macAddress: 52:54:00:aa:00:01
      config:
        interfaces:
        - name: eno1
          type: ethernet
          state: up
          ipv6:
            enabled: true
            address:
            - ip: fd00:1::21
              prefix-length: 64
        dns-resolver:
          config:
            server: ['fd00:1::2']
        routes:
          config:
          - destination: ::/0
            next-hop-interface: eno1
            next-hop-address: fd00:1::1
"#;

#[test]
fn a_cluster_instance_becomes_a_cluster_directory() {
    let ws = Workspace::empty();
    ws.write("edge.yaml", INSTANCE);
    insta::assert_snapshot!(ws.run(&["init", "ours", "--from", "edge.yaml"]), @"
    [DIR]/ours/install-config.yaml
    [DIR]/ours/cluster.yaml
    [DIR]/ours/pull-secret.json
    [DIR]/ours/cluster.seed

    taken over from edge.yaml:
    LINE  FIELD               VALUE              IN CLUSTER.YAML
    19    spec.apiVIPs.0      fd00:1::10         vips.api
    20    spec.ingressVIPs.0  fd00:1::11         vips.ingress
    25    spec.nodes.0        node1.example.com  nodes.node1

    taken over from install-config.yaml, which is used as it is:
    LINE  FIELD                             VALUE        IN CLUSTER.YAML
    9     controlPlane.replicas             1            nodes with `role: master`
    13    compute.worker.replicas           0            nodes with `role: worker`
    16    networking.machineNetwork.0.cidr  fd00:1::/64  the addresses of nodes and VIPs

    guessed; edit these lines of cluster.yaml next:
    LINE  FIELD    VALUE      WHAT BELONGS THERE
    6     release  demo:4.18  the release to install; `init --release` writes it (guessed: nothing named a release, and this one needs no network)

    not taken over:
    WHERE         FIELD                        WHY
    edge.yaml:11  spec.clusterImageSetNameRef  it names an object on the hub: `init --release` says which release it is
    edge.yaml:12  spec.pullSecretRef           it names a Secret on the hub: write its content to pull-secret.json
    edge.yaml:22  spec.templateRefs            it is about objects on the hub cluster
    edge.yaml:26  spec.nodes.0.bmcAddress      tinderbox switches no machine on: boot it by hand, or with your own tools
    [exit 0]
    ");
    let read = |name: &str| fs::read_to_string(ws.dir.join("ours").join(name)).unwrap();
    insta::assert_snapshot!(read("install-config.yaml"), @"
    # Follows from the ClusterInstance in edge.yaml.
    apiVersion: v1
    baseDomain: example.com
    metadata:
      name: edge
    controlPlane:
      name: master
      architecture: amd64
      replicas: 1
    compute:
    - name: worker
      architecture: amd64
      replicas: 0
    networking:
      machineNetwork:
      - cidr: fd00:1::/64
      clusterNetwork:
      - cidr: fd01::/48
        hostPrefix: 64
      serviceNetwork:
      - fd02::/112
    platform:
      none: {}
    capabilities:
      baselineCapabilitySet: None
    fips: true
    ");
    assert_eq!(mode(&ws.dir.join("ours/pull-secret.json")), 0o600);
    let output = ws.output(&["-C", "ours", "-q", "build"]);
    assert!(output.status.success(), "{}", ws.text(&output));
    ws.write(
        "edge.yaml",
        &INSTANCE
            .replace("fd01::/48", "192.168.0.0/16")
            .replace("  clusterType: SNO", "  clusterType: HostedControlPlane"),
    );
    insta::assert_snapshot!(ws.run(&["init", "other", "--from", "edge.yaml"]), @"
    [stderr]
    error: 1 problem:
    edge.yaml:10: spec.clusterType: `HostedControlPlane` clusters are not supported
      hint: use `SNO` or `HighlyAvailable`
    [exit 1]
    ");
    ws.write("edge.yaml", &INSTANCE.replace("fd01::/48", "192.168.0.0/16"));
    insta::assert_snapshot!(ws.run(&["init", "other", "--from", "edge.yaml"]), @"
    [stderr]
    error: 2 problems:
    edge.yaml:14: spec.clusterNetwork: IPv4 networks, but machineNetwork has IPv6 [families]
      hint: a dual-stack cluster needs networks of both families everywhere, the primary one first
    edge.yaml:16: spec.clusterNetwork.0.hostPrefix: a /64 for each node does not fit into `192.168.0.0/16` [networks-disjoint]
      hint: a number from 16 to 29
    [exit 1]
    ");
}

/// A single machine that is described has no other beside it: it bootstraps itself, where the rendezvous address is.
#[test]
fn a_single_machine_needs_no_bootstrap_machine() {
    let written = |agent: &str| {
        let ws = Workspace::empty();
        ws.write(
            "install-config.yaml",
            &INSTALL.replace("  namespace: cluster0\n", "").replace("replicas: 2", "replicas: 0"),
        );
        ws.write("agent-config.yaml", agent);
        let output = ws.output(&["init", "ours", "--from", "."]);
        assert!(output.status.success(), "{}", ws.text(&output));
        let said = ws.text(&output);
        assert!(!said.contains("not taken over") && said.contains("nodes.master-0.ip"), "{said}");
        let output = ws.output(&["-C", "ours", "-q", "build"]);
        assert!(output.status.success(), "{}", ws.text(&output));
        let text = fs::read_to_string(ws.dir.join("ours/cluster.yaml")).unwrap();
        text.lines().skip_while(|line| !line.starts_with("# No `vips`")).collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!(written("rendezvousIP: 192.168.111.20\n"), @r"
    # No `vips`: api, api-int and *.apps of the cluster domain lead to the node itself.

    # What the nodes' interfaces need.
    network:
      gateway: 192.168.111.1  # guessed: address 1 of 192.168.111.0/24
      dns: 192.168.111.1  # guessed: address 1 of 192.168.111.0/24
      # For the live ISO only: the nodes' addresses are static.
      dhcp:
        start: 192.168.111.200  # guessed: address 200 of 192.168.111.0/24
        end: 192.168.111.254  # guessed: address 254 of 192.168.111.0/24

    # Every machine; by default 4 vcpus, memory: 16GiB (workers 8GiB), disk: 100GB, mac: from cluster.seed.
    nodes:
    - {name: master-0, role: master, ip: 192.168.111.20}
    ");
    let described = "rendezvousIP: 192.168.111.20\nhosts:\n- hostname: master-0\n  rootDeviceHints: {deviceName: /dev/sda}\n  interfaces: [{name: eno1, macAddress: '52:54:00:aa:00:01'}]\n";
    insta::assert_snapshot!(written(described), @r#"
    # No `vips`: api, api-int and *.apps of the cluster domain lead to the node itself.

    # What the nodes' interfaces need.
    network:
      gateway: 192.168.111.1  # guessed: address 1 of 192.168.111.0/24
      dns: 192.168.111.1  # guessed: address 1 of 192.168.111.0/24

    # A machine of your own: you boot it. Without this line, `realize` makes a virtual machine on libvirt.
    machines: external

    # Every machine.
    nodes:
    - name: master-0
      role: master  # guessed: the file names no role
      ip: 192.168.111.20
      installDevice: /dev/sda
      mac: "52:54:00:aa:00:01"
    "#);
}

/// The VIPs of platform `baremetal` stand in install-config: cluster.yaml has none, and nothing else gets their addresses.
#[test]
fn vips_of_an_install_config_stay_there() {
    let ws = Workspace::empty();
    let bare_metal =
        "platform:\n  baremetal:\n    apiVIPs: [192.168.111.100]\n    ingressVIPs: [192.168.111.4]\n";
    let install =
        INSTALL.replace("platform:\n  none: {}\n", bare_metal).replace("  replicas: 1\n", "  replicas: 3\n");
    ws.write("theirs.yaml", &install.replace("  namespace: cluster0\n", ""));
    let output = ws.output(&["init", "ours", "--from", "theirs.yaml"]);
    assert!(output.status.success(), "{}", ws.text(&output));
    let written = fs::read_to_string(ws.dir.join("ours/cluster.yaml")).unwrap();
    assert!(!written.contains("vips"), "{written}");
    assert!(written.contains("{name: bootstrap, role: bootstrap, ip: 192.168.111.101}"), "{written}");
    let output = ws.output(&["-C", "ours", "-q", "build"]);
    assert!(output.status.success(), "{}", ws.text(&output));
}

/// A ClusterInstance with several masters and VIPs is a cluster of platform `baremetal`, unless it says otherwise.
#[test]
fn a_cluster_instance_has_the_platform_of_the_assisted_installer() {
    let ws = Workspace::empty();
    let node = |n: u8| {
        format!(
            "  - hostName: node{n}.example.com\n    bootMACAddress: 52:54:00:aa:00:0{n}\n    rootDeviceHints: {{deviceName: /dev/sda}}\n"
        )
    };
    let instance = |platform: &str| {
        let head = "apiVersion: siteconfig.open-cluster-management.io/v1alpha1\nkind: ClusterInstance\nmetadata: {name: ha}\nspec:\n  clusterName: ha\n  baseDomain: example.com\n  clusterType: HighlyAvailable\n  machineNetwork: [{cidr: 192.168.111.0/24}]\n  apiVIPs: [192.168.111.4]\n  ingressVIPs: [192.168.111.5]\n";
        format!("{head}{platform}  nodes:\n{}{}{}", node(1), node(2), node(3))
    };
    let platform = |text: &str, name: &str| {
        ws.write(&format!("{name}.yaml"), text);
        let output = ws.output(&["init", name, "--from", &format!("{name}.yaml")]);
        assert!(output.status.success(), "{}", ws.text(&output));
        let written = fs::read_to_string(ws.dir.join(name).join("install-config.yaml")).unwrap();
        written.split_once("platform:\n").unwrap().1.to_owned()
    };
    insta::assert_snapshot!(platform(&instance(""), "unsaid"), @"
      baremetal:
        apiVIPs:
        - 192.168.111.4
        ingressVIPs:
        - 192.168.111.5
    ");
    insta::assert_snapshot!(platform(&instance("  platformType: None\n"), "none"), @"  none: {}");
    insta::assert_snapshot!(platform(&instance("  platformType: External\n"), "external"), @"  external: {}");
    insta::assert_snapshot!(platform(&instance("  platformType: VSphere\n"), "vsphere"), @"  none: {}");
    let without = instance("  platformType: BareMetal\n").replace("  apiVIPs: [192.168.111.4]\n", "");
    ws.write("without.yaml", &without);
    insta::assert_snapshot!(ws.run(&["init", "without", "--from", "without.yaml"]), @"
    [stderr]
    error: 1 problem:
    without.yaml:5: spec.apiVIPs: required, but missing
      hint: for example: [192.168.126.10]
    [exit 1]
    ");
}
