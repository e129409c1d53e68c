//! `machine-config-controller bootstrap`: a directory of manifests and the templates become one MachineConfig per pool.

use super::flags::Flags;
use super::manifests::{directory, metadata, object, put_object};
use super::operator::release_version;
use super::value::Value;
use super::{Done, Stop, encode, generated, info, md5, merge, read, template, version, warning, write};

const FLAGS: &[(&str, &str)] = &[
    ("manifest-dir", ""),
    ("dest-dir", ""),
    ("pull-secret", ""),
    ("payload-version", ""),
    ("templates", "/etc/mcc/templates"),
];

/// What this build asks the feature gates: a FeatureGate that has never heard of one of them makes it panic.
const ASKED: [&str; 2] = ["NodeSwap", "SigstoreImageVerification"];

/// The constant that stands before the spec in the hash of a rendered config's name, the same in every release.
const SALT: [u8; 80] = [
    16, 124, 206, 228, 139, 56, 175, 175, 79, 229, 134, 118, 157, 154, 211, 110, 25, 93, 47, 253, 172, 106,
    37, 7, 174, 13, 160, 185, 110, 17, 87, 52, 219, 131, 12, 206, 218, 141, 116, 135, 188, 181, 192, 151,
    233, 62, 126, 165, 64, 83, 179, 119, 15, 168, 208, 197, 146, 107, 58, 227, 133, 188, 238, 26, 33, 26,
    235, 202, 32, 173, 31, 234, 41, 144, 148, 79, 6, 206, 23, 22,
];

/// Writes `machine-configs`, `machine-pools` and `controller-config` below `--dest-dir`.
pub(super) fn bootstrap(arguments: &[String]) -> Done<()> {
    let flags = Flags::parse(FLAGS, arguments)?;
    info(&format!("Version: {} (demo)", version()));
    let wrong = |problem: String| Stop::Fatal(format!("error running MCC[BOOTSTRAP]: {problem}"));
    let objects = directory(flags.get("manifest-dir"))?;
    let pull_secret = pull_secret(flags.get("pull-secret")).map_err(wrong)?;
    let of = |group: &'static str, kind: &'static str| {
        objects.iter().filter(move |object| object.kind() == (group, kind))
    };
    let none = |what: &str| wrong(format!("error: no {what} found in dir: {:?}", flags.get("manifest-dir")));
    let config = of("machineconfiguration.openshift.io", "ControllerConfig")
        .next_back()
        .ok_or_else(|| none("controllerconfig"))?;
    let is_cluster = |gate: &&Value| gate.text(&["metadata", "name"]) == "cluster";
    let gate =
        of("config.openshift.io", "FeatureGate").rfind(is_cluster).ok_or_else(|| none("featuregate"))?;
    let gates = gates(gate, flags.get("payload-version"))?;
    same_build(config).map_err(wrong)?;

    let facts = template::facts(config, &pull_secret);
    let mut configs: Vec<Value> = of("machineconfiguration.openshift.io", "MachineConfig").cloned().collect();
    configs.extend(template::configs(flags.get("templates"), &facts).map_err(wrong)?);
    let pools = last_of_each(of("machineconfiguration.openshift.io", "MachineConfigPool"));
    generated::add(&mut configs, &objects, &pools, &gates).map_err(wrong)?;

    for pool in pools {
        let (rendered, sources) = render(pool, &configs, config, &release_version(&flags)).map_err(wrong)?;
        let name = rendered.text(&["metadata", "name"]).to_owned();
        let pool = with_configuration(pool, &name, &sources);
        put_object(
            flags.get("dest-dir"),
            &format!("machine-pools/{}.yaml", pool.text(&["metadata", "name"])),
            &pool,
        )?;
        put_object(flags.get("dest-dir"), &format!("machine-configs/{name}.yaml"), &rendered)?;
    }
    info(&format!("writing the following controllerConfig to disk: {}", write::yaml(config)));
    put_object(flags.get("dest-dir"), "controller-config/machine-config-controller.yaml", config)
}

/// The text of the pull secret, out of its Secret.
fn pull_secret(path: &str) -> Result<String, String> {
    let secret = object(path, "", "Secret")?;
    if secret.text(&["type"]) != "kubernetes.io/dockerconfigjson" {
        return Err(format!(
            "expected secret type kubernetes.io/dockerconfigjson found {}",
            secret.text(&["type"])
        ));
    }
    let plain = secret.text(&["stringData", ".dockerconfigjson"]);
    if !plain.is_empty() {
        return Ok(plain.to_owned());
    }
    let bytes = encode::unbase64(secret.text(&["data", ".dockerconfigjson"])).unwrap_or_default();
    match String::from_utf8(bytes) {
        Ok(text) if !text.is_empty() => Ok(text),
        _ => Err("the pull secret has no .dockerconfigjson".into()),
    }
}

