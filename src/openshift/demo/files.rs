//! The demo's source files: a file in a version's folder overrides that of several versions, and that the common one.

use std::collections::BTreeMap;

use include_dir::{Dir, include_dir};

use crate::base::version::Version;

static FILES: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/src/openshift/demo/files");

/// The files below a folder, by relative path.
pub(super) fn of(version: &str, folder: &str) -> BTreeMap<String, &'static [u8]> {
    let mut files = BTreeMap::new();
    let mut roots: Vec<(Specific, &str)> = FILES
        .dirs()
        .filter_map(|root| root.path().to_str())
        .filter_map(|root| covers(root, version))
        .collect();
    roots.sort_unstable();
    for (_, root) in roots {
        let prefix = format!("{root}/{folder}");
        if let Some(directory) = FILES.get_dir(&prefix) {
            collect(directory, &prefix, &mut files);
        }
    }
    files
}

/// How specific a folder is: for all versions, from one on, for one.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Specific {
    All,
    From(Version),
    One,
}

/// The folder, if it is for this version.
fn covers<'a>(root: &'a str, version: &str) -> Option<(Specific, &'a str)> {
    let specific = match root.strip_suffix('-') {
        Some(first) => Specific::From(
            first.parse().ok().filter(|first| version.parse().is_ok_and(|it: Version| it >= *first))?,
        ),
        None if root == "common" => Specific::All,
        None if root == version => Specific::One,
        None => return None,
    };
    Some((specific, root))
}

fn collect(directory: &'static Dir<'static>, prefix: &str, files: &mut BTreeMap<String, &'static [u8]>) {
    for file in directory.files() {
        if let Ok(path) = file.path().strip_prefix(prefix) {
            files.insert(path.to_string_lossy().into_owned(), file.contents());
        }
    }
    for inner in directory.dirs() {
        collect(inner, prefix, files);
    }
}
