//! Runs the steps of a `run` recipe.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::super::{BuildError, Job, JobError};
use super::spec::{Spec, fill, matches};
use super::workarounds;
use crate::base::fs;
use crate::base::redact::{Redactor, patterns_and_whole};
use crate::engine::sandbox::{Ended, Limits, Mount, OUTPUT, Program, registry_addresses};
use crate::engine::tree::{EntryKind, TreeError};

/// How many lines of a program's output an error shows.
const LOG_TAIL: usize = 20;
/// Maximum length of such a line.
const LINE: usize = 400;

/// Runs one step after the other.
pub(super) struct Runner<'a> {
    job: &'a Job<'a>,
    spec: &'a Spec<'a>,
    scratch: PathBuf,
    image: PathBuf,
    mounts: Vec<Mount>,
    redactor: Redactor,
    /// The program that ran last.
    program: String,
    pub(super) isolation: Option<&'static str>,
    pub(super) log: String,
}

impl<'a> Runner<'a> {
    pub(super) fn new(job: &'a Job<'a>, spec: &'a Spec<'a>, scratch: &Path) -> Result<Self, BuildError> {
        let mount = |(alias, target): (&&str, &&str)| -> Result<Mount, JobError> {
            Ok(Mount { source: job.input(alias)?.place(), target: (*target).to_owned() })
        };
        let mounts = spec.mounts.iter().map(mount).collect::<Result<_, _>>()?;
        fs::create_dir(&scratch.join("out"), 0o700)?;
        Ok(Self {
            job,
            spec,
            scratch: scratch.to_owned(),
            image: job.input("image")?.place(),
            mounts,
            redactor: redactor(job)?,
            program: String::new(),
            isolation: None,
            log: String::new(),
        })
    }

    /// Runs one program, which must exit with 0.
    pub(super) fn run(&mut self, argv: &[&str]) -> Result<(), BuildError> {
        let value = |name: &str| self.value(name);
        let argv = argv.iter().map(|text| fill(text, &value)).collect::<Result<Vec<_>, _>>()?;
        let environment: BTreeMap<String, String> = self
            .spec
            .environment
            .iter()
            .map(|(name, text)| Ok(((*name).to_owned(), fill(text, &value)?)))
            .collect::<Result<_, JobError>>()?;
        let addresses = self.spec.addresses.iter().map(|text| {
            let wrong =
                |_| JobError::Expected { name: format!("addresses: {text}"), expected: "an IP address" };
            fill(text, &value)?.parse().map_err(wrong)
        });
        let mut addresses = addresses.collect::<Result<Vec<_>, JobError>>()?;
        let served = self.served()?;
        if let Some((_, at)) = &served {
            addresses.extend(at.iter().copied());
            addresses.sort_unstable();
            addresses.dedup();
        }
        let program = Program {
            root: &self.image,
            argv: &argv,
            environment: &environment,
            directory: self.spec.directory,
            inputs: &self.mounts,
            output: &self.scratch.join("out"),
            scratch: &self.scratch,
            addresses: &addresses,
            registry: served.as_ref().map(|(directory, _)| *directory),
            limits: Limits { time: Duration::from_secs(self.spec.seconds), ..Limits::default() },
        };
        let programs = self.job.programs()?;
        let ran = programs.sandbox.run(&program, programs.cancel)?;
        self.isolation = Some(ran.isolation.as_str());
        self.program = argv.first().cloned().unwrap_or_default();
        let said = self.redactor.text(&ran.log.text());
        self.log.push_str(&format!("$ {}\n{said}", self.redactor.text(&argv.join(" "))));
        if !said.ends_with('\n') {
            self.log.push('\n');
        }
        let problem = match ran.ended {
            Ended::Exited(0) => return Ok(()),
            Ended::Cancelled => return Err(BuildError::Stopped),
            Ended::Exited(code) => format!("failed with exit code {code}"),
            Ended::Signalled(signal) => format!("was killed by signal {signal}"),
            Ended::TimeLimit(time) => {
                format!("was killed: it did not finish within {} seconds", time.as_secs())
            }
            Ended::OutputLimit(bytes) => format!("was killed: it wrote more than {} MiB", bytes >> 20),
            Ended::EntryLimit(entries) => format!("was killed: it created more than {entries} files"),
        };
        Err(self.failed(problem))
    }

