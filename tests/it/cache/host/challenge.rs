//! `challenge`: two builders whose programs are not deterministic, and one that nobody trusts.

use serde_json::{Value, json};

use super::{configure, generate};
use crate::harness::{Workspace, left_out, names};
use crate::registry::host::Registry;

/// A directory with two programs: one says what it was given, the other something else each time. A third derivation needs both.
fn workspace() -> Option<Workspace> {
    let ws = crate::host::render::workspace(&[("cluster-ingress-operator", "ingress-operator")], None)?;
    for (name, script) in
        [("pure", "echo always"), ("random", "/bin/busybox head -c 8 /dev/urandom | /bin/busybox od -x")]
    {
        let recipe = format!(
            "# Planted.\nbuilder = \"run\"\n[inputs]\nimage = \"operator-image/cluster-ingress-operator\"\n\
             [[params.steps]]\nrun = [\"/bin/busybox\", \"sh\", \"-c\", '''{script} > /out/found''']\n\
             [params.outputs]\nfound = \"/out/found\"\n"
        );
        ws.write(&format!("recipes/63-planted/{name}.toml"), &recipe);
    }
    Some(ws)
}

fn challenge(ws: &Workspace, args: &[&str]) -> (Option<i32>, Value) {
    let output = ws.output(&[&["challenge", "--json"], args].concat());
    let document = serde_json::from_slice(&output.stdout);
    (output.status.code(), document.unwrap_or_else(|_| panic!("{}", ws.text(&output))))
}

#[test]
fn the_first_divergence_is_found_and_shown() {
    let Some(registry) = Registry::start() else { return left_out("a cache", "docker-registry") };
    let (Some(one), Some(other), Some(stranger)) = (workspace(), workspace(), workspace()) else { return };
    let key = format!("key: '{}'", generate(&one));
    generate(&stranger);
    for from in [&one, &stranger] {
        configure(from, &registry, &[]);
        from.build(&["planted"]);
        from.json(&["push", "planted"]);
    }
    configure(&other, &registry, &[&key]);
    assert!(other.output(&["build", "--no-cache", "planted"]).status.success());

    let (code, found) = challenge(&other, &["planted"]);
    assert_eq!(code, Some(1), "{found}");
    assert_eq!(
        names(&Value::Array(
            found["divergences"].as_array().unwrap().iter().map(|one| one["name"].clone()).collect()
        )),
        ["planted/random"]
    );
    let claims = found["divergences"][0]["claims"].as_array().unwrap();
    assert_eq!((claims.len(), &claims[0]["source"]), (2, &json!("here")));
    assert_ne!(claims[0]["object"], claims[1]["object"]);
    assert!(key.contains(claims[1]["key"].as_str().unwrap()));
    let (here, cache) = (&found["voices"][0], &found["voices"][1]);
    assert_eq!((&here["agrees"], &here["differs"]), (&found["derivations"], &json!(0)), "{here}");
    assert_eq!((&cache["differs"], &cache["silent"]), (&json!(1), &json!(0)), "{cache}");
    assert_eq!(found["unknown"][0]["outputs"], found["derivations"], "{found}");
    let artifact = &found["diff"]["artifacts"][0];
    assert_eq!(
        (&artifact["name"], &artifact["old"]),
        (&json!("planted/random"), &claims[0]["object"]),
        "{found}"
    );
    assert!(!artifact["differences"].as_array().unwrap().is_empty(), "{artifact}");
    let text = other.run(&["challenge", "planted"]);
    assert!(
        text.contains("`planted/random` is the first of 1 with different outputs")
            && text.contains("[exit 1]"),
        "{text}"
    );
    assert!(text.contains("which nobody here knows"), "{text}");
    // Nothing was believed: the build uses what it used.
    let report = other.json(&["build", "--no-cache", "planted"]);
    assert_eq!(report["built"], json!([]));
    let used = report["targets"].as_array().unwrap().iter().find(|target| target["name"] == "planted/random");
    assert_eq!(used.unwrap()["object"], claims[0]["object"]);
    other.assert_sound();

    // Agreement, and a rebuild that agrees.
    let (code, found) = challenge(&other, &["planted/pure", "--rebuild"]);
    assert_eq!((code, &found["divergences"]), (Some(0), &json!([])), "{found}");
    // A rebuild here is enough to find it, with no cache at all.
    let alone = workspace().unwrap();
    alone.build(&["planted/random"]);
    assert_eq!(challenge(&alone, &["planted/random"]).0, Some(0));
    let (code, found) = challenge(&alone, &["planted/random", "--rebuild"]);
    assert_eq!((code, &found["divergences"][0]["claims"][1]["source"]), (Some(1), &json!("here")), "{found}");
    // Trouble is neither.
    let output = other.output(&["challenge", "cluster"]);
    assert_eq!(output.status.code(), Some(2), "{}", other.text(&output));
}
