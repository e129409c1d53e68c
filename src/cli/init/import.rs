//! `init --from INSTALL_DIR`: a cluster directory from what openshift-install left.
//!
//! Ours is built beside the target, in a directory that only its owner may enter, with the demo release next to the
//! installer's version: what is compared hardly depends on the release, and nothing is downloaded. Everything is
//! recognised before anything is written; with a problem, nothing is.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;

use super::origin::PULL_SECRET;
use super::{print_origins, seed_file};
use crate::base::fs;
use crate::base::hint::{Place, Problem, Problems};
use crate::base::version::Version;
use crate::base::yaml::{self, Source, YamlData, YamlNode};
use crate::cli::Result;
use crate::cli::output::{line, table, text};
use crate::engine::store::Object;
use crate::openshift::config::{self, Generated, Guess, Known, Taken};
use crate::openshift::demo;
use crate::openshift::install_dir::{self, Differs, Disposition, Finding, InstallDir, Kept, OurObject};
use crate::openshift::knowledge::{Knowledge, Release};
use crate::openshift::patch::Identity;
use crate::openshift::workspace::{CLUSTER, Env, INSTALL_CONFIG, Missing, StoreChoice, Workspace, seed};

/// Recipes that replace those which derive the ids from the seed.
const IDS: &str = "recipes/20-identity";

/// The user's wishes.
pub(super) struct Request<'a> {
    pub from: &'a Path,
    pub release: Option<&'a str>,
    pub without: &'a [String],
    pub keep_ids: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Imported {
    directory: PathBuf,
    written: Vec<String>,
    taken: Vec<Taken>,
    guessed: Vec<Guess>,
    /// Every file and object of the installer's directory.
    files: Vec<Finding>,
    patches: Vec<WrittenPatch>,
    /// What comes from the seed instead.
    not_taken: Vec<&'static str>,
    /// The demo release that ours was built with for the comparison.
    compared_with: String,
}

#[derive(Debug, Serialize, JsonSchema)]
struct WrittenPatch {
    path: String,
    text: String,
}

/// A file for the cluster directory.
struct NewFile {
    path: String,
    bytes: Vec<u8>,
    mode: u32,
}

/// Imports a directory of openshift-install.
pub(super) fn import(env: Env<'_>, directory: &Path, request: &Request<'_>) -> Result<Imported> {
    let knowledge = Knowledge::built_in()?;
    let known = knowledge.installer.get()?;
    let mut problems = Problems::default();
    let read = InstallDir::read(request.from, known, request.without, &mut problems)?;
    let Some(dir) = read else { return Err(problems.or(()).err().unwrap_or_default().into()) };
    let version = dir.version.as_deref().and_then(|text| Release::parse(text.trim_start_matches('v')));
    let demo = nearest_demo(version);
    let (install_config, pull_secret) = split_pull_secret(&dir.install_config, &mut problems);
    // A development build of the installer names no release of anybody.
    let release = request.release.or(dir.release.as_deref());
    let generate = |pull_secret: &str| {
        let known = Known { release, pull_secret: Some((PULL_SECRET, pull_secret)), hosts: None };
        config::cluster_yaml_for(Source { name: INSTALL_CONFIG, text: &install_config }, known)
    };
    let generated = match generate(&pull_secret) {
        Ok(generated) => generated,
        Err(Problems(found)) => {
            problems.0.extend(found);
            return Err(problems.or(()).err().unwrap_or_default().into());
        }
    };
    let beside = fs::canonical(
        directory.parent().filter(|path| !path.as_os_str().is_empty()).unwrap_or(Path::new(".")),
    )
    .or_else(|_| fs::canonical(Path::new(".")))?;
    let staging = Staging::make(&beside)?;
    let ours = staging.build(env, [&install_config, &generated.text, &pull_secret], &demo)?;
    let mut found = install_dir::classify(&dir, &ours, (known, version), request.without, &mut problems);
    let patches = install_dir::patch_files(&mut found);
    let kept = install_dir::kept_files(&dir, &mut found);
    let pull_secret = found.pull_secret.take().unwrap_or(pull_secret);
    let mut files = files(&install_config, &generated, &pull_secret, &patches, kept);
    if let Some(ids) = dir.cluster_id.as_ref().filter(|_| request.keep_ids) {
        files
            .extend(id_files("infra-id", &ids.infra_id).into_iter().chain(id_files("cluster-id", &ids.uuid)));
    } else if let Some(ids) = &dir.cluster_id {
        mentions(&dir, &mut found.findings, &ids.infra_id);
    }
    let written = write(env, directory, files, problems)?;
    Ok(Imported {
        directory: fs::canonical(directory)?,
        written,
        taken: generated.taken,
        guessed: generated.guessed,
        files: found.findings,
        patches: patches.into_iter().map(|(path, text)| WrittenPatch { path, text }).collect(),
        not_taken: not_taken(request.keep_ids),
        compared_with: format!("demo:{demo}"),
    })
}

