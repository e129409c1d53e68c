//! The guide: everything that a cluster consists of has a purpose, a reader and a consequence of its own.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::harness::{Workspace, list};
use tinderbox::internals::demo;
use tinderbox::internals::hint::Problems;
use tinderbox::internals::yaml::{Source, YamlNode, documents};

fn entries(guide: &Value) -> Vec<&Value> {
    guide["chapters"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|chapter| chapter["groups"].as_array().unwrap())
        .flat_map(|group| group["entries"].as_array().unwrap())
        .collect()
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_default()
}

/// Kind with group, namespace and name of everything that bootkube.sh applies.
fn applied(ws: &Workspace) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for folder in ["manifests", "crds"] {
        let root = ws.dir.join("result").join(folder);
        for file in list(&root) {
            let text = std::fs::read_to_string(root.join(&file)).unwrap();
            for object in documents(Source { name: &file, text: &text }, &mut Problems::default()) {
                let word =
                    |node: Option<&YamlNode>| node.and_then(YamlNode::text).unwrap_or_default().to_owned();
                let meta = |key: &str| word(object.get("metadata").and_then(|meta| meta.get(key)));
                let version = word(object.get("apiVersion"));
                let group = version.split_once('/').map_or(String::new(), |(group, _)| format!(".{group}"));
                let namespace = meta("namespace");
                let slash = if namespace.is_empty() { "" } else { "/" };
                found.insert(format!(
                    "{}{group} {namespace}{slash}{}",
                    word(object.get("kind")),
                    meta("name")
                ));
            }
        }
    }
    found
}

/// Walks every file of every node and every object of a built cluster.
pub(crate) fn walk(ws: &Workspace, version: &str) {
    let guide = ws.json(&["guide"]);
    let entries = entries(&guide);
    let mut places = BTreeSet::new();
    // The same words for two things would be words about neither.
    let mut said: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut objects = BTreeSet::new();
    for entry in &entries {
        let about = entry["about"].as_array().unwrap();
        assert!(!about.is_empty(), "{version}: {}", entry["title"]);
        for one in about {
            let [subject, purpose, reader, without] =
                ["subject", "purpose", "reader", "without"].map(|key| text(one, key));
            assert_ne!(text(one, "known"), "unknown", "{version}: {subject}: {purpose}");
            for words in [purpose, reader, without] {
                assert!(words.len() >= 3 && !words.contains("{*}"), "{version}: {subject}: {words:?}");
                assert!(!words.to_lowercase().starts_with("rendered by"), "{version}: {subject}: {words}");
            }
            assert!(
                purpose.ends_with('.') && purpose != reader && purpose != without,
                "{subject}: {purpose}"
            );
            said.entry(purpose).or_default().insert(subject);
            objects.insert(subject);
        }
        for place in entry["places"].as_array().into_iter().flatten() {
            places.insert((text(place, "node").to_owned(), text(place, "path").to_owned()));
        }
    }
    for (purpose, subjects) in said {
        // Recipes that make several of the same kind say it once for all.
        assert!(subjects.len() == 1, "{version}: {purpose}: {subjects:?}");
    }
    for node in list(&ws.dir.join("result/ignition")) {
        let node = node.trim_end_matches(".ign").to_owned();
        let shown = ws.json(&["show", &format!("ignition/{node}")]);
        for one in shown["node"].as_array().unwrap() {
            let path = match text(one, "kind") {
                "unit" => format!("/etc/systemd/system/{}", text(one, "path")),
                "drop-in" => format!("/etc/systemd/system/{}", text(one, "path").replacen('/', ".d/", 1)),
                _ => text(one, "path").to_owned(),
            };
            assert!(places.contains(&(node.clone(), path.clone())), "{version}: {node}: {path}");
        }
    }
    let applied = applied(ws);
    assert!(applied.len() > 100, "{version}: {}", applied.len());
    for object in applied {
        assert!(objects.contains(object.as_str()), "{version}: {object}");
    }
}

#[test]
fn everything_has_a_purpose_a_reader_and_a_consequence() {
    let ws = Workspace::example().prebuilt();
    ws.build(&[]);
    walk(&ws, "4.18");
}

