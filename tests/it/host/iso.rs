//! Live ISOs of nodes, on a base that xorriso makes with the reserved areas of a RHCOS live ISO. What was written is read
//! back by xorriso, xz and a reader of our own, and by the real coreos-installer where it is installed.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::harness::{Workspace, in_mount_namespace, left_out, mode, names, source};

/// Kernel arguments of the base.
const DEFAULT: &str =
    "coreos.liveiso=rhcos-418.94.202501010000-0 ignition.firstboot ignition.platform.id=metal";
/// Bytes of an area for kernel arguments.
const ARGUMENTS: usize = 1137;
/// Bytes of the area for an initrd.
const AREA: usize = 256 << 10;

/// Files of an ISO, by path.
type Files = BTreeMap<&'static str, Vec<u8>>;

/// Runs a program that must succeed; what it said.
fn run(program: &str, args: &[&str], dir: &Path) -> Vec<u8> {
    let output = Command::new(program).args(args).current_dir(dir).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {args:?}: {said}");
    output.stdout
}

/// Whether there is such a program; a word about it if not.
fn is_there(program: &str, part: &str) -> bool {
    let tried = Command::new(program).arg("--version").output();
    if let Err(error) = &tried {
        left_out(part, &format!("{program}: {error}"));
    }
    tried.is_ok()
}

