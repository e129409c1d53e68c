//! Step three's result: the cluster as plain data, valid by type. What follows from it is in [`super::derived`].
//!
//! Invariant: a `Cluster` exists only if both files were free of problems. It knows where its values were written
//! ([`Sources`]), so that an artifact can be traced to a line.

use std::collections::BTreeMap;
use std::net::IpAddr;

use ipnet::IpNet;

use super::release::Release;
use super::words::{Architecture, CpuPartitioning, DomainType, FeatureSet, Role, SourcePolicy, TrustPolicy};
use crate::base::hint::Place;
use crate::base::pki::Algorithm;
use crate::base::secret::Secret;
use crate::base::value::Value;

/// Everything that the user's two files say.
#[derive(Debug, Clone)]
pub(crate) struct Cluster {
    /// First label of the cluster's domain.
    pub name: String,
    /// The rest of it, without a dot at the end.
    pub base_domain: String,
    /// Networks of machines, pods and services.
    pub networks: Networks,
    /// Virtual addresses of the API; the first is of the primary family.
    pub api_vips: Vec<IpAddr>,
    /// Virtual addresses of all routes.
    pub ingress_vips: Vec<IpAddr>,
    /// Default gateways, at most one per machine network.
    pub gateways: Vec<IpAddr>,
    /// DNS servers of the nodes.
    pub dns: Vec<IpAddr>,
    /// First and last address that DHCP hands out.
    pub dhcp: Option<(IpAddr, IpAddr)>,
    /// Every machine, in the order written; exactly one is the bootstrap node.
    pub nodes: Vec<Node>,
    /// Where the release comes from.
    pub release: Release,
    /// Instruction set of all nodes.
    pub architecture: Architecture,
    pub channel: Option<String>,
    /// Public keys of the user `core`.
    pub ssh_keys: Vec<String>,
    /// The proxy to the outside.
    pub proxy: Option<Proxy>,
    /// More authorities to trust, PEM.
    pub trust_bundle: Option<String>,
    /// When they are trusted.
    pub trust_policy: TrustPolicy,
    /// Mirrors of image repositories.
    pub mirrors: Vec<Mirror>,
    pub fips: bool,
    /// Features beyond the default ones.
    pub feature_set: FeatureSet,
    /// Single gates, `Name=true`.
    pub feature_gates: Vec<String>,
    pub capabilities: Option<Capabilities>,
    pub cpu_partitioning: CpuPartitioning,
    /// Credentials of the registries, JSON.
    pub pull_secret: Secret,
    /// Where the machines are made.
    pub libvirt: Libvirt,
    pub pki: Pki,
    /// Local copies of the operating system's images.
    pub rhcos: Rhcos,
    /// Names of checks that are not run.
    pub disabled_checks: Vec<String>,
    /// install-config as written, without the pull secret.
    pub install_config: Value,
    /// Where everything was written.
    pub sources: Sources,
}

/// Networks of machines, pods and services.
#[derive(Debug, Clone)]
pub(crate) struct Networks {
    /// Of the nodes and VIPs; the first decides the primary family.
    pub machine: Vec<IpNet>,
    pub cluster: Vec<ClusterNetwork>,
    pub service: Vec<IpNet>,
    /// The IPv4 network that joins OVN's routers, if not OVN's default.
    pub internal_join: Option<IpNet>,
}

/// A network of pods, of which every node gets a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClusterNetwork {
    pub cidr: IpNet,
    /// Prefix length of a node's part.
    pub host_prefix: u8,
}

#[derive(Debug, Clone)]
pub(crate) struct Node {
    /// First label of its host name.
    pub name: String,
    pub role: Role,
    /// Static addresses, the primary family first.
    pub ips: Vec<IpAddr>,
    /// MAC address in lower case; none means: from the seed.
    pub mac: Option<String>,
    pub vcpus: i64,
    pub memory_mib: i64,
    pub disk_gb: i64,
    /// Which disk of it is installed to.
    pub install_device: String,
}

/// The proxy to the outside; at least one of the URLs is set.
#[derive(Debug, Clone)]
pub(crate) struct Proxy {
    pub http: Option<String>,
    pub https: Option<String>,
    /// What needs no proxy.
    pub none: Option<String>,
}

#[derive(Debug, Clone)]
pub(crate) struct Mirror {
    /// As images name it.
    pub source: String,
    /// Where else its images are.
    pub mirrors: Vec<String>,
    /// Whether the source may be asked.
    pub policy: Option<SourcePolicy>,
}

#[derive(Debug, Clone)]
pub(crate) struct Capabilities {
    /// The set to start from.
    pub baseline: Option<String>,
    /// What comes on top.
    pub additional: Vec<String>,
}

/// Where the machines are made.
#[derive(Debug, Clone)]
pub(crate) struct Libvirt {
    pub uri: String,
    pub pool: String,
    /// Its directory on the host, absolute.
    pub path: String,
    pub network: String,
    /// Its bridge, at most 15 characters.
    pub bridge: String,
    pub domain_type: DomainType,
}

#[derive(Debug, Clone)]
pub(crate) struct Pki {
    pub key_algorithm: Algorithm,
    pub authority_key_algorithm: Algorithm,
    pub authority_hours: i64,
    pub leaf_hours: i64,
    /// The user's own authorities, by name.
    pub authorities: BTreeMap<String, AuthorityFiles>,
}

/// Files of an authority, relative to the cluster directory.
#[derive(Debug, Clone)]
pub(crate) struct AuthorityFiles {
    /// PEM certificate.
    pub certificate: String,
    /// PEM key.
    pub key: String,
}

/// Local copies of the operating system's images, relative to the cluster directory.
#[derive(Debug, Clone)]
pub(crate) struct Rhcos {
    pub iso: Option<String>,
    pub qcow2: Option<String>,
}

/// Which of the two files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum File {
    Install,
    Cluster,
}

/// The lines of all fields of both files.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sources {
    pub(super) install: FileLines,
    pub(super) cluster: FileLines,
}

/// One file's name, and the line of every field that was written.
#[derive(Debug, Clone, Default)]
pub(super) struct FileLines {
    pub(super) name: String,
    pub(super) lines: BTreeMap<String, usize>,
}

impl Sources {
    /// Where a field is written; without a line if nobody wrote it and the default holds.
    pub(super) fn place(&self, file: File, field: &str) -> Place {
        let file = match file {
            File::Install => &self.install,
            File::Cluster => &self.cluster,
        };
        Place { file: file.name.clone(), line: file.lines.get(field).copied(), field: field.to_owned() }
    }
}
