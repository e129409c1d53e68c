//! Certificates and keys.

use time::macros::datetime;
use time::{Duration, OffsetDateTime};
use zeroize::Zeroizing;

use super::{diff, diff_secret};
use crate::base::pki::{Algorithm, Certificate, Form, KeyUsage, Name, PrivateKey, Request, issue};
use crate::base::secret::Seed;

const EPOCH: OffsetDateTime = datetime!(2026-11-16 00:00 UTC);

fn seed() -> Seed {
    Seed::new(Zeroizing::new([7; 32]))
}

pub(super) fn key(name: &str) -> PrivateKey {
    PrivateKey::generate(&seed(), "ocp4.example.com", name, 1, Algorithm::EcdsaP256)
}

fn request(key: &PrivateKey) -> Request<'_> {
    Request {
        subject: Name::common("etcd"),
        not_before: EPOCH,
        not_after: EPOCH + Duration::days(365),
        authority: None,
        key_usages: vec![KeyUsage::DigitalSignature],
        server: true,
        client: false,
        dns: vec!["localhost".into(), "etcd".into()],
        ips: vec![[127, 0, 0, 1].into()],
        key,
    }
}

fn made(request: &Request<'_>) -> Certificate {
    issue(&seed(), "ocp4.example.com", "pki/etcd", 1, request, None).unwrap()
}

pub(super) fn certificate(name: &str) -> String {
    let key = key("a");
    made(&Request { subject: Name::common(name), ..request(&key) }).to_pem()
}

