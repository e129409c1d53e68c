//! Parses recipe text, keeping the line of everything that can be wrong.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;

use super::sources::{SourceFile, Sources, TABLES};
use crate::base::hint::{Place, Problem, Problems, did_you_mean, line_of};
use crate::base::value::Value;

/// A recipe as written.
#[derive(Debug)]
pub(super) struct Recipe {
    pub(super) stage: u32,
    /// Name of the stage without the number; empty next to the folders.
    pub(super) folder: String,
    /// Path of its folder below recipes/, for its files.
    pub(super) directory: String,
    /// File name without `.toml`.
    pub(super) stem: String,
    /// As shown to the user.
    pub(super) shown: String,
    /// From the first comment line.
    pub(super) summary: String,
    pub(super) builder: At,
    /// For a recipe that only explains why there is no such artifact.
    pub(super) none: Option<String>,
    pub(super) for_each: Option<ForEach>,
    pub(super) name: Option<At>,
    pub(super) when: Option<At>,
    pub(super) impure: bool,
    pub(super) inputs: BTreeMap<String, At>,
    pub(super) config: BTreeMap<String, At>,
    pub(super) files: BTreeMap<String, At>,
    pub(super) params: BTreeMap<String, Value>,
}

/// A text and its line.
#[derive(Debug, Clone)]
pub(super) struct At {
    pub(super) text: String,
    pub(super) line: usize,
}

/// What a recipe is instantiated for.
#[derive(Debug)]
pub(super) enum ForEach {
    /// The elements of a list, by its name.
    Elements(At),
    /// These names, and the line of the list.
    Names(Vec<String>, usize),
}

impl Recipe {
    pub(super) fn place(&self, line: usize, field: impl Into<String>) -> Place {
        Place { file: self.shown.clone(), line: Some(line), field: field.into() }
    }
}

const FIELDS: [&str; 10] =
    ["builder", "none", "for_each", "name", "when", "impure", "inputs", "config", "files", "params"];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    builder: Option<Spanned<String>>,
    none: Option<String>,
    for_each: Option<Spanned<toml::Value>>,
    name: Option<Spanned<String>>,
    when: Option<Spanned<String>>,
    #[serde(default)]
    impure: bool,
    #[serde(default)]
    inputs: BTreeMap<String, Spanned<String>>,
    #[serde(default)]
    config: BTreeMap<String, Spanned<String>>,
    #[serde(default)]
    files: BTreeMap<String, Spanned<String>>,
    #[serde(default)]
    params: toml::Table,
}

/// All recipes, in the order of their paths.
pub(super) fn recipes(sources: &Sources, problems: &mut Problems) -> Vec<Recipe> {
    sources
        .iter()
        .filter(|(path, _)| path.ends_with(".toml") && !path.starts_with(TABLES))
        .filter_map(|(path, file)| recipe(path, file).map_err(|problem| problems.push(*problem)).ok())
        .collect()
}

