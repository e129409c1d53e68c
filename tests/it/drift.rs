//! `drift` against the stand-in API: nothing after a fresh boot, every single change found, and no secret shown.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use time::Duration;
use tinderbox::internals::hint::Problems;
use tinderbox::internals::pki::{Algorithm, Certificate, Form, Issuer, Name, PrivateKey, Request, issue};
use tinderbox::internals::secret::Seed;
use tinderbox::internals::yaml::{Source, go_documents};

use crate::api::{Api, Cluster, SERVER, Tls, secrets};
use crate::harness::Workspace;
use crate::harness::documents::{assert_document, json_of};

const DOMAIN: &str = "ocp4.example.com";
const DAEMON: &str = "machineconfiguration.openshift.io";
const NODES: [(&str, &str); 5] = [
    ("master-0", "master"),
    ("master-1", "master"),
    ("master-2", "master"),
    ("worker-0", "worker"),
    ("worker-1", "worker"),
];

/// A cluster that has just booted from a closure, with all that servers and operators add.
struct Booted {
    ws: Workspace,
    secrets: PathBuf,
    api: Api,
}

impl Booted {
    fn new() -> Self {
        let ws = Workspace::example().prebuilt();
        ws.build(&["cluster"]);
        let auditor =
            ["pki/kubelet-bootstrap-master-0", "key/kubelet-bootstrap-master-0", "key/kubernetes-ca"];
        let secrets = secrets(&ws, &[&SERVER[..], &auditor].concat());
        let api = Api::start(&Tls::api_server(&secrets));
        let booted = Self { ws, secrets, api };
        booted.boot();
        booted
    }

    /// Applies every object as bootkube.sh does, and lets operators do what they do at once.
    fn boot(&self) {
        let mut objects = Vec::new();
        for folder in ["crds", "manifests"] {
            let mut files: Vec<PathBuf> = fs::read_dir(self.ws.dir.join("result").join(folder))
                .unwrap()
                .map(|file| file.unwrap().path())
                .collect();
            files.sort();
            for file in files {
                let text = fs::read_to_string(&file).unwrap();
                let mut problems = Problems::default();
                let found = go_documents(Source { name: "", text: &text }, &mut problems);
                assert!(problems.0.is_empty(), "{file:?}");
                objects.extend(found.iter().map(json_of).filter(|object| object["kind"].is_string()));
            }
        }
        let configs = ["master", "worker"].map(|pool| {
            let path = self.ws.path_of(&format!("mco/{pool}")).join("machine-config.json");
            (pool, serde_json::from_str::<Value>(&fs::read_to_string(path).unwrap()).unwrap())
        });
        let names: BTreeMap<&str, Value> =
            configs.iter().map(|(pool, config)| (*pool, config["metadata"]["name"].clone())).collect();
        let lock = fs::read_to_string(self.ws.dir.join("cluster.lock")).unwrap();
        let image =
            lock.lines().find_map(|line| line.strip_prefix("image = ")).unwrap().trim_matches('"').to_owned();
        self.api.look(|cluster| {
            for mut object in objects {
                settle(&mut object, &image);
                cluster.put(object);
            }
            configs.into_iter().for_each(|(_, config)| cluster.put(config));
            for (node, role) in NODES {
                cluster.put(node_of(node, role, &names[role]));
            }
        });
    }

    fn at(&self) -> String {
        format!("127.0.0.1:{}", self.api.port())
    }

    fn drift(&self, more: &[&str]) -> (i32, String) {
        let at = self.at();
        let output = self.ws.output(&[&["drift", "--server", &at], more].concat());
        let text = [output.stdout, output.stderr].concat();
        (output.status.code().unwrap(), String::from_utf8(text).unwrap().replace(&at, "[API]"))
    }

    fn document(&self) -> Value {
        let output = self.ws.output(&["drift", "--json", "--server", &self.at()]);
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
    }

