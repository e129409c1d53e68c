//! `schema`: the JSON schemas of cluster.yaml, of fleet.yaml and of everything that `--json` prints.

use std::process::ExitCode;

use schemars::JsonSchema;
use serde::Serialize;

use super::document::{Document, Documented, Documents as _, NamedDocument};
use super::error::ErrorDocument;
use super::output::table;
use super::{Error, Printer, Result, Verb, WrittenFile, output};
use crate::base::hint::near;
use crate::openshift::workspace::Env;
use crate::openshift::{config, fleet};

/// Print the JSON schema of cluster.yaml, of fleet.yaml, or of what a verb prints with --json
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tinderbox schema > cluster.schema.json       with the YAML language server:
  # yaml-language-server: $schema=cluster.schema.json    (first line of cluster.yaml)
  tinderbox schema fleet                       that of fleet.yaml
  tinderbox schema --list                      every document that has a schema
  tinderbox schema store gc                    what `store gc --json` prints
  tinderbox schema error                       what any verb prints with --json when it fails")]
pub(super) struct Args {
    /// A verb, `error`, or another name of `--list` [default: cluster, for cluster.yaml]
    #[arg(value_name = "VERB", conflicts_with = "list", hide_possible_values = true,
        add = super::complete::schema())]
    words: Vec<String>,
    /// List all schemas
    #[arg(long)]
    list: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Listed {
    name: String,
    /// What has this form.
    what: String,
}

impl Documented for Args {
    const DOCUMENTS: &'static [Document] = &[
        // A schema is any JSON.
        Document::of::<serde_json::Value>(),
        Document::of::<Vec<Listed>>().when("list", "--list"),
    ];
}

impl Args {
    /// A schema is JSON with and without `--json`.
    pub(super) fn run(self, _: Env<'_>, printer: Printer<'_>) -> Result<ExitCode> {
        let known = documents();
        if self.list {
            let listed: Vec<Listed> = listed(&known);
            return Ok(printer.answer(&listed, || {
                let rows = listed.iter().map(|one| vec![one.name.clone(), one.what.clone()]);
                table(&["SCHEMA", "WHAT"], &rows.collect::<Vec<_>>());
            }));
        }
        let name = self.words.join(" ").replace('-', " ");
        if name.is_empty() || name == CLUSTER {
            output::json(&config::schema());
            return Ok(ExitCode::SUCCESS);
        }
        if name == FLEET {
            output::json(&fleet::schema());
            return Ok(ExitCode::SUCCESS);
        }
        let found = known.iter().find(|one| one.name.replace('-', " ") == name);
        let found = found.ok_or_else(|| unknown(&self.words.join(" "), &known))?;
        output::text(&found.document.schema());
        Ok(ExitCode::SUCCESS)
    }
}

/// The schema of cluster.yaml.
const CLUSTER: &str = "cluster";
/// The schema of fleet.yaml.
const FLEET: &str = "fleet";

/// Every document that this program prints, by name.
pub(super) fn documents() -> Vec<NamedDocument> {
    let mut all = Vec::new();
    Verb::documents("", &mut all);
    all.retain(|one| !one.name.starts_with("dist "));
    let other = |name: &str, command: &str, document| NamedDocument {
        name: name.to_owned(),
        command: command.to_owned(),
        document,
    };
    all.push(other("error", "any verb with --json that fails", Document::of::<ErrorDocument>()));
    all.push(other("written", "any verb with --json and -o FILE", Document::of::<WrittenFile>()));
    all
}

fn listed(known: &[NamedDocument]) -> Vec<Listed> {
    let cluster = Listed { name: CLUSTER.to_owned(), what: "cluster.yaml".to_owned() };
    let rest = known.iter().map(|one| Listed { name: one.name.clone(), what: one.command.clone() });
    let fleet = Listed { name: FLEET.to_owned(), what: "fleet.yaml".to_owned() };
    [cluster, fleet].into_iter().chain(rest).collect()
}

fn unknown(name: &str, known: &[NamedDocument]) -> Error {
    let names = || known.iter().map(|one| one.name.as_str());
    let below: Vec<&str> = names().filter(|one| one.starts_with(&format!("{name} "))).collect();
    let advice = match (below.as_slice(), near(name, names())) {
        ([_, ..], _) => format!("there are {}", below.join(", ")),
        (_, Some(near)) => format!("did you mean `{near}`?"),
        _ => "`tinderbox schema --list` lists all schemas".to_owned(),
    };
    Error::usage(format!("there is no schema `{name}`"), advice)
}
