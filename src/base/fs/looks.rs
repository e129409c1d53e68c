//! What a piece of work looked at: every question that it asked the file system, and a digest of the answers. Whoever asks the
//! same questions later and gets the same answers may take the old result.
//!
//! It is this module's neighbours that note the questions, so none can be forgotten: nothing else touches the file system. What
//! cannot be asked again, or has an effect, spoils a record: a stream, an open file, a write, an error. So does a file that
//! changes while it is looked at. Questions are those of one thread.
//!
//! Contents are compared by their bytes, whatever their times say. Of metadata, times do not count: no question is about them.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Result;
use crate::base::digest::Digest;
use crate::base::secret::IdKey;

/// What can be asked about a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Question {
    /// All bytes of a file.
    Content,
    /// Kind, mode, owner and size of what is there; or of what a link leads to.
    Metadata,
    Followed,
    /// The path without links.
    Canonical,
    /// The names in a directory; and which of them are directories.
    Names,
    Kinds,
    /// The target of a link.
    Target,
}

/// Questions, and a digest of their answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Looks {
    questions: BTreeMap<Question, Vec<PathBuf>>,
    answers: Digest,
}

/// Plain digests never leave the memory: an answer may be a short secret.
#[derive(Default)]
struct Record {
    answers: BTreeMap<(Question, PathBuf), Digest>,
    spoilt: bool,
}

thread_local! {
    static RECORD: RefCell<Option<Record>> = const { RefCell::new(None) };
}

/// Everything that some work looked at; nothing if it cannot be repeated.
pub(crate) struct Recorded(Option<BTreeMap<(Question, PathBuf), Digest>>);

/// Does some work, and records what it looks at. Within such work, there is no other.
pub(crate) fn recorded<T>(work: impl FnOnce() -> T) -> (T, Recorded) {
    /// Ends the record, even if the work panics.
    struct End;
    impl Drop for End {
        fn drop(&mut self) {
            RECORD.take();
        }
    }
    if RECORD.with_borrow(Option::is_some) {
        return (work(), Recorded(None));
    }
    RECORD.set(Some(Record::default()));
    let end = End;
    let done = work();
    let record = RECORD.take().filter(|record| !record.spoilt);
    drop(end);
    (done, Recorded(record.map(|record| record.answers)))
}

/// Notes that what happens now cannot be repeated.
pub(super) fn spoil() {
    RECORD.with_borrow_mut(|record| {
        if let Some(record) = record {
            record.spoilt = true;
        }
    });
}

/// Notes the answer to a question.
pub(super) fn noted<T>(
    question: Question,
    path: &Path,
    answer: Result<T>,
    say: impl FnOnce(&T, &mut blake3::Hasher),
) -> Result<T> {
    RECORD.with_borrow_mut(|record| {
        let Some(record) = record else { return };
        let mut hasher = blake3::Hasher::new();
        match &answer {
            Ok(answer) => say(answer, hasher.update(b"+")),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => drop(hasher.update(b"-")),
            Err(_) => record.spoilt = true,
        }
        let said = Digest::from(hasher.finalize());
        let before = record.answers.insert((question, path.to_owned()), said);
        record.spoilt |= before.is_some_and(|before| before != said);
    });
    answer
}

/// Kind, mode, owner and size. A directory's size says nothing.
pub(super) fn say_metadata(found: &std::fs::Metadata, hasher: &mut blake3::Hasher) {
    let size = if found.is_dir() { 0 } else { found.size() };
    for number in [u64::from(found.mode()), u64::from(found.uid()), u64::from(found.gid()), size] {
        hasher.update(&number.to_le_bytes());
    }
}

pub(super) fn say_path(path: &Path, hasher: &mut blake3::Hasher) {
    hasher.update(path.as_os_str().as_bytes()).update(b"\0");
}

impl Recorded {
    /// The record in the form that may be kept. None if it cannot be repeated, or a path is no text.
    pub(crate) fn keyed(self, key: &IdKey) -> Option<Looks> {
        let answers = self.0?;
        let mut questions: BTreeMap<Question, Vec<PathBuf>> = BTreeMap::new();
        let mut hasher = hasher(key);
        for ((question, path), answer) in answers {
            path.to_str()?;
            hasher.update(answer.as_bytes());
            questions.entry(question).or_default().push(path);
        }
        Some(Looks { questions, answers: hasher.finalize().into() })
    }
}

impl Looks {
    /// Asks everything again: whether all answers are the same.
    pub(crate) fn still_hold(&self, key: &IdKey) -> bool {
        let mut hasher = hasher(key);
        for (question, paths) in &self.questions {
            for path in paths {
                let Some(answer) = ask(*question, path) else { return false };
                hasher.update(answer.as_bytes());
            }
        }
        Digest::from(hasher.finalize()) == self.answers
    }
}

