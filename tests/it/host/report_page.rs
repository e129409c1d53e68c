//! The page of `report` and the pictures of `graph`, in a real browser: at two widths, light and dark, by keyboard, without
//! scripts; texts stay in their boxes, and nothing overlaps.

use std::fs;
use std::path::PathBuf;

use serde_json::json;

use super::browser::Browser;
use super::page::{assert_no_secret, page};
use crate::harness::Workspace;

/// A cluster whose worker got another address, built before and after.
fn changed() -> Workspace {
    let ws = Workspace::example().prebuilt();
    ws.build(&[]);
    ws.edit("cluster.yaml", "192.168.126.110", "192.168.126.120");
    ws.build(&[]);
    ws
}

/// A picture that a verb prints, as a file.
fn picture(ws: &Workspace, args: &[&str]) -> PathBuf {
    let output = ws.output(args);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let path = ws.temp().join("picture.svg");
    fs::write(&path, output.stdout).unwrap();
    path
}

#[test]
fn the_verdict_comes_first_at_any_width_light_and_dark() {
    let Some(browser) = Browser::start("the verdict of `report`") else { return };
    let ws = changed();
    let path = page(&ws, &["report"], 0);
    for (width, is_dark) in [(1400, false), (1400, true), (500, false), (500, true)] {
        browser.look(width, is_dark);
        browser.open(&path);
        assert_eq!(browser.beyond(), 0, "no sideways scrolling at {width}");
        assert_eq!(browser.faint(), "", "{width} {is_dark}");
        browser.press(&["e"]);
        assert_eq!(browser.beyond(), 0, "no sideways scrolling at {width}, with everything open");
        assert_eq!(browser.faint(), "", "{width} {is_dark}, open");
        browser.press(&["c"]);
        browser.assert_quiet();
    }
    // The picture of trust fits a wide page; sentences have no backticks left; a node's own files are listed by folder.
    browser.look(1400, false);
    browser.open(&path);
    let drawing = "document.querySelector('.drawing')";
    assert_eq!(browser.eval(&format!("{drawing}.scrollWidth <= {drawing}.clientWidth")), true);
    assert_eq!(browser.eval("document.querySelector('#checks').textContent.includes('`')"), false);
    let own = "document.querySelector('[id=\"node/bootstrap\"] .plain-list').textContent";
    let own = browser.text(own);
    assert!(own.contains("/opt/openshift/crds/ 31 files") && own.len() < 2000, "{own}");
    browser.look(1400, false);
    browser.open(&path);
    let bottom = "document.querySelector('#verdict').getBoundingClientRect().bottom";
    assert!(browser.eval(bottom).as_f64().unwrap() < 900.0, "the verdict is on one screen");
    let verdict = browser.text("document.querySelector('#verdict').innerText");
    let report = ws.json(&["report"]);
    let passed = report["checks"].as_array().unwrap().iter().filter(|one| one["status"] == "passed").count();
    let counted = [
        format!("{passed} passed"),
        format!("All {} verifications", report["trust"]["verifications"]),
        format!("Since generation 1: {} changed.", report["changes"]["changed"]),
    ];
    assert!(counted.iter().all(|said| verdict.contains(said)), "{counted:?}: {verdict}");
    for said in [
        "Ready to boot, before ",
        "OpenShift 4.18.0-demo (demo:4.18)",
        "3 masters, 2 workers, 1 bootstrap node",
        "config field nodes.worker-0.ip: 192.168.126.110 → 192.168.126.120 in cluster.yaml:30",
        "re-install",
        "6 credentials for joining expire after 14 days",
        "13 certificates expire after 1 year",
        "5 authorities expire after 10 years",
        "tinderbox realize plan",
    ] {
        assert!(verdict.contains(said), "{said}: {verdict}");
    }
    // In order, and the first of them is the last time to boot.
    let times = "[...document.querySelectorAll('.timeline time')].map((one) => one.dateTime).join(' ')";
    let times = browser.text(times);
    let times: Vec<&str> = times.split(' ').collect();
    assert!(times.len() >= 6 && times.is_sorted(), "{times:?}");
    assert_eq!(browser.text("document.querySelector('.headline.fresh time').dateTime"), times[0]);
    assert_no_secret(&ws, &path);
}

