//! A connection from a kubeconfig: its authorities, client certificate and server name. Anything else that a kubeconfig may
//! hold (files, programs to run, tokens, proxies) is ignored: ours have none of it.

use std::pin::Pin;
use std::task::{Context, Poll};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::Uri;
use hyper_rustls::{FixedServerNameResolver, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use time::OffsetDateTime;
use tower_service::Service;
use zeroize::Zeroizing;

use super::{ApiError, CONNECT, Endpoint};
use crate::base::hint::Problems;
use crate::base::pki::Certificate;
use crate::base::yaml::{self, Source, YamlNode};

/// Connects within [`CONNECT`], TLS included: a load balancer accepts connections for servers that are not there.
#[derive(Clone)]
pub(super) struct Connector(HttpsConnector<HttpConnector>);

type Secured = <HttpsConnector<HttpConnector> as Service<Uri>>::Response;
type ConnectError = Box<dyn std::error::Error + Send + Sync>;

impl Service<Uri> for Connector {
    type Response = Secured;
    type Error = ConnectError;
    type Future = Pin<Box<dyn Future<Output = Result<Secured, ConnectError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), ConnectError>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let connecting = tokio::time::timeout(CONNECT, self.0.call(uri));
        Box::pin(async move { connecting.await? })
    }
}

/// Connects as a kubeconfig says. Nothing is retried here: the wait loop does that, and reports it.
pub(super) fn connector(text: &str) -> Result<Connector, ApiError> {
    let (tls, name) = tls(text)?;
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    let builder = HttpsConnectorBuilder::new().with_tls_config(tls).https_only();
    let name = FixedServerNameResolver::new(name);
    Ok(Connector(builder.with_server_name_resolver(name).enable_http1().wrap_connector(tcp)))
}

/// Whom a kubeconfig trusts, who it is, and the name that the server must have.
pub(super) fn tls(text: &str) -> Result<(rustls::ClientConfig, ServerName<'static>), ApiError> {
    let current = Current::read(text)?;
    let broken = |problem: String| ApiError::Kubeconfig { problem };
    let mut roots = rustls::RootCertStore::empty();
    for one in certificates("certificate-authority-data", current.authority.as_deref())? {
        roots.add(CertificateDer::from(one.der().to_vec())).map_err(|error| broken(error.to_string()))?;
    }
    let chain = certificates("client-certificate-data", Some(&current.certificate))?;
    let chain = chain.iter().map(|one| CertificateDer::from(one.der().to_vec())).collect();
    let key = STANDARD.decode(&*current.key).ok().map(Zeroizing::new);
    let key = key.and_then(|pem| PrivateKeyDer::from_pem_slice(&pem).ok());
    let key = key.ok_or_else(|| broken("`client-key-data` is not a key".into()))?;
    let tls = rustls::ClientConfig::builder().with_root_certificates(roots);
    let tls = tls.with_client_auth_cert(chain, key).map_err(|error| broken(error.to_string()))?;
    Ok((tls, server_name(&current.server)?))
}

/// Where a kubeconfig says that the API is.
pub(crate) fn endpoint_of(kubeconfig: &str) -> Result<Endpoint, ApiError> {
    let server = Current::read(kubeconfig)?.server;
    let at = server.strip_prefix("https://").map(|rest| rest.split('/').next().unwrap_or(rest));
    at.and_then(|at| at.parse().ok())
        .ok_or_else(|| ApiError::Kubeconfig { problem: "its `server` is not https://HOST:PORT".into() })
}

/// The user that an API server derives from a kubeconfig's client certificate, and when that ends.
pub(crate) fn client_of(kubeconfig: &str) -> Result<(String, OffsetDateTime), ApiError> {
    let chain = certificates("client-certificate-data", Some(&Current::read(kubeconfig)?.certificate))?;
    let first =
        chain.first().ok_or_else(|| ApiError::Kubeconfig { problem: "it has no certificate".into() })?;
    Ok((first.common_name().unwrap_or_default().to_owned(), first.not_after()))
}

/// The cluster and the user of the current context.
struct Current {
    server: String,
    authority: Option<String>,
    certificate: String,
    key: Zeroizing<String>,
}