fn recipe(path: &str, file: &SourceFile) -> Result<Recipe, Box<Problem>> {
    let fail = |message: &str, hint: &str| {
        Err(Box::new(Problem::new(Place::file(&file.shown), message).hint(Some(hint.to_owned()))))
    };
    let stem = path.trim_end_matches(".toml");
    let (directory, stem) = stem.rsplit_once('/').unwrap_or(("", stem));
    let numbered = if directory.is_empty() { stem } else { directory };
    let Some((stage, rest)) = numbered.split_once('-').and_then(|(n, rest)| Some((n.parse().ok()?, rest)))
    else {
        return fail(
            "not in a numbered stage",
            "put it into a folder such as `50-manifest`, or name it `99-name.toml`",
        );
    };
    let (folder, stem) = if directory.is_empty() { ("", rest) } else { (rest, stem) };
    for part in [folder, stem] {
        let beside_folders = part.is_empty() && folder.is_empty();
        if !beside_folders && !is_name(part) {
            let message = format!("`{}` is not a name", part.escape_debug());
            return fail(
                &message,
                "names are made of a-z, 0-9, `-`, `_` and `.`, and begin with a letter or digit",
            );
        }
    }
    let raw: Raw = toml::from_str(&file.text).map_err(|error| Box::new(explain(&error, file)))?;
    if raw.builder.is_some() == raw.none.is_some() {
        return fail(
            "needs a `builder`, or `none` with the reason why there is no such artifact",
            "write for example `builder = \"template\"`",
        );
    }
    let at = |spanned: Spanned<String>| At {
        line: line_of(&file.text, spanned.span().start),
        text: spanned.into_inner(),
    };
    let all =
        |map: BTreeMap<String, Spanned<String>>| map.into_iter().map(|(key, text)| (key, at(text))).collect();
    let mut params = BTreeMap::new();
    for (key, value) in raw.params {
        let value = plain(value).map_err(|message| {
            Box::new(Problem::new(Place::file(&file.shown), format!("params.{key}: {message}")))
        })?;
        params.insert(key, value);
    }
    Ok(Recipe {
        stage,
        folder: folder.to_owned(),
        directory: directory.to_owned(),
        stem: stem.to_owned(),
        shown: file.shown.clone(),
        summary: summary(&file.text),
        builder: raw.builder.map_or_else(|| At { text: String::new(), line: 1 }, at),
        none: raw.none,
        for_each: raw.for_each.map(|value| for_each(value, file)).transpose()?,
        name: raw.name.map(at),
        when: raw.when.map(at),
        impure: raw.impure,
        inputs: all(raw.inputs),
        config: all(raw.config),
        files: all(raw.files),
        params,
    })
}

fn for_each(value: Spanned<toml::Value>, file: &SourceFile) -> Result<ForEach, Box<Problem>> {
    let line = line_of(&file.text, value.span().start);
    let wrong = || {
        let place = Place { file: file.shown.clone(), line: Some(line), field: "for_each".into() };
        let hint = "write `for_each = \"nodes\"` or `for_each = [\"one\", \"other\"]`".to_owned();
        Box::new(Problem::new(place, "must be the name of a list of nodes, or a list of names").hint(hint))
    };
    match value.into_inner() {
        toml::Value::String(text) => Ok(ForEach::Elements(At { text, line })),
        toml::Value::Array(list) => {
            let names = list.into_iter().map(|item| match item {
                toml::Value::String(text) => Ok(text),
                _ => Err(wrong()),
            });
            Ok(ForEach::Names(names.collect::<Result<_, _>>()?, line))
        }
        _ => Err(wrong()),
    }
}

/// Whether a text can be part of a derivation's name.
pub(crate) fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())
        && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_.".contains(c))
        && !text.contains("..")
}

fn summary(text: &str) -> String {
    text.lines().next().and_then(|line| line.strip_prefix('#')).unwrap_or_default().trim().to_owned()
}

fn explain(error: &toml::de::Error, file: &SourceFile) -> Problem {
    let line = error.span().map(|span| line_of(&file.text, span.start));
    let message = error.message();
    let unknown =
        message.strip_prefix("unknown field `").and_then(|rest| rest.split_once('`')).map(|(field, _)| field);
    let hint = unknown.and_then(|field| did_you_mean(field, FIELDS));
    let place = Place { file: file.shown.clone(), line, field: unknown.unwrap_or_default().to_owned() };
    match unknown {
        Some(_) => Problem::new(place, "unknown field").hint(
            hint.or_else(|| Some(format!("a recipe has {}", FIELDS.map(|f| format!("`{f}`")).join(", ")))),
        ),
        None => Problem::new(place, message),
    }
}

/// Converts TOML; rejects values without a canonical text.
fn plain(value: toml::Value) -> Result<Value, &'static str> {
    Ok(match value {
        toml::Value::String(text) => Value::Text(text),
        toml::Value::Integer(number) => Value::Int(number),
        toml::Value::Boolean(value) => Value::Bool(value),
        toml::Value::Float(_) => return Err("a float has no canonical text: write a whole number or a text"),
        toml::Value::Datetime(_) => return Err("write a date as a text"),
        toml::Value::Array(list) => Value::List(list.into_iter().map(plain).collect::<Result<_, _>>()?),
        toml::Value::Table(table) => {
            let entries = table.into_iter().map(|(key, value)| plain(value).map(|value| (key, value)));
            Value::Map(entries.collect::<Result<_, _>>()?)
        }
    })
}
