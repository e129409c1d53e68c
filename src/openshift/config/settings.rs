//! Step three: inputs without problems become the [`Cluster`]. Every default of a single field is in this file.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::fragment::{Fragment, int, list};
use super::inputs::{At, Inputs, NodeInput};
use super::model::{
    AuthorityFiles, Capabilities, Cluster, FileLines, Libvirt, Mirror, Networks, Node, Pki, Proxy, Rhcos,
    Sources,
};
use super::syntax;
use super::words::{Architecture, CpuPartitioning, DomainType, FeatureSet, Role, SourcePolicy, TrustPolicy};
use crate::base::pki::Algorithm;
use crate::base::value::Value;

/// The cluster; none if something is missing, which is then on record as a problem.
pub(super) fn settle(inputs: &Inputs<'_>) -> Option<Cluster> {
    let (install, cluster) = (inputs.install, inputs.cluster);
    let name = install.text("metadata.name")?.to_owned();
    let gateways = values(&inputs.gateways);
    let dns: Vec<IpAddr> =
        cluster.list("network.dns").iter().filter_map(|dns| dns.as_text()?.parse().ok()).collect();
    Some(Cluster {
        base_domain: install.text("baseDomain")?.trim_end_matches('.').to_owned(),
        networks: Networks {
            machine: values(&inputs.machine),
            cluster: values(&inputs.pods),
            service: values(&inputs.service),
            internal_join: inputs.internal_join.as_ref().map(|at| at.value),
        },
        api_vips: values(&inputs.api),
        ingress_vips: values(&inputs.ingress),
        dns: if dns.is_empty() { gateways.clone() } else { dns },
        gateways,
        dhcp: inputs.dhcp.as_ref().map(|(start, end)| (start.value, end.value)),
        nodes: inputs.nodes.iter().map(node).collect::<Option<_>>()?,
        release: cluster.text("release")?.parse().ok()?,
        architecture: Architecture::read(
            cluster
                .text("architecture")
                .or_else(|| install.text("controlPlane.architecture"))
                .unwrap_or("amd64"),
        )?,
        channel: owned(cluster, "channel"),
        ssh_keys: syntax::ssh_keys(install.text("sshKey").unwrap_or_default()).map(str::to_owned).collect(),
        proxy: install.get("proxy").map(|_| Proxy {
            http: owned(install, "proxy.httpProxy"),
            https: owned(install, "proxy.httpsProxy"),
            none: owned(install, "proxy.noProxy"),
        }),
        trust_bundle: owned(install, "additionalTrustBundle"),
        trust_policy: TrustPolicy::read(install.text("additionalTrustBundlePolicy").unwrap_or("Proxyonly"))?,
        mirrors: ["imageDigestSources", "imageContentSources"]
            .iter()
            .flat_map(|field| install.list(field))
            .map(mirror)
            .collect::<Option<_>>()?,
        fips: install.get("fips") == Some(&Value::Bool(true)),
        feature_set: FeatureSet::read(
            install.text("featureSet").filter(|set| !set.is_empty()).unwrap_or("Default"),
        )?,
        feature_gates: texts(install.list("featureGates")),
        capabilities: install.get("capabilities").map(|_| Capabilities {
            baseline: owned(install, "capabilities.baselineCapabilitySet"),
            additional: texts(install.list("capabilities.additionalEnabledCapabilities")),
        }),
        cpu_partitioning: CpuPartitioning::read(install.text("cpuPartitioningMode").unwrap_or("None"))?,
        pull_secret: install.secrets.get("pullSecret")?.clone(),
        libvirt: libvirt(cluster, &name)?,
        pki: pki(cluster)?,
        rhcos: Rhcos { iso: owned(cluster, "rhcos.iso"), qcow2: owned(cluster, "rhcos.qcow2") },
        disabled_checks: texts(cluster.list("checks.disabled")),
        install_config: install.data.clone(),
        sources: Sources { install: lines(install), cluster: lines(cluster) },
        name,
    })
}

fn values<T: Copy>(list: &[At<T>]) -> Vec<T> {
    list.iter().map(|at| at.value).collect()
}

fn owned(file: &Fragment, field: &str) -> Option<String> {
    file.text(field).map(str::to_owned)
}

fn texts(items: &[Value]) -> Vec<String> {
    items.iter().filter_map(Value::as_text).map(str::to_owned).collect()
}

fn lines(file: &Fragment) -> FileLines {
    FileLines { name: file.file.clone(), lines: file.lines.clone() }
}

fn node(input: &NodeInput<'_>) -> Option<Node> {
    let role = input.role?;
    let memory = if role == Role::Worker { 8 * 1024 } else { 16 * 1024 };
    Some(Node {
        name: input.data.get("name")?.as_text()?.to_owned(),
        role,
        ips: values(&input.ips),
        mac: input.data.get("mac").and_then(Value::as_text).map(str::to_ascii_lowercase),
        vcpus: int(input.data, "vcpus").unwrap_or(4),
        memory_mib: int(input.data, "memory").unwrap_or(memory),
        disk_gb: int(input.data, "disk").unwrap_or(100),
        install_device: input
            .data
            .get("installDevice")
            .and_then(Value::as_text)
            .unwrap_or("/dev/vda")
            .to_owned(),
    })
}

fn mirror(entry: &Value) -> Option<Mirror> {
    Some(Mirror {
        source: entry.get("source")?.as_text()?.to_owned(),
        mirrors: texts(entry.get("mirrors").map_or(&[], list)),
        policy: entry.get("sourcePolicy").and_then(Value::as_text).and_then(SourcePolicy::read),
    })
}

fn libvirt(cluster: &Fragment, name: &str) -> Option<Libvirt> {
    let bridge: String = format!("virbr-{name}").chars().take(15).collect();
    let pool = owned(cluster, "libvirt.pool").unwrap_or_else(|| name.to_owned());
    Some(Libvirt {
        uri: owned(cluster, "libvirt.uri").unwrap_or_else(|| "qemu:///system".to_owned()),
        path: owned(cluster, "libvirt.path").unwrap_or_else(|| format!("/var/lib/libvirt/images/{pool}")),
        pool,
        network: owned(cluster, "libvirt.network").unwrap_or_else(|| name.to_owned()),
        bridge: owned(cluster, "libvirt.bridge").unwrap_or(bridge),
        domain_type: DomainType::read(cluster.text("libvirt.domainType").unwrap_or("kvm"))?,
    })
}

fn pki(cluster: &Fragment) -> Option<Pki> {
    let file = |(name, files): (&String, &Value)| {
        let text = |key| files.get(key)?.as_text().map(str::to_owned);
        Some((name.clone(), AuthorityFiles { certificate: text("certificate")?, key: text("key")? }))
    };
    let authorities = match cluster.get("pki.authorities") {
        Some(Value::Map(map)) => map.iter().map(file).collect::<Option<_>>()?,
        _ => BTreeMap::new(),
    };
    Some(Pki {
        key_algorithm: Algorithm::read(cluster.text("pki.keyAlgorithm").unwrap_or("ecdsa-p256"))?,
        authority_key_algorithm: Algorithm::read(
            cluster.text("pki.authorityKeyAlgorithm").unwrap_or("rsa-2048"),
        )?,
        authority_hours: syntax::hours(cluster.text("pki.validity.authorities").unwrap_or("10y"))?,
        leaf_hours: syntax::hours(cluster.text("pki.validity.leaves").unwrap_or("1y"))?,
        authorities,
    })
}
