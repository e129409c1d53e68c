//! `show --explain`: what an artifact is for and what its parts mean; or one flag, field or part of it: its comment,
//! the lines of the user's files that set it, and its reader.
//!
//! Artifacts keep the comments of their templates, so the comment is above the line. The origin is traced backwards:
//! the template line that wrote it (`template_lines`), the names in that line, and their meaning in the recipe.

mod subject;
pub(super) mod template_lines;
pub(super) mod value_origin;
mod yaml_field;

use schemars::JsonSchema;
use serde::Serialize;

use super::artifact::Artifact;
use super::output::{Colour, line, stdout_paint, terminal, text};
use super::{Error, Result};
use crate::base::hint::{Place, Problems, near};
use crate::base::text::wrap;
use crate::base::yaml::{self, Source, YamlNode};
use crate::engine::recipe::GraphNode;
use crate::openshift::knowledge::{About, Known, TrustEdge};
use crate::openshift::pod::{self, Container, Flag};
use crate::openshift::workspace::Env;

use subject::{NamedPart, Subject};
pub(super) use value_origin::{Kind, Origin};

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Explanation {
    pub target: String,
    /// Empty for a whole derivation.
    pub file: String,
    /// What it is for; several for a manifest with several objects.
    pub about: Vec<About>,
    /// Who shows it to whom, for a certificate or key.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shown: Vec<String>,
    /// All parts, if none was asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<NamedPart>,
    /// All matches: a flag may be repeated, a file may contain several objects.
    pub matches: Vec<Explained>,
    /// Derivations that use it.
    pub goes_into: Vec<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Explained {
    pub name: String,
    /// Its value; for a list or map, its lines.
    pub value: String,
    /// From 1.
    pub line: usize,
    /// The comment above it; may be empty.
    pub comment: String,
    /// The template line that wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template: Option<Place>,
    /// What determined the value; empty for a constant of the template.
    pub origins: Vec<Origin>,
    pub reader: String,
    /// The files that it names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<NamedFile>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct NamedFile {
    /// As in the flag.
    pub path: String,
    /// Its path on the node; none if it is not mounted from there.
    pub on_node: Option<String>,
    /// The derivation that creates it.
    pub derivation: Option<String>,
}

/// A match in the file, before its origin is known.
struct Hit {
    name: String,
    value: String,
    /// First and last line.
    lines: (usize, usize),
    reader: String,
    files: Vec<NamedFile>,
}

/// Explains `NAME` or `NAME:PATH`: all of it, or a flag (`--name`, or `name`), a field path, or a part.
pub(super) fn explain(env: Env<'_>, target: &str, what: Option<&str>) -> Result<Explanation> {
    let (name, path) = target.split_once(':').map_or((target, None), |(name, path)| (name, Some(path)));
    let found = Artifact::find_with(env, name, path)?;
    let subject = Subject::of(&found, path)?;
    let mut explanation = Explanation {
        target: found.node().name.clone(),
        file: subject.file.clone(),
        shown: shown(&found),
        goes_into: found.users().map(str::to_owned).collect(),
        about: Vec::new(),
        parts: Vec::new(),
        matches: Vec::new(),
    };
    let parts = subject.parts(&found)?;
    match what {
        None => explanation.parts = parts,
        Some(what) if subject.format().is_some() => {
            explanation.matches = part_matches(&found, &subject, parts, name, what)?;
        }
        Some(what) => explanation.matches = yaml_matches(&found, &subject, name, what)?,
    }
    explanation.about = subject.about;
    Ok(explanation)
}

/// Who presents a certificate or key to whom.
fn shown(found: &Artifact) -> Vec<String> {
    let name = found.node().name.as_str();
    let name = name.strip_prefix("pki/").or_else(|| name.strip_prefix("key/"));
    let (Some(name), Ok(edges)) = (name, found.workspace.trust_edges()) else { return Vec::new() };
    let told = |edge: &TrustEdge| {
        let TrustEdge { presenter, verifier, role, breaks, .. } = edge;
        format!("{presenter} to {verifier}, as {}; if refused: {breaks}", role.as_str())
    };
    edges.filter(|edge| edge.credential == name).map(told).collect()
}

/// The parts that a name means: the whole name, or its end after a dot, slash or blank.
fn part_matches(
    found: &Artifact,
    subject: &Subject,
    parts: Vec<NamedPart>,
    target: &str,
    what: &str,
) -> Result<Vec<Explained>> {
    let wanted = what.to_lowercase();
    let is_end = |name: &str| name.strip_suffix(&wanted).is_some_and(|rest| rest.ends_with(['.', '/', ' ']));
    let is_first = |name: &str| name == wanted;
    let named = |is_wanted: &dyn Fn(&str) -> bool| -> Vec<usize> {
        let all = parts.iter().enumerate();
        all.filter(|(_, one)| is_wanted(&one.part.name.to_lowercase())).map(|(at, _)| at).collect()
    };
    let mut at = named(&is_first);
    if at.is_empty() {
        at = named(&is_end);
    }
    if at.is_empty() {
        let names = parts.iter().map(|one| one.part.name.as_str());
        let advice = near(what, names).map(|near| format!("did you mean `{near}`?"));
        let list = format!("`tinderbox show {target} --explain` lists its parts");
        let advice = Some(advice.unwrap_or(list));
        return Err(Error::NoPath { target: target.to_owned(), path: what.to_owned(), advice });
    }
    let reader = subject.about.first().map(|about| about.purpose.reader.clone()).unwrap_or_default();
    let origins = Written::new(found, subject);
    let explained = |at: usize| {
        let NamedPart { part, meaning } = &parts[at];
        let words = [part.comment.as_str(), meaning.as_deref().unwrap_or_default()];
        let comment = words.into_iter().filter(|words| !words.is_empty()).collect::<Vec<_>>().join(" ");
        let (template, origins) = origins.of(part.lines);
        Explained {
            name: part.name.clone(),
            value: part.value.clone(),
            line: part.lines.0,
            comment,
            template,
            origins,
            reader: reader.clone(),
            files: Vec::new(),
        }
    };
    Ok(at.into_iter().map(explained).collect())
}

/// Flags and fields of YAML.
fn yaml_matches(found: &Artifact, subject: &Subject, target: &str, what: &str) -> Result<Vec<Explained>> {
    let (file, text) = (&subject.file, subject.public_text(found, target)?);
    if file.is_empty() {
        let files: Vec<&str> = found.object.listing.leaves("").map(|(path, _)| path).collect();
        return Err(Error::usage(
            format!("`{target}` has several files"),
            format!("name one: `{target}:{}`", files.first().unwrap_or(&"")),
        ));
    }
    let mut problems = Problems::default();
    let documents = yaml::documents(Source { name: file, text }, &mut problems);
    if !problems.0.is_empty() || documents.is_empty() {
        return Err(Error::usage(
            format!("`{target}:{file}` is not YAML: it has no flags or fields to explain"),
            format!("`tinderbox show {target}` prints it, with its comments"),
        ));
    }
    let hits = hits(found, &documents, text, target, what)?;
    let output: Vec<&str> = text.lines().collect();
    let written = Written::new(found, subject);
    let readers: Vec<&About> = subject.about.iter().filter(|about| about.known == Known::Table).collect();
    let matches = hits.into_iter().map(|mut hit| {
        let (template, origins) = written.of(hit.lines);
        if let ([only], true) = (readers.as_slice(), hit.reader.starts_with(yaml_field::ANYBODY)) {
            hit.reader = only.purpose.reader.clone();
        }
        Explained {
            comment: pod::comment_above(&output, hit.lines.0),
            template,
            origins,
            name: hit.name,
            value: hit.value,
            line: hit.lines.0,
            reader: hit.reader,
            files: hit.files,
        }
    });
    Ok(matches.collect())
}

/// The lines of the template that wrote a file.
struct Written<'f> {
    node: &'f GraphNode,
    template: Option<template_lines::Template>,
    aligned: Vec<Option<usize>>,
}

