//! The cluster as recipes see it: a tree of [`Fields`], each leaf with the lines that set it.
//!
//! A field of a file goes from its row to its path by itself. This module adds what is derived from several fields:
//!
//! | path | value | determined by |
//! |---|---|---|
//! | `cluster.{domain,appsDomain}`, `api.{url,internalUrl}` | names | `metadata.name`, `baseDomain` |
//! | `cluster.{controlPlaneTopology,infrastructureTopology,mastersSchedulable,masters,workers}` | topology | replicas |
//! | `cluster.bootstrap` | who starts the first control plane: a `machine` of its own, or the only node, `in-place` | `nodes` |
//! | `api.vip`, `ingress.vip` | the first of `vips` | `vips`, or `platform.baremetal`, or the only node's `ip` |
//! | `networks.{machine,service}[]`, `networks.cluster[].{cidr,hostPrefix}` | networks | `networking` |
//! | `service.{kubernetes,dns}[]` | first and tenth address of each service network | `networking.serviceNetwork` |
//! | `network.loopbacks[]` | 127.0.0.1, and ::1 with IPv6 | `networking.machineNetwork` |
//! | `nodes[]`, `masters[]`, `workers[]`, `bootstrap` | nodes, see below; the last three are views of `nodes`. `bootstrap` is the node that starts the first control plane, in place the only one | `nodes` |
//! | `platform.{name,type}` | as install-config has it, and as Infrastructure does | `platform` |
//! | `platform.loadBalancer` | who serves the VIPs: `OpenShiftManagedDefault` (the nodes), `UserManaged`, or `None`: a single node has none | `platform`, `vips` |
//! | `proxy.exceptions` | what bypasses the proxy: `noProxy` and the cluster itself; null without a proxy | `proxy`, names, networks |
//! | `installConfig.…` | install-config as written, without the pull secret | itself |
//!
//! Besides its rows, a node has `fqdn`, `index` (within its role), `etcdName` (`etcd-0`, for masters), `ip` (the first
//! of `ips`), `addresses[].{ip,prefix,gateway,family}`.
//!
//! Three roots come from elsewhere: `lock.…` (see [`crate::openshift::lock`]); `authorities.NAME.{certificate,key}`,
//! the contents of the files in `pki.authorities`; `key` is secret; and `user`, with the `kinds[]` of the user's manifests.
//!
//! Invariants: every path exists in every cluster, null or empty if it is not set, so that a recipe that works for one
//! works for all. Every leaf has an origin: the field that would set it, without a line if it is not set.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use super::cluster_file::NODES;
use super::files::{File, Files};
use super::fragment::join;
use super::given::{Given, Scalar};
use super::inputs::{MACHINE, PODS, SERVICE};
use super::model::{Cluster, Node};
use super::platform;
use super::spec::{Fallback, Kind, Row, Seen};
use super::words::Role;
use crate::base::value::Value;
use crate::engine::fields::{Field, Fields, Origins};

use File::{Cluster as Ours, Install};

type Tree = BTreeMap<String, Field>;

const MASTERS: (File, &str) = (Install, "controlPlane.replicas");
const WORKERS: (File, &str) = (Install, "compute.worker.replicas");

