//! From `release:` in cluster.yaml to a source of images and the release's name in it.

use std::fmt;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use super::{
    Access, DEMO, ImageName, Images, LAYOUT, Layout, NameError, Reference, RegistryError, Remote, Result,
    demo,
};
use crate::config::{self, Release};

/// A source of images, and what the release is called there.
#[derive(Clone)]
pub struct Opened {
    /// Where the release and its components come from.
    pub images: Arc<dyn Images>,
    /// The release.
    pub name: ImageName,
}

impl fmt::Debug for Opened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Opened({})", self.name)
    }
}

/// A source that is opened when it is first asked for: a build with nothing to fetch must not pay for a TLS client.
pub struct Deferred {
    open: Box<dyn Fn() -> Result<Opened> + Send + Sync>,
    opened: OnceLock<Opened>,
}

impl Deferred {
    /// Remembers how to open.
    pub fn new(open: impl Fn() -> Result<Opened> + Send + Sync + 'static) -> Self {
        Self { open: Box::new(open), opened: OnceLock::new() }
    }

    /// Opens, the first time.
    pub fn get(&self) -> Result<&Opened> {
        if let Some(opened) = self.opened.get() {
            return Ok(opened);
        }
        let opened = (self.open)()?;
        Ok(self.opened.get_or_init(|| opened))
    }
}

impl fmt::Debug for Deferred {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Deferred({:?})", self.opened.get())
    }
}

/// Opens the source that a release names. Nothing is asked of a registry yet.
///
/// A layout's path is relative to `directory`. An `Access` is needed for registries only.
pub fn open(release: &Release, directory: &Path, access: Access) -> Result<Opened> {
    match release {
        Release::Registry { repository, reference } => {
            let name = format!("{repository}{reference}").parse().map_err(|error: NameError| {
                RegistryError::Malformed { image: release.to_string(), problem: error.reason.to_owned() }
            })?;
            Ok(Opened { images: Arc::new(Remote::new(access)?), name })
        }
        Release::Layout { directory: path, reference } => Ok(Opened {
            images: Arc::new(Layout::open(&directory.join(path))?),
            name: ImageName {
                registry: LAYOUT.to_owned(),
                repository: path.clone(),
                reference: of(release, reference)?,
            },
        }),
        Release::Demo { version } => demo(version),
    }
}

fn of(release: &Release, reference: &config::Reference) -> Result<Reference> {
    match reference {
        config::Reference::Tag(tag) => Ok(Reference::Tag(tag.clone())),
        config::Reference::Digest(digest) => {
            digest.parse().map(Reference::Digest).map_err(|error: NameError| RegistryError::Malformed {
                image: release.to_string(),
                problem: error.reason.to_owned(),
            })
        }
    }
}

fn demo(version: &str) -> Result<Opened> {
    let Some(demo) = demo::open(version) else {
        return Err(RegistryError::NotFound {
            image: format!("{DEMO}:{version}"),
            what: format!("a demo release of this version (there is {})", demo::versions().join(" and ")),
            place: "this tinderbox".into(),
        });
    };
    let (name, digest) = demo.release();
    Ok(Opened { images: Arc::new(demo), name: name.at(digest) })
}