    /// A certificate for a signer, valid between days from the authority's first; of this cluster's authority, or of its own.
    fn certificate(&self, name: &str, from: i64, to: i64, ours: bool) -> (String, String) {
        let read = |file: &str| fs::read_to_string(self.secrets.join(file)).unwrap();
        let ca = Certificate::from_pem(&read("kubernetes-ca.crt")).unwrap();
        let ca_key = PrivateKey::from_pem(&read("kubernetes-ca.key")).unwrap();
        let seed = Seed::new(zeroize::Zeroizing::new([9; 32]));
        let key = PrivateKey::generate(&seed, "test", name, 1, Algorithm::EcdsaP256);
        let day = |days: i64| ca.not_before() + Duration::days(days);
        let request = Request {
            subject: Name::common(name),
            not_before: day(from),
            not_after: day(to),
            authority: None,
            key_usages: Vec::new(),
            server: false,
            client: true,
            dns: Vec::new(),
            ips: Vec::new(),
            key: &key,
        };
        let issuer = ours.then_some(Issuer { certificate: &ca, key: &ca_key });
        let certificate = issue(&seed, "test", name, 1, &request, issuer).unwrap();
        (certificate.to_pem(), key.to_pem(Form::Pkcs8).to_string())
    }
}

/// What servers, operators and bootkube.sh make of an object right after the boot.
fn settle(object: &mut Value, image: &str) {
    if let Some(Value::Object(texts)) = object.as_object_mut().unwrap().remove("stringData") {
        for (key, text) in texts {
            object["data"][key] = json!(STANDARD.encode(text.as_str().unwrap()));
        }
    }
    object["metadata"]["managedFields"] = json!([{"manager": "kubectl"}]);
    let name = object["metadata"]["name"].clone();
    match object["kind"].as_str().unwrap() {
        "Namespace" => {
            object["metadata"]["labels"]["kubernetes.io/metadata.name"] = name;
            object["metadata"]["annotations"]["openshift.io/sa.scc.mcs"] = json!("s0:c1,c0");
            object["spec"] = json!({"finalizers": ["kubernetes"]});
            object["status"] = json!({"phase": "Active"});
        }
        "CustomResourceDefinition" => {
            object["spec"]["conversion"] = json!({"strategy": "None"});
            object["status"] =
                json!({"conditions": [{"type": "Established", "status": "True"}], "storedVersions": ["v1"]});
        }
        "ClusterVersion" => {
            object["spec"].as_object_mut().unwrap().remove("overrides");
            object["status"] =
                json!({"history": [{"state": "Completed", "version": "4.18.0-demo", "image": image}]});
        }
        "Scheduler" => drop(object["spec"].as_object_mut().unwrap().remove("policy")),
        "Secret" if object["type"].is_null() => object["type"] = json!("Opaque"),
        "Network" => object["spec"]["externalIP"] = json!({"policy": {}}),
        _ => {}
    }
}

fn node_of(node: &str, role: &str, config: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Node",
        "metadata": {"name": format!("{node}.{DOMAIN}"),
            "labels": {format!("node-role.kubernetes.io/{role}"): "", "kubernetes.io/os": "linux"},
            "annotations": {format!("{DAEMON}/currentConfig"): config, format!("{DAEMON}/desiredConfig"): config,
                format!("{DAEMON}/state"): "Done", format!("{DAEMON}/reason"): ""}},
        "spec": {}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}})
}

/// Changes an object where it is.
fn edit(cluster: &mut Cluster, path: &str, change: impl FnOnce(&mut Value)) {
    let mut object = cluster.get(path).unwrap_or_else(|| panic!("{path}")).clone();
    change(&mut object);
    cluster.put(object);
}

fn config(plural: &str) -> String {
    format!(
        "/apis/config.openshift.io/v1/{plural}/{}",
        if plural == "clusterversions" { "version" } else { "cluster" }
    )
}

fn in_namespace(namespace: &str, kind: &str, name: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/{kind}/{name}")
}

fn node_path(node: &str) -> String {
    format!("/api/v1/nodes/{node}.{DOMAIN}")
}

const SCC: &str = "/apis/security.openshift.io/v1/securitycontextconstraints";
const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";
const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const SIGNERS: &str = "openshift-kube-apiserver-operator";

