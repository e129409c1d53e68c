//! The page of `fleet diff` with 3,500 sites, in a real browser: searched, filtered and sorted in less than a blink, by keyboard,
//! at two widths, light and dark; no request and no complaint.

use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

use serde_json::Value;
use tinderbox::internals::diff::{Cause, Diff, Part, Side, Tree, compare};
use tinderbox::internals::fleet::{Collector, Found, NodePool, OwnValues, fleet_html, rollout};
use tinderbox::internals::knowledge::Knowledge;

use super::browser::Browser;
use crate::harness::Workspace;

const SITES: usize = 3500;
const FOUND: &str = "document.querySelector('#found').textContent";
const ROWS: &str = "document.querySelectorAll('.sites tbody tr').length";
const FIRST: &str = "document.querySelector('.sites tbody td').textContent";

/// What differs between two texts of a site's file.
fn diff(workspace: &Workspace, knowledge: &Knowledge, texts: [&str; 2]) -> Diff {
    let side = |name: &str, text: &str| {
        workspace.write(&format!("{name}/motd"), text);
        let part = Part { drv: None, tree: Tree::Loose(workspace.dir.join(name)) };
        Side { title: name.to_owned(), store: None, parts: [("files".to_owned(), part)].into() }
    };
    let (old, new) = (side("old", texts[0]), side("new", texts[1]));
    let naming = |_: &str, change: Option<&_>| Cause::unnamed(change.expect("files have no causes"));
    compare(&old, &new, &|_| true, &naming, knowledge.disruption.get().unwrap()).unwrap()
}

/// The page, made once for all tests.
static PAGE: LazyLock<String> = LazyLock::new(|| made(&Workspace::empty()));

fn page(workspace: &Workspace) -> PathBuf {
    let path = workspace.temp().join("fleet.html");
    fs::write(&path, &*PAGE).unwrap();
    path
}

/// A fleet of as many sites as one hub has: most with one of two changes, some as they were, a few never built or in trouble.
fn made(workspace: &Workspace) -> String {
    let groups = |n: usize| vec![["edge", "core", "canary"][n % 3].to_owned(), format!("region-{}", n % 7)];
    let sites = (0..SITES).map(|n| (format!("site-{n}"), groups(n))).collect();
    let mut collector =
        Collector::new(sites, vec!["canary".to_owned(), "edge".to_owned(), "core".to_owned()]);
    let knowledge = Knowledge::built_in().unwrap();
    for n in 0..SITES {
        let name = format!("site-{n}");
        let found = match n % 20 {
            0 => Found::Same,
            1 => Found::New,
            2 if n < 100 => Found::Failed,
            rest => {
                let text = if rest < 12 { "<script>alert(1)</script>" } else { "another" };
                let texts = [format!("{name} says hello\n"), format!("{name} says {text}\n")];
                let diff = diff(workspace, &knowledge, [&texts[0], &texts[1]]);
                let own = OwnValues::new([("name", name.as_str())]);
                let pool = NodePool {
                    name: "master".to_owned(),
                    nodes: vec!["master-0".to_owned()],
                    max_unavailable: None,
                };
                let rollout = rollout(&diff.summary.nodes, &[pool]);
                Found::of(diff, rollout, &own, &|_| false)
            }
        };
        collector.add(n, found);
    }
    let found = collector.finish(("as built".to_owned(), "as configured".to_owned()), Vec::new());
    assert_eq!(found.changes.len(), 2, "the same edit at all sites is one change");
    fleet_html(&found)
}

/// Does something on the page, and says how many milliseconds passed until all was laid out.
fn timed(browser: &Browser, act: &str) -> f64 {
    let expression = format!(
        "(() => {{ const start = performance.now(); {act}; document.body.offsetHeight; return performance.now() - start; }})()"
    );
    browser.eval(&expression).as_f64().unwrap()
}

fn choose(name: &str, value: &str) -> String {
    format!(
        "{{ const one = byId('filter-{name}'); one.value = '{value}'; one.dispatchEvent(new Event('change')); }}"
    )
}

fn search(words: &str) -> String {
    format!("{{ const one = byId('search'); one.value = '{words}'; one.dispatchEvent(new Event('input')); }}")
}

