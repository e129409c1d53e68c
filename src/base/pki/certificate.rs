//! Reads certificates: ours, and those of users.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use const_oid::AssociatedOid;
use der::asn1::ObjectIdentifier;
use der::{Decode, Encode as _, Reader as _, SliceReader};
use sha1::Digest as _;
use time::OffsetDateTime;
use x509_cert::TbsCertificate;
use x509_cert::ext::pkix::name::GeneralName;
use x509_cert::ext::pkix::{
    AuthorityKeyIdentifier, BasicConstraints, ExtendedKeyUsage, KeyUsage as UsageBits, SubjectAltName,
    SubjectKeyIdentifier,
};

use super::key::{RSA, bits_of, kind_of_key};
use super::{PkiError, PrivateKey, name, pem, verify};

/// What a key may be used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeyUsage {
    /// Signatures on anything but certificates, such as TLS handshakes.
    DigitalSignature,
    /// Encryption of session keys: TLS with RSA key exchange.
    KeyEncipherment,
    CertSign,
    /// Signatures on revocation lists.
    CrlSign,
}

/// A certificate: its DER and its parsed fields.
#[derive(Clone)]
pub struct Certificate {
    der: Vec<u8>,
    signed: Vec<u8>,
    signature: Vec<u8>,
    signature_algorithm: ObjectIdentifier,
    subject: NameParts,
    issuer: NameParts,
    serial: String,
    not_before: OffsetDateTime,
    not_after: OffsetDateTime,
    /// The `SubjectPublicKeyInfo`.
    public: Vec<u8>,
    /// The bit string inside it.
    public_bits: Vec<u8>,
    key_algorithm: String,
    extensions: Extensions,
}

#[derive(Clone)]
struct NameParts {
    der: Vec<u8>,
    shown: String,
    common: Option<String>,
    organizations: Vec<String>,
}

#[derive(Clone, Default)]
struct Extensions {
    authority: bool,
    path_length: Option<u8>,
    key_usages: Option<Vec<KeyUsage>>,
    server: bool,
    client: bool,
    dns: Vec<String>,
    ips: Vec<IpAddr>,
    subject_key_id: Option<Vec<u8>>,
    authority_key_id: Option<Vec<u8>>,
}

impl Certificate {
    /// Reads the only certificate of a PEM text.
    pub fn from_pem(text: &str) -> Result<Self, PkiError> {
        let mut chain = Self::chain_from_pem(text)?;
        match (chain.pop(), chain.len()) {
            (Some(only), 0) => Ok(only),
            (_, rest) => Err(PkiError::Several { what: "certificate", count: rest + 1 }),
        }
    }

    /// Reads all certificates of a PEM text, at least one, in order.
    pub fn chain_from_pem(text: &str) -> Result<Vec<Self>, PkiError> {
        let blocks = pem::read(text)?;
        let is_certificate = |block: &&pem::Block| {
            ["CERTIFICATE", "X509 CERTIFICATE", "TRUSTED CERTIFICATE"].contains(&block.label.as_str())
        };
        let chain: Vec<Self> = blocks
            .iter()
            .filter(is_certificate)
            .map(|block| Self::from_der(&block.der))
            .collect::<Result<_, _>>()?;
        if chain.is_empty() {
            let found = blocks.first().map(|block| block.label.clone());
            return Err(PkiError::Missing { what: "certificate", found });
        }
        Ok(chain)
    }

    pub fn from_der(der: &[u8]) -> Result<Self, PkiError> {
        read(der).map_err(|error| PkiError::Damaged { what: "certificate", reason: error.to_string() })
    }

    pub fn to_pem(&self) -> String {
        pem::write("CERTIFICATE", &self.der).to_string()
    }

    pub fn der(&self) -> &[u8] {
        &self.der
    }

    /// The subject on one line: `O=system:masters, CN=system:admin`. Values in one RDN are joined with ` + `.
    pub fn subject(&self) -> String {
        self.subject.shown.clone()
    }

    /// The issuer, in the same form.
    pub fn issuer(&self) -> String {
        self.issuer.shown.clone()
    }

    /// The subject's `CN`: the user, for Kubernetes.
    pub fn common_name(&self) -> Option<&str> {
        self.subject.common.as_deref()
    }

    /// The subject's `O`s: groups, for Kubernetes.
    pub fn organizations(&self) -> &[String] {
        &self.subject.organizations
    }

    /// The serial number in hex.
    pub fn serial(&self) -> String {
        self.serial.clone()
    }

    pub fn not_before(&self) -> OffsetDateTime {
        self.not_before
    }

