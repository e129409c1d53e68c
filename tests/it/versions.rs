//! Every version of the demo release: what each brings, and that each builds and passes its checks with every topology.

use std::fs;

use super::harness::{Workspace, list};
use super::release::pack::{Pack, Release};
use tinderbox::internals::demo;

type Topology = (&'static str, fn(&Workspace));

const TOPOLOGIES: [Topology; 3] = [
    ("highly available", |_| {}),
    ("compact", |ws| ws.without_workers(3)),
    ("single node", |ws| ws.without_workers(1)),
];

/// The example on a version of the demo release.
fn on(version: &str) -> Workspace {
    let ws = Workspace::example().prebuilt();
    release(&ws, version);
    ws
}

fn release(ws: &Workspace, version: &str) {
    ws.edit("cluster.yaml", "release: demo:4.18", &format!("release: demo:{version}"));
    ws.relock();
}

fn builds(version: &str, (name, topology): Topology) {
    let ws = on(version);
    topology(&ws);
    let said = ws.run(&["build", "-q", "cluster"]);
    assert!(said.contains("[exit 0]"), "{version}, {name}: {said}");
    ws.assert_sound();
}

/// A diagonal: each version, and each topology on some.
#[test]
fn every_version_builds() {
    for (at, version) in demo::versions().iter().enumerate() {
        builds(version, TOPOLOGIES[at % TOPOLOGIES.len()]);
    }
}

mod long {
    #[test]
    #[ignore = "long: every version with every topology"]
    fn every_version_builds_with_every_topology() {
        for version in super::demo::versions() {
            super::TOPOLOGIES.into_iter().for_each(|topology| super::builds(version, topology));
        }
    }
}

/// The image policies among the manifests.
fn policies(ws: &Workspace) -> Vec<String> {
    list(&ws.path_of("manifest/image-policies")).into_iter().collect()
}

/// A file of a master.
fn on_master(ws: &Workspace, path: &str) -> String {
    ws.run(&["-q", "show", &format!("ignition/master-0:{path}")])
}

fn rendered(ws: &Workspace) -> String {
    fs::read_to_string(ws.path_of("mco/master").join("name")).unwrap()
}

const POLICY: &str = "/etc/containers/policy.json";
const LOOKUP: &str = "/etc/containers/registries.d/sigstore-registries.yaml";

/// In the preview from 4.20 on, in the default set from 4.21, for every image from 4.22.
#[test]
fn image_policies_of_the_payload_are_applied_and_rendered() {
    let scopes = |ws: &Workspace| {
        ws.build(&["manifest/image-policies", "ignition/master-0"]);
        let policy = on_master(ws, POLICY);
        ["openshift/release", "openshift/components"]
            .map(|scope| policy.contains(&format!("demo.invalid/{scope}")))
    };
    let ws = on("4.20");
    assert_eq!(scopes(&ws), [false, false]);
    assert_eq!(policies(&ws), [""; 0]);
    ws.edit("install-config.yaml", "baseDomain:", "featureSet: TechPreviewNoUpgrade\nbaseDomain:");
    assert_eq!(scopes(&ws), [true, false]);
    for (version, wanted) in [("4.21", [true, false]), ("4.22", [true, true]), ("5.0", [true, true])] {
        let ws = on(version);
        assert_eq!(scopes(&ws), wanted, "{version}");
        assert_eq!(policies(&ws), ["0000_90_openshift-cluster-image-policy.yaml"], "{version}");
        assert!(on_master(&ws, LOOKUP).contains("  demo.invalid/openshift/release:\n"), "{version}");
        ws.build(&["cluster"]);
        let applied = list(&ws.path_of("cluster").join("manifests"));
        assert!(applied.contains("0000_90_openshift-cluster-image-policy.yaml"), "{applied:?}");
    }
}

/// As the installer's switch for tests: not applied, not rendered, and left alone by the cluster-version operator.
#[test]
fn a_test_release_goes_without_the_releases_policy() {
    let ws = on("4.22");
    ws.build(&["mco"]);
    let with = rendered(&ws);
    ws.edit("cluster.yaml", "\nrelease:", "\nreleaseImagePolicy: false\nrelease:");
    ws.build(&["cluster"]);
    assert_eq!(policies(&ws), [""; 0]);
    assert_ne!(rendered(&ws), with);
    assert!(!on_master(&ws, POLICY).contains("sigstoreSigned"));
    let overrides = fs::read_to_string(ws.path_of("cluster").join("manifests/cvo-overrides.yaml")).unwrap();
    let wanted = "  - group: config.openshift.io\n    kind: ClusterImagePolicy\n    name: openshift\n    namespace: \"\"\n    unmanaged: true\n";
    assert!(overrides.contains(wanted), "{overrides}");
    // Where there is no policy, it makes no difference but the override.
    ws.edit("cluster.yaml", "releaseImagePolicy: false", "releaseImagePolicy: true");
    ws.build(&["mco"]);
    assert_eq!(rendered(&ws), with);
}

#[test]
fn a_policy_of_the_users_must_not_have_the_name_of_the_releases() {
    let ws = on("4.21");
    ws.build(&["manifest/image-policies"]);
    let policy = fs::read_to_string(
        ws.path_of("manifest/image-policies").join("0000_90_openshift-cluster-image-policy.yaml"),
    )
    .unwrap();
    ws.write("manifests/mine.yaml", &policy);
    let said = ws.run(&["build", "-q", "cluster"]);
    assert!(
        said.contains("ClusterImagePolicy")
            && said.contains("manifests/mine.yaml")
            && said.contains("[exit 1]"),
        "{said}"
    );
    // One with another name joins it.
    ws.write(
        "manifests/mine.yaml",
        &policy
            .replace("name: openshift", "name: mine")
            .replace("demo.invalid/openshift/release", "quay.example.com/mine"),
    );
    ws.build(&["cluster"]);
    let accepted = on_master(&ws, POLICY);
    assert!(
        accepted.contains("quay.example.com/mine") && accepted.contains("demo.invalid/openshift/release"),
        "{accepted}"
    );
}

/// Of two policies of one name that both apply, nodes would enforce one: a release that has them is refused.
#[test]
fn two_policies_of_one_name_in_a_payload() {
    let ws = on("4.21");
    let pack = Pack::create(&ws.dir.join("layout"));
    let mut release = Release::of(&ws, "4.21.0");
    let file = "0000_90_openshift-cluster-image-policy.yaml";
    let policy = release.payload.iter().find(|(name, _)| name == file).unwrap().1.clone();
    ws.edit("cluster.yaml", "release: demo:4.21", "release: oci:layout:made");
    release.payload.push(("0000_91_second.yaml".to_owned(), String::new()));
    let mut build = |second: String| {
        release.payload.last_mut().unwrap().1 = second;
        release.put(&pack, "made");
        let locked = ws.run(&["lock", "-q", "--update", "release"]);
        if locked.contains("[exit 0]") { ws.run(&["build", "-q", "manifest/image-policies"]) } else { locked }
    };
    let said = build(policy.clone());
    let both = format!("has two ClusterImagePolicy `openshift`: `{file}` and `0000_91_second.yaml`");
    assert!(said.contains(&both) && said.contains("[exit 1]"), "{said}");
    ws.assert_sound();
    // One that is for another feature set does not apply.
    let other = "    release.openshift.io/feature-set: TechPreviewNoUpgrade\n    kubernetes.io/description:";
    let said = build(policy.replace("    kubernetes.io/description:", other));
    assert!(said.contains("[exit 0]"), "{said}");
    assert_eq!(policies(&ws), [file]);
    // And namespaces tell policies of one name apart.
    let of = |namespace: &str| {
        let name = format!("name: openshift\n  namespace: {namespace}");
        policy.replace("kind: ClusterImagePolicy", "kind: ImagePolicy").replace("name: openshift", &name)
    };
    let said = build(format!("{}---\n{}", of("one"), of("two")));
    assert!(said.contains("[exit 0]"), "{said}");
    assert_eq!(policies(&ws), [file, "0000_91_second.yaml"]);
    let said = build(format!("{}---\n{}", of("one"), of("one")));
    assert!(said.contains("has two ImagePolicy `openshift`") && said.contains("[exit 1]"), "{said}");
}

/// What the machine-config controller of each version reads goes into its render.
#[test]
fn objects_that_a_version_reads_go_into_its_render() {
    let object = |kind: &str, name: &str| match kind {
        "Secret" => format!(
            "apiVersion: v1\nkind: Secret\nmetadata: {{name: {name}, namespace: openshift-machine-config-operator}}\ndata: {{}}\n"
        ),
        _ => format!(
            "apiVersion: machineconfiguration.openshift.io/v1\nkind: {kind}\nmetadata: {{name: {name}}}\nspec: {{}}\n"
        ),
    };
    let all = [
        object("InternalReleaseImage", "cluster"),
        object("MachineOSConfig", "worker"),
        object("Secret", "internal-release-image-registry-auth"),
        object("Secret", "internal-release-image-tls"),
        object("Secret", "mine"),
    ];
    let [image, config, users, certificate] = [
        "internalreleaseimage-cluster.yaml",
        "machineosconfig-worker.yaml",
        "secret-openshift-machine-config-operator-internal-release-image-registry-auth.yaml",
        "secret-openshift-machine-config-operator-internal-release-image-tls.yaml",
    ];
    for (version, wanted) in [
        ("4.20", &[][..]),
        ("4.21", &[image, config, certificate]),
        ("4.22", &[image, config, users, certificate]),
        ("5.0", &[image, config, users, certificate]),
    ] {
        let ws = on(version);
        ws.write("manifests/read.yaml", &all.join("---\n"));
        ws.build(&["mco/inputs"]);
        let own = list(&ws.path_of("mco/inputs").join("own"));
        let read: Vec<_> = own
            .iter()
            .filter(|name| {
                name.starts_with("internal") || name.contains("osconfig") || name.starts_with("secret")
            })
            .collect();
        assert_eq!(read, wanted, "{version}");
    }
}

/// Two files of the user's with one object: both are named.
#[test]
fn two_policies_of_one_name_of_the_users() {
    let ws = on("4.21");
    ws.build(&["manifest/image-policies"]);
    let policy = ws.path_of("manifest/image-policies").join("0000_90_openshift-cluster-image-policy.yaml");
    let policy = fs::read_to_string(policy).unwrap().replace("name: openshift", "name: mine");
    let policy = policy.replace("demo.invalid/openshift/release", "quay.example.com/mine");
    ws.write("manifests/a.yaml", &policy);
    ws.write("manifests/b.yaml", &policy.replace("quay.example.com/mine", "quay.example.com/other"));
    let said = ws.run(&["build", "-q"]);
    let names = ["ClusterImagePolicy", "`mine`", "manifests/a.yaml", "manifests/b.yaml", "[exit 1]"];
    assert!(names.iter().all(|name| said.contains(name)), "{said}");
}

/// The tunnel to webhooks in pods, which gates of the previews need from 4.23 on: everything of it, or nothing.
#[test]
fn previews_have_konnectivity_from_4_23_on() {
    let flag = "--egress-selector-config-file=/etc/kubernetes/bootstrap-configs/egress-selector-config.yaml";
    let preview = |version: &str, set: &str| {
        let ws = on(version);
        if !set.is_empty() {
            ws.edit("install-config.yaml", "baseDomain:", &format!("featureSet: {set}\nbaseDomain:"));
        }
        ws.build(&["cluster"]);
        ws
    };
    for (version, set) in [("4.22", "TechPreviewNoUpgrade"), ("4.23", ""), ("4.23", "CustomNoUpgrade")] {
        let ws = preview(version, set);
        let result = ws.path_of("cluster");
        let of_it =
            |folder: &str| list(&result.join(folder)).into_iter().filter(|name| name.contains("konn"));
        assert_eq!(
            of_it("static-pods").chain(of_it("manifests")).chain(of_it("pki")).count(),
            0,
            "{version}"
        );
        assert!(
            !fs::read_to_string(result.join("static-pods/kube-apiserver.yaml")).unwrap().contains("egress")
        );
    }
    let custom = "CustomNoUpgrade\nfeatureGates: [ClusterAPIMachineManagement=true]";
    for (version, set) in [("4.23", "TechPreviewNoUpgrade"), ("4.23", custom), ("5.0", "DevPreviewNoUpgrade")]
    {
        let ws = preview(version, set);
        let read = |path: &str| fs::read_to_string(ws.path_of("cluster").join(path)).unwrap();
        // Both ends of the socket, in a directory that both pods mount.
        let [server, api] =
            ["konnectivity-server", "kube-apiserver"].map(|pod| read(&format!("static-pods/{pod}.yaml")));
        let egress = ws.run(&[
            "-q",
            "show",
            "ignition/bootstrap:/etc/kubernetes/bootstrap-configs/egress-selector-config.yaml",
        ]);
        assert!(
            api.contains(flag) && egress.contains("udsName: /run/konnectivity/server.socket\n"),
            "{egress}"
        );
        assert!(server.contains("--uds-name=/run/konnectivity/server.socket\n"), "{server}");
        assert!([&server, &api].iter().all(|pod| pod.contains("mountPath: /run/konnectivity\n")));
        // Agents dial the address that the server's certificate has, and each end knows the other by one authority.
        let agent = read("manifests/konnectivity-agent.yaml");
        assert!(agent.contains("--proxy-server-host=192.168.126.100\n"), "{agent}");
        let names = ws.json(&["show", "pki/konnectivity-server", "--explain", "names"]);
        assert_eq!(names["matches"][0]["value"], "192.168.126.100");
        for leaf in ["server", "agent"] {
            let issuer = ws.json(&["show", &format!("pki/konnectivity-{leaf}"), "--explain", "issuer"]);
            assert_eq!(issuer["matches"][0]["value"], "CN=konnectivity-ca");
        }
        let secret = read("manifests/konnectivity-agent-certs.yaml");
        for (key, file) in [("tls.crt", "agent.crt"), ("tls.key", "agent.key"), ("ca.crt", "ca.crt")] {
            let wanted = data_encoding::BASE64.encode(read(&format!("pki/konnectivity-{file}")).as_bytes());
            assert!(secret.contains(&format!("{key}: {wanted}\n")), "{key}");
        }
        // bootkube.sh removes it while it may still ask the API.
        let script = ws.run(&["-q", "show", "script/bootkube:bootkube.sh"]);
        let at = |text: &str| script.rfind(text).unwrap_or_else(|| panic!("{text}: {script}"));
        assert!(
            at("lift_overrides\n") < at("remove_konnectivity\n")
                && at("remove_konnectivity\n") < at("  end\n")
        );
        crate::guide::walk(&ws, &format!("{version} {set}"));
    }
}

/// Between any two versions, the page of the difference names what the newer one brought.
#[test]
fn a_difference_between_versions_names_what_changed() {
    let ws = Workspace::example().prebuilt();
    for (old, new, wanted) in [
        (
            "4.19",
            "4.20",
            &[
                "featureGates[SigstoreImageVerification]: disabled → enabled",
                "0000_10_config-operator_01_clusterimagepolicies.crd.yaml",
            ][..],
        ),
        ("4.20", "4.21", &[POLICY, LOOKUP, "featureGates[SigstoreImageVerificationPKI]: disabled → enabled"]),
        ("4.21", "4.22", &[POLICY, "featureGates[NoRegistryClusterInstall]: disabled → enabled"]),
        ("4.22", "4.23", &["featureGates[OSStreams]: disabled → enabled"]),
        ("4.23", "5.0", &["featureGates[EtcdBackendQuota]: disabled → enabled"]),
    ] {
        let said =
            ws.run(&["-q", "diff", "--full", "--release", &format!("demo:{old}"), &format!("demo:{new}")]);
        let missing: Vec<_> = wanted.iter().filter(|text| !said.contains(**text)).collect();
        assert!(missing.is_empty() && said.contains("[exit 1]"), "{old} → {new}: {missing:?}\n{said}");
    }
}

/// The OS image that nodes boot into, as the name of a component.
fn os_image(ws: &Workspace) -> String {
    ws.build(&["mco", "release/images"]);
    let rendered = fs::read_to_string(ws.path_of("mco/master").join("machine-config.json")).unwrap();
    let images = ws.path_of("release/images").join("components");
    let named = |name: &String| {
        let image = fs::read_to_string(images.join(name)).unwrap();
        rendered.replace(": ", ":").contains(&format!("\"osImageURL\":\"{image}\""))
    };
    list(&images).into_iter().filter(named).collect::<Vec<_>>().join(" ")
}

/// With OSStreams the controller asks a registry, which it finds on loopback; without, it asks nobody.
#[test]
fn the_os_is_that_of_the_releases_default_stream() {
    let ws = on("4.22");
    assert_eq!(os_image(&ws), "rhel-coreos");
    assert_eq!(list(&ws.path_of("release/os-images")).into_iter().collect::<Vec<_>>(), ["hosts"]);
    ws.edit("install-config.yaml", "baseDomain:", "featureSet: TechPreviewNoUpgrade\nbaseDomain:");
    assert_eq!(os_image(&ws), "rhel-coreos");
    let served = list(&ws.path_of("release/os-images"));
    assert!(served.contains("listen") && served.contains("sha256"), "{served:?}");
    // The previews had the gate one version earlier, in OKD too.
    for (version, image) in
        [("4.21", "rhel-coreos"), ("4.21-okd", "stream-coreos"), ("4.22-okd", "stream-coreos")]
    {
        let ws = on(version);
        ws.edit("install-config.yaml", "baseDomain:", "featureSet: TechPreviewNoUpgrade\nbaseDomain:");
        assert_eq!(os_image(&ws), image, "{version}");
        assert!(list(&ws.path_of("release/os-images")).contains("listen"), "{version}");
    }

    assert_eq!(os_image(&on("4.23")), "rhel-coreos");
    let ws = on("5.0");
    assert_eq!(os_image(&ws), "rhel-coreos-10");
    ws.write(
        "manifests/stream.yaml",
        "apiVersion: machineconfiguration.openshift.io/v1\nkind: OSImageStream\nmetadata: {name: cluster}\nspec: {defaultStream: rhel-9}\n",
    );
    assert_eq!(os_image(&ws), "rhel-coreos");
    ws.build(&["cluster"]);
    ws.write(
        "manifests/stream.yaml",
        "apiVersion: machineconfiguration.openshift.io/v1\nkind: OSImageStream\nmetadata: {name: cluster}\nspec: {defaultStream: rhel-8}\n",
    );
    let said = ws.run(&["build", "-q", "mco"]);
    assert!(
        said.contains("hint: the release does not have the stream that OSImageStream `cluster` asks for"),
        "{said}"
    );
}

/// Of a multi-architecture release the controller asks about lists, and gets the image of the nodes' architecture.
#[test]
fn streams_of_a_multi_architecture_release() {
    for arm64 in [false, true] {
        let ws = Workspace::example().prebuilt();
        if arm64 {
            ws.arm64();
            ws.edit("cluster.yaml", "release: demo:4.18-multi", "release: demo:5.0-multi");
        } else {
            ws.edit("cluster.yaml", "release: demo:4.18", "release: demo:5.0-multi");
        }
        ws.relock();
        assert_eq!(os_image(&ws), "rhel-coreos-10", "arm64: {arm64}");
    }
}

/// install-config chooses the stream, in the version of the object that the release has.
#[test]
fn install_config_chooses_the_stream() {
    let stream = |ws: &Workspace| {
        let file = ws.path_of("patched").join("manifests/99_osimagestream.yaml");
        fs::read_to_string(file).unwrap().lines().next().unwrap().to_owned()
    };
    let ws = on("4.22");
    let chosen = "featureSet: TechPreviewNoUpgrade\nosImageStream: rhel-10\nbaseDomain:";
    ws.edit("install-config.yaml", "baseDomain:", chosen);
    insta::assert_snapshot!(ws.run(&["build", "-q", "mco"]), @r"
    [stderr]
    error: the OS stream of install-config.yaml is `rhel-10`, and cluster.lock pins boot images of the release's default
    hint: `tinderbox lock --update rhcos` pins those of the stream
    [exit 1]
    ");
    ws.run(&["lock", "--update", "rhcos"]);
    assert_eq!(os_image(&ws), "rhel-coreos-10");
    ws.build(&["cluster"]);
    assert_eq!(stream(&ws), "apiVersion: machineconfiguration.openshift.io/v1alpha1");
    assert_eq!(overlay(&ws), component(&ws, "rhel-coreos-10"));
    // Without the gate nobody reads it.
    ws.edit("install-config.yaml", "featureSet: TechPreviewNoUpgrade\n", "");
    let said = ws.run(&["build", "-q", "check/render"]);
    assert!(said.contains("the gate OSStreams is off, so nodes get the release's default OS"), "{said}");
    let said = ws.run(&["build", "-q", "check/crds"]);
    assert!(said.contains("OSImageStream") && said.contains("[exit 1]"), "{said}");

    let ws = on("5.0");
    assert_eq!(os_image(&ws), "rhel-coreos-10");
    assert_eq!(overlay(&ws), component(&ws, "rhel-coreos-10"));
    ws.edit("install-config.yaml", "baseDomain:", "osImageStream: rhel-9\nbaseDomain:");
    ws.run(&["lock", "--update", "rhcos"]);
    assert_eq!(os_image(&ws), "rhel-coreos");
    ws.build(&["cluster"]);
    assert_eq!(overlay(&ws), component(&ws, "rhel-coreos"));
    assert_eq!(stream(&ws), "apiVersion: machineconfiguration.openshift.io/v1");
    ws.edit("install-config.yaml", "osImageStream: rhel-9", "osImageStream: rhel-8");
    let said = ws.run(&["build", "-q", "mco"]);
    assert!(said.contains("osImageStream") && said.contains("rhel-9"), "{said}");
}

/// What the bootstrap node lays over its boot image.
fn overlay(ws: &Workspace) -> String {
    ws.build(&["bootstrap-config/node-image"]);
    let script = ws.path_of("bootstrap-config/node-image").join("node-image-pull.sh");
    let script = fs::read_to_string(script).unwrap();
    let image = script.lines().find_map(|line| line.strip_prefix("image=")).unwrap();
    image.trim_matches('\'').to_owned()
}

/// The pull spec of a component.
fn component(ws: &Workspace, name: &str) -> String {
    let file = ws.path_of("release/images").join("components").join(name);
    fs::read_to_string(file).unwrap().trim().to_owned()
}

/// The image that a node boots first is of the same stream as the OS that it gets.
#[test]
fn boot_images_are_of_the_same_stream() {
    let pinned = |ws: &Workspace| fs::read_to_string(ws.dir.join("cluster.lock")).unwrap();
    for (version, default, other, wanted) in [
        ("4.22", "9.8.20260701-0", "rhel-10", "10.0.20260715-1"),
        ("4.23", "9.8.20261001-0", "rhel-10", "10.2.20261001-0"),
        ("5.0", "10.2.20261101-0", "rhel-9", "9.8.20261101-0"),
    ] {
        let ws = on(version);
        let lock = pinned(&ws);
        assert!(
            lock.contains(&format!("{default}-live-iso")) && !lock.contains("stream ="),
            "{version}: {lock}"
        );
        ws.edit("install-config.yaml", "baseDomain:", &format!("osImageStream: {other}\nbaseDomain:"));
        let said = ws.run(&["lock", "--update", "rhcos"]);
        assert!(said.contains("rhcos.stream"), "{said}");
        let lock = pinned(&ws);
        assert!(lock.contains(&format!("stream = \"{other}\"")), "{version}: {lock}");
        assert!(lock.contains(&format!("{wanted}-live-iso")), "{version}: {lock}");
        assert!(lock.contains(&format!("{wanted}-qemu")), "{version}: {lock}");
        // Back to the default is a change as well.
        ws.edit("install-config.yaml", &format!("osImageStream: {other}\n"), "");
        let said = ws.run(&["build", "-q", "mco"]);
        assert!(said.contains("is the release's default, and cluster.lock pins boot images of"), "{said}");
    }
}

/// OKD has one stream, which has a name from 4.23 on; OpenShift has others.
#[test]
fn streams_that_a_release_does_not_have() {
    let ws = on("4.22-okd");
    ws.edit("install-config.yaml", "baseDomain:", "osImageStream: centos-10\nbaseDomain:");
    insta::assert_snapshot!(ws.run(&["lock", "--update", "rhcos"]), @r"
    [stderr]
    error: 1 problem:
    install-config.yaml:9: osImageStream: OKD 4.22 has no OS stream `centos-10`
      hint: remove the field: nodes get the one operating system of OKD 4.22
    [exit 1]
    ");
    let ws = on("4.23-okd");
    assert_eq!(os_image(&ws), "stream-coreos");
    ws.edit("install-config.yaml", "baseDomain:", "osImageStream: centos-10\nbaseDomain:");
    let said = ws.run(&["lock", "--update", "rhcos"]);
    assert!(said.contains("[exit 0]"), "{said}");
    assert_eq!(os_image(&ws), "stream-coreos");
    ws.build(&["cluster"]);
    let ws = on("4.22");
    ws.edit("install-config.yaml", "baseDomain:", "osImageStream: centos-10\nbaseDomain:");
    insta::assert_snapshot!(ws.run(&["lock", "--update", "rhcos"]), @r"
    [stderr]
    error: 1 problem:
    install-config.yaml:9: osImageStream: OpenShift 4.22 has no OS stream `centos-10`
      hint: it has rhel-9, rhel-10
    [exit 1]
    ");
}

/// A copy of a release has the OS images that a build asks about, and the same build needs nothing else.
#[test]
fn a_mirror_has_what_the_controller_asks_about() {
    let ws = on("4.23");
    let copied = ws.json(&["release", "mirror", "demo:4.23", "oci:copy"]);
    let images = copied["images"].to_string();
    assert!(
        images.contains("\"rhel-coreos\"") && images.contains("\"rhel-coreos-10-extensions\""),
        "{images}"
    );
    let without = ws.json(&["release", "mirror", "demo:4.22", "oci:other"]);
    assert_eq!(without["images"].to_string().matches("rhel-coreos").count(), 1, "the nodes' own: {without}");
}

/// The controller asks through the cluster's proxy, whose place the registry takes as well.
#[test]
fn a_proxy_is_played_too() {
    let ws = on("5.0");
    let proxy = "proxy: {httpsProxy: 'http://me:hunter2@proxy.example.com:3128'}\nbaseDomain:";
    ws.edit("install-config.yaml", "baseDomain:", proxy);
    ws.build(&["mco"]);
    let served = ws.path_of("release/os-images");
    assert_eq!(fs::read_to_string(served.join("listen")).unwrap(), "127.0.0.2:5000\n127.0.0.2:3128\n");
    assert!(fs::read_to_string(served.join("hosts")).unwrap().ends_with("127.0.0.2 proxy.example.com\n"));
    ws.edit("install-config.yaml", "'http://me:hunter2@proxy", "'https://me:hunter2@proxy");
    let said = ws.run(&["build", "mco"]);
    assert!(said.contains("can stand in for one with `http://` only") && !said.contains("hunter2"), "{said}");
}

/// Releases of OpenShift list OKD's feature set too, and their installer refuses it.
#[test]
fn the_feature_set_of_okd_is_for_okd() {
    let okd = on("4.22-okd");
    okd.edit("install-config.yaml", "baseDomain:", "featureSet: OKD\nbaseDomain:");
    okd.build(&["cluster"]);
    let ws = on("4.22");
    ws.edit("install-config.yaml", "baseDomain:", "featureSet: OKD\nbaseDomain:");
    let said = ws.run(&["build", "-q", "release/featuregate"]);
    assert!(said.contains("is release `4.22.0-demo`, and feature set OKD is for OKD only"), "{said}");
}

/// OKD: its names of components, its OS, no policy, and a pull secret that opens nothing.
#[test]
fn okd_builds() {
    let ws = on("4.22-okd");
    let lock = fs::read_to_string(ws.dir.join("cluster.lock")).unwrap();
    assert!(lock.contains("version = \"4.22.0-okd-scos.demo\"") && lock.contains("/scos-"), "{lock}");
    let text = fs::read_to_string(ws.dir.join("install-config.yaml")).unwrap();
    let secret = text.lines().find(|line| line.starts_with("pullSecret:")).unwrap();
    let fake = r#"pullSecret: '{"auths":{"fake":{"auth":"aWQ6cGFzcwo="}}}'"#;
    ws.write("install-config.yaml", &text.replace(secret, fake));
    let said = ws.run(&["build", "-q", "cluster"]);
    assert!(said.contains("[exit 0]"), "{said}");
    ws.assert_sound();
    assert_eq!(os_image(&ws), "stream-coreos");
    assert_eq!(policies(&ws), [""; 0]);
    let components = ws.path_of("release/images").join("components");
    let image = fs::read_to_string(components.join("stream-coreos")).unwrap();
    let pull = ws.path_of("bootstrap-config/node-image").join("node-image-pull.sh");
    assert!(fs::read_to_string(pull).unwrap().contains(image.trim()));
    let version = fs::read_to_string(ws.path_of("cluster").join("manifests/cvo-overrides.yaml")).unwrap();
    assert!(version.contains("channel: stable-scos-4\n"), "{version}");
}
