//! MachineConfigs that the controller generates from other objects: the kubelet's configuration with its feature gates,
//! KubeletConfigs, ContainerRuntimeConfigs, registry mirrors and image policies.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::controller::SIGSTORE;
use super::manifests::{document, items, kind, name, scalar};
use super::merge::file;
use super::{Build, policies};
use crate::base::json::canonical;
use crate::openshift::ignition;

const KUBELET: &str = "/etc/kubernetes/kubelet.conf";

impl Build<'_> {
    /// Adds the generated configs for every pool.
    pub(super) fn generate(
        &self,
        configs: &mut Vec<Value>,
        objects: &[Value],
        pools: &BTreeMap<&str, &Value>,
        gates: &BTreeMap<String, bool>,
    ) -> Result<(), String> {
        let mut containers: Vec<Value> = Vec::new();
        let registries = registries(objects);
        if !registries.is_empty() {
            let source = ignition::encode(registries.as_bytes());
            containers.push(file("/etc/containers/registries.conf", 420, source));
        }
        // What older builds render does not change.
        if self.is_from("4.20") && gates.get(SIGSTORE) == Some(&true) {
            containers.extend(policies::files(objects));
        }
        for (pool, about) in pools {
            let mut kubelet = kubelet(configs, if *pool == "master" { "master" } else { "worker" })?;
            kubelet["featureGates"] = json!(gates);
            let mut put = |name: &str, files: Vec<Value>| {
                configs.push(self.machine_config(name, pool, files, Vec::new()))
            };
            let mut add = |name: &str, file: Value| put(name, vec![file]);
            add(&format!("98-{pool}-generated-kubelet"), kubelet_file(&kubelet));
            let mine = |wanted: &'static str| {
                let wanted = ("machineconfiguration.openshift.io", wanted);
                objects.iter().filter(move |one| kind(one) == wanted && takes(one, about)).enumerate()
            };
            for (at, wanted) in mine("KubeletConfig") {
                for (key, value) in wanted["spec"]["kubeletConfig"].as_object().into_iter().flatten() {
                    kubelet[key] = value.clone();
                }
                add(&numbered(pool, "kubelet", at), kubelet_file(&kubelet));
            }
            for (at, wanted) in mine("ContainerRuntimeConfig") {
                let source = ignition::encode(runtime(wanted).as_bytes());
                let crio = file("/etc/crio/crio.conf.d/01-ctrcfg-demo", 420, source);
                add(&numbered(pool, "containerruntime", at), crio);
            }
            if !containers.is_empty() {
                put(&format!("99-{pool}-generated-registries"), containers.clone());
            }
        }
        Ok(())
    }
}

/// The first has no number, the following count from 1.
fn numbered(pool: &str, what: &str, at: usize) -> String {
    match at {
        0 => format!("99-{pool}-generated-{what}"),
        at => format!("99-{pool}-generated-{what}-{at}"),
    }
}

/// Whether an object's pool selector matches this pool. Without a selector it matches every pool.
fn takes(object: &Value, pool: &Value) -> bool {
    let wanted = object["spec"]["machineConfigPoolSelector"]["matchLabels"].as_object();
    wanted.into_iter().flatten().all(|(key, value)| pool["metadata"]["labels"].get(key) == Some(value))
}

/// The kubelet's configuration, from the templates of a role.
fn kubelet(configs: &[Value], role: &str) -> Result<Value, String> {
    let template = configs.iter().find(|config| name(config) == format!("01-{role}-kubelet"));
    let files = template.map_or(&[][..], |config| items(&config["spec"]["config"]["storage"]["files"]));
    let contents = files.iter().find(|file| file["path"] == KUBELET).and_then(|file| {
        let bytes = ignition::decode(file["contents"]["source"].as_str()?)?;
        document(KUBELET, std::str::from_utf8(&bytes).ok()?).ok().filter(Value::is_object)
    });
    contents.ok_or_else(|| format!("could not get the kubelet configuration of {role} from the templates"))
}

/// In base64, like the controller.
fn kubelet_file(kubelet: &Value) -> Value {
    let url = format!("data:text/plain;charset=utf-8;base64,{}", STANDARD.encode(canonical(kubelet) + "\n"));
    file(KUBELET, 420, url)
}

/// A drop-in for CRI-O.
fn runtime(config: &Value) -> String {
    let wanted = &config["spec"]["containerRuntimeConfig"];
    let mut text = String::from("# demo release\n[crio]\n[crio.runtime]\n");
    for (field, name) in
        [("logLevel", "log_level"), ("pidsLimit", "pids_limit"), ("defaultRuntime", "default_runtime")]
    {
        if !scalar(&wanted[field]).is_empty() {
            text.push_str(&format!("{name} = {}\n", wanted[field]));
        }
    }
    text
}

/// registries.conf, if any object names a mirror.
fn registries(objects: &[Value]) -> String {
    let mut sources: Vec<(String, bool, bool, Vec<String>)> = Vec::new();
    for object in objects {
        let (list, by_digest) = match kind(object).1 {
            "ImageDigestMirrorSet" => ("imageDigestMirrors", true),
            "ImageTagMirrorSet" => ("imageTagMirrors", false),
            "ImageContentSourcePolicy" => ("repositoryDigestMirrors", true),
            _ => continue,
        };
        for entry in items(&object["spec"][list]) {
            let mirrors = items(&entry["mirrors"]).iter().map(scalar).collect();
            let blocked = entry["mirrorSourcePolicy"] == "NeverContactSource";
            sources.push((scalar(&entry["source"]), blocked, by_digest, mirrors));
        }
    }
    sources.sort();
    if sources.is_empty() {
        return String::new();
    }
    let mut text =
        String::from("# demo release\nunqualified-search-registries = []\nshort-name-mode = \"\"\n");
    for (source, blocked, by_digest, mirrors) in sources {
        let source = Value::from(source);
        text.push_str(&format!("\n[[registry]]\n  prefix = \"\"\n  location = {source}\n"));
        if blocked {
            text.push_str("  blocked = true\n");
        }
        for mirror in mirrors {
            let pull = if by_digest { "digest-only" } else { "tag-only" };
            let mirror = Value::from(mirror);
            text.push_str(&format!(
                "\n  [[registry.mirror]]\n    location = {mirror}\n    pull-from-mirror = \"{pull}\"\n"
            ));
        }
    }
    text
}
