//! `dist image`: a directory with tinderbox in it as a container image. Same files, same digest.

use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::json;

use crate::cli::document::{Document, Documented};
use crate::cli::output::line;
use crate::cli::{Error, Printer, Result};
use crate::engine::registry::{Directory, ImageName, LAYOUT, Platforms, Reference, RootDir, copy_image};
use crate::openshift::workspace::Env;

/// Write a directory with tinderbox in it as a container image
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The image's root
    root: PathBuf,
    /// Where to: `oci:DIR[:TAG]`
    destination: String,
}

impl Documented for Args {
    const DOCUMENTS: &'static [Document] = &[Document::of::<serde_json::Value>()];
}

impl Args {
    pub(super) fn run(self, _: Env<'_>, printer: Printer<'_>) -> Result<ExitCode> {
        let place = self.destination.strip_prefix("oci:").ok_or_else(|| {
            let message = format!("`{}` is not a layout", self.destination);
            Error::usage(message, "write oci:DIR[:TAG]; skopeo copies it to a registry")
        })?;
        let (path, tag) = place.rsplit_once(':').unwrap_or((place, env!("CARGO_PKG_VERSION")));
        let architecture = match std::env::consts::ARCH {
            "x86_64" => "amd64",
            "aarch64" => "arm64",
            other => other,
        };
        let config = json!({
            "Entrypoint": ["/usr/bin/tinderbox"],
            "Env": ["PATH=/usr/bin", "HOME=/cluster"],
            "WorkingDir": "/cluster",
            "Labels": {
                "org.opencontainers.image.title": env!("CARGO_PKG_NAME"),
                "org.opencontainers.image.description": env!("CARGO_PKG_DESCRIPTION"),
                "org.opencontainers.image.version": env!("CARGO_PKG_VERSION"),
                "org.opencontainers.image.licenses": env!("CARGO_PKG_LICENSE"),
            },
        });
        let images = RootDir::with_config(&self.root, architecture, Some(config))?;
        if let Some(unreadable) = images.unreadable.first() {
            return Err(Error::Usage {
                message: format!("cannot read `{unreadable}` of `{}`", self.root.display()),
                advice: None,
            });
        }
        let name = ImageName {
            registry: LAYOUT.to_owned(),
            repository: path.to_owned(),
            reference: Reference::Tag(tag.to_owned()),
        };
        let (target, digest) = (Directory::create(path.as_ref())?, images.digest());
        copy_image(&images, &target, &name, &name, &digest, Platforms::All, &mut |_| {})?;
        let done = json!({"digest": digest.to_string(), "layout": path, "tag": tag});
        Ok(printer.answer(&done, || line(digest)))
    }
}
