//! What an image may cost, whatever its layers say: bytes, headers, entries. Real images stay far below.
//!
//! | what | limit | why |
//! |---|---|---|
//! | bytes of a layer, unpacked | 1 GiB, or a hundred times its size | compressed zeros |
//! | bytes of all files that are kept | 4 GiB, or twenty times the image's size | holes of sparse files cost no byte in a layer |
//! | headers of one entry | 2 MiB | long names and pax records are read into memory |
//! | length of a path | 4,096 bytes | as the system's |
//! | entries of all layers | 1,000,000 | each takes memory |
//! | bytes of all layers | 16 GiB | their sizes are what a manifest says, and the limits above follow them |
//! | bytes of all images of a build | 64 GiB | `engine::registry` counts those |

use std::io::{self, Read};
use std::sync::atomic::{AtomicU64, Ordering};

/// Maximum expansion factor of a layer above [`SMALL_LAYER`]; real layers expand tenfold.
const LAYER_GROWTH: u64 = 100;
const SMALL_LAYER: u64 = 1 << 30;
const IMAGE_GROWTH: u64 = 20;
const SMALL_IMAGE: u64 = 4 << 30;

/// Maximum length of a path in a layer.
pub(super) const PATH: usize = 4096;
/// Maximum number of entries of all layers.
const ENTRIES: u64 = 1_000_000;
/// Maximum size of all layers.
pub(super) const LAYERS: u64 = 16 << 30;

/// What is wrong with a layer that has more bytes than [`layer`] says.
pub(super) const OVER: &str = "it unpacks to more than a hundred times its size";

/// How many bytes a layer of this size may have, unpacked.
pub(super) fn layer(size: u64) -> u64 {
    SMALL_LAYER.max(size.saturating_mul(LAYER_GROWTH))
}

/// The bytes that all files of an image may have, and the entries of its layers.
#[derive(Debug)]
pub(super) struct ImageBudget {
    bytes: AtomicU64,
    entries: AtomicU64,
}

impl ImageBudget {
    /// For an image whose layers have this total size.
    pub(super) fn new(size: u64) -> Self {
        Self::of(SMALL_IMAGE.max(size.saturating_mul(IMAGE_GROWTH)))
    }

    pub(super) fn of(bytes: u64) -> Self {
        Self { bytes: AtomicU64::new(bytes), entries: AtomicU64::new(ENTRIES) }
    }

    fn take(&self, bytes: u64) -> io::Result<()> {
        take(&self.bytes, bytes, "the files of the image have more than twenty times its size")
    }

    /// Counts one more entry.
    pub(super) fn entry(&self) -> io::Result<()> {
        take(&self.entries, 1, "the layers of the image have more than 1,000,000 entries")
    }
}

fn take(from: &AtomicU64, count: u64, over: &'static str) -> io::Result<()> {
    let taken = from.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(count));
    taken.map(drop).map_err(|_| io::Error::other(over))
}

/// A reader whose bytes count against the image.
pub(super) struct Counted<'a, R> {
    pub(super) inner: R,
    pub(super) budget: &'a ImageBudget,
}

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.budget.take(read as u64)?;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_ends() {
        let budget = ImageBudget { bytes: AtomicU64::new(10), entries: AtomicU64::new(2) };
        assert!(budget.take(10).is_ok() && budget.take(1).is_err());
        assert!(budget.entry().is_ok() && budget.entry().is_ok() && budget.entry().is_err());
    }
}
