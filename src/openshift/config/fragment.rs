//! Step one: parses a file by its field table. Yields typed values and the line of every field.
//!
//! Invariant: contains only values that their row could parse, so that later steps need not check again; every value
//! that was left out has a problem. Secrets are kept separately from here on.

use std::collections::BTreeMap;

use super::Source;
use super::given::{Given, Scalar, Typed, boolean, is_ambiguous};
use super::spec::{Kind, Row};
use super::syntax::{self, Syntax};
use crate::base::hint::{Place, Problem, Problems, did_you_mean};
use crate::base::secret::Secret;
use crate::base::value::Value;
use crate::base::yaml::{self, YamlData, YamlEntry, YamlNode};

#[derive(Debug)]
pub(super) struct Fragment {
    /// As shown to the user.
    pub(super) file: String,
    /// The parsed fields, without secrets.
    pub(super) given: Given,
    /// Secret fields, by path.
    pub(super) secrets: BTreeMap<String, Secret>,
    /// The line of every field in the file.
    pub(super) lines: BTreeMap<String, usize>,
    /// Whether there was a document at all; if not, missing fields are not reported.
    pub(super) readable: bool,
}

impl Fragment {
    /// Parses a file by its table.
    pub(super) fn read(source: Source<'_>, fields: &'static [Row], problems: &mut Problems) -> Self {
        let root = yaml::parse(source, problems);
        let readable = root.is_some();
        let mut walk = Walk { file: source.name, problems, secrets: BTreeMap::new(), lines: BTreeMap::new() };
        let given = root
            .and_then(|root| walk.value("", root.line, root, &Kind::Map(fields), false))
            .unwrap_or_else(|| Given::Map(BTreeMap::new()));
        let Walk { secrets, lines, .. } = walk;
        Self { file: source.name.to_owned(), given, secrets, lines, readable }
    }

    /// The value at a dotted path of map keys.
    pub(super) fn get<T: Typed>(&self, path: &str) -> Option<&T> {
        self.given.get(path)
    }

    pub(super) fn text(&self, path: &str) -> Option<&str> {
        self.get::<String>(path).map(String::as_str)
    }

    /// The list at a path; may be empty.
    pub(super) fn list(&self, path: &str) -> &[Given] {
        self.given.at(path).map_or(&[], Given::items)
    }

    /// Whether a field is set, even if invalid.
    pub(super) fn wrote(&self, field: &str) -> bool {
        self.lines.contains_key(field)
    }

    /// The path of a list element: by its name if that is usable, else by its index.
    pub(super) fn element(&self, list: &str, index: usize, element: &Given) -> String {
        let named = element.get::<String>("name").map(|name| join(list, name));
        named.filter(|path| self.wrote(path)).unwrap_or_else(|| join(list, &index.to_string()))
    }

    /// A problem at a field. If the field is not set, at its nearest parent that is.
    pub(super) fn problem(&self, field: &str, message: impl Into<String>) -> Problem {
        let line = field_and_parents(field).find_map(|path| self.lines.get(path).copied());
        Problem::new(Place { file: self.file.clone(), line, field: field.to_owned() }, message)
    }
}

