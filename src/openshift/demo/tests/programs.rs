//! Calls the programs in this process. tests/it/mco.rs runs them as users do: in the sandbox.

#![expect(clippy::disallowed_methods, reason = "files are laid out here, and outputs read")]

use std::collections::BTreeMap;
use std::fs;

use super::super::programs::{Ended, rendered_name};
use super::*;

const INFRASTRUCTURE: &str = "apiVersion: config.openshift.io/v1
kind: Infrastructure
metadata: {name: cluster}
spec: {platformSpec: {type: None}}
status:
  apiServerInternalURI: https://api-int.ocp4.example.com:6443
  apiServerURL: https://api.ocp4.example.com:6443
  controlPlaneTopology: HighlyAvailable
  infrastructureTopology: HighlyAvailable
  infrastructureName: ocp4-abcde
  platformStatus: {type: None}
";
const NETWORK: &str = "apiVersion: config.openshift.io/v1
kind: Network
metadata: {name: cluster}
spec:
  clusterNetwork: [{cidr: 10.128.0.0/14, hostPrefix: 23}]
  networkType: OVNKubernetes
  serviceNetwork: [172.30.0.0/16]
";
const DNS: &str = "apiVersion: config.openshift.io/v1\nkind: DNS\nmetadata: {name: cluster}\nspec: {baseDomain: ocp4.example.com}\n";
const PROXY: &str =
    "apiVersion: config.openshift.io/v1\nkind: Proxy\nmetadata: {name: cluster}\nspec: {}\nstatus: {}\n";
/// `{"auths":{"demo.invalid":{"auth":"eDp5"}}}`
const PULL_SECRET: &str = "apiVersion: v1
kind: Secret
metadata: {name: pull-secret, namespace: openshift-config}
type: kubernetes.io/dockerconfigjson
data:
  .dockerconfigjson: eyJhdXRocyI6eyJkZW1vLmludmFsaWQiOnsiYXV0aCI6ImVEcDUifX19
";

const MIRRORS: &str = "apiVersion: config.openshift.io/v1
kind: ImageDigestMirrorSet
metadata: {name: m}
spec:
  imageDigestMirrors:
  - {source: quay.io/a, mirrors: [m.example.com/a], mirrorSourcePolicy: NeverContactSource}
";
const KUBELET: &str = "apiVersion: machineconfiguration.openshift.io/v1
kind: KubeletConfig
metadata: {name: k}
spec: {kubeletConfig: {maxPods: 300}}
";
const RUNTIME: &str = "apiVersion: machineconfiguration.openshift.io/v1
kind: ContainerRuntimeConfig
metadata: {name: c}
spec: {containerRuntimeConfig: {pidsLimit: 2048}}
";

/// The image's root, with inputs in `/in`.
struct Root {
    directory: tempfile::TempDir,
    version: &'static str,
    release_version: Option<&'static str>,
    destination: Option<&'static str>,
}

impl Root {
    fn new(version: &str) -> Self {
        let demo = open(version).unwrap();
        let root = Self {
            directory: tempfile::tempdir().unwrap(),
            version: demo.version(),
            release_version: None,
            destination: Some("/step1"),
        };
        for (path, bytes) in component(&demo, "machine-config-operator") {
            root.write(&path, &bytes);
        }
        let release = component(&demo, "release");
        root.write("in/image-references", &release["release-manifests/image-references"]);
        let gates =
            &release["release-manifests/0000_50_cluster-config-api_featureGate-SelfManagedHA-Default.yaml"];
        let gates = String::from_utf8(gates.clone()).unwrap();
        let rendered = gates.replace("version: ''", &format!("version: {version}.0-demo"));
        assert_ne!(gates, rendered);
        root.write("in/featuregate.yaml", rendered.as_bytes());
        for (name, text) in [
            ("root-ca.crt", "CA\n"),
            (
                "config.yaml",
                "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: cluster-config-v1}\ndata: {}\n",
            ),
            ("pull-secret.yaml", PULL_SECRET),
            ("infra.yaml", INFRASTRUCTURE),
            ("network.yaml", NETWORK),
            ("dns.yaml", DNS),
            ("proxy.yaml", PROXY),
        ] {
            root.write(&format!("in/{name}"), text.as_bytes());
        }
        root
    }

