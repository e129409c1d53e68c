//! A farm of the tests' own, for what no server that can be installed here has: BLAKE3, compressed blobs, tight limits,
//! metadata that gets lost, and content that rots. What it executes is in `executor`.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bazel_remote_apis::build::bazel::remote::execution::v2 as re;
use bazel_remote_apis::google::bytestream as bs;
use bazel_remote_apis::google::bytestream::byte_stream_server::{ByteStream, ByteStreamServer};
use bazel_remote_apis::google::longrunning::operations_server::OperationsServer;
use bazel_remote_apis::google::rpc;
use futures_util::{Stream, StreamExt as _, stream};
use re::action_cache_server::{ActionCache, ActionCacheServer};
use re::capabilities_server::{Capabilities, CapabilitiesServer};
use re::content_addressable_storage_server::{ContentAddressableStorage, ContentAddressableStorageServer};
use re::execution_server::ExecutionServer;
use sha2::Digest as _;
use tonic::transport::server::{Server, TcpIncoming};
use tonic::{Code, Request, Response, Status, Streaming};

use super::executor::{Finished, Manners};

type Answer<T> = Result<Response<T>, Status>;
type Streamed<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

/// What it can do, and what is wrong with it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Traits {
    pub(super) blake3: bool,
    pub(super) zstd: bool,
    /// 0 is no limit of its own.
    pub(super) batch: i64,
    pub(super) drops_metadata: bool,
    pub(super) read_only: bool,
    pub(super) executes: bool,
    /// Whether trees may have links to absolute paths.
    pub(super) links: bool,
}

#[derive(Debug, Default)]
pub(super) struct Content {
    pub(super) blobs: BTreeMap<String, Vec<u8>>,
    pub(super) results: BTreeMap<String, re::ActionResult>,
    /// What its streams are from now on.
    pub(super) streams: Streams,
    /// Requests by name.
    pub(super) requests: BTreeMap<&'static str, usize>,
    pub(super) manners: Manners,
    /// Actions that were executed.
    pub(super) executed: Vec<re::Action>,
    /// The result of the first.
    pub(super) first: Option<re::ActionResult>,
    pub(super) operations: Finished,
}

/// What a stream of a blob is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Streams {
    #[default]
    Right,
    /// A byte now and then.
    Dripping,
    /// Frames of zstd with nothing in them, for ever.
    Empty,
}

/// A whole frame of no bytes.
const EMPTY_FRAME: [u8; 9] = [0x28, 0xb5, 0x2f, 0xfd, 0x20, 0, 1, 0, 0];

/// Runs until it is dropped.
pub(super) struct Farm {
    pub(super) url: String,
    service: Service,
    runtime: Option<tokio::runtime::Runtime>,
}

impl Drop for Farm {
    fn drop(&mut self) {
        self.runtime.take().unwrap().shutdown_background();
    }
}

#[derive(Clone)]
pub(super) struct Service {
    traits: Traits,
    content: Arc<Mutex<Content>>,
    /// Large files of input trees.
    pub(super) kept: Arc<tempfile::TempDir>,
}

const INSTANCE: &str = "some/instance";

impl Farm {
    pub(super) fn start(traits: Traits) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let kept = Arc::new(tempfile::tempdir().unwrap());
        let service = Service { traits, content: Arc::default(), kept };
        let _in_runtime = runtime.enter();
        let incoming = TcpIncoming::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = incoming.local_addr().unwrap();
        let server = Server::builder()
            .add_service(CapabilitiesServer::new(service.clone()))
            .add_service(ContentAddressableStorageServer::new(service.clone()))
            .add_service(ActionCacheServer::new(service.clone()))
            .add_service(ExecutionServer::new(service.clone()))
            .add_service(OperationsServer::new(service.clone()))
            .add_service(ByteStreamServer::new(service.clone()));
        runtime.spawn(server.serve_with_incoming(incoming));
        drop(_in_runtime);
        Self { url: format!("grpc://{address}/{INSTANCE}"), service, runtime: Some(runtime) }
    }

    pub(super) fn content(&self) -> MutexGuard<'_, Content> {
        self.service.content()
    }
}

