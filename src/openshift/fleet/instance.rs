//! Sites from ClusterInstance and SiteConfig documents: the cluster directory that `init --from` would write, as the most general layer. What
//! nobody but the user knows, the release and the pull secret, comes from the other layers.

use std::collections::BTreeMap;

use super::layer::Layer;
use super::read::place;
use super::{Layered, SiteValue};
use crate::base::hint::{Place, Problem, Problems};
use crate::base::yaml::{self, Source, YamlData, YamlNode};
use crate::openshift::config::{self, Known};
use crate::openshift::hosts::{self, ClusterInstance, LeftOut};
use crate::openshift::workspace::{CLUSTER, INSTALL_CONFIG};

pub(super) struct Found {
    pub(super) name: String,
    pub(super) place: Place,
    pub(super) site: Layered,
    pub(super) left_out: Vec<LeftOut>,
}

/// What the generated cluster.yaml says without knowing.
const UNKNOWN: [&str; 2] = ["release", "pullSecretFile"];

/// Reads a document of a file; none if it is neither a ClusterInstance nor a SiteConfig. A cluster with problems has no layers.
pub(super) fn read(file: &str, document: &YamlNode, problems: &mut Problems) -> Option<Vec<Found>> {
    if hosts::is_site_config(document) {
        let clusters = hosts::site_config(file, document, problems).into_iter().enumerate();
        let found = clusters.map(|(index, cluster)| {
            let at = place(file, cluster.line, &format!("spec.clusters.{index}.clusterName"));
            found(file, cluster.name, at, cluster.instance.as_ref(), problems)
        });
        return Some(found.collect());
    }
    if !hosts::is_cluster_instance(document) {
        return None;
    }
    let name = document.get("spec").and_then(|spec| spec.get("clusterName")?.text()).unwrap_or_default();
    let mut of_document = Problems::default();
    let instance = hosts::one_cluster_instance(file, document, &mut of_document);
    let instance = instance.filter(|_| of_document.0.is_empty());
    problems.0.extend(of_document.0);
    let at = place(file, document.line, "spec.clusterName");
    Some(vec![found(file, name.to_owned(), at, instance.as_ref(), problems)])
}

/// A cluster as a site.
fn found(
    file: &str,
    name: String,
    at: Place,
    instance: Option<&ClusterInstance>,
    problems: &mut Problems,
) -> Found {
    let line = at.line.unwrap_or(1);
    let value = SiteValue { text: name.clone(), plain: true, place: at.clone() };
    let mut site = Layered {
        base: None,
        groups: Vec::new(),
        own: Layer::empty(file, line, ""),
        values: [("name".to_owned(), value)].into(),
        seed: None,
        manifests: BTreeMap::new(),
    };
    let mut left_out = Vec::new();
    match instance.map(|instance| base(file, line, instance)) {
        Some(Ok((layer, manifests))) => {
            site.base = Some(layer);
            site.manifests = manifests;
            left_out = instance.map(|instance| instance.hosts.left_out.clone()).unwrap_or_default();
        }
        Some(Err(Problems(found))) => problems.0.extend(found),
        None => {}
    }
    Found { name, place: at, site, left_out }
}

type Base = (Layer, BTreeMap<String, String>);

fn base(file: &str, line: usize, found: &ClusterInstance) -> Result<Base, Problems> {
    let secret = ("pull-secret", config::PULL_SECRET_PLACEHOLDER);
    let known = Known { release: None, pull_secret: Some(secret), hosts: Some(&found.hosts) };
    let source = Source { name: INSTALL_CONFIG, text: &found.install_config };
    let cluster = config::cluster_yaml_for(source, known).map_err(|Problems(all)| {
        let locate = |problem: Problem| match problem.place.file == INSTALL_CONFIG {
            true => found.locate(problem),
            false => problem,
        };
        Problems(all.into_iter().map(locate).collect())
    })?;
    let mut layer = Layer::empty(file, line, "");
    for (part, (name, text)) in
        [(INSTALL_CONFIG, &found.install_config), (CLUSTER, &cluster.text)].into_iter().enumerate()
    {
        let mut problems = Problems::default();
        let mut node = yaml::parse(Source { name, text }, &mut problems);
        if let Some(node) = &mut node {
            at_line(node, line);
            if let YamlData::Map(entries) = &mut node.data {
                entries.retain(|entry| name != CLUSTER || !UNKNOWN.contains(&entry.key.as_str()));
            }
        }
        layer.parts[part] = problems.or(node)?;
    }
    let manifests = hosts::chrony_manifests(&found.hosts.ntp).into_iter();
    let manifests = manifests.map(|(path, text)| (path.trim_start_matches("manifests/").to_owned(), text));
    Ok((layer, manifests.collect()))
}

/// What is generated stands in the document as a whole.
fn at_line(node: &mut YamlNode, line: usize) {
    node.line = line;
    match &mut node.data {
        YamlData::Scalar { .. } => {}
        YamlData::List(items) => items.iter_mut().for_each(|item| at_line(item, line)),
        YamlData::Map(entries) => {
            for entry in entries {
                entry.line = line;
                at_line(&mut entry.value, line);
            }
        }
    }
}
