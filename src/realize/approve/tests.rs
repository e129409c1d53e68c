//! The rules one by one, on parsed requests. `tests/it/host/realize/approve.rs` starts from bytes.

use std::collections::BTreeSet;

use serde_json::json;

use super::rules::decide;
use super::rules::{Verdict, judge};
use super::{Claim, KubeletCertificate, NodeIdentity, Refusal};
use crate::base::hint::Hint as _;
use crate::base::pki::SigningRequest;
use crate::realize::api::{CertificateRequest, Stage};

const NAME: &str = "worker-0.ocp4.example.com";
const USER: &str = "system:bootstrapper:worker-0.ocp4.example.com";

fn nodes() -> Vec<NodeIdentity> {
    let one = |node: &str, ips: &[&str], bootstrapper: Option<&str>| NodeIdentity {
        node: node.to_owned(),
        name: format!("{node}.ocp4.example.com"),
        names: vec![node.to_owned(), format!("{node}.ocp4.example.com")],
        ips: ips.iter().map(|ip| ip.parse().unwrap()).collect(),
        bootstrapper: bootstrapper.map(str::to_owned),
        credential_ends: None,
    };
    vec![
        one("bootstrap", &["192.168.126.100"], None),
        one("worker-0", &["192.168.126.110", "fd00::110"], Some(USER)),
    ]
}

fn request(certificate: KubeletCertificate) -> CertificateRequest {
    let (signer, usage, user) = match certificate {
        KubeletCertificate::Client => ("kube-apiserver-client-kubelet", "client auth", USER.to_owned()),
        KubeletCertificate::Serving => ("kubelet-serving", "server auth", format!("system:node:{NAME}")),
    };
    CertificateRequest::read(json!({"metadata": {"name": "csr-1", "uid": "1"}, "spec": {
        "signerName": format!("kubernetes.io/{signer}"), "usages": ["digital signature", usage],
        "username": user, "groups": ["system:nodes", "system:bootstrappers", "system:authenticated"], "request": "",
    }}))
    .unwrap()
}

fn asked(certificate: KubeletCertificate) -> SigningRequest {
    let serving = certificate == KubeletCertificate::Serving;
    let pair = |key: &str, value: &str| (key.to_owned(), Some(value.to_owned()));
    SigningRequest {
        subject: String::new(),
        attributes: vec![pair("O", "system:nodes"), pair("CN", &format!("system:node:{NAME}"))],
        dns: if serving { vec![NAME.to_owned()] } else { Vec::new() },
        ips: if serving { vec!["192.168.126.110".parse().unwrap()] } else { Vec::new() },
        others: Vec::new(),
        extras: Vec::new(),
        key_algorithm: "ecdsa-p256".to_owned(),
        key_fingerprint: String::new(),
        is_signed: true,
    }
}

/// Why a request that is good but for one change is refused; empty if it is approved.
fn said(
    certificate: KubeletCertificate,
    change: impl FnOnce(&mut CertificateRequest, &mut SigningRequest),
) -> String {
    let (mut request, mut asked) = (request(certificate), asked(certificate));
    change(&mut request, &mut asked);
    let up = certificate == KubeletCertificate::Serving;
    let present = if up { BTreeSet::from([NAME.to_owned()]) } else { BTreeSet::new() };
    match decide(&request, &asked, &nodes(), &present) {
        Ok((node, found)) => {
            assert_eq!((node.node.as_str(), found), ("worker-0", certificate));
            String::new()
        }
        Err(refusal) => refusal.to_string(),
    }
}

#[test]
fn what_kubelets_send_is_approved() {
    assert_eq!(said(KubeletCertificate::Client, |_, _| ()), "");
    assert_eq!(said(KubeletCertificate::Serving, |_, _| ()), "");
    // Both families, both names, RSA.
    let all = said(KubeletCertificate::Serving, |request, asked| {
        asked.ips.push("fd00::110".parse().unwrap());
        asked.dns.push("worker-0".into());
        asked.key_algorithm = "rsa-2048".into();
        request.usages.push("key encipherment".into());
    });
    assert_eq!(all, "");
}

#[test]
fn keys_must_be_strong_and_proven() {
    let key = |kind: &str| said(KubeletCertificate::Client, |_, asked| asked.key_algorithm = kind.into());
    for good in ["ecdsa-p256", "ecdsa-p384", "ed25519", "rsa-2048", "rsa-4096"] {
        assert_eq!(key(good), "", "{good}");
    }
    for bad in ["rsa-1024", "rsa-2047", "rsa-16384", "rsa-", "ecdsa-p521", "1.2.3"] {
        assert_eq!(key(bad), format!("spec.request has a key of kind `{bad}`"));
    }
    let unsigned = said(KubeletCertificate::Serving, |_, asked| asked.is_signed = false);
    assert_eq!(unsigned, "spec.request is not signed with its own key");
}

#[test]
fn the_primary_address_is_required() {
    let only_second =
        said(KubeletCertificate::Serving, |_, asked| asked.ips = vec!["fd00::110".parse().unwrap()]);
    assert_eq!(only_second, "the subject alternative names lack the address `192.168.126.110`");
    let mapped = said(KubeletCertificate::Serving, |_, asked| {
        asked.ips.push("::ffff:192.168.126.110".parse().unwrap())
    });
    assert!(mapped.contains("which `worker-0.ocp4.example.com` does not have"), "{mapped}");
}

