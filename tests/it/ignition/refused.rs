//! Mistakes in a recipe of a node's configuration.

use crate::harness::Workspace;

/// A node's configuration of the user's own, on a base of his own.
fn said(params: &str, base: &str) -> String {
    let ws = Workspace::with(&[
        (
            "recipes/61-mine/base.toml",
            "# A base.\nbuilder = \"template\"\n[files]\n\"config.ign\" = \"base.j2\"\n\"one\" = \"one.j2\"\n",
        ),
        ("recipes/61-mine/base.j2", base),
        ("recipes/61-mine/one.j2", "one"),
        (
            "recipes/66-mine/x.toml",
            &format!(
                "# A config.\nbuilder = \"ignition\"\n[inputs]\nbase = \"mine/base:config.ign\"\none = \"mine/base:one\"\n[config]\nkeys = \"sshKeys\"\npull-secret = \"pullSecret\"\n[params]\nnode = \"x\"\nbase = {{from = \"base\", why = \"a base\"}}\n[[params.users]]\nname = \"core\"\nkeys = \"keys\"\nwhy = \"x\"\n[[params.write]]\npath = \"/etc/one\"\nmode = \"0600\"\nfrom = \"one\"\nwhy = \"x\"\n{params}"
            ),
        ),
    ]);
    ws.run(&["build", "-q", "mine/x"])
}

const BASE: &str =
    r#"{"ignition": {"version": "3.4.0"}, "storage": {"files": [{"path": "/etc/one", "mode": 420}]}}"#;
const EMPTY: &str = r#"{"ignition": {"version": "3.4.0"}}"#;
const SECRET: &str =
    "[[params.write]]\npath = \"/etc/two\"\nmode = \"0600\"\nfrom = \"pull-secret\"\nwhy = \"x\"\n";

#[test]
fn a_recipe_that_cannot_be_followed_says_why() {
    insta::assert_snapshot!(said(SECRET, BASE), @"
    [stderr]
    error: `mine/x` cannot be built (recipes/66-mine/x.toml)
    caused by: the recipe's additions conflict with its base
    caused by: `/etc/one` occurs twice
    hint: keep one of them; to replace an entry of the base, set `replace` in the recipe
    [exit 1]
    ");
    insta::assert_snapshot!(said("", EMPTY), @"
    [stderr]
    error: `mine/x` cannot be built (recipes/66-mine/x.toml)
    caused by: the recipe sets `pull-secret`, but nothing in the parameters or a template uses it
    hint: remove it: declared names cause rebuilds when they change
    [exit 1]
    ");
    insta::assert_snapshot!(said(&SECRET.replace("0600", "600"), EMPTY), @r#"
    [stderr]
    error: `mine/x` cannot be built (recipes/66-mine/x.toml)
    caused by: parameter `write[1] (/etc/two)`: `600` is not a mode: write four octal digits, such as "0600"
    [exit 1]
    "#);
    insta::assert_snapshot!(said(&SECRET.replace("why = \"x\"\n", ""), EMPTY), @"
    [stderr]
    error: `mine/x` cannot be built (recipes/66-mine/x.toml)
    caused by: parameter `write[1] (/etc/two)`: missing field `why`
    [exit 1]
    ");
    insta::assert_snapshot!(said(&SECRET.replace("mode", "moed"), EMPTY), @"
    [stderr]
    error: `mine/x` cannot be built (recipes/66-mine/x.toml)
    caused by: parameter `write[1] (/etc/two)`: unknown field `moed`, expected one of `path`, `mode`, `from`, `why`, `replace`, `optional`, `gzip`
    [exit 1]
    ");
    insta::assert_snapshot!(said(&SECRET.replace("/etc/two", "/etc/one"), EMPTY), @"
    [stderr]
    error: `mine/x` cannot be built (recipes/66-mine/x.toml)
    caused by: the recipe's files conflict
    caused by: `/etc/one` occurs twice
    hint: keep one of them; to replace an entry of the base, set `replace` in the recipe
    [exit 1]
    ");
    insta::assert_snapshot!(said(&SECRET.replace("pull-secret", "pullsecret"), EMPTY), @"
    [stderr]
    error: `mine/x` cannot be built (recipes/66-mine/x.toml)
    caused by: parameter `inputs.pullsecret` must be declared: a parameter names it
    [exit 1]
    ");
    insta::assert_snapshot!(said(SECRET, r#"{"ignition": {"version": "3.4.0"}, "storage": {"file": []}}"#), @"
    [stderr]
    error: `mine/x` cannot be built (recipes/66-mine/x.toml)
    caused by: `base` is not an Ignition config
    caused by: spec 3.4.0 has no `storage.file`
    [exit 1]
    ");
    // What the recipe calls public is looked at.
    let leaking = r#"{"ignition": {"version": "3.4.0"}, "storage": {"files": [{"path": "/etc/leak", "contents": {"source": "data:,auth%20ZGVtbzpkZW1v"}}]}}"#;
    let said = said(SECRET, leaking);
    assert!(!said.contains("ZGVtbzpkZW1v"), "{said}");
    insta::assert_snapshot!(said, @"
    [stderr]
    error: `mine/x` cannot be built (recipes/66-mine/x.toml)
    caused by: parameter `base`: `/etc/leak` contains `pull-secret`, but is not listed as `secret`
    [exit 1]
    ");
}

#[test]
fn replacing_is_possible_when_it_is_said() {
    let replace = "[[params.write]]\npath = \"/etc/one\"\nmode = \"0600\"\nfrom = \"one\"\nwhy = \"x\"\n";
    let ws = Workspace::with(&[
        (
            "recipes/61-mine/base.toml",
            "# A base.\nbuilder = \"template\"\n[files]\n\"config.ign\" = \"base.j2\"\n\"one\" = \"one.j2\"\n",
        ),
        ("recipes/61-mine/base.j2", BASE),
        ("recipes/61-mine/one.j2", "one"),
        (
            "recipes/66-mine/x.toml",
            &format!(
                "# A config.\nbuilder = \"ignition\"\n[inputs]\nbase = \"mine/base:config.ign\"\none = \"mine/base:one\"\n[params]\nnode = \"x\"\nbase = {{from = \"base\", why = \"a base\"}}\n{replace}replace = \"because\"\n"
            ),
        ),
    ]);
    ws.build(&["mine/x"]);
    let text = std::fs::read_to_string(ws.path_of("mine/x").join("x.ign")).unwrap();
    assert_eq!(
        text,
        "{\"ignition\":{\"version\":\"3.4.0\"},\"storage\":{\"files\":[{\"contents\":{\"source\":\"data:,one\"},\"mode\":384,\"overwrite\":true,\"path\":\"/etc/one\"}]}}\n"
    );
    let told = ws.json(&["blame", "mine/x:/etc/one"]);
    assert_eq!(told["replaces"], serde_json::json!(["because"]));
}
