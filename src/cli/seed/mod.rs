//! `seed …`: arguments, and the result as text.

mod convert;
mod new;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};

use super::document::{Document, Documented, Documents, NamedDocument, below};
use super::output::line;
use super::{Printer, Result};
use crate::openshift::workspace::Env;
use convert::Converted;
pub(super) use convert::parse_recipients;

/// Encrypt the cluster's seed for named recipients, decrypt it, or make a new one
#[derive(Debug, Subcommand)]
pub(super) enum Verb {
    /// Encrypt cluster.seed to cluster.seed.age, which can be committed, and remove the plain file
    #[command(after_help = "Examples:
  age-keygen -o ~/.config/tinderbox/identity        prints its recipient, age1…
  tinderbox seed encrypt -r age1… -r age1…          any one of them can open it
  tinderbox seed encrypt -R team.txt --identity ~/.config/tinderbox/identity

With an identity, the result is opened and compared before the plain file goes.")]
    Encrypt(Recipients),
    /// Make a new seed if the old one is lost: a different cluster, with other keys, certificates and names
    #[command(after_help = "Example:
  tinderbox seed new --yes")]
    New(new::Args),
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

impl Documents for Verb {
    fn documents(verb: &str, to: &mut Vec<NamedDocument>) {
        new::Args::documents(&below(verb, "New"), to);
        for name in ["Encrypt", "Decrypt", "RotateRecipients"] {
            Converted::documents(&below(verb, name), to);
        }
    }
}

impl Documented for Converted {
    const DOCUMENTS: &'static [Document] = &[Document::of::<Self>()];
}

impl Verb {
    pub(super) fn run(self, env: Env<'_>, printer: Printer<'_>) -> Result<ExitCode> {
        let done = match self {
            Self::Encrypt(recipients) => convert::encrypt(env, &recipients)?,
            Self::New(args) => return args.run(env, printer),
            Self::Decrypt => convert::decrypt(env)?,
            Self::RotateRecipients(recipients) => convert::rotate_recipients(env, &recipients)?,
        };
        Ok(printer.answer(&done, || show(&done)))
    }
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
        true => "verified: your identity opens it, and it is the same seed",
        false => "not verified: no identity of yours opens it",
    });
}
