//! The marker in a domain's metadata: which cluster and node a machine belongs to, and what it was installed from.
//!
//! Invariant: a machine without this cluster's marker is never changed.

use super::xml::Element;

/// The XML namespace of the marker.
const NAMESPACE: &str = "urn:tinderbox:node:1";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Marker {
    pub(super) cluster: String,
    pub(super) node: String,
    pub(super) role: String,
    pub(super) ignition: String,
    pub(super) image: String,
    pub(super) disk: String,
}

impl Marker {
    pub(super) fn read(domain: &Element) -> Option<Self> {
        let metadata = &domain.at("metadata")?.children;
        let marker = metadata.iter().find(|one| one.name == "node" && one.namespace == NAMESPACE)?;
        let of = |name: &str| marker.attribute(name).to_owned();
        Some(Self {
            cluster: of("cluster"),
            node: of("name"),
            role: of("role"),
            ignition: of("ignition"),
            image: of("image"),
            disk: of("disk"),
        })
    }

    /// The name under which ssh keeps the host key: a reinstalled machine has a new key, so it gets a new name.
    pub(super) fn host_key_alias(&self) -> String {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || ".-".contains(c);
        let short =
            |text: &str| text.chars().take(16).map(|c| if is_plain(c) { c } else { '-' }).collect::<String>();
        let Self { node, ignition, image, disk, .. } = self;
        [node.as_str(), &short(ignition), &short(image), &short(disk)].join("_").to_lowercase()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reinstalled_machine_has_another_host_key() {
        let alias = |ignition: &str, image: &str| {
            let [cluster, node, role] = ["c", "master-0", "master"].map(str::to_owned);
            let [ignition, image, disk] = [ignition, image, "100"].map(str::to_owned);
            Marker { cluster, node, role, ignition, image, disk }.host_key_alias()
        };
        assert_eq!(alias("abc", "x y"), "master-0_abc_x-y_100");
        assert_ne!(alias("abc", "x"), alias("abd", "x"));
        assert_ne!(alias("abc", "x"), alias("abc", "y"));
    }
}
