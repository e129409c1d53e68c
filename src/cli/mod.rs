//! The command line: one argument struct per verb; tables, progress, colour. Data goes to stdout, the rest to stderr.

mod apply;
mod approve;
mod args;
mod blame;
mod diff;
mod error;
mod interpreter;
mod node;
pub(crate) mod ops;
mod output;
mod plain;
mod progress;
mod realize;
mod renew;
mod report;
mod run;
mod scan;
mod seed;
mod show;
mod status;

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use clap::Parser;

pub fn main() -> ExitCode {
    if let Some(code) = interpreter::run() {
        return code;
    }
    let args = match args::Args::try_parse() {
        Ok(args) => args,
        Err(error) => {
            let code = if error.use_stderr() { 2 } else { 0 };
            let _ = error.print(); // a closed pipe is not worth a second error
            return ExitCode::from(code);
        }
    };
    let cancel = Arc::new(AtomicBool::new(false));
    let interrupts = AtomicU32::new(0);
    let flag = Arc::clone(&cancel);
    // Without a handler Ctrl-C ends the process at once, which the store survives as well.
    let _ = ctrlc::set_handler(move || {
        flag.store(true, Ordering::Relaxed);
        if interrupts.fetch_add(1, Ordering::Relaxed) >= 1 {
            std::process::exit(130);
        }
    });
    let json = args.global.json;
    let is_diff = matches!(args.verb, args::Verb::Diff(_));
    match run::run(args, &cancel) {
        Ok(code) => code,
        Err(error) => {
            let code = error::print(&error, json);
            // Of `diff`, 1 means different.
            if is_diff { ExitCode::from(2) } else { code }
        }
    }
}
