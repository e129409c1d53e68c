//! Knowledge about OpenShift as data with version ranges: the tables of `recipes/knowledge/`. A cluster directory's own
//! `recipes/knowledge/` overrides a table with the same path, as with recipes.
//!
//! | file | responsibility |
//! |---|---|
//! | `release` | which releases a row applies to |
//! | `table` | parses and selects rows; no two rows of one release may conflict |
//! | `admission`, `annotations`, `boot_facts`, `boot_images`, `components`, `described`, `disruption`, `drift`, `fields`, `guide`, `hand_over`, `installer`, `mco_kinds`, `named_values`, `purposes`, `render_differences`, `signing_keys`, `trust` | what the rows of each table say |
//!
//! Invariant: names that OpenShift chose come from here; none of them appears in code.

mod admission;
mod annotations;
mod boot_facts;
mod boot_images;
mod components;
mod described;
mod disruption;
mod drift;
mod fields;
mod guide;
mod hand_over;
mod installer;
mod mco_kinds;
mod named_values;
mod purposes;
mod release;
mod render_differences;
mod signing_keys;
mod table;
#[cfg(test)]
mod tests;
mod trust;

pub(crate) use admission::Admission;
use annotations::Annotation;
pub(crate) use boot_facts::BootFact;
pub(crate) use boot_images::BootImages;
pub(crate) use components::Components;
use described::Series;
pub(crate) use disruption::{Disruption, Effect};
pub(crate) use drift::{DriftKnowledge, ExpectedEdit, LiveChange};
use fields::FieldMeaning;
pub(crate) use guide::{Chapter, NodeFiles};
pub(crate) use hand_over::{HandOver, HandedOver, Signer, SignerFields};

pub(crate) use installer::{Installer, InstallerState};
use mco_kinds::McoKind;
pub(crate) use named_values::{McoFormat, OnPremValue, Operand};
pub(crate) use purposes::{About, Known, Purpose};
use purposes::{AppliedObject, KnownArtifact, NodeFile};
pub(crate) use release::Flavor;
pub(crate) use release::Release;
pub(crate) use render_differences::{ComparedFiles, ComparedProgram, Reason, RenderDifferences};
pub(crate) use signing_keys::SigningKey;
pub(crate) use table::{Source, Table, TableFile};
pub(crate) use trust::TrustEdge;
pub(crate) use trust::{
    Anchor, Credential, DialedName, FlagOf, Holds, Kubeconfigs, ObjectKey, PairFlags, Presentation, Role,
};

use std::collections::BTreeMap;
use std::sync::OnceLock;

use crate::base::hint::{Place, Problem, Problems};
use crate::engine::recipe::{self, NameTable, SourceFile, Sources};
use crate::openshift::trust::Pool;

/// All tables, each parsed on first use.
#[derive(Debug)]
pub struct Knowledge {
    admission: Lazy<Admission>,
    annotations: Lazy<Table<Annotation>>,
    artifacts: Lazy<Table<KnownArtifact>>,
    pub(crate) boot_facts: Lazy<Table<BootFact>>,
    pub(crate) boot_images: Lazy<BootImages>,
    pub(crate) components: Lazy<Components>,
    pub(crate) drift: Lazy<DriftKnowledge>,
    pub(crate) fields: Lazy<Table<FieldMeaning>>,
    pub(crate) guide: Lazy<Table<Chapter>>,
    pub(crate) hand_over: Lazy<HandOver>,
    pub(crate) installer: Lazy<Installer>,
    mco_formats: Lazy<Table<McoFormat>>,
    mco_kinds: Lazy<Table<McoKind>>,
    node_files: Lazy<Table<NodeFile>>,
    objects: Lazy<Table<AppliedObject>>,
    on_prem: Lazy<Table<OnPremValue>>,
    operands: Lazy<Table<Operand>>,
    described: Lazy<Table<Series>>,
    pub(crate) render_differences: Lazy<RenderDifferences>,
    pub(crate) signing_keys: Lazy<Table<SigningKey>>,
    pub trust: Lazy<Table<TrustEdge>>,
    pub disruption: Lazy<Table<Disruption>>,
}

/// A table that is parsed on first use.
#[derive(Debug)]
pub struct Lazy<T> {
    source: SourceFile,
    table: OnceLock<T>,
}

impl Knowledge {
    /// The tables among these files. Those of a cluster directory are parsed at once, so that their problems are
    /// reported even if they are not used.
    pub fn read(sources: &Sources) -> Result<Self, Problems> {
        Ok(Self {
            admission: Lazy::of(sources)?,
            annotations: Lazy::of(sources)?,
            artifacts: Lazy::of(sources)?,
            boot_facts: Lazy::of(sources)?,
            boot_images: Lazy::of(sources)?,
            components: Lazy::of(sources)?,
            drift: Lazy::of(sources)?,
            fields: Lazy::of(sources)?,
            guide: Lazy::of(sources)?,
            hand_over: Lazy::of(sources)?,
            installer: Lazy::of(sources)?,
            mco_formats: Lazy::of(sources)?,
            mco_kinds: Lazy::of(sources)?,
            node_files: Lazy::of(sources)?,
            objects: Lazy::of(sources)?,
            on_prem: Lazy::of(sources)?,
            operands: Lazy::of(sources)?,
            described: Lazy::of(sources)?,
            render_differences: Lazy::of(sources)?,
            signing_keys: Lazy::of(sources)?,
            trust: Lazy::of(sources)?,
            disruption: Lazy::of(sources)?,
        })
    }

