//! Keys, envelopes and packs, without a registry.

use proptest::prelude::*;
use zeroize::Zeroizing;

use super::key::{PublicKey, SigningKey};
use super::manifest::{Entry, LargeFile};
use super::oci::bounded;
use super::{CacheUrl, Identities, Recipients, Trusted, envelope, pack, sealed};
use crate::base::secret::IdKey;
use crate::engine::registry::{Descriptor, Sha256};
use crate::engine::store::{Session, Store};
use crate::engine::tree::{EntryKind, Listing};

fn key(byte: u8) -> SigningKey {
    SigningKey::from_seed(Zeroizing::new([byte; 32])).unwrap()
}

/// Literal texts: changing one makes every signature that exists worthless.
#[test]
fn keys_are_pinned() {
    let key = key(7);
    insta::assert_snapshot!(key.public(), @"ed25519:6kpsY+KcUgq+9VB7Ey7F+ZVHdq6+vnuSQh7qaRRG0iw=");
    insta::assert_snapshot!(key.public().name(), @"324be2dea8bc4446");
    let again = SigningKey::from_pem(&key.to_pem()).unwrap();
    assert_eq!(again.public(), key.public());
    assert_eq!(key.public().to_string().parse::<PublicKey>().unwrap(), key.public());
    assert!(!format!("{key:?}").contains("BwcH"), "the private half is never printed");
}

#[test]
fn what_is_no_key_is_refused_and_not_quoted() {
    let pem = key(7).to_pem();
    let broken = pem.replace("MC4CAQAw", "MC4CAQEw").replace("BQYDK2Vw", "BQYDK2Vu");
    for text in ["", "hunter2", &pem[..60], &broken] {
        let error = SigningKey::from_pem(text).unwrap_err().to_string();
        assert!(!error.contains("hunter2"), "{error}");
    }
    for text in ["", "ed25519:", "ed25519:AAAA", "rsa:11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="] {
        assert!(text.parse::<PublicKey>().is_err(), "{text}");
    }
}

/// Every changed byte of an envelope makes it worthless, or leaves what it says as it was.
#[test]
fn an_envelope_notices_every_change() {
    let (key, other) = (key(7), key(8));
    let sealed = envelope::seal(b"{\"it\":\"is\"}", &key).unwrap();
    assert_eq!(envelope::open(&sealed, &key.public()).unwrap(), b"{\"it\":\"is\"}");
    assert!(envelope::open(&sealed, &other.public()).is_err());
    for at in 0..sealed.len() {
        let mut bytes = sealed.clone();
        bytes[at] ^= 1;
        // The key's name in it is a hint that nobody relies on.
        if let Ok(payload) = envelope::open(&bytes, &key.public()) {
            assert_eq!(payload, b"{\"it\":\"is\"}");
        }
        assert!(envelope::open(&sealed[..at], &key.public()).is_err());
    }
}

#[test]
fn scopes_are_names_and_folders() {
    let trusted = |scope: &[&str]| Trusted {
        key: key(7).public(),
        scope: scope.iter().map(|&name| name.to_owned()).collect(),
        secrets: false,
    };
    assert!(trusted(&[]).covers("pki/admin"));
    let signers = [key(7).public().to_string()].into();
    let vouches = |trusted: &Trusted, secret| trusted.vouches(&signers, "key/admin", secret);
    assert!(vouches(&trusted(&["key"]), false) && !vouches(&trusted(&["key"]), true));
    assert!(vouches(&Trusted { secrets: true, ..trusted(&["key"]) }, true));
    let scoped = trusted(&["mco", "release/payload"]);
    for name in ["mco", "mco/rendered", "release/payload"] {
        assert!(scoped.covers(name), "{name}");
    }
    for name in ["mcox", "pki/mco", "release/payload2", "release"] {
        assert!(!scoped.covers(name), "{name}");
    }
}

