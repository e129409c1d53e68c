//! One temporary directory per test with a cluster directory and a store in it, the program, and its output as one text.
//!
//! ```text
//! <temp>/ocp4    the cluster directory    [DIR]
//! <temp>/store   the store                [STORE]
//! <temp>         HOME                     [TEMP]
//! ```

pub(crate) mod documents;
pub(crate) mod install_dir;
mod template;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::LazyLock;

use regex::Regex;
use rustix::fs::{StatVfs, StatVfsMountFlags};
use serde_json::Value;

/// The seed of every workspace: fixed, so that ids are.
pub(crate) const SEED: [u8; 32] = [7; 32];

/// The epoch of every workspace: the first second of today, so that certificates are valid whenever tests run.
pub(crate) fn epoch() -> &'static str {
    static EPOCH: LazyLock<String> =
        LazyLock::new(|| format!("{}T00:00:00Z", time::OffsetDateTime::now_utc().date()));
    &EPOCH
}

/// The lock of every workspace: one epoch for all, and this tinderbox's demo release.
pub(crate) fn lock() -> String {
    let (name, digest) = tinderbox::internals::demo::open("4.18").unwrap().release();
    format!(
        "version = 1\nepoch = \"{}\"\n[release]\nasked = \"demo:4.18\"\nreference = \"demo:4.18\"\n\
         image = \"{}\"\nversion = \"4.18.0-demo\"\narchitecture = \"amd64\"\n",
        epoch(),
        name.at(digest)
    )
}

/// A cluster directory with a store of its own.
pub(crate) struct Workspace {
    temp: tempfile::TempDir,
    /// The cluster directory.
    pub(crate) dir: PathBuf,
    /// The store.
    pub(crate) store: PathBuf,
}

impl Workspace {
    /// An empty cluster directory: in memory, where a store is copied, built and removed ten times as fast as on a disk.
    /// A process that is killed loses nothing that it wrote, so memory proves as much.
    pub(crate) fn empty() -> Self {
        let memory = Path::new("/dev/shm");
        let is_fit = |found: StatVfs| {
            found.f_bavail * found.f_frsize > 512 << 20 && !found.f_flag.contains(StatVfsMountFlags::NOEXEC)
        };
        match rustix::fs::statvfs(memory).is_ok_and(is_fit) && tempfile::tempdir_in(memory).is_ok() {
            true => Self::below(memory),
            false => Self::on_disk(),
        }
    }

    /// An empty cluster directory on a disk, for what needs much room.
    pub(crate) fn on_disk() -> Self {
        Self::below(&std::env::temp_dir())
    }

    fn below(parent: &Path) -> Self {
        let temp = tempfile::Builder::new().prefix("tinderbox-it-").tempdir_in(parent).unwrap();
        // Other users must be able to look in: some tests become one.
        set_mode(temp.path(), 0o755);
        let root = temp.path().canonicalize().unwrap();
        let dir = root.join("ocp4");
        fs::create_dir(&dir).unwrap();
        Self { store: root.join("store"), dir, temp }
    }

    /// A copy of the example, with a fixed seed and lock.
    pub(crate) fn example() -> Self {
        Self::empty().filled()
    }

    /// A copy of the example of a single node that bootstraps itself, with the same seed and lock.
    pub(crate) fn single_node() -> Self {
        Self::empty().filled_from("examples/sno")
    }

    /// This workspace with the example in it.
    pub(crate) fn filled(self) -> Self {
        self.filled_from("examples/ocp4")
    }

    fn filled_from(self, example: &str) -> Self {
        for name in ["install-config.yaml", "cluster.yaml"] {
            self.write(name, &fs::read_to_string(source(example).join(name)).unwrap());
        }
        self.write("cluster.lock", &lock());
        self.write_seed(&SEED);
        self
    }

    /// This workspace with a store that has every object of the example, for tests of what comes after a build: what they
    /// change is built, the rest is found. A test of what a build does when there is nothing starts without one.
    pub(crate) fn prebuilt(self) -> Self {
        template::copy(&self.store);
        self
    }

