//! Memos: what a build found that found everything, `roots/<cluster>/memo`. While nothing changed, the next build reads this instead
//! of looking up every derivation.
//!
//! ```text
//! <key id> <keyed digest of the next line>
//! JSON: what the build saw, as its caller describes it
//! ```
//!
//! A memo is only as good as what it is compared with, so nothing is believed that is not looked at again: the caller asks for its
//! [`Evidence`], which changes with whatever a lookup would notice. A memo that is damaged, of another tinderbox or of another
//! store is none, and costs time only. Its key is that of secret ids: without it, nobody can make one up, or guess a
//! short secret from a digest in it.

use std::ffi::OsStr;
use std::path::PathBuf;

use rustix::fs::Stat;
use rustix::time::{ClockId, Timespec, clock_gettime};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{ObjectName, README, Result, Roots, Session, Store};
use crate::base::digest::{Digest, DrvId, KeyId, ObjectId};
use crate::base::fs::{self, Dir};
use crate::base::secret::IdKey;

/// A derivation, and the object that a build used for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Held {
    pub name: String,
    pub drv: DrvId,
    pub object: ObjectId,
    /// The part of its directory name after the id.
    pub title: String,
}

/// The state of what a lookup reads: which files there are, and when each was last touched. Objects count as a whole; what is in
/// their files is for `verify`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Evidence(Digest);

/// A point in time by the clock of file systems: what is touched afterwards is not older.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment(Timespec);

impl Moment {
    pub(crate) fn now() -> Self {
        Self(clock_gettime(ClockId::RealtimeCoarse))
    }

    fn is_after(self, found: &Stat) -> bool {
        let Timespec { tv_sec, tv_nsec } = self.0;
        (found.st_ctime, found.st_ctime_nsec as i64) < (tv_sec, tv_nsec)
    }
}

const KEPT: &str = "tinderbox 2026-11-19 memo of a build v1";

impl Store {
    /// What was kept for a cluster directory, and the key that it was kept with; none if it cannot be used.
    pub(crate) fn memo<T: DeserializeOwned>(&self, roots: &Roots) -> Option<(T, IdKey)> {
        let text = fs::read_text(&roots.memo_path()).ok()?;
        let (first, memo) = text.split_once('\n')?;
        let (key, digest) = first.split_once(' ')?;
        let key = self.key(key.parse::<KeyId>().ok()?).ok()??;
        let is_whole = digest_of(&key, memo).to_string() == digest;
        is_whole.then(|| serde_json::from_str(memo).ok().map(|memo| (memo, key))).flatten()
    }

    /// Whether there is no session. One that died is cleaned up by the next one.
    pub(crate) fn is_idle(&self) -> bool {
        Dir::open(&self.part("tmp")).and_then(|tmp| tmp.names()).is_ok_and(|names| names.is_empty())
    }

    /// Where the object of a derivation is.
    pub(crate) fn path_of_held(&self, held: &Held) -> PathBuf {
        self.path_of(&ObjectName { id: held.object, name: held.title.clone() })
    }

    /// Keeps a memo for a cluster directory.
    pub(crate) fn keep_memo(
        &self,
        session: &Session,
        roots: &Roots,
        key: &IdKey,
        memo: &impl Serialize,
    ) -> Result<()> {
        let Ok(memo) = serde_json::to_string(memo) else { return Ok(()) };
        let text = format!("{} {}\n{memo}", key.id(), digest_of(key, &memo));
        session.put_private(&roots.memo_path(), text.as_bytes())
    }

    /// The evidence for these derivations and the current generation of a cluster directory. None if something is missing, or was
    /// touched when or after the build began: then nobody knows whether the build saw it before or afterwards.
    pub(crate) fn evidence(
        &self,
        roots: &Roots,
        generation: u64,
        held: &[Held],
        began: Option<Moment>,
    ) -> Option<Evidence> {
        let mut hasher = blake3::Hasher::new();
        let mut add = |dir: &Dir, name: &str, optional: bool| -> Option<()> {
            match fs::optional(dir.stat(OsStr::new(name))).ok()? {
                Some(found) => {
                    began.is_none_or(|began| began.is_after(&found)).then_some(())?;
                    hasher.update(&fs::stamp(&found));
                }
                None => {
                    optional.then_some(())?;
                    hasher.update(b"-");
                }
            }
            Some(())
        };
        let of_roots = Dir::open(roots.place()).ok()?;
        for name in ["directory", "current", "state"] {
            add(&of_roots, name, false)?;
        }
        add(&of_roots, "downloads", true)?;
        add(&of_roots, &format!("generations/{generation}.json"), true)?;
        let root = Dir::open(self.root()).ok()?;
        add(&root, "README.md", false)?;
        let [realisations, manifests] =
            ["realisations", "manifests"].map(|part| Dir::open(&self.part(part)).ok());
        let (realisations, manifests) = (realisations?, manifests?);
        for Held { drv, object, title, .. } in held {
            let object = object.to_string();
            add(&realisations, &drv.to_string(), false)?;
            add(&manifests, &object, false)?;
            add(&root, &(object + "-" + title), false)?;
        }
        (fs::read(&self.root().join("README.md")).ok()? == README.as_bytes()).then_some(())?;
        Some(Evidence(hasher.finalize().into()))
    }
}

