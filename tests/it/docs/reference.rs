//! docs/reference: pages that are written from code. Each test compares a page with what the code says now;
//! `UPDATE_REFERENCE=1 cargo test --test it docs::reference` writes them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use serde_json::Value;

use crate::harness::{Workspace, source};

/// What the program says about itself.
static REFERENCE: LazyLock<Value> = LazyLock::new(|| asked(&["dist", "reference"]));

fn asked(args: &[&str]) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_tinderbox")).args(args).output().unwrap();
    assert!(output.status.success(), "{args:?}: {output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// A text as a cell of a table.
fn cell(text: &str) -> String {
    let one_line = text.trim().replace('|', "\\|").replace("\n\n", ". ").replace('\n', " ");
    let parts = one_line.split('`').enumerate();
    // Markdown shows `<` in code as it is.
    let parts = parts.map(|(at, part)| if at % 2 == 0 { part.replace('<', "&lt;") } else { part.to_owned() });
    parts.collect::<Vec<_>>().join("`")
}

/// A path or word, as code; in a table a bar would end the cell.
fn code(text: &str) -> String {
    format!("`{}`", text.replace('|', "\\|"))
}

/// Compares a page with its file, or writes it.
fn assert_current(page: &str, about: &str, body: &str) {
    let path = source("docs/reference").join(page);
    let expected = format!(
        "<!-- Written by a test from the code (tests/it/docs/reference.rs); edits are lost. -->\n\n# {about}\n\n{}\n",
        body.trim_end()
    );
    if std::env::var_os("UPDATE_REFERENCE").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, &expected).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    let first = found.lines().zip(expected.lines()).find(|(one, other)| one != other);
    assert!(
        found == expected,
        "docs/reference/{page} is not what the code says; `UPDATE_REFERENCE=1 cargo test --test it docs::reference` writes it again: {first:?}"
    );
}

#[test]
fn verbs() {
    let mut page = String::from("Every verb takes these options:\n\n");
    arguments(&mut page, list(&REFERENCE["global"]));
    for verb in list(&REFERENCE["verbs"]) {
        writeln!(page, "\n## {}\n\n{}\n", text(verb, "name"), prose(text(verb, "about"))).unwrap();
        writeln!(page, "    {}\n", text(verb, "usage").replace('\n', "\n    ")).unwrap();
        arguments(&mut page, list(&verb["arguments"]));
        let examples = text(verb, "examples");
        if !examples.is_empty() {
            writeln!(page, "\n```text\n{}\n```", examples.trim()).unwrap();
        }
    }
    assert_current("verbs.md", "Verbs", &page);
}

/// Help texts are sentences without a final period.
fn prose(text: &str) -> String {
    let text = text.trim();
    if text.ends_with(['.', '!', ':']) { cell(text) } else { cell(text) + "." }
}

fn arguments(page: &mut String, arguments: &[Value]) {
    if arguments.is_empty() {
        return;
    }
    page.push_str("| argument | what it does |\n|---|---|\n");
    for argument in arguments {
        let mut help = cell(text(argument, "help"));
        let values = list(&argument["values"]);
        if !values.is_empty() {
            let word = |value: &Value| match value[1].as_str().unwrap_or_default() {
                "" => code(value[0].as_str().unwrap()),
                meaning => format!("{} ({})", code(value[0].as_str().unwrap()), cell(meaning)),
            };
            write!(help, ": {}", values.iter().map(word).collect::<Vec<_>>().join(", ")).unwrap();
        }
        let defaults: Vec<&str> = list(&argument["default"]).iter().filter_map(Value::as_str).collect();
        if !defaults.is_empty() {
            write!(help, "; default: {}", code(&defaults.join(" "))).unwrap();
        }
        writeln!(page, "| {} | {help} |", code(text(argument, "name"))).unwrap();
    }
}

#[test]
fn cluster_yaml() {
    let mut page = String::from(
        "What `install-config.yaml` has no place for. `tinderbox schema` prints the same as a JSON schema, for editors; `tinderbox init` \
         writes a commented example. `[]` is an element of a list.\n\n| field | what to write | default | what it is |\n|---|---|---|---|\n",
    );
    for field in list(&REFERENCE["cluster"]) {
        writeln!(
            page,
            "| {} | {} | {} | {} |",
            code(text(field, "path")),
            cell(text(field, "kind")),
            fallback(field),
            cell(text(field, "description"))
        )
        .unwrap();
    }
    assert_current("cluster-yaml.md", "cluster.yaml", &page);
}

fn fallback(field: &Value) -> String {
    match (field["required"] == true, field["default"].as_str()) {
        (true, _) => "**required**".to_owned(),
        (false, Some(default)) => cell(default),
        (false, None) => String::new(),
    }
}

