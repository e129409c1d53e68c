//! `seed …`: arguments, and what became of the seed as text.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

mod convert;

use super::output::line;
use super::run::say;
use crate::cli::ops::{Env, OpsError, Result};
use convert::{Converted, RecipientChoice};

#[derive(Debug, Subcommand)]
pub(super) enum Seed {
    /// Encrypt cluster.seed to cluster.seed.age, which can be committed, and remove the plain file
    #[command(after_help = "Examples:
  age-keygen -o ~/.config/tinderbox/identity        prints its recipient, age1…
  tinderbox seed encrypt -r age1… -r age1…          any one of them can open it
  tinderbox seed encrypt -R team.txt --identity ~/.config/tinderbox/identity

With an identity, the result is opened and compared before the plain file goes.")]
    Encrypt(Recipients),
    /// Decrypt cluster.seed.age to cluster.seed, and remove the encrypted file
    #[command(after_help = "Example:
  tinderbox seed decrypt --identity ~/.config/tinderbox/identity")]
    Decrypt,
    /// Encrypt cluster.seed.age for other recipients; whoever has an old copy can still open that
    #[command(after_help = "Example:
  tinderbox seed rotate-recipients -R team.txt --identity ~/.config/tinderbox/identity")]
    RotateRecipients(Recipients),
}

#[derive(Debug, Args)]
pub(super) struct Recipients {
    /// Who can open it: an age recipient, `age1…`
    #[arg(short = 'r', long = "recipient", value_name = "RECIPIENT", required_unless_present = "files")]
    recipients: Vec<String>,
    /// A file with one recipient a line; `#` begins a comment
    #[arg(short = 'R', long = "recipients-file", value_name = "FILE")]
    files: Vec<PathBuf>,
}

impl From<Recipients> for RecipientChoice {
    fn from(Recipients { recipients, files }: Recipients) -> Self {
        Self { recipients, files }
    }
}

pub(super) fn run(env: Env<'_>, json: bool, verb: Seed) -> Result<()> {
    let done = match verb {
        Seed::Encrypt(recipients) => convert::encrypt(env, &recipients.into())?,
        Seed::Decrypt => convert::decrypt(env)?,
        Seed::RotateRecipients(recipients) => convert::rotate_recipients(env, &recipients.into())?,
    };
    say(env, json, &done, || show(&done));
    Ok(())
}

fn show(done: &Converted) {
    let file = done.file.display();
    if done.recipients.is_empty() {
        line(match done.changed {
            true => format!("{file}: plain; back it up, and never commit it"),
            false => format!("{file} is plain already"),
        });
        return;
    }
    line(format!("{file}: encrypted for"));
    done.recipients.iter().for_each(|recipient| line(format!("  {recipient}")));
    line(match done.proved {
        true => "opened with your identity: it is the same seed",
        false => "not tried out: no identity of yours opens it",
    });
}

/// The identity file that was named. A key in its place would be seen by others in the list of processes.
pub(super) fn identity(named: Option<&OsStr>) -> Result<Option<&Path>> {
    let Some(name) = named.filter(|name| !name.is_empty()) else { return Ok(None) };
    let start = name.as_encoded_bytes().get(..15);
    if start.is_some_and(|start| start.eq_ignore_ascii_case(b"AGE-SECRET-KEY-")) {
        return Err(OpsError::Usage {
            message: "`--identity` and TINDERBOX_AGE_IDENTITY take the name of a file, and this is a key itself".into(),
            advice: Some(
                "write the key into a file of mode 0600 and name that; others may have seen this one: make a new key"
                    .into(),
            ),
        });
    }
    Ok(Some(Path::new(name)))
}
