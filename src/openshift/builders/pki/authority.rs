//! `authority`: a certificate that signs others; issued by another authority or by itself.
//!
//! Files: `<name>.crt`, and `<name>-bundle.crt`, which adds everything up to the root for verifiers that do not stop
//! at an intermediate (OpenSSL); `bundle = false` omits it. With `own`, the user's certificate is used instead, with
//! the rest of its chain in the same file.

use super::certificate::CONFIG;
use super::terms::Terms;
use super::{ArtifactError, about, key, only};
use crate::base::pki::{self, Certificate, Issuer, KeyUsage, PrivateKey, Request};
use crate::base::time::rfc3339;
use crate::engine::drv::BuilderId;
use crate::engine::tree::{TreeWriter, leaf};
use crate::openshift::builders::{BuildError, Builder, Grants, Job, JobError};

pub(in crate::openshift::builders) struct Authority;

impl Builder for Authority {
    fn id(&self) -> BuilderId {
        BuilderId::new("authority", 1)
    }

    fn grants(&self) -> Grants {
        Grants { seed: true, ..Grants::default() }
    }

    fn declassifies(&self, _: &Job<'_>) -> bool {
        true
    }

    fn check(&self, job: &Job<'_>) -> Result<(), BuildError> {
        job.only(&["config", "name", "subject", "path_length", "key_usages", "hours", "bundle"])?;
        match job.aliases().contains("issuer") {
            true => job.exactly(&["key", "issuer", "issuer-key"])?,
            false => job.exactly(&["key"])?,
        }
        let terms = Terms(job);
        terms.only(&[&CONFIG[..], &["own", "leaf_hours"]].concat())?;
        terms.name()?;
        terms.domain()?;
        terms.validity()?;
        terms.subject()?;
        terms.key_usages()?;
        terms.count("leaf_hours")?;
        terms.is("bundle")?;
        path_length(job)?;
        Ok(())
    }

    fn build(&self, job: &Job<'_>, out: &TreeWriter<'_>) -> Result<(), BuildError> {
        let name = Terms(job).name()?;
        let own = key(job, "key")?;
        let chain = match Terms(job).text("own") {
            Some(text) => user_chain(job, text, &own)?,
            None => issued(job, &own)?,
        };
        let bundle: String = chain.iter().map(Certificate::to_pem).collect();
        let first = chain.first().map(Certificate::to_pem).unwrap_or_default();
        out.write(&format!("{}.crt", leaf(name)), first.as_bytes(), false)?;
        if job.params.contains_key("bundle") && !Terms(job).is("bundle")? {
            return Ok(());
        }
        Ok(out.write(&format!("{}-bundle.crt", leaf(name)), bundle.as_bytes(), false)?)
    }
}

/// How many authorities may follow below; none for no limit.
fn path_length(job: &Job<'_>) -> Result<Option<u8>, JobError> {
    let wrong = || JobError::Expected {
        name: "path_length".into(),
        expected: "how many authorities may follow below",
    };
    match job.params.get("path_length") {
        None => Ok(None),
        Some(value) => {
            value.as_int().and_then(|length| u8::try_from(length).ok()).map(Some).ok_or_else(wrong)
        }
    }
}

/// Issues a new certificate; returns it with those above it.
fn issued(job: &Job<'_>, own: &PrivateKey) -> Result<Vec<Certificate>, BuildError> {
    let terms = Terms(job);
    let name = terms.name()?;
    let validity = terms.validity()?;
    let above = match job.aliases().contains("issuer") {
        true => {
            let bundle = only(job, "issuer", "-bundle.crt")?;
            Certificate::chain_from_pem(&bundle).map_err(about("input `issuer`"))?
        }
        false => Vec::new(),
    };
    let validity = match above.first() {
        Some(issuer) => validity.within(name, issuer)?,
        None => validity,
    };
    let request = Request {
        subject: terms.subject()?,
        not_before: validity.not_before,
        not_after: validity.not_after,
        authority: Some(pki::Authority { path_length: path_length(job)? }),
        key_usages: terms.key_usages()?.unwrap_or_else(|| vec![KeyUsage::CertSign, KeyUsage::CrlSign]),
        server: false,
        client: false,
        dns: Vec::new(),
        ips: Vec::new(),
        key: own,
    };
    let issuer_key = if above.is_empty() { None } else { Some(key(job, "issuer-key")?) };
    let issuer = above.first().zip(issuer_key.as_ref()).map(|(certificate, key)| Issuer { certificate, key });
    let made = pki::issue(job.seed()?, terms.domain()?, name, terms.generation(), &request, issuer)
        .map_err(about(format!("the authority `{}`", leaf(name))))?;
    Ok(std::iter::once(made).chain(above).collect())
}