impl<'f> Written<'f> {
    fn new(found: &'f Artifact, subject: &Subject) -> Self {
        let node = &found.workspace.graph.nodes()[subject.writer];
        let template = subject.template.as_deref().map(|alias| template_lines::Template::new(node, alias));
        let output: Vec<&str> = subject.text.lines().collect();
        let aligned = template.as_ref().map(|template| template.align(&output)).unwrap_or_default();
        Self { node, template, aligned }
    }

    /// The first line's place in the template, and what determined the values in all of them.
    fn of(&self, (first, last): (usize, usize)) -> (Option<Place>, Vec<Origin>) {
        let Some(template) = &self.template else { return (None, Vec::new()) };
        let at = |line: usize| self.aligned.get(line.checked_sub(1)?).copied().flatten();
        let lines: Vec<usize> = (first.max(1)..=last).filter_map(at).collect();
        (at(first).map(|at| template.place(at)), value_origin::origins(self.node, template, &lines))
    }
}

fn hits(found: &Artifact, documents: &[YamlNode], text: &str, target: &str, what: &str) -> Result<Vec<Hit>> {
    let flag = what.trim_start_matches('-').split('=').next().unwrap_or_default();
    let mut flags = Vec::new();
    let mut hits = Vec::new();
    for document in documents.iter().filter(|document| yaml_field::kind(document) == "Pod") {
        for container in pod::containers(document, text) {
            let named = container.flags.iter().filter(|one| one.name == flag);
            hits.extend(named.map(|flag| flag_hit(found, document, &container, flag)));
            flags.extend(container.flags.into_iter().map(|flag| format!("--{}", flag.name)));
        }
    }
    let is_flag = what.starts_with('-');
    if hits.is_empty() && !is_flag {
        hits = documents.iter().filter_map(|document| yaml_field::find(document, text, what)).collect();
    }
    if hits.is_empty() {
        let wanted = if is_flag { format!("--{flag}") } else { what.to_owned() };
        let names: Vec<String> = match is_flag {
            true => flags,
            false => documents
                .iter()
                .flat_map(|document| yaml_field::candidates(document, what))
                .chain(flags)
                .collect(),
        };
        let advice =
            near(&wanted, names.iter().map(String::as_str)).map(|near| format!("did you mean `{near}`?"));
        return Err(Error::NoPath { target: target.to_owned(), path: wanted, advice });
    }
    Ok(hits)
}

