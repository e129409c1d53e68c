//! Objects of any resource, as JSON.

use http::Method;
use serde_json::Value;

use super::{ApiError, Client};

/// Objects per page.
const PAGE: &str = "500";
/// More pages than any cluster has: stops a server that never sends the last one.
const PAGES: usize = 1000;

/// GroupVersionResource: what the path of an object begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gvr {
    /// Empty for the core group.
    pub group: &'static str,
    /// `v1`.
    pub version: &'static str,
    /// `clusteroperators`.
    pub plural: &'static str,
}

impl Gvr {
    pub const fn new(group: &'static str, version: &'static str, plural: &'static str) -> Self {
        Self { group, version, plural }
    }

    /// The path of all objects, or of those in a namespace.
    fn path(&self, namespace: Option<&str>) -> String {
        let group = if self.group.is_empty() { "/api".to_owned() } else { format!("/apis/{}", self.group) };
        let namespace = namespace.map(|name| format!("/namespaces/{name}")).unwrap_or_default();
        format!("{group}/{}{namespace}/{}", self.version, self.plural)
    }

    /// Where one of them is. Without a name this would be all of them.
    fn object(&self, namespace: Option<&str>, name: &str) -> Result<String, ApiError> {
        match name {
            "" => Err(ApiError::NotFound { message: format!("{} without a name", self.plural) }),
            name => Ok(format!("{}/{name}", self.path(namespace))),
        }
    }
}

/// The bytes of all its pages.
const LIST: usize = 256 << 20;

/// Who made a change, in an object's `managedFields`.
const MANAGER: (&str, &str) = ("fieldManager", "tinderbox");

impl Client<'_> {
    /// One object. A missing one is [`ApiError::NotFound`].
    pub fn get(&self, resource: Gvr, namespace: Option<&str>, name: &str) -> Result<Value, ApiError> {
        self.json(Method::GET, &resource.object(namespace, name)?, &[], None)
    }

    /// All objects, or those of a namespace.
    pub fn list(&self, resource: Gvr, namespace: Option<&str>) -> Result<Vec<Value>, ApiError> {
        let mut found = Vec::new();
        let mut next = String::new();
        let mut left = LIST;
        for _ in 0..PAGES {
            let query = [("limit", PAGE), ("continue", next.as_str())];
            let query = if next.is_empty() { &query[..1] } else { &query };
            let page = self.call(Method::GET, &resource.path(namespace), query, None)?;
            left = left.checked_sub(page.len()).ok_or_else(|| ApiError::Answer {
                server: self.server.clone(),
                message: format!("a list of {} has no end", resource.plural),
            })?;
            let mut page: Value =
                serde_json::from_slice(&page).map_err(|error| ApiError::of_json(&self.server, &error))?;
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

    /// Creates an object; returns it as the server has it.
    pub fn create(&self, resource: Gvr, namespace: Option<&str>, object: &Value) -> Result<Value, ApiError> {
        self.json(Method::POST, &resource.path(namespace), &[MANAGER], Some(object))
    }

    pub fn delete(&self, resource: Gvr, namespace: Option<&str>, name: &str) -> Result<Value, ApiError> {
        self.json(Method::DELETE, &resource.object(namespace, name)?, &[], None)
    }

    /// Writes a subresource (`status`, `approval`). The object names the version that it replaces.
    pub(super) fn replace(
        &self,
        resource: Gvr,
        name: &str,
        subresource: &str,
        object: &Value,
    ) -> Result<Value, ApiError> {
        let path = format!("{}/{subresource}", resource.object(None, name)?);
        self.json(Method::PUT, &path, &[MANAGER], Some(object))
    }

    pub(super) fn json(
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
