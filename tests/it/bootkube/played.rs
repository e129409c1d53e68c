//! bootkube.sh on a node that is played: an `oc` and a `curl` that write down what they are asked and answer from files.
//! For what no server sees: exact arguments, and every limit.
//!
//! ```text
//! <temp>/bin/{oc,curl}     the players, first in PATH
//! <temp>/assets            /opt/openshift: crds/, manifests/
//! <temp>/fake/log          every call, one a line
//! <temp>/fake/<what>.at    at which look it is so; 1 unless given. <what>: etcd, api, ready, crds, nodes, apply-FILE, status-FILE,
//!                          create-FILE, masters-etcd, masters-api, overrides, complete
//! <temp>/fake/live-FILE    the status that the API has of an object
//! ```

use std::fs;
use std::path::PathBuf;

use super::{last, limit};
use crate::harness::{Workspace, set_mode};

/// Counts a look at `$name`, and goes on only if its time has come.
const LOOK: &str = r#"
look() {
  looks=$(($(cat "$FAKE/$1.looks" 2>/dev/null || echo 0) + 1))
  echo "$looks" >"$FAKE/$1.looks"
  [ "$looks" -ge "$(cat "$FAKE/$1.at" 2>/dev/null || echo 1)" ]
}
"#;

const CURL: &str = r#"
for url; do :; done
printf "%s\n" "curl $*" >>"$FAKE/log"
case $url in
  */health) look etcd && echo '{"health":"true","reason":""}' && exit ;;
  */readyz) look ready && echo ok && exit ;;
esac
echo "curl: (7) Failed to connect to ${url#https://}" >&2
exit 7
"#;

const OC: &str = r#"
printf "%s\n" "oc $*" >>"$FAKE/log"
previous=
file=
for word; do
  [ "$previous" = --filename ] && path=$word && file=$(basename "$word")
  previous=$word
done
case "$*" in
  *" get --raw=/version")
    look api && echo '{"major":"1"}' && exit
    echo "The connection to the server localhost:6443 was refused" >&2
    exit 1 ;;
  *" create configmap bootstrap "*)
    look complete && echo "configmap/bootstrap created" && exit ;;
  *" create "*)
    look "create-$file" && echo "$file created" && exit ;;
  *" get etcds."*)
    if look masters-etcd; then
      printf 'Degraded=False: \nEtcdRunningInCluster=True: enough members found\n'
    else
      printf 'EnvVarControllerDegraded=True: no node has an address\nClusterMemberControllerDegraded=False: \n'
      printf 'EtcdRunningInCluster=False: EtcdMembersNotReady\n'
    fi
    exit ;;
  *" get kubeapiservers."*.nodeStatuses*)
    look masters-api && two=4 || two=0
    printf 'master-0=3\nmaster-1=%s\nmaster-2=0\n' "$two"
    exit ;;
  *" get kubeapiservers."*) echo 'InstallerControllerDegraded=True: missing secret etcd-client'; exit ;;
  *" get clusterversion "*)
    printf 'DNS|config.openshift.io||cluster|true\nNetwork|config.openshift.io||cluster|true\n'
    exit ;;
  *" patch --local "*) sed -n 's/.*"status": *\([^}]*}\).*/\1/p' "$path"; exit ;;
  *" patch clusterversion "*) look overrides && echo "clusterversion.config.openshift.io/version patched" && exit ;;
  *" apply "*) look "apply-$file" && echo "$file serverside-applied" && exit ;;
  *" replace --subresource=status "*) look "status-$file" && echo '{"some":"status"}' >"$FAKE/live-$file" && exit ;;
  *" wait "*)
    look crds && exit
    echo "error: condition not met for customresourcedefinitions/a" >&2
    exit 1 ;;
  *" get nodes "*)
    look nodes && ready=True || ready=False
    printf 'master-0=True\nmaster-1=True\nmaster-2=%s\n' "$ready"
    exit ;;
  *" get --filename "*) cat "$FAKE/live-$file" 2>/dev/null; exit 0 ;;
esac
echo "error: the server refuses ${file:-this}" >&2
echo "unknown field \"spec.wrong\"" >&2
exit 1
"#;

/// Longer than a test ever takes.
const NEVER: &str = "1000000";

struct Node {
    ws: Workspace,
    script: PathBuf,
}

