//! A directory as openshift-install leaves it: written here in the installer's own layout, state file included.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

/// Secrets of the directory, which nothing may print.
pub(crate) const PASSWORD: &str = "hunter2-in-the-pull-secret";
pub(crate) const HASH: &str = "$2a$10$abcdefghijklmnopqrstuv";
pub(crate) const KEY: &str = "MIIEowIBAAKCAQEAverysecretkey";
pub(crate) const INFRA_ID: &str = "ocp4-x7k2p";

pub(crate) struct InstallDir {
    pub(crate) root: PathBuf,
}

/// The asset that has a file's own copy; none for those which only the collected asset has.
const OWN: &[(&str, &str)] = &[
    ("manifests/cluster-dns-02-config.yml", "*manifests.DNS"),
    ("manifests/cluster-infrastructure-02-config.yml", "*manifests.Infrastructure"),
    ("manifests/cluster-ingress-02-config.yml", "*manifests.Ingress"),
    ("manifests/cluster-network-02-config.yml", "*manifests.Networking"),
    ("manifests/cluster-proxy-01-config.yaml", "*manifests.Proxy"),
    ("manifests/cluster-scheduler-02-config.yml", "*manifests.Scheduler"),
    ("openshift/99_feature-gate.yaml", "*manifests.FeatureGate"),
    ("openshift/99_openshift-cluster-api_master-user-data-secret.yaml", "*machines.Master"),
    ("openshift/99_openshift-cluster-api_worker-user-data-secret.yaml", "*machines.Worker"),
    ("openshift/openshift-install-manifests.yaml", "*openshiftinstall.Config"),
];

impl InstallDir {
    /// After `openshift-install create manifests` of this version, with `platform: none`.
    pub(crate) fn write(root: &Path, version: &str) -> Self {
        let dir = Self { root: root.to_owned() };
        let manifests = manifests(version);
        for (path, text) in &manifests {
            dir.put(path, text);
        }
        dir.write_state(&manifests, None);
        dir
    }

    pub(crate) fn put(&self, path: &str, text: &str) {
        let full = self.root.join(path);
        fs::create_dir_all(full.parent().unwrap()).unwrap();
        fs::write(full, text).unwrap();
    }

    pub(crate) fn edit(&self, path: &str, from: &str, to: &str) {
        let text = fs::read_to_string(self.root.join(path)).unwrap();
        assert!(text.contains(from), "{path} has no {from}");
        self.put(path, &text.replace(from, to));
    }

