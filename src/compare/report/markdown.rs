//! A comparison as Markdown for a pull request: the page as lists, with foldable details.

use super::rows::{Detail, Mark, Row, rows};
use super::{edit, location};
use crate::compare::delta::Edit;
use crate::compare::diff::{Artifact, ArtifactState, Diff};
use crate::compare::drift::Drift;

/// Longer details are truncated: comments on a pull request have a size limit.
const LINES: usize = 200;

pub(crate) fn markdown(diff: &Diff) -> String {
    let mut text = list(&rows(diff, Detail::Nothing));
    if !diff.artifacts.is_empty() {
        text.push_str("\n### Details\n\n");
    }
    text + &details(diff)
}

/// Rows as headings and lists.
pub(super) fn list(rows: &[Row]) -> String {
    let mut text = String::new();
    for Row { mark, text: row } in rows {
        match mark {
            Mark::Title if text.is_empty() => text.push_str(&format!("## {}\n", escape(row))),
            Mark::Title => text.push_str(&format!("\n### {}\n\n", capital(row))),
            Mark::Breaking => text.push_str(&format!("- **{}**\n", escape(row.trim()))),
            _ if text.lines().count() == 1 => text.push_str(&format!("\n{}\n", escape(row))),
            _ => text.push_str(&format!("- {}\n", escape(row.trim()))),
        }
    }
    text
}

/// The artifacts, each folded.
pub(super) fn details(diff: &Diff) -> String {
    let mut text = String::new();
    diff.artifacts.iter().for_each(|one| artifact(&mut text, one));
    text
}

/// What drifted, with what was not compared and what is expected below.
pub(crate) fn drift_markdown(drift: &Drift) -> String {
    let mut text = markdown(&drift.diff);
    if !drift.not_compared.is_empty() {
        text.push_str("\n### Not compared\n\n");
    }
    for one in &drift.not_compared {
        let row = format!("{} ({}): {}", one.kind, one.names.join(", "), one.why);
        text.push_str(&format!("- {}\n", escape(&row)));
    }
    if !drift.expected.is_empty() {
        text.push_str("\n### Expected differences\n\n");
    }
    for one in &drift.expected {
        let row = format!("{} {}: {}", one.object, one.fields.join(", "), one.reason);
        text.push_str(&format!("- {}\n", escape(&row)));
    }
    text
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

pub(super) fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' => safe.extend(['\\', c]),
            c => safe.push(c),
        }
    }
    safe
}

fn artifact(text: &mut String, artifact: &Artifact) {
    let state = match artifact.state {
        ArtifactState::Added => "added",
        ArtifactState::Removed => "removed",
        ArtifactState::Renamed => "renamed",
        ArtifactState::Changed => "changed",
    };
    let causes: Vec<String> = artifact.causes.iter().map(|at| (at + 1).to_string()).collect();
    let causes = if causes.is_empty() { String::new() } else { format!(", cause {}", causes.join(", ")) };
    let name = if artifact.name.is_empty() { "files" } else { &artifact.name };
    text.push_str(&format!("<details><summary><code>{}</code> {state}{causes}</summary>\n\n", escape(name)));
    let lines = lines(artifact);
    // A fence that the text itself cannot close.
    let longest =
        lines.iter().map(|line| line.chars().filter(|c| *c == '`').count()).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    text.push_str(&format!("{fence}diff\n"));
    for line in lines.iter().take(LINES) {
        text.push_str(line);
        text.push('\n');
    }
    if lines.len() > LINES {
        text.push_str(&format!("# and {} more lines\n", lines.len() - LINES));
    }
    text.push_str(&format!("{fence}\n\n</details>\n"));
}

/// Details in `diff` syntax, which sites colour.
fn lines(artifact: &Artifact) -> Vec<String> {
    let mut lines = Vec::new();
    let mut last = Vec::new();
    if artifact.download {
        return vec![format!(
            "# {} differences in what this cluster does not use",
            artifact.differences.len()
        )];
    }
    for difference in &artifact.differences {
        let (inside, field) = location(&difference.change);
        if inside != last {
            lines.push(format!("@@ {} @@", inside.join(" › ")));
            last = inside;
        }
        let what = if field.is_empty() { String::new() } else { format!("{field}: ") };
        match &difference.change.edit {
            Edit::Changed { old, new } if difference.change.note.is_none() && old != new => {
                lines.push(format!("-{what}{}", super::value(old)));
                lines.push(format!("+{what}{}", super::value(new)));
            }
            Edit::Added { .. } => lines.push(format!("+{what}{}", edit(&difference.change.edit))),
            Edit::Removed { .. } => lines.push(format!("-{what}{}", edit(&difference.change.edit))),
            Edit::Lines { hunks, .. } => {
                for hunk in hunks {
                    lines.push(format!("@@ -{} +{} @@", hunk.old_start, hunk.new_start));
                    lines.extend(hunk.lines.iter().map(|line| format!("{}{}", line.sign, line.text)));
                }
            }
            other => lines.push(format!("!{what}{}", edit(other))),
        }
        lines.extend(difference.change.note.iter().map(|note| format!("# {note}")));
    }
    lines.extend(artifact.same.iter().map(|same| format!("# {} files as in {}", same.files, same.artifact)));
    lines
}
