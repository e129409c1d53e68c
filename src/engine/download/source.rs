//! Where bytes come from: a server, or a file of this machine; one connection, from an offset on.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;

use super::{DownloadError, Downloader};
use crate::base::fs::{self, At};
use crate::engine::registry::RegistryError;
use crate::engine::registry::remote::file::{FileFailure, RemoteFile, shown};

/// Why a connection ended early.
pub(super) enum Interrupted {
    Connection { error: RegistryError, retry: bool },
    Final(DownloadError),
}

impl<E: Into<DownloadError>> From<E> for Interrupted {
    fn from(error: E) -> Self {
        Self::Final(error.into())
    }
}

pub(super) fn too_short(url: &str) -> Interrupted {
    let url = shown(url);
    let problem = "it ended before its announced end".to_owned();
    Interrupted::Connection { error: RegistryError::Malformed { image: url, problem }, retry: true }
}

/// Where bytes come from.
pub(super) enum Source<'a> {
    Remote(Box<RemoteFile<'a>>),
    Local { file: File, start: u64, total: u64, cancel: &'a AtomicBool, path: &'a Path },
}

impl<'a> Source<'a> {
    /// None if the file ends before `offset`.
    pub(super) fn open(
        downloader: &'a Downloader<'_>,
        url: &'a str,
        offset: u64,
    ) -> std::result::Result<Option<Self>, Interrupted> {
        if let Some(path) = local(url) {
            let path = Path::new(path);
            let missing = || DownloadError::Missing { url: shown(url) };
            let mut file = fs::optional(fs::open(path))?.ok_or_else(missing)?;
            let total = file.metadata().at("access", path)?.len();
            let start = file.seek(SeekFrom::Start(offset)).at("read", path)?;
            let cancel = downloader.cancel;
            return Ok((offset <= total).then_some(Self::Local { file, start, total, cancel, path }));
        }
        if !["http://", "https://"].iter().any(|scheme| url.starts_with(scheme)) {
            return Err(DownloadError::Scheme { url: shown(url) }.into());
        }
        match downloader.remote.file(url, offset, downloader.cancel) {
            Ok(file) => Ok(Some(Self::Remote(Box::new(file)))),
            Err(FileFailure::Beyond) => Ok(None),
            Err(failure) => Err(interrupted(failure)),
        }
    }

    pub(super) fn start(&self) -> u64 {
        match self {
            Self::Remote(file) => file.start,
            Self::Local { start, .. } => *start,
        }
    }

    pub(super) fn total(&self) -> Option<u64> {
        match self {
            Self::Remote(file) => file.total,
            Self::Local { total, .. } => Some(*total),
        }
    }

    pub(super) fn next(&mut self) -> std::result::Result<Option<Bytes>, Interrupted> {
        match self {
            Self::Remote(file) => file.chunk().map_err(interrupted),
            Self::Local { cancel, .. } if cancel.load(Ordering::Relaxed) => {
                Err(DownloadError::Cancelled.into())
            }
            Self::Local { file, path, .. } => {
                let mut chunk = vec![0; 1 << 20];
                let read = file.read(&mut chunk).at("read", path)?;
                chunk.truncate(read);
                Ok((read > 0).then(|| chunk.into()))
            }
        }
    }
}

fn interrupted(failure: FileFailure) -> Interrupted {
    match failure {
        FileFailure::Cancelled => DownloadError::Cancelled.into(),
        FileFailure::Beyond => too_short(""),
        FileFailure::Failed { error, retry } => Interrupted::Connection { error, retry },
    }
}

/// The path of a file URL.
pub(super) fn local(url: &str) -> Option<&str> {
    url.strip_prefix("file://").filter(|path| path.starts_with('/'))
}
