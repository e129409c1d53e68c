//! Detects the type of a content and picks its comparer. Contents are files, or fields, which are decoded first.

use std::borrow::Cow;
use std::io::Read as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::read::MultiGzDecoder;

use super::show::Audience;
use super::walk::Walk;
use super::{
    ChangeKind, Edit, ShownValue, environment, image, object, pem, read, secret_fields, show, text, unit,
};
use crate::openshift::ignition;

/// Maximum size of decompressed content.
const UNPACKED: u64 = 128 << 20;
/// How much of a text to inspect to detect its type.
const HEAD: usize = 64 << 10;
/// Minimum length of base64-encoded content.
const ENCODED: usize = 16;

/// Two contents of one path.
pub(super) fn content(walk: &mut Walk<'_>, path: &str, old: &[u8], new: &[u8]) {
    if old == new {
        return;
    }
    walk.depth += 1;
    if let (Some(old), Some(new)) = (unpacked(old), unpacked(new)) {
        let path = path.strip_suffix(".gz").unwrap_or(path);
        return match walk.may_open() {
            true => content(walk, path, &old, &new),
            false => binary(walk, &old, &new),
        };
    }
    match (plain(old), plain(new)) {
        (Some(old), Some(new)) => texts(walk, path, old, new),
        _ => binary(walk, old, new),
    }
}

fn texts(walk: &mut Walk<'_>, path: &str, old: &str, new: &str) {
    let mut note = None;
    if image::is_reference(old.trim_end()) && image::is_reference(new.trim_end()) {
        return image::compare(walk, old.trim_end(), new.trim_end());
    }
    if pem::is_pem(path, old) && pem::is_pem(path, new) {
        return pem::compare(walk, old, new);
    }
    if is_data(walk, path, old) && is_data(walk, path, new) {
        match read::documents(old, new) {
            Ok([old, new]) => return object::documents(walk, old, new),
            Err(why) if is_named(path) || !read::is_json(old) => note = Some(why),
            Err(_) => {}
        }
    } else if unit::is_unit(path, old) && unit::is_unit(path, new) {
        match unit::compare(walk, old, new) {
            true => return,
            false if unit::is_named(path) => note = Some("compared as text: not a valid unit".into()),
            false => {}
        }
    } else if environment::is_environment(walk, path, old) && environment::is_environment(walk, path, new) {
        return environment::compare(walk, old, new);
    }
    text::compare(walk, old, new, note.as_deref());
}

/// Whether a text is meant to be YAML or JSON.
fn is_data(walk: &Walk<'_>, path: &str, text: &str) -> bool {
    let object = || {
        let head = head(text);
        let has = |key: &str| head.starts_with(key) || head.contains(&format!("\n{key}"));
        has("apiVersion:") && has("kind:")
    };
    // A single word is valid YAML too, but that does not make it YAML.
    (is_named(path) && (!walk.masked || text.contains(':')))
        || (read::is_json(text) && text.trim_end().ends_with(['}', ']']))
        || object()
}

fn is_named(path: &str) -> bool {
    [".yaml", ".yml", ".json", ".ign", ".dockerconfigjson"].iter().any(|end| path.ends_with(end))
}

