//! `self-signed`: a self-signed twin of an authority.
//!
//! File: `<name>.crt`. It has the name, the key and the dates of the input `certificate`: clients that trust either
//! accept certificates signed by the other. For programs that treat every authority as a root.

use super::terms::Terms;
use super::{about, certificate, key};
use crate::base::pki;
use crate::engine::drv::BuilderId;
use crate::engine::tree::{TreeWriter, leaf};
use crate::openshift::builders::{BuildError, Builder, Grants, Job};

pub(in crate::openshift::builders) struct SelfSigned;

impl Builder for SelfSigned {
    fn id(&self) -> BuilderId {
        BuilderId::new("self-signed", 1)
    }

    fn grants(&self) -> Grants {
        Grants { seed: true, ..Grants::default() }
    }

    fn declassifies(&self, _: &Job<'_>) -> bool {
        true
    }

    fn check(&self, job: &Job<'_>) -> Result<(), BuildError> {
        job.only(&["config", "name"])?;
        job.exactly(&["certificate", "key"])?;
        let terms = Terms(job);
        terms.only(&["domain"])?;
        terms.name()?;
        terms.domain()?;
        Ok(())
    }

    fn build(&self, job: &Job<'_>, out: &TreeWriter<'_>) -> Result<(), BuildError> {
        let terms = Terms(job);
        let name = terms.name()?;
        let (authority, key) = (certificate(job, "certificate")?, key(job, "key")?);
        let made = pki::self_signed(job.seed()?, terms.domain()?, name, &authority, &key)
            .map_err(about(format!("the authority `{}`", leaf(name))))?;
        Ok(out.write(&format!("{}.crt", leaf(name)), made.to_pem().as_bytes(), false)?)
    }
}
