//! One sync of the file system for all who wait for one: many builds in one process cost no more syncs than one.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::{Condvar, Mutex, PoisonError};

use crate::base::fs;

/// Who asks while a sync runs waits for the next one, which covers what was written before asking.
#[derive(Debug, Default)]
pub(super) struct SharedSync {
    rounds: Mutex<Rounds>,
    ended: Condvar,
}

#[derive(Debug, Default)]
struct Rounds {
    /// Syncs that began, and those that ended. They differ by one while one runs.
    begun: u64,
    ended: u64,
    /// Rounds that failed, and how.
    failed: BTreeMap<u64, Failure>,
}

#[derive(Debug, Clone)]
struct Failure {
    action: &'static str,
    path: PathBuf,
    kind: io::ErrorKind,
    code: Option<i32>,
}

impl SharedSync {
    /// Returns after a sync that began after this call.
    pub(super) fn run(&self, sync: impl FnOnce() -> fs::Result<()>) -> fs::Result<()> {
        let mut rounds = self.rounds.lock().unwrap_or_else(PoisonError::into_inner);
        let wanted = rounds.begun + 1;
        while rounds.ended < wanted && rounds.begun > rounds.ended {
            rounds = self.ended.wait(rounds).unwrap_or_else(PoisonError::into_inner);
        }
        if rounds.ended >= wanted {
            // Somebody else's round, the first that began after this call or a later one.
            return match rounds.failed.range(wanted..).next() {
                Some((_, failure)) => Err(failure.error()),
                None => Ok(()),
            };
        }
        rounds.begun += 1;
        let round = rounds.begun;
        drop(rounds);
        let done = sync();
        let mut rounds = self.rounds.lock().unwrap_or_else(PoisonError::into_inner);
        rounds.ended = round;
        if let Err(error) = &done {
            rounds.failed.insert(round, Failure::of(error));
        }
        self.ended.notify_all();
        done
    }
}

impl Failure {
    fn of(error: &fs::Error) -> Self {
        let code = error.source.raw_os_error();
        Self { action: error.action, path: error.path.clone(), kind: error.source.kind(), code }
    }

    fn error(&self) -> fs::Error {
        let source = self.code.map_or_else(|| self.kind.into(), io::Error::from_raw_os_error);
        fs::Error::new(self.action, self.path.clone(), source)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn who_waits_shares_the_next_sync() {
        let (shared, syncs) = (SharedSync::default(), AtomicUsize::new(0));
        let (go, wait) = mpsc::channel::<()>();
        std::thread::scope(|threads| {
            threads.spawn(|| {
                let first = move || {
                    wait.recv().unwrap();
                    Ok(())
                };
                shared.run(first).unwrap();
            });
            let begun = |count: u64| {
                while shared.rounds.lock().unwrap().begun < count {
                    std::thread::yield_now();
                }
            };
            begun(1);
            let asked = AtomicUsize::new(0);
            std::thread::scope(|waiting| {
                for _ in 0..8 {
                    waiting.spawn(|| {
                        asked.fetch_add(1, Ordering::SeqCst);
                        let sync = || {
                            syncs.fetch_add(1, Ordering::SeqCst);
                            Ok(())
                        };
                        shared.run(sync).unwrap();
                    });
                }
                while asked.load(Ordering::SeqCst) < 8 {
                    std::thread::yield_now();
                }
                go.send(()).unwrap();
            });
        });
        // Those that asked in time share one; a thread that was not yet waiting gets another.
        assert!((1..=8).contains(&syncs.load(Ordering::SeqCst)), "{syncs:?}");
        let rounds = shared.rounds.lock().unwrap();
        assert_eq!(rounds.begun, rounds.ended);
    }

    #[test]
    fn who_shares_a_failed_sync_fails() {
        let shared = SharedSync::default();
        let full = || Err(fs::Error::new("sync", "/x", io::Error::from_raw_os_error(28)));
        assert_eq!(shared.run(full).unwrap_err().source.raw_os_error(), Some(28));
        shared.run(|| Ok(())).unwrap();
        let (go, wait) = mpsc::channel::<()>();
        std::thread::scope(|threads| {
            threads.spawn(|| {
                let first = move || {
                    wait.recv().unwrap();
                    Ok(())
                };
                shared.run(first).unwrap();
            });
            while shared.rounds.lock().unwrap().begun < 3 {
                std::thread::yield_now();
            }
            let failing = |_| {
                threads.spawn(|| {
                    let full = || Err(fs::Error::new("sync", "/x", io::Error::from_raw_os_error(28)));
                    shared.run(full).unwrap_err().source.raw_os_error()
                })
            };
            let all: Vec<_> = (0..4).map(failing).collect();
            go.send(()).unwrap();
            for one in all {
                assert_eq!(one.join().unwrap(), Some(28));
            }
        });
    }
}
