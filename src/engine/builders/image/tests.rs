//! Layers that cost little to send and much to unpack.

use std::io::Write as _;

use super::*;
use crate::base::hint::chain;

/// Reads a layer, and returns its paths or the problem.
fn read(tar: &[u8]) -> Result<Vec<String>, String> {
    Ok(unpack(tar)?.leaves("").map(|(path, _)| path.to_owned()).collect())
}

/// Reads a layer, and returns its listing or the problem.
fn unpack(tar: &[u8]) -> Result<Listing, String> {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(tar).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let media_type = "application/vnd.oci.image.layer.v1.tar+gzip";
    let name = "quay.io/a:1".parse().unwrap();
    unpack_layer(&name, media_type, &gzip.finish().unwrap(), dir.path()).map_err(|error| chain(&error))
}

/// One entry: its header, its content, and padding.
fn entry(kind: tar::EntryType, path: &str, content: &[u8], change: impl FnOnce(&mut tar::Header)) -> Vec<u8> {
    let mut header = tar::Header::new_gnu();
    header.set_path(path).unwrap();
    header.set_mode(0o644);
    header.set_entry_type(kind);
    header.set_size(content.len() as u64);
    change(&mut header);
    header.set_cksum();
    let mut bytes = header.as_bytes().to_vec();
    bytes.extend_from_slice(content);
    bytes.resize(bytes.len().next_multiple_of(512), 0);
    bytes
}

fn file(path: &str, content: &[u8]) -> Vec<u8> {
    entry(tar::EntryType::Regular, path, content, |_| {})
}

fn extension(kind: tar::EntryType, size: usize) -> Vec<u8> {
    entry(kind, "x", &vec![b'a'; size], |_| {})
}

#[test]
fn ordinary_layers_are_read() {
    let long = format!("{}/file", ["directory"; 30].join("/"));
    let mut tar = file("etc/one", b"1");
    tar.extend(entry(tar::EntryType::GNULongName, "x", format!("{long}\0").as_bytes(), |_| {}));
    tar.extend(file("short", b"2"));
    tar.extend(file("big", &vec![7; 5 << 20]));
    tar.extend(file("etc/two", b"2"));
    assert_eq!(read(&tar).unwrap(), ["big", &long, "etc/one", "etc/two"].map(str::to_owned));
}

#[test]
fn holes_count() {
    let sparse = |size: u64| {
        entry(tar::EntryType::GNUSparse, "hole", b"", |header| {
            let gnu = header.as_gnu_mut().unwrap();
            gnu.set_real_size(size);
            gnu.sparse[0].set_offset(size);
            gnu.sparse[0].set_length(0);
        })
    };
    assert_eq!(read(&sparse(1 << 20)).unwrap(), ["hole"]);
    let problem = read(&sparse(64 << 30)).unwrap_err();
    assert!(problem.contains("more than twenty times its size"), "{problem}");
}

/// A file with the pax records that GNU tar writes for `--sparse --format=pax`.
fn pax_sparse(major: &str, size: u64, content: &[u8]) -> Vec<u8> {
    let record = |key: &str, value: &str| {
        let rest = format!(" GNU.sparse.{key}={value}\n");
        let length = rest.len() + (rest.len() + 2).to_string().len();
        format!("{length}{rest}")
    };
    let pax = record("major", major)
        + &record("minor", "0")
        + &record("name", "etc/real")
        + &record("realsize", &size.to_string());
    let mut tar = entry(tar::EntryType::XHeader, "x", pax.as_bytes(), |_| {});
    tar.extend(file("GNUSparseFile.0/real", content));
    tar
}

#[test]
fn sparse_files_of_pax_archives_are_expanded() {
    let mut content = b"1\n5\n3\n".to_vec();
    content.resize(512, 0);
    content.extend_from_slice(b"abc");
    assert_eq!(read(&pax_sparse("1", 10, &content)).unwrap(), ["etc/real"]);
    let problem = read(&pax_sparse("1", 64 << 30, &content)).unwrap_err();
    assert!(problem.contains("more than twenty times its size"), "{problem}");
    let problem = read(&pax_sparse("1", 4, &content)).unwrap_err();
    assert!(problem.contains("the map of a sparse file in it is wrong"), "{problem}");
    let problem = read(&pax_sparse("0", 10, &content)).unwrap_err();
    assert!(problem.contains("pax format other than 1.0"), "{problem}");
}

/// What a layer unpacks to is decided by the builder's version: a change here is a new version.
#[test]
fn bytes_belong_to_a_version() {
    let mut content = b"1\n5\n3\n".to_vec();
    content.resize(512, 0);
    content.extend_from_slice(b"abc");
    let mut tar = file("etc/plain", b"1");
    tar.extend(pax_sparse("1", 10, &content));
    tar.extend(entry(tar::EntryType::GNUSparse, "old", b"abc", |header| {
        let gnu = header.as_gnu_mut().unwrap();
        gnu.set_real_size(10);
        gnu.sparse[0].set_offset(5);
        gnu.sparse[0].set_length(3);
        gnu.sparse[1].set_offset(10);
        gnu.sparse[1].set_length(0);
    }));
    let listing = unpack(&tar).unwrap();
    let real = crate::base::digest::Digest::of(b"\0\0\0\0\0abc\0\0");
    for path in ["etc/real", "old"] {
        assert_eq!(listing.get(path).unwrap().digest, real, "{path}");
    }
    assert_eq!(Image.id().to_string(), "image@2");
    insta::assert_snapshot!(listing.id(), @"l74oacmvpju7ovqvf4cx67lbk2ugcgpniz65sfcj4re6oj3m2apa");
}

#[test]
fn long_names_and_pax_headers_end() {
    for kind in [tar::EntryType::GNULongName, tar::EntryType::GNULongLink, tar::EntryType::XHeader] {
        let mut tar = extension(kind, 64 << 20);
        tar.extend(file("x", b""));
        let problem = read(&tar).unwrap_err();
        assert!(problem.contains("2 MiB") || problem.contains("hundred times"), "{kind:?}: {problem}");
        // After a large file that is not kept in memory, too.
        let mut tar = file("large", &vec![1; 8 << 20]);
        tar.extend(extension(kind, 8 << 20));
        tar.extend(file("x", b""));
        let problem = read(&tar).unwrap_err();
        assert!(problem.contains("2 MiB"), "{kind:?}: {problem}");
    }
}

#[test]
fn deep_and_long_paths_end() {
    let named = |path: &str| {
        let mut tar = entry(tar::EntryType::GNULongName, "x", format!("{path}\0").as_bytes(), |_| {});
        tar.extend(file("x", b""));
        read(&tar).unwrap_err()
    };
    let problem = named(&"a/".repeat(100_000));
    assert!(problem.contains("more than 4,096 bytes"), "{problem}");
    let problem = named(&vec!["a"; 1000].join("/"));
    assert!(problem.contains("deeper than 128"), "{problem}");
}
