//! ClusterInstance of ACM's SiteConfig operator: hosts, and the install-config that the operator would make.

use std::ops::Range;

use ipnet::IpNet;

use super::agent_config::role;
use super::network::HostNetwork;
use super::reader::{LeftOutRow, Reader, join};
use super::{HUB, Host, HostPort, Hosts, line_of};
use crate::base::hint::{Place, Problem, Problems};
use crate::base::yaml::{self, Source, YamlData, YamlEntry, YamlNode};
use crate::openshift::config::Role;

pub(super) const GROUP: &str = "siteconfig.open-cluster-management.io/";

const IGNITION: &str =
    "write a MachineConfig into manifests/ for it, or a patch of the node's Ignition config";
const BMC: &str = "tinderbox switches no machine on: boot it by hand, or with your own tools";

const SPEC: &[LeftOutRow] = &[
    (
        "caBundleRef",
        "it names a ConfigMap on the hub: write its certificates to `additionalTrustBundle` of install-config.yaml",
    ),
    ("clusterImageSetNameRef", "it names an object on the hub: `init --release` says which release it is"),
    ("diskEncryption", "write the MachineConfigs for it into manifests/"),
    ("extraAnnotations", HUB),
    ("extraLabels", HUB),
    ("extraManifestsRefs", "they name ConfigMaps on the hub: put their manifests into manifests/"),
    ("holdInstallation", HUB),
    ("ignitionConfigOverride", IGNITION),
    ("pruneManifests", HUB),
    ("pullSecretRef", "it names a Secret on the hub: write its content to pull-secret.json"),
    ("reinstall", HUB),
    ("suppressedManifests", HUB),
    ("templateRefs", HUB),
];

const NODE: &[LeftOutRow] = &[
    ("automatedCleaningMode", BMC),
    ("bmcAddress", BMC),
    ("bmcCredentialsName", BMC),
    ("bootMode", "the machine's firmware decides how it boots"),
    ("extraAnnotations", HUB),
    ("extraLabels", HUB),
    ("hostRef", HUB),
    ("ignitionConfigOverride", IGNITION),
    ("installerArgs", "the ISO's own installation takes no more arguments"),
    ("ironicInspect", BMC),
    ("nodeLabels", "label the nodes once they have joined"),
    ("pruneManifests", HUB),
    ("suppressedManifests", HUB),
    ("templateRefs", HUB),
];

/// Where the spec of a ClusterInstance stands.
const SPEC_PATH: &str = "spec";

/// Where fields of the install-config come from.
const ORIGINS: &[(&str, &str)] = &[
    ("metadata.name", "clusterName"),
    ("baseDomain", "baseDomain"),
    ("networking.clusterNetwork", "clusterNetwork"),
    ("networking.machineNetwork", "machineNetwork"),
    ("networking.serviceNetwork", "serviceNetwork"),
    ("networking.networkType", "networkType"),
    ("controlPlane.architecture", "cpuArchitecture"),
    ("compute.worker.architecture", "cpuArchitecture"),
    ("controlPlane", "nodes"),
    ("compute", "nodes"),
    ("cpuPartitioningMode", "cpuPartitioningMode"),
    ("proxy", "proxy"),
    ("sshKey", "sshPublicKey"),
    ("platform.baremetal.apiVIPs", "apiVIPs"),
    ("platform.baremetal.ingressVIPs", "ingressVIPs"),
    ("platform", "platformType"),
];

/// The install-config and the hosts of a ClusterInstance.
pub(crate) struct ClusterInstance {
    /// Without a pull secret.
    pub install_config: String,
    pub hosts: Hosts,
    spec: YamlNode,
    /// Where that stands in the document.
    at: String,
}

/// Whether a document is one.
pub(crate) fn is_cluster_instance(document: &YamlNode) -> bool {
    let text = |key: &str| document.get(key).and_then(YamlNode::text).unwrap_or_default();
    text("kind") == "ClusterInstance" && text("apiVersion").starts_with(GROUP)
}

/// Reads the only ClusterInstance of a file.
pub(crate) fn cluster_instance(source: Source<'_>, problems: &mut Problems) -> Option<ClusterInstance> {
    let documents = yaml::documents(source, problems);
    let mut found = documents.iter().filter(|document| is_cluster_instance(document));
    let (first, second) = (found.next()?, found.next());
    let mut reader = Reader::new(source.name, problems);
    if let Some(second) = second {
        reader.problem("", second.line, "a second ClusterInstance", "write each into a file of its own");
    }
    for other in documents.iter().filter(|document| !is_cluster_instance(document) && !document.is_null()) {
        let kind = other.get("kind").and_then(YamlNode::text).unwrap_or("an object");
        reader.leave_out("", other.line, format!("{kind}: put what the cluster needs of it into manifests/"));
    }
    read(&mut reader, first, SPEC_PATH)
}

