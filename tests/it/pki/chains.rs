//! Every certificate as openssl sees it: chains hold for their purpose, extensions are those of the facts.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use tinderbox::internals::pki::{Certificate, PrivateKey};

use super::{AUTHORITIES, LEAVES, built, openssl};
use crate::harness::{Workspace, epoch};

/// The second after the epoch, as openssl wants to be told.
fn at() -> String {
    let format = &time::format_description::well_known::Rfc3339;
    (time::OffsetDateTime::parse(epoch(), format).unwrap().unix_timestamp() + 1).to_string()
}

#[test]
fn openssl_accepts_every_chain_for_its_purpose() {
    let ws = Workspace::example().prebuilt();
    let pki = built(&ws);
    for (name, issuer) in LEAVES {
        let text = fs::read_to_string(pki.join(format!("{name}.crt"))).unwrap();
        let certificate = Certificate::from_pem(&text).unwrap();
        let purposes = [("sslserver", certificate.is_server()), ("sslclient", certificate.is_client())];
        assert!(purposes.iter().any(|(_, has)| *has), "{name}");
        for (purpose, has) in purposes {
            let bundle = format!("{issuer}-bundle.crt");
            let leaf = format!("{name}.crt");
            let args =
                ["verify", "-x509_strict", "-attime", &at(), "-purpose", purpose, "-CAfile", &bundle, &leaf];
            let Some((accepted, text)) = openssl(&pki, &args) else { return };
            // One that is not for servers is refused as one.
            assert_eq!(accepted, has, "{name} as {purpose}: {text}");
            // Without its authority nobody believes it.
            let alone = ["verify", "-attime", &at(), "-CAfile", "front-proxy-ca.crt", &leaf];
            assert!(name == "front-proxy-client" || !openssl(&pki, &alone).unwrap().0, "{name}");
        }
    }
    for (name, _) in AUTHORITIES {
        let (bundle, certificate) = (format!("{name}-bundle.crt"), format!("{name}.crt"));
        let args = ["verify", "-x509_strict", "-attime", &at(), "-CAfile", &bundle, &certificate];
        let (accepted, text) = openssl(&pki, &args).unwrap();
        assert!(accepted, "{name}: {text}");
    }
}

