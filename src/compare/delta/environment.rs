//! Environment files and assignments: `KEY=value` by key.

use std::collections::BTreeMap;

use super::data::Data;
use super::walk::Walk;
use super::{ChangeKind, command, fields};

/// Whether every line of a text is an assignment or a comment. Scripts do not count.
pub(super) fn is_environment(walk: &Walk<'_>, path: &str, text: &str) -> bool {
    // A secret word that ends with `=` looks like one: in secret files only the name decides.
    if walk.masked && !path.ends_with(".env") && !path.contains("/sysconfig/") {
        return false;
    }
    let head = super::open::head(text);
    if path.ends_with(".sh") || text.starts_with("#!") || head.len() < text.len() {
        return false;
    }
    let mut lines = lines(text).peekable();
    lines.peek().is_some() && lines.all(|line| assignment(line).is_some())
}

pub(super) fn compare(walk: &mut Walk<'_>, old: &str, new: &str) {
    let read = |text: &str| -> Vec<(String, String)> {
        lines(text).filter_map(assignment).map(|(key, value)| (key.to_owned(), unquoted(value))).collect()
    };
    variables(walk, read(old), read(new));
}

/// Compares variables; the last of each name counts.
pub(super) fn variables(walk: &mut Walk<'_>, old: Vec<(String, String)>, new: Vec<(String, String)>) {
    let map = |variables: Vec<(String, String)>| -> BTreeMap<String, Data> {
        variables.into_iter().map(|(key, value)| (key, Data::Text(value))).collect()
    };
    let (old, new) = (map(old), map(new));
    walk.kind = ChangeKind::Environment;
    fields::maps(walk, &old, &new);
}

/// The variables of a unit's `Environment=`, quoted like a command line.
pub(super) fn assignments(text: &str) -> Vec<(String, String)> {
    let words = command::words(text);
    words
        .iter()
        .filter_map(|word| assignment(word))
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect()
}

fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with(['#', ';']))
}

fn assignment(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.strip_prefix("export ").unwrap_or(line).split_once('=')?;
    let fits = |c: u8| c.is_ascii_alphanumeric() || c == b'_';
    let named = !key.is_empty() && key.bytes().all(fits) && !key.starts_with(|c: char| c.is_ascii_digit());
    let quotes = !value.starts_with('=')
        && value.matches('"').count() % 2 == 0
        && !value.contains("$(")
        && !value.ends_with('\\');
    (named && quotes).then_some((key, value))
}

fn unquoted(value: &str) -> String {
    let value = value.trim();
    let inner =
        |quote: char| value.strip_prefix(quote)?.strip_suffix(quote).filter(|inner| !inner.contains(quote));
    inner('"').or_else(|| inner('\'')).unwrap_or(value).to_owned()
}
