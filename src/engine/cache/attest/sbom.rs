//! An SPDX 2.3 document: the parts of a closure, what each was made from, and the images that the result runs.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{Index, Material, Part, Subject, statement, times};
use crate::engine::registry::Sha256;

pub(super) const PREDICATE: &str = "https://spdx.dev/Document";

const DOCUMENT: &str = "SPDXRef-DOCUMENT";
const CLOSURE: &str = "SPDXRef-closure";

pub(super) fn document(subject: &Subject, index: &Index) -> Value {
    statement(subject, index, PREDICATE, spdx(subject, index))
}

fn spdx(subject: &Subject, index: &Index) -> Value {
    let named: BTreeMap<&str, &Part> = subject.parts.iter().map(|part| (part.name.as_str(), part)).collect();
    // Two components may be the same image.
    let materials: BTreeMap<&str, &Material> =
        subject.materials.iter().map(|material| (material.sha256.as_str(), material)).collect();
    let targets = subject.targets.join(" ");
    let mut packages =
        vec![package(CLOSURE, &format!("tinderbox closure of {targets}"), Some(&index.digest))];
    let mut relationships = vec![relationship(DOCUMENT, "DESCRIBES", CLOSURE)];
    for part in &subject.parts {
        let id = part_id(part);
        let mut described = package(&id, &part.name, index.entries.get(&part.drv));
        described["versionInfo"] = part.object.to_string().into();
        described["comment"] = format!("output of derivation {} ({})", part.drv, part.builder).into();
        packages.push(described);
        relationships.push(relationship(CLOSURE, "CONTAINS", &id));
        let inputs = part.inputs.iter().filter_map(|input| named.get(input.as_str()));
        relationships.extend(inputs.map(|input| relationship(&id, "GENERATED_FROM", &part_id(input))));
    }
    for material in materials.values() {
        let id = format!("SPDXRef-material-{}", material.sha256);
        packages.push(external(&id, material));
        let kind = if material.read { "GENERATED_FROM" } else { "DEPENDS_ON" };
        relationships.push(relationship(CLOSURE, kind, &id));
    }
    json!({
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": DOCUMENT,
        "name": format!("tinderbox closure of {targets}"),
        "documentNamespace": format!("urn:tinderbox:sbom:{}:{}", subject.closure.0, index.digest.hex()),
        "creationInfo": {
            "created": times(subject).1,
            "creators": [format!("Tool: tinderbox-{}", env!("CARGO_PKG_VERSION"))],
            "comment": format!("{} more outputs are secret, and not listed", subject.secrets),
        },
        "packages": packages,
        "relationships": relationships,
    })
}

fn part_id(part: &Part) -> String {
    format!("SPDXRef-{}", part.drv)
}

fn package(id: &str, name: &str, manifest: Option<&Sha256>) -> Value {
    let mut package = json!({
        "SPDXID": id, "name": name, "downloadLocation": "NOASSERTION", "filesAnalyzed": false,
    });
    if let Some(manifest) = manifest {
        package["checksums"] = json!([{"algorithm": "SHA256", "checksumValue": manifest.hex()}]);
    }
    package
}

/// Something from outside; an image has a package URL.
fn external(id: &str, material: &Material) -> Value {
    let mut package = package(id, &material.name, None);
    package["checksums"] = json!([{"algorithm": "SHA256", "checksumValue": material.sha256}]);
    if let Some((repository, _)) = material.place.split_once("@sha256:") {
        let name = repository.rsplit('/').next().unwrap_or(repository).to_lowercase();
        let purl = format!("pkg:oci/{name}@sha256%3A{}?repository_url={repository}", material.sha256);
        package["externalRefs"] = json!([{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl}]);
    }
    package
}

fn relationship(from: &str, kind: &str, to: &str) -> Value {
    json!({"spdxElementId": from, "relationshipType": kind, "relatedSpdxElement": to})
}
