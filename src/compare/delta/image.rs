//! Image references: component and digest.

use super::walk::Walk;
use super::{ChangeKind, DeltaContext, Edit, ShownValue};

/// Whether a text is exactly one reference by digest.
pub(super) fn is_reference(text: &str) -> bool {
    text.len() < 512
        && digest(text).is_some_and(|digest| text.ends_with(digest))
        && !text.contains(|c: char| c.is_whitespace() || "\"'=,{}".contains(c))
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
}

/// The digest of a reference.
fn digest(text: &str) -> Option<&str> {
    let digest = &text[text.find("@sha256:")? + 1..];
    let hex = digest.strip_prefix("sha256:")?;
    (hex.len() == 64 && hex.bytes().all(|c| c.is_ascii_hexdigit())).then_some(digest)
}

/// `etcd@sha256:…` if the component is known, else unchanged.
pub(super) fn show(text: &str, context: &DeltaContext) -> String {
    let known = digest(text).and_then(|digest| Some((context.components.get(digest)?, digest)));
    known.map_or_else(|| text.to_owned(), |(component, digest)| format!("{component}@{digest}"))
}

/// Compares two different references.
pub(super) fn compare(walk: &mut Walk<'_>, old: &str, new: &str) {
    let (mut one, mut two) = (show(old, walk.context), show(new, walk.context));
    if one == two {
        // The same image from another place.
        (one, two) = (old.to_owned(), new.to_owned());
    }
    walk.push(ChangeKind::Image, Edit::Changed { old: ShownValue::Text(one), new: ShownValue::Text(two) });
}
