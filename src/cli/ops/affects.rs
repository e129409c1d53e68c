//! `affects`: what follows from a change of one config field.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::{Env, Missing, OpsError, Result, Workspace};
use crate::base::hint::{Place, near};

/// What a field reaches.
#[derive(Debug, Serialize)]
pub(crate) struct Affected {
    /// The field, as it was asked for.
    pub field: String,
    /// The config fields that it decides, with the lines that decide them.
    pub fields: BTreeMap<String, Vec<Place>>,
    /// Derivations that name one of these fields.
    pub direct: Vec<String>,
    /// Derivations that need one of those; they are rebuilt only if what they need really changes.
    pub cascade: Vec<String>,
    /// Derivations that are absent because of one of these fields, and why.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub absent: BTreeMap<String, String>,
}

/// Finds what names a field: by its path in the model (`cluster.domain`, `nodes.worker-0.ip`) or in the user's files.
pub(crate) fn affects(env: Env<'_>, field: &str) -> Result<Affected> {
    let workspace = Workspace::load(env, Missing::Imagine)?;
    let mut fields: BTreeMap<String, Vec<Place>> = BTreeMap::new();
    for (path, origins) in workspace.fields.leaves() {
        if is_at_or_below(&path, field) || origins.iter().any(|origin| is_at_or_below(&origin.field, field)) {
            fields.insert(path, origins.to_vec());
        }
    }
    if fields.is_empty() {
        let known: Vec<String> = workspace.fields.leaves().map(|(path, _)| path).collect();
        let advice =
            near(field, known.iter().map(String::as_str)).map(|near| format!("did you mean `{near}`?"));
        return Err(OpsError::Usage { message: format!("there is no config field `{field}`"), advice });
    }
    let graph = &workspace.graph;
    let nodes = graph.nodes();
    let reads = |at: &usize| {
        nodes[*at].reads.iter().flat_map(|(_, _, reads)| reads).any(|read| fields.contains_key(&read.path))
    };
    let direct: BTreeSet<usize> = (0..nodes.len()).filter(reads).collect();
    let users = graph.users();
    let mut cascade = BTreeSet::new();
    let mut open: Vec<usize> = direct.iter().copied().collect();
    while let Some(at) = open.pop() {
        open.extend(users[at].iter().filter(|user| cascade.insert(**user)));
    }
    let absent =
        graph.all_absent().filter(|(_, absent)| absent.reads.iter().any(|path| fields.contains_key(path)));
    let names = |found: &mut dyn Iterator<Item = &usize>| found.map(|at| nodes[*at].name.clone()).collect();
    Ok(Affected {
        field: field.to_owned(),
        direct: names(&mut direct.iter()),
        cascade: names(&mut cascade.difference(&direct)),
        absent: absent.map(|(name, absent)| (name.to_owned(), absent.why.to_string())).collect(),
        fields,
    })
}

/// Whether `path` is `field` or a part of it.
fn is_at_or_below(path: &str, field: &str) -> bool {
    path.strip_prefix(field).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}
