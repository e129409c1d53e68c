//! Whether the host can run machines of the wanted architecture: with KVM or emulated, and with the firmware they boot from.

use super::connection::{Connection, message};
use super::definitions::Definitions;
use super::xml::Element;
use crate::realize::Result;
use crate::realize::obstacles::{Obstacle, obstacle};

/// Why the host cannot run the wanted machines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Incapable {
    /// libvirt refuses machines of this kind.
    Machine {
        /// As libvirt names it, `aarch64`.
        architecture: String,
        /// The host's own.
        host: String,
        /// `kvm` or `qemu`.
        domain_type: String,
        error: String,
    },
    /// There is an emulator, but nothing to boot its machines with.
    Firmware { architecture: String, firmware: String },
}

/// Asks libvirt about the machines. All of a cluster are of one kind.
pub(super) fn incapable(connection: Connection<'_>, desired: &Definitions) -> Result<Option<Incapable>> {
    let Some(machine) = desired.machines.first() else { return Ok(None) };
    let domain = &machine.domain.definition.xml;
    let domain_type = domain.attribute("type");
    let kind = domain.at("os/type");
    let of = |name: &str| kind.map(|kind| kind.attribute(name)).unwrap_or_default();
    let (architecture, machine) = (of("arch"), of("machine"));
    let wanted = ["--virttype", domain_type, "--arch", architecture, "--machine", machine];
    let output = connection.run(&[["domcapabilities"].as_slice(), &wanted].concat())?;
    let architecture = architecture.to_owned();
    if !output.is_success() {
        let host = Element::parse("capabilities", &connection.query(&["capabilities"])?)?;
        return Ok(Some(Incapable::Machine {
            architecture,
            host: host.text_at("host/cpu/arch").to_owned(),
            domain_type: domain_type.to_owned(),
            error: message(&output),
        }));
    }
    let firmware = domain.at("os").map(|os| os.attribute("firmware")).unwrap_or_default();
    let known = Element::parse("domcapabilities", &output.text())?;
    let has_firmware = firmware.is_empty() || firmwares(&known).any(|known| known == firmware);
    Ok((!has_firmware).then(|| Incapable::Firmware { architecture, firmware: firmware.to_owned() }))
}

/// The kinds of firmware that libvirt finds for a machine.
fn firmwares(known: &Element) -> impl Iterator<Item = &str> {
    let enums = known.at("os").into_iter().flat_map(|os| os.all("enum"));
    enums
        .filter(|one| one.attribute("name") == "firmware")
        .flat_map(|one| one.all("value"))
        .map(|value| value.text.as_str())
}

impl Incapable {
    pub(super) fn obstacle(&self) -> Obstacle {
        match self {
            Self::Machine { architecture, host, domain_type, error } => {
                let message =
                    format!("the host cannot run {architecture} machines of type `{domain_type}`: {error}");
                let emulate = "set `libvirt.domainType: qemu` in cluster.yaml, which emulates, and is slow";
                let hint = match domain_type.as_str() {
                    "kvm" if host == architecture => {
                        format!("enable virtualisation in the firmware and load the kvm module; or {emulate}")
                    }
                    "kvm" => format!(
                        "KVM runs machines of the host's own architecture, {host}: use another host; or {emulate}"
                    ),
                    _ => format!("install the emulator: {}", packages(architecture).0),
                };
                let kind = if domain_type == "kvm" { "kvm" } else { "emulator" };
                obstacle(kind, message, hint)
            }
            Self::Firmware { architecture, firmware } => {
                let message = format!("the host has no firmware `{firmware}` for {architecture} machines");
                obstacle("firmware", message, format!("install it: {}", packages(architecture).1))
            }
        }
    }
}

/// Emulator and firmware, as distributions package them.
fn packages(architecture: &str) -> (String, String) {
    match architecture {
        "aarch64" => (
            "qemu-system-arm (Debian), qemu-system-aarch64 (Fedora)".to_owned(),
            "qemu-efi-aarch64 (Debian), edk2-aarch64 (Fedora, RHEL)".to_owned(),
        ),
        "x86_64" => ("qemu-system-x86".to_owned(), "ovmf (Debian), edk2-ovmf (Fedora, RHEL)".to_owned()),
        other => (format!("qemu-system for {other}"), format!("UEFI for {other}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn firmware_is_found_by_its_kind() {
        let known = |values: &str| {
            let text = format!(
                "<domainCapabilities><os supported='yes'><enum name='firmware'>{values}</enum>\
                 <loader supported='yes'><enum name='type'><value>rom</value></enum></loader></os></domainCapabilities>"
            );
            firmwares(&Element::parse("test", &text).unwrap()).map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(known("<value>bios</value><value>efi</value>"), ["bios", "efi"]);
        assert_eq!(known(""), [""; 0]);
    }

    #[test]
    fn the_hint_fits_the_host() {
        let machine = |architecture: &str, domain_type: &str| {
            let [architecture, host, domain_type, error] =
                [architecture, "x86_64", domain_type, "no"].map(str::to_owned);
            Incapable::Machine { architecture, host, domain_type, error }.obstacle().hint
        };
        assert!(machine("x86_64", "kvm").contains("load the kvm module"));
        assert!(machine("aarch64", "kvm").contains("the host's own architecture, x86_64"));
        assert!(machine("aarch64", "qemu").contains("qemu-system-arm"));
    }
}
