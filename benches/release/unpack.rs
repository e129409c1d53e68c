//! A whole image, from the registry to hashed and synced in the store.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::Bench;
use crate::fetch::{Fetched, fetch};
use crate::made::{self, Census};
use crate::measure::{Times, mebibytes, note, ratio, row, run as run_once, settle, title, verdict};
use crate::peers::has;
use crate::place::{Place, Registry, skopeo};

const LAYERS: usize = 5;
/// Our memory limit, independent of the layers' size.
const MEMORY: u64 = 150 << 20;

pub(crate) fn run(bench: &Bench) {
    let size = bench.size(1 << 30, 20 << 20);
    let rounds = bench.size(3, 1);
    title(&format!(
        "unpack: an image of {} in {LAYERS} gzip layers, from a registry, {rounds} rounds",
        mebibytes(size)
    ));
    let place = Place::new(bench);
    let layers = made::mixed(LAYERS, size);
    let content = Census::of_layers(&layers);
    let compressed = made::compressed(&layers);
    note("image", &format!("{} files, {} compressed", content.files, mebibytes(compressed)));
    let digest = made::put(&*place.target(), &place.name(), &layers);
    drop(layers);

    let theirs = match &place {
        Place::Registry(registry) if has("skopeo", "skopeo") && has("umoci", "umoci") => Some(registry),
        _ => None,
    };
    let (mut ours, mut kept) = (Times::default(), Times::default());
    let (mut copied, mut synced) = (Times::default(), Times::default());
    let mut all: Vec<Fetched> = Vec::new();
    for _ in 0..rounds {
        let store = bench.dir("store");
        settle(&store);
        let fetched = fetch(&place, &digest, "\"/\"", &store, None);
        assert_eq!(Census::of(&fetched.path), content);
        ours.push(fetched.time);
        all.push(fetched);
        if let Some(registry) = theirs {
            let (time, sync) = skopeo_umoci(bench, registry, content);
            copied.push(time);
            synced.push(time + sync);
        }
        let (store, blobs) = (bench.dir("store"), bench.dir("blobs"));
        settle(&store);
        kept.push(fetch(&place, &digest, "\"/\"", &store, Some(&blobs)).time);
    }
    row("tinderbox, synced", &ours);
    row("tinderbox, synced, blobs kept as well", &kept);
    if theirs.is_some() {
        row("skopeo copy + umoci unpack", &copied);
        row("skopeo copy + umoci unpack + sync -f", &synced);
        let times = ratio(copied.min(), ours.min());
        verdict("(skopeo + umoci) / tinderbox, min", times, "", "at least 2", times >= 2.0);
    }
    let memory = all.iter().map(|one| one.memory).max().unwrap();
    let mib = memory as f64 / f64::from(1 << 20);
    verdict("peak memory, max", mib, " MiB", "under 150", memory < MEMORY);
    // A layout's layers are necessarily read from files.
    let source = if let Place::Layout(_) = place { compressed } else { 0 };
    let moved = all.iter().map(|one| one.written + one.read).max().unwrap().saturating_sub(source);
    let passes = moved as f64 / content.bytes as f64;
    // Nothing is read back or written twice; the rest are listings and loaded binaries.
    let rest = bench.size(1.05, 2.0);
    verdict("bytes written and read back / content", passes, "", "one pass", passes <= rest);
}

/// Their time, and the time of the sync that they omit.
fn skopeo_umoci(bench: &Bench, registry: &Registry, content: Census) -> (Duration, Duration) {
    let dir = bench.dir("umoci");
    settle(&dir);
    let copied = run_once(&mut skopeo(registry, &dir.join("layout")));
    let mut umoci = Command::new("umoci");
    umoci.arg("unpack").arg("--image").arg(format!("{}:made", dir.join("layout").display()));
    if !is_root() {
        umoci.arg("--rootless");
    }
    let unpacked = run_once(umoci.arg(dir.join("bundle")));
    let synced = run_once(Command::new("sync").arg("-f").arg(&dir));
    assert_eq!(Census::of(&dir.join("bundle/rootfs")), content);
    (copied + unpacked, synced)
}

fn is_root() -> bool {
    std::os::unix::fs::MetadataExt::uid(&std::fs::metadata(Path::new("/proc/self")).unwrap()) == 0
}
