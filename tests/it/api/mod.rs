//! An API server to test against: on loopback, with our certificates, real paths and real types, and a cluster in memory.
//!
//! | file | what it owns |
//! |---|---|
//! | `https` | TLS, connections, and who a client is by its certificate |
//! | `kinds` | which kinds there are, what a path means, discovery |
//! | `cluster` | objects, and what a request does to them |
//! | `strict` | fields that a schema does not have |
//! | `who` | the only tests in here: who gets in |
//!
//! What happens around the API (an operator, the cluster-version operator, a bad day) is told beforehand, by the request at
//! which it happens, so that nothing depends on time:
//!
//! ```text
//! let api = Api::start(&tls);
//! api.at(3, "GET /apis/operator.openshift.io/v1/etcds/cluster", |cluster| cluster.put(etcd_is_running()));
//! … run a client against api.url() …
//! assert!(api.look(|cluster| cluster.get("/api/v1/namespaces/kube-system/configmaps/bootstrap").is_some()));
//! ```
//!
//! Not here: watches, aggregated APIs, validation beyond unknown fields.

mod cluster;
mod https;
mod kinds;
mod strict;
mod who;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use serde_json::json;

pub(crate) use cluster::Cluster;
pub(crate) use https::{Answer, Https, Tls, User};

use crate::harness::Workspace;
use cluster::refusal;
use https::{Request, Stopper};

/// Builds keys, certificates and kubeconfigs, and puts them all into one directory, as on a node.
pub(crate) fn secrets(ws: &Workspace, targets: &[&str]) -> PathBuf {
    let to = ws.temp().join("secrets");
    fs::create_dir_all(&to).unwrap();
    for target in ws.json(&[&["build"], targets].concat())["targets"].as_array().unwrap() {
        for entry in fs::read_dir(target["path"].as_str().unwrap()).unwrap() {
            let path = entry.unwrap().path();
            fs::copy(&path, to.join(path.file_name().unwrap())).unwrap();
        }
    }
    to
}

/// What an API server of ours needs of [`secrets`].
pub(crate) const SERVER: [&str; 3] = ["pki/kubernetes-ca", "pki/kube-apiserver", "key/kube-apiserver"];

impl Tls {
    /// As the flags of our static pod say it: whoever kubernetes-ca vouches for gets in, and so does nobody.
    pub(crate) fn api_server(secrets: &Path) -> Self {
        Self {
            certificate: secrets.join("kube-apiserver.crt"),
            key: secrets.join("kube-apiserver.key"),
            clients: secrets.join("kubernetes-ca.crt"),
            required: false,
        }
    }
}

/// What happens when a request comes.
struct Plan {
    request: String,
    look: usize,
    happens: Box<dyn FnMut(&mut Cluster) + Send>,
}

/// What was asked, by whom, and how that went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seen {
    /// `GET /api/v1/nodes`.
    pub(crate) request: String,
    /// Empty for who has shown no certificate.
    pub(crate) user: String,
    pub(crate) status: u16,
}

/// What all servers of a cluster share.
struct State {
    cluster: Cluster,
    looks: BTreeMap<String, usize>,
    plans: Vec<Plan>,
    seen: Vec<Seen>,
    /// Group, method and path of what may be done by others than administrators.
    allowed: Vec<[String; 3]>,
}

/// The last request that a server hears: it does what is asked, and then it is dead.
#[derive(Default)]
struct Last {
    request: Option<String>,
    /// Whether the client still gets its answer.
    answered: bool,
    stopper: Option<Stopper>,
}

/// One API server. Runs until it is dropped, or dies as planned.
pub(crate) struct Api {
    https: Https,
    state: Arc<Mutex<State>>,
    last: Arc<Mutex<Last>>,
}

impl Api {
    /// A server of a new cluster.
    pub(crate) fn start(tls: &Tls) -> Self {
        let state = State {
            cluster: Cluster::new(),
            looks: BTreeMap::new(),
            plans: Vec::new(),
            seen: Vec::new(),
            allowed: Vec::new(),
        };
        Self::serve(0, tls, Arc::new(Mutex::new(state)))
    }

    /// The same cluster's server again after its end, at the same port.
    pub(crate) fn restart(&mut self, tls: &Tls) {
        self.stop();
        let again = Self::serve(self.https.port, tls, self.state.clone());
        *self = again;
    }

    /// Nobody listens at its port any more.
    pub(crate) fn stop(&self) {
        self.https.stopper().stop();
    }

    /// Its port on loopback.
    pub(crate) fn port(&self) -> u16 {
        self.https.port
    }

    /// Another server of the same cluster, as on a master.
    pub(crate) fn another(&self, tls: &Tls) -> Self {
        Self::serve(0, tls, self.state.clone())
    }

