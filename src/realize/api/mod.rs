//! A cluster's API: a blocking front of the `kube` crate. Every call has a deadline, and ends when the user cancels.
//!
//! | file | what it owns |
//! |---|---|
//! | `endpoint` | where the API is, apart from its name |
//! | `config` | a connection from a kubeconfig, and from nothing else |
//! | `objects` | objects of any resource, as JSON |
//! | `page` | a page behind the cluster's ingress |
//! | `certificates` | nodes, and certificate signing requests with their approval |
//! | `error` | what can go wrong |
//!
//! Invariants: no environment, file or program is consulted, whatever the kubeconfig says; the server must present the name
//! in the kubeconfig, at whatever address it is.

mod certificates;
mod config;
mod endpoint;
mod error;
mod objects;
mod page;

use std::fmt;
use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

pub(crate) use certificates::{ApiNode, Approval, CertificateRequest, Stage};
pub(crate) use config::user_of;
pub(crate) use endpoint::Endpoint;
pub use error::ApiError;
pub use objects::Gvr;
pub(crate) use page::WebPage;

/// For a connection, TLS included.
const CONNECT: Duration = Duration::from_secs(5);
/// For a request, from its first byte to the answer's last.
const REQUEST: Duration = Duration::from_secs(30);
/// How often a pending call checks for cancellation.
const TICK: Duration = Duration::from_millis(100);

/// A client of one API server. It connects with the first request.
pub struct Client<'a> {
    kube: kube::Client,
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
        let config = config::config(kubeconfig, at)?;
        let broken = |problem: String| ApiError::Kubeconfig { problem };
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("api")
            .enable_all()
            .build()
            .map_err(|error| broken(format!("no thread for the network: {error}")))?;
        // Once per process; a provider that is already installed is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let handle = runtime.handle().clone();
        let entered = handle.enter();
        let kube = kube::Client::try_from(config).map_err(|error| ApiError::of(&at.to_string(), error))?;
        drop(entered);
        Ok(Self { kube, runtime: Some(runtime), handle, server: at.to_string(), cancel })
    }

    pub fn server(&self) -> &str {
        &self.server
    }

    pub(crate) fn cancel(&self) -> &'a AtomicBool {
        self.cancel
    }

    /// Whether the API server reports that it is ready.
    pub fn ready(&self) -> Result<(), ApiError> {
        let client = self.kube.clone();
        let asked = kube::core::Request::new("/readyz").list(&Default::default());
        self.call(async move { client.request_text(asked.map_err(kube::Error::BuildRequest)?).await })
            .map(drop)
    }

    fn check_cancelled(&self) -> Result<(), ApiError> {
        if self.cancel.load(Ordering::Relaxed) { Err(ApiError::Stopped) } else { Ok(()) }
    }

    fn call<T: Send + 'static>(
        &self,
        work: impl Future<Output = kube::Result<T>> + Send + 'static,
    ) -> Result<T, ApiError> {
        self.wait_for(work)?.map_err(|error| ApiError::of(&self.server, error))
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
