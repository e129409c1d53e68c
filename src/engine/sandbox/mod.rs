//! The sandbox: runs one program of an unpacked image on given inputs, without network, and reports the result.
//!
//! The program sees:
//!
//! ```text
//! /            the image, read-only, bind-mounted and never copied: 20,000 files cost as much as 20
//! ├── dev/     null, zero, full, random, urandom, and links to its own open files
//! ├── proc/    its own processes only, read-only; empty where the system refuses that
//! ├── tmp/     private, empty, of limited size
//! ├── out/     the only other writable place
//! └── …        the inputs, read-only, where the recipe mounts them; for our scripts and for programs of
//!               another architecture, `/.tinderbox` (see `interpreter`, `emulator`)
//! ```
//!
//! It runs as user 1000 on one CPU of host `tinderbox`, with `umask 022`, in its own session, without a way to gain privileges,
//! without network except loopback addresses that the recipe asks for, and a registry there of pinned images ([`registry`]), with `LC_ALL=C` and the recipe's environment.
//! Its time, memory, processes, file size and output are limited. When it or tinderbox ends, everything that it
//! started is killed, because it lives in a PID namespace whose first process is ours.
//!
//! # Threat model
//!
//! The program is hostile, and knows how it is run. The kernel is not: a hole in it is the one way out that remains, so
//! the program reaches as little of it as possible.
//!
//! | it may not | because |
//! |---|---|
//! | read or write a file of the host | it sees mounts of the image, its inputs (read-only) and its output, and nothing else; what is for tinderbox's user only is copied into its memory, if it is another user; Landlock, where the kernel has it, allows writing below `/out`, `/tmp` and `/dev/shm` only |
//! | make tinderbox read or write one | what it left is opened below the output, name by name, without following links ([`fs::Dir`]) |
//! | be root anywhere | root's programs get a user id that no account has (`user`); no new namespaces, no set-id bits, `no_new_privs` |
//! | reach a process, a key, a socket | own PID, IPC, cgroup and network namespaces, own session keyring; sockets of four families only |
//! | use the kernel's corners | `filter` refuses about eighty system calls, all that are newer than it, and those of other ABIs |
//! | change the machine | `/proc` has no `sys`, and is read-only |
//! | exhaust the machine | time, memory, processes, open files, bytes, entries and depth have limits (`cgroup`, `enter`, `usage`) |
//! | outlive tinderbox | it dies with the first process of its namespace, which dies with tinderbox |
//!
//! What it can still see of the machine: the kernel's version (`uname`), the size of the memory and the uptime
//! (`sysinfo`, which the C library needs), the model and number of the CPU that it runs on (`cpuid`, `getcpu`), the
//! clock, and in `/proc/self/mountinfo` where the store is (a mount always tells its source); under `bwrap`, also
//! bwrap's memory, with its command line. `build --check` finds programs whose output depends on what can be varied
//! ([`Variation`]). What it can still use up for a moment: the disk that it writes to between two looks, 50 ms apart;
//! without control groups (`cgroup`), also memory.
//!
//! # Alternatives
//!
//! Tried: `hakoniwa` 1.8 does roughly this, as fast as we need it (5.4 ms for a trivial program), but its licence is
//! the LGPL, which our dependencies may not have, and its errors say what failed, not what to change. `nix` offers
//! safe system calls, but so does `rustix`, which we already use; neither makes it safe to continue in the child of a
//! `clone`. `libcontainer` requires an OCI bundle and control groups (not tried for that reason). The rest is small:
//! `layout` computes the mounts as data; `enter` is the one place with `unsafe` code, and its child only executes what
//! was prepared; `watch` reads, waits and kills. Where user namespaces are forbidden, `bwrap` replaces `enter`.

mod bwrap;
mod cgroup;
mod conditions;
mod emulator;
mod enter;
mod filter;
mod interpreter;
mod layout;
mod log;
mod obstacle;
mod program;
mod registry;
mod usage;
mod user;
mod watch;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

