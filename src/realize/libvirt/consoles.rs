//! Serial consoles: a log file per machine in the pool, which grows while the machine runs.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use super::connection::Connection;
use super::volumes;
use crate::base::fs;
use crate::realize::desired::{Desired, DesiredMachine};
use crate::realize::state::StateDir;
use crate::realize::{HostAccess, RealizeError, Result};

/// How long a download may take.
const TRANSFER: Duration = Duration::from_secs(600);

/// How consoles are read.
#[derive(Clone, Copy)]
pub(crate) enum ConsoleSource<'a> {
    /// Through libvirt: works from everywhere.
    Download { connection: Connection<'a>, state: &'a StateDir },
    /// From the pool's directory on this machine, when libvirt does not answer.
    Directory,
}

impl<'a> ConsoleSource<'a> {
    /// The way that works now; none if libvirt does not answer and runs on another machine.
    pub(crate) fn choose(
        connection: Connection<'a>,
        state: &'a StateDir,
        is_answering: bool,
        access: HostAccess,
    ) -> Option<Self> {
        match is_answering {
            true => Some(Self::Download { connection, state }),
            false => access.local.then_some(Self::Directory),
        }
    }

    /// The files among which the console logs are.
    pub(crate) fn files(&self, desired: &Desired) -> Result<BTreeSet<String>> {
        let infrastructure = &desired.infrastructure;
        match self {
            Self::Download { connection, .. } => volumes::list(*connection, &infrastructure.pool.uuid),
            Self::Directory => {
                let names = fs::list(Path::new(&infrastructure.directory))?;
                Ok(names.into_iter().filter_map(|name| name.into_string().ok()).collect())
            }
        }
    }

    /// Bytes of a log; zero if it does not exist yet.
    pub(crate) fn size(&self, desired: &Desired, name: &str) -> Result<u64> {
        let infrastructure = &desired.infrastructure;
        match self {
            Self::Download { connection, .. } => {
                Ok(volumes::capacity(*connection, &infrastructure.pool.uuid, name)?.unwrap_or(0))
            }
            Self::Directory => Ok(fs::metadata(&Path::new(&infrastructure.directory).join(name))?.len()),
        }
    }

    /// Calls `work` with a local file that has the log from byte `from` on, and the offset in it where that byte is.
    pub(crate) fn open<T>(
        &self,
        desired: &Desired,
        name: &str,
        from: u64,
        work: impl FnOnce(&Path, u64) -> Result<T>,
    ) -> Result<T> {
        let infrastructure = &desired.infrastructure;
        let Self::Download { connection, state } = self else {
            return work(&Path::new(&infrastructure.directory).join(name), from);
        };
        state.create()?;
        let (pool, to, offset) = (&infrastructure.pool.uuid, state.scratch(), from.to_string());
        let path = to.display().to_string();
        let args = ["vol-download", "--pool", pool, "--offset", &offset, name, &path];
        let done = fs::create_new(&to, 0o600)
            .map_err(RealizeError::from)
            .and_then(|_| connection.query_within(TRANSFER, &args))
            .and_then(|_| work(&to, 0));
        fs::optional(fs::remove_file(&to))?;
        done
    }
}

/// The name of a machine's current console log; rotated ones have a suffix.
pub(crate) fn log_of(machine: &DesiredMachine) -> String {
    format!("{}.log", machine.node)
}
