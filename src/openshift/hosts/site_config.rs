//! SiteConfig of ZTP (`ran.openshift.io`), which ClusterInstance replaces: many clusters in one document, in nearly the same words.
//! Each is turned into the ClusterInstance that says the same; what has no counterpart there is listed with a reason.

use super::cluster_instance::{ClusterInstance, GROUP, instance, map, node, text};
use super::reader::{LeftOutRow, Reader, join};
use super::{HUB, LeftOut};
use crate::base::hint::Problems;
use crate::base::yaml::{YamlData, YamlEntry, YamlNode};

const GROUP_OF_ZTP: &str = "ran.openshift.io/";

const MANIFESTS: &str = "put the manifests into manifests/";
const FIRMWARE: &str = "tinderbox sets no firmware: use your own tools";

const COUNTED: &str = "it follows from the nodes";

const SITE: &[LeftOutRow] = &[
    ("biosConfigRef", FIRMWARE),
    ("crAnnotations", HUB),
    ("crSuppression", HUB),
    ("crTemplates", HUB),
    ("sshPrivateKeySecretRef", "it names a Secret on the hub"),
];

const CLUSTER: &[LeftOutRow] = &[
    ("biosConfigRef", FIRMWARE),
    ("clusterLabels", HUB),
    ("clusterType", COUNTED),
    ("crAnnotations", HUB),
    ("crSuppression", HUB),
    ("crTemplates", HUB),
    ("extraManifestOnly", HUB),
    ("extraManifestPath", MANIFESTS),
    ("extraManifests", MANIFESTS),
    ("legacyConfig", HUB),
    ("manifestsConfigMapRefs", "they name ConfigMaps on the hub: put their manifests into manifests/"),
    ("mergeDefaultMachineConfigs", HUB),
    ("numMasters", COUNTED),
    ("numWorkers", COUNTED),
    ("siteConfigMap", HUB),
];

const NODE: &[LeftOutRow] = &[
    ("biosConfigRef", FIRMWARE),
    ("cpuset", "write a PerformanceProfile with these CPUs into manifests/"),
    ("crAnnotations", HUB),
    ("crSuppression", HUB),
    ("crTemplates", HUB),
    ("diskPartition", "write a MachineConfig with these partitions into manifests/"),
    ("userData", HUB),
];

/// What the document says for all of its clusters.
const INHERITED: [&str; 4] = ["baseDomain", "clusterImageSetNameRef", "pullSecretRef", "sshPublicKey"];

/// One of the clusters of a document, with its name.
pub(crate) struct SiteConfigCluster {
    pub name: String,
    pub line: usize,
    /// None if it has problems.
    pub instance: Option<ClusterInstance>,
}

/// Whether a document is one.
pub(crate) fn is_site_config(document: &YamlNode) -> bool {
    let text = |key: &str| document.get(key).and_then(YamlNode::text).unwrap_or_default();
    text("kind") == "SiteConfig" && text("apiVersion").starts_with(GROUP_OF_ZTP)
}

/// The clusters of a document of a file.
pub(crate) fn site_config(
    file: &str,
    document: &YamlNode,
    problems: &mut Problems,
) -> Vec<SiteConfigCluster> {
    let mut reader = Reader::new(file, problems);
    let spec = document.get("spec").filter(|spec| !spec.is_null());
    let clusters = spec.and_then(|spec| spec.get("clusters")).map_or(&[][..], YamlNode::items);
    let Some(spec) = spec.filter(|_| !clusters.is_empty()) else {
        let hint = "it has `baseDomain`, `clusters` and more";
        reader.problem("spec.clusters", document.line, "required, but missing", hint);
        return Vec::new();
    };
    let known: Vec<&str> = INHERITED.into_iter().chain(["clusters"]).collect();
    reader.fields("spec", spec, &known, SITE);
    let of_site = std::mem::take(&mut reader.left_out);
    let mut found = Vec::new();
    for (index, cluster) in clusters.iter().enumerate() {
        let at = format!("spec.clusters.{index}");
        let name = cluster.get("clusterName").and_then(YamlNode::text).unwrap_or_default().to_owned();
        let (converted, mut left_out) = convert(file, &at, spec, cluster, problems);
        // What the document itself leaves out is told once.
        left_out.extend(of_site.iter().filter(|_| index == 0).cloned());
        let instance = instance(file, &converted, &at, problems).map(|mut instance| {
            instance.hosts.left_out.extend(left_out);
            instance
        });
        found.push(SiteConfigCluster { name, line: cluster.line, instance });
    }
    found
}

