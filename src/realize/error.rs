//! What can go wrong on the way to a cluster, in words that say what to do.

use std::time::Duration;

use super::live::Check;
use super::obstacles::Obstacle;
use super::ssh::ReachError;
use crate::base::fs;
use crate::base::hint::Hint;
use crate::base::process::ProcessError;
use crate::realize::api::ApiError;

/// Why the host could not be looked at, or the closure not be understood.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RealizeError {
    /// A program could not be run.
    #[error(transparent)]
    Process(#[from] ProcessError),
    #[error(transparent)]
    Api(#[from] ApiError),
    #[error(transparent)]
    Fs(#[from] fs::Error),
    /// A node was not reached.
    #[error(transparent)]
    Reach(#[from] ReachError),
    /// Nobody answers at the connection.
    #[error("libvirt is not running at `{uri}`: {words}")]
    NotRunning { uri: String, words: String },
    /// Somebody answers, and does not let us in.
    #[error("libvirt at `{uri}` does not let you in: {words}")]
    Forbidden { uri: String, words: String },
    /// There is no way to it.
    #[error("libvirt at `{uri}` cannot be reached: {words}")]
    Unreachable { uri: String, words: String },
    /// virsh could not do something.
    #[error("`virsh {command}` failed: {words}")]
    Failed {
        /// What was asked of it.
        command: String,
        words: String,
    },
    /// What libvirt or an artifact says is no XML.
    #[error("{what} is not XML")]
    Xml { what: String, source: roxmltree::Error },
    /// An artifact that does not say what it must.
    #[error("`{file}` has no {missing}")]
    Artifact { file: String, missing: &'static str },
    /// Things that stand in the way.
    #[error("{} in the way, and nothing was changed", if obstacles.len() == 1 { "something stands" } else { "several things stand" })]
    Obstacles { obstacles: Vec<Obstacle> },
    /// Disks that would be lost, and nobody agreed to that.
    #[error("what is on {} would be lost: `{}`", if disks.len() == 1 { "this disk" } else { "these disks" }, disks.join("`, `"))]
    Confirm { disks: Vec<String> },
    /// Somebody else is at work.
    #[error("another `tinderbox realize` is changing this cluster's machines (`{}` is locked)", path.display())]
    Busy { path: std::path::PathBuf },
    /// Something that only root may do.
    #[error("{what} needs root")]
    NeedsRoot {
        what: &'static str,
        /// Commands for the user.
        commands: Vec<String>,
    },
    /// A network that has to be started anew while machines are in it.
    #[error("the network `{name}` has to be started anew, and machines are in it: `{}`", machines.join("`, `"))]
    InUse { name: String, machines: Vec<String> },
    /// A file that is to be brought and is not here.
    #[error("`{name}` cannot be brought: its content is not on this machine")]
    NoSource {
        /// Its name in the pool.
        name: String,
    },
    /// An image that is not the pinned one.
    #[error("`{path}` is not the image that the lock pins: its sha256 is {found}, not {expected}")]
    OtherImage {
        path: String,
        /// What the lock says.
        expected: String,
        found: String,
    },
    #[error("the load balancer cannot be changed: {words}")]
    Balancer { words: String },
    #[error("`firewall.sh {verb}` failed: {words}")]
    Firewall {
        /// What was asked of it.
        verb: String,
        words: String,
    },
    /// Nodes that have not come.
    #[error("after {seconds} s there {} missing:\n  {}", if missing.len() == 1 { "is something" } else { "are things" }, missing.join("\n  "))]
    Absent {
        /// What each of them lacks.
        missing: Vec<String>,
        /// How long was waited.
        seconds: u64,
    },
    /// Something that did not come in time.
    #[error("{what}: not within {}; seen last: {seen}", minutes(*limit))]
    Late {
        /// What was waited for.
        what: String,
        limit: Duration,
        /// What there was instead.
        seen: String,
        /// A command to look further with.
        look: String,
    },
    /// A check of the smoke test that has seen something else.
    #[error("{seen}")]
    Seen { seen: String },
    #[error("the cluster is not as it should be: {}", failed(checks))]
    Verify { checks: Vec<Check> },
    /// The host changed while it was looked at.
    #[error("libvirt's list of {what} changed while it was read")]
    Moving { what: &'static str },
}

/// A limit as people say it.
pub(super) fn minutes(limit: Duration) -> String {
    match limit.as_secs() {
        seconds if seconds < 120 => format!("{seconds} seconds"),
        seconds => format!("{} minutes", seconds / 60),
    }
}

/// What failed, in one line.
fn failed(checks: &[Check]) -> String {
    let failed = checks.iter().filter(|check| !check.passed);
    failed.map(|check| format!("{}: {}", check.name, check.detail)).collect::<Vec<_>>().join("; ")
}

impl Hint for RealizeError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Process(error) => error.hint(),
            Self::Fs(error) => error.hint(),
            Self::Api(error) => error.hint(),
            Self::Absent { .. } => {
                Some("`tinderbox realize logs NODE` shows what a node wrote to its console; run this again to go on".into())
            }
            Self::Late { look, .. } => Some(format!(
                "look with `{look}`, or collect everything with `tinderbox realize gather`; `tinderbox realize apply` goes on \
                 from here"
            )),
            Self::Verify { .. } => {
                Some("`tinderbox realize status` shows nodes and operators; `--phase verify` tries again".into())
            }
            Self::Reach(error) => error.hint(),
            Self::NotRunning { .. } => Some(
                "start it (`sudo systemctl start libvirtd`, or `sudo libvirtd -d` where there is no systemd), or set \
                 `libvirt.uri` in cluster.yaml"
                    .into(),
            ),
            Self::Forbidden { .. } => Some(
                "become a member of the group `libvirt` (`sudo usermod -aG libvirt $USER`, then log in again), or use \
                 `qemu:///session` in cluster.yaml"
                    .into(),
            ),
            Self::Unreachable { uri, .. } => Some(format!("try `virsh -c {uri} list`")),
            Self::Artifact { .. } => {
                Some("a recipe of yours makes it: the built-in one in `recipes/70-infra` shows what it must have".into())
            }
            Self::Moving { .. } => Some("run it again".into()),
            Self::Confirm { .. } => Some("`--yes` agrees to that; `tinderbox realize plan` says why".into()),
            Self::Busy { .. } => Some("wait until it has ended".into()),
            Self::NeedsRoot { commands, .. } => {
                Some(format!("run this, and then `tinderbox realize apply` again:\n  {}", commands.join("\n  ")))
            }
            Self::InUse { .. } => Some("shut them down first; they are started again afterwards".into()),
            Self::OtherImage { .. } => {
                Some("`tinderbox lock --update rhcos` pins the one that is there; nodes are then made again".into())
            }
            Self::Obstacles { .. }
            | Self::NoSource { .. }
            | Self::Balancer { .. }
            | Self::Firewall { .. }
            | Self::Failed { .. }
            | Self::Seen { .. }
            | Self::Xml { .. } => None,
        }
    }
}
