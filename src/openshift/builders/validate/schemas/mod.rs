//! Validates objects against their types: custom resources against the CRDs of this release, others against
//! Kubernetes' own.
//!
//! Schemas are compiled once per run, and only those that an object needs. Messages contain no values of secret files
//! and of Secrets.

mod cel_bounds;
mod objects;

use std::collections::BTreeMap;

pub(super) use self::cel_bounds::CEL_BOUNDS;

use super::artifacts::{Artifacts, Document};
use super::{Check, Open, Report};
use crate::base::hint::did_you_mean;
use crate::base::yaml::YamlNode;
use crate::openshift::schema::meta::{self, Name};
use crate::openshift::schema::{Fault, How, Outcome, Schema, core};

/// The API server accepts custom resources.
pub(super) const CRD_SCHEMA: Check = Check {
    name: "crd-schema",
    config: &[],
    run: |artifacts, report| {
        let mut known = BTreeMap::new();
        for document in artifacts.subjects() {
            let (Some(version), Some(kind)) = (document.text("apiVersion"), document.text("kind")) else {
                continue;
            };
            let found = known.entry((version, kind)).or_insert_with(|| {
                let crd = crd_of(artifacts, version, kind)?;
                Some((crd, compile(crd, version)))
            });
            match found {
                Some((_, Some(schema))) => look(document, schema, Name::Subdomain, report),
                Some((crd, None)) => not_served(document, crd, version, report),
                // Other checks report a missing CRD.
                None => {}
            }
        }
    },
};

/// The API server accepts Kubernetes' own objects.
pub(super) const CORE_TYPES: Check = Check {
    name: "core-types",
    config: &[],
    run: |artifacts, report| {
        let mut schemas: BTreeMap<(&str, &str), Option<Schema>> = BTreeMap::new();
        for document in artifacts.subjects() {
            let (Some(version), Some(kind)) = (document.text("apiVersion"), document.text("kind")) else {
                continue;
            };
            match schemas.entry((version, kind)).or_insert_with(|| core::schema(version, kind)) {
                Some(schema) => {
                    look(document, schema, core::name_of(version, kind), report);
                    objects::look(document, kind, report);
                }
                None => unknown(artifacts, document, version, kind, report),
            }
        }
    },
};

/// The CRD of a kind that is not Kubernetes' own.
fn crd_of<'a>(artifacts: &'a Artifacts<'_>, version: &str, kind: &str) -> Option<&'a Document> {
    let (group, _) = version.split_once('/')?;
    artifacts.crd(group, kind)
}

/// The schema of a served version.
fn compile(crd: &Document, version: &str) -> Option<Schema> {
    let (_, version) = version.split_once('/')?;
    Schema::of_definition(&crd.root, version)
}

fn text<'a>(node: &'a YamlNode, key: &str) -> Option<&'a str> {
    node.get(key).and_then(YamlNode::text)
}

fn not_served(document: &Document, crd: &Document, version: &str, report: &mut Report<'_>) {
    let short = version.rsplit('/').next().unwrap_or_default();
    let versions = crd.list("spec.versions");
    // `crds-before-cvo` reports a version that does not exist at all.
    if versions.iter().any(|one| text(one, "name") == Some(short)) {
        let served = versions.iter().filter(|one| text(one, "served") == Some("true"));
        let served: Vec<&str> = served.filter_map(|one| text(one, "name")).collect();
        let message = format!("this release does not serve version `{short}`");
        let hint = served.first().map(|one| format!("it serves `{one}`"));
        report.fault(document, at(document, "apiVersion", message, hint));
    }
}

fn unknown(
    artifacts: &Artifacts<'_>,
    document: &Document,
    version: &str,
    kind: &str,
    report: &mut Report<'_>,
) {
    let group = version.split_once('/').map_or("", |(group, _)| group);
    // `crds-before-cvo` reports missing CRDs of OpenShift's own.
    if group.ends_with(".openshift.io") || crd_of(artifacts, version, kind).is_some() {
        return;
    }
    let same_kind = core::kinds().find(|(one, other)| *other == kind && *one != version);
    let hint = match same_kind {
        _ if (version, kind) == ("v1", "List") => Some("write its items as documents of their own".into()),
        Some((right, _)) => Some(format!("`{kind}` is in `{right}`")),
        None => did_you_mean(kind, core::kinds().filter(|(one, _)| *one == version).map(|(_, kind)| kind))
            .or_else(|| Some(format!("a CRD for `{group}` would have to be among the manifests"))),
    };
    let field = if same_kind.is_some() { "apiVersion" } else { "kind" };
    let message = format!("neither Kubernetes nor this release has {version} {kind}");
    report.fault(document, at(document, field, message, hint));
}

/// Applies a schema and the grammar of metadata to a document.
fn look(document: &Document, schema: &Schema, name: Name, report: &mut Report<'_>) {
    let how = How { masked: is_secret(document) };
    let Outcome { mut faults, skipped } = schema.check(&document.root, how);
    faults.extend(meta::check(&document.root, name, how));
    faults.into_iter().for_each(|fault| report.fault(document, fault));
    report.open.extend(skipped.into_iter().map(|skipped| Open {
        file: document.file.clone(),
        field: skipped.path,
        rule: skipped.rule,
        why: skipped.why,
    }));
}

fn is_secret(document: &Document) -> bool {
    document.secret || document.text("kind") == Some("Secret")
}

fn at(document: &Document, field: &str, message: String, hint: Option<String>) -> Fault {
    Fault { path: field.to_owned(), line: document.line(field).unwrap_or(1), message, hint }
}
