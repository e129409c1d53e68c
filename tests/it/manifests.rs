//! The cluster manifests, as text: all of them for the example, which is highly available, and for every other kind of
//! cluster what differs from that. Reviewing a change of a template means reading the change of these snapshots.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::harness::{Workspace, names, tree};

/// A certificate as short as PEM allows; nobody verifies it here.
const BUNDLE: &str =
    "-----BEGIN CERTIFICATE-----\n  MIIBszCCAVmgAwIBAgIUTinderboxTestBundle=\n  -----END CERTIFICATE-----";

type Files = BTreeMap<String, String>;

/// Every manifest by file name, without what is secret, and without the bytes of certificates, which follow the epoch.
fn manifests(ws: &Workspace) -> Files {
    let report = ws.json(&["build", "manifest"]);
    let mut files = Files::new();
    for target in report["targets"].as_array().unwrap() {
        for (file, (_, bytes)) in tree(target["path"].as_str().unwrap().as_ref()) {
            files.insert(file, masked(&String::from_utf8(bytes).unwrap()));
        }
    }
    files
}

fn masked(text: &str) -> String {
    let is_secret = text.contains("\nkind: Secret\n");
    let (mut out, mut in_data, mut in_pem) = (String::new(), false, false);
    for line in text.lines() {
        in_data = if line.starts_with(' ') { in_data } else { line == "data:" };
        let ends = line.contains("-----END ");
        if is_secret && in_data && line.starts_with(' ') && !line.trim_start().starts_with('#') {
            out.push_str(&format!("{}: (secret)\n", line.split(": ").next().unwrap()));
        } else if !in_pem || ends {
            out.push_str(&format!("{line}\n"));
        }
        in_pem = !ends && (in_pem || line.contains("-----BEGIN "));
    }
    out
}

/// All files as one text.
fn listing(files: &Files) -> String {
    files.iter().map(|(name, text)| format!("=== {name}\n{text}\n")).collect()
}

/// The example's.
static HA: LazyLock<Files> = LazyLock::new(|| manifests(&Workspace::example().prebuilt()));

/// What an edit of the example changes, file by file.
fn changes(edit: impl Fn(&Workspace)) -> String {
    let ws = Workspace::example().prebuilt();
    edit(&ws);
    let (ours, empty) = (manifests(&ws), String::new());
    let all: BTreeMap<&String, ()> = HA.keys().chain(ours.keys()).map(|name| (name, ())).collect();
    let mut out = String::new();
    for name in all.into_keys() {
        let (before, after) = (HA.get(name).unwrap_or(&empty), ours.get(name).unwrap_or(&empty));
        if before != after {
            out.push_str(&format!("=== {name}\n{}", difference(before, after)));
        }
    }
    out
}

/// Lines that are gone and lines that are new, in their order, with the line before each group.
fn difference(before: &str, after: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    // common[i][j]: how many lines old[i..] and new[j..] have in common.
    let mut common = vec![vec![0; new.len() + 1]; old.len() + 1];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            let skip = common[i + 1][j].max(common[i][j + 1]);
            common[i][j] = if old[i] == new[j] { common[i + 1][j + 1] + 1 } else { skip };
        }
    }
    let (mut i, mut j, mut out, mut context) = (0, 0, String::new(), None);
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            context = Some(old[i]);
            (i, j) = (i + 1, j + 1);
            continue;
        }
        if let Some(line) = context.take() {
            out.push_str(&format!("  {line}\n"));
        }
        if j == new.len() || (i < old.len() && common[i + 1][j] >= common[i][j + 1]) {
            out.push_str(&format!("- {}\n", old[i]));
            i += 1;
        } else {
            out.push_str(&format!("+ {}\n", new[j]));
            j += 1;
        }
    }
    out
}

#[test]
fn highly_available() {
    insta::assert_snapshot!("highly_available", listing(&HA));
}

