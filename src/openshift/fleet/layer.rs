//! Layers: what is common to all sites, to a group, or a site's own. The more specific one wins:
//!
//! - maps are merged; `null` removes what a more general layer says
//! - lists whose elements all have a `name` are merged by it; any other list is replaced as a whole
//! - `$(column)` in a value stands for the site's value in that column of the table; `$$(` is a plain `$(`

use std::collections::{BTreeMap, BTreeSet};

use super::SiteValue;
use crate::base::hint::Place;
use crate::base::yaml::{self, Scalar, YamlData, YamlNode};

/// One layer: parts of a cluster's two files, and folders.
#[derive(Debug, Clone)]
pub(crate) struct Layer {
    /// The file that it stands in.
    pub file: String,
    /// Its line there.
    pub line: usize,
    /// Its path there, such as `groups.edge`.
    pub field: String,
    pub parts: [Option<YamlNode>; 2],
    /// The folders `manifests`, `patches` and `recipes`, by kind, relative to the fleet's directory.
    pub folders: BTreeMap<&'static str, String>,
}

/// The two files of a cluster directory, in the order of [`Layer::parts`], as keys of a layer.
pub(super) const PARTS: [&str; 2] = ["install-config", "cluster"];
/// The folders that a layer may name.
pub(super) const FOLDERS: [&str; 3] = ["manifests", "patches", "recipes"];

impl Layer {
    pub(super) fn empty(file: &str, line: usize, field: &str) -> Self {
        Self {
            file: file.to_owned(),
            line,
            field: field.to_owned(),
            parts: [None, None],
            folders: BTreeMap::new(),
        }
    }

    /// The place of a field of this layer.
    pub(super) fn place(&self, line: usize, field: &str) -> Place {
        Place { file: self.file.clone(), line: Some(line), field: join(&self.field, field) }
    }

    /// Calls `each` with every text of the layer that has a placeholder, and its line and path.
    pub(super) fn texts(&self, each: &mut dyn FnMut(&str, usize, &str)) {
        for (part, name) in self.parts.iter().zip(PARTS) {
            if let Some(node) = part {
                texts(node, name, each);
            }
        }
    }
}

fn texts(node: &YamlNode, path: &str, each: &mut dyn FnMut(&str, usize, &str)) {
    match &node.data {
        YamlData::Scalar { text, .. } if text.contains("$(") => each(text, node.line, path),
        YamlData::Scalar { .. } => {}
        YamlData::List(items) => {
            for (index, item) in items.iter().enumerate() {
                let name = item.get("name").and_then(YamlNode::text).map_or(index.to_string(), str::to_owned);
                texts(item, &join(path, &name), each);
            }
        }
        YamlData::Map(entries) => {
            entries.iter().for_each(|entry| texts(&entry.value, &join(path, &entry.key), each));
        }
    }
}

/// Joins `a` and `b` to `a.b`.
pub(super) fn join(path: &str, name: &str) -> String {
    match (path, name) {
        ("", name) => name.to_owned(),
        (path, "") => path.to_owned(),
        _ => format!("{path}.{name}"),
    }
}

/// Puts a more specific layer's part over a more general one.
pub(super) fn merge(base: &mut YamlNode, over: &YamlNode) {
    match (&mut base.data, &over.data) {
        (YamlData::Map(base), YamlData::Map(over)) => {
            let mut index = index(base.iter().map(|known| known.key.as_str()));
            let mut removed = BTreeSet::new();
            for entry in over {
                match index.get(&entry.key).copied() {
                    Some(at) if entry.value.is_null() => {
                        index.remove(&entry.key);
                        removed.insert(at);
                    }
                    Some(at) => merge(&mut base[at].value, &entry.value),
                    None if entry.value.is_null() => {}
                    None => {
                        index.insert(entry.key.clone(), base.len());
                        base.push(entry.clone());
                    }
                }
            }
            let mut at = 0..;
            base.retain(|_| at.next().is_none_or(|at| !removed.contains(&at)));
        }
        (YamlData::List(base), YamlData::List(over)) if are_named(base) && are_named(over) => {
            let mut index = index(base.iter().filter_map(name_of));
            for item in over {
                let Some(name) = name_of(item) else { continue };
                match index.get(name) {
                    Some(at) => merge(&mut base[*at], item),
                    None => {
                        index.insert(name.to_owned(), base.len());
                        base.push(item.clone());
                    }
                }
            }
        }
        (data, over) => *data = over.clone(),
    }
}

