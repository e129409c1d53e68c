//! Caches: signed outputs on a registry. What needs a real one is in `host`.

mod execution;
mod executor;
mod failures;
mod farm;
mod farms;
mod host;
mod memory;
mod suite;

use std::net::TcpListener;
use std::path::PathBuf;

use serde_json::Value;

use crate::harness::{Workspace, mode};
use crate::registry::bad::pull_secret;

/// The user's own configuration of a workspace.
fn own(workspace: &Workspace, name: &str) -> PathBuf {
    workspace.temp().join(".config/tinderbox").join(name)
}

fn write_own(workspace: &Workspace, name: &str, text: &str) {
    let path = own(workspace, name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

const REPOSITORY: &str = "team/tinderbox";

/// Names a registry in the user's own configuration, with credentials; whom to trust; and more lines of the cache.
fn configure_at(workspace: &Workspace, (address, ca): (&str, &str), trust: &[&str], more: &str) {
    let secret = pull_secret(address, "me", "hunter2").unwrap();
    write_own(workspace, "auth.json", secret.reveal_text().unwrap());
    write_own(workspace, "ca.crt", ca);
    let trust: Vec<String> = trust.iter().map(|key| format!("{{{key}}}")).collect();
    let config = format!(
        "caches:\n- url: oci://{address}/{REPOSITORY}\n  authFile: auth.json\n  ca: ca.crt\n  trust: [{}]\n{more}",
        trust.join(", ")
    );
    write_own(workspace, "config.yaml", &config);
}

fn objects(report: &Value) -> Vec<&str> {
    report["targets"].as_array().unwrap().iter().map(|target| target["object"].as_str().unwrap()).collect()
}

/// Builds, which must succeed; the report, and what it said besides.
fn build(workspace: &Workspace, targets: &[&str]) -> (Value, String) {
    let output = workspace.output(&[&["build", "--json"], targets].concat());
    let said = String::from_utf8(output.stderr.clone()).unwrap();
    assert!(output.status.success(), "{said}");
    (serde_json::from_slice(&output.stdout).unwrap(), said)
}

/// The public half of a new key.
fn generate(workspace: &Workspace) -> String {
    workspace.json(&["key", "generate"])["public"].as_str().unwrap().to_owned()
}

/// Caches decide where outputs come from, not what they are.
#[test]
fn caches_are_part_of_no_id() {
    let workspace = Workspace::example().prebuilt();
    let key = generate(&workspace);
    let text = std::fs::read_to_string(workspace.dir.join("cluster.yaml")).unwrap();
    let caches = format!(
        "{text}\ncaches:\n- {{url: 'oci://127.0.0.1:1/x', trust: [{{key: '{key}', scope: [mco]}}]}}\n"
    );
    workspace.write("cluster.yaml", &caches);
    let report = workspace.json(&["build", "--dry-run"]);
    assert_eq!(report["would_build"].as_array().unwrap().len(), 0, "{report}");
    // Nothing is missing, so nobody is asked.
    let output = workspace.output(&["build", "--no-link"]);
    assert!(output.status.success());
    assert!(!workspace.text(&output).contains("127.0.0.1"), "{}", workspace.text(&output));
}

#[test]
fn what_is_wrong_with_caches_is_said_with_its_line() {
    let workspace = Workspace::example();
    let text = std::fs::read_to_string(workspace.dir.join("cluster.yaml")).unwrap();
    workspace.write(
        "cluster.yaml",
        &format!("{text}\ncaches:\n- {{url: 'https://x.io/y', trust: [{{key: ed25519:x}}]}}\n"),
    );
    let said = workspace.run(&["build", "--dry-run"]);
    for part in ["caches.0.url", "is not a cache", "caches.0.trust.0.key", "is not a public key", "[exit 1]"]
    {
        assert!(said.contains(part), "{part}: {said}");
    }
    workspace.write("cluster.yaml", &text);
    write_own(&workspace, "config.yaml", "cache: []\n");
    let said = workspace.run(&["build", "--dry-run"]);
    assert!(
        said.contains("[TEMP]/.config/tinderbox/config.yaml") && said.contains("did you mean `caches`"),
        "{said}"
    );
}

#[test]
fn a_key_is_for_its_owner_and_shows_its_public_half() {
    let workspace = Workspace::example();
    let key = generate(&workspace);
    let file = own(&workspace, "signing.key");
    assert_eq!(mode(&file), 0o600);
    let shown = workspace.run(&["key", "show"]);
    assert_eq!(shown, format!("{key}\n[exit 0]\n"));
    assert!(workspace.run(&["key", "show", "--pem"]).starts_with("-----BEGIN PUBLIC KEY-----\n"));
    let private = std::fs::read_to_string(&file).unwrap();
    let private = private.lines().nth(1).unwrap();
    for args in
        [&["key", "show"][..], &["key", "show", "--json"], &["key", "show", "--pem"], &["key", "generate"]]
    {
        assert!(!workspace.run(args).contains(private));
    }
    let said = workspace.run(&["key", "generate"]);
    assert!(said.contains("already exists") && said.contains("[exit 1]"), "{said}");
    crate::harness::set_mode(&file, 0o644);
    let said = workspace.run(&["key", "show"]);
    assert!(said.contains("can be read by others") && said.contains("chmod 600"), "{said}");
}

/// For recipients, the key is useless without their identity.
#[test]
fn an_encrypted_key_opens_for_its_recipient() {
    let workspace = Workspace::example();
    let identity = age::x25519::Identity::generate();
    let file = workspace.temp().join("identity");
    let secret = age::secrecy::ExposeSecret::expose_secret(&identity.to_string()).to_owned();
    std::fs::write(&file, secret).unwrap();
    crate::harness::set_mode(&file, 0o600);
    let made = workspace.json(&["key", "generate", "-r", &identity.to_public().to_string()]);
    let said = workspace.run(&["key", "show"]);
    assert!(said.contains("is encrypted, and no identity is given"), "{said}");
    let shown = workspace.run(&["key", "show", "--identity", file.to_str().unwrap()]);
    assert_eq!(shown, format!("{}\n[exit 0]\n", made["public"].as_str().unwrap()));
}

/// Down, silent, or speaking something else: the build goes on, says so once, and its result is the same.
#[test]
fn a_cache_that_does_not_work_is_no_hindrance() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let noisy = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = |listener: &TcpListener| listener.local_addr().unwrap().to_string();
    let (black_hole, garbage) = (address(&silent), address(&noisy));
    std::thread::spawn(move || {
        for connection in noisy.incoming() {
            let _ = std::io::Write::write_all(&mut connection.unwrap(), b"220 smtp.example.com ESMTP\r\n");
        }
    });
    let closed = address(&TcpListener::bind("127.0.0.1:0").unwrap());
    let expected = Workspace::example().build_paths(&["infra"]);
    let ids = |paths: &std::collections::BTreeMap<String, PathBuf>| -> Vec<String> {
        paths.values().map(|path| path.file_name().unwrap().to_str().unwrap().to_owned()).collect()
    };
    for (place, reason) in
        [(&black_hole, "no answer within 2 s"), (&garbage, "does not speak TLS"), (&closed, "refused")]
    {
        let workspace = Workspace::example();
        let key = generate(&workspace);
        let config = format!("caches: [{{url: 'oci://{place}/x', trust: [{{key: '{key}'}}]}}]\n");
        write_own(&workspace, "config.yaml", &config);
        let output = workspace.output(&["build", "infra", "--json"]);
        let said = String::from_utf8(output.stderr.clone()).unwrap();
        assert!(output.status.success(), "{said}");
        assert_eq!(said.matches("warning: cache oci://").count(), 1, "{said}");
        assert!(said.contains(reason) && said.contains("not asked again in this run"), "{said}");
        assert_eq!(ids(&workspace.build_paths(&["infra"])), ids(&expected));
        // Asked for nothing, it says nothing.
        let other = Workspace::example();
        write_own(&other, "config.yaml", &config);
        for flag in ["--no-cache", "--offline"] {
            let output = other.output(&["build", "infra/network", flag]);
            assert!(
                output.status.success() && output.stderr.is_empty()
                    || !other.text(&output).contains("warning: cache")
            );
        }
    }
    drop(silent);
}

#[test]
fn without_a_cache_push_and_pull_say_what_to_do() {
    let workspace = Workspace::example();
    generate(&workspace);
    for verb in ["push", "pull"] {
        let said = workspace.run(&[verb]);
        assert!(said.contains("there is no cache to") && said.contains("[exit 2]"), "{said}");
    }
    let said = workspace.run(&["push", "--to", "oci://127.0.0.1:1/x", "infra/network"]);
    assert!(said.contains("is not built") || said.contains("is not a store"), "{said}");
}
