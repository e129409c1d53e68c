//! Each keyword by itself: what it accepts, and what it reports.

use super::*;
use crate::base::hint::Problems;
use crate::base::yaml::{Source, parse};

fn node(text: &str) -> YamlNode {
    let mut problems = Problems::default();
    let node = parse(Source { name: "t", text }, &mut problems);
    assert!(problems.0.is_empty(), "{text}: {problems}");
    node.unwrap()
}

/// `path: message` of every fault of `x`, whose schema is given.
fn faults(schema: &str, value: &str) -> Vec<String> {
    let schema = node(&format!("{{type: object, properties: {{x: {schema}}}}}"));
    let object = node(&format!("{{apiVersion: a/v1, kind: K, metadata: {{name: thing}}, x: {value}}}"));
    let found = Schema::compile(&schema).check(&object, How::default());
    found.faults.into_iter().map(|fault| format!("{}: {}", fault.path, fault.message)).collect()
}

#[test]
fn every_keyword() {
    for (schema, good, bad, wanted) in [
        ("{type: string}", "a", "1", "x: `1` is an integer, not a string"),
        ("{type: string}", "'1'", "{a: b}", "x: it is a map, not a string"),
        ("{type: integer}", "1.0", "1.5", "x: `1.5` is a number, not an integer"),
        ("{type: integer}", "-3", "'1'", "x: `1` is a string, not an integer"),
        ("{type: number}", "1", "a", "x: `a` is a string, not a number"),
        ("{type: boolean}", "on", "'true'", "x: `true` is a string, not a boolean"),
        ("{type: array, items: {type: string}}", "[a]", "a", "x: `a` is a string, not a list"),
        ("{type: array, items: {type: string}}", "[]", "[a, 1]", "x[1]: `1` is an integer, not a string"),
        ("{type: object}", "{}", "[]", "x: it is a list, not a map"),
        ("{type: object}", "{}", "{u: 1}", "x.u: this field does not exist"),
        (
            "{type: object, properties: {u: {type: string}}, required: [u]}",
            "{u: a}",
            "{}",
            "x.u: it is required but missing",
        ),
        (
            "{type: object, properties: {u: {type: string}}, required: [u]}",
            "{u: a}",
            "{u: null}",
            "x.u: it is required but missing",
        ),
        (
            "{type: object, additionalProperties: {type: integer}}",
            "{a.b: 1}",
            "{a.b: c}",
            "x[a.b]: `c` is a string, not an integer",
        ),
        ("{type: string, enum: [Abc, '']}", "''", "abd", "x: `abd` is not one of `Abc`, ``"),
        ("{type: integer, enum: [1, 2]}", "2", "3", "x: `3` is not one of `1`, `2`"),
        ("{type: string, pattern: '^a+$'}", "aa", "ab", "x: `ab` does not match `^a+$`"),
        ("{type: string, format: cidr}", "10.0.0.0/8", "10.0.0.0", "x: `10.0.0.0` is not a CIDR"),
        ("{type: string, format: ipv4}", "10.0.0.1", "'::1'", "x: `::1` is not an IPv4 address"),
        (
            "{type: string, format: date-time}",
            "2026-01-01T00:00:00Z",
            "now",
            "x: `now` is not a date and time",
        ),
        (
            "{type: integer, format: int32}",
            "2147483647",
            "2147483648",
            "x: `2147483648` does not fit into 32 bits",
        ),
        ("{type: integer, minimum: 1}", "1", "0", "x: `0` is too small: it must be at least 1"),
        (
            "{type: integer, minimum: 1, exclusiveMinimum: true}",
            "2",
            "1",
            "x: `1` is too small: it must be more than 1",
        ),
        ("{type: number, maximum: 1.5}", "1.5", "1.6", "x: `1.6` is too large: it must be at most 1.5"),
        (
            "{type: integer, maximum: 3, exclusiveMaximum: true}",
            "2",
            "3",
            "x: `3` is too large: it must be less than 3",
        ),
        ("{type: integer, multipleOf: 5}", "10", "12", "x: `12` is not a multiple of 5"),
        ("{type: string, minLength: 2}", "éé", "é", "x: it has 1 character; the minimum is 2"),
        ("{type: string, maxLength: 2}", "éé", "aaa", "x: it has 3 characters; the maximum is 2"),
        (
            "{type: array, minItems: 1, items: {type: string}}",
            "[a]",
            "[]",
            "x: it has 0 elements; the minimum is 1",
        ),
        (
            "{type: array, maxItems: 1, items: {type: string}}",
            "[a]",
            "[a, b]",
            "x: it has 2 elements; the maximum is 1",
        ),
        (
            "{type: array, uniqueItems: true, items: {type: string}}",
            "[a, b]",
            "[a, a]",
            "x[1]: it has the same value as element 0",
        ),
        (
            "{type: array, x-kubernetes-list-type: set, items: {type: integer}}",
            "[1, 2]",
            "[1, 1.0]",
            "x[1]: it has the same value as element 0",
        ),
        (
            "{type: object, minProperties: 1, additionalProperties: {type: string}}",
            "{a: b}",
            "{}",
            "x: it has 0 fields; the minimum is 1",
        ),
        (
            "{type: object, maxProperties: 1, additionalProperties: {type: string}}",
            "{a: b}",
            "{a: b, c: d}",
            "x: it has 2 fields; the maximum is 1",
        ),
        (
            "{x-kubernetes-int-or-string: true}",
            "50%",
            "true",
            "x: `true` is a boolean, not an integer or a string",
        ),
        (
            "{x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}]}",
            "1",
            "[]",
            "x: it is a list, not an integer or a string",
        ),
        (
            "{type: string, anyOf: [{enum: [a]}, {pattern: '^b'}]}",
            "bc",
            "c",
            "x: it matches none of the alternatives (anyOf)",
        ),
        (
            "{type: string, oneOf: [{pattern: a}, {pattern: b}]}",
            "a",
            "ab",
            "x: it matches 2 alternatives instead of one (oneOf)",
        ),
        (
            "{type: string, oneOf: [{pattern: a}, {pattern: b}]}",
            "b",
            "c",
            "x: it matches none of the alternatives (oneOf)",
        ),
        ("{type: string, allOf: [{pattern: a}, {pattern: b}]}", "ab", "a", "x: `a` does not match `b`"),
        ("{type: string, not: {enum: [a]}}", "b", "a", "x: the schema excludes it (not)"),
        (
            "{type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}",
            "{apiVersion: v1, kind: A, z: 1}",
            "{kind: A}",
            "x.apiVersion: it is required but missing",
        ),
    ] {
        assert_eq!(faults(schema, good), [""; 0], "{schema} {good}");
        assert_eq!(faults(schema, bad), [wanted], "{schema} {bad}");
    }
}

