//! Scripts whose interpreter is tinderbox: programs of an image that start with `#!/.tinderbox/interpreter`.
//!
//! For programs that ship with tinderbox but run like those of any image: in the sandbox, with arguments, files and
//! exit codes; and for the registry that may stand beside a program (`registry`). The image contains the script; the sandbox adds, read-only, what the script needs:
//!
//! ```text
//! /.tinderbox/interpreter    the executable of this process
//! /.tinderbox/lib/           its loader and its shared libraries; empty if it is static
//! ```
//!
//! # Why
//!
//! - *A separate process*, not a function that the child of the `clone` calls: other threads may hold the allocator's
//!   locks at that moment, the child has the memory of a process that knows secrets, and bwrap can only execute a file.
//! - *Our own libraries*, because the executable needs those that it was linked with, and an image has others, or none.
//! - *Starting the loader explicitly*, not through the kernel's `#!`: the executable names its loader by a path of the
//!   host, where the image may have another. The arguments are the same as the kernel's.

use std::collections::BTreeMap;
use std::path::Path;

use super::enter::{Object, loaded};
use super::{Mount, Program, SandboxError};
use crate::base::fs;

/// The interpreter in a script's first line, and the first argument that makes tinderbox act as it.
pub(crate) const INTERPRETER: &str = "/.tinderbox/interpreter";

const LIBRARIES: &str = "/.tinderbox/lib";

/// A program that the interpreter runs.
pub(super) struct Script {
    pub(super) argv: Vec<String>,
    pub(super) inputs: Vec<Mount>,
}

/// How to run a program through the interpreter, if the file at `found` is such a script.
pub(super) fn script(
    program: &Program<'_>,
    found: &Path,
    executable: Option<&Path>,
) -> Result<Option<Script>, SandboxError> {
    let Some(argument) = argument(&fs::read_head(found, 256)?) else { return Ok(None) };
    interpreted(program, argument, executable).map(Some)
}

/// How to run a program through the interpreter, with this argument for the interpreter itself.
pub(super) fn interpreted(
    program: &Program<'_>,
    argument: String,
    executable: Option<&Path>,
) -> Result<Script, SandboxError> {
    let path = program.argv.first().cloned().unwrap_or_default();
    let unusable = |problem: &str| SandboxError::Unusable { path, problem: problem.to_owned() };
    let Some(executable) = executable else {
        return Err(unusable("its interpreter is tinderbox, but this process is another program"));
    };
    let objects = loaded();
    let loader = objects.iter().find(|object| object.is_loader).map(library).transpose()?;
    if loader.is_none() && !objects.is_empty() {
        return Err(unusable("its interpreter is tinderbox, which cannot find its own loader"));
    }
    let mut inputs = BTreeMap::from([(INTERPRETER.to_owned(), fs::canonical(executable)?)]);
    for object in &objects {
        inputs.insert(library(object)?, fs::canonical(&object.path)?);
    }
    let mut argv: Vec<String> = Vec::new();
    if let Some(loader) = loader {
        argv.extend([loader, "--library-path".to_owned(), LIBRARIES.to_owned()]);
    }
    argv.extend([INTERPRETER.to_owned(), argument]);
    argv.extend(program.argv.iter().cloned());
    // A script that is served images has them already.
    inputs.retain(|target, _| program.inputs.iter().all(|mount| mount.target != *target));
    let inputs = inputs.into_iter().map(|(target, source)| Mount { source, target });
    Ok(Script { argv, inputs: inputs.chain(program.inputs.iter().cloned()).collect() })
}

/// The argument after the interpreter in the first line.
fn argument(head: &[u8]) -> Option<String> {
    let line = head.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let rest = std::str::from_utf8(line).ok()?.trim_start().strip_prefix(INTERPRETER)?;
    rest.starts_with(' ').then(|| rest.trim().to_owned())
}

/// The path of one of our libraries in the sandbox, under the name that its dependents use.
fn library(object: &Object) -> Result<String, SandboxError> {
    match object.path.file_name().and_then(|name| name.to_str()) {
        Some(name) => Ok(format!("{LIBRARIES}/{name}")),
        None => Err(SandboxError::Layout {
            target: object.path.display().to_string(),
            problem: "it is not a library name".into(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_name_counts() {
        assert_eq!(argument(b"#!/.tinderbox/interpreter x@1 y\nmore").as_deref(), Some("x@1 y"));
        assert_eq!(argument(b"#! /.tinderbox/interpreter x").as_deref(), Some("x"));
        for other in ["#!/.tinderbox/interpreters x\n", "#!/bin/sh\n", "/.tinderbox/interpreter x\n", ""] {
            assert_eq!(argument(other.as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn this_process_knows_its_loader() {
        let objects = loaded();
        assert_eq!(
            objects.iter().filter(|object| object.is_loader).count(),
            usize::from(!objects.is_empty())
        );
        assert!(objects.iter().all(|object| fs::exists(&object.path).unwrap()), "{objects:?}");
    }
}
