//! Blobs as streams: cut into messages, compressed where the server can, and put together again.

use std::io::{self, Read, Write};

use bazel_remote_apis::google::bytestream::byte_stream_client::ByteStreamClient;
use bazel_remote_apis::google::bytestream::{ReadRequest, WriteRequest};
use data_encoding::HEXLOWER;
use futures_util::stream;
use ruzstd::decoding::{FrameDecoder, StreamingDecoder};
use ruzstd::encoding::{CompressionLevel, FrameCompressor};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tonic::Status;

use super::blobs::name;
use super::{Access, Blob, Capabilities, Client, Pace, RegistryError, Result, until};

/// How much of a stream goes into one message.
const CHUNK: usize = 256 << 10;

/// What zstd takes at most for nothing, and for the frames of a small blob.
const PACKED: u64 = 64 << 10;

/// Chunks of a stream that wait for whoever is slower.
const AHEAD: usize = 4;

impl Client {
    /// The bytes of a blob.
    pub(super) fn read_stream<'a>(
        &'a self,
        can: &Capabilities,
        blob: &Blob,
        zstd: bool,
    ) -> Box<dyn Read + Send + 'a> {
        let prefix = if zstd { "compressed-blobs/zstd" } else { "blobs" };
        let stream = self.stream(self.resource(prefix, can, blob), &name(blob));
        if !zstd {
            return Box::new(stream);
        }
        // Frames may be empty, so the bytes that they unpack to do not bound them.
        let most = blob.size.saturating_mul(2).saturating_add(PACKED);
        Box::new(Frames { from: Some(Bounded { from: stream, left: most }), decoder: None })
    }

    /// Stores a blob, whose bytes are these.
    pub(super) fn write_stream(
        &self,
        can: &Capabilities,
        blob: &Blob,
        bytes: &mut dyn Read,
        zstd: bool,
    ) -> Result<()> {
        let what = name(blob);
        let mut random = [0; 16];
        getrandom::fill(&mut random)
            .map_err(|_| RegistryError::Access { problem: "the system has no randomness".to_owned() })?;
        let kind = if zstd { "compressed-blobs/zstd" } else { "blobs" };
        let prefix = format!("uploads/{}/{kind}", uuid(random));
        let (sender, chunks) = channel(AHEAD);
        let mut client = ByteStreamClient::new(self.channel.clone());
        let request = self.request(stream::unfold(chunks, |mut chunks: Receiver<WriteRequest>| async move {
            chunks.recv().await.map(|chunk| (chunk, chunks))
        }));
        let upload = self.handle.spawn(async move { client.write(request).await });
        let mut to = Upload {
            client: self,
            sender,
            resource: self.resource(&prefix, can, blob),
            buffer: Vec::with_capacity(CHUNK),
            offset: 0,
            ended: false,
        };
        let read = if zstd { compress(bytes, &mut to) } else { io::copy(bytes, &mut to).map(drop) };
        let stored = to.offset + to.buffer.len() as u64;
        match read {
            Err(error) if !to.ended => {
                // Half a stream is no blob: the server drops it.
                upload.abort();
                return Err(self.unreadable(blob, error));
            }
            _ => to.finish(),
        }
        let limit = self.access.patience.whole;
        let said = self.wait(async {
            match tokio::time::timeout(limit, upload).await {
                Ok(Ok(Ok(answer))) => Ok(answer.into_inner().committed_size),
                Ok(Ok(Err(status))) => Err(self.failure(&what, &status)),
                Ok(Err(_)) => Err(self.unreachable(&what, "the upload was aborted".to_owned())),
                Err(_) => Err(self.unreachable(&what, format!("no answer within {} s", limit.as_secs_f32()))),
            }
        })?;
        // Whoever has the blob already may say so before all of it is sent.
        match u64::try_from(said) {
            Ok(size) if size != stored && size != blob.size => {
                Err(self.malformed(&what, format!("{} kept {size} of {} bytes", self.place, blob.size)))
            }
            _ => Ok(()),
        }
    }

    fn resource(&self, prefix: &str, can: &Capabilities, blob: &Blob) -> String {
        let slash = if self.instance.is_empty() { "" } else { "/" };
        let Blob { hash, size } = blob;
        format!("{}{slash}{prefix}/{}{hash}/{size}", self.instance, can.function.segment())
    }

    fn stream(&self, resource_name: String, what: &str) -> Download<'_> {
        let (sender, chunks) = channel(AHEAD);
        let request = self.request(ReadRequest { resource_name, ..Default::default() });
        let mut client = ByteStreamClient::new(self.channel.clone());
        self.handle.spawn(async move {
            let mut answer = match client.read(request).await {
                Ok(answer) => answer.into_inner(),
                Err(status) => return drop(sender.send(Err(status)).await),
            };
            loop {
                let chunk = match answer.message().await {
                    Ok(Some(chunk)) => Ok(chunk.data),
                    Ok(None) => return,
                    Err(status) => Err(status),
                };
                if sender.send(chunk).await.is_err() {
                    return; // nobody reads on
                }
            }
        });
        let pace = Pace::new(&self.access.patience);
        Download { client: self, what: what.to_owned(), chunks, rest: io::Cursor::new(Vec::new()), pace }
    }
}

