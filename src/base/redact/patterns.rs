//! Which parts of a secret file would reveal the secret if they appeared elsewhere.
//!
//! A secret file is mostly public: a kubeconfig contains a certificate, a Secret its name, an Ignition config whole
//! manifests. These are patterns:
//!
//! | part | pattern |
//! |---|---|
//! | private key, in PEM or base64 | every line and every 32 bytes that contain part of its private numbers |
//! | value of `auth`, `…password…` and the like | the value; for a base64 `user:password`, the password too |
//! | value of `…token…`, `…secret…` | the value, if it looks random |
//! | a file of one word | that word, if it looks random or the file's name is one of the above |
//! | any other word | if it looks random and is not a certificate, public key, digest or UUID; not in an Ignition config, where nearly all words are public and secrets are files of their own elsewhere |
//! | base64, URL encoding, JSON strings | the decoded content, by the same rules |

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use zeroize::Zeroizing;

use super::SHORTEST;
use super::der::{is_sequence, private_parts};
use crate::base::secret::Secret;

/// How many nested encodings are decoded: an Ignition config holds a Secret, which holds a kubeconfig, which holds a
/// key.
const DEPTH: u32 = 6;
/// Shorter words in running text are taken for names.
const WORD: usize = 16;
/// Width of a line of PEM.
const LINE: usize = 64;
/// The number of bytes that identify a key.
const WINDOW: usize = 32;
/// Larger unknown binaries are not decoded.
const BINARY: usize = 4096;

const FORGIVING: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_allow_trailing_bits(true)
    .with_decode_padding_mode(DecodePaddingMode::Indifferent);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, FORGIVING);
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, FORGIVING);

/// The patterns of a secret file. `name` is its base name.
pub(crate) fn patterns(name: &str, content: &[u8]) -> Vec<Secret> {
    let mut collector = Collector::default();
    match std::str::from_utf8(content) {
        Ok(text) => {
            let word = text.trim();
            if is_word(word) && (is_password(name, word) || is_random_word(word)) {
                collector.take(word.as_bytes());
            }
            collector.is_config = is_config(text);
            collector.text(text, DEPTH);
        }
        Err(_) => collector.binary(content),
    }
    collector.found
}

/// The same plus the whole content, for a secret that is a value and not a file.
pub(crate) fn patterns_and_whole(name: &str, content: &[u8]) -> Vec<Secret> {
    let mut found = patterns(name, content);
    let whole = content.trim_ascii();
    if whole.len() >= SHORTEST {
        found.push(Secret::new(whole.to_vec()));
    }
    found
}

#[derive(Default)]
struct Collector {
    found: Vec<Secret>,
    /// Whether single words are ignored: the text is a whole node's configuration.
    is_config: bool,
}

impl Collector {
    fn take(&mut self, pattern: &[u8]) {
        let pattern = Secret::new(pattern.to_vec());
        if pattern.reveal().len() >= SHORTEST && !self.found.contains(&pattern) {
            self.found.push(pattern);
        }
    }

    fn text(&mut self, text: &str, depth: u32) {
        if depth == 0 {
            return;
        }
        if text.contains("-----BEGIN") && text.contains("\\n") {
            let lines = Zeroizing::new(text.replace("\\n", "\n"));
            return self.text(&lines, depth - 1);
        }
        if text.contains("%0A") || text.contains("%0a") {
            return self.text(&unescape(text), depth - 1);
        }
        let rest = self.pem(text);
        for (key, value) in fields(&rest) {
            self.field(key, value);
        }
        for word in rest.split(|c: char| !is_base64(c)).filter(|word| word.len() >= WORD) {
            self.word(word, depth);
        }
    }

    fn field(&mut self, key: &str, value: &str) {
        if is_password(key, value) {
            self.take(value.as_bytes());
            let inner = Zeroizing::new(decode(value).unwrap_or_default());
            if let Some(text) = std::str::from_utf8(&inner).ok().filter(|text| is_text(text)) {
                self.take(text.split_once(':').map_or(text, |(_, password)| password).as_bytes());
            }
        } else if names(key, &["token", "secret", "credential"]) && is_word(value) && is_random_word(value) {
            self.take(value.as_bytes());
        }
    }

