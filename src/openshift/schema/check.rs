//! Walks over an object and its schema, after defaulting.

use super::path::Path;
use super::prepare::list;
use super::tree::{Json, Tree};
use super::{Additional, Fault, How, Id, Kind, ListType, Outcome, ROOT, Range, Rules, Schema, Skipped};
use crate::base::hint::did_you_mean;

pub(super) fn check(schema: &Schema, object: &Tree, path: &Path<'_>, how: How, outcome: &mut Outcome) {
    Walk { schema, how, outcome }.value(object, ROOT, path);
}

struct Walk<'a> {
    schema: &'a Schema,
    how: How,
    outcome: &'a mut Outcome,
}

impl Walk<'_> {
    fn value(&mut self, tree: &Tree, id: Id, path: &Path<'_>) {
        let rules = self.schema.get(id);
        if tree.is_null() && (rules.nullable || rules.kind.is_none()) {
            return;
        }
        if !self.kind(tree, rules, path) {
            return;
        }
        self.allowed(tree, rules, path);
        match &tree.json {
            Json::Text(text) => self.text(tree, text, rules, path),
            Json::Int(value) => self.number(tree, *value as f64, rules, path),
            Json::Float(value) => self.number(tree, *value, rules, path),
            Json::List(items) => self.list(tree, items, rules, path),
            Json::Map(map) => self.map(tree, map, rules, path),
            Json::Bool(_) | Json::Null => {}
        }
        self.junctors(tree, rules, path);
    }

    /// Whether the type is right; if not, nothing else is checked.
    fn kind(&mut self, tree: &Tree, rules: &Rules, path: &Path<'_>) -> bool {
        let Some(wanted) = rules.kind else { return true };
        let right = match (&tree.json, wanted) {
            (Json::Map(_), Kind::Object)
            | (Json::List(_), Kind::Array)
            | (Json::Text(_), Kind::Text | Kind::IntOrString | Kind::Quantity)
            | (Json::Int(_), Kind::Integer | Kind::Number | Kind::IntOrString | Kind::Quantity)
            | (Json::Float(_), Kind::Number | Kind::Quantity)
            | (Json::Bool(_), Kind::Boolean) => true,
            (Json::Float(value), Kind::Integer | Kind::IntOrString) => value.fract() == 0.0,
            _ => false,
        };
        if !right {
            let is = match &tree.json {
                Json::List(_) | Json::Map(_) | Json::Null => format!("it is {}", tree.kind()),
                _ => format!("{} is {}", self.shown(tree), tree.kind()),
            };
            let hint = self.quotes(tree, wanted);
            self.fault(tree, path, format!("{is}, not {}", name(wanted)), hint);
        }
        right
    }

    /// Quotes determine the type of a YAML scalar, and are the most frequent mistake.
    fn quotes(&self, tree: &Tree, wanted: Kind) -> Option<String> {
        match (&tree.json, wanted) {
            (Json::Bool(_) | Json::Int(_) | Json::Float(_), Kind::Text) if self.how.masked => {
                Some("put it in quotes".into())
            }
            (Json::Bool(_) | Json::Int(_) | Json::Float(_), Kind::Text) => {
                Some(format!("put it in quotes: \"{}\"", tree.raw))
            }
            (Json::Text(text), Kind::Integer) if text.parse::<i64>().is_ok() => {
                Some("remove the quotes".into())
            }
            (Json::Text(text), Kind::Number) if text.parse::<f64>().is_ok() => {
                Some("remove the quotes".into())
            }
            (Json::Text(text), Kind::Boolean) if matches!(text.as_str(), "true" | "false") => {
                Some("remove the quotes".into())
            }
            (Json::Text(_) | Json::Map(_), Kind::Array) => Some("write it as a list: `- …`".into()),
            _ => None,
        }
    }

    fn allowed(&mut self, tree: &Tree, rules: &Rules, path: &Path<'_>) {
        if rules.allowed.is_empty() || rules.allowed.iter().any(|one| one.meaning() == tree.meaning()) {
            return;
        }
        let names: Vec<String> = rules
            .allowed
            .iter()
            .map(|one| match &one.json {
                Json::Text(text) => text.clone(),
                _ => one.meaning(),
            })
            .collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let near = match &tree.json {
            Json::Text(text) if !self.how.masked => did_you_mean(text, names.iter().copied()),
            _ => None,
        };
        self.fault(tree, path, format!("{} is not one of {}", self.shown(tree), list(&names)), near);
    }

    fn text(&mut self, tree: &Tree, text: &str, rules: &Rules, path: &Path<'_>) {
        self.range(tree, text.chars().count(), rules.limits.length, "character", path);
        if let Some(pattern) = &rules.pattern {
            match pattern.matches(text) {
                Some(true) => {}
                Some(false) => {
                    let message = format!("{} does not match `{}`", self.shown(tree), pattern.text);
                    self.fault(tree, path, message, None);
                }
                None => self.skip(path, &pattern.text, "a pattern that only the API server can read"),
            }
        }
        if rules.kind == Some(Kind::Quantity) && !is_quantity(text) {
            let message = format!("{} is not a quantity", self.shown(tree));
            self.fault(tree, path, message, Some("for example `100m` or `256Mi`".into()));
        }
        if let Some(format) = rules.format {
            match format.accepts(text) {
                Some(true) => {}
                Some(false) => {
                    let message = format!("{} is not {}", self.shown(tree), format.name());
                    let hint = format.example().map(|example| format!("for example `{example}`"));
                    self.fault(tree, path, message, hint);
                }
                None => self.skip(path, format.name(), "a format"),
            }
        }
    }

    fn number(&mut self, tree: &Tree, value: f64, rules: &Rules, path: &Path<'_>) {
        let limits = &rules.limits;
        let shown = self.shown(tree);
        if rules.format == Some(super::Format::Int32)
            && !(-2_147_483_648.0..=2_147_483_647.0).contains(&value)
        {
            self.fault(tree, path, format!("{shown} does not fit into 32 bits"), None);
        }
        if let Some(least) = limits.minimum
            && (value < least || (limits.exclusive_minimum && value == least))
        {
            let than = if limits.exclusive_minimum { "more than" } else { "at least" };
            self.fault(tree, path, format!("{shown} is too small: it must be {than} {least}"), None);
        }
        if let Some(most) = limits.maximum
            && (value > most || (limits.exclusive_maximum && value == most))
        {
            let than = if limits.exclusive_maximum { "less than" } else { "at most" };
            self.fault(tree, path, format!("{shown} is too large: it must be {than} {most}"), None);
        }
        if let Some(step) = limits.multiple_of
            && step > 0.0
            && (value / step).fract() != 0.0
        {
            self.fault(tree, path, format!("{shown} is not a multiple of {step}"), None);
        }
    }

    fn list(&mut self, tree: &Tree, items: &[Tree], rules: &Rules, path: &Path<'_>) {
        self.range(tree, items.len(), rules.limits.items, "element", path);
        match &rules.list {
            ListType::Map(keys) => self.repeated(items, path, |item| key_of(item, keys), &list_of(keys)),
            ListType::Set => self.repeated(items, path, Tree::meaning, "value"),
            ListType::Plain if rules.unique => self.repeated(items, path, Tree::meaning, "value"),
            ListType::Plain => {}
        }
        if let Some(id) = rules.items {
            for (at, item) in items.iter().enumerate() {
                self.value(item, id, &path.item(at));
            }
        }
    }

    /// Reports duplicates of elements that must be unique.
    fn repeated(&mut self, items: &[Tree], path: &Path<'_>, key: impl Fn(&Tree) -> String, what: &str) {
        let keys: Vec<String> = items.iter().map(key).collect();
        for (at, item) in items.iter().enumerate() {
            if let Some(first) = keys[..at].iter().position(|seen| *seen == keys[at]) {
                let message = format!("it has the same {what} as element {first}");
                self.fault(item, &path.item(at), message, Some("keep one of them".into()));
            }
        }
    }

    fn map(
        &mut self,
        tree: &Tree,
        map: &std::collections::BTreeMap<String, Tree>,
        rules: &Rules,
        path: &Path<'_>,
    ) {
        self.range(tree, map.len(), rules.limits.properties, "field", path);
        let own: &[&str] = if rules.embedded { &["apiVersion", "kind"] } else { &[] };
        for name in rules.required.iter().map(String::as_str).chain(own.iter().copied()) {
            if !map.contains_key(name) {
                self.fault(tree, &path.field(name), "it is required but missing".to_owned(), None);
            }
        }
        for (name, value) in map {
            let id = match (rules.properties.get(name), rules.additional) {
                (Some(id), _) => *id,
                (None, Additional::Each(id)) => id,
                _ => continue,
            };
            self.value(value, id, &path.field(name));
        }
    }

    /// Evaluates `anyOf`, `oneOf` and `not` separately: only the verdict counts.
    fn junctors(&mut self, tree: &Tree, rules: &Rules, path: &Path<'_>) {
        for id in &rules.all_of {
            self.value(tree, *id, path);
        }
        if !rules.any_of.is_empty() && !rules.any_of.iter().any(|id| self.holds(tree, *id, path)) {
            let why = self.closest(tree, &rules.any_of, path);
            self.fault(tree, path, "it matches none of the alternatives (anyOf)".to_owned(), why);
        }
        if !rules.one_of.is_empty() {
            match rules.one_of.iter().filter(|id| self.holds(tree, **id, path)).count() {
                1 => {}
                0 => {
                    let why = self.closest(tree, &rules.one_of, path);
                    self.fault(tree, path, "it matches none of the alternatives (oneOf)".to_owned(), why);
                }
                n => self.fault(
                    tree,
                    path,
                    format!("it matches {n} alternatives instead of one (oneOf)"),
                    None,
                ),
            }
        }
        if let Some(id) = rules.not
            && self.holds(tree, id, path)
        {
            self.fault(tree, path, "the schema excludes it (not)".to_owned(), None);
        }
    }

    fn tried(&self, tree: &Tree, id: Id, path: &Path<'_>) -> Outcome {
        let mut outcome = Outcome::default();
        Walk { schema: self.schema, how: self.how, outcome: &mut outcome }.value(tree, id, path);
        outcome
    }

    fn holds(&self, tree: &Tree, id: Id, path: &Path<'_>) -> bool {
        self.tried(tree, id, path).faults.is_empty()
    }

    /// The errors of the branch that has the fewest.
    fn closest(&self, tree: &Tree, ids: &[Id], path: &Path<'_>) -> Option<String> {
        let tried = ids.iter().map(|id| self.tried(tree, *id, path).faults);
        let best = tried.min_by_key(Vec::len)?;
        let first = best.first()?;
        Some(format!("closest: `{}`: {}", first.path, first.message))
    }

    fn range(&mut self, tree: &Tree, found: usize, range: Range, what: &str, path: &Path<'_>) {
        let plural = |n: usize| if n == 1 { what.to_owned() } else { format!("{what}s") };
        if let Some(least) = range.least.filter(|least| found < *least) {
            self.fault(tree, path, format!("it has {found} {}; the minimum is {least}", plural(found)), None);
        }
        if let Some(most) = range.most.filter(|most| found > *most) {
            self.fault(tree, path, format!("it has {found} {}; the maximum is {most}", plural(found)), None);
        }
    }

    fn shown(&self, tree: &Tree) -> String {
        if self.how.masked { "the value".to_owned() } else { tree.shown() }
    }

    fn fault(&mut self, tree: &Tree, path: &Path<'_>, message: String, hint: Option<String>) {
        self.outcome.faults.push(Fault { path: path.text(), line: tree.line, message, hint });
    }

    fn skip(&mut self, path: &Path<'_>, rule: &str, why: &'static str) {
        self.outcome.skipped.push(Skipped { path: path.text(), rule: rule.to_owned(), why });
    }
}

fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::Object => "a map",
        Kind::Array => "a list",
        Kind::Text => "a string",
        Kind::Integer => "an integer",
        Kind::Number => "a number",
        Kind::Boolean => "a boolean",
        Kind::IntOrString => "an integer or a string",
        Kind::Quantity => "a quantity",
    }
}

/// The keys of an element in a list-type map; a missing key counts as missing.
fn key_of(item: &Tree, keys: &[String]) -> String {
    match &item.json {
        Json::Map(map) => {
            let of = |key: &String| map.get(key).map_or_else(|| "-".to_owned(), Tree::meaning);
            keys.iter().map(of).collect::<Vec<_>>().join(",")
        }
        _ => item.meaning(),
    }
}

fn list_of(keys: &[String]) -> String {
    list(&keys.iter().map(String::as_str).collect::<Vec<_>>())
}

/// `[+-]digits[.digits]` and a suffix: decimal, binary or an exponent.
fn is_quantity(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let end = unsigned.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(unsigned.len());
    let (number, suffix) = unsigned.split_at(end);
    let exponent = suffix.strip_prefix(['e', 'E']).is_some_and(|rest| rest.parse::<i32>().is_ok());
    number.parse::<f64>().is_ok()
        && (exponent
            || ["", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"]
                .contains(&suffix))
}
