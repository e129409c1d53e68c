//! Step two: merges the two files, fills in defaults, maps old field names to new ones.
//!
//! Values are optional where a problem left a hole, so that checks still judge the rest; every value remembers its
//! field. A default replaces only what is not set, never an invalid value.

use std::net::IpAddr;

use ipnet::IpNet;

use super::files::{File, Files};
use super::fragment::{Fragment, join};
use super::given::Given;
use super::model::ClusterNetwork;
use super::platform;
use super::words::Role;
use crate::base::hint::{Problem, Problems};

/// New and old names of fields.
pub(super) const MACHINE: [&str; 2] = ["networking.machineNetwork", "networking.machineCIDR"];
pub(super) const PODS: [&str; 2] = ["networking.clusterNetwork", "networking.clusterNetworks"];
pub(super) const SERVICE: [&str; 2] = ["networking.serviceNetwork", "networking.serviceCIDR"];

/// The field of OVN's internal network.
pub(super) const JOIN: &str = "networking.ovnKubernetesConfig.ipv4.internalJoinSubnet";

/// The field of install-config for a single node that bootstraps itself, and the disk in it.
pub(super) const IN_PLACE: &str = "bootstrapInPlace";
pub(super) const INSTALLATION_DISK: &str = "bootstrapInPlace.installationDisk";

/// A value and its field.
#[derive(Debug, Clone)]
pub(super) struct At<T> {
    pub(super) value: T,
    pub(super) file: File,
    pub(super) field: String,
}

/// The input of the checks.
pub(super) struct Inputs<'a> {
    pub(super) install: &'a Fragment,
    pub(super) cluster: &'a Fragment,
    pub(super) machine: Vec<At<IpNet>>,
    pub(super) pods: Vec<At<ClusterNetwork>>,
    pub(super) service: Vec<At<IpNet>>,
    pub(super) internal_join: Option<At<IpNet>>,
    pub(super) masters: Option<At<i64>>,
    pub(super) workers: Option<At<i64>>,
    pub(super) api: Vec<At<IpAddr>>,
    pub(super) ingress: Vec<At<IpAddr>>,
    pub(super) gateways: Vec<At<IpAddr>>,
    pub(super) dhcp: Option<(At<IpAddr>, At<IpAddr>)>,
    pub(super) nodes: Vec<NodeInput<'a>>,
}

/// A node as far as it could be parsed.
pub(super) struct NodeInput<'a> {
    /// Its path in the file.
    pub(super) field: String,
    pub(super) given: &'a Given,
    pub(super) role: Option<Role>,
    pub(super) ips: Vec<At<IpAddr>>,
}

impl<'a> Inputs<'a> {
    pub(super) fn merge(files: &'a Files, problems: &mut Problems) -> Self {
        let Files { install, cluster } = files;
        let addresses = |field: &str| addresses((File::Cluster, cluster), field, &cluster.given, field);
        let (file, [api, ingress]) = platform::vip_fields(install);
        let vips = |names: [&str; 2]| {
            let fragment = files.of(file);
            let [current, old] =
                names.map(|name| self::addresses((file, fragment), name, &fragment.given, name));
            if current.is_empty() { old } else { current }
        };
        let bound = |field: &str| at(File::Cluster, field, cluster.get(field));
        Self {
            install,
            cluster,
            machine: networks(install, MACHINE, [10, 0, 0, 0], problems),
            pods: pod_networks(install, problems),
            service: networks(install, SERVICE, [172, 30, 0, 0], problems),
            internal_join: at(File::Install, JOIN, install.get(JOIN)),
            masters: replicas(install, install.given.at("controlPlane"), "controlPlane.replicas"),
            workers: replicas(install, install.list("compute").first(), "compute.worker.replicas"),
            api: vips(api),
            ingress: vips(ingress),
            gateways: addresses("network.gateway"),
            dhcp: bound("network.dhcp.start").zip(bound("network.dhcp.end")),
            nodes: nodes(cluster),
        }
    }

    /// The node that bootstraps itself: a master that is listed alone.
    pub(super) fn in_place(&self) -> Option<&NodeInput<'a>> {
        match self.nodes.as_slice() {
            [only] if only.role == Some(Role::Master) => Some(only),
            _ => None,
        }
    }

    /// A problem at the field of a value.
    pub(super) fn problem<T>(&self, at: &At<T>, message: impl Into<String>) -> Problem {
        match at.file {
            File::Install => self.install.problem(&at.field, message),
            File::Cluster => self.cluster.problem(&at.field, message),
        }
    }

    /// Whether a field of install-config is set, even if invalid.
    pub(super) fn wrote(&self, field: &str) -> bool {
        self.install.wrote(field)
    }
}