    /// The directory in the sandbox that a registry serves, and where; none if its input has nothing to serve.
    fn served(&self) -> Result<Option<(&'a str, Vec<IpAddr>)>, BuildError> {
        let Some(alias) = self.spec.registry else { return Ok(None) };
        let at = registry_addresses(&self.job.input(alias)?.place())?;
        let target = self.spec.mounts.get(alias).copied().unwrap_or_default();
        Ok((!at.is_empty()).then(|| (target, at.iter().map(SocketAddr::ip).collect())))
    }

    /// An error with the program's last output and the recipe's advice about it.
    fn failed(&self, problem: String) -> BuildError {
        let said = self.log.rsplit_once("\n$ ").map_or(self.log.as_str(), |(_, last)| last);
        let said = said.split_once('\n').map_or("", |(_, said)| said);
        let lines: Vec<String> = said
            .lines()
            .filter(|line| !line.trim().is_empty())
            .map(|line| match line.char_indices().nth(LINE) {
                Some((end, _)) => format!("{}…", &line[..end]),
                None => line.to_owned(),
            })
            .collect();
        let words = lines[lines.len().saturating_sub(LOG_TAIL)..].join("\n");
        let advice =
            self.spec.advice.iter().find(|(about, _)| said.contains(**about) || problem.contains(**about));
        let advice = advice.map(|(_, advice)| (*advice).to_owned());
        BuildError::Program { program: self.program.clone(), problem, words, advice }
    }

    /// A config value, or the text of an input that is one file.
    fn value(&self, name: &str) -> Result<String, JobError> {
        if let Some(value) = self.job.config().get(name) {
            return Ok(match value.as_text() {
                Some(text) => text.to_owned(),
                None => value.to_string(),
            });
        }
        let input = self.job.input(name)?;
        match input.entry().map(|entry| &entry.kind) {
            Some(EntryKind::File { .. }) => Ok(input.text(name, "")?.trim().to_owned()),
            _ => Err(JobError::Input {
                alias: name.to_owned(),
                problem: "is not a file, so it has no text".into(),
            }),
        }
    }

    /// Copies files into one directory of the output for the next step.
    pub(super) fn gather(&mut self, into: &str, from: &[&str], numbered: bool) -> Result<(), BuildError> {
        let into = self.host(into)?;
        fs::create_dirs(&into)?;
        for (number, source) in from.iter().enumerate() {
            let place = self.host(source)?;
            let name = |name: &std::ffi::OsStr| match numbered {
                true => into.join(format!("{}-{}", number + 1, name.to_string_lossy())),
                false => into.join(name),
            };
            match fs::optional(fs::metadata(&place))? {
                None => {
                    let problem = format!("did not make `{source}`, which the next step needs");
                    return Err(self.failed(problem));
                }
                Some(found) if found.is_dir() => {
                    for file in fs::list(&place)? {
                        self.copy(&place.join(&file), &name(&file))?;
                    }
                }
                Some(_) => self.copy(&place, &name(place.file_name().unwrap_or_default()))?,
            }
        }
        Ok(())
    }

    fn copy(&self, from: &Path, to: &Path) -> Result<(), BuildError> {
        let found = fs::metadata(from)?;
        if found.is_dir() {
            return Ok(()); // programs read the files of one directory
        }
        if !found.is_file() {
            let path = from.file_name().unwrap_or_default().to_string_lossy().into_owned();
            return Err(TreeError::Refused {
                path,
                reason: "it is not a regular file, which the next step needs",
            }
            .into());
        }
        let bytes = fs::read(from)?;
        Ok(fs::replace(to, &bytes, 0o600)?)
    }

