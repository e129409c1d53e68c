//! The operators' renders, on a release whose operators are a script: it writes down how it was called and what it found.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::harness::{Workspace, left_out, mode, names};
use crate::release::pack::{LAYER, Layer, Pack, gzip};

/// Stands for every operator, under its real path.
const OPERATOR: &str = r#"#!/bin/sh
b=/bin/busybox
out=/out/rendered
grep() { $b grep -qs "$@"; }
if grep 'baselineCapabilitySet: None' /assets/config/*; then exit 0; fi
# As the real one: what it makes itself, it cannot enter.
case $0 in *version*) $b mkdir -p -m 666 $out/manifests $out/bootstrap;; esac
$b mkdir -p $out/manifests $out/bootstrap-manifests $out/bootstrap $out/tls $out/etc-kubernetes/manifests
{
  echo "$0"
  for argument; do echo "  $argument"; done
  [ -z "$CLUSTER_PROFILE" ] || echo "CLUSTER_PROFILE=$CLUSTER_PROFILE"
  $b find /assets /cluster -type f -size +0 2>/dev/null | $b sort
  $b ip -o addr show dev lo | $b grep -o 'inet 192[0-9.]*'
} > $out/seen
for file in config cpc-config bootstrap/bootstrap-pod.yaml bootstrap-manifests/pod.yaml manifests/cco-operator-config.yaml \
  cluster-ingress-namespace.yaml cloud-provider-config-generated.yaml etc-kubernetes/manifests/etcd-member-pod.yaml \
  tls/etcd-ca-bundle.crt tls/etcd-client.crt tls/etcd-client.key; do echo "kind: Made" > $out/$file; done
case $0 in *etcd*) $b head -c 16 /dev/urandom | $b base64 > $out/tls/etcd-client.key;; esac
data=YQ==
grep empty /assets/tls/service-account.key && data=
printf 'apiVersion: v1\nkind: Secret\nmetadata: {name: signer}\ndata:\n  tls.key: "%s"\n' $data > $out/manifests/signer.yaml
for gate in /out/gates/*; do [ ! -e $gate ] || echo '{"kind":"FeatureGate"}' > $gate; done
"#;

const GATES: &str = "apiVersion: config.openshift.io/v1\nkind: FeatureGate\nmetadata:\n  name: cluster\n  annotations:\n    include.release.openshift.io/self-managed-high-availability: \"true\"\nspec: {}\nstatus:\n  featureGates:\n  - version: \"\"\n    enabled:\n    - name: One\n    disabled:\n    - name: Other\n";

const OPERATORS: [(&str, &str); 8] = [
    ("cloud-credential-operator", "cloud-credential-operator"),
    ("cluster-config-api", "render"),
    ("cluster-config-operator", "cluster-config-operator"),
    ("cluster-etcd-operator", "cluster-etcd-operator"),
    ("cluster-ingress-operator", "ingress-operator"),
    ("cluster-kube-apiserver-operator", "cluster-kube-apiserver-operator"),
    ("cluster-kube-controller-manager-operator", "cluster-kube-controller-manager-operator"),
    ("cluster-kube-scheduler-operator", "cluster-kube-scheduler-operator"),
];

const TLS: [&str; 22] = [
    "auth/kubeconfig",
    "tls/admin-kubeconfig-ca-bundle.crt",
    "tls/aggregator-signer.crt",
    "tls/aggregator-signer.key",
    "tls/bound-service-account-signing-key.key",
    "tls/bound-service-account-signing-key.pub",
    "tls/kube-apiserver-lb-signer.crt",
    "tls/kube-apiserver-lb-signer.key",
    "tls/kube-apiserver-localhost-signer.crt",
    "tls/kube-apiserver-localhost-signer.key",
    "tls/kube-apiserver-service-network-signer.crt",
    "tls/kube-apiserver-service-network-signer.key",
    "tls/kube-apiserver-to-kubelet-signer.crt",
    "tls/kube-apiserver-to-kubelet-signer.key",
    "tls/kube-control-plane-signer.crt",
    "tls/kube-control-plane-signer.key",
    "tls/kubelet-bootstrap-kubeconfig-ca-bundle.crt",
    "tls/kubelet-client-ca-bundle.crt",
    "tls/service-account.pub",
    "tls/service-account.key",
    "tls/kubelet-signer.crt",
    "tls/kubelet-signer.key",
];

/// Puts a release with these operators into a layout.
fn pack(at: &Path, operators: &[(&str, &str)], kubernetes: Option<&str>) -> Option<()> {
    let busybox = fs::read("/bin/busybox").unwrap_or_default();
    if busybox.is_empty() || busybox.windows(9).any(|w| w == b"/lib64/ld") {
        left_out("the operators' renders", "a static busybox, of Debian's busybox-static");
        return None;
    }
    let pack = Pack::create(at);
    let root = Layer::new().dir("bin/").executable("bin/busybox", busybox).symlink("bin/sh", "busybox");
    let base = (LAYER, gzip(&root.tar()));
    let program = |name: &str| {
        let layer = Layer::new().dir("usr/").dir("usr/bin/").executable(&format!("usr/bin/{name}"), OPERATOR);
        (LAYER, layer.gzip())
    };
    let tag = |name: &str, digest: String, annotations: serde_json::Value| {
        json!({"name": name, "annotations": annotations,
            "from": {"kind": "DockerImage", "name": format!("registry.example.com/ocp/art@sha256:{digest}")}})
    };
    let mut tags: Vec<_> = operators
        .iter()
        .map(|(component, name)| {
            let image = pack.image(&[base.clone(), program(name)], &json!({}), None);
            tag(component, image.hex(), json!({}))
        })
        .collect();
    // Of these, the name is all that is needed.
    for (at, name) in ["etcd", "kube-proxy", "pod", "cluster-policy-controller"].into_iter().enumerate() {
        tags.push(tag(name, format!("{at:064}"), json!({})));
    }
    let versions = kubernetes
        .map_or(json!({}), |version| json!({"io.openshift.build.versions": format!("kubernetes={version}")}));
    tags.push(tag("hyperkube", format!("{:064}", 9), versions));
    let references = json!({"kind": "ImageStream", "metadata": {"name": "4.18.7"}, "spec": {"tags": tags}});
    let metadata = json!({"kind": "cincinnati-metadata-v0", "version": "4.18.7"});
    let payload = Layer::new()
        .dir("manifests/")
        .file("manifests/own.yaml", "kind: Own\n")
        .dir("release-manifests/")
        .file("release-manifests/0000_50_cluster-config-api_featureGate.yaml", GATES)
        .file("release-manifests/image-references", references.to_string())
        .file("release-manifests/release-metadata", metadata.to_string());
    let layers = [base, program("cluster-version-operator"), (LAYER, payload.gzip())];
    pack.image(&layers, &json!({"io.openshift.release": "4.18.7"}), Some("it"));
    Some(())
}

/// The example on such a release.
pub(crate) fn workspace(operators: &[(&str, &str)], kubernetes: Option<&str>) -> Option<Workspace> {
    let ws = Workspace::example();
    pack(&ws.dir.join("layout"), operators, kubernetes)?;
    ws.edit("cluster.yaml", "release: demo:4.18", "release: oci:layout:it");
    ws.relock();
    Some(ws)
}

/// Files in place of the installer's keys and certificates, which take long to make.
fn stand_in(ws: &Workspace, without: &str, empty: &str) {
    let file = |path: &&str| match *path == empty {
        true => format!("\"{path}\" = \"none.txt\"\n"),
        false => format!("\"{path}\" = \"some.txt\"\n"),
    };
    let files: String = TLS.iter().filter(|path| **path != without).map(file).collect();
    ws.write("recipes/36-installer-tls.toml", &format!("# Stands in.\nbuilder = \"tree\"\n[files]\n{files}"));
    ws.write("recipes/none.txt", "");
    ws.write("recipes/some.txt", "some");
}

/// What an operator wrote down.
fn seen(ws: &Workspace, render: &str) -> String {
    ws.filter(&undigested(&fs::read_to_string(ws.path_of(render).join("seen")).unwrap()))
}

/// The same without the installer's files, which are many.
fn call(ws: &Workspace, render: &str) -> String {
    seen(ws, render)
        .lines()
        .filter(|line| !line.starts_with("/assets/"))
        .map(|line| format!("{line}\n"))
        .collect()
}

/// A text without the digests of images.
fn undigested(text: &str) -> String {
    let mut parts = text.split("sha256:");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        text + "sha256:…" + part.trim_start_matches(|c: char| c.is_ascii_hexdigit())
    })
}

#[test]
fn each_operator_is_called_as_bootkube_calls_it() {
    let Some(ws) = workspace(&OPERATORS, Some("1.31.4")) else { return };
    let built = ws.build(&["render"]);
    assert!(!built.contains(&"render/authentication".to_owned()), "{built:?}");
    insta::assert_snapshot!(seen(&ws, "render/api"), @r"
    /usr/bin/render
      --asset-output-dir=/out/rendered
      --rendered-manifest-dir=/out/gates
      --cluster-profile=self-managed-high-availability
      --payload-version=4.18.7
    /assets/gates/featuregate-cluster.yaml
    ");
    insta::assert_snapshot!(seen(&ws, "render/config"), @r"
    /usr/bin/cluster-config-operator
      render
      --skip-api-rendering
      --cluster-infrastructure-input-file=/assets/crs/infrastructure-cluster.yaml
      --cloud-provider-config-output-file=/out/rendered/cloud-provider-config-generated.yaml
      --config-output-file=/out/rendered/config
      --asset-input-dir=/out/tls
      --asset-output-dir=/out/rendered
      --rendered-manifest-files=/assets/gates
      --payload-version=4.18.7
    /assets/crs/infrastructure-cluster.yaml
    /assets/crs/network-cluster.yaml
    /assets/gates/featuregate-cluster.yaml
    ");
    insta::assert_snapshot!(seen(&ws, "render/cluster-version"), @r"
    /usr/bin/cluster-version-operator
      render
      --output-dir=/out/rendered
      --release-image=registry.example.com/ocp/art@sha256:…
      --feature-gate-manifest-path=/assets/gates/featuregate-cluster.yaml
    CLUSTER_PROFILE=self-managed-high-availability
    /assets/gates/featuregate-cluster.yaml
    ");
    insta::assert_snapshot!(seen(&ws, "render/ingress"), @r"
    /usr/bin/ingress-operator
      render
      --prefix=cluster-ingress-
      --output-dir=/out/rendered
    ");
    insta::assert_snapshot!(seen(&ws, "render/cloud-credential"), @r"
    /usr/bin/cloud-credential-operator
      render
      --dest-dir=/out/rendered
      --manifests-dir=/assets/config
      --cloud-credential-operator-image=registry.example.com/ocp/art@sha256:…
    /assets/config/configmap-kube-system-cluster-config-v1.yaml
    ");
    insta::assert_snapshot!(call(&ws, "render/kube-apiserver"), @r"
    /usr/bin/cluster-kube-apiserver-operator
      render
      --manifest-etcd-serving-ca=etcd-ca-bundle.crt
      --manifest-etcd-server-urls=https://localhost:2379
      --manifest-image=registry.example.com/ocp/art@sha256:…
      --manifest-operator-image=registry.example.com/ocp/art@sha256:…
      --asset-input-dir=/assets/tls
      --asset-output-dir=/out/rendered
      --config-output-file=/out/rendered/config
      --cluster-config-file=/cluster/crs/network-cluster.yaml
      --cluster-auth-file=/cluster/crs/authentication-cluster.yaml
      --infra-config-file=/cluster/crs/infrastructure-cluster.yaml
      --rendered-manifest-files=/cluster/gates
      --payload-version=4.18.7
      --operand-kubernetes-version=1.31.4
    /cluster/crs/infrastructure-cluster.yaml
    /cluster/crs/network-cluster.yaml
    /cluster/gates/featuregate-cluster.yaml
    ");
    insta::assert_snapshot!(call(&ws, "render/kube-controller-manager"), @r"
    /usr/bin/cluster-kube-controller-manager-operator
      render
      --cluster-policy-controller-image=registry.example.com/ocp/art@sha256:…
      --manifest-image=registry.example.com/ocp/art@sha256:…
      --asset-input-dir=/assets/tls
      --asset-output-dir=/out/rendered
      --config-output-file=/out/rendered/config
      --cpc-config-output-file=/out/rendered/cpc-config
      --cluster-config-file=/cluster/crs/network-cluster.yaml
      --rendered-manifest-files=/cluster/gates
      --payload-version=4.18.7
    /cluster/crs/infrastructure-cluster.yaml
    /cluster/crs/network-cluster.yaml
    /cluster/gates/featuregate-cluster.yaml
    ");
    insta::assert_snapshot!(call(&ws, "render/kube-scheduler"), @r"
    /usr/bin/cluster-kube-scheduler-operator
      render
      --manifest-image=registry.example.com/ocp/art@sha256:…
      --asset-input-dir=/assets/tls
      --asset-output-dir=/out/rendered
      --config-output-file=/out/rendered/config
    ");
    for path in TLS {
        assert!(seen(&ws, "render/kube-apiserver").contains(&format!("/assets/{path}\n")), "{path}");
    }

    // It rewrites the FeatureGate that it is given, which is a copy.
    let api = ws.path_of("render/api");
    assert_eq!(
        fs::read_to_string(api.join("gates/featuregate-cluster.yaml")).unwrap(),
        "{\"kind\":\"FeatureGate\"}\n"
    );

    // etcd's is another one each time, has the bootstrap node's address, and is its owner's only.
    let objects = |built: &serde_json::Value| built["targets"][0]["path"].as_str().unwrap().to_owned();
    let (one, other) = (ws.json(&["build", "render/etcd"]), ws.json(&["build", "render/etcd"]));
    assert_eq!(names(&other["built"]), ["render/etcd"]);
    assert_ne!(objects(&one), objects(&other));
    let at = Path::new(&objects(&other)).to_owned();
    insta::assert_snapshot!(undigested(&fs::read_to_string(at.join("seen")).unwrap()), @r"
    /usr/bin/cluster-etcd-operator
      render
      --asset-output-dir=/out/rendered
      --cluster-configmap-file=/assets/config/configmap-kube-system-cluster-config-v1.yaml
      --etcd-image=registry.example.com/ocp/art@sha256:…
      --infra-config-file=/assets/crs/infrastructure-cluster.yaml
      --network-config-file=/assets/crs/network-cluster.yaml
    /assets/config/configmap-kube-system-cluster-config-v1.yaml
    /assets/crs/infrastructure-cluster.yaml
    /assets/crs/network-cluster.yaml
    inet 192.168.126.100
    ");
    assert_eq!(mode(&at.join("tls/etcd-client.key")), 0o400);
    assert_eq!(ws.build(&["render"]), ["render/etcd"], "all others are in the store");

    // An Authentication of the user's goes to the API server, whatever its file is called.
    ws.write("manifests/mine.yaml", "apiVersion: config.openshift.io/v1\nkind: Authentication\nmetadata: {name: cluster}\nspec: {serviceAccountIssuer: 'https://issuer.example.com'}\n");
    ws.build(&["render/kube-apiserver"]);
    assert!(seen(&ws, "render/kube-apiserver").contains("\n/cluster/crs/authentication-cluster.yaml\n"));
}

/// The programs go on without a key, and make an empty Secret of it: it is said before, and looked for after.
#[test]
fn what_the_programs_accept_and_should_not() {
    let Some(ws) = workspace(&OPERATORS, Some("1.31.4")) else { return };
    let fails = |render: &str, without: &str, empty: &str| {
        stand_in(&ws, without, empty);
        ws.run(&["build", "-q", render])
    };
    insta::assert_snapshot!(fails("render/kube-apiserver", "tls/aggregator-signer.key", ""), @r"
    [stderr]
    error: `render/kube-apiserver` cannot be built (built-in recipes/62-render/kube-apiserver.toml)
    caused by: input `installer-tls` has no `tls/aggregator-signer.key`: the program would continue without it
    [exit 1]
    ");
    insta::assert_snapshot!(fails("render/kube-apiserver", "", "tls/service-account.pub"), @r"
    [stderr]
    error: `render/kube-apiserver` cannot be built (built-in recipes/62-render/kube-apiserver.toml)
    caused by: input `installer-tls` has an empty `tls/service-account.pub`: the program would accept it and write useless output
    [exit 1]
    ");
    insta::assert_snapshot!(fails("render/kube-controller-manager", "", "tls/kubelet-signer.key"), @r"
    [stderr]
    error: `render/kube-controller-manager` cannot be built (built-in recipes/62-render/kube-controller-manager.toml)
    caused by: input `installer-tls` has an empty `tls/kubelet-signer.key`: the program would accept it and write useless output
    [exit 1]
    ");
    insta::assert_snapshot!(fails("render/kube-scheduler", "auth/kubeconfig", ""), @r"
    [stderr]
    error: `render/kube-scheduler` cannot be built (built-in recipes/62-render/kube-scheduler.toml)
    caused by: input `installer-tls` has no `auth/kubeconfig`: the program would continue without it
    [exit 1]
    ");
    // All but what is the scheduler's and the controller manager's.
    for path in &TLS[1..19] {
        let said = fails("render/kube-apiserver", path, "");
        assert!(said.contains(&format!("has no `{path}`")), "{said}");
    }
    stand_in(&ws, "", "");
    ws.write("recipes/some.txt", "empty");
    insta::assert_snapshot!(ws.run(&["build", "-q", "render/kube-apiserver"]), @r"
    [stderr]
    error: `render/kube-apiserver` cannot be built (built-in recipes/62-render/kube-apiserver.toml)
    caused by: `/usr/bin/cluster-kube-apiserver-operator` wrote `manifests/signer.yaml`, a Secret whose `tls.key` is empty; it printed nothing
    [exit 1]
    ");
    ws.edit("install-config.yaml", "baseDomain:", "capabilities: {baselineCapabilitySet: None}\nbaseDomain:");
    insta::assert_snapshot!(ws.run(&["build", "-q", "render/cloud-credential"]), @r"
    [stderr]
    error: `render/cloud-credential` cannot be built (built-in recipes/62-render/cloud-credential.toml)
    caused by: `/usr/bin/cloud-credential-operator` exited with 0 but did not make `/out/rendered`; it printed nothing
    hint: it renders nothing where install-config's `capabilities` leave CloudCredential out: then there is nothing to read
    [exit 1]
    ");
}

/// What a release does not have is said by whoever asks for it, in one sentence, and hinders nobody else.
#[test]
fn what_is_not_there_is_said_when_asked_for() {
    let few: Vec<_> = OPERATORS.into_iter().filter(|(component, _)| !component.contains("etcd")).collect();
    let Some(ws) = workspace(&few, None) else { return };
    stand_in(&ws, "", "");
    insta::assert_snapshot!(ws.run(&["build", "-q", "render/etcd"]), @r"
    [stderr]
    error: `operator-image/cluster-etcd-operator` cannot be built: release `4.18.7` has no component `cluster-etcd-operator` (built-in recipes/61-operator-image/components.toml)
    hint: `tinderbox release info` lists what it has
    [exit 1]
    ");
    insta::assert_snapshot!(ws.run(&["build", "-q", "render/kube-apiserver"]), @r"
    [stderr]
    error: `render/kube-apiserver` cannot be built: release `4.18.7` does not say which version of `kubernetes` it has (built-in recipes/62-render/kube-apiserver.toml)
    hint: `tinderbox release info` lists what it has
    [exit 1]
    ");
    ws.build(&["render/ingress", "render/cluster-version"]);

    let demo = Workspace::example();
    insta::assert_snapshot!(undigested(&demo.run(&["build", "-q", "render/ingress"])), @r"
    [stderr]
    error: `operator-image/cluster-ingress-operator` cannot be built (built-in recipes/61-operator-image/components.toml)
    caused by: demo.invalid/openshift/components@sha256:…: manifest sha256:… not found (the demo release has no content for this component, cluster-ingress-operator)
    [exit 1]
    ");
    insta::assert_snapshot!(demo.run(&["build", "-q", "render/cluster-version"]), @r"
    [stderr]
    error: `render/cluster-version` cannot be built (built-in recipes/62-render/cluster-version.toml)
    caused by: the image has no program `/usr/bin/cluster-version-operator`
    [exit 1]
    ");
    insta::assert_snapshot!(demo.run(&["build", "-q", "render/authentication"]), @r"
    [stderr]
    error: there is no `render/authentication` here: its recipe asks for `release >= 4.19`, and `release` is `4.18.0-demo`
    [exit 1]
    ");
    assert_eq!(
        demo.run(&["show", "render/authentication"]),
        demo.run(&["build", "-q", "render/authentication"])
    );
    let all = demo.json(&["build", "--dry-run"]);
    let asked: Vec<String> = names(&all["would_build"])
        .into_iter()
        .filter(|name| name.contains("render/") || name.starts_with("operator-image/"))
        .collect();
    assert!(asked.iter().all(|name| name == "check/render"), "{asked:?}");
}
