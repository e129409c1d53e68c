//! Parsers of what comes from outside: no bytes make one panic, hang or fill the memory. The corpus (`tests/fuzz/corpus`) has
//! good and bad input of every format, and every input that once was trouble; here it is replayed, and mutated for a
//! while. `tests/fuzz/cargo-fuzz` runs the same functions under cargo-fuzz.

use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tinderbox::internals::fuzz::{TARGETS, Target};

use crate::harness::{list, source};

/// The most time on a CPU that any input may take: that of the clock would depend on what else the machine does. They take
/// microseconds.
const LONGEST: Duration = Duration::from_secs(20);

/// The most memory that all of them may take, in kilobytes.
const MEMORY: u64 = 2 << 20;

fn corpus(target: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let dir = source("tests/fuzz/corpus").join(target);
    let files = list(&dir).into_iter().map(|name| dir.join(name));
    files.map(|path| (path.clone(), std::fs::read(&path).unwrap())).collect()
}

/// Random numbers, the same every time (splitmix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        if end == 0 { 0 } else { (self.next() % end as u64) as usize }
    }
}

/// Pieces that parsers take notice of.
const PIECES: [&[u8]; 24] = [
    b"\0",
    b"\xff\xff\xff\xff",
    b"\x80",
    b"\x7f\xff\xff\xff",
    b"\n",
    b"\n---\n",
    b"&a ",
    b"*a",
    b"<<: ",
    b"{",
    b"}",
    b"[",
    b"]",
    b"\"",
    b"'",
    b"- ",
    b": ",
    b"|2-\n",
    b"!!binary ",
    b"9223372036854775808",
    b"-1",
    b"../",
    b"1e999",
    b"\xe2\x80\xa8",
];

/// A few changes to one input, with parts of another.
fn mutate(random: &mut Random, one: &[u8], other: &[u8]) -> Vec<u8> {
    let mut bytes = one.to_vec();
    for _ in 0..=random.below(6) {
        let at = random.below(bytes.len() + 1);
        let to = (at + 1 + random.below(64)).min(bytes.len());
        match random.below(9) {
            0 | 1 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
            2 if at < bytes.len() => bytes[at] = random.next() as u8,
            3 => bytes.truncate(at),
            4 if at < to => drop(bytes.drain(at..to)),
            5 => drop(bytes.splice(at..at, PIECES[random.below(PIECES.len())].iter().copied())),
            6 => {
                let piece = bytes[at..to].repeat(1 + random.below(40));
                drop(bytes.splice(at..at, piece));
            }
            7 => {
                let from = random.below(other.len() + 1);
                let end = (from + 1 + random.below(200)).min(other.len()).max(from);
                drop(bytes.splice(at..at, other[from..end].iter().copied()));
            }
            _ => {
                let piece = PIECES[random.below(PIECES.len())].repeat(1 + random.below(2000));
                drop(bytes.splice(at..at, piece));
            }
        }
        bytes.truncate(1 << 17);
    }
    bytes
}

/// Runs one input. Trouble is written down, to be kept.
fn run(name: &str, target: Target, bytes: &[u8], dir: &Path) {
    let room = dir.join("room");
    std::fs::create_dir(&room).unwrap();
    let start = cpu_time();
    let done = std::panic::catch_unwind(AssertUnwindSafe(|| target(bytes, &room)));
    let took = cpu_time() - start;
    tinderbox::internals::fs::remove_all(&room).unwrap();
    if done.is_err() || took > LONGEST {
        let kept = std::env::temp_dir().join(format!("tinderbox-fuzz-{name}-{}", std::process::id()));
        std::fs::write(&kept, bytes).unwrap();
        panic!(
            "{name}: {} ({took:?}); the input is in {}",
            if done.is_err() { "panic" } else { "too slow" },
            kept.display()
        );
    }
}

/// How long this thread has been on a CPU, itself and in the kernel.
fn cpu_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
    // The name, in brackets, may have anything in it; utime and stime are the 14th and 15th field.
    let fields = stat.rsplit_once(") ").unwrap().1.split(' ').skip(11).take(2);
    let ticks: u64 = fields.map(|field| field.parse::<u64>().unwrap()).sum();
    Duration::from_millis(ticks * 10) // the kernel tells programs of 100 a second
}

#[test]
fn only_work_takes_time() {
    let start = cpu_time();
    let mut random = Random(1);
    while cpu_time() - start < Duration::from_millis(50) {
        std::hint::black_box(random.next());
    }
    let before = cpu_time();
    let (wait, until) = std::sync::mpsc::channel::<()>();
    assert!(until.recv_timeout(Duration::from_millis(300)).is_err());
    drop(wait);
    assert!(cpu_time() - before < Duration::from_millis(200));
}

fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

/// Mutations of mutations: what a parser took without trouble may be the start of the next.
fn mutate_for(name: &str, target: Target, seed: u64, mut go_on: impl FnMut(u64) -> bool) -> u64 {
    let dir = tempfile::tempdir().unwrap();
    let mut pool: Vec<Vec<u8>> = corpus(name).into_iter().map(|(_, bytes)| bytes).collect();
    let kept = pool.len();
    let mut random = Random(seed);
    let mut count = 0;
    while go_on(count) {
        let (one, other) = (random.below(pool.len()), random.below(pool.len()));
        let next = mutate(&mut random, &pool[one], &pool[other]);
        run(name, target, &next, dir.path());
        match random.below(8) {
            0 if pool.len() < 4 * kept => pool.push(next),
            1 if pool.len() > kept => {
                let at = kept + random.below(pool.len() - kept);
                pool[at] = next;
            }
            _ => {}
        }
        count += 1;
    }
    count
}

#[test]
fn the_corpus_is_no_trouble() {
    let dir = tempfile::tempdir().unwrap();
    let mut said = Vec::new();
    for (name, target) in TARGETS {
        let inputs = corpus(name);
        assert!(inputs.len() >= 4, "{name} has a corpus of {}", inputs.len());
        inputs.iter().for_each(|(_, bytes)| run(name, target, bytes, dir.path()));
        said.push(format!("{name} {}", inputs.len()));
    }
    eprintln!("replayed: {}", said.join(", "));
    let known: Vec<&str> = TARGETS.iter().map(|(name, _)| *name).collect();
    assert_eq!(list(&source("tests/fuzz/corpus")).into_iter().collect::<Vec<_>>(), known);
}

#[test]
fn mutations_are_no_trouble() {
    for (name, target) in TARGETS {
        mutate_for(name, target, 1, |count| count < 100);
    }
    assert!(peak_memory() < MEMORY, "{} kB", peak_memory());
}

mod long {
    use super::*;

    /// Two minutes for each, from another seed each time; the seed is printed.
    #[test]
    #[ignore = "tier long"]
    fn more_mutations_are_no_trouble() {
        let seed =
            std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos() as u64;
        for (name, target) in TARGETS {
            let start = Instant::now();
            eprintln!("{name} from seed {seed}");
            let count = mutate_for(name, target, seed, |_| start.elapsed() < Duration::from_secs(120));
            eprintln!("{name}: {count} mutations, {} kB", peak_memory());
        }
        assert!(peak_memory() < MEMORY, "{} kB", peak_memory());
    }
}
