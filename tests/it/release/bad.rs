//! Images and releases that are not as they should be: each is refused with what is wrong, and nothing of it is kept.

use std::path::PathBuf;

use serde_json::json;

use crate::harness::{Workspace, in_mount_namespace, list, mode};
use crate::release::pack::{Layer, Pack, Release, gzip, name};
use crate::store::script;
use tinderbox::internals::registry::Sha256;

/// A workspace on a release in a layout, and a recipe `demo/image` that unpacks `paths` of a made-up component.
struct Made {
    ws: Workspace,
    pack: Pack,
}

impl Made {
    fn new() -> Self {
        let ws = Workspace::example();
        let pack = Pack::create(&ws.dir.join("layout"));
        ws.edit("cluster.yaml", "release: demo:4.18", "release: oci:layout:made");
        Self { ws, pack }
    }

    /// A release whose component `made` is the image of these layers.
    fn layers(&self, layers: &[(&str, Vec<u8>)], paths: &str) -> &Workspace {
        self.component(self.pack.image(layers, &json!({}), None), paths)
    }

    /// A release whose component `made` is this image.
    fn component(&self, made: Sha256, paths: &str) -> &Workspace {
        let tag = |name: &str| json!({"name": name, "from": {"name": format!("registry.example.com/ocp/art@{made}")}});
        let references =
            json!({"kind": "ImageStream", "spec": {"tags": [tag("made"), tag("cluster-config-api")]}});
        let release = Release {
            version: "4.18.0".into(),
            payload: vec![("0000_x.yaml".into(), "kind: X\n".into())],
            references: Some(references.to_string()),
            ..Release::default()
        };
        release.put(&self.pack, "made");
        let recipe = format!(
            "# A component.\nbuilder = 'image'\n[inputs]\nreference = 'release/images:components/made'\n[config]\n\
             architecture = 'lock.release.architecture'\n[params]\npaths = {paths}\n"
        );
        self.ws.write("recipes/20-demo/image.toml", &recipe);
        self.ws.relock();
        &self.ws
    }

    fn gzip(&self, layers: Vec<Layer>, paths: &str) -> &Workspace {
        let layers: Vec<_> = layers
            .into_iter()
            .map(|layer| ("application/vnd.oci.image.layer.v1.tar+gzip", layer.gzip()))
            .collect();
        self.layers(&layers, paths)
    }
}

fn tree(ws: &Workspace) -> PathBuf {
    ws.build(&["demo/image"]);
    ws.path_of("demo/image")
}

fn refused(ws: &Workspace) -> String {
    let text = ws.run(&["build", "demo/image", "-q"]);
    assert!(text.contains("[exit 1]"), "{text}");
    ws.assert_sound();
    text
}

/// Whiteouts, opaque directories, replaced directories, hard links, links of all kinds, modes, devices.
#[test]
fn layers_are_laid_over_each_other() {
    let made = Made::new();
    let lower = Layer::new()
        .dir("etc/")
        .file("etc/keep", "lower")
        .file("etc/gone", "x")
        .file("etc/over", "lower")
        .dir("opaque/")
        .file("opaque/old", "x")
        .dir("dir/")
        .file("dir/in", "x")
        .dir("usr/")
        .dir("usr/bin/")
        .symlink("bin", "usr/bin")
        .program("usr/bin/setuid", 0o4755)
        .device("dev/null")
        .symlink("absolute", "/usr/bin/setuid")
        .symlink("climbing", "../../../etc/keep")
        .hard_link("etc/same", "etc/keep");
    let upper = Layer::new()
        .file("etc/.wh.gone", "")
        .file("etc/over", "upper")
        .file("opaque/.wh..wh..opq", "")
        .file("opaque/new", "y")
        .file("dir", "a file now")
        .program("bin/through", 0o755);
    let root = tree(made.gzip(vec![lower, upper], "['/']"));
    let read = |path: &str| std::fs::read_to_string(root.join(path)).unwrap();
    assert_eq!(
        (read("etc/keep"), read("etc/over"), read("etc/same")),
        ("lower".into(), "upper".into(), "lower".into())
    );
    assert_eq!(list(&root.join("etc")), ["keep", "over", "same"].map(str::to_owned).into());
    assert_eq!(list(&root.join("opaque")), ["new".to_owned()].into());
    assert_eq!(read("dir"), "a file now");
    assert_eq!(mode(&root.join("usr/bin/setuid")), 0o555, "setuid is dropped");
    assert!(root.join("usr/bin/through").exists() && !root.join("dev/null").exists());
    let link = |path: &str| std::fs::read_link(root.join(path)).unwrap().display().to_string();
    assert_eq!(
        (link("absolute"), link("climbing"), link("bin")),
        ("usr/bin/setuid".into(), "etc/keep".into(), "usr/bin".into())
    );
}