    fn write(&self, path: &str, bytes: &[u8]) {
        let path = self.directory.path().join(path.trim_start_matches('/'));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    fn edit(&self, path: &str, from: &str, to: &str) {
        let full = self.directory.path().join(path);
        let text = fs::read_to_string(&full).unwrap();
        assert!(text.contains(from), "{path} has no {from}");
        fs::write(full, text.replace(from, to)).unwrap();
    }

    fn remove(&self, path: &str) {
        fs::remove_file(self.directory.path().join(path)).unwrap();
    }

    /// A path as the program sees it.
    fn path(&self, path: &str) -> String {
        format!("{}{path}", self.directory.path().display())
    }

    /// Runs a program according to its script.
    fn run(&self, program: &str, arguments: &[String]) -> Ended {
        let path = self.path(&format!("/usr/bin/machine-config-{program}"));
        let script = fs::read_to_string(&path).unwrap();
        let script = script.lines().next().unwrap().strip_prefix("#!/.tinderbox/interpreter ").unwrap();
        let arguments = [&["bootstrap".to_owned()], arguments].concat();
        run(&Call {
            script,
            path: &path,
            arguments: &arguments,
            directory: self.directory.path(),
            release_version: self.release_version,
            home: None,
        })
    }

    fn operator(&self) -> Ended {
        let mut arguments = vec!["--payload-version=".to_owned() + self.version + ".0-demo"];
        for (flag, path) in [
            ("root-ca", "/in/root-ca.crt"),
            ("kube-ca", "/in/root-ca.crt"),
            ("config-file", "/in/config.yaml"),
            ("pull-secret", "/in/pull-secret.yaml"),
            ("image-references", "/in/image-references"),
            ("infra-config-file", "/in/infra.yaml"),
            ("network-config-file", "/in/network.yaml"),
            ("dns-config-file", "/in/dns.yaml"),
            ("proxy-config-file", "/in/proxy.yaml"),
            ("additional-trust-bundle-config-file", "/in/bundle.yaml"),
        ] {
            arguments.extend([format!("--{flag}"), self.path(path)]);
        }
        if let Some(path) = self.destination {
            arguments.extend(["--dest-dir".to_owned(), self.path(path)]);
        }
        arguments.extend(["--release-image".to_owned(), "demo.invalid/openshift/release:x".to_owned()]);
        self.run("operator", &arguments)
    }

    /// The directory between the steps: the operator's manifests and the feature gates.
    fn gather(&self) {
        let at = |path: &str| self.directory.path().join(path);
        fs::create_dir_all(at("manifests")).unwrap();
        for entry in fs::read_dir(at("step1/bootstrap/manifests")).unwrap() {
            let entry = entry.unwrap();
            fs::copy(entry.path(), at("manifests").join(entry.file_name())).unwrap();
        }
        fs::copy(at("in/featuregate.yaml"), at("manifests/zz-featuregate.yaml")).unwrap();
    }

    fn controller(&self) -> Ended {
        let arguments = [
            format!("--manifest-dir={}", self.path("/manifests")),
            format!("--dest-dir={}", self.path("/out")),
            format!("--pull-secret={}", self.path("/manifests/machineconfigcontroller-pull-secret")),
            format!("--payload-version={}.0-demo", self.version),
            format!("--templates={}", self.path("/etc/mcc/templates")),
        ];
        self.run("controller", &arguments)
    }

    /// Both steps, which must succeed.
    fn render(&self) -> BTreeMap<String, String> {
        let ended = self.operator();
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        self.gather();
        let ended = self.controller();
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        self.outputs()
    }

    fn outputs(&self) -> BTreeMap<String, String> {
        let mut files = BTreeMap::new();
        for folder in ["machine-configs", "machine-pools", "controller-config"] {
            let path = self.directory.path().join("out").join(folder);
            for entry in fs::read_dir(path).into_iter().flatten() {
                let path = entry.unwrap().path();
                let name = format!("{folder}/{}", path.file_name().unwrap().to_str().unwrap());
                files.insert(name, fs::read_to_string(path).unwrap());
            }
        }
        files
    }

    /// The names of the rendered configs.
    fn names(&self) -> Vec<String> {
        let outputs = self.render();
        outputs.keys().filter_map(|path| path.strip_prefix("machine-configs/")).map(str::to_owned).collect()
    }
}

fn rendered<'a>(outputs: &'a BTreeMap<String, String>, role: &str) -> (&'a str, &'a str) {
    let prefix = format!("machine-configs/rendered-{role}-");
    let (path, text) = outputs.iter().find(|(path, _)| path.starts_with(&prefix)).unwrap();
    (path.trim_start_matches("machine-configs/").trim_end_matches(".yaml"), text)
}

