//! Caches on bad days: whatever happens, the build goes on, says so once, asks no more often than is decent, and gives the same.

use std::process::Stdio;
use std::sync::mpsc::channel;
use std::sync::{Arc, Condvar, Mutex};

use super::memory::{Memory, Valid};
use super::{build, configure_at, generate, objects};
use crate::harness::{Workspace, in_mount_namespace, names};
use crate::registry::server::{Answer, Request};

const SMALL: &str = "manifest";

fn configure(workspace: &Workspace, memory: &Memory, trust: &[&str]) {
    configure_at(workspace, (&memory.address, &memory.ca), trust, "");
}

/// A workspace that built targets and pushed them; and its public key as one whom others trust.
fn pusher(memory: &Memory, targets: &[&str]) -> (Workspace, String) {
    let workspace = Workspace::example();
    let key = format!("key: '{}'", generate(&workspace));
    configure(&workspace, memory, &[]);
    workspace.build(targets);
    workspace.json(&[&["push"], targets].concat());
    memory.count("");
    (workspace, key)
}

fn taker(memory: &Memory, key: &str) -> Workspace {
    let workspace = Workspace::example();
    configure(&workspace, memory, &[key]);
    workspace
}

fn is_blob(request: &Request) -> bool {
    request.line.starts_with("GET ") && request.line.contains("/blobs/")
}

/// A bad day, from the registry's side.
type Trouble = fn(&Request) -> Option<Answer>;

fn bytes(body: Vec<u8>) -> Option<Answer> {
    Some(Answer { body, ..Answer::status(200) })
}

/// What a registry does, what is said about it, and how many requests there may be.
const TROUBLES: [(&str, Trouble, &str, usize); 8] = [
    (
        "garbage for blobs",
        |request| is_blob(request).then(|| bytes(vec![0; 700]))?,
        "not what its digest says",
        60,
    ),
    (
        "an empty answer",
        |request| is_blob(request).then(|| bytes(Vec::new()))?,
        "not what its digest says",
        60,
    ),
    (
        "blobs that break off",
        |request| {
            let answer =
                Answer { body: vec![0; 20], announced: Some(1 << 20), stop: Some(20), ..Answer::status(200) };
            is_blob(request).then_some(answer)
        },
        "cache oci://",
        60,
    ),
    ("no blob at all", |request| is_blob(request).then(|| Answer::status(404)), "is missing", 60),
    (
        "errors of its own",
        |request| is_blob(request).then(|| Answer::status(500)),
        "it answers 500 Internal Server Error",
        // Two tries each, three in a row, and what is on its way meanwhile.
        16,
    ),
    ("nothing but errors", |_| Some(Answer::status(503)), "it answers 503", 2),
    (
        "a page of a proxy",
        |_| bytes(b"<html>please log in</html>".to_vec()),
        "its closure index cannot be read",
        60,
    ),
    (
        "too many requests",
        |_| Some(Answer::status(429).with("Retry-After", "3600")),
        "no answer within 2 s",
        2,
    ),
];

#[test]
fn trouble_is_said_once_and_the_result_is_the_same() {
    let memory = Memory::start();
    let (from, key) = pusher(&memory, &[SMALL]);
    let expected = build(&from, &[SMALL]).0;
    for (name, trouble, reason, most) in TROUBLES {
        memory.rule(trouble);
        let to = taker(&memory, &key);
        let (report, said) = build(&to, &[SMALL]);
        assert_eq!(objects(&report), objects(&expected), "{name}");
        assert!(report["substituted"].is_null(), "{name}: {report}");
        assert_eq!(said.matches("warning: cache").count(), 1, "{name}: {said}");
        assert!(said.contains(reason), "{name}: {said}");
        let count = memory.count("");
        assert!((1..=most).contains(&count), "{name}: {count} requests");
    }
    memory.rule(|_| None);
    let to = taker(&memory, &key);
    let (report, said) = build(&to, &[SMALL]);
    assert!(!report["substituted"].is_null() && !said.contains("warning"), "{said}");
}

