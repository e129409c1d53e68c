//! What a node booted with, according to its console: Ignition prints which config it read, and how it ended.
//!
//! ```text
//! Linux version 6.1.0…                                    a new boot
//! Stage: fetch-offline                                    a new run of Ignition
//! reading system config file "…/base.d/00-core.ign"       the next digest is that of the OS's own config
//! parsing config with SHA512: <128 hexadecimal digits>    the node's config, unless it is the OS's own
//! Stage: files                                            from here on, digests are those of the OS again
//! files: files passed                                     everything is on disk
//! Ignition failed: …                                      the node does not boot
//! ```
//!
//! Kernel, journal and Ignition put their own prefixes before these. The last run counts; a boot without one changes
//! nothing, because Ignition runs once in the life of a disk. The digest is a debug message that not every system prints:
//! then all we know is that some config was applied.
//!
//! Pure: bytes in, a value out. Digests are compared, and never shown.

use schemars::JsonSchema;
use serde::Serialize;
use sha2::{Digest as _, Sha512};

use crate::openshift::iso;

const KERNEL: &str = "Linux version ";
const STAGE: &str = "Stage: ";
const SYSTEM: &str = "reading system config file ";
const CONFIG: &str = "parsing config with SHA512: ";
const PASSED: &str = "files: files passed";
const FAILED: &str = "Ignition failed: ";

/// Bytes of the digest.
const LENGTH: usize = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Booted {
    /// The config that the closure has for it.
    Current,
    Another,
    /// The console does not say which.
    Unnamed,
    /// The live ISO, which installs the node.
    Installer,
    /// Ignition is running.
    Applying,
    /// Ignition failed.
    Failed,
}

impl Booted {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Current => "current",
            Self::Another => "another",
            Self::Unnamed => "unnamed",
            Self::Installer => "installer",
            Self::Applying => "applying",
            Self::Failed => "failed",
        }
    }

    /// From a console log, or its end. None if it has no run of Ignition.
    pub fn read(log: &[u8], expected: &Expected) -> Option<Self> {
        IgnitionRun::last(log).map(|run| run.judge(expected))
    }
}

/// The configs that a node may boot with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expected {
    node: [u8; LENGTH],
    installer: [u8; LENGTH],
}

impl Expected {
    /// From the node's config in the closure.
    pub fn of(config: &str) -> Self {
        let digest = |text: &str| Sha512::digest(text.as_bytes()).into();
        Self { node: digest(config), installer: digest(&iso::unattended(config)) }
    }
}

/// One run of Ignition through its stages.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct IgnitionRun {
    configs: Vec<[u8; LENGTH]>,
    applied: bool,
    failed: bool,
}

impl IgnitionRun {
    /// The last run in a log.
    fn last(log: &[u8]) -> Option<Self> {
        let mut last: Option<Self> = None;
        let (mut booting, mut fetching, mut own) = (true, false, false);
        for line in log.split(|byte| *byte == b'\n') {
            if find(line, KERNEL).is_some() {
                (booting, fetching) = (true, false);
            } else if let Some(stage) = find(line, STAGE).and_then(stage) {
                fetching = stage.starts_with("fetch");
                if last.is_none() || booting || stage == "fetch-offline" {
                    last = Some(Self::default());
                }
                booting = false;
            }
            let Some(run) = last.as_mut().filter(|_| !booting) else { continue };
            if let Some(path) = find(line, SYSTEM) {
                own = find(path, "/base.").is_some();
            } else if let Some(config) = find(line, CONFIG).and_then(digest) {
                if fetching && !own {
                    run.configs.push(config);
                }
                own = false;
            }
            run.applied |= find(line, PASSED).is_some();
            run.failed |= find(line, FAILED).is_some();
        }
        last
    }

    fn judge(&self, expected: &Expected) -> Booted {
        let is = |config: &[u8; LENGTH]| self.configs.contains(config);
        match self.applied {
            _ if self.failed => Booted::Failed,
            _ if is(&expected.installer) => Booted::Installer,
            false => Booted::Applying,
            true if is(&expected.node) => Booted::Current,
            true if self.configs.is_empty() => Booted::Unnamed,
            true => Booted::Another,
        }
    }
}

/// The rest of a line after these words, if it has them.
fn find<'a>(line: &'a [u8], words: &str) -> Option<&'a [u8]> {
    let at = line.windows(words.len()).position(|window| window == words.as_bytes())?;
    Some(&line[at + words.len()..])
}

/// One of Ignition's stages, with nothing after it.
fn stage(text: &[u8]) -> Option<&str> {
    let name = std::str::from_utf8(text.trim_ascii()).ok()?;
    ["fetch-offline", "fetch", "kargs", "disks", "mount", "files", "umount"].contains(&name).then_some(name)
}

/// A complete digest in hexadecimal.
fn digest(text: &[u8]) -> Option<[u8; LENGTH]> {
    let (digits, rest) = text.split_at_checked(2 * LENGTH)?;
    if rest.first().is_some_and(u8::is_ascii_alphanumeric) {
        return None;
    }
    data_encoding::HEXLOWER_PERMISSIVE.decode(digits).ok()?.try_into().ok()
}

#[cfg(test)]
mod tests;