/// Reads a document that is a ClusterInstance, whatever else is in its file.
pub(crate) fn one_cluster_instance(
    file: &str,
    document: &YamlNode,
    problems: &mut Problems,
) -> Option<ClusterInstance> {
    read(&mut Reader::new(file, problems), document, SPEC_PATH)
}

/// Reads a document that is one, or that was made one of what stands at `at` of another.
pub(super) fn instance(
    file: &str,
    document: &YamlNode,
    at: &str,
    problems: &mut Problems,
) -> Option<ClusterInstance> {
    let mut reader = Reader { moved: Some((SPEC_PATH, at.to_owned())), ..Reader::new(file, problems) };
    read(&mut reader, document, at)
}

fn read(reader: &mut Reader<'_>, first: &YamlNode, at: &str) -> Option<ClusterInstance> {
    let Some(spec) = first.get("spec") else {
        reader.problem("spec", first.line, "required, but missing", "it has `clusterName`, `nodes` and more");
        return None;
    };
    let known = [
        "additionalNTPSources",
        "apiVIPs",
        "baseDomain",
        "clusterName",
        "clusterNetwork",
        "clusterType",
        "cpuArchitecture",
        "cpuPartitioningMode",
        "ingressVIPs",
        "installConfigOverrides",
        "machineNetwork",
        "networkType",
        "nodes",
        "platformType",
        "proxy",
        "serviceNetwork",
        "sshPublicKey",
    ];
    reader.fields("spec", spec, &known, SPEC);
    let nodes = spec.get("nodes").map_or(&[][..], YamlNode::items).iter().enumerate();
    let hosts: Vec<Host> =
        nodes.map(|(index, node)| host(reader, &join("spec.nodes", &index.to_string()), node)).collect();
    kind(reader, spec);
    let mut hosts = Hosts {
        file: reader.file.to_owned(),
        hosts,
        api_vips: reader.addresses("spec.apiVIPs", spec.get("apiVIPs")),
        ingress_vips: reader.addresses("spec.ingressVIPs", spec.get("ingressVIPs")),
        rendezvous: None,
        ntp: reader.ntp("spec.additionalNTPSources", spec.get("additionalNTPSources")),
        left_out: Vec::new(),
    };
    let install_config = install_config(reader, spec, &hosts);
    hosts.left_out = std::mem::take(&mut reader.left_out);
    Some(ClusterInstance { install_config, hosts, spec: spec.clone(), at: at.to_owned() })
}

impl ClusterInstance {
    /// Moves a problem of the generated install-config to the field that it came from.
    pub(crate) fn locate(&self, mut problem: Problem) -> Problem {
        let field = problem.place.field.clone();
        let below =
            |prefix: &str| field.strip_prefix(prefix).filter(|rest| rest.is_empty() || rest.starts_with('.'));
        let origin = ORIGINS.iter().find_map(|(here, there)| Some(format!("{there}{}", below(here)?)));
        let is_given = |path: &&String| self.spec.get(path.split('.').next().unwrap_or_default()).is_some();
        let overrides =
            || self.spec.get("installConfigOverrides").map(|_| "installConfigOverrides".to_owned());
        let given = origin.as_ref().filter(is_given).cloned();
        let path = given.or_else(overrides).or(origin).unwrap_or_default();
        let line = Some(line_of(&self.spec, &path));
        problem.place = Place { file: self.hosts.file.clone(), line, field: join(&self.at, &path) };
        problem
    }
}

