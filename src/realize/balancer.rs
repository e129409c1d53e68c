//! The load balancer: HAProxy as a plain process with a pid file, so that hosts without systemd work.
//!
//! It runs the closure's own file, which never changes; which one is seen from its command line, not remembered.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

use super::{RealizeError, State, Virsh};
use crate::fs;
use crate::process::Run;

/// How long HAProxy may take to start, and connections to end.
const LIMIT: Duration = Duration::from_secs(30);

/// A running load balancer of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Balancer {
    pid: i32,
    /// The configuration that it was started with.
    pub(super) configuration: PathBuf,
}

impl Balancer {
    /// The one that runs, if one does.
    pub(super) fn look(state: &State) -> Result<Option<Self>, RealizeError> {
        let Some(text) = fs::optional(fs::read_text(&state.pid_file()))? else { return Ok(None) };
        // After a reload there may be the old ones' lines too; the first is the newest.
        let Some(pid) = text.split_whitespace().next().and_then(|pid| pid.parse().ok()) else {
            return Ok(None);
        };
        let Some(line) =
            fs::optional(fs::read(Path::new(&format!("/proc/{pid}/cmdline")))).unwrap_or_default()
        else {
            return Ok(None);
        };
        let words: Vec<String> =
            line.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect();
        let ours = words.first().is_some_and(|program| program.ends_with("haproxy"));
        let file = words.iter().position(|word| word == "-f").and_then(|at| words.get(at + 1));
        Ok(file.filter(|_| ours).map(|file| Self { pid, configuration: PathBuf::from(file) }))
    }

    /// Whether it does what a configuration says.
    pub(super) fn has(&self, configuration: &Path) -> bool {
        self.configuration == configuration
            || matches!((fs::read(&self.configuration), fs::read(configuration)), (Ok(one), Ok(other)) if one == other)
    }

    /// Ends it, and waits until it is gone.
    pub(super) fn stop(&self) -> Result<(), RealizeError> {
        let Some(pid) = Pid::from_raw(self.pid) else { return Ok(()) };
        let _ = rustix::process::kill_process(pid, Signal::TERM); // it may be gone already
        let end = Instant::now() + LIMIT;
        while fs::exists(Path::new(&format!("/proc/{}/cmdline", self.pid)))? && !self.is_zombie() {
            if Instant::now() > end {
                return Err(RealizeError::Balancer { words: format!("process {} does not end", self.pid) });
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// Whether it has ended, and nobody asked how.
    fn is_zombie(&self) -> bool {
        fs::read(Path::new(&format!("/proc/{}/cmdline", self.pid))).is_ok_and(|line| line.is_empty())
    }
}

/// The command that starts it, or puts it in the place of one that runs: connections stay with the old one until they end.
pub(super) fn command(state: &State, configuration: &Path, running: Option<&Balancer>) -> Vec<String> {
    let mut words: Vec<String> = ["-D", "-f"].map(str::to_owned).to_vec();
    words.push(configuration.display().to_string());
    words.push("-p".to_owned());
    words.push(state.pid_file().display().to_string());
    if let Some(old) = running {
        words.extend(["-sf".to_owned(), old.pid.to_string()]);
    }
    words
}

/// Starts or reloads it.
pub(super) fn start(
    virsh: Virsh<'_>,
    state: &State,
    configuration: &Path,
    running: Option<&Balancer>,
) -> Result<(), RealizeError> {
    let words = command(state, configuration, running);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let run = Run {
        program: "haproxy",
        args: &words,
        stdin: b"",
        limit: LIMIT,
        daemon: true,
        cancel: virsh.cancel,
    };
    let ended = virsh.programs.run(run)?;
    match ended.is_success() {
        true => Ok(()),
        false => Err(RealizeError::Balancer { words: ended.stderr.lines().collect::<Vec<_>>().join("; ") }),
    }
}
