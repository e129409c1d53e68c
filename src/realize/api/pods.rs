//! A node's pods: which there are, and their eviction; and whether the node takes new ones.

use http::Method;
use serde_json::{Value, json};

use super::{ApiError, Client, Gvr};

const NODES: Gvr = Gvr::new("", "v1", "nodes");
const PODS: Gvr = Gvr::new("", "v1", "pods");
/// How often a write is retried after a conflicting one: kubelets write their nodes all the time.
const TRIES: usize = 5;

/// A pod on a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiPod {
    pub namespace: String,
    pub name: String,
    /// Whether something recreates it elsewhere.
    pub is_controlled: bool,
    /// Whether it belongs to its node: a static pod, or one of a DaemonSet.
    pub is_bound: bool,
    /// It has ended, or is about to.
    pub is_ending: bool,
}

/// The answer to an eviction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Eviction {
    /// It ends now, or is gone already.
    Accepted,
    /// Not now: a disruption budget does not permit it.
    Blocked(String),
}

impl ApiPod {
    fn read(object: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let metadata = &object["metadata"];
        let owners = metadata["ownerReferences"].as_array().map_or(&[][..], Vec::as_slice);
        let controller = owners.iter().find(|owner| owner["controller"] == true);
        let is_mirror = metadata["annotations"]["kubernetes.io/config.mirror"].is_string();
        let has_ended = matches!(object["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
        Self {
            namespace: text(&metadata["namespace"]),
            name: text(&metadata["name"]),
            is_controlled: controller.is_some(),
            is_bound: is_mirror || controller.is_some_and(|owner| owner["kind"] == "DaemonSet"),
            is_ending: has_ended || metadata["deletionTimestamp"].is_string(),
        }
    }

    /// Its name with its namespace.
    pub fn full_name(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }
}

impl Client<'_> {
    /// The pods on a node.
    pub fn pods_on(&self, node: &str) -> Result<Vec<ApiPod>, ApiError> {
        let all = self.list(PODS, None)?;
        Ok(all.iter().filter(|pod| pod["spec"]["nodeName"] == node).map(ApiPod::read).collect())
    }

    /// Asks for the eviction of a pod.
    pub fn evict(&self, pod: &ApiPod) -> Result<Eviction, ApiError> {
        let ApiPod { namespace, name, .. } = pod;
        let eviction = json!({"apiVersion": "policy/v1", "kind": "Eviction",
            "metadata": {"name": name, "namespace": namespace}});
        let path = format!("/api/v1/namespaces/{namespace}/pods/{name}/eviction");
        match self.json(Method::POST, &path, &[], Some(&eviction)) {
            Ok(_) | Err(ApiError::NotFound { .. }) => Ok(Eviction::Accepted),
            Err(ApiError::Refused { code: 429, message, .. }) => Ok(Eviction::Blocked(message)),
            Err(error) => Err(error),
        }
    }

    /// Lets no new pods onto a node.
    pub fn cordon(&self, node: &str) -> Result<(), ApiError> {
        for _ in 0..TRIES {
            let mut object = self.get(NODES, None, node)?;
            if object["spec"]["unschedulable"] == true {
                return Ok(());
            }
            object["spec"]["unschedulable"] = json!(true);
            match self.json(Method::PUT, &format!("/api/v1/nodes/{node}"), &[], Some(&object)) {
                Ok(_) => return Ok(()),
                Err(ApiError::Conflict { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Err(ApiError::Conflict { message: format!("`{node}` keeps changing") })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pods_are_told_apart_by_their_owners() {
        let pod = |metadata: Value, phase: &str| {
            ApiPod::read(&json!({"metadata": metadata, "status": {"phase": phase}}))
        };
        let owned =
            |kind: &str| json!({"name": "a", "ownerReferences": [{"kind": kind, "controller": true}]});
        let deployed = pod(owned("ReplicaSet"), "Running");
        assert!(deployed.is_controlled && !deployed.is_bound && !deployed.is_ending);
        assert!(pod(owned("DaemonSet"), "Running").is_bound);
        assert!(pod(json!({"annotations": {"kubernetes.io/config.mirror": "x"}}), "Running").is_bound);
        assert!(!pod(json!({}), "Running").is_controlled);
        assert!(pod(json!({}), "Succeeded").is_ending);
        assert!(pod(json!({"deletionTimestamp": "2026-01-01T00:00:00Z"}), "Running").is_ending);
    }
}
