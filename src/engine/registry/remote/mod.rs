//! Registries over the network. Only this module, `reapi` and `api` contain asynchronous code: every [`Remote`] owns a small
//! runtime, and its calls block.
//!
//! | question | answer |
//! |---|---|
//! | which credentials | the pull secret's entry with the longest match of `registry/repository`; sent only when asked |
//! | which place | for a digest: its mirrors in order, then its source unless the policy forbids it; for a tag: its source |
//! | what is retried | 5xx, 429 and 408, failed or broken connections; never a wrong certificate |
//! | plain http | only for the registries that [`Access::plain_http`] lists, loopback included; not by a redirect, and not for a token. A file by its URL may come over plain http: its sha256 is pinned, and nothing secret is sent |
//! | how much, how long | manifests, lists of lists and tokens have a size, a depth and a total time; blobs a size and a lowest speed ([`pace`]) |
//! | environment | never read: proxies are values in [`Access`] |

mod access;
mod authorize;
mod challenge;
mod client;
mod credentials;
mod failure;
pub(crate) mod file;
mod http;
mod mirrors;
mod pace;
mod push;
mod stream;

use std::fmt;
use std::io::Read;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use reqwest::Method;

pub use access::{Access, MirrorRule, Patience, ProxySettings};

use self::http::{Ask, Http};
pub(in crate::engine) use credentials::basic;
pub(crate) use mirrors::{is_below, mirrors_of};
pub(in crate::engine) use pace::Pace;

use self::mirrors::{Place, places};
use self::stream::Download;
use super::image::media_type_of;
use super::name::is_tag;
use super::{
    Descriptor, ImageName, Images, Located, MediaType, Reference, RegistryError, Result, Sha256, Verified,
    verify,
};
use crate::base::cancel::GLANCE;
use crate::base::hint::Hint as _;

/// Threads of the runtime. They wait for the network; hashing and unpacking happen on the reader's threads.
const THREADS: usize = 2;

/// All registries that an [`Access`] opens.
pub struct Remote {
    http: Arc<Http>,
    /// Taken only on drop.
    runtime: Option<tokio::runtime::Runtime>,
    handle: tokio::runtime::Handle,
}

impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remote").field("access", &self.http.access).finish_non_exhaustive()
    }
}

/// Readers may be abandoned in the middle of a blob; do not wait for them.
impl Drop for Remote {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Remote {
    /// Prepares everything, but does not connect yet.
    pub fn new(access: Access) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(THREADS)
            .thread_name("registry")
            .enable_all()
            .build()
            .map_err(|error| RegistryError::Access {
                problem: format!("cannot start network threads: {error}"),
            })?;
        let handle = runtime.handle().clone();
        Ok(Self { http: Arc::new(Http::new(access)?), runtime: Some(runtime), handle })
    }

    fn runtime(&self) -> &tokio::runtime::Handle {
        &self.handle
    }

    /// Blocks until the work is done, or the user cancels.
    fn wait<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        let done = self.runtime().block_on(until(&self.http.access.cancel, work));
        done.unwrap_or(Err(RegistryError::Interrupted))
    }

    fn places(&self, image: &ImageName) -> Vec<Place> {
        self.http.order(places(&self.http.access.mirrors, image))
    }
}

/// Does the work until it is done; none if the flag is set before.
pub(in crate::engine) async fn until<T>(cancel: &AtomicBool, work: impl Future<Output = T>) -> Option<T> {
    let mut work = pin!(work);
    loop {
        match tokio::time::timeout(GLANCE, &mut work).await {
            Ok(done) => return Some(done),
            Err(_) if cancel.load(Ordering::Relaxed) => return None,
            Err(_) => {}
        }
    }
}

fn join(places: &[Place]) -> String {
    places.iter().map(Place::to_string).collect::<Vec<_>>().join(", ")
}

/// The errors of places that failed to answer a request.
struct Refusals<'a> {
    image: &'a str,
    said: Vec<(&'a Place, RegistryError)>,
}

impl<'a> Refusals<'a> {
    fn new(image: &'a str) -> Self {
        Self { image, said: Vec::new() }
    }

    /// For several places, reports every error; for one, its own error is enough.
    fn into_error(mut self) -> RegistryError {
        if self.said.len() == 1 {
            return self.said.remove(0).1;
        }
        let prefix = format!("{}: ", self.image);
        let mut advice = None;
        let mut tried = Vec::new();
        for (place, error) in self.said {
            advice = advice.or_else(|| error.hint());
            let text = error.to_string();
            tried.push(format!("{place}: {}", text.strip_prefix(&prefix).unwrap_or(&text)));
        }
        RegistryError::NoMirror { image: self.image.to_owned(), tried, advice }
    }
}

/// What caches need beyond images.
impl Remote {
    /// The bytes that a tag names now. Its answer must begin within `first`; how long the rest takes is as for every manifest.
    pub(crate) fn tagged(&self, image: &ImageName, first: Duration) -> Result<Vec<u8>> {
        let name = image.to_string();
        let Reference::Tag(tag) = &image.reference else {
            let problem = "it is not named by a tag".to_owned();
            return Err(RegistryError::Malformed { image: name, problem });
        };
        let what = format!("the tag `{tag}`");
        let ask = Ask::get(&name, &what, format!("manifests/{tag}"));
        let (said, bytes) = self.wait(self.http.prompt(&Place::of(image), &ask, first))?;
        match said {
            // Bytes that rotted at the registry.
            Some(said) if said != Sha256::of(&bytes) => Err(RegistryError::Mismatch {
                image: name,
                what,
                expected: said.to_string(),
                found: Sha256::of(&bytes).to_string(),
            }),
            _ => Ok(bytes),
        }
    }

