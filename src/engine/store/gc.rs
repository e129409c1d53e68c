//! Garbage collection: makes a plan, then executes exactly that plan.
//!
//! Live objects are those that a root names (the generations and last build of every cluster directory that exists, or
//! did so in the last thirty days) and those that a running session has claimed. The plan is made and executed under the exclusive gc lock;
//! trees are only renamed away under it and removed afterwards, so that builds wait for moments, not for the disk.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use schemars::JsonSchema;
use serde::Serialize;
use sha2::Digest as _;

use super::verify::{Finding, FindingKind};
use super::{DownloadFile, ObjectName, Result, Roots, Session, Store};
use crate::base::digest::{DrvId, ObjectId};
use crate::base::fs;
use crate::engine::registry::Sha256;

/// How long a cluster directory may be away (unmounted, renamed) before its generations are forgotten.
pub(crate) const MISSING_GRACE: Duration = Duration::from_secs(30 * 24 * 3600);

/// No download takes longer: older temporary files belong to dead processes.
const ABANDONED: Duration = Duration::from_secs(24 * 3600);

/// What to collect. The default removes everything that no root needs.
#[derive(Debug, Clone, Default)]
pub struct GcOptions {
    /// Forget all but this many generations of each cluster; the current generation always stays.
    pub keep_last: Option<usize>,
    /// Forget generations older than this, and keep unneeded objects that are younger.
    pub older_than: Option<Duration>,
    /// Remove unneeded objects, oldest first, only until the objects take at most this many bytes.
    pub max_size: Option<u64>,
    /// Forget cluster directories that do not exist at once, not after [`MISSING_GRACE`].
    pub forget_missing: bool,
    /// The reference time for ages.
    pub now: Option<SystemTime>,
}

