//! `store scan`: a build leaves no secret where none belongs; one that is put there is found, named, and not shown.

use std::fs;

use base64::Engine as _;

use super::harness::{SEED, Workspace, list, set_mode, tamper, without_counts};

/// The password of the example's pull secret, made longer: of `demo:demo` nobody would look for `demo`.
const PASSWORD: &str = "correct horse battery";

fn base64(bytes: &[u8]) -> String {
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A key that is none: 32 bytes of a seed in the place where a P-256 key has its number.
fn key() -> String {
    let mut der = vec![0x30, 0x41, 2, 1, 1, 4, 32];
    der.extend((0..32u8).map(|at| at.wrapping_mul(37) ^ 0x5a));
    der.extend([0xa0, 10, 6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7, 0xa1, 14, 3, 12, 0, 4]);
    der.extend([9; 10]);
    der[1] = der.len() as u8 - 2;
    let body = base64(&der);
    let lines: Vec<&str> =
        body.as_bytes().chunks(64).map(|line| std::str::from_utf8(line).unwrap()).collect();
    format!("-----BEGIN EC PRIVATE KEY-----\n{}\n-----END EC PRIVATE KEY-----\n", lines.join("\n"))
}

#[test]
fn a_build_is_clean() {
    let ws = Workspace::example();
    ws.build(&["--events", "events.jsonl"]);
    let said = ws.run(&["store", "scan", "events.jsonl"]);
    insta::assert_snapshot!(without_counts(&said), @r"
    [N] files, [SIZE], searched for [N] secrets: clean
    [exit 0]
    ");
    let document = ws.json(&["store", "scan"]);
    assert!(document["needles"].as_u64().unwrap() >= 3, "{document}: the pull secret, the seed and its key");
    for count in ["files", "secrets"] {
        assert!(document[count].as_u64().unwrap() > 100, "{count}: {document}");
    }
    // An encrypted seed is searched for as well, so it must be opened.
    let identity = age::x25519::Identity::generate();
    ws.json(&["seed", "encrypt", "-r", &identity.to_public().to_string()]);
    assert!(ws.run(&["store", "scan"]).contains("is encrypted, and no identity is given"));
    // Elsewhere than in a cluster directory, the secrets are those of the store.
    let elsewhere = ws.json(&["-C", "/", "store", "scan"]);
    assert_eq!(elsewhere["secrets"].as_u64().unwrap() + 2, document["secrets"].as_u64().unwrap());
}

#[test]
fn what_is_planted_is_found_and_not_shown() {
    let ws = Workspace::with(&[
        (
            "recipes/60-demo/copy.toml",
            "# A copy of the pull secret, to have a secret file more.\nbuilder = 'template'\n[config]\nx = 'pullSecret'\n\
             [files]\n'copy' = 'copy.j2'\n",
        ),
        ("recipes/60-demo/copy.j2", "{{ x }}\n"),
    ]).prebuilt();
    let auth = base64(format!("demo:{PASSWORD}").as_bytes());
    let holds_key = base64(format!("demo:{}", key()).as_bytes());
    ws.edit(
        "install-config.yaml",
        r#"{"auth":"ZGVtbzpkZW1v"}"#,
        &format!(r#"{{"auth":"{auth}"}},"other.invalid":{{"auth":"{holds_key}"}}"#),
    );
    ws.build(&["cluster", "demo"]);
    assert!(ws.run(&["store", "scan"]).contains(": clean\n"), "{}", ws.run(&["store", "scan"]));

    // The seed, in hex, in a trace.
    let realisations = ws.part("realisations");
    let trace = realisations.join(list(&realisations).first().unwrap());
    tamper(&trace, |bytes| bytes.extend(format!("{{\"note\":\"{}\"}}\n", hex(&SEED)).bytes()));
    // The pull secret's auth in base64, in a public object.
    fs::write(ws.temp().join("notes.txt"), format!("login: {}\n", base64(format!("x{auth}").as_bytes())))
        .unwrap();
    ws.json(&["store", "add", ws.temp().join("notes.txt").to_str().unwrap()]);
    // One line of a key in a log.
    let line = key().lines().nth(1).unwrap().to_owned();
    fs::write(ws.part("logs").join("bootstrap.log"), format!("read {line} and went on\n")).unwrap();
    // The password itself in the lock, in a file that a verb wrote, and URL-encoded in cluster.yaml.
    fs::write(ws.dir.join("events.jsonl"), format!("{{\"text\":\"{PASSWORD}\"}}\n")).unwrap();
    let yaml = fs::read_to_string(ws.dir.join("cluster.yaml")).unwrap();
    ws.write("cluster.yaml", &format!("{yaml}# {}\n", PASSWORD.replace(' ', "%20")));
    // The key of ids, beside the place where it belongs.
    let keys = ws.part("keys");
    fs::copy(keys.join(list(&keys).first().unwrap()), ws.part("roots").join("copy")).unwrap();
    set_mode(&ws.part("roots").join("copy"), 0o600);

    let output = ws.output(&["store", "scan", "events.jsonl"]);
    insta::assert_snapshot!(without_counts(&ws.text(&output)), @"
    secret [DIR]/cluster.yaml: byte [AT]: the pull secret, URL-encoded
    secret [STORE]/.tinderbox/logs/bootstrap.log: byte [AT]: the pull secret
    secret [STORE]/.tinderbox/realisations/[ID]: byte [AT]: the cluster's seed, in hex
    secret [STORE]/.tinderbox/roots/copy: byte [AT]: keys/[ID]
    secret [STORE]/[ID]-notes.txt/notes.txt: byte [AT]: the pull secret, in base64
    secret events.jsonl: byte [AT]: the pull secret
    [N] files, [SIZE], searched for [N] secrets: 6 leaks
    [exit 1]
    ");
    let json = ws.output(&["store", "scan", "events.jsonl", "--json"]);
    let document: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!((document["hits"].as_array().unwrap().len(), json.status.code()), (6, Some(1)), "{document}");
    let log = document["hits"]
        .as_array()
        .unwrap()
        .iter()
        .find(|hit| hit["path"].as_str().unwrap().ends_with("bootstrap.log"));
    assert_eq!(log.unwrap()["offset"], 5);
    for text in [&output.stdout, &output.stderr, &json.stdout, &json.stderr] {
        let text = String::from_utf8_lossy(text);
        for value in [PASSWORD, &auth, &line, &hex(&SEED)] {
            assert!(!text.contains(value), "{text}");
        }
    }
}

/// What is on its way into the store, or left there by gc, is no leak; what others can read is one.
#[test]
fn owner_only_files_in_progress_are_no_leaks() {
    let ws = Workspace::example().prebuilt();
    ws.build(&[]);
    let object = ws.path_of("manifest/openshift-config-secret-pull-secret");
    let secret = fs::read(object.join(list(&object).first().unwrap())).unwrap();
    for (part, mode, clean) in [("links", 0o400, true), ("links", 0o444, false)] {
        let path = ws.part(part).join("planted");
        fs::write(&path, &secret).unwrap();
        set_mode(&path, mode);
        let said = ws.run(&["store", "scan"]);
        assert_eq!(said.contains(": clean\n"), clean, "{part} {mode:o}: {said}");
        set_mode(&path, 0o600);
        fs::remove_file(&path).unwrap();
    }
}
