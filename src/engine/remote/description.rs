//! A derivation as text, for a worker that has nothing but its input tree; and what the worker says when it is done. The
//! name of the derivation is left out, being no part of its identity; those of its inputs are what messages and reports call them.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use crate::base::digest::{DrvId, ObjectId};
use crate::base::secret::{IdKey, Secret};
use crate::base::value::Value;
use crate::engine::builders::{InputTree, Job};
use crate::engine::drv::{BuilderId, Derivation, Input};
use crate::engine::tree::{Hashing, Listing};

/// Changes whenever an older worker would misunderstand a description. Workers are of the version that sent them, so this guards
/// against nothing but an action cache that remembers.
const VERSION: u32 = 1;

/// A derivation with everything that its builder sees, apart from the content of its inputs.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Description {
    version: u32,
    pub(super) drv: DrvId,
    /// With version.
    builder: String,
    pub(super) aliases: BTreeSet<String>,
    pub(super) inputs: BTreeMap<String, DescribedInput>,
    params: serde_json::Value,
    /// In base64; empty unless the farm may see secrets.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    secrets: BTreeMap<String, String>,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct DescribedInput {
    /// The derivation that it comes from.
    pub(super) from: String,
    /// The requested part of the object; empty for the whole.
    pub(super) path: String,
    /// Everything of it, links and what is secret included.
    pub(super) listing: String,
}

/// What the worker says besides the output.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Report {
    pub(super) version: u32,
    pub(super) drv: DrvId,
    /// None where something is secret: only who has the seed knows such an id.
    pub(super) object: Option<ObjectId>,
    /// Bytes of all files.
    pub(super) size: u64,
    /// Files, links and directories.
    pub(super) entries: u64,
    /// How programs were isolated, if any ran.
    pub(super) isolation: Option<String>,
    /// What they printed.
    pub(super) log: Option<String>,
    pub(super) warnings: Vec<String>,
}

impl Report {
    pub(super) fn new(drv: DrvId) -> Self {
        Self {
            version: VERSION,
            drv,
            object: None,
            size: 0,
            entries: 0,
            isolation: None,
            log: None,
            warnings: Vec::new(),
        }
    }

    /// Reads what a farm says about this derivation.
    pub(super) fn parse(bytes: &[u8], drv: DrvId) -> Result<Self, &'static str> {
        let report: Self = serde_json::from_slice(bytes).map_err(|_| "its report cannot be read")?;
        match (report.version, report.drv == drv) {
            (VERSION, true) => Ok(report),
            (VERSION, false) => Err("it is about another derivation"),
            _ => Err("it is of another version of tinderbox"),
        }
    }
}

/// The part of an input that its user asked for.
pub(super) fn narrowed(tree: &InputTree, key: Option<&IdKey>) -> Option<Listing> {
    let listing = tree.listing.as_ref()?;
    let prefix = if tree.path.is_empty() { String::new() } else { format!("{}/", tree.path) };
    let wanted = |path: &str| !path.is_empty() && (path == tree.path || path.starts_with(&prefix));
    let entries = listing.entries().filter(|(path, _)| wanted(path));
    let entries = entries.map(|(path, entry)| (path.to_owned(), entry.clone())).collect();
    Listing::close(entries, Hashing(key))
}

impl Description {
    /// Describes a derivation. None if an input has no listing.
    pub(super) fn of(
        drv: DrvId,
        derivation: &Derivation<'_>,
        job: &Job<'_>,
        key: Option<&IdKey>,
    ) -> Option<Self> {
        let input = |(alias, tree): (&String, &InputTree)| {
            let listing = narrowed(tree, key)?.encode();
            let (from, path) = (tree.derivation.clone(), tree.path.clone());
            Some((alias.clone(), DescribedInput { from, path, listing }))
        };
        let secret = |(alias, secret): (&String, &Secret)| (alias.clone(), STANDARD.encode(secret.reveal()));
        Some(Self {
            version: VERSION,
            drv,
            builder: derivation.builder.to_string(),
            aliases: job.aliases.clone(),
            inputs: job.inputs.iter().map(input).collect::<Option<_>>()?,
            params: serde_json::to_value(job.params).ok()?,
            secrets: job.secrets.iter().map(secret).collect(),
        })
    }

    pub(super) fn parse(bytes: &[u8]) -> Result<Self, String> {
        let description: Self = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        match description.version {
            VERSION => Ok(description),
            other => Err(format!("its version is {other}")),
        }
    }

    pub(super) fn builder(&self) -> Result<BuilderId, String> {
        self.builder.parse()
    }

    pub(super) fn params(&self) -> Result<BTreeMap<String, Value>, String> {
        match plain(&self.params) {
            Some(Value::Map(params)) => Ok(params),
            _ => Err("its parameters are not plain data".to_owned()),
        }
    }

    pub(super) fn secrets(&self) -> Result<BTreeMap<String, Secret>, String> {
        let secret = |(alias, text): (&String, &String)| {
            let bytes = STANDARD.decode(text).map_err(|_| "it has a secret that is not base64".to_owned())?;
            Ok((alias.clone(), Secret::new(bytes)))
        };
        self.secrets.iter().map(secret).collect()
    }

    /// Whether this is the derivation that it says it is. Of secrets only their owner knows.
    pub(super) fn is_what_it_says(&self, listings: &BTreeMap<String, Listing>) -> Result<bool, String> {
        if !self.secrets.is_empty() {
            return Ok(true);
        }
        let input = |(alias, described): (&String, &DescribedInput)| {
            let entry = listings.get(alias)?.get(&described.path)?;
            Some((alias.clone(), Input::of(entry)?))
        };
        let Some(inputs) = self.inputs.iter().map(input).collect::<Option<_>>() else { return Ok(false) };
        let params = self.params()?;
        let derivation = Derivation {
            label: "",
            builder: self.builder()?,
            inputs,
            params: &params,
            secrets: BTreeMap::new(),
        };
        Ok(derivation.id() == self.drv)
    }
}

/// JSON without fractions, as a value.
fn plain(json: &serde_json::Value) -> Option<Value> {
    Some(match json {
        serde_json::Value::Null => Value::Null,
        serde_json::Value::Bool(value) => Value::Bool(*value),
        serde_json::Value::Number(number) => Value::Int(number.as_i64()?),
        serde_json::Value::String(text) => Value::Text(text.clone()),
        serde_json::Value::Array(list) => Value::List(list.iter().map(plain).collect::<Option<_>>()?),
        serde_json::Value::Object(map) => {
            let entry = |(key, value): (&String, &serde_json::Value)| Some((key.clone(), plain(value)?));
            Value::Map(map.iter().map(entry).collect::<Option<_>>()?)
        }
    })
}
