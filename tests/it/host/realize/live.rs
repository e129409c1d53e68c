//! `realize apply` to its end: real machines that run nothing, on a real libvirt behind the real load balancer, and a stand-in
//! for the cluster that they would be: its API with our certificates, kubelets that ask, operators that take their time.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::apply::{kill_inside, unreached};
use super::node::{Door, Network, Nodes};
use super::pkcs10::Csr;
use super::{Libvirt, small};
use crate::api::{Answer, Api, Cluster, Https, SERVER, Tls, secrets};
use crate::bootkube::node::{api_servers, crd, etcd};
use crate::harness::Workspace;

const DOMAIN: &str = "ocp4.example.com";
const REQUESTS: &str = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const PAGE: &str = "/api/v1/namespaces/tinderbox-verify/configmaps/page";

/// Name, address, whether it is a master.
const NODES: [(&str, [u8; 4], bool); 5] = [
    ("master-0", [192, 168, 126, 101], true),
    ("master-1", [192, 168, 126, 102], true),
    ("master-2", [192, 168, 126, 103], true),
    ("worker-0", [192, 168, 126, 110], false),
    ("worker-1", [192, 168, 126, 111], false),
];

/// The phase that was begun last, as the journal says.
pub(super) fn begun(journal: &PathBuf) -> String {
    let text = fs::read_to_string(journal).unwrap_or_default();
    let journal: Value = serde_json::from_str(&text).unwrap_or_default();
    journal["begun"].as_str().unwrap_or_default().to_owned()
}

/// How far a run is, as a number.
fn reached(phase: &str) -> usize {
    let all = ["host", "media", "bootstrap", "control-plane", "pivot", "workers", "convergence", "verify"];
    all.iter().position(|one| *one == phase).unwrap_or(0)
}

fn request(name: &str, signer: &str, usage: &str, user: &str, groups: &[&str], csr: &Csr) -> Value {
    json!({
        "apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "metadata": {"name": name},
        "spec": {
            "signerName": signer, "usages": ["digital signature", usage], "username": user, "groups": groups,
            "request": STANDARD.encode(csr.pem()),
        },
    })
}

/// Whether a request was approved; the controller manager signs it then.
fn signed(cluster: &mut Cluster, name: &str) -> bool {
    let mut request = cluster.get(&format!("{REQUESTS}/{name}")).unwrap().clone();
    let approved = request["status"]["conditions"][0]["type"] == "Approved";
    if approved && request["status"]["certificate"].is_null() {
        request["status"]["certificate"] = json!(STANDARD.encode("a certificate"));
        cluster.put(request);
    }
    approved
}

/// A machine that was switched off: its kubelet does nothing any more.
pub(super) fn off(node: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("off-{node}"), "namespace": "default"}})
}

/// A kubelet: asks, joins, asks again, and is ready. Says whether it is.
fn kubelet(cluster: &mut Cluster, node: &str, ip: [u8; 4]) -> bool {
    let name = format!("{node}.{DOMAIN}");
    let (client, serving) = (format!("{node}-client"), format!("{node}-serving"));
    if cluster.get(&format!("/api/v1/namespaces/default/configmaps/off-{node}")).is_some() {
        return false;
    }
    let has = |cluster: &Cluster, request: &str| cluster.get(&format!("{REQUESTS}/{request}")).is_some();
    if !has(cluster, &client) {
        let signer = "kubernetes.io/kube-apiserver-client-kubelet";
        let groups = ["system:bootstrappers", "system:authenticated"];
        let user = format!("system:bootstrapper:{name}");
        cluster.put(request(&client, signer, "client auth", &user, &groups, &Csr::of(&name)));
    }
    if !signed(cluster, &client) {
        return false;
    }
    let joined = |ready: &str| {
        json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name},
            "status": {"conditions": [{"type": "Ready", "status": ready}]}})
    };
    if !has(cluster, &serving) {
        cluster.put(joined("False"));
        let (user, groups) = (format!("system:node:{name}"), ["system:nodes", "system:authenticated"]);
        let (signer, csr) = ("kubernetes.io/kubelet-serving", Csr::serving(&name, ip));
        cluster.put(request(&serving, signer, "server auth", &user, &groups, &csr));
    }
    if !signed(cluster, &serving) {
        return false;
    }
    cluster.put(joined("True"));
    true
}

fn operator(name: &str, done: bool) -> Value {
    let at = |kind: &str, holds: bool, message: &str| json!({"type": kind, "status": if holds { "True" } else { "False" }, "message": message});
    json!({"apiVersion": "config.openshift.io/v1", "kind": "ClusterOperator", "metadata": {"name": name}, "status": {
        "versions": [{"name": "operator", "version": "4.18.1"}],
        "conditions": [at("Available", true, ""), at("Progressing", !done, "one of three"), at("Degraded", false, "")],
    }})
}