    pub fn built_in() -> Result<Self, Problems> {
        Self::read(&Sources::built_in())
    }

    /// The releases that the tables describe, for a sentence.
    pub(crate) fn described(&self) -> Result<String, Problems> {
        Ok(self.described.get()?.all_series())
    }

    /// What the user should know of a release that no table describes; nothing of any other.
    pub(crate) fn beyond(&self, release: Release) -> Result<Option<String>, Problems> {
        let described = self.described.get()?;
        let Release { version, flavor } = release;
        let (title, series) = (flavor.title(), described.all_series());
        let text = format!(
            "the tables of this tinderbox describe {series}, not {title} {version}: checks and renders do not know what is \
             different there"
        );
        Ok((!described.describes(release)).then_some(text))
    }

    /// A value of the machine-config operator of this release.
    pub(crate) fn mco_format(&self, release: Option<Release>, name: &str) -> Result<Option<&str>, Problems> {
        Ok(self.mco_formats.get()?.value(release, name))
    }

    /// Kinds (`Kind.group`) that the machine-config controller of this release reads, and whether those of the payload go
    /// into our render.
    pub(crate) fn mco_kinds(&self, release: Option<Release>) -> Result<BTreeMap<&str, bool>, Problems> {
        Ok(self.mco_kinds.get()?.select(release).map(|row| (row.kind(), row.is_of_payload())).collect())
    }

    /// What a path on a node of this pool is for; none if no row covers it.
    pub(crate) fn node_file(
        &self,
        release: Option<Release>,
        pool: Pool,
        path: &str,
    ) -> Result<Option<Purpose>, Problems> {
        Ok(self.node_files.get()?.purpose(release, pool, path))
    }

    /// What an object is for, by its kind with its group and its name with its namespace; none if no row covers it.
    pub(crate) fn object(
        &self,
        release: Option<Release>,
        kind: &str,
        name: &str,
    ) -> Result<Option<Purpose>, Problems> {
        let handed_over = self.hand_over.get()?.purpose(release, kind, name);
        Ok(match handed_over {
            Some(found) => Some(found),
            None => self.objects.get()?.purpose(release, kind, name),
        })
    }

    /// What a derivation is for, or one file of it; none if no row covers it.
    pub(crate) fn artifact(
        &self,
        release: Option<Release>,
        derivation: &str,
        file: Option<&str>,
        summary: &str,
    ) -> Result<Option<Purpose>, Problems> {
        Ok(self.artifacts.get()?.purpose(release, derivation, file, summary))
    }

    /// The tables that recipes may use, by the part before the dot. `stream` is the OS stream that the user chose.
    pub(crate) fn names(
        &self,
        release: Option<Release>,
        stream: Option<&str>,
    ) -> Result<BTreeMap<&'static str, NameTable>, Problems> {
        let admission = self.admission.get()?.names(&self.admission.source.shown, release);
        let annotations = self.annotations.get()?.names(&self.annotations.source.shown, release);
        let boot_image = self.boot_images.get()?.names(&self.boot_images.source.shown);
        let [check, checks] = self.boot_facts.get()?.names(&self.boot_facts.source.shown, release);
        let component = self.components.get()?.names(&self.components.source.shown, release, stream);
        let mco = self.mco_kinds.get()?.names(&self.mco_kinds.source.shown, release);
        let format = self.mco_formats.get()?.names(&self.mco_formats.source.shown, release);
        let on_prem = self.on_prem.get()?.names(&self.on_prem.source.shown, release);
        let operand = self.operands.get()?.names(&self.operands.source.shown, release);
        let tables = [
            ("admission", admission),
            ("annotations", annotations),
            ("boot-image", boot_image),
            ("check", check),
            ("checks", checks),
            ("component", component),
            ("mco", mco),
            ("mco-format", format),
            ("on-prem", on_prem),
            ("operand", operand),
        ];
        Ok(tables.into())
    }
}

impl<T: TableFile> Lazy<T> {
    fn of(sources: &Sources) -> Result<Self, Problems> {
        let path = format!("{}{}", recipe::TABLES, T::FILE);
        let absent = || Problems(vec![Problem::new(Place::file(&path), "this table is not built in")]);
        let table = Self { source: sources.get(&path).ok_or_else(absent)?.clone(), table: OnceLock::new() };
        if !table.source.is_built_in() {
            table.get()?;
        }
        Ok(table)
    }

    /// The table, or all its problems.
    pub fn get(&self) -> Result<&T, Problems> {
        if let Some(table) = self.table.get() {
            return Ok(table);
        }
        let SourceFile { shown, text } = &self.source;
        let table = T::parse(Source { file: shown, text })?;
        Ok(self.table.get_or_init(|| table))
    }
}
