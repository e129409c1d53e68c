//! The parameters of a recipe: what goes where, with which mode, and why.

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::super::{Job, JobError};
use crate::base::value::Value;
use crate::openshift::ignition::Compression;

pub(super) struct Params {
    /// Also the name of the config's file.
    pub(super) node: String,
    /// The alias of the input with the spec version; a base has its own.
    pub(super) version: Option<String>,
    pub(super) base: Option<Base>,
    /// The MachineConfig that the Machine Config Server would serve.
    pub(super) served: Option<Machine>,
    pub(super) write: Vec<Write>,
    pub(super) place: Vec<Place>,
    pub(super) directories: Vec<Directory>,
    pub(super) links: Vec<Link>,
    pub(super) units: Vec<Unit>,
    pub(super) users: Vec<User>,
}

/// All parameters, including those of templates.
pub(super) const KNOWN: [&str; 13] = [
    "base",
    "config",
    "directories",
    "files",
    "links",
    "node",
    "place",
    "served",
    "units",
    "users",
    "values",
    "version",
    "write",
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Base {
    pub(super) from: String,
    pub(super) why: String,
    /// Its secret files. Everything else is rendered from public data.
    #[serde(default)]
    pub(super) secret: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Machine {
    pub(super) from: String,
    pub(super) why: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Write {
    pub(super) path: String,
    pub(super) mode: Mode,
    pub(super) from: String,
    pub(super) why: String,
    pub(super) replace: Option<String>,
    /// Whether to omit it if it is empty.
    #[serde(default)]
    pub(super) optional: bool,
    #[serde(default)]
    pub(super) gzip: bool,
}

/// The files of one or several inputs, below a path.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Place {
    pub(super) path: String,
    pub(super) mode: Mode,
    pub(super) from: Vec<String>,
    pub(super) why: String,
    /// Names to include, with at most one `*` each; empty for all.
    #[serde(default)]
    pub(super) only: Vec<String>,
    #[serde(default)]
    pub(super) except: Vec<String>,
    pub(super) replace: Option<String>,
    #[serde(default)]
    pub(super) gzip: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Directory {
    pub(super) path: String,
    pub(super) mode: Mode,
    pub(super) why: String,
    pub(super) replace: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Link {
    pub(super) path: String,
    pub(super) target: String,
    pub(super) why: String,
    pub(super) replace: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Unit {
    pub(super) name: String,
    pub(super) why: String,
    pub(super) from: Option<String>,
    pub(super) enabled: Option<bool>,
    pub(super) mask: Option<bool>,
    /// Drop-ins by file name, each from a template.
    #[serde(default)]
    pub(super) dropins: std::collections::BTreeMap<String, String>,
    pub(super) replace: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct User {
    pub(super) name: String,
    pub(super) why: String,
    /// The config alias of a list of public keys. If that is empty, the user is omitted.
    pub(super) keys: String,
}

/// Written in octal with a leading zero.
#[derive(Clone, Copy, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Mode(pub(super) u32);

impl TryFrom<String> for Mode {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let bits = Some(&text).filter(|text| text.len() == 4 && text.starts_with('0'));
        let bits = bits.and_then(|text| u32::from_str_radix(text, 8).ok());
        bits.map(Self)
            .ok_or_else(|| format!("`{text}` is not a mode: write four octal digits, such as \"0600\""))
    }
}

pub(super) fn compression(gzip: bool) -> Compression {
    if gzip { Compression::Gzip } else { Compression::None }
}

/// Whether a name matches one of the patterns.
pub(in crate::openshift::builders) fn fits(name: &str, patterns: &[impl AsRef<str>]) -> bool {
    patterns.iter().map(AsRef::as_ref).any(|pattern| match pattern.split_once('*') {
        None => name == pattern,
        Some((begin, end)) => {
            name.len() >= begin.len() + end.len() && name.starts_with(begin) && name.ends_with(end)
        }
    })
}

impl Params {
    /// Reads the parameters. Needs only the recipe, so it also works on a job that is only checked.
    pub(super) fn read(job: &Job<'_>) -> Result<Self, JobError> {
        job.only(&KNOWN)?;
        let text = |name: &str| job.params.get(name).and_then(Value::as_text).map(str::to_owned);
        let missing = |name: &str, expected| JobError::Expected { name: name.to_owned(), expected };
        let params = Self {
            node: text("node").ok_or_else(|| missing("node", "a text"))?,
            version: text("version"),
            base: one(job, "base")?,
            served: one(job, "served")?,
            write: list(job, "write")?,
            place: list(job, "place")?,
            directories: list(job, "directories")?,
            links: list(job, "links")?,
            units: list(job, "units")?,
            users: list(job, "users")?,
        };
        match (&params.base, &params.version) {
            (Some(_), Some(_)) => Err(missing("version", "left out: the base has one")),
            (None, None) => Err(missing("version", "given: there is no base to take it from")),
            _ => Ok(params),
        }
    }

    /// All aliases in use.
    pub(super) fn aliases(&self) -> impl Iterator<Item = &str> {
        let single = self.version.as_ref().into_iter();
        let base = self.base.iter().map(|base| &base.from);
        let served = self.served.iter().map(|served| &served.from);
        let write = self.write.iter().map(|write| &write.from);
        let place = self.place.iter().flat_map(|place| &place.from);
        let units = self.units.iter().flat_map(|unit| unit.from.iter().chain(unit.dropins.values()));
        let users = self.users.iter().map(|user| &user.keys);
        let all = single.chain(base).chain(served).chain(write).chain(place).chain(units).chain(users);
        all.map(String::as_str)
    }
}

fn one<T: DeserializeOwned>(job: &Job<'_>, name: &str) -> Result<Option<T>, JobError> {
    job.params.get(name).map(|value| entry(name.to_owned(), value)).transpose()
}

fn list<T: DeserializeOwned>(job: &Job<'_>, name: &str) -> Result<Vec<T>, JobError> {
    match job.params.get(name) {
        None => Ok(Vec::new()),
        Some(Value::List(items)) => {
            let of = |(at, item): (usize, &Value)| {
                let about = item.get("path").or_else(|| item.get("name")).and_then(Value::as_text);
                let about = about.map(|about| format!(" ({about})")).unwrap_or_default();
                entry(format!("{name}[{at}]{about}"), item)
            };
            items.iter().enumerate().map(of).collect()
        }
        Some(_) => Err(JobError::Expected { name: name.to_owned(), expected: "a list of tables" }),
    }
}

fn entry<T: DeserializeOwned>(name: String, value: &Value) -> Result<T, JobError> {
    let read = serde_json::to_value(value).and_then(serde_json::from_value);
    let entry: T =
        read.map_err(|error| JobError::Entry { name: name.clone(), problem: error.to_string() })?;
    match value.get("why").and_then(Value::as_text) {
        Some("") => Err(JobError::Entry { name, problem: "`why` is empty".into() }),
        _ => Ok(entry),
    }
}
