//! What a server can do. Asked once, before anything else: it is also how we learn whether somebody answers.

use std::time::Duration;

use super::proto::capabilities_client::CapabilitiesClient;
use super::proto::{self, compressor, symlink_absolute_path_strategy};
use super::{Client, DigestFunction, Result};

/// What gRPC takes in one message unless somebody changed it, less what surrounds the blobs.
const MESSAGE: u64 = (4 << 20) - (64 << 10);

/// What a server can do, as far as we use it.
#[derive(Debug, Clone)]
pub(crate) struct Capabilities {
    pub(crate) function: DigestFunction,
    /// Bytes of all blobs in one request.
    pub(crate) batch: u64,
    /// Whether streams may be compressed.
    pub(crate) zstd: bool,
    /// Whether clients may write to the action cache.
    pub(crate) updates: bool,
    /// Whether it executes actions whose blobs are named like those of its cache.
    pub(crate) executes: bool,
    /// Whether trees may have symbolic links to absolute paths.
    pub(crate) links: bool,
}

impl Client {
    /// What the server can do. The first answer must come within `first`.
    pub(crate) fn capabilities(&self, first: Duration) -> Result<&Capabilities> {
        if let Some(known) = self.capabilities.get() {
            return Ok(known);
        }
        let what = "its capabilities";
        let message = proto::GetCapabilitiesRequest { instance_name: self.instance.clone() };
        let mut client = CapabilitiesClient::new(self.channel.clone());
        let said = self.call_within(first, what, client.get_capabilities(self.request(message)))?;
        let read = read(&said).ok_or_else(|| {
            self.malformed(what, format!("{} offers no cache with SHA256 or BLAKE3", self.place))
        })?;
        Ok(self.capabilities.get_or_init(|| read))
    }
}

fn read(said: &proto::ServerCapabilities) -> Option<Capabilities> {
    let cache = said.cache_capabilities.as_ref()?;
    let offers = |function: DigestFunction| cache.digest_functions.contains(&function.number());
    let all = [DigestFunction::Blake3, DigestFunction::Sha256];
    let function = all.into_iter().find(|function| offers(*function))?;
    // 0 is no limit of the server's own; gRPC still has one.
    let own = u64::try_from(cache.max_batch_total_size_bytes).ok().filter(|limit| *limit > 0);
    let zstd = i32::from(compressor::Value::Zstd);
    let executes = said.execution_capabilities.as_ref().is_some_and(|can| {
        let known = match can.digest_functions.as_slice() {
            // Of a server of an earlier version, which may not know that field.
            [] => can.digest_function == function.number() || can.digest_function == 0,
            all => all.contains(&function.number()),
        };
        can.exec_enabled && known
    });
    let links = i32::from(symlink_absolute_path_strategy::Value::Allowed);
    Some(Capabilities {
        function,
        batch: own.map_or(MESSAGE, |own| own.min(MESSAGE)),
        zstd: cache.supported_compressors.contains(&zstd),
        updates: cache.action_cache_update_capabilities.as_ref().is_some_and(|can| can.update_enabled),
        executes,
        links: cache.symlink_absolute_path_strategy == links,
    })
}