/// What cannot be taken over, or only on request.
fn not_taken(keep_ids: bool) -> Vec<&'static str> {
    let mut list = vec![
        "certificate authorities, keys and kubeconfigs: they come from cluster.seed, so auth/kubeconfig of the installer's \
         directory will not work; `pki.authorities` in cluster.yaml takes an authority of your own",
        "the kubeadmin password: it comes from cluster.seed",
    ];
    if !keep_ids {
        list.push(
            "infraID and clusterID: they come from cluster.seed; `--keep-ids` takes over the installer's",
        );
    }
    list
}

/// The demo release of the installer's minor version, else the nearest older one, else the oldest.
fn nearest_demo(release: Option<Release>) -> String {
    let mut versions: Vec<(Version, &str)> =
        demo::versions().iter().filter_map(|name| Some((name.parse().ok()?, *name))).collect();
    versions.sort();
    let older =
        versions.iter().rev().find(|(version, _)| release.is_none_or(|release| *version <= release.version));
    let chosen = match release {
        None => versions.first(),
        Some(_) => older.or(versions.first()),
    };
    chosen.map(|(_, name)| (*name).to_owned()).unwrap_or_default()
}

/// The install-config without its pull secret and without what the installer's encoder adds; and the pull secret.
fn split_pull_secret(text: &str, problems: &mut Problems) -> (String, String) {
    let documents = yaml::documents(Source { name: INSTALL_CONFIG, text }, problems);
    let Some(old) = documents.first() else { return (text.to_owned(), String::new()) };
    let mut new = old.clone();
    let secret =
        remove(&mut new, "pullSecret").and_then(|node| node.text().map(str::to_owned)).unwrap_or_default();
    if let YamlData::Map(entries) = &mut new.data
        && let Some(metadata) = entries.iter_mut().find(|entry| entry.key == "metadata")
        && let YamlData::Map(entries) = &mut metadata.value.data
    {
        // The rest reaches no artifact, and is the encoder's: `creationTimestamp: null`.
        entries.retain(|entry| entry.key == "name");
    }
    prune(&mut new);
    (yaml::edit(INSTALL_CONFIG, text, &documents, 0, &new), secret)
}

/// Removes what Go's encoder writes for fields that nobody set: null and empty texts.
fn prune(node: &mut YamlNode) {
    match &mut node.data {
        YamlData::Map(entries) => {
            entries.retain(|entry| !entry.value.is_null() && entry.value.text() != Some(""));
            entries.iter_mut().for_each(|entry| prune(&mut entry.value));
        }
        YamlData::List(items) => items.iter_mut().for_each(prune),
        YamlData::Scalar { .. } => {}
    }
}

fn remove(map: &mut YamlNode, key: &str) -> Option<YamlNode> {
    let YamlData::Map(entries) = &mut map.data else { return None };
    let at = entries.iter().position(|entry| entry.key == key)?;
    Some(entries.remove(at).value)
}

