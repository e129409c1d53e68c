//! CRDs: what a schema newly allows or rejects.

use super::diff;

fn definition(schema: &str) -> String {
    let schema = schema.replace('\n', "\n        ");
    format!(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: as.example.com}}\nspec:\n  group: example.com\n  versions:\n  - name: v1\n    served: true\n    storage: true\n    schema:\n      openAPIV3Schema:\n        {schema}\n"
    )
}

fn compared(old: &str, new: &str) -> String {
    diff("crd.yaml", &definition(old), &definition(new))
}

const SCHEMA: &str = "\
type: object
required: [spec]
properties:
  spec:
    type: object
    description: What is wanted.
    properties:
      mode: {type: string, enum: [A, B], default: A}
      size: {type: integer, minimum: 1, maximum: 10}
      name: {type: string, maxLength: 10, pattern: '^a'}
      list: {type: array, items: {type: object, properties: {x: {type: string}}}}
      map: {type: object, additionalProperties: {type: string}}
      gone: {type: boolean}
    x-kubernetes-validations:
    - {rule: self.size > 1, message: too small}
    - {rule: has(self.mode), message: no mode}";

#[test]
fn fields_come_and_go() {
    let new = SCHEMA.replace("      gone: {type: boolean}", "      come: {type: integer}");
    insta::assert_snapshot!(compared(SCHEMA, &new), @r"
    schema: CustomResourceDefinition as.example.com / v1 / spec / come: + type: integer (loosened)
    schema: CustomResourceDefinition as.example.com / v1 / spec / gone: - type: boolean (tightened)
    ");
}

#[test]
fn rules_are_tightened_and_loosened() {
    let new = SCHEMA
        .replace("enum: [A, B]", "enum: [B, C]")
        .replace("minimum: 1, maximum: 10", "minimum: 2, maximum: 20")
        .replace("maxLength: 10, pattern: '^a'", "pattern: '^b'")
        .replace("required: [spec]", "required: [spec, status]")
        .replace("{type: string}}}}", "{type: string, nullable: true}}}}")
        .replace("additionalProperties: {type: string}", "additionalProperties: {type: string, format: date}")
        .replace("default: A", "default: B")
        .replace("too small", "much too small")
        .replace("has(self.mode)", "has(self.size)");
    insta::assert_snapshot!(compared(SCHEMA, &new), @r#"
    schema: CustomResourceDefinition as.example.com / v1 / spec / list / [] / x / nullable: + true (loosened)
    schema: CustomResourceDefinition as.example.com / v1 / spec / map / {} / format: + date (tightened)
    schema: CustomResourceDefinition as.example.com / v1 / spec / mode / default: A -> B
    schema: CustomResourceDefinition as.example.com / v1 / spec / mode / enum / C: + C (loosened)
    schema: CustomResourceDefinition as.example.com / v1 / spec / mode / enum / A: - A (tightened)
    schema: CustomResourceDefinition as.example.com / v1 / spec / name / maxLength: - 10 (loosened)
    schema: CustomResourceDefinition as.example.com / v1 / spec / name / pattern: ^a -> ^b
    schema: CustomResourceDefinition as.example.com / v1 / spec / size / maximum: 10 -> 20 (loosened)
    schema: CustomResourceDefinition as.example.com / v1 / spec / size / minimum: 1 -> 2 (tightened)
    schema: CustomResourceDefinition as.example.com / v1 / spec / x-kubernetes-validations / has(self.mode): - message: "no mode"⏎rule: "has(self.mode)" (loosened)
    schema: CustomResourceDefinition as.example.com / v1 / spec / x-kubernetes-validations / has(self.size): + message: "no mode"⏎rule: "has(self.size)" (tightened)
    schema: CustomResourceDefinition as.example.com / v1 / spec / x-kubernetes-validations / self.size > 1: message: "too small"⏎rule: "self.size > 1" -> message: "much too small"⏎rule: "self.size > 1"
    schema: CustomResourceDefinition as.example.com / v1 / required / status: + status (tightened)
    "#);
}

#[test]
fn order_of_values_layout_and_descriptions() {
    assert_eq!(compared(SCHEMA, &SCHEMA.replace("[A, B]", "[B, A]")), "(none)");
    insta::assert_snapshot!(compared(SCHEMA, &SCHEMA.replace("What is wanted.", "What is wanted now.")), @"schema: CustomResourceDefinition as.example.com / v1 / spec / description: What is wanted. -> What is wanted now.");
    insta::assert_snapshot!(compared(SCHEMA, &SCHEMA.replace("{type: boolean}", "{type: string}")), @"schema: CustomResourceDefinition as.example.com / v1 / spec / gone / type: boolean -> string");
}

#[test]
fn versions_come_go_and_are_served() {
    let one = definition("type: object");
    let two =
        one.replace("    storage: true\n", "    storage: false\n").replace("served: true", "served: false")
            + "  - {name: v2, served: true, storage: true, schema: {}}\n";
    insta::assert_snapshot!(diff("crd.yaml", &one, &two), @r"
    schema: CustomResourceDefinition as.example.com / v1 / served: true -> false (tightened)
    schema: CustomResourceDefinition as.example.com / v1 / storage: true -> false
    schema: CustomResourceDefinition as.example.com / v2: + name: v2⏎served: true⏎storage: true (loosened)
    ");
}
