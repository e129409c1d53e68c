//! tinderbox as the interpreter of a script in the sandbox: the programs of the demo release are such scripts. Or as the
//! registry beside a program there.

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use super::output;
use crate::engine::sandbox::{INTERPRETER, run_with_registry};
use crate::openshift::demo;

/// Runs the script if the sandbox started this process as an interpreter, which our name tells.
pub(super) fn run() -> Option<ExitCode> {
    let arguments: Vec<String> =
        std::env::args_os().map(|argument| argument.to_string_lossy().into_owned()).collect();
    let [interpreter, script, path, arguments @ ..] = arguments.as_slice() else { return None };
    if interpreter != INTERPRETER {
        return None;
    }
    if let Some(code) = run_with_registry(script, &[std::slice::from_ref(path), arguments].concat()) {
        return Some(ExitCode::from(code));
    }
    #[expect(clippy::disallowed_methods, reason = "a program's environment, in the sandbox")]
    let [release_version, home] = ["RELEASE_VERSION", "HOME"].map(|name| std::env::var(name).ok());
    let ended = demo::run(&demo::Call {
        script,
        path,
        arguments,
        directory: Path::new(""),
        release_version: release_version.as_deref(),
        home: home.as_deref(),
    });
    output::text(&ended.stdout);
    let _ = std::io::stderr().write_all(ended.stderr.as_bytes()); // nobody is left to report to
    Some(ExitCode::from(ended.code))
}
