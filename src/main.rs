//! tinderbox: parse, dispatch, exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    tinderbox::main()
}