#[test]
fn a_fresh_cluster_has_not_drifted() {
    let booted = Booted::new();
    let (code, text) = booted.drift(&[]);
    assert_eq!(code, 0, "{text}");
    assert!(
        text.starts_with("no drift: ")
            && text.contains(" objects and 5 nodes compared, 1 expected difference"),
        "{text}"
    );
    let (_, expected) = booted.drift(&["--expected"]);
    assert!(expected.contains("ClusterVersion.config.openshift.io version spec.overrides"), "{expected}");
    assert!(expected.contains("bootkube.sh: overrides keep the CVO"), "{expected}");
    let document = booted.document();
    assert_document(&booted.ws, "drift", &document);
    assert_eq!(document["diff"]["artifacts"], json!([]));
    // Read-only: nothing but questions was asked.
    assert!(booted.api.seen().iter().all(|seen| seen.request.starts_with("GET ")), "{:?}", booted.api.seen());
    // A page and Markdown have the same.
    let (code, page) = booted.drift(&["--format", "html"]);
    assert!(code == 0 && page.contains("Expected differences") && page.contains("<title>"), "{code}");
    let (_, markdown) = booted.drift(&["--format", "markdown"]);
    assert!(markdown.contains("### Expected differences"), "{markdown}");
}

/// What somebody does to a cluster.
type ChangeOf = dyn Fn(&Booted, &mut Cluster);

/// A change, and where `drift` must report it.
struct Single {
    name: &'static str,
    change: Box<ChangeOf>,
    artifact: &'static str,
    /// What the text says of it.
    says: &'static str,
}

fn single(
    name: &'static str,
    artifact: &'static str,
    says: &'static str,
    change: impl Fn(&Booted, &mut Cluster) + 'static,
) -> Single {
    Single { name, change: Box::new(change), artifact, says }
}

/// Replaces a value at a JSON pointer of an object; null takes it away.
fn set(path: String, pointer: &'static str, value: Value) -> impl Fn(&Booted, &mut Cluster) + 'static {
    move |_, cluster| {
        edit(cluster, &path, |object| {
            let (parent, key) = pointer.rsplit_once('/').unwrap();
            let parent = object.pointer_mut(parent).unwrap_or_else(|| panic!("{pointer}"));
            match (parent, &value) {
                (Value::Object(map), Value::Null) => {
                    drop(map.remove(&key.replace("~1", "/")).unwrap_or_else(|| panic!("{pointer}")))
                }
                (Value::Object(map), value) => drop(map.insert(key.replace("~1", "/"), value.clone())),
                (Value::Array(items), value) if key == "-" => items.push(value.clone()),
                (parent, value) => *parent.get_mut(key.parse::<usize>().unwrap()).unwrap() = value.clone(),
            }
        });
    }
}

fn remove(path: String) -> impl Fn(&Booted, &mut Cluster) + 'static {
    move |_, cluster| cluster.remove(&path)
}

