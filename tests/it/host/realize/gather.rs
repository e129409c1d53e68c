//! `realize gather`: everything that can be had, and no secret.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::Libvirt;
use super::ssh::{Node, machine, start};
use crate::harness::documents::assert_document;
use crate::harness::{SEED, Workspace, mode};

/// Secrets of others, which only their shape gives away: what is planted, and the part of it that must not be seen.
fn foreign() -> Vec<(String, String)> {
    let body = "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtz";
    let pem = format!("-----BEGIN OPENSSH PRIVATE KEY-----\n{body}\n-----END OPENSSH PRIVATE KEY-----");
    let in_base64 = STANDARD.encode(&pem);
    [
        ("eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJtZSJ9.c2lnbmF0dXJlLW9mLW1pbmU", "c2lnbmF0dXJlLW9mLW1pbmU"),
        ("token sha256~AbCdEfGhIjKlMnOpQrStUvWxYz012345", "AbCdEfGhIjKlMnOpQrStUvWxYz012345"),
        ("Authorization: Bearer 0paqueT0ken", "0paqueT0ken"),
        (r#"{"auths":{"x":{"auth":"c3RyYW5nZXI6cHc="}}}"#, "c3RyYW5nZXI6cHc="),
        ("AGE-SECRET-KEY-1GFPYYSJZGFPYYSJZGFPYYSJZ", "1GFPYYSJZGFPYYSJZGFPYYSJZ"),
        ("password=hunter22hunter", "hunter22hunter"),
        (&pem, body),
        (&in_base64, &in_base64[40..80]),
    ]
    .map(|(planted, secret)| (planted.to_owned(), secret.to_owned()))
    .to_vec()
}

/// The cluster's own, in some of the forms that they may have in a log.
fn own(ws: &Workspace) -> Vec<(String, String)> {
    let result = ws.path_of("cluster");
    let read = |path: &str| fs::read_to_string(result.join(path)).unwrap();
    let password = read("auth/kubeadmin-password").trim().to_owned();
    let key = read("pki/kubernetes-ca.key");
    let line = key.lines().nth(12).unwrap().to_owned(); // those before hold the public modulus
    let kubeconfig = STANDARD.encode(read("auth/kubeconfig"));
    let client_key = read("auth/kubeconfig");
    let client_key = client_key.split("client-key-data: ").nth(1).unwrap().split_whitespace().next().unwrap();
    let seed: String = SEED.iter().map(|byte| format!("{byte:02x}")).collect();
    let in_base64 = STANDARD.encode(&password);
    vec![
        (format!("password is {password}."), password.clone()),
        (in_base64.clone(), in_base64[..20].to_owned()),
        (format!("key {line}"), line.clone()),
        (format!("no header: {}", key.lines().skip(1).collect::<Vec<_>>().join(" ")), line),
        (client_key.to_owned(), client_key[60..120].to_owned()),
        (kubeconfig.clone(), kubeconfig[kubeconfig.len() - 120..kubeconfig.len() - 60].to_owned()),
        (seed.clone(), seed),
    ]
}

/// What an archive holds, and its entries in order.
fn unpack(path: &Path) -> (BTreeMap<String, String>, Vec<String>) {
    let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(fs::File::open(path).unwrap()));
    let (mut files, mut names) = (BTreeMap::new(), Vec::new());
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        assert_eq!((entry.header().mtime().unwrap(), entry.header().mode().unwrap()), (1, 0o600));
        let name = entry.path().unwrap().to_str().unwrap().strip_prefix("gather-ocp4/").unwrap().to_owned();
        let mut content = Vec::new();
        entry.read_to_end(&mut content).unwrap();
        names.push(name.clone());
        files.insert(name, String::from_utf8_lossy(&content).into_owned());
    }
    (files, names)
}

fn gather(
    libvirt: &Libvirt,
    ws: &Workspace,
    name: &str,
) -> (serde_json::Value, BTreeMap<String, String>, Vec<String>) {
    let to = ws.temp().join(name);
    let args = ["realize", "gather", "--json", "-q", "--output", to.to_str().unwrap()];
    let output = libvirt.command(ws, &args).output().unwrap();
    assert!(output.status.success(), "{}", ws.text(&output));
    assert_eq!(mode(&to), 0o600);
    let (files, names) = unpack(&to);
    let gathered = serde_json::from_slice(&output.stdout).unwrap();
    assert_document(ws, "realize-gather", &gathered);
    (gathered, files, names)
}

fn assert_masked(files: &BTreeMap<String, String>, secrets: &[(String, String)]) {
    for (_, secret) in secrets {
        for (name, text) in files {
            assert!(!text.contains(secret), "`{secret}` is in {name}: {text}");
        }
    }
}

