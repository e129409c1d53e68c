//! Searches a file for all encodings of all patterns in one pass, on all cores.

use std::collections::BTreeMap;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;

use super::Hit;
use crate::base::fs::{self, At};
use crate::base::redact::{self, Encoding, Matcher, SHORTEST};
use crate::base::secret::Secret;

/// How much of a file to search at once.
const PIECE: u64 = 1 << 20;

/// All encodings of all patterns.
pub(super) struct Search {
    matcher: Matcher,
    /// The secret and encoding of each pattern.
    meanings: Vec<(usize, Encoding)>,
    names: Vec<String>,
    pub(super) patterns: usize,
}

impl Search {
    /// Takes the patterns of every secret. A pattern that several share counts for the first.
    pub(super) fn new(secrets: Vec<(String, Vec<Secret>)>) -> Self {
        let mut all: Vec<(Secret, usize)> = Vec::new();
        let mut names = Vec::new();
        for (name, found) in secrets.into_iter().filter(|(_, found)| !found.is_empty()) {
            all.extend(found.into_iter().map(|pattern| (pattern, names.len())));
            names.push(name);
        }
        all.retain(|(pattern, _)| pattern.reveal().len() >= SHORTEST);
        all.sort_by(|(one, first), (other, second)| one.reveal().cmp(other.reveal()).then(first.cmp(second)));
        all.dedup_by(|(one, _), (other, _)| one == other);
        let mut forms: Vec<(Secret, (usize, Encoding))> = Vec::new();
        for (pattern, secret) in &all {
            let own = redact::forms(pattern.reveal()).into_iter();
            forms.extend(own.map(|(encoding, form)| (form, (*secret, encoding))));
        }
        let simplest = |(_, (secret, encoding)): &(Secret, (usize, Encoding))| (*encoding, *secret);
        forms.sort_by(|one, other| {
            one.0.reveal().cmp(other.0.reveal()).then(simplest(one).cmp(&simplest(other)))
        });
        forms.dedup_by(|one, other| one.0 == other.0);
        let (forms, meanings) = forms.into_iter().unzip();
        Self { matcher: Matcher::new(forms), meanings, names, patterns: all.len() }
    }

    /// Secrets that have patterns.
    pub(super) fn secrets(&self) -> usize {
        self.names.len()
    }

    /// How much of a file was searched, and the hits in it; none if it is gone.
    pub(super) fn file(&self, path: &Path, cancel: &AtomicBool) -> fs::Result<Option<(u64, Vec<Hit>)>> {
        let Some(file) = fs::optional(fs::open(path))? else { return Ok(None) };
        let size = file.metadata().at("access", path)?.len();
        let pieces: Vec<(u64, Vec<(u64, usize)>)> = (0..size.div_ceil(PIECE))
            .into_par_iter()
            .filter(|_| !cancel.load(Ordering::Relaxed))
            .map_init(Vec::new, |buffer, piece| {
                self.piece(&file, size, piece * PIECE, buffer).at("read", path)
            })
            .collect::<fs::Result<_>>()?;
        let searched = pieces.iter().map(|(bytes, _)| bytes).sum();
        let found = pieces.into_iter().flat_map(|(_, found)| found).collect();
        Ok(Some((searched, self.hits(path, found))))
    }

    /// The matches that start in one piece of a file: offset and pattern.
    fn piece(
        &self,
        file: &std::fs::File,
        size: u64,
        start: u64,
        buffer: &mut Vec<u8>,
    ) -> std::io::Result<(u64, Vec<(u64, usize)>)> {
        // Most files are much smaller than a piece.
        let wanted = (size - start).min(PIECE + self.matcher.longest as u64) as usize;
        if buffer.len() < wanted {
            *buffer = vec![0; wanted];
        }
        let buffer = &mut buffer[..wanted];
        let mut filled = 0;
        while filled < buffer.len() {
            match file.read_at(&mut buffer[filled..], start + filled as u64) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        let mut found = Vec::new();
        self.matcher.find(&buffer[..filled], |at, pattern| {
            if (at as u64) < PIECE {
                found.push((start + at as u64, pattern));
            }
        });
        Ok((PIECE.min(filled as u64), found))
    }

    /// Turns matches into hits: the simplest of those that overlap, and one for each secret and encoding.
    fn hits(&self, path: &Path, mut found: Vec<(u64, usize)>) -> Vec<Hit> {
        found.sort_by_key(|(at, pattern)| {
            (*at, self.meanings[*pattern].1, std::cmp::Reverse(self.matcher.length(*pattern)))
        });
        let mut hits: BTreeMap<(usize, Encoding), (u64, usize)> = BTreeMap::new();
        let mut end = 0;
        for (at, pattern) in found {
            if at >= end {
                end = at + self.matcher.length(pattern) as u64;
                hits.entry(self.meanings[pattern]).or_insert((at, 0)).1 += 1;
            }
        }
        let hit = |((secret, encoding), (offset, count))| {
            let secret: &String = &self.names[secret];
            Hit { path: path.into(), offset, secret: secret.clone(), encoding, count }
        };
        hits.into_iter().map(hit).collect()
    }
}
