//! A node whose API server and etcd are stand-ins with our certificates, and whose `oc` is kubectl.
//!
//! ```text
//! <temp>/bin/oc      kubectl
//! <temp>/secrets     /etc/kubernetes/bootstrap-secrets, and kubeconfigs
//! <temp>/assets      /opt/openshift: crds/, manifests/, of the example
//! ```

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use super::limit;
use crate::api::{Answer, Api, Cluster, Https, SERVER, Tls, secrets};
use crate::harness::{Workspace, left_out, list, set_mode};

/// What etcd, its client and bootkube.sh need.
const SECRETS: [&str; 7] = [
    "pki/etcd-ca",
    "pki/etcd-server",
    "key/etcd-server",
    "pki/etcd-client",
    "key/etcd-client",
    "kubeconfig/localhost",
    "script/bootkube",
];

/// Enough of the example for a story: namespaces, an object with a status, the overrides, and one that is handed over.
pub(super) const SOME: [&str; 4] = [
    "manifest/00-namespaces",
    "manifest/cluster-infrastructure-02-config",
    "manifest/cvo-overrides",
    "hand-over/etcd-signer",
];

pub(super) const INFRASTRUCTURE: &str = "/apis/config.openshift.io/v1/infrastructures/cluster";
pub(super) const VERSION: &str = "/apis/config.openshift.io/v1/clusterversions/version";
pub(super) const ETCDS: &str = "/apis/operator.openshift.io/v1/etcds/cluster";
pub(super) const API_SERVERS: &str = "/apis/operator.openshift.io/v1/kubeapiservers/cluster";
pub(super) const BOOTSTRAP: &str = "/api/v1/namespaces/kube-system/configmaps/bootstrap";
pub(super) const SAY_COMPLETE: &str = "POST /api/v1/namespaces/kube-system/configmaps";

pub(super) fn get(path: &str) -> String {
    format!("GET {path}")
}

/// A CRD that the cluster-version operator brings.
pub(crate) fn crd(group: &str, plural: &str, kind: &str) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{group}")},
        "spec": {
            "group": group, "scope": "Cluster",
            "names": {"plural": plural, "singular": kind.to_lowercase(), "kind": kind, "listKind": format!("{kind}List")},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
            }],
        },
    })
}

/// An operator's object with conditions: type, status, message.
pub(crate) fn etcd(conditions: &[(&str, &str, &str)]) -> Value {
    json!({"apiVersion": "operator.openshift.io/v1", "kind": "Etcd", "metadata": {"name": "cluster"},
        "status": {"conditions": list_of(conditions)}})
}

/// The kube-apiserver operator's object: at which revision its nodes are, and its conditions.
pub(crate) fn api_servers(revisions: [u32; 3], conditions: &[(&str, &str, &str)]) -> Value {
    let nodes = revisions.iter().enumerate();
    let nodes =
        nodes.map(|(at, revision)| json!({"nodeName": format!("master-{at}"), "currentRevision": revision}));
    json!({"apiVersion": "operator.openshift.io/v1", "kind": "KubeAPIServer", "metadata": {"name": "cluster"},
        "status": {"nodeStatuses": nodes.collect::<Vec<_>>(), "conditions": list_of(conditions)}})
}

fn list_of(conditions: &[(&str, &str, &str)]) -> Vec<Value> {
    let one = |(name, status, message): &(&str, &str, &str)| json!({"type": name, "status": status, "message": message});
    conditions.iter().map(one).collect()
}

pub(super) fn master(at: usize, ready: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Node",
        "metadata": {"name": format!("master-{at}"), "labels": {"node-role.kubernetes.io/master": ""}},
        "status": {"conditions": [{"type": "Ready", "status": ready}]}})
}

/// What the masters and their operators do when all goes well.
fn masters(cluster: &mut Cluster) {
    cluster.put(crd("operator.openshift.io", "etcds", "Etcd"));
    cluster.put(crd("operator.openshift.io", "kubeapiservers", "KubeAPIServer"));
    (0..3).for_each(|at| cluster.put(master(at, "True")));
    cluster.put(etcd(&[("EtcdRunningInCluster", "True", "enough members found")]));
    cluster.put(api_servers([3, 4, 0], &[]));
}

