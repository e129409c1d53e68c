//! Detects renamed files.

use super::File;
use super::data::Data;
use super::{narrow, object, open, read};

/// Minimum similarity of renamed texts, in percent.
const ALIKE: usize = 60;
/// Maximum number of pairs to compare, and maximum size of a file.
const PAIRS: usize = 4096;
const SIZE: usize = 1 << 20;

/// Pairs of a removed and an added file that are the same file, renamed: equal content first, then the same Kubernetes
/// object, then similar text.
pub(crate) fn renames(removed: &[File<'_>], added: &[File<'_>]) -> Vec<(usize, usize)> {
    let mut found =
        Pairing { pairs: Vec::new(), removed: vec![false; removed.len()], added: vec![false; added.len()] };
    found.equal(removed, added);
    found.objects(removed, added);
    found.texts(removed, added);
    found.pairs.sort_unstable();
    found.pairs
}

struct Pairing {
    pairs: Vec<(usize, usize)>,
    removed: Vec<bool>,
    added: Vec<bool>,
}

impl Pairing {
    fn pair(&mut self, from: usize, to: usize) {
        self.pairs.push((from, to));
        (self.removed[from], self.added[to]) = (true, true);
    }

    fn open(taken: &[bool]) -> Vec<usize> {
        taken.iter().enumerate().filter(|(_, taken)| !**taken).map(|(at, _)| at).collect()
    }

    fn equal(&mut self, removed: &[File<'_>], added: &[File<'_>]) {
        for (from, file) in removed.iter().enumerate() {
            let content = file.content;
            // Among several with this content, prefer the same base name.
            let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
            let fits = |to: &usize| !self.added[*to] && !content.is_empty() && added[*to].content == content;
            let all: Vec<usize> = (0..added.len()).filter(fits).collect();
            let named = all.iter().find(|to| name(added[**to].path) == name(file.path));
            if let Some(to) = named.or(all.first()).copied() {
                self.pair(from, to);
            }
        }
    }

    fn objects(&mut self, removed: &[File<'_>], added: &[File<'_>]) {
        let read = |files: &[File<'_>], open: Vec<usize>| -> Vec<(usize, _)> {
            open.into_iter().filter_map(|at| Some((at, only(&files[at])?))).collect()
        };
        if self.removed.iter().all(|taken| *taken) || self.added.iter().all(|taken| *taken) {
            return;
        }
        let (old, mut new) = (read(removed, Self::open(&self.removed)), read(added, Self::open(&self.added)));
        for (from, identity) in old {
            if let Some(at) = new.iter().position(|(_, other)| *other == identity) {
                let (to, _) = new.remove(at);
                self.pair(from, to);
            }
        }
    }

    fn texts(&mut self, removed: &[File<'_>], added: &[File<'_>]) {
        let (old, new) = (Self::open(&self.removed), Self::open(&self.added));
        let lines = |files: &[File<'_>], open: &[usize]| -> Vec<(usize, Vec<blake3::Hash>)> {
            open.iter().filter_map(|at| Some((*at, lines(files[*at].content)?))).collect()
        };
        if old.len() * new.len() > PAIRS {
            return;
        }
        let (old, new) = (lines(removed, &old), lines(added, &new));
        let mut scores = Vec::new();
        for (from, one) in &old {
            for (to, two) in &new {
                let score = alike(one, two);
                if score >= ALIKE {
                    scores.push((std::cmp::Reverse(score), removed[*from].path, added[*to].path, *from, *to));
                }
            }
        }
        scores.sort_unstable();
        for (.., from, to) in scores {
            if !self.removed[from] && !self.added[to] {
                self.pair(from, to);
            }
        }
    }
}

/// The only object of a file.
fn only(file: &File<'_>) -> Option<(String, String, String, String)> {
    let text = std::str::from_utf8(file.content).ok().filter(|text| text.len() <= SIZE)?;
    if !crate::base::yaml::is_manifest(file.path) || !open::head(text).contains("kind") {
        return None;
    }
    if let Some(identity) = narrow::identity(text) {
        return Some(identity);
    }
    let [documents, _] = read::documents(text, "").ok()?;
    match &documents[..] {
        [one @ Data::Map(_)] => object::identity(one),
        _ => None,
    }
}

/// Sorted hashes of a text's lines; none for binary, very short or very long content.
fn lines(content: &[u8]) -> Option<Vec<blake3::Hash>> {
    let text = std::str::from_utf8(content).ok().filter(|text| text.len() <= SIZE && !text.contains('\0'))?;
    let mut lines: Vec<blake3::Hash> = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .map(|line| blake3::hash(line.as_bytes()))
        .collect();
    lines.sort_unstable_by(|one, two| one.as_bytes().cmp(two.as_bytes()));
    (lines.len() >= 3).then_some(lines)
}

/// The share of common lines, in percent.
fn alike(one: &[blake3::Hash], two: &[blake3::Hash]) -> usize {
    let (mut left, mut right, mut shared) = (one.iter().peekable(), two.iter().peekable(), 0);
    while let (Some(one), Some(two)) = (left.peek(), right.peek()) {
        match one.as_bytes().cmp(two.as_bytes()) {
            std::cmp::Ordering::Less => _ = left.next(),
            std::cmp::Ordering::Greater => _ = right.next(),
            std::cmp::Ordering::Equal => {
                shared += 1;
                _ = (left.next(), right.next());
            }
        }
    }
    200 * shared / (one.len() + two.len()).max(1)
}
