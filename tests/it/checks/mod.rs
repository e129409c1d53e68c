//! Every check, broken: for each one of `check --list` a patch, a manifest, a recipe or an edit that a user could make, and
//! that makes the build fail with the name of that check.

mod admission;
mod cel_bounds;
mod config;
mod hand_over;
mod image_policies;
mod in_place;
mod manifests;
mod node_image;
mod nodes;
mod pki;
mod signatures;
mod static_pods;

use std::collections::BTreeSet;
use std::fs;

use crate::harness::{Workspace, source};

/// What a user does.
enum Change {
    /// A patch.
    Patch(&'static str),
    /// Files of the user's own in `manifests/`.
    Manifests(&'static [(&'static str, &'static str)]),
    /// A file of `recipes/` with texts replaced in it, in place of the built-in one.
    Recipe(&'static str, &'static [(&'static str, &'static str)]),
    /// Whole files.
    Files(&'static [(&'static str, &'static str)]),
    /// Another text in install-config.yaml or cluster.yaml.
    Edit(&'static str, &'static str, &'static str),
    /// Several of these.
    All(&'static [Change]),
}
use Change::{All, Edit, Files, Manifests, Patch, Recipe};

/// The check; others that look at the same thing and fail too; what is done; a part of what is said.
type Mutation = (&'static str, &'static [&'static str], Change, &'static str);

/// Every boot fact: names of checks that a build has, or will have.
const FACTS: &[&str] = &[
    "addresses",
    "admin-group",
    "admission-crds",
    "apiserver-sans",
    "apiserver-url-env",
    "audit-log",
    "bootkube-path",
    "bootstrap-kubelet-standalone",
    "bootstrapper-rbac",
    "ca-path-length",
    "cluster-config-v1",
    "clusterversion-no-update",
    "crds-before-cvo",
    "cvo-flags",
    "cvo-image",
    "cvo-static-pod",
    "dns-base-domain",
    "duplicate-path",
    "etcd-endpoints",
    "etcd-server-usage",
    "expiry",
    "featuregate",
    "flag-files-exist",
    "front-proxy-names",
    "haproxy-tcp-checks",
    "image-not-empty",
    "in-place-cleared",
    "in-place-config",
    "in-place-endpoints",
    "in-place-kubelet",
    "in-place-member",
    "in-place-static-pods",
    "infrastructure-status",
    "kube-proxy",
    "kube-proxy-cleanup",
    "kubeadmin-length",
    "kubelet-access",
    "kubelet-ca",
    "networks-disjoint",
    "node-credentials",
    "openshift-config",
    "operator-network",
    "pause-image",
    "render-drift",
    "replicas",
    "scc-before-pivot",
    "service-ip",
    "signer-present",
    "signers-rsa",
    "strict-apply",
];

/// Facts that no derivation can know: the clock's.
const LATER: &[&str] = &["expiry"];

/// The checks that no mutation breaks.
const UNBROKEN: &[&str] = &["cel-bounds"];

/// All of them, by theme.
fn mutations() -> impl Iterator<Item = &'static Mutation> {
    let themes = [
        admission::MUTATIONS,
        config::MUTATIONS,
        pki::MUTATIONS,
        static_pods::MUTATIONS,
        manifests::MUTATIONS,
        nodes::MUTATIONS,
        node_image::MUTATIONS,
        hand_over::MUTATIONS,
        image_policies::MUTATIONS,
        in_place::MUTATIONS,
        signatures::MUTATIONS,
    ];
    themes.into_iter().flatten()
}

impl Change {
    fn make(&self, ws: &Workspace) {
        match self {
            Patch(text) => ws.write("patches/10-x.yaml", text),
            Manifests(files) => {
                files.iter().for_each(|(name, text)| ws.write(&format!("manifests/{name}"), text));
            }
            Files(files) => files.iter().for_each(|(path, text)| ws.write(path, text)),
            Edit(file, from, to) => ws.edit(file, from, to),
            Recipe(path, replaced) => recipe(ws, path, replaced),
            All(changes) => changes.iter().for_each(|change| change.make(ws)),
        }
    }
}

/// Puts a file of ours with other texts in it into the user's recipes, with all others of its folder that go with it.
fn recipe(ws: &Workspace, path: &str, replaced: &[(&str, &str)]) {
    let (folder, name) = path.split_once('/').unwrap();
    let from = source("recipes").join(folder);
    let mut text = fs::read_to_string(from.join(name)).unwrap();
    for (old, new) in replaced {
        assert_eq!(text.matches(old).count(), 1, "`{old}` in {path}");
        text = text.replace(old, new);
    }
    if name.ends_with(".j2") {
        for entry in fs::read_dir(&from).unwrap() {
            let entry = entry.unwrap();
            let other = entry.file_name().into_string().unwrap();
            let stem = |name: &str| name.split('.').next().unwrap().to_owned();
            if stem(&other) == stem(name) || name.starts_with('_') || other.starts_with('_') {
                ws.write(&format!("recipes/{folder}/{other}"), &fs::read_to_string(entry.path()).unwrap());
            }
        }
    }
    ws.write(&format!("recipes/{path}"), &text);
}

/// Undoes every change, and asks for this version of the demo release.
fn reset(ws: &Workspace, version: &str) {
    for folder in ["patches", "manifests", "recipes"] {
        let _ = fs::remove_dir_all(ws.dir.join(folder));
    }
    for name in ["install-config.yaml", "cluster.yaml"] {
        let text = fs::read_to_string(source("examples/ocp4").join(name)).unwrap();
        ws.write(name, &text.replace("release: demo:4.18", &format!("release: demo:{version}")));
    }
    // As `lock` writes it for a demo release.
    let lock = fs::read_to_string(ws.dir.join("cluster.lock")).unwrap();
    let sections: Vec<&str> =
        lock.split("\n\n").filter(|section| !section.starts_with("[signatures]")).collect();
    ws.write("cluster.lock", &sections.join("\n\n"));
}

/// The checks whose names end a line, as findings do.
fn found(said: &str) -> BTreeSet<String> {
    let name = |line: &str| {
        line.strip_suffix(']').and_then(|line| line.rsplit_once(" [")).map(|(_, name)| name.to_owned())
    };
    said.lines().filter_map(name).collect()
}

fn listed() -> BTreeSet<String> {
    let list = Workspace::empty().json(&["check", "--list"]);
    let list = list.get("checks").unwrap_or(&list);
    list.as_array().unwrap().iter().map(|check| check["name"].as_str().unwrap().to_owned()).collect()
}

/// The first mutation of each check, and all others. Together they take as long as a third of the other fast tests.
fn first_of_each(mutations: &'static [Mutation]) -> (Vec<&'static Mutation>, Vec<&'static Mutation>) {
    let mut seen = BTreeSet::new();
    mutations.iter().partition(|(check, ..)| seen.insert(*check))
}

/// Makes each change in turn; the checks that find something are those that should.
fn each_is_found(mutations: &[&Mutation]) {
    each_is_found_on("4.18", mutations);
}

/// The same on another version of the demo release.
fn each_is_found_on(version: &str, mutations: &[&Mutation]) {
    let ws = Workspace::example().prebuilt();
    reset(&ws, version);
    if version != "4.18" {
        ws.relock();
    }
    ws.build(&["check"]);
    let mut wrong = Vec::new();
    for (check, others, change, says) in mutations {
        reset(&ws, version);
        change.make(&ws);
        let said = ws.run(&["build", "-q", "--keep-going", "check"]);
        let wanted: BTreeSet<String> = others.iter().chain([check]).map(|&name| name.to_owned()).collect();
        assert!(!said.contains("hunter2"), "{said}");
        if found(&said) != wanted || !said.contains(says) || !said.contains("[exit 1]") {
            wrong.push(format!("{check}: `{says}`, not\n{said}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // Nothing of it stays.
    reset(&ws, version);
    assert_eq!(ws.build(&["check"]), [""; 0]);
    ws.assert_sound();
}

#[test]
fn every_check_has_a_mutation() {
    let broken: BTreeSet<String> = mutations().map(|(check, ..)| (*check).to_owned()).collect();
    let listed = listed();
    let unbroken: Vec<&String> = listed.difference(&broken).collect();
    assert_eq!(unbroken, UNBROKEN);
    assert!(broken.is_subset(&listed), "{:?}", broken.difference(&listed));
}

#[test]
fn every_boot_fact_is_a_check_or_waits_for_its_artifact() {
    let listed = listed();
    let missing: Vec<&str> = FACTS.iter().copied().filter(|fact| !listed.contains(*fact)).collect();
    assert_eq!(missing, LATER);
}

/// What is right for one kind of cluster is for all.
#[test]
fn every_kind_of_cluster_passes() {
    type Kind = (&'static str, fn(&Workspace));
    let kinds: [Kind; 5] = [
        ("dual-stack", Workspace::dual_stack),
        ("IPv6 only", Workspace::ipv6_only),
        ("compact", |ws| ws.without_workers(3)),
        ("single node", |ws| ws.without_workers(1)),
        ("the next release", |ws| {
            ws.edit("cluster.yaml", "release: demo:4.18", "release: demo:4.19");
            ws.relock();
        }),
    ];
    let ws = Workspace::example().prebuilt();
    for (kind, change) in kinds {
        reset(&ws, "4.18");
        change(&ws);
        let said = ws.run(&["build", "-q", "--keep-going", "check"]);
        assert!(said.contains("[exit 0]"), "{kind}: {said}");
    }
}

/// A user who knows better turns one off by name, and is told so each time.
#[test]
fn a_check_that_is_off_does_not_fail() {
    let ws = Workspace::example().prebuilt();
    for (check, others, change, _) in mutations() {
        // One each of the user's files, certificates, secrets, pods, scripts, and references.
        if !["replicas", "admin-group", "kubeadmin-length", "cvo-flags", "strict-apply", "rbac-subjects"]
            .contains(check)
        {
            continue;
        }
        reset(&ws, "4.18");
        change.make(&ws);
        let off: Vec<&str> = others.iter().chain([check]).copied().collect();
        ws.edit(
            "cluster.yaml",
            "\nrelease:",
            &format!("\nchecks: {{disabled: [{}]}}\nrelease:", off.join(", ")),
        );
        let said = ws.run(&["build", "check"]);
        assert!(said.contains("[exit 0]"), "{check}: {said}");
        let told = said.contains(&format!("the check `{check}` is turned off in cluster.yaml"));
        assert!(told, "{check}: {said}");
    }
}

/// Whom an identity provider knows cannot be known before boot: not an error, and not silent.
#[test]
fn a_subject_of_an_identity_provider_is_left_open() {
    let ws = Workspace::with(&[(
        "manifests/mine.yaml",
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: mine}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}\nsubjects:\n- {apiGroup: rbac.authorization.k8s.io, kind: User, name: alice}\n",
    )]);
    ws.build(&["check/references"]);
    let report = fs::read_to_string(ws.path_of("check/references").join("report.json")).unwrap();
    assert!(report.contains("User `alice` exists") && report.contains("subjects[0].name"), "{report}");
}
