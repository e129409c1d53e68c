//! The real docker-registry (the Debian package of that name), with TLS and htpasswd, on a loopback port.
//!
//! Where it is not installed these tests say so and are skipped; with `TINDERBOX_REQUIRE_REAL=1` they fail.

use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::{TempDir, tempdir};
use tinderbox::internals::hint::Hint as _;
use tinderbox::internals::registry::{
    Access, Images as _, Layout, Platforms, RegistryError, Remote, Target as _, copy_image,
};

use crate::harness::left_out;
use crate::registry::bad::{assert_clean, pull_secret};
use crate::registry::sample::{Sample, TAG, name};
use crate::registry::server::hasty;
use crate::registry::suite;

/// A registry that runs until it is dropped; user `me`, password `hunter2`.
pub(crate) struct Registry {
    child: Child,
    pub(crate) address: String,
    pub(crate) ca: String,
    dir: TempDir,
}

impl Drop for Registry {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Whether a program is there; says which package is missing if not.
pub(crate) fn have(program: &str, package: &str) -> bool {
    let found = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if found.is_err() {
        left_out("a real registry", &format!("{program}, of Debian's {package}"));
    }
    found.is_ok()
}

fn run(program: &str, args: &[&str], dir: &Path) {
    let output = Command::new(program).args(args).current_dir(dir).output().unwrap();
    assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
}

impl Registry {
    pub(crate) fn start() -> Option<Self> {
        if !have("docker-registry", "docker-registry")
            || !have("openssl", "openssl")
            || !have("htpasswd", "apache2-utils")
        {
            return None;
        }
        let dir = tempdir().unwrap();
        let path = dir.path();
        let subject = ["-subj", "/CN=tinderbox test CA", "-days", "2", "-nodes", "-newkey", "rsa:2048"];
        let args = ["req", "-x509", "-keyout", "ca.key", "-out", "ca.crt"];
        run("openssl", &[&args[..], &subject[..]].concat(), path);
        let args = [
            "req", "-newkey", "rsa:2048", "-nodes", "-keyout", "tls.key", "-out", "tls.csr", "-subj", "/CN=x",
        ];
        run("openssl", &args, path);
        std::fs::write(path.join("san"), "subjectAltName=IP:127.0.0.1,DNS:localhost").unwrap();
        let args = "x509 -req -in tls.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -extfile san -out tls.crt";
        run("openssl", &args.split(' ').collect::<Vec<_>>(), path);
        run("htpasswd", &["-Bbc", "users", "me", "hunter2"], path);
        // The port is free now; nobody else here listens on ports of their own choice.
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let address = format!("127.0.0.1:{port}");
        let at = path.display();
        let config = format!(
            "version: 0.1\nlog: {{level: error}}\nstorage: {{filesystem: {{rootdirectory: {at}/data}}, delete: {{enabled: true}}}}\n\
             auth: {{htpasswd: {{realm: x, path: {at}/users}}}}\n\
             http: {{addr: '{address}', secret: x, tls: {{certificate: {at}/tls.crt, key: {at}/tls.key}}}}\n"
        );
        std::fs::write(path.join("config.yml"), config).unwrap();
        let child = Command::new("docker-registry")
            .args(["serve", "config.yml"])
            .current_dir(path)
            .env("OTEL_TRACES_EXPORTER", "none")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let ca = std::fs::read_to_string(path.join("ca.crt")).unwrap();
        let registry = Self { child, address, ca, dir };
        let began = Instant::now();
        while TcpStream::connect(&registry.address).is_err() {
            assert!(began.elapsed() < Duration::from_secs(20), "docker-registry does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
        Some(registry)
    }

    /// What it stores, as files.
    pub(crate) fn data(&self) -> std::path::PathBuf {
        self.dir.path().join("data")
    }

    pub(crate) fn access(&self) -> Access {
        Access {
            pull_secret: pull_secret(&self.address, "me", "hunter2"),
            ca: Some(self.ca.clone()),
            patience: hasty(),
            ..Access::default()
        }
    }
}

#[test]
fn a_real_registry_takes_and_gives() {
    let Some(registry) = Registry::start() else { return };
    let sample = Sample::new();
    let name = name(&format!("{}/ocp/release", registry.address));
    let remote = Remote::new(registry.access()).unwrap();
    sample.put(&remote, &name);
    suite::run(&remote, &name, &sample);

    // From one repository to another, skipping what is there.
    let other = crate::registry::sample::name(&format!("{}/mirror", registry.address));
    let copy =
        || copy_image(&remote, &remote, &name, &other, &sample.list, Platforms::All, &mut |_| {}).unwrap();
    let (first, second) = (copy(), copy());
    assert_eq!((first.blobs, first.skipped), (5, 1));
    assert_eq!((second.blobs, second.skipped), (0, 6));
    suite::run(&remote, &other, &sample);

    // A wrong blob is refused and not there afterwards.
    let wrong = crate::registry::sample::descriptor("x", b"right");
    let error = remote.put_blob(&name, &wrong, &mut &b"wrong"[..]).unwrap_err();
    assert!(matches!(error, RegistryError::Mismatch { .. }), "{error}");
    assert!(!remote.has_blob(&name, &wrong).unwrap());
}

#[test]
fn skopeo_reads_what_we_write_and_we_read_what_it_writes() {
    let Some(registry) = Registry::start() else { return };
    if !have("skopeo", "skopeo") {
        return;
    }
    let (dir, sample) = (tempdir().unwrap(), Sample::new());
    sample.layout(&dir.path().join("ours"));
    let path = |name: &str| dir.path().join(name).display().to_string();
    let there = format!("docker://{}/ocp/release:{TAG}", registry.address);
    let certificates = path("certificates");
    std::fs::create_dir(&certificates).unwrap();
    std::fs::write(dir.path().join("certificates/ca.crt"), &registry.ca).unwrap();
    let skopeo = |from: &str, to: &str| {
        let tls = ["--src-cert-dir", &certificates, "--dest-cert-dir", &certificates];
        let who = ["--src-creds", "me:hunter2", "--dest-creds", "me:hunter2"];
        let head = ["--insecure-policy", "copy", "-q", "--all", "--preserve-digests"];
        run("skopeo", &[&head[..], &tls, &who, &[from, to]].concat(), dir.path());
    };
    skopeo(&format!("oci:{}:{TAG}", path("ours")), &there);
    let name = name(&format!("{}/ocp/release", registry.address));
    suite::run(&Remote::new(registry.access()).unwrap(), &name, &sample);
    skopeo(&there, &format!("oci:{}:{TAG}", path("theirs")));
    suite::run(&Layout::open(&dir.path().join("theirs")).unwrap(), &name, &sample);
    skopeo(&there, &format!("oci-archive:{}:{TAG}", path("theirs.tar")));
    suite::run(&Layout::open(&dir.path().join("theirs.tar")).unwrap(), &name, &sample);
}

#[test]
fn a_real_registry_refuses_and_says_why() {
    let Some(registry) = Registry::start() else { return };
    let name = name(&format!("{}/ocp/release", registry.address));
    let resolve = |access| Remote::new(access).unwrap().resolve(&name).unwrap_err();

    let error = resolve(registry.access());
    assert!(matches!(error, RegistryError::NotFound { .. }), "{error}");

    let error = resolve(Access { pull_secret: None, ..registry.access() });
    assert!(matches!(error, RegistryError::Denied { with_credentials: false, .. }), "{error}");

    let wrong = pull_secret(&registry.address, "me", "not hunter2");
    let error = resolve(Access { pull_secret: wrong.clone(), ..registry.access() });
    assert!(matches!(error, RegistryError::Denied { with_credentials: true, .. }), "{error}");
    assert_clean(&error);
    let remote = Remote::new(Access { pull_secret: wrong, ..registry.access() }).unwrap();
    let blob = crate::registry::sample::descriptor("x", b"x");
    let error = remote.put_blob(&name, &blob, &mut &b"x"[..]).unwrap_err();
    assert!(matches!(error, RegistryError::Denied { with_credentials: true, .. }), "{error}");

    let error = resolve(Access { ca: None, ..registry.access() });
    let text = format!("{error} | {}", error.hint().unwrap_or_default());
    let expected = format!(
        "{name}: {0} cannot be reached: its certificate is signed by an unknown authority | add the certificate \
         authority of {0} to the trust bundle",
        registry.address
    );
    assert_eq!(text, expected);
}