pub use conditions::Variation;
use emulator::Start;
pub(crate) use interpreter::INTERPRETER;
use interpreter::Script;
pub(crate) use log::Log;
pub(crate) use program::machine_of;
pub(crate) use registry::{addresses as registry_addresses, run as run_with_registry};

use crate::base::fs;
use crate::base::hint::Hint;

/// Where a program may write.
pub(crate) const OUTPUT: &str = "/out";

/// The user id of a program.
const USER: u32 = 1000;

/// The host name that a program sees.
const HOST: &str = "tinderbox";

/// How a program is isolated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Isolation {
    /// Namespaces including a user namespace, which every user may create.
    User,
    /// Namespaces created by root where user namespaces are impossible. The program sees its user id on the host.
    Root,
    /// `bwrap`, which may be allowed where we are not. Not for root, whom it would leave root.
    Bubblewrap,
}

impl Isolation {
    /// The name used in traces.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user-namespaces",
            Self::Root => "namespaces-of-root",
            Self::Bubblewrap => "bwrap",
        }
    }

    /// The isolation that traces and workers call so.
    pub(crate) fn named(name: &str) -> Option<Self> {
        [Self::User, Self::Root, Self::Bubblewrap].into_iter().find(|known| known.as_str() == name)
    }

    /// How many entries of the image and the inputs can be made anew, to list them in another order: the kernel makes
    /// many files quickly, and bwrap has its arguments on one command line.
    fn most_reordered(self) -> u64 {
        match self {
            Self::User | Self::Root => 50_000,
            Self::Bubblewrap => 2000,
        }
    }
}

/// The shared libraries that this process was started with, and which of them is its loader; none if it is static.
pub(crate) fn own_libraries() -> Vec<(PathBuf, bool)> {
    enter::loaded().into_iter().map(|enter::Object { path, is_loader }| (path, is_loader)).collect()
}

/// Runs programs. Used for a whole build: it remembers which isolation works on this machine.
#[derive(Debug, Default)]
pub struct Sandbox {
    /// Restricts it to this isolation.
    only: Option<Isolation>,
    works: OnceLock<Isolation>,
    /// The tinderbox that runs scripts; none in a process that is something else.
    executable: Option<PathBuf>,
    /// Where emulators are; none for where distributions install them.
    emulators: Option<Vec<PathBuf>>,
    variation: Variation,
    /// Where control groups can be made.
    hierarchies: OnceLock<cgroup::Hierarchies>,
}

/// How one program is started.
struct Setup<'a> {
    isolation: Isolation,
    layout: &'a layout::Layout,
    variation: Variation,
    group: &'a cgroup::Group,
}

#[derive(Debug, Clone)]
pub struct Program<'a> {
    pub root: &'a Path,
    /// The program's absolute path in the image, and its arguments.
    pub argv: &'a [String],
    pub environment: &'a BTreeMap<String, String>,
    pub directory: &'a str,
    /// Mounted in addition to the image.
    pub inputs: &'a [Mount],
    /// Mounted at `/out`.
    pub output: &'a Path,
    /// Space for the sandbox's own files, next to the output.
    pub scratch: &'a Path,
    /// Loopback addresses. Without any, the interface stays down.
    pub addresses: &'a [IpAddr],
    /// The directory in the sandbox that a registry serves while the program runs; see `registry`.
    pub registry: Option<&'a str>,
    pub limits: Limits,
}

