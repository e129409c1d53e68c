//! `template`: renders text files with minijinja, strictly (see [`super::render`]). A declared name that no template
//! uses is an error too, because every change of it would cause a rebuild.
//!
//! `files` holds the templates by output path. `exec` lists the executable outputs.

use super::render::{Templates, values};
use super::{BuildError, Builder, Job, JobError};
use crate::engine::drv::BuilderId;
use crate::engine::tree::TreeWriter;

pub(crate) struct Template;

impl Builder for Template {
    fn id(&self) -> BuilderId {
        BuilderId::new("template", 1)
    }

    fn check(&self, job: &Job<'_>) -> Result<(), BuildError> {
        job.only(&["config", "files", "exec", "values"])?;
        let values = values(job)?;
        let files = job.text_map("files")?;
        let executables = job.text_list("exec")?;
        if let Some(path) = executables.iter().find(|path| !files.contains_key(*path)) {
            return Err(JobError::Unused { name: format!("exec: {path}"), used_in: "`files`".into() }.into());
        }
        let templates = Templates::read(job)?;
        if templates.outputs().next().is_none() {
            let expected = "a table with at least one template";
            return Err(JobError::Expected { name: "files".into(), expected }.into());
        }
        let used = templates.names();
        let given = job
            .config()
            .into_keys()
            .chain(job.secrets.keys().map(String::as_str))
            .chain(values.keys().map(String::as_str))
            .chain(job.aliases());
        match given.into_iter().collect::<std::collections::BTreeSet<_>>().difference(&used).next() {
            Some(name) => {
                Err(JobError::Unused { name: (*name).to_owned(), used_in: templates.listed() }.into())
            }
            None => Ok(()),
        }
    }

    fn build(&self, job: &Job<'_>, out: &TreeWriter<'_>) -> Result<(), BuildError> {
        let executables = job.text_list("exec")?;
        let templates = Templates::read(job)?;
        let context = templates.context(job)?;
        for path in templates.outputs() {
            let text = templates.render(path, &context)?;
            out.write(path, text.as_bytes(), executables.contains(&path))?;
        }
        Ok(())
    }
}