/// Three masters that take workloads.
#[test]
fn compact() {
    insta::assert_snapshot!(changes(|ws| ws.without_workers(3)), @"
    === cluster-config.yaml
          - name: worker
    -       replicas: 2
    +       replicas: 0
    === cluster-scheduler-02-config.yml
        # True for compact clusters and single nodes: otherwise routers and the console never find a node.
    -   mastersSchedulable: false
    +   mastersSchedulable: true
    ");
}

#[test]
fn single_node() {
    insta::assert_snapshot!(changes(|ws| ws.without_workers(1)), @"
    === cluster-config.yaml
          - name: worker
    -       replicas: 2
    +       replicas: 0
            name: master
    -       replicas: 3
    +       replicas: 1
    === cluster-infrastructure-02-config.yml
        # never lets the bootstrap member go.
    -   controlPlaneTopology: HighlyAvailable
    +   controlPlaneTopology: SingleReplica
        # The same for routers, console, monitoring: SingleReplica where a single node takes them.
    -   infrastructureTopology: HighlyAvailable
    +   infrastructureTopology: SingleReplica
    === cluster-ingress-02-config.yml
        # workers; masters that take workloads count as such.
    -   defaultPlacement: Workers
    +   defaultPlacement: ControlPlane
    === cluster-scheduler-02-config.yml
        # True for compact clusters and single nodes: otherwise routers and the console never find a node.
    -   mastersSchedulable: false
    +   mastersSchedulable: true
    ");
}

/// One worker beside three masters: what runs on workers runs once, and the routers run there all the same.
#[test]
fn one_worker() {
    let change = changes(|ws| {
        ws.edit("install-config.yaml", "replicas: 2", "replicas: 1");
        ws.edit("cluster.yaml", "- {name: worker-1, role: worker, ip: 192.168.126.111}\n", "");
    });
    insta::assert_snapshot!(change, @"
    === cluster-config.yaml
          - name: worker
    -       replicas: 2
    +       replicas: 1
    === cluster-infrastructure-02-config.yml
        # The same for routers, console, monitoring: SingleReplica where a single node takes them.
    -   infrastructureTopology: HighlyAvailable
    +   infrastructureTopology: SingleReplica
    ");
}

/// A cluster without a way out of its own: a proxy with a CA of its own, and mirrors.
#[test]
fn proxy_mirrors_and_trust_bundle() {
    let change = changes(|ws| {
        let more = format!(
            "proxy:\n  httpProxy: http://proxy.example.com:3128\n  httpsProxy: http://proxy.example.com:3129\n  \
             noProxy: .corp.example.com,10.0.0.0/8\nadditionalTrustBundle: |\n  {BUNDLE}\nimageDigestSources:\n\
             - source: registry.example.org/ocp/release\n  mirrors: [mirror.example.com:5000/ocp]\n\
             - source: registry.example.org/ocp/art\n  mirrors: [mirror.example.com:5000/ocp]\n  \
             sourcePolicy: NeverContactSource\nplatform:\n"
        );
        ws.edit("install-config.yaml", "platform:\n", &more);
    });
    insta::assert_snapshot!(change, @r#"
    === cluster-config.yaml
        install-config: |
    +     additionalTrustBundle: "-----BEGIN CERTIFICATE-----\nMIIBszCCAVmgAwIBAgIUTinderboxTestBundle=\n-----END CERTIFICATE-----\n"
            replicas: 3
    +     imageDigestSources:
    +     - mirrors:
    +       - "mirror.example.com:5000/ocp"
    +       source: registry.example.org/ocp/release
    +     - mirrors:
    +       - "mirror.example.com:5000/ocp"
    +       source: registry.example.org/ocp/art
    +       sourcePolicy: NeverContactSource
            none: {}
    +     proxy:
    +       httpProxy: "http://proxy.example.com:3128"
    +       httpsProxy: "http://proxy.example.com:3129"
    +       noProxy: ".corp.example.com,10.0.0.0/8"
    === cluster-proxy-01-config.yaml
      spec:
    +   httpProxy: "http://proxy.example.com:3128"
    +   httpsProxy: "http://proxy.example.com:3129"
    +   noProxy: ".corp.example.com,10.0.0.0/8"
        trustedCA:
    -     name: ""
    - status: {}
    +     name: user-ca-bundle
    + status:
    +   httpProxy: "http://proxy.example.com:3128"
    +   httpsProxy: "http://proxy.example.com:3129"
    +   # What never goes through the proxy: the cluster itself, and what spec excepts. The network operator would work this
    +   # out later; others need it from the start.
    +   noProxy: ".cluster.local,.corp.example.com,.svc,10.0.0.0/8,10.128.0.0/14,127.0.0.1,172.30.0.0/16,192.168.126.0/24,api-int.ocp4.example.com,localhost"
    === image-digest-mirror-set.yaml
    + apiVersion: config.openshift.io/v1
    + kind: ImageDigestMirrorSet
    + metadata:
    +   name: image-digest-mirror
    + spec:
    +   imageDigestMirrors:
    +   - source: registry.example.org/ocp/release
    +     mirrors:
    +     - "mirror.example.com:5000/ocp"
    +   - source: registry.example.org/ocp/art
    +     mirrors:
    +     - "mirror.example.com:5000/ocp"
    +     # NeverContactSource: a mirror that lacks an image is an error, not a pull from the outside.
    +     mirrorSourcePolicy: NeverContactSource
    === user-ca-bundle.yaml
    + apiVersion: v1
    + kind: ConfigMap
    + metadata:
    +   name: user-ca-bundle
    +   namespace: openshift-config
    + data:
    +   ca-bundle.crt: |
    +     -----BEGIN CERTIFICATE-----
    +     -----END CERTIFICATE-----
    "#);
}

#[test]
fn channel_capabilities_and_partitioning() {
    let change = changes(|ws| {
        let more = "cpuPartitioningMode: AllNodes\ncapabilities:\n  baselineCapabilitySet: None\n  \
                    additionalEnabledCapabilities: [Ingress, Console]\nplatform:\n";
        ws.edit("install-config.yaml", "platform:\n", more);
        ws.edit("cluster.yaml", "release: demo:4.18\n", "release: demo:4.18\nchannel: eus-4.18\n");
    });
    insta::assert_snapshot!(change, @r#"
    === cluster-config.yaml
          baseDomain: example.com
    +     capabilities:
    +       additionalEnabledCapabilities:
    +       - Ingress
    +       - Console
    +       baselineCapabilitySet: None
            replicas: 3
    +     cpuPartitioningMode: AllNodes
    === cluster-infrastructure-02-config.yml
        # AllNodes pins the control plane to some CPUs of every node. It cannot be changed after installation.
    -   cpuPartitioning: None
    +   cpuPartitioning: AllNodes
    === cvo-overrides.yaml
        # itself. Without a channel the CVO installs all the same, and complains in its condition RetrievedUpdates.
    -   channel: stable-4.18
    +   channel: eus-4.18
    +   # Optional components. What is enabled once can never be disabled; without this, all are.
    +   capabilities:
    +     baselineCapabilitySet: None
    +     additionalEnabledCapabilities:
    +     - Ingress
    +     - Console
    "#);
}

#[test]
fn dual_stack() {
    insta::assert_snapshot!(changes(Workspace::dual_stack), @r#"
    === cluster-config.yaml
              hostPrefix: 23
    +       - cidr: "fd01::/48"
    +         hostPrefix: 64
            - cidr: "192.168.126.0/24"
    +       - cidr: "fd00:126::/64"
            - "172.30.0.0/16"
    +       - "fd02::/112"
    === cluster-network-02-config.yml
          hostPrefix: 23
    +   - cidr: "fd01::/48"
    +     hostPrefix: 64
        - "172.30.0.0/16"
    +   - "fd02::/112"
          hostPrefix: 23
    +   - cidr: "fd01::/48"
    +     hostPrefix: 64
        - "172.30.0.0/16"
    +   - "fd02::/112"
    === cluster-network-03-config.yml
          hostPrefix: 23
    +   - cidr: "fd01::/48"
    +     hostPrefix: 64
        - "172.30.0.0/16"
    +   - "fd02::/112"
    "#);
}

#[test]
fn ipv6_only() {
    insta::assert_snapshot!(changes(Workspace::ipv6_only), @r#"
    === cluster-config.yaml
            clusterNetwork:
    -       - cidr: "10.128.0.0/14"
    -         hostPrefix: 23
    +       - cidr: "fd01::/48"
    +         hostPrefix: 64
            machineNetwork:
    -       - cidr: "192.168.126.0/24"
    +       - cidr: "fd00:126::/64"
            serviceNetwork:
    -       - "172.30.0.0/16"
    +       - "fd02::/112"
    === cluster-network-02-config.yml
        clusterNetwork:
    -   - cidr: "10.128.0.0/14"
    -     hostPrefix: 23
    +   - cidr: "fd01::/48"
    +     hostPrefix: 64
        serviceNetwork:
    -   - "172.30.0.0/16"
    +   - "fd02::/112"
        clusterNetwork:
    -   - cidr: "10.128.0.0/14"
    -     hostPrefix: 23
    +   - cidr: "fd01::/48"
    +     hostPrefix: 64
        serviceNetwork:
    -   - "172.30.0.0/16"
    +   - "fd02::/112"
    === cluster-network-03-config.yml
        clusterNetwork:
    -   - cidr: "10.128.0.0/14"
    -     hostPrefix: 23
    +   - cidr: "fd01::/48"
    +     hostPrefix: 64
        serviceNetwork:
    -   - "172.30.0.0/16"
    +   - "fd02::/112"
    "#);
}

/// What install-config leaves to its defaults is in the cluster's copy of it: operators read it, and wait for ever for
/// what they do not find.
#[test]
fn defaults_are_written_out() {
    let change = changes(|ws| {
        let install = |from: &str| ws.edit("install-config.yaml", from, "");
        install("controlPlane:\n  name: master\n  replicas: 3\n");
        install("  networkType: OVNKubernetes\n");
        install("  serviceNetwork:\n  - 172.30.0.0/16\n");
    });
    assert_eq!(change, "");
}

/// A worker's address is in no manifest.
#[test]
fn a_workers_address_builds_none() {
    let ws = Workspace::example().prebuilt();
    ws.build(&["manifest"]);
    ws.edit("cluster.yaml", "ip: 192.168.126.110", "ip: 192.168.126.120");
    assert_eq!(names(&ws.json(&["build", "manifest"])["built"]), Vec::<String>::new());
}
