//! Objects of any kind, as JSON.

use http::Method;
use serde_json::Value;

use super::{ApiError, Client};

/// How many objects are asked for at once.
const PAGE: &str = "500";
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

    /// Where one of them is. Without a name this would be all of them.
    fn object(&self, namespace: Option<&str>, name: &str) -> Result<String, ApiError> {
        match name {
            "" => Err(ApiError::NotFound { words: format!("{} without a name", self.plural) }),
            name => Ok(format!("{}/{name}", self.path(namespace))),
        }
    }
}

/// Whose changes these are, for who looks at an object's `managedFields`.
const MANAGER: (&str, &str) = ("fieldManager", "tinderbox");

impl Client<'_> {
    /// One object. Not found is an error like others: [`ApiError::NotFound`].
    pub fn get(&self, kind: Kind, namespace: Option<&str>, name: &str) -> Result<Value, ApiError> {
        self.json(Method::GET, &kind.object(namespace, name)?, &[], None)
    }

    /// All objects of a kind, or those of a namespace.
    pub fn list(&self, kind: Kind, namespace: Option<&str>) -> Result<Vec<Value>, ApiError> {
        let mut found = Vec::new();
        let mut next = String::new();
        for _ in 0..PAGES {
            let query = [("limit", PAGE), ("continue", next.as_str())];
            let query = if next.is_empty() { &query[..1] } else { &query };
            let mut page = self.json(Method::GET, &kind.path(namespace), query, None)?;
            if let Value::Array(items) = page["items"].take() {
                found.extend(items);
            }
            match page["metadata"]["continue"].as_str().filter(|next| !next.is_empty()) {
                Some(more) => next = more.to_owned(),
                None => break,
            }
        }
        Ok(found)
    }

    /// Makes an object; the answer is the object as it is now.
    pub fn create(&self, kind: Kind, namespace: Option<&str>, object: &Value) -> Result<Value, ApiError> {
        self.json(Method::POST, &kind.path(namespace), &[MANAGER], Some(object))
    }

    /// Takes an object away.
    pub fn delete(&self, kind: Kind, namespace: Option<&str>, name: &str) -> Result<Value, ApiError> {
        self.json(Method::DELETE, &kind.object(namespace, name)?, &[], None)
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
        let path = format!("{}/{door}", kind.object(None, name)?);
        self.json(Method::PUT, &path, &[MANAGER], Some(object))
    }

    fn json(
        &self,
        method: Method,
        path: &str,
        query: &[(&str, &str)],
        object: Option<&Value>,
    ) -> Result<Value, ApiError> {
        let answer = self.call(method, path, query, object.map(Value::to_string))?;
        serde_json::from_slice(&answer).map_err(|error| ApiError::of_json(&self.server, &error))
    }
}
