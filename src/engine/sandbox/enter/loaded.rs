//! The shared libraries of this process, from its loader. `/proc/self/maps` has file names (`libc-2.28.so`), which may
//! differ from the names that dependents ask for (`libc.so.6`).

#![expect(unsafe_code, reason = "the loader calls back, with pointers")]

use std::ffi::{CStr, CString, OsStr, c_int, c_void};
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

/// A shared library, or the loader itself.
#[derive(Debug)]
pub(in crate::engine::sandbox) struct Object {
    pub(in crate::engine::sandbox) path: PathBuf,
    pub(in crate::engine::sandbox) is_loader: bool,
}

/// The name of an object and where it is in memory.
type Found = Vec<(CString, u64)>;

/// All of them; empty if this executable is static.
pub(in crate::engine::sandbox) fn loaded() -> Vec<Object> {
    let mut found = Found::new();
    // SAFETY: `note` receives this very list, and only during this call.
    unsafe { libc::dl_iterate_phdr(Some(note), (&raw mut found).cast()) };
    // SAFETY: always; 0 where there is no loader.
    let loader = unsafe { libc::getauxval(libc::AT_BASE) };
    let path = |name: &CString| PathBuf::from(OsStr::from_bytes(name.to_bytes()));
    // The executable has no name here, and the kernel's objects have no path.
    let files = found.iter().filter(|(name, _)| name.to_bytes().contains(&b'/'));
    // A loader that was started as a program, with this executable as its argument, is not in the auxiliary vector.
    let is_loader = |name: &CString, at: u64| match loader {
        0 => leaf(name).starts_with(b"ld"),
        loader => at == loader,
    };
    files.map(|(name, at)| Object { path: path(name), is_loader: is_loader(name, *at) }).collect()
}

fn leaf(name: &CString) -> &[u8] {
    name.to_bytes().rsplit(|byte| *byte == b'/').next().unwrap_or_default()
}

unsafe extern "C" fn note(object: *mut libc::dl_phdr_info, _: usize, found: *mut c_void) -> c_int {
    // SAFETY: both are what `loaded` and the C library pass, and nobody else uses them during this call.
    let (object, found) = unsafe { (&*object, &mut *found.cast::<Found>()) };
    if !object.dlpi_name.is_null() {
        // SAFETY: a NUL-terminated name from the loader.
        found.push((unsafe { CStr::from_ptr(object.dlpi_name) }.to_owned(), object.dlpi_addr));
    }
    0
}
