//! `console` blocks of documents: their commands, what they are said to print, and a shell that runs them.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use crate::harness::Workspace;

/// A command, and the lines that it is said to print.
#[derive(Debug, PartialEq)]
pub(super) struct Step {
    command: String,
    expected: Vec<String>,
}

/// The commands of all blocks of this kind in a document. `> ` continues a command, as a shell's second prompt does.
pub(super) fn steps(document: &str, kinds: &[&str]) -> Vec<Vec<Step>> {
    let blocks = document.split("\n```").skip(1).step_by(2);
    let of_kind = blocks.filter_map(|block| block.split_once('\n')).filter(|(info, _)| kinds.contains(info));
    of_kind.map(|(_, text)| parse(text)).collect()
}

fn parse(block: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for line in block.lines() {
        if let Some(command) = line.strip_prefix("$ ") {
            steps.push(Step { command: command.to_owned(), expected: Vec::new() });
            continue;
        }
        let step = steps.last_mut().expect("a command comes first");
        match line.strip_prefix("> ").or((line == ">").then_some("")) {
            Some(more) if step.expected.is_empty() => step.command.extend(["\n", more]),
            _ => step.expected.push(line.to_owned()),
        }
    }
    steps
}

/// Whether lines are as expected: `…` alone stands for any number of lines, inside of one for any text.
fn matches(expected: &[&str], found: &[&str]) -> bool {
    match (expected, found) {
        ([], []) => true,
        (["…", rest @ ..], found) => (0..=found.len()).any(|skip| matches(rest, &found[skip..])),
        ([one, rest @ ..], [line, others @ ..]) => line_matches(one, line) && matches(rest, others),
        _ => false,
    }
}

fn line_matches(expected: &str, line: &str) -> bool {
    let Some((start, rest)) = expected.split_once('…') else { return expected == line };
    let Some(mut line) = line.strip_prefix(start) else { return false };
    let mut pieces: Vec<&str> = rest.split('…').collect();
    let end = pieces.pop().unwrap_or_default();
    for piece in pieces {
        let Some(at) = line.find(piece) else { return false };
        line = &line[at + piece.len()..];
    }
    line.ends_with(end)
}

/// A PATH that begins with a directory of the workspace that has the program under test.
pub(super) fn path_with_program(ws: &Workspace) -> String {
    let bin = ws.temp().join("bin");
    if !bin.exists() {
        fs::create_dir(&bin).unwrap();
        symlink(env!("CARGO_BIN_EXE_tinderbox"), bin.join("tinderbox")).unwrap();
    }
    format!("{}:{}", bin.display(), std::env::var("PATH").unwrap())
}

/// Runs the commands in one shell, in the workspace's cluster directory, and compares what each prints to stdout. `page`
/// is for messages. `inside` is the start of a command line that enters a place where the shell runs.
pub(super) fn run(page: &Path, ws: &Workspace, steps: &[Step], inside: Option<&Command>) {
    const MARK: &str = "\u{1}";
    let script: String = steps.iter().map(|step| format!("{}\nprintf '{MARK}'\n", step.command)).collect();
    let shell = ["-euc", &script];
    let mut command = match inside {
        None => ws.command_of(Path::new("bash"), &shell),
        Some(enter) => {
            let mut command = ws.command_of(Path::new(enter.get_program()), &[]);
            command.args(enter.get_args()).args(["bash", "-euc", "cd \"$0\"; eval \"$1\""]);
            command.arg(&ws.dir).arg(&script);
            command
        }
    };
    let output = command.env("PATH", path_with_program(ws)).output().unwrap();
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    let printed: Vec<&str> = text.split_terminator(MARK).collect();
    let ended_in = steps.get(printed.len().saturating_sub(usize::from(!text.ends_with(MARK))));
    assert!(output.status.success(), "{}: {ended_in:?}\n{}", page.display(), ws.text(&output));
    assert_eq!(printed.len(), steps.len());
    for (Step { command, expected }, found) in steps.iter().zip(printed) {
        let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
        let lines: Vec<&str> = found.lines().collect();
        assert!(
            matches(&expected, &lines),
            "{}: `{command}` is said to print\n{}\nand prints\n{found}",
            page.display(),
            expected.join("\n")
        );
    }
}

#[test]
fn wildcards() {
    assert!(matches(&["a", "…", "b"], &["a", "x", "y", "b"]));
    assert!(matches(&["…"], &[]));
    assert!(!matches(&["a", "b"], &["a", "x", "b"]));
    assert!(line_matches("…-cluster", "/store/abc-cluster"));
    assert!(line_matches("generation 1: …-cluster", "generation 1: /store/abc-cluster"));
    assert!(!line_matches("generation 1: …-cluster", "generation 2: /store/abc-cluster"));
    assert!(!line_matches("abc", "abcd"));
}

#[test]
fn blocks() {
    let step = |command: &str, expected: &[&str]| Step {
        command: command.to_owned(),
        expected: expected.iter().map(|line| (*line).to_owned()).collect(),
    };
    let text = "# A\n\n```yaml\na: 1\n```\n\n```console\n$ cat <<E\n> x\n> E\nx\n$ true\n```\n\n```console libvirt\n$ false\n```\n";
    assert_eq!(steps(text, &["console"]), [vec![step("cat <<E\nx\nE", &["x"]), step("true", &[])]]);
    assert_eq!(steps(text, &["console", "console libvirt"]).len(), 2);
}
