//! Whether a release is authentic: the signatures of its images, verified before anything is pinned.
//!
//! | image | must be signed by |
//! |---|---|
//! | release image | a key of `releaseKeys` in cluster.yaml, else one of `signing-keys.toml` |
//! | component | any of these, or a key of the release's own policy: the release image has its digest anyway |
//!
//! Of a multi-architecture image both the list and the image in it count for that: the list has the digest of the image. Nodes
//! are stricter. They pull the image for their architecture, and judge signatures of that manifest alone (containers/image,
//! copy/single.go). So what is recorded for them are the keys that signed it, and images of which only the list is signed
//! are recorded as such, and as unsigned.
//!
//! A signature that no such key made for this image is an error. No signature is an error only where the user pins keys:
//! test releases have none. Where there is no key, what was found is recorded and not judged.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use super::materials::COMPONENTS;
use super::{CLUSTER, ClusterDir, Env, Result, Workspace, WorkspaceError, parse_release};
use crate::base::event::Event;
use crate::base::fs;
use crate::base::hint::{Hint as _, Place, Problem, Problems};
use crate::base::pki::PublicKey;
use crate::base::yaml::{self, Source};
use crate::engine::registry::{
    Flaw, ImageName, Images, Instance, LAYOUT, Located, NameError, Platforms, Reference, RegistryError,
    Sha256, instances, signatures,
};
use crate::engine::store::{Object, StoreError};
use crate::openshift::config::{Cluster, Release};
use crate::openshift::image_policy::ImagePolicy;
use crate::openshift::lock::{LockedRelease, RELEASE, Signatures};

/// Images at a time: most of the work is waiting.
const WORKERS: usize = 8;

/// After how many images to report progress.
const EVERY: usize = 50;

/// A public key, and the names that its signatures count for.
#[derive(Debug, Clone)]
struct Key {
    /// For people.
    name: String,
    id: String,
    public: PublicKey,
    names: Names,
}

/// The names in signatures that count.
#[derive(Debug, Clone)]
enum Names {
    /// Whatever the user's own key signed is meant.
    Any,
    /// A tag or digest of the image's own repository: what nodes ask for.
    Own,
    /// The same; but an image that is not in one of these repositories may have been copied from them.
    Of(Vec<String>),
}

/// An image to look at.
struct Subject<'a> {
    /// As the release calls it.
    component: &'a str,
    /// As nodes know it.
    name: ImageName,
    digest: Sha256,
}

/// What was seen of one image.
struct Seen {
    /// Where it was looked at.
    place: String,
    /// Places that come first and do not have it, or could not be asked.
    without: Vec<String>,
    passed_over: Vec<String>,
    signatures: usize,
    /// Keys that signed it, or the list that it is in.
    by: BTreeSet<String>,
    /// Keys that signed the manifest that nodes pull.
    pulled_by: BTreeSet<String>,
}

/// Looks at images with the same keys.
struct Looking<'a> {
    images: &'a dyn Images,
    /// The layout that has them all, if it is one.
    layout: Option<&'a str>,
    architecture: &'a str,
    keys: &'a [Key],
    /// Whether a signature that none of the keys made is an error.
    judge: bool,
}

