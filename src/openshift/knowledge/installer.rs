//! `installer.toml`: what openshift-install leaves in its directory, and why its objects differ from ours.

use serde::Deserialize;

use super::Reason;
use super::release::Release;
use super::render_differences::{any, matches, reason};
use super::table::{RawRows, Row, Source, Table, TableFile};
use crate::base::hint::Problems;

#[derive(Debug, Clone)]
pub(crate) struct Installer {
    pub(crate) state: InstallerState,
    objects: Table<InstallerObject>,
    files: Table<InstallerFile>,
}

/// Where things stand in the directory.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct InstallerState {
    pub(crate) file: String,
    /// Names of assets in the state file.
    pub(crate) install_config: String,
    pub(crate) cluster_id: String,
    pub(crate) release: String,
    /// Assets whose copies may be the user's, because the installer reads them back from the directory.
    pub(crate) collected: Vec<String>,
    /// Folders with manifests.
    pub(crate) folders: Vec<String>,
    /// The bootstrap node's config, and where it has those folders.
    pub(crate) bootstrap: String,
    pub(crate) on_bootstrap: String,
    pub(crate) pull_secret: ObjectField,
    pub(crate) version: ObjectField,
}

/// A key in the data of an object.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ObjectField {
    pub(crate) object: String,
    pub(crate) key: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct InstallerObject {
    /// Stable.
    id: String,
    /// `*` is any text, here and below.
    objects: Vec<String>,
    /// JSON pointers; none if we do not make the object.
    #[serde(default)]
    differences: Vec<String>,
    reason: String,
    source: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct InstallerFile {
    path: String,
    reason: String,
}

impl Row for InstallerObject {
    const FILE: &'static str = Installer::FILE;
    const NAME: &'static str = "object";

    fn key(&self) -> &str {
        &self.id
    }
}

impl Row for InstallerFile {
    const FILE: &'static str = Installer::FILE;
    const NAME: &'static str = "file";

    fn key(&self) -> &str {
        &self.path
    }
}

impl TableFile for Installer {
    const FILE: &'static str = "installer.toml";

    fn parse(source: Source<'_>) -> Result<Self, Problems> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct File {
            state: InstallerState,
            #[serde(default)]
            object: RawRows,
            #[serde(default)]
            file: RawRows,
        }
        let File { state, object, file } = source.read()?;
        Ok(Self { state, objects: Table::of(source, object)?, files: Table::of(source, file)? })
    }
}

impl Installer {
    /// The versions that rows mention.
    #[cfg(test)]
    pub(super) fn mentioned(&self) -> impl Iterator<Item = crate::base::version::Version> {
        self.objects.mentioned().chain(self.files.mentioned())
    }

    /// Why we do not make an object of the installer.
    pub(crate) fn why_missing(&self, object: &str, release: Option<Release>) -> Option<Reason> {
        self.why(object, release, |row| row.differences.is_empty())
    }

    /// Why a field of our object differs.
    pub(crate) fn why_different(
        &self,
        object: &str,
        field: &str,
        release: Option<Release>,
    ) -> Option<Reason> {
        self.why(object, release, |row| any(field, &row.differences))
    }

    fn why(
        &self,
        object: &str,
        release: Option<Release>,
        is_it: impl Fn(&InstallerObject) -> bool,
    ) -> Option<Reason> {
        let mut rows = self.objects.select(release).filter(|row| is_it(row));
        let found = rows.find(|row| any(object, &row.objects));
        found.map(|row| reason(&row.id, &row.reason, &row.source))
    }

    /// Why a file of the directory is not taken over.
    pub(crate) fn why_left_out(&self, path: &str, release: Option<Release>) -> Option<&str> {
        let mut rows = self.files.select(release);
        rows.find(|row| matches(path, &row.path)).map(|row| row.reason.as_str())
    }
}
