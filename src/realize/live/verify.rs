//! The smoke test: is what the cluster says of itself true? A workload runs, and its route is reached through the ingress VIP.
//!
//! The workload is the release's own HAProxy with a page that holds a random word: nothing else can have answered with it.
//! Its namespace is removed again, whatever happens; what a killed run has left goes before the next begins.

use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};

use super::{CONFIG_MAPS, Cluster, ETCDS, converge, facts, there};
use crate::base::event::Event;
use crate::base::fs;
use crate::realize::api::{ApiError, Client, Kind, Page};
use crate::realize::wait::{Look, Wait, passing};
use crate::realize::{Hands, Phase, RealizeError};

const NAMESPACES: Kind = Kind::new("", "v1", "namespaces");
const SERVICES: Kind = Kind::new("", "v1", "services");
const DEPLOYMENTS: Kind = Kind::new("apps", "v1", "deployments");
const ROUTES: Kind = Kind::new("route.openshift.io", "v1", "routes");

/// The smoke test's own.
const NAMESPACE: &str = "tinderbox-verify";
/// For an image to be pulled and a page to be reached.
const REACH: Duration = Duration::from_secs(10 * 60);

/// One thing that was tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Check {
    pub name: &'static str,
    /// Whether it is as it should be.
    pub passed: bool,
    pub detail: String,
}

/// What a check has seen, good or bad; an error of its own only if the user wants to stop.
type Seen = Result<String, RealizeError>;

impl Hands<'_> {
    /// Tries everything, also after something failed.
    pub(super) fn verify(&self, cluster: &Cluster) -> Result<Vec<Check>, RealizeError> {
        let client = cluster.client(self.virsh.cancel)?;
        let tried = [
            ("nodes", self.nodes_ready(&client)),
            ("operators", operators_done(&client)),
            ("etcd", etcd_well(&client)),
            ("workload and its route", self.workload(cluster, &client)),
            ("console", self.console_answers(cluster, &client)),
        ];
        let mut checks = Vec::new();
        for (name, seen) in tried {
            let (passed, detail) = match seen {
                Ok(detail) => (true, detail),
                Err(error) if self.virsh.is_cancelled() => return Err(error),
                Err(error) => (false, error.to_string()),
            };
            self.events.emit(Event::Checked { name, passed, detail: detail.clone() });
            checks.push(Check { name, passed, detail });
        }
        match checks.iter().all(|check| check.passed) {
            true => Ok(checks),
            false => Err(RealizeError::Verify { checks }),
        }
    }

    fn nodes_ready(&self, client: &Client<'_>) -> Seen {
        let nodes = client.nodes()?;
        let unready: Vec<&str> =
            nodes.iter().filter(|node| !node.ready).map(|node| node.name.as_str()).collect();
        let expected = self.wanted.machines.iter().filter(|machine| !machine.is_bootstrap()).count();
        match unready.is_empty() && nodes.len() >= expected {
            true => Ok(format!("{} ready", nodes.len())),
            false if unready.is_empty() => Err(failed(format!("{} of {expected} are there", nodes.len()))),
            false => Err(failed(format!("not ready: {}", unready.join(", ")))),
        }
    }

    /// Runs the page, and reaches it. Its namespace goes afterwards.
    fn workload(&self, cluster: &Cluster, client: &Client<'_>) -> Seen {
        let Some(image) = &cluster.image else {
            return Err(failed("the release has no image `haproxy-router` to run".into()));
        };
        self.clean(client)?;
        let word = fs::random_name();
        let seen = self.run_page(cluster, client, image, &word);
        // Also when the user wants to stop: a connection that does not know about it.
        let never = AtomicBool::new(false);
        let removed = cluster.client(&never).and_then(|client| remove(&client));
        if let Err(error) = removed {
            self.events.emit(Event::Warning {
                text: format!("the namespace `{NAMESPACE}` could not be removed: {error}"),
            });
        }
        seen
    }

    /// Until nothing is left of an earlier run.
    fn clean(&self, client: &Client<'_>) -> Result<(), RealizeError> {
        let what = format!("the namespace `{NAMESPACE}` of an earlier run to go");
        let wait = Wait { phase: Phase::Verify, what: &what, limit: REACH, look: "oc get namespaces" };
        self.wait(&wait, || {
            passing(remove(client).and_then(|()| there(client, NAMESPACES, None, NAMESPACE)).map(|left| {
                match left.is_null() {
                    true => Look::Done(()),
                    false => Look::NotYet("it is there".to_owned()),
                }
            }))
        })
    }

    fn run_page(&self, cluster: &Cluster, client: &Client<'_>, image: &str, word: &str) -> Seen {
        let host = format!("{NAMESPACE}.apps.{}", cluster.domain);
        for (kind, object) in objects(image, word, &host) {
            let namespace = (kind != NAMESPACES).then_some(NAMESPACE);
            client.create(kind, namespace, &object)?;
        }
        let look = format!("oc -n {NAMESPACE} describe pods");
        let wait = Wait { phase: Phase::Verify, what: "a workload to run", limit: REACH, look: &look };
        self.wait(&wait, || {
            passing(there(client, DEPLOYMENTS, Some(NAMESPACE), "page").map(|one| runs(&one)))
        })?;
        let at = SocketAddr::new(cluster.ingress, 80);
        let what = format!("http://{host}/ at {}", cluster.ingress);
        let look = "oc -n openshift-ingress get pods";
        let url = format!("http://{host}/");
        self.wait(&Wait { phase: Phase::Verify, what: &what, limit: REACH, look }, || {
            passing(client.page(&Page { url: &url, at, roots: None }).map(|(status, text)| {
                match status == 200 && text.contains(word) {
                    true => Look::Done(()),
                    false => Look::NotYet(format!("status {status}, and not the page")),
                }
            }))
        })?;
        Ok(format!("{url} answers through {}", cluster.ingress))
    }

    /// The console's own page, over TLS with the ingress operator's authority.
    fn console_answers(&self, cluster: &Cluster, client: &Client<'_>) -> Seen {
        let map = client.get(CONFIG_MAPS, Some("openshift-config-managed"), "default-ingress-cert")?;
        let roots = map["data"]["ca-bundle.crt"].as_str().unwrap_or_default();
        let url = format!("https://console-openshift-console.apps.{}/", cluster.domain);
        let (at, look) = (SocketAddr::new(cluster.ingress, 443), "oc -n openshift-console get pods");
        let wait = Wait { phase: Phase::Verify, what: &url, limit: REACH, look };
        self.wait(&wait, || {
            passing(client.page(&Page { url: &url, at, roots: Some(roots) }).map(
                |(status, _)| match status {
                    ..400 => Look::Done(()),
                    status => Look::NotYet(format!("status {status}")),
                },
            ))
        })?;
        Ok(url)
    }
}