    /// The example with more files in it.
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let workspace = Self::example();
        files.iter().for_each(|(path, text)| workspace.write(path, text));
        workspace
    }

    /// The directory that holds cluster directory and store.
    pub(crate) fn temp(&self) -> PathBuf {
        self.dir.parent().unwrap().to_owned()
    }

    /// Writes a file of the cluster directory.
    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.dir.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Writes the seed, for its owner only.
    pub(crate) fn write_seed(&self, seed: &[u8]) {
        let path = self.dir.join("cluster.seed");
        fs::write(&path, seed).unwrap();
        set_mode(&path, 0o600);
    }

    /// The same cluster for arm64, on a release that has images for it.
    pub(crate) fn arm64(&self) {
        self.edit("cluster.yaml", "release: demo:4.18", "release: demo:4.18-multi");
        self.edit("install-config.yaml", "  name: master\n", "  name: master\n  architecture: arm64\n");
    }

    /// Pins the release that cluster.yaml asks for.
    pub(crate) fn relock(&self) {
        let output = self.output(&["lock", "--update", "release"]);
        assert!(output.status.success(), "{}", self.text(&output));
    }

    /// Replaces a text that a file of the cluster directory has exactly once.
    pub(crate) fn edit(&self, path: &str, from: &str, to: &str) {
        let text = fs::read_to_string(self.dir.join(path)).unwrap();
        assert_eq!(text.matches(from).count(), 1, "`{from}` in {path}");
        self.write(path, &text.replace(from, to));
    }

    /// Gives the example machines of the user's own, each with an address of its Ethernet port and a disk.
    pub(crate) fn external_machines(&self) {
        let text = fs::read_to_string(self.dir.join("cluster.yaml")).unwrap();
        let mut lines = Vec::new();
        for line in text.lines().filter(|line| !line.starts_with("  dhcp:")) {
            let node = line.strip_suffix('}').filter(|line| line.starts_with("- {name:"));
            let last = 0x11 + lines.iter().filter(|line: &&String| line.starts_with("- {name:")).count();
            lines.push(match node {
                Some(node) => format!("{node}, mac: '52:54:00:12:60:{last:02x}', installDevice: /dev/sda}}"),
                None => line.to_owned(),
            });
        }
        self.write("cluster.yaml", &(lines.join("\n") + "\nmachines: external\n"));
    }

    /// Makes the example dual-stack: IPv6 beside IPv4 in every network and at every node.
    pub(crate) fn dual_stack(&self) {
        let install = |from: &str, to: &str| self.edit("install-config.yaml", from, to);
        install("  - cidr: 192.168.126.0/24", "  - cidr: 192.168.126.0/24\n  - cidr: fd00:126::/64");
        install(
            "  - cidr: 10.128.0.0/14\n    hostPrefix: 23",
            "  - {cidr: 10.128.0.0/14, hostPrefix: 23}\n  - {cidr: 'fd01::/48', hostPrefix: 64}",
        );
        install("  - 172.30.0.0/16", "  - 172.30.0.0/16\n  - fd02::/112");
        self.edit("cluster.yaml", "api: 192.168.126.10\n", "api: [192.168.126.10, 'fd00:126::10']\n");
        self.edit("cluster.yaml", "ingress: 192.168.126.11\n", "ingress: [192.168.126.11, 'fd00:126::11']\n");
        self.edit("cluster.yaml", "gateway: 192.168.126.1\n", "gateway: [192.168.126.1, 'fd00:126::1']\n");
        for last in [100, 101, 102, 103, 110, 111] {
            let one = format!("ip: 192.168.126.{last}}}");
            self.edit("cluster.yaml", &one, &format!("ip: [192.168.126.{last}, 'fd00:126::{last}']}}"));
        }
    }

    /// Makes the example IPv6 only.
    pub(crate) fn ipv6_only(&self) {
        let install = |from: &str, to: &str| self.edit("install-config.yaml", from, to);
        install("  - cidr: 192.168.126.0/24", "  - cidr: fd00:126::/64");
        install("  - cidr: 10.128.0.0/14\n    hostPrefix: 23", "  - cidr: fd01::/48\n    hostPrefix: 64");
        install("  - 172.30.0.0/16", "  - fd02::/112");
        let path = self.dir.join("cluster.yaml");
        let text = fs::read_to_string(&path).unwrap();
        fs::write(path, text.replace("192.168.126.", "fd00:126::")).unwrap();
    }

    /// Takes the workers out of the example, and all masters but the first `masters`.
    pub(crate) fn without_workers(&self, masters: usize) {
        self.edit("install-config.yaml", "replicas: 2", "replicas: 0");
        self.edit("install-config.yaml", "replicas: 3", &format!("replicas: {masters}"));
        let text = fs::read_to_string(self.dir.join("cluster.yaml")).unwrap();
        let gone = |line: &str| {
            line.starts_with("- {name: worker-")
                || (masters..3).any(|at| line.starts_with(&format!("- {{name: master-{at},")))
        };
        let kept: Vec<&str> = text.lines().filter(|line| !gone(line)).collect();
        self.write("cluster.yaml", &(kept.join("\n") + "\n"));
    }

    /// The program at work on this directory and store.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        self.command_of(Path::new(env!("CARGO_BIN_EXE_tinderbox")), args)
    }

    /// The same for a copy of the program, or for a program that starts it.
    pub(crate) fn command_of(&self, program: &Path, args: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", self.temp()).env("NO_COLOR", "1").env("TINDERBOX_STORE", &self.store);
        command.envs(fake_time());
        command.current_dir(&self.dir).stdin(Stdio::null()).args(args);
        command
    }

    /// Runs to the end.
    pub(crate) fn output(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// A whole session as one text: stdout, stderr, exit status; with paths, ids and times replaced.
    pub(crate) fn run(&self, args: &[&str]) -> String {
        self.text(&self.output(args))
    }

    /// What a finished process said, as one text.
    pub(crate) fn text(&self, output: &Output) -> String {
        let mut text = self.filter(&String::from_utf8_lossy(&output.stdout));
        // Machines that tests boot are too small for OpenShift, and every verb says so.
        let stderr = self.filter(&String::from_utf8_lossy(&output.stderr));
        let stderr = stderr.replace("warning: the check `machine-size` is turned off in cluster.yaml\n", "");
        if !stderr.is_empty() {
            text.push_str("[stderr]\n");
            text.push_str(&stderr);
        }
        match output.status.code() {
            Some(code) => text.push_str(&format!("[exit {code}]\n")),
            None => text.push_str("[killed]\n"),
        }
        text
    }

    /// Runs with `--json`, which must succeed and print exactly one document.
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let output = self.output(&[args, &["--json"]].concat());
        assert!(output.status.success(), "{args:?}: {}", self.text(&output));
        serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{args:?}: {error}: {}", self.text(&output)))
    }

    /// Builds, which must succeed; the names that were built, sorted.
    pub(crate) fn build(&self, targets: &[&str]) -> Vec<String> {
        let mut built = names(&self.json(&[&["build"], targets].concat())["built"]);
        built.sort();
        built
    }

    /// Builds, which must succeed; the object of every target, by name. One process, where [`Workspace::path_of`] is one
    /// for each.
    pub(crate) fn build_paths(&self, targets: &[&str]) -> BTreeMap<String, PathBuf> {
        let report = self.json(&[&["build"], targets].concat());
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let targets = report["targets"].as_array().unwrap().iter();
        targets.map(|target| (text(&target["name"]), text(&target["path"]).into())).collect()
    }

    /// The object of a derivation that is built.
    pub(crate) fn path_of(&self, target: &str) -> PathBuf {
        PathBuf::from(self.json(&["show", target])["path"].as_str().unwrap())
    }

    /// Everything below the store's `.tinderbox/<part>`, by name.
    pub(crate) fn part(&self, part: &str) -> PathBuf {
        self.store.join(".tinderbox").join(part)
    }

    /// Fails unless the store verifies.
    pub(crate) fn assert_sound(&self) {
        let output = self.output(&["store", "verify"]);
        assert!(output.status.success(), "{}", self.text(&output));
    }

    /// Replaces what differs from run to run: paths, ids, times, durations; and sorts lines whose order is open.
    pub(crate) fn filter(&self, text: &str) -> String {
        let show = |path: &Path| path.display().to_string();
        let text = text.replace(&show(&self.store), "[STORE]").replace(&show(&self.dir), "[DIR]");
        let text = words(&text.replace(&show(&self.temp()), "[TEMP]"));
        let mut lines: Vec<&str> = text.lines().collect();
        lines.chunk_by_mut(|one, other| is_progress(one) && is_progress(other)).for_each(|block| {
            if is_progress(block[0]) {
                block.sort_unstable();
            }
        });
        lines.iter().map(|line| format!("{line}\n")).collect()
    }
}

