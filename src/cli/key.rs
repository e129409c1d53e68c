//! `key …`: the pair of keys with which a builder vouches for what it built.

use std::path::PathBuf;
use std::process::ExitCode;

use schemars::JsonSchema;
use serde::Serialize;

use super::document::{Document, Documented};
use super::output::{line, text};
use super::seed::parse_recipients;
use super::{Error, Printer, Result, verbs};
use crate::base::fs;
use crate::engine::cache::{PublicKey, SigningKey};
use crate::openshift::workspace::seed::sealed;
use crate::openshift::workspace::{self, Env};

verbs! {
    "Make and show the key that `push` signs with";
    Generate(Generate),
    Show(Show),
}

/// Make a key for this builder; its public half is what others trust
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tinderbox key generate                       ~/.config/tinderbox/signing.key, mode 0600
  tinderbox key generate -r age1… --key ci.key encrypted: `push --identity FILE` opens it")]
pub(super) struct Generate {
    /// The new file; default: `signing.key` in your configuration directory
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// Encrypt it for an age recipient, `age1…`
    #[arg(short = 'r', long = "recipient", value_name = "RECIPIENT")]
    recipients: Vec<String>,
}

/// Print the public half of the key
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tinderbox key show                           for `trust` of a cache in cluster.yaml
  tinderbox key show --pem > builder.pub       for cosign and openssl")]
pub(super) struct Show {
    /// The key; default: `signing.key` in your configuration directory
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// Print it as PEM
    #[arg(long)]
    pem: bool,
}

/// A key pair, without its private half.
#[derive(Debug, Serialize, JsonSchema)]
struct KeyReport {
    /// The file of the private half.
    file: PathBuf,
    /// The public half, for `trust`.
    public: String,
    /// Its name in tags and signatures.
    name: String,
    /// The public half in PEM.
    pem: String,
}

impl KeyReport {
    fn new(file: PathBuf, public: PublicKey) -> Self {
        Self { file, public: public.to_string(), name: public.name(), pem: public.to_pem() }
    }
}

impl Documented for Generate {
    const DOCUMENTS: &'static [Document] = &[Document::of::<KeyReport>()];
}

impl Documented for Show {
    const DOCUMENTS: &'static [Document] = &[Document::of::<KeyReport>()];
}

impl Generate {
    pub(super) fn run(self, env: Env<'_>, printer: Printer<'_>) -> Result<ExitCode> {
        let file = workspace::signing_key_path(env, self.key.as_deref())?;
        if fs::exists(&file)? {
            let advice =
                "outputs are signed with it: move it away yourself, or name another file with `--key`";
            return Err(Error::Exists { path: file, advice });
        }
        let key = SigningKey::generate()
            .map_err(|error| Error::Usage { message: error.to_string(), advice: None })?;
        let pem = key.to_pem();
        if let Some(parent) = file.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            fs::create_dirs(parent)?;
        }
        if self.recipients.is_empty() {
            fs::write_whole(&file, pem.as_bytes(), 0o600)?;
        } else {
            let recipients = parse_recipients(&self.recipients)?;
            fs::write_whole(&file, &sealed::seal_bytes(pem.as_bytes(), &recipients, &file)?, 0o600)?;
        }
        let report = KeyReport::new(file, key.public());
        Ok(printer.answer(&report, || {
            line(format!("{}: a new key; keep it to this builder", report.file.display()));
            line("for `trust` of a cache in the cluster.yaml of those who trust it:");
            line(format!("  {}", report.public));
        }))
    }
}

impl Show {
    pub(super) fn run(self, env: Env<'_>, printer: Printer<'_>) -> Result<ExitCode> {
        let file = workspace::signing_key_path(env, self.key.as_deref())?;
        let report = KeyReport::new(file.clone(), workspace::signing_key(env, &file)?.public());
        Ok(printer.answer(&report, || match self.pem {
            true => text(&report.pem),
            false => line(&report.public),
        }))
    }
}
