//! `certificate`: a leaf certificate, issued for its own key.
//!
//! File: `<name>.crt`. With `append_issuer`, its issuer's certificate follows in the same file. A server certificate
//! must have names, unless the recipe sets `nameless`. `most_hours` limits its life, however long `hours` is.

use super::terms::Terms;
use super::{about, certificate, key};
use crate::base::pki::{self, Algorithm, Issuer, KeyUsage, Request};
use crate::engine::drv::BuilderId;
use crate::engine::tree::{TreeWriter, leaf};
use crate::openshift::builders::{BuildError, Builder, Grants, Job, JobError};

pub(in crate::openshift::builders) struct Certificate;

/// Config values that are not for the subject or the names.
pub(super) const CONFIG: [&str; 4] = ["domain", "epoch", "hours", "renewed"];

impl Builder for Certificate {
    fn id(&self) -> BuilderId {
        BuilderId::new("certificate", 1)
    }

    fn grants(&self) -> Grants {
        Grants { seed: true, ..Grants::default() }
    }

    fn declassifies(&self, _: &Job<'_>) -> bool {
        true
    }

    fn check(&self, job: &Job<'_>) -> Result<(), BuildError> {
        job.only(&[
            "config",
            "nameless",
            "name",
            "subject",
            "usages",
            "key_usages",
            "dns",
            "ips",
            "hours",
            "most_hours",
            "append_issuer",
        ])?;
        job.exactly(&["key", "issuer", "issuer-key"])?;
        let terms = Terms(job);
        terms.only(&CONFIG)?;
        terms.name()?;
        terms.domain()?;
        terms.validity()?;
        terms.subject()?;
        terms.key_usages()?;
        let (server, _) = terms.usages()?;
        // Clients check only these names, never the subject.
        terms.is("append_issuer")?;
        if server && !terms.is("nameless")? && terms.dns()?.is_empty() && terms.ips()?.is_empty() {
            let expected = "given for a server certificate, in `dns` or `ips`";
            return Err(JobError::Expected { name: "dns".into(), expected }.into());
        }
        Ok(())
    }

    fn build(&self, job: &Job<'_>, out: &TreeWriter<'_>) -> Result<(), BuildError> {
        let terms = Terms(job);
        let name = terms.name()?;
        let own = key(job, "key")?;
        let (issuer, issuer_key) = (certificate(job, "issuer")?, key(job, "issuer-key")?);
        let validity = terms.validity()?.within(name, &issuer)?;
        let (server, client) = terms.usages()?;
        let request = Request {
            subject: terms.subject()?,
            not_before: validity.not_before,
            not_after: validity.not_after,
            authority: None,
            key_usages: terms.key_usages()?.unwrap_or_else(|| usages_of(own.algorithm())),
            server,
            client,
            dns: terms.dns()?,
            ips: terms.ips()?,
            key: &own,
        };
        let by = Issuer { certificate: &issuer, key: &issuer_key };
        let made = pki::issue(job.seed()?, terms.domain()?, name, terms.generation(), &request, Some(by))
            .map_err(about(format!("the certificate `{}`", leaf(name))))?;
        let mut text = made.to_pem();
        if terms.is("append_issuer")? {
            text.push_str(&issuer.to_pem());
        }
        Ok(out.write(&format!("{}.crt", leaf(name)), text.as_bytes(), false)?)
    }
}

/// The key usages of a leaf: only RSA keys can encipher.
fn usages_of(algorithm: Algorithm) -> Vec<KeyUsage> {
    match algorithm {
        Algorithm::EcdsaP256 | Algorithm::EcdsaP384 => vec![KeyUsage::DigitalSignature],
        Algorithm::Rsa2048 | Algorithm::Rsa3072 | Algorithm::Rsa4096 => {
            vec![KeyUsage::DigitalSignature, KeyUsage::KeyEncipherment]
        }
    }
}