/// Where each name is first.
fn index<'a>(names: impl Iterator<Item = &'a str>) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    for (at, name) in names.enumerate() {
        found.entry(name.to_owned()).or_insert(at);
    }
    found
}

fn name_of(node: &YamlNode) -> Option<&str> {
    node.get("name")?.text()
}

fn are_named(items: &[YamlNode]) -> bool {
    !items.is_empty() && items.iter().all(|item| name_of(item).is_some())
}

/// A piece of a text with placeholders.
#[derive(Debug, PartialEq, Eq)]
enum Piece<'a> {
    Text(&'a str),
    Value(&'a str),
}

/// Takes a text apart. Only what can be a column's name in `$(…)` is a placeholder: `$(cat x)` of a script is not.
fn pieces(text: &str) -> Vec<Piece<'_>> {
    let (mut found, mut rest) = (Vec::new(), text);
    while let Some(at) = rest.find("$(") {
        let is_name =
            |name: &&str| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "-_.".contains(c));
        let name = rest[at + 2..].split_once(')').map(|(name, _)| name).filter(is_name);
        match name {
            // `$$(`: one of the two goes.
            _ if rest[..at].ends_with('$') => {
                found.extend([Piece::Text(&rest[..at - 1]), Piece::Text("$(")]);
                rest = &rest[at + 2..];
            }
            Some(name) => {
                found.extend([Piece::Text(&rest[..at]), Piece::Value(name)]);
                rest = &rest[at + name.len() + 3..];
            }
            None => {
                found.push(Piece::Text(&rest[..at + 2]));
                rest = &rest[at + 2..];
            }
        }
    }
    found.push(Piece::Text(rest));
    found
}

/// The columns that a text names.
pub(super) fn columns(text: &str) -> impl Iterator<Item = &str> {
    pieces(text).into_iter().filter_map(|piece| match piece {
        Piece::Value(name) => Some(name),
        Piece::Text(_) => None,
    })
}

/// Puts a site's values in. What it has no value for is left as it is; [`super::read`] has reported it.
pub(super) fn substitute(node: &mut YamlNode, values: &BTreeMap<String, SiteValue>) {
    match &mut node.data {
        YamlData::Scalar { text, plain } if text.contains("$(") => {
            let mut new = String::with_capacity(text.len());
            let mut all_plain = true;
            for piece in pieces(text) {
                match piece {
                    Piece::Text(text) => new.push_str(text),
                    Piece::Value(name) => match values.get(name) {
                        Some(value) => {
                            new.push_str(&value.text);
                            all_plain &= value.plain;
                        }
                        None => new.push_str(&format!("$({name})")),
                    },
                }
            }
            // A number or a word such as `true` stays what it is; other texts only where YAML reads them back as they are.
            *plain =
                *plain && all_plain && (yaml::resolve(&new) != Scalar::Text || yaml::scalar(&new) == new);
            *text = new;
        }
        YamlData::Scalar { .. } => {}
        YamlData::List(items) => items.iter_mut().for_each(|item| substitute(item, values)),
        YamlData::Map(entries) => entries.iter_mut().for_each(|entry| substitute(&mut entry.value, values)),
    }
}

