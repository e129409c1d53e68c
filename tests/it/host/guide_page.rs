//! The page of `guide`, in a real browser: at two widths, light and dark, by keyboard, by its links, without scripts.

use serde_json::json;

use super::browser::Browser;
use super::page::{assert_no_secret, page};
use crate::harness::Workspace;

fn guide() -> (Workspace, std::path::PathBuf) {
    let ws = Workspace::example().prebuilt();
    ws.build(&[]);
    let path = page(&ws, &["guide", "--format", "html"], 0);
    (ws, path)
}

/// Whether the first line of an element can be seen: nothing lies over it, and it is in the window.
fn is_seen(browser: &Browser, selector: &str) -> bool {
    let seen = format!(
        "(() => {{ const one = document.querySelector('{selector}'); const box = one.getBoundingClientRect();
          const top = document.elementFromPoint(box.left + 8, box.top + 8);
          return top !== null && (one.contains(top) || top.contains(one)) && !top.closest('.finder-bar'); }})()"
    );
    browser.eval(&seen) == true
}

#[test]
fn the_guide_is_legible_at_any_width_light_and_dark() {
    let Some(browser) = Browser::start("the page of `guide`") else { return };
    let (ws, path) = guide();
    for (width, is_dark) in [(1400, false), (1400, true), (500, false), (500, true)] {
        browser.look(width, is_dark);
        browser.open(&path);
        assert_eq!(browser.beyond(), 0, "no sideways scrolling at {width}");
        assert_eq!(browser.faint(), "", "{width} {is_dark}");
        browser.press(&["e"]);
        assert_eq!(browser.eval("document.querySelectorAll('details:not([open])').length"), 0);
        assert_eq!(browser.beyond(), 0, "no sideways scrolling at {width}, with everything open");
        assert_eq!(browser.faint(), "", "{width} {is_dark}, open");
        browser.assert_quiet();
    }
    assert_no_secret(&ws, &path);
}

#[test]
fn the_guide_is_read_by_keyboard_alone() {
    let Some(browser) = Browser::start("the page of `guide`, by keyboard") else { return };
    let (ws, path) = guide();
    let book = ws.json(&["guide"]);
    let chapters = book["chapters"].as_array().unwrap();
    let focus = "document.activeElement.textContent";
    for width in [1400, 500] {
        browser.look(width, false);
        browser.open(&path);
        // Chapter by chapter, to the last and back; each title can be seen. On a narrow screen the first one is below the
        // contents, and comes first.
        for chapter in if width == 500 { &chapters[..] } else { &chapters[1..] } {
            browser.press(&["n"]);
            let title = format!("{}. {}", chapter["number"], chapter["title"].as_str().unwrap());
            assert_eq!(browser.text(focus), title, "{width}");
            let selector = format!("[id=\"{}-title\"]", chapter["id"].as_str().unwrap());
            assert!(is_seen(&browser, &selector), "{title} at {width}");
        }
        browser.press(&["n", "p"]);
        assert!(browser.text(focus).starts_with(&format!("{}. ", chapters.len() - 1)));
        // What opens: to the first, into it, to the next.
        browser.press(&["s", "j", "Enter"]);
        assert_eq!(browser.text("document.activeElement.parentElement.id"), "install-config-yaml");
        assert_eq!(browser.eval("document.activeElement.parentElement.open"), true);
        browser.press(&["Enter", "j"]);
        assert_eq!(browser.text("document.activeElement.parentElement.id"), "cluster-yaml");
        // Search, and back.
        browser.press(&["/"]);
        browser.type_in("/etc/hostname hostnamed");
        let found = "[...document.querySelectorAll('.item')].filter((one) => one.checkVisibility()).length";
        browser.until(&format!("{found} > 0 && {found} < 20"));
        let shown = "[...document.querySelectorAll('section')].filter((one) => one.checkVisibility()).length";
        assert!(browser.eval(shown).as_u64().unwrap() < 6, "chapters without a find are away");
        browser.press(&["Escape"]);
        assert_eq!(browser.eval(shown), chapters.len());
        // The keys are told.
        browser.eval("document.activeElement.blur()");
        browser.press(&["?"]);
        let help = browser.text("document.querySelector('#help').innerText");
        assert!(help.contains("next chapter") && help.contains("previous chapter"), "{help}");
        browser.press(&["Escape"]);
        browser.assert_quiet();
    }
}