/// Gives directories their write permission back: objects are read-only, and a plain user cannot remove them as they are.
fn make_removable(path: &Path) {
    let Ok(found) = fs::symlink_metadata(path) else { return };
    if found.is_dir() {
        let _ = fs::set_permissions(path, fs::Permissions::from_mode(0o700));
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            make_removable(&entry.path());
        }
    }
}

/// Whether a line tells of one derivation among several that are built at the same time, or of one bad path among several
/// that are in the order of their ids, which are others every day.
fn is_progress(line: &str) -> bool {
    ["built ", "cached ", "building ", "bad "].iter().any(|word| line.starts_with(word))
}

/// Replaces sizes and the blanks after them: what holds a certificate is longer on one day than on another.
pub(crate) fn without_sizes(text: &str) -> String {
    static SIZE: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"(?m)(?:\b[0-9.]+ (?:B|KiB|MiB|GiB)\b|\bSIZE\b)( ?) *").unwrap());
    SIZE.replace_all(text, "[SIZE]$1").into_owned()
}

/// Replaces how long a build took, and how many derivations it had.
pub(crate) fn without_durations(text: &str) -> String {
    static DURATION: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"\b[0-9]+ (built|already in the store)|in [0-9]+\.[0-9] s").unwrap());
    DURATION
        .replace_all(text, |found: &regex::Captures<'_>| match found.get(1) {
            Some(word) => format!("[N] {}", word.as_str()),
            None => "in [TIME]".to_owned(),
        })
        .into_owned()
}