/// The line of a path below a node and the node there; none if it is not there. Elements of lists have their name or index.
pub(super) fn find<'a>(node: &'a YamlNode, line: usize, path: &str) -> Option<(usize, &'a YamlNode)> {
    if path.is_empty() {
        return Some((line, node));
    }
    match &node.data {
        // A key may have dots in it.
        YamlData::Map(entries) => entries.iter().find_map(|entry| {
            let rest = path.strip_prefix(entry.key.as_str())?;
            let below = if rest.is_empty() { rest } else { rest.strip_prefix('.')? };
            find(&entry.value, entry.line, below)
        }),
        YamlData::List(items) => {
            let (key, below) = path.split_once('.').unwrap_or((path, ""));
            let named = items.iter().find(|item| name_of(item) == Some(key));
            let item = named.or_else(|| items.get(key.parse::<usize>().ok()?))?;
            find(item, item.line, below)
        }
        YamlData::Scalar { .. } => None,
    }
}

/// Where the user wrote a field of one of a site's two files: in the most specific layer that has it; if it is a value of the
/// table, there. If no layer has the field, where the nearest field around it is.
pub(super) fn locate<'a>(
    layers: impl DoubleEndedIterator<Item = &'a Layer> + Clone,
    values: &BTreeMap<String, SiteValue>,
    part: usize,
    field: &str,
) -> Option<Place> {
    let mut path = field;
    loop {
        for layer in layers.clone().rev() {
            let Some(node) = &layer.parts[part] else { continue };
            let Some((line, found)) = find(node, node.line, path) else { continue };
            let named: BTreeSet<&str> = found.text().into_iter().flat_map(columns).collect();
            let value = named.iter().next().and_then(|name| values.get(*name)).filter(|_| named.len() == 1);
            return Some(match value {
                Some(value) => value.place.clone(),
                None => layer.place(line, &join(PARTS[part], field)),
            });
        }
        path = match path.rsplit_once('.') {
            Some((above, _)) => above,
            None if path.is_empty() => return None,
            None => "",
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::hint::Problems;
    use crate::base::yaml::Source;

    fn node(text: &str) -> YamlNode {
        yaml::parse(Source { name: "x", text }, &mut Problems::default()).unwrap()
    }

    #[test]
    fn the_more_specific_layer_wins() {
        let mut base = node(
            "a: 1\nb: {c: 1, d: 2}\nlist: [1, 2]\nnodes:\n- {name: x, ip: 1, mac: 2}\n- {name: y}\ngone: 1\n",
        );
        merge(
            &mut base,
            &node(
                "b: {d: 3, e: 4}\nlist: [3]\nnodes:\n- {name: x, ip: 9}\n- {name: z}\ngone: null\nnever: ~\n",
            ),
        );
        insta::assert_snapshot!(yaml::block(&base, 0), @r"
        a: 1
        b:
          c: 1
          d: 3
          e: 4
        list:
        - 3
        nodes:
        - name: x
          ip: 9
          mac: 2
        - name: y
        - name: z
        ");
    }

    #[test]
    fn values_are_put_in() {
        let value = |text: &str, plain| {
            let place = Place::file("sites.csv");
            (text.to_owned(), SiteValue { text: text.to_owned(), plain, place })
        };
        let values: BTreeMap<String, SiteValue> = [
            ("ip".to_owned(), value("10.0.0.1", true).1),
            ("count".to_owned(), value("3", true).1),
            ("quoted".to_owned(), value("3", false).1),
            ("note".to_owned(), value("a: b # c", true).1),
        ]
        .into();
        let mut given = node(
            "ip: $(ip)\nboth: [$(ip)/24, x-$(count)]\nnumber: $(count)\ntext: '$(count)'\nquoted: $(quoted)\nnote: $(note)\n\
             script: '$(cat x) $$(ip) $(no-column)'\n",
        );
        substitute(&mut given, &values);
        insta::assert_snapshot!(yaml::block(&given, 0), @r#"
        ip: "10.0.0.1"
        both:
        - "10.0.0.1/24"
        - x-3
        number: 3
        text: "3"
        quoted: "3"
        note: "a: b # c"
        script: "$(cat x) $(ip) $(no-column)"
        "#);
    }

    #[test]
    fn columns_of_a_text() {
        assert_eq!(columns("a-$(b)-$(c.d)$$(e) $(f g) $(").collect::<Vec<_>>(), ["b", "c.d"]);
    }
}
