//! Machines of another architecture: what the host needs for them, and that its firmware starts on what we define.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use super::{Libvirt, small};
use crate::harness::{Workspace, left_out};

/// A single node for arm64, and its bootstrap node.
fn arm64() -> Workspace {
    let ws = small();
    ws.without_workers(1);
    ws.arm64();
    ws.relock();
    ws.build(&[]);
    ws
}

/// The errors of a plan, which must fail.
fn errors(ws: &Workspace, before: &str) -> Option<String> {
    let libvirt = Libvirt::start_after("machines of another architecture", before)?;
    let text = libvirt.run(ws, &["realize", "plan", "-q"]);
    Some(text.split_once("[stderr]\n").map(|(_, errors)| errors.to_owned()).unwrap_or(text))
}

#[test]
fn a_host_without_emulator_or_firmware_is_told_so() {
    let ws = arm64();
    let hidden = "for emulator in /usr/bin/qemu-system-aarch64 /usr/bin/qemu-kvm; do [ ! -e $emulator ] || mount --bind /dev/null $emulator; done";
    let Some(told) = errors(&ws, hidden) else { return };
    insta::assert_snapshot!(told, @"
    error: the host cannot run aarch64 machines of type `qemu`: failed to get emulator capabilities; unsupported configuration: unable to find any emulator to serve 'aarch64' architecture
    hint: install the emulator: qemu-system-arm (Debian), qemu-system-aarch64 (Fedora)
    [exit 1]
    ");
    if !Path::new("/usr/bin/qemu-system-aarch64").exists() {
        return left_out("a host without firmware", "qemu-system-aarch64, of Debian's qemu-system-arm");
    }
    let told = errors(&ws, "mount -t tmpfs tinderbox /usr/share/qemu/firmware; mkdir -p /etc/qemu && mount -t tmpfs tinderbox /etc/qemu").unwrap();
    insta::assert_snapshot!(told, @"
    error: the host has no firmware `efi` for aarch64 machines
    hint: install it: qemu-efi-aarch64 (Debian), edk2-aarch64 (Fedora, RHEL)
    [exit 1]
    ");
}

/// Everything is made and recognised again, the firmware starts and writes to the console, and nothing of it stays.
#[test]
fn a_machine_of_another_architecture_starts() {
    for (file, package) in
        [("/usr/bin/qemu-system-aarch64", "qemu-system-arm"), ("/usr/share/AAVMF", "qemu-efi-aarch64")]
    {
        if !Path::new(file).exists() {
            return left_out("an arm64 machine", &format!("{file}, of Debian's {package}"));
        }
    }
    let Some(libvirt) = Libvirt::start("an arm64 machine") else { return };
    let ws = arm64();
    let applied = libvirt.run(&ws, &["realize", "apply", "-q", "--no-wait"]);
    assert!(applied.contains("[exit 0]"), "{applied}");
    let plan = libvirt.run(&ws, &["realize", "plan", "-q", "--json"]);
    assert!(!plan.contains("\"action\": \"create\"") && !plan.contains("\"action\": \"replace\""), "{plan}");
    let console = ws.temp().join("pool/master-0.log");
    let end = Instant::now() + Duration::from_secs(300);
    while !fs::read_to_string(&console).unwrap_or_default().contains("UEFI firmware") {
        assert!(Instant::now() < end, "{:?}", fs::read_to_string(&console));
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(!libvirt.sh("ls /var/lib/libvirt/qemu/nvram").is_empty());
    let destroyed = libvirt.run(&ws, &["realize", "destroy", "-q", "--yes"]);
    assert!(destroyed.contains("[exit 0]"), "{destroyed}");
    assert_eq!(libvirt.sh("ls /var/lib/libvirt/qemu/nvram"), "");
}
