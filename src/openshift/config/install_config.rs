//! The field table of `install-config.yaml`: all fields of the installers of 4.18 to 4.22.
//!
//! Supported fields reach recipes: as written below `installConfig`, and under the path in their row. Fields that the
//! installer accepts but tinderbox does not support are rejected with a reason. Nothing is silently ignored.

use super::files::File;
use super::given::Scalar;
use super::spec::{Kind, Row, choice, field, nullable, refused, supported};
use super::words::{Architecture, SourcePolicy};
use super::{platform, pull_secret, syntax};

const CLOUD: &str = "it concerns cloud platforms, for which tinderbox builds no clusters";
const OS: &str = "the operating system is the one of the release, or `rhcos` in cluster.yaml";

pub(super) const FIELDS: &[Row] = &[
    field("apiVersion", choice(&["v1"]), "Version of this file's format.").required(),
    field("kind", choice(&["InstallConfig"]), "Kind of this file; usually left out."),
    field("metadata", Kind::Map(METADATA), "Names the cluster.").required(),
    field("baseDomain", Kind::Text(&syntax::DOMAIN), "The domain below which the cluster's domain is.")
        .required()
        .seen_as("cluster.baseDomain"),
    field("networking", Kind::Map(NETWORKING), "Networks of machines, pods and services."),
    field("controlPlane", Kind::Map(CONTROL_PLANE), "How many masters."),
    field("compute", Kind::List(COMPUTE), "How many workers."),
    refused("arbiter", "arbiter nodes are not supported: use 1, 3, 4 or 5 masters"),
    field(
        "platform",
        Kind::Map(platform::FIELDS),
        "Where the cluster runs: `none`, `baremetal` or `external`; exactly one.",
    )
    .required(),
    field("pullSecret", Kind::Text(&syntax::PULL_SECRET), "Credentials of the registries.")
        .default_from(&[(File::Cluster, pull_secret::FILE)], |_, _| None)
        .secret()
        .seen_as("pullSecret"),
    field("sshKey", Kind::Lines(&syntax::SSH_KEYS), "Public keys of the user `core`, one a line.")
        .seen_as("sshKeys"),
    field("proxy", Kind::Map(PROXY), "The proxy to the outside."),
    nullable(
        "additionalTrustBundle",
        Kind::Text(&syntax::CERTIFICATES),
        "More certificate authorities to trust.",
    )
    .seen_as("trustBundle.certificates"),
    field(
        "additionalTrustBundlePolicy",
        choice(&["Proxyonly", "Always"]),
        "Whether the bundle is trusted only for the proxy.",
    )
    .default("Proxyonly")
    .seen_as("trustBundle.policy"),
    field("imageContentSources", Kind::List(MIRRORS), "Old name of imageDigestSources."),
    field("imageDigestSources", Kind::List(MIRRORS), "Mirrors of image repositories.")
        .formerly("imageContentSources")
        .seen_as("mirrors"),
    field(
        "publish",
        supported(&["External"], &["Internal", "Mixed"]),
        "Who can reach the cluster's endpoints.",
    )
    .default("External")
    .seen_as("publish"),
    field("fips", Kind::Bool, "FIPS mode on all nodes.").default("false").seen_as("fips"),
    field("cpuPartitioningMode", choice(&["None", "AllNodes"]), "Workload partitioning.")
        .default("None")
        .seen_as("cpuPartitioning"),
    refused("credentialsMode", CLOUD),
    field(
        "bootstrapInPlace",
        Kind::Map(BOOTSTRAP_IN_PLACE),
        "A single node bootstraps itself: cluster.yaml then lists one master, and no bootstrap node.",
    ),
    field("capabilities", Kind::Map(CAPABILITIES), "Which optional components are installed."),
    field(
        "featureSet",
        Kind::Choice {
            values: &["", "Default", "TechPreviewNoUpgrade", "DevPreviewNoUpgrade", "CustomNoUpgrade", "OKD"],
            refused: &[],
            read: |text| Some(Scalar::Text(if text.is_empty() { "Default" } else { text }.to_owned())),
        },
        "Features beyond the default ones.",
    )
    .default("Default")
    .seen_as("featureSet"),
    field(
        "featureGates",
        Kind::Texts(&syntax::FEATURE_GATE),
        "Single gates; with featureSet CustomNoUpgrade only.",
    )
    .seen_as("featureGates"),
    refused("operatorPublishingStrategy", CLOUD),
    field(
        "osImageStream",
        choice(&["rhel-9", "rhel-10", "centos-10"]),
        "Which of the release's operating systems nodes get; from 4.22 on, with gate OSStreams. OKD has centos-10 only, from 4.23 on.",
    )
    .seen_as("osImageStream"),
    refused("pki", "set `pki` in cluster.yaml"),
];

const BOOTSTRAP_IN_PLACE: &[Row] = &[field(
    "installationDisk",
    Kind::Text(&syntax::DEVICE),
    "The disk that the node is installed to: the default of its `installDevice` in cluster.yaml.",
)];

const METADATA: &[Row] = &[
    field("name", Kind::Text(&syntax::NAME), "First label of the cluster's domain.")
        .required()
        .seen_as("cluster.name"),
    refused("annotations", "they reach no artifact: remove them"),
    refused("labels", "they reach no artifact: remove them"),
    refused("namespace", "it reaches no artifact: remove it"),
    refused("creationTimestamp", "it reaches no artifact: remove it"),
];