/// Only what was asked for is there, and a path that is not in the image is named.
#[test]
fn only_what_was_asked_for() {
    let layers = || vec![Layer::new().file("a/b/c", "1").file("a/bc", "2").file("d", "3")];
    let made = Made::new();
    let root = tree(made.gzip(layers(), "['/a/b', '/d']"));
    assert_eq!(list(&root), ["a", "d"].map(str::to_owned).into());
    assert_eq!(list(&root.join("a")), ["b".to_owned()].into());
    let text = refused(made.gzip(layers(), "['/a/b', '/nothing']"));
    assert!(text.contains("has no `/nothing`"), "{text}");
    let text =
        refused(made.gzip(vec![Layer::new().symlink("bin", "usr/bin").file("usr/bin/x", "")], "['/bin/x']"));
    assert!(text.contains("`/bin` is a link to `usr/bin`"), "{text}");
}

/// zstd and plain layers are layers too.
#[test]
fn other_compressions() {
    let made = Made::new();
    let plain = ("application/vnd.oci.image.layer.v1.tar", Layer::new().file("plain", "1").tar());
    let zstd = ruzstd::encoding::compress_to_vec(
        Layer::new().file("zstd", "2").tar().as_slice(),
        ruzstd::encoding::CompressionLevel::Fastest,
    );
    let zstd = ("application/vnd.oci.image.layer.v1.tar+zstd", zstd);
    let docker =
        ("application/vnd.docker.image.rootfs.diff.tar.gzip", Layer::new().file("docker", "3").gzip());
    let root = tree(made.layers(&[plain, zstd, docker], "['/']"));
    assert_eq!(list(&root), ["docker", "plain", "zstd"].map(str::to_owned).into());
}

/// Paths that lead out of the root.
#[test]
fn layers_that_climb() {
    let made = Made::new();
    let text = refused(made.gzip(vec![Layer::new().file("a/../../etc/passwd", "x")], "['/']"));
    assert!(text.contains("has the path `a/../../etc/passwd`, which leads out of the root"), "{text}");
    let text = refused(made.gzip(vec![Layer::new().hard_link("x", "../../etc/shadow")], "['/']"));
    assert!(text.contains("`../../etc/shadow`, which leads out of the root"), "{text}");
    let text = refused(made.gzip(vec![Layer::new().hard_link("x", "etc/shadow")], "['/']"));
    assert!(text.contains("`/x` is a hard link to `/etc/shadow`"), "{text}");
    assert!(!made.ws.dir.join("etc").exists());
}

/// Bytes that end too early, are no archive, or are far too many.
#[test]
fn layers_that_cannot_be_unpacked() {
    let made = Made::new();
    let kind = "application/vnd.oci.image.layer.v1.tar+gzip";
    let mut short = Layer::new().file("a", vec![7; 100_000]).gzip();
    short.truncate(short.len() / 2);
    let text = refused(made.layers(&[(kind, short)], "['/']"));
    assert!(text.contains("ends too early"), "{text}");
    let text = refused(made.layers(&[(kind, b"not gzip at all".to_vec())], "['/']"));
    assert!(text.contains("cannot be unpacked"), "{text}");
    // 10 GiB of zeros in some MiB: the same member again and again. The limit is reached after one of them.
    let member = gzip(&vec![0; 64 << 20]);
    let bomb = member.repeat((10 << 30) / (64 << 20));
    let text = refused(made.layers(&[(kind, bomb)], "['/']"));
    assert!(text.contains("more than a hundred times its size"), "{text}");
}

