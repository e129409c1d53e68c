//! Puts the cluster into the tree of [`Fields`], leaf by leaf, each with its origins.
//!
//! | path | what it is | decided by |
//! |---|---|---|
//! | `cluster.{name,baseDomain,domain,appsDomain}` | names; domains are derived | `metadata.name`, `baseDomain` |
//! | `cluster.{controlPlaneTopology,infrastructureTopology,mastersSchedulable}` | topology | replicas |
//! | `cluster.{masters,workers}` | how many | replicas |
//! | `api.{url,internalUrl,vip,vips}` | the API; `vip` is the first of `vips` | `vips.api`; URLs by names |
//! | `ingress.{vip,vips}` | all routes | `vips.ingress` |
//! | `networks.type`, `networks.{machine,service}[]`, `networks.cluster[].{cidr,hostPrefix}`, `networks.internalJoinSubnet` | networks | `networking` |
//! | `service.{kubernetes,dns}[]` | first and tenth address of each service network | `networking.serviceNetwork` |
//! | `network.{gateways,dns}[]`, `network.dhcp.{start,end}` | what interfaces need | `network` |
//! | `network.loopbacks[]` | 127.0.0.1, and ::1 where there is IPv6 | `networking.machineNetwork` |
//! | `nodes[]`, `masters[]`, `workers[]`, `bootstrap` | nodes, see below; the last three show elements of `nodes` | `nodes` |
//! | `proxy.exceptions` | what never goes through the proxy: `noProxy` and the cluster itself; null without a proxy | `proxy`, names, networks |
//! | `proxy.{httpProxy,httpsProxy,noProxy}`, `trustBundle.{certificates,policy}`, `mirrors[].{source,mirrors,sourcePolicy}` | access to the outside | the same |
//! | `sshKeys[]`, `fips`, `publish`, `featureSet`, `featureGates[]`, `cpuPartitioning` | options | the same |
//! | `capabilities.{baselineCapabilitySet,additionalEnabledCapabilities[]}` | optional components | `capabilities` |
//! | `installConfig.…` | install-config as written, without the pull secret | itself |
//! | `pullSecret` | secret | `pullSecret` |
//! | `release`, `architecture`, `channel` | the release | the same |
//! | `libvirt.{uri,pool,path,network,bridge,domainType}`, `rhcos.{iso,qcow2}` | where machines are made | the same |
//! | `pki.{keyAlgorithm,authorityKeyAlgorithm}`, `pki.validity.{authorityHours,leafHours}`, `pki.authorities.NAME.{certificate,key}` | certificates | `pki` |
//! | `checks.disabled[]` | checks that are not run | `checks` |
//!
//! Two roots come from beside the model: `lock.…` (see [`crate::openshift::lock`]), and `authorities.NAME.{certificate,key}`, the
//! texts of the files that `pki.authorities` names; `key` is secret.
//!
//! A node: `name`, `role`, `fqdn`, `index` (within its role), `etcdName` (`etcd-0`, of masters), `ip` (the first), `ips[]`,
//! `addresses[].{ip,prefix,gateway,family}`, `mac` (null: from the seed), `vcpus`, `memoryMiB`, `diskGB`, `installDevice`.
//!
//! Every path above exists in every cluster, null or empty where nothing was given, so that a recipe that works for one
//! works for all.
//!
//! Every type of the model is destructured without `..`: a new field of the model does not compile until it has a path.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::derived::NodeAddress;
use super::fragment::join;
use super::inputs::JOIN;
use super::lookup::Lookup;
use super::model::{
    AuthorityFiles, Capabilities, Cluster, File, Libvirt, Mirror, Networks, Node, Pki, Proxy, Rhcos,
};
use super::words::Role;
use crate::engine::fields::{Field, Fields, Origins};

use File::{Cluster as Ours, Install};

