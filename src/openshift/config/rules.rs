//! Rules between fields that are not boot facts: uniqueness and mutual exclusion. They cannot be disabled, because the
//! model relies on them.

use std::collections::BTreeMap;

use super::external;
use super::fragment::{Fragment, join};
use super::inputs::{IN_PLACE, INSTALLATION_DISK, Inputs};
use super::node_network;
use super::platform;
use super::release::Release;
use super::words::{Architecture, Machines, Role};
use crate::base::hint::Problems;

pub(super) fn run(inputs: &Inputs<'_>, problems: &mut Problems) {
    for rule in [
        platform::one,
        platform::vips,
        platform::masters,
        bootstrap,
        in_place,
        names,
        macs,
        external::fields,
        node_network::documents,
        proxy,
        mirrors,
        features,
        release_repository,
        architecture,
        fips,
        live_system,
        bridge,
        session,
    ] {
        rule(inputs, problems);
    }
}

impl Fragment {
    pub(super) fn report(
        &self,
        problems: &mut Problems,
        field: &str,
        message: impl Into<String>,
        hint: &str,
    ) {
        problems.push(self.problem(field, message).hint(Some(hint.to_owned())));
    }
}

/// The three files that machines boot from the network are of one version, and an installation needs all of them.
fn live_system(inputs: &Inputs<'_>, problems: &mut Problems) {
    const FILES: [&str; 3] = ["rhcos.kernel", "rhcos.initramfs", "rhcos.rootfs"];
    let named = FILES.map(|field| inputs.cluster.text(field).is_some());
    if named.contains(&true) && named.contains(&false) {
        let missing: Vec<&str> =
            FILES.into_iter().zip(named).filter(|(_, named)| !named).map(|(field, _)| field).collect();
        let message = format!("without `{}`: the three belong together", missing.join("` and `"));
        let present =
            FILES.into_iter().zip(named).find(|(_, named)| *named).map_or(FILES[0], |(field, _)| field);
        let hint = "name all three files, of the same version, or none: `tinderbox lock --fetch pxe` downloads the release's";
        inputs.cluster.report(problems, present, message, hint);
    }
}

/// Exactly one bootstrap node, unless the only node bootstraps itself.
fn bootstrap(inputs: &Inputs<'_>, problems: &mut Problems) {
    let mut bootstraps = inputs.nodes.iter().filter(|node| node.role == Some(Role::Bootstrap));
    let first = bootstraps.next();
    let unknown = inputs.nodes.iter().any(|node| node.role.is_none());
    if first.is_none() && !unknown && inputs.cluster.wrote("nodes") && inputs.in_place().is_none() {
        let hint = "list one: it runs the first control plane and is removed afterwards; only a single master without workers \
                    can bootstrap itself";
        inputs.cluster.report(problems, "nodes", "no node has `role: bootstrap`", hint);
    }
    for another in bootstraps {
        let hint = "a cluster is bootstrapped by exactly one node";
        inputs.cluster.report(problems, &join(&another.field, "role"), "a second bootstrap node", hint);
    }
}

/// What install-config says about a node that bootstraps itself agrees with cluster.yaml.
fn in_place(inputs: &Inputs<'_>, problems: &mut Problems) {
    let Some(node) = inputs.in_place() else {
        let known = inputs.nodes.iter().all(|node| node.role.is_some());
        if inputs.wrote(IN_PLACE) && inputs.cluster.wrote("nodes") && known {
            let message =
                "only a single master, without workers and without a bootstrap node, bootstraps itself";
            let hint = "list that node alone in cluster.yaml, or remove `bootstrapInPlace`";
            inputs.install.report(problems, IN_PLACE, message, hint);
        }
        return;
    };
    let own = node.given.get::<String>("installDevice");
    let theirs = inputs.install.text(INSTALLATION_DISK);
    if let Some((own, theirs)) = own.zip(theirs).filter(|(own, theirs)| own != theirs) {
        let message = format!("`{own}`, but `{INSTALLATION_DISK}` of install-config is `{theirs}`");
        let field = join(&node.field, "installDevice");
        inputs.cluster.report(problems, &field, message, "give the disk in one of the two files");
    }
}

