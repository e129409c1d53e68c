//! Faults on purpose, for tests: the n-th write operation of this thread fails, alone or with everything after it.
//!
//! A failure with everything after it is what a crash leaves behind: nothing that was begun is cleaned up. In a program
//! that is not a test, [`point`] only says that something is about to be written.

#[cfg(not(test))]
pub(super) fn point() -> std::io::Result<()> {
    super::looks::spoil();
    Ok(())
}

#[cfg(test)]
pub(crate) use armed::*;

#[cfg(test)]
mod armed {
    use std::cell::Cell;
    use std::io;

    use rustix::io::Errno;

    /// What happens at a point.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(crate) enum Fault {
        /// This operation fails.
        Once(Errno),
        /// This one and all later ones fail.
        Crash,
    }

    thread_local! {
        static ARMED: Cell<Option<(Fault, u64)>> = const { Cell::new(None) };
        static SEEN: Cell<bool> = const { Cell::new(false) };
    }

    /// Runs `work` with a fault at its operation number `at`. Returns its result and whether it came that far.
    pub(crate) fn with<T>(fault: Fault, at: u64, work: impl FnOnce() -> T) -> (T, bool) {
        ARMED.set(Some((fault, at)));
        SEEN.set(false);
        let done = work();
        ARMED.set(None);
        (done, SEEN.get())
    }

    /// An operation that changes something on disk.
    pub(in crate::base::fs) fn point() -> io::Result<()> {
        super::super::looks::spoil();
        let Some((fault, left)) = ARMED.get() else { return Ok(()) };
        if left > 0 {
            ARMED.set(Some((fault, left - 1)));
            return Ok(());
        }
        SEEN.set(true);
        match fault {
            Fault::Once(errno) => {
                ARMED.set(None);
                Err(errno.into())
            }
            Fault::Crash => Err(Errno::IO.into()),
        }
    }
}
