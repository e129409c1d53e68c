//! The files of an installer's directory: which there are, and what the manifests among them say.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::state::{ClusterId, Generated, State};
use super::{data, key_of};
use crate::base::fs;
use crate::base::hint::{Place, Problem, Problems};
use crate::base::yaml::{self, Source, YamlNode};
use crate::openshift::ignition::{Config, Contents};
use crate::openshift::knowledge::{Installer, InstallerState};
use crate::openshift::patch::Identity;

/// More than any manifest that an API server takes.
const MANIFEST: usize = 4 << 20;
/// More than a state file with a hundred keys and a thousand manifests.
const STATE: usize = 256 << 20;

/// Everything that a directory of openshift-install says.
pub(crate) struct InstallDir {
    /// The installer's, with its defaults; the pull secret included.
    pub(crate) install_config: String,
    pub(crate) cluster_id: Option<ClusterId>,
    /// Known after `create ignition-configs` only.
    pub(crate) release: Option<String>,
    /// The installer's version, as it writes it.
    pub(crate) version: Option<String>,
    /// Objects of manifests in the order of their files.
    pub(crate) objects: Vec<InstallerObject>,
    /// Every file by its path: a manifest, or something else.
    pub(crate) manifests: BTreeMap<String, Vec<u8>>,
    pub(crate) others: Vec<String>,
    /// Objects that the installer generated, by file. A state that has only what it read back knows none of those.
    pub(super) generated: Vec<InstallerObject>,
    /// Files that the state knows, the installer's own or read back.
    pub(super) known: BTreeSet<String>,
}

/// One document of a manifest.
#[derive(Debug, Clone)]
pub(crate) struct InstallerObject {
    pub file: String,
    pub identity: Identity,
    pub document: YamlNode,
}

impl InstallerObject {
    pub(super) fn is_secret(&self) -> bool {
        self.identity.kind == "Secret"
    }

    pub(super) fn place(&self) -> Place {
        Place { file: self.file.clone(), line: Some(self.document.line), field: String::new() }
    }
}

impl InstallDir {
    /// Reads the directory. Files in `without` are as if they did not exist.
    pub(crate) fn read(
        root: &Path,
        table: &Installer,
        without: &[String],
        problems: &mut Problems,
    ) -> fs::Result<Option<Self>> {
        let names = &table.state;
        let Some(state) = read_state(root, names, problems)? else { return Ok(None) };
        let mut paths = BTreeSet::new();
        list(root, "", &mut paths, problems)?;
        let is_manifest = |path: &String| {
            path.split_once('/').is_some_and(|(folder, name)| {
                names.folders.iter().any(|known| known == folder)
                    && !name.contains('/')
                    && yaml::is_manifest(name)
            })
        };
        let mut there = paths.clone();
        let (found, others): (Vec<String>, Vec<String>) = paths.into_iter().partition(is_manifest);
        let from_bootstrap = found.is_empty() && others.contains(&names.bootstrap);
        let mut manifests = match from_bootstrap {
            true => in_bootstrap(root, names, problems)?,
            false => BTreeMap::new(),
        };
        there.extend(manifests.keys().cloned());
        for path in found.into_iter().filter(|path| !without.contains(path)) {
            manifests.extend(content(root, &path, MANIFEST, problems).map(|bytes| (path, bytes)));
        }
        let Some(install_config) = state.install_config(names) else {
            let message = "it has no install-config: `create manifests` has not been run here";
            problems.push(Problem::new(Place::file(&names.file), message));
            return Ok(None);
        };
        let in_state = state.generated(names);
        for path in others.iter().filter(|path| path.ends_with(".ign") && !without.contains(path)) {
            edited_config(root, path, in_state.get(path), problems);
        }
        let wanted = |path: &str| names.folders.iter().any(|folder| path.starts_with(&format!("{folder}/")));
        let known: BTreeSet<String> = in_state.keys().filter(|path| wanted(path)).cloned().collect();
        // A file that the user removed can be left out too.
        for name in without.iter().filter(|name| !there.contains(*name) && !known.contains(*name)) {
            let hint = "name it as it stands in the directory: `openshift/99_x.yaml`".to_owned();
            problems.push(Problem::new(Place::file(name), "there is no such file to leave out").hint(hint));
        }
        manifests.retain(|path, _| !without.contains(path));
        // A copy that the installer read back from bootstrap.ign's source is the user's.
        let own = |(path, file): &(String, Generated)| wanted(path) && !(from_bootstrap && file.read_back);
        let own = in_state.into_iter().filter(own).map(|(path, file)| (path, file.bytes)).collect();
        let objects = documents(&manifests, problems);
        let version = objects.iter().find(|one| key_of(&one.identity) == names.version.object);
        Ok(Some(Self {
            version: version.and_then(|one| data(&one.document, &names.version.key)).map(str::to_owned),
            install_config,
            cluster_id: state.cluster_id(names),
            release: state.release(names).map(str::to_owned),
            objects,
            manifests,
            others: others.into_iter().filter(|path| !without.contains(path)).collect(),
            generated: documents(&own, &mut Problems::default()),
            known,
        }))
    }
}