/// `a.b.c`, `a.b`, `a`.
fn field_and_parents(field: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(field), |path| path.rsplit_once('.').map(|(parent, _)| parent))
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

    /// Types a node by its field; none if it does not match, with a problem.
    fn value(&mut self, path: &str, line: usize, node: YamlNode, kind: &Kind, secret: bool) -> Option<Given> {
        if !path.is_empty() {
            self.lines.insert(path.to_owned(), line);
        }
        match (kind, node.data) {
            (Kind::Refused(instead), _) => {
                let message = "openshift-install supports this field, but tinderbox does not";
                self.report(path, line, message, Some((*instead).to_owned()));
                None
            }
            (Kind::Map(fields), YamlData::Map(entries)) => Some(self.map(path, line, entries, fields)),
            (Kind::Document(_), data @ YamlData::Map(_)) => self.document(path, line, data),
            (Kind::Named(fields), YamlData::Map(entries)) => Some(self.named(path, entries, fields)),
            (Kind::List(fields), YamlData::List(items)) => Some(self.list(path, items, fields)),
            (Kind::Texts(syntax) | Kind::OneOrMore(syntax), YamlData::List(items)) => {
                Some(self.texts(path, items, syntax))
            }
            (Kind::OneOrMore(syntax), YamlData::Scalar { text, plain }) => {
                let kind = Kind::Text(syntax);
                Some(Given::List(vec![self.scalar(path, line, text, plain, &kind, secret)?]))
            }
            (
                Kind::Bool
                | Kind::Int { .. }
                | Kind::Text(_)
                | Kind::Lines(_)
                | Kind::Choice { .. }
                | Kind::Quantity(_),
                YamlData::Scalar { text, plain },
            ) => self.scalar(path, line, text, plain, kind, secret),
            (_, data) => {
                let found = match data {
                    YamlData::Map(_) => "a map",
                    YamlData::List(_) => "a list",
                    YamlData::Scalar { .. } => "a single value",
                };
                let name = path.rsplit('.').next().unwrap_or_default();
                let sample = kind.sample(name);
                // An element of a list has a number where a field has its name.
                let element = name.parse::<usize>().map_or(String::new(), |_| format!("{name}: "));
                let hint = sample.map(|sample| {
                    format!("write `{}`", sample.strip_prefix(element.as_str()).unwrap_or(&sample))
                });
                self.report(path, line, format!("must be {}, but is {found}", kind.expectation()), hint);
                None
            }
        }
    }

    fn map(&mut self, path: &str, line: usize, entries: Vec<YamlEntry>, fields: &[Row]) -> Given {
        let mut map = BTreeMap::new();
        let mut missing: Vec<&Row> = fields.iter().filter(|field| field.required).collect();
        for YamlEntry { key, line, value, .. } in entries {
            let below = join(path, &key);
            let Some(field) = fields.iter().find(|field| field.name == key) else {
                let hint = directory_hint(path, &key, self.file)
                    .or_else(|| did_you_mean(&key, fields.iter().map(|field| field.name)))
                    .or_else(|| known(fields));
                self.report(&below, line, "unknown field", hint);
                continue;
            };
            if value.is_null() {
                continue; // As the installer reads it: null is absent.
            }
            missing.retain(|required| required.name != key);
            if field.not_empty && matches!(&value.data, YamlData::List(items) if items.is_empty()) {
                let hint = "give at least one element".to_owned();
                self.report(&below, line, "the list is empty", hint);
            }
            if let Some(value) = self.value(&below, line, value, &field.kind, field.secret) {
                if field.secret {
                    if let Given::Leaf { scalar: Scalar::Text(text), .. } = value {
                        self.secrets.insert(below, Secret::from(text));
                    }
                } else {
                    map.insert(key, value);
                }
            }
        }
        for field in missing {
            let hint = match (field.kind, field.kind.sample(field.name)) {
                (_, Some(sample)) => format!("add `{sample}`"),
                (Kind::Text(syntax) | Kind::Lines(syntax) | Kind::OneOrMore(syntax), _) => {
                    format!("for example: {}", syntax.example)
                }
                (kind, _) => format!("it is {}", kind.expectation()),
            };
            self.report(&join(path, field.name), line, "required, but missing", Some(hint));
        }
        Given::Map(map)
    }

    /// Keeps everything as it is, with its lines. Elements of lists are addressed by index: names may repeat.
    fn document(&mut self, path: &str, line: usize, data: YamlData) -> Option<Given> {
        self.lines.insert(path.to_owned(), line);
        match data {
            YamlData::Map(entries) => {
                let mut map = BTreeMap::new();
                for YamlEntry { key, line, value, .. } in
                    entries.into_iter().filter(|entry| !entry.value.is_null())
                {
                    if let Some(given) = self.document(&join(path, &key), line, value.data) {
                        map.insert(key, given);
                    }
                }
                Some(Given::Map(map))
            }
            YamlData::List(items) => {
                let items = items.into_iter().enumerate();
                let given = items.filter_map(|(index, item)| {
                    self.document(&join(path, &index.to_string()), item.line, item.data)
                });
                Some(Given::List(given.collect()))
            }
            YamlData::Scalar { text, plain } => {
                let resolved = if plain { yaml::resolve(&text) } else { yaml::Scalar::Text };
                let whole = |number: i128| i64::try_from(number).ok().map(Scalar::Int);
                let scalar = match resolved {
                    yaml::Scalar::Null => return None,
                    yaml::Scalar::Bool(value) => Some(Scalar::Bool(value)),
                    yaml::Scalar::Int(number) => whole(number),
                    yaml::Scalar::Float(_) => None,
                    yaml::Scalar::Text => Some(Scalar::Text(text.clone())),
                };
                let Some(scalar) = scalar else {
                    let hint = Some("put it in quotes if it is a text".to_owned());
                    self.report(path, line, format!("{} is not a whole number", shown(&text)), hint);
                    return None;
                };
                Some(Given::Leaf { written: scalar.value(), scalar })
            }
        }
    }

    fn named(&mut self, path: &str, entries: Vec<YamlEntry>, fields: &'static [Row]) -> Given {
        let shaped = entries.into_iter().filter_map(|YamlEntry { key, line, value, .. }| {
            if !syntax::is_label(&key) {
                self.report(&join(path, &key), line, format!("`{key}` is not {}", syntax::NAME.name), None);
                return None;
            }
            let value = self.value(&join(path, &key), line, value, &Kind::Map(fields), false)?;
            Some((key, value))
        });
        Given::Map(shaped.collect())
    }

    fn list(&mut self, path: &str, items: Vec<YamlNode>, fields: &'static [Row]) -> Given {
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
        Given::List(list)
    }

    fn texts(&mut self, path: &str, items: Vec<YamlNode>, syntax: &'static Syntax) -> Given {
        let kind = Kind::Text(syntax);
        let shaped = items.into_iter().enumerate().filter_map(|(index, item)| {
            let line = item.line;
            self.value(&join(path, &index.to_string()), line, item, &kind, false)
        });
        Given::List(shaped.collect())
    }

    fn scalar(
        &mut self,
        path: &str,
        line: usize,
        text: String,
        plain: bool,
        kind: &Kind,
        secret: bool,
    ) -> Option<Given> {
        let (is_text, hint) = match kind {
            Kind::Int { .. } => (false, (!plain).then(|| "remove the quotes".to_owned())),
            Kind::Choice { values, refused, .. } => {
                if refused.contains(&text.as_str()) {
                    let message = format!("openshift-install supports `{text}`, but tinderbox does not");
                    self.report(path, line, message, Some(format!("it must be {}", kind.expectation())));
                    return None;
                }
                (true, did_you_mean(&text, values.iter().copied().filter(|_| values.len() > 1)))
            }
            Kind::Text(syntax) | Kind::Lines(syntax) => {
                if plain && is_ambiguous(&text) {
                    let shown = if secret { "this".to_owned() } else { format!("`{text}`") };
                    let read = if boolean(&text).is_some() { "true or false" } else { "a number" };
                    let hint = Some("put it in quotes".to_owned());
                    self.report(path, line, format!("YAML reads {shown} as {read}, not as text"), hint);
                    return None;
                }
                (true, Some(format!("for example: {}", syntax.example)))
            }
            Kind::Quantity(unit) if text.parse::<u64>().is_ok() => {
                let unit = unit.example.trim_start_matches(|c: char| c.is_ascii_digit());
                (false, Some(format!("write `{text}{unit}` if you mean that")))
            }
            _ => (false, None),
        };
        let Some(scalar) = kind.parse(&text, plain) else {
            if text.is_empty() {
                let message = format!("it is empty, but must be {}", kind.expectation());
                self.report(path, line, message, Some("leave it out, or give it a value".to_owned()));
                return None;
            }
            let shown = if secret || has_login(&text) { "this".to_owned() } else { shown(&text) };
            let message = match kind {
                Kind::Choice { values: [only], .. } => format!("must be `{only}`, not {shown}"),
                _ => format!("{shown} is not {}", kind.expectation()),
            };
            self.report(path, line, message, hint);
            return None;
        };
        let written = if is_text { Value::Text(text) } else { scalar.value() };
        Some(Given::Leaf { scalar, written })
    }
}

