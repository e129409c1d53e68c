//! The installer's own set: names, subjects, usages, validities and bundles of the facts.

use std::collections::BTreeSet;
use std::fs;

use tinderbox::pki::Certificate;

use crate::harness::{Workspace, tree};

/// Off the default target, complete when asked for.
#[test]
fn the_set_is_what_the_installer_makes() {
    let ws = Workspace::example();
    let planned = ws.json(&["build", "--dry-run"]).to_string();
    assert!(!planned.contains("installer"), "it is not part of `cluster`");
    ws.build(&["installer-tls"]);
    let root = ws.path_of("installer-tls");
    let files = tree(&root);
    let mut text = String::new();
    for (path, (mode, bytes)) in &files {
        let pem = String::from_utf8(bytes.clone()).unwrap();
        text.push_str(&format!("{path} {mode:o}"));
        if path.ends_with(".crt") {
            let chain = Certificate::chain_from_pem(&pem).unwrap();
            let named: Vec<String> = chain.iter().map(Certificate::subject).collect();
            let first = &chain[0];
            let days = (first.not_after() - first.not_before()).whole_days();
            let usage = match (first.is_server(), first.is_client()) {
                (true, true) => " server + client",
                (true, false) => " server",
                (false, true) => " client",
                (false, false) => "",
            };
            let ips: Vec<String> = first.ips().iter().map(ToString::to_string).collect();
            let names = [first.dns().join(" "), ips.join(" ")].join(" ");
            let kind = if first.is_authority() { " CA" } else { "" };
            text.push_str(&format!(" [{}]{kind}{usage} {} {days} d", named.join("; "), names.trim()));
        } else if path.starts_with("tls/") && path.ends_with(".key") {
            assert!(pem.starts_with("-----BEGIN RSA PRIVATE KEY-----"), "{path}");
        }
        text.push('\n');
    }
    insta::assert_snapshot!(text, @"");
}

/// Two sets with the same names are two identities.
#[test]
fn no_key_is_shared_with_our_own() {
    let ws = Workspace::example();
    ws.build(&["installer-tls", "cluster"]);
    let keys = |target: &str| -> BTreeSet<Vec<u8>> {
        let files = tree(&ws.path_of(target)).into_iter();
        files.filter(|(path, _)| path.ends_with(".key")).map(|(_, (_, bytes))| bytes).collect()
    };
    assert!(keys("cluster").is_disjoint(&keys("installer-tls")));
    let kubeconfig =
        fs::read_to_string(ws.path_of("installer-tls").join("auth/kubeconfig-loopback")).unwrap();
    assert!(kubeconfig.contains("server: https://localhost:6443\n"));
}
