//! Watches a program: reads its output, checks time and size limits, kills it if necessary, and waits for it.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};

use super::enter::{ChildMessage, MESSAGE};
use super::{Ended, Isolation, Log, Program, Ran, SandboxError, Setup, Walls, obstacle, program, usage};

/// How often to check the clock, cancellation, memory and the output.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// How long killed processes may take to disappear.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);

/// A started first process, and our handles to it.
#[derive(Debug)]
pub(super) struct StartedProcess {
    pub(super) pid: Pid,
    pub(super) status: OwnedFd,
    pub(super) printed: OwnedFd,
    /// While this is open, the process knows that we are alive.
    pub(super) leash: OwnedFd,
    /// Whether the system could create it in its control group.
    pub(super) born_in_group: bool,
}

impl StartedProcess {
    /// Ends a process that will not be needed.
    pub(super) fn discard(self) {
        let _ = kill_process(self.pid, Signal::KILL); // not reaped yet, so the pid cannot be reused
        while let Err(rustix::io::Errno::INTR) = waitpid(Some(self.pid), WaitOptions::empty()) {}
    }
}

/// Messages from the first process.
#[derive(Debug, Default)]
struct Messages {
    bytes: Vec<u8>,
}

/// Watches until no process is left.
pub(super) fn run_to_end(
    started: StartedProcess,
    setup: &Setup<'_>,
    program: &Program<'_>,
    start: Instant,
    cancel: &AtomicBool,
) -> Result<Ran, SandboxError> {
    let (mut log, mut messages) = (Log::default(), Messages::default());
    let killed = watch(&started, setup, program, start, cancel, &mut log, &mut messages);
    if !matches!(killed, Ok(None)) {
        let _ = kill_process(started.pid, Signal::KILL); // not reaped yet, so the pid cannot be reused
    }
    // Returns when the last process of its namespace is gone.
    while let Err(rustix::io::Errno::INTR) = waitpid(Some(started.pid), WaitOptions::empty()) {}
    if setup.isolation == Isolation::Bubblewrap {
        drain(&started.printed);
    }
    let killed = killed?;
    let proc = !messages.iter().any(|(word, _)| word == ChildMessage::NoProc as u32);
    let milliseconds = start.elapsed().as_millis() as u64;
    let walls = walls(setup, &started, &messages);
    let ended = match killed {
        Some(ended) => ended,
        None => {
            let ended = end(&messages, setup, program)?;
            match setup.group.ran_out_of_memory() {
                true => Ended::MemoryLimit(program.limits.memory),
                false => usage::left_too_much(program).unwrap_or(ended),
            }
        }
    };
    Ok(Ran { ended, log, isolation: setup.isolation, proc, walls, milliseconds })
}

/// What holds, according to the first process.
fn walls(setup: &Setup<'_>, started: &StartedProcess, messages: &Messages) -> Walls {
    let note = |note: ChildMessage| messages.iter().find(|(word, _)| *word == note as u32);
    let grouped = started.born_in_group && note(ChildMessage::NoGroup).is_none();
    Walls {
        memory_group: grouped && setup.group.limits_memory(),
        process_group: grouped && setup.group.limits_processes(),
        landlock: note(ChildMessage::Landlock).map_or(0, |(_, version)| version.unsigned_abs()),
    }
}

