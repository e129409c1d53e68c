//! Pushes images to a registry. Blobs are streamed in one request each, by oci-client.

use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::{Either, select};
use futures_util::stream;
use oci_client::RegistryOperation;
use oci_client::errors::OciDistributionError;
use oci_client::secrets::RegistryAuth;
use reqwest::header::HeaderValue;
use reqwest::{Method, StatusCode};
use tokio::sync::mpsc::channel;

use super::super::{Descriptor, ImageName, MediaType, RegistryError, Result, Sha256, Target, Verified};
use super::authorize::authorize;
use super::http::{Ask, Http};
use super::mirrors::Place;
use super::{Remote, failure};

/// How much to read at once for an upload.
const CHUNK: usize = 256 * 1024;

impl Target for Remote {
    fn has_blob(&self, image: &ImageName, blob: &Descriptor) -> Result<bool> {
        let name = image.to_string();
        let what = format!("blob {}", blob.digest);
        let mut ask = Ask::get(&name, &what, format!("blobs/{}", blob.digest));
        ask.method = Method::HEAD;
        match self.wait(self.http.send(&Place::of(image), &ask)) {
            Ok(_) => Ok(true),
            Err(RegistryError::NotFound { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn put_blob(&self, image: &ImageName, blob: &Descriptor, bytes: &mut dyn Read) -> Result<()> {
        let (sender, chunks) = channel::<std::result::Result<Bytes, OciDistributionError>>(4);
        let upload = self.runtime().spawn(upload(self.http.clone(), image.clone(), blob.clone(), chunks));
        let mut bytes = Verified::new(bytes, image, blob);
        let mut buffer = vec![0; CHUNK];
        loop {
            match bytes.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => {
                    let chunk = Bytes::copy_from_slice(&buffer[..count]);
                    let sent = async { Ok(sender.send(Ok(chunk)).await) };
                    if self.wait(sent)?.is_err() {
                        break; // the upload ended early and reports why
                    }
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => {
                    // Aborts the upload: a registry keeps nothing of it.
                    let _ = sender.blocking_send(Err(OciDistributionError::PushNoDataError));
                    drop(sender);
                    let _ = self.runtime().block_on(upload);
                    return Err(RegistryError::from_io(error).unwrap_or_else(|other| {
                        RegistryError::Malformed {
                            image: image.to_string(),
                            problem: format!("blob {} cannot be read: {other}", blob.digest),
                        }
                    }));
                }
            }
        }
        drop(sender);
        self.wait(async { upload.await.unwrap_or_else(|_| Err(stopped(image, "the upload was aborted"))) })
    }

    fn put_manifest(
        &self,
        image: &ImageName,
        media_type: &MediaType,
        bytes: &[u8],
        tag: Option<&str>,
    ) -> Result<()> {
        let name = image.to_string();
        let digest = Sha256::of(bytes).to_string();
        let mut ask = Ask::get(&name, "its repository", format!("manifests/{}", tag.unwrap_or(&digest)));
        ask.method = Method::PUT;
        let problem = || format!("`{}` is not a media type", media_type.escape_debug());
        let media_type = HeaderValue::from_str(media_type)
            .map_err(|_| RegistryError::Malformed { image: name.clone(), problem: problem() })?;
        ask.body = Some((media_type, Bytes::copy_from_slice(bytes)));
        self.wait(self.http.send(&Place::of(image), &ask)).map(drop)
    }
}

fn stopped(image: &ImageName, reason: &str) -> RegistryError {
    RegistryError::Unreachable {
        image: image.to_string(),
        place: image.registry.clone(),
        reason: reason.to_owned(),
        advice: None,
    }
}

async fn upload(
    http: Arc<Http>,
    image: ImageName,
    blob: Descriptor,
    chunks: tokio::sync::mpsc::Receiver<std::result::Result<Bytes, OciDistributionError>>,
) -> Result<()> {
    let place = Place::of(&image);
    let client = http.theirs(&place)?;
    let shown = http.credentials.of(&place.registry, &place.repository).is_some();
    let reference = http.reference(&place);
    let name = image.to_string();
    let ask = Ask::get(&name, "its repository", String::new());
    // In advance, with retries: oci-client would ignore a failed login and send the blob without it.
    let token = authorize(&http, &place, &ask, RegistryOperation::Push).await?;
    let bearer = token.as_ref().and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
    let auth = match (bearer, http.credentials.of(&place.registry, &place.repository)) {
        (Some(token), _) => RegistryAuth::Bearer(token.to_owned()),
        (None, Some((_, credential))) => credential.reveal(),
        (None, None) => RegistryAuth::Anonymous,
    };
    // A failure is reported by the upload.
    let _ = client.auth(&reference, &auth, RegistryOperation::Push).await;
    let taken = Arc::new(AtomicU64::new(0));
    let counter = taken.clone();
    let stream = stream::unfold((chunks, counter), |(mut chunks, counter)| async move {
        counter.fetch_add(1, Ordering::Relaxed); // odd: waiting for the source
        let chunk = chunks.recv().await;
        counter.fetch_add(1, Ordering::Relaxed);
        chunk.map(|chunk| (chunk, (chunks, counter)))
    });
    let digest = blob.digest.to_string();
    let push = client.push_blob_stream(&reference, stream, &digest, Some(blob.size));
    let done = match select(Box::pin(push), Box::pin(stall(&taken, http.access.patience.idle))).await {
        Either::Left((done, _)) => done,
        Either::Right(_) => return Err(stopped(&image, "the upload stalled")),
    };
    match done {
        Ok(_) => Ok(()),
        Err(OciDistributionError::RequestError(error)) => Err(failure::transport(&ask, &place, error).0),
        Err(OciDistributionError::ServerError { code, .. }) => {
            let status = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            Err(failure::answer(&ask, &place, status, shown))
        }
        // Other messages may contain URLs.
        Err(_) => Err(stopped(&image, "it sent an unexpected response to an upload")),
    }
}

/// Returns when nothing was accepted for that long although data was available.
async fn stall(taken: &AtomicU64, idle: Duration) {
    let mut before = u64::MAX;
    loop {
        let now = taken.load(Ordering::Relaxed);
        if now == before && now.is_multiple_of(2) {
            return;
        }
        before = now;
        tokio::time::sleep(idle).await;
    }
}
