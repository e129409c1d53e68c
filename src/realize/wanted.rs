//! What the closure asks for: a network, a pool, machines, and the files that they boot from. Read from the artifacts
//! themselves, so that what a user's own recipe says there counts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::xml::Element;
use super::{MARK, RealizeError};
use crate::base::fs;

/// What the closure asks for.
#[derive(Debug, Clone)]
pub(crate) struct Wanted {
    /// Where the closure is.
    pub closure: PathBuf,
    /// The cluster's id, which marks its machines.
    pub cluster: String,
    pub network: Object,
    pub pool: Object,
    /// The pool's directory on the host.
    pub directory: String,
    /// The machines, in the order of cluster.yaml.
    pub machines: Vec<Machine>,
    /// The image that disks begin as, if nothing is installed.
    pub base: Option<Volume>,
}

/// Something that libvirt keeps.
#[derive(Debug, Clone)]
pub(crate) struct Object {
    pub name: String,
    /// Its UUID, out of the seed.
    pub uuid: String,
    pub file: PathBuf,
    pub(super) xml: Element,
}

#[derive(Debug, Clone)]
pub(crate) struct Machine {
    pub node: String,
    /// What it becomes: `bootstrap`, `master` or `worker`.
    pub role: String,
    pub object: Object,
    /// Which Ignition it boots with.
    pub ignition: String,
    pub disk: Disk,
    /// What it boots with: its live ISO, or its Ignition.
    pub medium: Volume,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Disk {
    /// Its name in the pool.
    pub name: String,
    /// Its size in bytes.
    pub bytes: u64,
}

/// A file that is brought into the pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Volume {
    /// Its name in the pool: says which content it has.
    pub name: String,
    /// Where its content is on this machine; none if it is not here.
    pub source: Option<PathBuf>,
    /// Its size in bytes; zero if it is not here.
    pub bytes: u64,
    /// The sha256 that it must have, in hex, if somebody else made it.
    pub sha256: Option<String>,
}

/// The images of the node OS, as far as they are on this machine.
#[derive(Debug, Clone, Default)]
pub(crate) struct Images {
    /// The nodes' live ISOs, built.
    pub isos: BTreeMap<String, PathBuf>,
    /// The QEMU image, and its sha256.
    pub qcow2: Option<(PathBuf, String)>,
}

impl Machine {
    /// Whether it runs the first control plane, and goes when the masters have it.
    pub(crate) fn is_bootstrap(&self) -> bool {
        self.role == "bootstrap"
    }

    /// The name of its console's log in the pool.
    pub(crate) fn console(&self) -> String {
        format!("{}.log", self.node)
    }

    /// Whether it becomes part of the control plane.
    pub(crate) fn is_master(&self) -> bool {
        self.role == "master"
    }
}

impl Wanted {
    /// Reads the closure of these nodes.
    pub(crate) fn read(closure: &Path, nodes: &[String], images: &Images) -> Result<Self, RealizeError> {
        let network = object(closure, "network")?;
        let pool = object(closure, "pool")?;
        let directory = said(&pool, pool.xml.text_at("target/path"), "target path")?;
        let machines =
            nodes.iter().map(|node| machine(closure, node, images)).collect::<Result<Vec<_>, _>>()?;
        let cluster = machines.first().and_then(|machine| mark(&machine.object.xml)).map(|mark| mark.cluster);
        let base = images.qcow2.as_ref().map(|(path, sha256)| base(path, sha256)).transpose()?;
        let cluster = cluster.unwrap_or_default();
        Ok(Self { closure: closure.to_owned(), cluster, network, pool, directory, machines, base })
    }

    /// What the load balancer does, before and after the control plane has moved to the masters.
    pub(super) fn balancer(&self, pivoted: bool) -> PathBuf {
        self.artifact(if pivoted { "haproxy-pivoted.cfg" } else { "haproxy.cfg" })
    }

    /// An artifact of the closure.
    pub(crate) fn artifact(&self, name: &str) -> PathBuf {
        self.closure.join("infra").join(name)
    }
}