impl Current {
    fn read(text: &str) -> Result<Self, ApiError> {
        let broken = |problem: String| ApiError::Kubeconfig { problem };
        // Not the parser's message: it quotes the text, which has keys in it.
        let read = yaml::parse(Source { name: "kubeconfig", text }, &mut Problems::default());
        let read = read.ok_or_else(|| broken("it is not a kubeconfig".into()))?;
        let missing = |field: &str| broken(format!("it has no `{field}`"));
        let name = text_of(&read, "current-context").ok_or_else(|| missing("current-context"))?;
        let named = |list: &str, name: Option<String>, part: &str| {
            let items = read.get(list).map(YamlNode::items).unwrap_or_default();
            let found = items.iter().find(|one| name.is_some() && text_of(one, "name") == name);
            found.and_then(|one| one.get(part)).ok_or_else(|| missing(list))
        };
        let context = named("contexts", Some(name), "context")?;
        let cluster = named("clusters", text_of(context, "cluster"), "cluster")?;
        let user = named("users", text_of(context, "user"), "user")?;
        let field = |field: &str| text_of(user, field).ok_or_else(|| missing(field));
        Ok(Self {
            server: text_of(cluster, "server").unwrap_or_default(),
            authority: text_of(cluster, "certificate-authority-data"),
            certificate: field("client-certificate-data")?,
            key: Zeroizing::new(field("client-key-data")?),
        })
    }
}

fn text_of(node: &YamlNode, field: &str) -> Option<String> {
    node.get(field).filter(|value| !value.is_null()).and_then(YamlNode::text).map(str::to_owned)
}

fn certificates(field: &str, data: Option<&str>) -> Result<Vec<Certificate>, ApiError> {
    let broken = |problem: &str| ApiError::Kubeconfig { problem: format!("`{field}` {problem}") };
    let pem =
        STANDARD.decode(data.ok_or_else(|| broken("is missing"))?).map_err(|_| broken("is not base64"))?;
    let pem = String::from_utf8(pem).map_err(|_| broken("is not PEM"))?;
    Certificate::chain_from_pem(&pem).map_err(|error| broken(&format!("cannot be read: {error}")))
}

/// The host of `https://api.ocp4.example.com:6443`.
fn server_name(server: &str) -> Result<ServerName<'static>, ApiError> {
    let host = server.strip_prefix("https://").map(|rest| rest.split('/').next().unwrap_or(rest));
    let host = host.and_then(|rest| match rest.strip_prefix('[') {
        Some(rest) => rest.split(']').next(),
        None => rest.split(':').next(),
    });
    host.and_then(|host| ServerName::try_from(host.to_owned()).ok())
        .ok_or_else(|| ApiError::Kubeconfig { problem: "its `server` is not https://HOST:PORT".into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        connector(text).err().unwrap().to_string()
    }

    #[test]
    fn a_bad_kubeconfig_is_refused_and_not_quoted() {
        let shown = refused("users: [hunter2");
        assert!(shown.ends_with("it is not a kubeconfig") && !shown.contains("hunter2"), "{shown}");
        assert!(refused("{}").ends_with("it has no `current-context`"));
        let text = "{current-context: a, contexts: [{name: a, context: {cluster: a, user: a}}], \
                    clusters: [{name: a, cluster: {server: 'https://a:1'}}], users: [{name: a, user: USER}]}";
        assert!(
            refused(&text.replace("USER", "{token: hunter2}"))
                .ends_with("it has no `client-certificate-data`")
        );
        let user = "{client-certificate-data: aaaa, client-key-data: hunter2}";
        assert!(refused(&text.replace("USER", user)).ends_with("`certificate-authority-data` is missing"));
    }

    #[test]
    fn the_server_name_is_the_host_of_the_url() {
        let name = |server: &str| server_name(server).ok().map(|name| name.to_str().into_owned());
        assert_eq!(name("https://api.ocp4.example.com:6443").as_deref(), Some("api.ocp4.example.com"));
        assert_eq!(name("https://[fd00::1]:6443/x").as_deref(), Some("fd00::1"));
        assert_eq!(name("http://api.ocp4.example.com:6443"), None);
        assert_eq!(name("https://:6443"), None);
    }
}
