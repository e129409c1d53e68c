//! `diff`: the sides it takes, what it finds between them, and why.

use std::fs;

use serde_json::Value;

use super::harness::Workspace;

/// Every difference of a document as one line: artifact, place, what happened.
fn lines(diff: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    for artifact in diff["artifacts"].as_array().unwrap() {
        for one in artifact["differences"].as_array().unwrap() {
            let place: Vec<&str> =
                one["place"].as_array().unwrap().iter().map(|step| step["name"].as_str().unwrap()).collect();
            let side = |side: &str| one[side]["text"].as_str().or(one[side].as_str()).unwrap_or_default().to_owned();
            lines.push(format!(
                "{} | {} | {} | {} | {}",
                artifact["name"].as_str().unwrap(),
                place.join(" "),
                one["edit"].as_str().unwrap(),
                side("old"),
                side("new")
            ));
        }
    }
    lines
}

/// Artifact, what happened, and both values of a line.
fn happened(line: &str) -> [String; 4] {
    let parts: Vec<&str> = line.split(" | ").collect();
    [parts[0], parts[2], parts[3], parts[4]].map(str::to_owned)
}

/// Names of the artifacts that differ.
fn artifacts(diff: &Value) -> Vec<String> {
    let of = |artifact: &Value| artifact["name"].as_str().unwrap().to_owned();
    diff["artifacts"].as_array().unwrap().iter().map(of).collect()
}

