//! The load balancer: HAProxy as a plain process, so that hosts without systemd work.
//!
//! It runs the closure's own configuration, which never changes. Ours is recognised by our pid file on its command line.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::{Pid, Signal};

use super::wait::{Poll, Wait, WaitError};
use super::{RealizeError, Realizer, Result, StateDir};
use crate::base::fs;
use crate::base::process::{Invocation, ProcessError, ProgramRunner};

/// How long HAProxy may take to start, and connections to drain.
const LIMIT: Duration = Duration::from_secs(30);

/// A running load balancer of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LoadBalancer {
    pid: i32,
    /// When it was started, in the kernel's ticks.
    started: u64,
    pub(super) config: PathBuf,
}

impl LoadBalancer {
    /// The newest that runs: older ones only wait for their connections to drain.
    pub(super) fn find(state: &StateDir) -> Result<Option<Self>> {
        Ok(Self::find_all(state)?.into_iter().max_by_key(|one| one.started))
    }

    /// All that were started with our pid file.
    pub(super) fn find_all(state: &StateDir) -> Result<Vec<Self>> {
        let names = fs::list(Path::new("/proc"))?;
        let pids = names.iter().filter_map(|name| name.to_str()?.parse().ok());
        Ok(pids.filter_map(|pid| Self::read(pid, &state.pid_file())).collect())
    }

    /// A process, if it is one of ours. It may exit at any time.
    fn read(pid: i32, pid_file: &Path) -> Option<Self> {
        let line = fs::read(Path::new(&format!("/proc/{pid}/cmdline"))).ok()?;
        let args: Vec<&str> =
            line.split(|byte| *byte == 0).map(std::str::from_utf8).collect::<Result<_, _>>().ok()?;
        let after = |flag: &str| args.get(args.iter().position(|arg| *arg == flag)? + 1).map(Path::new);
        let is_ours = args.first()?.ends_with("haproxy") && after("-p") == Some(pid_file);
        let config = after("-f").filter(|_| is_ours)?.to_owned();
        // The start time is the 20th field after the name in brackets, which may have anything in it.
        let stat = fs::read_text(Path::new(&format!("/proc/{pid}/stat"))).ok()?;
        let started = stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()?;
        Some(Self { pid, started, config })
    }

    /// Whether it runs with this configuration, or one with the same content.
    pub(super) fn uses(&self, config: &Path) -> bool {
        self.config == config
            || matches!((fs::read(&self.config), fs::read(config)), (Ok(one), Ok(other)) if one == other)
    }

    pub(super) fn pid(&self) -> i32 {
        self.pid
    }

    /// Stops it, and waits until it is gone. False if it belongs to another user.
    pub(super) fn stop(&self, runner: ProgramRunner<'_>) -> Result<bool> {
        let Some(pid) = Pid::from_raw(self.pid) else { return Ok(true) };
        // Any other error means that it is gone already.
        if rustix::process::kill_process(pid, Signal::TERM) == Err(rustix::io::Errno::PERM) {
            return Ok(false);
        }
        let interval = Duration::from_millis(20);
        let wait = Wait { limit: LIMIT, interval, cancel: runner.cancel };
        let poll = || Ok(if self.is_gone() { Poll::Ready(true) } else { Poll::Pending(String::new()) });
        wait.until(poll, |_, _| ()).map_err(|error| match error {
            WaitError::Failed(error) => error,
            WaitError::Cancelled => ProcessError::Stopped.into(),
            WaitError::TimedOut { .. } => {
                RealizeError::LoadBalancer { message: format!("process {} does not stop", self.pid) }
            }
        })
    }

    /// Whether it has exited. A zombie's command line is empty.
    fn is_gone(&self) -> bool {
        fs::read(Path::new(&format!("/proc/{}/cmdline", self.pid))).map_or(true, |line| line.is_empty())
    }
}

/// The arguments that start HAProxy, or replace a running one: its connections stay with the old process until they end.
pub(super) fn arguments(state: &StateDir, config: &Path, running: Option<&LoadBalancer>) -> Vec<String> {
    let [config, pid_file] = [config, &state.pid_file()].map(|path| path.display().to_string());
    let mut args = vec!["-D".to_owned(), "-f".to_owned(), config, "-p".to_owned(), pid_file];
    if let Some(old) = running {
        args.extend(["-sf".to_owned(), old.pid.to_string()]);
    }
    args
}

/// Starts or reloads it with the configuration for this side of the pivot.
pub(super) fn start(realizer: &Realizer<'_>) -> Result<()> {
    let Realizer { state, desired, runner, .. } = *realizer;
    if !desired.has_load_balancer() {
        return Ok(());
    }
    let plan = realizer.plan()?;
    if !realizer.access.may_listen() {
        return Err(RealizeError::needs_root("the load balancer", plan));
    }
    let running = LoadBalancer::find(state)?;
    let args = arguments(state, &desired.haproxy_config(plan.pivoted), running.as_ref());
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let output = runner.run(Invocation { daemon: true, ..Invocation::new("haproxy", &args, LIMIT) })?;
    match output.is_success() {
        true => Ok(()),
        false => {
            let message = output.stderr.lines().collect::<Vec<_>>().join("; ");
            Err(RealizeError::LoadBalancer { message })
        }
    }
}