fn host(reader: &mut Reader<'_>, path: &str, node: &YamlNode) -> Host {
    let known = ["hostName", "role", "rootDeviceHints", "nodeNetwork", "bootMACAddress", "cpuArchitecture"];
    reader.fields(path, node, &known, NODE);
    if node.get("cpuArchitecture").is_some() {
        let line = line_of(node, "cpuArchitecture");
        reader.leave_out(
            &join(path, "cpuArchitecture"),
            line,
            "all nodes have one architecture, that of the cluster",
        );
    }
    let network_path = join(path, "nodeNetwork");
    let network = node.get("nodeNetwork").filter(|node| !node.is_null());
    if let Some(network) = network {
        reader.fields(&network_path, network, &["interfaces", "config"], &[]);
    }
    let mut ports =
        reader.ports(&join(&network_path, "interfaces"), network.and_then(|node| node.get("interfaces")));
    let boot = reader.text(path, node, "bootMACAddress").map(|mac| mac.value.to_ascii_lowercase());
    if let Some(mac) = boot.filter(|_| ports.is_empty()) {
        ports.push(HostPort { name: "boot".to_owned(), mac });
    }
    let config = network.and_then(|node| node.get("config")).filter(|node| !node.is_null());
    if config.is_none() {
        reader.idle_ports(
            &join(&network_path, "interfaces"),
            line_of(node, "nodeNetwork.interfaces"),
            &ports,
        );
    }
    let config_path = join(&network_path, "config");
    Host {
        host_name: reader.text(path, node, "hostName").map(|name| name.value),
        // As the operator has it: a node is a master unless it says otherwise.
        role: match node.get("role") {
            None => Some(Role::Master),
            Some(_) => role(reader, path, node),
        },
        ports,
        install_device: reader.install_device(&join(path, "rootDeviceHints"), node.get("rootDeviceHints")),
        network: config.map(|node| HostNetwork::of(reader.place(&config_path, node.line), node)),
        place: reader.place(path, node.line),
    }
}

/// Judges what kind of cluster it is.
fn kind(reader: &mut Reader<'_>, spec: &YamlNode) {
    if let Some(kind) = reader.text("spec", spec, "clusterType")
        && !matches!(kind.value.as_str(), "SNO" | "HighlyAvailable")
    {
        let message = format!("`{}` clusters are not supported", kind.value);
        reader.problem(
            "spec.clusterType",
            line_of(spec, "clusterType"),
            message,
            "use `SNO` or `HighlyAvailable`",
        );
    }
}

/// The platform that the assisted installer would choose: without a word, `baremetal` for clusters with VIPs.
fn platform(reader: &mut Reader<'_>, spec: &YamlNode, hosts: &Hosts) -> YamlNode {
    let named = reader.text("spec", spec, "platformType").map(|platform| platform.value);
    let has_vips = !hosts.api_vips.is_empty() && !hosts.ingress_vips.is_empty();
    let masters = hosts.hosts.iter().filter(|host| host.role == Some(Role::Master)).count();
    let name = match named.as_deref() {
        Some("BareMetal") => "baremetal",
        Some("External") => "external",
        None | Some("") if has_vips && masters > 1 => "baremetal",
        None | Some("" | "None") => "none",
        Some(other) => {
            let reason = format!(
                "install-config.yaml has `platform: {{none: {{}}}}` in place of `{other}`: your load balancer holds the VIPs"
            );
            reader.leave_out("spec.platformType", line_of(spec, "platformType"), reason);
            "none"
        }
    };
    let vips = match name {
        "baremetal" => ["apiVIPs", "ingressVIPs"]
            .into_iter()
            .filter_map(|key| Some((key, spec.get(key).filter(|node| !node.is_null())?.clone())))
            .collect(),
        _ => Vec::new(),
    };
    map(vec![(name, map(vips))])
}

