//! `realize`: the closure, built if need be, and the host that it is for.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{Env, Missing, OpsError, Result, Workspace, build};
use crate::base::fs;
use crate::base::process::{ProgramRunner, is_root};
use crate::base::value::Value;
use crate::engine::fields::Projected;
use crate::realize::api::Endpoint;
use crate::realize::approve::NodeIdentity;
use crate::realize::{
    self, Applied, BootImages, ClusterAccess, Connection, Desired, Destroyed, HostAccess, Phase, RealizePlan,
    RealizeStatus, Realizer, StateDir,
};

/// What would be created, changed, kept or removed on the host. Nothing there is changed.
pub(crate) fn plan(env: Env<'_>, jobs: usize) -> Result<RealizePlan> {
    with_realizer(env, jobs, |realizer| Ok(realizer.plan()?))
}

/// How machines are made.
#[derive(Debug, Clone)]
pub(crate) struct ApplyRequest {
    /// Worker threads of a build.
    pub jobs: usize,
    /// The phases to go through.
    pub phases: Vec<Phase>,
    /// Whether disks may be lost.
    pub yes: bool,
    /// Whether the cluster is waited for.
    pub wait: bool,
    /// The longest that a wait may take, if not the usual.
    pub limit: Option<Duration>,
}

/// Takes the steps of these phases.
pub(crate) fn apply(env: Env<'_>, asked: &ApplyRequest) -> Result<Applied> {
    with_realizer(env, asked.jobs, |realizer| {
        let cluster = realizer.cluster.filter(|_| asked.wait);
        let realizer = Realizer { cluster, limit: asked.limit, ..realizer };
        Ok(realize::apply(&realizer, &asked.phases, asked.yes)?)
    })
}

/// Removes what `apply` made.
pub(crate) fn destroy(env: Env<'_>, jobs: usize) -> Result<Destroyed> {
    with_realizer(env, jobs, |realizer| Ok(realize::destroy(&realizer)?))
}

/// How the machines stand.
pub(crate) fn status(env: Env<'_>, jobs: usize) -> Result<RealizeStatus> {
    with_realizer(env, jobs, |realizer| Ok(realize::status(&realizer)?))
}

/// Builds what is wanted, and works on the host with it.
fn with_realizer<T>(env: Env<'_>, jobs: usize, work: impl FnOnce(Realizer<'_>) -> Result<T>) -> Result<T> {
    with_workspace(env, jobs, |realizer, _| work(realizer))
}

/// The same for who needs the cluster's files too.
pub(super) fn with_workspace<T>(
    env: Env<'_>,
    jobs: usize,
    work: impl FnOnce(Realizer<'_>, &Workspace) -> Result<T>,
) -> Result<T> {
    let workspace = Workspace::load(env, Missing::Make)?;
    let Built { desired, cluster, no_image, expired } = built(env, &workspace, jobs)?;
    let uri = &workspace.cluster.libvirt.uri;
    let runner = ProgramRunner { programs: env.programs, cancel: env.cancel };
    let provider = Connection::new(runner, uri);
    let state = StateDir::of(workspace.directory.path());
    let (access, no_image, events) = (access(provider), no_image.as_str(), env.events);
    let (cluster, limit) = (Some(&cluster), None);
    let expired = expired.as_deref();
    let (desired, state) = (&desired, &state);
    let realizer =
        Realizer { provider, runner, desired, state, access, no_image, expired, cluster, limit, events };
    work(realizer, &workspace)
}

fn access(provider: Connection<'_>) -> HostAccess {
    let said = fs::read_text(Path::new("/proc/sys/net/ipv4/ip_unprivileged_port_start")).ok();
    let first_port = said.and_then(|text| text.trim().parse().ok()).unwrap_or(1024);
    HostAccess { root: is_root(), local: provider.is_local(), session: provider.is_session(), first_port }
}

/// What is built, and what it says.
struct Built {
    desired: Desired,
    cluster: ClusterAccess,
    /// What to do if the node OS is not on this machine.
    no_image: String,
    /// Until when it could boot, if that is past.
    expired: Option<String>,
}

/// Where the release's images are named.
const IMAGES: &str = "release/images";

fn built(env: Env<'_>, workspace: &Workspace, jobs: usize) -> Result<Built> {
    let qcow2 = qcow2(workspace);
    let nodes: Vec<String> = workspace.cluster.nodes.iter().map(|node| node.name.clone()).collect();
    let iso = |node: &String| format!("iso/{node}");
    let isos: Vec<String> = match qcow2.is_some() {
        true => Vec::new(),
        false => nodes.iter().map(iso).filter(|iso| workspace.graph.find(iso).is_some()).collect(),
    };
    let targets = [vec!["cluster".to_owned(), IMAGES.to_owned()], isos].concat();
    let report = build::whole(env, targets, jobs)?;
    let paths: BTreeMap<&str, &PathBuf> =
        report.targets.iter().map(|target| (target.name.as_str(), &target.path)).collect();
    let path = |name: &str| paths.get(name).copied().ok_or(OpsError::NotBuilt { target: name.into() });
    let closure = path("cluster")?;
    let isos = nodes.iter().filter_map(|node| {
        let path = paths.get(iso(node).as_str())?;
        Some((node.clone(), path.join(format!("{node}.iso"))))
    });
    let images = BootImages { isos: isos.collect(), qcow2 };
    Ok(Built {
        desired: Desired::read(closure, &nodes, &images)?,
        cluster: cluster(workspace, closure, path(IMAGES)?)?,
        no_image: no_image(workspace),
        expired: report.expired.clone(),
    })
}

/// The way to the cluster that the closure describes.
fn cluster(workspace: &Workspace, closure: &Path, images: &Path) -> Result<ClusterAccess> {
    let config = &workspace.cluster;
    let vip = |vips: &[IpAddr], field: &str| {
        vips.first().copied().ok_or_else(|| OpsError::Usage {
            message: format!("cluster.yaml has no `vips.{field}`"),
            advice: None,
        })
    };
    let image = fs::optional(fs::read_text(&images.join("components/haproxy-router")))?;
    Ok(ClusterAccess {
        kubeconfig: fs::read_text(&closure.join("auth/kubeconfig"))?.into(),
        api: Endpoint::of(vip(&config.api_vips, "api")?),
        ingress: vip(&config.ingress_vips, "ingress")?,
        domain: config.domain(),
        nodes: NodeIdentity::read(closure, config)?,
        now: super::approve::now,
        image: image.map(|image| image.trim().to_owned()),
    })
}

/// The QEMU image that the lock names, if it is a file, and its sha256.
fn qcow2(workspace: &Workspace) -> Option<(PathBuf, String)> {
    let local = workspace.fields.project("lock.rhcos.qcow2.local").ok()?.value;
    matches!(local, Projected::Plain(Value::Bool(true))).then_some(())?;
    let path = workspace.directory.path().join(text(workspace, "lock.rhcos.qcow2.location")?);
    Some((path, text(workspace, "lock.rhcos.qcow2.sha256")?))
}

/// What to do so that there is a node OS.
fn no_image(workspace: &Workspace) -> String {
    match qcow2(workspace) {
        Some((path, _)) => {
            format!("put it at `{}` again, or change `rhcos.qcow2` in cluster.yaml", path.display())
        }
        None => format!("{}; its QEMU image works too (`rhcos: {{qcow2: FILE}}`)", workspace.no_iso()),
    }
}

fn text(workspace: &Workspace, field: &str) -> Option<String> {
    match workspace.fields.project(field).ok()?.value {
        Projected::Plain(Value::Text(text)) => Some(text),
        _ => None,
    }
}
