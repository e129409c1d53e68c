//! What is known about OpenShift, as data with version ranges: the tables of `recipes/knowledge/`. A cluster directory's own
//! `recipes/knowledge/` replaces a table by having the same path, as it does with recipes.
//!
//! | file | what it owns |
//! |---|---|
//! | `release` | which releases a row is for |
//! | `table` | rows, read and selected; no two of one release say different things |
//! | `boot_facts`, `boot_images`, `components`, `disruption`, `hand_over`, `mco_kinds`, `render_differences`, `trust` | what the rows of each table say |
//!
//! Invariant: whoever needs a name that OpenShift chose reads it from here; none of these names stands in code.

mod boot_facts;
mod boot_images;
mod components;
mod disruption;
mod hand_over;
mod mco_kinds;
mod release;
mod render_differences;
mod table;
#[cfg(test)]
mod tests;
mod trust;

pub(crate) use boot_facts::BootFact;
pub(crate) use boot_images::BootImages;
pub(crate) use components::Components;
pub(crate) use disruption::{Disruption, Effect};
pub(crate) use hand_over::{HandOver, HandedOver, Signer, SignerFields};

use mco_kinds::McoKind;
pub(crate) use release::Flavor;
pub(crate) use release::Release;
pub(crate) use render_differences::RenderDifference;
pub(crate) use table::{Source, Table, TableFile};
pub(crate) use trust::TrustEdge;
pub(crate) use trust::{
    Anchor, Credential, DialedName, FlagOf, Holds, Kubeconfigs, ObjectKey, PairFlags, Presentation, Role,
};

use std::collections::BTreeMap;
use std::sync::OnceLock;

use crate::base::hint::{Place, Problem, Problems};
use crate::engine::recipe::{self, NameTable, SourceFile, Sources};

/// All tables, each read when it is first asked for.
#[derive(Debug)]
pub struct Knowledge {
    pub(crate) boot_facts: Lazy<Table<BootFact>>,
    pub(crate) boot_images: Lazy<BootImages>,
    pub(crate) components: Lazy<Components>,
    pub(crate) hand_over: Lazy<HandOver>,
    mco_kinds: Lazy<Table<McoKind>>,
    pub(crate) render_differences: Lazy<Table<RenderDifference>>,
    pub trust: Lazy<Table<TrustEdge>>,
    pub disruption: Lazy<Table<Disruption>>,
}

/// A table that is read when it is first asked for.
#[derive(Debug)]
pub struct Lazy<T> {
    source: SourceFile,
    table: OnceLock<T>,
}

impl Knowledge {
    /// The tables among these files. Those of a cluster directory are read at once: what is wrong with one is said even
    /// if nobody asks it anything.
    pub fn read(sources: &Sources) -> Result<Self, Problems> {
        Ok(Self {
            boot_facts: Lazy::of(sources)?,
            boot_images: Lazy::of(sources)?,
            components: Lazy::of(sources)?,
            hand_over: Lazy::of(sources)?,
            mco_kinds: Lazy::of(sources)?,
            render_differences: Lazy::of(sources)?,
            trust: Lazy::of(sources)?,
            disruption: Lazy::of(sources)?,
        })
    }

    /// The tables of this tinderbox.
    pub fn built_in() -> Result<Self, Problems> {
        Self::read(&Sources::built_in())
    }

    /// What recipes may name, by what stands before the dot.
    pub(crate) fn names(
        &self,
        release: Option<Release>,
    ) -> Result<BTreeMap<&'static str, NameTable>, Problems> {
        let [check, checks] = self.boot_facts.get()?.names(&self.boot_facts.source.shown, release);
        let component = self.components.get()?.names(&self.components.source.shown, release);
        let mco = self.mco_kinds.get()?.names(&self.mco_kinds.source.shown, release);
        Ok([("check", check), ("checks", checks), ("component", component), ("mco", mco)].into())
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

    /// The table, with all that is wrong with it.
    pub fn get(&self) -> Result<&T, Problems> {
        if let Some(table) = self.table.get() {
            return Ok(table);
        }
        let SourceFile { shown, text } = &self.source;
        let table = T::parse(Source { file: shown, text })?;
        Ok(self.table.get_or_init(|| table))
    }
}