fn failed(seen: String) -> RealizeError {
    RealizeError::Seen { seen }
}

fn operators_done(client: &Client<'_>) -> Seen {
    let operators = converge::operators(client)?;
    match converge::unfinished(&operators) {
        None => Ok(format!("{} done", operators.len())),
        Some(seen) => Err(failed(seen)),
    }
}

fn etcd_well(client: &Client<'_>) -> Seen {
    let etcd = there(client, ETCDS, None, "cluster")?;
    match facts::condition(&etcd, "EtcdMembersAvailable") {
        Some((Some(true), message)) => Ok(facts::first_line(message)),
        Some((_, message)) => Err(failed(facts::first_line(message))),
        None => Err(failed("the etcd operator says nothing about its members".into())),
    }
}

/// Takes the namespace away, if it is there.
fn remove(client: &Client<'_>) -> Result<(), ApiError> {
    match client.delete(NAMESPACES, None, NAMESPACE) {
        // Refused because it is being removed already.
        Err(ApiError::NotFound { .. } | ApiError::Conflict { .. }) | Ok(_) => Ok(()),
        Err(error) => Err(error),
    }
}

fn runs(deployment: &Value) -> Look<()> {
    if deployment["status"]["availableReplicas"].as_i64().unwrap_or(0) > 0 {
        return Look::Done(());
    }
    let said =
        ["ReplicaFailure", "Available"].into_iter().find_map(|kind| facts::condition(deployment, kind));
    let said = said.map(|(_, message)| facts::first_line(message)).filter(|message| !message.is_empty());
    Look::NotYet(said.unwrap_or_else(|| "no pod yet".to_owned()))
}

/// Everything that the page needs, in order.
fn objects(image: &str, word: &str, host: &str) -> [(Kind, Value); 5] {
    let labels = json!({"app": "page"});
    let page = format!(
        "defaults\n  mode http\n  timeout connect 5s\n  timeout client 30s\n  timeout server 30s\nfrontend page\n  bind :8080\n  \
         http-request return status 200 content-type text/plain string \"{word}\"\n"
    );
    let named = json!({"name": "page", "namespace": NAMESPACE, "labels": labels});
    [
        (NAMESPACES, json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})),
        (
            CONFIG_MAPS,
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": named, "data": {"haproxy.cfg": page}}),
        ),
        (
            DEPLOYMENTS,
            json!({
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "metadata": named,
                "spec": {
                    "replicas": 1,
                    "selector": {"matchLabels": labels},
                    "template": {"metadata": {"labels": labels}, "spec": pod(image)},
                },
            }),
        ),
        (
            SERVICES,
            json!({
                "apiVersion": "v1",
                "kind": "Service",
                "metadata": named,
                "spec": {"selector": labels, "ports": [{"name": "http", "port": 8080, "targetPort": 8080}]},
            }),
        ),
        (
            ROUTES,
            json!({
                "apiVersion": "route.openshift.io/v1",
                "kind": "Route",
                "metadata": named,
                "spec": {"host": host, "to": {"kind": "Service", "name": "page"}, "port": {"targetPort": "http"}},
            }),
        ),
    ]
}

/// As little as a pod may have.
fn pod(image: &str) -> Value {
    json!({
        "securityContext": {"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}},
        "automountServiceAccountToken": false,
        "containers": [{
            "name": "page",
            "image": image,
            "command": ["haproxy", "-db", "-f", "/etc/page/haproxy.cfg"],
            "ports": [{"name": "http", "containerPort": 8080}],
            "readinessProbe": {"httpGet": {"path": "/", "port": 8080}},
            "securityContext": {"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}},
            "volumeMounts": [{"name": "page", "mountPath": "/etc/page"}],
        }],
        "volumes": [{"name": "page", "configMap": {"name": "page"}}],
    })
}
