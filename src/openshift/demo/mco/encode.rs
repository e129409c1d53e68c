//! Base64 (RFC 4648) and the data URLs that file contents are written as.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Standard base64 with padding.
pub(super) fn base64(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let at = |i: usize| u32::from(chunk.get(i).copied().unwrap_or(0));
        let word = at(0) << 16 | at(1) << 8 | at(2);
        for i in 0..4 {
            let index = (word >> (18 - 6 * i)) as usize & 63;
            text.push(if i <= chunk.len() { char::from(ALPHABET[index]) } else { '=' });
        }
    }
    text
}

/// The bytes of standard base64; nothing if it is not that. White space does not count.
pub(super) fn unbase64(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    if !digits.len().is_multiple_of(4) {
        return None;
    }
    let padding = digits.iter().rev().take_while(|digit| **digit == b'=').count();
    if padding > 2 {
        return None;
    }
    let mut bytes = Vec::new();
    for chunk in digits[..digits.len() - padding].chunks(4) {
        let mut word = 0;
        for digit in chunk {
            word = word << 6 | ALPHABET.iter().position(|known| known == digit)? as u32;
        }
        word <<= 6 * (4 - chunk.len());
        bytes.extend(&word.to_be_bytes()[1..chunk.len()]);
    }
    Some(bytes)
}

/// A data URL with percent-encoded text.
pub(super) fn data_url(text: &str) -> String {
    let mut url = String::from("data:,");
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.!~*'()".contains(&byte) {
            url.push(char::from(byte));
        } else {
            url.push_str(&format!("%{byte:02X}"));
        }
    }
    url
}

/// A data URL in base64, as kubelet.conf is written.
pub(super) fn data_url_base64(text: &str) -> String {
    format!("data:text/plain;charset=utf-8;base64,{}", base64(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_of_rfc_4648() {
        for (plain, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
        ] {
            assert_eq!(base64(plain.as_bytes()), text);
            assert_eq!(unbase64(text).as_deref(), Some(plain.as_bytes()));
        }
        assert_eq!(unbase64("Zg="), None);
        assert_eq!(unbase64("Z==="), None);
        assert_eq!(unbase64("Z*=="), None);
    }

    #[test]
    fn data_urls() {
        assert_eq!(data_url("a b\n=é"), "data:,a%20b%0A%3D%C3%A9");
        assert_eq!(data_url_base64("foo"), "data:text/plain;charset=utf-8;base64,Zm9v");
    }
}
