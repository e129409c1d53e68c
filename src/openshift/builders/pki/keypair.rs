//! `keypair`: a private key; with `public`, also its public key.
//!
//! Files: `<name>.key` (secret), `<name>.pub`. The algorithm is the config value or parameter `algorithm`. With `own`,
//! the user's key is used instead, rewritten in our form.

use super::about;
use super::terms::Terms;
use crate::base::pki::{Algorithm, Form, PrivateKey};
use crate::engine::drv::BuilderId;
use crate::engine::tree::{TreeWriter, leaf};
use crate::openshift::builders::{BuildError, Builder, Grants, Job, JobError};

pub(in crate::openshift::builders) struct Keypair;

impl Builder for Keypair {
    fn id(&self) -> BuilderId {
        BuilderId::new("keypair", 1)
    }

    fn grants(&self) -> Grants {
        Grants { seed: true, ..Grants::default() }
    }

    /// The public key is public; the private key is written as secret.
    fn declassifies(&self, _: &Job<'_>) -> bool {
        true
    }

    fn keeps_secrets(&self) -> bool {
        true
    }

    fn check(&self, job: &Job<'_>) -> Result<(), BuildError> {
        job.only(&["config", "name", "algorithm", "form", "public"])?;
        job.exactly(&[])?;
        let terms = Terms(job);
        terms.only(&["domain", "algorithm", "generation", "own"])?;
        terms.name()?;
        terms.domain()?;
        terms.count("generation")?;
        algorithm(&terms)?;
        form(&terms)?;
        terms.is("public")?;
        Ok(())
    }

    fn build(&self, job: &Job<'_>, out: &TreeWriter<'_>) -> Result<(), BuildError> {
        let terms = Terms(job);
        let (name, domain) = (terms.name()?, terms.domain()?);
        let key = match job.secrets.get("own") {
            Some(own) => {
                let text = own.reveal_text().unwrap_or_default();
                PrivateKey::from_pem(text).map_err(about(format!("your key of `{}`", leaf(name))))?
            }
            None => {
                let generation = terms.count("generation")?.unwrap_or(1);
                PrivateKey::generate(job.seed()?, domain, name, generation, algorithm(&terms)?)
            }
        };
        out.write_secret(&format!("{}.key", leaf(name)), key.to_pem(form(&terms)?).as_bytes(), false)?;
        if terms.is("public")? {
            out.write(&format!("{}.pub", leaf(name)), key.public_pem().as_bytes(), false)?;
        }
        Ok(())
    }
}

fn algorithm(terms: &Terms<'_>) -> Result<Algorithm, JobError> {
    let expected = "a key algorithm: `rsa-2048`, `rsa-3072`, `rsa-4096`, `ecdsa-p256` or `ecdsa-p384`";
    terms
        .text("algorithm")
        .and_then(Algorithm::read)
        .ok_or(JobError::Expected { name: "algorithm".into(), expected })
}

fn form(terms: &Terms<'_>) -> Result<Form, JobError> {
    match terms.text("form") {
        None | Some("pkcs8") => Ok(Form::Pkcs8),
        Some("own") => Ok(Form::Own),
        Some(_) => Err(JobError::Expected { name: "form".into(), expected: "`pkcs8` or `own`" }),
    }
}
