//! `when`: the condition on the configuration under which a recipe produces a derivation.
//!
//! | form | holds if |
//! |---|---|
//! | `proxy` | the field is set: not empty, not false |
//! | `release >= 4.19`, `release >= 4.20, < 4.22` | the field's text is a version in this range, by major and minor number |
//! | `flavor = okd` | the field's text is this word |
//! | `manifests has Secret` | the field is a list with this word |
//! | `proxy and release >= 4.19` | both hold |
//! | `fips or proxy and release >= 4.19` | one of the two holds; `and` binds first |
//!
//! `node.` is the element of a recipe with `for_each`. In a comparison, a name may be an alias for a longer field path:
//! the caller defines them. `{table.key}` stands for a condition in a table, for several recipes that apply together.

use super::graph::Absent;
use super::names::Names;
use super::parse::{At, Recipe};
use super::resolve::Each;
use crate::base::hint::{Hint, Problem, Problems};
use crate::base::value::Value;
use crate::base::version::{Version, VersionRange};
use crate::engine::fields::{Fields, Projected};

/// Short names of fields in comparisons, with their paths.
pub(crate) type Aliases<'a> = [(&'a str, &'a str)];

/// The result of a condition: the fields that it read, and why it does not hold, if so.
#[derive(Debug, Clone, Default)]
pub(super) struct Outcome {
    pub(super) reads: Vec<String>,
    pub(super) unmet: Option<Absent>,
}

