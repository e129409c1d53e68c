//! One architecture in install-config, lock and release.

use std::fs;

use crate::harness::Workspace;

#[test]
fn the_release_must_have_images_for_the_architecture() {
    let ws = Workspace::example();
    ws.edit("install-config.yaml", "  name: master\n", "  name: master\n  architecture: arm64\n");
    let digest = tinderbox::internals::demo::open("4.18").unwrap().release().1.to_string();
    let said = ws.run(&["lock", "--update", "release"]).replace(&digest, "[DIGEST]");
    insta::assert_snapshot!(said, @"
    [stderr]
    error: demo.invalid/openshift/release@[DIGEST]: there is no image for linux/arm64, only for linux/amd64
    hint: ask for a release for arm64: tags of real ones end in its name (`-x86_64`, `-aarch64`) or in `-multi`; or set `architecture` in cluster.yaml to one that there is
    [exit 1]
    ");
    insta::assert_snapshot!(ws.run(&["build", "-q"]), @"
    [stderr]
    error: the cluster's architecture is `arm64`, and cluster.lock pins images for `amd64`
    hint: `tinderbox lock --update release` pins the images for it, if the release has some; the architecture is that of `controlPlane` in install-config.yaml, or `architecture` in cluster.yaml
    [exit 1]
    ");
    ws.edit("install-config.yaml", "- name: worker\n", "- name: worker\n  architecture: amd64\n");
    insta::assert_snapshot!(ws.run(&["build", "-q"]), @"
    [stderr]
    error: 1 problem:
    install-config.yaml:19: compute.worker.architecture: `amd64`, but the cluster's architecture is `arm64`
      hint: on platform `none` all nodes have one architecture, in the installer too: set it in cluster.yaml, or nowhere for amd64
    [exit 1]
    ");
}

/// From a list `lock` takes the images for the architecture, and boot images and machines follow.
#[test]
fn everything_is_for_one_architecture() {
    let ws = Workspace::example().prebuilt();
    ws.arm64();
    ws.relock();
    let lock = fs::read_to_string(ws.dir.join("cluster.lock")).unwrap();
    assert!(lock.contains("architecture = \"arm64\"") && lock.contains("-live-iso.aarch64.iso"), "{lock}");
    assert!(!lock.contains("x86_64"), "{lock}");
    let said = ws.run(&["build", "-q", "cluster"]);
    assert!(said.contains("[exit 0]"), "{said}");
    ws.assert_sound();
    let machine = fs::read_to_string(ws.path_of("infra/master-0").join("master-0.xml")).unwrap();
    let firmware = "<os firmware=\"efi\">\n    <type arch=\"aarch64\" machine=\"virt\">hvm</type>";
    assert!(machine.contains(firmware) && !machine.contains("sata"), "{machine}");
    // A copy has the images of this architecture, and the same build needs nothing else.
    let before = ws.path_of("ignition/master-0");
    ws.json(&["release", "mirror", "oci:copy:mine"]);
    ws.edit("cluster.yaml", "release: demo:4.18-multi", "release: oci:copy:mine");
    ws.relock();
    ws.build(&["cluster"]);
    assert_eq!(ws.path_of("ignition/master-0").file_name(), before.file_name());
    // The other architecture is in the list, and not in the copy.
    ws.edit("install-config.yaml", "  architecture: arm64\n", "");
    let said = ws.run(&["lock", "--update", "release"]);
    assert!(said.contains("not found") && said.contains("[exit 1]"), "{said}");
}

mod host {
    use std::process::Command;

    use serde_json::json;

    use super::*;
    use crate::host::emulation::{has_emulator, writer};
    use crate::release::pack::{Layer, Pack, Release};

    /// A release's program is of the target's architecture, wherever it is run, and so is its derivation.
    #[test]
    fn programs_of_the_release_are_emulated() {
        if !has_emulator("programs of an arm64 release") {
            return;
        }
        let ws = Workspace::example();
        ws.edit("cluster.yaml", "release: demo:4.18", "release: oci:layout:made\narchitecture: arm64");
        let pack = Pack::create(&ws.dir.join("layout"));
        let layer = Layer::new().executable("usr/bin/render", writer()).gzip();
        let layers = [("application/vnd.oci.image.layer.v1.tar+gzip", layer)];
        let made = pack.image_for("arm64", &layers, &json!({}), None);
        let tag = |name: &str| json!({"name": name, "from": {"name": format!("registry.example.com/ocp/art@{made}")}});
        let references =
            json!({"kind": "ImageStream", "spec": {"tags": [tag("made"), tag("cluster-config-api")]}});
        let release = Release {
            version: "4.18.0".into(),
            architecture: Some("arm64".into()),
            payload: vec![("0000_x.yaml".into(), "kind: X\n".into())],
            references: Some(references.to_string()),
            ..Release::default()
        };
        release.put(&pack, "made");
        ws.write(
            "recipes/20-demo/image.toml",
            "# A component.\nbuilder = 'image'\n[inputs]\nreference = 'release/images:components/made'\n[config]\n\
             architecture = 'lock.release.architecture'\n[params]\npaths = ['/']\n",
        );
        ws.write(
            "recipes/30-demo/rendered.toml",
            "# What its program renders.\nbuilder = 'run'\n[inputs]\nimage = 'demo/image'\n[params]\n\
             steps = [{run = ['/usr/bin/render']}]\noutputs = {made = '/out/made'}\n",
        );
        ws.relock();
        ws.build(&["demo/rendered"]);
        assert_eq!(fs::read_to_string(ws.path_of("demo/rendered").join("made")).unwrap(), "arm64\n");
        // Nothing in the store knows of an emulator: it is the same build as on an arm64 machine.
        let found = Command::new("grep").args(["-rlE", "qemu|emulator"]).arg(&ws.store).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&found.stdout), "");
    }
}
