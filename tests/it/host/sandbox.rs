//! The sandbox on bad days: every program here is Debian's busybox, and every test runs under each isolation that this
//! machine has.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tinderbox::internals::hint::Hint;
use tinderbox::internals::sandbox::{
    Ended, Isolation, Limits, Mount, Program, Ran, Sandbox, SandboxError, Variation,
};

use crate::harness::{copy_program, is_root, left_out, list, set_mode};

/// An image with busybox in it and nothing else, and a place for the output.
pub(super) struct Room {
    dir: tempfile::TempDir,
    pub(super) inputs: Vec<Mount>,
    environment: BTreeMap<String, String>,
    addresses: Vec<IpAddr>,
    pub(super) limits: Limits,
    directory: String,
}

impl Room {
    pub(super) fn new() -> Option<Self> {
        let busybox = Path::new("/bin/busybox");
        let is_static =
            std::fs::read(busybox).is_ok_and(|bytes| !bytes.windows(9).any(|w| w == b"/lib64/ld"));
        if !is_static {
            left_out("programs in a sandbox", "a static busybox, of Debian's busybox-static");
            return None;
        }
        let dir = tempfile::tempdir().unwrap();
        for part in ["image/bin", "out", "scratch"] {
            std::fs::create_dir_all(dir.path().join(part)).unwrap();
        }
        let to = dir.path().join("image/bin/busybox");
        copy_program(busybox, &to);
        for name in ["sh", "cat", "ls", "env", "true", "sleep", "dd", "yes", "nc"] {
            std::os::unix::fs::symlink("busybox", to.with_file_name(name)).unwrap();
        }
        let limits = Limits { time: Duration::from_secs(20), ..Limits::default() };
        let directory = "/".to_owned();
        let (inputs, environment, addresses) = Default::default();
        Some(Self { dir, inputs, environment, addresses, limits, directory })
    }

    /// One like this, to be changed, in which programs start elsewhere.
    pub(super) fn another(&self, directory: &str) -> Self {
        Self { directory: directory.to_owned(), ..Self::new().unwrap() }
    }

    pub(super) fn path(&self, part: &str) -> PathBuf {
        self.dir.path().join(part)
    }

    pub(super) fn try_run(&self, sandbox: &Sandbox, argv: &[&str]) -> Result<Ran, SandboxError> {
        self.run_until(sandbox, argv, &AtomicBool::new(false))
    }

    fn run_until(&self, sandbox: &Sandbox, argv: &[&str], cancel: &AtomicBool) -> Result<Ran, SandboxError> {
        for part in ["out", "scratch"] {
            tinderbox::internals::fs::remove_all(&self.path(part)).unwrap();
            std::fs::create_dir(self.path(part)).unwrap();
        }
        let argv: Vec<String> = argv.iter().map(ToString::to_string).collect();
        let program = Program {
            root: &self.path("image"),
            argv: &argv,
            environment: &self.environment,
            directory: &self.directory,
            inputs: &self.inputs,
            output: &self.path("out"),
            scratch: &self.path("scratch"),
            addresses: &self.addresses,
            registry: None,
            limits: self.limits,
        };
        sandbox.run(&program, cancel)
    }

    /// A script of busybox's shell that must be let run; what it says.
    fn shell(&self, sandbox: &Sandbox, script: &str) -> (Ended, String) {
        let ran = self.try_run(sandbox, &["/bin/sh", "-c", script]).unwrap();
        (ran.ended, ran.log.text())
    }
}

/// Runs a test under every isolation that there can be here.
pub(super) fn everywhere(mut test: impl FnMut(&Room, &Sandbox, Isolation)) {
    let Some(room) = Room::new() else { return };
    for isolation in [Isolation::User, Isolation::Root, Isolation::Bubblewrap] {
        let sandbox = Sandbox::only(isolation);
        match room.try_run(&sandbox, &["/bin/true"]) {
            Ok(_) => test(&room, &sandbox, isolation),
            // Not a lack of this machine: nobody but root can do the one, and root may not do the other.
            Err(SandboxError::Forbidden { what, .. })
                if is_root() == (isolation == Isolation::Bubblewrap) && what.contains("root") => {}
            Err(SandboxError::Forbidden { what, .. }) => left_out(isolation.as_str(), &what),
            Err(error) => panic!("{isolation:?}: {error:?}"),
        }
    }
}

