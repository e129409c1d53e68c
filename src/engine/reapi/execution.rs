//! Execution: an operation is started, watched until it is done, and cancelled when nobody wants its result any more.
//!
//! A stream that breaks is no reason to start over: the operation goes on, and [`Client::execute`] asks for it again by name.

use std::io::Read as _;
use std::time::{Duration, Instant};

use bazel_remote_apis::google::longrunning::operations_client::OperationsClient;
use bazel_remote_apis::google::longrunning::{CancelOperationRequest, Operation, operation};
use prost::Message;
use tonic::{Code, Status, Streaming};

use super::failure::shown;
use super::proto::execution_client::ExecutionClient;
use super::proto::{self, ActionResult, execution_stage};
use super::{Any, Blob, Capabilities, Client, Result};

/// How often a broken stream is taken up again.
const RESUMED: u32 = 3;

/// How long a cancelled operation may take to say so.
const FAREWELL: Duration = Duration::from_secs(1);

/// What is waited for, and for how long.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ExecutionLimits {
    /// Until somebody executes it.
    pub(crate) queued: Duration,
    /// Until it is done, counted from then.
    pub(crate) executing: Duration,
}

/// An operation as far as it is known.
#[derive(Debug, Default)]
struct Progress {
    name: String,
    executing: bool,
}

impl Client {
    /// Executes an action whose blobs are all there. With `fresh`, an earlier result of it does not count.
    pub(crate) fn execute(
        &self,
        can: &Capabilities,
        what: &str,
        action: &Blob,
        fresh: bool,
        limits: ExecutionLimits,
    ) -> Result<ActionResult> {
        let mut progress = Progress::default();
        let done = self.wait(self.watch(can, what, action, fresh, limits, &mut progress));
        if done.is_err() && !progress.name.is_empty() {
            self.cancel(progress.name);
        }
        done
    }

    async fn watch(
        &self,
        can: &Capabilities,
        what: &str,
        action: &Blob,
        fresh: bool,
        limits: ExecutionLimits,
        progress: &mut Progress,
    ) -> Result<ActionResult> {
        let (mut began, mut left) = (Instant::now(), RESUMED);
        let mut stream = self.start(can, what, action, fresh, limits).await?;
        loop {
            let limit = if progress.executing { limits.executing } else { limits.queued };
            let next = tokio::time::timeout(limit.saturating_sub(began.elapsed()), stream.message()).await;
            let status = match next {
                Err(_) if progress.executing => return Err(self.unreachable(what, late("done", limit))),
                Err(_) => return Err(self.unreachable(what, late("executed", limit))),
                Ok(Ok(Some(operation))) => {
                    let was_executing = progress.executing;
                    if let Some(done) = self.seen(what, operation, progress)? {
                        return Ok(done);
                    }
                    if progress.executing && !was_executing {
                        began = Instant::now();
                    }
                    continue;
                }
                Ok(Ok(None)) => Status::unavailable("the stream ended before the operation was done"),
                Ok(Err(status)) => status,
            };
            // Whatever else a status says is the end of the operation, not of the stream.
            let broken =
                matches!(status.code(), Code::Unavailable | Code::Cancelled | Code::Unknown | Code::Internal);
            left = left
                .checked_sub(1)
                .filter(|_| broken && !progress.name.is_empty())
                .ok_or_else(|| self.failure(what, &status))?;
            let message = proto::WaitExecutionRequest { name: progress.name.clone() };
            let mut client = ExecutionClient::new(self.channel.clone());
            let resumed = client.wait_execution(self.request(message));
            stream = self.first(what, self.access.patience.whole, resumed).await?;
        }
    }