/// A directory for building ours, removed in the end.
struct Staging {
    path: PathBuf,
}

impl Drop for Staging {
    fn drop(&mut self) {
        // It is the owner's alone; what cannot be removed can only be left.
        let _ = fs::remove_all(&self.path);
    }
}

impl Staging {
    fn make(beside: &Path) -> Result<Self> {
        let path = beside.join(format!(".tinderbox-init.{}", fs::random_name()));
        fs::create_dir(&path, 0o700)?;
        Ok(Self { path })
    }

    /// The objects of this cluster before any patch.
    fn build(
        &self,
        env: Env<'_>,
        [install_config, cluster, pull_secret]: [&str; 3],
        demo: &str,
    ) -> Result<Vec<OurObject>> {
        let directory = self.path.join("cluster");
        fs::create_dir(&directory, 0o700)?;
        let release = format!("demo:{demo}");
        let cluster =
            yaml::replace_scalar(CLUSTER, cluster, "release", &release).unwrap_or_else(|| cluster.to_owned());
        for (name, text) in
            [(INSTALL_CONFIG, install_config), (CLUSTER, &cluster), (PULL_SECRET, pull_secret)]
        {
            fs::write_whole(&directory.join(name), text.as_bytes(), 0o600)?;
        }
        seed::make(&directory)?;
        let store = StoreChoice { named: Some(self.path.join("store")), ..StoreChoice::default() };
        let env =
            Env { directory: &directory, store: &store, events: &(), seed: None, identity: None, ..env };
        let workspace = Workspace::load(env, Missing::Make)?;
        let session = workspace.session(env)?;
        let target = workspace.find(TARGET)?;
        let outcome = workspace.build(env, &session, &[target])?;
        let Some(done) = outcome.done.get(&target) else { return Ok(Vec::new()) };
        objects(&session.store().object(done.output.object)?)
    }
}

/// Everything before any patch.
const TARGET: &str = "assembled";

fn objects(object: &Object) -> Result<Vec<OurObject>> {
    let mut found = Vec::new();
    for (path, entry) in object.listing.leaves("").filter(|(path, _)| yaml::is_manifest(path)) {
        let text = fs::read_text(&object.path.join(path))?;
        for document in yaml::documents(Source { name: path, text: &text }, &mut Problems::default()) {
            let identity = Identity::of(&document);
            let secret = entry.secret || identity.kind == "Secret";
            found.push(OurObject { identity, document, secret });
        }
    }
    Ok(found)
}

/// Everything but the seed.
fn files(
    install_config: &str,
    generated: &Generated,
    pull_secret: &str,
    patches: &[(String, String)],
    kept: Vec<Kept>,
) -> Vec<NewFile> {
    let file = |path: &str, text: &str, mode| NewFile { path: path.to_owned(), bytes: text.into(), mode };
    let mut files = vec![
        // A proxy may have a password.
        file(INSTALL_CONFIG, install_config, 0o600),
        file(CLUSTER, &generated.text, 0o644),
        file(PULL_SECRET, pull_secret, 0o600),
    ];
    files.extend(patches.iter().map(|(path, text)| file(path, text, 0o644)));
    files.extend(kept.into_iter().map(|Kept { path, bytes, secret }| NewFile {
        path,
        bytes,
        mode: if secret { 0o600 } else { 0o644 },
    }));
    files
}

/// A recipe in place of the one that derives an id from the seed.
fn id_files(name: &str, value: &str) -> [NewFile; 2] {
    let recipe = format!(
        "# The value that openshift-install chose.\nbuilder = \"tree\"\n\n[files]\n{name} = \"{name}\"\n"
    );
    [(format!("{IDS}/{name}.toml"), recipe), (format!("{IDS}/{name}"), value.to_owned())]
        .map(|(path, text)| NewFile { path, bytes: text.into(), mode: 0o644 })
}