fn hasher(key: &IdKey) -> blake3::Hasher {
    key.hasher("tinderbox 2026-11-19 answers of the file system v1")
}

/// Asks a question as it was asked the first time.
fn ask(question: Question, path: &Path) -> Option<Digest> {
    let ((), Recorded(record)) = recorded(|| match question {
        Question::Content => drop(super::read(path)),
        Question::Metadata => drop(super::metadata(path)),
        Question::Followed => drop(super::followed(path)),
        Question::Canonical => drop(super::canonical(path)),
        Question::Names => drop(super::list(path)),
        Question::Kinds => drop(super::list_kinds(path)),
        Question::Target => drop(super::read_link(path)),
    });
    record?.pop_first().map(|(_, answer)| answer)
}

#[cfg(test)]
mod tests {
    use super::super as fs;
    use super::*;

    fn key() -> IdKey {
        IdKey::from_bytes([3; 32])
    }

    /// A small directory, and work that asks every question about it.
    fn example() -> (tempfile::TempDir, Looks) {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::create_dirs(&at("folder/below")).unwrap();
        fs::replace(&at("folder/file"), b"one", 0o644).unwrap();
        fs::symlink(Path::new("folder/file"), &at("link")).unwrap();
        let (_, looks) = recorded(|| {
            fs::read_text(&at("folder/file")).unwrap();
            assert!(!fs::exists(&at("none")).unwrap());
            fs::metadata(&at("folder/file")).unwrap();
            fs::followed(&at("link")).unwrap();
            fs::canonical(&at("link")).unwrap();
            fs::list(dir.path()).unwrap();
            fs::list_kinds(&at("folder")).unwrap();
            fs::read_link(&at("link")).unwrap();
        });
        let looks = looks.keyed(&key()).unwrap();
        (dir, looks)
    }

    #[test]
    fn every_answer_counts() {
        type Edit = fn(&Path);
        let edits: [(&str, Edit); 8] = [
            ("same size, same times", |dir| {
                let path = dir.join("folder/file");
                let before = fs::metadata(&path).unwrap().modified().unwrap();
                let file = std::fs::File::options().write(true).open(&path).unwrap();
                std::io::Write::write_all(&mut &file, b"two").unwrap();
                file.set_modified(before).unwrap();
            }),
            ("mode", |dir| fs::set_mode(&dir.join("folder/file"), 0o600).unwrap()),
            ("a file that was not there", |dir| fs::write_new(&dir.join("none"), b"", 0o644).unwrap()),
            ("one more in the folder", |dir| fs::write_new(&dir.join("folder/new"), b"", 0o644).unwrap()),
            ("one less in the folder", |dir| fs::remove_empty_dir(&dir.join("folder/below")).unwrap()),
            ("a file in place of a folder", |dir| {
                fs::remove_empty_dir(&dir.join("folder/below")).unwrap();
                fs::write_new(&dir.join("folder/below"), b"", 0o644).unwrap();
            }),
            ("another target", |dir| fs::replace_link(Path::new("folder"), &dir.join("link")).unwrap()),
            ("all gone", |dir| fs::remove_all(&dir.join("folder")).unwrap()),
        ];
        for (what, edit) in edits {
            let (dir, looks) = example();
            assert!(looks.still_hold(&key()), "{what}");
            assert!(!looks.still_hold(&IdKey::from_bytes([4; 32])), "{what}");
            edit(dir.path());
            assert!(!looks.still_hold(&key()), "{what}");
        }
    }

    #[test]
    fn what_cannot_be_repeated_is_not_recorded() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        fs::write_new(&file, b"one", 0o644).unwrap();
        let works: [(&str, &dyn Fn()); 6] = [
            ("a write", &|| fs::replace(&file, b"one", 0o644).unwrap()),
            ("an open file", &|| drop(fs::open(&file).unwrap())),
            ("a stream", &|| drop(fs::read_stream(Path::new("/dev/null")).unwrap())),
            ("an error", &|| drop(fs::read(Path::new("/dev/null")).unwrap_err())),
            ("a part", &|| drop(fs::read_head(&file, 2).unwrap())),
            ("a change meanwhile", &|| {
                fs::read(&file).unwrap();
                std::fs::write(&file, b"two").unwrap();
                fs::read(&file).unwrap();
            }),
        ];
        for (what, work) in works {
            let ((), looks) = recorded(work);
            assert!(looks.keyed(&key()).is_none(), "{what}");
        }
        let ((), looks) = recorded(|| drop(fs::read_head(&file, 64).unwrap()));
        assert!(looks.keyed(&key()).unwrap().still_hold(&key()));
    }
}
