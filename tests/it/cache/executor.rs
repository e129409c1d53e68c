//! What executes on the farm of the tests' own: stages the input tree of an action, runs its command there, and keeps what it left.
//! As told, it does so badly.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::pin::Pin;
use std::process::Command;

use bazel_remote_apis::build::bazel::remote::execution::v2 as re;
use bazel_remote_apis::google::longrunning::operations_server::Operations;
use bazel_remote_apis::google::longrunning::{self as lr, Operation, operation};
use bazel_remote_apis::google::protobuf::{Any, Empty};
use futures_util::{Stream, StreamExt as _, stream};
use prost::Message as _;
use re::execution_server::Execution;
use tonic::{Request, Response, Status};

use super::farm::{Content, Service};

type Streamed = Pin<Box<dyn Stream<Item = Result<Operation, Status>> + Send>>;

/// How it executes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Manners {
    #[default]
    Well,
    /// Not for us.
    Refuses,
    /// The stream breaks in the middle, and can be taken up again.
    Breaks,
    /// The stream breaks in the middle, and nobody knows the operation any more.
    Forgets,
    /// The worker is killed.
    Kills,
    /// Another output, and a report that does not fit it.
    Lies,
    /// The result of whatever was executed first.
    Confuses,
    /// Half of the output, under the digest of all of it.
    Truncates,
    /// A result without outputs.
    LosesAll,
    /// It begins, and never ends.
    Hangs,
}

/// An operation's result, by the operation's name.
pub(super) type Finished = BTreeMap<String, re::ExecuteResponse>;

/// Larger files are written once, as farms do it.
const LARGE: usize = 1 << 20;

