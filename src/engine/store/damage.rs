//! Any single damage of any file or directory of a small store, in every way: `verify` names it, one repair heals it or says
//! what is lost, and nothing waits or panics. `store::damage` of the integration tests does the same with the program and a
//! real store.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;

use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::*;
use crate::base::digest::{Digest, DrvId};
use crate::base::secret::IdKey;
use crate::engine::drv::Explanation;
use crate::engine::registry::Sha256;

fn drv(name: &str) -> DrvId {
    Digest::of(name.as_bytes()).to_string().parse().unwrap()
}

/// Builds the names that are not built yet, as a build of this cluster directory does; `cluster` holds what tells generations
/// apart.
fn build(store: &Store, cluster: &Path, content: &str) {
    let session = Session::open(store, Some(IdKey::from_seed(&[7; 32]))).unwrap();
    let mut names = BTreeMap::new();
    for (name, text) in [("leaf", "the same"), ("secret", "hidden"), ("cluster", content)] {
        let drv = drv(&format!("{name} {text}"));
        let known = store.realisation(drv).unwrap().and_then(|found| {
            let output = found.outputs.first()?.clone();
            store.find(output.object, &output.name).unwrap().map(|_| output)
        });
        let output = known.unwrap_or_else(|| make(&session, drv, name, text));
        names.insert(name.to_owned(), Named { drv, object: output.object, before: None });
    }
    let roots = store.roots_of(cluster);
    let state = Digest::of(content.as_bytes());
    if !roots.is_recorded(state).unwrap() {
        roots.set_record(&session, &Record { names: names.clone() }, state).unwrap();
    }
    roots.keep_downloads(&session, &BTreeSet::from([Sha256::of(b"download")])).unwrap();
    roots.advance(&session, names["cluster"].object, "2026-01-01T00:00:00Z", &names).unwrap();
}

fn make(session: &Session, drv: DrvId, name: &str, text: &str) -> Output {
    let tree = session.stage(name == "secret").unwrap();
    tree.write("own/file", text.as_bytes(), false).unwrap();
    tree.write("shared", b"the same in every object", true).unwrap();
    tree.write_secret("hidden", text.as_bytes(), false).unwrap();
    tree.write("empty", b"", false).unwrap();
    tree.link("link", "shared").unwrap();
    let staged = session.finish(tree, name).unwrap();
    let output = session.publish(&staged).unwrap();
    let trace = Trace {
        label: name.to_owned(),
        inputs: BTreeMap::new(),
        identity: Explanation::default(),
        time: "2026-01-01T00:00:00Z".to_owned(),
        milliseconds: 1,
        isolation: Some("none".to_owned()),
        substituted: None,
        executor: None,
    };
    session.keep_log(drv, "it said\nthis").unwrap();
    session.record(drv, &output, &trace).unwrap();
    output
}

