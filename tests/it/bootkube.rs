//! bootkube.sh on a node that is played: an `oc` and a `curl` that write down what they are asked and answer from files.
//!
//! ```text
//! <temp>/bin/{oc,curl}     the players, first in PATH
//! <temp>/assets            /opt/openshift: crds/, manifests/
//! <temp>/fake/log          every call, one a line
//! <temp>/fake/<what>.at    at which look it is so; 1 unless given. <what>: etcd, api, crds, nodes, apply-FILE, status-FILE
//! <temp>/fake/live-FILE    the status that the API has of an object
//! ```

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::harness::{Workspace, left_out, list, set_mode};

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
  */readyz) look api && echo ok && exit ;;
esac
echo "curl: (7) Failed to connect to ${url#https://}" >&2
exit 7
"#;

const OC: &str = r#"
printf "%s\n" "oc $*" >>"$FAKE/log"
previous=
file=
for word; do
  [ "$previous" = --filename ] && file=$(basename "$word")
  previous=$word
done
case "$*" in
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
        let ws = Workspace::example();
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
        for limit in ["ETCD_LIMIT", "API_LIMIT", "CRDS_LIMIT", "APPLY_LIMIT", "MASTERS_LIMIT"] {
            command.env(limit, "60");
        }
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

/// The last lines of a session.
fn last(said: &str, count: usize) -> String {
    let lines: Vec<&str> = said.lines().collect();
    lines[lines.len().saturating_sub(count)..].iter().map(|line| format!("{line}\n")).collect()
}

#[test]
fn shellcheck_has_nothing_to_say() {
    let ws = Workspace::example();
    ws.build(&["script"]);
    let script = ws.path_of("script/bootkube").join("bootkube.sh");
    match Command::new("shellcheck")
        .args(["--enable=all", "--exclude=SC2250,SC2292,SC2310,SC2312"])
        .arg(script)
        .output()
    {
        Ok(output) => assert!(output.status.success(), "{}", ws.text(&output)),
        Err(error) => left_out("shellcheck", &format!("Debian's shellcheck: {error}")),
    }
}

