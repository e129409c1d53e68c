//! The sandbox: runs one program of an unpacked image on given inputs, without network; says what came of it.
//!
//! What a program finds:
//!
//! ```text
//! /            the image, read-only, bound and never copied: 20,000 files cost what 20 do
//! ├── dev/     null, zero, full, random, urandom, and links to its own open files
//! ├── proc/    of its own processes only; empty where the system refuses that
//! ├── tmp/     private, empty, of limited size
//! ├── out/     the only other place that it can write to
//! └── …        the inputs, read-only, wherever the recipe wants them; for scripts of ours, `/.tinderbox` (see `interpreter`)
//! ```
//!
//! It is user 1000 on host `tinderbox`, with `umask 022`, a session of its own, no privileges to gain, no network but
//! addresses on its loopback that the recipe asks for, and an environment of what the recipe sets and `LC_ALL=C`. It has
//! limits of time, memory, processes, file size and output. When it ends, or tinderbox does, everything that it started
//! is killed: it lives in a process namespace whose first process is ours.
//!
//! # Why our own
//!
//! Tried: `hakoniwa` 1.8 does about this, as fast as we need it (5.4 ms for a trivial program), under the LGPL, which our
//! dependencies may not have, and says of a failure what failed, not what to change. `nix` would give safe names to the
//! system calls, and so does `rustix`, which we have; the one thing that neither makes safe is to go on in the child of a
//! `clone`. `libcontainer` wants an OCI bundle and control groups (not tried for that reason). What is left is small:
//! `layout` says what is mounted where, as data; `enter` is the one place with `unsafe` code, and does in the child only
//! what was laid out before; `watch` reads, waits and kills. Where user namespaces are forbidden, `bwrap` takes the place
//! of `enter`.

mod bwrap;
mod enter;
mod interpreter;
mod layout;
mod log;
mod obstacle;
mod program;
mod watch;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

pub(crate) use interpreter::INTERPRETER;
pub(crate) use log::Log;

use crate::base::fs;
use crate::base::hint::Hint;

/// Where a program may write.
pub(crate) const OUTPUT: &str = "/out";

/// Who a program is.
const USER: u32 = 1000;

/// Where a program is.
const HOST: &str = "tinderbox";

/// How a program was kept apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Isolation {
    /// Namespaces, with one of users: what every user may make.
    User,
    /// Namespaces made by root where there can be none of users: the program is root without any capability.
    Root,
    /// `bwrap`, which may be allowed what we are not.
    Bubblewrap,
}

impl Isolation {
    /// As a trace has it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user-namespaces",
            Self::Root => "namespaces-of-root",
            Self::Bubblewrap => "bwrap",
        }
    }
}

/// Runs programs. One for a whole build: what was found out about this machine is kept.
#[derive(Debug, Default)]
pub struct Sandbox {
    /// Only this isolation, whatever else there is.
    only: Option<Isolation>,
    works: OnceLock<Isolation>,
    /// The tinderbox that scripts for it are run by; none in a process that is something else.
    executable: Option<PathBuf>,
}

/// A program to be run.
#[derive(Debug, Clone)]
pub struct Program<'a> {
    pub root: &'a Path,
    /// The program, by its absolute path in the image, and its arguments.
    pub argv: &'a [String],
    pub environment: &'a BTreeMap<String, String>,
    pub directory: &'a str,
    /// What it finds beside the image.
    pub inputs: &'a [Mount],
    /// The directory that is its `/out`.
    pub output: &'a Path,
    /// Room for the sandbox's own files, beside the output.
    pub scratch: &'a Path,
    /// Addresses on its loopback interface. Without any, that is down.
    pub addresses: &'a [IpAddr],
    /// What it may use.
    pub limits: Limits,
}

/// A file or directory that a program finds, read-only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    pub source: PathBuf,
    /// Where the program finds it: an absolute path.
    pub target: String,
}

/// What a program may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Until it must have ended.
    pub time: Duration,
    /// Bytes of its own memory, for each process.
    pub memory: u64,
    /// Bytes of all files in its output, and in `/tmp`.
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