/// A store with everything that a store can have.
fn whole(root: &Path, cluster: &Path) -> Store {
    fs::create_dirs(cluster).unwrap();
    let store = Store::open_or_create(root).unwrap();
    build(&store, cluster, "first");
    build(&store, cluster, "second");
    for (dir, text) in [(store.downloads_dir(), "download"), (store.blobs().join("sha256"), "blob")] {
        fs::create_dirs(&dir).unwrap();
        fs::write_new(&dir.join(Sha256::of(text.as_bytes()).hex()), text.as_bytes(), 0o644).unwrap();
    }
    fs::create_dirs(&store.blobs().join("tmp")).unwrap();
    let session = Session::open(&store, None).unwrap();
    store.roots_of(cluster).note_missing(&session, Some(17)).unwrap();
    drop(session);
    store
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Damage {
    Empty,
    Shorten,
    Flip,
    Garbage,
    Delete,
    Directory,
    Pipe,
    Socket,
    LinkToZero,
    LinkElsewhere,
    NoMode,
    Foreign,
}

const FILE: [Damage; 11] = [
    Damage::Empty,
    Damage::Shorten,
    Damage::Flip,
    Damage::Garbage,
    Damage::Delete,
    Damage::Directory,
    Damage::Pipe,
    Damage::Socket,
    Damage::LinkToZero,
    Damage::LinkElsewhere,
    Damage::NoMode,
];
const DIRECTORY: [Damage; 7] = [
    Damage::Delete,
    Damage::Pipe,
    Damage::Socket,
    Damage::LinkToZero,
    Damage::LinkElsewhere,
    Damage::NoMode,
    Damage::Foreign,
];

impl Damage {
    /// Damages a path; false if that changes nothing.
    fn inflict(self, path: &Path, elsewhere: &Path) -> bool {
        let found = fs::metadata(path).unwrap();
        let parent = path.parent().unwrap();
        let mode = fs::metadata(parent).unwrap().mode() & 0o7777;
        fs::set_mode(parent, 0o700).unwrap();
        let node = |kind| {
            fs::remove_all(path).unwrap();
            mknodat(CWD, path, kind, Mode::from_raw_mode(0o644), 0).unwrap();
        };
        let write = |bytes: &[u8]| {
            fs::set_mode(path, 0o600).unwrap();
            fs::create_or_truncate(path).unwrap().write_all(bytes).unwrap();
            fs::set_mode(path, found.mode() & 0o7777).unwrap();
        };
        let bytes = || if found.is_file() { fs::read(path).unwrap() } else { Vec::new() };
        let changed = match self {
            Self::Empty | Self::Shorten | Self::Flip | Self::Garbage if found.is_symlink() => false,
            Self::Empty | Self::Shorten | Self::Flip if found.len() == 0 => false,
            Self::Empty => (write(b""), true).1,
            Self::Shorten => (write(&bytes()[..bytes().len() / 2]), true).1,
            Self::Flip => {
                let mut bytes = bytes();
                let at = bytes.len() / 2;
                bytes[at] ^= 1;
                write(&bytes);
                true
            }
            Self::Garbage => (write(b"garbage\n"), true).1,
            Self::Delete => (fs::remove_all(path).unwrap(), true).1,
            Self::Directory => {
                fs::remove_all(path).unwrap();
                fs::create_dirs(&path.join("inside")).unwrap();
                true
            }
            Self::Pipe => (node(FileType::Fifo), true).1,
            Self::Socket => (node(FileType::Socket), true).1,
            Self::LinkToZero | Self::LinkElsewhere => {
                fs::remove_all(path).unwrap();
                let target = if self == Self::LinkToZero { Path::new("/dev/zero") } else { elsewhere };
                fs::symlink(target, path).unwrap();
                true
            }
            Self::NoMode => !found.is_symlink() && (fs::set_mode(path, 0), true).1,
            Self::Foreign => {
                fs::set_mode(path, 0o700).unwrap();
                fs::write_new(&path.join("foreign"), b"mine", 0o644).unwrap();
                fs::set_mode(path, found.mode() & 0o7777).unwrap();
                true
            }
        };
        if fs::exists(parent).unwrap() {
            fs::set_mode(parent, mode).unwrap();
        }
        changed
    }
}

/// Every path of the store, itself excepted.
fn paths(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![root.to_owned()];
    while let Some(dir) = open.pop() {
        for (name, is_dir) in fs::list_kinds(&dir).unwrap_or_default() {
            let path = dir.join(name);
            if is_dir {
                open.push(path.clone());
            }
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Absences, and what is in `tmp`, that `verify` need not name; see `layout`.
fn is_harmless(below: &str, damage: Damage) -> bool {
    let parts: Vec<&str> = below.split('/').collect();
    matches!(
        (parts.as_slice(), damage),
        ([".tinderbox", "tmp", ..], Damage::Foreign)
            | ([".tinderbox", "blobs", "tmp", ..], Damage::Delete | Damage::Foreign)
            | ([".tinderbox", "realisations" | "links" | "logs" | "locks", _], Damage::Delete)
            | ([".tinderbox", "logs" | "blobs" | "downloads", ..], Damage::Delete)
            | ([".tinderbox", "roots", _], Damage::Delete)
            | ([".tinderbox", "roots", _, "state" | "current" | "downloads" | "missing"], Damage::Delete)
            | ([".tinderbox", "roots", _, "generations", "1.json"], Damage::Delete)
    )
}

#[test]
fn every_damage_of_every_path_is_named_and_healed() {
    let dir = tempfile::tempdir().unwrap();
    let (pattern, cluster) = (dir.path().join("pattern"), dir.path().join("cluster"));
    let elsewhere = dir.path().join("elsewhere");
    fs::write_new(&elsewhere, b"of the host", 0o640).unwrap();
    let below: Vec<PathBuf> = {
        let store = whole(&pattern, &cluster);
        assert_eq!(store.verify().unwrap().findings, []);
        paths(&pattern).iter().map(|path| path.strip_prefix(store.root()).unwrap().to_owned()).collect()
    };
    let mut tried = 0;
    let mut bad = Vec::new();
    let root = dir.path().join("store");
    let was: Vec<PathBuf> = below.iter().map(|path| root.join(path)).collect();
    for path in &below {
        let is_dir = fs::metadata(&pattern.join(path)).unwrap().is_dir();
        for damage in if is_dir { DIRECTORY.as_slice() } else { FILE.as_slice() } {
            // What a repair brought back completely is used again.
            let store = match paths(&root) == was {
                true => Store::open(&root).unwrap(),
                false => (fs::remove_all(&root).unwrap(), whole(&root, &cluster)).1,
            };
            if !damage.inflict(&root.join(path), &elsewhere) {
                continue;
            }
            tried += 1;
            let outcome = one(&store, &cluster, &was, path.to_str().unwrap(), *damage);
            bad.extend(outcome.err().map(|problem| format!("{damage:?} of {}: {problem}", path.display())));
            assert_eq!(fs::read(&elsewhere).unwrap(), b"of the host");
            assert_eq!(fs::metadata(&elsewhere).unwrap().mode() & 0o777, 0o640);
        }
    }
    assert!(bad.is_empty(), "{} of {tried}:\n{}", bad.len(), bad.join("\n"));
    assert!(tried > 400, "{tried}");
    let _ = writeln!(std::io::stderr(), "tried: {tried} damages of every path of a small store");
}

/// Verifies, repairs and verifies a damaged store.
fn one(
    store: &Store,
    cluster: &Path,
    was: &[PathBuf],
    path: &str,
    damage: Damage,
) -> std::result::Result<(), String> {
    let text = |error: StoreError| crate::base::hint::chain(&error);
    let store = Store::open_damaged(store.root()).map_err(text)?;
    let found = store.verify().map_err(text)?;
    let full = match damage {
        Damage::Foreign => store.root().join(path).join("foreign"),
        _ => store.root().join(path),
    };
    let object = path.split('/').next().and_then(|name| name.parse::<ObjectName>().ok()).map(|name| name.id);
    let manifest = path.strip_prefix(".tinderbox/manifests/").and_then(|id| id.parse::<ObjectId>().ok());
    let key = path.strip_prefix(".tinderbox/keys").is_some();
    let named = found.findings.iter().any(|finding| {
        finding.path.starts_with(&full)
            || full.starts_with(&finding.path) && !finding.path.ends_with(".tinderbox")
            || finding.object.is_some() && (finding.object == object || finding.object == manifest)
            || key && finding.kind == FindingKind::Key
    }) || [("last.json", "state"), ("2.json", "current")].iter().any(|(this, by)| {
        path.ends_with(this) && found.findings.iter().any(|finding| finding.path.ends_with(by))
    });
    if !named && !is_harmless(path, damage) {
        return Err(format!("not named: {:?}", found.findings));
    }
    let mut lost = store.mend_layout().map_err(text)?;
    let mut found = store.verify().map_err(text)?;
    if found.findings.iter().any(|finding| finding.kind == FindingKind::Key) {
        drop(Session::open(&store, Some(IdKey::from_seed(&[7; 32]))).map_err(text)?);
        found = store.verify().map_err(text)?;
    }
    lost.extend(store.remove_bad(&found).map_err(text)?);
    build(&store, cluster, "second");
    let removed = found.findings.iter().filter_map(|finding| finding.object).collect();
    lost.extend(store.forget_lost(&removed).map_err(text)?);
    if (1..lost.len()).any(|at| lost[..at].contains(&lost[at])) {
        return Err(format!("said twice: {lost:?}"));
    }
    let found = store.verify().map_err(text)?;
    if !found.findings.is_empty() {
        return Err(format!("left: {:?}", found.findings));
    }
    // Whatever is not back was said to be lost, or can be had again.
    let gone: Vec<&PathBuf> = was.iter().filter(|path| !fs::exists(path).unwrap()).collect();
    let excused = |path: &Path| {
        let path = path.strip_prefix(store.root()).unwrap().to_str().unwrap();
        // The first generation is not built again.
        let of_first = ["-cluster", "manifests/", "generations/"].iter().any(|part| path.contains(part))
            && (lost.iter().any(|lost| lost.contains("generation")) || is_harmless(path, Damage::Delete));
        of_first
            || ["realisations/", "logs", "links/", "blobs", "downloads", "missing", "locks/"]
                .iter()
                .any(|part| path.contains(part))
            || damage == Damage::Delete && path.contains("roots/")
    };
    match gone.iter().find(|path| !excused(path)) {
        None => Ok(()),
        Some(path) => Err(format!("gone: {} ({lost:?})", path.display())),
    }
}
