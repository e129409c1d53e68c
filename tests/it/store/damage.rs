//! Any single damage of any path of a real store, by the program: `verify` names it, one `repair` heals it or says what is lost,
//! and a second `verify` is clean. `engine::store::damage` visits every path of a small store; this takes one path of each
//! class here, and all of them in the tier `long`.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::built;
use crate::harness::{Workspace, mode, set_mode, tried};

type Inflict = fn(&Path);

const DAMAGES: [(&str, Inflict); 12] = [
    ("emptied", |path| rewrite(path, |bytes| bytes.clear())),
    ("shortened", |path| rewrite(path, |bytes| bytes.truncate(bytes.len() / 2))),
    ("a flipped bit", |path| rewrite(path, |bytes| *bytes.last_mut().unwrap() ^= 1)),
    ("garbage", |path| rewrite(path, |bytes| *bytes = b"\xff garbage".to_vec())),
    ("deleted", remove),
    ("a directory", |path| (remove(path), fs::create_dir_all(path.join("inside")).unwrap()).1),
    ("a pipe", |path| (remove(path), assert!(run("mkfifo", path))).1),
    ("a socket", |path| (remove(path), socket(path)).1),
    ("a link to a device", |path| (remove(path), symlink("/dev/zero", path).unwrap()).1),
    ("a link elsewhere", |path| (remove(path), symlink("/etc/passwd", path).unwrap()).1),
    ("without any mode", |path| set_mode(path, 0)),
    ("a foreign file", |path| fs::write(path.join("not-ours"), "mine").unwrap()),
];

fn socket(path: &Path) {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    mknodat(CWD, path, FileType::Socket, Mode::from_raw_mode(0o600), 0).unwrap();
}

fn run(program: &str, path: &Path) -> bool {
    Command::new(program).arg(path).status().unwrap().success()
}

fn remove(path: &Path) {
    let found = fs::symlink_metadata(path).unwrap();
    if found.is_dir() {
        assert!(Command::new("chmod").args(["-R", "u+rwX"]).arg(path).status().unwrap().success());
        fs::remove_dir_all(path).unwrap();
    } else {
        fs::remove_file(path).unwrap();
    }
}

/// Changes a file in place.
fn rewrite(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(path).unwrap();
    change(&mut bytes);
    let before = mode(path);
    set_mode(path, 0o600);
    fs::write(path, bytes).unwrap();
    set_mode(path, before);
}

/// Damages a path, whatever the mode of its directory. False if that means nothing for it.
fn damage(path: &Path, (what, inflict): (&str, Inflict)) -> bool {
    let found = fs::symlink_metadata(path).unwrap();
    let fits = match what {
        "a foreign file" => found.is_dir(),
        "emptied" | "shortened" | "a flipped bit" => found.is_file() && found.len() > 0,
        "garbage" => found.is_file(),
        "a directory" => !found.is_dir(),
        "without any mode" => !found.is_symlink(),
        _ => true,
    };
    let parent = path.parent().unwrap();
    let before = (mode(parent), mode(path));
    if fits {
        set_mode(parent, 0o700);
        if what == "a foreign file" {
            set_mode(path, 0o700);
        }
        inflict(path);
        if what == "a foreign file" {
            set_mode(path, before.1);
        }
        if parent.exists() {
            set_mode(parent, before.0);
        }
    }
    fits
}

/// The paths of a store by class: names that are ids, numbers or digests count as one. Of the objects, those of one artifact,
/// and one with secrets.
fn classes(ws: &Workspace) -> BTreeMap<String, Vec<PathBuf>> {
    let mut classes: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    let mut open = vec![ws.store.clone()];
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(dir).unwrap().map(Result::unwrap) {
            let (path, kind) = (entry.path(), entry.file_type().unwrap());
            let below = path.strip_prefix(&ws.store).unwrap().to_str().unwrap().to_owned();
            if kind.is_dir() {
                open.push(path.clone());
            }
            let class = match below.strip_prefix(".tinderbox") {
                None if below.contains('/') => format!("object/{kind:?}/{:o}", mode(&path)),
                None if below.len() > 52 => "object".to_owned(),
                _ => ws.filter(&below).trim_end().replace(|c: char| c.is_ascii_digit(), "#"),
            };
            classes.entry(class).or_default().push(path);
        }
    }
    classes.values_mut().for_each(|paths| paths.sort());
    classes
}

/// What deletes without damage, as `engine::store::layout` lists it.
fn is_harmless(below: &str, what: &str) -> bool {
    let parts: Vec<&str> = below.split('/').skip(1).collect();
    matches!(
        (parts.as_slice(), what),
        (["tmp", ..], "a foreign file")
            | (["realisations" | "links" | "logs" | "locks", _], "deleted")
            | (["logs" | "blobs" | "downloads", ..], "deleted")
            | (["roots", _] | ["roots", _, "state" | "current" | "downloads"], "deleted")
    )
}

/// Runs a verb, which ends by itself: ten minutes are enough for any machine.
fn bounded(ws: &Workspace, args: &[&str]) -> Output {
    let command = ws.command(args);
    let mut timeout = Command::new("timeout");
    timeout.args(["--signal=KILL", "600"]).arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => timeout.env(name, value),
            None => timeout.env_remove(name),
        };
    }
    timeout.current_dir(command.get_current_dir().unwrap()).output().unwrap()
}

