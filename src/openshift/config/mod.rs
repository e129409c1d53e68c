//! The user's two files, from text to a valid cluster: pure, without disk, clock or environment.
//!
//! Three named steps, each with its own type, so that nobody mistakes what was written for what is valid:
//!
//! | step | type | what happens | files |
//! |---|---|---|---|
//! | fragments | `Fragment` | one file against its field table: shapes, unknown fields, lines | `yaml`, `scalar`, `spec`, `syntax`, `install_config`, `cluster_file`, `schema` |
//! | inputs | `Inputs` | both files merged, network defaults, old names | `inputs`, `rules`, `checks` |
//! | settings | [`Cluster`] | the model, and everything that follows from it | `settings`, `model`, `words`, `release`, `derived` |
//!
//! Recipes see the result as [`Fields`]: a tree of leaves, each with the lines that decided it (`fields`, `place`,
//! `lookup`, `project`). All problems of both files are reported at once. To add a field: a row in the table, a field in the
//! model; the compiler then asks for the rest.

mod checks;
mod cluster_file;
mod derived;
mod fragment;
mod init;
mod inputs;
mod install_config;
mod lookup;
mod model;
mod place;
mod release;
mod rules;
mod scalar;
mod schema;
mod settings;
mod spec;
mod syntax;
#[cfg(test)]
mod tests;
mod words;

pub(crate) use checks::CHECKS;
pub(crate) use init::{cluster_yaml, cluster_yaml_for, install_config_yaml};
pub(crate) use model::{AuthorityFiles, Cluster, Node};
pub use release::Release;
pub(crate) use release::{Reference, ReleaseError};
pub(crate) use schema::schema;

pub(crate) use crate::base::yaml::Source;
pub(crate) use words::{Role, SourcePolicy};

use fragment::Fragment;
use inputs::Inputs;

use crate::base::hint::{Place, Problem, Problems};
use crate::base::value::Value;

/// Reads both files. Reports everything that is wrong with either, in the order of file and line.
pub(crate) fn load(install_config: Source<'_>, cluster: Source<'_>) -> Result<Cluster, Problems> {
    let mut problems = Problems::default();
    let install = Fragment::read(install_config, install_config::FIELDS, &mut problems);
    let cluster = Fragment::read(cluster, cluster_file::FIELDS, &mut problems);
    if !(install.readable && cluster.readable) {
        return Err(in_order(problems));
    }
    let inputs = Inputs::merge(&install, &cluster, &mut problems);
    rules::run(&inputs, &mut problems);
    let disabled: Vec<&str> = cluster.list("checks.disabled").iter().filter_map(Value::as_text).collect();
    checks::run(&inputs, &disabled, &mut problems);
    if !problems.0.is_empty() {
        return Err(in_order(problems));
    }
    settings::settle(&inputs).ok_or_else(|| {
        // Cannot happen while every hole in the inputs leaves a problem behind; said rather than panicked.
        let place = Place::file(&cluster.file);
        Problems(vec![Problem::new(
            place,
            "the files do not make a cluster, and no check says why: this is a bug",
        )])
    })
}

fn in_order(problems: Problems) -> Problems {
    problems.or(()).err().unwrap_or_default()
}