fn objects() -> Vec<Single> {
    vec![
        single(
            "the base domain",
            "manifests/cluster-dns-02-config.yml",
            "baseDomain",
            set(config("dnses"), "/spec/baseDomain", json!("evil.example.com")),
        ),
        single(
            "the internal API's name",
            "manifests/cluster-infrastructure-02-config.yml",
            "status.apiServerInternalURI",
            set(config("infrastructures"), "/status/apiServerInternalURI", json!("https://other:6443")),
        ),
        single(
            "the topology",
            "manifests/cluster-infrastructure-02-config.yml",
            "HighlyAvailable → SingleReplica",
            set(config("infrastructures"), "/status/controlPlaneTopology", json!("SingleReplica")),
        ),
        single(
            "no Infrastructure",
            "manifests/cluster-infrastructure-02-config.yml",
            "Infrastructure cluster",
            remove(config("infrastructures")),
        ),
        single(
            "the service network",
            "manifests/cluster-network-02-config.yml",
            "serviceNetwork",
            set(config("networks"), "/spec/serviceNetwork/0", json!("172.31.0.0/16")),
        ),
        single(
            "the pod network",
            "manifests/cluster-network-03-config.yml",
            "hostPrefix",
            set(
                "/apis/operator.openshift.io/v1/networks/cluster".into(),
                "/spec/clusterNetwork/0/hostPrefix",
                json!(24),
            ),
        ),
        single(
            "the network's log level",
            "manifests/cluster-network-03-config.yml",
            "Normal → TraceAll",
            set(
                "/apis/operator.openshift.io/v1/networks/cluster".into(),
                "/spec/logLevel",
                json!("TraceAll"),
            ),
        ),
        single(
            "the apps domain",
            "manifests/cluster-ingress-02-config.yml",
            "spec.domain",
            set(config("ingresses"), "/spec/domain", json!("apps.evil.example.com")),
        ),
        single(
            "schedulable masters",
            "manifests/cluster-scheduler-02-config.yml",
            "false → true",
            set(config("schedulers"), "/spec/mastersSchedulable", json!(true)),
        ),
        single(
            "the channel",
            "manifests/cvo-overrides.yaml",
            "stable-4.18 → candidate-4.19",
            set(config("clusterversions"), "/spec/channel", json!("candidate-4.19")),
        ),
        single(
            "the cluster's id",
            "manifests/cvo-overrides.yaml",
            "clusterID",
            set(config("clusterversions"), "/spec/clusterID", json!("00000000-0000-4000-8000-000000000000")),
        ),
        single(
            "an override",
            "manifests/cvo-overrides.yaml",
            "overrides",
            set(
                config("clusterversions"),
                "/spec/overrides",
                json!([{"group": "apps", "kind": "Deployment", "name": "etcd-operator", "namespace": "openshift-etcd-operator", "unmanaged": true}]),
            ),
        ),
        single("a feature gate", "manifests/99_feature-gate.yaml", "UserNamespacesSupport", |_, cluster| {
            edit(cluster, &config("featuregates"), |gate| {
                let gates = &mut gate["status"]["featureGates"][0];
                gates["disabled"]
                    .as_array_mut()
                    .unwrap()
                    .retain(|one| one["name"] != "UserNamespacesSupport");
                gates["enabled"].as_array_mut().unwrap().push(json!({"name": "UserNamespacesSupport"}));
            });
        }),
        single(
            "no namespace",
            "manifests/00-namespaces.yaml",
            "Namespace openshift-infra",
            remove("/api/v1/namespaces/openshift-infra".into()),
        ),
        single(
            "a namespace's annotation",
            "manifests/00-namespaces.yaml",
            "management → none",
            set(
                "/api/v1/namespaces/openshift-config".into(),
                "/metadata/annotations/workload.openshift.io~1allowed",
                json!("none"),
            ),
        ),
        single(
            "privileged pods for all",
            "manifests/0000_20_kube-apiserver-operator_00_scc-restricted-v2.yaml",
            "allowPrivilegedContainer",
            set(format!("{SCC}/restricted-v2"), "/allowPrivilegedContainer", json!(true)),
        ),
        single(
            "a group that may run as anybody",
            "manifests/0000_20_kube-apiserver-operator_00_scc-anyuid.yaml",
            "system:authenticated",
            set(format!("{SCC}/anyuid"), "/groups/-", json!("system:authenticated")),
        ),
        single(
            "a privileged user",
            "manifests/0000_20_kube-apiserver-operator_00_scc-privileged.yaml",
            "system:serviceaccount:default:default",
            set(format!("{SCC}/privileged"), "/users/-", json!("system:serviceaccount:default:default")),
        ),
        single(
            "no constraint",
            "manifests/0000_20_kube-apiserver-operator_00_scc-nonroot.yaml",
            "SecurityContextConstraints nonroot",
            remove(format!("{SCC}/nonroot")),
        ),
        single(
            "a rule of a role",
            "manifests/0000_20_kube-apiserver-operator_00_cr-scc-anyuid.yaml",
            "rules",
            set(
                format!("{RBAC}/clusterroles/system:openshift:scc:anyuid"),
                "/rules/-",
                json!({"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}),
            ),
        ),
        single(
            "a verb of a role",
            "manifests/0000_20_kube-apiserver-operator_00_cr-scc-anyuid.yaml",
            "escalate",
            set(
                format!("{RBAC}/clusterroles/system:openshift:scc:anyuid"),
                "/rules/0/verbs/-",
                json!("escalate"),
            ),
        ),
        single(
            "a subject of a binding",
            "manifests/01-rbac.yaml",
            "subjects",
            set(
                format!("{RBAC}/clusterrolebindings/tinderbox-kubelet-api-admin"),
                "/subjects/-",
                json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "system:unauthenticated"}),
            ),
        ),
        single(
            "no binding",
            "manifests/01-rbac.yaml",
            "ClusterRoleBinding tinderbox-node-bootstrapper",
            remove(format!("{RBAC}/clusterrolebindings/tinderbox-node-bootstrapper")),
        ),
        single(
            "the install-config",
            "manifests/cluster-config.yaml",
            "cluster-config-v1",
            set(
                in_namespace("kube-system", "configmaps", "cluster-config-v1"),
                "/data/install-config",
                json!("baseDomain: evil.example.com\n"),
            ),
        ),
        single(
            "a key in a ConfigMap",
            "manifests/hand-over-root-ca.yaml",
            "more",
            set(in_namespace("kube-system", "configmaps", "root-ca"), "/data/more", json!("more")),
        ),
        single(
            "a field of a type",
            "crds/0000_10_config-operator_01_dnses.crd.yaml",
            "dnses.config.openshift.io",
            |_, cluster| {
                edit(cluster, &format!("{CRDS}/dnses.config.openshift.io"), |crd| {
                    let spec = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties";
                    crd.pointer_mut(spec).unwrap().as_object_mut().unwrap().remove("baseDomain").unwrap();
                });
            },
        ),
    ]
}

