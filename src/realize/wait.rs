//! Waits: each has an end, says what it is for and what was seen last, and stops when the user wants to stop.

use std::time::{Duration, Instant};

use super::apply::Hands;
use super::error::minutes;
use super::{Phase, RealizeError};
use crate::base::event::Event;
use crate::base::process::ProcessError;
use crate::realize::api::ApiError;

/// How often is looked.
const POLL: Duration = Duration::from_secs(2);
/// How often a wait says that it still waits, where nothing changes.
const STILL: Duration = Duration::from_secs(60);
/// How often a pause looks whether the user wants to stop.
const TICK: Duration = Duration::from_millis(100);

/// Something that is waited for.
#[derive(Debug, Clone)]
pub(super) struct Wait<'a> {
    pub(super) phase: Phase,
    /// For what, as in "waiting for …".
    pub(super) what: &'a str,
    /// How long at most.
    pub(super) limit: Duration,
    /// A command to look further with.
    pub(super) look: &'a str,
}

/// What a look has shown.
#[derive(Debug)]
pub(super) enum Look<T> {
    Done(T),
    /// It is not there yet: what there is instead.
    NotYet(String),
}

/// A look at an API that may not be there yet, or be moving: that passes.
pub(super) fn passing<T>(looked: Result<Look<T>, ApiError>) -> Result<Look<T>, RealizeError> {
    match looked {
        Err(error) if error.passes() => Ok(Look::NotYet(error.to_string())),
        looked => Ok(looked?),
    }
}

impl Hands<'_> {
    /// Looks until it is there, or the time is over.
    pub(super) fn wait<T>(
        &self,
        wait: &Wait<'_>,
        mut look: impl FnMut() -> Result<Look<T>, RealizeError>,
    ) -> Result<T, RealizeError> {
        let (begin, limit) = (Instant::now(), self.limit.unwrap_or(wait.limit));
        let mut said: Option<(String, Instant)> = None;
        loop {
            let seen = match look()? {
                Look::Done(found) => return Ok(found),
                Look::NotYet(seen) => seen,
            };
            if said.as_ref().is_none_or(|(last, when)| *last != seen || when.elapsed() >= STILL) {
                said = Some((seen.clone(), Instant::now()));
                let (phase, elapsed) = (wait.phase.as_str(), minutes(begin.elapsed()));
                let what = format!("{} ({phase}; {elapsed} of at most {})", wait.what, minutes(limit));
                self.events.emit(Event::Awaiting { what, seen: seen.clone() });
            }
            if begin.elapsed() >= limit {
                let (what, look) = (wait.what.to_owned(), wait.look.to_owned());
                return Err(RealizeError::Late { what, limit, seen, look });
            }
            self.pause(POLL)?;
        }
    }

    /// Lets time go by, unless the user wants to stop.
    pub(super) fn pause(&self, time: Duration) -> Result<(), RealizeError> {
        let end = Instant::now() + time;
        while let Some(left) = end.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) {
            if self.virsh.is_cancelled() {
                return Err(ProcessError::Stopped.into());
            }
            std::thread::sleep(left.min(TICK));
        }
        Ok(())
    }
}
