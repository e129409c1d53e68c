//! Sends one request: with credentials if the registry asks for them, again if it was busy or the connection broke.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use oci_client::{Reference, RegistryOperation};
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HeaderValue, RANGE, RETRY_AFTER};
use reqwest::{Method, Response, StatusCode};

use super::super::image::{MANIFEST_LIMIT, MANIFEST_TYPES};
use super::super::{RegistryError, Result, Sha256};
use super::credentials::Credentials;
use super::mirrors::Place;
use super::{Access, authorize, client, failure};

/// A request to a registry, for an image.
pub(super) struct Ask<'a> {
    /// As the user knows it.
    pub(super) image: &'a str,
    /// The requested object, for errors.
    pub(super) what: &'a str,
    pub(super) method: Method,
    /// Below the repository: `manifests/…`, `blobs/…`.
    pub(super) path: String,
    pub(super) offset: u64,
    /// Content type and content.
    pub(super) body: Option<(HeaderValue, Bytes)>,
    /// Whether another place can be asked, so that there is no need to wait for one that is down.
    pub(super) elsewhere: bool,
}

impl<'a> Ask<'a> {
    pub(super) fn get(image: &'a str, what: &'a str, path: String) -> Self {
        Self { image, what, method: Method::GET, path, offset: 0, body: None, elsewhere: false }
    }

    pub(super) fn operation(&self) -> RegistryOperation {
        match self.method {
            Method::POST | Method::PUT | Method::DELETE => RegistryOperation::Push,
            _ => RegistryOperation::Pull,
        }
    }

    fn writes(&self) -> bool {
        matches!(self.operation(), RegistryOperation::Push)
    }
}

/// Authorization per repository, for reading or for writing.
pub(super) type Tokens = BTreeMap<(Place, bool), HeaderValue>;

/// The connections to all registries.
pub(super) struct Http {
    pub(super) access: Access,
    pub(super) credentials: Credentials,
    pub(super) client: reqwest::Client,
    /// Its time limit is that of [`super::push`].
    pub(super) uploads: reqwest::Client,
    tokens: Mutex<Tokens>,
    /// Registries that failed after all attempts: asked last, and then only once.
    down: Mutex<BTreeSet<String>>,
}