/// Looks at the signatures of a release, and fails if one is wrong. None for the demo release, which is part of this
/// program and not signed.
pub(crate) fn look(
    env: Env<'_>,
    directory: &ClusterDir,
    cluster: &Cluster,
    release: &LockedRelease,
) -> Result<Option<Signatures>> {
    if matches!(parse_release(&release.reference)?, Release::Demo { .. }) {
        // Not silently: who names keys wants to know who made the release.
        return match own_keys(directory, cluster)?.is_some_and(|keys| !keys.is_empty()) {
            true => Err(WorkspaceError::DemoKeys { reference: release.reference.clone() }),
            false => Ok(None),
        };
    }
    let workspace = Workspace::load_release(env, release)?;
    let images = workspace.opened()?.images.as_ref();
    let own = own_keys(directory, cluster)?;
    let known = known_keys(&workspace)?;
    let pinned = own.as_ref().unwrap_or(&known);
    let mut done = Signatures {
        keys: pinned.iter().map(|key| (key.name.clone(), key.id.clone())).collect(),
        ..Signatures::default()
    };
    // Before anything else: everything else comes out of this image.
    let subject = release_image(&workspace, release)?;
    let judge = !pinned.is_empty();
    let layout = &workspace.opened()?.name;
    let layout = (layout.registry == LAYOUT).then(|| place(layout));
    let looking = Looking {
        images,
        layout: layout.as_deref(),
        architecture: &release.architecture,
        keys: pinned,
        judge,
    };
    let Some(seen) = looking.see(&subject)? else {
        done.missing = 1;
        return Ok(Some(done));
    };
    if seen.signatures == 0 && own.as_ref().is_some_and(|keys| !keys.is_empty()) {
        let (image, place) = (subject.name.to_string(), seen.place);
        return Err(WorkspaceError::NotSigned { image, place });
    }
    done.release = seen.pulled_by.iter().cloned().collect();
    record(&mut done, RELEASE, &seen);

    let policies = policies(env, &workspace)?;
    let accepted = accepted_keys(&policies);
    // What nodes will accept says nothing about who made the release.
    if let Some(seen) = (Looking { keys: &accepted, judge: false, ..looking }).see(&subject)? {
        done.release.extend(seen.pulled_by);
        done.release.sort_unstable();
        done.release.dedup();
    }
    let all = own.as_ref().is_some_and(|keys| !keys.is_empty());
    let components = components(env, &workspace)?;
    let mut subjects = Vec::new();
    for (component, spec) in &components {
        let Ok(name) = spec.parse::<ImageName>() else { continue };
        let Reference::Digest(digest) = name.reference else { continue };
        if all || policies.iter().any(|policy| policy.covers(&place(&name))) {
            subjects.push(Subject { component, name, digest });
        }
    }
    let keys: Vec<Key> = own.iter().flatten().chain(&known).chain(&accepted).cloned().collect();
    for (component, seen) in (Looking { keys: &keys, ..looking }).see_all(env, &subjects)? {
        match seen {
            None => done.missing += 1,
            Some(seen) => {
                seen.pulled_by.iter().for_each(|id| *done.components.entry(id.clone()).or_default() += 1);
                record(&mut done, component, &seen);
            }
        }
    }
    Ok(Some(done))
}

/// Whether the user's own keys, if any, are those that a lock was verified with.
pub(crate) fn used_own_keys(
    directory: &ClusterDir,
    cluster: &Cluster,
    release: &LockedRelease,
    seen: Option<&Signatures>,
) -> Result<bool> {
    let Some(own) = own_keys(directory, cluster)? else { return Ok(true) };
    if matches!(parse_release(&release.reference)?, Release::Demo { .. }) {
        return Ok(own.is_empty());
    }
    let own: BTreeSet<&str> = own.iter().map(|key| key.id.as_str()).collect();
    Ok(seen.is_some_and(|seen| seen.keys.values().map(String::as_str).collect::<BTreeSet<_>>() == own))
}

fn record(done: &mut Signatures, component: &str, seen: &Seen) {
    let add = |places: &mut Vec<String>, place: String| {
        if !places.contains(&place) {
            places.push(place);
        }
    };
    done.images += 1;
    add(&mut done.places, seen.place.clone());
    for place in &seen.without {
        add(&mut done.without, place.clone());
    }
    for place in &seen.passed_over {
        add(&mut done.passed_over, place.clone());
    }
    match (seen.signatures, seen.by.is_empty()) {
        (0, _) => done.unsigned.push(component.to_owned()),
        (_, true) => done.unknown.push(component.to_owned()),
        (_, false) if seen.pulled_by.is_empty() => {
            done.only_lists.push(component.to_owned());
            done.unsigned.push(component.to_owned());
        }
        (_, false) => {}
    }
}

