//! Requests made by OpenSSL, intact and corrupted.

use super::super::certificate::elements;
use super::super::{PkiError, SigningRequest};

/// `openssl req -new -subj "/O=system:nodes/CN=system:node:a"` with a key on P-256.
const EC: &str = include_str!("data/request-ec.pem");
/// The same with RSA-2048, `subjectAltName=DNS:a,IP:192.0.2.1,IP:2001:db8::1,email:a@b.c` and a key usage.
const RSA: &str = include_str!("data/request-rsa.pem");

fn read(text: &str) -> Result<SigningRequest, PkiError> {
    SigningRequest::from_pem(text.as_bytes())
}

#[test]
fn a_request_of_openssl_is_understood() {
    let asked = read(EC).unwrap();
    assert_eq!(asked.subject, "O=system:nodes, CN=system:node:a");
    assert_eq!((asked.values("O"), asked.values("CN")), (vec!["system:nodes"], vec!["system:node:a"]));
    assert_eq!((asked.key_algorithm.as_str(), asked.is_signed), ("ecdsa-p256", true));
    assert!(
        asked.dns.is_empty() && asked.ips.is_empty() && asked.others.is_empty() && asked.extras.is_empty()
    );
}

#[test]
fn names_and_extensions_are_told() {
    let asked = read(RSA).unwrap();
    assert_eq!(asked.dns, ["a"]);
    assert_eq!(asked.ips.iter().map(ToString::to_string).collect::<Vec<_>>(), ["192.0.2.1", "2001:db8::1"]);
    assert_eq!(asked.others, ["the e-mail address `a@b.c`"]);
    assert_eq!(asked.extras, ["extension keyUsage"]);
    assert_eq!((asked.key_algorithm.as_str(), asked.is_signed), ("rsa-2048", true));
}

#[test]
fn only_one_request_and_nothing_around_it() {
    let refused = |text: &str| read(text).unwrap_err().to_string();
    assert_eq!(refused(""), "it contains no certificate request");
    assert_eq!(refused(&EC.replace(" REQUEST", "")), "it contains no certificate request");
    assert_eq!(
        refused(&EC.replace("CERTIFICATE REQUEST", "NEW CERTIFICATE REQUEST")),
        "it contains no certificate request"
    );
    assert_eq!(refused(&format!("{EC}{RSA}")), "it contains 2 certificate requests instead of one");
    assert_eq!(
        refused(&format!("# mine\n{EC}")),
        "the certificate request is damaged: there is text around it"
    );
    assert_eq!(refused(&format!("{EC}more")), "the certificate request is damaged: there is text around it");
    assert!(refused(&" ".repeat(1 << 20)).ends_with("it has more than 32768 bytes"));
    assert!(SigningRequest::from_pem(&[0xff, 0xfe]).is_err());
}

/// Changing or removing any byte breaks the signature or the encoding.
#[test]
fn a_corrupted_request_is_never_valid() {
    for text in [EC, RSA] {
        let der = super::super::pem::read(text).unwrap().remove(0).der.to_vec();
        for length in 0..der.len() {
            assert!(SigningRequest::from_der(&der[..length]).is_err(), "{length}");
        }
        assert!(SigningRequest::from_der(&[der.as_slice(), &[0]].concat()).is_err());
        let good = SigningRequest::from_der(&der).unwrap();
        let signed = elements(&der).unwrap()[0].len();
        for at in 0..der.len() {
            for bit in [0x01, 0x20, 0x80] {
                let mut broken = der.clone();
                broken[at] ^= bit;
                let Ok(read) = SigningRequest::from_der(&broken) else { continue };
                // After the signed part, the algorithm has parameters that mean nothing.
                assert!(!read.is_signed || (at > signed && read == good), "{at}");
            }
        }
    }
}
