//! The listing of an object: every path with its kind, size and digest, as one text file.
//!
//! ```text
//! tinderbox listing 1
//! key <key id>                          only when something in it is secret
//! d - - <digest> .
//! f s 1234 <digest> auth/password
//! x - 99 <digest> bin/start.sh
//! l - - <digest> latest -> generations/4
//! ```
//!
//! Columns: kind (`f`ile, e`x`ecutable, `d`irectory, `l`ink), `s` if secret, size, digest, path. Paths contain no
//! control characters ([`super::check_path`]), so a line is an entry; ` -> ` ends the path of a link, which may not
//! contain it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::Bound;

use super::{EntryKind, Hashing, TreeEntry};
use crate::base::digest::{KeyId, ObjectId};
use crate::base::hint::Hint;

const HEADER: &str = "tinderbox listing 1";
const ARROW: &str = " -> ";

/// All entries of an object by path, directories included; the root is `""`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    entries: BTreeMap<String, TreeEntry>,
    /// The key of its secret digests, if any.
    pub key: Option<KeyId>,
}

#[derive(Debug, thiserror::Error)]
#[error("line {line} of the listing is invalid: {reason}")]
pub struct ListingError {
    /// From 1.
    pub line: usize,
    pub reason: &'static str,
}

impl Hint for ListingError {
    fn hint(&self) -> Option<String> {
        Some("run `tinderbox store verify`, then `tinderbox store repair`".into())
    }
}

impl Listing {
    /// Adds the directories to files, links and empty directories. None if something is secret and there is no key.
    pub fn close(mut entries: BTreeMap<String, TreeEntry>, hashing: Hashing<'_>) -> Option<Self> {
        hashing.close(&mut entries)?;
        let secret = entries.get("").is_some_and(|root| root.secret);
        let key = hashing.0.filter(|_| secret).map(crate::base::secret::IdKey::id);
        Some(Self { entries, key })
    }

    /// Every entry by path, sorted; the root first.
    pub fn entries(&self) -> impl Iterator<Item = (&str, &TreeEntry)> {
        self.entries.iter().map(|(path, entry)| (path.as_str(), entry))
    }

    /// Files and links at or below `prefix` (`""` for all), with full paths, sorted.
    pub fn leaves(&self, prefix: &str) -> impl Iterator<Item = (&str, &TreeEntry)> {
        // `0` follows `/`, so this range is exactly the content of the directory.
        let bounds = match prefix {
            "" => (Bound::Unbounded, Bound::Unbounded),
            _ => (Bound::Included(format!("{prefix}/")), Bound::Excluded(format!("{prefix}0"))),
        };
        self.entries
            .get_key_value(prefix)
            .into_iter()
            .chain(self.entries.range(bounds))
            .filter(|(_, entry)| !matches!(entry.kind, EntryKind::Dir))
            .map(|(path, entry)| (path.as_str(), entry))
    }

    /// One entry; the root is `""`.
    pub fn get(&self, path: &str) -> Option<&TreeEntry> {
        self.entries.get(path)
    }

    pub fn root(&self) -> &TreeEntry {
        &self.entries[""]
    }

    pub fn id(&self) -> ObjectId {
        self.root().digest.into()
    }

    /// Total size of all files.
    pub fn size(&self) -> u64 {
        self.entries.values().map(TreeEntry::size).sum()
    }

    pub fn encode(&self) -> String {
        let mut text = format!("{HEADER}\n");
        if let Some(key) = self.key {
            let _ = writeln!(text, "key {key}"); // writing to a string cannot fail
        }
        for (path, entry) in &self.entries {
            let secret = if entry.secret { 's' } else { '-' };
            let shown = if path.is_empty() { "." } else { path };
            let _ = write!(text, "{} {secret} ", entry.tag() as char);
            let _ = match &entry.kind {
                EntryKind::File { size, .. } => writeln!(text, "{size} {} {shown}", entry.digest),
                EntryKind::Dir => writeln!(text, "- {} {shown}", entry.digest),
                EntryKind::Link { target } => writeln!(text, "- {} {shown}{ARROW}{target}", entry.digest),
            };
        }
        text
    }

