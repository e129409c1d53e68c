//! `realize ssh`, `realize logs` and `realize gather`: their arguments, and text of nodes on a terminal.

use std::io::{IsTerminal as _, Write as _};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::json;

use super::args::Jobs;
use super::error::explain;
use super::output::{line, size};
use super::run::{jobs, say};
use crate::base::hint::Hint as _;
use crate::base::redact::ControlFilter;
use crate::cli::ops::ssh::LogRequest;
use crate::cli::ops::{self, Env, OpsError, Result};

#[derive(Debug, clap::Args)]
pub(super) struct Ssh {
    /// The node
    node: String,
    /// Only print the command, for a shell; `--json` prints it as a document
    #[arg(long)]
    print: bool,
    /// What to run there in place of a shell
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
    #[command(flatten)]
    jobs: Jobs,
}

#[derive(Debug, clap::Args)]
pub(super) struct Logs {
    /// The node
    node: String,
    /// Which log: `console` (the default), `bootkube`, `kubelet`, `crio`, a static pod, `ignition`, `all`, or any unit
    what: Option<String>,
    /// Go on with what comes, until Ctrl-C
    #[arg(short, long)]
    follow: bool,
    /// Only the last lines
    #[arg(short = 'n', long, value_name = "N")]
    lines: Option<u64>,
    #[command(flatten)]
    jobs: Jobs,
}

#[derive(Debug, clap::Args)]
pub(super) struct Gather {
    /// The archive; it must not be there yet [default: gather-CLUSTER-TIME.tar.gz]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    jobs: Jobs,
}

/// Goes to a node; the exit status is that of `ssh`.
pub(super) fn ssh(env: Env<'_>, json: bool, asked: &Ssh) -> Result<ExitCode> {
    let Ssh { node, command, .. } = asked;
    if asked.print || json {
        let words = ops::ssh::command(env, jobs(&asked.jobs), node, command)?;
        say(env, json, &json!({"node": node, "command": words}), || {
            line(words.iter().map(|word| for_shell(word)).collect::<Vec<_>>().join(" "));
        });
        return Ok(ExitCode::SUCCESS);
    }
    let visit = ops::ssh::visit(env, jobs(&asked.jobs), node, command)?;
    if let Some(trouble) = &visit.trouble {
        explain(trouble, trouble.hint());
    }
    Ok(ExitCode::from(visit.status))
}

/// Prints a log as it comes. What a terminal would obey is taken out if one shows it.
pub(super) fn logs(env: Env<'_>, json: bool, asked: &Logs) -> Result<ExitCode> {
    let Logs { node, what, follow, lines, .. } = asked;
    if json && *follow {
        let message = "`--json` prints one document, and `--follow` has no end".to_owned();
        return Err(OpsError::Usage { message, advice: Some("leave one of them out".into()) });
    }
    let request = LogRequest { node, what: what.as_deref(), lines: *lines, follow: *follow };
    let mut whole = Vec::new();
    let mut plain = std::io::stdout().is_terminal().then(ControlFilter::default);
    let mut closed = false;
    let mut take = |piece: &[u8]| {
        if json {
            whole.extend_from_slice(piece);
            return ControlFlow::Continue(());
        }
        let shown = plain.as_mut().map(|plain| plain.push(piece));
        let mut out = std::io::stdout().lock();
        let written = out.write_all(shown.as_deref().map_or(piece, str::as_bytes)).and_then(|()| out.flush());
        closed = written.is_err();
        if closed { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let done = ops::ssh::logs(env, jobs(&asked.jobs), &request, &mut take);
    match done {
        // A reader that went away has seen enough, and who follows a log ends it.
        Err(_) if closed => {}
        Err(OpsError::Stopped) if *follow => {}
        done => done?,
    }
    if json {
        let text = String::from_utf8_lossy(&whole);
        let what = what.as_deref().unwrap_or("console");
        say(env, json, &json!({"node": node, "log": what, "text": text}), || {});
    }
    Ok(ExitCode::SUCCESS)
}

/// Gathers everything into an archive.
pub(super) fn gather(env: Env<'_>, json: bool, asked: &Gather) -> Result<ExitCode> {
    let done = ops::gather::gather(env, jobs(&asked.jobs), asked.output.as_deref(), Path::new(""))?;
    say(env, json, &done, || {
        line(format!("{}: {} files, {}", done.archive.display(), done.files, size(done.size)));
        match done.reached.as_slice() {
            [] => line("no node answered over SSH"),
            reached => line(format!("answered over SSH: {}", reached.join(", "))),
        }
        if !done.missed.is_empty() {
            line(format!("{} things could not be had: `errors.txt` in it says why", done.missed.len()));
        }
    });
    Ok(ExitCode::SUCCESS)
}

/// A word as a shell reads it.
fn for_shell(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-+=.,/:@%".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}
