//! Reads PEM as found in practice: text around the blocks, carriage returns, blocks of other kinds.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use zeroize::Zeroizing;

use super::PkiError;

pub(super) struct Block {
    pub(super) label: String,
    /// Whether it has RFC 1421 headers: an old way to mark encryption.
    pub(super) headers: bool,
    pub(super) der: Zeroizing<Vec<u8>>,
}

/// All blocks of a text.
pub(super) fn read(text: &str) -> Result<Vec<Block>, PkiError> {
    let mut blocks = Vec::new();
    let mut open: Option<(String, bool, Zeroizing<String>)> = None;
    for line in text.lines().map(str::trim) {
        let mark = |kind: &str| line.strip_prefix(kind).and_then(|rest| rest.strip_suffix("-----"));
        if let Some(label) = mark("-----BEGIN ") {
            if let Some((label, ..)) = open {
                return Err(PkiError::Unfinished { label });
            }
            // Room for the longest key, so that reallocation leaves no copy behind.
            open = Some((label.to_owned(), false, Zeroizing::new(String::with_capacity(text.len()))));
        } else if let Some(end) = mark("-----END ") {
            match open.take() {
                Some((label, headers, body)) if label == end => {
                    let der = if headers { Vec::new() } else { decode(&body, &label)? };
                    blocks.push(Block { label, headers, der: Zeroizing::new(der) });
                }
                Some((label, ..)) => return Err(PkiError::Unfinished { label }),
                None => return Err(PkiError::Unfinished { label: end.to_owned() }),
            }
        } else if let Some((_, headers, body)) = &mut open {
            *headers |= line.contains(':');
            body.push_str(line);
        }
    }
    match open {
        Some((label, ..)) => Err(PkiError::Unfinished { label }),
        None => Ok(blocks),
    }
}

fn decode(body: &str, label: &str) -> Result<Vec<u8>, PkiError> {
    STANDARD.decode(body).map_err(|_| PkiError::NotBase64 { label: label.to_owned() })
}

/// One block, in lines of 64 characters, as Go and OpenSSL write it.
pub(super) fn write(label: &str, der: &[u8]) -> Zeroizing<String> {
    let body = Zeroizing::new(STANDARD.encode(der));
    let mut text = Zeroizing::new(String::with_capacity(body.len() * 66 / 64 + 2 * label.len() + 64));
    text.push_str(&format!("-----BEGIN {label}-----\n"));
    let mut rest = body.as_str();
    while !rest.is_empty() {
        let (line, more) = rest.split_at(rest.len().min(64));
        text.push_str(line);
        text.push('\n');
        rest = more;
    }
    text.push_str(&format!("-----END {label}-----\n"));
    text
}
