//! `ignition`: a node's config from a base, files, directories, links, units and users.
//!
//! ```toml
//! [params]
//! node = "{node}"                   # the config is <node>.ign
//! version = "version"               # without a base: the input that contains the spec version
//! base = {from = "base", secret = ["/var/lib/kubelet/config.json"], why = "…"}
//! served = {from = "machine-config", why = "…"}    # adds what the Machine Config Server would add
//!
//! [[params.write]]                  # one file: from a template, a secret config value, or an input
//! path = "/etc/hostname"
//! mode = "0644"
//! from = "hostname"
//! why = "…"                         # one sentence, for every entry
//! replace = "…"                     # optional: why it may replace the base's entry at that path
//! optional = true                   # optional: not written if it is empty
//! gzip = true                       # optional: compressed inside the config
//!
//! [[params.place]]                  # all files of inputs below a path; `only` and `except` take names, one `*` each
//! [[params.directories]]            # path, mode
//! [[params.links]]                  # path, target
//! [[params.units]]                  # name; enabled, mask, from, dropins = {"10-x.conf" = "template"}
//! [[params.users]]                  # name; keys: the alias of a config list
//! ```
//!
//! Output: `<node>.ign`, canonical; `tree/` with every file as the node gets it; `tree.json`, a list of all entries
//! with mode, owner, origin and reason. A file is secret if its source is; in the base, if the recipe lists it, and no
//! other file of the base may contain a secret of the job. The config itself is secret if any entry is.

mod collect;
mod output;
pub(super) mod params;

use std::collections::BTreeSet;

use self::collect::Additions;
use self::output::Output;
use self::params::{Base, Params};
use super::{ArtifactError, BuildError, Builder, Job, JobError};
use crate::engine::builders::{Templates, template_values as values};
use crate::engine::drv::BuilderId;
use crate::engine::tree::TreeWriter;
use crate::openshift::ignition::{Config, Contents, IgnitionError, Manifest};

pub(super) struct Ignition;

impl Builder for Ignition {
    fn id(&self) -> BuilderId {
        BuilderId::new("ignition", 1)
    }

    /// Every file keeps its classification; the config is secret if any file is.
    fn declassifies(&self, _: &Job<'_>) -> bool {
        true
    }

    fn check(&self, job: &Job<'_>) -> Result<(), BuildError> {
        let params = Params::read(job)?;
        let templates = Templates::read(job)?;
        let named: BTreeSet<&str> = params.aliases().collect();
        let outputs: BTreeSet<&str> = templates.outputs().collect();
        let (secrets, config) = (job.secrets.keys().map(String::as_str), job.config().into_keys());
        let known: BTreeSet<&str> =
            secrets.chain(config).chain(job.aliases()).chain(outputs.iter().copied()).collect();
        if let Some(name) = named.difference(&known).next() {
            let expected = "declared: a parameter names it";
            return Err(JobError::Expected { name: format!("inputs.{name}"), expected }.into());
        }
        let used: BTreeSet<&str> = templates.names().into_iter().chain(named).collect();
        let given = known.into_iter().chain(values(job)?.keys().map(String::as_str));
        match given.into_iter().find(|name| !used.contains(name)) {
            Some(name) => {
                let used_in = "the parameters or a template".to_owned();
                Err(JobError::Unused { name: name.to_owned(), used_in }.into())
            }
            None => Ok(()),
        }
    }

    fn build(&self, job: &Job<'_>, out: &TreeWriter<'_>) -> Result<(), BuildError> {
        let params = Params::read(job)?;
        let base =
            params.base.as_ref().map(|base| Ok::<_, BuildError>((base, read(job, base)?))).transpose()?;
        let version = match (&base, &params.version) {
            (Some((_, config)), _) => config.version,
            (None, alias) => {
                let alias = alias.as_deref().unwrap_or_default();
                let text = job.input(alias)?.text(alias, "")?;
                text.trim().parse().map_err(refused("cannot parse the spec version"))?
            }
        };
        let mut additions = Additions::collect(job, &params, version)?;
        let added = std::mem::replace(&mut additions.config, Config::new(version));
        let config = base.as_ref().map_or_else(|| Config::new(version), |(_, config)| config.clone());
        let what = "the recipe's additions conflict with its base";
        let config = config.merge(added, &additions.replace).map_err(refused(what))?;
        let output = Output { config: &config, base, additions: &additions };
        let manifest = output.write(out)?;
        let secret = params.base.as_ref().is_some_and(|base| !base.secret.is_empty())
            || [&manifest.files, &manifest.units].into_iter().flatten().any(|written| written.secret);
        let path = format!("{}.ign", params.node);
        match secret {
            true => out.write_secret(&path, config.emit().as_bytes(), false)?,
            false => out.write(&path, config.emit().as_bytes(), false)?,
        }
        let wrong = |_| JobError::Expected { name: Manifest::FILE.into(), expected: "writable as JSON" };
        let json = serde_json::to_string_pretty(&manifest).map_err(wrong)? + "\n";
        Ok(out.write(Manifest::FILE, json.as_bytes(), false)?)
    }
}

/// Reads the base, and checks that only files listed as secret contain a secret of the job.
fn read(job: &Job<'_>, base: &Base) -> Result<Config, BuildError> {
    let text = job.input(&base.from)?.text(&base.from, "")?;
    let config =
        Config::parse(&text).map_err(refused(&format!("`{}` is not an Ignition config", base.from)))?;
    let needles: Vec<(&str, String)> = job
        .secrets
        .iter()
        .flat_map(|(alias, secret)| {
            let text = secret.reveal_text().unwrap_or_default();
            let mut parts = vec![text.to_owned()];
            if let Ok(value) = serde_json::from_str::<serde_json::Value>(text) {
                leaves(&value, &mut parts);
            }
            parts.into_iter().filter(|part| part.len() >= 8).map(|part| (alias.as_str(), part))
        })
        .collect();
    for (path, file) in config.files.iter().filter(|(path, _)| !base.secret.contains(path)) {
        let Contents::Bytes(bytes) =
            Contents::of(file).map_err(refused(&format!("`{}` is not an Ignition config", base.from)))?
        else {
            continue;
        };
        let text = String::from_utf8_lossy(&bytes);
        if let Some((alias, _)) = needles.iter().find(|(_, needle)| text.contains(needle)) {
            let problem = format!("`{path}` contains `{alias}`, but is not listed as `secret`");
            return Err(JobError::Entry { name: "base".into(), problem }.into());
        }
    }
    Ok(config)
}

fn leaves(value: &serde_json::Value, found: &mut Vec<String>) {
    match value {
        serde_json::Value::String(text) => found.push(text.clone()),
        serde_json::Value::Array(items) => items.iter().for_each(|item| leaves(item, found)),
        serde_json::Value::Object(map) => map.iter().for_each(|(_, item)| leaves(item, found)),
        _ => {}
    }
}

fn refused(what: &str) -> impl Fn(IgnitionError) -> BuildError {
    let what = what.to_owned();
    move |source| ArtifactError::Ignition { what: what.clone(), source }.into()
}
