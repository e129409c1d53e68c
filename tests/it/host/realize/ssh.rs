//! `realize ssh` and `realize logs` with a real OpenSSH server that stands in for a node, at the node's address in the
//! cluster's network.

use std::ffi::OsString;
use std::io::Read as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

use super::{Libvirt, small};
use crate::harness::documents::assert_document;
use crate::harness::{Workspace, left_out};

/// Before libvirt starts: logs and a home directory of the test's own, and a user `core`.
const BEFORE: &str = r"
mount -t tmpfs tinderbox /var/log && mkdir -p /var/log/libvirt/qemu /var/log/pods
mkdir -p /run/root/.ssh /run/node/bin /run/sshd
sed 's|^root:.*|root:x:0:0:root:/run/root:/bin/sh|' /run/passwd >/run/passwd.new
cat /run/passwd.new >/run/passwd
echo 'core:x:64100:64100::/run/node:/bin/sh' >>/run/passwd
grep -q ^sshd: /run/passwd || echo 'sshd:x:64101:64101::/run/sshd:/usr/sbin/nologin' >>/run/passwd
";

/// What a node's programs say here.
const PROGRAMS: &str = r#"
cd /run/node/bin
cat >sudo <<'END'
#!/bin/sh
[ "$1" = -n ] || exit 1
shift
exec "$@"
END
cat >journalctl <<'END'
#!/bin/sh
echo "journalctl $*"
cat /run/node/journal 2>/dev/null
case "$*" in *--follow*) while :; do echo tick; sleep 0.1; done ;; esac
END
cat >crictl <<'END'
#!/bin/sh
echo "CONTAINER  STATE  NAME"
END
cat >systemctl <<'END'
#!/bin/sh
echo "systemctl $*"
END
chmod +x *
"#;

/// An OpenSSH server at a node's address.
pub(super) struct Node<'a> {
    libvirt: &'a Libvirt,
    server: Child,
}

impl<'a> Node<'a> {
    /// Begins to listen, with new host keys.
    pub(super) fn start(libvirt: &'a Libvirt, ip: &str) -> Self {
        libvirt.sh(&format!(
            "set -e; [ -e /run/netns/node ] || {{
               ip netns add node; ip link add node0 type veth peer name eth0 netns node
               ip link set node0 master virbr-ocp4 up; ip -n node address add {ip}/24 dev eth0
               ip -n node link set lo up; ip -n node link set eth0 up
             }}
             rm -f /run/node/host_key*; ssh-keygen -q -t ed25519 -N '' -f /run/node/host_key
             [ -e /run/root/.ssh/id_ed25519 ] || ssh-keygen -q -t ed25519 -N '' -f /run/root/.ssh/id_ed25519
             cp /run/root/.ssh/id_ed25519.pub /run/node/authorized_keys
             cat >/run/node/sshd_config <<END
ListenAddress {ip}
HostKey /run/node/host_key
AuthorizedKeysFile /run/node/authorized_keys
PasswordAuthentication no
UsePAM no
StrictModes no
PidFile /run/node/sshd.pid
SetEnv PATH=/run/node/bin:/usr/sbin:/usr/bin:/sbin:/bin
END"
        ));
        libvirt.sh(PROGRAMS);
        let mut server = libvirt.enter(Path::new("ip"));
        server.args(["netns", "exec", "node", "/usr/sbin/sshd", "-D", "-f", "/run/node/sshd_config"]);
        let node = Self { libvirt, server: server.spawn().unwrap() };
        let end = Instant::now() + Duration::from_secs(60);
        while !libvirt.sh(&format!("busybox nc -w 2 {ip} 22 </dev/null || true")).starts_with("SSH-2.0") {
            assert!(Instant::now() < end, "sshd does not answer");
        }
        node
    }
}

impl Drop for Node<'_> {
    fn drop(&mut self) {
        self.libvirt.sh("kill $(cat /run/node/sshd.pid)");
        self.server.wait().unwrap();
    }
}

