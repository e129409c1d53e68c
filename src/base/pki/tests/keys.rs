//! Private keys.

use std::collections::BTreeSet;

use crypto_bigint::BoxedUint;
use der::asn1::UintRef;
use der::{Decode as _, Encode as _};
use pkcs1::RsaPrivateKeyRef;
use sha2::Digest as _;

use super::super::{Algorithm, Form, PkiError, PrivateKey, PublicKey, name};
use super::{DOMAIN, key, seed};
use crate::base::hint::Hint as _;
use crate::base::secret::Seed;

/// Throwaway keys made by other programs.
const OTHERS: [&str; 3] = [
    include_str!("data/rsa-2048-pkcs1.pem"),
    include_str!("data/p256-sec1.pem"),
    include_str!("data/p384-pkcs8.pem"),
];

fn fingerprint(key: &PrivateKey, form: Form) -> String {
    name::hex(&sha2::Sha256::digest(key.to_pem(form).as_bytes()))
}

/// Literal digests: a change here gives every cluster new keys. It needs a new version in the purpose of the stream;
/// decide it, and say so in the commit.
#[test]
fn keys_are_pinned() {
    let of = |algorithm: Algorithm| {
        format!("{algorithm} {}", fingerprint(&key("pki/root-ca", algorithm), Form::Pkcs8))
    };
    insta::assert_snapshot!(Algorithm::ALL.map(of).join("\n"), @r"
    ecdsa-p256 b9b9dcdb8c28cc8a658c151fb0402dc82d895c424aa2d43788dc43b8a967186f
    ecdsa-p384 bfa13711a2a57252dfe6ebe71c8dd3dea8812b8a2af7ffb514ca40f28b320776
    rsa-2048 30035788ce984f3f4e12c549fe319eb031717a6985f8cef0575de89538db96e5
    rsa-3072 4717e82a4ccc8383e82fd9d7becf70c46a3710861fcf19a56af77e0dec9dd8fb
    rsa-4096 a4aac09c9988c7df74c3e1b9a2b6659445a63245bf5399d900ebdb1c33514eab
    ");
}

#[test]
fn everything_that_names_a_key_changes_it() {
    let other = Seed::new(zeroize::Zeroizing::new([8; 32]));
    let make = |seed: &Seed, domain, name, generation, algorithm| {
        PrivateKey::generate(seed, domain, name, generation, algorithm).public_pem()
    };
    let all = [
        make(&seed(), DOMAIN, "a", 1, Algorithm::EcdsaP256),
        make(&other, DOMAIN, "a", 1, Algorithm::EcdsaP256),
        make(&seed(), "example.com", "a", 1, Algorithm::EcdsaP256),
        make(&seed(), DOMAIN, "b", 1, Algorithm::EcdsaP256),
        make(&seed(), DOMAIN, "a", 2, Algorithm::EcdsaP256),
        make(&seed(), DOMAIN, "a", 1, Algorithm::EcdsaP384),
    ];
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
    assert_eq!(all[0], make(&seed(), DOMAIN, "a", 1, Algorithm::EcdsaP256));
}

#[test]
fn every_form_reads_back() {
    let ours = [Algorithm::EcdsaP256, Algorithm::EcdsaP384, Algorithm::Rsa2048].map(|of| key("round", of));
    let theirs = OTHERS.map(|text| PrivateKey::from_pem(text).unwrap());
    for key in ours.iter().chain(&theirs) {
        for form in [Form::Pkcs8, Form::Own] {
            let text = key.to_pem(form);
            let back = PrivateKey::from_pem(&text).unwrap();
            assert_eq!(back.to_pem(form), text);
            assert_eq!(back.public_pem(), key.public_pem());
            assert_eq!(back.algorithm(), key.algorithm());
            assert!(text.ends_with("-----\n") && text.lines().all(|line| line.len() <= 64));
        }
    }
}

/// Byte for byte what OpenSSL wrote in the same form.
#[test]
fn other_programs_write_the_same() {
    for (text, form) in OTHERS.into_iter().zip([Form::Own, Form::Own, Form::Pkcs8]) {
        let key = PrivateKey::from_pem(text).unwrap();
        assert!(text.ends_with(key.to_pem(form).as_str()));
    }
}

#[test]
fn text_around_a_key_does_not_matter() {
    let text = OTHERS[1].replace('\n', "\r\n") + "\r\nbye\r\n";
    assert_eq!(PrivateKey::from_pem(&text).unwrap().algorithm(), Algorithm::EcdsaP256);
}

#[test]
fn what_is_not_for_us_is_refused_with_advice() {
    let cut = &OTHERS[0][..900];
    let bent = OTHERS[0].replacen("MIIE", "MIID", 1);
    let wrong = OTHERS[0].replace("-----BEGIN RSA", "-----BEGIN EC").replace("-----END RSA", "-----END EC");
    let two = [OTHERS[0], OTHERS[1]].concat();
    let said: Vec<String> = [
        "",
        include_str!("data/authority.pem"),
        &two,
        include_str!("data/encrypted-pkcs8.pem"),
        include_str!("data/encrypted-sec1.pem"),
        include_str!("data/ed25519.pem"),
        include_str!("data/p521.pem"),
        include_str!("data/rsa-1024.pem"),
        cut,
        &bent,
        &wrong,
        "-----BEGIN PRIVATE KEY-----\n*\n-----END PRIVATE KEY-----",
    ]
    .into_iter()
    .map(|text| {
        let error = PrivateKey::from_pem(text).unwrap_err();
        format!("{error}\n  {}", error.hint().unwrap())
    })
    .collect();
    insta::assert_snapshot!(said.join("\n"), @r"
    it contains no private key
      a private key in PEM form begins with `-----BEGIN PRIVATE KEY-----`
    it contains no private key
      it contains a `CERTIFICATE`; use a file with one private key in PEM form
    it contains 2 private keys instead of one
      keep one private key in the file
    the private key is encrypted
      decrypt it: `openssl pkey -in key.pem -out plain.pem`
    the private key is encrypted
      decrypt it: `openssl pkey -in key.pem -out plain.pem`
    `ed25519` keys are not supported
      use RSA of 2048, 3072 or 4096 bits, or ECDSA on the curves P-256 or P-384
    `ecdsa-p521` keys are not supported
      use RSA of 2048, 3072 or 4096 bits, or ECDSA on the curves P-256 or P-384
    `rsa-1024` keys are not supported
      use RSA of 2048, 3072 or 4096 bits, or ECDSA on the curves P-256 or P-384
    the PEM block `RSA PRIVATE KEY` has no end
      was the file cut off when it was copied?
    the private key is damaged: it is not PKCS#1
      `openssl pkey -check -noout` may say more
    the private key is damaged: it is not SEC1
      `openssl pkey -check -noout` may say more
    the PEM block `PRIVATE KEY` is not base64
      was the file changed when it was copied?
    ");
}

/// A key with inconsistent numbers would make invalid signatures.
#[test]
fn damaged_numbers_are_noticed() {
    let good = key("a", Algorithm::EcdsaP256).to_pem(Form::Own);
    let other = key("b", Algorithm::EcdsaP256).to_pem(Form::Own);
    // The scalar is in the first line, most of the public key in the last ones.
    let (first, _) = good.split_at(28 + 64);
    let (_, rest) = other.split_at(28 + 64);
    let error = PrivateKey::from_pem(&[first, rest].concat()).unwrap_err();
    assert!(matches!(error, PkiError::Damaged { .. }), "{error}");
}

/// Go keeps the primes in the order in which it found them: the second may be larger.
#[test]
fn primes_may_stand_in_any_order() {
    let key = key("a", Algorithm::Rsa2048);
    let text = key.to_pem(Form::Own);
    let der = super::super::pem::read(&text).unwrap().remove(0).der;
    let numbers = RsaPrivateKeyRef::from_der(&der).unwrap();
    let [p, q] =
        [&numbers.prime1, &numbers.prime2].map(|prime| BoxedUint::from_be_slice_vartime(prime.as_bytes()));
    let inverse = p.invert_mod(&q.to_nz().unwrap()).unwrap().to_be_bytes();
    let swapped = RsaPrivateKeyRef {
        prime1: numbers.prime2,
        prime2: numbers.prime1,
        exponent1: numbers.exponent2,
        exponent2: numbers.exponent1,
        coefficient: UintRef::new(&inverse).unwrap(),
        ..numbers.clone()
    };
    let swapped = super::super::pem::write("RSA PRIVATE KEY", &swapped.to_der().unwrap());
    assert_ne!(swapped, text);
    let swapped = PrivateKey::from_pem(&swapped).unwrap();
    assert_eq!(swapped.sign(b"message"), key.sign(b"message"));
    assert!(key.sign(b"message").is_ok());
}

#[test]
fn debug_shows_the_mask() {
    assert_eq!(format!("{:?}", key("a", Algorithm::EcdsaP256)), "PrivateKey(ecdsa-p256, (secret))");
}

#[test]
fn algorithms_have_one_name() {
    for algorithm in Algorithm::ALL {
        assert_eq!(Algorithm::read(algorithm.as_str()), Some(algorithm));
    }
    assert_eq!(Algorithm::read("rsa"), None);
}

#[test]
fn public_keys_stand_alone() {
    let read = |text: &str| PublicKey::all_from_pem(text).map(|keys| keys.len());
    let keys = OTHERS.map(|text| PrivateKey::from_pem(text).unwrap());
    // Ours sign with SHA-384 on P-384.
    for key in &keys[..2] {
        let public = PublicKey::all_from_pem(&key.public_pem()).unwrap().remove(0);
        let signature = key.sign(b"message").unwrap();
        assert!(public.verifies(b"message", &signature) && !public.verifies(b"massage", &signature));
    }
    let both: String = keys.iter().map(PrivateKey::public_pem).collect();
    assert_eq!(read(&both), Ok(keys.len()));
    let missing =
        |found: Option<&str>| Err(PkiError::Missing { what: "public key", found: found.map(str::to_owned) });
    assert_eq!(read(""), missing(None));
    assert_eq!(read(&format!("{both}{}", &*keys[0].to_pem(Form::Pkcs8))), missing(Some("PRIVATE KEY")));
    let weak = "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n-----END PUBLIC KEY-----\n";
    assert_eq!(read(weak), Err(PkiError::Unsupported { kind: "ed25519".into() }));
}
