//! Merges two configs.
//!
//! A path that both have is an error, unless the caller allows replacing it; then the second config wins. Identical
//! directories do not conflict. Units, users and groups of the same name are merged: drop-ins, keys and group
//! memberships of both, and every other field from the config that has it.

use std::collections::{BTreeMap, BTreeSet};

use super::parse::sort;
use super::{Config, IgnitionError, spec};

impl Config {
    /// Merges another config into this one. `replace` lists the paths, units (`x.service`) and drop-ins
    /// (`x.service/10-y.conf`) for which the other config wins.
    pub fn merge(mut self, other: Self, replace: &BTreeSet<String>) -> Result<Self, IgnitionError> {
        if self.version != other.version {
            return Err(IgnitionError::Both { what: "ignition.version" });
        }
        let taken = [
            other.files.keys().collect::<Vec<_>>(),
            other.directories.keys().collect(),
            other.links.keys().collect(),
        ];
        for path in taken.into_iter().flatten() {
            let same = other.directories.get(path).is_some_and(|one| self.directories.get(path) == Some(one));
            if replace.contains(path) || same {
                self.files.remove(path);
                self.directories.remove(path);
                self.links.remove(path);
            }
            self.claim(path)?;
        }
        self.files.extend(other.files);
        self.directories.extend(other.directories);
        self.links.extend(other.links);
        join(&mut self.units, other.units, |name, one, two| unit(name, one, two, replace))?;
        join(&mut self.users, other.users, user)?;
        join(&mut self.groups, other.groups, group)?;
        self.rest = rest(self.rest, other.rest)?;
        Ok(self)
    }
}

fn join<T>(
    into: &mut BTreeMap<String, T>,
    from: BTreeMap<String, T>,
    merge: impl Fn(&str, T, T) -> Result<T, IgnitionError>,
) -> Result<(), IgnitionError> {
    for (name, two) in from {
        let merged = match into.remove(&name) {
            Some(one) => merge(&name, one, two)?,
            None => two,
        };
        into.insert(name, merged);
    }
    Ok(())
}

/// The value that one of them has, or that both agree on.
fn either<T: PartialEq>(what: &str, one: Option<T>, two: Option<T>) -> Result<Option<T>, IgnitionError> {
    match (one, two) {
        (Some(one), Some(two)) if one != two => Err(IgnitionError::Twice { what: what.to_owned() }),
        (one, two) => Ok(two.or(one)),
    }
}

/// The union, sorted.
fn both(one: Option<Vec<String>>, two: Option<Vec<String>>) -> Option<Vec<String>> {
    let mut all: Vec<String> = one.into_iter().chain(two).flatten().collect();
    sort(&mut all);
    (!all.is_empty()).then_some(all)
}

fn unit(
    name: &str,
    one: spec::Unit,
    two: spec::Unit,
    replace: &BTreeSet<String>,
) -> Result<spec::Unit, IgnitionError> {
    let known = replace.contains(name);
    let mut dropins = BTreeMap::new();
    for dropin in one.dropins.into_iter().flatten().chain(two.dropins.into_iter().flatten()) {
        let what = format!("{name}/{}", dropin.name);
        if dropins.insert(dropin.name.clone(), dropin).is_some() && !replace.contains(&what) {
            return Err(IgnitionError::Twice { what });
        }
    }
    let dropins: Vec<spec::Dropin> = dropins.into_values().collect();
    let pick = |one, two: Option<bool>| if known { Ok(two.or(one)) } else { either(name, one, two) };
    Ok(spec::Unit {
        contents: if known {
            two.contents.or(one.contents)
        } else {
            either(name, one.contents, two.contents)?
        },
        dropins: (!dropins.is_empty()).then_some(dropins),
        enabled: pick(one.enabled, two.enabled)?,
        mask: pick(one.mask, two.mask)?,
        name: two.name,
    })
}

fn user(name: &str, one: spec::User, two: spec::User) -> Result<spec::User, IgnitionError> {
    Ok(spec::User {
        gecos: either(name, one.gecos, two.gecos)?,
        groups: both(one.groups, two.groups),
        home_dir: either(name, one.home_dir, two.home_dir)?,
        name: two.name,
        no_create_home: either(name, one.no_create_home, two.no_create_home)?,
        no_log_init: either(name, one.no_log_init, two.no_log_init)?,
        no_user_group: either(name, one.no_user_group, two.no_user_group)?,
        password_hash: either(name, one.password_hash, two.password_hash)?,
        primary_group: either(name, one.primary_group, two.primary_group)?,
        shell: either(name, one.shell, two.shell)?,
        should_exist: either(name, one.should_exist, two.should_exist)?,
        ssh_authorized_keys: both(one.ssh_authorized_keys, two.ssh_authorized_keys),
        system: either(name, one.system, two.system)?,
        uid: either(name, one.uid, two.uid)?,
    })
}

fn group(name: &str, one: spec::Group, two: spec::Group) -> Result<spec::Group, IgnitionError> {
    Ok(spec::Group {
        gid: either(name, one.gid, two.gid)?,
        name: two.name,
        password_hash: either(name, one.password_hash, two.password_hash)?,
        should_exist: either(name, one.should_exist, two.should_exist)?,
        system: either(name, one.system, two.system)?,
    })
}

/// Parts without names to merge by: at most one config may have each.
fn rest(one: spec::Config, two: spec::Config) -> Result<spec::Config, IgnitionError> {
    fn only<T>(what: &'static str, one: Option<T>, two: Option<T>) -> Result<Option<T>, IgnitionError> {
        if one.is_some() && two.is_some() { Err(IgnitionError::Both { what }) } else { Ok(one.or(two)) }
    }
    Ok(spec::Config {
        ignition: spec::Ignition {
            config: only("ignition.config", one.ignition.config, two.ignition.config)?,
            proxy: only("ignition.proxy", one.ignition.proxy, two.ignition.proxy)?,
            security: only("ignition.security", one.ignition.security, two.ignition.security)?,
            timeouts: only("ignition.timeouts", one.ignition.timeouts, two.ignition.timeouts)?,
            version: one.ignition.version,
        },
        kernel_arguments: only("kernelArguments", one.kernel_arguments, two.kernel_arguments)?,
        passwd: None,
        storage: only("storage", one.storage, two.storage)?,
        systemd: None,
    })
}
