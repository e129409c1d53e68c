//! Runs programs, times them, and prints the results.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The times of several runs.
#[derive(Default)]
pub(crate) struct Times(Vec<Duration>);

impl Times {
    pub(crate) fn push(&mut self, time: Duration) {
        self.0.push(time);
        self.0.sort_unstable();
    }

    pub(crate) fn min(&self) -> Duration {
        self.0[0]
    }

    pub(crate) fn median(&self) -> Duration {
        self.0[self.0.len() / 2]
    }
}

/// Runs a program to its end; it must succeed.
pub(crate) fn run(command: &mut Command) -> Duration {
    let start = Instant::now();
    let mut child = start_quietly(command);
    let status = child.wait().unwrap();
    let time = start.elapsed();
    assert!(status.success(), "{command:?}: {status}");
    time
}

/// Runs a program several times, after a warm-up run.
pub(crate) fn repeat(runs: usize, mut command: impl FnMut() -> Command) -> Times {
    run(&mut command());
    let mut times = Times::default();
    (0..runs).for_each(|_| times.push(run(&mut command())));
    times
}

/// Runs a program to its end, and returns its peak memory in bytes.
pub(crate) fn peak_memory(command: &mut Command) -> u64 {
    let mut child = start_quietly(command);
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    // The system keeps the peak itself; polling often only makes sure that the last poll is near the end.
    while child.try_wait().unwrap().is_none() {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        peak = peak.max(kib.unwrap_or(0) * 1024);
        std::thread::sleep(Duration::from_millis(1));
    }
    // For `diff`, 1 is an answer.
    assert!(child.wait().unwrap().code().is_some_and(|code| code < 2), "{command:?}");
    peak
}

/// The output of a program, which must succeed.
pub(crate) fn output(command: &mut Command) -> String {
    let done = command.stdin(Stdio::null()).output().unwrap();
    assert!(done.status.success(), "{command:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

fn start_quietly(command: &mut Command) -> Child {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

/// Waits for the disk, so that one side does not pay for the other's writes.
pub(crate) fn settle(dir: &Path) {
    tinderbox::internals::fs::sync_file_system(dir).unwrap();
}

pub(crate) fn title(text: &str) {
    println!("\n{text}");
}

pub(crate) fn row(what: &str, times: &Times) {
    println!("  {what:<46} min {:>10}   median {:>10}", show(times.min()), show(times.median()));
}

pub(crate) fn note(what: &str, value: &str) {
    println!("  {what:<46} {value}");
}

/// A ratio with its target. Without optimisation it is not judged.
pub(crate) fn verdict(what: &str, value: f64, unit: &str, target: &str, reached: bool) {
    let judged = match (cfg!(debug_assertions), reached) {
        (true, _) => "not judged: compiled without optimisation",
        (false, true) => "reached",
        (false, false) => "MISSED",
    };
    println!("  {what:<46} {value:.2}{unit} (target: {target}; {judged})");
}

pub(crate) fn ratio(one: Duration, other: Duration) -> f64 {
    one.as_secs_f64() / other.as_secs_f64()
}

/// A time in a suitable unit.
pub(crate) fn show(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    match seconds {
        _ if seconds >= 1.0 => format!("{seconds:.2} s"),
        _ if seconds >= 0.001 => format!("{:.2} ms", seconds * 1e3),
        _ => format!("{:.1} µs", seconds * 1e6),
    }
}

pub(crate) fn mebibytes(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}

/// Prints the machine that this runs on.
pub(crate) fn machine(root: &Path) {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    // The mount point with the longest path above `root`.
    let mount = mounts
        .lines()
        .filter_map(|line| line.split(' ').skip(1).take(2).collect::<Vec<_>>().try_into().ok())
        .filter(|[point, _]: &[&str; 2]| root.starts_with(point))
        .max_by_key(|[point, _]| point.len());
    let disk = mount.map_or("unknown file system", |[_, kind]| kind);
    let load = load.split(' ').next().unwrap_or_default();
    println!("{cores} cores, {disk}, Linux {}, load {load}", kernel.trim());
}
