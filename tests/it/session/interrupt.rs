//! Ctrl-C and SIGTERM end every wait at once, and say so: for a registry that is silent, for a lock that another process holds.

use std::fs::File;
use std::io::Read as _;
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::harness::Workspace;

/// Longer than a cancelled wait takes on a busy machine, and shorter than the ten seconds after which the program gives up.
const SOON: Duration = Duration::from_secs(5);

fn start(ws: &Workspace, args: &[&str]) -> Child {
    ws.command(args).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Sends a signal, and expects the word, the exit code and a quick end.
fn ends(mut child: Child, signal: Signal, case: &str) {
    let begin = Instant::now();
    kill_process(Pid::from_child(&child), signal).unwrap();
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(130), "{case}: {said}");
    assert!(said.contains("error: interrupted"), "{case}: {said}");
    assert!(begin.elapsed() < SOON, "{case}: {:?}", begin.elapsed());
}

#[test]
fn a_silent_registry() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let ws = Workspace::example();
    let release = format!("release: {}/ocp/release:4.18", listener.local_addr().unwrap());
    ws.edit("cluster.yaml", "release: demo:4.18", &release);
    for signal in [Signal::INT, Signal::TERM] {
        let mut child = start(&ws, &["lock", "--update", "release"]);
        let _connection = accepted(&listener, &mut child); // now it waits for us to speak
        ends(child, signal, "lock");
    }
}

/// The connection of a process, unless it ends before.
fn accepted(listener: &TcpListener, child: &mut Child) -> TcpStream {
    listener.set_nonblocking(true).unwrap();
    loop {
        match listener.accept() {
            Ok((connection, _)) => return connection,
            Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock),
        }
        assert!(child.try_wait().unwrap().is_none(), "it ended before it connected");
        std::thread::sleep(Duration::from_millis(5)); // until it connects or ends
    }
}

/// Waits until a process sleeps in `flock`, in one of its threads.
fn waits_for_lock(child: &Child) {
    let tasks = format!("/proc/{}/task", child.id());
    let begin = Instant::now();
    let waits = || {
        let tasks = std::fs::read_dir(&tasks).into_iter().flatten().flatten();
        tasks.map(|task| task.path().join("syscall")).any(|path| {
            let number = std::fs::read_to_string(path).unwrap_or_default();
            number.split(' ').next() == Some(&FLOCK.to_string())
        })
    };
    while !waits() {
        assert!(begin.elapsed() < Duration::from_secs(60), "it never waited");
        std::thread::sleep(Duration::from_millis(5)); // nothing tells us
    }
}

#[cfg(target_arch = "x86_64")]
const FLOCK: u32 = 73;
#[cfg(not(target_arch = "x86_64"))]
const FLOCK: u32 = 32;

#[test]
fn a_lock_that_another_process_holds() {
    let ws = Workspace::example().prebuilt();
    ws.build(&[]);
    let held = File::options().create(true).append(true).open(ws.part("locks").join("gc")).unwrap();
    held.lock().unwrap();
    for args in [&["build"][..], &["store", "gc"], &["store", "gc", "--dry-run"]] {
        let child = start(&ws, args);
        waits_for_lock(&child);
        // Its memory has the seed in it, and it dumps no core: of one byte none is written, and no handler is started.
        let limits = std::fs::read_to_string(format!("/proc/{}/limits", child.id())).unwrap();
        let core = limits.lines().find(|line| line.starts_with("Max core file size")).unwrap();
        let limit: Vec<&str> = core.split_whitespace().skip(4).take(2).collect();
        assert!(["0", "1"].contains(&limit[0]) && limit[0] == limit[1], "{core}");
        ends(child, Signal::INT, &args.join(" "));
    }
    held.unlock().unwrap();
    ws.assert_sound();
}