/// Replaces counts of objects, files and secrets, and offsets in files as well: every new recipe adds to them.
pub(crate) fn without_counts(text: &str) -> String {
    static COUNT: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"\b[0-9]+ (objects|files|secrets|stay)\b").unwrap());
    static OFFSET: LazyLock<Regex> = LazyLock::new(|| Regex::new(r": byte [0-9]+:").unwrap());
    let text = without_sizes(text);
    OFFSET.replace_all(&COUNT.replace_all(&text, "[N] $1"), ": byte [AT]:").into_owned()
}

/// Replaces ids, times and durations.
fn words(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        if word.len() == 52 && word.bytes().all(|c| c.is_ascii_lowercase() || (b'2'..=b'7').contains(&c)) {
            out.push_str("[ID]");
        } else if word.len() == 16 && [".ign", "-none.iso"].iter().any(|end| after.starts_with(end)) {
            out.push_str("[ID:16]"); // the name of a medium
        } else if is_number(word) && after.starts_with(" ms") {
            out.push_str("[MS]");
        } else if is_number(word) && word.len() == 4 && is_time(rest) {
            out.push_str("[TIME]");
            rest = &rest["0000-00-00T00:00:00Z".len()..];
            continue;
        } else {
            out.push_str(word);
        }
        let mut after = after.chars();
        out.extend(after.next());
        rest = after.as_str();
    }
    out
}

fn is_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|c| c.is_ascii_digit())
}

fn is_time(text: &str) -> bool {
    let shape = "0000-00-00T00:00:00Z".bytes();
    text.len() >= 20
        && text.bytes().zip(shape).all(|(c, s)| if s == b'0' { c.is_ascii_digit() } else { c == s })
}

impl Drop for Workspace {
    fn drop(&mut self) {
        if !std::thread::panicking() || std::env::var_os("TINDERBOX_KEEP").is_none() {
            make_removable(self.temp.path());
        } else {
            self.temp.disable_cleanup(true);
            eprintln!("kept: {}", self.temp.path().display());
        }
    }
}

/// What makes a program believe in the date of this process, where that is `faketime`'s: the same day for both.
pub(crate) fn fake_time() -> impl Iterator<Item = (std::ffi::OsString, std::ffi::OsString)> {
    std::env::vars_os().filter(|(name, _)| {
        let name = name.to_string_lossy();
        name == "LD_PRELOAD" || name.contains("FAKE")
    })
}

/// A file of this repository.
pub(crate) fn source(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Sets permission bits.
pub(crate) fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// Permission bits.
pub(crate) fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().mode() & 0o7777
}

/// Texts of a JSON list.
pub(crate) fn names(value: &Value) -> Vec<String> {
    value.as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned()).collect()
}

