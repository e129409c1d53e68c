//! Which kinds there are, and how clients learn of them: discovery, and the part of OpenAPI that says what can be asked for.
//!
//! A kind of a CRD is there from when the CRD is established, as long as it is.

use serde_json::{Value, json};

/// A kind of one group and version, as a path and a manifest name it.
#[derive(Debug, Clone)]
pub(crate) struct Kind {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) plural: String,
    pub(crate) kind: String,
    pub(crate) namespaced: bool,
    /// What has a door of its own: `status`, `approval`.
    pub(crate) doors: Vec<String>,
    /// Of a CRD's kind.
    pub(crate) schema: Option<Value>,
}

/// Columns of the table below.
type BuiltIn = (&'static str, &'static str, &'static str, &'static str, bool, &'static [&'static str]);

/// Group, version, plural, kind, whether it is in namespaces, doors.
const BUILT_IN: &[BuiltIn] = &[
    ("", "v1", "configmaps", "ConfigMap", true, &[]),
    ("", "v1", "namespaces", "Namespace", false, &["status"]),
    ("", "v1", "nodes", "Node", false, &["status"]),
    ("", "v1", "pods", "Pod", true, &["status", "eviction"]),
    ("", "v1", "secrets", "Secret", true, &[]),
    ("", "v1", "serviceaccounts", "ServiceAccount", true, &[]),
    ("", "v1", "services", "Service", true, &["status"]),
    (
        "apiextensions.k8s.io",
        "v1",
        "customresourcedefinitions",
        "CustomResourceDefinition",
        false,
        &["status"],
    ),
    (
        "certificates.k8s.io",
        "v1",
        "certificatesigningrequests",
        "CertificateSigningRequest",
        false,
        &["status", "approval"],
    ),
    ("apps", "v1", "deployments", "Deployment", true, &["status"]),
    ("rbac.authorization.k8s.io", "v1", "clusterrolebindings", "ClusterRoleBinding", false, &[]),
    ("rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", false, &[]),
    ("rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding", true, &[]),
    ("rbac.authorization.k8s.io", "v1", "roles", "Role", true, &[]),
];

/// What clients ask for about a kind that they have not found in version 3, and in which form.
pub(crate) const OPEN_API_2: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

/// A document that says `swagger: "2.0"` and knows no kind.
pub(crate) const EMPTY_OPEN_API_2: &[u8] = b"\x0a\x032.0";

/// The kinds that an API server has by itself.
pub(crate) fn built_in() -> Vec<Kind> {
    let owned = |text: &&str| (*text).to_owned();
    BUILT_IN
        .iter()
        .map(|(group, version, plural, kind, namespaced, doors)| Kind {
            group: owned(group),
            version: owned(version),
            plural: owned(plural),
            kind: owned(kind),
            namespaced: *namespaced,
            doors: doors.iter().map(owned).collect(),
            schema: None,
        })
        .collect()
}

/// The kinds that a CRD defines, if it is established.
pub(crate) fn of_crd(crd: &Value) -> Vec<Kind> {
    let mut conditions = crd["status"]["conditions"].as_array().into_iter().flatten();
    if !conditions.any(|one| one["type"] == "Established" && one["status"] == "True") {
        return Vec::new();
    }
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let spec = &crd["spec"];
    let versions = spec["versions"].as_array().unwrap().iter().filter(|version| version["served"] == true);
    versions
        .map(|version| Kind {
            group: text(&spec["group"]),
            version: text(&version["name"]),
            plural: text(&spec["names"]["plural"]),
            kind: text(&spec["names"]["kind"]),
            namespaced: spec["scope"] == "Namespaced",
            doors: version["subresources"]["status"]
                .as_object()
                .map(|_| "status".into())
                .into_iter()
                .collect(),
            schema: Some(version["schema"]["openAPIV3Schema"].clone()),
        })
        .collect()
}

impl Kind {
    /// `v1`, `config.openshift.io/v1`.
    pub(crate) fn api_version(&self) -> String {
        match self.group.as_str() {
            "" => self.version.clone(),
            group => format!("{group}/{}", self.version),
        }
    }

    /// `configmaps`, `etcds.operator.openshift.io`: what it is called in messages.
    pub(crate) fn resource(&self) -> String {
        match self.group.as_str() {
            "" => self.plural.clone(),
            group => format!("{}.{group}", self.plural),
        }
    }

    /// Where all of its objects are, or those of a namespace.
    pub(crate) fn path(&self, namespace: Option<&str>) -> String {
        let root = if self.group.is_empty() { "/api" } else { "/apis" };
        let namespace = namespace.map(|name| format!("/namespaces/{name}")).unwrap_or_default();
        format!("{root}/{}{namespace}/{}", self.api_version(), self.plural)
    }

    fn has(&self, door: &str) -> bool {
        self.doors.iter().any(|one| one == door)
    }

    /// Whether its status is written through its own door, and nowhere else.
    pub(crate) fn keeps_status_apart(&self) -> bool {
        self.has("status") && self.kind != "Node"
    }
}

/// What a path asks for: all objects of a kind, those of a namespace, one, or a part of one.
#[derive(Debug)]
pub(crate) struct Place<'a> {
    pub(crate) kind: &'a Kind,
    pub(crate) namespace: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) door: Option<String>,
}

