//! Machines that really boot: Debian's kernel and Debian's own Ignition, from a disk image and through a live ISO, with the
//! node's own config. What they applied is read from their consoles by `status`, and from their disks from outside.
//!
//! The config is the one that the closure has, to the byte. Debian's Ignition knows specs up to 3.3: recipes of the
//! cluster directory's own make the nodes' configs in that.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;
use sha2::Digest as _;
use tinderbox::internals::booted::{Booted, Expected};
use tinderbox::internals::console_filter::without_config;

use super::{Libvirt, small};
use crate::harness::documents::assert_document;
use crate::harness::{Workspace, left_out, mode, source};
use crate::ignition::{config, entries};

const KEY: &str =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f me@example.com";

/// How long all machines may take, emulated on a busy host.
const BOOT: Duration = Duration::from_secs(600);

/// What the image is made of. A word about it if something is missing.
pub(crate) fn is_complete(part: &str) -> bool {
    for (path, package) in [
        ("/usr/lib/dracut/modules.d/30ignition/ignition", "ignition"),
        ("/usr/lib/grub/i386-pc/boot.img", "grub-pc-bin"),
    ] {
        if !Path::new(path).exists() {
            left_out(part, &format!("{path}, of Debian's {package}"));
            return false;
        }
    }
    for (command, package) in [
        ("ls /boot/vmlinuz-*-cloud-amd64", "linux-image-cloud-amd64"),
        ("command -v grub-mkimage", "grub-common"),
        ("command -v busybox", "busybox-static"),
        ("command -v useradd", "passwd"),
        ("command -v systemctl", "systemd"),
        ("command -v systemd-ask-password && command -v systemd-tty-ask-password-agent", "systemd"),
        ("command -v gpg", "gpg"),
        ("command -v modprobe", "kmod"),
        ("command -v cpio", "cpio"),
        ("command -v mke2fs && command -v debugfs", "e2fsprogs"),
        ("command -v xorriso", "xorriso"),
    ] {
        if !Command::new("sh").args(["-c", command]).output().unwrap().status.success() {
            left_out(part, &format!("`{command}`, of Debian's {package}"));
            return false;
        }
    }
    true
}

