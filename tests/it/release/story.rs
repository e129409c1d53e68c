//! The release in a user's hands: pinning, moving on, looking.

use tinderbox::internals::demo;
use tinderbox::internals::registry::Directory;

use crate::harness::{Workspace, mode, names, set_mode, source};

/// A version bump: what moved is said, what the move reaches is built, and going back builds nothing.
#[test]
fn moving_to_the_next_version_and_back() {
    let ws = Workspace::example().prebuilt();
    ws.build(&[]);
    let moved = ws.output(&["lock", "--update", "release=demo:4.19", "--json"]);
    let said = String::from_utf8_lossy(&moved.stderr).into_owned();
    assert!(!said.contains("boot image"), "the node image brings what it lacks: {said}");
    let moved: serde_json::Value = serde_json::from_slice(&moved.stdout).unwrap();
    assert_eq!(moved["cluster_yaml"], serde_json::json!({"from": "demo:4.18", "to": "demo:4.19"}));
    let fields: Vec<&str> =
        moved["moved"].as_array().unwrap().iter().map(|one| one["field"].as_str().unwrap()).collect();
    // The lock of a prebuilt workspace has no fingerprint of its seed yet.
    let release = ["release.reference", "release.version", "release.image", "rhcos.iso", "rhcos.qcow2"];
    assert_eq!(fields, [&["seed"], &release[..]].concat());
    let built = ws.build(&[]); // `lock` has read the payload already
    for name in ["release/images", "release/crds", "release/featuregate", "cluster"] {
        assert!(built.contains(&name.to_owned()), "{name}: {built:?}");
    }
    // Around the cluster only the machines change, which carry the digest of their Ignition.
    let around: Vec<String> = built.iter().filter(|name| name.starts_with("infra/")).cloned().collect();
    let is_machine = |name: &str| built.contains(&name.replace("infra/", "ignition-id/"));
    assert!(around.iter().all(|name| is_machine(name)) && around.len() == 6, "{built:?}");
    assert_eq!(ws.json(&["generations"]).as_array().unwrap().len(), 2);
    let why = ws.json(&["why", "release/payload"]);
    assert_eq!(why["causes"][0]["what"], "lock.release.digest", "{why}");
    ws.json(&["lock", "--update", "release=demo:4.18"]);
    // The lock names the node OS now, which machines carry; everything else is still in the store.
    let built = ws.build(&[]);
    assert!(built.iter().all(|name| name == "cluster" || around.contains(name)), "{built:?}");
}

