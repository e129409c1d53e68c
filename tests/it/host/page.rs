//! The pages, in a real browser: searched, filtered, opened and switched by keyboard; no request, no complaint, no script
//! but ours. And the documents that they show, against their schema.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::browser::Browser;
use crate::harness::documents::judge;
use crate::harness::{Workspace, mode, source};

/// Two directories of files, and the page of what differs.
fn files(ws: &Workspace, pairs: &[(&str, &str, &str)]) -> PathBuf {
    for (path, old, new) in pairs {
        ws.write(&format!("a/{path}"), old);
        ws.write(&format!("b/{path}"), new);
    }
    page(ws, &["diff", "./a", "./b", "--format", "html"], 1)
}

/// A page that a verb prints, as a file.
pub(super) fn page(ws: &Workspace, args: &[&str], code: i32) -> PathBuf {
    let output = ws.output(args);
    assert_eq!(output.status.code(), Some(code), "{}", String::from_utf8_lossy(&output.stderr));
    let path = ws.temp().join(format!("{}.html", args[0]));
    fs::write(&path, output.stdout).unwrap();
    path
}

const FOUND: &str = "document.querySelector('#found').textContent";
const ITEMS: &str = "document.querySelectorAll('[role=treeitem]').length";
const FOCUS: &str = "document.activeElement.getAttribute('aria-label') || document.activeElement.id";

#[test]
fn a_comparison_is_read_by_keyboard_alone() {
    let Some(browser) = Browser::start("the page of `diff`") else { return };
    let ws = Workspace::empty();
    let path = files(
        &ws,
        &[
            (
                "pod.yaml",
                "kind: Pod\nmetadata: {name: web}\nspec: {node: one, port: 80}\n",
                "kind: Pod\nmetadata: {name: web}\nspec: {node: two, port: 81}\n",
            ),
            ("motd", "one\ntwo\nthree\n", "one\nzwei\nthree\n"),
        ],
    );
    browser.open(&path);
    assert_eq!(browser.text(FOUND), "3 differences in 1 artifact");
    assert_eq!(browser.eval("document.querySelectorAll('noscript *').length"), 0);

    // Into the tree, close and open again.
    browser.press(&["j"]);
    assert_eq!(browser.text(FOCUS), "changed: files, 3 differences");
    let open = browser.eval(ITEMS).as_u64().unwrap();
    browser.press(&["Enter"]);
    assert_eq!(browser.eval(ITEMS), 1);
    browser.press(&["Enter", "j"]);
    assert_eq!(browser.eval(ITEMS), open);
    assert_eq!(browser.text(FOCUS), "motd, 1 difference");
    browser.press(&["ArrowLeft"]);
    assert_eq!(browser.eval("document.activeElement.getAttribute('aria-expanded')"), "false");
    browser.press(&["ArrowLeft"]);
    assert_eq!(browser.text(FOCUS), "changed: files, 3 differences");
    browser.press(&["ArrowRight", "l", "ArrowDown"]);
    assert_eq!(browser.text(FOCUS), "changed: lines, text, info");
    assert_eq!(
        browser.text(
            "[...document.activeElement.querySelectorAll('.line')].map((line) => line.textContent).join('|')"
        ),
        "1 one|2-two|2+zwei|3 three"
    );

    // Both views say the same.
    assert_eq!(browser.eval("document.querySelectorAll('.side').length"), 0);
    browser.press(&["v"]);
    assert_eq!(browser.text("document.querySelector('#side').getAttribute('aria-pressed')"), "true");
    assert_eq!(
        browser.text(
            "[...document.querySelector('.numbered.side').children].map((line) => line.textContent).join('|')"
        ),
        "1 one|1 one|2-two|2+zwei|3 three|3 three"
    );

    // Search, by text and by path; what is found is marked, and Escape gives all back.
    browser.press(&["/"]);
    browser.type_in("ZWEI");
    assert_eq!(browser.text(FOUND), "1 of 3 differences, in 1 artifact");
    assert_eq!(browser.text("document.querySelector('mark').textContent"), "zwei");
    browser.press(&["Escape"]);
    browser.type_in("path:spec.port");
    assert_eq!(browser.text(FOUND), "1 of 3 differences, in 1 artifact");
    browser.press(&["Escape"]);
    browser.type_in("nothing like it");
    assert_eq!(browser.eval("document.querySelector('#nothing').hidden"), false);
    browser.press(&["Escape", "Escape"]);
    assert_eq!(browser.text(FOUND), "3 differences in 1 artifact");
    assert_eq!(browser.text("document.activeElement.getAttribute('role')"), "treeitem");

    // The theme goes round, and colours with it.
    let ground = "getComputedStyle(document.body).backgroundColor";
    browser.press(&["t"]);
    let light = browser.text(ground);
    browser.press(&["t"]);
    assert_ne!(browser.text(ground), light);
    assert_eq!(browser.text("document.documentElement.dataset.theme"), "dark");

    // The keys are told, and nothing behind them acts meanwhile.
    browser.press(&["?"]);
    assert_eq!(browser.eval("document.querySelector('#help').open"), true);
    browser.press(&["v", "Escape"]);
    browser.until("!document.querySelector('#help').open");
    assert_eq!(browser.text("document.querySelector('#side').getAttribute('aria-pressed')"), "true");
    browser.assert_quiet();
}

