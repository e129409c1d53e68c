//! Whether one release may follow another at all, by the rules of the cluster-version operator and the update service:
//! forwards, one minor version at a time, within a distribution, and from a version that the release itself names.
//!
//! | rule | where upstream has it |
//! |---|---|
//! | no way back | the operator's precondition `ClusterVersionRollback`; it allows the version before, within a minor version |
//! | one minor version at a time | its precondition `ClusterVersionGiantHop`, for even versions too |
//! | from versions that the release names | `previous` in release-metadata, which the update service makes its graph of |
//! | no way from a multi-architecture payload to another | OpenShift's documentation; the operator asks for `Multi` from then on |

use semver::Version;
use serde::Deserialize;

use super::{Finding, Level, NotAsked, Section};
use crate::openshift::knowledge::Flavor;

/// What a release says about itself.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct Metadata {
    #[serde(default)]
    version: String,
    /// The versions that it can be reached from.
    #[serde(default)]
    previous: Vec<String>,
    #[serde(default)]
    metadata: Option<serde_json::Map<String, serde_json::Value>>,
}

impl Metadata {
    /// Whether its images are for several architectures.
    fn is_multi(&self) -> bool {
        let architecture =
            self.metadata.as_ref().and_then(|map| map.get("release.openshift.io/architecture"));
        architecture.is_some_and(|architecture| architecture == "multi")
    }
}

/// What stands against the way from one release to the other.
pub(crate) fn judge(from: &Metadata, to: &Metadata) -> (Vec<Finding>, Vec<NotAsked>) {
    let finding = |level, id, message: String| Finding::new(level, Section::Update, id, message, Vec::new());
    let (old, new) = (Flavor::of(&from.version), Flavor::of(&to.version));
    if old != new {
        let message = format!("{} is {}, {} is {}", from.version, old.title(), to.version, new.title());
        let found =
            finding(Level::Obstacle, "update-other-flavor", message + ": neither can become the other");
        let advice =
            format!("choose a release of {}, or ask about a new cluster with `--install`", old.title());
        return (vec![found.advice(advice)], Vec::new());
    }
    let mut found = Vec::new();
    if let Some(finding) = payload(from, to) {
        found.push(finding);
    }
    let unknown = |why: &str| NotAsked {
        section: Section::Update,
        what: format!("the way from {} to {}", from.version, to.version),
        why: why.to_owned(),
    };
    let (Ok(old), Ok(new)) = (Version::parse(&from.version), Version::parse(&to.version)) else {
        return (found, vec![unknown("one of them is not a semantic version")]);
    };
    match step(&old, &new) {
        _ if old == new => {
            let message = format!("the cluster has {old} already");
            found.push(finding(Level::Note, "update-same-version", message));
        }
        Step::Back => {
            let message = format!("{new} is older than {old}, and a cluster is not updated backwards");
            let advice = match (old.major, old.minor) == (new.major, new.minor) {
                true => "if the cluster ran this version before, `oc adm upgrade rollback` goes back to it",
                false => "choose a later release, or ask about a new cluster with `--install`",
            };
            found.push(finding(Level::Obstacle, "update-backwards", message).advice(advice));
        }
        Step::Skips(between) => {
            let message = "OpenShift is updated one minor version at a time, and this skips".to_owned();
            let first = between.first().cloned().unwrap_or_default();
            let advice = format!(
                "try a release of {first} first; from one even version to the next, too, the control plane goes through \
                 the odd one, and only worker pools can be paused meanwhile"
            );
            let found_here = finding(Level::Obstacle, "update-skips-versions", message);
            found.push(Finding { items: between, ..found_here }.advice(advice));
        }
        Step::Next | Step::Major if to.previous.is_empty() => {
            return (found, vec![unknown("release-metadata of the new release names no release before it")]);
        }
        Step::Next | Step::Major => found.push(listed(&old, from, to)),
    }
    (found, Vec::new())
}

/// Whether the release names the one before it.
fn listed(old: &Version, from: &Metadata, to: &Metadata) -> Finding {
    if to.previous.contains(&from.version) {
        let message = format!(
            "its release-metadata names {} among the releases that it can be reached from",
            from.version
        );
        return Finding::new(Level::Note, Section::Update, "update-listed", message, Vec::new());
    }
    let mut known: Vec<Version> = to.previous.iter().filter_map(|text| Version::parse(text).ok()).collect();
    known.sort();
    // The newest ones that the cluster can go to first.
    let later: Vec<String> = known.iter().rev().filter(|one| *one > old).map(ToString::to_string).collect();
    let message = format!(
        "its release-metadata does not name {} among the {} releases that it can be reached from{}",
        from.version,
        to.previous.len(),
        if later.is_empty() { ", all of them older" } else { "; later ones that it names" }
    );
    let advice = match later.is_empty() {
        true => format!("choose a later release of {}.{}: it was made before {old}", major(to), minor(to)),
        false => "go to one of these first, or choose a later release, which names more".to_owned(),
    };
    Finding::new(Level::Obstacle, Section::Update, "update-not-listed", message, later).advice(advice)
}

fn major(to: &Metadata) -> u64 {
    Version::parse(&to.version).map_or(0, |version| version.major)
}

fn minor(to: &Metadata) -> u64 {
    Version::parse(&to.version).map_or(0, |version| version.minor)
}

/// How two versions lie to each other.
enum Step {
    Back,
    /// The same minor version, or the next.
    Next,
    /// The first of the next major version: only the release itself says from where.
    Major,
    /// The minor versions between them.
    Skips(Vec<String>),
}

