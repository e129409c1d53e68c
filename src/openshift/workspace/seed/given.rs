//! A seed that comes from elsewhere, for machines that must not keep one: standard input, a file descriptor, a file.

use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use zeroize::Zeroizing;

use super::{RESTORE, from_bytes, sealed};
use crate::base::fs;
use crate::base::secret::Seed;
use crate::openshift::workspace::{Env, Result, WorkspaceError};

/// Far more than any form of a seed needs.
const LIMIT: u64 = 1 << 20;

/// The bytes of a seed, read once: standard input cannot be read again.
pub(crate) struct GivenSeed {
    name: String,
    bytes: Zeroizing<Vec<u8>>,
}

impl GivenSeed {
    /// Reads a file; `-` is standard input.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let stdin = path == Path::new("-");
        let (name, path) =
            if stdin { ("-".into(), Path::new("/dev/stdin")) } else { (path.display().to_string(), path) };
        let file = fs::open_stream(path)?;
        let mut bytes = Zeroizing::new(Vec::new());
        (&file)
            .take(LIMIT + 1)
            .read_to_end(&mut bytes)
            .map_err(|source| fs::Error::new("read", path, source))?;
        let given = Self { name, bytes };
        given.check_form()?;
        // What is encrypted may be read by others.
        let found = file.metadata().map_err(|source| fs::Error::new("read", path, source))?;
        if found.is_file() && found.mode() & 0o077 != 0 && !sealed::is_age(&given.bytes) {
            let advice = format!("if nobody else has read it: `chmod 600 {}`", path.display());
            return Err(given.wrong("can be read by others", advice));
        }
        Ok(given)
    }

    /// As the user named it.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The seed: 32 bytes, the same in base64, or an age file.
    pub(crate) fn open(&self, env: Env<'_>) -> Result<Seed> {
        let path = Path::new(&self.name);
        if sealed::is_age(&self.bytes) {
            return sealed::identities(env, path)?.open(path, &self.bytes);
        }
        self.plain().ok_or_else(|| self.wrong("is not a seed", RESTORE.into()))
    }

    /// The seed, if it is not encrypted.
    fn plain(&self) -> Option<Seed> {
        let decoded = || {
            let text = self.bytes.trim_ascii();
            data_encoding::BASE64.decode(text).ok().map(Zeroizing::new)
        };
        from_bytes(&self.bytes).or_else(|| decoded().and_then(|bytes| from_bytes(&bytes)))
    }

    /// What has the wrong form is not a seed, whoever can read it.
    fn check_form(&self) -> Result<()> {
        match sealed::is_age(&self.bytes) || self.plain().is_some() {
            true => Ok(()),
            false => {
                Err(self.wrong("is neither 32 bytes, nor their base64, nor an age file", RESTORE.into()))
            }
        }
    }

    fn wrong(&self, problem: &'static str, advice: String) -> WorkspaceError {
        WorkspaceError::Seed { path: (&self.name).into(), problem, advice }
    }
}
