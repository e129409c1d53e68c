//! Recognises each object of an installer's directory.
//!
//! | the state has it | it is as in the state | we make it | what becomes of it |
//! |---|---|---|---|
//! | yes | yes | yes | ours replaces it; fields that differ are listed, with the reason if there is one |
//! | yes | yes | no | left out if a reason is known, else kept |
//! | yes | no | yes | the edit becomes a patch of ours; of the pull secret, the pull secret |
//! | yes | no | no | kept: it is the user's now |
//! | read back only | – | no | left out if a reason is known, else kept |
//! | read back only | – | yes | what differs from ours without a known reason becomes a patch |
//! | no | – | yes | fields that ours has otherwise become a patch |
//! | no | – | no | kept |
//!
//! Patches are public, so an edited `Secret` cannot become one.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use schemars::JsonSchema;
use serde::Serialize;

use super::files::{InstallDir, InstallerObject};
use super::{data, key_of};
use crate::base::hint::{Place, Problem, Problems};
use crate::base::yaml::YamlNode;
use crate::openshift::knowledge::{Installer, Release};
use crate::openshift::patch::{self, Edit, Identity};

/// An object of the cluster before any patch.
pub(crate) struct OurObject {
    pub identity: Identity,
    pub document: YamlNode,
    pub secret: bool,
}

/// What became of a file or object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Disposition {
    /// Ours replaces it.
    Ours,
    /// The user's edit is a patch.
    Patch,
    /// The user's own manifest.
    Kept,
    /// Its content is the pull secret.
    PullSecret,
    LeftOut,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Finding {
    pub file: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<String>,
    pub fate: Disposition,
    /// The file of the cluster directory that has it now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    pub why: String,
    /// Fields that ours has otherwise.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub differs: Vec<Differs>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Differs {
    /// A JSON pointer.
    pub field: String,
    /// Why that is right, if it is known.
    pub reason: Option<String>,
}

/// The result for the whole directory.
#[derive(Default)]
pub(crate) struct Classified {
    pub findings: Vec<Finding>,
    /// Index of the finding, the object, and what changes.
    pub patches: Vec<(usize, Identity, Vec<Edit>)>,
    /// Index of the finding, and the object.
    pub kept: Vec<(usize, InstallerObject)>,
    /// As the user edited it.
    pub pull_secret: Option<String>,
}

struct Classifier<'a> {
    dir: &'a InstallDir,
    ours: &'a [OurObject],
    table: &'a Installer,
    release: Option<Release>,
    problems: &'a mut Problems,
    result: Classified,
}

/// Recognises everything in a directory; problems are what cannot be taken over.
pub(crate) fn classify(
    dir: &InstallDir,
    ours: &[OurObject],
    (table, release): (&Installer, Option<Release>),
    without: &[String],
    problems: &mut Problems,
) -> Classified {
    let mut work = Classifier { dir, ours, table, release, problems, result: Classified::default() };
    work.twins();
    for theirs in &dir.objects {
        work.object(theirs);
    }
    work.deleted(without);
    for path in &dir.others {
        let why = table.why_left_out(path, release).unwrap_or("it is not a manifest, so nothing applies it");
        work.find(path, None, Disposition::LeftOut, why);
    }
    for path in without {
        work.find(path, None, Disposition::LeftOut, "you said so: `--without`");
    }
    work.result
}

