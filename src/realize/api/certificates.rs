//! Nodes, and certificate signing requests: what they ask for, their state, and their approval.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::{ApiError, Client, Gvr};

const NODES: Gvr = Gvr::new("", "v1", "nodes");
const REQUESTS: Gvr = Gvr::new("certificates.k8s.io", "v1", "certificatesigningrequests");
/// How often an approval is retried after a conflicting write.
const TRIES: usize = 5;

/// A node in the API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiNode {
    pub name: String,
    pub joined: Option<OffsetDateTime>,
    pub ready: bool,
}

/// The state of a certificate signing request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    Pending,
    Denied,
    /// Approved, but the signer failed.
    Failed,
    /// Approved, but not signed yet.
    Approved,
    /// Signed.
    Issued,
}

/// A certificate signing request. The API server wrote user name and groups; the requestor wrote the rest.
#[derive(Debug, Clone, PartialEq)]
pub struct CertificateRequest {
    pub name: String,
    /// Distinguishes it from another request of the same name.
    pub uid: String,
    pub created: Option<OffsetDateTime>,
    pub signer: String,
    pub username: String,
    pub groups: Vec<String>,
    pub usages: Vec<String>,
    /// PKCS#10 in PEM, or whatever was sent in its place.
    pub pem: Vec<u8>,
    pub stage: Stage,
    /// As it was read, to be written back with the decision.
    object: Value,
}

/// The outcome of an approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Approval {
    Done,
    /// Somebody else has decided in the meantime.
    Decided(Stage),
    /// It is gone, or replaced by another request of the same name.
    Gone,
}

/// What the requestor asks for, in the API's own type.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec {
    #[serde(default)]
    signer_name: String,
    request: String,
    username: Option<String>,
    groups: Option<Vec<String>>,
    usages: Option<Vec<String>>,
}

impl CertificateRequest {
    pub fn read(object: Value) -> Result<Self, String> {
        let spec = Spec::deserialize(&object["spec"]).map_err(|error| error.to_string())?;
        let pem = STANDARD.decode(spec.request).map_err(|_| "its `request` is not base64".to_owned())?;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let status = &object["status"];
        let conditions = status["conditions"].as_array().map_or(&[][..], Vec::as_slice);
        let has = |kind: &str| conditions.iter().any(|one| one["type"] == kind);
        let issued = status["certificate"].as_str().is_some_and(|certificate| !certificate.is_empty());
        let stage = match () {
            () if has("Denied") => Stage::Denied,
            () if has("Failed") => Stage::Failed,
            () if issued => Stage::Issued,
            () if has("Approved") => Stage::Approved,
            () => Stage::Pending,
        };
        Ok(Self {
            name: text(&object["metadata"]["name"]),
            uid: text(&object["metadata"]["uid"]),
            created: date(&object),
            signer: spec.signer_name,
            username: spec.username.unwrap_or_default(),
            groups: spec.groups.unwrap_or_default(),
            usages: spec.usages.unwrap_or_default(),
            pem,
            stage,
            object,
        })
    }

    /// The object with our decision, for the version that was read.
    fn approved(&self, reason: &str, message: &str) -> Value {
        let mut object = self.object.clone();
        let condition = json!({"type": "Approved", "status": "True", "reason": reason, "message": message});
        match &mut object["status"]["conditions"] {
            Value::Array(conditions) => conditions.push(condition),
            conditions => *conditions = json!([condition]),
        }
        object["apiVersion"] = json!("certificates.k8s.io/v1");
        object["kind"] = json!("CertificateSigningRequest");
        object
    }
}

