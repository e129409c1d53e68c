//! Our side: recipes built by the real scheduler, in this or in a child process.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use tinderbox::internals::exec::{self, BuildContext, Options};
use tinderbox::internals::fields::{Field, Fields};
use tinderbox::internals::hint::Place as Source;
use tinderbox::internals::recipe::{self, Graph, Sources};
use tinderbox::internals::registry::{Cached, Deferred, ImageName, Images, Opened, Sha256};
use tinderbox::internals::remote::Farms;
use tinderbox::internals::sandbox::Sandbox;
use tinderbox::internals::store::{Session, Store};
use tinderbox::internals::value::Value;

use crate::place::{self, Place};

/// The first argument of a child process.
pub(crate) const HIDDEN: &str = "--fetch";

/// Files of an image, like `recipes/10-release/image.toml`.
pub(crate) fn image_recipe(digest: &str, paths: &str) -> String {
    format!(
        "# Files of an image.\nbuilder = \"image\"\n\n[config]\ndigest = \"lock.release.{digest}\"\n\
         architecture = \"lock.release.architecture\"\n\n[params]\npaths = [{paths}]\n"
    )
}

/// A graph of these recipes in stage `release`, with these fields below `lock.release`.
pub(crate) fn graph(recipes: &[(&str, String)], release: &[(&str, String)]) -> Graph {
    let mut sources = Sources::default();
    for (name, text) in recipes {
        sources.add(format!("10-release/{name}.toml"), (*name).to_owned(), text.clone());
    }
    let mut fields: BTreeMap<String, Value> =
        release.iter().map(|(name, text)| ((*name).to_owned(), Value::from(text.as_str()))).collect();
    fields.insert("architecture".into(), "amd64".into());
    let lock = Value::Map([("release".to_owned(), Value::Map(fields))].into());
    let origins = [Source::file("cluster.lock")].into();
    let features = [("featureGates", Value::List(Vec::new())), ("featureSet", Value::from(""))];
    let roots = [("lock", lock)].into_iter().chain(features);
    let roots = roots.map(|(name, value)| (name.to_owned(), Field::data(value, &origins))).collect();
    recipe::load(&sources, &Fields::new(roots), &recipe::Names::default()).unwrap()
}

/// Builds targets of a graph, all of which must be new and succeed. Returns their paths.
pub(crate) fn build(graph: &Graph, store: &Path, images: &Deferred, targets: &[&str]) -> Vec<PathBuf> {
    let store = Store::open_or_create(store).unwrap();
    let session = Session::open(&store, None).unwrap();
    let (cancel, sandbox) = (AtomicBool::new(false), Sandbox::default());
    let context = BuildContext {
        builders: tinderbox::internals::builders::ALL,
        graph,
        session: &session,
        events: &(),
        cancel: &cancel,
        images: Some(images),
        files: None,
        seed: None,
        sandbox: &sandbox,
        caches: None,
        trust: &[],
        farms: &Farms::default(),
    };
    let targets: Vec<_> = targets.iter().map(|name| graph.find(name).unwrap()).collect();
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    let outcome = exec::build(context, &targets, Options { jobs, ..Options::default() }).unwrap();
    if let Some((name, error)) = outcome.failed.first() {
        panic!("{name}: {}", tinderbox::internals::hint::chain(&**error));
    }
    assert_eq!(outcome.built.len(), targets.len(), "{:?} were there already", outcome.cached);
    targets.iter().map(|at| exec::path_of(context, &outcome.done[at].output)).collect()
}

/// An opened source.
pub(crate) fn opened(images: Arc<dyn Images>, name: ImageName) -> Deferred {
    Deferred::new(move || Ok(Opened { images: Arc::clone(&images), name: name.clone() }))
}

/// The result of a child process.
pub(crate) struct Fetched {
    /// From start to end.
    pub(crate) time: Duration,
    /// Peak memory.
    pub(crate) memory: u64,
    /// Bytes read from files, without the network.
    pub(crate) read: u64,
    pub(crate) written: u64,
    pub(crate) path: PathBuf,
}

/// Fetches paths of an image into a store, in a child process. With `blobs`, layers are cached there too.
pub(crate) fn fetch(
    place: &Place,
    digest: &Sha256,
    paths: &str,
    store: &Path,
    blobs: Option<&Path>,
) -> Fetched {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.arg(HIDDEN).arg(place.argument()).arg(place.name().to_string()).arg(digest.to_string());
    command.arg(paths).arg(store).args(blobs).stdin(Stdio::null()).stderr(Stdio::inherit());
    let start = Instant::now();
    let output = command.output().unwrap();
    let time = start.elapsed();
    assert!(output.status.success(), "{command:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let (path, numbers) = text.split_once('\n').unwrap();
    let mut numbers = numbers.split_whitespace().map(|number| number.parse().unwrap());
    let mut number = || numbers.next().unwrap();
    Fetched { time, memory: number(), read: number(), written: number(), path: path.into() }
}

/// The child's side of [`fetch`]: builds, and prints the system's statistics about this process.
pub(crate) fn child(arguments: &[String]) {
    let [place, name, digest, paths, store, blobs @ ..] = arguments else { panic!("too few arguments") };
    let mut images = place::open(place);
    if let Some(blobs) = blobs.first() {
        images = Arc::new(Cached::new(blobs, images).unwrap());
    }
    let graph = graph(&[("image", image_recipe("digest", paths))], &[("digest", digest.clone())]);
    let images = opened(images, name.parse().unwrap());
    let built = build(&graph, Path::new(store), &images, &["release/image"]);
    let memory = field("/proc/self/status", "VmHWM:") * 1024;
    println!(
        "{}\n{memory} {} {}",
        built[0].display(),
        field("/proc/self/io", "rchar:"),
        field("/proc/self/io", "wchar:")
    );
}

fn field(file: &str, name: &str) -> u64 {
    let text = std::fs::read_to_string(file).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}
