//! Serial consoles: a log file per machine in the pool, which grows while the machine runs.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use super::connection::Connection;
use super::definitions::Infrastructure;
use super::volumes;
use crate::base::fs;
use crate::realize::provider::Consoles;
use crate::realize::state::StateDir;
use crate::realize::{HostAccess, RealizeError, Result};

/// How long a download may take.
const TRANSFER: Duration = Duration::from_secs(600);

/// The consoles of our machines.
pub(super) struct ConsoleLogs<'a> {
    pub(super) source: ConsoleSource<'a>,
    pub(super) infrastructure: &'a Infrastructure,
}

/// How consoles are read.
#[derive(Clone, Copy)]
pub(super) enum ConsoleSource<'a> {
    /// Through libvirt: works from everywhere.
    Download { connection: Connection<'a>, state: &'a StateDir },
    /// From the pool's directory on this machine, when libvirt does not answer.
    Directory,
}

impl<'a> ConsoleSource<'a> {
    /// The way that works now; none if libvirt does not answer and runs on another machine.
    pub(super) fn choose(
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
}

impl Consoles for ConsoleLogs<'_> {
    fn files(&self) -> Result<BTreeSet<String>> {
        match self.source {
            ConsoleSource::Download { connection, .. } => {
                volumes::list(connection, &self.infrastructure.pool.uuid)
            }
            ConsoleSource::Directory => {
                let names = fs::list(Path::new(&self.infrastructure.directory))?;
                Ok(names.into_iter().filter_map(|name| name.into_string().ok()).collect())
            }
        }
    }

    fn size(&self, name: &str) -> Result<u64> {
        match self.source {
            ConsoleSource::Download { connection, .. } => {
                Ok(volumes::capacity(connection, &self.infrastructure.pool.uuid, name)?.unwrap_or(0))
            }
            ConsoleSource::Directory => {
                Ok(fs::metadata(&Path::new(&self.infrastructure.directory).join(name))?.len())
            }
        }
    }

    fn open(&self, name: &str, from: u64, work: &mut dyn FnMut(&Path, u64) -> Result<()>) -> Result<()> {
        let ConsoleSource::Download { connection, state } = self.source else {
            return work(&Path::new(&self.infrastructure.directory).join(name), from);
        };
        state.create()?;
        let (pool, to, offset) = (&self.infrastructure.pool.uuid, state.scratch(), from.to_string());
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
