//! The releases that a row applies to: a range of versions, and a flavor.

use std::fmt;
use std::str::FromStr;

use crate::base::version::{Version, VersionRange};

/// The distribution of a release: the same components, some under other names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Flavor {
    Ocp,
    Okd,
}

/// The significant part of a release.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Release {
    pub(crate) version: Version,
    pub(crate) flavor: Flavor,
}

/// The condition of a row; without one, it applies to every release.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Condition {
    pub(super) releases: Option<VersionRange>,
    pub(super) flavor: Option<Flavor>,
}

impl Flavor {
    pub(crate) const ALL: [Self; 2] = [Self::Ocp, Self::Okd];

    /// The flavor of a full version: `4.19.0-okd-scos.3` is OKD.
    pub(crate) fn of(version: &str) -> Self {
        match ["okd", "scos"].iter().any(|word| version.contains(word)) {
            true => Self::Okd,
            false => Self::Ocp,
        }
    }
}

impl Flavor {
    /// As people call it.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Ocp => "OpenShift",
            Self::Okd => "OKD",
        }
    }
}

impl fmt::Display for Flavor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ocp => "ocp",
            Self::Okd => "okd",
        })
    }
}

impl FromStr for Flavor {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|flavor| flavor.to_string() == text);
        found.ok_or_else(|| format!("`{text}` is not a flavor: write `ocp` or `okd`"))
    }
}

impl Release {
    /// The release of a full version; none if it is not an OpenShift version.
    pub(crate) fn parse(version: &str) -> Option<Self> {
        Some(Self { version: version.parse().ok()?, flavor: Flavor::of(version) })
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.flavor, self.version)
    }
}

impl Condition {
    /// Whether a row applies to this release. For an unknown release, only unconditional rows do.
    pub(crate) fn holds(&self, release: Option<Release>) -> bool {
        let Self { releases, flavor } = self;
        match release {
            Some(release) => {
                releases.as_ref().is_none_or(|range| range.contains(release.version))
                    && flavor.is_none_or(|flavor| flavor == release.flavor)
            }
            None => releases.is_none() && flavor.is_none(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flavor_and_version_of_releases() {
        let shown = |text: &str| Release::parse(text).map(|one| format!("{} {}", one.flavor, one.version));
        for (text, wanted) in [
            ("4.19.0-rc.1", "ocp 4.19"),
            ("4.19.0-demo", "ocp 4.19"),
            ("4.19.7", "ocp 4.19"),
            ("4.19.0-okd-scos.3", "okd 4.19"),
            ("4.20.0-0.okd-2026-01-01-000000", "okd 4.20"),
        ] {
            assert_eq!(shown(text).as_deref(), Some(wanted), "{text}");
        }
        assert_eq!(shown("next"), None);
    }

    #[test]
    fn a_condition_holds_for_releases_in_its_range_and_of_its_flavor() {
        let condition = |releases: &str, flavor: &str| Condition {
            releases: (!releases.is_empty()).then(|| releases.parse().unwrap()),
            flavor: (!flavor.is_empty()).then(|| flavor.parse().unwrap()),
        };
        let holds = |releases: &str, flavor: &str, version: &str| {
            condition(releases, flavor).holds(Release::parse(version))
        };
        assert!(holds("", "", "4.18.1"));
        assert!(holds(">=4.20, <4.22", "", "4.21.0-rc.1"));
        assert!(!holds(">=4.20, <4.22", "", "4.22.0-ec.0"));
        assert!(holds(">=4.19", "okd", "4.19.0-okd-scos.3"));
        assert!(!holds(">=4.19", "okd", "4.19.3"));
        assert!(!holds("", "ocp", "4.19.0-okd-scos.3"));
        assert!(holds("", "", "unknown"));
        assert!(!holds(">=4.1", "", "unknown"));
    }
}