#[test]
fn everything_is_gathered_and_no_secret() {
    let Some((libvirt, ws)) = start("realize gather with a real libvirt and a real OpenSSH server") else {
        return;
    };
    for node in ["bootstrap", "master-0"] {
        machine(&libvirt, &ws, node);
    }
    let _node = Node::start(&libvirt, "192.168.126.100");
    let secrets = [own(&ws), foreign()].concat();
    let planted: String = secrets.iter().map(|(text, _)| format!("before {text}\nafter\n")).collect();
    fs::write(ws.temp().join("planted"), &planted).unwrap();
    // A console of some megabytes, with secrets at its beginning, over the end of a piece, and at its end.
    let pool = ws.temp().join("pool");
    libvirt.sh(&format!(
        "planted={0}; cp $planted /run/node/journal
         mkdir -p /var/log/pods/kube-system_etcd-bootstrap_1/etcd
         {{ cat $planted; echo etcd is up; }} >/var/log/pods/kube-system_etcd-bootstrap_1/etcd/0.log
         {{ for _ in 1 2 3; do cat $planted; yes 'the quick brown fox' | head -c 1114000; done; cat $planted; echo end of it; }} >{1}/worker-0.log",
        ws.temp().join("planted").display(),
        pool.display(),
    ));

    let (outcome, files, names) = gather(&libvirt, &ws, "first.tar.gz");
    assert_masked(&files, &secrets);
    let mut sorted = names.clone();
    sorted.sort();
    assert_eq!(names, sorted);
    assert_eq!(outcome["reached"], serde_json::json!(["bootstrap"]));
    let console = &files["consoles/worker-0.log"];
    assert!(console.len() > 3_000_000 && console.ends_with("after\nend of it\n"), "{}", console.len());
    assert!(console.starts_with("before password is [masked: "), "{}", &console[..200]);
    assert_eq!(console.matches("\nafter\n").count(), 4 * secrets.len());
    let journal = &files["nodes/bootstrap/journal-bootkube.txt"];
    assert!(
        journal.starts_with("journalctl --no-pager --lines=20000 --unit=bootkube.service\n"),
        "{journal}"
    );
    for word in
        ["[masked: private key]", "[masked: token]", "[masked: registry login]", "[masked: age identity]"]
    {
        assert!(journal.contains(word), "{word}: {journal}");
    }
    assert!(files["nodes/bootstrap/pods/kube-system_etcd-bootstrap_1/etcd/0.log"].ends_with("etcd is up\n"));
    assert_eq!(files["nodes/bootstrap/containers.txt"], "CONTAINER  STATE  NAME\n");
    assert!(files["libvirt/bootstrap-state.txt"].starts_with("running"));
    assert!(files["libvirt/network.xml"].contains("virbr-ocp4"));
    assert!(files["balancer/stats.csv"].starts_with("# pxname,svname,"), "{}", files["balancer/stats.csv"]);
    assert!(files["balancer/haproxy.cfg"].contains("listen api"));
    for name in
        ["plan.json", "status.json", "artifacts.json", "checks.json", "tinderbox.json", "host/addresses.json"]
    {
        serde_json::from_str::<serde_json::Value>(&files[name]).unwrap();
    }
    assert!(files["artifacts.json"].contains("ignition/bootstrap"));
    // What is public stays: ids, UUIDs, addresses, names.
    let kept =
        |name: &str| !["README.md", "consoles/", "nodes/"].iter().any(|hidden| name.starts_with(hidden));
    for (name, text) in files.iter().filter(|(name, _)| kept(name)) {
        assert!(!text.contains("[masked: "), "{name}: {text}");
    }
    let errors = &files["errors.txt"];
    assert!(errors.contains("nodes/master-0/: `master-0` does not answer on port 22"), "{errors}");
    assert!(errors.contains("nodes/worker-0/: `worker-0` has no machine on the host"), "{errors}");
    assert!(!errors.contains("nodes/bootstrap/journal"), "{errors}");

    // Nothing is left behind, and nothing is overwritten.
    let left: Vec<_> =
        fs::read_dir(ws.dir.join(".realize")).unwrap().map(|one| one.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| name.len() != 16), "{left:?}");
    let again = libvirt
        .run(&ws, &["realize", "gather", "-q", "--output", ws.temp().join("first.tar.gz").to_str().unwrap()]);
    insta::assert_snapshot!(again, @r"
    [stderr]
    error: `[TEMP]/first.tar.gz` already exists, and is left alone
    hint: name a file that does not exist yet
    [exit 1]
    ");

    // Without libvirt: its consoles are files, and nodes are where they were.
    libvirt.sh("mkdir /run/away && mv /run/libvirt/libvirt-sock* /run/away");
    let (_, files, _) = gather(&libvirt, &ws, "second.tar.gz");
    assert_masked(&files, &secrets);
    let errors = &files["errors.txt"];
    assert!(
        errors.contains("plan.json, status.json, libvirt/: libvirt is not running at `qemu:///system`"),
        "{errors}"
    );
    assert!(files["consoles/worker-0.log"].ends_with("end of it\n"));
    assert!(files["nodes/bootstrap/journal-bootkube.txt"].contains("[masked: "));
    assert!(files.contains_key("balancer/stats.csv") && !files.contains_key("plan.json"));
}
