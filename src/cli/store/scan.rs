//! `store scan`: proves that secrets stay where they belong. Reads everything, changes nothing.

use std::path::PathBuf;
use std::process::ExitCode;

use crate::base::fs;
use crate::base::secret::Secret;
use crate::cli::document::{Document, Documented};
use crate::cli::output::{Colour, count, exit_code, line, size, stdout_paint};
use crate::cli::{Error, Printer, Result};
use crate::engine::store::{Encoding, KnownSecret, Scan, ScanPaths};
use crate::openshift::workspace::{
    CLUSTER, ClusterDir, Env, LOCK, RESULT, SEALED, WorkspaceError, read_cluster, seed,
};

/// Search everything that is not secret for secrets, and name every place
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tinderbox store scan                     the store, cluster.lock, cluster.yaml, result/
  tinderbox store scan events.jsonl site/  and these

Searches for private keys, passwords, tokens, the pull secret and the seed: as they are, in base64 (also twice), hex, \
URL encoding and JSON strings. What is compressed (image layers) is not opened. Values are never shown.
Exit codes: 0 clean, 1 something was found or could not be read.")]
pub(crate) struct Args {
    /// More to search: event files, logs, directories to be published
    paths: Vec<PathBuf>,
}

impl Documented for Args {
    const DOCUMENTS: &'static [Document] = &[Document::of::<Scan>()];
}

impl Args {
    pub(super) fn run(self, env: Env<'_>, printer: Printer<'_>) -> Result<ExitCode> {
        let found = scan(env, &self.paths)?;
        printer.answer(&found, || show(&found));
        Ok(exit_code(found.is_clean()))
    }
}

fn show(found: &Scan) {
    for hit in &found.hits {
        let form = match hit.encoding {
            Encoding::Plain => "",
            Encoding::Base64 => ", in base64",
            Encoding::Base64Twice => ", in base64 of base64",
            Encoding::Hex => ", in hex",
            Encoding::Percent => ", URL-encoded",
            Encoding::Json => ", as a JSON string",
        };
        let word = stdout_paint("secret", Colour::Red);
        line(format!("{word} {}: byte {}: {}{form}", hit.path.display(), hit.offset, hit.secret));
    }
    for unread in &found.unread {
        let word = stdout_paint("unread", Colour::Red);
        line(format!("{word} {}: {}", unread.path.display(), unread.reason));
    }
    if !found.too_large.is_empty() {
        let files = found.too_large.join(", ");
        line(format!(
            "too large to be split into single secrets, and searched for only where others contain them too: {files}"
        ));
    }
    let hits = match (found.hits.len(), found.unread.len()) {
        (0, 0) => "clean".to_owned(),
        (0, unread) => format!("{unread} could not be read"),
        (1, _) => "1 leak".to_owned(),
        (hits, _) => format!("{hits} leaks"),
    };
    line(format!(
        "{}, {}, searched for {}: {hits}",
        count(found.files, "file"),
        size(found.bytes),
        count(found.secrets, "secret")
    ));
}

/// Searches the store, the cluster directory's public files and `more` for all known secrets: those in the store, and
/// the seed and pull secret of the cluster directory, if it is one.
fn scan(env: Env<'_>, more: &[PathBuf]) -> Result<Scan> {
    let store = super::open(env)?;
    for path in more {
        fs::metadata(path)?; // named paths must exist
    }
    let mut known = Vec::new();
    let mut paths = ScanPaths { public: more.to_vec(), mixed: Vec::new() };
    match ClusterDir::open(env.directory) {
        Ok(directory) => {
            known = self::known(env, &directory)?;
            paths.public.extend([CLUSTER, LOCK, SEALED, ".gitignore"].map(|name| directory.file(name)));
            // It points into a store: this one, which is searched anyway, or another.
            let result = fs::optional(fs::canonical(&directory.file(RESULT)))?;
            paths.mixed.extend(result.filter(|result| !result.starts_with(store.root())));
        }
        Err(WorkspaceError::NotACluster { .. }) => {}
        Err(error) => return Err(error.into()),
    }
    store.scan(&known, &paths, env.cancel)?.ok_or(Error::Stopped)
}

/// The secrets of a cluster directory: its pull secret and its seed.
pub(in crate::cli) fn known(env: Env<'_>, directory: &ClusterDir) -> Result<Vec<KnownSecret>> {
    let pull_secret = read_cluster(directory)?.pull_secret;
    let mut known = vec![KnownSecret { name: "the pull secret".into(), value: pull_secret, whole: false }];
    if let Some(seed) = seed::read(env, directory.path(), None)? {
        let value = Secret::new(seed.reveal().to_vec());
        known.push(KnownSecret { name: "the cluster's seed".into(), value, whole: true });
    }
    Ok(known)
}
