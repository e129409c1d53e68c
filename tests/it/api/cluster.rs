//! The objects of a cluster by their paths, and what a request does to them.
//!
//! | rule of a real API server | here |
//! |---|---|
//! | nothing is created in a namespace that is not there | 404, `namespaces "x" not found` |
//! | a status that has its own door is dropped everywhere else, without a word | `keeps_status_apart` |
//! | a server-side apply merges, and needs force where another was before | 409 without |
//! | a replacement names the version that it replaces | 409 |
//! | who asks for a certificate is who has connected, and only conditions approve it | `spec.username`, `spec.groups` |
//! | a pod is evicted through its own door, if its budget permits it | 429 |
//! | strict validation names the fields that the schema does not have | 400 |

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use serde_json::{Value, json};

use super::https::{Answer, Request};
use super::kinds::{self, Kind, Place};
use super::strict;

/// What there is; tests look in and change it.
pub(crate) struct Cluster {
    objects: BTreeMap<String, Value>,
    /// Who has written an object last.
    managers: BTreeMap<String, String>,
    revision: u64,
    /// What is served, until a CRD comes, goes or is established.
    served: OnceLock<Arc<Vec<Kind>>>,
    /// Whether a new CRD is established at once; if not, [`Cluster::establish`] does it.
    pub(crate) establishes: bool,
}

