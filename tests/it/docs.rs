//! Documents that must stay true.

use crate::harness::Workspace;

/// The graph in recipes/README.md is the one that `tinderbox graph` prints for the example.
#[test]
fn the_recipes_graph_is_true() {
    let graph = String::from_utf8(Workspace::example().output(&["graph"]).stdout).unwrap();
    let readme = include_str!("../../recipes/README.md");
    let drawn = readme.split_once("```mermaid\n").unwrap().1.split_once("```").unwrap().0;
    assert_eq!(drawn, graph, "write it again with `tinderbox -C examples/ocp4 graph`");
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
