//! Real farms: buildbox-casd and BuildGrid, as `.ci/python-parts` has them; and a real registry, for the same suite.

use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::super::suite::{self, COUNT, Peer, TARGET, build, objects, pusher, taker};
use crate::harness::{Workspace, left_out, list, names, tree, tried};
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

/// buildbox executes in a sandbox of its own, whose root is the input tree: nothing but this program and what it brings along.
fn buildbox() -> Option<Server> {
    let Some(run) = find("buildbox-run") else {
        left_out("a farm that builds", "buildbox-run, which .ci/python-parts brings");
        return None;
    };
    Server::start("buildbox-casd", |program, dir, port| {
        let mut command = Command::new(program);
        command.arg("--bind").arg(format!("127.0.0.1:{port}"));
        command.arg("--buildbox-run").arg(&run).arg(dir.join("casd"));
        command
    })
}

/// Every folder of derivations that a build of the example has.
fn folders(report: &serde_json::Value) -> Vec<String> {
    let all: std::collections::BTreeSet<String> =
        names(&report["built"]).iter().map(|name| name.split('/').next().unwrap().to_owned()).collect();
    all.into_iter().collect()
}

/// The ids of everything in a store. What two derivations have in common is called as the first of them.
fn stored(workspace: &Workspace) -> std::collections::BTreeSet<String> {
    list(&workspace.store).iter().map(|name| name.split('-').next().unwrap().to_owned()).collect()
}

/// The whole example: everything that needs nothing but its inputs is built by buildbox, with the same ids; first what is public, then
/// what is secret too, programs included. These run in our sandbox within buildbox's, which lets nobody but root be root.
#[test]
fn buildbox_builds_the_example() {
    let Some(server) = buildbox() else { return };
    let local = Workspace::example();
    let expected = build(&local, &[]).0;
    let scope = folders(&expected).join(", ");
    let mut counts = Vec::new();
    for (secrets, least) in [(false, 60), (true, 110)] {
        let here = Workspace::example();
        let config = format!(
            "builders:\n- {{url: '{}', scope: [{scope}], jobs: 200, secrets: {secrets}, platform: {{unixUID: 1000, unixGID: 1000}}}}\n",
            server.url
        );
        super::super::write_own(&here, "config.yaml", &config);
        let (report, said) = build(&here, &[]);
        assert!(!said.contains("warning: farm"), "{said}");
        let (known, found) = (stored(&local), stored(&here));
        assert_eq!(found.difference(&known).collect::<Vec<_>>(), Vec::<&String>::new(), "secrets: {secrets}");
        assert_eq!(objects(&report), objects(&expected), "{said}");
        let executed: Vec<&str> =
            report["executed"].as_object().unwrap().keys().map(String::as_str).collect();
        assert!(executed.len() >= least, "{executed:?}");
        assert_eq!(executed.contains(&"mco/rendered"), secrets);
        assert!(!executed.iter().any(|name| ["key", "identity"].contains(&name.split('/').next().unwrap())));
        here.assert_sound();
        counts.push(executed.len());
    }
    let all = names(&expected["built"]).len();
    tried(&format!(
        "farms: {counts:?} of {all} derivations of the example built by buildbox, with equal ids"
    ));
}

/// Killed while it builds: the rest is built here.
#[test]
fn a_builder_that_dies_is_no_hindrance() {
    let Some(mut server) = buildbox() else { return };
    let expected = build(&super::super::suite::workspace(), &[TARGET]).0;
    let here = super::super::suite::workspace();
    let config = format!("builders: [{{url: '{}', scope: [demo]}}]\n", server.url);
    super::super::write_own(&here, "config.yaml", &config);
    let report = build(&here, &["demo/small"]).0;
    assert_eq!(report["executed"]["demo/small"], server.url.as_str(), "{report}");
    let running = here
        .command(&["build", "--json", TARGET])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    server.child.kill().unwrap();
    server.child.wait().unwrap();
    let output = running.wait_with_output().unwrap();
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(objects(&report), objects(&expected), "{}", String::from_utf8_lossy(&output.stderr));
}
