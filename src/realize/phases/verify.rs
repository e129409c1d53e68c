//! The smoke test: does the cluster do what its conditions claim? A workload runs, and its route answers on the ingress VIP.
//!
//! The workload is the release's own HAProxy, which serves a page with a random word: nothing else can have answered.
//! The namespace is removed again whatever happens; the next run removes what a killed run has left.

use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use super::PhaseWait;
use crate::base::event::Event;
use crate::base::fs;
use crate::realize::api::{ApiError, Client, Gvr, WebPage};
use crate::realize::cluster::{CONFIG_MAPS, ETCDS, conditions, get_or_null, operators, unfinished};
use crate::realize::wait::Poll;
use crate::realize::{ClusterAccess, Phase, RealizeError, Realizer, Result};

const NAMESPACES: Gvr = Gvr::new("", "v1", "namespaces");
const SERVICES: Gvr = Gvr::new("", "v1", "services");
const DEPLOYMENTS: Gvr = Gvr::new("apps", "v1", "deployments");
const ROUTES: Gvr = Gvr::new("route.openshift.io", "v1", "routes");

/// The namespace of the smoke test.
const NAMESPACE: &str = "tinderbox-verify";
/// For an image to be pulled, or a page to answer.
const LIMIT: Duration = Duration::from_secs(10 * 60);

/// One check of the smoke test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct SmokeCheck {
    pub name: &'static str,
    pub passed: bool,
    pub detail: String,
}

/// What a check found; an error means that it failed, or that the user cancelled.
type Checked = Result<String>;

/// Runs all checks, even after one has failed.
pub(super) fn run(realizer: &Realizer<'_>, cluster: &ClusterAccess) -> Result<Vec<SmokeCheck>> {
    let client = cluster.client(realizer.runner.cancel)?;
    let checked = [
        ("nodes", nodes(realizer, &client)),
        ("operators", operators_done(&client)),
        ("etcd", etcd(&client)),
        ("workload and its route", workload(realizer, cluster, &client)),
        ("console", console(realizer, cluster, &client)),
    ];
    let mut checks = Vec::new();
    for (name, checked) in checked {
        let (passed, detail) = match checked {
            Ok(detail) => (true, detail),
            Err(error) if realizer.runner.is_cancelled() => return Err(error),
            Err(error) => (false, error.to_string()),
        };
        realizer.events.emit(Event::Checked { name, passed, detail: detail.clone() });
        checks.push(SmokeCheck { name, passed, detail });
    }
    match checks.iter().all(|check| check.passed) {
        true => Ok(checks),
        false => Err(RealizeError::Verify { checks }),
    }
}

fn nodes(realizer: &Realizer<'_>, client: &Client<'_>) -> Checked {
    let nodes = client.nodes()?;
    let unready: Vec<&str> = nodes.iter().filter(|node| !node.ready).map(|node| node.name.as_str()).collect();
    let expected = realizer.desired.machines.iter().filter(|machine| !machine.is_bootstrap()).count();
    match unready.is_empty() && nodes.len() >= expected {
        true => Ok(format!("{} ready", nodes.len())),
        false if unready.is_empty() => Err(failed(format!("{} of {expected} have joined", nodes.len()))),
        false => Err(failed(format!("not ready: {}", unready.join(", ")))),
    }
}

/// Runs the workload, and removes its namespace afterwards.
fn workload(realizer: &Realizer<'_>, cluster: &ClusterAccess, client: &Client<'_>) -> Checked {
    let Some(image) = &cluster.image else {
        return Err(failed("the release has no router image, which the smoke test runs".into()));
    };
    clean_up(realizer, client)?;
    let word = fs::random_name();
    let checked = run_page(realizer, cluster, client, image, &word);
    // On a connection that ignores cancellation: the namespace must not stay.
    let never = AtomicBool::new(false);
    let removed = cluster.client(&never).and_then(|client| remove(&client));
    if let Err(error) = removed {
        let text = format!("the namespace `{NAMESPACE}` could not be removed: {error}");
        realizer.events.emit(Event::Warning { text });
    }
    checked
}

/// Until nothing is left of an earlier run.
fn clean_up(realizer: &Realizer<'_>, client: &Client<'_>) -> Result<()> {
    let what = format!("the namespace `{NAMESPACE}` of an earlier run to be removed");
    let wait = PhaseWait { phase: Phase::Verify, what: &what, limit: LIMIT, look: "oc get namespaces" };
    wait.until(realizer, || {
        remove(client)?;
        Ok(match get_or_null(client, NAMESPACES, None, NAMESPACE)?.is_null() {
            true => Poll::Ready(()),
            false => Poll::Pending("it still exists".to_owned()),
        })
    })
}

