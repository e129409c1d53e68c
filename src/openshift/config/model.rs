//! Step three: inputs without problems become the [`Cluster`], valid by type. [`super::derived`] derives values from
//! it.
//!
//! Invariant: a `Cluster` exists only if both files are free of problems. It has a field for everything that Rust code
//! uses; what only recipes read goes directly from its row to them ([`super::projection`]).

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use ipnet::IpNet;

use super::builders::{GivenBuilder, given_builders};
use super::caches::{GivenCache, given_caches};
use super::files::{File, Files};
use super::given::Given;
use super::inputs::{At, Inputs};
use super::platform::Platform;
use super::pull_secret;
use super::release::Release;
use super::words::{Architecture, Machines, Role, SourcePolicy};
use crate::base::hint::Place;
use crate::base::secret::Secret;

#[derive(Debug, Clone)]
pub(crate) struct Cluster {
    /// First label of the cluster's domain.
    pub name: String,
    /// The rest of it, without a final dot.
    pub base_domain: String,
    pub networks: Networks,
    /// Virtual addresses of the API, the primary family first; the node's own where nothing is in front of it.
    pub api_vips: Vec<IpAddr>,
    /// Virtual addresses of all routes.
    pub ingress_vips: Vec<IpAddr>,
    /// Every machine, in file order; one is the bootstrap node, unless the only one bootstraps itself.
    pub nodes: Vec<Node>,
    pub release: Release,
    /// Where nodes pull a release that is in a layout.
    pub release_repository: Option<String>,
    /// Files of public keys that decide whether a release is authentic, relative to the cluster directory; none if
    /// the user left that to us.
    pub release_keys: Option<Vec<String>>,
    pub architecture: Architecture,
    pub platform: Platform,
    /// Which of the release's operating systems nodes get, if not its default.
    pub os_image_stream: Option<String>,
    /// Additional CA certificates, PEM.
    pub trust_bundle: Option<String>,
    pub mirrors: Vec<Mirror>,
    /// Registry credentials, JSON.
    pub pull_secret: Secret,
    /// The file that they are in, if not install-config.
    pub pull_secret_file: Option<String>,
    /// Who makes the machines.
    pub machines: Machines,
    /// The connection URI.
    pub libvirt_uri: String,
    /// The user's own authorities, by name.
    pub authorities: BTreeMap<String, AuthorityFiles>,
    pub rhcos: Rhcos,
    pub disabled_checks: Vec<String>,
    pub caches: Vec<GivenCache>,
    pub builders: Vec<GivenBuilder>,
    /// The parsed files.
    pub(super) files: Arc<Files>,
}

#[derive(Debug, Clone)]
pub(crate) struct Networks {
    /// Of the nodes and VIPs; the first determines the primary family.
    pub machine: Vec<IpNet>,
    pub cluster: Vec<ClusterNetwork>,
    pub service: Vec<IpNet>,
}

/// A pod network, of which every node gets a part.
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
}

#[derive(Debug, Clone)]
pub(crate) struct Mirror {
    /// As in image names.
    pub source: String,
    pub mirrors: Vec<String>,
    pub policy: Option<SourcePolicy>,
}

/// Files of an authority, relative to the cluster directory.
#[derive(Debug, Clone)]
pub(crate) struct AuthorityFiles {
    /// PEM.
    pub certificate: String,
    /// PEM.
    pub key: String,
}

/// Where the images of the operating system are: local copies, relative to the cluster directory; or a mirror.
#[derive(Debug, Clone)]
pub(crate) struct Rhcos {
    pub iso: Option<String>,
    pub qcow2: Option<String>,
    pub kernel: Option<String>,
    pub initramfs: Option<String>,
    pub rootfs: Option<String>,
    /// The URL of a directory to download the release's images from.
    pub mirror: Option<String>,
}

