//! The node as real programs see it: Ignition applies its config, systemd reads its units, etcd starts from its static pod and
//! goes on under the operator's, and bootkube.sh brings the cluster up on an API server with the pod's own certificates.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use tinderbox::internals::hint::Problems;
use tinderbox::internals::pod::{Container, containers};
use tinderbox::internals::yaml::{Source, parse};

use super::{MANIFESTS, NODE};
use crate::api::{Api, Cluster, Https, Tls};
use crate::bootkube::limit;
use crate::bootkube::node::{crd, healthy, is_new_enough};
use crate::harness::{Workspace, is_root, left_out, list, set_mode};
use crate::ignition::host::{IGNITION, check};
use crate::ignition::{config, entries};

const FQDN: &str = "master-0.sno.example.com";

/// The node's file system after Ignition.
struct Root {
    ws: Workspace,
    temp: tempfile::TempDir,
}

impl Root {
    fn new(test: &str) -> Option<Self> {
        if !Path::new(IGNITION).exists() || !is_root() {
            left_out(test, "root, or Debian's package ignition");
            return None;
        }
        let ws = Workspace::single_node();
        ws.build(&["ignition"]);
        let temp = check(&ws, NODE);
        Some(Self { ws, temp })
    }

    fn at(&self, path: &str) -> PathBuf {
        self.temp.path().join("root").join(path.trim_start_matches('/'))
    }

    /// The first container of a static pod, as the kubelet would find it.
    fn container(&self, file: &str) -> (Container, String) {
        let text = fs::read_to_string(self.at(&format!("{MANIFESTS}{file}"))).unwrap();
        let mut problems = Problems::default();
        let pod = parse(Source { name: file, text: &text }, &mut problems).unwrap();
        assert!(problems.0.is_empty(), "{problems}");
        (containers(&pod, &text).remove(0), text)
    }

    /// The file that a flag of a container names.
    fn flag_file(&self, container: &Container, name: &str) -> PathBuf {
        let flag = container.flags.iter().find(|flag| flag.name == name).unwrap();
        self.at(&container.on_node(flag.value.as_deref().unwrap()).unwrap())
    }
}

#[test]
fn the_real_ignition_applies_the_nodes_config() {
    let Some(root) = Root::new("the real Ignition") else { return };
    for file in ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"] {
        assert!(root.at(&format!("{MANIFESTS}{file}-pod.yaml")).is_file(), "{file}");
    }
}

#[test]
fn systemd_has_nothing_to_say() {
    let ws = Workspace::single_node();
    ws.build(&["ignition"]);
    let temp = tempfile::tempdir().unwrap();
    let put = |path: &str, text: &str| {
        let path = temp.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        if text.starts_with("#!") {
            set_mode(&path, 0o755);
        }
    };
    let units = entries(&config(&ws, NODE), "systemd.units");
    let unit = units["bootkube.service"]["contents"].as_str().unwrap();
    // The kubelet starts after the first boot's reboot, and this after the kubelet.
    assert!(unit.contains("\nAfter=machine-config-daemon-firstboot.service kubelet.service "), "{unit}");
    for target in ["basic", "sysinit", "shutdown", "multi-user", "network-online"] {
        put(&format!("usr/lib/systemd/system/{target}.target"), "[Unit]\n");
    }
    for service in ["kubelet", "machine-config-daemon-firstboot"] {
        let text = "[Service]\nExecStart=/usr/local/bin/bootkube.sh\n";
        put(&format!("etc/systemd/system/{service}.service"), text);
    }
    put("usr/local/bin/bootkube.sh", "#!/bin/sh\n");
    put("etc/systemd/system/bootkube.service", unit);
    let verify = || {
        let mut command = Command::new("systemd-analyze");
        command.args(["verify", "--man=no", "--recursive-errors=no"]);
        command.arg(format!("--root={}", temp.path().display())).arg("bootkube.service").output()
    };
    match verify() {
        Err(error) => return left_out("the node's units", &format!("Debian's systemd: {error}")),
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success() && said.is_empty(), "{said}");
        }
    }
    // It does look at this unit.
    put("etc/systemd/system/bootkube.service", &unit.replace("Type=exec", "Type=exce"));
    let said = verify().unwrap();
    assert!(String::from_utf8_lossy(&said.stderr).contains("exce"), "{said:?}");
}

/// Starts etcd as the static pod does, writes, ends it; starts it again as the operator's pod does, which begins no cluster:
/// what was written is there, and the member is the same.
const ETCD: &str = r#"
secrets=$1 address=$2 host=$3 log=$4; shift 4
ip link set lo up && ip address add "$address" dev lo || exit 77
ours="--command-timeout=5s --cacert=$secrets/etcd-ca.crt --cert=$secrets/etcd-client.crt --key=$secrets/etcd-client.key"
export ETCDCTL_API=3
etcd=
trap '[ -z "$etcd" ] || kill "$etcd"' EXIT
start() {
  "$@" >> "$log" 2>&1 &
  etcd=$!
  tries=0
  until etcdctl $ours --endpoints="https://$host:2379" endpoint health; do
    tries=$((tries + 1))
    kill -0 $etcd && [ $tries -lt 300 ] || exit 1
    sleep 0.1
  done
}
start "$@"
set -e
etcdctl $ours --endpoints=https://localhost:2379 put spark dry
echo "first: $(etcdctl $ours --endpoints=https://localhost:2379 member list)"
kill $etcd
wait $etcd || true
set +e
start "$@" --initial-cluster-state=existing
set -e
echo "spark: $(etcdctl $ours --endpoints=https://localhost:2379 get --print-value-only spark)"
echo "second: $(etcdctl $ours --endpoints=https://localhost:2379 member list)"
"#;