/// Says which of the user's own files name the installer's infraID, which is not taken over.
fn mentions(dir: &InstallDir, findings: &mut [Finding], infra_id: &str) {
    for finding in
        findings.iter_mut().filter(|finding| matches!(finding.fate, Disposition::Kept | Disposition::Patch))
    {
        let bytes = dir.manifests.get(&finding.file).map(Vec::as_slice).unwrap_or_default();
        if bytes.windows(infra_id.len()).any(|window| window == infra_id.as_bytes()) {
            finding.why += &format!("; it names the infraID {infra_id}, which `--keep-ids` keeps");
        }
    }
}

/// Writes all files, or none: an existing one is a problem like any other.
fn write(env: Env<'_>, directory: &Path, files: Vec<NewFile>, mut problems: Problems) -> Result<Vec<String>> {
    for file in &files {
        if fs::exists(&directory.join(&file.path))? {
            let place = Place::file(directory.join(&file.path).display().to_string());
            let hint = "choose another directory, or move it away".to_owned();
            problems.push(Problem::new(place, "it already exists, and is left alone").hint(hint));
        }
    }
    problems.or(())?;
    fs::create_dirs(directory)?;
    let mut written = Vec::new();
    for NewFile { path, bytes, mode } in files {
        let full = directory.join(&path);
        if let Some(parent) = full.parent() {
            fs::create_dirs(parent)?;
        }
        fs::write_whole(&full, &bytes, mode)?;
        written.push(path);
    }
    written.extend(seed_file(env, &fs::canonical(directory)?)?);
    Ok(written)
}

impl Imported {
    pub(super) fn print(&self) {
        self.written.iter().for_each(|file| line(self.directory.join(file).display()));
        print_origins(&self.taken, &self.guessed);
        for patch in &self.patches {
            line(format_args!("\n{}:", patch.path));
            text(&patch.text);
        }
        line("\nfrom the installer's directory:");
        let row = |finding: &Finding| {
            let to = finding.to.as_ref().map(|to| format!(" → {to}")).unwrap_or_default();
            vec![finding.file.clone(), word(finding.fate).to_owned(), finding.why.clone() + &to]
        };
        table(&["FILE", "BECAME", "WHY"], &self.files.iter().map(row).collect::<Vec<_>>());
        self.print_differences();
        line("\nnot taken over:");
        self.not_taken.iter().for_each(|one| line(format_args!("- {one}")));
        let count = |fate: Disposition| self.files.iter().filter(|finding| finding.fate == fate).count();
        let counts = [
            Disposition::Ours,
            Disposition::Patch,
            Disposition::Kept,
            Disposition::PullSecret,
            Disposition::LeftOut,
        ]
        .map(|fate| (count(fate), word(fate)))
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {word}"));
        line(format_args!(
            "\n{}; compared with what tinderbox makes of {}, and checked again by `tinderbox build`",
            counts.collect::<Vec<_>>().join(", "),
            self.compared_with
        ));
    }

    /// Fields that ours has otherwise, those without a known reason first.
    fn print_differences(&self) {
        let mut found: BTreeMap<(bool, &str), BTreeSet<String>> = BTreeMap::new();
        for finding in &self.files {
            for Differs { field, reason } in &finding.differs {
                let object = finding.object.as_deref().unwrap_or_default();
                let why = reason.as_deref().unwrap_or("no known reason: look at it");
                found.entry((reason.is_some(), why)).or_default().insert(format!("{object} {field}"));
            }
        }
        if !found.is_empty() {
            line("\nwhere ours differs from the installer's:");
        }
        for ((_, why), places) in found {
            line(why);
            places.iter().for_each(|place| line(format_args!("  {place}")));
        }
    }
}

fn word(fate: Disposition) -> &'static str {
    match fate {
        Disposition::Ours => "ours",
        Disposition::Patch => "patch",
        Disposition::Kept => "kept",
        Disposition::PullSecret => "pull secret",
        Disposition::LeftOut => "left out",
    }
}
