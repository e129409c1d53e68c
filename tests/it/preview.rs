//! `diff --component`: this cluster with another image for one component, from a directory, a layout or a registry.

use std::path::Path;

use serde_json::Value;
use tinderbox::internals::demo;
use tinderbox::internals::registry::Directory;

use super::harness::{Workspace, is_root, set_mode, tree};

const MCO: &str = "machine-config-operator";

/// The example, built, and the root of its machine-config operator's image beside it.
fn with_root() -> (Workspace, std::path::PathBuf) {
    let ws = Workspace::example().prebuilt();
    ws.build(&[]);
    let root = ws.temp().join("root");
    for (path, (mode, bytes)) in tree(&ws.path_of("mco/image")) {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        set_mode(&path, mode | 0o600);
    }
    (ws, root)
}

fn replaced(root: &Path) -> String {
    format!("{MCO}={}", root.display())
}

/// The developer's question: one template is edited, and every node that gets the file is named, with the file.
#[test]
fn an_edited_template_is_told_by_node_and_file() {
    let (ws, root) = with_root();
    let same = ws.output(&["diff", "--component", &replaced(&root)]);
    assert_eq!(same.status.code(), Some(0), "the same files: {}", ws.text(&same));
    let template = root.join("etc/mcc/templates/worker/01-worker-kubelet/_base/files/kubelet.conf.yaml");
    let text = std::fs::read_to_string(&template).unwrap();
    std::fs::write(&template, text.replace("serverTLSBootstrap: true", "serverTLSBootstrap: false")).unwrap();
    let page = ws.run(&["-q", "diff", "--component", &replaced(&root), "--summary"]);
    let (page, digest) = page.split_once(" → sha256:").unwrap();
    assert!(digest.ends_with("(--component)\n[exit 1]\n"), "{digest}");
    let page: Vec<&str> = page.lines().filter(|line| !line.starts_with("artifacts: ")).collect();
    insta::assert_snapshot!(page.join("\n"), @"
    the payload's own → preview of machine-config-operator=[TEMP]/root
    running nodes
      worker-0, worker-1: reboot (/etc/kubernetes/kubelet.conf)
    causes
      [1] component machine-config-operator: the payload's own
    ");

    let output = ws.output(&["-q", "diff", "--json", "--component", &replaced(&root)]);
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["causes"][0]["kind"], "component", "{found}");
    assert_eq!(found["causes"][0]["what"], MCO);
    let names: Vec<&str> =
        found["artifacts"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"mco/rendered") && !names.contains(&"mco/image"), "{names:?}");

    // A preview is not a build: what `realize` takes is as it was.
    assert_eq!(ws.json(&["generations"]).as_array().unwrap().len(), 1);
    assert_eq!(ws.build(&[]), Vec::<String>::new());
    // The image itself, if it is asked for.
    let only = ws.run(&["-q", "diff", "--component", &replaced(&root), "--only", "mco/image"]);
    assert!(only.contains("worker/01-worker-kubelet/_base/files/kubelet.conf.yaml"), "{only}");
}

/// The image of a layout: the same as the payload's own, and another one.
#[test]
fn a_layout_is_a_source_too() {
    let ws = Workspace::example().prebuilt();
    ws.build(&[]);
    let layout = ws.temp().join("layout");
    demo::open("4.18").unwrap().copy_to(&Directory::create(&layout).unwrap()).unwrap();
    let component = format!("{MCO}=oci:{}:{MCO}", layout.display());
    let same = ws.output(&["diff", "--component", &component]);
    assert_eq!(same.status.code(), Some(0), "{}", ws.text(&same));
    let all = format!("{MCO}=oci:{}", layout.display());
    let several = ws.run(&["-q", "diff", "--component", &all]);
    assert!(several.contains("name one of them with `:TAG`") && several.contains("[exit 2]"), "{several}");
    let other = format!("{MCO}=oci:{}:cluster-config-api", layout.display());
    let other = ws.run(&["-q", "diff", "--component", &other]);
    assert!(other.contains("`mco/shared`") && other.contains("[exit 2]"), "no programs in it: {other}");
}

