//! Many clusters of one fleet.yaml: each is the same as the directory that `fleet export` writes of it, what is wrong with a layer
//! is said once, and the trouble of one site is none of another's.

mod bad_days;
mod build;
mod diff;
mod hostile;
mod model;

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::harness::{Workspace, source};

/// A fleet of three sites, two of which are single nodes; seed and epoch as everywhere.
fn fleet() -> Workspace {
    let workspace = Workspace::empty();
    for name in ["fleet.yaml", "sites.csv"] {
        workspace.write(name, &fs::read_to_string(source("examples/fleet").join(name)).unwrap());
    }
    fs::write(workspace.dir.join("fleet.seed"), [7; 32]).unwrap();
    crate::harness::set_mode(&workspace.dir.join("fleet.seed"), 0o600);
    workspace
}

/// A site's line of a report.
fn site<'a>(report: &'a Value, name: &str) -> &'a Value {
    report["sites"].as_array().unwrap().iter().find(|site| site["site"] == name).unwrap()
}

/// The states of all sites, in the order of the report.
fn states(report: &Value) -> Vec<String> {
    let sites = report["sites"].as_array().unwrap().iter();
    sites
        .map(|site| format!("{} {}", site["site"].as_str().unwrap(), site["state"].as_str().unwrap()))
        .collect()
}

/// Where a site's result is.
fn result(workspace: &Workspace, site: &str) -> PathBuf {
    fs::read_link(workspace.dir.join("results").join(site)).unwrap()
}
