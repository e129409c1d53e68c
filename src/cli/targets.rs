//! `targets`: what can be built, shown and asked about, one sentence each.

use std::process::ExitCode;

use schemars::JsonSchema;
use serde::Serialize;

use super::document::{Document, Documented};
use super::output::{count, line, table};
use super::{Error, Printer, Result, complete};
use crate::openshift::workspace::{Env, Missing, Workspace};

/// List the derivations, one sentence each
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tinderbox targets
  tinderbox targets pki                        a folder
  tinderbox targets '*kubelet*'
  tinderbox targets --json | jq -r '.[].name'")]
pub(super) struct Args {
    /// Only those with this in their name; `*` stands for anything
    #[arg(add = complete::target())]
    pattern: Option<String>,
}

impl Documented for Args {
    const DOCUMENTS: &'static [Document] = &[Document::of::<Vec<Target<'static>>>()];
}

impl Args {
    pub(super) fn run(self, env: Env<'_>, printer: Printer<'_>) -> Result<ExitCode> {
        let workspace = Workspace::load(env, Missing::Unneeded)?;
        let wanted = |name: &str| self.pattern.as_deref().is_none_or(|pattern| matches(pattern, name));
        let nodes = workspace.graph.nodes().iter().filter(|node| wanted(&node.name));
        let mut found: Vec<Target<'_>> = nodes
            .map(|node| Target { name: &node.name, summary: &node.summary, recipe: &node.recipe })
            .collect();
        found.sort_by_key(|target| target.name);
        if let (Some(pattern), true) = (&self.pattern, found.is_empty()) {
            let message = format!("no derivation has `{pattern}` in its name");
            return Err(Error::usage(message, "`tinderbox targets` lists all"));
        }
        Ok(printer.answer(&found, || {
            let rows = found.iter().map(|target| vec![target.name.to_owned(), target.summary.to_owned()]);
            table(&["TARGET", "WHAT"], &rows.collect::<Vec<_>>());
            line(format!(
                "{}; a folder, the part before the `/`, is a target too",
                count(found.len(), "derivation")
            ));
        }))
    }
}

#[derive(Debug, Serialize, JsonSchema)]
struct Target<'a> {
    name: &'a str,
    summary: &'a str,
    recipe: &'a str,
}

/// Whether a name has the pattern in it; with a `*`, whether it is like the whole pattern.
pub(super) fn matches(pattern: &str, name: &str) -> bool {
    let parts: Vec<&str> = pattern.split('*').collect();
    let ([first, middle @ .., last], true) = (parts.as_slice(), parts.len() > 1) else {
        return name.contains(pattern);
    };
    let Some(rest) = name.strip_prefix(first).and_then(|rest| rest.strip_suffix(last)) else { return false };
    let mut rest = rest;
    middle.iter().all(|part| match rest.find(part) {
        Some(at) => {
            rest = &rest[at + part.len()..];
            true
        }
        None => false,
    })
}

/// The error of a verb that needs a target and got none: what it accepts.
pub(super) fn needed(env: Env<'_>, verb: &str, accepted: &str) -> Error {
    let folders = Workspace::load(env, Missing::Unneeded).map(|workspace| {
        let names =
            workspace.graph.nodes().iter().filter_map(|node| Some(node.name.split_once('/')?.0.to_owned()));
        names.collect::<std::collections::BTreeSet<_>>().into_iter().collect::<Vec<_>>().join(", ")
    });
    let folders = folders.map(|folders| format!("; the folders are {folders}")).unwrap_or_default();
    Error::usage(
        format!("`{verb}` needs {accepted}"),
        format!("`tinderbox targets` lists all derivations{folders}"),
    )
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn patterns() {
        for pattern in ["pki", "pki/", "pki/*", "*", "*admin", "p*/a*n", "admin"] {
            assert!(matches(pattern, "pki/admin"), "{pattern}");
        }
        for pattern in ["pki*x", "admin*", "x*", "a*a*admin", "PKI"] {
            assert!(!matches(pattern, "pki/admin"), "{pattern}");
        }
    }
}
