//! Two HTTP clients with the same certificates and proxies: ours for reads and tokens, oci-client's for uploads.

use oci_client::client::{Certificate, CertificateEncoding, ClientConfig, ClientProtocol};

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

/// Our client. It ignores the environment: only `access` counts.
pub(super) fn ours(access: &Access) -> Result<reqwest::Client> {
    // Once per process; a provider installed earlier is equally good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = reqwest::Client::builder()
        .no_proxy()
        .user_agent(USER_AGENT)
        .connect_timeout(access.patience.connect)
        .read_timeout(access.patience.idle)
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

/// oci-client's. It caches credentials per registry, so there is one for every entry of the pull secret.
pub(super) fn theirs(access: &Access) -> Result<oci_client::Client> {
    let mut proxy = access.proxy.clone();
    if proxy.http.is_none() && proxy.https.is_none() {
        // Without a proxy, it would use those of the environment. This one is never contacted.
        proxy.http = Some("http://127.0.0.1:9".to_owned());
        proxy.no_proxy = Some("*,0.0.0.0/0,::/0".to_owned());
    }
    let extra_root_certificates = certificates(access.ca.as_deref())?
        .into_iter()
        .map(|pem| Certificate { encoding: CertificateEncoding::Pem, data: pem.to_vec() })
        .collect();
    let config = ClientConfig {
        protocol: ClientProtocol::HttpsExcept(access.plain_http.clone()),
        use_monolithic_push: true, // two requests a blob, however large
        extra_root_certificates,
        // No read timeout: it would count from the start of an upload. `push` watches the progress itself.
        connect_timeout: Some(access.patience.connect),
        user_agent: USER_AGENT,
        https_proxy: proxy.https,
        http_proxy: proxy.http,
        no_proxy: proxy.no_proxy,
        ..ClientConfig::default()
    };
    oci_client::Client::try_from(config).map_err(|_| wrong("cannot set up TLS or the proxy"))
}

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
        let refused = |access: Access| ours(&access).unwrap_err().to_string();
        let ca = |text: &str| Access { ca: Some(text.to_owned()), ..Access::default() };
        assert_eq!(refused(ca("hello")), "the trust bundle contains no PEM certificate");
        assert_eq!(refused(ca(BEGIN)), "the trust bundle ends inside a certificate");
        let mut access = Access::default();
        access.proxy.https = Some("http://me:hunter2@[".to_owned());
        assert!(!format!("{access:?}").contains("hunter2"));
        assert!(!refused(access).contains("hunter2"));
    }
}
