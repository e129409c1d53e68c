//! A RHCOS live ISO's reserved areas: where they are, what they hold, and what to write there. Nothing else is touched.
//!
//! ```text
//! /coreos/igninfo.json    {"file": "images/ignition.img"}: the area for an initrd, perhaps with `offset` and `length`;
//!                         in older images it is that file
//! /images/ignition.img    256 KiB of zeros, which the boot loader hands to the kernel as one more initrd
//! /coreos/kargs.json      {"default": "…", "size": 1139, "files": [{"path", "offset", "pad", "end"}]}: the areas for
//!                         kernel arguments, in every boot loader's configuration; each holds the same: the arguments,
//!                         `end` (a line feed), and `pad` (`#`) up to `size`
//! /coreos/features.json   what the installer in it can do: `installer-config`
//! ```
//!
//! It is the format that `coreos-installer iso customize` reads and writes. The areas of a fresh image are empty: one that
//! somebody has written to is refused, because what it says would be lost. Images from before features.json (2021) are
//! refused too: their installer does not read the file that names the node's Ignition.
//!
//! This module is pure: it reads from whatever can be read and sought, and answers with the bytes to write, by offset.

mod initrd;
mod install;
mod live;
#[cfg(test)]
mod tests;
mod volume;

use std::io;

pub(crate) use initrd::initrd;
pub(crate) use install::unattended;
pub(crate) use live::Live;

use crate::base::hint::Hint;

/// Why an image cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum IsoError {
    /// It cannot be read.
    #[error("cannot read {what}")]
    Read {
        /// Which part of it.
        what: String,
        /// What the system said.
        source: io::Error,
    },
    /// It is no ISO 9660 image.
    #[error("it is not an ISO image")]
    NotIso,
    /// Its end is missing.
    #[error("it is cut short: it has {found} bytes of {expected}")]
    Incomplete {
        /// Bytes that it says it has.
        expected: u64,
        /// Bytes that are there.
        found: u64,
    },
    /// It says something about itself that cannot be.
    #[error("its {what} cannot be understood: {problem}")]
    Malformed {
        /// Which part of it.
        what: String,
        problem: String,
    },
    /// An ISO image without the reserved areas.
    #[error("it is not a RHCOS live ISO: it has no {missing}")]
    NotLive {
        /// What every live ISO has.
        missing: String,
    },
    /// A live ISO whose installer reads no configuration files.
    #[error("it is too old: its installer reads no configuration file")]
    TooOld,
    /// Somebody has written to a reserved area.
    #[error("it is not as it was published: its area for {area} is in use")]
    Customized { area: &'static str },
    #[error("its area for {area} has {room} bytes, and {needed} are needed")]
    TooSmall {
        area: &'static str,
        /// Bytes that there are.
        room: u64,
        /// Bytes that are needed, compressed.
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
                Some("`rhcos.iso` in cluster.yaml is the live ISO of the release, `rhcos-…-live…iso`".into())
            }
            Self::Incomplete { .. } | Self::Malformed { .. } => Some("download it again".into()),
            Self::TooOld => Some("use the live ISO of the release: those of 4.10 and later will do".into()),
            Self::Customized { .. } => {
                Some("name the image as it was downloaded; `coreos-installer iso reset` gives it back".into())
            }
            Self::TooSmall { area: live::IGNITION, .. } => Some(
                "this node's Ignition is too large for the ISO; boot the node from the QEMU image with `fw_cfg` instead"
                    .into(),
            ),
            Self::Argument { .. } => Some("it is printable ASCII without spaces and without `#`".into()),
            Self::Read { .. } | Self::TooSmall { .. } => None,
        }
    }
}

/// Result of this module.
pub(crate) type Result<T> = std::result::Result<T, IsoError>;