/// An OpenSSH server of libvirt's host, that root may use.
fn jump(libvirt: &Libvirt) -> Child {
    libvirt.sh("cat >/run/jump.conf <<END
ListenAddress 127.0.0.1
Port 2222
HostKey /run/node/host_key
AuthorizedKeysFile /run/node/authorized_keys
PermitRootLogin yes
UsePAM no
StrictModes no
PidFile /run/jump.pid
END
        printf 'StrictHostKeyChecking accept-new\nHashKnownHosts no\n' >/run/root/.ssh/config");
    let mut server = libvirt.enter(Path::new("/usr/sbin/sshd"));
    let server = server.args(["-D", "-f", "/run/jump.conf"]).spawn().unwrap();
    let end = Instant::now() + Duration::from_secs(60);
    while !libvirt.sh("busybox nc -w 2 127.0.0.1 2222 </dev/null || true").starts_with("SSH-2.0") {
        assert!(Instant::now() < end, "sshd does not answer");
    }
    server
}

/// A libvirt for that, and the example's network, pool and disks in it. None, and a word about it, where that cannot be.
pub(super) fn start(part: &str) -> Option<(Libvirt, Workspace)> {
    if !Path::new("/usr/sbin/sshd").exists() {
        left_out(part, "/usr/sbin/sshd, of Debian's openssh-server");
        return None;
    }
    let libvirt = Libvirt::start_after(part, BEFORE)?;
    let ws = small();
    let output = libvirt.command(&ws, &["realize", "apply", "--until", "media", "-q"]).output().unwrap();
    assert!(output.status.success(), "{}", ws.text(&output));
    Some((libvirt, ws))
}

/// Defines a node's machine as the closure has it, and starts it. Nothing boots in it.
pub(super) fn machine(libvirt: &Libvirt, ws: &Workspace, node: &str) {
    let file = ws.path_of("cluster").join(format!("infra/{node}.xml"));
    libvirt.virsh(&["define", file.to_str().unwrap()]);
    libvirt.virsh(&["start", &format!("ocp4-cv5ll-{node}")]);
}

/// Runs until its output has a text, then as a user would end it with Ctrl-C. What it said, and whether all was well.
fn follow(command: &mut Command, until: &str, meanwhile: impl Fn()) -> (String, bool) {
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut out = child.stdout.take().unwrap();
    let (done, ended) = mpsc::channel::<()>();
    let pid = child.id();
    let guard = std::thread::spawn(move || {
        if ended.recv_timeout(Duration::from_secs(120)) == Err(mpsc::RecvTimeoutError::Timeout) {
            inside(pid, Signal::KILL); // the read below sees the end
        }
    });
    let (mut said, mut piece) = (String::new(), [0; 4096]);
    let mut once = Some(meanwhile);
    while !said.contains(until) {
        let read = out.read(&mut piece).unwrap();
        assert!(read > 0, "it ended: {said}");
        said.push_str(&String::from_utf8_lossy(&piece[..read]));
        if let Some(meanwhile) = once.take() {
            meanwhile();
        }
    }
    inside(pid, Signal::INT);
    std::io::copy(&mut out, &mut std::io::sink()).unwrap();
    drop(done);
    guard.join().unwrap();
    (said, child.wait().unwrap().success())
}

/// What our program sees of the environment.
fn environment(command: &Command) -> Vec<(OsString, OsString)> {
    command.get_envs().filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned()))).collect()
}

/// A signal for what `nsenter` started.
fn inside(nsenter: u32, signal: Signal) {
    let children = std::fs::read_to_string(format!("/proc/{nsenter}/task/{nsenter}/children")).unwrap();
    let child = Pid::from_raw(children.trim().parse().unwrap()).unwrap();
    rustix::process::kill_process(child, signal).unwrap();
}