#[test]
fn what_artifacts_hold_is_never_markup() {
    let Some(browser) = Browser::start("scripts in artifacts") else { return };
    let ws = Workspace::empty();
    let evil =
        "</script><script>document.title = 'owned'</script><img src=x onerror=\"document.title='owned'\">";
    let path = files(
        &ws,
        &[
            ("<img src=x onerror=alert(1)>.txt", "calm\n", &format!("{evil}\n")),
            (
                "map.yaml",
                "a: calm\n",
                &format!("a: {}\n'{{{{script}}}}': \u{202e}1\n", serde_json::json!(evil)),
            ),
            ("noscript.txt", "</noscript><script>alert(1)</script>\n", "<!-- <script> \u{2028}\n"),
        ],
    );
    let text = fs::read_to_string(&path).unwrap();
    assert_eq!(text.matches("<script").count(), 2, "ours, and the data");
    browser.open(&path);
    browser.press(&["e"]);
    assert_eq!(browser.text("document.title"), "./a → ./b");
    assert_eq!(browser.eval("document.querySelectorAll('img, main script').length"), 0);
    let shown = browser.text("document.querySelector('#tree').textContent");
    assert!(shown.contains("</script><script>document.title = 'owned'</script>"), "{shown}");
    assert!(shown.contains("{{script}}") && shown.contains("U+202E"), "{shown}");
    browser.assert_quiet();

    // Should a script get in all the same, the policy does not let it run, nor reach anything.
    browser.eval("document.body.append(Object.assign(document.createElement('script'), {textContent: 'document.title = \"owned\"'}))");
    assert_eq!(browser.text("document.title"), "./a → ./b");
    assert_eq!(
        browser.eval("fetch('http://127.0.0.1:1/').then(() => 'reached', () => 'refused')"),
        "refused"
    );
    let refused = browser.refused();
    assert!(refused.iter().any(|text| text.contains("script-src")), "{refused:?}");
    assert!(
        refused.iter().any(|text| text.contains("connect-src") || text.contains("default-src")),
        "{refused:?}"
    );
}

#[test]
fn ten_thousand_differences_are_shown_as_they_are_asked_for() {
    let Some(browser) = Browser::start("a large page") else { return };
    let ws = Workspace::empty();
    let data = |file: usize, value: &str| -> String {
        (file * 1000..file * 1000 + 1000).map(|at| format!("field-{at}: {value}-{at}\n")).collect()
    };
    let all: Vec<(String, String, String)> =
        (0..10).map(|file| (format!("{file}.yaml"), data(file, "old"), data(file, "new"))).collect();
    let pairs: Vec<(&str, &str, &str)> =
        all.iter().map(|(path, old, new)| (&**path, &**old, &**new)).collect();
    let path = files(&ws, &pairs);
    browser.open(&path);
    assert_eq!(browser.text(FOUND), "10,000 differences in 1 artifact");
    let elements = browser.eval("document.querySelectorAll('*').length").as_u64().unwrap();
    assert!(elements < 1000, "{elements}");
    // One file of the ten: 200 at a time.
    browser.press(&["j", "Enter", "End", "Enter"]);
    assert_eq!(browser.eval(ITEMS), 1 + 10 + 200 + 1);
    browser.press(&["End", "Enter"]);
    assert_eq!(browser.eval(ITEMS), 1 + 10 + 400 + 1);
    browser.press(&["/"]);
    browser.type_in("new-9876");
    assert_eq!(browser.text(FOUND), "1 of 10,000 differences, in 1 artifact");
    browser.assert_quiet();
}

