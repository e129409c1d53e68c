//! `diff`: the sides it takes, what it finds between them, and why.

use std::fs;

use serde_json::Value;

use super::harness::Workspace;
use super::release::data;
use super::release::pack::Pack;

/// Every difference of a document: artifact, place, what happened, and both values.
fn lines(diff: &Value) -> Vec<[String; 5]> {
    let mut lines = Vec::new();
    for artifact in diff["artifacts"].as_array().unwrap() {
        for one in artifact["differences"].as_array().unwrap() {
            let place: Vec<&str> =
                one["place"].as_array().unwrap().iter().map(|step| step["name"].as_str().unwrap()).collect();
            let side =
                |side: &str| one[side]["text"].as_str().or(one[side].as_str()).unwrap_or_default().to_owned();
            lines.push([
                artifact["name"].as_str().unwrap().to_owned(),
                place.join(" "),
                one["edit"].as_str().unwrap().to_owned(),
                side("old"),
                side("new"),
            ]);
        }
    }
    lines
}

/// A difference without its place.
fn happened([artifact, _, edit, old, new]: [String; 5]) -> [String; 4] {
    [artifact, edit, old, new]
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
    let ws = Workspace::example().prebuilt();
    ws.build(&[]);
    let preview = compare(&ws, 1, &["--release", "demo:4.18", "demo:4.19"]);
    assert_eq!(compare(&ws, 1, &["--release", "demo:4.19"]), preview, "its own release is the old one");
    assert_eq!(ws.json(&["generations"]).as_array().unwrap().len(), 1, "a preview makes no generation");
    ws.edit("cluster.yaml", "release: demo:4.18", "release: demo:4.19");
    let locked = ws.output(&["lock", "--update", "release=demo:4.19"]);
    assert!(locked.status.success(), "{}", ws.text(&locked));
    ws.build(&[]);
    let bump = compare(&ws, 1, &[]);
    assert_eq!((&bump["old"], &bump["new"]), (&"gen:1".into(), &"gen:2".into()));
    // The boot image is pinned by the lock, which a preview leaves alone.
    let (machines, rest): (Vec<_>, Vec<_>) =
        lines(&bump).into_iter().partition(|[artifact, ..]| artifact.starts_with("infra/"));
    assert_eq!(rest, lines(&preview), "the preview is what the build brings");
    assert_eq!(machines.len(), 6);
    let kinds: Vec<&Value> = bump["causes"].as_array().unwrap().iter().map(|cause| &cause["kind"]).collect();
    assert_eq!(kinds, ["release"]);
    let rolled = ws.output(&["rollback"]);
    assert!(rolled.status.success(), "{}", ws.text(&rolled));
    assert_eq!(artifacts(&compare(&ws, 0, &["gen:1", "result"])), Vec::<String>::new());
}

