//! Everything that stands in the way is said before anything is changed.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use super::apply::kill_inside;
use super::{Libvirt, small};
use crate::harness::{Workspace, epoch, left_out, mode};
use crate::session::terminal::on_terminal;

/// The errors of a plan, which must fail, without what it would do.
fn errors(libvirt: &Libvirt, ws: &Workspace) -> String {
    let text = libvirt.run(ws, &["realize", "plan"]);
    text.split_once("[stderr]\n").map(|(_, errors)| errors.to_owned()).unwrap_or(text)
}

/// Objects of our names that others made, addresses that others have, and images that are not there.
#[test]
fn what_is_not_ours_is_left_alone() {
    let Some(libvirt) = Libvirt::start("obstacles on a real libvirt") else { return };
    let ws = small();
    let file = |name: &str| ws.dir.join("result/infra").join(name);
    let other = |name: &str, uuid: &str| {
        let text = fs::read_to_string(file(name)).unwrap();
        let (before, rest) = text.split_once("<uuid>").unwrap();
        let (_, after) = rest.split_once("</uuid>").unwrap();
        let path = ws.temp().join(name);
        fs::write(&path, format!("{before}<uuid>{uuid}</uuid>{after}")).unwrap();
        path.display().to_string()
    };
    libvirt.virsh(&["net-define", &other("network.xml", "00000000-0000-4000-8000-000000000001")]);
    libvirt.virsh(&["pool-define", &other("pool.xml", "00000000-0000-4000-8000-000000000002")]);
    libvirt.virsh(&["define", &other("master-0.xml", "00000000-0000-4000-8000-000000000003")]);
    // Ours by its UUID, but somebody took our mark away.
    let text = fs::read_to_string(file("master-1.xml")).unwrap();
    let (before, rest) = text.split_once("<metadata>").unwrap();
    let (_, after) = rest.split_once("</metadata>").unwrap();
    fs::write(ws.temp().join("unmarked.xml"), [before, after].concat()).unwrap();
    libvirt.virsh(&["define", ws.temp().join("unmarked.xml").to_str().unwrap()]);
    insta::assert_snapshot!(errors(&libvirt, &ws), @r"
    error: another network is called `ocp4` (UUID 00000000-0000-4000-8000-000000000001), and is not this cluster's
    hint: remove it, or set `libvirt.network` in cluster.yaml to another name; another seed gives another UUID too
    error: another pool is called `ocp4` (UUID 00000000-0000-4000-8000-000000000002), and is not this cluster's
    hint: remove it, or set `libvirt.pool` in cluster.yaml to another name; another seed gives another UUID too
    error: another machine is called `ocp4-cv5ll-master-0` (UUID 00000000-0000-4000-8000-000000000003), and is not this cluster's
    hint: remove it, or rename it with `virsh domrename`
    error: the machine `ocp4-cv5ll-master-1` has the UUID of `master-1`, but not the marker of this cluster
    hint: somebody redefined it: undefine it, and `tinderbox realize apply` creates it again
    [exit 1]
    ");
    let machines = libvirt.virsh(&["list", "--all", "--name"]);
    assert_eq!(machines.split_whitespace().count(), 2, "nothing was made: {machines}");
    for machine in machines.split_whitespace() {
        libvirt.virsh(&["undefine", machine]);
    }
    libvirt.virsh(&["net-undefine", "ocp4"]);
    libvirt.virsh(&["pool-undefine", "ocp4"]);

    // An interface with our addresses, and a bridge of our name.
    libvirt.sh("ip link add office type bridge && ip address add 192.168.126.7/24 dev office && ip link add virbr-ocp4 type bridge");
    insta::assert_snapshot!(errors(&libvirt, &ws), @r"
    error: the interface `virbr-ocp4` exists, and libvirt did not create it
    hint: set `libvirt.bridge` in cluster.yaml to another name
    error: the interface `office` uses 192.168.126.7/24, which overlaps with this cluster's 192.168.126.1/24
    hint: a subnet can be in one place only: give the cluster another `machineNetwork`, or stop what uses it
    [exit 1]
    ");
    libvirt.sh("ip link delete office; ip link delete virbr-ocp4");

    // Somebody else's web servers have every address.
    let others = ["0.0.0.0:443", "0.0.0.0:9000"].map(|at| {
        libvirt.enter(Path::new("busybox")).args(["httpd", "-f", "-p", at, "-h", "/run"]).spawn().unwrap()
    });
    let end = Instant::now() + Duration::from_secs(60);
    while libvirt.sh("cat /proc/net/tcp").lines().count() < 3 {
        assert!(Instant::now() < end);
    }
    insta::assert_snapshot!(errors(&libvirt, &ws), @r"
    error: the load balancer cannot listen on 192.168.126.10:9000, 192.168.126.11:443: other programs do
    hint: `ss -ltnp` shows which: stop them, or give them other addresses
    [exit 1]
    ");
    others.into_iter().for_each(|mut other| kill_inside(&mut other));

    // A PATH without the load balancer in it.
    let bare =
        libvirt.command(&ws, &["realize", "plan", "-q"]).env("PATH", "/usr/bin:/bin").output().unwrap();
    let told = String::from_utf8(bare.stderr).unwrap();
    assert!(told.contains("error: `haproxy` is not in PATH\n"), "{told}");

    // No image, one that is compressed, and none at all.
    fs::write(ws.dir.join("rhcos.qcow2"), [0x1f, 0x8b, 8, 0]).unwrap();
    insta::assert_snapshot!(errors(&libvirt, &ws), @r"
    error: `[DIR]/rhcos.qcow2` is not a QEMU image
    hint: it is compressed: unpack it with `gunzip`, and run `tinderbox lock --update rhcos`
    [exit 1]
    ");
    fs::remove_file(ws.dir.join("rhcos.qcow2")).unwrap();
    insta::assert_snapshot!(errors(&libvirt, &ws), @r"
    error: `base-[IMAGE].qcow2` cannot be created: the image of the node OS is not on this machine
    hint: put it at `[DIR]/rhcos.qcow2` again, or change `rhcos.qcow2` in cluster.yaml
    [exit 1]
    ");
    let lock = fs::read_to_string(ws.dir.join("cluster.lock")).unwrap();
    ws.write("cluster.lock", lock.split_once("[rhcos.qcow2]").unwrap().0);
    ws.edit("cluster.yaml", "rhcos: {qcow2: rhcos.qcow2}", "");
    insta::assert_snapshot!(errors(&libvirt, &ws), @r"
    error: `bootstrap-[ID:16]-none.iso` cannot be created: the image of the node OS is not on this machine
    hint: name the release's live ISO in cluster.yaml (`rhcos: {iso: FILE}`), and run `tinderbox lock --update rhcos`; its QEMU image works too (`rhcos: {qcow2: FILE}`)
    [exit 1]
    ");
}

/// A pool without room, machines that cannot run, and certificates that have ended.
#[test]
fn a_host_that_cannot_take_the_machines_is_told_so() {
    // A device that is there and is no KVM: as in a container, or with virtualisation off.
    let before = "[ ! -e /dev/kvm ] || mount --bind /dev/null /dev/kvm";
    let Some(libvirt) = Libvirt::start_after("a host without KVM", before) else { return };
    let ws = small();
    let pool = ws.temp().join("pool");
    libvirt.sh(&format!("mkdir -p {0} && mount -t tmpfs -o size=64m tinderbox {0}", pool.display()));
    ws.edit("cluster.yaml", "domainType: qemu", "domainType: kvm");
    ws.edit("cluster.lock", epoch(), "2020-01-01T00:00:00Z");
    insta::assert_snapshot!(errors(&libvirt, &ws), @r"
    warning: operators will replace what they are handed (aggregator-client-signer, kube-control-plane-signer, csr-signer-signer, kube-apiserver-to-kubelet-signer, etcd-signer), because they adopt it only until [TIME]; run `tinderbox renew` before the boot
    warning: the certificate `kube-proxy` and 18 more expired at [TIME]: run `tinderbox renew`
    error: the host cannot run x86_64 machines of type `kvm`: failed to get emulator capabilities; invalid argument: the accel 'kvm' is not supported by '/usr/bin/qemu-system-x86_64' on this host
    hint: enable virtualisation in the firmware and load the kvm module; or set `libvirt.domainType: qemu` in cluster.yaml, which emulates, and is slow
    error: `[TEMP]/pool` has 0.1 GB free, and the nodes need at least 6.0 GB
    hint: free some space, or set `libvirt.path` in cluster.yaml to a directory that has it
    error: the first certificate expires before a boot can finish: this set boots until [TIME]
    hint: `tinderbox renew` issues new certificates with the same keys
    [exit 1]
    ");
}

/// libvirt that is not there, does not let us in, or cannot be reached.
#[test]
fn a_libvirt_that_cannot_be_talked_to_is_an_error_of_its_own() {
    let ws = small();
    let uri = |uri: &str| {
        let text = fs::read_to_string(ws.dir.join("cluster.yaml")).unwrap();
        let libvirt = text.lines().find(|line| line.starts_with("libvirt:")).unwrap();
        let (_, rest) = libvirt.split_once("path:").unwrap();
        ws.edit("cluster.yaml", libvirt, &format!("libvirt: {{uri: '{uri}', path:{rest}"));
    };
    if std::process::Command::new("virsh").arg("--version").output().is_err() {
        return left_out("libvirt's refusals", "virsh, of Debian's libvirt-clients");
    }
    // A path of its own, so that a libvirt on this machine does not answer.
    let socket = ws.temp().join("no-such-socket");
    uri(&format!("qemu+unix:///system?socket={}", socket.display()));
    insta::assert_snapshot!(ws.run(&["realize", "plan", "-q"]), @r"
    [stderr]
    error: libvirt is not running at `qemu+unix:///system?socket=[TEMP]/no-such-socket`: Failed to connect socket to '[TEMP]/no-such-socket': No such file or directory
    hint: start it (`sudo systemctl start libvirtd`, or `sudo libvirtd -d` on a host without systemd), or set `libvirt.uri` in cluster.yaml
    [exit 1]
    ");
    // On a terminal virsh starts polkit's agent first, which complains where there is no polkit.
    let shown = on_terminal(&ws, 200, &["realize", "plan", "-q"]);
    let is_told = shown.starts_with("error: libvirt is not running at ") && !shown.contains("polkit");
    assert!(is_told && shown.contains("hint: start it ("), "{shown}");
    let path = ws.temp().join("empty");
    fs::create_dir(&path).unwrap();
    let mut without = ws.command(&["realize", "plan"]);
    insta::assert_snapshot!(ws.text(&without.env("PATH", &path).output().unwrap()), @r"
    [stderr]
    error: `virsh` is not in PATH
    hint: install libvirt's client (Debian: libvirt-clients, Fedora: libvirt-client)
    [exit 1]
    ");

    let Some(libvirt) = Libvirt::start("a libvirt that lets only root in") else { return };
    uri("qemu:///system");
    let Some(plain) = ws.as_plain_user("libvirt as a plain user", &["realize", "plan"]) else { return };
    ws.give_away();
    let program = ws.temp().join("tinderbox");
    assert_eq!(mode(&program), 0o755);
    drop(plain);
    let mut inside = libvirt.enter(Path::new("setpriv"));
    inside.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]).arg(&program);
    inside.args(["-C", ws.dir.to_str().unwrap(), "--store", ws.store.to_str().unwrap(), "realize", "plan"]);
    inside.env("HOME", ws.temp()).env("NO_COLOR", "1");
    insta::assert_snapshot!(ws.text(&inside.output().unwrap()), @r"
    [stderr]
    error: libvirt at `qemu:///system` denies access: Failed to connect socket to '/var/run/libvirt/libvirt-sock': Permission denied
    hint: join the group `libvirt` (`sudo usermod -aG libvirt $USER`, then log in again), or use `qemu:///session` in cluster.yaml; if you are a member already, check that it runs (`systemctl status libvirtd virtqemud.socket`)
    [exit 1]
    ");
}
