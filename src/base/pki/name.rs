//! Subject and issuer names: encoded as Go encodes them, shown on one line.

use der::asn1::{BmpString, ObjectIdentifier};
use der::{Any, Encode as _, Tag, Tagged as _};
use x509_cert::name::Name as Parsed;

use super::der::{OID, PRINTABLE_STRING, SEQUENCE, SET, UTF8_STRING, element};

/// A subject. Encoded as organizations, organizational units, common name.
///
/// Several organizations form ONE multi-valued RDN, sorted by encoding, because Go does that and real cluster
/// certificates look that way. Go and OpenSSL read them back one by one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Name {
    /// `O`: groups, for Kubernetes.
    pub organizations: Vec<String>,
    /// `OU`.
    pub organizational_units: Vec<String>,
    /// `CN`: the user, for Kubernetes. It may exceed X.520's 64 characters, as the node bootstrapper's does.
    pub common_name: String,
}

impl Name {
    pub fn common(name: impl Into<String>) -> Self {
        Self { common_name: name.into(), ..Self::default() }
    }

    pub(super) fn to_der(&self) -> Vec<u8> {
        let common = [self.common_name.clone()];
        let common = if self.common_name.is_empty() { &[][..] } else { &common[..] };
        let sets = [(4, 10, &self.organizations[..]), (4, 11, &self.organizational_units), (4, 3, common)]
            .into_iter()
            .filter(|(.., values)| !values.is_empty())
            .map(|(arc, number, values)| set(arc, number, values));
        element(SEQUENCE, &[&sets.collect::<Vec<_>>().concat()]).to_vec()
    }
}

/// All values of attribute `2.5.arc.number` (one byte each), as a sorted set without duplicates.
fn set(arc: u8, number: u8, values: &[String]) -> Vec<u8> {
    let mut pairs: Vec<Vec<u8>> = values
        .iter()
        .map(|value| {
            let tag = if value.bytes().all(is_printable) { PRINTABLE_STRING } else { UTF8_STRING };
            let kind = element(OID, &[&[0x55, arc, number]]);
            element(SEQUENCE, &[&kind, &element(tag, &[value.as_bytes()])]).to_vec()
        })
        .collect();
    pairs.sort();
    pairs.dedup();
    element(SET, &[&pairs.concat()]).to_vec()
}

/// Whether a `PrintableString` may contain the byte.
fn is_printable(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b" '()+,-./:=?".contains(&byte)
}

/// A readable name: `O=system:masters, CN=system:admin`. Values in one RDN are joined with ` + `.
pub(super) fn show(name: &Parsed) -> String {
    let sets = name.iter_rdn().map(|set| {
        let pairs = set.iter().map(|pair| {
            let value =
                text(&pair.value).map_or_else(|| hex(&pair.value.to_der().unwrap_or_default()), escape);
            format!("{}={value}", key(pair.oid))
        });
        pairs.collect::<Vec<_>>().join(" + ")
    });
    sets.collect::<Vec<_>>().join(", ")
}

/// All values of one attribute, as text.
pub(super) fn values(name: &Parsed, wanted: &str) -> Vec<String> {
    name.iter().filter(|pair| key(pair.oid) == wanted).filter_map(|pair| text(&pair.value)).collect()
}

/// The short name of an attribute.
pub(super) fn key(oid: ObjectIdentifier) -> String {
    match oid.as_bytes() {
        [0x55, 4, 3] => "CN".into(),
        [0x55, 4, 5] => "SERIALNUMBER".into(),
        [0x55, 4, 6] => "C".into(),
        [0x55, 4, 7] => "L".into(),
        [0x55, 4, 8] => "ST".into(),
        [0x55, 4, 10] => "O".into(),
        [0x55, 4, 11] => "OU".into(),
        [0x09, 0x92, 0x26, 0x89, 0x93, 0xf2, 0x2c, 0x64, 1, 25] => "DC".into(),
        [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 9, 1] => "emailAddress".into(),
        _ => oid.to_string(),
    }
}

fn text(value: &Any) -> Option<String> {
    match value.tag() {
        Tag::BmpString => value.decode_as::<BmpString>().ok().map(|text| text.to_string()),
        // Teletex is read as Latin-1, as all implementations do.
        Tag::TeletexString => Some(value.value().iter().map(|byte| char::from(*byte)).collect()),
        Tag::Utf8String | Tag::PrintableString | Tag::Ia5String | Tag::NumericString => {
            std::str::from_utf8(value.value()).ok().map(str::to_owned)
        }
        _ => None,
    }
}

/// Escapes separators with a backslash and control characters by number.
fn escape(text: String) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            ',' | '+' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => out.extend(c.escape_default()),
            c => out.push(c),
        }
    }
    out
}

pub(super) fn hex(bytes: &[u8]) -> String {
    data_encoding::HEXLOWER.encode(bytes)
}
