//! `validate`: named checks of artifacts. There is an output only if all pass.
//!
//! A check is one function with a name, listed in [`CHECKS`]; its rule in words, and what breaks at boot without it,
//! are in `boot-facts.toml`. Parameter `checks` has the rows of those to run, `disabled` names those that the user
//! disabled; all inputs are checked, except `crds`, which contains schemas; checks see config values by their alias.
//! Rules that a check could not evaluate, and warnings, are listed in its report: neither a failure nor silent.

mod admission;
mod artifacts;
mod certificates;
mod handover;
mod haproxy;
mod ignition;
mod images;
mod in_place;
mod manifests;
mod objects;
mod pods;
mod pools;
mod references;
mod render;
mod schemas;
mod scripts;
mod secrets;
mod signatures;
mod tables;

pub(crate) use pools::reads_ignition;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::Serialize;

use self::artifacts::{Artifacts, Document};
use self::tables::Tables;
use super::{ArtifactError, BuildError, Builder, Job, JobError};
use crate::base::text::one_line;
use crate::base::value::Value;
use crate::engine::drv::BuilderId;
use crate::engine::tree::TreeWriter;
use crate::openshift::schema::Fault;

/// How to verify a boot fact.
pub(crate) struct Check {
    /// As in `boot-facts.toml`.
    pub name: &'static str,
    /// Required config aliases and tables: files named `….toml`.
    config: &'static [&'static str],
    run: fn(&Artifacts<'_>, &mut Report<'_>),
}

impl std::fmt::Debug for Check {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// All checks of artifacts.
pub(crate) const CHECKS: &[Check] = &[
    certificates::ADMIN_GROUP,
    admission::CRDS,
    certificates::APISERVER_SANS,
    ignition::APISERVER_URL,
    admission::AUDIT_LOG,
    ignition::BOOTKUBE,
    ignition::STANDALONE,
    handover::COMPLETE,
    manifests::BOOTSTRAPPER_RBAC,
    certificates::PATH_LENGTH,
    schemas::CEL_BOUNDS,
    manifests::CLUSTER_CONFIG,
    objects::CLUSTER_VERSION,
    schemas::CORE_TYPES,
    schemas::CRD_SCHEMA,
    manifests::CRDS,
    pods::CVO_FLAGS,
    images::CVO_IMAGE,
    handover::OVERRIDES,
    pods::CVO_STATIC_POD,
    manifests::DNS_BASE_DOMAIN,
    ignition::DUPLICATES,
    objects::ETCD_ENDPOINTS,
    certificates::ETCD_USAGE,
    objects::FEATURE_GATE,
    pods::FLAG_FILES,
    pods::FRONT_PROXY,
    handover::OBJECTS,
    handover::TRUST,
    haproxy::TCP_CHECKS,
    ignition::MODES,
    ignition::PATHS,
    ignition::PINNED,
    ignition::SIZES,
    ignition::SPEC,
    images::NOT_EMPTY,
    signatures::IMAGES,
    in_place::CLEARED,
    in_place::CLUSTER_CONFIG,
    objects::IN_PLACE_ENDPOINTS,
    ignition::JOINS,
    ignition::MEMBER_NAME,
    ignition::REPLACED,
    objects::INFRASTRUCTURE,
    images::KUBE_PROXY,
    ignition::CLEANUP,
    secrets::KUBEADMIN,
    manifests::KUBELET_ACCESS,
    ignition::KUBELET_CA,
    pools::IGNITION,
    pools::SELECTED,
    manifests::PARSES,
    ignition::MASTER_LABEL,
    references::MOUNTS,
    references::NAMESPACES,
    manifests::NETWORK_CIDRS,
    manifests::NETWORK_STATUS,
    ignition::CREDENTIALS,
    ignition::NODE_IMAGE,
    admission::OPENSHIFT_CONFIG,
    manifests::OPERATOR_NETWORK,
    ignition::PAUSE_IMAGE,
    pools::NODES,
    images::PULL_SPECS,
    references::SUBJECTS,
    render::DRIFT,
    admission::SCC,
    ignition::READABLE,
    certificates::SERVICE_IP,
    secrets::SIGNER,
    handover::SIGNERS_RSA,
    scripts::STRICT_APPLY,
    ignition::UNITS,
    ignition::VIP_HOLDERS,
];

/// A violation.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Finding {
    pub check: &'static str,
    /// The file that contains it.
    pub artifact: String,
    /// The origin of the file: a derivation or a file of the user, and the patches that changed it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub derivation: String,
    /// From 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// Path of the field.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub field: String,
    pub message: String,
    pub rule: String,
    /// What happens at boot.
    pub breaks: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// Findings below their error.
pub(super) fn list(findings: &[Finding]) -> String {
    let mut text = String::new();
    for finding in findings {
        let line = finding.line.map_or_else(String::new, |line| format!(":{line}"));
        let field =
            if finding.field.is_empty() { String::new() } else { format!(" {}:", one_line(&finding.field)) };
        let _ = write!(
            text,
            "\n  {}{line}:{field} {} [{}]\n    rule: {}\n    at boot: {}",
            one_line(&finding.artifact),
            one_line(&finding.message),
            finding.check,
            finding.rule,
            finding.breaks
        );
        if let Some(hint) = &finding.hint {
            let _ = write!(text, "\n    hint: {}", one_line(hint));
        }
        if !finding.derivation.is_empty() {
            let _ = write!(text, "\n    from: {}", finding.derivation);
        }
    }
    text
}

/// Collects the findings of a check.
struct Report<'a> {
    fact: &'a Fact<'a>,
    findings: Vec<Finding>,
    open: BTreeSet<Open>,
    warnings: BTreeSet<Warning>,
}