impl Service {
    pub(super) fn content(&self) -> MutexGuard<'_, Content> {
        self.content.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a request, which must be for this instance and name the digest function where that matters.
    pub(super) fn asked(
        &self,
        what: &'static str,
        instance: &str,
        function: i32,
    ) -> Result<MutexGuard<'_, Content>, Status> {
        if instance != INSTANCE {
            return Err(Status::not_found("no such instance"));
        }
        let own = self.function();
        if function != own && (function != 0 || self.traits.blake3) {
            return Err(Status::invalid_argument("another digest function"));
        }
        let mut content = self.content();
        *content.requests.entry(what).or_default() += 1;
        Ok(content)
    }

    fn function(&self) -> i32 {
        use re::digest_function::Value;
        if self.traits.blake3 { Value::Blake3.into() } else { Value::Sha256.into() }
    }

    pub(super) fn hash(&self, bytes: &[u8]) -> String {
        match self.traits.blake3 {
            true => blake3::hash(bytes).to_hex().to_string(),
            false => data_encoding::HEXLOWER.encode(&sha2::Sha256::digest(bytes)),
        }
    }

    fn links(&self) -> re::symlink_absolute_path_strategy::Value {
        use re::symlink_absolute_path_strategy::Value;
        if self.traits.links { Value::Allowed } else { Value::Disallowed }
    }

    fn limit(&self) -> usize {
        if self.traits.batch == 0 { 4 << 20 } else { usize::try_from(self.traits.batch).unwrap() }
    }

    /// Hash and size in a stream's name, and whether it is compressed.
    fn blob_of(&self, resource: &str) -> Result<(String, usize, bool), Status> {
        let wrong = || Status::invalid_argument(format!("not a resource: {resource}"));
        let rest =
            resource.strip_prefix(INSTANCE).and_then(|rest| rest.strip_prefix('/')).ok_or_else(wrong)?;
        let rest = match rest.strip_prefix("uploads/") {
            Some(upload) => upload.split_once('/').filter(|(id, _)| id.len() == 36).ok_or_else(wrong)?.1,
            None => rest,
        };
        let (rest, zstd) = match rest.strip_prefix("compressed-blobs/zstd/") {
            Some(rest) if self.traits.zstd => (rest, true),
            _ => (rest.strip_prefix("blobs/").ok_or_else(wrong)?, false),
        };
        let rest = if self.traits.blake3 { rest.strip_prefix("blake3/").ok_or_else(wrong)? } else { rest };
        let (hash, size) = rest.split_once('/').ok_or_else(wrong)?;
        Ok((hash.to_owned(), size.parse().map_err(|_| wrong())?, zstd))
    }
}

fn status(code: Code, message: &str) -> rpc::Status {
    rpc::Status { code: code.into(), message: message.to_owned(), details: Vec::new() }
}

#[tonic::async_trait]
impl Capabilities for Service {
    async fn get_capabilities(
        &self,
        request: Request<re::GetCapabilitiesRequest>,
    ) -> Answer<re::ServerCapabilities> {
        assert!(request.metadata().get_bin("build.bazel.remote.execution.v2.requestmetadata-bin").is_some());
        drop(self.asked("GetCapabilities", &request.get_ref().instance_name, self.function())?);
        let zstd = self.traits.zstd.then(|| re::compressor::Value::Zstd.into());
        let cache = re::CacheCapabilities {
            digest_functions: vec![self.function()],
            action_cache_update_capabilities: Some(re::ActionCacheUpdateCapabilities {
                update_enabled: !self.traits.read_only,
            }),
            max_batch_total_size_bytes: self.traits.batch,
            supported_compressors: zstd.into_iter().collect(),
            symlink_absolute_path_strategy: self.links().into(),
            ..Default::default()
        };
        let execution = re::ExecutionCapabilities {
            digest_function: self.function(),
            exec_enabled: self.traits.executes,
            ..Default::default()
        };
        Ok(Response::new(re::ServerCapabilities {
            cache_capabilities: Some(cache),
            execution_capabilities: Some(execution),
            ..Default::default()
        }))
    }
}

