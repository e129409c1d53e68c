//! Works on sites in a window: so many at a time that the disk's waits are filled, and no more, so that memory is bounded by what
//! is under way.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use crate::base::cancel::Cancel;

/// Sites under way for each worker: while one waits for the disk, another resolves its graph.
const WINDOW: usize = 3;

/// Calls `work` for every item, several at a time, and `done` with each result as it comes. Once `cancel` is set, or `done` says
/// false, no other is begun; returns how many were not.
pub(super) fn each<I: Sync, T: Send>(
    items: &[I],
    jobs: usize,
    cancel: &Cancel,
    work: impl Fn(&I) -> T + Sync,
    mut done: impl FnMut(&I, T) -> bool,
) -> usize {
    let (next, begun) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let stop = AtomicUsize::new(0);
    // Results that nobody has taken yet are bounded as well.
    let (report, reports) = mpsc::sync_channel(1);
    std::thread::scope(|threads| {
        for _ in 0..(jobs.max(1) * WINDOW).min(items.len()) {
            let (report, work, next, begun, stop) = (report.clone(), &work, &next, &begun, &stop);
            threads.spawn(move || {
                while !cancel.is_set() && stop.load(Ordering::Relaxed) == 0 {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(at) else { break };
                    begun.fetch_add(1, Ordering::Relaxed);
                    let _ = report.send((at, work(item))); // the receiver outlives this thread
                }
            });
        }
        drop(report);
        for (at, result) in reports {
            if !done(&items[at], result) {
                stop.store(1, Ordering::Relaxed);
            }
        }
    });
    items.len() - begun.into_inner()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_is_worked_on_once_and_few_at_a_time() {
        let items: Vec<usize> = (0..100).collect();
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let mut seen = Vec::new();
        let work = |item: &usize| {
            most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            std::thread::yield_now();
            now.fetch_sub(1, Ordering::SeqCst);
            item * 2
        };
        let left = each(&items, 2, &Cancel::default(), work, |item, result| {
            assert_eq!(item * 2, result);
            seen.push(*item);
            true
        });
        seen.sort_unstable();
        assert_eq!((left, seen), (0, items));
        assert!(most.into_inner() <= 2 * WINDOW);
    }

    #[test]
    fn nothing_is_begun_after_a_stop() {
        let items: Vec<usize> = (0..100).collect();
        let left = each(&items, 1, &Cancel::default(), |item| *item, |_, _| false);
        assert!(left > 0);
        let cancel = Cancel::default();
        cancel.set();
        assert_eq!(each(&items, 1, &cancel, |item| *item, |_, _| true), 100);
    }
}
