//! Reads from a cluster's API what a closure is compared with. Only `GET`: nothing is changed.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::cli::Result;
use crate::compare::drift::{Answer, Closure, LiveCluster, ObjectRef};
use crate::openshift::knowledge::DriftKnowledge;
use crate::realize::RealizeError;
use crate::realize::api::{ApiError, Client, Endpoint, ServedType, presented};

/// Reads everything that the closure has an opinion about. Fails if the API cannot be used at all; what it refuses is noted.
pub(super) fn read(
    client: &Client<'_>,
    kubeconfig: &str,
    at: &Endpoint,
    closure: &Closure,
    knowledge: &DriftKnowledge,
) -> Result<LiveCluster> {
    client.ready().map_err(RealizeError::from)?;
    let mut reader = Reader { client, types: BTreeMap::new() };
    let mut objects = BTreeMap::new();
    for (_, wanted, _) in &closure.objects {
        if !objects.contains_key(wanted) {
            let answer = reader.one(wanted)?;
            objects.insert(wanted.clone(), answer);
        }
    }
    let nodes = client.at("/api/v1/nodes").map(|mut list| match list["items"].take() {
        Value::Array(items) => items,
        _ => Vec::new(),
    });
    let nodes = answer(nodes)?;
    let history = &knowledge.history;
    let version = reader.one(&object(&history.group, &history.version, &history.kind, &history.name))?;
    let daemon = &knowledge.daemon;
    let mut configs = BTreeMap::new();
    for name in reported(&nodes, &daemon.current) {
        let answer = reader.one(&object(&daemon.group, &daemon.version, &daemon.kind, &name))?;
        configs.insert(name, answer);
    }
    let presented = presented(kubeconfig, at).map_err(RealizeError::from)?;
    Ok(LiveCluster { server: client.server().to_owned(), objects, nodes, configs, version, presented })
}

/// An object without a namespace.
fn object(group: &str, version: &str, kind: &str, name: &str) -> ObjectRef {
    ObjectRef {
        api_version: format!("{group}/{version}"),
        kind: kind.to_owned(),
        namespace: String::new(),
        name: name.to_owned(),
    }
}

/// The configs that nodes report.
fn reported(nodes: &Answer<Vec<Value>>, annotation: &str) -> BTreeSet<String> {
    let Answer::Found(nodes) = nodes else { return BTreeSet::new() };
    let names = nodes.iter().filter_map(|node| node["metadata"]["annotations"][annotation].as_str());
    names.map(str::to_owned).collect()
}

struct Reader<'a> {
    client: &'a Client<'a>,
    /// By group and version.
    types: BTreeMap<String, Answer<Vec<ServedType>>>,
}

impl Reader<'_> {
    fn one(&mut self, wanted: &ObjectRef) -> Result<Answer> {
        let version = &wanted.api_version;
        if !self.types.contains_key(version) {
            self.types.insert(version.clone(), answer(self.client.served_types(version))?);
        }
        let types = match &self.types[version] {
            Answer::Found(types) => types,
            Answer::Denied(why) => return Ok(Answer::Denied(why.clone())),
            Answer::Missing => return Ok(Answer::Missing),
        };
        let Some(served) = types.iter().find(|one| one.kind == wanted.kind) else {
            return Ok(Answer::Missing);
        };
        answer(self.client.at(&served.path(version, &wanted.namespace, &wanted.name)))
    }
}

/// A refusal is an answer too; anything else that goes wrong ends the comparison.
fn answer<T>(found: std::result::Result<T, ApiError>) -> Result<Answer<T>> {
    match found {
        Ok(found) => Ok(Answer::Found(found)),
        Err(ApiError::NotFound { .. }) => Ok(Answer::Missing),
        Err(ApiError::Forbidden { .. }) => {
            Ok(Answer::Denied("the API forbids the kubeconfig's user to read it".to_owned()))
        }
        Err(error) => Err(RealizeError::from(error).into()),
    }
}
