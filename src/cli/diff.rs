//! `diff`: the comparison on a terminal, as JSON, as Markdown or as a page.

use std::io::{IsTerminal, Write};
use std::process::{Command, ExitCode, Stdio};

use clap::{Args as ClapArgs, ValueEnum};

use super::args::Jobs;
use super::output::{self, Colour};
use super::run::say;
use crate::base::redact::steers;
use crate::cli::ops::diff::{DiffRequest, diff};
use crate::cli::ops::{self, Env, OpsError, Result};
use crate::compare::report::{self, Mark, Row};

/// Flags of `diff`.
#[derive(Debug, ClapArgs)]
pub(super) struct Diff {
    /// The old and the new side: `gen:N`, `result`, a path that starts with `/` or `./`, or a target
    ///
    /// None: the last two generations. One: that side and `result`. A path is a cluster directory, which is built as
    /// needed, an object of the store, or any file or directory. A target is what the files say now.
    #[arg(num_args = 0..=2, value_name = "SIDE")]
    pub(super) sides: Vec<String>,
    /// Build this cluster on two releases, and compare
    #[arg(long, num_args = 2, value_names = ["OLD", "NEW"], conflicts_with = "sides")]
    pub(super) release: Option<Vec<String>>,
    /// Only these derivations, or folders of them
    #[arg(long, value_name = "TARGET")]
    pub(super) only: Vec<String>,
    /// How to write it
    #[arg(long, value_enum, default_value_t = DiffFormat::Text)]
    pub(super) format: DiffFormat,
    /// The page alone, without details
    #[arg(long)]
    pub(super) summary: bool,
    /// Never start a pager
    #[arg(long)]
    pub(super) no_pager: bool,
    #[command(flatten)]
    pub(super) jobs: Jobs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum DiffFormat {
    Text,
    Json,
    Markdown,
    /// A page: one file, for a browser
    Html,
}

/// Exit codes are those of `diff`: 0 the same, 1 different; trouble is 2, and the caller's.
pub(super) fn run(env: Env<'_>, json: bool, asked: Diff, jobs: usize) -> Result<ExitCode> {
    let releases = match asked.release {
        None => None,
        Some(releases) => Some(<[String; 2]>::try_from(releases).map_err(|_| OpsError::Usage {
            message: "`--release` takes two releases".into(),
            advice: Some("tinderbox diff --release demo:4.18 demo:4.19".into()),
        })?),
    };
    if asked.sides == ["hand-over", "render"] {
        return beside(env, json || asked.format == DiffFormat::Json, jobs);
    }
    let request = DiffRequest { sides: asked.sides, releases, only: asked.only, jobs };
    let found = diff(env, &request)?;
    env.events.settle();
    let format = if json { DiffFormat::Json } else { asked.format };
    match format {
        DiffFormat::Json => output::json(&found),
        DiffFormat::Markdown => output::text(&report::markdown(&found)),
        DiffFormat::Html => output::text(&report::html(&found)),
        DiffFormat::Text if found.is_empty() => {}
        DiffFormat::Text => show(&report::rows(&found, !asked.summary), asked.no_pager),
    }
    Ok(if found.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Our objects beside those of the operators' renders.
fn beside(env: Env<'_>, json: bool, jobs: usize) -> Result<ExitCode> {
    let found = ops::beside::beside(env, jobs)?;
    let list = |title: &str, rows: Vec<String>| {
        if !rows.is_empty() {
            output::line(output::stdout_paint(title, Colour::Cyan));
            rows.iter().for_each(|row| output::line(format!("  {row}")));
        }
    };
    say(env, json, &found, || {
        let missing = found.missing.iter().map(|one| format!("{} ({}:{})", one.object, one.render, one.file));
        list("made by a render, and not by us", missing.collect());
        let different = found.different.iter().flat_map(|one| {
            let head = format!("{} ({}, ours {})", one.object, one.render, one.ours);
            std::iter::once(head).chain(one.differences.iter().map(|what| format!("  {what}")))
        });
        list("not alike", different.collect());
        list(
            "renders that could not be run",
            found.failed.iter().map(|(name, why)| format!("{name}: {why}")).collect(),
        );
        output::line(format!(
            "{} renders: {} objects alike, {} that the payload brings, {} not alike, {} missing here",
            found.renders.len(),
            found.alike.len(),
            found.in_payload,
            found.different.len(),
            found.missing.len()
        ));
    });
    Ok(if found.is_alike() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Prints rows; on a terminal in colour, cut to its width, and through a pager if they are more than fit.
fn show(rows: &[Row], no_pager: bool) {
    let is_terminal = std::io::stdout().is_terminal();
    let size = is_terminal.then(output::terminal).flatten();
    let text: String = rows.iter().map(|row| painted(row, size.map(|(width, _)| width)) + "\n").collect();
    let fits = size.is_none_or(|(_, height)| rows.len() < height);
    if no_pager || fits || !page(&text) {
        output::text(&text);
    }
}

fn painted(row: &Row, width: Option<usize>) -> String {
    // What artifacts hold must not steer the terminal.
    let plain = |c: char| if steers(c) && c != '\t' { '\u{fffd}' } else { c };
    let cut: String = match width {
        Some(width) if row.text.chars().count() > width => {
            row.text.chars().take(width.saturating_sub(1)).map(plain).chain(['…']).collect()
        }
        Some(_) => row.text.chars().map(plain).collect(),
        None => row.text.clone(),
    };
    let colour = match row.mark {
        Mark::Title | Mark::Place => Colour::Cyan,
        Mark::Plain => return cut,
        Mark::Added => Colour::Green,
        Mark::Removed | Mark::Breaking => Colour::Red,
        Mark::Changed => Colour::Yellow,
        Mark::Dim => Colour::Dim,
    };
    output::stdout_paint(&cut, colour)
}

/// Whether a pager took the text. The user's, else `less`.
#[expect(
    clippy::disallowed_methods,
    reason = "PAGER and the pager are about the terminal, which only cli knows"
)]
fn page(text: &str) -> bool {
    let pager = std::env::var("PAGER").ok().filter(|pager| !pager.trim().is_empty());
    let pager = pager.unwrap_or_else(|| "less".to_owned());
    let mut words = pager.split_whitespace();
    let Some(program) = words.next() else { return false };
    let mut command = Command::new(program);
    command.args(words).stdin(Stdio::piped());
    if std::env::var_os("LESS").is_none() {
        command.env("LESS", "FRX");
    }
    let Ok(mut child) = command.spawn() else { return false };
    if let Some(mut input) = child.stdin.take() {
        // A pager that is left before the end is no error.
        let _ = input.write_all(text.as_bytes());
    }
    let _ = child.wait();
    true
}
