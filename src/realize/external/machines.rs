//! Who the machines are, from `infra/machines.json` of the closure, and what each can boot from.

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::base::fs;
use crate::realize::desired::{Desired, DesiredMachine};
use crate::realize::{RealizeError, Result};

/// The machines of a closure.
#[derive(Debug, Clone)]
pub(crate) struct Machines {
    closure: PathBuf,
    cluster: String,
    /// In the order of cluster.yaml.
    pub(super) all: Vec<Machine>,
}

/// As the artifact has it.
#[derive(Debug, Deserialize)]
struct Artifact {
    cluster: String,
    machines: Vec<Machine>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Machine {
    pub(super) node: String,
    role: String,
    /// Of its Ethernet ports.
    macs: Vec<String>,
    pub(super) ips: Vec<IpAddr>,
    /// The disk that is overwritten.
    install_device: String,
    /// The object id of its Ignition config.
    pub(super) ignition: String,
    /// What it can boot from; filled in by the caller.
    #[serde(skip)]
    media: Vec<Medium>,
}

/// Something that a machine boots from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Medium {
    /// What it is, for people.
    pub kind: &'static str,
    pub file: PathBuf,
}

/// A machine that the user has to boot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Boot {
    pub node: String,
    pub role: String,
    /// The phase in which it is waited for: bootstrap first, then masters, then workers.
    pub phase: &'static str,
    /// MAC addresses of its ports.
    pub macs: Vec<String>,
    pub ips: Vec<IpAddr>,
    /// The disk that is overwritten.
    pub install_device: String,
    /// What it can boot from; any of them will do.
    pub media: Vec<Medium>,
}

impl Machines {
    /// Reads the machines of a closure. `media` says what a node can boot from.
    pub(crate) fn read(closure: &Path, media: impl Fn(&str) -> Vec<Medium>) -> Result<Self> {
        let file = closure.join("infra/machines.json");
        let missing = |missing| RealizeError::Artifact { file: file.display().to_string(), missing };
        let text = fs::read_text(&file)?;
        let Artifact { cluster, machines: mut all } =
            serde_json::from_str(&text).map_err(|_| missing("machines that can be read"))?;
        for machine in &mut all {
            machine.media = media(&machine.node);
        }
        Ok(Self { closure: closure.to_owned(), cluster, all })
    }

    /// What the rest of `realize` knows of them.
    pub(crate) fn desired(&self) -> Desired {
        let machine = |one: &Machine| DesiredMachine {
            node: one.node.clone(),
            role: one.role.clone(),
            ignition: one.ignition.clone(),
        };
        let machines = self.all.iter().map(machine).collect();
        Desired { closure: self.closure.clone(), cluster: self.cluster.clone(), machines }
    }

    pub(super) fn get(&self, node: &str) -> Option<&Machine> {
        self.all.iter().find(|machine| machine.node == node)
    }

    /// In the order in which they boot.
    pub(super) fn in_order(&self) -> impl Iterator<Item = &Machine> {
        let of = |role: &'static str| self.all.iter().filter(move |machine| machine.role == role);
        of("bootstrap").chain(of("master")).chain(of("worker"))
    }
}

impl Machine {
    pub(super) fn is_bootstrap(&self) -> bool {
        self.role == "bootstrap"
    }

    pub(super) fn has_medium(&self) -> bool {
        !self.media.is_empty()
    }

    /// How the user recognises it.
    pub(super) fn named(&self) -> String {
        self.macs.join(", ")
    }

    pub(super) fn addresses(&self) -> String {
        self.ips.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    }

    /// What to boot, and what is lost.
    pub(super) fn instructions(&self) -> Vec<String> {
        let mut all = vec![format!("the machine with {}, which becomes {}", self.named(), self.addresses())];
        let media = self.media.iter().map(|medium| format!("{} {}", medium.kind, medium.file.display()));
        let media: Vec<String> = media.collect();
        if !media.is_empty() {
            all.push(format!("from {}", media.join(", or ")));
        }
        all.push(format!("what is on its {} is lost", self.install_device));
        all
    }

    pub(super) fn boot(&self) -> Boot {
        let phase = match self.role.as_str() {
            "bootstrap" => "bootstrap",
            "master" => "control-plane",
            _ => "workers",
        };
        Boot {
            node: self.node.clone(),
            role: self.role.clone(),
            phase,
            macs: self.macs.clone(),
            ips: self.ips.clone(),
            install_device: self.install_device.clone(),
            media: self.media.clone(),
        }
    }
}
