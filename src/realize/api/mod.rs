//! A cluster's API: a blocking client. Every call has an end, and ends when the user wants to stop.
//!
//! | file | what it owns |
//! |---|---|
//! | `endpoint` | where the API is, apart from what it is called |
//! | `config` | a kubeconfig, and nothing else, turned into a connection |
//! | `objects` | any object of any kind, as JSON |
//! | `page` | a page of the cluster's, through its ingress |
//! | `requests` | nodes, and requests for certificates with their approval |
//! | `error` | what can go wrong |
//!
//! Invariants: no environment, no file and no program is consulted, whatever the kubeconfig says; the server is known by the
//! name in the kubeconfig, wherever it is connected to.

mod config;
mod endpoint;
mod error;
mod objects;
mod page;
mod requests;

use std::fmt;
use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::StatusCode;
use http_body_util::{BodyExt as _, Full};
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::{self, connect::HttpConnector};

pub(crate) use config::user_of;
pub(crate) use endpoint::Endpoint;
pub use error::ApiError;
pub use objects::Kind;
pub(crate) use page::Page;
pub(crate) use requests::{Approval, Node, Request, Stage};

/// For a connection, TLS included.
const CONNECT: Duration = Duration::from_secs(5);
/// For a request, from its first byte to the answer's last.
const REQUEST: Duration = Duration::from_secs(30);
/// How often a wait looks whether the user wants to stop.
const LOOK: Duration = Duration::from_millis(100);

type Http = legacy::Client<HttpsConnector<HttpConnector>, Full<Bytes>>;

/// A connection to one API. It connects when it is asked for something.
pub struct Client<'a> {
    http: Http,
    /// Taken out when dropped, and nowhere else.
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

/// Calls that were given up may still wait for an answer; nobody waits for them.
impl Drop for Client<'_> {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl<'a> Client<'a> {
    /// As the user of a kubeconfig, at this place.
    pub fn new(kubeconfig: &str, at: &Endpoint, cancel: &'a AtomicBool) -> Result<Self, ApiError> {
        // Once for the process; a provider that somebody installed before us is as good.
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

    /// Where it connects to.
    pub fn server(&self) -> &str {
        &self.server
    }

    /// Whether the API says that it can be used.
    pub fn ready(&self) -> Result<(), ApiError> {
        self.call(http::Method::GET, "/readyz", &[], None).map(drop)
    }

    /// Waits, or ends early because the user wants to stop.
    pub fn pause(&self, time: Duration) -> Result<(), ApiError> {
        let end = Instant::now() + time;
        loop {
            self.go_on()?;
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            self.handle.block_on(async { tokio::time::sleep(left.min(LOOK)).await });
        }
    }

    fn go_on(&self) -> Result<(), ApiError> {
        if self.cancel.load(Ordering::Relaxed) { Err(ApiError::Stopped) } else { Ok(()) }
    }

    /// Asks the API, and waits for its answer as long as that is allowed.
    fn call(
        &self,
        method: http::Method,
        path: &str,
        query: &[(&str, &str)],
        body: Option<String>,
    ) -> Result<Bytes, ApiError> {
        let broken = |words: &str| ApiError::Answer { server: self.server.clone(), words: words.to_owned() };
        let mut url = reqwest::Url::parse(&format!("https://{}{path}", self.server))
            .map_err(|_| broken("it cannot be asked for this"))?;
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
            .map_err(|_| broken("it cannot be asked for this"))?;
        let client = self.http.clone();
        let answer = self.wait_for(async move {
            let (head, body) = client.request(request).await.map_err(Transport::from)?.into_parts();
            Ok::<_, Transport>((head.status, body.collect().await?.to_bytes()))
        })?;
        match answer {
            Ok((status, body)) if is_error(status) => Err(ApiError::of_status(&self.server, status, &body)),
            Ok((_, body)) => Ok(body),
            Err(error) => Err(ApiError::of_transport(self.server.clone(), &*error)),
        }
    }

    /// Does something over there, and waits for it as long as that is allowed.
    fn wait_for<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, ApiError> {
        self.go_on()?;
        let mut task = self.handle.spawn(async move { tokio::time::timeout(REQUEST, work).await });
        loop {
            let ended = self.handle.block_on(async { tokio::time::timeout(LOOK, &mut task).await });
            match ended {
                Ok(Ok(Ok(done))) => return Ok(done),
                Ok(Ok(Err(_))) => {
                    return Err(ApiError::Silent { server: self.server.clone(), seconds: REQUEST.as_secs() });
                }
                Ok(Err(broken)) => {
                    return Err(ApiError::Answer { server: self.server.clone(), words: broken.to_string() });
                }
                Err(_) => {
                    if let Err(stopped) = self.go_on() {
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