fn flag_hit(found: &Artifact, pod: &YamlNode, container: &Container, flag: &Flag) -> Hit {
    let files = flag.files().map(|path| {
        let on_node = container.on_node(path);
        let derivation =
            on_node.as_deref().and_then(|path| value_origin::maker(&found.workspace.graph, path));
        NamedFile { path: path.to_owned(), on_node, derivation }
    });
    let program = container.program.last().map_or(container.name.as_str(), String::as_str);
    // `start` alone says nothing.
    let program =
        if container.program.len() > 1 && program == "start" { &container.program[0] } else { program };
    Hit {
        name: format!("--{}", flag.name),
        value: flag.value.clone().unwrap_or_default(),
        lines: (flag.line, flag.line),
        reader: format!("{program}, in {}", yaml_field::object(pod)),
        files: files.collect(),
    }
}

pub(super) fn show(found: &Explanation) {
    if found.matches.is_empty() {
        let file = if found.file.is_empty() { String::new() } else { format!(":{}", found.file) };
        line(stdout_paint(&format!("{}{file}", found.target), Colour::Green));
        show_about(&found.about);
        found.shown.iter().for_each(|shown| fact("shown by", shown.clone()));
        show_parts(&found.parts);
    }
    for one in &found.matches {
        let Explained { name, value, line: at, comment, template, origins, reader, files } = one;
        match value.lines().count() {
            0 | 1 => line(format!("{}={value}", stdout_paint(name, Colour::Green))),
            _ => {
                line(stdout_paint(name, Colour::Green));
                text(&format!("{}\n", value.trim_end()));
            }
        }
        line(if comment.is_empty() {
            "  (no comment)".to_owned()
        } else {
            format!("  {}", wrap(comment, widest() - 2).join("\n  "))
        });
        let at = if *at == 0 { String::new() } else { format!(", line {at}") };
        fact("where", format!("{}:{}{at}", found.target, found.file));
        match template {
            Some(place) => {
                fact("template", place.to_string());
                if origins.is_empty() {
                    fact("origin", "the template has this value itself".to_owned());
                }
            }
            None => found.about.iter().take(1).for_each(|about| fact("for", about.purpose.purpose.clone())),
        }
        origins.iter().map(show_origin).for_each(|text| fact("origin", text));
        fact("read by", reader.clone());
        files.iter().map(named_file).for_each(|text| fact("names", text));
    }
    if !found.goes_into.is_empty() {
        fact("goes into", found.goes_into.join(", "));
    }
}