fn object_changes() {
    let booted = Booted::new();
    found_one_by_one(&booted, &objects());
}

/// Makes each change alone, asks, and takes it back.
fn found_one_by_one(booted: &Booted, all: &[Single]) {
    for Single { name, change, artifact, says } in all {
        let before: BTreeMap<String, Value> = booted.api.look(|cluster| {
            let paths: Vec<String> = cluster.paths().map(str::to_owned).collect();
            let objects =
                paths.into_iter().map(|path| (path.clone(), cluster.get(&path).unwrap().clone())).collect();
            change(booted, cluster);
            objects
        });
        let (code, text) = booted.drift(&["--no-pager"]);
        assert_eq!(code, 1, "{name}: {text}");
        assert!(text.lines().any(|line| line.get(2..) == Some(artifact)), "{name}: {text}");
        assert!(text.contains(says), "{name}: {text}");
        assert!(text.contains("drift in 1 artifact: "), "{name}: one change, one artifact: {text}");
        booted.api.look(|cluster| {
            let after: Vec<String> = cluster.paths().map(str::to_owned).collect();
            after.iter().filter(|path| !before.contains_key(*path)).for_each(|path| cluster.remove(path));
            for (path, object) in before {
                if cluster.get(&path) != Some(&object) {
                    cluster.put(object);
                }
            }
        });
    }
}