impl Cluster {
    /// The cluster as recipes see it.
    pub(crate) fn fields(&self) -> Fields {
        let files = &*self.files;
        let mut tree = Tree::new();
        for file in [Install, Ours] {
            let rows = Rows { files, file, within: &files.of(file).given };
            rows.put(file.table(), Some(rows.within), ["", ""], &mut tree);
        }
        let name = self.domain();
        let domain = files.origins(&[(Install, "metadata.name"), (Install, "baseDomain")]);
        let [machine, service] = [files.either(MACHINE), files.either(SERVICE)];
        let of_domain = |text: String| Field::leaf(text, domain.clone());
        let of_platform = |text| Field::leaf(text, files.origin(Install, &self.platform.field()));
        let mut derived = vec![
            ("cluster.domain", of_domain(name.clone())),
            ("cluster.appsDomain", of_domain(format!("apps.{name}"))),
            ("api.url", of_domain(format!("https://api.{name}:6443"))),
            ("api.internalUrl", of_domain(format!("https://api-int.{name}:6443"))),
            ("networks.machine", files.list(&self.networks.machine, machine)),
            ("networks.service", files.list(&self.networks.service, service)),
            ("networks.cluster", self.pod_networks()),
            ("service.kubernetes", files.list(&self.kubernetes_ips(), service)),
            ("service.dns", files.list(&self.dns_ips(), service)),
            ("network.loopbacks", files.list(&self.loopbacks(), machine)),
            ("platform.name", of_platform(self.platform.name())),
            ("platform.type", of_platform(self.platform.infrastructure_type())),
            ("platform.loadBalancer", self.balancer_field()),
            ("proxy.exceptions", self.exceptions()),
            ("installConfig", files.as_written(Install, &files.install.given, "")),
        ];
        derived.extend(self.vips());
        derived.extend(self.topology());
        derived.extend(self.node_fields(&domain));
        for (path, field) in derived {
            insert(&mut tree, path, field);
        }
        Fields::new(tree)
    }

    /// The VIPs. Those of cluster.yaml are a list by their row already.
    fn vips(&self) -> Vec<(&'static str, Field)> {
        let files = &*self.files;
        if let Some(node) = self.bootstrap().filter(|_| self.load_balancer() == platform::NO_BALANCER) {
            // Written as the node's address, and nowhere else.
            let field = files.cluster.element("nodes", 0, &files.cluster.list("nodes")[0]);
            let origin = files.origin(Ours, &join(&field, "ip"));
            let leaf = |ip: &IpAddr| Field::leaf(ip.to_string(), origin.clone());
            let first = || Field::leaf(node.ips.first().map(ToString::to_string), origin.clone());
            let all = || Field::List(node.ips.iter().map(leaf).collect());
            return vec![
                ("api.vip", first()),
                ("ingress.vip", first()),
                ("api.vips", all()),
                ("ingress.vips", all()),
            ];
        }
        let (file, [api, ingress]) = platform::vip_fields(&files.install);
        let [api, ingress] = [api, ingress].map(|names| files.either(names));
        let mut all = vec![
            ("api.vip", files.first(&self.api_vips, (file, api))),
            ("ingress.vip", files.first(&self.ingress_vips, (file, ingress))),
        ];
        if file == Install {
            all.push(("api.vips", files.list(&self.api_vips, api)));
            all.push(("ingress.vips", files.list(&self.ingress_vips, ingress)));
        }
        all
    }

    fn balancer_field(&self) -> Field {
        let platform = self.platform.field();
        let decided = [(Install, platform.as_str()), (Ours, "vips")];
        // With a bootstrap machine there are always VIPs: whether they are given decides nothing.
        let decided = if self.is_in_place() { &decided[..] } else { &decided[..1] };
        Field::leaf(self.load_balancer(), self.files.origins(decided))
    }

