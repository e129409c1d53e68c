//! A closure from a registry on this machine, against building it; many small objects, against `skopeo copy` of the same entries, one
//! by one, which is what a cache of plain images would be.

use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::Bench;
use crate::clusters::{add_recipes, example};
use crate::measure::{Times, note, output, ratio, row, run as run_once, settle, title, verdict};
use crate::peers::has;

/// Docker's registry with TLS; killed on drop.
struct Registry {
    child: Child,
    address: String,
    dir: PathBuf,
}

impl Drop for Registry {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Registry {
    fn start(bench: &Bench) -> Option<Self> {
        if !has("docker-registry", "docker-registry") || !has("openssl", "openssl") {
            return None;
        }
        let dir = bench.dir("registry");
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let address = format!("127.0.0.1:{port}");
        let request = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=x -addext \
                       subjectAltName=IP:127.0.0.1 -addext basicConstraints=critical,CA:FALSE -keyout tls.key -out tls.crt";
        run_once(
            Command::new("openssl").args(request.split_whitespace()).current_dir(&dir).stderr(Stdio::null()),
        );
        let config = format!(
            "version: 0.1\nlog: {{level: error}}\nstorage: {{filesystem: {{rootdirectory: {0}/data}}}}\n\
             http: {{addr: '{address}', secret: x, tls: {{certificate: {0}/tls.crt, key: {0}/tls.key}}}}\n",
            dir.display()
        );
        std::fs::write(dir.join("config.yml"), config).unwrap();
        let child = Command::new("docker-registry")
            .args(["serve", "config.yml"])
            .current_dir(&dir)
            .env("OTEL_TRACES_EXPORTER", "none")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let registry = Self { child, address, dir };
        let began = Instant::now();
        while TcpStream::connect(&registry.address).is_err() {
            assert!(began.elapsed() < Duration::from_secs(20), "docker-registry does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
        Some(registry)
    }

    /// Names it as a cache of a cluster directory, which trusts this key.
    fn name_in(&self, dir: &Path, trust: &str) {
        std::fs::copy(self.dir.join("tls.crt"), dir.join("registry.crt")).unwrap();
        let path = dir.join("cluster.yaml");
        let text = std::fs::read_to_string(&path).unwrap();
        let text = text.split("\ncaches:").next().unwrap();
        let caches =
            format!("caches: [{{url: 'oci://{}/bench', ca: registry.crt, trust: [{trust}]}}]", self.address);
        std::fs::write(&path, format!("{text}\n{caches}\n")).unwrap();
    }
}

/// Builds in a store of its own, and pushes. The public half of the key that signed.
fn push(bench: &Bench, registry: &Registry, dir: &Path, key: &Path, targets: &[&str]) -> String {
    let store = bench.dir("pushed");
    let shown = output(bench.tinderbox(&store).args(["--json", "key", "show", "--key"]).arg(key));
    let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
    let trust = format!("{{key: '{}'}}", shown["public"].as_str().unwrap());
    registry.name_in(dir, "");
    run_once(bench.tinderbox(&store).arg("-C").arg(dir).arg("build").args(targets));
    run_once(bench.tinderbox(&store).arg("-C").arg(dir).arg("push").arg("--key").arg(key).args(targets));
    registry.name_in(dir, &trust);
    trust
}

pub(crate) fn run(bench: &Bench) {
    title("cache: from docker-registry on this machine, with TLS, into an empty store, whole process");
    let Some(registry) = Registry::start(bench) else { return };
    let key = bench.dir("key").join("signing.key");
    run_once(bench.tinderbox(&bench.dir("none")).args(["key", "generate", "--key"]).arg(&key));
    closure(bench, &registry, &key);
    many(bench, &registry, &key);
}

/// Everything of the example that is public, and what only the holder of the seed can make.
fn closure(bench: &Bench, registry: &Registry, key: &Path) {
    let dir = example(bench, "closure");
    run_once(bench.tinderbox(&bench.dir("closure-lock")).arg("-C").arg(&dir).arg("lock"));
    push(bench, registry, &dir, key, &[]);
    let runs = bench.size(10, 1);
    let (mut built, mut taken) = (Times::default(), Times::default());
    for _ in 0..runs {
        for (more, times) in [(&["--no-cache"][..], &mut built), (&[], &mut taken)] {
            let store = bench.dir("closure-store");
            settle(&store);
            times.push(run_once(bench.tinderbox(&store).arg("-C").arg(&dir).arg("build").args(more)));
        }
    }
    row("the example, built", &built);
    row("the example, taken; secrets built", &taken);
    let times = ratio(built.min(), taken.min());
    verdict("built / taken, min", times, "", "above 1 with a real MCO", times > 1.0);
}

/// Templates, each an output of its own.
fn many(bench: &Bench, registry: &Registry, key: &Path) {
    let count = bench.size(1000, 20);
    let dir = example(bench, "many");
    add_recipes(&dir, "15-many", count);
    run_once(bench.tinderbox(&bench.dir("many-lock")).arg("-C").arg(&dir).arg("lock"));
    push(bench, registry, &dir, key, &["many"]);
    let mut ours = Times::default();
    for _ in 0..bench.size(5, 1) {
        let store = bench.dir("many-store");
        settle(&store);
        ours.push(run_once(bench.tinderbox(&store).arg("-C").arg(&dir).args(["pull", "many"])));
    }
    row(&format!("pull of {count} small outputs"), &ours);
    if !has("skopeo", "skopeo") {
        return;
    }
    // The same entries; copying all of them would only take longer.
    let tags = registry.dir.join("data/docker/registry/v2/repositories/bench/_manifests/tags");
    let tags = std::fs::read_dir(tags).unwrap().map(|tag| tag.unwrap().file_name().into_string().unwrap());
    let tags: Vec<String> = tags.filter(|tag| tag.starts_with("drv-")).take(bench.size(100, 2)).collect();
    let to = bench.dir("skopeo");
    let start = Instant::now();
    for tag in &tags {
        run_once(
            Command::new("skopeo")
                .args(["--insecure-policy", "copy", "--quiet", "--src-tls-verify=false"])
                .arg(format!("docker://{}/bench:{tag}", registry.address))
                .arg(format!("dir:{}", to.join(tag).display())),
        );
    }
    let each = start.elapsed() / tags.len() as u32;
    note("skopeo copy, each", &crate::measure::show(each));
    let times = ratio(each * count as u32, ours.min());
    verdict("skopeo copy one by one / pull", times, "", "at least 5", times >= 5.0);
}
