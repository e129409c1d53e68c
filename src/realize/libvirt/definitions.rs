//! What the closure defines for libvirt: a network, a storage pool, a domain per machine, and the volumes they boot from.
//! Read from the artifacts themselves, so that the output of a user's own recipe counts.

use std::path::{Path, PathBuf};

use super::marker::Marker;
use super::xml::Element;
use crate::base::fs;
use crate::realize::desired::{BaseImage, BootImages, Desired, DesiredMachine};
use crate::realize::{RealizeError, Result};

/// Everything that the closure defines.
#[derive(Debug, Clone)]
pub(crate) struct Definitions {
    pub(super) closure: PathBuf,
    /// The cluster's id, which marks its machines.
    pub(super) cluster: String,
    /// In the order of cluster.yaml.
    pub(super) machines: Vec<DefinedMachine>,
    /// What the machines share on the host.
    pub(super) infrastructure: Infrastructure,
}

/// A machine of the closure, and how libvirt creates it.
#[derive(Debug, Clone)]
pub(crate) struct DefinedMachine {
    pub(super) desired: DesiredMachine,
    pub(super) domain: Domain,
}

/// What all machines share.
#[derive(Debug, Clone)]
pub(crate) struct Infrastructure {
    pub(super) network: Definition,
    pub(super) pool: Definition,
    /// The pool's directory on the host.
    pub(super) directory: String,
    /// The backing image of the disks; none if machines boot a live ISO and install themselves.
    pub(super) base: Option<StorageVolume>,
}

/// One XML document of the closure.
#[derive(Debug, Clone)]
pub(super) struct Definition {
    pub(super) name: String,
    /// Derived from the seed.
    pub(super) uuid: String,
    pub(super) file: PathBuf,
    pub(super) xml: Element,
}

/// The libvirt side of a machine.
#[derive(Debug, Clone)]
pub(crate) struct Domain {
    pub(super) definition: Definition,
    pub(super) marker: Marker,
    pub(super) disk: Disk,
    /// What it boots with: its live ISO, or its Ignition config.
    pub(super) medium: StorageVolume,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Disk {
    /// Its name in the pool.
    pub(super) name: String,
    pub(super) bytes: u64,
}

/// A file to upload into the pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StorageVolume {
    /// Its name in the pool, which identifies its content.
    pub(super) name: String,
    /// Its content on this machine; none if it is not here.
    pub(super) source: Option<PathBuf>,
    /// Its size; zero if it is not here.
    pub(super) bytes: u64,
    /// The sha256 that it must have, in hex, if somebody else made it.
    pub(super) sha256: Option<String>,
}

impl Infrastructure {
    pub(crate) fn read(closure: &Path, images: &BootImages) -> Result<Self> {
        let network = definition(closure, "network")?;
        let pool = definition(closure, "pool")?;
        let directory = required(&pool.file, pool.xml.text_at("target/path"), "target path")?;
        let base = images.qcow2.as_ref().map(base).transpose()?;
        Ok(Self { network, pool, directory, base })
    }
}

impl Definitions {
    pub(crate) fn read(closure: &Path, nodes: &[String], images: &BootImages) -> Result<Self> {
        let infrastructure = Infrastructure::read(closure, images)?;
        let machines = nodes
            .iter()
            .map(|node| DefinedMachine::read(closure, node, images))
            .collect::<Result<Vec<_>, _>>()?;
        let first = machines.first().map(|machine| machine.domain.marker.cluster.clone());
        let (closure, cluster) = (closure.to_owned(), first.unwrap_or_default());
        Ok(Self { closure, cluster, machines, infrastructure })
    }

    /// What the rest of `realize` knows of it.
    pub(crate) fn desired(&self) -> Desired {
        let machines = self.machines.iter().map(|machine| machine.desired.clone()).collect();
        Desired { closure: self.closure.clone(), cluster: self.cluster.clone(), machines }
    }

    pub(super) fn machine(&self, node: &str) -> Option<&DefinedMachine> {
        self.machines.iter().find(|machine| machine.desired.node == node)
    }
}

impl DefinedMachine {
    pub(crate) fn read(closure: &Path, node: &str, images: &BootImages) -> Result<Self> {
        let definition = definition(closure, node)?;
        let xml = &definition.xml;
        let missing = |missing| artifact(&definition.file, missing);
        let marker = Marker::read(xml).ok_or_else(|| missing("tinderbox marker in its metadata"))?;
        let devices = xml.at("devices").ok_or_else(|| missing("devices"))?;
        let file =
            |disk: &Element| disk.at("source").map_or("", |source| source.attribute("file")).to_owned();
        let disks: Vec<String> = devices.all("disk").map(file).collect();
        let with = |ends: &[&str]| disks.iter().find(|path| ends.iter().any(|end| path.ends_with(end)));
        let disk = with(&[".qcow2"]).ok_or_else(|| missing("qcow2 disk"))?;
        let firmware = xml.at("sysinfo/entry").map(|entry| entry.attribute("file").to_owned());
        let medium = firmware
            .or_else(|| with(&[".iso", ".ign"]).cloned())
            .ok_or_else(|| missing("live ISO or Ignition config to boot with"))?;
        let source = match medium.ends_with(".iso") {
            true => images.isos.get(node).cloned(),
            false => Some(closure.join("ignition").join(format!("{node}.ign"))),
        };
        let gigabytes: u64 = marker.disk.parse().map_err(|_| missing("disk size in its marker"))?;
        let disk = Disk { name: file_name(disk), bytes: gigabytes * 1_000_000_000 };
        let bytes = source.as_deref().map_or(Ok(0), length)?;
        let medium = StorageVolume { name: file_name(&medium), bytes, source, sha256: None };
        let (role, ignition) = (marker.role.clone(), marker.ignition.clone());
        let domain = Domain { marker, disk, medium, definition };
        Ok(Self { desired: DesiredMachine { node: node.to_owned(), role, ignition }, domain })
    }
}

fn definition(closure: &Path, name: &str) -> Result<Definition> {
    let file = closure.join("infra").join(format!("{name}.xml"));
    let xml = Element::parse(&format!("`infra/{name}.xml`"), &fs::read_text(&file)?)?;
    let name = required(&file, xml.text_at("name"), "name")?;
    let uuid = required(&file, xml.text_at("uuid"), "uuid")?;
    Ok(Definition { name, uuid, file, xml })
}

fn required(file: &Path, text: &str, missing: &'static str) -> Result<String> {
    if text.is_empty() { Err(artifact(file, missing)) } else { Ok(text.to_owned()) }
}

fn artifact(file: &Path, missing: &'static str) -> RealizeError {
    RealizeError::Artifact { file: file.display().to_string(), missing }
}

fn base(BaseImage { path, sha256 }: &BaseImage) -> Result<StorageVolume> {
    let short = sha256.get(..16).unwrap_or(sha256);
    let source = match path {
        Some(path) if fs::exists(path)? => Some(path.clone()),
        _ => None,
    };
    Ok(StorageVolume {
        name: format!("base-{short}.qcow2"),
        bytes: source.as_deref().map_or(Ok(0), length)?,
        source,
        sha256: Some(sha256.clone()),
    })
}

fn length(path: &Path) -> Result<u64> {
    Ok(fs::metadata(path)?.len())
}

fn file_name(path: &str) -> String {
    path.rsplit('/').next().unwrap_or(path).to_owned()
}
