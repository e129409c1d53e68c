//! `dist reference`: verbs and configuration fields as data, for the pages of docs/reference.

use std::process::ExitCode;

use clap::{Arg, Command, CommandFactory};
use serde::Serialize;

use crate::cli::document::{Document, Documented};
use crate::cli::{Printer, Result, output};
use crate::openshift::config::{self, FieldReference};
use crate::openshift::workspace::Env;

/// Print verbs and configuration fields as JSON
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

#[derive(Debug, Serialize)]
struct Reference {
    verbs: Vec<Verb>,
    /// Options that every verb takes.
    global: Vec<Argument>,
    cluster: Vec<FieldReference>,
    install_config: Vec<FieldReference>,
}

#[derive(Debug, Serialize)]
struct Verb {
    /// `realize plan`.
    name: String,
    about: String,
    usage: String,
    /// Without those that every verb takes.
    arguments: Vec<Argument>,
    examples: String,
}

#[derive(Debug, Serialize)]
struct Argument {
    /// `-j, --jobs <N>`, or `[TARGETS]...`.
    name: String,
    help: String,
    /// Words that it takes, with what they mean.
    values: Vec<(String, String)>,
    default: Vec<String>,
}

impl Documented for Args {
    const DOCUMENTS: &'static [Document] = &[Document::of::<serde_json::Value>()];
}

impl Args {
    pub(super) fn run(self, _: Env<'_>, _: Printer<'_>) -> Result<ExitCode> {
        let mut command = crate::cli::Args::command().disable_help_subcommand(true);
        command.build();
        let global = command.get_arguments().filter(is_ours).map(argument).collect();
        let mut verbs = Vec::new();
        command.get_subcommands_mut().for_each(|below| collect(below, "", &mut verbs));
        let [cluster, install_config] = config::reference();
        output::json(&Reference { verbs, global, cluster, install_config });
        Ok(ExitCode::SUCCESS)
    }
}

/// A verb, or those below it.
fn collect(command: &mut Command, above: &str, verbs: &mut Vec<Verb>) {
    if command.is_hide_set() {
        return;
    }
    let name = format!("{above}{}", command.get_name());
    if command.has_subcommands() {
        command.get_subcommands_mut().for_each(|below| collect(below, &format!("{name} "), verbs));
        return;
    }
    let text =
        |styled: Option<&clap::builder::StyledStr>| styled.map(ToString::to_string).unwrap_or_default();
    verbs.push(Verb {
        name,
        about: text(command.get_long_about().or(command.get_about())),
        usage: command.render_usage().to_string().trim_start_matches("Usage: ").to_owned(),
        arguments: command
            .get_arguments()
            .filter(|argument| is_ours(argument) && !argument.is_global_set() && !argument.is_hide_set())
            .map(argument)
            .collect(),
        examples: text(command.get_after_long_help().or(command.get_after_help())),
    });
}

/// Whether it is not one that clap adds to every verb.
fn is_ours(argument: &&Arg) -> bool {
    !matches!(argument.get_id().as_str(), "help" | "version")
}

fn argument(argument: &Arg) -> Argument {
    let help = argument.get_long_help().or(argument.get_help()).map(ToString::to_string).unwrap_or_default();
    let values = argument.get_possible_values();
    let is_flag = !argument.get_action().takes_values();
    let shown = values.iter().filter(|value| !is_flag && !value.is_hide_set());
    let text = |value: &clap::builder::PossibleValue| {
        (value.get_name().to_owned(), value.get_help().map(ToString::to_string).unwrap_or_default())
    };
    let defaults = argument.get_default_values().iter().filter(|_| !is_flag);
    Argument {
        name: name(argument),
        help,
        values: shown.map(text).collect(),
        default: defaults.map(|value| value.to_string_lossy().into_owned()).collect(),
    }
}

/// As `--help` has it.
fn name(argument: &Arg) -> String {
    let shown = argument.to_string();
    match argument.get_short().filter(|_| argument.get_long().is_some()) {
        Some(short) => format!("-{short}, {shown}"),
        None => shown,
    }
}
