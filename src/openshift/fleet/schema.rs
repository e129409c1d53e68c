//! The JSON schema of fleet.yaml, for editors.

use serde_json::{Value, json};

use crate::openshift::config;

/// The schema (draft 2020-12) of `fleet.yaml`. Layers are parts of files: nothing is required of a single one.
pub(crate) fn schema() -> Value {
    let mut cluster = config::schema();
    lenient(&mut cluster);
    if let Value::Object(map) = &mut cluster {
        map.remove("$schema");
        map.remove("title");
    }
    let folder = |what: &str| json!({"type": "string", "description": what});
    let layer = json!({
        "install-config": {"type": "object", "description": "Fields of install-config.yaml."},
        "cluster": cluster,
        "manifests": folder("A folder of manifests, relative to fleet.yaml."),
        "patches": folder("A folder of patches, relative to fleet.yaml."),
        "recipes": folder("A folder of recipes, relative to fleet.yaml."),
    });
    let mut site = layer.clone();
    let own = json!({
        "name": {"type": "string", "pattern": "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$", "description": "The site's name, and the value `$(name)`."},
        "groups": {
            "description": "The groups that the site is in; a later one wins.",
            "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}],
        },
        "seed": folder("A file with a seed of its own, instead of one that is derived from fleet.seed."),
    });
    if let (Value::Object(site), Value::Object(own)) = (&mut site, own) {
        site.extend(own);
    }
    let source = json!({
        "type": "string",
        "description": "A table (`sites.csv`, `sites.yaml`), ClusterInstance documents (`instances/*.yaml`), or cluster directories (`clusters/*`).",
    });
    let site = json!({
        "type": "object",
        "required": ["name"],
        "properties": site,
        "additionalProperties": {
            "type": ["string", "number", "boolean"],
            "description": "A value, which layers use as `$(key)`.",
        },
    });
    let layer = json!({"type": "object", "properties": layer, "additionalProperties": false});
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "fleet.yaml of tinderbox",
        "type": "object",
        "required": ["sites"],
        "additionalProperties": false,
        "properties": {
            "common": {"description": "What all sites have in common.", "allOf": [layer]},
            "groups": {
                "type": "object",
                "description": "What some sites have in common, by a name of yours; wins over `common`.",
                "additionalProperties": layer,
            },
            "sites": {
                "description": "The sites, or where they are.",
                "anyOf": [source, {"type": "array", "items": {"anyOf": [source, site]}}],
            },
        },
    })
}

/// Removes what a part of a file need not be: complete, or without `$(column)`.
fn lenient(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            map.remove("required");
            map.remove("pattern");
            for key in ["enum", "minimum", "maximum"] {
                map.remove(key);
            }
            if map.get("type").is_some_and(|kind| kind == "integer" || kind == "boolean") {
                let kind = map.remove("type");
                map.insert("type".to_owned(), json!([kind, "string"]));
            }
            map.values_mut().for_each(lenient);
        }
        Value::Array(items) => items.iter_mut().for_each(lenient),
        _ => {}
    }
}
