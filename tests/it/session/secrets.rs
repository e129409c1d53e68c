//! The pull secret stays secret.

use std::fs;
use std::path::Path;

use base64::Engine as _;

use crate::harness::{Workspace, set_mode, tree};

/// The value of the pull secret, and the forms in which it could hide: itself, and its base64 at any alignment.
fn forms(secret: &str) -> Vec<String> {
    let encode = |bytes: String| base64::engine::general_purpose::STANDARD.encode(bytes);
    let mut forms = vec![secret.to_owned()];
    for (before, skip) in [("", 0), ("x", 2), ("xx", 3)] {
        let whole = encode(format!("{before}{secret}"));
        forms.push(whole[skip..whole.len() - 4].to_owned());
    }
    forms
}

fn leaks(bytes: &[u8], secrets: &[&str]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    secrets.iter().flat_map(|secret| forms(secret)).any(|form| text.contains(&form))
}

/// The pull secret is never printed, never among events, and in the store only in files that are for their owner.
#[test]
fn secrets_stay_secret() {
    let (one, other) = ("b25lOnNlY3JldCBvZiBhIHJlZ2lzdHJ5", "YW5vdGhlcjpzZWNyZXQgb2YgYSByZWdpc3RyeQ");
    let secrets = [one, other];
    let ws = Workspace::with(&[
        // Mistakes close to the secret must not show it either.
        (
            "recipes/60-demo/undefined.toml",
            "builder = 'template'\n[config]\npull = 'pullSecret'\n[files]\n'a' = 'a.j2'\n",
        ),
        ("recipes/60-demo/a.j2", "{{ pull }} {{ pul }}\n"),
        (
            "recipes/60-demo/wrong.toml",
            "builder = 'template'\n[config]\nx = 'pullSecret'\n[files]\n'b' = 'b.j2'\n",
        ),
        ("recipes/60-demo/b.j2", "{{ x.y.z }} {{ x + 1 }}\n"),
        (
            "recipes/60-demo/copy.toml",
            "builder = 'template'\n[config]\nx = 'pullSecret'\n[files]\n'c' = 'c.j2'\n",
        ),
        ("recipes/60-demo/c.j2", "{{ x }} {{ x | b64 }}\n"),
        (
            "recipes/61-more/user.toml",
            "builder = 'template'\n[inputs]\nx = 'demo/copy'\n[files]\n'd' = 'd.j2'\n",
        ),
        ("recipes/61-more/d.j2", "{{ x['c'] }}\n"),
    ]);
    ws.edit("install-config.yaml", "ZGVtbzpkZW1v", one);
    let object = || ws.json(&["show", "manifest/openshift-config-secret-pull-secret"])["object"].to_string();
    let session = |args: &[&str]| {
        let output = ws.output(args);
        for stream in [&output.stdout, &output.stderr] {
            assert!(!leaks(stream, &secrets), "{args:?}: {}", ws.text(&output));
        }
    };
    let everything = |round: &str| {
        session(&["build", "-k", "-v", "cluster", "demo", "more", "--events", round]);
        let target = "manifest/openshift-config-secret-pull-secret";
        for json in [&[][..], &["--json"]] {
            for args in [
                &["build", "-k", "demo", "more"][..],
                &["build", "--check", "more", "cluster"],
                &["build", "demo/undefined"],
                &["build", "demo/wrong"],
                &["show", target],
                &["show", "more/user"],
                &["show", "demo/copy:c"],
                &["why", target],
                &["why", "cluster"],
                &["why", "more/user"],
                &["affects", "pullSecret"],
                &["graph", "--format", "json"],
                &["check"],
                &["generations"],
                &["store", "ls"],
                &["store", "verify"],
                &["store", "gc", "--dry-run"],
            ] {
                session(&[args, json].concat());
            }
        }
    };
    everything("first.jsonl");
    let before = object();
    ws.edit("install-config.yaml", one, other);
    session(&["why", "cluster"]);
    session(&["build", "--dry-run", "--json"]);
    everything("second.jsonl");
    assert_ne!(before, object());
    for log in ["first.jsonl", "second.jsonl"] {
        assert!(!leaks(&fs::read(ws.dir.join(log)).unwrap(), &secrets), "{log}");
    }
    let kept = tree(&ws.store);
    assert!(kept.len() > 50);
    let mut owner_only = 0;
    for (path, (mode, bytes)) in &kept {
        if leaks(bytes, &secrets) {
            assert_eq!(*mode, 0o400, "{path}");
            owner_only += 1;
        }
    }
    assert!(owner_only >= 6, "the secret is where it belongs, and this test can see it");
    let seed = crate::harness::SEED;
    assert!(
        kept.values().all(|(_, bytes)| !bytes.windows(32).any(|window| window == seed)),
        "the seed is never stored"
    );
    for (path, (mode, _)) in kept.iter().filter(|(path, _)| path.starts_with(".tinderbox/keys/")) {
        assert_eq!(*mode, 0o600, "{path}");
    }
    set_mode(Path::new(&ws.dir), 0o755);
}

/// A pull secret that cannot be understood is not quoted in the error.
#[test]
fn a_broken_pull_secret_is_not_quoted() {
    let ws = Workspace::example();
    ws.edit(
        "install-config.yaml",
        r#"{"auths":{"example.invalid":{"auth":"ZGVtbzpkZW1v"}}}"#,
        r#"{"auths": dG9wOnNlY3JldA"#,
    );
    let output = ws.output(&["build"]);
    assert!(!leaks(&output.stderr, &["dG9wOnNlY3JldA"]), "{}", ws.text(&output));
    insta::assert_snapshot!(ws.text(&output), @r#"
    [stderr]
    error: 1 problem:
    install-config.yaml:40: pullSecret: this is not a pull secret: JSON with `auths`, each with an `auth` or a `credsStore`
      hint: for example: {"auths":{"registry.example.com":{"auth":"…"}}}
    [exit 1]
    "#);
}
