//! Why an artifact could not be made, in the words of those who will boot it.

use std::any::Any;
use std::collections::BTreeSet;

use super::validate::{self, Finding};
use crate::base::hint::Hint;
use crate::base::pki::PkiError;
use crate::engine::builders::BuilderError;
use crate::openshift::ignition::IgnitionError;
use crate::openshift::iso::IsoError;

/// Why an artifact could not be made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ArtifactError {
    /// A live ISO that cannot be used.
    #[error("`{}` cannot be used", path.display())]
    Iso { path: std::path::PathBuf, source: IsoError },
    /// A key or certificate that cannot be read or made.
    #[error("{what}")]
    Pki { what: String, source: PkiError },
    /// An authority of the user's that cannot do the work.
    #[error("your certificate of `{name}` {problem}")]
    Brought {
        name: String,
        /// What is wrong with it.
        problem: String,
        advice: String,
    },
    /// A certificate whose issuer is no longer valid.
    #[error("`{name}` cannot be issued: its issuer `{issuer}` ended {}", until.date())]
    IssuerEnded {
        name: String,
        /// The subject of its issuer.
        issuer: String,
        until: time::OffsetDateTime,
    },
    /// A config that is none, or that something does not fit into.
    #[error("{what}")]
    Ignition { what: String, source: IgnitionError },
    /// Two files that describe one Kubernetes object.
    #[error("{object} is in both {one} and {other}")]
    Twice {
        object: String,
        /// One file, with its line and where it is from.
        one: String,
        other: String,
    },
    /// Checks that do not hold.
    #[error("{} of {checked} checks failed{}", failed(findings), validate::list(findings))]
    Checks {
        /// How many were made.
        checked: usize,
        findings: Vec<Finding>,
    },
}

fn failed(findings: &[Finding]) -> usize {
    findings.iter().map(|finding| finding.check).collect::<BTreeSet<_>>().len()
}

impl BuilderError for ArtifactError {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn artifacts(&mut self) -> Vec<(&str, &mut String)> {
        match self {
            Self::Checks { findings, .. } => findings
                .iter_mut()
                .map(|finding| (finding.artifact.as_str(), &mut finding.derivation))
                .collect(),
            _ => Vec::new(),
        }
    }
}

impl Hint for ArtifactError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Iso { source, .. } => source.hint(),
            Self::Pki { source, .. } => source.hint(),
            Self::Ignition { source, .. } => source.hint(),
            Self::Brought { advice, .. } => Some(advice.clone()),
            Self::IssuerEnded { .. } => Some("`tinderbox renew` the issuer too, or bring another".into()),
            Self::Twice { .. } => Some(
                "keep one of them; what a built-in recipe makes is changed with a patch in `patches/`".into(),
            ),
            Self::Checks { .. } => None,
        }
    }
}
