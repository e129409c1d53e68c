//! Golden tests of every leaf, each in both directions: a file does not differ from itself, and backwards is the
//! inverse.

mod commands;
mod data;
mod ignition;
mod narrow;
mod objects;
mod pki;
mod properties;
mod renames;
mod schema;
mod secrets;
mod text;
mod units;

use super::{Change, DeltaContext, Edit, File, ShownValue, Tone, files, inverse};

pub(super) fn file<'a>(path: &'a str, content: &'a [u8]) -> File<'a> {
    File { path, content, secret: false, executable: false }
}

/// The changes, after checking the invariants.
pub(super) fn changes(old: File<'_>, new: File<'_>, context: &DeltaContext) -> Vec<Change> {
    let found = files(Some(old), Some(new), context);
    for side in [old, new] {
        assert_eq!(files(Some(side), Some(side), context), []);
    }
    let mut back = inverse(files(Some(new), Some(old), context));
    let mut there = found.clone();
    back.sort();
    there.sort();
    assert_eq!(back, there, "backwards it is not the inverse");
    found
}

/// The changes as text.
pub(super) fn diff(path: &str, old: &str, new: &str) -> String {
    render(&changes(file(path, old.as_bytes()), file(path, new.as_bytes()), &DeltaContext::default()))
}

/// The changes of secret files as text.
pub(super) fn diff_secret(path: &str, old: &str, new: &str) -> String {
    let (old, new) = (
        File { secret: true, ..file(path, old.as_bytes()) },
        File { secret: true, ..file(path, new.as_bytes()) },
    );
    render(&changes(old, new, &DeltaContext::default()))
}

/// One change per line; `(none)` for no change. Omits the common file.
pub(super) fn render(changes: &[Change]) -> String {
    if changes.is_empty() {
        return "(none)".into();
    }
    changes.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn line(change: &Change) -> String {
    let kind = serde_json::to_value(change.kind).unwrap();
    let place: Vec<&str> = change.place.iter().skip(1).map(|step| step.name.as_str()).collect();
    let mut text = format!("{}: {}: ", kind.as_str().unwrap(), place.join(" / "));
    match &change.edit {
        Edit::Added { new } => text.push_str(&format!("+ {}", show(new))),
        Edit::Removed { old } => text.push_str(&format!("- {}", show(old))),
        Edit::Changed { old, new } => text.push_str(&format!("{} -> {}", show(old), show(new))),
        Edit::Renamed { old, new } => text.push_str(&format!("renamed {old} -> {new}")),
        Edit::Lines { hunks, cut } => {
            for hunk in hunks {
                text.push_str(&format!("\n  @@ -{} +{} @@", hunk.old_start, hunk.new_start));
                hunk.lines.iter().for_each(|line| text.push_str(&format!("\n  {}{}", line.sign, line.text)));
            }
            if *cut > 0 {
                text.push_str(&format!("\n  ({cut} more)"));
            }
        }
    }
    match change.tone {
        Some(Tone::Loosened) => text.push_str(" (loosened)"),
        Some(Tone::Tightened) => text.push_str(" (tightened)"),
        None => {}
    }
    if let Some(note) = &change.note {
        text.push_str(&format!(" [{note}]"));
    }
    text
}

fn show(shown: &ShownValue) -> String {
    match shown {
        ShownValue::Text(text) => text.replace('\n', "⏎"),
        ShownValue::Secret => "(secret)".into(),
        ShownValue::Bytes { size, blake3 } => format!("{size} bytes {}", &blake3[..8]),
    }
}
