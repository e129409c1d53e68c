//! What `realize` keeps beside the cluster's files: which closure it realizes, and the load balancer's process id.
//!
//! ```text
//! <cluster directory>/.realize/     0700; never committed
//! ├── .gitignore
//! ├── lock                          held while something is changed
//! ├── journal.json                  the closure, and which phases were finished with it
//! ├── known_hosts                   host keys of the nodes
//! └── haproxy.pid
//! ```
//!
//! Nothing in here says what is on the host: that is looked at every time, so a lost directory loses nothing.

use std::fs::File;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{Phase, RealizeError};
use crate::base::fs;

#[derive(Debug, Clone)]
pub(crate) struct State {
    dir: PathBuf,
}

/// What was done last.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Journal {
    /// The closure that is being realized.
    pub closure: String,
    pub uri: String,
    /// The phase that was begun last.
    pub begun: Option<Phase>,
    /// Phases that were finished with this closure.
    pub finished: Vec<Phase>,
}

impl State {
    /// Of a cluster directory. Nothing is made yet.
    pub(crate) fn of(directory: &Path) -> Self {
        // The load balancer is known by the path of its pid file: the same from wherever we are run.
        let directory = fs::canonical(directory).unwrap_or_else(|_| directory.to_owned());
        Self { dir: directory.join(".realize") }
    }

    /// Where the load balancer's process id is.
    pub(crate) fn pid_file(&self) -> PathBuf {
        self.dir.join("haproxy.pid")
    }

    /// Where host keys of the nodes are kept.
    pub(super) fn known_hosts(&self) -> PathBuf {
        self.dir.join("known_hosts")
    }

    /// A name for a file that is gone soon.
    pub(super) fn scratch(&self) -> PathBuf {
        self.dir.join(fs::random_name())
    }

    /// Makes the directory, if it is not there.
    pub(super) fn make(&self) -> Result<(), RealizeError> {
        if !fs::exists(&self.dir)? {
            fs::create_dir(&self.dir, 0o700)?;
        }
        Ok(fs::replace(&self.dir.join(".gitignore"), b"*\n", 0o600)?)
    }

    /// Makes the directory, and keeps others from changing anything while the file is held.
    pub(crate) fn lock(&self) -> Result<File, RealizeError> {
        self.make()?;
        let path = self.dir.join("lock");
        let file = fs::open_lock(&path)?;
        file.try_lock().map_err(|_| RealizeError::Busy { path })?;
        Ok(file)
    }

    /// What was done last; nothing if nobody knows.
    pub(crate) fn journal(&self) -> Result<Option<Journal>, RealizeError> {
        let text = fs::optional(fs::read_text(&self.dir.join("journal.json")))?;
        // One that cannot be read is as good as none: what is there is looked at.
        Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
    }

    /// Keeps what is being done, durably.
    pub(super) fn write(&self, journal: &Journal) -> Result<(), RealizeError> {
        let text = serde_json::to_string_pretty(journal).unwrap_or_default() + "\n";
        Ok(fs::replace(&self.dir.join("journal.json"), text.as_bytes(), 0o600)?)
    }

    /// Removes the directory: nothing is realized any more.
    pub(super) fn remove(&self) -> Result<(), RealizeError> {
        Ok(fs::remove_all(&self.dir)?)
    }
}
