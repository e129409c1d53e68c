//! Whether a cluster can go to a release: what stands against it, what a person should look at, and what was not asked.
//!
//! Each kind of finding has an id that scripts may rely on, and appears once, with everything that it is about as items.
//!
//! | file | asks |
//! |---|---|
//! | `update` | whether the one release may follow the other |
//! | `gates` | which feature gates move |
//! | `fields` | which kinds, API versions and fields go, and whether this cluster's objects use them |
//! | `values` | whether the release's schemas accept this cluster's objects |
//! | `flags` | whether programs still know the flags that they are given |
//! | `kinds` | which kinds of objects of the payload nobody here knows |

pub(crate) mod fields;
pub(crate) mod flags;
pub(crate) mod gates;
pub(crate) mod kinds;
pub(crate) mod update;
pub(crate) mod values;

use serde::Serialize;

/// Identifies the format of the JSON document.
const SHAPE: &str = "tinderbox-release-try/1";

/// The schema of the document of `release try --json`.
pub(crate) const SCHEMA: &str = include_str!("schema.json");

/// The document of `release try --json`.
#[derive(Debug, Serialize)]
pub(crate) struct Readiness {
    /// [`SHAPE`].
    shape: &'static str,
    pub question: Question,
    pub from: TriedRelease,
    pub to: TriedRelease,
    pub verdict: Verdict,
    /// Obstacles first, then by section.
    pub findings: Vec<Finding>,
    pub not_asked: Vec<NotAsked>,
}

/// What was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Question {
    /// Whether the running cluster can be updated.
    Update,
    /// Whether a new cluster of this configuration would come up; how the releases lie to each other does not matter.
    Install,
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct TriedRelease {
    pub reference: String,
    pub version: String,
    /// By digest.
    pub image: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Verdict {
    CanGo,
    /// Nothing is known to break, and a person should look at something.
    Look,
    CannotGo,
}

/// One kind of finding, with everything that it is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Finding {
    pub level: Level,
    pub section: Section,
    /// Stable.
    pub id: &'static str,
    /// What breaks, or what is different.
    pub message: String,
    pub items: Vec<String>,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Level {
    /// The cluster does not build, or does not come up.
    Obstacle,
    /// Somebody should know before.
    Look,
    /// For information.
    Note,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Section {
    Update,
    Tables,
    Release,
    Payload,
    Renders,
    Flags,
    Gates,
    Crds,
    Ignition,
}

impl Section {
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Update => "update",
            Self::Tables => "tables",
            Self::Release => "release",
            Self::Payload => "payload",
            Self::Renders => "renders",
            Self::Flags => "flags",
            Self::Gates => "feature gates",
            Self::Crds => "API",
            Self::Ignition => "Ignition",
        }
    }
}

/// A question without an answer: nothing is known, neither good nor bad.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct NotAsked {
    pub section: Section,
    pub what: String,
    pub why: String,
}

impl Finding {
    pub(crate) fn new(
        level: Level,
        section: Section,
        id: &'static str,
        message: impl Into<String>,
        items: Vec<String>,
    ) -> Self {
        Self { level, section, id, message: message.into(), items, advice: None }
    }

    pub(crate) fn advice(self, advice: impl Into<String>) -> Self {
        Self { advice: Some(advice.into()), ..self }
    }

    /// Unless there is nothing that it is about.
    pub(crate) fn if_any(self) -> Option<Self> {
        (!self.items.is_empty()).then_some(self)
    }
}

impl Readiness {
    pub(crate) fn new(
        question: Question,
        from: TriedRelease,
        to: TriedRelease,
        mut findings: Vec<Finding>,
        mut not_asked: Vec<NotAsked>,
    ) -> Self {
        findings.sort_by_key(|finding| (finding.level, finding.section, finding.id));
        not_asked.sort();
        not_asked.dedup();
        let verdict = match findings.first().map(|finding| finding.level) {
            Some(Level::Obstacle) => Verdict::CannotGo,
            Some(Level::Look) => Verdict::Look,
            Some(Level::Note) | None => Verdict::CanGo,
        };
        Self { shape: SHAPE, question, from, to, verdict, findings, not_asked }
    }

    pub(crate) fn count(&self, level: Level) -> usize {
        self.findings.iter().filter(|finding| finding.level == level).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_finding_decides() {
        let release = || TriedRelease { reference: "r".into(), version: "v".into(), image: "i".into() };
        let of = |levels: &[Level]| {
            let finding = |level: &Level| Finding::new(*level, Section::Gates, "x", "m", vec!["i".into()]);
            Readiness::new(
                Question::Update,
                release(),
                release(),
                levels.iter().map(finding).collect(),
                vec![],
            )
            .verdict
        };
        assert_eq!(of(&[]), Verdict::CanGo);
        assert_eq!(of(&[Level::Note]), Verdict::CanGo);
        assert_eq!(of(&[Level::Note, Level::Look]), Verdict::Look);
        assert_eq!(of(&[Level::Look, Level::Obstacle, Level::Note]), Verdict::CannotGo);
    }
}
