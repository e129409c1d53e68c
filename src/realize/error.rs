//! What can go wrong on the way to a cluster, and what to do about it.

use std::time::Duration;

use super::obstacles::Obstacle;
use super::phases::SmokeCheck;
use super::preflight::PreflightCheck;
use super::ssh::SshError;
use super::{Phase, ProviderError, RealizePlan};
use crate::base::fs;
use crate::base::hint::Hint;
use crate::base::process::ProcessError;
use crate::realize::api::ApiError;

pub(crate) type Result<T, E = RealizeError> = std::result::Result<T, E>;

#[derive(Debug, thiserror::Error)]
pub(crate) enum RealizeError {
    #[error(transparent)]
    Process(#[from] ProcessError),
    #[error(transparent)]
    Api(#[from] ApiError),
    #[error(transparent)]
    Fs(#[from] fs::Error),
    #[error(transparent)]
    Ssh(#[from] SshError),
    #[error(transparent)]
    Provider(#[from] ProviderError),
    /// An artifact of the closure lacks something that it must have.
    #[error("`{file}` has no {missing}")]
    Artifact { file: String, missing: &'static str },
    /// A phase that was asked for alone.
    #[error("this cluster has no phase `{}`: its only node bootstraps itself", phase.as_str())]
    NoSuchPhase { phase: Phase },
    #[error("{} in the way; nothing was changed", if obstacles.len() == 1 { "an obstacle is" } else { "obstacles are" })]
    Obstacles { obstacles: Vec<Obstacle> },
    /// The user has not agreed to lose these.
    #[error("the content of {} would be lost: `{}`", if disks.len() == 1 { "this disk" } else { "these disks" }, disks.join("`, `"))]
    Confirm { disks: Vec<String> },
    /// The user has not agreed to this.
    #[error("{what}")]
    ConfirmRemoval { what: String },
    #[error("{message}")]
    NotRemovable { message: String, hint: String },
    #[error("`{node}` still has pods after {}: {seen}", minutes(*limit))]
    Undrained { node: String, limit: Duration, seen: String },
    #[error("another `tinderbox realize` is changing this cluster's machines (`{}` is locked)", path.display())]
    Busy { path: std::path::PathBuf },
    #[error("{what} needs root")]
    NeedsRoot {
        what: &'static str,
        /// For the user to run.
        commands: Vec<String>,
    },
    #[error("a boot would fail:\n  {}", lines(checks))]
    Preflight { checks: Vec<PreflightCheck> },
    #[error("the consoles of your own machines are yours: nothing here can read them")]
    NoConsoles,
    #[error("the load balancer cannot be changed: {message}")]
    LoadBalancer { message: String },
    #[error("`firewall.sh {verb}` failed: {message}")]
    Firewall { verb: String, message: String },
    /// Nodes that have not joined in time.
    #[error("still missing after {seconds} s:\n  {}", missing.join("\n  "))]
    Absent {
        /// What each of them lacks.
        missing: Vec<String>,
        seconds: u64,
    },
    /// What the user chose does not ask, or not for what it may have.
    #[error("no request that may be approved asks for `{node}` with the key `{key}`")]
    NoSuchKey { node: String, key: String },
    #[error("timed out after {} waiting for {what}; last seen: {seen}", minutes(*limit))]
    TimedOut {
        what: String,
        limit: Duration,
        seen: String,
        /// A command that shows more.
        look: String,
    },
    /// A check of the smoke test failed.
    #[error("{seen}")]
    Check { seen: String },
    #[error("the cluster does not work as it should: {}", failed(checks))]
    Verify { checks: Vec<SmokeCheck> },
}

impl RealizeError {
    /// Something that only root may do, with the commands of the plan.
    pub(super) fn needs_root(what: &'static str, plan: RealizePlan) -> Self {
        let commands = plan.privileged.into_iter().map(|one| one.command).collect();
        Self::NeedsRoot { what, commands }
    }
}

/// A duration for people.
pub(super) fn minutes(limit: Duration) -> String {
    match limit.as_secs() {
        seconds if seconds < 120 => format!("{seconds} seconds"),
        seconds => format!("{} minutes", seconds / 60),
    }
}

/// What the answers were, one a line.
fn lines(checks: &[PreflightCheck]) -> String {
    let line = |check: &PreflightCheck| format!("{} {}: {}", check.area.as_str(), check.name, check.detail);
    checks.iter().map(line).collect::<Vec<_>>().join("\n  ")
}

/// The failed checks in one line.
fn failed(checks: &[SmokeCheck]) -> String {
    let failed = checks.iter().filter(|check| !check.passed);
    failed.map(|check| format!("{}: {}", check.name, check.detail)).collect::<Vec<_>>().join("; ")
}

impl Hint for RealizeError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Process(error) => return error.hint(),
            Self::Fs(error) => return error.hint(),
            Self::Api(error) => return error.hint(),
            Self::Ssh(error) => return error.hint(),
            Self::Provider(error) => return error.hint(),
            Self::Absent { .. } => {
                "`tinderbox realize logs NODE` shows a node's console; run this again to continue".into()
            }
            Self::NoSuchKey { .. } => {
                "`tinderbox realize approve` lists all requests, and why each is left alone".into()
            }
            Self::TimedOut { look, .. } => format!(
                "look with `{look}`, or collect everything with `tinderbox realize gather`; `tinderbox realize apply` \
                 continues from here"
            ),
            Self::Verify { .. } => {
                "`tinderbox realize status` shows nodes and operators; `--phase verify` tries again".into()
            }
            Self::Artifact { .. } => {
                "a recipe of yours makes it: the built-in one in `recipes/70-infra` shows what it must have"
                    .into()
            }
            Self::NoSuchPhase { .. } => {
                "`--phase control-plane` waits for its API, and until operators have taken over".into()
            }
            Self::Confirm { .. } => "`--yes` agrees to that; `tinderbox realize plan` says why".into(),
            Self::ConfirmRemoval { .. } => "`--yes` agrees to that".into(),
            Self::NotRemovable { hint, .. } => hint.clone(),
            Self::Undrained { .. } => {
                "run it again to continue, with a longer `--timeout`; `oc get poddisruptionbudgets -A` shows what blocks an eviction".into()
            }
            Self::Preflight { .. } => {
                "`tinderbox realize preflight` asks again, and says how to mend each; `--skip-preflight` boots all the same".into()
            }
            Self::NoConsoles => {
                "look at the machine's screen or its BMC; over SSH, `tinderbox realize logs NODE bootkube`, `kubelet` or `all`".into()
            }
            Self::Busy { .. } => "wait until it has finished".into(),
            Self::NeedsRoot { commands, .. } => {
                format!("run this, then `tinderbox realize apply` again:\n  {}", commands.join("\n  "))
            }
            Self::Obstacles { .. }
            | Self::LoadBalancer { .. }
            | Self::Firewall { .. }
            | Self::Check { .. } => return None,
        })
    }
}
