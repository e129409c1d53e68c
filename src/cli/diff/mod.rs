//! `diff`: the comparison on a terminal, as JSON, as Markdown or as a page.

pub(super) mod hand_over;
mod of_site;
mod renders;
mod sides;
mod static_pods;

use std::process::ExitCode;

use clap::ValueEnum;

use super::arguments::Jobs;
use super::output::{self, Colour, exit_code};
use super::{Printer, Result, pager};
use crate::base::redact::controls_terminal;
use crate::base::text::fold;
use crate::cli::document::{Document, Documented};
use crate::compare::diff::Diff;
use crate::compare::hand_over::HandOverComparison;
use crate::compare::report::{self, Detail, Mark, Row};
use crate::compare::static_pods::StaticPodComparison;
use crate::openshift::workspace::{Env, Replacement};
use sides::Request;

pub(super) use of_site::SiteComparison;
pub(super) use sides::{of_generation, of_outputs};

/// The differences between two retained generations.
pub(super) fn between(env: Env<'_>, old: u64, new: u64) -> Result<Diff> {
    let sides = vec![format!("gen:{old}"), format!("gen:{new}")];
    sides::diff(env, &Request { sides, jobs: 1, ..Request::default() })
}

/// Compare two builds, configs, releases, artifacts or files by meaning, and say why they differ
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tinderbox diff                               the last two generations
  tinderbox diff result cluster                what a build would change now
  tinderbox diff gen:3 gen:5 --only ignition/master-0
  tinderbox diff --release demo:4.19           the upgrade, on this cluster
  tinderbox diff --release demo:4.18 demo:4.19 --stat
  tinderbox diff --component machine-config-operator=./root
                                               what your build of a component changes on every node
  tinderbox diff . ../other-cluster --format markdown
  tinderbox diff --format html > diff.html     one file, for a browser
  tinderbox diff ./old.ign ./new.ign
  tinderbox diff hand-over render              our objects beside those of the operators' own renders
  tinderbox diff static-pod render             every flag and setting of our control plane beside theirs

Secrets are masked; the diff only says that they changed.
Exit codes: 0 the same, 1 different, 2 trouble.")]
pub(super) struct Args {
    /// The old and the new side: `gen:N`, `result`, a path that starts with `/` or `./`, or a target
    ///
    /// None: the last two generations. One: that side and `result`. A path is a cluster directory, which is built as
    /// needed, an object of the store, or any file or directory. A target is what the files say now.
    #[arg(num_args = 0..=2, value_name = "SIDE")]
    sides: Vec<String>,
    /// Build this cluster on two releases, and compare; with one, its own release is the old one
    #[arg(long, num_args = 1..=2, value_name = "RELEASE", conflicts_with = "sides")]
    release: Vec<String>,
    /// Compare this cluster with a preview of it, in which a component has another image
    ///
    /// REF is a directory that is an image's root (`/DIR`, `./DIR`), `oci:DIR[:TAG]`, or an image of a registry. May be
    /// repeated. Only an image of a registry changes pull specs; it is nothing that could be booted, and `result` stays.
    #[arg(long, value_name = "NAME=REF", conflicts_with_all = ["sides", "release"])]
    component: Vec<Replacement>,
    /// Only these derivations, or folders of them
    #[arg(long, value_name = "TARGET")]
    only: Vec<String>,
    /// How to write it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// The page alone, without details
    #[arg(long)]
    summary: bool,
    /// The page, and one line per artifact with counts
    #[arg(long, conflicts_with_all = ["summary", "full"])]
    stat: bool,
    /// Every difference: long artifacts and downloads are folded otherwise, unless `--only` names some
    #[arg(long, conflicts_with = "summary")]
    full: bool,
    /// Never start a pager
    #[arg(long)]
    no_pager: bool,
    #[command(flatten)]
    jobs: Jobs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    Text,
    Json,
    Markdown,
    /// A page: one file, for a browser
    Html,
}

impl Documented for Args {
    const DOCUMENTS: &'static [Document] = &[
        Document::text(report::DIFF_SCHEMA),
        Document::of::<HandOverComparison>().when("hand-over", "hand-over render"),
        Document::of::<StaticPodComparison>().when("static-pod", "static-pod render"),
    ];
}

impl Args {
    /// Exit codes are those of `diff`: 0 equal, 1 different; the caller handles 2, trouble.
    pub(super) fn run(self, env: Env<'_>, printer: Printer<'_>) -> Result<ExitCode> {
        let format = if printer.json { Format::Json } else { self.format };
        if format == Format::Html {
            output::refuse_on_terminal("page", "`tinderbox diff --format html -o diff.html`")?;
        }
        let jobs = self.jobs.count();
        let renders = Printer { json: format == Format::Json, ..printer };
        if self.sides == ["hand-over", "render"] {
            let found = hand_over::compare(env, jobs)?;
            renders.answer(&found, || hand_over::show(&found));
            return Ok(exit_code(found.is_sound()));
        }
        if self.sides == ["static-pod", "render"] {
            let found = static_pods::compare(env, jobs)?;
            renders.answer(&found, || static_pods::show(&found));
            return Ok(exit_code(found.is_sound()));
        }
        let detail = match (self.summary, self.stat, self.full || !self.only.is_empty()) {
            (true, ..) => Detail::Nothing,
            (_, true, _) => Detail::Counts,
            (.., true) => Detail::Everything,
            _ => Detail::Folded,
        };
        let found = sides::diff(
            env,
            &Request {
                sides: self.sides,
                releases: self.release,
                components: self.component,
                only: self.only,
                jobs,
                pool: None,
            },
        )?;
        env.events.settle();
        match format {
            Format::Json => output::json(&found),
            Format::Markdown => output::text(&report::markdown(&found)),
            Format::Html => output::text(&report::html(&found)),
            Format::Text if found.is_empty() => {}
            Format::Text => show_rows(&report::rows(&found, detail), self.no_pager),
        }
        Ok(exit_code(found.is_empty()))
    }
}

/// Prints rows; on a terminal in colour, folded to its width, and through a pager if they do not fit.
pub(super) fn show_rows(rows: &[Row], no_pager: bool) {
    let size = output::terminal();
    let text: String = rows.iter().map(|row| painted(row, size.map(|(width, _)| width)) + "\n").collect();
    pager::show(&text, no_pager);
}

fn painted(row: &Row, width: Option<usize>) -> String {
    // Artifact content must not control the terminal.
    let plain = |c: char| if controls_terminal(c) && c != '\t' { '\u{fffd}' } else { c };
    let text = match width {
        Some(width) => fold(&row.text.chars().map(plain).collect::<String>(), width),
        None => row.text.clone(),
    };
    let colour = match row.mark {
        Mark::Title | Mark::Place => Colour::Cyan,
        Mark::Plain => return text,
        Mark::Added => Colour::Green,
        Mark::Removed | Mark::Breaking => Colour::Red,
        Mark::Changed => Colour::Yellow,
        Mark::Dim => Colour::Dim,
    };
    // Each line on its own: a pager does not carry colours over.
    let lines: Vec<String> = text.split('\n').map(|line| output::stdout_paint(line, colour)).collect();
    lines.join("\n")
}
