//! `machineconfig`: one pool's rendered MachineConfig, extracted and checked.
//!
//! Inputs: `rendered`, the output of MCO's programs; `pool` selects the pool. MCO names a rendered config by the md5
//! of an 80-byte constant and the YAML of its spec. We recompute and compare the name: a config that was truncated,
//! edited or written by something else is detected here, not by a machine-config daemon that looks for it in vain.
//!
//! ```text
//! machine-config.json    the whole object, secret: it contains the pull secret
//! config.ign             its Ignition config, secret too
//! name                   rendered-master-<md5>
//! version                of the Ignition spec: 3.4.0
//! ```

use data_encoding::HEXLOWER;
use md5::Digest as _;
use serde_json::Value as Json;

use super::{BuildError, Builder, Job, JobError};
use crate::base::hint::Problems;
use crate::base::json::canonical;
use crate::base::yaml::{self, Source};
use crate::engine::drv::BuilderId;
use crate::engine::tree::TreeWriter;
use crate::openshift::knowledge::Components;
use crate::openshift::schema;

/// Precedes the spec in the hash, the same in every release.
pub(crate) const SALT: [u8; 80] = [
    16, 124, 206, 228, 139, 56, 175, 175, 79, 229, 134, 118, 157, 154, 211, 110, 25, 93, 47, 253, 172, 106,
    37, 7, 174, 13, 160, 185, 110, 17, 87, 52, 219, 131, 12, 206, 218, 141, 116, 135, 188, 181, 192, 151,
    233, 62, 126, 165, 64, 83, 179, 119, 15, 168, 208, 197, 146, 107, 58, 227, 133, 188, 238, 26, 33, 26,
    235, 202, 32, 173, 31, 234, 41, 144, 148, 79, 6, 206, 23, 22,
];

pub(super) struct MachineConfig;

impl Builder for MachineConfig {
    fn id(&self) -> BuilderId {
        BuilderId::new("machineconfig", 1)
    }

    /// Name and version are public; the rest is written as secret.
    fn declassifies(&self, _: &Job<'_>) -> bool {
        true
    }

    fn keeps_secrets(&self) -> bool {
        true
    }

    fn check(&self, job: &Job<'_>) -> Result<(), BuildError> {
        job.only(&["pool"])?;
        job.exactly(&["rendered"])?;
        Ok(pool(job).map(drop)?)
    }

    fn build(&self, job: &Job<'_>, out: &TreeWriter<'_>) -> Result<(), BuildError> {
        let pool = pool(job)?;
        let wrong = |problem: String| JobError::Input { alias: "rendered".into(), problem };
        let prefix = format!("rendered-{pool}-");
        let is_it = |path: &&str| crate::engine::tree::leaf(path).starts_with(&prefix);
        let input = job.input("rendered")?;
        let found: Vec<&str> = input.leaves().map(|(path, ..)| path).filter(is_it).collect();
        let [path] = found.as_slice() else {
            return Err(wrong(format!("has {} files `{prefix}…` instead of one", found.len())).into());
        };
        let text = input.text("rendered", path)?;
        let name = crate::engine::tree::leaf(path).trim_end_matches(".yaml");
        let computed =
            format!("{prefix}{}", hash(&text).ok_or_else(|| wrong(format!("`{path}` has no spec")))?);
        if computed != name {
            return Err(wrong(format!(
                "`{path}` is not what MCO rendered: by its content it is `{computed}`"
            ))
            .into());
        }
        let document = yaml::parse(Source { name: path, text: &text }, &mut Problems::default());
        let config =
            document.map(|node| schema::json(&node)).ok_or_else(|| wrong(format!("`{path}` is not YAML")))?;
        if config["metadata"]["name"].as_str() != Some(name) {
            return Err(wrong(format!("`{path}` contains another name")).into());
        }
        let ignition = &config["spec"]["config"];
        let version = ignition["ignition"]["version"].as_str();
        let version =
            version.ok_or_else(|| wrong(format!("`{path}` has no Ignition config with a version")))?;
        if config["spec"]["osImageURL"].as_str().is_none_or(str::is_empty) {
            let names = Components::built_in().map(|names| names.ever("node-os").join("` or `"));
            return Err(wrong(format!(
                "`{path}` has no osImageURL: the release has no image `{}`, and MCO only warns",
                names.unwrap_or_default()
            ))
            .into());
        }
        let line = |value: &Json| canonical(value) + "\n";
        out.write_secret("machine-config.json", line(&config).as_bytes(), false)?;
        out.write_secret("config.ign", line(ignition).as_bytes(), false)?;
        out.write("name", format!("{name}\n").as_bytes(), false)?;
        out.write("version", format!("{version}\n").as_bytes(), false)?;
        Ok(())
    }
}

fn pool<'a>(job: &'a Job<'_>) -> Result<&'a str, JobError> {
    let pool = job.params.get("pool").and_then(|value| value.as_text());
    pool.ok_or(JobError::Expected { name: "pool".into(), expected: "the name of a pool" })
}

/// The hash in a rendered config's name. The file is the YAML of the whole object, in which the spec is indented by
/// two: without the indentation, it is the YAML of the spec.
pub(super) fn hash(text: &str) -> Option<String> {
    let (_, spec) = text.split_once("\nspec:\n")?;
    let mut hasher = md5::Md5::new();
    hasher.update(SALT);
    for line in spec.split_inclusive('\n').take_while(|line| line.starts_with([' ', '\n'])) {
        hasher.update(line.strip_prefix("  ").unwrap_or(line));
    }
    Some(HEXLOWER.encode(&hasher.finalize()))
}