fn run_page(
    realizer: &Realizer<'_>,
    cluster: &ClusterAccess,
    client: &Client<'_>,
    image: &str,
    word: &str,
) -> Checked {
    let host = format!("{NAMESPACE}.apps.{}", cluster.domain);
    for (resource, object) in objects(image, word, &host) {
        let namespace = (resource != NAMESPACES).then_some(NAMESPACE);
        client.create(resource, namespace, &object)?;
    }
    let look = format!("oc -n {NAMESPACE} describe pods");
    PhaseWait { phase: Phase::Verify, what: "a workload to run", limit: LIMIT, look: &look }
        .until(realizer, || {
            get_or_null(client, DEPLOYMENTS, Some(NAMESPACE), "page").map(|one| available(&one))
        })?;
    let at = SocketAddr::new(cluster.ingress, 80);
    let what = format!("http://{host}/ at {}", cluster.ingress);
    let look = "oc -n openshift-ingress get pods";
    let url = format!("http://{host}/");
    PhaseWait { phase: Phase::Verify, what: &what, limit: LIMIT, look }.until(realizer, || {
        let (status, text) = client.page(&WebPage { url: &url, at, roots: None })?;
        Ok(match status == 200 && text.contains(word) {
            true => Poll::Ready(()),
            false => Poll::Pending(format!("status {status}, and not our page")),
        })
    })?;
    Ok(format!("{url} answers through {}", cluster.ingress))
}

/// The console's page, over TLS that the ingress operator's CA must have signed.
fn console(realizer: &Realizer<'_>, cluster: &ClusterAccess, client: &Client<'_>) -> Checked {
    let map = client.get(CONFIG_MAPS, Some("openshift-config-managed"), "default-ingress-cert")?;
    let roots = map["data"]["ca-bundle.crt"].as_str().unwrap_or_default();
    let url = format!("https://console-openshift-console.apps.{}/", cluster.domain);
    let (at, look) = (SocketAddr::new(cluster.ingress, 443), "oc -n openshift-console get pods");
    PhaseWait { phase: Phase::Verify, what: &url, limit: LIMIT, look }.until(realizer, || {
        let (status, _) = client.page(&WebPage { url: &url, at, roots: Some(roots) })?;
        Ok(if status < 400 { Poll::Ready(()) } else { Poll::Pending(format!("status {status}")) })
    })?;
    Ok(url)
}

fn failed(seen: String) -> RealizeError {
    RealizeError::Check { seen }
}

fn operators_done(client: &Client<'_>) -> Checked {
    let operators = operators(client)?;
    match unfinished(&operators) {
        None => Ok(format!("{} done", operators.len())),
        Some(seen) => Err(failed(seen)),
    }
}

fn etcd(client: &Client<'_>) -> Checked {
    let etcd = get_or_null(client, ETCDS, None, "cluster")?;
    match conditions::condition(&etcd, "EtcdMembersAvailable") {
        Some((Some(true), message)) => Ok(conditions::first_line(message)),
        Some((_, message)) => Err(failed(conditions::first_line(message))),
        None => Err(failed("the etcd operator does not report its members".into())),
    }
}

/// Removes the namespace, if it exists.
fn remove(client: &Client<'_>) -> Result<(), ApiError> {
    match client.delete(NAMESPACES, None, NAMESPACE) {
        // A conflict means that it is being removed already.
        Err(ApiError::NotFound { .. } | ApiError::Conflict { .. }) | Ok(_) => Ok(()),
        Err(error) => Err(error),
    }
}

fn available(deployment: &Value) -> Poll<()> {
    if deployment["status"]["availableReplicas"].as_i64().unwrap_or(0) > 0 {
        return Poll::Ready(());
    }
    let said =
        ["ReplicaFailure", "Available"].into_iter().find_map(|kind| conditions::condition(deployment, kind));
    let said = said.map(|(_, message)| conditions::first_line(message)).filter(|message| !message.is_empty());
    Poll::Pending(said.unwrap_or_else(|| "no pod yet".to_owned()))
}

/// The objects of the workload, in the order of their creation.
fn objects(image: &str, word: &str, host: &str) -> [(Gvr, Value); 5] {
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

/// A pod with the least privileges.
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
