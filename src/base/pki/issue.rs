//! Issues certificates. `rcgen` encodes them; names, serial number and signature are ours.
//!
//! `rcgen`'s names hold one value per attribute, but a subject may have two organizations, and the name of a user's
//! authority is arbitrary and must reach the issuer field byte for byte. So we issue the certificate with placeholders,
//! take it apart, and reassemble it with the real names.
//!
//! # Serial numbers
//!
//! 16 bytes from a stream of the seed, named by domain, name, generation and the BLAKE3 of everything that is signed,
//! with a serial of zeros in it. The first byte is mapped into 0x40..=0x7f: positive, no padding, fixed length. The
//! same inputs yield the same serial; another date or address yields another, since clients refuse two certificates
//! with the same issuer and serial.
//!
//! # Key ids
//!
//! The subject key id is the SHA-1 of the public key's bits. The authority key id is the issuer's subject key id
//! (computed if a user's authority has none); a self-signed certificate has none, because Go omits it there.

use std::net::IpAddr;

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyIdMethod, KeyUsagePurpose, PublicKeyData, SanType, SerialNumber, SignatureAlgorithm, SigningKey,
};
use time::{OffsetDateTime, UtcOffset};

use super::certificate::{elements, key_id};
use super::der::{SEQUENCE, bit_string, element, integer};
use super::{Algorithm, Certificate, KeyUsage, Name, PkiError, PrivateKey};
use crate::base::secret::Seed;

/// The contents of a certificate.
#[derive(Debug, Clone)]
pub struct Request<'a> {
    pub subject: Name,
    /// In whole seconds.
    pub not_before: OffsetDateTime,
    /// In whole seconds.
    pub not_after: OffsetDateTime,
    /// Set if it may sign other certificates.
    pub authority: Option<Authority>,
    /// A critical extension, absent if empty.
    pub key_usages: Vec<KeyUsage>,
    pub server: bool,
    pub client: bool,
    /// DNS names, encoded before the addresses. Duplicates are dropped.
    pub dns: Vec<String>,
    pub ips: Vec<IpAddr>,
    pub key: &'a PrivateKey,
}

/// The basic constraints of an authority.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Authority {
    /// Maximum number of authorities between this and a leaf; none for no limit.
    pub path_length: Option<u8>,
}

#[derive(Debug, Clone, Copy)]
pub struct Issuer<'a> {
    pub certificate: &'a Certificate,
    pub key: &'a PrivateKey,
}

/// Issues a certificate; self-signed without an issuer. Deterministic.
pub fn issue(
    seed: &Seed,
    domain: &str,
    name: &str,
    generation: u64,
    request: &Request<'_>,
    issuer: Option<Issuer<'_>>,
) -> Result<Certificate, PkiError> {
    let subject = request.subject.to_der();
    check(request, &subject, issuer)?;
    let signer = issuer.map_or(request.key, |issuer| issuer.key);
    let draft = draft(request, issuer, signer, key_id(&request.key.public_bits()));
    let issuer_name = issuer.map_or(subject.as_slice(), |issuer| issuer.certificate.subject_der());
    let stream = |signed: &[u8]| serial(seed, domain, name, generation, signed);
    complete(request, draft, &subject, issuer_name, signer, stream)
}

/// A self-signed twin of an authority: the same name, key, key id, dates and uses. Clients that trust either accept
/// certificates signed by the other.
pub(crate) fn self_signed(
    seed: &Seed,
    domain: &str,
    name: &str,
    authority: &Certificate,
    key: &PrivateKey,
) -> Result<Certificate, PkiError> {
    if !authority.belongs_to(key) {
        return Err(PkiError::WrongKey { issuer: authority.subject() });
    }
    if !authority.may_sign() {
        return Err(PkiError::NotAuthority { issuer: authority.subject() });
    }
    let request = Request {
        // Only used in messages: the encoded name is the authority's, byte for byte.
        subject: Name { common_name: authority.subject(), ..Name::default() },
        not_before: authority.not_before(),
        not_after: authority.not_after(),
        authority: Some(Authority { path_length: authority.path_length() }),
        key_usages: authority.key_usages().to_vec(),
        server: false,
        client: false,
        dns: Vec::new(),
        ips: Vec::new(),
        key,
    };
    let draft = draft(&request, None, key, authority.key_id());
    let subject = authority.subject_der();
    complete(&request, draft, subject, subject, key, |signed| serial(seed, domain, name, 1, signed))
}

