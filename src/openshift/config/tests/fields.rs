//! The tree that recipes see, and its projections.

use super::*;
use crate::base::hint::Hint;
use crate::engine::fields::{Field, Origins, Projection, Read};

#[test]
fn what_is_accepted_reaches_the_model() {
    let cluster = edited(&[
        (
            "release: demo:4.18",
            "release: demo:4.18\narchitecture: arm64\nchannel: stable-4.18\n\
             libvirt: {uri: 'qemu+ssh://host/system', pool: p, path: /srv/p, network: net, bridge: br0, domainType: qemu}\n\
             pki: {keyAlgorithm: rsa-3072, authorityKeyAlgorithm: rsa-4096, validity: {authorities: 5y, leaves: 30d}, \
             authorities: {root-ca: {certificate: root.crt, key: root.key}}}\nrhcos: {iso: live.iso, qcow2: disk.qcow2}",
        ),
        ("ip: 192.168.126.110", "ip: 192.168.126.110, mac: '52:54:00:AA:00:01', vcpus: 8, memory: 32GiB, disk: 1TB, installDevice: /dev/sda"),
        (
            "platform:\n",
            "proxy: {httpProxy: 'http://proxy:3128', noProxy: .example.com}\nfips: on\nfeatureSet: CustomNoUpgrade\n\
             featureGates: [Some=true]\ncpuPartitioningMode: AllNodes\nadditionalTrustBundlePolicy: Always\n\
             capabilities: {baselineCapabilitySet: None, additionalEnabledCapabilities: [Ingress]}\n\
             imageDigestSources:\n- {source: quay.io/a, mirrors: ['m:5000/a'], sourcePolicy: NeverContactSource}\nplatform:\n",
        ),
    ])
    .unwrap_or_else(|problems| panic!("{problems}"));
    let paths = [
        "architecture",
        "channel",
        "libvirt",
        "pki",
        "rhcos",
        "proxy",
        "fips",
        "featureSet",
        "featureGates",
        "cpuPartitioning",
        "trustBundle",
        "capabilities",
        "mirrors",
        "nodes.worker-0.{mac,vcpus,memoryMiB,diskGB,installDevice}",
        "installConfig.fips",
    ];
    insta::assert_snapshot!(paths.map(|path| format!("{path} {}\n", value(&cluster, path))).concat(), @r#"
    architecture "arm64"
    channel "stable-4.18"
    libvirt {"bridge":"br0","domainType":"qemu","network":"net","path":"/srv/p","pool":"p","uri":"qemu+ssh://host/system"}
    pki {"authorities":{"root-ca":{"certificate":"root.crt","key":"root.key"}},"authorityKeyAlgorithm":"rsa-4096","keyAlgorithm":"rsa-3072","validity":{"authorityHours":43800,"leafHours":720}}
    rhcos {"initramfs":null,"iso":"live.iso","kernel":null,"mirror":null,"qcow2":"disk.qcow2","rootfs":null}
    proxy {"exceptions":".cluster.local,.example.com,.svc,10.128.0.0/14,127.0.0.1,172.30.0.0/16,192.168.126.0/24,api-int.ocp4.example.com,localhost","httpProxy":"http://proxy:3128","httpsProxy":null,"noProxy":".example.com"}
    fips true
    featureSet "CustomNoUpgrade"
    featureGates ["Some=true"]
    cpuPartitioning "AllNodes"
    trustBundle {"certificates":null,"policy":"Always"}
    capabilities {"additionalEnabledCapabilities":["Ingress"],"baselineCapabilitySet":"None"}
    mirrors [{"mirrors":["m:5000/a"],"source":"quay.io/a","sourcePolicy":"NeverContactSource"}]
    nodes.worker-0.{mac,vcpus,memoryMiB,diskGB,installDevice} {"diskGB":1000,"installDevice":"/dev/sda","mac":"52:54:00:aa:00:01","memoryMiB":32768,"vcpus":8}
    installConfig.fips true
    "#);
}

#[test]
fn projections_read_exactly_their_leaves() {
    let fields = example().fields();
    let show = |path: &str| match fields.project(path) {
        Ok(Projection { value, reads }) => {
            let value = match value {
                Projected::Plain(value) => value.to_string(),
                Projected::Secret(secret) => format!("{secret:?}"),
            };
            let mut text = format!("{path} = {value}\n");
            for Read { path, origins } in reads {
                let origins: Vec<String> = origins.iter().map(ToString::to_string).collect();
                writeln!(text, "  {path} <- {}", origins.join(", ")).unwrap();
            }
            text
        }
        Err(error) => format!("{error}\n  hint: {}\n", error.hint().unwrap_or_default()),
    };
    let paths = [
        "cluster.domain",
        "workers.*.ip",
        "nodes.*.{name,role}",
        "masters.1.{ip,etcdName}",
        "bootstrap.addresses",
        "nodes.worker-0.vcpus",
        "pullSecret",
        "platform.{name,type}",
        "sshKeys",
        "installConfig.compute",
        "networks.{type,machine}",
        "cluster.domian",
        "nodes.worker-7.ip",
        "cluster.*",
        "nodes..ip",
        "nodes.*.{name",
        "clusters",
        "release.x",
    ];
    insta::assert_snapshot!(paths.map(show).concat(), @r#"
    cluster.domain = "ocp4.example.com"
      cluster.domain <- install-config.yaml:8: metadata.name, install-config.yaml:9: baseDomain
    workers.*.ip = ["192.168.126.110","192.168.126.111"]
      nodes.worker-0.ip <- cluster.yaml:30: nodes.worker-0.ip
      nodes.worker-1.ip <- cluster.yaml:31: nodes.worker-1.ip
    nodes.*.{name,role} = [{"name":"bootstrap","role":"bootstrap"},{"name":"master-0","role":"master"},{"name":"master-1","role":"master"},{"name":"master-2","role":"master"},{"name":"worker-0","role":"worker"},{"name":"worker-1","role":"worker"}]
      nodes.bootstrap.name <- cluster.yaml:26: nodes.bootstrap.name
      nodes.bootstrap.role <- cluster.yaml:26: nodes.bootstrap.role
      nodes.master-0.name <- cluster.yaml:27: nodes.master-0.name
      nodes.master-0.role <- cluster.yaml:27: nodes.master-0.role
      nodes.master-1.name <- cluster.yaml:28: nodes.master-1.name
      nodes.master-1.role <- cluster.yaml:28: nodes.master-1.role
      nodes.master-2.name <- cluster.yaml:29: nodes.master-2.name
      nodes.master-2.role <- cluster.yaml:29: nodes.master-2.role
      nodes.worker-0.name <- cluster.yaml:30: nodes.worker-0.name
      nodes.worker-0.role <- cluster.yaml:30: nodes.worker-0.role
      nodes.worker-1.name <- cluster.yaml:31: nodes.worker-1.name
      nodes.worker-1.role <- cluster.yaml:31: nodes.worker-1.role
    masters.1.{ip,etcdName} = {"etcdName":"etcd-1","ip":"192.168.126.102"}
      nodes.master-1.ip <- cluster.yaml:28: nodes.master-1.ip
      nodes.master-1.etcdName <- cluster.yaml:28: nodes.master-1.role
    bootstrap.addresses = [{"family":"ipv4","gateway":"192.168.126.1","ip":"192.168.126.100","prefix":24}]
      nodes.bootstrap.addresses.0.family <- cluster.yaml:26: nodes.bootstrap.ip
      nodes.bootstrap.addresses.0.gateway <- cluster.yaml:15: network.gateway
      nodes.bootstrap.addresses.0.ip <- cluster.yaml:26: nodes.bootstrap.ip
      nodes.bootstrap.addresses.0.prefix <- install-config.yaml:24: networking.machineNetwork
    nodes.worker-0.vcpus = 4
      nodes.worker-0.vcpus <- cluster.yaml: nodes.worker-0.vcpus
    pullSecret = (secret)
      pullSecret <- install-config.yaml:40: pullSecret
    platform.{name,type} = {"name":"none","type":"None"}
      platform.name <- install-config.yaml:36: platform.none
      platform.type <- install-config.yaml:36: platform.none
    sshKeys = []
      sshKeys <- install-config.yaml: sshKey
    installConfig.compute = [{"name":"worker","replicas":2}]
      installConfig.compute.worker.name <- install-config.yaml:17: compute.worker.name
      installConfig.compute.worker.replicas <- install-config.yaml:18: compute.worker.replicas
    networks.{type,machine} = {"machine":["192.168.126.0/24"],"type":"OVNKubernetes"}
      networks.type <- install-config.yaml:22: networking.networkType
      networks.machine.0 <- install-config.yaml:25: networking.machineNetwork.0.cidr
    `cluster.domian`: `cluster` has no `domian`
      hint: did you mean `domain`?
    `nodes.worker-7.ip`: `nodes` has no `worker-7`
      hint: did you mean `worker-0`?
    `cluster.*`: `cluster` is not a list
      hint: `*` stands for every element of a list
    `nodes..ip` is not a field path: between two dots there must be a name or `*`
      hint: for example `cluster.domain`, `workers.*.ip` or `nodes.*.{name,ip}`
    `nodes.*.{name` is not a field path: `{…}` is not closed, or not at the end
      hint: for example `cluster.domain`, `workers.*.ip` or `nodes.*.{name,ip}`
    `clusters`: the cluster has no `clusters`
      hint: did you mean `cluster`?
    `release.x`: `release` has no `x`
      hint: `release` is a single value
    "#);
}

#[test]
fn a_secret_among_plain_values_must_be_named_alone() {
    let fields = example().fields();
    let secret = fields.project("pullSecret").unwrap();
    let Projected::Secret(value) = secret.value else { panic!("plain") };
    let origins: Origins = std::sync::Arc::from([]);
    let fields = fields.with(
        "lock",
        Field::map([
            ("epoch", Field::leaf("now", origins.clone())),
            ("token", Field::Secret { value, origins }),
        ]),
    );
    let error = fields.project("lock").unwrap_err();
    assert_eq!(error.to_string(), "`lock` mixes the secret `lock.token` with plain values");
    assert_eq!(fields.project("lock.epoch").unwrap().reads[0].path, "lock.epoch");
}

#[test]
fn recipes_are_made_for_lists_whose_elements_have_names() {
    let fields = example().fields();
    assert_eq!(fields.elements("workers").unwrap(), ["worker-0", "worker-1"]);
    assert_eq!(fields.elements("bootstrap").unwrap(), ["bootstrap"]);
    assert_eq!(fields.elements("cluster"), None, "a map, and not an element of a list");
    assert_eq!(fields.elements("networks"), None);
    assert_eq!(fields.lists(), ["bootstrap", "joining", "masters", "nodes", "workers"]);
}

#[test]
fn every_leaf_has_an_origin_and_can_be_projected() {
    let fields = example().fields();
    let mut count = 0;
    for (path, origins) in fields.leaves() {
        count += 1;
        assert!(!origins.is_empty(), "{path}");
        let projection = fields.project(&path).unwrap();
        assert_eq!(projection.reads.len(), 1, "{path}");
        assert_eq!(projection.reads[0].path, path);
    }
    assert!(count > 120, "{count}");
    assert!(
        !fields
            .leaves()
            .any(|(path, _)| path.contains("installConfig.pullSecret") || path.starts_with("workers"))
    );
}

#[test]
fn every_path_exists_in_the_smallest_cluster() {
    let fields = lab(1, 0, &["fd00:1::/64"]).fields();
    for path in [
        "cluster.{name,baseDomain,domain,appsDomain,controlPlaneTopology,infrastructureTopology,mastersSchedulable}",
        "cluster.{masters,workers}",
        "api.{url,internalUrl,vip,vips}",
        "ingress.{vip,vips}",
        "networks.{type,machine,cluster,service,internalJoinSubnet}",
        "networks.cluster.*.{cidr,hostPrefix}",
        "service.{kubernetes,dns}",
        "network.{gateways,dns,dhcp}",
        "network.dhcp.{start,end}",
        "nodes.*.{name,role,fqdn,index,etcdName,ip,ips,addresses,mac,vcpus,memoryMiB,diskGB,installDevice}",
        "nodes.*.addresses.*.{ip,prefix,gateway,family}",
        "masters.*.name",
        "workers.*.name",
        "bootstrap.ip",
        "network.loopbacks",
        "proxy.{httpProxy,httpsProxy,noProxy,exceptions}",
        "trustBundle.{certificates,policy}",
        "mirrors.*.{source,mirrors,sourcePolicy}",
        "platform.{name,type,loadBalancer,platformName,cloudControllerManager}",
        "sshKeys",
        "fips",
        "publish",
        "featureSet",
        "featureGates",
        "cpuPartitioning",
        "capabilities.{baselineCapabilitySet,additionalEnabledCapabilities}",
        "installConfig",
        "pullSecret",
        "release",
        "architecture",
        "channel",
        "libvirt.{uri,pool,network,bridge,domainType}",
        "rhcos.{iso,qcow2,kernel,initramfs,rootfs,mirror}",
        "pki.{keyAlgorithm,authorityKeyAlgorithm,validity,authorities}",
        "pki.validity.{authorityHours,leafHours}",
        "checks.disabled",
    ] {
        let projection = fields.project(path).unwrap_or_else(|error| panic!("{error}"));
        assert!(!projection.reads.is_empty() || path.starts_with("pki"), "{path}");
    }
}

#[test]
fn a_thousand_nodes() {
    let cluster = lab(3, 1000, &["10.1.0.0/16"]);
    let fields = cluster.fields();
    let nodes = fields.elements("nodes").unwrap();
    assert_eq!(nodes.len(), 1004);
    for path in nodes.iter().map(|name| format!("nodes.{name}")) {
        for leaf in ["ip", "fqdn", "mac", "addresses", "name"] {
            assert!(fields.project(&format!("{path}.{leaf}")).unwrap().reads[0].path.starts_with(&path));
        }
    }
}