    /// Parses the text form. Does not recompute digests: `verify` checks them against the files.
    pub fn parse(text: &str) -> Result<Self, ListingError> {
        let mut lines = text.lines().enumerate().peekable();
        let fail = |line: usize, reason| ListingError { line: line + 1, reason };
        if lines.next().is_none_or(|(_, line)| line != HEADER) {
            return Err(fail(0, "unknown header"));
        }
        let key = match lines.next_if(|(_, line)| line.starts_with("key ")) {
            Some((at, line)) => Some(line["key ".len()..].parse().map_err(|_| fail(at, "bad key id"))?),
            None => None,
        };
        let mut entries = BTreeMap::new();
        for (at, line) in lines {
            let (path, entry) = parse_line(line).ok_or_else(|| fail(at, "bad entry"))?;
            entries.insert(path, entry);
        }
        if entries.get("").is_none_or(|root: &TreeEntry| root.kind != EntryKind::Dir) {
            return Err(fail(0, "no root directory"));
        }
        Ok(Self { entries, key })
    }
}

fn parse_line(line: &str) -> Option<(String, TreeEntry)> {
    let mut columns = line.splitn(5, ' ');
    let (kind, secret, size) = (columns.next()?, columns.next()?, columns.next()?);
    let digest = columns.next()?.parse().ok()?;
    let rest = columns.next()?;
    let secret = match secret {
        "s" => true,
        "-" => false,
        _ => return None,
    };
    let (path, kind) = match kind {
        "f" | "x" => (rest, EntryKind::File { exec: kind == "x", size: size.parse().ok()? }),
        "d" => (rest, EntryKind::Dir),
        "l" => {
            let (path, target) = rest.split_once(ARROW)?;
            (path, EntryKind::Link { target: target.to_owned() })
        }
        _ => return None,
    };
    let path = if path == "." { "" } else { path };
    Some((path.to_owned(), TreeEntry { kind, secret, digest }))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::base::digest::Digest;
    use crate::base::secret::IdKey;

    fn entry() -> impl Strategy<Value = TreeEntry> {
        (any::<bool>(), any::<bool>(), any::<u64>(), any::<[u8; 32]>()).prop_map(
            |(secret, exec, size, digest)| TreeEntry {
                kind: EntryKind::File { exec, size },
                secret,
                digest: Digest::from(digest),
            },
        )
    }

    proptest! {
        #[test]
        fn text_round_trips(files in proptest::collection::btree_map("[a-c .>-]{1,3}(/d[a-c]{0,2})?", entry(), 0..12)) {
            // A path cannot be a file and a directory at once.
            let files: BTreeMap<_, _> = files.iter()
                .filter(|(path, _)| super::super::check_path(path).is_ok())
                .filter(|(path, _)| !files.keys().any(|other| other.starts_with(&format!("{path}/"))))
                .map(|(path, entry)| (path.clone(), entry.clone())).collect();
            let listing = Listing::close(files.clone(), Hashing(Some(&IdKey::from_seed(&[1; 32])))).unwrap();
            prop_assert_eq!(&Listing::parse(&listing.encode()).unwrap(), &listing);
            prop_assert_eq!(listing.leaves("").count(), files.len());
        }

        #[test]
        fn parsing_never_panics(text in "(tinderbox listing 1\n)?[ -~\n]{0,200}") {
            let _ = Listing::parse(&text);
        }
    }

    #[test]
    fn leaves_of_a_directory_are_those_below_it() {
        let file = TreeEntry {
            kind: EntryKind::File { exec: false, size: 0 },
            secret: false,
            digest: Digest::of(b""),
        };
        let files = ["a", "b.c", "b/1", "b/2/3", "bc"].map(|path| (path.to_owned(), file.clone())).into();
        let listing = Listing::close(files, Hashing(None)).unwrap();
        let paths = |prefix| listing.leaves(prefix).map(|(path, _)| path.to_owned()).collect::<Vec<_>>();
        assert_eq!(paths("b"), ["b/1", "b/2/3"]);
        assert_eq!(paths("a"), ["a"]);
        assert_eq!(paths(""), ["a", "b.c", "b/1", "b/2/3", "bc"]);
    }
}