/// cluster.yaml says which release is wanted, and nothing else does: an update edits it, and no other byte of it.
#[test]
fn an_update_edits_cluster_yaml() {
    let ws = Workspace::example();
    let path = ws.dir.join("elsewhere.yaml");
    std::fs::rename(ws.dir.join("cluster.yaml"), &path).unwrap();
    std::os::unix::fs::symlink("elsewhere.yaml", ws.dir.join("cluster.yaml")).unwrap();
    let before = std::fs::read_to_string(&path).unwrap().replace('\n', "\r\n");
    let before = before.replace("release: demo:4.18", "release: 'demo:4.18'   # the next one is due");
    std::fs::write(&path, &before).unwrap();
    set_mode(&path, 0o640);
    let said = ws.run(&["lock", "--update", "release=demo:4.19"]);
    assert!(said.starts_with("cluster.yaml: release: demo:4.18 → demo:4.19\n"), "{said}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), before.replace("'demo:4.18'", "'demo:4.19'"));
    assert_eq!(mode(&path), 0o640);
    assert!(std::fs::read_link(ws.dir.join("cluster.yaml")).is_ok(), "the link stays");
    ws.json(&["build", "--dry-run"]);

    // An alias is the user's to edit.
    let alias = before
        .replace("\r\nrelease:", "\r\nchannel: &name demo:4.18\r\nrelease:")
        .replace("'demo:4.18'", "*name");
    std::fs::write(&path, alias).unwrap();
    insta::assert_snapshot!(ws.run(&["-q", "lock", "--update", "release=demo:4.20"]), @"
    [stderr]
    error: `release` in cluster.yaml cannot be edited in place
    hint: write `release: demo:4.20` on a line of its own, then run `tinderbox lock --update release`
    [exit 1]
    ");
    // A lock of an earlier tinderbox that moved on alone.
    let ws = Workspace::example();
    ws.edit("cluster.lock", "reference = \"demo:4.18\"", "reference = \"demo:4.19\"");
    insta::assert_snapshot!(ws.run(&["build"]), @"
    [stderr]
    error: cluster.yaml asks for release `demo:4.18`, and cluster.lock pins `demo:4.19`
    hint: `tinderbox lock --update release` pins what cluster.yaml asks for; `tinderbox lock --update release=demo:4.19` writes the other into cluster.yaml
    [exit 1]
    ");
}

/// A boot image without a kubelet, and nothing that brings one.
#[test]
fn a_boot_image_without_programs_is_a_warning() {
    let ws = Workspace::example().prebuilt();
    let overlay = "recipes/64-bootstrap-config/node-image.toml";
    let recipe = std::fs::read_to_string(source(overlay)).unwrap();
    ws.write(overlay, &recipe.replace("release >= 4.19", "release >= 4.99"));
    let said = ws.output(&["lock", "--update", "release=demo:4.19"]);
    insta::assert_snapshot!(String::from_utf8(said.stderr).unwrap(), @"
    warning: the boot image 9.6.20250501-0 has no kubelet, crio, oc: a bootstrap node never starts its kubelet
    ");
}

/// A build never asks what a tag means: cluster.yaml that moved on without the lock is an error, and so is a lock of
/// another tinderbox's demo release.
#[test]
fn the_lock_decides() {
    let ws = Workspace::example();
    ws.edit("cluster.yaml", "release: demo:4.18", "release: demo:4.19");
    insta::assert_snapshot!(ws.run(&["build"]), @"
    [stderr]
    error: cluster.yaml asks for release `demo:4.19`, and cluster.lock pins `demo:4.18`
    hint: `tinderbox lock --update release` pins what cluster.yaml asks for; `tinderbox lock --update release=demo:4.18` writes the other into cluster.yaml
    [exit 1]
    ");
    ws.edit("cluster.yaml", "release: demo:4.19", "release: demo:4.18");
    let digest = demo::open("4.18").unwrap().release().1.hex();
    ws.edit("cluster.lock", &digest, &"0".repeat(64));
    insta::assert_snapshot!(ws.run(&["build", "release/image", "-q"]), @"
    [stderr]
    error: `release/image` cannot be built (built-in recipes/10-release/image.toml)
    caused by: demo.invalid/openshift/release@sha256:0000000000000000000000000000000000000000000000000000000000000000: cluster.lock pins the demo release 4.18 of another tinderbox; `tinderbox lock --update release` pins this one's
    [exit 1]
    ");
    ws.write("cluster.lock", "version = 1\nepoch = \"2026-11-16T00:00:00Z\"\n");
    insta::assert_snapshot!(ws.run(&["build"]), @"
    [stderr]
    error: cluster.lock pins no release, and cluster.yaml asks for `demo:4.18`
    hint: `tinderbox lock` fills in what is missing
    [exit 1]
    ");
    ws.edit("cluster.yaml", "release: demo:4.18", "release: demo:4.17");
    insta::assert_snapshot!(ws.run(&["lock"]), @"
    [stderr]
    error: no demo release 4.17; this build has 4.18, 4.19, 4.20, 4.21, 4.22, 4.23, 5.0, each also with `-multi`, up to 4.23 with `-okd`
    [exit 1]
    ");
}

/// The example on a copy of the demo release, in a layout at this path.
fn on_layout(path: &str) -> Workspace {
    let ws = Workspace::example();
    demo::open("4.18").unwrap().copy_to(&Directory::create(&ws.dir.join(path)).unwrap()).unwrap();
    ws.edit("cluster.yaml", "release: demo:4.18", &format!("release: oci:{path}:4.18.0-demo"));
    ws
}

/// Where a layout is reaches no artifact: what nodes pull is what the layout says.
#[test]
fn layouts_of_one_release_give_the_same_ids() {
    let closure = |ws: &Workspace| {
        ws.relock();
        // The lock names the node OS; only the release is compared.
        ws.build(&["cluster"]);
        let lock = std::fs::read_to_string(ws.dir.join("cluster.lock")).unwrap();
        assert!(lock.contains("image = \"demo.invalid/openshift/release@sha256:"), "{lock}");
        ws.path_of("cluster").file_name().unwrap().to_owned()
    };
    let first = on_layout("layout");
    let expected = closure(&first);
    assert_eq!(closure(&on_layout("somewhere/else")), expected);
    // And so does a copy of the copy.
    first.json(&["release", "mirror", "oci:copy:mine"]);
    first.edit("cluster.yaml", "release: oci:layout:4.18.0-demo", "release: oci:copy:mine");
    assert_eq!(closure(&first), expected);
}

/// A layout that does not say where nodes pull its release: the user does, or `imageDigestSources`, or no cluster is built.
#[test]
fn a_layout_without_a_repository_boots_nothing() {
    let ws = on_layout("layout");
    let index = std::fs::read_to_string(ws.dir.join("layout/index.json")).unwrap();
    let mut index: serde_json::Value = serde_json::from_str(&index).unwrap();
    for entry in index["manifests"].as_array_mut().unwrap() {
        entry["annotations"].as_object_mut().unwrap().remove("io.containerd.image.name").unwrap();
    }
    ws.write("layout/index.json", &index.to_string());
    ws.relock();
    let said = ws.run(&["build", "-q", "check/static-pods"]);
    assert!(said.contains("`--release-image`: `oci:layout@sha256:") && said.contains("[exit 1]"), "{said}");
    assert!(
        said.contains("hint: say where nodes pull the release with `releaseRepository` in cluster.yaml"),
        "{said}"
    );

    let image = || {
        let lock = std::fs::read_to_string(ws.dir.join("cluster.lock")).unwrap();
        let line = lock.lines().find_map(|line| line.strip_prefix("image = \"")).unwrap().to_owned();
        line.split_once('@').unwrap().0.to_owned()
    };
    let sources = "imageDigestSources:\n- source: quay.io/openshift-release-dev/ocp-release\n  mirrors: [m.example.com/ocp]\n\
                   - source: quay.io/openshift-release-dev/ocp-v4.0-art-dev\n  mirrors: [m.example.com/ocp]\nbaseDomain:";
    ws.edit("install-config.yaml", "baseDomain:", sources);
    ws.relock();
    assert_eq!(image(), "quay.io/openshift-release-dev/ocp-release");
    ws.build(&["check/static-pods"]);

    ws.edit("cluster.yaml", "\nrelease:", "\nreleaseRepository: r.example.com/ocp/release\nrelease:");
    let said = ws.run(&["build", "check/static-pods"]);
    assert!(
        said.contains("hint: `tinderbox lock --update release` pins what cluster.yaml asks for"),
        "{said}"
    );
    ws.relock();
    assert_eq!(image(), "r.example.com/ocp/release");
    ws.build(&["check/static-pods"]);
}

/// `release info` says what a release is, pinned or not.
#[test]
fn info() {
    let ws = Workspace::example();
    for version in demo::versions() {
        let info = ws.json(&["release", "info", &format!("demo:{version}")]);
        assert_eq!(info["version"], format!("{version}.0-demo"));
        let components = info["components"].as_object().unwrap();
        assert!(components.contains_key("machine-config-operator") && components.len() > 20);
        assert!(info["manifests"].as_u64().unwrap() > 20 && info["crds"].as_u64().unwrap() > 10);
    }
    assert_eq!(ws.json(&["release", "info"])["reference"], "demo:4.18");
    let copied = ws.json(&["release", "mirror", "demo:4.19", "oci:copy"]);
    let images = ["release", "cluster-config-api", "machine-config-operator"];
    assert_eq!(
        (names(&copied["images"]), names(&copied["unsigned"])),
        (images.map(str::to_owned).into(), images.map(str::to_owned).into())
    );
    assert_eq!(names(&copied["absent"]), ["rhel-coreos"], "nodes would want it, and here it is a name only");
    assert!(
        ws.dir.join("copy/index.json").exists(),
        "relative to the cluster directory, as `release: oci:` is"
    );
    // Most components of the demo release are names only.
    let text = ws.run(&["release", "mirror", "--all", "oci:all", "-q"]);
    assert!(text.contains("the demo release has no content for this component"), "{text}");
}

/// The node OS: what the release says, or the user's own file, each by sha256.
#[test]
fn the_node_os_is_pinned() {
    let ws = Workspace::example();
    ws.relock();
    let lock = || std::fs::read_to_string(ws.dir.join("cluster.lock")).unwrap();
    assert!(lock().contains("[rhcos.iso]\nlocation = \"https://demo.invalid/rhcos/4.18/"), "{}", lock());
    ws.write("my.iso", "an image");
    ws.edit("cluster.yaml", "release: demo:4.18", "release: demo:4.18\nrhcos: {iso: my.iso}");
    ws.json(&["lock", "--update", "rhcos"]);
    let sha256 = tinderbox::internals::registry::Sha256::of(b"an image").hex();
    assert!(
        lock().contains(&format!("[rhcos.iso]\nlocation = \"my.iso\"\nsha256 = \"{sha256}\"")),
        "{}",
        lock()
    );
    assert!(lock().contains("[rhcos.qcow2]\nlocation = \"https://demo.invalid"), "{}", lock());
    ws.edit("cluster.yaml", "my.iso", "yours.iso");
    let text = ws.run(&["lock", "--update", "rhcos"]);
    assert!(text.contains("cannot open `[DIR]/yours.iso`") && text.contains("[exit 1]"), "{text}");
}

/// `check/crds` names the custom resource that this release does not know, by kind and by version.
#[test]
fn a_resource_without_its_crd_is_named() {
    let recipe =
        "# A resource that nobody knows, for a test.\nbuilder = 'template'\n[files]\n'odd.yaml' = 'odd.j2'\n";
    for (resource, wanted) in [
        (
            "config.openshift.io/v1\nkind: Nothing",
            "odd.yaml:2: kind: no CRD of this release has config.openshift.io Nothing",
        ),
        ("config.openshift.io/v7\nkind: DNS", "has no version `v7`"),
    ] {
        let odd = format!("apiVersion: {resource}\nmetadata:\n  name: odd\n");
        let ws = Workspace::with(&[
            ("recipes/50-manifest/odd.toml", recipe),
            ("recipes/50-manifest/odd.j2", &odd),
        ]);
        let text = ws.run(&["check", "-q"]);
        assert!(
            text.contains(wanted) && text.contains("[crds-before-cvo]") && text.contains("[exit 1]"),
            "{text}"
        );
    }
}

/// A destination without a directory would be the current one.
#[test]
fn a_mirror_needs_a_directory() {
    let ws = Workspace::example().prebuilt();
    let before = crate::harness::list(&ws.dir);
    for destination in ["oci:", "oci::4.18", "oci:mirror:"] {
        let said = ws.run(&["-q", "release", "mirror", destination]);
        let missing = if destination == "oci:mirror:" { "tag" } else { "directory" };
        assert!(said.contains(&format!("`{destination}` names no {missing}")), "{said}");
        assert!(said.contains("hint: write oci:DIR or oci:DIR:TAG") && said.contains("[exit 2]"), "{said}");
    }
    assert_eq!(crate::harness::list(&ws.dir), before);
}