#[test]
fn bad_components_say_what_is_wrong() {
    let (ws, root) = with_root();
    insta::assert_snapshot!(ws.run(&["-q", "diff", "--component", "machine-config-operater=./root"]), @"
    [stderr]
    error: the release has no component `machine-config-operater`
    hint: did you mean `machine-config-operator`?
    [exit 2]
    ");
    insta::assert_snapshot!(ws.run(&["-q", "diff", "--component", "machine-config-operator"]), @"
    [stderr]
    error: invalid value 'machine-config-operator' for '--component <NAME=REF>': it must be NAME=REF, such as machine-config-operator=./root
    For more information, try '--help'.
    [exit 2]
    ");
    insta::assert_snapshot!(ws.run(&["-q", "diff", "--component", "machine-config-operator=root"]), @"
    [stderr]
    error: `root` does not name an image for a component
    hint: write a directory that is an image's root (/DIR or ./DIR), oci:DIR:TAG, or registry/repository:tag
    [exit 2]
    ");
    insta::assert_snapshot!(ws.run(&["-q", "diff", "--component", "machine-config-operator=./nowhere"]), @"
    [stderr]
    error: cannot find `./nowhere`
    caused by: No such file or directory (os error 2)
    [exit 2]
    ");
    let etcd = format!("etcd={}", root.display());
    insta::assert_snapshot!(ws.run(&["-q", "diff", "--component", &etcd]), @"
    [stderr]
    error: nothing that is compared reads the image of `etcd`
    hint: a build runs no program of it; name an image of a registry to see where its pull spec goes
    [exit 2]
    ");
    let operator = format!("cluster-config-operator={}", root.display());
    insta::assert_snapshot!(ws.run(&["-q", "diff", "--component", &operator]), @"
    [stderr]
    error: nothing that is compared reads the image of `cluster-config-operator`
    hint: compare what does: `--only render/config`
    [exit 2]
    ");
    std::fs::create_dir(ws.temp().join("empty")).unwrap();
    let empty = format!("{MCO}={}", ws.temp().join("empty").display());
    insta::assert_snapshot!(ws.run(&["-q", "diff", "--component", &empty]), @"
    [stderr]
    error: the preview of machine-config-operator=[TEMP]/empty cannot be built
    caused by: `mco/shared` cannot be built (built-in recipes/60-mco/rendered.toml)
    caused by: the image has no program `/usr/bin/machine-config-operator`
    hint: name an image of this component, or the root of one, with its programs where the release has them
    [exit 2]
    ");
    let twice = replaced(&root);
    insta::assert_snapshot!(ws.run(&["-q", "diff", "--component", &twice, "--component", &twice]), @"
    [stderr]
    error: component `machine-config-operator` is replaced twice
    hint: name a component once
    [exit 2]
    ");
}

/// Programs for another architecture are noticed before anything runs.
#[test]
fn a_root_of_another_architecture_is_refused() {
    let (ws, root) = with_root();
    let mut elf = b"\x7fELF\x02\x01\x01".to_vec();
    elf.resize(18, 0);
    elf.extend(183u16.to_le_bytes());
    elf.resize(64, 0);
    let program = root.join("usr/bin/machine-config-daemon");
    std::fs::write(&program, elf).unwrap();
    set_mode(&program, 0o755);
    insta::assert_snapshot!(ws.run(&["-q", "diff", "--component", &replaced(&root)]), @"
    [stderr]
    error: `[TEMP]/root/usr/bin/machine-config-daemon` is a program for arm64, and the release is for amd64
    hint: build the component for linux/amd64
    [exit 2]
    ");
}

/// An image unpacked by a plain user has files that nobody may read, such as /etc/shadow: they are left out, and named.
#[test]
fn files_that_cannot_be_read_are_left_out() {
    if is_root() {
        return; // root reads everything
    }
    let (ws, root) = with_root();
    std::fs::write(root.join("etc/shadow"), "x").unwrap();
    set_mode(&root.join("etc/shadow"), 0);
    let output = ws.output(&["diff", "--component", &replaced(&root)]);
    assert_eq!(output.status.code(), Some(0), "{}", ws.text(&output));
    assert!(ws.text(&output).contains("such as /etc/shadow"), "{}", ws.text(&output));
}
