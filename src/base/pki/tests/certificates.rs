use std::net::IpAddr;

use proptest::prelude::*;
use time::macros::datetime;
use time::{Duration, OffsetDateTime};

use super::super::{
    Algorithm, Authority, Certificate, Issuer, KeyUsage, Name, PkiError, PrivateKey, Request, issue,
    self_signed,
};
use super::{DOMAIN, key, seed};
use crate::base::hint::Hint as _;

const EPOCH: OffsetDateTime = datetime!(2026-11-16 00:00 UTC);

fn authority(key: &PrivateKey) -> Request<'_> {
    Request {
        subject: Name { organizational_units: vec!["openshift".into()], ..Name::common("root-ca") },
        not_before: EPOCH,
        not_after: EPOCH + Duration::days(3650),
        authority: Some(Authority { path_length: Some(1) }),
        key_usages: vec![KeyUsage::DigitalSignature, KeyUsage::CertSign, KeyUsage::CrlSign],
        server: false,
        client: false,
        dns: Vec::new(),
        ips: Vec::new(),
        key,
    }
}

fn leaf(key: &PrivateKey) -> Request<'_> {
    Request {
        subject: Name { organizations: vec!["system:masters".into()], ..Name::common("system:admin") },
        not_before: EPOCH,
        not_after: EPOCH + Duration::days(365),
        authority: None,
        key_usages: vec![KeyUsage::DigitalSignature, KeyUsage::KeyEncipherment],
        server: true,
        client: true,
        dns: vec!["api.ocp4.example.com".into(), "localhost".into(), "api.ocp4.example.com".into()],
        ips: vec![[127, 0, 0, 1].into(), "::1".parse().unwrap()],
        key,
    }
}

fn make(request: &Request<'_>, issuer: Option<(&Certificate, &PrivateKey)>) -> Result<Certificate, PkiError> {
    let issuer = issuer.map(|(certificate, key)| Issuer { certificate, key });
    issue(&seed(), DOMAIN, "pki/some", 1, request, issuer)
}