/// What may go wrong, and is not a failure.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct Warning {
    file: String,
    line: usize,
    field: String,
    message: String,
    /// The origin of the file.
    #[serde(skip_serializing_if = "String::is_empty")]
    derivation: String,
}

/// A rule that is left to the API server.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct Open {
    file: String,
    field: String,
    rule: String,
    why: &'static str,
}

impl Report<'_> {
    fn add(&mut self, artifact: &str, line: Option<usize>, field: &str, message: impl Into<String>) {
        self.findings.push(Finding {
            check: self.fact.check.name,
            artifact: artifact.to_owned(),
            derivation: String::new(),
            line,
            field: field.to_owned(),
            message: message.into(),
            rule: self.fact.rule.to_owned(),
            breaks: self.fact.breaks.to_owned(),
            hint: None,
        });
    }

    /// A finding at a node of a document, which has the line.
    fn at(&mut self, document: &Document, line: usize, field: &str, message: impl Into<String>) {
        self.add(&document.file, Some(line), field, message);
        if let Some(finding) = self.findings.last_mut() {
            finding.derivation.clone_from(&document.derivation);
        }
    }

    /// Adds a hint to the last finding.
    fn hint(&mut self, hint: impl Into<String>) {
        if let Some(finding) = self.findings.last_mut() {
            finding.hint = Some(hint.into());
        }
    }

    /// Converts a schema fault of a document.
    fn fault(&mut self, document: &Document, fault: Fault) {
        self.add(&document.file, Some(fault.line), &fault.path, fault.message);
        if let Some(finding) = self.findings.last_mut() {
            finding.hint = fault.hint;
            finding.derivation.clone_from(&document.derivation);
        }
    }
}

/// The output of one check.
#[derive(Serialize)]
struct Passed<'a> {
    name: &'static str,
    rule: &'a str,
    status: &'static str,
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    not_evaluated: BTreeSet<Open>,
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    warnings: BTreeSet<Warning>,
}

pub(super) struct Validate;

impl Builder for Validate {
    fn id(&self) -> BuilderId {
        BuilderId::new("validate", 6)
    }

    /// The report says which rules hold, and nothing about the content.
    fn declassifies(&self, _: &Job<'_>) -> bool {
        true
    }

