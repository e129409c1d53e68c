//! The lowest speed of a download. A server that sends one byte now and then never runs into the timeout between two
//! bytes, so this is a sum: what arrived while we waited for it, across broken connections. Time that our own reader
//! takes does not count.

use std::future::Future;
use std::time::{Duration, Instant};

use super::Patience;

/// Fewer bytes arrived than [`Patience::lowest_pace`] asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooSlow {
    pub(crate) bytes: u64,
    pub(crate) window: Duration,
}

impl std::fmt::Display for TooSlow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "it sent {} bytes in {} s, which is too slow", self.bytes, self.window.as_secs_f32())
    }
}

/// The speed of one download.
#[derive(Debug)]
pub(crate) struct Pace {
    needed: u64,
    window: Duration,
    waited: Duration,
    bytes: u64,
    /// Windows in a row that were too slow.
    slow: usize,
}

impl Pace {
    pub(crate) fn new(patience: &Patience) -> Self {
        let needed = (patience.lowest_pace as f64 * patience.pace_window.as_secs_f64()) as u64;
        Self { needed, window: patience.pace_window, waited: Duration::ZERO, bytes: 0, slow: 0 }
    }

    /// Waits for something from the network. `wait` may be called more than once: its futures must lose nothing when
    /// they are dropped.
    pub(crate) async fn wait<T, F: Future<Output = T>>(
        &mut self,
        mut wait: impl FnMut() -> F,
    ) -> Result<T, TooSlow> {
        loop {
            let start = Instant::now();
            let done = tokio::time::timeout(self.window.saturating_sub(self.waited), wait()).await;
            self.waited += start.elapsed();
            if let Ok(value) = done {
                return Ok(value);
            }
            self.judge()?;
        }
    }

    /// Counts what arrived.
    pub(crate) fn received(&mut self, bytes: u64) -> Result<(), TooSlow> {
        self.bytes += bytes;
        self.judge()
    }

    /// Counts time between two connections.
    pub(crate) fn waited(&mut self, time: Duration) {
        self.waited += time;
    }

    /// Windows in a row that were too slow.
    pub(crate) fn slow(&self) -> usize {
        self.slow
    }

    /// Ends the window if its time is over.
    fn judge(&mut self) -> Result<(), TooSlow> {
        if self.waited < self.window {
            return Ok(());
        }
        let bytes = std::mem::take(&mut self.bytes);
        self.waited = Duration::ZERO;
        if bytes >= self.needed {
            self.slow = 0;
            return Ok(());
        }
        self.slow += 1;
        Err(TooSlow { bytes, window: self.window })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pace() -> Pace {
        Pace::new(&Patience {
            lowest_pace: 1000,
            pace_window: Duration::from_millis(20),
            ..Patience::default()
        })
    }

    fn block_on<T>(work: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(work)
    }

    #[test]
    fn a_drip_is_too_slow_however_regular() {
        let mut pace = pace();
        let dripped = async {
            for _ in 0..1000 {
                pace.wait(|| tokio::time::sleep(Duration::from_millis(1))).await?;
                pace.received(1)?;
            }
            Ok::<_, TooSlow>(())
        };
        let slow = block_on(dripped).unwrap_err();
        assert!(slow.bytes < 20, "{slow}");
        assert_eq!(pace.slow(), 1);
        let never = block_on(pace.wait(std::future::pending::<()>)).unwrap_err();
        assert_eq!((never.bytes, pace.slow()), (0, 2));
    }

    #[test]
    fn a_fair_window_makes_up_for_a_slow_one() {
        let mut pace = pace();
        assert!(block_on(pace.wait(std::future::pending::<()>)).is_err());
        pace.received(5000).unwrap();
        let mut calls = 0;
        let fair = pace.wait(|| {
            calls += 1;
            let delay = if calls == 1 { Duration::from_secs(3600) } else { Duration::ZERO };
            tokio::time::sleep(delay)
        });
        block_on(fair).unwrap();
        assert_eq!((calls, pace.slow()), (2, 0));
    }
}
