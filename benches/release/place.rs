//! The location of the images: our own registry on a loopback port, or a layout if no registry is installed.

use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tinderbox::internals::registry::{Access, Directory, ImageName, Images, Layout, Remote, Target};

use crate::Bench;
use crate::peers::has;

/// The only repository of the benchmark.
const REPOSITORY: &str = "bench/release";

/// Docker's registry, without TLS; killed on drop.
pub(crate) struct Registry {
    child: Child,
    /// `127.0.0.1:port`.
    pub(crate) address: String,
}

impl Drop for Registry {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Registry {
    fn start(bench: &Bench) -> Option<Self> {
        if !has("docker-registry", "docker-registry") {
            return None;
        }
        let dir = bench.dir("registry");
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let address = format!("127.0.0.1:{port}");
        let config = format!(
            "version: 0.1\nlog: {{level: error}}\nstorage: {{filesystem: {{rootdirectory: {}}}}}\n\
             http: {{addr: '{address}', secret: x}}\n",
            dir.join("data").display()
        );
        std::fs::write(dir.join("config.yml"), config).unwrap();
        let child = Command::new("docker-registry")
            .args(["serve", "config.yml"])
            .current_dir(&dir)
            .env("OTEL_TRACES_EXPORTER", "none")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let registry = Self { child, address };
        let began = Instant::now();
        while TcpStream::connect(&registry.address).is_err() {
            assert!(began.elapsed() < Duration::from_secs(20), "docker-registry does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
        Some(registry)
    }
}

/// A location of images.
pub(crate) enum Place {
    Registry(Registry),
    Layout(PathBuf),
}

impl Place {
    /// The real registry, if it is installed.
    pub(crate) fn new(bench: &Bench) -> Self {
        match Registry::start(bench) {
            Some(registry) => Self::Registry(registry),
            None => Self::Layout(bench.dir("layout")),
        }
    }

    /// The name of the images, without digest.
    pub(crate) fn name(&self) -> ImageName {
        match self {
            Self::Registry(registry) => format!("{}/{REPOSITORY}:made", registry.address),
            Self::Layout(_) => format!("registry.example.com/{REPOSITORY}:made"),
        }
        .parse()
        .unwrap()
    }

    /// For writing.
    pub(crate) fn target(&self) -> Box<dyn Target> {
        match self {
            Self::Registry(registry) => Box::new(remote(&registry.address)),
            Self::Layout(path) => Box::new(Directory::create(path).unwrap()),
        }
    }

    /// For a child process: the registry's address, or the layout's path.
    pub(crate) fn argument(&self) -> String {
        match self {
            Self::Registry(registry) => registry.address.clone(),
            Self::Layout(path) => path.display().to_string(),
        }
    }
}

/// Opens [`Place::argument`] for reading.
pub(crate) fn open(argument: &str) -> Arc<dyn Images> {
    match argument.starts_with('/') {
        true => Arc::new(Layout::open(Path::new(argument)).unwrap()),
        false => Arc::new(remote(argument)),
    }
}

fn remote(address: &str) -> Remote {
    Remote::new(Access { plain_http: vec![address.to_owned()], ..Access::default() }).unwrap()
}

/// `skopeo copy` from a registry to a new layout.
pub(crate) fn skopeo(registry: &Registry, to: &Path) -> Command {
    let mut command = Command::new("skopeo");
    command
        .args(["--insecure-policy", "copy", "--quiet", "--src-tls-verify=false"])
        .arg(format!("docker://{}/{REPOSITORY}:made", registry.address))
        .arg(format!("oci:{}:made", to.display()));
    command
}
