//! What a program of a static pod is told, whichever way: flags, environment variables, configuration files, and the pod
//! around it. One name for one setting, so that two pods that say the same in different ways compare as equal.
//!
//! | setting | from |
//! |---|---|
//! | `flag NAME` | the command line, also that of a shell script; fields of a file and variables that the program turns into flags |
//! | `env NAME` | any other variable |
//! | `config PATH` | any other field of a configuration file |
//! | `mount PATH` | what is mounted there: a path of the node, or a kind of volume |
//! | `port NUMBER` | a port of the container |
//! | `container PATH` | the rest of the container |
//! | `pod PATH` | the rest of the pod, once |
//!
//! Names of volumes and ports mean nothing, and are not compared. An empty or null field is left out: to the programs that
//! read these files it is the same as none.

use std::collections::BTreeMap;

use crate::base::yaml::{YamlData, YamlNode};
use crate::openshift::knowledge::ComparedProgram;

/// Values by the name of the setting. A list has several.
pub(crate) type Settings = BTreeMap<String, Vec<String>>;

/// Fields that name the elements of a list.
const ELEMENT_NAMES: [&str; 2] = ["name", "names"];
/// Fields of a container that have settings of their own.
const READ: [&str; 6] = ["name", "command", "args", "env", "ports", "volumeMounts"];

/// What a container says, and the configuration files with the places of their fields.
pub(crate) fn of_program(
    row: &ComparedProgram,
    pod: &YamlNode,
    container: &YamlNode,
    config: &[(&str, YamlNode)],
) -> Settings {
    let mut settings = Settings::new();
    let environment = environment(pod, container);
    for (name, value) in &environment {
        let flag = row.environment.as_ref().and_then(|prefix| name.strip_prefix(prefix));
        let setting = match flag {
            Some(flag) => format!("flag {}", flag.to_lowercase().replace('_', "-")),
            None => format!("env {name}"),
        };
        add(&mut settings, &setting, value);
    }
    command_line(container, &environment, &mut settings);
    mounts(pod, container, &mut settings);
    for port in items(container, "ports") {
        let protocol = port.get("protocol").and_then(YamlNode::text).unwrap_or("TCP");
        add(&mut settings, &format!("port {}", text(port, "containerPort")), protocol);
    }
    if let YamlData::Map(entries) = &container.data {
        let rest = entries.iter().filter(|entry| !READ.contains(&entry.key.as_str()));
        rest.for_each(|entry| flatten(&entry.value, &format!("container {}", entry.key), &mut settings));
    }
    for (at, file) in config {
        let mut fields = Settings::new();
        flatten(file, &format!("config {at}"), &mut fields);
        for (field, values) in fields {
            let field = field.replace("config .", "config ");
            settings.entry(row.setting_of(&field)).or_default().extend(values);
        }
    }
    settings
}

/// What a pod says beside its containers, and which those are.
pub(crate) fn of_pod(pod: &YamlNode) -> Settings {
    let mut settings = Settings::new();
    for (part, field) in [("metadata", pod.get("metadata")), ("spec", pod.get("spec"))] {
        let Some(YamlData::Map(entries)) = field.map(|node| &node.data) else { continue };
        for entry in entries {
            let at = format!("pod {part}.{}", entry.key);
            match entry.key.as_str() {
                // Mounts name what they mount.
                "volumes" => {}
                "containers" | "initContainers" => entry.value.items().iter().for_each(|container| {
                    let name = text(container, "name");
                    add(&mut settings, &format!("{at}[{name}]"), name);
                }),
                _ => flatten(&entry.value, &at, &mut settings),
            }
        }
    }
    settings
}

impl ComparedProgram {
    /// `config apiServerArguments.x` is `flag x`.
    fn setting_of(&self, field: &str) -> String {
        let path = field.strip_prefix("config ").unwrap_or(field);
        let argument = self.arguments.as_ref().and_then(|at| path.strip_prefix(at)?.strip_prefix('.'));
        let flag = self.flags.iter().find(|(field, _)| field == path).map(|(_, flag)| flag.as_str());
        argument.or(flag).map_or_else(|| field.to_owned(), |flag| format!("flag {flag}"))
    }
}