/// The files of a RHCOS live ISO, as far as they matter.
fn files() -> Files {
    let area = format!("{DEFAULT}\n{}", "#".repeat(ARGUMENTS - DEFAULT.len() - 1));
    let grub = format!("menuentry 'RHEL CoreOS (Live)' {{\n\tlinux /images/pxeboot/vmlinuz {area}\n}}\n");
    let isolinux = format!("label linux\n  append initrd=/images/ignition.img {area}\n");
    let at = |text: &str| text.find(DEFAULT).unwrap();
    let kargs = serde_json::json!({"default": DEFAULT, "size": ARGUMENTS, "files": [
        {"path": "EFI/redhat/grub.cfg", "offset": at(&grub), "pad": "#", "end": "\n"},
        {"path": "isolinux/isolinux.cfg", "offset": at(&isolinux)},
    ]});
    // Not zeros, and not the same in every sector.
    let rootfs: Vec<u8> = (0u32..3 << 20).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    BTreeMap::from([
        ("images/ignition.img", vec![0; AREA]),
        ("images/pxeboot/rootfs.img", rootfs),
        ("EFI/redhat/grub.cfg", grub.into_bytes()),
        ("isolinux/isolinux.cfg", isolinux.into_bytes()),
        ("coreos/igninfo.json", br#"{"file": "images/ignition.img"}"#.to_vec()),
        ("coreos/kargs.json", kargs.to_string().into_bytes()),
        ("coreos/features.json", br#"{"installer-config": true, "live-initrd-network": true}"#.to_vec()),
    ])
}

/// Makes an ISO of these files.
fn make(iso: &Path, files: &Files) {
    let tree = tempfile::tempdir().unwrap();
    for (path, bytes) in files {
        let path = tree.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    let (iso, tree) = (iso.to_str().unwrap(), tree.path().to_str().unwrap());
    let args = ["-as", "mkisofs", "-quiet", "-iso-level", "1", "-R", "-J", "-V", "rhcos", "-o", iso, tree];
    run("xorriso", &args, Path::new("/"));
}

/// Makes a live ISO there. False, and a word about it, without xorriso.
pub(crate) fn live_iso(part: &str, iso: &Path) -> bool {
    let is_possible = is_there("xorriso", part);
    if is_possible {
        make(iso, &files());
    }
    is_possible
}

/// The example with this live ISO, pinned. None, and a word about it, without xorriso.
fn with_iso(part: &str, change: impl FnOnce(&mut Files)) -> Option<Workspace> {
    if !is_there("xorriso", part) {
        return None;
    }
    let ws = Workspace::example();
    let mut files = files();
    change(&mut files);
    make(&ws.dir.join("live.iso"), &files);
    ws.edit("cluster.yaml", "release: demo:4.18", "release: demo:4.18\nrhcos: {iso: live.iso}");
    ws.json(&["lock", "--update", "rhcos"]);
    Some(ws)
}

/// The one file of an ISO's object.
fn iso(ws: &Workspace, node: &str) -> PathBuf {
    ws.path_of(&format!("iso/{node}")).join(format!("{node}.iso"))
}

/// An ISO for xorriso, which takes files below /dev for real drives.
fn drive(iso: &Path) -> String {
    format!("stdio:{}", iso.display())
}

/// A file of an ISO, as xorriso reads it.
fn extract(iso: &Path, path: &str) -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("file");
    let args = ["-osirrox", "on", "-indev", &drive(iso), "-extract", path, out.to_str().unwrap()];
    run("xorriso", &args, dir.path());
    fs::read(out).unwrap()
}

/// The files of an archive (cpio, newc), with their modes.
fn unpack(archive: &[u8]) -> BTreeMap<String, (u32, Vec<u8>)> {
    let mut found = BTreeMap::new();
    let mut at = 0;
    loop {
        assert_eq!(&archive[at..at + 6], b"070701");
        let number = |field: usize| {
            let text = &archive[at + 6 + 8 * field..][..8];
            u32::from_str_radix(std::str::from_utf8(text).unwrap(), 16).unwrap()
        };
        let (mode, time, size, name_size) = (number(1), number(5), number(6) as usize, number(11) as usize);
        let name = std::str::from_utf8(&archive[at + 110..][..name_size - 1]).unwrap().to_owned();
        if name == "TRAILER!!!" {
            return found;
        }
        assert_eq!(time, 0);
        let start = (at + 110 + name_size).next_multiple_of(4);
        found.insert(name, (mode, archive[start..start + size].to_vec()));
        at = (start + size).next_multiple_of(4);
    }
}

/// The Ignition config in an ISO's reserved area.
fn embedded(iso: &Path) -> Value {
    let dir = tempfile::tempdir().unwrap();
    let area = extract(iso, "/images/ignition.img");
    assert_eq!(area.len(), AREA);
    let end = area.iter().rposition(|byte| *byte != 0).unwrap() + 1;
    // xz streams end at a multiple of four.
    fs::write(dir.path().join("initrd.xz"), &area[..end.next_multiple_of(4)]).unwrap();
    let listed = String::from_utf8(run("xz", &["--robot", "--list", "initrd.xz"], dir.path())).unwrap();
    assert!(listed.contains("CRC32"), "the kernel reads no other checksum: {listed}");
    let files = unpack(&run("xz", &["-dc", "initrd.xz"], dir.path()));
    assert_eq!(files.keys().collect::<Vec<_>>(), ["config.ign"]);
    assert_eq!(files["config.ign"].0, 0o100_600);
    serde_json::from_slice(&files["config.ign"].1).unwrap()
}

/// The files that an Ignition config writes, decoded.
fn written(config: &Value) -> BTreeMap<String, String> {
    let decode = |source: &str| {
        let mut bytes = Vec::new();
        let mut rest = source.strip_prefix("data:,").unwrap().bytes();
        while let Some(byte) = rest.next() {
            bytes.push(match byte {
                b'%' => {
                    let digits = [rest.next().unwrap(), rest.next().unwrap()];
                    u8::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap()
                }
                plain => plain,
            });
        }
        String::from_utf8(bytes).unwrap()
    };
    let files = config["storage"]["files"].as_array().unwrap().iter();
    files
        .map(|file| {
            let program = file["path"].as_str().unwrap().starts_with("/usr/local/bin/");
            assert_eq!(file["mode"], if program { 0o700 } else { 0o600 });
            (file["path"].as_str().unwrap().to_owned(), decode(file["contents"]["source"].as_str().unwrap()))
        })
        .collect()
}

/// The node's Ignition config, as its own derivation has it.
fn ignition(ws: &Workspace, node: &str) -> String {
    fs::read_to_string(ws.path_of(&format!("ignition/{node}")).join(format!("{node}.ign"))).unwrap()
}

#[test]
fn the_nodes_ignition_is_in_its_iso_and_nothing_else_is_changed() {
    let Some(ws) = with_iso("live ISOs", |_| {}) else { return };
    let built = ws.build(&["iso/master-0", "iso/worker-1"]);
    assert!(built.contains(&"iso/worker-1".to_owned()), "{built:?}");
    for node in ["master-0", "worker-1"] {
        let path = iso(&ws, node);
        assert_eq!(mode(&path), 0o400, "it has the pull secret in it");
        let config = embedded(&path);
        assert_eq!(config["ignition"]["version"], "3.3.0");
        let written = written(&config);
        let installer = "/etc/coreos/installer.d/0000-tinderbox.yaml";
        assert_eq!(written.keys().collect::<Vec<_>>(), ["/etc/coreos/dest.ign", installer]);
        assert_eq!(written["/etc/coreos/dest.ign"], ignition(&ws, node));
        assert_eq!(written[installer], "ignition-file: /etc/coreos/dest.ign\n");
        let line = format!("{DEFAULT} coreos.inst.install_dev=/dev/vda\n");
        let area = line.clone() + &"#".repeat(ARGUMENTS - line.len());
        for file in ["EFI/redhat/grub.cfg", "isolinux/isolinux.cfg"] {
            let was = String::from_utf8(files()[file].clone()).unwrap();
            let start = was.find(DEFAULT).unwrap();
            let expected = [&was[..start], &area, &was[start + ARGUMENTS..]].concat();
            assert_eq!(String::from_utf8(extract(&path, &format!("/{file}"))).unwrap(), expected);
        }
        only_areas_differ(&ws.dir.join("live.iso"), &path);
    }
    ws.assert_sound();
    assert!(
        ws.json(&["build", "iso/master-0", "--check"])["check"]["differences"].as_array().unwrap().is_empty()
    );
}

/// Fails if a byte differs that is in no reserved area. Where these are, xorriso says.
fn only_areas_differ(base: &Path, made: &Path) {
    let areas = ["images/ignition.img", "EFI/redhat/grub.cfg", "isolinux/isolinux.cfg"].map(|file| {
        let (drive, path) = (drive(base), format!("/{file}"));
        let args = ["-indev", &drive, "-find", &path, "-exec", "report_lba", "--"];
        // File data lba:  0 ,  43 ,  128 ,  262144 , '/images/ignition.img'
        let said = String::from_utf8(run("xorriso", &args, Path::new("/"))).unwrap();
        let line = said.lines().find(|line| line.starts_with("File data lba:")).unwrap();
        let start = line.split(',').nth(1).unwrap().trim().parse::<usize>().unwrap() * 2048;
        let text = String::from_utf8(files()[file].clone()).unwrap();
        match text.find(DEFAULT) {
            Some(at) => start + at..start + at + ARGUMENTS,
            None => start..start + AREA,
        }
    });
    let [base, made] = [base, made].map(|path| fs::read(path).unwrap());
    assert_eq!(base.len(), made.len());
    let changed: Vec<usize> = (0..base.len()).filter(|at| base[*at] != made[*at]).collect();
    assert!(areas.iter().all(|area| changed.iter().any(|at| area.contains(at))));
    let outside = changed.into_iter().find(|at| !areas.iter().any(|area| area.contains(at)));
    assert_eq!(outside, None);
}

#[test]
fn the_real_installer_reads_it_and_takes_it_back() {
    let part = "live ISOs with the real coreos-installer";
    let Some(ws) = with_iso(part, |_| {}) else { return };
    if Command::new("coreos-installer").arg("--version").output().is_err() {
        // No package of Debian's has it, so that no machine must have it: `cargo install coreos-installer`.
        return eprintln!("left out: {part}: it is not on PATH");
    }
    ws.build(&["iso/master-1"]);
    let path = iso(&ws, "master-1");
    let coreos = |args: &[&str]| String::from_utf8(run("coreos-installer", args, &ws.dir)).unwrap();
    let made = path.to_str().unwrap();
    let shown: Value = serde_json::from_str(&coreos(&["iso", "ignition", "show", made])).unwrap();
    assert_eq!(shown, embedded(&path));
    assert_eq!(written(&shown)["/etc/coreos/dest.ign"], ignition(&ws, "master-1"));
    let line = format!("{DEFAULT} coreos.inst.install_dev=/dev/vda\n");
    assert_eq!(coreos(&["iso", "kargs", "show", made]), line);
    assert_eq!(coreos(&["iso", "kargs", "show", "--default", made]), format!("{DEFAULT}\n"));
    coreos(&["iso", "reset", made, "-o", "reset.iso"]);
    assert!(fs::read(ws.dir.join("reset.iso")).unwrap() == fs::read(ws.dir.join("live.iso")).unwrap());
    // As its service does it: the file in installer.d, and the disk of the kernel argument.
    ws.write("installer.yaml", &written(&shown)["/etc/coreos/installer.d/0000-tinderbox.yaml"]);
    let args = ["install", "--offline", "--config-file", "installer.yaml", "/dev/tinderbox/no-disk"];
    let output = Command::new("coreos-installer").args(args).current_dir(&ws.dir).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("--ignition-file /etc/coreos/dest.ign --offline /dev/tinderbox/no-disk"), "{said}");
    let failed = String::from_utf8_lossy(&output.stderr);
    assert!(failed.contains("No such file or directory"), "it got as far as the disk: {failed}");
}

/// The names in a directory.
fn files_in(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap());
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Applies a node's patch to this base, with the tools of this PATH; the outcome, and where the image would be.
fn patched(ws: &Workspace, node: &str, base: &Path, path: &str) -> (std::process::Output, PathBuf) {
    let script = ws.path_of(&format!("iso-patch/{node}")).join(format!("{node}.sh"));
    let out = ws.temp().join(format!("{node}-patched.iso"));
    let mut command = Command::new("/bin/sh");
    command.arg(script).args([base, &out]).env("PATH", path);
    (command.output().unwrap(), out)
}

#[test]
fn a_patch_makes_the_iso_of_its_node() {
    let part = "live ISOs in kilobytes";
    let Some(ws) = with_iso(part, |_| {}) else { return };
    if !is_there("shellcheck", part) {
        return;
    }
    let base = ws.dir.join("live.iso");
    let path = std::env::var("PATH").unwrap();
    for node in ["bootstrap", "worker-1"] {
        ws.build(&[&format!("iso/{node}"), &format!("iso-patch/{node}")]);
        let object = ws.path_of(&format!("iso-patch/{node}"));
        assert_eq!(files_in(&object), [format!("{node}.areas"), format!("{node}.sh")]);
        for file in files_in(&object) {
            assert_eq!(mode(&object.join(file)), 0o400, "it has the pull secret in it");
        }
        let size = fs::metadata(object.join(format!("{node}.areas"))).unwrap().len();
        assert!(size < (AREA + 2 * ARGUMENTS) as u64, "{size}");
        run("shellcheck", &[&format!("{node}.sh")], &object);
        let (said, out) = patched(&ws, node, &base, &path);
        assert!(said.status.success(), "{}", ws.text(&said));
        assert_eq!(mode(&out), 0o600);
        assert!(fs::read(&out).unwrap() == fs::read(iso(&ws, node)).unwrap(), "{node}");
        let (said, _) = patched(&ws, node, &base, &path);
        assert!(String::from_utf8_lossy(&said.stderr).contains("exists already"), "{}", ws.text(&said));
        fs::remove_file(out).unwrap();
    }
    ws.assert_sound();
    let check = ws.json(&["build", "iso-patch/worker-1", "--check"]);
    assert!(check["check"]["differences"].as_array().unwrap().is_empty());

    // A small live system has nothing but busybox.
    if let Some(tools) = busybox(&ws, part) {
        let (said, out) = patched(&ws, "worker-1", &base, tools.to_str().unwrap());
        assert!(said.status.success(), "{}", ws.text(&said));
        assert!(fs::read(&out).unwrap() == fs::read(iso(&ws, "worker-1")).unwrap());
        fs::remove_file(out).unwrap();
    }

    // Another image, or one that is damaged where nobody looks, is refused, and nothing is left behind.
    let mut bytes = fs::read(&base).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    let damaged = ws.temp().join("damaged.iso");
    fs::write(&damaged, bytes).unwrap();
    let before = files_in(&ws.temp());
    for other in [damaged, ws.temp().join("none.iso")] {
        let (said, out) = patched(&ws, "worker-1", &other, &path);
        assert_eq!(said.status.code(), Some(1));
        let words = String::from_utf8_lossy(&said.stderr).into_owned();
        assert!(words.contains("is not the live ISO of this build") || words.contains("there is no file"));
        assert!(!out.exists());
    }
    assert_eq!(files_in(&ws.temp()), before);
}

/// A directory with busybox's programs under their names.
fn busybox(ws: &Workspace, part: &str) -> Option<PathBuf> {
    let Ok(found) = Command::new("busybox").arg("--list").output() else {
        left_out(part, "busybox");
        return None;
    };
    let dir = ws.temp().join("busybox");
    fs::create_dir_all(&dir).unwrap();
    let program = run("sh", &["-c", "command -v busybox"], Path::new("/"));
    for name in String::from_utf8(found.stdout).unwrap().lines() {
        std::os::unix::fs::symlink(String::from_utf8_lossy(&program).trim(), dir.join(name)).unwrap();
    }
    Some(dir)
}

/// A patch needs the node's config and where the areas are, and no image: what another cluster or a cache learned will do.
#[test]
fn a_patch_reads_no_image() {
    let Some(ws) = with_iso("live ISOs in kilobytes", |_| {}) else { return };
    ws.build(&["live-iso/areas"]);
    fs::write(ws.dir.join("live.iso"), b"nothing that anybody reads").unwrap();
    assert!(ws.build(&["iso-patch/worker-0"]).contains(&"iso-patch/worker-0".to_owned()));
}

/// On a file system that can share blocks, six ISOs take little more room than one.
#[test]
fn blocks_are_shared_with_the_base_where_the_file_system_can() {
    let part = "live ISOs that share blocks with their base";
    let Some(ws) = with_iso(part, |_| {}) else { return };
    if !is_there("mkfs.xfs", part) {
        return;
    }
    let Some(flags) = in_mount_namespace(part) else { return };
    let script = r#"
        truncate -s 320M xfs.img && mkfs.xfs -q -m reflink=1 xfs.img && mkdir mnt || exit 1
        mount -o loop xfs.img mnt || exit 42
        cp -r ocp4 mnt && cd mnt/ocp4 && sync -f . || exit 1
        used() { df --output=used --block-size=1 . | tail -1; }
        "$1" --store ../store build ignition >/dev/null && sync -f . || exit 1
        before=$(used)
        "$1" --store ../store build iso >/dev/null && sync -f . || exit 1
        echo $(($(used) - before)) $(stat -c %s live.iso)
        "$1" --store ../store store verify --json >&2 || exit 1
        for node in master-0 worker-1; do cat ../store/*-iso-$node/$node.iso | cmp - "$2/$node.iso" || exit 1; done"#;
    // What it must be, byte for byte: from a file system that cannot.
    ws.build(&["iso"]);
    for node in ["master-0", "worker-1"] {
        fs::copy(iso(&ws, node), ws.temp().join(format!("{node}.iso"))).unwrap();
    }
    let mut command = ws.command_of(Path::new("unshare"), &flags);
    command.args(["sh", "-c", script, "sh", env!("CARGO_BIN_EXE_tinderbox")]).arg(ws.temp());
    let output = command.current_dir(ws.temp()).output().unwrap();
    if output.status.code() == Some(42) {
        // No package brings this: a machine may have no loop devices.
        return eprintln!("left out: {part}: {}", ws.text(&output));
    }
    assert!(output.status.success(), "{}", ws.text(&output));
    let said = String::from_utf8(output.stdout).unwrap();
    let numbers: Vec<u64> = said.split_whitespace().map(|number| number.parse().unwrap()).collect();
    let [grown, base] = numbers[..] else { panic!("{said}") };
    assert!(grown < base, "six ISOs of {base} bytes each took {grown} bytes");
}

/// The nodes' configs behind an image, as the live system reads them; with the form that the description names.
fn behind(ws: &Workspace, bytes: &[u8], passphrase: &str) -> (String, BTreeMap<String, String>) {
    let header = String::from_utf8(bytes[..2048].to_vec()).unwrap();
    let field = |name: &str| {
        let line =
            header.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_else(|| panic!("{header}"));
        line.trim().to_owned()
    };
    let dir = ws.temp().join("behind");
    fs::create_dir_all(&dir).unwrap();
    fs::write(dir.join("nodes"), &bytes[2048..][..field("size").parse::<usize>().unwrap()]).unwrap();
    let summed = String::from_utf8(run("sha256sum", &["nodes"], &dir)).unwrap();
    assert!(summed.starts_with(&field("sha256")), "{summed} {header}");
    if field("form") == "sealed" {
        fs::write(dir.join("passphrase"), passphrase).unwrap();
        let script = "gpg --batch --quiet --homedir . --pinentry-mode loopback --passphrase-fd 0 --decrypt nodes <passphrase >open && mv open nodes";
        run("sh", &["-c", script], &dir);
    }
    run("sh", &["-c", "rm -rf tree && mkdir tree && xz -dc nodes | tar -xf - -C tree"], &dir);
    let files = fs::read_dir(dir.join("tree")).unwrap().map(|file| file.unwrap());
    let files =
        files.map(|file| (file.file_name().into_string().unwrap(), fs::read_to_string(file.path()).unwrap()));
    (field("form"), files.collect())
}

#[test]
fn one_iso_has_all_nodes_behind_the_image_and_can_be_sealed() {
    const PASSPHRASE: &str = "correct horse battery staple";
    let part = "a live ISO for all nodes";
    let Some(ws) = with_iso(part, |_| {}) else { return };
    if !is_there("gpg", part) || !is_there("shellcheck", part) {
        return;
    }
    ws.build(&["iso-for-all"]);
    let object = ws.path_of("iso-for-all");
    let path = object.join("all-nodes.iso");
    let (whole, base) = (fs::read(&path).unwrap(), fs::read(ws.dir.join("live.iso")).unwrap());
    assert_eq!(mode(&path), 0o400);
    let section = fs::read_to_string(object.join("section")).unwrap().trim().parse::<usize>().unwrap();
    assert_eq!(section, base.len().div_ceil(2048));
    // The reserved area has the table and the script, and no config.
    let live = embedded(&path);
    let files = written(&live);
    assert_eq!(
        files.keys().collect::<Vec<_>>(),
        [
            "/etc/coreos/installer.d/0000-tinderbox.yaml",
            "/etc/tinderbox/machines",
            "/usr/local/bin/choose-node"
        ]
    );
    assert_eq!(live["systemd"]["units"][0]["enabled"], true);
    ws.write("choose-node.sh", &files["/usr/local/bin/choose-node"]);
    run("shellcheck", &["choose-node.sh"], &ws.dir);
    let nodes = ["bootstrap", "master-0", "master-1", "master-2", "worker-0", "worker-1"];
    for node in nodes {
        let mac = fs::read_to_string(ws.path_of(&format!("identity/mac-{node}")).join(format!("mac-{node}")));
        let line = format!("{} {node} /dev/vda\n", mac.unwrap());
        assert!(files["/etc/tinderbox/machines"].contains(&line), "{line}");
    }
    // No kernel argument differs: the disk is the node's.
    let grub = |bytes: &[u8]| bytes[..base.len()].windows(19).any(|word| word == b"coreos.inst.install");
    assert!(!grub(&whole));
    let expected: BTreeMap<String, String> =
        nodes.map(|node| (format!("{node}.ign"), ignition(&ws, node))).into();
    let (form, found) = behind(&ws, &whole[section * 2048..], "");
    assert_eq!(form, "plain");
    assert!(found == expected);

    // Sealed, it is another section and nothing else; without the passphrase there is nothing to see.
    ws.write("passphrase", &format!("{PASSPHRASE}\n"));
    let out = ws.temp().join("sealed");
    let file = ws.dir.join("passphrase");
    let args = [
        "export",
        out.to_str().unwrap(),
        "iso-for-all",
        "--seal",
        "--passphrase-file",
        file.to_str().unwrap(),
    ];
    assert_eq!(ws.json(&args)["sealed"], true);
    assert_eq!(fs::read_dir(&out).unwrap().count(), 1);
    assert_eq!(mode(&out.join("all-nodes.iso")), 0o600);
    let sealed = fs::read(out.join("all-nodes.iso")).unwrap();
    assert!(sealed[..section * 2048] == whole[..section * 2048]);
    let (form, found) = behind(&ws, &sealed[section * 2048..], PASSPHRASE);
    assert_eq!(form, "sealed");
    assert!(found == expected);
    let again = ws.temp().join("again");
    ws.json(&[
        "export",
        again.to_str().unwrap(),
        "iso-for-all",
        "--seal",
        "--passphrase-file",
        file.to_str().unwrap(),
    ]);
    assert!(fs::read(again.join("all-nodes.iso")).unwrap() != sealed, "salt and prefix are new every time");
}

/// A medium that is sealed has its name when it is complete: half of it would boot, too.
#[test]
fn half_a_sealed_medium_has_no_name() {
    let part = "a sealed medium that is killed";
    let Some(ws) = with_iso(part, |_| {}) else { return };
    ws.build(&["iso-for-all"]);
    ws.write("passphrase", "correct horse battery staple\n");
    // The kernel kills whoever writes beyond the limit: in the middle of the medium, every time.
    let line = "ulimit -f 100; exec \"$T\" -q --store \"$S\" export out iso-for-all \"$@\"";
    for more in [&["--seal", "--passphrase-file", "passphrase"][..], &[]] {
        let mut command = ws.command_of(Path::new("sh"), &[&["-c", line, "sh"], more].concat());
        command.env("T", env!("CARGO_BIN_EXE_tinderbox")).env("S", &ws.store);
        let output = command.output().unwrap();
        assert_eq!(output.status.signal(), Some(25), "{}", ws.text(&output));
        assert_eq!(crate::harness::list(&ws.dir.join("out")), [].into());
        fs::remove_dir(ws.dir.join("out")).unwrap();
    }
}

/// Ctrl-C at the question ends it, and the terminal shows again what is typed.
#[test]
fn the_question_for_a_passphrase_can_be_left() {
    let part = "the question for a passphrase";
    let Some(ws) = with_iso(part, |_| {}) else { return };
    if !is_there("script", part) {
        return;
    }
    ws.build(&["iso-for-all"]);
    let line =
        "trap : INT; \"$T\" -q --store \"$S\" export out iso-for-all --seal; echo \"code $?\"; stty -a";
    let mut command = ws.command_of(Path::new("script"), &["-qec", line, "/dev/null"]);
    command.env("T", env!("CARGO_BIN_EXE_tinderbox")).env("S", &ws.store).env("SHELL", "/bin/sh");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut typed, mut shown) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut text = Vec::new();
    while !String::from_utf8_lossy(&text).contains("Passphrase for iso-for-all") {
        let mut some = [0; 100];
        let count = shown.read(&mut some).unwrap();
        assert!(count > 0, "{}", String::from_utf8_lossy(&text));
        text.extend_from_slice(&some[..count]);
    }
    typed.write_all(b"\x03").unwrap();
    shown.read_to_end(&mut text).unwrap();
    let text = String::from_utf8_lossy(&text);
    assert!(text.contains("interrupted") && text.contains("code 130"), "{text}");
    assert!(text.contains(" echo ") && !text.contains("-echo "), "{text}");
    child.wait().unwrap();
}

/// Media are all that machines of somebody's own get: with the disk that their node names.
#[test]
fn machines_of_ones_own_have_their_isos() {
    let Some(ws) = with_iso("live ISOs of external machines", |_| {}) else { return };
    for name in ["install-config.yaml", "cluster.yaml"] {
        ws.write(name, &fs::read_to_string(source("examples/external").join(name)).unwrap());
    }
    ws.edit("cluster.yaml", "release: demo:4.18\n", "release: demo:4.18\nrhcos: {iso: live.iso}\n");
    ws.build(&["iso/master-0", "iso-for-all"]);
    let path = iso(&ws, "master-0");
    let files = written(&embedded(&path));
    assert_eq!(files["/etc/coreos/dest.ign"], ignition(&ws, "master-0"));
    let line = format!("{DEFAULT} coreos.inst.install_dev=/dev/nvme0n1\n#");
    let grub = String::from_utf8(extract(&path, "/EFI/redhat/grub.cfg")).unwrap();
    assert!(grub.contains(&line), "{grub}");
    let all = written(&embedded(&ws.path_of("iso-for-all").join("all-nodes.iso")));
    insta::assert_snapshot!(all["/etc/tinderbox/machines"], @r"
    52:54:00:80:00:64 bootstrap /dev/sda
    52:54:00:80:00:65 master-0 /dev/nvme0n1
    52:54:00:80:00:66 master-1 /dev/nvme0n1
    52:54:00:80:00:67 master-2 /dev/nvme0n1
    52:54:00:80:00:6e worker-0 /dev/sda
    52:54:00:80:00:6f worker-1 /dev/sda
    ");
}

#[test]
fn what_cannot_be_sealed_is_refused() {
    let Some(ws) = with_iso("a live ISO for all nodes", |_| {}) else { return };
    ws.write("short", "secret\n");
    insta::assert_snapshot!(ws.run(&["export", "-q", "out", "iso-for-all", "--seal", "--passphrase-file", "short"]), @r"
    [stderr]
    error: the passphrase has less than 12 characters
    hint: six random words are easy to type at a console, and hard to guess
    [exit 2]
    ");
    insta::assert_snapshot!(ws.run(&["export", "-q", "out", "iso-for-all", "--seal"]), @r"
    [stderr]
    error: there is no terminal to ask for the passphrase
    hint: name a file with it: `--passphrase-file FILE`
    [exit 2]
    ");
    insta::assert_snapshot!(ws.run(&["export", "-q", "out", "iso/master-0", "--seal", "--passphrase-file", "short"]), @r"
    [stderr]
    error: `iso/master-0` is not a medium for all nodes, and cannot be sealed
    hint: `tinderbox export DIR iso-for-all --seal`
    [exit 2]
    ");
    assert!(!ws.dir.join("out").exists());
}

#[test]
fn an_edit_builds_the_isos_that_it_is_about() {
    let Some(ws) = with_iso("live ISOs", |_| {}) else { return };
    let nodes = ["bootstrap", "master-0", "master-1", "master-2", "worker-0", "worker-1"];
    let built: Vec<String> = ws.build(&["iso"]).into_iter().filter(|name| name.starts_with("iso/")).collect();
    assert_eq!(built, nodes.map(|node| format!("iso/{node}")));
    ws.edit("cluster.yaml", "ip: 192.168.126.111}", "ip: 192.168.126.111, installDevice: /dev/sda}");
    assert_eq!(ws.build(&["iso"]), ["iso/worker-1"]);
    let grub = String::from_utf8(extract(&iso(&ws, "worker-1"), "/EFI/redhat/grub.cfg")).unwrap();
    assert!(grub.contains("ignition.platform.id=metal coreos.inst.install_dev=/dev/sda\n#"), "{grub}");
    // Where the base is does not matter; what is in it does.
    fs::rename(ws.dir.join("live.iso"), ws.dir.join("moved.iso")).unwrap();
    ws.edit("cluster.yaml", "iso: live.iso", "iso: moved.iso");
    ws.json(&["lock", "--update", "rhcos"]);
    assert_eq!(ws.build(&["iso"]), [""; 0]);
    // Nor does whether it was downloaded.
    let mirror = ws.temp().join("mirror");
    fs::create_dir(&mirror).unwrap();
    fs::rename(ws.dir.join("moved.iso"), mirror.join("live.iso")).unwrap();
    ws.edit("cluster.yaml", "iso: moved.iso", &format!("mirror: 'file://{}'", mirror.display()));
    ws.edit("cluster.lock", "location = \"moved.iso\"", "location = \"https://demo.invalid/live.iso\"");
    ws.json(&["lock", "--fetch", "iso"]);
    fs::remove_dir_all(mirror).unwrap();
    assert_eq!(ws.build(&["iso"]), [""; 0]);
    // The next one is made from the download.
    ws.edit("cluster.yaml", "ip: 192.168.126.110}", "ip: 192.168.126.110, installDevice: /dev/sdb}");
    assert_eq!(ws.build(&["iso"]), ["iso/worker-0"]);
    let cluster = names(&ws.json(&["build", "--dry-run"])["would_build"]);
    assert!(cluster.contains(&"cluster".to_owned()), "{cluster:?}");
    assert!(!cluster.iter().any(|name| name.starts_with("iso/")), "too large for `cluster`: {cluster:?}");
}

#[test]
fn without_a_base_the_isos_are_absent() {
    let ws = Workspace::example();
    let listed = |ws: &Workspace| {
        let graph = ws.json(&["graph"]);
        assert!(
            graph["absent"]["iso/master-0"].as_str().unwrap().contains("lock.rhcos.iso.local"),
            "{graph}"
        );
        let derivations = graph["derivations"].as_array().unwrap();
        derivations.iter().any(|one| one["name"].as_str().unwrap().starts_with("iso/"))
    };
    assert!(!listed(&ws));
    insta::assert_snapshot!(ws.run(&["build", "iso"]), @r"
    [stderr]
    error: there is no `iso` here: its recipe asks for `lock.rhcos.iso.local`
    hint: name the release's live ISO in cluster.yaml (`rhcos: {iso: FILE}`), and run `tinderbox lock --update rhcos`
    [exit 1]
    ");
    ws.json(&["lock", "--update", "rhcos"]);
    assert!(!listed(&ws));
    insta::assert_snapshot!(ws.run(&["build", "iso/master-0"]), @r"
    [stderr]
    error: there is no `iso/master-0` here: its recipe asks for `lock.rhcos.iso.local`
    hint: `tinderbox lock --fetch` downloads https://demo.invalid/rhcos/4.18/418.94.202501010000-0/x86_64/rhcos-418.94.202501010000-0-live-iso.x86_64.iso; or set `rhcos` to your own copy of it, and run `tinderbox lock --update rhcos`
    [exit 1]
    ");
}

#[test]
fn a_base_that_is_not_the_pinned_one_is_refused() {
    let Some(ws) = with_iso("live ISOs", |_| {}) else { return };
    let path = ws.dir.join("live.iso");
    let good = fs::read(&path).unwrap();
    let failure = |ws: &Workspace| {
        let text = ws.run(&["build", "iso/master-0"]);
        let error = text.find("error:").unwrap_or_else(|| panic!("{text}"));
        hashes(&text[error..])
    };
    let mut other = good.clone();
    *other.last_mut().unwrap() ^= 1;
    fs::write(&path, &other).unwrap();
    insta::assert_snapshot!(failure(&ws), @r"
    error: `iso/master-0` cannot be built (built-in recipes/67-iso/nodes.toml)
    caused by: `[DIR]/live.iso` has sha256 `[SHA256]`, but cluster.lock pins `[SHA256]`
    hint: to use this file, run `tinderbox lock --update rhcos`; else restore the pinned file
    [exit 1]
    ");
    // Cut short: it is not the pinned one in the first place.
    fs::write(&path, &good[..good.len() / 2]).unwrap();
    insta::assert_snapshot!(failure(&ws), @r"
    error: `iso/master-0` cannot be built (built-in recipes/67-iso/nodes.toml)
    caused by: `[DIR]/live.iso` has sha256 `[SHA256]`, but cluster.lock pins `[SHA256]`
    hint: to use this file, run `tinderbox lock --update rhcos`; else restore the pinned file
    [exit 1]
    ");
    // If that is what was pinned, it is cut short.
    ws.json(&["lock", "--update", "rhcos"]);
    insta::assert_snapshot!(failure(&ws), @r"
    error: `iso/master-0` cannot be built (built-in recipes/67-iso/nodes.toml)
    caused by: `[DIR]/live.iso` cannot be used
    caused by: it is truncated: it has [SIZE] of [SIZE] bytes
    hint: download it again
    [exit 1]
    ");
    fs::remove_file(&path).unwrap();
    insta::assert_snapshot!(failure(&ws), @r"
    error: `iso/master-0` cannot be built (built-in recipes/67-iso/nodes.toml)
    caused by: a file that cluster.lock pins no longer exists
    caused by: cannot open `[DIR]/live.iso`
    caused by: No such file or directory (os error 2)
    hint: restore it, or set `rhcos` to another file and run `tinderbox lock --update rhcos`
    [exit 1]
    ");
    // Nothing of what failed is left.
    assert_eq!(names(&ws.json(&["build", "iso/master-0", "--dry-run"])["would_build"]), ["iso/master-0"]);
    ws.assert_sound();
}

#[test]
fn an_image_without_room_is_refused() {
    let failure = |change: &dyn Fn(&mut Files)| {
        let ws = with_iso("live ISOs", change)?;
        let text = ws.run(&["build", "iso/master-0"]);
        Some(hashes(&text[text.find("error:").unwrap_or_else(|| panic!("{text}"))..]))
    };
    let small = failure(&|files| drop(files.insert("images/ignition.img", vec![0; 64])));
    let Some(small) = small else { return };
    insta::assert_snapshot!(small, @r"
    error: `iso/master-0` cannot be built (built-in recipes/67-iso/nodes.toml)
    caused by: `[DIR]/live.iso` cannot be used
    caused by: its area for the Ignition config has 64 bytes, but [SIZE] are needed
    hint: this node's Ignition is too large for the ISO; boot the node from the QEMU image with `fw_cfg` instead
    [exit 1]
    ");
    let other = failure(&|files| files.retain(|path, _| path.starts_with("isolinux/"))).unwrap();
    insta::assert_snapshot!(other, @r"
    error: `iso/master-0` cannot be built (built-in recipes/67-iso/nodes.toml)
    caused by: `[DIR]/live.iso` cannot be used
    caused by: it is not a RHCOS live ISO: it has no `images/ignition.img`
    hint: set `rhcos.iso` in cluster.yaml to the live ISO of the release, `rhcos-…-live…iso`
    [exit 1]
    ");
    let used = failure(&|files| files.get_mut("images/ignition.img").unwrap()[100] = 1).unwrap();
    insta::assert_snapshot!(used, @r"
    error: `iso/master-0` cannot be built (built-in recipes/67-iso/nodes.toml)
    caused by: `[DIR]/live.iso` cannot be used
    caused by: it is customized: its area for the Ignition config is in use
    hint: use the image as downloaded; `coreos-installer iso reset` restores it
    [exit 1]
    ");
}

/// Replaces sha256 sums and sizes, which depend on the day that xorriso ran.
fn hashes(text: &str) -> String {
    let is_sum = |word: &str| word.len() == 64 && word.bytes().all(|c| c.is_ascii_hexdigit());
    let is_size = |word: &str| word.len() > 2 && word.bytes().all(|c| c.is_ascii_digit());
    let shown = |word: &str| match word {
        sum if is_sum(sum) => "[SHA256]".to_owned(),
        size if is_size(size) => "[SIZE]".to_owned(),
        other => other.to_owned(),
    };
    text.split_inclusive(|c: char| !c.is_ascii_alphanumeric())
        .map(|piece| {
            let word = piece.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
            shown(word) + &piece[word.len()..]
        })
        .collect()
}
