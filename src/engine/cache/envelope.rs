//! DSSE (Dead Simple Signing Envelope, protocol v1): a payload, its type, and signatures over both.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use super::key::{PublicKey, SigningKey};

pub(super) const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";

/// Far more than a statement needs.
pub(super) const LIMIT: u64 = 1 << 20;

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Envelope {
    payload: String,
    payload_type: String,
    signatures: Vec<Signature>,
}

#[derive(Serialize, Deserialize)]
struct Signature {
    #[serde(default)]
    keyid: String,
    sig: String,
}

/// What is signed: type and payload with their lengths, so that neither can pass for the other.
fn pre_authentication(payload_type: &str, payload: &[u8]) -> Vec<u8> {
    let head = format!("DSSEv1 {} {payload_type} {} ", payload_type.len(), payload.len());
    [head.as_bytes(), payload].concat()
}

/// An envelope with one signature.
pub(super) fn seal(payload: &[u8], key: &SigningKey) -> serde_json::Result<Vec<u8>> {
    let signature = key.sign(&pre_authentication(PAYLOAD_TYPE, payload));
    serde_json::to_vec(&Envelope {
        payload: STANDARD.encode(payload),
        payload_type: PAYLOAD_TYPE.to_owned(),
        signatures: vec![Signature { keyid: key.public().name(), sig: STANDARD.encode(signature) }],
    })
}

/// The payload, if this key signed it.
pub(super) fn open(bytes: &[u8], key: &PublicKey) -> Result<Vec<u8>, &'static str> {
    let envelope: Envelope =
        serde_json::from_slice(bytes).map_err(|_| "its statement is not a DSSE envelope")?;
    let payload = STANDARD.decode(&envelope.payload).map_err(|_| "its statement is not a DSSE envelope")?;
    if envelope.payload_type != PAYLOAD_TYPE {
        return Err("its statement is not one of in-toto");
    }
    let signed = pre_authentication(&envelope.payload_type, &payload);
    // A key id is only a hint: the signature decides.
    let mut signatures = envelope.signatures.iter().filter_map(|one| STANDARD.decode(&one.sig).ok());
    match signatures.any(|signature| key.verifies(&signed, &signature)) {
        true => Ok(payload),
        false => Err("its signature is not that of the key that its tag names"),
    }
}