/// What the user adds is named as the user's, with file and line.
#[test]
fn what_the_user_adds_is_named_as_such() {
    let ws = Workspace::example().prebuilt();
    ws.write(
        "manifests/99-motd.yaml",
        "apiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfig\nmetadata:\n  name: 99-motd\n  labels:\n    \
         machineconfiguration.openshift.io/role: worker\nspec:\n  config:\n    ignition: {version: 3.4.0}\n    storage:\n      \
         files:\n      - path: /etc/motd\n        mode: 420\n        contents: {source: \"data:,hello\"}\n",
    );
    ws.build(&[]);
    let found = ws.json(&["blame", "ignition/worker-0:/etc/motd"]);
    assert_eq!(found["about"][0]["known"], "yours");
    assert_eq!(found["about"][0]["purpose"], "Yours: MachineConfig `99-motd` (manifests/99-motd.yaml:12).");
    let found = ws.json(&["blame", "cluster:manifests/99-motd.yaml"]);
    assert_eq!(found["about"][0]["purpose"], "Yours: manifests/99-motd.yaml:1.");
    // It is in the book too, and its lines can be linked to.
    let page = String::from_utf8(ws.output(&["guide", "--format", "html"]).stdout).unwrap();
    assert!(page.contains("id=\"manifests-99-motd-yaml-line-12\"") && page.contains("99-motd.yaml:12"));
}

/// A release that the tables do not know gets an honest answer.
#[test]
fn what_no_table_knows_is_not_made_up() {
    let ws = Workspace::example().prebuilt();
    ws.write(
        "recipes/knowledge/node-files.toml",
        "[[file]]\npath = '/etc/hostname'\npurpose = 'p'\nreader = 'r'\nwithout = 'w'\n",
    );
    ws.build(&[]);
    let about = |path: &str| ws.json(&["blame", &format!("ignition/worker-0:{path}")])["about"][0].clone();
    assert_eq!(about("/etc/hostname")["purpose"], "p");
    let unknown = about("/etc/kubernetes/kubelet.conf");
    assert_eq!(unknown["known"], "unknown");
    assert_eq!(
        unknown["purpose"],
        "Not in the tables of this tinderbox, which describe 4.18 to 4.23 and 5.0 to 5.2."
    );
}

