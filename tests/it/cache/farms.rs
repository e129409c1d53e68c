//! The Remote Execution API, against a farm of the tests' own. Real ones are in `host`.

use std::net::TcpListener;

use serde_json::Value;

use super::farm::{Farm, Streams, Traits};
use super::suite::{self, Peer, TARGET, build, objects, pusher, taker, workspace};
use super::{generate, write_own};
use crate::harness::{tree, tried};

/// How often each request was made.
fn count(farm: &Farm, name: &str) -> usize {
    farm.content().requests.get(name).copied().unwrap_or_default()
}

#[test]
fn sha256_and_plain_streams() {
    let farm = Farm::start(Traits { batch: 4_193_280, ..Traits::default() });
    suite::run(&Peer::farm(&farm.url));
    assert!(count(&farm, "Write") > 0 && count(&farm, "Read") > 0, "{:?}", farm.content().requests);
    assert_eq!(count(&farm, "Write, compressed") + count(&farm, "Read, compressed"), 0);
}

#[test]
fn blake3_and_compressed_streams() {
    let farm = Farm::start(Traits { blake3: true, zstd: true, ..Traits::default() });
    suite::run(&Peer::farm(&farm.url));
    assert!(count(&farm, "Write, compressed") > 0 && count(&farm, "Read, compressed") > 0);
    assert_eq!(count(&farm, "Write") + count(&farm, "Read"), 0, "{:?}", farm.content().requests);
    assert!(farm.content().blobs.keys().all(|hash| hash.len() == 64));
}

/// A limit below that of every blob makes everything a stream.
#[test]
fn nothing_is_sent_beyond_the_limit_of_a_batch() {
    let farm = Farm::start(Traits { batch: 100, ..Traits::default() });
    suite::run(&Peer::farm(&farm.url));
    assert_eq!(count(&farm, "BatchReadBlobs"), 0);
}

/// The signature is in the metadata, and where these are dropped, in a file.
#[test]
fn metadata_may_get_lost() {
    let farm = Farm::start(Traits { drops_metadata: true, ..Traits::default() });
    suite::run(&Peer::farm(&farm.url));
    assert!(farm.content().results.values().all(|result| result.execution_metadata.is_none()));
}

/// One answer says what there is of a whole closure, and one more whether it is all there.
#[test]
fn a_closure_is_two_questions() {
    let farm = Farm::start(Traits::default());
    let peer = Peer::farm(&farm.url);
    let (_, key, _) = pusher(&peer, &[TARGET]);
    let to = taker(&peer, &key);
    farm.content().requests.clear();
    build(&to, &[TARGET]);
    let asked = farm.content().requests.clone();
    assert_eq!(
        (asked["GetCapabilities"], asked["GetActionResult"], asked["FindMissingBlobs"]),
        (1, 1, 1),
        "{asked:?}"
    );
    // Nothing is missing: nobody is asked.
    farm.content().requests.clear();
    build(&to, &[TARGET]);
    assert!(farm.content().requests.is_empty());
}

#[test]
fn a_farm_that_takes_no_results_is_said_once() {
    let farm = Farm::start(Traits { read_only: true, ..Traits::default() });
    let from = workspace();
    generate(&from);
    Peer::farm(&farm.url).configure(&from, "");
    from.build(&[TARGET]);
    let said = from.run(&["push", TARGET]);
    assert!(
        said.contains("does not let clients write to its action cache") && said.contains("[exit 1]"),
        "{said}"
    );
    assert!(!said.contains("warning"), "{said}");
}

#[test]
fn secrets_stay_at_home() {
    let farm = Farm::start(Traits::default());
    let (from, _, pushed) = pusher(&Peer::farm(&farm.url), &[TARGET, "kubeconfig"]);
    assert!(pushed["kept_back"]["secret"].as_u64().unwrap() > 3, "{pushed}");
    let secrets: Vec<Vec<u8>> = tree(&from.store)
        .into_iter()
        .filter(|(path, (mode, bytes))| {
            !path.starts_with(".tinderbox") && mode & 0o077 == 0 && bytes.len() > 16
        })
        .map(|(_, (_, bytes))| bytes)
        .collect();
    assert!(secrets.len() > 3);
    let content = farm.content();
    for bytes in content.blobs.values() {
        let mut all = bytes.clone();
        if let Ok(mut decoder) = ruzstd::decoding::StreamingDecoder::new(&bytes[..]) {
            let _ = std::io::Read::read_to_end(&mut decoder, &mut all);
        }
        for secret in &secrets {
            assert!(!all.windows(secret.len().min(64)).any(|part| secret.starts_with(part)));
        }
    }
}

/// How many outputs came from a cache.
fn taken(report: &Value) -> usize {
    report["substituted"].as_array().map_or(0, Vec::len)
}

/// Outputs without the large one, which takes a while to build.
const FEW: &[&str] = &["demo/small", "demo/other"];

