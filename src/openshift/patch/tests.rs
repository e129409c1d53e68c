//! The examples of both RFCs, our additions, and every way to write an invalid patch.

use super::{Change, Fault, Pointer, apply, parse};
use crate::base::hint::Problems;
use crate::base::yaml::{self, Source, YamlNode, flow};

fn read(text: &str) -> YamlNode {
    yaml::documents(Source { name: "x", text }, &mut Problems::default()).pop().unwrap()
}

fn change(text: &str) -> Change {
    let text = format!("target: {{kind: X}}\npatch: {text}\n");
    let mut problems = Problems::default();
    let mut patches = parse(Source { name: "p.yaml", text: &text }, &mut problems);
    assert!(problems.0.is_empty(), "{problems}");
    patches.remove(0).change
}

fn patched(document: &str, patch: &str) -> Result<String, Fault> {
    apply(&change(patch), &read(document), false).map(|node| flow(&node))
}

/// Asserts the result of a patch; the order of keys does not count.
fn gives(document: &str, patch: &str, wanted: &str) {
    let found = patched(document, patch).unwrap();
    assert!(read(&found).means(&read(wanted)), "{document} {patch}: {found}");
}

fn fails(document: &str, patch: &str) -> String {
    let Fault { message, hint, .. } = patched(document, patch).unwrap_err();
    hint.map_or_else(|| message.clone(), |hint| format!("{message}\nhint: {hint}"))
}

