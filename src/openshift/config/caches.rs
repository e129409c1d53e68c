//! Caches: in cluster.yaml, and in the user's own configuration, which has the same field. They decide where outputs come
//! from, never what they are: nothing here is part of an id.

use super::Source;
use super::builders::{GivenBuilder, given_builders};
use super::cluster_file::{BUILDERS, CACHES};
use super::fragment::Fragment;
use super::given::Given;
use super::spec::{Kind, Row, field};
use super::syntax;
use crate::base::hint::Problems;
use crate::engine::cache::{CacheUrl, Recipients, Trusted};

/// The field table of the user's own configuration.
pub(super) const FIELDS: &[Row] = &[
    field("caches", Kind::List(CACHES), "Registries and farms with outputs that others built and signed."),
    field("builders", Kind::List(BUILDERS), "Farms that build, and are trusted with what they built."),
    field(
        "signingKey",
        Kind::Text(&syntax::TEXT),
        "File with the key that `push` signs with; relative to this file.",
    ),
];

/// A cache that the user named.
#[derive(Debug, Clone)]
pub(crate) struct GivenCache {
    pub url: CacheUrl,
    pub trust: Vec<Trusted>,
    /// For whom secret outputs are encrypted.
    pub recipients: Recipients,
    /// Relative to the file that names it.
    pub auth_file: Option<String>,
    /// Relative to the file that names it.
    pub ca: Option<String>,
}

/// The user's own configuration.
#[derive(Debug, Clone, Default)]
pub(crate) struct UserConfig {
    pub caches: Vec<GivenCache>,
    pub builders: Vec<GivenBuilder>,
    pub signing_key: Option<String>,
}

/// Reads the user's own configuration.
pub(crate) fn read_user_config(source: Source<'_>) -> Result<UserConfig, Problems> {
    let mut problems = Problems::default();
    let fragment = Fragment::read(source, FIELDS, &mut problems);
    problems.or(UserConfig {
        caches: given_caches(&fragment),
        builders: given_builders(&fragment),
        signing_key: fragment.text("signingKey").map(str::to_owned),
    })
}

/// The caches of a file.
pub(super) fn given_caches(fragment: &Fragment) -> Vec<GivenCache> {
    fragment.list("caches").iter().filter_map(cache).collect()
}

fn cache(entry: &Given) -> Option<GivenCache> {
    let text = |field| entry.get::<String>(field).cloned();
    let trust = entry.at("trust").map_or(&[][..], Given::items);
    let trusted = |one: &Given| {
        let key = one.get::<String>("key")?.parse().ok()?;
        Some(Trusted { key, scope: one.all("scope"), secrets: one.get("secrets").copied().unwrap_or(false) })
    };
    let recipients = entry.all::<String>("recipients");
    Some(GivenCache {
        url: text("url")?.parse().ok()?,
        trust: trust.iter().filter_map(trusted).collect(),
        recipients: recipients.iter().filter_map(|text| text.parse().ok()).collect(),
        auth_file: text("authFile"),
        ca: text("ca"),
    })
}