impl Cluster {
    /// The cluster as recipes see it.
    pub(crate) fn fields(&self) -> Fields {
        let Self {
            name: _,
            base_domain: _, // both in `cluster_fields`
            networks,
            api_vips,
            ingress_vips,
            gateways,
            dns,
            dhcp,
            nodes: _, // in `node_fields`
            release,
            architecture,
            channel,
            ssh_keys,
            proxy,
            trust_bundle,
            trust_policy,
            mirrors,
            fips,
            feature_set,
            feature_gates,
            capabilities,
            cpu_partitioning,
            pull_secret,
            libvirt,
            pki,
            rhcos: Rhcos { iso, qcow2 },
            disabled_checks,
            install_config,
            sources,
        } = self;
        let at = Lookup(sources);
        let domain = at.all(&[(Install, "metadata.name"), (Install, "baseDomain")]);
        let [nodes, masters, workers, bootstrap] = node_fields(self, &domain);
        let vip = |vips, field| [("vip", at.first(vips, Ours, field)), ("vips", at.list(vips, Ours, field))];
        let urls = [
            ("url", Field::leaf(self.api_url(), domain.clone())),
            ("internalUrl", Field::leaf(self.internal_api_url(), domain.clone())),
        ];
        let (start, end) = dhcp.map(|(start, end)| (start.to_string(), end.to_string())).unzip();
        let range =
            [("start", at.ours(start, "network.dhcp.start")), ("end", at.ours(end, "network.dhcp.end"))];
        let interfaces = [
            ("gateways", at.list(gateways, Ours, "network.gateway")),
            ("dns", at.list(dns, Ours, at.either(Ours, "network.dns", "network.gateway"))),
            ("dhcp", Field::map(range)),
            ("loopbacks", at.list(&self.loopbacks(), Install, at.machine())),
        ];
        let service = [
            ("kubernetes", at.list(&self.kubernetes_ips(), Install, at.service())),
            ("dns", at.list(&self.dns_ips(), Install, at.service())),
        ];
        let trust = [
            ("certificates", at.installed(trust_bundle.clone(), "additionalTrustBundle")),
            ("policy", at.installed(trust_policy.as_str(), "additionalTrustBundlePolicy")),
        ];
        let images =
            [("iso", at.ours(iso.clone(), "rhcos.iso")), ("qcow2", at.ours(qcow2.clone(), "rhcos.qcow2"))];
        let instruction_set = at.all(&[(Ours, "architecture"), (Install, "controlPlane.architecture")]);
        let roots = [
            ("cluster", cluster_fields(self, &at, &domain)),
            ("api", Field::map(urls.into_iter().chain(vip(api_vips, "vips.api")))),
            ("ingress", Field::map(vip(ingress_vips, "vips.ingress"))),
            ("networks", network_fields(networks, &at)),
            ("service", Field::map(service)),
            ("network", Field::map(interfaces)),
            ("nodes", nodes),
            ("masters", masters),
            ("workers", workers),
            ("bootstrap", bootstrap),
            ("proxy", proxy_fields(self, proxy.as_ref(), &at)),
            ("trustBundle", Field::map(trust)),
            ("mirrors", mirror_fields(mirrors, &at)),
            ("sshKeys", at.list(ssh_keys, Install, "sshKey")),
            ("fips", at.installed(*fips, "fips")),
            // The one value that the field table allows.
            ("publish", at.installed("External", "publish")),
            ("featureSet", at.installed(feature_set.as_str(), "featureSet")),
            ("featureGates", at.list(feature_gates, Install, "featureGates")),
            ("capabilities", capability_fields(capabilities.as_ref(), &at)),
            ("cpuPartitioning", at.installed(cpu_partitioning.as_str(), "cpuPartitioningMode")),
            ("installConfig", at.data(install_config, "")),
            (
                "pullSecret",
                Field::Secret { value: pull_secret.clone(), origins: at.one(Install, "pullSecret") },
            ),
            ("release", at.ours(release.to_string(), "release")),
            ("architecture", Field::leaf(architecture.as_str(), instruction_set)),
            ("channel", at.ours(channel.clone(), "channel")),
            ("libvirt", libvirt_fields(libvirt, &at)),
            ("pki", pki_fields(pki, &at)),
            ("rhcos", Field::map(images)),
            ("checks", Field::map([("disabled", at.list(disabled_checks, Ours, "checks.disabled"))])),
        ];
        Fields::new(roots.into_iter().map(|(name, field)| (name.to_owned(), field)).collect())
    }
}

