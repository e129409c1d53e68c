//! `guide.toml`: the chapters of the guide.

use serde::Deserialize;

use super::purposes::captured;
use super::release::Release;
use super::table::{Row, Table};

/// A chapter.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Chapter {
    pub(crate) id: String,
    pub(crate) title: String,
    /// Paragraphs with placeholders.
    text: Vec<String>,
    #[serde(default)]
    steps: Vec<String>,
    /// Both for a cluster whose only node bootstraps itself, if they differ.
    in_place: Option<InPlace>,
    /// Patterns of derivations.
    artifacts: Vec<String>,
    pub(crate) files: Option<NodeFiles>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct InPlace {
    text: Vec<String>,
    #[serde(default)]
    steps: Vec<String>,
}

impl Chapter {
    /// Its paragraphs and steps.
    pub(crate) fn told(&self, in_place: bool) -> (&[String], &[String]) {
        match self.in_place.as_ref().filter(|_| in_place) {
            Some(InPlace { text, steps }) => (text, steps),
            None => (&self.text, &self.steps),
        }
    }
}

/// The files on nodes that a chapter tells about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum NodeFiles {
    /// What the machine-config operator rendered.
    Rendered,
    Ours,
}

impl Table<Chapter> {
    /// In reading order.
    pub(crate) fn chapters(&self, release: Option<Release>) -> impl Iterator<Item = &Chapter> {
        self.planned(release)
    }

    /// The chapter of a derivation: the one with the pattern that matches it best.
    pub(crate) fn chapter_of(&self, release: Option<Release>, derivation: &str) -> Option<&Chapter> {
        let patterns = self
            .planned(release)
            .flat_map(|chapter| chapter.artifacts.iter().map(move |pattern| (chapter, pattern)));
        patterns
            .filter(|(_, pattern)| captured(pattern, derivation).is_some())
            .max_by_key(|(_, pattern)| (!pattern.contains('*'), pattern.len()))
            .map(|(chapter, _)| chapter)
    }
}

impl Row for Chapter {
    const FILE: &'static str = "guide.toml";
    const NAME: &'static str = "chapter";

    fn key(&self) -> &str {
        &self.id
    }
}