#[test]
fn keys_of_a_list_that_is_a_map() {
    let schema = "{type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [a, b], items: {type: object, \
                  properties: {a: {type: string}, b: {type: integer, default: 1}, c: {type: string}}}}";
    assert_eq!(faults(schema, "[{a: x, b: 1}, {a: x, b: 2}, {a: z}]"), [""; 0]);
    assert_eq!(
        faults(schema, "[{a: x, b: 1}, {a: x, c: z}]"),
        ["x[1]: it has the same `a`, `b` as element 0"]
    );
}

#[test]
fn defaults_come_before_validation() {
    let inner =
        "{type: object, required: [u], properties: {u: {type: string, default: a}, z: {type: string}}";
    assert_eq!(faults(&format!("{inner}}}"), "{}"), [""; 0]);
    assert_eq!(
        faults(&format!("{inner}}}"), "{u: null}"),
        [""; 0],
        "a null that may not be one gets the default"
    );
    assert_eq!(
        faults(&format!("{inner}, oneOf: [{{required: [u]}}, {{required: [z]}}]}}"), "{z: b}").len(),
        1
    );
}

#[test]
fn nulls_and_unknown_fields() {
    let open = "{type: object, x-kubernetes-preserve-unknown-fields: true, properties: {u: {type: object, properties: {}}}}";
    assert_eq!(faults(open, "{a: {b: c}}"), [""; 0]);
    assert_eq!(faults(open, "{u: {b: c}}"), ["x.u.b: this field does not exist"]);
    assert_eq!(faults("{type: string}", "null"), [""; 0], "dropped, as an absent field");
    assert_eq!(faults("{type: string, nullable: true, minLength: 1}", "null"), [""; 0]);
    let list = "{type: array, items: {type: string}}";
    assert_eq!(faults(list, "[null]"), ["x[0]: it is null, not a string"]);
}

