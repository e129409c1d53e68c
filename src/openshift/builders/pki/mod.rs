//! Keys and certificates: `keypair`, `authority`, `self-signed`, `certificate`. What they make follows from the seed, the
//! cluster's domain, a name and a generation; time comes from the lock.
//!
//! A key is a derivation of its own, so that a certificate can be issued again without a new key. What they read
//! beside their inputs:
//!
//! | alias or parameter | of | what it is |
//! |---|---|---|
//! | `name` (parameter) | all | what the key is derived for, `pki/etcd-server`; its last part names the files |
//! | `domain` (config) | all | the cluster's domain: another cluster under the same seed has other keys |
//! | `generation` (config) | `keypair` | how many keys there were, with this one; null: the first |
//! | `own` (config) | `keypair`, `authority` | what the user brought in its place; null: nothing |
//! | `epoch`, `hours` (config; `hours` also a parameter) | certificates | from when on, and how long they are valid |
//! | `renewed` (config) | certificates | `{epoch, generation}` of this certificate alone; null: it has none |
//! | `subject`, `usages`, `dns`, `ips`, … (parameters) | certificates | what they say; `{alias}` in them stands for a config value |

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

/// What a key or certificate is about: who could not be read or made, and why.
fn about(what: impl Into<String>) -> impl FnOnce(PkiError) -> BuildError {
    let what = what.into();
    move |source| ArtifactError::Pki { what, source }.into()
}

/// The private key of an input that `keypair` made.
fn key(job: &Job<'_>, alias: &str) -> Result<PrivateKey, BuildError> {
    PrivateKey::from_pem(&only(job, alias, ".key")?).map_err(about(format!("input `{alias}`")))
}

/// The certificate of an input.
fn certificate(job: &Job<'_>, alias: &str) -> Result<pki::Certificate, BuildError> {
    let text = only(job, alias, ".crt")?;
    let mut chain = pki::Certificate::chain_from_pem(&text).map_err(about(format!("input `{alias}`")))?;
    Ok(chain.swap_remove(0))
}

/// The text of an input that is one file, or has one file with that ending.
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
