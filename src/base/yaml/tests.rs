//! Edits that keep what they do not change. Every result is read again: what it says must be the new data.

use super::read::{Source, YamlNode, documents};
use super::write::block;
use super::{edit, parse, replace_scalar};
use crate::base::hint::Problems;

fn read(text: &str) -> Vec<YamlNode> {
    let mut problems = Problems::default();
    let found = documents(Source { name: "x.yaml", text }, &mut problems);
    assert!(problems.0.is_empty(), "{problems}\n{text}");
    found
}

/// The text with its document `at` changed to what `new` says.
fn edited_at(name: &str, text: &str, at: usize, new: &str) -> String {
    let (old, new) = (read(text), read(new).remove(0));
    let edited = edit(name, text, &old, at, &new);
    let found = read(&edited);
    for (n, document) in found.iter().enumerate() {
        assert!(document.means(if n == at { &new } else { &old[n] }), "{edited}");
    }
    assert_eq!(found.len(), old.len());
    edited
}

fn edited(text: &str, new: &str) -> String {
    edited_at("x.yaml", text, 0, new)
}

const POD: &str = "\
# Why this pod exists.
kind: Pod
metadata: {name: etcd, labels: {app: etcd}}
spec:
  containers:
  # The only one.
  - name: etcd
    args:
    # Where it keeps its data.
    - --data-dir=/var/lib/etcd   # a host path
    # How long a leader may be silent.
    - --election-timeout=1000
    - --last
  hostNetwork: true  # before there is any other

  priority: high
# The end.
";

