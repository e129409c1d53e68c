//! Merges MachineConfigs in the order of their names: later ones win.

use serde_json::{Value, json};

use super::Build;
use super::manifests::{items, metadata, name};

/// Ignition lists whose entries have a name, and the field that contains it.
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

impl Build<'_> {
    /// The merged spec. The OS image is the release's, unless a config names another.
    pub(super) fn merge(
        &self,
        configs: &[&Value],
        os_image: &str,
        extensions_image: &str,
    ) -> Result<Value, String> {
        let mut ignition = json!({"ignition": {"version": self.ignition_version()}});
        let (mut arguments, mut extensions) = (Vec::new(), Vec::new());
        let (mut kernel, mut image, mut fips) = ("default", os_image, false);
        for config in configs {
            let spec = &config["spec"];
            if let Some(own) = spec.get("config") {
                self.supported(own).map_err(|problem| format!("{}: {problem}", name(config)))?;
                merge(&mut ignition, own);
            }
            arguments.extend_from_slice(items(&spec["kernelArguments"]));
            for extension in items(&spec["extensions"]) {
                if !extensions.contains(extension) {
                    extensions.push(extension.clone());
                }
            }
            fips |= spec["fips"] == true;
            kernel = or(&spec["kernelType"], kernel);
            image = or(&spec["osImageURL"], image);
        }
        ignition["ignition"]["version"] = self.ignition_version().into();
        Ok(json!({
            "baseOSExtensionsContainerImage": extensions_image,
            "config": ignition,
            "extensions": extensions,
            "fips": fips,
            "kernelArguments": arguments,
            "kernelType": kernel,
            "osImageURL": image,
        }))
    }

    /// Accepts an Ignition config of spec 3 that is not newer than what is rendered.
    fn supported(&self, config: &Value) -> Result<(), String> {
        let version = config["ignition"]["version"].as_str().unwrap_or_default();
        let minor = |version: &str| {
            let minor = version.strip_prefix("3.").and_then(|rest| rest.strip_suffix(".0"));
            minor.and_then(|minor| minor.parse::<u32>().ok())
        };
        match (minor(version), minor(self.ignition_version())) {
            (Some(own), Some(ours)) if own <= ours => Ok(()),
            _ => Err(format!(
                "parsing Ignition config failed: unknown version. Supported spec versions: 3.0 to {}; found {version:?}",
                self.ignition_version()
            )),
        }
    }

    /// A MachineConfig for a role, with files and units.
    pub(super) fn machine_config(
        &self,
        name: &str,
        role: &str,
        files: Vec<Value>,
        units: Vec<Value>,
    ) -> Value {
        let mut config = json!({"ignition": {"version": self.ignition_version()}});
        if !files.is_empty() {
            config["storage"] = json!({"files": files});
        }
        if !units.is_empty() {
            config["systemd"] = json!({"units": units});
        }
        json!({
            "apiVersion": "machineconfiguration.openshift.io/v1",
            "kind": "MachineConfig",
            "metadata": metadata(name, &[], &[("machineconfiguration.openshift.io/role", role)]),
            "spec": {"config": config},
        })
    }
}

fn or<'a>(text: &'a Value, other: &'a str) -> &'a str {
    text.as_str().filter(|text| !text.is_empty()).unwrap_or(other)
}

/// Merges `child` into `parent`: maps field by field, named entries by name, other lists by appending.
fn merge(parent: &mut Value, child: &Value) {
    match (parent, child) {
        (Value::Object(parent), Value::Object(child)) => {
            for (key, value) in child {
                match (parent.get_mut(key), value) {
                    (_, Value::Null) => {}
                    (Some(Value::Array(old)), Value::Array(new)) => lists(key, old, new),
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
            // A file is replaced as a whole.
            Some(one) if key == "files" => *one = value.clone(),
            Some(one) => merge(one, value),
            None => old.push(value.clone()),
        }
    }
}

/// A file of an Ignition config.
pub(super) fn file(path: &str, mode: u32, source: String) -> Value {
    json!({"contents": {"source": source}, "mode": mode, "overwrite": true, "path": path})
}

#[cfg(test)]
mod tests {
    use super::super::manifests::document;
    use super::*;
    use crate::base::json::canonical;

    fn spec(configs: &[&str]) -> Result<Value, String> {
        let build = Build {
            minor: "4.18",
            directory: std::path::Path::new("/"),
            release_version: None,
            home: "",
            log: Default::default(),
        };
        let all: Vec<Value> = configs.iter().map(|text| document("a config", text).unwrap()).collect();
        build.merge(&all.iter().collect::<Vec<_>>(), "os", "ext")
    }

    #[test]
    fn later_configs_win_and_named_entries_merge() {
        let a = "spec: {kernelArguments: [a], config: {ignition: {version: 3.2.0}, storage: {files: [{path: /a, mode: 1, \
                 contents: {source: x}}]}, systemd: {units: [{name: u, contents: c, dropins: [{name: d, contents: 1}]}]}}}";
        let b = "spec: {kernelArguments: [b], kernelType: realtime, osImageURL: mine, config: {ignition: {version: 3.1.0}, \
                 storage: {files: [{path: /a, contents: {source: z}}, {path: /b}]}, systemd: {units: [{name: u, enabled: true, \
                 dropins: [{name: e}]}]}}}";
        let merged = spec(&[a, b]).unwrap();
        assert_eq!(
            canonical(&merged["config"]["storage"]),
            r#"{"files":[{"contents":{"source":"z"},"path":"/a"},{"path":"/b"}]}"#
        );
        assert_eq!(
            canonical(&merged["config"]["systemd"]),
            r#"{"units":[{"contents":"c","dropins":[{"contents":1,"name":"d"},{"name":"e"}],"enabled":true,"name":"u"}]}"#
        );
        assert_eq!(merged["kernelArguments"].to_string(), r#"["a","b"]"#);
        assert_eq!([&merged["kernelType"], &merged["osImageURL"]], ["realtime", "mine"]);
        assert_eq!(merged["config"]["ignition"]["version"], "3.4.0");
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