#[test]
fn three_and_a_half_thousand_sites_are_searched_filtered_and_sorted() {
    let Some(browser) = Browser::start("the page of `fleet diff`") else { return };
    let workspace = Workspace::empty();
    let path = page(&workspace);
    browser.look(1400, false);
    browser.open(&path);
    assert_eq!(browser.text(FOUND), "3,500 sites");
    assert_eq!(browser.eval("document.querySelectorAll('noscript *').length"), 0);
    assert_eq!(browser.eval(ROWS), 100);

    // Search by keyboard; words narrow, Escape clears.
    browser.press(&["/"]);
    browser.type_in("site-3499");
    assert_eq!(browser.text(FOUND), "1 of 3,500 sites");
    assert_eq!(browser.text(FIRST), "site-3499");
    browser.press(&["Escape"]);
    assert_eq!(browser.text(FOUND), "3,500 sites");
    browser.eval(&search("core region-3"));
    // Those of 3,500 with n % 3 = 1 and n % 7 = 3: n % 21 = 10.
    assert_eq!(browser.text(FOUND), "167 of 3,500 sites");
    browser.eval("document.activeElement.blur()");
    browser.press(&["x"]);
    assert_eq!(browser.text(FOUND), "3,500 sites");

    // Filters, alone and together.
    browser.eval(&choose("state", "never built"));
    assert_eq!(browser.text(FOUND), "175 of 3,500 sites");
    browser.eval(&choose("group", "core"));
    let found = browser.text(FOUND);
    assert!(["58 of 3,500 sites", "59 of 3,500 sites"].contains(&found.as_str()), "{found}");
    browser.eval("byId('clear').click()");

    // Heads sort, once more the other way round; names as people count.
    let order = "[...document.querySelectorAll('.sites tbody tr')].slice(0, 3).map((row) => row.cells[0].textContent).join(' ')";
    browser.eval("byId('sort-site').click()");
    assert_eq!(browser.text(order), "site-0 site-1 site-2");
    browser.eval("byId('sort-site').click()");
    assert_eq!(browser.text(order), "site-3499 site-3498 site-3497");
    assert_eq!(browser.text("document.querySelector('[aria-sort=descending]').textContent"), "Site");
    browser.eval("byId('sort-change').click()");
    // More rows as they are asked for.
    browser.eval("document.activeElement.blur()");
    browser.press(&["m"]);
    assert_eq!(browser.eval(ROWS), 200);

    // From a site to its change, which opens.
    browser.eval("document.querySelector('.sites tbody a').click()");
    browser.until("document.activeElement.closest('#change-1') !== null && byId('change-1').open");
    assert_eq!(browser.eval("document.querySelectorAll('#changes > details').length"), 2);
    assert!(browser.text("byId('change-1').textContent").contains("<script>alert(1)</script>"));
    browser.assert_quiet();
}

/// How long search, filters and sorting take is printed, not judged: the machine does ten other things. That only what is looked at
/// is made, is judged.
#[test]
fn an_interaction_makes_only_what_is_looked_at() {
    let Some(browser) = Browser::start("how fast the page of `fleet diff` is") else { return };
    let workspace = Workspace::empty();
    let path = page(&workspace);
    browser.open(&path);
    let acts = [
        ("search", search("site-1"), search("")),
        ("filter", choose("group", "edge"), choose("group", "")),
        ("sort", "byId('sort-groups').click()".to_owned(), "byId('sort-site').click()".to_owned()),
        ("more", "byId('more').click()".to_owned(), search("")),
    ];
    let mut times_of: Vec<(&str, f64)> = Vec::new();
    for (name, act, undo) in acts {
        let times = (0..15).map(|_| {
            let time = timed(&browser, &act);
            timed(&browser, &undo);
            time
        });
        times_of.push((name, times.fold(f64::INFINITY, f64::min)));
        let elements = browser.eval("document.querySelectorAll('*').length").as_u64().unwrap();
        assert!(elements < 3000, "{name}: {elements}");
    }
    eprintln!("milliseconds until all was laid out: {times_of:?}");
    browser.assert_quiet();
}

#[test]
fn it_is_legible_wide_and_narrow_light_and_dark() {
    let Some(browser) = Browser::start("the look of the page of `fleet diff`") else { return };
    let workspace = Workspace::empty();
    let path = page(&workspace);
    for (width, is_dark) in [(1400, false), (1400, true), (500, false), (500, true)] {
        browser.look(width, is_dark);
        browser.open(&path);
        assert_eq!(browser.beyond(), 0, "{width}");
        assert_eq!(browser.faint(), "", "{width}, dark: {is_dark}");
    }
    let shown = browser.text("getComputedStyle(byId('sort-site')).display");
    assert_ne!(shown, "none", "a narrow page sorts too");
    browser.assert_quiet();
}

/// Everything is in the page for readers without scripts.
#[test]
fn without_scripts_every_site_is_listed() {
    let workspace = Workspace::empty();
    let text = fs::read_to_string(page(&workspace)).unwrap();
    let (_, rest) = text.split_once("<noscript>").unwrap();
    let (listed, _) = rest.split_once("</noscript>").unwrap();
    assert_eq!(listed.matches("<tr>").count(), SITES + 1);
    assert!(listed.contains("<td>site-3499</td>"));
    let data = text.split_once("id=\"data\">").unwrap().1.split_once("</script>").unwrap().0;
    let data: Value = serde_json::from_str(data).unwrap();
    assert_eq!(data["rows"].as_array().unwrap().len(), SITES);
}
