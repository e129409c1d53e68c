//! MachineConfigs that the controller makes from other objects: the kubelet's configuration with its feature gates,
//! KubeletConfigs, ContainerRuntimeConfigs, and mirrors of registries.

use super::encode;
use super::merge::{file, machine_config};
use super::value::Value;
use super::{controller, write};

const KUBELET: &str = "/etc/kubernetes/kubelet.conf";

/// Adds what the objects ask for, for every pool.
pub(super) fn add(
    configs: &mut Vec<Value>,
    objects: &[Value],
    pools: &[&Value],
    gates: &[(String, bool)],
) -> Result<(), String> {
    let machine = "machineconfiguration.openshift.io";
    let registries = registries(objects);
    for pool in pools {
        let name = pool.text(&["metadata", "name"]);
        let mut kubelet = kubelet(configs, if name == "master" { "master" } else { "worker" })?;
        set_gates(&mut kubelet, gates);
        let mut own = vec![machine_config(
            &format!("98-{name}-generated-kubelet"),
            name,
            vec![kubelet_file(&kubelet)],
            Vec::new(),
        )];
        let mine: Vec<&Value> =
            objects.iter().filter(|object| object.kind().0 == machine && takes(object, pool)).collect();
        for (at, wanted) in mine.iter().filter(|object| object.kind().1 == "KubeletConfig").enumerate() {
            if let (Value::Map(base), Some(Value::Map(more))) =
                (&mut kubelet, wanted.at(&["spec", "kubeletConfig"]))
            {
                base.extend(more.clone());
            }
            own.push(machine_config(
                &numbered(name, "kubelet", at),
                name,
                vec![kubelet_file(&kubelet)],
                Vec::new(),
            ));
        }
        for (at, wanted) in
            mine.iter().filter(|object| object.kind().1 == "ContainerRuntimeConfig").enumerate()
        {
            let crio = file("/etc/crio/crio.conf.d/01-ctrcfg-demo", 420, encode::data_url(&runtime(wanted)));
            own.push(machine_config(&numbered(name, "containerruntime", at), name, vec![crio], Vec::new()));
        }
        if !registries.is_empty() {
            let conf = file("/etc/containers/registries.conf", 420, encode::data_url(&registries));
            own.push(machine_config(
                &format!("99-{name}-generated-registries"),
                name,
                vec![conf],
                Vec::new(),
            ));
        }
        configs.extend(own);
    }
    Ok(())
}

/// The first has no number, the following count from 1.
fn numbered(pool: &str, what: &str, at: usize) -> String {
    match at {
        0 => format!("99-{pool}-generated-{what}"),
        at => format!("99-{pool}-generated-{what}-{at}"),
    }
}

/// Whether an object's pool selector takes this pool. None at all takes every pool.
fn takes(object: &Value, pool: &Value) -> bool {
    match object.at(&["spec", "machineConfigPoolSelector", "matchLabels"]) {
        Some(Value::Map(wanted)) => {
            wanted.iter().all(|(key, value)| pool.at(&["metadata", "labels", key]) == Some(value))
        }
        _ => true,
    }
}

/// The kubelet's configuration, as the templates of a role give it.
fn kubelet(configs: &[Value], role: &str) -> Result<Value, String> {
    let template =
        configs.iter().find(|config| config.text(&["metadata", "name"]) == format!("01-{role}-kubelet"));
    let files = template.map_or(&[][..], |config| config.list(&["spec", "config", "storage", "files"]));
    let Some(found) = files.iter().find(|file| file.text(&["path"]) == KUBELET) else {
        return Err(format!("could not get the kubelet configuration of {role} from the templates"));
    };
    controller::document(&decoded(found.text(&["contents", "source"])))
}

fn decoded(url: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = url.strip_prefix("data:,").unwrap_or_default().bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digit = |c: Option<u8>| c.and_then(|c| char::from(c).to_digit(16)).unwrap_or(0) as u8;
            bytes.push(digit(rest.next()) << 4 | digit(rest.next()));
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn set_gates(kubelet: &mut Value, gates: &[(String, bool)]) {
    if let Value::Map(kubelet) = kubelet {
        let gates = gates.iter().map(|(name, on)| (name.clone(), Value::from(*on))).collect();
        kubelet.insert("featureGates".into(), Value::Map(gates));
    }
}

fn kubelet_file(kubelet: &Value) -> Value {
    file(KUBELET, 420, encode::data_url_base64(&format!("{}\n", write::json(kubelet))))
}

/// A drop-in for CRI-O.
fn runtime(config: &Value) -> String {
    let wanted = config.at(&["spec", "containerRuntimeConfig"]).cloned().unwrap_or(Value::Null);
    let mut text = String::from("# demo release\n[crio]\n[crio.runtime]\n");
    if !wanted.text(&["logLevel"]).is_empty() {
        text.push_str(&format!("log_level = {}\n", write::json(&wanted.text(&["logLevel"]).into())));
    }
    if !wanted.text(&["pidsLimit"]).is_empty() {
        text.push_str(&format!("pids_limit = {}\n", wanted.text(&["pidsLimit"])));
    }
    if !wanted.text(&["defaultRuntime"]).is_empty() {
        text.push_str(&format!(
            "default_runtime = {}\n",
            write::json(&wanted.text(&["defaultRuntime"]).into())
        ));
    }
    text
}

/// registries.conf, if any object names a mirror.
fn registries(objects: &[Value]) -> String {
    let mut sources: Vec<(String, bool, bool, Vec<String>)> = Vec::new();
    for object in objects {
        let (list, by_digest) = match object.kind().1 {
            "ImageDigestMirrorSet" => ("imageDigestMirrors", true),
            "ImageTagMirrorSet" => ("imageTagMirrors", false),
            "ImageContentSourcePolicy" => ("repositoryDigestMirrors", true),
            _ => continue,
        };
        for entry in object.list(&["spec", list]) {
            let mirrors = entry.list(&["mirrors"]).iter().map(|mirror| mirror.text(&[]).to_owned()).collect();
            let blocked = entry.text(&["mirrorSourcePolicy"]) == "NeverContactSource";
            sources.push((entry.text(&["source"]).to_owned(), blocked, by_digest, mirrors));
        }
    }
    sources.sort();
    if sources.is_empty() {
        return String::new();
    }
    let mut text =
        String::from("# demo release\nunqualified-search-registries = []\nshort-name-mode = \"\"\n");
    for (source, blocked, by_digest, mirrors) in sources {
        text.push_str(&format!(
            "\n[[registry]]\n  prefix = \"\"\n  location = {}\n",
            write::json(&source.into())
        ));
        if blocked {
            text.push_str("  blocked = true\n");
        }
        for mirror in mirrors {
            let pull = if by_digest { "digest-only" } else { "tag-only" };
            let mirror = write::json(&mirror.into());
            text.push_str(&format!(
                "\n  [[registry.mirror]]\n    location = {mirror}\n    pull-from-mirror = \"{pull}\"\n"
            ));
        }
    }
    text
}