fn listed(dir: &Path) -> Vec<String> {
    list(dir).into_iter().collect()
}

fn ok(text: &str) -> (Ended, String) {
    (Ended::Exited(0), text.to_owned())
}

#[test]
fn a_program_sees_what_it_was_given_and_nothing_else() {
    everywhere(|room, sandbox, isolation| {
        let says = |script: &str| room.shell(sandbox, script);
        assert_eq!(says("ls /"), ok("bin\ndev\nout\nproc\ntmp\n"), "{isolation:?}");
        let environment = room.try_run(sandbox, &["/bin/env"]).unwrap().log.text();
        let own: Vec<&str> = environment.lines().filter(|line| !line.starts_with("PWD=")).collect(); // bwrap adds that
        assert_eq!(own, ["LC_ALL=C"], "{isolation:?}");
        assert_eq!(says("busybox hostname; umask; pwd").1, "tinderbox\n0022\n/\n", "{isolation:?}");
        let user = if isolation == Isolation::Root { "2000001000\n2000001000\n" } else { "1000\n1000\n" };
        assert_eq!(says("busybox id -u; busybox id -g"), ok(user), "{isolation:?}");
        assert_eq!(says("cat /etc/passwd 2>&1").0, Ended::Exited(1), "{isolation:?}");
        assert_eq!(
            says("ls /dev"),
            ok("fd\nfull\nnull\nrandom\nshm\nstderr\nstdin\nstdout\nurandom\nzero\n"),
            "{isolation:?}"
        );
        assert_eq!(says("echo x > /dev/null; echo $?; cat; ls /proc/self/fd | head -3"), ok("0\n0\n1\n2\n"));
        // Its own files of /proc are its own, and even those are read-only.
        let (_, said) = says(
            "echo x 2>/dev/null > /proc/self/comm || cat /proc/self/comm; busybox grep ' /proc ' /proc/self/mounts",
        );
        assert!(!said.starts_with("x\n") && said.contains(" proc ro,"), "{isolation:?}: {said}");
        // Only its own processes: the first of its namespace, the shell, and those that count them.
        let (_, count) = says("ls -d /proc/[0-9]* | busybox wc -l");
        assert!(count.trim().parse::<u32>().unwrap() <= 5, "{isolation:?}: {count}");
        assert_eq!(
            says(
                "grep -E '^(NoNewPrivs|CapEff|CapPrm)' /proc/self/status"
                    .replace("grep", "busybox grep")
                    .as_str()
            ),
            ok("CapPrm:\t0000000000000000\nCapEff:\t0000000000000000\nNoNewPrivs:\t1\n"),
            "{isolation:?}"
        );
    });
}

#[test]
fn it_reads_its_inputs_and_writes_its_output() {
    everywhere(|room, sandbox, isolation| {
        let mut room = room.another("/out");
        std::fs::create_dir_all(room.path("image/etc/mcc")).unwrap();
        std::fs::write(room.path("image/etc/mcc/own"), "own").unwrap();
        std::fs::write(room.path("file"), "secret").unwrap();
        set_mode(&room.path("file"), 0o400);
        std::fs::create_dir(room.path("dir")).unwrap();
        std::fs::write(room.path("dir/inside"), "inside").unwrap();
        let mount =
            |source: &str, target: &str| Mount { source: room.path(source), target: target.to_owned() };
        room.inputs = vec![mount("file", "/etc/mcc/given"), mount("dir", "/in/dir")];
        room.environment.insert("GREETING".into(), "hello world".into());
        let script = "cat /etc/mcc/own /etc/mcc/given /in/dir/inside; echo; echo $GREETING; echo out > made; \
            mkdir -p deep/er; echo x > /tmp/x; cat /tmp/x";
        assert_eq!(room.shell(sandbox, script), ok("ownsecretinside\nhello world\nx\n"), "{isolation:?}");
        assert_eq!(listed(&room.path("out")), ["deep", "made"], "{isolation:?}");
        for place in ["/in/dir/x", "/etc/mcc/x", "/etc/mcc/given", "/bin/x", "/x", "/dev/x", "/etc/x"] {
            let (_, said) = room.shell(sandbox, &format!("echo x > {place}"));
            assert!(
                said.contains("Read-only") || said.contains("Permission denied"),
                "{isolation:?} {place}: {said}"
            );
        }
        assert_eq!(std::fs::read_to_string(room.path("file")).unwrap(), "secret");
        assert_eq!(listed(&room.path("image/etc/mcc")), ["own"]);
    });
}

