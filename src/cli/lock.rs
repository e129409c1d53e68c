//! `lock`: pins what comes from outside. Fills in what is missing; only `--update` changes existing fields.

use std::process::ExitCode;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use schemars::JsonSchema;
use serde::Serialize;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::document::{Document, Documented};
use super::output::{exit_code, line, size};
use super::{Error, Printer, Result};
use crate::base::event::Event;
use crate::base::fs;
use crate::base::hint::{Hint as _, chain};
use crate::base::time::rfc3339;
use crate::openshift::config::Release;
use crate::openshift::lock::{Artifact, Lock, LockedRelease, Renewed, Rhcos, Signatures};
use crate::openshift::workspace::{
    BootImage, ClusterDir, Env, FetchedImage, LOCK, Workspace, WorkspaceError, fetch_boot_images,
    lock_is_behind, look_at_signatures, parse_lock, parse_release, pin_boot_images, pin_release,
    read_cluster, seed, this_second, used_own_keys, write_release,
};

/// Pin the release, the node OS and the epoch in cluster.lock
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tinderbox lock                               fills in what is missing
  tinderbox lock --update release=demo:4.19    writes it into cluster.yaml too; the next build is of that release
  tinderbox lock --update signatures           looks again, for example after signing or mirroring
  tinderbox lock --update epoch=2026-11-16T00:00:00Z
  tinderbox lock --update seed                 accepts another seed: the next build is another cluster
  tinderbox lock --fetch                       downloads the release's live ISO and QEMU image, and uses them
  tinderbox lock --fetch qcow2                 only the QEMU image, which `realize` then boots machines from
  tinderbox lock --fetch pxe                   kernel, initramfs and rootfs, for machines that boot from the network (`build pxe`)

A download goes into the store, where clusters share it; it is verified by sha256 and unpacked, and continues where it broke \
off. `rhcos.mirror` in cluster.yaml names another place for it. `--update rhcos` without `--fetch` goes back to pinning only.")]
pub(super) struct Args {
    /// Change what is pinned: `epoch`, `epoch=TIME`, `release`, `release=REFERENCE`, `rhcos`, `seed` or `signatures`
    #[arg(long, value_name = "FIELD[=VALUE]")]
    update: Vec<String>,
    /// Download pinned images of the node OS (default: live ISO and QEMU image), and use them
    #[arg(long, value_name = "IMAGE", num_args = 0..=1, default_missing_value = "all", value_parser = images())]
    fetch: Option<Images>,
}

/// The images that `--fetch` downloads.
#[derive(Debug, Clone)]
struct Images(Vec<BootImage>);

/// Images by name, which `--help` and completions list.
fn images() -> impl TypedValueParser<Value = Images> {
    PossibleValuesParser::new(["iso", "qcow2", "pxe", "all"]).map(|name| {
        Images(match name.as_str() {
            "pxe" => BootImage::PXE.to_vec(),
            "all" => vec![BootImage::Iso, BootImage::Qcow2],
            name => BootImage::ALL.into_iter().filter(|image| name == image.as_str()).collect(),
        })
    })
}

impl Documented for Args {
    const DOCUMENTS: &'static [Document] = &[Document::of::<Locked>()];
}

impl Args {
    pub(super) fn run(self, env: Env<'_>, printer: Printer<'_>) -> Result<ExitCode> {
        let mut done = lock(env, &self.update)?;
        if let Some(Images(images)) = self.fetch {
            done.fetched = fetch_boot_images(env, &images)?;
        }
        printer.answer(&done, || {
            if let Some(Renamed { from, to }) = &done.cluster_yaml {
                line(format!("cluster.yaml: release: {from} → {to}"));
            }
            show_moved(&done.moved);
            if done.seed_made {
                line("cluster.seed: created; back it up, and never commit it");
            }
            for doubt in &done.not_verified {
                line(doubt);
            }
            for FetchedImage { image, path, bytes, cached, .. } in &done.fetched {
                let there = if *cached { ", already there" } else { "" };
                line(format!("{}: {} ({}{there})", image.as_str(), path.display(), size(*bytes)));
            }
            let pinned = done.moved.is_empty() && done.cluster_yaml.is_none() && done.fetched.is_empty();
            match &done.behind {
                Some(Behind { problem, hint }) => {
                    line(format!("not pinned: {problem}"));
                    hint.iter().for_each(|hint| line(format!("  {hint}")));
                }
                None if pinned && !done.seed_made => line("everything is pinned"),
                None => {}
            }
        });
        Ok(exit_code(done.behind.is_none()))
    }
}