/// What etcd says to who has a certificate of its authority.
pub(crate) fn healthy() -> Answer {
    Answer { status: 200, media_type: "application/json", body: br#"{"health":"true","reason":""}"#.to_vec() }
}

/// Whether kubectl can do what `oc` of an OpenShift 4 can.
pub(crate) fn is_new_enough() -> bool {
    let help = Command::new("kubectl").args(["replace", "--help"]).output();
    help.is_ok_and(|help| String::from_utf8_lossy(&help.stdout).contains("--subresource"))
}

pub(super) struct Node {
    pub(super) ws: Workspace,
    pub(super) secrets: PathBuf,
    pub(super) api: Api,
    etcd: Https,
}

impl Node {
    /// A node with the manifests of the targets, and the CRDs of their kinds; masters that are well. None without kubectl.
    pub(super) fn new(targets: &[&str]) -> Option<Self> {
        if !is_new_enough() {
            left_out(
                "bootkube.sh against an API server",
                "kubectl with `replace --subresource`; .ci/newer-parts brings it",
            );
            return None;
        }
        let ws = Workspace::example().prebuilt();
        let secrets = secrets(&ws, &[&SERVER[..], &SECRETS].concat());
        let api = Api::start(&Tls::api_server(&secrets));
        let tls = Tls {
            certificate: secrets.join("etcd-server.crt"),
            key: secrets.join("etcd-server.key"),
            clients: secrets.join("etcd-ca.crt"),
            required: true,
        };
        let etcd = Https::start(&tls, |request| (request.path == "/health").then(healthy));
        let node = Self { ws, secrets, api, etcd };
        node.oc("exec kubectl \"$@\"");
        let config = fs::read_to_string(node.secrets.join("localhost.kubeconfig")).unwrap();
        let config = config.replace("https://localhost:6443", &node.api.url());
        node.write("secrets/kubeconfig", &config);
        node.bring(targets);
        node.api.look(masters);
        Some(node)
    }

    /// Puts the manifests of targets where bootkube.sh looks, and what CRDs their objects need.
    fn bring(&self, targets: &[&str]) {
        let mut kinds = Vec::new();
        for target in
            self.ws.json(&[&["build", "release/crds"], targets].concat())["targets"].as_array().unwrap()
        {
            let (name, path) = (&target["name"], PathBuf::from(target["path"].as_str().unwrap()));
            let to = if name == "release/crds" { "crds" } else { "manifests" };
            for file in list(&path).into_iter().filter(|file| path.join(file).is_file()) {
                let text = fs::read_to_string(path.join(&file)).unwrap();
                if to == "manifests" {
                    kinds.extend(
                        text.lines().filter_map(|line| line.strip_prefix("kind: ")).map(str::to_owned),
                    );
                }
                self.write(&format!("assets/{to}/{file}"), &text);
            }
        }
        for file in list(&self.at("assets/crds")) {
            let path = self.at("assets/crds").join(file);
            let text = fs::read_to_string(&path).unwrap();
            if !kinds.iter().any(|kind| text.contains(&format!("    kind: {kind}\n"))) {
                fs::remove_file(path).unwrap();
            }
        }
    }

    pub(super) fn at(&self, path: &str) -> PathBuf {
        self.ws.temp().join(path)
    }

    pub(super) fn write(&self, path: &str, text: &str) {
        fs::create_dir_all(self.at(path).parent().unwrap()).unwrap();
        fs::write(self.at(path), text).unwrap();
    }

    /// Says what `oc` is.
    pub(super) fn oc(&self, script: &str) {
        self.write("bin/oc", &format!("#!/bin/sh\n{script}\n"));
        set_mode(&self.at("bin/oc"), 0o755);
    }

    /// Runs the script, in a process group of its own: limits are long unless one is given.
    pub(super) fn run(&self, given: &[(&str, &str)]) -> String {
        let mut path = std::ffi::OsString::from(self.at("bin"));
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        let script = self.secrets.join("bootkube.sh");
        let mut command = self.ws.command_of(&script, &[]);
        command.process_group(0).env("PATH", path).env("POLL", "0.05");
        command.env("ASSETS", self.at("assets")).env("SECRETS", &self.secrets);
        command.env("KUBECONFIG", self.secrets.join("kubeconfig"));
        command
            .env("ETCD", self.etcd.url())
            .env("API", self.api.url())
            .env("MASTERS_API", "https://localhost:1");
        limit(&mut command);
        command.envs(given.iter().copied());
        let said = self.ws.text(&command.output().unwrap());
        said.replace(&self.api.url(), "[API]").replace(&self.etcd.url(), "[ETCD]")
    }

    /// How often a request was made.
    pub(super) fn count(&self, request: &str) -> usize {
        self.api.seen().iter().filter(|seen| seen.request == request).count()
    }

    /// An object, as it is now.
    pub(super) fn object(&self, path: &str) -> Option<Value> {
        self.api.look(|cluster| cluster.get(path).cloned())
    }

    /// Fails unless all is as it must be in the end.
    pub(super) fn assert_complete(&self, said: &str) {
        assert!(said.ends_with("[TIME] done\n[exit 0]\n"), "{said}");
        assert_eq!(self.object(BOOTSTRAP).unwrap()["data"], json!({"status": "complete"}));
        let status = &self.object(INFRASTRUCTURE).unwrap()["status"];
        assert_eq!(status["apiServerInternalURI"], "https://api-int.ocp4.example.com:6443");
        assert_eq!(self.object(VERSION).unwrap()["spec"]["overrides"], Value::Null);
        assert!(self.object("/api/v1/namespaces/openshift-etcd/secrets/etcd-signer").is_some());
        assert!(self.at("assets/.bootkube.done").exists());
    }

    /// Fails if anything of the end has happened.
    pub(super) fn assert_not_complete(&self, said: &str) {
        assert!(said.ends_with("[exit 1]\n"), "{said}");
        assert_eq!(self.object(BOOTSTRAP), None);
        for mark in ["done", "ending"] {
            assert!(!self.at(&format!("assets/.bootkube.{mark}")).exists(), "{mark}");
        }
    }
}

/// The lines of one step, without those of the many namespaces, and without the words of `oc` about what is not in: each
/// version has its own.
pub(super) fn step(said: &str, first: &str, end: &str) -> String {
    let lines = said.lines().skip_while(|line| !line.contains(first)).take_while(|line| !line.contains(end));
    let lines = lines.filter(|line| !line.contains(" in: manifests/00-namespaces.yaml: "));
    let brief = |line: &str| match line.strip_prefix("[TIME] not yet: manifests/") {
        Some(rest) => format!("[TIME] not yet: manifests/{}: …\n", rest.split(": ").next().unwrap()),
        None => format!("{line}\n"),
    };
    lines.map(brief).collect()
}