    /// All tags of a repository, of which no real one has a million.
    pub fn tags(&self, image: &ImageName) -> Result<Vec<String>> {
        #[derive(serde::Deserialize)]
        struct Page {
            #[serde(default)]
            tags: Option<Vec<String>>,
        }
        const PAGE: usize = 1000;
        const MOST: usize = 1_000_000;
        let name = image.to_string();
        let mut all: Vec<String> = Vec::new();
        loop {
            let last = all.last().map(|last| format!("&last={last}")).unwrap_or_default();
            let ask = Ask::get(&name, "its tags", format!("tags/list?n={PAGE}{last}"));
            let (_, bytes) = self.wait(self.http.whole(&Place::of(image), &ask))?;
            let malformed = |problem: &str| RegistryError::Malformed {
                image: name.clone(),
                problem: format!("its list of tags {problem}"),
            };
            let Page { tags } = serde_json::from_slice(&bytes).map_err(|_| malformed("cannot be read"))?;
            let tags = tags.unwrap_or_default();
            if !tags.iter().all(|tag| is_tag(tag)) {
                return Err(malformed("has one that is no tag"));
            }
            let more = tags.len() >= PAGE && tags.last() != all.last();
            all.extend(tags);
            if !more {
                return Ok(all);
            }
            if all.len() > MOST {
                return Err(malformed("has more than a million"));
            }
        }
    }

    /// Removes a manifest, and with it all its tags.
    pub(crate) fn delete(&self, image: &ImageName) -> Result<()> {
        let Reference::Digest(digest) = &image.reference else {
            let problem = "only a digest says what is removed".to_owned();
            return Err(RegistryError::Malformed { image: image.to_string(), problem });
        };
        let name = image.to_string();
        let what = format!("manifest {digest}");
        let mut ask = Ask::get(&name, &what, format!("manifests/{digest}"));
        ask.method = Method::DELETE;
        self.wait(self.http.send(&Place::of(image), &ask)).map(drop)
    }
}

impl Images for Remote {
    fn resolve(&self, image: &ImageName) -> Result<Sha256> {
        let tag = match &image.reference {
            Reference::Digest(digest) => return Ok(*digest),
            Reference::Tag(tag) => tag,
        };
        let name = image.to_string();
        let what = format!("the tag `{tag}`");
        let ask = Ask::get(&name, &what, format!("manifests/{tag}"));
        // The bytes decide, not a header.
        let (_, bytes) = self.wait(self.http.whole(&Place::of(image), &ask))?;
        Ok(Sha256::of(&bytes))
    }

    fn manifest(&self, image: &ImageName, digest: &Sha256) -> Result<(MediaType, Vec<u8>)> {
        let name = image.to_string();
        let what = format!("manifest {digest}");
        let places = self.places(image);
        let mut ask = Ask::get(&name, &what, format!("manifests/{digest}"));
        ask.elsewhere = places.len() > 1;
        let mut refusals = Refusals::new(&name);
        for place in &places {
            let answer = self.wait(self.http.whole(place, &ask)).and_then(|(media_type, bytes)| {
                let bytes = verify::manifest(image, digest, bytes)?;
                let known = media_type.filter(|text| text.contains("manifest") || text.contains("index"));
                Ok((known.unwrap_or_else(|| media_type_of(&bytes)), bytes))
            });
            match answer {
                Ok(answer) => return Ok(answer),
                Err(RegistryError::Interrupted) => return Err(RegistryError::Interrupted),
                Err(error) => refusals.said.push((place, error)),
            }
        }
        Err(refusals.into_error())
    }

    /// In the order of preference, whoever was down before: a machine elsewhere may reach what we do not.
    fn locate(&self, image: &ImageName, digest: &Sha256) -> Result<Located> {
        let places = places(&self.http.access.mirrors, image);
        if let [only] = places.as_slice() {
            return Ok(Located { name: only.name(image), without: Vec::new(), passed_over: Vec::new() });
        }
        let name = image.to_string();
        let what = format!("manifest {digest}");
        let mut ask = Ask::get(&name, &what, format!("manifests/{digest}"));
        ask.method = Method::HEAD;
        ask.elsewhere = places.len() > 1;
        let mut refusals = Refusals::new(&name);
        let (mut without, mut passed_over) = (Vec::new(), Vec::new());
        for place in &places {
            match self.wait(self.http.send(place, &ask)) {
                Ok(_) => return Ok(Located { name: place.name(image), without, passed_over }),
                Err(RegistryError::Interrupted) => return Err(RegistryError::Interrupted),
                Err(error) => {
                    match error {
                        RegistryError::NotFound { .. } => without.push(place.to_string()),
                        _ => passed_over.push(place.to_string()),
                    }
                    refusals.said.push((place, error));
                }
            }
        }
        match passed_over.is_empty() {
            true => Err(RegistryError::NotFound { image: name.clone(), what, place: join(&places) }),
            false => Err(refusals.into_error()),
        }
    }

    fn blob<'a>(&'a self, image: &ImageName, blob: &Descriptor) -> Result<Box<dyn Read + Send + 'a>> {
        let download = Download {
            http: self.http.clone(),
            places: self.places(image),
            image: image.to_string(),
            blob: blob.clone(),
        };
        let begun = self.wait(download.open(0))?;
        Ok(Box::new(Verified::new(download.start(self.runtime(), begun), image, blob)))
    }
}