    pub fn not_after(&self) -> OffsetDateTime {
        self.not_after
    }

    /// Whether it says `CA:TRUE`.
    pub fn is_authority(&self) -> bool {
        self.extensions.authority
    }

    /// Maximum number of authorities between this and a leaf; none for no limit.
    pub fn path_length(&self) -> Option<u8> {
        self.extensions.path_length
    }

    pub fn dns(&self) -> &[String] {
        &self.extensions.dns
    }

    pub fn ips(&self) -> &[IpAddr] {
        &self.extensions.ips
    }

    /// Whether its extended key usage names TLS servers.
    pub fn is_server(&self) -> bool {
        self.extensions.server
    }

    /// Whether its extended key usage names TLS clients.
    pub fn is_client(&self) -> bool {
        self.extensions.client
    }

    /// The key usages that [`KeyUsage`] knows; also empty if the extension is missing.
    pub fn key_usages(&self) -> &[KeyUsage] {
        self.extensions.key_usages.as_deref().unwrap_or_default()
    }

    /// The subject key id in hex.
    pub fn subject_key_id(&self) -> Option<String> {
        self.extensions.subject_key_id.as_deref().map(name::hex)
    }

    /// The authority key id in hex.
    pub fn authority_key_id(&self) -> Option<String> {
        self.extensions.authority_key_id.as_deref().map(name::hex)
    }

    /// `rsa-2048`, `ecdsa-p256`, or an object identifier.
    pub fn key_algorithm(&self) -> String {
        self.key_algorithm.clone()
    }

    /// `rsa-sha256`, `ecdsa-sha384`, or an object identifier.
    pub fn signature_algorithm(&self) -> String {
        verify::name(self.signature_algorithm)
    }

    pub fn public_pem(&self) -> String {
        pem::write("PUBLIC KEY", &self.public).to_string()
    }

    /// Whether `issuer` signed it: the issuer name matches its subject byte for byte, and the signature is valid.
    ///
    /// Does not check dates or the issuer's constraints.
    pub fn is_issued_by(&self, issuer: &Certificate) -> bool {
        self.issuer.der == issuer.subject.der
            && verify::is_good(
                self.signature_algorithm,
                &issuer.key_algorithm,
                &issuer.public_bits,
                &self.signed,
                &self.signature,
            )
    }

    /// Whether this private key belongs to its public key.
    pub fn belongs_to(&self, key: &PrivateKey) -> bool {
        self.public_bits == key.public_bits() && self.key_algorithm == key.algorithm().as_str()
    }

    /// SHA-256 of the DER, in hex.
    pub fn fingerprint(&self) -> String {
        name::hex(&sha2::Sha256::digest(&self.der))
    }

    /// Whether it may sign certificates: an authority whose key usages are absent or include it.
    pub fn may_sign(&self) -> bool {
        let usages = &self.extensions.key_usages;
        self.is_authority() && usages.as_ref().is_none_or(|usages| usages.contains(&KeyUsage::CertSign))
    }

    /// The DER of the subject, as encoded in the certificate.
    pub(super) fn subject_der(&self) -> &[u8] {
        &self.subject.der
    }

    /// The subject key id from the certificate, else computed as in RFC 5280.
    pub(super) fn key_id(&self) -> Vec<u8> {
        self.extensions.subject_key_id.clone().unwrap_or_else(|| key_id(&self.public_bits))
    }
}

impl PartialEq for Certificate {
    fn eq(&self, other: &Self) -> bool {
        self.der == other.der
    }
}

impl Eq for Certificate {}

impl fmt::Debug for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Certificate({}, {})", self.subject.shown, self.fingerprint())
    }
}

/// SHA-1 of the public key's bits (RFC 5280, 4.2.1.2, method 1), like Go and OpenSSL. It identifies the key and
/// protects nothing.
pub(super) fn key_id(public_bits: &[u8]) -> Vec<u8> {
    sha1::Sha1::digest(public_bits).to_vec()
}

/// The elements of a sequence, each with its tag and length.
pub(super) fn elements(sequence: &[u8]) -> der::Result<Vec<&[u8]>> {
    let mut reader = SliceReader::new(sequence)?;
    let elements = reader.sequence(|inner| {
        let mut elements = Vec::new();
        while !inner.is_finished() {
            elements.push(inner.tlv_bytes()?);
        }
        der::Result::Ok(elements)
    })?;
    reader.finish()?;
    Ok(elements)
}

