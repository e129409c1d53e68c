//! Dates: when certificates end, and how they go on.

use std::fs;

use time::format_description::well_known::Rfc3339;
use time::{Duration, OffsetDateTime};

use crate::harness::{Workspace, names};

fn folder(built: &[String], folder: &str) -> Vec<String> {
    built.iter().filter(|name| name.starts_with(folder)).cloned().collect()
}

fn kubeconfig(ws: &Workspace) -> Vec<u8> {
    fs::read(ws.dir.join("result/auth/kubeconfig")).unwrap()
}

/// New dates for all, and every key stays.
#[test]
fn renew_moves_the_epoch_and_keeps_the_keys() {
    let ws = Workspace::example();
    let before = ws.build(&[]);
    let planned = ws.json(&["renew", "--dry-run"]);
    assert_eq!(ws.build(&[]), [""; 0], "a dry run changes nothing");
    let done = ws.json(&["renew"]);
    assert_eq!(planned["would_build"], done["would_build"]);
    assert_eq!(done["moved"][0]["field"], "epoch");
    let built = ws.build(&[]);
    assert_eq!(folder(&built, "key/"), [""; 0]);
    assert_eq!(folder(&built, "pki/"), folder(&before, "pki/"));
    assert_eq!(folder(&built, "manifest/"), [""; 0]);
    // What has dates; an address and the keys of service accounts have none.
    let dated = folder(&built, "hand-over/");
    assert_eq!(dated.len(), folder(&before, "hand-over/").len() - 4, "{dated:?}");
    let foretold = names(&done["would_build"]);
    assert!(built.iter().all(|name| foretold.contains(name)), "{built:?}");
}

/// One certificate, with a new date or a new key: what does not hang on it stays, byte by byte.
#[test]
fn one_certificate_is_renewed_alone() {
    let ws = Workspace::example().prebuilt();
    ws.build(&[]);
    let admin = kubeconfig(&ws);
    ws.json(&["renew", "etcd-server"]);
    assert_eq!(folder(&ws.build(&[]), "pki/"), ["pki/etcd-server"]);
    ws.json(&["renew", "--rekey", "etcd-client"]);
    let built = ws.build(&[]);
    assert_eq!(folder(&built, "key/"), ["key/etcd-client"]);
    assert_eq!(folder(&built, "pki/"), ["pki/etcd-client"]);
    assert_eq!(kubeconfig(&ws), admin, "the administrator's stays valid");
    let rekeyed = ws.json(&["renew", "--rekey", "admin"]);
    assert_eq!(rekeyed["moved"].as_array().unwrap().len(), 2);
    let built = ws.build(&[]);
    assert_eq!(folder(&built, "key/"), ["key/admin"]);
    assert_ne!(kubeconfig(&ws), admin);
    let lock = fs::read_to_string(ws.dir.join("cluster.lock")).unwrap();
    assert!(lock.contains("[certificates.\"admin\"]\n") && lock.contains("generation = 2\n"), "{lock}");
    // All dates from now on: the single ones are gone, the generations stay.
    ws.json(&["renew"]);
    let lock = fs::read_to_string(ws.dir.join("cluster.lock")).unwrap();
    assert!(!lock.contains("etcd-server") && lock.contains("generation = 2\n"), "{lock}");
    ws.assert_sound();
}

/// An authority that is only re-dated leaves what it signed as it was.
#[test]
fn a_redated_authority_leaves_its_leaves() {
    let ws = Workspace::example().prebuilt();
    ws.build(&[]);
    let admin = fs::read(ws.dir.join("result/pki/admin.crt")).unwrap();
    let authority = fs::read(ws.dir.join("result/pki/kubernetes-ca.crt")).unwrap();
    ws.json(&["renew", "kubernetes-ca"]);
    ws.build(&[]);
    assert_ne!(fs::read(ws.dir.join("result/pki/kubernetes-ca.crt")).unwrap(), authority);
    assert_eq!(fs::read(ws.dir.join("result/pki/admin.crt")).unwrap(), admin);
}

