//! Finds secrets in arbitrary text: private keys, passwords, tokens and password hashes.
//!
//! Invariant: text that passes contains no pattern (see [`mod@super::patterns`]). When in doubt it is masked; the
//! reader still learns that something changed.

use std::borrow::Cow;

use super::{patterns, shapes};
use crate::base::secret::MASK;

/// Keys whose values are always secret.
const KEYS: [&str; 16] = [
    "auth",
    "token",
    "secret",
    "bearertoken",
    "idtoken",
    "accesstoken",
    "refreshtoken",
    "identitytoken",
    "registrytoken",
    "clientsecret",
    "secretkey",
    "secretaccesskey",
    "awssecretaccesskey",
    "apikey",
    "clientkeydata",
    "privatekey",
];
/// Prefixes of hashed passwords.
const HASHES: [&str; 9] = ["$1$", "$2a$", "$2b$", "$2y$", "$5$", "$6$", "$y$", "$gy$", "$argon2"];

/// The text as it may be shown; none if all of it is secret. `key` is the field that holds it.
pub(crate) fn value<'t>(key: &str, text: &'t str) -> Option<Cow<'t, str>> {
    if is_key(key) && is_value(text) {
        return None;
    }
    let assigned = || text.contains('\n') && text.lines().any(is_assigned);
    if !is_suspect(key, text) && !assigned() {
        return Some(Cow::Borrowed(text));
    }
    if !text.contains('\n') {
        return None;
    }
    let mut inside = false;
    let lines: Vec<String> = text.split('\n').map(|text| line(text, &mut inside)).collect();
    let text = lines.join("\n");
    // A secret that spans lines: mask everything.
    (!is_suspect(key, &text)).then_some(Cow::Owned(text))
}

/// One line of a text as it may be shown. `inside` tracks whether we are within a private key.
pub(crate) fn line(text: &str, inside: &mut bool) -> String {
    let begins = text.contains("-----BEGIN ") && text.contains("PRIVATE KEY");
    let ends = text.contains("-----END ");
    if begins {
        *inside = !ends;
        return MASK.into();
    }
    if *inside {
        *inside = !ends;
        return MASK.into();
    }
    if !is_suspect("", text) && !is_assigned(text) {
        return text.to_owned();
    }
    // The name may be shown.
    let end = text.find([':', '=']).filter(|end| {
        let name = text[..*end].trim_matches([' ', '-', '"', '\'', '\t']);
        !name.is_empty()
            && name.len() <= 64
            && name.bytes().all(|c| c.is_ascii_alphanumeric() || b"_.-/ ".contains(&c))
    });
    match end.map(|end| &text[..=end]) {
        Some(head) if !is_suspect("", head) && head.ends_with('=') => format!("{head}{MASK}"),
        Some(head) if !is_suspect("", head) => format!("{head} {MASK}"),
        _ => MASK.into(),
    }
}

/// A name as it may be shown: a key of a map, an argument.
pub(crate) fn name(text: &str) -> Cow<'_, str> {
    if text.len() >= 16 && is_suspect("", text) { Cow::Borrowed(MASK) } else { Cow::Borrowed(text) }
}

fn is_suspect(key: &str, text: &str) -> bool {
    let hash = |word: &str| HASHES.iter().any(|hash| word.starts_with(hash)) && word.len() >= 13;
    if text.contains("PRIVATE KEY") && text.contains("-----BEGIN") {
        return true;
    }
    // With the key, since a single word would be judged more strictly, as a file of one word.
    if text.len() >= 8 && !patterns("", format!("{key}: {text}").as_bytes()).is_empty() {
        return true;
    }
    if text.len() >= 8 && !shapes::find(text.as_bytes()).is_empty() {
        return true;
    }
    text.contains('$') && text.split(|c: char| c.is_whitespace() || ":=,\"'|;".contains(c)).any(hash)
}

/// A line such as `password=x` or `token: y` names a secret, however short.
fn is_assigned(line: &str) -> bool {
    let Some((key, value)) = line.split_once([':', '=']) else { return false };
    let key = key.trim().trim_start_matches("export ").trim_matches([' ', '-', '"', '\'']);
    let value = value.trim().trim_end_matches(',').trim_matches(['"', '\'']);
    is_key(key) && is_value(value)
}

/// Whether values of this key are secret.
fn is_key(key: &str) -> bool {
    if key.len() > 128 {
        return false;
    }
    let key: String =
        key.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    KEYS.contains(&key.as_str())
        || ["password", "passwd", "passphrase"]
            .iter()
            .any(|word| key.ends_with(word) || key.ends_with(&format!("{word}hash")))
}

/// Whether a text may be a secret value: not a reference, not a switch.
fn is_value(text: &str) -> bool {
    let reference = |rest: &str| {
        rest.starts_with(['(', '{']) || rest.bytes().all(|c| c.is_ascii_uppercase() || c == b'_')
    };
    !text.is_empty()
        && !text.starts_with(['/', '{', '[', '<', '%'])
        && !text.strip_prefix('$').is_some_and(reference)
        && !matches!(text, "true" | "false" | "null" | "|" | ">" | "|-" | ">-")
}
