//! The files that a cluster directory gets: patches, and manifests of the user's own.

use std::collections::{BTreeMap, BTreeSet};

use super::classify::{Classified, Finding};
use super::files::{InstallDir, InstallerObject};
use crate::base::yaml;
use crate::openshift::patch;

/// A file for `manifests/`.
pub(crate) struct Kept {
    pub path: String,
    pub bytes: Vec<u8>,
    /// Whether only its owner may read it.
    pub secret: bool,
}

/// Patch files by path; the findings name them.
pub(crate) fn patch_files(classified: &mut Classified) -> Vec<(String, String)> {
    let mut files = Vec::new();
    for (count, (at, object, edits)) in classified.patches.iter().enumerate() {
        let finding = &mut classified.findings[*at];
        let name = format!("{}-{}-{}", 10 * (count + 1), object.kind, object.name).to_lowercase();
        let path = format!("patches/{}.yaml", plain(&name));
        let summary = format!("Taken over from {}: {}.", finding.file, finding.why);
        files.push((path.clone(), patch::patch_file(&summary, object, edits)));
        finding.to = Some(path);
    }
    files
}

/// Manifests of the user's own, byte for byte if the whole file is kept; the findings name them.
pub(crate) fn kept_files(dir: &InstallDir, classified: &mut Classified) -> Vec<Kept> {
    let mut by_file: BTreeMap<String, Vec<(usize, InstallerObject)>> = BTreeMap::new();
    for (at, theirs) in &classified.kept {
        by_file.entry(theirs.file.clone()).or_default().push((*at, theirs.clone()));
    }
    let (mut taken, mut files) = (BTreeSet::new(), Vec::new());
    for (file, kept) in by_file {
        let name = file.rsplit('/').next().unwrap_or(&file);
        // A file of the same name in the other folder.
        let name = if taken.contains(name) { file.replace('/', "-") } else { name.to_owned() };
        taken.insert(name.clone());
        let path = format!("manifests/{name}");
        let whole = dir.objects.iter().filter(|one| one.file == file).count() == kept.len();
        let bytes = match dir.manifests.get(&file) {
            Some(bytes) if whole => bytes.clone(),
            _ => {
                let documents: Vec<String> =
                    kept.iter().map(|(_, one)| yaml::block(&one.document, 0)).collect();
                format!("{}\n", documents.join("\n---\n")).into_bytes()
            }
        };
        let secret = kept.iter().any(|(_, one)| one.is_secret());
        for (at, _) in &kept {
            name_target(&mut classified.findings, *at, &path);
        }
        files.push(Kept { path, bytes, secret });
    }
    files
}

fn name_target(findings: &mut [Finding], at: usize, path: &str) {
    if let Some(finding) = findings.get_mut(at) {
        finding.to = Some(path.to_owned());
    }
}

/// A name that a recipe may have.
fn plain(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' }).collect()
}
