//! The content-addressable storage. What fits into one message goes in batches, everything else as a stream, compressed
//! where the server can. Nothing here verifies content: callers know what they expect.

use std::collections::BTreeSet;
use std::io::{self, Read};

use tonic::{Code, Status};

use super::proto::content_addressable_storage_client::ContentAddressableStorageClient;
use super::proto::{self, batch_update_blobs_request};
use super::{Blob, Capabilities, Client, RegistryError, Result};

/// Digests in one question: far below the limit of a message.
const QUESTIONS: usize = 10_000;

/// What a message needs for one blob besides its bytes.
pub(crate) const PER_BLOB: u64 = 128;

impl Client {
    /// Those of these blobs that the server lacks.
    pub(crate) fn find_missing(&self, can: &Capabilities, blobs: &[Blob]) -> Result<BTreeSet<Blob>> {
        let mut missing = BTreeSet::new();
        for some in blobs.chunks(QUESTIONS) {
            let message = proto::FindMissingBlobsRequest {
                instance_name: self.instance.clone(),
                blob_digests: some.iter().map(Blob::to_proto).collect(),
                digest_function: can.function.number(),
            };
            let mut client = ContentAddressableStorageClient::new(self.channel.clone());
            let said = self.call("its blobs", client.find_missing_blobs(self.request(message)))?;
            missing
                .extend(said.missing_blob_digests.iter().filter_map(|digest| Blob::from_proto(Some(digest))));
        }
        Ok(missing)
    }

    /// The bytes of a blob.
    pub(crate) fn read<'a>(
        &'a self,
        can: &Capabilities,
        blob: &Blob,
        compressible: bool,
    ) -> Result<Box<dyn Read + Send + 'a>> {
        let zstd = compressible && can.zstd;
        match zstd || blob.size + PER_BLOB > can.batch {
            true => Ok(self.read_stream(can, blob, zstd)),
            false => Ok(Box::new(io::Cursor::new(self.read_small(can, blob)?))),
        }
    }

    fn read_small(&self, can: &Capabilities, blob: &Blob) -> Result<Vec<u8>> {
        let message = proto::BatchReadBlobsRequest {
            instance_name: self.instance.clone(),
            digests: vec![blob.to_proto()],
            digest_function: can.function.number(),
            ..Default::default()
        };
        let mut client = ContentAddressableStorageClient::new(self.channel.clone());
        let what = name(blob);
        let said = self.call(&what, client.batch_read_blobs(self.request(message)))?;
        let mut all = said.responses.into_iter();
        let one = all.find(|one| Blob::from_proto(one.digest.as_ref()).as_ref() == Some(blob));
        let one =
            one.ok_or_else(|| self.malformed(&what, format!("{} did not answer for it", self.place)))?;
        match one.status.filter(|status| status.code != 0) {
            Some(status) => Err(self.failure(&what, &Status::new(Code::from(status.code), status.message))),
            None => Ok(one.data),
        }
    }

    /// Stores a blob, whose bytes are these.
    pub(crate) fn write(
        &self,
        can: &Capabilities,
        blob: &Blob,
        bytes: &mut dyn Read,
        compressible: bool,
    ) -> Result<()> {
        let zstd = compressible && can.zstd;
        if zstd || blob.size + PER_BLOB > can.batch {
            return self.write_stream(can, blob, bytes, zstd);
        }
        let mut data = Vec::with_capacity(usize::try_from(blob.size).unwrap_or_default());
        bytes.read_to_end(&mut data).map_err(|error| self.unreadable(blob, error))?;
        self.write_batch(can, &name(blob), vec![(blob.clone(), data)])
    }

    /// Stores several blobs that fit into one batch.
    pub(crate) fn write_batch(
        &self,
        can: &Capabilities,
        what: &str,
        blobs: Vec<(Blob, Vec<u8>)>,
    ) -> Result<()> {
        let one = |(blob, data): (Blob, Vec<u8>)| batch_update_blobs_request::Request {
            digest: Some(blob.to_proto()),
            data,
            ..Default::default()
        };
        let message = proto::BatchUpdateBlobsRequest {
            instance_name: self.instance.clone(),
            requests: blobs.into_iter().map(one).collect(),
            digest_function: can.function.number(),
        };
        let mut client = ContentAddressableStorageClient::new(self.channel.clone());
        let said = self.call(what, client.batch_update_blobs(self.request(message)))?;
        let status = said.responses.into_iter().find_map(|one| one.status.filter(|status| status.code != 0));
        match status {
            Some(status) => Err(self.failure(what, &Status::new(Code::from(status.code), status.message))),
            None => Ok(()),
        }
    }

    pub(super) fn unreadable(&self, blob: &Blob, error: io::Error) -> RegistryError {
        RegistryError::from_io(error)
            .unwrap_or_else(|error| self.malformed(&name(blob), format!("it cannot be read: {error}")))
    }
}

/// What a blob is called in messages.
pub(super) fn name(blob: &Blob) -> String {
    format!("blob {}", blob.hash)
}
