//! `netboot`: what one node needs to be installed over the network, beside the live system that all nodes share.
//!
//! Inputs: `ignition`, the node's config, a file; `machine`, a text with a line for each of its ports, which begins with the
//! MAC address. Templates in `files` see the config and `macs`, the addresses. Parameters: `script`, the template that becomes `mac-52-54-00-….ipxe` for every address;
//! `initrd`, the name of the initrd that carries the config; `values`, more for the templates.
//!
//! The initrd is like that in a node's live ISO ([`crate::openshift::iso`]) and is secret; scripts are public.

use minijinja::value::Value as Jinja;

use super::{BuildError, Builder, Job, JobError};
use crate::engine::builders::{Templates, template_values as values};
use crate::engine::drv::BuilderId;
use crate::engine::tree::TreeWriter;
use crate::openshift::iso;

/// The name under which templates see the addresses.
const MACS: &str = "macs";

pub(super) struct Netboot;

impl Builder for Netboot {
    fn id(&self) -> BuilderId {
        BuilderId::new("netboot", 1)
    }

    /// Scripts say which machine is which node, and nothing else; the initrd is written as a secret.
    fn declassifies(&self, _: &Job<'_>) -> bool {
        true
    }

    fn check(&self, job: &Job<'_>) -> Result<(), BuildError> {
        job.only(&["config", "files", "values", "script", "initrd"])?;
        job.exactly(&["ignition", "machine"])?;
        text(job, "initrd")?;
        let (script, templates) = (text(job, "script")?, Templates::read(job)?);
        if !templates.outputs().any(|output| output == script) {
            return Err(JobError::Expected { name: "script".into(), expected: "one of `files`" }.into());
        }
        let used = templates.names();
        let mut given = job.config().into_keys().chain(values(job)?.keys().map(String::as_str));
        match given.find(|name| !used.contains(name)) {
            Some(name) => Err(JobError::Unused { name: name.to_owned(), used_in: templates.listed() }.into()),
            None => Ok(()),
        }
    }

    fn build(&self, job: &Job<'_>, out: &TreeWriter<'_>) -> Result<(), BuildError> {
        let machine = job.input("machine")?.text("machine", "")?;
        let macs: Vec<String> =
            machine.lines().filter_map(|line| Some(line.split_whitespace().next()?.to_owned())).collect();
        let ignition = job.input("ignition")?.text("ignition", "")?;
        let initrd = iso::initrd(&iso::unattended(&ignition))
            .map_err(|source| JobError::Input { alias: "ignition".into(), problem: source.to_string() })?;
        out.write_secret(text(job, "initrd")?, &initrd, false)?;
        let templates = Templates::read(job)?;
        let mut context = templates.context(job)?;
        context.insert(MACS.to_owned(), Jinja::from(macs.clone()));
        for path in templates.outputs() {
            let rendered = templates.render(path, &context)?;
            match path == text(job, "script")? {
                true => {
                    for mac in &macs {
                        let path = format!("mac-{}.ipxe", mac.to_ascii_lowercase().replace(':', "-"));
                        out.write(&path, rendered.as_bytes(), false)?;
                    }
                }
                false => out.write(path, rendered.as_bytes(), false)?,
            }
        }
        Ok(())
    }
}

fn text<'a>(job: &'a Job<'_>, name: &str) -> Result<&'a str, JobError> {
    let missing = || JobError::Expected { name: name.to_owned(), expected: "a text" };
    job.params.get(name).and_then(|value| value.as_text()).ok_or_else(missing)
}