fn certificate_changes() {
    let booted = Booted::new();
    let secret = |namespace: &str, name: &str| in_namespace(namespace, "secrets", name);
    let signer = || secret(SIGNERS, "loadbalancer-serving-signer");
    let put = |path: String, (certificate, key): (String, String)| {
        move |_: &Booted, cluster: &mut Cluster| {
            edit(cluster, &path, |object| {
                object["data"]["tls.crt"] = json!(STANDARD.encode(&certificate));
                object["data"]["tls.key"] = json!(STANDARD.encode(&key));
            });
        }
    };
    let (foreign, _) = booted.certificate("foreign", 0, 400, false);
    let older = booted.certificate("older", -20, 400, false);
    let (newer, _) = booted.certificate("newer", 1, 400, false);
    let (_, other_key) = booted.certificate("other", 1, 400, false);
    let expired = booted.certificate("expired", -20, -10, false);
    let bundle = in_namespace(SIGNERS, "configmaps", "loadbalancer-serving-ca");
    let (extended, emptied) = (bundle.clone(), bundle);
    let with_foreign = foreign.clone();
    let all =
        [
            single(
                "an older signer",
                "manifests/hand-over-loadbalancer-serving-signer.yaml",
                "loadbalancer-serving-signer",
                put(signer(), older),
            ),
            single(
                "a signer with another key",
                "manifests/hand-over-loadbalancer-serving-signer.yaml",
                "loadbalancer-serving-signer",
                put(signer(), (newer, other_key)),
            ),
            single(
                "an expired server certificate",
                "manifests/hand-over-machine-config-server-tls.yaml",
                "expired",
                put(secret("openshift-machine-config-operator", "machine-config-server-tls"), expired),
            ),
            single(
                "a foreign authority in a bundle",
                "manifests/hand-over-loadbalancer-serving-ca.yaml",
                "foreign",
                move |_, cluster| {
                    edit(cluster, &extended, |map| {
                        let pem = format!("{}{with_foreign}", map["data"]["ca-bundle.crt"].as_str().unwrap());
                        map["data"]["ca-bundle.crt"] = json!(pem);
                    });
                },
            ),
            single(
                "a bundle without ours",
                "manifests/hand-over-loadbalancer-serving-ca.yaml",
                "foreign",
                move |_, cluster| {
                    edit(cluster, &emptied, |map| map["data"]["ca-bundle.crt"] = json!(foreign));
                },
            ),
            single(
                "the password of kubeadmin",
                "manifests/99_kubeadmin-password-secret.yaml",
                "kubeadmin",
                set(
                    secret("kube-system", "kubeadmin"),
                    "/data/kubeadmin",
                    json!(STANDARD.encode("hunter2hunter2hunter2")),
                ),
            ),
            single(
                "the pull secret",
                "manifests/openshift-config-secret-pull-secret.yaml",
                "pull-secret",
                set(
                    secret("openshift-config", "pull-secret"),
                    "/data/.dockerconfigjson",
                    json!(STANDARD.encode(
                        r#"{"auths":{"evil.example.com":{"auth":"aHVudGVyMjpodW50ZXIyaHVudGVyMg=="}}}"#
                    )),
                ),
            ),
            single(
                "a service-account key",
                "manifests/hand-over-next-bound-service-account-signing-key.yaml",
                "next-bound-service-account-signing-key",
                set(
                    secret(SIGNERS, "next-bound-service-account-signing-key"),
                    "/data/service-account.key",
                    json!(STANDARD.encode("hunter2hunter2hunter2")),
                ),
            ),
            single(
                "no signer",
                "manifests/hand-over-csr-signer-signer.yaml",
                "Secret openshift-kube-controller-manager-operator/csr-signer-signer",
                remove(secret("openshift-kube-controller-manager-operator", "csr-signer-signer")),
            ),
        ];
    found_one_by_one(&booted, &all);
    // All of them at once: nothing secret, in no format.
    booted.api.look(|cluster| {
        all.iter().filter(|one| one.name != "no signer").for_each(|one| (one.change)(&booted, cluster))
    });
    for format in ["text", "json", "markdown", "html"] {
        let (code, text) = booted.drift(&["--no-pager", "--expected", "--format", format]);
        assert_eq!(code, 1, "{format}");
        for secret in ["hunter2", "aHVudGVy", "PRIVATE KEY", "MIGHAgEA"] {
            assert!(!text.contains(secret), "{format} shows {secret}");
        }
    }
}

