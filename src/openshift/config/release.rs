//! The source of the release image, as users write it. Parsed once; printed as written.

use std::fmt;
use std::str::FromStr;

use super::syntax;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Release {
    /// The release built from the project's own files, by minor version: `demo:4.18`, or `demo:4.18-multi` with
    /// images for several architectures, or `demo:4.22-okd`.
    Demo { version: String },
    Registry {
        /// `host[:port]/path`.
        repository: String,
        reference: Reference,
    },
    Layout {
        /// Relative to the cluster directory.
        directory: String,
        reference: Reference,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reference {
    /// May move.
    Tag(String),
    /// `sha256:` and 64 hexadecimal digits.
    Digest(String),
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a release")]
pub struct ReleaseError {
    pub text: String,
}

impl FromStr for Release {
    type Err = ReleaseError;

    fn from_str(text: &str) -> Result<Self, ReleaseError> {
        parse(text).ok_or_else(|| ReleaseError { text: text.to_owned() })
    }
}

fn parse(text: &str) -> Option<Release> {
    if let Some(version) = text.strip_prefix("demo:") {
        let (major, minor) = ["-multi", "-okd"]
            .iter()
            .find_map(|kind| version.strip_suffix(kind))
            .unwrap_or(version)
            .split_once('.')?;
        let number = |part: &str| (1..=3).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
        return (number(major) && number(minor)).then(|| Release::Demo { version: version.to_owned() });
    }
    let layout = text.strip_prefix("oci:");
    let (place, reference) = split(layout.unwrap_or(text))?;
    match layout {
        Some(_) => (!place.is_empty()).then(|| Release::Layout { directory: place.to_owned(), reference }),
        None => {
            let named = place.contains('/') && !place.contains('*') && syntax::is_repository(place);
            named.then(|| Release::Registry { repository: place.to_owned(), reference })
        }
    }
}

/// `PLACE@sha256:…` or `PLACE:TAG`.
fn split(text: &str) -> Option<(&str, Reference)> {
    if let Some((place, digest)) = text.split_once('@') {
        let hex = digest.strip_prefix("sha256:")?;
        let valid = hex.len() == 64 && hex.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        return valid.then(|| (place, Reference::Digest(digest.to_owned())));
    }
    let (place, tag) = text.rsplit_once(':')?;
    let word = |b: u8| b.is_ascii_alphanumeric() || b"._-".contains(&b);
    let valid = (1..=128).contains(&tag.len()) && tag.bytes().all(word) && !tag.starts_with(['.', '-']);
    valid.then(|| (place, Reference::Tag(tag.to_owned())))
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tag(tag) => write!(f, ":{tag}"),
            Self::Digest(digest) => write!(f, "@{digest}"),
        }
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Demo { version } => write!(f, "demo:{version}"),
            Self::Registry { repository, reference } => write!(f, "{repository}{reference}"),
            Self::Layout { directory, reference } => write!(f, "oci:{directory}{reference}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_five_forms_are_read_and_printed_alike() {
        let digest = format!("sha256:{}", "0a".repeat(32));
        for text in [
            "demo:4.18".to_owned(),
            "demo:4.18-multi".to_owned(),
            "demo:4.22-okd".to_owned(),
            "quay.io/openshift-release-dev/ocp-release:4.18.1-x86_64".to_owned(),
            "localhost:5000/ocp:v1".to_owned(),
            format!("quay.io/openshift-release-dev/ocp-release@{digest}"),
            "oci:images/release:4.18.1".to_owned(),
            format!("oci:../images@{digest}"),
        ] {
            assert_eq!(text.parse::<Release>().map(|release| release.to_string()), Ok(text));
        }
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "",
            "demo:",
            "demo:4",
            "demo:4.x",
            "demo:4.18-many",
            "ocp:4.18",
            "quay.io/ocp",
            "quay.io/ocp@sha256:12",
            "oci::x",
            "oci:dir",
            "quay.io/a:b c",
        ] {
            assert!(text.parse::<Release>().is_err(), "{text}");
        }
    }
}
