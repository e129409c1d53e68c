//! Sessions that end with an error.

use crate::harness::Workspace;

/// A target that is not there is answered with the one that was probably meant.
#[test]
fn unknown_target() {
    let ws = Workspace::example();
    insta::assert_snapshot!(ws.run(&["build", "infra/haprox"]), @"
    [stderr]
    error: there is no derivation `infra/haprox`
    hint: did you mean `infra/haproxy`?
    [exit 2]
    ");
    insta::assert_snapshot!(ws.run(&["build", "manifests"]), @"
    [stderr]
    error: there is no derivation `manifests`
    hint: did you mean `manifest`?
    [exit 2]
    ");
    insta::assert_snapshot!(ws.run(&["why", "nothing-like-it"]), @"
    [stderr]
    error: there is no derivation `nothing-like-it`
    hint: `tinderbox targets` lists all derivations
    [exit 2]
    ");
}

/// Wrong usage exits with 2, and nothing is touched.
#[test]
fn usage_errors() {
    let ws = Workspace::example();
    let code = |args: &[&str]| ws.output(args).status.code();
    for args in [
        &["bild"][..],
        &["build", "--no-such-flag"],
        &["build", "--jobs", "0"],
        &["build", "--dry-run", "--check"],
        &["build", "-q", "-v"],
        &["store", "gc", "--older-than", "3 moons"],
        &["store", "gc", "--max-size", "10X"],
        &["affects", "no.such.field"],
        &["lock", "--update", "epoch=yesterday"],
        &[],
    ] {
        assert_eq!(code(args), Some(2), "{args:?}");
    }
    assert_eq!(code(&["--help"]), Some(0));
    assert_eq!(code(&["--version"]), Some(0));
    assert!(!ws.store.exists());
    insta::assert_snapshot!(ws.run(&["lock", "--update", "sead"]), @"
    [stderr]
    error: `sead` is not in the lock
    hint: the lock has `epoch`, `release`, `rhcos`, `seed` and `signatures`
    [exit 2]
    ");
}

/// Somewhere else.
#[test]
fn not_a_cluster_directory() {
    let ws = Workspace::empty();
    insta::assert_snapshot!(ws.run(&["build"]), @"
    [stderr]
    error: `[DIR]` is not a cluster directory: it has no install-config.yaml
    hint: `tinderbox init` writes one here; `tinderbox -C DIR …` works on another directory
    [exit 1]
    ");
    insta::assert_snapshot!(ws.run(&["-C", "nowhere", "build"]), @"
    [stderr]
    error: there is no directory `nowhere`
    hint: `tinderbox init nowhere` writes a new cluster directory
    [exit 1]
    ");
    ws.write("install-config.yaml", "{}");
    insta::assert_snapshot!(ws.run(&["generations"]), @"
    [stderr]
    error: `[DIR]` is not a cluster directory: it has no cluster.yaml
    hint: `tinderbox init` writes one here; `tinderbox -C DIR …` works on another directory
    [exit 1]
    ");
    assert!(!ws.store.exists());
}

/// All problems of both files in one go, each with its place.
#[test]
fn many_config_problems_at_once() {
    let ws = Workspace::example();
    ws.edit("install-config.yaml", "baseDomain: example.com", "baseDomian: example.com");
    ws.edit("install-config.yaml", "replicas: 2", "replicas: 5");
    ws.edit("install-config.yaml", "172.30.0.0/16", "10.128.0.0/16");
    ws.edit("install-config.yaml", "none: {}", "aws: {region: x}");
    ws.edit("cluster.yaml", "ip: 192.168.126.101", "ip: 192.168.126.102");
    ws.edit("cluster.yaml", "ingress: 192.168.126.11\n", "ingress: 192.168.126.300\n");
    ws.edit("cluster.yaml", "gateway:", "gatewy:");
    insta::assert_snapshot!(ws.run(&["build"]), @"
    [stderr]
    error: 9 problems:
    cluster.yaml:11: vips.ingress: `192.168.126.300` is not an IP address
      hint: for example: 192.168.126.10
    cluster.yaml:14: network.gateway: required, but missing
      hint: for example: 192.168.126.10
    cluster.yaml:15: network.gatewy: unknown field
      hint: did you mean `gateway`?
    cluster.yaml:28: nodes.master-1.ip: `192.168.126.102` is also the address of `nodes.master-0.ip` [addresses]
      hint: every VIP, node and gateway needs an address of its own
    install-config.yaml:3: baseDomain: required, but missing
      hint: for example: example.com
    install-config.yaml:9: baseDomian: unknown field
      hint: did you mean `baseDomain`?
    install-config.yaml:18: compute.worker.replicas: 5 worker replicas, but cluster.yaml lists 2 [replicas]
      hint: set replicas to 2, or list 5 worker nodes
    install-config.yaml:32: networking.serviceNetwork.0: `10.128.0.0/16` overlaps `10.128.0.0/14` of `networking.clusterNetwork.0` [networks-disjoint]
      hint: choose networks that share no address
    install-config.yaml:36: platform.aws: openshift-install supports this field, but tinderbox does not
      hint: tinderbox builds clusters for the platforms `none: {}`, `baremetal` and `external`
    [exit 1]
    ");
    let output = ws.output(&["build", "--json"]);
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(document["problems"].as_array().unwrap().len() > 4);
}