fn stage(content: &Content, digest: &re::Digest, to: &Path, kept: &Path) {
    std::fs::create_dir_all(to).unwrap();
    let directory = re::Directory::decode(&content.blobs[&digest.hash][..]).unwrap();
    let names = |all: Vec<&str>| assert!(all.is_sorted(), "not canonical: {all:?}");
    names(directory.files.iter().map(|node| &*node.name).collect());
    names(directory.directories.iter().map(|node| &*node.name).collect());
    for node in &directory.files {
        let path = to.join(&node.name);
        let hash = &node.digest.as_ref().unwrap().hash;
        let bytes = &content.blobs[hash];
        let mode = if node.is_executable { 0o555 } else { 0o444 };
        let write = |path: &Path| {
            std::fs::write(path, bytes).unwrap();
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        if bytes.len() < LARGE {
            write(&path);
            continue;
        }
        let shared = kept.join(format!("{hash}-{mode:o}"));
        if !shared.exists() {
            write(&shared);
        }
        std::fs::hard_link(&shared, &path).unwrap();
    }
    for node in &directory.symlinks {
        std::os::unix::fs::symlink(&node.target, to.join(&node.name)).unwrap();
    }
    for node in &directory.directories {
        stage(content, node.digest.as_ref().unwrap(), &to.join(&node.name), kept);
    }
}

impl Service {
    fn execute_action(&self, digest: &re::Digest) -> re::ActionResult {
        let dir = tempfile::tempdir().unwrap();
        let manners = self.content().manners;
        let (action, command) = {
            let content = self.content();
            let action = re::Action::decode(&content.blobs[&digest.hash][..]).unwrap();
            let root = action.input_root_digest.clone().unwrap();
            stage(&content, &root, dir.path(), self.kept.path());
            let command = &content.blobs[&action.command_digest.as_ref().unwrap().hash];
            let command = re::Command::decode(&command[..]).unwrap();
            (action, command)
        };
        let mut run = Command::new(dir.path().join(&command.arguments[0]));
        run.args(&command.arguments[1..]).current_dir(dir.path()).env_clear();
        let ended = loop {
            match run.output() {
                // Another test's process still has the file open that was just written.
                Err(error) if error.kind() == std::io::ErrorKind::ExecutableFileBusy => {}
                ended => break ended.unwrap(),
            }
        };
        let mut result = re::ActionResult {
            exit_code: if manners == Manners::Kills { 137 } else { ended.status.code().unwrap_or(137) },
            stderr_raw: ended.stderr,
            ..Default::default()
        };
        for path in &command.output_paths {
            let Ok(mut bytes) = std::fs::read(dir.path().join(path)) else { continue };
            if manners == Manners::Lies && path.ends_with(".tar") {
                // The first file's content begins after its header.
                bytes[512] ^= 1;
            }
            let hash = self.hash(&bytes);
            let size_bytes = bytes.len() as i64;
            if manners == Manners::Truncates && path.ends_with(".tar") {
                bytes.truncate(bytes.len() / 2);
            }
            self.content().blobs.insert(hash.clone(), bytes);
            let digest = Some(re::Digest { hash, size_bytes });
            result.output_files.push(re::OutputFile { path: path.clone(), digest, ..Default::default() });
        }
        let mut content = self.content();
        content.executed.push(action);
        match manners {
            Manners::LosesAll => result.output_files.clear(),
            Manners::Confuses => result = content.first.get_or_insert(result).clone(),
            _ => {}
        }
        result
    }

    fn operation(name: &str, response: Option<re::ExecuteResponse>) -> Operation {
        let metadata = re::ExecuteOperationMetadata {
            stage: re::execution_stage::Value::Executing.into(),
            ..Default::default()
        };
        let any = |type_url: &str, value| Any { type_url: type_url.to_owned(), value };
        Operation {
            name: name.to_owned(),
            metadata: Some(any("ExecuteOperationMetadata", metadata.encode_to_vec())),
            done: response.is_some(),
            result: response.map(|response| {
                operation::Result::Response(any("ExecuteResponse", response.encode_to_vec()))
            }),
        }
    }
}

#[tonic::async_trait]
impl Execution for Service {
    type ExecuteStream = Streamed;
    type WaitExecutionStream = Streamed;

    async fn execute(&self, request: Request<re::ExecuteRequest>) -> Result<Response<Streamed>, Status> {
        let request = request.into_inner();
        let manners = {
            let content = self.asked("Execute", &request.instance_name, request.digest_function)?;
            content.manners
        };
        if manners == Manners::Refuses {
            return Err(Status::permission_denied("not for you"));
        }
        let digest = request.action_digest.unwrap();
        let name = format!("operations/{}", digest.hash);
        if manners == Manners::Hangs {
            let begun = stream::iter([Ok(Self::operation(&name, None))]);
            return Ok(Response::new(Box::pin(begun.chain(stream::pending()))));
        }
        let service = self.clone();
        let result = tokio::task::spawn_blocking(move || service.execute_action(&digest)).await;
        let result = result.map_err(|error| Status::invalid_argument(error.to_string()))?;
        let response = re::ExecuteResponse { result: Some(result), ..Default::default() };
        let mut said = vec![Ok(Self::operation(&name, None))];
        match manners {
            Manners::Breaks => {
                self.content().operations.insert(name, response);
                said.push(Err(Status::unavailable("the stream broke")));
            }
            Manners::Forgets => said.push(Err(Status::unavailable("the stream broke"))),
            _ => said.push(Ok(Self::operation(&name, Some(response)))),
        }
        Ok(Response::new(Box::pin(stream::iter(said))))
    }

    async fn wait_execution(
        &self,
        request: Request<re::WaitExecutionRequest>,
    ) -> Result<Response<Streamed>, Status> {
        let name = request.into_inner().name;
        let mut content = self.content();
        *content.requests.entry("WaitExecution").or_default() += 1;
        let known = content.operations.remove(&name).ok_or_else(|| Status::not_found("no such operation"))?;
        Ok(Response::new(Box::pin(stream::iter([Ok(Self::operation(&name, Some(known)))]))))
    }
}

#[tonic::async_trait]
impl Operations for Service {
    async fn cancel_operation(
        &self,
        _: Request<lr::CancelOperationRequest>,
    ) -> Result<Response<Empty>, Status> {
        *self.content().requests.entry("CancelOperation").or_default() += 1;
        Ok(Response::new(Empty {}))
    }

    async fn list_operations(
        &self,
        _: Request<lr::ListOperationsRequest>,
    ) -> Result<Response<lr::ListOperationsResponse>, Status> {
        Err(Status::unimplemented("ListOperations"))
    }

    async fn get_operation(
        &self,
        _: Request<lr::GetOperationRequest>,
    ) -> Result<Response<Operation>, Status> {
        Err(Status::unimplemented("GetOperation"))
    }

    async fn delete_operation(
        &self,
        _: Request<lr::DeleteOperationRequest>,
    ) -> Result<Response<Empty>, Status> {
        Err(Status::unimplemented("DeleteOperation"))
    }

    async fn wait_operation(
        &self,
        _: Request<lr::WaitOperationRequest>,
    ) -> Result<Response<Operation>, Status> {
        Err(Status::unimplemented("WaitOperation"))
    }
}
