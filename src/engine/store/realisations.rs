//! Realisations: which object a derivation gave, and how. JSON lines; the first is all that a build needs.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};

use serde::{Deserialize, Serialize};

use super::{Result, Store, StoreError};
use crate::base::digest::{DrvId, ObjectId};
use crate::base::fs::{self, At};
use crate::engine::drv::Explanation;

/// One object that a derivation gave.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Output {
    pub object: ObjectId,
    /// The name of its directory, after the id.
    pub name: String,
}

/// Everything that a derivation is known to have given. More than one output is a divergence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Realisation {
    /// Outputs in the order in which they were seen.
    pub outputs: Vec<Output>,
}

/// How an output came to be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trace {
    /// The derivation's name when it was built.
    pub label: String,
    /// Where its inputs came from, by alias.
    pub inputs: BTreeMap<String, TraceInput>,
    /// Everything that went into its id.
    pub identity: Explanation,
    /// When it was finished, RFC 3339.
    pub time: String,
    /// How long it took.
    pub milliseconds: u64,
    /// How the programs that made it were kept apart, if it is programs that made it. What they printed is in `logs/`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation: Option<String>,
}

/// One input of a trace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceInput {
    /// The derivation that made it.
    pub from: String,
    pub object: ObjectId,
    /// The part of it, if not the whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

impl Store {
    /// What a derivation gave, if it was ever built. An unreadable record is a miss: it will be written again.
    pub fn realisation(&self, drv: DrvId) -> Result<Option<Realisation>> {
        let path = self.realisation_path(drv);
        let Some(file) = fs::optional(fs::open(&path))? else { return Ok(None) };
        let mut line = Vec::new();
        BufReader::with_capacity(1024, file).read_until(b'\n', &mut line).at("read", &path)?;
        Ok(serde_json::from_slice(&line).ok().filter(|found: &Realisation| !found.outputs.is_empty()))
    }

    /// The traces of a derivation's outputs, in their order.
    pub fn traces(&self, drv: DrvId) -> Result<Vec<Trace>> {
        let path = self.realisation_path(drv);
        let Some(text) = fs::optional(fs::read_text(&path))? else { return Ok(Vec::new()) };
        let parse = |line| {
            serde_json::from_str(line).map_err(|source| StoreError::Unreadable { path: path.clone(), source })
        };
        text.lines().skip(1).map(parse).collect()
    }

    /// What the programs of a derivation printed when it was last built here.
    pub fn log(&self, drv: DrvId) -> Result<Option<String>> {
        Ok(fs::optional(fs::read_text(&self.log_path(drv)))?)
    }

    pub(super) fn log_path(&self, drv: DrvId) -> std::path::PathBuf {
        self.part("logs").join(drv.to_string())
    }

    /// Derivations that were built at some time.
    pub fn realised(&self) -> Result<Vec<DrvId>> {
        let names = fs::list(&self.part("realisations"))?;
        Ok(names.iter().filter_map(|name| name.to_str()?.parse().ok()).collect())
    }

    /// What a derivation gave, with one more output, as the text of its file and as data.
    ///
    /// The same object again changes nothing but its trace; another object is kept beside the first.
    pub(super) fn with_output(
        &self,
        drv: DrvId,
        output: &Output,
        trace: &Trace,
    ) -> Result<(String, Realisation)> {
        let mut found = self.realisation(drv)?.unwrap_or(Realisation { outputs: Vec::new() });
        // A trace that cannot be read must not keep a build from being recorded: this one stands in for it.
        let mut traces = self.traces(drv).unwrap_or_default();
        traces.resize(found.outputs.len(), trace.clone());
        match found.outputs.iter().position(|known| known.object == output.object) {
            Some(at) => {
                found.outputs[at] = output.clone();
                if let Some(known) = traces.get_mut(at) {
                    *known = trace.clone();
                }
            }
            None => {
                found.outputs.push(output.clone());
                traces.push(trace.clone());
            }
        }
        let unwritable = |source| StoreError::Unreadable { path: self.realisation_path(drv), source };
        let mut text = serde_json::to_string(&found).map_err(unwritable)? + "\n";
        for trace in &traces {
            text.push_str(&serde_json::to_string(trace).map_err(unwritable)?);
            text.push('\n');
        }
        Ok((text, found))
    }
}