#[test]
fn usages_are_a_set() {
    let usages = |all: &[&str]| {
        said(KubeletCertificate::Client, |request, _| {
            request.usages = all.iter().map(|one| (*one).into()).collect()
        })
    };
    assert_eq!(usages(&["client auth", "digital signature", "client auth"]), "");
    assert!(usages(&[]).starts_with("spec.usages is empty, not"));
    assert!(usages(&["client auth", "key encipherment"]).starts_with("spec.usages is"));
    let many: Vec<String> = (0..10_000).map(|one| one.to_string()).collect();
    let shown = said(KubeletCertificate::Client, |request, _| request.usages = many);
    assert!(shown.contains("and 9994 more") && shown.len() < 300, "{shown}");
}

/// Text of others becomes one short line that is safe for a terminal.
#[test]
fn hostile_text_is_shown_harmlessly() {
    let long = "x\n\u{1b}[2J\u{202e}".repeat(10_000);
    let shown = said(KubeletCertificate::Client, |request, _| request.username = long.clone());
    assert!(shown.starts_with(r"spec.username is `x\u{a}\u{1b}[2J\u{202e}x"), "{shown}");
    assert!(
        shown.chars().all(|c| !c.is_control() && c != '\u{202e}') && shown.chars().count() < 900,
        "{shown}"
    );
    let shown = said(KubeletCertificate::Client, |_, asked| {
        asked.attributes[1].1 = Some(format!("system:node:{long}"))
    });
    assert!(shown.ends_with("…`, which is not a node of this cluster"), "{shown}");
}

#[test]
fn decided_requests_are_settled_whatever_they_ask() {
    let mut decided = request(KubeletCertificate::Client);
    for stage in [Stage::Approved, Stage::Denied, Stage::Failed, Stage::Issued] {
        decided.stage = stage;
        assert_eq!(judge(&decided, &nodes(), &BTreeSet::new()), Verdict::Settled(stage));
    }
    decided.stage = Stage::Pending;
    let verdict = judge(&decided, &nodes(), &BTreeSet::new());
    assert!(matches!(verdict, Verdict::Leave(Refusal::Unreadable(_))), "{verdict:?}");
}

#[test]
fn only_the_nodes_own_credential_gets_its_certificate() {
    let user = |name: &str| said(KubeletCertificate::Client, |request, _| request.username = name.into());
    let other = "system:bootstrapper:worker-1.ocp4.example.com";
    assert_eq!(user(other), format!("spec.username is `{other}`, not `{USER}`"));
    let alone =
        said(KubeletCertificate::Client, |request, _| request.groups = vec!["system:authenticated".into()]);
    assert_eq!(alone, "spec.groups is `system:authenticated`, without `system:bootstrappers`");
}

/// Minutes apart, stage of the other; what is said of the later one, and of the earlier one.
#[test]
fn two_keys_for_one_node() {
    let claim = |key: char, minute: i64, stage: Stage| Claim {
        node: "worker-0".into(),
        request: format!("csr-{key}"),
        key: key.to_string().repeat(64),
        stage,
        created: time::OffsetDateTime::UNIX_EPOCH.checked_add(time::Duration::minutes(minute)),
    };
    let said =
        |one: &Claim, all: &[Claim]| one.refused(all).map(|refusal| refusal.to_string()).unwrap_or_default();
    let rival = |own: char, rival: &str| {
        let own = own.to_string().repeat(16);
        format!(
            "its key is `{own}`, but {rival}; only `tinderbox realize approve worker-0 --key {own}` approves this one"
        )
    };
    let asks = "`csr-a`, with `aaaaaaaaaaaaaaaa`, asks for the same node";
    let approved = "`csr-a`, with `aaaaaaaaaaaaaaaa`, was approved";
    let given_up = "its kubelet has given up: `csr-b` asks for `worker-0` a quarter of an hour later or more";
    let back = rival('a', "`csr-b`, with `bbbbbbbbbbbbbbbb`, asks for the same node");
    for (minutes, stage, later, earlier) in [
        (0, Stage::Pending, rival('b', asks), back.clone()),
        (14, Stage::Pending, rival('b', asks), back.clone()),
        (15, Stage::Pending, String::new(), given_up.to_owned()),
        (14, Stage::Approved, rival('b', approved), back.clone()),
        (15, Stage::Approved, String::new(), given_up.to_owned()),
        (600, Stage::Issued, rival('b', approved), given_up.to_owned()),
        (1, Stage::Denied, String::new(), back.clone()),
        (1, Stage::Failed, String::new(), back.clone()),
    ] {
        let all = [claim('a', 0, stage), claim('b', minutes, Stage::Pending)];
        assert_eq!((said(&all[1], &all), said(&all[0], &all)), (later, earlier), "{minutes} {stage:?}");
    }
    // The same key twice is one machine; another node's is none of its business; a request without a date is not given up.
    let all = [claim('a', 0, Stage::Issued), claim('a', 1, Stage::Pending)];
    assert_eq!(said(&all[1], &all), "");
    let other = Claim { node: "worker-1".into(), ..claim('a', 0, Stage::Pending) };
    assert_eq!(said(&claim('b', 0, Stage::Pending), &[other]), "");
    let dateless = Claim { created: None, ..claim('a', 0, Stage::Pending) };
    assert_eq!(said(&claim('b', 60, Stage::Pending), &[dateless]), rival('b', asks));
}

#[test]
fn a_replay_has_a_hint() {
    let refusal = Refusal::Up { name: NAME.into() };
    assert_eq!(
        refusal.hint().unwrap(),
        "if the machine was reinstalled, `oc delete node worker-0.ocp4.example.com` lets it join again"
    );
}