/// Documents that were cut, and those of a tinderbox to come.
#[test]
fn documents_that_nobody_understands_are_misses() {
    let memory = Memory::start();
    let (from, key) = pusher(&memory, &[SMALL]);
    let expected = build(&from, &[SMALL]).0;
    type Change = fn(&str, &mut Vec<u8>);
    let changes: [(&str, Change); 4] = [
        ("half an index", |name, bytes| {
            if name.starts_with("manifests/closure-") {
                bytes.truncate(bytes.len() / 2);
            }
        }),
        ("half of every document", |name, bytes| {
            if name.starts_with("manifests/") {
                bytes.truncate(bytes.len() / 2);
            }
        }),
        ("empty documents", |name, bytes| {
            if name.starts_with("manifests/") {
                bytes.clear();
            }
        }),
        ("a newer version", |name, bytes| {
            if name.starts_with("manifests/") {
                let text = String::from_utf8(bytes.clone()).unwrap().replace("closure.v1", "closure.v2");
                *bytes = text.into_bytes();
            }
        }),
    ];
    for (name, change) in changes {
        memory.change(change);
        let to = taker(&memory, &key);
        let (report, said) = build(&to, &[SMALL]);
        assert_eq!(objects(&report), objects(&expected), "{name}");
        assert_eq!(said.matches("warning: cache").count(), 1, "{name}: {said}");
        // A push mends it.
        from.json(&["push", SMALL]);
        let to = taker(&memory, &key);
        let (report, said) = build(&to, &[SMALL]);
        assert!(!report["substituted"].is_null() && !said.contains("warning"), "{name}: {said}");
    }
}

#[test]
fn a_slow_first_answer_is_not_waited_for() {
    let memory = Memory::start();
    let (_, key) = pusher(&memory, &[SMALL]);
    memory.rule(|_| {
        loop {
            std::thread::park();
        }
    });
    let to = taker(&memory, &key);
    let (report, said) = build(&to, &[SMALL]);
    assert!(report["substituted"].is_null());
    assert!(said.contains("no answer within 2 s") && said.matches("warning: cache").count() == 1, "{said}");
    assert!(memory.count("") <= 2);
}

/// Whether it is the certificate or the clock that is wrong.
#[test]
fn a_certificate_out_of_its_time_is_no_cache() {
    for (valid, reason) in [(Valid::Expired, "has expired"), (Valid::Later, "is not valid yet")] {
        let memory = Memory::with(valid);
        let to = Workspace::example();
        let key = format!("key: '{}'", generate(&to));
        configure(&to, &memory, &[&key]);
        let (report, said) = build(&to, &["infra/network"]);
        assert!(report["substituted"].is_null());
        assert!(said.contains(reason) && said.matches("warning: cache").count() == 1, "{said}");
        let said = to.run(&["push", "infra/network"]);
        assert!(
            said.contains(reason) && said.contains("this machine's clock") && said.contains("[exit 1]"),
            "{said}"
        );
    }
}

/// Full, read-only, or with an opinion about who may write: said once, and nothing is half there.
#[test]
fn refused_uploads_are_reported_once() {
    for (status, reason) in [(507, "507 Insufficient Storage"), (405, "405"), (403, "403"), (500, "500")] {
        let memory = Memory::start();
        let from = Workspace::example();
        generate(&from);
        configure(&from, &memory, &[]);
        from.build(&[SMALL]);
        memory.rule(move |request| {
            let writes = ["POST ", "PUT ", "PATCH "].iter().any(|method| request.line.starts_with(method));
            writes.then(|| Answer::status(status))
        });
        let said = from.run(&["push", SMALL]);
        assert!(said.contains(reason) && said.contains("[exit 1]"), "{status}: {said}");
        assert_eq!(said.matches("error: ").count(), 1, "{status}: {said}");
        assert!(memory.is_empty(), "{status}");
        assert!(memory.count("POST") <= 40, "{status}");
    }
}

/// Stops everybody at a request, and says so.
struct Gate(Arc<(Mutex<bool>, Condvar)>);

impl Gate {
    /// Closed from the `nth` matching request on.
    fn at(memory: &Memory, nth: usize, is_it: fn(&Request) -> bool) -> (Self, std::sync::mpsc::Receiver<()>) {
        let gate = Arc::new((Mutex::new(false), Condvar::new()));
        let (arrived, arrivals) = channel();
        let (count, shut) = (Mutex::new(0), gate.clone());
        memory.rule(move |request| {
            if is_it(request) {
                let seen = {
                    let mut count = count.lock().unwrap();
                    *count += 1;
                    *count
                };
                if seen >= nth {
                    let _ = arrived.send(());
                    let opened = shut.1.wait_while(shut.0.lock().unwrap(), |open| !*open).unwrap();
                    drop(opened);
                }
            }
            None
        });
        (Self(gate), arrivals)
    }

    fn open(self, memory: &Memory) {
        *self.0.0.lock().unwrap() = true;
        self.0.1.notify_all();
        memory.rule(|_| None);
    }
}