/// An edit of one line is told where it is, with its line as the one cause; copies are counted and not told again.
#[test]
fn an_edit_is_told_once_with_its_cause() {
    let ws = Workspace::example().prebuilt();
    ws.build(&[]);
    ws.edit("cluster.yaml", "ip: 192.168.126.110", "ip: 192.168.126.120");
    insta::assert_snapshot!(ws.run(&["-q", "diff", "result", "cluster"]), @r#"
    result → cluster
    artifacts: 7 changed, 188 the same
    running nodes
      worker-0: re-install (/etc/NetworkManager/system-connections/tinderbox.nmconnection)
    causes
      [1] config field nodes.worker-0.ip: 192.168.126.110 → 192.168.126.120 (cluster.yaml:30: nodes.worker-0.ip)

    ~ ignition/worker-0 [1]
        /etc/NetworkManager/system-connections/tinderbox.nmconnection
          ~ [ipv4] address1: 192.168.126.110/24,192.168.126.1 → 192.168.126.120/24,192.168.126.1

    ~ infra/haproxy [1]
        haproxy.cfg
          ~ 1 place
            @@ line 48 → 48 @@
               bind 192.168.126.11:80
               balance source
               option tcp-check
            -  server worker-0 192.168.126.110:80 check inter 2s fall 3 rise 2
            +  server worker-0 192.168.126.120:80 check inter 2s fall 3 rise 2
               server worker-1 192.168.126.111:80 check inter 2s fall 3 rise 2
             
             listen ingress-https
               bind 192.168.126.11:443
               balance source
               option tcp-check
            -  server worker-0 192.168.126.110:443 check inter 2s fall 3 rise 2
            +  server worker-0 192.168.126.120:443 check inter 2s fall 3 rise 2
               server worker-1 192.168.126.111:443 check inter 2s fall 3 rise 2
             

    ~ infra/haproxy-pivoted [1]
        haproxy-pivoted.cfg
          ~ 1 place
            @@ line 46 → 46 @@
               bind 192.168.126.11:80
               balance source
               option tcp-check
            -  server worker-0 192.168.126.110:80 check inter 2s fall 3 rise 2
            +  server worker-0 192.168.126.120:80 check inter 2s fall 3 rise 2
               server worker-1 192.168.126.111:80 check inter 2s fall 3 rise 2
             
             listen ingress-https
               bind 192.168.126.11:443
               balance source
               option tcp-check
            -  server worker-0 192.168.126.110:443 check inter 2s fall 3 rise 2
            +  server worker-0 192.168.126.120:443 check inter 2s fall 3 rise 2
               server worker-1 192.168.126.111:443 check inter 2s fall 3 rise 2
             

    ~ infra/network [1]
        network.xml
          ~ 1 place
            @@ line 35 → 35 @@
                   <hostname>master-2.ocp4.example.com</hostname>
                   <hostname>etcd-2.ocp4.example.com</hostname>
                 </host>
            -    <host ip="192.168.126.110">
            +    <host ip="192.168.126.120">
                   <hostname>worker-0.ocp4.example.com</hostname>
                 </host>
                 <host ip="192.168.126.111">

    ~ ignition-id/worker-0 [1]
        1 file as in ignition/worker-0

    ~ infra/worker-0 [1]
        1 file as in ignition-id/worker-0

    ~ cluster [1]
        1 file as in ignition/worker-0
        1 file as in infra/haproxy
        1 file as in infra/haproxy-pivoted
        1 file as in infra/network
        1 file as in infra/worker-0
    [exit 1]
    "#);
    let output = ws.output(&["diff", "result", "result"]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(0), 0), "{}", ws.text(&output));
    let only = compare(&ws, 1, &["result", "cluster", "--only", "infra"]);
    assert_eq!(
        artifacts(&only),
        ["infra/haproxy", "infra/haproxy-pivoted", "infra/network", "infra/worker-0"]
    );
    assert_eq!(ws.json(&["generations"]).as_array().unwrap().len(), 1, "a comparison makes no generation");
}

/// Both ways are the same differences, the other way round.
#[test]
fn the_way_back_is_the_inverse() {
    let ws = Workspace::example().prebuilt();
    let there = compare(&ws, 1, &["--release", "demo:4.18", "demo:4.19"]);
    let back = compare(&ws, 1, &["--release", "demo:4.19", "demo:4.18"]);
    // Places have the new side's names, so what counts is what happened where at least the artifact is the same.
    let mut forth: Vec<[String; 4]> = lines(&there).into_iter().map(happened).collect();
    let mut inverse: Vec<[String; 4]> = lines(&back)
        .into_iter()
        .map(happened)
        .map(|[artifact, edit, old, new]| match edit.as_str() {
            "added" => [artifact, "removed".into(), new, old],
            "removed" => [artifact, "added".into(), new, old],
            _ => [artifact, edit, new, old],
        })
        .collect();
    forth.sort();
    inverse.sort();
    assert!(forth.len() > 100, "{}", forth.len());
    for (one, other) in forth.iter().zip(&inverse) {
        assert_eq!(one, other);
    }
    assert_eq!(forth.len(), inverse.len());
    let [there, mut back] = [there, back].map(|mut diff| diff["summary"]["counts"].take());
    let removed = back["removed"].take();
    back["removed"] = std::mem::replace(&mut back["added"], removed);
    assert_eq!(there, back);
}