#[test]
fn a_certificate_by_field() {
    let (one, two) = (key("a"), key("b"));
    let old = made(&request(&one)).to_pem();
    let new = made(&Request {
        not_after: EPOCH + Duration::days(730),
        client: true,
        dns: vec!["etcd".into(), "etcd.svc".into()],
        ips: vec![],
        ..request(&two)
    });
    insta::assert_snapshot!(diff("etcd.crt", &old, &new.to_pem()), @r"
    certificate: serial: 4e12293c89b8b69e99571a83e93da021 -> 41d4347efa9faa0b3428fd3b021a9fb0
    certificate: not-after: 2027-11-16T00:00:00Z -> 2028-11-15T00:00:00Z
    certificate: dns-names / etcd.svc: + etcd.svc
    certificate: dns-names / localhost: - localhost
    certificate: ip-addresses / 127.0.0.1: - 127.0.0.1
    certificate: usages / client-auth: + client-auth
    key: public-key: ecdsa-p256, BLAKE3 f4256b25bfc3c667 -> ecdsa-p256, BLAKE3 5de264e40c27ba42
    ");
    let around = format!("# who it is\n\n{}\n", old.replace('\n', "\r\n"));
    assert_eq!(diff("etcd.crt", &old, &around), "(none)");
}

#[test]
fn a_bundle_by_subject_whatever_the_order() {
    let [a, b, c] = ["a", "b", "c"].map(certificate);
    assert_eq!(diff("ca-bundle.crt", &format!("{a}{b}{c}"), &format!("{c}{a}{b}")), "(none)");
    let own = key("z");
    let other = made(&Request { subject: Name::common("b"), ..request(&own) }).to_pem();
    insta::assert_snapshot!(diff("ca-bundle.crt", &format!("{a}{b}"), &format!("{other}{c}")), @r"
    certificate: CN=b / serial: 7380503f38aa41f5c244018ba841b46f -> 57d46cbab0980165b319415a13a1c318
    key: CN=b / public-key: ecdsa-p256, BLAKE3 f4256b25bfc3c667 -> ecdsa-p256, BLAKE3 31628873b05c6e32
    certificate: CN=c: + CN=c from CN=c, 2026-11-16T00:00:00Z to 2027-11-16T00:00:00Z
    certificate: CN=a: - CN=a from CN=a, 2026-11-16T00:00:00Z to 2027-11-16T00:00:00Z
    ");
}

#[test]
fn of_a_private_key_only_that_it_is_another_one() {
    let pem = |name: &str| key(name).to_pem(Form::Pkcs8).to_string();
    for found in [diff("a.key", &pem("a"), &pem("b")), diff_secret("a.key", &pem("a"), &pem("b"))] {
        assert_eq!(found, "key: private-key: (secret) -> (secret)");
    }
    insta::assert_snapshot!(diff("a.pub", &key("a").public_pem(), &key("b").public_pem()), @"key: public-key: BLAKE3 1fdf311edfae06f5419688c58a8aa444 -> BLAKE3 5901c96c364a92b2dc0d46058e9b75ff");
    let both = |name: &str| pem(name) + &certificate("etcd");
    assert_eq!(diff("a.pem", &both("a"), &both("b")), "key: private-key: (secret) -> (secret)");
}

#[test]
fn certificates_inside_of_a_kubeconfig_and_a_secret() {
    use base64::Engine as _;
    let encode = |text: &str| base64::engine::general_purpose::STANDARD.encode(text);
    let config = |name: &str| {
        let (ca, own) = (encode(&certificate(name)), encode(&key(name).to_pem(Form::Pkcs8)));
        format!(
            "apiVersion: v1\nkind: Config\nclusters:\n- name: c\n  cluster: {{certificate-authority-data: {ca}}}\nusers:\n- name: u\n  user: {{client-certificate-data: {ca}, client-key-data: {own}}}\n"
        )
    };
    insta::assert_snapshot!(diff_secret("kubeconfig", &config("a"), &config("b")), @r"
    certificate: clusters / name=c / cluster / certificate-authority-data / subject: CN=a -> CN=b
    certificate: clusters / name=c / cluster / certificate-authority-data / issuer: CN=a -> CN=b
    certificate: clusters / name=c / cluster / certificate-authority-data / serial: 7a142ff6c7521eecc9151f43328ddf02 -> 7380503f38aa41f5c244018ba841b46f
    certificate: users / name=u / user / client-certificate-data / subject: CN=a -> CN=b
    certificate: users / name=u / user / client-certificate-data / issuer: CN=a -> CN=b
    certificate: users / name=u / user / client-certificate-data / serial: 7a142ff6c7521eecc9151f43328ddf02 -> 7380503f38aa41f5c244018ba841b46f
    key: users / name=u / user / client-key-data / private-key: (secret) -> (secret)
    ");
    let secret = |name: &str| {
        format!(
            "apiVersion: v1\nkind: Secret\nmetadata: {{name: s}}\ntype: kubernetes.io/tls\ndata: {{tls.crt: {}, tls.key: {}, kubeconfig: {}}}\n",
            encode(&certificate(name)),
            encode(&key(name).to_pem(Form::Pkcs8)),
            encode(&config(name))
        )
    };
    insta::assert_snapshot!(diff_secret("secret.yaml", &secret("a"), &secret("b")), @r"
    certificate: Secret s / data / kubeconfig / clusters / name=c / cluster / certificate-authority-data / subject: CN=a -> CN=b
    certificate: Secret s / data / kubeconfig / clusters / name=c / cluster / certificate-authority-data / issuer: CN=a -> CN=b
    certificate: Secret s / data / kubeconfig / clusters / name=c / cluster / certificate-authority-data / serial: 7a142ff6c7521eecc9151f43328ddf02 -> 7380503f38aa41f5c244018ba841b46f
    certificate: Secret s / data / kubeconfig / users / name=u / user / client-certificate-data / subject: CN=a -> CN=b
    certificate: Secret s / data / kubeconfig / users / name=u / user / client-certificate-data / issuer: CN=a -> CN=b
    certificate: Secret s / data / kubeconfig / users / name=u / user / client-certificate-data / serial: 7a142ff6c7521eecc9151f43328ddf02 -> 7380503f38aa41f5c244018ba841b46f
    key: Secret s / data / kubeconfig / users / name=u / user / client-key-data / private-key: (secret) -> (secret)
    certificate: Secret s / data / tls.crt / subject: CN=a -> CN=b
    certificate: Secret s / data / tls.crt / issuer: CN=a -> CN=b
    certificate: Secret s / data / tls.crt / serial: 7a142ff6c7521eecc9151f43328ddf02 -> 7380503f38aa41f5c244018ba841b46f
    key: Secret s / data / tls.key / private-key: (secret) -> (secret)
    ");
    assert_eq!(
        diff("secret.yaml", &secret("a"), &secret("b")),
        diff_secret("secret.yaml", &secret("a"), &secret("b"))
    );
}