/// Bytes that are not what the manifest says.
#[test]
fn a_layer_that_was_changed_on_disk() {
    let made = Made::new();
    let layer = Layer::new().file("a", "x").gzip();
    let digest = tinderbox::internals::registry::Sha256::of(&layer);
    let ws = made.layers(&[("application/vnd.oci.image.layer.v1.tar+gzip", layer.clone())], "['/a']");
    let blob = ws.dir.join("layout/blobs/sha256").join(digest.hex());
    std::fs::remove_file(&blob).unwrap();
    std::fs::write(&blob, Layer::new().file("a", "y").gzip()).unwrap();
    let text = refused(ws);
    assert!(
        text.contains(&digest.to_string()) && text.contains("expected") && text.contains("found"),
        "{text}"
    );
}

/// image-references that are missing, no JSON, double, or lack what a recipe needs.
#[test]
fn image_references() {
    let build = |references: Option<&str>, payload: &[(&str, &str)], target: &str| {
        let made = Made::new();
        let release = Release {
            version: "4.18.0".into(),
            payload: payload.iter().map(|(file, text)| ((*file).to_owned(), (*text).to_owned())).collect(),
            references: references.map(str::to_owned),
            ..Release::default()
        };
        release.put(&made.pack, "made");
        let locked = made.ws.output(&["lock", "--update", "release", "-q"]);
        let text = match locked.status.success() {
            true => made.ws.run(&["build", target, "-q"]),
            false => made.ws.text(&locked),
        };
        made.ws.assert_sound();
        text
    };
    let manifest = ("0000_x.yaml", "kind: X\n");
    let text = build(Some("{"), &[manifest], "release/images");
    assert!(text.contains("is not an ImageStream"), "{text}");
    let image = format!("quay.io/a/b@sha256:{}", "0".repeat(64));
    let tag = |name: &str| json!({"name": name, "from": {"name": image}});
    let twice = json!({"kind": "ImageStream", "spec": {"tags": [tag("etcd"), tag("etcd")]}}).to_string();
    let text = build(Some(&twice), &[manifest], "release/images");
    assert!(text.contains("lists component `etcd` twice"), "{text}");
    let lacking = json!({"kind": "ImageStream", "spec": {"tags": [tag("cluster-config-apis")]}}).to_string();
    let text = build(Some(&lacking), &[manifest], "release/crds");
    assert!(
        text.contains(
            "`release/config-api` cannot be built: the release has no component `cluster-config-api` ("
        ),
        "{text}"
    );
    assert!(
        text.contains("config-api.toml") && text.contains("`tinderbox release info` lists what it has"),
        "{text}"
    );
    let text = build(None, &[], "release/payload");
    assert!(text.contains("/release-manifests has no manifests"), "{text}");
}

/// An image that is no release, one of another architecture, and a tag that is not there.
#[test]
fn what_is_no_release() {
    let made = Made::new();
    made.pack.plain(vec![Layer::new().file("a", "x")], Some("made"));
    let text = made.ws.run(&["lock", "--update", "release"]);
    assert!(text.contains("it is not a release image: it has no label io.openshift.release"), "{text}");
    Release { version: "4.18.0\nhint: \u{1b}[2J".into(), ..Release::default() }.put(&made.pack, "made");
    let text = made.ws.run(&["lock", "--update", "release"]);
    assert!(text.contains("its version `4.18.0\\nhint: \\u{1b}[2J` is not a version"), "{text}");
    for version in ["6", "4.18", "nightly", "99999999999999999999.1.0"] {
        Release { version: version.into(), ..Release::default() }.put(&made.pack, "made");
        let text = made.ws.run(&["lock", "--update", "release"]);
        assert!(text.contains(&format!("its version `{version}` is not a version such as 4.19.3")), "{text}");
    }
    Release { version: "4.18.0".into(), ..Release::default() }.put(&made.pack, "made");
    made.ws.edit("cluster.yaml", "release: oci:layout:made", "release: oci:layout:mad\narchitecture: arm64");
    let text = made.ws.run(&["lock", "--update", "release"]);
    assert!(text.contains("mad") && text.contains("[exit 1]"), "{text}");
    made.ws.edit("cluster.yaml", "oci:layout:mad", "oci:layout:made");
    let text = made.ws.run(&["lock", "--update", "release"]);
    assert!(text.contains("there is no image for linux/arm64, only for linux/amd64"), "{text}");
    assert_eq!(name("x").registry, "registry.example.com");
}