/// What gc removes, and how much that frees.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct GcPlan {
    /// Cluster directories that no longer exist; their roots go too.
    pub gone: Vec<PathBuf>,
    /// Cluster directories that do not exist now, and for how many more days their generations are kept.
    pub missing: Vec<(PathBuf, u64)>,
    /// Generations to forget: cluster directory and number.
    pub generations: Vec<(PathBuf, u64)>,
    pub objects: Vec<Garbage>,
    /// Bytes freed, without files shared with live objects.
    pub freed: u64,
    /// Downloaded blobs to remove: they can be fetched again.
    pub blobs: usize,
    /// Downloaded files that no cluster needs.
    pub downloads: Vec<UnneededDownload>,
    pub kept: usize,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Garbage {
    pub name: String,
    /// Total size of its files.
    pub size: u64,
    #[serde(skip)]
    object: ObjectName,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct UnneededDownload {
    pub name: String,
    pub size: u64,
    #[serde(skip)]
    path: PathBuf,
}

impl Store {
    /// What gc would remove.
    pub fn plan_gc(&self, options: &GcOptions) -> Result<GcPlan> {
        let _exclusive = self.lock_gc()?;
        self.plan(options)
    }

    /// Removes what [`Store::plan_gc`] lists, and returns the plan.
    pub fn gc(&self, options: &GcOptions) -> Result<GcPlan> {
        let session = Session::open(self, None)?;
        let exclusive = self.lock_gc()?;
        let plan = self.plan(options)?;
        for roots in self.all_roots()? {
            if roots.is_known() && plan.gone.contains(&roots.directory) {
                roots.forget_all()?;
                continue;
            }
            let since = self.missing_since(&roots, options)?;
            if since.is_some() || roots.missing_since().is_some() {
                roots.note_missing(&session, since)?;
            }
            for (_, number) in plan.generations.iter().filter(|(directory, _)| *directory == roots.directory)
            {
                roots.forget(*number)?;
            }
        }
        let kept = self.kept_after(&plan)?;
        // References go before their objects: killed at any point, no dangling reference is left.
        self.drop_realisations(&kept)?;
        for garbage in &plan.objects {
            match kept.contains(&garbage.object.id) {
                false => session.retire(&garbage.object)?,
                true => session.discard(&self.path_of(&garbage.object))?, // a duplicate directory of the same content
            }
        }
        self.drop_manifests(&kept)?;
        for blob in self.old_blobs(options)? {
            fs::remove_file(&blob)?; // open readers keep it
        }
        for download in &plan.downloads {
            fs::optional(fs::remove_file(&download.path))?;
        }
        drop(exclusive);
        drop(session); // removes the trees
        self.drop_links()?;
        Ok(plan)
    }

    fn plan(&self, options: &GcOptions) -> Result<GcPlan> {
        let now = options.now.unwrap_or(SystemTime::UNIX_EPOCH);
        let mut plan = GcPlan::default();
        let mut live: BTreeSet<ObjectId> = self.claimed()?.into_iter().collect();
        let mut needed = BTreeSet::new();
        for roots in self.all_roots()? {
            if let Some(since) = self.missing_since(&roots, options)? {
                let left = (since + MISSING_GRACE.as_secs()).saturating_sub(seconds(now));
                if options.forget_missing || left == 0 {
                    plan.gone.push(roots.directory.clone());
                    continue;
                }
                plan.missing.push((roots.directory.clone(), left.div_ceil(24 * 3600)));
            }
            let forgotten = forgettable(&roots, options, now)?;
            live.extend(roots.objects(&forgotten)?);
            needed.extend(roots.downloads()?);
            plan.generations.extend(forgotten.into_iter().map(|number| (roots.directory.clone(), number)));
        }
        let mut dead = Vec::new();
        let (mut total, mut kept) = (0, 0);
        for name in self.objects()? {
            let (size, age) = self.size_and_age(&name, now)?;
            total += size;
            let young = options.older_than.is_some_and(|limit| age < limit);
            if live.contains(&name.id) || young {
                kept += 1;
            } else {
                dead.push((age, Garbage { name: name.to_string(), size, object: name }));
            }
        }
        dead.sort_by(|(one, a), (other, b)| other.cmp(one).then_with(|| a.name.cmp(&b.name)));
        for (_, garbage) in dead {
            if options.max_size.is_some_and(|limit| total <= limit) {
                kept += 1;
                continue;
            }
            total -= garbage.size;
            plan.objects.push(garbage);
        }
        let blobs = self.old_blobs(options)?;
        let sizes = blobs.iter().map(|blob| Ok(fs::metadata(blob)?.len()));
        plan.blobs = blobs.len();
        plan.kept = kept;
        plan.downloads = self.unneeded_downloads(&needed, options)?.into_iter().map(unneeded).collect();
        let downloads: u64 = plan.downloads.iter().map(|download| download.size).sum();
        plan.freed = self.freed(&plan.objects)? + sizes.sum::<Result<u64>>()? + downloads;
        Ok(plan)
    }

    /// Since when the cluster directory of these roots is away; none if it exists, or nobody can say where it is.
    fn missing_since(&self, roots: &Roots, options: &GcOptions) -> Result<Option<u64>> {
        if !roots.is_known() || fs::exists(&roots.directory)? {
            return Ok(None);
        }
        let now = seconds(options.now.unwrap_or(SystemTime::UNIX_EPOCH));
        // A clock that was set back does not make it longer.
        Ok(Some(roots.missing_since().map_or(now, |since| since.min(now))))
    }

    /// The cache of downloaded blobs, shared by releases with common layers.
    pub fn blobs(&self) -> PathBuf {
        self.part("blobs")
    }

    /// Blobs whose content is not what their name says.
    pub(super) fn bad_blobs(&self) -> Result<Vec<Finding>> {
        let mut findings = Vec::new();
        for name in self.names_in("blobs/sha256") {
            let path = self.blobs().join("sha256").join(&name);
            let Some(wanted) = name.to_str().and_then(|name| format!("sha256:{name}").parse::<Sha256>().ok())
            else {
                continue;
            };
            // One of another kind is a defect of the layout.
            let Ok(hasher) = fs::hash_until(&path, &self.cancel) else { continue };
            if Sha256::from_bytes(hasher.finalize().into()) != wanted {
                let detail = "its content does not match its name".to_owned();
                findings.push(Finding { path, kind: FindingKind::Changed, detail, object: None });
            }
        }
        Ok(findings)
    }

    /// Downloaded blobs to remove: all, or those that are old enough; and leftovers of killed downloads.
    fn old_blobs(&self, options: &GcOptions) -> Result<Vec<PathBuf>> {
        let mut old = self.blobs_older_than(options, "sha256", options.older_than)?;
        old.append(&mut self.blobs_older_than(options, "tmp", Some(ABANDONED))?);
        Ok(old)
    }

    fn blobs_older_than(
        &self,
        options: &GcOptions,
        part: &str,
        limit: Option<Duration>,
    ) -> Result<Vec<PathBuf>> {
        let now = options.now.unwrap_or(SystemTime::UNIX_EPOCH);
        let mut old = Vec::new();
        let kept = self.blobs().join(part);
        for name in fs::optional(fs::list(&kept))?.unwrap_or_default() {
            let path = kept.join(name);
            let Some(found) = fs::optional(fs::metadata(&path))?.filter(|found| found.is_file()) else {
                continue;
            };
            let age =
                found.modified().ok().and_then(|time| now.duration_since(time).ok()).unwrap_or_default();
            if limit.is_none_or(|limit| age >= limit) {
                old.push(path);
            }
        }
        Ok(old)
    }

    /// Size of an object and the time since it was published.
    fn size_and_age(&self, name: &ObjectName, now: SystemTime) -> Result<(u64, Duration)> {
        // A damaged listing must not stop gc: an unreadable object counts as empty and old.
        let size = self.object(name.id).map_or(0, |object| object.listing.size());
        let time =
            fs::optional(fs::metadata(&self.manifest_path(name.id)))?.and_then(|found| found.modified().ok());
        let age = time.and_then(|time| now.duration_since(time).ok()).unwrap_or_default();
        Ok((size, age))
    }

    /// Bytes whose last user is to be removed.
    fn freed(&self, garbage: &[Garbage]) -> Result<u64> {
        let mut inodes: BTreeMap<u64, (u64, u64, u64)> = BTreeMap::new(); // links, links to remove, bytes
        for garbage in garbage {
            visit(&self.path_of(&garbage.object), &mut |found| {
                let entry = inodes.entry(found.ino()).or_insert((found.nlink(), 0, found.len()));
                entry.1 += 1;
            })?;
        }
        // The extra link is the one in `links/`, which goes with the last user.
        Ok(inodes.values().filter(|(there, gone, _)| gone + 1 >= *there).map(|(_, _, size)| size).sum())
    }

    /// Ids that still have a directory after the plan is executed.
    fn kept_after(&self, plan: &GcPlan) -> Result<BTreeSet<ObjectId>> {
        let garbage: BTreeSet<&ObjectName> = plan.objects.iter().map(|garbage| &garbage.object).collect();
        Ok(self.objects()?.into_iter().filter(|name| !garbage.contains(name)).map(|name| name.id).collect())
    }

    /// Drops realisations without any object left. (Keys are small, and a seed would write its own again.)
    fn drop_realisations(&self, kept: &BTreeSet<ObjectId>) -> Result<()> {
        for drv in self.realised()? {
            let outputs = self.realisation(drv)?.map(|found| found.outputs).unwrap_or_default();
            if !outputs.iter().any(|output| kept.contains(&output.object)) {
                fs::remove_file(&self.realisation_path(drv))?;
            }
        }
        for name in fs::optional(fs::list(&self.part("logs")))?.unwrap_or_default() {
            let drv = name.to_str().and_then(|name| name.parse::<DrvId>().ok());
            if !matches!(drv.map(|drv| self.realisation(drv)).transpose()?, Some(Some(_))) {
                fs::remove_file(&self.part("logs").join(name))?;
            }
        }
        Ok(())
    }

    /// Drops manifests whose object does not exist.
    fn drop_manifests(&self, kept: &BTreeSet<ObjectId>) -> Result<()> {
        for name in fs::list(&self.part("manifests"))? {
            let id = name.to_str().and_then(|name| name.parse::<ObjectId>().ok());
            if let Some(id) = id.filter(|id| !kept.contains(id)) {
                fs::remove_file(&self.manifest_path(id))?;
            }
        }
        Ok(())
    }

    /// Drops file contents that no object uses any more.
    fn drop_links(&self) -> Result<()> {
        let _exclusive = self.lock_gc()?; // no session may link to them now
        for name in fs::list(&self.part("links"))? {
            let path = self.part("links").join(name);
            if fs::optional(fs::metadata(&path))?.is_some_and(|found| found.nlink() == 1) {
                fs::remove_file(&path)?;
            }
        }
        Ok(())
    }
}

fn unneeded(DownloadFile { path, bytes, .. }: DownloadFile) -> UnneededDownload {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    UnneededDownload { name, size: bytes, path }
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Generations that the options let go; never the current one.
fn forgettable(roots: &Roots, options: &GcOptions, now: SystemTime) -> Result<Vec<u64>> {
    let current = roots.current()?;
    let numbers = roots.numbers()?;
    let newest = options.keep_last.map(|keep| &numbers[numbers.len().saturating_sub(keep)..]);
    let mut forgotten = Vec::new();
    for number in numbers.iter().filter(|number| Some(**number) != current) {
        let surplus = newest.is_some_and(|newest| !newest.contains(number));
        let made = fs::metadata(&roots.generation_path(*number))?.modified().ok();
        let age = made.and_then(|made| now.duration_since(made).ok()).unwrap_or_default();
        if surplus || options.older_than.is_some_and(|limit| age >= limit) {
            forgotten.push(*number);
        }
    }
    Ok(forgotten)
}

/// Calls `see` for every file below `path`.
fn visit(path: &Path, see: &mut impl FnMut(&std::fs::Metadata)) -> Result<()> {
    let found = fs::metadata(path)?;
    if !found.is_dir() {
        see(&found);
        return Ok(());
    }
    fs::list(path)?.iter().try_for_each(|name| visit(&path.join(name), see))
}
