//! Sets up the realizer: the closure, built if necessary, and access to libvirt and to the cluster.

use std::collections::BTreeMap;
use std::net::{IpAddr, UdpSocket};
use std::path::{Path, PathBuf};

use crate::base::fs;
use crate::base::hint::{Hint as _, chain};
use crate::base::process::{ProgramRunner, is_root};
use crate::cli::{Error, Result, build};
use crate::openshift::config::Machines as Makers;
use crate::openshift::workspace::{BootImage, Env, Missing, Workspace};
use crate::realize::api::Endpoint;
use crate::realize::approve::NodeIdentity;
use crate::realize::external::{External, Machines, Medium};
use crate::realize::preflight::{Area, Outcome, PreflightCheck, Questions};
use crate::realize::provider::Provider;
use crate::realize::{
    BaseImage, BootImages, ClusterAccess, Definitions, Desired, HostAccess, Libvirt, Realizer, StateDir,
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
    let Built { made, cluster, no_image, expired, alternatives } = built(env, &workspace, jobs)?;
    let runner = ProgramRunner { programs: env.programs, cancel: env.cancel };
    let (state, events) = (&StateDir::of(workspace.directory.path()), env.events);
    let version = workspace.pinned_version();
    let servers = workspace.dns_servers();
    let registry = || registry(env, &workspace);
    let questions = Questions { servers: &servers, registry: &registry };
    let run = |provider: &dyn Provider, desired: &Desired, access: HostAccess| {
        let realizer = Realizer {
            provider,
            runner,
            desired,
            state,
            access,
            no_image: &no_image,
            alternatives: &alternatives,
            expired: expired.as_deref(),
            version: version.as_deref(),
            cluster: Some(&cluster),
            questions: Some(&questions),
            limit: None,
            events,
        };
        work(realizer, &workspace)
    };
    match &made {
        Made::Libvirt(definitions) => {
            let libvirt = Libvirt::new(runner, &workspace.cluster.libvirt_uri, state, definitions);
            let access = HostAccess { session: libvirt.is_session(), ..access(libvirt.is_local()) };
            run(&libvirt, &definitions.desired(), access)
        }
        Made::External(machines) => {
            let external = External { machines, state, cluster: &cluster, runner, events };
            // The load balancer is ours if its address is this machine's.
            let local = cluster.api_vips.iter().any(|vip| is_ours(*vip));
            run(&external, &machines.desired(), HostAccess { hosted: local, ..access(local) })
        }
    }
}

/// What a host is to us, which is this machine or another.
fn access(local: bool) -> HostAccess {
    let said = fs::read_text(Path::new("/proc/sys/net/ipv4/ip_unprivileged_port_start")).ok();
    let first_port = said.and_then(|text| text.trim().parse().ok()).unwrap_or(1024);
    HostAccess { root: is_root(), local, hosted: true, session: false, first_port }
}

/// Whether an address is one of this machine's: to itself, the kernel answers from it. Nothing is sent.
fn is_ours(address: IpAddr) -> bool {
    let any: IpAddr = if address.is_ipv4() { [0; 4].into() } else { [0; 16].into() };
    let from = UdpSocket::bind((any, 0)).and_then(|socket| {
        socket.connect((address, 9))?;
        socket.local_addr()
    });
    from.is_ok_and(|from| from.ip() == address)
}

/// Whether nodes will find the release where they pull it, as far as this machine can tell.
fn registry(env: Env<'_>, workspace: &Workspace) -> Vec<PreflightCheck> {
    let check =
        |name: &str, outcome, detail: String| PreflightCheck::new(Area::Registry, name, outcome, detail);
    vec![match workspace.locate_release(env) {
        Ok(None) => {
            check("", Outcome::Skipped, "the release is in no registry: nodes could not pull it".to_owned())
        }
        Ok(Some((image, located))) => {
            let mut detail = format!("found at {}", located.name);
            if !located.passed_over.is_empty() {
                detail += &format!("; {} could not be asked", located.passed_over.join(", "));
            }
            if !located.without.is_empty() {
                detail += &format!("; {} does not have it", located.without.join(", "));
            }
            let outcome = if located.passed_over.is_empty() { Outcome::Passed } else { Outcome::Warning };
            check(&image, outcome, detail)
        }
        Err(error) => {
            let failed = check(&workspace.cluster.release.to_string(), Outcome::Failed, chain(&error));
            match error.hint() {
                Some(hint) => failed.hint(hint),
                None => failed,
            }
        }
    }]
}

/// Who makes the machines, with what the closure says of them.
enum Made {
    Libvirt(Box<Definitions>),
    External(Machines),
}

/// The built closure.
struct Built {
    made: Made,
    cluster: ClusterAccess,
    /// The hint if the node OS is not on this machine.
    no_image: String,
    /// Until when it could boot, if that is past.
    expired: Option<String>,
    /// Other media that the closure's recipes can make.
    alternatives: Vec<String>,
}

/// The component that the smoke test runs.
const SMOKE_TEST: &str = "haproxy-router";

/// Media for all nodes at once, which are built when somebody asks for them.
const ALTERNATIVES: [(&str, &str); 2] = [
    ("iso-for-all", "one live ISO for all machines: `tinderbox build iso-for-all`"),
    ("pxe", "from the network: `tinderbox build pxe`"),
];

/// The derivation that names the release's images.
const IMAGES: &str = "release/images";

fn built(env: Env<'_>, workspace: &Workspace, jobs: usize) -> Result<Built> {
    let is_external = workspace.cluster.machines == Makers::External;
    // Only machines of ours begin with a disk.
    let qcow2 = qcow2(workspace).filter(|_| !is_external);
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
    let made = match is_external {
        false => Made::Libvirt(Box::new(Definitions::read(closure, &nodes, &images)?)),
        true => Made::External(Machines::read(closure, |node| {
            let iso = images.isos.get(node).cloned();
            iso.map(|file| Medium { kind: "its live ISO", file }).into_iter().collect()
        })?),
    };
    let alternatives =
        ALTERNATIVES.iter().filter(|(target, _)| is_external && workspace.graph.find(target).is_some());
    Ok(Built {
        made,
        alternatives: alternatives.map(|(_, text)| (*text).to_owned()).collect(),
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
        api_vips: config.api_vips.clone(),
        ingress_vips: config.ingress_vips.clone(),
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
