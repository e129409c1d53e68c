//! What people see on a real terminal of 80, 100 and 120 columns: lines that fit, and words that stay whole.

use std::collections::BTreeSet;
use std::process::Command;

use crate::harness::Workspace;

/// Runs a verb on a terminal of so many columns, through `script` of Debian's bsdutils; stdout and stderr are both on it.
/// Returns what is shown, without colours and what the live view erased.
pub(crate) fn on_terminal(ws: &Workspace, columns: usize, args: &[&str]) -> String {
    let program = ws.command(args);
    let quoted = |word: &std::ffi::OsStr| format!("'{}'", word.to_str().unwrap().replace('\'', r"'\''"));
    let words: Vec<String> =
        std::iter::once(program.get_program()).chain(program.get_args()).map(quoted).collect();
    let line = format!("stty cols {columns} rows 200 && exec {}", words.join(" "));
    let mut script = Command::new("script");
    script.args(["-qec", &line, "/dev/null"]);
    script.current_dir(program.get_current_dir().unwrap_or(&ws.dir));
    for (name, value) in program.get_envs() {
        match value {
            Some(value) => script.env(name, value),
            None => script.env_remove(name),
        };
    }
    script.env("PAGER", "cat").env("TERM", "xterm").env_remove("NO_COLOR");
    let output = script.stdin(std::process::Stdio::null()).output().expect("script, of bsdutils");
    plain(&String::from_utf8(output.stdout).unwrap())
}

/// Without escape sequences; `ESC [ A ESC [ 2 K` erases the last line.
fn plain(shown: &str) -> String {
    let mut text = String::new();
    let mut rest = shown;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        text.push_str(before);
        let end = after.find(|c: char| c.is_ascii_alphabetic()).unwrap();
        let (number, kind) = (&after[..end], &after[end..=end]);
        if kind == "A" {
            let keep: Vec<&str> = text.split_inclusive('\n').collect();
            text = keep[..keep.len() - number.parse().unwrap_or(1)].concat();
        }
        rest = &after[end + 1..];
    }
    text.push_str(rest);
    text.replace('\r', "")
}

fn words(text: &str) -> BTreeSet<&str> {
    text.split_whitespace().collect()
}

#[test]
fn lines_fit_and_words_stay_whole() {
    let ws = Workspace::example().prebuilt();
    ws.build(&[]);
    let verbs: [&[&str]; 20] = [
        &["targets"],
        &["check", "-v"],
        &["check", "--list"],
        &["why", "cluster"],
        &["affects", "nodes"],
        &["blame", "ignition/master-0:/etc/hostname"],
        &["show", "cluster"],
        &["show", "pki"],
        &["show", "ignition/master-0"],
        &["show", "pki/kube-apiserver", "--explain"],
        &["show", "infra/haproxy", "--explain"],
        &["show", "static-pod/kube-apiserver", "--explain", "--etcd-servers"],
        &["expiry"],
        &["generations"],
        &["guide"],
        &["release", "try", "demo:4.19"],
        &["graph", "--trust"],
        &["schema", "--list"],
        &["show", "nonsense-that-is-not-there"],
        &["build"],
    ];
    for args in verbs {
        let piped = ws.output(args);
        let piped = [piped.stdout, piped.stderr].map(|bytes| String::from_utf8(bytes).unwrap()).concat();
        for columns in [80, 100, 120] {
            let shown = on_terminal(&ws, columns, args);
            assert!(!shown.trim().is_empty(), "{args:?} at {columns}");
            for line in shown.lines().filter(|line| line.chars().count() > columns) {
                // A label, and a word such as a path or a digest that is wider than what is left.
                let before = line.trim_end().rsplit_once(' ').map_or(0, |(before, _)| before.chars().count());
                let is_one_word = before <= columns / 2;
                assert!(is_one_word, "{args:?} at {columns}: {line}");
            }
            // Every word of the piped form is on the terminal as it is.
            let shown = words(&shown);
            let missing: Vec<&str> = words(&piped).into_iter().filter(|word| !shown.contains(word)).collect();
            let headings = |word: &&str| word.chars().all(|c| c.is_uppercase());
            let missing: Vec<&str> = missing.into_iter().filter(|word| !headings(word)).collect();
            let changes = args == ["build"] || args == ["expiry"];
            assert!(changes || missing.is_empty(), "{args:?} at {columns}: {missing:?}");
        }
    }
}

/// Names and values of `release info` begin in the same columns, whatever the width.
#[test]
fn a_release_is_shown_in_columns() {
    let ws = Workspace::example().prebuilt();
    for columns in [80, 100, 120, 200] {
        let shown = on_terminal(&ws, columns, &["release", "info"]);
        let components: Vec<&str> =
            shown.lines().skip_while(|line| !line.starts_with("components")).skip(1).collect();
        assert!(components.len() > 20, "{shown}");
        let value = |line: &&str| line.len() - line.rsplit_once("  ").unwrap().1.len();
        let starts: BTreeSet<usize> = components.iter().map(value).collect();
        assert_eq!(starts.len(), 1, "{shown}");
        assert!(components.iter().all(|line| line.len() <= columns), "{columns}: {shown}");
        let is_whole =
            components.iter().all(|line| line.contains("demo.invalid/openshift/components@sha256:"));
        assert_eq!(is_whole, columns == 200, "{shown}");
        assert!(is_whole || shown.contains("`--json` has the pull specs"), "{shown}");
    }
}

