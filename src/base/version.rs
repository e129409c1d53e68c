//! Versions compared by major and minor number alone: `4.19.0-rc.1` and `4.19.7` are both 4.19.
//!
//! Not the `semver` crate: it sorts a pre-release before its release and leaves it out of most ranges, so that a
//! release candidate of 4.19 would match neither `<4.19` nor `>=4.19`.

use std::fmt;
use std::str::FromStr;

/// The significant part of a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Version {
    major: u32,
    minor: u32,
}

/// A conjunction of bounds: `>=4.20, <4.22`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct VersionRange {
    bounds: Vec<(Comparison, Version)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comparison {
    AtLeast,
    Above,
    AtMost,
    Below,
    Equal,
}

/// Longer operators first, so that `>=` is not taken for `>`.
const COMPARISONS: [(&str, Comparison); 5] = [
    (">=", Comparison::AtLeast),
    ("<=", Comparison::AtMost),
    (">", Comparison::Above),
    ("<", Comparison::Below),
    ("=", Comparison::Equal),
];

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum VersionError {
    #[error("`{text}` is not a version such as `4.19` or `4.19.3`")]
    Version { text: String },
    #[error("`{text}` is not a bound such as `>=4.19` or `<4.22`")]
    Bound { text: String },
    #[error("no version is in `{text}`")]
    Empty { text: String },
}

impl Version {
    pub(crate) fn next(self) -> Self {
        Self { minor: self.minor.saturating_add(1), ..self }
    }
}

impl FromStr for Version {
    type Err = VersionError;

    fn from_str(text: &str) -> Result<Self, VersionError> {
        let parse = || {
            let (major, rest) = text.split_once('.')?;
            let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            let (minor, rest) = rest.split_at(end);
            let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
            (is_number(major) && (rest.is_empty() || rest.starts_with(['.', '-', '+'])))
                .then(|| Some(Self { major: major.parse().ok()?, minor: minor.parse().ok()? }))?
        };
        parse().ok_or_else(|| VersionError::Version { text: text.to_owned() })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl VersionRange {
    pub(crate) fn contains(&self, version: Version) -> bool {
        self.bounds.iter().all(|(comparison, bound)| match comparison {
            Comparison::AtLeast => version >= *bound,
            Comparison::Above => version > *bound,
            Comparison::AtMost => version <= *bound,
            Comparison::Below => version < *bound,
            Comparison::Equal => version == *bound,
        })
    }

    /// The versions that its bounds name.
    pub(crate) fn mentioned(&self) -> impl Iterator<Item = Version> {
        self.bounds.iter().map(|(_, version)| *version)
    }
}

impl FromStr for VersionRange {
    type Err = VersionError;

    fn from_str(text: &str) -> Result<Self, VersionError> {
        let bound = |bound: &str| {
            let bound = bound.trim();
            let known = COMPARISONS.iter().find_map(|(sign, comparison)| {
                Some((*comparison, bound.strip_prefix(sign)?.trim().parse().ok()?))
            });
            known.ok_or_else(|| VersionError::Bound { text: bound.to_owned() })
        };
        let range = Self { bounds: text.split(',').map(bound).collect::<Result<_, _>>()? };
        // The answer of a bound changes only at a version that it names, or next to it.
        let before = |Version { major, minor }: Version| match minor {
            0 => Version { major: major.saturating_sub(1), minor: u32::MAX },
            minor => Version { major, minor: minor - 1 },
        };
        let near = |version: Version| [before(version), version, version.next()];
        let has_any = range.mentioned().flat_map(near).any(|version| range.contains(version));
        has_any.then_some(range).ok_or_else(|| VersionError::Empty { text: text.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> Version {
        text.parse().unwrap()
    }

    fn range(text: &str) -> VersionRange {
        text.parse().unwrap()
    }

    #[test]
    fn a_range_may_end_at_a_new_major_version() {
        assert!(range("<5.0").contains(version("4.23")) && !range("<5.0").contains(version("5.0")));
        assert!(range(">=4.22, <5.0").contains(version("4.22")));
        assert!("<0.0".parse::<VersionRange>().is_err() && ">=5.0, <5.0".parse::<VersionRange>().is_err());
    }

    #[test]
    fn only_major_and_minor_count() {
        for text in ["4.19", "4.19.0", "4.19.0-rc.1", "4.19.0-demo", "4.19.0-okd-scos.3", "4.19.12+build"] {
            assert_eq!(version(text).to_string(), "4.19");
        }
        assert!(version("4.9.9") < version("4.10.0-ec.0"));
        assert!(version("4.23") < version("5.0"));
        for text in ["", "4", "4.", ".19", "v4.19", "4.x", "4.19_1", "4.19rc1", "+4.19", "4.99999999999"] {
            assert!(text.parse::<Version>().is_err(), "{text}");
        }
    }

    #[test]
    fn ranges() {
        let middle = range(">=4.20, <4.22");
        let found: Vec<&str> = ["4.19.9", "4.20.0-rc.0", "4.20.1", "4.21.0", "4.22.0-ec.1", "4.22.0"]
            .into_iter()
            .filter(|text| middle.contains(version(text)))
            .collect();
        assert_eq!(found, ["4.20.0-rc.0", "4.20.1", "4.21.0"]);
        assert!(range("=4.19").contains(version("4.19.0-okd-scos.3")));
        assert!(!range("> 4.19").contains(version("4.19.5")));
        assert!(range("<=4.19").contains(version("4.19.5")));
        assert_eq!(middle.mentioned().map(|one| one.to_string()).collect::<Vec<_>>(), ["4.20", "4.22"]);
    }

    #[test]
    fn what_is_no_range_is_said() {
        let problem = |text: &str| text.parse::<VersionRange>().unwrap_err().to_string();
        assert_eq!(problem("4.19"), "`4.19` is not a bound such as `>=4.19` or `<4.22`");
        assert_eq!(problem(">=4.19,"), "`` is not a bound such as `>=4.19` or `<4.22`");
        assert_eq!(problem("~4.19"), "`~4.19` is not a bound such as `>=4.19` or `<4.22`");
        assert_eq!(problem(">=4.22, <4.20"), "no version is in `>=4.22, <4.20`");
        assert_eq!(problem(">4.19, <4.20"), "no version is in `>4.19, <4.20`");
    }
}