/// Literal digests: changing one gives every cluster new certificates, and new ids to everything that contains one.
/// That is less severe than new keys, but still a new version of the builders; decide it, and say so in the commit.
#[test]
fn certificates_are_pinned() {
    let (rsa, p384, p256) = (
        key("pki/root-ca", Algorithm::Rsa2048),
        key("a", Algorithm::EcdsaP384),
        key("b", Algorithm::EcdsaP256),
    );
    let root = make(&authority(&rsa), None).unwrap();
    let signed = make(&leaf(&p256), Some((&root, &rsa))).unwrap();
    let other = make(&authority(&p384), None).unwrap();
    insta::assert_snapshot!([&root, &signed, &other].map(Certificate::fingerprint).join("\n"), @r"
    1682ab65d3cdfb1b07fa9f3ee8e18473c960da03562fb66a610ad01535230a32
    221a1d0c80797b0534405805f9e56f488989b2f9ec86d9f967d8df2fc49b5192
    60e5e970f11d0e416bcd252fb27bc48ef300a2c06cbb4790a3bcfa8fee3e414c
    ");

    assert_eq!(root, make(&authority(&rsa), None).unwrap());
    assert!(root.is_issued_by(&root) && signed.is_issued_by(&root) && other.is_issued_by(&other));
    // The same name, another key.
    assert!(!signed.is_issued_by(&other) && !root.is_issued_by(&signed));
    assert!(root.belongs_to(&rsa) && signed.belongs_to(&p256) && !signed.belongs_to(&rsa));
    assert_eq!(signed.signature_algorithm(), "rsa-sha256");
    assert_eq!(other.signature_algorithm(), "ecdsa-sha384");
    assert_eq!(signed.public_pem(), p256.public_pem());
    assert_eq!(root.public_pem(), rsa.public_pem());
    assert_eq!(root.key_algorithm(), "rsa-2048");
}

#[test]
fn a_certificate_says_what_was_asked_for() {
    let (signer, own) = (key("a", Algorithm::EcdsaP384), key("b", Algorithm::EcdsaP256));
    let root = make(&authority(&signer), None).unwrap();
    let leaf = make(&leaf(&own), Some((&root, &signer))).unwrap();
    assert_eq!(leaf.subject(), "O=system:masters, CN=system:admin");
    assert_eq!(leaf.issuer(), "OU=openshift, CN=root-ca");
    assert_eq!(leaf.common_name(), Some("system:admin"));
    assert_eq!(leaf.organizations(), ["system:masters"]);
    assert_eq!((leaf.not_before(), leaf.not_after()), (EPOCH, EPOCH + Duration::days(365)));
    assert_eq!(leaf.dns(), ["api.ocp4.example.com", "localhost"]);
    assert_eq!(leaf.ips(), [IpAddr::from([127, 0, 0, 1]), "::1".parse().unwrap()]);
    assert_eq!(leaf.key_usages(), [KeyUsage::DigitalSignature, KeyUsage::KeyEncipherment]);
    assert!(leaf.is_server() && leaf.is_client() && !leaf.is_authority() && !leaf.may_sign());
    assert_eq!(leaf.authority_key_id(), root.subject_key_id());
    assert_ne!(leaf.subject_key_id(), root.subject_key_id());
    assert!(leaf.subject_key_id().is_some() && root.authority_key_id().is_none());
    assert_eq!((root.path_length(), root.may_sign(), root.is_server()), (Some(1), true, false));
    assert_eq!(Certificate::from_pem(&leaf.to_pem()).unwrap(), leaf);
    let both = format!("{}text\n{}", leaf.to_pem(), root.to_pem());
    assert_eq!(Certificate::chain_from_pem(&both).unwrap(), [leaf, root]);
    assert_eq!(Certificate::from_pem(&both), Err(PkiError::Several { what: "certificate", count: 2 }));
}

/// As Go encodes the installer's node bootstrapper.
#[test]
fn two_organizations_and_a_long_common_name() {
    let own = key("b", Algorithm::EcdsaP256);
    let long = "system:serviceaccount:openshift-machine-config-operator:node-bootstrapper";
    let groups = ["system:serviceaccounts:openshift-machine-config-operator", "system:serviceaccounts"];
    let subject = Name { organizations: groups.map(str::to_owned).into(), ..Name::common(long) };
    let made = make(&Request { subject, ..leaf(&own) }, None).unwrap();
    assert_eq!(made.organizations(), [groups[1], groups[0]]);
    assert_eq!(made.common_name(), Some(long));
    assert_eq!(made.subject(), format!("O={} + O={}, CN={long}", groups[1], groups[0]));
}

#[test]
fn serials_are_positive_and_follow_the_content() {
    let own = key("b", Algorithm::EcdsaP256);
    let first = make(&leaf(&own), None).unwrap();
    let later = make(&Request { not_after: EPOCH + Duration::days(366), ..leaf(&own) }, None).unwrap();
    let renamed = issue(&seed(), DOMAIN, "pki/other", 1, &leaf(&own), None).unwrap();
    let again = issue(&seed(), DOMAIN, "pki/some", 2, &leaf(&own), None).unwrap();
    let all = [&first, &later, &renamed, &again].map(Certificate::serial);
    assert!(
        all.iter().all(|serial| serial.len() == 32 && ('4'..='7').contains(&serial.chars().next().unwrap()))
    );
    assert_eq!(all.iter().collect::<std::collections::BTreeSet<_>>().len(), all.len());
}

/// Years up to 2049 have two digits in a certificate, later ones four (RFC 5280, 4.1.2.5).
#[test]
fn dates_are_encoded_by_their_year() {
    let own = key("b", Algorithm::EcdsaP256);
    let request = Request {
        not_before: datetime!(2049-12-31 23:59:59.999 UTC),
        not_after: datetime!(2050-01-01 02:00 +2),
        ..leaf(&own)
    };
    let made = make(&request, None).unwrap();
    let has = |text: &[u8]| made.der().windows(text.len()).any(|window| window == text);
    assert!(has(b"\x17\x0d491231235959Z") && has(b"\x18\x0f20500101000000Z"));
    assert_eq!(made.not_before(), datetime!(2049-12-31 23:59:59 UTC));
    assert_eq!(made.not_after(), datetime!(2050-01-01 00:00 UTC));
}

/// An authority made by OpenSSL with many string types in its name, and without key usages or subject key id.
#[test]
fn an_authority_of_the_user_signs() {
    let root = Certificate::from_pem(include_str!("data/authority.pem")).unwrap();
    let signer = PrivateKey::from_pem(include_str!("data/p384-pkcs8.pem")).unwrap();
    let own = key("b", Algorithm::EcdsaP256);
    assert_eq!(
        root.subject(),
        "DC=com, DC=example, O=Bäckerei\\, Söhne \\+ Co, OU=one, OU=two, CN=Ünser Root + emailAddress=ca@example.com"
    );
    assert!(root.is_issued_by(&root) && root.belongs_to(&signer) && root.may_sign());
    assert_eq!(root.subject_key_id(), None);
    let made = make(&leaf(&own), Some((&root, &signer))).unwrap();
    assert!(made.is_issued_by(&root));
    assert_eq!(made.issuer(), root.subject());
    // As OpenSSL says: openssl pkey -in p384-pkcs8.pem -pubout -outform DER | tail -c 97 | sha1sum
    insta::assert_snapshot!(made.authority_key_id().unwrap(), @"91097149f4c1c8f2f89c0c9903b906cc99aff6a5");
}

/// The same authority signed by another and by itself: either verifies what the other signed, and the second does not
/// reveal the first.
#[test]
fn an_authority_once_more() {
    let (above, own, third) =
        (key("a", Algorithm::Rsa2048), key("b", Algorithm::Rsa2048), key("c", Algorithm::EcdsaP256));
    let root = make(&authority(&above), None).unwrap();
    let below = Request { authority: Some(Authority { path_length: Some(0) }), ..authority(&own) };
    let below = Request { subject: Name::common("etcd-ca"), ..below };
    let below = make(&below, Some((&root, &above))).unwrap();
    let twin = self_signed(&seed(), DOMAIN, "pki/twin", &below, &own).unwrap();
    assert!(twin.is_issued_by(&twin) && !below.is_issued_by(&twin) && !twin.is_issued_by(&root));
    assert_eq!(twin.authority_key_id(), None);
    let says = |of: &Certificate| {
        (
            of.subject(),
            of.not_before(),
            of.not_after(),
            of.path_length(),
            of.key_usages().to_vec(),
            of.subject_key_id(),
        )
    };
    assert_eq!(says(&twin), says(&below));
    assert_ne!(twin.serial(), below.serial());
    for (by, other) in [(&below, &twin), (&twin, &below)] {
        let made = make(&leaf(&third), Some((by, &own))).unwrap();
        assert!(made.is_issued_by(by) && made.is_issued_by(other));
        assert_eq!(made.authority_key_id(), twin.subject_key_id());
    }
    assert_eq!(self_signed(&seed(), DOMAIN, "pki/twin", &below, &own).unwrap(), twin);
    assert!(matches!(
        self_signed(&seed(), DOMAIN, "pki/twin", &below, &above),
        Err(PkiError::WrongKey { .. })
    ));
    let leaf = make(&leaf(&own), None).unwrap();
    assert!(matches!(
        self_signed(&seed(), DOMAIN, "pki/twin", &leaf, &own),
        Err(PkiError::NotAuthority { .. })
    ));
}

/// The name of a user's authority is kept byte for byte.
#[test]
fn an_authority_of_the_user_once_more() {
    let root = Certificate::from_pem(include_str!("data/authority.pem")).unwrap();
    let signer = PrivateKey::from_pem(include_str!("data/p384-pkcs8.pem")).unwrap();
    let twin = self_signed(&seed(), DOMAIN, "pki/twin", &root, &signer).unwrap();
    assert_eq!((twin.subject(), twin.issuer()), (root.subject(), root.subject()));
    assert!(root.is_issued_by(&twin) && twin.is_issued_by(&root) && twin.may_sign());
}

#[test]
fn what_nobody_would_accept_is_refused() {
    let (signer, own) = (key("a", Algorithm::EcdsaP256), key("b", Algorithm::EcdsaP256));
    let last = Request { authority: Some(Authority { path_length: Some(0) }), ..authority(&signer) };
    let last = make(&last, None).unwrap();
    let no_authority = make(&leaf(&signer), None).unwrap();
    let crl_only = Request { key_usages: vec![KeyUsage::CrlSign], ..authority(&signer) };
    let crl_only = make(&crl_only, None).unwrap();
    let all = [
        make(&Request { subject: Name::default(), ..leaf(&own) }, None),
        make(&Request { not_after: EPOCH, ..leaf(&own) }, None),
        make(&Request { not_before: datetime!(1960-01-01 00:00 UTC), ..leaf(&own) }, None),
        make(&Request { dns: vec!["bücher.example".into()], ..leaf(&own) }, None),
        make(&Request { dns: vec!["".into()], ..leaf(&own) }, None),
        make(&leaf(&own), Some((&last, &own))),
        make(&leaf(&own), Some((&no_authority, &signer))),
        make(&leaf(&own), Some((&crl_only, &signer))),
        make(&authority(&own), Some((&last, &signer))),
    ];
    let said: Vec<String> = all
        .into_iter()
        .map(Result::unwrap_err)
        .map(|error| format!("{error}{}", error.hint().map(|hint| format!("\n  {hint}")).unwrap_or_default()))
        .collect();
    insta::assert_snapshot!(said.join("\n"), @r"
    a certificate needs a subject
    a certificate cannot be valid from 2026-11-16 to 2026-11-16
    a certificate cannot be valid from 1960-01-01 to 2027-11-16
    `bücher.example` is not a DNS name
      write internationalised names in their `xn--` form
    `` is not a DNS name
      write internationalised names in their `xn--` form
    the private key does not belong to the certificate of `OU=openshift, CN=root-ca`
      use the private key of that certificate
    `O=system:masters, CN=system:admin` is not an authority that may sign certificates
      it needs `CA:TRUE` and, if it has key usages, `Certificate Sign` among them
    `OU=openshift, CN=root-ca` is not an authority that may sign certificates
      it needs `CA:TRUE` and, if it has key usages, `Certificate Sign` among them
    `OU=openshift, CN=root-ca` may not sign further authorities: its path length is 0
      use an authority whose path length allows one more level
    ");
    assert!(make(&leaf(&own), Some((&last, &signer))).is_ok());
}

#[test]
fn what_is_no_certificate_is_refused() {
    let pem = include_str!("data/authority.pem");
    let said: Vec<String> = ["", include_str!("data/p384-pkcs8.pem"), &pem.replacen("MIIC", "MIIB", 1)]
        .into_iter()
        .map(|text| Certificate::from_pem(text).unwrap_err())
        .map(|error| format!("{error}\n  {}", error.hint().unwrap()))
        .collect();
    insta::assert_snapshot!(said.join("\n"), @r"
    it contains no certificate
      a certificate in PEM form begins with `-----BEGIN CERTIFICATE-----`
    it contains no certificate
      it contains a `PRIVATE KEY`; use a file with one certificate in PEM form
    the certificate is damaged: ASN.1 DER message is incomplete: expected 400, actual 399 at DER byte 399
      `openssl x509 -text -noout` may say more
    ");
}

#[test]
fn a_changed_certificate_is_noticed() {
    let own = key("b", Algorithm::EcdsaP256);
    let made = make(&leaf(&own), None).unwrap();
    let at = made.der().windows(9).position(|window| window == b"localhost").unwrap();
    let mut der = made.der().to_vec();
    der[at] = b'x';
    let changed = Certificate::from_der(&der).unwrap();
    assert_eq!(changed.dns()[1], "xocalhost");
    assert!(made.is_issued_by(&made) && !changed.is_issued_by(&made));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_was_put_in_comes_back(
        organizations in proptest::collection::btree_set("\\PC{1,40}", 0..4),
        units in proptest::collection::vec("\\PC{1,20}", 0..3),
        common_name in "\\PC{1,200}",
        dns in proptest::collection::vec("[!-~]{1,30}", 0..4),
        ips in proptest::collection::vec(any::<IpAddr>(), 0..4),
        dates in proptest::collection::btree_set(0i64..253_402_300_799, 2),
        authority in proptest::option::of(proptest::option::of(any::<u8>())),
        usages in proptest::sample::subsequence(
            vec![KeyUsage::DigitalSignature, KeyUsage::KeyEncipherment, KeyUsage::CertSign, KeyUsage::CrlSign], 0..=4),
        (server, client) in any::<(bool, bool)>(),
    ) {
        let own = key("b", Algorithm::EcdsaP256);
        let dates: Vec<OffsetDateTime> =
            dates.into_iter().map(|date| OffsetDateTime::from_unix_timestamp(date).unwrap()).collect();
        let request = Request {
            subject: Name {
                organizations: organizations.iter().cloned().collect(),
                organizational_units: units,
                common_name: common_name.clone(),
            },
            not_before: dates[0],
            not_after: dates[1],
            authority: authority.map(|path_length| Authority { path_length }),
            key_usages: usages.clone(),
            server,
            client,
            dns: dns.clone(),
            ips: ips.clone(),
            key: &own,
        };
        let made = Certificate::from_pem(&make(&request, None).unwrap().to_pem()).unwrap();
        let mut found = made.organizations().to_vec();
        found.sort();
        prop_assert_eq!(found, organizations.into_iter().collect::<Vec<_>>());
        prop_assert_eq!(made.common_name(), Some(common_name.as_str()));
        prop_assert_eq!((made.not_before(), made.not_after()), (dates[0], dates[1]));
        prop_assert_eq!(made.is_authority(), authority.is_some());
        prop_assert_eq!(made.path_length(), authority.flatten());
        prop_assert_eq!(made.key_usages(), usages);
        prop_assert_eq!((made.is_server(), made.is_client()), (server, client));
        prop_assert_eq!(made.dns(), once(dns));
        prop_assert_eq!(made.ips(), once(ips));
        prop_assert!(made.is_issued_by(&made));
    }
}

fn once<T: PartialEq>(all: Vec<T>) -> Vec<T> {
    all.into_iter().fold(Vec::new(), |mut seen, one| {
        if !seen.contains(&one) {
            seen.push(one);
        }
        seen
    })
}
