//! Step two: the two files merged, defaults filled in, old field names read as their new ones.
//!
//! Values are optional where a problem left a hole, so that checks still judge the rest; every value remembers the
//! field that gave it. A default stands in only for what nobody wrote, never for what was written wrongly.

use std::net::IpAddr;

use ipnet::IpNet;

use super::fragment::{Fragment, int, join, list};
use super::model::{ClusterNetwork, File};
use super::words::Role;
use crate::base::hint::{Problem, Problems};
use crate::base::value::Value;

/// Where OVN's internal network is set.
pub(super) const JOIN: &str = "networking.ovnKubernetesConfig.ipv4.internalJoinSubnet";

/// A value and the field it comes from.
#[derive(Debug, Clone)]
pub(super) struct At<T> {
    pub(super) value: T,
    pub(super) file: File,
    pub(super) field: String,
}

/// What the checks look at.
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

/// A node as far as it could be read.
pub(super) struct NodeInput<'a> {
    /// Its path in the file.
    pub(super) field: String,
    pub(super) data: &'a Value,
    pub(super) role: Option<Role>,
    pub(super) ips: Vec<At<IpAddr>>,
}

impl<'a> Inputs<'a> {
    pub(super) fn merge(install: &'a Fragment, cluster: &'a Fragment, problems: &mut Problems) -> Self {
        let addresses = |field: &str| addresses(cluster, field, cluster.get(field));
        let bound = |field: &str| address(cluster.text(field)?, File::Cluster, field);
        Self {
            install,
            cluster,
            machine: machine_networks(install, problems),
            pods: pod_networks(install, problems),
            service: service_networks(install, problems),
            internal_join: network(install, JOIN),
            masters: replicas(install, install.get("controlPlane"), "controlPlane.replicas"),
            workers: replicas(install, install.list("compute").first(), "compute.worker.replicas"),
            api: addresses("vips.api"),
            ingress: addresses("vips.ingress"),
            gateways: addresses("network.gateway"),
            dhcp: bound("network.dhcp.start").zip(bound("network.dhcp.end")),
            nodes: nodes(cluster),
        }
    }

    /// A problem at the field of a value.
    pub(super) fn problem<T>(&self, at: &At<T>, message: impl Into<String>) -> Problem {
        match at.file {
            File::Install => self.install.problem(&at.field, message),
            File::Cluster => self.cluster.problem(&at.field, message),
        }
    }

    /// Whether a field of install-config was written, rightly or not.
    pub(super) fn wrote(&self, field: &str) -> bool {
        self.install.lines.contains_key(field)
    }
}

fn address(text: &str, file: File, field: &str) -> Option<At<IpAddr>> {
    Some(At { value: text.parse().ok()?, file, field: field.to_owned() })
}

/// The addresses of a field that holds one or several. A single one is addressed without an index.
fn addresses(cluster: &Fragment, field: &str, value: Option<&Value>) -> Vec<At<IpAddr>> {
    let texts = value.map_or(&[][..], list).iter().filter_map(Value::as_text);
    let at = |(index, text): (usize, &str)| {
        let element = join(field, &index.to_string());
        address(text, File::Cluster, if cluster.lines.contains_key(&element) { &element } else { field })
    };
    texts.enumerate().filter_map(at).collect()
}

fn nodes(cluster: &Fragment) -> Vec<NodeInput<'_>> {
    let node = |(index, data): (usize, &'_ Value)| {
        // The name is the path, unless it could not serve as one: then the index is.
        let named = data.get("name").and_then(Value::as_text).map(|name| join("nodes", name));
        let field = named
            .filter(|path| cluster.lines.contains_key(path))
            .unwrap_or_else(|| join("nodes", &index.to_string()));
        let role = data.get("role").and_then(Value::as_text).and_then(Role::read);
        let ips = addresses(cluster, &join(&field, "ip"), data.get("ip"));
        (field, role, ips)
    };
    let all = cluster.list("nodes").iter().enumerate();
    all.map(|(index, data)| {
        let (field, role, ips) = node((index, data));
        NodeInput { field, data, role, ips }
    })
    .collect()
}

