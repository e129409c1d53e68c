//! Programs that try to leave the sandbox, under every isolation that this machine has, as root and as a plain user.
//!
//! `attempts.c` has one function per attempt, in classes: `f` files, `m` mounts, `p` processes and privileges, `n` network,
//! `k` the kernel. A control runs the harmless ones outside of the sandbox, where they must succeed: an attempt that
//! nothing lets through proves nothing. What a program may leave in its output is tried in `src/engine/builders/run`.

use std::collections::BTreeMap;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use tinderbox::internals::sandbox::{Ended, Isolation, Mount};

use super::sandbox::{Room, everywhere};
use crate::harness::{copy_program, is_root, left_out, set_mode, tried};

const ATTEMPTS: &str = include_str!("attempts.c");

/// How many attempts there are, in every class, and how many of them succeed outside at least. docs/security.md says the
/// same numbers.
const CLASSES: [(&str, usize); 5] = [("f", 25), ("m", 14), ("p", 28), ("n", 14), ("k", 42)];
const CONTROL: usize = 24;

/// What is seen where it cannot be hidden, and why that is no harm.
const KNOWN: [(Isolation, &str); 2] = [
    // The first process is bwrap, which knows nothing but its command line. That names the mounts; so does
    // `/proc/self/mountinfo`.
    (Isolation::Bubblewrap, "p/cmdline"),
    (Isolation::Bubblewrap, "p/mem"),
];

/// The program, in an image; none, and a word about it, where there is no compiler.
fn compiled(at: &Path) -> Option<()> {
    let source = at.with_extension("c");
    std::fs::write(&source, ATTEMPTS).unwrap();
    let done = Command::new("gcc").args(["-static", "-O1", "-o"]).arg(at).arg(&source).output();
    match done {
        Ok(output) if output.status.success() => Some(()),
        Ok(output) => panic!("{}", String::from_utf8_lossy(&output.stderr)),
        Err(error) => {
            left_out("attempts to escape", &format!("gcc and libc6-dev: {error}"));
            None
        }
    }
}

/// What every attempt came to, by its name.
fn results(text: &str) -> BTreeMap<String, String> {
    let line = |line: &str| line.split_once(": ").map(|(name, result)| (name.to_owned(), result.to_owned()));
    text.lines().map(|text| line(text).unwrap_or_else(|| panic!("{text}"))).collect()
}

/// What the host has, for programs to reach.
struct Host {
    port: String,
    name: String,
    marker: tempfile::NamedTempFile,
    _listeners: (std::net::TcpListener, UnixListener),
}

impl Host {
    fn new() -> Self {
        let tcp = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let marker = tempfile::NamedTempFile::new().unwrap();
        let name = format!("tinderbox-escape-{}", marker.path().file_name().unwrap().to_string_lossy());
        let abstract_socket =
            UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
        std::fs::write(marker.path(), "of the host").unwrap();
        set_mode(marker.path(), 0o644);
        Self {
            port: tcp.local_addr().unwrap().port().to_string(),
            name,
            marker,
            _listeners: (tcp, abstract_socket),
        }
    }

    fn arguments(&self) -> Vec<String> {
        let marker = self.marker.path().display().to_string();
        vec![marker, std::process::id().to_string(), self.port.clone(), self.name.clone()]
    }
}

fn room_with_attempts(room: &Room) -> Option<Room> {
    let mut room = room.another("/out");
    compiled(&room.path("image/bin/attempts"))?;
    std::fs::create_dir(room.path("given")).unwrap();
    std::fs::write(room.path("given/secret"), "secret").unwrap();
    set_mode(&room.path("given/secret"), 0o400);
    room.inputs = vec![Mount { source: room.path("given"), target: "/in".into() }];
    Some(room)
}

#[test]
fn no_attempt_succeeds() {
    let host = Host::new();
    let mut said = Vec::new();
    everywhere(|room, sandbox, isolation| {
        let Some(room) = room_with_attempts(room) else { return };
        let mut argv = vec!["/bin/attempts".to_owned()];
        argv.extend(host.arguments());
        let argv: Vec<&str> = argv.iter().map(String::as_str).collect();
        let ran = room.try_run(sandbox, &argv).unwrap();
        assert_eq!(ran.ended, Ended::Exited(0), "{isolation:?}: {}", ran.log.text());
        let results = results(&ran.log.text());
        let known = |name: &str| KNOWN.contains(&(isolation, name));
        let through: Vec<_> =
            results.iter().filter(|(name, result)| !result.starts_with("refused") && !known(name)).collect();
        assert_eq!(through, [], "{isolation:?}");
        if cfg!(target_arch = "x86_64") {
            for (class, count) in CLASSES {
                let found = results.keys().filter(|name| name.starts_with(&format!("{class}/"))).count();
                assert_eq!(found, count, "class {class}");
            }
        }
        assert_eq!(std::fs::read_to_string(room.path("given/secret")).unwrap(), "secret");
        assert_eq!(std::fs::read_to_string(host.marker.path()).unwrap(), "of the host");
        said.push(format!("{}: {} attempts refused", isolation.as_str(), results.len()));
    });
    tried(&format!("{} (as {})", said.join("; "), if is_root() { "root" } else { "a plain user" }));
}

