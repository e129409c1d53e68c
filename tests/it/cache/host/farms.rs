//! Real farms: buildbox-casd and BuildGrid, as `.ci/python-parts` has them; and a real registry, for the same suite.

use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::super::suite::{self, COUNT, Peer, TARGET, build, objects, pusher, taker};
use crate::harness::{left_out, names, tree};
use crate::registry::bad::pull_secret;
use crate::registry::host::Registry;

/// A program in the directories of PATH.
fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).map(|dir| dir.join(program)).find(|file| file.is_file())
}

/// A server that runs until it is dropped.
struct Server {
    child: Child,
    url: String,
    dir: TempDir,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    fn start(program: &str, command: impl Fn(&Path, &Path, u16) -> Command) -> Option<Self> {
        let Some(found) = find(program) else {
            left_out("a farm", &format!("{program}, which .ci/python-parts brings"));
            return None;
        };
        let dir = tempfile::tempdir().unwrap();
        // The port is free now; nobody else here listens on ports of their own choice.
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut command = command(&found, dir.path(), port);
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let server = Self { child, url: format!("grpc://127.0.0.1:{port}"), dir };
        let began = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(began.elapsed() < Duration::from_secs(60), "{program} does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
        Some(server)
    }

    fn casd() -> Option<Self> {
        Self::start("buildbox-casd", |program, dir, port| {
            let mut command = Command::new(program);
            command.arg("--bind").arg(format!("127.0.0.1:{port}")).arg(dir.join("casd"));
            command
        })
    }

    fn buildgrid() -> Option<Self> {
        Self::start("bgd", |program, dir, port| {
            let config = format!(
                "server: [!channel {{address: '127.0.0.1:{port}', insecure-mode: true}}]\n\
                 authorization: {{method: none}}\nmonitoring: {{enabled: false}}\n\
                 instances:\n- name: ''\n  storages: [!lru-storage &storage {{size: 256mb}}]\n  \
                 caches: [!lru-action-cache &cache {{storage: *storage, max-cached-refs: 1024, allow-updates: true}}]\n  \
                 services: [!cas {{storage: *storage}}, !bytestream {{storage: *storage}}, !action-cache {{cache: *cache}}]\n"
            );
            std::fs::write(dir.join("config.yml"), config).unwrap();
            let mut command = Command::new(program);
            command.args(["server", "start"]).arg(dir.join("config.yml"));
            command
        })
    }
}

#[test]
fn buildbox_casd_is_a_cache() {
    let Some(server) = Server::casd() else { return };
    suite::run(&Peer::farm(&server.url));
}

#[test]
fn buildgrid_is_a_cache() {
    let Some(server) = Server::buildgrid() else { return };
    suite::run(&Peer::farm(&server.url));
}

/// The same suite on what the other tests of this folder have.
#[test]
fn a_registry_is_a_cache() {
    let Some(registry) = Registry::start() else { return left_out("a cache", "docker-registry") };
    let secret = pull_secret(&registry.address, "me", "hunter2").unwrap();
    suite::run(&Peer {
        url: format!("oci://{}/team/tinderbox", registry.address),
        files: vec![("auth.json", secret.reveal_text().unwrap().to_owned()), ("ca.crt", registry.ca.clone())],
        options: "  authFile: auth.json\n  ca: ca.crt\n",
    });
}

/// casd believes in results whose blobs are gone; we do not.
#[test]
fn what_casd_lost_is_a_miss_and_a_push_repairs_it() {
    let Some(server) = Server::casd() else { return };
    let peer = Peer::farm(&server.url);
    let (from, key, pushed) = pusher(&peer, &[TARGET]);
    let expected = build(&from, &[TARGET]).0;
    let objects_dir = server.dir.path().join("casd/cas/objects");
    let mut gone = 0;
    for (path, (_, bytes)) in tree(&objects_dir) {
        // A pack of ours, or a large file.
        if bytes.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) || bytes.len() > 1 << 20 {
            std::fs::remove_file(objects_dir.join(path)).unwrap();
            gone += 1;
        }
    }
    assert!(gone >= 3, "{gone}");
    let (report, _) = build(&taker(&peer, &key), &[TARGET]);
    assert_eq!((objects(&report), &report["substituted"]), (objects(&expected), &serde_json::Value::Null));
    let repaired = &from.json(&["push", TARGET])[0];
    assert_eq!(repaired["new"], pushed["entries"], "{repaired}");
    assert_eq!(names(&build(&taker(&peer, &key), &[TARGET]).0["substituted"]).len(), COUNT);
}

/// Killed while it is used: the rest is built here.
#[test]
fn a_farm_that_dies_is_no_hindrance() {
    let Some(mut server) = Server::casd() else { return };
    let peer = Peer::farm(&server.url);
    let (from, key, _) = pusher(&peer, &[TARGET]);
    let expected = build(&from, &[TARGET]).0;
    let to = taker(&peer, &key);
    build(&to, &["demo/small"]);
    server.child.kill().unwrap();
    server.child.wait().unwrap();
    let (report, said) = build(&to, &[TARGET]);
    assert_eq!(objects(&report), objects(&expected));
    assert_eq!(said.matches("warning: cache").count(), 1, "{said}");
}