#[test]
fn a_scalar_changes_in_its_place() {
    let new = POD.replace("=1000", "=2500").replace("true", "false").replace("app: etcd", "app: \"a, b\"");
    assert_eq!(edited(POD, &new), new);
    insta::assert_snapshot!(edited("a: 1\nb: 'it''s \"x' # why\nc: \"\\\"x\" # how\nü: ö # ä\n", "a: {b: [1]}\nb: \"1\"\nc: d\nü: y\n"), @r#"
    a:
      b:
      - 1
    b: "1" # why
    c: d # how
    ü: y # ä
    "#);
}

#[test]
fn lines_come_and_go_with_their_comments() {
    let new = POD.replace("    # How long a leader may be silent.\n    - --election-timeout=1000\n", "");
    assert_eq!(edited(POD, &new), new);
    let new =
        POD.replace("    - --last\n", "    - --last\n    - --more\n    - name: x\n      value: \"1\"\n");
    assert_eq!(edited(POD, &new), new);
    let new = POD.replace("    # Where", "    - --first\n    # Where");
    assert_eq!(edited(POD, &new), new);
    let new = POD.replace("  hostNetwork: true  # before there is any other\n", "");
    assert_eq!(edited(POD, &new), new);
    let new = POD
        .replace("  priority: high\n", "  priority: high\n  dnsPolicy: Default\n")
        .replace("    - --last\n", "    - --last\n    image: x\n");
    assert_eq!(edited(POD, &new), new);
}

#[test]
fn what_no_line_can_hold_is_written_again_from_the_smallest_block_on() {
    // The first key of an item stands behind the dash.
    insta::assert_snapshot!(edited("a:\n# one\n- b: 1\n  c: 2 # two\n# three\n- d\n", "a:\n- c: 2\n- d\n"), @r"
    a:
    # one
    - c: 2
    # three
    - d
    ");
    insta::assert_snapshot!(edited("# head\na:\n  b: 1\nc: |\n  one\n  two\n# tail\n", "a: []\nc: \"one\\nthree\\n\"\n"), @r"
    # head
    a: []
    c: |
      one
      three
    # tail
    ");
    insta::assert_snapshot!(edited("a:\nb: 1", "a: x\nb: 1\nc: 2\n"), @r"
    a: x
    b: 1
    c: 2
    ");
    insta::assert_snapshot!(edited("# kept\na: &x [1] # gone\nb: *x\n", "a: [2]\nb: [1]\n"), @r"
    # kept
    # Written anew by a patch: the comments are in the artifact before it.
    a:
    - 2
    b:
    - 1
    ");
    insta::assert_snapshot!(edited("# head\na: 1 # gone\n# tail\n", "b: 1\n"), @r"
    # head
    # Written anew by a patch: the comments are in the artifact before it.
    b: 1
    # tail
    ");
}

#[test]
fn other_documents_and_json_stay() {
    let two = "# one\na: 1\n---\n# two\na: 2 # x\n---\n# three\na: 3\n";
    assert_eq!(edited_at("x.yaml", two, 1, "a: 5\n"), two.replace("a: 2", "a: 5"));
    insta::assert_snapshot!(edited_at("x.yaml", two, 1, "b: 5\n"), @r"
    # one
    a: 1
    ---
    # two
    # Written anew by a patch: the comments are in the artifact before it.
    b: 5
    ---
    # three
    a: 3
    ");
    let json = "{\n  \"a\": [1, 2],\n  \"b\": {\"c\": \"x\"}\n}\n";
    assert_eq!(
        edited_at("x.json", json, 0, "{a: [1, 3], b: {c: x, d: true}}"),
        "{\n  \"a\": [1, 3],\n  \"b\": {\"c\": \"x\", \"d\": true}\n}\n"
    );
}

#[test]
fn data_is_the_same_or_not() {
    let same = |one: &str, two: &str| {
        let read = |text| parse(Source { name: "x", text }, &mut Problems::default()).unwrap();
        read(one).means(&read(two))
    };
    for (one, two) in
        [("[1]", "[1.0]"), ("{a: 1, b: x}", "{b: 'x', a: 1}"), ("[true]", "[True]"), ("[~]", "[null]")]
    {
        assert!(same(one, two), "{one} {two}");
    }
    for (one, two) in [
        ("[1]", "['1']"),
        ("[1]", "[1, 1]"),
        ("[0644]", "[644]"),
        ("[true]", "['true']"),
        ("{a: 1}", "{b: 1}"),
        ("[[]]", "[{}]"),
        ("[null]", "['']"),
    ] {
        assert!(!same(one, two), "{one} {two}");
    }
}

/// Whatever is written is read again as the same data.
#[test]
fn blocks_say_what_they_were_made_of() {
    for text in [
        "{a: {b: [1, [2, [3]], {c: d, e: {}}], f: []}, g: 'yes', h: \"x: y\", i: null, '1': 2}",
        "{a: \"one\\ntwo\\n\", b: [\"one\\ntwo\", {c: \" x\\ny\"}], d: \"tail\\n\\n\", e: \"\\ttab\\n\\nx\\n\"}",
        "[x, {a: 1, b: [2]}, 0644, 1e3, '# no comment', ~]",
        // Where nothing stands before them, these are markers of documents.
        "&a ---",
        "&a ...",
        "&a --- b",
        "&a ---b",
    ] {
        let node = read(text).remove(0);
        assert!(read(&block(&node, 0)).remove(0).means(&node), "{}", block(&node, 0));
    }
}

#[test]
fn one_scalar_is_replaced_and_no_other_byte() {
    let set = |text: &str, value: &str| replace_scalar("x.yaml", text, "release", value);
    assert_eq!(
        set("a: 1 # x\r\nrelease:  b:1  # c\r\n", "b:2").as_deref(),
        Some("a: 1 # x\r\nrelease:  b:2  # c\r\n")
    );
    assert_eq!(set("{release: \"b:1\", a: [1]}", "b:2").as_deref(), Some("{release: \"b:2\", a: [1]}"));
    assert_eq!(set("release: b:1\n", "# or: what").as_deref(), Some("release: \"# or: what\"\n"));
    assert_eq!(set("release: >-\n  b:1\n", "b:2").as_deref(), Some("release: >-\n  b:2\n"));
    for text in ["a: 1\n", "a: &x b:1\nrelease: *x\n", "release: [b]\n", "release: b:1\n---\na: 1\n"] {
        assert_eq!(set(text, "b:2"), None, "{text}");
    }
}
