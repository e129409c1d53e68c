//! `boot-facts.toml`: named checks, their rules, and what happens at boot if one does not hold.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::release::Release;
use super::table::{Row, Table};
use crate::base::value::Value;
use crate::engine::recipe::NameTable;

/// A rule that a named check verifies.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BootFact {
    pub(crate) name: String,
    /// Derivations below `check/` that verify it.
    on: Vec<String>,
    pub(crate) rule: String,
    /// What happens at boot otherwise.
    pub(crate) breaks: String,
}

/// The value of `on` for facts that are verified while the configuration is read, not by a derivation.
const CONFIG: &str = "config";

impl Row for BootFact {
    const FILE: &'static str = "boot-facts.toml";
    const NAME: &'static str = "fact";

    fn key(&self) -> &str {
        &self.name
    }
}

impl BootFact {
    pub(crate) fn is_on_config(&self) -> bool {
        self.on.iter().any(|on| on == CONFIG)
    }

    /// In the form of the `validate` builder.
    fn value(&self, applies: bool) -> Value {
        let texts = [("name", &self.name), ("rule", &self.rule), ("breaks", &self.breaks)];
        let texts = texts.map(|(key, text)| (key.to_owned(), Value::from(text.as_str())));
        let applies = (!applies).then(|| ("applies".to_owned(), Value::Bool(false)));
        Value::Map(texts.into_iter().chain(applies).collect())
    }
}

impl Table<BootFact> {
    /// Every fact once, by name: the row for this release, else any, and whether it applies to this release.
    pub(crate) fn facts(&self, release: Option<Release>) -> BTreeMap<&str, (&BootFact, bool)> {
        let others = self.all().map(|fact| (fact, false));
        let ours = self.select(release).map(|fact| (fact, true));
        others.chain(ours).map(|(fact, applies)| (fact.name.as_str(), (fact, applies))).collect()
    }

    /// The values of `{check.NAME}` and `{checks.DERIVATION}` in recipes.
    pub(super) fn names(&self, file: &str, release: Option<Release>) -> [NameTable; 2] {
        let (mut single, mut lists) = (BTreeMap::new(), BTreeMap::<String, Vec<Value>>::new());
        for (fact, applies) in self.facts(release).into_values() {
            for on in &fact.on {
                lists.entry(on.clone()).or_default().push(fact.value(applies));
            }
            single.insert(fact.name.clone(), fact.value(applies));
        }
        let lists = lists.into_iter().map(|(on, facts)| (on, Value::List(facts))).collect();
        [single, lists].map(|values| NameTable { file: file.to_owned(), values, absent: BTreeMap::new() })
    }
}