impl Node {
    /// A node with the script, and assets of which one has a status, and one an empty one.
    fn new() -> Self {
        let ws = Workspace::example().prebuilt();
        ws.build(&["script/bootkube"]);
        let script = ws.path_of("script/bootkube").join("bootkube.sh");
        let node = Self { ws, script };
        for (name, text) in [("curl", CURL), ("oc", OC)] {
            node.write(&format!("bin/{name}"), &format!("#!/bin/sh\n{LOOK}{text}"));
            set_mode(&node.at(&format!("bin/{name}")), 0o755);
        }
        node.write("fake/log", "");
        node.write("assets/crds/b.crd.yaml", "kind: CustomResourceDefinition\n");
        node.write("assets/crds/a.crd.yaml", "kind: CustomResourceDefinition\n");
        node.write("assets/manifests/cluster-dns.yml", "kind: DNS\nspec: {}\nstatus: {}\n");
        node.write("assets/manifests/99_gate.yaml", "kind: FeatureGate\nstatus:\n  featureGates: []\n");
        node.write("assets/manifests/00-namespaces.yaml", "kind: Namespace\n---\nkind: Namespace\n");
        node.write("assets/manifests/hand-over-signer.yaml", "kind: Secret\n");
        node
    }

    fn at(&self, path: &str) -> PathBuf {
        self.ws.temp().join(path)
    }

    fn write(&self, path: &str, text: &str) {
        fs::create_dir_all(self.at(path).parent().unwrap()).unwrap();
        fs::write(self.at(path), text).unwrap();
    }

    /// Says at which look something is so.
    fn later(&self, what: &str, look: &str) {
        self.write(&format!("fake/{what}.at"), look);
    }

    /// Runs the script: limits are long unless one is given.
    fn run(&self, limits: &[(&str, &str)]) -> String {
        let path = std::env::join_paths(
            [self.at("bin")]
                .into_iter()
                .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())),
        );
        let mut command = self.ws.command_of(&self.script, &[]);
        command.env("PATH", path.unwrap()).env("FAKE", self.at("fake")).env("POLL", "0.05");
        command.env("ASSETS", self.at("assets")).env("SECRETS", "/secrets").env("KUBECONFIG", "/kubeconfig");
        limit(&mut command);
        command.envs(limits.iter().copied());
        self.ws.text(&command.output().unwrap())
    }

    /// Every call, since the last time this was asked.
    fn calls(&self) -> Vec<String> {
        let log = fs::read_to_string(self.at("fake/log")).unwrap();
        self.write("fake/log", "");
        log.lines().map(|line| self.ws.filter(line).trim_end().to_owned()).collect()
    }
}