#[test]
fn faults_have_lines_and_hints_and_come_all_at_once() {
    let schema = node(
        "{type: object, properties: {spec: {type: object, required: [need], properties: {networkType: {type: string, \
         enum: [OVNKubernetes]}, need: {type: string}, version: {type: string}}}}}",
    );
    let object = node(
        "apiVersion: a/v1\nkind: K\nmetadata:\n  name: thing\n  label: {}\nspec:\n  netwrkType: x\n  networkType: OVNkubernetes\n  version: 4.10\n",
    );
    let found = Schema::compile(&schema).check(&object, How::default()).faults;
    let found: Vec<String> = found
        .iter()
        .map(|fault| {
            format!(
                "{}: {}: {} ({})",
                fault.line,
                fault.path,
                fault.message,
                fault.hint.as_deref().unwrap_or_default()
            )
        })
        .collect();
    assert_eq!(
        found,
        [
            "5: metadata.label: this field does not exist (did you mean `labels`?)",
            "6: spec.need: it is required but missing ()",
            "7: spec.netwrkType: this field does not exist (did you mean `networkType`?)",
            "8: spec.networkType: `OVNkubernetes` is not one of `OVNKubernetes` (did you mean `OVNKubernetes`?)",
            "9: spec.version: `4.10` is a number, not a string (put it in quotes: \"4.10\")",
        ]
    );
}

#[test]
fn masked_values_are_in_no_message() {
    let schema = "{type: object, properties: {x: {type: object, properties: {a: {type: string, enum: [hunter3], \
                  pattern: '^x', format: cidr, maxLength: 2}, b: {type: integer, maximum: 1}, c: {type: string}, \
                  d: {type: string, anyOf: [{enum: [q]}]}}}}}";
    let object = node("{apiVersion: a/v1, kind: K, x: {a: hunter2, b: 7777, c: 7777, d: hunter2}}");
    let found = Schema::compile(&node(schema)).check(&object, How { masked: true }).faults;
    assert_eq!(found.len(), 7, "{found:?}");
    let text = format!("{found:?}");
    assert!(!text.contains("hunter2") && !text.contains("7777") && !text.contains("mean"), "{text}");
}

#[test]
fn what_cannot_be_decided_is_said() {
    let schema = node(
        "{type: object, properties: {x: {type: string, pattern: '(?=a)'}, u: {type: string, format: isbn}}}",
    );
    let found =
        Schema::compile(&schema).check(&node("{apiVersion: a/v1, kind: K, x: a, u: b}"), How::default());
    assert!(found.faults.is_empty());
    let paths: Vec<&str> = found.skipped.iter().map(|skipped| skipped.path.as_str()).collect();
    assert_eq!(paths, ["u", "x"]);
}

#[test]
fn types_of_kubernetes() {
    let check = |version: &str, kind: &str, rest: &str| {
        let object =
            node(&format!("{{apiVersion: {version}, kind: {kind}, metadata: {{name: thing}}, {rest}}}"));
        let found = core::schema(version, kind).unwrap().check(&object, How::default()).faults;
        found.into_iter().map(|fault| format!("{}: {}", fault.path, fault.message)).collect::<Vec<_>>()
    };
    let none: [&str; 0] = [];
    assert_eq!(check("v1", "ConfigMap", "data: {a: '1'}"), none);
    assert_eq!(check("v1", "ConfigMap", "data: {a: 1}"), ["data.a: `1` is an integer, not a string"]);
    assert_eq!(check("v1", "Secret", "data: {a: AA==, b: '', c: '%'}"), ["data.c: `%` is not base64"]);
    let pod =
        |container: &str| check("v1", "Pod", &format!("spec: {{containers: [{{name: a, {container}}}]}}"));
    assert_eq!(
        pod("image: x, ports: [{containerPort: 1}], resources: {requests: {cpu: 10m, memory: 1Gi, x: 1.5}}"),
        none
    );
    assert_eq!(
        pod("imagePullPolicy: always"),
        ["spec.containers[0].imagePullPolicy: `always` is not one of `Always`, `IfNotPresent`, `Never`"]
    );
    assert_eq!(
        pod("resources: {requests: {cpu: 10x}}"),
        ["spec.containers[0].resources.requests.cpu: `10x` is not a quantity"]
    );
    assert_eq!(
        pod("ports: [{hostPort: 1}]"),
        ["spec.containers[0].ports[0].containerPort: it is required but missing"]
    );
    assert_eq!(
        pod("livenessProbe: {httpGet: {port: http, scheme: HTTPS}, period: 1}"),
        ["spec.containers[0].livenessProbe.period: this field does not exist"]
    );
    assert_eq!(
        check("v1", "Pod", "spec: {containers: [{name: a}, {name: a}]}"),
        ["spec.containers[1]: it has the same `name` as element 0"]
    );
    let schema = "{type: object, properties: {a: {type: object, properties: {b: {typ: string}}}}}";
    let crd = format!(
        "spec: {{group: g, scope: Cluster, names: {{kind: K, plural: ks}}, versions: [{{name: v1, served: true, storage: true, schema: {{openAPIV3Schema: {schema}}}}}]}}"
    );
    let wanted =
        "spec.versions[0].schema.openAPIV3Schema.properties.a.properties.b.typ: this field does not exist";
    assert_eq!(check("apiextensions.k8s.io/v1", "CustomResourceDefinition", &crd), [wanted]);
}