fn cluster_fields(cluster: &Cluster, at: &Lookup<'_>, domain: &Origins) -> Field {
    let (control, compute) = ((Install, "controlPlane.replicas"), (Install, "compute.worker.replicas"));
    let (control_plane, infrastructure) =
        (cluster.control_plane_topology(), cluster.infrastructure_topology());
    Field::map([
        ("name", at.installed(cluster.name.as_str(), "metadata.name")),
        ("baseDomain", at.installed(cluster.base_domain.as_str(), "baseDomain")),
        ("domain", Field::leaf(cluster.domain(), domain.clone())),
        ("appsDomain", Field::leaf(cluster.apps_domain(), domain.clone())),
        ("controlPlaneTopology", Field::leaf(control_plane.as_str(), at.all(&[control]))),
        ("infrastructureTopology", Field::leaf(infrastructure.as_str(), at.all(&[control, compute]))),
        ("mastersSchedulable", Field::leaf(cluster.masters_schedulable(), at.all(&[compute]))),
        ("masters", Field::leaf(count(cluster, Role::Master), at.all(&[control]))),
        ("workers", Field::leaf(count(cluster, Role::Worker), at.all(&[compute]))),
    ])
}

fn count(cluster: &Cluster, role: Role) -> i64 {
    i64::try_from(cluster.nodes_of(role).count()).unwrap_or(i64::MAX)
}

fn network_fields(networks: &Networks, at: &Lookup<'_>) -> Field {
    let Networks { machine, cluster, service, internal_join } = networks;
    let pods_field = at.either(Install, "networking.clusterNetwork", "networking.clusterNetworks");
    let pods = cluster.iter().enumerate().map(|(index, network)| {
        let field = |name: &str| {
            at.one(Install, at.written(Install, &format!("{pods_field}.{index}.{name}"), pods_field))
        };
        Field::map([
            ("cidr", Field::leaf(network.cidr.to_string(), field("cidr"))),
            ("hostPrefix", Field::leaf(i64::from(network.host_prefix), field("hostPrefix"))),
        ])
    });
    Field::map([
        (
            "type",
            Field::leaf(
                "OVNKubernetes",
                at.one(Install, at.either(Install, "networking.networkType", "networking.type")),
            ),
        ),
        ("machine", at.list(machine, Install, at.machine())),
        ("cluster", Field::List(pods.collect())),
        ("service", at.list(service, Install, at.service())),
        (
            "internalJoinSubnet",
            Field::leaf(internal_join.map(|network| network.to_string()), at.one(Install, JOIN)),
        ),
    ])
}

/// `nodes`, `masters`, `workers` and `bootstrap`: the first owns its elements, the others show them.
fn node_fields(cluster: &Cluster, domain: &Origins) -> [Field; 4] {
    let at = Lookup(&cluster.sources);
    // The same for every node: looked up once.
    let machine = at.one(Install, at.machine());
    let gateway = at.one(Ours, "network.gateway");
    let mut by_role: BTreeMap<Role, Vec<Field>> = BTreeMap::new();
    let all = cluster.nodes.iter().map(|node| {
        let same = by_role.entry(node.role).or_default();
        let shared = Field::Shared {
            path: format!("nodes.{}", node.name).into(),
            field: Arc::new(one_node(cluster, node, same.len(), &at, [domain, &machine, &gateway])),
        };
        same.push(shared.clone());
        shared
    });
    let all = Field::List(all.collect());
    let mut take = |role| by_role.remove(&role).unwrap_or_default();
    let list = |nodes: Vec<Field>, replicas| {
        if nodes.is_empty() { Field::empty_list(at.one(Install, replicas)) } else { Field::List(nodes) }
    };
    let masters = list(take(Role::Master), "controlPlane.replicas");
    let workers = list(take(Role::Worker), "compute.worker.replicas");
    let bootstrap = take(Role::Bootstrap).pop().unwrap_or_else(|| Field::map([]));
    [all, masters, workers, bootstrap]
}