#[test]
fn a_real_etcd_starts_and_goes_on_under_the_operators_pod() {
    let Some(root) = Root::new("etcd of a single node") else { return };
    let (etcd, text) = root.container("etcd-pod.yaml");
    let host_path = |value: &str| match etcd.on_node(value) {
        Some(path) => root.at(&path).to_str().unwrap().to_owned(),
        None => value.to_owned(),
    };
    let flags = etcd.flags.iter().map(|flag| {
        let value = flag.value.as_deref().map(|value| format!("={}", host_path(value))).unwrap_or_default();
        format!("--{}{value}", flag.name)
    });
    let log = root.temp.path().join("log");
    let variables =
        text.split("    - name: ETCD_").skip(1).filter_map(|rest| rest.split_once("\n      value: "));
    let variables: Vec<(String, String)> = variables
        .map(|(name, rest)| {
            (format!("ETCD_{name}"), rest.lines().next().unwrap_or_default().trim_matches('"').to_owned())
        })
        .collect();
    let mut command = Command::new("unshare");
    command.args(["--net", "--pid", "--fork", "--kill-child", "sh", "-c", ETCD, "sh"]);
    command.arg(root.at("/etc/kubernetes/bootstrap-secrets"));
    command.args(["192.168.127.101/24", "192.168.127.101"]).arg(&log);
    command.args(&etcd.program).args(flags);
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).envs(variables);
    let output = match command.output() {
        Ok(output) => output,
        Err(error) => return left_out("etcd of a single node", &format!("unshare, of util-linux: {error}")),
    };
    let said = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
    let log = fs::read_to_string(&log).unwrap_or_default();
    if output.status.code() == Some(77) || said[1].contains("unshare failed") || log.contains("not found") {
        return left_out("etcd of a single node", &format!("etcd, ip and namespaces: {}{log}", said[1]));
    }
    assert!(output.status.success(), "{}\n{log}", said.concat());
    let line = |start: &str| said[0].lines().find_map(|line| line.strip_prefix(start)).unwrap_or_default();
    let member =
        format!(", started, {FQDN}, https://192.168.127.101:2380, https://192.168.127.101:2379, false");
    assert!(line("first: ").ends_with(&member), "{}", said[0]);
    assert_eq!(line("first: "), line("second: "));
    assert_eq!(line("spark: "), "dry");
}

const STATIC_POD: &str =
    "/api/v1/namespaces/openshift-cluster-version/pods/cluster-version-operator-master-0.sno.example.com";
const SCHEDULERS: &str = "/apis/operator.openshift.io/v1/kubeschedulers/cluster";

fn operator(kind: &str, revision: u32) -> Value {
    json!({"apiVersion": "operator.openshift.io/v1", "kind": kind, "metadata": {"name": "cluster"},
        "status": {"nodeStatuses": [{"nodeName": FQDN, "currentRevision": revision}]}})
}

/// What the kubelet and the operators do when all goes well.
fn others(cluster: &mut Cluster) {
    let kinds = [
        ("etcds", "Etcd"),
        ("kubeapiservers", "KubeAPIServer"),
        ("kubecontrollermanagers", "KubeControllerManager"),
        ("kubeschedulers", "KubeScheduler"),
    ];
    for (plural, kind) in kinds {
        cluster.put(crd("operator.openshift.io", plural, kind));
        cluster.put(operator(kind, u32::from(kind != "KubeScheduler")));
    }
    let name = "openshift-cluster-version";
    cluster.put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}));
    cluster.put(json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "cluster-version-operator", "namespace": name}, "status": {"availableReplicas": 1}}));
    cluster.put(json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": format!("cluster-version-operator-{FQDN}"), "namespace": name}}));
    cluster.put(json!({"apiVersion": "v1", "kind": "Node",
        "metadata": {"name": FQDN, "labels": {"node-role.kubernetes.io/master": ""}},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]}}));
}

