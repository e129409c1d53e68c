//! `guide`: a book about this cluster. Chapters in a terminal, one page for a browser.

mod collect;
mod contents;
mod headings;
mod nodes;
mod user_files;

use std::process::ExitCode;

use clap::ValueEnum;

use super::output::{self, Colour, line, stdout_paint, table};
use super::{Error, Printer, Result, pager};
use crate::base::hint::near;
use crate::base::text::wrap;
use crate::cli::document::{Document, Documented};
use crate::compare::guide::{self, Guide, GuideChapter, GuideEntry, Line, LineKind};
use crate::openshift::config::{Cluster, Role};
use crate::openshift::workspace::Env;

/// Tell the story of this cluster: what every artifact is for, who reads it, what breaks without it
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tinderbox guide                              the chapters
  tinderbox guide bootkube                     one of them; its number works too
  tinderbox guide /etc/hostname                everything about one file, object or artifact
  tinderbox guide -o guide.html                the whole book as one page, without any network
  tinderbox guide --json | jq '.chapters[].title'

Secrets are masked.")]
pub(super) struct Args {
    /// A chapter, by number or name; or any text in the name of a file, object or artifact
    chapter: Option<String>,
    /// List the chapters
    #[arg(long, conflicts_with = "chapter")]
    list: bool,
    /// How to write it; default: html with -o, else text
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Never start a pager
    #[arg(long)]
    no_pager: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    /// The whole book as one page
    Html,
    Json,
}

/// Lines of prose are no longer than this.
const WIDEST: usize = 100;

impl Documented for Args {
    const DOCUMENTS: &'static [Document] = &[Document::of::<Guide>()];
}

impl Args {
    pub(super) fn run(self, env: Env<'_>, printer: Printer<'_>) -> Result<ExitCode> {
        let is_page =
            printer.output.is_some_and(|file| file.extension().is_some_and(|found| found == "html"));
        let format = match (printer.json, self.format) {
            (true, _) => Format::Json,
            (_, Some(format)) => format,
            (_, None) if is_page => Format::Html,
            (_, None) => Format::Text,
        };
        if format == Format::Html {
            let advice = "`tinderbox guide -o guide.html`, or `tinderbox guide CHAPTER` for one chapter here";
            output::refuse_on_terminal("page", advice)?;
        }
        let found = collect::guide(env)?;
        env.events.settle();
        match (format, &self.chapter) {
            (Format::Json, _) => output::json(&found),
            (Format::Html, _) => output::text(&guide::html(&found)),
            (Format::Text, None) => chapters(&found),
            (Format::Text, Some(wanted)) => show(&lines(&found, wanted)?, self.no_pager),
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn chapters(found: &Guide) {
    let rows = found.chapters.iter().map(|chapter| {
        let entries: usize = chapter.groups.iter().map(|group| group.entries.len()).sum();
        vec![chapter.number.to_string(), chapter.id.clone(), entries.to_string(), chapter.title.clone()]
    });
    line(format!("The guide to {}, {}", found.domain, found.release));
    table(&["", "CHAPTER", "ARTIFACTS", "TITLE"], &rows.collect::<Vec<_>>());
    line("`tinderbox guide CHAPTER` tells one; `tinderbox guide -o guide.html` writes the book");
}

/// A chapter, else the entries whose name contains the text.
fn lines(found: &Guide, wanted: &str) -> Result<Vec<Line>> {
    let is_wanted = |chapter: &&GuideChapter| chapter.id == wanted || chapter.number.to_string() == wanted;
    if let Some(chapter) = found.chapters.iter().find(is_wanted) {
        return Ok(guide::chapter(chapter));
    }
    let is_named =
        |entry: &&GuideEntry| entry.title == wanted || entry.places.iter().any(|place| place.path == wanted);
    let mut entries: Vec<&GuideEntry> = found.entries().filter(is_named).collect();
    if entries.is_empty() {
        entries = found.entries().filter(|entry| entry.title.contains(wanted)).collect();
    }
    if entries.is_empty() {
        let names = found.chapters.iter().map(|chapter| chapter.id.as_str());
        let advice = match near(wanted, names.chain(found.entries().map(|entry| entry.title.as_str()))) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "`tinderbox guide` lists the chapters".to_owned(),
        };
        return Err(Error::usage(format!("the guide has no chapter and no artifact `{wanted}`"), advice));
    }
    Ok(guide::entries(&entries))
}

fn show(lines: &[Line], no_pager: bool) {
    let width = output::terminal().map_or(WIDEST, |(columns, _)| columns.min(WIDEST));
    let text: String = lines.iter().map(|line| painted(line, width)).collect();
    pager::show(&text, no_pager);
}

fn painted(one: &Line, width: usize) -> String {
    let Line { kind, indent, term, text } = one;
    let text = output::visible(text);
    let pad = " ".repeat(*indent);
    let colour = match kind {
        LineKind::Content => return format!("{pad}{text}\n"),
        LineKind::Title | LineKind::Heading => Some(Colour::Cyan),
        LineKind::Entry => Some(Colour::Green),
        LineKind::Fact | LineKind::Prose => None,
    };
    /// The width of a fact's name.
    const TERM: usize = 13;
    let left = if *kind == LineKind::Fact { indent + TERM } else { *indent };
    let wrapped = wrap(&text, width.saturating_sub(left).max(20));
    let first = match kind {
        LineKind::Fact => format!("{pad}{}", stdout_paint(&format!("{term:<TERM$}"), Colour::Cyan)),
        _ => pad.clone(),
    };
    let lines = wrapped.iter().enumerate().map(|(at, part)| {
        let start = if at == 0 { first.clone() } else { " ".repeat(left) };
        let part = colour.map_or_else(|| part.clone(), |colour| stdout_paint(part, colour));
        format!("{start}{part}").trim_end().to_owned() + "\n"
    });
    lines.collect()
}

/// Fills the placeholders of a chapter.
fn placeholders(cluster: &Cluster, domain: &str, release: &str) -> impl Fn(&str) -> String + use<> {
    let count = |role| cluster.nodes.iter().filter(|node| node.role == role).count().to_string();
    let bootstrap = cluster.bootstrap().map_or_else(String::new, |node| {
        let ips: Vec<String> = node.ips.iter().map(ToString::to_string).collect();
        format!("{} ({})", node.name, ips.join(", "))
    });
    let addresses =
        |all: &[std::net::IpAddr]| all.iter().map(ToString::to_string).collect::<Vec<_>>().join(" and ");
    let values = [
        ("{cluster}", cluster.name.clone()),
        ("{domain}", domain.to_owned()),
        ("{release}", release.to_owned()),
        ("{masters}", count(Role::Master)),
        ("{workers}", count(Role::Worker)),
        ("{bootstrap}", bootstrap),
        ("{api}", addresses(&cluster.api_vips)),
        ("{ingress}", addresses(&cluster.ingress_vips)),
    ];
    move |text| values.iter().fold(text.to_owned(), |text, (name, value)| text.replace(name, value))
}
