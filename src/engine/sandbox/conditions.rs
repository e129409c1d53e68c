//! What a program may notice of its run although it should not matter. It is the same on every machine; `build --check`
//! changes it for the second run, and an output that differs then was not a function of the inputs.

use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::thread::CpuSet;

use super::USER;

/// What differs from an ordinary run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Variation {
    /// All CPUs of the machine, instead of one.
    pub cpus: bool,
    /// Another user id.
    pub user: bool,
    /// Directories of the image and the inputs list their entries in another order.
    pub order: bool,
    /// What a builder could derive from an output that others share is made by the programs themselves.
    pub direct: bool,
}

impl Variation {
    const NONE: Self = Self { cpus: false, user: false, order: false, direct: false };

    /// Everything at once.
    pub const ALL: Self = Self { cpus: true, user: true, order: true, direct: true };

    /// One at a time.
    pub fn each() -> [Self; 4] {
        [
            Self { cpus: true, ..Self::NONE },
            Self { user: true, ..Self::NONE },
            Self { order: true, ..Self::NONE },
            Self { direct: true, ..Self::NONE },
        ]
    }

    /// What differs, for people.
    pub fn describe(self) -> Vec<String> {
        let mut list = Vec::new();
        if self.cpus {
            list.push(match allowed().len() {
                1 => "the number of CPUs (not varied: this machine has one)".to_owned(),
                count => format!("the number of CPUs ({count} instead of 1)"),
            });
        }
        if self.user {
            list.push("the user id".to_owned());
        }
        if self.order {
            list.push("the order of directory entries".to_owned());
        }
        if self.direct {
            list.push("whether the programs ran for it, or a shared output was filled in".to_owned());
        }
        list
    }

    /// The user id that the program sees.
    pub(super) fn user_id(self) -> u32 {
        USER + u32::from(self.user)
    }

    /// The CPUs that a program may use; none if it may use all. One, because a machine may have no more, and a different
    /// one for each of the programs that run at the same time.
    pub(super) fn cpu(self) -> Option<CpuSet> {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        if self.cpus {
            return None;
        }
        let allowed = allowed();
        let number = allowed.get(NEXT.fetch_add(1, Ordering::Relaxed) % allowed.len().max(1))?;
        let mut set = CpuSet::new();
        set.set(*number);
        Some(set)
    }
}

/// The CPUs that this thread may use.
fn allowed() -> Vec<usize> {
    let set = rustix::thread::sched_getaffinity(None).unwrap_or_default();
    (0..CpuSet::MAX_CPU).filter(|number| set.is_set(*number)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_get_one_cpu_after_the_other() {
        let count = |set: &CpuSet| set.count();
        for _ in 0..3 {
            assert_eq!(Variation::NONE.cpu().map(|set| count(&set)), Some(1));
        }
        assert!(Variation::ALL.cpu().is_none());
        assert_eq!((Variation::NONE.user_id(), Variation::ALL.user_id()), (1000, 1001));
        assert_eq!(Variation::NONE, Variation::default());
        assert_eq!(Variation::each().map(|one| one.describe().len()), [1; 4]);
    }
}