impl Rhcos {
    /// The local copies by field, in the order of the lock's images.
    pub(crate) fn files(&self) -> [(&'static str, &Option<String>); 5] {
        let Self { iso, qcow2, kernel, initramfs, rootfs, mirror: _ } = self;
        [
            ("rhcos.iso", iso),
            ("rhcos.qcow2", qcow2),
            ("rhcos.kernel", kernel),
            ("rhcos.initramfs", initramfs),
            ("rhcos.rootfs", rootfs),
        ]
    }
}

impl Cluster {
    /// The cluster; none if something is missing, which is then a problem.
    pub(super) fn new(files: &Arc<Files>, inputs: &Inputs<'_>) -> Option<Self> {
        let Files { install, cluster } = &**files;
        let text = |field| cluster.text(field).map(str::to_owned);
        let mirrors =
            ["imageDigestSources", "imageContentSources"].iter().flat_map(|list| install.list(list));
        let authorities = match cluster.given.at("pki.authorities") {
            Some(Given::Map(map)) => map.iter().map(authority).collect::<Option<_>>()?,
            _ => BTreeMap::new(),
        };
        // Nothing in front of a node that bootstraps itself: then it is at its own addresses.
        let vips = |given: &[At<IpAddr>]| match inputs.in_place() {
            Some(node) if given.is_empty() => values(&node.ips),
            _ => values(given),
        };
        Some(Self {
            name: install.text("metadata.name")?.to_owned(),
            base_domain: install.text("baseDomain")?.to_owned(),
            networks: Networks {
                machine: values(&inputs.machine),
                cluster: values(&inputs.pods),
                service: values(&inputs.service),
            },
            api_vips: vips(&inputs.api),
            ingress_vips: vips(&inputs.ingress),
            nodes: cluster.list("nodes").iter().map(node).collect::<Option<_>>()?,
            release: cluster.get::<Release>("release")?.clone(),
            release_repository: cluster.text("releaseRepository").map(str::to_owned),
            release_keys: cluster.given.at("releaseKeys").map(|_| cluster.given.all("releaseKeys")),
            platform: Platform::of(install)?,
            architecture: files.value(File::Cluster, "architecture")?,
            os_image_stream: install.text("osImageStream").map(str::to_owned),
            trust_bundle: install.text("additionalTrustBundle").map(str::to_owned),
            mirrors: mirrors.map(mirror).collect::<Option<_>>()?,
            pull_secret: install.secrets.get("pullSecret")?.clone(),
            pull_secret_file: text(pull_secret::FILE),
            machines: files.value(File::Cluster, "machines")?,
            libvirt_uri: files.value(File::Cluster, "libvirt.uri")?,
            authorities,
            rhcos: Rhcos {
                iso: text("rhcos.iso"),
                qcow2: text("rhcos.qcow2"),
                kernel: text("rhcos.kernel"),
                initramfs: text("rhcos.initramfs"),
                rootfs: text("rhcos.rootfs"),
                mirror: text("rhcos.mirror"),
            },
            disabled_checks: cluster.given.all("checks.disabled"),
            caches: given_caches(cluster),
            builders: given_builders(cluster),
            files: files.clone(),
        })
    }

    /// Where a field of install-config.yaml stands.
    pub(crate) fn place_in_install_config(&self, field: &str) -> Place {
        self.files.place(File::Install, field)
    }
}

fn values<T: Copy>(list: &[At<T>]) -> Vec<T> {
    list.iter().map(|at| at.value).collect()
}

fn node(entry: &Given) -> Option<Node> {
    Some(Node { name: entry.get::<String>("name")?.clone(), role: *entry.get("role")?, ips: entry.all("ip") })
}

fn mirror(entry: &Given) -> Option<Mirror> {
    Some(Mirror {
        source: entry.get::<String>("source")?.clone(),
        mirrors: entry.all("mirrors"),
        policy: entry.get("sourcePolicy").copied(),
    })
}

fn authority((name, files): (&String, &Given)) -> Option<(String, AuthorityFiles)> {
    let file = |key| files.get::<String>(key).cloned();
    Some((name.clone(), AuthorityFiles { certificate: file("certificate")?, key: file("key")? }))
}