#[test]
fn install_config() {
    let mut page = String::from(
        "The standard file of OpenShift. tinderbox knows every field of the installers of 4.18 to 4.22: it uses a field, or refuses the file with \
         the reason below. Nothing is ignored. `[]` is an element of a list.\n\n| field | support | what to write | default | what it is |\n|---|---|---|---|---|\n",
    );
    let fields = list(&REFERENCE["install_config"]);
    let supported = fields.iter().filter(|field| field["refused"].is_null());
    for field in supported {
        let words: Vec<String> =
            list(&field["refused_words"]).iter().map(|word| code(word.as_str().unwrap())).collect();
        let support = if words.is_empty() { "yes".to_owned() } else { format!("not {}", words.join(", ")) };
        let secret = if field["secret"] == true { " Secret." } else { "" };
        writeln!(
            page,
            "| {} | {support} | {} | {} | {}{secret} |",
            code(text(field, "path")),
            cell(text(field, "kind")),
            fallback(field),
            cell(text(field, "description"))
        )
        .unwrap();
    }
    page.push_str("\n## Refused\n\n| field | why, and what to do |\n|---|---|\n");
    for field in fields.iter().filter(|field| !field["refused"].is_null()) {
        writeln!(page, "| {} | {} |", code(text(field, "path")), cell(text(field, "refused"))).unwrap();
    }
    assert_current("install-config.md", "install-config.yaml", &page);
}

#[test]
fn checks() {
    let mut page = String::from(
        "Every build runs them, and none costs a boot to find out. `checks: {disabled: [NAME]}` in cluster.yaml turns one off, with a warning. \
         `tinderbox check --list` prints this list.\n\n| check | what must hold | what happens at boot otherwise |\n|---|---|---|\n",
    );
    let checks = Workspace::example().json(&["check", "--list"]);
    for check in list(&checks) {
        writeln!(
            page,
            "| {} | {} | {} |",
            code(text(check, "name")),
            cell(text(check, "rule")),
            cell(text(check, "breaks"))
        )
        .unwrap();
    }
    assert!(page.lines().count() > 50);
    assert_current("checks.md", "Checks", &page);
}

/// Files below a folder of the repository whose name ends so, sorted.
fn files(folder: &str, end: &str) -> Vec<PathBuf> {
    fn walk(dir: &Path, end: &str, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, end, found);
            } else if path.to_str().is_some_and(|path| path.ends_with(end)) {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    walk(&source(folder), end, &mut found);
    found.sort();
    found
}

#[test]
fn recipes() {
    let mut page = String::from(
        "In build order: a recipe's inputs come from its own stage or an earlier one. A file of the same path in the `recipes/` of a cluster \
         directory replaces one. [The graph](../../recipes/README.md) shows how stages depend on each other.\n",
    );
    let mut stage = String::new();
    for path in files("recipes", ".toml") {
        let relative = path.strip_prefix(source("recipes")).unwrap().to_str().unwrap().to_owned();
        if relative.starts_with("knowledge/") {
            continue;
        }
        let recipe = fs::read_to_string(&path).unwrap();
        let summary: Vec<&str> =
            recipe.lines().map_while(|line| line.strip_prefix('#')).map(str::trim).collect();
        let table: toml::Table = recipe.parse().unwrap();
        let Some(builder) = table.get("builder").and_then(toml::Value::as_str) else { continue };
        let current = relative.split('/').next().unwrap().trim_end_matches(".toml").to_owned();
        if current != stage {
            writeln!(page, "\n## {current}\n\n| recipe | builder | what it makes, and why |\n|---|---|---|")
                .unwrap();
            stage = current;
        }
        let name = relative.rsplit('/').next().unwrap().trim_end_matches(".toml");
        writeln!(
            page,
            "| [`{name}`](../../recipes/{relative}) | [`{builder}`](builders.md#{builder}) | {} |",
            cell(&first_paragraph(&summary))
        )
        .unwrap();
    }
    assert_current("recipes.md", "Recipes", &page);
}

fn first_paragraph(lines: &[&str]) -> String {
    lines.iter().take_while(|line| !line.is_empty()).copied().collect::<Vec<_>>().join(" ")
}