fn step(old: &Version, new: &Version) -> Step {
    if new < old {
        return Step::Back;
    }
    match new.major - old.major {
        0 if new.minor <= old.minor + 1 => Step::Next,
        0 => Step::Skips((old.minor + 1..new.minor).map(|minor| format!("{}.{minor}", old.major)).collect()),
        1 if new.minor == 0 => Step::Major,
        _ => Step::Skips((old.major + 1..=new.major).map(|major| format!("{major}.0")).collect()),
    }
}

/// Multi-architecture payloads are a way without return.
fn payload(from: &Metadata, to: &Metadata) -> Option<Finding> {
    let finding = |level, id, message: &str| Finding::new(level, Section::Update, id, message, Vec::new());
    match (from.is_multi(), to.is_multi()) {
        (true, false) => Some(
            finding(
                Level::Obstacle,
                "update-multi-to-single",
                "the cluster has a multi-architecture payload, and takes no payload of one architecture any more",
            )
            .advice("choose the multi-architecture payload of this version"),
        ),
        (false, true) if from.version != to.version => Some(
            finding(
                Level::Look,
                "update-single-to-multi",
                "it is a multi-architecture payload, and the cluster has one of a single architecture",
            )
            .advice("a cluster changes to the multi-architecture payload of its own version first: `oc adm upgrade --to-multi-arch`"),
        ),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn release(version: &str, previous: &[&str]) -> Metadata {
        Metadata {
            version: version.into(),
            previous: previous.iter().map(|one| (*one).to_owned()).collect(),
            metadata: None,
        }
    }

    fn ids(from: &str, to: &str, previous: &[&str]) -> (Vec<(&'static str, String)>, usize) {
        let (found, not_asked) = judge(&release(from, &[]), &release(to, previous));
        (found.into_iter().map(|one| (one.id, one.items.join(" "))).collect(), not_asked.len())
    }

    #[test]
    fn versions_follow_each_other_as_the_operator_lets_them() {
        let table: &[(&str, &str, &[&str], &str, &str)] = &[
            ("4.18.3", "4.18.3", &[], "update-same-version", ""),
            ("4.18.3", "4.18.9", &["4.18.3"], "update-listed", ""),
            ("4.18.3", "4.19.1", &["4.18.3", "4.19.0"], "update-listed", ""),
            ("4.18.3", "4.19.1", &["4.18.1", "4.18.7", "4.18.10"], "update-not-listed", "4.18.10 4.18.7"),
            ("4.18.30", "4.19.1", &["4.18.1"], "update-not-listed", ""),
            ("4.18.3", "4.20.1", &["4.18.3"], "update-skips-versions", "4.19"),
            ("4.18.3", "4.22.1", &[], "update-skips-versions", "4.19 4.20 4.21"),
            ("4.19.1", "4.18.30", &["4.19.1"], "update-backwards", ""),
            ("4.19.1", "4.19.0", &[], "update-backwards", ""),
            ("4.19.0", "4.19.0-rc.3", &[], "update-backwards", ""),
            ("4.19.0-rc.2", "4.19.0-rc.10", &["4.19.0-rc.2"], "update-listed", ""),
            ("5.0.1", "4.23.9", &[], "update-backwards", ""),
            ("4.23.1", "5.0.0", &["4.22.9", "4.23.1"], "update-listed", ""),
            ("4.21.1", "5.0.0", &["4.22.9", "4.23.1"], "update-not-listed", "4.23.1 4.22.9"),
            ("4.23.1", "5.1.0", &["4.23.1"], "update-skips-versions", "5.0"),
            ("4.18.1", "4.19.0-okd-scos.3", &["4.18.1"], "update-other-flavor", ""),
            ("4.18.0-okd-scos.3", "4.19.0", &[], "update-other-flavor", ""),
            ("4.19.0-okd-scos.9", "4.19.0-okd-scos.10", &["4.19.0-okd-scos.9"], "update-listed", ""),
        ];
        for (from, to, previous, id, items) in table {
            let (found, not_asked) = ids(from, to, previous);
            assert_eq!((found, not_asked), (vec![(*id, (*items).to_owned())], 0), "{from} to {to}");
        }
    }

    #[test]
    fn what_nobody_says_is_not_asked() {
        assert_eq!(ids("4.18.1", "4.19.1", &[]), (Vec::new(), 1));
        assert_eq!(ids("4.23.1", "5.0.0", &[]), (Vec::new(), 1));
        assert_eq!(ids("next", "4.19.1", &["next"]), (Vec::new(), 1));
    }

    #[test]
    fn a_multi_architecture_payload_is_a_way_without_return() {
        let multi = |version: &str, previous: &[&str]| Metadata {
            metadata: serde_json::json!({"release.openshift.io/architecture": "multi"}).as_object().cloned(),
            ..release(version, previous)
        };
        let ids = |from: &Metadata, to: &Metadata| -> Vec<&str> {
            judge(from, to).0.into_iter().map(|one| one.id).collect()
        };
        let (old, new) = ("4.18.1", release("4.19.1", &["4.18.1"]));
        assert_eq!(ids(&multi(old, &[]), &new), ["update-multi-to-single", "update-listed"]);
        assert_eq!(
            ids(&release(old, &[]), &multi("4.19.1", &[old])),
            ["update-single-to-multi", "update-listed"]
        );
        assert_eq!(ids(&multi(old, &[]), &multi("4.19.1", &[old])), ["update-listed"]);
        assert_eq!(ids(&release(old, &[]), &multi(old, &[])), ["update-same-version"]);
    }
}