/// Runs the node's bootkube.sh on the node's own files.
fn bootkube(root: &Root, api: &Api, etcd: &Https) -> String {
    let bin = root.temp.path().join("bin");
    fs::write(bin.join("oc"), "#!/bin/sh\nexec kubectl \"$@\"\n").unwrap();
    set_mode(&bin.join("oc"), 0o755);
    let mut path = std::ffi::OsString::from(&bin);
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap_or_default());
    let mut command = root.ws.command_of(&root.at("/usr/local/bin/bootkube.sh"), &[]);
    command.process_group(0).env("PATH", path).env("POLL", "0.05");
    limit(&mut command);
    for (name, path) in [
        ("ASSETS", "/opt/openshift"),
        ("SECRETS", "/etc/kubernetes/bootstrap-secrets"),
        ("KUBECONFIG", "/etc/kubernetes/kubeconfigs/localhost.kubeconfig"),
        ("STATIC_PODS", "/etc/kubernetes/manifests"),
        ("KUBECONFIGS", "/etc/kubernetes/kubeconfigs"),
        ("CONFIGS", "/etc/kubernetes/bootstrap-configs"),
    ] {
        command.env(name, root.at(path));
    }
    command.env("ETCD", etcd.url()).env("API", api.url()).env("MASTERS_API", "https://localhost:1");
    command.env("APPLY_LIMIT", "300");
    root.ws.text(&command.output().unwrap())
}

/// The API server's and etcd's certificates are those that the flags of the static pods name.
#[test]
fn bootkube_brings_the_cluster_up_and_clears_up() {
    if !is_new_enough() {
        return left_out("bootkube.sh of a single node", "kubectl with `replace --subresource`");
    }
    let Some(root) = Root::new("bootkube.sh of a single node") else { return };
    let (server, _) = root.container("kube-apiserver-pod.yaml");
    let api = Api::start(&Tls {
        certificate: root.flag_file(&server, "tls-cert-file"),
        key: root.flag_file(&server, "tls-private-key-file"),
        clients: root.flag_file(&server, "client-ca-file"),
        required: false,
    });
    let (member, _) = root.container("etcd-pod.yaml");
    let tls = Tls {
        certificate: root.flag_file(&member, "cert-file"),
        key: root.flag_file(&member, "key-file"),
        clients: root.flag_file(&member, "trusted-ca-file"),
        required: true,
    };
    let etcd = Https::start(&tls, |request| (request.path == "/health").then(healthy));
    // Its port is the stand-in's.
    let kubeconfig = root.at("/etc/kubernetes/kubeconfigs/localhost.kubeconfig");
    let text = fs::read_to_string(&kubeconfig).unwrap().replace("https://localhost:6443", &api.url());
    fs::write(&kubeconfig, text).unwrap();
    api.look(others);
    // One operator is late, and the kubelet ends the pod when its file is gone, and no sooner.
    api.at(3, &format!("GET {SCHEDULERS}"), |cluster| cluster.put(operator("KubeScheduler", 1)));
    let manifest = root.at(&format!("{MANIFESTS}cluster-version-operator.yaml"));
    assert!(manifest.exists());
    let gone = manifest.clone();
    api.at(2, &format!("GET {STATIC_POD}"), move |cluster| {
        if !gone.exists() {
            cluster.remove(STATIC_POD);
        }
    });
    let said = bootkube(&root, &api, &etcd);
    assert!(said.ends_with("[TIME] done\n[exit 0]\n"), "{said}");
    assert!(said.contains("not yet: not replaced yet: kubeschedulers\n"), "{said}");
    assert!(
        said.contains("not yet: pod/cluster-version-operator-master-0.sno.example.com is there\n"),
        "{said}"
    );
    let object = |path: &str| api.look(|cluster| cluster.get(path).cloned());
    let complete = object("/api/v1/namespaces/kube-system/configmaps/bootstrap").unwrap();
    assert_eq!(complete["data"], json!({"status": "complete"}));
    let endpoints = object("/api/v1/namespaces/openshift-etcd/configmaps/etcd-endpoints").unwrap();
    assert_eq!(endpoints["data"], json!({"MTkyLjE2OC4xMjcuMTAx": "192.168.127.101"}));
    assert_eq!(endpoints["metadata"]["annotations"], Value::Null);
    // What only the first control plane used is gone; the pods that operators replace are theirs to replace.
    assert!(!manifest.exists() && root.at(&format!("{MANIFESTS}etcd-pod.yaml")).exists());
    for path in ["/etc/kubernetes/bootstrap-secrets", "/etc/kubernetes/bootstrap-configs"] {
        assert!(!root.at(path).exists(), "{path}");
    }
    assert_eq!(Vec::from_iter(list(&root.at("/etc/kubernetes/kubeconfigs"))), ["kube-proxy.kubeconfig"]);
    let left = Vec::from_iter(list(&root.at("/opt/openshift")));
    assert_eq!(left, [".bootkube.done", ".bootkube.ending"]);
    // Once more: nothing happens. After a crash in the middle of the end: nothing but that is done, and nobody is asked.
    let asked = api.seen().len();
    assert!(bootkube(&root, &api, &etcd).contains("done before"));
    fs::remove_file(root.at("/opt/openshift/.bootkube.done")).unwrap();
    fs::create_dir_all(root.at("/etc/kubernetes/bootstrap-secrets")).unwrap();
    fs::write(root.at("/etc/kubernetes/bootstrap-secrets/kubernetes-ca.key"), "left over").unwrap();
    let said = bootkube(&root, &api, &etcd);
    assert!(said.ends_with("[TIME] done\n[exit 0]\n"), "{said}");
    assert!(!root.at("/etc/kubernetes/bootstrap-secrets").exists());
    assert_eq!(api.seen().len(), asked);
}
