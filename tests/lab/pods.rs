//! Static pods as processes: a script for each container, with its mounts, environment and exact command line.
//!
//! Images are this machine's own root with the lab's programs in front of it, and the release image's two folders of
//! manifests where the container runs that image.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// A container, and the script that becomes it.
pub(super) struct Container {
    /// Pod and container: `kube-controller-manager.cluster-policy-controller`.
    pub(super) name: String,
    pub(super) script: String,
}

/// The containers of a static pod. kubectl reads it, and not our own YAML.
pub(super) fn containers(kubectl: &Path, file: &Path, hostname: &str) -> Vec<Container> {
    let mut command = Command::new(kubectl);
    command.args(["patch", "--local", "--type=merge", "--patch={}", "--output=json", "--filename"]).arg(file);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}: {}", file.display(), String::from_utf8_lossy(&output.stderr));
    let pod: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(pod["spec"]["initContainers"].is_null(), "{}: nothing runs init containers", file.display());
    let script = |container: &Value| Container {
        name: format!("{}.{}", text(&pod["metadata"]["name"]), text(&container["name"])),
        script: script(&pod, container, hostname),
    };
    items(&pod["spec"]["containers"]).map(script).collect()
}

fn script(pod: &Value, container: &Value, hostname: &str) -> String {
    let mut lines = vec!["set -eu".to_owned()];
    for mount in items(&container["volumeMounts"]) {
        let at = quoted(text(&mount["mountPath"]));
        lines.push(match host_path(pod, text(&mount["name"])) {
            Some(path) => format!("mkdir -p {at} {0} && mount --bind {0} {at}", quoted(path)),
            None => format!("mkdir -p {at} && mount -t tmpfs empty-dir {at}"),
        });
    }
    for variable in items(&container["env"]) {
        let field = variable["valueFrom"]["fieldRef"]["fieldPath"].as_str();
        let value = match field {
            None => text(&variable["value"]),
            Some("spec.nodeName") => hostname,
            Some("metadata.name") => text(&pod["metadata"]["name"]),
            Some("metadata.namespace") => text(&pod["metadata"]["namespace"]),
            Some(other) => panic!("nobody knows {other} of a static pod"),
        };
        lines.push(format!("export {}={}", text(&variable["name"]), quoted(value)));
    }
    let words = items(&container["command"])
        .chain(items(&container["args"]))
        .map(|word| expanded(text(word), pod, container));
    lines.push(format!("exec {}", words.map(|word| quoted(&word)).collect::<Vec<_>>().join(" ")));
    lines.join("\n") + "\n"
}

/// `$(NAME)` in an argument is a variable of the container, as the kubelet has it.
fn expanded(word: &str, pod: &Value, container: &Value) -> String {
    items(&container["env"]).fold(word.to_owned(), |word, variable| {
        let value = match variable["valueFrom"]["fieldRef"]["fieldPath"].as_str() {
            None => text(&variable["value"]),
            Some("metadata.namespace") => text(&pod["metadata"]["namespace"]),
            Some("metadata.name") => text(&pod["metadata"]["name"]),
            Some(_) => return word,
        };
        word.replace(&format!("$({})", text(&variable["name"])), value)
    })
}

fn host_path<'v>(pod: &'v Value, volume: &str) -> Option<&'v str> {
    let found = items(&pod["spec"]["volumes"]).find(|one| one["name"] == volume).unwrap();
    found["hostPath"]["path"].as_str()
}

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// One word of a shell script, whatever is in it.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}
