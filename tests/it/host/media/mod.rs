//! Media for machines that are not libvirt's: what they boot from, on a network segment of the test's own.

mod boot;
mod machine;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::harness::{is_root, left_out};

pub(crate) use machine::Machine;

/// A network segment with a bridge, in namespaces that end with it, and everything in them.
pub(crate) struct Segment {
    /// Holds the namespaces.
    outer: Child,
    /// The first process inside.
    inner: u32,
    temp: tempfile::TempDir,
}

/// The bridge has the gateway's address; processes that are left behind are buried.
const SETUP: &str = r#"
set -e
ip link set lo up
ip link add br0 type bridge
ip address add 192.168.126.1/24 dev br0
ip link set br0 up
echo >"$READY"
while true; do sleep 3600 & wait $!; done
"#;

impl Segment {
    /// None, and a word about it, where that cannot be.
    pub(crate) fn start(part: &str) -> Option<Self> {
        if !is_root() {
            left_out(part, "root, for namespaces with a network in them");
            return None;
        }
        for (program, package) in [
            ("qemu-system-x86_64", "qemu-system-x86"),
            ("dnsmasq", "dnsmasq-base"),
            ("ip", "iproute2"),
            ("nsenter", "util-linux"),
            ("busybox", "busybox-static"),
            ("test -e /usr/lib/ipxe/qemu/efi-virtio.rom && true", "ipxe-qemu"),
        ] {
            let found = Command::new("sh").args(["-c", &format!("command -v {program}")]).output().unwrap();
            if !found.status.success() {
                left_out(part, &format!("{program}, of Debian's {package}"));
                return None;
            }
        }
        let temp = tempfile::tempdir().unwrap();
        let (log, ready) = (fs::File::create(temp.path().join("log")).unwrap(), temp.path().join("ready"));
        // Whatever ends this thread ends it all, a `kill -9` too.
        let outer = Command::new("setpriv")
            .args(["--pdeathsig", "KILL", "unshare"])
            .args(["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", SETUP])
            .env("READY", &ready)
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        let mut segment = Self { outer, inner: 0, temp };
        let end = Instant::now() + Duration::from_secs(60);
        while !ready.exists() {
            let said = || fs::read_to_string(segment.temp.path().join("log")).unwrap();
            assert!(Instant::now() < end, "no network segment: {}", said());
            std::thread::sleep(Duration::from_millis(20));
        }
        let children = format!("/proc/{0}/task/{0}/children", segment.outer.id());
        segment.inner = fs::read_to_string(children).unwrap().trim().parse().unwrap();
        Some(segment)
    }

    /// A program inside.
    pub(crate) fn enter(&self, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["--target", &self.inner.to_string(), "--net", "--mount", "--pid", "--", program]);
        command.stdin(Stdio::null());
        command
    }

    /// A program that stays. It ends with the segment.
    pub(crate) fn serve(&self, program: &str, args: &[&str]) -> Served {
        let path = self.temp.path().join(format!("{}-{}.log", program, args.len()));
        let log = fs::File::create(&path).unwrap();
        let mut command = self.enter(program);
        let child = command.args(args).stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap();
        Served { child, path }
    }

    /// A port of the bridge for a machine.
    fn tap(&self, name: &str) {
        let script = format!("ip tuntap add {name} mode tap && ip link set {name} master br0 up");
        let output = self.enter("sh").args(["-c", &script]).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        let _ = self.outer.kill();
        let _ = self.outer.wait();
    }
}

/// A server of a segment.
pub(crate) struct Served {
    child: Child,
    path: PathBuf,
}

impl Served {
    pub(crate) fn said(&self) -> String {
        fs::read_to_string(&self.path).unwrap()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Everything on a machine's disk, read without mounting it.
pub(crate) fn disk(raw: &Path, out: &Path) {
    fs::create_dir(out).unwrap();
    let command = format!("debugfs -R 'rdump / {}' '{}?offset=1048576'", out.display(), raw.display());
    let output = Command::new("sh").args(["-c", &command]).output().unwrap();
    assert!(output.status.success(), "{command}: {output:?}");
}
