//! Objects of any resource, as JSON.

use kube::api::{DeleteParams, GetParams, ListParams, PostParams};
use serde_json::Value;

use super::{ApiError, Client};

/// Objects per page.
const PAGE: u32 = 500;
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

    fn at(&self, namespace: Option<&str>) -> kube::core::Request {
        kube::core::Request::new(self.path(namespace))
    }
}

/// A request, or why it cannot be built (an empty name).
type Built = Result<http::Request<Vec<u8>>, kube::core::request::Error>;

impl Client<'_> {
    /// One object. A missing one is [`ApiError::NotFound`].
    pub fn get(&self, resource: Gvr, namespace: Option<&str>, name: &str) -> Result<Value, ApiError> {
        let request = resource.at(namespace).get(name, &GetParams::default());
        self.json(request)
    }

    /// All objects, or those of a namespace.
    pub fn list(&self, resource: Gvr, namespace: Option<&str>) -> Result<Vec<Value>, ApiError> {
        let mut found = Vec::new();
        let mut params = ListParams::default().limit(PAGE);
        for _ in 0..PAGES {
            let mut page = self.json(resource.at(namespace).list(&params))?;
            if let Value::Array(items) = page["items"].take() {
                found.extend(items);
            }
            match page["metadata"]["continue"].as_str().filter(|next| !next.is_empty()) {
                Some(next) => params = params.continue_token(next),
                None => break,
            }
        }
        Ok(found)
    }

    /// Creates an object; returns it as the server has it.
    pub fn create(&self, resource: Gvr, namespace: Option<&str>, object: &Value) -> Result<Value, ApiError> {
        let request = resource.at(namespace).create(&manager(), object.to_string().into_bytes());
        self.json(request)
    }

    pub fn delete(&self, resource: Gvr, namespace: Option<&str>, name: &str) -> Result<Value, ApiError> {
        let request = resource.at(namespace).delete(name, &DeleteParams::default());
        self.json(request)
    }

    /// Writes a subresource (`status`, `approval`). The object names the version that it replaces.
    pub(super) fn replace(
        &self,
        resource: Gvr,
        name: &str,
        subresource: &str,
        object: &Value,
    ) -> Result<Value, ApiError> {
        let request = resource.at(None).replace_subresource(
            subresource,
            name,
            &manager(),
            object.to_string().into_bytes(),
        );
        self.json(request)
    }

    fn json(&self, request: Built) -> Result<Value, ApiError> {
        let client = self.kube.clone();
        let request = request.map_err(kube::Error::BuildRequest);
        self.call(async move { client.request(request?).await })
    }
}

fn manager() -> PostParams {
    PostParams { field_manager: Some("tinderbox".to_owned()), ..PostParams::default() }
}
