//! Removes common blocks from two YAML objects, so that only the differences are parsed.
//!
//! Works on lines and indentation, as programs write YAML, and gives up on anything else: then the whole is parsed.
//! Invariant: the rest differs in exactly the same way as the whole. So only whole blocks are removed, from both sides
//! and from the same place, and identifying fields stay: `apiVersion`, `kind`, `metadata`, names, short values.

use super::lines::{BlockEntry, Lines};

/// Deeper nesting is kept.
const DEPTH: usize = 48;

type Out = (String, String);

/// Both texts without their common blocks; none if they are not plain objects.
pub(super) fn narrow(old: &str, new: &str) -> Option<Out> {
    let (one, two) = (Lines::of(start(old))?, Lines::of(start(new))?);
    let both = Both { old: &one, new: &two };
    let (old, new) = (one.entries(one.all(), 0)?, two.entries(two.all(), 0)?);
    let is_object = |entries: &[BlockEntry<'_>]| {
        ["apiVersion", "kind", "metadata"].iter().all(|key| entries.iter().any(|entry| entry.key == *key))
    };
    if !is_object(&old) || !is_object(&new) {
        return None;
    }
    let mut out = Out::default();
    both.mappings(&old, &new, 0, &mut out);
    Some(out)
}

/// Group, kind, namespace and name of the only object of a text, if written in the simplest form.
pub(super) fn identity(text: &str) -> Option<(String, String, String, String)> {
    let lines = Lines::of(start(text))?;
    let entries = lines.entries(lines.all(), 0)?;
    let metadata = entries.iter().find(|entry| entry.key == "metadata" && entry.is_block)?;
    let (indent, _) = lines.shape(&metadata.body)?;
    let inner = lines.entries(metadata.body.clone(), indent)?;
    let word = |entries: &[BlockEntry<'_>], key: &str| {
        let entry = entries.iter().find(|entry| entry.key == key)?;
        let value = entry.text[key.len() + 1..].trim();
        let plain = |c: u8| c.is_ascii_alphanumeric() || b"./-".contains(&c);
        let fits = value.len() > 5 && value.starts_with(|c: char| c.is_ascii_alphabetic());
        (fits && value.bytes().all(plain)).then(|| value.to_owned())
    };
    let namespace = match inner.iter().any(|entry| entry.key == "namespace") {
        true => word(&inner, "namespace")?,
        false => String::new(),
    };
    let version = word(&entries, "apiVersion")?;
    let group = version.split_once('/').map_or("", |(group, _)| group).to_owned();
    Some((group, word(&entries, "kind")?, namespace, word(&inner, "name")?))
}

/// The text after the document start line.
fn start(text: &str) -> &str {
    match text.strip_prefix("---").map(|rest| rest.trim_start_matches([' ', '\r'])) {
        Some(rest) => rest.strip_prefix('\n').unwrap_or(text),
        None => text,
    }
}

struct Both<'l, 't> {
    old: &'l Lines<'t>,
    new: &'l Lines<'t>,
}

impl Both<'_, '_> {
    fn mappings(&self, old: &[BlockEntry<'_>], new: &[BlockEntry<'_>], depth: usize, out: &mut Out) {
        for (at, one) in old.iter().enumerate() {
            // Usually both sides have the same keys in the same order.
            let same = new.get(at).filter(|two| two.key == one.key);
            match same.or_else(|| new.iter().find(|two| two.key == one.key)) {
                None => push(&mut out.0, one, one.text),
                Some(two) if one.text == two.text => {
                    let telling = one.key == "name"
                        || (depth == 0 && matches!(one.key, "apiVersion" | "kind" | "metadata"));
                    if telling || one.body.is_empty() || !(one.is_block || one.is_literal()) {
                        push(&mut out.0, one, one.text);
                        push(&mut out.1, two, two.text);
                    }
                }
                Some(two) => self.pair(one, two, depth, out),
            }
        }
        for two in new.iter().filter(|two| !old.iter().any(|one| one.key == two.key)) {
            push(&mut out.1, two, two.text);
        }
    }

    /// Handles a key with different values.
    fn pair(&self, one: &BlockEntry<'_>, two: &BlockEntry<'_>, depth: usize, out: &mut Out) {
        let mut inner = Out::default();
        let may = one.is_block && two.is_block && depth < DEPTH && !(depth == 0 && one.key == "metadata");
        if !may || !self.bodies(one, two, depth + 1, &mut inner) {
            push(&mut out.0, one, one.text);
            push(&mut out.1, two, two.text);
            return;
        }
        for (entry, inner, out) in [(one, inner.0, &mut out.0), (two, inner.1, &mut out.1)] {
            let head = entry.text.split('\n').next().unwrap_or_default();
            push(out, entry, head);
            match inner.is_empty() {
                // An empty block would be null.
                true => out.insert_str(out.len() - 1, " {}"),
                false => out.push_str(&inner),
            }
        }
    }

    /// Handles the values below a key: mappings, or lists with the same item names. False for anything else.
    fn bodies(&self, old: &BlockEntry<'_>, new: &BlockEntry<'_>, depth: usize, out: &mut Out) -> bool {
        let shapes = (self.old.shape(&old.body), self.new.shape(&new.body));
        let (Some((indent, list)), Some(other)) = shapes else { return false };
        if (indent, list) != other {
            return false;
        }
        if !list {
            let entries =
                (self.old.entries(old.body.clone(), indent), self.new.entries(new.body.clone(), indent));
            let (Some(one), Some(two)) = entries else { return false };
            self.mappings(&one, &two, depth, out);
            return true;
        }
        let items = (self.old.items(old.body.clone(), indent), self.new.items(new.body.clone(), indent));
        let (Some(old), Some(new)) = items else { return false };
        if old.len() != new.len() {
            return false;
        }
        let mut names: Vec<Option<&str>> = Vec::new();
        for (one, two) in old.iter().zip(&new) {
            let name = name_of(one);
            if name != name_of(two) || (name.is_none() && old.len() > 1) || names.contains(&name) {
                return false;
            }
            names.push(name);
            let mut item = Out::default();
            self.mappings(one, two, depth, &mut item);
            for (item, out) in [(item.0, &mut out.0), (item.1, &mut out.1)] {
                out.extend(std::iter::repeat_n(' ', indent));
                out.push_str("- ");
                out.push_str(item.get(indent + 2..).filter(|rest| !rest.is_empty()).unwrap_or("{}\n"));
            }
        }
        true
    }
}

fn name_of<'t>(entries: &[BlockEntry<'t>]) -> Option<&'t str> {
    entries.iter().find(|entry| entry.key == "name").map(|entry| entry.text.trim_end())
}

fn push(to: &mut String, entry: &BlockEntry<'_>, text: &str) {
    to.extend(std::iter::repeat_n(' ', entry.indent));
    to.push_str(text);
    if !text.ends_with('\n') {
        to.push('\n');
    }
}
