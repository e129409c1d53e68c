//! The bootstrap node: our Ignition config, applied by the real Ignition, in namespaces of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::pods::containers;
use super::programs::Programs;
use crate::harness::{Workspace, list, set_mode};

/// The example's bootstrap node.
const NAME: &str = "bootstrap";
const ADDRESS: &str = "192.168.126.100/24";
/// Plays the name server and the load balancer: before the pivot the API is on this node.
const HOSTS: &str = "127.0.0.1 localhost\n192.168.126.100 api.ocp4.example.com api-int.ocp4.example.com\n";

/// No wait of the lab is longer: a program that has not done it by then will not.
const LIMIT: Duration = Duration::from_secs(900);

/// A node that has not booted.
pub(super) struct Installed {
    directory: PathBuf,
    /// Its root, as far as it differs from this machine's.
    pub(super) upper: PathBuf,
}

pub(super) struct Node {
    directory: PathBuf,
    init: Child,
}

impl Node {
    /// The bootstrap node of a cluster directory as after its first boot, with nothing started yet.
    pub(super) fn install(ws: &Workspace, programs: &Programs) -> Installed {
        let built = ws.build_paths(&["ignition/bootstrap", "release/image"]);
        let directory = ws.temp().join("node");
        for folder in ["upper/lab/programs", "upper/lab/pods", "upper/lab/log", "work", "root"] {
            fs::create_dir_all(directory.join(folder)).unwrap();
        }
        let node = Installed { upper: directory.join("upper"), directory };
        ignite(programs, &built["ignition/bootstrap"].join("bootstrap.ign"), &node.directory);
        fs::write(node.upper.join("etc/hosts"), HOSTS).unwrap();
        let pods = node.upper.join("etc/kubernetes/manifests");
        for name in list(&pods) {
            for container in containers(programs.path("kubectl"), &pods.join(name), NAME) {
                fs::write(node.upper.join("lab/pods").join(container.name), container.script).unwrap();
            }
        }
        let lines = programs.iter().map(|(name, path)| format!("{name} {}\n", path.display()));
        fs::write(node.directory.join("programs"), lines.collect::<String>()).unwrap();
        // The image that the cluster-version operator runs from.
        let release = built["release/image"].display().to_string();
        let mounts = ["manifests", "release-manifests"].map(|name| format!("{release}/{name} /{name}\n"));
        fs::write(node.directory.join("mounts"), mounts.concat()).unwrap();
        for (name, other) in [("hyperkube", ""), ("oc", "kubectl ")] {
            let path = node.upper.join("lab/programs").join(name);
            fs::write(&path, format!("#!/bin/sh\nexec {other}\"$@\"\n")).unwrap();
            set_mode(&path, 0o755);
        }
        node
    }

    /// A command on the node.
    fn command(&self, words: &[&str]) -> Command {
        let pid = self.init.id();
        let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
        let mut command = Command::new("nsenter");
        command.arg(format!("--target={}", children.trim()));
        command
            .args(["--mount", "--net", "--pid", "--ipc", "--uts", "chroot"])
            .arg(self.directory.join("root"));
        command.args(["env", "-i", "PATH=/lab/programs:/usr/sbin:/usr/bin:/sbin:/bin"]);
        command.arg("KUBECONFIG=/etc/kubernetes/kubeconfigs/localhost.kubeconfig").args(words);
        command.stdin(Stdio::null());
        command
    }

    pub(super) fn output(&self, words: &[&str]) -> Output {
        self.command(words).output().unwrap()
    }

    /// What the API has of this kind, in every namespace; none while it does not answer.
    pub(super) fn objects(&self, kind: &str) -> Vec<Value> {
        let output = self.output(&["oc", "get", kind, "--all-namespaces", "--output=json"]);
        let list: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        list["items"].as_array().cloned().unwrap_or_default()
    }

