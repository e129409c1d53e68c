//! Renamed files.

use super::super::renames;
use super::file;

#[test]
fn by_content_then_by_object_then_by_text() {
    let object = |value: &str| {
        format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\ndata: {{a: {value}, b: {value}, c: {value}}}\n").replace(", ", "\n  ").replace('{', "\n  ").replace('}', "")
    };
    let (one, two) = (object("x"), object("y"));
    let removed = [
        file("a/object.yaml", one.as_bytes()),
        file("text", b"1\n2\n3\n4\n5\n"),
        file("equal", b"\0\x01"),
        file("other", b"a\nb\nc\nd\n"),
    ];
    let added = [
        file("new", b"1\n2\n3\n4\nsix\n"),
        file("moved", b"\0\x01"),
        file("b/object.yaml", two.as_bytes()),
        file("none", b"e\nf\ng\nh\n"),
    ];
    assert_eq!(renames(&removed, &added), [(0, 2), (1, 0), (2, 1)]);
}

#[test]
fn of_two_with_one_content_the_one_of_that_name() {
    let removed = [file("a/x", b"same"), file("a/y", b"same")];
    let added = [file("b/y", b"same"), file("b/x", b"same")];
    assert_eq!(renames(&removed, &added), [(0, 1), (1, 0)]);
    assert_eq!(renames(&[file("a", b"")], &[file("b", b"")]), []);
}
