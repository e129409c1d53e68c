//! From `release:` in cluster.yaml to an image source and the release's name in it.

use std::path::Path;
use std::sync::Arc;

use super::config::{self, Release};
use super::demo;
use crate::engine::registry::{
    Access, ImageName, LAYOUT, Layout, NameError, Opened, Reference, RegistryError, Remote, Result,
};

/// Opens the source that a release names. Does not contact a registry yet.
///
/// A layout's path is relative to `directory`. Only registries need the `Access`.
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
        return Err(RegistryError::Access {
            problem: format!(
                "no demo release {version}; this build has {}, each also with `-multi`, up to {} with `-okd`",
                demo::versions().join(", "),
                demo::okd_versions().last().unwrap_or(&"")
            ),
        });
    };
    let (name, digest) = demo.release();
    Ok(Opened { images: Arc::new(demo), name: name.at(digest) })
}