/// Completes a draft with its names, serial number and signature.
fn complete(
    request: &Request<'_>,
    draft: Result<Vec<u8>, rcgen::Error>,
    subject: &[u8],
    issuer: &[u8],
    signer: &PrivateKey,
    serial: impl Fn(&[u8]) -> [u8; 16],
) -> Result<Certificate, PkiError> {
    let not_made =
        |reason: String| PkiError::NotMade { subject: request.subject.common_name.clone(), reason };
    let draft = draft.map_err(|error| not_made(error.to_string()))?;
    let parts = signed_parts(&draft).ok_or_else(|| not_made("its encoding is not as expected".into()))?;
    let [version, _, algorithm, _, validity, _, public, extensions] = parts;
    let with_serial = |serial: &[u8]| {
        let serial = integer(serial);
        element(SEQUENCE, &[version, &serial, algorithm, issuer, validity, subject, public, extensions])
    };
    let signed = with_serial(&serial(&with_serial(&[])));
    let signature = signer.sign(&signed).map_err(not_made)?;
    Certificate::from_der(&element(SEQUENCE, &[&signed, algorithm, &bit_string(&signature)]))
}

/// Rejects certificates that no client would accept.
fn check(request: &Request<'_>, subject: &[u8], issuer: Option<Issuer<'_>>) -> Result<(), PkiError> {
    if subject == [SEQUENCE, 0] {
        return Err(PkiError::NoSubject);
    }
    let Request { not_before, not_after, .. } = *request;
    // Certificate readers do not know times before 1970.
    let years = 1970..=9999;
    if not_before >= not_after
        || [not_before, not_after].iter().any(|date| !years.contains(&utc(*date).year()))
    {
        return Err(PkiError::Validity { not_before, not_after });
    }
    if let Some(name) =
        request.dns.iter().find(|name| name.is_empty() || !name.bytes().all(|b| b.is_ascii_graphic()))
    {
        return Err(PkiError::NotDns { name: name.clone() });
    }
    let Some(Issuer { certificate, key }) = issuer else { return Ok(()) };
    let issuer = certificate.subject();
    if !certificate.belongs_to(key) {
        return Err(PkiError::WrongKey { issuer });
    }
    if !certificate.may_sign() {
        return Err(PkiError::NotAuthority { issuer });
    }
    if request.authority.is_some() && certificate.path_length() == Some(0) {
        return Err(PkiError::PathLength { issuer });
    }
    Ok(())
}

fn utc(date: OffsetDateTime) -> OffsetDateTime {
    date.checked_to_offset(UtcOffset::UTC).unwrap_or(OffsetDateTime::UNIX_EPOCH)
}