impl Cluster {
    /// As an API server leaves it that is ready: with the namespaces that it makes itself.
    pub(crate) fn new() -> Self {
        let mut cluster = Self {
            objects: BTreeMap::new(),
            managers: BTreeMap::new(),
            revision: 1,
            served: OnceLock::new(),
            establishes: true,
        };
        for name in ["default", "kube-node-lease", "kube-public", "kube-system"] {
            cluster.put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}));
        }
        cluster
    }

    /// Every kind that is served now.
    pub(crate) fn kinds(&self) -> Arc<Vec<Kind>> {
        let served = self.served.get_or_init(|| {
            let crds = self.objects.values().filter(|object| object["kind"] == "CustomResourceDefinition");
            Arc::new(kinds::built_in().into_iter().chain(crds.flat_map(kinds::of_crd)).collect())
        });
        served.clone()
    }

    /// The object at a path.
    pub(crate) fn get(&self, path: &str) -> Option<&Value> {
        self.objects.get(path)
    }

    /// Every path at which there is an object.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &str> {
        self.objects.keys().map(String::as_str)
    }

    /// Puts an object there as it is, status and all, as another component would. Its kind must be known.
    pub(crate) fn put(&mut self, object: Value) {
        let kinds = self.kinds();
        let is_it = |kind: &&Kind| kind.api_version() == object["apiVersion"] && kind.kind == object["kind"];
        let kind = kinds.iter().find(is_it).unwrap_or_else(|| panic!("no such kind: {object}"));
        let path = format!(
            "{}/{}",
            kind.path(object["metadata"]["namespace"].as_str()),
            object["metadata"]["name"].as_str().unwrap()
        );
        self.write(&path, object, "another");
    }

    /// Takes an object away.
    pub(crate) fn remove(&mut self, path: &str) {
        assert!(self.objects.remove(path).is_some(), "{path}");
        self.served = OnceLock::new();
    }

    /// Establishes all CRDs.
    pub(crate) fn establish(&mut self) {
        self.establishes = true;
        self.served = OnceLock::new();
        for crd in self.objects.values_mut().filter(|one| one["kind"] == "CustomResourceDefinition") {
            crd["status"] = established();
        }
    }

    /// Stores an object with what the server gives it.
    fn write(&mut self, path: &str, mut object: Value, manager: &str) -> Value {
        self.revision += 1;
        if object["kind"] == "CustomResourceDefinition" && object["status"].is_null() && self.establishes {
            object["status"] = established();
        }
        if object["kind"] == "CustomResourceDefinition" {
            self.served = OnceLock::new();
        }
        let metadata = &mut object["metadata"];
        metadata["resourceVersion"] = json!(self.revision.to_string());
        let before = self.objects.get(path).map(|before| &before["metadata"]);
        metadata["uid"] = match before {
            Some(before) => before["uid"].clone(),
            None => json!(format!("00000000-0000-0000-0000-{:012}", self.revision)),
        };
        if metadata["creationTimestamp"].is_null() {
            metadata["creationTimestamp"] = json!("2024-01-01T00:00:00Z");
        }
        self.objects.insert(path.to_owned(), object.clone());
        self.managers.insert(path.to_owned(), manager.to_owned());
        object
    }

    /// What a request for objects is answered with, and done.
    pub(crate) fn answer(&mut self, request: &Request) -> Answer {
        let kinds = self.kinds();
        if request.path == "/openapi/v2" {
            return Answer {
                status: 200,
                media_type: kinds::OPEN_API_2,
                body: kinds::EMPTY_OPEN_API_2.to_vec(),
            };
        }
        if let Some(found) = kinds::discover(&kinds, &request.path).filter(|_| request.method == "GET") {
            return done(200, &found);
        }
        let Some(place) = kinds::resolve(&kinds, &request.path) else {
            return refusal(404, "NotFound", "the server could not find the requested resource", json!({}));
        };
        let result = match (request.method.as_str(), &place.name) {
            ("GET", None) => Ok(self.list(request, &place)),
            ("GET", Some(_)) => self.one(&place).map(|found| done(200, &found)),
            ("POST", None) => self.create(request, &place),
            ("POST", Some(name)) if place.door.as_deref() == Some("eviction") => self.evict(&place, name),
            ("PUT", Some(_)) => self.replace(request, &place),
            ("PATCH", Some(_)) => self.patch(request, &place),
            ("DELETE", Some(name)) => self.one(&place).map(|found| {
                self.remove(&at(&place, name));
                if place.kind.kind == "Namespace" {
                    let inside = format!("/namespaces/{name}/");
                    self.objects.retain(|path, _| !path.contains(&inside));
                }
                done(200, &found)
            }),
            (method, _) => {
                let message = format!("the server does not allow {method} here");
                Err(refusal(405, "MethodNotAllowed", &message, json!({})))
            }
        };
        result.unwrap_or_else(|refused| refused)
    }

    /// A pod that is evicted is gone at once, unless a disruption budget is in the way, which an annotation stands for.
    fn evict(&mut self, place: &Place<'_>, name: &str) -> Result<Answer, Answer> {
        let pod = self.one(place)?;
        if let Some(why) = pod["metadata"]["annotations"]["test/blocked"].as_str() {
            return Err(refusal(429, "TooManyRequests", why, json!({})));
        }
        self.remove(&at(place, name));
        Ok(done(201, &json!({"kind": "Status", "apiVersion": "v1", "status": "Success"})))
    }

    fn one(&self, place: &Place<'_>) -> Result<Value, Answer> {
        let name = place.name.as_deref().unwrap();
        self.objects.get(&at(place, name)).cloned().ok_or_else(|| missing(place.kind, name))
    }

    fn list(&self, request: &Request, place: &Place<'_>) -> Answer {
        let kind = place.kind;
        let all = self.objects.values().filter(|object| {
            object["kind"] == kind.kind.as_str()
                && object["apiVersion"] == kind.api_version()
                && place.namespace.as_deref().is_none_or(|name| object["metadata"]["namespace"] == name)
                && selected(request, object)
        });
        let items: Vec<&Value> = all.collect();
        done(
            200,
            &json!({"kind": format!("{}List", kind.kind), "apiVersion": kind.api_version(),
                "metadata": {"resourceVersion": self.revision.to_string()}, "items": items}),
        )
    }

    fn create(&mut self, request: &Request, place: &Place<'_>) -> Result<Answer, Answer> {
        let object = read(request, place)?;
        let Some(name) = object["metadata"]["name"].as_str() else {
            return Err(refusal(422, "Invalid", "metadata.name: Required value", json!({})));
        };
        let path = at(place, name);
        if self.objects.contains_key(&path) {
            let message = format!("{} \"{name}\" already exists", place.kind.resource());
            return Err(refusal(409, "AlreadyExists", &message, details(place.kind, name)));
        }
        self.make(request, place, &path, object)
    }

    /// The first time that an object is written.
    fn make(
        &mut self,
        request: &Request,
        place: &Place<'_>,
        path: &str,
        mut object: Value,
    ) -> Result<Answer, Answer> {
        if let Some(namespace) = &place.namespace {
            if !self.objects.contains_key(&format!("/api/v1/namespaces/{namespace}")) {
                let message = format!("namespaces \"{namespace}\" not found");
                return Err(refusal(
                    404,
                    "NotFound",
                    &message,
                    json!({"name": namespace, "kind": "namespaces"}),
                ));
            }
            object["metadata"]["namespace"] = json!(namespace);
        }
        if place.kind.keeps_status_apart() {
            object.as_object_mut().unwrap().remove("status");
        }
        object["metadata"].as_object_mut().unwrap().remove("creationTimestamp");
        if let (true, Some(user)) = (place.kind.kind == "CertificateSigningRequest", &request.user) {
            // Who asks is what the server says, whatever was sent.
            let groups: Vec<&str> =
                user.groups.iter().map(String::as_str).chain(["system:authenticated"]).collect();
            object["spec"]["username"] = json!(user.name);
            object["spec"]["groups"] = json!(groups);
        }
        Ok(done(201, &self.write(path, object, manager(request))))
    }

    fn replace(&mut self, request: &Request, place: &Place<'_>) -> Result<Answer, Answer> {
        let before = self.one(place)?;
        let after = read(request, place)?;
        let version = &after["metadata"]["resourceVersion"];
        if !version.is_null() && *version != before["metadata"]["resourceVersion"] {
            return Err(conflict(
                place,
                "the object has been modified; please apply your changes to the latest version",
            ));
        }
        Ok(self.update(request, place, before, after))
    }

    fn patch(&mut self, request: &Request, place: &Place<'_>) -> Result<Answer, Answer> {
        let path = at(place, place.name.as_deref().unwrap());
        let before = self.objects.get(&path).cloned();
        match request.headers.get("content-type").map(String::as_str) {
            Some("application/apply-patch+yaml") => {
                let given = read(request, place)?;
                let Some(before) = before else { return self.make(request, place, &path, given) };
                let mut after = before.clone();
                merge(&mut after, &given);
                let (us, them) = (manager(request), self.managers.get(&path).cloned().unwrap_or_default());
                let forced = request.query.get("force").is_some_and(|value| value == "true");
                if after != before && us != them && !forced {
                    return Err(conflict(
                        place,
                        &format!("Apply failed with 1 conflict: conflict with \"{them}\""),
                    ));
                }
                Ok(self.update(request, place, before, after))
            }
            Some("application/merge-patch+json" | "application/strategic-merge-patch+json") => {
                let before = before.ok_or_else(|| missing(place.kind, place.name.as_deref().unwrap()))?;
                let mut after = before.clone();
                merge(&mut after, &json(request)?);
                Ok(self.update(request, place, before, after))
            }
            other => Err(refusal(415, "UnsupportedMediaType", &format!("{other:?}"), json!({}))),
        }
    }

    /// Writes what may be written through this door, and nothing else.
    fn update(&mut self, request: &Request, place: &Place<'_>, before: Value, mut after: Value) -> Answer {
        let path = at(place, place.name.as_deref().unwrap());
        let mut kept = before.clone();
        match place.door.as_deref() {
            // A request is approved by its conditions, and nothing else of it is written through that door.
            Some("approval") => kept["status"]["conditions"] = after["status"]["conditions"].take(),
            Some(_) => kept["status"] = after["status"].take(),
            None => {
                kept = after;
                if place.kind.keeps_status_apart() {
                    let fields = kept.as_object_mut().unwrap();
                    fields.remove("status");
                    fields.extend(before.get("status").map(|status| ("status".to_owned(), status.clone())));
                }
            }
        }
        match kept == before {
            true => done(200, &kept),
            false => done(200, &self.write(&path, kept, manager(request))),
        }
    }
}

