//! A readable form of a config next to it: the files that a node gets, and a list of all entries.

use super::super::{BuildError, JobError};
use super::collect::Additions;
use super::params::Base;
use super::refused;
use crate::engine::tree::TreeWriter;
use crate::openshift::ignition::{Config, Contents, Manifest, Origin, OriginKind, Written, spec, unit_path};

/// Knowledge about a config's entries.
pub(super) struct Output<'a> {
    pub(super) config: &'a Config,
    pub(super) base: Option<(&'a Base, Config)>,
    pub(super) additions: &'a Additions<'a>,
}

impl Output<'_> {
    /// Writes `tree/` and returns the list.
    pub(super) fn write(&self, out: &TreeWriter<'_>) -> Result<Manifest, BuildError> {
        let mut manifest = Manifest { version: self.config.version.to_string(), ..Manifest::default() };
        for (path, file) in &self.config.files {
            manifest.files.push(self.file(path, file, out)?);
        }
        for (path, one) in &self.config.directories {
            let owner = owner(one.user.as_ref(), one.group.as_ref());
            let (mode, from) =
                (one.mode.map(octal), self.other(path, |base| base.directories.contains_key(path)));
            manifest.directories.push(Written {
                path: path.clone(),
                mode,
                owner,
                from,
                ..Written::default()
            });
        }
        for (path, one) in &self.config.links {
            let owner = owner(one.user.as_ref(), one.group.as_ref());
            let (state, from) = (one.target.clone(), self.other(path, |base| base.links.contains_key(path)));
            manifest.links.push(Written { path: path.clone(), owner, state, from, ..Written::default() });
        }
        for (name, unit) in &self.config.units {
            self.unit(name, unit, out, &mut manifest.units)?;
        }
        for name in self.config.users.keys() {
            let from = self.other(name, |base| base.users.contains_key(name));
            manifest.users.push(Written { path: name.clone(), from, ..Written::default() });
        }
        Ok(manifest)
    }

    fn file(&self, path: &str, file: &spec::File, out: &TreeWriter<'_>) -> Result<Written, BuildError> {
        let exec = file.mode.is_some_and(|mode| mode & 0o111 != 0);
        let mut written = Written {
            path: path.to_owned(),
            mode: file.mode.map(octal),
            owner: owner(file.user.as_ref(), file.group.as_ref()),
            ..Written::default()
        };
        match self.additions.files.get(path) {
            Some(added) => {
                written.secret = added.secret;
                written.from = vec![self.origin(&added.origin, path)];
                written.size = (!added.secret).then_some(added.bytes.len() as u64);
                match &added.shared {
                    Some((full, entry)) => out.share(&inside(path), full, entry)?,
                    None => put(out, path, &added.bytes, exec, added.secret)?,
                }
            }
            None => {
                written.secret = self.is_secret(path);
                written.from = self.base_origin(|_| true);
                let contents = Contents::of(file).map_err(refused("cannot decode the base"))?;
                if let Contents::Bytes(bytes) = contents {
                    written.size = (!written.secret).then_some(bytes.len() as u64);
                    put(out, path, &bytes, exec, written.secret)?;
                }
            }
        }
        Ok(written)
    }

    fn unit(
        &self,
        name: &str,
        unit: &spec::Unit,
        out: &TreeWriter<'_>,
        list: &mut Vec<Written>,
    ) -> Result<(), BuildError> {
        let own = |unit: &spec::Unit| unit.contents.as_ref().map(|text| (name.to_owned(), text.clone()));
        let dropins = |unit: &spec::Unit| {
            let dropins = unit.dropins.iter().flatten();
            let of = |one: &spec::Dropin| {
                (format!("{name}/{}", one.name), one.contents.clone().unwrap_or_default())
            };
            dropins.map(of).collect::<Vec<_>>()
        };
        let state = match (unit.mask, unit.enabled) {
            (Some(true), _) => Some("masked"),
            (_, Some(true)) => Some("enabled"),
            (_, Some(false)) => Some("disabled"),
            _ => None,
        };
        let from = self.other(name, |base| base.units.contains_key(name));
        let state = state.map(str::to_owned);
        list.push(Written { path: name.to_owned(), state, from, ..Written::default() });
        for (at, (part, text)) in own(unit).into_iter().chain(dropins(unit)).enumerate() {
            let added = self.additions.units.get(&part);
            let secret =
                added.is_some_and(|added| added.secret) || (added.is_none() && self.is_secret(&part));
            let path = unit_path(&part);
            put(out, &path, text.as_bytes(), false, secret)?;
            let from = match added {
                Some(added) => vec![self.origin(&added.origin, &part)],
                None => self.base_origin(|_| true),
            };
            if part == name && at == 0 {
                if let Some(last) = list.last_mut() {
                    last.secret = secret;
                    last.size = (!secret).then_some(text.len() as u64);
                    if added.is_some() {
                        last.from.retain(|origin| origin.kind == OriginKind::Base);
                        last.from.extend(from);
                    }
                }
            } else {
                let size = (!secret).then_some(text.len() as u64);
                list.push(Written { path: part, secret, size, from, ..Written::default() });
            }
        }
        Ok(())
    }

    /// Whether the recipe lists an entry of the base as secret.
    fn is_secret(&self, name: &str) -> bool {
        self.base.as_ref().is_some_and(|(base, _)| base.secret.iter().any(|secret| secret == name))
    }

    /// The origin of an addition; `replaces` is kept only if there is something to replace.
    fn origin(&self, origin: &Origin, name: &str) -> Origin {
        let replaced = self.base.as_ref().is_some_and(|(_, base)| {
            base.has(name) || base.units.contains_key(name.split('/').next().unwrap_or(name))
        });
        let replaces = origin.replaces.clone().filter(|_| replaced);
        Origin { replaces, ..origin.clone() }
    }

    /// The origin of a directory, link, unit or user: the base, the recipe, or both.
    fn other(&self, name: &str, in_base: impl Fn(&Config) -> bool) -> Vec<Origin> {
        let mut found = self.base_origin(in_base);
        found.extend(self.additions.others.get(name).map(|origin| self.origin(origin, name)));
        found
    }

    fn base_origin(&self, has: impl Fn(&Config) -> bool) -> Vec<Origin> {
        let base = self.base.iter().filter(|(_, config)| has(config));
        let of = |(base, _): &(&Base, Config)| Origin {
            kind: OriginKind::Base,
            name: base.from.clone(),
            path: String::new(),
            why: base.why.clone(),
            replaces: None,
        };
        base.map(of).collect()
    }
}