/// The whole way, call by call: order, certificates, strict validation, and the status through its own door.
#[test]
fn all_goes_well() {
    let node = Node::new();
    insta::assert_snapshot!(node.run(&[]), @r#"
    [TIME] waiting for etcd at https://localhost:2379, for at most 60 s
    [TIME] done: {"health":"true","reason":""}
    [TIME] waiting for the API server at https://localhost:6443, for at most 60 s
    [TIME] done: ok
    [TIME] applying crds/a.crd.yaml, for at most 60 s
    [TIME] done: a.crd.yaml serverside-applied
    [TIME] applying crds/b.crd.yaml, for at most 60 s
    [TIME] done: b.crd.yaml serverside-applied
    [TIME] waiting for the CRDs, for at most 60 s
    [TIME] done: all are established
    [TIME] applying manifests/00-namespaces.yaml, for at most 60 s
    [TIME] done: 00-namespaces.yaml serverside-applied
    [TIME] applying manifests/99_gate.yaml, for at most 60 s
    [TIME] done: 99_gate.yaml serverside-applied
    [TIME] writing the status of manifests/99_gate.yaml, for at most 60 s
    [TIME] done
    [TIME] applying manifests/cluster-dns.yml, for at most 60 s
    [TIME] done: cluster-dns.yml serverside-applied
    [TIME] waiting for 3 masters to be Ready, for at most 60 s
    [TIME] done: 3 of 3 are Ready: master-0=True; master-1=True; master-2=True
    [TIME] done
    [exit 0]
    "#);
    insta::assert_snapshot!(node.calls().join("\n"), @r#"
    curl --fail --silent --show-error --noproxy * --max-time 10 --cacert /secrets/etcd-ca-bundle.crt --cert /secrets/etcd-client.crt --key /secrets/etcd-client.key https://localhost:2379/health
    curl --fail --silent --show-error --noproxy * --max-time 10 --cacert /secrets/kubernetes-ca-bundle.crt https://localhost:6443/readyz
    oc --request-timeout=30s apply --validate=strict --server-side --force-conflicts --field-manager=bootkube --filename [TEMP]/assets/crds/a.crd.yaml
    oc --request-timeout=30s apply --validate=strict --server-side --force-conflicts --field-manager=bootkube --filename [TEMP]/assets/crds/b.crd.yaml
    oc --request-timeout=30s wait --for=condition=Established --timeout=0 --filename [TEMP]/assets/crds
    oc --request-timeout=30s apply --validate=strict --server-side --force-conflicts --field-manager=bootkube --filename [TEMP]/assets/manifests/00-namespaces.yaml
    oc --request-timeout=30s apply --validate=strict --server-side --force-conflicts --field-manager=bootkube --filename [TEMP]/assets/manifests/99_gate.yaml
    oc --request-timeout=30s get --filename [TEMP]/assets/manifests/99_gate.yaml --output jsonpath={.status}
    oc --request-timeout=30s replace --subresource=status --validate=strict --filename [TEMP]/assets/manifests/99_gate.yaml
    oc --request-timeout=30s apply --validate=strict --server-side --force-conflicts --field-manager=bootkube --filename [TEMP]/assets/manifests/cluster-dns.yml
    oc --request-timeout=30s get nodes --selector node-role.kubernetes.io/master --output jsonpath={range .items[*]}{.metadata.name}={.status.conditions[?(@.type=="Ready")].status}{"\n"}{end}
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

/// Killed before the end and started again: all is applied again, and a status that is there is left alone.
#[test]
fn run_again_before_the_end() {
    let node = Node::new();
    node.later("nodes", NEVER);
    node.run(&[("MASTERS_LIMIT", "0")]);
    node.calls();
    node.later("nodes", "1");
    let said = node.run(&[]);
    let about: Vec<&str> = said.lines().skip_while(|line| !line.contains("the status of")).take(2).collect();
    insta::assert_snapshot!(about.join("\n"), @"
    [TIME] writing the status of manifests/99_gate.yaml, for at most 60 s
    [TIME] done: it has one already
    ");
    assert!(!node.calls().iter().any(|call| call.contains(" replace ")));
    assert!(node.at("assets/.bootkube.done").exists());
}

#[test]
fn a_slow_start_takes_longer() {
    let node = Node::new();
    node.later("etcd", "3");
    node.later("api", "4");
    node.later("crds", "2");
    node.later("nodes", "3");
    insta::assert_snapshot!(node.run(&[]), @r#"
    [TIME] waiting for etcd at https://localhost:2379, for at most 60 s
    [TIME] not yet: curl: (7) Failed to connect to localhost:2379/health
    [TIME] done: {"health":"true","reason":""}
    [TIME] waiting for the API server at https://localhost:6443, for at most 60 s
    [TIME] not yet: curl: (7) Failed to connect to localhost:6443/readyz
    [TIME] done: ok
    [TIME] applying crds/a.crd.yaml, for at most 60 s
    [TIME] done: a.crd.yaml serverside-applied
    [TIME] applying crds/b.crd.yaml, for at most 60 s
    [TIME] done: b.crd.yaml serverside-applied
    [TIME] waiting for the CRDs, for at most 60 s
    [TIME] not yet: error: condition not met for customresourcedefinitions/a
    [TIME] done: all are established
    [TIME] applying manifests/00-namespaces.yaml, for at most 60 s
    [TIME] done: 00-namespaces.yaml serverside-applied
    [TIME] applying manifests/99_gate.yaml, for at most 60 s
    [TIME] done: 99_gate.yaml serverside-applied
    [TIME] writing the status of manifests/99_gate.yaml, for at most 60 s
    [TIME] done
    [TIME] applying manifests/cluster-dns.yml, for at most 60 s
    [TIME] done: cluster-dns.yml serverside-applied
    [TIME] waiting for 3 masters to be Ready, for at most 60 s
    [TIME] not yet: 2 of 3 are Ready: master-0=True; master-1=True; master-2=False
    [TIME] done: 3 of 3 are Ready: master-0=True; master-1=True; master-2=True
    [TIME] done
    [exit 0]
    "#);
    let calls = node.calls();
    let count = |what: &str| calls.iter().filter(|call| call.contains(what)).count();
    assert_eq!([count("/health"), count("/readyz"), count(" wait "), count("get nodes")], [3, 4, 2, 3]);
}

#[test]
fn a_failure_that_heals_is_tried_again() {
    let node = Node::new();
    node.later("apply-cluster-dns.yml", "3");
    node.later("status-99_gate.yaml", "2");
    insta::assert_snapshot!(last(&node.run(&[]), 10), @r#"
    [TIME] writing the status of manifests/99_gate.yaml, for at most 60 s
    [TIME] not yet: error: the server refuses 99_gate.yaml; unknown field "spec.wrong"
    [TIME] done
    [TIME] applying manifests/cluster-dns.yml, for at most 60 s
    [TIME] not yet: error: the server refuses cluster-dns.yml; unknown field "spec.wrong"
    [TIME] done: cluster-dns.yml serverside-applied
    [TIME] waiting for 3 masters to be Ready, for at most 60 s
    [TIME] done: 3 of 3 are Ready: master-0=True; master-1=True; master-2=True
    [TIME] done
    [exit 0]
    "#);
}

/// The file and the last words of `oc` are what a person at the console needs.
#[test]
fn a_failure_that_stays_is_fatal() {
    let node = Node::new();
    node.later("apply-99_gate.yaml", NEVER);
    insta::assert_snapshot!(last(&node.run(&[("APPLY_LIMIT", "1")]), 5), @r#"
    [TIME] done: 00-namespaces.yaml serverside-applied
    [TIME] applying manifests/99_gate.yaml, for at most 1 s
    [TIME] not yet: error: the server refuses 99_gate.yaml; unknown field "spec.wrong"
    [TIME] error: applying manifests/99_gate.yaml: gave up after 1 s; last seen: error: the server refuses 99_gate.yaml; unknown field "spec.wrong"
    [exit 1]
    "#);
    assert!(!node.calls().iter().any(|call| call.contains("cluster-dns.yml")), "nothing after it is applied");
    assert!(!node.at("assets/.bootkube.done").exists());
}

#[test]
fn a_status_that_is_refused_is_fatal() {
    let node = Node::new();
    node.later("status-99_gate.yaml", NEVER);
    insta::assert_snapshot!(last(&node.run(&[("APPLY_LIMIT", "1")]), 2), @r#"
    [TIME] error: writing the status of manifests/99_gate.yaml: gave up after 1 s; last seen: error: the server refuses 99_gate.yaml; unknown field "spec.wrong"
    [exit 1]
    "#);
}

/// Every wait ends, and says what it waited for and what it saw last.
#[test]
fn every_wait_has_a_limit() {
    let mut said = String::new();
    for (what, limit) in
        [("etcd", "ETCD_LIMIT"), ("api", "API_LIMIT"), ("crds", "CRDS_LIMIT"), ("nodes", "MASTERS_LIMIT")]
    {
        let node = Node::new();
        node.later(what, NEVER);
        said.push_str(&last(&node.run(&[(limit, "1")]), 2));
        assert!(!node.at("assets/.bootkube.done").exists());
    }
    insta::assert_snapshot!(said, @"
    [TIME] error: waiting for etcd at https://localhost:2379: gave up after 1 s; last seen: curl: (7) Failed to connect to localhost:2379/health
    [exit 1]
    [TIME] error: waiting for the API server at https://localhost:6443: gave up after 1 s; last seen: curl: (7) Failed to connect to localhost:6443/readyz
    [exit 1]
    [TIME] error: waiting for the CRDs: gave up after 1 s; last seen: error: condition not met for customresourcedefinitions/a
    [exit 1]
    [TIME] error: waiting for 3 masters to be Ready: gave up after 1 s; last seen: 2 of 3 are Ready: master-0=True; master-1=True; master-2=False
    [exit 1]
    ");
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

/// The real artifacts: every manifest, in the order of the listing; and whose status is written.
#[test]
fn the_artifacts_of_the_example() {
    let node = Node::new();
    node.ws.build(&[]);
    let result = node.ws.dir.join("result");
    assert!(result.join("scripts/bootkube.sh").exists());
    fs::remove_dir_all(node.at("assets")).unwrap();
    for folder in ["crds", "manifests"] {
        fs::create_dir_all(node.at("assets").join(folder)).unwrap();
        for name in list(&result.join(folder)) {
            fs::copy(result.join(folder).join(&name), node.at("assets").join(folder).join(&name)).unwrap();
        }
    }
    let said = node.run(&[]);
    assert!(said.ends_with("[exit 0]\n"), "{said}");
    let calls = node.calls();
    let files = |verb: &str| -> Vec<&str> {
        let calls = calls.iter().filter(|call| call.contains(verb));
        calls.map(|call| call.rsplit('/').next().unwrap()).collect()
    };
    let listing = |folder: &str| list(&result.join(folder)).into_iter();
    assert_eq!(files(" apply "), listing("crds").chain(listing("manifests")).collect::<Vec<_>>());
    assert!(
        calls.iter().filter(|call| call.contains(" apply ")).all(|call| call.contains(" --validate=strict "))
    );
    insta::assert_snapshot!(files(" replace --subresource=status --validate=strict ").join("\n"), @"
    99_feature-gate.yaml
    cluster-infrastructure-02-config.yml
    cluster-ingress-02-config.yml
    cluster-network-02-config.yml
    ");
}