#[test]
fn a_page_that_is_read_too_late_says_so() {
    let Some(browser) = Browser::start("the report, years later") else { return };
    let ws = Workspace::example().prebuilt();
    ws.build(&[]);
    let path = page(&ws, &["report"], 0);
    let shown = "[...document.querySelectorAll('.headline')].filter((one) => one.checkVisibility()).map((one) => one.innerText).join('|')";
    browser.open(&path);
    assert!(browser.text(shown).starts_with("Ready to boot, before "), "{}", browser.text(shown));
    // The page asks its reader's clock.
    let later = "const real = Date.now; Date.now = () => real() + 40 * 365 * 86400000;";
    let script = browser.ask("Page.addScriptToEvaluateOnNewDocument", json!({"source": later}));
    browser.open(&path);
    assert!(browser.text(shown).starts_with("Too old to boot since "), "{}", browser.text(shown));
    browser.ask("Page.removeScriptToEvaluateOnNewDocument", script);
}

#[test]
fn stages_open_and_show_what_belongs_together() {
    let Some(browser) = Browser::start("the stages of `report`") else { return };
    let ws = Workspace::example().prebuilt();
    ws.build(&[]);
    browser.look(500, false);
    browser.open(&page(&ws, &["report"], 0));
    let open = "document.querySelectorAll('.stage[open]').length";
    assert_eq!(browser.eval(open), 0, "stages are closed at first");
    assert_eq!(browser.eval("document.querySelectorAll('.artifact').length > 150"), true);

    // By keyboard alone: to a stage, what it needs and what follows from it; into it, to an artifact.
    browser.eval("document.querySelector('[id=\"stage/pki\"] > summary').focus()");
    let names = |class: &str, kind: &str| {
        browser.text(&format!(
            "[...document.querySelectorAll('.{kind}.{class}')].map((one) => one.id.replace(/^[a-z]+[/]/, '')).join(' ')"
        ))
    };
    assert_eq!(names("is-input", "stage"), "key");
    assert!(
        names("is-user", "stage").starts_with("kubeconfig hand-over ignition"),
        "{}",
        names("is-user", "stage")
    );
    assert_eq!(browser.eval("document.querySelectorAll('.rail.near').length > 3"), true);
    browser.press(&["Enter", "j"]);
    assert_eq!(browser.eval(open), 1);
    assert_eq!(browser.text("document.activeElement.parentElement.id"), "artifact/pki/root-ca");
    assert_eq!(names("is-input", "artifact"), "key/root-ca");
    let users = names("is-user", "artifact");
    assert!(users.contains("pki/etcd-ca") && users.contains("pki/kubernetes-ca"), "{users}");
    browser.press(&["k", "k"]);
    assert_eq!(browser.text("document.activeElement.parentElement.id"), "stage/key");
    assert_eq!(names("is-input", "stage"), "");

    // Search opens what it finds.
    browser.press(&["/"]);
    browser.type_in("kubeconfig/admin");
    let found =
        "[...document.querySelectorAll('#artifacts .item')].filter((one) => one.checkVisibility()).length";
    browser.until(&format!("{found} > 0 && {found} < 40"));
    assert_eq!(browser.eval("document.querySelector('[id=\"stage/kubeconfig\"]').open"), true);
    browser.press(&["Escape"]);
    assert_eq!(browser.eval("document.querySelectorAll('#artifacts .item[hidden]').length"), 0);

    // A link opens what it leads to, and what that is in.
    browser.press(&["c"]);
    browser.eval("location.hash = '#artifact/ignition/worker-0'");
    browser.until("document.activeElement.parentElement.id === 'artifact/ignition/worker-0'");
    let about = browser.text("document.activeElement.parentElement.innerText");
    assert!(about.contains("ignition@") && about.contains("base ← mco/worker"), "{about}");
    // A certificate, decoded.
    let certificate = |name: &str| {
        browser.text(&format!(
            "[...document.querySelectorAll('#certificates .item')].find((one) => one.querySelector('code').textContent === '{name}').textContent"
        ))
    };
    let admin = certificate("admin");
    for said in [
        "O=system:masters, CN=system:admin",
        "CN=kubernetes-ca",
        "digital signature, client",
        "administrators → API servers",
    ] {
        assert!(admin.contains(said), "{said}: {admin}");
    }
    let server = certificate("kube-apiserver");
    assert!(server.contains("api-int.ocp4.example.com") && server.contains("192.168.126.10"), "{server}");
    browser.assert_quiet();
}

#[test]
fn a_report_says_everything_without_scripts() {
    let Some(browser) = Browser::start("the report without scripts") else { return };
    let ws = changed();
    let path = page(&ws, &["report"], 0);
    browser.ask("Emulation.setScriptExecutionDisabled", json!({"value": true}));
    browser.open(&path);
    browser.ask("Emulation.setScriptExecutionDisabled", json!({"value": false}));
    let text = browser.text("document.querySelector('main').textContent");
    for said in [
        "Ready to boot, before ",
        "nodes.worker-0.ip",
        "worker-0",
        "pki/kube-apiserver",
        "who verifies it, and with what",
        "hand-over-trust",
    ] {
        assert!(text.contains(said), "{said}");
    }
    assert_eq!(
        browser.eval("document.querySelectorAll('.finder-bar:not([hidden])').length"),
        0,
        "no box that does nothing"
    );
}

