//! Runs the steps of a `run` recipe.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read as _;
use std::net::{IpAddr, SocketAddr};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::FileType;

use super::super::{BuildError, Job, JobError};
use super::spec::{Spec, fill, matches};
use super::workarounds;
use crate::base::fs::{self, At as _};
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
        let by_itself = matches!(ran.ended, Ended::Exited(_));
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
            Ended::DepthLimit(depth) => {
                format!("was killed: it nested directories deeper than {depth} levels")
            }
            Ended::MemoryLimit(bytes) => {
                format!("was killed: it used more than {} MiB of memory", bytes >> 20)
            }
            Ended::DiskFull => "was killed: the disk is nearly full".to_owned(),
        };
        Err(self.ended(problem, by_itself))
    }

    /// The directory in the sandbox that a registry serves, and where; none if its input has nothing to serve.
    fn served(&self) -> Result<Option<(&'a str, Vec<IpAddr>)>, BuildError> {
        let Some(alias) = self.spec.registry else { return Ok(None) };
        let at = registry_addresses(&self.job.input(alias)?.place())?;
        let target = self.spec.mounts.get(alias).copied().unwrap_or_default();
        Ok((!at.is_empty()).then(|| (target, at.iter().map(SocketAddr::ip).collect())))
    }

    /// An error about what a program left behind.
    pub(super) fn failed(&self, problem: String) -> BuildError {
        self.ended(problem, true)
    }

    /// An error with the program's last output and the recipe's advice about it.
    fn ended(&self, problem: String, by_itself: bool) -> BuildError {
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
        BuildError::Program { program: self.program.clone(), problem, words, advice, by_itself }
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
        let out = fs::Dir::open(&self.scratch.join("out"))?;
        let to = out
            .create_dirs(into.strip_prefix(OUTPUT).unwrap_or(into))
            .map_err(|error| linked(into, error))?;
        for (number, source) in from.iter().enumerate() {
            let rename = |name: &OsStr| match numbered {
                true => format!("{}-{}", number + 1, name.to_string_lossy()).into(),
                false => name.to_owned(),
            };
            let Some((parent, name)) = self.locate(source)? else {
                let problem = format!("did not make `{source}`, which the next step needs");
                return Err(self.failed(problem));
            };
            if fs::kind(&parent.stat(&name)?) != FileType::Directory {
                copy(&parent, &name, &to, &rename(&name))?;
                continue;
            }
            let dir = parent.dir(&name)?;
            for file in dir.names()? {
                // Programs read the files of one directory.
                if fs::kind(&dir.stat(&file)?) != FileType::Directory {
                    copy(&dir, &file, &to, &rename(&file))?;
                }
            }
        }
        Ok(())
    }

    /// The directory and the name of a path in the sandbox; none if it does not exist. No link is followed: programs
    /// leave links to anywhere.
    fn locate(&self, path: &str) -> Result<Option<(fs::Dir, OsString)>, BuildError> {
        let below = |target: &str| {
            let rest = path.strip_prefix(target)?;
            (rest.is_empty() || rest.starts_with('/')).then(|| rest.trim_start_matches('/').to_owned())
        };
        let plain = !path.split('/').any(|part| part == "..");
        let places = self.mounts.iter().map(|mount| (mount.target.as_str(), mount.source.clone()));
        let found = places
            .chain([(OUTPUT, self.scratch.join("out"))])
            .filter(|_| plain)
            .find_map(|(target, source)| below(target).map(|rest| (source, rest)));
        let Some((source, rest)) = found else {
            let expected = "a path below `/out` or an input's mount";
            return Err(JobError::Expected { name: path.to_owned(), expected }.into());
        };
        let parent = match (rest.as_str(), source.parent(), source.file_name()) {
            ("", Some(parent), Some(name)) => Some((fs::Dir::open(parent)?, name.to_owned())),
            _ => fs::Dir::open(&source)?.parent_of(&rest).map_err(|error| linked(path, error))?,
        };
        let Some((parent, name)) = parent else { return Ok(None) };
        let exists = fs::optional(parent.stat(&name))?.is_some();
        Ok(exists.then_some((parent, name)))
    }

    /// The entries to keep, by path in the output: readable, complete and valid.
    pub(super) fn outputs(
        &mut self,
        inspect: fn(&str, &mut File) -> Result<Option<String>, BuildError>,
    ) -> Result<BTreeMap<String, (fs::Dir, OsString)>, BuildError> {
        make_readable(&self.scratch.join("out"))?;
        let mut kept = BTreeMap::new();
        for (path, place) in &self.spec.outputs {
            match self.locate(place)? {
                Some(found) => kept.insert((*path).to_owned(), found),
                None => return Err(self.failed(format!("exited with 0 but did not make `{place}`"))),
            };
        }
        let mut paths = BTreeSet::new();
        for (path, (parent, name)) in &kept {
            each_file(parent, name, path, &mut |path, _, _| {
                paths.insert(path.to_owned());
                Ok(())
            })?;
        }
        for pattern in &self.spec.expect {
            if !paths.iter().any(|path| matches(pattern, path)) {
                return Err(self.failed(format!("exited with 0 but did not make `{pattern}`")));
            }
        }
        for (path, (parent, name)) in &kept {
            each_file(parent, name, path, &mut |path, dir, name| {
                if let Some(problem) = inspect(path, &mut dir.file(name)?)? {
                    return Err(self.failed(problem));
                }
                for (_, lists) in self.spec.sort.iter().filter(|(pattern, _)| matches(pattern, path)) {
                    workarounds::sort(dir, name, lists)?;
                }
                Ok(())
            })?;
        }
        Ok(kept)
    }
}