/// Our mark in a machine's description.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) cluster: String,
    pub(super) node: String,
    pub(super) role: String,
    pub(super) ignition: String,
    pub(super) image: String,
    pub(super) disk: String,
}

/// The mark, if there is one.
pub(super) fn mark(machine: &Element) -> Option<Mark> {
    let marks = &machine.at("metadata")?.children;
    let mark = marks.iter().find(|mark| mark.name == "node" && mark.namespace == MARK)?;
    let of = |name: &str| mark.attribute(name).to_owned();
    Some(Mark {
        cluster: of("cluster"),
        node: of("name"),
        role: of("role"),
        ignition: of("ignition"),
        image: of("image"),
        disk: of("disk"),
    })
}

fn object(closure: &Path, name: &str) -> Result<Object, RealizeError> {
    let file = closure.join("infra").join(format!("{name}.xml"));
    let xml = Element::parse(&format!("`infra/{name}.xml`"), &fs::read_text(&file)?)?;
    let mut object = Object { name: String::new(), uuid: String::new(), file, xml };
    object.name = said(&object, object.xml.text_at("name"), "name")?;
    object.uuid = said(&object, object.xml.text_at("uuid"), "uuid")?;
    Ok(object)
}

/// What an artifact must say.
fn said(object: &Object, text: &str, missing: &'static str) -> Result<String, RealizeError> {
    match text {
        "" => Err(RealizeError::Artifact { file: object.file.display().to_string(), missing }),
        text => Ok(text.to_owned()),
    }
}

fn machine(closure: &Path, node: &str, images: &Images) -> Result<Machine, RealizeError> {
    let object = object(closure, node)?;
    let missing = |missing| RealizeError::Artifact { file: object.file.display().to_string(), missing };
    let mark = mark(&object.xml).ok_or_else(|| missing("mark of tinderbox in its metadata"))?;
    let devices = object.xml.at("devices").ok_or_else(|| missing("devices"))?;
    let file = |disk: &Element| disk.at("source").map_or("", |source| source.attribute("file")).to_owned();
    let disks: Vec<String> = devices.all("disk").map(file).collect();
    let with = |ends: &[&str]| disks.iter().find(|path| ends.iter().any(|end| path.ends_with(end)));
    let disk = with(&[".qcow2"]).ok_or_else(|| missing("disk in qcow2"))?;
    let firmware = object.xml.at("sysinfo/entry").map(|entry| entry.attribute("file").to_owned());
    let medium = firmware
        .or_else(|| with(&[".iso", ".ign"]).cloned())
        .ok_or_else(|| missing("live ISO and no Ignition to boot with"))?;
    let source = match medium.ends_with(".iso") {
        true => images.isos.get(node).cloned(),
        false => Some(closure.join("ignition").join(format!("{node}.ign"))),
    };
    let gigabytes: u64 = mark.disk.parse().map_err(|_| missing("size of its disk in its mark"))?;
    let disk = Disk { name: leaf(disk), bytes: gigabytes * 1_000_000_000 };
    let medium =
        Volume { name: leaf(&medium), bytes: source.as_deref().map_or(Ok(0), length)?, source, sha256: None };
    Ok(Machine { node: node.to_owned(), role: mark.role, ignition: mark.ignition, disk, medium, object })
}

fn base(path: &Path, sha256: &str) -> Result<Volume, RealizeError> {
    let short = sha256.get(..16).unwrap_or(sha256);
    let there = fs::exists(path)?;
    let bytes = if there { length(path)? } else { 0 };
    Ok(Volume {
        name: format!("base-{short}.qcow2"),
        source: there.then(|| path.to_owned()),
        bytes,
        sha256: Some(sha256.to_owned()),
    })
}

fn length(path: &Path) -> Result<u64, RealizeError> {
    Ok(fs::metadata(path)?.len())
}

/// A file's name without its directory.
pub(super) fn leaf(path: &str) -> String {
    path.rsplit('/').next().unwrap_or(path).to_owned()
}