fn node_and_release_changes() {
    let booted = Booted::new();
    let names: BTreeMap<&str, String> = ["master", "worker"]
        .map(|pool| {
            (
                pool,
                fs::read_to_string(booted.ws.path_of(&format!("mco/{pool}")).join("name"))
                    .unwrap()
                    .trim()
                    .to_owned(),
            )
        })
        .into();
    let rendered = |pool: &str| format!("/apis/{DAEMON}/v1/machineconfigs/{}", names[pool]);
    let (worker, other, gone) = (rendered("worker"), rendered("worker"), rendered("master"));
    let (gained, booted_with) = (rendered("worker"), rendered("worker"));
    let annotation = |name: &str| -> &'static str {
        Box::leak(format!("/metadata/annotations/{DAEMON}~1{name}").into_boxed_str())
    };
    let at = node_path;
    let all = [
        single("a missing node", "node/worker-1", "worker-1", remove(at("worker-1"))),
        single(
            "a node that is not ready",
            "node/worker-1",
            "ready: true → false",
            set(at("worker-1"), "/status/conditions/0/status", json!("False")),
        ),
        single(
            "a cordoned node",
            "node/master-0",
            "schedulable: true → false",
            set(at("master-0"), "/spec/unschedulable", json!(true)),
        ),
        single(
            "a degraded node",
            "node/master-1",
            "state: Done → Degraded",
            set(at("master-1"), annotation("state"), json!("Degraded")),
        ),
        single(
            "a node on its way",
            "node/master-2",
            "desiredConfig",
            set(
                at("master-2"),
                annotation("desiredConfig"),
                json!("rendered-master-00000000000000000000000000000000"),
            ),
        ),
        single(
            "a node without its role",
            "node/worker-0",
            "role",
            set(at("worker-0"), "/metadata/labels/node-role.kubernetes.io~1worker", Value::Null),
        ),
        single("a foreign node", "node/stranger.example.com", "stranger", |_, cluster| {
            let mut node = node_of("x", "worker", &json!("rendered-worker-1"));
            node["metadata"]["name"] = json!("stranger.example.com");
            cluster.put(node);
        }),
        single("a file of the workers", "mco/worker", "/etc/sysctl.d/arp.conf", move |_, cluster| {
            edit(cluster, &worker, |config| {
                let files = config.pointer_mut("/spec/config/storage/files").unwrap().as_array_mut().unwrap();
                let file = files.iter_mut().find(|file| file["path"] == "/etc/sysctl.d/arp.conf").unwrap();
                file["contents"]["source"] = json!("data:,net.ipv4.ip_forward%3D1%0A");
            });
        }),
        single("a unit of the workers", "mco/worker", "kubelet.service", move |_, cluster| {
            edit(cluster, &other, |config| {
                let units = config.pointer_mut("/spec/config/systemd/units").unwrap().as_array_mut().unwrap();
                units.retain(|unit| unit["name"] != "kubelet.service");
            });
        }),
        // Beside what our config says: a config has one author.
        single("a unit that gained contents", "mco/worker", "changed by hand", move |_, cluster| {
            edit(cluster, &gained, |config| {
                let units = config.pointer_mut("/spec/config/systemd/units").unwrap().as_array_mut().unwrap();
                let unit = units.iter_mut().find(|unit| unit["contents"].is_null()).unwrap();
                unit["contents"] = json!("[Unit]\nDescription=changed by hand\n");
            });
        }),
        single("a kernel argument", "mco/worker", "mitigations=off", move |_, cluster| {
            edit(cluster, &booted_with, |config| {
                config["spec"]["kernelArguments"] = json!(["mitigations=off"])
            });
        }),
        single("no rendered config", "mco/master", "exists", remove(gone)),
        single(
            "another version",
            "release",
            "4.18.0-demo → 4.18.9",
            set(config("clusterversions"), "/status/history/0/version", json!("4.18.9")),
        ),
        single(
            "another image",
            "release",
            "image",
            set(config("clusterversions"), "/status/history/0/image", json!("demo.invalid/x@sha256:00")),
        ),
        single(
            "an update that fails",
            "release",
            "Completed → Partial",
            set(config("clusterversions"), "/status/history/0/state", json!("Partial")),
        ),
    ];
    found_one_by_one(&booted, &all);
}