#[test]
fn urls_are_repositories() {
    for good in ["oci://registry.example.com:5000/team/tinderbox", "oci://127.0.0.1:5000/x"] {
        assert_eq!(good.parse::<CacheUrl>().unwrap().to_string(), good);
    }
    for bad in ["", "https://r.io/x", "oci://r.io", "oci://r.io/x:tag", "oci://r.io/x:latest", "oci://r.io/X"]
    {
        assert!(bad.parse::<CacheUrl>().is_err(), "{bad}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    /// Whatever an object consists of, its pack gives it back: names, contents, modes, links and empty directories. The
    /// same object has the same pack.
    #[test]
    fn objects_survive_their_pack(
        files in proptest::collection::btree_map("[a-zäß .]{1,12}(/[a-z]{1,120}){0,2}", (any::<bool>(), proptest::collection::vec(any::<u8>(), 0..600)), 0..20),
        dirs in proptest::collection::btree_set("d[0-9]{1,3}", 0..3),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let session = Session::open(&Store::open_or_create(dir.path()).unwrap(), None).unwrap();
        let tree = session.stage(false).unwrap();
        let mut first = None;
        for (path, (exec, bytes)) in &files {
            // A path cannot be a file and a directory at once; others are refused.
            let is_below = |other: &String| path.starts_with(&format!("{other}/"));
            if files.keys().any(is_below) {
                continue;
            }
            if tree.write(path, bytes, *exec).is_ok() {
                first.get_or_insert_with(|| path.clone());
            }
        }
        dirs.iter().for_each(|path| drop(tree.dir(path)));
        if let Some(path) = first.filter(|path| !path.contains('/')) {
            tree.link("0/link", &format!("../{path}")).unwrap();
        }
        let staged = session.finish(tree, "it").unwrap();
        session.sync().unwrap();
        let output = session.publish(&staged).unwrap();
        let object = session.store().object(output.object).unwrap();
        let packed = pack::pack(&object.path, &object.listing).unwrap();
        prop_assert_eq!(&packed, &pack::pack(&object.path, &object.listing).unwrap());
        let back = session.stage(false).unwrap();
        pack::unpack(&packed, object.listing.size(), &back).unwrap();
        let again = session.finish(back, "again").unwrap();
        prop_assert_eq!(again.id(), output.object);
        // A byte less, or another one: never the same object under another guise.
        let short = session.stage(false).unwrap();
        let cut = pack::unpack(&packed[..packed.len() - 1], object.listing.size(), &short);
        if cut.is_ok() {
            prop_assert!(files_of(&object.listing) == 0 || session.finish(short, "cut").unwrap().id() == output.object);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]
    /// The same for what is sealed: secret and public files side by side, large ones, links. Ids are keyed, and come back with the
    /// same key only.
    #[test]
    fn secret_objects_survive_being_sealed(
        files in proptest::collection::btree_map("[a-z]{1,6}(/[a-z]{1,12})?", (any::<bool>(), any::<bool>(), 0usize..3_000), 1..12),
        large in 0usize..2,
    ) {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open_or_create(dir.path()).unwrap();
        let session = Session::open(&store, Some(IdKey::from_seed(&[7; 32]))).unwrap();
        let tree = session.stage(false).unwrap();
        tree.write_secret("0/secret", b"hunter2", true).unwrap();
        tree.write_secret("0/large", &vec![b'x'; large << 20], false).unwrap();
        tree.link_as("0/link", "secret", true).unwrap();
        tree.link("0/other", "large").unwrap();
        for (path, (exec, secret, size)) in &files {
            let bytes = vec![b'y'; *size];
            // A path cannot be a file and a directory at once; others are refused.
            let _ = if *secret { tree.write_secret(path, &bytes, *exec) } else { tree.write(path, &bytes, *exec) };
        }
        let Ok(staged) = session.finish(tree, "it") else { return Ok(()) };
        session.sync().unwrap();
        let output = session.publish(&staged).unwrap();
        let object = store.object(output.object).unwrap();
        let identity = age::x25519::Identity::generate();
        let recipients: Recipients = [identity.to_public()].into_iter().collect();
        let identities = Identities::new(vec![Box::new(identity)]);
        let mut blobs = Vec::new();
        let mut pass = |blob| {
            blobs.push(blob);
            Ok(())
        };
        let sealer = sealed::Sealer::new(&recipients, b"{}", &mut pass).unwrap();
        pack::write_all(sealer, &object.path, &object.listing).unwrap().finish().unwrap();
        let restore = |session: &Session| {
            let mut left = blobs.iter();
            let mut content = sealed::Content::new(|| Ok(left.next().map(|blob| identities.open(blob).unwrap())));
            content.statement().unwrap();
            let back = session.stage(false).unwrap();
            assert!(pack::fill(&mut content, (object.listing.size(), pack::ENTRIES), &back, true).unwrap() >= 3);
            session.finish(back, "again").unwrap()
        };
        let again = restore(&session);
        prop_assert_eq!(again.id(), output.object);
        let other = tempfile::tempdir().unwrap();
        let other = Store::open_or_create(other.path()).unwrap();
        let other = Session::open(&other, Some(IdKey::from_seed(&[8; 32]))).unwrap();
        prop_assert_ne!(restore(&other).id(), output.object);
    }
}

fn files_of(listing: &Listing) -> usize {
    listing.leaves("").filter(|(_, entry)| matches!(entry.kind, EntryKind::File { .. })).count()
}

/// Packs that a trusted key signed and that are nothing of ours.
#[test]
fn a_pack_has_limits() {
    use std::io::Write as _;

    let packed = |fill: &dyn Fn(&mut tar::Builder<Vec<u8>>)| {
        let mut tar = tar::Builder::new(Vec::new());
        fill(&mut tar);
        let plain = tar.into_inner().unwrap();
        ruzstd::encoding::compress_to_vec(&plain[..], ruzstd::encoding::CompressionLevel::Fastest)
    };
    let header = |kind: tar::EntryType, path: &str, size: u64| {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(kind);
        header.set_size(size);
        header.set_mode(0o644);
        // As an attacker would: whatever it says.
        header.as_mut_bytes()[..path.len()].copy_from_slice(path.as_bytes());
        header.set_cksum();
        header
    };
    let dir = tempfile::tempdir().unwrap();
    let session = Session::open(&Store::open_or_create(&dir.path().join("store")).unwrap(), None).unwrap();
    let outside = dir.path().join("outside");
    let refused = |name: &str, pack: Vec<u8>, size: u64| {
        let tree = session.stage(false).unwrap();
        let error = pack::unpack(&pack, size, &tree).unwrap_err();
        session.abandon(tree);
        assert!(!crate::base::fs::exists(&outside).unwrap(), "{name}");
        match error {
            pack::UnpackError::Wrong(text) => text,
            pack::UnpackError::Tree(error) => error.to_string(),
        }
    };
    let file = |path: &'static str, size: usize| {
        packed(&move |tar| {
            tar.append(&header(tar::EntryType::Regular, path, size as u64), &vec![0; size][..]).unwrap()
        })
    };
    let said = refused("bomb", file("zeros", 64 << 20), 1000);
    assert!(said.contains("more than was signed"), "{said}");
    let name = packed(&|tar| {
        let long = vec![b'x'; 8 << 20];
        tar.append(&header(tar::EntryType::GNULongName, "././@LongLink", long.len() as u64), &long[..])
            .unwrap();
        tar.append(&header(tar::EntryType::Regular, "x", 0), &[][..]).unwrap();
    });
    let said = refused("name", name, 1 << 40);
    assert!(said.contains("more than 2 MiB"), "{said}");
    for path in ["../outside", "/outside", "a/../../../../outside", "a//b", ".", ""] {
        refused(path, file(path, 1), 10);
    }
    for kind in [tar::EntryType::Link, tar::EntryType::Char, tar::EntryType::Fifo, tar::EntryType::GNUSparse]
    {
        let pack = packed(&|tar| tar.get_mut().write_all(header(kind, "x", 0).as_bytes()).unwrap());
        refused("kind", pack, 10);
    }
    let through = packed(&|tar| {
        let mut link = header(tar::EntryType::Symlink, "way", 0);
        link.set_link_name("../../../../..").unwrap();
        link.set_cksum();
        tar.append(&link, &[][..]).unwrap();
        tar.append(&header(tar::EntryType::Regular, "way/outside", 1), &b"x"[..]).unwrap();
    });
    refused("link", through, 10);
    let deep = packed(&|tar| {
        let path = "d/".repeat(3000);
        let long = [path.as_bytes(), b"x\0"].concat();
        tar.append(&header(tar::EntryType::GNULongName, "././@LongLink", long.len() as u64), &long[..])
            .unwrap();
        tar.append(&header(tar::EntryType::Regular, "x", 0), &[][..]).unwrap();
    });
    refused("depth", deep, 10);
    assert!(pack::limit(0) < 64 << 20 && pack::limit(u64::MAX) <= 1 << 30);
}

/// What a registry says of sizes is its own word, and nobody signed it.
#[test]
fn an_entry_is_no_larger_than_what_was_signed() {
    let blob = |size| Descriptor { media_type: String::new(), digest: Sha256::of(b""), size };
    let entry = |pack, files: &[u64]| Entry {
        statement: blob(1),
        inline: None,
        pack: blob(pack),
        files: files
            .iter()
            .map(|size| LargeFile { path: "x".into(), exec: false, blob: blob(*size) })
            .collect(),
    };
    let fits = |entry: Entry, signed| bounded(&entry, signed).is_ok();
    assert!(fits(entry(1000, &[2 << 20, 3 << 20]), 5 << 20));
    assert!(!fits(entry(1000, &[2 << 20, 3 << 20]), (5 << 20) - 1));
    assert!(!fits(entry(1000, &[u64::MAX, 2]), u64::MAX), "their sum has no number");
    assert!(!fits(entry(1000, &[1 << 40]), u64::MAX), "whoever signed it");
    assert!(!fits(entry(1 << 30, &[]), 1000));
}

/// Instances may have slashes, or be left out; so may the usual port.
#[test]
fn urls_are_instances_of_farms() {
    for (text, shown) in [
        ("grpc://127.0.0.1:8980", "grpc://127.0.0.1:8980"),
        ("grpcs://farm.example.com", "grpcs://farm.example.com:443"),
        ("grpcs://[::1]/a", "grpcs://[::1]:443/a"),
        ("grpc://farm:80/remote-execution/main", "grpc://farm:80/remote-execution/main"),
    ] {
        let url = text.parse::<CacheUrl>().unwrap();
        assert_eq!(url.to_string(), shown);
        assert_eq!(shown.parse::<CacheUrl>().unwrap(), url);
    }
    for bad in [
        "grpc://",
        "grpc:///x",
        "grpcs://farm/",
        "grpcs://farm//x",
        "grpcs://me@farm/x",
        "grpcs://farm/x?y",
        "http://farm/x",
    ] {
        assert!(bad.parse::<CacheUrl>().is_err(), "{bad}");
    }
}
