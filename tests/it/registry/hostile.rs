//! Registries that want more than they should get: credentials in clear text, memory, time.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tinderbox::internals::cancel::Cancel;
use tinderbox::internals::registry::{Access, Images as _, Patience, RegistryError, Remote, Target as _};

use crate::registry::bad::{assert_clean, pull_secret};
use crate::registry::sample::Sample;
use crate::registry::server::{Answer, Server, hasty};

/// A registry whose token server is elsewhere.
fn with_realm(sample: &Sample, realm: String) -> Server {
    Server::with(sample, move |_, _| {
        let challenge = format!("Bearer realm=\"{realm}\",service=\"x\"");
        Some(Answer::status(401).with("WWW-Authenticate", challenge))
    })
}

#[test]
fn a_realm_without_tls_gets_nothing() {
    let sample = Sample::new();
    let thief = Server::with(&sample, |_, _| {
        Some(Answer { body: br#"{"token":"s3cr3t-token"}"#.to_vec(), ..Answer::status(200) })
    });
    let server = with_realm(&sample, format!("http://{}/token", thief.address));
    for secret in [pull_secret(&server.address, "me", "hunter2"), None] {
        let remote = Remote::new(Access { pull_secret: secret, ..server.access() }).unwrap();
        let error = remote.resolve(&server.name()).unwrap_err();
        assert!(error.to_string().contains("does not use TLS"), "{error}");
        assert_clean(&error);
    }
    assert!(thief.log.lock().unwrap().is_empty(), "{:?}", thief.log);
}

#[test]
fn a_token_has_an_end() {
    let sample = Sample::new();
    let long = Server::with(&sample, |request, _| {
        let host = request.header("host").unwrap_or_default().to_owned();
        let answer = match request.line.contains("/token") {
            // A token that would do, behind 8 MiB.
            true => {
                let body = [vec![b' '; 8 << 20], br#"{"token":"s3cr3t-token"}"#.to_vec()].concat();
                Answer { body, ..Answer::status(200) }
            }
            false => Answer::status(401)
                .with("WWW-Authenticate", format!("Bearer realm=\"http://{host}/token\",service=\"x\"")),
        };
        Some(answer)
    });
    let secret = pull_secret(&long.address, "me", "hunter2");
    let remote = Remote::new(Access { pull_secret: secret, ..long.access() }).unwrap();
    let error = remote.resolve(&long.name()).unwrap_err();
    assert!(error.to_string().contains("its token server sent an invalid response"), "{error}");
    assert_clean(&error);
}

/// However often the registry is patient with itself: a manifest has one deadline.
#[test]
fn a_manifest_has_a_deadline() {
    let sample = Sample::new();
    // A byte every few milliseconds never runs into the timeout between two bytes.
    let drip =
        Answer { body: vec![b' '; 2000], drip: Some((1, Duration::from_millis(5))), ..Answer::status(200) };
    let server = Server::with(&sample, move |_, _| Some(drip.clone()));
    let patience = Patience { whole: Duration::from_millis(500), ..hasty() };
    let remote = Remote::new(Access { patience, ..server.access() }).unwrap();
    let error = remote.resolve(&server.name()).unwrap_err();
    assert!(
        matches!(&error, RegistryError::Unreachable { reason, .. } if reason.starts_with("it did not send")),
        "{error}"
    );
}

/// Reads a blob of a registry that sends it in this way; what it lacks, or the error.
fn slow_blob(answer: impl Fn(&Answer, usize) -> Answer + Send + Sync + 'static) -> Result<u64, String> {
    let sample = Sample::new();
    let (blob, bytes) = sample.blobs.iter().max_by_key(|(blob, _)| blob.size).unwrap().clone();
    let content = bytes.clone();
    let server = Server::with(&sample, move |request, _| {
        request.line.contains("blobs/").then(|| {
            let range = request.header("range").unwrap_or("bytes=0-");
            let from: usize = range.trim_start_matches("bytes=").trim_end_matches('-').parse().unwrap();
            let range = format!("bytes {from}-{}/{}", content.len() - 1, content.len());
            let whole = Answer { body: content[from..].to_vec(), ..Answer::status(206) };
            answer(&whole.with("Content-Range", range), from)
        })
    });
    // A thousand bytes per second, over a tenth of a second.
    let patience = Patience { lowest_pace: 1000, pace_window: Duration::from_millis(100), ..hasty() };
    let remote = Remote::new(Access { patience, ..server.access() }).unwrap();
    let mut reader = remote.blob(&server.name(), &blob).unwrap();
    let mut read = Vec::new();
    match std::io::Read::read_to_end(&mut reader, &mut read) {
        Ok(count) => Ok(blob.size - count as u64),
        Err(error) => Err(error.to_string()),
    }
}

/// One byte every few milliseconds never runs into the timeout between two bytes.
#[test]
fn a_blob_has_a_lowest_speed() {
    let drip = |answer: &Answer, _| Answer { drip: Some((1, Duration::from_millis(20))), ..answer.clone() };
    let error = slow_blob(drip).unwrap_err();
    assert!(error.contains("too slow") && error.contains("broke off after"), "{error}");
    // Nor does a connection that breaks after each byte, although there is always progress.
    let error = slow_blob(|answer, _| Answer { stop: Some(1), ..answer.clone() }).unwrap_err();
    assert!(error.contains("broke off after"), "{error}");
    // One bad moment is forgiven.
    let once = |answer: &Answer, from| match from {
        0 => Answer { drip: Some((1, Duration::from_millis(20))), ..answer.clone() },
        _ => answer.clone(),
    };
    assert_eq!(slow_blob(once), Ok(0));
}

/// A registry that wants us to come back in an hour, drips, or says nothing keeps nobody who cancels.
#[test]
fn a_wait_that_is_cancelled_ends_at_once() {
    let sample = Sample::new();
    let patient = || Patience { longest: Duration::from_secs(3600), ..Patience::default() };
    let (blob, bytes) = sample.blobs.iter().max_by_key(|(blob, _)| blob.size).unwrap().clone();
    let later = Answer::status(429).with("Retry-After", "3600");
    let drip = Answer { body: bytes, drip: Some((1, Duration::from_secs(3))), ..Answer::status(200) };
    let silent = Answer { announced: Some(100), ..Answer::status(200) };
    for answer in [later, drip, silent] {
        let cancel = Cancel::default();
        let (flag, first) = (cancel.clone(), answer.clone());
        let server = Server::with(&sample, move |_, _| {
            flag.set(); // once there is something to wait for
            Some(first.clone())
        });
        let access = Access { patience: patient(), cancel, ..server.access() };
        let remote = Remote::new(access).unwrap();
        let begin = std::time::Instant::now();
        let error = remote.resolve(&server.name()).unwrap_err();
        assert_eq!(error.to_string(), "interrupted", "{answer:?}");
        let read = remote.blob(&server.name(), &blob).map(|mut reader| {
            std::io::Read::read_to_end(&mut reader, &mut Vec::new()).unwrap_err().to_string()
        });
        let said = read.unwrap_or_else(|error| error.to_string());
        assert!(said.ends_with("interrupted"), "{said}");
        assert!(begin.elapsed() < Duration::from_secs(3), "{answer:?}");
    }
}

/// Puts a blob into a registry that wants it at this place; the error, if it is not sent.
fn upload(sample: &Sample, to: String) -> (Server, Result<(), RegistryError>) {
    let server = Server::with(sample, move |request, _| {
        let authorized = request.header("authorization") == Some("Basic bWU6aHVudGVyMg==");
        match request.line.split(' ').next() {
            Some("POST") if authorized => Some(Answer::status(202).with("Location", to.clone())),
            _ => Some(Answer::status(401).with("WWW-Authenticate", "Basic realm=\"x\"")),
        }
    });
    let secret = pull_secret(&server.address, "me", "hunter2");
    let remote = Remote::new(Access { pull_secret: secret, ..server.access() }).unwrap();
    let (blob, bytes) = &sample.blobs[0];
    let done = remote.put_blob(&server.name(), blob, &mut &bytes[..]);
    (server, done)
}

#[test]
fn an_upload_goes_nowhere_without_tls() {
    let sample = Sample::new();
    let thief = Server::with(&sample, |_, _| Some(Answer::status(201)));
    let (_server, done) = upload(&sample, format!("http://{}/upload/1", thief.address));
    let error = done.unwrap_err();
    assert!(error.to_string().contains("without TLS"), "{error}");
    assert_clean(&error);
    assert!(thief.log.lock().unwrap().is_empty(), "{:?}", thief.log);
}

/// The storage behind a registry gets the bytes, and no credentials of the registry.
#[test]
fn an_upload_elsewhere_shows_no_credentials() {
    let sample = Sample::new();
    let storage = Server::with(&sample, |_, _| Some(Answer::status(201)));
    let to = format!("http://{}/upload/1?signed=x", storage.address);
    let server = Server::with(&sample, move |request, _| {
        let authorized = request.header("authorization") == Some("Basic bWU6aHVudGVyMg==");
        let answer = match authorized {
            true => Answer::status(202).with("Location", to.clone()),
            false => Answer::status(401).with("WWW-Authenticate", "Basic realm=\"x\""),
        };
        Some(answer)
    });
    let mut access = server.access();
    access.plain_http.push(storage.address.clone());
    access.pull_secret = pull_secret(&server.address, "me", "hunter2");
    let (blob, bytes) = &sample.blobs[0];
    Remote::new(access).unwrap().put_blob(&server.name(), blob, &mut &bytes[..]).unwrap();
    let log = storage.log.lock().unwrap();
    let [request] = &log[..] else { panic!("{log:?}") };
    assert!(request.line.starts_with("PUT /upload/1?signed=x&digest=sha256%3A"), "{request:?}");
    assert_eq!(request.header("content-length"), Some(blob.size.to_string().as_str()));
    assert_eq!(request.header("authorization"), None);
}

/// What a registry asked for once decides: a challenge that changes gets the credentials to nobody else.
#[test]
fn a_challenge_that_changes_gets_nothing() {
    let sample = Sample::new();
    let thief = Server::with(&sample, |_, _| {
        Some(Answer { body: br#"{"token":"s3cr3t-token"}"#.to_vec(), ..Answer::status(200) })
    });
    let realm = format!("Bearer realm=\"http://{}/token\",service=\"x\"", thief.address);
    let server = Server::with(&sample, move |request, before| {
        let authorized = request.header("authorization") == Some("Basic bWU6aHVudGVyMg==");
        let challenge = if before == 0 { "Basic realm=\"x\"".to_owned() } else { realm.clone() };
        match request.line.split(' ').next() {
            Some("POST") if authorized => {
                Some(Answer::status(202).with("Location", "/v2/ocp/release/blobs/uploads/1"))
            }
            Some("PUT") if authorized => Some(Answer::status(201)),
            _ => Some(Answer::status(401).with("WWW-Authenticate", challenge)),
        }
    });
    let secret = pull_secret(&server.address, "me", "hunter2");
    let remote = Remote::new(Access { pull_secret: secret, ..server.access() }).unwrap();
    for (blob, bytes) in &sample.blobs {
        let _ = remote.put_blob(&server.name(), blob, &mut &bytes[..]);
    }
    assert!(thief.log.lock().unwrap().is_empty(), "{:?}", thief.log);
}

/// Pages of new tags, for ever; and tags that would be something else in a request.
#[test]
fn a_list_of_tags_has_an_end() {
    let sample = Sample::new();
    let asked = AtomicUsize::new(0);
    let endless = Server::with(&sample, move |_, _| {
        let page = asked.fetch_add(1, Ordering::Relaxed);
        let tags: Vec<String> = (0..1000).map(|at| format!("{page:05}-{at:03}")).collect();
        Some(Answer {
            body: serde_json::to_vec(&serde_json::json!({ "tags": tags })).unwrap(),
            ..Answer::status(200)
        })
    });
    let error = endless.remote().tags(&endless.name()).unwrap_err();
    assert!(error.to_string().contains("more than a million"), "{error}");
    let strange = Server::with(&sample, |_, _| {
        Some(Answer { body: br#"{"tags":["a&n=1\u001b[2J"]}"#.to_vec(), ..Answer::status(200) })
    });
    let error = strange.remote().tags(&strange.name()).unwrap_err();
    assert!(error.to_string().contains("one that is no tag"), "{error}");
}

/// docs/security.md counts the registries here and in `bad`.
#[test]
fn the_document_has_these_numbers() {
    let tests =
        [include_str!("bad.rs"), include_str!("hostile.rs")].map(|text| text.matches("\n#[test]\n").count());
    let count = tests.iter().sum::<usize>() - 1; // not this one
    let text = std::fs::read_to_string(crate::harness::source("docs/security.md")).unwrap();
    let said = format!("{count} tests of registries that lie, dawdle, redirect or fish for the password");
    assert!(text.replace('\n', " ").contains(&said), "{said}");
    crate::harness::tried(&said);
}