/// A file or directory to mount read-only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    pub source: PathBuf,
    /// Absolute path in the sandbox.
    pub target: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    pub time: Duration,
    /// Bytes of memory, of every process and of all together.
    pub memory: u64,
    /// Total bytes of all files in its output, deleted ones that are still open included; and in `/tmp`.
    pub output: u64,
    /// Files, directories and links in its output.
    pub entries: u64,
    pub processes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            time: Duration::from_secs(300),
            memory: 4 << 30,
            output: 1 << 30,
            entries: 100_000,
            processes: 4096,
        }
    }
}

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    Exited(i32),
    Signalled(i32),
    /// Killed at its time limit.
    TimeLimit(Duration),
    /// Killed because its output exceeded this many bytes.
    OutputLimit(u64),
    /// Killed because its output exceeded this many files.
    EntryLimit(u64),
    /// Killed because its output was nested deeper than this.
    DepthLimit(u64),
    /// Killed because its processes used more than this many bytes of memory.
    MemoryLimit(u64),
    /// Killed because the disk was nearly full.
    DiskFull,
    /// Killed because the user cancelled.
    Cancelled,
}

#[derive(Debug)]
pub struct Ran {
    pub ended: Ended,
    /// stdout and stderr, interleaved as they arrived.
    pub log: Log,
    pub isolation: Isolation,
    /// Whether it had its own `/proc`.
    pub proc: bool,
    pub walls: Walls,
    pub milliseconds: u64,
}

/// What this machine adds to the isolation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Walls {
    /// A control group limited the memory of all processes together.
    pub memory_group: bool,
    /// A control group limited the number of processes.
    pub process_group: bool,
    /// The version of Landlock; 0 without.
    pub landlock: u32,
}

impl std::fmt::Display for Walls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let by = |group| if group { "control group" } else { "rlimit" };
        write!(f, "memory by {}, processes by {}, ", by(self.memory_group), by(self.process_group))?;
        match self.landlock {
            0 => f.write_str("no Landlock"),
            version => write!(f, "Landlock {version}"),
        }
    }
}

/// Why a program could not be run at all.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    #[error("the image has no program `{path}`")]
    Missing {
        path: String,
        /// Similar names that exist.
        hint: Option<String>,
    },
    #[error("cannot run `{path}` of the image: {problem}")]
    Unusable { path: String, problem: String },
    /// A program for another architecture, and nothing that emulates it.
    #[error(
        "cannot run `{path}` of the image: it is for {machine}, and this machine is {}",
        program::MACHINE
    )]
    Foreign { path: String, machine: &'static str },
    /// Two mounts that overlap.
    #[error("`{target}` cannot be mounted: {problem}")]
    Layout { target: String, problem: String },
    /// The machine does not allow isolating a program.
    #[error("this machine does not allow a sandbox: {what}")]
    Forbidden {
        /// What was tried, and the system's error.
        what: String,
        advice: String,
    },
    /// An unexpected failure.
    #[error("cannot set up the sandbox: {what}")]
    Failed { what: String, source: std::io::Error },
    #[error(transparent)]
    Fs(#[from] fs::Error),
}

impl Hint for SandboxError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Missing { hint, .. } => hint.clone(),
            Self::Foreign { machine, .. } => Some(emulator::advice(machine)),
            Self::Forbidden { advice, .. } => Some(advice.clone()),
            Self::Fs(error) => error.hint(),
            Self::Failed { source, .. } if source.kind() == std::io::ErrorKind::StorageFull => {
                Some("the disk is full: free some space (`tinderbox store gc`)".into())
            }
            Self::Unusable { .. } | Self::Layout { .. } | Self::Failed { .. } => None,
        }
    }
}

impl Sandbox {
    /// Uses only this isolation, without detecting what works on this machine.
    pub fn only(isolation: Isolation) -> Self {
        Self { only: Some(isolation), ..Self::default() }
    }

    /// Also runs scripts whose interpreter is tinderbox: this executable, linked like this process.
    #[must_use]
    pub fn interpreting(self, executable: Option<PathBuf>) -> Self {
        Self { executable, ..self }
    }

    /// One that runs programs under other conditions, which must not change what they write.
    #[must_use]
    pub fn varied(&self, variation: Variation) -> Self {
        let Self { only, works, executable, emulators, variation: _, hierarchies } = self;
        let (works, hierarchies) = (works.clone(), hierarchies.clone());
        let (executable, emulators) = (executable.clone(), emulators.clone());
        Self { only: *only, works, executable, emulators, variation, hierarchies }
    }

