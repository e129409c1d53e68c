//! Nodes, and requests for certificates: what they say, how far they are, and their approval.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::{ApiError, Client, Kind};

const NODES: Kind = Kind::new("", "v1", "nodes");
const REQUESTS: Kind = Kind::new("certificates.k8s.io", "v1", "certificatesigningrequests");
/// How often an approval is tried that others come in between of.
const TRIES: usize = 5;

/// A node, as the API knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    pub name: String,
    pub joined: Option<OffsetDateTime>,
    /// Whether it says that it is ready.
    pub ready: bool,
}

/// How far a request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    Pending,
    Denied,
    /// It was approved, and the signer could not do it.
    Failed,
    /// It was approved, and is not signed yet.
    Approved,
    /// There is a certificate.
    Issued,
}

/// A request for a certificate. Who asks was written by the API server; all else by who asks.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    pub name: String,
    /// Tells it apart from another one of the same name.
    pub uid: String,
    /// When it was made.
    pub made: Option<OffsetDateTime>,
    /// Who is to sign.
    pub signer: String,
    pub username: String,
    /// The groups of who asks.
    pub groups: Vec<String>,
    /// What the certificate is to be used for.
    pub usages: Vec<String>,
    /// PKCS#10 in PEM, or whatever was sent as such.
    pub pem: Vec<u8>,
    /// How far it is.
    pub stage: Stage,
    /// As it was read, to be written back with a decision.
    object: Value,
}

/// What came of an approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Approval {
    /// It is approved now.
    Done,
    /// Another has decided meanwhile.
    Decided(Stage),
    /// It is gone, or another one has its name.
    Gone,
}

/// What who asks has written, as the API's own types have it.
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

impl Request {
    /// Reads one, as the API has it.
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
            made: date(&object),
            signer: spec.signer_name,
            username: spec.username.unwrap_or_default(),
            groups: spec.groups.unwrap_or_default(),
            usages: spec.usages.unwrap_or_default(),
            pem,
            stage,
            object,
        })
    }

    /// The object with our decision in it, for the version that was read.
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
    pub fn nodes(&self) -> Result<Vec<Node>, ApiError> {
        Ok(self.list(NODES, None)?.iter().map(node).collect())
    }

    /// All requests for certificates.
    pub fn requests(&self) -> Result<Vec<Request>, ApiError> {
        self.list(REQUESTS, None)?.into_iter().map(|object| self.understood(Request::read(object))).collect()
    }

    /// Approves a request as it was read. If somebody changed it meanwhile, it is read again: it is approved only if who
    /// asks for what is still the same and nobody has decided.
    pub fn approve(&self, request: &Request, reason: &str, message: &str) -> Result<Approval, ApiError> {
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
                found => self.understood(Request::read(found?))?,
            };
            if now.uid != request.uid || now.object["spec"] != request.object["spec"] {
                return Ok(Approval::Gone);
            }
            if now.stage != Stage::Pending {
                return Ok(Approval::Decided(now.stage));
            }
        }
        Err(ApiError::Conflict { words: format!("`{}` changes all the time", request.name) })
    }

    fn understood<T>(&self, read: Result<T, String>) -> Result<T, ApiError> {
        let server = self.server().to_owned();
        read.map_err(|words| ApiError::Answer { server, words: super::error::one_line(&words) })
    }
}

fn node(object: &Value) -> Node {
    let conditions = object["status"]["conditions"].as_array();
    let is_ready = |one: &Value| one["type"] == "Ready" && one["status"] == "True";
    Node {
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

    fn read(status: Value) -> Request {
        Request::read(json!({
            "metadata": {"name": "csr-1", "uid": "u", "resourceVersion": "7", "creationTimestamp": "2026-01-01T00:00:00Z"},
            "spec": {"signerName": "s", "request": "aGVsbG8=", "username": "me", "usages": ["client auth"]},
            "status": status,
        }))
        .unwrap()
    }

    #[test]
    fn stages_are_what_conditions_say() {
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
    fn an_unreadable_request_says_so() {
        assert!(Request::read(json!({"spec": {"request": "%%"}})).is_err());
    }
}