/// Reports an Ignition config that is not as the installer wrote it: there is no place for such an edit.
fn edited_config(root: &Path, path: &str, written: Option<&Generated>, problems: &mut Problems) {
    let Some(bytes) = content(root, path, STATE, problems) else { return };
    if written.is_some_and(|written| written.bytes != bytes) {
        let hint = format!(
            "put what you added into a MachineConfig below the directory's `openshift/`, then leave this file out: `--without {path}`"
        );
        let message = "it was edited after openshift-install wrote it, which cannot be taken over";
        problems.push(Problem::new(Place::file(path), message).hint(hint));
    }
}

fn read_state(root: &Path, names: &InstallerState, problems: &mut Problems) -> fs::Result<Option<State>> {
    if !fs::exists(&root.join(&names.file))? {
        let hint = "copy it from where openshift-install ran: without it, your edits cannot be told from the installer's own \
                    text; or use `init --from install-config.yaml`, and put your manifests into manifests/";
        let problem = Problem::new(Place::file(&names.file), "it is missing");
        problems.push(problem.hint(hint.to_owned()));
        return Ok(None);
    }
    let Some(bytes) = content(root, &names.file, STATE, problems) else { return Ok(None) };
    match State::parse(&bytes) {
        Ok(state) => Ok(Some(state)),
        Err(message) => {
            problems.push(Problem::new(Place::file(&names.file), message));
            Ok(None)
        }
    }
}

/// All files below a directory by their path; folders are entered, links to them are not.
fn list(root: &Path, prefix: &str, paths: &mut BTreeSet<String>, problems: &mut Problems) -> fs::Result<()> {
    for name in fs::list(&root.join(prefix))? {
        let Some(name) = name.to_str().filter(|name| !name.chars().any(char::is_control)) else {
            let shown = format!("{prefix}{}", name.to_string_lossy().escape_debug());
            problems.push(Problem::new(
                Place::file(shown),
                "the file's name has control characters or is not UTF-8",
            ));
            continue;
        };
        let path = format!("{prefix}{name}");
        match fs::metadata(&root.join(&path))?.is_dir() {
            true => list(root, &format!("{path}/"), paths, problems)?,
            false => drop(paths.insert(path)),
        }
    }
    Ok(())
}

/// The bytes of a file; none, with a problem, if it cannot be read or is too large.
fn content(root: &Path, path: &str, limit: usize, problems: &mut Problems) -> Option<Vec<u8>> {
    let full: PathBuf = root.join(path);
    let problem = |message: String| Problem::new(Place::file(path), message);
    match fs::read_head(&full, limit + 1) {
        Ok(bytes) if bytes.len() > limit => {
            problems.push(problem(format!("it is larger than {} MiB", limit >> 20)));
            None
        }
        Ok(bytes) => Some(bytes),
        Err(error) => {
            problems.push(problem(format!("it cannot be read: {}", error.source)));
            None
        }
    }
}

/// The manifests inside bootstrap.ign, which `create ignition-configs` moved there.
fn in_bootstrap(
    root: &Path,
    names: &InstallerState,
    problems: &mut Problems,
) -> fs::Result<BTreeMap<String, Vec<u8>>> {
    let mut found = BTreeMap::new();
    let mut wrong = |message: String| problems.push(Problem::new(Place::file(&names.bootstrap), message));
    let text = fs::read_text(&root.join(&names.bootstrap))?;
    let config = match Config::parse(&text) {
        Ok(config) => config,
        Err(error) => {
            wrong(format!("it is not an Ignition config: {error}"));
            return Ok(found);
        }
    };
    for (path, file) in &config.files {
        let Some(path) = path.strip_prefix(&format!("{}/", names.on_bootstrap)) else { continue };
        let is_wanted = path.split_once('/').is_some_and(|(folder, name)| {
            names.folders.iter().any(|known| known == folder)
                && !name.contains(|c: char| c == '/' || c.is_control())
                && yaml::is_manifest(name)
        });
        if !is_wanted {
            continue;
        }
        match Contents::of(file) {
            Ok(Contents::Bytes(bytes)) => drop(found.insert(path.to_owned(), bytes)),
            Ok(_) => wrong(format!("`{path}` has no content of its own")),
            Err(error) => wrong(error.to_string()),
        }
    }
    Ok(found)
}

/// The documents of all files. What is wrong with a file that may hold a secret is said without its text.
fn documents(files: &BTreeMap<String, Vec<u8>>, problems: &mut Problems) -> Vec<InstallerObject> {
    let mut objects = Vec::new();
    for (file, bytes) in files {
        let Ok(text) = std::str::from_utf8(bytes) else {
            problems.push(Problem::new(Place::file(file), "the file is not UTF-8 text"));
            continue;
        };
        let mut found = Problems::default();
        let documents = yaml::documents(Source { name: file, text }, &mut found);
        let concealed = text.contains("Secret");
        problems.0.extend(found.0.into_iter().map(|problem| match concealed {
            true => Problem::new(problem.place, "not valid YAML"),
            false => problem,
        }));
        for document in documents {
            let identity = Identity::of(&document);
            if let Some(field) = identity.missing() {
                let place = Place { file: file.clone(), line: Some(document.line), field: field.to_owned() };
                problems.push(Problem::new(place, "it is missing, so this is not an object"));
                continue;
            }
            objects.push(InstallerObject { file: file.clone(), identity, document });
        }
    }
    objects
}