impl Roots {
    fn memo_path(&self) -> PathBuf {
        self.place().join("memo")
    }
}

fn digest_of(key: &IdKey, memo: &str) -> Digest {
    key.hasher(KEPT).update(memo.as_bytes()).finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A store with one derivation that a cluster directory built.
    fn example() -> (tempfile::TempDir, Store, Roots, Vec<Held>) {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open_or_create(&dir.path().join("store")).unwrap();
        let cluster = dir.path().join("cluster");
        fs::create_dirs(&cluster).unwrap();
        let roots = store.roots_of(&cluster);
        let (drv, object) = (DrvId(Digest::of(b"drv")), ObjectId(Digest::of(b"object")));
        let held = vec![Held { name: "one".into(), drv, object, title: "one".into() }];
        fs::create_dirs(&store.root().join(format!("{object}-one"))).unwrap();
        fs::write_new(&store.manifest_path(object), b"", 0o644).unwrap();
        fs::write_new(&store.realisation_path(drv), b"", 0o644).unwrap();
        let session = Session::open(&store, Some(key())).unwrap();
        roots.set_record(&session, &super::super::Record::default(), Digest::of(b"")).unwrap();
        roots.advance(&session, object, "2026-11-19T00:00:00Z", &Default::default()).unwrap();
        drop(session);
        (dir, store, roots, held)
    }

    fn key() -> IdKey {
        IdKey::from_bytes([3; 32])
    }

    #[test]
    fn whatever_a_lookup_would_notice_changes_the_evidence() {
        type Edit = fn(&Store, &Roots, &Held);
        let edits: [(&str, Edit); 7] = [
            ("an object is gone", |store, _, held| {
                fs::remove_all(&store.root().join(format!("{}-one", held.object))).unwrap();
            }),
            ("its listing is gone", |store, _, held| {
                fs::remove_file(&store.manifest_path(held.object)).unwrap();
            }),
            ("its listing has another mode", |store, _, held| {
                fs::set_mode(&store.manifest_path(held.object), 0o600).unwrap();
            }),
            ("another output", |store, _, held| {
                fs::replace(&store.realisation_path(held.drv), b"", 0o644).unwrap();
            }),
            ("another generation is current", |_, roots, _| {
                fs::replace(&roots.place().join("current"), b"2 x\n", 0o644).unwrap();
            }),
            ("downloads", |_, roots, _| fs::write_new(&roots.place().join("downloads"), b"", 0o644).unwrap()),
            ("the generation is gone", |_, roots, _| fs::remove_file(&roots.generation_path(1)).unwrap()),
        ];
        for (what, edit) in edits {
            let (_dir, store, roots, held) = example();
            let before = store.evidence(&roots, 1, &held, None);
            assert!(before.is_some() && store.evidence(&roots, 1, &held, None) == before, "{what}");
            edit(&store, &roots, &held[0]);
            assert_ne!(store.evidence(&roots, 1, &held, None), before, "{what}");
        }
    }

    #[test]
    fn what_was_touched_since_the_beginning_is_no_evidence() {
        let began = Moment::now();
        let (_dir, store, roots, held) = example();
        assert_eq!(store.evidence(&roots, 1, &held, Some(began)), None);
        let later = Moment(Timespec { tv_sec: began.0.tv_sec + 3600, tv_nsec: 0 });
        assert!(store.evidence(&roots, 1, &held, Some(later)).is_some());
    }

    #[test]
    fn a_damaged_memo_is_none() {
        let (_dir, store, roots, held) = example();
        let session = Session::open(&store, Some(key())).unwrap();
        store.keep_memo(&session, &roots, &key(), &held).unwrap();
        drop(session);
        assert_eq!(store.memo::<Vec<Held>>(&roots), Some((held, key())));
        assert_eq!(store.memo::<u64>(&roots), None, "of another tinderbox");
        assert!(store.verify().unwrap().findings.iter().all(|found| !found.path.ends_with("memo")));
        let whole = fs::read(&roots.memo_path()).unwrap();
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            for bytes in [&damaged[..], &whole[..at]] {
                fs::replace(&roots.memo_path(), bytes, 0o600).unwrap();
                assert_eq!(store.memo::<Vec<Held>>(&roots), None, "{at}");
            }
        }
        fs::replace(&roots.memo_path(), &whole, 0o600).unwrap();
        fs::remove_file(&store.part("keys").join(key().id().to_string())).unwrap();
        assert_eq!(store.memo::<Vec<Held>>(&roots), None, "without the key");
    }
}
