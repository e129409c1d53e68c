//! The cost of a run in the sandbox, compared with bwrap and podman. `cargo bench --bench sandbox` runs everything and
//! prints ratios; `-- trivial` runs one part; `--quick` is a smoke test.
//!
//! | part | what | against |
//! |---|---|---|
//! | `trivial` | busybox's `true` in the sandbox, mean | `bwrap` and `podman run` with the same files |
//! | `large` | the same with 20,000 files in the image: it is bind-mounted, not copied | the small image |

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a benchmark: it panics on errors, and prints"
)]

#[allow(dead_code, reason = "the engine's benchmark uses the rest")]
#[path = "../engine/bench.rs"]
mod bench;
#[allow(dead_code, reason = "the engine's benchmark uses the rest")]
#[path = "../engine/measure.rs"]
mod measure;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use bench::Bench;
use measure::{note, ratio, show, title, verdict};
use tinderbox::internals::sandbox::{Ended, Limits, Program, Sandbox};

fn main() {
    bench::run(&[("trivial", trivial), ("large", large)]);
}

fn trivial(bench: &Bench) {
    let times = bench.size(200, 5);
    title(&format!("a trivial program, mean of {times}"));
    let Some(image) = image(bench, "small", 0) else { return };
    let ours = ours(bench, &image, times);
    note("ours", &show(ours));
    if let Some(bwrap) = mean(times, || bwrap(&image)) {
        note("bwrap", &show(bwrap));
        let ratio = ratio(ours, bwrap);
        verdict("ours / bwrap", ratio, "×", "at most 2", ratio <= 2.0);
    }
    let Some(name) = podman_image(bench, &image) else {
        return note("podman", "not installed, or cannot run");
    };
    if let Some(podman) =
        mean(bench.size(10, 1), || podman(bench, &["run", "--rm", "--network=none", &name, "/bin/true"]))
    {
        note("podman", &show(podman));
        let ratio = ratio(podman, ours);
        verdict("podman / ours", ratio, "×", "at least 10", ratio >= 10.0);
    }
}

fn large(bench: &Bench) {
    let files = bench.size(20_000, 500);
    title(&format!("an image of {files} files"));
    let (Some(small), Some(large)) = (image(bench, "small", 0), image(bench, "large", files)) else {
        return;
    };
    let times = bench.size(100, 5);
    let (small, large) = (ours(bench, &small, times), ours(bench, &large, times));
    note("one file", &show(small));
    note("many", &show(large));
    let ratio = ratio(large, small);
    verdict("many / one", ratio, "×", "at most 1.5", ratio <= 1.5);
}

/// An image with busybox and this many other files.
fn image(bench: &Bench, name: &str, files: usize) -> Option<PathBuf> {
    let root = bench.root.join(name);
    if !Path::new("/bin/busybox").exists() {
        note("left out", "no /bin/busybox (Debian's busybox-static)");
        return None;
    }
    let _ = fs::remove_dir_all(&root);
    fs::create_dir_all(root.join("bin")).unwrap();
    fs::copy("/bin/busybox", root.join("bin/busybox")).unwrap();
    std::os::unix::fs::symlink("busybox", root.join("bin/true")).unwrap();
    for number in 0..files {
        let dir = root.join(format!("usr/share/{}", number / 200));
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join(number.to_string()), "x").unwrap();
    }
    Some(root)
}

fn ours(bench: &Bench, image: &Path, times: u16) -> Duration {
    let sandbox = Sandbox::default();
    let room = bench.root.join("room");
    let _ = fs::remove_dir_all(&room);
    fs::create_dir_all(room.join("out")).unwrap();
    let (argv, environment) = (["/bin/true".to_owned()], BTreeMap::new());
    let program = Program {
        root: image,
        argv: &argv,
        environment: &environment,
        directory: "/out",
        inputs: &[],
        output: &room.join("out"),
        scratch: &room,
        addresses: &[],
        registry: None,
        limits: Limits::default(),
    };
    let run = || {
        let ran = sandbox.run(&program, &AtomicBool::new(false)).unwrap();
        assert_eq!(ran.ended, Ended::Exited(0));
        true
    };
    run();
    mean(times, run).unwrap()
}

/// The mean time of a run that must succeed; none if it fails.
fn mean(times: u16, run: impl Fn() -> bool) -> Option<Duration> {
    if !run() {
        return None; // the first run does not count
    }
    let start = Instant::now();
    for _ in 0..times {
        assert!(run());
    }
    Some(start.elapsed() / u32::from(times))
}

fn quietly(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

fn bwrap(image: &Path) -> bool {
    let flags = [
        "--unshare-all",
        "--die-with-parent",
        "--new-session",
        "--clearenv",
        "--cap-drop",
        "ALL",
        "--ro-bind",
    ];
    let root = ["/", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "/bin/true"];
    // It needs existing mount points.
    for name in ["proc", "dev", "tmp"] {
        fs::create_dir_all(image.join(name)).unwrap();
    }
    quietly(Command::new("bwrap").args(flags).arg(image).args(root))
}

fn podman(bench: &Bench, args: &[&str]) -> bool {
    let storage = bench.root.join("podman");
    let limits = ["--ulimit=nofile=1024:1024", "--ulimit=nproc=4096:4096"];
    let mut command = Command::new("podman");
    command
        .args(["--cgroup-manager=cgroupfs", "--runtime=runc", "--storage-driver=vfs", "--root"])
        .arg(storage.join("root"));
    command.arg("--runroot").arg(storage.join("run"));
    match args {
        ["run", rest @ ..] => quietly(command.arg("run").args(limits).args(rest)),
        args => quietly(command.args(args)),
    }
}

/// The same files as a podman image.
fn podman_image(bench: &Bench, image: &Path) -> Option<String> {
    let archive = bench.root.join("image.tar");
    let made = quietly(Command::new("tar").arg("-cf").arg(&archive).arg("-C").arg(image).arg("."));
    let name = "tinderbox-bench".to_owned();
    (made && podman(bench, &["import", &archive.to_string_lossy(), &name])).then_some(name)
}