fn replicas(install: &Fragment, pool: Option<&Value>, field: &str) -> Option<At<i64>> {
    let written = pool.and_then(|pool| int(pool, "replicas"));
    let value = written.or_else(|| (!install.lines.contains_key(field)).then_some(3))?;
    Some(At { value, file: File::Install, field: field.to_owned() })
}

fn network(install: &Fragment, field: &str) -> Option<At<IpNet>> {
    Some(At { value: install.text(field)?.parse().ok()?, file: File::Install, field: field.to_owned() })
}

fn default_network(text: &str, field: &str) -> Vec<At<IpNet>> {
    let value = text.parse().ok();
    value.map(|value| At { value, file: File::Install, field: field.to_owned() }).into_iter().collect()
}

/// The field under its new or its old name; both at once is a problem.
fn renamed<'n>(install: &Fragment, new: &'n str, old: &'n str, problems: &mut Problems) -> &'n str {
    match (install.lines.contains_key(new), install.lines.contains_key(old)) {
        (true, true) => {
            let hint = Some(format!("remove it: `{new}` is the current name"));
            problems.push(install.problem(old, format!("given beside `{new}`")).hint(hint));
            new
        }
        (false, true) => old,
        _ => new,
    }
}

fn machine_networks(install: &Fragment, problems: &mut Problems) -> Vec<At<IpNet>> {
    let (new, old) = ("networking.machineNetwork", "networking.machineCIDR");
    match renamed(install, new, old, problems) {
        field if field == old => network(install, old).into_iter().collect(),
        _ if !install.lines.contains_key(new) => default_network("10.0.0.0/16", new),
        _ => {
            let at = |(index, entry): (usize, &Value)| {
                let value = entry.get("cidr")?.as_text()?.parse().ok()?;
                Some(At { value, file: File::Install, field: format!("{new}.{index}.cidr") })
            };
            install.list(new).iter().enumerate().filter_map(at).collect()
        }
    }
}

fn service_networks(install: &Fragment, problems: &mut Problems) -> Vec<At<IpNet>> {
    let (new, old) = ("networking.serviceNetwork", "networking.serviceCIDR");
    match renamed(install, new, old, problems) {
        field if field == old => network(install, old).into_iter().collect(),
        _ if !install.lines.contains_key(new) => default_network("172.30.0.0/16", new),
        _ => {
            let at = |(index, entry): (usize, &Value)| {
                let value = entry.as_text()?.parse().ok()?;
                Some(At { value, file: File::Install, field: format!("{new}.{index}") })
            };
            install.list(new).iter().enumerate().filter_map(at).collect()
        }
    }
}

fn pod_networks(install: &Fragment, problems: &mut Problems) -> Vec<At<ClusterNetwork>> {
    let (new, old) = ("networking.clusterNetwork", "networking.clusterNetworks");
    let field = renamed(install, new, old, problems);
    if !install.lines.contains_key(field) {
        let default = default_network("10.128.0.0/14", new);
        let pods = |at: At<IpNet>| At {
            value: ClusterNetwork { cidr: at.value, host_prefix: 23 },
            file: at.file,
            field: at.field,
        };
        return default.into_iter().map(pods).collect();
    }
    let mut networks = Vec::new();
    for (index, entry) in install.list(field).iter().enumerate() {
        let field = format!("{field}.{index}");
        let Some(cidr) =
            entry.get("cidr").and_then(Value::as_text).and_then(|text| text.parse::<IpNet>().ok())
        else {
            continue;
        };
        let bits = i64::from(cidr.max_prefix_len());
        let prefix = match (int(entry, "hostPrefix"), int(entry, "hostSubnetLength")) {
            (Some(_), Some(_)) => {
                let problem = install.problem(&join(&field, "hostSubnetLength"), "given beside `hostPrefix`");
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
