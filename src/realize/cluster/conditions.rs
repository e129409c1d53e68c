//! What the objects of the cluster say, read from JSON. Pure, and lenient: while a cluster comes up, much is missing.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// One ClusterOperator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Operator {
    pub name: String,
    pub version: Option<String>,
    /// None if it has not reported the condition.
    pub available: Option<bool>,
    pub progressing: Option<bool>,
    pub degraded: Option<bool>,
    /// Why it is not done.
    pub message: String,
}

/// A condition: whether it holds, and its message.
pub(crate) fn condition<'v>(object: &'v Value, kind: &str) -> Option<(Option<bool>, &'v str)> {
    let all = object["status"]["conditions"].as_array()?;
    let found = all.iter().find(|one| one["type"] == kind)?;
    let holds = match found["status"].as_str() {
        Some("True") => Some(true),
        Some("False") => Some(false),
        _ => None,
    };
    Some((holds, found["message"].as_str().unwrap_or_default()))
}

impl Operator {
    pub(super) fn read(object: &Value) -> Self {
        let of = |kind| condition(object, kind).unwrap_or((None, ""));
        let [available, progressing, degraded] = ["Available", "Progressing", "Degraded"].map(of);
        let message = match () {
            () if degraded.0 == Some(true) => degraded.1,
            () if available.0 != Some(true) => available.1,
            () if progressing.0 != Some(false) => progressing.1,
            () => "",
        };
        let versions = object["status"]["versions"].as_array();
        let version = versions.and_then(|all| all.iter().find(|one| one["name"] == "operator"));
        Self {
            name: object["metadata"]["name"].as_str().unwrap_or_default().to_owned(),
            version: version.and_then(|one| one["version"].as_str()).map(str::to_owned),
            available: available.0,
            progressing: progressing.0,
            degraded: degraded.0,
            message: first_line(message),
        }
    }

    /// Available, not progressing, not degraded.
    pub(crate) fn is_done(&self) -> bool {
        (self.available, self.progressing, self.degraded) == (Some(true), Some(false), Some(false))
    }

    pub(crate) fn state(&self) -> String {
        let word = |holds: Option<bool>, yes, no| match holds {
            Some(true) => yes,
            Some(false) => no,
            None => "unknown",
        };
        match self {
            Self { degraded: Some(true), .. } => "degraded".to_owned(),
            Self { available: Some(true), .. } => {
                word(self.progressing, "progressing", "available").to_owned()
            }
            _ => word(self.available, "available", "not available").to_owned(),
        }
    }
}

/// A message of the cluster, which may be anything: its first line, without control characters, of limited length.
pub(crate) fn first_line(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    crate::base::redact::one_line(line, 160)
}

/// Whether etcd runs on the masters; if not, what its operator says.
pub(crate) fn etcd_runs(etcd: &Value) -> Result<(), String> {
    match condition(etcd, "EtcdRunningInCluster") {
        Some((Some(true), _)) => Ok(()),
        Some((_, message)) => Err(format!("etcd is not on the masters yet: {}", first_line(message))),
        None => Err("the etcd operator has not reported yet".to_owned()),
    }
}

/// How many masters run an API server that the operator started.
pub(crate) fn api_servers(operator: &Value) -> usize {
    let nodes = operator["status"]["nodeStatuses"].as_array();
    nodes.into_iter().flatten().filter(|node| node["currentRevision"].as_i64().unwrap_or(0) > 0).count()
}

/// Whether the bootstrap node has reported that it is done.
pub(crate) fn is_bootstrap_complete(bootstrap: &Value) -> bool {
    bootstrap["data"]["status"] == "complete"
}

/// What the release is still doing; none if its installation is complete.
pub(crate) fn unfinished_version(cluster_version: &Value) -> Option<String> {
    let last = &cluster_version["status"]["history"][0];
    if last["state"] == "Completed" {
        return None;
    }
    let said = ["Failing", "Progressing"].into_iter().filter_map(|kind| condition(cluster_version, kind));
    let said = said.filter(|(holds, _)| *holds == Some(true)).map(|(_, message)| first_line(message)).next();
    Some(said.unwrap_or_else(|| "the cluster-version operator has not reported yet".to_owned()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn operator(conditions: &Value) -> Operator {
        Operator::read(&json!({
            "metadata": {"name": "dns"},
            "status": {"conditions": conditions, "versions": [{"name": "operator", "version": "4.18.1"}]},
        }))
    }

    #[test]
    fn an_operator_is_done_when_its_conditions_say_so() {
        let at = |kind: &str, status: &str| json!({"type": kind, "status": status, "message": format!("{kind}\n2")});
        let [available, progressing, degraded] =
            ["Available", "Progressing", "Degraded"].map(|kind| move |status: &str| at(kind, status));
        let done = operator(&json!([available("True"), progressing("False"), degraded("False")]));
        assert!(done.is_done() && done.message.is_empty() && done.state() == "available", "{done:?}");
        let moving = operator(&json!([available("True"), progressing("True"), degraded("False")]));
        assert_eq!(
            (moving.is_done(), moving.state(), moving.message),
            (false, "progressing".into(), "Progressing".into())
        );
        let bad = operator(&json!([available("True"), progressing("False"), degraded("True")]));
        assert_eq!((bad.is_done(), bad.state(), bad.message), (false, "degraded".into(), "Degraded".into()));
        // Without the Degraded condition an operator is not done.
        let young = operator(&json!([available("True"), progressing("False")]));
        assert!(!young.is_done());
        assert_eq!(operator(&json!([])).state(), "unknown");
        assert_eq!(Operator::read(&json!(null)).name, "");
    }

    #[test]
    fn the_pivot_is_read_from_the_operators_conditions() {
        let etcd = |status: &str| json!({"status": {"conditions": [{"type": "EtcdRunningInCluster", "status": status, "message": "2 of 3"}]}});
        assert_eq!(etcd_runs(&etcd("True")), Ok(()));
        assert_eq!(etcd_runs(&etcd("False")), Err("etcd is not on the masters yet: 2 of 3".into()));
        assert_eq!(etcd_runs(&json!({})), Err("the etcd operator has not reported yet".into()));
        let servers =
            json!({"status": {"nodeStatuses": [{"currentRevision": 3}, {"currentRevision": 0}, {}]}});
        assert_eq!(api_servers(&servers), 1);
        assert!(
            !is_bootstrap_complete(&json!({"data": {"status": "begun"}}))
                && is_bootstrap_complete(&json!({"data": {"status": "complete"}}))
        );
        assert_eq!(unfinished_version(&json!({"status": {"history": [{"state": "Completed"}]}})), None);
        assert!(unfinished_version(&json!({})).is_some());
    }
}
