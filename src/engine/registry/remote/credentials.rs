//! Credentials of registries, and of repositories in them: the longest match wins, as in containers-auth.json.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

use super::super::{RegistryError, Result};
use crate::base::secret::Secret;

/// What to present to a registry.
#[derive(Debug, Clone)]
pub(super) enum Credential {
    Basic { user: Secret, password: Secret },
    Token(Secret),
}

/// Credentials by `registry[/path]`.
#[derive(Debug, Default)]
pub(super) struct Credentials(BTreeMap<String, Credential>);

#[derive(Deserialize)]
struct RawFile {
    #[serde(default)]
    auths: BTreeMap<String, RawEntry>,
}

#[derive(Deserialize)]
struct RawEntry {
    auth: Option<String>,
    username: Option<String>,
    password: Option<String>,
    registrytoken: Option<String>,
}

impl Credentials {
    /// Parses a dockerconfigjson. Errors contain registry names, never values.
    pub(super) fn parse(text: &Secret) -> Result<Self> {
        let wrong = |problem: String| RegistryError::Access { problem };
        // A parser's message may quote the input, so only its position is passed on.
        let raw: RawFile = serde_json::from_slice(text.reveal()).map_err(|error| {
            wrong(format!(
                "the pull secret is not a dockerconfigjson (line {}, column {})",
                error.line(),
                error.column()
            ))
        })?;
        let mut all = BTreeMap::new();
        for (place, entry) in raw.auths {
            let found = entry.read().map_err(|()| {
                wrong(format!("the pull secret's `auth` of `{place}` is not base64 of user:password"))
            })?;
            if let Some(credential) = found {
                all.insert(normal(&place).to_owned(), credential);
            }
        }
        Ok(Self(all))
    }

    /// The credential of a repository, and the entry that matched.
    pub(super) fn of(&self, registry: &str, repository: &str) -> Option<(&str, &Credential)> {
        let whole = format!("{registry}/{repository}");
        let mut rest = whole.as_str();
        loop {
            if let Some((place, credential)) = self.0.get_key_value(rest) {
                return Some((place, credential));
            }
            rest = rest.rsplit_once('/')?.0;
        }
    }
}

/// What a server of another protocol gets in `authorization`, if a dockerconfigjson has something for it.
pub(in crate::engine) fn basic(file: &Secret, host: &str, path: &str) -> Result<Option<Secret>> {
    let credentials = Credentials::parse(file)?;
    let found = credentials.of(host, path).or_else(|| credentials.of(host.rsplit_once(':')?.0, path));
    let text = |secret: &Secret| secret.reveal_text().unwrap_or_default().to_owned();
    Ok(found.map(|(_, credential)| match credential {
        Credential::Basic { user, password } => {
            let pair = format!("{}:{}", text(user), text(password));
            Secret::from(format!("Basic {}", STANDARD.encode(pair)))
        }
        Credential::Token(token) => Secret::from(format!("Bearer {}", text(token))),
    }))
}

impl RawEntry {
    fn read(self) -> std::result::Result<Option<Credential>, ()> {
        if let Some(token) = self.registrytoken.filter(|token| !token.is_empty()) {
            return Ok(Some(Credential::Token(token.into())));
        }
        if let (Some(user), Some(password)) = (self.username, self.password) {
            return Ok(Some(Credential::Basic { user: user.into(), password: password.into() }));
        }
        let Some(auth) = self.auth.filter(|auth| !auth.is_empty()) else { return Ok(None) };
        let plain = Secret::new(STANDARD.decode(auth.trim()).map_err(|_| ())?);
        let (user, password) = plain.reveal_text().and_then(|text| text.split_once(':')).ok_or(())?;
        let [user, password] = [user, password].map(|part| Secret::from(part.to_owned()));
        Ok(Some(Credential::Basic { user, password }))
    }
}

/// Older files have URLs instead of names.
fn normal(place: &str) -> &str {
    let place = place.strip_prefix("https://").or_else(|| place.strip_prefix("http://")).unwrap_or(place);
    let place = place.trim_end_matches('/');
    match place.strip_suffix("/v1").or_else(|| place.strip_suffix("/v2")).unwrap_or(place) {
        "index.docker.io" => "docker.io",
        place => place,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Credentials> {
        Credentials::parse(&Secret::from(text.to_owned()))
    }

    #[test]
    fn the_longest_match_wins() {
        let auth = |text: &str| STANDARD.encode(text);
        let all = parse(&format!(
            r#"{{"auths": {{"quay.io": {{"auth": "{}"}}, "quay.io/a/b": {{"auth": "{}"}},
                "https://old.example.com/v1/": {{"username": "u", "password": "p"}}, "none.example.com": {{}}}}}}"#,
            auth("host:x"),
            auth("path:x:y")
        ))
        .unwrap();
        let user = |registry, repository| match all.of(registry, repository)?.1 {
            Credential::Basic { user, .. } => user.reveal_text().map(str::to_owned),
            Credential::Token(_) => None,
        };
        assert_eq!(user("quay.io", "a/b").as_deref(), Some("path"));
        assert_eq!(user("quay.io", "a/b/c").as_deref(), Some("path"));
        assert_eq!(user("quay.io", "a/bc").as_deref(), Some("host"));
        assert_eq!(user("quay.io", "a").as_deref(), Some("host"));
        assert_eq!(user("old.example.com", "x").as_deref(), Some("u"));
        assert_eq!(user("none.example.com", "x"), None);
        assert_eq!(user("quay.io:443", "a"), None);
    }

    #[test]
    fn errors_and_debug_show_no_secret() {
        for text in [
            r#"{"auths": {"quay.io": "hunter2"}}"#,
            r#"{"auths": {"quay.io": {"auth": "hunter2!"}}}"#,
            r#"{"auths": {"quay.io": {"auth": "aHVudGVyMg=="}}}"#,
            "hunter2",
        ] {
            let error = format!("{:?}", parse(text).unwrap_err());
            assert!(!error.contains("hunter2") && !error.contains("aHVudGVy"), "{error}");
        }
        let all = parse(r#"{"auths": {"quay.io": {"username": "me", "password": "hunter2"}}}"#).unwrap();
        assert!(!format!("{all:?}").contains("hunter2"));
    }
}
