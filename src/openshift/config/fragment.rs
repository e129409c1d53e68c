//! Step one: a file's tree against its field table. Gives typed data and the line of every field.
//!
//! Invariant: data holds only what has the right shape, so that later steps ask without checking again; whatever was
//! left out has its problem on record. Secrets are apart from the data from here on.

use std::collections::BTreeMap;

use super::Source;
use super::scalar::{boolean, is_ambiguous, size};
use super::spec::{Field, Kind};
use super::syntax::{self, Syntax};
use crate::base::hint::{Place, Problem, Problems, did_you_mean};
use crate::base::secret::Secret;
use crate::base::value::Value;
use crate::base::yaml::{self, YamlData, YamlEntry, YamlNode};

pub(super) struct Fragment {
    /// The file, as shown to the user.
    pub(super) file: String,
    /// The fields that were given and have the right shape; without secrets.
    pub(super) data: Value,
    /// Secret fields, by path.
    pub(super) secrets: BTreeMap<String, Secret>,
    /// The line of every field that was given.
    pub(super) lines: BTreeMap<String, usize>,
    /// Whether there was a document at all; if not, nothing more is said about what is missing from it.
    pub(super) readable: bool,
}

impl Fragment {
    /// Reads a file by its table.
    pub(super) fn read(source: Source<'_>, fields: &'static [Field], problems: &mut Problems) -> Self {
        let root = yaml::parse(source, problems);
        let readable = root.is_some();
        let mut walk = Walk { file: source.name, problems, secrets: BTreeMap::new(), lines: BTreeMap::new() };
        let data = root
            .and_then(|root| walk.value("", root.line, root, &Kind::Map(fields), false))
            .unwrap_or_default();
        let Walk { secrets, lines, .. } = walk;
        Self { file: source.name.to_owned(), data, secrets, lines, readable }
    }

    /// The value at a dotted path of map keys.
    pub(super) fn get(&self, path: &str) -> Option<&Value> {
        path.split('.').try_fold(&self.data, Value::get)
    }

    /// The text at a path.
    pub(super) fn text(&self, path: &str) -> Option<&str> {
        self.get(path).and_then(Value::as_text)
    }

    /// The list at a path; empty if there is none.
    pub(super) fn list(&self, path: &str) -> &[Value] {
        self.get(path).map_or(&[], list)
    }

    /// A problem at a field. A field that was not written is reported where its nearest written parent is.
    pub(super) fn problem(&self, field: &str, message: impl Into<String>) -> Problem {
        let line = field_and_parents(field).find_map(|path| self.lines.get(path).copied());
        Problem::new(Place { file: self.file.clone(), line, field: field.to_owned() }, message)
    }
}

/// `a.b.c`, `a.b`, `a`.
fn field_and_parents(field: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(field), |path| path.rsplit_once('.').map(|(parent, _)| parent))
}

/// The elements of a list; of anything else, none.
pub(super) fn list(value: &Value) -> &[Value] {
    match value {
        Value::List(items) => items,
        _ => &[],
    }
}

/// The number at a key of a map.
pub(super) fn int(value: &Value, key: &str) -> Option<i64> {
    match value.get(key) {
        Some(Value::Int(number)) => Some(*number),
        _ => None,
    }
}

struct Walk<'a> {
    file: &'a str,
    problems: &'a mut Problems,
    secrets: BTreeMap<String, Secret>,
    lines: BTreeMap<String, usize>,
}