#[tonic::async_trait]
impl ContentAddressableStorage for Service {
    type GetTreeStream = Streamed<re::GetTreeResponse>;
    type GetChunkMappingStream = Streamed<re::GetChunkMappingResponse>;

    async fn find_missing_blobs(
        &self,
        request: Request<re::FindMissingBlobsRequest>,
    ) -> Answer<re::FindMissingBlobsResponse> {
        let request = request.into_inner();
        let content = self.asked("FindMissingBlobs", &request.instance_name, request.digest_function)?;
        let missing =
            request.blob_digests.into_iter().filter(|digest| !content.blobs.contains_key(&digest.hash));
        Ok(Response::new(re::FindMissingBlobsResponse { missing_blob_digests: missing.collect() }))
    }

    async fn batch_update_blobs(
        &self,
        request: Request<re::BatchUpdateBlobsRequest>,
    ) -> Answer<re::BatchUpdateBlobsResponse> {
        let request = request.into_inner();
        let mut content = self.asked("BatchUpdateBlobs", &request.instance_name, request.digest_function)?;
        if request.requests.iter().map(|one| one.data.len()).sum::<usize>() > self.limit() {
            return Err(Status::invalid_argument("more than a batch"));
        }
        let mut responses = Vec::new();
        for one in request.requests {
            let digest = one.digest.unwrap();
            let right = digest.hash == self.hash(&one.data) && digest.size_bytes == one.data.len() as i64;
            let code = if right { Code::Ok } else { Code::InvalidArgument };
            if right {
                content.blobs.insert(digest.hash.clone(), one.data);
            }
            let status = Some(status(code, "its digest"));
            responses.push(re::batch_update_blobs_response::Response { digest: Some(digest), status });
        }
        Ok(Response::new(re::BatchUpdateBlobsResponse { responses }))
    }

    async fn batch_read_blobs(
        &self,
        request: Request<re::BatchReadBlobsRequest>,
    ) -> Answer<re::BatchReadBlobsResponse> {
        let request = request.into_inner();
        let content = self.asked("BatchReadBlobs", &request.instance_name, request.digest_function)?;
        if request.digests.iter().map(|digest| digest.size_bytes as usize).sum::<usize>() > self.limit() {
            return Err(Status::invalid_argument("more than a batch"));
        }
        let read = |digest: re::Digest| {
            let data = content.blobs.get(&digest.hash).cloned();
            let code = if data.is_some() { Code::Ok } else { Code::NotFound };
            re::batch_read_blobs_response::Response {
                digest: Some(digest),
                data: data.unwrap_or_default(),
                status: Some(status(code, "a blob")),
                ..Default::default()
            }
        };
        let responses = request.digests.into_iter().map(read).collect();
        Ok(Response::new(re::BatchReadBlobsResponse { responses }))
    }

    async fn get_tree(&self, _: Request<re::GetTreeRequest>) -> Answer<Self::GetTreeStream> {
        Err(Status::unimplemented("GetTree"))
    }

    async fn split_blob(&self, _: Request<re::SplitBlobRequest>) -> Answer<re::SplitBlobResponse> {
        Err(Status::unimplemented("SplitBlob"))
    }

    async fn get_chunk_mapping(
        &self,
        _: Request<re::GetChunkMappingRequest>,
    ) -> Answer<Self::GetChunkMappingStream> {
        Err(Status::unimplemented("GetChunkMapping"))
    }

    async fn splice_blob(&self, _: Request<re::SpliceBlobRequest>) -> Answer<re::SpliceBlobResponse> {
        Err(Status::unimplemented("SpliceBlob"))
    }

    async fn register_chunk_mapping(
        &self,
        _: Request<Streaming<re::RegisterChunkMappingRequest>>,
    ) -> Answer<re::RegisterChunkMappingResponse> {
        Err(Status::unimplemented("RegisterChunkMapping"))
    }
}