    /// What this sandbox changes.
    pub fn variation(&self) -> Variation {
        self.variation
    }

    /// Looks for emulators of other architectures in these directories only.
    #[must_use]
    pub fn emulating(self, directories: Vec<PathBuf>) -> Self {
        Self { emulators: Some(directories), ..self }
    }

    /// How to run a program: a script of ours, one for another architecture, or any other.
    fn start(&self, program: &Program<'_>) -> Result<Start, SandboxError> {
        let Some(found) = program::find(program)? else { return Ok(Start::Native) };
        if let Some(script) = interpreter::script(program, &found, self.executable.as_deref())? {
            return Ok(Start::Through(script));
        }
        let directories = self.emulators.clone().unwrap_or_else(emulator::directories);
        emulator::start(program, &found, &directories)
    }

    /// Runs a program until it ends. With `cancel` set, it is killed.
    pub fn run(&self, program: &Program<'_>, cancel: &AtomicBool) -> Result<Ran, SandboxError> {
        match self.start(program)? {
            Start::Native => self.run_started(program, cancel),
            Start::Through(Script { argv, inputs }) => {
                self.run_started(&Program { argv: &argv, inputs: &inputs, ..program.clone() }, cancel)
            }
            Start::Foreign(machine) => {
                let ran = self.run_started(program, cancel);
                let path = program.argv.first().cloned().unwrap_or_default();
                if emulator::is_refused(&ran) { Err(SandboxError::Foreign { path, machine }) } else { ran }
            }
        }
    }

    /// Runs a program that the kernel can execute.
    fn run_started(&self, program: &Program<'_>, cancel: &AtomicBool) -> Result<Ran, SandboxError> {
        let served = program.registry.map(|directory| {
            interpreter::interpreted(
                program,
                format!("{} {directory}", registry::VERB),
                self.executable.as_deref(),
            )
        });
        let served = served.transpose()?;
        let program = &match &served {
            Some(served) => Program { argv: &served.argv, inputs: &served.inputs, ..program.clone() },
            None => program.clone(),
        };
        let unprivileged = user::unprivileged(self.variation);
        if let Some(user) = unprivileged {
            user::give(program.output, user)?;
        }
        let hierarchies = self.hierarchies.get_or_init(cgroup::Hierarchies::find);
        let group = cgroup::Group::make(hierarchies, &program.limits);
        let run = |isolation: Isolation| {
            let reordered = self.variation.order.then(|| isolation.most_reordered());
            let layout = layout::Layout::of(program, unprivileged.is_some(), reordered)?;
            let setup = Setup { isolation, layout: &layout, variation: self.variation, group: &group };
            run_with(&setup, program, cancel)
        };
        if let Some(known) = self.only.or_else(|| self.works.get().copied()) {
            return run(known);
        }
        let mut refused = None;
        for isolation in [Isolation::User, Isolation::Root, Isolation::Bubblewrap] {
            match run(isolation) {
                Err(error @ SandboxError::Forbidden { .. }) => drop(refused.get_or_insert(error)),
                done => {
                    let _ = self.works.set(isolation); // another thread may have set the same
                    return done;
                }
            }
        }
        Err(refused.unwrap_or_else(|| obstacle::forbidden("no isolation works", None)))
    }
}

fn run_with(setup: &Setup<'_>, program: &Program<'_>, cancel: &AtomicBool) -> Result<Ran, SandboxError> {
    let start = std::time::Instant::now();
    let started = match setup.isolation {
        Isolation::User | Isolation::Root => enter::start(setup, program)?,
        Isolation::Bubblewrap => bwrap::start(setup, program)?,
    };
    let ran = watch::run_to_end(started, setup, program, start, cancel)?;
    match setup.isolation {
        Isolation::Bubblewrap => bwrap::refused(ran),
        Isolation::User | Isolation::Root => Ok(ran),
    }
}
