//! What an API serves, and objects of types that are known only at run time.

use http::Method;
use serde_json::Value;

use super::{ApiError, Client};

/// A type that an API serves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServedType {
    pub kind: String,
    /// `configmaps`.
    pub plural: String,
    pub namespaced: bool,
}

impl ServedType {
    /// Where one of its objects is.
    pub fn path(&self, api_version: &str, namespace: &str, name: &str) -> String {
        let root = if api_version.contains('/') { "/apis" } else { "/api" };
        let namespace = match self.namespaced {
            true => format!("/namespaces/{namespace}"),
            false => String::new(),
        };
        format!("{root}/{api_version}{namespace}/{}/{name}", self.plural)
    }
}

impl Client<'_> {
    /// The types of a group and version (`v1`, `config.openshift.io/v1`); none if it does not serve them.
    pub fn served_types(&self, api_version: &str) -> Result<Vec<ServedType>, ApiError> {
        let root = if api_version.contains('/') { "/apis" } else { "/api" };
        let found = match self.json(Method::GET, &format!("{root}/{api_version}"), &[], None) {
            Err(ApiError::NotFound { .. }) => return Ok(Vec::new()),
            found => found?,
        };
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let types = found["resources"].as_array().into_iter().flatten();
        let types = types.filter(|one| one["name"].as_str().is_some_and(|name| !name.contains('/')));
        let read = |one: &Value| ServedType {
            kind: text(&one["kind"]),
            plural: text(&one["name"]),
            namespaced: one["namespaced"] == true,
        };
        Ok(types.map(read).collect())
    }

    /// The object at a path of [`ServedType::path`].
    pub fn at(&self, path: &str) -> Result<Value, ApiError> {
        self.json(Method::GET, path, &[], None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_those_of_the_api() {
        let of =
            |plural: &str, namespaced| ServedType { kind: String::new(), plural: plural.into(), namespaced };
        assert_eq!(of("configmaps", true).path("v1", "a", "b"), "/api/v1/namespaces/a/configmaps/b");
        assert_eq!(
            of("dnses", false).path("config.openshift.io/v1", "", "cluster"),
            "/apis/config.openshift.io/v1/dnses/cluster"
        );
    }
}
