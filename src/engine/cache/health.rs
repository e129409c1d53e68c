//! When to stop asking a cache, and what to say about it. A cache helps or is out of the way: the first answer has a
//! deadline, three failed transports in a row are the last for this run, and whatever goes wrong is said once.

use std::sync::{Mutex, PoisonError};

use super::CacheUrl;
use crate::base::event::{Event, Events};
use crate::base::hint::{Hint as _, chain};
use crate::engine::registry::RegistryError;

/// Failed transports in a row after which a cache is left alone.
const FAILURES: u32 = 3;

#[derive(Debug, Default)]
pub(super) struct Health(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    answered: bool,
    failures: u32,
    off: bool,
    warned: bool,
}

impl Health {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the cache is left alone for the rest of this run.
    pub(super) fn is_off(&self) -> bool {
        self.state().off
    }

    /// It answered, if only that it has nothing.
    pub(super) fn answered(&self) {
        let mut state = self.state();
        state.answered = true;
        state.failures = 0;
    }

    /// A request failed.
    pub(super) fn failed(&self, cache: &CacheUrl, error: &RegistryError, events: &dyn Events) {
        let mut state = self.state();
        match error {
            RegistryError::Interrupted => return,
            RegistryError::NotFound { .. } => {
                drop(state);
                return self.answered();
            }
            RegistryError::Unreachable { .. } | RegistryError::NoMirror { .. } => {
                state.failures += 1;
                state.off |= !state.answered || state.failures >= FAILURES;
            }
            RegistryError::Denied { .. } | RegistryError::Access { .. } => state.off = true,
            _ => {}
        }
        let hint = match error {
            RegistryError::Denied { .. } => error.hint(),
            _ => None,
        };
        let hint = hint.map(|hint| format!(" ({hint})")).unwrap_or_default();
        say(&mut state, cache, &format!("{}{hint}", chain(error)), events);
    }

    /// An entry is not what it should be.
    pub(super) fn distrusts(&self, cache: &CacheUrl, name: &str, flaw: &str, events: &dyn Events) {
        say(&mut self.state(), cache, &format!("its entry of `{name}` is not used: {flaw}"), events);
    }
}

/// One warning for each cache and run.
fn say(state: &mut State, cache: &CacheUrl, what: &str, events: &dyn Events) {
    if std::mem::replace(&mut state.warned, true) {
        return;
    }
    let end = if state.off { "; it is not asked again in this run" } else { "" };
    events.emit(Event::Warning { text: format!("cache {cache}: {what}{end}") });
}
