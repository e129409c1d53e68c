//! `export`: a plain copy of an artifact tree. Secrets are readable by their owner only; a medium for all nodes can be sealed.

use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use schemars::JsonSchema;
use serde::Serialize;

use super::arguments::Jobs;
use super::document::{Document, Documented};
use super::output::{count, line};
use super::{Error, Printer, Result, build, passphrase};
use crate::base::fs::{self, At as _};
use crate::base::secret::Secret;
use crate::engine::store::Object;
use crate::engine::tree::EntryKind;
use crate::openshift::iso::{self, Form, SECTOR, Section};
use crate::openshift::workspace::{self, Env, WorkspaceError};

/// Copy an artifact tree to a plain directory; secrets get mode 0600
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tinderbox export ../boot-server
  tinderbox export /srv/tinderbox pxe           what machines boot from the network
  tinderbox export media iso-for-all --seal     one ISO for all nodes, whose console asks for the passphrase

`iso-for-all` and `pxe` hold the secrets of every node. With `--seal`, the ISO's nodes are encrypted with a passphrase, which is asked for or \
read from a file, and is kept nowhere. The store has the ISO as it was built, not sealed.")]
pub(super) struct Args {
    /// A new or an empty directory
    dir: PathBuf,
    /// What to export
    #[arg(default_value = "cluster")]
    target: String,
    /// Encrypt the nodes of `iso-for-all` with a passphrase
    #[arg(long)]
    seal: bool,
    /// Read the passphrase from the first line of FILE; without it, the terminal is asked
    #[arg(long, value_name = "FILE", requires = "seal")]
    passphrase_file: Option<PathBuf>,
    #[command(flatten)]
    jobs: Jobs,
}

impl Documented for Args {
    const DOCUMENTS: &'static [Document] = &[Document::of::<Exported>()];
}

impl Args {
    pub(super) fn run(self, env: Env<'_>, printer: Printer<'_>) -> Result<ExitCode> {
        let sealed = self.seal.then_some(self.passphrase_file.as_deref());
        let done = export(env, &self.target, &self.dir, sealed, self.jobs.count())?;
        Ok(printer.answer(&done, || {
            let Exported { directory, files, secret, sealed } = &done;
            line(format!("{}: {}, {secret} of them secret", directory.display(), count(*files, "file")));
            match sealed {
                Some(true) => line("the medium is sealed; without its passphrase, nobody gets a node's secrets from it"),
                Some(false) => {
                    line("the medium holds the secrets of every node: whoever reads it, has the cluster (`--seal` encrypts them)");
                }
                None => {}
            }
        }))
    }
}

#[derive(Debug, Serialize, JsonSchema)]
struct Exported {
    directory: PathBuf,
    files: usize,
    secret: usize,
    /// Of a medium for all nodes: whether a passphrase protects them.
    #[serde(skip_serializing_if = "Option::is_none")]
    sealed: Option<bool>,
}

/// The directory comes first: says so if it looks like a target, and the target is none.
fn in_order(error: Error, to: &Path) -> Error {
    match error {
        Error::Workspace(WorkspaceError::NoTarget { target, near: None }) => {
            let advice = format!("the directory comes first: `tinderbox export DIR {}`", to.display());
            Error::usage(format!("there is no derivation `{target}`"), advice)
        }
        error => error,
    }
}

/// Builds a target if necessary, and copies it to a new or empty directory.
///
/// With `sealed`, a medium for all nodes is encrypted with the passphrase in that file, or else from the terminal.
fn export(
    env: Env<'_>,
    target: &str,
    to: &Path,
    sealed: Option<Option<&Path>>,
    jobs: usize,
) -> Result<Exported> {
    if fs::optional(fs::list(to))?.is_some_and(|names| !names.is_empty()) {
        return Err(Error::NotEmpty { path: to.to_owned() });
    }
    let report =
        build::build_or_fail(env, vec![target.to_owned()], jobs).map_err(|error| in_order(error, to))?;
    let [built] = report.targets.as_slice() else {
        let message = format!("`{target}` is a folder of {}", count(report.targets.len(), "derivation"));
        return Err(Error::usage(message, "export one, for example `cluster`"));
    };
    let store = workspace::open_store(env.store, env.directory)?;
    let object = store.object(built.object)?;
    store.verify_part(&object, "")?;
    let section = section(&object)?;
    let passphrase = match (sealed, section) {
        (None, _) => None,
        (Some(file), Some(_)) => {
            env.events.settle();
            Some(passphrase::new(file, target, env.cancel)?)
        }
        (Some(_), None) => {
            let message = format!("`{target}` is not a medium for all nodes, and cannot be sealed");
            return Err(Error::usage(message, "`tinderbox export DIR iso-for-all --seal`"));
        }
    };
    fs::create_dirs(to)?;
    let (mut files, mut secret) = (0, 0);
    for (path, entry) in object.listing.entries().filter(|(path, _)| !path.is_empty()) {
        let (from, to) = (object.path.join(path), to.join(path));
        match &entry.kind {
            EntryKind::File { .. } if section.is_some() && path == SECTION => {}
            EntryKind::Dir => fs::create_dir(&to, if entry.secret { 0o700 } else { 0o755 })?,
            EntryKind::Link { target } => fs::symlink(Path::new(target), &to)?,
            EntryKind::File { exec, .. } => {
                let mode = match (entry.secret, exec) {
                    (true, false) => 0o600,
                    (true, true) => 0o700,
                    (false, false) => 0o644,
                    (false, true) => 0o755,
                };
                match (section, &passphrase) {
                    (Some(at), Some(passphrase)) => seal(&from, &to, at, passphrase)?,
                    _ => fs::copy_new(&from, &to, mode)?,
                }
                files += 1;
                secret += usize::from(entry.secret);
            }
        }
    }
    let sealed = section.map(|_| passphrase.is_some());
    Ok(Exported { directory: fs::canonical(to)?, files, secret, sealed })
}

/// The file of a medium for all nodes that says where their section begins.
const SECTION: &str = "section";

/// The offset of the nodes' section, of an object that is a medium for all nodes.
fn section(object: &Object) -> Result<Option<u64>> {
    let files = object.listing.leaves("").map(|(path, _)| path).collect::<Vec<_>>();
    if !matches!(files.as_slice(), [medium, SECTION] if medium.ends_with(".iso")) {
        return Ok(None);
    }
    let text = fs::read_text(&object.path.join(SECTION))?;
    Ok(text.trim().parse::<u64>().ok().map(|sector| sector * SECTOR))
}

/// Copies a medium, with its section sealed: the configs are never written as they are.
fn seal(from: &Path, to: &Path, at: u64, passphrase: &Secret) -> Result<()> {
    let mut medium = fs::open(from)?;
    let mut section = Vec::new();
    medium.seek(SeekFrom::Start(at)).and_then(|_| medium.read_to_end(&mut section)).at("read", from)?;
    let damaged = || io::Error::new(io::ErrorKind::InvalidData, "its section for the nodes is damaged");
    let Section { content, .. } = Section::decode(&section).ok_or_else(damaged).at("read", from)?;
    let mut random = [0; iso::RANDOM];
    getrandom::fill(&mut random).map_err(io::Error::other).at("encrypt", to)?;
    let content = iso::seal(&content, passphrase, &random);
    let sealed = Section { form: Form::Sealed, content }.encode();
    medium.rewind().at("read", from)?;
    // Whole or not there: half a medium boots, too.
    Ok(fs::write_whole_with(to, 0o600, |target| {
        io::copy(&mut medium.take(at), target).at("copy", to)?;
        target.write_all(&sealed).at("write", to)
    })?)
}