/// The verdict of a build is for people; `-q` is for errors.
#[test]
fn a_build_ends_with_a_verdict_on_a_terminal_only() {
    let ws = Workspace::example();
    let shown = on_terminal(&ws, 100, &["build"]);
    for said in [" built", "; generation 1", "next:", "tinderbox report --open", "tinderbox realize plan"] {
        assert!(shown.contains(said), "{said}: {shown}");
    }
    assert!(!shown.contains(" cached of "), "the live view is gone: {shown}");
    ws.edit("cluster.yaml", "192.168.126.110", "192.168.126.120");
    let quiet = on_terminal(&ws, 100, &["-q", "build"]);
    assert_eq!(quiet.lines().count(), 1, "the result alone: {quiet}");
    let planned = on_terminal(&ws, 100, &["build", "--dry-run"]);
    assert!(
        planned.starts_with("nothing to build, ") && planned.contains(" already in the store"),
        "{planned}"
    );
    let again = ws.output(&["build"]);
    assert!(again.stderr.is_empty(), "{}", String::from_utf8_lossy(&again.stderr));
    let verbose = ws.output(&["-v", "build"]);
    let verbose = String::from_utf8(verbose.stderr).unwrap();
    assert!(verbose.contains("cached cluster\n") && verbose.contains("generation 2\n"), "{verbose}");
    let check = on_terminal(&ws, 100, &["check"]);
    let total = check.lines().last().unwrap();
    assert!(total.contains(" checks: ") && total.contains(" passed, "), "{check}");
    assert!(total.ends_with("; `-v` lists them") && !check.contains("apiserver-sans"), "{check}");
    assert!(on_terminal(&ws, 100, &["check", "-v"]).contains("passed  apiserver-sans"));
    // No sshKey, and a warning about it: not with -q.
    assert!(check.contains("warning: install-config.yaml has no sshKey"), "{check}");
    assert_eq!(on_terminal(&ws, 100, &["-q", "check"]), "");
    // An error is one with -q too.
    let refused = on_terminal(&ws, 100, &["-q", "show", "nonsense"]);
    assert!(refused.starts_with("error: "), "{refused}");
}

/// Pages and pictures are for files and pipes: a terminal would show thousands of lines of markup.
#[test]
fn a_terminal_shows_no_pages() {
    let ws = Workspace::example().prebuilt();
    ws.build(&[]);
    for (args, what) in [
        (&["report"][..], "page"),
        (&["guide", "--format", "html"], "page"),
        (&["diff", "result", "cluster", "--format", "html"], "page"),
        (&["drift", "--format", "html"], "page"),
        (&["graph", "--format", "svg"], "picture"),
        (&["graph", "--trust", "--format", "svg"], "picture"),
    ] {
        let shown = on_terminal(&ws, 100, args);
        let error = format!("error: a terminal cannot show a {what}\nhint: `tinderbox {}", args[0]);
        assert!(shown.starts_with(&error) && shown.lines().count() <= 3, "{shown}");
    }
    assert_eq!(ws.output(&["graph", "--format", "svg", "-o", "graph.svg"]).status.code(), Some(0));
    assert!(std::fs::read_to_string(ws.dir.join("graph.svg")).unwrap().contains("<svg"));
}

/// `--explain` takes a flag of a program; an option of ours stays one.
#[test]
fn explain_leaves_our_options_alone() {
    let ws = Workspace::example().prebuilt();
    ws.build(&[]);
    let target = "static-pod/kube-apiserver";
    let whole = ws.json(&["show", target, "--explain"]);
    let last = ws.output(&["show", target, "--explain", "--json"]);
    assert_eq!(serde_json::from_slice::<serde_json::Value>(&last.stdout).unwrap(), whole);
    let flag = ws.json(&["show", target, "--explain", "--etcd-servers"]);
    assert_eq!(flag["matches"][0]["name"], "--etcd-servers");
    assert_eq!(flag, ws.json(&["show", target, "--explain=--etcd-servers"]));
    assert_eq!(flag, ws.json(&["show", "--explain", "etcd-servers", target]));
}

/// A reader that goes away (`2>&1 | head`) stops no build, and is no reason to panic.
#[test]
fn nobody_reads_the_end() {
    let ws = Workspace::example().prebuilt();
    let closed = || std::io::pipe().unwrap().1;
    let run = |args: &[&str]| {
        let mut command = ws.command(args);
        command.stdin(std::process::Stdio::null()).stdout(closed()).stderr(closed());
        command.status().unwrap().code()
    };
    assert_eq!(run(&["build", "-v"]), Some(0));
    assert!(ws.dir.join("result/images.json").exists());
    assert_eq!(run(&["check"]), Some(0));
    assert_eq!(run(&["build", "nonsense", "--json"]), Some(2));
    assert_eq!(run(&["bulid"]), Some(2));
}