impl Looking<'_> {
    /// What there is of an image's signatures, and by whom; none if the image is nowhere.
    fn see(&self, subject: &Subject<'_>) -> Result<Option<Seen>> {
        let Subject { name, digest, .. } = subject;
        let platforms = Platforms::Only(self.architecture);
        let located = self.images.locate(name, digest);
        let found = located.and_then(|located| {
            let digests = instances(self.images, &located.name, digest, platforms)?;
            Ok((located, digests))
        });
        let (located, digests) = match found {
            Err(RegistryError::NotFound { .. } | RegistryError::Architecture { .. }) => return Ok(None),
            found => found?,
        };
        let Located { name: found, without, passed_over } = located;
        let at = self.layout.map_or_else(|| place(&found), str::to_owned);
        let (by, pulled_by) = (BTreeSet::new(), BTreeSet::new());
        let mut seen = Seen { place: at, without, passed_over, signatures: 0, by, pulled_by };
        for Instance { digest, is_list } in digests {
            let Some(image) = signatures(self.images, &found, &digest)? else { continue };
            let read = image.read(self.images)?;
            let mut flaws = BTreeSet::new();
            let mut by = BTreeSet::new();
            for signature in &read {
                for key in self.keys {
                    let verdict = signature.verify(&key.public, &digest);
                    match verdict.and_then(|identity| key.accepts(&place(name), identity)) {
                        Ok(()) => drop(by.insert(key.id.clone())),
                        Err(flaw) => drop(flaws.insert(flaw)),
                    }
                }
            }
            if self.judge && by.is_empty() {
                // Another key says nothing where a better reason is known.
                if flaws.len() > 1 {
                    flaws.remove(&Flaw::OtherKey);
                }
                let reasons: Vec<String> = flaws.iter().map(ToString::to_string).collect();
                return Err(WorkspaceError::WrongSignature {
                    image: format!("{}@{digest}", place(name)),
                    place: seen.place,
                    reason: match reasons.is_empty() {
                        true => "there is none in it".to_owned(),
                        false => reasons.join("; "),
                    },
                });
            }
            seen.signatures += read.len().max(1);
            if !is_list {
                seen.pulled_by.extend(by.iter().cloned());
            }
            seen.by.append(&mut by);
        }
        Ok(Some(seen))
    }

    /// The same for many images at a time, in their order. The first error ends it.
    fn see_all<'s>(&self, env: Env<'_>, subjects: &'s [Subject<'_>]) -> Result<Vec<(&'s str, Option<Seen>)>> {
        let (next, finished) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let results: Mutex<BTreeMap<usize, Result<Option<Seen>>>> = Mutex::default();
        let lock = || results.lock().unwrap_or_else(PoisonError::into_inner);
        std::thread::scope(|scope| {
            for _ in 0..WORKERS.min(subjects.len()) {
                scope.spawn(|| {
                    while let Some((at, subject)) = {
                        let at = next.fetch_add(1, Ordering::Relaxed);
                        subjects.get(at).map(|subject| (at, subject))
                    } {
                        let seen = self.see(subject);
                        if seen.is_err() {
                            next.store(subjects.len(), Ordering::Relaxed);
                        }
                        lock().insert(at, seen);
                        let done = finished.fetch_add(1, Ordering::Relaxed) + 1;
                        if done.is_multiple_of(EVERY) {
                            let seen = format!("{done} of {} images", subjects.len());
                            env.events.emit(Event::Awaiting { what: "signatures".into(), seen });
                        }
                    }
                });
            }
        });
        let results = std::mem::take(&mut *lock());
        results.into_iter().map(|(at, seen)| Ok((subjects[at].component, seen?))).collect()
    }
}

impl Key {
    /// Whether a signature under this name counts for an image of that repository.
    fn accepts(&self, repository: &str, identity: String) -> std::result::Result<(), Flaw> {
        let (signed, whole) = match (identity.split_once('@'), identity.rsplit_once(':')) {
            (Some((name, _)), _) => (name, true),
            (None, Some((name, tag))) if !tag.contains('/') => (name, true),
            _ => (identity.as_str(), false),
        };
        let counts = match &self.names {
            Names::Any => true,
            Names::Own => whole && signed == repository,
            Names::Of(known) => {
                let is_one = |name: &str| known.iter().any(|known| known == name);
                whole && if is_one(repository) { signed == repository } else { is_one(signed) }
            }
        };
        if counts { Ok(()) } else { Err(Flaw::OtherIdentity(identity)) }
    }
}

/// `registry/repository`; of a layout, `oci:DIR`.
fn place(name: &ImageName) -> String {
    let whole = name.to_string();
    let end = match &name.reference {
        Reference::Tag(tag) => tag.len() + 1,
        Reference::Digest(digest) => digest.to_string().len() + 1,
    };
    whole[..whole.len() - end].to_owned()
}

