//! `realize gather`: everything that helps after a failed boot, in one archive, whatever does not answer. Secrets are masked.
//!
//! | module | what it owns |
//! |---|---|
//! | `spool` | collected files, masked; the archive |
//! | `host` | the provider, consoles, the load balancer, programs |
//! | `node` | what a node says over SSH |
//!
//! Invariants: everything in the archive went through the redactor; a failure is listed in `errors.txt`, and stops nothing
//! else; each part has a limit of time and size, so that a dead node costs seconds.

mod host;
mod node;
mod spool;

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Instant;

use schemars::JsonSchema;
use serde::Serialize;

pub(crate) use spool::Missed;

use self::spool::Spool;
use super::desired::DesiredMachine;
use super::{RealizeError, Realizer, Result, ssh};
use crate::base::event::Event;
use crate::base::fs;
use crate::base::hint::chain;
use crate::base::process::ProcessError;
use crate::base::redact::Redactor;

/// Explains the archive.
const README: &str = include_str!("README.md");
/// Nodes that are asked at the same time.
const PARALLEL: usize = 16;

#[derive(Debug)]
pub(crate) struct GatherRequest<'a> {
    pub addresses: &'a [(String, IpAddr)],
    pub redactor: &'a Redactor,
    /// Files that the caller adds: names in the archive with contents, or why there is none.
    pub files: Vec<(String, Result<Vec<u8>, String>)>,
    /// The archive's top directory.
    pub name: &'a str,
    pub to: &'a Path,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Gathered {
    pub archive: PathBuf,
    pub size: u64,
    pub files: usize,
    /// Nodes that answered over SSH.
    pub reached: Vec<String>,
    pub missed: Vec<Missed>,
}

pub(crate) fn gather(realizer: &Realizer<'_>, request: GatherRequest<'_>) -> Result<Gathered> {
    realizer.state.create()?;
    let spool = Spool::make(realizer.state.scratch(), request.redactor)?;
    spool.put("README.md", README.as_bytes())?;
    request.files.iter().try_for_each(|(name, content)| keep(&spool, name, content))?;
    let reached = std::thread::scope(|scope| {
        let uri = realizer.provider.uri();
        let host = scope.spawn(|| timed(realizer, "host", uri, || host::gather(realizer, &spool)));
        let api = scope.spawn(|| timed(realizer, "API", "", || gather_api(realizer, &spool)));
        let nodes = gather_nodes(realizer, &spool, request.addresses);
        api.join().unwrap_or(Ok(()))?;
        host.join().unwrap_or(Ok(()))?;
        nodes
    })?;
    if realizer.runner.is_cancelled() {
        return Err(ProcessError::Stopped.into());
    }
    let missed = spool.missed();
    spool.put("errors.txt", errors(&missed).as_bytes())?;
    let files = spool.archive(request.name, request.to)?;
    let size = fs::metadata(request.to)?.len();
    Ok(Gathered { archive: request.to.to_owned(), size, files, reached, missed })
}

/// What the cluster says, if it can be asked.
fn gather_api(realizer: &Realizer<'_>, spool: &Spool<'_>) -> Result<()> {
    let Some(cluster) = realizer.cluster else { return Ok(()) };
    let documents = cluster.documents(realizer.runner.cancel);
    documents.iter().try_for_each(|(name, content)| keep(spool, name, content))
}

/// Asks all nodes, several at a time. Returns those that answered.
fn gather_nodes(
    realizer: &Realizer<'_>,
    spool: &Spool<'_>,
    addresses: &[(String, IpAddr)],
) -> Result<Vec<String>> {
    let address = |node: &str| addresses.iter().find(|(name, _)| name == node).map(|(_, address)| *address);
    let known: Vec<(&DesiredMachine, IpAddr)> =
        realizer.desired.machines.iter().filter_map(|one| Some((one, address(&one.node)?))).collect();
    let mut reached = Vec::new();
    for some in known.chunks(PARALLEL) {
        let answers: Vec<Result<bool>> = std::thread::scope(|scope| {
            let ask =
                |(machine, address)| scope.spawn(move || gather_node(realizer, spool, machine, address));
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

fn gather_node(
    realizer: &Realizer<'_>,
    spool: &Spool<'_>,
    machine: &DesiredMachine,
    address: IpAddr,
) -> Result<bool> {
    timed(realizer, "node", &machine.node, || match ssh::route(realizer, machine, address) {
        Ok(route) => node::gather(realizer, spool, &route),
        Err(RealizeError::Fs(error)) => Err(error.into()),
        Err(error) => {
            spool.miss(&format!("nodes/{}/", machine.node), &chain(&error));
            Ok(false)
        }
    })
}

/// Reports how long a part took.
fn timed<T>(realizer: &Realizer<'_>, resource: &'static str, name: &str, work: impl FnOnce() -> T) -> T {
    let started = Instant::now();
    let done = work();
    realizer.events.emit(Event::Step {
        phase: "gather",
        action: "ask",
        resource,
        name: name.to_owned(),
        milliseconds: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
    });
    done
}

/// Adds a file, or why there is none.
fn keep(spool: &Spool<'_>, name: &str, content: &Result<Vec<u8>, String>) -> Result<()> {
    match content {
        Ok(content) => spool.put(name, content)?,
        Err(why) => spool.miss(name, why),
    }
    Ok(())
}

fn errors(missed: &[Missed]) -> String {
    match missed {
        [] => "nothing is missing\n".to_owned(),
        missed => missed.iter().map(|one| format!("{}: {}\n", one.what, one.why)).collect(),
    }
}