impl Client<'_> {
    pub fn nodes(&self) -> Result<Vec<ApiNode>, ApiError> {
        Ok(self.list(NODES, None)?.iter().map(node).collect())
    }

    pub fn requests(&self) -> Result<Vec<CertificateRequest>, ApiError> {
        self.list(REQUESTS, None)?
            .into_iter()
            .map(|object| self.understood(CertificateRequest::read(object)))
            .collect()
    }

    /// Approves a request as it was read. After a conflicting write it is read again, and approved only if it still asks for
    /// the same and nobody has decided.
    pub fn approve(
        &self,
        request: &CertificateRequest,
        reason: &str,
        message: &str,
    ) -> Result<Approval, ApiError> {
        let mut now = request.clone();
        for _ in 0..TRIES {
            match self.replace(REQUESTS, &now.name, "approval", &now.approved(reason, message)) {
                Ok(_) => return Ok(Approval::Done),
                Err(ApiError::NotFound { .. }) => return Ok(Approval::Gone),
                Err(ApiError::Conflict { .. }) => {}
                Err(error) => return Err(error),
            }
            now = match self.get(REQUESTS, None, &request.name) {
                Err(ApiError::NotFound { .. }) => return Ok(Approval::Gone),
                found => self.understood(CertificateRequest::read(found?))?,
            };
            if now.uid != request.uid || now.object["spec"] != request.object["spec"] {
                return Ok(Approval::Gone);
            }
            if now.stage != Stage::Pending {
                return Ok(Approval::Decided(now.stage));
            }
        }
        Err(ApiError::Conflict { message: format!("`{}` keeps changing", request.name) })
    }

    fn understood<T>(&self, read: Result<T, String>) -> Result<T, ApiError> {
        let server = self.server().to_owned();
        read.map_err(|message| ApiError::Answer { server, message: super::error::one_line(&message) })
    }
}

fn node(object: &Value) -> ApiNode {
    let conditions = object["status"]["conditions"].as_array();
    let is_ready = |one: &Value| one["type"] == "Ready" && one["status"] == "True";
    ApiNode {
        name: object["metadata"]["name"].as_str().unwrap_or_default().to_owned(),
        joined: date(object),
        ready: conditions.is_some_and(|all| all.iter().any(is_ready)),
    }
}

fn date(object: &Value) -> Option<OffsetDateTime> {
    OffsetDateTime::parse(object["metadata"]["creationTimestamp"].as_str()?, &Rfc3339).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(status: Value) -> CertificateRequest {
        CertificateRequest::read(json!({
            "metadata": {"name": "csr-1", "uid": "u", "resourceVersion": "7", "creationTimestamp": "2026-01-01T00:00:00Z"},
            "spec": {"signerName": "s", "request": "aGVsbG8=", "username": "me", "usages": ["client auth"]},
            "status": status,
        }))
        .unwrap()
    }

    #[test]
    fn the_stage_follows_the_conditions() {
        let condition = |kind: &str| json!({"conditions": [{"type": kind, "status": "True"}]});
        assert_eq!(read(json!({})).stage, Stage::Pending);
        assert_eq!(read(Value::Null).stage, Stage::Pending);
        assert_eq!(read(condition("Approved")).stage, Stage::Approved);
        assert_eq!(read(condition("Denied")).stage, Stage::Denied);
        assert_eq!(read(condition("Failed")).stage, Stage::Failed);
        let mut issued = condition("Approved");
        issued["certificate"] = json!("aGVsbG8=");
        assert_eq!(read(issued).stage, Stage::Issued);
    }

    #[test]
    fn an_approval_is_added_to_what_was_read() {
        let request = read(json!({"conditions": [{"type": "Other", "status": "True"}]}));
        assert_eq!((request.pem.as_slice(), request.groups.len()), (b"hello".as_slice(), 0));
        let object = request.approved("Reason", "why");
        assert_eq!(object["metadata"]["resourceVersion"], "7");
        assert_eq!(object["status"]["conditions"][0]["type"], "Other");
        assert_eq!(object["status"]["conditions"][1]["reason"], "Reason");
    }

    #[test]
    fn an_unreadable_request_is_an_error() {
        assert!(CertificateRequest::read(json!({"spec": {"request": "%%"}})).is_err());
    }
}
