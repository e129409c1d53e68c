//! Sets up the realizer: the closure, built if necessary, and access to libvirt and to the cluster.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use crate::base::fs;
use crate::base::process::{ProgramRunner, is_root};
use crate::cli::{Error, Result, build};
use crate::openshift::workspace::{BootImage, Env, Missing, Workspace};
use crate::realize::api::Endpoint;
use crate::realize::approve::NodeIdentity;
use crate::realize::{
    BaseImage, BootImages, ClusterAccess, Connection, Desired, HostAccess, Realizer, StateDir,
};

/// Builds the closure, and works on the host with it.
pub(super) fn with_realizer<T>(
    env: Env<'_>,
    jobs: usize,
    work: impl FnOnce(Realizer<'_>) -> Result<T>,
) -> Result<T> {
    with_workspace(env, jobs, |realizer, _| work(realizer))
}

/// The same for callers that also need the cluster's files.
pub(super) fn with_workspace<T>(
    env: Env<'_>,
    jobs: usize,
    work: impl FnOnce(Realizer<'_>, &Workspace) -> Result<T>,
) -> Result<T> {
    let workspace = Workspace::load(env, Missing::Make)?;
    let Built { desired, cluster, no_image, expired } = built(env, &workspace, jobs)?;
    let uri = &workspace.cluster.libvirt_uri;
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

/// The built closure.
struct Built {
    desired: Desired,
    cluster: ClusterAccess,
    /// The hint if the node OS is not on this machine.
    no_image: String,
    /// Until when it could boot, if that is past.
    expired: Option<String>,
}

/// The component that the smoke test runs.
const SMOKE_TEST: &str = "haproxy-router";

/// The derivation that names the release's images.
const IMAGES: &str = "release/images";

fn built(env: Env<'_>, workspace: &Workspace, jobs: usize) -> Result<Built> {
    let qcow2 = qcow2(workspace);
    let nodes: Vec<String> = workspace.cluster.nodes.iter().map(|node| node.name.clone()).collect();
    let iso = |node: &String| format!("iso/{node}");
    let has_base = workspace.boot_image(BootImage::Iso).is_some();
    let isos: Vec<String> = match qcow2.is_none() && has_base {
        true => nodes.iter().map(iso).filter(|iso| workspace.graph.find(iso).is_some()).collect(),
        false => Vec::new(),
    };
    let targets = [vec!["cluster".to_owned(), IMAGES.to_owned()], isos].concat();
    let report = build::build_or_fail(env, targets, jobs)?;
    // What is executed and booted is what was built: nobody changed it in the store.
    let store = crate::openshift::workspace::open_store(env.store, env.directory)?;
    for target in &report.targets {
        store.verify_part(&store.object(target.object)?, "")?;
    }
    let paths: BTreeMap<&str, &PathBuf> =
        report.targets.iter().map(|target| (target.name.as_str(), &target.path)).collect();
    let path = |name: &str| paths.get(name).copied().ok_or(Error::NotBuilt { target: name.into() });
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
        expired: report.ended.booted_until.clone(),
    })
}

/// Access to the cluster that the closure describes.
fn cluster(workspace: &Workspace, closure: &Path, images: &Path) -> Result<ClusterAccess> {
    let config = &workspace.cluster;
    let vip = |vips: &[IpAddr], field: &str| {
        vips.first().copied().ok_or_else(|| Error::Usage {
            message: format!("cluster.yaml has no `vips.{field}`"),
            advice: None,
        })
    };
    let image = match workspace.component(SMOKE_TEST)? {
        Some(name) => fs::optional(fs::read_text(&images.join("components").join(name)))?,
        None => None,
    };
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

/// The QEMU image that disks begin as; none if machines install themselves from a live ISO.
fn qcow2(workspace: &Workspace) -> Option<BaseImage> {
    let sha256 = workspace.used_image(BootImage::Qcow2)?.to_owned();
    Some(BaseImage { path: workspace.boot_image(BootImage::Qcow2), sha256 })
}

/// What to do to get a node OS.
fn no_image(workspace: &Workspace) -> String {
    let own = workspace.boot_image(BootImage::Qcow2);
    match (own, workspace.missing_image()) {
        (Some(path), _) => {
            format!("put it at `{}` again, or change `rhcos.qcow2` in cluster.yaml", path.display())
        }
        (None, Some(image)) => format!(
            "`tinderbox realize apply` downloads it first if you agree (`--yes`), and so does `tinderbox lock --fetch {0}`; \
             or name your own file in cluster.yaml (`rhcos: {{{0}: FILE}}`)",
            image.as_str()
        ),
        (None, None) => {
            format!("{}; its QEMU image works too (`rhcos: {{qcow2: FILE}}`)", workspace.no_iso())
        }
    }
}