/// A release for one architecture with a component for another, which only the component's configuration says.
#[test]
fn a_component_for_another_architecture() {
    let made = Made::new();
    let layer = Layer::new().file("a", "x").gzip();
    let layers = [("application/vnd.oci.image.layer.v1.tar+gzip", layer)];
    let image = made.pack.image_for("arm64", &layers, &json!({}), None);
    let text = made.component(image, "['/']").run(&["build", "-q", "demo/image"]);
    assert!(text.contains("there is no image for linux/amd64, only for linux/arm64"), "{text}");
    assert!(text.contains("`demo/image` cannot be built (recipes/20-demo/image.toml)"), "{text}");
}

/// A disk that fills up while a layer is unpacked: a clear error, a sound store, and a build that succeeds later.
#[test]
fn a_full_disk_while_unpacking() {
    let Some(flags) = in_mount_namespace("a full disk") else { return };
    let made = Made::new();
    let large = crate::registry::sample::noise(6 << 20, 7);
    let ws = made.gzip(vec![Layer::new().file("large", large)], "['/large']");
    let text = script(
        ws,
        &flags,
        "mount -t tmpfs -o size=10m,mode=755 tinderbox $S
         $T build -q release/images >/dev/null; echo small: $?
         head -c 5m /dev/zero > $S/filler
         $T build -q demo/image; echo full: $?
         rm $S/filler # foreign, which `verify` would say
         $T store verify >/dev/null; echo verify: $?
         ls $S/.tinderbox/tmp
         $T build -q demo/image >/dev/null; echo room: $?
         $T store verify >/dev/null; echo verify: $?",
    );
    let (stdout, stderr) = text.split_once("[stderr]\n").unwrap();
    assert_eq!(stdout, "small: 0\nfull: 1\nverify: 0\nroom: 0\nverify: 0\n");
    assert!(
        stderr.contains("No space left on device") && stderr.contains("hint: the disk is full"),
        "{stderr}"
    );
}

/// In a lock, a location without `://` is a file of the user's own, which machines boot without being asked for it.
#[test]
fn a_release_names_no_files_of_this_machine() {
    let ws = Workspace::example().prebuilt();
    let pack = Pack::create(&ws.dir.join("layout"));
    let release = Release::of(&ws, "4.18.0");
    let iso = "https://demo.invalid/rhcos/4.18/";
    ws.edit("cluster.yaml", "release: demo:4.18", "release: oci:layout:made");
    for location in ["/etc/passwd", "../passwd", "file:///etc/passwd", "https://demo.invalid/a b"] {
        let mut bad = release.clone();
        for (_, text) in bad.payload.iter_mut().filter(|(file, _)| file.contains("bootimages")) {
            let from = text.find(iso).unwrap();
            let to = from + text[from..].find(['"', '\\']).unwrap();
            text.replace_range(from..to, location);
        }
        bad.put(&pack, "made");
        let before = std::fs::read_to_string(ws.dir.join("cluster.lock")).unwrap();
        let said = ws.run(&["lock", "--update", "release"]);
        let wanted = format!("`{location}` is not an http or https URL");
        assert!(said.contains(&wanted) && said.contains("[exit 1]"), "{said}");
        assert_eq!(std::fs::read_to_string(ws.dir.join("cluster.lock")).unwrap(), before);
    }
}
