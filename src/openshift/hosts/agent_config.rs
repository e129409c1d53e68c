//! `agent-config.yaml` of the agent-based installer.

use super::network::HostNetwork;
use super::reader::{LeftOutRow, Reader, join};
use super::{Host, Hosts, line_of};
use crate::base::hint::Problems;
use crate::base::yaml::{self, Source, YamlNode};
use crate::openshift::config::Role;

const TOP: &[LeftOutRow] = &[
    ("apiVersion", "it says how the agent-based installer reads this file"),
    ("bootArtifactsBaseURL", "it is where the agent-based installer's own boot files are served"),
    ("kind", "it says how the agent-based installer reads this file"),
    ("metadata", "install-config.yaml has the cluster's name"),
    ("minimalISO", "every node gets a whole ISO, or network boot"),
];

const BMC: &str = "tinderbox switches no machine on: boot it by hand, or with your own tools";
const HOST: &[LeftOutRow] = &[("BMC", BMC), ("bmc", BMC)];

/// Reads the file.
pub(crate) fn agent_config(source: Source<'_>, problems: &mut Problems) -> Option<Hosts> {
    let root = yaml::parse(source, problems)?;
    let mut reader = Reader::new(source.name, problems);
    let known = ["hosts", "rendezvousIP", "additionalNTPSources"];
    reader.fields("", &root, &known, TOP);
    if let Some(kind) = reader.text("", &root, "kind").filter(|kind| kind.value != "AgentConfig") {
        let line = line_of(&root, "kind");
        let message = format!("`{}` is not an AgentConfig", kind.value);
        let hint = "the file that the agent-based installer reads has `kind: AgentConfig`";
        reader.problem("kind", line, message, hint);
    }
    // What the format itself demands is nobody's wish.
    reader.left_out.retain(|one| !matches!(one.place.field.as_str(), "apiVersion" | "kind" | "metadata"));
    let rendezvous = root.get("rendezvousIP").filter(|node| !node.is_null() && node.text() != Some(""));
    let rendezvous = rendezvous.and_then(|node| reader.address("rendezvousIP", node));
    let ntp = reader.ntp("additionalNTPSources", root.get("additionalNTPSources"));
    let hosts = root.get("hosts").map_or(&[][..], YamlNode::items).iter().enumerate();
    let hosts =
        hosts.map(|(index, node)| host(&mut reader, &join("hosts", &index.to_string()), node)).collect();
    let left_out = reader.left_out;
    Some(Hosts { file: source.name.to_owned(), hosts, rendezvous, ntp, left_out, ..Hosts::default() })
}

fn host(reader: &mut Reader<'_>, path: &str, node: &YamlNode) -> Host {
    let known = ["hostname", "role", "rootDeviceHints", "interfaces", "networkConfig"];
    reader.fields(path, node, &known, HOST);
    let network = node.get("networkConfig").filter(|node| !node.is_null());
    let ports = reader.ports(&join(path, "interfaces"), node.get("interfaces"));
    if network.is_none() {
        reader.idle_ports(&join(path, "interfaces"), line_of(node, "interfaces"), &ports);
    }
    Host {
        host_name: reader.text(path, node, "hostname").map(|name| name.value),
        role: role(reader, path, node),
        ports,
        install_device: reader.install_device(&join(path, "rootDeviceHints"), node.get("rootDeviceHints")),
        network: network
            .map(|node| HostNetwork::of(reader.place(&join(path, "networkConfig"), node.line), node)),
        place: reader.place(path, node.line),
    }
}

/// The role of a host; none if the file leaves it open.
pub(super) fn role(reader: &mut Reader<'_>, path: &str, node: &YamlNode) -> Option<Role> {
    let role = reader.text(path, node, "role")?;
    match role.value.as_str() {
        "master" => Some(Role::Master),
        "worker" => Some(Role::Worker),
        other => {
            let (message, line) = (format!("`{other}` nodes are not supported"), role.place.line);
            reader.problem(&role.place.field, line.unwrap_or(node.line), message, "use `master` or `worker`");
            None
        }
    }
}
