//! `iso-for-all`: one live ISO for all nodes. It decides by the MAC addresses of the machine which one it installs, and
//! installs nothing on a machine that it does not know.
//!
//! Inputs: `ignition`, a group with the nodes' configs; `machines`, a group of texts with a line for each port: MAC address,
//! node, disk. Config value: `sha256` of the base image, as in `iso`. Templates: `choose-node.sh` and
//! `choose-node.service`, which see `section`, the first sector behind the image, and `values`. Parameters: `file`, the name of the
//! output; `kargs`, additional kernel arguments for the live system.
//!
//! The output has the image, which is as secret as the configs together, and `section`, the sector, so that the configs
//! in it can be sealed ([`crate::openshift::iso`]).

use std::collections::BTreeMap;

use minijinja::value::Value as Jinja;
use sha2::Digest as _;

use super::iso::{explain, file, value};
use super::{BuildError, Builder, Grants, Job, JobError};
use crate::engine::builders::Templates;
use crate::engine::drv::BuilderId;
use crate::engine::tree::TreeWriter;
use crate::openshift::iso::{self, Choice, IsoError, Live, SECTOR, Section};

/// The name under which templates see the first sector behind the image.
const SECTION: &str = "section";
const SCRIPT: &str = "choose-node.sh";
const UNIT: &str = "choose-node.service";

pub(super) struct IsoForAll;

impl Builder for IsoForAll {
    fn id(&self) -> BuilderId {
        BuilderId::new("iso-for-all", 1)
    }

    fn grants(&self) -> Grants {
        Grants { files: true, ..Grants::default() }
    }

    fn check(&self, job: &Job<'_>) -> Result<(), BuildError> {
        job.only(&["config", "file", "files", "kargs"])?;
        job.text_list("kargs")?;
        file(job)?;
        value(job, "sha256")?;
        if let Some(name) = job.config().into_keys().find(|name| *name != "sha256") {
            return Err(JobError::Unused { name: name.to_owned(), used_in: "a live ISO".into() }.into());
        }
        let aliases = job.aliases();
        if let Some(name) = aliases.iter().find(|alias| !["ignition", "machines"].contains(alias)) {
            return Err(JobError::Unused { name: (*name).to_owned(), used_in: "this builder".into() }.into());
        }
        let templates = Templates::read(job)?;
        for name in [SCRIPT, UNIT] {
            if !templates.outputs().any(|output| output == name) {
                return Err(
                    JobError::Expected { name: format!("files.{name}"), expected: "a template" }.into()
                );
            }
        }
        Ok(())
    }

    fn build(&self, job: &Job<'_>, out: &TreeWriter<'_>) -> Result<(), BuildError> {
        let mut base = job.files()?.open(value(job, "sha256")?)?;
        let live = Live::read(&mut base.file).map_err(|source| explain(&base, source))?;
        let section = live.size.div_ceil(SECTOR);
        let templates = Templates::read(job)?;
        let context = BTreeMap::from([(SECTION.to_owned(), Jinja::from(section))]);
        let machines = job
            .members("machines")
            .map(|(_, input)| input.text("machines", ""))
            .collect::<Result<String, _>>()?;
        let choice = Choice {
            script: &templates.render(SCRIPT, &context)?,
            unit: &templates.render(UNIT, &context)?,
            machines: &machines,
        };
        let configs = job
            .members("ignition")
            .map(|(node, input)| Ok((node, input.text("ignition", "")?)))
            .collect::<Result<BTreeMap<_, _>, JobError>>()?;
        let arguments: Vec<String> = job.text_list("kargs")?.into_iter().map(str::to_owned).collect();
        let patches = || -> Result<BTreeMap<u64, Vec<u8>>, IsoError> {
            let mut patches = live.patches(iso::initrd(&iso::choosing(&choice))?, &arguments)?;
            patches.insert(section * SECTOR, Section::plain(&configs)?.encode());
            Ok(patches)
        };
        let patches = patches().map_err(|source| explain(&base, source))?;
        let mut hasher = sha2::Sha256::new();
        out.patched(file(job)?, &base.file, &base.path, &patches, |piece| hasher.update(piece))?;
        base.is(hasher)?;
        Ok(out.write("section", format!("{section}\n").as_bytes(), false)?)
    }
}