/// What a release brings to this cluster, on one page.
#[test]
fn the_page_of_a_release() {
    let ws = Workspace::example().prebuilt();
    insta::assert_snapshot!(ws.run(&["-q", "diff", "--release", "demo:4.18", "demo:4.19", "--summary"]), @r#"
    demo:4.18 (4.18.0-demo) → demo:4.19 (4.19.0-demo)
    artifacts: 54 changed, 3 added, 141 the same
    running nodes
      master-0, master-1, master-2, worker-0, worker-1: reboot (/etc/crio/crio.conf.d/00-default, /etc/kubernetes/kubelet.conf, /etc/kubernetes/manifests/criometricsproxy.yaml and 8 more)
        units: kubelet-cleanup.service, kubelet.service, machine-config-daemon-pull.service, nodeip-configuration.service
      bootstrap: nothing (34 files for a new installation only)
    images
      ~ 30: baremetal-runtimecfg, cli, cloud-credential-operator, cluster-authentication-operator, cluster-bootstrap and 25 more
      + 1: olm-operator-controller
      - 1: olm-rukpak
    flags
      ~ Pod openshift-cluster-version/cluster-version-operator cluster-version-operator: --release-image demo.invalid/openshift/release@sha256:7da92966b36c46282caff1f8ce6b030900007767ac731384820cdcba088b…
      ~ Pod kube-system/kube-apiserver kube-apiserver: --feature-gates AdditionalRoutingCapabilities false → true
      + Pod kube-system/kube-apiserver kube-apiserver: --feature-gates HighlyAvailableArbiter false
      ~ Pod kube-system/kube-apiserver kube-apiserver: --feature-gates MachineConfigNodes false → true
      ~ Pod kube-system/kube-apiserver kube-apiserver: --feature-gates PinnedImages false → true
      and 12 more
    feature gates
      ~ AdditionalRoutingCapabilities disabled → enabled
      + HighlyAvailableArbiter disabled
      ~ MachineConfigNodes disabled → enabled
      ~ PinnedImages disabled → enabled
      ~ RouteAdvertisements disabled → enabled
      and 2 more
    API fields that our own objects use
      networks.operator.openshift.io spec now requires x-kubernetes-validations message: "routeAdvertisements needs provider FRR"⏎rule: "(has…; used by Network cluster
    API fields that refuse more
      nodes.config.openshift.io spec.cgroupMode enum no longer has v1
    causes
      [1] release image lock.release: 4.18.0-demo → 4.19.0-demo (cluster.lock)
    [exit 1]
    "#);
}

/// Another seed changes every key, and no value of one is seen in any format.
#[test]
fn keys_that_changed_are_said_and_never_shown() {
    let ws = Workspace::example().prebuilt();
    ws.build(&[]);
    ws.write_seed(&[8; 32]);
    let diff = compare(&ws, 1, &["result", "cluster"]);
    let kinds: Vec<&Value> = diff["causes"].as_array().unwrap().iter().map(|cause| &cause["kind"]).collect();
    assert_eq!(kinds, ["seed"], "{}", diff["causes"]);
    let secret = |[artifact, _, _, old, new]: &&[String; 5]| {
        artifact == "key/etcd-ca" && old == "secret" && new == "secret"
    };
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
    let ws = Workspace::example().prebuilt();
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
    insta::assert_snapshot!(ws.run(&["-q", "diff", a.to_str().unwrap(), b.to_str().unwrap()]), @r"
    [DIR]/a.ign → [DIR]/b.ign
    artifacts: 1 changed

    ~ files
        b.ign › /etc/a
          ~ 1 place
            @@ line 1 → 1 @@
            -one
            +two
    [exit 1]
    ");
}

/// Trouble is 2, and says what to do.
#[test]
fn trouble_is_told_apart_from_a_difference() {
    let ws = Workspace::example();
    insta::assert_snapshot!(ws.run(&["-q", "diff"]), @r"
    [stderr]
    error: `[STORE]` is not a store
    hint: `tinderbox build` creates one; select another with `--store DIR` or TINDERBOX_STORE
    [exit 2]
    ");
    ws.build(&[]);
    insta::assert_snapshot!(ws.run(&["-q", "diff"]), @r"
    [stderr]
    error: there is only one generation, and `diff` compares two
    hint: every `tinderbox build` that changes `cluster` makes one; or name two sides: `tinderbox diff --help`
    [exit 2]
    ");
    insta::assert_snapshot!(ws.run(&["-q", "diff", "gen:1", "gen:7"]), @r"
    [stderr]
    error: there is no generation 7
    hint: existing generations: 1
    [exit 2]
    ");
    insta::assert_snapshot!(ws.run(&["-q", "diff", "gen:x"]), @r"
    [stderr]
    error: `gen:x` is not a generation
    hint: `tinderbox generations` lists them; the third is gen:3
    [exit 2]
    ");
    insta::assert_snapshot!(ws.run(&["-q", "diff", "infra/haprox", "infra/haproxy"]), @r"
    [stderr]
    error: there is no derivation `infra/haprox`
    hint: did you mean `infra/haproxy`?
    [exit 2]
    ");
    insta::assert_snapshot!(ws.run(&["-q", "diff", "result", "/nowhere"]), @r"
    [stderr]
    error: cannot find `/nowhere`
    caused by: No such file or directory (os error 2)
    [exit 2]
    ");
    insta::assert_snapshot!(ws.run(&["-q", "diff", "result", "cluster", "--only", "ignitoin"]), @r"
    [stderr]
    error: there is no derivation `ignitoin`
    hint: did you mean `ignition`?
    [exit 2]
    ");
    insta::assert_snapshot!(ws.run(&["-q", "diff", "--release", "demo:4.18", "demo:9"]), @r"
    [stderr]
    error: `demo:9` is not a release
    hint: write demo:4.18, registry/repository:tag, registry/repository@sha256:…, or oci:DIR:TAG
    [exit 2]
    ");
}

/// Two artifacts of different names are compared with each other.
#[test]
fn two_targets_are_compared_with_each_other() {
    let ws = Workspace::example().prebuilt();
    insta::assert_snapshot!(ws.run(&["-q", "diff", "infra/haproxy", "infra/haproxy-pivoted"]), @r#"
    infra/haproxy → infra/haproxy-pivoted
    artifacts: 1 changed
    causes
      [1] recipe params.config.bootstrap.ip: 192.168.126.100 → (not there)
      [2] recipe params.config.bootstrap.name: bootstrap → (not there)
      [3] recipe params.files."haproxy-pivoted.cfg": (not there) → {% set control_plane = masters %}⏎{% include "_haproxy.j2" %}⏎
      [4] recipe params.files."haproxy.cfg": {% set control_plane = [bootstrap] + masters %}⏎{% include "_haproxy.j2" %}⏎ → (not there)

    ~ infra/haproxy → infra/haproxy-pivoted [1][2][3][4]
        haproxy-pivoted.cfg
          ~ haproxy.cfg → haproxy-pivoted.cfg
          ~ 2 places
            @@ line 28 → 28 @@
               bind 192.168.126.10:6443
               balance roundrobin
               option tcp-check
            -  server bootstrap 192.168.126.100:6443 check inter 2s fall 3 rise 2
               server master-0 192.168.126.101:6443 check inter 2s fall 3 rise 2
               server master-1 192.168.126.102:6443 check inter 2s fall 3 rise 2
               server master-2 192.168.126.103:6443 check inter 2s fall 3 rise 2
            @@ line 38 → 37 @@
               bind 192.168.126.10:22623
               balance roundrobin
               option tcp-check
            -  server bootstrap 192.168.126.100:22623 check inter 2s fall 3 rise 2
               server master-0 192.168.126.101:22623 check inter 2s fall 3 rise 2
               server master-1 192.168.126.102:22623 check inter 2s fall 3 rise 2
               server master-2 192.168.126.103:22623 check inter 2s fall 3 rise 2
    [exit 1]
    "#);
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
    let ws = Workspace::with(&files).prebuilt();
    let output = ws.output(&["diff", "hand-over", "render", "--json", "-q"]);
    assert_eq!(output.status.code(), Some(1), "{}", ws.text(&output));
    let mut found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let failed = found.as_object_mut().unwrap().remove("failed").unwrap();
    assert!(failed.as_object().unwrap().keys().any(|name| name == "render/etcd"), "{failed}");
    found.sort_all_objects();
    insta::assert_snapshot!(serde_json::to_string_pretty(&found).unwrap(), @r#"
    {
      "alike": [
        "ConfigMap kube-system/root-ca"
      ],
      "different": [
        {
          "differences": [
            {
              "detail": "the render's is `Etcd`, ours `etcd`",
              "reason": null,
              "what": "annotation openshift.io/owning-component"
            },
            {
              "detail": "only the render's has it",
              "reason": null,
              "what": "key extra.crt"
            },
            {
              "detail": "the render's is `Opaque`, ours `kubernetes.io/tls`",
              "reason": null,
              "what": "type"
            },
            {
              "detail": "only ours has it",
              "reason": null,
              "what": "key tls.key"
            }
          ],
          "object": "Secret openshift-etcd/etcd-signer",
          "ours": "manifests/hand-over-etcd-signer.yaml",
          "render": "render/probe"
        }
      ],
      "in_payload": 0,
      "missing": [
        {
          "file": "manifests/probe.yaml",
          "object": "ConfigMap openshift-etcd/wanted",
          "reason": null,
          "render": "render/probe"
        }
      ],
      "renders": [
        "render/probe"
      ],
      "shape": "tinderbox-hand-over/3",
      "stale": []
    }
    "#);
}

/// Real CRDs and gates of two releases, packed as releases: told by field, with the release as the one cause. What is
/// asked for is what is built; the rest of such a release is not there.
#[test]
fn real_releases_differ_by_field() {
    let (Some(old), Some(new)) = (data::release("4.18"), data::release("4.19")) else { return };
    let ws = Workspace::example().prebuilt();
    let pack = Pack::create(&ws.dir.join("layout"));
    old.put(&pack, "old");
    new.put(&pack, "new");
    let sides = ["--release", "oci:layout:old", "oci:layout:new"];
    let only = ["--only", "release/crds", "--only", "release/featuregate"];
    let diff = compare(&ws, 1, &[&sides[..], &only].concat());
    assert_eq!(artifacts(&diff), ["release/featuregate", "release/crds"]);
    let kinds: Vec<&Value> = diff["causes"].as_array().unwrap().iter().map(|cause| &cause["kind"]).collect();
    assert_eq!(kinds, ["release"]);
    for artifact in diff["artifacts"].as_array().unwrap() {
        assert_eq!(artifact["causes"], serde_json::json!([0]), "{}", artifact["name"]);
    }
    // Read from the files by hand.
    let nodes =
        "CustomResourceDefinition nodes.config.openshift.io v1 spec cgroupMode enum v1 | removed | v1 | ";
    let found: Vec<String> = lines(&diff).iter().map(|line| line.join(" | ")).collect();
    assert!(found.iter().any(|line| line.ends_with(nodes)), "{found:#?}");
    let url = "status platformStatus ibmcloud serviceEndpoints [] url maxLength | added |  | 300";
    assert!(found.iter().any(|line| line.ends_with(url)), "{found:#?}");
    let schemas = diff["summary"]["schemas"].as_array().unwrap();
    let gone = |one: &Value| one["crd"] == "nodes.config.openshift.io" && one["field"] == "spec.cgroupMode";
    assert!(schemas.iter().any(gone), "{schemas:#?}");
    assert!(!diff["summary"]["gates"].as_array().unwrap().is_empty());
}

/// A release diff is read by people: the page fits a screen, no line is long, nothing is told twice, and downloads do not
/// drown what this cluster uses.
#[test]
fn a_release_diff_is_readable() {
    let ws = Workspace::example().prebuilt();
    let run = |more: &[&str]| ws.run(&[&["diff", "--release", "demo:4.18", "demo:4.22"], more].concat());
    let (page, stat, folded, full) = (run(&["--summary"]), run(&["--stat"]), run(&[]), run(&["--full"]));
    assert!(page.lines().count() <= 40, "{page}");
    for text in [&page, &stat, &folded, &full] {
        let longest = text.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(longest <= 200, "{longest}");
    }
    assert!(folded.lines().count() < 900 && folded.lines().count() < full.lines().count());
    assert!(page.contains("bootstrap: nothing (") && !page.contains("re-install"), "{page}");
    assert!(page.contains("master-0, master-1, master-2, worker-0, worker-1: reboot ("), "{page}");
    // Ids of configs are no differences of their own.
    assert!(folded.contains("~ infra/master-0 [1]\n    1 file as in ignition-id/master-0\n"), "{folded}");
    assert!(
        stat.lines().any(|line| line.starts_with("  ~ release/image ") && line.ends_with("[1]")),
        "{stat}"
    );
    let download = folded.split("~ release/image [1]\n").nth(1).unwrap();
    assert!(
        download.lines().next().unwrap().ends_with("in what this cluster does not use (--full)"),
        "{download}"
    );
    // Every difference once: by its object or file, its field and both values.
    let diff = compare(&ws, 1, &["--release", "demo:4.18", "demo:4.22"]);
    let mut seen = std::collections::BTreeSet::new();
    for artifact in diff["artifacts"].as_array().unwrap() {
        for one in artifact["differences"].as_array().unwrap() {
            let place = one["place"].as_array().unwrap();
            let at =
                place.iter().rposition(|step| step["into"] == "file" || step["into"] == "object").unwrap();
            let mut tail = place[at..].to_vec();
            if tail[0]["into"] == "file" {
                let name = tail[0]["name"].as_str().unwrap();
                let name = if name.starts_with('/') { name } else { name.rsplit('/').next().unwrap() };
                tail[0] = Value::from(name);
            }
            let told = format!("{tail:?} {} {} {} {}", one["kind"], one["old"], one["new"], one["hunks"]);
            assert!(seen.insert(told.clone()), "{} tells it again: {told}", artifact["name"]);
        }
    }
}

/// Whoever adds a worker edits two lines; both are one cause.
#[test]
fn a_new_worker_is_one_cause() {
    let ws = Workspace::example().prebuilt();
    ws.build(&[]);
    ws.edit(
        "cluster.yaml",
        "ip: 192.168.126.111}",
        "ip: 192.168.126.111}\n- {name: worker-2, role: worker, ip: 192.168.126.112}",
    );
    ws.edit("install-config.yaml", "replicas: 2", "replicas: 3");
    let diff = compare(&ws, 1, &["result", "cluster"]);
    let causes = diff["causes"].as_array().unwrap();
    assert_eq!(causes.len(), 1, "{causes:#?}");
    assert_eq!((&causes[0]["what"], &causes[0]["to"]), (&"nodes".into(), &"worker-2".into()));
    let files: Vec<&str> =
        causes[0]["places"].as_array().unwrap().iter().map(|place| place["file"].as_str().unwrap()).collect();
    assert_eq!(files, ["cluster.yaml", "install-config.yaml"]);
    for artifact in diff["artifacts"].as_array().unwrap() {
        assert_eq!(artifact["causes"], serde_json::json!([0]), "{}", artifact["name"]);
    }
}
