//! The demo's source files: a file in a version's folder overrides the common one.

use std::collections::BTreeMap;

use include_dir::{Dir, include_dir};

static FILES: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/src/openshift/demo/files");

/// The files below a folder, by relative path.
pub(super) fn of(version: &str, folder: &str) -> BTreeMap<String, &'static [u8]> {
    let mut files = BTreeMap::new();
    for root in ["common", version] {
        let prefix = format!("{root}/{folder}");
        if let Some(directory) = FILES.get_dir(&prefix) {
            collect(directory, &prefix, &mut files);
        }
    }
    files
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