    /// Runs bootkube.sh up to the masters, of which there are none: it must say so, and nothing before that may fail.
    pub(super) fn bootkube(&mut self) -> String {
        let log = self.directory.join("bootkube.log");
        let file = fs::File::create(&log).unwrap();
        let mut command = self.command(&["POLL=1", "bash", "/usr/local/bin/bootkube.sh"]);
        let mut script = command.stdout(file.try_clone().unwrap()).stderr(file).spawn().unwrap();
        let said = self.wait("bootkube.sh to wait for masters", |node| {
            let said = fs::read_to_string(&log).unwrap();
            let ended = script.try_wait().unwrap().is_some();
            assert!(!ended, "bootkube.sh ended:\n{said}\n{}", node.logs());
            said.contains("waiting for 3 masters to be Ready").then_some(said)
        });
        script.kill().unwrap();
        script.wait().unwrap();
        said
    }

    /// Looks until there is an answer. The node's own logs are the reason if there never is one.
    pub(super) fn wait<T>(&mut self, what: &str, mut look: impl FnMut(&Self) -> Option<T>) -> T {
        let begun = Instant::now();
        loop {
            if let Some(found) = look(self) {
                return found;
            }
            let ended = self.init.try_wait().unwrap();
            assert!(ended.is_none(), "the node ended, waiting for {what}: {ended:?}\n{}", self.logs());
            assert!(begun.elapsed() < LIMIT, "gave up waiting for {what}\n{}", self.logs());
            std::thread::sleep(Duration::from_millis(500));
        }
    }

    /// The ends of all logs of the node.
    fn logs(&self) -> String {
        let folder = self.directory.join("upper/lab/log");
        let end = |name: &String| {
            let text = String::from_utf8_lossy(&fs::read(folder.join(name)).unwrap()).into_owned();
            let lines: Vec<&str> = text.lines().rev().take(15).collect();
            format!("== {name}\n{}\n", lines.into_iter().rev().collect::<Vec<_>>().join("\n"))
        };
        list(&folder).iter().map(end).collect()
    }
}

impl Installed {
    pub(super) fn boot(self) -> Node {
        // A test that is killed takes the node with it.
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "unshare"]);
        command.args(["--mount", "--net", "--pid", "--ipc", "--uts", "--fork", "--kill-child", "sh", "-c"]);
        command.args([include_str!("node.sh"), "sh"]).arg(&self.directory).args([ADDRESS, NAME]);
        command.stdin(Stdio::null());
        let mut node = Node { init: command.spawn().unwrap(), directory: self.directory };
        node.wait("the node", |node| node.directory.join("upper/lab/up").exists().then_some(()));
        node
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // The first process of the PID namespace goes with it, and all others with that one.
        let _ = self.init.kill();
        let _ = self.init.wait();
    }
}

/// Applies a config to `upper`, which has what an operating system has that Ignition asks for.
fn ignite(programs: &Programs, config: &Path, directory: &Path) {
    let (upper, bin) = (directory.join("upper"), directory.join("bin"));
    let contexts = upper.join("etc/selinux/targeted/contexts/files");
    fs::create_dir_all(&contexts).unwrap();
    fs::create_dir_all(&bin).unwrap();
    fs::write(contexts.join("file_contexts"), "").unwrap();
    fs::write(upper.join("etc/selinux/config"), "SELINUX=disabled\nSELINUXTYPE=targeted\n").unwrap();
    for name in ["passwd", "group", "shadow", "gshadow"] {
        fs::copy(Path::new("/etc").join(name), upper.join("etc").join(name)).unwrap();
    }
    // Labels are not what this is about.
    fs::write(bin.join("setfiles"), "#!/bin/sh\nexit 0\n").unwrap();
    set_mode(&bin.join("setfiles"), 0o755);
    let path = std::env::var("PATH").unwrap_or_default();
    for stage in ["fetch", "files"] {
        let mut command = Command::new(programs.path("ignition"));
        command.args(["--platform=file", "--log-to-stdout", &format!("--stage={stage}")]);
        for (flag, name) in
            [("root", "upper"), ("config-cache", "cache"), ("state-file", "state"), ("neednet", "net")]
        {
            command.arg(format!("--{flag}={}", directory.join(name).display()));
        }
        command.env("IGNITION_CONFIG_FILE", config);
        command.env("PATH", format!("{}:{path}:/usr/sbin:/sbin", bin.display()));
        let output = command.output().unwrap();
        assert!(output.status.success(), "{stage}: {}", String::from_utf8_lossy(&output.stdout));
    }
}
