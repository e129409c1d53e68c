//! Private keys in DER: which of their bytes are private. The rest (modulus, public point) also appears in
//! certificates.

use std::ops::Range;

const INTEGER: u8 = 0x02;
const OCTETS: u8 = 0x04;
const SEQUENCE: u8 = 0x30;

/// The ranges of a key's private numbers; empty unless this is a known kind of private key: PKCS#1, SEC 1 or PKCS#8.
pub(super) fn private_parts(der: &[u8]) -> Vec<Range<usize>> {
    parts(der, 0..der.len()).unwrap_or_default()
}

/// Whether this is exactly one DER sequence: a key, a certificate, a public key.
pub(super) fn is_sequence(der: &[u8]) -> bool {
    der.len() > 16
        && matches!(element(der, 0..der.len()), Some((SEQUENCE, content)) if content.end == der.len())
}

fn parts(der: &[u8], range: Range<usize>) -> Option<Vec<Range<usize>>> {
    let (SEQUENCE, content) = element(der, range)? else { return None };
    let children = children(der, content)?;
    let tags: Vec<u8> = children.iter().map(|(tag, _)| *tag).collect();
    let at = |index: usize| children[index].1.clone();
    match tags.as_slice() {
        // PKCS#1: version, modulus, public exponent; the rest is private.
        [INTEGER, INTEGER, INTEGER, INTEGER, INTEGER, INTEGER, ..] => Some(
            children[3..].iter().filter(|(tag, _)| *tag == INTEGER).map(|(_, part)| part.clone()).collect(),
        ),
        // SEC 1: version 1, the private number; then curve and public point.
        [INTEGER, OCTETS, ..] if der[at(0)] == [1] => Some(vec![at(1)]),
        // PKCS#8: version, algorithm, then one of the above, or for Ed25519 an octet string in an octet string.
        [INTEGER, SEQUENCE, OCTETS, ..] => parts(der, at(2)).or_else(|| match element(der, at(2))? {
            (OCTETS, content) => Some(vec![content]),
            _ => None,
        }),
        _ => None,
    }
}

fn children(der: &[u8], content: Range<usize>) -> Option<Vec<(u8, Range<usize>)>> {
    let mut found = Vec::new();
    let mut start = content.start;
    while start < content.end {
        let (tag, inner) = element(der, start..content.end)?;
        start = inner.end;
        found.push((tag, inner));
    }
    Some(found)
}

/// The tag of the element at the start of the range, and the range of its content.
fn element(der: &[u8], range: Range<usize>) -> Option<(u8, Range<usize>)> {
    let bytes = der.get(range.clone())?;
    let (&tag, &first) = (bytes.first()?, bytes.get(1)?);
    let (length, header) = match first {
        0..=0x7f => (usize::from(first), 2),
        0x81..=0x83 => {
            let count = usize::from(first & 0x7f);
            let length = bytes.get(2..2 + count)?.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte));
            (length, 2 + count)
        }
        _ => return None,
    };
    let start = range.start + header;
    (start + length <= range.end).then_some((tag, start..start + length))
}

/// Fake keys, built by hand, so that this repository contains no key.
#[cfg(test)]
pub(super) mod examples {
    use super::*;

    pub(crate) fn tlv(tag: u8, content: &[u8]) -> Vec<u8> {
        let length = content.len();
        let header = match length {
            0..=0x7f => vec![tag, length as u8],
            0x80..=0xff => vec![tag, 0x81, length as u8],
            _ => vec![tag, 0x82, (length >> 8) as u8, length as u8],
        };
        [header, content.to_vec()].concat()
    }

    /// Deterministic bytes that look random.
    pub(crate) fn noise(name: &str, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        blake3::Hasher::new().update(name.as_bytes()).finalize_xof().fill(&mut bytes);
        bytes[0] |= 1;
        bytes[0] &= 0x7f;
        bytes
    }

    pub(crate) fn rsa() -> Vec<u8> {
        let numbers =
            [("n", 256), ("e", 3), ("d", 256), ("p", 128), ("q", 128), ("dp", 128), ("dq", 128), ("qi", 128)];
        let mut content = tlv(INTEGER, &[0]);
        numbers.iter().for_each(|(name, length)| content.extend(tlv(INTEGER, &noise(name, *length))));
        tlv(SEQUENCE, &content)
    }

    pub(crate) fn ec() -> Vec<u8> {
        let public = tlv(0xa1, &tlv(0x03, &noise("point", 66)));
        let sec1 = tlv(SEQUENCE, &[tlv(INTEGER, &[1]), tlv(OCTETS, &noise("scalar", 32)), public].concat());
        let algorithm = tlv(SEQUENCE, &noise("oids", 19));
        tlv(SEQUENCE, &[tlv(INTEGER, &[0]), algorithm, tlv(OCTETS, &sec1)].concat())
    }

    /// The parts that a certificate shares with those keys.
    pub(crate) fn certificate() -> Vec<u8> {
        tlv(
            SEQUENCE,
            &tlv(
                SEQUENCE,
                &[tlv(0xa0, &[2, 1, 2]), tlv(INTEGER, &noise("n", 256)), tlv(3, &noise("point", 66))]
                    .concat(),
            ),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::examples::{certificate, ec, noise, rsa, tlv};
    use super::*;

    #[test]
    fn only_the_private_numbers_are_private() {
        let der = rsa();
        let parts = private_parts(&der);
        assert_eq!(parts.len(), 6);
        assert_eq!(der[parts[0].clone()], noise("d", 256));
        let der = ec();
        assert_eq!(
            private_parts(&der),
            [der.windows(32).position(|part| part == noise("scalar", 32)).map(|at| at..at + 32).unwrap()]
        );
        let seed = noise("ed25519", 32);
        let der = tlv(
            SEQUENCE,
            &[tlv(INTEGER, &[0]), tlv(SEQUENCE, &[6, 3, 43, 101, 112]), tlv(OCTETS, &tlv(OCTETS, &seed))]
                .concat(),
        );
        assert_eq!(der[private_parts(&der)[0].clone()], seed);
    }

    #[test]
    fn what_is_no_key_has_no_private_part() {
        assert!(is_sequence(&certificate()) && private_parts(&certificate()).is_empty());
        for length in 0..rsa().len() {
            assert!(private_parts(&rsa()[..length]).is_empty());
        }
        assert!(!is_sequence(b"words that are no DER at all"));
    }
}