const NETWORKING: &[Row] = &[
    field(
        "networkType",
        supported(&["OVNKubernetes"], &["OpenShiftSDN", "Calico", "Cilium", "Kuryr"]),
        "The pod network.",
    )
    .formerly("type")
    .default("OVNKubernetes")
    .seen_as("networks.type"),
    field("machineNetwork", Kind::List(MACHINE_NETWORK), "Networks of the nodes and VIPs.").not_empty(),
    field("clusterNetwork", Kind::List(CLUSTER_NETWORK), "Networks of the pods.").not_empty(),
    field("serviceNetwork", Kind::Texts(&syntax::NETWORK), "Networks of the services.").not_empty(),
    field("ovnKubernetesConfig", Kind::Map(OVN), "Internal networks of OVN-Kubernetes."),
    refused("clusterNetworkMTU", "the MTU follows the nodes' interfaces"),
    field("type", supported(&["OVNKubernetes"], &["OpenShiftSDN"]), "Old name of networkType."),
    field("machineCIDR", Kind::Text(&syntax::NETWORK), "Old form of machineNetwork."),
    field("serviceCIDR", Kind::Text(&syntax::NETWORK), "Old form of serviceNetwork."),
    field("clusterNetworks", Kind::List(CLUSTER_NETWORK), "Old name of clusterNetwork."),
];

const MACHINE_NETWORK: &[Row] = &[field("cidr", Kind::Text(&syntax::NETWORK), "The network.").required()];

const CLUSTER_NETWORK: &[Row] = &[
    field("cidr", Kind::Text(&syntax::NETWORK), "The network.").required(),
    field("hostPrefix", Kind::Int { min: 1, max: 128 }, "Prefix length of each node's part."),
    field(
        "hostSubnetLength",
        Kind::Int { min: 1, max: 128 },
        "Old form of hostPrefix: address bits of each node's part.",
    ),
];

const OVN: &[Row] = &[field("ipv4", Kind::Map(OVN_IPV4), "Of IPv4.")];
const OVN_IPV4: &[Row] =
    &[nullable("internalJoinSubnet", Kind::Text(&syntax::NETWORK), "The network that joins OVN's routers.")
        .seen_as("networks.internalJoinSubnet")];

/// The fields of a machine pool: its name, and why there is no fencing.
macro_rules! pool {
    ($name:expr, $fencing:literal) => {
        &[
            $name,
            field(
                "replicas",
                Kind::Int { min: 0, max: 10_000 },
                "How many machines; must agree with the nodes of cluster.yaml.",
            ),
            field("architecture", Architecture::KIND, "Instruction set of the pool's machines."),
            field(
                "hyperthreading",
                supported(&["Enabled"], &["Disabled"]),
                "Simultaneous multithreading of the pool's machines.",
            ),
            field("platform", Kind::Map(platform::POOL_FIELDS), "Empty, but for `baremetal: {}`."),
            refused("fencing", $fencing),
            refused("diskSetup", "give the nodes their disks with a MachineConfig manifest"),
            refused("management", CLOUD),
            refused("osImageStream", OS),
        ]
    };
}

const CONTROL_PLANE: &[Row] = pool!(
    field("name", choice(&["master"]), "Always `master`."),
    "two-node clusters are not supported: use 1, 3, 4 or 5 masters"
);
const COMPUTE: &[Row] = pool!(
    field("name", supported(&["worker"], &["edge"]), "Always `worker`.").required(),
    "it concerns control planes of two nodes"
);

const PROXY: &[Row] = &[
    nullable("httpProxy", Kind::Text(&syntax::PROXY), "Proxy of http requests.").seen_as("proxy.httpProxy"),
    nullable("httpsProxy", Kind::Text(&syntax::PROXY), "Proxy of https requests.")
        .seen_as("proxy.httpsProxy"),
    nullable(
        "noProxy",
        Kind::Text(&syntax::NO_PROXY),
        "Comma-separated domains and networks that need no proxy.",
    )
    .seen_as("proxy.noProxy"),
];

const MIRRORS: &[Row] = &[
    field("source", Kind::Text(&syntax::REPOSITORY), "The repository as images name it.")
        .required()
        .seen_as("source"),
    nullable("mirrors", Kind::Texts(&syntax::REPOSITORY), "Where else its images are.").seen_as("mirrors"),
    nullable(
        "sourcePolicy",
        SourcePolicy::KIND,
        "Whether the source itself is asked when no mirror answers.",
    )
    .seen_as("sourcePolicy"),
];

const CAPABILITIES: &[Row] = &[
    nullable(
        "baselineCapabilitySet",
        choice(&[
            "None", "vCurrent", "v4.11", "v4.12", "v4.13", "v4.14", "v4.15", "v4.16", "v4.17", "v4.18",
            "v4.19", "v4.20", "v4.21", "v4.22",
        ]),
        "The set to start from.",
    )
    .seen_as("capabilities.baselineCapabilitySet"),
    nullable("additionalEnabledCapabilities", Kind::Texts(&syntax::TEXT), "Components beyond that set.")
        .seen_as("capabilities.additionalEnabledCapabilities"),
];