    fn word(&mut self, word: &str, depth: u32) {
        if let Some(inner) = decode(word) {
            let inner = Zeroizing::new(inner);
            match std::str::from_utf8(&inner) {
                Ok(text) if is_text(text) => return self.text(text, depth - 1),
                _ if is_sequence(&inner) => return self.key(word, &inner, false),
                _ if is_gzip(&inner) => return, // compressed: not looked into
                _ => {}
            }
        }
        if !self.is_config && is_random_text(word) {
            word.as_bytes().chunks(LINE).for_each(|chunk| self.take(chunk));
        }
    }

    /// Consumes the PEM blocks of a text and returns the rest.
    fn pem(&mut self, text: &str) -> Zeroizing<String> {
        let mut rest = Zeroizing::new(String::with_capacity(text.len()));
        let mut left = text;
        while let Some((before, block)) = left.split_once("-----BEGIN ") {
            rest.push_str(before);
            rest.push('\n');
            let Some((label, body)) = block.split_once("-----") else { break };
            let (body, after) = body.split_once("-----END ").unwrap_or((body, ""));
            if label.ends_with("PRIVATE KEY") {
                let lines = Zeroizing::new(body.split_whitespace().collect::<String>());
                let der = Zeroizing::new(decode(&lines).unwrap_or_default());
                self.key(&lines, &der, true);
            }
            left = after.split_once("-----").map_or("", |(_, after)| after);
        }
        rest.push_str(left);
        rest
    }

    /// The lines and bytes of a key that contain private data. `certain`: it is a key even if we cannot parse it.
    fn key(&mut self, base64: &str, der: &[u8], certain: bool) {
        let parts = private_parts(der);
        for (at, line) in base64.as_bytes().chunks(LINE).enumerate() {
            let (start, end) = (at * LINE * 3 / 4, at * LINE * 3 / 4 + line.len() * 3 / 4);
            let private: usize =
                parts.iter().map(|part| part.end.min(end).saturating_sub(part.start.max(start))).sum();
            if private >= SHORTEST || (certain && parts.is_empty() && line.len() >= WORD) {
                self.take(line);
            }
        }
        for part in parts {
            der[part]
                .chunks(WINDOW)
                .filter(|window| window.len() >= WINDOW / 2)
                .for_each(|window| self.take(window));
        }
    }

    fn binary(&mut self, content: &[u8]) {
        if is_sequence(content) {
            return self.key("", content, false);
        }
        if content.len() > BINARY {
            return;
        }
        let varied =
            |window: &[u8]| window.iter().collect::<std::collections::BTreeSet<_>>().len() > window.len() / 2;
        content
            .chunks(WINDOW)
            .filter(|window| window.len() >= WINDOW / 2 && varied(window))
            .for_each(|window| self.take(window));
    }
}

/// Whether a text is an Ignition config, or a MachineConfig with one in it.
fn is_config(text: &str) -> bool {
    let json =
        text.trim_start().starts_with('{') && text.contains("\"ignition\"") && text.contains("\"version\"");
    json || (text.contains("kind: MachineConfig\n") && text.contains("    ignition:\n"))
}

/// `key: value`, `"key": "value"` and `key=value`, also inside quoted text.
fn fields(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let quotes = ['"', '\'', '\\', ' ', '\t'];
    text.match_indices([':', '=']).filter_map(move |(at, sign)| {
        let before = text[..at].trim_end_matches(quotes);
        let start = before.rfind(|c: char| !(c.is_ascii_alphanumeric() || "_.-".contains(c)));
        let key = &before
            [start.map_or(0, |start| start + before[start..].chars().next().map_or(1, char::len_utf8))..];
        let after = text[at + sign.len()..].trim_start_matches([' ', '\t']);
        let value = match after.trim_start_matches('\\').chars().next() {
            Some(quote @ ('"' | '\'')) => {
                let after = after.trim_start_matches('\\').get(1..)?;
                after.split([quote, '\n']).next()?.trim_end_matches('\\')
            }
            _ => after.split(|c: char| c.is_whitespace() || ",}])".contains(c)).next()?,
        };
        (!key.is_empty() && key.len() <= LINE).then_some((key, value))
    })
}

fn names(key: &str, words: &[&str]) -> bool {
    let key = key.to_ascii_lowercase();
    words.iter().any(|word| key.contains(word))
}

