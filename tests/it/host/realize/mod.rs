//! From a closure to machines, on a real libvirt that has a network, a file system and processes of its own.

mod apply;
mod approve;
mod architecture;
pub(crate) mod boot;
mod dns;
mod external;
mod gather;
mod in_place;
mod live;
mod node;
mod obstacles;
mod pkcs10;
mod plan;
mod remove;
mod session;
mod ssh;

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use sha2::Digest as _;

use crate::harness::{Workspace, is_root, left_out};

/// A libvirt of the test's own. The host's is neither seen nor touched, and everything ends with the namespaces.
pub(crate) struct Libvirt {
    /// Holds the namespaces.
    outer: Child,
    /// The first process inside.
    inner: u32,
    temp: tempfile::TempDir,
}

/// What runs inside: its own `/run`, and everything that libvirt keeps, in memory. Debian's libvirtd wants to know the user
/// that its package for systemd makes. It may not be the first process: that one has to bury what qemu leaves behind.
const SETUP: &str = r#"
set -e
mount --make-rprivate /
for dir in /run /var/lib/libvirt /etc/libvirt /var/cache/libvirt /var/log/libvirt; do
  mkdir -p "$dir" && mount -t tmpfs tinderbox "$dir"
done
cp /etc/passwd /etc/group /run
grep -q ^libvirt-qemu: /run/passwd || echo 'libvirt-qemu:x:64055:64055::/:/usr/sbin/nologin' >>/run/passwd
for group in libvirt-qemu kvm; do
  grep -q "^$group:" /run/group || echo "$group:x:64055:" >>/run/group
done
mount --bind /run/passwd /etc/passwd
mount --bind /run/group /etc/group
ip link set lo up
cat >/etc/libvirt/libvirtd.conf <<END
auth_unix_rw = "none"
auth_unix_ro = "none"
unix_sock_ro_perms = "0777"
unix_sock_rw_perms = "0700"
END
cat >/etc/libvirt/qemu.conf <<END
stdio_handler = "file"
user = "root"
group = "root"
security_driver = "none"
cgroup_controllers = []
END
eval "$BEFORE"
libvirtd &
wait $!
"#;

impl Libvirt {
    /// Starts one. None, and a word about it, where that cannot be.
    pub(crate) fn start(part: &str) -> Option<Self> {
        Self::start_after(part, "")
    }

    /// The same, with some commands before.
    pub(crate) fn start_after(part: &str, before: &str) -> Option<Self> {
        if !is_root() {
            left_out(part, "root, for namespaces with a libvirt in them");
            return None;
        }
        for (program, package) in [
            ("libvirtd", "libvirt-daemon"),
            ("virsh", "libvirt-clients"),
            ("qemu-system-x86_64", "qemu-system-x86"),
            ("qemu-img", "qemu-utils"),
            ("haproxy", "haproxy"),
            ("iptables", "iptables"),
            ("dnsmasq", "dnsmasq-base"),
            ("ip", "iproute2"),
            ("nsenter", "util-linux"),
        ] {
            if !Command::new("sh")
                .args(["-c", &format!("command -v {program}")])
                .output()
                .unwrap()
                .status
                .success()
            {
                left_out(part, &format!("{program}, of Debian's {package}"));
                return None;
            }
        }
        let temp = tempfile::tempdir().unwrap();
        let log = fs::File::create(temp.path().join("log")).unwrap();
        // Whatever ends this thread ends it all, a `kill -9` too.
        let outer = Command::new("setpriv")
            .args(["--pdeathsig", "KILL", "unshare"])
            .args(["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", SETUP])
            .env("BEFORE", before)
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        let mut libvirt = Self { outer, inner: 0, temp };
        libvirt.wait();
        Some(libvirt)
    }

    /// Until it answers.
    fn wait(&mut self) {
        let end = Instant::now() + Duration::from_secs(300);
        let children = format!("/proc/{0}/task/{0}/children", self.outer.id());
        loop {
            let first = fs::read_to_string(&children).unwrap_or_default();
            if let Some(pid) = first.split_whitespace().next() {
                self.inner = pid.parse().unwrap();
                let mut virsh = self.enter(Path::new("virsh"));
                if virsh.args(["-c", "qemu:///system", "version"]).output().unwrap().status.success() {
                    return;
                }
            }
            let ended = self.outer.try_wait().unwrap();
            let log = || fs::read_to_string(self.temp.path().join("log")).unwrap();
            assert!(ended.is_none() && Instant::now() < end, "libvirt does not answer: {ended:?}\n{}", log());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// A program inside.
    pub(crate) fn enter(&self, program: &Path) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["--target", &self.inner.to_string(), "--net", "--mount", "--pid", "--"]).arg(program);
        command.stdin(Stdio::null());
        command
    }