/// The extensions of the facts, in openssl's words.
#[test]
fn extensions_are_those_of_the_facts() {
    let ws = Workspace::example().prebuilt();
    let pki = built(&ws);
    let mut text = String::new();
    for (name, _) in AUTHORITIES.iter().chain(&LEAVES) {
        let file = format!("{name}.crt");
        let extensions = "basicConstraints,keyUsage,extendedKeyUsage,subjectAltName";
        let args = ["x509", "-in", &file, "-noout", "-subject", "-issuer", "-ext", extensions];
        let Some((_, said)) = openssl(&pki, &args) else { return };
        text.push_str(&said);
    }
    insta::assert_snapshot!(text, @r"
    subject=CN = root-ca
    issuer=CN = root-ca
    X509v3 Key Usage: critical
        Certificate Sign, CRL Sign
    X509v3 Basic Constraints: critical
        CA:TRUE, pathlen:2
    subject=CN = etcd-ca
    issuer=CN = root-ca
    X509v3 Key Usage: critical
        Certificate Sign, CRL Sign
    X509v3 Basic Constraints: critical
        CA:TRUE, pathlen:0
    subject=CN = front-proxy-ca
    issuer=CN = root-ca
    X509v3 Key Usage: critical
        Certificate Sign, CRL Sign
    X509v3 Basic Constraints: critical
        CA:TRUE, pathlen:0
    subject=CN = kubelet-ca
    issuer=CN = kubernetes-ca
    X509v3 Key Usage: critical
        Certificate Sign, CRL Sign
    X509v3 Basic Constraints: critical
        CA:TRUE, pathlen:0
    subject=CN = kubernetes-ca
    issuer=CN = root-ca
    X509v3 Key Usage: critical
        Certificate Sign, CRL Sign
    X509v3 Basic Constraints: critical
        CA:TRUE, pathlen:1
    subject=O = system:masters, CN = system:admin
    issuer=CN = kubernetes-ca
    X509v3 Key Usage: critical
        Digital Signature
    X509v3 Extended Key Usage: 
        TLS Web Client Authentication
    X509v3 Basic Constraints: critical
        CA:FALSE
    subject=CN = system:etcd-client
    issuer=CN = etcd-ca
    X509v3 Key Usage: critical
        Digital Signature
    X509v3 Extended Key Usage: 
        TLS Web Client Authentication
    X509v3 Basic Constraints: critical
        CA:FALSE
    subject=CN = etcd-peer-bootstrap
    issuer=CN = etcd-ca
    X509v3 Subject Alternative Name: 
        DNS:bootstrap.ocp4.example.com, DNS:localhost, IP Address:192.168.126.100, IP Address:127.0.0.1
    X509v3 Key Usage: critical
        Digital Signature
    X509v3 Extended Key Usage: 
        TLS Web Server Authentication, TLS Web Client Authentication
    X509v3 Basic Constraints: critical
        CA:FALSE
    subject=CN = etcd-peer-master-0
    issuer=CN = etcd-ca
    X509v3 Subject Alternative Name: 
        DNS:master-0.ocp4.example.com, DNS:etcd-0.ocp4.example.com, DNS:localhost, IP Address:192.168.126.101, IP Address:127.0.0.1
    X509v3 Key Usage: critical
        Digital Signature
    X509v3 Extended Key Usage: 
        TLS Web Server Authentication, TLS Web Client Authentication
    X509v3 Basic Constraints: critical
        CA:FALSE
    subject=CN = etcd-peer-master-1
    issuer=CN = etcd-ca
    X509v3 Subject Alternative Name: 
        DNS:master-1.ocp4.example.com, DNS:etcd-1.ocp4.example.com, DNS:localhost, IP Address:192.168.126.102, IP Address:127.0.0.1
    X509v3 Key Usage: critical
        Digital Signature
    X509v3 Extended Key Usage: 
        TLS Web Server Authentication, TLS Web Client Authentication
    X509v3 Basic Constraints: critical
        CA:FALSE
    subject=CN = etcd-peer-master-2
    issuer=CN = etcd-ca
    X509v3 Subject Alternative Name: 
        DNS:master-2.ocp4.example.com, DNS:etcd-2.ocp4.example.com, DNS:localhost, IP Address:192.168.126.103, IP Address:127.0.0.1
    X509v3 Key Usage: critical
        Digital Signature
    X509v3 Extended Key Usage: 
        TLS Web Server Authentication, TLS Web Client Authentication
    X509v3 Basic Constraints: critical
        CA:FALSE
    subject=CN = etcd-server
    issuer=CN = etcd-ca
    X509v3 Subject Alternative Name: 
        DNS:localhost, DNS:etcd.ocp4.example.com, IP Address:192.168.126.100, IP Address:192.168.126.101, IP Address:192.168.126.102, IP Address:192.168.126.103, IP Address:127.0.0.1
    X509v3 Key Usage: critical
        Digital Signature
    X509v3 Extended Key Usage: 
        TLS Web Server Authentication, TLS Web Client Authentication
    X509v3 Basic Constraints: critical
        CA:FALSE
    subject=CN = system:kube-apiserver-proxy
    issuer=CN = front-proxy-ca
    X509v3 Key Usage: critical
        Digital Signature
    X509v3 Extended Key Usage: 
        TLS Web Client Authentication
    X509v3 Basic Constraints: critical
        CA:FALSE
    subject=CN = kube-apiserver
    issuer=CN = kubernetes-ca
    X509v3 Subject Alternative Name: 
        DNS:kubernetes, DNS:kubernetes.default, DNS:kubernetes.default.svc, DNS:kubernetes.default.svc.cluster.local, DNS:api.ocp4.example.com, DNS:api-int.ocp4.example.com, DNS:localhost, IP Address:192.168.126.10, IP Address:192.168.126.100, IP Address:192.168.126.101, IP Address:192.168.126.102, IP Address:192.168.126.103, IP Address:127.0.0.1, IP Address:172.30.0.1
    X509v3 Key Usage: critical
        Digital Signature
    X509v3 Extended Key Usage: 
        TLS Web Server Authentication, TLS Web Client Authentication
    X509v3 Basic Constraints: critical
        CA:FALSE
    subject=CN = system:kube-apiserver
    issuer=CN = kubernetes-ca
    X509v3 Key Usage: critical
        Digital Signature
    X509v3 Extended Key Usage: 
        TLS Web Client Authentication
    X509v3 Basic Constraints: critical
        CA:FALSE
    subject=CN = system:kube-controller-manager
    issuer=CN = kubernetes-ca
    X509v3 Key Usage: critical
        Digital Signature
    X509v3 Extended Key Usage: 
        TLS Web Client Authentication
    X509v3 Basic Constraints: critical
        CA:FALSE
    subject=CN = system:kube-proxy
    issuer=CN = kubernetes-ca
    X509v3 Key Usage: critical
        Digital Signature
    X509v3 Extended Key Usage: 
        TLS Web Client Authentication
    X509v3 Basic Constraints: critical
        CA:FALSE
    subject=CN = system:kube-scheduler
    issuer=CN = kubernetes-ca
    X509v3 Key Usage: critical
        Digital Signature
    X509v3 Extended Key Usage: 
        TLS Web Client Authentication
    X509v3 Basic Constraints: critical
        CA:FALSE
    subject=O = system:bootstrappers, CN = system:bootstrapper:master-0.ocp4.example.com
    issuer=CN = kubernetes-ca
    X509v3 Key Usage: critical
        Digital Signature
    X509v3 Extended Key Usage: 
        TLS Web Client Authentication
    X509v3 Basic Constraints: critical
        CA:FALSE
    subject=O = system:bootstrappers, CN = system:bootstrapper:master-1.ocp4.example.com
    issuer=CN = kubernetes-ca
    X509v3 Key Usage: critical
        Digital Signature
    X509v3 Extended Key Usage: 
        TLS Web Client Authentication
    X509v3 Basic Constraints: critical
        CA:FALSE
    subject=O = system:bootstrappers, CN = system:bootstrapper:master-2.ocp4.example.com
    issuer=CN = kubernetes-ca
    X509v3 Key Usage: critical
        Digital Signature
    X509v3 Extended Key Usage: 
        TLS Web Client Authentication
    X509v3 Basic Constraints: critical
        CA:FALSE
    subject=O = system:bootstrappers, CN = system:bootstrapper:worker-0.ocp4.example.com
    issuer=CN = kubernetes-ca
    X509v3 Key Usage: critical
        Digital Signature
    X509v3 Extended Key Usage: 
        TLS Web Client Authentication
    X509v3 Basic Constraints: critical
        CA:FALSE
    subject=O = system:bootstrappers, CN = system:bootstrapper:worker-1.ocp4.example.com
    issuer=CN = kubernetes-ca
    X509v3 Key Usage: critical
        Digital Signature
    X509v3 Extended Key Usage: 
        TLS Web Client Authentication
    X509v3 Basic Constraints: critical
        CA:FALSE
    subject=CN = system:machine-config-server
    issuer=CN = root-ca
    X509v3 Subject Alternative Name: 
        DNS:api-int.ocp4.example.com
    X509v3 Key Usage: critical
        Digital Signature
    X509v3 Extended Key Usage: 
        TLS Web Server Authentication
    X509v3 Basic Constraints: critical
        CA:FALSE
    ");
}

/// What Go insists on, and what keeps verifiers from mixing things up.
#[test]
fn serials_names_and_key_ids_are_in_order() {
    let ws = Workspace::example().prebuilt();
    let pki = built(&ws);
    let read = |name: &str| {
        Certificate::from_pem(&fs::read_to_string(pki.join(format!("{name}.crt"))).unwrap()).unwrap()
    };
    let mut serials: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (name, issuer) in AUTHORITIES.iter().chain(&LEAVES) {
        let (certificate, issuer) = (read(name), read(issuer));
        assert!(certificate.is_issued_by(&issuer), "{name}");
        assert_eq!(certificate.issuer(), issuer.subject(), "{name}");
        let above = certificate.authority_key_id();
        assert!(above.is_none() && issuer == certificate || above == issuer.subject_key_id(), "{name}");
        let serial = certificate.serial();
        assert!((16..=40).contains(&serial.len()) && serial.as_bytes()[0] < b'8', "{name}: {serial}");
        assert!(serials.entry(certificate.issuer()).or_default().insert(serial), "{name}: a serial twice");
        let named = !certificate.dns().is_empty() || !certificate.ips().is_empty();
        assert!(!certificate.is_server() || named, "{name}");
        let key =
            PrivateKey::from_pem(&fs::read_to_string(pki.join(format!("{name}.key"))).unwrap()).unwrap();
        assert!(certificate.belongs_to(&key), "{name}");
        let algorithm = if certificate.is_authority() { "rsa-2048" } else { "ecdsa-p256" };
        assert_eq!(certificate.key_algorithm(), algorithm, "{name}");
    }
}

/// Private keys are for their owner, and in a form that openssl finds sound.
#[test]
fn keys_are_sound_and_private() {
    let ws = Workspace::example().prebuilt();
    let pki = built(&ws);
    let names = AUTHORITIES.iter().chain(&LEAVES).map(|(name, _)| *name);
    for name in names.chain(["service-account", "bound-service-account-signing-key"]) {
        let file = format!("{name}.key");
        assert_eq!(crate::harness::mode(&pki.join(&file)) & 0o077, 0, "{name}");
        let Some((sound, text)) = openssl(&pki, &["pkey", "-in", &file, "-check", "-noout"]) else { return };
        assert!(sound, "{name}: {text}");
    }
    for name in ["service-account", "bound-service-account-signing-key"] {
        let (key, public) = (format!("{name}.key"), format!("{name}.pub"));
        let derived = openssl(&pki, &["pkey", "-in", &key, "-pubout"]).unwrap().1;
        assert_eq!(derived, fs::read_to_string(pki.join(public)).unwrap());
    }
}

/// What the kubelets trust, in the order of the facts.
#[test]
fn the_kubelets_bundle() {
    let ws = Workspace::example().prebuilt();
    let pki = built(&ws);
    let bundle = |name: &str| {
        let text = fs::read_to_string(pki.join(name)).unwrap();
        let chain = Certificate::chain_from_pem(&text).unwrap();
        chain.iter().map(|one| one.common_name().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(bundle("kubelet-client-ca-bundle.crt"), ["kubernetes-ca", "kubelet-ca", "root-ca"]);
    assert_eq!(bundle("kubelet-ca-bundle.crt"), ["kubelet-ca", "kubernetes-ca", "root-ca"]);
    assert_eq!(bundle("etcd-ca-bundle.crt"), ["etcd-ca", "root-ca"]);
    assert_eq!(bundle("root-ca-bundle.crt"), ["root-ca"]);
}
