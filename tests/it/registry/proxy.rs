//! Proxies are used when they are set, passed by when NO_PROXY says so, and never taken from the environment.

use tinderbox::internals::registry::{Access, Images as _, ProxySettings, Remote, Target as _};

use crate::registry::sample::{Sample, descriptor, name};
use crate::registry::server::{Answer, Server};

#[test]
fn the_proxy_is_asked_for_everything_but_no_proxy() {
    let sample = Sample::new();
    // A proxy for plain http sees whole URLs, and this one answers as the registry itself.
    let proxy = Server::of(&sample);
    let url = |server: &Server| Some(format!("http://me:hunter2@{}", server.address));
    let settings =
        ProxySettings { http: url(&proxy), https: None, no_proxy: Some("127.0.0.0/8,.local".into()) };
    let far = "registry.invalid:5000";
    let access = Access { plain_http: vec![far.into()], proxy: settings.clone(), ..proxy.access() };
    let remote = Remote::new(access).unwrap();
    assert_eq!(remote.resolve(&name(&format!("{far}/ocp/release"))).unwrap(), sample.list);
    let log = proxy.log.lock().unwrap().clone();
    assert_eq!(log[0].line, format!("GET http://{far}/v2/ocp/release/manifests/4.18.1"));
    assert_eq!(log[0].header("proxy-authorization"), Some("Basic bWU6aHVudGVyMg=="));

    let near = Server::of(&sample);
    let remote = Remote::new(Access { proxy: settings, ..near.access() }).unwrap();
    assert_eq!(remote.resolve(&near.name()).unwrap(), sample.list);
    assert_eq!(proxy.log.lock().unwrap().len(), 1);
    assert!(!format!("{remote:?}").contains("hunter2"));
}

/// The clients would read these; the variables are set for a process of its own.
#[test]
fn the_environment_is_not_asked() {
    const CHILD: &str = "TINDERBOX_TEST_PROXY_CHILD";
    if std::env::var_os(CHILD).is_none() {
        let test = std::env::current_exe().unwrap();
        let status = std::process::Command::new(test)
            .args(["--exact", "registry::proxy::the_environment_is_not_asked"])
            .env(CHILD, "1")
            .env("http_proxy", "http://127.0.0.1:1")
            .env("HTTP_PROXY", "http://127.0.0.1:1")
            .env("ALL_PROXY", "http://127.0.0.1:1")
            .status();
        assert!(status.unwrap().success());
        return;
    }
    let sample = Sample::new();
    let server = Server::with(&sample, |request, _| match request.line.split(' ').next() {
        Some("POST") => Some(Answer::status(202).with("Location", "/v2/ocp/release/blobs/uploads/1")),
        Some("PUT") => Some(Answer::status(201).with("Location", "/v2/ocp/release/blobs/x")),
        _ => None,
    });
    let remote = server.remote();
    assert_eq!(remote.resolve(&server.name()).unwrap(), sample.list);
    remote.put_blob(&server.name(), &descriptor("x", b"bytes"), &mut &b"bytes"[..]).unwrap();
}