    fn serve(port: u16, tls: &Tls, state: Arc<Mutex<State>>) -> Self {
        let last = Arc::new(Mutex::new(Last::default()));
        let (shared, end) = (state.clone(), last.clone());
        let https = Https::start_at(port, tls, move |request| {
            let line = format!("{} {}", request.method, request.path);
            let answer = shared.lock().unwrap().answer(request, &line);
            let last = end.lock().unwrap();
            if last.request.as_ref() == Some(&line) && answer.status < 300 {
                last.stopper.iter().for_each(Stopper::stop);
                return Some(answer).filter(|_| last.answered);
            }
            Some(answer)
        });
        last.lock().unwrap().stopper = Some(https.stopper());
        Self { https, state, last }
    }

    /// Where it is.
    pub(crate) fn url(&self) -> String {
        self.https.url()
    }

    /// Says what happens just before a request is answered for the `look`th time, counted from 1 and from now on, by all
    /// servers of the cluster.
    pub(crate) fn at(&self, look: usize, request: &str, happens: impl FnMut(&mut Cluster) + Send + 'static) {
        let mut state = self.state.lock().unwrap();
        let look = look + state.looks.get(request).copied().unwrap_or(0);
        state.plans.push(Plan { request: request.to_owned(), look, happens: Box::new(happens) });
    }

    /// Does what is asked for the first time that it succeeds, and is dead from then on: with its last answer given, or not.
    pub(crate) fn dies_after(&self, request: &str, answered: bool) {
        let mut last = self.last.lock().unwrap();
        (last.request, last.answered) = (Some(request.to_owned()), answered);
    }

    /// Lets a group do more than nothing: a method, and a path or all paths below it.
    pub(crate) fn allow(&self, group: &str, method: &str, path: &str) {
        self.state.lock().unwrap().allowed.push([group, method, path].map(str::to_owned));
    }

    /// Looks into the cluster, or changes it.
    pub(crate) fn look<T>(&self, with: impl FnOnce(&mut Cluster) -> T) -> T {
        with(&mut self.state.lock().unwrap().cluster)
    }

    /// Everything that was asked so far, but for discovery.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.state.lock().unwrap().seen.clone()
    }
}

impl State {
    fn answer(&mut self, request: &Request, line: &str) -> Answer {
        let looks = self.looks.entry(line.to_owned()).or_default();
        *looks += 1;
        for plan in self.plans.iter_mut().filter(|plan| plan.request == line && plan.look == *looks) {
            (plan.happens)(&mut self.cluster);
        }
        let answer = match self.may(request) {
            Ok(()) if is_health(&request.path) => {
                Answer { status: 200, media_type: "text/plain; charset=utf-8", body: b"ok".to_vec() }
            }
            Ok(()) => self.cluster.answer(request),
            Err(refused) => refused,
        };
        if !is_open_to_users(&request.path) {
            let user = request.user.as_ref().map(|user| user.name.clone()).unwrap_or_default();
            self.seen.push(Seen { request: line.to_owned(), user, status: answer.status });
        }
        answer
    }

    /// As with RBAC: administrators may do everything, users learn what there is, everyone may ask for health.
    fn may(&self, request: &Request) -> Result<(), Answer> {
        let Request { method, path, user, .. } = request;
        let is_in =
            |user: &User, group: &String| user.groups.contains(group) || group == "system:authenticated";
        let allowed = match user {
            _ if is_health(path) || path == "/version" => true,
            None => false,
            Some(user) if user.groups.iter().any(|group| group == "system:masters") => true,
            Some(_) if is_open_to_users(path) => method == "GET",
            Some(user) => self.allowed.iter().any(|[group, verb, below]| {
                is_in(user, group)
                    && verb == method
                    && path.strip_prefix(below).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            }),
        };
        let name = user.as_ref().map_or("system:anonymous", |user| user.name.as_str());
        let message = format!("User \"{name}\" cannot {method} path \"{path}\"");
        if allowed { Ok(()) } else { Err(refusal(403, "Forbidden", &message, json!({}))) }
    }
}

fn is_health(path: &str) -> bool {
    ["/healthz", "/livez", "/readyz"].contains(&path)
}

/// Discovery: `/api/v1`, `/apis/config.openshift.io/v1`, `/openapi/…`, but no object.
fn is_open_to_users(path: &str) -> bool {
    let words: Vec<&str> = path.trim_matches('/').split('/').collect();
    match words.first() {
        Some(&"api") => words.len() <= 2,
        Some(&"apis") => words.len() <= 3,
        Some(&("openapi" | "version")) => true,
        _ => false,
    }
}
