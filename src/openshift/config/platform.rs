//! The platform of a cluster, and what depends on it. Nothing else in the code assumes a platform.
//!
//! | determines | `none` | `baremetal` | `external` |
//! |---|---|---|---|
//! | `platform` in install-config | `none: {}` | VIPs, load balancer; see [`FIELDS`] | name, cloud controller manager |
//! | `type` of the Infrastructure resource, which operators and MCO's templates follow | `None` | `BareMetal` | `External` |
//! | where the VIPs are written | `vips` in cluster.yaml | install-config | `vips` in cluster.yaml |
//! | who holds the VIPs | the user, or `realize` | the nodes, unless `loadBalancer` says otherwise | the user, or `realize` |
//! | who creates machines | the user, or `realize` | the same: no Ironic, no provisioning network | the same |
//!
//! Recipes see it as `platform.{name,type,loadBalancer,platformName,cloudControllerManager}`, and may depend on it:
//! `when = "platform = none"`, `when = "loadBalancer = UserManaged"`. To add a platform: a variant here, its rows below,
//! and recipes with that condition for whatever differs.

use std::net::IpAddr;

use super::files::File;
use super::fragment::{Fragment, join};
use super::inputs::Inputs;
use super::spec::{Kind, Row, choice, field, refused, supported};
use super::syntax;
use crate::base::hint::Problems;

/// The platforms that tinderbox builds clusters for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Platform {
    /// No integration at all.
    None,
    /// The nodes hold the VIPs.
    BareMetal,
    /// A cloud that OpenShift does not know: integration comes with the user's manifests.
    External,
}

pub(super) const SUPPORTED: &str =
    "tinderbox builds clusters for the platforms `none: {}`, `baremetal` and `external`";

/// The fields of a platform map: `own` ones, and every platform that only the installer supports.
macro_rules! platforms {
    ($($own:expr),*) => {
        &[
            $($own,)*
            refused("alibabacloud", SUPPORTED),
            refused("aws", SUPPORTED),
            refused("azure", SUPPORTED),
            refused("gcp", SUPPORTED),
            refused("ibmcloud", SUPPORTED),
            refused("libvirt", SUPPORTED),
            refused("nutanix", SUPPORTED),
            refused("openstack", SUPPORTED),
            refused("ovirt", SUPPORTED),
            refused("powervc", SUPPORTED),
            refused("powervs", SUPPORTED),
            refused("vsphere", SUPPORTED),
        ]
    };
}

/// The fields of `platform`, of which exactly one must be set.
pub(super) const FIELDS: &[Row] = platforms!(
    field("none", Kind::Map(&[]), "No platform integration: `none: {}`."),
    field("baremetal", Kind::Map(BAREMETAL), "The nodes hold the VIPs, with keepalived and HAProxy."),
    field("external", Kind::Map(EXTERNAL), "A cloud whose integration comes with your own manifests.")
);
/// The fields of `platform` in a machine pool.
pub(super) const POOL_FIELDS: &[Row] = platforms!(
    field("baremetal", Kind::Map(&[]), "Always empty: `baremetal: {}`."),
    refused("external", "pools of this platform have no fields: remove it")
);

/// New and old names of the fields with the VIPs.
pub(super) const API_VIPS: [&str; 2] = ["platform.baremetal.apiVIPs", "platform.baremetal.apiVIP"];
pub(super) const INGRESS_VIPS: [&str; 2] =
    ["platform.baremetal.ingressVIPs", "platform.baremetal.ingressVIP"];

const LOAD_BALANCER: &str = "platform.baremetal.loadBalancer.type";
const MANAGED: &str = "OpenShiftManagedDefault";
const UNMANAGED: &str = "UserManaged";
/// A single node at its own addresses. No word of the Infrastructure resource: platform `baremetal` has no such cluster.
pub(super) const NO_BALANCER: &str = "None";

const NO_IRONIC: &str = "tinderbox does not provision machines with Ironic: you boot them, or `realize` does";
const NO_NETWORK: &str = "there is no provisioning network: remove it";
const OUR_BOOTSTRAP: &str = "the bootstrap node is the one with `role: bootstrap` in cluster.yaml";
const OUR_IMAGES: &str = "the operating system is the one of the release, or `rhcos` in cluster.yaml";

