//! Parses text: JSON with a fast parser, YAML one document at a time, and only documents on one side.

use std::collections::BTreeMap;

use super::data::Data;
use super::{narrow, sparse};
use crate::base::hint::Problems;
use crate::base::yaml::{self, Source};

/// Maximum size; larger texts are compared by line, since their trees would take too much memory.
const MOST: usize = 64 << 20;
/// The same for YAML, which parses more slowly.
const MOST_YAML: usize = 16 << 20;

/// Why a text was not parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refused {
    Invalid {
        /// From 1, in the document.
        line: usize,
    },
    Large,
}

/// Documents of each side that the other side lacks. An error says how many sides are invalid.
pub(super) fn documents(old: &str, new: &str) -> Result<[Vec<Data>; 2], String> {
    if old.len().max(new.len()) > MOST {
        return Err(why(Some(Refused::Large), None));
    }
    if is_json(old) && is_json(new) {
        if let Some(both) = sparse::configs(old, new) {
            return Ok(both.map(|config| vec![config]));
        }
        if let (Ok(old), Ok(new)) = (json(old), json(new)) {
            return Ok([vec![old], vec![new]]);
        }
    }
    let (mut one, mut two) = (split(old), split(new));
    let mut both: BTreeMap<&str, usize> = BTreeMap::new();
    one.iter().for_each(|(_, text)| *both.entry(text).or_default() += 1);
    let mut shared: BTreeMap<&str, usize> = BTreeMap::new();
    two.retain(|(_, text)| match both.get_mut(text) {
        Some(count) if *count > 0 => {
            *count -= 1;
            *shared.entry(text).or_default() += 1;
            false
        }
        _ => true,
    });
    one.retain(|(_, text)| match shared.get_mut(text) {
        Some(count) if *count > 0 => {
            *count -= 1;
            false
        }
        _ => true,
    });
    let size = |documents: &[(usize, &str)]| documents.iter().map(|(_, text)| text.len()).sum::<usize>();
    if size(&one).max(size(&two)) > MOST_YAML {
        return Err(why(Some(Refused::Large), None));
    }
    if let ([(_, one)], [(_, two)]) = (&one[..], &two[..])
        && let Some((one, two)) = narrow::narrow(one, two)
        && let (Ok(one), Ok(two)) = (all(&[(0, &one)]), all(&[(0, &two)]))
    {
        return Ok([one, two]);
    }
    match (all(&one), all(&two)) {
        (Ok(one), Ok(two)) => Ok([one, two]),
        (one, two) => Err(why(one.err(), two.err())),
    }
}

/// All documents of a text, if it is valid.
pub(super) fn all_of(text: &str) -> Option<Vec<Data>> {
    all(&split(text)).ok()
}

/// The only value of a JSON text.
pub(super) fn json(text: &str) -> Result<Data, Refused> {
    if text.len() > MOST {
        return Err(Refused::Large);
    }
    serde_json::from_str(text).map_err(|error| Refused::Invalid { line: error.line() })
}

pub(super) fn is_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '['])
}

/// The message is independent of the side.
fn why(one: Option<Refused>, two: Option<Refused>) -> String {
    let reason = match (one, two) {
        (Some(Refused::Large), _) | (_, Some(Refused::Large)) => "it is too large to parse".into(),
        (Some(Refused::Invalid { line }), None) | (None, Some(Refused::Invalid { line })) => {
            format!("one side is not valid YAML (line {line})")
        }
        (Some(Refused::Invalid { line: one }), Some(Refused::Invalid { line: two })) => {
            let (one, two) = (one.min(two), one.max(two));
            match one == two {
                true => format!("neither side is valid YAML (line {one})"),
                false => format!("neither side is valid YAML (lines {one} and {two})"),
            }
        }
        (None, None) => "it cannot be read".into(),
    };
    format!("compared as text: {reason}")
}

/// Documents with the number of lines before them, split at `---`.
fn split(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let (mut start, mut lines, mut before) = (0, 0, 0);
    let mut at = 0;
    if !text.contains("---") {
        return vec![(0, text)];
    }
    for line in text.split_inclusive('\n') {
        if line.starts_with("---") && line[3..].starts_with([' ', '\n', '\r', '\t']) || line == "---" {
            found.push((before, &text[start..at]));
            (start, before) = (at, lines);
        }
        at += line.len();
        lines += 1;
    }
    found.push((before, &text[start..]));
    found.retain(|(_, text)| !text.trim().is_empty());
    found
}

fn all(documents: &[(usize, &str)]) -> Result<Vec<Data>, Refused> {
    let mut found = Vec::new();
    for (before, text) in documents {
        if is_json(text)
            && let Ok(data) = json(text)
        {
            found.push(data);
            continue;
        }
        let mut problems = Problems::default();
        let nodes = yaml::go_documents(Source { name: "", text }, &mut problems);
        if let Some(problem) = problems.0.first() {
            if problem.message == yaml::TOO_LARGE {
                return Err(Refused::Large);
            }
            return Err(Refused::Invalid { line: before + problem.place.line.unwrap_or(1) });
        }
        found.extend(nodes.into_iter().map(Data::of));
    }
    Ok(found)
}
