//! Mirrors: in order, around those that are down, and the source as its policy says.

use tinderbox::internals::registry::{Access, Images as _, MirrorRule, RegistryError, Remote};

use crate::registry::sample::{Sample, name};
use crate::registry::server::{Answer, Server, hasty};
use crate::registry::suite::read;

/// A source that nobody can reach, mirrored to these.
fn access(mirrors: &[&Server], source: &str, never: bool) -> Access {
    let repository = |server: &&Server| format!("{}/ocp/release", server.address);
    Access {
        mirrors: vec![MirrorRule {
            source: source.into(),
            mirrors: mirrors.iter().map(repository).collect(),
            never_contact_source: never,
        }],
        plain_http: mirrors.iter().map(|server| server.address.clone()).collect(),
        patience: hasty(),
        ..Access::default()
    }
}

/// A server that is gone.
fn gone(sample: &Sample) -> Server {
    Server::with(sample, |_, _| {
        Some(Answer { status: 200, body: vec![0; 9], stop: Some(0), ..Answer::default() })
    })
}

#[test]
fn a_mirror_that_is_down_is_passed_over_and_not_waited_for_again() {
    let sample = Sample::new();
    let (down, up) = (gone(&sample), Server::of(&sample));
    let broken = Server::with(&sample, |_, _| Some(Answer::status(500)));
    let remote = Remote::new(access(&[&broken, &down, &up], "source.invalid/ocp", false)).unwrap();
    let name = name("source.invalid/ocp").at(sample.list);
    remote.manifest(&name, &sample.list).unwrap();
    for (blob, bytes) in &sample.blobs {
        assert_eq!(&read(&remote, &name, blob).unwrap(), bytes);
    }
    // All its tries for the manifest, and after that the others came first.
    assert_eq!(broken.log.lock().unwrap().len(), 4);
}

#[test]
fn when_nobody_has_it_every_answer_is_told() {
    let sample = Sample::new();
    let empty = Server::with(&sample, |_, _| Some(Answer::status(404)));
    let denied = Server::with(&sample, |_, _| Some(Answer::status(403)));
    let remote = Remote::new(access(&[&empty, &denied], "127.0.0.1:1/ocp", false)).unwrap();
    let error = remote.manifest(&name("127.0.0.1:1/ocp"), &sample.list).unwrap_err();
    let RegistryError::NoMirror { tried, .. } = &error else { panic!("{error}") };
    assert_eq!(tried.len(), 3);
    assert!(tried[0].contains(&empty.address) && tried[0].contains("not found"), "{error}");
    assert!(tried[1].contains(&denied.address) && tried[1].contains("403"), "{error}");
    assert!(tried[2].contains("127.0.0.1:1"), "{error}");
}

#[test]
fn the_source_is_a_fallback_unless_it_may_never_be_asked() {
    let sample = Sample::new();
    let (empty, source) = (Server::with(&sample, |_, _| Some(Answer::status(404))), Server::of(&sample));
    for never in [false, true] {
        let mut access = access(&[&empty], &format!("{}/ocp/release", source.address), never);
        access.plain_http.push(source.address.clone());
        let found = Remote::new(access).unwrap().manifest(&source.name(), &sample.list);
        assert_eq!(found.is_err(), never);
    }
    assert_eq!(source.log.lock().unwrap().len(), 1);
    assert_eq!(empty.log.lock().unwrap().len(), 2);
}

#[test]
fn tags_go_to_the_source() {
    let sample = Sample::new();
    let (mirror, source) = (Server::of(&sample), Server::of(&sample));
    let mut access = access(&[&mirror], &source.address, false);
    access.plain_http.push(source.address.clone());
    Remote::new(access).unwrap().resolve(&source.name()).unwrap();
    assert_eq!(mirror.log.lock().unwrap().len(), 0);
}

#[test]
fn a_mirror_that_lies_is_passed_over() {
    let sample = Sample::new();
    let liar =
        Server::with(&sample, |_, _| Some(Answer { status: 200, body: b"{}".to_vec(), ..Answer::default() }));
    let source = Server::of(&sample);
    let mut access = access(&[&liar], &format!("{}/ocp/release", source.address), false);
    access.plain_http.push(source.address.clone());
    Remote::new(access).unwrap().manifest(&source.name(), &sample.list).unwrap();
    assert_eq!(liar.log.lock().unwrap().len(), 1);
}
