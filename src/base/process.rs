//! Runs programs of the host to completion, with a time limit, no terminal and only the given environment.
//!
//! [`Programs::attach`] runs an interactive program: it gets our terminal.
//!
//! Invariants: no process outlives [`ProgramRunner::run`], background processes in its group included, unless the
//! program is meant to start a daemon. A missing program has its own error, because the user has to install it.

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

/// How often to check a running program for its deadline and for cancellation.
const TICK: Duration = Duration::from_millis(50);

/// Maximum size of one output chunk.
const CHUNK: usize = 64 << 10;

/// Receives a program's output in chunks; `Break` closes the pipe.
pub(crate) type Sink<'a> = &'a mut (dyn FnMut(&[u8]) -> ControlFlow<()> + Send);

/// Where programs are found, and their environment.
#[derive(Debug, Clone, Default)]
pub(crate) struct Programs {
    /// The complete environment; its PATH locates the programs.
    pub environment: BTreeMap<String, OsString>,
}

/// Runs programs until the user cancels.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ProgramRunner<'a> {
    pub programs: &'a Programs,
    /// Set to stop everything.
    pub cancel: &'a AtomicBool,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Invocation<'a> {
    pub program: &'a str,
    /// Visible to other users: must not contain secrets.
    pub args: &'a [&'a str],
    pub stdin: &'a [u8],
    /// Time limit.
    pub limit: Duration,
    /// Whether it starts a daemon, which may stay in its process group after it exits.
    pub daemon: bool,
}

impl<'a> Invocation<'a> {
    /// No input, not a daemon.
    pub(crate) fn new(program: &'a str, args: &'a [&'a str], limit: Duration) -> Self {
        Self { program, args, stdin: b"", limit, daemon: false }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProcessOutput {
    /// The exit status; none if a signal killed the program.
    pub status: Option<i32>,
    pub stdout: Vec<u8>,
    /// Trimmed.
    pub stderr: String,
}

impl ProcessOutput {
    pub(crate) fn is_success(&self) -> bool {
        self.status == Some(0)
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }
}

/// Why a program did not run to completion.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProcessError {
    #[error("`{program}` is not in PATH")]
    Missing { program: String },
    /// It exists, but the kernel refused to start it.
    #[error("`{program}` cannot be started")]
    Start { program: String, source: std::io::Error },
    /// Killed at its deadline.
    #[error("`{command}` did not finish within {} seconds", limit.as_secs())]
    Late {
        /// With its arguments.
        command: String,
        limit: Duration,
    },
    /// The user cancelled.
    #[error("interrupted")]
    Stopped,
}

impl Hint for ProcessError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Missing { program } => {
                Some(format!("install `{program}`, or add the directory that has it to PATH"))
            }
            Self::Late { .. } => Some("run it yourself to see what it waits for".into()),
            Self::Start { .. } | Self::Stopped => None,
        }
    }
}

impl Programs {
    /// Whether the program is in PATH.
    pub(crate) fn has(&self, program: &str) -> bool {
        let path = self.environment.get("PATH").cloned().unwrap_or_default();
        std::env::split_paths(&path)
            .any(|dir| matches!(crate::base::fs::exists(&dir.join(program)), Ok(true)))
    }

    /// Runs a program on our terminal, without a time limit. Returns its exit status as a shell reports it.
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
}