/// The ClusterInstance of a cluster, and what has no place in one.
fn convert(
    file: &str,
    at: &str,
    spec: &YamlNode,
    cluster: &YamlNode,
    problems: &mut Problems,
) -> (YamlNode, Vec<LeftOut>) {
    let mut reader = Reader::new(file, problems);
    let mut fields: Vec<YamlEntry> = Vec::new();
    for entry in entries(cluster) {
        let kept = match entry.key.as_str() {
            _ if left_out(&mut reader, at, entry, CLUSTER) => continue,
            "apiVIP" => renamed(entry, "apiVIPs", node(YamlData::List(vec![entry.value.clone()]))),
            "ingressVIP" => renamed(entry, "ingressVIPs", node(YamlData::List(vec![entry.value.clone()]))),
            "serviceNetwork" => renamed(entry, "serviceNetwork", networks(&entry.value)),
            "nodes" => renamed(entry, "nodes", nodes(&mut reader, &join(at, "nodes"), &entry.value)),
            _ => entry.clone(),
        };
        // `apiVIP: ""` is none.
        let is_given = entry.value.text() != Some("");
        if is_given && fields.iter().all(|known| known.key != kept.key) {
            fields.push(kept);
        }
    }
    for entry in entries(spec).filter(|entry| INHERITED.contains(&entry.key.as_str())) {
        if fields.iter().all(|known| known.key != entry.key) {
            fields.push(entry.clone());
        }
    }
    let left_out = std::mem::take(&mut reader.left_out);
    let spec = YamlNode { data: YamlData::Map(fields), ..cluster.clone() };
    let version = format!("{GROUP}v1alpha1");
    let mut document =
        map(vec![("apiVersion", text(&version)), ("kind", text("ClusterInstance")), ("spec", spec)]);
    document.line = cluster.line;
    (document, left_out)
}

/// Nodes without the fields that only a SiteConfig has.
fn nodes(reader: &mut Reader<'_>, at: &str, list: &YamlNode) -> YamlNode {
    let each = list.items().iter().enumerate().map(|(index, one)| {
        let at = join(at, &index.to_string());
        let kept = entries(one).filter(|entry| !left_out(reader, &at, entry, NODE)).cloned().collect();
        YamlNode { data: YamlData::Map(kept), ..one.clone() }
    });
    YamlNode { data: YamlData::List(each.collect()), ..list.clone() }
}

/// Networks as `{cidr: …}`: a SiteConfig has texts.
fn networks(list: &YamlNode) -> YamlNode {
    let each = list.items().iter().map(|one| match one.text() {
        Some(_) => YamlNode { line: one.line, ..map(vec![("cidr", one.clone())]) },
        None => one.clone(),
    });
    YamlNode { data: YamlData::List(each.collect()), ..list.clone() }
}

/// Whether a field has no counterpart: it is listed then.
fn left_out(reader: &mut Reader<'_>, at: &str, entry: &YamlEntry, rows: &[LeftOutRow]) -> bool {
    let Some((_, reason)) = rows.iter().find(|(name, _)| *name == entry.key) else { return false };
    if !entry.value.is_null() {
        reader.leave_out(&join(at, &entry.key), entry.line, *reason);
    }
    true
}

