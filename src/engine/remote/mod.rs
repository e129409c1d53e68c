//! Farms as builders: a derivation becomes an action of the Remote Execution API, whose command is this very program as a worker.
//! Nothing has to be installed on a farm.
//!
//! ```text
//! Action
//!   command             bin/tinderbox worker, through its own loader
//!   platform            what the configuration says
//!   input root          [`input`]: the program, the description, the inputs
//!   out/report.json     what the worker says: ids, isolation, messages
//!   out/output.tar      the output
//! ```
//!
//! A farm is trusted with what it builds, as far as the configuration says: nobody else can tell whether an output is right. What
//! arrives must be what the farm says it is, and the store remembers which farm that was.
//!
//! | module | responsibility |
//! |---|---|
//! | `farm` | one farm: uploads, executes, takes the output |
//! | `input` | the input tree |
//! | `description` | a derivation as text, and what the worker says |
//! | `arrival` | an output from a farm into the store |
//! | `worker` | the other side |

mod arrival;
mod description;
mod farm;
mod input;
#[cfg(test)]
mod tests;
mod worker;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;

pub(crate) use farm::{Farm, Slot};
pub(crate) use worker::{WorkerError, run as run_worker};

use crate::base::digest::DrvId;
use crate::base::hint::chain;
use crate::engine::builders::Job;
use crate::engine::cache::{CacheUrl, UnpackError};
use crate::engine::drv::Derivation;
use crate::engine::registry::{Access, RegistryError, Sha256};
use crate::engine::store::{Staged, StoreError};

/// One farm, and how far it is trusted.
#[derive(Debug, Clone)]
pub(crate) struct FarmSettings {
    pub(crate) url: CacheUrl,
    pub(crate) access: Access,
    pub(crate) trust: FarmTrust,
    /// What its workers must have.
    pub(crate) platform: BTreeMap<String, String>,
    /// Derivations at the same time.
    pub(crate) jobs: usize,
}

/// A farm whose outputs count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FarmTrust {
    pub(crate) executor: Executor,
    /// Derivations and folders that it builds; empty for all.
    pub(crate) scope: Vec<String>,
    /// Whether it may see secrets, and make them.
    pub(crate) secrets: bool,
}

/// Who executes: a farm's address, and who vouches for whoever answers there.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Executor(String);

impl Executor {
    /// Besides the system's authorities, those in `ca` vouch for the server's name: another directory that names the same address
    /// and other authorities means somebody else.
    pub(crate) fn new(url: &CacheUrl, ca: Option<&str>) -> Self {
        Self(match ca {
            Some(ca) => format!("{url} ca:{}", &Sha256::of(ca.as_bytes()).hex()[..16]),
            None => url.to_string(),
        })
    }
}

impl fmt::Display for Executor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FarmTrust {
    fn covers(&self, name: &str) -> bool {
        let is_of =
            |of: &String| name.strip_prefix(of).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        self.scope.is_empty() || self.scope.iter().any(is_of)
    }
}

/// A derivation as far as it decides where it is built.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Offer<'a> {
    pub(crate) name: &'a str,
    /// Whether it takes longer than its way to a farm and back.
    pub(crate) costly: bool,
    /// Whether something secret goes in or comes out.
    pub(crate) secret: bool,
}

/// All farms of a cluster.
#[derive(Debug, Default)]
pub struct Farms {
    farms: Vec<Farm>,
    trust: Vec<FarmTrust>,
}

impl Farms {
    /// Farms to ask, none of them asked yet; and those whose outputs count, whether they are asked or not.
    pub(crate) fn new(settings: Vec<FarmSettings>, trust: Vec<FarmTrust>, program: Option<PathBuf>) -> Self {
        let farms = match program {
            Some(program) => settings.into_iter().map(|one| Farm::new(one, program.clone())).collect(),
            // This process is something else: it cannot send itself.
            None => Vec::new(),
        };
        Self { farms, trust }
    }

    /// Whether there is nobody to ask.
    pub(crate) fn is_empty(&self) -> bool {
        self.farms.is_empty()
    }

    /// Whether a farm among these may speak for this derivation.
    pub(crate) fn vouches(&self, who: &BTreeSet<String>, name: &str, secret: bool) -> bool {
        self.trust.iter().any(|trust| {
            (trust.secrets || !secret) && trust.covers(name) && who.contains(&trust.executor.to_string())
        })
    }

    /// A free slot of a farm that should build this; none if it is better built here.
    pub(crate) fn offer(&self, offer: Offer<'_>) -> Option<Slot<'_>> {
        self.farms.iter().find_map(|farm| farm.offer(offer))
    }
}

/// What a farm is asked to build.
pub(crate) struct Request<'a> {
    pub(crate) name: &'a str,
    pub(crate) drv: DrvId,
    pub(crate) derivation: &'a Derivation<'a>,
    pub(crate) job: &'a Job<'a>,
    /// Whether something secret goes in.
    pub(crate) tainted: bool,
    /// Whether all of the output is secret.
    pub(crate) secret: bool,
    /// Whether its builder runs programs.
    pub(crate) programs: bool,
}

/// An output that was built: verified, not published yet.
#[derive(Debug)]
pub(crate) struct Built {
    pub(crate) staged: Staged,
    /// The farm that executed it; none if it was this machine.
    pub(crate) executor: Option<Executor>,
    /// How its programs were isolated, and what they printed.
    pub(crate) isolation: Option<String>,
    pub(crate) log: Option<String>,
    pub(crate) warnings: Vec<String>,
}

/// Why a farm did not build something.
#[derive(Debug)]
enum Flaw {
    Registry(RegistryError),
    /// The farm cannot, or its answer is wrong.
    Farm(String),
    /// The farm never will.
    Ever(String),
    /// Nothing is wrong with it, but it cannot be sent or kept.
    Here(String),
}

impl From<&'static str> for Flaw {
    fn from(text: &'static str) -> Self {
        Self::Farm(text.to_owned())
    }
}

impl From<RegistryError> for Flaw {
    fn from(error: RegistryError) -> Self {
        Self::Registry(error)
    }
}

impl From<StoreError> for Flaw {
    fn from(error: StoreError) -> Self {
        Self::Here(chain(&error))
    }
}

impl From<crate::base::fs::Error> for Flaw {
    fn from(error: crate::base::fs::Error) -> Self {
        Self::Here(chain(&error))
    }
}

impl From<UnpackError> for Flaw {
    fn from(error: UnpackError) -> Self {
        match error {
            UnpackError::Wrong(text) => Self::Farm(text),
            UnpackError::Tree(error) => Self::Here(chain(&error)),
        }
    }
}
