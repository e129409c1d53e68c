//! When to stop asking a cache or a farm, and what to say about it. Each helps or is out of the way: the first answer has a
//! deadline, three failed transports in a row are the last for this run, and whatever goes wrong is said once.

use std::sync::{Mutex, PoisonError};

use super::CacheUrl;
use crate::base::event::{Event, Events};
use crate::base::hint::{Hint as _, chain};
use crate::engine::registry::RegistryError;

/// Failed transports in a row after which a cache is left alone.
const FAILURES: u32 = 3;

#[derive(Debug)]
pub(in crate::engine) struct Health {
    /// What warnings call it.
    kind: &'static str,
    state: Mutex<State>,
}

impl Default for Health {
    fn default() -> Self {
        Self::of("cache")
    }
}

#[derive(Debug, Default)]
struct State {
    answered: bool,
    failures: u32,
    off: bool,
    warned: bool,
}

impl Health {
    pub(in crate::engine) fn of(kind: &'static str) -> Self {
        Self { kind, state: Mutex::default() }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the cache is left alone for the rest of this run.
    pub(in crate::engine) fn is_off(&self) -> bool {
        self.state().off
    }

    /// It answered, if only that it has nothing.
    pub(in crate::engine) fn answered(&self) {
        let mut state = self.state();
        state.answered = true;
        state.failures = 0;
    }

    /// A request failed.
    pub(in crate::engine) fn failed(&self, cache: &CacheUrl, error: &RegistryError, events: &dyn Events) {
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
        self.say(&mut state, cache, &format!("{}{hint}", chain(error)), events);
    }

    /// An entry is not what it should be.
    pub(in crate::engine) fn distrusts(&self, cache: &CacheUrl, name: &str, flaw: &str, events: &dyn Events) {
        self.say(&mut self.state(), cache, &format!("its entry of `{name}` is not used: {flaw}"), events);
    }

    /// It does not do what it is for. After three times in a row, it is left alone, at once if it never will.
    pub(in crate::engine) fn useless(&self, cache: &CacheUrl, flaw: &str, ever: bool, events: &dyn Events) {
        let mut state = self.state();
        state.failures += 1;
        state.off |= !ever || state.failures >= FAILURES;
        self.say(&mut state, cache, flaw, events);
    }

    /// One warning for each cache and run.
    fn say(&self, state: &mut State, cache: &CacheUrl, what: &str, events: &dyn Events) {
        if std::mem::replace(&mut state.warned, true) {
            return;
        }
        let end = if state.off { "; it is not asked again in this run" } else { "" };
        events.emit(Event::Warning { text: format!("{} {cache}: {what}{end}", self.kind) });
    }
}
