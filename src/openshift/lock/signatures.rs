//! What `lock` saw of the signatures of a release's images.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::base::value::Value;

/// The name of the release image among components.
pub(crate) const RELEASE: &str = "release";

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Signatures {
    /// The pinned keys, by name: SHA-256 of the public key. Empty if there was none for this release.
    #[serde(default)]
    pub keys: BTreeMap<String, String>,
    /// How many images were looked at: the release image, and components that keys or the release's policy cover.
    pub images: u64,
    /// Keys that signed the release image: pinned ones, and those that nodes accept.
    #[serde(default)]
    pub release: Vec<String>,
    /// How many components each key signed.
    #[serde(default)]
    pub components: BTreeMap<String, u64>,
    /// Images without any signature, by component.
    #[serde(default)]
    pub unsigned: Vec<String>,
    /// Those among the unsigned whose multi-architecture list is signed: that says who made them, and nodes do not look at it.
    #[serde(default)]
    pub only_lists: Vec<String>,
    /// Images with signatures by other keys only.
    #[serde(default)]
    pub unknown: Vec<String>,
    /// How many more are nowhere to be found: a layout need not have them all.
    #[serde(default)]
    pub missing: u64,
    /// The repositories that were looked at: where nodes pull from.
    #[serde(default)]
    pub places: Vec<String>,
    /// Mirrors that come before these, and do not have the images.
    #[serde(default)]
    pub without: Vec<String>,
    /// Mirrors that come before these, and could not be asked.
    #[serde(default)]
    pub passed_over: Vec<String>,
}

impl Signatures {
    /// The section of the lock.
    pub(super) fn encode(&self, text: &mut String) {
        let Self {
            keys,
            images,
            release,
            components,
            unsigned,
            only_lists,
            unknown,
            missing,
            places,
            without,
            passed_over,
        } = self;
        text.push_str("\n# What `lock` saw of signatures, where nodes pull images from.\n[signatures]\n");
        // JSON strings and lists of them are valid TOML.
        let quote = |text: &str| Value::from(text).to_string();
        let map = |entries: Vec<String>| format!("{{ {} }}", entries.join(", "));
        let list = |items: &[String]| {
            let items: Vec<String> = items.iter().map(|item| quote(item)).collect();
            format!("[{}]", items.join(", "))
        };
        let keys = keys.iter().map(|(name, id)| format!("{} = {}", quote(name), quote(id)));
        let components = components.iter().map(|(id, count)| format!("{} = {count}", quote(id)));
        for (field, value, given) in [
            ("keys", map(keys.collect()), !self.keys.is_empty()),
            ("images", images.to_string(), true),
            ("release", list(release), !release.is_empty()),
            ("components", map(components.collect()), !self.components.is_empty()),
            ("unsigned", list(unsigned), !unsigned.is_empty()),
            ("only-lists", list(only_lists), !only_lists.is_empty()),
            ("unknown", list(unknown), !unknown.is_empty()),
            ("missing", missing.to_string(), *missing > 0),
            ("places", list(places), !places.is_empty()),
            ("without", list(without), !without.is_empty()),
            ("passed-over", list(passed_over), !passed_over.is_empty()),
        ] {
            if given {
                let _ = writeln!(text, "{field} = {value}");
            }
        }
    }

    /// What the check of signatures sees.
    pub(super) fn value(&self) -> Value {
        // Who decided does not matter to nodes.
        let Self {
            keys: _,
            images,
            release,
            components,
            unsigned,
            // Nodes do not look at lists.
            only_lists: _,
            unknown,
            missing,
            places,
            without,
            passed_over,
        } = self;
        let number = |count: u64| Value::Int(i64::try_from(count).unwrap_or(i64::MAX));
        let list = |items: &[String]| Value::List(items.iter().map(|item| item.as_str().into()).collect());
        let components = components.iter().map(|(id, count)| (id.clone(), number(*count)));
        Value::Map(BTreeMap::from([
            ("components".to_owned(), Value::Map(components.collect())),
            ("images".to_owned(), number(*images)),
            ("missing".to_owned(), number(*missing)),
            ("unsigned".to_owned(), list(unsigned)),
            ("unknown".to_owned(), list(unknown)),
            ("places".to_owned(), list(places)),
            ("release".to_owned(), list(release)),
            ("passed-over".to_owned(), list(passed_over)),
            ("without".to_owned(), list(without)),
        ]))
    }

    /// In one line.
    pub(crate) fn summary(&self) -> String {
        let short = |id: &str| {
            let name = self.keys.iter().find(|(_, known)| *known == id).map(|(name, _)| name.as_str());
            let name = name.unwrap_or("a key of the release's policy");
            format!("{name} ({})", id.get(..12).unwrap_or(id))
        };
        let mut parts = Vec::new();
        let signers: Vec<String> = self.release.iter().map(|id| short(id)).collect();
        parts.push(match (self.unsigned.iter().any(|name| name == RELEASE), signers.is_empty()) {
            (true, _) if self.only_lists.iter().any(|name| name == RELEASE) => {
                "release image signed as a list only".to_owned()
            }
            (true, _) => "release image unsigned".to_owned(),
            (_, true) => "release image signed by an unknown key".to_owned(),
            (_, false) => format!("release image signed by {}", signers.join(" and ")),
        });
        parts
            .extend(self.components.iter().map(|(id, count)| format!("{count} components by {}", short(id))));
        for (images, what) in [(&self.unsigned, "unsigned"), (&self.unknown, "signed by unknown keys")] {
            let count = split(images).1.len();
            if count > 0 {
                parts.push(format!("{count} components {what}"));
            }
        }
        parts.join(", ")
    }

    /// What was not verified, in plain sentences.
    pub(crate) fn doubts(&self) -> Vec<String> {
        let mut doubts = Vec::new();
        let unsigned: Vec<String> =
            self.unsigned.iter().filter(|name| !self.only_lists.contains(name)).cloned().collect();
        let (unsigned, unknown) = (split(&unsigned), split(&self.unknown));
        if !self.only_lists.is_empty() {
            let names: Vec<&str> = self.only_lists.iter().map(String::as_str).collect();
            doubts.push(format!(
                "only the multi-architecture list is signed, not the image in it, which is what nodes judge: {}",
                first_few(&names)
            ));
        }
        if unsigned.0 {
            doubts.push("the release image is not signed: nothing proves who made it".to_owned());
        }
        if unknown.0 {
            doubts.push(
                "the release image is signed, but there is no key to verify it with: name one with \
                 `releaseKeys` in cluster.yaml"
                    .to_owned(),
            );
        }
        for (components, what) in [(unsigned.1, "not signed"), (unknown.1, "signed by unknown keys")] {
            if !components.is_empty() {
                let components = first_few(&components);
                doubts.push(format!(
                    "components that only the release image vouches for, {what}: {components}"
                ));
            }
        }
        if !self.passed_over.is_empty() {
            let places = self.passed_over.join(", ");
            doubts.push(format!(
                "no answer from {places}, where nodes pull first: its signatures were not looked at"
            ));
        }
        doubts
    }
}

/// Whether the release image is among them, and the components.
fn split(images: &[String]) -> (bool, Vec<&str>) {
    let components = images.iter().map(String::as_str).filter(|name| *name != RELEASE);
    (images.iter().any(|name| name == RELEASE), components.collect())
}

/// The first few names.
pub(crate) fn first_few(names: &[&str]) -> String {
    const SHOWN: usize = 5;
    match names.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        Some(more) => format!("{} and {more} more", names[..SHOWN].join(", ")),
        None => names.join(", "),
    }
}
