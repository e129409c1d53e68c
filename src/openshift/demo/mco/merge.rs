//! Many MachineConfigs, in the order of their names, become one: what comes later wins.

use std::collections::BTreeMap;

use super::ignition_version;
use super::value::Value;

/// Lists of Ignition whose entries have a name of their own, and the field that holds it.
const NAMED: &[(&str, &str)] = &[
    ("files", "path"),
    ("directories", "path"),
    ("links", "path"),
    ("units", "name"),
    ("dropins", "name"),
    ("users", "name"),
    ("groups", "name"),
    ("disks", "device"),
    ("filesystems", "device"),
    ("luks", "name"),
    ("raid", "name"),
];

/// The merged spec. The OS image is the release's, unless a config names another.
pub(super) fn specs(configs: &[&Value], os_image: &str, extensions_image: &str) -> Result<Value, String> {
    let mut ignition = Value::from([("ignition", Value::from([("version", ignition_version().into())]))]);
    let (mut arguments, mut extensions) = (Vec::new(), Vec::new());
    let (mut kernel, mut image, mut fips) = ("default", os_image, false);
    for config in configs {
        if let Some(own) = config.at(&["spec", "config"]) {
            supported(own).map_err(|problem| format!("{}: {problem}", config.text(&["metadata", "name"])))?;
            merge(&mut ignition, own);
        }
        arguments.extend_from_slice(config.list(&["spec", "kernelArguments"]));
        for extension in config.list(&["spec", "extensions"]) {
            if !extensions.contains(extension) {
                extensions.push(extension.clone());
            }
        }
        fips |= config.truth(&["spec", "fips"]);
        kernel = or(config.text(&["spec", "kernelType"]), kernel);
        image = or(config.text(&["spec", "osImageURL"]), image);
    }
    if let Some(Value::Map(about)) = match &mut ignition {
        Value::Map(fields) => fields.get_mut("ignition"),
        _ => None,
    } {
        about.insert("version".into(), ignition_version().into());
    }
    Ok(Value::from([
        ("baseOSExtensionsContainerImage", extensions_image.into()),
        ("config", ignition),
        ("extensions", extensions.into()),
        ("fips", fips.into()),
        ("kernelArguments", arguments.into()),
        ("kernelType", kernel.into()),
        ("osImageURL", image.into()),
    ]))
}

fn or<'a>(text: &'a str, other: &'a str) -> &'a str {
    if text.is_empty() { other } else { text }
}

/// An Ignition config of spec 3, not newer than what is rendered.
fn supported(config: &Value) -> Result<(), String> {
    let version = config.text(&["ignition", "version"]);
    let minor = |version: &str| {
        version
            .strip_prefix("3.")
            .and_then(|rest| rest.strip_suffix(".0"))
            .and_then(|minor| minor.parse::<u32>().ok())
    };
    match (minor(version), minor(ignition_version())) {
        (Some(own), Some(ours)) if own <= ours => Ok(()),
        _ => Err(format!(
            "parsing Ignition config failed: unknown version. Supported spec versions: 3.0 to {}; found {version:?}",
            ignition_version()
        )),
    }
}

/// Adds `child` to `parent`: maps field by field, named entries by their name, other lists at the end.
fn merge(parent: &mut Value, child: &Value) {
    match (parent, child) {
        (Value::Map(parent), Value::Map(child)) => {
            for (key, value) in child {
                match (parent.get_mut(key), value) {
                    (_, Value::Null) => {}
                    (Some(Value::List(old)), Value::List(new)) => lists(key, old, new),
                    (Some(old), new) => merge(old, new),
                    (None, new) => {
                        parent.insert(key.clone(), new.clone());
                    }
                }
            }
        }
        (parent, child) => *parent = child.clone(),
    }
}

