//! Mistakes in recipes: each is named with its place, and all at once where that is possible.

use std::fs;

use super::harness::{Workspace, source};

/// The example with these files below `recipes/`; the session of a build of the target.
fn build(files: &[(&str, &str)], target: &str) -> String {
    let files: Vec<(String, &str)> =
        files.iter().map(|(path, text)| (format!("recipes/{path}"), *text)).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
    let ws = Workspace::with(&files);
    let text = ws.run(&["build", target]);
    assert!(!text.contains("[exit 0]"), "{text}");
    text
}

const PLAIN: &str = "builder = 'template'\n[files]\n'a' = 'a.j2'\n";

#[test]
fn a_cycle_names_its_members() {
    let one = "builder = 'tree'\n[inputs]\nx = 'demo/two'\n[params.place]\nx = ''\n";
    let two = "builder = 'tree'\n[inputs]\nx = 'demo/three'\n[params.place]\nx = ''\n";
    let three = "builder = 'tree'\n[inputs]\nx = 'demo/one'\n[params.place]\nx = ''\n";
    let files = [("20-demo/one.toml", one), ("20-demo/two.toml", two), ("20-demo/three.toml", three)];
    insta::assert_snapshot!(build(&files, "demo"), @"
    [stderr]
    error: 1 problem:
    recipes/20-demo/one.toml: a cycle: `demo/one` (recipes/20-demo/one.toml) needs `demo/two` (recipes/20-demo/two.toml) needs `demo/three` (recipes/20-demo/three.toml) needs `demo/one` (recipes/20-demo/one.toml)
    [exit 1]
    ");
    let own = "builder = 'tree'\n[inputs]\nx = 'demo/own'\n[params.place]\nx = ''\n";
    insta::assert_snapshot!(build(&[("20-demo/own.toml", own)], "demo"), @"
    [stderr]
    error: 1 problem:
    recipes/20-demo/own.toml: a cycle: `demo/own` (recipes/20-demo/own.toml) needs `demo/own` (recipes/20-demo/own.toml)
    [exit 1]
    ");
}

#[test]
fn an_unknown_input_is_guessed() {
    let user =
        "builder = 'tree'\n\n[inputs]\nx = 'infra/haprox'\ny = 'nothing/*'\n[params.place]\nx = ''\ny = ''\n";
    insta::assert_snapshot!(build(&[("90-demo/user.toml", user)], "demo"), @"
    [stderr]
    error: 2 problems:
    recipes/90-demo/user.toml:4: inputs.x: `demo/user` needs `infra/haprox`, which no recipe provides
      hint: did you mean `infra/haproxy`?
    recipes/90-demo/user.toml:5: inputs.y: `demo/user` needs `nothing/*`, which no recipe provides
    [exit 1]
    ");
}

#[test]
fn a_duplicate_name_names_both_places() {
    let named = "builder = 'template'\nname = 'pool'\n[files]\n'a' = 'a.j2'\n";
    insta::assert_snapshot!(build(&[("70-infra/mine.toml", named), ("70-infra/a.j2", "x")], "infra"), @"
    [stderr]
    error: 1 problem:
    built-in recipes/70-infra/pool.toml:1: `infra/pool` is also made by recipes/70-infra/mine.toml
      hint: to replace a recipe, give yours the same path below recipes/
    [exit 1]
    ");
    let files = [
        ("20-demo/a.j2", "x"),
        ("20-demo/one.toml", PLAIN),
        ("21-demo/one.toml", PLAIN),
        ("21-demo/a.j2", "y"),
    ];
    insta::assert_snapshot!(build(&files, "demo"), @"
    [stderr]
    error: 1 problem:
    recipes/21-demo/one.toml:1: `demo/one` is also made by recipes/20-demo/one.toml
      hint: to replace a recipe, give yours the same path below recipes/
    [exit 1]
    ");
}

#[test]
fn an_input_of_a_later_stage_names_both() {
    let early = "builder = 'tree'\n[inputs]\nx = 'infra/pool'\n[params.place]\nx = ''\n";
    insta::assert_snapshot!(build(&[("20-demo/early.toml", early)], "demo"), @"
    [stderr]
    error: 1 problem:
    recipes/20-demo/early.toml:3: inputs.x: `demo/early` (stage 20) needs `infra/pool` of a later stage 70 (built-in recipes/70-infra/pool.toml)
      hint: move one of the two, so that the listing of recipes/ stays the build order
    [exit 1]
    ");
}

#[test]
fn an_absent_input_says_why() {
    let user = "builder = 'tree'\n[inputs]\nx = 'manifest/user-ca-bundle'\n[params.place]\nx = ''\n";
    insta::assert_snapshot!(build(&[("90-demo/user.toml", user)], "demo"), @"
    [stderr]
    error: 1 problem:
    recipes/90-demo/user.toml:3: inputs.x: `manifest/user-ca-bundle` is absent: its recipe asks for `trustBundle.certificates`
    [exit 1]
    ");
}

#[test]
fn a_recipe_can_be_for_one_platform() {
    let [none, other] =
        ["none", "baremetal"].map(|platform| format!("when = 'platform = {platform}'\n{PLAIN}"));
    let files = [("90-demo/none.toml", &*none), ("90-demo/other.toml", &*other), ("90-demo/a.j2", "x")];
    insta::assert_snapshot!(build(&files, "demo/other"), @"
    [stderr]
    error: there is no `demo/other` here: its recipe asks for `platform = baremetal`, and `platform` is `none`
    [exit 1]
    ");
    let files = files.map(|(path, text)| (format!("recipes/{path}"), text));
    let ws = Workspace::with(&files.each_ref().map(|(path, text)| (path.as_str(), *text)));
    assert!(ws.run(&["build", "demo", "-v"]).contains("built demo/none"));
}

#[test]
fn what_is_named_is_used() {
    let alias = "builder = 'template'\n[config]\nd = 'cluster.domain'\n[files]\n'a' = 'a.j2'\n";
    insta::assert_snapshot!(build(&[("20-demo/alias.toml", alias), ("20-demo/a.j2", "x")], "demo"), @"
    [stderr]
    failed demo/alias
    error: `demo/alias` cannot be built (recipes/20-demo/alias.toml)
    caused by: the recipe sets `d`, but nothing in `a` uses it
    hint: remove it: declared names cause rebuilds when they change
    [exit 1]
    ");
    let input = "builder = 'template'\n[inputs]\nd = 'infra/pool'\n[files]\n'a' = 'a.j2'\n";
    insta::assert_snapshot!(build(&[("90-demo/input.toml", input), ("90-demo/a.j2", "x")], "demo"), @"
    [stderr]
    failed demo/input
    error: `demo/input` cannot be built (recipes/90-demo/input.toml)
    caused by: the recipe sets `d`, but nothing in `a` uses it
    hint: remove it: declared names cause rebuilds when they change
    [exit 1]
    ");
    let placed =
        "builder = 'tree'\n[inputs]\nd = 'infra/pool'\ne = 'infra/network'\n[params.place]\nd = ''\n";
    insta::assert_snapshot!(build(&[("90-demo/placed.toml", placed)], "demo"), @"
    [stderr]
    failed demo/placed
    error: `demo/placed` cannot be built (recipes/90-demo/placed.toml)
    caused by: the recipe sets `e`, but nothing in `place` or `join` uses it
    hint: remove it: declared names cause rebuilds when they change
    [exit 1]
    ");
    let parameter = "builder = 'template'\n[files]\n'a' = 'a.j2'\n[params]\nexce = ['a']\n";
    insta::assert_snapshot!(build(&[("20-demo/parameter.toml", parameter), ("20-demo/a.j2", "x")], "demo"), @"
    [stderr]
    failed demo/parameter
    error: `demo/parameter` cannot be built (recipes/20-demo/parameter.toml)
    caused by: unknown parameter `exce`
    hint: did you mean `exec`?
    [exit 1]
    ");
}

/// The other way round: what `place` names must be an input.
#[test]
fn what_is_placed_is_an_input() {
    let recipe = "builder = 'tree'\n[inputs]\nx = 'infra/pool'\n[params.place]\nx = ''\ny = 'y'\n";
    insta::assert_snapshot!(build(&[("90-demo/x.toml", recipe)], "demo"), @"
    [stderr]
    failed demo/x
    error: `demo/x` cannot be built (recipes/90-demo/x.toml)
    caused by: parameter `inputs.y` must be declared: `place` or `join` names it
    [exit 1]
    ");
}

#[test]
fn an_undefined_name_has_file_and_line() {
    let recipe = "builder = 'template'\n[config]\ndomain = 'cluster.domain'\n[files]\n'a' = 'a.j2'\n";
    let template = "{{ domain }}\n\n{{ domian }}\n";
    insta::assert_snapshot!(build(&[("20-demo/x.toml", recipe), ("20-demo/a.j2", template)], "demo"), @"
    [stderr]
    failed demo/x
    error: `demo/x` cannot be built (recipes/20-demo/x.toml)
    caused by: recipes/20-demo/a.j2:3: undefined value: `domian` is undefined
    hint: did you mean `domain`?
    [exit 1]
    ");
    let template = "{{ domain }}\n{{ domain.no.such }}\n";
    insta::assert_snapshot!(build(&[("20-demo/x.toml", recipe), ("20-demo/a.j2", template)], "demo"), @"
    [stderr]
    failed demo/x
    error: `demo/x` cannot be built (recipes/20-demo/x.toml)
    caused by: recipes/20-demo/a.j2:2: undefined value: `domain.no` is undefined
    [exit 1]
    ");
    let template = "{{ domain }}\n{% if %}\n";
    insta::assert_snapshot!(build(&[("20-demo/x.toml", recipe), ("20-demo/a.j2", template)], "demo"), @"
    [stderr]
    failed demo/x
    error: `demo/x` cannot be built (recipes/20-demo/x.toml)
    caused by: recipes/20-demo/a.j2:2: syntax error: unexpected end of block
    [exit 1]
    ");
}

#[test]
fn an_unknown_builder_is_guessed() {
    let recipe = PLAIN.replace("template", "templat");
    insta::assert_snapshot!(build(&[("20-demo/x.toml", &recipe), ("20-demo/a.j2", "x")], "demo"), @"
    [stderr]
    failed demo/x
    error: recipes/20-demo/x.toml:1: builder: there is no builder `templat`
    hint: did you mean `template`?
    [exit 1]
    ");
    let recipe = PLAIN.replace("template", "shell");
    let text = build(&[("20-demo/x.toml", &recipe), ("20-demo/a.j2", "x")], "demo");
    let known = text.lines().find(|line| line.starts_with("hint: known: ")).unwrap();
    assert!(known.contains("template, ") && known.contains("tree, "), "{text}");
}

/// A name becomes a directory of the store and a line on a terminal: neither may be led astray.
#[test]
fn names_that_climb_or_control() {
    let named = |name: &str| format!("builder = 'template'\nname = \"{name}\"\n[files]\n'a' = 'a.j2'\n");
    for (name, file) in [
        ("../evil", "a"),
        ("a..b", "b"),
        ("a\\u001b[31mred", "c"),
        ("a\\nb", "d"),
        ("", "e"),
        ("a/b", "f"),
        ("A", "g"),
    ] {
        let text = build(&[(&format!("20-demo/{file}.toml"), &named(name)), ("20-demo/a.j2", "x")], "demo");
        assert!(text.contains("is not a name") && !text.contains('\u{1b}'), "{name:?}: {text}");
    }
    insta::assert_snapshot!(build(&[("20-demo/x.toml", &named("../evil")), ("20-demo/y.toml", &named("a\\u001b[31mred")), ("20-demo/a.j2", "x")], "demo"), @r#"
    [stderr]
    error: 2 problems:
    recipes/20-demo/x.toml:2: name: `../evil` is not a name
      hint: names are made of a-z, 0-9, `-`, `_` and `.`, and begin with a letter or digit
    recipes/20-demo/y.toml:2: name: `a\u{1b}[31mred` is not a name
      hint: names are made of a-z, 0-9, `-`, `_` and `.`, and begin with a letter or digit
    [exit 1]
    "#);
    insta::assert_snapshot!(build(&[("20-demo/a\u{1b}[31m.toml", PLAIN), ("20-demo/b..c.toml", PLAIN), ("20-demo/a.j2", "x")], "demo"), @r#"
    [stderr]
    error: 1 problem:
    recipes/20-demo/a\u{1b}[31m.toml: the file's name has control characters or is not UTF-8
    [exit 1]
    "#);
    insta::assert_snapshot!(build(&[("20-demo/b..c.toml", PLAIN), ("20-/x.toml", PLAIN), ("x/y.toml", PLAIN), ("20-a/b/c.toml", PLAIN)], "demo"), @"
    [stderr]
    error: 4 problems:
    recipes/20-/x.toml:3: files.a: there is no file `20-/a.j2` below recipes/
    recipes/20-a/b/c.toml: `a/b` is not a name
      hint: names are made of a-z, 0-9, `-`, `_` and `.`, and begin with a letter or digit
    recipes/20-demo/b..c.toml: `b..c` is not a name
      hint: names are made of a-z, 0-9, `-`, `_` and `.`, and begin with a letter or digit
    recipes/x/y.toml: not in a numbered stage
      hint: put it into a folder such as `50-manifest`, or name it `99-name.toml`
    [exit 1]
    ");
}

#[test]
fn file_paths_stay_inside() {
    let recipe = "builder = 'template'\n[files]\n'a' = '/etc/passwd'\n'b' = '../../cluster.seed'\n'../c' = 'a.j2'\n'/d' = 'a.j2'\n\"e\\u0007\" = 'a.j2'\n";
    insta::assert_snapshot!(build(&[("20-demo/x.toml", recipe), ("20-demo/a.j2", "x")], "demo"), @r#"
    [stderr]
    error: 5 problems:
    recipes/20-demo/x.toml:3: files.a: there is no file `etc/passwd` below recipes/
    recipes/20-demo/x.toml:4: files.b: `../../cluster.seed`: a path may not contain `.` or `..`
    recipes/20-demo/x.toml:5: files.../c: `a.j2`: a path may not contain `.` or `..`
    recipes/20-demo/x.toml:6: files./d: `a.j2`: a path may not be absolute
    recipes/20-demo/x.toml:7: files.e\u{7}: `a.j2`: a path may not contain control characters
    [exit 1]
    "#);
    let recipe = "builder = 'tree'\n[inputs]\nx = 'infra/pool:../../secret'\n[params.place]\nx = ''\n";
    insta::assert_snapshot!(build(&[("90-demo/x.toml", recipe)], "demo"), @"
    [stderr]
    error: 1 problem:
    recipes/90-demo/x.toml:3: inputs.x: `infra/pool:../../secret`: a path may not contain `.` or `..`
    [exit 1]
    ");
    let recipe = "builder = 'tree'\n[inputs]\nx = 'infra/pool:pool.xml'\n[params.place]\nx = '../out'\n";
    insta::assert_snapshot!(build(&[("90-demo/x.toml", recipe)], "demo"), @"
    [stderr]
    failed demo/x
    error: `demo/x` cannot be built (recipes/90-demo/x.toml)
    caused by: the output contains `../out`, which cannot be stored: a path may not contain `.` or `..`
    hint: an output may contain files, directories and links that stay inside it, with plain names
    [exit 1]
    ");
}

#[test]
fn a_part_that_an_input_does_not_have() {
    let recipe = "builder = 'tree'\n[inputs]\nx = 'infra/pool:pool.xlm'\n[params.place]\nx = 'x'\n";
    insta::assert_snapshot!(build(&[("90-demo/x.toml", recipe)], "demo"), @"
    [stderr]
    failed demo/x
    error: `demo/x` needs `pool.xlm` of `infra/pool`, which has no such file (recipes/90-demo/x.toml)
    hint: did you mean `pool.xml`?
    [exit 1]
    ");
}

/// Everything that can be seen by reading is reported in one go.
#[test]
fn many_problems_at_once() {
    let files = [
        ("20-demo/a.j2", "x"),
        ("20-demo/each.toml", "builder = 'template'\nfor_each = 'workers'\n[files]\n'a' = 'a.j2'\n"),
        (
            "20-demo/list.toml",
            "builder = 'template'\nfor_each = 'worker'\nname = '{node}'\n[files]\n'a' = 'a.j2'\n",
        ),
        (
            "20-demo/field.toml",
            "builder = 'template'\n[config]\nd = 'cluster.domian'\n[files]\n'a' = 'a.j2'\n",
        ),
        ("20-demo/key.toml", "builder = 'template'\n\ninput = {}\n"),
        ("20-demo/float.toml", "builder = 'template'\n[params]\nx = 1.5\n"),
        ("20-demo/date.toml", "builder = 'template'\n[params]\nx = 2026-11-16\n"),
        ("20-demo/file.toml", "builder = 'template'\n[files]\n'a' = 'b.j2'\n"),
        ("20-demo/toml.toml", "builder = 'template'\n[files\n"),
        ("20-demo/none.toml", "[files]\n'a' = 'a.j2'\n"),
        ("20-demo/when.toml", "builder = 'template'\nwhen = 'no.such'\n[files]\n'a' = 'a.j2'\n"),
        ("20-demo/taken.toml", "builder = 'template'\n[params]\nfiles = {}\n"),
        ("loose.toml", PLAIN),
    ];
    insta::assert_snapshot!(build(&files, "demo"), @r#"
    [stderr]
    error: 12 problems:
    recipes/20-demo/date.toml: params.x: write a date as a text
    recipes/20-demo/each.toml:2: for_each: needs a `name` with `{node}` in it
      hint: write for example `name = "{node}"`
    recipes/20-demo/field.toml:3: config.d: `cluster.domian`: `cluster` has no `domian`
      hint: did you mean `domain`?
    recipes/20-demo/file.toml:3: files.a: there is no file `20-demo/b.j2` below recipes/
      hint: did you mean `a.j2`?
    recipes/20-demo/float.toml: params.x: a float has no canonical text: write a whole number or a text
    recipes/20-demo/key.toml:3: input: unknown field
      hint: did you mean `inputs`?
    recipes/20-demo/list.toml:2: for_each: there is no list `worker`
      hint: did you mean `workers`?
    recipes/20-demo/none.toml: needs a `builder`, or `none` with the reason why there is no such artifact
      hint: write for example `builder = "template"`
    recipes/20-demo/taken.toml:1: params: `params.files` is reserved: use the table `[files]`
    recipes/20-demo/toml.toml:2: unclosed table, expected `]`
    recipes/20-demo/when.toml:2: when: `no.such`: the cluster has no `no`
    recipes/loose.toml: not in a numbered stage
      hint: put it into a folder such as `50-manifest`, or name it `99-name.toml`
    [exit 1]
    "#);
}

/// Files that are nobody's business: hidden ones and editors' leftovers.
#[test]
fn leftovers_are_ignored() {
    let ws = Workspace::with(&[
        ("recipes/20-demo/.x.toml", "["),
        ("recipes/20-demo/x.toml~", "["),
        ("recipes/.git/x.toml", "["),
    ]);
    ws.build(&["infra/pool"]);
}

/// Every release that tables know, and one that is to come: all recipes find what they name.
#[test]
fn recipes_load_on_every_release() {
    let ws = Workspace::example();
    let mut locked = "4.18.0-demo".to_owned();
    for minor in ["4.18", "4.19", "4.20", "4.21", "4.22", "4.23", "5.0"] {
        for version in [format!("{minor}.3"), format!("{minor}.0-okd-scos.3")] {
            ws.edit("cluster.lock", &format!("version = \"{locked}\""), &format!("version = \"{version}\""));
            locked = version;
            let said = ws.run(&["graph", "--format", "json"]);
            assert!(said.contains("\"cluster\"") && said.ends_with("[exit 0]\n"), "{locked}: {said}");
        }
    }
}

/// A name that a table does not have, in an input and in a parameter.
#[test]
fn an_unknown_name_is_guessed() {
    let recipe = "# Mine.\nbuilder = 'tree'\n[inputs]\nx = 'release/images:components/{component.podd}'\n[params.place]\nx = '{mco.kind}'\n";
    insta::assert_snapshot!(build(&[("90-demo/mine.toml", recipe)], "demo"), @"
    [stderr]
    error: 2 problems:
    recipes/90-demo/mine.toml: params.place: `{mco.kind}`: built-in recipes/knowledge/mco-kinds.toml has no `kind`
      hint: did you mean `kinds`?
    recipes/90-demo/mine.toml:4: inputs.x: `{component.podd}`: built-in recipes/knowledge/components.toml has no `podd`
      hint: did you mean `pod`?
    [exit 1]
    ");
}

/// A component that a release renames is a row of one table.
#[test]
fn a_renamed_component_is_a_row() {
    let table = fs::read_to_string(source("recipes/knowledge/components.toml")).unwrap();
    let renamed = table.replace("name = \"etcd\"", "name = \"etcd-next\"");
    let ws = Workspace::with(&[("recipes/knowledge/components.toml", &renamed)]);
    let said = ws.run(&["build", "static-pod/etcd", "-q"]);
    assert!(said.contains("release `4.18.0-demo` has no component `etcd-next`"), "{said}");
    let since = table.replace("name = \"etcd\"", "name = \"etcd\"\nreleases = \">=4.19\"");
    ws.write("recipes/knowledge/components.toml", &since);
    let said = ws.run(&["build", "static-pod/etcd", "-q"]);
    let wanted =
        "inputs.image: `{component.etcd}`: recipes/knowledge/components.toml has no `etcd` for ocp 4.18";
    assert!(said.contains(wanted), "{said}");
}

/// A mistake in a table of the user's own is said, whether something reads it or not.
#[test]
fn a_broken_table_is_an_error() {
    let table = "[[file]]\npath = \"/etc/motd\"\neffect = \"writen\"\n";
    let ws = Workspace::with(&[("recipes/knowledge/node-disruption.toml", table)]);
    let wanted = "recipes/knowledge/node-disruption.toml:1: file[0]: unknown variant `writen`";
    for verb in ["build", "check"] {
        let said = ws.run(&[verb]);
        assert!(said.contains(wanted) && said.ends_with("[exit 1]\n"), "{said}");
    }
}

/// A boot fact of later releases is not asked for before.
#[test]
fn a_fact_of_later_releases_is_not_asked_for() {
    let table = fs::read_to_string(source("recipes/knowledge/boot-facts.toml")).unwrap();
    let later = table.replace("name = \"admin-group\"", "name = \"admin-group\"\nreleases = \">=4.20\"");
    let ws = Workspace::with(&[("recipes/knowledge/boot-facts.toml", &later)]);
    let checks = ws.json(&["check"]);
    let of = |name: &str| {
        let checks = checks["checks"].as_array().unwrap();
        checks.iter().find(|check| check["name"] == name).unwrap()["status"].as_str().unwrap().to_owned()
    };
    assert_eq!(
        (of("admin-group").as_str(), of("apiserver-sans").as_str()),
        ("not for this release", "passed")
    );
}