/// Files in `infra/` besides those of the nodes.
const INFRA: [&str; 5] = ["firewall", "haproxy", "haproxy-pivoted", "network", "pool"];

/// Rejects host names of the cluster itself, names of its other artifacts, and names that look like an index.
fn names(inputs: &Inputs<'_>, problems: &mut Problems) {
    for node in &inputs.nodes {
        let Some(name) = node.given.get::<String>("name") else { continue };
        let etcd = name.strip_prefix("etcd-").is_some_and(|index| index.parse::<usize>().is_ok());
        let (message, hint) = if etcd || matches!(name.as_str(), "api" | "api-int" | "apps") {
            let hint = "its DNS record points elsewhere: choose another name".to_owned();
            (format!("`{name}` is a name of the cluster itself"), hint)
        } else if INFRA.contains(&name.as_str()) {
            let hint = format!("`infra/{name}` is another artifact: choose another name");
            (format!("`{name}` is no name for a node"), hint)
        } else if name.bytes().all(|b| b.is_ascii_digit()) {
            let hint = "begin it with a letter: field paths could not tell it from an index".to_owned();
            (format!("`{name}` is a number"), hint)
        } else {
            continue;
        };
        inputs.cluster.report(problems, &join(&node.field, "name"), message, &hint);
    }
}

/// MAC addresses are unique.
fn macs(inputs: &Inputs<'_>, problems: &mut Problems) {
    let mut first: BTreeMap<&str, &str> = BTreeMap::new();
    for node in &inputs.nodes {
        let own = node.given.get::<String>("mac").map(|mac| (mac.as_str(), join(&node.field, "mac")));
        let ports =
            node_network::ports(inputs, node).map(|(field, port)| (port.mac, join(&field, "macAddress")));
        for (mac, field) in own.into_iter().chain(ports) {
            if let Some(other) = first.get(mac) {
                let message = format!("`{mac}` is also the MAC of `{other}`");
                let hint = match inputs.cluster.get("machines") {
                    Some(&Machines::External) => "give every node the address of its own port",
                    _ => "give every node its own, or leave it out: it then follows from the seed",
                };
                inputs.cluster.report(problems, &field, message, hint);
            } else {
                first.insert(mac, &node.field);
            }
        }
    }
}

/// A proxy needs a URL.
fn proxy(inputs: &Inputs<'_>, problems: &mut Problems) {
    let wrote = |field| inputs.wrote(field);
    if wrote("proxy") && !wrote("proxy.httpProxy") && !wrote("proxy.httpsProxy") {
        let message = "neither `httpProxy` nor `httpsProxy` is given";
        inputs.install.report(problems, "proxy", message, "give one of them, or remove `proxy`");
    }
}

/// Mirrors are listed under one name only.
fn mirrors(inputs: &Inputs<'_>, problems: &mut Problems) {
    if inputs.wrote("imageContentSources") && inputs.wrote("imageDigestSources") {
        let message = "cannot be given together with `imageDigestSources`";
        let hint = "move its entries to `imageDigestSources`";
        inputs.install.report(problems, "imageContentSources", message, hint);
    }
    for index in 0..inputs.install.list("imageContentSources").len() {
        let field = format!("imageContentSources.{index}.sourcePolicy");
        if inputs.wrote(&field) {
            inputs.install.report(
                problems,
                &field,
                "unknown under this old name",
                "use `imageDigestSources`",
            );
        }
    }
}