/// Sixteen random bytes as a UUID, version 4.
fn uuid(mut bytes: [u8; 16]) -> String {
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    let hex = HEXLOWER.encode(&bytes);
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

fn compress(from: &mut dyn Read, to: &mut Upload<'_>) -> io::Result<()> {
    // The encoder ignores what its reader says, so this remembers it.
    let mut watched = Watched { from, failed: None };
    let mut encoder = FrameCompressor::new(CompressionLevel::Fastest);
    encoder.set_source(&mut watched);
    encoder.set_drain(to);
    encoder.compress();
    drop(encoder);
    watched.failed.map_or(Ok(()), Err)
}

/// Takes an error for the end, and keeps it.
struct Watched<'a> {
    from: &'a mut dyn Read,
    failed: Option<io::Error>,
}

impl Read for Watched<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.from.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.failed = Some(error);
                    return Ok(0);
                }
                done => return done,
            }
        }
    }
}

/// Cuts what is written into messages.
struct Upload<'a> {
    client: &'a Client,
    sender: Sender<WriteRequest>,
    /// Only the first message has it.
    resource: String,
    buffer: Vec<u8>,
    offset: u64,
    /// Whether the server wants no more: its answer says why.
    ended: bool,
}

impl Upload<'_> {
    fn send(&mut self, finish_write: bool) {
        let data = std::mem::replace(&mut self.buffer, Vec::with_capacity(CHUNK));
        let message = WriteRequest {
            resource_name: std::mem::take(&mut self.resource),
            write_offset: self.offset as i64,
            finish_write,
            data,
        };
        self.offset += message.data.len() as u64;
        let Access { cancel, patience, .. } = &self.client.access;
        let sent = self.client.handle.block_on(until(cancel, async {
            tokio::time::timeout(patience.idle, self.sender.send(message)).await
        }));
        self.ended |= !matches!(sent, Some(Ok(Ok(()))));
    }

    /// Says that this is all.
    fn finish(mut self) {
        if !self.ended {
            self.send(true);
        }
    }
}

impl Write for Upload<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.ended {
            return Ok(bytes.len()); // the encoder has no way to stop
        }
        let count = bytes.len().min(CHUNK - self.buffer.len());
        self.buffer.extend_from_slice(&bytes[..count]);
        if self.buffer.len() == CHUNK {
            self.send(false);
        }
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A stream that arrives.
struct Download<'a> {
    client: &'a Client,
    what: String,
    chunks: Receiver<std::result::Result<Vec<u8>, Status>>,
    rest: io::Cursor<Vec<u8>>,
    pace: Pace,
}

impl Read for Download<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let count = self.rest.read(buffer)?;
            if count > 0 || buffer.is_empty() {
                return Ok(count);
            }
            let Self { client, what, chunks, pace, .. } = self;
            let next = client.wait(async {
                let chunks = tokio::sync::Mutex::new(chunks);
                let next = pace.wait(|| async { chunks.lock().await.recv().await });
                let chunk = match tokio::time::timeout(client.access.patience.idle, next).await {
                    Ok(Ok(Some(Ok(chunk)))) => Some(chunk),
                    Ok(Ok(Some(Err(status)))) => return Err(client.failure(what, &status)),
                    Ok(Ok(None)) => None,
                    Ok(Err(slow)) => return Err(client.unreachable(what, slow.to_string())),
                    Err(_) => return Err(client.unreachable(what, "the download stalled".to_owned())),
                };
                let count = chunk.as_ref().map_or(0, Vec::len) as u64;
                pace.received(count).map_err(|slow| client.unreachable(what, slow.to_string()))?;
                Ok(chunk)
            });
            match next.map_err(io::Error::other)? {
                Some(chunk) => self.rest = io::Cursor::new(chunk),
                None => return Ok(0),
            }
        }
    }
}

/// Fails after so many bytes.
struct Bounded<R> {
    from: R,
    left: u64,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.from.read(buffer)?;
        match self.left.checked_sub(count as u64) {
            Some(left) => self.left = left,
            None => {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    "more than a packed blob of its size",
                ));
            }
        }
        Ok(count)
    }
}

/// Unpacks zstd, frame after frame.
struct Frames<R: Read> {
    /// Between two frames.
    from: Option<R>,
    decoder: Option<Box<StreamingDecoder<Ahead<R>, FrameDecoder>>>,
}

/// A reader with a byte that was read to see whether there is one.
struct Ahead<R> {
    byte: Option<u8>,
    from: R,
}

impl<R: Read> Read for Ahead<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.byte.take_if(|_| !buffer.is_empty()) {
            Some(byte) => {
                buffer[0] = byte;
                Ok(1)
            }
            None => self.from.read(buffer),
        }
    }
}

impl<R: Read> Read for Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if let Some(decoder) = &mut self.decoder {
                let count = decoder.read(buffer)?;
                if count > 0 || buffer.is_empty() {
                    return Ok(count);
                }
                self.from = self.decoder.take().map(|decoder| decoder.into_inner().from);
            }
            let Some(mut from) = self.from.take() else { return Ok(0) };
            let mut byte = [0];
            if from.read(&mut byte)? == 0 {
                return Ok(0);
            }
            let decoder =
                StreamingDecoder::new(Ahead { byte: Some(byte[0]), from }).map_err(io::Error::other)?;
            self.decoder = Some(Box::new(decoder));
        }
    }
}
