//! `report`: the current generation as a page: to a file, to a browser, or to stdout.

mod certificates;
mod changes;
mod contents;
mod deadlines;
mod document;
mod machines;
mod page;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use super::output::{self, line};
use super::{Error, Printer, Result};
use crate::base::fs;
use crate::cli::document::{Document, Documented};
use crate::compare::report;
use crate::openshift::workspace::Env;
use document::Report;

/// Write the last build as a page: verdict, nodes, artifacts by stage, certificates, trust and checks
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tinderbox report --open                      in your browser
  tinderbox report > build.html                one file, without any network
  tinderbox report --json                      the same as a document

It has names, ids, times, sizes, public fields of certificates and config values that changed; no secrets.")]
pub(super) struct Args {
    /// Write the page to a temporary file that only you can read, and open it in your browser
    #[arg(long, conflicts_with = "output")]
    open: bool,
}

impl Documented for Args {
    const DOCUMENTS: &'static [Document] = &[Document::text(report::REPORT_SCHEMA)];
}

impl Args {
    /// Writes the page, or with `--json` its document.
    pub(super) fn run(self, env: Env<'_>, printer: Printer<'_>) -> Result<ExitCode> {
        let json = printer.json;
        if self.open && json {
            return Err(Error::Usage {
                message: "`--open` opens a page, and `--json` prints a document: use one of them".into(),
                advice: None,
            });
        }
        if !self.open && !json {
            let advice = "`tinderbox report --open`, or `tinderbox report > build.html`";
            output::refuse_on_terminal("page", advice)?;
        }
        let found = document::report(env)?;
        env.events.settle();
        let text = if json { encode(&found) } else { page::page(&found) };
        match self.open {
            true => open(&text)?,
            false => output::text(&text),
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn encode(found: &Report) -> String {
    serde_json::to_string_pretty(found).map(|text| text + "\n").unwrap_or_default()
}

/// Writes the page to a file that only its owner can read, and starts the user's browser.
#[expect(clippy::disallowed_methods, reason = "the user's session and its programs are known to cli only")]
fn open(text: &str) -> Result<()> {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_absolute());
    let directory = runtime.unwrap_or_else(std::env::temp_dir);
    let path = directory.join(format!("tinderbox-report-{}.html", fs::random_name()));
    fs::write_new(&path, text.as_bytes(), 0o600)?;
    line(path.display());
    start(OsStr::new("xdg-open"), &path).map_err(|error| {
        Error::usage(
            format!("`xdg-open` did not start: {error}"),
            format!("open `{}` in a browser; Debian's package xdg-utils has xdg-open", path.display()),
        )
    })
}

#[expect(clippy::disallowed_methods, reason = "a browser is about the user's session, which only cli knows")]
fn start(program: &OsStr, path: &Path) -> std::io::Result<()> {
    let mut child = Command::new(program)
        .arg(path)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    // It starts the browser and exits.
    child.wait().and_then(|status| match status.success() {
        true => Ok(()),
        false => Err(std::io::Error::other(format!("it ended with {status}"))),
    })
}