/// What a value must be.
enum Wanted<'t> {
    Set,
    Within(VersionRange),
    Word(&'t str),
    Member(&'t str),
}

/// Replaces names of tables by the conditions that the tables have.
pub(super) fn name(recipes: &mut [Recipe], names: &Names<'_>, problems: &mut Problems) {
    for recipe in recipes {
        let Some(when) = &recipe.when else { continue };
        match names.text(&when.text) {
            Ok(text) => recipe.when = Some(At { text, line: when.line }),
            Err((message, hint)) => {
                problems.push(Problem::new(recipe.place(when.line, "when"), message).hint(hint));
            }
        }
    }
}

/// Evaluates a recipe's `when`. An invalid condition is a problem.
pub(super) fn evaluate(
    recipe: &Recipe,
    when: &At,
    (fields, each): (&Fields, Option<&Each>),
    aliases: &Aliases<'_>,
    problems: &mut Problems,
) -> Outcome {
    let mut outcome = Outcome::default();
    let mut alternatives = Vec::new();
    for alternative in when.text.split(" or ") {
        let mut first_unmet = None;
        for part in alternative.split(" and ").map(str::trim) {
            let mut problem = |message: String, hint: Option<String>| {
                problems.push(Problem::new(recipe.place(when.line, "when"), message).hint(hint));
            };
            let (name, wanted) = match parse(part) {
                Ok(parsed) => parsed,
                Err(message) => {
                    problem(message, Some(EXAMPLES.to_owned()));
                    continue;
                }
            };
            let alias = aliases.iter().find(|(alias, _)| *alias == name && !matches!(wanted, Wanted::Set));
            let path = alias.map_or(name, |(_, path)| *path);
            let path = match (each, path.strip_prefix("node.")) {
                (Some(Each::Element(node)), Some(rest)) => format!("nodes.{node}.{rest}"),
                _ => path.to_owned(),
            };
            match fields.project(&path) {
                Ok(found) => {
                    outcome.reads.extend(found.reads.into_iter().map(|read| read.path));
                    first_unmet = first_unmet.or_else(|| unmet(part, name, &wanted, &found.value));
                }
                Err(error) => problem(error.to_string(), error.hint()),
            }
        }
        alternatives.push(first_unmet);
    }
    outcome.unmet = match alternatives.as_mut_slice() {
        [only] => only.take(),
        several if several.iter().all(Option::is_some) => Some(Absent::NoneOf(when.text.clone())),
        _ => None,
    };
    outcome
}

const EXAMPLES: &str =
    "for example `proxy`, `release >= 4.20, < 4.22`, `flavor = okd`, or two joined by `and` or `or`";

/// A field and the condition on it.
fn parse(part: &str) -> Result<(&str, Wanted<'_>), String> {
    if let Some((name, word)) = part.split_once(" has ") {
        return Ok((name.trim(), Wanted::Member(word.trim())));
    }
    let Some(at) = part.find(['<', '>', '=']) else { return Ok((part, Wanted::Set)) };
    let (name, rest) = (part[..at].trim(), part[at..].trim());
    let word = rest.strip_prefix('=').map(str::trim);
    let is_word = |word: &&str| word.starts_with(|c: char| c.is_ascii_alphabetic());
    match word.filter(is_word) {
        Some(word) => Ok((name, Wanted::Word(word))),
        None => rest.parse().map(|range| (name, Wanted::Within(range))).map_err(|error| format!("{error}")),
    }
}

/// Why a part does not hold, if so.
fn unmet(part: &str, name: &str, wanted: &Wanted<'_>, value: &Projected) -> Option<Absent> {
    let Projected::Plain(value) = value else { return None }; // A secret is there.
    let text = value.as_text();
    let holds = match wanted {
        Wanted::Set => value.is_truthy(),
        Wanted::Word(word) => text == Some(word),
        Wanted::Member(word) => {
            matches!(value, Value::List(items) if items.iter().any(|item| item.as_text() == Some(*word)))
        }
        Wanted::Within(range) => {
            text.and_then(|text| text.parse::<Version>().ok()).is_some_and(|version| range.contains(version))
        }
    };
    (!holds).then(|| match wanted {
        Wanted::Set => Absent::Unset(part.to_owned()),
        Wanted::Member(_) => Absent::NoneOf(part.to_owned()),
        _ => Absent::Otherwise {
            asked: part.to_owned(),
            name: name.to_owned(),
            found: (*value != Value::Null).then(|| text.unwrap_or_default().to_owned()),
        },
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use crate::engine::fields::{Field, Fields, Origins};
    use crate::engine::recipe::{NameTable, Names, Sources, load};

    /// Why the recipe `a/x` is absent, or what is wrong with its condition, if `release` is this version.
    fn absent(when: &str, version: Option<&str>) -> String {
        let origins: Origins = [].into();
        let text = |text: Option<&str>| Field::leaf(text.map(str::to_owned), origins.clone());
        let lock = Field::map([("version", text(version)), ("flavor", text(version.map(|_| "okd")))]);
        let roots = [
            ("lock".to_owned(), lock),
            ("proxy".to_owned(), text(None)),
            ("fips".to_owned(), text(Some("y"))),
            ("kinds".to_owned(), Field::List(["Secret", "Node.x"].map(|kind| text(Some(kind))).into())),
        ];
        let mut sources = Sources::default();
        let recipe = |rest: &str| format!("# It.\nbuilder = 'tree'\n{rest}");
        sources.add("10-a/x.toml".into(), "x.toml".into(), recipe(&format!("when = '{when}'\n")));
        sources.add("10-a/y.toml".into(), "y.toml".into(), recipe("[inputs]\nx = 'a/x?'\n"));
        let aliases = [("release", "lock.version"), ("flavor", "lock.flavor")];
        let values = [("old".to_owned(), "release < 4.19 or fips".into())].into();
        let table = NameTable { file: "t.toml".to_owned(), values, absent: BTreeMap::new() };
        let names = Names { aliases: &aliases, tables: [("known", table)].into() };
        match load(&sources, &Fields::new(roots.into()), &names) {
            Err(problems) => problems.to_string(),
            Ok(graph) => graph.absent("a/x").map_or_else(|| "present".to_owned(), ToString::to_string),
        }
    }

    #[test]
    fn conditions() {
        let old = Some("4.18.0-demo");
        assert_eq!(absent("release >= 4.19", Some("4.19.0-rc.1")), "present");
        assert_eq!(absent("release >= 4.20, < 4.22", Some("4.21.3")), "present");
        assert_eq!(absent("fips and flavor = okd and lock.version < 4.19", old), "present");
        let is_old = "its recipe asks for `release >= 4.19`, and `release` is `4.18.0-demo`";
        assert_eq!(absent("release >= 4.19", old), is_old);
        assert_eq!(absent("fips and release >= 4.19", old), is_old);
        let unknown = "its recipe asks for `release >= 4.19`, and `release` is not known yet";
        assert_eq!(absent("release >= 4.19", None), unknown);
        assert_eq!(absent("flavor = ocp", old), "its recipe asks for `flavor = ocp`, and `flavor` is `okd`");
        assert_eq!(absent("proxy and fips", old), "its recipe asks for `proxy`");
        assert_eq!(absent("kinds has Node.x and fips", old), "present");
        assert_eq!(absent("{known.old}", old), "present");
        assert_eq!(absent("proxy or flavor = ocp or fips and kinds has Secret", old), "present");
        let no_kind = "its recipe asks for `kinds has Node`, which does not hold";
        assert_eq!(absent("fips and kinds has Node", old), no_kind);
        assert_eq!(
            absent("proxy or fips and kinds has Node", old),
            "its recipe asks for `proxy or fips and kinds has Node`, which does not hold"
        );
    }

    #[test]
    fn what_is_no_condition_is_said() {
        let old = Some("4.18.0-demo");
        insta::assert_snapshot!(absent("release >= new", old), @r"
        x.toml:3: when: `>= new` is not a bound such as `>=4.19` or `<4.22`
          hint: for example `proxy`, `release >= 4.20, < 4.22`, `flavor = okd`, or two joined by `and` or `or`
        ");
        insta::assert_snapshot!(absent("lock.versio >= 4.19", old), @r"
        x.toml:3: when: `lock.versio`: `lock` has no `versio`
          hint: did you mean `version`?
        ");
    }
}