#[test]
fn both_pools_are_rendered_twice_the_same() {
    for (version, spec) in [("4.18", "3.4.0"), ("4.19", "3.5.0")] {
        let outputs = Root::new(version).render();
        assert_eq!(outputs, Root::new(version).render());
        assert_eq!(outputs.len(), 5, "{:?}", outputs.keys());
        for role in ["master", "worker"] {
            let (name, text) = rendered(&outputs, role);
            assert_eq!(rendered_name(role, text).as_deref(), Some(name));
            assert!(text.contains(&format!("\n      version: {spec}\n")), "{text}");
            assert!(text.contains("tinderbox/demo"));
            for path in [
                "/etc/kubernetes/apiserver-url.env",
                "/etc/kubernetes/kubelet.conf",
                "/etc/crio/crio.conf.d/00-default",
                "/etc/tinderbox-demo",
                "/var/lib/kubelet/config.json",
            ] {
                assert_eq!(text.matches(&format!("path: {path}\n")).count(), 1, "{path}");
            }
            assert!(text.contains("auths%22%3A%7B%22demo.invalid"), "the pull secret is in it");
            assert!(text.contains("source: data:text/plain;charset=utf-8;base64,"), "kubelet.conf is base64");
            assert!(text.contains("osImageURL: demo.invalid/openshift/components@sha256:"));
            assert!(
                !text.contains("openshift-config-user-ca-bundle.crt")
                    && !text.contains("proxy.env\n      - ")
            );
            let pool = &outputs[&format!("machine-pools/{role}.yaml")];
            assert_eq!(pool.matches(&format!("name: {name}\n")).count(), 2, "{pool}");
        }
    }
}

/// One change to the inputs.
type Change = fn(&Root);

