//! The derived keys of secret digests, kept so that `verify` needs no seed. Never the seed itself.

use super::{Result, Store};
use crate::base::digest::KeyId;
use crate::base::fs;
use crate::base::secret::{IdKey, KEY_LENGTH};

impl Store {
    /// Keeps a key, owner only. Keeping it again is fine.
    pub(super) fn keep_key(&self, key: &IdKey) -> Result<()> {
        let path = self.part("keys").join(key.id().to_string());
        if !fs::exists(&path)? {
            fs::replace(&path, key.reveal(), 0o600)?;
        }
        Ok(())
    }

    /// A key that was kept, if it is there and is the one that its name says.
    pub fn key(&self, id: KeyId) -> Result<Option<IdKey>> {
        let bytes = fs::optional(fs::read(&self.part("keys").join(id.to_string())))?;
        let key = bytes.and_then(|bytes| <[u8; KEY_LENGTH]>::try_from(bytes).ok()).map(IdKey::from_bytes);
        Ok(key.filter(|key| key.id() == id))
    }
}
