//! The JSON schema against the table that it is generated from.

use super::*;

/// Checks a value against the few keywords that our schema uses.
fn conforms(value: &serde_json::Value, schema: &serde_json::Value) -> bool {
    if let Some(any) = schema.get("anyOf") {
        return any.as_array().unwrap().iter().any(|schema| conforms(value, schema));
    }
    if let Some(words) = schema.get("enum") {
        return words.as_array().unwrap().contains(value);
    }
    match schema["type"].as_str().unwrap() {
        "object" => {
            let map = value.as_object().unwrap();
            let required = schema.get("required").and_then(|r| r.as_array()).cloned().unwrap_or_default();
            required.iter().all(|name| map.contains_key(name.as_str().unwrap()))
                && map
                    .iter()
                    .all(|(name, value)| schema["properties"].get(name).is_some_and(|s| conforms(value, s)))
        }
        "array" => {
            value.as_array().is_some_and(|items| items.iter().all(|item| conforms(item, &schema["items"])))
        }
        "string" => value.is_string(),
        "integer" => value.is_i64(),
        "boolean" => value.is_boolean(),
        other => panic!("{other}"),
    }
}

#[test]
fn the_schema_has_every_field_and_accepts_the_example() {
    fn same(fields: &[spec::Row], schema: &serde_json::Value) {
        let properties = schema["properties"].as_object().unwrap();
        assert_eq!(properties.len(), fields.len());
        assert_eq!(schema["additionalProperties"], false);
        for field in fields {
            let property = &properties[field.name];
            assert!(
                property["description"].as_str().is_some_and(|text| text.ends_with('.')),
                "{}",
                field.name
            );
            match field.kind {
                spec::Kind::Map(fields) => same(fields, property),
                spec::Kind::List(fields) => same(fields, &property["items"]),
                spec::Kind::Named(fields) => same(fields, &property["additionalProperties"]),
                _ => {}
            }
        }
    }
    let schema = schema();
    same(cluster_file::FIELDS, &schema);
    let mut problems = Problems::default();
    let source = Source { name: "cluster.yaml", text: CLUSTER };
    let data = Fragment::read(source, cluster_file::FIELDS, &mut problems).given.written();
    assert!(conforms(&serde_json::to_value(&data).unwrap(), &schema));
    assert!(!conforms(&serde_json::json!({"release": "demo:4.18"}), &schema));
}

/// Every default must parse, or recipes would see null; and every path must exist, or its first reader would fail.
#[test]
fn defaults_parse_and_fields_are_seen() {
    fn walk(rows: &[spec::Row], file: File, [within, at]: [&str; 2], seen: &mut Vec<String>) {
        for row in rows {
            if let spec::Fallback::Text(text) = row.fallback {
                assert!(row.kind.parse(text, true).is_some(), "{at}{}: {text}", row.name);
            }
            match (row.kind, row.seen) {
                (spec::Kind::Map(rows), _) => walk(rows, file, [within, &format!("{at}{}.", row.name)], seen),
                (spec::Kind::List(rows), spec::Seen::Derived) => {
                    walk(rows, file, [&format!("{}.bootstrap.", row.name), ""], seen);
                }
                (_, spec::Seen::As(path)) => seen.push(format!("{within}{path}")),
                (_, spec::Seen::AsWritten) if file == File::Cluster => {
                    seen.push(format!("{within}{at}{}", row.name));
                }
                _ => {}
            }
        }
    }
    let (mut seen, fields) = (Vec::new(), example().fields());
    for file in [File::Install, File::Cluster] {
        walk(file.table(), file, ["", ""], &mut seen);
    }
    assert!(seen.len() > 40, "{}", seen.len());
    for path in &seen {
        assert!(fields.project(path).is_ok(), "{path}");
        assert_eq!(seen.iter().filter(|other| *other == path).count(), 1, "two rows are seen as `{path}`");
    }
}
