//! Parses and checks the parameters of a `run` recipe.

use std::collections::{BTreeMap, BTreeSet};

use super::super::{Job, JobError};
use crate::base::value::Value;
use crate::engine::sandbox::OUTPUT;

#[derive(Debug)]
pub(super) struct Spec<'a> {
    pub(super) steps: Vec<Step<'a>>,
    pub(super) mounts: BTreeMap<&'a str, &'a str>,
    pub(super) outputs: BTreeMap<&'a str, &'a str>,
    pub(super) expect: Vec<&'a str>,
    pub(super) require: BTreeMap<&'a str, Vec<&'a str>>,
    pub(super) sort: BTreeMap<&'a str, BTreeMap<&'a str, &'a str>>,
    pub(super) advice: BTreeMap<&'a str, &'a str>,
    pub(super) environment: BTreeMap<&'a str, &'a str>,
    pub(super) directory: &'a str,
    pub(super) addresses: Vec<&'a str>,
    /// The input that a registry serves.
    pub(super) registry: Option<&'a str>,
    pub(super) secret: bool,
    pub(super) seconds: u64,
}

#[derive(Debug)]
pub(super) enum Step<'a> {
    /// A program and its arguments.
    Run(Vec<&'a str>),
    /// Copies these files and the files of these directories into one directory; `numbered` prefixes names by source,
    /// so that sorting by name keeps this order.
    Gather { into: &'a str, from: Vec<&'a str>, numbered: bool },
}

const KNOWN: [&str; 14] = [
    "config",
    "steps",
    "mounts",
    "outputs",
    "expect",
    "require",
    "sort",
    "advice",
    "environment",
    "directory",
    "addresses",
    "registry",
    "secret",
    "seconds",
];

impl<'a> Spec<'a> {
    pub(super) fn read(job: &'a Job<'_>) -> Result<Self, JobError> {
        job.only(&KNOWN)?;
        let seconds = match job.params.get("seconds") {
            None => 300,
            Some(Value::Int(seconds @ 1..=86_400)) => *seconds as u64,
            Some(_) => return Err(expected("seconds", "a number of seconds, at most a day")),
        };
        let directory = match job.params.get("directory") {
            None => OUTPUT,
            Some(value) => value.as_text().ok_or_else(|| expected("directory", "an absolute path"))?,
        };
        let registry = match job.params.get("registry") {
            None => None,
            Some(value) => Some(value.as_text().ok_or_else(|| expected("registry", "the name of an input"))?),
        };
        let secret = match job.params.get("secret") {
            None => false,
            Some(Value::Bool(secret)) => *secret,
            Some(_) => return Err(expected("secret", "true or false")),
        };
        Ok(Self {
            steps: steps(job)?,
            mounts: job.text_map("mounts")?,
            outputs: job.text_map("outputs")?,
            expect: job.text_list("expect")?,
            require: lists(job)?,
            sort: sorts(job)?,
            advice: job.text_map("advice")?,
            environment: job.text_map("environment")?,
            directory,
            addresses: job.text_list("addresses")?,
            registry,
            secret,
            seconds,
        })
    }

    /// Checks that every name exists and every declared name is used.
    pub(super) fn check(&self, job: &Job<'_>) -> Result<(), JobError> {
        if !self.steps.iter().any(|step| matches!(step, Step::Run(_))) {
            return Err(expected("steps", "a list with at least one program to run"));
        }
        if self.outputs.is_empty() {
            return Err(expected("outputs", "a table: path in the output ← path below `/out`"));
        }
        job.input("image")?;
        let mut given: BTreeSet<&str> = job.aliases();
        given.extend(job.config().keys());
        let mut used: BTreeSet<&str> = self.mounts.keys().copied().chain(["image"]).collect();
        for text in self.texts() {
            used.extend(names(text)?);
        }
        if let Some(name) = used.iter().find(|name| !given.contains(*name)) {
            return Err(JobError::Expected {
                name: (*name).to_owned(),
                expected: "an input or a config value",
            });
        }
        if let Some(name) = given.difference(&used).next() {
            let used_in = "`mounts` or the texts of the steps".to_owned();
            return Err(JobError::Unused { name: (*name).to_owned(), used_in });
        }
        if let Some(name) = self.require.keys().find(|name| !self.mounts.contains_key(*name)) {
            return Err(JobError::Expected {
                name: format!("require.{name}"),
                expected: "an input that is mounted",
            });
        }
        if self.registry.is_some_and(|alias| !self.mounts.contains_key(alias)) {
            return Err(expected("registry", "an input that is mounted"));
        }
        let below = |path: &str| {
            path == OUTPUT || path.strip_prefix(OUTPUT).is_some_and(|rest| rest.starts_with('/'))
        };
        if self.outputs.values().any(|path| !below(path)) {
            return Err(expected("outputs", "a table of paths below `/out`"));
        }
        let gathers = self.steps.iter().filter_map(|step| match step {
            Step::Gather { into, .. } => Some(*into),
            Step::Run(_) => None,
        });
        match gathers.into_iter().any(|into| !below(into)) {
            true => Err(expected("gather", "a path below `/out`")),
            false => Ok(()),
        }
    }

