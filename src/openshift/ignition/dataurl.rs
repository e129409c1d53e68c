//! File contents: data URLs, percent-encoded or base64, possibly compressed.
//!
//! One form for every content: text is percent-encoded, with the same unescaped characters as the machine-config
//! operator's library, so that its output stays unchanged, people can read it, and a config compresses well as a whole
//! (base64 hides repetition, and an ISO has room for 256 KiB). Binary data is base64.

use std::io::{Read, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::read::MultiGzDecoder;
use flate2::{Compression as Level, GzBuilder};

use super::IgnitionError;
use super::spec::{File, Resource};

/// Maximum size of decompressed content: more than any node has, less than fills the memory.
const LIMIT: u64 = 256 << 20;

/// How contents are stored in the config.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Compression {
    #[default]
    None,
    /// gzip, which Ignition supports.
    Gzip,
}

/// The content of a file in a config.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Contents {
    /// Not specified: the file on the node stays, or is empty.
    Unset,
    Bytes(Vec<u8>),
    /// Fetched from elsewhere, or assembled on the node.
    Elsewhere,
}

impl Contents {
    /// The decompressed content of a file.
    pub(crate) fn of(file: &File) -> Result<Self, IgnitionError> {
        if file.append.is_some() {
            return Ok(Self::Elsewhere);
        }
        let Some(resource) = &file.contents else { return Ok(Self::Unset) };
        let Some(source) = resource.source.as_deref() else { return Ok(Self::Unset) };
        let fail = |problem| IgnitionError::Contents { path: file.path.clone(), problem };
        if source.is_empty() {
            return Ok(Self::Bytes(Vec::new()));
        }
        if !source.starts_with("data:") {
            return Ok(Self::Elsewhere);
        }
        let bytes = decode(source).ok_or_else(|| fail("are not a data URL"))?;
        match resource.compression.as_deref() {
            None | Some("") => Ok(Self::Bytes(bytes)),
            Some("gzip") => {
                let mut unpacked = Vec::new();
                let read = MultiGzDecoder::new(bytes.as_slice()).take(LIMIT + 1).read_to_end(&mut unpacked);
                match read {
                    Ok(size) if size as u64 <= LIMIT => Ok(Self::Bytes(unpacked)),
                    Ok(_) => Err(fail("are larger than 256 MiB")),
                    Err(_) => Err(fail("are not gzip")),
                }
            }
            Some(_) => Err(fail("use a compression that Ignition does not support")),
        }
    }
}

/// The canonical data URL of some bytes.
pub fn encode(bytes: &[u8]) -> String {
    if !is_text(bytes) {
        return format!("data:;base64,{}", STANDARD.encode(bytes));
    }
    format!("data:,{}", escape(bytes))
}

/// Bytes as the machine-config operator's library writes them into a data URL.
pub(crate) fn escape(bytes: &[u8]) -> String {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    let mut escaped = String::with_capacity(bytes.len() * 3 / 2);
    for byte in bytes {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => escaped.push(char::from(*byte)),
            b'-' | b'_' | b'.' | b'!' | b'~' | b'*' | b'\'' | b'(' | b')' => escaped.push(char::from(*byte)),
            _ => {
                escaped.push('%');
                escaped.push(char::from(HEX[usize::from(byte >> 4)]));
                escaped.push(char::from(HEX[usize::from(byte & 15)]));
            }
        }
    }
    escaped
}

/// The bytes of a data URL; none if it is not one.
pub(crate) fn decode(url: &str) -> Option<Vec<u8>> {
    let (head, data) = url.strip_prefix("data:")?.split_once(',')?;
    let bytes = unescape(data)?;
    match head.ends_with(";base64") {
        true => STANDARD.decode(bytes).ok(),
        false => Some(bytes),
    }
}

/// Deterministic gzip: without name and time.
pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = GzBuilder::new().write(Vec::new(), Level::best());
    // Writing to memory cannot fail.
    let _ = packed.write_all(bytes);
    packed.finish().unwrap_or_default()
}

/// The contents field for these bytes.
pub(super) fn resource(bytes: &[u8], compression: Compression) -> Resource {
    let (source, compression) = match compression {
        Compression::None => (encode(bytes), None),
        Compression::Gzip => (encode(&gzip(bytes)), Some("gzip".to_owned())),
    };
    Resource { source: Some(source), compression, ..Resource::default() }
}

/// Rewrites the data in canonical form. Compressed data stays compressed.
pub(super) fn canonical(resource: &mut Resource) -> Option<()> {
    if let Some(source) = resource.source.as_mut().filter(|source| source.starts_with("data:")) {
        *source = encode(&decode(source)?);
    }
    if resource.compression.as_deref() == Some("") {
        resource.compression = None;
    }
    Some(())
}

fn is_text(bytes: &[u8]) -> bool {
    let control = |byte: &u8| byte.is_ascii_control() && !matches!(byte, b'\n' | b'\r' | b'\t');
    !bytes.iter().any(control) && std::str::from_utf8(bytes).is_ok()
}

fn unescape(text: &str) -> Option<Vec<u8>> {
    let text = text.as_bytes();
    // Not longer than the text, and written without length checks per byte: this is most of a large config.
    let mut bytes = vec![0; text.len()];
    let (mut from, mut to) = (0, 0);
    while let Some(byte) = text.get(from) {
        bytes[to] = match byte {
            b'%' => {
                let (high, low) = (digit(*text.get(from + 1)?)?, digit(*text.get(from + 2)?)?);
                from += 2;
                high << 4 | low
            }
            byte => *byte,
        };
        (from, to) = (from + 1, to + 1);
    }
    bytes.truncate(to);
    Some(bytes)
}

fn digit(c: u8) -> Option<u8> {
    match c {
        b'0'..=b'9' => Some(c - b'0'),
        b'A'..=b'F' => Some(c - b'A' + 10),
        b'a'..=b'f' => Some(c - b'a' + 10),
        _ => None,
    }
}
