//! Collects the recipe's additions as a config, with the origin of each entry.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::super::{BuildError, Job, JobError};
use super::params::{Machine, Params, Place, Unit, compression, fits};
use super::refused;
use crate::base::fs;
use crate::base::value::Value;
use crate::engine::builders::{TemplateContext, Templates};
use crate::engine::tree::{EntryKind, TreeEntry, leaf};
use crate::openshift::ignition::{
    CONTENT_PATH, Compression, Config, ENCAPSULATED_PATH, Origin, OriginKind, Version, served, spec,
};

/// One entry that the recipe adds.
pub(super) struct Added {
    pub(super) origin: Origin,
    pub(super) secret: bool,
    pub(super) bytes: Vec<u8>,
    /// Set if a file of another object has the same bytes.
    pub(super) shared: Option<(PathBuf, TreeEntry)>,
}

/// Everything that the recipe adds.
pub(super) struct Additions<'j> {
    job: &'j Job<'j>,
    templates: Templates<'j>,
    context: TemplateContext,
    pub(super) config: Config,
    /// Files by path; units by name and drop-ins by `unit/name`, as systemd's paths.
    pub(super) files: BTreeMap<String, Added>,
    pub(super) units: BTreeMap<String, Added>,
    /// Directories, links and users.
    pub(super) others: BTreeMap<String, Origin>,
    /// Paths that may replace entries of the base.
    pub(super) replace: BTreeSet<String>,
}

/// The mode of everything that is not secret.
const PUBLIC: u32 = 0o644;

impl<'j> Additions<'j> {
    pub(super) fn collect(job: &'j Job<'j>, params: &Params, version: Version) -> Result<Self, BuildError> {
        let templates = Templates::read(job)?;
        let context = templates.context(job)?;
        let (files, units, others) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let config = Config::new(version);
        let replace = BTreeSet::new();
        let mut all = Self { job, templates, context, config, files, units, others, replace };
        for entry in &params.write {
            let mut added = all.source(&entry.from)?;
            (added.origin.why, added.origin.replaces) = (entry.why.clone(), entry.replace.clone());
            if !(entry.optional && added.bytes.is_empty()) {
                all.write(&entry.path, entry.mode.0, compression(entry.gzip), added)?;
            }
        }
        params.place.iter().try_for_each(|entry| all.place(entry))?;
        for entry in &params.directories {
            all.config
                .directory(&entry.path, entry.mode.0)
                .map_err(refused("the recipe's directories conflict"))?;
            all.other(&entry.path, &entry.why, entry.replace.as_ref());
        }
        for entry in &params.links {
            all.config.link(&entry.path, &entry.target).map_err(refused("the recipe's links conflict"))?;
            all.other(&entry.path, &entry.why, entry.replace.as_ref());
        }
        params.units.iter().try_for_each(|entry| all.unit(entry))?;
        params.users.iter().try_for_each(|entry| all.user(&entry.name, &entry.keys, &entry.why))?;
        if let Some(machine) = &params.served {
            all.served(machine)?;
        }
        Ok(all)
    }

    /// The bytes of an alias: a template, a secret, or an input that is a file.
    fn source(&self, alias: &str) -> Result<Added, BuildError> {
        let origin = |kind| Origin {
            kind,
            name: alias.to_owned(),
            path: String::new(),
            why: String::new(),
            replaces: None,
        };
        if self.templates.outputs().any(|path| path == alias) {
            let bytes = self.templates.render(alias, &self.context)?.into_bytes();
            let names = self.templates.names_of(alias);
            let secret = names.iter().any(|name| self.is_secret(name));
            return Ok(Added { origin: origin(OriginKind::Template), secret, bytes, shared: None });
        }
        if let Some(secret) = self.job.secrets.get(alias) {
            let bytes = secret.reveal().to_vec();
            return Ok(Added { origin: origin(OriginKind::Config), secret: true, bytes, shared: None });
        }
        let input = self.job.input(alias)?;
        match input.leaves().next() {
            Some(("", full, entry)) if matches!(entry.kind, EntryKind::File { .. }) => {
                let bytes = fs::read(&full).map_err(JobError::from)?;
                let shared = Some((full, entry.clone()));
                Ok(Added { origin: origin(OriginKind::Input), secret: entry.secret, bytes, shared })
            }
            _ => {
                let problem = "is not a file: name one, `derivation:path`".to_owned();
                Err(JobError::Input { alias: alias.to_owned(), problem }.into())
            }
        }
    }

    /// Whether a name in a template is secret.
    fn is_secret(&self, name: &str) -> bool {
        let mut members = self.job.members(name);
        self.job.secrets.contains_key(name)
            || members.any(|(_, input)| input.entry().is_some_and(|entry| entry.secret))
    }

    fn write(
        &mut self,
        path: &str,
        mode: u32,
        compression: Compression,
        added: Added,
    ) -> Result<(), BuildError> {
        self.config
            .write(path, mode, &added.bytes, compression)
            .map_err(refused("the recipe's files conflict"))?;
        if added.origin.replaces.is_some() {
            self.replace.insert(path.to_owned());
        }
        self.files.insert(path.to_owned(), added);
        Ok(())
    }

