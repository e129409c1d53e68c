//! Where in a part of a document the crate's complaint belongs: it says what is wrong, and not where.
//!
//! The part is read again without each of its fields in turn. Where the complaint goes away, the search continues below that field.

use super::Refusal;
use crate::base::hint::did_you_mean;
use crate::base::value::Value;

/// Maps and lists with more than this are not searched: each attempt reads the whole part.
const WIDEST: usize = 128;

/// Fields that decide how the rest of an interface is read.
const DECISIVE: [&str; 3] = ["name", "state", "type"];

/// Fields that interfaces of every type have.
const COMMON: [&str; 17] = [
    "accept-all-mac-addresses",
    "copy-mac-from",
    "description",
    "dispatch",
    "ethtool",
    "identifier",
    "ipv4",
    "ipv6",
    "lldp",
    "mac-address",
    "mptcp",
    "mtu",
    "name",
    "profile-name",
    "state",
    "type",
    "wait-ip",
];

/// A refusal of the part at `path`, at the field that causes it; none if `read` has nothing to say.
pub(super) fn refuse(path: &str, part: &Value, read: impl Fn(&Value) -> Option<String>) -> Option<Refusal> {
    let message = read(part)?;
    let mut at = Vec::new();
    while let Some(next) = step(part, &at, &message, &read) {
        at.push(next);
    }
    // It also may be what stands in the place of a field that is demanded.
    let unknown = message.strip_prefix("unknown field `").and_then(|rest| rest.split('`').next());
    if let Some(unknown) =
        unknown.filter(|name| below(part, &at).is_some_and(|here| here.get(name).is_some()))
    {
        at.push(unknown.to_owned());
    }
    let whole = std::iter::once(path).chain(at.iter().map(String::as_str)).collect::<Vec<_>>().join(".");
    let (message, hint) = explain(&message, below(part, &at));
    Some(Refusal { path: whole, message, hint })
}

/// The field below `at` without which the complaint is another one, or none.
fn step(
    part: &Value,
    at: &[String],
    message: &str,
    read: impl Fn(&Value) -> Option<String>,
) -> Option<String> {
    let keys: Vec<String> = match below(part, at)? {
        Value::Map(map) => map.keys().filter(|key| !at.is_empty() || !is_decisive(key)).cloned().collect(),
        Value::List(items) => (0..items.len()).map(|index| index.to_string()).collect(),
        _ => return None,
    };
    let is_culprit = |key: &&String| {
        let mut rest = part.clone();
        take(&mut rest, at, key);
        // Without a field that it demands, the crate has something else to say.
        read(&rest).is_none_or(|other| other != message && !other.starts_with("missing field"))
    };
    keys.iter().filter(|_| keys.len() <= WIDEST).find(is_culprit).cloned()
}

fn is_decisive(key: &str) -> bool {
    DECISIVE.contains(&key)
}

fn below<'v>(part: &'v Value, at: &[String]) -> Option<&'v Value> {
    at.iter().try_fold(part, |value, key| match value {
        Value::List(items) => items.get(key.parse::<usize>().ok()?),
        other => other.get(key),
    })
}

/// Takes a field away.
fn take(part: &mut Value, at: &[String], key: &str) {
    match (part, at.split_first()) {
        (Value::Map(map), None) => drop(map.remove(key)),
        (Value::List(items), None) => {
            if let Some(index) = key.parse().ok().filter(|index| *index < items.len()) {
                items.remove(index);
            }
        }
        (Value::Map(map), Some((first, rest))) => {
            if let Some(next) = map.get_mut(first) {
                take(next, rest, key);
            }
        }
        (Value::List(items), Some((first, rest))) => {
            if let Some(next) = first.parse().ok().and_then(|index: usize| items.get_mut(index)) {
                take(next, rest, key);
            }
        }
        _ => {}
    }
}

/// The crate's message in our words: what it expected becomes a hint.
fn explain(message: &str, found: Option<&Value>) -> (String, Option<String>) {
    let (what, expected) = message.split_once(", expected ").unwrap_or((message, ""));
    let word = what.split('`').nth(1).unwrap_or_default();
    let known: Vec<&str> = expected.split('`').skip(1).step_by(2).collect();
    let listed = || (!known.is_empty()).then(|| format!("known: {}", known.join(", ")));
    if what.starts_with("unknown field") {
        let known = if known.is_empty() { COMMON.as_slice() } else { &known };
        let hint = did_you_mean(word, known.iter().copied()).or_else(listed);
        return (format!("NMState has no field `{word}` here"), hint);
    }
    if what.starts_with("unknown variant") {
        let hint = did_you_mean(word, known.iter().copied()).or_else(listed);
        return (format!("`{word}` is not a value of this field"), hint);
    }
    match found.and_then(Value::as_text) {
        Some(text) if message.contains("digit found in string") => {
            (format!("`{}` is not a number", text.escape_debug()), None)
        }
        _ => (message.to_owned(), None),
    }
}