/// Reads until both pipes are closed; returns why it must be killed, if so.
fn watch(
    started: &StartedProcess,
    setup: &Setup<'_>,
    program: &Program<'_>,
    start: Instant,
    cancel: &AtomicBool,
    log: &mut Log,
    messages: &mut Messages,
) -> Result<Option<Ended>, SandboxError> {
    let mut chunk = vec![0; 64 * 1024];
    let (mut printing, mut saying) = (true, true);
    let (mut looked, reserve) = (Instant::now(), usage::reserve(program));
    while printing || saying {
        let mut fds = [
            PollFd::new(&started.printed, if printing { PollFlags::IN } else { PollFlags::empty() }),
            PollFd::new(&started.status, if saying { PollFlags::IN } else { PollFlags::empty() }),
        ];
        // A closed pipe would always be ready, so it is no longer polled.
        let asked = match (printing, saying) {
            (true, true) => &mut fds[..],
            (true, false) => &mut fds[..1],
            _ => &mut fds[1..],
        };
        let wait = Timespec { tv_sec: 0, tv_nsec: POLL_INTERVAL.subsec_nanos().into() };
        match poll(asked, Some(&wait)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(failed("cannot read its output", errno)),
        }
        let ready = [fds[0].revents(), fds[1].revents()].map(|events| !events.is_empty());
        if printing && ready[0] {
            let read = take(&started.printed, &mut chunk)?;
            log.add(&chunk[..read]);
            printing = read > 0;
        }
        if saying && ready[1] {
            let read = take(&started.status, &mut chunk)?;
            messages.bytes.extend_from_slice(&chunk[..read]);
            saying = read > 0;
        }
        if cancel.load(Ordering::Relaxed) {
            return Ok(Some(Ended::Cancelled));
        }
        if start.elapsed() > program.limits.time {
            return Ok(Some(Ended::TimeLimit(program.limits.time)));
        }
        if looked.elapsed() > POLL_INTERVAL {
            if setup.group.ran_out_of_memory() {
                return Ok(Some(Ended::MemoryLimit(program.limits.memory)));
            }
            let count_memory = !walls(setup, started, messages).memory_group;
            if let Some(over) = usage::too_much(program, started.pid, reserve, count_memory) {
                return Ok(Some(over));
            }
            looked = Instant::now();
        }
    }
    Ok(None)
}

/// Waits until no process can print any more. The namespace is not ours, so `waitpid` did not wait for them.
fn drain(printed: &OwnedFd) {
    let (mut chunk, start) = (vec![0; 64 * 1024], Instant::now());
    while start.elapsed() < KILL_TIMEOUT {
        let wait = Timespec { tv_sec: 0, tv_nsec: POLL_INTERVAL.subsec_nanos().into() };
        let ready = poll(&mut [PollFd::new(printed, PollFlags::IN)], Some(&wait));
        if ready.is_ok_and(|ready| ready > 0)
            && !rustix::io::read(printed, &mut chunk).is_ok_and(|read| read > 0)
        {
            return;
        }
    }
}

fn take(from: &OwnedFd, chunk: &mut [u8]) -> Result<usize, SandboxError> {
    loop {
        match rustix::io::read(from, &mut *chunk) {
            Ok(read) => return Ok(read),
            Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(failed("cannot read its output", errno)),
        }
    }
}

fn failed(what: &str, errno: rustix::io::Errno) -> SandboxError {
    SandboxError::Failed { what: what.to_owned(), source: errno.into() }
}

/// How it ended by itself, from the first process's messages.
fn end(messages: &Messages, setup: &Setup<'_>, program: &Program<'_>) -> Result<Ended, SandboxError> {
    let failed = messages.iter().find(|(word, _)| *word > ChildMessage::LAST_NOTE);
    if let Some((word, errno)) = failed {
        let errno = rustix::io::Errno::from_raw_os_error(errno);
        return Err(match word == ChildMessage::Execute as u32 {
            true => program::not_executed(program, errno),
            false => obstacle::of_child(setup.isolation, setup.layout, word, errno),
        });
    }
    let status =
        messages.iter().find(|(word, _)| *word == ChildMessage::Ended as u32).map(|(_, status)| status);
    match status {
        Some(status) if libc::WIFEXITED(status) => Ok(Ended::Exited(libc::WEXITSTATUS(status))),
        Some(status) => Ok(Ended::Signalled(libc::WTERMSIG(status))),
        // Somebody killed the first process itself.
        None => Ok(Ended::Signalled(Signal::KILL.as_raw())),
    }
}

impl Messages {
    fn iter(&self) -> impl Iterator<Item = (u32, i32)> {
        self.bytes.chunks_exact(MESSAGE).map(|message| {
            let number = |at: usize| {
                let mut four = [0; 4];
                four.copy_from_slice(&message[at..at + 4]);
                four
            };
            (u32::from_le_bytes(number(0)), i32::from_le_bytes(number(4)))
        })
    }
}
