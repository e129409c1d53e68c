//! Parses certificate signing requests (PKCS#10). Anyone who can reach an API can send one, so nothing in it is
//! trusted: unknown parts are reported, not dropped, and oversized requests are not parsed.

use std::net::IpAddr;

use const_oid::AssociatedOid as _;
use der::asn1::ObjectIdentifier;
use der::{Any, Decode as _, Encode as _, Tag, Tagged as _};
use sha2::Digest as _;
use x509_cert::ext::Extension;
use x509_cert::ext::pkix::SubjectAltName;
use x509_cert::ext::pkix::name::GeneralName;
use x509_cert::request::{CertReq, ExtensionReq};

use super::certificate::{address, elements};
use super::key::{RSA, bits_of, kind_of_key};
use super::{PkiError, name, pem, verify};

const WHAT: &str = "certificate request";
/// Longer than any kubelet's request: one with an 8192-bit RSA key and a hundred names is shorter.
const LONGEST: usize = 32 * 1024;

/// The contents of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SigningRequest {
    /// The subject in one line.
    pub subject: String,
    /// The subject's attributes in order: `CN`, `O`, …; no value if it is not plain text.
    pub attributes: Vec<(String, Option<String>)>,
    /// Requested DNS names.
    pub dns: Vec<String>,
    /// Requested addresses.
    pub ips: Vec<IpAddr>,
    /// Other requested names, described in words.
    pub others: Vec<String>,
    /// Everything else in the request: extensions and attributes, by name or object identifier.
    pub extras: Vec<String>,
    /// `ecdsa-p256`, `rsa-2048`, or an object identifier.
    pub key_algorithm: String,
    /// SHA-256 of the public key (SubjectPublicKeyInfo), in hexadecimal.
    pub key_fingerprint: String,
    /// Whether the request is signed with its own key, which proves possession of it.
    pub is_signed: bool,
}

impl SigningRequest {
    /// Reads the only request of a PEM text, which may contain nothing else.
    pub(crate) fn from_pem(text: &[u8]) -> Result<Self, PkiError> {
        let damaged = |reason: &str| PkiError::Damaged { what: WHAT, reason: reason.to_owned() };
        if text.len() > LONGEST {
            return Err(damaged(&format!("it has more than {LONGEST} bytes")));
        }
        let text = std::str::from_utf8(text).map_err(|_| damaged("it is not text"))?.trim();
        let mut blocks = pem::read(text)?;
        let found = blocks.first().map(|block| block.label.clone());
        match (blocks.pop(), blocks.len()) {
            (Some(only), 0) if only.label == "CERTIFICATE REQUEST" && !only.headers => {
                // PEM parsers disagree about text around a block.
                if !text.starts_with("-----BEGIN ") || !text.ends_with("-----") {
                    return Err(damaged("there is text around it"));
                }
                Self::from_der(&only.der)
            }
            (Some(_), rest) if rest > 0 => Err(PkiError::Several { what: WHAT, count: rest + 1 }),
            _ => Err(PkiError::Missing { what: WHAT, found }),
        }
    }

    pub(crate) fn from_der(der: &[u8]) -> Result<Self, PkiError> {
        read(der).map_err(|error| PkiError::Damaged { what: WHAT, reason: error.to_string() })
    }

    /// All plain values of one subject attribute.
    pub(crate) fn values(&self, wanted: &str) -> Vec<&str> {
        let found = self.attributes.iter().filter(|(key, _)| key == wanted);
        found.filter_map(|(_, value)| value.as_deref()).collect()
    }
}

fn read(der: &[u8]) -> der::Result<SigningRequest> {
    let whole = CertReq::from_der(der)?;
    let signed = elements(der)?.first().copied().unwrap_or_default();
    let info = &whole.info;
    let bits = info.public_key.subject_public_key.raw_bytes();
    let key_algorithm = match info.public_key.algorithm.oid {
        RSA => format!("rsa-{}", bits_of(pkcs1::RsaPublicKeyRef::from_der(bits)?.modulus.as_bytes())),
        other => {
            let curve = info.public_key.algorithm.parameters.as_ref().and_then(|any| any.decode_as().ok());
            kind_of_key(other, curve)
        }
    };
    let is_signed =
        verify::is_good(whole.algorithm.oid, &key_algorithm, bits, signed, whole.signature.raw_bytes());
    let attribute = |pair: &x509_cert::attr::AttributeTypeAndValue| (name::key(pair.oid), plain(&pair.value));
    let mut found = SigningRequest {
        subject: name::show(&info.subject),
        attributes: info.subject.iter().map(attribute).collect(),
        dns: Vec::new(),
        ips: Vec::new(),
        others: Vec::new(),
        extras: Vec::new(),
        key_algorithm,
        key_fingerprint: name::hex(&sha2::Sha256::digest(info.public_key.to_der()?)),
        is_signed,
    };
    let mut asked: Vec<Extension> = Vec::new();
    for attribute in info.attributes.iter() {
        match attribute.oid == ExtensionReq::OID {
            true => {
                for value in attribute.values.iter() {
                    asked.extend(value.decode_as::<Vec<Extension>>()?);
                }
            }
            false => found.extras.push(format!("attribute {}", attribute.oid)),
        }
    }
    let mut names = None;
    for extension in &asked {
        match extension.extn_id == SubjectAltName::OID && names.is_none() {
            true => names = Some(SubjectAltName::from_der(extension.extn_value.as_bytes())?),
            false => found.extras.push(format!("extension {}", extension_name(extension.extn_id))),
        }
    }
    names.map(|names| names.0).unwrap_or_default().into_iter().for_each(|name| found.take(name));
    Ok(found)
}

impl SigningRequest {
    fn take(&mut self, name: GeneralName) {
        let other = match name {
            GeneralName::DnsName(name) => return self.dns.push(name.as_str().to_owned()),
            GeneralName::IpAddress(bytes) => match address(bytes.as_bytes()) {
                Some(ip) => return self.ips.push(ip),
                None => format!("an address of {} bytes", bytes.as_bytes().len()),
            },
            GeneralName::Rfc822Name(name) => format!("the e-mail address {}", quoted(name.as_str())),
            GeneralName::UniformResourceIdentifier(uri) => format!("the URI {}", quoted(uri.as_str())),
            GeneralName::DirectoryName(name) => format!("the directory name {}", quoted(&name::show(&name))),
            GeneralName::RegisteredId(id) => format!("the object identifier {id}"),
            GeneralName::OtherName(_) | GeneralName::EdiPartyName(_) => "a name of another kind".to_owned(),
        };
        self.others.push(other);
    }
}

/// A value that all parsers read alike; other string types are ambiguous.
fn plain(value: &Any) -> Option<String> {
    let text = std::str::from_utf8(value.value()).ok()?;
    matches!(value.tag(), Tag::Utf8String | Tag::PrintableString).then(|| text.to_owned())
}

/// In backticks, with control characters escaped.
fn quoted(text: &str) -> String {
    format!("`{}`", text.escape_debug())
}

fn extension_name(oid: ObjectIdentifier) -> String {
    match oid.as_bytes() {
        [0x55, 29, 15] => "keyUsage".into(),
        [0x55, 29, 17] => "subjectAltName, a second time".into(),
        [0x55, 29, 19] => "basicConstraints".into(),
        [0x55, 29, 37] => "extendedKeyUsage".into(),
        _ => oid.to_string(),
    }
}
