//! Keys and certificates: `keypair`, `authority`, `self-signed`, `certificate`. They are determined by the seed, the
//! cluster's domain, a name and a generation; time comes from the lock.
//!
//! A key is a derivation of its own, so that a certificate can be reissued without a new key. Besides their inputs,
//! they read:
//!
//! | alias or parameter | of | meaning |
//! |---|---|---|
//! | `name` (parameter) | all | what the key is derived for, `pki/etcd-server`; its last component names the files |
//! | `domain` (config) | all | the cluster's domain: another cluster under the same seed has other keys |
//! | `generation` (config) | `keypair` | counts the keys of this name, from 1; null: the first |
//! | `own` (config) | `keypair`, `authority` | the user's replacement; null: none |
//! | `epoch`, `hours` (config; `hours` also a parameter) | certificates | start and length of their validity |
//! | `renewed` (config) | certificates | `{epoch, generation}` of this certificate only; null: not renewed |
//! | `subject`, `usages`, `dns`, `ips`, … (parameters) | certificates | their contents; `{alias}` stands for a config value |

mod authority;
mod certificate;
mod keypair;
mod self_signed;
mod terms;

pub(super) use authority::Authority;
pub(super) use certificate::Certificate;
pub(super) use keypair::Keypair;
pub(super) use self_signed::SelfSigned;

use super::{ArtifactError, BuildError, Job, JobError};
use crate::base::pki::{self, PkiError, PrivateKey};

/// Adds the name of the key or certificate to an error.
fn about(what: impl Into<String>) -> impl FnOnce(PkiError) -> BuildError {
    let what = what.into();
    move |source| ArtifactError::Pki { what, source }.into()
}

/// The private key of an input built by `keypair`.
fn key(job: &Job<'_>, alias: &str) -> Result<PrivateKey, BuildError> {
    PrivateKey::from_pem(&only(job, alias, ".key")?).map_err(about(format!("input `{alias}`")))
}

fn certificate(job: &Job<'_>, alias: &str) -> Result<pki::Certificate, BuildError> {
    let text = only(job, alias, ".crt")?;
    let mut chain = pki::Certificate::chain_from_pem(&text).map_err(about(format!("input `{alias}`")))?;
    Ok(chain.swap_remove(0))
}

/// The text of an input that is one file, or has one file with that extension.
fn only(job: &Job<'_>, alias: &str, ending: &str) -> Result<String, JobError> {
    let input = job.input(alias)?;
    let found: Vec<&str> = input
        .leaves()
        .map(|(path, ..)| path)
        .filter(|path| path.is_empty() || path.ends_with(ending))
        .collect();
    match found.as_slice() {
        [path] => input.text(alias, path),
        _ => {
            let problem = format!("must be one file, or hold one `*{ending}`");
            Err(JobError::Input { alias: alias.to_owned(), problem })
        }
    }
}
