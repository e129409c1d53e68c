//! Reports, as users see them: many problems at once, with file, line, field and hint.

use super::*;

#[test]
fn all_problems_of_both_files_at_once() {
    let edits = [
        ("apiVersion: v1", "apiVersion: v2"),
        ("name: ocp4", "name: OCP4"),
        ("networkType: OVNKubernetes", "networkType: OpenShiftSDN\n  hostPrefix: 1"),
        ("replicas: 2", "replicas: 'two'"),
        ("10.128.0.0/14", "192.168.0.0/16"),
        ("none: {}", "aws: {region: here}"),
        ("pullSecret: '{", "pullSecret: 'hunter2{"),
        ("release: demo:4.18", "relaese: demo:4.18"),
        ("ingress: 192.168.126.11", "ingress: 192.168.126.10"),
        ("gateway: 192.168.126.1", "gateway: 192.168.127.1"),
        ("master-1, role: master", "master-1, role: mastre"),
        ("master-2, role: master, ip: 192.168.126.103", "master-0, role: master, ip: 192.168.126.300"),
        ("ip: 192.168.126.111", "ip: 192.168.126.211, mac: '01:00:00:00:00:00', memory: lots"),
    ];
    insta::assert_snapshot!(report(&edits), @r#"
    cluster.yaml:6: relaese: unknown field
      hint: did you mean `release`?
    cluster.yaml:6: release: required, but missing
      hint: for example: demo:4.18, registry/repo:tag, registry/repo@sha256:…, oci:DIR:TAG or oci:DIR@sha256:…
    cluster.yaml:11: vips.ingress: `192.168.126.10` is also the address of `vips.api` [addresses]
      hint: every VIP, node and gateway needs an address of its own
    cluster.yaml:15: network.gateway: `192.168.127.1` is not inside the machine network `192.168.126.0/24` [addresses]
      hint: choose an address inside, or change networking.machineNetwork of install-config
    cluster.yaml:28: nodes.master-1.role: `mastre` is not one of `bootstrap`, `master`, `worker`
      hint: did you mean `master`?
    cluster.yaml:29: nodes.3: the name `master-0` is used twice, first on line 27
    cluster.yaml:29: nodes.3.ip: `192.168.126.300` is not an IP address
      hint: for example: 192.168.126.10
    cluster.yaml:31: nodes.worker-1.ip: `192.168.126.211` is inside the DHCP range `192.168.126.200` to `192.168.126.254` [addresses]
      hint: DHCP may give it to another machine: move it or shrink the range
    cluster.yaml:31: nodes.worker-1.mac: `01:00:00:00:00:00` is not a MAC address of one interface
      hint: for example: 52:54:00:12:34:56
    cluster.yaml:31: nodes.worker-1.memory: `lots` is not an amount with a unit, such as `16GiB`
    install-config.yaml:3: apiVersion: must be `v1`, not `v2`
    install-config.yaml:8: metadata.name: `OCP4` is not a DNS label (lower-case letters, digits and `-`, at most 63)
      hint: for example: master-0
    install-config.yaml:18: compute.worker.replicas: `two` is not a whole number from 0 to 10000
      hint: remove the quotes
    install-config.yaml:22: networking.networkType: openshift-install supports `OpenShiftSDN`, but tinderbox does not
      hint: it must be `OVNKubernetes`
    install-config.yaml:23: networking.hostPrefix: unknown field
      hint: known here: networkType, machineNetwork, clusterNetwork, serviceNetwork, ovnKubernetesConfig, type, machineCIDR, serviceCIDR, clusterNetworks
    install-config.yaml:26: networking.machineNetwork.0.cidr: `192.168.126.0/24` overlaps `192.168.0.0/16` of `networking.clusterNetwork.0` [networks-disjoint]
      hint: choose networks that share no address
    install-config.yaml:37: platform.aws: openshift-install supports this field, but tinderbox does not
      hint: tinderbox builds clusters for the platforms `none: {}`, `baremetal` and `external`
    install-config.yaml:41: pullSecret: this is not a pull secret: JSON with `auths`, each with an `auth` or a `credsStore`
      hint: for example: {"auths":{"registry.example.com":{"auth":"…"}}}
    "#);
}

#[test]
fn replicas_must_be_listed_and_possible() {
    insta::assert_snapshot!(report(&[("  replicas: 2\n", ""), ("replicas: 3", "replicas: 2")]), @r"
    install-config.yaml:15: controlPlane.replicas: 2 master replicas, but cluster.yaml lists 3 [replicas]
      hint: set replicas to 3, or list 2 master nodes
    install-config.yaml:15: controlPlane.replicas: 2 masters: two etcd members tolerate no failure, and losing either one stops the cluster [replicas]
      hint: use 1, 3, 4 or 5 masters
    install-config.yaml:17: compute.worker.replicas: 3 (the default) worker replicas, but cluster.yaml lists 2 [replicas]
      hint: set replicas to 2, or list 3 worker nodes
    ");
    assert!(
        report(&[("replicas: 3", "replicas: 0")]).contains("there is no cluster without a control plane")
    );
}

#[test]
fn what_the_installer_knows_and_we_cannot_honour_is_said() {
    let more = "publish: Internal\ncredentialsMode: Mint\nbootstrapInPlace: {installationDisk: /dev/vda}\narbiter: {name: arbiter}\n\
                fips: yes\nsshKey: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIA\nproxy: {noProxy: .example.com}\n\
                featureGates: [A=true]\nadditionalTrustBundle: nonsense\nmetadata2: {}\n";
    insta::assert_snapshot!(report(&[("# Who may log in", &format!("{more}# Who may log in"))]), @r"
    install-config.yaml:42: publish: openshift-install supports `Internal`, but tinderbox does not
      hint: it must be `External`
    install-config.yaml:43: credentialsMode: openshift-install supports this field, but tinderbox does not
      hint: it concerns cloud platforms, for which tinderbox builds no clusters
    install-config.yaml:44: bootstrapInPlace: only a single master, without workers and without a bootstrap node, bootstraps itself
      hint: list that node alone in cluster.yaml, or remove `bootstrapInPlace`
    install-config.yaml:45: arbiter: openshift-install supports this field, but tinderbox does not
      hint: arbiter nodes are not supported: use 1, 3, 4 or 5 masters
    install-config.yaml:47: sshKey: an Ed25519 key does not work on nodes in FIPS mode
      hint: use an ECDSA or RSA key
    install-config.yaml:48: proxy: neither `httpProxy` nor `httpsProxy` is given
      hint: give one of them, or remove `proxy`
    install-config.yaml:49: featureGates: gates are given, but featureSet is not `CustomNoUpgrade`
      hint: set `featureSet: CustomNoUpgrade`, or remove the gates
    install-config.yaml:50: additionalTrustBundle: `nonsense` is not a PEM bundle of certificates
      hint: for example: -----BEGIN CERTIFICATE-----
    install-config.yaml:51: metadata2: unknown field
      hint: did you mean `metadata`?
    ");
}

#[test]
fn a_gate_is_listed_once() {
    let more = "featureSet: CustomNoUpgrade\nfeatureGates:\n- A=true\n- B=false\n- A=false\n- B=false\n";
    insta::assert_snapshot!(report(&[("# Who may log in", &format!("{more}# Who may log in"))]), @r"
    install-config.yaml:46: featureGates.2: `A` is both enabled and disabled
      hint: keep one of them
    install-config.yaml:47: featureGates.3: `B` is listed twice
      hint: keep one of them
    ");
}

#[test]
fn a_repository_is_for_releases_in_layouts() {
    let more = "release: demo:4.18\nreleaseRepository: '*.example.com'\n";
    insta::assert_snapshot!(report(&[("release: demo:4.18\n", more)]), @r"
    cluster.yaml:7: releaseRepository: `*.example.com` is not one repository
      hint: for example: quay.io/openshift-release-dev/ocp-release
    cluster.yaml:7: releaseRepository: `release` is not a layout (`oci:…`)
      hint: remove it: nodes pull the release from where `release` says
    ");
}

#[test]
fn a_platform_is_named() {
    let wanted = "install-config.yaml:35: platform: no platform is given\n  hint: tinderbox builds clusters for the platforms `none: {}`, `baremetal` and `external`";
    for empty in ["{}", "none:"] {
        assert_eq!(report(&[("none: {}", empty)]), wanted);
    }
}

#[test]
fn families_must_agree() {
    insta::assert_snapshot!(report(&[("- cidr: 192.168.126.0/24", "- cidr: 192.168.126.0/24\n  - cidr: fd00::/64")]), @r"
    cluster.yaml:26: nodes.bootstrap.ip: no IPv6 address, but machineNetwork has IPv4 and IPv6 [families]
      hint: give a list with one address per family, the primary one first
    cluster.yaml:27: nodes.master-0.ip: no IPv6 address, but machineNetwork has IPv4 and IPv6 [families]
      hint: give a list with one address per family, the primary one first
    cluster.yaml:28: nodes.master-1.ip: no IPv6 address, but machineNetwork has IPv4 and IPv6 [families]
      hint: give a list with one address per family, the primary one first
    cluster.yaml:29: nodes.master-2.ip: no IPv6 address, but machineNetwork has IPv4 and IPv6 [families]
      hint: give a list with one address per family, the primary one first
    cluster.yaml:30: nodes.worker-0.ip: no IPv6 address, but machineNetwork has IPv4 and IPv6 [families]
      hint: give a list with one address per family, the primary one first
    cluster.yaml:31: nodes.worker-1.ip: no IPv6 address, but machineNetwork has IPv4 and IPv6 [families]
      hint: give a list with one address per family, the primary one first
    install-config.yaml:28: networking.clusterNetwork: IPv4 networks, but machineNetwork has IPv4 and IPv6 [families]
      hint: a dual-stack cluster needs networks of both families everywhere, the primary one first
    install-config.yaml:32: networking.serviceNetwork: IPv4 networks, but machineNetwork has IPv4 and IPv6 [families]
      hint: a dual-stack cluster needs networks of both families everywhere, the primary one first
    ");
}

#[test]
fn rules_between_fields() {
    insta::assert_snapshot!(report(&[
        ("role: bootstrap, ip: 192.168.126.100", "role: worker, ip: []"),
        ("ip: 192.168.126.110", "ip: 192.168.126.110, mac: '52:54:00:00:00:01'"),
        ("worker-1, role: worker, ip: 192.168.126.111", "etcd-1, role: worker, ip: 192.168.126.111, mac: '52:54:00:00:00:01'"),
        ("release: demo:4.18", "release: demo:4.18\narchitecture: arm64"),
        ("  name: master\n", "  name: master\n  architecture: amd64\n"),
        ("start: 192.168.126.200", "start: 192.168.126.255"),
    ]), @r"
    cluster.yaml:18: network.dhcp.end: the range ends at `192.168.126.254`, before it starts at `192.168.126.255` [addresses]
      hint: swap `start` and `end`
    cluster.yaml:18: network.dhcp.start: `192.168.126.255` is the network or broadcast address of `192.168.126.0/24` [addresses]
      hint: choose an address between them
    cluster.yaml:26: nodes: no node has `role: bootstrap`
      hint: list one: it runs the first control plane and is removed afterwards; only a single master without workers can bootstrap itself
    cluster.yaml:27: nodes.bootstrap.ip: the list is empty
      hint: give at least one element
    cluster.yaml:32: nodes.etcd-1.mac: `52:54:00:00:00:01` is also the MAC of `nodes.worker-0`
      hint: give every node its own, or leave it out: it then follows from the seed
    cluster.yaml:32: nodes.etcd-1.name: `etcd-1` is a name of the cluster itself
      hint: its DNS record points elsewhere: choose another name
    install-config.yaml:15: controlPlane.architecture: `amd64`, but the cluster's architecture is `arm64`
      hint: on platform `none` all nodes have one architecture, in the installer too: set it in cluster.yaml, or nowhere for amd64
    install-config.yaml:19: compute.worker.replicas: 2 worker replicas, but cluster.yaml lists 3 [replicas]
      hint: set replicas to 3, or list 2 worker nodes
    ");
}

/// `infra/network` is the network: a node of that name would make two artifacts with the same name.
#[test]
fn names_of_artifacts_are_no_names_of_nodes() {
    insta::assert_snapshot!(report(&[("name: worker-0", "name: network"), ("name: worker-1", "name: haproxy-pivoted")]), @r"
    cluster.yaml:30: nodes.network.name: `network` is no name for a node
      hint: `infra/network` is another artifact: choose another name
    cluster.yaml:31: nodes.haproxy-pivoted.name: `haproxy-pivoted` is no name for a node
      hint: `infra/haproxy-pivoted` is another artifact: choose another name
    ");
}

#[test]
fn what_stands_in_xml_and_on_command_lines_is_plain() {
    let libvirt = "release: demo:4.18\nlibvirt: {uri: 'qemu:///session', pool: 'a<b', network: 'a b'}";
    insta::assert_snapshot!(report(&[("release: demo:4.18", libvirt)]), @r"
    cluster.yaml:7: libvirt.network: `a b` is not a name of letters, digits, `_`, `.` and `-`, at most 63
      hint: for example: ocp4
    cluster.yaml:7: libvirt.pool: `a<b` is not a name of letters, digits, `_`, `.` and `-`, at most 63
      hint: for example: ocp4
    cluster.yaml:7: libvirt.uri: a session needs a directory of its own
      hint: set `libvirt.path` to one that you may write to
    ");
    let path = "release: demo:4.18\nlibvirt: {path: relative}";
    insta::assert_snapshot!(report(&[("release: demo:4.18", path)]), @r"
    cluster.yaml:7: libvirt.path: `relative` is not an absolute path of letters, digits, `_`, `.` and `-`
      hint: for example: /var/lib/libvirt/images/ocp4
    ");
}

#[test]
fn a_disabled_check_is_not_run() {
    let edits = [("api: 192.168.126.10\n", "api: 192.168.126.100\n")];
    assert!(report(&edits).contains("[addresses]"));
    let disabled = [edits[0], ("release: demo:4.18", "release: demo:4.18\nchecks: {disabled: [addresses]}")];
    assert_eq!(edited(&disabled).unwrap().disabled_checks, ["addresses"]);
}

#[test]
fn the_checks_have_names_and_reasons() {
    let names: Vec<&str> = CHECKS.iter().map(|check| check.name).collect();
    assert_eq!(
        names,
        ["addresses", "families", "machine-size", "networks-disjoint", "node-network", "replicas"]
    );
}

#[test]
fn networks_share_no_address() {
    let more =
        "hostPrefix: 23\n  - {cidr: 10.64.0.1/14, hostPrefix: 24}\n  - {cidr: 10.200.0.0/22, hostPrefix: 21}";
    let edits = [("172.30.0.0/16", "100.64.128.0/17"), ("hostPrefix: 23", more)];
    insta::assert_snapshot!(report(&edits), @r"
    install-config.yaml:30: networking.clusterNetwork.1: `10.64.0.1/14` has bits set after its prefix [networks-disjoint]
      hint: write `10.64.0.0/14`
    install-config.yaml:30: networking.clusterNetwork.1.hostPrefix: /24, but `networking.clusterNetwork.0` has /23 [networks-disjoint]
      hint: networks of one family share one hostPrefix
    install-config.yaml:31: networking.clusterNetwork.2.hostPrefix: a /21 for each node does not fit into `10.200.0.0/22` [networks-disjoint]
      hint: a number from 22 to 29
    install-config.yaml:34: networking.serviceNetwork.0: `100.64.128.0/17` overlaps `100.64.0.0/16` of `networking.ovnKubernetesConfig.ipv4.internalJoinSubnet` [networks-disjoint]
      hint: choose networks that share no address
    ");
    insta::assert_snapshot!(report(&[("10.128.0.0/14", "10.128.0.0/22")]), @r"
    install-config.yaml:28: networking.clusterNetwork.0: 2 parts of /23 for 5 nodes [networks-disjoint]
      hint: use a larger clusterNetwork or a larger hostPrefix
    ");
}

/// Programs write these values into units and scripts.
#[test]
fn a_proxy_value_begins_nothing_else() {
    for bad in [
        r#"proxy: {httpProxy: "http://p:1", noProxy: "x\"\nLD_PRELOAD=/tmp/x.so"}"#,
        r#"proxy: {httpProxy: "http://p:1", noProxy: "x\ny"}"#,
        r#"proxy: {httpProxy: "http://p:1", noProxy: "$(id)"}"#,
        r#"proxy: {httpProxy: "http://p\"x:1"}"#,
        r#"proxy: {httpProxy: "http://p:1\tx"}"#,
    ] {
        let said = report(&[("# Who may log in", &format!("{bad}\n# Who may log in"))]);
        assert!(said.contains("proxy."), "{bad}: {said}");
    }
    let good =
        r#"proxy: {httpProxy: "http://me:pa-ss@p:1", noProxy: "*.example.com, 10.0.0.0/8,[fd00::1],host_1"}"#;
    assert_eq!(report(&[("# Who may log in", &format!("{good}\n# Who may log in"))]), "no problems");
}

#[test]
fn the_pull_secret_is_in_one_place() {
    let inline = format!("pullSecret: '{PULL_SECRET}'\n");
    let none = INSTALL.replace(&inline, "");
    let named = |file: &str| format!("pullSecretFile: {file}\n{CLUSTER}");
    let said = |install: &str, cluster: &str| try_load(install, cluster).unwrap_err().to_string();
    insta::assert_snapshot!(said(&none, CLUSTER), @r#"
    install-config.yaml: pullSecret: required, but missing
      hint: for example: {"auths":{"registry.example.com":{"auth":"…"}}}; or name a file that has it, with `pullSecretFile` in cluster.yaml
    "#);
    insta::assert_snapshot!(said(INSTALL, &named("pull-secret.json")), @"
    cluster.yaml:1: pullSecretFile: install-config.yaml has a `pullSecret` too
      hint: remove one of the two
    ");
    insta::assert_snapshot!(said(&none, &named("~/pull-secret.json")), @"
    cluster.yaml:1: pullSecretFile: `~/pull-secret.json` cannot be read: no such file
      hint: `~` is not expanded: write the whole path
    ");
    insta::assert_snapshot!(said(&none, &named("''")), @"
    cluster.yaml:1: pullSecretFile: it is empty, but must be a text
      hint: leave it out, or give it a value
    ");

    // The same secret, wherever it is; and `why` names the place.
    let (here, there) = (example(), try_load(&none, &named("pull-secret.json")).unwrap());
    assert!(is_placeholder(&here.pull_secret) && is_placeholder(&there.pull_secret));
    assert_eq!(here.pull_secret.reveal(), there.pull_secret.reveal());
    let leaves = there.fields();
    let (_, origins) = leaves.leaves().find(|(path, _)| path == "pullSecret").unwrap();
    assert_eq!(origins[0].to_string(), "cluster.yaml:1: pullSecretFile");
    assert_eq!(value(&here, "installConfig"), value(&there, "installConfig"));
}
