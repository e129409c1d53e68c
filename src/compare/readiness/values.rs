//! Judges this cluster's objects with the schemas of another release, as its API server would: enums that lost a value,
//! patterns, fields that became required or are unknown, CEL rules.

use std::collections::{BTreeMap, BTreeSet};

use super::fields::{Definition, Definitions, UsedObject};
use super::{Finding, Level, NotAsked, Section};
use crate::openshift::schema::{How, Schema};

/// The verdict on some objects.
#[derive(Debug, Default)]
pub(crate) struct Judged {
    refused: Vec<Refused>,
    /// Rules that cannot be evaluated here, by reason: the objects that they are about.
    open: BTreeMap<&'static str, BTreeSet<String>>,
}

/// A value that the release refuses.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Refused {
    /// Kind and name.
    object: String,
    /// File and line, and what wrote it.
    place: String,
    field: String,
    message: String,
    hint: Option<String>,
    /// Whether the release does not have the field at all.
    unknown_field: bool,
}

impl Refused {
    fn is_about_the_same(&self, other: &Self) -> bool {
        (&self.object, &self.field, &self.message) == (&other.object, &other.field, &other.message)
    }

    fn item(&self) -> String {
        let Self { object, place, field, message, hint, .. } = self;
        let hint = hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default();
        format!("{object} ({place}): {field}: {message}{hint}")
    }
}

/// Judges objects by the CRDs of a release, and by those among the objects themselves.
pub(crate) fn judge(definitions: &Definitions, objects: &[UsedObject]) -> Judged {
    let own: Vec<Definition> = objects
        .iter()
        .filter(|one| one.text("/kind") == "CustomResourceDefinition")
        .map(|one| Definition::new(one.node.clone()))
        .collect();
    let mut schemas: BTreeMap<(&str, &str), Option<Schema>> = BTreeMap::new();
    let mut judged = Judged::default();
    for object in objects {
        let (version, kind) = (object.text("/apiVersion"), object.text("/kind"));
        let schema = schemas.entry((version, kind)).or_insert_with(|| {
            let of_kind = |one: &&Definition| object.version_of(&one.json).is_some();
            let found = own.iter().chain(definitions.values()).find(of_kind)?;
            Schema::of_definition(&found.node, version.split_once('/')?.1)
        });
        // `fields` has kinds and versions that go.
        let Some(schema) = schema else { continue };
        let outcome = schema.check(&object.node, How { masked: object.secret || kind == "Secret" });
        for skipped in outcome.skipped {
            judged.open.entry(skipped.why).or_default().insert(object.name());
        }
        judged.refused.extend(outcome.faults.into_iter().map(|fault| Refused {
            object: object.name(),
            place: object.place(Some(fault.line)),
            unknown_field: fault.is_unknown_field(),
            field: fault.path,
            message: fault.message,
            hint: fault.hint,
        }));
    }
    judged
}

/// Findings about the objects as they would be there and, for an update, as they are in the cluster now.
pub(crate) fn findings(there: &Judged, now: Option<&Judged>) -> Vec<Finding> {
    let items = |unknown: bool| -> Vec<String> {
        there.refused.iter().filter(|one| one.unknown_field == unknown).map(Refused::item).collect()
    };
    let obstacle =
        |id, message: &str, items| Finding::new(Level::Obstacle, Section::Crds, id, message, items);
    let left = now.into_iter().flat_map(|now| &now.refused);
    let left = left.filter(|one| there.refused.iter().all(|other| !one.is_about_the_same(other)));
    [
        obstacle(
            "value-refused",
            "values that the release's schemas refuse: these objects cannot be written there",
            items(false),
        )
        .advice("change them in the files and patches that are named"),
        obstacle(
            "field-in-use-gone",
            "fields that the release does not have, and are set: the API server drops or refuses them",
            items(true),
        )
        .advice("remove them from the files and patches that are named"),
        Finding::new(
            Level::Look,
            Section::Crds,
            "value-in-cluster-refused",
            "values of today's release that are in the cluster, and that the next release's schemas refuse",
            left.map(Refused::item).collect(),
        )
        .advice("they stay until somebody writes the object: change them in the cluster before or right after the update"),
    ]
    .into_iter()
    .filter_map(Finding::if_any)
    .collect()
}