#[test]
fn nodes_are_reached_and_tell_their_logs() {
    let Some((libvirt, ws)) = start("realize ssh with a real OpenSSH server") else { return };
    let run = |args: &[&str]| libvirt.run(&ws, &[&["realize", "-q"], args].concat());
    insta::assert_snapshot!(run(&["ssh", "bootstrp"]), @r"
    [stderr]
    error: there is no node `bootstrp`
    hint: did you mean `bootstrap`?
    [exit 2]
    ");
    insta::assert_snapshot!(run(&["ssh", "bootstrap"]), @r"
    [stderr]
    error: `bootstrap` has no machine on the host
    hint: `tinderbox realize apply` creates it
    [exit 1]
    ");
    machine(&libvirt, &ws, "bootstrap");
    insta::assert_snapshot!(run(&["ssh", "bootstrap", "--print", "--", "echo", "a b"]), @r#"
    ssh -o 'UserKnownHostsFile="[DIR]/.realize/known_hosts"' -o GlobalKnownHostsFile=/dev/null -o StrictHostKeyChecking=accept-new -o HostKeyAlias=bootstrap_[IGNITION]_[IMAGE]_1 -o CheckHostIP=no -o UpdateHostKeys=no -o VerifyHostKeyDNS=no -o HashKnownHosts=no -o ForwardAgent=no -o ForwardX11=no -o ClearAllForwardings=yes -o PermitLocalCommand=no -o ControlMaster=no -o ControlPath=none -o ServerAliveInterval=15 -o ConnectTimeout=15 -l core -p 22 -- 192.168.126.100 echo 'a b'
    [exit 0]
    "#);
    let silent = run(&["ssh", "bootstrap", "--", "true"]);
    assert!(silent.contains("error: `bootstrap` does not answer on port 22 of 192.168.126.100"), "{silent}");
    assert!(silent.contains("hint: `tinderbox realize logs bootstrap` shows its console"), "{silent}");
    assert!(silent.ends_with("[exit 255]\n"), "{silent}");

    let node = Node::start(&libvirt, "192.168.126.100");
    let said = run(&["ssh", "bootstrap", "--", "id -un; env | grep -c SSH_AUTH_SOCK; exit 7"]);
    assert!(said.starts_with("core\n0\n[stderr]\n") && said.ends_with("[exit 7]\n"), "{said}");
    assert!(said.contains("Permanently added 'bootstrap_[IGNITION]_"), "{said}");
    let known = std::fs::read_to_string(ws.dir.join(".realize/known_hosts")).unwrap();
    assert!(known.starts_with("bootstrap_") && !known.contains("192.168"), "{known}");
    assert_eq!(
        libvirt.sh("ls /run/root/.ssh"),
        "id_ed25519\nid_ed25519.pub\n",
        "the user's own are left alone"
    );

    // Logs of units, and of a static pod's containers.
    libvirt.sh(
        r"cd /var/log/pods && mkdir -p kube-system_etcd-bootstrap_1/etcd kube-system_etcd-bootstrap_1/health &&
          mkdir -p openshift-etcd-operator_etcd-operator-7_2/operator &&
          echo operator >openshift-etcd-operator_etcd-operator-7_2/operator/0.log && cd kube-system_etcd-bootstrap_1 &&
          echo old >etcd/0.log && touch -d '2026-01-01' etcd/0.log && seq 1 30 >etcd/1.log && echo well >health/0.log",
    );
    insta::assert_snapshot!(run(&["logs", "bootstrap", "bootkube", "--lines", "5"]), @r"
    journalctl --no-pager --lines=5 --unit=bootkube.service
    [exit 0]
    ");
    insta::assert_snapshot!(run(&["logs", "bootstrap", "etcd", "--lines", "2"]), @r"
    ==> /var/log/pods/kube-system_etcd-bootstrap_1/etcd/1.log <==
    29
    30

    ==> /var/log/pods/kube-system_etcd-bootstrap_1/health/0.log <==
    well
    [exit 0]
    ");
    insta::assert_snapshot!(run(&["logs", "bootstrap", "kube-scheduler"]), @r"
    [stderr]
    error: a command on `bootstrap` failed: kube-scheduler has no log below /var/log/pods
    hint: `tinderbox realize ssh bootstrap` opens a shell there
    [exit 1]
    ");
    insta::assert_snapshot!(run(&["logs", "bootstrap", "bootkub"]), @r"
    [stderr]
    error: there is no log `bootkub`
    hint: did you mean `bootkube`?
    [exit 2]
    ");
    let json = |args: &[&str]| -> serde_json::Value {
        let output = libvirt.command(&ws, &[&["realize", "-q", "--json"], args].concat()).output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let document = json(&["logs", "bootstrap", "ignition"]);
    assert_document(&ws, "realize-logs", &document);
    assert_eq!(document["log"], "ignition");
    assert!(document["text"].as_str().unwrap().contains("--identifier=ignition"), "{document}");
    assert_document(&ws, "realize-ssh", &json(&["ssh", "bootstrap"]));

    // Followed, until the user has enough.
    let mut command = libvirt.command(&ws, &["realize", "logs", "bootstrap", "kubelet", "-f", "-q"]);
    let (said, well) = follow(&mut command, "tick\ntick\n", || {});
    assert!(
        said.starts_with("journalctl --no-pager --lines=50 --follow --unit=kubelet.service\n") && well,
        "{said}"
    );
    let console = ws.temp().join("pool/bootstrap.log").display().to_string();
    libvirt.sh(&format!("echo first words >>{console}"));
    let mut command = libvirt.command(&ws, &["realize", "logs", "bootstrap", "--follow", "-q"]);
    let (said, well) =
        follow(&mut command, "last words\n", || drop(libvirt.sh(&format!("echo last words >>{console}"))));
    assert!(said.contains("first words\n") && said.matches("last words").count() == 1 && well, "{said}");

    // A reader that has seen enough is no error.
    let program = env!("CARGO_BIN_EXE_tinderbox");
    let typed = format!(
        "set -o pipefail; {program} -C {} realize logs bootstrap kubelet -f -q | head -n 1",
        ws.dir.display()
    );
    let mut piped = libvirt.enter(Path::new("timeout"));
    piped.args(["60", "bash", "-c", &typed]);
    piped.envs(environment(&libvirt.command(&ws, &[])));
    let piped = piped.output().unwrap();
    assert!(piped.status.success() && piped.stdout.starts_with(b"journalctl "), "{}", ws.text(&piped));

    // What a terminal would obey is for no terminal; others get what there is.
    libvirt.sh(r"printf '\033]0;mine\007\033[31mred\033[0m\n' >/run/node/journal");
    let raw = libvirt.command(&ws, &["realize", "logs", "bootstrap", "crio", "-q"]).output().unwrap();
    assert!(raw.stdout.ends_with(b"\x1b]0;mine\x07\x1b[31mred\x1b[0m\n"), "{raw:?}");
    let typed = format!("{program} -C {} realize logs bootstrap crio -q", ws.dir.display());
    let mut shown = libvirt.enter(Path::new("script"));
    shown.envs(environment(&libvirt.command(&ws, &[])));
    let shown = shown.args(["-qec", &typed, "/dev/null"]).output().unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.contains("--unit=crio.service\r\nred\r\n") && !shown.contains('\x1b'), "{shown:?}");

    // Over the host that libvirt is on, if that is another machine: here it is this one, with an SSH server of its own.
    let jump = jump(&libvirt);
    let uri = "libvirt: {uri: 'qemu+ssh://root@127.0.0.1:2222/system', ";
    ws.edit("cluster.yaml", "libvirt: {", uri);
    let said = run(&["ssh", "bootstrap", "--", "echo $SSH_CONNECTION"]);
    assert!(said.starts_with("192.168.126.1 ") && said.ends_with("[exit 0]\n"), "{said}");
    let said = run(&["logs", "bootstrap", "crio"]);
    assert!(said.contains("--unit=crio.service") && said.ends_with("[exit 0]\n"), "{said}");
    assert!(run(&["logs", "bootstrap", "--lines", "1"]).starts_with("last words\n"));
    assert_eq!(
        libvirt.sh("cut -d' ' -f1 /run/root/.ssh/known_hosts"),
        "[127.0.0.1]:2222\n",
        "the jump host, by ssh itself"
    );
    ws.edit("cluster.yaml", uri, "libvirt: {");
    libvirt.sh("kill $(cat /run/jump.pid)");
    { jump }.wait().unwrap();

    // A node with other host keys is not the one that we know.
    drop(node);
    let node = Node::start(&libvirt, "192.168.126.100");
    let other = run(&["logs", "bootstrap", "kubelet"]);
    assert!(
        other.contains("error: `bootstrap` denies access: ") && other.contains(".realize/known_hosts"),
        "{other}"
    );
    assert!(!other.contains("journalctl --"), "{other}");
    drop(node);

    // After the pivot.
    libvirt.virsh(&["destroy", "ocp4-cv5ll-bootstrap"]);
    insta::assert_snapshot!(run(&["logs", "bootstrap", "kubelet"]), @r"
    [stderr]
    error: the machine of `bootstrap` is not running: its state is `shut off`
    hint: `tinderbox realize apply` starts it
    [exit 1]
    ");
    libvirt.virsh(&["undefine", "ocp4-cv5ll-bootstrap"]);
    libvirt.sh(&format!("touch {}", ws.temp().join("pool/pivoted").display()));
    insta::assert_snapshot!(run(&["ssh", "bootstrap"]), @r"
    [stderr]
    error: `bootstrap` was removed when the control plane moved to the masters
    hint: the masters carry on: `tinderbox realize status` lists the machines
    [exit 1]
    ");
}
