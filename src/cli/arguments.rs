//! Arguments that several verbs take.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;

use super::progress::Level;
use super::{Error, Result};
use crate::openshift::workspace::GivenSeed;

#[derive(Debug, Args)]
pub(super) struct Global {
    /// The cluster directory
    #[arg(short = 'C', value_name = "DIR", global = true, default_value = ".")]
    pub(super) directory: PathBuf,
    /// A site of the fleet in that directory, instead of a cluster
    #[arg(long, value_name = "NAME", global = true)]
    pub(super) site: Option<String>,
    /// The store; default: the nearest `store/` above the cluster directory, else the user's data directory
    #[arg(long, value_name = "DIR", global = true, env = "TINDERBOX_STORE", hide_env_values = true)]
    store: Option<OsString>,
    /// The file with your age identity, to open cluster.seed.age
    #[arg(long, value_name = "FILE", global = true, env = "TINDERBOX_AGE_IDENTITY", hide_env_values = true)]
    identity: Option<OsString>,
    /// A file with the cluster's seed, instead of cluster.seed: `-` for standard input, /dev/fd/N for a descriptor
    #[arg(long, value_name = "FILE", global = true, env = "TINDERBOX_SEED_FILE", hide_env_values = true)]
    seed: Option<OsString>,
    /// Write the result to this file instead of stdout
    #[arg(short, long, value_name = "FILE", global = true)]
    pub(super) output: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long, global = true)]
    pub(super) json: bool,
    /// Print errors and results only: no warnings, no progress
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    quiet: bool,
    /// Say more: a line for every derivation, cached ones too, and how it ended
    #[arg(short, long, global = true)]
    verbose: bool,
    /// Write events as JSON lines
    #[arg(long, value_name = "FILE", global = true)]
    pub(super) events: Option<PathBuf>,
}

impl Global {
    /// The store that the user names. An empty variable names none.
    pub(super) fn store(&self) -> Option<PathBuf> {
        self.store.as_ref().filter(|path| !path.is_empty()).map(PathBuf::from)
    }

    pub(super) fn level(&self) -> Level {
        match (self.quiet, self.verbose) {
            (true, _) => Level::Quiet,
            (_, true) => Level::Verbose,
            _ => Level::Normal,
        }
    }

    /// The seed from elsewhere, if the user names one.
    pub(super) fn seed(&self) -> Result<Option<GivenSeed>> {
        let named = self.seed.as_deref().filter(|path| !path.is_empty()).map(Path::new);
        Ok(named.map(GivenSeed::read).transpose()?)
    }

    /// The identity file. A key in its place would be visible to others in the process list.
    pub(super) fn identity(&self) -> Result<Option<&Path>> {
        let Some(name) = self.identity.as_deref().filter(|name| !name.is_empty()) else { return Ok(None) };
        let start = name.as_encoded_bytes().get(..15);
        if start.is_some_and(|start| start.eq_ignore_ascii_case(b"AGE-SECRET-KEY-")) {
            return Err(Error::usage(
                "`--identity` and TINDERBOX_AGE_IDENTITY take the name of a file, and this is a key itself",
                "write the key into a file of mode 0600 and name that; others may have seen this one: make a new key",
            ));
        }
        Ok(Some(Path::new(name)))
    }
}

/// The command line, with the flag after `show --explain` (`--etcd-servers`) as its value. An option of our own there
/// (`--json`) stays one: without this, clap takes either both or neither.
pub(super) fn with_explained_flag(
    given: impl IntoIterator<Item = OsString>,
    program: impl FnOnce() -> clap::Command,
) -> Vec<OsString> {
    let given: Vec<OsString> = given.into_iter().collect();
    if given.iter().all(|one| one != "--explain") {
        return given;
    }
    let program = program();
    let show = program.find_subcommand("show");
    let options = program.get_arguments().chain(show.into_iter().flat_map(clap::Command::get_arguments));
    let own: Vec<&str> = options.filter_map(clap::Arg::get_long).chain(["help"]).collect();
    let is_own = |flag: &str| own.contains(&flag.split_once('=').map_or(flag, |(name, _)| name));
    let mut args: Vec<OsString> = Vec::new();
    for one in given {
        let flag = one.to_str().and_then(|text| text.strip_prefix("--")).filter(|flag| !flag.is_empty());
        match (args.last_mut(), flag) {
            (Some(last), Some(flag)) if last == "--explain" && !is_own(flag) => {
                last.push("=");
                last.push(&one);
            }
            _ => args.push(one),
        }
    }
    args
}

#[derive(Debug, Args)]
pub(super) struct Jobs {
    /// Derivations built at the same time; default: one per core
    #[arg(short, long, value_name = "N", value_parser = parse_jobs)]
    jobs: Option<u16>,
}

impl Jobs {
    pub(super) fn count(&self) -> usize {
        let cores = || std::thread::available_parallelism().map_or(1, Into::into);
        self.jobs.map_or_else(cores, usize::from)
    }

    /// The same for what mostly waits for the network.
    pub(super) fn count_waiting(&self) -> usize {
        const AT_ONCE: usize = 8;
        if self.jobs.is_some() { self.count() } else { self.count().max(AT_ONCE) }
    }
}

fn parse_jobs(text: &str) -> std::result::Result<u16, String> {
    let jobs = text.parse().ok().filter(|jobs| (1..=1024).contains(jobs));
    jobs.ok_or_else(|| "write a whole number from 1 to 1024".to_owned())
}

/// A number of things, such as closures, of which there may not be many.
pub(super) fn parse_small_count(text: &str) -> std::result::Result<u16, String> {
    text.parse().map_err(|_| "write a whole number up to 65535".to_owned())
}

/// A number of things, such as generations or lines.
pub(super) fn parse_count(text: &str) -> std::result::Result<u64, String> {
    text.parse().map_err(|_| "write a whole number".to_owned())
}

/// `90s`, `15m`, `12h`, `30d`, `2w`.
pub(super) fn parse_age(text: &str) -> std::result::Result<Duration, String> {
    const FORM: &str = "write it as 90s, 15m, 12h, 30d or 2w";
    let (number, unit) = split_unit(text).ok_or(FORM)?;
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86400,
        "w" => 604_800,
        _ => return Err(FORM.into()),
    };
    number.checked_mul(seconds).map(Duration::from_secs).ok_or_else(|| "that is too long".into())
}

/// `4096`, `500M`, `10G`, with binary units.
pub(super) fn parse_size(text: &str) -> std::result::Result<u64, String> {
    const FORM: &str = "write it as 4096, 500M or 10G";
    let (number, unit) = split_unit(text).ok_or(FORM)?;
    let shift = match unit.trim_end_matches("iB").trim_end_matches('B') {
        "" => 0,
        "K" | "k" => 10,
        "M" => 20,
        "G" => 30,
        "T" => 40,
        _ => return Err(FORM.into()),
    };
    number.checked_mul(1 << shift).ok_or_else(|| "that is too large".into())
}

/// A whole number, and what follows it.
fn split_unit(text: &str) -> Option<(u64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    Some((text[..end].parse().ok()?, &text[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_and_sizes() {
        assert_eq!(parse_age("30d"), Ok(Duration::from_secs(30 * 86400)));
        assert!(
            parse_age("d").is_err()
                && parse_age("3y").is_err()
                && parse_age("99999999999999999999s").is_err()
        );
        assert_eq!(parse_size("10G"), Ok(10 << 30));
        assert_eq!(parse_size("1KiB"), Ok(1024));
        assert!(parse_size("10X").is_err() && parse_size("99999999999T").is_err());
    }
}
