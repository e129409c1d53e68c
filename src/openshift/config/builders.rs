//! Farms that build: in cluster.yaml, and in the user's own configuration, which has the same field. They decide who builds, never
//! what it becomes: nothing here is part of an id.

use std::collections::BTreeMap;

use super::fragment::Fragment;
use super::given::Given;
use crate::base::value::Value;
use crate::engine::cache::CacheUrl;

/// Derivations at the same time, unless the user says otherwise.
const JOBS: i64 = 8;

/// A farm that the user named.
#[derive(Debug, Clone)]
pub(crate) struct GivenBuilder {
    pub url: CacheUrl,
    pub scope: Vec<String>,
    pub secrets: bool,
    pub jobs: usize,
    pub platform: BTreeMap<String, String>,
    /// Relative to the file that names it.
    pub auth_file: Option<String>,
    /// Relative to the file that names it.
    pub ca: Option<String>,
}

/// The farms of a file.
pub(super) fn given_builders(fragment: &Fragment) -> Vec<GivenBuilder> {
    fragment.list("builders").iter().filter_map(builder).collect()
}

fn builder(entry: &Given) -> Option<GivenBuilder> {
    let text = |field| entry.get::<String>(field).cloned();
    let jobs = entry.get("jobs").copied().unwrap_or(JOBS);
    let platform = match entry.at("platform").map(Given::written) {
        Some(Value::Map(map)) => {
            map.into_iter().filter_map(|(name, value)| Some((name, word(value)?))).collect()
        }
        _ => BTreeMap::new(),
    };
    Some(GivenBuilder {
        url: text("url")?.parse().ok()?,
        scope: entry.all("scope"),
        secrets: entry.get("secrets").copied().unwrap_or(false),
        jobs: usize::try_from(jobs).ok()?,
        platform,
        auth_file: text("authFile"),
        ca: text("ca"),
    })
}

/// Properties are texts, however they are written.
fn word(value: Value) -> Option<String> {
    match value {
        Value::Text(text) => Some(text),
        Value::Int(number) => Some(number.to_string()),
        Value::Bool(value) => Some(value.to_string()),
        Value::Null | Value::List(_) | Value::Map(_) => None,
    }
}