/// Whether a value is a password regardless of its format. Paths and references are not.
fn is_password(key: &str, value: &str) -> bool {
    (key.eq_ignore_ascii_case("auth") || names(key, &["password", "passwd", "passphrase"]))
        && (SHORTEST..=512).contains(&value.len())
        // A shell's default, as in `${AUTH:-/etc/auth}`, is judged by itself.
        && !value.trim_start_matches('-').starts_with(['/', '$', '{', '[', '<', '%'])
        && !value.contains('\n')
}

/// Whether the text is one word, as in a password file.
fn is_word(text: &str) -> bool {
    (SHORTEST..=512).contains(&text.len())
        && !text.contains(|c: char| c.is_whitespace() || "{}:@\"'".contains(c))
}

fn is_base64(c: char) -> bool {
    c.is_ascii_alphanumeric() || "+/_-".contains(c)
}

fn is_text(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| !c.is_control() || "\n\r\t".contains(c))
}

/// How often neighbouring letters and digits differ in kind (lower case, upper case, digit), and which kinds occur.
fn changes(text: &str) -> (f64, bool, usize) {
    let plain: Vec<u8> = text.bytes().filter(u8::is_ascii_alphanumeric).collect();
    let kind = |c: &u8| (c.is_ascii_lowercase(), c.is_ascii_uppercase());
    let changes = plain.windows(2).filter(|pair| kind(&pair[0]) != kind(&pair[1])).count();
    let both = plain.iter().any(u8::is_ascii_lowercase) && plain.iter().any(u8::is_ascii_uppercase);
    let distinct = plain.iter().collect::<std::collections::BTreeSet<_>>().len();
    (changes as f64 / plain.len().saturating_sub(1).max(1) as f64, both, distinct)
}

/// Whether a word in running text is random. Names, paths, digests and UUIDs use one case or capitalised words.
fn is_random_text(word: &str) -> bool {
    let (changes, both, distinct) = changes(word);
    let ssh_key = word.starts_with("AAAA") && decode(word).is_some_and(|inner| inner.starts_with(&[0, 0, 0]));
    both && changes >= 0.4 && distinct >= 8 && !ssh_key && !is_camel_case(word)
}

/// Whether most of a word is pronounceable runs of lower-case letters, as in `CloudDualStackNodeIPs`: the name of a gate,
/// a kind or a field. One in a thousand random words of 16 characters is like that, and fewer of longer ones.
fn is_camel_case(word: &str) -> bool {
    let plain = word.bytes().filter(u8::is_ascii_alphanumeric).count();
    let vowel = |run: &&[u8]| run.iter().any(|c| b"aeiouy".contains(c));
    let runs = word.as_bytes().split(|c| !c.is_ascii_lowercase()).filter(|run| run.len() >= 3);
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    2 * runs.filter(vowel).map(<[u8]>::len).sum::<usize>() >= plain && 8 * digits <= plain
}

/// Whether a stand-alone word is random: it may be all one case, but not a name with a number. Base64 of something that
/// we can parse is decoded instead.
fn is_random_word(word: &str) -> bool {
    let (changes, _, distinct) = changes(word);
    let uuid = word.len() == 36 && word.bytes().all(|c| c.is_ascii_hexdigit() || c == b'-');
    let inner = Zeroizing::new(decode(word).unwrap_or_default());
    let understood = is_sequence(&inner) || std::str::from_utf8(&inner).is_ok_and(is_text);
    changes >= 0.3 && distinct >= 6 && !uuid && !understood && !is_camel_case(word)
}

/// Whether bytes are gzip: its magic number, its only method, and room for header and trailer. A shorter word that starts
/// like gzip is a coincidence.
fn is_gzip(bytes: &[u8]) -> bool {
    bytes.len() >= 18 && bytes.starts_with(&[0x1f, 0x8b, 8])
}

/// Decodes base64 of either alphabet.
pub(super) fn decode(word: &str) -> Option<Vec<u8>> {
    STANDARD.decode(word).or_else(|_| URL_SAFE.decode(word)).ok()
}

/// Decodes URL encoding; drops what is not UTF-8.
fn unescape(text: &str) -> Zeroizing<String> {
    let mut bytes = Zeroizing::new(Vec::with_capacity(text.len()));
    let mut left = text.as_bytes();
    while let Some((&first, after)) = left.split_first() {
        let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.filter(|_| first == b'%').and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                left = &after[2..];
            }
            None => {
                bytes.push(first);
                left = after;
            }
        }
    }
    Zeroizing::new(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests;
