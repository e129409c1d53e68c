//! A fleet: many clusters that differ in a handful of values, written down once.
//!
//! ```text
//! FLEET/
//! ├── fleet.yaml      layers common, groups and sites; or where the table of sites is
//! ├── sites.csv       such a table, or sites.yaml, or documents of kind ClusterInstance
//! ├── fleet.lock      the epoch, and every release that a site uses, pinned once
//! ├── fleet.seed      32 bytes, of which every site's seed is derived; or fleet.seed.age
//! └── results/SITE    the link to a site's last build
//! ```
//!
//! | module | responsibility |
//! |---|---|
//! | `bounds` | what a fleet may name, and how much |
//! | `read` | from fleet.yaml and the tables to a [`Fleet`]; all problems at once |
//! | `table` | sites in CSV |
//! | `layer` | layers: merged, values put in, problems moved to where the user wrote the field |
//! | `instance` | sites from ClusterInstance documents |
//! | `pins` | fleet.lock |
//! | `site` | a site as a cluster directory in memory, and its seed |
//! | `exposed` | warnings about secrets that git tracks |
//! | `pools` | what the user's MachineConfigPools say about updates |
//! | `schema` | the JSON schema of fleet.yaml |
//!
//! A site is the same cluster as the directory that `fleet export` writes of it, id by id.

mod bounds;
mod exposed;
mod instance;
mod layer;
mod pins;
mod pools;
mod read;
mod schema;
mod site;
mod table;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::base::hint::Place;
use crate::openshift::hosts::LeftOut;

pub(crate) use exposed::warn as warn_of_exposed;
pub(crate) use layer::Layer;
pub(crate) use pins::{FleetLock, ensure as pin, key as pin_key};
pub(crate) use pools::max_unavailable;
pub(crate) use schema::schema;
pub(crate) use site::{Rendered, fleet_seed, make_seed, rendered};

pub(crate) const FLEET: &str = "fleet.yaml";
pub(crate) const LOCK: &str = "fleet.lock";
pub(crate) const SEED: &str = "fleet.seed";
pub(crate) const SEALED: &str = "fleet.seed.age";
/// Links to the sites' last builds.
pub(crate) const RESULTS: &str = "results";

/// The files of a fleet, read and free of problems of their own. What a site makes of them is judged site by site.
#[derive(Debug)]
pub(crate) struct Fleet {
    /// The directory, absolute.
    pub path: PathBuf,
    pub common: Layer,
    pub groups: BTreeMap<String, Layer>,
    /// In the order of the files.
    pub sites: Vec<Site>,
    /// Columns that no layer uses.
    pub unused: Vec<String>,
    /// What of ClusterInstance documents has no place in a cluster directory.
    pub left_out: Vec<LeftOut>,
}

#[derive(Debug)]
pub(crate) struct Site {
    pub name: String,
    pub kind: SiteKind,
}

#[derive(Debug)]
pub(crate) enum SiteKind {
    /// A cluster directory of its own, absolute, with lock and seed.
    Directory(PathBuf),
    Layered(Box<Layered>),
}

/// A site that layers describe.
#[derive(Debug)]
pub(crate) struct Layered {
    /// Below the common layer: what a ClusterInstance says.
    pub base: Option<Layer>,
    /// Above the common layer, in this order.
    pub groups: Vec<String>,
    /// Above all others.
    pub own: Layer,
    /// What `$(name)` stands for.
    pub values: BTreeMap<String, SiteValue>,
    /// A file with the site's own seed, relative to the fleet's directory.
    pub seed: Option<String>,
    /// Manifests that no folder has, by file name.
    pub manifests: BTreeMap<String, String>,
}

#[derive(Debug, Clone)]
pub(crate) struct SiteValue {
    pub text: String,
    /// Whether YAML takes it for what it looks like: of a table in CSV, or not quoted.
    pub plain: bool,
    pub place: Place,
}

impl Layered {
    /// Whether a place is a line of this site alone: in its table or its document.
    pub(crate) fn is_own(&self, place: &Place) -> bool {
        let is_value = || self.values.values().any(|value| value.place == *place);
        is_value() || (place.file != FLEET && place.file == self.own.file)
    }
}

impl Fleet {
    /// The names of the groups, in the order in which they stand in fleet.yaml.
    pub(crate) fn group_order(&self) -> Vec<String> {
        let mut names: Vec<(&Layer, &String)> =
            self.groups.iter().map(|(name, layer)| (layer, name)).collect();
        names.sort_by_key(|(layer, name)| (layer.line, *name));
        names.into_iter().map(|(_, name)| name.clone()).collect()
    }

    /// The layers of a site, the most general first.
    pub(crate) fn layers<'a>(
        &'a self,
        site: &'a Layered,
    ) -> impl DoubleEndedIterator<Item = &'a Layer> + Clone {
        let groups: Vec<&Layer> = site.groups.iter().filter_map(|name| self.groups.get(name)).collect();
        site.base.iter().chain([&self.common]).chain(groups).chain([&site.own])
    }
}
