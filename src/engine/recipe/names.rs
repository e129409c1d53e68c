//! Names that the caller defines for recipes: short names of fields in `when`, and tables of values in inputs and
//! parameters.
//!
//! `{component.pod}` is the value of `pod` in the table `component`. A parameter that is only such a name may have any
//! type; inside a longer text it must be text. Derivations contain the values, not the names: two tables with the
//! same values yield the same id.

use std::collections::BTreeMap;

use super::condition::Aliases;
use crate::base::hint::did_you_mean;
use crate::base::value::Value;
use crate::engine::drv::{Step, show_path};

#[derive(Debug, Default)]
pub struct Names<'a> {
    /// Short names of fields in `when`, with their paths.
    pub(crate) aliases: &'a Aliases<'a>,
    /// By the part before the dot.
    pub(crate) tables: BTreeMap<&'static str, NameTable>,
}

#[derive(Debug, Clone)]
pub(crate) struct NameTable {
    /// Its file, as shown to the user.
    pub(crate) file: String,
    pub(crate) values: BTreeMap<String, Value>,
    /// Keys without a value for this cluster, and why.
    pub(crate) absent: BTreeMap<String, String>,
}

/// An invalid name: a message, and a hint.
pub(super) type NameProblem = (String, Option<String>);

impl Names<'_> {
    /// Replaces every name in a text. Other braces are left alone.
    pub(super) fn text(&self, text: &str) -> Result<String, NameProblem> {
        let mut done = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, name, after)) = self.next(rest) {
            let Value::Text(value) = self.find(name)? else {
                let hint = format!("write `\"{{{name}}}\"` and nothing else");
                return Err((format!("`{{{name}}}` is not a string, and cannot be part of one"), Some(hint)));
            };
            done.push_str(before);
            done.push_str(value);
            rest = after;
        }
        done.push_str(rest);
        Ok(done)
    }

    /// Replaces every name in the texts of a value. Records the file of the table that each came from, by path.
    pub(super) fn value<'v>(
        &self,
        path: &mut Vec<Step<'v>>,
        value: &'v mut Value,
        from: &mut BTreeMap<String, String>,
    ) -> Result<(), NameProblem> {
        match value {
            Value::Text(text) => {
                let Some((before, name, after)) = self.next(text) else { return Ok(()) };
                let table = name.split_once('.').and_then(|(table, _)| self.tables.get(table));
                from.extend(table.map(|table| (show_path(path), table.file.clone())));
                if before.is_empty() && after.is_empty() {
                    *value = self.find(name)?.clone();
                } else {
                    *text = self.text(text)?;
                }
            }
            Value::List(list) => {
                for (at, item) in list.iter_mut().enumerate() {
                    path.push(Step::Index(at));
                    self.value(path, item, from)?;
                    path.pop();
                }
            }
            Value::Map(map) => {
                for (key, item) in map.iter_mut() {
                    path.push(Step::Key(key));
                    self.value(path, item, from)?;
                    path.pop();
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// The text before the first name, the name, and the text after it.
    fn next<'t>(&self, text: &'t str) -> Option<(&'t str, &'t str, &'t str)> {
        text.match_indices('{').find_map(|(at, _)| {
            let (name, after) = text[at + 1..].split_once('}')?;
            let (table, _) = name.split_once('.')?;
            self.tables.contains_key(table).then_some((&text[..at], name, after))
        })
    }

    fn find(&self, name: &str) -> Result<&Value, NameProblem> {
        let (table, key) = name.split_once('.').unwrap_or((name, ""));
        let Some(NameTable { file, values, absent }) = self.tables.get(table) else {
            return Err((format!("there is no table `{table}`"), did_you_mean(table, self.tables())));
        };
        values.get(key).ok_or_else(|| match absent.get(key) {
            Some(why) => (format!("`{{{name}}}`: {file} has no `{key}` {why}"), None),
            None => {
                let hint = did_you_mean(key, values.keys().map(String::as_str));
                (format!("`{{{name}}}`: {file} has no `{key}`"), hint.or_else(|| Some("add a row".into())))
            }
        })
    }

    pub(super) fn tables(&self) -> impl Iterator<Item = &str> {
        self.tables.keys().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::fields::Fields;
    use crate::engine::recipe::{Sources, load};

    /// The input path and the parameter `p` of a recipe that has these, or what is wrong with it.
    fn loaded(input: &str, param: &str) -> Result<(String, Value), String> {
        let list = Value::List(vec!["a".into(), "b".into()]);
        let table = NameTable {
            file: "knowledge/part.toml".into(),
            values: [("pod".to_owned(), "pause".into()), ("all".to_owned(), list)].into(),
            absent: [("new".to_owned(), "for 1.2".to_owned())].into(),
        };
        let names = Names { aliases: &[], tables: [("part", table)].into() };
        let mut sources = Sources::default();
        sources.add("10-a/x.toml".into(), "x.toml".into(), "# It.\nbuilder = 'tree'\n".into());
        let text = format!(
            "# It.\nbuilder = 'tree'\nfor_each = ['pod']\nname = 'y-{{each}}'\n[inputs]\ni = '{input}'\n[params]\np = {param}\n"
        );
        sources.add("10-a/y.toml".into(), "y.toml".into(), text);
        let graph =
            load(&sources, &Fields::new([].into()), &names).map_err(|problems| problems.to_string())?;
        let node = &graph.nodes()[graph.find("a/y-pod").unwrap()];
        Ok((node.inputs["i"].path.clone().unwrap_or_default(), node.params["p"].clone()))
    }

    #[test]
    fn names_are_replaced_in_inputs_and_parameters() {
        let (path, param) =
            loaded("a/x:in/{part.{each}}", "['{part.pod}-{part.pod}', '${x} {other.pod}']").unwrap();
        assert_eq!(path, "in/pause");
        assert_eq!(param, Value::List(vec!["pause-pause".into(), "${x} {other.pod}".into()]));
        let (_, param) = loaded("a/x", "'{part.all}'").unwrap();
        assert_eq!(param, Value::List(vec!["a".into(), "b".into()]));
    }

    #[test]
    fn what_is_not_a_name_is_said() {
        let problem = |input: &str, param: &str| loaded(input, param).unwrap_err();
        insta::assert_snapshot!(problem("a/x:in/{part.pood}", "1"), @r"
        y.toml:6: inputs.i: `{part.pood}`: knowledge/part.toml has no `pood`
          hint: did you mean `pod`?
        ");
        insta::assert_snapshot!(problem("a/x:in/{part.new}", "1"), @"y.toml:6: inputs.i: `{part.new}`: knowledge/part.toml has no `new` for 1.2");
        insta::assert_snapshot!(problem("a/x:in/{prt.pod}", "1"), @r"
        y.toml:6: inputs.i: `{prt.pod}` is not defined
          hint: did you mean `part`?
        ");
        insta::assert_snapshot!(problem("a/x", "'x{part.all}'"), @r#"
        y.toml: params.p: `{part.all}` is not a string, and cannot be part of one
          hint: write `"{part.all}"` and nothing else
        "#);
    }
}