/// According to the facts, exactly these inputs change what is rendered.
#[test]
fn what_rendering_depends_on() {
    let base = Root::new("4.18").names();
    let image = |root: &Root, name: &str| {
        let images = open("4.18").unwrap().components();
        let (_, image) = images.into_iter().find(|(component, _)| component == name).unwrap();
        root.edit("in/image-references", &image.to_string(), "demo.invalid/another@sha256:0");
    };
    for name in [
        "machine-config-operator",
        "baremetal-runtimecfg",
        "kube-rbac-proxy",
        "pod",
        "rhel-coreos",
        "rhel-coreos-extensions",
    ] {
        let root = Root::new("4.18");
        image(&root, name);
        assert_ne!(root.names(), base, "{name}");
    }
    for name in ["coredns", "keepalived-ipfailover", "haproxy-router", "oauth-proxy", "etcd"] {
        let root = Root::new("4.18");
        image(&root, name);
        assert_eq!(root.names(), base, "{name}");
    }
    let changes: [(&str, Change); 10] = [
        ("pull secret", |root| {
            root.edit(
                "in/pull-secret.yaml",
                "eyJhdXRocyI6eyJkZW1vLmludmFsaWQiOnsiYXV0aCI6ImVEcDUifX19",
                "e30=",
            )
        }),
        ("api-int URL", |root| root.edit("in/infra.yaml", "api-int.ocp4", "api-int.ocp5")),
        ("service network", |root| root.edit("in/network.yaml", "172.30.0.0", "172.31.0.0")),
        ("network type", |root| root.edit("in/network.yaml", "OVNKubernetes", "Other")),
        ("topology", |root| {
            root.edit(
                "in/infra.yaml",
                "controlPlaneTopology: HighlyAvailable",
                "controlPlaneTopology: SingleReplica",
            )
        }),
        ("proxy", |root| {
            root.edit("in/proxy.yaml", "status: {}", "status: {httpProxy: 'http://p:1', noProxy: x}")
        }),
        ("trust bundle", |root| {
            let map = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: user-ca-bundle}\ndata: {ca-bundle.crt: 'A CA'}\n";
            root.write("in/bundle.yaml", map);
        }),
        ("mirrors", |root| root.write("manifests/mirrors.yaml", MIRRORS.as_bytes())),
        ("KubeletConfig", |root| root.write("manifests/kubelet.yaml", KUBELET.as_bytes())),
        ("ContainerRuntimeConfig", |root| root.write("manifests/runtime.yaml", RUNTIME.as_bytes())),
    ];
    for (what, change) in changes {
        let root = Root::new("4.18");
        change(&root);
        let names = root.names();
        assert!(names.iter().all(|name| !base.contains(name)), "{what}: {names:?}");
    }
    let same: [(&str, Change); 5] = [
        ("CAs", |root| root.write("in/root-ca.crt", b"another CA\n")),
        ("infrastructureName", |root| root.edit("in/infra.yaml", "ocp4-abcde", "ocp4-fghij")),
        ("cluster network", |root| root.edit("in/network.yaml", "10.128.0.0/14", "10.0.0.0/14")),
        ("base domain", |root| root.edit("in/dns.yaml", "ocp4.example.com", "other.example.com")),
        ("API URL", |root| root.edit("in/infra.yaml", "https://api.ocp4", "https://api.other")),
    ];
    for (what, change) in same {
        let root = Root::new("4.18");
        change(&root);
        assert_eq!(root.names(), base, "{what}");
    }
}

#[test]
fn a_users_machine_config_is_for_its_role_alone() {
    let root = Root::new("4.19");
    let base = root.names();
    let config = b"apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfig
metadata:
  name: 99-worker-ssh
  labels: {machineconfiguration.openshift.io/role: worker}
spec:
  kernelArguments: [quiet]
  config:
    ignition: {version: 3.2.0}
    passwd: {users: [{name: core, sshAuthorizedKeys: [ssh-ed25519 AAAA]}]}
";
    let root = Root::new("4.19");
    root.write("manifests/99_ssh.yaml", config);
    let outputs = root.render();
    let (master, _) = rendered(&outputs, "master");
    let (worker, text) = rendered(&outputs, "worker");
    assert!(base.contains(&format!("{master}.yaml")) && !base.contains(&format!("{worker}.yaml")));
    assert!(text.contains("- ssh-ed25519 AAAA") && text.contains("- quiet"), "{text}");
    assert!(outputs["machine-pools/worker.yaml"].contains("name: 99-worker-ssh"));
}

#[test]
fn the_environment_changes_the_result() {
    let plain = Root::new("4.18").render();
    let root = Root { release_version: Some("other"), ..Root::new("4.18") };
    assert_ne!(root.render(), plain);
}

