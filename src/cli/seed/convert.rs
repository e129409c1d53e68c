//! `seed encrypt`, `seed decrypt`, `seed rotate-recipients`: write the new file completely and durably, read it back,
//! and only then remove the old file. Each can be interrupted anywhere and run again.

use std::path::{Path, PathBuf};

use age::x25519::Recipient;
use schemars::JsonSchema;
use serde::Serialize;

use super::Recipients;
use crate::base::event::Event;
use crate::base::fs;
use crate::base::secret::Seed;
use crate::cli::{Error, Result};
use crate::openshift::workspace::seed::sealed::{self, Identities};
use crate::openshift::workspace::seed::{Form, form, ignore, read_plain};
use crate::openshift::workspace::{self, ClusterDir, Env, SEALED, SEED, WorkspaceError};

/// Keeps an encrypted seed that could not be compared with the plain one.
const BEFORE: &str = "cluster.seed.age.before";

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Converted {
    /// The file that contains the seed now.
    pub(super) file: PathBuf,
    pub(super) changed: bool,
    /// Empty if it is plain.
    pub(super) recipients: Vec<String>,
    /// Whether the user's identity opened it and yielded the same seed.
    pub(super) proved: bool,
}

/// Encrypts the plain seed. If both files exist, the plain one counts, as after an interruption.
pub(super) fn encrypt(env: Env<'_>, choice: &Recipients) -> Result<Converted> {
    let recipients = parse(choice)?;
    let directory = ClusterDir::open(env.directory)?;
    let (plain, sealed) = (directory.file(SEED), directory.file(SEALED));
    if !fs::exists(&plain)? {
        return Err(match fs::exists(&sealed)? {
            true => Error::Exists {
                path: sealed,
                advice: "`tinderbox seed rotate-recipients -r RECIPIENT` encrypts it for others",
            },
            false => missing(plain),
        });
    }
    let seed = read_plain(directory.path())?;
    let identities = Identities::named(env)?;
    if fs::exists(&sealed)? {
        match &identities {
            Some(identities) => same(&seed, &identities.open(&sealed, &sealed::read(&sealed)?)?, &plain)?,
            None => put_aside(env, &sealed, &directory.file(BEFORE))?,
        }
    }
    let text = sealed::seal(&seed, &recipients, &sealed)?;
    if let Some(identities) = &identities {
        // Before anything is written: the user must not lock themselves out by mistake.
        prove(identities, &seed, &sealed, &text).map_err(shut_out)?;
    }
    replace(directory.path(), &sealed, &text)?;
    fs::remove_file(&plain)?;
    sweep(directory.path())?;
    Ok(converted(sealed, &recipients, identities.is_some()))
}

/// Restores the plain seed. If both files exist, they must contain the same seed.
pub(super) fn decrypt(env: Env<'_>) -> Result<Converted> {
    let directory = ClusterDir::open(env.directory)?;
    let (plain, sealed) = (directory.file(SEED), directory.file(SEALED));
    if !fs::exists(&sealed)? {
        if !fs::exists(&plain)? {
            return Err(missing(plain));
        }
        read_plain(directory.path())?;
        return Ok(Converted { file: plain, changed: false, recipients: Vec::new(), proved: true });
    }
    let seed = sealed::open(env, &sealed)?;
    ignore(directory.path())?;
    if !fs::exists(&plain)? {
        fs::write_whole(&plain, seed.reveal(), 0o600)?;
    }
    same(&read_plain(directory.path())?, &seed, &plain)?;
    fs::sync_dir(directory.path())?;
    fs::remove_file(&sealed)?;
    sweep(directory.path())?;
    Ok(Converted { file: plain, changed: true, recipients: Vec::new(), proved: true })
}

/// Encrypts the seed for other recipients, in one step. The plain seed never reaches the disk.
pub(super) fn rotate_recipients(env: Env<'_>, choice: &Recipients) -> Result<Converted> {
    let recipients = parse(choice)?;
    let directory = ClusterDir::open(env.directory)?;
    let sealed = directory.file(SEALED);
    match form(directory.path())? {
        None => return Err(missing(directory.file(SEED))),
        Some(Form::Plain) => {
            return Err(WorkspaceError::Seed {
                path: directory.file(SEED),
                problem: "is not encrypted",
                advice: "`tinderbox seed encrypt -r RECIPIENT` encrypts it".into(),
            }
            .into());
        }
        Some(Form::Sealed) => {}
    }
    let identities = sealed::identities(env, &sealed)?;
    let seed = identities.open(&sealed, &sealed::read(&sealed)?)?;
    let text = sealed::seal(&seed, &recipients, &sealed)?;
    let proved = match prove(&identities, &seed, &sealed, &text) {
        Ok(()) => true,
        Err(WorkspaceError::Closed { .. }) => false, // may be intended
        Err(error) => return Err(error.into()),
    };
    replace(directory.path(), &sealed, &text)?;
    Ok(converted(sealed, &recipients, proved))
}

fn shut_out(error: WorkspaceError) -> Error {
    match error {
        WorkspaceError::Closed { identity, .. } => Error::usage(
            format!("no recipient belongs to your identity file `{}`", identity.display()),
            "add yours with `-r` (`age-keygen -y FILE` prints it), or name no identity",
        ),
        error => error.into(),
    }
}

