//! The guide: a book about one cluster, as data, as a page and as text for a terminal.
//!
//! | file | responsibility |
//! |---|---|
//! | `html` | the page |
//! | `text` | a chapter, or single entries, as lines |
//!
//! Contents come masked: what is in the document may be shown.

mod html;
mod text;

use schemars::JsonSchema;
use serde::Serialize;

use crate::base::hint::Place;
use crate::compare::parts::Part;
use crate::openshift::knowledge::About;

pub(crate) use html::html;
pub(crate) use text::{Line, LineKind, chapter, entries};

/// The whole book.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Guide {
    pub(crate) shape: &'static str,
    pub(crate) cluster: String,
    pub(crate) domain: String,
    pub(crate) release: String,
    pub(crate) chapters: Vec<GuideChapter>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct GuideChapter {
    /// From 1.
    pub(crate) number: usize,
    pub(crate) id: String,
    pub(crate) title: String,
    /// Paragraphs.
    pub(crate) text: Vec<String>,
    /// What happens, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) steps: Vec<String>,
    /// What ends when, the soonest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) deadlines: Vec<GuideDeadline>,
    pub(crate) groups: Vec<GuideGroup>,
}

/// Entries that belong together.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct GuideGroup {
    pub(crate) title: String,
    pub(crate) entries: Vec<GuideEntry>,
}

/// An artifact, object or file.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct GuideEntry {
    /// Unique in the book.
    pub(crate) id: String,
    pub(crate) title: String,
    /// `object`, `certificate`, `file`, `unit` and so on.
    pub(crate) kind: String,
    pub(crate) about: Vec<About>,
    /// Where it is on nodes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) places: Vec<NodePlace>,
    /// The derivation that made it; none for the user's own files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) derivation: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) recipe: Option<String>,
    /// The config fields that decide it, with their lines.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) origins: Vec<GuideOrigin>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) checks: Vec<GuideCheck>,
    /// Who shows it to whom.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) shown: Vec<GuideShown>,
    /// Derivations that use it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) goes_into: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) parts: Vec<GuidePart>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) files: Vec<GuideFile>,
    /// What prints it.
    pub(crate) command: String,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub(crate) struct NodePlace {
    pub(crate) node: String,
    pub(crate) path: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct GuideOrigin {
    /// The field.
    pub(crate) from: String,
    pub(crate) places: Vec<Place>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct GuideCheck {
    pub(crate) name: String,
    pub(crate) rule: String,
    pub(crate) breaks: String,
}

/// A credential, presented.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct GuideShown {
    pub(crate) presenter: String,
    pub(crate) role: &'static str,
    pub(crate) verifier: String,
    pub(crate) breaks: String,
}

/// A part of it, and what that means.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct GuidePart {
    #[serde(flatten)]
    pub(crate) part: Part,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) meaning: Option<String>,
}

/// A file, with its content as far as it may and can be shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct GuideFile {
    pub(crate) path: String,
    /// None if it is secret, binary, or shown elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) content: Option<String>,
    /// Why there is no content, or that it was cut.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) note: Option<String>,
    /// Whether its lines are numbered and can be linked to.
    #[serde(skip)]
    pub(crate) numbered: bool,
}

/// A point in time after which something no longer works.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct GuideDeadline {
    pub(crate) at: String,
    pub(crate) what: String,
    pub(crate) then: String,
}

impl Guide {
    /// Every entry, in reading order.
    pub(crate) fn entries(&self) -> impl Iterator<Item = &GuideEntry> {
        self.chapters.iter().flat_map(|chapter| &chapter.groups).flat_map(|group| &group.entries)
    }
}

/// An anchor for a text.
pub(crate) fn slug(text: &str) -> String {
    let mut made = String::new();
    for c in text.chars() {
        match c {
            c if c.is_ascii_alphanumeric() => made.push(c.to_ascii_lowercase()),
            _ if made.ends_with('-') || made.is_empty() => {}
            _ => made.push('-'),
        }
    }
    made.trim_end_matches('-').to_owned()
}