/// One field of one node, and back: the pages of the comparison and of the build.
#[test]
fn a_cluster_is_compared_and_reported() {
    let Some(browser) = Browser::start("the pages of a cluster") else { return };
    let ws = Workspace::example().prebuilt();
    ws.build(&[]);
    ws.edit("cluster.yaml", "192.168.126.110", "192.168.126.120");
    let built = ws.build(&[]);

    browser.open(&page(&ws, &["diff", "--format", "html"], 1));
    let nodes = "[...document.querySelectorAll('#nodes tbody tr')].map((row) => row.textContent).join('|')";
    assert!(browser.text(nodes).starts_with("worker-0re-install"), "{}", browser.text(nodes));
    let choose = |name: &str, value: &str| {
        browser.eval(&format!(
            "(() => {{ const one = document.querySelector('#filter-{name}'); one.value = '{value}'; one.dispatchEvent(new Event('change', {{bubbles: true}})); return one.value; }})()"
        ))
    };
    let names =
        "[...document.querySelectorAll('#tree > li .artifact')].map((one) => one.textContent).join(' ')";
    for (filter, value, found) in [
        ("node", "worker-0", "ignition/worker-0 infra/worker-0"),
        ("kind", "unit", "ignition/worker-0"),
        ("severity", "notable", "ignition/worker-0"),
        // Ids of a config are no differences of their own.
        ("kind", "text", "infra/haproxy infra/haproxy-pivoted infra/network"),
    ] {
        assert_eq!(choose(filter, value), value);
        assert_eq!(browser.text(names), found, "{filter} {value}");
        browser.press(&["x"]);
    }
    assert_eq!(choose("state", "added"), "", "nothing was added, so it is not offered");
    // A cause in the summary leads to what it causes.
    browser.eval("document.querySelector('#causes .cause').focus()");
    browser.press(&["Enter"]);
    assert_ne!(browser.text("document.querySelector('#filter-cause').value"), "");
    assert!(browser.text(FOUND).contains(" of "), "{}", browser.text(FOUND));
    assert_eq!(browser.text("document.activeElement.getAttribute('role')"), "treeitem");
    browser.assert_quiet();

    let path = page(&ws, &["report"], 0);
    browser.open(&path);
    assert_eq!(browser.text("document.title"), "ocp4, generation 2");
    let names = "[...document.querySelectorAll('.artifact:has(> summary > .tag.notable)')].map((one) => one.id).filter((id) => byId(id).querySelector('summary').textContent.includes('built')).map((id) => id.replace('artifact/', '')).join(' ')";
    let mut shown: Vec<String> = browser.text(names).split(' ').map(str::to_owned).collect();
    shown.sort();
    assert_eq!(shown, built);
    browser.assert_quiet();
    assert_no_secret(&ws, &path);
}

/// No secret file of the result is in a page: not a line of one.
pub(super) fn assert_no_secret(ws: &Workspace, path: &Path) {
    let text = fs::read_to_string(path).unwrap();
    let password = fs::read_to_string(ws.dir.join("result/auth/kubeadmin-password")).unwrap();
    assert!(!text.contains(password.trim()), "the password of kubeadmin");
    assert!(!text.contains("PRIVATE KEY"), "a private key");
    let key = fs::read_to_string(ws.dir.join("result/pki/admin.key")).unwrap();
    assert!(key.lines().filter(|line| line.len() > 40).all(|line| !text.contains(line)), "admin's key");
}