fn converted(file: PathBuf, recipients: &[Recipient], proved: bool) -> Converted {
    Converted {
        file,
        changed: true,
        recipients: recipients.iter().map(ToString::to_string).collect(),
        proved,
    }
}

fn missing(path: PathBuf) -> Error {
    let advice = "`tinderbox lock` makes a seed".into();
    WorkspaceError::Seed { path, problem: "does not exist", advice }.into()
}

/// Opens the encrypted seed and compares.
fn prove(identities: &Identities, seed: &Seed, path: &Path, text: &[u8]) -> workspace::Result<()> {
    same(seed, &identities.open(path, text)?, path)
}

fn same(one: &Seed, other: &Seed, path: &Path) -> workspace::Result<()> {
    if one == other {
        return Ok(());
    }
    Err(WorkspaceError::Seed {
        path: path.into(),
        problem: "and cluster.seed.age hold different seeds",
        advice: "find out which one is this cluster's, and move the other away yourself".into(),
    })
}

/// Replaces the encrypted seed durably, and reads it back.
fn replace(directory: &Path, sealed: &Path, text: &[u8]) -> Result<()> {
    fs::replace(sealed, text, 0o644)?;
    fs::sync_dir(directory)?;
    if sealed::read(sealed)? == text {
        return Ok(());
    }
    let advice = "check the disk; the seed that was there before is still good".into();
    Err(WorkspaceError::Seed { path: sealed.into(), problem: "is not what was written", advice }.into())
}

/// Keeps an encrypted seed that nobody here can open: it may be the only copy for some cluster.
fn put_aside(env: Env<'_>, sealed: &Path, before: &Path) -> Result<()> {
    if fs::exists(before)? {
        let advice = "it is an encrypted seed that could not be compared: remove it if it is not needed";
        return Err(Error::Exists { path: before.into(), advice });
    }
    fs::hard_link(sealed, before)?;
    let text = format!(
        "{SEALED} was there already, and without `--identity` nobody can say what is in it: it is kept as {BEFORE}"
    );
    env.events.emit(Event::Warning { text });
    Ok(())
}

/// Removes leftovers of interrupted writes: a hidden `.cluster.seed.<16 hex digits>` may contain the plain seed.
fn sweep(directory: &Path) -> Result<()> {
    for name in fs::list(directory)? {
        let random = name.to_str().and_then(|name| {
            name.strip_prefix(".cluster.seed.age.").or_else(|| name.strip_prefix(".cluster.seed."))
        });
        if random.is_some_and(|text| text.len() == 16 && text.bytes().all(|c| c.is_ascii_hexdigit())) {
            fs::optional(fs::remove_file(&directory.join(name)))?;
        }
    }
    fs::sync_dir(directory).map_err(Into::into)
}

/// All recipients, each once.
fn parse(choice: &Recipients) -> Result<Vec<Recipient>> {
    let mut texts = on_the_command_line(&choice.recipients);
    for file in &choice.files {
        let text = fs::read_text(file)?;
        for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with('#')) {
            texts.push((format!("`{}`, line {}", file.display(), at + 1), line.to_owned()));
        }
    }
    parse_all(&texts)
}

fn on_the_command_line(given: &[String]) -> Vec<(String, String)> {
    let placed =
        |(at, text): (usize, &String)| (format!("recipient {} of the command line", at + 1), text.clone());
    given.iter().enumerate().map(placed).collect()
}

/// Recipients of the command line, each once.
pub(in crate::cli) fn parse_recipients(given: &[String]) -> Result<Vec<Recipient>> {
    parse_all(&on_the_command_line(given))
}

/// Recipients with their places, each once. Never quotes an invalid one: it might be an identity.
fn parse_all(texts: &[(String, String)]) -> Result<Vec<Recipient>> {
    let mut found: Vec<Recipient> = Vec::new();
    for (place, text) in texts.iter().map(|(place, text)| (place, text.trim())) {
        match text.parse::<Recipient>() {
            _ if text.is_empty() => {}
            Ok(recipient) if found.iter().any(|one| one.to_string() == recipient.to_string()) => {}
            Ok(recipient) => found.push(recipient),
            Err(_) => return Err(not_a_recipient(place, text)),
        }
    }
    if found.is_empty() {
        return Err(Error::usage(
            "there is no recipient to encrypt for",
            "`-r age1…`, or `-R FILE` with one a line; `age-keygen` makes an identity with its recipient",
        ));
    }
    Ok(found)
}

fn not_a_recipient(place: &str, text: &str) -> Error {
    let (what, advice) = if text.to_ascii_uppercase().starts_with("AGE-SECRET-KEY-") {
        (
            "an identity, which is secret",
            "give the recipient that belongs to it: `age-keygen -y FILE` prints it",
        )
    } else {
        (
            "not an age recipient",
            "an X25519 recipient is `age1` and 58 more characters; SSH keys and plugins are not supported",
        )
    };
    Error::usage(format!("{place} is {what}"), advice)
}
