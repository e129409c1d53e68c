//! The field table of `cluster.yaml`: what install-config has no place for. Recipes see each field under its own path,
//! unless its row says otherwise.
//!
//! Editors show the texts (see [`super::schema()`]), so they say what a field is for, not its name.

use super::files::{File, Files};
use super::given::{GB, Given, MIB, Quantity, Scalar};
use super::inputs::INSTALLATION_DISK;
use super::spec::{Kind, Row, choice, field, nullable};
use super::words::{Architecture, Machines, Role};
use super::{pull_secret, syntax};
use crate::base::pki::Algorithm;

/// Key algorithms of certificates.
const ALGORITHMS: &[&str] = &{
    let [a, b, c, d, e] = Algorithm::ALL;
    [a.as_str(), b.as_str(), c.as_str(), d.as_str(), e.as_str()]
};

pub(super) const FIELDS: &[Row] = &[
    field(
        "release",
        Kind::Text(&syntax::RELEASE),
        "The release image: `demo:4.18`, `registry/repo:tag`, `registry/repo@sha256:…`, `oci:DIR:TAG` or `oci:DIR@sha256:…`.",
    )
    .required(),
    field(
        "releaseRepository",
        Kind::Text(&syntax::REPOSITORY),
        "Where nodes pull a release that is in a layout; by default what the layout or `imageDigestSources` says, \
         for example `quay.io/openshift-release-dev/ocp-release`.",
    ),
    field(
        "releaseImagePolicy",
        Kind::Bool,
        "`false` if nodes shall not enforce the release's own image policy (from 4.21 on), for test releases that nobody \
         signed: no ClusterImagePolicy `openshift`, and an override for good, with which the cluster cannot be updated.",
    ),
    field(
        pull_secret::FILE,
        Kind::Text(&syntax::TEXT),
        "File with the pull secret, which install-config.yaml then leaves out; relative to this file. Keep it out of git.",
    ),
    field(
        "releaseKeys",
        Kind::Texts(&syntax::TEXT),
        "Files of public keys (PEM) that must have signed the release, in place of the keys that tinderbox knows; `lock` \
         refuses a release that none of them signed. `[]` verifies nothing.",
    ),
    field(
        "architecture",
        Architecture::KIND,
        "Instruction set of all nodes; by default that of controlPlane, else amd64.",
    )
    .default_from(&[(File::Install, "controlPlane.architecture")], |files, _| {
        let pool = files.install.get("controlPlane.architecture").copied();
        Some(Scalar::Architecture(pool.unwrap_or(Architecture::Amd64)))
    }),
    field("channel", Kind::Text(&syntax::TEXT), "Update channel of the installed cluster; by default `stable-` and the release's minor version, `stable-4.18`."),
    field(
        "vips",
        Kind::Map(VIPS),
        "Virtual addresses in front of the nodes. Required, but on platform `baremetal`, which has them in install-config, and for \
         a single node that bootstraps itself: without them, the API and all routes are at its own addresses.",
    ),
    field("network", Kind::Map(NETWORK), "What the nodes' interfaces need.").required(),
    field("nodes", Kind::List(NODES), "Every machine, the bootstrap node included. A single master can do without one: it bootstraps itself.")
        .required()
        .not_empty()
        .derived(),
    field(
        "machines",
        Machines::KIND,
        "Who makes the machines: `libvirt`, the default: `realize` does; `external`: you have them, and boot them yourself.",
    )
    .default("libvirt"),
    field("libvirt", Kind::Map(LIBVIRT), "Where `realize` makes the machines."),
    field("pki", Kind::Map(PKI), "Keys and certificates."),
    field("rhcos", Kind::Map(RHCOS), "Where the operating system's images are: your own files, or a mirror of the release's."),
    field("checks", Kind::Map(CHECKS), "Which checks of `tinderbox check` are run."),
    field("caches", Kind::List(CACHES), "Registries and farms with outputs that others built and signed; part of no id."),
    field("builders", Kind::List(BUILDERS), "Farms that build, and are trusted with what they built; part of no id."),
];

/// Caches, here and in the user's own configuration.
pub(super) const CACHES: &[Row] = &[
    field(
        "url",
        Kind::Text(&syntax::CACHE),
        "The repository that outputs are in, or the instance of a farm: `grpcs://farm.example.com/instance`.",
    )
    .required(),
    field(
        "trust",
        Kind::List(TRUST),
        "Whose signatures count; without any, nothing is taken from there. `tinderbox key show` prints a key.",
    ),
    field(
        "recipients",
        Kind::Texts(&syntax::RECIPIENT),
        "age recipients, for whom `push` encrypts secret outputs; without any, these stay here.",
    ),
    field(
        "authFile",
        Kind::Text(&syntax::TEXT),
        "File with credentials for the registry, as `podman login` writes it; by default the pull secret has them. Relative to \
         this file.",
    ),
    field(
        "ca",
        Kind::Text(&syntax::TEXT),
        "File with the registry's certificate authority, PEM, if `additionalTrustBundle` has it not; relative to this file.",
    ),
];

