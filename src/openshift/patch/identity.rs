//! The identity of a Kubernetes object.

use std::fmt;

use crate::base::yaml::YamlNode;

/// Two documents with the same group, kind, namespace and name describe the same object, whatever the version.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Identity {
    pub api_version: String,
    pub kind: String,
    /// Empty for cluster-scoped objects.
    pub namespace: String,
    pub name: String,
}

impl Identity {
    /// The identity of a document; missing fields are empty.
    pub(crate) fn of(document: &YamlNode) -> Self {
        let text = |node: Option<&YamlNode>| {
            node.filter(|node| !node.is_null()).and_then(YamlNode::text).unwrap_or_default().to_owned()
        };
        let metadata = document.get("metadata");
        let below = |key: &str| text(metadata.and_then(|metadata| metadata.get(key)));
        Self {
            api_version: text(document.get("apiVersion")),
            kind: text(document.get("kind")),
            namespace: below("namespace"),
            name: below("name"),
        }
    }

    /// The first missing field that every object needs.
    pub(crate) fn missing(&self) -> Option<&'static str> {
        let fields = [("apiVersion", &self.api_version), ("kind", &self.kind), ("metadata.name", &self.name)];
        fields.into_iter().find(|(_, text)| text.is_empty()).map(|(field, _)| field)
    }

    /// The API group; empty for the core group.
    pub(crate) fn group(&self) -> &str {
        self.api_version.split_once('/').map_or("", |(group, _)| group)
    }

    /// `DNS.config.openshift.io`, `ConfigMap`.
    pub(crate) fn kind_and_group(&self) -> String {
        match self.group() {
            "" => self.kind.clone(),
            group => format!("{}.{group}", self.kind),
        }
    }

    /// Whether both describe the same object.
    pub(crate) fn is(&self, other: &Self) -> bool {
        self.key() == other.key()
    }

    /// The identity without the version.
    pub(crate) fn key(&self) -> (&str, &str, &str, &str) {
        (self.group(), &self.kind, &self.namespace, &self.name)
    }
}

/// `ConfigMap kube-system/cluster-config-v1`.
impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.namespace.as_str() {
            "" => write!(f, "{} `{}`", self.kind, self.name),
            namespace => write!(f, "{} `{namespace}/{}`", self.kind, self.name),
        }
    }
}