const BAREMETAL: &[Row] = &[
    field("apiVIPs", Kind::Texts(&syntax::ADDRESS), "Address of the API, or one per IP family.").not_empty(),
    field("ingressVIPs", Kind::Texts(&syntax::ADDRESS), "Address of all routes, or one per IP family.")
        .not_empty(),
    field("apiVIP", Kind::Text(&syntax::ADDRESS), "Old name of apiVIPs, for one address."),
    field("ingressVIP", Kind::Text(&syntax::ADDRESS), "Old name of ingressVIPs, for one address."),
    field(
        "provisioningNetwork",
        supported(&["Disabled"], &["Managed", "Unmanaged"]),
        "Always `Disabled`, also if left out: nothing provisions machines through a network of its own.",
    ),
    field("loadBalancer", Kind::Map(BALANCER), "Who serves the VIPs."),
    refused(
        "hosts",
        "machines are the `nodes` of cluster.yaml; no BMC is contacted, so no credentials are needed",
    ),
    refused("defaultMachinePlatform", "pools have no fields on this platform: remove it"),
    refused("dnsRecordsType", "the nodes always answer for api, api-int and *.apps: remove it"),
    refused(
        "additionalNTPServers",
        "give nodes their time servers with a MachineConfig manifest (chrony.conf)",
    ),
    refused("bmcVerifyCA", NO_IRONIC),
    refused("libvirtURI", "set `libvirt.uri` in cluster.yaml"),
    refused("externalBridge", "set `libvirt.bridge` in cluster.yaml"),
    refused("externalMACAddress", "set `mac` of the bootstrap node in cluster.yaml"),
    refused("bootstrapOSImage", OUR_IMAGES),
    refused("clusterOSImage", OUR_IMAGES),
    refused("bootstrapExternalStaticIP", OUR_BOOTSTRAP),
    refused("bootstrapExternalStaticGateway", OUR_BOOTSTRAP),
    refused("bootstrapExternalStaticDNS", OUR_BOOTSTRAP),
    refused("clusterProvisioningIP", NO_IRONIC),
    refused("provisioningHostIP", NO_IRONIC),
    refused("bootstrapProvisioningIP", NO_IRONIC),
    refused("provisioningBridge", NO_NETWORK),
    refused("provisioningMACAddress", NO_NETWORK),
    refused("provisioningNetworkInterface", NO_NETWORK),
    refused("provisioningNetworkCIDR", NO_NETWORK),
    refused("provisioningNetworkGateway", NO_NETWORK),
    refused("provisioningDHCPExternal", NO_NETWORK),
    refused("provisioningDHCPRange", NO_NETWORK),
];

const BALANCER: &[Row] = &[field(
    "type",
    choice(&[MANAGED, UNMANAGED]),
    "`OpenShiftManagedDefault`: keepalived and HAProxy on the nodes, the default. `UserManaged`: a load balancer outside.",
)];

const EXTERNAL: &[Row] = &[
    field("platformName", Kind::Text(&syntax::TEXT), "What the cloud is called, for reports; by default `Unknown`.")
        .default("Unknown")
        .seen_as("platform.platformName"),
    field(
        "cloudControllerManager",
        choice(&["", "External"]),
        "`External` if a cloud controller manager comes with your manifests: nodes take no pods before it has \
         initialized them.",
    )
    .default("")
    .seen_as("platform.cloudControllerManager"),
];

impl Platform {
    const ALL: [Self; 3] = [Self::None, Self::BareMetal, Self::External];

    /// The platform in install-config, if it is supported.
    pub(super) fn of(install: &Fragment) -> Option<Self> {
        Self::ALL.into_iter().find(|platform| install.given.at(&platform.field()).is_some())
    }

    /// As in install-config.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::BareMetal => "baremetal",
            Self::External => "external",
        }
    }

    /// As in the Infrastructure resource.
    pub(crate) fn infrastructure_type(self) -> &'static str {
        match self {
            Self::None => "None",
            Self::BareMetal => "BareMetal",
            Self::External => "External",
        }
    }

    /// The field that selects it in install-config.
    pub(super) fn field(self) -> String {
        format!("platform.{}", self.name())
    }
}

