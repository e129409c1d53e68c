//! Programs for another architecture than this machine's: run through qemu-user, if it is installed.
//!
//! The sandbox mounts the emulator, one static file, read-only at `/.tinderbox/emulator` and starts it with the program
//! and its arguments. Whether a program was emulated, and by which version, reaches neither a derivation's id nor, as
//! far as programs are pure, its output. The system-call filter holds for the emulator, and so for what it emulates.
//!
//! What a program executes in its turn is up to the kernel: qemu-user passes `execve` on, so children need an
//! interpreter in binfmt_misc with flag `F`. That is the machine's setting, and not ours to change. With it, programs
//! run without an emulator that we find, too: whether one is missing is clear only when the kernel refuses the program.

use std::path::{Path, PathBuf};

use super::interpreter::Script;
use super::program::{UNKNOWN, foreign, resolve, shebang};
use super::{Ended, Mount, Program, Ran, SandboxError};
use crate::base::fs;

const EMULATOR: &str = "/.tinderbox/emulator";

/// Where distributions install it.
const DIRECTORIES: [&str; 3] = ["/usr/bin", "/usr/local/bin", "/run/current-system/sw/bin"];

/// The directories to look for emulators in, unless a caller says otherwise.
pub(super) fn directories() -> Vec<PathBuf> {
    DIRECTORIES.map(PathBuf::from).into()
}

/// How to run a program.
pub(super) enum Start {
    /// As it is.
    Native,
    Through(Script),
    /// It is for this architecture, and only the kernel may know what emulates it.
    Foreign(&'static str),
}

/// How to run a program of the image that is at `found`.
pub(super) fn start(
    program: &Program<'_>,
    found: &Path,
    directories: &[PathBuf],
) -> Result<Start, SandboxError> {
    let Some(Foreign { machine, interpreter }) = foreign_program(program.root, found)? else {
        return Ok(Start::Native);
    };
    let Some(emulator) = find(machine, directories) else { return Ok(Start::Foreign(machine)) };
    let argv = std::iter::once(EMULATOR.to_owned()).chain(interpreter).chain(program.argv.iter().cloned());
    let emulator = Mount { source: fs::canonical(&emulator)?, target: EMULATOR.to_owned() };
    let inputs = std::iter::once(emulator).chain(program.inputs.iter().cloned());
    Ok(Start::Through(Script { argv: argv.collect(), inputs: inputs.collect() }))
}

/// A program that this machine cannot run by itself.
pub(super) struct Foreign {
    /// As qemu names it, `aarch64`.
    pub(super) machine: &'static str,
    /// What runs it, if it is a script, with the argument in its first line.
    pub(super) interpreter: Vec<String>,
}

/// Whether a program of the image, or the interpreter that it names, is for another architecture.
pub(super) fn foreign_program(root: &Path, found: &Path) -> Result<Option<Foreign>, SandboxError> {
    let head = fs::read_head(found, 4096)?;
    if let Some(machine) = foreign(&head) {
        return Ok(Some(Foreign { machine, interpreter: Vec::new() }));
    }
    let interpreter = shebang(&head);
    let Some(found) = interpreter.first().and_then(|path| resolve(root, path)) else { return Ok(None) };
    let machine = foreign(&fs::read_head(&found, 64)?);
    Ok(machine.map(|machine| Foreign { machine, interpreter }))
}

/// A static emulator: one that needs nothing but itself.
fn find(machine: &str, directories: &[PathBuf]) -> Option<PathBuf> {
    let names = [format!("qemu-{machine}-static"), format!("qemu-{machine}")];
    let mut all = directories.iter().flat_map(|directory| names.iter().map(|name| directory.join(name)));
    all.find(|path| fs::read_head(path, 4096).is_ok_and(|head| is_static(&head)))
}

/// Whether a program of this machine's architecture asks for no loader.
fn is_static(head: &[u8]) -> bool {
    let short =
        |at: usize| head.get(at..at + 2).and_then(<[u8]>::first_chunk).map(|two| u16::from_ne_bytes(*two));
    let word =
        |at: usize| head.get(at..at + 4).and_then(<[u8]>::first_chunk).map(|four| u32::from_ne_bytes(*four));
    let (Some(size), Some(count)) = (short(54), short(56)) else { return false };
    // The headers follow the file's own, in every program that a linker makes.
    let kinds = (0..usize::from(count)).map(|at| word(64 + at * usize::from(size)));
    head.starts_with(b"\x7fELF")
        && count > 0
        && kinds.into_iter().all(|kind| kind.is_some_and(|kind| kind != PT_INTERP))
}

const PT_INTERP: u32 = 3;

/// Refuses a program for another architecture, unless the kernel is known to emulate it.
pub(super) fn refuse_unregistered(program: &Program<'_>) -> Result<(), SandboxError> {
    let path = program.argv.first().cloned().unwrap_or_default();
    let foreign = resolve(program.root, &path).map(|found| foreign_program(program.root, &found));
    match foreign.transpose()?.flatten() {
        Some(Foreign { machine, .. }) => {
            let registered = Path::new("/proc/sys/fs/binfmt_misc").join(format!("qemu-{machine}"));
            if fs::exists(&registered)? { Ok(()) } else { Err(SandboxError::Foreign { path, machine }) }
        }
        None => Ok(()),
    }
}

/// Whether the kernel refused a program, in the words of our registry, which starts it.
pub(super) fn is_refused(ran: &Result<Ran, SandboxError>) -> bool {
    ran.as_ref()
        .is_ok_and(|ran| ran.ended != Ended::Exited(0) && ran.log.text().contains("Exec format error"))
}

/// What to install so that this machine runs programs for another.
pub(super) fn advice(machine: &str) -> String {
    if machine == UNKNOWN {
        return "build on a machine of that architecture".into();
    }
    format!(
        "install qemu-user-static (Debian 12, Ubuntu), qemu-user (Debian 13) or qemu-user-static-{machine} (Fedora), or build on \
         a {machine} machine: what is built is the same"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The head of a program with these kinds of segments.
    fn elf(kinds: &[u32]) -> Vec<u8> {
        let mut head = b"\x7fELF".to_vec();
        head.resize(64, 0);
        head[54..56].copy_from_slice(&56u16.to_ne_bytes());
        head[56..58].copy_from_slice(&(kinds.len() as u16).to_ne_bytes());
        for kind in kinds {
            head.extend(kind.to_ne_bytes());
            head.resize(head.len() + 52, 0);
        }
        head
    }

    #[test]
    fn an_emulator_that_needs_a_loader_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let directories = [dir.path().join("no"), dir.path().to_owned()];
        let put = |name: &str, bytes: &[u8]| fs::write_new(&dir.path().join(name), bytes, 0o755).unwrap();
        assert_eq!(find("aarch64", &directories), None);
        put("qemu-aarch64-static", b"#!/bin/sh\n");
        put("qemu-s390x", &elf(&[1, 3]));
        put("qemu-ppc64le", &elf(&[1, 1]));
        assert_eq!(find("aarch64", &directories), None);
        assert_eq!(find("s390x", &directories), None);
        assert_eq!(find("ppc64le", &directories), Some(dir.path().join("qemu-ppc64le")));
        put("qemu-aarch64", &elf(&[1]));
        assert_eq!(find("aarch64", &directories), Some(dir.path().join("qemu-aarch64")));
    }
}