/// Farms that build, here and in the user's own configuration.
pub(super) const BUILDERS: &[Row] = &[
    field(
        "url",
        Kind::Text(&syntax::FARM),
        "The instance of a farm: `grpcs://farm.example.com/instance`. Without TLS (`grpc://`), the network is trusted too.",
    )
    .required(),
    field(
        "scope",
        Kind::Texts(&syntax::TEXT),
        "Derivations and folders (`mco`, `render`) that are built there, and nothing else; by default all that run programs.",
    ),
    field(
        "secrets",
        Kind::Bool,
        "Whether the farm may see secrets, and build what is made from them; by default not, and that is built here.",
    ),
    field("jobs", Kind::Int { min: 1, max: 1000 }, "Derivations at the same time; by default 8."),
    field(
        "platform",
        Kind::Document("a map of platform properties, such as `{OSFamily: linux}`"),
        "Properties that workers must have, in the farm's own words. They run this very program: the same architecture.",
    ),
    field(
        "authFile",
        Kind::Text(&syntax::TEXT),
        "File with credentials for the farm, as `podman login` writes it; relative to this file.",
    ),
    field(
        "ca",
        Kind::Text(&syntax::TEXT),
        "File with the farm's certificate authority, PEM, besides the system's; relative to this file.",
    ),
];

const TRUST: &[Row] = &[
    field("key", Kind::Text(&syntax::PUBLIC_KEY), "A builder's public key.").required(),
    field(
        "scope",
        Kind::Texts(&syntax::TEXT),
        "Derivations and folders (`mco`, `release/payload`) that this key may vouch for; by default all.",
    ),
    field(
        "secrets",
        Kind::Bool,
        "Whether this key may also vouch for secret outputs, the cluster's keys among them; by default not.",
    ),
];

const VIPS: &[Row] = &[
    field("api", Kind::OneOrMore(&syntax::ADDRESS), "Address of the API, or one per IP family.")
        .required()
        .not_empty()
        .seen_as("api.vips"),
    field("ingress", Kind::OneOrMore(&syntax::ADDRESS), "Address of all routes, or one per IP family.")
        .required()
        .not_empty()
        .seen_as("ingress.vips"),
];

const NETWORK: &[Row] = &[
    field("gateway", Kind::OneOrMore(&syntax::ADDRESS), "Default gateway, one per machine network.")
        .required()
        .not_empty()
        .seen_as("network.gateways"),
    field("dns", Kind::OneOrMore(&syntax::ADDRESS), "DNS servers of the nodes; by default the gateways.")
        .not_empty()
        .default_field("network.gateway"),
    field("dhcp", Kind::Map(DHCP), "Addresses that DHCP hands out, to the live ISO only."),
];

const DHCP: &[Row] = &[
    nullable("start", Kind::Text(&syntax::ADDRESS), "First address.").required(),
    nullable("end", Kind::Text(&syntax::ADDRESS), "Last address.").required(),
];

pub(super) const NODES: &[Row] = &[
    field("name", Kind::Text(&syntax::NAME), "First label of the node's host name.").required(),
    field("role", Role::KIND, "What the node becomes.").required(),
    field("ip", Kind::OneOrMore(&syntax::ADDRESS), "Static address, or one per IP family.")
        .required()
        .not_empty()
        .seen_as("ips"),
    nullable(
        "mac",
        Kind::Text(&syntax::MAC),
        "MAC address; by default one that follows from the seed. A machine of your own has its own: required with `machines: external`.",
    ),
    field(
        "interfaces",
        Kind::List(INTERFACES),
        "The machine's Ethernet ports, for `networkConfig`; as in agent-config.yaml. In place of `mac`.",
    ),
    field(
        "networkConfig",
        Kind::Document("an NMState document"),
        "The node's network as NMState: bonds, VLANs, several ports, routes, DNS, DHCP. In place of what follows from `ip` and \
         `network`; `ip` stays the address that the cluster knows the node by.",
    ),
    field("vcpus", Kind::Int { min: 1, max: 1024 }, "Virtual CPUs; 4 by default.").default("4"),
    field(
        "memory",
        Kind::Quantity(MIB),
        "Memory, such as `16GiB`; that is the default, and 8GiB for workers.",
    )
    .default_from(&[], |_, node| {
        let gib = if node.get("role") == Some(&Role::Worker) { 8 } else { 16 };
        Some(Scalar::Quantity(Quantity { count: gib * 1024, unit: MIB }))
    })
    .seen_as("memoryMiB"),
    field("disk", Kind::Quantity(GB), "Disk, such as `120GB`; 100GB by default.")
        .default("100GB")
        .seen_as("diskGB"),
    field(
        "installDevice",
        Kind::Text(&syntax::DEVICE),
        "The disk that the node's live ISO installs to; by default `/dev/vda`, the first of a virtual machine; required with `machines: external`. A single node that \
         bootstraps itself has install-config's `bootstrapInPlace.installationDisk`, if that is given.",
    )
    .default_from(&[(File::Install, INSTALLATION_DISK)], |files, _| {
        let given = files.install.text(INSTALLATION_DISK).unwrap_or("/dev/vda");
        Some(Scalar::Text(given.to_owned()))
    }),
];

