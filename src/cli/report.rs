//! `report`: the current generation as a page, to a file, to a browser, or to stdout.

use std::ffi::OsStr;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::Args as ClapArgs;
use serde_json::json;

use super::output::{self, line, size};
use crate::base::fs;
use crate::cli::ops::report::{Origin, Report};
use crate::cli::ops::{self, Env, OpsError, Result};
use crate::compare::report::{self, Mark, Row};

/// Flags of `report`.
#[derive(Debug, ClapArgs)]
pub(super) struct Asked {
    /// Write the page to a temporary file that only you can read, and open it in your browser
    #[arg(long, conflicts_with = "output")]
    pub(super) open: bool,
    /// Write it to this file instead of stdout
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
}

/// Writes the page, or with `json` the document that it shows.
pub(super) fn run(env: Env<'_>, json: bool, asked: &Asked) -> Result<()> {
    if asked.open && json {
        return Err(OpsError::Usage {
            message: "`--open` opens a page, and `--json` is none".into(),
            advice: None,
        });
    }
    let to_terminal = !asked.open && asked.output.is_none() && !json && std::io::stdout().is_terminal();
    if to_terminal {
        return Err(OpsError::Usage {
            message: "`report` writes a page, and a terminal cannot show one".into(),
            advice: Some("`tinderbox report --open`, or `tinderbox report > build.html`".into()),
        });
    }
    let found = ops::report::report(env)?;
    env.events.settle();
    let text = if json { document(&found) } else { page(&found) };
    match &asked.output {
        Some(path) => {
            fs::replace(path, text.as_bytes(), 0o644)?;
            super::run::say(env, json, &json!({"path": path}), || line(path.display()));
        }
        None if asked.open => open(&text)?,
        None => output::text(&text),
    }
    Ok(())
}

fn document(found: &Report) -> String {
    serde_json::to_string_pretty(found).map(|text| text + "\n").unwrap_or_default()
}

fn page(found: &Report) -> String {
    let title = format!("{}, generation {}", found.cluster, found.generation);
    report::build(&title, found, &rows(found))
}

/// What a reader without scripts gets.
fn rows(found: &Report) -> Vec<Row> {
    let plain = |text: String| Row { mark: Mark::Plain, text };
    let mut rows = vec![Row { mark: Mark::Title, text: format!("{} artifacts", found.artifacts.len()) }];
    rows.extend(found.expiry.boots_until.iter().map(|until| plain(format!("boots until {until}"))));
    for artifact in &found.artifacts {
        let state = match artifact.state {
            Origin::Built => "built",
            Origin::Kept => "as before",
            Origin::Found => "found in the store",
        };
        let took = artifact.milliseconds.map_or(String::new(), |milliseconds| format!(", {milliseconds} ms"));
        rows.push(plain(format!("  {}: {state}{took}, {}", artifact.name, size(artifact.size))));
    }
    rows
}

/// Writes the page where only its owner reads it, and starts the user's browser.
#[expect(clippy::disallowed_methods, reason = "the user's session and its programs are known to cli only")]
fn open(text: &str) -> Result<()> {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_absolute());
    let directory = runtime.unwrap_or_else(std::env::temp_dir);
    let path = directory.join(format!("tinderbox-report-{}.html", fs::random_name()));
    fs::write_new(&path, text.as_bytes(), 0o600)?;
    line(path.display());
    start(OsStr::new("xdg-open"), &path).map_err(|error| OpsError::Usage {
        message: format!("`xdg-open` did not start: {error}"),
        advice: Some(format!(
            "open `{}` in a browser; Debian's package xdg-utils has xdg-open",
            path.display()
        )),
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
    // It hands over to the browser and ends.
    child.wait().and_then(|status| match status.success() {
        true => Ok(()),
        false => Err(std::io::Error::other(format!("it ended with {status}"))),
    })
}