#[tonic::async_trait]
impl ActionCache for Service {
    async fn get_action_result(
        &self,
        request: Request<re::GetActionResultRequest>,
    ) -> Answer<re::ActionResult> {
        let request = request.into_inner();
        let content = self.asked("GetActionResult", &request.instance_name, request.digest_function)?;
        let found = content.results.get(&request.action_digest.unwrap().hash).cloned();
        found.map(Response::new).ok_or_else(|| Status::not_found("no result"))
    }

    /// Believes everything, as bazel-remote can be told to.
    async fn update_action_result(
        &self,
        request: Request<re::UpdateActionResultRequest>,
    ) -> Answer<re::ActionResult> {
        let request = request.into_inner();
        let mut content =
            self.asked("UpdateActionResult", &request.instance_name, request.digest_function)?;
        let mut result = request.action_result.unwrap();
        if self.traits.drops_metadata {
            result.execution_metadata = None;
        }
        content.results.insert(request.action_digest.unwrap().hash, result.clone());
        Ok(Response::new(result))
    }
}

#[tonic::async_trait]
impl ByteStream for Service {
    type ReadStream = Streamed<bs::ReadResponse>;

    async fn read(&self, request: Request<bs::ReadRequest>) -> Answer<Self::ReadStream> {
        let (hash, _, zstd) = self.blob_of(&request.get_ref().resource_name)?;
        let name = if zstd { "Read, compressed" } else { "Read" };
        let content = self.asked(name, INSTANCE, self.function())?;
        let bytes = content.blobs.get(&hash).ok_or_else(|| Status::not_found("no blob"))?;
        match content.streams {
            Streams::Right => {}
            Streams::Dripping => {
                let drip = stream::unfold((), |()| async {
                    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
                    Some((Ok(bs::ReadResponse { data: vec![0] }), ()))
                });
                return Ok(Response::new(Box::pin(drip)));
            }
            Streams::Empty => {
                let data = EMPTY_FRAME.repeat(10_000);
                return Ok(Response::new(Box::pin(
                    stream::repeat(data).map(|data| Ok(bs::ReadResponse { data })),
                )));
            }
        }
        // Two frames: whoever stops after the first has half of it.
        let (one, other) = bytes.split_at(bytes.len() / 2);
        let pack =
            |bytes| ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest);
        let bytes = if zstd { [pack(one), pack(other)].concat() } else { bytes.clone() };
        let chunks: Vec<_> =
            bytes.chunks(100_000).map(|chunk| Ok(bs::ReadResponse { data: chunk.to_vec() })).collect();
        Ok(Response::new(Box::pin(stream::iter(chunks))))
    }

    async fn write(&self, request: Request<Streaming<bs::WriteRequest>>) -> Answer<bs::WriteResponse> {
        let mut request = request.into_inner();
        let (mut resource, mut bytes, mut finished) = (String::new(), Vec::new(), false);
        while let Some(message) = request.message().await? {
            if resource.is_empty() {
                resource = message.resource_name;
            }
            if finished || message.write_offset != bytes.len() as i64 {
                return Err(Status::invalid_argument("not in order"));
            }
            bytes.extend(message.data);
            finished = message.finish_write;
        }
        if !finished {
            return Err(Status::aborted("half a stream"));
        }
        let (hash, size, zstd) = self.blob_of(&resource)?;
        let committed_size = bytes.len() as i64;
        let mut plain = Vec::new();
        match zstd {
            true => {
                drop(ruzstd::decoding::StreamingDecoder::new(&bytes[..]).unwrap().read_to_end(&mut plain))
            }
            false => plain = bytes,
        }
        let name = if zstd { "Write, compressed" } else { "Write" };
        if plain.len() != size || self.hash(&plain) != hash {
            return Err(Status::invalid_argument("its digest"));
        }
        self.asked(name, INSTANCE, self.function())?.blobs.insert(hash, plain);
        Ok(Response::new(bs::WriteResponse { committed_size }))
    }

    async fn query_write_status(
        &self,
        _: Request<bs::QueryWriteStatusRequest>,
    ) -> Answer<bs::QueryWriteStatusResponse> {
        Err(Status::unimplemented("QueryWriteStatus"))
    }
}