/// Each blob gone, and each with another byte: the result is the same, with a warning at most; a push repairs what is gone.
#[test]
fn what_rots_is_a_miss() {
    let farm = Farm::start(Traits::default());
    let peer = Peer::farm(&farm.url);
    let (from, key, _) = pusher(&peer, FEW);
    let expected = build(&from, FEW).0;
    let blobs: Vec<(String, Vec<u8>)> = farm.content().blobs.clone().into_iter().collect();
    let (mut read, mut missed) = (0, 0);
    for (hash, bytes) in &blobs {
        let mut bad = bytes.clone();
        let at = bad.len() / 2;
        bad[at] ^= 1;
        farm.content().blobs.insert(hash.clone(), bad);
        let (report, said) = build(&taker(&peer, &key), FEW);
        assert_eq!(objects(&report), objects(&expected), "{said}");
        assert!(said.matches("warning: cache").count() <= 1, "{said}");
        read += said.matches("warning: cache").count();
        farm.content().blobs.remove(hash);
        let (report, said) = build(&taker(&peer, &key), FEW);
        assert_eq!(objects(&report), objects(&expected), "{said}");
        missed += usize::from(taken(&report) < FEW.len());
        from.json(&[&["push"], FEW].concat());
        assert_eq!(taken(&build(&taker(&peer, &key), FEW).0), FEW.len(), "a push repairs it");
    }
    assert!(read >= 2 && missed >= 2, "{read} {missed} of {}", blobs.len());
    tried(&format!(
        "cache: {} blobs of a farm with another byte, and gone; {read} read and noticed",
        blobs.len()
    ));
}

/// A result that belongs to another name, and one with nothing in it.
#[test]
fn a_farm_that_lies_is_not_believed() {
    let farm = Farm::start(Traits::default());
    let peer = Peer::farm(&farm.url);
    let (from, key, _) = pusher(&peer, FEW);
    let expected = build(&from, FEW).0;
    let results = farm.content().results.clone();
    assert_eq!(results.len(), FEW.len() + 1, "entries, and an index");
    let mut noticed = 0;
    for (name, lie) in results.keys().zip(results.values().cycle().skip(1)) {
        farm.content().results.insert(name.clone(), lie.clone());
        // One derivation, so that the index of another closure does not decide.
        for target in FEW {
            let (report, said) = build(&taker(&peer, &key), &[target]);
            assert!(objects(&report).is_subset(&objects(&expected)));
            noticed += said.matches("warning: cache").count();
        }
        farm.content().results.clone_from(&results);
    }
    assert!(noticed >= 2, "{noticed}");
    for result in farm.content().results.values_mut() {
        result.output_files.clear();
        result.execution_metadata = None;
    }
    let (report, said) = build(&taker(&peer, &key), FEW);
    assert!(report["substituted"].is_null() && said.matches("warning: cache").count() == 1, "{said}");
}

/// Down, silent, or speaking something else: the build goes on, says so once, and its result is the same.
#[test]
fn a_farm_that_does_not_work_is_no_hindrance() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let noisy = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = |listener: &TcpListener| listener.local_addr().unwrap().to_string();
    let (black_hole, garbage) = (address(&silent), address(&noisy));
    std::thread::spawn(move || {
        let mut kept = Vec::new();
        for connection in noisy.incoming() {
            let mut connection = connection.unwrap();
            let _ = std::io::Write::write_all(&mut connection, b"220 smtp.example.com ESMTP\r\n");
            kept.push(connection);
        }
    });
    let closed = address(&TcpListener::bind("127.0.0.1:0").unwrap());
    let expected = build(&workspace(), &[TARGET]).0;
    let cases = [
        ("grpc", &black_hole, "no answer within 2 s"),
        ("grpc", &garbage, "it does not speak gRPC"),
        ("grpc", &closed, "refused"),
        ("grpcs", &black_hole, "no answer within 2 s"),
        ("grpcs", &garbage, "it does not speak TLS"),
    ];
    for (scheme, place, reason) in cases {
        let to = workspace();
        let key = generate(&to);
        let config = format!("caches: [{{url: '{scheme}://{place}/x', trust: [{{key: '{key}'}}]}}]\n");
        write_own(&to, "config.yaml", &config);
        let (report, said) = build(&to, &[TARGET]);
        assert_eq!(objects(&report), objects(&expected));
        assert_eq!(said.matches(&format!("warning: cache {scheme}://")).count(), 1, "{said}");
        assert!(
            said.contains(reason) && said.contains("not asked again in this run"),
            "{scheme} {reason}: {said}"
        );
        for flag in ["--no-cache", "--offline"] {
            let (_, said) = build(&workspace(), &[flag, TARGET]);
            assert!(!said.contains("warning: cache"), "{said}");
        }
    }
    drop(silent);
}

/// Nothing to list and nothing to delete: that is the farm's own business.
#[test]
fn a_farm_is_not_pruned() {
    let to = workspace();
    Peer::farm("grpc://127.0.0.1:1/x").configure(&to, "");
    let said = to.run(&["cache", "prune", "--keep-closures", "1"]);
    assert!(said.contains("only registries are pruned") && said.contains("[exit 1]"), "{said}");
}

/// Streams that never end, or never get anywhere, are misses.
#[test]
fn streams_have_an_end() {
    for (streams, zstd, name) in
        [(Streams::Dripping, false, "Read"), (Streams::Empty, true, "Read, compressed")]
    {
        let farm = Farm::start(Traits { zstd, ..Traits::default() });
        let peer = Peer::farm(&farm.url);
        let (_, key, _) = pusher(&peer, &["demo/large"]);
        farm.content().streams = streams;
        let (report, said) = build(&taker(&peer, &key), &["demo/large"]);
        assert_eq!((taken(&report), count(&farm, name) > 0), (0, true), "{streams:?}: {said}");
        assert_eq!(said.matches("warning: cache").count(), 1, "{streams:?}: {said}");
    }
}