pub(super) fn at<T: Copy>(file: File, field: &str, value: Option<&T>) -> Option<At<T>> {
    Some(At { value: *value?, file, field: field.to_owned() })
}

/// The addresses at `path` of a map, one or several. A single one has no index.
fn addresses((file, fragment): (File, &Fragment), field: &str, map: &Given, path: &str) -> Vec<At<IpAddr>> {
    let one = |(index, value): (usize, IpAddr)| {
        let element = join(field, &index.to_string());
        let field = if fragment.wrote(&element) { element } else { field.to_owned() };
        At { value, file, field }
    };
    let single = map.get::<IpAddr>(path).copied();
    single.into_iter().chain(map.all(path)).enumerate().map(one).collect()
}

fn nodes(cluster: &Fragment) -> Vec<NodeInput<'_>> {
    let nodes = cluster.list("nodes").iter().enumerate();
    nodes
        .map(|(index, given)| {
            let field = cluster.element("nodes", index, given);
            let ips = addresses((File::Cluster, cluster), &join(&field, "ip"), given, "ip");
            NodeInput { field, given, role: given.get("role").copied(), ips }
        })
        .collect()
}

fn replicas(install: &Fragment, pool: Option<&Given>, field: &str) -> Option<At<i64>> {
    let written = pool.and_then(|pool| pool.get("replicas"));
    at(File::Install, field, written.or_else(|| (!install.wrote(field)).then_some(&3)))
}

/// The field under its new or its old name; both at once is a problem.
fn renamed<'n>(install: &Fragment, [new, old]: [&'n str; 2], problems: &mut Problems) -> &'n str {
    match (install.wrote(new), install.wrote(old)) {
        (true, true) => {
            let hint = Some(format!("remove it: `{new}` is the current name"));
            problems.push(install.problem(old, format!("cannot be given together with `{new}`")).hint(hint));
            new
        }
        (false, true) => old,
        _ => new,
    }
}

/// A list of networks, or of maps with a `cidr`; under the old name, a single network.
fn networks(
    install: &Fragment,
    names: [&str; 2],
    default: [u8; 4],
    problems: &mut Problems,
) -> Vec<At<IpNet>> {
    let field = renamed(install, names, problems);
    if !install.wrote(field) {
        return at(File::Install, field, v4(default, 16).as_ref()).into_iter().collect();
    }
    if field == names[1] {
        return at(File::Install, field, install.get(field)).into_iter().collect();
    }
    let one = |(index, entry): (usize, &Given)| {
        let field = format!("{field}.{index}");
        let own = at(File::Install, &field, entry.get(""));
        own.or_else(|| at(File::Install, &join(&field, "cidr"), entry.get("cidr")))
    };
    install.list(field).iter().enumerate().filter_map(one).collect()
}

pub(super) fn v4(address: [u8; 4], prefix: u8) -> Option<IpNet> {
    IpNet::new(IpAddr::from(address), prefix).ok()
}

fn pod_networks(install: &Fragment, problems: &mut Problems) -> Vec<At<ClusterNetwork>> {
    let field = renamed(install, PODS, problems);
    if !install.wrote(field) {
        let default = v4([10, 128, 0, 0], 14).map(|cidr| ClusterNetwork { cidr, host_prefix: 23 });
        return at(File::Install, field, default.as_ref()).into_iter().collect();
    }
    let mut networks = Vec::new();
    for (index, entry) in install.list(field).iter().enumerate() {
        let field = format!("{field}.{index}");
        let Some(cidr) = entry.get::<IpNet>("cidr").copied() else { continue };
        let bits = i64::from(cidr.max_prefix_len());
        let int = |name: &str| entry.get::<i64>(name).copied();
        let prefix = match (int("hostPrefix"), int("hostSubnetLength")) {
            (Some(_), Some(_)) => {
                let problem = install
                    .problem(&join(&field, "hostSubnetLength"), "cannot be given together with `hostPrefix`");
                problems.push(problem.hint(Some("remove it: `hostPrefix` is the current name".to_owned())));
                continue;
            }
            (Some(prefix), None) => prefix,
            (None, Some(length)) => bits - length,
            (None, None) => match cidr {
                IpNet::V4(_) => 23,
                IpNet::V6(_) => 64,
            },
        };
        let host_prefix = u8::try_from(prefix).unwrap_or(0);
        networks.push(At { value: ClusterNetwork { cidr, host_prefix }, file: File::Install, field });
    }
    networks
}
