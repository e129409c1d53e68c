//! Text by line, bytes by size and hash.

use std::time::Instant;

use super::{DeltaContext, Edit, changes, diff, file, files, render};

#[test]
fn lines_with_three_around() {
    let old = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n16\n17\n18\n19\n20\n";
    let new = old.replace("5\n6\n", "five\n6\n").replace("18\n", "").replace("20\n", "20\n21\n");
    insta::assert_snapshot!(diff("a.sh", old, &new), @r"
    text: : 
      @@ -2 +2 @@
       2
       3
       4
      -5
      +five
       6
       7
       8
      @@ -15 +15 @@
       15
       16
       17
      -18
       19
       20
      +21
    ");
}

#[test]
fn white_space_counts_and_so_does_the_last_newline() {
    insta::assert_snapshot!(diff("a.sh", "if x\n  y\nfi\n", "if x\n    y\nfi\n"), @r"
    text: : 
      @@ -1 +1 @@
       if x
      -  y
      +    y
       fi
    ");
    insta::assert_snapshot!(diff("a.txt", "a\nb", "a\nb\n"), @r"
    text: : 
      @@ -1 +1 @@
       a
      -b
      +b [one side does not end with a newline]
    ");
    insta::assert_snapshot!(diff("a.txt", "a\r\n", "a\n"), @r"
    text: : 
      @@ -1 +1 @@
      -a
      +a
    ");
    insta::assert_snapshot!(diff("a.txt", "", "a\n"), @r"
    text: : 
      @@ -1 +1 @@
      +a
    ");
}

#[test]
fn bytes_by_size_and_hash_and_gzip_by_what_is_inside() {
    let found = |path: &str, old: &[u8], new: &[u8]| {
        render(&changes(file(path, old), file(path, new), &DeltaContext::default()))
    };
    insta::assert_snapshot!(found("a.bin", b"\0\x01", b"\0\x02\x03"), @"binary: : 2 bytes 7b7015bb -> 3 bytes f3218cb5");
    insta::assert_snapshot!(found("a.bin", b"text\n", b"\0"), @"binary: : 5 bytes 42173aaf -> 1 bytes 2d3adedf");
    let zip = crate::openshift::ignition::gzip;
    insta::assert_snapshot!(found("a.yaml.gz", &zip(b"a: 1\nb: 2\n"), &zip(b"b: 2\na: 3\n")), @"data: a: 1 -> 3");
    assert_eq!(found("a.yaml.gz", &zip(b"a: 1\nb: 2\n"), &zip(b"b: 2\na: 1\n")), "(none)");
    insta::assert_snapshot!(found("a.gz", b"\x1f\x8b\0", b"\x1f\x8b\x01"), @"binary: : 3 bytes 6b631a90 -> 3 bytes 7f20a0d6");
}

#[test]
fn a_file_as_a_whole() {
    let (one, program) = (file("a", b"x\n"), super::File { executable: true, ..file("b", b"x\n") });
    insta::assert_snapshot!(render(&changes(one, program, &DeltaContext::default())), @r"
    file: : renamed a -> b
    file: mode: plain -> executable
    ");
    let context = DeltaContext::default();
    insta::assert_snapshot!(render(&files(None, Some(one), &context)), @"file: : + x⏎");
    insta::assert_snapshot!(render(&files(Some(file("a", &[0; 32])), None, &context)), @"file: : - 32 bytes 2ada83c1");
    insta::assert_snapshot!(render(&files(Some(super::File { secret: true, ..one }), None, &context)), @"file: : - (secret)");
    assert_eq!(files(None, None, &context), []);
}

/// 100 MB with a few different lines: takes about as long as reading them, with bounded memory.
#[test]
fn a_hundred_megabytes_are_bounded() {
    let line = "a line of text that is neither short nor very long, like those of a log\n";
    let mut old = line.repeat(100_000_000 / line.len());
    let middle = line.len() * 700_000;
    old.replace_range(middle..middle + 6, "ANOTHE");
    let mut new = old.clone();
    new.replace_range(..6, "FIRST ");
    new.replace_range(middle..middle + 6, "MIDDLE");
    new.insert_str(middle + line.len(), "one more\n");
    new.push_str("the last\n");
    let start = Instant::now();
    let found = files(
        Some(file("a.log", old.as_bytes())),
        Some(file("a.log", new.as_bytes())),
        &DeltaContext::default(),
    );
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
    insta::assert_snapshot!(render(&found), @r"
    text: : 
      @@ -1 +1 @@
      -a line of text that is neither short nor very long, like those of a log
      +FIRST  of text that is neither short nor very long, like those of a log
       a line of text that is neither short nor very long, like those of a log
       a line of text that is neither short nor very long, like those of a log
       a line of text that is neither short nor very long, like those of a log
      @@ -699998 +699998 @@
       a line of text that is neither short nor very long, like those of a log
       a line of text that is neither short nor very long, like those of a log
       a line of text that is neither short nor very long, like those of a log
      -ANOTHE of text that is neither short nor very long, like those of a log
      +MIDDLE of text that is neither short nor very long, like those of a log
      +one more
       a line of text that is neither short nor very long, like those of a log
       a line of text that is neither short nor very long, like those of a log
       a line of text that is neither short nor very long, like those of a log
      @@ -1388886 +1388887 @@
       a line of text that is neither short nor very long, like those of a log
       a line of text that is neither short nor very long, like those of a log
       a line of text that is neither short nor very long, like those of a log
      +the last
    ");
}

/// Without common lines, the output is bounded and says so.
#[test]
fn what_has_nothing_in_common_is_cut() {
    let text = |word: &str| {
        (0..200_000).map(|line| format!("{word} {line} and so on and so forth\n")).collect::<String>()
    };
    let (old, new) = (text("old"), text("new"));
    let found = files(
        Some(file("a.log", old.as_bytes())),
        Some(file("a.log", new.as_bytes())),
        &DeltaContext::default(),
    );
    let [change] = &found[..] else { panic!("{}", found.len()) };
    let Edit::Lines { hunks, .. } = &change.edit else { panic!("{:?}", change.edit) };
    assert!(hunks.iter().map(|hunk| hunk.lines.len()).sum::<usize>() < 10_000);
    insta::assert_snapshot!(change.note.as_deref().unwrap_or_default(), @"long runs of lines are truncated; there are no common lines after that");
}

#[test]
fn a_long_line_is_cut() {
    let text = |last: char| format!("{}{last}\n", "x".repeat(5000));
    let found = diff("a.txt", &text('a'), &text('b'));
    assert!(found.len() < 2500 && found.contains("5001 bytes"), "{found}");
}
