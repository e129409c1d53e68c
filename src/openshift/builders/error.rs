//! Errors of the OpenShift builders.

use std::any::Any;
use std::collections::BTreeSet;

use super::validate::{self, Finding};
use crate::base::hint::Hint;
use crate::base::pki::PkiError;
use crate::engine::builders::BuilderError;
use crate::openshift::ignition::IgnitionError;
use crate::openshift::iso::IsoError;

#[derive(Debug, thiserror::Error)]
pub(crate) enum ArtifactError {
    #[error("`{}` cannot be used", path.display())]
    Iso { path: std::path::PathBuf, source: IsoError },
    #[error("{what}")]
    Pki { what: String, source: PkiError },
    /// An authority that the user provided does not qualify.
    #[error("your certificate of `{name}` {problem}")]
    UserCertificate { name: String, problem: String, advice: String },
    #[error("`{name}` cannot be issued: its issuer `{issuer}` expired {}", until.date())]
    IssuerEnded {
        name: String,
        /// A subject.
        issuer: String,
        until: time::OffsetDateTime,
    },
    /// An invalid config, or one that conflicts with an addition.
    #[error("{what}")]
    Ignition { what: String, source: IgnitionError },
    #[error("{object} is in both {one} and {other}")]
    Twice {
        object: String,
        /// With its line and origin.
        one: String,
        other: String,
    },
    #[error("{} of {checked} checks failed{}", failed(findings), validate::list(findings))]
    Checks { checked: usize, findings: Vec<Finding> },
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
            Self::UserCertificate { advice, .. } => Some(advice.clone()),
            Self::IssuerEnded { .. } => {
                Some("run `tinderbox renew` for the issuer too, or provide another".into())
            }
            Self::Twice { .. } => Some(
                "keep one of them; to change the output of a built-in recipe, add a patch to `patches/`"
                    .into(),
            ),
            Self::Checks { .. } => None,
        }
    }
}