/// Joins `a` and `b` to `a.b`.
pub(super) fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// The `name` of a list element, if it can be used in a path.
fn name_of(item: &YamlNode) -> Option<String> {
    let YamlData::Map(entries) = &item.data else { return None };
    match &entries.iter().find(|entry| entry.key == "name")?.value.data {
        YamlData::Scalar { text, .. } if syntax::is_label(text) && text.parse::<usize>().is_err() => {
            Some(text.clone())
        }
        _ => None,
    }
}

/// Whether a text is a URL with a password or a token in it, which no message repeats.
fn has_login(text: &str) -> bool {
    text.split_once("://").is_some_and(|(_, rest)| rest.contains(['@', '?']))
}

/// The first line of a value, shortened for a message.
fn shown(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let short: String = line.chars().take(60).collect();
    if short.len() == text.len() { format!("`{short}`") } else { format!("`{short}…`") }
}

/// Advice for those who look in cluster.yaml for what is a directory beside it.
fn directory_hint(parent: &str, key: &str, file: &str) -> Option<String> {
    let directory = match key {
        "manifests" | "extraManifests" | "openshift" => "manifests",
        "patches" => "patches",
        "recipes" => "recipes",
        _ => return None,
    };
    let is_top = parent.is_empty() && file.ends_with("cluster.yaml");
    is_top.then(|| format!("put files of your own into the directory `{directory}`, beside {file}"))
}

/// "known fields: …", unless there are too many to help.
fn known(fields: &[Row]) -> Option<String> {
    let names: Vec<&str> = fields
        .iter()
        .filter(|field| !matches!(field.kind, Kind::Refused(_)))
        .map(|field| field.name)
        .collect();
    (!names.is_empty()).then(|| format!("known here: {}", names.join(", ")))
}
