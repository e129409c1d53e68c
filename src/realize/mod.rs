//! From a closure to machines on libvirt: what is wanted, what is there, and what lies between.
//!
//! | module | what it owns |
//! |---|---|
//! | `virsh` | the one way to libvirt: a program, any connection (`qemu:///system`, `qemu+ssh://host/system`) |
//! | `xml` | libvirt's XML, and ours looked for in it |
//! | [`wanted`] | what the closure asks for |
//! | [`host`] | what is on the host, looked at and never remembered |
//! | [`plan`] | the difference as steps, each with its reason; what needs root; what stands in the way |
//!
//! Invariant: what is ours is known by its UUID, which comes out of the seed, and machines by their mark besides. Nothing
//! else is ever changed: an object of the same name that is not ours is an obstacle.

pub mod host;
mod obstacles;
pub mod plan;
mod privileged;
mod virsh;
pub mod wanted;
mod xml;

pub use host::Host;
pub use obstacles::Obstacle;
pub use plan::{Action, Plan, Step, Thing};
pub use privileged::{Access, Privileged};
pub use virsh::Virsh;
pub use wanted::{Images, Wanted};

use crate::fs;
use crate::hint::Hint;
use crate::process::ProcessError;

/// The namespace of our mark in a machine's description.
pub const MARK: &str = "urn:tinderbox:node:1";

/// Why the host could not be looked at, or the closure not be understood.
#[derive(Debug, thiserror::Error)]
pub enum RealizeError {
    /// A program could not be run.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// The disk.
    #[error(transparent)]
    Fs(#[from] fs::Error),
    /// Nobody answers at the connection.
    #[error("libvirt is not running at `{uri}`: {words}")]
    NotRunning {
        /// The connection.
        uri: String,
        /// What virsh said.
        words: String,
    },
    /// Somebody answers, and does not let us in.
    #[error("libvirt at `{uri}` does not let you in: {words}")]
    Forbidden {
        /// The connection.
        uri: String,
        /// What virsh said.
        words: String,
    },
    /// There is no way to it.
    #[error("libvirt at `{uri}` cannot be reached: {words}")]
    Unreachable {
        /// The connection.
        uri: String,
        /// What virsh said.
        words: String,
    },
    /// virsh could not do something.
    #[error("`virsh {command}` failed: {words}")]
    Failed {
        /// What was asked of it.
        command: String,
        /// What it said.
        words: String,
    },
    /// What libvirt or an artifact says is no XML.
    #[error("{what} is not XML")]
    Xml {
        /// What it describes.
        what: String,
        /// Why not.
        source: roxmltree::Error,
    },
    /// An artifact that does not say what it must.
    #[error("`{file}` has no {missing}")]
    Artifact {
        /// Which.
        file: String,
        /// What it lacks.
        missing: &'static str,
    },
    /// The host changed while it was looked at.
    #[error("libvirt's list of {what} changed while it was read")]
    Moving {
        /// Of what.
        what: &'static str,
    },
}

impl Hint for RealizeError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Process(error) => error.hint(),
            Self::Fs(error) => error.hint(),
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
            Self::Failed { .. } | Self::Xml { .. } => None,
        }
    }
}