fn version(state: &str) -> Value {
    json!({"apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": {"name": "version"},
        "status": {"history": [{"state": state}], "conditions": [
            {"type": "Progressing", "status": "True", "message": "Working towards 4.18.1: 700 of 902 done"}]}})
}

/// Everything around the API that a cluster has, played: it goes on whenever a run is as far as that.
pub(super) struct Played {
    pub(super) api: Arc<Api>,
    stopped: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Played {
    /// Begins, behind these doors: the bootstrap node's API, and those of the masters from when they have one.
    pub(super) fn start(api: Api, tls: &Tls, network: Network, journal: PathBuf) -> Self {
        api.look(|cluster| {
            cluster.establishes = true;
            for (group, plural, kind) in [
                ("config.openshift.io", "clusteroperators", "ClusterOperator"),
                ("config.openshift.io", "clusterversions", "ClusterVersion"),
                ("operator.openshift.io", "etcds", "Etcd"),
                ("operator.openshift.io", "kubeapiservers", "KubeAPIServer"),
                ("route.openshift.io", "routes", "Route"),
            ] {
                let mut crd = crd(group, plural, kind);
                crd["spec"]["scope"] = json!(if plural == "routes" { "Namespaced" } else { "Cluster" });
                cluster.put(crd);
            }
            cluster.put(operator("etcd", false));
            cluster.put(operator("dns", false));
            cluster.put(version("Partial"));
        });
        let on_masters = api.another(tls);
        let mut bootstrap = Some(network.door("192.168.126.100:6443", api.port()));
        let stopped = Arc::new(AtomicBool::new(false));
        let (api, end) = (Arc::new(api), stopped.clone());
        let shared = api.clone();
        let thread = std::thread::spawn(move || {
            let mut masters: Vec<Door> = Vec::new();
            while !end.load(Ordering::SeqCst) {
                let at = reached(&begun(&journal));
                let moved = shared.look(|cluster| go_on(cluster, at));
                if moved && bootstrap.is_some() {
                    // etcd is on the masters: the bootstrap node's API server dies with its member.
                    let opened = ["192.168.126.101:6443", "192.168.126.102:6443"]
                        .map(|at| network.door(at, on_masters.port()));
                    masters.extend(opened);
                    bootstrap = None;
                }
                std::thread::sleep(Duration::from_millis(20)); // the cluster's own pace
            }
        });
        Self { api, stopped, thread: Some(thread) }
    }
}

impl Drop for Played {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::SeqCst);
        self.thread.take().unwrap().join().unwrap();
    }
}

/// One look at how far the run is, and what follows from it. Says whether the control plane has moved.
fn go_on(cluster: &mut Cluster, at: usize) -> bool {
    let mut ready = [0, 0];
    for (node, ip, master) in NODES {
        if at >= reached(if master { "control-plane" } else { "workers" }) && kubelet(cluster, node, ip) {
            ready[usize::from(master)] += 1;
        }
    }
    if ready[1] == 3 && at >= reached("pivot") {
        cluster.put(etcd(&[
            ("EtcdRunningInCluster", "True", ""),
            ("EtcdMembersAvailable", "True", "3 members are available"),
        ]));
        cluster.put(api_servers([7, 7, 0], &[]));
        cluster.put(json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"status": "complete"},
            "metadata": {"name": "bootstrap", "namespace": "kube-system"}}));
    }
    if at >= reached("convergence") {
        cluster.put(operator("etcd", true));
        cluster.put(operator("dns", true));
        cluster.put(version("Completed"));
    }
    let deployment = "/apis/apps/v1/namespaces/tinderbox-verify/deployments/page";
    if let Some(mut found) = cluster.get(deployment).cloned() {
        found["status"] = json!({"availableReplicas": 1});
        cluster.put(found);
    }
    at > reached("pivot")
        || at == reached("pivot")
            && ready[1] == 3
            && cluster.get("/api/v1/namespaces/kube-system/configmaps/bootstrap").is_some()
}

/// The router: answers with the page of the smoke test, as long as there is one.
pub(super) fn router(api: Arc<Api>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut asked = [0; 1024];
            let Ok(read @ 1..) = stream.read(&mut asked) else { continue };
            let host = format!("tinderbox-verify.apps.{DOMAIN}");
            let page =
                api.look(|cluster| cluster.get(PAGE).map(|page| page["data"]["haproxy.cfg"].to_string()));
            let known = String::from_utf8_lossy(&asked[..read]).contains(&host);
            let (status, body) = match page.filter(|_| known) {
                Some(page) => ("200 OK", page),
                None => ("503 Service Unavailable", "no such route".to_owned()),
            };
            let head =
                format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
            let _ = stream.write_all((head + &body).as_bytes());
        }
    });
    port
}