/// Single gates require the set that allows them, and each is listed once.
fn features(inputs: &Inputs<'_>, problems: &mut Problems) {
    let custom = inputs.install.text("featureSet") == Some("CustomNoUpgrade");
    if !inputs.install.list("featureGates").is_empty() && !custom {
        let message = "gates are given, but featureSet is not `CustomNoUpgrade`";
        let hint = "set `featureSet: CustomNoUpgrade`, or remove the gates";
        inputs.install.report(problems, "featureGates", message, hint);
    }
    let gates: Vec<String> = inputs.install.given.all("featureGates");
    let mut first: BTreeMap<&str, &str> = BTreeMap::new();
    for (index, gate) in gates.iter().enumerate() {
        let Some((name, on)) = gate.split_once('=') else { continue };
        let message = match first.insert(name, on) {
            None => continue,
            Some(before) if before == on => format!("`{name}` is listed twice"),
            Some(_) => format!("`{name}` is both enabled and disabled"),
        };
        inputs.install.report(problems, &format!("featureGates.{index}"), message, "keep one of them");
    }
}

/// A repository in a registry, for a release that is in none.
fn release_repository(inputs: &Inputs<'_>, problems: &mut Problems) {
    let field = "releaseRepository";
    let Some(repository) = inputs.cluster.text(field) else { return };
    if !matches!(inputs.cluster.get("release"), Some(Release::Layout { .. })) {
        let hint = "remove it: nodes pull the release from where `release` says";
        inputs.cluster.report(problems, field, "`release` is not a layout (`oci:…`)", hint);
    }
    if !repository.contains('/') || repository.contains('*') {
        let hint = "for example: quay.io/openshift-release-dev/ocp-release";
        inputs.cluster.report(problems, field, format!("`{repository}` is not one repository"), hint);
    }
}

/// All nodes have the same architecture.
fn architecture(inputs: &Inputs<'_>, problems: &mut Problems) {
    let compute = inputs.install.list("compute").first().and_then(|pool| pool.get("architecture"));
    let control_plane = inputs.install.get("controlPlane.architecture");
    let pools = [("controlPlane.architecture", control_plane), ("compute.worker.architecture", compute)];
    let all = inputs.cluster.get("architecture").or(control_plane).unwrap_or(&Architecture::Amd64);
    for (field, pool) in pools {
        if let Some(pool) = pool.filter(|pool| *pool != all) {
            let message =
                format!("`{}`, but the cluster's architecture is `{}`", pool.as_str(), all.as_str());
            let hint = "on platform `none` all nodes have one architecture, in the installer too: set it in cluster.yaml, or \
                        nowhere for amd64";
            inputs.install.report(problems, field, message, hint);
        }
    }
}

/// FIPS mode does not support Ed25519.
fn fips(inputs: &Inputs<'_>, problems: &mut Problems) {
    let keys = inputs.install.get::<Vec<String>>("sshKey").map_or(&[][..], Vec::as_slice);
    let ed25519 = keys.iter().any(|key| key.starts_with("ssh-ed25519") || key.starts_with("sk-ssh-ed25519"));
    if inputs.install.get("fips") == Some(&true) && ed25519 {
        let message = "an Ed25519 key does not work on nodes in FIPS mode";
        inputs.install.report(problems, "sshKey", message, "use an ECDSA or RSA key");
    }
}

/// The default bridge name must fit into the kernel's 15 characters.
fn bridge(inputs: &Inputs<'_>, problems: &mut Problems) {
    let name = inputs.install.text("metadata.name").unwrap_or_default();
    let given = |field| inputs.cluster.given.at(field).is_some();
    if given("libvirt") && !given("libvirt.bridge") && name.len() > 9 {
        let message = format!("`virbr-{name}` is too long for the name of a bridge");
        inputs.cluster.report(problems, "libvirt", message, "set `libvirt.bridge`, at most 15 characters");
    }
}

/// Without root, files are elsewhere, and the user's home is unknown here.
fn session(inputs: &Inputs<'_>, problems: &mut Problems) {
    let uri = inputs.cluster.text("libvirt.uri").unwrap_or_default();
    if uri.starts_with("qemu")
        && uri.split('?').next().unwrap_or_default().ends_with("/session")
        && !inputs.cluster.wrote("libvirt.path")
    {
        let hint = "set `libvirt.path` to one that you may write to";
        inputs.cluster.report(problems, "libvirt.uri", "a session needs a directory of its own", hint);
    }
}
