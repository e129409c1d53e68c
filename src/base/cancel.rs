//! Cancellation: one flag that Ctrl-C and SIGTERM set, and that everything which waits looks at.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How often a wait looks at the flag: often enough that nobody notices.
pub(crate) const GLANCE: Duration = Duration::from_millis(50);

/// Shared by a whole process. The default is never set.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// For those who only look.
impl Deref for Cancel {
    type Target = AtomicBool;

    fn deref(&self) -> &AtomicBool {
        &self.0
    }
}
