//! A page that the cluster serves, over HTTP or HTTPS: at a given address, whatever its name resolves to here.

use std::net::SocketAddr;

use super::{ApiError, CONNECT, Client, REQUEST};

/// The rest of a longer page is ignored.
const MOST: usize = 1 << 20;

#[derive(Debug, Clone, Copy)]
pub struct WebPage<'a> {
    pub url: &'a str,
    /// The address to connect to.
    pub at: SocketAddr,
    /// The only trusted authorities, in PEM.
    pub roots: Option<&'a str>,
}

impl Client<'_> {
    /// Gets a page: its status and its text. Follows no redirects, and presents no credentials.
    pub fn page(&self, page: &WebPage<'_>) -> Result<(u16, String), ApiError> {
        let server = page.at.to_string();
        let broken = |message: &str| ApiError::Answer { server: server.clone(), message: message.to_owned() };
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
            builder =
                builder.tls_certs_only(roots.map_err(|_| broken("its certificate authorities are not PEM"))?);
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
