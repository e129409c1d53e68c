//! PEM files: certificates are paired and compared by field, keys only for equality.

use super::walk::Walk;
use super::{ChangeKind, Edit, ShownValue, StepKind, certificate, open, walk};
use crate::base::pki::Certificate;

/// One block: its label, and its lines without white space.
struct Block {
    label: String,
    body: String,
}

/// Whether a text is PEM and nothing else. Files with a PEM extension may have text around the blocks.
pub(super) fn is_pem(path: &str, text: &str) -> bool {
    let head = open::head(text);
    if !head.contains("-----BEGIN ") {
        return false;
    }
    let named = [".pem", ".crt", ".cer", ".key", ".pub"].iter().any(|end| path.ends_with(end));
    let mut inside = false;
    named
        || text.lines().all(|line| {
            let line = line.trim();
            let fits = inside || line.is_empty() || line.starts_with('#') || line.starts_with("-----BEGIN ");
            inside = (inside || line.starts_with("-----BEGIN ")) && !line.contains("-----END ");
            fits
        })
}

/// Compares two PEM texts. Text around the blocks and their order do not count.
pub(super) fn compare(walk: &mut Walk<'_>, old: &str, new: &str) {
    let (Some(old), Some(new)) = (blocks(old), blocks(new)) else {
        return open::secret(walk, ChangeKind::Key);
    };
    let (old, new) = without_shared(old, new);
    let take = |blocks: Vec<Block>| -> (Vec<Certificate>, Vec<Block>) {
        let mut rest = Vec::new();
        let mut found = Vec::new();
        for block in blocks {
            let certificate = block.label.ends_with("CERTIFICATE").then(|| {
                let pem = format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", block.body);
                Certificate::from_pem(&pem).ok()
            });
            match certificate.flatten() {
                Some(certificate) => found.push(certificate),
                None => rest.push(block),
            }
        }
        (found, rest)
    };
    let ((old, old_rest), (new, new_rest)) = (take(old), take(new));
    certificate::bundles(walk, old, new);
    let mut labels: Vec<&str> = old_rest.iter().chain(&new_rest).map(|block| block.label.as_str()).collect();
    labels.sort_unstable();
    labels.dedup();
    for label in labels {
        let of = |blocks: &[Block]| -> Vec<String> {
            blocks.iter().filter(|block| block.label == label).map(|block| block.body.clone()).collect()
        };
        keys(walk, label, &of(&old_rest), &of(&new_rest));
    }
}

/// Compares blocks of one label that are not certificates.
fn keys(walk: &mut Walk<'_>, label: &str, old: &[String], new: &[String]) {
    let public =
        label.ends_with("PUBLIC KEY") || label.ends_with("CERTIFICATE") || label.ends_with("REQUEST");
    let show = |body: &String| match public && !walk.masked {
        true => ShownValue::Text(format!("BLAKE3 {}", &blake3::hash(body.as_bytes()).to_hex()[..32])),
        false => ShownValue::Secret,
    };
    let (mut old, mut new) = (old.iter().map(show), new.iter().map(show));
    let name = label.to_ascii_lowercase().replace(' ', "-");
    let mut edits = Vec::new();
    while let Some(edit) = walk::edit(old.next(), new.next()) {
        edits.push(edit);
    }
    let into = StepKind::Field;
    edits.into_iter().for_each(|edit: Edit| walk.step(into, &name, |walk| walk.push(ChangeKind::Key, edit)));
}

/// The blocks of a text; none if one is unterminated.
fn blocks(text: &str) -> Option<Vec<Block>> {
    let mut found = Vec::new();
    let mut left = text;
    while let Some((_, block)) = left.split_once("-----BEGIN ") {
        let (label, rest) = block.split_once("-----")?;
        let (body, rest) = rest.split_once("-----END ")?;
        let (_, rest) = rest.split_once("-----")?;
        if label.len() > 64 || label.contains('\n') {
            return None;
        }
        found.push(Block { label: label.to_owned(), body: body.split_whitespace().collect() });
        left = rest;
    }
    (!found.is_empty()).then_some(found)
}

/// Blocks on one side only.
fn without_shared(old: Vec<Block>, mut new: Vec<Block>) -> (Vec<Block>, Vec<Block>) {
    let mut gone = Vec::new();
    for block in old {
        let same = |other: &Block| other.label == block.label && other.body == block.body;
        match new.iter().position(same) {
            Some(at) => {
                new.remove(at);
            }
            None => gone.push(block),
        }
    }
    (gone, new)
}