#[derive(Debug, Serialize, JsonSchema)]
struct Locked {
    moved: Vec<Moved>,
    seed_made: bool,
    /// What was seen of the release's signatures; none for the demo release.
    #[serde(skip_serializing_if = "Option::is_none")]
    signatures: Option<Signatures>,
    /// What that does not prove, in sentences.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    not_verified: Vec<String>,
    /// What cluster.yaml asks for, the lock does not pin, and only `--update` changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    behind: Option<Behind>,
    /// `release` of cluster.yaml, if it was edited.
    #[serde(skip_serializing_if = "Option::is_none")]
    cluster_yaml: Option<Renamed>,
    /// What `--fetch` was asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    fetched: Vec<FetchedImage>,
}

/// Why the next build refuses the lock.
#[derive(Debug, Serialize, JsonSchema)]
struct Behind {
    problem: String,
    hint: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Renamed {
    from: String,
    to: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Moved {
    field: String,
    /// None if it was missing.
    from: Option<String>,
    /// None if it was removed.
    to: Option<String>,
}

/// Old and new values of more characters than this have a line each.
const LONG: usize = 90;

pub(super) fn show_moved(fields: &[Moved]) {
    for Moved { field, from, to } in fields {
        match (from, to) {
            (Some(from), Some(to)) if from.len() + to.len() > LONG => {
                line(format!("{field}:"));
                line(format!("  from  {from}"));
                line(format!("  to    {to}"));
            }
            (Some(from), Some(to)) => line(format!("{field}: {from} → {to}")),
            (None, to) => line(format!("{field}: {}", to.as_deref().unwrap_or_default())),
            (Some(from), None) => line(format!("{field}: removed, was {from}")),
        }
    }
}

/// A field to update; without a value, to its current value outside.
enum Update {
    Epoch(OffsetDateTime),
    Release(Option<Release>),
    Rhcos,
    Seed,
    Signatures,
}

fn lock(env: Env<'_>, updates: &[String]) -> Result<Locked> {
    let directory = ClusterDir::open(env.directory)?;
    let updates = updates.iter().map(|update| parse_update(update)).collect::<Result<Vec<_>>>()?;
    let mut cluster = read_cluster(&directory)?;
    let before = parse_lock(&directory)?;
    let new_seed = updates.iter().any(|update| matches!(update, Update::Seed));
    let seed_made = ensure_seed(env, &directory, before.as_ref())?;
    let mut after = before.clone().unwrap_or_else(|| Lock::new(this_second()));
    let wants_signatures = updates.iter().any(|update| matches!(update, Update::Signatures));
    let wants_rhcos = updates.iter().any(|update| matches!(update, Update::Rhcos));
    let in_file = cluster.release.to_string();
    for update in updates {
        match update {
            Update::Epoch(epoch) => after.epoch = epoch,
            Update::Release(release) => {
                if let Some(release) = release {
                    cluster.release = release;
                }
                after.release = Some(pin_release(env, &directory, &cluster, cluster.release.clone())?);
            }
            Update::Rhcos | Update::Seed | Update::Signatures => {}
        }
    }
    let release = match after.release.take() {
        Some(release) => release,
        None => pin_release(env, &directory, &cluster, cluster.release.clone())?,
    };
    let moved_on = before.as_ref().and_then(|before| before.release.as_ref()) != Some(&release);
    let wants_signatures = moved_on
        || wants_signatures
        || !used_own_keys(&directory, &cluster, &release, after.signatures.as_ref())?;
    if wants_signatures || after.signatures.is_none() {
        after.signatures = match look_at_signatures(env, &directory, &cluster, &release) {
            // A lock of an earlier tinderbox, away from the registry: nobody asked to look.
            Err(WorkspaceError::Registry(error)) if !wants_signatures => {
                let text = format!("its signatures were not looked at: {}", chain(&error));
                env.events.emit(Event::Warning { text });
                None
            }
            seen => seen?,
        };
    }
    if moved_on {
        Workspace::load_release(env, &release)?.warn_beyond_tables(env)?;
    }
    if moved_on || wants_rhcos || after.rhcos == Rhcos::default() {
        let pinned = pin_boot_images(env, &release)?;
        after.rhcos = if wants_rhcos { pinned } else { pinned.keeping(&after.rhcos) };
    }
    after.release = Some(release);
    if let Some(seed) = seed::read_if_open(env, directory.path(), before.as_ref().filter(|_| !new_seed))? {
        after.seed = Some(seed.fingerprint());
    }
    // First: if we are interrupted before the lock is written, the next build says that it is behind.
    let to = cluster.release.to_string();
    let cluster_yaml = (in_file != to).then_some(Renamed { from: in_file, to });
    if cluster_yaml.is_some() {
        write_release(&directory, &cluster.release)?;
    }
    if before.as_ref() != Some(&after) {
        fs::replace(&directory.file(LOCK), after.encode().as_bytes(), 0o644)?;
    }
    let moved = moved(before.as_ref(), &after);
    let Lock { signatures, .. } = after;
    let not_verified = signatures.as_ref().map(Signatures::doubts).unwrap_or_default();
    let behind = lock_is_behind(&directory, &cluster)?
        .map(|error| Behind { problem: chain(&error), hint: error.hint() });
    Ok(Locked { moved, seed_made, signatures, not_verified, behind, cluster_yaml, fetched: Vec::new() })
}

/// Makes the first seed of a directory. Whether it did.
fn ensure_seed(env: Env<'_>, directory: &ClusterDir, lock: Option<&Lock>) -> Result<bool> {
    if seed::is_there(env, directory.path())? {
        return Ok(false);
    }
    if lock.is_some() {
        return Err(seed::lost(directory.path()).into());
    }
    seed::make(directory.path())?;
    Ok(true)
}

pub(super) fn moved(before: Option<&Lock>, after: &Lock) -> Vec<Moved> {
    fn fields(lock: &Lock) -> Vec<(String, String)> {
        let mut fields = vec![("epoch".to_owned(), rfc3339(lock.epoch))];
        fields.extend(lock.seed.map(|seed| ("seed".to_owned(), seed.to_string())));
        if let Some(LockedRelease { reference, image, version, architecture }) = &lock.release {
            fields.push(("release.reference".to_owned(), reference.clone()));
            fields.push(("release.version".to_owned(), version.clone()));
            fields.push(("release.image".to_owned(), image.clone()));
            fields.push(("release.architecture".to_owned(), architecture.clone()));
        }
        fields.extend(lock.rhcos.stream.clone().map(|stream| ("rhcos.stream".to_owned(), stream)));
        for (name, artifact) in lock.rhcos.images() {
            if let Some(Artifact { location, sha256, uncompressed: _, fetch: _ }) = artifact {
                fields.push((format!("rhcos.{name}"), format!("{location} sha256:{sha256}")));
            }
        }
        let signatures = lock.signatures.as_ref();
        fields.extend(signatures.map(|seen| ("signatures".to_owned(), seen.summary())));
        for (name, Renewed { epoch, generation }) in &lock.certificates {
            let epoch = epoch.map(|epoch| ("epoch", rfc3339(epoch)));
            let generation = generation.map(|generation| ("generation", generation.to_string()));
            let own = epoch.into_iter().chain(generation);
            fields.extend(own.map(|(field, value)| (format!("certificates.{name}.{field}"), value)));
        }
        fields
    }
    let old = before.map(fields).unwrap_or_default();
    let new = fields(after);
    let find = |list: &[(String, String)], field: &str| {
        list.iter().find(|(known, _)| known == field).map(|(_, value)| value.clone())
    };
    let gone = old.iter().filter(|(field, _)| find(&new, field).is_none());
    let names = new.iter().filter(|field| !old.contains(field)).chain(gone).map(|(field, _)| field);
    names
        .map(|field| Moved { field: field.clone(), from: find(&old, field), to: find(&new, field) })
        .collect()
}

fn parse_update(update: &str) -> Result<Update> {
    let (field, value) = update.split_once('=').map_or((update, None), |(field, value)| (field, Some(value)));
    let usage = |message: String, advice: &str| Err(Error::usage(message, advice));
    match (field, value) {
        ("epoch", None) => Ok(Update::Epoch(this_second())),
        ("epoch", Some(value)) => match OffsetDateTime::parse(value, &Rfc3339) {
            Ok(time) => {
                let time = time.replace_nanosecond(0).unwrap_or(time);
                Ok(Update::Epoch(time.to_offset(time::UtcOffset::UTC)))
            }
            Err(_) => usage(format!("`{update}` does not give a time"), "write epoch=2026-11-16T00:00:00Z"),
        },
        ("release", value) => Ok(Update::Release(value.map(parse_release).transpose()?)),
        ("rhcos", None) => Ok(Update::Rhcos),
        ("seed", None) => Ok(Update::Seed),
        ("signatures", None) => Ok(Update::Signatures),
        _ => usage(
            format!("`{field}` is not in the lock"),
            "the lock has `epoch`, `release`, `rhcos`, `seed` and `signatures`",
        ),
    }
}
