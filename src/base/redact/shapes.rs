//! Recognises unknown secrets by their format: keys, tokens and passwords of others.
//!
//! Masking too much costs a word of a log; masking too little leaks a secret. So these patterns are generous.

use std::ops::Range;
use std::sync::LazyLock;

use regex::bytes::{Captures, Regex};

use super::patterns::decode;

/// Maximum size of a private key in PEM, log prefixes included; without an end marker, this much is masked.
const KEY: usize = 16 << 10;
/// How much of a base64 text is decoded to see what it contains.
const HEAD: usize = 96;

/// The format of a kind of secret.
struct Shape {
    what: &'static str,
    regex: Regex,
    /// A final check on the secret itself.
    is_one: fn(&[u8]) -> bool,
}

/// A [`Shape`] before its regular expression is compiled.
type Sketch = (&'static str, &'static str, fn(&[u8]) -> bool);

/// Name, byte pattern (faster than Unicode) and final check. The secret is the capture group, or the whole match.
const SHAPES: [Sketch; 12] = [
    ("token", r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*", any),
    ("token", r"sha256~[A-Za-z0-9_-]{16,}", any),
    ("token", r"\b[a-z0-9]{6}\.[a-z0-9]{16}\b", mixed),
    ("token", r"(?i)\bbearer[ \t]+([a-z0-9._~+/=-]{8,})", mixed),
    (
        "token",
        r#"(?i)(?:client[_-]?secret|api[_-]?key|access[_-]?key|(?:access|refresh|id)[_-]?token)\\*["']?[ \t]*[:=][ \t]*\\*["']?([^\s"'\\,;]{8,})"#,
        value,
    ),
    (
        "authorization",
        r#"(?i)authorization\\*["']?[ \t]*[:=][ \t]*[\\\["']*((?:(?:basic|bearer|digest|negotiate|token)[ \t]+)?[^\s"'\\,\]]{4,})"#,
        any,
    ),
    (
        "registry login",
        r#"(?i)\\*["'](?:auth|identitytoken|registrytoken)\\*["'][ \t]*:[ \t]*\\*["']([^"'\\]{4,})"#,
        any,
    ),
    ("age identity", r"(?i)AGE-SECRET-KEY-[A-Z0-9-]+", any),
    ("password hash", r"\$(?:2[abxy]|[1567y]|gy|scrypt|argon2[id]{1,2})\$[./A-Za-z0-9$,=+-]{20,}", any),
    (
        "password",
        r#"(?i)(?:password|passwd|passphrase)\\*["']?[ \t]*[:=][ \t]*\\*["']?([^\s"'\\,;]{4,})"#,
        value,
    ),
    ("password", r"://[^/\s:@]+:([^/\s@]+)@", any),
    ("private key", r"(?:LS0tLS1CRUdJTi|TFMwdExTMUNSVWRKVGlC)[A-Za-z0-9+/]{16,}=*", holds_key),
];

static COMPILED: LazyLock<Vec<Shape>> = LazyLock::new(|| {
    let shape = |(what, pattern, is_one): Sketch| {
        Some(Shape { what, regex: Regex::new(&format!("(?-u){pattern}")).ok()?, is_one })
    };
    SHAPES.into_iter().filter_map(shape).collect()
});

/// Everything that looks like a secret: its range and its kind.
pub(super) fn find(bytes: &[u8]) -> Vec<(Range<usize>, &'static str)> {
    let mut found: Vec<(Range<usize>, &'static str)> =
        keys(bytes).map(|range| (range, "private key")).collect();
    for Shape { what, regex, is_one } in COMPILED.iter() {
        let secret = |captures: Captures<'_>| Some(captures.get(1).or_else(|| captures.get(0))?.range());
        let ranges = regex.captures_iter(bytes).filter_map(secret);
        found.extend(ranges.filter(|range| is_one(&bytes[range.clone()])).map(|range| (range, *what)));
    }
    found
}

/// Private keys in PEM: from the first line to the last, with any log prefixes.
fn keys(bytes: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let ends = memchr::memmem::Finder::new("PRIVATE KEY-----").into_owned();
    let mut from = 0;
    std::iter::from_fn(move || {
        loop {
            let at = from + ends.find(&bytes[from..])?;
            let start = from.max(at.saturating_sub("-----BEGIN ENCRYPTED ".len()));
            let begin = start + memchr::memmem::rfind(&bytes[start..at], b"-----").unwrap_or(at - start);
            from = at + "PRIVATE KEY-----".len();
            if !bytes[begin..at].starts_with(b"-----BEGIN") {
                continue; // a key whose start was not captured
            }
            let limit = bytes.len().min(from + KEY);
            let last = ends.find(&bytes[from..limit]).map(|last| from + last + "PRIVATE KEY-----".len());
            from = last.unwrap_or(limit);
            return Some(begin..from);
        }
    })
}

fn any(_: &[u8]) -> bool {
    true
}

/// Letters and digits, or long: not an ordinary word.
fn mixed(secret: &[u8]) -> bool {
    secret.len() >= 24 || secret.iter().any(u8::is_ascii_digit)
}

/// A value, not a path or reference.
fn value(secret: &[u8]) -> bool {
    !secret.starts_with(b"/") && !matches!(secret.first(), Some(b'$' | b'{' | b'[' | b'<' | b'%' | b'('))
}

/// Whether the word is base64, once or twice, of a private key.
fn holds_key(word: &[u8]) -> bool {
    let head = word[..word.len().min(HEAD) & !3].to_vec();
    let inner = String::from_utf8(head).ok().and_then(|head| decode(&head)).unwrap_or_default();
    let says = |bytes: &[u8]| memchr::memmem::find(bytes, b"PRIVATE KEY").is_some();
    let once_more = || std::str::from_utf8(&inner[..inner.len() & !3]).ok().and_then(decode);
    says(&inner) || once_more().is_some_and(|inner| says(&inner))
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;

    use super::*;

    fn masked(text: &str) -> String {
        let mut found = find(text.as_bytes());
        found.sort_by_key(|(range, _)| range.start);
        found.iter().map(|(range, what)| format!("{what}: {}\n", &text[range.clone()])).collect()
    }

    #[test]
    fn every_pattern_is_one() {
        assert_eq!(COMPILED.len(), SHAPES.len());
    }

    #[test]
    fn what_looks_like_a_secret_is_found() {
        for (text, expected) in [
            (
                "x eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJrdWJlIn0.c2ln y",
                "token: eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJrdWJlIn0.c2ln\n",
            ),
            ("--token=sha256~abcdefghijklmnopqrstuv", "token: sha256~abcdefghijklmnopqrstuv\n"),
            ("token 07401b.f395accd246ae52d used", "token: 07401b.f395accd246ae52d\n"),
            ("Bearer abc123def.x", "token: abc123def.x\n"),
            (r#"{\"auth\":\"dXNlcjpwdw==\"}"#, "registry login: dXNlcjpwdw==\n"),
            ("Authorization: Basic dXNlcjpwdw==", "authorization: Basic dXNlcjpwdw==\n"),
            (r#""Authorization":["Negotiate YII1"]"#, "authorization: Negotiate YII1\n"),
            ("AGE-SECRET-KEY-1QQPQ8", "age identity: AGE-SECRET-KEY-1QQPQ8\n"),
            ("x:$6$salt$abcdefghijklmnopqrstuvwxyz:1", "password hash: $6$salt$abcdefghijklmnopqrstuvwxyz\n"),
            ("db password=hunter22, done", "password: hunter22\n"),
            ("https://me:hunter2@example.com/", "password: hunter2\n"),
            (
                "-----BEGIN EC PRIVATE KEY-----\nnode: MHcC\n-----END EC PRIVATE KEY-----\nrest",
                "private key: -----BEGIN EC PRIVATE KEY-----\nnode: MHcC\n-----END EC PRIVATE KEY-----\n",
            ),
            (
                "a -----BEGIN OPENSSH PRIVATE KEY-----\\nb3Bl",
                "private key: -----BEGIN OPENSSH PRIVATE KEY-----\\nb3Bl\n",
            ),
        ] {
            assert_eq!(masked(text), expected, "{text}");
        }
        let pem = "-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg\n-----END PRIVATE KEY-----\n";
        let once = STANDARD.encode(pem);
        let twice = STANDARD.encode(&once);
        assert_eq!(masked(&format!("client-key-data: {once}\n")), format!("private key: {once}\n"));
        assert_eq!(masked(&format!("k: {twice}\n")), format!("private key: {twice}\n"));
    }

    #[test]
    fn the_rest_of_a_log_stays() {
        let certificate = STANDARD
            .encode("-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIIWhrKXXpEMDowDQYJKoZIhvcNAQEL\n");
        for text in [
            "Started Forward Password Requests to Wall Directory Watch.",
            "FLAG: --authorization-mode=\"Webhook\"",
            "password-file=/etc/x passwordFile: /etc/y",
            "bearer authentication is on",
            "-----END EC PRIVATE KEY-----",
            "https://192.168.126.10:6443/healthz kubernetes.io/serviceaccount",
            "pulled quay.io/openshift@sha256:0123456789abcdef",
            certificate.as_str(),
        ] {
            assert_eq!(masked(text), "", "{text}");
        }
    }
}
