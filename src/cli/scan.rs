//! `store scan`: arguments, and what was found as text.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args as ClapArgs;

use super::output::{Colour, line, size, stdout_paint};
use super::run::say;
use crate::cli::ops::{Env, Result, scan};
use crate::engine::store::{Encoding, Scan};

#[derive(Debug, ClapArgs)]
pub(super) struct Args {
    /// More to search: event files, logs, directories to be published
    paths: Vec<PathBuf>,
}

pub(super) fn run(env: Env<'_>, json: bool, args: &Args) -> Result<ExitCode> {
    let found = scan::scan(env, &args.paths)?;
    say(env, json, &found, || show(&found));
    Ok(if found.is_clean() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn show(found: &Scan) {
    for hit in &found.hits {
        let form = match hit.encoding {
            Encoding::Plain => "",
            Encoding::Base64 => ", in base64",
            Encoding::Base64Twice => ", in base64 of base64",
            Encoding::Hex => ", in hex",
            Encoding::Percent => ", URL-encoded",
            Encoding::Json => ", as a JSON string",
        };
        let word = stdout_paint("secret", Colour::Red);
        line(format!("{word} {}: byte {}: {}{form}", hit.path.display(), hit.offset, hit.secret));
    }
    for unread in &found.unread {
        let word = stdout_paint("unread", Colour::Red);
        line(format!("{word} {}: {}", unread.path.display(), unread.reason));
    }
    if !found.too_large.is_empty() {
        let files = found.too_large.join(", ");
        line(format!(
            "too large to be taken apart, and searched for only as far as others have it too: {files}"
        ));
    }
    let hits = match (found.hits.len(), found.unread.len()) {
        (0, 0) => "clean".to_owned(),
        (0, unread) => format!("{unread} could not be read"),
        (1, _) => "1 leak".to_owned(),
        (hits, _) => format!("{hits} leaks"),
    };
    line(format!(
        "{} files, {}, searched for {} secrets: {hits}",
        found.files,
        size(found.bytes),
        found.secrets
    ));
}
