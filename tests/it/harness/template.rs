//! A store with the example in it, built once by whichever test wants it first, for all test processes of this program.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use super::{Workspace, lock, make_removable, source};

/// Where templates are, and the lock that guards them all: who copies shares it, who makes or removes has it alone.
const DIRECTORY: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/prebuilt");

/// Copies the template, which is made if there is none. It is a copy, and no second name for the same files: tests
/// damage theirs.
pub(super) fn copy(to: &Path) {
    let _ = fs::create_dir_all(DIRECTORY);
    let Ok(lock) = File::create(Path::new(DIRECTORY).join("lock")) else {
        // The target directory is another user's.
        return copy_all(&built().store, to);
    };
    let template = Path::new(DIRECTORY).join(key());
    lock.lock_shared().unwrap();
    if !template.exists() {
        lock.unlock().unwrap();
        lock.lock().unwrap();
        if !template.exists() {
            make(&template);
        }
    }
    copy_all(&template, to);
}

/// With modes, times and hard links as they are: `faketime`, where the tests run below it, has no part in this.
fn copy_all(from: &Path, to: &Path) {
    let status = Command::new("cp").env_remove("LD_PRELOAD").arg("-a").args([from, to]).status().unwrap();
    assert!(status.success(), "cp -a {} {}", from.display(), to.display());
}

/// What a template depends on: the program, the example, and the lock of the day.
fn key() -> String {
    static KEY: LazyLock<String> = LazyLock::new(|| {
        let mut hasher = blake3::Hasher::new();
        hasher.update_reader(File::open(env!("CARGO_BIN_EXE_tinderbox")).unwrap()).unwrap();
        for name in ["install-config.yaml", "cluster.yaml"] {
            hasher.update(&fs::read(source("examples/ocp4").join(name)).unwrap());
        }
        hasher.update(lock().as_bytes());
        hasher.finalize().to_hex().to_string()
    });
    KEY.clone()
}

/// The example as after a build. Nothing in its store is kept for a cluster directory that is about to go.
fn built() -> Workspace {
    let workspace = Workspace::example();
    workspace.build(&[]);
    let roots = workspace.part("roots");
    fs::remove_dir_all(&roots).unwrap();
    fs::create_dir(&roots).unwrap();
    workspace
}

/// Makes the template; those of other programs and days go.
fn make(template: &Path) {
    for old in fs::read_dir(DIRECTORY).unwrap().map(|entry| entry.unwrap().path()) {
        if old.is_dir() {
            make_removable(&old);
            fs::remove_dir_all(&old).unwrap();
        }
    }
    let staged = PathBuf::from(format!("{}.part", template.display()));
    copy_all(&built().store, &staged);
    fs::rename(&staged, template).unwrap();
}