    fn topology(&self) -> [(&'static str, Field); 6] {
        let leaf = |value: Value, fields: &[(File, &str)]| Field::leaf(value, self.files.origins(fields));
        let count = |role| Value::Int(i64::try_from(self.nodes_of(role).count()).unwrap_or(i64::MAX));
        let bootstrap = if self.is_in_place() { "in-place" } else { "machine" };
        [
            ("cluster.bootstrap", leaf(bootstrap.into(), &[(Ours, "nodes")])),
            ("cluster.controlPlaneTopology", leaf(self.control_plane_topology().into(), &[MASTERS])),
            (
                "cluster.infrastructureTopology",
                leaf(self.infrastructure_topology().into(), &[MASTERS, WORKERS]),
            ),
            ("cluster.mastersSchedulable", leaf(self.masters_schedulable().into(), &[WORKERS])),
            ("cluster.masters", leaf(count(Role::Master), &[MASTERS])),
            ("cluster.workers", leaf(count(Role::Worker), &[WORKERS])),
        ]
    }

    fn pod_networks(&self) -> Field {
        let files = &self.files;
        let list = files.either(PODS);
        let pods = self.networks.cluster.iter().enumerate().map(|(index, network)| {
            let decided = |name: &str| {
                let own = format!("{list}.{index}.{name}");
                files.origin(Install, if files.install.wrote(&own) { &own } else { list })
            };
            Field::map([
                ("cidr", Field::leaf(network.cidr.to_string(), decided("cidr"))),
                ("hostPrefix", Field::leaf(i64::from(network.host_prefix), decided("hostPrefix"))),
            ])
        });
        Field::List(pods.collect())
    }

    fn exceptions(&self) -> Field {
        let files = &self.files;
        let exceptions = self.proxy_exceptions();
        let decided = [
            (Install, "proxy.noProxy"),
            (Install, "metadata.name"),
            (Install, "baseDomain"),
            (Install, files.either(MACHINE)),
            (Install, files.either(PODS)),
            (Install, files.either(SERVICE)),
        ];
        // Without a proxy, only `proxy` determines it: a changed network does not affect its readers.
        let decided = if exceptions.is_some() { &decided[..] } else { &[(Install, "proxy")] };
        Field::leaf(exceptions, files.origins(decided))
    }

    /// `nodes`, `masters`, `workers` and `bootstrap`: the first owns its elements, the others are views.
    fn node_fields(&self, domain: &Origins) -> [(&'static str, Field); 5] {
        let files = &*self.files;
        // The same for every node: looked up once.
        let machine = files.origin(Install, files.either(MACHINE));
        let gateway = files.origin(Ours, "network.gateway");
        let gateways: Vec<IpAddr> = files.cluster.given.all("network.gateway");
        let address = |ip: IpAddr, own: &Origins| {
            let network = self.networks.machine.iter().find(|network| network.contains(&ip));
            let via = network.and_then(|network| gateways.iter().find(|via| network.contains(*via)));
            Field::map([
                ("ip", Field::leaf(ip.to_string(), own.clone())),
                (
                    "prefix",
                    Field::leaf(network.map(|network| i64::from(network.prefix_len())), machine.clone()),
                ),
                ("gateway", Field::leaf(via.map(ToString::to_string), gateway.clone())),
                ("family", Field::leaf(if ip.is_ipv4() { "ipv4" } else { "ipv6" }, own.clone())),
            ])
        };
        let mut by_role: BTreeMap<Role, Vec<Field>> = BTreeMap::new();
        let given = files.cluster.list("nodes");
        let all = self.nodes.iter().zip(given).enumerate().map(|(at, (node, given))| {
            let same = by_role.entry(node.role).or_default();
            let path = files.cluster.element("nodes", at, given);
            let mut tree = Rows { files, file: Ours, within: given }.element(NODES, &path);
            let own = files.origin(Ours, &join(&path, "ip"));
            let addresses = given.all("ip").into_iter().map(|ip| address(ip, &own)).collect();
            tree.insert("addresses".to_owned(), Field::List(addresses));
            self.add_derived(&mut tree, (node, same.len()), &path, domain);
            let shared = Field::Shared { path: path.into(), field: Arc::new(Field::Map(tree)) };
            same.push(shared.clone());
            shared
        });
        let all: Vec<Field> = all.collect();
        let joining = self.nodes.iter().zip(&all).filter(|(node, _)| node.role != Role::Bootstrap);
        let joining = Field::List(joining.map(|(_, field)| field.clone()).collect());
        // In place the only node, which its role has too.
        let bootstrap = by_role.get(&Role::Bootstrap).or_else(|| by_role.get(&Role::Master));
        let bootstrap = bootstrap.and_then(|nodes| nodes.first()).cloned();
        let all = Field::List(all);
        let mut take = |role| by_role.remove(&role).unwrap_or_default();
        let list = |nodes: Vec<Field>, replicas| {
            if nodes.is_empty() { Field::empty_list(files.origins(&[replicas])) } else { Field::List(nodes) }
        };
        [
            ("masters", list(take(Role::Master), MASTERS)),
            ("workers", list(take(Role::Worker), WORKERS)),
            ("bootstrap", bootstrap.unwrap_or_else(|| Field::map([]))),
            ("joining", joining),
            ("nodes", all),
        ]
    }

    fn add_derived(&self, tree: &mut Tree, (node, index): (&Node, usize), path: &str, domain: &Origins) {
        let own = |field: &str| self.files.origin(Ours, &join(path, field));
        let etcd_name = (node.role == Role::Master).then(|| format!("etcd-{index}"));
        let named = own("name").iter().chain(domain.iter()).cloned().collect();
        let derived = [
            ("fqdn", Field::leaf(self.fqdn(node), named)),
            ("index", Field::leaf(i64::try_from(index).unwrap_or(i64::MAX), own("role"))),
            ("etcdName", Field::leaf(etcd_name, own("role"))),
            ("ip", self.files.first(&node.ips, (Ours, &join(path, "ip")))),
        ];
        tree.extend(derived.map(|(name, field)| (name.to_owned(), field)));
    }
}

/// Inserts rows into the tree.
struct Rows<'a> {
    files: &'a Files,
    file: File,
    /// The list element that the rows belong to, or the whole file.
    within: &'a Given,
}

impl Rows<'_> {
    /// `at` is the path of the map in the file, `seen` its path in the tree.
    fn put(&self, rows: &[Row], map: Option<&Given>, [at, seen]: [&str; 2], tree: &mut Tree) {
        for row in rows {
            let wrote = |name: &str| self.files.of(self.file).wrote(&join(at, name));
            let name = match row.formerly {
                Some(old) if wrote(old) && !wrote(row.name) => old,
                _ => row.name,
            };
            let (at, seen) = (join(at, name), join(seen, row.name));
            let given = map.and_then(|map| map.at(name));
            if let Kind::Map(rows) = row.kind {
                self.put(rows, given, [&at, &seen], tree);
                continue;
            }
            match row.seen {
                Seen::As(path) => insert(tree, path, self.field(row, given, &at)),
                Seen::AsWritten if self.file == Ours => insert(tree, &seen, self.field(row, given, &at)),
                Seen::AsWritten | Seen::Derived => {}
            }
        }
    }