/// Makes the image, or the live ISO, in a directory.
pub(crate) fn image(dir: &Path, what: &str) {
    fs::create_dir(dir).unwrap();
    let here = source("tests/it/host/realize");
    let mut command = Command::new("sh");
    command.arg(here.join("image.sh")).arg(dir).arg(here.join("init.sh")).arg(what);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

/// Nodes' configs in the spec that Debian's Ignition knows; with a user, whom it has to make.
pub(crate) fn older(ws: &Workspace) {
    let files = source("recipes/65-ignition");
    for file in fs::read_dir(&files).unwrap().map(|file| file.unwrap().path()) {
        let text = fs::read_to_string(&file).unwrap();
        let text = ["master", "worker"].into_iter().fold(text, |text, pool| {
            text.replace(&format!("\"mco/{pool}:config.ign\""), &format!("\"older/{pool}:config.ign\""))
                .replace(&format!("\"mco/{pool}:version\""), &format!("\"older/{pool}:version\""))
        });
        ws.write(&format!("recipes/65-ignition/{}", file.file_name().unwrap().to_str().unwrap()), &text);
    }
    ws.write(
        "recipes/64-older/pools.toml",
        "# The rendered config in the spec that the test's Ignition knows; nothing in it is newer.
builder = \"template\"
for_each = [\"master\", \"worker\"]
name = \"{each}\"

[inputs]
base = \"mco/{each}:config.ign\"

[files]
\"config.ign\" = \"config.ign.j2\"
\"version\" = \"version.j2\"
",
    );
    let replaced = r#"{{ base | replace('"version":"3.4.0"', '"version":"3.3.0"') | safe }}"#;
    ws.write("recipes/64-older/config.ign.j2", replaced);
    ws.write("recipes/64-older/version.j2", "3.3.0\n");
    ws.edit("install-config.yaml", "# sshKey: ssh-ed25519 AAAA… you@example.com", &format!("sshKey: {KEY}"));
}

pub(crate) fn sha256(path: &Path) -> String {
    let digest = sha2::Sha256::digest(fs::read(path).unwrap());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn apply(libvirt: &Libvirt, ws: &Workspace, args: &[&str]) {
    let output =
        libvirt.command(ws, &[&["realize", "apply", "-q", "--no-wait"], args].concat()).output().unwrap();
    assert!(output.status.success(), "{}", ws.text(&output));
}

fn status(libvirt: &Libvirt, ws: &Workspace) -> Vec<Value> {
    let output = libvirt.command(ws, &["realize", "status", "--json", "-q"]).output().unwrap();
    assert!(output.status.success(), "{}", ws.text(&output));
    let status: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_document(ws, "realize-status", &status);
    status["machines"].as_array().unwrap().clone()
}

/// Everything that a machine wrote to its console.
fn written(ws: &Workspace, node: &str) -> String {
    let log = fs::read(ws.temp().join(format!("pool/{node}.log"))).unwrap_or_default();
    String::from_utf8_lossy(&log).into_owned()
}

/// Waits until `status` has seen these nodes' addresses, and that they booted their own Ignition. What it said of each on
/// the way, without repetitions.
fn wait(libvirt: &Libvirt, ws: &Workspace, nodes: &[(&str, &str)]) -> Vec<Vec<String>> {
    let end = Instant::now() + BOOT;
    let mut seen = vec![Vec::new(); nodes.len()];
    loop {
        let machines = status(libvirt, ws);
        let mut open = Vec::new();
        for ((node, ip), seen) in nodes.iter().zip(&mut seen) {
            let machine = machines.iter().find(|machine| machine["node"] == *node).unwrap();
            let booted = machine["booted"].as_str().unwrap_or("nothing").to_owned();
            let addresses = machine["addresses"].as_array().unwrap();
            if booted != "current" || !addresses.contains(&Value::from(*ip)) {
                open.push(machine.clone());
            }
            assert_ne!(booted, "failed", "{node}: {}", written(ws, node));
            if seen.last() != Some(&booted) {
                seen.push(booted);
            }
        }
        match open.first() {
            None => return seen,
            Some(first) => {
                let node = first["node"].as_str().unwrap();
                assert!(Instant::now() < end, "{open:?}\n{}", written(ws, node));
            }
        }
        std::thread::sleep(Duration::from_millis(500));
    }
}

/// Everything on a node's disk, read without mounting it. Its machine is switched off.
fn disk(libvirt: &Libvirt, ws: &Workspace, node: &str) -> PathBuf {
    let names = libvirt.virsh(&["list", "--name"]);
    let name = names.split_whitespace().find(|name| name.ends_with(node)).unwrap();
    libvirt.virsh(&["destroy", name]);
    let (raw, out) = (ws.temp().join(format!("{node}.raw")), ws.temp().join(format!("{node}.tree")));
    fs::create_dir(&out).unwrap();
    for command in [
        format!("qemu-img convert -O raw {}/pool/{node}.qcow2 {}", ws.temp().display(), raw.display()),
        format!("debugfs -R 'rdump / {}' '{}?offset=1048576'", out.display(), raw.display()),
    ] {
        let output = Command::new("sh").args(["-c", &command]).output().unwrap();
        assert!(output.status.success(), "{command}: {output:?}");
    }
    fs::remove_file(raw).unwrap();
    out
}

/// What the node's config says is on its disk, with its modes.
pub(crate) fn assert_applied(ws: &Workspace, node: &str, root: &Path) {
    let (config, object) = (config(ws, node), ws.path_of(&format!("ignition/{node}")));
    let files = entries(&config, "storage.files");
    assert!(files.len() > 10, "{node}: {}", files.len());
    for (path, file) in files {
        let real = root.join(path.trim_start_matches('/'));
        assert_eq!(i64::from(mode(&real)), file["mode"].as_i64().unwrap(), "{node}: {path}");
        let expected = fs::read(object.join(format!("tree{path}"))).unwrap();
        assert!(fs::read(&real).unwrap() == expected, "{node}: {path}");
    }
    let hostname = fs::read_to_string(root.join("etc/hostname")).unwrap();
    assert_eq!(hostname.trim(), format!("{node}.ocp4.example.com"));
    let units = fs::read_to_string(root.join("etc/systemd/system-preset/20-ignition.preset")).unwrap();
    assert!(units.contains("enable kubelet.service"), "{node}: {units}");
    let keys = fs::read_to_string(root.join("home/core/.ssh/authorized_keys.d/ignition")).unwrap();
    assert!(keys.contains(KEY), "{node}: {keys}");
}

/// What a console must never show, in the forms in which a config has it.
fn assert_no_secret(ws: &Workspace, node: &str) {
    let log = written(ws, node);
    assert!(log.contains("files: files passed"), "{log}");
    for secret in ["ZGVtbzpkZW1v", "PRIVATE%20KEY", "PRIVATE KEY", "Full config"] {
        assert!(!log.contains(secret), "{node}: {secret}");
    }
}

/// The config of a run that failed is on the console; `realize logs` does not show it.
#[test]
fn what_a_failed_ignition_shows_is_not_shown_on() {
    const IGNITION: &str = "/usr/lib/dracut/modules.d/30ignition/ignition";
    if !Path::new(IGNITION).exists() {
        return left_out("an Ignition that fails", "Debian's package ignition");
    }
    let ws = Workspace::on_disk().filled().prebuilt();
    older(&ws);
    ws.build(&["ignition/worker-0"]);
    let (config, root) = (ws.path_of("ignition/worker-0").join("worker-0.ign"), ws.temp().join("root"));
    fs::create_dir_all(root.join("etc")).unwrap();
    fs::write(root.join("etc/kubernetes"), "a file, where a directory has to be").unwrap();
    let script = format!(
        "for stage in fetch files; do IGNITION_CONFIG_FILE={} {IGNITION} --platform=file --log-to-stdout \\
         --stage=$stage --root=root --config-cache=cache --state-file=state --neednet=net 2>&1; done",
        config.display()
    );
    let log = Command::new("sh").args(["-c", &script]).current_dir(ws.temp()).output().unwrap().stdout;
    let secret = |text: &[u8]| String::from_utf8_lossy(text).contains("ZGVtbzpkZW1v");
    assert!(secret(&log), "{}", String::from_utf8_lossy(&log));
    let shown = without_config(&log);
    assert!(!secret(&shown));
    let expected = Expected::of(&fs::read_to_string(&config).unwrap());
    assert_eq!(Booted::read(&shown, &expected), Some(Booted::Failed));
}

#[test]
fn machines_boot_their_ignition_from_an_image() {
    const PART: &str = "machines that boot from an image";
    let Some(libvirt) = Libvirt::start(PART).filter(|_| is_complete(PART)) else { return };
    let ws = small();
    let made = ws.temp().join("image");
    image(&made, "");
    let pinned = ws.dir.join("rhcos.qcow2");
    let before = sha256(&pinned);
    fs::copy(made.join("disk.qcow2"), &pinned).unwrap();
    ws.edit("cluster.lock", &before, &sha256(&pinned));
    older(&ws);

    apply(&libvirt, &ws, &[]);
    let nodes = [
        ("bootstrap", "192.168.126.100"),
        ("master-0", "192.168.126.101"),
        ("master-1", "192.168.126.102"),
        ("master-2", "192.168.126.103"),
        ("worker-0", "192.168.126.110"),
        ("worker-1", "192.168.126.111"),
    ];
    wait(&libvirt, &ws, &nodes);
    let row = |machine: &Value| {
        assert_eq!(machine["made_with"], machine["ignition"]);
        format!("{} {} {} {}\n", machine["node"], machine["state"], machine["booted"], machine["addresses"])
    };
    insta::assert_snapshot!(status(&libvirt, &ws).iter().map(row).collect::<String>(), @r#"
    "bootstrap" "running" "current" ["192.168.126.100"]
    "master-0" "running" "current" ["192.168.126.101"]
    "master-1" "running" "current" ["192.168.126.102"]
    "master-2" "running" "current" ["192.168.126.103"]
    "worker-0" "running" "current" ["192.168.126.110"]
    "worker-1" "running" "current" ["192.168.126.111"]
    "#);
    for (node, ip) in nodes {
        let said = format!("node: {node}.ocp4.example.com has {ip}/24 on 52:54:00:");
        assert!(written(&ws, node).contains(&said), "{node}");
        assert_no_secret(&ws, node);
    }

    // Another Ignition is wanted: what runs did not boot it, and this is seen.
    ws.edit("cluster.yaml", "ip: 192.168.126.111", "ip: 192.168.126.112");
    let booted: Vec<(String, String)> = status(&libvirt, &ws)
        .iter()
        .map(|machine| (machine["node"].to_string(), machine["booted"].to_string()))
        .filter(|(_, booted)| booted != "\"current\"")
        .collect();
    assert_eq!(booted, [("\"worker-1\"".to_owned(), "\"another\"".to_owned())]);
    apply(&libvirt, &ws, &["--yes"]);
    wait(&libvirt, &ws, &[("worker-1", "192.168.126.112"), ("worker-0", "192.168.126.110")]);

    for node in ["bootstrap", "master-0", "worker-1"] {
        let root = disk(&libvirt, &ws, node);
        assert_applied(&ws, node, &root);
    }
}

/// The live ISO carries the node's config in its reserved area, where the kernel finds it; what is installed boots with it.
#[test]
fn machines_boot_their_ignition_through_a_live_iso() {
    const PART: &str = "machines that are installed from a live ISO";
    let Some(libvirt) = Libvirt::start(PART).filter(|_| is_complete(PART)) else { return };
    let ws = Workspace::on_disk().filled().prebuilt();
    ws.without_workers(1);
    let made = ws.temp().join("image");
    image(&made, "live");
    fs::rename(made.join("live.iso"), ws.dir.join("live.iso")).unwrap();
    let text = fs::read_to_string(ws.dir.join("cluster.yaml")).unwrap();
    let nodes = text.replace(", role:", ", vcpus: 1, memory: 256MiB, disk: 1GB, role:");
    let pool = ws.temp().join("pool");
    let more = format!(
        "\nlibvirt: {{path: '{}', domainType: qemu}}\nrhcos: {{iso: live.iso}}\nchecks: {{disabled: [machine-size]}}\n",
        pool.display()
    );
    ws.write("cluster.yaml", &(nodes + &more));
    ws.json(&["lock", "--update", "rhcos"]);
    older(&ws);

    apply(&libvirt, &ws, &[]);
    let nodes = [("bootstrap", "192.168.126.100"), ("master-0", "192.168.126.101")];
    wait(&libvirt, &ws, &nodes);
    for (node, _) in nodes {
        let root = disk(&libvirt, &ws, node);
        assert_applied(&ws, node, &root);
        assert_no_secret(&ws, node);
        // Up to where the live system had done its work, its console told of itself.
        let log = written(&ws, node);
        let (live, _) = log.split_once("node: installed").unwrap();
        let config = fs::read_to_string(ws.path_of(&format!("ignition/{node}")).join(format!("{node}.ign")));
        assert_eq!(Booted::read(live.as_bytes(), &Expected::of(&config.unwrap())), Some(Booted::Installer));
    }
}