/// The install-config, with `installConfigOverrides` merged as the operator does.
fn install_config(reader: &mut Reader<'_>, spec: &YamlNode, hosts: &Hosts) -> String {
    let given = |key: &str| spec.get(key).filter(|node| !node.is_null()).cloned();
    let count = |role: Role| hosts.hosts.iter().filter(|host| host.role == Some(role)).count();
    let mut networking = Vec::new();
    networking.extend(given("networkType").map(|node| ("networkType", node)));
    networking.extend(
        given("machineNetwork").or_else(|| machine_network(hosts)).map(|node| ("machineNetwork", node)),
    );
    networking.extend(given("clusterNetwork").map(|node| ("clusterNetwork", node)));
    if let Some(services) = given("serviceNetwork") {
        let cidrs = services.items().iter().filter_map(|item| item.get("cidr").cloned()).collect();
        networking.push(("serviceNetwork", node(YamlData::List(cidrs))));
    }
    let pool = |name: &str, replicas: usize| {
        let mut fields = vec![("name", text(name)), ("replicas", text(&replicas.to_string()))];
        fields.splice(1..1, architecture(spec).map(|name| ("architecture", text(name))));
        map(fields)
    };
    let mut fields = vec![("apiVersion", text("v1"))];
    fields.extend(given("baseDomain").map(|node| ("baseDomain", node)));
    fields.extend(given("clusterName").map(|name| ("metadata", map(vec![("name", name)]))));
    fields.push(("controlPlane", pool("master", count(Role::Master))));
    fields.push(("compute", node(YamlData::List(vec![pool("worker", count(Role::Worker))]))));
    if !networking.is_empty() {
        fields.push(("networking", map(networking)));
    }
    fields.push(("platform", platform(reader, spec, hosts)));
    fields.extend(given("cpuPartitioningMode").map(|node| ("cpuPartitioningMode", node)));
    fields.extend(given("proxy").map(|node| ("proxy", node)));
    fields.extend(given("sshPublicKey").map(|node| ("sshKey", node)));
    let mut whole = map(fields);
    if let Some(overrides) = reader.text("spec", spec, "installConfigOverrides") {
        let line = line_of(spec, "installConfigOverrides");
        let mut found = Problems::default();
        match yaml::parse(Source { name: "installConfigOverrides", text: &overrides.value }, &mut found) {
            Some(over) if found.0.is_empty() => merge(&mut whole, &over),
            _ => reader.problem(
                "spec.installConfigOverrides",
                line,
                "it is not JSON",
                "for example: '{\"fips\": true}'",
            ),
        }
    }
    if given("cpuArchitecture").is_some_and(|node| node.text() == Some("multi")) {
        let line = line_of(spec, "cpuArchitecture");
        reader.problem(
            "spec.cpuArchitecture",
            line,
            "`multi` is not one architecture",
            "use `x86_64` or `aarch64`",
        );
    }
    format!("# Follows from the ClusterInstance in {}.\n{}\n", hosts.file, yaml::block(&whole, 0))
}

fn architecture(spec: &YamlNode) -> Option<&'static str> {
    match spec.get("cpuArchitecture")?.text()? {
        "x86_64" => Some("amd64"),
        "aarch64" => Some("arm64"),
        _ => None,
    }
}

/// The networks of the VIPs or, without any, of the first addresses, as far as hosts say how large they are.
fn machine_network(hosts: &Hosts) -> Option<YamlNode> {
    let networks =
        || hosts.hosts.iter().filter_map(|host| host.network.as_ref()).flat_map(|network| &network.addresses);
    let holds = |network: &&IpNet| hosts.api_vips.iter().any(|vip| network.contains(&vip.value));
    let mut found: Vec<IpNet> = Vec::new();
    let candidates = match networks().any(|network| holds(&network)) {
        true => networks().filter(holds).collect::<Vec<_>>(),
        false => networks().collect(),
    };
    for network in candidates {
        if !found.iter().any(|known| known.addr().is_ipv4() == network.addr().is_ipv4()) {
            found.push(network.trunc());
        }
    }
    let entries: Vec<YamlNode> =
        found.iter().map(|network| map(vec![("cidr", text(&network.to_string()))])).collect();
    (!entries.is_empty()).then(|| node(YamlData::List(entries)))
}

/// A JSON merge patch: null removes.
fn merge(into: &mut YamlNode, from: &YamlNode) {
    let YamlData::Map(new) = &from.data else {
        *into = from.clone();
        return;
    };
    if !matches!(into.data, YamlData::Map(_)) {
        into.data = YamlData::Map(Vec::new());
    }
    let YamlData::Map(entries) = &mut into.data else { return };
    for entry in new {
        let at = entries.iter().position(|old| old.key == entry.key);
        match (at, entry.value.is_null()) {
            (Some(at), true) => drop(entries.remove(at)),
            (Some(at), false) => merge(&mut entries[at].value, &entry.value),
            (None, true) => {}
            (None, false) => entries.push(entry.clone()),
        }
    }
}

const NOWHERE: Range<usize> = 0..0;

pub(super) fn node(data: YamlData) -> YamlNode {
    YamlNode { line: 0, span: NOWHERE, data }
}

pub(super) fn text(text: &str) -> YamlNode {
    node(YamlData::Scalar { text: text.to_owned(), plain: true })
}

pub(super) fn map(entries: Vec<(&str, YamlNode)>) -> YamlNode {
    let entry = |(key, value): (&str, YamlNode)| YamlEntry { key: key.to_owned(), line: 0, at: 0, value };
    node(YamlData::Map(entries.into_iter().map(entry).collect()))
}