/// Every part on a line, and what it means below it. A list has a line per item, unless it is long.
fn show_parts(parts: &[NamedPart]) {
    const FEW: usize = 24;
    for NamedPart { part, meaning } in parts {
        let name = stdout_paint(&part.name, Colour::Green);
        if let Some(items) = part.items() {
            let is_long = items.len() > FEW;
            let count = if is_long {
                format!(" {}, `--explain {}` lists them", items.len(), part.name)
            } else {
                String::new()
            };
            line(format!("  {name}{count}"));
            items
                .into_iter()
                .take(if is_long { 0 } else { FEW })
                .for_each(|item| line(format!("    {item}")));
        } else {
            let first = part.value.lines().next().unwrap_or_default();
            // The first line of a block or function says no more than its name.
            let is_block = first.starts_with(char::is_whitespace) || first.starts_with(&part.name);
            match (part.value.lines().count() > 1, is_block) {
                (true, true) => line(format!("  {name}")),
                (true, false) => line(format!("  {name} {} …", first.trim())),
                (false, _) => line(format!("  {name} {}", first.trim())),
            }
        }
        let meaning = meaning.as_deref().unwrap_or_default();
        let comment =
            Some(part.comment.as_str()).filter(|comment| !meaning.starts_with(comment.trim_end_matches('.')));
        let words = [comment.unwrap_or_default(), meaning];
        let words = words.into_iter().filter(|words| !words.is_empty()).collect::<Vec<_>>().join(" ");
        if !words.is_empty() {
            wrap(&words, widest() - 6).into_iter().for_each(|part| line(format!("      {part}")));
        }
    }
}

/// Prints what something is for. The subject is named where there are several.
pub(super) fn show_about(about: &[About]) {
    for About { subject, purpose, .. } in about {
        if about.len() > 1 {
            fact("object", subject.clone());
        }
        fact("for", purpose.purpose.clone());
        fact("read by", purpose.reader.clone());
        fact("without", purpose.without.clone());
        if !purpose.checks.is_empty() {
            fact("checked", purpose.checks.join(", "));
        }
    }
}

/// Columns of prose: more are hard to read.
fn widest() -> usize {
    terminal().map_or(100, |(columns, _)| columns.clamp(40, 100))
}

/// Prints a named fact.
pub(super) fn fact(name: &str, text: String) {
    line(format!("  {}{text}", stdout_paint(&format!("{name:<10}"), Colour::Cyan)));
}

pub(super) fn show_origin(origin: &Origin) -> String {
    let places: Vec<String> = origin.places.iter().map(Place::to_string).collect();
    match places.is_empty() {
        true => format!("`{}` = {}", origin.name, origin.from),
        false => format!("`{}` = {} ← {}", origin.name, origin.from, places.join("; ")),
    }
}

fn named_file(file: &NamedFile) -> String {
    let NamedFile { path, on_node, derivation } = file;
    let on_node = match on_node {
        Some(same) if same == path => String::new(),
        Some(other) => format!(", on the node {other}"),
        None => ", which is not mounted from the node".to_owned(),
    };
    let made = derivation.as_ref().map(|name| format!(" ← {name}")).unwrap_or_default();
    format!("{path}{on_node}{made}")
}
