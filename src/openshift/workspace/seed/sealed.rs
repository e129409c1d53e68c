//! `cluster.seed.age`: the age format (armored, x25519 recipients), compatible with `age` and `rage`.
//!
//! Errors never contain any part of an identity or a seed: they name the file and the line, not the content.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use age::armor::{ArmoredReader, ArmoredWriter, Format};
use age::x25519::Recipient;
use age::{DecryptError, Decryptor, Encryptor, IdentityFile};
use zeroize::Zeroizing;

use super::RESTORE;
use crate::base::event::Event;
use crate::base::fs;
use crate::base::secret::{KEY_LENGTH, Seed};
use crate::engine::cache;
use crate::openshift::workspace::{Env, Result, WorkspaceError};

/// Far more than a seed for a thousand recipients needs.
const LIMIT: u64 = 1 << 20;

/// Identities that can open files for their recipients, and the file that they come from.
pub(crate) struct Identities {
    path: PathBuf,
    keys: Vec<Box<dyn age::Identity + Send + Sync>>,
}

impl Identities {
    /// The identities of the file that the user named, if any.
    pub(crate) fn named(env: Env<'_>) -> Result<Option<Self>> {
        let Some(path) = env.identity else { return Ok(None) };
        let wrong = |problem: String| WorkspaceError::Identity { path: path.to_owned(), problem };
        let text = Zeroizing::new(fs::read_stream(path)?);
        if fs::others_may(path).unwrap_or(false) {
            let text = format!("others can read the identity file `{0}`: `chmod 600 {0}`", path.display());
            env.events.emit(Event::Warning { text });
        }
        let keys = IdentityFile::from_buffer(&text[..]).ok().and_then(|file| file.into_identities().ok());
        match keys {
            Some(keys) if keys.is_empty() => Err(wrong("has no identity in it".into())),
            Some(keys) => Ok(Some(Self { path: path.to_owned(), keys })),
            None => Err(wrong(match line_of_a_stranger(&text) {
                Some(line) => format!("has something other than an identity on line {line}"),
                None => "is not text".into(),
            })),
        }
    }

    /// For outputs that caches have only encrypted.
    pub(crate) fn shared(self) -> cache::Identities {
        cache::Identities::new(self.keys)
    }

    /// Opens an encrypted seed from `path`.
    pub(crate) fn open(&self, path: &Path, sealed: &[u8]) -> Result<Seed> {
        let plain = self.open_bytes(path, sealed, KEY_LENGTH as u64 + 1)?;
        super::from_bytes(&plain).ok_or_else(|| wrong(path, "does not hold 32 bytes", RESTORE))
    }

    /// Opens an encrypted file; at most `limit` bytes of it.
    pub(crate) fn open_bytes(&self, path: &Path, sealed: &[u8], limit: u64) -> Result<Zeroizing<Vec<u8>>> {
        let damaged = || wrong(path, "is damaged or truncated", RESTORE);
        let decryptor = match Decryptor::new_buffered(ArmoredReader::new(sealed)) {
            Ok(decryptor) => decryptor,
            Err(_) if is_age(sealed) => return Err(damaged()),
            Err(_) => return Err(wrong(path, "is not an age file", RESTORE)),
        };
        if decryptor.is_scrypt() {
            let advice =
                "open it with `age -d`, and encrypt it again with `tinderbox seed encrypt -r RECIPIENT`";
            return Err(wrong(path, "is encrypted with a passphrase, not for recipients", advice));
        }
        // As large as it can become: growing would leave copies behind.
        let mut plain = Zeroizing::new(Vec::with_capacity(limit as usize));
        match decryptor.decrypt(self.keys.iter().map(|key| &**key as &dyn age::Identity)) {
            Ok(reader) => {
                reader.take(limit).read_to_end(&mut plain).map_err(|_| damaged())?;
            }
            Err(DecryptError::NoMatchingKeys) => {
                return Err(WorkspaceError::Closed { path: path.into(), identity: self.path.clone() });
            }
            Err(_) => return Err(damaged()),
        }
        Ok(plain)
    }
}

fn wrong(path: &Path, problem: &'static str, advice: &str) -> WorkspaceError {
    WorkspaceError::Seed { path: path.into(), problem, advice: advice.into() }
}

/// Reads an encrypted seed with the user's identity.
pub(crate) fn open(env: Env<'_>, path: &Path) -> Result<Seed> {
    let sealed = read(path)?;
    identities(env, path)?.open(path, &sealed)
}

/// The user's identities, without which `path` cannot be opened.
pub(crate) fn identities(env: Env<'_>, path: &Path) -> Result<Identities> {
    Identities::named(env)?.ok_or_else(|| WorkspaceError::Seed {
        path: path.into(),
        problem: "is encrypted, and no identity is given",
        advice: "name the file with your age identity: `--identity FILE` or TINDERBOX_AGE_IDENTITY".into(),
    })
}

/// The bytes of an encrypted seed.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>> {
    let found = fs::metadata(path)?;
    if !found.is_file() || found.len() > LIMIT {
        let problem = "is not an age file";
        return Err(WorkspaceError::Seed { path: path.into(), problem, advice: RESTORE.into() });
    }
    Ok(fs::read(path)?)
}

/// Encrypts a seed, armored.
pub(crate) fn seal(seed: &Seed, recipients: &[Recipient], path: &Path) -> Result<Vec<u8>> {
    seal_bytes(seed.reveal(), recipients, path)
}

/// Encrypts a secret for recipients, armored.
pub(crate) fn seal_bytes(plain: &[u8], recipients: &[Recipient], path: &Path) -> Result<Vec<u8>> {
    let write = || -> std::io::Result<Vec<u8>> {
        let all = recipients.iter().map(|recipient| recipient as &dyn age::Recipient);
        let encryptor = Encryptor::with_recipients(all).map_err(std::io::Error::other)?;
        let armor = ArmoredWriter::wrap_output(Vec::new(), Format::AsciiArmor)?;
        let mut writer = encryptor.wrap_output(armor)?;
        writer.write_all(plain)?;
        writer.finish()?.finish()
    };
    write().map_err(|source| fs::Error::new("encrypt", path, source).into())
}

/// Whether this starts like an age file.
pub(crate) fn is_age(bytes: &[u8]) -> bool {
    let start = bytes.trim_ascii_start();
    start.starts_with(b"-----BEGIN AGE") || start.starts_with(b"age-encryption.org/")
}

/// The first line that is neither an identity nor a comment, from 1.
fn line_of_a_stranger(text: &[u8]) -> Option<usize> {
    let text = std::str::from_utf8(text).ok()?;
    let mut lines = text.lines();
    let fits = |line: &str| {
        line.is_empty() || line.starts_with('#') || line.parse::<age::x25519::Identity>().is_ok()
    };
    lines.position(|line| !fits(line)).map(|at| at + 1)
}
