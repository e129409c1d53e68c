//! Results for people: rows for a terminal, Markdown for a pull request, a page for a browser. Data in, text out;
//! nothing here prints.

mod fleet;
mod html;
mod markdown;
mod rows;

pub use fleet::fleet_html;
pub(crate) use fleet::{fleet_markdown, fleet_rows};
pub(crate) use html::{drift_html, html};
pub(crate) use markdown::{drift_markdown, markdown};
pub(crate) use rows::{Detail, Mark, Row, rows};

use schemars::{Schema, SchemaGenerator};
use serde_json::Value;

use crate::base::secret::MASK;
use crate::compare::cause::{Cause, CauseKind};
use crate::compare::delta::{Change, Edit, ShownValue, StepKind};
use crate::compare::diff::{FlagChange, SchemaChange};
use crate::openshift::knowledge::Effect;

/// The schema of the document of `diff --format json`.
pub(crate) const DIFF_SCHEMA: &str = include_str!("../diff/schema.json");
/// The schema of the document of `report --json`.
pub(crate) const REPORT_SCHEMA: &str = include_str!("schema.json");

/// The document of `diff`, as a part of ours: its definitions become ours.
pub(crate) fn diff_schema(generator: &mut SchemaGenerator) -> Schema {
    let mut schema: Value = serde_json::from_str(DIFF_SCHEMA).unwrap_or_default();
    if let Some(schema) = schema.as_object_mut() {
        if let Some(Value::Object(definitions)) = schema.remove("$defs") {
            generator.definitions_mut().extend(definitions);
        }
        schema.remove("$schema");
    }
    Schema::try_from(schema).unwrap_or_default()
}

/// Longer values are truncated on one line.
const VALUE: usize = 100;

fn value(shown: &ShownValue) -> String {
    match shown {
        ShownValue::Text(text) => {
            let lines = text.trim_end().lines().count();
            let more = if lines > 1 { format!(" ({lines} lines)") } else { String::new() };
            let line = text.trim_end().replace('\n', "⏎");
            if line.chars().count() <= VALUE { line } else { narrow(line, VALUE) + &more }
        }
        ShownValue::Secret => MASK.to_owned(),
        ShownValue::Bytes { size, blake3 } => {
            format!("{size} bytes, blake3 {}", blake3.get(..12).unwrap_or(blake3))
        }
    }
}

/// The edit on one line: `a → b`, `+ b`, `- a`.
fn edit(edit: &Edit) -> String {
    match edit {
        Edit::Added { new } => value(new),
        Edit::Removed { old } => value(old),
        Edit::Changed { old: ShownValue::Secret, new: ShownValue::Secret } => format!("{MASK}, changed"),
        Edit::Changed { old, new } => format!("{} → {}", value(old), value(new)),
        Edit::Renamed { old, new } => format!("{old} → {new}"),
        Edit::Lines { hunks, cut } => match hunks.len() + cut {
            1 => "1 place".to_owned(),
            places => format!("{places} places"),
        },
    }
}

/// The location of a difference: the containing files and objects, and the field.
fn location(change: &Change) -> (Vec<String>, String) {
    let (mut inside, mut field) = (Vec::new(), String::new());
    for step in &change.place {
        let name = step.name.as_str();
        match step.into {
            StepKind::File | StepKind::Object | StepKind::Certificate => {
                if !field.is_empty() {
                    inside.push(std::mem::take(&mut field));
                }
                inside.push(name.to_owned());
            }
            StepKind::Item => field.push_str(&format!("[{name}]")),
            StepKind::Section => field.push_str(&format!("[{name}] ")),
            StepKind::Flag | StepKind::Rule => field.push_str(&format!(" {name}")),
            StepKind::Field if name.is_empty() || name.contains(['.', '/', '[']) => {
                field.push_str(&format!("[{name:?}]"))
            }
            StepKind::Field if field.is_empty() || field.ends_with(' ') => field.push_str(name),
            StepKind::Field => field.push_str(&format!(".{name}")),
        }
    }
    (inside, field.trim().to_owned())
}

/// The effect on a running node.
pub(crate) fn effect(effect: Option<Effect>) -> &'static str {
    match effect {
        None => "on one side only",
        Some(Effect::FirstBoot) => "nothing",
        Some(Effect::Written) => "write files",
        Some(Effect::Reload) => "reload CRI-O",
        Some(Effect::Restart) => "restart CRI-O",
        Some(Effect::Reboot) => "reboot",
        Some(Effect::Reinstall) => "re-install",
    }
}

/// The kind of a cause, as users call it.
pub(crate) fn cause_kind(kind: CauseKind) -> &'static str {
    match kind {
        CauseKind::Release => "release image",
        CauseKind::Component => "component",
        CauseKind::Config => "config field",
        CauseKind::Epoch => "epoch",
        CauseKind::Seed => "seed",
        CauseKind::File | CauseKind::Parameter | CauseKind::Versioned | CauseKind::Inputs => "recipe",
        CauseKind::Builder => "builder",
        CauseKind::Unknown => "unknown",
    }
}

fn cause(cause: &Cause) -> String {
    let kind = cause_kind(cause.kind);
    let side = |side: &Option<String>| {
        side.as_ref().map_or("(not there)".to_owned(), |text| text.replace('\n', "⏎"))
    };
    let values = match (&cause.from, &cause.to) {
        (None, None) => String::new(),
        (from, to) => format!(": {} → {}", side(from), side(to)),
    };
    let places: Vec<String> = cause.places.iter().map(ToString::to_string).collect();
    let places = if places.is_empty() { String::new() } else { format!(" ({})", places.join("; ")) };
    format!("{kind} {}{values}{places}", cause.what)
}

fn flag(one: &FlagChange) -> (char, String) {
    let name = &one.flag;
    // An item of a list is its own name.
    let with = |shown: &ShownValue| match value(shown) {
        value if name.ends_with(&format!(" {value}")) => name.clone(),
        value => format!("{name} {value}"),
    };
    match (&one.old, &one.new) {
        (None, Some(new)) => ('+', with(new)),
        (Some(old), None) => ('-', with(old)),
        (Some(old), Some(new)) => ('~', format!("{name} {} → {}", value(old), value(new))),
        (None, None) => ('~', name.clone()),
    }
}

fn schema(one: &SchemaChange) -> String {
    let used = match one.used_by.as_slice() {
        [] => String::new(),
        some => format!("; used by {}", some.join(", ")),
    };
    format!("{} {} {}{used}", one.crd, one.field, narrow(one.what.replace('\n', "⏎"), VALUE))
}

/// A text of at most `width` characters.
fn narrow(text: String, width: usize) -> String {
    match text.char_indices().nth(width) {
        None => text,
        Some(_) => text.chars().take(width - 1).chain(['…']).collect(),
    }
}

/// The distinctive part of a digest or image reference.
fn short(image: &str) -> &str {
    image.rsplit_once("sha256:").and_then(|(_, digest)| digest.get(..12)).unwrap_or(image)
}

/// Several nodes with the same effect, as one name.
fn together<'n>(names: impl Iterator<Item = &'n str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}