    /// What virsh says inside; it must succeed.
    pub(crate) fn virsh(&self, args: &[&str]) -> String {
        let output =
            self.enter(Path::new("virsh")).args(["-q", "-c", "qemu:///system"]).args(args).output().unwrap();
        assert!(output.status.success(), "{args:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// What a shell says inside; it must succeed.
    pub(crate) fn sh(&self, script: &str) -> String {
        let output = self.enter(Path::new("sh")).args(["-c", script]).output().unwrap();
        assert!(output.status.success(), "{script}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Where a network namespace that was made inside can be entered.
    pub(crate) fn namespace(&self, name: &str) -> String {
        format!("/proc/{}/root/run/netns/{name}", self.inner)
    }

    /// What others have on that host: a network that runs, a machine, a pool with a file in it.
    pub(crate) fn strangers(&self) {
        self.sh(r#"
            cd /run && mkdir strange && echo theirs > strange/file
            echo "<network><name>strange</name><bridge name='virbr-strange'/><forward mode='nat'/>
                  <ip address='10.99.0.1' prefix='24'/></network>" > net.xml
            virsh net-define net.xml && virsh net-start strange
            virsh pool-create-as strange dir --target /run/strange
            echo "<domain type='qemu'><name>strange</name><memory unit='MiB'>64</memory><os><type>hvm</type></os></domain>" > machine.xml
            virsh define machine.xml
        "#);
    }

    /// Our program inside, at work on a workspace.
    pub(crate) fn command(&self, ws: &Workspace, args: &[&str]) -> Command {
        let inner = self.inner.to_string();
        let enter = ["--target", &inner, "--net", "--mount", "--pid", "--"];
        let mut command = ws.command_of(Path::new("nsenter"), &enter);
        command.arg(env!("CARGO_BIN_EXE_tinderbox")).arg("-C").arg(&ws.dir).args(args);
        command
    }

    /// A whole session inside as one text, with ids that change from day to day replaced.
    pub(crate) fn run(&self, ws: &Workspace, args: &[&str]) -> String {
        let output = self.command(ws, args).output().unwrap();
        let text = ws.text(&output);
        let closure = text.replace(ws.temp().to_str().unwrap(), "[TEMP]");
        media(&closure)
    }
}

impl Drop for Libvirt {
    /// The namespaces end, and everything in them.
    fn drop(&mut self) {
        let _ = self.outer.kill();
        let _ = self.outer.wait();
    }
}

/// Replaces the ids in names of media, which are others every day, and of the image, which qemu-img makes as it likes.
fn media(text: &str) -> String {
    let id = |word: &str| {
        word.len() == 16 && word.bytes().all(|b| b.is_ascii_lowercase() || (b'2'..=b'7').contains(&b))
    };
    let image = |word: &str| word.len() == 16 && word.bytes().all(|b| b.is_ascii_hexdigit());
    let mut out = String::new();
    for piece in text.split_inclusive(|c: char| !c.is_ascii_alphanumeric()) {
        let word = piece.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
        let shown = match (id(word), image(word)) {
            (true, _) => "[IGNITION]",
            (_, true) => "[IMAGE]",
            _ => word,
        };
        out.push_str(shown);
        out.push_str(&piece[word.len()..]);
    }
    out
}

/// The example on small machines: emulated, in a pool of its own, from a QEMU image.
pub(crate) fn small() -> Workspace {
    let ws = Workspace::on_disk().filled().prebuilt();
    let text = fs::read_to_string(ws.dir.join("cluster.yaml")).unwrap();
    let nodes = text.replace(", role:", ", vcpus: 1, memory: 256MiB, disk: 1GB, role:");
    let pool = ws.temp().join("pool");
    let libvirt = format!(
        "\nlibvirt: {{path: '{}', domainType: qemu}}\nrhcos: {{qcow2: rhcos.qcow2}}\n\
         checks: {{disabled: [machine-size]}}\n",
        pool.display()
    );
    ws.write("cluster.yaml", &(nodes + &libvirt));
    // An image that nothing here boots; without qemu-img its head alone, which is enough to plan with.
    let image = ws.dir.join("rhcos.qcow2");
    let made = Command::new("qemu-img").args(["create", "-q", "-f", "qcow2"]).arg(&image).arg("64M").status();
    if !made.is_ok_and(|status| status.success()) {
        fs::write(&image, [b"QFI\xfb".as_slice(), &[0; 508]].concat()).unwrap();
    }
    let digest = sha2::Sha256::digest(fs::read(&image).unwrap());
    let sha256: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    let lock = fs::read_to_string(ws.dir.join("cluster.lock")).unwrap();
    ws.write(
        "cluster.lock",
        &format!("{lock}[rhcos.qcow2]\nlocation = \"rhcos.qcow2\"\nsha256 = \"{sha256}\"\n"),
    );
    ws.build(&[]);
    ws
}
