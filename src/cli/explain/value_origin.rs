//! What determined a value: the names in the template's lines, and their meaning in the recipe.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;

use super::template_lines::Template;
use crate::base::hint::Place;
use crate::base::value::Value;
use crate::engine::builders::template_names;
use crate::engine::recipe::{Graph, GraphNode};

/// One source of a value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(in crate::cli) struct Origin {
    /// Its name in the template.
    pub name: String,
    pub kind: Kind,
    /// The config field, or the derivation and its file.
    pub from: String,
    /// The lines of the user's files that set it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<Place>,
}

/// The meaning of a name in a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(in crate::cli) enum Kind {
    Config,
    Input,
    /// A constant of the recipe.
    Recipe,
}

/// The sources of the values in these lines of a template.
pub(in crate::cli) fn origins(node: &GraphNode, template: &Template, lines: &[usize]) -> Vec<Origin> {
    let bindings: Vec<(Vec<String>, BTreeSet<String>)> =
        template.lines.iter().flat_map(|line| bindings(&line.text)).collect();
    let mut open: Vec<String> =
        lines.iter().flat_map(|at| template_names(&template.lines[*at].text)).collect();
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    while let Some(name) = open.pop() {
        if !seen.insert(name.clone()) {
            continue;
        }
        let known = origin(node, &name);
        if known.is_empty() {
            // A local name of the template: use its sources.
            let from = bindings.iter().filter(|(names, _)| names.contains(&name));
            open.extend(from.flat_map(|(_, names)| names.iter().cloned()));
        }
        found.extend(known);
    }
    found.sort_by(|one, other| (&one.name, &one.from).cmp(&(&other.name, &other.from)));
    found
}

/// The meaning of a name in the recipe; a group stands for all its members.
pub(in crate::cli) fn origin(node: &GraphNode, name: &str) -> Vec<Origin> {
    if let Some((_, path, reads)) = node.reads.iter().find(|(alias, ..)| alias == name) {
        let mut places: Vec<Place> = reads.iter().flat_map(|read| read.origins.iter().cloned()).collect();
        places.sort();
        places.dedup();
        return vec![Origin { name: name.to_owned(), kind: Kind::Config, from: path.clone(), places }];
    }
    if let Some(Value::Map(values)) = node.params.get("values")
        && values.contains_key(name)
    {
        let from = node.recipe.clone();
        return vec![Origin { name: name.to_owned(), kind: Kind::Recipe, from, places: Vec::new() }];
    }
    let group = format!("{name}/");
    let inputs = node.inputs.iter().filter(|(alias, _)| *alias == name || alias.starts_with(&group));
    inputs
        .map(|(_, edge)| {
            let path = edge.path.as_ref().map(|path| format!(":{path}")).unwrap_or_default();
            let from = format!("{}{path}", edge.from);
            Origin { name: name.to_owned(), kind: Kind::Input, from, places: Vec::new() }
        })
        .collect()
}

/// The names that a template line defines with `set` and `for`, and the names that it uses for them.
fn bindings(line: &str) -> Vec<(Vec<String>, BTreeSet<String>)> {
    let tags = line.split("{%").skip(1).filter_map(|rest| Some(rest.split_once("%}")?.0));
    let parts = tags.filter_map(|tag| {
        let tag = tag.trim_matches(['-', '+']).trim();
        let (left, right) = match tag.split_once(' ')? {
            ("set", rest) => rest.split_once('=')?,
            ("for", rest) => rest.split_once(" in ")?,
            _ => return None,
        };
        let names = left.split(',').map(|name| name.trim().to_owned()).collect();
        Some((names, template_names(&format!("{{{{ {right} }}}}"))))
    });
    parts.collect()
}

/// The derivation that creates a file of a node, by well-known names: certificates, keys and kubeconfigs by their file
/// name.
pub(super) fn maker(graph: &Graph, on_node: &str) -> Option<String> {
    let (directory, file) = on_node.rsplit_once('/')?;
    let (stem, extension) = file.rsplit_once('.').unwrap_or((file, ""));
    // The same name on every node.
    let stem = if stem == "etcd-peer" { "etcd-peer-bootstrap" } else { stem };
    let names = match (directory, extension) {
        ("/etc/kubernetes/bootstrap-secrets", "crt") => {
            vec![format!("pki/{stem}"), format!("pki/{}", stem.trim_end_matches("-bundle"))]
        }
        ("/etc/kubernetes/bootstrap-secrets", _) => vec![format!("key/{stem}"), format!("pki/{stem}")],
        ("/etc/kubernetes/kubeconfigs", _) => vec![format!("kubeconfig/{stem}")],
        _ => Vec::new(),
    };
    names.into_iter().find(|name| graph.find(name).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_template_lead_to_those_of_the_recipe() {
        let names = |line: &str| bindings(line);
        let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
        assert_eq!(
            names("{% set host = \"[\" ~ ip ~ \"]\" if \":\" in ip else ip %}"),
            [(vec!["host".to_owned()], set(&["ip"]))]
        );
        assert_eq!(
            names("{%- for a, b in pairs if a in other -%}"),
            [(vec!["a".to_owned(), "b".to_owned()], set(&["a", "other", "pairs"]))]
        );
        assert!(names("{% endfor %} {{ x }}").is_empty());
    }
}