fn renamed(entry: &YamlEntry, key: &str, mut value: YamlNode) -> YamlEntry {
    if value.line == 0 {
        value.line = entry.line;
    }
    YamlEntry { key: key.to_owned(), value, ..entry.clone() }
}

fn entries(map: &YamlNode) -> impl Iterator<Item = &YamlEntry> {
    let entries = if let YamlData::Map(entries) = &map.data { entries.as_slice() } else { &[] };
    entries.iter()
}

#[cfg(test)]
mod tests {
    use super::{is_site_config, site_config};
    use crate::base::hint::Problems;
    use crate::base::yaml::{Source, parse};

    const TWO: &str = "\
apiVersion: ran.openshift.io/v1
kind: SiteConfig
metadata: {name: sites}
spec:
  baseDomain: example.com
  sshPublicKey: ssh-ed25519 AAAA
  clusterImageSetNameRef: img4.18
  pullSecretRef: {name: secret}
  clusters:
  - clusterName: one
    clusterLabels: {common: 'true'}
    networkType: OVNKubernetes
    machineNetwork: [{cidr: 10.0.0.0/24}]
    serviceNetwork: [172.30.0.0/16]
    nodes:
    - hostName: node.one.example.com
      bootMACAddress: 52:54:00:00:00:01
      cpuset: 0-1
      nodeNetwork: {interfaces: [{name: eno1, macAddress: '52:54:00:00:00:01'}]}
  - clusterName: two
    clusterType: Standard
    apiVIP: 10.0.1.5
    ingressVIP: 10.0.1.6
    baseDomain: two.example.com
    machineNetwork: [{cidr: 10.0.1.0/24}]
    nodes:
    - {hostName: a, bootMACAddress: '52:54:00:00:00:02'}
    - {hostName: b, bootMACAddress: '52:54:00:00:00:03'}
    - {hostName: c, bootMACAddress: '52:54:00:00:00:04', rolle: master}
";

    #[test]
    fn each_cluster_is_a_cluster_instance() {
        let mut problems = Problems::default();
        let text = TWO.replace(", rolle: master", "");
        let document = parse(Source { name: "sites.yaml", text: &text }, &mut problems).expect("YAML");
        assert!(is_site_config(&document));
        let found = site_config("sites.yaml", &document, &mut problems);
        assert_eq!(problems.0, []);
        let [one, two] = found.as_slice() else { panic!("two clusters") };
        assert_eq!((one.name.as_str(), two.name.as_str()), ("one", "two"));
        let (one, two) = (one.instance.as_ref().expect("one"), two.instance.as_ref().expect("two"));
        for part in
            ["baseDomain: example.com", "serviceNetwork:\n  - 172.30.0.0/16", "ssh-ed25519 AAAA", "none: {}"]
        {
            assert!(one.install_config.contains(part), "{part} in {}", one.install_config);
        }
        for part in ["baseDomain: two.example.com", "apiVIPs:", "10.0.1.5", "replicas: 3"] {
            assert!(two.install_config.contains(part), "{part} in {}", two.install_config);
        }
        let left: Vec<String> = one.hosts.left_out.iter().map(|left| left.place.to_string()).collect();
        assert!(left.contains(&"sites.yaml:11: spec.clusters.0.clusterLabels".to_owned()), "{left:?}");
        assert!(left.contains(&"sites.yaml:18: spec.clusters.0.nodes.0.cpuset".to_owned()), "{left:?}");
    }

    #[test]
    fn a_mistake_is_told_where_it_stands() {
        let mut problems = Problems::default();
        let document = parse(Source { name: "sites.yaml", text: TWO }, &mut problems).expect("YAML");
        site_config("sites.yaml", &document, &mut problems);
        let told: Vec<String> =
            problems.0.iter().map(|one| format!("{}: {}", one.place, one.message)).collect();
        assert_eq!(told, ["sites.yaml:29: spec.clusters.1.nodes.2.rolle: unknown field"]);
    }
}