impl Judged {
    /// Rules that are left to the API server.
    pub(crate) fn not_asked(&self) -> impl Iterator<Item = NotAsked> {
        self.open.iter().map(|(why, objects)| NotAsked {
            section: Section::Crds,
            what: format!("rules for {}", objects.iter().cloned().collect::<Vec<_>>().join(", ")),
            why: (*why).to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::fields::tests::{definitions, thing};
    use super::*;

    const OLD: &str = "mode: {type: string, enum: [A, B]}\nsize: {type: integer}\n";

    fn found(schema: &str, spec: &str) -> Vec<(&'static str, String)> {
        let judged = judge(&definitions(&[("v1", schema)]), &[thing("a.io/v1", spec)]);
        findings(&judged, None).into_iter().map(|one| (one.id, one.items.join("\n"))).collect()
    }

    #[test]
    fn every_way_to_refuse_a_value_names_the_place() {
        assert_eq!(found(OLD, "{mode: B, size: 1}"), []);
        let place = "Thing t (manifests/t.yaml:4, from patch/x)";
        let refused =
            |field: &str, message: &str| [("value-refused", format!("{place}: {field}: {message}"))];
        assert_eq!(
            found("mode: {type: string, enum: [Auto]}\n", "{mode: B}"),
            refused("spec.mode", "`B` is not one of `Auto`")
        );
        assert_eq!(
            found("mode: {type: string, pattern: '^[0-9]+$'}\n", "{mode: B}"),
            refused("spec.mode", "`B` does not match `^[0-9]+$`")
        );
        assert_eq!(
            found(
                "mode: {type: string, x-kubernetes-validations: [{rule: 'self != \"B\"', message: no B}]}\n",
                "{mode: B}"
            ),
            refused("spec.mode", "no B; the rule is `self != \"B\"`")
        );
        assert_eq!(
            found("mode: {type: string}\n", "{mode: B, size: 1}"),
            [(
                "field-in-use-gone",
                format!("{place}: spec.size: this field does not exist; known here: `mode`")
            )]
        );
        let required =
            found("mode: {type: object, required: [new], properties: {new: {type: string}}}\n", "{mode: {}}");
        assert_eq!((required.len(), required[0].0), (1, "value-refused"), "{required:?}");
        assert!(required[0].1.contains("`new`") || required[0].1.contains("spec.mode.new"), "{required:?}");
    }

    /// What the new release's manifests no longer say may still be in the cluster.
    #[test]
    fn a_value_of_today_is_only_looked_at() {
        let new = definitions(&[("v1", "mode: {type: string, enum: [A]}\n")]);
        let (there, now) =
            (judge(&new, &[thing("a.io/v1", "{mode: A}")]), judge(&new, &[thing("a.io/v1", "{mode: B}")]));
        let ids = |found: Vec<Finding>| found.iter().map(|one| (one.level, one.id)).collect::<Vec<_>>();
        assert_eq!(ids(findings(&there, Some(&now))), [(Level::Look, "value-in-cluster-refused")]);
        assert_eq!(ids(findings(&now, Some(&now))), [(Level::Obstacle, "value-refused")]);
        assert_eq!(ids(findings(&there, None)), []);
    }

    #[test]
    fn values_of_secrets_are_not_shown() {
        let mut secret = thing("a.io/v1", "{mode: hunter2}");
        secret.secret = true;
        let judged = judge(&definitions(&[("v1", "mode: {type: string, enum: [A]}\n")]), &[secret]);
        let shown = format!("{:?}", findings(&judged, None));
        assert!(shown.contains("spec.mode") && !shown.contains("hunter2"), "{shown}");
    }
}