/// The document of a comparison that finds something (1) or nothing (0).
fn compare(ws: &Workspace, code: i32, args: &[&str]) -> Value {
    let output = ws.output(&[&["diff", "--json"], args].concat());
    assert_eq!(output.status.code(), Some(code), "{}", ws.text(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The bump as one story: what it brings is seen before and after, and it can be taken back.
#[test]
fn a_bump_is_locked_built_looked_at_and_taken_back() {
    let ws = Workspace::example();
    ws.build(&[]);
    let preview = compare(&ws, 1, &["--release", "demo:4.18", "demo:4.19"]);
    assert_eq!(ws.json(&["generations"]).as_array().unwrap().len(), 1, "a preview makes no generation");
    ws.edit("cluster.yaml", "release: demo:4.18", "release: demo:4.19");
    let locked = ws.output(&["lock", "--update", "release=demo:4.19"]);
    assert!(locked.status.success(), "{}", ws.text(&locked));
    ws.build(&[]);
    let bump = compare(&ws, 1, &[]);
    assert_eq!((&bump["old"], &bump["new"]), (&"gen:1".into(), &"gen:2".into()));
    assert_eq!(lines(&bump), lines(&preview), "the preview is what the build brings");
    let kinds: Vec<&Value> = bump["causes"].as_array().unwrap().iter().map(|cause| &cause["kind"]).collect();
    assert_eq!(kinds, ["release"]);
    let rolled = ws.output(&["rollback"]);
    assert!(rolled.status.success(), "{}", ws.text(&rolled));
    assert_eq!(artifacts(&compare(&ws, 0, &["gen:1", "result"])), Vec::<String>::new());
}

/// An edit of one line is told where it is, with its line as the one cause; copies are counted and not told again.
#[test]
fn an_edit_is_told_once_with_its_cause() {
    let ws = Workspace::example();
    ws.build(&[]);
    ws.edit("cluster.yaml", "ip: 192.168.126.110", "ip: 192.168.126.120");
    insta::assert_snapshot!(ws.run(&["-q", "diff", "result", "cluster"]), @"");
    let output = ws.output(&["diff", "result", "result"]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(0), 0), "{}", ws.text(&output));
    let only = compare(&ws, 1, &["result", "cluster", "--only", "infra"]);
    assert_eq!(artifacts(&only), ["infra/haproxy", "infra/haproxy-pivoted", "infra/network"]);
    assert_eq!(ws.json(&["generations"]).as_array().unwrap().len(), 1, "a comparison makes no generation");
}

/// Both ways are the same differences, the other way round.
#[test]
fn the_way_back_is_the_inverse() {
    let ws = Workspace::example();
    let there = compare(&ws, 1, &["--release", "demo:4.18", "demo:4.19"]);
    let back = compare(&ws, 1, &["--release", "demo:4.19", "demo:4.18"]);
    // Places have the new side's names, so what counts is what happened where at least the artifact is the same.
    let mut happened: Vec<[String; 4]> = lines(&there).iter().map(|line| happened(line)).collect();
    let mut inverse: Vec<[String; 4]> = lines(&back)
        .iter()
        .map(|line| happened(line))
        .map(|[artifact, edit, old, new]| match edit.as_str() {
            "added" => [artifact, "removed".into(), new, old],
            "removed" => [artifact, "added".into(), new, old],
            _ => [artifact, edit, new, old],
        })
        .collect();
    happened.sort();
    inverse.sort();
    assert!(happened.len() > 100, "{}", happened.len());
    for (one, other) in happened.iter().zip(&inverse) {
        assert_eq!(one, other);
    }
    assert_eq!(happened.len(), inverse.len());
    assert_eq!(there["summary"]["counts"], back["summary"]["counts"]);
}

/// What a release brings to this cluster, on one page.
#[test]
fn the_page_of_a_release() {
    let ws = Workspace::example();
    insta::assert_snapshot!(ws.run(&["-q", "diff", "--release", "demo:4.18", "demo:4.19", "--summary"]), @"");
}

/// Another seed changes every key, and no value of one is seen in any format.
#[test]
fn keys_that_changed_are_said_and_never_shown() {
    let ws = Workspace::example();
    ws.build(&[]);
    ws.write_seed(&[8; 32]);
    let diff = compare(&ws, 1, &["result", "cluster"]);
    let kinds: Vec<&Value> = diff["causes"].as_array().unwrap().iter().map(|cause| &cause["kind"]).collect();
    assert_eq!(kinds, ["seed"], "{}", diff["causes"]);
    let secret = |line: &&String| line.starts_with("key/etcd-ca ") && line.ends_with("| secret | secret");
    assert_eq!(lines(&diff).iter().filter(secret).count(), 1, "{:#?}", lines(&diff));
    let reboots = diff["summary"]["nodes"].as_array().unwrap();
    assert_eq!(reboots.len(), 6);
    ws.build(&[]);
    for format in ["text", "json", "markdown"] {
        let output = ws.output(&["diff", "--format", format]);
        assert_eq!(output.status.code(), Some(1));
        let file = ws.dir.join(format!("diff.{format}"));
        fs::write(&file, &output.stdout).unwrap();
        let scan = ws.output(&["store", "scan", file.to_str().unwrap()]);
        assert!(scan.status.success(), "{format}: {}", ws.text(&scan));
        assert!(!String::from_utf8_lossy(&output.stdout).contains("PRIVATE KEY"), "{format}");
    }
}

/// Files and directories anywhere, objects of the store, and `result` against a copy of it.
#[test]
fn any_path_is_a_side() {
    let ws = Workspace::example();
    ws.build(&[]);
    let exported = ws.output(&["export", "copy"]);
    assert!(exported.status.success(), "{}", ws.text(&exported));
    let copy = ws.dir.join("copy");
    let copy = format!("{}", if copy.exists() { copy } else { ws.temp().join("copy") }.display());
    compare(&ws, 0, &["result", &copy]);
    let file = format!("{copy}/infra/haproxy.cfg");
    let text = fs::read_to_string(&file).unwrap();
    fs::remove_file(&file).unwrap();
    fs::write(&file, text.replace("check inter 2s", "check inter 5s")).unwrap();
    let diff = compare(&ws, 1, &["result", &copy]);
    assert_eq!(artifacts(&diff), [""]);
    assert_eq!(diff["artifacts"][0]["differences"][0]["place"][0]["name"], "infra/haproxy.cfg");
    ws.write("a.ign", r#"{"ignition":{"version":"3.4.0"},"storage":{"files":[{"path":"/etc/a","contents":{"source":"data:,one"}}]}}"#);
    ws.write("b.ign", r#"{"ignition":{"version":"3.4.0"},"storage":{"files":[{"path":"/etc/a","contents":{"source":"data:;base64,dHdv"}}]}}"#);
    let (a, b) = (ws.dir.join("a.ign"), ws.dir.join("b.ign"));
    insta::assert_snapshot!(ws.run(&["-q", "diff", a.to_str().unwrap(), b.to_str().unwrap()]), @"");
}

/// Trouble is 2, and says what to do.
#[test]
fn trouble_is_told_apart_from_a_difference() {
    let ws = Workspace::example();
    insta::assert_snapshot!(ws.run(&["-q", "diff"]), @"");
    ws.build(&[]);
    insta::assert_snapshot!(ws.run(&["-q", "diff"]), @"");
    insta::assert_snapshot!(ws.run(&["-q", "diff", "gen:1", "gen:7"]), @"");
    insta::assert_snapshot!(ws.run(&["-q", "diff", "gen:x"]), @"");
    insta::assert_snapshot!(ws.run(&["-q", "diff", "infra/haprox", "infra/haproxy"]), @"");
    insta::assert_snapshot!(ws.run(&["-q", "diff", "result", "/nowhere"]), @"");
    insta::assert_snapshot!(ws.run(&["-q", "diff", "result", "cluster", "--only", "ignitoin"]), @"");
    insta::assert_snapshot!(ws.run(&["-q", "diff", "--release", "demo:4.18", "demo:9"]), @"");
}

/// Two artifacts of different names are compared with each other.
#[test]
fn two_targets_are_compared_with_each_other() {
    let ws = Workspace::example();
    insta::assert_snapshot!(ws.run(&["-q", "diff", "infra/haproxy", "infra/haproxy-pivoted"]), @"");
}

/// What a render makes and we do not is listed with the render that makes it. The demo has no operators: their renders are
/// said to have failed, and a recipe of the user's own stands in for one.
#[test]
fn our_objects_beside_those_of_a_render() {
    let recipe = "# An operator's render, as far as objects go.\nbuilder = \"template\"\n\
                  [files]\n\"manifests/probe.yaml\" = \"probe.yaml.j2\"\n";
    let made = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: etcd-signer\n  namespace: openshift-etcd\n  \
                annotations: {openshift.io/owning-component: Etcd}\ndata: {tls.crt: '', extra.crt: ''}\n---\n\
                apiVersion: v1\nkind: ConfigMap\nmetadata: {name: wanted, namespace: openshift-etcd}\n---\n\
                apiVersion: v1\nkind: ConfigMap\nmetadata: {name: root-ca, namespace: kube-system}\ndata: {ca.crt: x}\n";
    let files = [("recipes/62-render/probe.toml", recipe), ("recipes/62-render/probe.yaml.j2", made)];
    let ws = Workspace::with(&files);
    let output = ws.output(&["diff", "hand-over", "render", "--json", "-q"]);
    assert_eq!(output.status.code(), Some(1), "{}", ws.text(&output));
    let mut found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let failed = found.as_object_mut().unwrap().remove("failed").unwrap();
    assert!(failed.as_object().unwrap().keys().any(|name| name == "render/etcd"), "{failed}");
    insta::assert_snapshot!(serde_json::to_string_pretty(&found).unwrap(), @"");
}
