//! `dist man`: one manual page per verb.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Command, CommandFactory};
use serde_json::json;

use crate::base::fs;
use crate::cli::document::{Document, Documented};
use crate::cli::output::line;
use crate::cli::{Printer, Result};
use crate::openshift::workspace::Env;

/// Write manual pages, one per verb
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The directory to write to
    dir: PathBuf,
}

impl Documented for Args {
    const DOCUMENTS: &'static [Document] = &[Document::of::<serde_json::Value>()];
}

impl Args {
    pub(super) fn run(self, _: Env<'_>, printer: Printer<'_>) -> Result<ExitCode> {
        fs::create_dirs(&self.dir)?;
        let mut command = crate::cli::Args::command().disable_help_subcommand(true);
        command.build();
        let mut pages = Vec::new();
        write(&command, &self.dir, &mut pages)?;
        Ok(printer.answer(&json!({"pages": pages}), || pages.iter().for_each(line)))
    }
}

/// The page of a verb (`tinderbox-realize-plan.1`), and those of the verbs below it.
fn write(command: &Command, dir: &Path, pages: &mut Vec<String>) -> Result<()> {
    let name = command.get_display_name().unwrap_or(command.get_name());
    let page = clap_mangen::Man::new(command.clone());
    let file = format!("{name}.1");
    let path = dir.join(&file);
    let mut text = Vec::new();
    page.render(&mut text).map_err(|error| fs::Error::new("write", &path, error))?;
    fs::replace(&path, with_examples(&String::from_utf8_lossy(&text)).as_bytes(), 0o644)?;
    pages.push(file);
    command
        .get_subcommands()
        .filter(|below| !below.is_hide_set())
        .try_for_each(|below| write(below, dir, pages))
}

/// The page with what stands behind the options (`.SH EXTRA`, in columns that a manual would fill) as sections: examples, each
/// a command with what it does, and notes.
fn with_examples(page: &str) -> String {
    let Some((before, (extra, after))) = page
        .split_once(".SH EXTRA\n")
        .and_then(|(before, rest)| Some((before, rest.split_once(".SH VERSION\n")?)))
    else {
        return page.to_owned();
    };
    let (mut sections, mut has_notes) = (String::new(), false);
    for line in extra.lines() {
        let text = line.trim_start();
        match line.len() - text.len() {
            _ if text.is_empty() => {}
            _ if ["Example:", "Examples:"].contains(&text) => sections.push_str(".SH EXAMPLES\n"),
            0 if !has_notes => {
                has_notes = true;
                sections.push_str(&format!(".SH NOTES\n{text}\n"));
            }
            0 => sections.push_str(&format!(".PP\n{text}\n")),
            // The comment of the command above.
            20.. => sections.push_str(&format!("{text}\n")),
            _ => {
                let (command, comment) = text.split_once("  ").unwrap_or((text, ""));
                sections.push_str(&format!(".TP\n\\fB{command}\\fR\n"));
                if !comment.is_empty() {
                    sections.push_str(&format!("{}\n", comment.trim_start()));
                }
            }
        }
    }
    format!("{before}{sections}.SH VERSION\n{after}")
}

#[cfg(test)]
mod tests {
    #[test]
    fn examples_and_notes_are_sections() {
        let page = ".SH OPTIONS\n.SH EXTRA\nExamples:\n  a b         does c\n  d\n                         does e\n\nNote.\n\nMore.\n.SH VERSION\nv1\n";
        assert_eq!(
            super::with_examples(page),
            ".SH OPTIONS\n.SH EXAMPLES\n.TP\n\\fBa b\\fR\ndoes c\n.TP\n\\fBd\\fR\ndoes e\n.SH NOTES\nNote.\n.PP\nMore.\n.SH VERSION\nv1\n"
        );
        assert_eq!(super::with_examples("without"), "without");
    }
}
