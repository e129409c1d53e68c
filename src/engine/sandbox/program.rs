//! Checks that the image contains the program and that this machine can run it. The system's own answer, `ENOENT`, may
//! mean the program, its interpreter or its loader.

use std::path::{Path, PathBuf};

use rustix::io::Errno;

use super::emulator::{Foreign, foreign_program};
use super::{Program, SandboxError};
use crate::base::fs;
use crate::base::hint::did_you_mean;

/// Maximum number of links on a path.
const LINKS: usize = 40;

/// Finds the program before anything is started. None if an input provides it, not the image.
pub(super) fn find(program: &Program<'_>) -> Result<Option<PathBuf>, SandboxError> {
    let path = program.argv.first().map(String::as_str).unwrap_or_default();
    let missing = |hint: Option<String>| SandboxError::Missing { path: path.to_owned(), hint };
    if !path.starts_with('/') {
        return Err(missing(Some("name a program by its absolute path in the image".into())));
    }
    if program.inputs.iter().any(|mount| Path::new(path).starts_with(&mount.target)) {
        return Ok(None); // an input provides it
    }
    match resolve(program.root, path) {
        Some(found) if fs::metadata(&found).is_ok_and(|found| found.is_file()) => Ok(Some(found)),
        Some(_) => Err(SandboxError::Unusable { path: path.to_owned(), problem: "it is not a file".into() }),
        None => {
            let directory = Path::new(path).parent().and_then(|dir| resolve(program.root, dir.to_str()?));
            let names = directory.and_then(|dir| fs::list(&dir).ok()).unwrap_or_default();
            let name = crate::engine::tree::leaf(path);
            Err(missing(did_you_mean(name, names.iter().filter_map(|name| name.to_str()))))
        }
    }
}

/// The path on disk of a path in the image, following links inside the image.
pub(super) fn resolve(root: &Path, path: &str) -> Option<PathBuf> {
    let mut open: Vec<String> = path.split('/').rev().map(str::to_owned).collect();
    let (mut at, mut links) = (PathBuf::new(), 0);
    while let Some(part) = open.pop() {
        match part.as_str() {
            "" | "." => continue,
            ".." => {
                at.pop();
                continue;
            }
            _ => {}
        }
        let next = root.join(&at).join(&part);
        let found = fs::metadata(&next).ok()?;
        if !found.is_symlink() {
            at.push(part);
            continue;
        }
        links += 1;
        if links > LINKS {
            return None;
        }
        let target = fs::read_link(&next).ok()?;
        if target.is_absolute() {
            at = PathBuf::new();
        }
        open.extend(target.to_str()?.split('/').rev().map(str::to_owned));
    }
    Some(root.join(at))
}

/// Explains why an existing program was not executed.
pub(super) fn not_executed(program: &Program<'_>, errno: Errno) -> SandboxError {
    let path = program.argv.first().cloned().unwrap_or_default();
    let found = resolve(program.root, &path);
    let foreign = found.as_ref().and_then(|found| foreign_program(program.root, found).ok().flatten());
    if let (Errno::NOEXEC, Some(Foreign { machine, .. })) = (errno, foreign) {
        return SandboxError::Foreign { path, machine };
    }
    let head = found.and_then(|found| fs::read_head(&found, 4096).ok()).unwrap_or_default();
    let problem = match errno {
        Errno::NOEXEC => "it is not a program".into(),
        Errno::NOENT => match interpreter(&head) {
            Some(loader) => format!("it needs `{loader}`, which the image does not have"),
            None => "its loader or interpreter is not in the image".into(),
        },
        Errno::ACCESS => {
            "permission denied: it is not executable, or the store's file system is mounted `noexec`".into()
        }
        errno => std::io::Error::from(errno).to_string(),
    };
    SandboxError::Unusable { path, problem }
}

/// Architectures: the number in an ELF program, uname's name, and OCI's.
const MACHINES: [(u16, &str, &str); 5] = [
    (62, "x86_64", "amd64"),
    (183, "aarch64", "arm64"),
    (21, "ppc64le", "ppc64le"),
    (22, "s390x", "s390x"),
    (0x1600, "s390x", "s390x"),
];