/// Whether a path that `verify` names is this one: itself, what is in it or what it is in, another name of the same bytes, the same
/// object, or, of files that say the same, the other one.
fn names(ws: &Workspace, found: &Path, path: &Path, before: &fs::Metadata) -> bool {
    let found = ws.store.join(found);
    let below = |path: &Path| path.strip_prefix(&ws.store).unwrap_or(path).to_str().unwrap_or("").to_owned();
    let ids = |path: &Path| {
        let words = below(path);
        let words = words.split(['/', '-', '.']).filter(|word| word.len() == 52).map(str::to_owned);
        words.collect::<Vec<_>>()
    };
    let same = |path: &Path| {
        fs::symlink_metadata(path).is_ok_and(|now| (now.dev(), now.ino()) == (before.dev(), before.ino()))
    };
    let twin = |one: &str, other: &str| below(path).ends_with(one) && below(&found).ends_with(other);
    found.starts_with(path)
        || path.starts_with(&found) && !found.ends_with(".tinderbox")
        || same(&found)
        || ids(path).iter().any(|id| ids(&found).contains(id))
        || below(path).starts_with(".tinderbox/keys") && below(&found).contains("keys")
        || twin("last.json", "state")
        || below(path).contains("generations/") && below(&found).ends_with("current")
}

/// Damages, verifies, repairs and verifies.
fn heals(ws: &Workspace, path: &Path, one: (&str, Inflict)) -> bool {
    let below = path.strip_prefix(&ws.store).unwrap().to_str().unwrap();
    let before = fs::symlink_metadata(path).unwrap();
    if !damage(path, one) {
        return false;
    }
    let case = format!("{}: {below}", one.0);
    let verified = bounded(ws, &["store", "verify", "--json"]);
    if !is_harmless(below, one.0) {
        assert_eq!(verified.status.code(), Some(1), "{case}: {}", ws.text(&verified));
        let found: serde_json::Value = serde_json::from_slice(&verified.stdout).unwrap();
        let found: Vec<&str> =
            found["findings"].as_array().unwrap().iter().map(|one| one["path"].as_str().unwrap()).collect();
        let named = found.iter().any(|found| names(ws, Path::new(found), path, &before));
        assert!(named, "{case}: {found:?}");
    }
    let output = bounded(ws, &["store", "repair"]);
    assert_eq!(output.status.code(), Some(0), "{case}: {}{}", ws.text(&verified), ws.text(&output));
    let output = bounded(ws, &["store", "verify"]);
    assert_eq!(output.status.code(), Some(0), "{case}: {}", ws.text(&output));
    true
}

#[test]
fn a_path_of_each_class() {
    let ws = built();
    let classes = classes(&ws);
    let mut count = 0;
    for (at, paths) in classes.values().enumerate() {
        // Two of the damages for each; the small store has all of them.
        let fitting = (0..DAMAGES.len()).map(|step| DAMAGES[(at * 5 + step * 7) % DAMAGES.len()]);
        let mut left = 2;
        for one in fitting {
            if left > 0
                && (paths[0].exists() || ws.build(&[]).is_empty())
                && paths[0].exists()
                && heals(&ws, &paths[0], one)
            {
                left -= 1;
                count += 1;
            }
        }
    }
    assert!(count >= 40, "{count}");
    tried(&format!(
        "{count} damages of {} classes of paths of a store: named, and healed in one run",
        classes.len()
    ));
}

mod long {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    /// The paths of a store below it: one of each class, then the next of each, so that a run that somebody ends has seen
    /// all classes.
    fn paths(ws: &Workspace) -> Vec<PathBuf> {
        let mut all: Vec<_> =
            classes(ws).into_values().flat_map(|paths| paths.into_iter().enumerate()).collect();
        all.sort_by_key(|(at, _)| *at);
        all.into_iter().map(|(_, path)| path.strip_prefix(&ws.store).unwrap().to_owned()).collect()
    }

    /// Each damage of these paths, in a store of its own; how many there were, and those that were not healed. After one of
    /// those, the store is a new one.
    fn every_damage_of<'a>(paths: impl Iterator<Item = &'a PathBuf>) -> (u32, Vec<String>) {
        let mut ws = built();
        let (mut count, mut failed) = (0, Vec::new());
        for (at, path) in paths.enumerate() {
            if at % 50 == 0 {
                eprintln!("{at} paths, {count} damages, not healed: {failed:?}");
            }
            for one in DAMAGES {
                let path = ws.store.join(path);
                if !fs::exists(&path).unwrap() {
                    ws.build(&[]);
                }
                let done = catch_unwind(AssertUnwindSafe(|| {
                    fs::symlink_metadata(&path).is_ok() && heals(&ws, &path, one)
                }));
                match done {
                    Ok(done) => count += u32::from(done),
                    Err(_) => {
                        failed.push(format!("{}: {}", one.0, path.display()));
                        ws = built();
                    }
                }
            }
        }
        (count, failed)
    }

    /// Takes hours of processor time: 20,000 cases, three runs of the program each.
    #[test]
    #[ignore = "tier long"]
    fn every_damage_of_every_path() {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let all = paths(&built());
        let (mut count, mut failed) = (0, Vec::new());
        std::thread::scope(|scope| {
            let part = |first| every_damage_of(all.iter().skip(first).step_by(threads));
            let parts: Vec<_> = (0..threads).map(|first| scope.spawn(move || part(first))).collect();
            for part in parts {
                let (counted, mut bad) = part.join().unwrap();
                count += counted;
                failed.append(&mut bad);
            }
        });
        assert!(failed.is_empty(), "{failed:#?}");
        tried(&format!("{count} damages of every path of a store"));
    }
}
