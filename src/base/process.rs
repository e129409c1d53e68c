//! Programs of the host, run to their end: with a limit, without a terminal, and with no environment but the one given.
//!
//! [`Programs::attach`] is for one that the user talks to, and that has our terminal.
//!
//! Invariants: whatever is started is gone when [`Programs::run`] returns, with the processes that it left behind in its
//! group, unless it is there to start a daemon; a program that is not there is an error of its own, because the user has to install something.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{Read, Write};
use std::ops::ControlFlow;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

use crate::base::hint::Hint;

/// How often a running program is looked after.
const TICK: Duration = Duration::from_millis(50);

/// As much of what a program prints is handed on at once.
const PIECE: usize = 64 << 10;

/// Takes what a program prints, piece by piece, until it has enough.
pub(crate) type Take<'a> = &'a mut (dyn FnMut(&[u8]) -> ControlFlow<()> + Send);

/// Where programs are found, and what they see.
#[derive(Debug, Clone, Default)]
pub(crate) struct Programs {
    /// Their whole environment; PATH in it says where they are.
    pub environment: BTreeMap<String, OsString>,
}

/// One program to run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Run<'a> {
    pub program: &'a str,
    /// Its arguments: no secret may be among them, others can see them.
    pub args: &'a [&'a str],
    pub stdin: &'a [u8],
    /// How long it may take.
    pub limit: Duration,
    /// Whether what it starts goes on after it: a daemon, which may not have left its group yet.
    pub daemon: bool,
    /// Set when everything is to end.
    pub cancel: &'a AtomicBool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ended {
    /// Its exit status; none if a signal ended it.
    pub status: Option<i32>,
    pub stdout: Vec<u8>,
    /// What it complained about.
    pub stderr: String,
}

impl Ended {
    /// Whether it says that all went well.
    pub(crate) fn is_success(&self) -> bool {
        self.status == Some(0)
    }

    /// What it printed, as text.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }
}

/// Why a program did not run to its end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProcessError {
    /// There is no such program.
    #[error("there is no program `{program}` on this machine")]
    Missing { program: String },
    /// It is there and cannot be started.
    #[error("`{program}` cannot be started")]
    Start { program: String, source: std::io::Error },
    /// It took too long, and was ended.
    #[error("`{command}` did not end within {} seconds", limit.as_secs())]
    Late {
        /// Which, with its arguments.
        command: String,
        /// How long it had.
        limit: Duration,
    },
    /// The user wants to stop.
    #[error("interrupted")]
    Stopped,
}

impl Hint for ProcessError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Missing { program } => Some(match program.as_str() {
                "virsh" => {
                    "install libvirt's client (Debian: libvirt-clients, Fedora: libvirt-client)".into()
                }
                program => format!("install `{program}`, or put the directory that has it into PATH"),
            }),
            Self::Late { .. } => Some("run it yourself to see what it waits for".into()),
            Self::Start { .. } | Self::Stopped => None,
        }
    }
}

impl Programs {
    /// Whether there is such a program.
    pub(crate) fn has(&self, program: &str) -> bool {
        let path = self.environment.get("PATH").cloned().unwrap_or_default();
        std::env::split_paths(&path)
            .any(|dir| matches!(crate::base::fs::exists(&dir.join(program)), Ok(true)))
    }

    /// Runs one to its end. Its exit status is for the caller to judge.
    pub(crate) fn run(&self, run: Run<'_>) -> Result<Ended, ProcessError> {
        self.watched(run, read)
    }

    /// The same for one that prints a lot, or without end: every piece is handed on as it comes. If `take` has enough, the
    /// program writes to nobody.
    pub(crate) fn stream(&self, run: Run<'_>, take: Take<'_>) -> Result<Ended, ProcessError> {
        self.watched(run, |stdout| {
            let mut piece = vec![0; PIECE];
            let mut from = stdout;
            while let Some(read) = from.as_mut().and_then(|from| from.read(&mut piece).ok()) {
                if read == 0 || take(&piece[..read]).is_break() {
                    break;
                }
            }
            Vec::new()
        })
    }

    /// Runs one that has our terminal, for as long as the user likes. Its exit status, as a shell has it.
    #[expect(clippy::disallowed_methods, reason = "this module is the one that runs programs of the host")]
    pub(crate) fn attach(&self, program: &str, args: &[&str]) -> Result<u8, ProcessError> {
        let status = Command::new(program)
            .args(args)
            .env_clear()
            .envs(&self.environment)
            .status()
            .map_err(|source| not_started(program, source))?;
        let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
        Ok(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX))
    }

    #[expect(clippy::disallowed_methods, reason = "this module is the one that runs programs of the host")]
    fn watched(
        &self,
        run: Run<'_>,
        out: impl FnOnce(Option<ChildStdout>) -> Vec<u8> + Send,
    ) -> Result<Ended, ProcessError> {
        let program = run.program.to_owned();
        let child = Command::new(run.program)
            .args(run.args)
            .env_clear()
            .envs(&self.environment)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(|source| not_started(&program, source))?;
        watch(child, run, out).map_err(|failure| match failure {
            Failure::Io(source) => ProcessError::Start { program, source },
            Failure::Late => {
                let command = [&[run.program], run.args].concat().join(" ");
                ProcessError::Late { command, limit: run.limit }
            }
            Failure::Stopped => ProcessError::Stopped,
        })
    }
}