/// The same build gives the same page, today and on any other day.
#[test]
fn a_page_has_equal_bytes_for_equal_builds() {
    let ws = changed();
    let bytes = || ws.output(&["report"]).stdout;
    let one = bytes();
    assert!(!one.is_empty() && one.len() < 1_000_000, "{}", one.len());
    assert_eq!(one, bytes());
    let now = ws.json(&["report"])["expiry"]["now"].as_str().unwrap().to_owned();
    assert!(!String::from_utf8(one).unwrap().contains(&now), "the page says nothing of today");
}

/// Every text is inside of the picture and of the box that is drawn before it, and no two texts overlap.
const MISPLACED: &str = "(() => {
  const svg = document.querySelector('svg');
  const [, , width, height] = svg.getAttribute('viewBox').split(' ').map(Number);
  const texts = [...svg.querySelectorAll('text')].map((one) => ({ one, box: one.getBBox() }));
  const wrong = [];
  for (const { one, box } of texts) {
    if (box.x < 0 || box.y < 0 || box.x + box.width > width || box.y + box.height > height) wrong.push(`outside: ${one.textContent}`);
    const frame = one.parentElement.querySelector(':scope > rect.box')?.getBBox();
    if (frame && (box.x < frame.x || box.x + box.width > frame.x + frame.width || box.y < frame.y - 1 || box.y + box.height > frame.y + frame.height + 1)) wrong.push(`out of its box: ${one.textContent}`);
  }
  const meet = (a, b) => a.x < b.x + b.width - 0.5 && b.x < a.x + a.width - 0.5 && a.y < b.y + b.height - 0.5 && b.y < a.y + a.height - 0.5;
  texts.forEach(({ one, box }, at) => texts.slice(at + 1).forEach((other) => { if (meet(box, other.box)) wrong.push(`overlap: ${one.textContent} / ${other.one.textContent}`); }));
  const frames = [...svg.querySelectorAll('rect.box')].map((one) => one.getBBox());
  frames.forEach((box, at) => frames.slice(at + 1).forEach((other) => { if (meet(box, other)) wrong.push('boxes overlap'); }));
  return wrong.slice(0, 8).join('|');
})()";

#[test]
fn pictures_are_legible_on_their_own() {
    let Some(browser) = Browser::start("the pictures of `graph`") else { return };
    let ws = Workspace::example().prebuilt();
    ws.build(&["ignition"]);
    let pictures: [&[&str]; 3] = [
        &["graph", "--format", "svg"],
        &["graph", "infra", "--format", "svg"],
        &["graph", "--trust", "--format", "svg"],
    ];
    for args in pictures {
        for is_dark in [false, true] {
            browser.look(1400, is_dark);
            browser.open(&picture(&ws, args));
            assert_eq!(browser.text(MISPLACED), "", "{args:?}");
            let sizes = "[...document.querySelectorAll('text')].map((one) => parseFloat(getComputedStyle(one).fontSize))";
            assert_eq!(browser.eval(&format!("Math.min(...{sizes}) >= 11")), true, "{args:?}");
            let width = browser.eval("document.documentElement.viewBox.baseVal.width").as_f64().unwrap();
            assert!(width <= 1400.0, "{args:?}: {width}");
            let ink = browser.text("getComputedStyle(document.querySelector('text')).fill");
            let is_light = ink.matches("2").count() > 1 && ink.contains("227");
            assert_eq!(is_light, is_dark, "{args:?}: {ink}");
            browser.assert_quiet();
        }
    }
    // Every derivation is in it, each with what it is for.
    let count = ws.json(&["graph"])["derivations"].as_array().unwrap().len();
    browser.open(&picture(&ws, &["graph", "--format", "svg"]));
    assert_eq!(browser.eval("document.querySelectorAll('g > title').length"), count);
    // A refusal is red, and says why.
    ws.write("patches/20-x.yaml", "target: {kind: ConfigMap, name: root-ca}\npatch: {data: {ca.crt: ''}}\n");
    ws.build(&["ignition"]);
    browser.open(&picture(&ws, &["graph", "--trust", "--format", "svg"]));
    assert_eq!(browser.text(MISPLACED), "", "with a refusal");
    let refused = browser.text("document.querySelector('.refused text:last-of-type').textContent");
    assert!(!refused.is_empty());
}
