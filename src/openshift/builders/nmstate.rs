//! `nmstate`: a node's NetworkManager keyfiles from its NMState document.
//!
//! `config.document` is the document; `config.interfaces` are the machine's ports, each with the name that the document
//! gives it and its MAC address. Output: one file per connection, named after it.

use super::{BuildError, Builder, Job, JobError};
use crate::base::value::Value;
use crate::engine::drv::BuilderId;
use crate::engine::tree::TreeWriter;
use crate::openshift::nmstate::{Port, keyfiles};

pub(super) struct Nmstate;

impl Builder for Nmstate {
    fn id(&self) -> BuilderId {
        BuilderId::new("nmstate", 1)
    }

    fn check(&self, job: &Job<'_>) -> Result<(), BuildError> {
        job.only(&["config"])?;
        job.exactly(&[])?;
        document(job)?;
        ports(job)?;
        match job.config().into_keys().find(|name| !["document", "interfaces"].contains(name)) {
            Some(name) => {
                Err(JobError::Unused { name: name.to_owned(), used_in: "this builder".into() }.into())
            }
            None => Ok(()),
        }
    }

    fn build(&self, job: &Job<'_>, out: &TreeWriter<'_>) -> Result<(), BuildError> {
        let files = keyfiles(document(job)?, &ports(job)?).map_err(|refusals| {
            // The configuration's rules have shown all of them, with their lines.
            let problem = refusals.into_iter().map(|one| format!("{}: {}", one.path, one.message));
            JobError::Entry { name: "document".into(), problem: problem.collect::<Vec<_>>().join("; ") }
        })?;
        for (name, text) in files {
            out.write(&name, text.as_bytes(), false)?;
        }
        Ok(())
    }
}

fn document<'j>(job: &'j Job<'_>) -> Result<&'j Value, JobError> {
    let wrong = || JobError::Expected { name: "config.document".into(), expected: "an NMState document" };
    job.config()
        .get("document")
        .copied()
        .filter(|document| matches!(document, Value::Map(_)))
        .ok_or_else(wrong)
}

fn ports<'j>(job: &'j Job<'_>) -> Result<Vec<Port<'j>>, JobError> {
    let wrong = || JobError::Expected { name: "config.interfaces".into(), expected: "a list of ports" };
    let port = |value: &'j Value| {
        let text = |key| value.get(key).and_then(Value::as_text);
        Some(Port { name: text("name")?, mac: text("macAddress")? })
    };
    match job.config().get("interfaces") {
        Some(Value::List(items)) => items.iter().map(port).collect::<Option<_>>().ok_or_else(wrong),
        _ => Err(wrong()),
    }
}