    fn element(&self, rows: &[Row], at: &str) -> Tree {
        let mut tree = Tree::new();
        self.put(rows, Some(self.within), [at, ""], &mut tree);
        tree
    }

    fn field(&self, row: &Row, given: Option<&Given>, at: &str) -> Field {
        let origins = || self.files.origin(self.file, at);
        let element = |rows, within, at: &str| Field::Map(Rows { within, ..*self }.element(rows, at));
        match (row.kind, given) {
            (Kind::Named(rows), Some(Given::Map(map))) => Field::Map(
                map.iter()
                    .map(|(name, given)| (name.clone(), element(rows, given, &join(at, name))))
                    .collect(),
            ),
            (Kind::Named(_), _) => Field::Map(Tree::new()),
            (Kind::Document(_), Some(given)) => self.files.as_written(self.file, given, at),
            (Kind::List(rows), Some(Given::List(items))) if !items.is_empty() => {
                let path = |index, item| self.files.of(self.file).element(at, index, item);
                let items = items.iter().enumerate();
                Field::List(items.map(|(index, item)| element(rows, item, &path(index, item))).collect())
            }
            _ if row.secret => match self.files.of(self.file).secrets.get(at) {
                Some(secret) => {
                    let wrote = self.files.of(self.file).wrote(at);
                    let origins = match row.fallback {
                        Fallback::From(fields, _) if !wrote => self.files.origins(fields),
                        _ => origins(),
                    };
                    Field::Secret { value: secret.clone(), origins }
                }
                None => Field::leaf(Value::Null, origins()),
            },
            (_, Some(Given::Leaf { scalar, .. })) => leaf(Some(scalar), origins()),
            (_, Some(Given::List(items))) if !items.is_empty() => {
                let scalars = items.iter().enumerate();
                let origins = |index| self.files.element_origin(self.file, at, index);
                Field::List(scalars.map(|(index, item)| leaf(item.get(""), origins(index))).collect())
            }
            _ => self.fallback(row, at),
        }
    }

