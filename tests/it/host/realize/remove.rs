//! `realize remove`: a node leaves a running cluster, and its machine goes: that one, with all that was made for it, and nothing else.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::node::{Door, Nodes};
use super::{Libvirt, small};
use crate::api::{Api, SERVER, Tls, secrets};
use crate::harness::Workspace;
use crate::harness::documents::assert_document;

const DOMAIN: &str = "ocp4.example.com";
const EVICT: &str = "POST /api/v1/namespaces/shop/pods/page-1/eviction";

fn node(name: &str, ready: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": format!("{name}.{DOMAIN}")}, "spec": {},
        "status": {"conditions": [{"type": "Ready", "status": ready}]}})
}

fn pod(name: &str, on: &str, owner: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "shop", "ownerReferences": owner, "annotations": {}},
        "spec": {"nodeName": format!("{on}.{DOMAIN}")}, "status": {"phase": "Running"}})
}

fn owned(kind: &str) -> Value {
    json!([{"apiVersion": "apps/v1", "kind": kind, "name": "page", "controller": true}])
}

/// Machines that run nothing on a real libvirt, and a stand-in for the cluster that they would be.
struct Stage<'a> {
    libvirt: &'a Libvirt,
    ws: Workspace,
    api: Api,
    /// None once another one leads elsewhere.
    door: Option<Door>,
    nodes: Nodes<'a>,
}

impl<'a> Stage<'a> {
    fn new(libvirt: &'a Libvirt) -> Self {
        let ws = small();
        let applied = libvirt.command(&ws, &["realize", "apply", "-q", "--no-wait"]).output().unwrap();
        assert!(applied.status.success(), "{}", ws.text(&applied));
        let secrets = secrets(&ws, &SERVER);
        let api = Api::start(&Tls::api_server(&secrets));
        let nodes = Nodes::join(libvirt, &["192.168.126.100"]);
        let door = nodes.network().door("192.168.126.100:6443", api.port());
        api.look(|cluster| {
            cluster.put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}));
            for name in ["master-0", "master-1", "master-2", "worker-0"] {
                cluster.put(node(name, "True"));
            }
            cluster.put(node("worker-1", "True"));
            cluster.put(pod("page-1", "worker-1", owned("ReplicaSet")));
            cluster.put(pod("agent", "worker-1", owned("DaemonSet")));
            cluster.put(pod("alone", "worker-1", json!([])));
            cluster.put(pod("elsewhere", "worker-0", owned("ReplicaSet")));
        });
        let stage = Self { libvirt, ws, api, door: Some(door), nodes };
        stage.wait();
        stage
    }

    /// Until the load balancer knows that only one of its servers is there.
    fn wait(&self) {
        let end = Instant::now() + Duration::from_secs(120);
        let mut answers = 0;
        while answers < 5 {
            let output = self.libvirt.command(&self.ws, &["realize", "status", "--json"]).output().unwrap();
            let status: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
            answers = if status["api"]["ready"] == true { answers + 1 } else { 0 };
            assert!(Instant::now() < end, "{}", self.ws.text(&output));
        }
    }

    fn run(&self, args: &[&str]) -> (i32, String) {
        let output =
            self.libvirt.command(&self.ws, &[&["realize", "remove"], args].concat()).output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.code().unwrap(), String::from_utf8(text).unwrap())
    }

    /// What the host has of a node, and of all others.
    fn host(&self) -> (Vec<String>, Vec<String>) {
        let machines = self.libvirt.virsh(&["list", "--all", "--name"]);
        let files = self.libvirt.sh(&format!("ls {}", self.ws.temp().join("pool").display()));
        let all = machines.split_whitespace().chain(files.lines()).filter(|name| !name.ends_with(".log"));
        all.map(str::to_owned).partition(|name| name.contains("worker-1"))
    }

    fn has(&self, path: &str) -> bool {
        self.api.look(|cluster| cluster.get(path).is_some())
    }
}

