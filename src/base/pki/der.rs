//! Writes DER where the crates that parse it only offer fallible writers.

use zeroize::Zeroizing;

pub(super) const INTEGER: u8 = 0x02;
pub(super) const BIT_STRING: u8 = 0x03;
pub(super) const OCTET_STRING: u8 = 0x04;
pub(super) const OID: u8 = 0x06;
pub(super) const UTF8_STRING: u8 = 0x0c;
pub(super) const PRINTABLE_STRING: u8 = 0x13;
pub(super) const SEQUENCE: u8 = 0x30;
pub(super) const SET: u8 = 0x31;
pub(super) const NULL: &[u8] = &[5, 0];

/// The `EXPLICIT` context tag `[number]`.
pub(super) const fn explicit(number: u8) -> u8 {
    0xa0 | number
}

/// Tag, length, and the concatenated parts. Wiped when dropped, since it may contain a key.
pub(super) fn element(tag: u8, parts: &[&[u8]]) -> Zeroizing<Vec<u8>> {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    let mut out = Zeroizing::new(Vec::with_capacity(length + 10));
    out.push(tag);
    let bytes = length.to_be_bytes();
    let significant = &bytes[bytes.iter().take_while(|byte| **byte == 0).count()..];
    if length < 0x80 {
        out.push(length as u8);
    } else {
        out.push(0x80 | significant.len() as u8);
        out.extend_from_slice(significant);
    }
    parts.iter().for_each(|part| out.extend_from_slice(part));
    out
}

/// A non-negative number from big-endian bytes.
pub(super) fn integer(bytes: &[u8]) -> Zeroizing<Vec<u8>> {
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    match &bytes[zeros..] {
        [] => element(INTEGER, &[&[0]]),
        digits @ [0x80..=0xff, ..] => element(INTEGER, &[&[0], digits]),
        digits => element(INTEGER, &[digits]),
    }
}

/// Whole bytes as a bit string.
pub(super) fn bit_string(bytes: &[u8]) -> Zeroizing<Vec<u8>> {
    element(BIT_STRING, &[&[0], bytes])
}