#[test]
fn chapters_and_entries_are_told_in_a_terminal() {
    let nothing = Workspace::example();
    insta::assert_snapshot!(nothing.run(&["guide"]), @r"
    [stderr]
    error: `cluster` is not built
    hint: run `tinderbox build cluster`
    [exit 1]
    ");
    let ws = Workspace::example().prebuilt();
    let listed = ws.run(&["guide"]);
    assert!(listed.contains("8   bootkube") && listed.contains("12  day-2"), "{listed}");
    let chapter = ws.run(&["guide", "joining"]);
    assert_eq!(chapter, ws.run(&["guide", "10"]));
    let is_narrow = |line: &&str| line.chars().count() <= 100 || line.split_whitespace().count() < 4;
    assert!(chapter.lines().all(|line| is_narrow(&line)), "{chapter}");
    let hostname = ws.run(&["guide", "/etc/hostname"]);
    insta::assert_snapshot!(hostname.lines().take(11).collect::<Vec<_>>().join("\n"), @r"

    /etc/hostname
      for          The node's name: the kubelet registers under it, and its certificate requests carry
                   it.
      read by      systemd-hostnamed; on masters and workers then the kubelet
      without it   the node is called localhost: node-valid-hostname.service holds the kubelet back, and
                   a request for system:node:localhost is never approved
      on           bootstrap
      decided by   nodes.bootstrap.fqdn ← cluster.yaml:26: nodes.bootstrap.name; install-config.yaml:8:
                   metadata.name; install-config.yaml:9: baseDomain
      see          tinderbox blame ignition/bootstrap:/etc/hostname
    ");
    insta::assert_snapshot!(ws.run(&["guide", "botkube"]), @r"
    [stderr]
    error: the guide has no chapter and no artifact `botkube`
    hint: did you mean `bootkube`?
    [exit 2]
    ");
}

/// No secret of the cluster is in the book, in any of its forms.
#[test]
fn no_secret_is_in_the_book() {
    let ws = Workspace::example().prebuilt();
    ws.edit("install-config.yaml", "ZGVtbzpkZW1v", "cGxhbnRlZDpoZXJlLWFuZC1ub3doZXJlLWVsc2U=");
    ws.build(&[]);
    let result = ws.dir.join("result");
    let read = |path: &str| std::fs::read_to_string(result.join(path)).unwrap();
    let keys = list(&result.join("pki")).into_iter().filter(|name| name.ends_with(".key"));
    let mut secrets: Vec<String> =
        keys.map(|name| read(&format!("pki/{name}")).lines().nth(1).unwrap().to_owned()).collect();
    assert!(secrets.len() > 20);
    secrets.push(read("auth/kubeadmin-password").trim().to_owned());
    secrets.extend(["cGxhbnRlZDpoZXJl", "here-and-nowhere-else"].map(str::to_owned));
    let all = [
        ws.output(&["guide", "--format", "html"]).stdout,
        ws.output(&["guide", "--json"]).stdout,
        ws.output(&["guide", "install-config.yaml"]).stdout,
        ws.output(&["guide", "kubeconfig/admin"]).stdout,
    ];
    for written in all {
        let text = String::from_utf8(written).unwrap();
        assert!(!text.contains("PRIVATE KEY"), "a key");
        for secret in &secrets {
            assert!(!text.contains(secret), "{}…", &secret[..4]);
        }
    }
}

mod host {
    /// Every version of the demo, with a topology on each.
    #[test]
    fn every_version_is_explained() {
        let topologies: [fn(&super::Workspace); 3] =
            [|_| {}, |ws| ws.without_workers(3), |ws| ws.without_workers(1)];
        for (at, version) in super::demo::versions().iter().enumerate() {
            let ws = super::Workspace::example().prebuilt();
            ws.edit("cluster.yaml", "release: demo:4.18", &format!("release: demo:{version}"));
            ws.relock();
            topologies[at % topologies.len()](&ws);
            ws.build(&[]);
            super::walk(&ws, version);
        }
    }
}

/// Everything that people ask about has an answer of its own, and secrets stay masked in it.
#[test]
fn every_kind_of_artifact_is_explained() {
    let ws = Workspace::example().prebuilt();
    let ask = |target: &str, part: &str| {
        let all = ["show", target, "--json", "--explain", part];
        let args = if part.is_empty() { &all[..4] } else { &all[..] };
        let output = ws.output(args);
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{target} {part}: {text}");
        assert!(!text.contains("PRIVATE KEY"), "{target}");
        serde_json::from_str::<Value>(&text).unwrap()
    };
    for (target, parts) in [
        ("pki/kube-apiserver", &["subject", "names", "shown as", "valid until"][..]),
        ("kubeconfig/admin", &["clusters.server", "users.client-key-data", "current-context"]),
        ("infra/haproxy", &["listen api", "balance", "global maxconn"]),
        ("infra/master-0", &["domain/devices/interface", "memory"]),
        ("infra/network", &["network/dns"]),
        ("script/bootkube", &["put_all", "main", "script"]),
        ("ignition/master-0", &["storage.files", "systemd.units"]),
        ("ignition/master-0:/etc/systemd/system/kubelet.service", &["ExecStart", "Unit.Requires"]),
        ("ignition/bootstrap:/etc/systemd/system/bootkube.service", &["Restart"]),
    ] {
        let whole = ask(target, "");
        assert_eq!(whole["about"][0]["known"], "table", "{target}");
        assert!(whole["parts"].as_array().is_some_and(|parts| parts.len() > 2), "{target}: {whole:#}");
        for part in parts {
            let found = ask(target, part);
            let one = &found["matches"][0];
            assert!(
                one["comment"].as_str().is_some_and(|words| words.len() > 10)
                    || ["main", "script"].contains(part),
                "{target} {part}"
            );
            assert_ne!(one["value"], "", "{target} {part}");
        }
    }
    // A part of a template's output knows the config lines behind it.
    let memory = ask("infra/master-0", "memory");
    assert!(memory["matches"][0]["origins"][0]["from"].as_str().unwrap().contains("memory"), "{memory:#}");
    let edges = ask("pki/etcd-client", "");
    assert!(edges["shown"][0].as_str().unwrap().contains("as client"), "{edges:#}");
    for secret in ["key/root-ca", "hand-over/etcd-signer", "ignition/master-0:/var/lib/kubelet/config.json"] {
        assert_eq!(ask(secret, "")["about"][0]["known"], "table", "{secret}");
    }
    assert_eq!(ask("kubeconfig/admin", "client-key-data")["matches"][0]["value"], "(secret)");
}
