//! Why a file is not there, and what to do about it.

use std::path::PathBuf;

use crate::base::fs;
use crate::base::hint::Hint;
use crate::engine::registry::RegistryError;
use crate::engine::store::StoreError;

#[derive(Debug, thiserror::Error)]
pub enum DownloadError {
    #[error("interrupted; what was downloaded is kept, and the next attempt continues from there")]
    Cancelled,
    #[error("`{url}` is not an http, https or file URL")]
    Scheme { url: String },
    #[error("`{url}` does not exist")]
    Missing { url: String },
    #[error("`{url}` has sha256 `{found}`, not `{expected}`")]
    Mismatch { url: String, expected: String, found: String },
    #[error("`{name}` contains a file with sha256 `{found}`, not `{expected}`")]
    UnpackedMismatch { name: String, expected: String, found: String },
    #[error("`{name}` cannot be unpacked: {problem}")]
    Unpack { name: String, problem: String },
    #[error("`{what}` has more than {limit} bytes")]
    TooLarge { what: String, limit: u64 },
    #[error("`{url}` has {} left to download{}, and `{}` has room for {}", shown_size(*needed), if *packed { " and to unpack" } else { "" }, path.display(), shown_size(*available))]
    NoRoom { url: String, needed: u64, available: u64, packed: bool, path: PathBuf },
    #[error("`{url}` broke off after {at} bytes")]
    Broken { url: String, at: u64, source: Box<RegistryError> },
    #[error(transparent)]
    Registry(#[from] RegistryError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Fs(#[from] fs::Error),
}

impl DownloadError {
    /// Whether another place for the same file would help.
    pub(crate) fn is_about_its_place(&self) -> bool {
        matches!(self, Self::Missing { .. } | Self::Mismatch { .. } | Self::Broken { .. } | Self::Registry(_))
    }
}

impl Hint for DownloadError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Cancelled => None,
            Self::Scheme { .. } => Some("a mirror is a URL such as https://mirror.example.com/images/".into()),
            Self::Missing { .. } => Some("a mirror has files under their publisher's names".into()),
            Self::Mismatch { .. } => Some(
                "what is at this address is not the file that is pinned, and was not kept: use a mirror that has it"
                    .into(),
            ),
            Self::UnpackedMismatch { .. } | Self::Unpack { .. } => Some(
                "the file is the pinned one, but it is not what its publisher says; use your own copy instead"
                    .into(),
            ),
            Self::TooLarge { .. } => Some("this cannot be what is pinned; nothing was kept".into()),
            Self::NoRoom { .. } => Some(
                "free some space (`tinderbox store gc`), or use `--store DIR` on another file system".into(),
            ),
            Self::Broken { source, .. } => {
                let again = "run the same command again: it continues from there";
                Some(source.hint().map_or_else(|| again.to_owned(), |hint| format!("{again}; {hint}")))
            }
            // The address is somebody's who publishes the file, not the user's.
            Self::Registry(RegistryError::Unreachable { advice: None, .. }) => Some(
                "if there is a proxy, set HTTPS_PROXY; if the file is elsewhere too, name that place as a mirror"
                    .into(),
            ),
            Self::Registry(RegistryError::NotFound { .. }) => {
                Some("the publisher may have removed it: name a mirror that has it".into())
            }
            Self::Registry(error) => error.hint(),
            Self::Store(error) => error.hint(),
            Self::Fs(error) => error.hint(),
        }
    }
}

fn shown_size(bytes: u64) -> String {
    match bytes {
        0..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}