/// The console, over TLS, with a certificate of the ingress operator's.
pub(super) fn console(ws: &Workspace, api: &Api) -> Https {
    let dir = ws.temp().join("console");
    fs::create_dir(&dir).unwrap();
    let name = format!("console-openshift-console.apps.{DOMAIN}");
    let made = Command::new("openssl")
        .args([
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-days",
            "2",
        ])
        .args(["-subj", "/CN=ingress", "-addext", &format!("subjectAltName=DNS:{name}")])
        .args(["-addext", "basicConstraints=critical,CA:FALSE", "-keyout", "tls.key", "-out", "tls.crt"])
        .current_dir(&dir)
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
    let certificate = fs::read_to_string(dir.join("tls.crt")).unwrap();
    api.look(|cluster| {
        cluster.put(json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"ca-bundle.crt": certificate},
            "metadata": {"name": "default-ingress-cert", "namespace": "openshift-config-managed"}}));
    });
    let tls = Tls {
        certificate: dir.join("tls.crt"),
        key: dir.join("tls.key"),
        clients: dir.join("tls.crt"),
        required: false,
    };
    Https::start(&tls, |_| Some(Answer { status: 200, media_type: "text/html", body: b"<html>".to_vec() }))
}

/// From nothing to a cluster that was tried, killed at the beginning of every phase; then everything is removed.
#[test]
fn a_cluster_comes_up_whatever_happens() {
    let Some(libvirt) = Libvirt::start("realize to its end") else { return };
    let ws = small();
    let secrets = secrets(&ws, &SERVER);
    let tls = Tls::api_server(&secrets);
    let journal = ws.dir.join(".realize/journal.json");
    let first = libvirt.command(&ws, &["realize", "apply", "-q", "--until", "host"]).output().unwrap();
    assert!(first.status.success(), "{}", ws.text(&first));

    let ips = ["192.168.126.100", "192.168.126.101", "192.168.126.102", "192.168.126.110", "192.168.126.111"];
    let nodes = Nodes::join(&libvirt, &ips);
    let played = Played::start(Api::start(&tls), &tls, nodes.network(), journal.clone());
    // As `system:node-bootstrapper` has it, to which bootkube.sh binds them: `plan` asks with a kubelet's own credential.
    let requests = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
    played.api.allow("system:bootstrappers", "GET", requests);
    let console = console(&ws, &played.api);
    let pages = router(played.api.clone());
    let _routers = ["192.168.126.110", "192.168.126.111"].map(|ip| {
        [(80, pages), (443, console.port)].map(|(port, to)| nodes.network().door(&format!("{ip}:{port}"), to))
    });

    let args = ["realize", "apply", "--json", "--timeout", "120s"];
    for phase in ["bootstrap", "control-plane", "pivot", "workers", "convergence", "verify"] {
        let log = ws.temp().join("killed.log");
        let mut command = libvirt.command(&ws, &args);
        command.stdout(Stdio::null()).stderr(fs::File::create(&log).unwrap());
        let mut run = command.spawn().unwrap();
        let end = Instant::now() + Duration::from_secs(300);
        while begun(&journal) != phase {
            let goes_on = run.try_wait().unwrap().is_none() && Instant::now() < end;
            assert!(goes_on, "{phase}: {}", fs::read_to_string(&log).unwrap());
            std::thread::sleep(Duration::from_millis(1));
        }
        kill_inside(&mut run);
    }
    let output = libvirt.command(&ws, &args).output().unwrap();
    assert!(output.status.success(), "{}", ws.text(&output));
    let applied: Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut verdict = json!([applied["operators"], applied["checks"]]);
    verdict.sort_all_objects();
    insta::assert_json_snapshot!(verdict, @r#"
    [
      [
        {
          "available": true,
          "degraded": false,
          "message": "",
          "name": "dns",
          "progressing": false,
          "version": "4.18.1"
        },
        {
          "available": true,
          "degraded": false,
          "message": "",
          "name": "etcd",
          "progressing": false,
          "version": "4.18.1"
        }
      ],
      [
        {
          "detail": "5 ready",
          "name": "nodes",
          "passed": true
        },
        {
          "detail": "2 done",
          "name": "operators",
          "passed": true
        },
        {
          "detail": "3 members are available",
          "name": "etcd",
          "passed": true
        },
        {
          "detail": "http://tinderbox-verify.apps.ocp4.example.com/ answers through 192.168.126.11",
          "name": "workload and its route",
          "passed": true
        },
        {
          "detail": "https://console-openshift-console.apps.ocp4.example.com/",
          "name": "console",
          "passed": true
        }
      ]
    ]
    "#);

    // The bootstrap machine is gone with all that it had; the load balancer knows the masters only.
    let machines = libvirt.virsh(&["list", "--name"]);
    assert!(!machines.contains("bootstrap") && machines.split_whitespace().count() == 5, "{machines}");
    let files = libvirt.sh(&format!("ls {}", ws.temp().join("pool").display()));
    assert!(!files.lines().any(|name| name.starts_with("bootstrap") && !name.ends_with(".log")), "{files}");
    let balancer =
        libvirt.sh("for pid in $(busybox pidof haproxy); do tr '\\0' ' ' </proc/$pid/cmdline; done");
    assert!(balancer.contains("haproxy-pivoted.cfg"), "{balancer}");
    assert!(played.api.look(|cluster| cluster.get("/api/v1/namespaces/tinderbox-verify").is_none()));

    insta::assert_snapshot!(libvirt.run(&ws, &["realize", "status", "-q"]), @r"
    network   active
    balancer  [STORE]/[ID]-cluster/infra/haproxy-pivoted.cfg
    API       ready at 192.168.126.10:6443
    NODE       STATE    IGNITION  BOOTED  API     KUBELET  CERTIFICATES                   ADDRESSES  MACHINE
    bootstrap  removed                                                                               ocp4-cv5ll-bootstrap
    master-0   running  current           ready   ready    client issued, serving issued             ocp4-cv5ll-master-0
    master-1   running  current           ready   ready    client issued, serving issued             ocp4-cv5ll-master-1
    master-2   running  current           silent  ready    client issued, serving issued             ocp4-cv5ll-master-2
    worker-0   running  current                   ready    client issued, serving issued             ocp4-cv5ll-worker-0
    worker-1   running  current                   ready    client issued, serving issued             ocp4-cv5ll-worker-1
    OPERATOR  VERSION  STATE      MESSAGE
    dns       4.18.1   available
    etcd      4.18.1   available
    console   https://console-openshift-console.apps.ocp4.example.com
    log in    as `kubeadmin`; the password: `tinderbox -C [DIR] show cluster:auth/kubeadmin-password --reveal`
    oc        export KUBECONFIG=[STORE]/[ID]-cluster/auth/kubeconfig
    [exit 0]
    ");

    // Nothing is left to do; and the cluster's own files do not bring the bootstrap machine back.
    let again = libvirt.command(&ws, &args).output().unwrap();
    let applied: Value = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!(applied["steps"], json!([]), "{}", ws.text(&again));
    // A worker with another address is another machine: its node is taken out, and joins again.
    ws.edit("cluster.yaml", "ip: 192.168.126.111", "ip: 192.168.126.112");
    let tweaked = libvirt.command(&ws, &[&args[..], &["--yes"]].concat()).output().unwrap();
    assert!(tweaked.status.success(), "{}", ws.text(&tweaked));
    let removed: Vec<_> = played
        .api
        .seen()
        .into_iter()
        .filter(|one| one.request.starts_with("DELETE /api/v1/nodes/"))
        .collect();
    assert_eq!(removed.len(), 1, "{removed:?} {}", ws.text(&tweaked));
    assert!(
        removed[0].request.ends_with("/worker-1.ocp4.example.com") && removed[0].status == 200,
        "{removed:?}"
    );

    let destroyed = libvirt.run(&ws, &["realize", "destroy", "--yes", "-q"]);
    assert!(destroyed.ends_with("resources removed\n[exit 0]\n"), "{destroyed}");
}

/// An API that never comes: the wait ends, says what it has seen, and what to look with.
#[test]
fn a_wait_ends() {
    let Some(libvirt) = Libvirt::start("a wait that ends") else { return };
    let ws = small();
    let args = ["realize", "apply", "-q", "--until", "bootstrap", "--timeout", "3s"];
    insta::assert_snapshot!(unreached(&libvirt.run(&ws, &args)), @r"
    [stderr]
    error: timed out after 3 seconds waiting for the API at 192.168.126.10:6443; last seen: the API at `192.168.126.10:6443` cannot be reached: [WORDS]
    hint: look with `tinderbox realize logs bootstrap`, or collect everything with `tinderbox realize gather`; `tinderbox realize apply` continues from here
    [exit 1]
    ");
    insta::assert_snapshot!(libvirt.run(&ws, &["realize", "apply", "--no-wait", "--phase", "pivot"]), @r"
    [stderr]
    error: the phase `pivot` only waits
    hint: drop `--no-wait`
    [exit 2]
    ");
}
