//! Authorization for a registry: basic, or a token from the realm of its challenge, through oci-client.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use oci_client::RegistryOperation;
use oci_client::errors::OciDistributionError;
use oci_client::secrets::RegistryAuth;
use reqwest::StatusCode;
use reqwest::header::HeaderValue;

use super::super::{RegistryError, Result};
use super::failure;
use super::http::{Ask, Http};
use super::mirrors::Place;

/// The value of the Authorization header; none if we have no credentials.
///
/// oci-client does not report the status of a refused token, and token servers have temporary failures too: a refusal
/// counts only when it is repeated.
pub(super) async fn authorize(
    http: &Http,
    place: &Place,
    ask: &Ask<'_>,
    operation: RegistryOperation,
) -> Result<Option<HeaderValue>> {
    let found = http.credentials.of(&place.registry, &place.repository);
    let auth = found.map_or(RegistryAuth::Anonymous, |(_, credential)| credential.reveal());
    let client = http.theirs(place)?;
    let reference = http.reference(place);
    let patience = &http.access.patience;
    let mut delays = patience.delays.iter();
    let mut refused = false;
    loop {
        let asked = tokio::time::timeout(patience.idle, client.auth(&reference, &auth, operation)).await;
        let error = match asked {
            Ok(Ok(token)) => return Ok(header(token, &auth)),
            Ok(Err(OciDistributionError::AuthenticationFailure(_))) if refused => {
                return Err(failure::answer(ask, place, StatusCode::UNAUTHORIZED, found.is_some()));
            }
            Ok(Err(OciDistributionError::AuthenticationFailure(_))) => {
                refused = true;
                failure::answer(ask, place, StatusCode::UNAUTHORIZED, found.is_some())
            }
            Ok(Err(OciDistributionError::RequestError(error))) => match failure::transport(ask, place, error)
            {
                (failure, true) => failure,
                (failure, false) => return Err(failure),
            },
            // Other messages may quote a server that quotes us.
            Ok(Err(_)) => return Err(unusable(ask, place, "its token server sent an invalid response")),
            Err(_) => unusable(ask, place, "its token server did not answer"),
        };
        let Some(delay) = delays.next() else { return Err(error) };
        tokio::time::sleep(*delay).await;
    }
}

fn unusable(ask: &Ask<'_>, place: &Place, reason: &str) -> RegistryError {
    RegistryError::Unreachable {
        image: ask.image.to_owned(),
        place: place.registry.clone(),
        reason: reason.to_owned(),
        advice: None,
    }
}

fn header(token: Option<String>, auth: &RegistryAuth) -> Option<HeaderValue> {
    let text = match (token, auth) {
        (Some(token), _) => format!("Bearer {token}"),
        (None, RegistryAuth::Basic(user, password)) => {
            format!("Basic {}", STANDARD.encode(format!("{user}:{password}")))
        }
        (None, _) => return None,
    };
    let mut value = HeaderValue::from_str(&text).ok()?;
    value.set_sensitive(true); // keeps it out of every Debug
    Some(value)
}