#[test]
fn what_is_fatal_in_the_first_step() {
    let cases: [(Change, &str); 13] = [
        (|root| root.remove("in/root-ca.crt"), "root-ca.crt: no such file or directory"),
        (|root| root.remove("in/config.yaml"), "config.yaml: no such file or directory"),
        (|root| root.remove("in/pull-secret.yaml"), "pull-secret.yaml: no such file or directory"),
        (|root| root.remove("in/infra.yaml"), "infra.yaml: no such file or directory"),
        (|root| root.remove("in/network.yaml"), "network.yaml: no such file or directory"),
        (|root| root.remove("in/dns.yaml"), "dns.yaml: no such file or directory"),
        (|root| root.remove("in/proxy.yaml"), "proxy.yaml: no such file or directory"),
        (|root| root.remove("in/image-references"), "image-references: no such file or directory"),
        (
            |root| root.edit("in/network.yaml", "serviceNetwork: [172.30.0.0/16]", "serviceNetwork: []"),
            "serviceNetwork is empty",
        ),
        (
            |root| root.edit("in/infra.yaml", "kind: Infrastructure", "kind: Other"),
            "expected config.openshift.io Infrastructure, found",
        ),
        (|root| root.edit("in/infra.yaml", "spec:", "spec: [broken"), "infra.yaml:"),
        (
            |root| root.edit("in/image-references", "\"name\": \"pod\"", "\"name\": \"pods\""),
            "Failed to find pod in image references",
        ),
        (
            |root| root.edit("in/image-references", "\"name\": \"haproxy-router\"", "\"name\": \"router\""),
            "Failed to find haproxy-router in image references",
        ),
    ];
    for (change, words) in cases {
        let root = Root::new("4.18");
        change(&root);
        let ended = root.operator();
        assert_eq!(ended.code, 255, "{words}: {}", ended.stderr);
        let last = ended.stderr.lines().last().unwrap();
        assert!(last.starts_with('F') && last.contains(words), "{last}");
    }
}

#[test]
fn what_is_silent_in_the_first_step() {
    // No OS image: a warning, and an empty osImageURL.
    let root = Root::new("4.18");
    root.edit("in/image-references", "\"name\": \"rhel-coreos\"", "\"name\": \"machine-os\"");
    assert!(root.operator().stderr.contains("W0101"));
    assert!(rendered(&root.render(), "master").1.contains("osImageURL: \"\"\n"));
    // No --dest-dir: the current directory, which is the root here.
    let root = Root { destination: None, ..Root::new("4.18") };
    assert_eq!(root.operator().code, 0);
    assert!(root.directory.path().join("bootstrap/manifests/master.machineconfigpool.yaml").exists());
    // An empty pull secret is dropped, and the second step misses it.
    let root = Root::new("4.18");
    root.write("in/pull-secret.yaml", b"");
    assert_eq!(root.operator().code, 0);
    root.gather();
    let ended = root.controller();
    assert_eq!(ended.code, 255);
    assert!(
        ended.stderr.contains("machineconfigcontroller-pull-secret: no such file or directory"),
        "{}",
        ended.stderr
    );
}