#[test]
fn what_operators_do_is_expected_and_has_a_reason() {
    let booted = Booted::new();
    let name = format!("{SIGNERS}_loadbalancer-serving-signer@1");
    let (certificate, key) = booted.certificate(&name, 1, 400, false);
    booted.api.look(|cluster| {
        edit(cluster, &in_namespace(SIGNERS, "secrets", "loadbalancer-serving-signer"), |secret| {
            secret["data"]["tls.crt"] = json!(STANDARD.encode(&certificate));
            secret["data"]["tls.key"] = json!(STANDARD.encode(&key));
            secret["metadata"]["annotations"]["auth.openshift.io/certificate-not-before"] =
                json!("2030-01-01T00:00:00Z");
        });
        edit(cluster, &in_namespace(SIGNERS, "configmaps", "loadbalancer-serving-ca"), |bundle| {
            let pem = format!("{}{certificate}", bundle["data"]["ca-bundle.crt"].as_str().unwrap());
            bundle["data"]["ca-bundle.crt"] = json!(pem);
        });
        edit(cluster, &in_namespace("openshift-etcd", "configmaps", "etcd-endpoints"), |map| {
            map["data"] = json!({"0": "192.168.126.101", "1": "192.168.126.102", "2": "192.168.126.103"});
            map["metadata"]["annotations"] = json!({});
        });
    });
    let (code, text) = booted.drift(&["--expected"]);
    assert_eq!(code, 0, "{text}");
    for reason in [
        "the kube-apiserver operator: it makes a new signer after",
        "the kube-apiserver operator: bundles get the authorities of new signers",
        "the etcd operator: it lists the members",
    ] {
        assert!(text.contains(reason), "{reason}: {text}");
    }
    // An update is drift, but what it brings along is not told one by one.
    booted.api.look(|cluster| {
        edit(cluster, &config("clusterversions"), |version| {
            version["status"]["history"][0]["version"] = json!("4.19.1")
        });
        edit(cluster, &format!("{CRDS}/dnses.config.openshift.io"), |crd| {
            crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["description"] = json!("newer");
        });
    });
    let document = booted.document();
    let names: Vec<&Value> =
        document["diff"]["artifacts"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
    assert_eq!(names, ["release"], "{document:#}");
}

#[test]
fn what_may_not_be_read_is_listed_and_not_taken_for_equal() {
    let booted = Booted::new();
    let kubeconfig = booted.ws.dir.join("result/kubeconfigs/kubelet-bootstrap-master-0.kubeconfig");
    let kubeconfig = kubeconfig.to_str().unwrap();
    booted.api.allow("system:authenticated", "GET", "/api/v1/nodes");
    booted.api.allow("system:authenticated", "GET", "/apis/config.openshift.io/v1");
    let (code, text) = booted.drift(&["--kubeconfig", kubeconfig]);
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("not compared\n"), "{text}");
    let line = text.lines().find(|line| line.starts_with("  Secret (")).unwrap_or_else(|| panic!("{text}"));
    assert!(
        line.contains("kube-system/kubeadmin")
            && line.ends_with("the API forbids the kubeconfig's user to read it"),
        "{line}"
    );
    assert!(text.contains("  MachineConfig.machineconfiguration.openshift.io ("), "{text}");
    assert!(!text.contains("DNS.config.openshift.io (") && text.contains("no drift: "), "{text}");
}

#[test]
fn an_api_that_cannot_be_used_is_trouble() {
    let booted = Booted::new();
    booted.api.stop();
    let (code, text) = booted.drift(&[]);
    assert_eq!(code, 2, "{text}");
    assert!(text.starts_with("error: the API at `[API]` cannot be reached: "), "{text}");
    // A certificate of somebody else's.
    let others = Workspace::example().prebuilt();
    others.write_seed(&[8; 32]);
    fs::remove_file(others.dir.join("cluster.lock")).unwrap();
    others.build(&["cluster"]);
    let found = secrets(&others, &SERVER);
    let foreign = Api::start(&Tls::api_server(&found));
    let at = format!("127.0.0.1:{}", foreign.port());
    let output = booted.ws.output(&["drift", "--server", &at]);
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains("is not trusted"), "{text}");
}

/// Every change by itself, with a comparison of its own.
mod host {
    #[test]
    fn each_change_of_an_object_is_found() {
        super::object_changes();
    }

    #[test]
    fn each_change_of_a_certificate_is_found_and_no_secret_is_shown() {
        super::certificate_changes();
    }

    #[test]
    fn each_change_of_a_node_or_its_release_is_found() {
        super::node_and_release_changes();
    }
}
