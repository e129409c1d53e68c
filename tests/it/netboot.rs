//! `pxe`: what machines boot from the network, as a directory that names no server, and who may read what in it.

use std::fs;

use crate::harness::{Workspace, mode, tree};
use tinderbox::internals::registry::Sha256;

/// The example with files in the place of the live system, which nothing here boots.
fn with_live_system() -> Workspace {
    let ws = Workspace::example().prebuilt();
    let text = fs::read_to_string(ws.dir.join("cluster.yaml")).unwrap();
    for file in ["vmlinuz", "initramfs.img", "rootfs.img"] {
        ws.write(file, file);
    }
    ws.write(
        "cluster.yaml",
        &(text + "\nrhcos: {kernel: vmlinuz, initramfs: initramfs.img, rootfs: rootfs.img}\n"),
    );
    ws.json(&["lock", "--update", "rhcos"]);
    ws
}

#[test]
fn every_address_of_a_node_has_its_script() {
    let ws = with_live_system();
    ws.edit(
        "cluster.yaml",
        "{name: worker-0, role: worker, ip: 192.168.126.110}",
        "{name: worker-0, role: worker, ip: 192.168.126.110, installDevice: /dev/sda, interfaces: [{name: a, macAddress: \
         '52:54:00:AA:00:01'}, {name: b, macAddress: '52:54:00:aa:00:02'}], networkConfig: {interfaces: [{name: bond0, type: \
         bond, state: up, link-aggregation: {mode: active-backup, port: [a, b]}, ipv4: {enabled: true, address: [{ip: \
         192.168.126.110, prefix-length: 24}]}}], dns-resolver: {config: {server: [192.168.126.1]}}, routes: {config: \
         [{destination: 0.0.0.0/0, next-hop-address: 192.168.126.1, next-hop-interface: bond0}]}}}",
    );
    ws.edit(
        "cluster.yaml",
        "role: worker, ip: 192.168.126.111",
        "role: worker, mac: '52:54:00:AA:00:0f', ip: 192.168.126.111",
    );
    let out = ws.temp().join("srv");
    ws.json(&["export", out.to_str().unwrap(), "pxe"]);
    let files: Vec<String> = tree(&out).into_keys().collect();
    let named = |start: &str, end: &str| {
        files.iter().filter(|file| file.starts_with(start) && file.ends_with(end)).count()
    };
    assert_eq!((named("mac-", ".ipxe"), named("ignition/", ".img"), named("dnsmasq.hosts/", "")), (7, 6, 6));
    for file in ["boot.ipxe", "dnsmasq.conf", "kernel", "initramfs.img", "rootfs.img"] {
        assert!(files.contains(&file.to_owned()), "{files:?}");
        assert_eq!(mode(&out.join(file)), 0o644, "{file}");
    }
    assert_eq!(mode(&out.join("ignition/worker-0.img")), 0o600);
    assert_eq!(fs::read_to_string(out.join("kernel")).unwrap(), "vmlinuz");
    let script = |mac: &str| fs::read_to_string(out.join(format!("mac-{mac}.ipxe"))).unwrap();
    assert_eq!(script("52-54-00-aa-00-01"), script("52-54-00-aa-00-02"));
    assert!(script("52-54-00-aa-00-0f").contains("initrd --name ignition.img ignition/worker-1.img"));
    insta::assert_snapshot!(script("52-54-00-aa-00-01"), @r"
    #!ipxe
    # worker-0: the live system, which installs it to /dev/sda without asking. Files are next to this script, whatever serves it.

    :again
    echo tinderbox: this machine becomes worker-0; /dev/sda is overwritten
    imgfree
    kernel kernel initrd=initramfs.img initrd=rootfs.img initrd=ignition.img ignition.firstboot ignition.platform.id=metal coreos.inst.install_dev=/dev/sda || goto failed
    initrd --name initramfs.img initramfs.img || goto failed
    initrd --name rootfs.img rootfs.img || goto failed
    # Its Ignition, with its secrets.
    initrd --name ignition.img ignition/worker-0.img || goto failed
    boot || goto failed

    :failed
    echo tinderbox: worker-0 cannot be booted; the next attempt is in 30 seconds
    sleep 30
    goto again
    ");
    insta::assert_snapshot!(fs::read_to_string(out.join("dnsmasq.hosts/worker-0")).unwrap(), @"52:54:00:aa:00:01,52:54:00:aa:00:02,set:tinderbox,192.168.126.110,worker-0");
    // The scripts are for everybody on that network to read, and say nothing that is secret.
    let public = files.iter().filter(|file| file.ends_with(".ipxe") || file.starts_with("dnsmasq"));
    for file in public {
        let text = fs::read_to_string(out.join(file)).unwrap();
        assert!(!text.contains("PRIVATE") && mode(&out.join(file)) == 0o644, "{file}");
    }
    // It is no part of `cluster`, and one node's edit is one node's.
    ws.build(&["pxe", "cluster"]);
    ws.edit("cluster.yaml", "installDevice: /dev/sda", "installDevice: /dev/sdb");
    assert_eq!(ws.build(&["pxe"]), ["machine/worker-0", "netboot/worker-0", "pxe"]);
}

#[test]
fn a_dual_stack_node_has_both_addresses_from_dhcp() {
    let ws = with_live_system();
    ws.dual_stack();
    ws.build(&["netboot/worker-0", "netboot-server/boot"]);
    let hosts = fs::read_to_string(ws.path_of("netboot/worker-0").join("dnsmasq.hosts/worker-0")).unwrap();
    assert!(hosts.contains(",set:tinderbox,192.168.126.110,[fd00:126::110],worker-0\n"), "{hosts}");
    let conf = fs::read_to_string(ws.path_of("netboot-server/boot").join("dnsmasq.conf")).unwrap();
    let ranges: Vec<&str> = conf.lines().filter(|line| line.starts_with("dhcp-range")).collect();
    assert_eq!(ranges, ["dhcp-range=192.168.126.0,static"]);
}

#[test]
fn the_live_system_is_whole_pinned_and_fetched() {
    let ws = Workspace::example().prebuilt();
    insta::assert_snapshot!(ws.run(&["build", "pxe"]), @r"
    [stderr]
    error: there is no `pxe` here: its recipe asks for `lock.rhcos.kernel.local`
    hint: `tinderbox lock --fetch pxe` downloads the release's live kernel, initramfs and rootfs; or name yours in cluster.yaml (`rhcos: {kernel: FILE, initramfs: FILE, rootfs: FILE}`), and run `tinderbox lock --update rhcos`
    [exit 1]
    ");
    insta::assert_snapshot!(ws.run(&["lock", "-q", "--fetch", "pxe"]), @r"
    [stderr]
    error: cluster.lock pins no `rhcos.kernel`
    hint: `tinderbox lock --update rhcos` pins what the release lists; if it lists none, set `rhcos.kernel` in cluster.yaml to a file of yours first
    [exit 1]
    ");
    // A release's, from a mirror.
    let mirror = ws.temp().join("mirror");
    fs::create_dir(&mirror).unwrap();
    let mut lock = fs::read_to_string(ws.dir.join("cluster.lock")).unwrap();
    for (name, file) in [("kernel", "kernel"), ("initramfs", "initramfs.img"), ("rootfs", "rootfs.img")] {
        fs::write(mirror.join(file), name).unwrap();
        let sha256 = Sha256::of(name.as_bytes()).hex();
        lock +=
            &format!("[rhcos.{name}]\nlocation = \"https://demo.invalid/x/{file}\"\nsha256 = \"{sha256}\"\n");
    }
    ws.write("cluster.lock", &lock);
    let text = fs::read_to_string(ws.dir.join("cluster.yaml")).unwrap();
    ws.write("cluster.yaml", &format!("{text}\nrhcos: {{mirror: 'file://{}'}}\n", mirror.display()));
    insta::assert_snapshot!(ws.run(&["lock", "-q", "--fetch", "pxe"]), @r"
    kernel: [STORE]/.tinderbox/downloads/6923dd1bc0460082c5d55a831908c24a282860b7f1cd6c2b79cf1bc8857c639c (6 B)
    initramfs: [STORE]/.tinderbox/downloads/9752c38a9065f7646ffaac3621d1fa2f7dbe726c7e12e511eac7fdb14d4e2a24 (9 B)
    rootfs: [STORE]/.tinderbox/downloads/3c47ef972d531d524daa15fa33dd885dd23de6221bbd10a29eb42ecfcf2ef422 (6 B)
    [exit 0]
    ");
    fs::remove_dir_all(mirror).unwrap();
    assert!(ws.build(&["pxe"]).contains(&"pxe".to_owned()));
    ws.assert_sound();
    // Two of the three are none.
    ws.edit("cluster.yaml", "rhcos: {", "rhcos: {kernel: vmlinuz, rootfs: rootfs.img, ");
    insta::assert_snapshot!(ws.run(&["build", "pxe"]), @r"
    [stderr]
    error: 1 problem:
    cluster.yaml:52: rhcos.kernel: without `rhcos.initramfs`: the three belong together
      hint: name all three files, of the same version, or none: `tinderbox lock --fetch pxe` downloads the release's
    [exit 1]
    ");
}
