//! Feature gates of two releases, for one feature set.

use std::collections::BTreeMap;

use super::{Finding, Level, Section};
use crate::base::yaml::YamlNode;

/// Whether each gate is on, from the status of a FeatureGate.
pub(crate) type Gates = BTreeMap<String, bool>;

/// The gates in the status of a FeatureGate.
pub(crate) fn read(object: &YamlNode) -> Gates {
    let versions = object.get("status").and_then(|status| status.get("featureGates"));
    let mut gates = Gates::new();
    for version in versions.map(YamlNode::items).unwrap_or_default() {
        for (list, on) in [("disabled", false), ("enabled", true)] {
            let named = version.get(list).map(YamlNode::items).unwrap_or_default();
            let names = named.iter().filter_map(|gate| gate.get("name")?.text());
            gates.extend(names.map(|name| (name.to_owned(), on)));
        }
    }
    gates
}

/// What moves. `named` are gates that the user sets: with one that the release does not know, nothing starts.
pub(crate) fn compare(old: &Gates, new: &Gates, named: &[String]) -> Vec<Finding> {
    let moved = |from: bool, to: bool| -> Vec<String> {
        let both = old.iter().filter(|(_, on)| **on == from);
        both.filter(|(name, _)| new.get(*name) == Some(&to)).map(|(name, _)| name.clone()).collect()
    };
    let gone = |name: &&String| !new.contains_key(*name);
    let in_use: Vec<String> = named.iter().filter(|name| !new.contains_key(*name)).cloned().collect();
    let lost = old.iter().filter(|(name, _)| gone(name) && !named.contains(name));
    let lost = lost.map(|(name, on)| if *on { format!("{name} (was on)") } else { name.clone() });
    let added = new.iter().filter(|(name, _)| !old.contains_key(*name));
    let added = added.map(|(name, on)| if *on { format!("{name} (on)") } else { name.clone() });
    let finding = |level, id, message: &str, items| Finding::new(level, Section::Gates, id, message, items);
    [
        finding(Level::Obstacle, "gate-in-use-gone", "your gates that the release does not have", in_use)
            .advice("remove them from `featureGates` in install-config.yaml"),
        finding(Level::Look, "gate-turned-off", "on now, off in the new release", moved(true, false))
            .advice("see whether something of yours relies on one"),
        finding(Level::Note, "gate-turned-on", "off now, on in the new release", moved(false, true)),
        finding(
            Level::Note,
            "gate-gone",
            "removed, usually because the feature is always on now",
            lost.collect(),
        ),
        finding(Level::Note, "gate-new", "new", added.collect()),
    ]
    .into_iter()
    .filter_map(Finding::if_any)
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::hint::Problems;
    use crate::base::yaml::{self, Source};

    #[test]
    fn every_way_to_move_is_named() {
        let gates = |enabled: &str, disabled: &str| {
            let list = |names: &str| {
                names
                    .split_whitespace()
                    .map(|name| format!("{{name: {name}}}"))
                    .collect::<Vec<_>>()
                    .join(", ")
            };
            let text = format!(
                "status: {{featureGates: [{{version: v, enabled: [{}], disabled: [{}]}}]}}\n",
                list(enabled),
                list(disabled)
            );
            read(&yaml::parse(Source { name: "f", text: &text }, &mut Problems::default()).unwrap())
        };
        let found =
            compare(&gates("A B G", "C D Mine"), &gates("B C N", "A O"), &["Mine".into(), "B".into()]);
        let found: Vec<_> = found.iter().map(|one| (one.id, one.items.join(","))).collect();
        let expected = [
            ("gate-in-use-gone", "Mine"),
            ("gate-turned-off", "A"),
            ("gate-turned-on", "C"),
            ("gate-gone", "D,G (was on)"),
            ("gate-new", "N (on),O"),
        ];
        assert_eq!(found, expected.map(|(id, items)| (id, items.to_owned())));
        assert_eq!(compare(&gates("A", "B"), &gates("A", "B"), &["A".into()]), []);
    }
}