/// The certificate with placeholders for names, serial number and signature.
fn draft(
    request: &Request<'_>,
    issuer: Option<Issuer<'_>>,
    signer: &PrivateKey,
    own_id: Vec<u8>,
) -> Result<Vec<u8>, rcgen::Error> {
    let public = Public::of(request.key);
    let mut params = CertificateParams::default();
    params.not_before = utc(request.not_before);
    params.not_after = utc(request.not_after);
    params.serial_number = Some(SerialNumber::from(1));
    params.distinguished_name = placeholder();
    params.is_ca = match request.authority {
        Some(Authority { path_length: Some(length) }) => IsCa::Ca(BasicConstraints::Constrained(length)),
        Some(Authority { path_length: None }) => IsCa::Ca(BasicConstraints::Unconstrained),
        None => IsCa::ExplicitNoCa,
    };
    params.key_usages = request.key_usages.iter().map(|usage| purpose(*usage)).collect();
    params.extended_key_usages = [
        (request.server, ExtendedKeyUsagePurpose::ServerAuth),
        (request.client, ExtendedKeyUsagePurpose::ClientAuth),
    ]
    .into_iter()
    .filter_map(|(wanted, purpose)| wanted.then_some(purpose))
    .collect();
    for name in &request.dns {
        push_once(&mut params.subject_alt_names, SanType::DnsName(name.as_str().try_into()?));
    }
    for ip in &request.ips {
        push_once(&mut params.subject_alt_names, SanType::IpAddress(*ip));
    }
    params.key_identifier_method = KeyIdMethod::PreSpecified(own_id);
    params.use_authority_key_identifier_extension = issuer.is_some();
    let mut issuer_params = CertificateParams::default();
    issuer_params.distinguished_name = placeholder();
    issuer_params.key_identifier_method =
        KeyIdMethod::PreSpecified(issuer.map(|issuer| issuer.certificate.key_id()).unwrap_or_default());
    let issuer = rcgen::Issuer::new(issuer_params, Public::of(signer));
    Ok(params.signed_by(&public, &issuer)?.der().to_vec())
}

/// Not empty: without a subject, the alternative names would become critical.
fn placeholder() -> DistinguishedName {
    let mut name = DistinguishedName::new();
    name.push(DnType::CommonName, "-");
    name
}

fn push_once(names: &mut Vec<SanType>, name: SanType) {
    if !names.contains(&name) {
        names.push(name);
    }
}

fn purpose(usage: KeyUsage) -> KeyUsagePurpose {
    match usage {
        KeyUsage::DigitalSignature => KeyUsagePurpose::DigitalSignature,
        KeyUsage::KeyEncipherment => KeyUsagePurpose::KeyEncipherment,
        KeyUsage::CertSign => KeyUsagePurpose::KeyCertSign,
        KeyUsage::CrlSign => KeyUsagePurpose::CrlSign,
    }
}

/// The eight parts of the signed data; none if `rcgen` ever writes something else.
fn signed_parts(certificate: &[u8]) -> Option<[&[u8]; 8]> {
    let signed = *elements(certificate).ok()?.first()?;
    elements(signed).ok()?.try_into().ok()
}

fn serial(seed: &Seed, domain: &str, name: &str, generation: u64, signed: &[u8]) -> [u8; 16] {
    let rest = blake3::hash(signed).to_hex();
    let mut stream = seed
        .stream("tinderbox 2026-11-16 serial v1", &[domain, name, &generation.to_string(), rest.as_str()]);
    let mut serial = *stream.take::<16>();
    serial[0] = serial[0] & 0x3f | 0x40;
    serial
}

/// The public key, as `rcgen` sees it.
struct Public {
    bits: Vec<u8>,
    algorithm: &'static SignatureAlgorithm,
}

impl Public {
    fn of(key: &PrivateKey) -> Self {
        let algorithm = match key.algorithm() {
            Algorithm::EcdsaP256 => &rcgen::PKCS_ECDSA_P256_SHA256,
            Algorithm::EcdsaP384 => &rcgen::PKCS_ECDSA_P384_SHA384,
            Algorithm::Rsa2048 | Algorithm::Rsa3072 | Algorithm::Rsa4096 => &rcgen::PKCS_RSA_SHA256,
        };
        Self { bits: key.public_bits(), algorithm }
    }
}

impl PublicKeyData for Public {
    fn der_bytes(&self) -> &[u8] {
        &self.bits
    }

    fn algorithm(&self) -> &'static SignatureAlgorithm {
        self.algorithm
    }
}

impl SigningKey for Public {
    /// A placeholder too: what `rcgen` passes is not what we sign in the end.
    fn sign(&self, _: &[u8]) -> Result<Vec<u8>, rcgen::Error> {
        Ok(Vec::new())
    }
}
