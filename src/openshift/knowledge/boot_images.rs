//! `boot-images.toml`: the contents of the image that a node boots first.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::release::Release;
use super::table::{RawRows, Row, Source, Table, TableFile};
use crate::base::hint::Problems;
use crate::base::value::Value;
use crate::engine::recipe::NameTable;

/// The table, and what a bootstrap node needs.
#[derive(Debug, Clone)]
pub(crate) struct BootImages {
    bootstrap: Bootstrap,
    pub(super) images: Table<BootImage>,
    streams: Table<BootStream>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Bootstrap {
    /// Programs.
    needs: Vec<String>,
    /// The derivation that brings what is missing.
    overlay: String,
    /// What happens without them.
    without: String,
}

/// Boot images with a common version prefix.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BootImage {
    /// `N` is any digit.
    version: String,
    /// Programs.
    has: Vec<String>,
}

impl Row for BootImage {
    const FILE: &'static str = "boot-images.toml";
    const NAME: &'static str = "image";

    fn key(&self) -> &str {
        &self.version
    }
}

/// The stream of boot images that a release installs from by default.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct BootStream {
    name: String,
}

impl Row for BootStream {
    const FILE: &'static str = BootImage::FILE;
    const NAME: &'static str = "stream";

    /// One for each release.
    fn key(&self) -> &str {
        Self::NAME
    }
}

impl TableFile for BootImages {
    const FILE: &'static str = BootImage::FILE;

    fn parse(source: Source<'_>) -> Result<Self, Problems> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct File {
            bootstrap: Bootstrap,
            image: RawRows,
            #[serde(default)]
            stream: RawRows,
        }
        let File { bootstrap, image, stream } = source.read()?;
        Ok(Self { bootstrap, images: Table::of(source, image)?, streams: Table::of(source, stream)? })
    }
}

impl BootImages {
    /// The value of `{boot-image.programs}` in recipes: what the bootstrap node looks for in its image.
    pub(super) fn names(&self, file: &str) -> NameTable {
        let programs =
            self.bootstrap.needs.iter().map(|name| Value::from(format!("/usr/bin/{name}").as_str()));
        let values = [("programs".to_owned(), Value::List(programs.collect()))];
        NameTable { file: file.to_owned(), values: values.into(), absent: BTreeMap::new() }
    }

    /// The derivation that brings what an image lacks, in releases that have it.
    pub(crate) fn overlay(&self) -> &str {
        &self.bootstrap.overlay
    }

    /// The stream that nodes boot from the first time, where a release has several and it is not the first.
    pub(crate) fn stream(&self, release: Option<Release>) -> Option<&str> {
        self.streams.select(release).next().map(|row| row.name.as_str())
    }

    /// What a bootstrap node lacks in the image of this version, and the consequence. An image without a row is assumed
    /// complete.
    pub(crate) fn missing(&self, version: &str, release: Option<Release>) -> Option<(Vec<&str>, &str)> {
        let image = self.images.select(release).find(|image| begins(version, &image.version))?;
        let Bootstrap { needs, without, .. } = &self.bootstrap;
        let missing: Vec<&str> =
            needs.iter().filter(|program| !image.has.contains(program)).map(String::as_str).collect();
        (!missing.is_empty()).then_some((missing, without))
    }
}

fn begins(text: &str, pattern: &str) -> bool {
    let mut text = text.chars();
    let is = |wanted: char, found: char| if wanted == 'N' { found.is_ascii_digit() } else { found == wanted };
    pattern.chars().all(|wanted| text.next().is_some_and(|found| is(wanted, found)))
}
