//! Streams a blob from the runtime to a synchronous reader, through a bounded channel.
//!
//! A broken connection is resumed where it broke (Range). If the registry ignores Range and sends the whole blob again,
//! the part that was already read is skipped. A registry that is too slow ([`super::pace`]) counts as broken.

use std::io::{self, Read};
use std::sync::Arc;

use bytes::{Buf, Bytes};
use reqwest::header::CONTENT_RANGE;
use reqwest::{Response, StatusCode};
use tokio::sync::mpsc::{Receiver, Sender, channel};

use super::super::{Descriptor, RegistryError, Result};
use super::http::{Ask, Http};
use super::mirrors::Place;
use super::pace::{Pace, TooSlow};
use super::{Refusals, failure};
use crate::base::cancel::Cancel;

/// Chunks between the network and a slow reader.
const CHUNKS: usize = 8;

pub(super) struct Download {
    pub(super) http: Arc<Http>,
    pub(super) places: Vec<Place>,
    pub(super) image: String,
    pub(super) blob: Descriptor,
}

impl Download {
    /// A response that starts at `offset`, or at the beginning, from the first place that has one.
    pub(super) async fn open(&self, offset: u64) -> Result<(Place, Response)> {
        let what = format!("blob {}", self.blob.digest);
        let mut ask = Ask::get(&self.image, &what, format!("blobs/{}", self.blob.digest));
        ask.offset = offset;
        ask.elsewhere = self.places.len() > 1;
        let mut refusals = Refusals::new(&self.image);
        for place in &self.places {
            match self.http.send(place, &ask).await {
                Ok(response) => return Ok((place.clone(), response)),
                Err(error) => refusals.said.push((place, error)),
            }
        }
        Err(refusals.into_error())
    }

    /// Starts reading. The first response already exists, so that a missing blob is known before the first byte.
    pub(super) fn start(mut self, runtime: &tokio::runtime::Handle, first: (Place, Response)) -> Pipe {
        let (sender, chunks) = channel(CHUNKS);
        let cancel = self.http.access.cancel.clone();
        runtime.spawn(async move {
            if let Err(error) = self.pump(first, &sender).await {
                let _ = sender.send(Err(error)).await; // the reader may be gone
            }
        });
        Pipe { chunks, now: Bytes::new(), runtime: runtime.clone(), cancel }
    }

    async fn pump(&mut self, first: (Place, Response), to: &Sender<Result<Bytes>>) -> Result<()> {
        let (mut place, mut response) = first;
        let mut offset = 0;
        let mut tries = 0;
        let mut pace = Pace::new(&self.http.access.patience);
        loop {
            let before = offset;
            let Some(error) = self.pour(response, &mut offset, &mut pace, to).await else { return Ok(()) };
            if offset > before && pace.slow() == 0 {
                tries = 0; // there is progress
            } else {
                self.places.sort_by_key(|other| *other == place); // the others first
            }
            let tried = tries.max(pace.slow());
            let Some(delay) = self.http.access.patience.delays.get(tried).copied() else {
                return Err(self.failed(&place, offset, error));
            };
            tries += 1;
            let begin = std::time::Instant::now();
            tokio::time::sleep(delay).await;
            (place, response) = self.open(offset).await?;
            pace.waited(begin.elapsed());
        }
    }

    fn failed(&self, place: &Place, offset: u64, error: Interruption) -> RegistryError {
        let what = format!("blob {}", self.blob.digest);
        let ask = Ask::get(&self.image, &what, String::new());
        let error = match error {
            Interruption::Broken(error) => failure::transport(&ask, place, error).0,
            Interruption::Slow(slow) => RegistryError::Unreachable {
                image: self.image.clone(),
                place: place.registry.clone(),
                reason: slow.to_string(),
                advice: Some("try again later, or use a mirror".to_owned()),
            },
        };
        match error {
            RegistryError::Unreachable { image, place, reason, advice } => {
                let reason = format!("{what} broke off after {offset} of {} bytes: {reason}", self.blob.size);
                RegistryError::Unreachable { image, place, reason, advice }
            }
            other => other,
        }
    }

    /// Forwards a response from `offset`; returns what interrupted it, none if it is complete or nobody listens.
    async fn pour(
        &self,
        response: Response,
        offset: &mut u64,
        pace: &mut Pace,
        to: &Sender<Result<Bytes>>,
    ) -> Option<Interruption> {
        let mut at = match response.status() {
            StatusCode::PARTIAL_CONTENT => begin(&response).unwrap_or(*offset),
            _ => 0,
        };
        let response = tokio::sync::Mutex::new(response); // each attempt of `wait` borrows it
        loop {
            let next = pace.wait(|| async { response.lock().await.chunk().await }).await;
            let mut chunk = match next {
                Ok(Ok(None)) => return None,
                Ok(Ok(Some(chunk))) => chunk,
                Ok(Err(_)) if *offset >= self.blob.size => return None,
                Ok(Err(error)) => return Some(Interruption::Broken(error)),
                Err(slow) => return Some(Interruption::Slow(slow)),
            };
            let known = offset.saturating_sub(at).min(chunk.len() as u64);
            at += chunk.len() as u64;
            chunk.advance(known as usize);
            *offset += chunk.len() as u64;
            let judged = pace.received(chunk.len() as u64);
            if !chunk.is_empty() && to.send(Ok(chunk)).await.is_err() {
                return None;
            }
            if let (Err(slow), true) = (judged, *offset < self.blob.size) {
                return Some(Interruption::Slow(slow));
            }
        }
    }
}

enum Interruption {
    Broken(reqwest::Error),
    Slow(TooSlow),
}

/// The offset of a partial response.
fn begin(response: &Response) -> Option<u64> {
    let text = response.headers().get(CONTENT_RANGE)?.to_str().ok()?;
    text.strip_prefix("bytes ")?.split('-').next()?.parse().ok()
}

pub(super) struct Pipe {
    chunks: Receiver<Result<Bytes>>,
    now: Bytes,
    runtime: tokio::runtime::Handle,
    cancel: Cancel,
}

impl Read for Pipe {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.now.is_empty() {
            match self.runtime.block_on(super::until(&self.cancel, self.chunks.recv())) {
                None => return Err(io::Error::other(RegistryError::Interrupted)),
                Some(None) => return Ok(0),
                Some(Some(Ok(chunk))) => self.now = chunk,
                Some(Some(Err(error))) => return Err(io::Error::other(error)),
            }
        }
        let count = buffer.len().min(self.now.len());
        self.now.copy_to_slice(&mut buffer[..count]);
        Ok(count)
    }
}