const INTERFACES: &[Row] = &[
    field("name", Kind::Text(&syntax::INTERFACE), "What `networkConfig` calls it.").required(),
    field("macAddress", Kind::Text(&syntax::MAC), "How the machine recognises it.").required(),
];

const CLUSTER_NAME: (File, &str) = (File::Install, "metadata.name");

fn cluster_name(files: &Files, _: &Given) -> Option<Scalar> {
    files.install.get::<Scalar>(CLUSTER_NAME.1).cloned()
}

const LIBVIRT: &[Row] = &[
    field("uri", Kind::Text(&syntax::TEXT), "Connection; by default `qemu:///system`.")
        .default("qemu:///system"),
    field("pool", Kind::Text(&syntax::OBJECT), "Storage pool; by default the cluster's name.")
        .default_from(&[CLUSTER_NAME], cluster_name),
    field(
        "path",
        Kind::Text(&syntax::DIRECTORY),
        "Directory of that pool on the host; by default `/var/lib/libvirt/images/` and the pool's name.",
    )
    .default_from(&[(File::Cluster, "libvirt.pool"), CLUSTER_NAME], |files, _| {
        let pool: String = files.value(File::Cluster, "libvirt.pool")?;
        Some(Scalar::Text(format!("/var/lib/libvirt/images/{pool}")))
    }),
    field("network", Kind::Text(&syntax::OBJECT), "Virtual network; by default the cluster's name.")
        .default_from(&[CLUSTER_NAME], cluster_name),
    field(
        "bridge",
        Kind::Text(&syntax::INTERFACE),
        "Bridge of that network; by default `virbr-` and the cluster's name.",
    )
    .default_from(&[CLUSTER_NAME], |files, _| {
        let name = files.install.text(CLUSTER_NAME.1)?;
        Some(Scalar::Text(format!("virbr-{name}").chars().take(15).collect()))
    }),
    field("domainType", choice(&["kvm", "qemu"]), "`kvm`, or `qemu` to emulate where there is no KVM.")
        .default("kvm"),
];

const PKI: &[Row] = &[
    field("keyAlgorithm", choice(ALGORITHMS), "Keys of leaf certificates; by default ecdsa-p256.")
        .default("ecdsa-p256"),
    field(
        "authorityKeyAlgorithm",
        choice(ALGORITHMS),
        "Keys of authorities; by default rsa-2048, which operators adopt.",
    )
    .default("rsa-2048"),
    field("validity", Kind::Map(VALIDITY), "How long certificates are valid from the epoch of the lock."),
    field(
        "authorities",
        Kind::Named(AUTHORITY),
        "Authorities of your own, by name (`root-ca`), in place of generated ones.",
    ),
];

const VALIDITY: &[Row] = &[
    field("authorities", Kind::Text(&syntax::SPAN), "Of authorities; by default 10y.")
        .default("10y")
        .seen_as("pki.validity.authorityHours"),
    field("leaves", Kind::Text(&syntax::SPAN), "Of all other certificates; by default 1y.")
        .default("1y")
        .seen_as("pki.validity.leafHours"),
];

const AUTHORITY: &[Row] = &[
    field("certificate", Kind::Text(&syntax::TEXT), "File of the certificate, PEM.").required(),
    field("key", Kind::Text(&syntax::TEXT), "File of the private key, PEM.").required(),
];

const RHCOS: &[Row] = &[
    nullable("iso", Kind::Text(&syntax::TEXT), "File of the live ISO."),
    nullable("qcow2", Kind::Text(&syntax::TEXT), "File of the QEMU image."),
    nullable(
        "kernel",
        Kind::Text(&syntax::TEXT),
        "File of the live kernel, for machines that boot from the network; with `initramfs` and `rootfs`.",
    ),
    nullable(
        "initramfs",
        Kind::Text(&syntax::TEXT),
        "File of the live initramfs; with `kernel` and `rootfs`.",
    ),
    nullable("rootfs", Kind::Text(&syntax::TEXT), "File of the live rootfs; with `kernel` and `initramfs`."),
    nullable(
        "mirror",
        Kind::Text(&syntax::MIRROR),
        "URL of a directory that `lock --fetch` downloads the release's images from, under their own names.",
    ),
];

const CHECKS: &[Row] = &[nullable(
    "disabled",
    Kind::Texts(&syntax::TEXT),
    "Names of checks that are not run; `tinderbox check --list` has them.",
)];
