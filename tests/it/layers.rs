//! Nothing in `src/` points upwards. Cargo cannot check layers inside a package, so this does.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use super::harness::source;

/// Module, layer, and what it may use beside the layers 0 and 1 (layer 1 beside layer 0: what is named here).
const TABLE: [(&str, u32, &[&str]); 33] = [
    ("cli", 6, &["ops", "realize", "report", "store"]),
    ("ops", 5, &["api", "exec", "diff", "realize", "report", "builders", "registry", "sandbox", "store"]),
    ("exec", 4, &["builders", "registry", "sandbox", "store"]),
    ("report", 4, &["diff"]),
    ("diff", 4, &["store"]),
    ("realize", 4, &["api"]),
    ("builders", 3, &["registry", "sandbox"]),
    ("api", 2, &[]),
    ("store", 2, &[]),
    ("registry", 2, &[]),
    ("sandbox", 2, &[]),
    ("recipe", 1, &["config", "lock", "drv"]),
    ("config", 1, &["pki"]),
    ("iso", 1, &[]),
    ("ignition", 1, &[]),
    ("lock", 1, &[]),
    ("patch", 1, &[]),
    ("delta", 1, &["ignition", "pki"]),
    ("drv", 1, &[]),
    ("pki", 1, &[]),
    ("trust", 1, &["pki"]),
    ("digest", 0, &[]),
    ("event", 0, &[]),
    ("fs", 0, &[]),
    ("hint", 0, &[]),
    ("needle", 0, &["secret"]),
    ("pod", 0, &[]),
    ("process", 0, &["hint"]),
    ("schema", 0, &[]),
    ("secret", 0, &[]),
    ("tree", 0, &["fs"]),
    ("value", 0, &[]),
    ("yaml", 0, &[]),
];

/// Layer 1 and these are pure: no disk, no clock, no threads.
const PURE: [&str; 3] = ["std::fs", "crate::fs", "std::thread"];

fn sources(root: &Path, found: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(root).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let name = path.strip_prefix(source("src")).unwrap().display().to_string();
            found.push((name, fs::read_to_string(&path).unwrap()));
        }
    }
}

/// The module that a file belongs to; none for `lib.rs` and `main.rs`, which know all.
fn module(file: &str) -> Option<&str> {
    let first = file.split('/').next().unwrap().trim_end_matches(".rs");
    (!["lib", "main"].contains(&first)).then_some(first)
}

/// Modules that a text names as `crate::<module>`, also in braces. Comments do not count.
fn uses(text: &str) -> BTreeSet<String> {
    let code: String = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .map(|line| format!("{line}\n"))
        .collect();
    let mut found = BTreeSet::new();
    for rest in code.split("crate::").skip(1) {
        let names = match rest.strip_prefix('{') {
            Some(group) => {
                let mut depth = 0;
                group
                    .split(|c: char| {
                        depth += i32::from(c == '{') - i32::from(c == '}');
                        c == ',' && depth == 0 || depth < 0
                    })
                    .collect()
            }
            None => vec![rest],
        };
        for name in names {
            let end = |c: char| !(c.is_ascii_lowercase() || c == '_');
            let name = name.trim_start().split(end).next().unwrap();
            if TABLE.iter().any(|(module, ..)| *module == name) {
                found.insert(name.to_owned());
            }
        }
    }
    found
}

#[test]
fn nothing_points_upwards() {
    let mut files = Vec::new();
    sources(&source("src"), &mut files);
    assert!(files.len() > 50);
    let layer: BTreeMap<&str, u32> = TABLE.iter().map(|(module, layer, _)| (*module, *layer)).collect();
    let mut wrong = Vec::new();
    for (file, text) in &files {
        let Some(own) = module(file) else { continue };
        let Some((_, at, may)) = TABLE.iter().find(|(module, ..)| *module == own) else {
            wrong.push(format!("src/{file}: `{own}` is not in the table of layers"));
            continue;
        };
        for used in uses(text).iter().filter(|used| *used != own) {
            let below = layer[used.as_str()];
            let allowed = may.contains(&used.as_str()) || below == 0 || (below == 1 && *at > 1);
            if !allowed {
                wrong.push(format!("src/{file}: `{own}` (layer {at}) uses `{used}` (layer {below})"));
            }
        }
        if *at == 1 {
            let code = text.split("#[cfg(test)]").next().unwrap();
            wrong.extend(
                PURE.iter()
                    .filter(|bad| code.contains(**bad))
                    .map(|bad| format!("src/{file}: `{own}` is pure, and names `{bad}`")),
            );
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// Every module of the library is in the table.
#[test]
fn the_table_is_complete() {
    let lib = fs::read_to_string(source("src/lib.rs")).unwrap();
    let declared = lib
        .lines()
        .filter_map(|line| line.trim().strip_prefix("pub mod ").or(line.trim().strip_prefix("mod ")));
    let declared: BTreeSet<&str> = declared.map(|name| name.trim_end_matches(';')).collect();
    assert_eq!(declared, TABLE.iter().map(|(module, ..)| *module).collect());
}

/// The test itself sees what it looks for.
#[test]
fn uses_are_found() {
    let text = "use crate::store::{A, B};\n// crate::cli\nuse crate::{fs, tree::{Kind, Entry}, ops};\nlet x = crate::exec::now();";
    let found: Vec<String> = uses(text).into_iter().collect();
    assert_eq!(found, ["exec", "fs", "ops", "store", "tree"]);
}