impl ProgramRunner<'_> {
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }

    /// Runs a program to completion. The caller judges its exit status.
    pub(crate) fn run(&self, run: Invocation<'_>) -> Result<ProcessOutput, ProcessError> {
        self.watched(run, read)
    }

    /// [`Self::run`] for a program with long or endless output: `sink` receives it as it arrives and can close the
    /// pipe.
    pub(crate) fn stream(&self, run: Invocation<'_>, sink: Sink<'_>) -> Result<ProcessOutput, ProcessError> {
        self.watched(run, |stdout| {
            let mut chunk = vec![0; CHUNK];
            let mut from = stdout;
            while let Some(read) = from.as_mut().and_then(|from| from.read(&mut chunk).ok()) {
                if read == 0 || sink(&chunk[..read]).is_break() {
                    break;
                }
            }
            Vec::new()
        })
    }

    #[expect(clippy::disallowed_methods, reason = "this module is the one that runs programs of the host")]
    fn watched(
        &self,
        run: Invocation<'_>,
        out: impl FnOnce(Option<ChildStdout>) -> Vec<u8> + Send,
    ) -> Result<ProcessOutput, ProcessError> {
        let program = run.program.to_owned();
        let child = Command::new(run.program)
            .args(run.args)
            .env_clear()
            .envs(&self.programs.environment)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(|source| not_started(&program, source))?;
        watch(child, run, self.cancel, out).map_err(|failure| match failure {
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

/// Kills what remains of a program's process group.
fn end_group(leader: u32) {
    if let Some(pid) = i32::try_from(leader).ok().and_then(Pid::from_raw) {
        let _ = rustix::process::kill_process_group(pid, Signal::KILL); // usually empty
    }
}

enum Failure {
    Io(std::io::Error),
    Late,
    Stopped,
}

/// Feeds stdin, collects output, and waits until the program exits, its deadline passes, or the user cancels.
fn watch(
    mut child: Child,
    run: Invocation<'_>,
    cancel: &AtomicBool,
    out: impl FnOnce(Option<ChildStdout>) -> Vec<u8> + Send,
) -> Result<ProcessOutput, Failure> {
    let end = Instant::now() + run.limit;
    let leader = child.id();
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (ended, status) = mpsc::channel();
    std::thread::scope(|scope| {
        let out = scope.spawn(move || out(stdout));
        let err = scope.spawn(move || read(stderr));
        scope.spawn(move || {
            // A program may ignore its input.
            let _ = stdin.map(|mut stdin| stdin.write_all(run.stdin));
        });
        scope.spawn(move || ended.send(child.wait()));
        let status = loop {
            match status.recv_timeout(TICK) {
                Ok(status) => break status.map_err(Failure::Io),
                Err(RecvTimeoutError::Timeout) if Instant::now() >= end => break Err(Failure::Late),
                Err(RecvTimeoutError::Timeout) if cancel.load(Ordering::Relaxed) => {
                    break Err(Failure::Stopped);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    break Err(Failure::Io(std::io::ErrorKind::BrokenPipe.into()));
                }
            }
        };
        // Background processes would keep the pipes open; a daemon closes them itself.
        if !(run.daemon && status.as_ref().is_ok_and(ExitStatus::success)) {
            end_group(leader);
        }
        let (stdout, stderr) = (out.join().unwrap_or_default(), err.join().unwrap_or_default());
        let stderr = String::from_utf8_lossy(&stderr).trim().to_owned();
        Ok(ProcessOutput { status: status?.code(), stdout, stderr })
    })
}

/// The most that is kept of what a program says; a pipe that nobody reads any more ends the program.
const OUTPUT: u64 = 64 << 20;

fn read(from: Option<impl Read>) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(from) = from {
        let _ = from.take(OUTPUT).read_to_end(&mut bytes); // what came before the pipe broke still counts
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

    fn run(program: &str, args: &[&str], stdin: &str, limit: u64) -> Result<ProcessOutput, ProcessError> {
        let cancel = AtomicBool::new(false);
        let invocation = Invocation::new(program, args, Duration::from_millis(limit));
        let runner = ProgramRunner { programs: &programs(), cancel: &cancel };
        runner.run(Invocation { stdin: stdin.as_bytes(), ..invocation })
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

    /// Background processes are killed too: they would keep our pipes open for an hour.
    #[test]
    fn a_program_that_takes_too_long_is_killed() {
        let begin = Instant::now();
        let error = run("sh", &["-c", "sleep 3600 & sleep 3600"], "", 200).unwrap_err();
        assert!(matches!(error, ProcessError::Late { .. }), "{error}");
        let ended = run("sh", &["-c", "sleep 3600 & echo done"], "", 60_000).unwrap();
        assert_eq!(ended.text(), "done\n");
        assert!(begin.elapsed() < Duration::from_secs(60));
    }

    #[test]
    fn output_is_streamed_until_the_sink_has_enough() {
        let cancel = AtomicBool::new(false);
        let args = ["-c", "cat; while :; do echo more; done"];
        let limit = Duration::from_secs(60);
        let mut seen = Vec::new();
        let mut take = |piece: &[u8]| {
            seen.extend_from_slice(piece);
            if seen.len() > 1 << 20 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let runner = ProgramRunner { programs: &programs(), cancel: &cancel };
        let run = Invocation { stdin: b"first\n", ..Invocation::new("sh", &args, limit) };
        let ended = runner.stream(run, &mut take).unwrap();
        assert!(!ended.is_success() && ended.stdout.is_empty(), "{ended:?}");
        assert!(seen.starts_with(b"first\nmore\nmore\n") && seen.len() < 2 << 20);
    }

    /// A node that talks without end, over SSH, fills no memory.
    #[test]
    fn output_has_an_end() {
        let ended = run("sh", &["-c", "yes; yes >&2"], "", 60_000).unwrap();
        // The last line break of what is an error is cut off.
        assert_eq!((ended.stdout.len() as u64, ended.stderr.len() as u64), (OUTPUT, OUTPUT - 1));
        assert!(!ended.is_success());
    }

    #[test]
    fn an_attached_program_decides_the_exit_status() {
        assert_eq!(programs().attach("sh", &["-c", "exit 7"]).unwrap(), 7);
        assert_eq!(programs().attach("sh", &["-c", "kill -9 $$"]).unwrap(), 137);
    }

    #[test]
    fn a_missing_program_is_named() {
        let error = run("tinderbox-no-such-program", &[], "", 1000).unwrap_err();
        assert_eq!(error.to_string(), "`tinderbox-no-such-program` is not in PATH");
    }
}
