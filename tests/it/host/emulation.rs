//! Programs for another architecture in the sandbox, through Debian's qemu-user: the real one, or none.

use std::path::Path;

use tinderbox::internals::hint::Hint as _;
use tinderbox::internals::sandbox::{Ended, Sandbox, SandboxError};

use super::sandbox::{Room, everywhere};
use crate::harness::{left_out, set_mode};

/// A program for Linux on arm64: these instructions, then this data, in one segment.
pub(crate) fn arm64(code: &[u32], data: &[u8]) -> Vec<u8> {
    const BASE: u64 = 0x40_0000;
    const HEADERS: u64 = 64 + 56;
    let size = HEADERS + 4 * code.len() as u64 + data.len() as u64;
    let mut elf = b"\x7fELF\x02\x01\x01".to_vec();
    elf.resize(16, 0);
    for half in [2u16, 183] {
        elf.extend(half.to_le_bytes()); // an executable, for AArch64
    }
    elf.extend(1u32.to_le_bytes());
    for word in [BASE + HEADERS, 64, 0] {
        elf.extend(word.to_le_bytes()); // where it starts, where its segments are described, no sections
    }
    elf.extend(0u32.to_le_bytes());
    for half in [64u16, 56, 1, 64, 0, 0] {
        elf.extend(half.to_le_bytes());
    }
    for word in [1u32, 5] {
        elf.extend(word.to_le_bytes()); // to be loaded, to be read and executed
    }
    for word in [0, BASE, BASE, size, size, 0x1000] {
        elf.extend(word.to_le_bytes());
    }
    code.iter().for_each(|word| elf.extend(word.to_le_bytes()));
    elf.extend(data);
    elf
}

fn movz(register: u32, value: u32) -> u32 {
    0xD280_0000 | value << 5 | register
}

/// The address of the data, `words` instructions from here, and some bytes.
fn adr(register: u32, words: u32, bytes: u32) -> u32 {
    0x1000_0000 | (bytes % 4) << 29 | (words + bytes / 4) << 5 | register
}

const SVC: u32 = 0xD400_0001;
/// x0 = -100, the current directory.
const HERE: u32 = 0x9280_0000 | 99 << 5;

/// Writes `arm64` into /out/made.
pub(crate) fn writer() -> Vec<u8> {
    let code = [
        HERE,
        adr(1, 12, 0),
        movz(2, 0o101), // write, create
        movz(3, 0o644),
        movz(8, 56), // openat
        SVC,
        adr(1, 7, 10), // x0 is the file
        movz(2, 6),
        movz(8, 64), // write
        SVC,
        movz(0, 0),
        movz(8, 93), // exit
        SVC,
    ];
    arm64(&code, b"/out/made\0arm64\n")
}

/// Exits with the error that `memfd_create` gave: nothing natively, and what the filter says in the sandbox.
fn refused() -> Vec<u8> {
    let code = [
        adr(0, 7, 0),
        movz(1, 0),
        movz(8, 279), // memfd_create
        SVC,
        0xCB00_03E0, // x0 = -x0
        movz(8, 93),
        SVC,
    ];
    arm64(&code, b"name\0")
}

fn put(room: &Room, name: &str, bytes: &[u8]) {
    let path = room.path("image/bin").join(name);
    std::fs::write(&path, bytes).unwrap();
    set_mode(&path, 0o755);
}

/// Whether the machine itself emulates, so that nothing is ever missing.
fn is_registered() -> bool {
    Path::new("/proc/sys/fs/binfmt_misc/qemu-aarch64").exists()
}

pub(crate) fn has_emulator(part: &str) -> bool {
    let has = cfg!(target_arch = "aarch64") || Path::new("/usr/bin/qemu-aarch64-static").exists();
    if !has {
        left_out(part, "qemu-aarch64-static, of Debian's qemu-user-static");
    }
    has
}

#[test]
fn a_program_for_another_architecture_is_emulated() {
    if !has_emulator("programs for another architecture") {
        return;
    }
    everywhere(|room, sandbox, isolation| {
        let room = room.another("/out");
        put(&room, "writer", &writer());
        put(&room, "refused", &refused());
        put(&room, "script", b"#!/bin/writer --as-a-script\n");
        for program in ["/bin/writer", "/bin/script"] {
            let ran = room.try_run(sandbox, &[program, "argument"]).unwrap();
            assert_eq!(ran.ended, Ended::Exited(0), "{isolation:?}: {}", ran.log.text());
            let made = std::fs::read_to_string(room.path("out/made")).unwrap();
            assert_eq!(made, "arm64\n", "{isolation:?}");
        }
        // The filter holds: ENOSYS.
        let ran = room.try_run(sandbox, &["/bin/refused"]).unwrap();
        assert_eq!(ran.ended, Ended::Exited(38), "{isolation:?}: {}", ran.log.text());
    });
}

#[test]
fn without_an_emulator_the_hint_names_it() {
    if cfg!(target_arch = "aarch64") || is_registered() {
        return; // nothing is missing here
    }
    everywhere(|room, _, isolation| {
        let sandbox = Sandbox::only(isolation).emulating(Vec::new());
        put(room, "writer", &writer());
        put(room, "script", b"#!/bin/writer\n");
        for program in ["/bin/writer", "/bin/script"] {
            let error = room.try_run(&sandbox, &[program]).unwrap_err();
            assert!(matches!(error, SandboxError::Foreign { .. }), "{isolation:?}: {error:?}");
            let wanted =
                format!("cannot run `{program}` of the image: it is for aarch64, and this machine is x86_64");
            assert_eq!(error.to_string(), wanted);
            assert!(error.hint().unwrap().contains("qemu-user-static"), "{:?}", error.hint());
        }
    });
}