/// Every file below a directory: path relative to it, permission bits, bytes. Links are not followed.
pub(crate) fn tree(root: &Path) -> BTreeMap<String, (u32, Vec<u8>)> {
    let mut found = BTreeMap::new();
    let mut open = vec![root.to_owned()];
    while let Some(path) = open.pop() {
        let metadata = fs::symlink_metadata(&path).unwrap();
        if metadata.is_dir() {
            open.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if metadata.is_file() {
            let name = path.strip_prefix(root).unwrap().display().to_string();
            found.insert(name, (metadata.mode() & 0o7777, fs::read(&path).unwrap()));
        }
    }
    found
}

/// Names in a directory.
pub(crate) fn list(path: &Path) -> BTreeSet<String> {
    fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// Changes a file that is read-only, and gives it its mode back.
pub(crate) fn tamper(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let before = mode(path);
    let mut bytes = fs::read(path).unwrap();
    change(&mut bytes);
    set_mode(path, 0o600);
    fs::write(path, bytes).unwrap();
    set_mode(path, before);
}

/// Whether this process is root.
pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Says which part of a test is left out because the machine lacks something. With TINDERBOX_REQUIRE_REAL=1 that is a
/// failure.
pub(crate) fn left_out(part: &str, missing: &str) {
    let required = std::env::var_os("TINDERBOX_REQUIRE_REAL").is_some_and(|value| value == "1");
    assert!(!required, "{part} is required, and cannot be tested: {missing}");
    eprintln!("left out: {part}: {missing}");
    if let Some(list) = std::env::var_os("TINDERBOX_LEFT_OUT") {
        let mut list = fs::OpenOptions::new().append(true).create(true).open(list).unwrap();
        writeln!(list, "{part}: {missing}").unwrap();
    }
}

/// Counts what a suite of attacks tried; `.ci/test` lists it at the end.
pub(crate) fn tried(what: &str) {
    eprintln!("tried: {what}");
    // A test that runs as another user may not write there.
    let list = std::env::var_os("TINDERBOX_TRIED").map(|list| fs::OpenOptions::new().append(true).open(list));
    if let Some(Ok(mut list)) = list {
        writeln!(list, "{what}").unwrap();
    }
}

/// Copies a program that is then run. Another process writes it: a file that is open for writing here is open in whatever
/// other tests fork at that moment, and cannot be executed until they have.
pub(crate) fn copy_program(from: &Path, to: &Path) {
    let status = Command::new("install").args(["-m", "755"]).args([from, to]).status().unwrap();
    assert!(status.success(), "{} was not copied to {}", from.display(), to.display());
}

/// How to run a script where it may mount: as root of a new mount namespace. None, and a word about it, if it may not.
pub(crate) fn in_mount_namespace(part: &str) -> Option<Vec<&'static str>> {
    let flags = if is_root() { vec!["--mount"] } else { vec!["--map-root-user", "--mount"] };
    let script = "mount -t tmpfs -o size=64k tinderbox /mnt";
    let tried = Command::new("unshare").args(&flags).args(["sh", "-c", script]).output();
    match tried {
        Ok(output) if output.status.success() => Some(flags),
        Ok(output) => {
            left_out(part, &format!("mount namespaces: {}", String::from_utf8_lossy(&output.stderr).trim()));
            None
        }
        Err(error) => {
            left_out(part, &format!("unshare and mount, of Debian's util-linux and mount: {error}"));
            None
        }
    }
}

impl Workspace {
    /// The program as a plain user: as ourselves, or, for root, as nobody. None, and a word about it, without setpriv.
    pub(crate) fn as_plain_user(&self, part: &str, args: &[&str]) -> Option<Command> {
        if !is_root() {
            return Some(self.command(args));
        }
        let program = self.temp().join("tinderbox");
        if !program.exists() {
            // Where cargo put it, nobody may be unable to go.
            copy_program(Path::new(env!("CARGO_BIN_EXE_tinderbox")), &program);
        }
        let id = ["--reuid", "65534", "--regid", "65534", "--clear-groups"];
        let tried = Command::new("setpriv").args(id).arg(&program).arg("--version").output();
        if !tried.as_ref().is_ok_and(|output| output.status.success()) {
            left_out(part, &format!("setpriv, of Debian's util-linux: {tried:?}"));
            return None;
        }
        let mut command = self.command_of(Path::new("setpriv"), &id);
        command.arg(&program).args(args);
        Some(command)
    }

    /// Gives the whole workspace to the user that [`Workspace::as_plain_user`] runs as.
    pub(crate) fn give_away(&self) {
        if is_root() {
            let status =
                Command::new("chown").args(["-R", "65534:65534"]).args([&self.dir, &self.store]).status();
            assert!(status.unwrap().success());
        }
    }
}