fn read(der: &[u8]) -> der::Result<Certificate> {
    let whole = x509_cert::Certificate::from_der(der)?;
    let signed = elements(der)?.first().copied().unwrap_or_default();
    let tbs = whole.tbs_certificate();
    let parts = elements(signed)?;
    // The version precedes the serial number; it may be absent, which means 1.
    let shift = usize::from(parts.first().and_then(|part| part.first()) == Some(&super::der::explicit(0)));
    let part = |index: usize| parts.get(index + shift).map(|part| part.to_vec()).unwrap_or_default();
    let key = tbs.subject_public_key_info();
    let public_bits = key.subject_public_key.raw_bytes().to_vec();
    let key_algorithm = match key.algorithm.oid {
        RSA => {
            let key = pkcs1::RsaPublicKeyRef::from_der(&public_bits)?;
            format!("rsa-{}", bits_of(key.modulus.as_bytes()))
        }
        other => {
            let curve = key.algorithm.parameters.as_ref().and_then(|any| any.decode_as().ok());
            kind_of_key(other, curve)
        }
    };
    Ok(Certificate {
        der: der.to_vec(),
        signed: signed.to_vec(),
        signature: whole.signature().raw_bytes().to_vec(),
        signature_algorithm: whole.signature_algorithm().oid,
        subject: name_parts(part(4), tbs.subject()),
        issuer: name_parts(part(2), tbs.issuer()),
        serial: name::hex(tbs.serial_number().as_bytes()),
        not_before: date(tbs.validity().not_before),
        not_after: date(tbs.validity().not_after),
        public: key.to_der()?,
        public_bits,
        key_algorithm,
        extensions: extensions(tbs)?,
    })
}

fn name_parts(der: Vec<u8>, parsed: &x509_cert::name::Name) -> NameParts {
    NameParts {
        der,
        shown: name::show(parsed),
        common: name::values(parsed, "CN").pop(),
        organizations: name::values(parsed, "O"),
    }
}

fn date(time: x509_cert::time::Time) -> OffsetDateTime {
    OffsetDateTime::UNIX_EPOCH + time.to_unix_duration()
}

fn extension<'a, T: Decode<'a, Error = der::Error> + AssociatedOid>(
    tbs: &'a TbsCertificate,
) -> der::Result<Option<T>> {
    Ok(tbs.get_extension::<T>()?.map(|(_, value)| value))
}

fn extensions(tbs: &TbsCertificate) -> der::Result<Extensions> {
    let constraints = extension::<BasicConstraints>(tbs)?;
    let purposes = extension::<ExtendedKeyUsage>(tbs)?.map(|usage| usage.0).unwrap_or_default();
    let has = |last: u8| purposes.iter().any(|oid| oid.as_bytes() == [0x2b, 6, 1, 5, 5, 7, 3, last]);
    let mut found = Extensions {
        authority: constraints.as_ref().is_some_and(|constraints| constraints.ca),
        path_length: constraints.and_then(|constraints| constraints.path_len_constraint),
        key_usages: extension::<UsageBits>(tbs)?.map(usages),
        server: has(1),
        client: has(2),
        subject_key_id: extension::<SubjectKeyIdentifier>(tbs)?.map(|id| id.0.as_bytes().to_vec()),
        authority_key_id: extension::<AuthorityKeyIdentifier>(tbs)?
            .and_then(|id| id.key_identifier)
            .map(|id| id.as_bytes().to_vec()),
        ..Extensions::default()
    };
    for name in extension::<SubjectAltName>(tbs)?.map(|names| names.0).unwrap_or_default() {
        match name {
            GeneralName::DnsName(name) => found.dns.push(name.as_str().to_owned()),
            GeneralName::IpAddress(bytes) => found.ips.extend(address(bytes.as_bytes())),
            _ => {}
        }
    }
    Ok(found)
}

fn usages(bits: UsageBits) -> Vec<KeyUsage> {
    [
        (bits.digital_signature(), KeyUsage::DigitalSignature),
        (bits.key_encipherment(), KeyUsage::KeyEncipherment),
        (bits.key_cert_sign(), KeyUsage::CertSign),
        (bits.crl_sign(), KeyUsage::CrlSign),
    ]
    .into_iter()
    .filter_map(|(set, usage)| set.then_some(usage))
    .collect()
}

/// An address of four or sixteen bytes.
pub(super) fn address(bytes: &[u8]) -> Option<IpAddr> {
    let four = <[u8; 4]>::try_from(bytes).ok().map(|bytes| Ipv4Addr::from(bytes).into());
    four.or_else(|| <[u8; 16]>::try_from(bytes).ok().map(|bytes| Ipv6Addr::from(bytes).into()))
}
