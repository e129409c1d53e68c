//! Authorization for a registry: basic, or a token from the realm of its challenge.
//!
//! What a realm gets is decided by its URL: TLS, or a registry that the user listed as plain. Its answer has a length.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use oci_client::RegistryOperation;
use reqwest::header::{AUTHORIZATION, HeaderValue, WWW_AUTHENTICATE};
use reqwest::{StatusCode, Url};
use serde::Deserialize;
use zeroize::Zeroizing;

use super::super::{RegistryError, Result};
use super::challenge::Challenge;
use super::credentials::Credential;
use super::http::{Ask, Http, body};
use super::mirrors::Place;
use super::{Access, failure};
use crate::base::secret::Secret;

/// Maximum size of a token server's answer; real ones have a few kilobytes.
const ANSWER: u64 = 1 << 20;

/// A failed attempt, and whether another one may succeed.
type Failure = (RegistryError, bool);

/// The answer of a token server.
#[derive(Deserialize)]
struct Answer {
    token: Option<String>,
    access_token: Option<String>,
}

/// The value of the Authorization header; none if we have no credentials.
///
/// Token servers have temporary failures too: a refusal counts only when it is repeated.
pub(super) async fn authorize(http: &Http, place: &Place, ask: &Ask<'_>) -> Result<Option<HeaderValue>> {
    let patience = &http.access.patience;
    let mut delays = patience.delays.iter();
    let mut refused = false;
    loop {
        let exchange = exchange(http, place, ask);
        let error = match tokio::time::timeout(patience.idle, exchange).await {
            Ok(Ok(value)) => return Ok(value),
            Ok(Err((error @ RegistryError::Denied { .. }, _))) if refused => return Err(error),
            Ok(Err((error, false))) => return Err(error),
            Ok(Err((error, true))) => {
                refused |= matches!(error, RegistryError::Denied { .. });
                error
            }
            Err(_) => unusable(ask, place, "its token server did not answer"),
        };
        let Some(delay) = delays.next() else { return Err(error) };
        tokio::time::sleep(*delay).await;
    }
}

async fn exchange(
    http: &Http,
    place: &Place,
    ask: &Ask<'_>,
) -> std::result::Result<Option<HeaderValue>, Failure> {
    let found = http.credentials.of(&place.registry, &place.repository);
    let basic = match found.map(|(_, credential)| credential) {
        Some(Credential::Token(token)) => return Ok(header(&format!("Bearer {}", text(token)))),
        Some(Credential::Basic { user, password }) => {
            let pair = Zeroizing::new(format!("{}:{}", text(user), text(password)));
            header(&format!("Basic {}", STANDARD.encode(pair.as_bytes())))
        }
        None => None,
    };
    let transport = |error| failure::transport(ask, place, error);
    let response = http.client.get(http.base(place)).send().await.map_err(transport)?;
    let challenge = response.headers().get(WWW_AUTHENTICATE).map(|value| value.to_str().unwrap_or_default());
    let Some(challenge) = challenge else { return Ok(None) };
    let Some(Challenge { realm, service }) = Challenge::parse(challenge) else { return Ok(basic) };
    let mut realm =
        realm_url(&http.access, &realm).map_err(|reason| (unusable(ask, place, &reason), false))?;
    let actions = match ask.operation() {
        _ if ask.method == reqwest::Method::DELETE => "pull,push,delete",
        RegistryOperation::Push => "pull,push",
        RegistryOperation::Pull => "pull",
    };
    realm.query_pairs_mut().append_pair("scope", &format!("repository:{}:{actions}", place.repository));
    if let Some(service) = &service {
        realm.query_pairs_mut().append_pair("service", service);
    }
    let mut request = http.client.get(realm);
    if let Some(basic) = basic {
        request = request.header(AUTHORIZATION, basic);
    }
    let response = request.send().await.map_err(transport)?;
    if response.status() != StatusCode::OK {
        return Err((failure::answer(ask, place, StatusCode::UNAUTHORIZED, found.is_some()), true));
    }
    // No text of the answer in errors: it may quote what we sent.
    let invalid = || (unusable(ask, place, "its token server sent an invalid response"), false);
    let bytes = body(response, ANSWER).await.map_err(transport)?.ok_or_else(invalid)?;
    let answer: Answer = serde_json::from_slice(&bytes).map_err(|_| invalid())?;
    let token = answer.token.or(answer.access_token).filter(|token| !token.is_empty()).ok_or_else(invalid)?;
    Ok(Some(header(&format!("Bearer {token}")).ok_or_else(invalid)?))
}

/// The URL of a realm that may have credentials.
fn realm_url(access: &Access, realm: &str) -> std::result::Result<Url, String> {
    let url: Url =
        realm.parse().map_err(|_| "its challenge names a token server that is not a URL".to_owned())?;
    match without_tls(access, &url) {
        None => Ok(url),
        Some(authority) => Err(format!(
            "its token server `{authority}` does not use TLS, so it does not get the credentials"
        )),
    }
}

/// Host and port of a URL that has neither TLS nor the user's word that it needs none.
pub(super) fn without_tls(access: &Access, url: &Url) -> Option<String> {
    let host = url.host_str().unwrap_or_default();
    let authority = match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    };
    let good = url.scheme() == "https" || url.scheme() == "http" && access.plain_http.contains(&authority);
    (!good).then_some(authority)
}

fn text(secret: &Secret) -> &str {
    secret.reveal_text().unwrap_or_default()
}

fn unusable(ask: &Ask<'_>, place: &Place, reason: &str) -> RegistryError {
    RegistryError::Unreachable {
        image: ask.image.to_owned(),
        place: place.registry.clone(),
        reason: reason.to_owned(),
        advice: None,
    }
}

fn header(text: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(text).ok()?;
    value.set_sensitive(true); // keeps it out of every Debug
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_realm_without_tls_is_one_that_the_user_listed() {
        let access = Access { plain_http: vec!["127.0.0.1:5000".into()], ..Access::default() };
        for good in ["https://auth.example.com/token?x=1", "http://127.0.0.1:5000/token"] {
            assert!(realm_url(&access, good).is_ok(), "{good}");
        }
        for bad in [
            "http://auth.example.com/token",
            "http://127.0.0.1:5001/token",
            "http://127.0.0.1/token",
            "http://127.0.0.1:5000@example.com/",
            "ftp://x/",
            "file:///etc/passwd",
            "/token",
            "",
        ] {
            assert!(realm_url(&access, bad).is_err(), "{bad}");
        }
    }
}
