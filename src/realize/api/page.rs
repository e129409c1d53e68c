//! A page of the cluster's, over HTTP or HTTPS: at an address that is known, whatever its name resolves to here.

use std::net::SocketAddr;

use super::{ApiError, CONNECT, Client, REQUEST};

/// More than any page that is looked at.
const MOST: usize = 1 << 20;

#[derive(Debug, Clone, Copy)]
pub struct Page<'a> {
    pub url: &'a str,
    /// Where it is asked for.
    pub at: SocketAddr,
    /// In PEM, whom its server is trusted by; only they are.
    pub roots: Option<&'a str>,
}

impl Client<'_> {
    /// Asks for a page: its status, and its text. Nothing is followed, and nobody is told who we are.
    pub fn page(&self, page: &Page<'_>) -> Result<(u16, String), ApiError> {
        let server = page.at.to_string();
        let broken = |words: &str| ApiError::Answer { server: server.clone(), words: words.to_owned() };
        let unreachable =
            |error: reqwest::Error| ApiError::of_transport(server.clone(), &error.without_url());
        let url = reqwest::Url::parse(page.url).map_err(|_| broken("not a URL"))?;
        let host = url.host_str().unwrap_or_default().to_owned();
        let mut builder = reqwest::Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(CONNECT)
            .timeout(REQUEST)
            .resolve(&host, page.at);
        if let Some(roots) = page.roots {
            let roots = reqwest::Certificate::from_pem_bundle(roots.as_bytes());
            builder = builder.tls_certs_only(roots.map_err(|_| broken("its authorities cannot be read"))?);
        }
        let client = builder.build().map_err(|_| broken("TLS cannot be set up"))?;
        let asked = async move {
            let mut response = client.get(url).send().await?;
            let (status, mut text) = (response.status().as_u16(), Vec::new());
            while let Some(chunk) = response.chunk().await? {
                text.extend_from_slice(&chunk);
                if text.len() > MOST {
                    break;
                }
            }
            Ok::<_, reqwest::Error>((status, String::from_utf8_lossy(&text).into_owned()))
        };
        self.wait_for(asked)?.map_err(unreachable)
    }
}