/// The number of the architecture in the head of an ELF program.
fn elf_machine(head: &[u8]) -> Option<u16> {
    Some(u16::from_le_bytes(*head.strip_prefix(b"\x7fELF")?.get(14..16)?.first_chunk()?))
}

/// The architecture of an ELF program as OCI names it; none for other files and architectures without images.
pub(crate) fn machine_of(head: &[u8]) -> Option<&'static str> {
    let machine = elf_machine(head)?;
    MACHINES.iter().find(|(number, ..)| *number == machine).map(|(_, _, name)| *name)
}

/// The architecture of this machine, as qemu names it.
pub(super) const MACHINE: &str =
    if cfg!(target_arch = "powerpc64") { "ppc64le" } else { std::env::consts::ARCH };

/// An architecture without a name here.
pub(super) const UNKNOWN: &str = "another architecture";

/// The architecture of an ELF program, if it differs from this machine's.
pub(super) fn foreign(head: &[u8]) -> Option<&'static str> {
    let machine = elf_machine(head)?;
    let found = MACHINES.iter().find(|(number, ..)| *number == machine);
    let name = found.map_or(UNKNOWN, |(_, name, _)| name);
    (name != MACHINE).then_some(name)
}

/// The interpreter in a script's first line and its argument, if it has one; nothing if it is not a script.
pub(super) fn shebang(head: &[u8]) -> Vec<String> {
    let Some(script) = head.strip_prefix(b"#!") else { return Vec::new() };
    let line = script.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line);
    // As the kernel does: all that follows the interpreter is one argument.
    let (path, argument) = line.trim().split_once([' ', '\t']).unwrap_or((line.trim(), ""));
    [path, argument.trim()].into_iter().filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// The interpreter of a script, or the loader of an ELF program.
fn interpreter(head: &[u8]) -> Option<String> {
    if head.starts_with(b"#!") {
        return shebang(head).into_iter().next();
    }
    // The loader's path is within the first pages, NUL-terminated.
    let start = head.windows(4).position(|four| four == b"/lib")?;
    let end = head[start..].iter().position(|byte| *byte == 0)?;
    String::from_utf8(head[start..start + end].to_vec()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_starts_a_program() {
        assert_eq!(interpreter(b"#! /bin/sh -e\n").as_deref(), Some("/bin/sh"));
        assert_eq!(
            interpreter(b"\x7fELF\0\0/lib64/ld-linux-x86-64.so.2\0x").as_deref(),
            Some("/lib64/ld-linux-x86-64.so.2")
        );
        assert_eq!(interpreter(b"nothing"), None);
        assert_eq!(shebang(b"#!/usr/bin/env -S a b\n"), ["/usr/bin/env", "-S a b"]);
        assert_eq!(shebang(b"#!/bin/sh"), ["/bin/sh"]);
    }

    #[test]
    fn what_a_program_is_for() {
        let elf = |machine: u16| {
            let mut head = b"\x7fELF".to_vec();
            head.resize(18, 0);
            head.extend(machine.to_le_bytes());
            head
        };
        assert_eq!(foreign(&elf(21)), Some("ppc64le"));
        assert_eq!(foreign(b"text"), None);
        assert_eq!(
            (machine_of(&elf(183)), machine_of(&elf(62)), machine_of(b"#!/")),
            (Some("arm64"), Some("amd64"), None)
        );
    }

    #[test]
    fn links_stay_inside_of_the_image() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("image");
        fs::create_dirs(&root.join("usr/bin")).unwrap();
        fs::write_new(&root.join("usr/bin/true"), b"", 0o755).unwrap();
        fs::symlink(Path::new("usr/bin"), &root.join("bin")).unwrap();
        fs::symlink(Path::new("/usr/../../../bin/true"), &root.join("usr/bin/yes")).unwrap();
        fs::symlink(Path::new("loop"), &root.join("loop")).unwrap();
        assert_eq!(resolve(&root, "/bin/yes"), Some(root.join("usr/bin/true")));
        assert_eq!(resolve(&root, "/loop"), None);
        assert_eq!(resolve(&root, "/bin/no"), None);
    }
}
