//! Stores the derived keys of secret digests, so that `verify` needs no seed. Never the seed itself.

use super::{Result, Store};
use crate::base::digest::KeyId;
use crate::base::fs;
use crate::base::secret::{IdKey, KEY_LENGTH};

impl Store {
    /// Stores a key for its owner only. Storing it again is fine.
    pub(super) fn keep_key(&self, key: &IdKey) -> Result<()> {
        // A damaged file is replaced: it would make every secret object look damaged.
        if self.key(key.id()).unwrap_or(None).is_none() {
            let path = self.part("keys").join(key.id().to_string());
            fs::remove_all(&path)?;
            match fs::write_whole(&path, key.reveal(), 0o600) {
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {} // another process was faster
                done => done?,
            }
        }
        Ok(())
    }

    /// A stored key, if it exists and matches its name.
    pub fn key(&self, id: KeyId) -> Result<Option<IdKey>> {
        let bytes = fs::optional(fs::read(&self.part("keys").join(id.to_string())))?;
        let key = bytes.and_then(|bytes| <[u8; KEY_LENGTH]>::try_from(bytes).ok()).map(IdKey::from_bytes);
        Ok(key.filter(|key| key.id() == id))
    }
}
