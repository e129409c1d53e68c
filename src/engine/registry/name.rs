//! Image names, as users and image-references write them.

use std::fmt;
use std::str::FromStr;

use data_encoding::HEXLOWER;

/// A SHA-256 digest, `sha256:<64 hex digits>`, as used by registries.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sha256([u8; 32]);

impl Sha256 {
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    pub fn of(bytes: &[u8]) -> Self {
        use sha2::Digest as _;
        Self(sha2::Sha256::digest(bytes).into())
    }

    /// The 64 hex digits only.
    pub fn hex(&self) -> String {
        HEXLOWER.encode(&self.0)
    }
}

impl fmt::Display for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{}", self.hex())
    }
}

impl fmt::Debug for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Sha256 {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let wrong = || NameError {
            text: text.to_owned(),
            reason: "a digest is `sha256:` and 64 lower-case hex digits",
        };
        let hex = text.strip_prefix("sha256:").ok_or_else(wrong)?;
        let bytes = HEXLOWER.decode(hex.as_bytes()).ok().and_then(|bytes| bytes.try_into().ok());
        bytes.map(Self).ok_or_else(wrong)
    }
}

/// A text that is not an image name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not an image name: {reason}")]
pub struct NameError {
    pub text: String,
    pub reason: &'static str,
}

/// A tag or digest.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reference {
    /// May move to another image.
    Tag(String),
    /// Always the same image.
    Digest(Sha256),
}

/// The registry of names that refer to an OCI layout on disk; no real registry can have this name.
pub(crate) const LAYOUT: &str = "oci";

/// The registry of names that refer to the built-in demo release.
pub(crate) const DEMO: &str = "demo";

/// `registry/path:tag` or `registry/path@sha256:…`.
///
/// Images outside registries have a name too, printed as users write it: `oci:path:tag`, `demo:4.18`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ImageName {
    /// With its port.
    pub registry: String,
    /// Without the registry.
    pub repository: String,
    pub reference: Reference,
}

impl ImageName {
    /// The same repository at this digest.
    #[must_use]
    pub fn at(&self, digest: Sha256) -> Self {
        Self { reference: Reference::Digest(digest), ..self.clone() }
    }
}

impl fmt::Display for ImageName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.registry.as_str(), &self.reference) {
            (DEMO, Reference::Tag(version)) => return write!(f, "demo:{version}"),
            (LAYOUT | DEMO, _) => write!(f, "{}:{}", self.registry, self.repository)?,
            _ => write!(f, "{}/{}", self.registry, self.repository)?,
        }
        match &self.reference {
            Reference::Tag(tag) => write!(f, ":{tag}"),
            Reference::Digest(digest) => write!(f, "@{digest}"),
        }
    }
}

pub(super) fn is_tag(text: &str) -> bool {
    let plain = text.chars().all(|c| c.is_ascii_alphanumeric() || "-._".contains(c));
    (1..=128).contains(&text.len()) && plain
}

impl FromStr for ImageName {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let wrong = |reason| NameError { text: text.to_owned(), reason };
        let (registry, rest) =
            text.split_once('/').ok_or_else(|| wrong("write it as registry/repository:tag"))?;
        let is_host = registry.contains(['.', ':']) || registry == "localhost";
        if !is_host || !registry.chars().all(|c| c.is_ascii_alphanumeric() || "-.:[]".contains(c)) {
            return Err(wrong("it must start with a registry, for example quay.io/"));
        }
        let (repository, reference) = match (rest.split_once('@'), rest.rsplit_once(':')) {
            (Some((repository, digest)), _) => {
                // A tag next to a digest adds nothing.
                let repository = repository.split_once(':').map_or(repository, |(repository, _)| repository);
                (repository, Reference::Digest(digest.parse()?))
            }
            (None, Some((repository, tag))) => (repository, Reference::Tag(tag.to_owned())),
            (None, None) => (rest, Reference::Tag("latest".to_owned())),
        };
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-._/".contains(c);
        if repository.is_empty()
            || !repository.chars().all(plain)
            || repository.split('/').any(|part| part.is_empty() || part.starts_with('.'))
        {
            return Err(wrong("a repository consists of a-z, 0-9, `-`, `.`, `_` and `/`"));
        }
        if matches!(&reference, Reference::Tag(tag) if !is_tag(tag)) {
            return Err(wrong("a tag consists of letters, digits, `-`, `.` and `_`"));
        }
        Ok(Self { registry: registry.to_owned(), repository: repository.to_owned(), reference })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        let digest = Sha256::of(b"x");
        for text in
            ["quay.io/a/b:4.18", "localhost:5000/x:latest", &format!("registry.example.com/a/b@{digest}")]
        {
            assert_eq!(text.parse::<ImageName>().unwrap().to_string(), text);
        }
        assert_eq!("quay.io/a".parse::<ImageName>().unwrap().to_string(), "quay.io/a:latest");
        let both = format!("quay.io/a:v1@{digest}").parse::<ImageName>().unwrap();
        assert_eq!(both.to_string(), format!("quay.io/a@{digest}"));
    }

    #[test]
    fn what_is_in_no_registry_is_printed_as_users_write_it() {
        let name = |registry: &str, repository: &str, tag: &str| {
            let reference = Reference::Tag(tag.into());
            ImageName { registry: registry.into(), repository: repository.into(), reference }.to_string()
        };
        assert_eq!(name(LAYOUT, "../images", "4.18.1"), "oci:../images:4.18.1");
        assert_eq!(name(DEMO, "release", "4.18"), "demo:4.18");
    }

    #[test]
    fn what_is_no_name_is_refused() {
        for text in [
            "",
            "a",
            "library/x:1",
            "quay.io/",
            "quay.io/A",
            "quay.io/a:",
            "quay.io/a@sha256:12",
            "quay.io/../x:1",
        ] {
            assert!(text.parse::<ImageName>().is_err(), "{text}");
        }
    }
}