#[test]
fn links_of_the_guide_lead_to_what_can_be_seen() {
    let Some(browser) = Browser::start("the links of `guide`") else { return };
    let (_ws, path) = guide();
    browser.look(1400, false);
    browser.open(&path);
    let broken = "[...document.querySelectorAll('a[href^=\"#\"]')].map((one) => one.hash.slice(1)).filter((id) => !document.getElementById(id))";
    assert_eq!(browser.text(&format!("{broken}.slice(0, 5).join(' ')")), "", "links that lead nowhere");
    let ids = "[...document.querySelectorAll('[id]')].map((one) => one.id)";
    assert_eq!(
        browser.eval(&format!("(() => {{ const ids = {ids}; return ids.length - new Set(ids).size; }})()")),
        0
    );

    // From a certificate to the line that decides it, to its check, and to what it goes into.
    let item = "[id=\"pki-kube-apiserver\"]";
    browser.eval("location.hash = '#pki-kube-apiserver'");
    browser.until(&format!("document.querySelector('{item}').open"));
    assert!(is_seen(&browser, &format!("{item} > summary")));
    for (text, target) in [
        ("cluster.yaml:10", "cluster-yaml-line-10"),
        ("apiserver-sans", "check-apiserver-sans"),
        ("ignition/bootstrap", "ignition-bootstrap"),
    ] {
        let at =
            format!("[...document.querySelectorAll('{item} a')].find((one) => one.textContent === '{text}')");
        browser.eval(&format!("{at}.click()"));
        browser.until(&format!("location.hash === '#{target}'"));
        browser.until(&format!("document.getElementById('{target}').checkVisibility()"));
        assert!(is_seen(&browser, &format!("[id=\"{target}\"]")), "{text}");
    }
    let line = browser.text("document.getElementById('cluster-yaml-line-10').textContent");
    assert!(line.contains("192.168.126.10"), "{line}");

    // Its names, one by one.
    let names =
        format!("[...document.querySelectorAll('{item} .items li')].map((one) => one.textContent).join('|')");
    let names = browser.text(&names);
    let names: Vec<&str> = names.split('|').collect();
    assert!(names.len() > 10, "{names:?}");
    assert!(names.contains(&"api-int.ocp4.example.com") && names.contains(&"172.30.0.1"), "{names:?}");
    browser.assert_quiet();
}

#[test]
fn the_guide_says_everything_without_scripts() {
    let Some(browser) = Browser::start("the guide without scripts") else { return };
    let (ws, path) = guide();
    browser.ask("Emulation.setScriptExecutionDisabled", json!({"value": true}));
    browser.open(&path);
    browser.ask("Emulation.setScriptExecutionDisabled", json!({"value": false}));
    let text = browser.text("document.querySelector('main').textContent");
    let book = ws.json(&["guide"]);
    for chapter in book["chapters"].as_array().unwrap() {
        assert!(text.contains(chapter["title"].as_str().unwrap()), "{}", chapter["title"]);
        for group in chapter["groups"].as_array().unwrap() {
            for entry in group["entries"].as_array().unwrap() {
                assert!(text.contains(entry["title"].as_str().unwrap()), "{}", entry["title"]);
            }
        }
    }
    let bars = "document.querySelectorAll('.finder-bar:not([hidden])').length";
    assert_eq!(browser.eval(bars), 0, "no box that does nothing");
}