fn lists(key: &str, old: &mut Vec<Value>, new: &[Value]) {
    let Some((_, field)) = NAMED.iter().find(|(list, _)| *list == key) else {
        let fresh: Vec<Value> = new.iter().filter(|value| !old.contains(value)).cloned().collect();
        old.extend(fresh);
        return;
    };
    for value in new {
        let same = |one: &&mut Value| one.get(field).is_some() && one.get(field) == value.get(field);
        match old.iter_mut().find(same) {
            // Half of one file and half of another is no file.
            Some(one) if key == "files" => *one = value.clone(),
            Some(one) => merge(one, value),
            None => old.push(value.clone()),
        }
    }
}

/// A MachineConfig for a role, with files and units.
pub(super) fn machine_config(name: &str, role: &str, files: Vec<Value>, units: Vec<Value>) -> Value {
    let mut config =
        BTreeMap::from([("ignition".to_owned(), Value::from([("version", ignition_version().into())]))]);
    if !files.is_empty() {
        config.insert("storage".into(), Value::from([("files", files.into())]));
    }
    if !units.is_empty() {
        config.insert("systemd".into(), Value::from([("units", units.into())]));
    }
    let labels = vec![("machineconfiguration.openshift.io/role".to_owned(), role.into())];
    Value::from([
        ("apiVersion", "machineconfiguration.openshift.io/v1".into()),
        ("kind", "MachineConfig".into()),
        ("metadata", super::manifests::metadata(name, Vec::new(), labels)),
        ("spec", Value::from([("config", Value::Map(config))])),
    ])
}

/// A file of an Ignition config.
pub(super) fn file(path: &str, mode: u32, source: String) -> Value {
    Value::from([
        ("contents", Value::from([("source", source.into())])),
        ("mode", mode.into()),
        ("overwrite", true.into()),
        ("path", path.into()),
    ])
}

#[cfg(test)]
mod tests {
    use super::super::read::documents;
    use super::super::write::json;
    use super::*;

    fn spec(configs: &[&str]) -> Result<Value, String> {
        let all: Vec<Value> = configs.iter().flat_map(|text| documents(text).unwrap()).collect();
        specs(&all.iter().collect::<Vec<_>>(), "os", "ext")
    }

    #[test]
    fn later_configs_win_and_named_entries_merge() {
        let a = "spec: {kernelArguments: [a], config: {ignition: {version: 3.2.0}, storage: {files: [{path: /a, mode: 1, \
                 contents: {source: x}}]}, systemd: {units: [{name: u, contents: c, dropins: [{name: d, contents: 1}]}]}}}";
        let b = "spec: {kernelArguments: [b], kernelType: realtime, osImageURL: mine, config: {ignition: {version: 3.1.0}, \
                 storage: {files: [{path: /a, contents: {source: y}}, {path: /b}]}, systemd: {units: [{name: u, enabled: true, \
                 dropins: [{name: e}]}]}}}";
        let merged = spec(&[a, b]).unwrap();
        assert_eq!(
            json(merged.at(&["config", "storage"]).unwrap()),
            r#"{"files":[{"contents":{"source":"y"},"path":"/a"},{"path":"/b"}]}"#
        );
        assert_eq!(
            json(merged.at(&["config", "systemd"]).unwrap()),
            r#"{"units":[{"contents":"c","dropins":[{"contents":1,"name":"d"},{"name":"e"}],"enabled":true,"name":"u"}]}"#
        );
        assert_eq!(json(merged.get("kernelArguments").unwrap()), r#"["a","b"]"#);
        assert_eq!((merged.text(&["kernelType"]), merged.text(&["osImageURL"])), ("realtime", "mine"));
        assert_eq!(merged.text(&["config", "ignition", "version"]), ignition_version());
    }

    #[test]
    fn an_ignition_config_from_the_future_is_refused() {
        for version in ["3.9.0", "2.2.0", ""] {
            let text = format!(
                "{{metadata: {{name: x}}, spec: {{config: {{ignition: {{version: '{version}'}}}}}}}}"
            );
            assert!(
                spec(&[&text]).unwrap_err().starts_with("x: parsing Ignition config failed"),
                "{version}"
            );
        }
    }
}
