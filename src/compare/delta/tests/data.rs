//! YAML and JSON that are not objects.

use super::diff;

#[test]
fn fields_are_added_removed_and_changed() {
    insta::assert_snapshot!(diff(
        "a.yaml",
        "a: 1\nb: {c: x, d: [1, 2]}\ngone: {e: f}\n",
        "a: 2\nb: {c: z, d: [1, 3]}\ncome:\n- z\n"
    ), @r"
    data: a: 1 -> 2
    data: b / c: x -> z
    data: b / d / 2: - 2
    data: b / d / 3: + 3
    data: come: + - z
    data: gone: - e: f
    ");
}

#[test]
fn layout_comments_quotes_and_order_of_keys_do_not_count() {
    let old = "# one\na: 1\nb:\n  - x\n  - y # two\nc: \"text\"\nd: 0x10\ne: 1.0\n";
    let new = "e: 1\n\n\nd: 16\nc: text\nb: [x,    y]\na:   1\n";
    assert_eq!(diff("a.yaml", old, new), "(none)");
    assert_eq!(diff("a.yaml", "a: 1\n", "{\"a\": 1}\n"), "(none)");
    assert_eq!(diff("a.json", "{\"a\": [1, 2]}", "{ \"a\":[1,2] }\n"), "(none)");
}

#[test]
fn a_text_that_looks_like_a_number_is_none() {
    insta::assert_snapshot!(diff("a.yaml", "a: 1\nb: yes\n", "a: '1'\nb: 'yes'\n"), @r"
    data: a: 1 -> 1
    data: b: true -> yes
    ");
}

#[test]
fn invalid_yaml_is_compared_as_text_and_says_so() {
    insta::assert_snapshot!(diff("a.yaml", "a: 1\nb: 2\n", "a: [1\nb: 2\n"), @r"
    text: : 
      @@ -1 +1 @@
      -a: 1
      +a: [1
       b: 2 [compared as text: one side is not valid YAML (line 2)]
    ");
    insta::assert_snapshot!(diff("a.yaml", "a: 1\n\tb: 2\n", "a: 1\n{}: 2\n"), @r"
    text: : 
      @@ -1 +1 @@
       a: 1
      -	b: 2
      +{}: 2 [compared as text: neither side is valid YAML (lines 1 and 2)]
    ");
    insta::assert_snapshot!(diff("a.json", "{\"a\": 1}", "{\"a\": 1"), @r#"
    text: : 
      @@ -1 +1 @@
      -{"a": 1}
      +{"a": 1 [compared as text: one side is not valid YAML (line 1)]
    "#);
}

#[test]
fn items_are_known_by_their_key_and_their_order_does_not_count() {
    let old = "env:\n- {name: A, value: 1}\n- {name: B, value: 2}\nports:\n- {containerPort: 80}\n- {containerPort: 443, protocol: TCP}\n- {containerPort: 443, protocol: UDP}\n";
    let new = "env:\n- {name: B, value: 2}\n- {name: A, value: 1}\nports:\n- {containerPort: 443, protocol: UDP}\n- {containerPort: 443, protocol: TCP}\n- {containerPort: 80}\n";
    assert_eq!(diff("a.yaml", old, new), "(none)");
    insta::assert_snapshot!(diff("a.yaml", old, &new.replace("{name: B, value: 2}", "{name: B, value: 3}\n- {name: C}").replace("{containerPort: 80}", "{containerPort: 81}")), @r"
    data: env / name=B / value: 2 -> 3
    data: env / name=C: + name: C
    data: ports / containerPort=80: - containerPort: 80
    data: ports / containerPort=81: + containerPort: 81
    ");
}

#[test]
fn items_without_a_key_keep_their_order_and_what_is_alike_is_a_pair() {
    let old = "rules:\n- {apiGroups: [a], resources: [x], verbs: [get]}\n- {apiGroups: [b], resources: [y], verbs: [list]}\nwords: [one, two, three]\n";
    let new = "rules:\n- {apiGroups: [b], resources: [y], verbs: [list, watch]}\nwords: [two, one, three]\n";
    insta::assert_snapshot!(diff("a.yaml", old, new), @r"
    data: rules / 0: - apiGroups:⏎- a⏎resources:⏎- x⏎verbs:⏎- get
    data: rules / 0 / verbs / watch: + watch
    data: words / one: - one
    data: words / one: + one
    ");
}

#[test]
fn documents_without_identity_are_known_by_their_place() {
    insta::assert_snapshot!(diff("a.yaml", "a: 1\n---\nb: 2\n", "a: 2\n---\nb: 3\n---\nc: 4\n"), @r"
    data: 0 / a: 1 -> 2
    data: 1 / b: 2 -> 3
    data: 2: + c: 4
    ");
}

#[test]
fn changes_are_bounded_and_the_rest_is_counted() {
    let text = |value: u32| (0..30).map(|key| format!("k{key:02}: {value}\n")).collect::<String>();
    let context = super::DeltaContext { limit: 2, ..super::DeltaContext::default() };
    let (old, new) = (text(1), text(2));
    let found = super::changes(
        super::file("a.yaml", old.as_bytes()),
        super::file("a.yaml", new.as_bytes()),
        &context,
    );
    insta::assert_snapshot!(super::render(&found), @r"
    data: k00: 1 -> 2
    data: k01: 1 -> 2
    file: : 
      (28 more) [28 more]
    ");
}

#[test]
fn a_large_json_is_read_and_a_large_yaml_is_compared_as_text() {
    let json = |last: u32| {
        let items: Vec<String> = (0..210_000).map(|item| item.to_string()).collect();
        format!("{{\"a\": [{}, {last}]}}", items.join(", "))
    };
    insta::assert_snapshot!(diff("a.json", &json(1), &json(2)), @r"
    data: a / 1: - 1
    data: a / 2: + 2
    ");
    let yaml = |last: u32| {
        (0..100_001).map(|key| format!("- a: {key}\n")).collect::<String>() + &format!("- {last}\n")
    };
    insta::assert_snapshot!(diff("a.yaml", &yaml(1), &yaml(2)), @r"
    text: : 
      @@ -99999 +99999 @@
       - a: 99998
       - a: 99999
       - a: 100000
      -- 1
      +- 2 [compared as text: it is too large to parse]
    ");
}
