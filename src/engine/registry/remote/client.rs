//! Two HTTP clients with the same certificates and proxies: ours for reads, oci-client's for tokens and uploads.

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
        .read_timeout(access.patience.idle);
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