fn one_node(
    cluster: &Cluster,
    node: &Node,
    index: usize,
    at: &Lookup<'_>,
    [domain, machine, gateway]: [&Origins; 3],
) -> Field {
    let Node { name, role, ips, mac, vcpus, memory_mib, disk_gb, install_device } = node;
    let base = join("nodes", name);
    let own = |field: &str| at.one(Ours, &join(&base, field));
    let also =
        |field: &str, more: &Origins| own(field).iter().chain(more.iter()).cloned().collect::<Origins>();
    let address = |NodeAddress { ip, network, gateway: via }: NodeAddress| {
        Field::map([
            ("ip", Field::leaf(ip.to_string(), own("ip"))),
            ("prefix", Field::leaf(network.map(|network| i64::from(network.prefix_len())), machine.clone())),
            ("gateway", Field::leaf(via.map(|via| via.to_string()), gateway.clone())),
            ("family", Field::leaf(if ip.is_ipv4() { "ipv4" } else { "ipv6" }, own("ip"))),
        ])
    };
    let etcd_name = (*role == Role::Master).then(|| format!("etcd-{index}"));
    Field::map([
        ("name", Field::leaf(name.as_str(), own("name"))),
        ("role", Field::leaf(role.as_str(), own("role"))),
        ("fqdn", Field::leaf(cluster.fqdn(node), also("name", domain))),
        ("index", Field::leaf(i64::try_from(index).unwrap_or(i64::MAX), own("role"))),
        ("etcdName", Field::leaf(etcd_name, own("role"))),
        ("ip", at.first(ips, Ours, &join(&base, "ip"))),
        ("ips", at.list(ips, Ours, &join(&base, "ip"))),
        ("addresses", Field::List(cluster.addresses(node).into_iter().map(address).collect())),
        ("mac", Field::leaf(mac.clone(), own("mac"))),
        ("vcpus", Field::leaf(*vcpus, own("vcpus"))),
        ("memoryMiB", Field::leaf(*memory_mib, own("memory"))),
        ("diskGB", Field::leaf(*disk_gb, own("disk"))),
        ("installDevice", Field::leaf(install_device.as_str(), own("installDevice"))),
    ])
}

fn proxy_fields(cluster: &Cluster, proxy: Option<&Proxy>, at: &Lookup<'_>) -> Field {
    let (http, https, none) = match proxy {
        Some(Proxy { http, https, none }) => (http.clone(), https.clone(), none.clone()),
        None => (None, None, None),
    };
    let of = |name: &'static str, value: Option<String>| {
        (name, Field::leaf(value, at.one(Install, &join("proxy", name))))
    };
    // Without a proxy nothing else decides it: a change of a network is none of whoever reads this.
    let decided = [
        (Install, "proxy.noProxy"),
        (Install, "metadata.name"),
        (Install, "baseDomain"),
        (Install, at.machine()),
        (Install, at.either(Install, "networking.clusterNetwork", "networking.clusterNetworks")),
        (Install, at.service()),
    ];
    let origins = if proxy.is_some() { at.all(&decided) } else { at.one(Install, "proxy") };
    Field::map([
        of("httpProxy", http),
        of("httpsProxy", https),
        of("noProxy", none),
        ("exceptions", Field::leaf(cluster.proxy_exceptions(), origins)),
    ])
}

