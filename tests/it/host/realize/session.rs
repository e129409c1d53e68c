//! Without root: a user's own libvirt, and the few commands that the plan lists for root.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use super::{Libvirt, small};
use crate::harness::{Workspace, copy_program};

/// Debian's helper is root's only where its administrator says so; the test's own copy may be anything.
const BEFORE: &str = r#"
cp /usr/lib/qemu/qemu-bridge-helper /run/helper
mount --bind /run/helper /usr/lib/qemu/qemu-bridge-helper
mkdir -p /etc/qemu && mount -t tmpfs tinderbox /etc/qemu
mkdir -p /run/user/65534 && chown 65534 /run/user/65534 && chmod 0700 /run/user/65534
"#;

/// A program inside, as nobody.
fn as_nobody(libvirt: &Libvirt, ws: &Workspace, words: &[&str]) -> Output {
    let inner = libvirt.inner.to_string();
    let enter = ["--target", &inner, "--net", "--mount", "--pid", "--", "setpriv"];
    let id = ["--reuid", "65534", "--regid", "65534", "--clear-groups"];
    let mut command = ws.command_of(Path::new("nsenter"), &[&enter[..], &id, words].concat());
    command.env("HOME", ws.temp().join("home")).env("XDG_RUNTIME_DIR", "/run/user/65534");
    command.output().unwrap()
}

/// Ours inside, as nobody.
fn realize(libvirt: &Libvirt, ws: &Workspace, args: &[&str]) -> Output {
    let (program, dir) = (ws.temp().join("tinderbox"), ws.dir.to_str().unwrap());
    let words = [&[program.to_str().unwrap(), "-C", dir, "realize"], args, &["-q"]].concat();
    as_nobody(libvirt, ws, &words)
}

/// Runs what was listed, as root.
fn as_root(libvirt: &Libvirt, listed: &Value) {
    for one in listed["privileged"].as_array().unwrap() {
        libvirt.sh(one["command"].as_str().unwrap().strip_prefix("sudo ").unwrap());
    }
}

fn json(ws: &Workspace, output: &Output) -> Value {
    assert!(output.status.success(), "{}", ws.text(output));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_user_needs_root_for_what_the_plan_lists_and_nothing_else() {
    let Some(libvirt) = Libvirt::start_after("realize without root", BEFORE) else { return };
    let ws = small();
    ws.edit("cluster.yaml", "libvirt: {path:", "libvirt: {uri: 'qemu:///session', path:");
    ws.build(&["cluster", "release/images"]);
    fs::create_dir(ws.temp().join("home")).unwrap();
    copy_program(Path::new(env!("CARGO_BIN_EXE_tinderbox")), &ws.temp().join("tinderbox"));
    let given = Command::new("chown").args(["-R", "65534:65534"]).arg(ws.temp()).status().unwrap();
    assert!(given.success());

    let refused = realize(&libvirt, &ws, &["apply", "--no-wait"]);
    insta::assert_snapshot!(ws.text(&refused).replace(ws.temp().to_str().unwrap(), "[TEMP]"), @r"
    [stderr]
    error: the network needs root
    hint: run this, then `tinderbox realize apply` again:
      sudo virsh -c qemu:///system net-define [STORE]/[ID]-cluster/infra/network.xml
      sudo virsh -c qemu:///system net-start ocp4
      sudo virsh -c qemu:///system net-autostart ocp4
      sudo sh -c 'mkdir -p /etc/qemu && echo allow virbr-ocp4 >> /etc/qemu/bridge.conf'
      sudo chmod u+s /usr/lib/qemu/qemu-bridge-helper
      sudo [STORE]/[ID]-cluster/infra/firewall.sh open
      sudo haproxy -D -f [STORE]/[ID]-cluster/infra/haproxy.cfg -p [DIR]/.realize/haproxy.pid
    [exit 1]
    ");
    as_root(&libvirt, &json(&ws, &realize(&libvirt, &ws, &["plan", "--json"])));
    json(&ws, &realize(&libvirt, &ws, &["apply", "--no-wait", "--json"]));
    let running = as_nobody(&libvirt, &ws, &["virsh", "-q", "-c", "qemu:///session", "list", "--name"]);
    let running = String::from_utf8(running.stdout).unwrap();
    assert_eq!(running.split_whitespace().count(), 6, "{running}");
    // Their interfaces are on the system's bridge.
    assert_eq!(libvirt.sh("ip -brief link show master virbr-ocp4").lines().count(), 6);

    as_root(&libvirt, &json(&ws, &realize(&libvirt, &ws, &["destroy", "--yes", "--json"])));
    assert_eq!(libvirt.virsh(&["net-list", "--all", "--name"]).trim(), "");
    assert_eq!(libvirt.sh("busybox pidof haproxy || true"), "");
    assert!(!ws.temp().join("pool").exists());
}