/// The documentation of every builder is the head of the file that defines it.
#[test]
fn builders() {
    let mut documented: BTreeMap<String, String> = BTreeMap::new();
    for path in files("src", ".rs").into_iter().filter(|path| path.to_str().unwrap().contains("/builders/")) {
        let code = fs::read_to_string(&path).unwrap();
        for (_, rest) in
            code.match_indices("BuilderId::new(\"").map(|(at, found)| code.split_at(at + found.len()))
        {
            let Some((kind, rest)) = rest.split_once("\", ") else { continue };
            let version = rest.split(')').next().unwrap();
            let head: Vec<&str> = code.lines().map_while(|line| line.strip_prefix("//!")).collect();
            let head: Vec<&str> = head.iter().map(|line| line.strip_prefix(' ').unwrap_or(line)).collect();
            // Links to code mean nothing outside of it.
            let head = head.join("\n").replace("[`", "`").replace("`]", "`");
            documented.insert(kind.to_owned(), format!("Version {version}.\n\n{}\n", head.trim_end()));
        }
    }
    let known: Vec<String> = tinderbox::internals::builders::ALL.kinds();
    assert!(known.iter().all(|kind| documented.contains_key(kind)), "{known:?}");
    let mut page = String::from(
        "What a recipe can name as its `builder`. The set is closed: a recipe is data, and cannot bring code. A builder's version is part of every id \
         that it makes.\n",
    );
    for kind in known {
        write!(page, "\n## {kind}\n\n{}", documented[&kind]).unwrap();
    }
    assert_current("builders.md", "Builders", &page);
}

/// Every document that has a schema, field by field.
#[test]
fn json() {
    let mut page = String::from(
        "`--json` makes every verb print one JSON document to standard output. If it fails, the document is an [error](#error), with the same exit code; \
         this holds for a wrong command line too. `tinderbox schema VERB` prints the schema of a document. Fields may be added; those here stay. `[]` is an \
         element of a list, `<name>` a key that is not fixed.\n",
    );
    for one in list(&asked(&["schema", "--list", "--json"])) {
        let (name, what) = (text(one, "name"), text(one, "what"));
        if ["schema", "cluster"].contains(&name) {
            continue;
        }
        let words: Vec<&str> = std::iter::once("schema").chain(name.split(' ')).collect();
        let document = asked(&words);
        let what = if what.starts_with("any ") { what.to_owned() } else { format!("`tinderbox {what}`") };
        writeln!(page, "\n## {name}\n\nPrinted by {what}.\n").unwrap();
        page.push_str("| field | type | what it is |\n|---|---|---|\n");
        let mut rows = Vec::new();
        properties(&document, &document, "", 0, &mut rows);
        rows.iter().for_each(|row| page.push_str(row));
    }
    assert_current("json.md", "JSON documents", &page);
}

/// Rows of the fields below a schema; references are followed, those to a definition within itself once.
fn properties(root: &Value, schema: &Value, above: &str, depth: usize, rows: &mut Vec<String>) {
    let schema = resolved(root, schema);
    if depth > 8 {
        return;
    }
    for branch in ["anyOf", "oneOf", "allOf"].iter().flat_map(|key| list(&schema[*key])) {
        properties(root, branch, above, depth + 1, rows);
    }
    if schema["items"].is_object() {
        properties(root, &schema["items"], &format!("{above}[]"), depth + 1, rows);
    }
    if schema["additionalProperties"].is_object() {
        properties(root, &schema["additionalProperties"], &format!("{above}.<name>"), depth + 1, rows);
    }
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let path = format!("{above}.{name}").trim_start_matches('.').to_owned();
        let inner = resolved(root, property);
        let about =
            [property, inner].map(|one| text(one, "description")).into_iter().find(|about| !about.is_empty());
        let row = format!("| `{path}` | {} | {} |\n", kind(property, inner), cell(about.unwrap_or_default()));
        if rows.contains(&row) {
            continue;
        }
        rows.push(row);
        properties(root, property, &path, depth + 1, rows);
    }
}

fn resolved<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    let target = schema["$ref"].as_str().and_then(|target| target.strip_prefix('#'));
    target.and_then(|target| root.pointer(target)).unwrap_or(schema)
}

fn kind(property: &Value, inner: &Value) -> String {
    let words = list(&inner["enum"]);
    if !words.is_empty() {
        return words.iter().map(|word| code(word.as_str().unwrap_or("null"))).collect::<Vec<_>>().join(", ");
    }
    match (&inner["type"], &property["$ref"]) {
        (Value::String(name), _) => name.clone(),
        (Value::Array(names), _) => names.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or "),
        _ => "any".to_owned(),
    }
}

/// A page that no test writes is not a reference page.
#[test]
fn no_page_is_left_behind() {
    let found: Vec<String> = files("docs/reference", ".md")
        .iter()
        .map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
        .collect();
    let known = ["builders", "checks", "cluster-yaml", "install-config", "json", "recipes", "verbs"];
    assert_eq!(found, known.map(|page| format!("{page}.md")));
}
