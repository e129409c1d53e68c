//! Everything that helps after a boot that failed, in one archive, whatever does not answer. Secrets are masked.
//!
//! | module | what it owns |
//! |---|---|
//! | `spool` | files on their way, masked; the archive |
//! | `host` | libvirt, consoles, the load balancer, programs |
//! | `node` | what a node says over SSH |
//!
//! Invariants: nothing is in the archive that did not go through the redactor; what could not be had is in `errors.txt`, and
//! stops nothing else; each part has a limit of time and size, so that a dead node costs seconds.

mod host;
mod node;
mod spool;

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde::Serialize;

pub(crate) use spool::Missed;

use self::spool::Spool;
use super::wanted::Machine;
use super::{Hands, RealizeError};
use crate::base::event::Event;
use crate::base::fs;
use crate::base::hint::chain;
use crate::base::process::ProcessError;
use crate::base::redact::Redactor;

/// What is in it.
const README: &str = include_str!("README.md");
/// As many nodes are asked at the same time.
const TOGETHER: usize = 16;

/// What to gather, and where to.
#[derive(Debug)]
pub(crate) struct Request<'a> {
    pub addresses: &'a [(String, IpAddr)],
    pub redactor: &'a Redactor,
    /// What others know: names in the archive with contents, or why there is none.
    pub files: Vec<(String, Result<Vec<u8>, String>)>,
    /// The name of everything: the archive's one directory.
    pub name: &'a str,
    pub to: &'a Path,
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct Gathered {
    pub archive: PathBuf,
    /// Its size in bytes.
    pub size: u64,
    /// How many files it has.
    pub files: usize,
    /// Nodes that answered over SSH.
    pub reached: Vec<String>,
    /// What could not be had.
    pub missed: Vec<Missed>,
}

impl<'w> Hands<'w> {
    /// Gathers everything that can be had.
    pub(crate) fn gather(&self, request: Request<'_>) -> Result<Gathered, RealizeError> {
        self.state.make()?;
        let spool = Spool::make(self.state.scratch(), request.redactor)?;
        spool.put("README.md", README.as_bytes())?;
        request.files.iter().try_for_each(|(name, content)| keep(&spool, name, content))?;
        let reached = std::thread::scope(|scope| {
            let host = scope.spawn(|| self.timed("host", self.virsh.uri, || host::gather(*self, &spool)));
            let api = scope.spawn(|| self.timed("API", "", || self.ask_api(&spool)));
            let nodes = self.nodes(&spool, request.addresses);
            api.join().unwrap_or(Ok(()))?;
            host.join().unwrap_or(Ok(()))?;
            nodes
        })?;
        if self.virsh.is_cancelled() {
            return Err(ProcessError::Stopped.into());
        }
        let missed = spool.missed();
        spool.put("errors.txt", errors(&missed).as_bytes())?;
        let files = spool.archive(request.name, request.to)?;
        let size = fs::metadata(request.to)?.len();
        Ok(Gathered { archive: request.to.to_owned(), size, files, reached, missed })
    }

    /// What the cluster says, if it can be asked.
    fn ask_api(&self, spool: &Spool<'_>) -> Result<(), RealizeError> {
        let Some(cluster) = self.cluster else { return Ok(()) };
        let documents = cluster.documents(self.virsh.cancel);
        documents.iter().try_for_each(|(name, content)| keep(spool, name, content))
    }

    /// Asks all nodes, as many at once as wait for different machines; those that answered.
    fn nodes(&self, spool: &Spool<'_>, addresses: &[(String, IpAddr)]) -> Result<Vec<String>, RealizeError> {
        let address =
            |node: &str| addresses.iter().find(|(name, _)| name == node).map(|(_, address)| *address);
        let known: Vec<(&'w Machine, IpAddr)> =
            self.wanted.machines.iter().filter_map(|one| Some((one, address(&one.node)?))).collect();
        let mut reached = Vec::new();
        for some in known.chunks(TOGETHER) {
            let answers: Vec<Result<bool, RealizeError>> = std::thread::scope(|scope| {
                let ask = |(machine, address): (&'w Machine, IpAddr)| {
                    scope.spawn(move || {
                        self.timed("node", &machine.node, || self.node(spool, machine, address))
                    })
                };
                let asked: Vec<_> = some.iter().copied().map(ask).collect();
                asked.into_iter().map(|one| one.join().unwrap_or(Ok(false))).collect()
            });
            for ((machine, _), answer) in some.iter().zip(answers) {
                if answer? {
                    reached.push(machine.node.clone());
                }
            }
        }
        Ok(reached)
    }

    fn node(&self, spool: &Spool<'_>, machine: &Machine, address: IpAddr) -> Result<bool, RealizeError> {
        match self.way(machine, address) {
            Ok(way) => node::gather(*self, spool, &way),
            Err(RealizeError::Fs(error)) => Err(error.into()),
            Err(error) => {
                spool.miss(&format!("nodes/{}/", machine.node), &chain(&error));
                Ok(false)
            }
        }
    }

    /// Works, and says how long it took.
    fn timed<T>(&self, thing: &'static str, name: &str, work: impl FnOnce() -> T) -> T {
        let began = Instant::now();
        let done = work();
        self.events.emit(Event::Step {
            phase: "gather",
            action: "ask",
            thing,
            name: name.to_owned(),
            milliseconds: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
        });
        done
    }
}

/// Keeps a file, or why there is none.
fn keep(spool: &Spool<'_>, name: &str, content: &Result<Vec<u8>, String>) -> Result<(), RealizeError> {
    match content {
        Ok(content) => spool.put(name, content)?,
        Err(why) => spool.miss(name, why),
    }
    Ok(())
}

/// What could not be had, for people.
fn errors(missed: &[Missed]) -> String {
    match missed {
        [] => "everything could be had\n".to_owned(),
        missed => missed.iter().map(|one| format!("{}: {}\n", one.what, one.why)).collect(),
    }
}