/// The user's certificate and the rest of its chain, after checking that it qualifies.
fn user_chain(job: &Job<'_>, text: &str, own: &PrivateKey) -> Result<Vec<Certificate>, BuildError> {
    let terms = Terms(job);
    let name = leaf(terms.name()?);
    let chain = Certificate::chain_from_pem(text).map_err(about(format!("your certificate of `{name}`")))?;
    let wrong = |problem: String, advice: &str| {
        Err(ArtifactError::UserCertificate { name: name.to_owned(), problem, advice: advice.to_owned() }
            .into())
    };
    let Some(first) = chain.first() else { return wrong("is empty".into(), "put a PEM certificate there") };
    if !first.belongs_to(own) {
        return wrong(
            "does not belong to your key of that name".into(),
            "use two files that belong together",
        );
    }
    if !first.is_authority() {
        return wrong(
            "is not an authority: basicConstraints has no CA:TRUE".into(),
            "have it issued as an authority",
        );
    }
    if !first.key_usages().is_empty() && !first.key_usages().contains(&KeyUsage::CertSign) {
        return wrong(
            "may not sign: keyUsage has no keyCertSign".into(),
            "have it issued with keyCertSign and cRLSign",
        );
    }
    let wanted = path_length(job)?;
    if let (Some(has), Some(wanted)) = (first.path_length(), wanted)
        && has < wanted
    {
        let problem = format!("has a path length of {has}, but needs {wanted}");
        return wrong(problem, "have it issued with a longer path length, or without one");
    }
    if let Some(pair) = chain.windows(2).find(|pair| !pair[0].is_issued_by(&pair[1])) {
        let problem =
            format!("has a broken chain: `{}` is not issued by `{}`", pair[0].subject(), pair[1].subject());
        return wrong(problem, "order the file from your authority up to its root");
    }
    match too_short(&terms, &chain)? {
        Some((problem, advice)) => wrong(problem, advice),
        None => Ok(chain),
    }
}

/// What is wrong with the dates of a chain, and what to do: it must be valid at the epoch, and outlast what it signs.
fn too_short(terms: &Terms<'_>, chain: &[Certificate]) -> Result<Option<(String, &'static str)>, JobError> {
    let epoch = terms.validity()?.epoch;
    let hours = terms.count("leaf_hours")?.unwrap_or_default();
    let leaves = epoch.saturating_add(time::Duration::hours(i64::try_from(hours).unwrap_or(i64::MAX)));
    Ok(chain.iter().find_map(|one| {
        if one.not_before() > epoch {
            let (begins, epoch) = (rfc3339(one.not_before()), rfc3339(epoch));
            let problem =
                format!("is valid from {begins}, after the epoch of the lock ({epoch}): `{}`", one.subject());
            Some((problem, "`tinderbox renew` moves the epoch to now"))
        } else if one.not_after() < leaves {
            let (ends, leaves) = (rfc3339(one.not_after()), rfc3339(leaves));
            let problem = format!(
                "expires {ends}, before the certificates that it signs ({leaves}): `{}`",
                one.subject()
            );
            Some((problem, "use one that lasts longer, or shorten `pki.validity.leaves` in cluster.yaml"))
        } else {
            None
        }
    }))
}