/// Variables with their values; what the kubelet fills in is the field's name in braces, but for this pod's own names.
fn environment(pod: &YamlNode, container: &YamlNode) -> BTreeMap<String, String> {
    let variables = items(container, "env");
    let value = |variable: &YamlNode| {
        let field = variable.get("valueFrom").and_then(|from| from.get("fieldRef"));
        match field.and_then(|field| field.get("fieldPath")).and_then(YamlNode::text) {
            Some(path) => {
                let name = path.strip_prefix("metadata.").map(|name| (name, pod.get("metadata")));
                let own = name.and_then(|(name, metadata)| metadata?.get(name)?.text());
                own.map_or_else(|| format!("{{{path}}}"), str::to_owned)
            }
            None => text(variable, "value").to_owned(),
        }
    };
    variables.map(|variable| (text(variable, "name").to_owned(), value(variable))).collect()
}

/// The flags and the other words of a command line. A word with blanks is a script, and holds words itself.
fn command_line(container: &YamlNode, environment: &BTreeMap<String, String>, settings: &mut Settings) {
    let words = ["command", "args"].into_iter().filter_map(|field| container.get(field));
    let words = words.flat_map(YamlNode::items).filter_map(YamlNode::text);
    for word in words.flat_map(str::split_whitespace).filter(|word| *word != "\\") {
        let word = environment.iter().fold(word.to_owned(), |word, (name, value)| {
            word.replace(&format!("$({name})"), value).replace(&format!("${{{name}}}"), value)
        });
        match word.strip_prefix("--") {
            Some(flag) => {
                let (name, value) = flag.split_once('=').unwrap_or((flag, "true"));
                add(settings, &format!("flag {name}"), value);
            }
            None => settings.entry("container command".to_owned()).or_default().push(word),
        }
    }
}

/// What is mounted where.
fn mounts(pod: &YamlNode, container: &YamlNode, settings: &mut Settings) {
    let volumes: Vec<&YamlNode> =
        pod.get("spec").map(|spec| items(spec, "volumes").collect()).unwrap_or_default();
    for mount in items(container, "volumeMounts") {
        let volume = volumes.iter().find(|volume| text(volume, "name") == text(mount, "name"));
        let host = volume.and_then(|volume| volume.get("hostPath")?.get("path")?.text()).map(str::to_owned);
        let kind = || match volume.map(|volume| &volume.data) {
            Some(YamlData::Map(entries)) => {
                entries.iter().map(|entry| entry.key.clone()).find(|key| key != "name").unwrap_or_default()
            }
            _ => "nothing".to_owned(),
        };
        let is_read_only = text(mount, "readOnly") == "true";
        let what = host.unwrap_or_else(kind) + if is_read_only { ", read-only" } else { "" };
        let at = text(mount, "mountPath").trim_end_matches('/');
        settings.insert(format!("mount {at}"), vec![what]);
    }
}

/// Adds a value, which may be a list.
fn add(settings: &mut Settings, name: &str, value: &str) {
    settings.entry(name.to_owned()).or_default().extend(value.split(',').map(str::to_owned));
}

/// All leaves below a node, by their paths. A list of texts is one leaf.
pub(crate) fn flatten(node: &YamlNode, path: &str, settings: &mut Settings) {
    match &node.data {
        YamlData::Scalar { text, .. } if text.is_empty() || node.is_null() => {}
        YamlData::Scalar { text, .. } => add(settings, path, text),
        YamlData::Map(entries) => {
            entries
                .iter()
                .for_each(|entry| flatten(&entry.value, &format!("{path}.{}", entry.key), settings));
        }
        YamlData::List(items) => {
            for (index, item) in items.iter().enumerate() {
                match &item.data {
                    YamlData::Scalar { text, .. } => add(settings, path, text),
                    _ => flatten(item, &format!("{path}[{}]", element(item, index)), settings),
                }
            }
        }
    }
}

/// What tells an element of a list from the others.
fn element(item: &YamlNode, index: usize) -> String {
    let named = ELEMENT_NAMES.iter().find_map(|field| {
        let name = item.get(field)?;
        name.text().or_else(|| name.items().first()?.text()).map(str::to_owned)
    });
    named.unwrap_or_else(|| index.to_string())
}

fn items<'n>(node: &'n YamlNode, field: &str) -> impl Iterator<Item = &'n YamlNode> {
    node.get(field).into_iter().flat_map(YamlNode::items)
}

fn text<'n>(node: &'n YamlNode, field: &str) -> &'n str {
    node.get(field).and_then(YamlNode::text).unwrap_or_default()
}
