//! Documents that must stay true: their sessions are run, their links lead somewhere, and their lists are complete.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::harness::{Workspace, source};

/// README.md and everything in docs/, by path below the repository.
fn documents() -> Vec<(PathBuf, String)> {
    let docs = fs::read_dir(source("docs")).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<PathBuf> = docs.chain([source("README.md")]).collect();
    paths.sort();
    paths.into_iter().map(|path| (path.clone(), fs::read_to_string(path).unwrap())).collect()
}

/// Commands of a `console` block, each with the lines it is said to print.
fn session(block: &str) -> Vec<(&str, Vec<&str>)> {
    let mut commands: Vec<(&str, Vec<&str>)> = Vec::new();
    for line in block.lines() {
        match line.strip_prefix("$ ") {
            Some(command) => commands.push((command, Vec::new())),
            None => commands.last_mut().expect("a command comes first").1.push(line),
        }
    }
    commands
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

/// Runs the commands in one shell, in an empty directory with a store of its own; what each printed to stdout.
fn run(commands: &[(&str, Vec<&str>)]) -> Vec<String> {
    const MARK: &str = "\u{1}";
    let ws = Workspace::empty();
    let bin = ws.temp().join("bin");
    fs::create_dir(&bin).unwrap();
    symlink(env!("CARGO_BIN_EXE_tinderbox"), bin.join("tinderbox")).unwrap();
    let script: String =
        commands.iter().map(|(command, _)| format!("{command}\nprintf '{MARK}'\n")).collect();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let mut shell = ws.command_of(Path::new("bash"), &["-euc", &script]);
    let output = shell.env("PATH", path).output().unwrap();
    assert!(output.status.success(), "{}", ws.text(&output));
    let text = String::from_utf8(output.stdout).unwrap();
    text.split_terminator(MARK).map(str::to_owned).collect()
}

#[test]
fn sessions_run_as_they_are_shown() {
    let mut blocks = 0;
    for (path, text) in documents() {
        for block in text.split("```console\n").skip(1) {
            blocks += 1;
            let commands = session(block.split_once("```").unwrap().0);
            let printed = run(&commands);
            assert_eq!(printed.len(), commands.len());
            for ((command, expected), found) in commands.iter().zip(&printed) {
                let lines: Vec<&str> = found.lines().collect();
                assert!(
                    matches(expected, &lines),
                    "{}: `{command}` is said to print\n{}\nand prints\n{found}",
                    path.display(),
                    expected.join("\n")
                );
            }
        }
    }
    assert!(blocks >= 2);
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

/// README's two commands are those that CI and the tests run.
#[test]
fn the_two_commands() {
    let readme = fs::read_to_string(source("README.md")).unwrap();
    let block = readme.split_once("```sh\n").unwrap().1.split_once("```").unwrap().0;
    let commands: Vec<&str> = block.lines().map(|line| line.split(" #").next().unwrap().trim()).collect();
    assert_eq!(commands, ["cargo run --release -- -C examples/ocp4 build", ".ci/test"]);
    assert!(fs::read_to_string(source(".ci/run")).unwrap().contains(" .ci/test\n"));
    let ws = Workspace::example();
    let output = ws.output(&["-C", &ws.dir.display().to_string(), "build"]);
    assert!(output.status.success(), "{}", ws.text(&output));
    assert!(readme.lines().count() <= 150);
}

#[test]
fn links_lead_somewhere() {
    for (path, text) in documents() {
        for link in text.split("](").skip(1).map(|rest| rest.split(')').next().unwrap()) {
            let target = link.split('#').next().unwrap();
            let there = target.contains("://") || path.parent().unwrap().join(target).exists();
            assert!(there, "{}: {link}", path.display());
        }
    }
}

/// docs/verbs.md has every verb that `--help` has.
#[test]
fn verbs_are_complete() {
    let help = |args: &[&str]| -> BTreeSet<String> {
        let output = Command::new(env!("CARGO_BIN_EXE_tinderbox")).args(args).arg("--help").output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let list = text.split_once("Commands:\n").map_or("", |(_, rest)| rest.split_once("\n\n").unwrap().0);
        let indented = |line: &str| line.strip_prefix("  ").is_some_and(|rest| !rest.starts_with(' '));
        let names =
            list.lines().filter(|line| indented(line)).filter_map(|line| line.split_whitespace().next());
        names.filter(|name| *name != "help").map(str::to_owned).collect()
    };
    let verbs = fs::read_to_string(source("docs/verbs.md")).unwrap();
    let words: BTreeSet<&str> = verbs.split(|c: char| !(c.is_alphanumeric() || c == '-')).collect();
    for verb in help(&[]) {
        assert!(words.contains(verb.as_str()), "{verb}");
        for below in help(&[&verb]) {
            assert!(words.contains(below.as_str()), "{verb} {below}");
        }
    }
}

/// The graph in recipes/README.md is the one that `tinderbox graph` prints for the example, and its table has every stage.
#[test]
fn the_recipes_graph_is_true() {
    let graph =
        String::from_utf8(Workspace::example().output(&["graph", "--format", "stages"]).stdout).unwrap();
    let readme = include_str!("../../recipes/README.md");
    let drawn = readme.split_once("```mermaid\n").unwrap().1.split_once("```").unwrap().0;
    assert_eq!(drawn, graph, "write it again with `tinderbox -C examples/ocp4 graph --format stages`");
    for entry in fs::read_dir(source("recipes")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let stage = name.trim_end_matches(".toml");
        let told = [format!("`{stage}`"), format!("`{stage}/`")].iter().any(|name| readme.contains(name));
        assert!(stage == "README.md" || told, "{stage}");
    }
}

/// Every recipe begins with one sentence that says what the artifact is and why it must exist.
#[test]
fn every_recipe_says_why() {
    let graph = Workspace::example().json(&["graph", "--format", "json"]);
    for derivation in graph["derivations"].as_array().unwrap() {
        let summary = derivation["summary"].as_str().unwrap();
        assert!(summary.len() > 30 && summary.ends_with('.'), "{}: {summary:?}", derivation["name"]);
    }
}
