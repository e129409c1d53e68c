//! Objects of any kind, as JSON.

use kube::api::{DeleteParams, GetParams, ListParams, PostParams};
use serde_json::Value;

use super::{ApiError, Client};

/// How many objects are asked for at once.
const PAGE: u32 = 500;
/// More pages than any cluster of ours has: an end for a server that never says that it was the last.
const PAGES: usize = 1000;

/// A kind of object, as a path names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kind {
    /// Empty for what Kubernetes began with.
    pub group: &'static str,
    /// `v1`.
    pub version: &'static str,
    /// `clusteroperators`.
    pub plural: &'static str,
}

impl Kind {
    /// A kind of a group.
    pub const fn new(group: &'static str, version: &'static str, plural: &'static str) -> Self {
        Self { group, version, plural }
    }

    /// Where its objects are: all of them, or those of a namespace.
    fn path(&self, namespace: Option<&str>) -> String {
        let group = if self.group.is_empty() { "/api".to_owned() } else { format!("/apis/{}", self.group) };
        let namespace = namespace.map(|name| format!("/namespaces/{name}")).unwrap_or_default();
        format!("{group}/{}{namespace}/{}", self.version, self.plural)
    }

    fn at(&self, namespace: Option<&str>) -> kube::core::Request {
        kube::core::Request::new(self.path(namespace))
    }
}

/// What was to be sent, or why it cannot be written down (an empty name).
type Asked = Result<http::Request<Vec<u8>>, kube::core::request::Error>;

impl Client<'_> {
    /// One object. Not found is an error like others: [`ApiError::NotFound`].
    pub fn get(&self, kind: Kind, namespace: Option<&str>, name: &str) -> Result<Value, ApiError> {
        let asked = kind.at(namespace).get(name, &GetParams::default());
        self.json(asked)
    }

    /// All objects of a kind, or those of a namespace.
    pub fn list(&self, kind: Kind, namespace: Option<&str>) -> Result<Vec<Value>, ApiError> {
        let mut found = Vec::new();
        let mut asked = ListParams::default().limit(PAGE);
        for _ in 0..PAGES {
            let mut page = self.json(kind.at(namespace).list(&asked))?;
            if let Value::Array(items) = page["items"].take() {
                found.extend(items);
            }
            match page["metadata"]["continue"].as_str().filter(|next| !next.is_empty()) {
                Some(next) => asked = asked.continue_token(next),
                None => break,
            }
        }
        Ok(found)
    }

    /// Makes an object; the answer is the object as it is now.
    pub fn create(&self, kind: Kind, namespace: Option<&str>, object: &Value) -> Result<Value, ApiError> {
        let asked = kind.at(namespace).create(&manager(), object.to_string().into_bytes());
        self.json(asked)
    }

    /// Takes an object away.
    pub fn delete(&self, kind: Kind, namespace: Option<&str>, name: &str) -> Result<Value, ApiError> {
        let asked = kind.at(namespace).delete(name, &DeleteParams::default());
        self.json(asked)
    }

    /// Writes a part of an object that has a door of its own (`status`, `approval`). The object names the version that it
    /// replaces.
    pub(super) fn replace(
        &self,
        kind: Kind,
        name: &str,
        door: &str,
        object: &Value,
    ) -> Result<Value, ApiError> {
        let asked =
            kind.at(None).replace_subresource(door, name, &manager(), object.to_string().into_bytes());
        self.json(asked)
    }

    fn json(&self, asked: Asked) -> Result<Value, ApiError> {
        let client = self.kube.clone();
        let request = asked.map_err(kube::Error::BuildRequest);
        self.call(async move { client.request(request?).await })
    }
}

fn manager() -> PostParams {
    PostParams { field_manager: Some("tinderbox".to_owned()), ..PostParams::default() }
}
