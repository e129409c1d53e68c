//! Rooms: nothing in `src/` points upwards, and the engine has never heard of OpenShift. Cargo cannot check that inside of
//! a package, so this does.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use super::harness::source;

/// Every room, and those that it may use. lib.rs has the same list, in the same order.
const ROOMS: [(&str, &[&str]); 6] = [
    ("base", &[]),
    ("engine", &["base"]),
    ("openshift", &["base", "engine"]),
    ("compare", &["base", "engine", "openshift"]),
    ("realize", &["base", "openshift"]),
    ("cli", &["base", "engine", "openshift", "compare", "realize"]),
];

/// Modules without disk, clock or threads: text and values in, values out.
const PURE: [&str; 12] = [
    "base/pki/",
    "base/yaml/",
    "compare/delta/",
    "engine/drv/",
    "engine/fields/",
    "engine/recipe/",
    "openshift/config/",
    "openshift/ignition/",
    "openshift/iso/",
    "openshift/knowledge/",
    "openshift/patch/",
    "openshift/trust/",
];

/// What a pure module does not name.
const IMPURE: [&str; 4] = ["std::fs", "base::fs", "std::thread", "now_utc"];

/// What the engine does not know: a word of its own code, comments included. Test modules may.
const FOREIGN: [&str; 14] = [
    "openshift",
    "kube",
    "etcd",
    "ignition",
    "install-config",
    "cluster.yaml",
    "machineconfig",
    "machine-config",
    "clusterversion",
    "bootstrap",
    "master",
    "kubelet",
    "operator",
    "rhcos",
];

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

fn all_sources() -> Vec<(String, String)> {
    let mut files = Vec::new();
    sources(&source("src"), &mut files);
    assert!(files.len() > 50);
    files
}

/// The room of a file; none for `lib.rs`, `main.rs` and `internals`, which know all.
fn room(file: &str) -> Option<&str> {
    Some(file.split_once('/')?.0).filter(|room| *room != "internals")
}

/// Without the module of tests at its end.
fn without_tests(text: &str) -> &str {
    text.split("#[cfg(test)]\nmod tests {").next().unwrap()
}

/// Rooms that a text names as `crate::<room>`, also in braces. Comments do not count.
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
            if ROOMS.iter().any(|(room, _)| *room == name) {
                found.insert(name.to_owned());
            }
        }
    }
    found
}

/// What OpenShift calls an object that is handed over, or a component that has another name here, stands in a table and in no code.
/// Tests and comments may say it.
#[test]
fn names_of_the_tables_stand_in_no_code() {
    let table = |file: &str| -> toml::Table {
        fs::read_to_string(source("recipes/knowledge").join(file)).unwrap().parse().unwrap()
    };
    let (objects, components) = (table("hand-over.toml"), table("components.toml"));
    let components = components["component"].as_array().unwrap().iter();
    let renamed = components.filter(|row| row["key"] != row["name"]).map(|row| row["name"].as_str().unwrap());
    let names = objects["object"].as_array().unwrap().iter().flat_map(|row| {
        let name = row["name"].as_str().unwrap();
        let leaf = row.get("signer").and_then(|_| name.split('/').next_back());
        [Some(name), leaf]
    });
    let names: Vec<&str> = names.flatten().chain(renamed).collect();
    assert!(names.len() > 30 && names.contains(&"rhel-coreos"));
    let mut wrong = Vec::new();
    for (file, text) in all_sources().iter().filter(|(file, _)| !file.contains("tests")) {
        for line in without_tests(text).lines().map(str::trim).filter(|line| !line.starts_with("//")) {
            wrong.extend(
                names.iter().filter(|name| line.contains(**name)).map(|name| format!("{file}: {name}")),
            );
        }
    }
    assert_eq!(wrong, [""; 0], "read it from recipes/knowledge/");
}