/// No state is left half-changed under these locks, so a panic elsewhere does not matter.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Http {
    pub(super) fn new(mut access: Access) -> Result<Self> {
        let secret = access.pull_secret.take(); // kept in parsed form only
        let credentials = secret.as_ref().map(Credentials::parse).transpose()?.unwrap_or_default();
        let (client, uploads) = (client::reading(&access)?, client::uploading(&access)?);
        let (tokens, down) = Default::default();
        Ok(Self { access, credentials, client, uploads, tokens, down })
    }

    /// The places in the best order to ask them.
    pub(super) fn order(&self, mut places: Vec<Place>) -> Vec<Place> {
        let down = lock(&self.down);
        places.sort_by_key(|place| down.contains(&place.registry));
        places
    }

    /// A successful response, or the error.
    pub(super) async fn send(&self, place: &Place, ask: &Ask<'_>) -> Result<Response> {
        if self.access.offline {
            return Err(RegistryError::Unreachable {
                image: ask.image.to_owned(),
                place: place.registry.clone(),
                reason: "`--offline` allows no network".to_owned(),
                advice: Some(
                    "run the same once without `--offline`: what it fetches stays in the store".to_owned(),
                ),
            });
        }
        // Whoever begins an upload does so again if it fails, with its bytes.
        let begins = ask.method == Method::POST;
        let hurry = begins || ask.elsewhere && lock(&self.down).contains(&place.registry);
        let mut delays = self.access.patience.delays.iter().take(if hurry { 0 } else { usize::MAX });
        let mut renewed = false;
        loop {
            let token = self.token(place, ask);
            let (failure, wait, down) = match self.request(place, ask, token.as_ref()).send().await {
                Ok(response) if response.status().is_success() => {
                    lock(&self.down).remove(&place.registry);
                    return Ok(response);
                }
                Ok(response) if response.status() == StatusCode::UNAUTHORIZED && !renewed => {
                    renewed = true;
                    self.renew(place, ask, token.as_ref()).await?;
                    continue;
                }
                Ok(response) if failure::is_busy(response.status()) => (
                    failure::answer(ask, place, response.status(), false),
                    retry_after(&response),
                    response.status().is_server_error(),
                ),
                Ok(response) => {
                    return Err(failure::answer(ask, place, response.status(), self.shows(place, ask)));
                }
                Err(error) => match failure::transport(ask, place, error) {
                    (failure, true) => (failure, None, true),
                    (failure, false) => return Err(failure),
                },
            };
            let Some(delay) = delays.next() else {
                if down {
                    lock(&self.down).insert(place.registry.clone());
                }
                return Err(failure);
            };
            tokio::time::sleep(wait.map_or(*delay, |wait| wait.min(self.access.patience.longest))).await;
        }
    }

    fn request(&self, place: &Place, ask: &Ask<'_>, token: Option<&HeaderValue>) -> reqwest::RequestBuilder {
        let url = format!("{}{}/{}", self.base(place), place.repository, ask.path);
        let mut request = self.client.request(ask.method.clone(), url);
        if ask.path.starts_with("manifests/") {
            request = request.header(ACCEPT, MANIFEST_TYPES.join(", "));
        }
        if ask.offset > 0 {
            request = request.header(RANGE, format!("bytes={}-", ask.offset));
        }
        if let Some(token) = token {
            request = request.header(AUTHORIZATION, token.clone());
        }
        match &ask.body {
            Some((media_type, body)) => {
                request = request.header(CONTENT_TYPE, media_type.clone()).body(body.clone());
            }
            // Registries insist on it.
            None if ask.method == Method::POST => request = request.header(CONTENT_LENGTH, 0),
            None => {}
        }
        request
    }

    /// The URL of a registry's API.
    pub(super) fn base(&self, place: &Place) -> String {
        let plain = self.access.plain_http.contains(&place.registry);
        let latest =
            Reference::with_tag(place.registry.clone(), place.repository.clone(), "latest".to_owned());
        format!("{}://{}/v2/", if plain { "http" } else { "https" }, latest.resolve_registry())
    }

    /// What a place was shown last.
    pub(super) fn token(&self, place: &Place, ask: &Ask<'_>) -> Option<HeaderValue> {
        lock(&self.tokens).get(&(place.clone(), ask.writes())).cloned()
    }

    /// Whether a place sees credentials.
    pub(super) fn shows(&self, place: &Place, ask: &Ask<'_>) -> bool {
        self.token(place, ask).is_some() || self.credentials.of(&place.registry, &place.repository).is_some()
    }

    /// Gets authorization for the next request; without any, that request will be refused.
    ///
    /// Others use the old token until there is a new one: without any, their requests would be refused meanwhile.
    async fn renew(&self, place: &Place, ask: &Ask<'_>, refused: Option<&HeaderValue>) -> Result<()> {
        let key = (place.clone(), ask.writes());
        if lock(&self.tokens).get(&key).is_some_and(|token| Some(token) != refused) {
            return Ok(()); // somebody else did it while we waited
        }
        let token = authorize::authorize(self, place, ask).await?;
        let mut tokens = lock(&self.tokens);
        match token {
            Some(token) => tokens.insert(key, token),
            None => tokens.remove(&key),
        };
        Ok(())
    }

    /// A small response, complete; requested again if the connection breaks. However slowly it comes, it has a deadline.
    pub(super) async fn whole(&self, place: &Place, ask: &Ask<'_>) -> Result<(Option<String>, Vec<u8>)> {
        match tokio::time::timeout(self.access.patience.whole, self.try_whole(place, ask)).await {
            Ok(done) => done,
            Err(_) => {
                lock(&self.down).insert(place.registry.clone());
                Err(RegistryError::Unreachable {
                    image: ask.image.to_owned(),
                    place: place.registry.clone(),
                    reason: format!("it did not send {} in time", ask.what),
                    advice: None,
                })
            }
        }
    }

    /// A small response whose beginning must arrive within `first`; with the digest that the registry says it has.
    pub(super) async fn prompt(
        &self,
        place: &Place,
        ask: &Ask<'_>,
        first: Duration,
    ) -> Result<(Option<Sha256>, Vec<u8>)> {
        let unreachable = |reason: String| RegistryError::Unreachable {
            image: ask.image.to_owned(),
            place: place.registry.clone(),
            reason,
            advice: None,
        };
        let response = tokio::time::timeout(first, self.send(place, ask))
            .await
            .map_err(|_| unreachable(format!("no answer within {} s", first.as_secs_f32())))??;
        let said = response.headers().get("docker-content-digest").and_then(|value| value.to_str().ok());
        let said = said.and_then(|text| text.parse().ok());
        match tokio::time::timeout(self.access.patience.whole, body(response, MANIFEST_LIMIT)).await {
            Ok(Ok(Some(bytes))) => Ok((said, bytes)),
            Ok(Ok(None)) => {
                let problem = format!("{} has more than {MANIFEST_LIMIT} bytes", ask.what);
                Err(RegistryError::Malformed { image: ask.image.to_owned(), problem })
            }
            Ok(Err(error)) => Err(failure::transport(ask, place, error).0),
            Err(_) => Err(unreachable(format!("it did not send {} in time", ask.what))),
        }
    }

    async fn try_whole(&self, place: &Place, ask: &Ask<'_>) -> Result<(Option<String>, Vec<u8>)> {
        let mut delays = self.access.patience.delays.iter();
        loop {
            let response = self.send(place, ask).await?;
            let media_type = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
            let media_type =
                media_type.and_then(|text| text.split(';').next()).map(|text| text.trim().to_owned());
            let error = match body(response, MANIFEST_LIMIT).await {
                Ok(Some(bytes)) => return Ok((media_type, bytes)),
                Ok(None) => {
                    let problem = format!("{} has more than {MANIFEST_LIMIT} bytes", ask.what);
                    return Err(RegistryError::Malformed { image: ask.image.to_owned(), problem });
                }
                Err(error) => error,
            };
            let Some(delay) = delays.next() else { return Err(failure::transport(ask, place, error).0) };
            tokio::time::sleep(*delay).await;
        }
    }
}

/// The body, unless it is too large.
pub(super) async fn body(
    mut response: Response,
    limit: u64,
) -> std::result::Result<Option<Vec<u8>>, reqwest::Error> {
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        bytes.extend_from_slice(&chunk);
        if bytes.len() as u64 > limit {
            return Ok(None);
        }
    }
    Ok(Some(bytes))
}

/// Only seconds: a date would require a clock, and the default delay is as good.
fn retry_after(response: &Response) -> Option<Duration> {
    let seconds = response.headers().get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds))
}
