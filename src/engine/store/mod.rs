//! The store: objects by content, realisations by derivation, roots by cluster. `store/README.md` documents the format.
//!
//! Invariants: an object directory with a manifest is complete and durable; a realisation names an object that was
//! published before it; users claim an object before they use it ([`Session::claim`]), and gc never removes a claimed
//! object.

#[cfg(test)]
mod damage;
mod downloads;
#[cfg(test)]
mod faults;
mod gc;
mod keys;
mod layout;
mod memo;
mod objects;
mod realisations;
mod records;
mod roots;
mod scan;
mod seal;
mod session;
mod shared_sync;
mod verify;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use shared_sync::SharedSync;

pub(crate) use downloads::{DownloadFile, DownloadLock};
pub(crate) use gc::{GcOptions, GcPlan};
pub(crate) use memo::{Evidence, Held, Moment};
pub(crate) use objects::{Object, ObjectName};
pub(crate) use realisations::{Output, Realisation, Substitution, Trace, TraceInput};
pub(crate) use roots::{Generation, Named, Record, Roots};
pub(crate) use scan::{Encoding, KnownSecret, Scan, ScanPaths};
pub use session::Session;
pub(crate) use session::{DrvLock, Staged, Using};
pub(crate) use verify::{FindingKind, Verification};

use crate::base::cancel::Cancel;
use crate::base::digest::{DrvId, ObjectId, ParseError};
use crate::base::fs;
use crate::base::hint::Hint;
use crate::engine::tree::{ListingError, TreeError};

/// The format that this program reads and writes.
pub(crate) const FORMAT: u32 = 1;

/// The content of its format file.
const FORMAT_TEXT: &str = "1\n";

const README: &str = include_str!("../../../store/README.md");

/// Directories below `.tinderbox` that are made when they are needed.
const LATER_PARTS: [&str; 6] = ["logs", "blobs", "blobs/sha256", "blobs/tmp", "downloads", "foreign"];

/// Directories below `.tinderbox`, in order of creation.
const PARTS: [&str; 7] = ["realisations", "manifests", "links", "keys", "locks", "tmp", "roots"];

/// A store on disk. Cheap to clone; holds nothing open.
#[derive(Debug, Clone)]
pub struct Store {
    root: PathBuf,
    /// Ends waits for locks, and verification.
    cancel: Cancel,
    /// Of all sessions that were opened with clones of this.
    syncs: Arc<SharedSync>,
}

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error(transparent)]
    Fs(#[from] fs::Error),
    #[error(transparent)]
    Tree(#[from] TreeError),
    #[error("`{}` is not a store", path.display())]
    NotAStore { path: PathBuf },
    /// Whatever is below it would be written, and removed, elsewhere.
    #[error("`{}` in the store is a link: a store has nothing of its own elsewhere", path.display())]
    Linked { path: PathBuf },
    #[error("the store `{}` has format `{found}`, but this tinderbox supports format {FORMAT}", path.display())]
    Format {
        path: PathBuf,
        /// The content of its format file.
        found: String,
    },
    #[error("no object in the store starts with `{prefix}`")]
    NoSuchObject { prefix: String },
    /// An object that a record names.
    #[error("object `{object}` is not in the store any more")]
    Collected { object: ObjectId },
    #[error("`{prefix}` begins {} ids: {}", found.len(), some(found))]
    Ambiguous {
        prefix: String,
        /// The matching directories.
        found: Vec<String>,
    },
    /// The listing is missing or unreadable.
    #[error("object `{object}` is damaged")]
    Damaged {
        object: ObjectId,
        /// None if it has no listing.
        source: Option<ListingError>,
    },
    /// A realisation, generation or record is unreadable.
    #[error("cannot parse `{}`", path.display())]
    Unreadable { path: PathBuf, source: serde_json::Error },
    /// An object that is about to be used is not what its listing says.
    #[error("`{}` in the store was modified: {detail}", path.display())]
    Modified { path: PathBuf, detail: String },
    #[error("there is no generation {number}")]
    NoSuchGeneration { number: u64, known: Vec<u64> },
    /// A write to a read-only store.
    #[error("the store `{}` is read-only", path.display())]
    ReadOnly { path: PathBuf },
    #[error("interrupted")]
    Interrupted,
    #[error(transparent)]
    Id(#[from] ParseError),
}

/// The first of many names.
fn some(names: &[String]) -> String {
    const SHOWN: usize = 4;
    let shown = names.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    match names.len().checked_sub(SHOWN) {
        None | Some(0) => shown,
        Some(more) => format!("{shown} and {more} more"),
    }
}

impl StoreError {
    /// Whether a name that the user gave fits nothing, or too much.
    pub fn is_unknown_name(&self) -> bool {
        matches!(
            self,
            Self::NoSuchObject { .. } | Self::Ambiguous { .. } | Self::NoSuchGeneration { .. } | Self::Id(_)
        )
    }
}

impl Hint for StoreError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Fs(error) => error.hint(),
            Self::Tree(error) => error.hint(),
            Self::Id(error) => error.hint(),
            Self::Linked { .. } => Some(
                "if the store is yours, `tinderbox store repair` sets the link aside; if it came with somebody else's files, remove it"
                    .into(),
            ),
            Self::NotAStore { .. } => Some(
                "`tinderbox build` creates one; select another with `--store DIR` or TINDERBOX_STORE".into(),
            ),
            // A damaged number, not another one.
            Self::Format { path, .. } if Store::at(path).is_ours() => {
                Some("its format file is damaged: `tinderbox store repair` writes it again".into())
            }
            Self::Format { .. } => {
                Some("use the tinderbox that created it, or another store (`--store DIR`)".into())
            }
            Self::ReadOnly { .. } => Some("use a writable store: `--store DIR` or TINDERBOX_STORE".into()),
            Self::NoSuchObject { .. } => Some("`tinderbox store ls` lists all objects".into()),
            Self::Collected { .. } => Some("`tinderbox build` builds what the files say now".into()),
            Self::Ambiguous { .. } => Some("give more characters of the id".into()),
            Self::Damaged { .. } | Self::Unreadable { .. } => Some(
                "run `tinderbox store verify` to see what else is wrong, then `tinderbox store repair`"
                    .into(),
            ),
            Self::Modified { .. } => {
                Some("`tinderbox store repair` removes what was modified, and builds it again".into())
            }
            Self::Interrupted => None,
            Self::NoSuchGeneration { known, .. } => Some(match known.as_slice() {
                [] => "there are none yet: `tinderbox build` creates the first".into(),
                known => {
                    let known: Vec<String> = known.iter().map(ToString::to_string).collect();
                    format!("existing generations: {}", known.join(", "))
                }
            }),
        }
    }
}

