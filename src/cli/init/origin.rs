//! What `--from` names, if it is not a directory of openshift-install: an install-config, perhaps with an agent-config
//! beside it; or a ClusterInstance.

use std::path::{Path, PathBuf};

use crate::base::fs;
use crate::base::hint::{Place, Problems};
use crate::base::yaml::{self, YamlData};
use crate::cli::Result;
use crate::openshift::config::{self, Generated, Known, Source};
use crate::openshift::hosts::{self, ClusterInstance, Hosts, LeftOut};
use crate::openshift::workspace::INSTALL_CONFIG;

pub(super) const AGENT_CONFIG: &str = "agent-config.yaml";
pub(super) const PULL_SECRET: &str = "pull-secret.json";

/// The files to write, and the origin of what is in them.
pub(super) struct Origin {
    /// None if it is there already.
    pub install_config: Option<String>,
    pub cluster: Generated,
    /// Further files by path; a pull secret is only for its owner.
    pub others: Vec<(String, String)>,
    /// The file that describes the machines.
    pub hosts_file: Option<String>,
    pub left_out: Vec<LeftOut>,
}

/// Whether a directory holds the files of the agent-based installer.
pub(super) fn is_agent_directory(path: &Path) -> Result<bool> {
    Ok(fs::exists(&path.join(AGENT_CONFIG))?)
}

/// Reads what `from` names for a cluster directory whose install-config is `own`.
pub(super) fn read(from: &Path, own: &Path, release: Option<&str>) -> Result<Origin> {
    let from =
        if fs::followed(from).is_some_and(|found| found.is_dir()) { &from.join(AGENT_CONFIG) } else { from };
    let text = fs::read_text(from)?;
    let name = from.display().to_string();
    let source = Source { name: &name, text: &text };
    // What is wrong with the file is said by whoever reads it in earnest.
    let documents = yaml::documents(source, &mut Problems::default());
    if documents.iter().any(hosts::is_cluster_instance) {
        return from_cluster_instance(source, release);
    }
    let beside = |name: &str| from.parent().unwrap_or(Path::new("")).join(name);
    let kind = documents.first().and_then(|document| document.get("kind")?.text());
    let is_agent = kind == Some("AgentConfig") || from.file_name().is_some_and(|name| name == AGENT_CONFIG);
    let (install, agent): (PathBuf, PathBuf) = match is_agent {
        true => (beside(INSTALL_CONFIG), from.to_owned()),
        false => (from.to_owned(), beside(AGENT_CONFIG)),
    };
    let in_place = fs::exists(own)? && fs::exists(&install)? && fs::canonical(&install)? == own;
    let text = fs::read_text(&install)?;
    let name = install.display().to_string();
    if !fs::exists(&agent)? {
        let known = Known { release, ..Known::default() };
        let cluster = config::cluster_yaml_for(Source { name: &name, text: &text }, known)?;
        let install_config = Some(text).filter(|_| !in_place);
        return Ok(Origin { install_config, cluster, others: vec![], hosts_file: None, left_out: vec![] });
    }
    from_agent_config((&name, text, in_place), &agent, release)
}

fn from_agent_config(
    (name, text, in_place): (&str, String, bool),
    agent: &Path,
    release: Option<&str>,
) -> Result<Origin> {
    let mut problems = Problems::default();
    let agent_text = fs::read_text(agent)?;
    let agent = agent.display().to_string();
    let hosts = hosts::agent_config(Source { name: &agent, text: &agent_text }, &mut problems);
    let mut hosts = problems.or(hosts)?.unwrap_or_default();
    // A copy can go without what reaches no artifact; the user's own file is left alone.
    let text =
        if in_place { text } else { without_metadata(Source { name, text: &text }, &mut hosts.left_out) };
    let known = Known { release, hosts: Some(&hosts), ..Known::default() };
    let cluster = config::cluster_yaml_for(Source { name, text: &text }, known)?;
    Ok(origin(Some(text).filter(|_| !in_place), cluster, hosts))
}

fn from_cluster_instance(source: Source<'_>, release: Option<&str>) -> Result<Origin> {
    let mut problems = Problems::default();
    let found = hosts::cluster_instance(source, &mut problems);
    let found = match problems.or(found) {
        Ok(Some(found)) => found,
        Ok(None) => return Err(Problems::default().into()),
        Err(problems) => return Err(problems.into()),
    };
    let placeholder = config::PULL_SECRET_PLACEHOLDER;
    let known = Known { release, hosts: Some(&found.hosts), pull_secret: Some((PULL_SECRET, placeholder)) };
    let generated = Source { name: INSTALL_CONFIG, text: &found.install_config };
    let cluster = config::cluster_yaml_for(generated, known).map_err(|Problems(all)| {
        let locate = |problem: crate::base::hint::Problem| match problem.place.file == INSTALL_CONFIG {
            true => found.locate(problem),
            false => problem,
        };
        Problems(all.into_iter().map(locate).collect())
    })?;
    let ClusterInstance { install_config, hosts, .. } = found;
    let mut origin = origin(Some(install_config), cluster, hosts);
    origin.others.push((PULL_SECRET.to_owned(), format!("{placeholder}\n")));
    Ok(origin)
}

fn origin(install_config: Option<String>, cluster: Generated, hosts: Hosts) -> Origin {
    let others = hosts::chrony_manifests(&hosts.ntp);
    let mut left_out = hosts.left_out;
    let is_taken = |at: &Place| cluster.taken.iter().any(|taken| taken.place == *at);
    if let Some(at) = hosts.rendezvous.filter(|at| !is_taken(&at.place)) {
        let reason = match cluster.in_place {
            true => "the only node has another address",
            false => {
                "no master doubles as the bootstrap node: a separate machine runs the first control plane"
            }
        };
        left_out.push(LeftOut { place: at.place, reason: reason.to_owned() });
    }
    left_out.sort_by_key(|one| (one.place.file.clone(), one.place.line));
    Origin { install_config, cluster, others, hosts_file: Some(hosts.file), left_out }
}

/// The install-config without metadata that only the agent-based installer's own objects get.
fn without_metadata(source: Source<'_>, left_out: &mut Vec<LeftOut>) -> String {
    let documents = yaml::documents(source, &mut Problems::default());
    let Some(old) = documents.first() else { return source.text.to_owned() };
    let mut new = old.clone();
    if let YamlData::Map(entries) = &mut new.data
        && let Some(metadata) = entries.iter_mut().find(|entry| entry.key == "metadata")
        && let YamlData::Map(entries) = &mut metadata.value.data
    {
        for entry in entries.iter().filter(|entry| entry.key != "name") {
            let field = format!("metadata.{}", entry.key);
            let place = Place { file: source.name.to_owned(), line: Some(entry.line), field };
            left_out.push(LeftOut { place, reason: "it reaches no artifact".to_owned() });
        }
        entries.retain(|entry| entry.key == "name");
    }
    yaml::edit(source.name, source.text, &documents, 0, &new)
}