    /// The same after `create ignition-configs`, which moves the manifests into bootstrap.ign and reads them back.
    pub(crate) fn consume(&self, version: &str) {
        let mut found = BTreeMap::new();
        for folder in ["manifests", "openshift"] {
            for entry in fs::read_dir(self.root.join(folder)).unwrap() {
                let path = entry.unwrap().path();
                let name = format!("{folder}/{}", path.file_name().unwrap().to_str().unwrap());
                found.insert(name, fs::read_to_string(path).unwrap());
            }
            fs::remove_dir_all(self.root.join(folder)).unwrap();
        }
        let file = |(path, text): (&String, &String)| {
            let source = format!("data:text/plain;charset=utf-8;base64,{}", STANDARD.encode(text));
            json!({"path": format!("/opt/openshift/{path}"), "mode": 0o600, "overwrite": true, "contents": {"source": source}})
        };
        let files: Vec<Value> = found.iter().map(file).collect();
        let config = json!({"ignition": {"version": "3.2.0"}, "storage": {"files": files}}).to_string();
        self.put("bootstrap.ign", &config);
        self.put("master.ign", r#"{"ignition":{"version":"3.2.0"}}"#);
        self.put("auth/kubeadmin-password", "aaaaa-bbbbb-ccccc-ddddd");
        self.put("auth/kubeconfig", "clusters: []\n");
        self.put("metadata.json", &json!({"infraID": INFRA_ID}).to_string());
        self.write_state(&manifests(version), Some((&found, &config)));
    }

    /// `.openshift_install_state.json`; after `create ignition-configs` with what was read back.
    fn write_state(
        &self,
        generated: &BTreeMap<String, String>,
        read_back: Option<(&BTreeMap<String, String>, &str)>,
    ) {
        let data = |text: &str| STANDARD.encode(text);
        let file = |path: &str, text: &str| json!({"Filename": path, "Data": data(text)});
        let mut assets = Map::new();
        for (path, asset) in OWN {
            assets.insert((*asset).to_owned(), json!({"FileList": [file(path, &generated[*path])]}));
        }
        let collected = read_back.map_or(generated, |(found, _)| found);
        for (asset, folder) in
            [("*manifests.Manifests", "manifests/"), ("*manifests.Openshift", "openshift/")]
        {
            let list: Vec<Value> = collected
                .iter()
                .filter(|(path, _)| path.starts_with(folder))
                .map(|(path, text)| file(path, text))
                .collect();
            assets.insert(asset.to_owned(), json!({"FileList": list}));
        }
        let config = json!({"config": {}, "file": file("install-config.yaml", &install_config())});
        assets.insert("*installconfig.InstallConfig".into(), config);
        let id = json!({"UUID": "11111111-2222-4333-8444-555555555555", "InfraID": INFRA_ID});
        assets.insert("*installconfig.ClusterID".into(), id);
        assets.insert("*manifests.ImageDigestMirrorSet".into(), json!({"File": null}));
        assets.insert("*rhcos.Release".into(), json!(""));
        assets.insert(
            "*tls.RootCA".into(),
            json!({"KeyRaw": data(KEY), "FileList": [file("tls/root-ca.key", KEY)]}),
        );
        if let Some((_, bootstrap)) = read_back {
            assets.insert(
                "*bootstrap.Bootstrap".into(),
                json!({"Config": {}, "File": file("bootstrap.ign", bootstrap)}),
            );
            let master = r#"{"ignition":{"version":"3.2.0"}}"#;
            assets.insert("*machine.Master".into(), json!({"File": file("master.ign", master)}));
            assets
                .insert("*releaseimage.Image".into(), json!({"PullSpec": "demo:4.18", "Repository": "demo"}));
        }
        let text = serde_json::to_string_pretty(&Value::Object(assets)).unwrap();
        self.put(".openshift_install_state.json", &text);
    }
}

/// As the installer writes it back: with defaults, and with fields of its encoder.
fn install_config() -> String {
    let auth = STANDARD.encode(format!("demo:{PASSWORD}"));
    format!(
        "additionalTrustBundlePolicy: Proxyonly\napiVersion: v1\nbaseDomain: example.com\ncompute:\n- architecture: amd64\n  \
         hyperthreading: Enabled\n  name: worker\n  platform: {{}}\n  replicas: 2\ncontrolPlane:\n  architecture: amd64\n  \
         hyperthreading: Enabled\n  name: master\n  platform: {{}}\n  replicas: 3\nmetadata:\n  creationTimestamp: null\n  \
         name: ocp4\nnetworking:\n  clusterNetwork:\n  - cidr: 10.128.0.0/14\n    hostPrefix: 23\n  machineNetwork:\n  - \
         cidr: 192.168.126.0/24\n  networkType: OVNKubernetes\n  serviceNetwork:\n  - 172.30.0.0/16\nplatform:\n  none: \
         {{}}\npublish: External\npullSecret: '{{\"auths\":{{\"example.invalid\":{{\"auth\":\"{auth}\"}}}}}}'\n"
    )
}

fn manifests(version: &str) -> BTreeMap<String, String> {
    let config = |kind: &str, rest: &str| {
        format!(
            "apiVersion: config.openshift.io/v1\nkind: {kind}\nmetadata:\n  creationTimestamp: null\n  name: cluster\n{rest}"
        )
    };
    let core = |kind: &str, namespace: &str, name: &str, data: &[(&str, String)]| {
        let data: String = data.iter().map(|(key, value)| format!("  {key}: {value}\n")).collect();
        format!(
            "apiVersion: v1\nkind: {kind}\nmetadata:\n  name: {name}\n  namespace: {namespace}\ndata:\n{data}"
        )
    };
    let base64 = |text: &str| STANDARD.encode(text);
    let auth = STANDARD.encode(format!("demo:{PASSWORD}"));
    let pull_secret = format!("{{\"auths\":{{\"example.invalid\":{{\"auth\":\"{auth}\"}}}}}}");
    let minor = version.trim_start_matches('v').splitn(3, '.').take(2).collect::<Vec<_>>().join(".");
    let user_data = |role: &str| {
        core("Secret", "openshift-machine-api", &format!("{role}-user-data"), &[("userData", base64("{}"))])
    };
    let tls = core(
        "Secret",
        "openshift-machine-config-operator",
        "machine-config-server-tls",
        &[("tls.crt", base64("c")), ("tls.key", base64(KEY))],
    );
    let owner = "metadata:\n  annotations:\n    openshift.io/owning-component: Machine Config Operator\n";
    let tls = tls.replace("metadata:\n", owner) + "type: Opaque\n";
    let infrastructure = format!(
        "spec:\n  cloudConfig:\n    name: \"\"\n  platformSpec:\n    type: None\nstatus:\n  apiServerInternalURI: \
         https://api-int.ocp4.example.com:6443\n  apiServerURL: https://api.ocp4.example.com:6443\n  controlPlaneTopology: \
         HighlyAvailable\n  cpuPartitioning: None\n  etcdDiscoveryDomain: \"\"\n  infrastructureName: {INFRA_ID}\n  \
         infrastructureTopology: HighlyAvailable\n  platform: None\n  platformStatus:\n    type: None\n"
    );
    let files = [
        (
            "manifests/cluster-dns-02-config.yml",
            config(
                "DNS",
                "spec:\n  baseDomain: ocp4.example.com\n  platform:\n    aws: null\n    type: \"\"\nstatus: {}\n",
            ),
        ),
        ("manifests/cluster-infrastructure-02-config.yml", config("Infrastructure", &infrastructure)),
        (
            "manifests/cluster-ingress-02-config.yml",
            config(
                "Ingress",
                "spec:\n  domain: apps.ocp4.example.com\nstatus:\n  componentRoutes: null\n  defaultPlacement: Workers\n",
            ),
        ),
        (
            "manifests/cluster-network-02-config.yml",
            config(
                "Network",
                "spec:\n  clusterNetwork:\n  - cidr: 10.128.0.0/14\n    hostPrefix: 23\n  externalIP:\n    policy: {}\n  networkType: OVNKubernetes\n  serviceNetwork:\n  - 172.30.0.0/16\nstatus: {}\n",
            ),
        ),
        (
            "manifests/cluster-proxy-01-config.yaml",
            config("Proxy", "spec:\n  trustedCA:\n    name: \"\"\nstatus: {}\n"),
        ),
        (
            "manifests/cluster-scheduler-02-config.yml",
            config(
                "Scheduler",
                "spec:\n  mastersSchedulable: false\n  policy:\n    name: \"\"\nstatus: {}\n",
            ),
        ),
        (
            "manifests/cvo-overrides.yaml",
            format!(
                "apiVersion: config.openshift.io/v1\nkind: ClusterVersion\nmetadata:\n  namespace: openshift-cluster-version\n  name: version\nspec:\n  channel: stable-{minor}\n  clusterID: 11111111-2222-4333-8444-555555555555\n"
            ),
        ),
        (
            "manifests/kube-cloud-config.yaml",
            core("Secret", "kube-system", "kube-cloud-cfg", &[("config", "\"\"".into())]),
        ),
        (
            "manifests/kube-system-configmap-root-ca.yaml",
            core("ConfigMap", "kube-system", "root-ca", &[("ca.crt", "theirs".into())]),
        ),
        ("manifests/machine-config-server-tls-secret.yaml", tls),
        (
            "manifests/openshift-config-secret-pull-secret.yaml",
            core("Secret", "openshift-config", "pull-secret", &[(".dockerconfigjson", base64(&pull_secret))])
                + "type: kubernetes.io/dockerconfigjson\n",
        ),
        (
            "openshift/99_feature-gate.yaml",
            config("FeatureGate", "spec: {}\nstatus:\n  featureGates: null\n"),
        ),
        (
            "openshift/99_kubeadmin-password-secret.yaml",
            core("Secret", "kube-system", "kubeadmin", &[("kubeadmin", base64(HASH))]),
        ),
        ("openshift/99_openshift-cluster-api_master-user-data-secret.yaml", user_data("master")),
        ("openshift/99_openshift-cluster-api_worker-user-data-secret.yaml", user_data("worker")),
        (
            "openshift/openshift-install-manifests.yaml",
            core(
                "ConfigMap",
                "openshift-config",
                "openshift-install-manifests",
                &[("invoker", "user".into()), ("version", version.to_owned())],
            ),
        ),
    ];
    files.into_iter().map(|(path, text)| (path.to_owned(), text)).collect()
}