#[test]
fn rules_in_cel() {
    let rule = |rule: &str| {
        format!(
            "{{type: object, properties: {{a: {{type: integer}}, cidr: {{type: string}}, at: {{type: string, format: date-time}}, \
                 list: {{type: array, items: {{type: object, properties: {{b: {{type: string}}}}, x-kubernetes-validations: \
                 [{{rule: 'self.b != \"bad\"', message: b is bad.}}]}}}}}}, x-kubernetes-validations: [{{rule: '{rule}', message: refused}}]}}"
        )
    };
    let none: [&str; 0] = [];
    assert_eq!(faults(&rule("self.a > 1"), "{a: 2}"), none);
    assert_eq!(faults(&rule("self.a > 1"), "{a: 1}"), ["x: refused"]);
    assert_eq!(faults(&rule("!has(self.a)"), "{a: 1}"), ["x: refused"]);
    assert_eq!(
        faults(&rule("isCIDR(self.cidr) && cidr(self.cidr).prefixLength() <= 24"), "{cidr: 10.0.0.0/8}"),
        none
    );
    assert_eq!(faults(&rule("isCIDR(self.cidr)"), "{cidr: 10.0.0.0}"), ["x: refused"]);
    assert_eq!(
        faults(&rule("self.at < timestamp(\"2030-01-01T00:00:00Z\")"), "{at: '2026-01-01T00:00:00Z'}"),
        none
    );
    assert_eq!(faults(&rule("self.a == oldSelf.a"), "{a: 1}"), none, "nothing was before");
    assert_eq!(faults(&rule("true"), "{list: [{b: good}, {b: bad}]}"), ["x.list[1]: b is bad"]);
    // Wrong types come first: then the rule is not evaluated.
    assert_eq!(faults(&rule("self.a > 1"), "{a: z}"), ["x.a: `z` is a string, not an integer"]);
    let schema = node(&format!("{{type: object, properties: {{x: {}}}}}", rule("self.?a.orValue(1) == 1")));
    let found = Schema::compile(&schema).check(&node("{apiVersion: a/v1, kind: K, x: {}}"), How::default());
    assert_eq!((found.faults.len(), found.skipped.len()), (0, 1), "{found:?}");
}

/// A field of format `byte` is bytes to CEL: rules see what is encoded, and not its base64.
#[test]
fn rules_about_bytes() {
    let schema = "{type: object, properties: {key: {type: string, format: byte, x-kubernetes-validations: \
                  [{rule: 'string(self).startsWith(\"-----BEGIN\")', message: it must be PEM}]}}, \
                  x-kubernetes-validations: [{rule: 'size(self.key) < 20', message: it is long}]}";
    let key = |bytes: &[u8]| format!("{{key: {}}}", data_encoding::BASE64.encode(bytes));
    assert_eq!(faults(schema, &key(b"-----BEGIN KEY-----")), [""; 0]);
    assert_eq!(faults(schema, &key(b"key")), ["x.key: it must be PEM"]);
    assert_eq!(faults(schema, &key(b"-----BEGIN A LONG KEY-----")), ["x: it is long"]);
    // What is no text is for the API server to judge.
    assert_eq!(faults(schema, &key(&[0xff; 30])), [""; 0]);
}
