//! Our control plane and our objects beside the operators' own renders. The demo has no operators: recipes of the user's own
//! stand in for their renders, with pods, configuration and objects in the operators' real form, by version.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use crate::harness::documents::assert_document;
use crate::harness::{Workspace, list, source};

/// A version of each form that renders have had.
const VERSIONS: [&str; 3] = ["4.18.0-demo", "4.19.3", "4.22.1"];

const COMPARISONS: [&str; 2] = ["static-pod", "hand-over"];

/// The example on a release of this version, whose operators render what the real ones do.
fn workspace(version: &str) -> Workspace {
    let ws = Workspace::example().prebuilt();
    let renders = source("tests/it/parity/renders");
    for name in list(&renders) {
        let text = fs::read_to_string(renders.join(&name)).unwrap();
        ws.write(&format!("recipes/62-render/{name}"), &text);
    }
    ws.edit("cluster.lock", "version = \"4.18.0-demo\"", &format!("version = \"{version}\""));
    ws
}

/// The comparison as data, and its exit code.
fn compare(ws: &Workspace, what: &str) -> (Value, Option<i32>) {
    let output = ws.output(&["diff", what, "render", "--json", "-q"]);
    let found: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", ws.text(&output)));
    assert_document(ws, &format!("diff-{what}"), &found);
    (found, output.status.code())
}

/// Every difference, wherever it stands: an object with a `reason`.
fn differences(found: &Value) -> Vec<&Value> {
    match found {
        Value::Object(fields) if fields.contains_key("reason") && !fields.contains_key("id") => vec![found],
        Value::Object(fields) => fields.values().flat_map(differences).collect(),
        Value::Array(items) => items.iter().flat_map(differences).collect(),
        _ => Vec::new(),
    }
}

/// The settings without a reason, as `PROGRAM SETTING`.
fn unexplained(found: &Value) -> Vec<String> {
    let programs = found["programs"].as_array().unwrap().iter();
    let settings = programs.flat_map(|one| {
        let different = one["different"].as_array().unwrap().iter();
        different.map(move |setting| (&one["program"], setting))
    });
    let open = settings.filter(|(_, setting)| setting["reason"].is_null());
    open.map(|(program, setting)| {
        format!("{} {}", program.as_str().unwrap(), setting["setting"].as_str().unwrap())
    })
    .collect()
}

/// In each version every difference has a reason, and each reason of the table is needed in some version.
#[test]
fn every_difference_has_a_reason_and_every_reason_a_difference() {
    let table = fs::read_to_string(source("recipes/knowledge/render-differences.toml")).unwrap();
    let ids = table.lines().filter_map(|line| line.strip_prefix("id = \"")?.strip_suffix('"'));
    let mut stale: BTreeSet<String> = ids.map(str::to_owned).collect();
    assert!(stale.len() > 30, "{stale:?}");
    for (version, is_dual) in VERSIONS.map(|version| (version, false)).into_iter().chain([("4.22.1", true)]) {
        let ws = workspace(version);
        if is_dual {
            ws.dual_stack();
        }
        for what in COMPARISONS {
            let (found, code) = compare(&ws, what);
            let differences = differences(&found);
            let open: Vec<_> = differences.iter().filter(|one| one["reason"].is_null()).collect();
            assert!(open.is_empty() && code == Some(0), "{version}: {what}: {open:#?} {}", found["failed"]);
            assert!(differences.len() > 5, "{version}: {what}: {}", differences.len());
            for one in differences {
                stale.remove(one["reason"]["id"].as_str().unwrap());
            }
        }
    }
    assert!(stale.is_empty(), "these rows explain nothing in any version: {stale:?}");
}

/// A reason says where it can be read, or in which run it was seen.
#[test]
fn every_reason_cites_its_source() {
    let table = fs::read_to_string(source("recipes/knowledge/render-differences.toml")).unwrap();
    let rows = table.split("\n[[").skip(1).filter(|row| !row.starts_with("program"));
    for row in rows {
        let cited = row.lines().find_map(|line| line.strip_prefix("source = \"")).unwrap_or_default();
        let repositories = ["openshift/", "kubernetes/", "etcd-io/"];
        let is_read = repositories.iter().any(|name| cited.contains(name)) && cited.contains("release-");
        assert!(is_read || cited.starts_with("run: "), "{row}");
    }
}

