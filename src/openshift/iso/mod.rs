//! The reserved areas of a RHCOS live ISO: where they are, what they contain, and what to write there.
//!
//! ```text
//! /coreos/igninfo.json    {"file": "images/ignition.img"}: the area for an initrd, optionally with `offset` and
//!                         `length`; in older images it is the whole file
//! /images/ignition.img    256 KiB of zeros, which the boot loader passes to the kernel as an additional initrd
//! /coreos/kargs.json      {"default": "…", "size": 1139, "files": [{"path", "offset", "pad", "end"}]}: the areas for
//!                         kernel arguments, in every boot loader's configuration; each contains the same: the arguments,
//!                         `end` (a line feed), and `pad` (`#`) up to `size`
//! /coreos/features.json   the features of its installer: `installer-config`
//! ```
//!
//! `coreos-installer iso customize` reads and writes the same format. The areas of a fresh image are empty: a
//! customized image is rejected, because its customization would be lost. Images from before features.json (2021) are
//! rejected too: their installer does not read the file that names the node's Ignition config.
//!
//! This module is pure: it reads from any seekable source, and returns the bytes to write, by offset.

mod initrd;
mod install;
mod live;
mod seal;
mod section;
#[cfg(test)]
mod tests;
mod volume;

use std::io;

pub(crate) use initrd::initrd;
pub(crate) use install::{Choice, choosing, installer_arguments, unattended};
pub(crate) use live::Live;
pub(crate) use seal::{RANDOM, seal};
pub(crate) use section::{Form, SECTOR, Section};

use crate::base::hint::Hint;

#[derive(Debug, thiserror::Error)]
pub(crate) enum IsoError {
    #[error("cannot read {what}")]
    Read {
        /// The part that could not be read.
        what: String,
        source: io::Error,
    },
    #[error("it is not an ISO image")]
    NotIso,
    #[error("it is truncated: it has {found} of {expected} bytes")]
    Incomplete {
        /// Bytes according to its header.
        expected: u64,
        /// Actual bytes.
        found: u64,
    },
    /// It contradicts itself.
    #[error("its {what} is malformed: {problem}")]
    Malformed {
        /// The malformed part.
        what: String,
        problem: String,
    },
    /// An ISO image without the reserved areas.
    #[error("it is not a RHCOS live ISO: it has no {missing}")]
    NotLive {
        /// Something that every live ISO has.
        missing: String,
    },
    #[error("it is too old: its installer reads no configuration file")]
    TooOld,
    /// A reserved area is in use.
    #[error("it is customized: its area for {area} is in use")]
    Customized { area: &'static str },
    #[error("its area for {area} has {room} bytes, but {needed} are needed")]
    TooSmall {
        area: &'static str,
        /// In bytes.
        room: u64,
        /// In bytes, compressed.
        needed: u64,
    },
    /// A kernel argument that would become several, or none.
    #[error("`{}` is not a kernel argument", argument.escape_debug())]
    Argument { argument: String },
}

impl Hint for IsoError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::NotIso | Self::NotLive { .. } => {
                Some("set `rhcos.iso` in cluster.yaml to the live ISO of the release, `rhcos-…-live…iso`".into())
            }
            Self::Incomplete { .. } | Self::Malformed { .. } => Some("download it again".into()),
            Self::TooOld => Some("use the live ISO of the release, 4.10 or later".into()),
            Self::Customized { .. } => {
                Some("use the image as downloaded; `coreos-installer iso reset` restores it".into())
            }
            Self::TooSmall { area: live::IGNITION, .. } => Some(
                "this node's Ignition is too large for the ISO; boot the node from the QEMU image with `fw_cfg` instead"
                    .into(),
            ),
            Self::Argument { .. } => Some("use printable ASCII without spaces and `#`".into()),
            Self::Read { .. } | Self::TooSmall { .. } => None,
        }
    }
}

/// Result of this module.
pub(crate) type Result<T> = std::result::Result<T, IsoError>;
