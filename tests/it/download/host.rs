//! With real parts: a QEMU image that qemu-img makes, a libvirt, and `realize`.

use std::fs;

use tinderbox::internals::registry::Sha256;

use super::gzip;
use crate::harness::{list, without_sizes};
use crate::host::realize::{Libvirt, small};

/// Without the image nothing is made, and nothing is downloaded without a yes. With one, the image is downloaded, unpacked and
/// in the pool.
#[test]
fn realize_downloads_the_image_with_a_yes() {
    let Some(libvirt) = Libvirt::start("a node OS that realize downloads") else { return };
    let ws = small();
    let own = ws.dir.join("rhcos.qcow2");
    let image = fs::read(&own).unwrap();
    assert!(image.starts_with(b"QFI\xfb"));
    let (packed, sha256) = (gzip(&image), Sha256::of(&image).hex());
    // The machines' namespace has no way to a server of ours, so the mirror is a directory.
    let mirror = ws.temp().join("mirror");
    fs::create_dir(&mirror).unwrap();
    fs::write(mirror.join("disk.qcow2.gz"), &packed).unwrap();
    fs::remove_file(&own).unwrap();
    let from = format!("rhcos: {{mirror: 'file://{}'}}", mirror.display());
    ws.edit("cluster.yaml", "rhcos: {qcow2: rhcos.qcow2}", &from);
    let lock = fs::read_to_string(ws.dir.join("cluster.lock")).unwrap();
    let (lock, _) = lock.split_once("[rhcos.qcow2]").unwrap();
    ws.write(
        "cluster.lock",
        &format!(
            "{lock}[rhcos.qcow2]\nlocation = \"https://demo.invalid/x/disk.qcow2.gz\"\nsha256 = \"{}\"\n\
             uncompressed-sha256 = \"{sha256}\"\n",
            Sha256::of(&packed).hex()
        ),
    );

    let said = libvirt.run(&ws, &["realize", "plan", "-q"]);
    let asked = "fetch   image     file://[TEMP]/mirror/disk.qcow2.gz (2.1 KiB)\n";
    assert!(without_sizes(&said).contains(&without_sizes(asked)), "{said}");
    assert!(said.contains("`tinderbox realize apply` downloads it first if you agree (`--yes`)"), "{said}");
    assert!(said.contains("[exit 1]"), "{said}");
    let refused = libvirt.run(&ws, &["realize", "apply", "-q", "--until", "media"]);
    assert!(refused.contains("the image of the node OS is not on this machine"), "{refused}");
    assert!(!ws.part("downloads").exists(), "nobody agreed");

    let done = libvirt.run(&ws, &["realize", "apply", "-q", "--until", "media", "--yes"]);
    assert!(done.contains("[exit 0]"), "{done}");
    assert_eq!(list(&ws.part("downloads")), [sha256.clone()].into());
    let lock = fs::read_to_string(ws.dir.join("cluster.lock")).unwrap();
    assert!(lock.contains("fetch = true"), "{lock}");
    let base = format!("base-{}.qcow2", &sha256[..16]);
    assert!(fs::read(ws.temp().join("pool").join(&base)).unwrap() == image, "{base}");
    let disks = libvirt.virsh(&["vol-dumpxml", "--pool", "ocp4", "master-0.qcow2"]);
    assert!(disks.contains(&base), "{disks}");
    // From here on it is like the user's own file: there is nothing more to do, and destroying needs no image.
    let again = libvirt.run(&ws, &["realize", "apply", "-q", "--until", "media"]);
    assert!(again.contains("nothing to do"), "{again}");
    fs::remove_dir_all(ws.part("downloads")).unwrap();
    let gone = libvirt.run(&ws, &["realize", "destroy", "-q", "--yes"]);
    assert!(gone.contains("[exit 0]"), "{gone}");
}
