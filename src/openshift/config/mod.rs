//! From the text of the user's two files to a valid cluster: pure, without disk, clock or environment.
//!
//! Three steps, each with its own type, so that raw input is not mistaken for valid data:
//!
//! | step | type | what happens | files |
//! |---|---|---|---|
//! | fragments | `Fragment` | one file by its field table: values parsed and typed, unknown fields, lines | `spec`, `syntax`, `words`, `given`, `fragment`, `install_config`, `platform`, `cluster_file`, `schema` |
//! | inputs | `Inputs` | both files merged, network defaults, old names | `files`, `pull_secret`, `inputs`, `rules`, `checks`, `external`, `machines`, `node_network` |
//! | cluster | [`Cluster`] | what Rust code asks about, and everything that follows from it | `model`, `caches`, `builders`, `derived`, `release` |
//!
//! Recipes see the result as [`Fields`](crate::engine::fields::Fields): a tree of leaves, each with the lines that set
//! it (`projection`). All problems of both files are reported at once.
//!
//! A field is declared once: to add one, add a row to its table. Recipes, messages, `affects` and the JSON schema
//! follow. Only fields that Rust code uses also need a field in [`Cluster`].

mod builders;
mod caches;
mod checks;
mod cluster_file;
mod derived;
mod external;
mod files;
mod fragment;
mod given;
mod init;
mod init_nodes;
mod inputs;
mod install_config;
mod machines;
mod model;
mod node_network;
mod platform;
mod projection;
mod pull_secret;
mod reference;
mod release;
mod rules;
mod schema;
mod spec;
mod syntax;
#[cfg(test)]
mod tests;
mod words;

pub(crate) use builders::GivenBuilder;
pub(crate) use caches::{GivenCache, UserConfig, read_user_config};
pub(crate) use checks::CHECKS;
pub(crate) use init::{
    Example, Generated, Guess, HIGHLY_AVAILABLE, Known, SINGLE_NODE, Taken, cluster_yaml_for,
};
pub(crate) use model::{AuthorityFiles, Cluster, Node};
pub(crate) use pull_secret::{PLACEHOLDER as PULL_SECRET_PLACEHOLDER, ReadFile, is_placeholder};
pub(crate) use reference::{FieldReference, reference};
pub use release::Release;
pub(crate) use release::{Reference, ReleaseError};
pub(crate) use schema::schema;

pub(crate) use crate::base::yaml::Source;
pub(crate) use words::{Machines, Role, SourcePolicy};

use std::sync::Arc;

use files::{File, Files};
use fragment::Fragment;
use inputs::Inputs;

use crate::base::hint::{Place, Problem, Problems};

/// Reads both files, and with `read` what they name. Reports all problems, in the order of file and line.
pub(crate) fn load(
    install_config: Source<'_>,
    cluster: Source<'_>,
    read: ReadFile<'_>,
) -> Result<Cluster, Problems> {
    let mut problems = Problems::default();
    let install = Fragment::read(install_config, File::Install.table(), &mut problems);
    let cluster = Fragment::read(cluster, File::Cluster.table(), &mut problems);
    if !(install.readable && cluster.readable) {
        return Err(in_order(problems));
    }
    let mut files = Files { install, cluster };
    pull_secret::resolve(&mut files, read, &mut problems);
    let files = Arc::new(files);
    let inputs = Inputs::merge(&files, &mut problems);
    rules::run(&inputs, &mut problems);
    checks::run(&inputs, &files.cluster.given.all("checks.disabled"), &mut problems);
    if !problems.0.is_empty() {
        return Err(in_order(problems));
    }
    Cluster::new(&files, &inputs).ok_or_else(|| {
        // Cannot happen while every hole in the inputs leaves a problem behind; reported instead of a panic.
        let place = Place::file(&files.cluster.file);
        Problems(vec![Problem::new(
            place,
            "the files do not make a cluster, and no check says why: this is a bug",
        )])
    })
}

fn in_order(problems: Problems) -> Problems {
    problems.or(()).err().unwrap_or_default()
}