/// How a program's run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// By itself, with this code.
    Exited(i32),
    Signalled(i32),
    /// It was killed because its time was up.
    TimeLimit(Duration),
    /// It was killed because its output was larger than this.
    OutputLimit(u64),
    /// It was killed because its output had more files than this.
    EntryLimit(u64),
    /// It was killed because the user stopped the build.
    Cancelled,
}

#[derive(Debug)]
pub struct Ran {
    pub ended: Ended,
    /// What it printed, to stdout and stderr, in the order in which it came.
    pub log: Log,
    /// How it was kept apart.
    pub isolation: Isolation,
    /// Whether it had its own `/proc`.
    pub proc: bool,
    /// How long it took.
    pub milliseconds: u64,
}

/// Why a program could not be run at all.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// The image does not have it.
    #[error("the image has no program `{path}`")]
    Missing {
        /// What was asked for.
        path: String,
        /// What is there under a similar name.
        hint: Option<String>,
    },
    /// The image has it, and it cannot be executed.
    #[error("`{path}` of the image cannot be run: {problem}")]
    Unusable { path: String, problem: String },
    /// Two things that are to be in one place, or one inside the other.
    #[error("`{target}` cannot be mounted: {problem}")]
    Layout { target: String, problem: String },
    /// The machine does not let us keep a program apart.
    #[error("this machine does not allow a sandbox: {what}")]
    Forbidden {
        /// What was tried, and what the system said.
        what: String,
        advice: String,
    },
    /// Something that usually works did not.
    #[error("the sandbox cannot be made: {what}")]
    Failed {
        what: String,
        /// What the system said.
        source: std::io::Error,
    },
    #[error(transparent)]
    Fs(#[from] fs::Error),
}

impl Hint for SandboxError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Missing { hint, .. } => hint.clone(),
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
    /// One that uses this isolation and no other: what works on this machine is not looked for.
    pub fn only(isolation: Isolation) -> Self {
        Self { only: Some(isolation), ..Self::default() }
    }

    /// Also runs scripts whose interpreter is tinderbox: this executable, linked as this process is.
    #[must_use]
    pub fn interpreting(self, executable: Option<PathBuf>) -> Self {
        Self { executable, ..self }
    }

    /// Runs a program to its end, whatever that is. With `cancel` set, it is killed.
    pub fn run(&self, program: &Program<'_>, cancel: &AtomicBool) -> Result<Ran, SandboxError> {
        let found = program::find(program)?;
        let script = match found {
            Some(found) => interpreter::script(program, &found, self.executable.as_deref())?,
            None => None,
        };
        let program = &match &script {
            Some(script) => Program { argv: &script.argv, inputs: &script.inputs, ..program.clone() },
            None => program.clone(),
        };
        let layout = layout::Layout::of(program)?;
        if let Some(known) = self.only.or_else(|| self.works.get().copied()) {
            return run_with(known, program, &layout, cancel);
        }
        let mut refused = None;
        for isolation in [Isolation::User, Isolation::Root, Isolation::Bubblewrap] {
            match run_with(isolation, program, &layout, cancel) {
                Err(error @ SandboxError::Forbidden { .. }) => drop(refused.get_or_insert(error)),
                done => {
                    let _ = self.works.set(isolation); // another thread may have found the same
                    return done;
                }
            }
        }
        Err(refused.unwrap_or_else(|| obstacle::forbidden("there is none", None)))
    }
}

fn run_with(
    isolation: Isolation,
    program: &Program<'_>,
    layout: &layout::Layout,
    cancel: &AtomicBool,
) -> Result<Ran, SandboxError> {
    let start = std::time::Instant::now();
    let begun = match isolation {
        Isolation::User | Isolation::Root => enter::start(isolation, program, layout)?,
        Isolation::Bubblewrap => bwrap::start(program, layout)?,
    };
    let ran = watch::to_the_end(begun, isolation, program, layout, start, cancel)?;
    match isolation {
        Isolation::Bubblewrap => bwrap::refused(ran),
        Isolation::User | Isolation::Root => Ok(ran),
    }
}
