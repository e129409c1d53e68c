//! What is known about OpenShift, as data with version ranges: the tables of `recipes/knowledge/`. A cluster directory's own
//! `recipes/knowledge/` replaces a table by having the same path, as it does with recipes.
//!
//! | file | what it owns |
//! |---|---|
//! | `release` | which releases a row is for |
//! | `table` | rows, read and selected; no two of one release say different things |
//! | `hand_over`, `trust`, `disruption` | what the rows of each table say |
//!
//! Invariant: whoever needs a name that OpenShift chose reads it from here; none of these names stands in code.

mod disruption;
mod hand_over;
mod release;
mod table;
#[cfg(test)]
mod tests;
mod trust;

pub(crate) use disruption::{Disruption, Effect};
pub(crate) use hand_over::{HandOver, HandedOver, Signer, SignerFields};

pub(crate) use release::Flavor;
pub(crate) use release::Release;
pub(crate) use table::Source;
pub(crate) use table::Table;
pub(crate) use trust::TrustEdge;
pub(crate) use trust::{
    Anchor, Credential, DialedName, FlagOf, Holds, Kubeconfigs, ObjectKey, PairFlags, Presentation, Role,
};

use crate::base::hint::{Place, Problem, Problems};
use crate::engine::recipe::{self, Sources};

/// All tables.
#[derive(Debug, Clone)]
pub struct Knowledge {
    pub(crate) hand_over: HandOver,
    pub trust: Table<TrustEdge>,
    pub disruption: Table<Disruption>,
}

impl Knowledge {
    /// The tables among these files.
    pub fn read(sources: &Sources) -> Result<Self, Problems> {
        Ok(Self {
            hand_over: HandOver::parse(source(sources, HandOver::FILE)?)?,
            trust: TrustEdge::parse(source(sources, TrustEdge::FILE)?)?,
            disruption: Disruption::parse(source(sources, Disruption::FILE)?)?,
        })
    }

    /// The tables of this tinderbox.
    pub fn built_in() -> Result<Self, Problems> {
        Self::read(&Sources::built_in())
    }
}

fn source<'s>(sources: &'s Sources, file: &str) -> Result<Source<'s>, Problems> {
    let path = format!("{}{file}", recipe::TABLES);
    let found = sources.get(&path).map(|found| Source { file: &found.shown, text: &found.text });
    found.ok_or_else(|| Problems(vec![Problem::new(Place::file(path), "this table is not built in")]))
}