/// The same attempts succeed where there is no sandbox.
#[test]
fn outside_of_the_sandbox_they_do() {
    let Some(room) = Room::new() else { return };
    let program = room.path("image/bin/attempts");
    if compiled(&program).is_none() {
        return;
    }
    let host = Host::new();
    let output = Command::new(program).args(host.arguments()).arg("safe").output().unwrap();
    let results = results(&String::from_utf8(output.stdout).unwrap());
    let through = results.values().filter(|result| result.starts_with("ESCAPED")).count();
    assert!(through >= CONTROL, "{through}: {results:#?}");
}

/// Everything here once more as another user, if this is root.
#[test]
fn as_a_plain_user_too() {
    if !is_root() {
        return; // it is what the others did
    }
    let dir = tempfile::tempdir().unwrap();
    set_mode(dir.path(), 0o755);
    let tests = dir.path().join("tests");
    copy_program(&std::env::current_exe().unwrap(), &tests);
    let home = dir.path().join("home");
    std::fs::create_dir(&home).unwrap();
    std::os::unix::fs::chown(&home, Some(65_534), Some(65_534)).unwrap();
    for test in [
        "escape::no_attempt_succeeds",
        "escape::limits_hold",
        "sandbox::the_machine_looks_the_same_unless_it_is_varied",
        "sandbox::control_groups_hold_where_there_are_any",
    ] {
        let output = Command::new(&tests)
            .args(["--exact", &format!("host::{test}"), "--nocapture"])
            .env("TMPDIR", &home)
            .current_dir(&home)
            .uid(65_534)
            .gid(65_534)
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{test}: {text}{}", String::from_utf8_lossy(&output.stderr));
        assert!(text.contains("1 passed"), "{text}");
        eprint!("{text}{}", String::from_utf8_lossy(&output.stderr));
    }
}

/// What a program can use up.
const USES: [&str; 8] =
    ["processes", "descriptors", "shared", "together", "deleted", "unreadable", "deep", "sparse"];

/// What a program uses up, and how it ends for that.
#[test]
fn limits_hold() {
    const MEBIBYTE: u64 = 1 << 20;
    everywhere(|room, sandbox, isolation| {
        let Some(mut room) = room_with_attempts(room) else { return };
        room.limits.output = 8 * MEBIBYTE;
        room.limits.memory = 256 * MEBIBYTE;
        room.limits.processes = 100;
        room.limits.time = Duration::from_secs(60);
        let run = |what: &str| {
            assert!(USES.contains(&what), "{what}");
            let ran = room.try_run(sandbox, &["/bin/attempts", "use", what]).unwrap();
            eprintln!("{isolation:?}: {what}: {:?} {} ({})", ran.ended, ran.log.text().trim(), ran.walls);
            (ran.ended, ran.log.text())
        };
        let count = |text: &str| text.split(' ').next().unwrap().parse::<u64>().unwrap();
        let (ended, said) = run("processes");
        assert!(ended == Ended::Exited(0) && count(&said) < 100, "{isolation:?}: {ended:?} {said}");
        let (ended, said) = run("descriptors");
        assert!(ended == Ended::Exited(0) && count(&said) <= 1024, "{isolation:?}: {ended:?} {said}");
        for what in ["shared", "together"] {
            assert_eq!(run(what).0, Ended::MemoryLimit(256 * MEBIBYTE), "{isolation:?} {what}");
        }
        for what in ["deleted", "unreadable"] {
            assert_eq!(run(what).0, Ended::OutputLimit(8 * MEBIBYTE), "{isolation:?} {what}");
        }
        assert_eq!(run("deep").0, Ended::DepthLimit(128), "{isolation:?}");
        let (ended, _) = run("sparse"); // a signal, which bwrap reports as an exit code
        assert!(ended != Ended::Exited(0), "{isolation:?}: {ended:?}");
    });
}

/// docs/security.md counts what is tried here.
#[test]
fn the_document_has_these_numbers() {
    let text = std::fs::read_to_string(crate::harness::source("docs/security.md")).unwrap();
    let [(_, files), (_, mounts), (_, processes), (_, network), (_, kernel)] = CLASSES;
    let total = files + mounts + processes + network + kernel;
    let said = format!(
        "- {total} attempts to escape: {files} on files, {mounts} on mounts, {processes} on processes and privileges, {network} on the network, {kernel} on the kernel."
    );
    assert!(text.replace('\n', " ").contains(&said), "{said}");
    assert!(text.contains(&format!("- {} ways to use up a machine", USES.len())));
}
