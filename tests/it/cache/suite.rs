//! What every cache must do, whatever it is made of: run on registries, on real farms, and on a farm of the tests' own.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{generate, write_own};
use crate::harness::{Workspace, list, names, tree};

/// A cache as a configuration names it.
pub(super) struct Peer {
    pub(super) url: String,
    /// Files beside the configuration, which `options` name.
    pub(super) files: Vec<(&'static str, String)>,
    /// More fields of the cache, one a line.
    pub(super) options: &'static str,
}

impl Peer {
    pub(super) fn farm(url: &str) -> Self {
        Self { url: url.to_owned(), files: Vec::new(), options: "" }
    }

    /// Names it in the user's own configuration, and whom to trust.
    pub(super) fn configure(&self, workspace: &Workspace, trust: &str) {
        self.files.iter().for_each(|(name, text)| write_own(workspace, name, text));
        let Self { url, options, .. } = self;
        let config = format!("caches:\n- url: '{url}'\n{options}  trust: [{trust}]\n");
        write_own(workspace, "config.yaml", &config);
    }
}

const SMALL: &str =
    "# A file.\nbuilder = 'template'\nparams.exec = ['b']\n[files]\n'a' = 'a.j2'\n'b' = 'b.j2'\n";
const OTHER: &str = "# Another file.\nbuilder = 'template'\n[files]\n'c' = 'c.j2'\n";
const LARGE: &str =
    "# More than a message of gRPC holds.\nbuilder = 'template'\n[files]\n'large' = 'large.j2'\n";
const TREE: &str = "# Both.\nbuilder = 'tree'\n[inputs]\nsmall = 'demo/small'\nlarge = 'demo/large'\n[params.place]\nsmall = 'x/small'\nlarge = 'x'\n";
/// A template of five megabytes.
fn large() -> String {
    let line = "a line of a file that does not fit into one message ".repeat(5);
    format!("{{% for i in range(20000) %}}{line}{{{{ i }}}}{{% endfor %}}\n")
}

/// Outputs of all kinds that are built in a moment.
pub(super) const TARGET: &str = "demo";

/// How many there are.
pub(super) const COUNT: usize = 4;

pub(super) fn workspace() -> Workspace {
    Workspace::with(&[
        ("recipes/20-demo/small.toml", SMALL),
        ("recipes/20-demo/a.j2", "one file"),
        ("recipes/20-demo/b.j2", "#!/bin/sh\n"),
        ("recipes/20-demo/large.toml", LARGE),
        ("recipes/20-demo/large.j2", &large()),
        ("recipes/20-demo/other.toml", OTHER),
        ("recipes/20-demo/c.j2", "another file"),
        ("recipes/20-demo/tree.toml", TREE),
    ])
}

/// One that trusts this key and has nothing.
pub(super) fn taker(peer: &Peer, key: &str) -> Workspace {
    let workspace = workspace();
    peer.configure(&workspace, &format!("{{key: '{key}'}}"));
    workspace
}

/// One that built and pushed, its public key, and what the push did.
pub(super) fn pusher(peer: &Peer, targets: &[&str]) -> (Workspace, String, Value) {
    let workspace = workspace();
    let key = generate(&workspace);
    peer.configure(&workspace, "");
    workspace.build(targets);
    let pushed = workspace.json(&[&["push"], targets].concat());
    (workspace, key, pushed[0].clone())
}

/// Builds, which must succeed; the report, and what it said besides.
pub(super) fn build(workspace: &Workspace, args: &[&str]) -> (Value, String) {
    let output = workspace.output(&[&["build", "--json"], args].concat());
    let said = String::from_utf8(output.stderr.clone()).unwrap();
    assert!(output.status.success(), "{said}");
    (serde_json::from_slice(&output.stdout).unwrap(), said)
}

pub(super) fn objects(report: &Value) -> BTreeSet<&str> {
    report["targets"].as_array().unwrap().iter().map(|target| target["object"].as_str().unwrap()).collect()
}

/// All that a cache promises to those who use it well.
pub(super) fn run(peer: &Peer) {
    let (from, key, pushed) = pusher(peer, &[TARGET, "key"]);
    assert_eq!((&pushed["entries"], &pushed["new"]), (&COUNT.into(), &COUNT.into()), "{pushed}");
    assert!(pushed["kept_back"]["secret"].as_u64().unwrap() > 10, "{pushed}");
    // Again: nothing moves.
    let again = &from.json(&["push", TARGET, "key"])[0];
    let moved = ["new", "blobs", "bytes", "manifests"].map(|field| &again[field]);
    assert_eq!(moved, [0; 4].map(Value::from).each_ref(), "{again}");

    let expected = build(&from, &[TARGET]).0;
    let to = taker(peer, &key);
    let (taken, said) = build(&to, &[TARGET]);
    assert!(!said.contains("warning"), "{said}");
    assert_eq!(names(&taken["substituted"]).len(), COUNT, "{taken}");
    assert_eq!((objects(&taken), &taken["built"]), (objects(&expected), &Value::Array(Vec::new())));
    to.assert_sound();
    let same = list(&from.store).into_iter().filter(|object| to.store.join(object).exists());
    for object in same.filter(|object| object != ".tinderbox") {
        assert!(tree(&from.store.join(&object)) == tree(&to.store.join(&object)), "{object}");
    }
    // What came from there was not built here.
    generate(&to);
    let report = &to.json(&["push", TARGET])[0];
    assert_eq!((&report["entries"], &report["kept_back"]["substituted"]), (&0.into(), &COUNT.into()));
    // The whole closure ahead of a build.
    let pulled = taker(peer, &key).json(&["pull", TARGET]);
    assert_eq!(names(&pulled["pulled"]).len(), COUNT, "{pulled}");

    // Who is not trusted has nothing to say, and who is trusted with something has nothing to say about the rest.
    let stranger = generate(&workspace());
    let (report, said) = build(&taker(peer, &stranger), &[TARGET]);
    assert!(report["substituted"].is_null() && !said.contains("warning"), "{said}");
    let to = workspace();
    peer.configure(&to, &format!("{{key: '{key}', scope: [demo/large]}}"));
    assert_eq!(names(&build(&to, &[TARGET]).0["substituted"]), ["demo/large"]);

    // Two builders do not overwrite each other.
    let (_, other, _) = pusher(peer, &[TARGET]);
    for key in [&key, &other] {
        assert_eq!(names(&build(&taker(peer, key), &[TARGET]).0["substituted"]).len(), COUNT);
    }
    assert_eq!(from.json(&["push", TARGET])[0]["new"], 0, "somebody overwrote it");
}