/// The part of a text to inspect.
pub(super) fn head(text: &str) -> &str {
    let mut end = text.len().min(HEAD);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Compares the contents embedded in two different texts of a field. False if they are plain texts.
pub(super) fn embedded(walk: &mut Walk<'_>, old: &str, new: &str, hidden: bool) -> bool {
    if !walk.may_open() {
        return false;
    }
    let path = walk.key();
    let pair = match (decoded(old), decoded(new)) {
        (Some(old), Some(new)) => Some((Cow::Owned(old), Cow::Owned(new))),
        _ => {
            let whole = |text: &str| text.contains('\n') || read::is_json(text);
            (whole(old) || whole(new) || is_named(&path))
                .then_some((Cow::Borrowed(old.as_bytes()), Cow::Borrowed(new.as_bytes())))
        }
    };
    let Some((old, new)) = pair else { return false };
    walk.masked |= hidden;
    content(walk, &path, &old, &new);
    true
}

/// The bytes of a data URL, or of base64-encoded text or compressed data.
fn decoded(text: &str) -> Option<Vec<u8>> {
    if text.starts_with("data:") {
        return ignition::decode(text);
    }
    let word: Cow<'_, str> = match text.contains(['\n', '\r']) {
        true => text.split_ascii_whitespace().collect::<String>().into(),
        false => text.into(),
    };
    let base64 = |c: u8| c.is_ascii_alphanumeric() || b"+/=".contains(&c);
    if word.len() < ENCODED || !word.len().is_multiple_of(4) || !word.bytes().all(base64) {
        return None;
    }
    let bytes = STANDARD.decode(word.as_bytes()).ok()?;
    let control = |byte: &u8| byte.is_ascii_control() && !matches!(byte, b'\n' | b'\r' | b'\t');
    let is_text = std::str::from_utf8(&bytes).is_ok() && !bytes.iter().any(control);
    (is_text || bytes.starts_with(&[0x1f, 0x8b])).then_some(bytes)
}

fn plain(content: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(content).ok()?;
    (!content.contains(&0)).then_some(text)
}

/// Decompressed gzip; none if it is not gzip, or too large.
pub(super) fn unpacked(content: &[u8]) -> Option<Vec<u8>> {
    if !content.starts_with(&[0x1f, 0x8b]) {
        return None;
    }
    let mut bytes = Vec::new();
    let size = MultiGzDecoder::new(content).take(UNPACKED + 1).read_to_end(&mut bytes).ok()?;
    (size as u64 <= UNPACKED).then_some(bytes)
}

fn binary(walk: &mut Walk<'_>, old: &[u8], new: &[u8]) {
    let shown = |content: &[u8]| {
        if walk.masked || is_key(content) { ShownValue::Secret } else { show::bytes(content) }
    };
    let (old, new) = (shown(old), shown(new));
    if let Some(edit) = super::walk::edit(Some(old), Some(new)) {
        walk.push(ChangeKind::Binary, edit);
    }
}

/// Whether bytes are a private key in DER.
fn is_key(content: &[u8]) -> bool {
    content.first() == Some(&0x30)
        && content.len() < 16 << 10
        && !crate::base::redact::patterns("", content).is_empty()
}

/// A content on one side only, as it may be shown.
pub(super) fn shown(path: &str, content: &[u8], secret: bool) -> ShownValue {
    if secret {
        return ShownValue::Secret;
    }
    match plain(content) {
        Some(text) if text.len() > show::MOST => match text::has_secret(text) {
            true => ShownValue::Secret,
            false => show::bytes(content),
        },
        Some(text) => match documents(path, text) {
            Some(shown) => shown,
            None if text::has_secret(text) => ShownValue::Secret,
            None => show::text_of(path, text, Audience::Careful),
        },
        None if is_key(content) => ShownValue::Secret,
        None => show::bytes(content),
    }
}

/// A file of YAML or JSON, each document as it may be shown; none if it is neither.
fn documents(path: &str, text: &str) -> Option<ShownValue> {
    let is_data = is_named(path) || text.trim_start().starts_with('{');
    let documents = if is_data { read::all_of(text)? } else { return None };
    let mut shown = Vec::new();
    for mut document in documents.into_iter().filter(|document| !document.is_scalar()) {
        secret_fields::hide_secrets(&mut document, false);
        let kind = object::identity(&document).map(|(_, kind, ..)| kind);
        let is_public = kind.is_some_and(|kind| object::is_public(&kind));
        let audience = if is_public { Audience::Everybody } else { Audience::Careful };
        match show::shown("", &document, audience) {
            ShownValue::Text(text) => shown.push(text),
            _ => return None,
        }
    }
    (!shown.is_empty()).then(|| ShownValue::Text(shown.join("\n---\n") + "\n"))
}

/// Reports a change of something secret.
pub(super) fn secret(walk: &mut Walk<'_>, kind: ChangeKind) {
    walk.push(kind, Edit::Changed { old: ShownValue::Secret, new: ShownValue::Secret });
}
