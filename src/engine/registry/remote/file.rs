//! A file by its URL, from an offset on. The same client as for registries: proxies, certificates, redirects; but no
//! credentials are ever sent.
//!
//! There is no deadline for the whole: a large file takes as long as it takes. It must keep coming, though ([`super::pace`]).

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{CONTENT_LENGTH, CONTENT_RANGE, RANGE};
use reqwest::{Method, Response, StatusCode};

use super::super::RegistryError;
use super::http::Ask;
use super::mirrors::Place;
use super::pace::{Pace, TooSlow};
use super::{Remote, failure};

/// Why a file, or the rest of it, did not come.
#[derive(Debug)]
pub(crate) enum FileFailure {
    /// The user cancelled.
    Cancelled,
    /// There is nothing at this offset: the file is shorter.
    Beyond,
    Failed {
        error: RegistryError,
        retry: bool,
    },
}

/// The content of a remote file.
pub(crate) struct RemoteFile<'a> {
    /// Where it starts: the offset, or zero if the server does not do ranges.
    pub start: u64,
    /// The size of the whole file, if the server says.
    pub total: Option<u64>,
    url: &'a str,
    remote: &'a Remote,
    cancel: &'a AtomicBool,
    response: Response,
    pace: Pace,
}

impl Remote {
    /// Starts to read a file at an offset: one attempt.
    pub(crate) fn file<'a>(
        &'a self,
        url: &'a str,
        offset: u64,
        cancel: &'a AtomicBool,
    ) -> Result<RemoteFile<'a>, FileFailure> {
        let mut request = self.http.client.request(Method::GET, url);
        if offset > 0 {
            request = request.header(RANGE, format!("bytes={offset}-"));
        }
        let response = match self.unless_cancelled(cancel, async { request.send().await }) {
            None => return Err(FileFailure::Cancelled),
            Some(sent) => sent.map_err(|error| broken(url, error))?,
        };
        let length = response.content_length();
        let (start, total) = match response.status() {
            StatusCode::PARTIAL_CONTENT => content_range(&response).unwrap_or((offset, None)),
            StatusCode::RANGE_NOT_SATISFIABLE if offset > 0 => return Err(FileFailure::Beyond),
            status if status.is_success() => (0, length),
            status => return Err(refused(url, status)),
        };
        let pace = Pace::new(&self.http.access.patience);
        Ok(RemoteFile { start, total, url, remote: self, cancel, response, pace })
    }

    /// The size of a file, if the server says so within a few seconds.
    pub(crate) fn file_size(&self, url: &str, patience: Duration) -> Option<u64> {
        let request = self.http.client.request(Method::HEAD, url);
        let response =
            self.runtime().block_on(async { tokio::time::timeout(patience, request.send()).await });
        let response = response.ok()?.ok().filter(|response| response.status().is_success())?;
        // The length of the body that a GET would have; `content_length` is that of this response's.
        response.headers().get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
    }

    /// Delays between attempts.
    pub(crate) fn delays(&self) -> &[Duration] {
        &self.http.access.patience.delays
    }

    fn unless_cancelled<T>(&self, cancel: &AtomicBool, work: impl Future<Output = T>) -> Option<T> {
        self.runtime().block_on(super::until(cancel, work))
    }
}

impl RemoteFile<'_> {
    /// The next bytes; none at the end.
    pub(crate) fn chunk(&mut self) -> Result<Option<Bytes>, FileFailure> {
        if self.cancel.load(Ordering::Relaxed) {
            return Err(FileFailure::Cancelled);
        }
        let Self { url, remote, cancel, response, pace, .. } = self;
        let response = tokio::sync::Mutex::new(response); // each attempt of `wait` borrows it
        let next = pace.wait(|| async { response.lock().await.chunk().await });
        let chunk = match remote.unless_cancelled(cancel, next) {
            None => return Err(FileFailure::Cancelled),
            Some(Err(slow)) => return Err(too_slow(url, slow)),
            Some(Ok(chunk)) => chunk.map_err(|error| broken(url, error))?,
        };
        pace.received(chunk.as_ref().map_or(0, Bytes::len) as u64).map_err(|slow| too_slow(url, slow))?;
        Ok(chunk)
    }
}

fn too_slow(url: &str, slow: TooSlow) -> FileFailure {
    let advice = Some("use a mirror that is nearer; what came so far is kept".to_owned());
    let (image, place, reason) = (shown(url), host(url), slow.to_string());
    let error = RegistryError::Unreachable { image, place, reason, advice };
    FileFailure::Failed { error, retry: true }
}

/// Where a partial response starts, and the size of the whole.
fn content_range(response: &Response) -> Option<(u64, Option<u64>)> {
    let text = response.headers().get(CONTENT_RANGE)?.to_str().ok()?.strip_prefix("bytes ")?;
    let (range, total) = text.split_once('/')?;
    Some((range.split_once('-')?.0.parse().ok()?, total.parse().ok()))
}

fn refused(url: &str, status: StatusCode) -> FileFailure {
    let (image, place) = (shown(url), host(url));
    let error = match status {
        StatusCode::NOT_FOUND => RegistryError::NotFound { image, what: "the file".into(), place },
        _ => {
            let reason = format!("it answers {status}");
            RegistryError::Unreachable { image, place, reason, advice: None }
        }
    };
    FileFailure::Failed { error, retry: failure::is_busy(status) }
}

fn broken(url: &str, error: reqwest::Error) -> FileFailure {
    let (name, place) = (shown(url), Place { registry: host(url), repository: String::new() });
    let (error, retry) = failure::transport(&Ask::get(&name, "the file", String::new()), &place, error);
    FileFailure::Failed { error, retry }
}

/// A URL without what may be secret in it: a password, a signature.
pub(crate) fn shown(url: &str) -> String {
    let url = url.split(['?', '#']).next().unwrap_or_default();
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let (authority, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    format!("{scheme}://{host}{path}")
}

fn host(url: &str) -> String {
    let shown = shown(url);
    let rest = shown.split_once("://").map_or(shown.as_str(), |(_, rest)| rest);
    rest.split('/').next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_shown_without_secrets() {
        assert_eq!(shown("https://me:hunter2@a.b:8/x/y.iso?sig=s#z"), "https://a.b:8/x/y.iso");
        assert_eq!(host("https://me:hunter2@a.b:8/x@y.iso"), "a.b:8");
        assert_eq!(shown("file:///a/b"), "file:///a/b");
        assert_eq!(host("nothing"), "nothing");
    }
}