fn mirror_fields(mirrors: &[Mirror], at: &Lookup<'_>) -> Field {
    let base = at.either(Install, "imageDigestSources", "imageContentSources");
    let of = |(index, mirror): (usize, &Mirror)| {
        let Mirror { source, mirrors, policy } = mirror;
        let field = |name: &str| format!("{base}.{index}.{name}");
        Field::map([
            ("source", Field::leaf(source.as_str(), at.one(Install, &field("source")))),
            ("mirrors", at.list(mirrors, Install, &field("mirrors"))),
            (
                "sourcePolicy",
                Field::leaf(policy.map(|policy| policy.as_str()), at.one(Install, &field("sourcePolicy"))),
            ),
        ])
    };
    if mirrors.is_empty() {
        return Field::empty_list(at.one(Install, base));
    }
    Field::List(mirrors.iter().enumerate().map(of).collect())
}

fn capability_fields(capabilities: Option<&Capabilities>, at: &Lookup<'_>) -> Field {
    let (baseline, additional) = match capabilities {
        Some(Capabilities { baseline, additional }) => (baseline.clone(), additional.as_slice()),
        None => (None, &[][..]),
    };
    let field = "capabilities.additionalEnabledCapabilities";
    Field::map([
        (
            "baselineCapabilitySet",
            Field::leaf(baseline, at.one(Install, "capabilities.baselineCapabilitySet")),
        ),
        ("additionalEnabledCapabilities", at.list(additional, Install, field)),
    ])
}

fn libvirt_fields(libvirt: &Libvirt, at: &Lookup<'_>) -> Field {
    let Libvirt { uri, pool, path, network, bridge, domain_type } = libvirt;
    let own = |field: &str| at.one(Ours, &join("libvirt", field));
    // By default these follow from the cluster's name.
    let named = |field: &str| {
        let field = join("libvirt", field);
        let given = at.0.place(Ours, &field).line.is_some();
        if given { at.one(Ours, &field) } else { at.all(&[(Ours, &field), (Install, "metadata.name")]) }
    };
    let directory = match at.0.place(Ours, "libvirt.path").line {
        Some(_) => at.one(Ours, "libvirt.path"),
        None => at.all(&[(Ours, "libvirt.path"), (Ours, "libvirt.pool"), (Install, "metadata.name")]),
    };
    Field::map([
        ("uri", Field::leaf(uri.as_str(), own("uri"))),
        ("path", Field::leaf(path.as_str(), directory)),
        ("pool", Field::leaf(pool.as_str(), named("pool"))),
        ("network", Field::leaf(network.as_str(), named("network"))),
        ("bridge", Field::leaf(bridge.as_str(), named("bridge"))),
        ("domainType", Field::leaf(domain_type.as_str(), own("domainType"))),
    ])
}

fn pki_fields(pki: &Pki, at: &Lookup<'_>) -> Field {
    let Pki { key_algorithm, authority_key_algorithm, authority_hours, leaf_hours, authorities } = pki;
    let own = |field: &str| at.one(Ours, &join("pki", field));
    let files = |(name, files): (&String, &AuthorityFiles)| {
        let AuthorityFiles { certificate, key } = files;
        let own = |field: &str| own(&format!("authorities.{name}.{field}"));
        let field = Field::map([
            ("certificate", Field::leaf(certificate.as_str(), own("certificate"))),
            ("key", Field::leaf(key.as_str(), own("key"))),
        ]);
        (name.clone(), field)
    };
    Field::map([
        ("keyAlgorithm", Field::leaf(key_algorithm.as_str(), own("keyAlgorithm"))),
        (
            "authorityKeyAlgorithm",
            Field::leaf(authority_key_algorithm.as_str(), own("authorityKeyAlgorithm")),
        ),
        (
            "validity",
            Field::map([
                ("authorityHours", Field::leaf(*authority_hours, own("validity.authorities"))),
                ("leafHours", Field::leaf(*leaf_hours, own("validity.leaves"))),
            ]),
        ),
        ("authorities", Field::Map(authorities.iter().map(files).collect())),
    ])
}
