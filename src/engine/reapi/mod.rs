//! The Remote Execution API, version 2, as a client: what farms and remote caches speak (Buildbarn, BuildBuddy, NativeLink,
//! bazel-remote, BuildGrid, buildbox). Calls block; asynchronous code stays in here, on a small runtime that every
//! [`Client`] owns.
//!
//! | module | responsibility |
//! |---|---|
//! | `digest` | what blobs are called: SHA-256, or BLAKE3 where the server offers it |
//! | `capabilities` | what the server can do, asked once |
//! | `blobs` | the content-addressable storage, in batches |
//! | `streams` | the same for what no batch can hold |
//! | `actions` | the action cache |
//! | `execution` | actions that the server executes |
//! | `failure` | statuses as errors that say what to do |

mod actions;
mod blobs;
mod capabilities;
mod digest;
mod execution;
mod failure;
mod streams;

use std::fmt;
use std::sync::OnceLock;
use std::time::Duration;

pub(crate) use bazel_remote_apis::build::bazel::remote::execution::v2 as proto;
pub(crate) use bazel_remote_apis::google::protobuf::{Any, Duration as ProtoDuration};
use prost::Message;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint};
use tonic::{Request, Response, Status};

pub(crate) use blobs::PER_BLOB;
pub(crate) use capabilities::Capabilities;
pub(crate) use digest::{Blob, BlobHasher, DigestFunction};
pub(crate) use execution::{ExecutionLimits, output_file};

use super::registry::{Access, Pace, RegistryError, basic, until};

type Result<T, E = RegistryError> = std::result::Result<T, E>;

/// Threads of the runtime. They wait for the network; hashing and packing happen on the callers' threads.
const THREADS: usize = 2;

/// What servers list in their logs.
const USER_AGENT: &str = concat!("tinderbox/", env!("CARGO_PKG_VERSION"));

/// Who asks, as the API wants to know it.
const METADATA: &str = "build.bazel.remote.execution.v2.requestmetadata-bin";

/// One instance of a server.
pub(crate) struct Client {
    channel: Channel,
    /// `host:port`.
    place: String,
    instance: String,
    access: Access,
    authorization: Option<MetadataValue<Ascii>>,
    metadata: MetadataValue<tonic::metadata::Binary>,
    capabilities: OnceLock<Capabilities>,
    /// Taken only on drop.
    runtime: Option<tokio::runtime::Runtime>,
    handle: tokio::runtime::Handle,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("place", &self.place)
            .field("instance", &self.instance)
            .finish_non_exhaustive()
    }
}

/// Streams may be abandoned in the middle; do not wait for them.
impl Drop for Client {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Client {
    /// Prepares everything, but does not connect yet. Credentials are sent only over TLS.
    pub(crate) fn new(place: &str, instance: &str, tls: bool, access: Access) -> Result<Self> {
        let wrong = |problem: String| RegistryError::Access { problem };
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(THREADS)
            .thread_name("reapi")
            .enable_all()
            .build()
            .map_err(|error| wrong(format!("cannot start network threads: {error}")))?;
        let handle = runtime.handle().clone();
        let scheme = if tls { "https" } else { "http" };
        let broken = |error| wrong(format!("cannot set up TLS: {}", crate::base::hint::chain(&error)));
        let endpoint = Endpoint::from_shared(format!("{scheme}://{place}")).map_err(broken)?;
        let mut endpoint =
            endpoint.user_agent(USER_AGENT).map_err(broken)?.connect_timeout(access.patience.connect);
        if tls {
            let _ = rustls::crypto::ring::default_provider().install_default();
            let own = access.ca.as_ref().map(Certificate::from_pem);
            let config = ClientTlsConfig::new().with_native_roots().ca_certificates(own);
            endpoint = endpoint.tls_config(config).map_err(broken)?;
        }
        let authorization = match access.pull_secret.as_ref().filter(|_| tls) {
            Some(secret) => basic(secret, place, instance)?,
            None => None,
        };
        let authorization = authorization.and_then(|text| {
            let mut value = MetadataValue::try_from(text.reveal_text()?).ok()?;
            value.set_sensitive(true);
            Some(value)
        });
        let _in_runtime = handle.enter();
        Ok(Self {
            channel: endpoint.connect_lazy(),
            place: place.to_owned(),
            instance: instance.to_owned(),
            access,
            authorization,
            metadata: MetadataValue::from_bytes(&who().encode_to_vec()),
            capabilities: OnceLock::new(),
            runtime: Some(runtime),
            handle: handle.clone(),
        })
    }

    /// A message with what every request carries.
    fn request<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        if let Some(value) = &self.authorization {
            request.metadata_mut().insert("authorization", value.clone());
        }
        request.metadata_mut().insert_bin(METADATA, self.metadata.clone());
        request
    }

    /// Blocks until the work is done, or the user cancels.
    fn wait<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        self.handle.block_on(until(&self.access.cancel, work)).unwrap_or(Err(RegistryError::Interrupted))
    }

    /// A call's answer within the time that a whole document may take.
    fn call<T>(
        &self,
        what: &str,
        call: impl Future<Output = std::result::Result<Response<T>, Status>>,
    ) -> Result<T> {
        self.call_within(self.access.patience.whole, what, call)
    }

    fn call_within<T>(
        &self,
        limit: Duration,
        what: &str,
        call: impl Future<Output = std::result::Result<Response<T>, Status>>,
    ) -> Result<T> {
        self.wait(async {
            match tokio::time::timeout(limit, call).await {
                Ok(Ok(answer)) => Ok(answer.into_inner()),
                Ok(Err(status)) => Err(self.failure(what, &status)),
                Err(_) => Err(self.unreachable(what, format!("no answer within {} s", limit.as_secs_f32()))),
            }
        })
    }
}

fn who() -> proto::RequestMetadata {
    proto::RequestMetadata {
        tool_details: Some(proto::ToolDetails {
            tool_name: env!("CARGO_PKG_NAME").to_owned(),
            tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        }),
        ..Default::default()
    }
}