/// What a path means; none if there is no such thing.
pub(crate) fn resolve<'a>(kinds: &'a [Kind], path: &str) -> Option<Place<'a>> {
    let words: Vec<&str> = path.trim_matches('/').split('/').collect();
    let (group, version, rest) = match words.as_slice() {
        ["api", version, rest @ ..] => ("", *version, rest),
        ["apis", group, version, rest @ ..] => (*group, *version, rest),
        _ => return None,
    };
    let (namespace, rest) = match rest {
        // A namespace itself, or its status; everything longer is in it.
        ["namespaces", name, rest @ ..] if !rest.is_empty() && *rest != ["status"] => (Some(*name), rest),
        rest => (None, rest),
    };
    let (plural, name, door) = match rest {
        [plural] => (*plural, None, None),
        [plural, name] => (*plural, Some(*name), None),
        [plural, name, door] => (*plural, Some(*name), Some(*door)),
        _ => return None,
    };
    let kind = kinds.iter().find(|kind| {
        (kind.group.as_str(), kind.version.as_str(), kind.plural.as_str()) == (group, version, plural)
    })?;
    let fits = (namespace.is_none() || kind.namespaced)
        && (name.is_none() || namespace.is_some() == kind.namespaced)
        && door.is_none_or(|door| kind.has(door));
    let owned = |text: &str| text.to_owned();
    fits.then(|| Place {
        kind,
        namespace: namespace.map(owned),
        name: name.map(owned),
        door: door.map(owned),
    })
}

/// Discovery, as every client of the API begins with; none if the path is not about it.
pub(crate) fn discover(kinds: &[Kind], path: &str) -> Option<Value> {
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for kind in kinds.iter().filter(|kind| !kind.group.is_empty()) {
        match groups.iter_mut().find(|(group, _)| *group == kind.group) {
            Some((_, versions)) if versions.contains(&kind.version.as_str()) => {}
            Some((_, versions)) => versions.push(&kind.version),
            None => groups.push((&kind.group, vec![&kind.version])),
        }
    }
    let version = |group: &str, version: &str| json!({"groupVersion": format!("{group}/{version}"), "version": version});
    let group = |(name, versions): &(&str, Vec<&str>)| {
        let versions: Vec<Value> = versions.iter().map(|one| version(name, one)).collect();
        json!({"name": name, "preferredVersion": versions[0], "versions": versions})
    };
    let words: Vec<&str> = path.trim_matches('/').split('/').collect();
    match words.as_slice() {
        ["version"] => Some(json!({
            "major": "1", "minor": "31", "gitVersion": "v1.31.0", "gitCommit": "", "gitTreeState": "clean",
            "buildDate": "2024-08-13T00:00:00Z", "goVersion": "go1.22", "compiler": "gc", "platform": "linux/amd64",
        })),
        ["api"] => Some(json!({"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []})),
        ["apis"] => {
            let groups: Vec<Value> = groups.iter().map(group).collect();
            Some(json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}))
        }
        ["api", version] => resources(kinds, "", version),
        ["apis", group, version] => resources(kinds, group, version),
        ["openapi", "v3"] => {
            let versions = groups
                .iter()
                .flat_map(|(group, all)| all.iter().map(move |one| format!("apis/{group}/{one}")));
            let entry =
                |path: String| (path.clone(), json!({"serverRelativeURL": format!("/openapi/v3/{path}")}));
            let paths: serde_json::Map<String, Value> =
                std::iter::once("api/v1".to_owned()).chain(versions).map(entry).collect();
            Some(json!({"paths": paths}))
        }
        ["openapi", "v3", "api", version] => Some(open_api(kinds, "", version)),
        ["openapi", "v3", "apis", group, version] => Some(open_api(kinds, group, version)),
        _ => None,
    }
}

/// The kinds of one group and version, with their doors.
fn resources(kinds: &[Kind], group: &str, version: &str) -> Option<Value> {
    let mut found = Vec::new();
    for kind in kinds.iter().filter(|kind| kind.group == group && kind.version == version) {
        let entry = |name: String, verbs: &[&str]| {
            json!({"name": name, "singularName": kind.kind.to_lowercase(), "namespaced": kind.namespaced,
                "kind": kind.kind, "verbs": verbs})
        };
        let verbs = ["create", "delete", "get", "list", "patch", "update"];
        found.push(entry(kind.plural.clone(), &verbs));
        let doors = kind
            .doors
            .iter()
            .map(|door| entry(format!("{}/{door}", kind.plural), &["get", "patch", "update"]));
        found.extend(doors);
    }
    let name = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
    (!found.is_empty()).then(
        || json!({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": name, "resources": found}),
    )
}

/// What clients look for before they ask for strict validation: that a write takes `fieldValidation`.
fn open_api(kinds: &[Kind], group: &str, version: &str) -> Value {
    let mut paths = serde_json::Map::new();
    for kind in kinds.iter().filter(|kind| kind.group == group && kind.version == version) {
        let path = format!("{}/{{name}}", kind.path(kind.namespaced.then_some("{namespace}")));
        let about = json!({"group": kind.group, "version": kind.version, "kind": kind.kind});
        let takes = json!([{"name": "fieldValidation", "in": "query", "schema": {"type": "string"}}]);
        let patch = json!({"patch": {"parameters": takes, "responses": {}, "x-kubernetes-group-version-kind": about}});
        paths.insert(path, patch);
    }
    json!({"openapi": "3.0.0", "info": {"title": "stand-in", "version": "v1.31.0"}, "paths": paths})
}