#[test]
fn there_is_no_network() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    listener.set_nonblocking(true).unwrap();
    everywhere(|room, sandbox, isolation| {
        let (ended, said) = room.shell(sandbox, &format!("nc -w 3 127.0.0.1 {port} < /dev/null"));
        assert!(matches!(ended, Ended::Exited(1)), "{isolation:?}: {ended:?} {said}");
        assert_eq!(room.shell(sandbox, "busybox ip route; busybox ip -o link | busybox wc -l"), ok("1\n"));
    });
    assert!(listener.accept().is_err(), "somebody got through");
}

#[test]
fn an_address_can_be_had_on_its_own_loopback() {
    let Some(mut room) = Room::new() else { return };
    room.addresses = vec!["192.168.126.100".parse().unwrap(), "fd00::100".parse().unwrap()];
    let sandbox = Sandbox::default();
    let (ended, said) = room.shell(&sandbox, "busybox ip -o addr");
    assert_eq!(ended, Ended::Exited(0));
    assert!(said.contains("192.168.126.100/") && said.contains("fd00::100/128"), "{said}");
    let (_, said) = room.shell(
        &sandbox,
        "nc -l -p 8080 -e /bin/busybox echo hello & until nc 192.168.126.100 8080 2>/dev/null; do :; done",
    );
    assert_eq!(said, "hello\n");
}

/// A script whose interpreter is tinderbox finds it, whatever else the image has; no other program is taken for it.
#[test]
fn a_script_for_tinderbox_is_run_by_it() {
    everywhere(|room, sandbox, isolation| {
        let room = room.another("/");
        let script = |text: &str| {
            std::fs::write(room.path("image/bin/machine-config-operator"), text).unwrap();
            set_mode(&room.path("image/bin/machine-config-operator"), 0o755);
        };
        let argv = ["/bin/machine-config-operator", "version"];
        script("#!/.tinderbox/interpreter machine-config@1 4.18\n");
        let problem = room.try_run(sandbox, &argv).unwrap_err().to_string();
        assert!(
            problem.ends_with("its interpreter is tinderbox, but this process is another program"),
            "{problem}"
        );

        let sandbox = Sandbox::only(isolation).interpreting(Some(env!("CARGO_BIN_EXE_tinderbox").into()));
        let says = |argv: &[&str]| {
            let ran = room.try_run(&sandbox, argv).unwrap();
            (ran.ended, ran.log.text())
        };
        assert_eq!(says(&argv), ok("machine-config-operator v4.18.0-demo\n"), "{isolation:?}");
        let (ended, said) = says(&["/bin/machine-config-operator", "bootstrap", "--nonsense"]);
        assert_eq!(ended, Ended::Exited(1), "{isolation:?}");
        assert!(said.starts_with("Error: unknown flag: --nonsense\n"), "{isolation:?}: {said}");
        script("#!/.tinderbox/interpreter machine-config@0 4.18\n");
        assert_eq!(says(&argv).0, Ended::Exited(126), "{isolation:?}");
        // Others do not see it.
        assert_eq!(
            room.shell(&sandbox, "ls -a / | busybox grep tinderbox").0,
            Ended::Exited(1),
            "{isolation:?}"
        );
    });
}

#[test]
fn what_lingers_is_killed() {
    everywhere(|room, sandbox, isolation| {
        let start = Instant::now();
        let script = "(trap '' TERM HUP; busybox setsid sleep 1000 & sleep 1000) & echo left";
        assert_eq!(room.shell(sandbox, script), ok("left\n"), "{isolation:?}");
        assert!(start.elapsed() < Duration::from_secs(10), "{isolation:?}");
        assert_eq!(running(room.dir.path()), Vec::<String>::new(), "{isolation:?}");
    });
}

#[test]
fn what_ignores_sigterm_is_killed_in_time() {
    everywhere(|room, sandbox, isolation| {
        let mut room = room.another("/");
        room.limits.time = Duration::from_millis(300);
        let (ended, said) =
            room.shell(sandbox, "trap '' TERM INT HUP; echo here; while :; do sleep 100; done");
        assert_eq!(ended, Ended::TimeLimit(room.limits.time), "{isolation:?}");
        assert_eq!(said, "here\n");
        assert_eq!(running(room.dir.path()), Vec::<String>::new(), "{isolation:?}");
    });
}

