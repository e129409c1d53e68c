//! What `diff` masks: every secret, however it is written down, and none of the release's own words.

use std::fs;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::harness::Workspace;
use super::release::pack::gzip;

/// A secret as it is, in base64 at any alignment and twice, in hex and URL-encoded.
fn forms(secret: &str) -> Vec<String> {
    let mut forms = vec![secret.to_owned(), data_encoding::HEXLOWER.encode(secret.as_bytes())];
    for (before, skip) in [("", 0), ("x", 2), ("xx", 3)] {
        let whole = STANDARD.encode(format!("{before}{secret}"));
        forms.push(whole[skip..whole.len() - 4].to_owned());
    }
    forms.push(STANDARD.encode(STANDARD.encode(secret)));
    forms.push(secret.replace('-', "%2D").replace('+', "%2B").replace('/', "%2F"));
    forms
}

/// Secrets of one age: `salt` makes those of two ages differ.
struct Planted {
    manifests: String,
    values: Vec<String>,
}

fn planted(salt: &str, known: &[&str]) -> Planted {
    let word = |name: &str| format!("{name}-{salt}-hunter2");
    let percent =
        |text: &str| text.replace('%', "%25").replace('\n', "%0A").replace(' ', "%20").replace('=', "%3D");
    let base64 = |text: &str| STANDARD.encode(text);
    let file = |path: &str, mode: u32, source: &str, more: &str| {
        format!(
            "      - path: {path}\n        mode: {mode}\n        overwrite: true\n        contents:\n          source: \"{source}\"\n{more}"
        )
    };
    let gzipped = STANDARD.encode(gzip(format!("[db]\npassword = {}\n", word("gzip")).as_bytes()));
    let files = [
        file(
            "/etc/app/plain.env",
            420,
            &format!("data:,{}", percent(&format!("DB_PASSWORD={}\nPORT=1\n", word("plain")))),
            "",
        ),
        file(
            "/etc/app/base64.conf",
            420,
            &format!(
                "data:text/plain;charset=utf-8;base64,{}",
                base64(&format!("a = 1\npassword: {}\n", word("base64")))
            ),
            "",
        ),
        file(
            "/etc/app/twice.conf",
            420,
            &format!(
                "data:;base64,{}",
                base64(&format!("blob: {}\n", base64(&format!("password={}\n", word("twice")))))
            ),
            "",
        ),
        file("/etc/app/packed.ini", 420, &format!("data:;base64,{gzipped}"), "          compression: gzip\n"),
        file("/etc/app/private.txt", 384, &format!("data:,{}", percent(&word("private"))), ""),
        file(
            "/etc/app/token.json",
            420,
            &format!(
                "data:,{}",
                percent(&format!("{{\"token\": \"{}\"}}", word("json"))).replace('"', "%22")
            ),
            "",
        ),
        file(
            "/etc/app/login.sh",
            493,
            &format!(
                "data:,{}",
                percent(&format!("#!/bin/sh\ncurl https://me:{}@example.com/\n", word("login")))
            ),
            "",
        ),
        file(
            "/etc/app/neutral.txt",
            420,
            &format!("data:,{}", percent(&format!("{}\nage {salt}\n", known.join("\n")))),
            "",
        ),
    ];
    let manifests = format!(
        "apiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfig\nmetadata:\n  name: 99-app\n  labels:\n    machineconfiguration.openshift.io/role: worker\nspec:\n  config:\n    ignition:\n      version: 3.2.0\n    storage:\n      files:\n{}---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: app\n  namespace: default\n  annotations:\n    age: {salt}\ndata:\n  app.conf: |\n    user = app\n    password = {}\n  copied: \"{}\"\n---\napiVersion: v1\nkind: Secret\nmetadata:\n  name: app\n  namespace: default\nstringData:\n  weak: {}\ndata:\n  other: {}\n",
        files.concat(),
        word("configmap"),
        known.iter().map(|known| base64(known)).collect::<Vec<_>>().join(" "),
        word("string"),
        base64(&word("data")),
    );
    let names =
        ["plain", "base64", "twice", "gzip", "private", "json", "login", "configmap", "string", "data"];
    Planted { manifests, values: names.map(word).to_vec() }
}

/// What `diff` prints of these sides. A page has the document, and the text for readers without scripts.
fn printed(ws: &Workspace, sides: &[&str]) -> Vec<(String, String)> {
    let formats = [&["--format", "markdown"][..], &["--format", "html"]];
    let run = |format: &&[&str]| {
        let output = ws.output(&[&["diff"], sides, format].concat());
        assert_eq!(output.status.code(), Some(1), "{}", ws.text(&output));
        (format.join(" "), ws.text(&output))
    };
    formats.iter().map(run).collect()
}

/// Pull secret, keys, the administrator's password, tokens, and passwords in a user's own files, in all encodings:
/// none is shown when it appears, when it changes, and when it goes.
#[test]
fn planted_secrets_stay_masked() {
    let ws = Workspace::example().prebuilt();
    ws.build(&[]);
    let pull = "b25lOnNlY3JldCBvZiBhIHJlZ2lzdHJ5";
    ws.edit("install-config.yaml", "ZGVtbzpkZW1v", pull);
    let read = |path: &str| fs::read_to_string(ws.dir.join("result").join(path)).unwrap();
    let password = read("auth/kubeadmin-password").trim().to_owned();
    let key = read("pki/admin.key");
    // The middle of a key is enough to recognise it.
    let line = key.lines().nth(1).unwrap().to_owned();
    let known = [pull, &password, &line];
    let (one, two) = (planted("one", &known), planted("two", &known));
    let values: Vec<&str> = one.values.iter().chain(&two.values).map(String::as_str).chain(known).collect();
    ws.write("manifests/app.yaml", &one.manifests);
    let check = |what: &str, sides: &[&str], visible: &[&str]| {
        for (format, text) in printed(&ws, sides) {
            for value in &values {
                let leaked = forms(value).into_iter().find(|form| text.contains(form.as_str()));
                assert_eq!(
                    leaked,
                    None,
                    "{what}, {format}: {value} in {:#?}",
                    text.lines()
                        .filter(|line| leaked.as_ref().is_some_and(|form| line.contains(form)))
                        .collect::<Vec<_>>()
                );
            }
            for word in visible {
                assert!(text.contains(word), "{what}, {format}: no `{word}` in\n{text}");
            }
        }
    };
    check("added", &["result", "cluster"], &["/etc/app/plain.env", "/etc/app/packed.ini"]);
    ws.build(&[]);
    ws.write("manifests/app.yaml", &two.manifests);
    check("changed", &["result", "cluster"], &["DB_PASSWORD", "age", "one", "two"]);
    fs::remove_file(ws.dir.join("manifests/app.yaml")).unwrap();
    check("removed", &["result", "cluster"], &["/etc/app/plain.env"]);
}

/// Names of gates, images and limits of the release are what one reads a release diff for.
#[test]
fn the_words_of_a_release_are_not_masked() {
    let ws = Workspace::example().prebuilt();
    let text = ws.run(&["diff", "--release", "demo:4.18", "demo:4.22"]);
    for word in ["spec.osImageURL: ", "spec.baseOSExtensionsContainerImage: ", "featureGates"] {
        assert!(text.contains(word), "{word}");
    }
    let masked: Vec<&str> = text.lines().filter(|line| line.contains("(secret)")).collect();
    assert_eq!(masked, [""; 0]);
}