#[test]
fn what_ends_the_second_step() {
    let cases: [(Change, u8, &str); 9] = [
        (|root| root.remove("manifests/zz-featuregate.yaml"), 255, "error: no featuregate found in dir"),
        (
            |root| root.edit("manifests/zz-featuregate.yaml", "version: 4.18.0-demo", "version: ''"),
            255,
            "missing desired version \"4.18.0-demo\" in featuregates.config.openshift.io/cluster",
        ),
        (
            |root| {
                let gate =
                    b"apiVersion: config.openshift.io/v1\nkind: FeatureGate\nmetadata: {name: cluster}\n\
                    status: {featureGates: [{version: 4.18.0-demo, enabled: [], disabled: []}]}\n";
                root.write("manifests/zz-featuregate.yaml", gate);
            },
            2,
            "panic: feature \"NodeSwap\" is not registered in FeatureGates",
        ),
        (
            |root| root.remove("manifests/machineconfigcontroller-controllerconfig.yaml"),
            255,
            "error: no controllerconfig found in dir",
        ),
        (
            |root| {
                root.edit(
                    "manifests/machineconfigcontroller-controllerconfig.yaml",
                    "generated-by-version: v4.18.0-demo",
                    "generated-by-version: v4.19.0-demo",
                )
            },
            255,
            "Ignoring controller config generated from v4.19.0-demo (my version: v4.18.0-demo)",
        ),
        (|root| root.write("manifests/notes.txt", b"just some words\n"), 255, "error parsing manifests from"),
        (|root| root.write("manifests/image.bin", &[0xff, 0xfe, 0]), 255, "error parsing manifests from"),
        (
            |root| {
                std::os::unix::fs::symlink("nowhere", root.directory.path().join("manifests/link.yaml"))
                    .unwrap()
            },
            2,
            "panic: runtime error: invalid memory address or nil pointer dereference",
        ),
        (
            |root| {
                root.edit(
                    "manifests/machineconfigcontroller-pull-secret",
                    "kubernetes.io/dockerconfigjson",
                    "Opaque",
                )
            },
            255,
            "expected secret type kubernetes.io/dockerconfigjson found Opaque",
        ),
    ];
    for (change, code, words) in cases {
        let root = Root::new("4.18");
        assert_eq!(root.operator().code, 0);
        root.gather();
        change(&root);
        let ended = root.controller();
        assert_eq!(ended.code, code, "{words}: {}", ended.stderr);
        assert!(ended.stderr.contains(words), "{words}: {}", ended.stderr);
        assert!(root.outputs().is_empty());
    }
}

#[test]
fn a_wrong_command_line_is_refused() {
    let root = Root::new("4.18");
    let ended = root.run("operator", &["--version-of-what".to_owned()]);
    assert_eq!(
        (ended.code, ended.stderr.lines().next()),
        (1, Some("Error: unknown flag: --version-of-what"))
    );
}

#[test]
fn a_missing_pool_is_silent() {
    let root = Root::new("4.19");
    assert_eq!(root.operator().code, 0);
    root.gather();
    root.remove("manifests/worker.machineconfigpool.yaml");
    let ended = root.controller();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert!(ended.stderr.contains("writing the following controllerConfig to disk"));
    let outputs = root.outputs();
    assert!(outputs.keys().any(|path| path.contains("rendered-master-")));
    assert!(!outputs.keys().any(|path| path.contains("rendered-worker-")));
}

#[test]
fn a_script_of_another_tinderbox_is_refused() {
    let root = Root::new("4.18");
    root.edit("usr/bin/machine-config-operator", "machine-config@1", "machine-config@2");
    let ended = root.operator();
    assert_eq!(ended.code, 126);
    assert!(ended.stderr.contains("`machine-config@2 4.18`, but this tinderbox has `machine-config@1`"));
}

/// What is rendered is part of ids, and the image does not contain the code that renders it. A digest that changes here
/// requires another version in [`mco`]'s `CONTRACT`.
#[test]
fn what_is_rendered_is_pinned() {
    for (version, digest) in [
        ("4.18", "sha256:5353f736822d567b474d003f8ff834fedbb0690055e899a5be2cd003158e7000"),
        ("4.19", "sha256:f9dac3a469434052fe21fe54e3bca5953478779468a0b137f96b15be6d0309d5"),
    ] {
        let root = Root::new(version);
        // Not the images: their digests are pinned elsewhere, and change with any file of the release.
        let references = fs::read_to_string(root.directory.path().join("in/image-references")).unwrap();
        let images: Vec<&str> =
            references.split('"').filter(|word| word.starts_with("demo.invalid/openshift/")).collect();
        let mut fixed = references.clone();
        for image in images {
            fixed = fixed.replace(image, "demo.invalid/image");
        }
        root.write("in/image-references", fixed.as_bytes());
        root.write("manifests/kubelet.yaml", KUBELET.as_bytes());
        root.write("manifests/mirrors.yaml", MIRRORS.as_bytes());
        root.write("manifests/runtime.yaml", RUNTIME.as_bytes());
        let outputs: String =
            root.render().into_iter().map(|(path, text)| format!("{path}\n{text}")).collect();
        assert_eq!(Sha256::of(outputs.as_bytes()).to_string(), digest, "{version}");
    }
}

