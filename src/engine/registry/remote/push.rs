//! Pushes images to a registry. Blobs are streamed in one request each, to where the registry says: over TLS, and with
//! credentials only if that is the registry itself.

use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::{Either, select};
use futures_util::stream;
use reqwest::header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HeaderValue, LOCATION};
use reqwest::{Body, Method, Response, Url};
use tokio::sync::mpsc::{Receiver, channel};

use super::super::{Descriptor, ImageName, MediaType, RegistryError, Result, Sha256, Target, Verified};
use super::authorize::without_tls;
use super::http::{Ask, Http};
use super::mirrors::Place;
use super::{Access, Remote, failure};

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
        let (sender, chunks) = channel::<std::io::Result<Bytes>>(4);
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
                    let _ = sender.blocking_send(Err(std::io::ErrorKind::UnexpectedEof.into()));
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

/// Asks where the blob is to go, and streams it there.
async fn upload(
    http: Arc<Http>,
    image: ImageName,
    blob: Descriptor,
    chunks: Receiver<std::io::Result<Bytes>>,
) -> Result<()> {
    let place = Place::of(&image);
    let name = image.to_string();
    let mut ask = Ask::get(&name, "its repository", "blobs/uploads/".to_owned());
    ask.method = Method::POST;
    let begun = http.send(&place, &ask).await?;
    let to = location(&http.access, &begun, &blob).map_err(|reason| stopped(&image, &reason))?;
    let taken = Arc::new(AtomicU64::new(0));
    let stream = stream::unfold((chunks, taken.clone()), |(mut chunks, counter)| async move {
        counter.fetch_add(1, Ordering::Relaxed); // odd: waiting for the source
        let chunk = chunks.recv().await;
        counter.fetch_add(1, Ordering::Relaxed);
        chunk.map(|chunk| (chunk, (chunks, counter)))
    });
    let mut request = http
        .uploads
        .put(to.clone())
        .header(CONTENT_TYPE, "application/octet-stream")
        .header(CONTENT_LENGTH, blob.size)
        .body(Body::wrap_stream(stream));
    // Another host, such as a cloud's storage, gets the bytes and no credentials.
    let own: Option<Url> = http.base(&place).parse().ok();
    if own.is_some_and(|own| own.origin() == to.origin())
        && let Some(token) = http.token(&place, &ask)
    {
        request = request.header(AUTHORIZATION, token);
    }
    match select(Box::pin(request.send()), Box::pin(stall(&taken, http.access.patience.idle))).await {
        Either::Left((Ok(response), _)) if response.status().is_success() => Ok(()),
        Either::Left((Ok(response), _)) => {
            Err(failure::answer(&ask, &place, response.status(), http.shows(&place, &ask)))
        }
        Either::Left((Err(error), _)) => Err(failure::transport(&ask, &place, error).0),
        Either::Right(_) => Err(stopped(&image, "the upload stalled")),
    }
}

/// Where a registry wants a blob. A wrong answer is not quoted: such a URL may be signed.
fn location(access: &Access, begun: &Response, blob: &Descriptor) -> std::result::Result<Url, String> {
    let location = begun.headers().get(LOCATION).and_then(|value| value.to_str().ok());
    let to = location.and_then(|location| begun.url().join(location).ok());
    let mut to = to.ok_or("it does not say where to upload to")?;
    if let Some(authority) = without_tls(access, &to) {
        return Err(format!("it wants uploads at `{authority}` without TLS"));
    }
    to.query_pairs_mut().append_pair("digest", &blob.digest.to_string());
    Ok(to)
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
