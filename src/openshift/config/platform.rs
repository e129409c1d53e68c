//! Which platform a cluster is on, and what follows from that. Nothing else in the code assumes one.
//!
//! | what it decides | `none` |
//! |---|---|
//! | `platform` in install-config | `none: {}`; pools have no fields of their own |
//! | `type` of the Infrastructure resource, which operators and the machine-config operator's templates follow | `None` |
//! | who answers at the VIPs, and who creates machines | not the cluster: the user, or `realize` for them |
//!
//! Recipes see it as `platform.{name,type}`, and may depend on it: `when = "platform = none"`. To add a platform: a variant
//! here, its rows below, and recipes with that condition for whatever differs.

use super::fragment::Fragment;
use super::spec::{Kind, Row, field, refused};

/// The platforms that tinderbox builds clusters for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Platform {
    /// No integration at all.
    None,
}

pub(super) const ONLY_NONE: &str = "tinderbox builds clusters for `platform: {none: {}}`";

/// The fields of a platform map: `own` ones, and every platform that only the installer builds for.
macro_rules! platforms {
    ($($own:expr),*) => {
        &[
            $($own,)*
            refused("alibabacloud", ONLY_NONE),
            refused("aws", ONLY_NONE),
            refused("azure", ONLY_NONE),
            refused("baremetal", ONLY_NONE),
            refused("external", ONLY_NONE),
            refused("gcp", ONLY_NONE),
            refused("ibmcloud", ONLY_NONE),
            refused("libvirt", ONLY_NONE),
            refused("nutanix", ONLY_NONE),
            refused("openstack", ONLY_NONE),
            refused("ovirt", ONLY_NONE),
            refused("powervc", ONLY_NONE),
            refused("powervs", ONLY_NONE),
            refused("vsphere", ONLY_NONE),
        ]
    };
}

/// The fields of `platform`, of which one is given.
pub(super) const FIELDS: &[Row] =
    platforms!(field("none", Kind::Map(&[]), "No platform integration: `none: {}`."));
pub(super) const POOL_FIELDS: &[Row] = platforms!();

impl Platform {
    const ALL: [Self; 1] = [Self::None];

    /// The one that install-config names, if it is one of ours.
    pub(super) fn of(install: &Fragment) -> Option<Self> {
        Self::ALL.into_iter().find(|platform| install.given.at(&platform.field()).is_some())
    }

    /// As in install-config.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::None => "none",
        }
    }

    /// As in the Infrastructure resource.
    pub(crate) fn infrastructure_type(self) -> &'static str {
        match self {
            Self::None => "None",
        }
    }

    /// Where install-config says so.
    pub(super) fn field(self) -> String {
        format!("platform.{}", self.name())
    }
}
