//! The other side: builds one derivation from its input tree, and nothing else. It has no store, no configuration and no network of
//! its own, and needs nothing of the machine but its kernel.
//!
//! Programs run in the sandbox here as everywhere, or not at all: what isolation there is goes into the report.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use zeroize::Zeroizing;

use super::description::{DescribedInput, Description, Report};
use super::farm::{OUTPUT, REPORT};
use super::input::{DESCRIPTION, PROGRAM};
use crate::base::cancel::Cancel;
use crate::base::fs;
use crate::base::hint::Hint;
use crate::base::secret::IdKey;
use crate::engine::builders::{BuildError, Builder, Builders, InputTree, Job, Notes, Said, SandboxRunner};
use crate::engine::cache::write_all;
use crate::engine::sandbox::Sandbox;
use crate::engine::tree::{EntryKind, Hashing, Listing, TreeError, TreeWriter};

/// Why a worker built nothing.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WorkerError {
    #[error("this is not the input tree of an action: {problem}")]
    Input { problem: String },
    #[error("the derivation cannot be built")]
    Build(#[from] BuildError),
    #[error(transparent)]
    Tree(#[from] TreeError),
    #[error(transparent)]
    Fs(#[from] fs::Error),
    #[error("the output cannot be packed")]
    Pack(#[source] std::io::Error),
}

impl Hint for WorkerError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Input { .. } => {
                Some("`tinderbox build` sends such trees to the farms that `builders` names".into())
            }
            Self::Build(error) => error.hint(),
            Self::Tree(error) => error.hint(),
            Self::Fs(error) => error.hint(),
            Self::Pack(_) => None,
        }
    }
}

type Result<T, E = WorkerError> = std::result::Result<T, E>;

fn wrong(problem: impl Into<String>) -> WorkerError {
    WorkerError::Input { problem: problem.into() }
}

/// Builds the derivation that the input tree in `root` describes, and leaves output and report there.
pub(crate) fn run(root: &Path, builders: Builders, cancel: &Cancel) -> Result<()> {
    let root = &fs::canonical(root)?;
    let bytes = Zeroizing::new(fs::read(&root.join(DESCRIPTION))?);
    let description = Description::parse(&bytes).map_err(wrong)?;
    let id = description.builder().map_err(wrong)?;
    let builder = builders.find(&id.kind).filter(|known| known.id() == id);
    let builder = builder.ok_or_else(|| wrong(format!("there is no builder {id} here")))?;
    let work = root.join("out/work");
    fs::create_dirs(&work)?;
    let done = build(root, &work, &description, builder, cancel);
    fs::remove_all(&work)?; // servers may look for outputs everywhere
    done
}

fn build(
    root: &Path,
    work: &Path,
    description: &Description,
    builder: &dyn Builder,
    cancel: &Cancel,
) -> Result<()> {
    let (params, secrets) = (description.params().map_err(wrong)?, description.secrets().map_err(wrong)?);
    let mut listings = BTreeMap::new();
    for (alias, described) in &description.inputs {
        listings.insert(
            alias.clone(),
            Listing::parse(&described.listing).map_err(|error| wrong(error.to_string()))?,
        );
    }
    if !description.is_what_it_says(&listings).map_err(wrong)? {
        return Err(wrong("it describes another derivation than it says"));
    }
    let mut inputs = BTreeMap::new();
    for (at, ((alias, described), listing)) in
        description.inputs.iter().zip(listings.into_values()).enumerate()
    {
        let tree = input(
            &root.join("inputs").join(at.to_string()),
            &work.join(format!("input-{at}")),
            described,
            listing,
        )?;
        inputs.insert(alias.clone(), tree);
    }
    let tainted =
        !secrets.is_empty() || inputs.values().any(|tree| tree.entry().is_some_and(|entry| entry.secret));
    let sandbox = Sandbox::default().interpreting(Some(root.join("bin").join(PROGRAM)));
    let job = Job {
        aliases: &description.aliases,
        inputs,
        params: &params,
        secrets: &secrets,
        images: None,
        files: None,
        seed: None,
        programs: builder.grants().programs.then_some(SandboxRunner { sandbox: &sandbox, cancel }),
        notes: Notes::default(),
    };
    let secret = builder.hides(&job, tainted);
    // Ids of what is secret mean nothing here: who has the seed makes them.
    let key = IdKey::from_seed(&[0; 32]);
    fs::create_dir(&work.join("output"), 0o700)?;
    let tree = TreeWriter::create(work.join("output/tree"), Hashing(Some(&key)), secret)?;
    builder.build(&job, &tree)?;
    let written = tree.finish()?;
    let Said { programs, warnings } = job.notes.take();
    let (isolation, log) = programs.map(|note| (note.isolation.to_owned(), note.log)).unzip();
    let report = Report {
        object: (!tainted && !written.listing.root().secret).then(|| written.listing.id()),
        size: written.listing.size(),
        entries: written.listing.entries().count() as u64,
        isolation,
        log,
        warnings,
        ..Report::new(description.drv)
    };
    let mut output = write_all(fs::create_new(&root.join(OUTPUT), 0o600)?, &written.root, &written.listing)
        .map_err(WorkerError::Pack)?;
    output.flush().map_err(WorkerError::Pack)?;
    let report = serde_json::to_vec(&report).map_err(|error| WorkerError::Pack(error.into()))?;
    Ok(fs::write_new(&root.join(REPORT), &report, 0o600)?)
}

/// An input where the server put it; anew, where its links are missing.
fn input(place: &Path, anew: &Path, described: &DescribedInput, listing: Listing) -> Result<InputTree> {
    let missing = |(path, entry): (&str, &crate::engine::tree::TreeEntry)| {
        matches!(entry.kind, EntryKind::Link { .. })
            && !fs::metadata(&place.join(path)).is_ok_and(|found| found.is_symlink())
    };
    let root: PathBuf = match listing.leaves("").any(missing) {
        true => {
            with_links(place, anew, &listing)?;
            anew.to_owned()
        }
        false => place.to_owned(),
    };
    Ok(InputTree {
        root,
        listing: Some(Arc::new(listing)),
        path: described.path.clone(),
        derivation: described.from.clone(),
    })
}

fn with_links(from: &Path, to: &Path, listing: &Listing) -> Result<()> {
    for (path, entry) in listing.entries() {
        let (from, to) = (from.join(path), to.join(path));
        match &entry.kind {
            EntryKind::Dir => fs::create_dir(&to, 0o755)?,
            EntryKind::Link { target } => fs::symlink(Path::new(target), &to)?,
            EntryKind::File { .. } => {
                if fs::hard_link(&from, &to).is_err() {
                    fs::copy_new(&from, &to, entry.mode())?; // of another file system
                }
            }
        }
    }
    Ok(())
}
