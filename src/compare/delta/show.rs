//! Data as text that may be shown: the only place that creates a [`ShownValue`] from a value.

use std::borrow::Cow;
use std::fmt::Write as _;

use super::ShownValue;
use super::data::Data;
use crate::base::redact;
use crate::base::secret::MASK;
use crate::base::yaml;

/// Larger values are shown by size and hash.
pub(super) const MOST: usize = 16 << 10;

/// How much of a value may be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Audience {
    /// Nothing: all of it is secret.
    Nobody,
    /// What neither is named nor looks like a credential.
    Careful,
    /// Everything but private keys: an API type or a list of gates has words, not values.
    Everybody,
}

impl Audience {
    fn text<'t>(self, key: &str, text: &'t str) -> Option<Cow<'t, str>> {
        match self {
            Self::Nobody => None,
            Self::Everybody if !text.contains("PRIVATE KEY-----") => Some(text.into()),
            _ => redact::value(key, text),
        }
    }

    fn name(self, name: &str) -> Cow<'_, str> {
        if self == Self::Everybody { name.into() } else { redact::name(name) }
    }
}

/// A value under its key.
pub(super) fn shown(key: &str, data: &Data, audience: Audience) -> ShownValue {
    match data {
        Data::Hidden(_) => ShownValue::Secret,
        _ if audience == Audience::Nobody => ShownValue::Secret,
        Data::Text(text) => text_of(key, text, audience),
        Data::List(_) | Data::Map(_) => {
            let mut to = String::new();
            write(key, data, audience, 0, &mut to);
            bounded(to.trim_start().to_owned())
        }
        Data::Null => ShownValue::Text("null".into()),
        other => ShownValue::Text(other.word().unwrap_or_default().to_owned()),
    }
}

/// A text under its key.
pub(super) fn text_of(key: &str, text: &str, audience: Audience) -> ShownValue {
    audience.text(key, text).map_or(ShownValue::Secret, |text| bounded(text.into_owned()))
}

/// Bytes that are not secret.
pub(super) fn bytes(content: &[u8]) -> ShownValue {
    ShownValue::Bytes { size: content.len() as u64, blake3: blake3::hash(content).to_hex().to_string() }
}

fn bounded(text: String) -> ShownValue {
    if text.len() > MOST { bytes(text.as_bytes()) } else { ShownValue::Text(text) }
}

fn write(key: &str, data: &Data, audience: Audience, indent: usize, to: &mut String) {
    match data {
        Data::List(items) if items.is_empty() => to.push_str("[]"),
        Data::Map(map) if map.is_empty() => to.push_str("{}"),
        Data::List(items) => {
            for item in items {
                let _ = write!(to, "\n{:indent$}- ", "");
                let mut nested = String::new();
                write(key, item, audience, indent + 2, &mut nested);
                to.push_str(nested.trim_start());
            }
        }
        Data::Map(map) => {
            for (key, item) in map {
                let deeper = indent + if matches!(item, Data::Map(_)) { 2 } else { 0 };
                let _ = write!(to, "\n{:indent$}{}:", "", yaml::scalar(&audience.name(key)));
                let nested = item.is_scalar() || matches!(item, Data::List(list) if list.is_empty());
                if nested || matches!(item, Data::Map(map) if map.is_empty()) {
                    to.push(' ');
                }
                write(key, item, audience, deeper, to);
            }
        }
        Data::Hidden(_) => to.push_str(MASK),
        Data::Text(text) => match audience.text(key, text) {
            None => to.push_str(MASK),
            Some(text) if is_block(&text) => block(&text, indent + 2, to),
            Some(text) => to.push_str(&yaml::scalar(&text)),
        },
        Data::Null => to.push_str("null"),
        other => to.push_str(other.word().unwrap_or_default()),
    }
}

fn is_block(text: &str) -> bool {
    text.contains('\n')
        && !text.starts_with([' ', '\n'])
        && !text.chars().any(|c| c.is_control() && c != '\n')
}

fn block(text: &str, indent: usize, to: &mut String) {
    to.push_str(if text.ends_with('\n') { "|" } else { "|-" });
    for line in text.strip_suffix('\n').unwrap_or(text).split('\n') {
        to.push('\n');
        if !line.is_empty() {
            let _ = write!(to, "{:indent$}{line}", "");
        }
    }
}
