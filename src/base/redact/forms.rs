//! The encodings in which a secret can appear in a file. Compression is not among them: secrets inside gzip are not
//! found.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use data_encoding::{HEXLOWER, HEXUPPER};
use schemars::JsonSchema;
use serde::Serialize;
use zeroize::Zeroizing;

use crate::base::secret::Secret;

/// The encoding in which a secret was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Encoding {
    Plain,
    /// Base64 of either alphabet, starting anywhere in a longer text.
    Base64,
    /// Base64 of base64: a kubeconfig inside a Secret or an Ignition config.
    Base64Twice,
    /// Hexadecimal, upper or lower case.
    Hex,
    /// Percent-encoding, as in a URL.
    Percent,
    /// Escaped, as in a JSON string.
    Json,
}

/// Shorter texts would match by chance.
pub(crate) const SHORTEST: usize = 8;

/// A pattern in all its encodings, the plain one first.
pub(crate) fn forms(pattern: &[u8]) -> Vec<(Encoding, Secret)> {
    let mut forms: Vec<(Encoding, Zeroizing<Vec<u8>>)> =
        vec![(Encoding::Plain, Zeroizing::new(pattern.to_vec()))];
    for once in base64_anywhere(pattern) {
        if pattern.is_ascii() {
            let twice = base64_anywhere(&once).into_iter();
            forms.extend(twice.map(|twice| (Encoding::Base64Twice, twice)));
        }
        forms.push((Encoding::Base64, once));
    }
    for hex in [HEXLOWER, HEXUPPER] {
        forms.push((Encoding::Hex, Zeroizing::new(hex.encode(pattern).into_bytes())));
    }
    forms.push((Encoding::Percent, percent(pattern)));
    forms.extend(json(pattern).map(|form| (Encoding::Json, form)));
    forms.sort_by(|one, other| one.1.as_slice().cmp(&other.1).then(one.0.cmp(&other.0)));
    forms.dedup_by(|one, other| one.1 == other.1);
    forms.retain(|(_, form)| form.len() >= SHORTEST);
    forms.sort_by_key(|(encoding, _)| *encoding);
    forms
        .into_iter()
        .map(|(encoding, mut form)| (encoding, Secret::new(std::mem::take(&mut *form))))
        .collect()
}

/// The base64 characters that these bytes produce regardless of their context: one text for each of the three offsets
/// in a group, in both alphabets.
fn base64_anywhere(bytes: &[u8]) -> Vec<Zeroizing<Vec<u8>>> {
    let mut found = Vec::new();
    for before in 0..3 {
        let mut padded = Zeroizing::new(vec![0; before]);
        padded.extend_from_slice(bytes);
        let own = (before * 8).div_ceil(6)..padded.len() * 8 / 6;
        for engine in [STANDARD_NO_PAD, URL_SAFE_NO_PAD] {
            let text = Zeroizing::new(engine.encode(&*padded).into_bytes());
            found.push(Zeroizing::new(text[own.clone()].to_vec()));
        }
    }
    found.sort_by(|one: &Zeroizing<Vec<u8>>, other| one.as_slice().cmp(other));
    found.dedup();
    found
}

/// Written by hand so that no copy of a secret stays in memory.
fn percent(bytes: &[u8]) -> Zeroizing<Vec<u8>> {
    let mut text = Zeroizing::new(Vec::with_capacity(bytes.len() * 3));
    for byte in bytes {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => text.push(*byte),
            byte => {
                text.push(b'%');
                text.extend_from_slice(HEXUPPER.encode(&[*byte]).as_bytes());
            }
        }
    }
    text
}

fn json(bytes: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    let quoted = Zeroizing::new(serde_json::to_string(std::str::from_utf8(bytes).ok()?).ok()?);
    Some(Zeroizing::new(quoted.trim_matches('"').as_bytes().to_vec()))
}

#[cfg(test)]
mod tests {
    use base64::engine::general_purpose::STANDARD;

    use super::*;

    fn found(pattern: &[u8], text: &[u8]) -> Option<Encoding> {
        let forms = forms(pattern);
        let is_in = |form: &Secret| text.windows(form.reveal().len()).any(|window| window == form.reveal());
        forms.iter().find(|(_, form)| is_in(form)).map(|(encoding, _)| *encoding)
    }

    #[test]
    fn every_form_is_found_wherever_it_begins() {
        let pattern = br#"s3cr3t+"/?\of mine"#;
        for before in 0..7 {
            let whole = [&b"before "[..before], pattern, b" and after"].concat();
            let once = STANDARD.encode(&whole);
            let twice = STANDARD.encode(&once);
            let url = URL_SAFE_NO_PAD.encode(&whole);
            assert_eq!(found(pattern, &whole), Some(Encoding::Plain));
            assert_eq!(found(pattern, once.as_bytes()), Some(Encoding::Base64), "{before}");
            assert_eq!(found(pattern, url.as_bytes()), Some(Encoding::Base64), "{before}");
            assert_eq!(found(pattern, twice.as_bytes()), Some(Encoding::Base64Twice), "{before}");
            assert_eq!(found(pattern, HEXUPPER.encode(&whole).as_bytes()), Some(Encoding::Hex));
            assert_eq!(found(pattern, &percent(&whole)), Some(Encoding::Percent));
            let json = serde_json::to_string(std::str::from_utf8(&whole).unwrap()).unwrap();
            assert_eq!(found(pattern, json.as_bytes()), Some(Encoding::Json));
        }
        assert_eq!(found(pattern, b"s3cr3t+\"/?\\of min"), None);
    }

    #[test]
    fn bytes_that_are_no_text_have_forms_too() {
        assert_eq!(found(&[7; 32], "07".repeat(32).as_bytes()), Some(Encoding::Hex));
        assert_eq!(found(&[255; 32], STANDARD.encode([255; 40]).as_bytes()), Some(Encoding::Base64));
    }
}
