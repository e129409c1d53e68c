//! Inputs: cluster directories of a given size, the same graph for Nix, and directories with many files.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Bench;
use crate::measure;

/// The program under test, as built by cargo for this benchmark.
const TINDERBOX: &str = env!("CARGO_BIN_EXE_tinderbox");

impl Bench {
    /// The program under test, which only sees the given store.
    pub(crate) fn tinderbox(&self, store: &Path) -> Command {
        let mut command = Command::new(TINDERBOX);
        command
            .env_remove("TINDERBOX_STORE")
            .env("HOME", &self.root)
            .arg("--quiet")
            .arg("--store")
            .arg(store);
        command
    }
}

/// Layers of a graph: a derivation needs one of the layer before.
const DEPTH: usize = 10;

/// The example cluster in a new directory, with its lock and seed.
pub(crate) fn example(bench: &Bench, name: &str) -> PathBuf {
    let dir = bench.dir(name);
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/ocp4");
    for file in ["install-config.yaml", "cluster.yaml"] {
        std::fs::copy(example.join(file), dir.join(file)).unwrap();
    }
    dir
}

/// Adds recipes to a cluster directory: templates with a config field, each needing one of the layer before.
pub(crate) fn add_recipes(dir: &Path, folder: &str, count: usize) {
    let stage = dir.join("recipes").join(folder);
    std::fs::create_dir_all(&stage).unwrap();
    let (_, name) = folder.split_once('-').unwrap();
    for at in 0..count {
        let below = below(at);
        let input = below
            .map_or_else(String::new, |below| format!("[inputs]\nbelow = \"{name}/bench-{below:05}\"\n\n"));
        let recipe = format!(
            "# A manifest like many others, for the benchmark.\nbuilder = \"template\"\n\n{input}\
             [config]\ndomain = \"cluster.domain\"\n\n[files]\n\"bench-{at:05}.yaml\" = \"bench-{at:05}.yaml.j2\"\n"
        );
        let text = if below.is_some() { "{% for path in below %}{{ path }}{% endfor %}" } else { "nothing" };
        let template = format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: bench-{at:05}\n  namespace: openshift-config\n\
             data:\n  domain: {{{{ domain | quote }}}}\n  below: {text}\n"
        );
        std::fs::write(stage.join(format!("bench-{at:05}.toml")), recipe).unwrap();
        std::fs::write(stage.join(format!("bench-{at:05}.yaml.j2")), template).unwrap();
    }
}

/// A file for `nix-build` with as many derivations, connected in the same way, and one that needs all.
pub(crate) fn nix_graph(path: &Path, count: usize) {
    let mut text = String::from(
        "let\n  make = name: below: text: derivation {\n    inherit name below;\n    system = builtins.currentSystem;\n    \
         builder = \"/bin/sh\";\n    args = [ \"-c\" \"echo '${text}' > $out\" ];\n  };\n",
    );
    for at in 0..count - 1 {
        let below = below(at).map_or_else(String::new, |below| format!("d{below}"));
        writeln!(text, "  d{at} = make \"bench-{at}\" [ {below} ] \"ConfigMap {at} of ocp4.example.com\";")
            .unwrap();
    }
    let all: Vec<String> = (0..count - 1).map(|at| format!("d{at}")).collect();
    writeln!(text, "in make \"cluster\" [ {} ] \"cluster\"", all.join(" ")).unwrap();
    std::fs::write(path, text).unwrap();
}

fn below(at: usize) -> Option<usize> {
    (!at.is_multiple_of(DEPTH)).then(|| at - 1)
}

/// The number of derivations that a build of these targets has.
pub(crate) fn derivations(bench: &Bench, dir: &Path, store: &Path, targets: &[&str]) -> usize {
    let text = measure::output(
        bench.tinderbox(store).arg("-C").arg(dir).args(["--json", "build", "--dry-run"]).args(targets),
    );
    let plan: serde_json::Value = serde_json::from_str(&text).unwrap();
    let count = |field: &str| plan[field].as_array().map_or(0, Vec::len);
    count("would_build") + count("cached")
}

/// A directory with this many different files of this size; 100 files per folder.
pub(crate) fn files(dir: &Path, count: usize, size: usize) {
    let mut bytes = vec![0; size];
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for at in 0..count {
        for word in bytes.chunks_mut(8) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            word.copy_from_slice(&state.to_le_bytes()[..word.len()]);
        }
        let folder = dir.join(format!("d{:03}", at / 100));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(format!("f{at:05}")), &bytes).unwrap();
    }
}