    fn check(&self, job: &Job<'_>) -> Result<(), BuildError> {
        job.only(&["checks", "config", "files"])?;
        let facts = facts(job)?;
        let needed: BTreeSet<&str> =
            facts.iter().flat_map(|fact| fact.check.config).copied().chain(["disabled"]).collect();
        let given: BTreeSet<&str> =
            job.config().into_keys().chain(job.text_map("files")?.into_keys()).collect();
        if let Some(name) = given.difference(&needed).next() {
            return Err(JobError::Unused { name: (*name).to_owned(), used_in: "the checks".into() }.into());
        }
        if let Some(missing) = needed.difference(&given).next() {
            let table = if missing.ends_with(".toml") { "files" } else { "config" };
            let name = format!("{table}.{missing}");
            return Err(JobError::Expected { name, expected: "given: a check needs it" }.into());
        }
        Ok(Tables::read(job).map(drop)?)
    }

    fn build(&self, job: &Job<'_>, out: &TreeWriter<'_>) -> Result<(), BuildError> {
        let artifacts = Artifacts::read(job)?;
        let disabled: Vec<&str> = match job.config().get("disabled") {
            Some(Value::List(names)) => names.iter().filter_map(Value::as_text).collect(),
            _ => Vec::new(),
        };
        let (mut passed, mut findings) = (Vec::new(), Vec::new());
        let facts = facts(job)?;
        for fact in &facts {
            let Fact { check, rule, applies, .. } = *fact;
            let status = match disabled.contains(&check.name) {
                true => "disabled",
                false if !applies => "not for this release",
                false => "passed",
            };
            let mut report =
                Report { fact, findings: Vec::new(), open: BTreeSet::new(), warnings: BTreeSet::new() };
            if status == "passed" {
                (check.run)(&artifacts, &mut report);
            }
            for finding in report.findings.iter_mut().filter(|finding| finding.derivation.is_empty()) {
                artifacts.derivation(&finding.artifact).clone_into(&mut finding.derivation);
            }
            findings.append(&mut report.findings);
            let Report { open: not_evaluated, warnings, .. } = report;
            passed.push(Passed { name: check.name, rule, status, not_evaluated, warnings });
        }
        if !findings.is_empty() {
            return Err(ArtifactError::Checks { checked: facts.len(), findings }.into());
        }
        let wrong = |_| JobError::Expected { name: "checks".into(), expected: "writable as JSON" };
        out.write(
            "report.json",
            (serde_json::to_string_pretty(&passed).map_err(wrong)? + "\n").as_bytes(),
            false,
        )?;
        Ok(())
    }
}

/// A row of `boot-facts.toml`, and how to verify it.
#[derive(Debug, Clone, Copy)]
struct Fact<'a> {
    check: &'static Check,
    rule: &'a str,
    breaks: &'a str,
    /// Whether it is a fact in this release.
    applies: bool,
}

/// The boot facts that a job verifies.
fn facts<'a>(job: &'a Job<'_>) -> Result<Vec<Fact<'a>>, JobError> {
    let wrong = || JobError::Expected {
        name: "checks".into(),
        expected: "rows of boot-facts.toml: `\"{checks.manifests}\"` or `[\"{check.manifest-parses}\"]`",
    };
    let Some(Value::List(rows)) = job.params.get("checks") else { return Err(wrong()) };
    rows.iter()
        .map(|row| {
            let Value::Map(row) = row else { return Err(wrong()) };
            let text = |key: &str| row.get(key).and_then(Value::as_text).ok_or_else(wrong);
            let name = text("name")?;
            let known = || CHECKS.iter().map(|check| check.name).collect();
            let check = CHECKS.iter().find(|check| check.name == name);
            let check =
                check.ok_or_else(|| JobError::Unknown { name: format!("checks: {name}"), known: known() })?;
            let applies = !matches!(row.get("applies"), Some(Value::Bool(false)));
            Ok(Fact { check, rule: text("rule")?, breaks: text("breaks")?, applies })
        })
        .collect()
}