fn put(out: &TreeWriter<'_>, path: &str, bytes: &[u8], exec: bool, secret: bool) -> Result<(), BuildError> {
    if !path.starts_with('/') {
        let problem = "it is not an absolute path".to_owned();
        return Err(JobError::Entry { name: path.to_owned(), problem }.into());
    }
    match secret {
        true => out.write_secret(&inside(path), bytes, exec)?,
        false => out.write(&inside(path), bytes, exec)?,
    }
    Ok(())
}

/// The path in the output of a path on the node.
fn inside(path: &str) -> String {
    format!("tree{path}")
}

fn octal(mode: i64) -> String {
    format!("{mode:04o}")
}

fn owner(user: Option<&spec::NodeUser>, group: Option<&spec::NodeGroup>) -> Option<String> {
    let word = |id: Option<i64>, name: Option<&String>| {
        name.cloned().or_else(|| id.map(|id| id.to_string())).unwrap_or_else(|| "root".into())
    };
    let user = user.map_or_else(|| "root".into(), |user| word(user.id, user.name.as_ref()));
    let group = group.map_or_else(|| "root".into(), |group| word(group.id, group.name.as_ref()));
    let owner = format!("{user}:{group}");
    (owner != "root:root" && owner != "0:0").then_some(owner)
}
