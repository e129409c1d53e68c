//! `affects`: the consequences of changing one config field.

use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;

use schemars::JsonSchema;
use serde::Serialize;

use super::document::{Document, Documented};
use super::output::{Colour, line, stdout_paint};
use super::{Error, Printer, Result, complete};
use crate::base::hint::{Place, near};
use crate::engine::recipe::NodeIndex;
use crate::openshift::workspace::{Env, Missing, Workspace};

/// Show which derivations a config field reaches
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tinderbox affects nodes.worker-0.ip
  tinderbox affects networking.serviceNetwork  fields of install-config.yaml work too")]
pub(super) struct Args {
    /// A config field: of the cluster model, of install-config.yaml or of cluster.yaml
    #[arg(add = complete::field())]
    field: Option<String>,
}

impl Documented for Args {
    const DOCUMENTS: &'static [Document] = &[Document::of::<Affected>()];
}

impl Args {
    pub(super) fn run(self, env: Env<'_>, printer: Printer<'_>) -> Result<ExitCode> {
        let field = self.field.ok_or_else(|| {
            Error::usage(
                "`affects` needs a field of cluster.yaml (`nodes.worker-0.ip`) or of install-config.yaml \
                 (`networking.serviceNetwork`)",
                "`tinderbox completions --help` says how your shell can complete fields",
            )
        })?;
        let found = affects(env, &field)?;
        Ok(printer.answer(&found, || show(&found)))
    }
}

fn show(found: &Affected) {
    for (field, places) in &found.fields {
        let places: Vec<String> = places.iter().map(ToString::to_string).collect();
        line(format!("{} ({})", stdout_paint(field, Colour::Cyan), places.join("; ")));
    }
    line(match found.direct.len() {
        1 => "1 derivation reads it:".to_owned(),
        count => format!("{count} derivations read it:"),
    });
    found.direct.iter().for_each(|name| line(format!("  {name}")));
    line(match found.cascade.len() {
        1 => "1 more depends on those, and is rebuilt only if its inputs change:".to_owned(),
        count => format!("{count} more depend on those, and are rebuilt only if their inputs change:"),
    });
    found.cascade.iter().for_each(|name| line(format!("  {name}")));
    if !found.absent.is_empty() {
        line(match found.absent.len() {
            1 => "1 is absent because of it:".to_owned(),
            count => format!("{count} are absent because of it:"),
        });
        found.absent.iter().for_each(|(name, why)| line(format!("  {name}: {why}")));
    }
}

#[derive(Debug, Serialize, JsonSchema)]
struct Affected {
    /// As requested.
    field: String,
    /// The matching config fields, with the lines that set them.
    fields: BTreeMap<String, Vec<Place>>,
    /// Derivations that read one of these fields.
    direct: Vec<String>,
    /// Derivations that need one of those; they are rebuilt only if their inputs really change.
    cascade: Vec<String>,
    /// Derivations that are absent because of one of these fields, and why.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    absent: BTreeMap<String, String>,
}

/// Finds the readers of a field, given by its path in the model (`cluster.domain`, `nodes.worker-0.ip`) or in the
/// user's files.
fn affects(env: Env<'_>, field: &str) -> Result<Affected> {
    let workspace = Workspace::load(env, Missing::Unneeded)?;
    let mut fields: BTreeMap<String, Vec<Place>> = BTreeMap::new();
    for (path, origins) in workspace.fields.leaves() {
        if is_at_or_below(&path, field) || origins.iter().any(|origin| is_at_or_below(&origin.field, field)) {
            fields.insert(path, origins.to_vec());
        }
    }
    if fields.is_empty() {
        let fields = workspace.fields.leaves();
        let known = fields.flat_map(|(path, origins)| {
            std::iter::once(path).chain(origins.iter().map(|origin| origin.field.clone())).collect::<Vec<_>>()
        });
        let known: Vec<String> = known.collect();
        // Leaves, and everything above them.
        let above = known.iter().flat_map(|path| path.match_indices('.').map(|(end, _)| &path[..end]));
        let advice = match near(field, known.iter().map(String::as_str).chain(above)) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "write a field as in the two files (`vips.api`), or as in docs/reference/cluster-yaml.md"
                .to_owned(),
        };
        return Err(Error::usage(format!("there is no config field `{field}`"), advice));
    }
    let graph = &workspace.graph;
    let nodes = graph.nodes();
    let reads = |at: &NodeIndex| {
        nodes[*at].reads.iter().flat_map(|(_, _, reads)| reads).any(|read| fields.contains_key(&read.path))
    };
    let direct: BTreeSet<NodeIndex> = nodes.indices().filter(reads).collect();
    let users = graph.users();
    let mut cascade = BTreeSet::new();
    let mut open: Vec<NodeIndex> = direct.iter().copied().collect();
    while let Some(at) = open.pop() {
        open.extend(users[at].iter().filter(|user| cascade.insert(**user)));
    }
    let names =
        |found: &mut dyn Iterator<Item = &NodeIndex>| found.map(|at| nodes[*at].name.clone()).collect();
    let absent =
        graph.all_absent().filter(|(_, absent)| absent.reads.iter().any(|path| fields.contains_key(path)));
    Ok(Affected {
        field: field.to_owned(),
        absent: absent.map(|(name, absent)| (name.to_owned(), absent.why.to_string())).collect(),
        direct: names(&mut direct.iter()),
        cascade: names(&mut cascade.difference(&direct)),
        fields,
    })
}

/// Whether `path` is `field` or a part of it.
fn is_at_or_below(path: &str, field: &str) -> bool {
    path.strip_prefix(field).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}
