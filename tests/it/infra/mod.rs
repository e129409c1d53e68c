//! What stands around the cluster: machines, networks, the load balancer, the firewall.

mod host;

use std::fs;

use crate::harness::Workspace;

/// A machine's whole description, in both ways to boot it.
#[test]
fn a_machine_boots_from_its_iso_or_from_the_image() {
    let ws = Workspace::example().prebuilt();
    ws.build(&["infra/master-0"]);
    let ignition = fs::read_to_string(ws.path_of("ignition-id/master-0").join("master-0")).unwrap();
    let read = || {
        let text = fs::read_to_string(ws.path_of("infra/master-0").join("master-0.xml")).unwrap();
        text.replace(&ignition, "[IGNITION]").replace(&ignition[..16], "[IGNITION:16]")
    };
    insta::assert_snapshot!(read(), @r#"
    <domain type="kvm">
      <name>ocp4-cv5ll-master-0</name>
      <uuid>54f36532-ff31-42e9-beb0-7a867138d54f</uuid>
      <title>master-0.ocp4.example.com</title>
      <metadata>
        <!-- By this `tinderbox realize` knows what it made, and from which Ignition. -->
        <tinderbox:node xmlns:tinderbox="urn:tinderbox:node:1" cluster="7d19298e-a688-456c-8d4e-678c386d3998" name="master-0" role="master" ignition="[IGNITION]" image="" disk="100"/>
      </metadata>
      <memory unit="KiB">16777216</memory>
      <vcpu>4</vcpu>
      <os>
        <type arch="x86_64" machine="q35">hvm</type>
        <!-- An empty disk cannot be booted from: the live ISO is, once, and installs to it. -->
        <boot dev="hd"/>
        <boot dev="cdrom"/>
      </os>
      <features>
        <acpi/>
      </features>
      <cpu mode="host-passthrough"/>
      <clock offset="utc"/>
      <on_poweroff>destroy</on_poweroff>
      <on_reboot>restart</on_reboot>
      <on_crash>restart</on_crash>
      <devices>
        <disk type="file" device="disk">
          <driver name="qemu" type="qcow2" discard="unmap"/>
          <source file="/var/lib/libvirt/images/ocp4/master-0.qcow2"/>
          <target dev="vda" bus="virtio"/>
        </disk>
        <disk type="file" device="cdrom">
          <driver name="qemu" type="raw"/>
          <source file="/var/lib/libvirt/images/ocp4/master-0-[IGNITION:16]-none.iso"/>
          <target dev="sdb" bus="sata"/>
          <readonly/>
        </disk>
        <interface type="network">
          <mac address="52:54:00:70:8e:50"/>
          <source network="ocp4"/>
          <model type="virtio"/>
        </interface>
        <!-- `virsh console` for people; the file is what `tinderbox realize logs` shows. -->
        <serial type="pty">
          <log file="/var/lib/libvirt/images/ocp4/master-0.log" append="on"/>
        </serial>
        <rng model="virtio">
          <backend model="random">/dev/urandom</backend>
        </rng>
      </devices>
    </domain>
    "#);
    let lock = fs::read_to_string(ws.dir.join("cluster.lock")).unwrap();
    let sha256 = "ab".repeat(32);
    let cluster = fs::read_to_string(ws.dir.join("cluster.yaml")).unwrap();
    ws.write("cluster.yaml", &(cluster + "rhcos: {qcow2: rhcos.qcow2}\n"));
    ws.write(
        "cluster.lock",
        &format!("{lock}[rhcos.qcow2]\nlocation = \"rhcos.qcow2\"\nsha256 = \"{sha256}\"\n"),
    );
    ws.build(&["infra/master-0"]);
    let text = read();
    assert!(!text.contains(".iso") && !text.contains("cdrom"), "{text}");
    let entry = "<entry name=\"opt/com.coreos/config\" file=\"/var/lib/libvirt/images/ocp4/master-0-[IGNITION:16].ign\"/>";
    assert!(text.contains(entry), "{text}");
}

/// What identifies a machine comes out of the seed: another seed gives other machines, another Ignition the same ones.
#[test]
fn machines_are_recognised() {
    let ws = Workspace::example().prebuilt();
    let facts = || {
        ws.build(&["infra/worker-0", "infra/network", "infra/pool"]);
        let read = |name: &str, file: &str| fs::read_to_string(ws.path_of(name).join(file)).unwrap();
        let line =
            |text: &str, word: &str| text.lines().find(|line| line.contains(word)).unwrap().trim().to_owned();
        let machine = read("infra/worker-0", "worker-0.xml");
        let identity = [
            line(&machine, "<name>"),
            line(&machine, "<uuid>"),
            line(&machine, "<mac "),
            line(&read("infra/network", "network.xml"), "<uuid>"),
            line(&read("infra/pool", "pool.xml"), "<uuid>"),
        ];
        (identity, line(&machine, "<tinderbox:node"))
    };
    let (before, mark) = facts();
    ws.edit(
        "install-config.yaml",
        "# sshKey: ssh-ed25519 AAAA… you@example.com",
        "sshKey: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA me",
    );
    let (after, other) = facts();
    assert_eq!(before, after);
    assert_ne!(mark, other, "another Ignition");
    ws.write_seed(&[8; 32]);
    let (reseeded, _) = facts();
    assert!(before.iter().zip(&reseeded).all(|(one, other)| one != other), "{before:?} {reseeded:?}");
}
