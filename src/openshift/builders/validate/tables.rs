//! The knowledge tables of a recipe's checks, for its release. A table is a file of the recipe, so that a check runs
//! again when a row changes.

use super::super::{Job, JobError};
use crate::base::value::Value;
use crate::openshift::knowledge::{
    Admission, HandOver, HandedOver, McoFormat, OnPremValue, Operand, Release, Signer, SignerFields, Source,
    Table, TableFile, TrustEdge,
};

#[derive(Default)]
pub(super) struct Tables {
    release: Option<Release>,
    admission: Option<Admission>,
    hand_over: Option<HandOver>,
    mco_formats: Option<Table<McoFormat>>,
    on_prem: Option<Table<OnPremValue>>,
    operands: Option<Table<Operand>>,
    trust: Option<Table<TrustEdge>>,
}

impl Tables {
    pub(super) fn read(job: &Job<'_>) -> Result<Self, JobError> {
        let version = job.config().get("version").and_then(|value| Value::as_text(value));
        let mut tables = Self { release: version.and_then(Release::parse), ..Self::default() };
        for (file, text) in job.text_map("files")? {
            let source = Source { file, text };
            let wrong = |problems: crate::base::hint::Problems| JobError::Entry {
                name: format!("files.{file}"),
                problem: problems.to_string(),
            };
            match file {
                Admission::FILE => tables.admission = Some(Admission::parse(source).map_err(wrong)?),
                HandOver::FILE => tables.hand_over = Some(HandOver::parse(source).map_err(wrong)?),
                Table::<McoFormat>::FILE => tables.mco_formats = Some(Table::parse(source).map_err(wrong)?),
                Table::<OnPremValue>::FILE => tables.on_prem = Some(Table::parse(source).map_err(wrong)?),
                Table::<Operand>::FILE => tables.operands = Some(Table::parse(source).map_err(wrong)?),
                Table::<TrustEdge>::FILE => tables.trust = Some(Table::parse(source).map_err(wrong)?),
                _ => return Err(JobError::Unused { name: file.to_owned(), used_in: "the checks".into() }),
            }
        }
        Ok(tables)
    }

    /// CRDs that admission needs, and what happens without them.
    pub(super) fn admission_crds(&self) -> impl Iterator<Item = (&str, &str)> {
        let rows = self.admission.iter().flat_map(|table| table.crds.select(self.release));
        rows.map(|row| (row.name.as_str(), row.without.as_str()))
    }

    /// SCCs that the API server looks for before it admits a pod.
    pub(super) fn sccs(&self) -> impl Iterator<Item = &str> {
        self.admission.iter().flat_map(|table| table.sccs.select(self.release)).map(|row| row.name.as_str())
    }

    /// Roles of cluster-policy-controller.
    pub(super) fn roles(&self) -> impl Iterator<Item = &str> {
        self.admission.iter().flat_map(|table| table.roles.select(self.release)).map(|row| row.name.as_str())
    }

    pub(super) fn handed_over(&self) -> impl Iterator<Item = &HandedOver> {
        self.hand_over.iter().flat_map(|table| table.objects.select(self.release))
    }

    /// Signers with their Secrets, and the fields that operators read.
    pub(super) fn signers(&self) -> impl Iterator<Item = (&HandedOver, Signer, &SignerFields)> {
        self.hand_over.iter().flat_map(|table| {
            let signers = table.signers(self.release).into_iter();
            signers.map(|(object, signer)| (object, signer, &table.signers))
        })
    }

    /// What this release's MCO has under a name; empty if the table has nothing.
    pub(super) fn mco_format(&self, name: &str) -> &str {
        self.mco_formats.as_ref().and_then(|table| table.value(self.release, name)).unwrap_or_default()
    }

    /// Paths of what holds the VIPs, under a name; empty if the table has nothing.
    pub(super) fn on_prem(&self, name: &str) -> &str {
        self.on_prem.as_ref().and_then(|table| table.value(self.release, name)).unwrap_or_default()
    }

    /// What this release's other programs have under a name; empty if the table has nothing.
    pub(super) fn operand(&self, name: &str) -> &str {
        self.operands.as_ref().and_then(|table| table.value(self.release, name)).unwrap_or_default()
    }

    pub(super) fn edges(&self) -> impl Iterator<Item = &TrustEdge> {
        self.trust.iter().flat_map(|table| table.select(self.release))
    }
}