/// Says that a program's link is in the way.
fn linked(path: &str, error: fs::Error) -> BuildError {
    match error.kind() {
        std::io::ErrorKind::InvalidInput => TreeError::Refused {
            path: path.to_owned(),
            reason: "a program left a link there, and links of programs are not followed",
        }
        .into(),
        _ => error.into(),
    }
}

fn copy(from: &fs::Dir, name: &OsStr, to: &fs::Dir, new: &OsStr) -> Result<(), BuildError> {
    if fs::kind(&from.stat(name)?) != FileType::RegularFile {
        let path = name.to_string_lossy().into_owned();
        let reason = "it is not a regular file, which the next step needs";
        return Err(TreeError::Refused { path, reason }.into());
    }
    let mut bytes = Vec::new();
    from.file(name)?.read_to_end(&mut bytes).at("read", Path::new(name))?;
    Ok(to.write(new, &bytes, 0o600)?)
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
fn make_readable(out: &Path) -> Result<(), BuildError> {
    fs::set_mode(out, 0o700)?;
    let done = fs::Dir::open(out)?.walk(&mut |visit: fs::Visit<'_>| {
        let mode = match fs::kind(visit.stat) {
            FileType::Directory => 0o700,
            FileType::RegularFile if visit.stat.st_mode & 0o111 != 0 => 0o700,
            FileType::RegularFile => 0o600,
            _ => return ControlFlow::Continue(()),
        };
        match visit.stat.st_mode & 0o7777 == mode {
            true => ControlFlow::Continue(()),
            false => match visit.parent.set_mode(visit.name, mode) {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => ControlFlow::Break(fs::Stop::<()>::Failed(error)),
            },
        }
    });
    match done {
        Ok(()) | Err(fs::Stop::Asked(())) => Ok(()),
        Err(fs::Stop::Failed(error)) => Err(error.into()),
        Err(fs::Stop::TooDeep) => {
            let reason = "a path may not be deeper than 128 directories";
            Err(TreeError::Refused { path: OUTPUT.to_owned(), reason }.into())
        }
    }
}

/// Calls `see` for every file at or below an entry, with its path in the output. [`make_readable`] has limited the depth.
fn each_file(
    parent: &fs::Dir,
    name: &OsStr,
    path: &str,
    see: &mut dyn FnMut(&str, &fs::Dir, &OsStr) -> Result<(), BuildError>,
) -> Result<(), BuildError> {
    match fs::kind(&parent.stat(name)?) {
        FileType::RegularFile => see(path, parent, name),
        FileType::Directory => {
            let dir = parent.dir(name)?;
            for name in dir.names()? {
                let leaf = name.to_string_lossy();
                let below = if path.is_empty() { leaf.to_string() } else { format!("{path}/{leaf}") };
                each_file(&dir, &name, &below, see)?;
            }
            Ok(())
        }
        _ => Ok(()),
    }
}