#[test]
fn a_node_leaves_with_its_machine_and_nothing_else() {
    let Some(libvirt) = Libvirt::start("a node that is removed") else { return };
    let stage = Stage::new(&libvirt);
    let (its, others) = stage.host();
    assert!(its.len() >= 3, "machine, disk and medium: {its:?}");

    // Nothing happens without a yes, and it says what would be lost.
    let (code, text) = stage.run(&["worker-1"]);
    assert_eq!(code, 2, "{text}");
    assert!(
        text.contains(
            "error: `worker-1` would leave the cluster: 2 pods would be evicted; nothing would recreate `shop/alone`; \
             the content of its disk would be lost"
        ),
        "{text}"
    );
    assert_eq!(stage.host().0, its);
    assert!(stage.api.seen().iter().all(|seen| seen.request.starts_with("GET ")), "{:?}", stage.api.seen());

    // A disruption budget that never permits it: the machine stays.
    let blocked = json!("Cannot evict pod as it would violate the pod's disruption budget.");
    stage.api.look(|cluster| {
        let path = "/api/v1/namespaces/shop/pods/page-1";
        let mut pod = cluster.get(path).unwrap().clone();
        pod["metadata"]["annotations"]["test/blocked"] = blocked;
        cluster.put(pod);
    });
    let (code, text) = stage.run(&["worker-1", "--yes", "--timeout", "1s"]);
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("`worker-1.ocp4.example.com` still has pods after 1 seconds"), "{text}");
    assert!(text.contains("shop/page-1: Cannot evict pod"), "{text}");
    assert_eq!(stage.host().0, its);
    let cordoned = stage.api.look(|cluster| {
        cluster.get(&format!("/api/v1/nodes/worker-1.{DOMAIN}")).unwrap()["spec"]["unschedulable"].clone()
    });
    assert_eq!(cordoned, true);

    // It does so at the second look: the run waits, and goes on.
    stage.api.at(2, EVICT, |cluster| {
        let path = "/api/v1/namespaces/shop/pods/page-1";
        let mut pod = cluster.get(path).unwrap().clone();
        pod["metadata"]["annotations"] = json!({});
        cluster.put(pod);
    });
    let output = libvirt
        .command(&stage.ws, &["realize", "remove", "worker-1", "--yes", "--json", "--timeout", "120s"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", stage.ws.text(&output));
    let removed: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_document(&stage.ws, "realize-remove", &removed);
    assert_eq!(removed["name"], format!("worker-1.{DOMAIN}"));
    assert_eq!(removed["evicted"], json!(["shop/page-1"]), "the other one left with the first run");
    assert_eq!(stage.host(), (Vec::new(), others));
    assert!(!stage.has(&format!("/api/v1/nodes/worker-1.{DOMAIN}")));
    for kept in ["pods/agent", "pods/elsewhere"] {
        assert!(stage.has(&format!("/api/v1/namespaces/shop/{kept}")), "{kept}");
    }
    assert!(stage.has(&format!("/api/v1/nodes/worker-0.{DOMAIN}")));

    // Once more there is nothing to do; and `apply` makes a new machine in its place.
    let (code, text) = stage.run(&["worker-1", "-q"]);
    assert!(code == 0 && text.starts_with("worker-1 removed: 0 pods evicted, 0 resources removed"), "{text}");
    let applied = libvirt.command(&stage.ws, &["realize", "apply", "-q", "--no-wait"]).output().unwrap();
    assert!(applied.status.success(), "{}", stage.ws.text(&applied));
    assert_eq!(stage.host().0, its, "the same names, and a new machine");
}

#[test]
fn who_may_not_leave_stays() {
    let Some(libvirt) = Libvirt::start("nodes that are not removed") else { return };
    let mut stage = Stage::new(&libvirt);
    let before = stage.host();
    let (code, text) = stage.run(&["worker-7"]);
    assert!(
        code == 2 && text.contains("there is no node `worker-7`") && text.contains("did you mean"),
        "{text}"
    );
    let (code, text) = stage.run(&["bootstrap", "--yes"]);
    assert!(code == 1 && text.contains("`bootstrap` is not a node of the cluster"), "{text}");

    // A master has a member of etcd until somebody removes that.
    let (code, text) = stage.run(&["master-1", "--yes"]);
    assert!(code == 1 && text.contains("does not say which members etcd has"), "{text}");
    let members = |ips: &[&str]| {
        let data: serde_json::Map<String, Value> =
            ips.iter().enumerate().map(|(at, ip)| (at.to_string(), json!(ip))).collect();
        json!({"apiVersion": "v1", "kind": "ConfigMap", "data": data,
            "metadata": {"name": "etcd-endpoints", "namespace": "openshift-etcd"}})
    };
    stage.api.look(|cluster| {
        cluster.put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "openshift-etcd"}}));
        cluster.put(members(&["192.168.126.101", "192.168.126.102", "192.168.126.103"]));
    });
    let (code, text) = stage.run(&["master-1", "--yes"]);
    assert!(code == 1 && text.contains("`master-1` is a master, and etcd still has its member"), "{text}");
    // Nor one that only may be its, or a list of nobody.
    for (list, wanted) in
        [(&["[?]"][..], "etcd still has its member"), (&[], "does not say which members etcd has")]
    {
        stage.api.look(|cluster| cluster.put(members(list)));
        let (code, text) = stage.run(&["master-1", "--yes"]);
        assert!(code == 1 && text.contains(wanted), "{list:?}: {text}");
    }
    assert_eq!(stage.host(), before);
    assert!(stage.api.seen().iter().all(|seen| seen.request.starts_with("GET ")), "{:?}", stage.api.seen());
    stage.api.look(|cluster| cluster.put(members(&["192.168.126.101", "192.168.126.103"])));
    let (code, text) = stage.run(&["master-1", "--yes"]);
    assert_eq!(code, 0, "{text}");
    assert!(!libvirt.virsh(&["list", "--all", "--name"]).contains("master-1"));

    // One that is not ready is not drained: its kubelet would never end a pod.
    stage.api.look(|cluster| cluster.put(node("worker-1", "False")));
    let (code, text) = stage.run(&["worker-1", "--yes"]);
    assert!(code == 0 && text.contains("worker-1 removed: 0 pods evicted, 3 resources removed"), "{text}");
    assert!(!stage.has(&format!("/api/v1/nodes/worker-1.{DOMAIN}")));

    // What joins a running cluster has to trust it: another cluster has the address.
    let others = Workspace::example().prebuilt();
    others.write_seed(&[8; 32]);
    std::fs::remove_file(others.dir.join("cluster.lock")).unwrap();
    let foreign = Api::start(&Tls::api_server(&secrets(&others, &SERVER)));
    libvirt.sh(&format!("touch {}", stage.ws.temp().join("pool/pivoted").display()));
    drop(stage.door.take());
    let door = stage.nodes.network().door("192.168.126.100:6443", foreign.port());
    let end = Instant::now() + Duration::from_secs(120);
    loop {
        let output = libvirt.command(&stage.ws, &["realize", "plan", "--json"]).output().unwrap();
        let plan: Value = serde_json::from_slice(&output.stdout).unwrap();
        let obstacles = plan["obstacles"].as_array().unwrap();
        if let Some(found) = obstacles.iter().find(|one| one["kind"] == "authority") {
            assert!(found["message"].as_str().unwrap().contains("is not trusted"), "{found}");
            break;
        }
        assert!(Instant::now() < end, "{plan}");
    }
    drop(door);

    // Without an API nothing is touched.
    stage.api.stop();
    let before = stage.host();
    let (code, text) = stage.run(&["worker-0", "--yes"]);
    assert!(code == 1 && text.contains("the API at `192.168.126.10:6443`"), "{text}");
    assert_eq!(stage.host(), before);
}