    /// The path on disk of a path in the sandbox.
    fn host(&self, path: &str) -> Result<PathBuf, BuildError> {
        let below = |target: &str| {
            let rest = path.strip_prefix(target)?;
            (rest.is_empty() || rest.starts_with('/')).then(|| rest.trim_start_matches('/').to_owned())
        };
        let plain = !path.split('/').any(|part| part == "..");
        let places = self.mounts.iter().map(|mount| (mount.target.as_str(), mount.source.clone()));
        let found = places.chain([(OUTPUT, self.scratch.join("out"))]).filter(|_| plain).find_map(
            |(target, source)| {
                below(target).map(|rest| if rest.is_empty() { source } else { source.join(rest) })
            },
        );
        found.ok_or_else(|| {
            JobError::Expected { name: path.to_owned(), expected: "a path below `/out` or an input's mount" }
                .into()
        })
    }

    /// The files to keep, by path in the output: readable, complete and valid.
    pub(super) fn outputs(
        &mut self,
        inspect: fn(&str, &Path) -> Result<Option<String>, BuildError>,
    ) -> Result<BTreeMap<String, PathBuf>, BuildError> {
        make_readable(&self.scratch.join("out"))?;
        let mut kept = BTreeMap::new();
        for (path, place) in &self.spec.outputs {
            let found = self.host(place)?;
            if fs::optional(fs::metadata(&found))?.is_none() {
                let problem = format!("exited with 0 but did not make `{place}`");
                return Err(self.failed(problem));
            }
            kept.insert((*path).to_owned(), found);
        }
        let files = files(&kept)?;
        for pattern in &self.spec.expect {
            if !files.keys().any(|path| matches(pattern, path)) {
                let problem = format!("exited with 0 but did not make `{pattern}`");
                return Err(self.failed(problem));
            }
        }
        for (path, place) in &files {
            if let Some(problem) = inspect(path, place)? {
                return Err(self.failed(problem));
            }
            for (pattern, lists) in &self.spec.sort {
                if matches(pattern, path) {
                    workarounds::sort(place, lists)?;
                }
            }
        }
        Ok(kept)
    }
}

/// Knows every secret that the programs may have seen.
fn redactor(job: &Job<'_>) -> Result<Redactor, BuildError> {
    let mut patterns = Vec::new();
    for (name, secret) in job.secrets {
        patterns.extend(patterns_and_whole(name, secret.reveal()));
    }
    for input in job.inputs.values() {
        for (path, place, _) in input.leaves().filter(|(_, _, entry)| entry.secret) {
            let content = zeroize::Zeroizing::new(fs::read(&place)?);
            patterns.extend(patterns_and_whole(crate::engine::tree::leaf(path), &content));
        }
    }
    Ok(Redactor::new(vec![(String::new(), patterns)]))
}

/// Programs choose any file mode; as the owner, we make them readable.
fn make_readable(dir: &Path) -> Result<(), fs::Error> {
    fs::set_mode(dir, 0o700)?;
    for name in fs::list(dir)? {
        let path = dir.join(name);
        let found = fs::metadata(&path)?;
        if found.is_dir() {
            make_readable(&path)?;
        } else if found.is_file() {
            let executable = std::os::unix::fs::MetadataExt::mode(&found) & 0o111 != 0;
            fs::set_mode(&path, if executable { 0o700 } else { 0o600 })?;
        }
    }
    Ok(())
}

/// Every file to keep, by path in the output.
fn files(kept: &BTreeMap<String, PathBuf>) -> Result<BTreeMap<String, PathBuf>, fs::Error> {
    let mut files = BTreeMap::new();
    let mut open: Vec<(String, PathBuf)> =
        kept.iter().map(|(path, place)| (path.clone(), place.clone())).collect();
    while let Some((path, place)) = open.pop() {
        let found = fs::metadata(&place)?;
        if found.is_dir() {
            for name in fs::list(&place)? {
                let leaf = name.to_string_lossy();
                let below = if path.is_empty() { leaf.into_owned() } else { format!("{path}/{leaf}") };
                open.push((below, place.join(&name)));
            }
        } else if found.is_file() {
            files.insert(path, place);
        }
    }
    Ok(files)
}
