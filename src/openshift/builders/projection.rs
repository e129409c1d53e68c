//! Selects objects and fields from a tree of manifests, so that derived artifacts depend on nothing else. Drops
//! comments and the original files: every object becomes a file of its own.

use std::collections::BTreeMap;

use super::objects::Objects;
use super::{InputTree, Job, JobError};
use crate::base::value::Value;
use crate::base::yaml::{self, YamlData, YamlNode};
use crate::openshift::patch::Identity;

/// A recipe's selection: `Kind.group` or `Kind.group/name` → fields, `status.platform`; `*` is the whole object.
pub(super) type Wanted<'a> = BTreeMap<&'a str, Vec<&'a str>>;

/// An object with the fields that were asked for.
pub(super) struct ProjectedObject {
    /// `infrastructure-cluster.yaml`.
    pub(super) file: String,
    pub(super) text: String,
    pub(super) secret: bool,
}

/// The parameter `only`: the selection from each input.
pub(super) fn wanted<'a>(job: &'a Job<'_>) -> Result<BTreeMap<&'a str, Wanted<'a>>, JobError> {
    let wrong = || JobError::Expected {
        name: "only".into(),
        expected: "a table: input → { \"Kind.group\" or \"Kind.group/name\" = a list of fields, or [\"*\"] }",
    };
    let fields = |value: &'a Value| match value {
        Value::List(list) => list.iter().map(|item| item.as_text().ok_or_else(wrong)).collect(),
        _ => Err(wrong()),
    };
    match job.params.get("only") {
        None => Ok(BTreeMap::new()),
        Some(Value::Map(inputs)) => inputs
            .iter()
            .map(|(alias, kinds)| match kinds {
                Value::Map(kinds) => {
                    let kinds = kinds.iter().map(|(kind, list)| Ok((kind.as_str(), fields(list)?)));
                    Ok((alias.as_str(), kinds.collect::<Result<_, JobError>>()?))
                }
                _ => Err(wrong()),
            })
            .collect(),
        Some(_) => Err(wrong()),
    }
}

/// The selected objects of an input.
pub(super) fn select(
    alias: &str,
    input: &InputTree,
    wanted: &Wanted<'_>,
) -> Result<Vec<ProjectedObject>, JobError> {
    let objects = Objects::read(alias, input)?;
    let mut found = Vec::new();
    for object in objects.iter() {
        let Some(fields) =
            wanted.iter().find(|(kind, _)| is_meant(kind, &object.identity)).map(|(_, fields)| fields)
        else {
            continue;
        };
        let whole = fields.contains(&"*");
        let kept = if whole { object.document.clone() } else { project(object.document, fields) };
        let Identity { kind, namespace, name, .. } = &object.identity;
        let of: Vec<&str> =
            [kind, namespace, name].into_iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
        let file = format!("{}.yaml", of.join("-").to_lowercase().replace(['/', ':'], "_"));
        found.push(ProjectedObject { file, text: yaml::block(&kept, 0) + "\n", secret: object.secret });
    }
    Ok(found)
}

/// Whether `Kind.group/name` selects this object.
fn is_meant(wanted: &str, identity: &Identity) -> bool {
    let (kind, name) = wanted.split_once('/').map_or((wanted, None), |(kind, name)| (kind, Some(name)));
    let (kind, group) = kind.split_once('.').unwrap_or((kind, ""));
    identity.kind == kind && identity.group() == group && name.is_none_or(|name| identity.name == name)
}

/// The object's identity and these fields.
fn project(document: &YamlNode, fields: &[&str]) -> YamlNode {
    let always = ["apiVersion", "kind", "metadata.name", "metadata.namespace"];
    keep(document, &always.iter().chain(fields).map(|field| field.split('.').collect()).collect::<Vec<_>>())
}

/// The parts of a node on one of the paths.
fn keep(node: &YamlNode, paths: &[Vec<&str>]) -> YamlNode {
    let YamlData::Map(entries) = &node.data else { return node.clone() };
    if paths.iter().any(Vec::is_empty) {
        return node.clone();
    }
    let kept = entries.iter().filter_map(|entry| {
        let below: Vec<Vec<&str>> =
            paths.iter().filter(|path| path[0] == entry.key).map(|path| path[1..].to_vec()).collect();
        (!below.is_empty()).then(|| yaml::YamlEntry { value: keep(&entry.value, &below), ..entry.clone() })
    });
    YamlNode { data: YamlData::Map(kept.collect()), ..node.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::hint::Problems;
    use crate::base::yaml::Source;

    #[test]
    fn what_is_kept_is_what_was_asked_for() {
        let text = "apiVersion: config.openshift.io/v1\nkind: Infrastructure\nmetadata:\n  name: cluster # one\n  labels: {a: b}\nspec: {}\nstatus:\n  platform: None\n  platformStatus:\n    type: None\n  infrastructureName: x\n";
        let document = yaml::documents(Source { name: "x", text }, &mut Problems::default()).pop().unwrap();
        let kept =
            yaml::block(&project(&document, &["status.platform", "status.platformStatus.type", "none"]), 0);
        assert_eq!(
            kept,
            "apiVersion: config.openshift.io/v1\nkind: Infrastructure\nmetadata:\n  name: cluster\nstatus:\n  platform: None\n  platformStatus:\n    type: None"
        );
        let identity = Identity::of(&document);
        for (wanted, is) in [
            ("Infrastructure.config.openshift.io", true),
            ("Infrastructure.config.openshift.io/cluster", true),
            ("Infrastructure.config.openshift.io/other", false),
            ("Infrastructure", false),
            ("Infra.config.openshift.io", false),
        ] {
            assert_eq!(is_meant(wanted, &identity), is, "{wanted}");
        }
    }
}