/// Every gate of this version, with whether it is on.
fn gates(gate: &Value, version: &str) -> Done<Vec<(String, bool)>> {
    let Some(these) =
        gate.list(&["status", "featureGates"]).iter().find(|gates| gates.text(&["version"]) == version)
    else {
        return Err(Stop::Fatal(format!(
            "error running MCC[BOOTSTRAP]: error creating feature gates handler: unable to determine features: \
             missing desired version {version:?} in featuregates.config.openshift.io/cluster"
        )));
    };
    let named = |list: &'static str, on: bool| {
        these.list(&[list]).iter().map(move |gate| (gate.text(&["name"]).to_owned(), on))
    };
    let mut gates: Vec<_> = named("enabled", true).chain(named("disabled", false)).collect();
    gates.sort();
    for asked in ASKED {
        if !gates.iter().any(|(name, _)| name == asked) {
            return Err(Stop::Panic(format!("feature {asked:?} is not registered in FeatureGates")));
        }
    }
    Ok(gates)
}

/// Both programs are one build: what another version wrote is not understood.
fn same_build(config: &Value) -> Result<(), String> {
    let key = "machineconfiguration.openshift.io/generated-by-version";
    match config.text(&["metadata", "annotations", key]) {
        "" => Err(format!(
            "Ignoring controller config generated without {key} annotation (my version: {})",
            version()
        )),
        by if by == version() => Ok(()),
        by => Err(format!("Ignoring controller config generated from {by} (my version: {})", version())),
    }
}

/// Of pools with the same name the last: a user's comes after the built-in one.
fn last_of_each<'a>(pools: impl Iterator<Item = &'a Value>) -> Vec<&'a Value> {
    let mut by_name = std::collections::BTreeMap::new();
    for pool in pools {
        by_name.insert(pool.text(&["metadata", "name"]), pool);
    }
    by_name.into_values().collect()
}

/// One pool's MachineConfig, and the names of what went into it.
fn render(
    pool: &Value,
    configs: &[Value],
    config: &Value,
    release: &str,
) -> Result<(Value, Vec<String>), String> {
    let mut mine: Vec<&Value> = configs.iter().filter(|config| selects(pool, config)).collect();
    mine.sort_by_key(|config| config.text(&["metadata", "name"]));
    let names: Vec<String> =
        mine.iter().map(|config| config.text(&["metadata", "name"]).to_owned()).collect();
    if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(format!("two MachineConfigs are named {}", twice[0]));
    }
    let image = config.text(&["spec", "baseOSContainerImage"]);
    if image.is_empty() {
        warning("No BaseOSContainerImage set");
    }
    let spec = merge::specs(&mine, image, config.text(&["spec", "baseOSExtensionsContainerImage"]))?;
    let name = rendered_name(pool.text(&["metadata", "name"]), &spec);
    let annotations = vec![
        ("machineconfiguration.openshift.io/generated-by-controller-version".to_owned(), version().into()),
        ("machineconfiguration.openshift.io/release-image-version".to_owned(), release.into()),
    ];
    let rendered = Value::from([
        ("apiVersion", "machineconfiguration.openshift.io/v1".into()),
        ("kind", "MachineConfig".into()),
        ("metadata", metadata(&name, annotations, Vec::new())),
        ("spec", spec),
    ]);
    Ok((rendered, names))
}

/// A rendered config is named after its content.
pub(super) fn rendered_name(pool: &str, spec: &Value) -> String {
    let mut bytes = SALT.to_vec();
    bytes.extend(write::yaml(spec).bytes());
    format!("rendered-{pool}-{}", md5::hex(&bytes))
}

/// Whether a pool's selector takes a MachineConfig. One that selects nothing takes nothing.
fn selects(pool: &Value, config: &Value) -> bool {
    let label = |key: &str| config.at(&["metadata", "labels", key]);
    let Some(selector) = pool.at(&["spec", "machineConfigSelector"]) else { return false };
    let by_label = match selector.get("matchLabels") {
        Some(Value::Map(wanted)) => wanted.iter().all(|(key, value)| label(key) == Some(value)),
        _ => !selector.list(&["matchExpressions"]).is_empty(),
    };
    by_label
        && selector.list(&["matchExpressions"]).iter().all(|rule| {
            let found = label(rule.text(&["key"]));
            let listed = found.is_some_and(|value| rule.list(&["values"]).contains(value));
            match rule.text(&["operator"]) {
                "In" => listed,
                "NotIn" => !listed,
                "Exists" => found.is_some(),
                "DoesNotExist" => found.is_none(),
                _ => false,
            }
        })
}

/// The pool, pointing to what was rendered for it.
fn with_configuration(pool: &Value, name: &str, sources: &[String]) -> Value {
    let source = |name: &String| {
        Value::from([
            ("apiVersion", "machineconfiguration.openshift.io/v1".into()),
            ("kind", "MachineConfig".into()),
            ("name", name.as_str().into()),
        ])
    };
    let sources: Vec<Value> = sources.iter().map(source).collect();
    let configuration = Value::from([("name", name.into()), ("source", sources.into())]);
    let mut pool = pool.clone();
    if let Value::Map(fields) = &mut pool {
        if let Some(Value::Map(spec)) = fields.get_mut("spec") {
            spec.insert("configuration".into(), configuration.clone());
        }
        fields.insert("status".into(), Value::from([("configuration", configuration)]));
    }
    pool
}

/// Reads a kubelet's configuration back out of a MachineConfig's file, to add to it.
pub(super) fn document(text: &str) -> Result<Value, String> {
    Ok(read::documents(text)?.into_iter().next().unwrap_or(Value::Null))
}
