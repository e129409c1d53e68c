//! What `realize` keeps beside the cluster's files: which closure it last applied, host keys, the load balancer's pid.
//!
//! ```text
//! <cluster directory>/.realize/     0700; never committed
//! ├── .gitignore
//! ├── lock                          held while the host is changed
//! ├── journal.json                  the closure, and which phases were finished with it
//! ├── machines.json                 of machines of the user's own: what each joined with
//! ├── known_hosts                   host keys of the nodes
//! └── haproxy.pid
//! ```
//!
//! Nothing in here says what is on the host: that is queried every time, so losing the directory loses nothing.

use std::fs::File;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{Phase, RealizeError, Result};
use crate::base::fs;

#[derive(Debug, Clone)]
pub(crate) struct StateDir {
    dir: PathBuf,
}

/// What the last run did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Journal {
    pub closure: String,
    pub uri: String,
    /// The phase that was begun last.
    pub begun: Option<Phase>,
    /// The phases that were finished with this closure.
    pub finished: Vec<Phase>,
}

impl StateDir {
    /// Of a cluster directory. Creates nothing yet.
    pub(crate) fn of(directory: &Path) -> Self {
        // The load balancer is recognised by the path of its pid file, which must not depend on our working directory.
        let directory = fs::canonical(directory).unwrap_or_else(|_| directory.to_owned());
        Self { dir: directory.join(".realize") }
    }

    pub(crate) fn pid_file(&self) -> PathBuf {
        self.dir.join("haproxy.pid")
    }

    pub(super) fn known_hosts(&self) -> PathBuf {
        self.dir.join("known_hosts")
    }

    /// What is kept about machines of the user's own.
    pub(super) fn machines(&self) -> PathBuf {
        self.dir.join("machines.json")
    }

    /// A fresh name for a temporary file.
    pub(super) fn scratch(&self) -> PathBuf {
        self.dir.join(fs::random_name())
    }

    /// Creates the directory, unless it exists.
    pub(super) fn create(&self) -> Result<()> {
        if !fs::exists(&self.dir)? {
            fs::create_dir(&self.dir, 0o700)?;
        }
        Ok(fs::replace(&self.dir.join(".gitignore"), b"*\n", 0o600)?)
    }

    /// Creates the directory, and locks out other runs for as long as the file is held.
    pub(crate) fn lock(&self) -> Result<File> {
        self.create()?;
        let path = self.dir.join("lock");
        let file = fs::open_lock(&path)?;
        file.try_lock().map_err(|_| RealizeError::Busy { path })?;
        Ok(file)
    }

    /// What the last run did, if that is known.
    pub(crate) fn journal(&self) -> Result<Option<Journal>> {
        let text = fs::optional(fs::read_text(&self.dir.join("journal.json")))?;
        // An unreadable journal is as good as none: the host itself is queried.
        Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
    }

    /// Writes the journal, durably.
    pub(super) fn write(&self, journal: &Journal) -> Result<()> {
        let text = serde_json::to_string_pretty(journal).unwrap_or_default() + "\n";
        Ok(fs::replace(&self.dir.join("journal.json"), text.as_bytes(), 0o600)?)
    }

    pub(super) fn remove(&self) -> Result<()> {
        Ok(fs::remove_all(&self.dir)?)
    }
}