/// Where a cluster's VIPs are written: the names of a field, of which the first is the current one.
pub(super) fn vip_fields(install: &Fragment) -> (File, [[&'static str; 2]; 2]) {
    match Platform::of(install) {
        Some(Platform::BareMetal) => (File::Install, [API_VIPS, INGRESS_VIPS]),
        _ => (File::Cluster, [["vips.api"; 2], ["vips.ingress"; 2]]),
    }
}

/// Who serves the VIPs, in the words of the Infrastructure resource.
pub(super) fn load_balancer(install: &Fragment) -> &'static str {
    let unmanaged = install.text(LOAD_BALANCER) == Some(UNMANAGED);
    match Platform::of(install) {
        Some(Platform::BareMetal) if !unmanaged => MANAGED,
        _ => UNMANAGED,
    }
}

/// Exactly one platform is named. One that tinderbox does not build for is on record already.
pub(super) fn one(inputs: &Inputs<'_>, problems: &mut Problems) {
    let named: Vec<&str> =
        FIELDS.iter().map(|row| row.name).filter(|name| inputs.wrote(&join("platform", name))).collect();
    match named.as_slice() {
        [] if inputs.wrote("platform") => {
            inputs.install.report(problems, "platform", "no platform is given", SUPPORTED);
        }
        [first, second, ..] => {
            let message = format!("cannot be given together with `{first}`");
            inputs.install.report(problems, &join("platform", second), message, "a cluster has one platform");
        }
        _ => {}
    }
    let Some(platform) = Platform::of(inputs.install) else { return };
    for pool in ["controlPlane", "compute.worker"] {
        let field = format!("{pool}.platform.baremetal");
        if platform != Platform::BareMetal && inputs.wrote(&field) {
            let message = format!("the cluster's platform is `{}`", platform.name());
            inputs.install.report(problems, &field, message, "remove it");
        }
    }
}

/// VIPs are given once: in install-config where the platform has fields for them, else in cluster.yaml.
pub(super) fn vips(inputs: &Inputs<'_>, problems: &mut Problems) {
    let Inputs { install, cluster, .. } = inputs;
    if Platform::of(install) != Some(Platform::BareMetal) {
        if inputs.wrote("platform") && !cluster.wrote("vips") && inputs.in_place().is_none() {
            cluster.report(problems, "vips", "required, but missing", "add `vips: {api: …, ingress: …}`");
        }
        return;
    }
    for ([new, old], ours, values) in
        [(API_VIPS, "vips.api", &inputs.api), (INGRESS_VIPS, "vips.ingress", &inputs.ingress)]
    {
        match (inputs.wrote(new), inputs.wrote(old)) {
            (false, false) => {
                let hint = "for example: [192.168.126.10]";
                install.report(problems, new, "required, but missing", hint);
            }
            (true, true) => {
                let hint = "remove it: it is the old name";
                install.report(problems, old, format!("cannot be given together with `{new}`"), hint);
            }
            _ => {}
        }
        let theirs: Vec<IpAddr> = values.iter().map(|at| at.value).collect();
        if cluster.wrote(ours) && cluster.given.all::<IpAddr>(ours) != theirs {
            let message = format!("differs from `{new}` of install-config");
            cluster.report(problems, ours, message, "remove `vips`: they are taken from install-config");
        }
    }
    if inputs.api.len() != inputs.ingress.len() && !inputs.api.is_empty() && !inputs.ingress.is_empty() {
        let message =
            format!("as many as `apiVIPs` are needed: {}, not {}", inputs.api.len(), inputs.ingress.len());
        install.report(problems, INGRESS_VIPS[0], message, "give both one address per family");
    }
}

/// One master cannot take over a VIP from another.
pub(super) fn masters(inputs: &Inputs<'_>, problems: &mut Problems) {
    let single = inputs.masters.as_ref().is_some_and(|masters| masters.value == 1);
    if single && Platform::of(inputs.install) == Some(Platform::BareMetal) {
        let message = "a single node has no VIPs that could move";
        let hint = "use `platform: {none: {}}` for one master, as the installer requires";
        inputs.install.report(problems, "platform.baremetal", message, hint);
    }
}
