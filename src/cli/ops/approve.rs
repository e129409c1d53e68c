//! `realize approve`: the closure, built if need be, and the API of the cluster that was made from it. libvirt is not asked.

use std::time::Duration;

use time::OffsetDateTime;

use super::{Env, Missing, OpsError, Result, Workspace, build};
use crate::base::fs;
use crate::realize::RealizeError;
use crate::realize::api::Client;
pub(crate) use crate::realize::api::{Endpoint, Stage};
use crate::realize::approve::{ApprovalReport, Approver, NodeIdentity};

/// How requests are approved.
#[derive(Debug, Clone)]
pub(crate) struct ApproveRequest {
    /// Worker threads of a build.
    pub jobs: usize,
    /// Until everything is there, but no longer than this; none for one look.
    pub watch: Option<Duration>,
    /// Where the API is, if it is not at the API's virtual address.
    pub server: Option<Endpoint>,
}

/// Approves requests for certificates of the nodes that we made, and of nobody else.
pub(crate) fn approve(env: Env<'_>, asked: &ApproveRequest) -> Result<ApprovalReport> {
    let workspace = Workspace::load(env, Missing::Make)?;
    let report = build::whole(env, vec!["cluster".to_owned()], asked.jobs)?;
    let closure = report.targets.first().map(|target| target.path.clone());
    let closure = closure.ok_or(OpsError::NotBuilt { target: "cluster".into() })?;
    let nodes = NodeIdentity::read(&closure, &workspace.cluster)?;
    let kubeconfig = fs::read_text(&closure.join("auth/kubeconfig"))?;
    let vip = workspace.cluster.api_vips.first().map(|vip| Endpoint::of(*vip));
    let at = asked.server.clone().or(vip).ok_or(OpsError::Usage {
        message: "cluster.yaml has no `vips.api`".into(),
        advice: Some("`--server HOST:PORT` says where the API is".into()),
    })?;
    let client = Client::new(&kubeconfig, &at, env.cancel).map_err(RealizeError::from)?;
    let approver = Approver { client: &client, nodes: &nodes, events: env.events, now };
    let done = match asked.watch {
        Some(limit) => approver.watch(limit),
        None => approver.once(),
    };
    Ok(done.map_err(RealizeError::from)?)
}

#[expect(clippy::disallowed_methods, reason = "how long a node has been there is counted from now")]
pub(super) fn now() -> OffsetDateTime {
    OffsetDateTime::now_utc()
}
