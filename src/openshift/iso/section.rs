//! What an ISO for all nodes carries behind the image: every node's config, far more than the reserved area holds.
//!
//! ```text
//! sector 0    `tinderbox nodes 1`, `form plain` or `form sealed`, `size BYTES`, `sha256 HEX`: a line each, then zeros
//! sector 1…   the configs: a tar archive of `NODE.ign`, compressed with xz; sealed, that as an OpenPGP message
//! ```
//!
//! Boot loaders never see it: the live system reads it from the medium's block device, at a sector that the reserved area
//! names. So it needs no room in any file of the image, and sealing replaces the section and nothing else.

use std::collections::BTreeMap;
use std::io;

use sha2::Digest as _;

use super::initrd::compress;
use super::{IsoError, Result};
use crate::engine::registry::Sha256;

/// Of the medium, and of this section.
pub(crate) const SECTOR: u64 = 2048;
/// The first line.
const MAGIC: &str = "tinderbox nodes 1";
/// Repetitions are found this far back, at most: configs have much in common.
const WINDOW: u32 = 64 << 20;
/// And at least.
const SMALL_WINDOW: u32 = 8 << 20;

/// Whether the configs can be read as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Plain,
    Sealed,
}

impl Form {
    fn as_str(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Sealed => "sealed",
        }
    }
}

/// Every node's config, as it is on the medium.
pub(crate) struct Section {
    pub form: Form,
    pub content: Vec<u8>,
}

impl Section {
    /// The configs by node, not sealed.
    pub(crate) fn plain(configs: &BTreeMap<&str, String>) -> Result<Self> {
        let failed = |source| IsoError::Read { what: "the compressed configs".into(), source };
        let archive = archive(configs).map_err(failed)?;
        let length = u32::try_from(archive.len()).unwrap_or(WINDOW);
        let window = length.clamp(SMALL_WINDOW, WINDOW);
        Ok(Self { form: Form::Plain, content: compress(&archive, Some(window)).map_err(failed)? })
    }

    /// The bytes on the medium, whole sectors.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let Self { form, content } = self;
        let sha256 = Sha256::from_bytes(sha2::Sha256::digest(content).into()).hex();
        let (form, size) = (form.as_str(), content.len());
        let mut bytes = format!("{MAGIC}\nform {form}\nsize {size}\nsha256 {sha256}\n").into_bytes();
        let sector = SECTOR as usize;
        bytes.resize(sector, 0);
        bytes.extend_from_slice(content);
        bytes.resize(bytes.len().next_multiple_of(sector), 0);
        bytes
    }

    /// Reads these bytes; none if they are not intact.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let (header, rest) = bytes.split_at_checked(SECTOR as usize)?;
        let header = std::str::from_utf8(header).ok()?.trim_end_matches('\0');
        let mut lines = header.lines();
        let magic = lines.next()?;
        let mut field = |name: &str| lines.next()?.strip_prefix(name)?.strip_prefix(' ').map(str::to_owned);
        let (form, size, sha256) = (field("form")?, field("size")?, field("sha256")?);
        let form = [Form::Plain, Form::Sealed].into_iter().find(|one| one.as_str() == form)?;
        let content = rest.get(..size.parse().ok()?)?.to_vec();
        let is_intact = Sha256::from_bytes(sha2::Sha256::digest(&content).into()).hex() == sha256;
        (magic == MAGIC && is_intact).then_some(Self { form, content })
    }
}

fn archive(configs: &BTreeMap<&str, String>) -> io::Result<Vec<u8>> {
    let mut archive = tar::Builder::new(Vec::new());
    for (node, config) in configs {
        let mut header = tar::Header::new_ustar();
        header.set_size(config.len() as u64);
        header.set_mode(0o600);
        archive.append_data(&mut header, format!("{node}.ign"), config.as_bytes())?;
    }
    archive.into_inner()
}
