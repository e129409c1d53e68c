//! Uses an image built here, byte by byte; `tests/it/iso.rs` uses one from xorriso, and the real coreos-installer.

use std::collections::BTreeMap;
use std::io::Cursor;

use proptest::prelude::*;

use super::*;
use crate::base::hint::chain;

const SECTOR: usize = 2048;
const DEFAULT: &str = "coreos.liveiso=rhcos ignition.firstboot ignition.platform.id=metal";

/// The files of a live ISO.
fn files() -> BTreeMap<&'static str, Vec<u8>> {
    let kargs = format!(
        r##"{{"default": "{DEFAULT}", "size": 120, "files": [
            {{"path": "EFI/redhat/grub.cfg", "offset": 6}},
            {{"path": "isolinux/isolinux.cfg", "offset": 7, "pad": "#", "end": "\n"}}]}}"##
    );
    let area = format!("{DEFAULT}\n{}", "#".repeat(119 - DEFAULT.len()));
    BTreeMap::from([
        ("COREOS/FEATURES.JSO", br#"{"installer-config": true, "live-initrd-network": true}"#.to_vec()),
        ("COREOS/IGNINFO.JSO", br#"{"file": "images/ignition.img"}"#.to_vec()),
        ("COREOS/KARGS.JSO", kargs.into_bytes()),
        ("EFI/REDHAT/GRUB.CFG", format!("linux {area}\n").into_bytes()),
        ("IMAGES/IGNITION.IMG", vec![0; 4096]),
        ("ISOLINUX/ISOLINUX.CFG", format!("append {area}\n").into_bytes()),
    ])
}

/// An ISO 9660 image with these files.
fn image(files: &BTreeMap<&str, Vec<u8>>) -> Vec<u8> {
    let mut directories: BTreeMap<&str, Vec<(&str, usize, usize, bool)>> = BTreeMap::from([("", vec![])]);
    for path in files.keys() {
        let mut above = *path;
        while let Some((parent, _)) = above.rsplit_once('/') {
            directories.entry(parent).or_default();
            above = parent;
        }
    }
    // Sectors: descriptors up to 17, directories from 18 on, then files.
    let sector_of: BTreeMap<&str, usize> = directories.keys().copied().zip(18..).collect();
    let mut next = 18 + directories.len();
    let mut content = Vec::new();
    for (path, bytes) in files {
        let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
        directories.get_mut(parent).unwrap().push((name, next, bytes.len(), false));
        content.extend_from_slice(bytes);
        content.resize(content.len().next_multiple_of(SECTOR), 0);
        next = 18 + sector_of.len() + content.len() / SECTOR;
    }
    for (path, sector) in &sector_of {
        if let Some((parent, name)) = (!path.is_empty()).then(|| path.rsplit_once('/').unwrap_or(("", path)))
        {
            directories.get_mut(parent).unwrap().push((name, *sector, SECTOR, true));
        }
    }
    let record = |name: &[u8], sector: usize, size: usize, directory: bool| {
        let mut record = vec![0; (33 + name.len()).next_multiple_of(2)];
        record[0] = record.len() as u8;
        record[2..6].copy_from_slice(&(sector as u32).to_le_bytes());
        record[10..14].copy_from_slice(&(size as u32).to_le_bytes());
        record[25] = if directory { 2 } else { 0 };
        record[32] = name.len() as u8;
        record[33..33 + name.len()].copy_from_slice(name);
        record
    };
    let mut image = vec![0; 16 * SECTOR];
    let mut primary = vec![0; SECTOR];
    primary[..7].copy_from_slice(b"\x01CD001\x01");
    primary[80..84].copy_from_slice(&(next as u32).to_le_bytes());
    let root = record(&[0], 18, SECTOR, true);
    primary[156..156 + root.len()].copy_from_slice(&root);
    image.extend(primary);
    let mut end = vec![0; SECTOR];
    end[..7].copy_from_slice(b"\xffCD001\x01");
    image.extend(end);
    for records in directories.values() {
        let mut sector = [record(&[0], 18, SECTOR, true), record(&[1], 18, SECTOR, true)].concat();
        for (name, at, size, directory) in records {
            let name = if *directory { (*name).to_owned() } else { format!("{name};1") };
            sector.extend(record(name.as_bytes(), *at, *size, *directory));
        }
        sector.resize(SECTOR, 0);
        image.extend(sector);
    }
    image.extend(content);
    image
}

fn read(image: Vec<u8>) -> Result<Live> {
    Live::read(&mut Cursor::new(image))
}

/// The error and hint for an image with these changes.
fn problem(change: impl FnOnce(&mut BTreeMap<&'static str, Vec<u8>>)) -> String {
    let mut files = files();
    change(&mut files);
    explain(read(image(&files)).unwrap_err())
}

fn explain(error: IsoError) -> String {
    format!("{}\nhint: {}", chain(&error), error.hint().unwrap_or_default())
}

#[test]
fn areas_are_found_and_filled_and_nothing_else_is() {
    let before = image(&files());
    let live = read(before.clone()).unwrap();
    assert_eq!(live.arguments, DEFAULT);
    let patches = live.patches(b"INITRD".to_vec(), &["coreos.inst.install_dev=/dev/vda".into()]).unwrap();
    let mut after = before.clone();
    for (at, bytes) in &patches {
        after[*at as usize..][..bytes.len()].copy_from_slice(bytes);
    }
    let mut expected = files();
    let line = format!("{DEFAULT} coreos.inst.install_dev=/dev/vda\n");
    let area = line.clone() + &"#".repeat(120 - line.len());
    expected.insert("EFI/REDHAT/GRUB.CFG", format!("linux {area}\n").into_bytes());
    expected.insert("ISOLINUX/ISOLINUX.CFG", format!("append {area}\n").into_bytes());
    expected.get_mut("IMAGES/IGNITION.IMG").unwrap()[..6].copy_from_slice(b"INITRD");
    assert!(after == image(&expected));
    insta::assert_snapshot!(explain(read(after).unwrap_err()), @r"
    it is customized: its area for the Ignition config is in use
    hint: use the image as downloaded; `coreos-installer iso reset` restores it
    ");
}

#[test]
fn an_area_may_be_a_part_of_a_file() {
    let mut files = files();
    files
        .insert("COREOS/IGNINFO.JSO", br#"{"file": "images/cdboot.img", "offset": 5, "length": 7}"#.to_vec());
    files.insert("IMAGES/CDBOOT.IMG", b"start\0\0\0\0\0\0\0the end".to_vec());
    let before = image(&files);
    let at = before.windows(5).position(|bytes| bytes == b"start").unwrap() as u64 + 5;
    let live = read(before).unwrap();
    assert_eq!(live.patches(b"1234567".to_vec(), &[]).unwrap()[&at], b"1234567");
    insta::assert_snapshot!(explain(live.patches(b"12345678".to_vec(), &[]).unwrap_err()), @r"
    its area for the Ignition config has 7 bytes, but 8 are needed
    hint: this node's Ignition is too large for the ISO; boot the node from the QEMU image with `fw_cfg` instead
    ");
}

#[test]
fn what_is_no_fresh_live_iso_is_refused() {
    insta::assert_snapshot!(problem(|files| drop(files.remove("IMAGES/IGNITION.IMG"))), @r"
    it is not a RHCOS live ISO: it has no `images/ignition.img`
    hint: set `rhcos.iso` in cluster.yaml to the live ISO of the release, `rhcos-…-live…iso`
    ");
    insta::assert_snapshot!(problem(|files| drop(files.remove("COREOS/KARGS.JSO"))), @r"
    it is not a RHCOS live ISO: it has no `coreos/kargs.json`
    hint: set `rhcos.iso` in cluster.yaml to the live ISO of the release, `rhcos-…-live…iso`
    ");
    insta::assert_snapshot!(problem(|files| drop(files.remove("COREOS/FEATURES.JSO"))), @r"
    it is too old: its installer reads no configuration file
    hint: use the live ISO of the release, 4.10 or later
    ");
    insta::assert_snapshot!(problem(|files| files.get_mut("EFI/REDHAT/GRUB.CFG").unwrap()[6] = b'C'), @r"
    it is customized: its area for kernel arguments is in use
    hint: use the image as downloaded; `coreos-installer iso reset` restores it
    ");
    insta::assert_snapshot!(explain(read(vec![0; 100_000]).unwrap_err()), @r"
    it is not an ISO image
    hint: set `rhcos.iso` in cluster.yaml to the live ISO of the release, `rhcos-…-live…iso`
    ");
    assert!(matches!(read(Vec::new()), Err(IsoError::NotIso)));
}

#[test]
fn what_cannot_be_is_said() {
    let mut cut = image(&files());
    cut.truncate(cut.len() - SECTOR);
    insta::assert_snapshot!(explain(read(cut).unwrap_err()), @r"
    it is truncated: it has 61440 of 63488 bytes
    hint: download it again
    ");
    let kargs =
        |text: &str| problem(|files| drop(files.insert("COREOS/KARGS.JSO", text.as_bytes().to_vec())));
    insta::assert_snapshot!(kargs(r#"{"default": "", "size": 9}"#), @r"
    its `coreos/kargs.json` is malformed: missing field `files` at line 1 column 26
    hint: download it again
    ");
    insta::assert_snapshot!(kargs(r#"{"default": "", "size": 9, "files": []}"#), @r"
    its `coreos/kargs.json` is malformed: its areas are missing or overlap
    hint: download it again
    ");
    insta::assert_snapshot!(kargs(r#"{"default": "", "size": 9, "files": [{"path": "no/where", "offset": 0}]}"#), @r"
    its `coreos/kargs.json` is malformed: there is no `no/where`
    hint: download it again
    ");
    let far = r#"{"default": "", "size": 9, "files": [{"path": "isolinux/isolinux.cfg", "offset": 18446744073709551610}]}"#;
    insta::assert_snapshot!(kargs(far), @r"
    its `coreos/kargs.json` is malformed: `isolinux/isolinux.cfg` has no such range
    hint: download it again
    ");
    let within = r#"{"default": "", "size": 9, "files": [{"path": "images/ignition.img", "offset": 0, "pad": "\u0000"}]}"#;
    insta::assert_snapshot!(kargs(within), @r"
    its `coreos/kargs.json` is malformed: an area overlaps that of the Ignition config
    hint: download it again
    ");
}

#[test]
fn arguments_are_words_and_have_room() {
    let live = read(image(&files())).unwrap();
    for wrong in ["", "a b", "a\n", "a#", "ä"] {
        let error = live.patches(Vec::new(), &[wrong.to_owned()]).unwrap_err();
        assert!(matches!(error, IsoError::Argument { .. }), "{error}");
    }
    let fits = "x".repeat(120 - DEFAULT.len() - 2);
    live.patches(Vec::new(), std::slice::from_ref(&fits)).unwrap();
    let error = live.patches(Vec::new(), &[fits + "x"]).unwrap_err();
    assert_eq!(error.to_string(), "its area for kernel arguments has 120 bytes, but 121 are needed");
}

#[test]
fn the_live_config_carries_the_nodes_and_starts_the_installer() {
    insta::assert_snapshot!(unattended("{\"é\": 1}\n"), @r#"{"ignition":{"version":"3.3.0"},"storage":{"files":[{"contents":{"source":"data:,%7B%22%C3%A9%22%3A%201%7D%0A"},"mode":384,"path":"/etc/coreos/dest.ign"},{"contents":{"source":"data:,ignition-file%3A%20%2Fetc%2Fcoreos%2Fdest.ign%0A"},"mode":384,"path":"/etc/coreos/installer.d/0000-tinderbox.yaml"}]}}"#);
}

/// Changing these bytes changes every ISO: it requires a new version of the builder.
#[test]
fn the_initrd_is_these_bytes() {
    let initrd = initrd(&unattended("{}")).unwrap();
    assert_eq!(
        blake3::hash(&initrd).to_hex().as_str(),
        "e7f4702fbcedb9d45ba77c680a1bc23375005e7da40719bd6d89fac8b7c9371a"
    );
}

proptest! {
    /// A corrupt image is rejected or accepted, without a panic or a patch outside of it.
    #[test]
    fn broken_images_are_survived(changes in prop::collection::vec((0usize..14_000, any::<u8>()), 1..8), cut in 0usize..70_000) {
        let mut image = image(&files());
        for (at, byte) in changes {
            image[32_768 + at] = byte;
        }
        if cut > 0 && cut < 3000 {
            image.truncate(image.len() - cut);
        }
        let size = image.len() as u64;
        let patches = read(image).and_then(|live| live.patches(vec![1], &["a".into()]));
        for (at, bytes) in patches.unwrap_or_default() {
            prop_assert!(at + bytes.len() as u64 <= size);
        }
    }
}
