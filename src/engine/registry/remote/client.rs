//! Two HTTP clients with the same certificates and proxies: for what is read, and for uploads.

use super::super::{RegistryError, Result};
use super::Access;

const BEGIN: &str = "-----BEGIN CERTIFICATE-----";
const END: &str = "-----END CERTIFICATE-----";

const USER_AGENT: &str = concat!("tinderbox/", env!("CARGO_PKG_VERSION"));

fn wrong(problem: impl Into<String>) -> RegistryError {
    RegistryError::Access { problem: problem.into() }
}

/// The individual certificates of a bundle.
fn certificates(bundle: Option<&str>) -> Result<Vec<&[u8]>> {
    let Some(bundle) = bundle else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    let mut rest = bundle;
    while let Some(begin) = rest.find(BEGIN) {
        let end =
            rest[begin..].find(END).ok_or_else(|| wrong("the trust bundle ends inside a certificate"))?;
        let end = begin + end + END.len();
        found.push(&rest.as_bytes()[begin..end]);
        rest = &rest[end..];
    }
    if found.is_empty() && !bundle.trim().is_empty() {
        return Err(wrong("the trust bundle contains no PEM certificate"));
    }
    Ok(found)
}

/// For reads and tokens.
pub(super) fn reading(access: &Access) -> Result<reqwest::Client> {
    build(access, reqwest::Client::builder().read_timeout(access.patience.idle))
}

/// For uploads. A read timeout would count from the start of one: `push` watches the progress itself.
pub(super) fn uploading(access: &Access) -> Result<reqwest::Client> {
    build(access, reqwest::Client::builder())
}

/// A client that ignores the environment: only `access` counts.
fn build(access: &Access, builder: reqwest::ClientBuilder) -> Result<reqwest::Client> {
    // Once per process; a provider installed earlier is equally good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = builder
        .no_proxy()
        .user_agent(USER_AGENT)
        .connect_timeout(access.patience.connect)
        .redirect(redirects());
    let mut roots = Vec::new();
    for pem in certificates(access.ca.as_deref())? {
        let bad = |_| wrong("a certificate of the trust bundle cannot be read");
        roots.push(reqwest::Certificate::from_pem(pem).map_err(bad)?);
    }
    builder = builder.tls_certs_merge(roots);
    let around = access.proxy.no_proxy.as_deref().and_then(reqwest::NoProxy::from_string);
    let bad = |_| wrong("the proxy is not a URL"); // the URL may hold a password
    if let Some(url) = &access.proxy.https {
        builder = builder.proxy(reqwest::Proxy::https(url).map_err(bad)?.no_proxy(around.clone()));
    }
    if let Some(url) = &access.proxy.http {
        builder = builder.proxy(reqwest::Proxy::http(url).map_err(bad)?.no_proxy(around));
    }
    builder.build().map_err(|error| {
        wrong(format!("cannot set up TLS: {}", crate::base::hint::chain(&error.without_url())))
    })
}

/// Follows redirects, within [`refused_redirect`].
fn redirects() -> reqwest::redirect::Policy {
    reqwest::redirect::Policy::custom(|attempt| match refused_redirect(attempt.previous(), attempt.url()) {
        Some(reason) => attempt.error(reason),
        None => attempt.follow(),
    })
}

/// Why a redirect is not followed: never from TLS to plain http, where whoever listens could answer anything.
fn refused_redirect(previous: &[reqwest::Url], next: &reqwest::Url) -> Option<&'static str> {
    match () {
        () if previous.iter().any(|url| url.scheme() == "https") && next.scheme() != "https" => {
            Some(DOWNGRADE)
        }
        () if previous.len() > REDIRECTS => Some("it redirects too often"),
        () => None,
    }
}

pub(super) const DOWNGRADE: &str = "it redirects to plain http";

const REDIRECTS: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirects_keep_tls() {
        let urls =
            |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect::<Vec<reqwest::Url>>();
        let refused = |from: &[&str], to: &str| refused_redirect(&urls(from), &to.parse().unwrap());
        assert_eq!(refused(&["https://quay.io/v2/"], "https://cdn.quay.io/x"), None);
        assert_eq!(refused(&["https://quay.io/v2/"], "http://cdn.quay.io/x"), Some(DOWNGRADE));
        assert_eq!(refused(&["https://quay.io/v2/", "https://a/"], "http://quay.io/v2/"), Some(DOWNGRADE));
        assert_eq!(refused(&["http://127.0.0.1:5000/v2/"], "http://127.0.0.1:5001/x"), None);
        assert!(refused(&["https://a/"; 6], "https://a/").is_some());
    }

    #[test]
    fn bad_settings_are_refused_and_show_no_password() {
        let refused = |access: Access| reading(&access).unwrap_err().to_string();
        let ca = |text: &str| Access { ca: Some(text.to_owned()), ..Access::default() };
        assert_eq!(refused(ca("hello")), "the trust bundle contains no PEM certificate");
        assert_eq!(refused(ca(BEGIN)), "the trust bundle ends inside a certificate");
        let mut access = Access::default();
        access.proxy.https = Some("http://me:hunter2@[".to_owned());
        assert!(!format!("{access:?}").contains("hunter2"));
        assert!(!refused(access).contains("hunter2"));
    }
}
