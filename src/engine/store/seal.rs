//! Checksums of the store's own records, so that `verify` notices a flipped bit in what no digest names.
//!
//! ```text
//! JSON     {"outputs":[…],"sum":"<digest>"}     the last field of the first line; covers the file without it
//! text     …\nsum <digest>\n                    the last line; covers what is before it
//! ```
//!
//! Only `verify` looks at them: builds read records without. A record of an earlier tinderbox has none, and counts as whole
//! if it is exactly what that would have written.

use crate::base::digest::Digest;

const FIELD: &str = ",\"sum\":\"";
const LINE: &str = "sum ";

/// Adds a checksum to JSON lines, the first of which is an object.
pub(super) fn seal_json(text: &str) -> String {
    let (first, rest) = split(text);
    let Some(open) = first.strip_suffix('}') else { return text.to_owned() };
    format!("{open}{FIELD}{}\"}}{rest}", Digest::of(text.as_bytes()))
}

/// The text without its checksum; none if it has none, or a wrong one.
pub(super) fn unseal_json(text: &str) -> Option<String> {
    let (first, rest) = split(text);
    let (open, sum) = first.strip_suffix("\"}")?.rsplit_once(FIELD)?;
    let plain = format!("{open}}}{rest}");
    (sum == Digest::of(plain.as_bytes()).to_string()).then_some(plain)
}

/// Adds a checksum to lines of text.
pub(super) fn seal_text(text: &str) -> String {
    let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    let text = format!("{text}{end}");
    format!("{text}{LINE}{}\n", Digest::of(text.as_bytes()))
}

/// The text without its checksum; none if it has none, or a wrong one.
pub(super) fn unseal_text(text: &str) -> Option<&str> {
    let at = text.strip_suffix('\n')?.rfind('\n').map_or(0, |at| at + 1);
    let (plain, last) = text.split_at(at);
    let sum = last.strip_prefix(LINE)?.strip_suffix('\n')?;
    (sum == Digest::of(plain.as_bytes()).to_string()).then_some(plain)
}

/// The first line, and the rest with the line's end.
fn split(text: &str) -> (&str, &str) {
    text.split_at(text.find('\n').unwrap_or(text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every changed byte, and every shorter text, is noticed.
    #[test]
    fn a_seal_notices_every_change() {
        let json = seal_json("{\"a\":1}\n{\"b\":2}\n");
        let text = seal_text("one\ntwo\n");
        assert_eq!(unseal_json(&json).unwrap(), "{\"a\":1}\n{\"b\":2}\n");
        assert_eq!(unseal_text(&text).unwrap(), "one\ntwo\n");
        assert_eq!(unseal_text(&seal_text("")).unwrap(), "");
        for (sealed, opens) in [
            (json, (|text| unseal_json(text).is_some()) as fn(&str) -> bool),
            (text, |text| unseal_text(text).is_some()),
        ] {
            for at in 0..sealed.len() {
                let mut bytes = sealed.clone().into_bytes();
                bytes[at] ^= 1;
                assert!(!opens(std::str::from_utf8(&bytes).unwrap()), "{at}");
                assert!(!opens(&sealed[..at]), "{at}");
            }
        }
    }
}
