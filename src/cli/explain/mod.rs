//! `show --explain`: one flag or field of an artifact: its comment, the lines of the user's files that set it, and its
//! reader.
//!
//! Artifacts keep the comments of their templates, so the comment is above the line. The origin is traced backwards:
//! the template line that wrote it (`template_lines`), the names in that line, and their meaning in the recipe.

pub(super) mod template_lines;
pub(super) mod value_origin;
mod yaml_field;

use schemars::JsonSchema;
use serde::Serialize;

use super::about::About;
use super::artifact::{self, Artifact};
use super::output::{Colour, line, stdout_paint};
use super::{Error, Result};
use crate::base::hint::{Place, Problems, near};
use crate::base::yaml::{self, Source, YamlNode};
use crate::openshift::pod::{self, Container, Flag};
use crate::openshift::workspace::Env;

pub(super) use value_origin::{Kind, Origin};

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Explanation {
    pub target: String,
    pub file: String,
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

/// Explains a flag (`--name`, or `name`) or a field path of `NAME` or `NAME:PATH`.
pub(super) fn explain(env: Env<'_>, target: &str, what: &str) -> Result<Explanation> {
    let (name, path) = target.split_once(':').map_or((target, None), |(name, path)| (name, Some(path)));
    let found = Artifact::find_with(env, name, None)?;
    let node = found.node();
    if node.builder.0 != "template" {
        return Err(Error::usage(
            format!("`{name}` is not made from a template: there are no comments to show"),
            "explain one of the artifacts that go into it",
        ));
    }
    let (file, text) = text(&found, name, path)?;
    let mut problems = Problems::default();
    let documents = yaml::documents(Source { name: &file, text: &text }, &mut problems);
    if !problems.0.is_empty() {
        return Err(Error::usage(
            format!("`{name}:{file}` is not YAML: it has no flags or fields to explain"),
            format!("`tinderbox show {name}` prints it, with its comments"),
        ));
    }
    let hits = hits(&found, &documents, &text, name, what)?;
    let template = template_lines::Template::new(node, &file);
    let output: Vec<&str> = text.lines().collect();
    let aligned = template.align(&output);
    let matches = hits.into_iter().map(|hit| {
        let written: Vec<usize> =
            (hit.lines.0..=hit.lines.1).filter_map(|line| aligned.get(line - 1).copied().flatten()).collect();
        Explained {
            comment: pod::comment_above(&output, hit.lines.0),
            template: aligned.get(hit.lines.0 - 1).copied().flatten().map(|at| template.place(at)),
            origins: value_origin::origins(node, &template, &written),
            name: hit.name,
            value: hit.value,
            line: hit.lines.0,
            reader: hit.reader,
            files: hit.files,
        }
    });
    Ok(Explanation {
        target: name.to_owned(),
        matches: matches.collect(),
        file,
        goes_into: found.users().map(str::to_owned).collect(),
    })
}

/// The only file of the artifact, or the requested one. Secrets stay hidden.
fn text(found: &Artifact, name: &str, path: Option<&str>) -> Result<(String, String)> {
    let files: Vec<&str> = found.object.listing.leaves("").map(|(path, _)| path).collect();
    let path = match (path, files.as_slice()) {
        (Some(path), _) => path,
        (None, [only]) => only,
        (None, _) => {
            return Err(Error::usage(
                format!("`{name}` has several files"),
                format!("name one: `{name}:{}`", files.first().unwrap_or(&"")),
            ));
        }
    };
    let file = artifact::file(&found.object, name, path, false)?;
    if file.masked {
        return Err(Error::usage(
            format!("`{name}:{path}` is secret: its lines are not explained"),
            format!("its template is in the recipe {}", found.node().recipe),
        ));
    }
    Ok((file.path, file.content))
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
    for one in &found.matches {
        let Explained { name, value, line: at, comment, template, origins, reader, files } = one;
        match value.lines().count() {
            0 | 1 => line(format!("{}={value}", stdout_paint(name, Colour::Green))),
            _ => line(format!("{}\n{value}", stdout_paint(name, Colour::Green))),
        }
        line(if comment.is_empty() { "  (no comment)".to_owned() } else { wrap(comment) });
        fact("where", format!("{}:{}, line {at}", found.target, found.file));
        if let Some(place) = template {
            fact("template", place.to_string());
        }
        if origins.is_empty() {
            fact("origin", "the template has this value itself".to_owned());
        }
        origins.iter().map(show_origin).for_each(|text| fact("origin", text));
        fact("read by", reader.clone());
        files.iter().map(named_file).for_each(|text| fact("names", text));
    }
    fact("goes into", found.goes_into.join(", "));
}

/// Prints what something is for. The subject is named where there are several.
pub(super) fn show_about(about: &[About]) {
    for About { subject, purpose, .. } in about {
        if about.len() > 1 {
            fact("object", subject.clone());
        }
        fact("for", purpose.purpose.clone());
        fact("read by", purpose.reader.clone());
        fact("without it", purpose.without.clone());
        if !purpose.checks.is_empty() {
            fact("checked by", purpose.checks.join(", "));
        }
    }
}

/// Prints a named fact.
pub(super) fn fact(name: &str, text: String) {
    line(format!("  {}{text}", stdout_paint(&format!("{name:<11}"), Colour::Cyan)));
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

/// Wraps a text at a hundred characters, indented by two.
fn wrap(text: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(last) if last.len() + 1 + word.len() <= 100 => *last = format!("{last} {word}"),
            _ => lines.push(format!("  {word}")),
        }
    }
    lines.join("\n")
}