fn not_started(program: &str, source: std::io::Error) -> ProcessError {
    let program = program.to_owned();
    match source.kind() {
        std::io::ErrorKind::NotFound => ProcessError::Missing { program },
        _ => ProcessError::Start { program, source },
    }
}

/// Whether this process is root.
pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Ends whatever is left of the group that a program led.
fn end_group(leader: u32) {
    if let Some(pid) = i32::try_from(leader).ok().and_then(Pid::from_raw) {
        let _ = rustix::process::kill_process_group(pid, Signal::KILL); // usually nothing is left
    }
}

enum Failure {
    Io(std::io::Error),
    Late,
    Stopped,
}

/// Feeds it, reads what it says, and waits for its end.
fn watch(
    mut child: Child,
    run: Run<'_>,
    out: impl FnOnce(Option<ChildStdout>) -> Vec<u8> + Send,
) -> Result<Ended, Failure> {
    let end = Instant::now() + run.limit;
    let leader = child.id();
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (ended, status) = mpsc::channel();
    std::thread::scope(|scope| {
        let out = scope.spawn(move || out(stdout));
        let err = scope.spawn(move || read(stderr));
        scope.spawn(move || {
            // One that does not read is none that we have to talk to.
            let _ = stdin.map(|mut stdin| stdin.write_all(run.stdin));
        });
        scope.spawn(move || ended.send(child.wait()));
        let status = loop {
            match status.recv_timeout(TICK) {
                Ok(status) => break status.map_err(Failure::Io),
                Err(RecvTimeoutError::Timeout) if Instant::now() >= end => break Err(Failure::Late),
                Err(RecvTimeoutError::Timeout) if run.cancel.load(Ordering::Relaxed) => {
                    break Err(Failure::Stopped);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    break Err(Failure::Io(std::io::ErrorKind::BrokenPipe.into()));
                }
            }
        };
        // What it left behind would keep the pipes open; a daemon closes them itself.
        if !(run.daemon && status.as_ref().is_ok_and(ExitStatus::success)) {
            end_group(leader);
        }
        let (stdout, stderr) = (out.join().unwrap_or_default(), err.join().unwrap_or_default());
        let stderr = String::from_utf8_lossy(&stderr).trim().to_owned();
        Ok(Ended { status: status?.code(), stdout, stderr })
    })
}

fn read(from: Option<impl Read>) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(mut from) = from {
        let _ = from.read_to_end(&mut bytes); // what came before the end of a broken pipe still counts
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn programs() -> Programs {
        let path = OsString::from("/usr/bin:/bin");
        Programs { environment: BTreeMap::from([("PATH".to_owned(), path)]) }
    }

    fn run(program: &str, args: &[&str], stdin: &str, limit: u64) -> Result<Ended, ProcessError> {
        let cancel = AtomicBool::new(false);
        let limit = Duration::from_millis(limit);
        programs().run(Run { program, args, stdin: stdin.as_bytes(), limit, daemon: false, cancel: &cancel })
    }

    #[test]
    fn output_status_and_environment() {
        let ended =
            run("sh", &["-c", "cat; echo no >&2; env | grep -c HOME; exit 3"], "hello\n", 60_000).unwrap();
        assert_eq!(
            (ended.status, ended.text().as_str(), ended.stderr.as_str()),
            (Some(3), "hello\n0\n", "no")
        );
    }

    /// Also what it started in the background ends: it would keep our pipes open for an hour.
    #[test]
    fn a_program_that_takes_too_long_is_ended() {
        let begin = Instant::now();
        let error = run("sh", &["-c", "sleep 3600 & sleep 3600"], "", 200).unwrap_err();
        assert!(matches!(error, ProcessError::Late { .. }), "{error}");
        let ended = run("sh", &["-c", "sleep 3600 & echo done"], "", 60_000).unwrap();
        assert_eq!(ended.text(), "done\n");
        assert!(begin.elapsed() < Duration::from_secs(60));
    }

    #[test]
    fn what_comes_is_handed_on_until_there_is_enough() {
        let cancel = AtomicBool::new(false);
        let args = ["-c", "cat; while :; do echo more; done"];
        let limit = Duration::from_secs(60);
        let mut seen = Vec::new();
        let mut take = |piece: &[u8]| {
            seen.extend_from_slice(piece);
            if seen.len() > 1 << 20 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let run =
            Run { program: "sh", args: &args, stdin: b"first\n", limit, daemon: false, cancel: &cancel };
        let ended = programs().stream(run, &mut take).unwrap();
        assert!(!ended.is_success() && ended.stdout.is_empty(), "{ended:?}");
        assert!(seen.starts_with(b"first\nmore\nmore\n") && seen.len() < 2 << 20);
    }

    #[test]
    fn an_attached_program_has_the_last_word() {
        assert_eq!(programs().attach("sh", &["-c", "exit 7"]).unwrap(), 7);
        assert_eq!(programs().attach("sh", &["-c", "kill -9 $$"]).unwrap(), 137);
    }

    #[test]
    fn a_missing_program_is_named() {
        let error = run("tinderbox-no-such-program", &[], "", 1000).unwrap_err();
        assert_eq!(error.to_string(), "there is no program `tinderbox-no-such-program` on this machine");
    }
}
