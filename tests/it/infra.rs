//! What stands around the cluster, judged by the real programs that will read it.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::harness::{Workspace, is_root, left_out};

/// What makes a cluster of another kind out of the example.
type Change = fn(&Workspace);

/// What stands around clusters of every kind, built: `infra/` of each.
fn variants() -> Vec<(&'static str, Workspace)> {
    let all: [(&str, Change); 5] = [
        ("highly available", |_| {}),
        ("dual stack", Workspace::dual_stack),
        ("compact", |ws| ws.without_workers(3)),
        ("single node", |ws| ws.without_workers(1)),
        ("from the QEMU image, in a session, on another disk", |ws| {
            let lock = fs::read_to_string(ws.dir.join("cluster.lock")).unwrap();
            let sha256 = "ab".repeat(32);
            ws.write(
                "cluster.lock",
                &format!("{lock}[rhcos.qcow2]\nlocation = \"rhcos.qcow2\"\nsha256 = \"{sha256}\"\n"),
            );
            let libvirt = "\nlibvirt: {uri: 'qemu:///session', path: /home/core/ocp4, domainType: qemu}\n";
            let text = fs::read_to_string(ws.dir.join("cluster.yaml")).unwrap();
            let disk = text.replace("192.168.126.110}", "192.168.126.110, installDevice: /dev/sda}");
            ws.write("cluster.yaml", &(disk + libvirt));
        }),
    ];
    let build = |(name, change): (&'static str, Change)| {
        let ws = Workspace::example();
        change(&ws);
        ws.build(&["infra"]);
        (name, ws)
    };
    all.into_iter().map(build).collect()
}

/// Every artifact of the kind, by its derivation.
fn artifacts(ws: &Workspace) -> Vec<(String, std::path::PathBuf)> {
    let graph = ws.json(&["graph", "infra"]);
    let names =
        graph["derivations"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap().to_owned());
    names
        .filter(|name| name.starts_with("infra/"))
        .map(|name| {
            let only = fs::read_dir(ws.path_of(&name)).unwrap().next().unwrap().unwrap().path();
            (name, only)
        })
        .collect()
}

fn program(name: &str, package: &str, run: &mut Command) -> Option<(bool, String)> {
    match run.output() {
        Ok(output) => {
            let text = [output.stdout, output.stderr]
                .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
                .concat();
            Some((output.status.success(), text))
        }
        Err(_) => {
            left_out(name, package);
            None
        }
    }
}

/// HAProxy accepts both configurations, libvirt's own schemas all XML, and shellcheck the script, for every kind of cluster.
#[test]
fn real_programs_accept_what_they_will_read() {
    for (variant, ws) in variants() {
        let mut seen = 0;
        for (name, path) in artifacts(&ws) {
            let file = path.file_name().unwrap().to_str().unwrap();
            let schema = match name.as_str() {
                "infra/network" => "network",
                "infra/pool" => "storagepool",
                _ => "domain",
            };
            let judged = if file.ends_with(".cfg") {
                program("haproxy", "haproxy", Command::new("haproxy").arg("-c").arg("-f").arg(&path))
            } else if file.ends_with(".sh") {
                program("shellcheck", "shellcheck", Command::new("shellcheck").arg(&path))
            } else {
                let mut run = Command::new("virt-xml-validate");
                program("libvirt's schemas", "libvirt-clients", run.arg(&path).arg(schema))
            };
            let Some((good, text)) = judged else { continue };
            assert!(good, "{variant}: {name}: {text}");
            seen += 1;
        }
        let text = fs::read_to_string(ws.dir.join("cluster.yaml")).unwrap();
        let nodes = text.lines().filter(|line| line.starts_with("- {name:")).count();
        assert!(seen == 0 || seen == 5 + nodes, "{variant}: {seen} files of {nodes} nodes");
    }
}

/// A machine's whole description, in both ways to boot it.
#[test]
fn a_machine_boots_from_its_iso_or_from_the_image() {
    let ws = Workspace::example();
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
    let ws = Workspace::example();
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

/// The script opens once, says so, and takes back exactly what it did, in a network of its own.
#[test]
fn the_firewall_is_opened_once_and_closed_again() {
    if !is_root() {
        return left_out("firewall.sh", "root, for a network of its own");
    }
    let ws = Workspace::example();
    ws.dual_stack();
    ws.build(&["infra/firewall"]);
    let script = ws.path_of("infra/firewall").join("firewall.sh");
    let test = r#"
        command -v iptables >/dev/null || exit 77
        rules() { iptables-save; ip6tables-save; }
        iptables -P INPUT DROP; ip6tables -P INPUT DROP # and so that both have their tables
        rules | grep -v '^#' >before
        "$1" check >said && exit 1
        DRY_RUN=1 "$1" >commands
        rules | grep -v '^#' | cmp - before || exit 2
        "$1" && "$1" open && "$1" check || exit 3
        rules | grep -c -- '-j ACCEPT' >count
        "$1" close && "$1" close || exit 4
        rules | grep -v '^#' | cmp - before || exit 5
        "$1" shut; [ $? = 2 ] || exit 6
    "#;
    let mut command = ws.command_of(Path::new("unshare"), &["--net", "sh", "-c", test, "sh"]);
    let output = command.arg(&script).current_dir(ws.temp()).output().unwrap();
    if output.status.code() == Some(77) {
        return left_out("firewall.sh", "iptables, of Debian's iptables");
    }
    assert!(output.status.success(), "{}", ws.text(&output));
    let read = |file: &str| fs::read_to_string(ws.temp().join(file)).unwrap();
    insta::assert_snapshot!(read("commands"), @r"
    iptables -w -t filter -I INPUT -i virbr-ocp4 -d 192.168.126.10 -p tcp --dport 6443 -j ACCEPT
    iptables -w -t filter -I INPUT -i virbr-ocp4 -d 192.168.126.10 -p tcp --dport 22623 -j ACCEPT
    ip6tables -w -t filter -I INPUT -i virbr-ocp4 -d fd00:126::10 -p tcp --dport 6443 -j ACCEPT
    ip6tables -w -t filter -I INPUT -i virbr-ocp4 -d fd00:126::10 -p tcp --dport 22623 -j ACCEPT
    iptables -w -t filter -I INPUT -i virbr-ocp4 -d 192.168.126.11 -p tcp --dport 80 -j ACCEPT
    iptables -w -t filter -I INPUT -i virbr-ocp4 -d 192.168.126.11 -p tcp --dport 443 -j ACCEPT
    ip6tables -w -t filter -I INPUT -i virbr-ocp4 -d fd00:126::11 -p tcp --dport 80 -j ACCEPT
    ip6tables -w -t filter -I INPUT -i virbr-ocp4 -d fd00:126::11 -p tcp --dport 443 -j ACCEPT
    iptables -w -t filter -I FORWARD -s 192.168.126.0/24 -i virbr-ocp4 -j ACCEPT
    iptables -w -t filter -I FORWARD -d 192.168.126.0/24 -o virbr-ocp4 -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
    ip6tables -w -t filter -I FORWARD -s fd00:126::/64 -i virbr-ocp4 -j ACCEPT
    ip6tables -w -t filter -I FORWARD -d fd00:126::/64 -o virbr-ocp4 -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
    ");
    assert_eq!(read("said").lines().count(), read("commands").lines().count());
    assert_eq!(read("count").trim(), read("commands").lines().count().to_string());
}