/// The release image as nodes know it.
fn release_image(workspace: &Workspace, release: &LockedRelease) -> Result<Subject<'static>> {
    let digest = release.image.split_once('@').map_or("", |(_, digest)| digest);
    let wrong = |error: NameError| RegistryError::Malformed {
        image: release.image.clone(),
        problem: error.reason.to_owned(),
    };
    let digest: Sha256 = digest.parse().map_err(wrong)?;
    // A layout's image may have no name in a registry.
    let name = release.image.parse().unwrap_or(workspace.opened()?.name.at(digest));
    Ok(Subject { component: RELEASE, name, digest })
}

/// The user's own keys; none if cluster.yaml leaves that to us.
fn own_keys(directory: &ClusterDir, cluster: &Cluster) -> Result<Option<Vec<Key>>> {
    let Some(files) = &cluster.release_keys else { return Ok(None) };
    let mut keys = Vec::new();
    let mut problems = Problems::default();
    for (index, file) in files.iter().enumerate() {
        let text = fs::read_text(&directory.file(file))?;
        match PublicKey::all_from_pem(&text) {
            Ok(found) => keys.extend(found.into_iter().map(|public| Key {
                name: file.clone(),
                id: public.fingerprint(),
                public,
                names: Names::Any,
            })),
            Err(error) => {
                let field = format!("releaseKeys.{index}");
                let place = Place { file: CLUSTER.into(), line: None, field };
                let problem = Problem::new(place, format!("`{file}`: {error}"));
                problems.push(match error.hint() {
                    Some(hint) => problem.hint(hint),
                    None => problem,
                });
            }
        }
    }
    Ok(problems.or(Some(keys))?)
}

/// The keys that sign releases of this kind.
fn known_keys(workspace: &Workspace) -> Result<Vec<Key>> {
    let rows = workspace.knowledge.signing_keys.get()?.select(workspace.release);
    Ok(rows
        .map(|row| Key {
            name: row.name.clone(),
            id: row.public().fingerprint(),
            public: row.public().clone(),
            names: Names::Of(row.repositories.clone()),
        })
        .collect())
}

/// The keys whose signatures nodes accept.
fn accepted_keys(policies: &[ImagePolicy]) -> Vec<Key> {
    let keys = policies.iter().flat_map(|policy| policy.keys.iter().map(move |key| (policy, key)));
    keys.map(|(policy, public)| Key {
        name: policy.name.clone(),
        id: public.fingerprint(),
        public: public.clone(),
        names: if policy.remaps { Names::Any } else { Names::Own },
    })
    .collect()
}

/// The release's own image policies.
fn policies(env: Env<'_>, workspace: &Workspace) -> Result<Vec<ImagePolicy>> {
    let Some(object) = built(env, workspace, POLICIES)? else { return Ok(Vec::new()) };
    let mut policies = Vec::new();
    for (file, _) in object.listing.leaves("") {
        let text = fs::read_text(&object.path.join(file))?;
        let documents = yaml::go_documents(Source { name: file, text: &text }, &mut Problems::default());
        policies.extend(documents.iter().filter_map(ImagePolicy::read));
    }
    Ok(policies)
}

/// The pull specs of all components.
fn components(env: Env<'_>, workspace: &Workspace) -> Result<BTreeMap<String, String>> {
    let Some(object) = built(env, workspace, COMPONENTS)? else { return Ok(BTreeMap::new()) };
    let path = object.path.join("images.json");
    let found = serde_json::from_str(&fs::read_text(&path)?);
    Ok(found.map_err(|source| StoreError::Unreadable { path, source })?)
}

/// The derivation with the release's policies.
const POLICIES: &str = "manifest/image-policies";

/// The output of a derivation; none if the user's own recipes do without it.
fn built(env: Env<'_>, workspace: &Workspace, target: &str) -> Result<Option<Object>> {
    let Some(at) = workspace.graph.find(target) else { return Ok(None) };
    let session = workspace.session(env)?;
    let outcome = workspace.build(env, &session, &[at])?;
    match outcome.done.get(&at) {
        Some(done) => Ok(Some(session.store().object(done.output.object)?)),
        None => Ok(None),
    }
}