    async fn start(
        &self,
        can: &Capabilities,
        what: &str,
        action: &Blob,
        skip_cache_lookup: bool,
        limits: ExecutionLimits,
    ) -> Result<Streaming<Operation>> {
        let message = proto::ExecuteRequest {
            instance_name: self.instance.clone(),
            skip_cache_lookup,
            action_digest: Some(action.to_proto()),
            digest_function: can.function.number(),
            inline_stderr: true,
            ..Default::default()
        };
        let mut client = ExecutionClient::new(self.channel.clone());
        // Some servers answer only when there is something to say.
        self.first(what, limits.queued, client.execute(self.request(message))).await
    }

    async fn first(
        &self,
        what: &str,
        limit: Duration,
        call: impl Future<Output = std::result::Result<tonic::Response<Streaming<Operation>>, Status>>,
    ) -> Result<Streaming<Operation>> {
        match tokio::time::timeout(limit, call).await {
            Ok(Ok(answer)) => Ok(answer.into_inner()),
            Ok(Err(status)) => Err(self.failure(what, &status)),
            Err(_) => Err(self.unreachable(what, late("executed", limit))),
        }
    }

    /// What an operation says; the result, if it is done.
    fn seen(
        &self,
        what: &str,
        operation: Operation,
        progress: &mut Progress,
    ) -> Result<Option<ActionResult>> {
        let Operation { name, metadata, done, result } = operation;
        if !name.is_empty() {
            progress.name = name;
        }
        let metadata = metadata.and_then(|any| proto::ExecuteOperationMetadata::decode(&any.value[..]).ok());
        let executing = i32::from(execution_stage::Value::Executing);
        progress.executing |= metadata.is_some_and(|metadata| metadata.stage >= executing);
        if !done {
            return Ok(None);
        }
        let failed = |code: i32, message: String| self.failure(what, &Status::new(Code::from(code), message));
        let Any { value, .. } = match result {
            Some(operation::Result::Response(response)) => response,
            Some(operation::Result::Error(status)) => return Err(failed(status.code, status.message)),
            None => return Err(self.malformed(what, format!("{} has no result of it", self.place))),
        };
        let response = proto::ExecuteResponse::decode(&value[..])
            .map_err(|_| self.malformed(what, format!("{} answers with something else", self.place)))?;
        if let Some(status) = response.status.filter(|status| status.code != 0) {
            return Err(failed(status.code, status.message));
        }
        let nothing = || self.malformed(what, format!("{} has no result of it", self.place));
        Ok(Some(response.result.ok_or_else(nothing)?))
    }

    /// Nobody waits for it any more. Servers that cannot cancel let it run to its end.
    fn cancel(&self, name: String) {
        let mut client = OperationsClient::new(self.channel.clone());
        let request = self.request(CancelOperationRequest { name });
        let call = async { tokio::time::timeout(FAREWELL, client.cancel_operation(request)).await };
        let _ = self.handle.block_on(call);
    }
}

fn late(what: &str, limit: Duration) -> String {
    format!("not {what} within {} s", limit.as_secs_f32())
}

/// The digest of an output file that an action left.
pub(crate) fn output_file(result: &ActionResult, path: &str) -> Option<Blob> {
    let file = result.output_files.iter().find(|file| file.path == path)?;
    Blob::from_proto(file.digest.as_ref())
}

/// Longer messages are not fetched.
const LONGEST: u64 = 64 << 10;

impl Client {
    /// What an action said when it failed: shortened, on one line.
    pub(crate) fn last_words(&self, can: &Capabilities, result: &ActionResult) -> String {
        let blob = Blob::from_proto(result.stderr_digest.as_ref());
        let Some(blob) = blob.filter(|blob| result.stderr_raw.is_empty() && blob.size <= LONGEST) else {
            return shown(&String::from_utf8_lossy(&result.stderr_raw));
        };
        let mut bytes = Vec::new();
        match self.read(can, &blob, false).map(|mut from| from.read_to_end(&mut bytes)) {
            Ok(Ok(_)) => shown(&String::from_utf8_lossy(&bytes)),
            _ => String::new(),
        }
    }
}
