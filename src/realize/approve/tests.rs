//! The rules one by one, on parsed requests. `tests/it/host/realize/approve.rs` starts from bytes.

use std::collections::BTreeSet;

use serde_json::json;

use super::rules::decide;
use super::rules::{Verdict, judge};
use super::{KubeletCertificate, NodeIdentity, Refusal};
use crate::base::hint::Hint as _;
use crate::base::pki::SigningRequest;
use crate::realize::api::{CertificateRequest, Stage};

const NAME: &str = "worker-0.ocp4.example.com";

fn nodes() -> Vec<NodeIdentity> {
    let one = |node: &str, ips: &[&str], bootstrapper: Option<&str>| NodeIdentity {
        node: node.to_owned(),
        name: format!("{node}.ocp4.example.com"),
        names: vec![node.to_owned(), format!("{node}.ocp4.example.com")],
        ips: ips.iter().map(|ip| ip.parse().unwrap()).collect(),
        bootstrapper: bootstrapper.map(str::to_owned),
    };
    vec![
        one("bootstrap", &["192.168.126.100"], None),
        one("worker-0", &["192.168.126.110", "fd00::110"], Some("system:bootstrapper")),
    ]
}

fn request(certificate: KubeletCertificate) -> CertificateRequest {
    let (signer, usage, user) = match certificate {
        KubeletCertificate::Client => {
            ("kube-apiserver-client-kubelet", "client auth", "system:bootstrapper".to_owned())
        }
        KubeletCertificate::Serving => ("kubelet-serving", "server auth", format!("system:node:{NAME}")),
    };
    CertificateRequest::read(json!({"metadata": {"name": "csr-1", "uid": "1"}, "spec": {
        "signerName": format!("kubernetes.io/{signer}"), "usages": ["digital signature", usage],
        "username": user, "groups": ["system:nodes", "system:authenticated"], "request": "",
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
fn a_replay_has_a_hint() {
    let refusal = Refusal::Up { name: NAME.into() };
    assert_eq!(
        refusal.hint().unwrap(),
        "if the machine was reinstalled, `oc delete node worker-0.ocp4.example.com` lets it join again"
    );
}