impl Walk<'_> {
    fn report(
        &mut self,
        path: &str,
        line: usize,
        message: impl Into<String>,
        hint: impl Into<Option<String>>,
    ) {
        let place = Place { file: self.file.to_owned(), line: Some(line), field: path.to_owned() };
        self.problems.push(Problem::new(place, message).hint(hint));
    }

    /// Types a node by what its field asks for; none if it does not fit, which is then on record.
    fn value(&mut self, path: &str, line: usize, node: YamlNode, kind: &Kind, secret: bool) -> Option<Value> {
        if !path.is_empty() {
            self.lines.insert(path.to_owned(), line);
        }
        match (kind, node.data) {
            (Kind::Refused(instead), _) => {
                let message = "the installer knows this field, tinderbox does not support it";
                self.report(path, line, message, Some((*instead).to_owned()));
                None
            }
            (Kind::Map(fields), YamlData::Map(entries)) => Some(self.map(path, line, entries, fields)),
            (Kind::Named(fields), YamlData::Map(entries)) => Some(self.named(path, entries, fields)),
            (Kind::List(fields), YamlData::List(items)) => Some(self.list(path, items, fields)),
            (Kind::Texts(syntax) | Kind::OneOrMore(syntax), YamlData::List(items)) => {
                Some(self.texts(path, items, syntax))
            }
            (Kind::OneOrMore(syntax), YamlData::Scalar { text, plain }) => {
                let kind = Kind::Text(syntax);
                Some(Value::List(vec![self.scalar(path, line, text, plain, &kind, secret)?]))
            }
            (
                Kind::Bool | Kind::Int { .. } | Kind::Text(_) | Kind::Choice { .. } | Kind::Size(_),
                YamlData::Scalar { text, plain },
            ) => self.scalar(path, line, text, plain, kind, secret),
            (_, data) => {
                let found = match data {
                    YamlData::Map(_) => "a map",
                    YamlData::List(_) => "a list",
                    YamlData::Scalar { .. } => "a single value",
                };
                self.report(path, line, format!("{found} is not {}", kind.expectation()), None);
                None
            }
        }
    }

    fn map(&mut self, path: &str, line: usize, entries: Vec<YamlEntry>, fields: &[Field]) -> Value {
        let mut map = BTreeMap::new();
        let mut missing: Vec<&Field> = fields.iter().filter(|field| field.required).collect();
        let mut refused = false;
        for YamlEntry { key, line, value, .. } in entries {
            let below = join(path, &key);
            let Some(field) = fields.iter().find(|field| field.name == key) else {
                let hint =
                    did_you_mean(&key, fields.iter().map(|field| field.name)).or_else(|| known(fields));
                self.report(&below, line, "unknown field", hint);
                continue;
            };
            if value.is_null() {
                continue; // As the installer reads it: null is absent.
            }
            refused |= matches!(field.kind, Kind::Refused(_));
            missing.retain(|required| required.name != key);
            if let Some(value) = self.value(&below, line, value, &field.kind, field.secret) {
                if field.secret {
                    if let Value::Text(text) = value {
                        self.secrets.insert(below, Secret::from(text));
                    }
                } else {
                    map.insert(key, value);
                }
            }
        }
        // A refused platform is one problem, not also a missing `none`.
        missing.retain(|field| !(refused && field.name == "none"));
        for field in missing {
            let hint = match field.kind {
                Kind::Text(syntax) => format!("for example: {}", syntax.example),
                _ => format!("it is {}", field.kind.expectation()),
            };
            self.report(&join(path, field.name), line, "required, and not given", Some(hint));
        }
        Value::Map(map)
    }

    fn named(&mut self, path: &str, entries: Vec<YamlEntry>, fields: &'static [Field]) -> Value {
        let shaped = entries.into_iter().filter_map(|YamlEntry { key, line, value, .. }| {
            if !(syntax::NAME.check)(&key) {
                self.report(&join(path, &key), line, format!("`{key}` is not {}", syntax::NAME.name), None);
                return None;
            }
            let value = self.value(&join(path, &key), line, value, &Kind::Map(fields), false)?;
            Some((key, value))
        });
        Value::Map(shaped.collect())
    }

    fn list(&mut self, path: &str, items: Vec<YamlNode>, fields: &'static [Field]) -> Value {
        let mut names: BTreeMap<String, usize> = BTreeMap::new();
        let mut list = Vec::with_capacity(items.len());
        for (index, item) in items.into_iter().enumerate() {
            let line = item.line;
            let name = name_of(&item);
            let first = name.as_ref().and_then(|name| names.get(name).copied());
            let below = match (&name, first) {
                (Some(name), None) => join(path, name),
                _ => join(path, &index.to_string()),
            };
            if let (Some(name), Some(first)) = (&name, first) {
                self.report(
                    &below,
                    line,
                    format!("the name `{name}` is used twice, first on line {first}"),
                    None,
                );
            }
            if let Some(name) = name {
                names.entry(name).or_insert(line);
            }
            list.extend(self.value(&below, line, item, &Kind::Map(fields), false));
        }
        Value::List(list)
    }

    fn texts(&mut self, path: &str, items: Vec<YamlNode>, syntax: &'static Syntax) -> Value {
        let kind = Kind::Text(syntax);
        let shaped = items.into_iter().enumerate().filter_map(|(index, item)| {
            let line = item.line;
            self.value(&join(path, &index.to_string()), line, item, &kind, false)
        });
        Value::List(shaped.collect())
    }

    fn scalar(
        &mut self,
        path: &str,
        line: usize,
        text: String,
        plain: bool,
        kind: &Kind,
        secret: bool,
    ) -> Option<Value> {
        let (typed, hint) = match kind {
            Kind::Bool => (boolean(&text).filter(|_| plain).map(Value::Bool), None),
            Kind::Int { min, max } => {
                let number = text.parse::<i64>().ok().filter(|number| plain && (min..=max).contains(&number));
                (number.map(Value::Int), (!plain).then(|| "remove the quotes".to_owned()))
            }
            Kind::Size(unit) => (size(&text, *unit).map(Value::Int), None),
            Kind::Choice { values, refused } => {
                if refused.contains(&text.as_str()) {
                    let message = format!("the installer knows `{text}`, tinderbox does not support it");
                    self.report(path, line, message, Some(format!("it must be {}", kind.expectation())));
                    return None;
                }
                let hint = did_you_mean(&text, values.iter().copied().filter(|_| values.len() > 1));
                (values.contains(&text.as_str()).then(|| Value::Text(text.clone())), hint)
            }
            Kind::Text(syntax) => {
                if plain && is_ambiguous(&text) {
                    let message = if secret {
                        "not a text to YAML".to_owned()
                    } else {
                        format!("`{text}` is not a text to YAML")
                    };
                    self.report(path, line, message, Some("put it in quotes".to_owned()));
                    return None;
                }
                let hint = Some(format!("for example: {}", syntax.example));
                ((syntax.check)(&text).then(|| Value::Text(text.clone())), hint)
            }
            _ => (None, None),
        };
        if typed.is_none() {
            let shown = if secret { "this".to_owned() } else { shown(&text) };
            self.report(path, line, format!("{shown} is not {}", kind.expectation()), hint);
        }
        typed
    }
}

/// `a` and `b` as `a.b`.
pub(super) fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// The `name` of a list element, if it can serve in a path.
fn name_of(item: &YamlNode) -> Option<String> {
    let YamlData::Map(entries) = &item.data else { return None };
    match &entries.iter().find(|entry| entry.key == "name")?.value.data {
        YamlData::Scalar { text, .. } if (syntax::NAME.check)(text) && text.parse::<usize>().is_err() => {
            Some(text.clone())
        }
        _ => None,
    }
}

/// The first line of a value, short enough for a message.
fn shown(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let short: String = line.chars().take(60).collect();
    if short.len() == text.len() { format!("`{short}`") } else { format!("`{short}…`") }
}

/// "known fields: …", unless they are too many to help.
fn known(fields: &[Field]) -> Option<String> {
    let names: Vec<&str> = fields
        .iter()
        .filter(|field| !matches!(field.kind, Kind::Refused(_)))
        .map(|field| field.name)
        .collect();
    (!names.is_empty()).then(|| format!("known here: {}", names.join(", ")))
}
