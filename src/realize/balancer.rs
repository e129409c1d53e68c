//! The load balancer: HAProxy as a plain process, so that hosts without systemd work.
//!
//! It runs the closure's own file, which never changes. Ours is known by its command line, which has our pid file in it.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

use super::{RealizeError, State, Virsh};
use crate::base::fs;
use crate::base::process::Run;

/// How long HAProxy may take to start, and connections to end.
const LIMIT: Duration = Duration::from_secs(30);

/// A running load balancer of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Balancer {
    pid: i32,
    /// When it was started, in the kernel's ticks.
    since: u64,
    /// The configuration that it was started with.
    pub(super) configuration: PathBuf,
}

impl Balancer {
    /// The one that runs, if one does: the newest, others only wait for their connections to end.
    pub(super) fn look(state: &State) -> Result<Option<Self>, RealizeError> {
        Ok(Self::all(state)?.into_iter().max_by_key(|one| one.since))
    }

    /// All that were started with our pid file.
    pub(super) fn all(state: &State) -> Result<Vec<Self>, RealizeError> {
        let names = fs::list(Path::new("/proc"))?;
        let pids = names.iter().filter_map(|name| name.to_str()?.parse().ok());
        Ok(pids.filter_map(|pid| Self::read(pid, &state.pid_file())).collect())
    }

    /// A process, if it is one of ours. It may end at any time.
    fn read(pid: i32, pid_file: &Path) -> Option<Self> {
        let line = fs::read(Path::new(&format!("/proc/{pid}/cmdline"))).ok()?;
        let words: Vec<&str> =
            line.split(|byte| *byte == 0).map(std::str::from_utf8).collect::<Result<_, _>>().ok()?;
        let after = |flag: &str| words.get(words.iter().position(|word| *word == flag)? + 1).map(Path::new);
        let is_ours = words.first()?.ends_with("haproxy") && after("-p") == Some(pid_file);
        let configuration = after("-f").filter(|_| is_ours)?.to_owned();
        // Fields after the name in brackets, which may have anything in it; the 20th of them is the time.
        let stat = fs::read_text(Path::new(&format!("/proc/{pid}/stat"))).ok()?;
        let since = stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()?;
        Some(Self { pid, since, configuration })
    }

    /// Whether it does what a configuration says.
    pub(super) fn has(&self, configuration: &Path) -> bool {
        self.configuration == configuration
            || matches!((fs::read(&self.configuration), fs::read(configuration)), (Ok(one), Ok(other)) if one == other)
    }

    pub(super) fn pid(&self) -> i32 {
        self.pid
    }

    /// Ends it, and waits until it is gone. False if it is somebody else's.
    pub(super) fn stop(&self) -> Result<bool, RealizeError> {
        let Some(pid) = Pid::from_raw(self.pid) else { return Ok(true) };
        // Any other error says that it is gone already.
        if rustix::process::kill_process(pid, Signal::TERM) == Err(rustix::io::Errno::PERM) {
            return Ok(false);
        }
        let end = Instant::now() + LIMIT;
        while fs::exists(Path::new(&format!("/proc/{}/cmdline", self.pid)))? && !self.is_zombie() {
            if Instant::now() > end {
                return Err(RealizeError::Balancer { words: format!("process {} does not end", self.pid) });
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(true)
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
