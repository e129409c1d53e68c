//! Documents that must stay true: their sessions are run, their links lead somewhere, and their lists are complete.

mod console;
mod how_to;
mod reference;
mod workflow;

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use super::harness::{Workspace, source};

/// The pages of a folder, in the order of their names.
fn pages(folder: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(source(folder)).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|end| end == "md")).collect();
    paths.sort();
    paths
}

fn with_text(path: PathBuf) -> (PathBuf, String) {
    let text = fs::read_to_string(&path).unwrap();
    (path, text)
}

/// README.md and the pages of docs/ itself.
fn documents() -> Vec<(PathBuf, String)> {
    pages("docs").into_iter().chain([source("README.md")]).map(with_text).collect()
}

/// Each block is a session of its own, in an empty directory with a store of its own.
#[test]
fn sessions_run_as_they_are_shown() {
    let mut blocks = 0;
    for (path, text) in documents() {
        for steps in console::steps(&text, &["console"]) {
            blocks += 1;
            console::run(&path, &Workspace::empty(), &steps, None);
        }
    }
    assert!(blocks >= 2);
}

/// Whether a path such as `store::records::gc_follows_no_link` is a test, or a module. A module `tests` may be a folder, or stand
/// in the file that it tests; `long` always stands in one.
fn is_test(path: &str) -> bool {
    let parts: Vec<&str> = path.split("::").filter(|part| *part != "long").collect();
    let without: Vec<&str> = parts.iter().copied().filter(|part| *part != "tests").collect();
    [parts, without].iter().any(|parts| {
        ["tests/it", "src"].iter().any(|root| (1..=parts.len()).any(|at| holds(root, parts.split_at(at))))
    })
}

/// Whether `module` below `root` has the test `rest`, or is there at all if that is empty.
fn holds(root: &str, (module, rest): (&[&str], &[&str])) -> bool {
    let module = source(root).join(module.join("/"));
    let text = [module.with_extension("rs"), module.join("mod.rs"), module.join("tests.rs")]
        .iter()
        .filter_map(|file| fs::read_to_string(file).ok())
        .collect::<String>();
    match rest {
        [] => !text.is_empty(),
        [name] => {
            text.contains(&format!("#[test]\n    fn {name}()"))
                || text.contains(&format!("#[test]\nfn {name}()"))
        }
        _ => false,
    }
}

/// docs/security.md says which test guards what, and every hole that was found has one.
#[test]
fn the_tests_that_security_names_exist() {
    assert!(is_test("store::records::gc_follows_no_link") && !is_test("store::records::gc_follows_a_link"));
    let text = fs::read_to_string(source("docs/security.md")).unwrap();
    let rows: Vec<&str> = text
        .split("\n## ")
        .find_map(|chapter| chapter.strip_prefix("Holes that were found\n"))
        .unwrap()
        .lines()
        .filter(|line| line.starts_with("| "))
        .collect();
    let numbers: Vec<&str> = rows[1..].iter().map(|row| row[2..].split(' ').next().unwrap()).collect();
    assert_eq!(numbers, (1..=26).map(|number| number.to_string()).collect::<Vec<_>>());
    let named = |text: &str| -> Vec<String> {
        let quoted = text.split('`').skip(1).step_by(2);
        let is_path = |word: &&str| {
            word.contains("::") && word.chars().all(|c| c.is_ascii_alphanumeric() || "_:".contains(c))
        };
        quoted.filter(is_path).map(str::to_owned).collect()
    };
    for row in &rows[1..] {
        assert!(!named(row).is_empty(), "{row}");
    }
    for name in named(&text) {
        assert!(is_test(&name), "{name}");
    }
}

/// docs/contributing.md says what each table of recipes/knowledge is about.
#[test]
fn tables_are_complete() {
    let text = fs::read_to_string(source("docs/contributing.md")).unwrap();
    for entry in fs::read_dir(source("recipes/knowledge")).unwrap() {
        let path = entry.unwrap().path();
        let table = format!("`{}`", path.file_stem().unwrap().to_str().unwrap());
        let is_table = path.extension().is_some_and(|end| end == "toml");
        assert!(!is_table || text.contains(&table), "{table} is not in docs/contributing.md");
    }
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
    let below = ["docs/how-to", "docs/reference"].into_iter().flat_map(pages).map(with_text);
    for (path, text) in documents().into_iter().chain(below) {
        for link in text.split("](").skip(1).map(|rest| rest.split(')').next().unwrap()) {
            let target = link.split('#').next().unwrap();
            let there = target.contains("://") || path.parent().unwrap().join(target).exists();
            assert!(there, "{}: {link}", path.display());
        }
    }
}

/// One section per version, the newest first, below what is not released; the newest is the package's.
#[test]
fn the_changelog_has_this_version() {
    let changelog = fs::read_to_string(source("CHANGELOG.md")).unwrap();
    let sections: Vec<&str> = changelog.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    assert_eq!(sections[0], "Unreleased");
    let versions: Vec<&str> =
        sections[1..].iter().filter_map(|one| one.split_once(" (20").map(|(v, _)| v)).collect();
    assert_eq!(versions.len(), sections.len() - 1, "a version has a date: {sections:?}");
    assert_eq!(versions[0], env!("CARGO_PKG_VERSION"));
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

/// Prose in help texts is broken by the terminal's width alone: a line that ends early, in the middle of a sentence, has a
/// break of the source in it.
#[test]
fn help_is_wrapped_by_the_terminal_alone() {
    let mut verbs: Vec<Vec<String>> = vec![Vec::new()];
    let mut seen = 0;
    while let Some(verb) = verbs.pop() {
        let output =
            Command::new(env!("CARGO_BIN_EXE_tinderbox")).args(&verb).arg("--help").output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        for pair in lines.windows(2) {
            let [line, next] = [pair[0], pair[1]];
            let is_prose = |line: &str| !line.is_empty() && !line.starts_with(' ') && !line.ends_with(':');
            let word = next.split(' ').next().unwrap_or_default();
            let had_room = line.chars().count() + 1 + word.chars().count() <= 100;
            let is_broken = is_prose(line) && is_prose(next) && had_room && !line.ends_with('.');
            assert!(!is_broken, "{verb:?}: {line}\n{next}");
        }
        seen += 1;
        let list = text.split_once("Commands:\n").map_or("", |(_, rest)| rest.split_once("\n\n").unwrap().0);
        let below = list.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
        let below = below.filter(|name| !name.is_empty() && *name != "help");
        verbs.extend(below.map(|name| [verb.as_slice(), &[name.to_owned()]].concat()));
    }
    assert!(seen > 40, "{seen}");
}

/// The graph in recipes/README.md is the one that `tinderbox graph` prints for the example, and its table has every stage.
#[test]
fn the_recipes_graph_is_true() {
    let graph =
        String::from_utf8(Workspace::example().output(&["graph", "--format", "stages"]).stdout).unwrap();
    let readme = include_str!("../../../recipes/README.md");
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