fn at(place: &Place<'_>, name: &str) -> String {
    format!("{}/{name}", place.kind.path(place.namespace.as_deref()))
}

fn established() -> Value {
    json!({"conditions": [
        {"type": "NamesAccepted", "status": "True", "reason": "NoConflicts", "message": "no conflicts found"},
        {"type": "Established", "status": "True", "reason": "InitialNamesAccepted", "message": ""},
    ]})
}

fn manager(request: &Request) -> &str {
    request.query.get("fieldManager").map_or("unknown", String::as_str)
}

fn json(request: &Request) -> Result<Value, Answer> {
    serde_json::from_slice(&request.body)
        .map_err(|error| refusal(400, "BadRequest", &error.to_string(), json!({})))
}

/// The object of a request: of the kind, and with the name, of its path; strictly, if that is asked for.
fn read(request: &Request, place: &Place<'_>) -> Result<Value, Answer> {
    let object = json(request)?;
    let bad = |message: String| refusal(400, "BadRequest", &message, json!({}));
    let kind = place.kind;
    if object["kind"] != kind.kind.as_str() || object["apiVersion"] != kind.api_version() {
        return Err(bad(format!(
            "the object provided is unrecognized: {} of {}",
            object["kind"], object["apiVersion"]
        )));
    }
    let (name, namespace) = (&object["metadata"]["name"], &object["metadata"]["namespace"]);
    if place.name.as_deref().is_some_and(|wanted| *name != wanted) {
        return Err(bad(format!("the name of the object ({name}) does not match the name on the URL")));
    }
    if namespace.as_str().is_some_and(|found| place.namespace.as_deref() != Some(found)) {
        return Err(bad(format!(
            "the namespace of the object ({namespace}) does not match the namespace on the URL"
        )));
    }
    let strict = request.query.get("fieldValidation").is_some_and(|value| value == "Strict");
    let unknown = kind.schema.iter().filter(|_| strict).flat_map(|schema| strict::unknown(schema, &object));
    let unknown: Vec<String> = unknown.collect();
    match unknown.is_empty() {
        true => Ok(object),
        false => Err(bad(format!("strict decoding error: {}", unknown.join(", ")))),
    }
}