/// RFC 6902, appendix A. (A.11, an unknown field, is rejected here: see `what_is_wrong_with_a_patch`.)
#[test]
fn json_patches_as_the_rfc_has_them() {
    gives(
        r#"{"foo": "bar"}"#,
        r#"[{"op": "add", "path": "/baz", "value": "qux"}]"#,
        r#"{"baz": "qux", "foo": "bar"}"#,
    );
    gives(
        r#"{"foo": ["bar", "baz"]}"#,
        r#"[{"op": "add", "path": "/foo/1", "value": "qux"}]"#,
        r#"{"foo": ["bar", "qux", "baz"]}"#,
    );
    gives(r#"{"baz": "qux", "foo": "bar"}"#, r#"[{"op": "remove", "path": "/baz"}]"#, r#"{"foo": "bar"}"#);
    gives(
        r#"{"foo": ["bar", "qux", "baz"]}"#,
        r#"[{"op": "remove", "path": "/foo/1"}]"#,
        r#"{"foo": ["bar", "baz"]}"#,
    );
    gives(
        r#"{"baz": "qux", "foo": "bar"}"#,
        r#"[{"op": "replace", "path": "/baz", "value": "boo"}]"#,
        r#"{"baz": "boo", "foo": "bar"}"#,
    );
    gives(
        r#"{"foo": {"bar": "baz", "waldo": "fred"}, "qux": {"corge": "grault"}}"#,
        r#"[{"op": "move", "from": "/foo/waldo", "path": "/qux/thud"}]"#,
        r#"{"foo": {"bar": "baz"}, "qux": {"corge": "grault", "thud": "fred"}}"#,
    );
    gives(
        r#"{"foo": ["all", "grass", "cows", "eat"]}"#,
        r#"[{"op": "move", "from": "/foo/1", "path": "/foo/3"}]"#,
        r#"{"foo": ["all", "cows", "eat", "grass"]}"#,
    );
    let tests =
        r#"[{"op": "test", "path": "/baz", "value": "qux"}, {"op": "test", "path": "/foo/1", "value": 2}]"#;
    gives(r#"{"baz": "qux", "foo": ["a", 2, "c"]}"#, tests, r#"{"baz": "qux", "foo": ["a", 2, "c"]}"#);
    insta::assert_snapshot!(fails(r#"{"baz": "qux"}"#, r#"[{"op": "test", "path": "/baz", "value": "bar"}]"#), @r#"
    the test of `/baz` fails: it is `qux`, not `bar`
    hint: check whether the patch is still right, then update its test
    "#);
    gives(
        r#"{"foo": "bar"}"#,
        r#"[{"op": "add", "path": "/child", "value": {"grandchild": {}}}]"#,
        r#"{"foo": "bar", "child": {"grandchild": {}}}"#,
    );
    insta::assert_snapshot!(fails(r#"{"foo": "bar"}"#, r#"[{"op": "add", "path": "/baz/bat", "value": "qux"}]"#), @"there is no `/baz`: the document has `foo`");
    gives(
        r#"{"/": 9, "~1": 10}"#,
        r#"[{"op": "test", "path": "/~01", "value": 10}]"#,
        r#"{"/": 9, "~1": 10}"#,
    );
    insta::assert_snapshot!(fails(r#"{"/": 9, "~1": 10}"#, r#"[{"op": "test", "path": "/~01", "value": "10"}]"#), @r#"
    the test of `/~01` fails: it is `10`, not `"10"`
    hint: check whether the patch is still right, then update its test
    "#);
    gives(
        r#"{"foo": ["bar"]}"#,
        r#"[{"op": "add", "path": "/foo/-", "value": ["abc", "def"]}]"#,
        r#"{"foo": ["bar", ["abc", "def"]]}"#,
    );
    gives(
        "{a: {b: [1]}}",
        "[{op: copy, from: /a/b, path: /c}, {op: add, path: /c/0, value: 2}]",
        "{a: {b: [1]}, c: [2, 1]}",
    );
    gives("{a: 1}", "[{op: replace, path: '', value: {b: 2}}]", "{b: 2}");
}

/// RFC 7396, appendix A; here, a patch that is not a map is a JSON patch or invalid.
#[test]
fn merge_patches_as_the_rfc_has_them() {
    for (document, patch, wanted) in [
        (r#"{"a":"b"}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#),
        (r#"{"a":"b"}"#, r#"{"b":"c"}"#, r#"{"a":"b","b":"c"}"#),
        (r#"{"a":"b"}"#, r#"{"a":null}"#, "{}"),
        (r#"{"a":"b","b":"c"}"#, r#"{"a":null}"#, r#"{"b":"c"}"#),
        (r#"{"a":["b"]}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#),
        (r#"{"a":"c"}"#, r#"{"a":["b"]}"#, r#"{"a":["b"]}"#),
        (r#"{"a":{"b":"c"}}"#, r#"{"a":{"b":"d","c":null}}"#, r#"{"a":{"b":"d"}}"#),
        (r#"{"a":[{"b":"c"}]}"#, r#"{"a":[1]}"#, r#"{"a":[1]}"#),
        (r#"{"e":null}"#, r#"{"a":1}"#, r#"{"e":null,"a":1}"#),
        (r#"[1,2]"#, r#"{"a":"b","c":null}"#, r#"{"a":"b"}"#),
        ("{}", r#"{"a":{"bb":{"ccc":null}}}"#, r#"{"a":{"bb":{}}}"#),
    ] {
        gives(document, patch, wanted);
    }
}

#[test]
fn a_path_that_is_not_there_says_what_is() {
    let document = "{spec: {publicZone: {id: x}, list: [1, 2], text: abc, none: {}}}";
    insta::assert_snapshot!(fails(document, "[{op: replace, path: /spec/publicZon/id, value: y}]"), @r"
    there is no `/spec/publicZon/id`: `/spec` has `publicZone`, `list`, `text`, `none`
    hint: did you mean `/spec/publicZone/id`?
    ");
    insta::assert_snapshot!(fails(document, "[{op: remove, path: /spec/list/2}]"), @"there is no `/spec/list/2`: `/spec/list` is a list of 2 items");
    insta::assert_snapshot!(fails(document, "[{op: add, path: /spec/list/3, value: 1}]"), @r"
    there is no position `3` in `/spec/list`, of 2 items
    hint: use an index, or `-` for the end of the list
    ");
    insta::assert_snapshot!(fails(document, "[{op: remove, path: /spec/text/x}]"), @"there is no `/spec/text/x`: `/spec/text` is `abc`");
    insta::assert_snapshot!(fails(document, "[{op: add, path: /spec/text/x, value: 1}]"), @"`/spec/text` is not a map or list, so it has no fields");
    insta::assert_snapshot!(fails(document, "[{op: remove, path: /spec/none/x}]"), @"there is no `/spec/none/x`: `/spec/none` is empty");
    insta::assert_snapshot!(fails(document, "[{op: remove, path: ''}]"), @"the whole document cannot be removed");
    insta::assert_snapshot!(fails(document, "[{op: move, from: /spec, path: /spec/x}]"), @"`/spec` cannot be moved into itself");
}

#[test]
fn a_fault_in_a_secret_shows_no_value() {
    let document = read("{data: {password: hunter2}}");
    for patch in ["[{op: test, path: /data/password, value: x}]", "[{op: remove, path: /data/password/x}]"] {
        let fault = apply(&change(patch), &document, true).unwrap_err();
        assert!(!format!("{fault:?}").contains("hunter2"), "{fault:?}");
    }
}

#[test]
fn pointers_are_written_as_they_are_read() {
    for text in ["", "/", "/a/0/b", "/a~1b/~01", "/ü//x"] {
        assert_eq!(Pointer::parse(text).unwrap().to_string(), text);
    }
    for text in ["a", "/~", "/~2"] {
        assert_eq!(Pointer::parse(text), None, "{text}");
    }
}

#[test]
fn what_is_wrong_with_a_patch() {
    let text = "\
target: {knd: DNS}
patchs: []
---
- target: {kind: DNS, file: x}
  patch: {a: 1}
- target: {all: maybe, kind: [x]}
  patch: [{op: repalce, path: x}, {op: add, path: x, value: 1, xyz: 1}, {op: remove, path: /x, value: 1}, {op: move, path: /x}]
- target: {kind: Pod}
  patch: {spec: {containers: [{$patch: delete}]}}
- target: {kind: Pod}
  patch: []
- nothing
";
    let report = |text: &str| {
        let mut problems = Problems::default();
        parse(Source { name: "p.yaml", text }, &mut problems);
        problems.or(()).unwrap_err().to_string()
    };
    insta::assert_snapshot!(report(text), @r"
    p.yaml:1: knd: unknown field
      hint: did you mean `kind`?
    p.yaml:1: patch: it is missing
      hint: a list is a JSON patch, a map a merge patch
    p.yaml:1: target: it does not identify an object
      hint: for example `{kind: DNS, name: cluster}`, or `{file: static-pods/etcd.yaml}`
    p.yaml:2: patchs: unknown field
      hint: did you mean `patch`?
    p.yaml:4: target: it has both `file` and fields of an object
      hint: name the object or the file, not both
    p.yaml:6: target: it does not identify an object
      hint: for example `{kind: DNS, name: cluster}`, or `{file: static-pods/etcd.yaml}`
    p.yaml:6: target.all: must be true or false
    p.yaml:6: target.kind: must be a text
    p.yaml:7: from: it is missing
      hint: say where it comes from: `from: /spec/x`
    p.yaml:7: op: there is no operation `repalce`
      hint: did you mean `replace`?
    p.yaml:7: path: it is not a path
      hint: a JSON pointer: `/spec/containers/0/args`, with `~1` for a `/` in a key
    p.yaml:7: value: `remove` does not use it
      hint: remove it
    p.yaml:7: xyz: unknown field
      hint: known: op, path, from, value
    p.yaml:9: $patch: strategic merge patches are not supported
      hint: write a JSON patch: a list of `{op: …, path: …, value: …}`
    p.yaml:11: patch: there is nothing in it
      hint: a list is a JSON patch, a map a merge patch
    p.yaml:12: this is not a valid patch
      hint: a patch has `target` and `patch`
    ");
    insta::assert_snapshot!(report("# nothing\n"), @r"
    p.yaml: there is no patch in this file
      hint: a patch has `target` and `patch`
    ");
    insta::assert_snapshot!(report("a: [\n"), @r"
    p.yaml:2: not valid YAML: while parsing a node, did not find expected node content
      hint: look at this line and the one above it
    ");
}
