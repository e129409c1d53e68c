//! Registries that refuse, are busy, break off, lie.

use std::time::{Duration, Instant};

use base64::Engine as _;
use tinderbox::internals::hint::{Hint as _, chain};
use tinderbox::internals::registry::{
    Access, Images as _, Patience, RegistryError, Remote, Sha256, Target as _, image,
};
use tinderbox::internals::secret::Secret;

use crate::registry::sample::{Sample, descriptor};
use crate::registry::server::{Answer, Request, Server, hasty};
use crate::registry::suite::read;

pub(crate) fn pull_secret(place: &str, user: &str, password: &str) -> Option<Secret> {
    let auth = base64::engine::general_purpose::STANDARD.encode(format!("{user}:{password}"));
    Some(Secret::from(format!(r#"{{"auths":{{"{place}":{{"auth":"{auth}"}}}}}}"#)))
}

/// Nothing that may not be seen is in an error, however it is printed.
pub(crate) fn assert_clean(error: &RegistryError) {
    let text = format!("{error}\n{error:?}\n{}\n{:?}", chain(error), error.hint());
    for secret in ["hunter2", "bWU6aHVudGVyMg", "s3cr3t-token", "Basic ", "Bearer "] {
        assert!(!text.contains(secret), "{text}");
    }
}

fn guarded(sample: &Sample, challenge: &'static str, wanted: &'static str) -> Server {
    Server::with(sample, move |request, _| {
        let allowed = request.header("authorization") == Some(wanted);
        (!allowed).then(|| Answer::status(401).with("WWW-Authenticate", challenge))
    })
}

#[test]
fn basic_credentials_right_wrong_and_none() {
    let sample = Sample::new();
    let server = guarded(&sample, "Basic realm=\"x\"", "Basic bWU6aHVudGVyMg==");
    let try_with =
        |pull_secret| Remote::new(Access { pull_secret, ..server.access() }).unwrap().resolve(&server.name());
    assert_eq!(try_with(pull_secret(&server.address, "me", "hunter2")).unwrap(), sample.list);

    let error = try_with(None).unwrap_err();
    assert!(matches!(error, RegistryError::Denied { with_credentials: false, status: 401, .. }), "{error:?}");
    let hint = format!("add credentials for {} to the pull secret", server.address);
    assert_eq!(error.hint(), Some(hint));

    let error = try_with(pull_secret(&server.address, "me", "wrong hunter2")).unwrap_err();
    assert!(matches!(error, RegistryError::Denied { with_credentials: true, .. }), "{error:?}");
    assert_clean(&error);

    // An entry for another path of the same registry is not this one's.
    let error = try_with(pull_secret(&format!("{}/other", server.address), "me", "hunter2")).unwrap_err();
    assert!(matches!(error, RegistryError::Denied { with_credentials: false, .. }), "{error:?}");
    let deeper = format!("{}/ocp/release", server.address);
    assert_eq!(try_with(pull_secret(&deeper, "me", "hunter2")).unwrap(), sample.list);
}

/// A registry with a server of tokens, which wants credentials and has a bad moment at first.
fn with_tokens(sample: &Sample) -> Server {
    Server::with(sample, |request, before| {
        if request.line.contains("/token?") {
            if before == 0 {
                return Some(Answer::status(503));
            }
            assert!(request.line.contains("scope=repository%3Aocp%2Frelease%3Apull"), "{}", request.line);
            let allowed = request.header("authorization") == Some("Basic bWU6aHVudGVyMg==");
            let body = br#"{"token":"s3cr3t-token"}"#.to_vec();
            return Some(if allowed {
                Answer { status: 200, body, ..Answer::default() }
            } else {
                Answer::status(401)
            });
        }
        let uploads = request.line.split(' ').next().map(|method| match method {
            "POST" => Some(Answer::status(202).with("Location", "/v2/ocp/release/blobs/uploads/1")),
            "PUT" => Some(Answer::status(201).with("Location", "/v2/ocp/release/blobs/x")),
            _ => None,
        });
        let host = request.header("host").unwrap_or_default();
        let challenge = format!("Bearer realm=\"http://{host}/token\",service=\"x\"");
        let allowed = request.header("authorization") == Some("Bearer s3cr3t-token");
        if allowed { uploads? } else { Some(Answer::status(401).with("WWW-Authenticate", challenge)) }
    })
}

#[test]
fn a_token_is_fetched_once_and_kept() {
    let sample = Sample::new();
    let server = with_tokens(&sample);
    let pull_secret = pull_secret(&server.address, "me", "hunter2");
    let remote = Remote::new(Access { pull_secret, ..server.access() }).unwrap();
    assert_eq!(remote.resolve(&server.name()).unwrap(), sample.list);
    for (blob, bytes) in &sample.blobs {
        assert_eq!(&read(&remote, &server.name(), blob).unwrap(), bytes);
    }
    assert_eq!(server.count("/token?"), 2);
    assert!(!format!("{remote:?}").contains("hunter2"));

    // Writing wants a token of its own.
    let blob = descriptor("x", b"bytes");
    remote.put_blob(&server.name(), &blob, &mut &b"bytes"[..]).unwrap();
    remote.put_manifest(&server.name(), &"application/json".into(), b"{}", None).unwrap();
    assert!(server.count("pull%2Cpush") > 0);

    let error = server.remote().resolve(&server.name()).unwrap_err();
    assert!(matches!(error, RegistryError::Denied { with_credentials: false, .. }), "{error:?}");
    assert_clean(&error);
}

#[test]
fn what_is_not_there_is_not_asked_for_twice() {
    let sample = Sample::new();
    let server = Server::of(&sample);
    let error = server.remote().manifest(&server.name(), &Sha256::of(b"none")).unwrap_err();
    assert!(matches!(error, RegistryError::NotFound { .. }), "{error:?}");
    assert_eq!(server.log.lock().unwrap().len(), 1);
}

#[test]
fn busy_registries_are_asked_again_after_what_they_say() {
    let sample = Sample::new();
    let server = Server::with(&sample, |_, before| {
        (before == 0).then(|| Answer::status(429).with("Retry-After", "1"))
    });
    let began = Instant::now();
    assert_eq!(server.remote().resolve(&server.name()).unwrap(), sample.list);
    assert!(began.elapsed() >= Duration::from_secs(1));

    // Not longer than we want, and not for ever.
    let server = Server::with(&sample, |_, _| Some(Answer::status(429).with("Retry-After", "3600")));
    let patience = Patience { longest: Duration::from_millis(10), ..hasty() };
    let remote = Remote::new(Access { patience, ..server.access() }).unwrap();
    let error = remote.resolve(&server.name()).unwrap_err();
    assert!(error.to_string().contains("429"), "{error}");
    assert_eq!(error.hint().as_deref(), Some("it limits the request rate: wait, or use a mirror"));
    assert_eq!(server.log.lock().unwrap().len(), 4);
}

#[test]
fn a_503_and_a_dropped_connection_are_tried_again() {
    let sample = Sample::new();
    let server = Server::with(&sample, |_, before| match before {
        0 => Some(Answer::status(503)),
        1 => Some(Answer { status: 200, body: vec![0; 100], stop: Some(3), ..Answer::default() }),
        _ => None,
    });
    assert_eq!(server.remote().resolve(&server.name()).unwrap(), sample.list);
}

fn breaking(sample: &Sample, ranges: bool, stop: usize) -> Server {
    let (blob, bytes) = sample.blobs[1].clone();
    Server::with(sample, move |request: &Request, before| {
        if !request.line.ends_with(&blob.digest.to_string()) || ranges && before > 2 {
            return None;
        }
        let from = request.header("range").filter(|_| ranges);
        let from = from.map_or(0, |range| range[6..].trim_end_matches('-').parse().unwrap());
        let answer = Answer { body: bytes[from..].to_vec(), ..Answer::default() };
        let stop = (ranges || before < 2).then_some(if before == 0 { stop } else { stop * 2 });
        let range = format!("bytes {from}-{}/{}", bytes.len() - 1, bytes.len());
        Some(match from {
            0 => Answer { status: 200, stop, ..answer },
            _ => Answer { status: 206, stop, ..answer }.with("Content-Range", range),
        })
    })
}

#[test]
fn a_blob_that_breaks_off_goes_on_where_it_broke() {
    let sample = Sample::new();
    let server = breaking(&sample, true, 500_000);
    let (blob, bytes) = &sample.blobs[1];
    assert!(&read(&server.remote(), &server.name(), blob).unwrap() == bytes);
    let log = server.log.lock().unwrap();
    let ranges: Vec<_> = log.iter().filter_map(|request| request.header("range")).collect();
    assert_eq!(ranges.len(), 3, "{ranges:?}");
}

#[test]
fn a_registry_without_range_sends_it_again() {
    let sample = Sample::new();
    let server = breaking(&sample, false, 500_000);
    let (blob, bytes) = &sample.blobs[1];
    assert!(&read(&server.remote(), &server.name(), blob).unwrap() == bytes);
}

#[test]
fn a_blob_that_always_breaks_off_in_the_same_place_is_given_up() {
    let sample = Sample::new();
    let (blob, bytes) = sample.blobs[1].clone();
    let server = Server::with(&sample, move |_, _| {
        Some(Answer { status: 200, body: bytes.clone(), stop: Some(1000), ..Answer::default() })
    });
    let error = read(&server.remote(), &server.name(), &blob).unwrap_err();
    assert!(error.to_string().contains("broke off after 1000 of 3000000 bytes"), "{error}");
}

#[test]
fn wrong_bytes_are_named() {
    let sample = Sample::new();
    let (blob, bytes) = sample.blobs[2].clone();
    for lie in [vec![0; bytes.len()], bytes[..10].to_vec(), [&bytes[..], b"more"].concat()] {
        let server = Server::with(&sample, move |_, _| {
            Some(Answer { status: 200, body: lie.clone(), ..Answer::default() })
        });
        let error = read(&server.remote(), &server.name(), &blob).unwrap_err();
        let text = error.to_string();
        assert!(matches!(error, RegistryError::Mismatch { .. }), "{text}");
        assert!(text.contains(&server.address) && text.contains(&blob.digest.to_string()), "{text}");
        let error = server.remote().manifest(&server.name(), &sample.image).unwrap_err();
        assert!(matches!(error, RegistryError::Mismatch { .. }), "{error}");
    }
}

#[test]
fn a_manifest_that_is_no_json_or_endless() {
    let sample = Sample::new();
    let server = Server::with(&sample, |_, _| {
        Some(Answer { status: 200, body: b"<html>".to_vec(), ..Answer::default() })
    });
    let error = image(&server.remote(), &server.name(), &Sha256::of(b"<html>"), "amd64").unwrap_err();
    assert!(error.to_string().contains("its manifest is not JSON"), "{error}");
    let server = Server::with(&sample, |_, _| {
        Some(Answer { status: 200, body: vec![b' '; 9 << 20], ..Answer::default() })
    });
    let error = server.remote().resolve(&server.name()).unwrap_err();
    assert!(error.to_string().contains("more than 8388608 bytes"), "{error}");
}

#[test]
fn nobody_there_and_no_tls_there() {
    let sample = Sample::new();
    let server = Server::of(&sample);
    let remote = Remote::new(Access { plain_http: vec![], ..server.access() }).unwrap();
    let error = remote.resolve(&server.name()).unwrap_err().to_string();
    assert!(error.ends_with("cannot be reached: it does not speak TLS"), "{error}");
    let (name, access) = (server.name(), server.access());
    drop(server);
    std::thread::sleep(Duration::from_millis(50));
    let error = Remote::new(access).unwrap().resolve(&name).unwrap_err();
    assert!(matches!(error, RegistryError::Unreachable { .. }), "{error}");
}

#[test]
fn a_registry_that_says_nothing_is_not_waited_for_for_ever() {
    let sample = Sample::new();
    let server = Server::with(&sample, |_, _| {
        std::thread::sleep(Duration::from_secs(2));
        None
    });
    let patience = Patience { idle: Duration::from_millis(50), ..hasty() };
    let began = Instant::now();
    let error = Remote::new(Access { patience, ..server.access() }).unwrap().resolve(&server.name());
    assert!(error.unwrap_err().to_string().ends_with("it did not answer in time"));
    assert!(began.elapsed() < Duration::from_secs(2));
}

#[test]
fn a_refused_upload_says_so_and_a_wrong_one_is_broken_off() {
    let sample = Sample::new();
    // It refuses without reading, so it must not do that before the wrong blob is seen to be wrong.
    let (open, gate) = std::sync::mpsc::channel::<()>();
    let gate = std::sync::Mutex::new(gate);
    let server = Server::with(&sample, move |request, _| match request.line.split(' ').next() {
        Some("POST") => Some(Answer::status(202).with("Location", "/v2/ocp/release/blobs/uploads/1")),
        Some("PUT") => {
            let _ = gate.lock().unwrap().recv(); // until the other end is dropped
            Some(Answer::status(403))
        }
        _ => None,
    });
    let blob = descriptor("x", b"right");
    let error = server.remote().put_blob(&server.name(), &blob, &mut &b"wrong"[..]).unwrap_err();
    assert!(matches!(error, RegistryError::Mismatch { .. }), "{error}");
    drop(open);
    let error = server.remote().put_blob(&server.name(), &blob, &mut &b"right"[..]).unwrap_err();
    assert!(
        matches!(error, RegistryError::Denied { status: 403, .. } | RegistryError::Unreachable { .. }),
        "{error}"
    );
}