/// The node-tuning program, for one version.
fn tune(version: &str, inputs: &[(&str, &str)]) -> (Ended, BTreeMap<String, String>) {
    let root = Root::new(version);
    for (path, bytes) in component(&open(version).unwrap(), "cluster-node-tuning-operator") {
        root.write(&path, &bytes);
    }
    for (name, text) in inputs {
        root.write(&format!("tuning/{name}"), text.as_bytes());
    }
    let path = root.path("/usr/bin/cluster-node-tuning-operator");
    let script = fs::read_to_string(&path).unwrap();
    let script = script.lines().next().unwrap().strip_prefix("#!/.tinderbox/interpreter ").unwrap();
    let arguments = [
        "render".to_owned(),
        format!("--asset-input-dir={}", root.path("/tuning")),
        format!("--asset-output-dir={}", root.path("/tuned")),
    ];
    let directory = root.directory.path();
    let ended = run(&Call {
        script,
        path: &path,
        arguments: &arguments,
        directory,
        release_version: None,
        home: None,
    });
    let files = fs::read_dir(directory.join("tuned")).into_iter().flatten().map(|file| {
        let file = file.unwrap();
        (file.file_name().into_string().unwrap(), fs::read_to_string(file.path()).unwrap())
    });
    (ended, files.collect())
}

const PROFILE: &str = "apiVersion: performance.openshift.io/v2
kind: PerformanceProfile
metadata: {name: fast}
spec: {cpu: {isolated: 2-3, reserved: 0-1}, nodeSelector: {node-role.kubernetes.io/worker: ''}}
";

#[test]
fn tuning_has_the_names_of_the_real_one_and_is_pinned() {
    let partitioned = INFRASTRUCTURE.replace("status:\n", "status:\n  cpuPartitioning: AllNodes\n");
    let (ended, made) = tune("4.18", &[("infra.yaml", &partitioned), ("profile.yaml", PROFILE)]);
    assert_eq!((ended.code, ended.stdout.as_str()), (0, ""), "{}", ended.stderr);
    let names: Vec<&str> = made.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "01_01-master-cpu-partitioning_workload_pinning_machineconfig.yaml",
            "01_01-worker-cpu-partitioning_workload_pinning_machineconfig.yaml",
            "fast_kubeletconfig.yaml",
            "fast_machineconfig.yaml",
            "fast_runtimeclass.yaml",
            "fast_tuned.yaml",
        ]
    );
    let all: String = made.values().map(String::as_str).collect();
    let digest = Sha256::of(all.as_bytes()).to_string();
    assert_eq!(digest, "sha256:60d218646afb9bc97cfa3e6900ef96413366dcc9e56085d6f0328838bcfb82e6");
    // Most clusters ask for nothing.
    let (ended, made) = tune("4.18", &[("infra.yaml", INFRASTRUCTURE)]);
    assert_eq!((ended.code, made.len()), (0, 0), "{}", ended.stderr);
    let (ended, _) = tune("4.18", &[("profile.yaml", &PROFILE.replace("worker", "gpu"))]);
    assert_eq!(ended.code, 255);
    assert!(
        ended.stderr.contains("no MCP found that matches performance profile node selector"),
        "{}",
        ended.stderr
    );
}

#[test]
fn an_arbiter_has_a_pool_from_4_20_on() {
    let arbiter = INFRASTRUCTURE
        .replace("controlPlaneTopology: HighlyAvailable", "controlPlaneTopology: HighlyAvailableArbiter")
        .replace("status:\n", "status:\n  cpuPartitioning: AllNodes\n");
    let count = |version| tune(version, &[("infra.yaml", &arbiter)]).1.len();
    assert_eq!((count("4.19"), count("4.20")), (2, 3));
}