    /// All texts that may contain `${…}`.
    fn texts(&self) -> impl Iterator<Item = &'a str> {
        let arguments = self.steps.iter().flat_map(|step| match step {
            Step::Run(argv) => argv.clone(),
            Step::Gather { .. } => Vec::new(),
        });
        arguments.chain(self.environment.values().copied()).chain(self.addresses.iter().copied())
    }
}

fn expected(name: &str, expected: &'static str) -> JobError {
    JobError::Expected { name: name.to_owned(), expected }
}

fn texts<'a>(value: &'a Value, name: &str) -> Result<Vec<&'a str>, JobError> {
    let wrong = || JobError::Expected { name: name.to_owned(), expected: "a list of texts" };
    match value {
        Value::List(list) => list.iter().map(|item| item.as_text().ok_or_else(wrong)).collect(),
        _ => Err(wrong()),
    }
}

fn steps<'a>(job: &'a Job<'_>) -> Result<Vec<Step<'a>>, JobError> {
    let wrong = || expected("steps", "a list of tables, each with `run`, or with `gather` and `from`");
    let Some(Value::List(list)) = job.params.get("steps") else { return Err(wrong()) };
    let step = |item: &'a Value| {
        let Value::Map(map) = item else { return Err(wrong()) };
        let keys: Vec<&str> = map.keys().map(String::as_str).collect();
        match keys.as_slice() {
            ["run"] => {
                let argv = texts(&map["run"], "steps.run")?;
                if argv.is_empty() { Err(wrong()) } else { Ok(Step::Run(argv)) }
            }
            ["from", "gather"] | ["from", "gather", "numbered"] => {
                let into = map["gather"].as_text().ok_or_else(wrong)?;
                let numbered = map.get("numbered").is_some_and(Value::is_truthy);
                Ok(Step::Gather { into, from: texts(&map["from"], "steps.from")?, numbered })
            }
            _ => Err(wrong()),
        }
    };
    list.iter().map(step).collect()
}

fn lists<'a>(job: &'a Job<'_>) -> Result<BTreeMap<&'a str, Vec<&'a str>>, JobError> {
    match job.params.get("require") {
        None => Ok(BTreeMap::new()),
        Some(Value::Map(map)) => {
            map.iter().map(|(alias, list)| Ok((alias.as_str(), texts(list, "require")?))).collect()
        }
        Some(_) => Err(expected("require", "a table of lists of files")),
    }
}

fn sorts<'a>(job: &'a Job<'_>) -> Result<BTreeMap<&'a str, BTreeMap<&'a str, &'a str>>, JobError> {
    let wrong = || expected("sort", "a table: output file → { list in it = key of its items }");
    match job.params.get("sort") {
        None => Ok(BTreeMap::new()),
        Some(Value::Map(map)) => map
            .iter()
            .map(|(file, lists)| match lists {
                Value::Map(lists) => {
                    let lists =
                        lists.iter().map(|(list, key)| Ok((list.as_str(), key.as_text().ok_or_else(wrong)?)));
                    Ok((file.as_str(), lists.collect::<Result<_, JobError>>()?))
                }
                _ => Err(wrong()),
            })
            .collect(),
        Some(_) => Err(wrong()),
    }
}

/// The names in `${…}`.
pub(super) fn names(text: &str) -> Result<Vec<&str>, JobError> {
    let mut names = Vec::new();
    let mut left = text;
    while let Some((_, rest)) = left.split_once("${") {
        let Some((name, after)) = rest.split_once('}') else {
            return Err(JobError::Expected {
                name: text.to_owned(),
                expected: "a text in which every `${` has a `}`",
            });
        };
        names.push(name);
        left = after;
    }
    Ok(names)
}

/// The text with its names replaced.
pub(super) fn fill(text: &str, value: &dyn Fn(&str) -> Result<String, JobError>) -> Result<String, JobError> {
    let mut filled = String::new();
    let mut left = text;
    while let Some((before, rest)) = left.split_once("${") {
        let (name, after) = rest.split_once('}').unwrap_or((rest, ""));
        filled.push_str(before);
        filled.push_str(&value(name)?);
        left = after;
    }
    Ok(filled + left)
}

/// Whether a path matches a pattern with at most one `*`.
pub(super) fn matches(pattern: &str, path: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == path,
        Some((before, after)) => path
            .strip_prefix(before)
            .and_then(|rest| rest.strip_suffix(after))
            .is_some_and(|middle| !middle.contains('/')),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_and_filled() {
        assert_eq!(names("--a=${one}/${other}").unwrap(), ["one", "other"]);
        assert!(names("${one").is_err());
        let value = |name: &str| Ok(name.to_uppercase());
        assert_eq!(fill("a${b}c${d}", &value).unwrap(), "aBcD");
        assert_eq!(fill("none $ {b}", &value).unwrap(), "none $ {b}");
    }

    #[test]
    fn a_star_is_a_part_of_one_name() {
        assert!(matches("made/rendered-a-*.yaml", "made/rendered-a-12.yaml"));
        assert!(!matches("made/*.yaml", "made/deep/er.yaml"));
        assert!(!matches("a*b", "a"));
        assert!(matches("a", "a"));
    }
}