/// Result of this module.
pub(crate) type Result<T> = std::result::Result<T, StoreError>;

impl Store {
    /// Opens an existing store.
    pub fn open(root: &Path) -> Result<Self> {
        let Some(format) = fs::optional(fs::read_head(&root.join(".tinderbox/format"), 64))? else {
            return Err(StoreError::NotAStore { path: root.to_owned() });
        };
        let format = String::from_utf8_lossy(&format);
        if format.trim() != FORMAT.to_string() {
            let found = format.trim().chars().take(20).collect();
            return Err(StoreError::Format { path: root.to_owned(), found });
        }
        let store = Self { root: fs::canonical(root)?, cancel: Cancel::default(), syncs: Arc::default() };
        store.refuse_links()?;
        Ok(store)
    }

    /// Fails if a directory of the store's own is a link. A store may come with somebody else's cluster directory, and what is
    /// old in `tmp` is removed.
    fn refuse_links(&self) -> Result<()> {
        let own = PARTS.into_iter().chain(LATER_PARTS).map(|part| self.part(part));
        let roots = match fs::list_kinds(&self.part("roots")) {
            Ok(found) => found.into_iter().filter(|(_, is_dir)| !is_dir).map(|(name, _)| name).collect(),
            Err(_) => Vec::new(), // whoever needs it says so
        };
        let roots = roots.into_iter().map(|name| self.part("roots").join(name));
        for path in std::iter::once(self.root.join(".tinderbox")).chain(own).chain(roots) {
            if fs::optional(fs::metadata(&path))?.is_some_and(|found| found.is_symlink()) {
                return Err(StoreError::Linked { path });
            }
        }
        Ok(())
    }

    /// Opens a store, creating it if necessary.
    pub fn open_or_create(root: &Path) -> Result<Self> {
        let inner = root.join(".tinderbox");
        let begun = fs::exists(&inner.join("format"))?;
        if begun {
            Self::open(root)?; // before writing into a store of another format
        }
        if !begun || !fs::exists(&inner.join("roots"))? {
            fs::create_dirs(&inner)?;
            if !fs::exists(&root.join("README.md"))? {
                fs::replace(&root.join("README.md"), README.as_bytes(), 0o644)?;
            }
            for part in PARTS {
                fs::create_dirs(&inner.join(part))?;
            }
            fs::set_mode(&inner.join("keys"), 0o700)?;
            fs::set_mode(&inner.join("tmp"), 0o700)?;
            // Last: what has a format is complete.
            fs::replace(&inner.join("format"), FORMAT_TEXT.as_bytes(), 0o644)?;
        }
        // Of an earlier tinderbox, perhaps. A read-only store keeps its own.
        let readme = root.join("README.md");
        if !fs::read(&readme).is_ok_and(|there| there == README.as_bytes()) {
            let _ = fs::replace(&readme, README.as_bytes(), 0o644);
        }
        Self::open(root)
    }

    /// A store at a path where there may be none.
    fn at(root: &Path) -> Self {
        Self { root: root.to_owned(), cancel: Cancel::default(), syncs: Arc::default() }
    }

    /// The same store; what waits in it ends when the user cancels.
    pub fn cancelled_by(self, cancel: &Cancel) -> Self {
        Self { cancel: cancel.clone(), ..self }
    }

    /// Absolute path of the store.
    pub fn root(&self) -> &Path {
        &self.root
    }

    fn part(&self, name: &str) -> PathBuf {
        self.root.join(".tinderbox").join(name)
    }

    fn realisation_path(&self, drv: DrvId) -> PathBuf {
        self.part("realisations").join(drv.to_string())
    }

    fn manifest_path(&self, object: ObjectId) -> PathBuf {
        self.part("manifests").join(object.to_string())
    }
}
