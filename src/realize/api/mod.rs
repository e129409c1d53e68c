//! A cluster's API: a blocking client. Every call has a deadline, and ends when the user cancels.
//!
//! | file | what it owns |
//! |---|---|
//! | `endpoint` | where the API is, apart from its name |
//! | `config` | a connection from a kubeconfig, and from nothing else |
//! | `objects` | objects of any resource, as JSON |
//! | `discovery` | what it serves, and objects of types that are known only at run time |
//! | `presented` | the certificates that it presents |
//! | `page` | a page behind the cluster's ingress |
//! | `pods` | a node's pods, their eviction |
//! | `certificates` | nodes, and certificate signing requests with their approval |
//! | `error` | what can go wrong |
//!
//! Invariants: no environment, file or program is consulted, whatever the kubeconfig says; the server must present the name
//! in the kubeconfig, at whatever address it is.

mod certificates;
mod config;
mod discovery;
mod endpoint;
mod error;
mod objects;
mod page;
mod pods;
mod presented;

use std::fmt;
use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_util::client::legacy;

pub(crate) use certificates::{ApiNode, Approval, CertificateRequest, Stage};
pub(crate) use config::{client_of, endpoint_of};
pub(crate) use discovery::ServedType;
pub(crate) use endpoint::Endpoint;
pub use error::ApiError;
pub use objects::Gvr;
pub(crate) use page::WebPage;
pub(crate) use pods::{ApiPod, Eviction};
pub(crate) use presented::presented;

/// For a connection, TLS included.
const CONNECT: Duration = Duration::from_secs(5);
/// For a request, from its first byte to the answer's last.
const REQUEST: Duration = Duration::from_secs(30);
/// The bytes of an answer: far more than a page of any list has.
const ANSWER: usize = 64 << 20;
/// How often a pending call checks for cancellation.
const TICK: Duration = Duration::from_millis(100);

type Http = legacy::Client<config::Connector, Full<Bytes>>;

/// A client of one API server. It connects with the first request.
pub struct Client<'a> {
    http: Http,
    /// Some until the client is dropped.
    runtime: Option<tokio::runtime::Runtime>,
    handle: tokio::runtime::Handle,
    server: String,
    cancel: &'a AtomicBool,
}

impl fmt::Debug for Client<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("server", &self.server).finish_non_exhaustive()
    }
}

/// Abandoned calls may still be pending: dropping the runtime must not wait for them.
impl Drop for Client<'_> {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl<'a> Client<'a> {
    /// As the user of a kubeconfig, at this endpoint.
    pub fn new(kubeconfig: &str, at: &Endpoint, cancel: &'a AtomicBool) -> Result<Self, ApiError> {
        // Once per process; a provider that is already installed is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let connector = config::connector(kubeconfig)?;
        let broken = |problem: String| ApiError::Kubeconfig { problem };
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("api")
            .enable_all()
            .build()
            .map_err(|error| broken(format!("no thread for the network: {error}")))?;
        let http = legacy::Client::builder(hyper_util::rt::TokioExecutor::new()).build(connector);
        let handle = runtime.handle().clone();
        Ok(Self { http, runtime: Some(runtime), handle, server: at.to_string(), cancel })
    }

    pub fn server(&self) -> &str {
        &self.server
    }

    pub(crate) fn cancel(&self) -> &'a AtomicBool {
        self.cancel
    }

    /// Whether the API server reports that it is ready.
    pub fn ready(&self) -> Result<(), ApiError> {
        self.call(http::Method::GET, "/readyz", &[], None).map(drop)
    }

    fn check_cancelled(&self) -> Result<(), ApiError> {
        if self.cancel.load(Ordering::Relaxed) { Err(ApiError::Stopped) } else { Ok(()) }
    }

    /// Sends a request, and waits for its response until the deadline.
    fn call(
        &self,
        method: http::Method,
        path: &str,
        query: &[(&str, &str)],
        body: Option<String>,
    ) -> Result<Bytes, ApiError> {
        let broken =
            |message: &str| ApiError::Answer { server: self.server.clone(), message: message.to_owned() };
        let mut url = reqwest::Url::parse(&format!("https://{}{path}", self.server))
            .map_err(|_| broken("the request cannot be built"))?;
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        let request = http::Request::builder()
            .method(method)
            .uri(url.as_str())
            .header(http::header::ACCEPT, "application/json, */*")
            .header(http::header::CONTENT_TYPE, "application/json")
            .header(http::header::USER_AGENT, "tinderbox")
            .body(Full::from(body.unwrap_or_default()))
            .map_err(|_| broken("the request cannot be built"))?;
        let client = self.http.clone();
        let answer = self.wait_for(async move {
            let (head, body) = client.request(request).await.map_err(Transport::from)?.into_parts();
            Ok::<_, Transport>((head.status, Limited::new(body, ANSWER).collect().await?.to_bytes()))
        })?;
        match answer {
            Ok((status, body)) if is_error(status) => Err(ApiError::of_status(&self.server, status, &body)),
            Ok((_, body)) => Ok(body),
            Err(error) => Err(ApiError::of_transport(self.server.clone(), &*error)),
        }
    }

    /// Runs a future on the client's thread, with its deadline.
    fn wait_for<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, ApiError> {
        self.check_cancelled()?;
        let mut task = self.handle.spawn(async move { tokio::time::timeout(REQUEST, work).await });
        loop {
            let ended = self.handle.block_on(async { tokio::time::timeout(TICK, &mut task).await });
            match ended {
                Ok(Ok(Ok(done))) => return Ok(done),
                Ok(Ok(Err(_))) => {
                    return Err(ApiError::Silent { server: self.server.clone(), seconds: REQUEST.as_secs() });
                }
                Ok(Err(broken)) => {
                    return Err(ApiError::Answer {
                        server: self.server.clone(),
                        message: broken.to_string(),
                    });
                }
                Err(_) => {
                    if let Err(stopped) = self.check_cancelled() {
                        task.abort();
                        return Err(stopped);
                    }
                }
            }
        }
    }
}

/// Whatever kept a request from being answered.
type Transport = Box<dyn std::error::Error + Send + Sync>;

fn is_error(status: StatusCode) -> bool {
    status.is_client_error() || status.is_server_error()
}
