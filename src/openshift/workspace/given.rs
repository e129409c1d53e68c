//! What decides a build and is in no file that it reads.

use super::{ClusterDir, Env, Network};
use crate::base::digest::Digest;
use crate::base::fs;

/// A digest of this program, and of what it was called with. None where a build cannot be remembered.
pub(crate) fn given(env: Env<'_>, directory: &ClusterDir) -> Option<Digest> {
    // All of them, so that a new one is thought of. How something would be fetched or run decides nothing where all is there; the
    // store is compared by itself.
    let Env {
        directory: _,
        store: _,
        events: _,
        cancel: _,
        proxy: _,
        programs: _,
        executable: _,
        identity,
        seed,
        config,
        network,
        site,
    } = env;
    // A seed that comes through a pipe cannot be read again; a site has a memo of its own.
    if seed.is_some() || site.is_some() {
        return None;
    }
    let mut hasher = blake3::Hasher::new_derive_key("tinderbox 2026-11-19 what a build was given v1");
    hasher.update(&fs::own_stamp()?);
    hasher.update(&[match network {
        Network::All => 0,
        Network::NoCaches => 1,
        Network::Nothing => 2,
    }]);
    for path in [Some(directory.path()), identity, config] {
        let bytes = path.map(|path| path.as_os_str().as_encoded_bytes());
        hasher.update(&[u8::from(bytes.is_some())]);
        hasher.update(&(bytes.map_or(0, <[u8]>::len) as u64).to_le_bytes());
        hasher.update(bytes.unwrap_or_default());
    }
    Some(hasher.finalize().into())
}