#[test]
fn typos_and_impossible_wishes() {
    let ws = Workspace::example();
    insta::assert_snapshot!(ws.run(&["renew", "etcd-sever"]), @"
    [stderr]
    error: there is no certificate `etcd-sever`
    hint: did you mean `etcd-server`?
    [exit 2]
    ");
    insta::assert_snapshot!(ws.run(&["renew", "--rekey"]), @"
    [stderr]
    error: `--rekey` needs names: new keys everywhere would be another cluster
    hint: for example `tinderbox renew --rekey admin`
    [exit 2]
    ");
    insta::assert_snapshot!(ws.run(&["renew", "service-account"]), @"
    [stderr]
    error: `service-account` is a key without a certificate: it has no dates
    hint: `tinderbox renew --rekey service-account` makes a new one
    [exit 2]
    ");
    insta::assert_snapshot!(ws.run(&["expiry"]), @"
    [stderr]
    error: `cluster` is not built
    hint: run `tinderbox build cluster`
    [exit 1]
    ");
}

/// The calendar: the soonest first, and the day after which it is too late.
#[test]
fn expiry_lists_every_certificate() {
    let ws = Workspace::example().prebuilt();
    ws.build(&[]);
    let found = ws.json(&["expiry"]);
    let rows = found["certificates"].as_array().unwrap();
    assert_eq!(rows.len(), 24);
    let joining: Vec<&str> = rows[..6].iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert_eq!(
        (joining[0], joining[1], joining[5]),
        ("kube-proxy", "kubelet-bootstrap-master-0", "kubelet-bootstrap-worker-1")
    );
    let ends: Vec<&str> = rows.iter().map(|row| row["not_after"].as_str().unwrap()).collect();
    assert!(ends.is_sorted());
    let authorities =
        rows.iter().filter(|row| row["authority"] == true).map(|row| row["name"].as_str().unwrap());
    let expected = ["etcd-ca", "front-proxy-ca", "kubelet-ca", "kubernetes-ca", "root-ca"];
    assert_eq!(authorities.collect::<Vec<_>>(), expected);
    let time = |text: &str| OffsetDateTime::parse(text, &Rfc3339).unwrap();
    assert!(time(found["boots_until"].as_str().unwrap()) < time(ends[0]));
    assert_eq!(found["expired"], false);
    let text = ws.run(&["expiry"]);
    assert!(text.contains("These artifacts can boot until [TIME]."), "{text}");
    assert!(text.contains("etcd-peer-master-0") && text.contains("CN=root-ca"), "{text}");
}

/// Operators replace what is past its youth: the calendar says when that is for each, and `build` says when it has come.
#[test]
fn authorities_are_adopted_while_they_are_young() {
    let ws = Workspace::example().prebuilt();
    let aged = |days: i64| {
        // Half an hour more: whole hours are left whatever time this takes.
        let age = Duration::days(days) + Duration::minutes(30);
        let epoch = OffsetDateTime::now_utc().replace_nanosecond(0).unwrap() - age;
        let update = format!("epoch={}", epoch.format(&Rfc3339).unwrap());
        assert!(ws.output(&["lock", "--update", &update]).status.success());
        let text = ws.run(&["build"]);
        text.lines().find(|line| line.contains("operators will replace")).unwrap_or_default().to_owned()
    };
    assert_eq!(aged(1), "");
    let rows = ws.json(&["expiry"])["handed_over"].as_array().unwrap().clone();
    let word = |row: &serde_json::Value, key: &str| row[key].as_str().unwrap().to_owned();
    let row = |row| format!("{} {} {}", word(row, "object"), word(row, "authority"), row["hours_left"]);
    insta::assert_snapshot!(rows.iter().map(row).collect::<Vec<_>>().join("\n"), @r"
    openshift-kube-apiserver-operator/aggregator-client-signer front-proxy-ca 334
    openshift-kube-apiserver-operator/kube-control-plane-signer kubernetes-ca 694
    openshift-kube-controller-manager-operator/csr-signer-signer kubernetes-ca 694
    openshift-kube-apiserver-operator/kube-apiserver-to-kubelet-signer kubernetes-ca 6982
    openshift-etcd/etcd-signer etcd-ca 36766
    openshift-kube-apiserver-operator/loadbalancer-serving-signer kubernetes-ca 70054
    openshift-kube-apiserver-operator/localhost-serving-signer kubernetes-ca 70054
    openshift-kube-apiserver-operator/service-network-serving-signer kubernetes-ca 70054
    ");
    let text = ws.run(&["expiry"]);
    assert!(text.contains("Operators adopt all of them unchanged until [TIME];"), "{text}");
    insta::assert_snapshot!(aged(16), @"warning: operators will replace what they are handed (aggregator-client-signer), because they adopt it only until [TIME]; run `tinderbox renew` before the boot");
    insta::assert_snapshot!(aged(300), @"warning: operators will replace what they are handed (aggregator-client-signer, kube-control-plane-signer, csr-signer-signer, kube-apiserver-to-kubelet-signer), because they adopt it only until [TIME]; run `tinderbox renew` before the boot");
    // New dates, and the same keys.
    let key = |ws: &Workspace| ws.path_of("key/front-proxy-ca");
    let before = key(&ws);
    ws.json(&["renew"]);
    assert!(!ws.run(&["build"]).contains("operators will replace"));
    assert_eq!(key(&ws), before);
}

/// `build` warns when a day or less is left, and when it is too late.
#[test]
fn build_warns_before_the_end() {
    let ws = Workspace::example().prebuilt();
    let shift = |left: Duration| {
        let epoch = OffsetDateTime::now_utc().replace_nanosecond(0).unwrap() + left - Duration::days(14);
        let update = format!("epoch={}", epoch.format(&Rfc3339).unwrap());
        assert!(ws.output(&["lock", "--update", &update]).status.success());
        let text = ws.run(&["build"]);
        assert!(text.contains("[exit 0]"), "{text}");
        text.lines()
            .filter(|line| line.contains("certificate") && !line.starts_with("built "))
            .map(str::to_owned)
            .collect::<Vec<_>>()
            .join("\n")
    };
    assert_eq!(shift(Duration::days(3)), "");
    let soon = shift(Duration::hours(20) + Duration::minutes(30));
    assert!(soon.contains("expires in 20 h, at [TIME]: run `tinderbox renew`"), "{soon}");
    let late = shift(Duration::hours(-1));
    assert!(late.contains("expired at [TIME]: run `tinderbox renew`"), "{late}");
    assert_eq!(ws.json(&["expiry"])["expired"], true);
    ws.json(&["renew"]);
    assert!(!ws.run(&["build"]).contains("certificate `"));
}
