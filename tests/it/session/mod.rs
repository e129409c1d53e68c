//! Whole sessions of the command line, as a user sees them.

mod discovery;
mod documents;
mod errors;
mod graph;
mod interrupt;
mod mistakes;
mod secrets;
mod silent;
pub(crate) mod terminal;
mod words;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::harness::{Workspace, left_out, mode, names, tree, without_durations, without_sizes};

/// The first steps of the README, from nothing to a second build that builds nothing.
#[test]
fn init_build_build_again() {
    let ws = Workspace::empty();
    insta::assert_snapshot!(ws.run(&["init"]), @"
    [DIR]/install-config.yaml
    [DIR]/cluster.yaml
    [DIR]/cluster.seed
    [exit 0]
    ");
    insta::assert_snapshot!(ws.run(&["init"]), @"
    [stderr]
    error: `[DIR]/install-config.yaml` already exists, and is left alone
    hint: `tinderbox init --from install-config.yaml` makes the cluster.yaml for an install-config
    [exit 1]
    ");
    let text = without_durations(&ws.run(&["build", "-v"]));
    let is_told = |line: &&str| ["built ", "building ", "cached "].iter().any(|word| line.starts_with(word));
    let (built, rest): (Vec<&str>, Vec<&str>) = text.lines().partition(is_told);
    insta::assert_snapshot!(rest.join("\n"), @"
    [STORE]/[ID]-cluster
    [stderr]
    note: wrote cluster.lock: the epoch and release 4.18.0-demo are pinned; commit this file
    [N] built, [N] already in the store in [TIME]; generation 1
    next:
      tinderbox report --open  what was built, as a page
      tinderbox realize plan   what would be made or booted
    [exit 0]
    ");
    let graph = ws.json(&["graph", "cluster"]);
    let all: BTreeSet<&str> =
        graph["derivations"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    let told: BTreeSet<&str> = built.iter().map(|line| line.split(' ').nth(1).unwrap()).collect();
    assert_eq!(told, all);
    insta::assert_snapshot!(ws.run(&["build"]), @"
    [STORE]/[ID]-cluster
    [exit 0]
    ");
    assert_eq!(ws.build(&[]), [""; 0]);
    let result = fs::read_link(ws.dir.join("result")).unwrap();
    assert_eq!(result, ws.path_of("cluster"));
    let listed = ws.json(&["show", "cluster"]);
    let files = listed["entries"].as_array().unwrap().iter().filter(|entry| entry["kind"] != "directory");
    let files: BTreeSet<&str> = files.map(|entry| entry["path"].as_str().unwrap()).collect();
    assert_eq!(tree(&result).keys().map(String::as_str).collect::<BTreeSet<_>>(), files);
    assert_eq!(mode(&ws.dir.join("cluster.seed")), 0o600);
}

/// A directory without lock and seed: `build` makes them and says so, and touches them never again.
#[test]
fn build_makes_what_is_missing_once() {
    let ws = Workspace::example();
    fs::remove_file(ws.dir.join("cluster.lock")).unwrap();
    fs::remove_file(ws.dir.join("cluster.seed")).unwrap();
    insta::assert_snapshot!(ws.run(&["build", "infra/pool"]), @"
    [STORE]/[ID]-infra-pool
    [stderr]
    note: wrote cluster.seed: the identity of this cluster; back it up, and never commit it
    note: wrote cluster.lock: the epoch and release 4.18.0-demo are pinned; commit this file
    [exit 0]
    ");
    let files = || ["cluster.lock", "cluster.seed"].map(|name| fs::read(ws.dir.join(name)).unwrap());
    let before = files();
    insta::assert_snapshot!(ws.run(&["build", "infra/pool"]), @"
    [STORE]/[ID]-infra-pool
    [exit 0]
    ");
    insta::assert_snapshot!(ws.run(&["lock"]), @"
    everything is pinned
    [exit 0]
    ");
    assert_eq!(files(), before);
    insta::assert_snapshot!(ws.run(&["lock", "--update", "epoch=2027-01-01T00:00:00Z", "--json"]).replace(
        &String::from_utf8_lossy(&before[0]).lines().last().unwrap()["epoch = ".len()..], "[BEFORE]"), @r#"
    {
      "moved": [
        {
          "field": "epoch",
          "from": "[TIME]",
          "to": "[TIME]"
        }
      ],
      "seed_made": false
    }
    [exit 0]
    "#);
}

/// What cluster.yaml asks for and only `--update` pins: `lock` says what a build would say, and changes nothing.
#[test]
fn lock_says_what_it_does_not_pin() {
    let ws = Workspace::example();
    ws.json(&["lock"]);
    let before = fs::read(ws.dir.join("cluster.lock")).unwrap();
    ws.edit("cluster.yaml", "release: demo:4.18", "release: demo:4.19");
    insta::assert_snapshot!(ws.run(&["lock"]), @"
    not pinned: cluster.yaml asks for release `demo:4.19`, and cluster.lock pins `demo:4.18`
      `tinderbox lock --update release` pins what cluster.yaml asks for; `tinderbox lock --update release=demo:4.18` writes the other into cluster.yaml
    [exit 1]
    ");
    let output = ws.output(&["lock", "--json"]);
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(document["behind"]["problem"].as_str().unwrap().contains("demo:4.19"), "{document}");
    assert_eq!(fs::read(ws.dir.join("cluster.lock")).unwrap(), before);
    // Both ways out.
    assert!(ws.run(&["lock", "--update", "release=demo:4.18"]).contains("[exit 0]"));
    ws.edit("cluster.yaml", "release: demo:4.18", "release: demo:4.19");
    assert!(ws.run(&["lock", "--update", "release"]).contains("[exit 0]"));
    assert!(ws.run(&["lock"]).contains("everything is pinned\n[exit 0]"));
}

/// A lock that cannot be read: what to keep, and what is lost without it.
#[test]
fn a_damaged_lock_is_mended_and_not_deleted() {
    let ws = Workspace::example();
    ws.json(&["lock"]);
    let whole = fs::read_to_string(ws.dir.join("cluster.lock")).unwrap();
    ws.write("cluster.lock", &format!("{whole}\n<<<<<<< HEAD\n"));
    let said = ws.run(&["lock"]);
    assert!(said.contains("hint: restore it from git; else keep its `version`, `epoch`"), "{said}");
    assert!(said.contains("every certificate is another one"), "{said}");
    // What the hint says works: the rest comes back.
    let kept: Vec<&str> = whole
        .lines()
        .filter(|line| line.starts_with("version = 1") || line.starts_with("epoch = "))
        .collect();
    ws.write("cluster.lock", &(kept.join("\n") + "\n"));
    assert!(ws.run(&["lock"]).contains("[exit 0]"));
    assert_eq!(fs::read_to_string(ws.dir.join("cluster.lock")).unwrap(), whole);
}

/// `init --from` makes the cluster.yaml for an install-config, which then builds.
#[test]
fn init_from_an_install_config() {
    let ws = Workspace::example();
    for name in ["cluster.yaml", "cluster.lock", "cluster.seed"] {
        fs::remove_file(ws.dir.join(name)).unwrap();
    }
    insta::assert_snapshot!(ws.run(&["init", "--from", "install-config.yaml"]), @"
    [DIR]/cluster.yaml
    [DIR]/cluster.seed

    taken over from install-config.yaml, which is used as it is:
    LINE  FIELD                             VALUE             IN CLUSTER.YAML
    15    controlPlane.replicas             3                 nodes with `role: master`
    18    compute.worker.replicas           2                 nodes with `role: worker`
    25    networking.machineNetwork.0.cidr  192.168.126.0/24  the addresses of nodes and VIPs

    guessed; edit these lines of cluster.yaml next:
    LINE  FIELD               VALUE            WHAT BELONGS THERE
    6     release             demo:4.18        the release to install; `init --release` writes it (guessed: nothing named a release, and this one needs no network)
    10    vips.api            192.168.126.10   what api.ocp4.example.com and api-int.ocp4.example.com resolve to (guessed: address 10 of 192.168.126.0/24)
    11    vips.ingress        192.168.126.11   what *.apps.ocp4.example.com resolves to (guessed: address 11 of 192.168.126.0/24)
    15    network.gateway     192.168.126.1    the default gateway of the machine network (guessed: address 1 of 192.168.126.0/24)
    16    network.dns         192.168.126.1    the DNS servers of the nodes (guessed: address 1 of 192.168.126.0/24)
    19    network.dhcp.start  192.168.126.200  a range that nothing else uses (guessed: address 200 of 192.168.126.0/24)
    20    network.dhcp.end    192.168.126.254  a range that nothing else uses (guessed: address 254 of 192.168.126.0/24)
    24    nodes.bootstrap.ip  192.168.126.100  the machine's static address; its name and size too (guessed: address 100 of 192.168.126.0/24)
    25    nodes.master-0.ip   192.168.126.101  the machine's static address; its name and size too (guessed: address 101 of 192.168.126.0/24)
    26    nodes.master-1.ip   192.168.126.102  the machine's static address; its name and size too (guessed: address 102 of 192.168.126.0/24)
    27    nodes.master-2.ip   192.168.126.103  the machine's static address; its name and size too (guessed: address 103 of 192.168.126.0/24)
    28    nodes.worker-0.ip   192.168.126.110  the machine's static address; its name and size too (guessed: address 110 of 192.168.126.0/24)
    29    nodes.worker-1.ip   192.168.126.111  the machine's static address; its name and size too (guessed: address 111 of 192.168.126.0/24)
    [exit 0]
    ");
    let text = fs::read_to_string(ws.dir.join("cluster.yaml")).unwrap();
    assert_eq!(text.lines().nth(9), Some("  api: 192.168.126.10  # guessed: address 10 of 192.168.126.0/24"));
    assert!(!ws.build(&[]).is_empty());
    // The same for programs; a release that the user names is not a guess.
    fs::remove_file(ws.dir.join("cluster.yaml")).unwrap();
    let output = ws.output(&["init", "--from", "install-config.yaml", "--release", "demo:4.18", "--json"]);
    let said: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(said["guessed"][0]["field"], "vips.api");
    assert_eq!(said["guessed"][0]["line"], 10);
    assert_eq!(said["taken"][0]["became"], "nodes with `role: master`");
}

/// What is shown of an artifact; secrets are masked.
/// What a new directory would build can be asked before anything is pinned.
#[test]
fn a_plan_needs_no_lock() {
    let ws = Workspace::example();
    if ws.dir.join("cluster.lock").exists() {
        fs::remove_file(ws.dir.join("cluster.lock")).unwrap();
    }
    let output = ws.output(&["build", "--dry-run", "--json"]);
    assert!(output.status.success(), "{}", ws.text(&output));
    assert!(!ws.dir.join("cluster.lock").exists());
}

#[test]
fn show() {
    let ws = Workspace::example();
    insta::assert_snapshot!(ws.run(&["show", "infra/pool"]), @"
    [stderr]
    error: `infra/pool` is not built
    hint: run `tinderbox build infra/pool`
    [exit 1]
    ");
    ws.build(&[]);
    insta::assert_snapshot!(ws.run(&["show", "infra/pool"]), @r#"
    <pool type="dir">
      <name>ocp4</name>
      <uuid>3e51f001-d475-4577-8ed4-fcd6e36d182a</uuid>
      <target>
        <path>/var/lib/libvirt/images/ocp4</path>
        <permissions>
          <!-- Nobody else can list it: a node's media hold its keys. -->
          <mode>0711</mode>
        </permissions>
      </target>
    </pool>
    [exit 0]
    "#);
    insta::assert_snapshot!("show_cluster", without_sizes(&ws.run(&["show", "cluster"])));
    insta::assert_snapshot!(ws.run(&["show", "cluster:manifests/cluster-dns-02-config.yml"]), @"
    apiVersion: config.openshift.io/v1
    kind: DNS
    metadata:
      name: cluster
    spec:
      # The CLUSTER domain, not install-config's baseDomain: with the latter every name would be wrong.
      baseDomain: ocp4.example.com
    status: {}
    [exit 0]
    ");
    insta::assert_snapshot!(ws.run(&["show", "cluster:manifests/cluster-dns-02-config.yaml"]), @"
    [stderr]
    error: `cluster` has no `manifests/cluster-dns-02-config.yaml`
    hint: did you mean `manifests/cluster-dns-02-config.yml`?
    [exit 2]
    ");
    insta::assert_snapshot!(ws.run(&["show", "manifest/openshift-config-secret-pull-secret"]), @"
    (secret)
    [exit 0]
    ");
    insta::assert_snapshot!(ws.run(&["show", "manifest/openshift-config-secret-pull-secret", "--reveal"]), @"
    [stderr]
    error: `--reveal` shows secrets on a terminal only
    hint: `tinderbox export DIR` copies them, for their owner only
    [exit 2]
    ");
}

/// Generations are made by builds whose `cluster` is new; `rollback` goes back, and a build goes forward again.
#[test]
fn generations_and_rollback() {
    let ws = Workspace::example().prebuilt();
    ws.build(&[]);
    insta::assert_snapshot!(ws.run(&["rollback"]), @"
    [stderr]
    error: there is no generation before the current one
    hint: `tinderbox generations` lists what is kept
    [exit 2]
    ");
    ws.edit("cluster.yaml", "192.168.126.110", "192.168.126.120");
    ws.build(&[]);
    ws.build(&[]);
    insta::assert_snapshot!(ws.run(&["generations"]), @"
    GENERATION   MADE                  PATH
    1            [TIME]  [STORE]/[ID]-cluster
    2 (current)  [TIME]  [STORE]/[ID]-cluster
    [exit 0]
    ");
    let second = fs::read_link(ws.dir.join("result")).unwrap();
    insta::assert_snapshot!(ws.run(&["rollback"]), @"
    generation 1: [STORE]/[ID]-cluster
    [exit 0]
    ");
    let first = fs::read_link(ws.dir.join("result")).unwrap();
    assert_ne!(first, second);
    assert!(fs::read_to_string(first.join("infra/haproxy.cfg")).unwrap().contains("192.168.126.110"));
    insta::assert_snapshot!(ws.run(&["rollback", "7"]), @"
    [stderr]
    error: there is no generation 7
    hint: existing generations: 1, 2
    [exit 2]
    ");
    assert_eq!(ws.build(&[]), [""; 0]);
    assert_eq!(fs::read_link(ws.dir.join("result")).unwrap(), second);
    assert_eq!(ws.json(&["generations"]).as_array().unwrap().len(), 2);
}

/// `store ls`, `du` and `path`.
#[test]
fn store_listing() {
    let ws = Workspace::example();
    insta::assert_snapshot!(ws.run(&["store", "ls"]), @"
    [stderr]
    error: `[STORE]` is not a store
    hint: `tinderbox build` creates one; select another with `--store DIR` or TINDERBOX_STORE
    [exit 1]
    ");
    ws.build(&["infra/haproxy", "infra/haproxy-pivoted", "infra/pool"]);
    insta::assert_snapshot!(ws.run(&["store", "ls"]), @r"
    NAME                   SIZE     FILES    OBJECT
    identity-uuid-pool     36 B     1        [ID]
    infra-haproxy          2.0 KiB  1        [ID]
    infra-haproxy-pivoted  1.9 KiB  1        [ID]
    infra-pool             298 B    1        [ID]
    [exit 0]
    ");
    insta::assert_snapshot!(ws.run(&["store", "du"]), @r"
    4.2 KiB  [STORE]
    4 objects; 4.2 KiB if equal files were stored every time
    [exit 0]
    ");
    let object = ws.json(&["show", "infra/pool"])["object"].as_str().unwrap().to_owned();
    assert_eq!(ws.json(&["store", "path", &object[..8]])["object"], object);
    insta::assert_snapshot!(ws.run(&["store", "path", &object]), @"
    [STORE]/[ID]-infra-pool
    [exit 0]
    ");
    insta::assert_snapshot!(ws.run(&["store", "path", "zzzzzzzzzzzz"]), @"
    [stderr]
    error: no object in the store starts with `zzzzzzzzzzzz`
    hint: `tinderbox store ls` lists all objects
    [exit 2]
    ");
    insta::assert_snapshot!(ws.run(&["store", "path", "UPPER"]), @"
    [stderr]
    error: no object in the store starts with `UPPER`
    hint: `tinderbox store ls` lists all objects
    [exit 2]
    ");
}

/// A plain copy: public files 0644, secret ones 0600, and never over something that is there.
#[test]
fn export() {
    let ws = Workspace::example().prebuilt();
    let said = ws.run(&["export", "out", "-q"]);
    let listed = ws.json(&["show", "cluster"]);
    let files = listed["entries"].as_array().unwrap().iter().filter(|entry| entry["kind"] != "directory");
    let expected: BTreeMap<String, u32> = files
        .map(|entry| {
            let mode = match (entry["secret"].as_bool().unwrap(), entry["kind"].as_str().unwrap()) {
                (true, _) => 0o600,
                (false, "executable") => 0o755,
                (false, _) => 0o644,
            };
            (entry["path"].as_str().unwrap().to_owned(), mode)
        })
        .collect();
    let secret = expected.values().filter(|mode| **mode == 0o600).count();
    assert!(secret > 20 && expected["infra/firewall.sh"] == 0o755, "{expected:?}");
    assert_eq!(said, format!("[DIR]/out: {} files, {secret} of them secret\n[exit 0]\n", expected.len()));
    let modes: BTreeMap<String, u32> =
        tree(&ws.dir.join("out")).into_iter().map(|(path, (mode, _))| (path, mode)).collect();
    assert_eq!(modes, expected);
    insta::assert_snapshot!(ws.run(&["export", "out"]), @"
    [stderr]
    error: `out` is not empty
    hint: export to a new or an empty directory
    [exit 1]
    ");
    assert!(!ws.dir.join("result").exists(), "export leaves `result` alone");
    ws.write("recipes/20-demo/bad.toml", "builder = 'template'\n[files]\n'a' = 'a.j2'\n");
    ws.write("recipes/20-demo/a.j2", "{{ nothing }}\n");
    insta::assert_snapshot!(ws.run(&["export", "bad", "demo/bad", "-q"]), @"
    [stderr]
    error: `demo/bad` cannot be built (recipes/20-demo/bad.toml)
    caused by: recipes/20-demo/a.j2:1: undefined value: `nothing` is undefined
    [exit 1]
    ");
    assert!(!ws.dir.join("bad").exists());
    insta::assert_snapshot!(ws.run(&["export", "other", "infra"]), @"
    [stderr]
    error: `infra` is a folder of 11 derivations
    hint: export one, for example `cluster`
    [exit 2]
    ");
}

/// Every check is listed with its rule and what breaks without it.
#[test]
fn checks() {
    let ws = Workspace::example().prebuilt();
    insta::assert_snapshot!("checks", ws.run(&["check", "--list"]));
    assert_eq!(ws.run(&["check", "-q"]), "[exit 0]\n");
    insta::assert_snapshot!(ws.run(&["check"]), @"
            CHECK                         RULE
    passed  addresses                     VIPs and node IPs are inside machineNetwork, distinct, not the gateway, outside the DHCP range
    passed  admin-group                   the admin client certificate has O=system:masters
    passed  admission-crds                the release has the CRDs that admission on the bootstrap node asks for: RoleBindingRestrictions, ClusterResourceQuotas, SecurityContextConstraints and RangeAllocations
    passed  apiserver-sans                the API server certificate names localhost, the loopback, bootstrap and master addresses, the API VIPs, api. and api-int. of the domain, kubernetes[.default[.svc[.cluster.local]]] and the first service addresses
    passed  apiserver-url-env             masters have /etc/kubernetes/apiserver-url.env, with the API's address in it
    passed  audit-log                     the API server of the bootstrap node has an audit policy, and writes its audit log to the node, for root alone
    passed  bootkube-path                 bootkube.sh is in /usr/local/bin, can be executed, and is what bootkube.service starts
    passed  bootstrap-complete            bootkube creates ConfigMap kube-system/bootstrap with `status: complete`
    passed  bootstrap-kubelet-standalone  the bootstrap kubelet has neither `--kubeconfig` nor `--bootstrap-kubeconfig`; it only runs static pods
    passed  bootstrapper-rbac             Group system:bootstrappers is bound to ClusterRole system:node-bootstrapper, and to nothing that makes the controller manager approve its requests
    passed  ca-path-length                kubernetes-ca leaves room for kubelet-ca below it, no authority has more below it than it allows, and bundles hold the chain up to the root
    passed  cel-bounds                    lists, maps and strings that a CRD's CEL rules go over have a bound: maxItems, maxProperties, maxLength (a warning)
    passed  cluster-config-v1             ConfigMap kube-system/cluster-config-v1 holds the install-config, without the pull secret
    passed  clusterversion-no-update      ClusterVersion has no `desiredUpdate`
    passed  core-types                    every object of Kubernetes itself fits its type, and every other one has a CRD
    passed  crd-schema                    every custom resource fits the schema that its CRD has in this release
    passed  crds-before-cvo               every custom resource of ours and the CVO's own two have their CRD in this release, each in exactly one variant
    passed  cvo-flags                     the cluster-version operator has `--listen=` (empty), env CLUSTER_PROFILE=self-managed-high-availability (single node too), and is privileged
    passed  cvo-image                     the CVO container runs the RELEASE image, not the cluster-version-operator image
    passed  cvo-overrides                 ClusterVersion's overrides make every config.openshift.io object `cluster` of ours unmanaged until bootkube takes them off
    passed  cvo-static-pod                on bootstrap, the cluster-version operator is a static pod
    passed  dns-base-domain               DNS `cluster` has the cluster domain as its baseDomain, as the installer writes it
    passed  duplicate-path                no path twice, no path below a file or link, no file where a unit is written
    passed  etcd-endpoints                ConfigMap openshift-etcd/etcd-endpoints names the bootstrap address in annotation alpha.installer.openshift.io/etcd-bootstrap
    passed  etcd-server-usage             the etcd server and peer certificates carry serverAuth AND clientAuth
    passed  families                      machine, cluster and service networks have the same IP families; nodes and gateways have one address of each
    passed  featuregate                   a FeatureGate `cluster` exists before the CVO starts, with its status for exactly this version
    passed  flag-files-exist              every file a static pod's flag names is mounted, and is a file that this node's Ignition writes; so is all that it mounts
    passed  front-proxy-names             the CN of the front-proxy client certificate is in `--requestheader-allowed-names`
    passed  hand-over-objects             every object that an operator takes over is among the manifests, and holds what the operator reads
    passed  hand-over-trust               what nodes, kubeconfigs and static pods show is signed by an authority that the hand-over puts where its verifier will look after the pivot
    passed  haproxy-tcp-checks            HAProxy uses TCP checks only, in TCP mode
    passed  ignition-modes                every file and directory has a mode, at most 07777, that lets its owner in and nobody else write
    passed  ignition-paths                every path is absolute and in its shortest form; no device, link or file lies outside of it
    passed  ignition-pinned               whatever a config fetches from elsewhere has a `verification` hash
    passed  ignition-size                 a node's config is at most 16 MiB
    passed  ignition-spec                 every node's config is one by its own spec version: known keys, known shapes, contents that can be read
    passed  image-not-empty               no image reference is empty, none is by tag
    passed  infrastructure-status         Infrastructure `.status` has controlPlaneTopology, infrastructureTopology, platformStatus, apiServerURL, apiServerInternalURI and infrastructureName, and bootkube writes it through the status subresource
    passed  kube-proxy                    masters have the kube-proxy static pod, from the release's own kube-proxy image, privileged, as user system:kube-proxy, which the API server binds to system:node-proxier
    passed  kube-proxy-cleanup            masters have an enabled unit that removes kube-proxy's pod, rules and kubeconfig once OVN serves the service networks
    passed  kubeadmin-length              the kubeadmin password has at least 23 characters
    passed  kubelet-access                User system:kube-apiserver is bound to ClusterRole system:kubelet-api-admin
    passed  kubelet-ca                    masters and workers have /etc/kubernetes/kubelet-ca.crt
    passed  machine-config-ignition       the Ignition in MachineConfigs has a spec version that this release's MCO reads, and modes for all files and directories
    passed  machine-config-pool           a pool takes every MachineConfig; every KubeletConfig and ContainerRuntimeConfig selects a pool
    passed  machine-size                  bootstrap and masters have at least 4 CPUs, 16 GiB of memory and a disk of 100 GB; workers 2 CPUs, 8 GiB and 100 GB
    passed  manifest-parses               every manifest is valid YAML with apiVersion, kind and metadata.name
    passed  master-label                  the masters' kubelets register with the label node-role.kubernetes.io/master; control-plane alone is not enough
    passed  mounts-exist                  ConfigMaps and Secrets that pods use are among the manifests; static pods use none
    passed  namespaces-first              what is in a namespace comes after the Namespace, in the order of file names
    passed  network-cidrs                 every CIDR of both Networks is an address with a prefix, and no address inside of that
    passed  network-status                config.openshift.io/v1 Network has a service network in its spec, and the same in its status
    passed  networks-disjoint             machine, cluster and service networks do not overlap; hostPrefix fits and leaves room for every node
    passed  node-credentials              every node joins with a client certificate and a key of its own: CN=system:bootstrapper:<its name>, O=system:bootstrappers, valid for at most 14 days
    passed  node-network                  a node with a networkConfig has its `ip` on an interface, a default route and a DNS server, or DHCP that brings them
    passed  openshift-config              the API server has `--openshift-config`, SecurityContextConstraint among its plug-ins and SystemMasters among its authorization modes; the file has the service network of Network `cluster`, and no flag says what the file overrules
    passed  operator-network              both config.openshift.io/v1 Network and operator.openshift.io/v1 Network exist, with equal CIDRs
    passed  pause-image                   CRI-O's pause image is the release's `pod` image, with the pull secret as its auth file
    passed  pool-nodes                    every MachineConfigPool among the manifests selects a node by the labels that nodes boot with
    passed  pull-specs                    every image is named by its registry and repository: a container runtime knows no layouts and no short names
    passed  rbac-subjects                 users and groups of Kubernetes' own (`system:…`) that bindings name are those of a certificate, or built in
    passed  render-drift                  every MachineConfig that went into the render is applied to the API, and every one that is applied went in; what the payload has for the render went in unchanged
    passed  replicas                      the nodes listed agree with controlPlane.replicas and compute[].replicas
    passed  scc-before-pivot              cluster-policy-controller runs on the bootstrap node, with its roles and their namespace; the ten standard SecurityContextConstraints are among the manifests
    passed  secrets-readable              no secret in a file that everyone on the node can read, but for the five that the Machine Config Server writes in the same way
    passed  service-ip                    the first address of every service network is in the API server's certificate
    passed  signer-present                the controller manager's cluster-signing certificate and key exist and match
    passed  signers-rsa                   authorities handed to operators are RSA, with their key, and with annotations that say what the certificate says: not-before, not-after and issuer; etcd's is signed by itself
    passed  strict-apply                  bootkube applies and replaces with `--validate=strict`: oc defaults to ignore
    passed  systemd-units                 units are of a kind that systemd has, parse, and have only sections of their kind; one that is enabled has [Install] too
    cel-bounds: warning: 4 fields of the release's CRDs, which `--json` lists; the first: 0000_10_config-operator_01_infrastructures-Default.crd.yaml: v1 spec.platformSpec.baremetal.apiServerInternalIPs[]: no `maxLength`, and the rule `size(self) == 2 && isIP(self[0]) && isIP(self[1]) ? ip(self[…` goes over it
    71 checks: 71 passed, 4 warnings
    [stderr]
    warning: install-config.yaml has no sshKey: nobody can log in to a node, and `realize ssh`, `logs` and `gather` cannot reach one
    [exit 0]
    ");
}

/// `--events` writes one JSON object a line, and the same names as `--json`.
#[test]
fn events() {
    let ws = Workspace::example();
    let document = ws.json(&["build", "--events", "events.jsonl"]);
    let text = fs::read_to_string(ws.dir.join("events.jsonl")).unwrap();
    let events: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let built: Vec<&str> = events
        .iter()
        .filter(|event| event["event"] == "built")
        .map(|event| event["name"].as_str().unwrap())
        .collect();
    assert_eq!(built, names(&document["built"]));
    assert!(events.iter().any(|event| event["event"] == "planned"));
}

/// Every shell can be made to ask for completions, and the schema knows the fields.
#[test]
fn completions_and_schema() {
    let ws = Workspace::empty();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = ws.output(&["completions", shell]);
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(
            output.status.success() && text.contains("COMPLETE") && text.contains("tinderbox"),
            "{shell}: {text}"
        );
    }
    let schema = ws.json(&["schema"]);
    for field in ["release", "vips", "network", "nodes", "libvirt", "pki"] {
        assert!(schema["properties"][field].is_object(), "{field}");
    }
}

/// The store is found without `--store`: the nearest one above the directory, else the user's data directory.
#[test]
fn the_store_is_found() {
    let ws = Workspace::example();
    let run = |ws: &Workspace| {
        let output =
            ws.command(&["build", "infra/pool", "-q"]).env_remove("TINDERBOX_STORE").output().unwrap();
        ws.text(&output)
    };
    insta::assert_snapshot!(run(&ws), @"
    [TEMP]/.local/share/tinderbox/store/[ID]-infra-pool
    [exit 0]
    ");
    ws.build(&["infra/pool"]); // makes the one beside the directory
    insta::assert_snapshot!(run(&ws), @"
    [STORE]/[ID]-infra-pool
    [exit 0]
    ");
}

/// What others write does not colour, move or retitle a terminal; into a pipe it goes as it is.
#[test]
fn on_a_terminal_foreign_text_controls_nothing() {
    let ws = Workspace::with(&[
        ("recipes/20-demo/loud.toml", "builder = 'template'\n[files]\n'loud' = 'loud.j2'\n"),
        ("recipes/20-demo/loud.j2", "\x1b[31mred\x1b]0;title\x07\u{9b}2J\u{202e}end\n"),
    ]);
    ws.build(&["demo/loud"]);
    let piped = ws.output(&["show", "demo/loud"]);
    assert!(piped.stdout.starts_with(b"\x1b[31mred\x1b]0;title\x07"), "{piped:?}");
    let loud = "demo/\x1b[31mx\x1b]0;t\x07";
    for (command, expected) in [
        ("show demo/loud", "\\u{1b}[31mred\\u{1b}]0;title\\u{7}\\u{9b}2J\\u{202e}end"),
        ("show \"$L\"", "demo/\\u{1b}[31mx\\u{1b}]0;t\\u{7}"),
        ("show \"$L\" --json", "demo/\\u{1b}[31mx\\u{1b}]0;t\\u{7}"),
    ] {
        let line = format!("\"$T\" --store \"$S\" {command}");
        let mut program = ws.command_of(Path::new("script"), &["-qec", &line, "/dev/null"]);
        program.env_remove("NO_COLOR").env("TERM", "xterm");
        program.env("T", env!("CARGO_BIN_EXE_tinderbox")).env("S", &ws.store).env("L", loud);
        let Ok(output) = program.output() else {
            return left_out("a terminal", "script, of Debian's bsdutils");
        };
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.contains(expected), "{command}: {text:?}");
        // Our own colours are there, and no other sequence.
        let ours = text.replace("\x1b[31;1m", "").replace("\x1b[36m", "").replace("\x1b[0m", "");
        assert!(!ours.contains(['\x1b', '\x07', '\u{9b}', '\u{202e}']), "{command}: {ours:?}");
        assert!(command == "show demo/loud" || text.contains("\x1b[31;1merror:\x1b[0m"), "{text:?}");
    }
}

/// Folders of a cluster directory are folders, and what they link to is public.
/// Files with holes take no space in a directory that somebody else made, and all of it in memory: no file, and no folder, is
/// read further than a budget.
#[test]
fn files_of_a_directory_have_an_end() {
    let hole = |ws: &Workspace, path: &str, megabytes: u64| {
        ws.write(path, "# a\n");
        fs::OpenOptions::new().write(true).open(ws.dir.join(path)).unwrap().set_len(megabytes << 20).unwrap();
    };
    for (paths, megabytes) in [
        (&["cluster.yaml"][..], 1 << 20),
        (&["install-config.yaml"], 300),
        (&["cluster.lock"], 300),
        (&["manifests/a.yaml"], 300),
        (&["manifests/a.yaml", "manifests/b.yaml"], 150),
        (&["patches/a.yaml"], 300),
        (&["recipes/10-release/a.j2", "recipes/20-identity/b.j2"], 150),
    ] {
        let ws = Workspace::example();
        paths.iter().for_each(|path| hole(&ws, path, megabytes));
        let said = ws.run(&["build", "infra/pool"]);
        let last = paths.last().unwrap();
        assert!(
            said.contains("bytes to read") && said.contains(last) && said.contains("[exit 1]"),
            "{said:.2000}"
        );
    }
}

#[test]
fn folders_that_lead_elsewhere_are_refused() {
    for folder in ["recipes", "manifests", "patches"] {
        let ws = Workspace::example();
        let elsewhere = ws.temp().join("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        fs::write(elsewhere.join("x.yaml"), "apiVersion: v1\nkind: ConfigMap\n").unwrap();
        std::os::unix::fs::symlink(&elsewhere, ws.dir.join(folder)).unwrap();
        let said = ws.run(&["build", "infra/pool"]);
        assert!(
            said.contains("folders of a cluster directory are not followed elsewhere"),
            "{folder}: {said}"
        );
        assert!(said.ends_with("[exit 1]\n"), "{said}");
        fs::remove_file(ws.dir.join(folder)).unwrap();
        ws.write(folder, "a file");
        assert!(ws.run(&["build", "infra/pool"]).contains("it is not a folder"), "{folder}");
    }
    let ws = Workspace::example();
    ws.write("private.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, namespace: y}\n");
    crate::harness::set_mode(&ws.dir.join("private.yaml"), 0o600);
    for folder in ["manifests", "patches"] {
        fs::create_dir(ws.dir.join(folder)).unwrap();
        std::os::unix::fs::symlink("../private.yaml", ws.dir.join(folder).join("x.yaml")).unwrap();
        let said = ws.run(&["build", "infra/pool"]);
        assert!(said.contains("a link to a file that not everybody may read"), "{folder}: {said}");
        fs::remove_file(ws.dir.join(folder).join("x.yaml")).unwrap();
    }
    fs::create_dir_all(ws.dir.join("recipes/20-demo")).unwrap();
    std::os::unix::fs::symlink("../../private.yaml", ws.dir.join("recipes/20-demo/x.yaml")).unwrap();
    let said = ws.run(&["build", "infra/pool"]);
    assert!(said.contains("recipes/20-demo/x.yaml: it is a link to a file that not everybody"), "{said}");
}

/// A line break in a name or value that somebody else chose begins no message of ours: not in an error, a hint, a
/// document of problems or a table.
#[test]
fn foreign_line_breaks_begin_no_message() {
    let forged = "forged line";
    let check = |said: &str| {
        assert!(said.contains(forged), "it is quoted: {said}");
        assert!(!said.lines().any(|line| line.starts_with(forged)), "{said}");
    };
    // The key of a map, and a name on the command line.
    let ws = Workspace::example();
    ws.edit("cluster.yaml", "vips:", "\"x\\nforged line\": 1\nvips:");
    let said = ws.run(&["build", "infra/pool"]);
    check(&said);
    assert!(said.contains("x\\nforged line"), "a problem is a line, and its hint another: {said}");
    let ws = Workspace::example();
    check(&ws.run(&["show", "demo/x\nforged line"]));
    // A recipe names its builder, its input and its program.
    for recipe in [
        "builder = \"x\\nforged line\"\n",
        "builder = 'template'\ninputs.x = \"pki/x\\nforged line\"\n[files]\n'loud' = 'loud.j2'\n",
    ] {
        let ws =
            Workspace::with(&[("recipes/20-demo/loud.toml", recipe), ("recipes/20-demo/loud.j2", "x\n")]);
        check(&ws.run(&["build", "demo/loud"]));
    }
    // A template that stops with a text of its own: an error of a build, not of the files.
    let ws = Workspace::with(&[
        ("recipes/20-demo/loud.toml", "builder = 'template'\n[files]\n'loud' = 'loud.j2'\n"),
        (
            "recipes/20-demo/loud.j2",
            "{{ \"x\\nforged line\" | nonsense }}\n{{ {\"a\": 1}[\"x\\nforged line\"].y }}\n",
        ),
    ]);
    let said = ws.run(&["build", "demo/loud"]);
    assert!(!said.lines().any(|line| line.starts_with(forged)), "{said}");
}

/// On a terminal the progress view is gone before the answer is printed, and never takes the answer with it.
#[test]
fn on_a_terminal_the_answer_stays() {
    let ws = Workspace::example();
    let mut command =
        ws.command_of(Path::new("script"), &["-qec", "\"$T\" --store \"$S\" build", "/dev/null"]);
    command.env("T", env!("CARGO_BIN_EXE_tinderbox")).env("S", &ws.store);
    let Ok(output) = command.output() else {
        return left_out("a terminal", "script, of Debian's bsdutils");
    };
    let text = String::from_utf8_lossy(&output.stdout).replace('\r', "");
    assert!(output.status.success(), "{text}");
    // Nothing is cleared after the path and the verdict, which are the last thing on the screen.
    let (_, shown) = text.rsplit_once("\x1b[2K").unwrap_or(("", &text));
    insta::assert_snapshot!(without_durations(&ws.filter(shown)), @"
    [STORE]/[ID]-cluster
    [N] built in [TIME]; generation 1
    next:
      tinderbox report --open  what was built, as a page
      tinderbox realize plan   what would be made or booted
    ");
    // The next build says what it changed for whom.
    ws.edit("cluster.yaml", "ip: 192.168.126.110", "ip: 192.168.126.112");
    let text = ws.run(&["build", "-v"]);
    let (_, verdict) = text.split_once("cached static-pod/kube-scheduler\n").unwrap();
    insta::assert_snapshot!(without_durations(verdict), @"
    [N] built, [N] already in the store in [TIME]; generation 2
    changed since generation 1:
      worker-0  ignition, infra
      shared    3 of infra
    next:
      tinderbox diff          what changed, and why
      tinderbox realize plan  what that means for the machines
    [exit 0]
    ");
}

/// A recipe of the directory's own may say what a live ISO is like: it is no reason to run out of memory.
#[test]
fn areas_that_no_image_has_are_refused() {
    let area = |size: &str| {
        format!(
            r#"{{"sha256": "x", "size": 1000, "initrd": {{"offset": 0, "size": 100000000}}, "arguments": "", "areas": [{{"place": {{"offset": 8, "size": {size}}}, "pad": 35, "end": 10}}]}}"#
        )
    };
    let areas = "builder = 'template'\n[files]\n'areas.json' = 'areas.j2'\n'node.ign' = 'node.j2'\n";
    let patch = "builder = 'iso-patch'\nfor_each = 'nodes'\nname = '{node}'\n[inputs]\nareas = 'demo/areas:areas.json'\nignition = 'demo/areas:node.ign'\n[config]\ndevice = 'node.installDevice'\n[files]\n'apply.sh' = 'apply.j2'\n[params]\nbytes = 'bytes'\n";
    let ws = Workspace::with(&[
        ("recipes/20-demo/areas.toml", areas),
        ("recipes/20-demo/areas.j2", &area("9223372036854775807")),
        ("recipes/20-demo/node.j2", "{}\n"),
        ("recipes/21-demo-patch/patch.toml", patch),
        ("recipes/21-demo-patch/apply.j2", "{{ bytes }}\n"),
    ]);
    for size in ["9223372036854775807", "1099511627776", "993"] {
        ws.write("recipes/20-demo/areas.j2", &area(size));
        let said = ws.run(&["build", "demo-patch/master-0"]);
        assert!(said.contains("no image has such areas") && said.ends_with("[exit 1]\n"), "{size}: {said}");
    }
}

/// A template that loops without end, or says something without end, is an error with its line.
#[test]
fn templates_have_an_end() {
    let ws = Workspace::with(&[("recipes/20-demo/x.toml", "builder = 'template'\n[files]\n'x' = 'x.j2'\n")]);
    let both = |inner: &str| {
        format!(
            "{{% for a in range(100000) %}}{{% for b in range(100000) %}}{inner}{{% endfor %}}{{% endfor %}}\n"
        )
    };
    for (inner, problem) in
        [("", "it takes more than 10000000 steps"), (&*"x".repeat(1 << 16), "its text has more than 64 MiB")]
    {
        ws.write("recipes/20-demo/x.j2", &both(inner));
        let said = ws.run(&["build", "demo/x"]);
        assert!(
            said.contains("x.j2:1: ") && said.contains(problem) && said.ends_with("[exit 1]\n"),
            "{said}"
        );
    }
    for inner in [
        "'x' | indent(99999999999)",
        "'x' | indent(width=99999999999)",
        "'%99999999999d' | format(1)",
        "'%*d' | format(99999999999, 1)",
        "('a,' * 100000) | replace('a', 'b' * 90000)",
        "range(100000) | join('b' * 90000)",
        "range(9) | slice(99999999999) | list",
        "range(9) | batch(99999999999, 'x') | list",
        "[[1]] | yaml(99999999999)",
    ] {
        ws.write("recipes/20-demo/x.j2", &format!("{{{{ {inner} }}}}\n"));
        let said = ws.run(&["build", "demo/x"]);
        let is_said = said.contains("is more than 10000") || said.contains("its text is too long");
        assert!(said.contains("x.j2:1: ") && is_said && said.ends_with("[exit 1]\n"), "{inner}: {said}");
    }
}