impl Classifier<'_> {
    fn find(&mut self, file: &str, object: Option<&Identity>, fate: Disposition, why: &str) -> usize {
        self.result.findings.push(Finding {
            file: file.to_owned(),
            object: object.map(|object| object.to_string().replace('`', "")),
            fate,
            to: None,
            why: why.to_owned(),
            differs: Vec::new(),
        });
        self.result.findings.len() - 1
    }

    fn problem(&mut self, theirs: &InstallerObject, message: String, hint: &str) {
        let hint = format!("{hint}; or leave it out: `--without {}`", theirs.file);
        self.problems.push(Problem::new(theirs.place(), message).hint(hint));
    }

    /// Two documents of one object: the cluster would get one of them.
    fn twins(&mut self) {
        let mut seen: BTreeMap<(&str, &str, &str, &str), String> = BTreeMap::new();
        let mut found = Vec::new();
        for theirs in &self.dir.objects {
            if let Some(other) = seen.insert(theirs.identity.key(), theirs.place().to_string()) {
                found.push((theirs, format!("{} is in {other} too", theirs.identity)));
            }
        }
        for (theirs, message) in found {
            self.problem(theirs, message, "keep one of them");
        }
    }

    fn object(&mut self, theirs: &InstallerObject) {
        let generated = self.dir.generated.iter().find(|one| is_same(&one.identity, &theirs.identity));
        let ours = self.ours.iter().find(|one| is_same(&one.identity, &theirs.identity));
        match (generated, ours) {
            (Some(own), Some(ours)) if own.document.means(&theirs.document) => self.unedited(theirs, ours),
            (Some(own), None) if own.document.means(&theirs.document) => self.not_ours(theirs),
            (Some(own), Some(ours)) => {
                let edits = patch::between(&own.document, &theirs.document);
                self.edited(theirs, ours, edits, "you edited it");
            }
            (Some(_), None) => self.keep(theirs, "you edited it; tinderbox makes no such object"),
            (None, Some(ours)) => self.unknown(theirs, ours),
            (None, None) if self.dir.known.contains(&theirs.file) => self.not_ours(theirs),
            (None, None) => self.keep(theirs, "your own"),
        }
    }

    /// An object of the installer that we do not make.
    fn not_ours(&mut self, theirs: &InstallerObject) {
        match self.table.why_missing(&key_of(&theirs.identity), self.release) {
            Some(reason) => {
                self.find(&theirs.file, Some(&theirs.identity), Disposition::LeftOut, &reason.reason);
            }
            None => self.keep(theirs, "the installer's; tinderbox makes no such object"),
        }
    }

    fn keep(&mut self, theirs: &InstallerObject, why: &str) {
        let at = self.find(&theirs.file, Some(&theirs.identity), Disposition::Kept, why);
        self.result.kept.push((at, theirs.clone()));
    }

    fn unedited(&mut self, theirs: &InstallerObject, ours: &OurObject) {
        let differs = self.differences(theirs, ours);
        let unexplained = differs.iter().filter(|one| one.reason.is_none()).count();
        let why = match (differs.len(), unexplained) {
            (0, _) => "not edited, and ours is equal".to_owned(),
            (_, 0) => "not edited; ours differs on purpose".to_owned(),
            (_, n) => format!("not edited; ours differs in {n} {} without a known reason", fields(n)),
        };
        let at = self.find(&theirs.file, Some(&theirs.identity), Disposition::Ours, &why);
        self.result.findings[at].differs = differs;
    }

    /// Fields in which ours differs from theirs, without those that say the same: an empty or null field is none.
    fn differences(&self, theirs: &InstallerObject, ours: &OurObject) -> Vec<Differs> {
        let object = key_of(&theirs.identity);
        let edits = patch::between(&ours.document, &theirs.document);
        let edits = edits.iter().filter(|edit| !is_empty(edit.old.as_ref()) || !is_empty(edit.new.as_ref()));
        let differs = |edit: &Edit| {
            let field = edit.path.to_string();
            let reason = self.table.why_different(&object, &field, self.release).map(|reason| reason.reason);
            Differs { field, reason }
        };
        edits.map(differs).collect()
    }

    /// The state has no copy that is surely the installer's, or none at all.
    fn unknown(&mut self, theirs: &InstallerObject, ours: &OurObject) {
        let read_back = self.dir.known.contains(&theirs.file);
        let object = key_of(&theirs.identity);
        let mut edits = patch::between(&ours.document, &theirs.document);
        edits.retain(|edit| !is_empty(edit.old.as_ref()) || !is_empty(edit.new.as_ref()));
        edits.retain(|edit| edit.path.0 != ["metadata", "creationTimestamp"]);
        if read_back {
            let reason =
                |edit: &Edit| self.table.why_different(&object, &edit.path.to_string(), self.release);
            edits.retain(|edit| reason(edit).is_none());
        } else {
            // The user's own manifest of an object that we make too: what it leaves out stays.
            edits.retain(|edit| edit.new.is_some());
        }
        if edits.is_empty() {
            return self.unedited(theirs, ours);
        }
        let why = match read_back {
            true => "it differs from ours without a known reason, and the state has no other copy",
            false => "your own manifest of an object that tinderbox makes too",
        };
        self.edited(theirs, ours, edits, why);
    }

    fn edited(&mut self, theirs: &InstallerObject, ours: &OurObject, edits: Vec<Edit>, why: &str) {
        let names = &self.table.state.pull_secret;
        if key_of(&theirs.identity) == names.object {
            let text = data(&theirs.document, &names.key).and_then(|text| STANDARD.decode(text).ok());
            match text.and_then(|bytes| String::from_utf8(bytes).ok()) {
                Some(text) => {
                    self.result.pull_secret = Some(text);
                    self.find(&theirs.file, Some(&theirs.identity), Disposition::PullSecret, why);
                }
                None => {
                    self.problem(theirs, format!("{} has no `{}`", theirs.identity, names.key), "restore it")
                }
            }
            return;
        }
        if theirs.is_secret() || ours.secret {
            let message = format!(
                "{why}, and an edit of {} cannot become a patch: patches are not secret",
                theirs.identity
            );
            self.problem(theirs, message, "give your Secret another name, or undo the edit");
            return;
        }
        match patch::apply(&patch::change(&edits), &ours.document, false) {
            Ok(new) if new.means(&ours.document) => {
                self.find(
                    &theirs.file,
                    Some(&theirs.identity),
                    Disposition::Ours,
                    "you edited it, and ours is so already",
                );
            }
            Ok(_) => {
                let at = self.find(&theirs.file, Some(&theirs.identity), Disposition::Patch, why);
                self.result.patches.push((at, ours.identity.clone(), edits));
            }
            Err(fault) => {
                let message =
                    format!("the edit of {} does not apply to ours: {}", theirs.identity, fault.message);
                self.problem(theirs, message, "undo it, and write the patch by hand");
            }
        }
    }

    /// Generated manifests that the user removed.
    fn deleted(&mut self, without: &[String]) {
        let dir = self.dir;
        let is_there =
            |one: &&InstallerObject| !dir.manifests.contains_key(&one.file) && !without.contains(&one.file);
        for gone in dir.generated.iter().filter(is_there) {
            let is_ours = self.ours.iter().any(|one| is_same(&one.identity, &gone.identity));
            if dir.objects.iter().any(|one| is_same(&one.identity, &gone.identity)) {
                continue;
            }
            match is_ours {
                false => {
                    let why = "you removed it, and tinderbox makes no such object";
                    self.find(&gone.file, Some(&gone.identity), Disposition::LeftOut, why);
                }
                true => {
                    let message = format!("you removed {}, and tinderbox makes it", gone.identity);
                    let hint = format!("if that is fine: `--without {}`", gone.file);
                    self.problems.push(Problem::new(Place::file(&gone.file), message).hint(hint));
                }
            }
        }
    }
}

/// Whether both are the same object. The installer gives a namespace to objects that have none.
fn is_same(one: &Identity, other: &Identity) -> bool {
    let (group, kind, namespace, name) = one.key();
    let (other_group, other_kind, other_namespace, other_name) = other.key();
    (group, kind, name) == (other_group, other_kind, other_name)
        && (namespace == other_namespace || namespace.is_empty() || other_namespace.is_empty())
}

fn fields(count: usize) -> &'static str {
    if count == 1 { "field" } else { "fields" }
}

/// Whether a value says nothing, as Go's encoders see it: absent, null, false, 0, or an empty text, list or map of such.
fn is_empty(node: Option<&YamlNode>) -> bool {
    use crate::base::yaml::YamlData;
    node.is_none_or(|node| match &node.data {
        YamlData::Scalar { text, plain } => {
            node.is_null() || text.is_empty() || (*plain && matches!(text.as_str(), "false" | "0"))
        }
        YamlData::List(items) => items.is_empty(),
        YamlData::Map(entries) => entries.iter().all(|entry| is_empty(Some(&entry.value))),
    })
}