/// What a killed push left is either whole or not there, and the next one completes it.
#[test]
fn a_killed_push_leaves_nothing_half_done() {
    let memory = Memory::start();
    let from = Workspace::example();
    let key = format!("key: '{}'", generate(&from));
    configure(&from, &memory, &[]);
    let expected = build(&from, &[SMALL]).0;
    let is_upload = |request: &Request| request.line.starts_with("POST ");
    let (gate, arrivals) = Gate::at(&memory, 20, is_upload);
    let mut push =
        from.command(&["push", SMALL]).stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    arrivals.recv().unwrap();
    push.kill().unwrap();
    push.wait().unwrap();
    gate.open(&memory);
    assert!(!memory.is_empty(), "some outputs were complete");
    let to = taker(&memory, &key);
    let (report, said) = build(&to, &[SMALL]);
    assert_eq!(objects(&report), objects(&expected));
    assert!(!said.contains("warning"), "{said}");
    let some = names(&report["substituted"]).len();
    let again = &from.json(&["push", SMALL])[0];
    assert!(some > 0 && again["new"].as_u64().unwrap() > 0, "{some} {again}");
    let (report, _) = build(&taker(&memory, &key), &[SMALL]);
    assert_eq!(names(&report["substituted"]).len() as u64, again["entries"].as_u64().unwrap());
}

#[test]
fn a_killed_pull_leaves_a_sound_store_and_goes_on() {
    let memory = Memory::start();
    let (from, key) = pusher(&memory, &[SMALL]);
    let expected = build(&from, &[SMALL]).0;
    let to = taker(&memory, &key);
    let (gate, arrivals) = Gate::at(&memory, 10, is_blob);
    let mut pull = to.command(&["pull", SMALL]).stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    arrivals.recv().unwrap();
    pull.kill().unwrap();
    pull.wait().unwrap();
    gate.open(&memory);
    to.assert_sound();
    let pulled = to.json(&["pull", SMALL]);
    assert!(!names(&pulled["pulled"]).is_empty(), "{pulled}");
    assert_eq!(objects(&build(&to, &["--offline", SMALL]).0), objects(&expected));
    to.assert_sound();
}

/// Another cluster's entries are nothing to this one, whoever signed them; what both have is shared.
#[test]
fn a_cache_of_another_cluster() {
    let memory = Memory::start();
    let (_, key) = pusher(&memory, &[SMALL]);
    let other = |key: Option<&str>| {
        let workspace = Workspace::example();
        workspace.edit("install-config.yaml", "baseDomain: example.com", "baseDomain: example.org");
        configure(&workspace, &memory, &key.into_iter().collect::<Vec<_>>());
        workspace
    };
    let expected = build(&other(None), &[SMALL]).0;
    let (report, said) = build(&other(Some(&key)), &[SMALL]);
    assert_eq!(objects(&report), objects(&expected));
    assert!(!said.contains("warning"), "{said}");
    let (taken, built) = (names(&report["substituted"]), names(&report["built"]));
    assert!(taken.iter().any(|name| name.starts_with("release/")), "{taken:?}");
    assert!(built.contains(&"manifest/cluster-dns-02-config".to_owned()), "{built:?}");
}

/// There is room for what is built, and not for what a cache has: an error that says so, and a sound store.
#[test]
fn a_disk_that_is_full_while_pulling() {
    let Some(flags) = in_mount_namespace("a full disk") else { return };
    let memory = Memory::start();
    let (_, key) = pusher(&memory, &[SMALL]);
    let to = taker(&memory, &key);
    std::fs::create_dir_all(&to.store).unwrap();
    let script = "mount -t tmpfs -o size=600k,mode=755 tinderbox $S
        $T pull manifest; echo full: $?
        mount -o remount,size=64m $S
        $T store verify -q; echo verify: $?
        $T pull -q manifest; echo room: $?
        $T build -q --offline manifest > /dev/null; echo built: $?
        $T store verify -q; echo verify: $?";
    let mut command = to.command_of(std::path::Path::new("unshare"), &flags);
    command.args(["sh", "-c", script]).env("S", &to.store).env("T", env!("CARGO_BIN_EXE_tinderbox"));
    let output = command.output().unwrap();
    let text = to.text(&output);
    for line in ["full: 1", "verify: 0", "room: 0", "built: 0", "No space left on device"] {
        assert!(text.contains(line), "{line}: {text}");
    }
    assert_eq!(text.matches("warning: cache").count(), 1, "{text}");
}
