//! The same files, lock and seed give the same ids: in any directory, in any store, on any machine.

use std::collections::{BTreeMap, BTreeSet};

use super::harness::{Workspace, tree};

/// Name → identity and content of everything that the demo release has programs for.
fn ids(ws: &Workspace) -> BTreeMap<String, (String, String)> {
    let graph = ws.json(&["graph"]);
    let all = graph["derivations"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap());
    // The demo release has no content for operators and operands.
    let without = ["operand-image/", "operator-image/", "render/"];
    let all: Vec<&str> = all.filter(|name| !without.iter().any(|folder| name.starts_with(folder))).collect();
    let report = ws.json(&[&["build"], all.as_slice()].concat());
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let targets = report["targets"].as_array().unwrap().iter();
    targets.map(|one| (text(&one["name"]), (text(&one["drv"]), text(&one["object"])))).collect()
}

/// Two clones in different directories, seed and lock copied. What is prebuilt was built in a third one.
#[test]
fn two_directories_give_the_same_ids() {
    let (one, other) = (Workspace::example(), Workspace::example().prebuilt());
    assert_ne!(one.dir, other.dir);
    let ids = [ids(&one), ids(&other)];
    assert!(ids[0].len() > 15);
    assert_eq!(ids[0], ids[1]);
    let objects = |ws: &Workspace| {
        tree(&ws.store).into_iter().filter(|(path, _)| !path.starts_with('.')).collect::<Vec<_>>()
    };
    assert!(objects(&one) == objects(&other), "the same bytes, modes and names");
}

/// Another seed is another identity for what comes out of it, and for nothing else.
#[test]
fn the_seed_reaches_what_comes_out_of_it() {
    let (one, other) = (Workspace::example().prebuilt(), Workspace::example());
    other.write_seed(&[8; 32]);
    let (before, after) = (ids(&one), ids(&other));
    let changed: BTreeSet<&str> =
        before.iter().filter(|(name, ids)| after[*name].1 != ids.1).map(|(name, _)| name.as_str()).collect();
    // From the seed itself: all keys and names. From secrets, whose ids are keyed: the pull secret.
    let graph = one.json(&["graph"]);
    let seeded = ["identity", "keypair", "authority", "self-signed", "certificate"];
    let mut reached: BTreeSet<&str> =
        BTreeSet::from(["manifest/openshift-config-secret-pull-secret", "mco/master", "mco/worker"]);
    for node in graph["derivations"].as_array().unwrap() {
        let name = node["name"].as_str().unwrap();
        let inputs = node["inputs"].as_array().unwrap();
        let below = inputs.iter().any(|input| reached.contains(input.as_str().unwrap()));
        if below || seeded.contains(&node["builder"].as_str().unwrap()) {
            reached.insert(name);
        }
    }
    let reported = reached
        .iter()
        // These only look at manifests: checks say the same about both, and nobody has an Authentication or tunes nodes. What
        // clusters share has placeholders for what is theirs.
        .filter(|name| {
            !["check/", "bootstrap-config/", "node-tuning/", "mco/shared"]
                .iter()
                .any(|folder| name.starts_with(folder))
        })
        .filter(|name| before.contains_key(**name))
        .copied()
        .collect::<BTreeSet<_>>();
    assert_eq!(changed, reported, "what the seed reaches");
    let folders = ["release/", "static-pod/", "infra/haproxy", "infra/firewall", "script/"];
    assert!(!changed.iter().any(|name| folders.iter().any(|folder| name.starts_with(folder))));
}

/// The lock is an input like any other.
#[test]
fn the_epoch_is_an_input_of_what_names_it() {
    let ws = Workspace::with(&[
        (
            "recipes/20-demo/time.toml",
            "builder = 'template'\n[config]\ne = 'lock.epoch'\n[files]\n'time' = 'time.j2'\n",
        ),
        ("recipes/20-demo/time.j2", "{{ e }}\n"),
    ]);
    let unmoved = [
        "demo",
        "release",
        "identity",
        "key",
        "static-pod",
        "script",
        "infra/haproxy",
        "infra/network",
        "infra/pool",
    ];
    ws.build(&unmoved);
    ws.output(&["lock", "--update", "epoch=2030-01-01T00:00:00Z"]);
    assert_eq!(ws.build(&unmoved), ["demo/time"]);
}

/// Literal ids. A change here is a change of every id in every store: a decision, to be explained in the commit.
#[test]
fn ids_are_pinned() {
    let ws = Workspace::with(&[
        ("recipes/20-demo/plain.toml", "builder = 'template'\n[files]\n'a' = 'plain.j2'\n"),
        ("recipes/20-demo/plain.j2", "plain\n"),
        (
            "recipes/20-demo/config.toml",
            "builder = 'template'\n[config]\nn = 'nodes.*.{name,ip}'\n[params]\nexec = ['run']\n[files]\n'run' = 'config.j2'\n",
        ),
        ("recipes/20-demo/config.j2", "{% for one in n %}{{ one.name }} {{ one.ip }}\n{% endfor %}"),
        (
            "recipes/20-demo/secret.toml",
            "builder = 'template'\n[config]\np = 'pullSecret'\n[files]\n's' = 'secret.j2'\n",
        ),
        ("recipes/20-demo/secret.j2", "{{ p }}\n"),
        (
            "recipes/21-all/tree.toml",
            "builder = 'tree'\n[inputs]\nall = 'demo/*'\none = 'demo/config:run'\n[params.place]\nall = 'all'\none = 'bin/run'\n",
        ),
    ]);
    let report = ws.json(&["build", "demo", "all"]);
    let shown: Vec<String> = report["targets"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            format!(
                "{} {} {}",
                one["name"].as_str().unwrap(),
                one["drv"].as_str().unwrap(),
                one["object"].as_str().unwrap()
            )
        })
        .collect();
    insta::assert_snapshot!(shown.join("\n"), @"
    demo/config gowirj24amv5xmrhqzxvwmroggg75gr3zowmvy6dz5jeuyqr6ptq vk2zkdwf57o7k3hpmwqwg5rydy2obivvd4egfichao7nfyaksqia
    demo/plain qagna3v5z2247vdzbdxv5vo5pfp2nqyexefctsraagidhqtsjf7a blaz37y5fb7yeklvl4nqxuo6hfli55exnnbftmifn3ozdjcsstea
    demo/secret wnmhg4gth6tnaz5ingyoggb6qqo6v3myearsgpfaxbn6gqounina p5m4ahzakr3n2ex5nzkudwc5lsryln45xygbdjxeffi4jmdp4siq
    all/tree ueycinsbgtu53jygq4vwsgaj54hnky6qmc2ekz3z7zasboqf2rsa bc6uvx3zxpe74tr2zgqzazutjzcix3nxlxckxj3na2j2qiclunma
    ");
}