#[test]
fn nothing_points_upwards() {
    let may: BTreeMap<&str, &[&str]> = ROOMS.into_iter().collect();
    let mut wrong = Vec::new();
    for (file, text) in &all_sources() {
        let Some(own) = room(file) else { continue };
        let Some(may) = may.get(own) else {
            wrong.push(format!("src/{file}: `{own}` is not in the table of rooms"));
            continue;
        };
        for used in uses(text).iter().filter(|used| *used != own && !may.contains(&used.as_str())) {
            wrong.push(format!("src/{file}: `{own}` uses `{used}`"));
        }
        if PURE.iter().any(|pure| file.starts_with(pure)) && !file.contains("/tests/") {
            let code = without_tests(text);
            let bad = IMPURE.iter().filter(|bad| code.contains(**bad));
            wrong.extend(bad.map(|bad| format!("src/{file}: it is pure, and names `{bad}`")));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn the_engine_has_never_heard_of_openshift() {
    let files = all_sources();
    let engine = files.iter().filter(|(file, _)| file.starts_with("engine/") && !file.contains("tests"));
    let mut wrong = Vec::new();
    for (file, text) in engine {
        let text = without_tests(text).to_lowercase();
        for (number, line) in text.lines().enumerate() {
            let bad = FOREIGN.iter().filter(|word| line.contains(**word));
            wrong.extend(bad.map(|word| format!("src/{file}:{}: `{word}`", number + 1)));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// The environment of the process, its arguments and its own path; constants of the target and functions of texts are none.
#[test]
fn only_the_command_line_reads_the_environment() {
    let known = ["consts::", "split_paths("];
    let mut wrong = Vec::new();
    for (file, text) in
        all_sources().iter().filter(|(file, _)| !file.starts_with("cli/") && !file.contains("tests"))
    {
        let code = without_tests(text).lines().map(|line| line.split("//").next().unwrap());
        for (number, line) in code.enumerate() {
            let read =
                line.split("env::").skip(1).any(|rest| !known.iter().any(|known| rest.starts_with(known)));
            if read || line.contains("use std::env") {
                wrong.push(format!("src/{file}:{}: {}", number + 1, line.trim()));
            }
        }
    }
    assert!(wrong.is_empty(), "pass it in through `Env`:\n{}", wrong.join("\n"));
}

/// What creates machines stays behind one module: `realize` knows it as `provider`, and only `realize/mod.rs` says which one
/// that is.
#[test]
fn only_its_own_module_knows_libvirt() {
    let (inside, facade) = ("realize/libvirt/", "realize/mod.rs");
    let files = all_sources();
    let outside = files.iter().filter(|(file, _)| file.starts_with("realize/") && !file.starts_with(inside));
    let mut wrong = Vec::new();
    for (file, text) in outside {
        for (number, line) in text.lines().enumerate() {
            let code = line.split("//").next().unwrap();
            let is_import = file == facade && (code == "mod libvirt;" || code.contains("use libvirt"));
            if ["virsh", "Virsh", "libvirt"].iter().any(|word| code.contains(word)) && !is_import {
                wrong.push(format!("src/{file}:{}: {}", number + 1, line.trim()));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// The map in lib.rs, the modules that it declares and the table above are one list.
#[test]
fn the_map_is_true() {
    let lib = fs::read_to_string(source("src/lib.rs")).unwrap();
    let declared: BTreeSet<&str> = lib
        .lines()
        .filter_map(|line| line.strip_prefix("pub mod ").or(line.strip_prefix("mod "))?.strip_suffix(';'))
        .collect();
    assert_eq!(declared, ROOMS.iter().map(|(room, _)| *room).collect());
    for (room, uses) in ROOMS {
        let row = lib.lines().find(|line| line.starts_with(&format!("//! {room}/ "))).unwrap_or(room);
        let named = row.rsplit_once('→').map_or("", |(_, uses)| uses.trim());
        assert_eq!(named, uses.join(" "), "{row}");
    }
}

#[test]
fn uses_are_found() {
    let text = "use crate::engine::{A, B};\n// crate::cli\nuse crate::{base, engine::{Kind, Entry}, compare};\nlet x = crate::realize::now();";
    let found = uses(text);
    assert_eq!(
        found.iter().map(String::as_str).collect::<Vec<_>>(),
        ["base", "compare", "engine", "realize"]
    );
}
