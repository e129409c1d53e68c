//! The challenge of a registry (`WWW-Authenticate`): where to get a token, and for what service.

/// A `Bearer` challenge.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Challenge {
    pub(super) realm: String,
    pub(super) service: Option<String>,
}

impl Challenge {
    /// Parses `Bearer realm="…",service="…"`; none for another scheme, such as `Basic`.
    pub(super) fn parse(header: &str) -> Option<Self> {
        let (scheme, mut rest) = header.trim().split_once(' ')?;
        if !scheme.eq_ignore_ascii_case("bearer") {
            return None;
        }
        let (mut realm, mut service) = (None, None);
        while let Some((name, after)) = rest.split_once('=') {
            let name = name.trim_matches([' ', ',', '\t']);
            // A quoted value may contain commas.
            let (value, left) = match after.trim_start().strip_prefix('"') {
                Some(quoted) => quoted.split_once('"')?,
                None => after.split_once(',').unwrap_or((after, "")),
            };
            match name.to_ascii_lowercase().as_str() {
                "realm" => realm = Some(value.to_owned()),
                "service" => service = Some(value.to_owned()),
                _ => {}
            }
            rest = left;
        }
        Some(Self { realm: realm?, service })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn challenges_as_registries_write_them() {
        let parsed = |header: &str| Challenge::parse(header).map(|found| (found.realm, found.service));
        let both = ("https://auth.example.com/token".to_owned(), Some("registry".to_owned()));
        assert_eq!(
            parsed(
                r#"Bearer realm="https://auth.example.com/token",service="registry",scope="repository:a:pull,push""#
            ),
            Some(both.clone())
        );
        assert_eq!(
            parsed(r#"bearer scope="repository:a:pull,push", service=registry , realm="https://auth.example.com/token""#)
                .map(|(realm, service)| (realm, service.map(|text| text.trim().to_owned()))),
            Some(both)
        );
        assert_eq!(parsed(r#"Basic realm="x""#), None);
        for broken in ["", "Bearer", "Bearer service=x", r#"Bearer realm="https://x"#] {
            assert_eq!(parsed(broken), None, "{broken}");
        }
    }
}
