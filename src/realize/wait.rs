//! The wait loop: polls until something is ready, the time is up, or the user cancels.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How often a pending state is reported again if it does not change.
const REPEAT: Duration = Duration::from_secs(60);
/// How often a pause checks for cancellation.
const TICK: Duration = Duration::from_millis(100);

/// The bounds of a wait.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wait<'a> {
    /// How long at most.
    pub(super) limit: Duration,
    /// The poll interval.
    pub(super) interval: Duration,
    pub(super) cancel: &'a AtomicBool,
}

/// What one poll has found.
#[derive(Debug)]
pub(super) enum Poll<T> {
    Ready(T),
    /// Not yet: what there is instead.
    Pending(String),
}

/// Why a wait ended early.
#[derive(Debug)]
pub(super) enum WaitError<E> {
    TimedOut {
        /// What the last poll found.
        seen: String,
    },
    Cancelled,
    /// A poll failed for good.
    Failed(E),
}

impl Wait<'_> {
    /// Polls until ready. `report` is told what is seen and how much time has passed, whenever that changes and once a
    /// minute.
    pub(super) fn until<T, E>(
        &self,
        mut poll: impl FnMut() -> Result<Poll<T>, E>,
        mut report: impl FnMut(&str, Duration),
    ) -> Result<T, WaitError<E>> {
        let start = Instant::now();
        let mut reported: Option<(String, Instant)> = None;
        loop {
            let seen = match poll().map_err(WaitError::Failed)? {
                Poll::Ready(found) => return Ok(found),
                Poll::Pending(seen) => seen,
            };
            let elapsed = start.elapsed();
            if reported.as_ref().is_none_or(|(last, when)| *last != seen || when.elapsed() >= REPEAT) {
                report(&seen, elapsed);
                reported = Some((seen.clone(), Instant::now()));
            }
            let left = self.limit.saturating_sub(elapsed);
            if left.is_zero() {
                return Err(WaitError::TimedOut { seen });
            }
            self.pause(left.min(self.interval))?;
        }
    }

    fn pause<E>(&self, time: Duration) -> Result<(), WaitError<E>> {
        let end = Instant::now() + time;
        loop {
            if self.cancel.load(Ordering::Relaxed) {
                return Err(WaitError::Cancelled);
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            std::thread::sleep(left.min(TICK));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(cancel: &AtomicBool) -> Wait<'_> {
        Wait { limit: Duration::from_millis(50), interval: Duration::from_millis(1), cancel }
    }

    #[test]
    fn a_change_is_reported_once() {
        let cancel = AtomicBool::new(false);
        let (mut polls, mut reports) = (0, Vec::new());
        let poll = || {
            polls += 1;
            Ok::<_, ()>(if polls < 6 { Poll::Pending((polls / 3).to_string()) } else { Poll::Ready(polls) })
        };
        let long = Wait { limit: Duration::from_secs(60), ..wait(&cancel) };
        let done = long.until(poll, |seen, _| reports.push(seen.to_owned()));
        assert!(matches!(done, Ok(6)), "{done:?}");
        assert_eq!(reports, ["0", "1"]);
    }

    #[test]
    fn a_wait_ends_with_the_last_state() {
        let cancel = AtomicBool::new(false);
        let done = wait(&cancel).until(|| Ok::<Poll<()>, ()>(Poll::Pending("not yet".into())), |_, _| ());
        assert!(matches!(&done, Err(WaitError::TimedOut { seen }) if seen == "not yet"), "{done:?}");
        cancel.store(true, Ordering::Relaxed);
        let done = wait(&cancel).until(|| Ok::<Poll<()>, ()>(Poll::Pending(String::new())), |_, _| ());
        assert!(matches!(done, Err(WaitError::Cancelled)), "{done:?}");
        let done = wait(&cancel).until(|| Err::<Poll<()>, _>(7), |_, _| ());
        assert!(matches!(done, Err(WaitError::Failed(7))), "{done:?}");
    }
}
