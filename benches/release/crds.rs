//! Payload, images, and the applicable CRDs and feature gates of an unpacked release.
//!
//! The files are OpenShift's own if `TINDERBOX_TEST_DATA` has them, as for the tests; else the demo release's,
//! repeated.

use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::json;
use tinderbox::internals::registry::{Layout, Sha256};

use crate::Bench;
use crate::fetch::{build, graph, image_recipe, opened};
use crate::made::{self, Census, Layer};
use crate::measure::{Times, mebibytes, note, row, settle, title, verdict};
use crate::place::Place;

/// Name and content.
type File = (String, Vec<u8>);

/// The files of a release, in the layout of a real one.
struct Release {
    api: Vec<File>,
    own: Vec<File>,
    payload: Vec<File>,
}

const TARGETS: [&str; 4] = ["release/payload", "release/images", "release/crds", "release/featuregate"];
/// Number of components in a release.
const COMPONENTS: usize = 190;

pub(crate) fn run(bench: &Bench) {
    title("crds: payload, images, crds and featuregate of an unpacked release, all in one build, synced");
    let data = std::env::var_os("TINDERBOX_TEST_DATA").map(|data| PathBuf::from(data).join("openshift-api"));
    match data.filter(|data| data.join("4.18/crds").is_dir()) {
        Some(data) => ["4.18", "4.19"].into_iter().for_each(|version| {
            one(bench, version, real(&data.join(version)));
        }),
        None => {
            note("TINDERBOX_TEST_DATA", "names no real files: the demo release's, repeated");
            one(bench, "demo", demo());
        }
    }
}

fn one(bench: &Bench, version: &str, mut release: Release) {
    let crds = release.api.len() + release.own.len();
    let size: usize = [&release.api, &release.own, &release.payload]
        .into_iter()
        .flatten()
        .map(|(_, bytes)| bytes.len())
        .sum();
    note(version, &format!("{crds} CRD files, {} in all", mebibytes(size as u64)));
    release.payload.push(("image-references".into(), references()));
    let metadata = json!({"kind": "cincinnati-metadata-v0", "version": "4.18.0", "previous": []});
    release.payload.push(("release-metadata".into(), metadata.to_string().into_bytes()));

    let layout = bench.dir("layout");
    let place = Place::Layout(layout.clone());
    let put = |layers: &[Layer]| made::put(&*place.target(), &place.name(), layers);
    let api = put(&[Layer::new("manifests", release.api.into_iter())]);
    let image = put(&[
        Layer::new("manifests", release.own.into_iter()),
        Layer::new("release-manifests", release.payload.into_iter()),
    ]);
    let recipes = ["payload", "images", "crds", "featuregate"].map(|name| {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("recipes/10-release/{name}.toml"));
        (name, std::fs::read_to_string(file).unwrap())
    });
    let both = "\"/release-manifests\", \"/manifests\"";
    let images =
        [("image", image_recipe("digest", both)), ("config-api", image_recipe("api", "\"/manifests\""))];
    let recipes: Vec<_> = recipes.into_iter().chain(images).collect();
    let graph = graph(&recipes, &[("digest", image.to_string()), ("api", api.to_string())]);
    let images = opened(std::sync::Arc::new(Layout::open(&layout).unwrap()), place.name());

    let (mut times, mut chosen) = (Times::default(), 0);
    for _ in 0..bench.size(15, 2) {
        let store = bench.dir("store");
        build(&graph, &store, &images, &["release/image", "release/config-api"]);
        settle(&store);
        let start = Instant::now();
        let built = build(&graph, &store, &images, &TARGETS);
        times.push(start.elapsed());
        chosen = Census::of(&built[2]).files;
    }
    note(&format!("{version}: CRDs that apply"), &chosen.to_string());
    row(&format!("{version}: tinderbox, synced"), &times);
    let milliseconds = times.min().as_secs_f64() * 1e3;
    verdict(&format!("{version}: in all, min"), milliseconds, " ms", "under 100", milliseconds < 100.0);
}

fn references() -> Vec<u8> {
    let tags = (0..COMPONENTS).map(|at| {
        let digest = Sha256::of(at.to_string().as_bytes());
        json!({"name": format!("component-{at}"), "from": {"kind": "DockerImage", "name": format!("registry.example.com/ocp/art@{digest}")}})
    });
    json!({"kind": "ImageStream", "apiVersion": "image.openshift.io/v1", "spec": {"tags": tags.collect::<Vec<_>>()}})
        .to_string()
        .into_bytes()
}

/// Files of a folder, in order.
fn files(folder: &Path) -> Vec<File> {
    let mut files: Vec<File> = std::fs::read_dir(folder)
        .unwrap()
        .map(|file| {
            let file = file.unwrap();
            (file.file_name().into_string().unwrap(), std::fs::read(file.path()).unwrap())
        })
        .collect();
    files.sort_unstable();
    files
}

fn real(data: &Path) -> Release {
    let gates = files(&data.join("featuregates"));
    let gates = gates.into_iter().map(|(file, text)| (format!("0000_50_cluster-config-api_{file}"), text));
    Release {
        api: files(&data.join("crds")),
        own: files(&data.join("cvo")),
        payload: gates.chain(files(&data.join("network"))).collect(),
    }
}

/// The demo release's files, with as many CRDs as a real release.
fn demo() -> Release {
    let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/openshift/demo/files");
    let all = |folder: &str| -> Vec<File> {
        let folders = ["common", "4.18"].map(|version| demo.join(version).join(folder));
        folders.iter().filter(|folder| folder.is_dir()).flat_map(|folder| files(folder)).collect()
    };
    let (gates, crds): (Vec<File>, Vec<File>) =
        all("cluster-config-api/manifests").into_iter().partition(|(file, _)| file.starts_with("feature"));
    let repeated = (0..100_usize.div_ceil(crds.len())).flat_map(|round| {
        crds.iter().map(move |(file, bytes)| {
            let text =
                String::from_utf8_lossy(bytes).replacen("\n  name: ", &format!("\n  name: r{round}-"), 1);
            (format!("r{round}_{file}"), text.into_bytes())
        })
    });
    Release { api: repeated.collect(), own: all("release/manifests"), payload: gates }
}