/// RFC 7386; lists are replaced, which is right for all lists of our manifests.
fn merge(into: &mut Value, from: &Value) {
    let (Value::Object(into), Value::Object(from)) = (&mut *into, from) else {
        *into = from.clone();
        return;
    };
    for (name, value) in from {
        match value {
            Value::Null => drop(into.remove(name)),
            value => merge(into.entry(name.clone()).or_insert(json!({})), value),
        }
    }
}

/// Whether an object is among those that are asked for, by labels and by its name.
fn selected(request: &Request, object: &Value) -> bool {
    let given = |name: &str| request.query.get(name).filter(|text| !text.is_empty());
    let label = |part: &str| {
        let labels = &object["metadata"]["labels"];
        match part.split_once('=') {
            Some((name, value)) => labels[name] == value,
            None => !labels[part].is_null(),
        }
    };
    let field = |part: &str| {
        part.strip_prefix("metadata.name=").is_some_and(|name| object["metadata"]["name"] == name)
    };
    given("labelSelector").is_none_or(|text| text.split(',').all(label))
        && given("fieldSelector").is_none_or(|text| text.split(',').all(field))
}

fn details(kind: &Kind, name: &str) -> Value {
    json!({"name": name, "group": kind.group, "kind": kind.plural})
}

fn missing(kind: &Kind, name: &str) -> Answer {
    refusal(404, "NotFound", &format!("{} \"{name}\" not found", kind.resource()), details(kind, name))
}

fn conflict(place: &Place<'_>, why: &str) -> Answer {
    let name = place.name.as_deref().unwrap();
    let message = format!("Operation cannot be fulfilled on {} \"{name}\": {why}", place.kind.resource());
    refusal(409, "Conflict", &message, details(place.kind, name))
}

/// An answer with an object in it.
pub(crate) fn done(status: u16, object: &Value) -> Answer {
    Answer { status, media_type: "application/json", body: object.to_string().into_bytes() }
}

/// A refusal, as the type that clients know.
pub(crate) fn refusal(code: u16, reason: &str, message: &str, details: Value) -> Answer {
    let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": message, "reason": reason, "details": details, "code": code});
    done(code, &status)
}