/// Whatever changes on either side is noticed: a flag, a value, a variable, a field of a file, a mount, a container.
#[test]
fn a_difference_without_a_reason_is_unexplained() {
    let render = |name: &'static str, from: &'static str, to: &'static str| (name, from, to);
    for ((name, from, to), wanted) in [
        (
            render("kube-controller-manager-pod.yaml.j2", "--kube-api-qps=150", "--kube-api-qps=151"),
            "kube-controller-manager flag kube-api-qps",
        ),
        (
            render(
                "kube-controller-manager-pod.yaml.j2",
                "    - --secure-port=10257\n",
                "    - --secure-port=10257\n    - --profiling=false\n",
            ),
            "kube-controller-manager flag profiling",
        ),
        (
            render(
                "kube-controller-manager-pod.yaml.j2",
                "--cloud-provider=external",
                "--cloud-provider=aws",
            ),
            "kube-controller-manager flag cloud-provider",
        ),
        (
            render(
                "etcd-member-pod.yaml.j2",
                "WARNING_APPLY_DURATION, value: 200ms",
                "WARNING_APPLY_DURATION, value: 300ms",
            ),
            "etcd flag experimental-warning-apply-duration",
        ),
        (
            render("kube-apiserver-config.yaml.j2", "enforce: privileged", "enforce: baseline"),
            "kube-apiserver config admission.pluginConfig.PodSecurity.configuration.defaults.enforce",
        ),
        (
            render("kube-apiserver-config.yaml.j2", "omitManagedFields: true", "omitManagedFields: false"),
            "kube-apiserver config auditConfig.policyConfiguration.omitManagedFields",
        ),
        (
            render("kube-apiserver-config.yaml.j2", "CertificateApproval ", ""),
            "kube-apiserver flag enable-admission-plugins",
        ),
        (
            render("kube-apiserver-pod.yaml.j2", "name: kube-apiserver-insecure-readyz", "name: another"),
            "kube-apiserver pod spec.containers[another]",
        ),
        (
            render("kube-scheduler-pod.yaml.j2", "cpu: 15m", "cpu: 16m"),
            "kube-scheduler container resources.requests.cpu",
        ),
    ] {
        let ws = workspace(VERSIONS[0]);
        ws.edit(&format!("recipes/62-render/{name}"), from, to);
        let (found, code) = compare(&ws, "static-pod");
        assert_eq!((unexplained(&found), code), (vec![wanted.to_owned()], Some(1)));
    }
    // Ours, by a patch of the user's.
    let ws = workspace(VERSIONS[0]);
    ws.write(
        "patches/10-x.yaml",
        "target: {kind: Pod, name: kube-scheduler}\npatch:\n- {op: add, path: /spec/containers/0/args/-, value: --profiling=false}\n",
    );
    let (found, code) = compare(&ws, "static-pod");
    assert_eq!((unexplained(&found), code), (vec!["kube-scheduler flag profiling".to_owned()], Some(1)));
}

/// What is shown to people: values of both sides, reasons with their sources, and counts.
#[test]
fn the_comparison_for_people() {
    let ws = workspace(VERSIONS[0]);
    ws.edit(
        "recipes/62-render/kube-controller-manager-pod.yaml.j2",
        "--controllers=-ttl",
        "--controllers=-x",
    );
    let output = ws.output(&["-q", "diff", "static-pod", "render"]);
    let text = ws.text(&output);
    let of = |start: &str, end: &str| {
        let lines = text.lines().skip_while(|line| !line.starts_with(start));
        lines.take_while(|line| !line.starts_with(end)).map(|line| format!("{line}\n")).collect::<String>()
    };
    insta::assert_snapshot!(of("kube-controller-manager", "  config extended"), @r"
    kube-controller-manager: 27 settings alike
      flag controllers: only the render's list has `-x`, only ours `-ttl`
        unexplained
    ");
    insta::assert_snapshot!(of("  flag config", "  flag kubeconfig"), @r"
      flag config: the render's is `/etc/kubernetes/config/cluster-policy-controller-config.yaml`, ours `/etc/kubernetes/bootstrap-configs/cluster-policy-controller-config.yaml`
        because the same file under another path in the container; what is in it is compared field by field (openshift/cluster-kube-apiserver-operator bindata/bootkube/bootstrap-manifests/kube-apiserver-pod.yaml (release-4.18, release-4.22))
    ");
    insta::assert_snapshot!(of("5 programs", "[stderr]"), @r"
    5 programs: 168 settings alike, 197 different for a known reason, 1 unexplained
    [exit 1]
    ");
}

/// A side that cannot be read is a failure, and not one setting less.
#[test]
fn what_cannot_be_compared_is_said() {
    let ws = workspace(VERSIONS[0]);
    ws.edit("recipes/62-render/kube-controller-manager.toml", "\"cpc-config\"", "\"other-config\"");
    ws.edit("recipes/62-render/kube-scheduler-pod.yaml.j2", "- name: kube-scheduler", "- name: scheduler");
    ws.edit("recipes/62-render/kube-apiserver-pod.yaml.j2", "kind: Pod", "kind: {{ image | not_before }}");
    let (found, code) = compare(&ws, "static-pod");
    assert_eq!(code, Some(1));
    let failed = found["failed"].as_object().unwrap();
    let said = |name: &str| failed.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    assert_eq!(said("render/kube-controller-manager:cpc-config"), "there is no such file");
    assert_eq!(
        said("render/kube-scheduler:bootstrap-manifests/kube-scheduler-pod.yaml"),
        "it has no container `kube-scheduler`"
    );
    assert!(said("render/kube-apiserver").contains("no certificate"), "{failed:?}");
    let compared: Vec<_> = found["programs"].as_array().unwrap().iter().map(|one| &one["program"]).collect();
    assert_eq!(compared, ["etcd", "kube-controller-manager"]);
    assert_eq!(unexplained(&found), Vec::<String>::new());

    // Without any render there is nothing to compare.
    let output = Workspace::example().prebuilt().output(&["-q", "diff", "static-pod", "render"]);
    assert_eq!(output.status.code(), Some(2));
}
