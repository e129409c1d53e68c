//! Realisations: which object a derivation produced, and how. JSON lines; the first is all that a build needs.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};

use serde::{Deserialize, Serialize};

use super::{Result, Store, StoreError, seal};
use crate::base::digest::{DrvId, ObjectId};
use crate::base::fs::{self, At};
use crate::engine::drv::{Explanation, Fact};

/// One object that a derivation produced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Output {
    pub object: ObjectId,
    /// The part of its directory name after the id.
    pub name: String,
}

/// All known outputs of a derivation. More than one is a divergence.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Realisation {
    /// In the order in which they were recorded.
    pub outputs: Vec<Output>,
    /// Outputs that were never built here, and who vouches for them: public keys that signed, and farms that executed. A store
    /// serves many clusters, and trust is a cluster's own: a build relies on such an output only if it trusts one of these.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub signed: BTreeMap<ObjectId, BTreeSet<String>>,
}

impl Realisation {
    /// The realisation of something that was built here.
    pub(crate) fn of(output: Output) -> Self {
        Self { outputs: vec![output], signed: BTreeMap::new() }
    }

    /// The first line of a file; none if it cannot be used.
    pub(crate) fn parse(line: &[u8]) -> Option<Self> {
        let end = line.iter().position(|byte| *byte == b'\n').unwrap_or(line.len());
        serde_json::from_slice(&line[..end]).ok().filter(|found: &Self| !found.outputs.is_empty())
    }

    /// The traces of a file: all lines after the first.
    pub(crate) fn parse_traces(text: &str) -> serde_json::Result<Vec<Trace>> {
        text.lines().skip(1).map(serde_json::from_str).collect()
    }
}

/// How an output was built.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trace {
    /// The derivation's name when it was built.
    pub label: String,
    /// Where its inputs came from, by alias.
    pub inputs: BTreeMap<String, TraceInput>,
    /// Everything that is part of its id.
    pub identity: Explanation,
    /// Time of completion, RFC 3339.
    pub time: String,
    pub milliseconds: u64,
    /// How the programs that produced it were isolated, if any ran. Their output is in `logs/`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation: Option<String>,
    /// Where it came from, if it was not built here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub substituted: Option<Substitution>,
    /// The farm that executed it, if it was not this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub executor: Option<String>,
}

impl Trace {
    /// Who vouches for it, if it was not built here.
    pub(crate) fn voucher(&self) -> Option<&str> {
        let signer = self.substituted.as_ref().map(|from| from.key.as_str());
        signer.or(self.executor.as_deref())
    }

    /// The builder with its version.
    pub(crate) fn builder(&self) -> &str {
        match self.identity.0.get("builder") {
            Some(Fact::Text(builder)) => builder,
            _ => "",
        }
    }
}

/// Where an output came from that was not built here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Substitution {
    /// The cache that had it.
    pub cache: String,
    /// The public key that signed it.
    pub key: String,
}

/// One input of a trace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceInput {
    /// The derivation that produced it.
    pub from: String,
    pub object: ObjectId,
    /// None for the whole output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

impl Store {
    /// The outputs of a derivation, if it was ever built. An unreadable record is a miss: it will be written again.
    pub fn realisation(&self, drv: DrvId) -> Result<Option<Realisation>> {
        let path = self.realisation_path(drv);
        let Some(file) = fs::optional(fs::open(&path))? else { return Ok(None) };
        let mut line = Vec::new();
        BufReader::with_capacity(1024, file).read_until(b'\n', &mut line).at("read", &path)?;
        Ok(Realisation::parse(&line))
    }

    /// The traces of a derivation's outputs, in the same order.
    pub fn traces(&self, drv: DrvId) -> Result<Vec<Trace>> {
        let path = self.realisation_path(drv);
        let Some(text) = fs::optional(fs::read_text(&path))? else { return Ok(Vec::new()) };
        Realisation::parse_traces(&text).map_err(|source| StoreError::Unreadable { path, source })
    }

    /// What the programs of a derivation printed when it was last built here.
    pub fn log(&self, drv: DrvId) -> Result<Option<String>> {
        let text = fs::optional(fs::read_text(&self.log_path(drv)))?;
        Ok(text.map(|text| seal::unseal_text(&text).unwrap_or(&text).to_owned()))
    }

    pub(super) fn log_path(&self, drv: DrvId) -> std::path::PathBuf {
        self.part("logs").join(drv.to_string())
    }

    /// All derivations that were ever built.
    pub fn realised(&self) -> Result<Vec<DrvId>> {
        let names = fs::list(&self.part("realisations"))?;
        Ok(names.iter().filter_map(|name| name.to_str()?.parse().ok()).collect())
    }

    /// A derivation's realisation with one more output, as file text and as data.
    ///
    /// The same object again only replaces its trace; another object is recorded next to the first. What was built here once
    /// needs no signature any more.
    pub(super) fn with_output(
        &self,
        drv: DrvId,
        output: &Output,
        trace: &Trace,
    ) -> Result<(String, Realisation)> {
        let mut found = self.realisation(drv)?.unwrap_or_default();
        // An unreadable trace must not prevent recording a build: this one replaces it.
        let mut traces = self.traces(drv).unwrap_or_default();
        traces.resize(found.outputs.len(), trace.clone());
        let known = found.outputs.iter().position(|known| known.object == output.object);
        let is_built_here = known.is_some() && !found.signed.contains_key(&output.object);
        match trace.voucher() {
            Some(voucher) if !is_built_here => {
                found.signed.entry(output.object).or_default().insert(voucher.to_owned());
            }
            Some(_) => {}
            None => {
                found.signed.remove(&output.object);
            }
        }
        match known {
            Some(at) => {
                found.outputs[at] = output.clone();
                if let Some(known) =
                    traces.get_mut(at).filter(|_| !is_built_here || trace.voucher().is_none())
                {
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
        Ok((seal::seal_json(&text), found))
    }

    /// Whether a realisation is exactly as it was written.
    pub(super) fn is_whole(&self, drv: DrvId) -> bool {
        let Ok(text) = fs::read_text(&self.realisation_path(drv)) else { return false };
        let plain = seal::unseal_json(&text).or_else(|| {
            // Of an earlier tinderbox, without a checksum.
            let mut lines = serde_json::to_string(&Realisation::parse(text.as_bytes())?).ok()? + "\n";
            for trace in Realisation::parse_traces(&text).ok()? {
                lines += &(serde_json::to_string(&trace).ok()? + "\n");
            }
            (lines == text).then_some(lines)
        });
        plain.is_some_and(|text| {
            Realisation::parse(text.as_bytes()).is_some() && Realisation::parse_traces(&text).is_ok()
        })
    }

    /// Whether a log is exactly as it was written.
    pub(super) fn is_whole_log(&self, drv: DrvId) -> bool {
        fs::read_text(&self.log_path(drv)).is_ok_and(|text| seal::unseal_text(&text).is_some())
    }
}