    fn place(&mut self, entry: &Place) -> Result<(), BuildError> {
        let (job, mut used, mut any) = (self.job, BTreeSet::new(), false);
        for alias in &entry.from {
            for (member, input) in job.members(alias) {
                any = true;
                let group = !job.inputs.contains_key(alias);
                let name = if group { format!("{alias}/{member}") } else { alias.clone() };
                for (inside, full, listed) in input.leaves() {
                    let relative = if inside.is_empty() { leaf(&input.path) } else { inside };
                    used.extend(entry.only.iter().filter(|only| fits(relative, std::slice::from_ref(only))));
                    let wanted = entry.only.is_empty() || fits(relative, &entry.only);
                    if !wanted || fits(relative, &entry.except) {
                        continue;
                    }
                    let origin = Origin {
                        kind: OriginKind::Input,
                        name: name.clone(),
                        path: inside.to_owned(),
                        why: entry.why.clone(),
                        replaces: entry.replace.clone(),
                    };
                    let bytes = fs::read(&full).map_err(JobError::from)?;
                    let added =
                        Added { origin, secret: listed.secret, bytes, shared: Some((full, listed.clone())) };
                    let path = format!("{}/{relative}", entry.path);
                    self.write(&path, entry.mode.0, compression(entry.gzip), added)?;
                }
            }
        }
        // Inputs that may be absent, and are, match nothing.
        match entry.only.iter().find(|only| any && !used.contains(only)) {
            Some(only) => {
                let problem = format!("no file matches `{only}`");
                Err(JobError::Entry { name: format!("place ({})", entry.path), problem }.into())
            }
            None => Ok(()),
        }
    }

    fn other(&mut self, path: &str, why: &str, replace: Option<&String>) {
        let kind = OriginKind::Recipe;
        let (why, replaces) = (why.to_owned(), replace.cloned());
        if replaces.is_some() {
            self.replace.insert(path.to_owned());
        }
        let origin = Origin { kind, name: String::new(), path: String::new(), why, replaces };
        self.others.insert(path.to_owned(), origin);
    }

    fn unit(&mut self, entry: &Unit) -> Result<(), BuildError> {
        let mut unit = spec::Unit::new(entry.name.clone());
        (unit.enabled, unit.mask) = (entry.enabled, entry.mask);
        let mut parts = vec![(entry.name.clone(), entry.from.clone())];
        parts.extend(
            entry.dropins.iter().map(|(name, from)| (format!("{}/{name}", entry.name), Some(from.clone()))),
        );
        let mut dropins = Vec::new();
        for (name, from) in parts {
            let Some(from) = from else { continue };
            let mut added = self.source(&from)?;
            (added.origin.why, added.origin.replaces) = (entry.why.clone(), entry.replace.clone());
            let text = String::from_utf8(added.bytes.clone())
                .map_err(|_| JobError::Input { alias: from, problem: "is not text".into() })?;
            match name.split_once('/') {
                None => unit.contents = Some(text),
                Some((_, name)) => dropins.push(spec::Dropin { contents: Some(text), name: name.to_owned() }),
            }
            if entry.replace.is_some() {
                self.replace.insert(name.clone());
            }
            self.units.insert(name, added);
        }
        unit.dropins = (!dropins.is_empty()).then_some(dropins);
        self.other(&entry.name, &entry.why, entry.replace.as_ref());
        match self.config.units.insert(entry.name.clone(), unit) {
            None => Ok(()),
            Some(_) => {
                let problem = "the recipe has it twice".to_owned();
                Err(JobError::Entry { name: format!("units ({})", entry.name), problem }.into())
            }
        }
    }

    fn user(&mut self, name: &str, keys: &str, why: &str) -> Result<(), BuildError> {
        let mut list: Vec<String> = match self.job.config().get(keys) {
            Some(Value::List(keys)) => keys.iter().filter_map(Value::as_text).map(str::to_owned).collect(),
            _ => return Err(JobError::Expected { name: format!("config.{keys}"), expected: "a list" }.into()),
        };
        if list.is_empty() {
            return Ok(());
        }
        list.sort();
        list.dedup();
        let mut user = spec::User::new(name.to_owned());
        user.ssh_authorized_keys = Some(list);
        self.config.users.insert(name.to_owned(), user);
        let (path, why) = (String::new(), why.to_owned());
        let origin = Origin { kind: OriginKind::Config, name: keys.to_owned(), path, why, replaces: None };
        self.others.insert(name.to_owned(), origin);
        Ok(())
    }

    fn served(&mut self, machine: &Machine) -> Result<(), BuildError> {
        let Machine { from: alias, why } = machine;
        let input = self.job.input(alias)?;
        let made = served(&input.text(alias, "")?, self.config.version)
            .map_err(refused("cannot create what the Machine Config Server would add"))?;
        let secret = input.entry().is_some_and(|entry| entry.secret);
        // The second contains nothing of the config, which is where the secrets are.
        for (path, text, secret) in
            [(CONTENT_PATH, made.content, secret), (ENCAPSULATED_PATH, made.encapsulated, false)]
        {
            let origin = Origin {
                kind: OriginKind::MachineConfig,
                name: alias.clone(),
                path: String::new(),
                why: why.clone(),
                replaces: None,
            };
            let added = Added { origin, secret, bytes: text.into_bytes(), shared: None };
            self.write(path, PUBLIC, Compression::None, added)?;
        }
        Ok(())
    }
}