#[test]
fn the_user_can_stop_it() {
    everywhere(|room, sandbox, isolation| {
        let cancel = AtomicBool::new(false);
        let ran = std::thread::scope(|threads| {
            let run = threads.spawn(|| {
                room.run_until(sandbox, &["/bin/sh", "-c", "echo x > /out/x; sleep 1000"], &cancel)
            });
            while !room.path("out/x").exists() {
                std::thread::yield_now();
            }
            cancel.store(true, Ordering::Relaxed);
            run.join().unwrap().unwrap()
        });
        assert_eq!(ran.ended, Ended::Cancelled, "{isolation:?}");
        assert_eq!(running(room.dir.path()), Vec::<String>::new(), "{isolation:?}");
    });
}

/// Processes whose program is in this directory, or whose root is.
fn running(image: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for _ in 0..200 {
        found = list(Path::new("/proc"))
            .into_iter()
            .filter(|pid| pid.bytes().all(|c| c.is_ascii_digit()))
            .filter(|pid| {
                std::fs::read_to_string(format!("/proc/{pid}/mountinfo"))
                    .is_ok_and(|mounts| mounts.contains(&*image.join("out").to_string_lossy()))
            })
            .collect();
        // What was killed a moment ago may still be on its way out.
        if found.is_empty() {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    found
}

#[test]
fn a_gigabyte_of_words_is_taken_and_not_kept() {
    everywhere(|room, sandbox, isolation| {
        let ran = room
            .try_run(
                sandbox,
                &["/bin/sh", "-c", "echo first; dd if=/dev/zero bs=1M count=1024 2>/dev/null; echo last"],
            )
            .unwrap();
        assert_eq!(ran.ended, Ended::Exited(0), "{isolation:?}");
        assert_eq!(ran.log.total(), (1 << 30) + 11, "{isolation:?}");
        let text = ran.log.text();
        assert!(text.starts_with("first\n") && text.ends_with("last\n") && text.len() < 100_000);
    });
}

#[test]
fn the_disk_is_not_filled() {
    everywhere(|room, sandbox, isolation| {
        let mut room = room.another("/");
        room.limits.output = 8 << 20;
        // One file: the system refuses. In /tmp: the same.
        let (ended, said) = room.shell(sandbox, "dd if=/dev/zero of=/out/x bs=1M count=100");
        assert!(ended != Ended::Exited(0), "{isolation:?}: {ended:?} {said}");
        let (ended, said) = room
            .shell(sandbox, "for n in 1 2 3; do dd if=/dev/zero of=/tmp/$n bs=1M count=7 || exit 9; done");
        assert_eq!(ended, Ended::Exited(9), "{isolation:?}: {said}");
        assert!(said.contains("No space left"), "{isolation:?}: {said}");
        // Many files: it is killed soon.
        let script = "n=0; while :; do n=$((n+1)); dd if=/dev/zero of=/out/$n bs=1M count=1; done";
        assert_eq!(room.shell(sandbox, script).0, Ended::OutputLimit(8 << 20), "{isolation:?}");
        room.limits.entries = 100;
        let script = "n=0; while :; do n=$((n+1)); : > /out/$n; done";
        assert_eq!(room.shell(sandbox, script).0, Ended::EntryLimit(100), "{isolation:?}");
        // What is over in the end counts too, however short the program ran.
        let script = "for n in 1 2 3; do dd if=/dev/zero of=/out/$n bs=4M count=1; done";
        assert_eq!(room.shell(sandbox, script).0, Ended::OutputLimit(8 << 20), "{isolation:?}");
    });
}

#[test]
fn memory_and_processes_have_a_limit() {
    everywhere(|room, sandbox, isolation| {
        let mut room = room.another("/");
        room.limits.memory = 64 << 20;
        let (ended, said) = room.shell(sandbox, "dd if=/dev/zero of=/dev/null bs=200M count=1");
        assert_eq!(ended, Ended::Exited(1), "{isolation:?}: {said}");
        assert!(said.contains("out of memory"), "{isolation:?}: {said}");
    });
}

/// Where groups for memory can be made: below our own.
fn group_of_version_1() -> Option<PathBuf> {
    let groups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let (_, group) = groups.lines().find_map(|line| line.split_once(":memory:"))?;
    Some(Path::new("/sys/fs/cgroup/memory").join(group.trim_start_matches('/')))
}

/// The same with version 2: below our own group if it hands on its controllers, or beside it if it has no limits.
fn group_of_version_2() -> Option<PathBuf> {
    let read = |path: PathBuf| std::fs::read_to_string(path).unwrap_or_default();
    let groups = read("/proc/self/cgroup".into());
    let own = Path::new("/sys/fs/cgroup").join(groups.trim().strip_prefix("0::/")?);
    let hands_on = |group: &Path| read(group.join("cgroup.subtree_control")).contains("memory");
    let is_limited = ["memory.max", "memory.high", "pids.max"].iter().any(|file| {
        let limit = read(own.join(file));
        !limit.is_empty() && limit.trim() != "max"
    });
    let beside = own.parent().filter(|parent| hands_on(parent) && !is_limited).map(Path::to_owned);
    if hands_on(&own) { Some(own) } else { beside }
}

/// Where this process could make a control group for memory, programs are in one; it is gone afterwards, and the kernel
/// ends a program that nobody looked at.
#[test]
fn control_groups_hold_where_there_are_any() {
    let own = group_of_version_1().or_else(group_of_version_2).filter(|own| {
        let probe = own.join(format!("tinderbox-test-{}", std::process::id()));
        std::fs::create_dir(&probe).and_then(|()| std::fs::remove_dir(&probe)).is_ok()
    });
    everywhere(|room, sandbox, isolation| {
        let mut room = room.another("/");
        room.limits.memory = 96 << 20;
        let ran = room.try_run(sandbox, &["/bin/true"]).unwrap();
        eprintln!("{isolation:?}: {}", ran.walls);
        let Some(own) = &own else { return };
        assert!(ran.walls.memory_group, "{isolation:?}: {}", ran.walls);
        // Each of them within its own limit, for a few milliseconds only, and in `/tmp`, which no rlimit counts.
        let script =
            "for n in 1 2 3 4; do dd if=/dev/zero of=/tmp/$n bs=32M count=1 2>/dev/null & done; wait";
        let (ended, said) = room.shell(sandbox, script);
        assert_eq!(ended, Ended::MemoryLimit(96 << 20), "{isolation:?}: {said}");
        let ours = format!("tinderbox-{}-", std::process::id());
        let left = || list(own).into_iter().filter(|name| name.starts_with(&ours)).count();
        let start = Instant::now();
        while left() > 8 && start.elapsed() < Duration::from_secs(10) {
            std::thread::sleep(Duration::from_millis(10)); // other tests have theirs at the same time
        }
        assert!(left() <= 8, "{isolation:?}: {} groups are left", left());
    });
}

/// One CPU and one user id, whatever the machine has; a variation shows others, and directories in another order.
#[test]
fn the_machine_looks_the_same_unless_it_is_varied() {
    everywhere(|room, sandbox, isolation| {
        let mut room = room.another("/");
        std::fs::create_dir_all(room.path("given/deep")).unwrap();
        for name in ["a", "b", "c", "d", "deep/e", "deep/f", "deep/g"] {
            std::fs::write(room.path("given").join(name), name).unwrap();
        }
        std::fs::write(room.path("given/large"), vec![b'x'; 100_000]).unwrap();
        room.inputs = vec![Mount { source: room.path("given"), target: "/in".into() }];
        let look = |sandbox: &Sandbox| {
            let script = "busybox nproc; busybox id -u; busybox find /in; busybox find /in -type f | busybox sort | busybox xargs busybox md5sum";
            let (ended, said) = room.shell(sandbox, script);
            assert_eq!(ended, Ended::Exited(0), "{isolation:?}: {said}");
            let lines: Vec<String> = said.lines().map(str::to_owned).collect();
            assert_eq!(lines.len(), 2 + 10 + 8, "{isolation:?}: {said}");
            (lines[0].clone(), lines[1].clone(), lines[2..12].to_vec(), lines[12..].to_vec())
        };
        let (cpus, user, order, content) = look(sandbox);
        let (more, other, reordered, same) = look(&sandbox.varied(Variation::ALL));
        assert_eq!(cpus, "1", "{isolation:?}");
        assert_eq!(more, std::thread::available_parallelism().unwrap().to_string(), "{isolation:?}");
        assert_ne!(user, other, "{isolation:?}");
        assert_ne!(order, reordered, "{isolation:?}");
        let sorted = |mut list: Vec<String>| {
            list.sort();
            list
        };
        assert_eq!(sorted(order), sorted(reordered), "{isolation:?}");
        assert_eq!(content, same, "{isolation:?}");
        // The program cannot take the others.
        let all = room.shell(sandbox, "busybox taskset 3 busybox nproc 2>&1");
        assert!(all.1 != "2\n", "{isolation:?}: {}", all.1);
    });
}

#[test]
fn no_core_is_dumped() {
    everywhere(|room, sandbox, isolation| {
        let room = room.another("/out");
        let (ended, said) = room.shell(sandbox, "kill -SEGV $$");
        match isolation {
            Isolation::Bubblewrap => assert_eq!(ended, Ended::Exited(128 + 11), "{said}"),
            _ => assert_eq!(ended, Ended::Signalled(11), "{isolation:?} {said}"),
        }
        assert_eq!(listed(&room.path("out")), Vec::<String>::new(), "{isolation:?}");
    });
}

#[test]
fn programs_that_are_none() {
    let Some(room) = Room::new() else { return };
    let sandbox = Sandbox::default();
    let error = |argv: &[&str]| {
        let error = room.try_run(&sandbox, argv).unwrap_err();
        format!("{error}; hint: {}", error.hint().unwrap_or_else(|| "none".into()))
    };
    let put = |name: &str, bytes: &[u8], mode: u32| {
        std::fs::write(room.path("image/bin").join(name), bytes).unwrap();
        set_mode(&room.path("image/bin").join(name), mode);
    };
    let mut elf = std::fs::read("/bin/busybox").unwrap();
    // No machine that anybody emulates.
    elf[18..20].copy_from_slice(&0xBEEF_u16.to_le_bytes());
    put("foreign", &elf, 0o755);
    put("script", b"#!/usr/bin/python3\n", 0o755);
    put("text", b"hello\n", 0o755);
    put("plain", b"#!/bin/sh\n", 0o644);
    insta::assert_snapshot!(error(&["/bin/bussybox"]), @"the image has no program `/bin/bussybox`; hint: did you mean `busybox`?");
    insta::assert_snapshot!(error(&["sh"]), @"the image has no program `sh`; hint: name a program by its absolute path in the image");
    insta::assert_snapshot!(error(&["/bin"]), @"cannot run `/bin` of the image: it is not a file; hint: none");
    insta::assert_snapshot!(error(&["/bin/foreign"]), @"cannot run `/bin/foreign` of the image: it is for another architecture, and this machine is x86_64; hint: build on a machine of that architecture");
    insta::assert_snapshot!(error(&["/bin/script"]), @"cannot run `/bin/script` of the image: it needs `/usr/bin/python3`, which the image does not have; hint: none");
    insta::assert_snapshot!(error(&["/bin/text"]), @"cannot run `/bin/text` of the image: it is not a program; hint: none");
    insta::assert_snapshot!(error(&["/bin/plain"]), @"cannot run `/bin/plain` of the image: permission denied: it is not executable, or the store's file system is mounted `noexec`; hint: none");
}

#[test]
fn mounts_that_cannot_be() {
    let Some(mut room) = Room::new() else { return };
    let mut error = |targets: &[&str]| {
        room.inputs = targets
            .iter()
            .map(|target| Mount { source: "/bin".into(), target: target.to_string() })
            .collect();
        room.try_run(&Sandbox::default(), &["/bin/true"]).unwrap_err().to_string()
    };
    insta::assert_snapshot!(error(&["in"]), @"`in` cannot be mounted: it is not an absolute path");
    insta::assert_snapshot!(error(&["/in/../out"]), @"`/in/../out` cannot be mounted: it is not a plain path");
    insta::assert_snapshot!(error(&["/out"]), @"`/out` cannot be mounted: something else is mounted there");
    insta::assert_snapshot!(error(&["/in", "/in/below"]), @"`/in/below` cannot be mounted: it is inside another mount");
}