/// The whole way, call by call: order, certificates, strict validation, and the status through its own door.
#[test]
fn all_goes_well() {
    let node = Node::new();
    insta::assert_snapshot!(node.run(&[]), @r#"
    [TIME] waiting for etcd at https://localhost:2379, for at most 60 s
    [TIME] done: {"health":"true","reason":""}
    [TIME] waiting for an answer of the API server, for at most 60 s
    [TIME] done: it does
    [TIME] applying crds, for at most 60 s
    [TIME] in: crds/a.crd.yaml: a.crd.yaml serverside-applied
    [TIME] in: crds/b.crd.yaml: b.crd.yaml serverside-applied
    [TIME] done: all of crds are in
    [TIME] waiting for the CRDs, for at most 60 s
    [TIME] done: all are established
    [TIME] waiting for the API server at https://localhost:6443 to be ready, for at most 60 s
    [TIME] done: ok
    [TIME] applying manifests, for at most 60 s
    [TIME] in: manifests/00-namespaces.yaml: 00-namespaces.yaml serverside-applied
    [TIME] in: manifests/99_gate.yaml: 99_gate.yaml serverside-applied
    [TIME] in: manifests/cluster-dns.yml: cluster-dns.yml serverside-applied
    [TIME] in: manifests/hand-over-signer.yaml: hand-over-signer.yaml created
    [TIME] done: all of manifests are in
    [TIME] waiting for 3 masters to be Ready, for at most 60 s
    [TIME] done: 3 of 3 are Ready: master-0=True; master-1=True; master-2=True
    [TIME] looking for statuses that are lost, for at most 60 s
    [TIME] done: it has one already
    [TIME] waiting for etcd on the masters, for at most 60 s
    [TIME] done: EtcdRunningInCluster=True: enough members found
    [TIME] waiting for API servers on the masters, for at most 60 s
    [TIME] done: 2 of 2 are there: master-0=3; master-1=4; master-2=0
    [TIME] taking the overrides off the ClusterVersion, for at most 60 s
    [TIME] done: clusterversion.config.openshift.io/version patched
    [TIME] saying that bootstrap is complete, for at most 60 s
    [TIME] done: configmap/bootstrap created
    [TIME] done
    [exit 0]
    "#);
    insta::assert_snapshot!(node.calls().join("\n"), @r#"
    curl --fail --silent --show-error --noproxy * --max-time 10 --cacert /secrets/etcd-ca-bundle.crt --cert /secrets/etcd-client.crt --key /secrets/etcd-client.key https://localhost:2379/health
    oc --request-timeout=30s --cache-dir=[TEMP]/assets/.discovery get --raw=/version
    oc --request-timeout=30s --cache-dir=[TEMP]/assets/.discovery apply --validate=strict --server-side --force-conflicts --field-manager=bootkube --filename [TEMP]/assets/crds/a.crd.yaml
    oc --request-timeout=30s --cache-dir=[TEMP]/assets/.discovery apply --validate=strict --server-side --force-conflicts --field-manager=bootkube --filename [TEMP]/assets/crds/b.crd.yaml
    oc --request-timeout=30s --cache-dir=[TEMP]/assets/.discovery wait --for=condition=Established --timeout=0 --filename [TEMP]/assets/crds
    curl --fail --silent --show-error --noproxy * --max-time 10 --cacert /secrets/kubernetes-ca-bundle.crt https://localhost:6443/readyz
    oc --request-timeout=30s --cache-dir=[TEMP]/assets/.discovery apply --validate=strict --server-side --force-conflicts --field-manager=bootkube --filename [TEMP]/assets/manifests/00-namespaces.yaml
    oc --request-timeout=30s --cache-dir=[TEMP]/assets/.discovery apply --validate=strict --server-side --force-conflicts --field-manager=bootkube --filename [TEMP]/assets/manifests/99_gate.yaml
    oc --request-timeout=30s --cache-dir=[TEMP]/assets/.discovery get --filename [TEMP]/assets/manifests/99_gate.yaml --output jsonpath={.status}
    oc --request-timeout=30s --cache-dir=[TEMP]/assets/.discovery replace --subresource=status --validate=strict --filename [TEMP]/assets/manifests/99_gate.yaml
    oc --request-timeout=30s --cache-dir=[TEMP]/assets/.discovery apply --validate=strict --server-side --force-conflicts --field-manager=bootkube --filename [TEMP]/assets/manifests/cluster-dns.yml
    oc --request-timeout=30s --cache-dir=[TEMP]/assets/.discovery create --validate=strict --field-manager=bootkube --filename [TEMP]/assets/manifests/hand-over-signer.yaml
    oc --request-timeout=30s --cache-dir=[TEMP]/assets/.discovery get nodes --selector node-role.kubernetes.io/master --output jsonpath={range .items[*]}{.metadata.name}={.status.conditions[?(@.type=="Ready")].status}{"\n"}{end}
    oc --request-timeout=30s --cache-dir=[TEMP]/assets/.discovery get --filename [TEMP]/assets/manifests/99_gate.yaml --output jsonpath={.status}
    oc --request-timeout=30s --cache-dir=[TEMP]/assets/.discovery get etcds.operator.openshift.io cluster --output jsonpath={range .status.conditions[*]}{.type}={.status}: {.message}{"\n"}{end}
    oc --request-timeout=30s --cache-dir=[TEMP]/assets/.discovery get kubeapiservers.operator.openshift.io cluster --output jsonpath={range .status.nodeStatuses[*]}{.nodeName}={.currentRevision}{"\n"}{end}
    oc --request-timeout=30s --cache-dir=[TEMP]/assets/.discovery get clusterversion version --output jsonpath={range .spec.overrides[*]}{.kind}|{.group}|{.namespace}|{.name}|{.unmanaged}{"\n"}{end}
    oc --request-timeout=30s --cache-dir=[TEMP]/assets/.discovery patch clusterversion version --type=merge --patch {"spec":{"overrides":null}}
    oc --request-timeout=30s --cache-dir=[TEMP]/assets/.discovery --server=https://localhost:6443 create configmap bootstrap --namespace=kube-system --from-literal=status=complete --validate=strict
    "#);
    assert!(node.at("assets/.bootkube.done").exists());
}

/// Once it is done, it asks nobody for anything.
#[test]
fn done_is_done() {
    let node = Node::new();
    node.run(&[]);
    node.calls();
    insta::assert_snapshot!(node.run(&[]), @"
    [TIME] done before: [TEMP]/assets/.bootkube.done exists
    [exit 0]
    ");
    assert_eq!(node.calls(), Vec::<String>::new());
}

/// The release brings its FeatureGate as JSON: on one line or on many, its status goes in like any other.
#[test]
fn a_status_in_json() {
    let node = Node::new();
    let gate = "{\n    \"kind\": \"FeatureGate\",\n    \"status\": {\"featureGates\": []}\n}\n";
    node.write("assets/manifests/99_gate.yaml", gate);
    node.write("assets/manifests/a.json", "{\"kind\":\"Infrastructure\",\"status\":{\"platform\":\"None\"}}");
    node.write("assets/manifests/b.json", "{\"kind\":\"Ingress\",\"status\":{}}");
    node.write("assets/manifests/c.yaml", "# A comment.\n---\n{\"kind\":\"Secret\"}\n");
    node.run(&[]);
    let replaced: Vec<String> = node.calls().into_iter().filter(|call| call.contains(" replace ")).collect();
    insta::assert_snapshot!(replaced.join("\n"), @"
    oc --request-timeout=30s --cache-dir=[TEMP]/assets/.discovery replace --subresource=status --validate=strict --filename [TEMP]/assets/manifests/99_gate.yaml
    oc --request-timeout=30s --cache-dir=[TEMP]/assets/.discovery replace --subresource=status --validate=strict --filename [TEMP]/assets/manifests/a.json
    ");
}

#[test]
fn a_slow_start_takes_longer() {
    let node = Node::new();
    node.later("etcd", "3");
    node.later("api", "4");
    node.later("ready", "2");
    node.later("crds", "2");
    node.later("nodes", "3");
    insta::assert_snapshot!(node.run(&[]), @r#"
    [TIME] waiting for etcd at https://localhost:2379, for at most 60 s
    [TIME] not yet: curl: (7) Failed to connect to localhost:2379/health
    [TIME] done: {"health":"true","reason":""}
    [TIME] waiting for an answer of the API server, for at most 60 s
    [TIME] not yet: The connection to the server localhost:6443 was refused
    [TIME] done: it does
    [TIME] applying crds, for at most 60 s
    [TIME] in: crds/a.crd.yaml: a.crd.yaml serverside-applied
    [TIME] in: crds/b.crd.yaml: b.crd.yaml serverside-applied
    [TIME] done: all of crds are in
    [TIME] waiting for the CRDs, for at most 60 s
    [TIME] not yet: error: condition not met for customresourcedefinitions/a
    [TIME] done: all are established
    [TIME] waiting for the API server at https://localhost:6443 to be ready, for at most 60 s
    [TIME] not yet: curl: (7) Failed to connect to localhost:6443/readyz
    [TIME] done: ok
    [TIME] applying manifests, for at most 60 s
    [TIME] in: manifests/00-namespaces.yaml: 00-namespaces.yaml serverside-applied
    [TIME] in: manifests/99_gate.yaml: 99_gate.yaml serverside-applied
    [TIME] in: manifests/cluster-dns.yml: cluster-dns.yml serverside-applied
    [TIME] in: manifests/hand-over-signer.yaml: hand-over-signer.yaml created
    [TIME] done: all of manifests are in
    [TIME] waiting for 3 masters to be Ready, for at most 60 s
    [TIME] not yet: 2 of 3 are Ready: master-0=True; master-1=True; master-2=False
    [TIME] done: 3 of 3 are Ready: master-0=True; master-1=True; master-2=True
    [TIME] looking for statuses that are lost, for at most 60 s
    [TIME] done: it has one already
    [TIME] waiting for etcd on the masters, for at most 60 s
    [TIME] done: EtcdRunningInCluster=True: enough members found
    [TIME] waiting for API servers on the masters, for at most 60 s
    [TIME] done: 2 of 2 are there: master-0=3; master-1=4; master-2=0
    [TIME] taking the overrides off the ClusterVersion, for at most 60 s
    [TIME] done: clusterversion.config.openshift.io/version patched
    [TIME] saying that bootstrap is complete, for at most 60 s
    [TIME] done: configmap/bootstrap created
    [TIME] done
    [exit 0]
    "#);
    let calls = node.calls();
    let count = |what: &str| calls.iter().filter(|call| call.contains(what)).count();
    let counts = ["/health", "=/version", "/readyz", " wait ", "get nodes"].map(count);
    assert_eq!(counts, [3, 4, 2, 2, 3]);
}

#[test]
fn a_status_that_is_refused_is_fatal() {
    let node = Node::new();
    node.later("status-99_gate.yaml", NEVER);
    insta::assert_snapshot!(last(&node.run(&[("APPLY_LIMIT", "1")]), 3), @r#"
    [TIME] error: manifests/99_gate.yaml is not in; last seen: 99_gate.yaml serverside-applied; error: the server refuses 99_gate.yaml; unknown field "spec.wrong"
    [TIME] error: applying manifests: gave up after 1 s
    [exit 1]
    "#);
}

/// One API server is enough where there is one master.
#[test]
fn a_single_node_waits_for_one() {
    let node = Node::new();
    node.ws.without_workers(1);
    node.ws.build(&["script/bootkube"]);
    let script = node.ws.path_of("script/bootkube").join("bootkube.sh");
    let node = Node { script, ..node };
    node.later("masters-api", NEVER);
    let said = node.run(&[]);
    assert!(said.contains("1 of 1 are there: master-0=3"), "{said}");
    assert!(said.ends_with("[exit 0]\n"), "{said}");
}

/// Every wait ends, and says what it waited for and what it saw last.
#[test]
fn every_wait_has_a_limit() {
    let waits = [
        ("etcd", "ETCD_LIMIT"),
        ("api", "API_LIMIT"),
        ("crds", "CRDS_LIMIT"),
        ("ready", "API_LIMIT"),
        ("nodes", "MASTERS_LIMIT"),
        ("masters-etcd", "MASTERS_ETCD_LIMIT"),
        ("masters-api", "MASTERS_API_LIMIT"),
        ("overrides", "PIVOT_LIMIT"),
        ("complete", "PIVOT_LIMIT"),
    ];
    let reached = |what, limit| {
        let node = Node::new();
        node.later(what, NEVER);
        let said = last(&node.run(&[(limit, "1")]), 2);
        assert!(!node.at("assets/.bootkube.done").exists());
        said
    };
    // At the same time: they wait, and do nothing else.
    let said: String = std::thread::scope(|scope| {
        let started = waits.map(|(what, limit)| scope.spawn(move || reached(what, limit)));
        started.map(|one| one.join().unwrap()).concat()
    });
    insta::assert_snapshot!(said, @r#"
    [TIME] error: waiting for etcd at https://localhost:2379: gave up after 1 s; last seen: curl: (7) Failed to connect to localhost:2379/health
    [exit 1]
    [TIME] error: waiting for an answer of the API server: gave up after 1 s; last seen: The connection to the server localhost:6443 was refused
    [exit 1]
    [TIME] error: waiting for the CRDs: gave up after 1 s; last seen: error: condition not met for customresourcedefinitions/a
    [exit 1]
    [TIME] error: waiting for the API server at https://localhost:6443 to be ready: gave up after 1 s; last seen: curl: (7) Failed to connect to localhost:6443/readyz
    [exit 1]
    [TIME] error: waiting for 3 masters to be Ready: gave up after 1 s; last seen: 2 of 3 are Ready: master-0=True; master-1=True; master-2=False
    [exit 1]
    [TIME] error: waiting for etcd on the masters: gave up after 1 s; last seen: EtcdRunningInCluster=False: EtcdMembersNotReady; EnvVarControllerDegraded=True: no node has an address
    [exit 1]
    [TIME] error: waiting for API servers on the masters: gave up after 1 s; last seen: 1 of 2 are there: master-0=3; master-1=0; master-2=0; InstallerControllerDegraded=True: missing secret etcd-client
    [exit 1]
    [TIME] error: taking the overrides off the ClusterVersion: gave up after 1 s; last seen: error: the server refuses this; unknown field "spec.wrong"
    [exit 1]
    [TIME] error: saying that bootstrap is complete: gave up after 1 s; last seen: https://localhost:6443: error: the server refuses this; unknown field "spec.wrong"; https://api-int.ocp4.example.com:6443: error: the server refuses this; unknown field "spec.wrong"
    [exit 1]
    "#);
}

#[test]
fn what_cannot_be_applied_is_said_first() {
    let node = Node::new();
    node.write("assets/manifests/notes.txt", "");
    insta::assert_snapshot!(node.run(&[]), @"
    [TIME] error: [TEMP]/assets/manifests/notes.txt is neither .yaml, .yml nor .json
    [exit 1]
    ");
    assert_eq!(node.calls(), Vec::<String>::new());
    fs::remove_dir_all(node.at("assets/crds")).unwrap();
    insta::assert_snapshot!(node.run(&[]), @"
    [TIME] error: [TEMP]/assets/crds has nothing in it
    [exit 1]
    ");
}