    /// The value of a field that is not set.
    fn fallback(&self, row: &Row, at: &str) -> Field {
        let mut origins = vec![self.files.place(self.file, at)];
        match row.fallback {
            Fallback::Field(other) => {
                let nothing = Row { fallback: Fallback::Nothing { unset: false }, ..*row };
                return self.field(&nothing, self.within.at(other), other);
            }
            Fallback::From(fields, _) => {
                origins.extend(fields.iter().map(|(file, field)| self.files.place(*file, field)));
            }
            Fallback::Nothing { unset } => {
                return Field::Leaf { value: row.kind.nothing(), origins: origins.into(), unset };
            }
            Fallback::Text(_) => {}
        }
        let value = leaf(self.files.fallback(row, self.within).as_ref(), origins.into());
        match row.kind {
            Kind::Texts(_) | Kind::OneOrMore(_) => Field::List(vec![value]),
            _ => value,
        }
    }
}

fn leaf(scalar: Option<&Scalar>, origins: Origins) -> Field {
    Field::data(scalar.map_or(Value::Null, Scalar::value), &origins)
}

/// Inserts a field at a dotted path.
fn insert(tree: &mut Tree, path: &str, field: Field) {
    match path.split_once('.') {
        None => drop(tree.insert(path.to_owned(), field)),
        Some((first, rest)) => {
            if let Field::Map(map) = tree.entry(first.to_owned()).or_insert_with(|| Field::Map(Tree::new())) {
                insert(map, rest, field);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::fields::Projected;
    use crate::openshift::config::spec::{field, nullable};
    use crate::openshift::config::{Source, load, syntax};

    /// The fields of a map `m` with these rows, of which nobody wrote any.
    fn unwritten(rows: &'static [Row]) -> Fields {
        let [install, cluster] = [
            include_str!("../../../examples/ocp4/install-config.yaml"),
            include_str!("../../../examples/ocp4/cluster.yaml"),
        ];
        let [install, cluster] = [install, cluster].map(|text| Source { name: "x", text });
        let files = load(install, cluster, &|_| Err(String::new())).unwrap().files;
        let rows = [field("m", Kind::Map(rows), "")];
        let within = Given::Map(BTreeMap::new());
        let mut tree = Tree::new();
        Rows { files: &files, file: Ours, within: &within }.put(&rows, None, ["", ""], &mut tree);
        Fields::new(tree)
    }

    #[test]
    fn an_unset_field_is_null_by_name_and_nothing_in_a_whole_map() {
        const OLD: [Row; 2] = [
            field("given", Kind::Bool, "").default("true"),
            nullable("known", Kind::Text(&syntax::TEXT), ""),
        ];
        const NEW: [Row; 4] = [
            OLD[0],
            OLD[1],
            field("text", Kind::Text(&syntax::TEXT), ""),
            field("map", Kind::Map(&[field("list", Kind::Texts(&syntax::TEXT), "")]), ""),
        ];
        let show = |rows, path: &str| match unwritten(rows).project(path).unwrap().value {
            Projected::Plain(value) => value.to_string(),
            Projected::Secret(_) => panic!("{path}"),
        };
        assert_eq!(show(&OLD, "m"), r#"{"given":true,"known":null}"#);
        assert_eq!(show(&NEW, "m"), show(&OLD, "m"));
        assert_eq!(show(&NEW, "m.{given,text}"), r#"{"given":true,"text":null}"#);
        assert_eq!(show(&NEW, "m.map.list"), "[]");
        assert_eq!(show(&NEW, "m.map.list.*"), "[]");
        // Whoever projects the map changes once the field is set.
        let reads = unwritten(&NEW).project("m").unwrap().reads;
        let reads: Vec<&str> = reads.iter().map(|read| read.path.as_str()).collect();
        assert_eq!(reads, ["m.given", "m.known", "m.map.list", "m.text"]);
    }
}
