//! Command lines flag by flag: a container's `command` and `args`, a unit's `ExecStart`.
//!
//! `--flag=value` and `--flag value` are equal; the order of flags does not matter, that of other words does. A value
//! with several parts (`a,b,c`) is compared by part. The argument of a shell's `-c` is a text.

use std::collections::BTreeMap;

use super::data::Data;
use super::walk::Walk;
use super::{ChangeKind, StepKind, fields, image, lists, open};

/// A parsed command line.
#[derive(Debug, Default, PartialEq, Eq)]
struct Command {
    words: Vec<String>,
    flags: BTreeMap<String, Vec<Option<String>>>,
    script: Option<String>,
}

/// Whether both are lists of words.
pub(super) fn is_list(old: Option<&Data>, new: Option<&Data>) -> bool {
    let fits = |data: Option<&Data>| {
        data.and_then(Data::list).is_some_and(|list| list.iter().all(|item| item.word().is_some()))
    };
    fits(old) && fits(new)
}

/// Two lists of words.
pub(super) fn lists(walk: &mut Walk<'_>, old: Option<&Data>, new: Option<&Data>) {
    let words = |data: Option<&Data>| -> Vec<String> {
        let list = data.and_then(Data::list).unwrap_or_default();
        list.iter().filter_map(Data::word).map(str::to_owned).collect()
    };
    compare(walk, &words(old), &words(new));
}

/// Whether two command lines are the same.
pub(super) fn same(old: &str, new: &str) -> bool {
    old == new || Command::read(&words(old)) == Command::read(&words(new))
}

/// Two command lines in words.
pub(super) fn compare(walk: &mut Walk<'_>, old: &[String], new: &[String]) {
    let (old, new) = (Command::read(old), Command::read(new));
    walk.kind = ChangeKind::Flag;
    if old.words != new.words {
        let list = |words: &[String]| words.iter().cloned().map(Data::Text).collect::<Vec<_>>();
        lists::ordered(walk, &list(&old.words), &list(&new.words));
    }
    let mut names: Vec<&String> = old.flags.keys().chain(new.flags.keys()).collect();
    names.sort_unstable();
    names.dedup();
    for name in names.into_iter().filter(|name| old.flags.get(*name) != new.flags.get(*name)) {
        let values = |side: &Command| side.flags.get(name).cloned().unwrap_or_default();
        walk.step(StepKind::Flag, name, |walk| flag(walk, name, &values(&old), &values(&new)));
    }
    match (&old.script, &new.script) {
        (Some(one), Some(two)) if one != two => walk.step(StepKind::Flag, "-c", |walk| {
            open::content(walk, "script.sh", one.as_bytes(), two.as_bytes());
        }),
        (one, two) if one != two => {
            walk.step(StepKind::Flag, "-c", |walk| {
                walk.texts(ChangeKind::Flag, one.as_deref(), two.as_deref())
            });
        }
        _ => {}
    }
}

/// Compares the values of one flag.
fn flag(walk: &mut Walk<'_>, name: &str, old: &[Option<String>], new: &[Option<String>]) {
    let gate = name.trim_start_matches('-') == "feature-gates";
    let parts = |values: &[Option<String>]| -> Vec<String> {
        let values = values.iter().flatten().filter(|value| !value.starts_with(['{', '[']));
        values.flat_map(|value| value.split(',')).filter(|part| !part.is_empty()).map(str::to_owned).collect()
    };
    let (one, two) = (parts(old), parts(new));
    let several = gate || one.len() > 1 || two.len() > 1;
    let both = !old.is_empty() && !new.is_empty();
    if several && (both || gate) {
        let before = walk.count();
        each(walk, gate, &one, &two);
        if walk.count() > before || gate {
            return;
        }
    }
    let whole = |values: &[Option<String>]| {
        let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "(set)".to_owned());
        (!values.is_empty()).then(|| values.iter().map(text).collect::<Vec<_>>().join(","))
    };
    match (whole(old), whole(new)) {
        (Some(one), Some(two)) if image::is_reference(&one) && image::is_reference(&two) => {
            image::compare(walk, &one, &two);
        }
        (one, two) => {
            let data = |text: Option<String>| text.map(Data::Text);
            walk.edit(ChangeKind::Flag, data(one).as_ref(), data(two).as_ref());
        }
    }
}

/// Compares parts of values: those of the form `key=value` by key, others as a set.
fn each(walk: &mut Walk<'_>, gate: bool, old: &[String], new: &[String]) {
    let kind = if gate { ChangeKind::Gate } else { ChangeKind::Flag };
    let pairs = |parts: &[String]| -> Option<BTreeMap<String, Data>> {
        let pair = |part: &String| {
            let (key, value) = part.split_once('=')?;
            Some((key.to_owned(), Data::Text(value.to_owned())))
        };
        let pairs: BTreeMap<String, Data> = parts.iter().map(pair).collect::<Option<_>>()?;
        (pairs.len() == parts.len()).then_some(pairs)
    };
    let alone = |parts: &[String]| {
        parts.iter().map(|part| (part.clone(), Data::Text(part.clone()))).collect::<BTreeMap<_, _>>()
    };
    let (old, new) = match (pairs(old), pairs(new)) {
        (Some(old), Some(new)) => (old, new),
        _ => (alone(old), alone(new)),
    };
    for key in fields::keys(&old, &new) {
        let (one, two) = (old.get(key), new.get(key));
        if one.and_then(Data::text) != two.and_then(Data::text) {
            walk.item(key, |walk| walk.edit(kind, one, two));
        }
    }
}

impl Command {
    fn read(words: &[String]) -> Self {
        let mut command = Self::default();
        let mut left = words.iter().peekable();
        let shell = |word: &str| matches!(word.rsplit('/').next(), Some("sh" | "bash" | "ash" | "dash"));
        let mut in_shell = false;
        while let Some(word) = left.next() {
            let is_c =
                word.starts_with('-') && !word.starts_with("--") && word.ends_with('c') && word.len() < 8;
            if in_shell && is_c {
                command.words.push(word.clone());
                command.script = left.next().cloned();
                // The rest are the script's arguments.
                command.words.extend(left.by_ref().cloned());
                break;
            }
            if word == "--" {
                command.words.push(word.clone());
                command.words.extend(left.by_ref().cloned());
                break;
            }
            in_shell |= shell(word);
            let Some(name) = flag_name(word) else {
                command.words.push(word.clone());
                continue;
            };
            let value = match word.split_once('=') {
                Some((_, value)) => Some(value.to_owned()),
                None => left.next_if(|next| !next.starts_with('-')).cloned(),
            };
            command.flags.entry(name.to_owned()).or_default().push(value);
        }
        command
    }
}

/// `--name` or `-n`, without its value.
fn flag_name(word: &str) -> Option<&str> {
    let name = word.split_once('=').map_or(word, |(name, _)| name);
    let bare = name.strip_prefix("--").or_else(|| name.strip_prefix('-'))?;
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    (!bare.is_empty() && bare.len() < 64 && bare.chars().all(fits)).then_some(name)
}

/// Splits a line like systemd: at white space outside quotes.
pub(super) fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match (c, quote) {
            ('\\', Some('"') | None) => {
                let next = chars.next();
                let word = word.get_or_insert_default();
                if !next.is_some_and(|next| next.is_whitespace() || "\"'\\".contains(next)) {
                    word.push(c);
                }
                word.extend(next);
            }
            (c, Some(open)) if c == open => quote = None,
            ('"' | '\'', None) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (c, None) if c.is_whitespace() => words.extend(word.take()),
            (c, _) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}
