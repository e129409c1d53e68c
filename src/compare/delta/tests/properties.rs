//! Properties of all comparisons.

use proptest::prelude::*;

use super::super::renames;
use super::{DeltaContext, File, changes, file, files};

/// A value with keys, items and texts that are special to some comparer.
fn value() -> impl Strategy<Value = serde_json::Value> {
    use serde_json::{Value, json};
    let word = prop_oneof![
        Just("a".to_owned()),
        Just("quay.io/a@sha256:1111111111111111111111111111111111111111111111111111111111111111".to_owned()),
        Just("--a=b,c".to_owned()),
        Just("[Service]\nExecStart=/bin/a -c x\n".to_owned()),
        Just("a: 1\nb: [x, y]\n".to_owned()),
        Just("A=1\nB=2\n".to_owned()),
        "[a-c]{0,3}",
        "(x|y|\n){0,6}",
    ];
    let key = prop_oneof![
        Just("name"),
        Just("kind"),
        Just("metadata"),
        Just("spec"),
        Just("command"),
        Just("data"),
        Just("type"),
        Just("featureGates"),
        Just("ignition"),
        Just("version"),
        Just("storage"),
        Just("files"),
        Just("path"),
        Just("contents"),
        Just("source"),
        Just("versions"),
        Just("schema"),
        Just("openAPIV3Schema"),
        Just("properties"),
        Just("enum"),
        Just("required"),
        Just("password"),
        Just("auths"),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (0..3i32).prop_map(Value::from),
        word.prop_map(Value::from),
        Just(json!("CustomResourceDefinition")),
        Just(json!("Secret")),
        Just(json!("MachineConfig")),
        Just(json!("FeatureGate")),
        Just(json!("v1")),
    ];
    leaf.prop_recursive(5, 40, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(key.clone().prop_map(str::to_owned), inner, 0..5)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// A value in which all order is significant.
fn plain() -> impl Strategy<Value = serde_json::Value> {
    use serde_json::Value;
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (0..3i32).prop_map(Value::from),
        "[a-c1]{0,2}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 20, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-c]", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn path() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        Just("a.yaml"),
        Just("a.json"),
        Just("a.ign"),
        Just("a.service"),
        Just("a.env"),
        Just("a.crt"),
        Just("a.sh"),
        Just("a"),
        Just("b.yaml"),
    ]
}

/// A unique secret that does not look like a path or a switch.
fn word() -> impl Strategy<Value = String> {
    "[A-Z][a-z0-9]{3}[A-Z][0-9][a-z]{2}[A-Z]{2}[0-9]{4}[a-z][A-Z]"
}

/// A text in which `word` is secret.
fn holder(word: &str, form: u8) -> (&'static str, String) {
    use base64::Engine as _;
    let encoded = base64::engine::general_purpose::STANDARD.encode(word);
    match form % 9 {
        0 => ("a.yaml", format!("apiVersion: v1\nkind: Secret\nmetadata: {{name: a}}\ndata: {{a: {encoded}}}\nstringData: {{b: {word}}}\n")),
        1 => ("a.yaml", format!("users:\n- {{name: a, password: {word}}}\n- token: {word}\n")),
        2 => ("kubeconfig", format!("apiVersion: v1\nkind: Config\nusers:\n- name: a\n  user: {{token: {word}, password: {word}}}\n")),
        3 => ("a.json", format!("{{\"auths\": {{\"r\": {{\"auth\": \"{encoded}\", \"email\": \"{word}\"}}}}}}")),
        4 => ("a.sh", format!("#!/bin/sh\nlogin --user x\nPASSWORD={word}\necho done\n")),
        5 => ("a.env", format!("A=b\nDB_PASSWORD={word}\n")),
        6 => ("a.service", format!("[Service]\nExecStart=/bin/a --password={word} --token {word}\n")),
        7 => ("a.ign", serde_json::json!({"ignition": {"version": "3.4.0"}, "passwd": {"users": [{"name": "core", "passwordHash": word}]}, "storage": {"files": [{"path": "/a", "mode": 384, "contents": {"source": crate::openshift::ignition::encode(word.as_bytes())}}, {"path": format!("/{}", word.len()), "contents": {"source": crate::openshift::ignition::encode(format!("password: {word}\n").as_bytes())}}]}}).to_string()),
        _ => ("a.yaml", format!("kind: Secret\n  data: [\n a: {word}\n")),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn data_backwards_is_the_inverse(old in value(), new in value(), path in path(), secret: bool) {
        let (old, new) = (old.to_string(), new.to_string());
        let one = File { secret, ..file(path, old.as_bytes()) };
        changes(one, file(path, new.as_bytes()), &DeltaContext::default());
    }

    /// Different data differs, equal data does not: nothing is lost.
    #[test]
    fn different_data_differs(old in plain(), new in plain(), secret: bool) {
        let (one, two) = (old.to_string(), new.to_string());
        let side = File { secret, ..file("a.json", one.as_bytes()) };
        let found = changes(side, file("a.json", two.as_bytes()), &DeltaContext::default());
        prop_assert_eq!(found.is_empty(), old == new, "{}\n{}", one, two);
    }

    #[test]
    fn arbitrary_bytes(old: Vec<u8>, new: Vec<u8>, path in path(), secret: bool, executable: bool) {
        let (one, two) = (file(path, &old), File { secret, executable, ..file(path, &new) });
        changes(one, two, &DeltaContext::default());
        files(None, Some(two), &DeltaContext::default());
        renames(&[one], &[two]);
    }

    #[test]
    fn arbitrary_text(old in "(a|b|:|-|\n| |\\{|\\}|\\[|\\]|=|\"|%|-----BEGIN X-----|-----END X-----|---\n|#){0,30}", new in "(a|b|:|-|\n| |\\{|\\}|\\[|\\]|=|\"|%|-----BEGIN X-----|-----END X-----|---\n|#){0,30}", path in path(), secret: bool) {
        let one = File { secret, ..file(path, old.as_bytes()) };
        let found = changes(one, file(path, new.as_bytes()), &DeltaContext::default());
        if secret && !found.is_empty() {
            prop_assert!(!serde_json::to_string(&found).unwrap().contains("\"lines\":["));
        }
    }

    #[test]
    fn no_secret_is_in_a_change(old in word(), new in word(), form: u8, other: u8, secret: bool) {
        use base64::Engine as _;
        prop_assume!(old != new);
        let ((path, one), (_, two)) = (holder(&old, form), holder(&new, form));
        let (elsewhere, three) = holder(&new, other);
        fn of<'a>(path: &'a str, content: &'a str, secret: bool) -> File<'a> {
            File { secret, ..file(path, content.as_bytes()) }
        }
        let same = changes(of(path, &one, secret), of(path, &two, secret), &DeltaContext::default());
        prop_assert!(!same.is_empty(), "a changed secret is not reported");
        let across = changes(of(path, &one, secret), of(elsewhere, &three, secret), &DeltaContext::default());
        let mut all = serde_json::to_string(&[same, across]).unwrap();
        all.push_str(&serde_json::to_string(&files(None, Some(of(path, &one, secret)), &DeltaContext::default())).unwrap());
        for word in [&old, &new] {
            prop_assert!(!all.contains(word.as_str()), "{all}");
            prop_assert!(!all.contains(&base64::engine::general_purpose::STANDARD.encode(word)), "{all}");
        }
    }
}
