//! Only `/release-manifests` of a release image, whose other layers are those of an operating system.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::Bench;
use crate::fetch::fetch;
use crate::made::{self, Census, Layer, Noise};
use crate::measure::{Times, mebibytes, note, ratio, row, run as run_once, settle, title, verdict};
use crate::peers::has;
use crate::place::{Place, Registry, skopeo};

pub(crate) fn run(bench: &Bench) {
    let count = bench.size(1_000, 100);
    let rounds = bench.size(7, 2);
    title(&format!("manifests: /release-manifests of a release of {count} manifests, {rounds} rounds"));
    let place = Place::new(bench);
    // Half of it hardly shrinks, the other half to a third: 100 MiB compressed.
    let mut layers = made::mixed(4, bench.size(150 << 20, 6 << 20));
    let mut noise = Noise::new(99);
    let manifests = (0..count).map(|at| (format!("0000_50_bench_{at:04}.yaml"), noise.text(8 << 10)));
    layers.push(Layer::new("release-manifests", manifests));
    let content = layers[layers.len() - 1].content;
    note("image", &format!("{} compressed", mebibytes(made::compressed(&layers))));
    let digest = made::put(&*place.target(), &place.name(), &layers);

    let theirs = match &place {
        Place::Registry(registry) if has("skopeo", "skopeo") && has("tar", "tar") => Some(registry),
        _ => None,
    };
    let (mut ours, mut copied) = (Times::default(), Times::default());
    for _ in 0..rounds {
        let store = bench.dir("store");
        settle(&store);
        let fetched = fetch(&place, &digest, "\"/release-manifests\"", &store, None);
        assert_eq!(Census::of(&fetched.path), content);
        ours.push(fetched.time);
        if let Some(registry) = theirs {
            copied.push(skopeo_tar(bench, registry, content));
        }
    }
    row("tinderbox, synced", &ours);
    if theirs.is_some() {
        row("skopeo copy + tar -xzf of every layer", &copied);
        let times = ratio(copied.min(), ours.min());
        verdict("(skopeo + tar) / tinderbox, min", times, "", "at least 3", times >= 3.0);
    }
}

fn skopeo_tar(bench: &Bench, registry: &Registry, content: Census) -> Duration {
    let dir = bench.dir("skopeo");
    settle(&dir);
    let copied = run_once(&mut skopeo(registry, &dir.join("layout")));
    let start = Instant::now();
    let layers = layers(&dir.join("layout"));
    for layer in layers {
        // It fails for a layer without manifests, which is not an error here.
        let mut tar = Command::new("tar");
        tar.arg("-C").arg(&dir).arg("-xzf").arg(layer).arg("release-manifests");
        tar.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
    }
    let unpacked = start.elapsed();
    assert_eq!(Census::of(&dir.join("release-manifests")), content);
    copied + unpacked
}

/// The layers of the only image in a layout.
fn layers(layout: &Path) -> Vec<std::path::PathBuf> {
    let blob =
        |digest: &serde_json::Value| layout.join("blobs").join(digest.as_str().unwrap().replace(':', "/"));
    let json =
        |path: &Path| -> serde_json::Value { serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap() };
    let index = json(&layout.join("index.json"));
    let manifest = json(&blob(&index["manifests"][0]["digest"]));
    manifest["layers"].as_array().unwrap().iter().map(|layer| blob(&layer["digest"])).collect()
}
