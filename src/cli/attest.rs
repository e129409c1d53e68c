//! `attest`: provenance and a list of parts of a pushed closure, signed, for tools that are not ours.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;

use schemars::JsonSchema;
use serde::Serialize;

use super::document::{Document, Documented};
use super::output::line;
use super::push::{destinations, parse_url};
use super::{Error, Printer, Result, complete};
use crate::engine::cache::{self, Attested, CacheUrl, Part, Subject};
use crate::engine::exec::{self, BuildPlan};
use crate::engine::store::{Session, Store};
use crate::openshift::workspace::{self, Env, Missing, Workspace};

/// Attach signed provenance and an SBOM to a closure that was pushed
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tinderbox push && tinderbox attest           SLSA v1 provenance and SPDX 2.3, of everything of `cluster`
  tinderbox key show --pem > builder.pub       then, anywhere:
  cosign verify-attestation --key builder.pub --insecure-ignore-tlog --type slsaprovenance1 IMAGE
  cosign verify-attestation --key builder.pub --insecure-ignore-tlog --type spdxjson IMAGE

IMAGE is what this verb prints: the index that `push` made, by digest. Nothing secret is in either document: secret outputs are \
only counted.")]
pub(super) struct Args {
    /// Derivations or folders of them, as they were pushed; default: cluster
    #[arg(add = complete::target())]
    targets: Vec<String>,
    /// The cache; default: all in cluster.yaml and in your own configuration
    #[arg(long, value_name = "URL", value_parser = parse_url)]
    to: Option<CacheUrl>,
    /// The signing key; default: `signing.key` in your configuration directory
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
}

impl Documented for Args {
    const DOCUMENTS: &'static [Document] = &[Document::of::<Vec<AttestReport>>()];
}

/// What was attached in one cache.
#[derive(Debug, Serialize, JsonSchema)]
struct AttestReport {
    cache: String,
    /// What the statements are about, by digest.
    image: String,
    /// The public key that signed.
    key: String,
    /// Types of the statements.
    predicates: Vec<&'static str>,
    /// Public outputs that they list.
    parts: usize,
    /// Secret outputs, which are only counted.
    secrets: usize,
    /// Images and files from outside that they list.
    materials: usize,
    /// Whether anything was not there before.
    new: bool,
}

impl Args {
    pub(super) fn run(self, env: Env<'_>, printer: Printer<'_>) -> Result<ExitCode> {
        let key = workspace::signing_key(env, &workspace::signing_key_path(env, self.key.as_deref())?)?;
        let workspace = Workspace::load(env, Missing::Imagine)?;
        let settings = destinations(env, &workspace, self.to.as_ref())?;
        let subject = subject(env, &workspace, &self.targets)?;
        let mut reports = Vec::new();
        for settings in settings {
            let cache = settings.url.to_string();
            let Attested { image, predicates, new } = cache::attest(settings, &key, &subject)?;
            reports.push(AttestReport {
                cache,
                image,
                key: key.public().to_string(),
                predicates,
                parts: subject.parts.len(),
                secrets: subject.secrets,
                materials: subject.materials.len(),
                new,
            });
        }
        Ok(printer.answer(&reports, || reports.iter().for_each(show)))
    }
}

fn show(report: &AttestReport) {
    let AttestReport { image, parts, secrets, materials, new, .. } = report;
    let what = if *new { "attested" } else { "attested before" };
    line(format!(
        "{image}: {what}: provenance, and an SBOM of {parts} outputs and {materials} images and files; {secrets} secret \
         outputs are only counted"
    ));
}

/// What there is to say of these targets, which must be built.
fn subject(env: Env<'_>, workspace: &Workspace, targets: &[String]) -> Result<Subject> {
    let selected = workspace.select(targets)?;
    let store = workspace::open_store(env.store, workspace.directory.path())?;
    let session = Session::reading(&store, Some(workspace.id_key()));
    let context = workspace.context(env, &session);
    let plan = exec::plan(context, &selected)?;
    let nodes = workspace.graph.nodes();
    if let Some(missing) = plan.missing.iter().next() {
        return Err(Error::NotBuilt { target: nodes[*missing].name.clone() });
    }
    let (parts, secrets) = parts(workspace, &store, &plan)?;
    let named = |at: &crate::engine::recipe::NodeIndex| nodes[*at].name.clone();
    let targets = if targets.is_empty() { selected.iter().map(named).collect() } else { targets.to_vec() };
    let materials = workspace.materials(&store, &plan)?;
    Ok(Subject { closure: exec::closure_id(context, &selected)?, targets, parts, secrets, materials })
}

/// The public outputs in build order, and how many secret ones there are.
fn parts(workspace: &Workspace, store: &Store, plan: &BuildPlan) -> Result<(Vec<Part>, usize)> {
    let nodes = workspace.graph.nodes();
    let mut public = BTreeSet::new();
    for (at, done) in &plan.done {
        if !store.object(done.output.object)?.listing.root().secret {
            public.insert(*at);
        }
    }
    let mut parts = Vec::new();
    for at in &public {
        let (node, done) = (&nodes[*at], &plan.done[at]);
        let Some(trace) = store.traces(done.drv)?.into_iter().next() else { continue };
        let inputs: BTreeSet<String> = node
            .inputs
            .values()
            .filter(|edge| public.contains(&edge.node))
            .map(|edge| nodes[edge.node].name.clone())
            .collect();
        parts.push(Part {
            name: node.name.clone(),
            drv: done.drv,
            object: done.output.object,
            builder: trace.builder().to_owned(),
            inputs: inputs.into_iter().collect(),
            isolation: trace.isolation,
            time: trace.time,
            signer: trace.substituted.map(|from| from.key),
            executor: trace.executor,
        });
    }
    Ok((parts, plan.done.len() - public.len()))
}