#[test]
fn a_report_is_a_file_a_document_or_a_page() {
    let ws = Workspace::example().prebuilt();
    insta::assert_snapshot!(ws.run(&["report"]), @r"
    [stderr]
    error: `cluster` is not built
    hint: run `tinderbox build cluster`
    [exit 1]
    ");
    ws.build(&["infra"]);
    insta::assert_snapshot!(ws.run(&["report", "--json"]), @r#"
    {
      "error": "`cluster` is not built",
      "hint": "run `tinderbox build cluster`"
    }
    [stderr]
    error: `cluster` is not built
    hint: run `tinderbox build cluster`
    [exit 1]
    "#);
    ws.build(&[]);
    let report = ws.json(&["report"]);
    assert_eq!((&report["shape"], &report["generation"]), (&"tinderbox-report/1".into(), &1.into()));
    let artifacts = report["artifacts"].as_array().unwrap();
    let of = |name: &str| artifacts.iter().find(|artifact| artifact["name"] == name).unwrap();
    let haproxy = of("infra/haproxy");
    assert_eq!(haproxy["object"], ws.json(&["show", "infra/haproxy"])["object"]);
    assert_eq!((haproxy["state"].as_str(), haproxy["secret"].as_bool()), (Some("built"), Some(false)));
    assert_eq!(of("key/admin")["secret"], true);
    assert!(of("mco/shared")["isolation"].is_string(), "{}", of("mco/shared"));
    assert_eq!(report["expiry"]["certificates"], ws.json(&["expiry"])["certificates"]);
    let nodes: Vec<&str> =
        report["nodes"].as_array().unwrap().iter().map(|node| node["node"].as_str().unwrap()).collect();
    assert_eq!(nodes, ["bootstrap", "master-0", "master-1", "master-2", "worker-0", "worker-1"]);
    // The old address, and another change: what was made for the old address is found.
    ws.edit("cluster.yaml", "192.168.126.110", "192.168.126.120");
    ws.build(&[]);
    ws.edit("cluster.yaml", "192.168.126.120", "192.168.126.110");
    ws.edit("cluster.yaml", "192.168.126.111", "192.168.126.121");
    ws.build(&[]);
    assert_eq!(ws.json(&["report"])["before"], 2);
    let states = ws.json(&["report"]);
    let state = |name: &str| {
        states["artifacts"].as_array().unwrap().iter().find(|one| one["name"] == name).unwrap()["state"]
            .clone()
    };
    let of = ["ignition/worker-0", "ignition/worker-1", "key/admin"].map(state);
    assert_eq!(of, ["found", "built", "kept"]);
    let output = ws.run(&["report", "--output", "build.html"]);
    assert_eq!(output, "build.html\n[exit 0]\n");
    assert!(fs::read_to_string(ws.dir.join("build.html")).unwrap().starts_with("<!doctype html>"));
}

/// `--open` leaves a file that only its owner reads, and hands it to the user's browser.
#[test]
fn a_report_opens_in_the_users_browser() {
    let ws = Workspace::example().prebuilt();
    ws.build(&[]);
    let (programs, runtime) = (ws.temp().join("bin"), ws.temp().join("run"));
    fs::create_dir_all(&programs).unwrap();
    fs::create_dir_all(&runtime).unwrap();
    let program = programs.join("xdg-open");
    fs::write(&program, "#!/bin/sh\ncp \"$1\" \"$HOME/opened.html\"\n").unwrap();
    crate::harness::set_mode(&program, 0o755);
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let mut command = ws.command(&["report", "--open"]);
    let output = command.env("PATH", &path).env("XDG_RUNTIME_DIR", &runtime).output().unwrap();
    assert!(output.status.success(), "{}", ws.text(&output));
    let written = PathBuf::from(String::from_utf8(output.stdout).unwrap().trim());
    assert!(written.starts_with(&runtime), "{}", written.display());
    assert_eq!(mode(&written), 0o600);
    assert_eq!(fs::read(&written).unwrap(), fs::read(ws.temp().join("opened.html")).unwrap());

    let output =
        ws.command(&["report", "--open"]).env("PATH", "").env("XDG_RUNTIME_DIR", &runtime).output().unwrap();
    let text = ws.text(&output);
    assert!(
        text.contains("`xdg-open` did not start")
            && text.contains("xdg-utils")
            && text.ends_with("[exit 2]\n"),
        "{text}"
    );
}

#[test]
fn documents_are_as_their_schema_says() {
    let ws = Workspace::example().prebuilt();
    let output = ws.output(&["schema", "diff"]);
    let schema = String::from_utf8(output.stdout).unwrap();
    assert_eq!(schema, fs::read_to_string(source("src/compare/diff/schema.json")).unwrap());
    let json = |args: &[&str], code: i32| -> Value {
        let output = ws.output(args);
        assert_eq!(output.status.code(), Some(code), "{}", ws.text(&output));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let same = json(&["diff", "./cluster.yaml", "./cluster.yaml", "--format", "json"], 0);
    let release = json(&["diff", "--release", "demo:4.18", "demo:4.19", "--format", "json"], 1);
    assert!(release["artifacts"].as_array().unwrap().len() > 10, "{}", release["artifacts"]);
    for document in [&same, &release] {
        match judge(&schema, document) {
            None => return,
            Some(judged) => assert_eq!(judged, Ok(())),
        }
    }
    let shape = String::from_utf8(ws.output(&["schema", "report"]).stdout).unwrap();
    ws.build(&[]);
    let report = ws.json(&["report"]);
    assert_eq!(judge(&shape, &report), Some(Ok(())));
    let shape = String::from_utf8(ws.output(&["schema", "release-try"]).stdout).unwrap();
    let tried = json(&["release", "try", "demo:4.22", "--json"], 1);
    assert_eq!(judge(&shape, &tried), Some(Ok(())));
    assert!(judge(&shape, &release).unwrap().is_err());
    // The judge can say no.
    let breaks: [fn(&mut Value); 4] = [
        |it| it["shape"] = "tinderbox-diff/2".into(),
        |it| it["more"] = 1.into(),
        |it| it["artifacts"][0]["state"] = "gone".into(),
        |it| it["artifacts"][0]["differences"][0]["severity"] = Value::Null,
    ];
    for change in breaks {
        let mut wrong = release.clone();
        change(&mut wrong);
        assert!(judge(&schema, &wrong).unwrap().is_err());
    }
}
